"""Which numbers stand where, which is best, and which compare."""

import dataclasses
from collections.abc import Callable
from dataclasses import replace

import pytest

from reeltalk.analysis.leaderboard import Cell, Leaderboard, build_leaderboard, model_letter
from reeltalk.analysis.values import format_value
from reeltalk.errors import BenchmarkError
from reeltalk.schema.runs import SummaryRow
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]


def cells(board: Leaderboard, metric: str = "clair") -> list[Cell]:
    return [cell for model in board.models if (cell := model.cells[metric])]


def test_the_best_is_marked_and_what_overlaps_it_is_not_called_worse(make_run: RunMaker) -> None:
    found = cells(build_leaderboard([make_run(models=("a", "b", "c"), values=(0.5, 0.35, 0.2), metric="clair")]))
    assert [(cell.is_best, cell.may_equal_best) for cell in found] == [(True, False), (False, True), (False, False)]


def test_overlap_of_words_has_no_best(make_run: RunMaker) -> None:
    found = cells(build_leaderboard([make_run(models=("a", "b"), values=(0.5, 0.1))]), "rouge_l")
    assert [(cell.is_best, cell.may_equal_best) for cell in found] == [(False, False), (False, False)]


def test_without_an_interval_nothing_is_called_worse(make_run: RunMaker) -> None:
    found = cells(build_leaderboard([make_run(values=(0.5, 0.1), intervals=(True, False), metric="clair")]))
    assert [cell.may_equal_best for cell in found] == [False, True]
    found = cells(build_leaderboard([make_run("other", values=(0.5, 0.1), intervals=(False, True), metric="clair")]))
    assert [cell.may_equal_best for cell in found] == [False, True]


def test_two_equal_highest_values_are_both_best(make_run: RunMaker) -> None:
    found = cells(build_leaderboard([make_run(values=(0.5, 0.5), metric="clair")]))
    assert [cell.is_best for cell in found] == [True, True]


def test_all_negative_values_have_a_best(make_run: RunMaker) -> None:
    found = cells(build_leaderboard([make_run(values=(-0.5, -0.2), metric="clair")]))
    assert [cell.is_best for cell in found] == [False, True]


def test_an_unscored_metric_has_a_reason_and_is_neither_best_nor_zero(make_run: RunMaker) -> None:
    board = build_leaderboard([make_run(models=("a", "b", "c"), values=(None, 0.0, -1.0), metric="clair")])
    found = cells(board)
    assert (found[0].row.value, found[0].is_best, found[0].may_equal_best) == (None, False, False)
    assert found[0].reason == "the moon was in the wrong phase"
    assert found[1].is_best
    assert [(line.metric, line.models) for line in board.unscored] == [("clair", ["a"])]


def test_a_single_value_is_best_of_nothing(make_run: RunMaker) -> None:
    assert not any(cell.is_best for cell in cells(build_leaderboard([make_run(values=(None, 0.4), metric="clair")])))


def test_numbers_with_other_data_do_not_compare_and_none_is_best(make_run: RunMaker) -> None:
    board = build_leaderboard([make_run("first", metric="clair"), make_run("second", data="d2", metric="clair")])
    assert board.mixed == {"clair": ["data"]}
    assert not any(cell.is_best or cell.may_equal_best for cell in cells(board))
    assert build_leaderboard([make_run("third", metric="clair")]).mixed == {}


def test_how_many_rows_a_source_repeats_does_not_stop_a_comparison(make_run: RunMaker) -> None:
    one, two = "s|data:a|metric:rouge_l", "s|data:a|metric:rouge_l|duplicates:first-of-19"
    board = build_leaderboard([make_run(signatures=(one, two))])
    assert board.mixed == {}
    assert [line.number for line in board.signatures.values()] == [1, 2]


def test_signatures_of_another_program_are_compared_as_a_whole(make_run: RunMaker) -> None:
    assert build_leaderboard([make_run(signatures=("no|parts", "other|ones"))]).mixed == {"rouge_l": ["signature"]}
    assert build_leaderboard([make_run("same", signatures=("no|parts", "no|parts"))]).mixed == {}


def test_a_model_of_two_runs_is_told_by_its_run(make_run: RunMaker) -> None:
    first, second = make_run("first"), make_run("second", models=("beta", "gamma"))
    names = [model.name for model in build_leaderboard([first, second]).models]
    assert names == ["alpha", "beta · first", "beta · second", "gamma"]


def test_names_stay_distinct_when_a_run_is_given_twice_or_named_to_confuse(make_run: RunMaker) -> None:
    run = make_run("first", models=("alpha",), values=(0.5,))
    other = make_run("other", models=("alpha · first",), values=(0.5,))
    names = [model.name for model in build_leaderboard([run, run, other]).models]
    assert names == ["alpha · first", "alpha · first (2)", "alpha · first (3)"]


def test_runs_without_a_common_metric_stand_side_by_side(make_run: RunMaker) -> None:
    first = make_run("first", models=("a",), values=(0.5,))
    board = build_leaderboard([first, make_run("second", models=("b",), values=(0.5,), metric="cider")])
    assert board.shares_no_metric
    assert board.metrics == ["rouge_l", "cider"]
    assert board.models[0].cells["cider"] is None
    assert not build_leaderboard([first]).shares_no_metric


