"""Numbers from answers and references: text metrics, intervals, tests, agreement of raters and proactive measures.

Judging by a model is left to `judge`, and what a report shows to `analysis`. Begin with `scoring`, the registry of text
metrics, and `uncertainty`, the intervals of all means.
"""

from reeltalk.metrics.prediction_powered import CorrectedInterval, corrected_interval
from reeltalk.metrics.uncertainty import MeanInterval, mean_interval, measure_interval

__all__ = ["CorrectedInterval", "MeanInterval", "corrected_interval", "mean_interval", "measure_interval"]
