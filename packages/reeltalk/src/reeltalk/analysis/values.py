"""Values of metrics as people read them, on one scale in terminals, tables and pages.

A metric that is a share, from 0 to 1 or from 0 to 100, is written in percent with one decimal. Every other metric keeps
its own scale and names it. Files for machines do not use this module: they have full numbers.
"""

from reeltalk.analysis.columns import metric_info, metric_title
from reeltalk.metrics.info import digits
from reeltalk.metrics.uncertainty import FEW_VIDEOS


def display_factor(metric: str | None) -> float:
    """The factor between a metric's values in files and the values that people read: 100 for shares from 0 to 1."""
    info = None if metric is None else metric_info(metric)
    return 1.0 if info is None or info.percent is None else info.percent


def metric_unit(metric: str) -> str:
    """The unit of a metric's values as people read them: `%`, `s`, a scale such as `1–3`, or nothing."""
    info = metric_info(metric)
    if info is None:
        return ""
    return "%" if info.percent is not None else info.unit or info.scale


def metric_heading(metric: str) -> str:
    """The title of a metric with its unit, such as `VDEval (1–3)`."""
    unit, title = metric_unit(metric), metric_title(metric)
    return f"{title} ({unit})" if unit and f"({unit})" not in title else title


def format_value(value: float, metric: str | None = None) -> str:
    """A value without its unit, such as `65.3` for a share of 0.653.

    Args:
        value: As files have it.
        metric: Its metric. Without one, the value has four decimals, or two from 10 on.
    """
    return f"{value * display_factor(metric):,.{_digits(metric, value)}f}"


def format_signed(metric: str | None, value: float) -> str:
    """A difference with its sign and without its unit; a difference of shares is in percentage points."""
    return f"{value * display_factor(metric):+z,.{_digits(metric, 0.0)}f}"


def format_quoted(value: float, metric: str) -> str:
    """A value with its unit, as a sentence quotes it: `65.3 %`, `1.20 s`, `2.31 on a scale of 1–3`."""
    info, written = metric_info(metric), format_value(value, metric)
    if info is None:
        return written
    if info.percent is not None or info.unit:
        return f"{written} {metric_unit(metric)}"
    return f"{written} on a scale of {info.scale}" if info.scale else written


def format_points(value: float, metric: str) -> str:
    """The size of a difference with its unit and without a sign, as `36.0 points`."""
    written = format_signed(metric, abs(value))[1:]
    info = metric_info(metric)
    if info is not None and info.percent is not None:
        return f"{written} points"
    return f"{written} on a scale of {info.scale}" if info is not None and info.scale else written


def format_range(
    low: float | None, high: float | None, metric: str | None = None, *, signed: bool = False, videos: int | None = None
) -> str:
    """An interval in brackets, without a unit; empty if an end is missing.

    Args:
        low: Lower end.
        high: Upper end.
        metric: The metric of both.
        signed: True for the interval of a difference.
        videos: Number of source videos that it rests on, if few of them shall be marked; see `few_mark`.
    """
    if low is None or high is None:
        return ""
    ends = (format_signed(metric, end) if signed else format_value(end, metric) for end in (low, high))
    return f"[{', '.join(ends)}]{few_mark(videos)}"


def few_mark(videos: int | None) -> str:
    """The mark behind the interval of a difference on few videos, as `, 2 videos`; empty from `FEW_VIDEOS` on.

    A value has no interval on so few as two videos, but a paired difference has.
    """
    return f", {videos} videos" if videos is not None and videos < FEW_VIDEOS else ""


def _digits(metric: str | None, value: float) -> int:
    info = None if metric is None else metric_info(metric)
    return digits(value) if info is None else info.digits(value)
