"""Gold: copies of tasks with planted faults, to measure how well annotators find them.

Each fault comes from a closed list and is made from the benchmark itself: an answer of another turn of the video, a
question about another video, evidence from another part of the clip. An annotator gets no gold that they could
recognise: nobody ever gets both gold and another unit that shows the same turns, in any queue and in any order.
"""

import copy
import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, Literal

from sqlalchemy import ColumnElement, and_, case, exists, func, literal, or_, select
from sqlalchemy.orm import Session, aliased

from reeltalk.metrics.uncertainty import Proportion, wilson
from reeltalk.schema.intervals import Interval, union
from reeltalk.schema.record import Json, derive_id
from reeltalk_review.errors import InvalidValue, NotFound
from reeltalk_review.events import Transaction
from reeltalk_review.tables import (
    AssignmentRow,
    DutyRow,
    EntryRow,
    PersonRow,
    QueueRow,
    ResultRow,
    UnitRow,
)
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.turns import EDITABLE

SHORTEST_S: Final = 1.0
"""Shortest part of a clip that false evidence is taken from."""


class Fault(StrEnum):
    """A kind of planted fault."""

    WRONG_ANSWER = "wrong_answer"
    """The answer of another turn of the same video."""
    LEAKS = "leaks"
    """The question contains its answer."""
    WRONG_TIME = "wrong_time"
    """Evidence from a part of the clip that does not show the answer."""
    NOT_IN_VIDEO = "not_in_video"
    """Question and answer of a turn of another video."""
    LANGUAGE = "language"
    """The question is in another language than the others."""
    ABILITY_MISMATCH = "ability_mismatch"
    """The labels of a turn that asks for something else."""


@dataclass(frozen=True)
class Remedy:
    """The right reactions to a fault."""

    reasons: frozenset[str]
    """Fitting reasons for rejecting."""
    fields: frozenset[str]
    """Editing at least one of these fields can correct it."""


REMEDIES: Final[dict[Fault, Remedy]] = {
    Fault.WRONG_ANSWER: Remedy(frozenset({"wrong_answer"}), frozenset({"references", "correct_option"})),
    Fault.LEAKS: Remedy(frozenset({"leaks", "too_easy"}), frozenset({"question"})),
    Fault.WRONG_TIME: Remedy(frozenset({"wrong_time"}), frozenset({"evidence", "asked_at_s"})),
    Fault.NOT_IN_VIDEO: Remedy(frozenset({"not_in_video"}), frozenset({"question"})),
    Fault.LANGUAGE: Remedy(frozenset({"language"}), frozenset({"question"})),
    Fault.ABILITY_MISMATCH: Remedy(frozenset({"ability_mismatch"}), frozenset({"labels"})),
}
LARGEST_SHARE: Final = 1 / 3
"""Largest share of a unit's turns that get a fault, but at least one turn: gold must look like any other unit."""

LEAST_TURNS: Final = 2
"""Fewest turns of a unit that gold is made from."""
LEAST_APART: Final = 20
"""Fewest units between gold and the unit that it copies, if that is open and the queue is long enough."""

_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_CHINESE: Final = ("接下来视频里发生了什么?", "这个人现在在做什么?", "画面里有哪些东西?", "他为什么这样做?")
_ENGLISH: Final = (
    "What happens next in the video?",
    "What is this person doing now?",
    "Which things can be seen here?",
    "Why does the person do that?",
)


@dataclass(frozen=True)
class GoldSource:
    """A unit that gold may be made from, or that lends a turn to others."""

    unit_id: str
    video_id: str
    content: Mapping[str, Json]
    """Content of a unit of task `turns`. Its turns are trusted to be right."""


@dataclass(frozen=True)
class PlantedUnit:
    """A copy of a unit with faults."""

    source: str
    """Id of the copied unit."""
    content: dict[str, Json]
    faults: dict[str, Fault]
    """By place. All other places are unchanged."""


