"""Short hashes for signatures: of the questions, of the frames that were shown, and of the fields that a judge read.

A field is part of a hash if the number can move with it. `extra`, which no judge reads, and the order of rows are not.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from reeltalk.evaluate.playing.histories import WrongAnswers
from reeltalk.evaluate.playing.script import Script, Step
from reeltalk.judge.judge import READ_OF_TURNS, READ_OF_UNITS, Judge, JudgeUnit, fields_read_by
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import plain, short_hash

ASKED: Final = (
    "item_id", "video_id", "unit", "turn_index", "question", "references", "options", "correct_option", "asked_at_s",
)  # fmt: skip
"""Fields of a turn that whoever answers can be told, or that intervals and groups rest on."""
GROUPED: Final = ("labels", "task")
"""Fields by which judged numbers are broken down; some protocols read them too."""


def asked_hash(turns: Iterable[AnsweredTurn]) -> str:
    """Eight digits over turns as they are asked, with their references, whatever was answered."""
    return short_hash(_sorted({name: getattr(turn, name) for name in ASKED} for turn in turns))


def judged_hash(units: Iterable[JudgeUnit], judge: Judge) -> str:
    """Eight digits over all that a judge reads of some units beside the answers.

    Args:
        units: One model's. Other models' answers to the same units give the same hash.
        judge: Its `reads` says what it reads of them; a judge that has none may read everything.
    """
    reads = fields_read_by(judge)
    of_turns = (*ASKED, *GROUPED, *(name for name in READ_OF_TURNS if name in reads))
    of_units = ("kind", "id", "video_id", "task", "official", *(name for name in READ_OF_UNITS if name in reads))
    return short_hash(
        _sorted(
            {name: getattr(unit, name) for name in of_units}
            | {"turns": [{name: getattr(turn, name, None) for name in of_turns} for turn in unit.turns]}
            for unit in units
        )
    )


def shown_hash(
    scripts: Sequence[Script],
    turns: Sequence[AnsweredTurn],
    *,
    subtitles: Callable[[Script, Step], Sequence[str]] | None = None,
) -> str:
    """Eight digits over what was shown, turn by turn: presentation times, the file that the frames are of, lines.

    Args:
        scripts: What was played.
        turns: What came of them: a turn for each step, in the same order.
        subtitles: Gives the lines that were spoken, where they were shown.
    """
    rows, found = [], iter(turns)
    for script in scripts:
        steps: list[object] = []
        for step in script.steps:
            played = next(found).played
            seen: list[object] = [step.unit, step.unit_id, step.turn_index]
            if played is not None and played.frames_s:
                # Who looks at frames may look at those of the clips alone.
                seen += [[round(time_s, 6) for time_s in played.frames_s], played.film, step.clips]
            if subtitles is not None:
                seen.append(subtitles(script, step))
            steps.append(seen)
        rows.append((script.id, steps))
    return short_hash(_sorted(rows))


def planted_hash(scripts: Iterable[Script], wrong: WrongAnswers, turn: int) -> str:
    """Eight digits over the wrong answers that corrupted histories hold.

    Args:
        scripts: What is played.
        wrong: Gives the answers.
        turn: Which turn, from 1, is answered wrongly.
    """
    planted = [(one.id, wrong.wrong(one, one.steps[turn - 1])) for one in scripts if turn < len(one.steps)]
    return short_hash(_sorted(planted))


def scripts_hash(scripts: Iterable[Script], of: Callable[[Script], object]) -> str:
    """Eight digits over something of each script.

    Args:
        scripts: What is played.
        of: What of it.
    """
    return short_hash(_sorted((script.id, of(script)) for script in scripts))


def _sorted(rows: Iterable[object]) -> list[object]:
    return sorted((plain(row) for row in rows), key=lambda row: json.dumps(row, sort_keys=True))
