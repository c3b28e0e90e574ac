"""Build and run benchmarks of multi-turn dialogue about video.

The names below are the public ones: what a benchmark and a run hold, and `stages`, whose verbs make them, as
`reeltalk.stages.evaluate`. Importing this loads nothing heavy.
"""

__version__ = "0.1.0"

# The version stands above: records of what was written carry it.
from reeltalk import stages
from reeltalk.errors import ReeltalkError
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.scoring import JudgedScore, Signature
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.runs import Run

__all__ = [
    "Answer",
    "Benchmark",
    "Clip",
    "Content",
    "Dialogue",
    "DialoguePath",
    "Interval",
    "JudgedScore",
    "Linkage",
    "QAChain",
    "ReeltalkError",
    "Run",
    "Signature",
    "Turn",
    "Video",
    "__version__",
    "stages",
]
