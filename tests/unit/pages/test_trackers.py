"""How trackers are told. The trackers themselves are met in `tests/integration/test_trackers.py`."""

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from reeltalk.analysis.trackers import TrackedModel, TrackerLog, begin_live_run, check_tracker, send_runs
from reeltalk.errors import MissingExtraError, SettingError, TrackerError

MODEL = TrackedModel(
    id="0123456789abcdef",
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

    def Api(self) -> Any:
        def listed(project: str) -> list[Any]:
            if not self.runs:
                raise ValueError(f"Project '{project}' does not exist")
            return [types.SimpleNamespace(name=name, delete=lambda n=name: self.runs.pop(n)) for name in self.runs]

        return types.SimpleNamespace(runs=listed)

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


def test_trackio_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trackio = Trackio()
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    assert send_runs([MODEL], TrackerLog("trackio")) == ["told"]
    assert send_runs([MODEL], TrackerLog("trackio")) == ["known"]
    assert list(trackio.runs) == ["kitchen 01234567"]
    logged = trackio.runs["kitchen 01234567"]
    assert logged[:3] == [(MODEL.numbers, 0), *((numbers, turn) for turn, numbers in MODEL.curves)]
    assert trackio.finished == 1
    # Nothing is measured of the machine.
    assert (trackio.options["auto_log_cpu"], trackio.options["auto_log_gpu"]) == (False, False)


def test_a_telling_that_breaks_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    trackio = Trackio(breaks=True)
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    with pytest.raises(TrackerError, match=r"trackio could not be told: ConnectionError: the server is gone"):
        send_runs([MODEL], TrackerLog("trackio"))
    assert trackio.runs == {}


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
