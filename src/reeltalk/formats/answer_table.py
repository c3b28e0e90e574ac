"""A model's answers in a table, as an inference script writes them for the questions of `reeltalk export questions`.

A row has `text`, and `unit_id` with `turn_index`, or `id`.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from reeltalk.errors import InputError
from reeltalk.formats.qa import ID
from reeltalk.formats.table_rows import COLUMNS_KEY, TABLE_SUFFIXES, SourceCell, nearest_hint, read_table_rows
from reeltalk.schema.answers import Answer, AnswerState, UnitKind, item_id
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.record import Json
from reeltalk.store.content import Content


def read_answer_table(source: Path, about: Content) -> Content:
    """Read a model's answers from a table with `text`, and `unit_id` with `turn_index`, or `id`.

    `id` is that of your own questions, or of an exported question. A row without a text says that there is no answer.
    The model is named by a column `model`, else by the file.

    Args:
        source: A file with one of `TABLE_SUFFIXES`.
        about: The benchmark that is answered.

    Raises:
        InputError: A column is missing, or a row names no turn of the benchmark, or one twice.
    """
    if source.suffix.lower() not in TABLE_SUFFIXES:
        raise InputError("not a table of answers", file=source, hint=f"expected {', '.join(TABLE_SUFFIXES)}")
    turns = _Turns(about)
    facts: dict[str, Json] = {}
    rows = list(read_table_rows(source, facts))
    header = facts.get(COLUMNS_KEY) or list(dict.fromkeys(key for *_, cells in rows for key in cells))
    by_id = "unit_id" not in header
    for name in ("text", *(("id",) if by_id else ("unit_id", "turn_index"))):
        if name not in header:
            near = nearest_hint(name, header)
            hint = f"its columns: {', '.join(header)}{near}; --answers-format names a published layout"
            raise InputError(f"no column {name!r}", file=source, line=1 if header else None, hint=hint)
    answers: dict[tuple[UnitKind, str, int], tuple[str, Answer]] = {}
    for line, place, cells in rows:
        named = {name: (name, value) for name, value in cells.items()}
        cell = partial(SourceCell.of, named, source, line, place)
        unit, unit_id, index = turns.find_by_id(cell("id")) if by_id else turns.find(cell)
        text = _answer_text(cell("text"))
        where = f"line {line}" if line is not None else place
        if (unit, unit_id, index) in answers:
            first = answers[unit, unit_id, index][0]
            raise cell("id" if by_id else "unit_id").error(f"this turn is answered at {first} too")
        answers[unit, unit_id, index] = (
            where,
            Answer(
                model=cell("model").name() or source.stem.strip() or "answers",
                unit=unit,
                unit_id=unit_id,
                turn_index=index,
                text=text or "",
                state=AnswerState.ANSWERED if text is not None else AnswerState.FAILED,
            ),
        )
    if not answers:
        raise InputError("the table has no rows", file=source, hint="write an answer a row")
    return Content(answers=[answer for _, answer in answers.values()])


def _answer_text(cell: SourceCell) -> str | None:
    """The answer; None if there is none: an empty cell of CSV, or null."""
    if isinstance(cell.value, str):
        return cell.value if cell.value or not cell.is_text else None
    return cell.text()


class _Turns:
    """The turns of a benchmark, by unit and index and by identifier."""

    def __init__(self, content: Content) -> None:
        self.units: dict[UnitKind, dict[str, int]] = {
            "dialogue": {dialogue.id: len(dialogue.turns) for dialogue in content.dialogues},
            "chain": {chain.id: len(chain.turns) for chain in content.chains},
            "path": {path.id: len(path.steps) for path in content.paths},
        }
        self.by_id: dict[str, tuple[UnitKind, str, int]] = {}
        doubled: set[str] = set()
        units: list[tuple[UnitKind, Dialogue | QAChain]] = [
            *(("dialogue", dialogue) for dialogue in content.dialogues),
            *(("chain", chain) for chain in content.chains),
        ]
        for kind, unit in units:
            for place, turn in enumerate(unit.turns):
                own = turn.extra.get(ID)
                for name in {item_id(unit.id, turn.position if turn.position is not None else place), own}:
                    if isinstance(name, str):
                        doubled |= {name} & set(self.by_id)
                        self.by_id[name] = (kind, unit.id, place)
        for path in content.paths:
            self.by_id |= {item_id(path.id, place): ("path", path.id, place) for place in range(len(path.steps))}
        for name in doubled:
            del self.by_id[name]

    def find_by_id(self, cell: SourceCell) -> tuple[UnitKind, str, int]:
        """The turn of an identifier."""
        name = cell.name()
        if name is None:
            raise cell.error("the id is empty", None)
        if name not in self.by_id:
            raise cell.error("no turn of the benchmark has this id" + nearest_hint(name, self.by_id))
        return self.by_id[name]

    def find(self, cell: Callable[[str], SourceCell]) -> tuple[UnitKind, str, int]:
        """The turn of a row with `unit_id` and `turn_index`."""
        name, index = cell("unit_id").name(), cell("turn_index").whole()
        if name is None or index is None:
            raise cell("unit_id" if name is None else "turn_index").error("the cell is empty", None)
        stated = cell("unit").name()
        kinds = [kind for kind, units in self.units.items() if name in units and stated in (None, kind)]
        if not kinds:
            known = [other for units in self.units.values() for other in units]
            raise cell("unit_id").error(
                "no dialogue, chain or path of the benchmark has this name" + nearest_hint(name, known)
            )
        if len(kinds) > 1:
            raise cell("unit_id").error(f"a {' and a '.join(kinds)} have this name", hint="add the column 'unit'")
        count = self.units[kinds[0]][name]
        if index >= count:
            raise cell("turn_index").error(f"'{name}' has {count} turns, from 0 to {count - 1}")
        return kinds[0], name, index
