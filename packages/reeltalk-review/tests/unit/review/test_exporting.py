"""A project leaves whole and comes back whole, on any database, byte for byte."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from people_at_work import full_content, member, random_work, talk_in_pairs
from sqlalchemy import func, select

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.store.benchmark import Benchmark
from reeltalk_review.database import Database, ReviewProject, sqlite_url
from reeltalk_review.events import OPERATOR, broken_links, transaction
from reeltalk_review.exporting import LEFT_OUT, SECRET, export_project, exported_tables, restore_project
from reeltalk_review.importing import import_benchmark
from reeltalk_review.people import invite, join_team, start_session
from reeltalk_review.tables import (
    AssignmentRow,
    Base,
    EntryRow,
    EventRow,
    LiveDialogueRow,
    MessageRow,
    PairRow,
    PasswordRow,
    PersonRow,
    ResultRow,
)
from reeltalk_review.verifying import verify_history


def project_of(folder: Path, url: str | None = None) -> ReviewProject:
    benchmark = Benchmark.create(folder / "bench")
    benchmark.write_content(full_content(), stage="test")
    project = ReviewProject.open(benchmark.path, url=url)
    import_benchmark(project, Benchmark.open(benchmark.path), serving=lambda _: {}, overlap=2)
    return project


def empty(url: str) -> Database:
    database = Database(url)
    database.make_tables()
    return database


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def worked_with(project: ReviewProject) -> dict[str, int]:
    with project.database.reading() as session:
        return {
            row.__tablename__: session.scalar(select(func.count()).select_from(row)) or 0
            for row in (AssignmentRow, EntryRow, ResultRow, EventRow, PairRow, LiveDialogueRow, MessageRow)
        }


def test_export_restore_export_is_byte_identical(tmp_path: Path, full: bool) -> None:
    counts: dict[str, int] = {}
    for seed in range(30 if full else 2):
        folder = tmp_path / str(seed)
        project = project_of(folder)
        random_work(project, seed)
        talk_in_pairs(project)
        for table, count in worked_with(project).items():
            counts[table] = counts.get(table, 0) + count
        export_project(project.database, folder / "one")
        back = empty(sqlite_url(folder / "back.db"))
        restore_project(back, folder / "one")
        export_project(back, folder / "two")
        assert files(folder / "one") == files(folder / "two")
        with back.reading() as session:
            assert list(broken_links(session)) == []
        assert verify_history(back).findings == ()
    assert min(counts.values()) > 0, f"the work that was drawn leaves tables empty: {counts}"


@pytest.mark.slow
def test_a_project_moves_between_sqlite_and_postgresql(
    tmp_path: Path, new_postgres: Callable[[], str], full: bool
) -> None:
    for seed in range(5 if full else 1):
        folder = tmp_path / str(seed)
        project = project_of(folder, new_postgres())
        random_work(project, seed + 100)
        talk_in_pairs(project)
        export_project(project.database, folder / "one")
        onto_sqlite = empty(sqlite_url(folder / "back.db"))
        restore_project(onto_sqlite, folder / "one")
        export_project(onto_sqlite, folder / "two")
        again = empty(new_postgres())
        restore_project(again, folder / "two")
        export_project(again, folder / "three")
        assert files(folder / "one") == files(folder / "two") == files(folder / "three")
        project.database.close()
        again.close()


def test_no_password_session_or_link_leaves(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    with transaction(project.database, OPERATOR) as change:
        token = invite(change, project.secret, "owner")[1]
        spare = invite(change, project.secret, "annotator")[1]
    with transaction(project.database, "") as change:
        person = join_team(change, project.secret, token, "Ada", "a horse, a battery")
        cookie = start_session(change, project.secret, person.id)
        stored = change.session.get_one(PasswordRow, person.id).hash
    export_project(project.database, tmp_path / "out")
    written = b"".join(files(tmp_path / "out").values()).decode()
    with project.database.reading() as session:
        hashes = [
            row[0]
            for name in ("sessions", "invitations")
            for row in session.execute(select(Base.metadata.tables[name].c.token))
        ]
    assert len(hashes) == 3
    for secret in (token, spare, cookie, stored, "argon2", *hashes):
        assert secret not in written


def test_whoever_comes_back_needs_a_new_password(tmp_path: Path) -> None:
    from reeltalk_review.errors import Unauthorized
    from reeltalk_review.people import find_by_password, make_reset, reset_password

    project = project_of(tmp_path)
    member(project, "Ada")
    export_project(project.database, tmp_path / "out")
    back = ReviewProject.open(project.benchmark, folder=tmp_path / "elsewhere")
    restore_project(back.database, tmp_path / "out")
    for password in ("", "a horse, a battery"):
        with back.database.reading() as session, pytest.raises(Unauthorized):
            find_by_password(session, "Ada", password)
    with transaction(back.database, OPERATOR) as change:
        token = make_reset(change, back.secret, "ADA")
    with transaction(back.database, "") as change:
        reset_password(change, back.secret, token, "another horse")
    with back.database.reading() as session:
        assert find_by_password(session, "Ada", "another horse").name == "Ada"


def test_every_table_is_exported_or_known_to_stay() -> None:
    names = {table.name for table in Base.metadata.sorted_tables}
    assert {table.name for table in exported_tables()} == names - LEFT_OUT
    assert names >= LEFT_OUT
    assert all(column in Base.metadata.tables[table].c for table, column in SECRET.items())


def test_a_project_is_not_restored_over_another(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    export_project(project.database, tmp_path / "out")
    with pytest.raises(BenchmarkError, match="holds a project already"):
        restore_project(project.database, tmp_path / "out")


def test_an_export_goes_into_an_empty_folder_alone(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(BenchmarkError, match="not empty"):
        export_project(project.database, tmp_path / "out")
    with pytest.raises(BenchmarkError, match="nothing to export"):
        export_project(empty(sqlite_url(tmp_path / "empty.db")), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def forged(folder: Path, name: str, old: str, new: str) -> None:
    """Change an export and mend its manifest, as somebody would who wants it to go unseen."""
    path = folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "old", "new", "shown"),
    [
        ("events.jsonl", '"kind":"save"', '"kind":"undo"', "chain of events is broken: event .* was changed"),
        (
            "entries.jsonl",
            '"revision":1',
            '"revision":"1"',
            r"valid integer, got '1' \(.*entries\.jsonl:\d+ at .revision",
        ),
        ("queues.jsonl", '"overlap":', '"overlaps":', r"a required field is missing .*queues\.jsonl:1 at .overlap"),
        ("units.jsonl", "{", "[", r"not a JSON line .*units\.jsonl:1"),
        ("assignments.jsonl", '"unit_id":"', '"unit_id":"x', r"not what the history leads to.*assignments\.jsonl:1"),
    ],
)
def test_a_forged_export_is_refused_and_leaves_nothing(
    tmp_path: Path, name: str, old: str, new: str, shown: str
) -> None:
    project = project_of(tmp_path)
    random_work(project, 1)
    export_project(project.database, tmp_path / "out")
    forged(tmp_path / "out", name, old, new)
    back = empty(sqlite_url(tmp_path / "back.db"))
    with pytest.raises(InputError, match=shown):
        restore_project(back, tmp_path / "out")
    with back.reading() as session:
        assert session.scalar(select(func.count()).select_from(PersonRow)) == 0


def test_a_damaged_copy_is_refused(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    export_project(project.database, tmp_path / "out")
    with (tmp_path / "out" / "events.jsonl").open("ab") as stream:
        stream.write(b"{}\n")
    back = empty(sqlite_url(tmp_path / "back.db"))
    with pytest.raises(InputError, match="a required field is missing"):
        restore_project(back, tmp_path / "out")
    (tmp_path / "out" / "events.jsonl").unlink()
    with pytest.raises(InputError, match="missing"):
        restore_project(back, tmp_path / "out")
    with pytest.raises(BenchmarkError, match="is not an export of a review"):
        restore_project(back, tmp_path)
