"""What is filmed is what is known: graphs say what was simulated, frames show it, and a run can be repeated."""

import hashlib
import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.graph.rdf import curate_triples, parse_rdf, short_triples
from reeltalk.graph.reading import build_activity, read_graphs
from reeltalk.graph.statistics import count_triples, mean_counts
from reeltalk.graph.vocabulary import SPATIAL
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.knowledge import Box
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, KNOWN_BOXES, VIDEOS
from reeltalk.store.validate import validate
from reeltalk.video.stream import open_video, rgb
from reeltalk.world.activities import activities, perform
from reeltalk.world.camera import Camera
from reeltalk.world.facts import activity_triples
from reeltalk.world.film import film, plan
from reeltalk.world.house import build_house
from reeltalk.world.kinds import COLOURS
from reeltalk.world.settings import FilmSettings
from reeltalk.world.shots import CameraShot
from reeltalk.world.situation import CannotError, ProgramStep, begin

SMALL = FilmSettings(scenarios=3, houses=3, seed=5, width_px=320, fps=2, max_duration_s=75)


RELEASED_PREDICATES = frozenset(
    {"rdf:type", "hasEvent", "action", "mainObject", "targetObject", "situationBeforeEvent", "situationAfterEvent"}
    | {"isStateOf", "state", "bbox", *SPATIAL}
)
"""The 14 predicates of VDAct's released graphs."""


def performed(number: int, names: Iterable[str]) -> list[tuple[str, str, list[ProgramStep]]]:
    house = build_house(number)
    found: list[tuple[str, str, list[ProgramStep]]] = []
    for name in names:
        try:
            steps = perform(house, activities()[name], begin(house, list(house.rooms)[len(found) % 4]))
        except CannotError:
            continue
        found.append((f"{name}1_{house.scene}", activities()[name].category, steps))
    return found


def test_graphs_say_what_was_simulated(full: bool) -> None:
    """State, support and holder of every object that matters, at every situation, full and curated."""
    compared = 0
    for number in (1, 2, 3, 4) if full else (2,):
        house = build_house(number)
        for name, category, steps in performed(number, list(activities())[:: 1 if full else 6]):
            triples = parse_rdf(activity_triples(house, name, category, steps), file="full.nt")
            whole = build_activity(short_triples(triples), name=name, file="full.nt")
            curated = build_activity(short_triples(curate_triples(triples)), name=name, file="curated.nt")
            situations = [steps[0].before, *(step.after for step in steps)]
            for graph in (whole, curated):
                assert graph.category == category
                assert graph.duration_s == pytest.approx(sum(step.duration_s for step in steps))
                for event, step in zip(graph.events, steps, strict=True):
                    assert (event.action, event.main, event.targets) == (
                        step.command.action,
                        step.command.main,
                        step.command.targets,
                    )
                    assert (event.from_room, event.to_room) == (
                        step.before.people["character1"].room,
                        step.after.people["character1"].room,
                    )
                names = graph.main_objects | graph.target_objects if graph is curated else frozenset(house.things)
                for k, situation in enumerate(situations):
                    for thing in names & frozenset(situation.things):
                        state = situation.things[thing]
                        assert graph.values_at(thing, k) == tuple(sorted(state.values)), (name, thing, k)
                        kind = "inside" if state.inside else "on"
                        rests = {(p.kind, p.target.object) for p in graph.placed_at(thing, k)}
                        if state.support in house.things or state.support == "character1":
                            assert (kind, state.support) in rests, (name, thing, k)
                        assert ("inside", state.room) in rests
                        compared += 1
    assert compared > 2000


def test_curating_full_graphs_keeps_a_twentieth() -> None:
    house = build_house(2)
    full, kept = [], []
    for name, category, steps in performed(2, list(activities())[::5]):
        triples = parse_rdf(activity_triples(house, name, category, steps), file="full.nt")
        released = list(short_triples(curate_triples(triples, timed=False)))
        full.append(count_triples(short_triples(triples)))
        kept.append(count_triples(released))
        assert {triple.predicate for triple in released} <= RELEASED_PREDICATES
    whole, part = mean_counts(full), mean_counts(kept)
    assert whole.triples / part.triples > 15
    assert (whole.events, whole.main_objects) == (part.events, part.main_objects)


