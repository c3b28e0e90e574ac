"""`reeltalk review` as people type it: a server that starts, says where it is, and stops; the commands beside it."""

import contextlib
import json
import re
import signal
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE

import pytest
from launched_runs import Launcher, Run
from people_at_work import decide, full_content, member, unit_id, verdicts
from sqlalchemy import text

from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.validate import validate
from reeltalk_review.database import ReviewProject
from reeltalk_review.importing import import_benchmark

Serve = Callable[..., contextlib.AbstractContextManager[tuple[str, Run]]]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A benchmark without media."""
    made = Benchmark.create(tmp_path / "bench")
    made.write_content(full_content(), stage="test")
    return made.path


@pytest.fixture
def served(runs: Launcher) -> Serve:
    """Starts a server of its own, and gives the address that it says."""

    @contextlib.contextmanager
    def serve(bench: Path, *options: str) -> Iterator[tuple[str, Run]]:
        with runs.start("review", bench, "--port", "0", *options, stdout=PIPE, stderr=PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found is not None, f"{line!r} {process.stderr.read() if not line else ''}"
            yield found[0].rstrip(";"), process

    return serve


def status_of(address: str, **form: str) -> int:
    """The status of a page, after a form was sent where one is given."""
    data = urllib.parse.urlencode(form).encode() if form else None
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data=data), timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_first_owner_joins_by_the_link_that_is_printed_and_ctrl_c_loses_nothing(served: Serve, bench: Path) -> None:
    with served(bench) as (link, process):
        assert status_of(link, name="Ada", password="a horse, a battery") == 200
        assert status_of(link) == 404, "the link is good once"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "Traceback" not in errors
        assert f"everything is kept in {bench}.review" in errors
    with served(bench) as (address, _):
        assert "/join/" not in address
        assert status_of(f"{address}/sign-in", name="Ada", password="a horse, a battery", next="/sign-in") == 200


def test_a_port_that_is_taken_is_told_before_anything_is_loaded(
    served: Serve, bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(bench) as (link, _):
        port = urllib.parse.urlsplit(link).port
        other = Benchmark.create(tmp_path / "other")
        assert run(["review", str(other.path), "--port", str(port)]) == 2
    assert re.search(rf"--port {port}: .*choose another --port, or 0 for any", capsys.readouterr().err)
    assert not (tmp_path / "other.review").exists()


def test_a_team_without_an_owner_gets_a_link_at_each_start_and_the_last_one_counts(served: Serve, loaded: Path) -> None:
    with served(loaded) as (first, _):
        assert status_of(first) == 200
    with served(loaded) as (second, process):
        site = second.split("/join")[0]
        assert status_of(f"{site}/join/{first.rpartition('/')[2]}") == 404
        assert status_of(second, name="Olga", password="a horse, a battery") == 200
        assert process.poll() is None
    with served(loaded) as (address, _):
        assert "/join/" not in address


def test_what_cannot_be_served_is_refused_in_one_paragraph(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, shown in (
        ([str(tmp_path / "nowhere")], "is not a benchmark"),
        ([str(bench), "--queues", "dancing"], "--queues dancing: no such queue; choose from turns"),
        ([str(bench), "--overlap", "0"], "--overlap 0"),
        ([str(bench), "--only", "split/dev"], "nothing to review of such videos"),
        ([str(bench), "--database", "mysql://x"], "give sqlite:///FILE or postgresql"),
        ([str(bench), "--host", "256.1.1.1"], "--host 256.1.1.1"),
    ):
        assert run(["review", *arguments, "--port", "0"]) == 2, arguments
        error = capsys.readouterr().err
        assert shown in error
        assert "Traceback" not in error


def test_a_benchmark_edited_by_hand_is_refused_by_file(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bench / "dialogues.jsonl"
    row = json.loads(path.read_text())
    row["turns"][1]["question"] = 7
    path.write_text(json.dumps(row) + "\n")
    assert run(["review", str(bench), "--port", "0"]) == 2
    assert "dialogues.jsonl was edited or damaged" in capsys.readouterr().err


@pytest.fixture
def loaded(bench: Path) -> Path:
    """A benchmark whose first chain Ada has reviewed."""
    project = ReviewProject.open(bench)
    import_benchmark(project, Benchmark.open(bench), serving=lambda _: {})
    unit = unit_id("turns", "chains", "a")
    decisions = {"0": {"decision": "reject"}, "1": {"decision": "edit", "question": "Why?"}}
    decide(project, member(project, "Ada"), unit, verdicts(project, unit, decisions))
    project.database.close()
    return bench


def test_commands_about_a_review_that_is_not_there_do_not_begin_one(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["status"], ["invite"], ["status", "--verify"], ["apply"]):
        assert run(["review", *command, str(bench)]) == 2
        assert "is not under review; 'reeltalk review" in capsys.readouterr().err
    assert not bench.with_name("bench.review").exists()


def test_status_counts_what_is_done_and_left(loaded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["review", "status", str(loaded)]) == 0
    heading, turns, *_ = capsys.readouterr().out.splitlines()
    assert heading.split()[:4] == ["queue", "units", "turns", "done"]
    assert turns.split() == ["turns", "4", "11", "1", "0", "0", "3", "1"]


def test_apply_says_what_it_did_and_what_it_left(
    served: Serve, loaded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["review", "apply", str(loaded), "--dry-run"]) == 0
    assert "revision 1 would be written" in capsys.readouterr().out
    assert run(["review", "apply", str(loaded)]) == 0
    said = capsys.readouterr().out
    for line in ("revision 1", "turns rejected: 1", "turns edited: 1", "left as they are (turns): 8"):
        assert line in said
    assert "construct" in said, "a path went, and who reads it is told how new ones are drawn"
    assert not [finding for finding in validate(Benchmark.open(loaded)) if finding.severity == "error"]
    assert run(["review", "apply", str(loaded)]) == 0
    assert "nothing new was settled; it stays at revision 1" in capsys.readouterr().out
    with served(loaded) as (address, _):
        assert status_of(address) == 200, "the project goes on with the revision that was written"


def test_a_project_moves_to_another_folder_and_its_people_get_new_passwords(
    served: Serve, loaded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, there = tmp_path / "out", tmp_path / "there" / "bench"
    assert run(["review", "export", str(loaded), str(out)]) == 0
    there.parent.mkdir()
    loaded.rename(there)
    assert run(["review", "restore", str(out), "--into", str(there)]) == 0
    assert run(["review", "status", "--verify", str(there)]) == 0
    assert run(["review", "restore", str(out), "--into", str(there)]) == 2
    assert "holds a project already" in capsys.readouterr().err
    with served(there) as (address, _):
        site = address.split("/join")[0]
        assert run(["review", "invite", str(there), "--reset", "ada", "--address", site]) == 0
        link = capsys.readouterr().out.strip()
        assert status_of(link) == 200
        assert status_of(link, password="short") == 422
        assert status_of(link, password="a new horse") == 200
        assert status_of(link, password="a new horse") == 404
        assert status_of(f"{site}/sign-in", name="Ada", password="a new horse") == 200
    assert run(["review", "export", str(there), str(tmp_path / "again")]) == 0


def test_a_history_that_somebody_changed_is_found(loaded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = ReviewProject.open(loaded)
    with project.database.writing() as session:
        session.execute(text("UPDATE events SET author = 'nobody' WHERE kind = 'submit'"))
    project.database.close()
    assert run(["review", "status", "--verify", str(loaded)]) == 1
    assert "was changed after it was written" in capsys.readouterr().out


def test_invitations_and_passwords_need_a_role_and_a_name_that_are_there(
    loaded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["review", "invite", str(loaded), "--role", "captain"]) == 2
    assert "choose owner, adjudicator, annotator, reader" in capsys.readouterr().err
    assert run(["review", "invite", str(loaded), "--reset", "Bob"]) == 2
    assert "nobody on the team has this name; there are Ada" in capsys.readouterr().err
    assert run(["review", "invite", str(loaded), "--role", "owner", "--address", "https://review.example.org/"]) == 0
    assert capsys.readouterr().out.startswith("https://review.example.org/join/")
