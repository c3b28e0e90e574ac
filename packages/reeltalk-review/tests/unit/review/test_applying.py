"""What people settled becomes the next revision of the benchmark, and everything that points at turns follows."""

import itertools
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from people_at_work import decide, full_content, member, ref, send_back, talk_in_pairs, unit_id, verdicts
from sqlalchemy import select

from reeltalk.errors import BenchmarkError, FrozenError
from reeltalk.metrics.selection import select_turns
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.review import SETTLED, Decision
from reeltalk.store.benchmark import Benchmark, BenchmarkWriter
from reeltalk.store.content import Content
from reeltalk.store.release import freeze
from reeltalk.store.tables import GATES
from reeltalk.store.validate import validate
from reeltalk_review.applying.stage import Applied, apply_reviews
from reeltalk_review.database import ProjectSettings, ReviewProject
from reeltalk_review.events import OPERATOR, broken_links, transaction
from reeltalk_review.importing import add_queue, import_benchmark
from reeltalk_review.tables import UnitRow
from reeltalk_review.tasks.answering import answer_drafts


def project_of(folder: Path, content: Content | None = None, **options: Any) -> ReviewProject:
    benchmark = Benchmark.create(folder / "bench")
    benchmark.write_content(content if content is not None else full_content(), stage="test")
    project = ReviewProject.open(folder / "bench")
    import_benchmark(project, Benchmark.open(folder / "bench"), serving=lambda _: {}, **options)
    return project


def review(
    project: ReviewProject, name: str, decisions: Mapping[str, Mapping[str, Any]], *, person: str | None = None
) -> str:
    """Review a chain, or the dialogue; the assignment."""
    unit = unit_id("turns", "dialogues" if name == "talk" else "chains", name)
    return decide(project, person or member(project, f"reviewer of {name}"), unit, verdicts(project, unit, decisions))


def applied(project: ReviewProject, **options: Any) -> tuple[Applied, Content]:
    """Apply, and read the benchmark, which must be whole."""
    result = apply_reviews(project, **options)
    benchmark = Benchmark.open(options.get("into") or project.benchmark)
    assert [str(finding) for finding in validate(benchmark) if finding.severity == "error"] == []
    return result, benchmark.content()


def questions(content: Content, name: str) -> list[str]:
    units: list[QAChain | Dialogue] = [*content.chains, *content.dialogues]
    return next([turn.question for turn in row.turns] for row in units if row.id == name)


def test_an_edited_turn_gets_its_new_wording(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    edit = {"decision": "edit", "question": "Why?", "asked_at_s": 8.0, "evidence": [{"start_s": 3.0, "end_s": 4.0}]}
    review(project, "a", {"1": edit})
    result, content = applied(project)
    turn = content.chains[0].turns[1]
    assert (turn.question, turn.asked_at_s, turn.evidence[0].start_s) == ("Why?", 8.0, 3.0)
    assert (result.revision, result.counts["turns edited"], result.counts["turns accepted"]) == (1, 1, 2)


def test_an_edited_turn_no_longer_claims_the_fact_that_it_was_written_from(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"1": {"decision": "edit", "references": ["Otherwise."]}})
    review(project, "b", {"1": {"decision": "edit", "asked_at_s": 18.5}})
    _, content = applied(project)
    assert content.chains[0].turns[1].extra == {"tags_verified": False}
    assert content.chains[1].turns[1].extra["answer_key"] == "open|fridge", "asked later, it is the same question"


def test_a_checklist_goes_with_the_wording_that_it_was_made_for_and_is_kept_in_the_review(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "talk", {"0": {"decision": "edit", "question": "What now?"}})
    result, content = applied(project)
    assert content.dialogues[0].turns[0].checklist is None
    assert result.counts["checklists, rubrics and keys taken off"] == 2, "its checklist and its key"
    edits = {edit.field: edit for edit in content.reviews[0].edits}
    assert edits["turns[0].checklist"].before["items"][0]["question"] == "is it t0?"


def test_a_key_goes_with_the_reference_that_it_fits(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"1": {"decision": "edit", "references": ["He closes it."]}, "2": {"decision": "accept"}})
    review(project, "b", {"1": {"decision": "edit", "asked_at_s": 18.5}})
    result, content = applied(project)
    assert [turn.key is None for turn in content.chains[0].turns] == [False, True, False]
    assert all(turn.key is not None for turn in content.chains[1].turns), "asked later, it is the same question"
    edits = {edit.field: edit for row in content.reviews for edit in row.edits}
    assert edits["turns[1].key"].before["values"] == ["open|fridge"]
    assert result.counts["checklists, rubrics and keys taken off"] == 1


