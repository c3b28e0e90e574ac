"""VDAct (AAAI 2025): dialogues, split lists, released model outputs, activity graphs, summaries."""

from reeltalk.formats.vdact_read import read
from reeltalk.formats.vdact_write import write

__all__ = ["read", "write"]
