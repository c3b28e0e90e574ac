"""What a benchmark's page tells about it: counted in one pass, drawn, and left out where there is nothing."""

import re
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from reeltalk.analysis.dataset import DatasetNumbers, DialogueCounts, Spread, count_dataset, count_text_words
from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.pages.charts import Bar, HistogramBin, bar_chart, histogram_chart
from reeltalk.pages.dataset import read_dataset
from reeltalk.pages.dataset_figures import histogram_bins
from reeltalk.pages.published import dataset_comparisons
from reeltalk.pages.stage import write_benchmark_report
from reeltalk.schema.dialogue import (
    Checklist,
    ChecklistItem,
    Dialogue,
    DialoguePath,
    Linkage,
    PathStep,
    QAChain,
    Turn,
    TurnRef,
)
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.record import ChainId, DialogueId, PathId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

MARKUP = "</td></table><script>alert(1)</script> evil"
LAYOUTS = {
    "avsd": "avsd", "dramaqa": "dramaqa", "dstc10": "avsd", "folder": "folder", "mt-video-bench-v1": "mt-video-bench",
    "mt-video-bench-v2": "mt-video-bench", "mvbench": "mvbench", "ovo-bench": "ovo-bench", "svbench": "svbench",
    "streamingbench": "streamingbench", "vdact": "vdact", "video-mme": "video-mme",
}  # fmt: skip

Maker = Callable[[Content], Benchmark]


def video(name: str, **fields: object) -> Video:
    return Video.model_validate({"id": name, **fields})


def turn(question: str = "What does she hold?", **fields: object) -> Turn:
    return Turn.model_validate({"question": question, "references": ["a red cup"], **fields})


def chain(name: str, *turns: Turn, of: str = "v1") -> QAChain:
    return QAChain(id=ChainId(name), video_id=VideoId(of), turns=turns)


def dialogue(name: str, *turns: Turn, of: str = "v1", task: str | None = None) -> Dialogue:
    return Dialogue(id=DialogueId(name), video_id=VideoId(of), turns=turns, task=task)


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    def made(content: Content) -> Benchmark:
        benchmark = Benchmark.create(tmp_path / "bench", name="mine")
        benchmark.write_content(content, stage="test")
        return benchmark

    return made


def panels(benchmark: Benchmark) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Rows of every figure's table by its title."""
    return {panel.title: panel.rows for section in read_dataset(benchmark).sections for panel in section.panels}


def test_videos_are_counted_by_what_they_state(make: Maker) -> None:
    found = count_dataset(make(Content(videos=[
        video("a", category="Sports", extra={"sub_category": "Ski"}, duration_s=60.0, split="test", licence="CC0-1.0",
              source="https://example.org/watch?v=1"),
        video("b", category="Sports", extra={"sub_category": "Golf"}, duration_s=60.1, source="my camera"),
        video("c"),
    ])))  # fmt: skip
    assert found.categories == {("Sports", "Ski"): 1, ("Sports", "Golf"): 1}
    assert found.seconds.share_above(60.0) == 50.0
    assert found.sources == {"example.org": 1, "my camera": 1}
    assert (found.videos, found.splits, found.licences) == (3, {"test": 1}, {"CC0-1.0": 1})


def test_what_is_not_stated_for_some_videos_has_a_row_of_its_own(make: Maker) -> None:
    rows = panels(make(Content(videos=[video("a", split="train"), video("b", split="train"), video("c")])))
    assert rows["Videos by split"] == (("train", "2", "66.7"), ("not stated", "1", "33.3"))


def test_what_there_is_none_of_is_left_out(make: Maker) -> None:
    dataset = read_dataset(make(Content(videos=[video("a")])))
    assert dataset.sections == ()
    assert dataset.basics == (("Videos", "1"),)


def test_an_empty_benchmark_is_an_error_that_tells_what_fills_it(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "bench")
    with pytest.raises(BenchmarkError, match=r"neither videos nor questions.*'reeltalk import'"):
        read_dataset(benchmark)