def test_checks_of_an_edited_turn_say_that_they_must_be_made_again(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"1": {"decision": "edit", "question": "Why?"}})
    _, content = applied(project)
    about = {gate.turn_index: gate for gate in content.gates if gate.gate == "gates:leak.blind" and gate.unit_id == "a"}
    assert (about[0].outcome, about[1].outcome) == (GateOutcome.FLAGGED, GateOutcome.UNCHECKED)
    assert about[1].extra["before_review"]["outcome"] == "flagged"


def test_turns_that_people_accepted_or_edited_are_those_that_only_reviewed_takes(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"1": {"decision": "edit", "question": "Why?"}, "2": {"decision": "skip"}})
    review(project, "b", {"0": {"decision": "reject", "reasons": ["leaks"]}})
    _, content = applied(project)
    found = select_turns(content, "reviewed")
    selected = {unit.id: [turn.question for turn in unit.turns] for unit in found.content.chains}
    assert selected == {"a": ["a0?", "Why?"], "b": ["b1?", "b2?"]}, "also flagged ones: people overrule checks"
    counted = next(row for row in content.reviews if SETTLED in row.extra and row.decision is Decision.EDIT)
    content.reviews.append(counted.model_copy(update={"decision": Decision.SKIP}))
    assert select_turns(content, "reviewed").selected.total() < found.selected.total(), "what they said last counts"


def test_answers_to_an_edited_turn_say_what_was_asked(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"1": {"decision": "edit", "question": "Why?", "references": ["So."]}})
    _, content = applied(project)
    answer = next(row for row in content.answers if (row.unit_id, row.turn_index) == ("a", 1))
    assert (answer.asked_as, answer.referred_to) == ("a1?", ("a1.",))
    on_path = next(row for row in content.answers if row.unit_id == "along")
    assert (on_path.asked_as, on_path.referred_to) == ("a1?", ("a1.",)), "the path asks the chain's own wording"


def test_a_rejected_turn_leaves_its_chain_and_all_that_points_at_later_turns_follows(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "b", {"0": {"decision": "reject", "reasons": ["leaks", "other"], "note": "it is in the title"}})
    result, content = applied(project)
    assert questions(content, "b") == ["b1?", "b2?"]
    assert {(row.source, row.target) for row in content.linkages} == {
        (ref("a", 0), ref("b", 0)),
        (ref("b", 1), ref("c", 1)),
    }
    assert [row.linkage for row in content.rewrites] == content.linkages
    texts = {row.turn_index: row.text for row in content.answers if row.unit_id == "b"}
    assert texts == {0: "said b1", 1: "said b2"}
    assert {row.turn_index for row in content.scores if row.unit_id == "b"} == {0, 1}
    assert {row.turn_index for row in content.gates if row.unit_id == "b" and row.turn_index is not None} == {0, 1}
    assert {row.turn_index for row in content.tag_proposals if row.unit_id == "b"} == {0, 1}
    assert result.counts["turns rejected"] == 1


def test_what_goes_with_a_turn_is_kept_as_rejected_with_its_reason(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "b", {"0": {"decision": "reject", "reasons": ["leaks", "other"], "note": "it is in the title"}})
    _, content = applied(project)
    turn = next(row for row in content.rejected if row.table == "chains")
    assert (turn.record_id, turn.place) == ("b", "turns[0]")
    assert turn.reason == "rejected in review: leaks, other (it is in the title)"
    assert turn.content["turn"]["question"] == "b0?"
    assert [gate["gate"] for gate in turn.content["gates"]] == ["gates:lint", "gates:leak.blind"]
    assert len(turn.content["tag_proposals"]) == 1
    tables = sorted(row.table for row in content.rejected)
    assert tables == ["answers", "chains", "linkages", "rewrites", "scores"]


