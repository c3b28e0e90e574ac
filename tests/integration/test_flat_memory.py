"""Commands read rows when they need them: what they keep of one more video is small."""

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from traced_memory import traced_peak

from reeltalk.metrics.counting import count_benchmark
from reeltalk.metrics.turn_checks import benchmark_quality
from reeltalk.pages.construction import FOLDER, write_construction
from reeltalk.pages.site import make_environment
from reeltalk.review import describing, importing
from reeltalk.review.database import ReviewProject
from reeltalk.review.importing import import_benchmark
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.rewriting import Rewrite
from reeltalk.stages.layouts import export_layout
from reeltalk.store import keyed, manifest, stored_rows
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

WARM = 1
SIZES = (50, 100)
FEWER = (25, 50)
"""For what takes hardly more of a video, in a quick run."""
MOST_KIB = 24.0
"""Of one more video, with the noise of so few. Its rows as records take some 200 KiB."""
WORDS = " ".join(("the person carries the cup from the sink to the shelf and puts it beside the plate",) * 3)


def told(videos: int) -> Content:
    """Videos with four chains, six dialogues, 30 turns and 60 results of checks each."""
    found = Content()
    for number in range(videos):
        name = f"video-{number:05d}"
        found.videos.append(Video(id=name, duration_s=60.0, category="kitchen", split="train"))
        for place in range(4):
            clip = f"{name}-clip-{place}"
            span = Interval(start_s=10.0 * place, end_s=10.0 * place + 9)
            found.clips.append(Clip(id=clip, video_id=name, interval=span))
            found.scenes.append(Scene(id=f"{clip}-scene", video_id=name, clip_ids=(clip,), kind="single"))
            turns = tuple(
                Turn(question=f"{number} {place} {turn}: {WORDS}?", references=(f"{turn} {WORDS}.",))
                for turn in range(3)
            )
            found.chains.append(QAChain(id=f"{name}-chain-{place}", video_id=name, clip_id=clip, turns=turns))
        for place in range(6):
            dialogue = Dialogue(id=f"{name}-dialogue-{place}", video_id=name, turns=turns, task="memory")
            found.dialogues.append(dialogue)
        chains = [chain.id for chain in found.chains[-4:]]
        for before, after in pairwise(chains):
            source, target = (TurnRef(unit_id=before, turn_index=2), TurnRef(unit_id=after, turn_index=0))
            linkage = Linkage(source=source, target=target, relation="Events")
            found.linkages.append(linkage)
            found.rewrites.append(
                Rewrite(
                    id=f"draft-{before}",
                    linkage=linkage,
                    method="free",
                    skill="free",
                    draft=turns[0],
                    coherent=True,
                    writer="w",
                )
            )
        steps = tuple(PathStep(ref=TurnRef(unit_id=chain, turn_index=turn)) for chain in chains for turn in range(3))
        found.paths.append(DialoguePath(id=f"{name}-path", video_id=name, steps=steps))
        units: list[QAChain | Dialogue] = [*found.chains[-4:], *found.dialogues[-6:]]
        for unit in units:
            kind = "chain" if isinstance(unit, QAChain) else "dialogue"
            for turn in range(3):
                for gate in ("grounded", "leak"):
                    found.gates.append(
                        GateResult(
                            unit=kind,
                            unit_id=unit.id,
                            turn_index=turn,
                            gate=gate,
                            outcome=GateOutcome.PASSED,
                            reason=WORDS,
                        )
                    )
    return found


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """A benchmark of each size, in a folder of its own."""
    made = {}
    for size in sorted({WARM, *FEWER, *SIZES}):
        made[size] = tmp_path_factory.mktemp(f"of{size}") / "bench"
        Benchmark.create(made[size]).write_content(told(size), stage="test")
    return made


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers and caches of a fixed size would still fill at these sizes."""
    for module, name, most in (
        (stored_rows, "BLOCK_BYTES", 1 << 12),
        (stored_rows, "INDEXED_BYTES", 1 << 12),
        (manifest, "HASH_BLOCK_BYTES", 1 << 12),
        (keyed, "KEPT_ROWS", 4),
        (describing, "BATCH", 20),
        (importing, "BATCH", 20),
    ):
        monkeypatch.setattr(module, name, most)


def grown_kib(run: Callable[[Path], object], folders: dict[int, Path], sizes: tuple[int, int] = SIZES) -> float:
    """How much more memory a command needs at most, for one more video. The first run fills caches."""
    run(folders[WARM])
    peaks = [traced_peak(lambda size=size: run(folders[size])) for size in sizes]  # type: ignore[misc]
    return (peaks[1] - peaks[0]) / 1024 / (sizes[1] - sizes[0])


def load(folder: Path) -> None:
    project = ReviewProject.open(folder)
    import_benchmark(project, Benchmark.open(folder), serving=lambda _: {}, queues=("turns", "links"))
    project.database.close()


def test_review_keeps_little_of_each_video(folders: dict[int, Path]) -> None:
    assert grown_kib(load, folders) < MOST_KIB


def export(folder: Path) -> None:
    for layout, name in (("hub", "hub"), ("qa", "questions.jsonl")):
        export_layout(Benchmark.open(folder), layout, folder.parent / name)


def count(folder: Path) -> None:
    count_benchmark(Benchmark.open(folder))
    benchmark_quality(Benchmark.open(folder))


def pages(folder: Path) -> None:
    out = folder.parent / "site"
    out.mkdir(exist_ok=True)
    shutil.rmtree(out / FOLDER, ignore_errors=True)
    write_construction(Benchmark.open(folder), out, make_environment())


@pytest.mark.parametrize("run", [export, count, pages])
def test_exports_and_pages_keep_little_of_each_video(
    run: Callable[[Path], None], folders: dict[int, Path], full: bool
) -> None:
    assert grown_kib(run, folders, SIZES if full or run is export else FEWER) < MOST_KIB
