"""Published numbers beside one's own: which own number stands in which column, and why the two may not compare."""

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.published.compare_published import (
    ComparedTable,
    OwnNumber,
    _name_parts,
    compare_published,
    difference_reasons,
)
from reeltalk.analysis.published.records import PublishedBenchmark, read_published
from reeltalk.cli import run as run_command
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.stage import write_report
from reeltalk.schema.runs import GroupRow, SummaryRow
from reeltalk.store.runs import Run, read_run

RunMaker = Callable[..., Run]
SIGNATURE = (
    "svbench.dialogue|data:ab12cd34|mode:{mode}|history:golden|policy:uniform|frames:{frames}|judge:{judge}"
    "|metric:{metric}|v:1"
)


def row(metric: str, value: float | None = 50.0, *, mode: str = "dialogue", frames: int = 8, judge: str = "GPT-4",
        model: str = "alpha", more: str = "", over_scored: float | None = None) -> SummaryRow:  # fmt: skip
    signature = SIGNATURE.format(mode=mode, frames=frames, judge=judge, metric=metric) + more
    low, high = (None, None) if value is None else (value - 1, value + 1)
    return SummaryRow(
        model=model, metric=metric, value=value, n=40, low=low, high=high, signature=signature, over_scored=over_scored
    )


def kind(metric: str, group: str, value: float, *, by: str = "kind") -> GroupRow:
    return GroupRow(model="alpha", metric=metric, by=by, group=group, value=value, n=7, low=value - 2, high=value + 2)


@pytest.fixture
def laid(make_run: RunMaker) -> Callable[..., dict[str, ComparedTable]]:
    """The tables of a benchmark in which a run has a number, by their ids."""
    count = itertools.count()

    def made(
        name: str, rows: Sequence[SummaryRow], groups: Sequence[GroupRow] = (), **more: object
    ) -> dict[str, ComparedTable]:
        models = list(dict.fromkeys(each.model for each in rows))
        run = make_run(f"run{next(count)}", models=models, values=[0.5] * len(models), summary=rows)
        text = "".join(f"{each.to_json()}\n" for each in groups)
        (run.path / "scores" / "groups.jsonl").write_text(text, encoding="utf-8")
        found = compare_published(build_leaderboard([read_run(run.path)]), read_published(name), **more)  # type: ignore[arg-type]
        return {each.table.id: each for each in found.tables}

    return made


Laid = Callable[..., dict[str, ComparedTable]]


def values(table: ComparedTable, place: int = 0) -> dict[tuple[str, str | None], float]:
    """Own values by label and mode of their column."""
    pairs = zip(table.table.columns, table.own[place].cells, strict=True)
    return {(column.label, column.mode): cell.value for column, cell in pairs if cell and cell.value is not None}


def told(table: ComparedTable) -> dict[str, str]:
    return {reason.kind: reason.text for reason in (*table.common, *table.numbered)}


def test_dialogue_and_streaming_take_chains_and_paths(laid: Laid) -> None:
    groups = [kind("svbench.OS", "chain", 61.0), kind("svbench.OS", "path", 52.0), kind("svbench.OS", "dialogue", 9.0)]
    tables = laid("svbench", [row("svbench.OS", 57.0)], groups)
    assert set(tables) == {"table-2", "table-6", "leaderboard"}
    assert values(tables["table-2"]) == {("OS", "dialogue"): 61.0, ("OS", "streaming"): 52.0}


def test_streaming_has_numbers_of_its_own(laid: Laid) -> None:
    rows = [row("svbench.OS", 61.0), row("svbench.streaming.OS", 52.0)]
    tables = laid("svbench", rows, [kind("svbench.OS", "chain", 61.0), kind("svbench.streaming.OS", "path", 52.0)])
    assert values(tables["table-2"]) == {("OS", "dialogue"): 61.0, ("OS", "streaming"): 52.0}


def test_a_run_that_played_no_paths_has_nothing_in_streaming(laid: Laid) -> None:
    tables = laid("svbench", [row("svbench.OS", 57.0)], [kind("svbench.OS", "chain", 61.0)])
    assert values(tables["table-2"]) == {("OS", "dialogue"): 61.0}


def test_without_groups_the_run_s_mode_decides(laid: Laid) -> None:
    tables = laid("svbench", [row("svbench.OS", 57.0, mode="streaming")])
    assert values(tables["table-2"]) == {("OS", "streaming"): 57.0}


