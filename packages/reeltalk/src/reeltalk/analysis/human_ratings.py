"""People's ratings of answers, from a run, from rows of scores or from a sheet; and blank sheets.

A blank sheet has answers of all models and videos in random order, and names no model.
"""

import csv
import hashlib
import io
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.analysis.columns import HUMAN, floor_of, is_reference, metric_kind, share_of_scale
from reeltalk.analysis.verdicts import Place
from reeltalk.errors import InputError, SettingError
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.record import derive_id
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.schema.texts import printable
from reeltalk.store.documents import read_text
from reeltalk.store.rows import open_rows
from reeltalk.store.runs import JUDGED, Run
from reeltalk.store.score_frame import SCORE
from reeltalk.store.text_tables import write_csv

COLUMNS: Final = ("model", "unit_id", "turn_index", "criterion", "rater", "value")
"""Columns of a sheet; `item` may replace the first three."""
ITEM: Final = "item"
DOES_NOT_APPLY: Final = frozenset({"n/a", "na", "-", "–"})
"""Values that mean that a criterion does not apply."""
MOST_TURNS: Final = 100_000
Turn = tuple[str, int]
"""A unit and the index of a turn in it."""


@dataclass(frozen=True)
class HumanRating:
    """The rating of one answer on one criterion by one person."""

    place: Place
    criterion: str
    rater: str
    value: float


@dataclass(frozen=True)
class HumanRatings:
    """Ratings, with counts of rows that are not ratings."""

    ratings: tuple[HumanRating, ...]
    sources: tuple[str, ...]
    empty: int = 0
    """Number of rows of sheets that are not filled in."""
    not_applicable: int = 0


def item_code(place: Place) -> str:
    """The name of an answer on a blinded sheet, which does not reveal its model."""
    return derive_id("item", *place)


def human_ratings(runs: Sequence[Run], files: Sequence[Path], places: Iterable[Place]) -> HumanRatings:
    """Read all ratings by people, from runs and files.

    Args:
        runs: The runs; their tables `scores/judged-*.jsonl` may have rows whose judge is `human:NAME`.
        files: Files of such rows in JSON Lines, or sheets in CSV.
        places: Places of all answers in the runs, to decode the item codes of sheets.

    Raises:
        InputError: A file is damaged, a row is not by a person, or two rows rate the same answer; names line and field.
        SettingError: There are no ratings.
    """
    found: dict[tuple[Place, str, str], tuple[HumanRating, str]] = {}
    counted = {"empty": 0, "n/a": 0}
    sources: list[str] = []
    codes: dict[str, Place] | None = None

    def add(rows: Iterable[tuple[int | None, HumanRating | None, str]], file: Path) -> None:
        several: dict[tuple[Place, str, str], list[float]] = {}
        for line, rating, state in rows:
            if rating is None:
                counted[state] += 1
                continue
            key = (rating.place, rating.criterion, rating.rater)
            where = f"{file}:{line}" if line is not None else str(file)
            if key in found and line is not None:
                raise InputError(
                    f"{rating.rater!r} rates the same answer on {rating.criterion!r} a second time; "
                    f"the first is in {found[key][1]}",
                    file=file,
                    line=line,
                    hint="keep one of the two",
                )
            # Rounds of one person in a run are averaged.
            several.setdefault(key, []).append(rating.value)
            mean = sum(several[key]) / len(several[key])
            found[key] = (HumanRating(rating.place, rating.criterion, rating.rater, mean), where)

    for run in runs:
        for protocol in run.protocols():
            path = run.file(JUDGED.format(protocol=protocol))
            if says_human(path):
                add(_in_run(run, protocol), path)
                sources.append(str(path))
    for file in files:
        if file.suffix.lower() == ".csv":
            if codes is None:
                codes = {item_code(place): place for place in places}
            add(_in_sheet(file, codes), file)
        else:
            add(_read_rows(file), file)
        sources.append(str(file))
    if not found:
        looked = ", ".join(map(str, files)) or "the runs' scores/judged-*.jsonl"
        raise SettingError(
            f"no ratings by people in {looked}: {counted['empty']:,} rows are not filled in and {counted['n/a']:,} do "
            "not apply; give --human FILE with rows whose judge is 'human:NAME', or a sheet that is filled in "
            "('reeltalk calibrate RUN --sheet ratings.csv' writes one)"
        )
    ratings = tuple(rating for rating, _ in found.values())
    return HumanRatings(ratings, tuple(sources), counted["empty"], counted["n/a"])


def says_human(path: Path) -> bool:
    """True if a table of scores has rows by people."""
    # Search the bytes: parsing every row of every judge would take longer than the rest of a page.
    with path.open("rb") as stream:
        return any(b'"human:' in line for line in stream)


def _in_run(run: Run, protocol: str) -> Iterator[tuple[int | None, HumanRating | None, str]]:
    for row in run.judged(protocol):
        if row.judge.startswith(HUMAN):
            yield None, *_rating(row)


