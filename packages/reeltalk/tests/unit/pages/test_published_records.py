"""The shipped published numbers: each equals what was recovered from its source, and each measure is one of ours."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from reeltalk.analysis.columns import metric_info
from reeltalk.analysis.published.records import (
    PUBLISHED_FILES,
    PublishedTable,
    published_numbers,
    read_published,
    render_published,
)
from reeltalk.cli import run
from reeltalk.errors import SettingError
from reeltalk.metrics.profile import TAGS
from reeltalk.schema.labels import Skill, Task

DIMENSIONS = ("SA", "CC", "LC", "TU", "IC", "OS")
TASKS = {"OR": "object_reference", "MR": "memory_recall", "CS": "summary", "AR": "answer_refusal",
         "TS": "topic_shifting", "PI": "proactive_interaction"}  # fmt: skip


@pytest.fixture(scope="module")
def recovered(shared: Path) -> Any:
    """Every published number that was recovered, as a document of its own."""
    return json.loads((shared / "spec" / "NUMBERS.json").read_text(encoding="utf-8"))


def cells(benchmark: str, table: str) -> dict[str, list[Any]]:
    """The values of a table by model, in the order of its columns."""
    return {row.model: list(row.values) for row in read_published(benchmark).table(table).rows}


def column(benchmark: str, table: str) -> list[str]:
    return [each.label for each in read_published(benchmark).table(table).columns]


@pytest.mark.parametrize(("table", "key"), [("table-2", "table2_main"), ("table-6", "table6_extended_incl_human")])
def test_svbench_dimensions_are_those_of_the_paper(recovered: Any, table: str, key: str) -> None:
    expected = {
        model: [row[mode][name] for mode in ("dialogue", "streaming") for name in DIMENSIONS]
        for model, row in recovered["SVBench"][key].items()
    }
    assert cells("svbench", table) == expected
    told = [(each.metric, each.mode) for each in read_published("svbench").table(table).columns]
    assert told == [(f"svbench.{name}", mode) for mode in ("dialogue", "streaming") for name in DIMENSIONS]


def test_svbench_leaderboard_is_that_of_the_project_page(recovered: Any) -> None:
    rows = recovered["SVBench"]["leaderboard_project_page"]["rows"]
    shown = read_published("svbench").table("leaderboard")
    assert cells("svbench", "leaderboard") == {
        model: [row[mode][name] for mode in ("dialogue", "streaming") for name in DIMENSIONS] + [row["AVG"]]
        for model, row in rows.items()
    }
    assert [str(row.frames) for row in shown.rows] == [row["frames_or_fps"] for row in rows.values()]
    assert [row.size or "-" for row in shown.rows] == [row["size"] for row in rows.values()]
    assert shown.judge == "Qwen2.5-72B-Instruct"


def test_svbench_skills_and_metrics_are_those_of_the_paper(recovered: Any) -> None:
    svbench = recovered["SVBench"]
    assert cells("svbench", "table-3") == {model: list(row.values()) for model, row in svbench["table3_skills"].items()}
    assert set(column("svbench", "table-3")) == {skill.value for skill in Skill}
    assert cells("svbench", "table-4") == svbench["table4_single_vs_multi"]["rows"]
    assert cells("svbench", "table-5") == svbench["table5_basic_metrics"]["rows"]
    assert svbench["internal_inconsistency"] in read_published("svbench").table("table-4").notes


def test_svbench_counts_are_those_of_the_paper(recovered: Any) -> None:
    svbench = recovered["SVBench"]
    stated = svbench["dataset_published"]
    flat = [
        value
        for key, value in stated.items()
        if key not in ("train", "eval")
    ]  # fmt: skip
    own = cells("svbench", "counts")["SVBench"]
    assert sorted(map(str, own)) == sorted(map(str, [*flat, *stated["train"].values(), *stated["eval"].values()]))
    released = svbench["released_eval_split_secondary"]
    assert cells("svbench", "released")["SVBench, evaluation split"] == [
        *released["dialogue"].values(), *released["streaming"].values(),
    ]  # fmt: skip
    elsewhere = svbench["streamingchat_other_benchmarks_readme"]
    inner = list(elsewhere["TinyLVLM"].values())
    plain = [value for key, value in elsewhere.items() if key != "TinyLVLM"]
    assert cells("svbench", "elsewhere")["StreamingChat"] == plain + inner
    assert cells("svbench", "claims")["StreamingChat"] == list(svbench["improvement_claims"].values())


def test_svbench_table_1_is_that_of_the_paper_s_text(shared: Path) -> None:
    text = (shared / "papers" / "svbench.txt").read_text(encoding="utf-8")
    rows = cells("svbench", "table-1")
    for model, (questions, a_video, *marks, annotation) in rows.items():
        told = [f"{questions:,}", f"{a_video:.2f}", *("✓" if mark else "✗" for mark in marks), annotation]
        assert re.search(rf"^{re.escape(model)}\b[^\t]*\t" + re.escape("\t".join(told)) + "$", text, re.MULTILINE), (
            model
        )
    assert len(rows) == 14


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_mt_video_bench_results_are_those_of_each_version(recovered: Any, version: str) -> None:
    stated = recovered["MT-Video-Bench"][version]
    table = read_published("mt-video-bench").table(f"{version}-table-2")
    assert cells("mt-video-bench", f"{version}-table-2") == {
        model: [row["Overall"], *(row[task] for task in TASKS)] for model, row in stated["results"].items()
    }
    assert [each.metric for each in table.columns] == ["mtv", *(f"mtv.{name}" for name in TASKS.values())]
    assert set(TASKS.values()) == {task.value for task in Task}
    assert (table.version, table.frames, table.source) == (version, stated["frames"], stated["source"])


def test_mt_video_bench_figures_are_marked_as_such(recovered: Any) -> None:
    v2 = recovered["MT-Video-Bench"]["v2"]
    for table, key, axis, how in (
        ("v2-turns", "fig_turns_figure_value", "turns", "figure value"),
        ("v2-frames", "fig_frames_overall_figure_estimate", "frames", "figure estimate"),
        ("v2-lengths", "fig_video_length_overall_figure_estimate", "minutes", "figure estimate"),
    ):
        expected = {model: values for model, values in v2[key].items() if model != axis}
        assert cells("mt-video-bench", table) == expected
        assert [label.split(" ")[0] for label in column("mt-video-bench", table)] == [
            str(each) for each in v2[key][axis]
        ]
        assert read_published("mt-video-bench").table(table).how == how
    scenes = v2["fig_scene_count_Gemini-2.5-Pro_figure_value"]
    assert list(cells("mt-video-bench", "v2-scenes").values()) == [scenes[task] for task in TASKS]


def test_the_permuted_labels_of_a_figure_are_corrected_and_told(recovered: Any) -> None:
    stated = recovered["MT-Video-Bench"]["v2"]["fig_context_Qwen3-VL-8B_figure_estimate"]
    table = read_published("mt-video-bench").table("v2-context")
    assert column("mt-video-bench", "v2-context") == stated["bar_order_corrected"]
    assert [row.history for row in table.rows] == ["golden", "predicted-all", "none"]
    assert [list(row.values) for row in table.rows] == [stated[k] for k in ("golden", "self_predicted", "none")]
    assert table.notes == (stated["warning"],)


def test_mt_video_bench_counts_and_agreement_are_those_of_the_paper(recovered: Any) -> None:
    mt = recovered["MT-Video-Bench"]
    skipped = ("source", "results")
    v1 = [value for key, value in mt["v1"].items() if key not in skipped]
    assert sorted(cells("mt-video-bench", "v1-counts")["MT-Video-Bench v1"]) == sorted(v1)
    v2 = {key: value for key, value in mt["v2"].items() if isinstance(value, int | float)}
    assert sorted(cells("mt-video-bench", "v2-counts")["MT-Video-Bench v2"]) == sorted(
        [*v2.values(), *mt["v2"]["task_dialogues"].values()]
    )
    agreement = mt["v2"]["table3_judge_human_agreement"]
    assert cells("mt-video-bench", "v2-table-3") == {
        judge: values for judge, values in agreement.items() if judge not in ("columns", "sample")
    }
    compared = mt["table1_comparison_v2"]
    assert cells("mt-video-bench", "table-1") == {name: row for name, row in compared.items() if name != "columns"}


def test_cogme_numbers_are_those_of_the_text(recovered: Any) -> None:
    stated = recovered["CogME"]
    table = read_published("cogme").table("accuracy")
    first, second = (list(row.values) for row in table.rows)
    assert first == [stated["overall_accuracy"]["Agent I (MCM)"], *stated["agent_I_subcomponents"].values()]
    assert second == [stated["overall_accuracy"]["Agent II (MemN2N)"], *[None] * 5]
    assert table.items == stated["annotated_questions"]
    assert [each.metric for each in table.columns[1:]] == [
        f"cogme.unweighted.{tag}" for tag in stated["agent_I_subcomponents"]
    ]
    notes = " ".join(read_published("cogme").notes)
    assert all(tag in notes for tag in stated["under_5_percent_frequency"])


def test_vdact_numbers_are_those_of_the_paper_and_the_release(recovered: Any) -> None:
    stated = recovered["VDAct"]
    table_4 = {key: value for key, value in stated["table4_kg_components_avg"].items() if key != "columns"}
    activity, scenario = cells("vdact", "table-4").values()
    assert [activity, scenario] == [[value[place] for value in table_4.values()] for place in (0, 1)]
    assert cells("vdact", "counts")["VDAct"] == list(stated["dataset_published"].values())
    for name, row in cells("vdact", "table-3").items():
        told = stated["table3_dataset_comparison"][name]
        question = 68 if name == "Twitch-FIFA" else told["avg_q"]
        assert row == [
            told["videos"], told["dialogues"], told["qa"], told.get("avg_len_s"), question, told["avg_a"], told["kg"],
        ]  # fmt: skip
    graphs = stated["released_kg_activity_derived"]
    assert cells("vdact", "predicates")["VDAct graphs"] == [graphs["files"], *graphs["predicate_counts"].values()]
    assert cells("vdact", "states")["VDAct graphs"] == list(graphs["state_values"].values())
    outputs = stated["released_model_outputs_derived"]
    assert {name: row[0] for name, row in cells("vdact", "output-lengths").items()} == {
        **outputs["avg_gen_words"], "reference": outputs["reference_avg_words"],
    }  # fmt: skip
    assert cells("vdact", "turn-histogram")["test"] == list(stated["splits_derived"]["test"]["turn_histogram"].values())
    assert cells("vdact", "virtualhome2kg")["VirtualHome2KG"] == list(stated["virtualhome2kg"].values())
    assert cells("vdact", "splits")["test"] == [150, 450, 4524]


def test_vdact_says_that_no_results_are_published(recovered: Any) -> None:
    assert recovered["VDAct"]["results_table"] is None
    assert all(table.kind != "results" for table in read_published("vdact").tables)
    assert "No table of results" in read_published("vdact").notes[0]


def test_related_benchmarks_are_those_recovered(recovered: Any) -> None:
    related = recovered["related_benchmarks"]
    omni = {model: row for model, row in related["OmniMMI"].items() if model not in ("source", "columns")}
    assert cells("omnimmi", "leaderboard") == omni
    assert cells("livecc", "win-rate") == {
        model: [rate] for model, rate in related["LiveCC"]["win_rate_vs_GPT-4o_LiveSports3K-CC"].items()
    }
    proactive = related["ProactiveVideoQA"]
    assert cells("proactivevideoqa", "table-3") == {
        model: row for model, row in proactive.items() if model not in ("source", "columns")
    }
    assert read_published("proactivevideoqa").table("table-3").how == "secondary"
    ovo = related["OVO-Bench"]["rows"]
    assert list(cells("ovo-bench", "lmms-eval").values()) == [list(row.values()) for row in ovo.values()]


@pytest.mark.parametrize("name", PUBLISHED_FILES)
def test_every_measure_is_one_of_ours(name: str) -> None:
    for number in published_numbers(read_published(name)):
        if number.metric is None:
            continue
        family, *rest = number.metric.split(".")
        assert metric_info(number.metric) is not None
        if family == "cogme" and rest:
            assert rest[-1] in TAGS
        if family == "mtv" and rest:
            assert rest[-1] in {task.value for task in Task}
        if family == "svbench":
            assert rest[-1] in (*DIMENSIONS, "average")


@pytest.mark.parametrize("name", PUBLISHED_FILES)
def test_every_number_says_where_it_stands_and_how_it_is_known(name: str) -> None:
    found = list(published_numbers(read_published(name)))
    assert found
    assert all(number.source and number.how for number in found)
    keys = [(number.table, number.model, number.column) for number in found]
    assert len(set(keys)) == len(keys)


def test_a_table_whose_rows_are_not_whole_is_refused() -> None:
    with pytest.raises(ValueError, match="m has 1 values, not 2"):
        PublishedTable.model_validate({
            "id": "t", "title": "t", "about": "t", "how": "published",
            "columns": ({"label": "a"}, {"label": "b"}), "rows": ({"model": "m", "values": (1,)},),
        })  # fmt: skip


def test_an_unknown_name_gives_those_there_are() -> None:
    with pytest.raises(SettingError, match=r"'nope'.*svbench, mt-video-bench, cogme"):
        read_published("nope")


def test_csv_and_json_hold_every_number() -> None:
    everything = sum(1 for name in PUBLISHED_FILES for _ in published_numbers(read_published(name)))
    assert len(list(csv.DictReader(io.StringIO(render_published((), "csv"))))) == everything
    assert len(json.loads(render_published((), "json"))) == everything


def test_markdown_tables_are_whole() -> None:
    for line in render_published(tuple(PUBLISHED_FILES), "markdown").splitlines():
        if line.startswith("|"):
            assert line.endswith(" |")


@pytest.mark.parametrize("format", ["text", "json", "csv", "markdown"])
def test_the_command_lists_what_is_known(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--published", "svbench", "--format", format]) == 0
    assert "65.73" in capsys.readouterr().out


def test_the_command_refuses_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--published", "svbenhc"]) == 2
    assert "there are: svbench" in capsys.readouterr().err
