"""Backups from the page show nobody what is hidden."""

import contextlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from askers import World
from sqlalchemy import select
from team import DATABASES, make_team

from reeltalk.cli import run
from reeltalk.errors import InputError
from reeltalk_review import backups
from reeltalk_review.backups import backup_folder, hides_work, list_backups, make_backup
from reeltalk_review.database import Database, sqlite_url
from reeltalk_review.exporting import opened_export, restore_project
from reeltalk_review.tables import UnitRow
from reeltalk_review.verifying import verify_history


@pytest.fixture
def world(tmp_path: Path, database_kind: str) -> Iterator[World]:
    """A team in which two do each unit."""
    found = World(make_team(tmp_path, overlap=2))
    yield found
    found.team.project.database.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "world" in metafunc.fixturenames:
        metafunc.parametrize("database_kind", DATABASES, indirect=True)


def test_a_backup_is_made_from_the_page_and_comes_back(world: World, tmp_path: Path) -> None:
    owner, unit = world.browsers["owner"], world.unit()
    assert "Make a backup" in owner.get("/backup").text
    world.work("annotator", "submitted", unit)
    assert owner.form("/backup").headers["location"] == "/backup?made=1"
    (backup,) = list_backups(world.team.project)
    assert "cannot be downloaded here" in owner.get("/backup").text
    # Work of one is in, and that of the other is not: the owner may not see it yet.
    assert owner.get(f"/backup/{backup.name}").status_code == 409
    world.work("other", "submitted", unit)
    assert f'href="/backup/{backup.name}"' in owner.get("/backup").text
    answer = owner.get(f"/backup/{backup.name}")
    assert answer.headers["content-type"] == "application/zip"
    assert f"bench-review-{backup.name}" in answer.headers["content-disposition"]
    file = tmp_path / "copy.zip"
    file.write_bytes(answer.content)
    back = Database(sqlite_url(tmp_path / "back.db"))
    back.make_tables()
    with opened_export(file) as folder:
        restore_project(back, folder)
    assert verify_history(back).findings == ()
    # It is the project as it was when the backup was made.
    with back.reading() as session:
        assert session.get_one(UnitRow, unit).submitted == 1
    back.close()
    assert backup.name in owner.get("/history").text
    assert verify_history(world.team.project.database).findings == ()


def test_what_is_hidden_is_work_on_open_units_and_on_gold_among_them(world: World) -> None:
    def hides() -> bool:
        with world.team.project.database.reading() as session:
            return hides_work(session)

    assert not hides()
    world.work("annotator", "fresh")
    assert not hides()
    gold = world.unit()
    with world.changing() as change:
        row = change.session.get_one(UnitRow, gold)
        # Gold of a chain whose tasks still need people reaches nobody.
        row.gold, row.target_id = {"faults": {}}, "another chain"
    world.work("annotator", "submitted", gold)
    assert hides()
    with world.changing() as change:
        for unit in change.session.scalars(select(UnitRow).where(UnitRow.gold.is_(None))):
            unit.state = "done"
    assert not hides()
    world.dialogue("annotator", "other", "awaiting")
    assert not hides()
    world.dialogue("annotator", "other", "live")
    assert hides()


def test_only_the_newest_backups_are_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "MOST_BACKUPS", 2)
    made = [make_backup(world.team.project, "owner").name for _ in range(3)]
    (backup_folder(world.team.project) / "mine.txt").write_text("kept")
    assert [backup.name for backup in list_backups(world.team.project)] == made[:0:-1]
    assert {path.name for path in backup_folder(world.team.project).iterdir()} == {*made[1:], "mine.txt"}


def test_a_second_backup_waits_for_the_first(world: World) -> None:
    with backups._MAKING:
        assert world.browsers["owner"].form("/backup").status_code == 409
    assert world.browsers["owner"].form("/backup").status_code == 303


def url(folder: Path) -> str:
    return sqlite_url(folder / "restored.db")


def test_the_command_writes_a_zip_file_that_the_command_restores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team = make_team(tmp_path)
    file = tmp_path / "backup.zip"
    assert run(["review", "backup", str(tmp_path / "bench"), str(file)]) == 0
    assert run(["review", "backup", str(tmp_path / "bench"), str(file)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert run(["review", "restore", str(file), "--into", str(tmp_path / "bench"), "--database", url(tmp_path)]) == 0
    assert "chain whole" in capsys.readouterr().out
    assert not [path for path in tmp_path.iterdir() if path.name.startswith((".", "partial"))]
    team.project.database.close()


@pytest.mark.parametrize("names", [["../outside.jsonl"], ["/etc/x"], ["events.jsonl", "events.jsonl"], ["more.txt"]])
def test_a_strange_zip_file_is_refused_and_writes_nothing(tmp_path: Path, names: list[str]) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive, pytest.warns() if len(names) > 1 else contextlib.nullcontext():
        for name in names:
            archive.writestr(name, "{}")
    file = tmp_path / "in" / "x.zip"
    file.parent.mkdir()
    file.write_bytes(content.getvalue())
    with pytest.raises(InputError, match="not an export of a review"), opened_export(file):
        raise AssertionError
    file.write_bytes(content.getvalue()[:20])
    with pytest.raises(InputError, match="not a zip file, or damaged"), opened_export(file):
        raise AssertionError
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "x.zip"]
