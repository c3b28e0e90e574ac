"""The commands of reeltalk-streaming."""

from typing import Final

from reeltalk.plugins import Command

CHAT: Final = Command(
    "reeltalk_streaming.cli.chatting:chat", "Talk to a video while it plays.", "Evaluate", "Conversation"
)
PROACTIVE: Final = Command(
    "reeltalk_streaming.cli.proactive:proactive",
    "Models that speak unasked: run a model, tune it, score it.",
    "Evaluate",
)
TRAIN: Final = Command("reeltalk_streaming.cli.training:train", "Train a streaming video-language model.", "Evaluate")