def test_text_metrics_are_brought_to_the_published_scale(laid: Laid) -> None:
    tables = laid("svbench", [row("meteor", 0.25), row("cider", 0.6)])
    assert values(tables["table-5"]) == {("METEOR", "dialogue"): 25.0, ("CIDEr", "dialogue"): 60.0}
    assert values(tables["table-4"]) == {("METEOR, multi", "dialogue"): 25.0}
    cell = next(cell for cell in tables["table-5"].own[0].cells if cell is not None)
    assert (cell.low, cell.high) == (-75.0, 125.0)


def test_questions_asked_alone_stand_under_single(laid: Laid) -> None:
    tables = laid("svbench", [row("meteor", 0.25, mode="single")])
    assert set(tables) == {"table-4"}
    assert values(tables["table-4"]) == {("METEOR, single", "single"): 25.0}


def test_skills_are_groups_of_the_score_of_single_questions(laid: Laid) -> None:
    tables = laid("svbench", [row("gpt-score")], [kind("gpt-score", "CR", 33.0, by="skill")])
    assert values(tables["table-3"]) == {("CR", None): 33.0}


def test_tasks_and_numbers_of_turns_are_mapped(laid: Laid) -> None:
    rows = [row("mtv", 60.0, frames=128), row("mtv.summary", 80.0, frames=128)]
    tables = laid("mt-video-bench", rows, [kind("mtv", "6", 58.0, by="turns")])
    assert values(tables["v2-table-2"]) == {("Overall", None): 60.0, ("CS", None): 80.0}
    assert values(tables["v2-turns"]) == {("6", None): 58.0}
    assert values(tables["v2-frames"]) == {("128 frames", None): 60.0}


def test_what_the_official_script_makes_of_it_is_a_row_of_its_own(laid: Laid) -> None:
    rows = [row("svbench.OS", 50.0), row("svbench.OS.compat", 47.0), row("svbench.streaming.OS.compat", 41.0)]
    groups = [kind("svbench.OS", "chain", 50.0), kind("svbench.OS.compat", "chain", 47.0)]
    table = laid("svbench", rows, groups)["table-2"]
    assert [own.official for own in table.own] == [False, True]
    assert values(table, 1) == {("OS", "dialogue"): 47.0, ("OS", "streaming"): 41.0}
    assert "only the rows 'official script'" in told(table)["scoring"]
    assert values(laid_mtv(laid), 1) == {("Overall", None): 55.0, ("CS", None): 70.0}


def laid_mtv(laid: Laid) -> ComparedTable:
    rows = [row("mtv", 60.0), row("mtv.compat", 55.0), row("mtv.compat.summary", 70.0)]
    return laid("mt-video-bench", rows)["v2-table-2"]


def test_a_number_that_is_withheld_is_not_shown(laid: Laid) -> None:
    table = laid("mt-video-bench", [row("mtv", None, over_scored=61.0)])["v2-table-2"]
    cell = table.own[0].cells[0]
    assert cell is not None
    assert (cell.value, cell.withheld) == (None, True)
    assert cell.reason is not None
    assert cell.reason.startswith("withheld: more than 2 %")


def test_a_group_that_is_withheld_says_how_much_is_missing(laid: Laid) -> None:
    gap = GroupRow(model="alpha", metric="svbench.OS", by="kind", group="path", n=30, unscored=10, over_scored=50.0)
    table = laid("svbench", [row("svbench.OS", 60.0)], [kind("svbench.OS", "chain", 70.0), gap])["table-2"]
    cells = {(c.label, c.mode): cell for c, cell in zip(table.table.columns, table.own[0].cells, strict=True)}
    found = cells["OS", "streaming"]
    assert found is not None
    assert (found.withheld, found.unscored) == (True, 10)
    assert found.reason == "withheld: 10 of 40 are unscored, more than 2 %"
    quoted = cells["OS", "dialogue"]
    assert quoted is not None
    assert (quoted.withheld, quoted.reason) == (False, None)


def test_a_model_without_a_value_has_no_row(laid: Laid) -> None:
    assert laid("cogme", [row("cogme", None)]) == {}


def test_a_model_whose_judging_failed_throughout_has_a_row_that_says_so(laid: Laid) -> None:
    failed = row("mtv", None).model_copy(update={"n": 0, "unscored": 12, "reasons": {"no reply": 12}})
    cell = laid("mt-video-bench", [failed])["v2-table-2"].own[0].cells[0]
    assert cell is not None
    assert (cell.value, cell.withheld, cell.reason) == (None, False, "none of 12 has a score (no reply: 12)")


