"""Films scenarios of a household: plans the activities and the house, then makes each video with its graphs and text.

Activities are composed under VDAct's constraints as if each stood alone, and then carried out one after the other, so
that each activity finds the changes of the one before. A scenario that cannot be carried out is skipped and counted.
Each video is drawn and encoded in its own process.
"""

import json
import random
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError
from reeltalk.graph.rdf import curate_triples, parse_rdf, quads_of
from reeltalk.graph.reading import read_activity
from reeltalk.graph.scenario import ActivityCard, ComposeSettings, compose
from reeltalk.graph.telling import initial_room, tell_scenario
from reeltalk.graph.vocabulary import AGENT, INSTANCE, ONTOLOGY, class_of
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.progress import Progress
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Box, KnownBox
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.record import ClipId, Json, VideoId
from reeltalk.store.atomic import write_bytes, writing
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.manifest import hash_file
from reeltalk.store.tables import CLIPS, KNOWN_BOXES, VIDEOS
from reeltalk.video.write import write_video
from reeltalk.world.activities import Activity, activities, perform, program
from reeltalk.world.camera import Camera
from reeltalk.world.facts import activity_triples
from reeltalk.world.house import ROOM_ORDER, House, Split, build_house
from reeltalk.world.settings import FilmSettings
from reeltalk.world.shots import View
from reeltalk.world.situation import CannotError, ProgramStep, begin

STAGE: Final = "world film"
_CARD: Final = re.compile(r"(.+?)(\d+)_scene\d+")
MEMORY_BYTES: Final = 1 << 30