def test_a_path_loses_a_step_where_it_stays_a_walk_and_goes_where_it_does_not(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "b", {"0": {"decision": "reject"}})
    _, content = applied(project)
    steps = {str(path.id): [(step.ref.unit_id, step.ref.turn_index) for step in path.steps] for path in content.paths}
    # `along` and `plain` go on from the last turn of a to the first of b, as a walk does; `jump` still has its linkage.
    assert steps["plain"] == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("c", 0), ("c", 1), ("c", 2)]
    assert steps["jump"][:2] == [("a", 0), ("b", 0)]
    project = project_of(tmp_path / "other")
    review(project, "a", {"0": {"decision": "reject"}})
    result, content = applied(project)
    assert {path.id for path in content.paths} == {"along", "plain"}
    gone = next(row for row in content.rejected if row.table == "paths")
    assert (gone.record_id, gone.content["id"]) == ("jump", "jump")
    assert result.counts["paths taken out"] == 1
    assert "along" in {row.unit_id for row in content.answers}
    assert "jump" not in {row.unit_id for row in content.answers}


def test_a_published_path_that_follows_no_rule_keeps_its_other_steps(tmp_path: Path) -> None:
    content = full_content()
    odd = content.paths[0]
    odd = odd.model_copy(update={"steps": tuple(odd.steps[index] for index in (0, 2, 5, 7))})
    content.paths, content.answers = [odd], []
    project = project_of(tmp_path, content)
    review(project, "b", {"2": {"decision": "reject"}})
    _, after = applied(project)
    assert [(step.ref.unit_id, step.ref.turn_index) for step in after.paths[0].steps] == [("a", 0), ("a", 2), ("c", 2)]


