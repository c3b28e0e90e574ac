"""The demo on your own videos, with a language model at an OpenAI-compatible address.

The model writes the questions and answers them. So the demo shows how the stages work, not how good the model is.
The first page lists everything that weakens the numbers: see `weak_points`.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from reeltalk.analysis.columns import metric_title
from reeltalk.errors import SettingError
from reeltalk.evaluate.settings import FrameSettings, LimitSettings, ModelSettings, PlaySettings, RunConfig
from reeltalk.judge.settings import JudgeModelSettings, JudgeSettings
from reeltalk.llm import Endpoint
from reeltalk.llm.preflight import preflight
from reeltalk.metrics.turn_checks import benchmark_quality, identical_sentences
from reeltalk.metrics.uncertainty import FEWEST_VIDEOS
from reeltalk.pages.cover import Cover, CoverPart
from reeltalk.pages.settings import ReportSettings
from reeltalk.progress import Progress, Tell
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.server_address import check_server
from reeltalk.schema.settings import settings_of
from reeltalk.stages.run import report_of
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.runs import REPLIES, Run
from reeltalk.store.tables import CHAINS, DIALOGUES, GATES, PATHS, REJECTED, SCREENINGS, VIDEOS
from reeltalk_build.construct.settings import AskSettings, ConstructSettings
from reeltalk_build.curate.filters import broken_bounds
from reeltalk_build.curate.settings import CurateSettings
from reeltalk_build.stages import construct, curate
from reeltalk_household.benchmarks.walkthrough import (
    Steps,
    construction_summary,
    curation_summary,
    evaluate_or_resume,
    write_site,
)

ANY_VIDEO: Final = CurateSettings(
    min_duration_s=1.0,
    min_shots=1,
    max_shots=1000,
    min_mean_shot_s=0.0,
    max_mean_shot_s=3600.0,
    min_flow_px=0.0,
    max_flow_px=1e6,
    merge_below_s=4.0,
)
"""SVBench's bounds select from many videos. The demo takes all given videos, and its first page lists the bounds that
they break."""
FRAMES: Final = FrameSettings(policy="uniform", frames=16, longest_side_px=720)
STREAMING: Final = "streaming"
"""Name of the group of runs in streaming mode."""
WORDS: Final = ("bleu", "rouge_l", "token_f1")


@dataclass(frozen=True)
class DemoModels:
    """The model that writes and answers, and the one that judges."""

    model: str
    """Name of the model on its server."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server; OpenAI's own by default."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key."""
    sees: Literal["images", "text"] = "images"
    """images, or text for a model that takes no pictures."""
    detector: str | None = None
    """Detector of objects. A model that takes no pictures gets a list of them."""
    judge: str | None = None
    """Model that judges the answers; without one they are compared with the references by their words."""
    judge_base_url: str | None = None
    """Address of the judge's server; that of the model by default."""
    connections: int = 4
    """Requests at a time."""
    timeout_s: float = 120.0
    """Longest wait for one reply."""
    max_reply_tokens: int = 2048
    """Longest reply of the model as a writer."""
    max_calls: int | None = None
    """Hard limit of the requests of each step."""
    preflight: bool = True
    """Ask each server for one small reply before anything is decoded."""

    def metric(self, group: str) -> str:
        """The metric of a group on the first page. SVBench rates paths separately from chains and dialogues."""
        if self.judge is None:
            return "token_f1"
        return "svbench.streaming.OS" if group == STREAMING else "svbench.OS"

    @property
    def writing(self) -> AskSettings:
        """Settings of the requests for writing."""
        return AskSettings(
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            sees=self.sees,
            connections=self.connections,
            timeout_s=self.timeout_s,
            max_reply_tokens=self.max_reply_tokens,
            max_calls=self.max_calls,
            preflight=self.preflight,
        )

    @property
    def answering(self) -> ModelSettings:
        """Settings of the requests for answers."""
        return ModelSettings(base_url=self.base_url, api_key_env=self.api_key_env, sees=self.sees)

    def judging(self, *, has_checklists: bool) -> JudgeSettings:
        """Settings of judging.

        Args:
            has_checklists: True if some of the turns have checklists.
        """
        protocols = ("svbench", *(("checklist",) if has_checklists else ())) if self.judge is not None else ()
        return JudgeSettings(protocols=protocols, metrics=WORDS, eval_rounds=1)

    @property
    def judge_model(self) -> JudgeModelSettings:
        """The model that judges, and its address."""
        if self.judge is None:
            return JudgeModelSettings()
        address = self.judge_base_url or self.base_url
        return JudgeModelSettings(judge=self.judge, judge_base_url=address, judge_api_key_env=self.api_key_env)

    @property
    def limits(self) -> LimitSettings:
        """Limits of requests, at a time and in total."""
        return LimitSettings(
            connections=self.connections,
            timeout_s=self.timeout_s,
            max_calls=self.max_calls,
            preflight=self.preflight,
        )

    def try_servers(self, *, tell: Tell) -> None:
        """Check the servers before a video is decoded.

        Args:
            tell: Receives a sentence for each option that a server does not accept.

        Raises:
            SettingError: A model has no server.
            OutageError: No request to one can succeed.
        """
        servers = [(self.model, self.base_url, "--model", "--base-url", self.sees == "images")]
        if self.judge is not None:
            address = self.judge_base_url or self.base_url
            servers.append((self.judge, address, "--judge", "--judge-base-url", False))
        for model, address, name, option, _ in servers:
            check_server(model, address, self.api_key_env, name=name, option=option)
        for model, address, _, option, images in servers if self.preflight else ():
            endpoint = settings_of(Endpoint, model=model, base_url=address, timeout_s=self.timeout_s)
            found = preflight(
                endpoint,
                api_key=os.environ.get(self.api_key_env),
                key_variable=self.api_key_env,
                images=images,
                schema=True,
                option=option,
            )
            for sentence in found.notes:
                tell(sentence)


