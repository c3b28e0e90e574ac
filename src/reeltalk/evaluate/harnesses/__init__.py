"""Benchmarks as tasks of other evaluation harnesses, lmms-eval and VLMEvalKit, scored there by our own rules.

Running the models is left to the harness. Begin with `task`, which turns a benchmark into single requests; `scoring` is
called by the files that are written.
"""

from typing import Final

HARNESSES: Final = ("lmms-eval", "vlmevalkit")
"""Their names on the command line."""