def test_moments_are_counted_along_their_video(make: Maker) -> None:
    moments = (0.0, 9.9, 10.0, 99.0, 100.0)
    turns = [turn(asked_at_s=moment, evidence=[Interval(start_s=0.0, end_s=2.5)]) for moment in moments]
    found = count_dataset(make(Content(videos=[video("v1", duration_s=100.0)], chains=[chain("c", *turns)])))
    assert found.by_tenth == {0: 2, 1: 1, 9: 2}
    assert found.evidence_s.counts == {2.5: 5}
    assert found.is_streaming


def test_a_moment_without_the_length_of_its_video_has_no_place_along_it(make: Maker) -> None:
    found = count_dataset(make(Content(videos=[video("v1")], chains=[chain("c", turn(asked_at_s=3.0), turn())])))
    assert (found.moments, found.by_tenth, found.is_streaming) == (1, {}, False)


def test_tags_are_shares_of_tagged_questions_and_rare_ones_are_flagged(make: Maker) -> None:
    def tagged(*targets: str) -> Turn:
        return turn(labels={"cogme.target": targets, "cogme.content": ["Identity"], "cogme.thinking": ["Recall"]})

    turns = [tagged("Character", "Character") for _ in range(24)] + [tagged("Emotion"), turn()]
    rows = {row[0]: row[1:] for row in panels(make(Content(dialogues=[dialogue("d", *turns)])))["CogME's tags"]}
    assert len(rows) == 19
    assert rows["Character"] == ("Target", "24", "96.0", "")
    assert rows["Emotion"] == ("Target", "1", "4.0", "under 5 %")
    assert rows["Means"] == ("Content", "0", "0.0", "none")


def test_types_are_shares_of_typed_questions(make: Maker) -> None:
    turns = [
        turn(labels={"vdact.question_type": ["T-SEQ", "REF"]}),
        turn(labels={"vdact.question_type": ["EXP"]}),
        turn(),
    ]
    rows = panels(make(Content(dialogues=[dialogue("d", *turns)])))["Question types"]
    assert rows == (
        ("Explanations (EXP)", "1", "50.0", ""),
        ("References to earlier turns (REF)", "1", "50.0", "VDAct"),
        ("Sequence (T-SEQ)", "1", "50.0", "VDAct"),
    )


def test_skills_stand_over_their_relations(make: Maker) -> None:
    labels = {"svbench.skill": ["CR"], "svbench.relation": ["Objects", "Events"]}
    asked = [turn(labels=labels), turn(labels={"svbench.skill": ["CR"], "svbench.relation": ["People"]}), turn()]
    step = PathStep(ref=TurnRef(unit_id="c", turn_index=0), turn=turn(labels={"svbench.skill": ["II"]}))
    content = Content(
        chains=[chain("c", *asked)], paths=[DialoguePath(id=PathId("p"), video_id=VideoId("v1"), steps=(step,))]
    )
    rows = panels(make(content))["Skills, and their relations"]
    assert rows == (
        ("Counterfactual reasoning", "", "2", "66.7"), ("Counterfactual reasoning", "Objects", "1", "33.3"),
        ("Counterfactual reasoning", "People", "1", "33.3"), ("Intention inference", "", "1", "33.3"),
    )  # fmt: skip


def test_checklists_are_counted_by_the_reply_they_expect(make: Maker) -> None:
    items = tuple(ChecklistItem(question="Is it?", expected=expected) for expected in (True, True, True, False))
    content = Content(dialogues=[dialogue("d", turn(checklist=Checklist(items=items)), task="memory_recall")])
    rows = panels(make(content))
    assert rows["Checklist items"] == (("expects Yes", "3", "75.0"), ("expects No", "1", "25.0"))
    assert rows["Dialogues by task"] == (("Memory recall", "1", "100.0"),)


def test_relations_of_linkages_are_counted_as_they_are_spelled(make: Maker) -> None:
    link = Linkage(
        source=TurnRef(unit_id="a", turn_index=0), target=TurnRef(unit_id="b", turn_index=0), relation="Mood"
    )
    content = Content(chains=[chain("a", turn()), chain("b", turn())], linkages=[link, link])
    assert panels(make(content))["Linkages by relation"] == (("Mood", "2", "100.0"),)


def test_words_are_what_stands_between_spaces_and_chinese_characters() -> None:
    assert count_text_words("it's a well-known  fact, 3.5 times") == 6
    assert count_text_words("她在做什么") == 5


