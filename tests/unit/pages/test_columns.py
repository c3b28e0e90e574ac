"""Which number stands in which table, and what is better."""

import pytest

from reeltalk.analysis.columns import (
    Kind,
    columns,
    differing_parts,
    direction_of,
    fixed_of,
    floor_of,
    metric_kind,
    metric_scale,
    metric_title,
    model_title,
)
from reeltalk.schema.runs import ModelInfo, SummaryRow

EMITTED = (
    "clair", "clair.compat", "mtv", "mtv.summary", "mtv.floor", "mtv.chance_adjusted", "mtv.rounds_sd", "mtv.compat",
    "mtv.compat.summary", "svbench.OS", "svbench.SA", "svbench.OS.compat", "vdeval", "vdeval.percentile",
    "agree.first_error", "took_s", "frames_seen", "rouge_l", "cogme.unweighted.Object",
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


def test_times_floors_spreads_and_official_figures_are_neither_better_nor_worse() -> None:
    assert {direction_of(m) for m in ("took_s", "mtv.floor", "mtv.rounds_sd", "clair.compat", "agree.first_error")} == {
        "neither"
    }
    assert {direction_of(m) for m in ("clair", "mtv.chance_adjusted", "rouge_l", "agree.recovery")} == {"higher"}


def test_what_stands_beside_a_headline_follows_it() -> None:
    first = [column.metric for column in columns(EMITTED, ("headline", "compat", "floor"))]
    assert first == [
        "clair", "clair.compat", "mtv", "mtv.floor", "mtv.compat", "svbench.OS", "svbench.OS.compat", "vdeval",
    ]  # fmt: skip
    assert [column.metric for column in columns(EMITTED, ("timing",))] == ["took_s", "frames_seen"]


def test_an_official_figure_names_the_one_it_stands_beside() -> None:
    assert fixed_of("mtv.compat.summary") == "mtv.summary"
    assert fixed_of("mtv.floor") == "mtv"


def test_titles_are_words() -> None:
    assert metric_title("clair.compat") == "CLAIR (official script)"
    assert metric_title("mtv.memory_recall") == "MT-Video-Bench, memory recall"
    assert metric_title("svbench.OS.compat") == "SVBench, overall (official script)"
    assert metric_title("of another program") == "of another program"
    assert len({metric_title(metric) for metric in EMITTED}) == len(EMITTED)


def test_scales_are_stated_where_they_are_known() -> None:
    assert [metric_scale(metric) for metric in ("vdeval", "vdeval.percentile", "vdeval.compat", "mtv", "clair")] == [
        "1–3", "0–1", "1–3", "0–100", "0–1",
    ]  # fmt: skip
    assert metric_scale("mtv.rounds_sd") == metric_scale("rouge_l") == metric_scale("unknown") == ""


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
    assert model_title(name) == (title, weights)
