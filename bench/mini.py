"""Trains reeltalk-mini on reeltalk-household with several seeds, and measures what its eyes are worth.

Run `make train-mini`; a stopped run continues, and `--until STAGE` stops after a stage. Each seed answers the dialogues
of the test split with the video's own frames, without frames, with shuffled frames and with black frames. Baselines
without eyes answer the same turns. Then each seed follows the streams of the test split, with a threshold that the dev
split chose. `--install` puts the best seed on the dev split into the package, with its card.
"""

import argparse
import json
import platform
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from places import HOUSEHOLD

from household import Values, needing, reeltalk, values_of
from reeltalk import __version__
from reeltalk.metrics.uncertainty import mean_interval
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import CONTROLS_FOLDER, INFO
from reeltalk.store.tables import DIALOGUES, VIDEOS

VIDEOS_OF_RELEASE: Final = 1000
SHOWN: Final = (
    *("--policy", "fps", "--fps", "1", "--frames", "300", "--longest-side", "320"),
    *("--protocols", "typed", "--metrics", "none", "--units", "dialogue"),
)
CONTROLS: Final = ("none", "shuffled", "black")
BASELINES: Final = ("blind", "history", "ngrams")
THRESHOLDS: Final = (0.1, 0.15, 0.2, 0.3, 0.5)
DEV_VIDEOS: Final = 10
"""Videos of the dev split on whose streams a threshold is chosen."""
MOST_FALSE_ALARMS: Final = 6.0
"""False alarms an hour that a threshold may cost on the dev split."""
GROUPS: Final = {
    "order": ("order", "next", "previous", "first", "last", "after", "before", "sequence"),
    "objects, colours and people": ("colour", "object", "thing", "who", "people", "looks", "holds", "clothes", "held"),
}
"""Groups of kinds of questions, by parts of the kinds' names; a kind is in the first group that fits."""
STAGES: Final = ("train", "answers", "streams", "shares", "card")
"""What is done one after the other: training, answers with all controls, streams, the learning curve, and the card."""
PACKAGE: Final = HOUSEHOLD / "mini" / "weights"


def group_of(kind: str) -> str | None:
    """The group of a kind of question; None for the others."""
    return next((group for group, parts in GROUPS.items() if any(part in kind.split("_") for part in parts)), None)


def made(folder: Path, videos: int) -> Path:
    """The benchmark: films, dialogues, streams, and which turns need the video."""
    release = folder / "household"
    if not (release / "benchmark" / "gates.jsonl").is_file():
        reeltalk("world", "release", "--videos", str(videos), "--out", str(release))
    return release / "benchmark"


def train(folder: Path, bench: Path, name: str, threads: int, *options: str) -> Path:
    """A network, trained and exported."""
    out = folder / name
    if not (out / "model" / "decoder.onnx").is_file():
        reeltalk("world", "train", str(bench), "--out", str(out), "--frames", str(folder / "frames"),
                 "--threads", str(threads), *options)  # fmt: skip
    return out


def weights(out: Path) -> str:
    """What a seed is called in `--model`."""
    return f"mini:{out / 'model'}"


def played(folder: Path, bench: Path, model: str, name: str, *options: str, split: str = "test") -> Path:
    """A run of a model on a split."""
    run = folder / f"run-{split}-{name}"
    if not (run / INFO).is_file():
        reeltalk("evaluate", str(bench), "--model", model, *SHOWN, "--split", split, *options, "--out", str(run))
    return run


@dataclass(frozen=True)
class Streams:
    """How well a network speaks without being asked, at one threshold."""

    threshold: float
    in_time: float
    """Share of moments with a right reply in time."""
    false_alarms: float
    """Replies outside every moment, per hour in which silence was right."""


def streamed(folder: Path, bench: Path, out: Path, threshold: float, split: str) -> Streams:
    """A network on the streams of a split."""
    run = folder / f"streams-{split}-{out.name}-{threshold:g}"
    scores = run.with_name(f"{run.name}.json")
    part = ("--limit", str(DEV_VIDEOS)) if split == "dev" else ()
    if not scores.is_file():
        reeltalk("proactive", "run", str(bench), "--model", weights(out), "--threshold", str(threshold),
                 "--longest-side", "320", "--split", split, *part, "--out", str(run))  # fmt: skip
        reeltalk("proactive", "score", str(bench), str(run), "--split", split, *part, "--out", str(scores))
    rows = {row["metric"]: row["value"] for row in json.loads(scores.read_text(encoding="utf-8"))["summary"]}
    return Streams(threshold, rows[IN_TIME], rows[ALARMS])


