"""A model's answers in a table, as an inference script writes them for the questions of `reeltalk export questions`.

A row has the answer, as `text`, and names its turn: by `unit_id` or `id`, with `turn_index` where that is the name of a
dialogue, chain or path of several turns.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from reeltalk.errors import InputError
from reeltalk.formats.qa import ID
from reeltalk.formats.table_rows import (
    TABLE_SUFFIXES,
    SourceCell,
    TableRow,
    is_text_table,
    nearest_hint,
    plain_column,
    read_table,
)
from reeltalk.schema.answers import Answer, AnswerState, UnitKind, item_id
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.store.content import Content

TURN_COLUMNS: Final[tuple[str, ...]] = ("unit_id", "id")
"""Columns that may name the turn, or the unit that it is in."""
TEXT_COLUMNS: Final[tuple[str, ...]] = ("text", "answer", "prediction", "response", "output", "pred", "model_answer")
"""Columns that may hold the answer."""


def read_answer_table(source: Path, about: Content) -> Content:
    """Read answers from a table with one of `TURN_COLUMNS`, if needed `turn_index`, and one of `TEXT_COLUMNS`.

    An identifier is that of your own questions, of an exported question, or of a dialogue, chain or path. A row without
    a text says that there is no answer. The model is named by a column `model`, else by the file.

    Args:
        source: A file with one of `TABLE_SUFFIXES`.
        about: The benchmark that is answered.

    Raises:
        InputError: A column is missing, two columns hold answers, or a row names no turn, or one twice.
    """
    if source.suffix.lower() not in TABLE_SUFFIXES:
        raise InputError("not a table of answers", file=source, hint=f"expected {', '.join(TABLE_SUFFIXES)}")
    turns = _Turns(about)
    table = read_table(source)
    if not table.rows:
        raise InputError("the table has no rows", file=source, hint="write an answer a row")
    listed = f"its columns: {', '.join(table.header)}"
    theirs = {plain_column(name): name for name in reversed(table.header)}
    first = 1 if is_text_table(source) else None
    texts, namers = ([name for name in names if name in theirs] for names in (TEXT_COLUMNS, TURN_COLUMNS))
    for needed, found, others in (("text", texts, TEXT_COLUMNS[1:]), ("id", namers, TURN_COLUMNS[:1])):
        if not found:
            hint = f"{listed}{nearest_hint(needed, table.header)}; {', '.join(others)} will do, too"
            hint += "; --answers-format names a published layout"
            raise InputError(f"no column {needed!r}", file=source, line=first, hint=hint)
    # In CSV an empty cell is none; in JSON "" is an answer.
    empty = (None, "") if first else (None,)
    filled = [name for name in texts if any(row.cells.get(theirs[name]) not in empty for row in table.rows)]
    if len(filled) > 1:
        kept = next(name for name in filled if name != "answer")
        problem = f"several columns hold answers: {', '.join(theirs[name] for name in filled)}"
        hint = f"keep the one with the words of the model, such as {theirs[kept]!r}, and take the others out"
        raise InputError(problem, file=source, line=first, hint=hint)
    answers: dict[tuple[UnitKind, str, int], tuple[str, Answer]] = {}
    twice: list[str] = []
    unlike: list[tuple[SourceCell, str]] = []
    for row in table.rows:

        def cell(name: str, row: TableRow = row) -> SourceCell:
            return row.cell(theirs.get(name, name))

        namer = next((name for name in namers if row.cells.get(theirs[name]) not in (None, "")), namers[0])
        named = cell(namer)
        unit, unit_id, index = turns.find(named, cell, is_id=namer == "id")
        text = _answer_text(cell((filled or texts)[0]))
        where = f"line {row.line}" if row.line is not None else row.place
        answer = Answer(
            model=cell("model").name() or source.stem.strip() or "answers",
            unit=unit,
            unit_id=unit_id,
            turn_index=index,
            text=text or "",
            state=AnswerState.ANSWERED if text is not None else AnswerState.FAILED,
        )
        first_at, known = answers.setdefault((unit, unit_id, index), (where, answer))
        if known is answer:
            continue
        if (known.text.strip(), known.state) != (answer.text.strip(), answer.state):
            unlike.append((named, first_at))
        twice.append(f"{where} repeats {first_at}")
    if unlike:
        named, first_at = unlike[0]
        more = f"; {len(unlike) - 1:,} more rows are like it" if len(unlike) > 1 else ""
        raise named.error(f"this turn has another answer at {first_at}", hint=f"keep one of the two{more}")
    told = f"{len(twice):,} rows answer a turn again, with the same words: {twice[0]}" if twice else None
    return Content(answers=[answer for _, answer in answers.values()], warnings=[told] if told else [])


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

    def find(self, named: SourceCell, cell: Callable[[str], SourceCell], *, is_id: bool) -> tuple[UnitKind, str, int]:
        """The turn that a row names by itself, or by its unit and `turn_index`."""
        name, index = named.name(), cell("turn_index").whole()
        if name is None:
            raise named.error("the cell is empty", None)
        stated = cell("unit").name()
        kinds = [kind for kind, units in self.units.items() if name in units and stated in (None, kind)]
        turn = self.by_id.get(name)
        if turn is not None and (not kinds or index is None):
            if index not in (None, turn[2]):
                raise cell("turn_index").error(
                    f"turn {name!r} has the index {turn[2]}", hint="leave one of the two out"
                )
            return turn
        if not kinds:
            known = [*self.by_id, *(other for units in self.units.values() for other in units)]
            what = (
                "turn of the benchmark has this id"
                if is_id
                else "dialogue, chain or path of the benchmark has this name"
            )
            raise named.error(f"no {what}{nearest_hint(name, known)}")
        if len(kinds) > 1:
            raise named.error(f"a {' and a '.join(kinds)} have this name", hint="add the column 'unit'")
        count = self.units[kinds[0]][name]
        if index is None and count != 1:
            raise named.error(
                f"this {kinds[0]} has {count} turns, and the row does not say which",
                hint=f"add the column 'turn_index', from 0, or name the turn, as {item_id(name, 0)!r}",
            )
        if index is not None and index >= count:
            raise cell("turn_index").error(f"'{name}' has {count} turns, from 0 to {count - 1}")
        return kinds[0], name, index or 0
