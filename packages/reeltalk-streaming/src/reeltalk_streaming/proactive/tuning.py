"""Tune the readiness threshold from which a model speaks, on videos outside the test split."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.errors import ModelError, SettingError
from reeltalk.evaluation.playing.frames import FrameServer
from reeltalk.evaluation.settings import ProactiveSettings
from reeltalk.metrics.proactive import HEADLINE
from reeltalk.progress import CountProgress
from reeltalk.schema.stream import ProactiveTask
from reeltalk.store.atomic import write_bytes
from reeltalk.store.documents import parse, read_json, write_json
from reeltalk.store.event_log import EventLog, read_event_log
from reeltalk_streaming.proactive.scores import score_sessions
from reeltalk_streaming.proactive.stage import play_tasks
from reeltalk_streaming.proactive.stream_replies import correctness_of
from reeltalk_streaming.proactive.watchers import Signature, Watcher

MEASURE: Final = HEADLINE
"""The measure that the chosen threshold maximises. It penalises both missed moments and spam."""
THRESHOLDS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TUNED: Final = "tuned.json"


class PickedThreshold(BaseModel):
    """`tuned.json`: the threshold that was chosen, and its basis."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    benchmark: str
    """Hash of the benchmark's content."""
    split: str
    tasks: int
    measure: str
    values: dict[str, float | None]
    """The measure at each threshold."""
    settings: ProactiveSettings
    """With the chosen threshold."""


@dataclass(frozen=True)
class Tuning:
    """The tasks on which a threshold is chosen."""

    benchmark: str
    split: str
    tasks: Sequence[ProactiveTask]


def tune(
    tuning: Tuning,
    watching: Callable[[float, FrameServer], Watcher],
    served: Callable[[], FrameServer],
    settings: ProactiveSettings,
    out: Path,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    signed: Signature = (),
    progress: CountProgress | None = None,
) -> PickedThreshold:
    """Play the tasks at each threshold and keep the best.

    A reply changes later replies, so the tasks are played again for each threshold. If you stop the call, call it again
    to continue.

    Args:
        tuning: The tasks.
        watching: Gives the model at a threshold, with the frames that it is shown.
        served: Opens the frames of the videos for each threshold.
        settings: The other settings of the rule.
        out: Folder of the logs and of `tuned.json`.
        thresholds: The thresholds to try.
        signed: Other settings that the logs hold.
        progress: Called with the number of tasks done and of all tasks, over all thresholds.

    Raises:
        BenchmarkError: As `play_tasks`.
        ModelError: Some tasks failed. The others do not show which threshold is best.
        SettingError: No task has a moment at which a reply is due.
    """
    if not any(task.moments for task in tuning.tasks):
        raise SettingError("nothing is due in any of these tasks, so no threshold is best; tune on other --kinds too")
    values: dict[str, float | None] = {}
    name = ""
    total = len(tuning.tasks) * len(thresholds)
    for place, threshold in enumerate(thresholds):
        path = out / f"threshold-{threshold:g}.jsonl"
        frames = served()
        watcher = watching(threshold, frames)
        name = watcher.name

        def told(done: int, _: int, before: int = place * len(tuning.tasks)) -> None:
            if progress is not None:
                progress(before + done, total)

        with EventLog(path) as log:
            done = play_tasks(tuning.tasks, watcher, frames, log, signed=signed, progress=told)
        scores = score_sessions(read_event_log(path), tuning.tasks, correctness_of(tuning.tasks))
        if done.failed:
            why = next(iter(scores.unscored[name].values()))
            raise ModelError(
                f"{done.failed:,} of {len(tuning.tasks):,} plays failed at threshold {threshold:g}, "
                f"the first as {why}; correct the cause and run the same command again"
            )
        [row] = [row for row in scores.summary if row.metric == MEASURE]
        values[f"{threshold:g}"] = row.value
    # Of equal thresholds the highest one: with it the model speaks least.
    best = max(sorted(thresholds), key=lambda threshold: (values[f"{threshold:g}"] or 0.0, threshold))
    picked = PickedThreshold(
        model=name,
        benchmark=tuning.benchmark,
        split=tuning.split,
        tasks=len(tuning.tasks),
        measure=MEASURE,
        values=values,
        settings=settings.model_copy(update={"threshold": best}),
    )
    write_bytes(out / TUNED, write_json(picked.model_dump(mode="json")).encode())
    return picked


def read_tuned(path: Path) -> PickedThreshold:
    """Read what `tune` wrote.

    Args:
        path: The file, or the folder that holds it.

    Raises:
        InputError: It is not such a file.
    """
    file = path / TUNED if path.is_dir() else path
    return parse(PickedThreshold, read_json(file), file=file)
