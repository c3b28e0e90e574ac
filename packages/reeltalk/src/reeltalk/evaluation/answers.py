"""Join models' answers with their questions and references, and count missing answers."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.schema.answers import NOT_IN_SOURCE, Answer, AnsweredTurn, AnswerState, item_id
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.model_texts import THOUGHT_ALONE, thinks_only, without_thoughts
from reeltalk.schema.runs import Duplicate
from reeltalk.schema.scoring import hash_texts
from reeltalk.store.content import Content
from reeltalk.store.rows import FieldValues, NamedRows, sort_texts

LANGUAGE: Final = "language"
"""Label of turns that a source gives in several languages."""


@dataclass(frozen=True)
class AnswerSet:
    """One model's answers from one source, with their questions and references."""

    model: str
    source: str
    sha256: str
    """Hash of the source's bytes."""
    rows: int
    """Answers in the source, duplicates included."""
    turns: Sequence[AnsweredTurn]
    """One for each item, in the source's order."""
    duplicates: tuple[Duplicate, ...] = ()
    not_scored: dict[str, int] = field(default_factory=dict)
    """Rows without an answer to score, by reason."""
    others: tuple[AnsweredTurn, ...] = ()
    """Turns that should have an answer to score but have none. The answer failed, was not requested, has no reference,
    or is missing. A judge counts these turns."""
    signed: tuple[tuple[str, str], ...] = ()
    """If reeltalk played the dialogues: how the answers were produced. These are parts of every signature."""
    samples: Sequence[AnsweredTurn] = ()
    """All answers to `turns`, if the dialogues were played several times."""
    played: str = ""
    """Hash of all turns that were played. An answer depends on the turns before it, even on turns without a score."""
    lacking: Sequence[tuple[int, str]] = ()
    """Index and reason of each due turn that has a reference and no answer; text metrics count them as unscored."""

    @cached_property
    def data_hash(self) -> str:
        """Eight digits of a hash over the scored items with their questions and references.

        Answers do not change it.
        """
        columns = (FieldValues(self.turns, name) for name in ("item_id", "video_id", "question", "references"))
        items = ((*texts, *references) for *texts, references in zip(*columns, strict=True))
        texts = (("\0".join(item).encode("utf-8", "surrogatepass"), json.dumps(item).encode()) for item in items)
        return hash_texts(sort_texts(texts), self.played)


@dataclass(frozen=True)
class _PlacedTurn:
    video_id: str
    position: int
    turn: Turn
    task: str | None = None
    split: str | None = None

    def alike(self, kind: str) -> tuple[str | tuple[str, ...] | None, ...]:
        """A group of turns. A model that answers one turn of a group should answer all its turns."""
        return (kind, self.task, self.split, self.turn.labels.get(LANGUAGE))


def answer_sets(
    content: Content, *, source: str, sha256: str, benchmark: Content | None = None, model: str | None = None
) -> list[AnswerSet]:
    """Join answers with their turns, a set for each model.

    Args:
        content: The content of the source: its answers and, if it has them, its questions and references.
        sha256: Hash of the source's bytes.
        benchmark: Supplies questions and references in place of the source's own.
        model: Name that replaces the one of the source. The source must then hold one model.

    Raises:
        BenchmarkError: There are no answers, or `model` names several.
    """
    if not content.answers:
        raise BenchmarkError(f"{source} holds no model answers to score")
    by_model: dict[str, list[Answer]] = defaultdict(list)
    for answer in content.answers:
        by_model[answer.model].append(answer)
    if model is not None and len(by_model) > 1:
        raise BenchmarkError(f"{source} holds answers of {len(by_model)} models, so --model cannot name them all")
    own, asked = _index_turns(content), _index_turns(benchmark) if benchmark else None
    return [
        _answer_set(name, model or name, answers, content, source, sha256, own, asked)
        for name, answers in by_model.items()
    ]


def expected_items(benchmark: Content, sets: Sequence[AnswerSet]) -> frozenset[str]:
    """Every turn with a reference among the kinds of units (chains, paths, dialogues) that any model answered."""
    answered = {turn.unit_id for answer_set in sets for turn in answer_set.turns}
    asked = _index_turns(benchmark)
    kinds = {kind for kind, unit_id, _ in asked if unit_id in answered}
    return frozenset(
        item_id(unit_id, position)
        for (kind, unit_id, position), found in asked.items()
        if kind in kinds and found.turn.references
    )