def plant_faults(
    sources: Sequence[GoldSource], *, count: int, seed: int, may_copy: Callable[[str], bool] = lambda _: True
) -> list[PlantedUnit]:
    """Make gold from some units. Faults are spread evenly over the kinds, as far as the units allow.

    Args:
        sources: All units.
        count: Number of gold units; fewer if fewer units can be made faulty.
        seed: Equal arguments give equal gold.
        may_copy: Whether the unit with an id may be copied. Asked only until enough gold is made. The others still lend
            turns.
    """
    rng = random.Random(f"gold {seed}")
    ordered = sorted(sources, key=lambda source: source.unit_id)
    chosen = [source for source in ordered if len(source.content["turns"]) >= LEAST_TURNS]
    rng.shuffle(chosen)
    planted: dict[Fault, int] = dict.fromkeys(Fault, 0)
    made: list[PlantedUnit] = []
    for source in chosen:
        if len(made) == count:
            break
        if not may_copy(source.unit_id):
            continue
        content: dict[str, Json] = copy.deepcopy(dict(source.content))
        places = list(range(len(content["turns"])))
        rng.shuffle(places)
        faults: dict[str, Fault] = {}
        for place in places[: max(1, int(len(places) * LARGEST_SHARE))]:
            # The rarest fault so far comes first. Faults that this turn cannot have are skipped.
            for fault in sorted(Fault, key=lambda fault: (planted[fault], rng.random())):
                turn = _PLANTERS[fault](copy.deepcopy(content["turns"][place]), source, ordered, rng)
                if turn is not None:
                    content["turns"][place] = turn
                    faults[str(place)] = fault
                    planted[fault] += 1
                    break
        if faults:
            made.append(PlantedUnit(source.unit_id, content, faults))
    return made


Planter = Callable[[dict[str, Json], GoldSource, Sequence[GoldSource], random.Random], dict[str, Json] | None]


def _lent(turn: Json, source: GoldSource, sources: Sequence[GoldSource], rng: random.Random, *, same: bool) -> Json:
    """A turn of the same video, or of another, with a different question and answer; None if there is none."""
    found = [
        other
        for unit in sources
        if (unit.video_id == source.video_id) == same
        for other in unit.content["turns"]
        if other.get("references")
        and _plain(other["question"]) != _plain(turn["question"])
        and _plain(other["references"][0]) not in {_plain(text) for text in turn.get("references", ())}
    ]
    return rng.choice(found) if found else None


@lru_cache(maxsize=200_000)
def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _wrong_answer(turn: Json, source: GoldSource, sources: Sequence[GoldSource], rng: random.Random) -> Json:
    if turn.get("options") and turn.get("correct_option") is not None and len(turn["options"]) > 1:
        wrong = [index for index in range(len(turn["options"])) if index != turn["correct_option"]]
        turn["correct_option"] = rng.choice(wrong)
        turn["references"] = [turn["options"][turn["correct_option"]]]
        return turn
    other = _lent(turn, source, sources, rng, same=True) if turn.get("references") else None
    return turn | {"references": other["references"][:1]} if other is not None else None


def _leaks(turn: Json, source: GoldSource, sources: Sequence[GoldSource], rng: random.Random) -> Json:
    if not turn.get("references"):
        return None
    answer, question = turn["references"][0].strip().rstrip("."), turn["question"]
    if _HAN.search(question):
        return turn | {"question": f"已知“{answer}”,{question}"}
    return turn | {"question": f"Given that “{answer}”, {question[:1].lower()}{question[1:]}"}


def _wrong_time(turn: Json, source: GoldSource, sources: Sequence[GoldSource], rng: random.Random) -> Json:
    """Evidence from elsewhere in the clip, before the question: no rule for turns finds it."""
    if not turn.get("evidence"):
        return None
    until_s = turn.get("asked_at_s") or math.inf
    shown = union(Interval.model_validate(part) for part in turn["evidence"])
    gaps: list[tuple[float, float]] = []
    for clip in source.content.get("clips", ()):
        begins = clip["start_s"]
        for part in (*shown, None):
            ends = min(clip["end_s"], until_s, part.start_s if part is not None else math.inf)
            gaps.append((begins, ends))
            begins = max(begins, part.end_s if part is not None else begins)
    start, end = max(gaps, key=lambda gap: gap[1] - gap[0], default=(0.0, 0.0))
    length = end - start
    start, end = round(start + length * rng.uniform(0.1, 0.4), 1), round(start + length * rng.uniform(0.6, 0.9), 1)
    return turn | {"evidence": [{"start_s": start, "end_s": end}]} if length > SHORTEST_S else None


