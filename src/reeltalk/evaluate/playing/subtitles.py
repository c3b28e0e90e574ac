"""Spoken lines that a model may know at a time: the lines that have ended."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reeltalk.errors import BenchmarkError
from reeltalk.evaluate.playing.script import Script, Step
from reeltalk.schema.media import Clip
from reeltalk.store.content import Content

LINES: Final = "contained_subs"
"""The field of DramaQA's clips that holds their lines: `speaker`, `utter`, and `st` and `et` in seconds."""
HAIR_S: Final = 1e-6
"""Tolerance in seconds, since times are rounded."""


@dataclass(frozen=True, order=True)
class Subtitle:
    """One spoken line."""

    start_s: float
    end_s: float
    text: str
    """The spoken words, after the speaker's name if it is known."""


def subtitles_of(clips: Iterable[Clip]) -> tuple[Subtitle, ...]:
    """The lines of some clips in the order of time, each once. A scene repeats the lines of its shots.

    Args:
        clips: Clips of one video.

    Raises:
        BenchmarkError: A line has no words or no times, so it is unclear when it may be shown.
    """
    return tuple(sorted({_line(clip, index, line) for clip in clips for index, line in _lines(clip)}))


def visible_subtitles(subtitles: Sequence[Subtitle], asked_at_s: float | None) -> tuple[str, ...]:
    """The lines that ended by the moment of a question.

    Args:
        subtitles: In the order of time.
        asked_at_s: The moment; None for the end of the video.
    """
    return tuple(line.text for line in subtitles if asked_at_s is None or line.end_s <= asked_at_s + HAIR_S)


def spoken_lines(content: Content) -> Callable[[Script, Step], tuple[str, ...]]:
    """Gives the lines that were spoken in the clips of a turn, up to its moment.

    Args:
        content: The benchmark whose scripts are played.
    """
    by_unit: dict[str, tuple[str, ...]] = {dialogue.id: dialogue.clip_ids for dialogue in content.dialogues}
    by_unit |= {chain.id: (chain.clip_id,) for chain in content.chains if chain.clip_id is not None}
    clips = {str(clip.id): clip for clip in content.clips}

    def spoken(script: Script, step: Step) -> tuple[str, ...]:
        names = by_unit.get(step.source_id, ())
        lines = subtitles_of(clips[name] for name in names if name in clips)
        return visible_subtitles(lines, step.asked_at_s)

    return spoken


def _lines(clip: Clip) -> Iterable[tuple[int, Any]]:
    lines = clip.extra.get(LINES, [])
    if not isinstance(lines, list):
        raise BenchmarkError(f"'{LINES}' of clip {clip.id!r} is no list of lines; import the benchmark again")
    return enumerate(lines)


def _line(clip: Clip, index: int, line: Any) -> Subtitle:
    try:
        start_s, end_s = float(line["st"]), float(line["et"])
        speaker, words = str(line.get("speaker", "")).strip(), str(line["utter"]).strip()
    except (KeyError, TypeError, ValueError, AttributeError):
        start_s = end_s = math.nan
    if not (math.isfinite(start_s) and math.isfinite(end_s) and start_s <= end_s):
        raise BenchmarkError(
            f"line {index} of clip {clip.id!r} has no words, or no times from which to which it is heard; "
            "correct the script and import it again"
        )
    return Subtitle(start_s, end_s, f"{speaker}: {words}" if speaker else words)