def frames(number: int, name: str, **options: Any) -> list[tuple[float, np.ndarray[Any, Any]]]:
    house = build_house(number)
    steps = perform(house, activities()[name], begin(house, next(iter(house.rooms))))
    return [(t, picture.copy()) for t, picture in Camera(house, **options).film(steps)]


def test_the_same_film_is_the_same_to_the_last_pixel() -> None:
    one, other = (frames(2, "Watch_television", width_px=320, fps=5) for _ in range(2))
    assert len(one) == len(other)
    assert all(a[0] == b[0] and np.array_equal(a[1], b[1]) for a, b in zip(one, other, strict=True))
    times = [t for t, _ in one]
    assert times == pytest.approx([n / 5 for n in range(len(one))])


def test_frames_show_the_person_and_they_move() -> None:
    house = build_house(1)
    shirt = np.array(COLOURS[house.people[0].shirt])
    pictures = [picture for _, picture in frames(1, "Drink_juice", width_px=640, fps=5, view="fixed")]
    seen = [(np.abs(p.astype(int) - shirt).sum(axis=2) < 30).sum() for p in pictures]
    assert min(seen) > 200, "the shirt is in every frame"
    changed = [np.any(a != b) for a, b in itertools.pairwise(pictures)]
    assert np.mean(changed) > 0.6


def test_a_picture_follows_the_state() -> None:
    """The same room differs where the fridge is open, and is darker where the light is off."""
    house = build_house(1)
    kitchen = next(iter(house.rooms))
    shot = CameraShot(kitchen, 0.0, 6.4)
    steps = perform(house, activities()["Drink_milk"], begin(house, kitchen))
    camera = Camera(house, view="fixed")
    opened = next(step for step in steps if step.command.action == "open")
    before, after = camera.picture(opened, 0.0, shot), camera.picture(opened, 1.0, shot)
    fridge = house.of_class("fridge")[0]
    left, right = (round((fridge.x_m + side * 0.35) * 100) for side in (-1, 1))
    assert np.abs(before[:, left:right].astype(int) - after[:, left:right]).mean() > 8
    dark = perform(house, activities()["Turn_off_kitchen_light"], begin(house, kitchen))
    off = next(step for step in dark if step.command.action == "switchOff")
    assert camera.picture(off, 1.0, shot).mean() < 0.7 * camera.picture(off, 0.0, shot).mean()


def test_views_differ_and_labels_are_off_by_default() -> None:
    fixed, switching = (frames(3, "Watch_television", width_px=320, fps=2, view=v) for v in ("fixed", "switching"))
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(fixed, switching, strict=True))
    labelled = frames(3, "Watch_television", width_px=320, fps=2, view="fixed", labels=True)
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(fixed, labelled, strict=True))


def test_boxes_lie_around_what_is_seen() -> None:
    """The box of the person holds the shirt, and nothing of it lies outside; so with a thing of one colour."""
    house = build_house(1)
    steps = perform(house, activities()["Drink_juice"], begin(house, next(iter(house.rooms))))
    camera = Camera(house, width_px=640, fps=5, view="fixed")
    pictures = dict(camera.film(steps))
    shirt = np.array(COLOURS[house.people[0].shirt])
    found: dict[float, dict[str, Box]] = {}
    for time_s, name, box in camera.boxes(steps, fps=1.0):
        found.setdefault(time_s, {})[name] = box
    assert sorted(found) == list(found) == pytest.approx([float(n) for n in range(len(found))])
    compared = 0
    for time_s, boxes in found.items():
        assert list(boxes) == sorted(boxes)
        assert "character1" in boxes
        box = boxes["character1"]
        rows, columns = np.nonzero(np.abs(pictures[time_s].astype(int) - shirt).sum(axis=2) < 6)
        # Other things may have the colour of the shirt: those that lie in no other box are the shirt's.
        for y, x in zip((rows + 0.5) / 360, (columns + 0.5) / 640, strict=True):
            if not any(
                b.left <= x <= b.right and b.top <= y <= b.bottom for n, b in boxes.items() if n != "character1"
            ):
                assert box.left <= x <= box.right
                assert box.top <= y <= box.bottom
                compared += 1
    assert compared > 1000


