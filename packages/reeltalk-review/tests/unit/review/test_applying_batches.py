"""Settled work of a large benchmark is applied some videos at a time, with the result of all at once."""

import random
import re
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from people_at_work import decide, full_content, member, ref, send_back, talk_in_pairs, unit_id, verdicts

from reeltalk.schema.dialogue import Linkage, QAChain
from reeltalk.schema.media import Video
from reeltalk.schema.record import Record, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.tables import TABLES, VIDEOS
from reeltalk.store.validate import validate
from reeltalk_review.applying import batches
from reeltalk_review.applying.batches import TableChanges, owner_id
from reeltalk_review.applying.stage import apply_reviews
from reeltalk_review.database import ReviewProject
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import add_queue, import_benchmark
from reeltalk_review.tasks.answering import answer_drafts

NAMED = re.compile(r'"(film|talk|[abc]|along|plain|jump|(?:clip|rewrite)-\w+)"')


def films(count: int) -> Content:
    """One video and so many copies of it with all that is about it; the tables are in no order of videos.

    Copies have a slash in their names, as the name of a task about two chains has.
    """
    one, content = full_content(), Content()
    for name, rows in one.rows():
        for _, some in groupby(rows, key=owner_id):
            lines = [row.to_json() for row in some]
            for copy in range(count):
                renamed = (NAMED.sub(rf'"\g<1>/{copy}"', line) if copy else line for line in lines)
                getattr(content, name).extend(map(TABLES[name].record.model_validate_json, renamed))
    return content


def project_of(folder: Path, content: Content) -> ReviewProject:
    Benchmark.create(folder / "bench").write_content(content, stage="test")
    project = ReviewProject.open(folder / "bench")
    options: dict[str, Any] = {"queues": ("turns", "links", "tagging")}
    import_benchmark(project, Benchmark.open(folder / "bench"), serving=lambda _: {}, **options)
    return project


def review(project: ReviewProject, name: str, **decisions: dict[str, Any]) -> None:
    """Review a chain; `t0` is its first turn."""
    unit = unit_id("turns", "chains", name)
    found = {place[1:]: value for place, value in decisions.items()}
    decide(project, member(project, f"reviewer of {name}"), unit, verdicts(project, unit, found))


def applied(project: ReviewProject, folder: Path) -> tuple[dict[str, int], Content]:
    """Apply to a copy; the counts and the copy, which must be whole."""
    result = apply_reviews(project, into=folder)
    assert [str(found) for found in validate(Benchmark.open(folder)) if found.severity == "error"] == []
    return result.counts, Benchmark.open(folder).content()


def test_batches_give_the_result_of_all_videos_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = films(5)
    # A link from one video to another keeps both in one batch.
    across = Linkage(source=ref("a/1", 0), target=ref("b/4", 2), relation="Plots")
    content.linkages.insert(3, across)
    project = project_of(tmp_path, content)
    review(project, "a", t0={"decision": "reject"}, t1={"decision": "edit", "question": "Why?"})
    review(project, "b/1", **{f"t{place}": {"decision": "reject"} for place in range(3)})
    review(project, "c/3", t2={"decision": "reject"})
    review(project, "b/4", t0={"decision": "reject"})
    with transaction(project.database, OPERATOR) as change:
        drafts = answer_drafts(content, "dialogue")[::4]
        add_queue(change, "test", "exam", drafts, title="Answer")
    for draft in drafts:
        unit = unit_id("exam", draft.target_table, draft.target_id)
        said = {str(place): {"text": "this", "given": True} for place in range(len(draft.content["turns"]))}
        decide(project, member(project, f"of {draft.target_id}"), unit, said)
    links = unit_id("links", "linkages", "a/2/b/2")
    kept = {"decision": "keep", "relations": ["Events"]}
    drawn = {"2-0": kept, "0-1": {"decision": "delete"}}
    decide(project, member(project, "Ana"), links, {**drawn, "board": {"decision": "complete", "links": ["2-0"]}})
    talk_in_pairs(project)
    whole_counts, whole = applied(project, tmp_path / "whole")
    for together in (1, 2):
        monkeypatch.setattr(batches, "TOGETHER", together)
        counts, some = applied(project, tmp_path / f"some-{together}")
        assert counts == whole_counts
        assert (counts["turns taken out"], counts["links kept"], counts["links deleted"]) == (6, 1, 1)
        assert not apply_reviews(project, into=tmp_path / f"some-{together}").is_changed
        for name, rows in whole.rows():
            there = getattr(some, name)
            if name in ("reviews", "rejected", "answers", "dialogues"):
                # New rows come after the earlier ones, in the order of their videos.
                assert sorted(map(Record.to_json, there)) == sorted(map(Record.to_json, rows)), name
                before = len(getattr(content, name))
                if name in ("answers", "dialogues"):
                    assert there[: before - 9] == rows[: before - 9], name
            else:
                assert there == rows, name
    assert across.source.unit_id in {row.source.unit_id for row in whole.linkages if row.target.unit_id == "b/4"}
    assert len(whole.reviews) == 14