@dataclass(frozen=True)
class _Group:
    """Runs that compare with each other."""

    name: str
    play: PlaySettings
    players: tuple[str, ...]


def build_own_videos(
    videos: Sequence[Path], out: Path, asked: DemoModels, *, tell: Tell, progress: Progress
) -> tuple[Path, bool]:
    """Curate, construct, play, judge, report.

    Args:
        videos: Video files.
        out: Folder that receives `benchmark`, `runs` and `site`; call again to continue.
        asked: The models that write, answer and judge.
        tell: Receives a line when a step begins, and a line with its result.
        progress: Receives the progress of the step.

    Returns:
        The site's first page, also if the model wrote nothing usable; and whether all was written, answered and scored.

    Raises:
        SettingError: No video can be used, or a model has no server.
        OutageError: A model's server does not answer.
        UnusableError: The model's first replies in a step of writing cannot be used.
        ReeltalkError: A stage cannot go on; says why.
    """
    most = 3 + sum(len(group.players) for group in _groups(asked, len(videos)))
    steps = Steps(most, tell=tell, progress=progress)

    if not (out / "benchmark" / WORK / REPLIES).is_file():
        asked.try_servers(tell=tell)
    at = steps.begin(f"curate {len(videos):,} videos: shots, clips, key frames")
    curate(*videos, into=out / "benchmark", settings=ANY_VIDEO, progress=at)
    benchmark = Benchmark.open(out / "benchmark")
    steps.say(curation_summary(benchmark))
    if not benchmark.rows(VIDEOS):
        raise SettingError(f"none of the videos can be used: {curation_summary(benchmark)}")

    at = steps.begin(f"{asked.model} writes chains, linkages, paths, dialogues and checklists")
    written = construct(
        benchmark,
        writer=asked.model,
        settings=ConstructSettings(detector=asked.detector),
        asking=asked.writing,
        progress=at,
        tell=steps.say,
    )
    benchmark = Benchmark.open(out / "benchmark")
    steps.say(construction_summary(benchmark))

    groups: dict[str, list[Run]] = {}
    for group in _groups(asked, benchmark.rows(VIDEOS)):
        if not _can_be_played(benchmark, group.play):
            steps.say(f"{group.name}: there is nothing to play")
            continue
        for model in group.players:
            name = f"{model.removeprefix('baseline:').replace('/', '-')}-{group.name}"
            at = steps.begin(f"play to {model} in group {group.name}, and judge")
            config = RunConfig(
                model=model,
                play=group.play,
                judging=asked.judging(has_checklists=_has_checklists(benchmark, group.play)),
                # What a language model is asked with has no effect on a baseline.
                asking=ModelSettings() if model.startswith("baseline:") else asked.answering,
                judge_model=asked.judge_model,
                limits=asked.limits,
            )
            run = evaluate_or_resume(benchmark, out / "runs" / name, config, progress=at)
            groups.setdefault(group.name, []).append(run)

    at = steps.begin("write the report")
    cover = _cover(benchmark, asked, groups)
    settings = ReportSettings(media="cut", frames=4)
    metrics = {name: asked.metric(name) for name in groups}
    page = write_site(out / "site", benchmark, groups, cover, settings=settings, metrics=metrics, progress=at)
    whole = written.complete and bool(groups)
    return page, whole and all(report_of(run).complete for runs in groups.values() for run in runs)


def _groups(asked: DemoModels, videos: int) -> list[_Group]:
    """The plays and their models. Baselines answer each video from the others, so they need more than one video."""
    baselines = ("baseline:copied-question", *(("baseline:blind", "baseline:history") if videos > 1 else ()))
    dialogue = PlaySettings(mode="dialogue", frames=FRAMES)
    found = [
        _Group("dialogue", dialogue, (*baselines, asked.model)),
        _Group(STREAMING, PlaySettings(mode="streaming", frames=FRAMES), (*baselines, asked.model)),
    ]
    if asked.sees == "images":
        unseen = dialogue.model_copy(update={"frames": FrameSettings(policy="none")})
        found.insert(1, _Group("without-frames", unseen, (asked.model,)))
    return found