def _read_rows(file: Path) -> Iterator[tuple[int, HumanRating | None, str]]:
    if not file.is_file():
        raise InputError("no such file", file=file, hint="check the path")
    for line, row in enumerate(open_rows(file, JudgedScore), start=1):
        if not row.judge.startswith(HUMAN) or row.judge == HUMAN:
            raise InputError(
                "not a person's rating", file=file, line=line, place="judge", value=row.judge,
                hint="people's judge is 'human:NAME'",
            )  # fmt: skip
        yield line, *_rating(row)


def _rating(row: JudgedScore) -> tuple[HumanRating | None, str]:
    if row.state is not ScoreState.SCORED or row.value is None:
        return None, "n/a" if row.state is ScoreState.NOT_APPLICABLE else "empty"
    place = (row.model, row.unit_id, row.turn_index)
    return HumanRating(place, row.criterion, row.judge.removeprefix(HUMAN), row.value), ""


def _in_sheet(file: Path, codes: Mapping[str, Place]) -> Iterator[tuple[int, HumanRating | None, str]]:
    reader = csv.DictReader(io.StringIO(read_text(file)), strict=True)
    try:
        names = reader.fieldnames or []
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=file, line=1) from None
    coded = ITEM in names
    needed = (ITEM, *COLUMNS[3:]) if coded else COLUMNS
    if twice := [name for name in dict.fromkeys(names) if name in needed and names.count(name) > 1]:
        raise InputError(f"column {twice[0]!r} appears twice", file=file, line=1, hint="delete one of the two")
    if missing := [name for name in needed if name not in names]:
        raise InputError(
            f"column {missing[0]!r} is missing", file=file, line=1, value=",".join(names) or None,
            hint=f"a sheet has the columns {', '.join(COLUMNS)}, or {', '.join((ITEM, *COLUMNS[3:]))}",
        )  # fmt: skip
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise InputError(f"not CSV: {error}", file=file, line=reader.line_num) from None
        if row is None:
            return
        line = reader.line_num
        cells = {name: (row.get(name) or "").strip() for name in needed}
        if not cells["value"]:
            yield line, None, "empty"
        elif cells["value"].lower() in DOES_NOT_APPLY:
            yield line, None, "n/a"
        else:
            yield line, _rated(cells, file, line, codes if coded else None), ""


def _rated(cells: Mapping[str, str], file: Path, line: int, codes: Mapping[str, Place] | None) -> HumanRating:
    for name, cell in cells.items():
        if not cell and name != "turn_index":
            raise InputError(f"{name} is empty", file=file, line=line, place=name, hint="fill it in")
    try:
        # Many spreadsheets write 2,5 for 2.5.
        value = float(cells["value"].replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            "not a number", file=file, line=line, place="value", value=cells["value"],
            hint="write a number, nothing if nobody rated, or n/a if the criterion does not apply",
        )  # fmt: skip
    if codes is not None:
        place = codes.get(cells[ITEM])
        if place is None:
            raise InputError(
                "no answer in the runs has this code", file=file, line=line, place=ITEM, value=cells[ITEM],
                hint="give the runs that the sheet was made from",
            )  # fmt: skip
    else:
        index = cells["turn_index"]
        if index and not (index.isascii() and index.isdigit() and int(index) < MOST_TURNS):
            raise InputError(
                "not the number of a turn, from 0", file=file, line=line, place="turn_index", value=index,
                hint="leave it empty if the whole dialogue was rated",
            )  # fmt: skip
        place = (cells["model"], cells["unit_id"], int(index) if index else None)
    return HumanRating(place, cells["criterion"], cells["rater"], value)


SHEET_COLUMNS: Final = (
    ITEM, "video_id", "asked_at_s", "before", "question", "references", "answer", "criterion", "rater", "value",
)  # fmt: skip


def rating_sheet(
    runs: Sequence[Run], *, items: int, seed: int, criteria: Sequence[str], rated: Collection[Place] = ()
) -> str:
    """A blank sheet as CSV, with a row for each selected answer and criterion; people fill in `rater` and `value`.

    All models have the same number of answers, within one, to the same turns if they answered them, so that they are
    compared on equal questions. The sheet covers as many videos as possible: one turn of every video before a second
    turn of any, and videos of which nobody rated anything first. The turns of a video have equal chances, but over all
    videos the sheet has answers from every part of the judge's scale, so that a corrected mean errs less. Rows are
    shuffled, and none names its model; `reeltalk calibrate` finds an answer by its `item`, with the same runs. Floors
    and references are not on the sheet.

    Args:
        items: Maximum number of answers.
        seed: Seed of the draw.
        criteria: Criteria that people rate.
        rated: Answers that are rated already; they are left out.

    Raises:
        SettingError: The runs have no answers to rate.
    """
    answered = _answered(runs)
    turns = [turn for turn in answered if _place(turn) not in rated]
    with_ratings = {(turn.model, turn.video_id) for turn in answered if _place(turn) in rated}
    if not turns:
        raise SettingError("the runs have no more answers of models to rate, so a sheet would be empty")
    before = _histories(answered)
    drawn = _drawn(turns, items, seed, _order_in_videos(answered, _judge_scores(runs), seed), with_ratings)
    rows = []
    for turn in sorted(drawn, key=lambda turn: _chance(seed, f"order {turn.model}", turn)):
        place = _place(turn)
        texts = (before[place], turn.question, "\n".join(turn.references), turn.text)
        asked = "" if turn.asked_at_s is None else f"{turn.asked_at_s:g}"
        cells = [item_code(place), turn.video_id, asked, *texts]
        for criterion in criteria:
            rows.append([*map(printable, cells), criterion, "", ""])
    return write_csv(SHEET_COLUMNS, rows)


