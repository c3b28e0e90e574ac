"""Addresses of model servers. An invalid address is rejected before any file is read."""

import os
import re
from collections.abc import Collection
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator

from reeltalk.errors import SettingError

EXAMPLE: Final = "http://localhost:8000/v1"
OPENAI_HOST: Final = "api.openai.com"
BASE_URL: Final = "OPENAI_BASE_URL"
"""Environment variable that the `openai` package reads if no address is given."""
_ROUTES: Final = re.compile(r"/(?:chat/completions|completions|responses|models|embeddings)/*$")
# Names from https://platform.openai.com/docs/models. gpt-oss runs on your own servers.
_OPENAI_MODEL: Final = re.compile(r"(?!gpt-oss)(?:gpt-|chatgpt-|o\d|ft:|codex-|computer-use-)", re.IGNORECASE)
_USER: Final = re.compile(r"(?<![^/\s'\"])[^/@\s'\"]+@")
_OF_PROVIDERS: Final = ("inspect:", "transformers:")


def check_address(address: str, option: str) -> None:
    """Raise if a text is not the address of an OpenAI-compatible server.

    Args:
        address: As it was given.
        option: The option that gave it, such as `--base-url`, for the error.

    Raises:
        SettingError: It has no scheme or host, an invalid port, a space, or a longer path than expected.
    """
    if (problem := _problem(address)) is not None:
        raise SettingError(f"{option} {without_user(address)!r}: {problem}")


def without_user(text: str) -> str:
    """A text whose addresses have no user and password."""
    return _USER.sub("", text)


def _problem(address: str) -> str | None:
    if re.search(r"[\s\x00-\x1f\x7f]", address):
        return f"an address holds no spaces; give it as {EXAMPLE}"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        return f"{str(error)[:1].lower()}{str(error)[1:]}; give it as {EXAMPLE}"
    if parts.scheme not in ("http", "https") or not address.partition(":")[2].startswith("//"):
        return f"an address begins with http:// or https://; give it as {_with_scheme(address)}"
    if not parts.hostname or port == 0:
        return f"it names no {'port' if parts.hostname else 'host'}; give it as {EXAMPLE}"
    if route := _ROUTES.search(parts.path):
        shorter = parts._replace(path=parts.path[: route.start()], query="", fragment="")
        return f"leave out {route[0]}, which is added; give {without_user(shorter.geturl())}"
    return None


def _with_scheme(address: str) -> str:
    """An address with the scheme that was probably meant."""
    rest = re.sub(r"^\w*:?/*(?=[^/])", "", address) if "//" in address else address
    found = re.match(r"[\w.-]+(:\d{1,5})?(/[\w./-]*)?$", rest.rpartition("@")[2])
    return f"http://{found[0]}" if found else EXAMPLE


def _checked(address: str) -> str:
    if (problem := _problem(address)) is not None:
        raise ValueError(problem)
    return address


ServerAddress = Annotated[str, AfterValidator(_checked)]
"""Address of an OpenAI-compatible server, up to `/v1`. An invalid one is refused with a hint."""


def check_server(
    model: str,
    address: str | None,
    key_variable: str | None,
    *,
    name: str = "--model",
    option: str = "--base-url",
    besides: Collection[str] = (),
) -> None:
    """Raise if no server can serve a model: there is no address and OpenAI has no model of this name, or no key is set.

    Args:
        model: Name of the model. Models of inspect_ai's providers and local models are not checked.
        address: Address of its server; by default the one in `OPENAI_BASE_URL`, else OpenAI's own.
        key_variable: Environment variable with the key; None if stored replies may make a key unnecessary.
        name: The option that names the model, for the error.
        option: The option for the address.
        besides: Names that the option takes besides models, such as the writer `graph`.

    Raises:
        SettingError: There is no server or key; the message names the option to give.
    """
    if model.startswith(_OF_PROVIDERS):
        return
    if address is None and (address := os.environ.get(BASE_URL)):
        check_address(address, BASE_URL)
    if address is None and _OPENAI_MODEL.match(model) is None:
        unknown = f"it is none of {', '.join(besides)}" if besides else "OpenAI has no model of this name"
        server = "a model's server" if besides else "another server"
        raise SettingError(
            f"{name} {model}: {unknown}, and no address of {server} is given; "
            f"{'correct the name, or give the address' if besides else 'give it'} as {option} {EXAMPLE}"
        )
    at_openai = address is None or urlsplit(address).hostname == OPENAI_HOST
    if at_openai and key_variable is not None and not os.environ.get(key_variable):
        key_option = option.replace("base-url", "api-key-env")
        raise SettingError(
            f"{name} {model}: {OPENAI_HOST} needs a key, and the environment variable {key_variable} holds none; set "
            f"it, name another one as {key_option}, or give the address of another server as {option} {EXAMPLE}"
        )
