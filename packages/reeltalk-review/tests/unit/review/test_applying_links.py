"""Links and labels that people settled, brought into the benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from people_at_work import full_content, ref

from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.invariants import check_content
from reeltalk.store.tables import TABLES
from reeltalk_review.applying.following import follow_links, follow_paths, follow_rows
from reeltalk_review.applying.links import apply_links
from reeltalk_review.applying.next_revision import NextRevision
from reeltalk_review.applying.settled import DoneUnit, SettledPlace, SubmittedWork
from reeltalk_review.applying.turns import apply_labels, apply_turns

AT = "2026-11-22T04:30:00.000Z"


def done(kind: str, table: str, name: str, content: Mapping[str, Any], values: Mapping[str, Any]) -> DoneUnit:
    """A unit that Ada settled alone."""
    return DoneUnit(
        id=f"unit-{name}",
        title=name,
        kind=kind,
        target_table=table,
        target_id=name,
        video_id="film",
        content=content,
        results={place: SettledPlace(value, "sole", ["Ada"], AT) for place, value in values.items()},
        works=[SubmittedWork("Ada", "annotator", values, dict.fromkeys(values, AT))],
    )


def turns_of(content: Content, name: str) -> list[Any]:
    units: list[QAChain | Dialogue] = [*content.chains, *content.dialogues]
    unit = next(row for row in units if row.id == name)
    return [turn.model_dump(mode="json", exclude_defaults=True) for turn in unit.turns]


def pair(content: Content, before: str, after: str, values: Mapping[str, Any], *, revision: int = 0) -> DoneUnit:
    """The link board of two chains, settled."""
    drawn = [
        {
            "place": f"{row.source.turn_index}-{row.target.turn_index}",
            "source": row.source.turn_index,
            "target": row.target.turn_index,
            "relations": [row.relation],
        }
        for row in content.linkages
        if (row.source.unit_id, row.target.unit_id) == (before, after)
    ]
    shown = {
        "before": {"id": before, "turns": turns_of(content, before)},
        "after": {"id": after, "turns": turns_of(content, after)},
        "linkages": drawn,
        "rewrites": {},
        "revision": revision,
    }
    return done("links", "linkages", f"{before}/{after}", shown, values)


def link(decision: str, *relations: str, **values: Any) -> dict[str, Any]:
    """What was settled about a link."""
    start: dict[str, Any] = {
        "skills": [],
        "method": None,
        "question": None,
        "references": None,
        "fits": False,
        "note": "",
    }
    return {**start, "decision": decision, "relations": list(relations), **values}


@dataclass
class Settled:
    """A benchmark with what was settled."""

    content: Content
    counts: Mapping[str, int]


def settled(content: Content, *units: DoneUnit) -> Settled:
    """The next revision; it must be whole."""
    made = NextRevision(content)
    apply_turns(made, (unit for unit in units if unit.kind == "turns"))
    follow_links(made)
    withdrawn = apply_links(made, (unit for unit in units if unit.kind == "links"))
    follow_paths(made, withdrawn)
    follow_rows(made)
    apply_labels(made, (unit for unit in units if unit.kind in ("tagging", "types")))
    found = Content()
    for name, table in TABLES.items():
        setattr(found, name, list(made.read(table)))
    assert [str(finding) for finding in check_content(found) if finding.severity == "error"] == []
    return Settled(found, made.counts)


def links(content: Content) -> set[tuple[str, int, str, int, str]]:
    return {
        (row.source.unit_id, row.source.turn_index, row.target.unit_id, row.target.turn_index, row.relation)
        for row in content.linkages
    }


def rejected(content: Content, decision: Mapping[str, Any], place: str, name: str = "b") -> DoneUnit:
    """A review of a chain in which one turn is rejected."""
    values = {
        str(index): {
            **{key: value for key, value in turn.items() if key not in ("extra", "checklist")},
            "options": None,
            "correct_option": None,
            "decision": "accept",
            "reasons": [],
            "kept_because": "",
            "note": "",
        }
        for index, turn in enumerate(turns_of(content, name))
    }
    values[place] = {**values[place], **decision}
    return done("turns", "chains", name, {"unit": "chain", "turns": turns_of(content, name)}, values)


def test_a_link_is_drawn() -> None:
    content = full_content()
    made = settled(content, pair(content, "a", "b", {"1-2": link("keep", "Topics", skills=["CR"])}))
    assert ("a", 1, "b", 2, "Topics") in links(made.content)
    assert made.content.linkages[-1].extra == {"skills": ["CR"]}
    review = made.content.reviews[0]
    assert (review.decision.value, review.target_table, review.target_id, review.extra["place"]) == (
        "edit",
        "linkages",
        "a/b",
        "1-2",
    )


def test_a_link_is_kept_as_it_was_drafted() -> None:
    content = full_content()
    made = settled(content, pair(content, "a", "b", {"2-0": link("keep", "Events")}))
    assert made.content.linkages == content.linkages
    assert [review.decision.value for review in made.content.reviews] == ["accept"]


def test_a_link_is_relabelled_and_its_drafts_go() -> None:
    content = full_content()
    made = settled(content, pair(content, "a", "b", {"2-0": link("keep", "Topics")}))
    assert ("a", 2, "b", 0, "Topics") in links(made.content)
    assert ("a", 2, "b", 0, "Events") not in links(made.content)
    assert [(row.table, row.reason) for row in made.content.rejected] == [
        ("linkages", "its relation was changed in review"),
        ("rewrites", "its relation was changed in review"),
    ]


def test_a_link_is_deleted_with_the_paths_that_jump_along_it() -> None:
    content = full_content()
    made = settled(content, pair(content, "a", "b", {"0-1": link("delete"), "2-0": link("keep", "Events")}))
    assert ("a", 0, "b", 1, "Plots") not in links(made.content)
    assert [path.id for path in made.content.paths] == ["along", "plain"]
    assert sorted((row.table, row.reason) for row in made.content.rejected) == [
        ("answers", "review took out a turn or a linkage that it walked along"),
        ("linkages", "deleted in review"),
        ("paths", "review took out a turn or a linkage that it walked along"),
        ("rewrites", "deleted in review"),
    ]


def test_a_link_that_nobody_has_any_longer_is_deleted() -> None:
    content = full_content()
    unit = pair(content, "b", "c", {"2-1": None})
    made = settled(content, unit)
    assert ("b", 2, "c", 1, "Characters") not in links(made.content)
    assert made.content.reviews[0].reviewer == "Ada"


def test_paths_ask_a_later_question_as_it_was_reworded_for_their_link() -> None:
    content = full_content()
    value = link(
        "keep", "Plots", skills=["STS"], method="Plots/x", question="And then?", references=["Then b1."], fits=True
    )
    made = settled(content, pair(content, "a", "b", {"0-1": value}))
    jump = next(path for path in made.content.paths if path.id == "jump")
    worded = jump.steps[1].turn
    assert worded is not None
    assert (worded.question, worded.references) == ("And then?", ("Then b1.",))
    assert "answer_key" not in worded.extra
    assert all(step.turn is None for path in made.content.paths if path.id != "jump" for step in path.steps)
    row = made.content.rewrites[-1]
    assert (row.writer, row.extra, row.linkage.target) == ("human:Ada", {"accepted": True}, ref("b", 1))
    # Settled otherwise later, the path asks as the chain does again.
    again = settled(made.content, pair(made.content, "a", "b", {"0-1": link("keep", "Plots")}))
    jump = next(path for path in again.content.paths if path.id == "jump")
    assert jump.steps[1].turn is None
    assert not any(row.extra.get("accepted") for row in again.content.rewrites)


def on_path(content: Content, turn: Turn | None) -> None:
    """Let the path `jump` ask a turn where it jumps."""
    number = next(number for number, path in enumerate(content.paths) if path.id == "jump")
    steps = list(content.paths[number].steps)
    steps[1] = steps[1].model_copy(update={"turn": turn})
    content.paths[number] = content.paths[number].model_copy(update={"steps": tuple(steps)})


def test_what_people_settle_is_asked_in_place_of_a_draft() -> None:
    content = full_content()
    on_path(content, content.rewrites[1].draft)
    kept = settled(content, pair(content, "a", "b", {"0-1": link("keep", "Plots")}))
    assert next(path for path in kept.content.paths if path.id == "jump").steps[1].turn == content.rewrites[1].draft
    value = link("keep", "Plots", method="Plots/x", question="And then?", references=["Then b1."], fits=True)
    made = settled(content, pair(content, "a", "b", {"0-1": value}))
    worded = next(path for path in made.content.paths if path.id == "jump").steps[1].turn
    assert worded is not None
    assert worded.question == "And then?"


def test_a_path_goes_with_the_draft_that_it_landed_on() -> None:
    content = full_content()
    on_path(content, content.rewrites[1].draft)
    made = settled(content, pair(content, "a", "b", {"0-1": link("keep", "Topics")}))
    assert "jump" not in {path.id for path in made.content.paths}
    assert any(row.record_id == "jump" and "took back the wording" in row.reason for row in made.content.rejected)


def test_links_follow_turns_that_are_taken_out_in_the_same_revision() -> None:
    content = full_content()
    board = pair(content, "a", "b", {"1-2": link("keep", "Topics"), "2-0": link("keep", "Events")})
    made = settled(content, rejected(content, {"decision": "reject", "reasons": ["leaks"]}, "0"), board)
    assert ("a", 1, "b", 1, "Topics") in links(made.content)
    assert made.counts["links whose turns were taken out"] == 1


def test_links_drawn_on_an_earlier_revision_find_their_turns() -> None:
    content = full_content()
    board = pair(content, "a", "b", {"1-2": link("keep", "Topics")})
    first = settled(content, rejected(content, {"decision": "reject", "reasons": ["leaks"]}, "0"))
    second = settled(first.content, board)
    assert ("a", 1, "b", 1, "Topics") in links(second.content)
    third = settled(second.content, board)
    assert third.content.reviews == second.content.reviews, "what was applied is not applied again"
    assert third.content.linkages == second.content.linkages


def labels(decision: str = "edit", **named: list[str]) -> dict[str, Any]:
    """What was settled about a turn's tags."""
    return {
        "decision": decision,
        "labels": {f"cogme.{name}": tags for name, tags in named.items()},
        "manual": "tagging-manual.v1#1f2e3d4c",
        "note": "",
    }


