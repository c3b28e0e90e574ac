"""Which number stands in which table, and what is better."""

import pytest

from reeltalk.analysis.columns import (
    Kind,
    base_metric,
    columns,
    differing_parts,
    direction_of,
    floor_of,
    items_of,
    metric_kind,
    metric_title,
    split_model_name,
)
from reeltalk.analysis.values import (
    format_points,
    format_quoted,
    format_range,
    format_signed,
    format_value,
    metric_heading,
    metric_unit,
)
from reeltalk.schema.runs import ModelInfo, SummaryRow

EMITTED = (
    "clair", "clair.compat", "mtv", "mtv.summary", "mtv.floor", "mtv.chance_adjusted", "mtv.rounds_sd", "mtv.compat",
    "mtv.compat.summary", "svbench.OS", "svbench.SA", "svbench.OS.compat", "vdeval", "vdeval.percentile",
    "match.first_error", "took_s", "frames_seen", "rouge_l", "cogme.unweighted.Object",
)  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "kind"),
    [
        ("clair", "headline"), ("svbench.OS", "headline"), ("svbench.SA", "detail"), ("mtv.summary", "detail"),
        ("mtv.floor", "floor"), ("clair.compat", "compat"), ("mtv.compat.summary", "compat"), ("took_s", "timing"),
        ("prompt_tokens", "timing"), ("rouge_l", "text"), ("of another program", "headline"),
    ],
)  # fmt: skip
def test_every_number_has_a_table(metric: str, kind: Kind) -> None:
    assert metric_kind(metric) == kind


@pytest.mark.parametrize(
    ("metric", "items"),
    [
        ("svbench.OS", "dialogues"), ("svbench.streaming.OS", "dialogues"), ("svbench.SA.compat", "dialogues"),
        ("match.first_error", "dialogues"), ("match.recovery", "turns"), ("mtv", "turns"), ("rouge_l", "turns"),
        ("took_s", "turns"), ("of another program", "turns"),
    ],
)  # fmt: skip
def test_n_counts_what_it_is_said_to_count(metric: str, items: str) -> None:
    assert items_of(metric) == items


def test_the_interval_of_a_difference_on_few_videos_is_marked() -> None:
    assert format_range(-0.012, 0.034, "rouge_l", signed=True, videos=2) == "[-1.2, +3.4], 2 videos"
    assert format_range(-0.012, 0.034, "rouge_l", signed=True, videos=9).endswith("], 9 videos")
    assert format_range(-0.012, 0.034, "rouge_l", signed=True, videos=10) == "[-1.2, +3.4]"
    assert format_range(-0.012, 0.034, "rouge_l", signed=True) == "[-1.2, +3.4]"
    assert format_range(None, None, "rouge_l", signed=True, videos=1) == ""


def test_times_floors_spreads_and_official_figures_are_neither_better_nor_worse() -> None:
    assert {direction_of(m) for m in ("took_s", "mtv.floor", "mtv.rounds_sd", "clair.compat")} == {"neither"}
    assert {direction_of(m) for m in ("clair", "mtv.chance_adjusted", "correct", "match.recovery")} == {"higher"}


def test_more_words_in_common_are_not_better() -> None:
    assert {direction_of(m) for m in ("bleu_1", "bleu_4", "rouge_l", "cider", "meteor", "token_f1")} == {"neither"}


def test_what_stands_beside_a_headline_follows_it() -> None:
    first = [column.metric for column in columns(EMITTED, ("headline", "compat", "floor"))]
    assert first == [
        "clair", "clair.compat", "mtv", "mtv.floor", "mtv.compat", "svbench.OS", "svbench.OS.compat", "vdeval",
    ]  # fmt: skip
    assert [column.metric for column in columns(EMITTED, ("timing",))] == ["took_s", "frames_seen"]


def test_an_official_figure_names_the_one_it_stands_beside() -> None:
    assert base_metric("mtv.compat.summary") == "mtv.summary"
    assert base_metric("mtv.floor") == "mtv"


def test_titles_are_words() -> None:
    assert metric_title("clair.compat") == "CLAIR (official script)"
    assert metric_title("mtv.memory_recall") == "MT-Video-Bench, memory recall"
    assert metric_title("svbench.OS.compat") == "SVBench, overall (official script)"
    assert metric_title("of another program") == "of another program"
    assert len({metric_title(metric) for metric in EMITTED}) == len(EMITTED)


