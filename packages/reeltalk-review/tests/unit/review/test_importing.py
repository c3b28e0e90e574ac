"""A benchmark is loaded once; what changed in it since is taken over without touching what people did."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from people_at_work import decide, full_content, member, turn, unit_id, verdicts
from sqlalchemy import func, select

from reeltalk.errors import BenchmarkError, BrokenInvariantError, InputError, SettingError
from reeltalk.schema.dialogue import QAChain
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk_review.database import ReviewProject
from reeltalk_review.importing import import_benchmark
from reeltalk_review.playable import ServedVideo
from reeltalk_review.tables import EventRow, ProjectRow, QueueRow, UnitRow, VideoRow


def NONE(_: Benchmark) -> Mapping[str, ServedVideo]:
    return {}


def bench(folder: Path, content: Content | None = None) -> Benchmark:
    benchmark = Benchmark.create(folder / "bench")
    benchmark.write_content(content if content is not None else full_content(), stage="test")
    return Benchmark.open(folder / "bench")


def changed(project: ReviewProject, change: Any, *, stage: str = "construct chains") -> Benchmark:
    """The benchmark after another command changed it."""
    content = Benchmark.open(project.benchmark).content()
    change(content)
    Benchmark.open(project.benchmark).write_content(content, stage=stage)
    return Benchmark.open(project.benchmark)


def units(project: ReviewProject) -> dict[str, UnitRow]:
    with project.database.reading() as session:
        return {row.target_id or "": row for row in session.scalars(select(UnitRow).where(UnitRow.queue_id == "turns"))}


def add_chain(content: Content) -> None:
    content.chains.append(QAChain(id="d", video_id="film", clip_id="clip-c", turns=(turn("d0"),)))


def reword_b(content: Content) -> None:
    chain = content.chains[1]
    new = chain.turns[0].model_copy(update={"question": "Another wording?"})
    content.chains[1] = chain.model_copy(update={"turns": (new, *chain.turns[1:])})


def test_the_same_command_again_loads_nothing_twice(tmp_path: Path) -> None:
    benchmark = bench(tmp_path)
    project = ReviewProject.open(benchmark.path)
    first = import_benchmark(project, benchmark, serving=NONE)
    assert first.new["turns"] == 4
    with project.database.reading() as session:
        events = session.scalar(select(func.count()).select_from(EventRow))
    again = import_benchmark(project, Benchmark.open(benchmark.path), serving=NONE)
    assert (again.new, again.renewed) == ({}, {})
    with project.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(EventRow)) == events
    assert len(units(project)) == 4


def test_a_damaged_line_is_refused_with_file_line_and_field(tmp_path: Path) -> None:
    benchmark = bench(tmp_path)
    path = benchmark.path / "chains.jsonl"
    lines = path.read_text().splitlines()
    row = json.loads(lines[1])
    row["turns"][2]["asked_at_s"] = -1
    path.write_text("\n".join([lines[0], json.dumps(row), lines[2]]) + "\n")
    project = ReviewProject.open(benchmark.path)
    with pytest.raises(InputError, match=r"chains\.jsonl:2 at \.turns\[2\]\.asked_at_s"):
        import_benchmark(project, Benchmark.open(benchmark.path, as_it_is=True), serving=NONE)
    with project.database.reading() as session:
        assert session.get(ProjectRow, 1) is None


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (
            lambda c: c.linkages.append(
                c.linkages[1].model_copy(update={"target": c.linkages[1].target.model_copy(update={"turn_index": 7})})
            ),
            r"linkages:3: its target is turn 7 of chain 'b', which is not there",
        ),
        (
            lambda c: c.chains.__setitem__(2, c.chains[2].model_copy(update={"clip_id": "nowhere"})),
            "chains:c: refers to clip 'nowhere'",
        ),
        (lambda c: c.chains.append(c.chains[0]), r"chains:a: stands 2 times"),
    ],
)
def test_records_that_contradict_each_other_are_refused_where_they_stand(
    tmp_path: Path, change: Any, shown: str
) -> None:
    content = full_content()
    change(content)
    benchmark = bench(tmp_path, content)
    with pytest.raises(BrokenInvariantError, match=shown):
        import_benchmark(ReviewProject.open(benchmark.path), benchmark, serving=NONE)


def test_turns_that_make_no_sense_are_loaded_so_that_people_put_them_right(tmp_path: Path) -> None:
    content = full_content()
    first, second, *others = content.chains[0].turns
    late = second.model_copy(update={"asked_at_s": 99.0})
    content.chains[0] = content.chains[0].model_copy(update={"turns": (first, late, *others)})
    benchmark = bench(tmp_path, content)
    assert import_benchmark(ReviewProject.open(benchmark.path), benchmark, serving=NONE).new["turns"] > 0


def test_a_table_that_was_edited_by_hand_is_refused(tmp_path: Path) -> None:
    benchmark = bench(tmp_path)
    path = benchmark.path / "chains.jsonl"
    path.write_text(path.read_text().replace("a0?", "a zero?"))
    with pytest.raises(BenchmarkError, match="edited or damaged"):
        import_benchmark(ReviewProject.open(benchmark.path), benchmark, serving=NONE)


def test_a_benchmark_without_drafts_says_what_makes_some(tmp_path: Path) -> None:
    content = Content(videos=[Video(id="film")])
    benchmark = bench(tmp_path, content)
    project = ReviewProject.open(benchmark.path)
    with pytest.raises(BenchmarkError, match="'reeltalk construct' writes drafts"):
        import_benchmark(project, benchmark, serving=NONE, queues=("turns",))
    empty = bench(tmp_path / "empty", Content())
    with pytest.raises(BenchmarkError, match="'reeltalk construct' writes drafts"):
        import_benchmark(ReviewProject.open(empty.path), empty, serving=NONE)
    # Pairs may talk about videos of which nothing was drafted.
    assert import_benchmark(project, benchmark, serving=NONE).new == {}
    with_chain = changed(project, lambda c: c.chains.append(QAChain(id="d", video_id="film", turns=(turn("d0"),))))
    assert import_benchmark(project, with_chain, serving=NONE, queues=("turns",)).new["turns"] == 1


def test_queues_are_chosen_and_added_later(tmp_path: Path) -> None:
    benchmark = bench(tmp_path)
    project = ReviewProject.open(benchmark.path)
    with pytest.raises(SettingError, match="no such queue; choose from turns"):
        import_benchmark(project, benchmark, serving=NONE, queues=("dancing",))
    with pytest.raises(SettingError, match="--overlap 0"):
        import_benchmark(project, benchmark, serving=NONE, overlap=0)
    import_benchmark(project, benchmark, serving=NONE, queues=("turns",), overlap=2)
    with project.database.reading() as session:
        assert [(row.id, row.overlap) for row in session.scalars(select(QueueRow))] == [("turns", 2)]


def test_units_of_some_videos_alone_are_loaded(tmp_path: Path) -> None:
    content = full_content()
    content.videos.append(Video(id="other", split="train"))
    content.chains.append(QAChain(id="x", video_id="other", turns=(turn("x0"),)))
    benchmark = bench(tmp_path, content)
    project = ReviewProject.open(benchmark.path)
    with pytest.raises(SettingError, match=r"--only split/dev: .* nothing to review of such videos"):
        import_benchmark(project, benchmark, serving=NONE, only="split/dev")
    with pytest.raises(SettingError, match="--only size/big: give split/NAME"):
        import_benchmark(project, benchmark, serving=NONE, only="size/big")
    import_benchmark(project, benchmark, serving=NONE, only="split/train")
    assert set(units(project)) == {"x"}
    later = changed(project, add_chain)
    import_benchmark(project, later, serving=NONE)
    assert set(units(project)) == {"x"}, "what was chosen at first stays chosen"


def test_a_changed_benchmark_renews_what_nobody_has_begun_and_adds_what_is_new(tmp_path: Path) -> None:
    benchmark = bench(tmp_path)
    project = ReviewProject.open(benchmark.path)
    import_benchmark(project, benchmark, serving=NONE)

    def change(content: Content) -> None:
        reword_b(content)
        add_chain(content)
        content.dialogues.clear()

    loaded = import_benchmark(project, changed(project, change), serving=NONE)
    assert (loaded.new["turns"], loaded.removed["turns"]) == (1, 1)
    found = units(project)
    assert set(found) == {"a", "b", "c", "d"}
    assert found["b"].content["turns"][0]["question"] == "Another wording?"
    assert (found["a"].position, found["d"].position) == (0, 4)
    assert any("turns: 1 tasks are new" in line for line in loaded.lines())


def test_a_changed_benchmark_keeps_what_people_began_and_finished(tmp_path: Path) -> None:
    benchmark = bench(tmp_path)
    project = ReviewProject.open(benchmark.path)
    import_benchmark(project, benchmark, serving=NONE)
    ada = member(project, "Ada")
    a, b = (unit_id("turns", "chains", name) for name in "ab")
    decide(project, ada, a, verdicts(project, a, {}))
    decide(project, ada, b, {"0": verdicts(project, b, {})["0"]}, submit=False)

    def change(content: Content) -> None:
        reword_b(content)
        del content.chains[0]
        content.linkages, content.rewrites, content.paths = [], [], []
        content.answers, content.scores, content.gates, content.tag_proposals = [], [], [], []

    loaded = import_benchmark(project, changed(project, change), serving=NONE)
    found = units(project)
    assert found["a"].state == "done", "finished work stays, also where its chain is gone"
    assert found["b"].content["turns"][0]["question"] == "b0?"
    assert loaded.behind["turns"] == 1
    # What was taken over is known from then on.
    assert import_benchmark(project, Benchmark.open(project.benchmark), serving=NONE).new == {}


def test_videos_are_entered_with_how_they_are_served(tmp_path: Path) -> None:
    benchmark = bench(tmp_path)
    project = ReviewProject.open(benchmark.path)
    import_benchmark(project, benchmark, serving=lambda _: {"film": ("original", "video/mp4", None)})
    with project.database.reading() as session:
        row = session.get_one(VideoRow, "film")
        assert (row.file, row.media_type, row.duration_s, row.problem) == ("original", "video/mp4", 30.0, None)
