"""Whether a video file is whole, as a filter: a file may lack a small share of its length."""

from typing import Final

from reeltalk.schema.outcomes import FilterResult

MAX_MISSING: Final = 2.0
"""Largest share of a video, in percent, that may be truncated or damaged."""


def missing_share(max_missing: float, *, decoded_s: float, duration_s: float) -> FilterResult:
    """Filter by the share of the video, in percent, that is truncated or damaged.

    Args:
        max_missing: Largest share that passes, in percent.
        decoded_s: Seconds that can be decoded.
        duration_s: Length in seconds according to the file.
    """
    value = 100 * max(0.0, 1 - decoded_s / duration_s) if duration_s else 0.0
    reason = None
    if value > max_missing:
        reason = (
            f"it was cut off or is damaged: {decoded_s:.1f} of {duration_s:.1f} s can be decoded, {value:.1f} % are "
            f"missing, above {max_missing:g} % = --max-missing"
        )
    advice = "get the whole file, or raise it in curate or attach"
    return filter_result("missing", value, None, max_missing, reason, advice)


def full_reason(result: FilterResult) -> str:
    """Why a filter rejected a video, and what to do.

    Args:
        result: The result of the filter that rejected it.
    """
    return f"{result.reason}; {result.advice}"


def filter_result(
    name: str, value: float, low: float | None, high: float | None, reason: str | None, advice: str | None
) -> FilterResult:
    """The result of a filter: passed without a reason, else rejected."""
    return FilterResult(
        filter=name,
        outcome="passed" if reason is None else "rejected",
        value=round(value, 6),
        low=low,
        high=high,
        reason=reason,
        advice=None if reason is None else advice,
    )