def _answered(runs: Sequence[Run]) -> list[AnsweredTurn]:
    found: dict[tuple[str, str, int], AnsweredTurn] = {}
    for run in runs:
        apart = {info.model for info in run.info.models if floor_of(info) or is_reference(info)}
        for turn in run.answers():
            if turn.state is AnswerState.ANSWERED and not turn.epoch and turn.model not in apart:
                found.setdefault((turn.model, turn.unit_id, turn.turn_index), turn)
    return list(found.values())


def _histories(turns: Sequence[AnsweredTurn]) -> dict[tuple[str, str, int], str]:
    """The earlier questions before each turn with their references, which the question may refer to."""
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


def _judge_scores(runs: Sequence[Run]) -> dict[Turn, float]:
    """The mean score of each turn by judges and rules, over all models, from 0 to 1."""
    found: dict[Turn, list[float]] = defaultdict(list)
    for run in runs:
        answers = run.scores.answers
        for measure in run.scores.measures:
            if metric_kind(measure) == "headline":
                for unit_id, index, value in answers.select("unit_id", "turn_index", SCORE + measure).iter_rows():
                    if value is not None and (share := share_of_scale(measure, value)) is not None:
                        found[unit_id, index].append(share)
    return {turn: sum(shares) / len(shares) for turn, shares in found.items()}


GOLDEN_RATIO: Final = (5**0.5 - 1) / 2
"""Its multiples, modulo 1, are spread evenly, however many there are."""


def _order_in_videos(turns: Sequence[AnsweredTurn], scores: Mapping[Turn, float], seed: int) -> dict[Turn, int]:
    """The place of each turn in the order in which its video's turns are drawn.

    A video begins with the turn at some place of its turns by score, and these places are spread evenly over the
    videos. The first of these places is random, so each turn of a video has the same chance to be first, or second.
    """
    videos: dict[str, dict[Turn, AnsweredTurn]] = defaultdict(dict)
    for turn in turns:
        videos[turn.video_id].setdefault((turn.unit_id, turn.turn_index), turn)
    start = int.from_bytes(hashlib.sha256(f"{seed} start".encode()).digest()[:4], "big") / 2**32
    found: dict[Turn, int] = {}
    for number, video in enumerate(sorted(videos, key=lambda video: _video_chance(seed, video))):
        own = videos[video]
        ranked = sorted(own, key=lambda turn: (scores.get(turn, 0.0), _chance(seed, "turn", own[turn])))
        first = int((start + number * GOLDEN_RATIO) % 1 * len(ranked))
        steps = sorted(range(len(ranked)), key=lambda step: step * GOLDEN_RATIO % 1)
        found |= {ranked[(first + step) % len(ranked)]: place for place, step in enumerate(steps)}
    return found


def _drawn(
    turns: Sequence[AnsweredTurn],
    items: int,
    seed: int,
    order: Mapping[Turn, int],
    rated: Collection[tuple[str, str]],
) -> list[AnsweredTurn]:
    """The answers of a sheet; `rated` holds the models and videos that have ratings."""
    models: dict[str, dict[str, list[AnsweredTurn]]] = defaultdict(lambda: defaultdict(list))
    for turn in turns:
        models[turn.model][turn.video_id].append(turn)
    queues = []
    for model in sorted(models):
        videos = [
            sorted(found, key=lambda turn: order[turn.unit_id, turn.turn_index]) for found in models[model].values()
        ]
        videos.sort(key=lambda found: ((model, (video := found[0].video_id)) in rated, _video_chance(seed, video)))
        most = max(map(len, videos))
        queues.append([found[depth] for depth in range(most) for found in videos if depth < len(found)])
    drawn: list[AnsweredTurn] = []
    for depth in range(max(map(len, queues))):
        for queue in queues:
            if depth < len(queue) and len(drawn) < items:
                drawn.append(queue[depth])
    return drawn


def _place(turn: AnsweredTurn) -> tuple[str, str, int]:
    return turn.model, turn.unit_id, turn.turn_index


def _video_chance(seed: int, video: str) -> bytes:
    return hashlib.sha256(f"{seed} video {video}".encode("utf-8", "replace")).digest()


def _chance(seed: int, what: str, turn: AnsweredTurn) -> bytes:
    text = f"{seed} {what} {turn.unit_id} {turn.turn_index}"
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
