"""Parts of MT-Video-Bench's files: dialogues however they are nested, checklists, and scores of rounds."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reeltalk.errors import InputError
from reeltalk.formats import mt_video_bench_layout as layout
from reeltalk.formats.mt_video_bench_documents import Shape
from reeltalk.formats.mt_video_bench_layout import round_of
from reeltalk.schema.dialogue import Checklist, ChecklistItem
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.documents import parse, placed


@dataclass
class SourceJson:
    """A JSON file of the release, read."""

    name: str
    """Relative to the imported folder."""
    path: Path
    kind: str
    value: Json

    @property
    def task(self) -> str:
        """The task that its name says."""
        return layout.task_of(self.path.stem)


@dataclass
class Entry:
    """One dialogue of an `mtqa` file, however it is nested."""

    event: str | int
    rounds: dict[str, Any]
    unknown: dict[str, Json]
    shape: Shape
    place: str
    rounds_place: str


def entries_of(value: Json, file: SourceJson, place: str) -> Iterator[Entry]:
    """Dialogues of an `mtqa` file."""
    if isinstance(value, dict):
        for key, member in value.items():
            fields = parse(dict[str, Any], member, file=file.path, place=f"{place}.{key}")
            yield _entry(key, fields, file, f"{place}.{key}", Shape(by_name=True, keyed=True))
        return
    for index, item in enumerate(parse(list[dict[str, Any]], value, file=file.path, place=place)):
        at = f"{place}[{index}]"
        names = [key for key in item if layout.is_event_key(key)]
        if "event_index" not in item and len(item) == 1 and names:
            fields = parse(dict[str, Any], item[names[0]], file=file.path, place=f"{at}.{names[0]}")
            yield _entry(names[0], fields, file, f"{at}.{names[0]}", Shape(keyed=True))
            continue
        if "event_index" not in item:
            raise InputError("a required field is missing", file=file.path, place=f"{at}.event_index", value=None)
        event: str | int = parse(
            layout.EventIndex,  # type: ignore[arg-type]
            item["event_index"],
            file=file.path,
            place=f"{at}.event_index",
        )
        yield _entry(event, item, file, at, Shape())


def _entry(event: str | int, fields: dict[str, Any], file: SourceJson, place: str, shape: Shape) -> Entry:
    unknown = {key: member for key, member in fields.items() if shape.keyed or key != "event_index"}
    if "mtqa" in fields:
        rounds = parse(dict[str, Any], unknown.pop("mtqa"), file=file.path, place=f"{place}.mtqa")
        return Entry(event, rounds, unknown, shape, place, f"{place}.mtqa")
    rounds = {key: member for key, member in fields.items() if round_of(key) is not None}
    if not rounds:
        raise InputError("neither mtqa nor rounds", file=file.path, place=place, value=sorted(fields))
    unknown = {key: member for key, member in unknown.items() if key not in rounds}
    direct = Shape(by_name=shape.by_name, keyed=shape.keyed, direct=True)
    return Entry(event, rounds, unknown, direct, place, place)


def round_index_of(row: dict[str, Any], file: SourceJson, place: str) -> int:
    """The number of a round, from 1."""
    if "round index" not in row:
        raise InputError("a required field is missing", file=file.path, place=f"{place}.round index")
    value = row["round index"]
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 5:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 10_000:
        raise InputError("not the number of a round", file=file.path, place=f"{place}.round index", value=value)
    return value


def checklist_of(row: dict[str, Any], file: SourceJson, place: str) -> Checklist:
    """The checklist of a round."""
    parts: dict[int, dict[str, str]] = {}
    extra: dict[str, Json] = {}
    for key, value in row.items():
        match = layout.CHECKLIST_KEY.fullmatch(key)
        if match is None:
            if key != "round index":
                extra[key] = value
            continue
        if not isinstance(value, str):
            raise InputError("not a text", file=file.path, place=f"{place}.{key}", value=value)
        parts.setdefault(int(match[2]), {})[match[1]] = value
    items: list[ChecklistItem] = []
    for number, part in sorted(parts.items()):
        for letter in "QA":
            if letter not in part:
                raise InputError("a required field is missing", file=file.path, place=f"{place}.{letter}{number}")
        expected = part["A"].strip().casefold()
        if expected not in ("yes", "no"):
            raise InputError("neither Yes nor No", file=file.path, place=f"{place}.A{number}", value=part["A"])
        own = {} if number == len(items) + 1 else {"number": number}
        items.append(ChecklistItem(question=part["Q"], expected=expected == "yes", extra=own))
    return Checklist(items=tuple(items), extra=extra)


def scores_of(
    file: SourceJson, place: str, unit: tuple[str, str, str], turn_index: int, row: layout.RoundResult
) -> Iterator[JudgedScore]:
    """The scores of a round: its own, and one for each run of the judge."""

    def score(criterion: str, value: float | None, extra: dict[str, Json], at: str) -> JudgedScore:
        with placed(file.path, at):
            return JudgedScore(
                unit="turn",
                unit_id=unit[2],
                turn_index=turn_index,
                model=unit[0],
                judge=unit[1],
                criterion=criterion,
                value=value,
                state=ScoreState.SCORED if value is not None else ScoreState.UNSCORED,
                reason=None if value is not None else "the judge gave no accuracy",
                extra=extra,
            )

    named = {} if row.CHECKLISTS_EVAL is None else {"CHECKLISTS_EVAL": row.CHECKLISTS_EVAL}
    yield score(layout.CRITERION, row.ACC, {**named, **row.unknown}, place)
    runs: list[str] = []
    for index, run in enumerate(row.ALL_RUNS):
        at = f"{place}.ALL_RUNS[{index}]"
        name = str(run.run_id)
        if name in runs:
            raise InputError("this run stands twice", file=file.path, place=f"{at}.run_id", value=run.run_id)
        runs.append(name)
        extra: dict[str, Json] = {"run_id": run.run_id} if not isinstance(run.run_id, str) else {}
        if run.results is not None:
            extra["results"] = run.results
        yield score(f"{layout.RUN}{name}", run.acc, {**extra, **run.unknown}, at)