def test_a_chain_without_turns_goes_and_comes_back_with_one(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    ada = member(project, "Ada")
    unit = unit_id("turns", "chains", "b")
    assignment = decide(
        project, ada, unit, verdicts(project, unit, {str(index): {"decision": "reject"} for index in range(3)})
    )
    _, content = applied(project)
    assert [chain.id for chain in content.chains] == ["a", "c"]
    whole = next(row for row in content.rejected if row.table == "chains" and row.place is None)
    assert (whole.reason, whole.content["gates"][0]["gate"]) == ("review left none of its turns", "gates:chain")
    assert content.linkages == []
    send_back(project, member(project, "Bea", "adjudicator"), assignment)
    decide(project, ada, unit, verdicts(project, unit, {"0": {"decision": "reject"}, "2": {"decision": "reject"}}))
    result, content = applied(project)
    assert (result.revision, questions(content, "b")) == (2, ["b1?"])
    assert content.chains[-1].clip_id == "clip-b"


def test_a_turn_that_was_rejected_comes_back_in_its_place(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    ada, bea = member(project, "Ada"), member(project, "Bea", "adjudicator")
    assignment = review(project, "a", {"1": {"decision": "reject"}}, person=ada)
    assert questions(applied(project)[1], "a") == ["a0?", "a2?"]
    send_back(project, bea, assignment)
    review(project, "a", {"1": {"decision": "edit", "question": "Better?"}}, person=ada)
    _, content = applied(project)
    assert questions(content, "a") == ["a0?", "Better?", "a2?"]
    assert next(row for row in content.linkages if row.relation == "Events").source == ref("a", 2)


def test_skipped_and_undecided_turns_stay_as_they_are_and_are_counted(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"0": {"decision": "skip"}, "1": {"decision": "skip", "question": "ignored?"}})
    result, content = applied(project)
    assert questions(content, "a") == ["a0?", "a1?", "a2?"]
    assert (result.counts["turns skipped"], result.undecided["turns"]) == (2, 8)


def test_every_decision_leaves_a_review_with_what_changed(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    decisions = {"0": {"decision": "edit", "question": "Why?", "note": "shorter"}, "1": {"decision": "reject"}}
    review(project, "a", decisions, person=member(project, "Ada"))
    _, content = applied(project)
    edited, rejected, accepted = content.reviews
    assert {row.reviewer for row in content.reviews} == {"Ada"}
    assert (edited.target_table, edited.target_id, edited.revision) == ("chains", "a", 0)
    assert [edit.field for edit in edited.edits] == ["turns[0].question", "turns[0].key"]
    assert (edited.edits[0].before, edited.edits[0].after) == ("a0?", "Why?")
    assert edited.comment == "shorter"
    assert (rejected.decision, rejected.reasons) == (Decision.REJECT, ("not_in_video",))
    assert (accepted.decision, accepted.edits) == (Decision.ACCEPT, ())


def test_all_people_are_named_and_one_decision_counts(tmp_path: Path) -> None:
    project = project_of(tmp_path, overlap=2)
    unit = unit_id("turns", "chains", "a")
    decide(project, member(project, "Ada"), unit, verdicts(project, unit, {}))
    decide(project, member(project, "Bea"), unit, verdicts(project, unit, {"0": {"decision": "reject"}}))
    third = {"write": verdicts(project, unit, {"0": {"decision": "edit", "question": "C?"}})["0"], "note": "both wrong"}
    decide(project, member(project, "Cleo", "adjudicator"), unit, {"0": third}, role="adjudicator")
    _, content = applied(project)
    first = [row for row in content.reviews if row.extra["place"] == 0]
    assert [(row.reviewer, row.decision.value) for row in first] == [
        ("Ada", "accept"),
        ("Bea", "reject"),
        ("Cleo", "edit"),
    ]
    assert ["settled" in row.extra for row in first] == [False, False, True]
    assert first[2].comment == "both wrong"
    agreed = [row for row in content.reviews if row.extra["place"] == 1]
    assert [row.extra.get("settled") for row in agreed] == ["agreed", None]
    assert questions(content, "a")[0] == "C?"


def test_work_of_units_that_are_not_complete_goes_nowhere(tmp_path: Path) -> None:
    project = project_of(tmp_path, overlap=2)
    review(project, "a", {"0": {"decision": "edit", "question": "Only one said so?"}})
    before = (project.benchmark / "manifest.json").read_bytes()
    result, _ = applied(project)
    assert not result.is_changed
    assert (project.benchmark / "manifest.json").read_bytes() == before


def test_applying_again_changes_nothing(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"0": {"decision": "reject"}, "1": {"decision": "edit", "question": "Why?"}})
    review(project, "talk", {"1": {"decision": "skip"}})
    applied(project)
    before = {path.name: path.read_bytes() for path in project.benchmark.glob("*.json*")}
    with project.database.reading() as session:
        head = session.execute(select(UnitRow.id, UnitRow.content)).all()
    result, _ = applied(project)
    assert (result.is_changed, result.revision) == (False, 1)
    assert {path.name: path.read_bytes() for path in project.benchmark.glob("*.json*")} == before
    with project.database.reading() as session:
        assert session.execute(select(UnitRow.id, UnitRow.content)).all() == head
        assert list(broken_links(session)) == []


def test_a_later_revision_takes_in_what_was_decided_on_an_earlier_draft(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    ada = member(project, "Ada")
    # Bea has begun chain b when the first revision is written, and decides on what she saw.
    bea, unit = member(project, "Bea"), unit_id("turns", "chains", "b")
    some = verdicts(project, unit, {"0": {"decision": "reject"}, "2": {"decision": "edit", "question": "Late?"}})
    decide(project, bea, unit, {"0": some["0"]}, submit=False)
    review(project, "a", {"0": {"decision": "reject"}}, person=ada)
    assert applied(project)[0].revision == 1
    decide(project, bea, unit, some)
    result, content = applied(project)
    assert (result.revision, questions(content, "a"), questions(content, "b")) == (2, ["a1?", "a2?"], ["b1?", "Late?"])
    assert {row.extra["written"] for row in content.reviews if row.target_id == "b"} == {2}


def test_units_that_nobody_has_begun_show_the_revision_that_was_written(tmp_path: Path) -> None:
    content = full_content()
    project = project_of(tmp_path, content)
    review(project, "b", {"0": {"decision": "reject"}, "1": {"decision": "edit", "question": "New?"}})
    applied(project)
    with project.database.reading() as session:
        row = session.get_one(UnitRow, unit_id("turns", "chains", "a"))
        assert row.content["revision"] == 1
        assert [link["other"]["question"] for link in row.content["links"]] == ["New?"]
        done = session.get_one(UnitRow, unit_id("turns", "chains", "b"))
        assert (done.content["revision"], len(done.content["turns"])) == (0, 3)


def test_a_unit_that_was_renewed_is_applied_where_its_turns_are_now(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"0": {"decision": "reject"}})
    applied(project)
    # The same chain is reviewed a second time, by a project that was loaded from the first revision.
    other = ReviewProject.open(project.benchmark, folder=tmp_path / "second")
    import_benchmark(other, Benchmark.open(project.benchmark), serving=lambda _: {})
    second = {"0": {"decision": "edit", "question": "Second look?"}}
    review(other, "a", second, person=member(other, "Bea"))
    result, content = applied(other)
    assert (result.revision, questions(content, "a")) == (2, ["Second look?", "a2?"])
    assert content.reviews[-2].extra["place"] == 1, "the turn is named by its place in the first draft"
    assert (content.reviews[-2].revision, content.reviews[-2].edits[0].field) == (1, "turns[0].question")


def test_a_turn_that_something_else_changed_is_not_overwritten(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"0": {"decision": "edit", "question": "Mine?"}})
    benchmark = Benchmark.open(project.benchmark)
    content = benchmark.content()
    chain = content.chains[0]
    theirs = chain.turns[0].model_copy(update={"question": "Theirs?"})
    content.chains[0] = chain.model_copy(update={"turns": (theirs, *chain.turns[1:])})
    benchmark.write_content(content, stage="something else")
    import_benchmark(project, Benchmark.open(project.benchmark), serving=lambda _: {})
    result, after = applied(project)
    assert questions(after, "a")[0] == "Theirs?"
    (aside,) = result.aside
    assert str(aside).endswith(", turn 1: it was changed by something else since it was reviewed: 'Theirs?'")


