"""Export benchmarks as tasks of lmms-eval and VLMEvalKit, which then score them with reeltalk's rules.

The harness runs the models. Begin with `task`, which turns a benchmark into single requests; the exported files call
`scoring`.
"""

from typing import Final

HARNESSES: Final = ("lmms-eval", "vlmevalkit")
"""Their names on the command line."""