def _not_in_video(turn: Json, source: GoldSource, sources: Sequence[GoldSource], rng: random.Random) -> Json:
    other = _lent(turn, source, sources, rng, same=False)
    if other is None or bool(other.get("options")) != bool(turn.get("options")):
        return None
    kept = {name: other[name] for name in ("question", "references", "options", "correct_option") if name in other}
    return turn | kept


def _language(turn: Json, source: GoldSource, sources: Sequence[GoldSource], rng: random.Random) -> Json:
    return turn | {"question": rng.choice(_ENGLISH if _HAN.search(turn["question"]) else _CHINESE)}


def _ability_mismatch(turn: Json, source: GoldSource, sources: Sequence[GoldSource], rng: random.Random) -> Json:
    choices = sorted(
        {
            (vocabulary, tuple(other["labels"][vocabulary]))
            for vocabulary, labels in turn.get("labels", {}).items()
            for unit in sources
            for other in unit.content["turns"]
            if other.get("labels", {}).get(vocabulary) and not {*other["labels"][vocabulary]} & {*labels}
        }
    )
    if not choices:
        return None
    vocabulary, labels = rng.choice(choices)
    return turn | {"labels": turn["labels"] | {vocabulary: list(labels)}}


_PLANTERS: Final[dict[Fault, Planter]] = {
    Fault.WRONG_ANSWER: _wrong_answer,
    Fault.LEAKS: _leaks,
    Fault.WRONG_TIME: _wrong_time,
    Fault.NOT_IN_VIDEO: _not_in_video,
    Fault.LANGUAGE: _language,
    Fault.ABILITY_MISMATCH: _ability_mismatch,
}


class GoldOutcome(StrEnum):
    """What an annotator did at one place of gold."""

    CAUGHT = "caught"
    """Rejected for a fitting reason, or edited in the faulty field."""
    NOTICED = "noticed"
    """Rejected or edited, for another reason or elsewhere."""
    MISSED = "missed"
    FALSE_ALARM = "false_alarm"
    """Rejected or edited where nothing was planted."""
    LEFT = "left"
    """Accepted where nothing was planted."""
    SKIPPED = "skipped"
    """Not judged."""


def gold_outcome(fault: Fault | None, draft: Json, value: Json) -> GoldOutcome:
    """What somebody did at one place.

    Args:
        fault: The planted fault; None if there is none.
        draft: The value that they were shown.
        value: The value that they submitted.
    """
    decision = value["decision"]
    if decision in (None, "skip"):
        return GoldOutcome.SKIPPED
    touched = decision in ("reject", "edit")
    if fault is None:
        return GoldOutcome.FALSE_ALARM if touched else GoldOutcome.LEFT
    if not touched:
        return GoldOutcome.MISSED
    remedy = REMEDIES[fault]
    if decision == "reject":
        fits = bool(remedy.reasons & {*value["reasons"]})
    else:
        fits = any(value[name] != draft[name] for name in remedy.fields)
    return GoldOutcome.CAUGHT if fits else GoldOutcome.NOTICED


@dataclass(frozen=True)
class GoldMeasures:
    """One annotator measured with gold. Intervals are Wilson intervals at 95 %."""

    caught: Proportion
    """Share of planted faults that they rejected or edited."""
    fitting: Proportion
    """Share of planted faults with a fitting reason or edit."""
    false_alarms: Proportion
    """Share of places without a planted fault that they rejected or edited."""


def measure_outcomes(outcomes: Sequence[GoldOutcome]) -> GoldMeasures:
    """Measures over all of one annotator's places of gold. Skipped places do not count."""
    count = {name: sum(found is name for found in outcomes) for name in GoldOutcome}
    faults = count[GoldOutcome.CAUGHT] + count[GoldOutcome.NOTICED] + count[GoldOutcome.MISSED]
    return GoldMeasures(
        wilson(count[GoldOutcome.CAUGHT] + count[GoldOutcome.NOTICED], faults),
        wilson(count[GoldOutcome.CAUGHT], faults),
        wilson(count[GoldOutcome.FALSE_ALARM], count[GoldOutcome.FALSE_ALARM] + count[GoldOutcome.LEFT]),
    )


