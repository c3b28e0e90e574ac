"""Makes a server's address and words fit to be shown: without user, password and keys."""

import base64
import os
import re
from collections.abc import Collection
from typing import Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from reeltalk.llm.model import Endpoint
from reeltalk.schema.server_address import BASE_URL, OPENAI_HOST

OPENAI: Final = f"https://{OPENAI_HOST}/v1"
"""The address if none is given or set in the environment."""
MESSAGE_CHARS: Final = 500
"""Longest part of a server's words that is shown."""
READ_CHARS: Final = 2000 * MESSAGE_CHARS
"""Longest part of them that is searched."""
HIDDEN: Final = "[hidden]"
_LONG_CHARS: Final = 8

_USER = re.compile(r"(?<=://)[^/\s?#'\"<>]*@")
_AUTHORIZATION = re.compile(
    r"(authorization|x-api-key|api-key)(['\"]?\s*[:=]\s*['\"]?)(?:(?:bearer|basic)\s+)?[^\s,;'\"}\])]+", re.IGNORECASE
)
_SCHEME = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{6,}", re.IGNORECASE)
_KEY = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf)[-_][\w*.-]{4,}|\bAIza[\w-]{10,}")
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


def endpoint_address(endpoint: Endpoint) -> str:
    """Address of an endpoint, with user and password if it has them."""
    return endpoint.base_url or os.environ.get(BASE_URL) or OPENAI


def public_address(address: str) -> str:
    """An address without user, password and query."""
    try:
        parts = urlsplit(address)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return _USER.sub("", address)


def secrets_of(endpoint: Endpoint, api_key: str | None) -> frozenset[str]:
    """Secrets that no error may repeat: the key, and the password of the address as it is written and as it is sent."""
    found = {api_key or ""}
    user, _, host = urlsplit(endpoint_address(endpoint)).netloc.rpartition("@")
    if user and host:
        name, _, password = user.partition(":")
        told = unquote(name), unquote(password)
        found |= {password, told[1], quote(told[1], safe=""), base64.b64encode(":".join(told).encode()).decode()}
    return frozenset(secret for secret in found if secret)


def scrub(text: str, secrets: Collection[str] = ()) -> str:
    """A server's words on one line of at most `MESSAGE_CHARS` characters, without secrets.

    Hidden are the given secrets, the values of environment variables whose names end in KEY, TOKEN, SECRET or PASSWORD,
    the words after `Authorization`, and words that look like keys. User and password of an address are left out.
    """
    # A huge body is cut first, far behind the part that is shown, so that no half secret at the cut can be shown.
    text = " ".join(text.split())[:READ_CHARS]
    kept = (value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= _LONG_CHARS)
    secrets = {*secrets, *kept}
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _LONG_CHARS:
            text = text.replace(secret, HIDDEN)
        elif secret:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, text)
    text = _USER.sub("", text)
    text = _AUTHORIZATION.sub(rf"\1\2{HIDDEN}", text)
    text = _SCHEME.sub(rf"\1 {HIDDEN}", text)
    text = _KEY.sub(HIDDEN, text)
    text = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * MESSAGE_CHARS]).split())
    return text if len(text) <= MESSAGE_CHARS else f"{text[: MESSAGE_CHARS - 1]}…"