def test_equal_settings_leave_what_nobody_can_check(laid: Laid) -> None:
    rows = [row("mtv", 60.0, frames=128, judge="google/gemini-2.5-flash", more="|version:v2")]
    table = laid("mt-video-bench", rows, imported=frozenset({"mt-video-bench"}))["v2-table-2"]
    assert set(told(table)) == {"data", "prompt", "scoring"}
    assert told(table)["data"] == "no hash of what was asked is published; here ab12cd34"


def test_what_differs_is_told_with_both_values(laid: Laid) -> None:
    rows = [row("mtv", 60.0, frames=16, judge="gpt-4o", more="|version:v1")]
    why = told(laid("mt-video-bench", rows, imported=frozenset({"folder"}))["v2-table-2"])
    assert why["judge"] == "Gemini-2.5-Flash published; gpt-4o here"
    assert why["version"] == "v2 published; v1 here"
    assert why["frames"] == "128 published; 16 here"
    assert why["data"] == "MT-Video-Bench; here svbench (ab12cd34), which was not imported from its release"
    assert "history" not in why


def test_every_difference_of_prompts_pictures_and_models_is_told(laid: Laid) -> None:
    played = "|size:longest-720|prompt:answer-svbench.v2#1a2b3c4d|sampling:temperature=0|served:owl-2"
    ours = told(laid("mt-video-bench", [row("mtv", 60.0, more=f"{played}|prompt:checklist.v1#5e6f7a8b")])["v2-table-2"])
    assert ours["answering prompt"].endswith("in our own words: answer-svbench.v2#1a2b3c4d")
    assert ours["prompt"].endswith("in our own words: checklist.v1#5e6f7a8b")
    assert ours["pictures"].endswith("here uniform, longest-720 px")
    assert ours["models"].endswith("here owl-2, temperature=0")
    official = "|prompt:mt-video-bench-published.v1#1a2b|sampling:none|mode:published|prompt:checklist-published.v1#5e"
    theirs = told(laid("mt-video-bench", [row("mtv", 60.0, more=official)])["v2-table-2"])
    assert not {"answering prompt", "prompt"} & set(theirs)


def test_both_versions_are_told_apart(laid: Laid) -> None:
    tables = laid("mt-video-bench", [row("mtv", 60.0, frames=32, more="|version:v1")])
    assert "version" not in told(tables["v1-table-2"])
    assert told(tables["v2-table-2"])["version"] == "v2 published; v1 here"


def test_models_that_differ_are_named_by_their_letters(laid: Laid) -> None:
    rows = [row("mtv", 60.0, frames=16), row("mtv", 50.0, frames=32, model="beta")]
    assert told(laid("mt-video-bench", rows)["v2-table-2"])["frames"] == "128 published; 16 (A), 32 (B) here"


def test_frames_that_rows_differ_in_are_reasons_of_those_rows(laid: Laid) -> None:
    table = laid("svbench", [row("svbench.OS", 50.0, frames=8)])["leaderboard"]
    by_model = {theirs.row.model: {table.numbered[n - 1].kind for n in theirs.reasons} for theirs in table.theirs}
    assert "frames" not in by_model["VILA"]
    assert "frames" in by_model["MiniCPM-V 2.6"]
    assert [r.text for r in table.numbered if r.text.startswith("1fps")] == ["1fps published; 8 here"]


def test_a_judge_s_name_is_compared_without_provider_and_case(laid: Laid) -> None:
    table = laid("svbench", [row("svbench.OS", 50.0, judge="openai/gpt-4")])["table-2"]
    assert "judge" not in told(table)
    assert told(laid("svbench", [row("svbench.OS", 50.0, judge="gpt-4o")])["table-2"])["judge"] == (
        "GPT-4 published; gpt-4o here"
    )


def test_figures_and_third_parties_say_so(laid: Laid) -> None:
    tables = laid("mt-video-bench", [row("mtv", 60.0, frames=128)])
    assert told(tables["v2-frames"])["source"] == "read off a figure by eye, about ±1"
    assert "source" not in told(tables["v2-table-2"])


def test_another_history_is_a_reason_of_the_row_that_has_it(laid: Laid) -> None:
    table = laid("mt-video-bench", [row("mtv.summary", 60.0, frames=128)])["v2-context"]
    kinds = [{table.numbered[n - 1].kind for n in theirs.reasons} for theirs in table.theirs]
    assert kinds == [set(), {"history"}, {"history"}]


