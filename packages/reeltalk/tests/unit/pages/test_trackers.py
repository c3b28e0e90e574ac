"""What trackers are sent. The trackers themselves are met in `packages/reeltalk/tests/integration/test_trackers.py`."""

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from reeltalk.analysis.trackers import TrackerRun, import_tracker, publish_run
from reeltalk.errors import MissingExtraError, SettingError, TrackerError
from reeltalk.schema.runs import SummaryRow
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]


class Trackio(types.ModuleType):
    """As much of trackio as is called, with what it knows."""

    def __init__(self, *, breaks: bool = False) -> None:
        super().__init__("trackio")
        self.runs: dict[str, dict[int, dict[str, float]]] = {}
        self.breaks, self.finished = breaks, 0
        self.options: dict[str, Any] = {}

    def init(self, name: str, **options: Any) -> Any:
        self.options = options
        self.runs[name] = {}

        def log(metrics: dict[str, float], step: int) -> None:
            if self.breaks:
                raise ConnectionError("the server is gone")
            self.runs[name][step] = metrics

        return types.SimpleNamespace(log=log)

    def finish(self) -> None:
        self.finished += 1


@pytest.fixture
def trackio(monkeypatch: pytest.MonkeyPatch) -> Trackio:
    found = Trackio()
    monkeypatch.setitem(sys.modules, "trackio", found)
    return found


def row(value: float | None, over_scored: float | None = None, unscored: int = 0) -> SummaryRow:
    low, high = (None, None) if value is None else (value - 1, value + 1)
    return SummaryRow(
        model="alpha", metric="match", value=value, n=97, low=low, high=high, signature="kitchen|v:1",
        unscored=unscored, over_scored=over_scored,
    )  # fmt: skip


@pytest.mark.parametrize("tracker", ["trackio", "wandb", "mlflow"])
def test_a_tracker_that_is_not_installed_names_its_extra(tracker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, tracker, None)
    with pytest.raises(MissingExtraError, match=rf"reeltalk\[{tracker}\]"):
        import_tracker(tracker)


def test_a_number_comes_with_interval_counts_and_signature(make_run: RunMaker, trackio: Trackio) -> None:
    publish_run(make_run("kitchen", models=("alpha",), values=(0.5,), summary=[row(50.0)]), "trackio")
    assert trackio.runs["kitchen"][0] == {
        "match": 50.0, "match/low": 49.0, "match/high": 51.0, "match/n": 97.0, "match/unscored": 0.0,
    }  # fmt: skip
    assert trackio.options["config"]["signature/match"] == "kitchen|v:1"
    assert trackio.finished == 1
    # Nothing is measured of the machine.
    assert (trackio.options["auto_log_cpu"], trackio.options["auto_log_gpu"]) == (False, False)


def test_a_withheld_number_is_not_sent_but_counted(make_run: RunMaker, trackio: Trackio) -> None:
    publish_run(
        make_run("kitchen", models=("alpha",), values=(0.5,), summary=[row(None, over_scored=50.0, unscored=3)]),
        "trackio",
    )
    assert trackio.runs["kitchen"][0] == {"match/n": 97.0, "match/unscored": 3.0}


def test_curves_begin_at_step_one(make_run: RunMaker, trackio: Trackio) -> None:
    run = make_run("kitchen", models=("alpha",), values=(0.5,))
    publish_run(run, "trackio")
    turns = {point.turn_index + 1 for point in run.curves}
    assert set(trackio.runs["kitchen"]) - {0} == turns
    assert all(key.startswith("turn/") for turn in turns for key in trackio.runs["kitchen"][turn])


def test_every_model_is_a_run_of_its_own_and_named_so(make_run: RunMaker, trackio: Trackio) -> None:
    run = make_run("kitchen")
    assert list(publish_run(run, "trackio")) == ["kitchen alpha", "kitchen beta"]
    assert list(publish_run(run, "trackio", models=("beta",))) == ["kitchen"]
    with pytest.raises(SettingError, match="it has alpha, beta"):
        publish_run(run, "trackio", models=("gamma",))


def test_a_tracker_that_fails_is_an_error_and_its_run_is_ended(make_run: RunMaker, trackio: Trackio) -> None:
    trackio.breaks = True
    with pytest.raises(TrackerError, match=r"trackio may hold a part of the run.*the server is gone"):
        publish_run(make_run(), "trackio")
    assert trackio.finished == 1


@pytest.mark.parametrize(
    ("where", "option"), [("me/space", {"space_id": "me/space"}), ("http://h:1", {"server_url": "http://h:1"})]
)
def test_a_space_is_told_from_a_server(where: str, option: dict[str, str], trackio: Trackio) -> None:
    TrackerRun("trackio", "tuned", {"rank": 16}, project="kitchen", where=where)
    assert option.items() <= trackio.options.items()