Trusted = Literal["settled", "drafts"]
"""The source of gold: units that people settled and kept whole, or the drafts as they are."""
MOST_GOLD: Final = 200
TASK: Final = "turns"
"""The kind of work that faults are planted in."""


@dataclass(frozen=True)
class GoldPlanted:
    """How much gold was planted, and why no more."""

    planted: int
    wanted: int
    unreachable: int
    """Units that were not copied, since everybody has seen them or is needed for them: the copy would reach nobody."""
    unfit: int
    """Units that were not copied, since they have too few turns or no fault can be planted in them."""
    crowded: int
    """Units that were not copied, since the copy would come next to them."""
    again: int
    """Units that were copied with the same seed before."""

    @property
    def missing(self) -> int:
        """How many of the wanted gold units were not planted."""
        return self.wanted - self.planted

    def reasons(self) -> Iterator[str]:
        """For people: why no more was planted; nothing if all was."""
        if not self.missing:
            return
        for count, words in (
            (self.unreachable, "would reach nobody: everybody here has seen the original, or is needed for it"),
            (self.unfit, "cannot be made faulty: they have one turn, or no fault fits"),
            (self.crowded, "are too close to the only place for their copy"),
            (self.again, "were copied with this seed before"),
        ):
            if count:
                yield f"{count:,} {words}"


def plant_gold(change: Transaction, queue_id: str, *, count: int, seed: int, trusted: Trusted) -> GoldPlanted:
    """Put gold among the units of a queue. Only gold that can reach somebody is planted.

    Args:
        change: The transaction.
        queue_id: A queue of turns.
        count: Number of gold units, 1 to `MOST_GOLD`. Gold of the same seed is not planted twice.
        seed: Decides which turns get which fault.
        trusted: What gold is made from.

    Returns:
        How many gold units were added, and why no more.

    Raises:
        NotFound: There is no such queue.
        InvalidValue: The count cannot be used, the queue has other work than turns, or no unit can be made faulty.
    """
    session = change.session
    queue = session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    if queue.task != TASK:
        raise InvalidValue(f"faults can be planted in turns; this queue is for {queue.title!r}", field="queue")
    if not 1 <= count <= MOST_GOLD:
        raise InvalidValue(f"plant 1 to {MOST_GOLD} tasks of gold", field="count")
    rows = {row.id: row for row in _rows(session, queue_id, trusted)}
    sources = _sources(session, rows, trusted)
    fitting = {source.unit_id for source in sources if len(source.content["turns"]) >= LEAST_TURNS}
    if not fitting:
        raise InvalidValue(
            "no task here can be made faulty: gold needs tasks of two turns or more"
            + (" that people have settled and kept whole" if trusted == "settled" else ""),
            field="trusted",
        )
    before = {_gold_id(queue_id, unit_id, seed) for unit_id in fitting}
    known = set(session.scalars(select(UnitRow.id).where(UnitRow.queue_id == queue_id, UnitRow.gold.is_not(None))))
    again = {unit_id for unit_id in fitting if _gold_id(queue_id, unit_id, seed) in known & before}
    waiting = session.execute(
        select(UnitRow.id, UnitRow.position)
        .where(UnitRow.queue_id == queue_id, UnitRow.state == "open", UnitRow.gold.is_(None))
        .order_by(UnitRow.position, UnitRow.id)
    ).all()
    order = {unit_id: number for number, (unit_id, _) in enumerate(waiting)}
    left_out: dict[str, list[str]] = {"unreachable": [], "crowded": []}
    usable: list[str] = []

    def may_copy(unit_id: str) -> bool:
        if unit_id not in again:
            if not _reach(session, rows[unit_id], queue):
                left_out["unreachable"].append(unit_id)
                return False
            if not _slots(len(waiting), order.get(unit_id)):
                left_out["crowded"].append(unit_id)
                return False
        usable.append(unit_id)
        return True

    found = plant_faults(sources, count=count, seed=seed, may_copy=may_copy)
    # Gold is spread evenly over the open units.
    made = [gold for gold in found if gold.source not in again]
    made.sort(key=lambda gold: (rows[gold.source].position, gold.source))
    for number, gold in enumerate(made):
        source = rows[gold.source]
        position = source.position
        if waiting:
            ideal = int((number + 0.5) * len(waiting) / len(made))
            slots = _slots(len(waiting), order.get(source.id))
            position = waiting[_nearest(slots, ideal)].position
        unit_id = _gold_id(queue_id, source.id, seed)
        faults: dict[str, Json] = {place: fault.value for place, fault in gold.faults.items()}
        session.add(
            UnitRow(
                id=unit_id,
                queue_id=queue_id,
                position=position,
                title=source.title,
                video_id=source.video_id,
                turns=source.turns,
                flags=source.flags,
                doubt=source.doubt,
                words=source.words,
                content=gold.content,
                target_table=source.target_table,
                target_id=source.target_id,
                state="open",
                submitted=0,
                gold={"source": gold.source, "faults": faults, "seed": seed},
            )
        )
        change.record("gold", unit_id, after={"source": gold.source, "faults": faults, "trusted": trusted})
    return GoldPlanted(
        planted=len(made),
        wanted=count,
        unreachable=len(left_out["unreachable"]),
        unfit=len(rows) - len(fitting) + len(usable) - len(found),
        crowded=len(left_out["crowded"]),
        again=len(found) - len(made),
    )


