"""Films a household: plans the films, then makes each video with its graphs, its talk and a summary.

A film is composed of scenes that are drawn and played one after the other, so that each finds the changes of the one
before. A scene that cannot be played or filmed is drawn anew. Each video is drawn and encoded in its own process.
"""

import functools
import json
import math
import random
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError
from reeltalk.language.vocabulary import INSTANCE, ONTOLOGY, class_of
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.progress import Progress
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Box, KnownBox
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.record import ClipId, Json, VideoId
from reeltalk.schema.speech import Utterance
from reeltalk.store.atomic import write_bytes, writing
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.manifest import hash_file
from reeltalk.store.tables import CLIPS, KNOWN_BOXES, SPEECH, VIDEOS
from reeltalk_build.graph.activity import Counterfactual
from reeltalk_build.graph.rdf import curate_triples, parse_rdf, quads_of
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import beginning_quads
from reeltalk_build.graph.telling import initial_room, tell_scenario
from reeltalk_build.video.write import Caption, write_video
from reeltalk_household.world.activities import Activity, activities, program
from reeltalk_household.world.camera import Camera
from reeltalk_household.world.counterfactuals import counterfactuals
from reeltalk_household.world.facts import activity_triples
from reeltalk_household.world.house import House, Split, build_house
from reeltalk_household.world.scenes import PlayedScene, camera_steps, play_scene, room_of
from reeltalk_household.world.settings import FilmSettings
from reeltalk_household.world.shots import View, on_camera
from reeltalk_household.world.situation import CannotError, Light, ProgramStep, Situation, initial_situation
from reeltalk_household.world.talk import Talk

STAGE: Final = "world film"
MEMORY_BYTES: Final = 1 << 30
CHARACTER: Final = "character"
MOST_REASONS: Final = 5


_house: Final = functools.lru_cache(maxsize=16)(build_house)
"""A film asks for its house again and again."""


class ScenePlan(BaseModel):
    """One scene of a film."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    activity: str
    """The recipe."""
    seed: str
    """Decides everything that the recipe leaves open."""
    clip: str
    """Name of the clip and its graph, such as `Drink_milk3_scene2`."""


class FilmPlan(BaseModel):
    """One video to film, as a worker process receives it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    house: int
    split: Split
    people: tuple[str, ...]
    """Names of those who appear."""
    light: Light
    view: View
    seed: str
    """Decides where things are at the beginning."""
    scenes: tuple[ScenePlan, ...]

    def built(self) -> House:
        """Its house, with only the people who appear."""
        return _house(self.house, self.split).with_people(self.people)


@dataclass(frozen=True)
class Planned:
    """Videos to film, and the number of attempts that failed."""

    plans: tuple[FilmPlan, ...]
    passed_over: dict[str, int]
    """Scenes that could not be played as they were drawn, by reason."""


FEWEST_SCENES: Final = 2
MOST_SCENES: Final = 6
PEOPLE_SHARES: Final = (0.25, 0.45, 0.30)
"""Shares of films with one, two and three people."""
ROLE_WEIGHTS: Final = {1: (1,), 2: (1, 3), 3: (1, 3, 2)}
"""How often a scene needs one, two and three people, by the number of those who appear."""
MOST_LIVELY: Final = 3
EVENING_SHARE: Final = 0.3
FILM_ATTEMPTS: Final = 25
SCENE_ATTEMPTS: Final = 60
USUAL_SCENE_S: Final = 18.0
"""Length of a usual scene, which tells how many scenes fit into a short film."""
SHORT_SCENE_S: Final = 10.0
"""Length of a short scene, which tells how many scenes a long film may need."""
"""How often a film, and a scene of it, is drawn anew."""


def plan_films(settings: FilmSettings) -> Planned:
    """Chooses the films.

    Raises:
        BenchmarkError: A house gives no film under the settings.
    """
    draw = random.Random(f"film {settings.seed}")
    order = list(range(settings.houses))
    draw.shuffle(order)
    split_of: dict[int, Split] = {
        place: "test" if n < settings.test else "dev" if n < settings.test + settings.dev else "train"
        for n, place in enumerate(order)
    }
    numbers: Counter[tuple[str, int]] = Counter()
    passed_over: Counter[str] = Counter()
    plans: list[FilmPlan] = []
    for place, wanted in enumerate(_shares(settings.scenarios, settings.houses)):
        house = build_house(settings.first_house + place, split_of[place])
        for n in range(wanted):
            view = settings.view if settings.view != "mixed" else ("switching", "fixed")[len(plans) % 2]
            plans.append(_planned(house, n + 1, settings, view, numbers, passed_over))
    return Planned(tuple(plans), dict(passed_over))