def tagged(content: Content, name: str, values: Mapping[str, Any], *, revision: int = 0) -> DoneUnit:
    return done("tagging", "chains", name, {"turns": turns_of(content, name), "revision": revision}, values)


def test_tags_take_the_place_of_what_was_proposed() -> None:
    content = full_content()
    value = labels(target=["Event"], content=["Sequence"], thinking=["Reasoning"])
    made = settled(content, tagged(content, "a", {"1": value}))
    turn = made.content.chains[0].turns[1]
    assert turn.labels["cogme.target"] == ("Event",)
    assert turn.labels["vdact.question_type"] == ("EXP",), "other vocabularies stay"
    assert (turn.extra["tags_verified"], turn.extra["tagging_manual"]) == (True, "tagging-manual.v1#1f2e3d4c")
    assert ("a", 1) not in {(row.unit_id, row.turn_index) for row in made.content.tag_proposals}
    assert len(made.content.tag_proposals) == len(content.tag_proposals) - 1
    edits = {edit.field: (edit.before, edit.after) for edit in made.content.reviews[0].edits}
    assert edits["turns[1].labels.cogme.thinking"] == ([], ["Reasoning"])


def test_tags_of_a_turn_that_was_reworded_are_not_called_verified() -> None:
    content = full_content()
    edit = rejected(content, {"decision": "edit", "question": "Something else?"}, "1", name="a")
    value = labels(target=["Event"], content=["Sequence"], thinking=["Reasoning"])
    made = settled(content, edit, tagged(content, "a", {"1": value}))
    turn = made.content.chains[0].turns[1]
    assert (turn.question, turn.labels["cogme.target"]) == ("Something else?", ("Event",))
    assert turn.extra["tags_verified"] is False


def test_tags_find_their_turn_in_a_later_revision_or_stay_a_review_alone() -> None:
    content = full_content()
    values = {str(index): labels(target=[name]) for index, name in enumerate(("Event", "Place", "Object"))}
    unit = tagged(content, "b", values)
    first = settled(content, rejected(content, {"decision": "reject", "reasons": ["leaks"]}, "0"))
    second = settled(first.content, unit)
    assert [turn.labels["cogme.target"] for turn in second.content.chains[1].turns] == [("Place",), ("Object",)]
    assert len(second.content.reviews) == len(first.content.reviews) + 3


def test_what_is_settled_is_written_and_read_back(tmp_path: Path) -> None:
    content = full_content()
    value = link("keep", "Plots", question="And then?", references=["Then b1."], fits=True)
    made = settled(content, pair(content, "a", "b", {"0-1": value}))
    benchmark = Benchmark.create(tmp_path / "bench")
    benchmark.write_content(made.content, stage="test")
    assert list(Benchmark.open(tmp_path / "bench").content().rows()) == list(made.content.rows())
