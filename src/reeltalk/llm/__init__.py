"""Asks language models within a budget, keeps every reply, and reads replies as validated records.

What to ask and how to score a reply is left to the rooms above. Begin with `model`, the interfaces, and `client`;
importing this room loads neither `openai` nor `inspect_ai`, opening a model does.
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
