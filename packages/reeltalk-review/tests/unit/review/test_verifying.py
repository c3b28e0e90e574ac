"""Whatever is changed past the history is found, in the chain of events or in what they lead to."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from people_at_work import full_content, talk_in_pairs
from review_projects import QUEUE, decide, small_project, submit
from sqlalchemy import text
from sqlalchemy.orm import Session

from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark
from reeltalk_review.assigning import ADJUDICATOR, next_unit, take_unit
from reeltalk_review.database import ReviewProject
from reeltalk_review.events import FIRST_HASH, event_hash, transaction
from reeltalk_review.importing import import_benchmark
from reeltalk_review.tables import UnitRow
from reeltalk_review.verifying import verify_history
from reeltalk_review.work import own_work, save_value


@pytest.fixture
def project(tmp_path: Path, database_kind: str) -> Iterator[ReviewProject]:
    """Two who disagree, an adjudicator who settles, and somebody who is still at work on another unit."""
    found = small_project(tmp_path, units=2, overlap=2)
    for person, question in (("ann", "One?"), ("ben", "Two?")):
        with transaction(found.database, person) as change:
            copy = next_unit(change, person, QUEUE, lease_minutes=30)
            assert copy is not None
            decide(change, copy, question=question)
            submit(change, copy)
            if person == "ben":
                begun = next_unit(change, person, QUEUE, lease_minutes=30)
                assert begun is not None
                decide(change, begun)
    with transaction(found.database, "jo") as change:
        copy = take_unit(change, change.session.get_one(UnitRow, "u0"), "jo", ADJUDICATOR, lease_minutes=30)
        _, unit, task = own_work(change.session, "jo", copy.id)
        for place in task.places(unit.content):
            written = task.draft_value(unit.content, place) | {"decision": "accept"}
            save_value(change, copy, unit, task, place, 0, {"write": written})
        submit(change, copy)
    yield found
    found.database.close()


def tampered(project: ReviewProject, *statements: str) -> tuple[str, ...]:
    with project.database.writing() as session:
        for statement in statements:
            session.execute(text(statement.replace(":", r"\:")))
    return verify_history(project.database).findings


def test_untouched_work_is_clean_and_counted(project: ReviewProject) -> None:
    found = verify_history(project.database)
    assert found.findings == ()
    assert (found.entries, found.results, found.people) == (12, 3, 4)
    assert found.events == found.seq > 20
    assert found.lines()[1] == f"head {found.seq}:{found.head}"


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE events SET after = replace(after, 'Two?', 'Ten?') WHERE kind = 'save' AND place = '1'", "was changed"),
        ("UPDATE events SET before = 'no JSON' WHERE seq = 9", "was changed"),
        ("UPDATE events SET after = after || ' ' WHERE seq = 9", "was changed"),
        ("UPDATE events SET author = 'cai' WHERE seq = 9", "was changed"),
        ("UPDATE events SET at = '2020-01-01T00:00:00.000Z' WHERE seq = 9", "was changed"),
        ("UPDATE events SET place = '9' WHERE seq = 9", "was changed"),
        ("UPDATE events SET place = NULL WHERE seq = 3", "was changed"),
        ("DELETE FROM events WHERE seq = 9", "event 9 is missing"),
        ("DELETE FROM events WHERE seq = 1", "event 1 is missing"),
        ("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)", "events were taken away"),
        ("DELETE FROM events", "events were taken away"),
        ("DELETE FROM chain", "the chain should end"),
        ("UPDATE chain SET hash = 'x'", "the chain should end"),
        (
            "INSERT INTO events SELECT (SELECT max(seq) + 1 FROM events), at, author, kind, subject, place, before,"
            " after, previous, hash FROM events WHERE seq = 5",
            "does not follow",
        ),
        ("UPDATE entries SET value = replace(value, 'Two?', 'Ten?')", "entry of .* is not what the history leads to"),
        ("UPDATE entries SET value = 'no JSON' WHERE place = '1'", "entry of .* at place 1"),
        ("UPDATE entries SET value = NULL WHERE place = '1'", "entry of .* at place 1"),
        ("UPDATE entries SET stale = NOT stale WHERE place = '1'", "entry of .* at place 1"),
        ("UPDATE entries SET revision = 7 WHERE place = '1'", "entry of .* at place 1"),
        ("UPDATE entries SET place = '8' WHERE place = '1'", "at place 8 is in the tables"),
        ("DELETE FROM entries WHERE place = '2'", "at place 2 is in the history"),
        ("UPDATE results SET value = replace(value, 'thing', 'king')", "result of u0 at place 0"),
        ("UPDATE results SET how = 'agreed' WHERE place = '1'", "result of u0 at place 1"),
        ("UPDATE results SET people = '[\"ann\"]' WHERE place = '1'", "result of u0 at place 1"),
        ("DELETE FROM results WHERE place = '2'", "result of u0 at place 2 is in the history"),
        (
            "INSERT INTO results SELECT 'u1', place, value, how, people, at FROM results WHERE place = '0'",
            "result of u1 at place 0 is in the tables",
        ),
        ("UPDATE assignments SET state = 'submitted' WHERE state = 'working'", "copy .* is not what"),
        ("UPDATE assignments SET person_id = 'cai' WHERE person_id = 'ann'", "copy .* is not what"),
        ("UPDATE assignments SET note = 'x' WHERE person_id = 'ann'", "copy .* is not what"),
        ("UPDATE units SET state = 'open' WHERE id = 'u0'", "unit u0 is not what"),
        ("UPDATE units SET state = 'done' WHERE id = 'u1'", "unit u1 is not what"),
        ("UPDATE units SET submitted = 5 WHERE id = 'u1'", "unit u1 is not what"),
    ],
)
def test_every_kind_of_tampering_is_found(project: ReviewProject, statement: str, found: str) -> None:
    assert re.search(found, "\n".join(tampered(project, statement)))


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE messages SET text = '\"Nobody.\"' WHERE position = 1", "message of .* at place 1 is not what"),
        ("DELETE FROM messages WHERE position = 1", "message of .* at place 1 is in the history, and not in"),
        ("UPDATE live_dialogues SET state = 'approved' WHERE state = 'awaiting'", "dialogue .* is not what"),
        ("UPDATE live_dialogues SET note = 'fine' WHERE state = 'dropped'", "dialogue .* is not what"),
        ("UPDATE live_dialogues SET investigator_id = correspondent_id", "dialogue .* is not what"),
        ("UPDATE pairs SET goal = 4", "pair .* is not what"),
    ],
)
def test_tampering_with_dialogues_of_pairs_is_found(tmp_path: Path, statement: str, found: str) -> None:
    benchmark = Benchmark.create(tmp_path / "bench")
    benchmark.write_content(full_content(), stage="test")
    project = ReviewProject.open(benchmark.path)
    import_benchmark(project, benchmark, serving=lambda _: {})
    talk_in_pairs(project)
    assert verify_history(project.database).findings == ()
    findings = tampered(project, statement)
    project.database.close()
    assert findings
    assert all(re.match(found, finding) for finding in findings)


def test_events_that_changed_places_are_found(project: ReviewProject) -> None:
    findings = tampered(
        project,
        "UPDATE events SET seq = -5 WHERE seq = 5",
        "UPDATE events SET seq = 5 WHERE seq = 6",
        "UPDATE events SET seq = 6 WHERE seq = -5",
    )
    assert any("event 5 " in finding for finding in findings)
    assert any("event 6 " in finding for finding in findings)


def test_a_whole_chain_that_was_written_anew_is_found_by_a_noted_head(project: ReviewProject) -> None:
    before = verify_history(project.database)
    with transaction(project.database, "ann") as change:
        change.record("tried", "x")
    assert verify_history(project.database, head=f"{before.seq}:{before.head}").findings == ()
    with project.database.writing() as session:
        forge(session, lambda after: after.replace("Two?", "Ten?"))
        session.execute(text("UPDATE entries SET value = replace(value, 'Two?', 'Ten?')"))
    assert verify_history(project.database).findings == (), "nothing inside the database can tell"
    noted = verify_history(project.database, head=f"{before.seq}:{before.head}").findings
    assert noted == (f"event {before.seq} has another hash than was noted: the history up to there was written anew",)
    for head in ("", "x", "9:", "999999:ab", "99999999999999999999:ab"):
        assert len(verify_history(project.database, head=head).findings) == 1


def forge(session: Session, change: Callable[[str], str]) -> None:
    previous = FIRST_HASH
    for row in session.execute(text("SELECT * FROM events ORDER BY seq")).mappings().all():
        before, after = (json.loads(row[name] or "null") for name in ("before", "after"))
        after = json.loads(change(json.dumps(after)))
        parts = (
            previous,
            row["seq"],
            row["at"],
            row["author"],
            row["kind"],
            row["subject"],
            row["place"],
            before,
            after,
        )
        new = {"seq": row["seq"], "previous": previous, "hash": event_hash(*parts)}
        new["after"] = None if after is None else json.dumps(after, sort_keys=True, separators=(",", ":"))
        session.execute(text("UPDATE events SET previous=:previous, hash=:hash, after=:after WHERE seq=:seq"), new)
        previous = new["hash"]
    session.execute(text("UPDATE chain SET hash=:hash"), {"hash": previous})


def test_the_command_prints_the_head_and_fails_where_something_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["review", "status", "--verify", str(tmp_path / "bench")]) == 2
    assert "is not under review" in capsys.readouterr().err
    assert not (tmp_path / "bench.review").exists()
    project = small_project(tmp_path)
    with transaction(project.database, "ann") as change:
        copy = next_unit(change, "ann", QUEUE, lease_minutes=30)
        assert copy is not None
        decide(change, copy)
    assert run(["review", "status", "--verify", str(tmp_path / "bench")]) == 0
    printed = capsys.readouterr().out
    head = verify_history(project.database)
    assert "4 events, 4 people, 3 entries, 0 results" in printed
    assert f"head 4:{head.head}" in printed
    assert run(["review", "status", "--verify", str(tmp_path / "bench"), "--head", f"4:{head.head}"]) == 0
    tampered(project, "UPDATE entries SET revision = 2 WHERE place = '0'")
    project.database.close()
    capsys.readouterr()
    assert run(["review", "status", "--verify", str(tmp_path / "bench")]) == 1
    assert "found: entry of" in capsys.readouterr().out
