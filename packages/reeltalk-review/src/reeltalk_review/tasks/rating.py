"""Rating: people give marks to models' answers without knowing which model wrote them.

The scales come from published judges, so that people and judges can be compared, or from you.
"""

import hashlib
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reeltalk.errors import InputError, SettingError
from reeltalk.judge.protocol import Protocol, protocols
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.record import Finite, Json, Name
from reeltalk.store.content import Content
from reeltalk.store.foreign import open_file
from reeltalk_review.errors import InvalidValue
from reeltalk_review.naming import SEPARATOR, ContentNames
from reeltalk_review.tasks.task import REMARKS, Code, Draft, ReviewTask, Value, remark_lines

MOST_MARKS: Final = 101
_OWN: Final = Path(__file__).with_name("rating.toml")
"""A scale that no judge uses."""


class ScaleCriterion(BaseModel):
    """One criterion of a scale."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    """The criterion's name in the judge's scores."""
    title: Name
    lowest: Finite
    highest: Finite
    step: Annotated[Finite, Field(gt=0)] = 1.0
    levels: dict[str, str]
    """The meaning of each mark or range of marks."""
    may_not_apply: bool = False

    @model_validator(mode="after")
    def _has_marks(self) -> Self:
        steps = (self.highest - self.lowest) / self.step
        if not 0 < steps < MOST_MARKS or abs(steps - round(steps)) > 1e-9:
            raise ValueError(f"from lowest to highest there must be 1 to {MOST_MARKS - 1} whole steps")
        return self


class RatingScale(BaseModel):
    """What people rate of an answer, or of all answers of a dialogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    version: Name
    unit: Literal["turn", "dialogue"]
    """Whether each answer gets a rating, or a whole dialogue."""
    source: str = ""
    criteria: Annotated[tuple[ScaleCriterion, ...], Field(min_length=1, max_length=20)]


@cache
def rating_scales() -> dict[str, RatingScale]:
    """The scales that come with reeltalk, by name: the scales of protocols that people can use, and `rating`."""
    found = [_of_protocol(protocol) for protocol in protocols().values() if protocol.rating]
    return {scale.name: scale for scale in (*found, _read_scale(_OWN))}


def _of_protocol(protocol: Protocol) -> RatingScale:
    """Criteria have the names of the judge's scores, so that `reeltalk calibrate` can compare the two."""
    return RatingScale(
        name=protocol.name,
        version=protocol.rating,
        unit="turn" if protocol.unit == "turn" else "dialogue",
        source=protocol.source,
        criteria=tuple(
            ScaleCriterion(
                name=criterion.name,
                title=criterion.rating_title,
                lowest=criterion.low if criterion.lowest is None else criterion.lowest,
                highest=criterion.high,
                step=criterion.step,
                levels=dict(criterion.levels),
                may_not_apply=criterion.may_not_apply,
            )
            for criterion in protocol.criteria
            if criterion.rating_title
        ),
    )


def load_scale(name: str) -> RatingScale:
    """A scale by name, or from a TOML file of the same form.

    Raises:
        SettingError: There is none of this name.
        InputError: The file is not a scale; names the field.
    """
    if name in rating_scales():
        return rating_scales()[name]
    path = Path(name)
    if path.suffix != ".toml":
        raise SettingError(f"there is no scale '{name}'; known are {', '.join(rating_scales())}, or give a TOML file")
    return _read_scale(path)


def _read_scale(path: Path) -> RatingScale:
    try:
        with open_file(path) as stream:
            raw: dict[str, Any] = tomllib.load(stream)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, hint="check the path") from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is no TOMLDecodeError
        raise InputError(f"not TOML: {error}", file=path) from None
    if len(raw) != 1 or not isinstance(fields := next(iter(raw.values())), dict):
        raise InputError(
            "a scale file holds one table, named as the scale", file=path, hint="see docs/how-to/review.md"
        )
    try:
        return RatingScale.model_validate({"name": next(iter(raw)), **fields})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(first["msg"].removeprefix("Value error, "), file=path, place=place) from None


WHOLE: Final = "whole"
"""The place of ratings for all answers of a dialogue."""


class RatingValue(Value):
    """The marks that somebody gave."""

    marks: Annotated[dict[Name, Finite | None], Field(max_length=20)]
    """By criterion; None if it does not apply. A missing criterion was not rated yet."""


