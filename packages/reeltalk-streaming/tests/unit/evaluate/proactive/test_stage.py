"""A play that fails costs itself alone, and is never the ground on which a threshold is picked."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reeltalk.errors import ModelError, SettingError
from reeltalk.evaluation.playing.frames import FrameServer
from reeltalk.evaluation.settings import ProactiveSettings
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import VideoId
from reeltalk.schema.stream import Moment, ProactiveTask, UserRequest
from reeltalk.store.event_log import EventLog, read_event_log
from reeltalk_build.video.write import write_video
from reeltalk_streaming.inference.stream import StreamAnswer
from reeltalk_streaming.proactive.scores import score_sessions
from reeltalk_streaming.proactive.stage import play_tasks
from reeltalk_streaming.proactive.tuning import TUNED, Tuning, tune
from reeltalk_streaming.proactive.watchers import Always, StreamWatcher, check_rule

SETTINGS = ProactiveSettings(fps=1, longest_side_px=32)
MOMENT = Moment(interval=Interval(start_s=1, end_s=2), references=("It is white.",))
SIGNED = (("fps", "1"),)


def task(video: str, *moments: Moment) -> ProactiveTask:
    said = UserRequest(text="Tell me.", moments=moments)
    return ProactiveTask(id=f"of-{video}", video_id=VideoId(video), requests=(said,), until_s=2)


class Untold:
    """A model that does not tell how ready it is."""

    name = "untold"
    memory_bytes = 0

    def stream(self) -> "Untold":
        return self

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        return None

    def instruct(self, instruction: str) -> None:
        pass

    def speak(self) -> StreamAnswer:
        raise AssertionError("it is never ready")

    def ask(self, question: str) -> StreamAnswer:
        raise AssertionError("nobody asks")

    def add_exchange(self, question: str, answer: str) -> None:
        raise AssertionError("nobody tells")


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """A video that can be shown, and a file that is none."""
    write_video(tmp_path / "sound.mp4", [np.full((32, 32, 3), 255, np.uint8)] * 4, fps=2)
    (tmp_path / "damaged.mp4").write_bytes(b"\0" * 4096)
    return tmp_path


def served(films: Path) -> FrameServer:
    return FrameServer(lambda video: films / f"{video}.mp4", SETTINGS.frames, films / "frames", processes=1)


def test_a_video_that_cannot_be_shown_leaves_the_other_plays_to_be_scored(films: Path) -> None:
    tasks = [task("damaged", MOMENT), task("sound", MOMENT)]
    shown: list[int] = []
    with EventLog(films / "events.jsonl") as log:
        done = play_tasks(
            tasks, Always(1), served(films), log, signed=SIGNED, progress=lambda number, total: shown.append(number)
        )
    assert (done.played, done.failed) == (1, 1)
    assert shown == [1, 2]
    scores = score_sessions(read_event_log(films / "events.jsonl"), tasks)
    assert list(scores.unscored["always:1"]) == ["of-damaged"]
    assert all("|fps:1|films:" in row.signature for row in scores.summary)


def test_no_threshold_is_picked_where_plays_fail_or_nothing_is_due(films: Path) -> None:
    def tuned(*tasks: ProactiveTask) -> None:
        tune(
            Tuning("hash", "dev", tasks),
            lambda threshold, frames: StreamWatcher(Untold(), threshold=threshold, refractory_s=2.0),
            lambda: served(films),
            SETTINGS,
            films,
            thresholds=(0.2, 0.8),
        )

    with pytest.raises(ModelError, match=r"1 of 1 plays failed at threshold 0\.2, the first as .*not trained to tell"):
        tuned(task("sound", MOMENT))
    with pytest.raises(SettingError, match="nothing is due"):
        tuned(task("sound"))
    assert not (films / TUNED).exists()


def test_a_rule_that_does_not_apply_is_refused() -> None:
    streaming = StreamWatcher(Untold(), threshold=0.5, refractory_s=2)
    check_rule(streaming, threshold=True, refractory=True, tuned_for=None)
    check_rule(streaming, threshold=False, refractory=False, tuned_for="untold")
    check_rule(Always(5), threshold=False, refractory=False, tuned_for=None)
    with pytest.raises(SettingError, match="picked for other, and this is untold"):
        check_rule(streaming, threshold=False, refractory=False, tuned_for="other")
    for threshold, refractory, tuned_for in ((True, False, None), (False, True, None), (False, False, "untold")):
        with pytest.raises(SettingError, match="always:5 does not tell how ready it is"):
            check_rule(Always(5), threshold=threshold, refractory=refractory, tuned_for=tuned_for)
