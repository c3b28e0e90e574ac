"""START HERE: all stages in a few calls, on videos of a simulated household in which every fact is known.

A simulated household is filmed. The files are curated by their pixels alone. The facts of every clip are written as
graphs. Question chains, linkages, paths, dialogues and checklists are constructed from the graphs. Baselines and
reeltalk-mini answer them in dialogue and as a stream. Answers are judged without a language model, and a site shows
the results. `make demo` runs it offline, on two cores, in about two minutes. Each verb skips finished work, so a run
that was stopped resumes, and a second run ends at once.

The demo is small on purpose, and its numbers are estimates: `make bench-household` compares the baselines, with
intervals, on many more videos. The size was chosen for about two minutes; the seed is the default of filming.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.analysis.leaderboard import model_title
from reeltalk.analysis.values import format_quoted
from reeltalk.errors import SettingError
from reeltalk.evaluation.settings import FrameSettings, PlaySettings, RunConfig
from reeltalk.judge.settings import JudgeSettings
from reeltalk.pages.cover import Cover, CoverPart
from reeltalk.pages.looking import compare_controls, format_difference, separate_controls
from reeltalk.pages.settings import ReportSettings
from reeltalk.progress import Progress, Tell
from reeltalk.schema.runs import Control, SummaryRow
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.runs import Run
from reeltalk.store.tables import DIALOGUES, KNOWN_BOXES, VIDEOS
from reeltalk_build.construct.settings import ConstructSettings
from reeltalk_build.curate.settings import CurateSettings
from reeltalk_build.stages import construct, curate
from reeltalk_household.benchmarks.walkthrough import (
    Steps,
    construction_summary,
    curation_summary,
    evaluate_or_resume,
    write_site,
)
from reeltalk_household.stages import film
from reeltalk_household.world.describe import describe_films
from reeltalk_household.world.film import write_files
from reeltalk_household.world.settings import FilmSettings

METRIC: Final = "typed"
"""The metric of the first page: whether an answer agrees with the key of its question."""
SHOWN_FRAMES: Final = FrameSettings(policy="fps", fps=1.0, frames=300, longest_side_px=320)
"""One frame per second, as the video plays."""


class Household(BaseModel):
    """All settings of the demo, by stage; settings that are not given have the defaults of the stages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    filming: FilmSettings = FilmSettings(
        scenarios=16,
        houses=4,
        dev_houses=0,
        test_houses=3,
        width_px=320,
        fps=5,
        min_duration_s=25.0,
        max_duration_s=45.0,
        seed=7,
    )
    curation: CurateSettings = CurateSettings(
        # Films of whole rooms are short and have few cuts and little motion, so SVBench's bounds for web videos are
        # relaxed.
        min_duration_s=20.0,
        min_shots=2,
        min_mean_shot_s=4.0,
        max_shots=40,
        min_flow_px=0.1,
        # A shot may be one walk to another room. Clips of at least 8 s show enough for questions.
        merge_below_s=8.0,
        extend_s=0.0,
    )
    construction: ConstructSettings = ConstructSettings()
    plays: tuple[PlaySettings, ...] = (
        # Only tasks in whose dialogues every turn asks for a fact, so that it has a key.
        PlaySettings(
            mode="dialogue",
            units=("chain", "dialogue"),
            tasks=("object_reference", "answer_refusal"),
            frames=SHOWN_FRAMES,
        ),
        PlaySettings(mode="streaming", frames=SHOWN_FRAMES),
    )
    players: tuple[str, ...] = (
        "baseline:reference",
        "baseline:yes",
        "baseline:constant",
        "baseline:blind",
        "baseline:history",
        "baseline:frames",
        "mini",
        "oracle",
    )
    controls: dict[str, tuple[Control, ...]] = {"mini": ("none",)}
    """Controls of each model, by the model's name, in the modes of `controlled`."""
    controlled: tuple[str, ...] = ("streaming",)
    """Modes with controls."""
    judging: JudgeSettings = JudgeSettings(protocols=("typed",), metrics=("bleu", "rouge_l", "token_f1"))
    report: ReportSettings = ReportSettings(media="cut", frames=4)


SMALL_HOUSEHOLD: Final = Household()


