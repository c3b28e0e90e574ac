"""Rows of tables as lines of canonical JSON: what an export holds, and what the history has the hashes of."""

import hashlib
import json
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, Final

from sqlalchemy import Select, Table, bindparam, event, select, tuple_, type_coerce
from sqlalchemy import Text as AnyText
from sqlalchemy.orm import ORMExecuteState, Session, object_mapper

from reeltalk_review.tables import Base, JsonText, canonical_json

UNRECORDED: Final = frozenset({"events", "chain", "requests"})
"""Tables whose rows no event has a hash of: the history itself, and what only keeps a request from counting twice."""
NEVER_EXPORTED: Final = frozenset({"invitations", "passwords", "sessions", "resets"})
"""Tables that would give access. A restored project lacks their rows, which gives nobody more."""
READ_AT_ONCE: Final = 2000
_KEYS_AT_ONCE: Final = 400
_scalar: Final = json.JSONEncoder(ensure_ascii=True).encode


def recorded_tables() -> list[Table]:
    """The tables whose rows follow from the history, each after those that it refers to."""
    return [table for table in Base.metadata.sorted_tables if table.name not in UNRECORDED]


def row_lines(
    session: Session, table: Table, keys: Collection[tuple[Any, ...]] | None = None, *, without: str | None = None
) -> Iterator[tuple[str, str]]:
    """Each row as its key and its line, in the order of keys.

    Args:
        session: The database.
        keys: Primary keys of the wanted rows; by default all rows.
        without: A column that is left out.
    """
    query, names, documents, places = _reading(table, without, some=keys is not None)
    for row in session.execute(query, {} if keys is None else {_WANTED: list(keys)}):
        values = (
            name + (("null" if value is None else str(value)) if is_document else _scalar(value))
            for name, value, is_document in zip(names, row, documents, strict=True)
        )
        yield key_text(table, [row[place] for place in places]), "{" + ",".join(values) + "}"


@cache
def _reading(table: Table, without: str | None, *, some: bool) -> tuple[Select[Any], list[str], list[bool], list[int]]:
    """The query of a table's rows, its columns' names, whether each is JSON, and the key's places: made once."""
    columns = sorted((column for column in table.columns if column.name != without), key=lambda column: column.name)
    primary = list(table.primary_key.columns)
    documents = [isinstance(column.type, JsonText) for column in columns]
    # JSON is stored as canonical text already, so it is copied, not parsed.
    texts = [type_coerce(one, AnyText) if is_json else one for one, is_json in zip(columns, documents, strict=True)]
    query = select(*texts).order_by(*primary).execution_options(yield_per=READ_AT_ONCE)
    if some:
        query = query.where(tuple_(*primary).in_(bindparam(_WANTED, expanding=True)))
    return query, [f'"{column.name}":' for column in columns], documents, [columns.index(one) for one in primary]


_WANTED: Final = "wanted"


def key_text(table: Table, key: Collection[Any]) -> str:
    """A primary key as text; hashed where it would give access, since exports hold the history."""
    values = list(key)
    text = str(values[0]) if len(values) == 1 else canonical_json(values)
    return line_hash(text.encode()) if table.name in NEVER_EXPORTED else text


def line_hash(line: bytes) -> str:
    """The hash of a row that its event holds: the first half of SHA-256 of its line."""
    return hashlib.sha256(line).hexdigest()[:32]


Touched = dict[Table, dict[tuple[Any, ...], None]]
"""Primary keys of rows by table, in the order in which they were touched."""


class NotingSession(Session):
    """A session that notes the primary keys of all rows that it adds, changes or deletes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.touched: Touched = {}


# On the class: listeners of one session cost as much as a save does.
@event.listens_for(NotingSession, "after_flush")
def _flushed(session: Any, _: Any) -> None:
    for row in (*session.new, *session.dirty, *session.deleted):
        mapper = object_mapper(row)
        session.touched.setdefault(mapper.local_table, {})[tuple(mapper.primary_key_from_instance(row))] = None


@event.listens_for(NotingSession, "do_orm_execute")
def _executed(state: ORMExecuteState) -> None:
    if not (state.is_insert or state.is_update or state.is_delete):
        return
    statement: Any = state.statement
    session: Any = state.session
    table, primary = statement.table, list(statement.table.primary_key.columns)
    if state.parameters:
        rows = [state.parameters] if isinstance(state.parameters, dict) else state.parameters
        keys = [tuple(row[column.key] for column in primary) for row in rows]
    elif state.is_insert:
        raise TypeError("rows are inserted with parameters, so that the history can name them")
    else:
        keys = [tuple(row) for row in session.execute(select(*primary).where(statement.whereclause))]
    session.touched.setdefault(table, {}).update(dict.fromkeys(keys))


def hashes_of(session: Session, touched: Touched) -> Iterator[tuple[str, str, str | None]]:
    """Table, key and hash of each touched row as it is now; no hash if it was deleted."""
    for table in sorted(touched, key=lambda table: table.name):
        if table.name in UNRECORDED:
            continue
        keys = list(touched[table])
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            there = {key: line_hash(line.encode()) for key, line in row_lines(session, table, some)}
            for key in (key_text(table, key) for key in some):
                yield table.name, key, there.get(key)