def rating_drafts(
    answers: Iterable[AnsweredTurn], scale: RatingScale, *, seed: int = 17, content: Content | None = None
) -> list[Draft]:
    """Units for rating: one for each model's answers to one dialogue, in an order that reveals nothing.

    Args:
        answers: Answers of any models. Unanswered turns are left out.
        seed: Decides the order.
        content: The benchmark, whose videos and clips name the units. Without it they are numbered.
    """
    names = ContentNames(content if content is not None else Content())
    grouped: dict[tuple[str, str, str], list[AnsweredTurn]] = defaultdict(list)
    for turn in answers:
        if turn.state is AnswerState.ANSWERED:
            grouped[turn.model, turn.unit, turn.unit_id].append(turn)
    order = sorted(grouped, key=lambda key: hashlib.sha256(f"{seed} {key}".encode("utf-8", "replace")).digest())
    return [
        Draft(
            target_table="answers",
            target_id=f"{scale.name}#{scale.version} {model} {kind} {unit_id}"[:512],
            title=f"{names.unit(kind, unit_id, grouped[model, kind, unit_id][0].video_id or '')}{SEPARATOR}answers",
            video_id=grouped[model, kind, unit_id][0].video_id,
            content={
                "scale": scale.model_dump(mode="json"),
                "model": model,
                "unit": kind,
                "id": unit_id,
                "turns": [_shown(turn) for turn in sorted(grouped[model, kind, unit_id], key=lambda t: t.turn_index)],
            },
        )
        for model, kind, unit_id in order
    ]


class RatingTask(ReviewTask):
    """Marks for answers."""

    kind = "rating"
    title = "Rate answers"
    template = "work_rating.html"
    adjudicated = False

    def drafts(self, content: Content) -> Iterator[Draft]:
        """None: answers belong to a run, not to the benchmark. `rating_drafts` makes the units."""
        yield from ()

    def places(self, content: Mapping[str, Json]) -> Sequence[str]:
        """One for each answer, named by its turn's index, or one for all."""
        if content["scale"]["unit"] == "dialogue":
            return [WHOLE]
        return [str(turn["turn_index"]) for turn in content["turns"]]

    def visible_content(self, content: Mapping[str, Json], values: Mapping[str, Json]) -> Mapping[str, Json]:
        """Everything except the model's name."""
        return {name: value for name, value in content.items() if name != "model"}

    def check(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """The value as it is stored: marks and criteria of the scale.

        Raises:
            InvalidValue: A mark or a criterion is not part of the scale.
        """
        if place not in self.places(content):
            raise InvalidValue("there is nothing to rate at this place", field="place")
        found = RatingValue.parsed(value)
        criteria = {row["name"]: row for row in content["scale"]["criteria"]}
        for name, mark in found.marks.items():
            if name not in criteria:
                raise InvalidValue(f"the scale has no criterion {name[:80]!r}", field="marks")
            row = criteria[name]
            if mark is None:
                if not row["may_not_apply"]:
                    raise InvalidValue(f"{row['title']} always applies; give a mark", field="marks")
            elif not _is_mark(row, mark):
                raise InvalidValue(
                    f"{row['title']} goes from {row['lowest']:g} to {row['highest']:g} in steps of {row['step']:g}, "
                    f"not {mark:g}",
                    field="marks",
                )
        return {**found.model_dump(mode="json"), "complete": criteria.keys() <= found.marks.keys()}

    def is_decided(self, value: Json) -> bool:
        """True if every criterion has a mark or does not apply."""
        return value is not None and bool(value["complete"])

    def essence(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        return value["marks"]

    def draft_value(self, content: Mapping[str, Json], place: str) -> Json:
        return {"marks": {}, **REMARKS, "complete": False}

    def codes(self, content: Mapping[str, Json], place: str, value: Json) -> Iterator[Code]:
        """The marks by criterion."""
        for row in content["scale"]["criteria"]:
            yield Code(row["name"], "interval", value["marks"].get(row["name"]))

    def summary(self, content: Mapping[str, Json], place: str, value: Json) -> Sequence[tuple[str, str]]:
        """The marks and the note."""
        titles = {row["name"]: row["title"] for row in content["scale"]["criteria"]}
        shown = [
            (titles.get(name, name), "does not apply" if mark is None else f"{mark:g}")
            for name, mark in value["marks"].items()
        ]
        return [*shown, *remark_lines(value)]


def _is_mark(row: Mapping[str, Any], mark: float) -> bool:
    steps = (mark - row["lowest"]) / row["step"]
    return bool(row["lowest"] <= mark <= row["highest"] and abs(steps - round(steps)) < 1e-9)


def _shown(turn: AnsweredTurn) -> dict[str, Json]:
    return {
        "turn_index": turn.turn_index,
        "question": turn.question,
        "references": list(turn.references),
        "answer": turn.text,
        "asked_at_s": turn.asked_at_s,
        "options": list(turn.options) if turn.options is not None else None,
    }