def _index_turns(content: Content) -> dict[tuple[str, str, int], _PlacedTurn]:
    splits = {video.id: video.split for video in content.videos}
    asked: dict[tuple[str, str, int], _PlacedTurn] = {}
    units: list[tuple[str, QAChain | Dialogue]] = [
        *(("chain", chain) for chain in content.chains),
        *(("dialogue", dialogue) for dialogue in content.dialogues),
    ]
    for kind, unit in units:
        task = unit.task if isinstance(unit, Dialogue) else None
        for index, turn in enumerate(unit.turns):
            position = index if turn.position is None else turn.position
            asked[kind, unit.id, position] = _PlacedTurn(unit.video_id, position, turn, task, splits.get(unit.video_id))
    for path in content.paths:
        for index, step in enumerate(path.steps):
            turn_of = step.turn or asked[step.ref.unit, step.ref.unit_id, step.ref.turn_index].turn
            asked["path", path.id, index] = _PlacedTurn(path.video_id, index, turn_of, None, splits.get(path.video_id))
    return asked


def _answer_set(
    name: str,
    shown_name: str,
    answers: list[Answer],
    content: Content,
    source: str,
    sha256: str,
    own: dict[tuple[str, str, int], _PlacedTurn],
    asked: dict[tuple[str, str, int], _PlacedTurn] | None,
) -> AnswerSet:
    units: dict[tuple[str, str], tuple[Turn, ...]] = {}
    units |= {("dialogue", unit.id): unit.turns for unit in content.dialogues}
    units |= {("chain", unit.id): unit.turns for unit in content.chains}
    duplicates = tuple(_duplicates(name, answers, content))
    repeats = {duplicate.item_id: duplicate.dropped_answers for duplicate in duplicates}
    turns: list[AnsweredTurn] = []
    others: list[AnsweredTurn] = []
    not_scored: Counter[str] = Counter()
    due = own if asked is None else asked
    answered: set[tuple[str, str, int]] = set()
    for answer in answers:
        if answer.state is AnswerState.ANSWERED and thinks_only(answer.text):
            answer = answer.model_copy(update={"state": AnswerState.FAILED, "text": THOUGHT_ALONE})
        known = units.get((answer.unit, answer.unit_id), ())
        turn = known[answer.turn_index] if answer.turn_index < len(known) else None
        position = turn.position if turn and turn.position is not None else answer.turn_index
        place = (answer.unit, answer.unit_id, position)
        found = due.get(place)
        if found is None:
            gone = answer.state is not AnswerState.ANSWERED
            not_scored[answer.state.value if gone else "no such turn in the benchmark"] += 1
            continue
        answered.add(place)
        question, references = (
            _wording(answer, found) if asked is None else (found.turn.question, found.turn.references)
        )
        row = _answered_turn(shown_name, place, found).model_copy(
            update={
                "question": question,
                "references": references,
                "text": without_thoughts(answer.text),
                "state": answer.state,
                "reason": _why(answer),
                "repeats": repeats.get(item_id(answer.unit_id, position), ()),
            }
        )
        if answer.state is not AnswerState.ANSWERED:
            not_scored[answer.state.value] += 1
            others.append(row)
        elif not references:
            not_scored["no reference"] += 1
            others.append(row)
        else:
            turns.append(row)
    kinds = {due[place].alike(place[0]) for place in answered}
    others += [
        _answered_turn(shown_name, place, found)
        for place, found in due.items()
        if place not in answered and found.turn.references and found.alike(place[0]) in kinds
    ]
    rows = len(answers) + sum(len(duplicate.dropped) for duplicate in duplicates)
    return AnswerSet(shown_name, source, sha256, rows, turns, duplicates, dict(not_scored), tuple(others))