def _gold_id(queue_id: str, source_id: str, seed: int) -> str:
    return derive_id("unit", "gold", queue_id, source_id, str(seed))


def _nearest(slots: Sequence[int], ideal: int) -> int:
    return min(slots, key=lambda slot: abs(slot - ideal))


def _slots(count: int, source: int | None) -> list[int]:
    """The places among open units before which a copy may come.

    Args:
        count: Number of open units of the queue.
        source: The place of the copied unit among them; None if it is not open.

    Returns:
        The places at least `LEAST_APART` away. In a shorter queue the farthest ones; none if all are next to it.
    """
    if source is None:
        return list(range(count)) or [0]
    # A copy at a place comes right before the unit there, so one after the source is a place closer than it seems.
    apart = {slot: source - slot if slot <= source else slot - source - 1 for slot in range(count)}
    farthest = max(apart.values(), default=0)
    least = min(LEAST_APART, farthest)
    return [slot for slot, distance in apart.items() if distance >= least] if farthest > 1 else []


def _reach(session: Session, source: UnitRow, queue: QueueRow) -> int:
    """How many of the annotators who work in a queue could get a copy of a unit."""
    unit = aliased(UnitRow)
    has_seen = _has_seen(PersonRow.id, unit, unit.id == source.id)
    gets_gold = (PersonRow.role == "annotator", _works_in(queue.id), ~has_seen)
    free = session.scalar(select(func.count()).select_from(PersonRow).where(*gets_gold)) or 0
    if source.state != "open":
        return free
    taken = (
        select(func.count())
        .select_from(AssignmentRow)
        .where(AssignmentRow.unit_id == source.id, _is_live(AssignmentRow))
    )
    needed = max(0, queue.overlap - (session.scalar(taken) or 0))
    return max(0, free - needed)


def _rows(session: Session, queue_id: str, trusted: Trusted) -> list[UnitRow]:
    query = select(UnitRow).where(UnitRow.queue_id == queue_id, UnitRow.gold.is_(None)).order_by(UnitRow.position)
    if trusted == "settled":
        query = query.where(UnitRow.state == "done")
    return list(session.scalars(query))