def test_scales_are_stated_where_they_are_known() -> None:
    found = {metric: metric_unit(metric) for metric in ("vdeval", "vdeval.percentile", "vdeval.compat", "mtv", "clair")}
    assert list(found.values()) == ["1–3", "%", "1–3", "%", "%"]
    assert [metric_unit(metric) for metric in ("rouge_l", "cider", "similarity", "took_s")] == [
        "%",
        "0–10",
        "−1–1",
        "s",
    ]
    assert metric_unit("mtv.rounds_sd") == metric_unit("unknown") == ""


def test_people_read_shares_in_percent_and_other_values_with_their_unit() -> None:
    shown = {
        ("typed", 65.34): ("65.3", "65.3 %"), ("clair", 0.6534): ("65.3", "65.3 %"),
        ("bleu_4", 0.0126): ("1.3", "1.3 %"),
        ("vdeval", 2.3125): ("2.31", "2.31 on a scale of 1–3"),
        ("cider", 0.0126): ("0.013", "0.013 on a scale of 0–10"),
        ("frames_seen", 16.0): ("16.0", "16.0 frames"), ("took_s", 0.5): ("0.50", "0.50 s"),
        ("prompt_tokens", 1234.5): ("1,234.5", "1,234.5 tokens"), ("unknown", 0.5): ("0.5000", "0.5000"),
    }  # fmt: skip
    for (metric, value), (plain, quoted) in shown.items():
        assert (format_value(value, metric), format_quoted(value, metric)) == (plain, quoted)


def test_differences_of_shares_are_points() -> None:
    assert [format_signed(metric, value) for metric, value in (("typed", 36.04), ("clair", -0.3604))] == [
        "+36.0",
        "-36.0",
    ]
    assert format_points(-0.3604, "clair") == "36.0 points"
    assert format_points(0.42, "vdeval") == "0.420 on a scale of 1–3"
    assert format_range(0.1, 0.25, "clair", signed=True) == "[+10.0, +25.0]"
    assert format_range(0.1, None, "clair") == ""
    assert (metric_heading("typed"), metric_heading("took_s")) == ("Typed answers (%)", "Answer (s)")


def info(source: str) -> ModelInfo:
    return ModelInfo(model=source, source=source, sha256="", rows=1, items=1)


def row(signature: str) -> SummaryRow:
    return SummaryRow(model="m", metric="clair", value=0.5, n=1, signature=signature)


def test_a_baseline_compares_with_models_though_it_has_no_prompt() -> None:
    model = (info("qwen"), row("b|data:1|mode:dialogue|prompt:p|shown:2|judge:j"))
    blind = (info("baseline:blind"), row("b|data:1|mode:dialogue|shown:3|baseline:blind|judge:j"))
    assert differing_parts([model, blind], frozenset()) == []
    other = (info("baseline:blind"), row("b|data:1|mode:dialogue|shown:3|baseline:blind|judge:k"))
    assert differing_parts([model, other], frozenset()) == ["judge"]
    mini = (info("mini"), row("b|data:1|mode:dialogue|shown:2|weights:w|memory:all|choices:not told|judge:j"))
    assert differing_parts([mini, blind], frozenset()) == []


def test_two_models_with_other_prompts_do_not_compare() -> None:
    rows = [(info(name), row(f"b|data:1|prompt:{name}")) for name in ("one", "two")]
    assert differing_parts(rows, frozenset()) == ["prompt"]


def test_the_floor_stands_beside_all_others() -> None:
    model, floor = (info("qwen"), row("b|data:1|mode:dialogue")), (info("baseline:empty"), row("b|data:2"))
    assert differing_parts([model, floor], frozenset()) == []
    assert floor_of(floor[0]) == "says nothing"
    assert floor_of(model[0]) is None


@pytest.mark.parametrize(
    ("name", "title", "weights"),
    [
        ("reeltalk-mini#17ab5c73", "reeltalk-mini", "17ab5c73"),
        ("reeltalk-mini#17ab5c73 · second", "reeltalk-mini · second", "17ab5c73"),
        ("qwen2.5-vl:7b", "qwen2.5-vl:7b", ""),
        ("team#deadbeef/model", "team#deadbeef/model", ""),
        ("model #1", "model #1", ""),
    ],
)
def test_the_hash_of_weights_is_apart_from_the_name_of_a_model(name: str, title: str, weights: str) -> None:
    assert split_model_name(name) == (title, weights)