def _answered_turn(model: str, place: tuple[str, str, int], found: _PlacedTurn) -> AnsweredTurn:
    """The row of a turn without an answer."""
    turn = found.turn
    return AnsweredTurn.model_validate(
        {
            "model": model,
            "item_id": item_id(place[1], place[2]),
            "video_id": found.video_id,
            "unit": place[0],
            "unit_id": place[1],
            "turn_index": place[2],
            "question": turn.question,
            "references": turn.references,
            "text": "",
            "state": AnswerState.FAILED,
            "reason": NOT_IN_SOURCE,
            "labels": turn.labels,
            "task": found.task,
            "asked_at_s": turn.asked_at_s,
            "options": turn.options,
            "correct_option": turn.correct_option,
            "checklist": turn.checklist,
            "rubric": turn.rubric,
            "key": turn.key,
        }
    )


def _why(answer: Answer) -> str | None:
    if answer.state is AnswerState.FAILED:
        return answer.text.strip() or "the source says so"
    return "the protocol does not ask this turn" if answer.state is AnswerState.NOT_ASKED else None


def _wording(answer: Answer, found: _PlacedTurn) -> tuple[str, tuple[str, ...]]:
    """Question and references of this row. A source may word a turn differently in two files."""
    question = answer.asked_as if answer.asked_as is not None else found.turn.question
    references = answer.referred_to if answer.referred_to is not None else found.turn.references
    return question, references


def _duplicates(name: str, answers: Iterable[Answer], content: Content) -> Iterable[Duplicate]:
    kept = {(answer.unit_id, answer.turn_index): answer for answer in answers}
    dropped: dict[tuple[str, int], list[tuple[Answer, str, str]]] = defaultdict(list)
    for rejected in content.rejected:
        if rejected.table == "answers" and rejected.content:
            answer = Answer.model_validate(rejected.content)
            if answer.model == name and (answer.unit_id, answer.turn_index) in kept:
                place = rejected.place or "unknown place"
                dropped[answer.unit_id, answer.turn_index].append((answer, place, str(rejected.extra.get("kept", ""))))
    for key, group in dropped.items():
        yield Duplicate(
            item_id=item_id(*key),
            kept=group[0][2],
            dropped=tuple(place for _, place, _ in group),
            same_answer=all(answer.text == kept[key].text for answer, _, _ in group),
            dropped_answers=tuple(answer.text for answer, _, _ in group),
        )


def with_distinct_names(sets: Sequence[AnswerSet]) -> list[AnswerSet]:
    """The same sets. If several sources use one model name, the names become `model (2)` and so on."""
    seen: Counter[str] = Counter()
    named: list[AnswerSet] = []
    for answer_set in sets:
        seen[answer_set.model] += 1
        if (nth := seen[answer_set.model]) > 1:
            name = f"{answer_set.model} ({nth})"
            turns = [turn.model_copy(update={"model": name}) for turn in answer_set.turns]
            others = tuple(turn.model_copy(update={"model": name}) for turn in answer_set.others)
            answer_set = replace(answer_set, model=name, turns=turns, others=others)
        named.append(answer_set)
    return named


def with_rubrics_and_keys(turns: Iterable[AnsweredTurn], content: Content) -> Iterator[AnsweredTurn]:
    """Answers with the benchmark's current rubrics and keys, which may be newer than the run.

    Args:
        turns: Answers of runs.
        content: The benchmark. A turn whose text differs in the benchmark gets none.
    """
    units: tuple[Mapping[str, QAChain | Dialogue], ...] = NamedRows(content.dialogues), NamedRows(content.chains)
    paths = NamedRows(content.paths)

    def of_unit(unit_id: str, index: int) -> Turn | None:
        for known in units:
            if (unit := known.get(unit_id)) is not None and index < len(unit.turns):
                return unit.turns[index]
        return None

    def asked(unit_id: str, index: int) -> Turn | None:
        path = paths.get(unit_id)
        if path is not None and index < len(path.steps):
            step = path.steps[index]
            if (turn := step.turn or of_unit(step.ref.unit_id, step.ref.turn_index)) is not None:
                return turn
        return of_unit(unit_id, index)

    for answer in turns:
        turn = asked(answer.unit_id, answer.turn_index)
        same = turn is not None and (turn.question, turn.references) == (answer.question, answer.references)
        given = {"rubric": turn.rubric, "key": turn.key} if turn is not None and same else {}
        update = {field: value for field, value in given.items() if value is not None}
        yield answer.model_copy(update=update) if update else answer
