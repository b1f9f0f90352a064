"""The exception that a provider's SDK raises for an HTTP status.

Source: openai 3.57, anthropic 2.14 and google-genai 3.6, seen by answering each status from a mock
transport; Bedrock's from the service model in botocore 1.44.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

Sdk: TypeAlias = Literal["openai", "anthropic", "google", "bedrock"]
_SHARED = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}
_BY_SDK: Mapping[Sdk, Mapping[int, str]] = {
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
    "google": {},
    "bedrock": {
        400: "ValidationException",
        403: "AccessDeniedException",
        404: "ResourceNotFoundException",
        408: "ModelTimeoutException",
        424: "ModelErrorException",
        429: "ThrottlingException",
        500: "InternalServerException",
        503: "ServiceUnavailableException",
    },
}
_GENERAL: Mapping[Sdk, tuple[str, str]] = {
    "openai": ("APIStatusError", "InternalServerError"),
    "anthropic": ("APIStatusError", "InternalServerError"),
    "google": ("ClientError", "ServerError"),
    "bedrock": ("ClientError", "ClientError"),
}
"""For statuses below 500, and from 500 up."""


def error_type(sdk: Sdk) -> Callable[[int], str]:
    """Gives the class name for a status from 400 up."""
    names = _BY_SDK[sdk]

    def of_status(status: int) -> str:
        return names.get(status, _GENERAL[sdk][status >= 500])

    return of_status