IN_TIME: Final = "time_correct"
ALARMS: Final = "false_alarms_per_hour"


def picked(sweep: Sequence[Streams]) -> Streams:
    """The threshold with the most moments in time among those with few false alarms, or else the quietest one."""
    quiet = [one for one in sweep if one.false_alarms <= MOST_FALSE_ALARMS]
    return max(quiet, key=lambda one: one.in_time) if quiet else min(sweep, key=lambda one: one.false_alarms)


def mean_with_interval(rows: Sequence[tuple[str, float]], *, low: float = 0.0) -> tuple[float, float, float]:
    """The mean of values of videos from `low` to 1, with its 95 % interval by video; NaN where videos are too few."""
    if not rows:
        return (float("nan"),) * 3
    found = mean_interval(np.array([value for _, value in rows]), [video for video, _ in rows], (low, 1.0))
    bounds = [float("nan") if bound is None else bound for bound in (found.low, found.high)]
    return found.value, bounds[0], bounds[1]


def difference(after: Values, before: Values) -> tuple[float, float, float]:
    """Mean difference on the same turns, with its interval by video."""
    items = sorted(set(after) & set(before))
    return mean_with_interval([(after[item][0], after[item][1] - before[item][1]) for item in items], low=-1.0)


def told(value: tuple[float, float, float], *, sign: bool = False) -> str:
    """A value in percent with its interval."""
    mean, low, high = (100 * number for number in value)
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]" if sign else f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def results(seeds: Mapping[str, Values], others: Mapping[str, Mapping[str, Values]]) -> list[str]:
    """Percent of right answers and paired differences, as Markdown.

    Args:
        seeds: The values of each seed.
        others: By name of a control or baseline, the values for each seed.
    """
    lines = ["| | right | " + " | ".join(f"above {name}" for name in others) + " |", "|---|---|" + "---|" * len(others)]
    for seed, values in seeds.items():
        above = " | ".join(told(difference(values, by_seed[seed]), sign=True) for by_seed in others.values())
        lines.append(f"| {seed} | {told(mean_with_interval(list(values.values())))} | {above} |")
    for name, by_seed in others.items():
        mean = np.mean([value for values in by_seed.values() for _, value in values.values()])
        lines.append(f"| {name} | {100 * float(mean):.1f} |" + " |" * len(others))
    return lines


def by_kind(
    kinds: Mapping[str, str], seeds: Mapping[str, Values], others: Mapping[str, Mapping[str, Values]]
) -> list[str]:
    """The same by kind of question, over all seeds."""
    found: dict[str, list[list[float]]] = defaultdict(list)
    for seed, values in seeds.items():
        for item, (_, value) in values.items():
            found[kinds[item]].append([value, *(by_seed[seed][item][1] for by_seed in others.values())])
    lines = ["| kind of question | turns | frames | " + " | ".join(others) + " |", "|---" * (len(others) + 3) + "|"]
    for kind, rows in sorted(found.items(), key=lambda pair: -len(pair[1])):
        means = " | ".join(f"{100 * mean:.0f}" for mean in np.mean(rows, axis=0))
        lines.append(f"| {kind} | {len(rows) // len(seeds)} | {means} |")
    return lines


def only(kept: set[str], values: Mapping[str, Values]) -> dict[str, Values]:
    """The values of some turns."""
    return {name: {item: value for item, value in own.items() if item in kept} for name, own in values.items()}


