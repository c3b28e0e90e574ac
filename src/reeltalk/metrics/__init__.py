"""Pure functions from answers and references to numbers."""

from reeltalk.metrics.prediction_powered import CorrectedInterval, corrected_interval
from reeltalk.metrics.uncertainty import MeanInterval, mean_interval, measure_interval

__all__ = ["CorrectedInterval", "MeanInterval", "corrected_interval", "mean_interval", "measure_interval"]
