"""Credentials that travel in a body, such as the token of a connected MCP server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from ctxdiff_capture.model import Json
from ctxdiff_capture.secrets.named import (
    is_credential,
    is_credential_header,
    is_credential_of_address,
)
from ctxdiff_capture.secrets.spelled import spelled, without

MASK = "[secret]"
_SCHEMAS = frozenset(
    (
        *("function", "parameters", "input_schema", "custom", "format", "toolSpec"),
        *("functionDeclarations", "function_declarations"),
    )
)
_IN_ADDRESS = re.compile(r"([?&;])([A-Za-z][A-Za-z0-9_.-]{0,60})=([^&;#\s\"'<>]+)")
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_-]{2,60})\\{0,7}[\"']?\s{0,4}[:=\r\n]")


class Masking:
    """The masking of one call's body: what it holds, and what of it an answer quotes."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}

    def __bool__(self) -> bool:
        """Whether a credential was found."""
        return bool(self._found)

    def without(self, text: str) -> str:
        """A text of the answer without the credentials of the body."""
        return without(text, spelled(self._found)) if self._found else text

    def masked(self, value: Json, holder: str = "") -> Json:
        """`value` with each credential masked.

        A credential is known by its name, or stands in an address.

        Args:
            value: of a body.
            holder: the name that it stands under.
        """
        if isinstance(value, Mapping):
            is_headers = holder.lower().endswith("headers")
            is_secret = is_credential_header if is_headers else is_credential
            return {
                key: self._mask(inner)
                if is_secret(key) and _is_value(inner)
                else self.masked(inner, key)
                for key, inner in value.items()
            }
        if isinstance(value, list):
            is_secrets = is_credential(holder.removesuffix("s"))
            return [
                self._mask(item) if is_secrets and _is_value(item) else self.masked(item)
                for item in value
            ]
        if isinstance(value, str) and "://" in value:
            # Loaded with the first address: few requests have one outside of their texts.
            from ctxdiff_capture.secrets.detect import masked as masked_text  # noqa: PLC0415

            masked = masked_text(value, lambda _kind, found: self._mask(found))
            return _IN_ADDRESS.sub(self._masked_part, masked)
        return value

    def tool(self, tool: Json) -> Json:
        """A tool with the credentials by which a provider reaches it masked.

        What describes arguments is left alone: there, `token` is the name of one.
        """
        if not isinstance(tool, Mapping):
            return tool
        return {
            name: value if name in _SCHEMAS else self.masked({name: value})[name]
            for name, value in tool.items()
        }

    def _mask(self, value: Json) -> str:
        self._found[str(value)] = None
        return MASK

    def _masked_part(self, found: re.Match[str]) -> str:
        if not is_credential_of_address(found[2]) or found[3] == MASK:
            return found[0]
        return f"{found[1]}{found[2]}={self._mask(unquote(found[3]))}"


def masked_tool(tool: Json) -> Json:
    """A tool with the credentials by which a provider reaches it masked."""
    return Masking().tool(tool)


def may_hold_one(data: bytes) -> bool:
    """Whether bytes that could not be read name a credential."""
    text = data.decode("utf-8", "replace")
    return any(is_credential(found[1]) for found in _NAME.finditer(text))


def _is_value(value: Json) -> bool:
    """Whether a value can be a credential: a text, or the digits of one."""
    if isinstance(value, str):
        return bool(value) and value != MASK
    return isinstance(value, int | float) and not isinstance(value, bool)