def curve(folder: Path) -> list[str]:
    """The loss curve of a seed in tenths of each part."""
    rows = [json.loads(line) for line in (folder / "loss.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = ["| part | after a tenth of its steps, two tenths, … |", "|---|---|"]
    for part, key in (("eye", "loss"), ("speech", "words"), ("speech", "ready")):
        values = [row[key] for row in rows if row["part"] == part and row[key] > 0]
        tenths = [np.mean(values[max(0, len(values) * n // 10 - 50) : len(values) * n // 10]) for n in range(1, 11)]
        lines.append(f"| {part}, {key} | {', '.join(f'{value:.2f}' for value in tenths)} |")
    return lines


def card(bench: Path, best: Path, sections: Sequence[str]) -> str:
    """The card of the weights."""
    about = json.loads((best / "run.json").read_text(encoding="utf-8"))
    videos = list(Benchmark.open(bench).read(VIDEOS))
    count = {split: sum(video.split == split for video in videos) for split in ("train", "dev", "test")}
    eye = ", ".join(f"{name} {value:.2f}" for name, value in about["eye"].items())
    parameters = ", ".join(f"{name} {value:,}" for name, value in about["parameters"].items())
    size = sum(path.stat().st_size for path in (best / "model").iterdir())
    settings = about["settings"]
    return "\n".join(
        [
            "# reeltalk-mini",
            "",
            f"A streaming video-language model of {sum(about['parameters'].values()):,} parameters ({parameters}), "
            f"{size / 1e6:.1f} MB, trained from nothing on reeltalk-household. It knows these drawn films and nothing "
            "else: it shows how a streaming model is built, trained and measured, and lets the demo run.",
            "",
            f"- Data: `reeltalk world release`: {count['train']} train, {count['dev']} dev and {count['test']} test "
            "videos. No house, name, look, art style or form of a question is in two splits.",
            f"- Training: `reeltalk world train BENCH --out FOLDER --seed {settings['seed']}`: "
            f"{settings['eye']['steps']:,} steps of the eye and {settings['speech']['steps']:,} of speech, on "
            f"{about['frames']:,} frames, in {about['took_s'] / 60:.0f} minutes on {settings['threads']} core(s).",
            "- Graphs and known boxes guide the training: the eye learns who does what, where and with what, and "
            "where to look; visual tokens learn to lie near the words for what they show; two heads learn to look at "
            "the frames with the evidence. Nothing of this is needed to answer.",
            "- Weights are rounded to 8 bits; the torch network with the same rounding answers alike.",
            f"- What the eye reads from dev frames (accuracy where there is a value; F1 of several): {eye}.",
            f"- reeltalk {__version__}, torch {about['versions']['torch']}, Python {platform.python_version()}.",
            *sections,
            "",
            "## Loss curve",
            "",
            *curve(best),
            "",
        ]
    )


def streams_section(dev: Mapping[str, Sequence[Streams]], test: Mapping[str, Streams]) -> list[str]:
    """What was said without a question, as Markdown."""
    lines = ["| | threshold | moments in time | false alarms an hour |", "|---|---|---|---|"]
    for seed, one in test.items():
        lines.append(f"| {seed}, test | {one.threshold:g} | {100 * one.in_time:.1f} % | {one.false_alarms:.1f} |")
    for seed, sweep in dev.items():
        for one in sweep:
            lines.append(f"| {seed}, dev | {one.threshold:g} | {100 * one.in_time:.1f} % | {one.false_alarms:.1f} |")
    return lines


def amounts(
    folder: Path, bench: Path, seed: int, threads: int, shares: Sequence[float], wanted: set[tuple[str, int]]
) -> list[str]:
    """Learning curve: the same training with fewer steps, as Markdown."""
    lines = ["| share of the steps | right | without frames |", "|---|---|---|"]
    for share in shares:
        steps = ("--seed", str(seed), "--share", str(share))
        out = train(folder, bench, f"share-{share:g}", threads, *steps)
        run = played(folder, bench, weights(out), out.name, "--controls", "none")
        own, blind = values_of(run, wanted), values_of(run / CONTROLS_FOLDER / "none", wanted)
        shown = [told(mean_with_interval(list(values.values()))) for values in (own, blind)]
        lines.append(f"| {share:g} | {shown[0]} | {shown[1]} |")
    return lines


def answered(folder: Path, bench: Path, trained: Mapping[str, Path], split: str, *controls: str) -> dict[str, Path]:
    """The runs of each network on the dialogues of a split."""
    speech = ("--subtitles",) if Benchmark.open(bench).content(boxes=False).speech else ()
    asked = (*speech, "--controls", ",".join(controls)) if controls else speech
    return {name: played(folder, bench, weights(out), out.name, *asked, split=split) for name, out in trained.items()}


def answers_section(folder: Path, bench: Path, trained: Mapping[str, Path], wanted: set[tuple[str, int]]) -> list[str]:
    """What each network and each baseline answers on the test split, as Markdown."""
    kinds = {
        f"{dialogue.id}/{index}": str(turn.extra.get("kind", turn.extra.get("form", "other")))
        for dialogue in Benchmark.open(bench).read(DIALOGUES)
        for index, turn in enumerate(dialogue.turns)
    }
    runs = answered(folder, bench, trained, "test", *CONTROLS)
    seeds = {name: values_of(run, wanted) for name, run in runs.items()}
    others: dict[str, dict[str, Values]] = defaultdict(dict)
    for name, run in runs.items():
        for control in CONTROLS:
            others[f"{control} frames"][name] = values_of(run / CONTROLS_FOLDER / control, wanted)
    for baseline in BASELINES:
        values = values_of(played(folder, bench, f"baseline:{baseline}", baseline), wanted)
        others[f"baseline {baseline}"] = dict.fromkeys(seeds, values)
    videos = {video for values in seeds.values() for video, _ in values.values()}
    sections = [
        "",
        "## Results on houses, people, styles and wordings that it never met",
        "",
        f"{len(next(iter(seeds.values()))):,} turns that need the video, of {len(videos)} test videos; percent right, "
        "95 % intervals by video, differences on the same turns. History is golden. What is said in the video is "
        "heard in every row.",
        "",
        *results(seeds, others),
    ]
    for group in GROUPS:
        chosen = partial(only, {item for item, kind in kinds.items() if group_of(kind) == group})
        table = results(chosen(seeds), {name: chosen(values) for name, values in others.items()})
        sections += ["", f"Questions about {group}:", "", *table]
    return [*sections, "", *by_kind(kinds, seeds, others)]


def best_on_dev(folder: Path, bench: Path, trained: Mapping[str, Path], wanted: set[tuple[str, int]]) -> Path:
    """The network that is right most often on the dev split. So the test figures of one are not the best of several."""
    runs = answered(folder, bench, trained, "dev")
    right = {name: mean_with_interval(list(values_of(run, wanted).values()))[0] for name, run in runs.items()}
    return trained[max(right, key=lambda name: right[name])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[17, 18, 19])
    parser.add_argument("--shares", type=float, nargs="*", default=[0.1, 0.3], help="of the learning curve")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--videos", type=int, default=VIDEOS_OF_RELEASE, help="of the release that is made")
    parser.add_argument("--folder", type=Path, default=Path("build/mini"))
    parser.add_argument("--bench", type=Path, help="a release's benchmark; made by default")
    parser.add_argument("--until", choices=STAGES, default=STAGES[-1], help="the last stage; what is done stays")
    parser.add_argument(
        "--quick", action="store_true", help="a few steps: shows that the script works, and nothing else"
    )
    parser.add_argument("--install", action="store_true", help="put the best seed into the package")
    given = parser.parse_args()
    thresholds: Sequence[float] = THRESHOLDS
    if given.quick:
        given.seeds, given.shares, given.videos, thresholds = given.seeds[:1], given.shares[:1], 5, THRESHOLDS[:1]
    steps = ("--share", "0.002") if given.quick else ()
    folder: Path = given.folder
    bench: Path = given.bench or made(folder, given.videos)
    trained = {
        f"seed {seed}": train(folder, bench, f"seed-{seed}", given.threads, "--seed", str(seed), *steps)
        for seed in given.seeds
    }
    if given.until == "train":
        return
    wanted = needing(Benchmark.open(bench).content(boxes=False))
    sections = answers_section(folder, bench, trained, wanted)
    best = best_on_dev(folder, bench, trained, wanted)
    if given.until == "answers":
        return
    dev = {name: [streamed(folder, bench, out, at, "dev") for at in thresholds] for name, out in trained.items()}
    test = {name: streamed(folder, bench, out, picked(dev[name]).threshold, "test") for name, out in trained.items()}
    sections += ["", "## Speaking without being asked", "", *streams_section(dev, test)]
    if given.until == "streams":
        return
    if given.shares:
        shares = [0.001] if given.quick else given.shares
        lines = amounts(folder, bench, given.seeds[0], given.threads, shares, wanted)
        sections += ["", "## Learning curve", "", *lines]
    if given.until == "shares":
        return
    text = card(bench, best, sections)
    (folder / "README.md").write_text(text, encoding="utf-8")
    print(f"{text}\nbest on dev: {best}; the card: {folder / 'README.md'}")
    if given.install:
        PACKAGE.mkdir(exist_ok=True)
        for name in ("vision.onnx", "decoder.onnx", "tokenizer.json", "shape.json"):
            shutil.copyfile(best / "model" / name, PACKAGE / name)
        (PACKAGE / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
