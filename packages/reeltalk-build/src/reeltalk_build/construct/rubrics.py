"""Rubrics for open answers: the statements of a right answer, and the CogME tags that each statement shows.

If a graph wrote the question, the statements follow from the graph's answer: an action and its object, the members of a
list, the facts of a summary. Otherwise a language model splits the reference answer. In both cases the reference itself
must contain every statement.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reeltalk.errors import BenchmarkError
from reeltalk.language import phrases
from reeltalk.metrics.agree import states_reference
from reeltalk.schema.dialogue import RubricItem, Turn, TurnRubric
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES, Table
from reeltalk_build.construct.prompting import PromptedModel, number_turns, unwritten_from
from reeltalk_build.construct.replies import RubricReply
from reeltalk_build.construct.writers import Unwritten

RUBRICS_SETTING: Final = "rubrics"
"""Key in the manifest's settings for the writer of a table's rubrics."""
TAG_LABELS: Final = ("cogme.target", "cogme.content")
SUMMED_UP: Final = re.compile(r"^To sum up what we have talked about: ")
LEADING: Final = re.compile(r"^(?:Having|After|Before|Right|Just|Besides|In the)\b[^,]*,\s*")
RECALLED: Final = re.compile(
    r"^(?P<asked>(?:In round|Your first question).+?)[,;] (?:and )?the answer was that (?P<answer>.+)$"
)

Write = Callable[[Turn, Sequence[Turn]], TurnRubric | Unwritten | None]


@dataclass
class Rubrics:
    """Counts of a run of `write_rubrics`."""

    turns: int = 0
    """Turns with a reference answer."""
    written: int = 0
    items: int = 0
    single: int = 0
    """Turns with a single statement as answer, which need no rubric."""
    unwritten: list[str] = field(default_factory=list)
    """Turns without a rubric that should have one, each with the reason."""


def graph_rubric(turn: Turn) -> TurnRubric | None:
    """The rubric of a turn that a graph wrote.

    Returns:
        None if the answer is a single statement, or if no graph wrote the turn.
    """
    if not turn.references:
        return None
    reference, key = turn.references[0], str(turn.extra.get("answer_key") or "")
    own = tuple(turn.labels.get("cogme.target", ()))
    items: list[RubricItem] = []
    if turn.extra.get("answer_type") == "action" and key.count("|") == 1:
        action, thing = key.split("|")
        if thing:
            done = phrases.phrase(action, thing, (), "does", {thing: "it"})
            # Something that the question already said is not part of the answer.
            noun = phrases.noun(thing)
            is_news = states_reference(LEADING.sub("", reference), noun) and not states_reference(turn.question, noun)
            items = [RubricItem(says=done, tags=_among(own, "Behavior")), *([_thing(noun, own)] if is_news else [])]
    elif turn.extra.get("answer_type") == "list":
        items = [_thing(phrases.noun(thing), own) for thing in key.split("|")]
    elif turn.extra.get("kind") == "summary" and SUMMED_UP.match(reference):
        items = [RubricItem(says=sentence) for sentence in _sentences(SUMMED_UP.sub("", reference))]
    elif found := RECALLED.match(reference):
        items = [RubricItem(says=found["asked"]), RubricItem(says=found["answer"])]
    kept = [item for item in items if states_reference(reference, item.says)]
    return TurnRubric(items=tuple(kept)) if len(kept) > 1 and len(kept) == len(items) else None


def model_rubric(writer: PromptedModel, turn: Turn, history: Sequence[Turn]) -> TurnRubric | Unwritten | None:
    """Ask a model for the rubric of a turn. The reference answer must contain each statement in its own words.

    Returns:
        None if the turn has no reference, or is a choice among options.
    """
    if not turn.references or turn.options:
        return None
    reference = turn.references[0]
    own = tuple(dict.fromkeys(tag for name in TAG_LABELS for tag in turn.labels.get(name, ())))

    def complaint(reply: RubricReply) -> str | None:
        for item in reply.items:
            if foreign := [tag for tag in item.tags if tag not in own]:
                return f"the question has no tag {foreign[0]!r}"
            if not states_reference(reference, item.says):
                return f"the answer does not say {item.says!r} in these words"
        return None

    data = {"history": number_turns(history), "question": turn.question, "answer": reference}
    asked = writer.ask("rubric", RubricReply, data=data, parts={"tags": ", ".join(own) or "(none)"}, check=complaint)
    if asked.record is None:
        return unwritten_from(asked)
    return TurnRubric(
        items=tuple(RubricItem(says=item.says, tags=item.tags, points=item.points) for item in asked.record.items)
    )


def write_rubrics(benchmark: Benchmark, write: Write, *, writer: str) -> Rubrics:
    """Write rubrics for the turns of chains and dialogues, and replace earlier ones.

    The manifest still names the step that wrote the tables.

    Args:
        write: Gives the rubric of a turn; None if its answer is a single statement.
        writer: Signature of the writer, for the manifest.

    Raises:
        BenchmarkError: There are no turns, or the benchmark cannot be written.
        FrozenError: The benchmark is a release.
    """
    found = Rubrics()
    both: tuple[Table[Any], ...] = (CHAINS, DIALOGUES)
    tables = [table for table in both if table.file_name in benchmark.manifest.files]
    if not tables:
        raise BenchmarkError(
            f"{benchmark.path} has no chains and no dialogues to write rubrics for; construct or import some first"
        )
    for table in tables:
        units = []
        for unit in benchmark.read(table):
            turns = tuple(_rubrics(unit.id, unit.turns, write, found))
            units.append(unit.model_copy(update={"turns": turns}))
        entry = benchmark.manifest.files[table.file_name]
        settings = {**entry.settings, RUBRICS_SETTING: writer}
        with benchmark.writing(stage=entry.stage, settings=settings, parents=entry.parents) as tables_writer:
            tables_writer.add(table, units)
    return found


def _rubrics(unit_id: str, turns: Sequence[Turn], write: Write, found: Rubrics) -> Iterator[Turn]:
    for index, turn in enumerate(turns):
        made = write(turn, turns[:index])
        found.turns += bool(turn.references)
        if isinstance(made, Unwritten):
            found.unwritten.append(f"{unit_id}, turn {index + 1}: {made.reason}")
            made = None
        elif made is None:
            found.single += bool(turn.references)
        else:
            found.written += 1
            found.items += len(made.items)
        yield turn.model_copy(update={"rubric": made})


def _thing(says: str, own: Sequence[str]) -> RubricItem:
    return RubricItem(says=says, tags=_among(own, "Object"))


def _among(own: Sequence[str], tag: str) -> tuple[str, ...]:
    return (tag,) if tag in own else ()


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in re.findall(r"[^.!?]+[.!?]", text)]
