"""The baselines compared on turns that need the video, with paired, video-clustered differences.

Films a household, writes question chains and dialogues about it, plays them to every baseline and to the graph, and
compares neighbours in the order blind, history, frames, oracle on turns that need the video: those that the checks of
construction could not answer without it.

Run `make bench-household`; a run that was stopped goes on.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from record import Measure, options_of, record
from reeltalk.metrics.uncertainty import mean_interval
from reeltalk.schema.gates import needs_video, turn_gates
from reeltalk.schema.scoring import ScoreState
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.runs import INFO, read_run
from reeltalk.store.tables import DIALOGUES

MODELS = {
    "empty": "baseline:empty", "constant": "baseline:constant", "blind": "baseline:blind",
    "ngrams": "baseline:ngrams", "history": "baseline:history", "frames": "baseline:frames", "oracle": "oracle",
}  # fmt: skip
ORDER = ("blind", "history", "frames", "oracle")
SHOWN = (
    *("--policy", "fps", "--frames", "300", "--longest-side", "320"),
    *("--protocols", "typed", "--metrics", "none"),
)
"""What a model is shown, and by what its answers are judged."""
Values = dict[str, tuple[str, float]]
"""Video and value of each turn."""


def reeltalk(*arguments: str) -> None:
    print("$ reeltalk", *arguments, flush=True)
    done = subprocess.run([sys.executable, "-m", "reeltalk", *arguments], check=False)
    # 1 means that something is left to look at, as turns without an answer.
    if done.returncode not in (0, 1):
        sys.exit(f"reeltalk {arguments[0]} ended with {done.returncode}")


def needing(content: Content) -> set[tuple[str, int]]:
    """Unit and index of the turns that need the video."""
    gates = turn_gates(content.gates)
    return {
        (unit.id, index)
        for units in (content.chains, content.dialogues)
        for unit in units
        for index, turn in enumerate(unit.turns)
        if needs_video(turn, gates.get((unit.id, index), ()))
    }


def values_of(run: Path, wanted: set[tuple[str, int]]) -> Values:
    """1 or 0 for each wanted turn; a turn without an answer is wrong here, for every baseline may be silent."""
    found: Values = {}
    for row in read_run(run).judged("typed"):
        assert row.turn_index is not None
        if (row.unit_id, row.turn_index) in wanted:
            value = row.value if row.state is ScoreState.SCORED and row.value is not None else 0.0
            found[f"{row.unit_id}/{row.turn_index}"] = (str(row.video_id), value)
    return found


def mean_with_interval(rows: Sequence[tuple[str, float]], least: float = 0.0) -> tuple[float, float, float]:
    found = mean_interval(np.array([value for _, value in rows]), [video for video, _ in rows], (least, 1.0))
    assert found.low is not None
    assert found.high is not None
    return found.value, found.low, found.high


def film(given: argparse.Namespace, part: str) -> Path:
    """A benchmark of one kind of units: chains as SVBench has them, or dialogues as VDAct has them."""
    bench = Path(given.folder / part)
    film = {"scenarios": given.scenarios, "houses": given.houses, "test-houses": given.test_houses, "dev-houses": 0}
    film |= {"first-house": given.first_house, "seed": given.seed, "width-px": 320, "fps": 5}
    options = [word for name, value in film.items() for word in (f"--{name}", str(value))]
    reeltalk("world", "film", *options, "--into", str(bench))
    steps = ("chains", "linkages", "gates") if part == "chains" else ("gates",)
    if part == "dialogues" and not Benchmark.open(bench).rows(DIALOGUES):
        reeltalk("graph", "questions", str(bench))
    reeltalk("construct", str(bench), *(word for step in steps for word in ("--steps", step)))
    return bench


def played(given: argparse.Namespace, part: str, bench: Path) -> dict[str, Values]:
    """What every model got right of the turns that need the video."""
    for name, model in MODELS.items():
        run = given.folder / f"{part}-{name}"
        if not (run / INFO).is_file():
            units = ("--units", part.removesuffix("s"))
            reeltalk("evaluate", str(bench), "--model", model, *SHOWN, *units, "--out", str(run))
        if not (run / INFO).is_file():
            sys.exit(f"there is no run at {run}")
    wanted = needing(Benchmark.open(bench).content())
    return {name: values_of(given.folder / f"{part}-{name}", wanted) for name in MODELS}


def show(title: str, found: dict[str, Values]) -> None:
    items = sorted(set.intersection(*(set(values) for values in found.values())))
    videos = {found["blind"][item][0] for item in items}
    print(f"\n{title}: {len(items):,} turns that need the video, of {len(videos):,} test videos")
    print(f"{'':<22}{'right':>8}   95 % interval by video")
    for name, values in found.items():
        mean, low, high = mean_with_interval([values[item] for item in items])
        print(f"{name:<22}{mean:>8.3f}   [{low:.3f}, {high:.3f}]")
    for before, after in pairwise(ORDER):
        rows = [(found[after][item][0], found[after][item][1] - found[before][item][1]) for item in items]
        mean, low, high = mean_with_interval(rows, -1.0)
        says = "excludes 0" if low > 0 or high < 0 else "does not exclude 0"
        print(f"{f'{after} - {before}':<22}{mean:>+8.3f}   [{low:+.3f}, {high:+.3f}] {says}")


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--scenarios", type=int, default=128)
    parser.add_argument("--houses", type=int, default=12)
    parser.add_argument("--test-houses", type=int, default=6)
    parser.add_argument("--first-house", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=Path("build/bench/household"))
    given = parser.parse_args()
    if given.quick:
        given.scenarios, given.houses, given.test_houses = 4, 2, 1
        given.folder = given.folder.with_name("household-quick")
        shutil.rmtree(given.folder, ignore_errors=True)
    parts = {part: played(given, part, film(given, part)) for part in ("chains", "dialogues")}
    for part, found in parts.items():
        show(part, found)
    both = {name: {k: v for found in parts.values() for k, v in found[name].items()} for name in MODELS}
    show("both", both)
    items = sorted(set.intersection(*(set(values) for values in both.values())))
    means = {name: float(np.mean([values[item][1] for item in items])) for name, values in both.items()}
    measures = [
        Measure(f"turns that need the video: right, {name}", means[name], "share", "blind",
                means[name] / means["blind"] if means["blind"] else None)
        for name in ORDER
    ]  # fmt: skip
    videos = len({both["blind"][item][0] for item in items})
    notes = [f"{len(items):,} turns of {videos:,} test videos"]
    if given.quick:
        notes.append("estimates of a few videos; intervals need `make bench-household`")
    record("household", measures, packages=["inspect-ai", "numpy"], notes=notes, quick=given.quick)


if __name__ == "__main__":
    main()
