"""The rules by which a turn makes sense beside its video, for all writers.

The editor, the review server, `apply`, imports and `validate` all apply these. An error survives nothing. With a doubt
a person may keep the turn and say why; the reason stays in the turn's `extra`.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.intervals import Interval, no_later, union
from reeltalk.schema.media import Video

KEPT_BECAUSE: Final = "kept_because"
"""Key of a turn's `extra`: why a person keeps it in spite of doubts."""
TOLERANCE_S: Final = 0.05
"""A container's duration and its last presentation time differ by up to a frame, which lasts this long if its rate is
unknown."""
ROUNDED_S: Final = 1.0
"""Lengths that a source states in whole seconds may be too short by this much."""
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Rule = Literal[
    "question", "reference", "options", "beyond film", "after question", "outside clip", "too short", "order"
]  # fmt: skip


@dataclass(frozen=True)
class TurnFinding:
    """One thing about a turn that makes no sense, or may make none."""

    rule: Rule
    field: str
    """Its place in the turn, with indices from 0, as `evidence.0.end_s`."""
    text: str
    """What is wrong and what to do, for people, who count from 1."""
    may_go_on: bool = True
    """True for a doubt, with which the turn may be kept for a reason; False for an error."""


@dataclass(frozen=True)
class Film:
    """What the rules need to know of a video."""

    duration_s: float | None = None
    frame_s: float | None = None
    """Length of a frame; None if the rate is unknown or changes."""

    @classmethod
    def of(cls, video: Video) -> "Film":
        """The film of a record."""
        varies = video.encoding is not None and video.encoding.variable_frame_rate
        return cls(video.duration_s, None if video.frame_rate is None or varies else float(1 / video.frame_rate))

    @property
    def tolerance_s(self) -> float:
        """How far apart two times may be and still mean one frame."""
        return max(self.frame_s or 0.0, TOLERANCE_S)

    @property
    def end_s(self) -> float | None:
        """The last moment that a time may name; None if the length is unknown."""
        if self.duration_s is None:
            return None
        is_rounded = self.frame_s is None and self.duration_s == int(self.duration_s)
        return self.duration_s + (ROUNDED_S if is_rounded else self.tolerance_s)


def unit_findings(
    unit: QAChain | Dialogue, film: Film, clips: Mapping[str, Interval]
) -> Iterator[tuple[int, TurnFinding]]:
    """What is wrong or doubtful about the turns of a benchmark's chain or dialogue, with each turn's index from 0.

    Args:
        unit: The chain or dialogue.
        film: Its video.
        clips: Clips with a known time, by id.
    """
    ids = unit.clip_ids if isinstance(unit, Dialogue) else (unit.clip_id,) if unit.clip_id else ()
    own = [clips[name] for name in ids if name in clips]
    # Part of what a dialogue is about has no known time.
    own = own if len(own) == len(ids) else []
    for index, turn in enumerate(unit.turns):
        for finding in turn_findings(turn, film, own, answered=False):
            yield index, finding


def turn_findings(turn: Turn, film: Film, clips: Iterable[Interval] = (), *, answered: bool) -> list[TurnFinding]:
    """What is wrong or doubtful about a turn, errors first.

    Args:
        film: Its video.
        clips: The clips that it is about; none if it is about the whole video.
        answered: Whether it must have a reference answer, as one that a person accepts. Sources may withhold them.
    """
    found = [*_texts(turn, answered=answered), *_options(turn), *_times(turn, film)]
    found += _evidence(turn.evidence, film, union(clips, tolerance_s=film.tolerance_s))
    return sorted(found, key=lambda finding: finding.may_go_on)


def _texts(turn: Turn, *, answered: bool) -> Iterator[TurnFinding]:
    if not turn.question.strip():
        yield TurnFinding("question", "question", "the question is empty: write it", may_go_on=False)
    elif not any(map(str.isalnum, turn.question)):
        yield TurnFinding("question", "question", "the question has no words: write it out")
    if answered and not turn.references:
        yield TurnFinding("reference", "references", "there is no answer, so no model can be scored: write one")
    for index, text in enumerate(turn.references):
        if not text.strip():
            said = f"answer {index + 1} is empty: write it, or remove it"
            # Published sets have empty answers here and there.
            yield TurnFinding("reference", f"references.{index}", said, may_go_on=not answered)


def _options(turn: Turn) -> Iterator[TurnFinding]:
    first: dict[str, int] = {}
    for index, option in enumerate(turn.options or ()):
        field, name = f"options.{index}", _option_name(index)
        plain = " ".join(unicodedata.normalize("NFKC", option).casefold().split()).removesuffix(".")
        if not option.strip():
            yield TurnFinding("options", field, f"option {name} is empty: write it")
        # Published sets have such options, also among the right ones, and are played as they are.
        if (other := first.setdefault(plain, index)) != index:
            said = f"options {_option_name(other)} and {name} are the same: change one of them"
            yield TurnFinding("options", field, said)


def _option_name(index: int) -> str:
    return LETTERS[index] if index < len(LETTERS) else str(index + 1)


def _times(turn: Turn, film: Film) -> Iterator[TurnFinding]:
    if turn.asked_at_s is not None and film.end_s is not None and not no_later(turn.asked_at_s, film.end_s):
        said = f"asked at {turn.asked_at_s:.2f} s, but the video lasts only {film.duration_s:.2f} s: ask it earlier"
        yield TurnFinding("beyond film", "asked_at_s", said, may_go_on=False)
    for index, interval in enumerate(turn.evidence):
        name, field = f"evidence {index + 1}", f"evidence.{index}.end_s"
        ends = f"{name} ends at {interval.end_s:.2f} s"
        if film.end_s is not None and not no_later(interval.end_s, film.end_s):
            said = f"{ends}, but the video lasts only {film.duration_s:.2f} s: end it by then"
            yield TurnFinding("beyond film", field, said, may_go_on=False)
        elif turn.asked_at_s is not None and not no_later(interval.end_s, turn.asked_at_s + film.tolerance_s):
            said = f"{ends}, after the question at {turn.asked_at_s:.2f} s: end it by then, or ask later"
            yield TurnFinding("after question", field, said)


def _evidence(evidence: Sequence[Interval], film: Film, clips: Sequence[Interval]) -> Iterator[TurnFinding]:
    before: Interval | None = None
    for index, interval in enumerate(evidence):
        name, field = f"evidence {index + 1}", f"evidence.{index}"
        # Times are rounded to a hundredth, so one frame may come out shorter than it is.
        if interval.duration_s <= (film.frame_s or 0.0) / 2:
            yield TurnFinding("too short", field, f"{name} is shorter than a frame: set its end after its start")
        common_s = (min(clip.end_s, interval.end_s) - max(clip.start_s, interval.start_s) for clip in clips)
        # What goes on at a cut begins in the clip before it, or ends in the clip after it.
        if clips and max(common_s) < (
            film.tolerance_s if interval.duration_s > film.tolerance_s else -film.tolerance_s
        ):
            where = ", ".join(f"{clip.start_s:.2f}–{clip.end_s:.2f} s" for clip in clips)
            said = f"{name} ({interval.start_s:.2f}–{interval.end_s:.2f} s) is outside of the clip ({where}): move it"
            yield TurnFinding("outside clip", field, said)
        if before is not None and interval.start_s < before.start_s:
            yield TurnFinding("order", field, f"{name} begins before evidence {index}: put them in the order of time")
        elif before is not None and not no_later(before.end_s, interval.start_s + film.tolerance_s):
            yield TurnFinding("order", field, f"{name} overlaps evidence {index}: join them, or part them")
        before = interval
