"""What annotators read above the controls of a task: where the scene is, what the draft says, what checks found."""

from collections import defaultdict
from collections.abc import Iterable

from reeltalk.schema.dialogue import Dialogue, QAChain, TurnRef
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.media import Clip
from reeltalk.store.content import Content


def scenes_of(clips: Iterable[Clip]) -> list[Clip]:
    """Each clip once, in the order of time; those without a time last."""
    once = list({clip.id: clip for clip in clips}.values())
    return sorted(once, key=lambda clip: (clip.interval is None, clip.interval.start_s if clip.interval else 0.0))


def title(video_id: str, scenes: Iterable[Clip], units: Iterable[QAChain | Dialogue]) -> str:
    """One line over a task."""
    where = [
        f"{_clock(clip.interval.start_s)}–{_clock(clip.interval.end_s)} ({clip.id})" if clip.interval else str(clip.id)
        for clip in scenes
    ]
    about = ", ".join(where) or "the whole video"
    return f"{video_id}: {about}; {', '.join(str(unit.id) for unit in units)}"


def heading(unit: QAChain | Dialogue, index: int, number: int) -> str:
    """One line over a turn; numbers from 1."""
    kind = "chain" if isinstance(unit, QAChain) else "dialogue"
    asked_at_s = unit.turns[index].asked_at_s
    when = f", asked at {_clock(asked_at_s)}" if asked_at_s is not None else ""
    return f"Turn {number + 1}: question {index + 1} of {len(unit.turns)} of {kind} {unit.id}{when}"


class Remarks:
    """What is known of turns besides what they say: checks and links, by turn."""

    def __init__(self, content: Content) -> None:
        self._lines: dict[tuple[str, str, int | None], list[str]] = defaultdict(list)
        for gate in content.gates:
            found = "" if gate.outcome == GateOutcome.PASSED else f": {gate.reason or gate.outcome}"
            self._lines[gate.unit, gate.unit_id, gate.turn_index].append(f"Check {gate.gate}: {gate.outcome}{found}")
        for linkage in content.linkages:
            source, target = linkage.source, linkage.target
            to, back = (f"question {end.turn_index + 1} of {end.unit_id}" for end in (target, source))
            self._add(source, f"Leads to {to}: {linkage.relation}")
            self._add(target, f"Rests on {back}: {linkage.relation}")

    def _add(self, ref: TurnRef, line: str) -> None:
        self._lines[ref.unit, ref.unit_id, ref.turn_index].append(line)

    def text(self, unit: QAChain | Dialogue, index: int) -> str:
        """The draft of a turn, its options, its checks and its links, a line each."""
        turn = unit.turns[index]
        lines = [f"Draft question: {turn.question}"]
        lines += [f"Draft answer: {answer}" for answer in turn.references]
        lines += [f"Option {number}: {option}" for number, option in enumerate(turn.options or (), start=1)]
        kind = "chain" if isinstance(unit, QAChain) else "dialogue"
        return "\n".join(lines + self._lines.get((kind, unit.id, index), []))


def _clock(moment_s: float) -> str:
    tenths = round(moment_s * 10)
    minutes, rest = divmod(tenths, 600)
    return f"{minutes}:{rest // 10:02d}.{rest % 10}"
