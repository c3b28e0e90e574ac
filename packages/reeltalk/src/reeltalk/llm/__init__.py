"""Asks language models within a budget, stores every reply, and reads replies as validated records.

The rooms above decide what to ask and how to score a reply. Begin with `model`, the interfaces, and `client`.
`openai` and `inspect_ai` are loaded when a model is opened, not when this room is imported.
"""

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
