"""A small request before the first real one: is the server there, and which fields does it accept?

A command opens each model with `breaker_with_preflight` before it decodes a video. `preflight` blocks; from an event
loop, call it in a thread (`asyncio.to_thread`). It stores the dialect of the server in `store`, the `ReplyStore` of the
run; every sender and `LanguageModel` with the same store uses this dialect. It raises `OutageError` if no request can
succeed, and returns a note if one may succeed later, as after 429, 5xx or a time-out.
"""

import asyncio
import base64
import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from reeltalk.errors import BudgetError, ModelError, OutageError
from reeltalk.llm.budget import Budget
from reeltalk.llm.client import send_within
from reeltalk.llm.dialect import Dialect, DialectStore, known_dialect
from reeltalk.llm.language_model import LoopThread
from reeltalk.llm.model import INSPECT, Endpoint, Message
from reeltalk.llm.replies import ReplyStore
from reeltalk.llm.retrying import LASTING, Breaker
from reeltalk.llm.scrubbing import endpoint_address, public_address, scrub, secrets_of
from reeltalk.llm.wire import RefusedError, Sent, describe_endpoint
from reeltalk.schema.record import Json

if TYPE_CHECKING:
    from reeltalk.llm.inspect_models import InspectSender
    from reeltalk.llm.wire_sender import WireSender

    PreflightSender = WireSender | InspectSender

CONNECT_S: Final = 3.0
"""Longest wait for a connection; the whole preflight ends within 5 s if nothing listens."""
LIST_S: Final = 10.0
"""Longest wait for the list of models."""
REPLY_S: Final = 60.0
"""Longest wait for the small reply; a server that loads its model first may take longer, which is only noted."""
REPLY_TOKENS: Final = 64
"""Longest small reply. A reasoning model may write no answer within it, which is enough."""
TRIES: Final = 3
"""Small requests if there is no answer; servers and their gateways also fail by chance."""
NAMED_MODELS: Final = 5
IN_PROCESS: Final = frozenset({
    "hf", "mockllm", "nnterp", "none", "reeltalk-streaming", "sglang", "transformer_lens",
    "vllm", "vllm-completions",
})  # fmt: skip
"""Providers of inspect_ai that load a model or start its server themselves if no address is given. There is no server
to try, and a second copy of the weights may not fit."""
BLIND: Final = "without a picture it answers: choose a model that sees images, or show it text alone (--sees text)"

_SCHEMA: Final[dict[str, Json]] = {
    "title": "Preflight",
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}
# 64 by 64 grey pixels: some models refuse pictures of fewer than 28.
_JPEG: Final = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1x"
    "eXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAAR"
    "CABAAEADASIAAhEBAxEB/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/xAAUAQEAAAAAAAAAAAAAAAAAAAAA"
    "/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAwDAQACEQMRAD8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/9k="
)


@dataclass(frozen=True)
class PreflightResult:
    """The result of a preflight."""

    dialect: Dialect
    """The fields that the server accepts."""
    notes: tuple[str, ...] = ()
    """Sentences for people: fields that the server does not take, and failures that may pass."""


def preflight(
    endpoint: Endpoint,
    *,
    api_key: str | None = None,
    key_variable: str | None = None,
    images: bool = False,
    schema: bool = False,
    store: DialectStore | None = None,
    budget: Budget | None = None,
    option: str = "--base-url",
    model_args: Mapping[str, Any] | None = None,
    stream: bool = False,
) -> PreflightResult:
    """Ask a server which models it has, and one of them for a small reply.

    Args:
        endpoint: The model; `inspect:PROVIDER/MODEL` is asked through inspect_ai.
        api_key: Key of the server.
        key_variable: Environment variable that holds the key, for errors.
        images: True if frames will be sent; the small request has a picture then.
        schema: True if a JSON schema will be sent; the small request has a small one then.
        kept: Store of dialects.
        budget: Limits; the small requests count too.
        option: Option of the command for the address, for errors.
        model_args: Arguments that inspect_ai's `get_model` passes to the provider.
        stream: True if replies will be streamed; the small one is streamed then.

    Raises:
        OutageError: No request can succeed. The message says what is wrong, where, and what to do.
        BudgetError: A limit would be passed.
    """
    small = endpoint.model_copy(
        update={"max_tokens": min(endpoint.max_tokens, REPLY_TOKENS), "timeout_s": min(endpoint.timeout_s, REPLY_S)}
    )
    check = _Check(small, api_key, key_variable, option, images, schema, store, budget, model_args or {}, stream)
    loop = LoopThread("preflight")
    try:
        return loop.run(check.run())
    finally:
        loop.close()