def test_what_is_shut_away_or_outside_of_the_picture_has_no_box() -> None:
    house = build_house(1)
    kitchen = next(iter(house.rooms))
    steps = perform(house, activities()["Drink_milk"], begin(house, kitchen))
    camera = Camera(house, view="fixed")
    shot = CameraShot(kitchen, 0.0, 6.4)
    opened = next(step for step in steps if step.command.action == "open")
    milk = house.of_class("milk")[0].name
    assert milk not in camera.seen(opened, 0.0, shot)
    assert milk in camera.seen(opened, 1.0, shot)
    whole = camera.seen(opened, 0.0, shot)
    near = camera.seen(opened, 0.0, CameraShot(kitchen, 1.8, 4.6))
    assert set(near) < set(whole)
    other = list(house.rooms)[1]
    elsewhere = camera.seen(opened, 0.0, CameraShot(other, 0.0, 6.4))
    rooms = {name: house.things[name].room for name in elsewhere if name in house.things}
    assert set(rooms.values()) == {other}


def test_boxes_change_no_frame() -> None:
    house = build_house(2)
    steps = perform(house, activities()["Watch_television"], begin(house, next(iter(house.rooms))))
    plain, boxed = Camera(house, width_px=320, fps=2), Camera(house, width_px=320, fps=2)
    before = list(boxed.boxes(steps, fps=2.0))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(plain.film(steps), boxed.film(steps), strict=True))
    assert before == list(boxed.boxes(steps, fps=2.0))


def tables(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock" and path.name != "manifest.json"
    }


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("film") / "bench"
    film(Benchmark.create(folder), SMALL, executor=LocalExecutor(2))
    return folder


def test_a_filmed_benchmark_is_valid_and_whole(filmed: Path) -> None:
    benchmark = Benchmark.open(filmed)
    assert not validate(benchmark)
    videos, clips = list(benchmark.read(VIDEOS)), list(benchmark.read(CLIPS))
    assert len(videos) == 3
    splits: dict[int, set[str]] = {}
    for video in videos:
        splits.setdefault(video.extra["house"], set()).add(video.split or "")
        assert video.sha256 is not None
        assert video.duration_s is not None
        assert 60 <= video.duration_s <= 75.5
        with open_video(benchmark.media.path(video.sha256)) as source:
            count = 0
            while (picture := source.next_frame()) is not None:
                assert rgb(picture).shape == (180, 320, 3)
                count += 1
        assert count == round(video.duration_s * 2)
        own = [clip for clip in clips if clip.video_id == video.id and clip.interval is not None]
        ends = [0.0, *(clip.interval.end_s for clip in own if clip.interval)]
        assert [clip.interval.start_s for clip in own if clip.interval] == pytest.approx(ends[:-1])
        assert ends[-1] <= video.duration_s
        assert "He walks to the" in video.summaries["template"]
        boxes = [box for box in benchmark.read(KNOWN_BOXES) if box.video_id == video.id]
        assert [box.pts_s for box in boxes] == sorted(box.pts_s for box in boxes)
        assert {box.pts_s for box in boxes} == {float(n) for n in range(int(video.duration_s - 1e-6) + 1)}
        assert {box.class_name for box in boxes if box.object == "character1"} == {"person"}
        assert all(box.object.rstrip("0123456789") == box.class_name for box in boxes if box.object != "character1")
    assert all(len(found) == 1 for found in splits.values())
    assert {video.split for video in videos} == {"train", "test"}
    graphs = read_graphs(filmed)
    assert set(graphs) == {clip.id for clip in clips}
    for clip in clips:
        assert clip.interval is not None
        assert graphs[clip.id].duration_s == pytest.approx(clip.interval.end_s - clip.interval.start_s, abs=0.5)


