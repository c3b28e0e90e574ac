"""The command of reeltalk-review."""

from typing import Final

from reeltalk.plugins import Command

REVIEW: Final = Command(
    "reeltalk_review.cli:review",
    "Let people review every turn of a benchmark in a browser.",
    "Build",
)
