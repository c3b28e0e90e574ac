"""Numbers from answers and references: text metrics, intervals, tests, agreement of raters and proactive measures.

Judging by a model is left to `judge`, and what a report shows to `analysis`. Begin with `scoring`, the registry of text
metrics, and `uncertainty`, the intervals of all means. Each name below is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reeltalk.metrics.prediction_powered import CorrectedInterval, corrected_interval
    from reeltalk.metrics.uncertainty import MeanInterval, mean_interval, measure_interval

__all__ = ["CorrectedInterval", "MeanInterval", "corrected_interval", "mean_interval", "measure_interval"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "prediction_powered" if name.lower().startswith("corrected") else "uncertainty"
    return getattr(import_module(f"{__name__}.{home}"), name)