def _sources(session: Session, rows: Mapping[str, UnitRow], trusted: Trusted) -> list[GoldSource]:
    settled: dict[str, dict[str, Json]] = defaultdict(dict)
    if trusted == "settled":
        query = select(ResultRow.unit_id, ResultRow.place, ResultRow.value).join(
            UnitRow, UnitRow.id == ResultRow.unit_id
        )
        for unit_id, place, value in session.execute(query.where(UnitRow.gold.is_(None))):
            settled[unit_id][place] = value
    found = []
    for row in rows.values():
        content: dict[str, Json] = dict(row.content)
        if trusted == "settled":
            values = settled[row.id]
            kept = all((values.get(place) or {}).get("decision") in ("accept", "edit") for place in _places(content))
            if not kept:
                continue
            content["turns"] = [
                turn | {name: values[str(index)][name] for name in EDITABLE}
                for index, turn in enumerate(content["turns"])
            ]
        found.append(GoldSource(row.id, row.video_id or content["video_id"], content))
    return found


def _places(content: Mapping[str, Json]) -> list[str]:
    return list(TASKS[TASK].places(content))


def gold_rules(session: Session, queue_id: str, person_id: str) -> list[ColumnElement[bool]]:
    """As SQL about a unit of a queue: gold and what it copies do not both come to this person. Empty without gold."""
    is_gold = select(UnitRow.id).where(UnitRow.gold.is_not(None))
    held = is_gold.join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id).where(
        AssignmentRow.person_id == person_id, AssignmentRow.role == "annotator"
    )
    has_gold = session.scalars(held.limit(1)).first() is not None
    if not has_gold and session.scalars(is_gold.where(UnitRow.queue_id == queue_id).limit(1)).first() is None:
        return []
    return [_may_get(person_id, has_gold)]


@lru_cache(maxsize=1024)
def _may_get(person_id: str, has_gold: bool) -> ColumnElement[bool]:
    """As SQL about a unit: this person has never held gold that shows the same turns.

    Gold is given only to people who have never held any other unit that shows its turns, of whatever queue, and only
    while enough others are left for the unit that it copies.

    Args:
        person_id: The person.
        has_gold: Whether they have held gold.
    """
    gold, source, other = aliased(UnitRow), aliased(UnitRow), aliased(PersonRow)
    held, mine, live = aliased(AssignmentRow), aliased(AssignmentRow), aliased(AssignmentRow)
    held_gold = exists().where(
        held.person_id == person_id,
        held.unit_id == gold.id,
        held.role == "annotator",
        gold.gold.is_not(None),
        gold.id != UnitRow.id,
        _shows(UnitRow, gold),
    )
    overlap = select(QueueRow.overlap).where(QueueRow.id == UnitRow.queue_id).correlate(UnitRow).scalar_subquery()
    taken = (
        select(func.count()).select_from(live).where(live.unit_id == source.id, _is_live(live)).correlate(source)
    ).scalar_subquery()
    left = (
        select(func.count())
        .select_from(other)
        .where(other.id != person_id, _works_in(UnitRow.queue_id, other), ~_has_seen(other.id, UnitRow))
        .correlate(UnitRow)
        .scalar_subquery()
    )
    is_needed = exists().where(
        source.queue_id == UnitRow.queue_id,
        source.target_table == UnitRow.target_table,
        source.target_id == UnitRow.target_id,
        source.gold.is_(None),
        source.state == "open",
        left < overlap - taken,
    )
    # Whoever began this gold goes on with it.
    own = exists().where(mine.person_id == person_id, mine.unit_id == UnitRow.id)
    is_fit = or_(own, and_(~_has_seen(person_id, UnitRow), ~is_needed))
    fits = or_(UnitRow.gold.is_(None), is_fit)
    return and_(~held_gold, fits) if has_gold else fits


def _is_live(row: Any) -> ColumnElement[bool]:
    """As SQL: an annotator's copy that has a place."""
    return and_(row.role == "annotator", row.state.in_(("working", "returned", "submitted")))


def _has_seen(person_id: Any, unit: Any, *others: ColumnElement[bool]) -> ColumnElement[bool]:
    """As SQL: a person has held a unit that shows the turns of a unit about a chain or a dialogue, in any state.

    Args:
        person_id: The person.
        unit: The unit about a chain or a dialogue.
        others: More conditions.
    """
    other, held = aliased(UnitRow), aliased(AssignmentRow)
    seen = exists().where(held.person_id == person_id, held.unit_id == other.id, _shows(other, unit), *others)
    # By itself, SQLAlchemy takes a table only from the statement right around this one.
    return seen.correlate_except(other, held)