def _shares(total: int, parts: int) -> list[int]:
    return [total // parts + (n < total % parts) for n in range(parts)]


def _planned(
    house: House,
    number: int,
    settings: FilmSettings,
    view: View,
    numbers: Counter[tuple[str, int]],
    failed: Counter[str],
) -> FilmPlan:
    """One film in a house."""
    for attempt in range(FILM_ATTEMPTS):
        seed = f"{settings.seed} {house.number} {number} {attempt}"
        draw = random.Random(f"composing {seed}")
        count = draw.choices(range(1, len(PEOPLE_SHARES) + 1), PEOPLE_SHARES)[0]
        names = tuple(draw.sample([person.name for person in house.people], count))
        light: Light = "evening" if draw.random() < EVENING_SHARE else "day"
        found = _compose(house.with_people(names), light, view, seed, settings, draw, failed)
        if found is None:
            continue
        scenes = []
        for scene in found:
            numbers[scene.activity.name, house.number] += 1
            clip = f"{scene.activity.name}{numbers[scene.activity.name, house.number]}_{house.scene}"
            scenes.append(ScenePlan(activity=scene.activity.name, seed=scene.seed, clip=clip))
        return FilmPlan(
            id=f"house{house.number}-{number:04d}",
            house=house.number,
            split=house.split,
            people=names,
            light=light,
            view=view,
            seed=seed,
            scenes=tuple(scenes),
        )
    raise BenchmarkError(
        f"house {house.number} gives no film of {settings.min_duration_s:g} to {settings.max_duration_s:g} s after "
        f"{FILM_ATTEMPTS} attempts; allow other lengths"
    )


def _compose(
    house: House,
    light: Light,
    view: View,
    seed: str,
    settings: FilmSettings,
    draw: random.Random,
    failed: Counter[str],
) -> list[PlayedScene] | None:
    """The scenes of a film; None if they do not fit into its length."""
    situation, scenes, said = _beginning(house, light, seed), list[PlayedScene](), set[str]()
    fitting = int(settings.max_duration_s / USUAL_SCENE_S)
    wanted = draw.randint(FEWEST_SCENES, max(FEWEST_SCENES, min(MOST_SCENES, fitting)))
    # A long film needs more scenes, and there are not as many recipes.
    most = max(MOST_SCENES, math.ceil(settings.min_duration_s / SHORT_SCENE_S))
    for attempt in range(SCENE_ATTEMPTS * math.ceil(most / MOST_SCENES)):
        activity = _drawn_activity(len(house.people), draw)
        if activity.name in {scene.activity.name for scene in scenes[-MOST_SCENES:]}:
            continue
        talk = Talk(set(said))
        try:
            start_s = scenes[-1].end_s if scenes else 0.0
            scene = play_scene(
                house, activity, situation, start_s, seed=f"{seed} {attempt}", talk=talk, room_now=_room_now(scenes)
            )
        except CannotError as error:
            failed[re.sub(r"\d+", "", str(error))] += 1
            continue
        # A scene can change where the camera looks at the end of the one before it.
        if not all(on_camera(house, camera_steps([*scenes, scene]), view=view)):
            failed["a step is not on camera"] += 1
            continue
        if scene.end_s > settings.max_duration_s:
            failed["the film is too long with the scene"] += 1
            continue
        scenes.append(scene)
        situation, said = scene.end, talk.used
        if len(scenes) >= wanted and scene.end_s >= settings.min_duration_s:
            return scenes
        if len(scenes) == most:
            break
    long_enough = len(scenes) >= FEWEST_SCENES and scenes[-1].end_s >= settings.min_duration_s
    return scenes if long_enough else None


def _room_now(scenes: Sequence[PlayedScene]) -> str | None:
    return room_of(scenes[-1].steps[-1]) if scenes else None


def _drawn_activity(people: int, draw: random.Random) -> Activity:
    """A recipe for at most so many people: all categories are equally frequent, and lively recipes more than others."""
    roles = draw.choices(range(1, people + 1), ROLE_WEIGHTS[people])[0]
    fitting = [activity for activity in activities().values() if len(activity.roles) == roles]
    category = draw.choice(sorted({activity.category for activity in fitting}))
    own = [activity for activity in fitting if activity.category == category]
    return draw.choices(own, [1 + min(activity.liveliness, MOST_LIVELY) for activity in own])[0]


def _beginning(house: House, light: Light, seed: str) -> Situation:
    draw = random.Random(f"beginning {seed}")
    rooms = [draw.choice(list(house.rooms)) for _ in house.people]
    return initial_situation(house, rooms, light=light, draw=draw)


def play_film(planned: FilmPlan) -> list[PlayedScene]:
    """The scenes of a film, played once more.

    Raises:
        CannotError: One of them cannot be played.
    """
    house = planned.built()
    situation, scenes, talk = _beginning(house, planned.light, planned.seed), list[PlayedScene](), Talk(set())
    for scene in planned.scenes:
        start_s = scenes[-1].end_s if scenes else 0.0
        activity = activities()[scene.activity]
        scenes.append(
            play_scene(house, activity, situation, start_s, seed=scene.seed, talk=talk, room_now=_room_now(scenes))
        )
        situation = scenes[-1].end
    return scenes


def film(
    benchmark: Benchmark, settings: FilmSettings, *, executor: Executor, progress: Progress | None = None
) -> StageReport:
    """Films scenarios into a benchmark: videos, clips, graphs and template summaries.

    Args:
        benchmark: Receives tables, graphs and media; the output of other stages does not change.
        settings: Number, kind and split of the videos.
        executor: Runs one process per video.
        progress: Called with the name of the task, the number of finished videos, the number of all videos, and the
            share.

    Raises:
        BenchmarkError: The benchmark holds other videos, or a video could not be made.
    """
    recorded: dict[str, Json] = settings.model_dump(mode="json")
    entry = benchmark.manifest.files.get(VIDEOS.file_name)
    if entry is not None:
        if (entry.stage, entry.settings, entry.version) == (STAGE, recorded, __version__):
            return StageReport(stage=STAGE, counts={"videos": benchmark.rows(VIDEOS)}, warnings=("it is up to date",))
        raise BenchmarkError(f"{benchmark.path} holds videos of '{entry.stage}' or of other settings; choose another")
    planned = plan_films(settings)
    work = benchmark.path / WORK / "film"
    work.mkdir(parents=True, exist_ok=True)
    open_plans = [p for p in planned.plans if not _is_filmed(work, p, settings)]
    calls = (
        Call(
            {"plan": p.model_dump(mode="json"), "settings": recorded, "folder": str(work)},
            Limits(memory_bytes=MEMORY_BYTES),
        )
        for p in open_plans
    )
    done = len(planned.plans) - len(open_plans)
    for index, outcome in executor.map("reeltalk_household.world.film:film_plan", calls):
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"{open_plans[index].id} could not be filmed: {outcome}")
        done += 1
        if progress is not None:
            progress("filming", done, len(planned.plans), done / len(planned.plans))
    return _write(benchmark, planned, work, recorded)


