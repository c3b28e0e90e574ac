"""A blank sheet for people who rate answers: drawn over models and videos, in an order that tells nothing, blinded."""

import csv
import hashlib
import io
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from reeltalk.errors import SettingError
from reeltalk.report.columns import floor_of, is_reference
from reeltalk.report.human_ratings import ITEM, item_code
from reeltalk.report.visible import visible
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.store.runs import Run

COLUMNS: Final = (
    ITEM, "video_id", "asked_at_s", "before", "question", "references", "answer", "criterion", "rater", "value",
)  # fmt: skip
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet takes for a formula and runs."""


def rating_sheet(runs: Sequence[Run], *, items: int, seed: int, criteria: Sequence[str]) -> str:
    """A sheet as CSV, a row for each drawn answer and criterion; `rater` and `value` are for people to fill in.

    Every model has as many answers as any other, give or take one, and to the same turns where it answered them, so
    that models are compared on equal questions. They are of as many videos as can be: one turn a video before a second
    of any. Rows are mixed, and none names its model; `reeltalk calibrate` knows an answer again by `item`, with the
    same runs. Floors and references are not drawn.

    Args:
        runs: Whose answers.
        items: How many answers.
        seed: Decides which, and their order.
        criteria: What people shall rate.

    Raises:
        SettingError: The runs hold no answers to rate.
    """
    turns = _answered(runs)
    if not turns:
        raise SettingError("the runs hold no answers of models to rate, so there is nothing to put on a sheet")
    before = _histories(turns)
    drawn = _drawn(turns, items, seed)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for turn in sorted(drawn, key=lambda turn: _chance(seed, f"order {turn.model}", turn)):
        place = (turn.model, turn.unit_id, turn.turn_index)
        texts = (before[place], turn.question, "\n".join(turn.references), turn.text)
        asked = "" if turn.asked_at_s is None else f"{turn.asked_at_s:g}"
        cells = [item_code(place), turn.video_id, asked, *texts]
        for criterion in criteria:
            writer.writerow([*map(_inert, cells), criterion, "", ""])
    return stream.getvalue()


def _answered(runs: Sequence[Run]) -> list[AnsweredTurn]:
    found: dict[tuple[str, str, int], AnsweredTurn] = {}
    for run in runs:
        apart = {info.model for info in run.info.models if floor_of(info) or is_reference(info)}
        for turn in run.answers():
            if turn.state is AnswerState.ANSWERED and turn.model not in apart:
                found.setdefault((turn.model, turn.unit_id, turn.turn_index), turn)
    return list(found.values())


def _histories(turns: Sequence[AnsweredTurn]) -> dict[tuple[str, str, int], str]:
    """What was asked before each turn, with the references: what the question may point to."""
    units: dict[tuple[str, str], list[AnsweredTurn]] = defaultdict(list)
    for turn in turns:
        units[turn.model, turn.unit_id].append(turn)
    found = {}
    for unit in units.values():
        lines: list[str] = []
        for turn in sorted(unit, key=lambda turn: turn.turn_index):
            found[turn.model, turn.unit_id, turn.turn_index] = "\n".join(lines)
            lines.append(f"{turn.turn_index + 1}. {turn.question} – {turn.references[0] if turn.references else '?'}")
    return found


def _drawn(turns: Sequence[AnsweredTurn], items: int, seed: int) -> list[AnsweredTurn]:
    models: dict[str, dict[str, list[AnsweredTurn]]] = defaultdict(lambda: defaultdict(list))
    for turn in turns:
        models[turn.model][turn.video_id].append(turn)
    queues = []
    for model in sorted(models):
        videos = [sorted(found, key=lambda turn: _chance(seed, "turn", turn)) for found in models[model].values()]
        videos.sort(key=lambda found: _chance(seed, "video", found[0]))
        most = max(map(len, videos))
        queues.append([found[depth] for depth in range(most) for found in videos if depth < len(found)])
    drawn: list[AnsweredTurn] = []
    for depth in range(max(map(len, queues))):
        for queue in queues:
            if depth < len(queue) and len(drawn) < items:
                drawn.append(queue[depth])
    return drawn


def _chance(seed: int, what: str, turn: AnsweredTurn) -> bytes:
    text = f"{seed} {what} {turn.unit_id} {turn.turn_index}"
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _inert(cell: str) -> str:
    """A cell that no spreadsheet runs; a stranger's answer may begin as a formula does."""
    shown = visible(cell)
    return f"'{shown}" if shown.startswith(FORMULA) else shown