def test_a_run_without_scores_is_refused(make_run: RunMaker) -> None:
    with pytest.raises(BenchmarkError, match="have no scores"):
        build_leaderboard([make_run(models=(), values=())])
    with pytest.raises(BenchmarkError, match="have no scores"):
        build_leaderboard([])


def row(model: str) -> SummaryRow:
    return SummaryRow(model=model, metric="rouge_l", value=0.1, n=1, signature="s")


def test_a_summary_that_names_an_unknown_model_is_refused(make_run: RunMaker) -> None:
    with pytest.raises(BenchmarkError, match=r"summary\.json has a number of model 'gamma', which run\.json"):
        build_leaderboard([make_run(summary=[row("gamma")])])


def test_a_summary_with_two_numbers_for_one_cell_is_refused(make_run: RunMaker) -> None:
    with pytest.raises(BenchmarkError, match="two numbers of 'rouge_l' for model 'alpha'"):
        build_leaderboard([make_run(summary=[row("alpha"), row("alpha")])])


def test_values_are_shown_with_sensible_digits() -> None:
    assert [format_value(value) for value in (0.12345, 1.2226, 9.99994, 73.456, -0.5)] == [
        "0.1235", "1.2226", "9.9999", "73.46", "-0.5000",
    ]  # fmt: skip


def test_letters_go_on_after_z() -> None:
    assert [model_letter(index) for index in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]


def test_a_number_that_is_withheld_says_how_much_is_missing(make_run: RunMaker) -> None:
    kept = SummaryRow(model="alpha", metric="clair", n=6, unscored=4, over_scored=0.9, signature="s")
    (found,) = cells(build_leaderboard([make_run(summary=[kept])]), "clair")
    assert (found.withheld, found.reason) == (True, "withheld: 4 of 10 are unscored, more than 2 %")
    assert not found.is_best


def test_nothing_scored_and_nothing_to_score_are_told_apart(make_run: RunMaker) -> None:
    none = SummaryRow(model="alpha", metric="clair", n=0, unscored=7, signature="s")
    spared = SummaryRow(model="beta", metric="clair", n=0, not_applicable=7, signature="s")
    found = cells(build_leaderboard([make_run(summary=[none, spared])]), "clair")
    assert [cell.reason for cell in found] == ["none of 7 has a score", "it applies to none of 7"]
    assert not any(cell.withheld for cell in found)


@pytest.mark.parametrize("metric", ["took_s", "clair.compat", "mtv.floor", "mtv.rounds_sd"])
def test_what_is_no_score_has_no_best(make_run: RunMaker, metric: str) -> None:
    assert not any(cell.is_best for cell in cells(build_leaderboard([make_run(metric=metric)]), metric))


def test_times_of_other_data_stand_beside_each_other_without_a_warning(make_run: RunMaker) -> None:
    board = build_leaderboard([make_run("one", metric="took_s"), make_run("two", metric="took_s", data="d2")])
    assert board.mixed == {}


def with_floor(run: Run) -> Run:
    """The same run, in which the last model is the one that says nothing."""
    *others, last = run.info.models
    last = last.model_copy(update={"source": "baseline:empty"})
    return replace(run, info=run.info.model_copy(update={"models": (*others, last)}))


def test_the_floor_is_never_the_best_and_is_told_of_its_run(make_run: RunMaker) -> None:
    first = with_floor(make_run("one", models=("a", "b", "empty"), values=(0.5, 0.3, 0.9), metric="clair"))
    second = with_floor(make_run("two", models=("c", "nothing"), values=(0.4, 0.2), metric="clair"))
    board = build_leaderboard([first, second])
    assert [cell.is_best for cell in cells(board, "clair")] == [True, False, False, False, False]
    assert [model.floor for model in board.models] == [None, None, None, "says nothing", "says nothing"]
    assert (board.floor("clair", first), board.floor("clair", second)) == (0.9, 0.2)


def test_equal_null_rows_of_several_runs_are_one(make_run: RunMaker) -> None:
    runs = [
        with_floor(make_run(name, models=(model, "empty"), values=(value, 0.1), metric="clair"))
        for name, model, value in (("one", "a", 0.5), ("two", "b", 0.4))
    ]
    assert [model.name for model in build_leaderboard(runs).models] == ["a", "b", "empty"]


def test_a_run_without_a_floor_takes_that_of_others(make_run: RunMaker) -> None:
    bare = make_run("one", models=("a",), values=(0.5,), metric="clair")
    other = with_floor(make_run("two", models=("b", "empty"), values=(0.4, 0.2), metric="clair"))
    assert build_leaderboard([bare, other]).floor("clair", bare) == 0.2
    assert build_leaderboard([bare]).floor("clair", bare) is None


@pytest.mark.parametrize(
    ("source", "kind"), [("human:answers.json", "is_human"), ("baseline:reference", "is_reference")]
)
def test_people_and_references_are_marked_and_never_the_best(make_run: RunMaker, source: str, kind: str) -> None:
    run = make_run(models=("a", "b", "measure"), values=(0.5, 0.3, 0.9), metric="clair")
    models = tuple(
        info.model_copy(update={"source": source}) if info.model == "measure" else info for info in run.info.models
    )
    board = build_leaderboard([dataclasses.replace(run, info=run.info.model_copy(update={"models": models}))])
    assert [getattr(model, kind) for model in board.models] == [False, False, True]
    assert [bool(cell and cell.is_best) for cell in (model.cells["clair"] for model in board.models)] == [
        True,
        False,
        False,
    ]
