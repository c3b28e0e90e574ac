"""What trackers are told of a run: every number with its counts, and no number that is withheld."""

from collections.abc import Callable

import pytest

from reeltalk.analysis.trackers import tracked_models
from reeltalk.errors import SettingError
from reeltalk.schema.runs import SummaryRow
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]


def row(
    value: float | None, *, metric: str = "match", over_scored: float | None = None, unscored: int = 0
) -> SummaryRow:
    return SummaryRow(
        model="alpha",
        metric=metric,
        value=value,
        n=97,
        low=None if value is None else value - 1,
        high=None if value is None else value + 1,
        signature=f"kitchen.dialogue|data:d1|history:golden|metric:{metric}|v:1",
        unscored=unscored,
        over_scored=over_scored,
    )


def test_a_number_comes_with_interval_and_counts(make_run: RunMaker) -> None:
    told = tracked_models(make_run(models=("alpha",), values=(0.5,), summary=[row(50.0)]))[0]
    assert told.numbers == {
        "match": 50.0,
        "match/low": 49.0,
        "match/high": 51.0,
        "match/n": 97.0,
        "match/unscored": 0.0,
    }
    assert told.signatures == {"match": "kitchen.dialogue|data:d1|history:golden|metric:match|v:1"}
    assert told.withheld == {}


def test_a_withheld_number_is_not_told_but_counted(make_run: RunMaker) -> None:
    told = tracked_models(
        make_run(models=("alpha",), values=(0.5,), summary=[row(None, over_scored=50.0, unscored=3)])
    )[0]
    assert told.numbers == {"match/n": 97.0, "match/unscored": 3.0}
    assert told.withheld == {"match": "withheld: 3 of 100 are unscored, more than 2 %"}
    assert 50.0 not in told.numbers.values()


def test_settings_are_what_all_signatures_share(make_run: RunMaker) -> None:
    run = make_run(models=("alpha",), values=(0.5,), summary=[row(50.0), row(0.4, metric="rouge_l")])
    settings = tracked_models(run)[0].settings
    assert {key: settings[key] for key in ("data", "history", "v", "model", "kind")} == {
        "data": "d1", "history": "golden", "v": "1", "model": "alpha", "kind": "score",
    }  # fmt: skip
    assert "metric" not in settings


def test_curves_begin_at_turn_one(make_run: RunMaker) -> None:
    told = tracked_models(make_run(models=("alpha",), values=(0.5,)))[0]
    assert [turn for turn, _ in told.curves] == list(range(1, len(told.curves) + 1))
    assert all(key.startswith("turn/") for _, numbers in told.curves for key in numbers)


def test_every_model_is_a_run_of_its_own_and_named_so(make_run: RunMaker) -> None:
    run = make_run("kitchen")
    assert [told.name for told in tracked_models(run)] == ["kitchen alpha", "kitchen beta"]
    assert [told.name for told in tracked_models(run, models=["beta"])] == ["kitchen"]
    with pytest.raises(SettingError, match="it has alpha, beta"):
        tracked_models(run, models=["gamma"])