def _shows(unit: Any, turns: Any) -> ColumnElement[bool]:
    """As SQL: a unit shows the turns of another one, which is about a chain or a dialogue.

    Link boards show two chains; tests and ratings show the questions of a chain, a dialogue, or a path.
    """
    name = turns.target_id
    length, part = func.length(unit.target_id), func.length(name) + 1
    begins = func.substr(unit.target_id, 1, part) == name.concat("/")
    ends = func.substr(unit.target_id, length - part + 1, part) == literal("/").concat(name)
    kind = case((turns.target_table == "chains", "chain "), else_="dialogue ")
    asked = kind.concat(name)
    asks = func.substr(unit.target_id, length - func.length(asked) + 1, func.length(asked)) == asked
    along = and_(unit.target_id.like("%path %"), unit.video_id == turns.video_id)
    return or_(
        and_(unit.target_table == turns.target_table, unit.target_id == name),
        and_(unit.target_table == "linkages", turns.target_table == "chains", length > part, or_(begins, ends)),
        and_(unit.target_table.in_(("test", "answers")), or_(asks, along)),
    )


def _works_in(queue_id: Any, person: Any = PersonRow) -> ColumnElement[bool]:
    """As SQL: a person works in a queue. If it is assigned to people, only those do."""
    duty, mine, unit, held = aliased(DutyRow), aliased(DutyRow), aliased(UnitRow), aliased(AssignmentRow)
    # By itself, SQLAlchemy takes a table only from the statement right around each of these.
    is_limited = exists().where(duty.queue_id == queue_id, duty.unit_id.is_(None)).correlate_except(duty)
    is_assigned = (
        exists()
        .where(mine.queue_id == queue_id, mine.unit_id.is_(None), mine.person_id == person.id)
        .correlate_except(mine)
    )
    has_worked = (
        exists()
        .where(
            held.person_id == person.id, held.role == "annotator", held.unit_id == unit.id, unit.queue_id == queue_id
        )
        .correlate_except(held, unit)
    )
    return and_(
        person.disabled_at.is_(None),
        person.role != "reader",
        or_(is_assigned, and_(~is_limited, or_(person.role == "annotator", has_worked))),
    )


def gold_outcomes(
    session: Session, person_id: str | None = None
) -> dict[str, dict[str, list[tuple[Fault | None, GoldOutcome]]]]:
    """Outcomes of each place of submitted gold, by person and unit.

    Args:
        session: The database.
        person_id: Only this person; everybody by default.
    """
    query = (
        select(AssignmentRow.person_id, AssignmentRow.id, UnitRow.id, UnitRow.content, UnitRow.gold, QueueRow.task)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(UnitRow.gold.is_not(None), AssignmentRow.state == "submitted")
        .order_by(AssignmentRow.person_id, UnitRow.id)
    )
    if person_id is not None:
        query = query.where(AssignmentRow.person_id == person_id)
    handed_in = session.execute(query).all()
    entries: dict[str, dict[str, Json]] = defaultdict(dict)
    for assignment_id, place, value in session.execute(
        select(EntryRow.assignment_id, EntryRow.place, EntryRow.value)
        .join(AssignmentRow, AssignmentRow.id == EntryRow.assignment_id)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(UnitRow.gold.is_not(None), AssignmentRow.state == "submitted")
    ):
        entries[assignment_id][place] = value
    found: dict[str, dict[str, list[tuple[Fault | None, GoldOutcome]]]] = defaultdict(dict)
    for person, assignment_id, unit_id, content, gold, kind in handed_in:
        task = TASKS[kind]
        places = []
        for place in task.places(content):
            value = entries[assignment_id].get(place)
            if value is not None:
                fault = Fault(gold["faults"][place]) if place in gold["faults"] else None
                places.append((fault, gold_outcome(fault, task.draft_value(content, place), value)))
        found[person][unit_id] = places
    return found


def count_gold(session: Session, queue_id: str | None = None) -> int:
    """Number of gold units."""
    query = select(func.count()).select_from(UnitRow).where(UnitRow.gold.is_not(None))
    return session.scalar(query if queue_id is None else query.where(UnitRow.queue_id == queue_id)) or 0
