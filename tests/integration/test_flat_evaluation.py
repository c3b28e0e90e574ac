"""The memory of an evaluation, of judging and of reports hardly grows with the benchmark: rows stay in files."""

from pathlib import Path

import pytest
from traced_memory import traced_peak

from reeltalk.analysis import dialogues as contexts
from reeltalk.analysis import score_matrix
from reeltalk.baselines import constant
from reeltalk.evaluate import eval_log
from reeltalk.evaluate.playing import baseline_players
from reeltalk.pages import dialogues as pages
from reeltalk.schema.dialogue import AnswerKey, Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.record import DialogueId, VideoId
from reeltalk.stages.evaluating import evaluate
from reeltalk.stages.judging import judge
from reeltalk.stages.reporting import compare, report
from reeltalk.store import keyed, manifest, sorting, stored_rows
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

FEW, MANY = 8, 24
FEWER, FEW_MORE = 4, 12
"""The same for playing and judging in a quick run."""
A_VIDEO_BYTES = 24 << 10
"""Most bytes that one more video of 20 turns may take. Its turns alone take five times as much as records."""
PLACES = ("kitchen", "bathroom", "bedroom", "hall")


def benchmark_of(folder: Path, videos: int) -> Benchmark:
    content = Content()
    for video in range(videos):
        name = VideoId(f"video-{video}")
        content.videos.append(Video(id=name, duration_s=60.0))
        for part in ("morning", "evening"):
            turns = tuple(
                Turn(
                    question=f"Where is person {turn} in the {part}?",
                    references=(f"In the {PLACES[(video + turn) % 4]}.",),
                    key=AnswerKey(type="room", values=(PLACES[(video + turn) % 4],)),
                    labels={"vdact.question_type": ("D-LOC",)},
                )
                for turn in range(10)
            )
            content.dialogues.append(Dialogue(id=DialogueId(f"{part}-{video}"), video_id=name, turns=turns))
    benchmark = Benchmark.create(folder)
    benchmark.write_content(content, stage="test")
    return benchmark


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Benchmark]:
    folder = tmp_path_factory.mktemp("flat")
    found = {videos: benchmark_of(folder / str(videos), videos) for videos in (FEWER, FEW, FEW_MORE, MANY)}
    # Whatever a first run imports and keeps is not counted.
    evaluate(found[FEWER], model="baseline:constant", out=folder / "first")
    judge(folder / "first", out=folder / "first-judged")
    return found


@pytest.fixture(scope="module")
def runs(benchmarks: dict[int, Benchmark], tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[Path]]:
    """Two runs of each benchmark."""
    folder = tmp_path_factory.mktemp("runs")
    made: dict[int, list[Path]] = {}
    for videos in (FEW, MANY):
        for model in ("constant", "blind"):
            made.setdefault(videos, []).append(folder / f"{model}-{videos}")
            evaluate(benchmarks[videos], model=f"baseline:{model}", out=made[videos][-1])
    return made


def test_compare_and_report_keep_no_turns_in_memory(
    benchmarks: dict[int, Benchmark], runs: dict[int, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Buffers and caches of a fixed size would still fill at these sizes.
    for module, name, most in (
        (stored_rows, "BLOCK_BYTES", 1 << 12),
        (stored_rows, "INDEXED_BYTES", 1 << 12),
        (manifest, "HASH_BLOCK_BYTES", 1 << 12),
        (keyed, "KEPT_ROWS", 4),
        (contexts, "KEPT", 2),
        (pages, "MOST_BYTES", 1 << 12),
        (pages, "MOST_CASES", 0),
        (pages, "ROWS", 4),
        (score_matrix, "ANSWERS_AT_A_TIME", 64),
    ):
        monkeypatch.setattr(module, name, most)
    compare(*runs[FEW])
    report(runs[FEW][0], out=tmp_path / "first", benchmark=benchmarks[FEW])
    compared = {videos: traced_peak(lambda videos=videos: compare(*runs[videos])) for videos in runs}  # type: ignore[misc]
    reported = {
        videos: traced_peak(
            lambda videos=videos: report(runs[videos][0], out=tmp_path / str(videos), benchmark=benchmarks[videos])  # type: ignore[misc]
        )
        for videos in runs
    }
    grown = [(peaks[MANY] - peaks[FEW]) / (MANY - FEW) for peaks in (compared, reported)]
    assert max(grown) < A_VIDEO_BYTES, grown


def test_evaluate_and_judge_keep_no_rows_in_memory(
    benchmarks: dict[int, Benchmark], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    for module, name, most in (
        (stored_rows, "BLOCK_BYTES", 1 << 12),
        (stored_rows, "INDEXED_BYTES", 1 << 12),
        (sorting, "PART_BYTES", 1 << 16),
        (manifest, "HASH_BLOCK_BYTES", 1 << 12),
        (keyed, "KEPT_ROWS", 4),
        (eval_log, "WAITING", 2),
        (baseline_players, "KEPT_UNITS", 4),
        (constant, "KEPT_VIDEOS", 4),
    ):
        monkeypatch.setattr(module, name, most)
    played: dict[int, int] = {}
    judged: dict[int, int] = {}
    few, many = (FEW, MANY) if full else (FEWER, FEW_MORE)
    for videos, benchmark in ((few, benchmarks[few]), (many, benchmarks[many])):
        run = tmp_path / f"run-{videos}"
        played[videos] = traced_peak(
            lambda benchmark=benchmark, run=run: evaluate(benchmark, model="baseline:constant", out=run)  # type: ignore[misc]
        )
        judged[videos] = traced_peak(lambda run=run: judge(run, out=run.with_name(f"{run.name}-judged")))  # type: ignore[misc]
    grown = [(peaks[many] - peaks[few]) / (many - few) for peaks in (played, judged)]
    assert max(grown) < A_VIDEO_BYTES, grown
