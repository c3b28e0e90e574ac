"""Asks language models within a budget, stores every reply, and reads replies as validated records.

The rooms above decide what to ask and how to score a reply. Begin with `model`, the interfaces, and `client`.
Each name below is imported on first use, and `openai` and `inspect_ai` when a model is opened.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reeltalk.llm.budget import Budget, Prices, Spent
    from reeltalk.llm.language_model import LanguageModel
    from reeltalk.llm.model import AsyncModel, Endpoint, Message, Model, Reply
    from reeltalk.llm.prompts import Prompt
    from reeltalk.llm.replies import CachedModel, ReplyStore, reply_key
    from reeltalk.llm.structured import (
        MalformedReplyError,
        RecordResult,
        ask_for,
        ask_for_async,
        json_schema,
        read_record,
        repair_signature,
    )

__all__ = [
    "AsyncModel",
    "Budget",
    "CachedModel",
    "Endpoint",
    "LanguageModel",
    "MalformedReplyError",
    "Message",
    "Model",
    "Prices",
    "Prompt",
    "RecordResult",
    "Reply",
    "ReplyStore",
    "Spent",
    "ask_for",
    "ask_for_async",
    "json_schema",
    "read_record",
    "repair_signature",
    "reply_key",
]

_HOMES: Final = {
    **dict.fromkeys(("Budget", "Prices", "Spent"), "budget"),
    **dict.fromkeys(("AsyncModel", "Endpoint", "Message", "Model", "Reply"), "model"),
    **dict.fromkeys(("CachedModel", "ReplyStore", "reply_key"), "replies"),
    "LanguageModel": "language_model",
    "Prompt": "prompts",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'structured')}"), name)