def test_what_other_stages_add_to_a_turn_stays(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"0": {"decision": "edit", "question": "Mine?"}})
    benchmark = Benchmark.open(project.benchmark)
    content = benchmark.content()
    chain = content.chains[0]
    tagged = chain.turns[0].model_copy(update={"labels": {**chain.turns[0].labels, "cogme.target": ("Object",)}})
    content.chains[0] = chain.model_copy(update={"turns": (tagged, *chain.turns[1:])})
    benchmark.write_content(content, stage="tag")
    import_benchmark(project, Benchmark.open(project.benchmark), serving=lambda _: {})
    _, after = applied(project)
    assert after.chains[0].turns[0].question == "Mine?"
    assert after.chains[0].turns[0].labels["cogme.target"] == ("Object",)


def test_a_release_is_refused_with_advice_and_its_copy_gets_the_work(tmp_path: Path) -> None:
    made = Benchmark.create(tmp_path / "draft")
    made.write_content(full_content(), stage="test")
    release = freeze(Benchmark.open(tmp_path / "draft"), tmp_path / "release", version="1.0.0")
    project = ReviewProject.open(release.path)
    import_benchmark(project, release, serving=lambda _: {})
    review(project, "a", {"0": {"decision": "edit", "question": "Why?"}})
    with pytest.raises(FrozenError, match="--into FOLDER"):
        apply_reviews(project)
    result, content = applied(project, into=tmp_path / "corrected")
    assert (result.revision, questions(content, "a")[0]) == (1, "Why?")
    copy = Benchmark.open(tmp_path / "corrected")
    assert (copy.manifest.release, copy.manifest.canary, copy.manifest.files["chains.jsonl"].stage) == (
        None,
        None,
        "review apply",
    )
    again, _ = applied(project, into=tmp_path / "corrected")
    assert not again.is_changed


def test_a_dry_run_says_what_would_change_and_writes_nothing(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"0": {"decision": "reject"}})
    before = (project.benchmark / "manifest.json").read_bytes()
    result = apply_reviews(project, dry_run=True)
    assert (result.is_changed, result.counts["turns rejected"]) == (True, 1)
    assert (project.benchmark / "manifest.json").read_bytes() == before