class FilmRows(BaseModel):
    """What is known about a film without its pictures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    summary: str
    clips: tuple[Clip, ...]
    """One for each scene."""
    talk: tuple[Utterance, ...]
    graphs: tuple[str, ...]
    """Curated N-Quads of each clip."""


class _Filmed(BaseModel):
    """The data that a worker process writes next to the video."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan: FilmPlan
    settings: FilmSettings
    version: str
    video: Video
    rows: FilmRows
    boxes: tuple[tuple[float, str, Box], ...]
    """Time, object and its box, in the order of time."""


def _is_filmed(work: Path, wanted: FilmPlan, settings: FilmSettings) -> bool:
    path = work / f"{wanted.id}.json"
    if not path.is_file() or not (work / f"{wanted.id}.mp4").is_file():
        return False
    made = _Filmed.model_validate_json(path.read_bytes())
    return (made.plan, made.settings, made.version) == (wanted, settings, __version__)


def film_plan(argument: dict[str, Any]) -> str:
    """Films one plan. Runs in a child process.

    Args:
        argument: `plan`, `settings`, and `folder`, which receives the video and its data.

    Returns:
        The video's hash.
    """
    planned, settings = FilmPlan.model_validate(argument["plan"]), FilmSettings.model_validate(argument["settings"])
    house = planned.built()
    scenes = play_film(planned)
    steps = camera_steps(scenes)
    camera = Camera(house, width_px=settings.width_px, fps=settings.fps, view=planned.view, labels=settings.labels)
    target = Path(argument["folder"], f"{planned.id}.mp4")
    # If a node of a cluster was given up too early, two processes film the same plan.
    partial = target.with_suffix(f".{secrets.token_hex(6)}.part")
    captions = [
        Caption(step.start_s, step.end_s, f"{house.person(step.command.person or '').name}: {step.command.says}")
        for step in steps
        if step.command.says is not None
    ]
    pictures = (picture for _, picture in camera.film(steps))
    frames = write_video(partial, pictures, fps=settings.fps, captions=captions)
    partial.replace(target)
    # The last frame is shown to the end of the last tenth of a second, as in the video.
    duration_s = frames / settings.fps
    rows = film_rows(planned, scenes, duration_s=duration_s)
    video = film_video(planned, settings, rows, duration_s=duration_s, sha256=hash_file(target)[0])
    made = _Filmed(
        plan=planned,
        settings=settings,
        version=__version__,
        video=video,
        rows=rows,
        boxes=tuple(camera.boxes(steps, fps=min(settings.boxes_fps, settings.fps))),
    )
    write_bytes(target.with_suffix(".json"), made.model_dump_json().encode())
    return video.sha256 or ""


