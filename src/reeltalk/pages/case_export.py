"""One dialogue of runs as a case-study figure: chosen, its frames decoded, drawn."""

import difflib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reeltalk.analysis.columns import share_of, title_of
from reeltalk.analysis.dialogues import ShownDialogue, ShownTurn, collect, scored_metrics
from reeltalk.analysis.leaderboard import Leaderboard, build
from reeltalk.analysis.turns import credit_metric
from reeltalk.analysis.unit_context import context_of
from reeltalk.analysis.verdicts import verdicts_of
from reeltalk.errors import SettingError
from reeltalk.pages.case import MOST_FRAMES, MOST_TURNS, CaseFrame, CaseModel, CaseTurn, draw_case
from reeltalk.pages.site_media import SiteMedia
from reeltalk.parallel import Executor
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run
from reeltalk.video.sampling import evenly


def export_case(
    runs: Sequence[Run],
    dialogue: str,
    *,
    benchmark: Benchmark | None = None,
    turns: Sequence[int] = (),
    models: Sequence[str] = (),
    frames: int = 4,
    executor: Executor | None = None,
) -> str:
    """Draw a dialogue of some runs.

    Args:
        runs: Read whole.
        dialogue: The chain, path or dialogue.
        benchmark: Where its video is; no frames without.
        turns: Which, from 1; the first ones where none are named.
        models: Which; all but the floors where none are named.
        frames: Most frames of those that the models saw at these turns.
        executor: Decodes; processes of this machine by default.

    Returns:
        The drawing of `draw_case`.

    Raises:
        SettingError: There is no such dialogue, turn or model.
        BenchmarkError: The runs hold no scores, or one contradicts itself.
        InputError: A file is damaged.
    """
    board = build(runs)
    dialogues = collect(board, {id(run): verdicts_of(run) for run in runs})
    found = _chosen(dialogues, dialogue)
    chosen, left_out = _turns(found, turns)
    metric = credit_metric(scored_metrics(board, dialogues))
    shown = chosen_models(board, models)
    pictures = _frames(benchmark, found, chosen, shown, frames, executor) if benchmark is not None and frames else []
    return draw_case(
        f"Dialogue {found.unit_id}, video {found.video_id}",
        [CaseTurn(turn, credits_of(turn, metric)) for turn in chosen],
        shown,
        measure=title_of(metric) if metric is not None else "",
        frames=pictures,
        left_out=left_out,
    )


def credits_of(turn: ShownTurn, metric: str | None) -> tuple[float | None, ...]:
    """How right each model's answer to a turn is, from 0 to 1.

    Args:
        turn: The turn.
        metric: What says it; nothing does where it is None.
    """
    values = [answer.scores.get(metric) if metric is not None else None for answer in turn.answers]
    return tuple(None if value is None or metric is None else share_of(metric, value) for value in values)


def chosen_models(board: Leaderboard, names: Sequence[str]) -> list[CaseModel]:
    """The models of a figure, in the leaderboard's order.

    Args:
        board: All of them.
        names: Which; all but the floors where none are named.

    Raises:
        SettingError: There is no such model.
    """
    known = [model.name for model in board.models]
    for name in names:
        if name not in known:
            raise SettingError(f"the runs have no model {name!r}; they have {', '.join(map(repr, known))}")
    return [
        CaseModel(index, model.name)
        for index, model in enumerate(board.models)
        if (model.name in names if names else model.floor is None)
    ]


def _chosen(dialogues: Sequence[ShownDialogue], name: str) -> ShownDialogue:
    found = [dialogue for dialogue in dialogues if dialogue.unit_id == name]
    if len(found) > 1:
        videos = ", ".join(repr(dialogue.video_id) for dialogue in found)
        raise SettingError(f"dialogue {name!r} is about several videos ({videos}), so its name does not tell which one")
    if not found:
        near = difflib.get_close_matches(name, [dialogue.unit_id for dialogue in dialogues], n=3, cutoff=0.5)
        hint = f"; there is {', '.join(map(repr, near))}" if near else "; dialogues.html of a report lists them"
        raise SettingError(f"the runs have no dialogue {name!r}{hint}")
    return found[0]


def _turns(dialogue: ShownDialogue, numbers: Sequence[int]) -> tuple[list[ShownTurn], int]:
    if not numbers:
        return dialogue.turns[:MOST_TURNS], max(len(dialogue.turns) - MOST_TURNS, 0)
    known = {turn.number for turn in dialogue.turns}
    for number in numbers:
        if number not in known:
            raise SettingError(
                f"dialogue {dialogue.unit_id!r} has no turn {number}; its turns go from {min(known)} to {max(known)}"
            )
    chosen = [turn for turn in dialogue.turns if turn.number in numbers]
    return chosen, len(dialogue.turns) - len(chosen)


def _frames(
    benchmark: Benchmark,
    dialogue: ShownDialogue,
    turns: Sequence[ShownTurn],
    models: Sequence[CaseModel],
    count: int,
    executor: Executor | None,
) -> list[CaseFrame]:
    """Frames that the models saw at these turns, or of the evidence where they saw none."""
    context = context_of(benchmark)
    seen = {time_s for turn in turns for model in models for time_s in turn.answers[model.index].frames_s}
    if not seen:
        seen = {
            (interval.start_s + interval.end_s) / 2
            for turn in turns
            for interval in context.evidence(turn.unit, dialogue.unit_id, turn.index)
        }
    times = evenly(sorted(seen), min(count, MOST_FRAMES))
    folder = Path(tempfile.mkdtemp(prefix="reeltalk-case-"))
    try:
        media = SiteMedia(folder, benchmark.media, context.videos, executor)
        if not times or media.here(dialogue.video_id) is None:
            return []
        files = media.frames({dialogue.video_id: times})
        return [
            CaseFrame(time_s, (folder / files[dialogue.video_id, time_s]).read_bytes())
            for time_s in times
            if (dialogue.video_id, time_s) in files
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
