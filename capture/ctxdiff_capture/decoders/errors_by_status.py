"""The exception that a provider's SDK raises for an HTTP status.

Source: openai 3.57 and anthropic 2.14, seen by answering each status from a mock transport.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

_SHARED = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}
_BY_SDK: Mapping[str, Mapping[int, str]] = {
    "openai": _SHARED,
    "anthropic": {
        **_SHARED,
        402: "PaymentRequiredError",
        408: "RequestTimeoutError",
        413: "ContentTooLargeError",
        503: "ServiceUnavailableError",
        504: "GatewayTimeoutError",
        529: "OverloadedError",
    },
}


def error_type(sdk: Literal["openai", "anthropic"]) -> Callable[[int], str]:
    """Gives the class name for a status from 400 up."""
    names = _BY_SDK[sdk]

    def of_status(status: int) -> str:
        general = "InternalServerError" if status >= 500 else "APIStatusError"
        return names.get(status, general)

    return of_status
