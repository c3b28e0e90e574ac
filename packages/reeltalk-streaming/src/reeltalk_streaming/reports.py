"""Reports on runs of `reeltalk proactive`, which `reeltalk report` finds in the entry points `reeltalk.reports`."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.pages.site import make_environment, write_static
from reeltalk.schema.stream import ProactiveTask
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.documents import read_json
from reeltalk.store.event_log import EVENT_LOG, SessionLog, read_event_log
from reeltalk.store.runs import REQUEST
from reeltalk.store.tables import PROACTIVE
from reeltalk_streaming.pages.streams import write_streams
from reeltalk_streaming.proactive.floors import FLOORS, floor_sessions
from reeltalk_streaming.proactive.stage import choose_tasks
from reeltalk_streaming.proactive.stream_replies import JudgedReplies, read_judged

TEMPLATES: Final = "reeltalk_streaming.pages"
"""Package that holds the templates."""
_CHOICE: Final = ("benchmark", "split", "kinds", "limit")
"""What a run of `reeltalk proactive` says about which tasks it played."""


def write_session_report(paths: Sequence[Path], benchmark: Benchmark | None, folder: Path, judged: Path | None) -> None:
    """Write the report on runs of `reeltalk proactive`."""
    if benchmark is None:
        raise SettingError("a report on runs of 'reeltalk proactive' needs --bench, the benchmark with their tasks")
    asked: list[dict[str, Any]] = []
    for path in paths:
        request = read_json(path / REQUEST)
        asked.append({name: request.get(name) for name in _CHOICE})
        if asked[-1] != asked[0]:
            differs = next(name for name in _CHOICE if asked[-1][name] != asked[0][name])
            raise BenchmarkError(f"{paths[0]} and {path} played different tasks ({differs}); report them one by one")
    chosen = asked[0]
    if chosen["benchmark"] != benchmark.manifest.content_hash:
        raise BenchmarkError(f"{paths[0]} was played on another benchmark than {benchmark.path}, or on older tasks")
    tasks = choose_tasks(benchmark, split=chosen["split"], kinds=chosen["kinds"] or (), limit=chosen["limit"])
    known = {task.id: task for task in benchmark.read(PROACTIVE)}
    sessions = [session for path in paths for session in read_event_log(path / EVENT_LOG, known)]
    played = {session.model for session in sessions}
    sessions += [session for session in floor_sessions(tasks) if session.model not in played]
    said = read_judged(judged) if judged is not None else None
    write_streams_report(tasks, sessions, benchmark.manifest.name, folder, floors=FLOORS, judged=said)


def write_streams_report(
    tasks: Sequence[ProactiveTask],
    sessions: Sequence[SessionLog],
    name: str,
    folder: Path,
    *,
    floors: Collection[str] = (),
    judged: JudgedReplies | None = None,
) -> Path:
    """Write the page about streams as a site: models that may speak unasked, measure by measure and stream by stream.

    The same sessions give the same bytes.

    Args:
        tasks: The tasks that should have been played.
        sessions: The sessions of all models.
        name: Name of the benchmark.
        folder: An existing, empty folder.
        floors: Models that are floors.
        judged: What a language model said about the replies, if one judged them.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: One model played a task twice, or with different settings.
    """
    write_static(folder)
    return write_streams(tasks, sessions, name, folder, make_environment(TEMPLATES), floors=floors, judged=judged)