def film_rows(planned: FilmPlan, scenes: Sequence[PlayedScene], *, duration_s: float | None = None) -> FilmRows:
    """What is known about a film without its pictures."""
    house = planned.built()
    graphs = film_graphs(planned, scenes)
    clips = [
        Clip(
            id=ClipId(scene_plan.clip),
            video_id=VideoId(planned.id),
            interval=Interval(start_s=scene.start_s, end_s=min(scene.end_s, duration_s or scene.end_s)),
            extra={
                "activity": scene.activity.name,
                "category": scene.activity.category,
                "program": program(scene.steps),
            },
        )
        for scene_plan, scene in zip(planned.scenes, scenes, strict=True)
    ]
    talk = [
        Utterance(
            video_id=VideoId(planned.id),
            interval=Interval(start_s=step.start_s, end_s=step.end_s),
            text=step.command.says,
            speaker=house.person(step.command.person).name,
        )
        for scene in scenes
        for step in scene.steps
        if step.command.says is not None and step.command.person is not None
    ]
    summary = _summary([scene.clip for scene in planned.scenes], graphs)
    return FilmRows(summary=summary, clips=tuple(clips), talk=tuple(talk), graphs=tuple(graphs))


def film_video(
    planned: FilmPlan, settings: FilmSettings, rows: FilmRows, *, duration_s: float, sha256: str | None
) -> Video:
    """The record of a film."""
    return Video(
        id=VideoId(planned.id),
        file=f"{planned.id}.mp4",
        sha256=sha256,
        duration_s=duration_s,
        frame_rate=Fraction(settings.fps),
        width_px=settings.width_px,
        height_px=settings.width_px * 9 // 16,
        category="household",
        licence="CC0-1.0",
        source="reeltalk world",
        split=planned.split,
        summaries={"template": rows.summary},
        extra={
            "house": planned.house,
            "people": list(planned.people),
            "style": planned.built().style,
            "light": planned.light,
            "view": planned.view,
            "plan": planned.model_dump(mode="json"),
        },
    )


def film_graphs(planned: FilmPlan, scenes: Sequence[PlayedScene]) -> list[str]:
    """The curated graph of each scene of a film as N-Quads."""
    return [
        scene_graph(
            planned.built(),
            scene_plan.clip,
            scene.activity,
            scene.steps,
            begins_s=scene.start_s,
            next_clip=after,
            others=counterfactuals(planned.built(), scene.steps, seed=scene_plan.seed),
        )
        for scene_plan, scene, after in zip(
            planned.scenes, scenes, [*(s.clip for s in planned.scenes[1:]), None], strict=True
        )
    ]


def scene_graph(
    house: House,
    clip: str,
    activity: Activity,
    steps: Sequence[ProgramStep],
    *,
    begins_s: float,
    next_clip: str | None = None,
    others: Sequence[Counterfactual] = (),
) -> str:
    """The curated graph of steps in a row as N-Quads.

    Args:
        clip: The graph's name.
        activity: Gives the category.
        steps: Steps in the order in which they take effect, each in the situation after the one before.
        begins_s: The time in the video from which the graph counts seconds.
        next_clip: Name of the graph that follows.
        others: What would have happened without one of the steps.
    """
    full = activity_triples(house, clip, activity.category, steps, begins_s=begins_s, others=others)
    if next_clip is not None:
        node, following = f"<{INSTANCE}{clip.lower()}>", f"<{INSTANCE}{next_clip.lower()}>"
        full += f"{node} <{ONTOLOGY}nextActivity> {following} .\n"
    graph = quads_of(curate_triples(parse_rdf(full, file=f"{clip}.nt")), name=clip)
    return graph + beginning_quads(clip, begins_s)


