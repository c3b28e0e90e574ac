"""Whatever is changed past the program is noticed, in the database and in a backup, and nothing ends in a traceback."""

import hashlib
import json
import shutil
import sqlite3
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from askers import World
from reliability_page import Reliability
from team import make_team

from reeltalk.cli import run
from reeltalk_review.database import Database, sqlite_url
from reeltalk_review.events import event_hash

MIB = 1 << 20


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of which every table that the program fills has a row, as a benchmark and its backup beside it."""
    folder = tmp_path_factory.mktemp("original")
    world = World(make_team(folder, overlap=2))
    owner, annotator = world.browsers["owner"], world.browsers["annotator"]
    world.work(annotator, "complete")
    world.dispute("adjudicator")
    world.work(annotator, "working")
    answer = owner.form("/setup/queues/turns/guideline", text="Look twice.", says="")
    assert answer.status_code == 303, answer.text
    world.invitation()
    world.team.project.database.close()
    assert run(["review", "backup", str(folder / "bench"), str(folder / "backup.zip")]) == 0
    return folder


@pytest.fixture
def bench(original: Path, tmp_path: Path) -> Path:
    """A copy of the project, to be changed."""
    for name in ("bench", "bench.review"):
        shutil.copytree(original / name, tmp_path / name)
    return tmp_path / "bench"


Edit = Callable[[sqlite3.Connection], object]


def _sql(statement: str) -> Edit:
    return lambda connection: connection.execute(statement)


def _swap(connection: sqlite3.Connection) -> None:
    for before, after in ((7, -1), (8, 7), (-1, 8)):
        connection.execute("UPDATE events SET seq = ? WHERE seq = ?", (after, before))


def _add_person(connection: sqlite3.Connection) -> None:
    names = [row[1] for row in connection.execute("PRAGMA table_info(people)")]
    new = ", ".join(f"'eve of {name}'" if name in ("id", "name", "sign_in") else name for name in names)
    connection.execute(f"INSERT INTO people SELECT {new} FROM people WHERE role = 'owner' LIMIT 1")


def _append(connection: sqlite3.Connection) -> None:
    """Add an event with the right hash, and move the chain's end."""
    seq, previous = connection.execute("SELECT seq, hash FROM chain").fetchone()
    _store(connection, seq + 1, previous, {"role": "owner"})