def test_the_same_seed_gives_the_same_bytes_also_after_an_interruption(filmed: Path, tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "bench")

    def stop(what: str, done: int, total: int, share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        film(benchmark, SMALL, executor=LocalExecutor(1), progress=stop)
    assert not benchmark.rows(VIDEOS)
    kept = list((tmp_path / "bench/.work/film").glob("*.json"))
    assert kept, "what was filmed is kept"
    calls: list[int] = []
    film(benchmark, SMALL, executor=LocalExecutor(2), progress=lambda what, done, total, share: calls.append(done))
    assert min(calls) > len(kept), "and not filmed again"
    assert tables(tmp_path / "bench") == tables(filmed)
    again = film(Benchmark.open(tmp_path / "bench"), SMALL, executor=LocalExecutor(1))
    assert again.warnings == ("it is up to date",)
    with pytest.raises(BenchmarkError, match="other settings"):
        film(Benchmark.open(tmp_path / "bench"), SMALL.model_copy(update={"seed": 6}), executor=LocalExecutor(1))


def test_another_seed_gives_other_scenarios_under_the_same_constraints() -> None:
    one, other = (plan(FilmSettings(scenarios=12, houses=4, seed=seed)) for seed in (1, 2))
    assert [p.activities for p in one.plans] != [p.activities for p in other.plans]
    for planned in one.plans:
        assert 2 <= len(set(planned.activities)) == len(planned.activities) <= 5
    assert len({clip for p in one.plans for clip in p.clips}) == sum(len(p.clips) for p in one.plans)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--width-px", "333"], "width-px"),
        (["--houses", "2", "--test-houses", "3"], "more than 2 houses"),
        (["--houses", "1", "--scenarios", "100000"], "are asked for; use more --houses"),
        (["--fps", "0"], "fps"),
    ],
)
def test_wrong_settings_are_one_sentence(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["world", "film", *options, "--into", str(tmp_path / "bench")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_a_program_of_ones_own_is_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = build_house(1)
    fridge = house.of_class("fridge")[0].name
    (tmp_path / "look.txt").write_text(f"# look\n[WALK] <fridge> ({fridge[6:]})\n[OPEN] <fridge> ({fridge[6:]})\n")
    command = ["world", "play", str(tmp_path / "look.txt"), "--width-px", "320", "--out", str(tmp_path / "look.mp4")]
    assert run(command) == 0
    assert "2 steps" in capsys.readouterr().out
    with open_video(tmp_path / "look.mp4") as source:
        assert source.next_frame() is not None
    assert run(command) == 2
    assert "exists" in capsys.readouterr().err
    (tmp_path / "bad.txt").write_text("[WALK] <fridge> (3)\nopen it\n")
    assert run(["world", "play", str(tmp_path / "bad.txt"), "--out", str(tmp_path / "bad.mp4")]) == 2
    assert "bad.txt:2" in capsys.readouterr().err
    assert not (tmp_path / "bad.mp4").exists()
    assert run(["world", "play", "--house", "2"]) == 0
    assert "<fridge> (" in capsys.readouterr().out


def test_full_graphs_are_exported_and_curated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["world", "play", "--house", "2", "--graphs", str(tmp_path / "full")]) == 0
    assert run(["graph", "curate", str(tmp_path / "full"), "--released", "--out", str(tmp_path / "curated")]) == 0
    assert "triples a graph before" in capsys.readouterr().out
    assert len(list((tmp_path / "curated").iterdir())) >= 40


def test_from_film_to_dialogues_and_pages(filmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import shutil

    bench = tmp_path / "bench"
    shutil.copytree(filmed, bench)
    assert run(["graph", "questions", str(bench), "--turns", "12"]) == 0
    assert "SPARQL agrees on 108 of 108 turns" in capsys.readouterr().out
    assert run(["graph", "questions", str(bench)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert run(["validate", str(bench)]) == 0
    assert run(["report", "--format", "text", str(bench)]) == 0
    out = capsys.readouterr().out
    assert "Table 3" in out
    assert "Figure 2a" in out
    assert run(["graph", "tell", str(bench), "--out", str(tmp_path / "told")]) == 0
    for video in Benchmark.open(bench).read(VIDEOS):
        assert (tmp_path / f"told/{video.id}.txt").read_text() == video.summaries["template"]
    dialogues = [json.loads(line) for line in (bench / "dialogues.jsonl").read_text().splitlines()]
    assert all(len(dialogue["turns"]) == 12 for dialogue in dialogues)
    assert run(["report", str(bench), "--out", str(tmp_path / "site")]) == 0
    page = (tmp_path / "site/scenarios/0001.html").read_text()
    story = sum(1 for part in page.split('class="moment"')) - 1
    import re

    links, targets = set(re.findall(r'href="#(m\d+)"', page)), set(re.findall(r'id="(m\d+)"', page))
    assert links <= targets
    assert len(targets) == story
    assert "<script>" not in page


def test_lengths_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="lower --min-duration-s or raise --max-duration-s"):
        FilmSettings(max_duration_s=40)
