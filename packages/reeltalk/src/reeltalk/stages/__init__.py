"""The stages as functions.

Each function is named like its command, takes settings, returns a report and prints nothing.

    from reeltalk import Benchmark
    from reeltalk.stages import PlaySettings, evaluate, report

    kitchen = Benchmark.open("benchmarks/kitchen")
    streaming = PlaySettings(mode="streaming")
    done = evaluate(kitchen, model="baseline:blind", out="runs/blind", play=streaming)
    report(done.run, out="site")

The packages below do the work. A name is imported when it is first used, so importing this package is fast. Begin with
`evaluating`; `run` holds what `evaluate` and `judge` share.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reeltalk.analysis.calibration import CalibrationSettings
    from reeltalk.analysis.comparison import CompareSettings
    from reeltalk.evaluation.settings import (
        FrameSettings,
        LimitSettings,
        ModelSettings,
        PlaySettings,
        RunConfig,
        ScoreSettings,
    )
    from reeltalk.judge.settings import JudgeModelSettings, JudgeSettings
    from reeltalk.pages.settings import ReportSettings
    from reeltalk.stages.calibrating import attack, attack_style, calibrate, write_rating_sheet
    from reeltalk.stages.evaluating import evaluate
    from reeltalk.stages.judging import judge
    from reeltalk.stages.layouts import (
        ExportReport,
        FreezeReport,
        export_layout,
        freeze,
        import_layout,
        import_questions,
    )
    from reeltalk.stages.planning import plan_evaluation
    from reeltalk.stages.reporting import compare, report, runs_table
    from reeltalk.stages.retrying import retry
    from reeltalk.stages.run import RunReport
    from reeltalk.stages.scoring import score

__all__ = [
    "CalibrationSettings",
    "CompareSettings",
    "ExportReport",
    "FrameSettings",
    "FreezeReport",
    "JudgeModelSettings",
    "JudgeSettings",
    "LimitSettings",
    "ModelSettings",
    "PlaySettings",
    "ReportSettings",
    "RunConfig",
    "RunReport",
    "ScoreSettings",
    "attack",
    "attack_style",
    "calibrate",
    "compare",
    "evaluate",
    "export_layout",
    "freeze",
    "import_layout",
    "import_questions",
    "judge",
    "plan_evaluation",
    "report",
    "retry",
    "runs_table",
    "score",
    "write_rating_sheet",
]

_HOMES: Final = {
    "attack": "reeltalk.stages.calibrating",
    "attack_style": "reeltalk.stages.calibrating",
    "import_layout": "reeltalk.stages.layouts",
    "import_questions": "reeltalk.stages.layouts",
    "export_layout": "reeltalk.stages.layouts",
    "ExportReport": "reeltalk.stages.layouts",
    "FreezeReport": "reeltalk.stages.layouts",
    "freeze": "reeltalk.stages.layouts",
    "FrameSettings": "reeltalk.evaluation.settings",
    "JudgeModelSettings": "reeltalk.judge.settings",
    "JudgeSettings": "reeltalk.judge.settings",
    "LimitSettings": "reeltalk.evaluation.settings",
    "ModelSettings": "reeltalk.evaluation.settings",
    "PlaySettings": "reeltalk.evaluation.settings",
    "ScoreSettings": "reeltalk.evaluation.settings",
    "CalibrationSettings": "reeltalk.analysis.calibration",
    "CompareSettings": "reeltalk.analysis.comparison",
    "ReportSettings": "reeltalk.pages.settings",
    "calibrate": "reeltalk.stages.calibrating",
    "write_rating_sheet": "reeltalk.stages.calibrating",
    "compare": "reeltalk.stages.reporting",
    "evaluate": "reeltalk.stages.evaluating",
    "RunConfig": "reeltalk.evaluation.settings",
    "RunReport": "reeltalk.stages.run",
    "judge": "reeltalk.stages.judging",
    "plan_evaluation": "reeltalk.stages.planning",
    "report": "reeltalk.stages.reporting",
    "runs_table": "reeltalk.stages.reporting",
    "retry": "reeltalk.stages.retrying",
    "score": "reeltalk.stages.scoring",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