def test_a_dry_run_shows_every_change_as_a_difference(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    edit = {"decision": "edit", "question": "Why?", "evidence": [{"start_s": 3.0, "end_s": 4.0}], "note": "shorter"}
    review(project, "a", {"0": {"decision": "reject", "reasons": ["leaks", "other"], "note": "seen"}, "1": edit})
    lines: list[str] = []
    apply_reviews(project, dry_run=True, show=lines.append)
    assert lines[1:11] == [
        "  turn 1: removed, leaks, other (seen)",
        "    question",
        "    - a0?",
        "  turn 2: edited, shorter",
        "    question",
        "    - a1?",
        "    + Why?",
        "    evidence",
        "    - 1.00–2.00 s",
        "    + 3.00–4.00 s",
    ]
    assert lines[0] == "Video 1 · clip 1, chain 1"
    assert "rewrites rewrite-Plots: removed, review took out a turn that it leads from or to" in lines
    assert not any("turn 3" in line for line in lines), "it was accepted as it was"
    assert apply_reviews(project).is_changed
    apply_reviews(project, dry_run=True, show=lines.append)
    assert len([line for line in lines if line.startswith("  turn")]) == 2, "what was applied changes nothing again"


def test_a_link_and_a_label_are_shown_as_differences(tmp_path: Path) -> None:
    project = project_of(tmp_path, queues=("links", "tagging"))
    ada, board = member(project, "Ada"), unit_id("links", "linkages", "a/b")
    values = {
        "2-0": {"decision": "keep", "relations": ["People"]},
        "0-1": {"decision": "delete"},
        "1-2": {"decision": "keep", "relations": ["Events"], "skills": ["STS"]},
        "board": {"decision": "complete", "links": ["1-2", "2-0"]},
    }
    decide(project, ada, board, values)
    tags = {"cogme.target": ["Event"], "cogme.content": ["Sequence"], "cogme.thinking": ["Reasoning"]}
    unit = unit_id("tagging", "dialogues", "talk")
    decide(project, ada, unit, {place: {"decision": "accept", "labels": tags} for place in "01"})
    lines: list[str] = []
    apply_reviews(project, dry_run=True, show=lines.append)
    shown = "\n".join(lines)
    assert "the link from turn 1 to turn 2: removed\n    relations\n    - Plots" in shown
    assert "the link from turn 3 to turn 1: edited\n    relations\n    - Events\n    + People" in shown
    assert "the link from turn 2 to turn 3: drawn\n    relations\n    + Events\n    skills\n    + STS" in shown
    assert "labels of cogme.target\n    + Event" in shown


def test_work_on_a_chain_that_the_benchmark_lost_is_set_aside_alone(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    for name in "ab":
        review(project, name, {"1": {"decision": "edit", "question": "Why?"}})
    content = full_content()
    for table in ("linkages", "rewrites", "paths", "answers", "scores", "gates", "tag_proposals"):
        setattr(content, table, [])
    content.chains = [chain for chain in content.chains if chain.id != "a"]
    Benchmark.create(tmp_path / "other").write_content(content, stage="test")
    result, after = applied(project, into=tmp_path / "other")
    assert [(found.unit_id, found.problem) for found in result.aside] == [
        (unit_id("turns", "chains", "a"), "it is in the benchmark no longer")
    ]
    assert result.aside[0].title == "Video 1 · clip 1, chain 1", "its name for people"
    assert questions(after, "b") == ["b0?", "Why?", "b2?"]


def test_the_manifest_says_from_which_events_and_files_a_revision_comes(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    before = Benchmark.open(project.benchmark).manifest.files["chains.jsonl"].sha256
    review(project, "a", {"0": {"decision": "reject"}})
    applied(project)
    files = Benchmark.open(project.benchmark).manifest.files
    entry = files["chains.jsonl"]
    assert (entry.stage, entry.settings["revision"], entry.parents["chains.jsonl"]) == ("review apply", 1, before)
    assert len(entry.settings["head"]) == 64
    assert files["clips.jsonl"].stage == "test", "what did not change stays the work of its stage"


def test_a_write_that_was_not_noted_down_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"0": {"decision": "reject"}})
    # As after a power cut between the benchmark's write and the database's: the project notes down nothing.
    with monkeypatch.context() as patched:
        patched.setattr("reeltalk_review.applying.stage._note", lambda *_: None)
        applied(project)
    loaded = import_benchmark(project, Benchmark.open(project.benchmark), serving=lambda _: {})
    assert loaded.renewed["turns"] == 1
    assert not applied(project)[0].is_changed


@pytest.mark.parametrize("writes", [0, 2, 5, None])
def test_a_kill_leaves_the_old_revision_or_the_new_one(tmp_path: Path, writes: int | None) -> None:
    project = project_of(tmp_path)
    review(project, "a", {"0": {"decision": "reject"}, "1": {"decision": "edit", "question": "Why?"}})
    project.database.close()
    if (child := os.fork()) == 0:
        left = itertools.count(writes or 0, -1)
        add = BenchmarkWriter.add

        def killed(self: BenchmarkWriter, *rows: Any) -> int:
            if not next(left):
                os.kill(os.getpid(), signal.SIGKILL)
            return add(self, *rows)

        # After all tables are written, the database does not learn of it.
        noting = mock.patch("reeltalk_review.applying.stage._note", side_effect=lambda *_: os.kill(os.getpid(), 9))
        with noting if writes is None else mock.patch.object(BenchmarkWriter, "add", killed):
            apply_reviews(ReviewProject.open(project.benchmark))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    content = Benchmark.open(project.benchmark).content()
    assert [str(found) for found in validate(Benchmark.open(project.benchmark)) if found.severity == "error"] == []
    assert (len(content.reviews), questions(content, "a")[0]) == ((3, "Why?") if writes is None else (0, "a0?"))
    assert applied(project)[0].is_changed == (writes is not None)
    assert questions(Benchmark.open(project.benchmark).content(), "a") == ["Why?", "a2?"]


def test_planted_units_are_never_applied(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    with project.database.writing() as session:
        session.get_one(UnitRow, unit_id("turns", "chains", "a")).gold = {"0": "leaks"}
    review(project, "a", {"0": {"decision": "reject"}})
    with project.database.writing() as session:
        session.get_one(UnitRow, unit_id("turns", "chains", "a")).state = "done"
    result, content = applied(project)
    assert (result.is_changed, questions(content, "a")[0]) == (False, "a0?")
    assert list(Benchmark.open(project.benchmark).read(GATES)) != []


def test_below_the_least_agreement_nothing_is_applied(tmp_path: Path) -> None:
    project = project_of(tmp_path, overlap=2)
    ada, bea, judge = member(project, "Ada"), member(project, "Bea"), member(project, "Cleo", "adjudicator")
    for name in "abc":
        unit = unit_id("turns", "chains", name)
        decide(project, ada, unit, verdicts(project, unit, {"0": {"decision": "reject"}}))
        decide(project, bea, unit, verdicts(project, unit, {"1": {"decision": "reject"}, "2": {"decision": "reject"}}))
        took = {place: {"write": value} for place, value in verdicts(project, unit, {}).items()}
        decide(project, judge, unit, took, role="adjudicator")
    project.settings = ProjectSettings(least_agreement=0.6)
    with pytest.raises(BenchmarkError, match=r"agreement of 'Review turns' on decision is -\d\.\d+, below the 0\.6"):
        apply_reviews(project)
    assert Benchmark.open(project.benchmark).manifest.files["chains.jsonl"].stage == "test"
    project.settings = ProjectSettings(least_agreement=-1)
    assert apply_reviews(project).counts["turns accepted"] == 9


def test_marks_and_answers_by_people_are_added_once(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    ada = member(project, "Ada")
    answered = Benchmark.open(project.benchmark).content()
    with transaction(project.database, OPERATOR) as change:
        add_queue(change, "test", "test-dialogue", answer_drafts(answered, "dialogue"), title="Test")
    with project.database.reading() as session:
        row = session.scalars(select(UnitRow).where(UnitRow.queue_id == "test-dialogue")).first()
        assert row is not None
        unit, name, count = row.id, row.content["id"], row.turns
    values = {str(index): {"text": f"I say {index}", "given": True} for index in range(count)}
    decide(project, ada, unit, values)
    _, content = applied(project)
    said = [row.text for row in content.answers if (row.model, row.unit_id) == ("human", name)]
    assert said == [f"I say {index}" for index in range(count)]
    assert not applied(project)[0].is_changed


def test_what_became_of_a_collected_dialogue_in_the_benchmark_is_kept(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    talk_in_pairs(project)
    first, content = applied(project)
    (collected,) = (row for row in content.dialogues if row.task == "collected")
    assert (first.counts["dialogues collected"], collected.turns[0].references) == (1, ("The cook.",))
    unit = unit_id("turns", "dialogues", collected.id)
    decide(
        project, member(project, "Ada"), unit, verdicts(project, unit, {"0": {"decision": "edit", "question": "Who?"}})
    )
    second, content = applied(project)
    assert (questions(content, collected.id), second.counts.get("dialogues collected")) == (["Who?"], None)
    assert not applied(project)[0].is_changed


def test_a_collected_dialogue_that_review_took_out_does_not_come_back(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    talk_in_pairs(project)
    (collected,) = (row.id for row in applied(project)[1].dialogues if row.task == "collected")
    unit = unit_id("turns", "dialogues", collected)
    decide(project, member(project, "Ada"), unit, verdicts(project, unit, {"0": {"decision": "reject"}}))
    for _ in range(2):
        assert collected not in [row.id for row in applied(project)[1].dialogues]
