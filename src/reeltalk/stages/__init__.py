"""The stages as verbs, each what a command of the same name does: typed settings in, a report out, nothing printed.

    from reeltalk import Benchmark
    from reeltalk.stages import evaluate, report

    done = evaluate(Benchmark.open("benchmarks/household"), model="baseline:blind", out="runs/blind")
    report(done.run, out="site")

What a verb needs is imported when the verb is first named, so that importing this costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reeltalk.stages.calibrating import calibrate, write_rating_sheet
    from reeltalk.stages.comparing import compare
    from reeltalk.stages.constructing import ConstructReport, construct
    from reeltalk.stages.curating import curate
    from reeltalk.stages.evaluating import evaluate
    from reeltalk.stages.filming import film
    from reeltalk.stages.finishing import RunReport
    from reeltalk.stages.judging import judge
    from reeltalk.stages.planning import plan_evaluation
    from reeltalk.stages.reporting import report, runs_table
    from reeltalk.stages.scoring import score

__all__ = [
    "ConstructReport",
    "RunReport",
    "calibrate",
    "compare",
    "construct",
    "curate",
    "evaluate",
    "film",
    "judge",
    "plan_evaluation",
    "report",
    "runs_table",
    "score",
    "write_rating_sheet",
]

_HOMES: Final = {
    "ConstructReport": "constructing",
    "RunReport": "finishing",
    "calibrate": "calibrating",
    "compare": "comparing",
    "construct": "constructing",
    "curate": "curating",
    "evaluate": "evaluating",
    "film": "filming",
    "judge": "judging",
    "plan_evaluation": "planning",
    "report": "reporting",
    "runs_table": "reporting",
    "score": "scoring",
    "write_rating_sheet": "calibrating",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