def breaker_with_preflight(
    endpoint: Endpoint,
    *,
    store: ReplyStore | None = None,
    tell: Callable[[str], object] | None = None,
    **how: Any,
) -> Breaker:
    """A breaker that tries the server first.

    Without kept replies the server is tested now, so that no video is decoded in vain. With kept replies it is tested
    before the first request, since all questions may have been answered before.

    Args:
        endpoint: The model.
        kept: Store of replies and dialects.
        tell: Called with each note of the preflight.
        how: Other arguments of `preflight`.

    Raises:
        OutageError: As for `preflight`.
        BudgetError: As for `preflight`.
    """

    def first() -> None:
        for sentence in preflight(endpoint, store=store, **how).notes:
            if tell is not None:
                tell(sentence)

    breaker = Breaker(describe_endpoint(endpoint), give_up_after_s=endpoint.give_up_after_s, preflight=first)
    if store is None or not len(store):
        breaker.check()
    return breaker


@dataclass
class _Check:
    endpoint: Endpoint
    api_key: str | None
    key_variable: str | None
    option: str
    images: bool
    schema: bool
    store: DialectStore | None
    budget: Budget | None
    model_args: Mapping[str, Any]
    stream: bool

    async def run(self) -> PreflightResult:
        from reeltalk.llm.wire_sender import WireSender

        if self.endpoint.model.startswith(INSPECT):
            return await self._inspected()
        names = await self._models()
        sender = WireSender(self.endpoint, api_key=self.api_key, store=self.store, stream=self.stream)
        try:
            notes = await self._small_reply(sender, names)
        finally:
            await sender.close()
        return self._checked(sender.learner.dialect, notes)

    async def _inspected(self) -> PreflightResult:
        from reeltalk.llm.inspect_models import InspectSender

        spec = self.endpoint.model.removeprefix(INSPECT)
        if self.endpoint.base_url is None and spec.partition("/")[0] in IN_PROCESS:
            return PreflightResult(known_dialect(self.endpoint))
        try:
            sender = InspectSender(self.endpoint, store=self.store, **self.model_args)
        except ModelError as error:
            raise OutageError(str(error)) from None
        try:
            notes = await self._small_reply(sender, None)
        finally:
            await sender.close()
        return self._checked(sender.learner.dialect, notes)

    def _checked(self, dialect: Dialect, notes: list[str]) -> PreflightResult:
        where = describe_endpoint(self.endpoint)
        special = [] if dialect.differences is None else [f"{where} is sent {dialect.differences}"]
        return PreflightResult(dialect, (*special, *notes))

    async def _models(self) -> list[str] | None:
        """Names of the models that the server lists; None if it has no list."""
        address = endpoint_address(self.endpoint)
        status, names = await self._listed(address)
        if names is None and status not in (401, 403, 407) and not urlsplit(address).path.rstrip("/").endswith("/v1"):
            longer = f"{address.rstrip('/')}/v1"
            _, under = await self._listed(longer)
            if under is not None:
                raise OutageError(
                    f"{public_address(address)} is no address of an OpenAI-compatible server, but "
                    f"{public_address(longer)} is; give {self.option} {public_address(longer)}"
                )
        return names

    async def _listed(self, address: str) -> tuple[int | None, list[str] | None]:
        """Status of `GET /models` and the names in its answer."""
        import openai

        from reeltalk.llm.wire_sender import openai_client

        client = openai_client(
            self.endpoint.model_copy(update={"base_url": address, "timeout_s": LIST_S}),
            self.api_key,
            connect_s=CONNECT_S,
        )
        try:
            # Looking up a host name may take longer than connecting.
            async with asyncio.timeout(LIST_S):
                raw: Any = await client.models.with_raw_response.list()
                return 200, _names(raw.content)
        except openai.APIStatusError as error:
            return error.status_code, None
        except openai.APITimeoutError as error:
            if type(error.__cause__).__name__ == "ConnectTimeout":
                raise self._unreached(f"nothing answered within {CONNECT_S:g} s", error) from None
            return None, None
        except openai.APIConnectionError as error:
            cause: BaseException = error.__cause__ or error
            if _reached(cause):
                return None, None
            raise self._unreached(scrub(str(cause), secrets_of(self.endpoint, self.api_key)), cause) from None
        except ModelError as error:
            if error.kind == "invalid":
                raise OutageError(str(error)) from None
            return None, None
        except TimeoutError:
            return None, None
        finally:
            await client.close()

    def _unreached(self, cause: str, error: BaseException) -> OutageError:
        address = public_address(endpoint_address(self.endpoint))
        scheme, _, rest = address.partition("://")
        words = cause.lower()
        if scheme == "https" and ("wrong_version" in words or "wrong version" in words or "record layer" in words):
            advice = f"it speaks no TLS; give {self.option} http://{rest}"
        elif "certificate" in words:
            advice = "its certificate is not trusted; name the file of your authority in SSL_CERT_FILE"
        elif scheme == "http" and type(error).__name__ == "RemoteProtocolError":
            advice = f"it does not speak HTTP; try {self.option} https://{rest}"
        elif any(
            word in words for word in ("name or service", "nodename", "getaddrinfo", "name resolution", "no address")
        ):
            advice = f"there is no host of this name; check {self.option}"
        else:
            advice = f"start the server, or check {self.option}"
        return OutageError(f"{address} cannot be reached: {cause}; {advice}")

    async def _small_reply(self, sender: "PreflightSender", names: Sequence[str] | None) -> list[str]:
        """Ask for a small reply. Transient failures are returned as sentences."""
        message = Message(
            "user", "Reply with JSON: is this ready?" if self.schema else "Reply with: ready", self._images
        )
        schema = _SCHEMA if self.schema else None
        notes: list[str] = []
        problem, kind = "", "other"
        for _ in range(TRIES):
            sent = await self._sent(sender, message, schema)
            error = sent.error
            if error is None:
                return notes
            if isinstance(error, BudgetError):
                raise error
            problem = str(error)
            kind = error.kind if isinstance(error, ModelError) else "other"
            if kind in ("quota", "content"):
                raise OutageError(f"{problem}; {LASTING[kind][1]}")
            if isinstance(error, RefusedError):
                if schema is not None and error.status in (400, 422):
                    # A request without the schema shows whether it was the reason; replies can be read without one.
                    again = await self._sent(sender, message, None)
                    if not isinstance(again.error, RefusedError):
                        sender.learner.keep(sender.learner.dialect.without("response_format"))
                        return notes
                    error = again.error
                raise await self._refused(sender, error, names)
            if kind == "invalid":
                raise OutageError(problem)
            if kind == "server" and self.images and await self._answers_text(sender):
                # llama.cpp's answer to a picture that its model cannot see.
                raise OutageError(f"{problem}; {BLIND}")
            if kind in ("busy", "server", "time-out"):
                notes.append(f"{problem}; requests are sent again until it answers")
                return notes
            if kind == "empty":
                return notes
        if kind == "connection":
            scheme, _, rest = public_address(endpoint_address(self.endpoint)).partition("://")
            tls = f"; where it speaks TLS, give {self.option} https://{rest}" if scheme == "http" else ""
            raise OutageError(f"{problem}{tls}")
        if kind == "reply" and "answered with an error" not in problem:
            raise OutageError(
                f"{problem}; is {public_address(endpoint_address(self.endpoint))} a server of a language model?"
            )
        notes.append(problem)
        return notes

    @property
    def _images(self) -> tuple[bytes, ...]:
        return (_JPEG,) if self.images else ()

    async def _sent(self, sender: "PreflightSender", message: Message, schema: dict[str, Json] | None) -> Sent:
        return await send_within(self.budget, sender, self.endpoint, [message], schema)

    async def _answers_text(self, sender: "PreflightSender") -> bool:
        error = (await self._sent(sender, Message("user", "Reply with: ready"), None)).error
        return error is None or (isinstance(error, ModelError) and error.kind == "reply")

    async def _refused(
        self, sender: "PreflightSender", error: RefusedError, names: Sequence[str] | None
    ) -> OutageError:
        """The error of a server that refuses, with the reason and the remedy."""
        model, variable = self.endpoint.model, self.key_variable
        if error.kind == "access" or error.status == 403:
            if self.api_key is None and variable is not None:
                return OutageError(f"{error}; no key is given: set {variable}")
            named = f"the key in {variable}" if variable is not None else "the key"
            what = "may not use this model" if error.status == 403 else "is wrong or not for this server"
            return OutageError(f"{error}; {named} {what}")
        unknown = names is not None and model not in names
        if names is not None and unknown and (error.kind == "not-found" or "model" in str(error).lower()):
            return OutageError(f"{error}; {_nearest(model, names)}")
        if error.kind == "not-found" or error.status == 404:
            return OutageError(f"{error}; check the name of the model, and {self.option}, which as a rule ends in /v1")
        if self.images and await self._answers_text(sender):
            return OutageError(f"{error}; {BLIND}")
        return OutageError(f"{error}; check the name of the model and {self.option}")