RECIPE: Final = Path(__file__).parent / "household.yaml"
"""The recipe of `reeltalk world release`, a project file."""
VIDEOS_OF_A_HOUSE: Final = 10
DEV_EVERY: Final = 10
"""One house in so many is dev, and as many are test."""
FEWEST_HOUSES: Final = 5
"""With fewer houses a split has none."""


def release_recipe(videos: int, seed: int, *, workers: int | None = None, executor: str = "local") -> str:
    """The recipe of a release of another size, as the text of a project file.

    Args:
        videos: Number of videos, at least `FEWEST_HOUSES`.
        seed: Decides the scenarios.
        workers: Videos that are processed at a time; one for each core by default.
        executor: Where the work runs.

    Raises:
        SettingError: There are too few videos for all splits.
    """
    if videos < FEWEST_HOUSES:
        raise SettingError(f"--videos {videos}: at least {FEWEST_HOUSES}, so that every split has a house")
    text = RECIPE.read_text(encoding="utf-8")
    houses = max(FEWEST_HOUSES, videos // VIDEOS_OF_A_HOUSE)
    tested = max(1, houses // DEV_EVERY)
    sizes = {"scenarios": videos, "houses": houses, "dev_houses": tested, "test_houses": tested, "seed": seed}
    for key, value in sizes.items():
        text = re.sub(rf"^(  {key}: )\d+", rf"\g<1>{value}", text, count=1, flags=re.MULTILINE)
    shared = [f"executor: {executor}"] if executor != "local" else []
    shared += [f"workers: {workers}"] if workers is not None else []
    return text.replace("benchmark: benchmark\n", "\n".join(["benchmark: benchmark", *shared, ""]), 1)


def build_household(out: Path, household: Household = SMALL_HOUSEHOLD, *, tell: Tell, progress: Progress) -> Path:
    """Film, curate, construct, play, judge, report.

    Args:
        out: Folder that receives `filmed`, `videos`, `benchmark`, `runs` and `site`; call again to continue.
        household: Settings of all stages.
        tell: Receives a line when a step begins, and a line with its result.
        progress: Receives the progress of the step.

    Returns:
        The site's first page.

    Raises:
        ReeltalkError: A stage cannot go on; says why.
    """
    steps = Steps(5 + len(household.plays) * len(household.players), tell=tell, progress=progress)

    at = steps.begin(f"film {household.filming.scenarios} scenarios in {household.filming.houses} houses")
    film(into=out / "filmed", settings=household.filming, progress=at)
    filmed = Benchmark.open(out / "filmed")
    write_files(filmed, out / "videos")
    steps.say(film_summary(filmed))

    at = steps.begin("curate the files by their pixels: shots, filters, clips, key frames")
    curate(out / "videos", into=out / "benchmark", settings=household.curation, progress=at)
    benchmark = Benchmark.open(out / "benchmark")
    steps.say(curation_summary(benchmark))

    steps.begin("write down the facts of every clip")
    describe_films(filmed, benchmark)
    steps.say(facts_summary(benchmark))

    at = steps.begin("construct chains, linkages, paths, dialogues and checklists from the facts")
    construct(benchmark, settings=household.construction, progress=at)
    benchmark = Benchmark.open(out / "benchmark")
    steps.say(construction_summary(benchmark))

    groups: dict[str, list[Run]] = {}
    for play in _playable(benchmark, household.plays):
        for model in household.players:
            name = f"{model.removeprefix('baseline:')}-{play.mode}"
            at = steps.begin(f"play to {name.replace('-', ' in mode ')}, and judge")
            config = RunConfig(
                model=model,
                play=play,
                judging=household.judging,
                controls=household.controls.get(model, ()) if play.mode in household.controlled else (),
            )
            run = evaluate_or_resume(benchmark, out / "runs" / name, config, progress=at)
            steps.say(run_summary(run))
            groups.setdefault(play.mode, []).append(run)

    at = steps.begin("write the report")
    cover = _cover(filmed, benchmark, groups)
    return write_site(
        out / "site",
        benchmark,
        groups,
        cover,
        metrics=dict.fromkeys(groups, METRIC),
        settings=household.report,
        progress=at,
    )


def _playable(benchmark: Benchmark, plays: Iterable[PlaySettings]) -> Iterator[PlaySettings]:
    """The plays, without tasks for which a small household has no dialogue."""
    held = {dialogue.task for dialogue in benchmark.read(DIALOGUES)}
    for play in plays:
        tasks = tuple(task for task in play.tasks if task in held)
        # An empty list of tasks would play all of them.
        units = play.units if tasks or not play.tasks else tuple(unit for unit in play.units if unit != "dialogue")
        yield play.model_copy(update={"tasks": tasks, "units": units})


def _cover(filmed: Benchmark, benchmark: Benchmark, groups: dict[str, list[Run]]) -> Cover:
    """The text of the first page."""
    tested = sum(video.split == "test" for video in benchmark.read(VIDEOS))
    videos = "1 test video" if tested == 1 else f"{tested} test videos"
    return Cover(
        over="reeltalk demo",
        title="A household, from film to leaderboard",
        lead="reeltalk filmed a simulated household, wrote questions from the facts, and asked baselines and "
        "reeltalk-mini. It used no network, no GPU and no language model.",
        looking=" ".join(filter(None, (_describe_looking(mode, runs) for mode, runs in groups.items()))),
        weak=(
            f"The sample is small: {videos}. Another seed may give another order. make bench-household compares the "
            "baselines on many more videos.",
            "How a model does on real videos: everything here is simulated, and reeltalk-mini was trained on other "
            "houses of the same simulation.",
            "Whether people agree: nobody has reviewed the questions. A rule reads the answers, so a right answer in "
            "unusual words can count as wrong.",
            "Dialogues of four other tasks are not played, because a language model must judge them: reeltalk evaluate "
            "--protocols checklist --judge NAME.",
        ),
        parts=(
            CoverPart("Benchmark", "benchmark/index.html", "videos, clips and questions."),
            *(
                CoverPart(f"Leaderboard in mode {mode}", f"{mode}/index.html", "ranks, comparisons and every dialogue.")
                for mode in groups
            ),
        ),
        done=(
            ("film", film_summary(filmed)),
            ("curate", curation_summary(benchmark)),
            ("describe", facts_summary(benchmark)),
            ("construct", construction_summary(benchmark)),
            ("play, judge", f"{sum(map(len, groups.values()))} runs in {len(groups)} modes, without a language model"),
        ),
    )  # fmt: skip


def _describe_looking(mode: str, runs: list[Run]) -> str:
    """Describe how much the pictures contribute, for each model that was also run with controls."""
    told = []
    for run, controls in separate_controls(runs)[1]:
        for looking in compare_controls(run, controls):
            line = looking.line(METRIC)
            costs = dict(zip(looking.controls, line.comparisons, strict=True)) if line is not None else {}
            blind = costs.get("none")
            if blind is None or blind.first_value is None or blind.second_value is None:
                continue
            told.append(
                f"In mode {mode} {model_title(looking.model)} gets {format_quoted(blind.first_value, METRIC)} with the "
                f"pictures and {format_quoted(blind.second_value, METRIC)} without any: {format_difference(blind)} "
                "points."
            )
            if blind.low is not None and blind.high is not None and blind.low <= 0 <= blind.high:
                told.append("This interval includes 0, so these few videos alone do not show that looking helps.")
    return " ".join(told)


def run_summary(run: Run) -> str:
    """Describe a run's measure in words."""
    row = _rows(run)[run.info.models[0].model]
    if row.value is None:
        return f"{row.unscored:,} of {row.n + row.unscored:,} turns have no score"
    return f"{format_quoted(row.value, METRIC)} over {row.n:,} turns"


def film_summary(filmed: Benchmark) -> str:
    """Describe in words how much was filmed."""
    videos = list(filmed.read(VIDEOS))
    houses = {video.extra["house"] for video in videos}
    minutes = sum(video.duration_s or 0.0 for video in videos) / 60
    return f"{len(videos):,} videos of {minutes:.0f} minutes in {len(houses):,} houses"


def facts_summary(benchmark: Benchmark) -> str:
    """Describe in words how many facts are known."""
    graphs = sum(name.startswith(f"{GRAPHS}/") for name in benchmark.manifest.files)
    return f"{graphs:,} clips have a graph of what happens in them; {benchmark.rows(KNOWN_BOXES):,} boxes of objects"


def _rows(run: Run) -> dict[str, SummaryRow]:
    return {row.model: row for row in run.summary if row.metric == METRIC}