def test_a_removed_chain_comes_back_in_a_later_revision_of_many_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "TOGETHER", 1)
    project = project_of(tmp_path, films(3))
    ada, unit = member(project, "Ada"), unit_id("turns", "chains", "b")
    rejected = {str(place): {"decision": "reject"} for place in range(3)}
    given = decide(project, ada, unit, verdicts(project, unit, rejected))
    _, first = applied(project, tmp_path / "first")
    assert "b" not in {chain.id for chain in first.chains}
    send_back(project, member(project, "Lead", "adjudicator"), given)
    decide(project, ada, unit, verdicts(project, unit, {"1": {"decision": "reject"}}))
    apply_reviews(project, into=tmp_path / "first")
    chains: dict[str, QAChain] = {chain.id: chain for chain in Benchmark.open(tmp_path / "first").content().chains}
    assert [turn.question for turn in chains["b"].turns] == ["b0?", "b2?"]


def test_work_about_a_video_that_contradicts_the_benchmark_is_set_aside_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "TOGETHER", 1)
    project = project_of(tmp_path, films(3))
    for copy in range(3):
        review(project, f"a/{copy}" if copy else "a", t1={"decision": "edit", "question": "Why?"})
    # The copy lacks a chain whose work is settled.
    other = Benchmark.create(tmp_path / "other")
    content = films(3)
    for name in ("chains", "linkages", "rewrites", "paths", "answers", "scores", "gates", "tag_proposals"):
        rows = getattr(content, name)
        setattr(content, name, [row for row in rows if '"a/1"' not in row.to_json() and "along/1" not in row.to_json()])
    content.answers = [row for row in content.answers if row.unit != "path"]
    other.write_content(content, stage="test")
    result = apply_reviews(project, into=tmp_path / "other")
    assert [(found.unit_id, found.problem) for found in result.aside] == [
        (unit_id("turns", "chains", "a/1"), "it is in the benchmark no longer")
    ]
    assert result.aside[0].title == "Video 2 · clip 1, chain 1", "its name for people"
    assert result.counts["turns edited"] == 2


@given(seed=st.integers(0, 2**32))
def test_changes_of_a_table_are_those_of_its_rows(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    draw = random.Random(seed)

    def video(name: str, length: float = 1.0) -> Video:
        return Video(id=VideoId(name), duration_s=length)

    table = [video(f"v{number}") for number in range(draw.randrange(12))]
    sides = [draw.randrange(3) for _ in table]
    changes = TableChanges(VIDEOS, tmp_path_factory.getbasetemp())
    expected: dict[int, Video] = {}
    news: list[Video] = []
    for side in range(3):
        places = [place for place, where in enumerate(sides) if where == side]
        after: list[Video] = []
        for place in places:
            what = draw.choice(("keep", "keep", "change", "copy"))
            row = {"keep": table[place], "change": video(f"v{place}", 2.0), "copy": table[place].model_copy()}[what]
            after.append(row)
            expected[place] = row
        added = [video(f"new{side}-{number}") for number in range(draw.randrange(3))]
        news += added
        changes.add([table[place] for place in places], after + added, places)
    assert list(changes.rows(table)) == [*(expected[place] for place in sorted(expected)), *news]
    assert bool(changes) == (news != [] or any(expected[place] != table[place] for place in expected))


@given(seed=st.integers(0, 2**32))
def test_rows_that_go_leave_the_others_in_their_order(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    draw = random.Random(seed)
    table = [Video(id=VideoId(f"v{number}"), duration_s=1.0) for number in range(draw.randrange(1, 12))]
    after = [
        row if draw.random() < 0.5 else row.model_copy(update={"duration_s": 2.0})
        for row in table
        if draw.random() < 0.6
    ]
    changes = TableChanges(VIDEOS, tmp_path_factory.getbasetemp())
    changes.add(table, after, range(len(table)))
    assert list(changes.rows(table)) == after