def _summary(clips: Sequence[str], graphs: Sequence[str]) -> str:
    read = [read_activity(text, file=f"{clip}.nq", name=clip) for clip, text in zip(clips, graphs, strict=True)]
    return tell_scenario(read, {graph.name: room for graph in read if (room := initial_room(graph))})


def _write(benchmark: Benchmark, planned: Planned, work: Path, recorded: dict[str, Json]) -> StageReport:
    filmed = [_Filmed.model_validate_json((work / f"{p.id}.json").read_bytes()) for p in planned.plans]
    for made in filmed:
        benchmark.media.add(work / f"{made.plan.id}.mp4")
    clips = [clip for made in filmed for clip in made.rows.clips]
    talk = [utterance for made in filmed for utterance in made.rows.talk]
    boxes = [box for made in filmed for box in _boxes(made)]
    with benchmark.writing(stage=STAGE, settings=recorded) as writer:
        writer.add(VIDEOS, [made.video for made in filmed])
        writer.add(CLIPS, clips)
        if talk:
            writer.add(SPEECH, talk)
        writer.add(KNOWN_BOXES, boxes)
        for made in filmed:
            for clip, quads in zip(made.rows.clips, made.rows.graphs, strict=True):
                writer.add_graph(clip.id, quads)
    shutil.rmtree(work, ignore_errors=True)
    most = Counter(planned.passed_over).most_common(MOST_REASONS)
    passed = tuple(f"scenes drawn anew ({n:,}): {why}" for why, n in most)
    counts = {"videos": len(filmed), "clips": len(clips), "graphs": len(clips)}
    return StageReport(
        stage=STAGE, counts=counts | {"utterances": len(talk), "known boxes": len(boxes)}, warnings=passed
    )


def _boxes(made: _Filmed) -> list[KnownBox]:
    return [
        KnownBox(
            video_id=VideoId(made.plan.id),
            pts_s=time_s,
            box=box,
            class_name="person" if class_of(name) == CHARACTER else class_of(name),
            object=name,
        )
        for time_s, name, box in made.boxes
    ]


SIDECAR_FIELDS: Final = ("licence", "source", "split", "category")
"""Fields of a video that its sidecar holds."""


def write_files(filmed: Benchmark, folder: Path) -> list[Path]:
    """Writes every video of a benchmark as a file, with what is said and its licence, source, split and category.

    Args:
        filmed: The benchmark that `film` made.
        folder: Receives `NAME.mp4`, `NAME.json` and, if anybody talks, `NAME.vtt`; created if it is missing. A video
            that is already there, whole, is not written again.

    Returns:
        The video files, in the order of the table.

    Raises:
        BenchmarkError: The file of a video is missing, or the folder cannot be written.
    """
    talk: dict[str, list[Utterance]] = {}
    for utterance in filmed.read(SPEECH):
        talk.setdefault(utterance.video_id, []).append(utterance)
    return [_write_file(filmed, video, talk.get(video.id, []), folder) for video in filmed.read(VIDEOS)]


def web_subtitles(talk: Sequence[Utterance]) -> str:
    """What is said in a video as WebVTT, with the speakers' names."""
    cues = [
        f"{_clock(spoken.interval.start_s)} --> {_clock(spoken.interval.end_s)}\n<v {spoken.speaker}>{spoken.text}\n"
        for spoken in talk
    ]
    return "\n".join(["WEBVTT\n", *cues])


def _clock(time_s: float) -> str:
    minutes, ms = divmod(round(time_s * 1000), 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{ms // 1000:02d}.{ms % 1000:03d}"


def _write_file(filmed: Benchmark, video: Video, talk: Sequence[Utterance], folder: Path) -> Path:
    if video.sha256 is None or not filmed.media.has(video.sha256):
        raise BenchmarkError(f"the file of video '{video.id}' is not in {filmed.path}; film it into another folder")
    source = filmed.media.whole(video.sha256)
    target = folder / f"{video.id}.mp4"
    said = {name: value for name in SIDECAR_FIELDS if (value := getattr(video, name)) is not None}
    write_bytes(target.with_suffix(".json"), f"{json.dumps(said, indent=0)}\n".encode())
    if talk:
        write_bytes(target.with_suffix(".vtt"), web_subtitles(talk).encode())
    if not target.is_file() or hash_file(target)[0] != video.sha256:
        with writing(target) as stream, source.open("rb") as original:
            shutil.copyfileobj(original, stream)
    return target