class FilmPlan(BaseModel):
    """One video to film, as a worker process receives it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    house: int
    start_room: str
    """Class of the room in which the person starts."""
    view: View
    activities: tuple[str, ...]
    """Recipes, by name."""
    clips: tuple[str, ...]
    """Name of each activity in this scenario, such as `Drink_milk3_scene2`."""
    split: Split


@dataclass(frozen=True)
class Planned:
    """Videos to film, and the number of skipped scenarios."""

    plans: tuple[FilmPlan, ...]
    passed_over: dict[str, int]
    """Scenarios whose activities could not be carried out one after the other, by reason."""


def plan(settings: FilmSettings) -> Planned:
    """Chooses the scenarios.

    Raises:
        BenchmarkError: The houses do not give enough scenarios.
    """
    draw = random.Random(f"film {settings.seed}")
    order = list(range(settings.houses))
    draw.shuffle(order)
    split_of: dict[int, Split] = {
        place: "test" if n < settings.test else "dev" if n < settings.test + settings.dev else "train"
        for n, place in enumerate(order)
    }
    houses = [build_house(settings.first_house + n, split_of[n]) for n in range(settings.houses)]
    per_house = _shares(settings.scenarios, settings.houses)
    numbers: Counter[tuple[str, int]] = Counter()
    passed_over: Counter[str] = Counter()
    plans: list[FilmPlan] = []
    for house, wanted in zip(houses, per_house, strict=True):
        found = 0
        for scenario in _candidates(house, settings):
            if found == wanted:
                break
            names = [_name_and_room(card)[0] for card in scenario]
            start_room = _name_and_room(scenario[0])[1]
            try:
                steps = [step for part in carry_out_all(house, start_room, names) for step in part]
            except CannotError as error:
                passed_over[re.sub(r"\d+", "", str(error))] += 1
                continue
            length = sum(step.duration_s for step in steps)
            if not settings.min_duration_s <= length <= settings.max_duration_s:
                passed_over["too short or too long once carried out"] += 1
                continue
            clips = []
            for name in names:
                numbers[name, house.number] += 1
                clips.append(f"{name}{numbers[name, house.number]}_{house.scene}")
            view = settings.view if settings.view != "mixed" else ("switching", "fixed")[len(plans) % 2]
            plans.append(
                FilmPlan(
                    id=f"house{house.number}-{found + 1:04d}",
                    house=house.number,
                    start_room=start_room,
                    view=view,
                    activities=tuple(names),
                    clips=tuple(clips),
                    split=house.split,
                )
            )
            found += 1
        if found < wanted:
            raise BenchmarkError(
                f"house {house.number} gives {found:,} scenarios under the constraints and {wanted:,} are asked for; "
                "use more --houses"
            )
    return Planned(tuple(plans), dict(passed_over))


def _name_and_room(card: str) -> tuple[str, str]:
    """The recipe and the start room of a card that `cards` named."""
    match = _CARD.fullmatch(card)
    assert match is not None
    return match[1], ROOM_ORDER[int(match[2]) - 1]


def _shares(total: int, parts: int) -> list[int]:
    return [total // parts + (n < total % parts) for n in range(parts)]


def cards(house: House) -> dict[str, ActivityCard]:
    """Cards of every activity of a house, carried out on its own from every room.

    The number in a card's name is the number of the room.
    """
    made = {}
    for name, activity in activities().items():
        for room in house.rooms.values():
            try:
                steps = perform(house, activity, begin(house, room.name))
            except CannotError:
                continue
            end = house.rooms[steps[-1].after.people[AGENT].room].class_name
            card = f"{name}{ROOM_ORDER.index(room.class_name) + 1}_{house.scene}"
            made[card] = ActivityCard(
                name=card,
                environment=house.scene,
                events=len(steps),
                start_room=room.class_name,
                end_room=end,
                duration_s=sum(step.duration_s for step in steps),
                views=frozenset({"switching", "fixed"}),
                category=activity.category,
            )
    return made


def _candidates(house: House, settings: FilmSettings) -> Iterator[tuple[str, ...]]:
    limits = ComposeSettings(
        max_activities=settings.max_activities,
        lengths="uniform",
        min_duration_s=settings.min_duration_s,
        max_duration_s=settings.max_duration_s,
        seed=settings.seed * 10_000 + house.number,
        attempts=20,
    )
    found = list(compose(cards(house), limits).candidates.values())
    random.Random(f"order {settings.seed} {house.number}").shuffle(found)
    yield from found


def carry_out_all(house: House, start_room: str, names: list[str]) -> list[list[ProgramStep]]:
    """The steps of activities in a row, each in the situation after the one before.

    Raises:
        CannotError: One of them cannot be carried out in its situation.
    """
    room = next(name for name, room in house.rooms.items() if room.class_name == start_room)
    situation = begin(house, room)
    parts: list[list[ProgramStep]] = []
    for name in names:
        steps = perform(house, activities()[name], situation, parts[-1][-1].end_s if parts else 0.0)
        parts.append(steps)
        situation = steps[-1].after
    return parts


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
    planned = plan(settings)
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
    for index, outcome in executor.map("reeltalk.world.film:film_plan", calls):
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"{open_plans[index].id} could not be filmed: {outcome}")
        done += 1
        if progress is not None:
            progress("filming", done, len(planned.plans), done / len(planned.plans))
    return _write(benchmark, planned, work, recorded)


class _Filmed(BaseModel):
    """The data that a worker process writes next to the video."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan: FilmPlan
    settings: FilmSettings
    version: str
    sha256: str
    duration_s: float
    ends_s: tuple[float, ...]
    """End of each clip."""
    graphs: tuple[str, ...]
    """Curated N-Quads of each clip."""
    programs: tuple[str, ...]
    summary: str
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
    house = build_house(planned.house, planned.split)
    parts = carry_out_all(house, planned.start_room, list(planned.activities))
    steps = [step for part in parts for step in part]
    camera = Camera(house, width_px=settings.width_px, fps=settings.fps, view=planned.view, labels=settings.labels)
    target = Path(argument["folder"], f"{planned.id}.mp4")
    # If a node of a cluster was given up too early, two processes film the same plan.
    partial = target.with_suffix(f".{secrets.token_hex(6)}.part")
    frames = write_video(partial, (picture for _, picture in camera.film(steps)), fps=settings.fps)
    partial.replace(target)
    ends, end = [], 0.0
    for part in parts:
        end += sum(step.duration_s for step in part)
        ends.append(round(end, 3))
    known = [activities()[name] for name in planned.activities]
    graphs = clip_graphs(house, planned.clips, known, parts)
    # The last frame is shown to the end of the last tenth of a second, as in the video.
    duration_s = frames / settings.fps
    made = _Filmed(
        plan=planned,
        settings=settings,
        version=__version__,
        sha256=hash_file(target)[0],
        duration_s=duration_s,
        ends_s=tuple(ends),
        graphs=tuple(graphs),
        programs=tuple(program(part) for part in parts),
        summary=_summary(planned.clips, graphs),
        boxes=tuple(camera.boxes(steps, fps=min(settings.boxes_fps, settings.fps))),
    )
    write_bytes(target.with_suffix(".json"), made.model_dump_json().encode())
    return made.sha256


def clip_graphs(
    house: House, clips: Sequence[str], known: Sequence[Activity], parts: Sequence[Sequence[ProgramStep]]
) -> list[str]:
    """The curated graph of each activity as N-Quads, with a `nextActivity` to the next one."""
    graphs = []
    for index, (clip, activity, steps) in enumerate(zip(clips, known, parts, strict=True)):
        full = activity_triples(house, clip, activity.category, steps)
        if index + 1 < len(clips):
            node, following = f"<{INSTANCE}{clip.lower()}>", f"<{INSTANCE}{clips[index + 1].lower()}>"
            full += f"{node} <{ONTOLOGY}nextActivity> {following} .\n"
        graphs.append(quads_of(curate_triples(parse_rdf(full, file=f"{clip}.nt")), name=clip))
    return graphs