def _recompute(connection: sqlite3.Connection) -> None:
    """Change the last event, and give it and the chain's end the right hash."""
    seq, previous = connection.execute("SELECT seq, previous FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    connection.execute("DELETE FROM events WHERE seq = ?", (seq,))
    _store(connection, seq, previous, {"role": "adjudicator"})


def _store(connection: sqlite3.Connection, seq: int, previous: str, after: dict[str, str]) -> None:
    person = connection.execute("SELECT id FROM people WHERE role = 'annotator'").fetchone()[0]
    at = "2026-11-29T12:00:00.000Z"
    parts = (previous, seq, at, "operator", "role", person, None, None, after, None)
    made = event_hash(*parts)
    row = {
        "seq": seq, "at": at, "author": "operator", "kind": "role", "subject": person, "place": None, "before": None,
        "after": json.dumps(after, separators=(",", ":")), "previous": previous, "hash": made, "signature": "x",
    }  # fmt: skip
    connection.execute(
        f"INSERT INTO events ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
    )
    connection.execute("UPDATE chain SET seq = ?, hash = ?", (seq, made))


def _cut(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")
    connection.execute("UPDATE chain SET (seq, hash) = (SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1)")


EDITS: dict[str, Edit] = {
    "the owner is an annotator": _sql("UPDATE people SET role = 'annotator' WHERE role = 'owner'"),
    "somebody is god": _sql("UPDATE people SET role = 'god' WHERE name = 'The annotator'"),
    "somebody is renamed": _sql("UPDATE people SET name = 'Eve' WHERE name = 'The annotator'"),
    "somebody is let in again": _sql("UPDATE people SET disabled_at = NULL"),
    "somebody is added": _add_person,
    "a password is replaced": _sql("UPDATE passwords SET hash = 'x'"),
    "a queue asks for fewer": _sql("UPDATE queues SET overlap = 1"),
    "a queue is closed": _sql("UPDATE queues SET is_open = 0"),
    "settings are replaced": _sql('UPDATE project SET settings = \'{"approval":true,"lease_minutes":30}\''),
    "settings are no JSON": _sql("UPDATE project SET settings = 'no JSON'"),
    "a video is another": _sql("UPDATE videos SET duration_s = 7, sha256 = 'abc'"),
    "content is replaced": _sql("UPDATE units SET content = replace(content, 'Question', 'Query')"),
    "a unit is done": _sql("UPDATE units SET state = 'done'"),
    "a unit is removed": _sql("DELETE FROM units WHERE id IN (SELECT id FROM units ORDER BY position LIMIT 1)"),
    "an entry is changed": _sql("UPDATE entries SET value = replace(value, 'accept', 'reject')"),
    "an entry is removed": _sql("DELETE FROM entries WHERE place = '1'"),
    "a result is changed": _sql("UPDATE results SET how = 'taken'"),
    "an assignment is somebody else's": _sql(
        "UPDATE assignments SET person_id = (SELECT id FROM people WHERE role = 'reader') WHERE state = 'working'"
    ),
    "a guideline is changed": _sql("UPDATE guidelines SET text = '\"Accept all.\"'"),
    "a session is taken over": _sql("UPDATE sessions SET person_id = (SELECT id FROM people WHERE role = 'owner')"),
    "an invitation makes owners": _sql("UPDATE invitations SET role = 'owner'"),
    "an event is removed": _sql("DELETE FROM events WHERE seq = 7"),
    "an event is changed": _sql("UPDATE events SET author = 'eve' WHERE seq = 7"),
    "events are reordered": _swap,
    "an event is added at the end": _append,
    "the last event is written anew": _recompute,
    "the last event is cut off": _cut,
    "a number is a word": _sql("UPDATE queues SET overlap = 'two'"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_the_database_is_noticed(
    name: str, bench: Path, capsys: pytest.CaptureFixture[str], reliability: Reliability
) -> None:
    tally = reliability("review", "edits of the review database by hand", "`review status --verify` does not notice")
    tally.tried += 1
    assert run(["review", "status", str(bench), "--verify"]) == 0
    connection = sqlite3.connect(bench.with_name("bench.review") / "review.db")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    before = connection.total_changes
    EDITS[name](connection)
    assert connection.total_changes > before
    connection.commit()
    connection.close()
    capsys.readouterr()
    assert run(["review", "status", str(bench), "--verify"]) in (1, 2)
    assert capsys.readouterr()


Spoiler = Callable[[Path], object]
"""Changes the folder of a backup."""


def _rewritten(table: str, change: Callable[[list[dict[str, object]]], object]) -> Spoiler:
    """Change the rows of a table, and let the manifest fit."""

    def spoil(folder: Path) -> None:
        path = folder / f"{table}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        kept = change(rows)
        rows = kept if isinstance(kept, list) else rows
        _put(path, "".join(json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n" for row in rows).encode())

    return spoil


def _raw(table: str, content: Callable[[], bytes]) -> Spoiler:
    return lambda folder: _put(folder / f"{table}.jsonl", content())


def _put(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    manifest = json.loads((path.parent / "manifest.json").read_text())
    manifest["files"][path.name] = {
        "sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content), "rows": content.count(b"\n"),
    }  # fmt: skip
    (path.parent / "manifest.json").write_text(json.dumps(manifest))


def _first(**values: object) -> Callable[[list[dict[str, object]]], object]:
    return lambda rows: rows[0].update(values)


def _circle(folder: Path) -> None:
    (folder / "events.jsonl").unlink()
    (folder / "events.jsonl").symlink_to("events.jsonl")


def _without_table(folder: Path) -> None:
    (folder / "queues.jsonl").unlink()
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["queues.jsonl"]
    (folder / "manifest.json").write_text(json.dumps(manifest))


HOSTILE: dict[str, Spoiler] = {
    "a table of one long line": _raw("units", lambda: b'{"id":"' + b"x" * (80 * MIB) + b'"}\n'),
    "a table of blanks": _raw("units", lambda: b" " * (80 * MIB)),
    "a table of many lines": _raw("units", lambda: b"{}\n" * 3_000_000),
    "a value nested deeply": _raw("units", lambda: b"[" * 1_000_000),
    "a long name": _rewritten("people", _first(name="n" * 200_000)),
    "a number as a word": _rewritten("queues", _first(overlap="two")),
    "a number beyond all": _rewritten("queues", _first(overlap=2**70)),
    "a number below one": _rewritten("queues", _first(overlap=-4)),
    "no number": _rewritten("videos", _first(duration_s=float("nan"))),
    "half a character": _rewritten("people", _first(name="\ud800")),
    "a NUL": _rewritten("people", _first(name="A\0da")),
    "a time that is none": _rewritten("people", _first(created_at="yesterday")),
    "god": _rewritten("people", _first(role="god")),
    "a state that is none": _rewritten("units", _first(state="finished")),
    "settings that are none": _rewritten("project", _first(settings={"lease_minutes": "long"})),
    "a missing table": _without_table,
    "no rows": _rewritten("project", lambda rows: rows.clear()),
    "an unknown column": _rewritten("queues", _first(priority=1)),
    "somebody who is not there": _rewritten("assignments", _first(person_id="eve")),
    "an id twice": _rewritten("people", lambda rows: rows.append(rows[0])),
    "no JSON": _raw("people", lambda: b"\x89PNG\r\n\x1a\n" * 9),
    "a circle of files": _circle,
    "events in a circle": _rewritten("events", lambda rows: rows[1].update(previous=rows[2]["hash"])),
    "an event less": _rewritten("events", lambda rows: rows.pop(3)),
    "another owner": _rewritten("people", lambda rows: [{**row, "role": "owner"} for row in rows]),
    "other content": _rewritten("units", lambda rows: rows[0]["content"].update(note="x")),  # type: ignore[attr-defined]
    "another overlap": _rewritten("queues", _first(overlap=3)),
    "other work": _rewritten("entries", _first(stale=True)),
    "a manifest that is none": lambda folder: (folder / "manifest.json").write_bytes(b"\xff" * 99),
    "a manifest nested deeply": lambda folder: (folder / "manifest.json").write_bytes(b"[" * 1_000_000),
    "a long manifest": lambda folder: (folder / "manifest.json").write_bytes(b" " * (80 * MIB)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_backup_is_refused_in_little_memory(
    name: str, original: Path, bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], reliability: Reliability
) -> None:
    tally = reliability("review", "hostile backups, restored", "a row in the database, 48 MiB or more, or a traceback")
    tally.tried += 1
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(original / "backup.zip") as archive:
        archive.extractall(folder)
    HOSTILE[name](folder)
    assert _peak(folder, bench, tmp_path) < 48 * MIB
    assert _is_empty(tmp_path / "restored.db")
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("large", ["units.jsonl", "manifest.json", "notes.txt"])
def test_a_zip_bomb_is_refused_before_it_is_unpacked(large: str, original: Path, bench: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(original / "backup.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files[large] = b" " * (120 * MIB)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    del files
    assert _peak(tmp_path / "bomb.zip", bench, tmp_path) < 48 * MIB


@pytest.mark.parametrize("damage", ["cut", "outside", "twice"])
def test_a_damaged_zip_file_is_refused(damage: str, original: Path, bench: Path, tmp_path: Path) -> None:
    file = tmp_path / "damaged.zip"
    shutil.copy(original / "backup.zip", file)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-400])
    else:
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr("../outside.jsonl" if damage == "outside" else "more.jsonl", "{}")
    _peak(file, bench, tmp_path)
    assert not (tmp_path.parent / "outside.jsonl").exists()


def _peak(backup: Path, bench: Path, folder: Path) -> int:
    """The most memory that a refused restore took."""
    tracemalloc.start()
    try:
        assert run(
            ["review", "restore", str(backup), "--into", str(bench), "--database", sqlite_url(folder / "restored.db")]
        ) == 2  # fmt: skip
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _is_empty(file: Path) -> bool:
    connection = sqlite3.connect(file)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = [name for name in tables if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() is not None]
    connection.close()
    return set(found) <= {"schema_version"}


def test_an_honest_backup_is_restored_and_verified(original: Path, bench: Path, tmp_path: Path) -> None:
    address = sqlite_url(tmp_path / "restored.db")
    assert run(["review", "restore", str(original / "backup.zip"), "--into", str(bench), "--database", address]) == 0
    assert run(["review", "status", str(bench), "--database", address, "--verify"]) == 0
    Database(address).close()
