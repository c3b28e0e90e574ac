"""Messages of inspect_ai as ours, for the providers that inspect_ai asks."""

import base64
import binascii
from pathlib import Path

from inspect_ai.model import ChatMessage

from reeltalk.errors import InputError, SettingError
from reeltalk.llm.model import Message


def message_of(message: ChatMessage, provider: str) -> Message:
    """One of our messages; its pictures stand before its text.

    Args:
        message: Of inspect_ai; pictures are `data:` addresses or files.
        provider: Who takes it, for errors.

    Raises:
        SettingError: It is of a role, or holds something, that the provider does not take.
        InputError: A picture cannot be read.
    """
    if message.role not in ("system", "user", "assistant"):
        raise SettingError(f"{provider} takes no messages of role {message.role!r}")
    if isinstance(message.content, str):
        return Message(message.role, message.content)
    texts, images = [], []
    for part in message.content:
        if part.type == "text":
            texts.append(part.text)
        elif part.type == "image":
            images.append(_jpeg(part.image))
        else:
            raise SettingError(f"{provider} takes text and images, not {part.type}; send a video as its frames")
    return Message(message.role, "\n".join(texts), tuple(images))


def _jpeg(address: str) -> bytes:
    head, _, body = address.partition(",")
    try:
        if head.startswith("data:") and head.endswith(";base64"):
            return base64.b64decode(body, validate=True)
        return Path(address).read_bytes()
    except (binascii.Error, OSError) as error:
        raise InputError(f"a picture cannot be read: {error}", file=address[:80]) from error
