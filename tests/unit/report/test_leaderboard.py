"""Which numbers stand where, which is best, and which compare."""

from collections.abc import Callable

import pytest

from reeltalk.errors import BenchmarkError
from reeltalk.report.leaderboard import Cell, Leaderboard, build, key_of, shown
from reeltalk.schema.runs import SummaryRow
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]


def cells(board: Leaderboard, metric: str = "rouge_l") -> list[Cell]:
    return [cell for model in board.models if (cell := model.cells[metric])]


def test_the_best_is_marked_and_what_overlaps_it_is_not_called_worse(make_run: RunMaker) -> None:
    found = cells(build([make_run(models=("a", "b", "c"), values=(0.5, 0.35, 0.2))]))
    assert [(cell.is_best, cell.may_equal_best) for cell in found] == [(True, False), (False, True), (False, False)]


def test_without_an_interval_nothing_is_called_worse(make_run: RunMaker) -> None:
    found = cells(build([make_run(values=(0.5, 0.1), intervals=(True, False))]))
    assert [cell.may_equal_best for cell in found] == [False, True]
    found = cells(build([make_run("other", values=(0.5, 0.1), intervals=(False, True))]))
    assert [cell.may_equal_best for cell in found] == [False, True]


def test_two_equal_highest_values_are_both_best(make_run: RunMaker) -> None:
    assert [cell.is_best for cell in cells(build([make_run(values=(0.5, 0.5))]))] == [True, True]


def test_all_negative_values_have_a_best(make_run: RunMaker) -> None:
    assert [cell.is_best for cell in cells(build([make_run(values=(-0.5, -0.2))]))] == [False, True]


def test_an_unscored_metric_has_a_reason_and_is_neither_best_nor_zero(make_run: RunMaker) -> None:
    board = build([make_run(models=("a", "b", "c"), values=(None, 0.0, -1.0))])
    found = cells(board)
    assert (found[0].row.value, found[0].is_best, found[0].may_equal_best) == (None, False, False)
    assert found[0].reason == "the moon was in the wrong phase"
    assert found[1].is_best
    assert [(line.metric, line.models) for line in board.unscored] == [("rouge_l", ["a"])]


def test_a_single_value_is_best_of_nothing(make_run: RunMaker) -> None:
    assert not any(cell.is_best for cell in cells(build([make_run(values=(None, 0.4))])))


def test_numbers_with_other_data_do_not_compare_and_none_is_best(make_run: RunMaker) -> None:
    board = build([make_run("first"), make_run("second", data="d2")])
    assert board.mixed == {"rouge_l": ["data"]}
    assert not any(cell.is_best or cell.may_equal_best for cell in cells(board))
    assert build([make_run("third")]).mixed == {}


def test_how_many_rows_a_source_repeats_does_not_stop_a_comparison(make_run: RunMaker) -> None:
    one, two = "s|data:a|metric:rouge_l", "s|data:a|metric:rouge_l|duplicates:first-of-19"
    board = build([make_run(signatures=(one, two))])
    assert board.mixed == {}
    assert [line.number for line in board.signatures.values()] == [1, 2]


def test_signatures_of_another_program_are_compared_as_a_whole(make_run: RunMaker) -> None:
    assert build([make_run(signatures=("no|parts", "other|ones"))]).mixed == {"rouge_l": ["signature"]}
    assert build([make_run("same", signatures=("no|parts", "no|parts"))]).mixed == {}


def test_a_model_of_two_runs_is_told_by_its_run(make_run: RunMaker) -> None:
    first, second = make_run("first"), make_run("second", models=("beta", "gamma"))
    names = [model.name for model in build([first, second]).models]
    assert names == ["alpha", "beta · first", "beta · second", "gamma"]


def test_names_stay_distinct_when_a_run_is_given_twice_or_named_to_confuse(make_run: RunMaker) -> None:
    run = make_run("first", models=("alpha",), values=(0.5,))
    other = make_run("other", models=("alpha · first",), values=(0.5,))
    names = [model.name for model in build([run, run, other]).models]
    assert names == ["alpha · first", "alpha · first (2)", "alpha · first (3)"]


def test_runs_without_a_common_metric_stand_side_by_side(make_run: RunMaker) -> None:
    first = make_run("first", models=("a",), values=(0.5,))
    board = build([first, make_run("second", models=("b",), values=(0.5,), metric="cider")])
    assert board.shares_no_metric
    assert board.metrics == ["rouge_l", "cider"]
    assert board.models[0].cells["cider"] is None
    assert not build([first]).shares_no_metric


def test_a_run_without_scores_is_refused(make_run: RunMaker) -> None:
    with pytest.raises(BenchmarkError, match="hold no scores"):
        build([make_run(models=(), values=())])
    with pytest.raises(BenchmarkError, match="hold no scores"):
        build([])


def row(model: str) -> SummaryRow:
    return SummaryRow(model=model, metric="rouge_l", value=0.1, n=1, signature="s")


def test_a_summary_that_names_an_unknown_model_is_refused(make_run: RunMaker) -> None:
    with pytest.raises(BenchmarkError, match=r"summary\.json has a number of model 'gamma', which run\.json"):
        build([make_run(summary=[row("gamma")])])


def test_a_summary_with_two_numbers_for_one_cell_is_refused(make_run: RunMaker) -> None:
    with pytest.raises(BenchmarkError, match="two numbers of 'rouge_l' for model 'alpha'"):
        build([make_run(summary=[row("alpha"), row("alpha")])])


def test_values_are_shown_with_sensible_digits() -> None:
    assert [shown(value) for value in (0.12345, 1.2226, 9.99994, 73.456, -0.5)] == [
        "0.1235", "1.2226", "9.9999", "73.46", "-0.5000",
    ]  # fmt: skip


def test_letters_go_on_after_z() -> None:
    assert [key_of(index) for index in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]