def test_another_number_of_questions_and_way_to_be_right_is_told(laid: Laid) -> None:
    signature = "|correctness:agree"
    why = told(
        laid("cogme", [row("cogme", 60.0, more=signature), row("cogme.unweighted.Means", 30.0, more=signature)])[
            "accuracy"
        ]
    )
    assert why["questions"] == "4,385 published; 40 here"
    assert why["correctness"] == "choice published; agree here"
    assert "judge" not in why


def test_a_run_of_a_part_says_so(laid: Laid) -> None:
    number = OwnNumber("A", "mtv", {}, "x", 10, limit=5)
    table = read_published("mt-video-bench").table("v2-table-2")
    found = difference_reasons(read_published("mt-video-bench"), table, table.rows[0], [number])
    assert next(reason.text for reason in found if reason.kind == "part") == "only the first 5 were played here"


def test_a_signature_of_another_program_gives_reasons_all_the_same() -> None:
    assert _name_parts("whatever it is|no") == ("", {})
    number = OwnNumber("A", "svbench.OS", {}, "", 10)
    bench: PublishedBenchmark = read_published("svbench")
    table = bench.table("table-2")
    why = {reason.kind: reason.text for reason in difference_reasons(bench, table, table.rows[0], [number])}
    assert why["judge"] == "GPT-4 published; not stated here"


def test_the_page_marks_published_rows_and_calls_none_the_best(make_run: RunMaker, tmp_path: Path) -> None:
    rows = [row("svbench.OS", 99.0), row("svbench.OS", 50.0, model="<b>beta</b>")]
    run = make_run("run", models=["alpha", "<b>beta</b>"], summary=rows)
    (tmp_path / "site").mkdir()
    settings = ReportSettings(published=("svbench", "vdact"))
    write_report([run], tmp_path / "site", settings=settings)
    html = (tmp_path / "site" / "published.html").read_text(encoding="utf-8")
    assert "best" not in re.sub(r"(called the best|best open source)", "", html)
    body = html[html.index('id="svbench-table-2"') : html.index('id="svbench-table-6"')]
    assert body.count('class="theirs"') == 14
    assert body.count('class="ours"') == 2
    assert "<b>beta</b>" not in html
    assert "98.0–100.0" in body
    assert "No published result of it uses a measure of reeltalk." in html
    assert "published.html" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_the_page_marks_what_is_withheld_with_how_much_is_missing(make_run: RunMaker, tmp_path: Path) -> None:
    gap = row("mtv", None, over_scored=61.0).model_copy(update={"unscored": 10, "reasons": {"<no> reply": 10}})
    official = row("mtv.compat", 64.0).model_copy(update={"unscored": 10})
    run = make_run("run", models=["alpha"], values=[0.5], summary=[gap, official])
    (tmp_path / "site").mkdir()
    write_report([run], tmp_path / "site", settings=ReportSettings(published=("mt-video-bench",)))
    html = (tmp_path / "site" / "published.html").read_text(encoding="utf-8")
    assert "Some numbers are withheld" in html
    body = html[html.index('id="mt-video-bench-v2-table-2"') :]
    own = body[body.index('class="ours"') : body.index('class="theirs"')]
    assert ">withheld</a>" in own
    assert "61.0" not in own
    assert 'title="withheld: 10 of 50 are unscored, more than 2 % (&lt;no&gt; reply: 10)"' in own
    assert "10 of 50 unscored" in own
    assert re.search(r"64\.00.*n = 40, <span class=\"gap\">10 unscored", own), "the official script leaves gaps out"


def test_the_page_has_no_note_where_nothing_is_withheld(make_run: RunMaker, tmp_path: Path) -> None:
    run = make_run("run", models=["alpha"], values=[0.5], summary=[row("mtv", 60.0)])
    (tmp_path / "site").mkdir()
    write_report([run], tmp_path / "site", settings=ReportSettings(published=("mt-video-bench",)))
    assert "withheld" not in (tmp_path / "site" / "published.html").read_text(encoding="utf-8")


def test_no_page_is_written_where_nothing_published_is_asked_for(make_run: RunMaker, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    write_report([make_run("run")], tmp_path / "site")
    assert not (tmp_path / "site" / "published.html").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--published", "nope"], "there are: svbench"), (["--published", "svbench", "--format", "csv"], "--format html")],
)
def test_the_command_refuses_what_cannot_be_laid_beside(
    make_run: RunMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    make_run("run")
    assert run_command(["report", str(tmp_path / "run"), *options, "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