def test_table_3_is_about_dialogues_and_their_videos(make: Maker) -> None:
    content = Content(
        videos=[video("v1", duration_s=10.0), video("v2", duration_s=90.0), video("v3", duration_s=500.0)],
        dialogues=[dialogue("a", turn("Who is it?"), turn()), dialogue("b", turn(references=[]), of="v2")],
    )
    found = count_dataset(make(content))
    assert found.table_3 == DialogueCounts(2, 2, 3, 50.0, 11 / 3, 3.0)


def test_published_data_sets_stand_below_ours() -> None:
    found = DatasetNumbers("mine", videos=2, videos_with_questions=2, turns_in_dialogues=10, dialogues=2)
    found.table_3 = DialogueCounts(2, 2, 10, 121.0, 4.0, None)
    found.dialogue_turns.counts.update({5: 2})
    found.seconds.counts.update({121.0: 2})
    found.question_words.counts.update({4: 10})
    table = dataset_comparisons(found)[0]
    own, *others = table.rows
    assert table.source == "SVBench table 1"
    assert (own.name, own.own) == ("mine, 2 videos", True)
    assert own.cells == ("10", "5.00", "✓", "–", "✓", "✗", "–")
    assert len(others) == 14
    assert not any(row.own for row in others)
    assert others[-1].cells[:2] == ("49,979", "36.94")


def test_a_row_counts_one_kind_of_unit_alone(make: Maker) -> None:
    content = Content(
        videos=[video("v1")],
        chains=[chain("c", *[turn("One two three?")] * 3)],
        dialogues=[dialogue("d", *[turn("One two three four five?")] * 4)],
    )
    by_source = {table.source: table.rows[0].cells for table in dataset_comparisons(count_dataset(make(content)))}
    assert by_source["SVBench table 1"][:2] == ("3", "3.00")
    assert by_source["MT-Video-Bench table 1 of version 2"] == ("4", "4.00", "4.00", "–", "–", "5.00", "3.00")
    assert by_source["VDAct table 3"] == ("1", "1", "4", "–", "5.00", "3.00", "✗")


def test_a_spread_tells_mean_median_and_ends() -> None:
    spread = Spread()
    for value in (1, 1, 2, 10):
        spread.add(value)
    assert (spread.n, spread.mean, spread.median, spread.least, spread.most) == (4, 3.5, 1, 1, 10)
    assert Spread().mean is Spread().median is Spread().share_above(1) is None


def test_every_value_lies_in_one_bin_and_a_long_tail_in_the_last() -> None:
    spread = Spread()
    for value in [*range(100), 5000]:
        spread.add(value)
    found = histogram_bins(spread, whole=True)
    assert sum(each.count for each in found) == 101
    assert found[-1].label.endswith("and more")
    assert found[-1].count >= 1
    assert [each.low for each in found] == sorted(each.low for each in found)
    assert all(one.high == other.low for one, other in pairwise(found))


def test_few_whole_numbers_have_a_bin_each() -> None:
    spread = Spread()
    for value in (10, 10, 10, 11, 15):
        spread.add(value)
    assert [(each.label, each.count) for each in histogram_bins(spread, whole=True)] == [
        ("10", 3), ("11", 1), ("12", 0), ("13", 0), ("14", 0), ("15", 1),
    ]  # fmt: skip


def test_bins_of_whole_numbers_name_their_ends() -> None:
    assert HistogramBin(4, 6, 1, whole=True).label == "4–5"
    assert HistogramBin(60, 120, 1).label == "60–120"


def test_one_value_and_values_of_zero_can_be_drawn() -> None:
    spread = Spread()
    spread.add(0.0)
    for drawn in (
        histogram_chart(histogram_bins(spread), title="t", axis="s", values="videos"),
        bar_chart([Bar("a", 0, "0")], title="t", axis="videos", rows="split"),
    ):
        assert "nan" not in drawn
        assert drawn.startswith("<svg")


def test_strangers_text_is_escaped_in_figures_and_tables(make: Maker, tmp_path: Path) -> None:
    labels = {"vdact.question_type": [MARKUP], "language": [MARKUP], "svbench.skill": [MARKUP]}
    content = Content(
        videos=[video("v1", category=MARKUP, licence=MARKUP, source=MARKUP)],
        dialogues=[dialogue("d", turn(labels=labels), task=MARKUP)],
    )
    (tmp_path / "site").mkdir()
    html = write_benchmark_report(make(content), tmp_path / "site").read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert not re.search(r"\sstyle=", html)


