"""How trackers are told. The trackers themselves are met in `packages/reeltalk/tests/integration/test_trackers.py`."""

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from reeltalk.analysis.trackers import TrackedModel, TrackerLog, begin_live_run, check_tracker, send_runs
from reeltalk.errors import MissingExtraError, SettingError, TrackerError

MODEL = TrackedModel(
    name="kitchen",
    numbers={"match": 50.0, "match/n": 10.0},
    curves=((1, {"turn/match": 40.0}), (2, {"turn/match": 60.0})),
    groups=(("match", "task", "recall", None, None, None, 0, 3),),
    settings={"model": "alpha"},
    signatures={"match": "kitchen|v:1"},
    withheld={},
)


@pytest.mark.parametrize("tracker", ["trackio", "wandb", "mlflow"])
def test_a_tracker_that_is_not_installed_names_its_extra(tracker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, tracker, None)
    monkeypatch.setitem(sys.modules, f"{tracker}.entities", None)
    with pytest.raises(MissingExtraError, match=rf"reeltalk\[{tracker}\]"):
        send_runs([MODEL], TrackerLog(tracker))
    with pytest.raises(MissingExtraError, match=rf"reeltalk\[{tracker}\]"):
        check_tracker(TrackerLog(tracker))


def test_settings_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="--online is for wandb"):
        send_runs([MODEL], TrackerLog("mlflow", online=True))
    with pytest.raises(SettingError, match="is not a folder"):
        send_runs([MODEL], TrackerLog("mlflow", report=tmp_path / "none"))


class Trackio(types.ModuleType):
    """As much of trackio as is told, with what it knows."""

    def __init__(self, *, breaks: bool = False) -> None:
        super().__init__("trackio")
        self.runs: dict[str, list[tuple[dict[str, Any], int]]] = {}
        self.breaks, self.finished = breaks, 0
        self.options: dict[str, Any] = {}

    def init(self, name: str, **options: Any) -> Any:
        self.options = options
        self.runs[name] = []

        def log(metrics: dict[str, Any], step: int) -> None:
            if self.breaks and step == 2:
                raise ConnectionError("the server is gone")
            self.runs[name].append((metrics, step))

        return types.SimpleNamespace(log=log)

    def finish(self) -> None:
        self.finished += 1

    @staticmethod
    def Table(columns: list[str], data: list[list[Any]]) -> Any:
        return data


def test_trackio_gets_numbers_curves_and_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    trackio = Trackio()
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    send_runs([MODEL], TrackerLog("trackio"))
    groups = [["match", "task", "recall", "", "", "", 0, 3]]
    assert trackio.runs == {
        "kitchen": [(MODEL.numbers, 0), *((numbers, turn) for turn, numbers in MODEL.curves), ({"groups": groups}, 0)]
    }
    assert trackio.options["config"] == {"model": "alpha", "signature/match": "kitchen|v:1"}
    assert trackio.finished == 1
    # Nothing is measured of the machine.
    assert (trackio.options["auto_log_cpu"], trackio.options["auto_log_gpu"]) == (False, False)


def test_a_tracker_that_fails_is_an_error_and_its_run_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    trackio = Trackio(breaks=True)
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    with pytest.raises(TrackerError, match=r"trackio could not be told, and may hold a part .*: the server is gone"):
        send_runs([MODEL], TrackerLog("trackio"))
    assert trackio.finished == 1


def test_a_tracker_that_fails_in_a_training_is_told_once_and_gets_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    trackio = Trackio(breaks=True)
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    told: list[str] = []
    live = begin_live_run(TrackerLog("trackio"), "tuned", {"rank": 16}, tell=told.append)
    for step in (1, 2, 3):
        live.add(step, {"train/loss": 1.0})
    live.finish(failed=False)
    assert trackio.runs == {"tuned": [({"train/loss": 1.0}, 1)]}
    assert told == ["warning: trackio gets no more numbers: ConnectionError: the server is gone; the work goes on"]


@pytest.mark.parametrize(
    ("where", "option"), [("me/space", {"space_id": "me/space"}), ("http://h:1", {"server_url": "http://h:1"})]
)
def test_a_space_is_told_from_a_server(where: str, option: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    trackio = Trackio()
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    send_runs([MODEL], TrackerLog("trackio", where=where))
    assert option.items() <= trackio.options.items()
