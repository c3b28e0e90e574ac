"""Benchmarks as tasks of other evaluation harnesses, scored there by our own rules: lmms-eval and VLMEvalKit."""

from typing import Final

HARNESSES: Final = ("lmms-eval", "vlmevalkit")
"""Their names on the command line."""