def _summary(clips: Sequence[str], graphs: Sequence[str]) -> str:
    read = [read_activity(text, file=f"{clip}.nq", name=clip) for clip, text in zip(clips, graphs, strict=True)]
    return tell_scenario(read, {graph.name: room for graph in read if (room := initial_room(graph))})


def _write(benchmark: Benchmark, planned: Planned, work: Path, recorded: dict[str, Json]) -> StageReport:
    filmed = [_Filmed.model_validate_json((work / f"{p.id}.json").read_bytes()) for p in planned.plans]
    for made in filmed:
        benchmark.media.add(work / f"{made.plan.id}.mp4")
    clips = [clip for made in filmed for clip in _clips(made)]
    boxes = [box for made in filmed for box in _boxes(made)]
    with benchmark.writing(stage=STAGE, settings=recorded) as writer:
        writer.add(VIDEOS, [_video(made) for made in filmed])
        writer.add(CLIPS, clips)
        writer.add(KNOWN_BOXES, boxes)
        for made in filmed:
            for clip, quads in zip(made.plan.clips, made.graphs, strict=True):
                writer.add_graph(clip, quads)
    shutil.rmtree(work, ignore_errors=True)
    passed = tuple(f"scenarios passed over ({n:,}): {why}" for why, n in sorted(planned.passed_over.items()))
    counts = {"videos": len(filmed), "clips": len(clips), "graphs": len(clips), "known boxes": len(boxes)}
    return StageReport(stage=STAGE, counts=counts, warnings=passed)


def _video(made: _Filmed) -> Video:
    settings = made.settings
    return Video(
        id=VideoId(made.plan.id),
        file=f"{made.plan.id}.mp4",
        sha256=made.sha256,
        duration_s=made.duration_s,
        frame_rate=Fraction(settings.fps),
        width_px=settings.width_px,
        height_px=settings.width_px * 9 // 16,
        category="household",
        licence="CC0-1.0",
        source="reeltalk world",
        split=made.plan.split,
        summaries={"template": made.summary},
        extra={"house": made.plan.house, "view": made.plan.view},
    )


def _clips(made: _Filmed) -> list[Clip]:
    starts = (0.0, *made.ends_s[:-1])
    return [
        Clip(
            id=ClipId(clip),
            video_id=VideoId(made.plan.id),
            interval=Interval(start_s=start, end_s=min(end, made.duration_s)),
            extra={"activity": name, "category": activities()[name].category, "program": text},
        )
        for clip, name, text, start, end in zip(
            made.plan.clips, made.plan.activities, made.programs, starts, made.ends_s, strict=True
        )
    ]


def _boxes(made: _Filmed) -> list[KnownBox]:
    return [
        KnownBox(
            video_id=VideoId(made.plan.id),
            pts_s=time_s,
            box=box,
            class_name="person" if name == AGENT else class_of(name),
            object=name,
        )
        for time_s, name, box in made.boxes
    ]


SAID: Final = ("licence", "source", "split", "category")
"""Fields of a video that its sidecar holds."""


def write_files(filmed: Benchmark, folder: Path) -> list[Path]:
    """Writes every video of a benchmark as a file, with a sidecar that gives its licence, source, split and category.

    Args:
        filmed: The benchmark that `film` made.
        folder: Receives `NAME.mp4` and `NAME.json`; created if it is missing. A file that is already there, whole, is
            not written again.

    Returns:
        The video files, in the order of the table.

    Raises:
        BenchmarkError: The file of a video is missing, or the folder cannot be written.
    """
    return [_write_file(filmed, video, folder) for video in filmed.read(VIDEOS)]


def _write_file(filmed: Benchmark, video: Video, folder: Path) -> Path:
    if video.sha256 is None or not filmed.media.has(video.sha256):
        raise BenchmarkError(f"the file of video '{video.id}' is not in {filmed.path}; film it into another folder")
    source = filmed.media.whole(video.sha256)
    target = folder / f"{video.id}.mp4"
    said = {name: value for name in SAID if (value := getattr(video, name)) is not None}
    write_bytes(target.with_suffix(".json"), f"{json.dumps(said, indent=0)}\n".encode())
    if not target.is_file() or hash_file(target)[0] != video.sha256:
        with writing(target) as stream, source.open("rb") as original:
            shutil.copyfileobj(original, stream)
    return target