def _can_be_played(benchmark: Benchmark, play: PlaySettings) -> bool:
    tables = (PATHS,) if play.mode == "streaming" else (CHAINS, DIALOGUES)
    return any(benchmark.rows(table) for table in tables)


def _has_checklists(benchmark: Benchmark, play: PlaySettings) -> bool:
    """True if turns of a play have checklists. Paths consist of turns of chains, which have none."""
    if play.mode == STREAMING:
        return False
    return any(turn.checklist is not None for dialogue in benchmark.read(DIALOGUES) for turn in dialogue.turns)


def _cover(benchmark: Benchmark, asked: DemoModels, groups: Mapping[str, Sequence[Run]]) -> Cover:
    """The text of the first page."""
    judged = f"judged by {asked.judge}" if asked.judge else "compared with the references by their words"
    finding = (
        f"Answers of {asked.model} to questions that it wrote itself, {judged}."
        if groups
        else f"{asked.model} wrote nothing that can be played; what it replied stands on the benchmark's pages."
    )
    return Cover(
        over="reeltalk demo",
        title="Your videos, from file to leaderboard",
        lead=", ".join(video.file or video.id for video in benchmark.read(VIDEOS)),
        finding=finding,
        weak=tuple(weak_points(benchmark, asked, groups)),
        parts=(
            CoverPart(
                "Benchmark", "benchmark/index.html", "shots, clips and key frames, what was written, what was not."
            ),
            *(
                CoverPart(
                    f"Leaderboard: {name}", f"{name}/index.html", "scores, every dialogue with its video and answers."
                )
                for name in groups
            ),
        ),
        done=(("curate", curation_summary(benchmark)), ("construct", construction_summary(benchmark))),
    )


def weak_points(benchmark: Benchmark, asked: DemoModels, groups: Mapping[str, Sequence[Run]]) -> list[str]:
    """Everything that weakens the numbers, with counts where they are known."""
    videos = benchmark.rows(VIDEOS)
    turns = {name: runs[-1].info.models[0].rows for name, runs in groups.items()}
    counted = ", ".join(f"{count:,} turns in group {name}" for name, count in turns.items()) or "no turns"
    found = [
        f"It is a small sample: {videos:,} video{'s' if videos != 1 else ''}, {counted}. "
        + (
            f"Intervals are clustered by video, and a value has none below {FEWEST_VIDEOS} videos."
            if videos < FEWEST_VIDEOS
            else "Intervals are rough."
        ),
    ]
    if groups:
        found += [
            f"Questions and references are drafts by {asked.model}; nobody has reviewed them. reeltalk review "
            f"{benchmark.path} lets people do that.",
            f"{asked.model} answers its own questions: its score tells how far it agrees with itself, not whether it "
            "is right.",
        ]
    found += [sentence.removeprefix("Warning: ") for sentence in identical_sentences(benchmark_quality(benchmark))]
    if groups and asked.judge is None:
        found.append(
            "No model judged. Word overlap counts a right answer in other words as wrong; --judge NAME judges."
        )
    elif groups and asked.judge == asked.model:
        found.append(f"{asked.judge} also judges its own answers, and judges prefer their own.")
    if asked.sees == "text":
        found.append(
            f"{asked.model} was shown no frame (--sees text). It wrote from the objects that a detector found, "
            "and from nothing where none was given, and it answers blindly."
        )
    unwritten = [gate for gate in benchmark.read(GATES) if gate.outcome is GateOutcome.UNWRITTEN]
    if unwritten:
        kinds = Counter(gate.gate for gate in unwritten)
        raw = sum(bool(gate.raw) for gate in unwritten)
        found.append(
            f"{len(unwritten):,} pieces stayed unwritten ({', '.join(f'{n:,} {kind}' for kind, n in kinds.items())}), "
            f"{raw:,} of them since the model's replies could not be used. Nothing was put in their place; the replies "
            "are in the benchmark's table gates."
        )
    for name, runs in groups.items():
        run = runs[-1]
        states = Counter(str(turn.state) for turn in run.answers())
        if failed := states.total() - states["answered"]:
            found.append(f"{failed:,} of {states.total():,} turns have no answer in group {name}.")
        found += [
            f"{metric_title(row.metric)} in group {name}: {row.unscored:,} of {row.n + row.unscored:,} have no score, "
            "for want of an answer or of a reply of the judge that can be used. They count in no mean."
            for row in run.summary
            if row.model == run.info.models[0].model
            and row.unscored
            and row.metric in (asked.metric(name), "checklist")
        ]
    found += [
        f"{row.video_id} breaks bounds that SVBench chooses videos by, and was taken all the same: "
        f"{'; '.join(str(result.reason) for result in broken)}."
        for row in benchmark.read(SCREENINGS)
        if row.kept and (broken := broken_bounds(CurateSettings(), row))
    ]
    found += [f"{row.record_id} was rejected: {row.reason}." for row in benchmark.read(REJECTED)]
    return found