@pytest.mark.parametrize("sample", LAYOUTS)
def test_an_imported_benchmark_of_any_layout_can_be_reported(sample: str, samples: Path, tmp_path: Path) -> None:
    assert run(["import", LAYOUTS[sample], str(samples / sample), str(tmp_path / "bench")]) == 0
    assert run(["report", str(tmp_path / "bench"), "--out", str(tmp_path / "site")]) == 0
    page = tmp_path / "site" / "dataset.html"
    html = (page if page.is_file() else tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<p class="over">Data set</p>' in html
    assert "nan" not in html.lower().replace("finance", "")
    assert "None" not in html


def test_a_benchmark_with_other_pages_leads_to_the_page_from_all_of_them(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "bench", name="mine")
    benchmark.write_content(Content(videos=[video("v1")], chains=[chain("c", turn())]), stage="construct chains")
    assert run(["report", str(tmp_path / "bench"), "--out", str(tmp_path / "site")]) == 0
    pages = {path.relative_to(tmp_path / "site").as_posix(): path for path in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "dataset.html"} < set(pages)
    for name, path in pages.items():
        root = "../" * name.count("/")
        assert f'<a href="{root}dataset.html"' in path.read_text(encoding="utf-8"), name
    assert 'aria-current="page">Dataset</a>' in pages["dataset.html"].read_text(encoding="utf-8")


def test_a_report_on_runs_has_the_page_where_the_benchmark_is_given(samples: Path, tmp_path: Path) -> None:
    answers = next((samples / "vdact" / "results").glob("*.json"))
    assert run(["import", "vdact", str(samples / "vdact"), str(tmp_path / "bench")]) == 0
    scored = ["--format", "vdact", "--metrics", "rouge_l", "--out", str(tmp_path / "run")]
    assert run(["score", str(answers), *scored]) == 0
    reported = ["report", str(tmp_path / "run"), "--figures", "svg", "--tables", "csv"]
    assert run([*reported, "--bench", str(tmp_path / "bench"), "--out", str(tmp_path / "with")]) == 0
    assert run([*reported, "--out", str(tmp_path / "without")]) == 0
    assert not (tmp_path / "without" / "dataset.html").exists()
    html = (tmp_path / "with" / "dataset.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'href="((?:figures|tables)/dataset-[^"]+)"', html))
    assert any(file.endswith(".svg") for file in linked)
    assert any(file.endswith(".csv") for file in linked)
    assert all((tmp_path / "with" / file).is_file() for file in linked)


def test_the_same_benchmark_gives_the_same_bytes(make: Maker, tmp_path: Path) -> None:
    benchmark = make(
        Content(videos=[video("v1", category="b"), video("v2", category="a")], chains=[chain("c", turn())])
    )
    written = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_benchmark_report(benchmark, tmp_path / name)
        written.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert written[0] == written[1]


@pytest.mark.slow
def test_the_released_vdact_data_has_the_paper_s_table_4(shared: Path, tmp_path: Path) -> None:
    source = tmp_path / "vdact"
    (source / "dialogue").mkdir(parents=True)
    released = shared / "data" / "vdact"
    for path in (*released.glob("*.zip"), released / "derived" / "scenario_to_activities.json"):
        shutil.copyfile(path, source / path.name)
    for path in (released / "dialogue").iterdir():
        shutil.copyfile(path, source / "dialogue" / path.name)
    shutil.copyfile(released / "derived" / "dialogue_test_rebuilt.json", source / "dialogue" / "dialogue.json")
    assert run(["import", "vdact", str(source), str(tmp_path / "bench")]) == 0
    found = count_dataset(Benchmark.open(tmp_path / "bench"))
    assert (found.dialogues, found.turns, found.table_3 and found.table_3.videos) == (450, 4524, 150)
    assert found.splits == {"train": 800, "test": 150, "dev": 50}
    assert found.graphs is not None
    assert (found.graphs.activities, found.graphs.scenarios) == (706, 1000)
    published = (10.2, 11.2, 14.92, 10.84, 86.56, 4.08, 0.78, 320.78)
    assert found.graphs.activity.values == pytest.approx(published, abs=0.011)
