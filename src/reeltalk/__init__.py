"""Build and run benchmarks of multi-turn dialogue about video.

The names below are the public ones; a stage is one verb in its package, as `reeltalk.evaluate.score.score`.
"""

__version__ = "0.1.0"

# The version stands above: records of what was written carry it.
from reeltalk.errors import ReeltalkError
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, QAChain, Turn, TurnRef
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
    "TurnRef",
    "Video",
    "__version__",
]