def _names(content: bytes | str) -> list[str] | None:
    try:
        body = json.loads(content)
    except ValueError:
        return None
    found = body.get("data") if isinstance(body, dict) else None
    if not isinstance(found, list):
        return None
    return [str(one["id"])[:200] for one in found[:10_000] if isinstance(one, dict) and isinstance(one.get("id"), str)]


def _nearest(model: str, names: Sequence[str]) -> str:
    """The end of a sentence with the most similar names of models."""
    if not names:
        return "the server lists no model"
    lower = {name.lower(): name for name in names}
    close = [lower[name] for name in difflib.get_close_matches(model.lower(), lower, NAMED_MODELS, 0.4)]
    close += [name for name in names if name not in close]
    more = f" and {len(names) - NAMED_MODELS:,} more" if len(names) > NAMED_MODELS else ""
    return f"the server has {', '.join(scrub(name) for name in close[:NAMED_MODELS])}{more}"


def _reached(cause: BaseException) -> bool:
    """True if there was a connection, so that the failure may be transient."""
    # A server that disconnects was there; one that expects TLS answers with bytes that are no HTTP.
    if type(cause).__name__ == "RemoteProtocolError":
        return "disconnected" in str(cause)
    return type(cause).__name__ in ("ReadError", "ReadTimeout", "WriteError", "DecodingError", "PoolTimeout")
