"""What is filmed is what is known: graphs say what was simulated, frames show it, and a run can be repeated."""

import hashlib
import json
import random
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from compared_facts import compare_facts

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.language.vocabulary import CATEGORIES, FEELINGS, SPATIAL
from reeltalk.parallel import LocalExecutor
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, KNOWN_BOXES, SPEECH, VIDEOS
from reeltalk.store.validate import validate
from reeltalk.video.picture import rgb
from reeltalk.video.stream import open_video
from reeltalk_build.graph.activity import people_of
from reeltalk_build.graph.rdf import curate_triples, parse_rdf, short_triples
from reeltalk_build.graph.reading import build_activity, read_graphs
from reeltalk_build.graph.statistics import count_triples, mean_counts
from reeltalk_build.graph.telling import tell_activity
from reeltalk_household.world.activities import activities, perform
from reeltalk_household.world.counterfactuals import counterfactuals, plan_without
from reeltalk_household.world.facts import activity_triples
from reeltalk_household.world.film import FilmPlan, film, film_graphs, plan_films, play_film
from reeltalk_household.world.house import House, build_house
from reeltalk_household.world.performance import carry_out
from reeltalk_household.world.purposes import as_going
from reeltalk_household.world.scenes import PlayedScene, camera_steps
from reeltalk_household.world.settings import FilmSettings
from reeltalk_household.world.shots import on_camera
from reeltalk_household.world.simulation import carry_out_command, take_effect
from reeltalk_household.world.situation import CannotError, Command, ProgramStep, initial_situation

SMALL = FilmSettings(
    scenarios=3, houses=3, seed=5, width_px=320, fps=2, min_duration_s=30, max_duration_s=50, boxes_fps=2
)


RELEASED_PREDICATES = frozenset(
    {"rdf:type", "hasEvent", "action", "mainObject", "targetObject", "situationBeforeEvent", "situationAfterEvent"}
    | {"isStateOf", "state", "bbox", *SPATIAL}
)
"""The 14 predicates of VDAct's released graphs."""


def performed(number: int, names: Iterable[str]) -> list[tuple[str, str, list[ProgramStep]]]:
    house = build_house(number)
    found: list[tuple[str, str, list[ProgramStep]]] = []
    for name in names:
        activity = activities()[name]
        rooms = [list(house.rooms)[len(found) % 4]] * len(activity.roles)
        try:
            steps = perform(house, activity, initial_situation(house, rooms, draw=random.Random(name)))
        except CannotError:
            continue
        found.append((f"{name}1_{house.scene}", activity.category, steps))
    return found


def test_graphs_say_what_was_simulated(full: bool) -> None:
    """Who acts when, what is said, causes, and state, support and holder of every object at every situation."""
    compared = Counter[str]()
    for number in (1, 2, 3, 4) if full else (2,):
        house = build_house(number)
        for name, category, steps in performed(number, list(activities())[:: 1 if full else 4]):
            triples = parse_rdf(activity_triples(house, name, category, steps, begins_s=0.0), file="full.nt")
            whole = build_activity(short_triples(triples), name=name, file="full.nt")
            curated = build_activity(short_triples(curate_triples(triples)), name=name, file="curated.nt")
            situations = [steps[0].before, *(step.after for step in steps)]
            people = tuple(sorted(steps[0].before.people))
            for graph in (whole, curated):
                assert graph.category == category
                assert people_of(graph) == people
                assert graph.names == {person: house.person(person).name for person in people}
                assert graph.duration_s == pytest.approx(max(step.end_s for step in steps))
                for event, step in zip(graph.events, steps, strict=True):
                    command = step.command
                    assert (event.action, event.main, event.targets) == (
                        command.action,
                        command.main,
                        tuple(sorted(command.targets)),
                    )
                    assert (event.agent, event.says, event.speech_act) == (
                        command.person,
                        command.says,
                        command.speech_act,
                    )
                    assert (event.begins_s, event.duration_s, event.cause) == (
                        step.start_s,
                        step.duration_s,
                        step.cause,
                    )
                    compared["causes"] += step.cause is not None
                    if command.person is not None:
                        before, after = step.before.people[command.person], step.after.people[command.person]
                        assert (event.from_room, event.to_room) == (before.room, after.room)
                names = graph.main_objects | graph.target_objects if graph is curated else frozenset(house.things)
                for k, situation in enumerate(situations):
                    for person, agent in situation.people.items():
                        assert graph.room_at(person, k) == agent.room
                        feelings = set(graph.values_at(person, k)) & set(FEELINGS)
                        assert feelings == ({agent.feeling} if agent.feeling else set()), (name, k)
                        compared["feelings"] += bool(feelings)
                    for thing in names & frozenset(situation.things):
                        state = situation.things[thing]
                        assert graph.values_at(thing, k) == tuple(sorted(state.values)), (name, thing, k)
                        kind = "inside" if state.inside else "on"
                        rests = {(p.kind, p.target.object) for p in graph.placed_at(thing, k)}
                        if state.support in house.things or state.support in situation.people:
                            assert (kind, state.support) in rests, (name, thing, k)
                        if thing not in house.floors.values():
                            assert ("inside", state.room) in rests
                        compared["places"] += 1
    assert compared["places"] > 2000
    assert compared["causes"] > 20
    assert compared["feelings"] > 20


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
        assert 30 <= video.duration_s <= 50
        with open_video(benchmark.media.path(video.sha256)) as source:
            count = 0
            while (frame := source.next_frame()) is not None:
                assert rgb(frame.picture).shape == (180, 320, 3)
                count += 1
        assert count == round(video.duration_s * 2)
        own = [clip for clip in clips if clip.video_id == video.id and clip.interval is not None]
        ends = [0.0, *(clip.interval.end_s for clip in own if clip.interval)]
        assert [clip.interval.start_s for clip in own if clip.interval] == pytest.approx(ends[:-1])
        assert ends[-1] <= video.duration_s
        assert all(f"{name} " in video.summaries["template"] for name in video.extra["people"][:1])
        boxes = [box for box in benchmark.read(KNOWN_BOXES) if box.video_id == video.id]
        assert [box.pts_s for box in boxes] == sorted(box.pts_s for box in boxes)
        assert {box.pts_s for box in boxes} == {n / 2 for n in range(int(2 * video.duration_s - 1e-6) + 1)}
        for box in boxes:
            assert box.class_name == box.object.rstrip("0123456789").replace("character", "person")
        said = [spoken for spoken in benchmark.read(SPEECH) if spoken.video_id == video.id]
        assert {spoken.speaker for spoken in said} <= set(video.extra["people"])
        assert sum(spoken.interval.end_s <= video.duration_s for spoken in said) == len(said)
    assert all(len(found) == 1 for found in splits.values())
    assert {video.split for video in videos} == {"train", "dev", "test"}
    graphs = read_graphs(filmed)
    assert set(graphs) == {clip.id for clip in clips}
    for clip in clips:
        assert clip.interval is not None
        assert graphs[clip.id].begins_s == clip.interval.start_s
        assert 0 <= clip.interval.end_s - clip.interval.start_s - (graphs[clip.id].duration_s or 0.0) < 1.0


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


def test_graphs_agree_with_the_pictures_and_the_talk(filmed: Path) -> None:
    agreement = compare_facts(Benchmark.open(filmed), facts=1000)
    assert agreement.disagreements == ()
    assert agreement.compared["actor"] > 30
    assert agreement.compared["thing"] > 5


def test_a_wrong_fact_is_found(filmed: Path, tmp_path: Path) -> None:
    shutil.copytree(filmed, tmp_path / "bench")
    benchmark = Benchmark.open(tmp_path / "bench")
    rows = [
        box.model_copy(update={"object": "character9"}) if box.object == "character1" else box
        for box in benchmark.read(KNOWN_BOXES)
    ]
    with benchmark.writing(stage="a test") as writer:
        writer.add(KNOWN_BOXES, rows)
    agreement = compare_facts(benchmark, facts=1000)
    assert len(agreement.disagreements) > 20
    assert any("character9" in wrong.found for wrong in agreement.disagreements)


@pytest.fixture(scope="module")
def planned(full: bool) -> list[tuple[FilmPlan, list[PlayedScene]]]:
    made = plan_films(FilmSettings(scenarios=300 if full else 36, houses=6, seed=1))
    return [(film, play_film(film)) for film in made.plans]


def test_films_have_one_to_three_people_and_scenes_of_all_categories(
    planned: list[tuple[FilmPlan, list[PlayedScene]]],
) -> None:
    people = Counter(len(made.people) for made, _ in planned)
    assert set(people) == {1, 2, 3}
    assert people[2] > 0.3 * people.total()
    categories = Counter(scene.activity.category for _, scenes in planned for scene in scenes)
    assert set(categories) == set(CATEGORIES)
    assert min(categories.values()) > 0.02 * categories.total()
    assert {made.light for made, _ in planned} == {"day", "evening"}
    clips = [scene.clip for made, _ in planned for scene in made.scenes]
    assert len(set(clips)) == len(clips)
    for made, scenes in planned:
        assert 2 <= len({scene.activity.name for scene in scenes}) == len(scenes) <= 6
        assert 60 <= scenes[-1].end_s <= 180
        assert all(10 <= scene.end_s - scene.start_s <= 41 for scene in scenes)
        assert set(scenes[0].start.people) == {f"character{n + 1}" for n in range(len(made.people))}


def test_everything_that_happens_is_on_camera(planned: list[tuple[FilmPlan, list[PlayedScene]]]) -> None:
    for made, scenes in planned[:: 1 if len(planned) > 100 else 6]:
        steps = camera_steps(scenes)
        assert all(on_camera(made.built(), steps, view=made.view))


def test_a_film_depends_on_its_plan_alone(planned: list[tuple[FilmPlan, list[PlayedScene]]]) -> None:
    made, scenes = planned[7]
    again = play_film(FilmPlan.model_validate_json(made.model_dump_json()))
    assert [scene.steps for scene in again] == [scene.steps for scene in scenes]
    assert film_graphs(made, again) == film_graphs(made, scenes)


def test_things_are_elsewhere_in_each_film_of_a_house(planned: list[tuple[FilmPlan, list[PlayedScene]]]) -> None:
    house = planned[0][0].house
    mugs = Counter(
        frozenset(state.support for name, state in scenes[0].start.things.items() if name.rstrip("0123456789") == "mug")
        for made, scenes in planned
        if made.house == house
    )
    assert len(mugs) > 3


def test_who_acts_and_what_follows_differ_from_film_to_film(planned: list[tuple[FilmPlan, list[PlayedScene]]]) -> None:
    """The recipe does not tell how a scene goes on."""
    stories: dict[str, list[tuple[str, ...]]] = {}
    for _, scenes in planned:
        for scene in scenes:
            told = tuple(step.command.speech_act or step.command.action for step in scene.steps)
            stories.setdefault(scene.activity.name, []).append(told)
    several = [found for found in stories.values() if len(found) > 1]
    assert sum(len(set(found)) for found in several) > 0.9 * sum(map(len, several))


def happens_without(steps: Sequence[ProgramStep], left_out: int, house: House) -> set[int]:
    """What still happens after an event is left out, found anew: step by step, until nothing else falls away."""
    gone = {left_out}
    while True:
        situation, happened = steps[left_out].before, set(range(left_out))
        for number, step in enumerate(steps[left_out + 1 :], left_out + 1):
            needs = [other for other in (step.cause, step.purpose) if other is not None]
            if number in gone or gone & set(needs):
                continue
            command, avoided = step.command, steps[left_out].command
            place = (*command.targets, command.main)[0]
            held_by = situation.things[command.main or ""].support if command.action == "grab" else place
            walk, unlock = Command("walk", place, (), command.person), Command("open", held_by, (), command.person)
            doors = ((unlock,), (walk, unlock)) if command.action in ("grab", "putIn") else ()
            for helps in ((), (walk,), *doors) if command.person is not None else ((),):
                if any((h.person, h.action, h.main) == (avoided.person, avoided.action, avoided.main) for h in helps):
                    continue
                try:
                    managed = situation
                    for help_ in helps:
                        managed = carry_out_command(house, help_, managed).after
                    situation = take_effect(house, as_going(step), managed)
                except CannotError:
                    continue
                happened.add(number)
                break
        fallen = set(range(len(steps))) - happened
        if fallen <= gone:
            return happened
        gone |= fallen


def test_planning_again_finds_every_outcome_without_an_event(
    planned: list[tuple[FilmPlan, list[PlayedScene]]],
) -> None:
    happens, places = Counter[str](), 0
    is_full = len(planned) > 100
    for made, scenes in planned[::2]:
        house = made.built()
        for scene in scenes:
            end = scene.steps[-1].after
            for row in counterfactuals(house, scene.steps, seed=scene.seed):
                if row.aspect == "happens":
                    later, answer = row.outcome.split()
                    assert int(later) > row.event
                    found = happens_without(scene.steps, row.event, house)
                    assert (int(later) in found) == (answer == "yes"), (scene.activity.name, row)
                    happens[answer] += 1
                else:
                    state = end.things[row.name]
                    assert row.outcome != f"{'inside' if state.inside else 'on'} {state.support}"
                    places += 1
    assert happens["no"] > happens["yes"] > (10 if is_full else 5)
    assert places > (10 if is_full else 5)


def test_a_part_of_a_scene_tells_the_outcomes_of_the_whole() -> None:
    house = build_house(1)
    fridge, milk, microwave = (house.of_class(name)[0].name for name in ("fridge", "milk", "microwave"))
    commands = [
        *(Command("walk", fridge), Command("open", fridge), Command("grab", milk), Command("walk", microwave)),
        *(Command("open", microwave), Command("putIn", milk, (microwave,)), Command("close", microwave)),
    ]
    steps = carry_out(house, commands, initial_situation(house, next(iter(house.rooms))))
    order = [step.command.action for step in steps]
    grab, opened = order.index("grab"), order.index("open", order.index("grab"))
    told = range(grab, opened + 1)
    rows = counterfactuals(house, steps, seed="1", shown=told)
    # The microwave is opened for what comes after the part.
    assert opened not in plan_without(house, steps, grab, seed="1").happened
    assert {row.event for row in rows} <= set(range(len(told)))


def test_without_an_event_neither_what_it_caused_nor_what_needs_it_happens() -> None:
    house = build_house(1)
    kitchen = next(iter(house.rooms))
    kettle, fridge, salmon, clock = (house.of_class(name)[0].name for name in ("kettle", "fridge", "salmon", "clock"))
    commands = [
        *(Command("walk", kettle), Command("switchOn", kettle), Command("walk", fridge), Command("open", fridge)),
        *(Command("grab", salmon), Command("close", fridge), Command("lookAt", clock), Command("lookAt", clock)),
    ]
    steps = carry_out(house, commands, initial_situation(house, kitchen))
    order = [step.command.action for step in steps]
    assert "boil" in order
    off = plan_without(house, steps, order.index("switchOn"), seed="program")
    assert order.index("boil") not in off.happened
    assert {order.index("grab"), order.index("close")} <= off.happened
    assert "OFF" in off.end.things[kettle].values
    shut = plan_without(house, steps, order.index("open"), seed="program")
    assert order.index("grab") not in shut.happened
    assert order.index("boil") in shut.happened
    assert shut.end.things[salmon].support == fridge
    nothing = plan_without(house, steps, len(steps) - 1, seed="program")
    assert nothing.happened == frozenset(range(len(steps) - 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--width-px", "333"], "width-px"),
        (["--houses", "2", "--test-houses", "3"], "more than 2 houses"),
        (["--min-duration-s", "20", "--max-duration-s", "25"], "gives no film of 20 to 25 s"),
        (["--fps", "0"], "fps"),
    ],
)
def test_wrong_settings_are_one_sentence(
    options: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    full: bool,
) -> None:
    if not full:
        monkeypatch.setattr("reeltalk_household.world.film.FILM_ATTEMPTS", 2)
    assert run(["world", "film", *options, "--into", str(tmp_path / "bench")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_from_film_to_dialogues_and_counts(filmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_lengths_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="lower --min-duration-s or raise --max-duration-s"):
        FilmSettings(max_duration_s=40)


def test_people_are_told_by_name_with_what_they_say_and_what_happens_by_itself() -> None:
    house = build_house(1)
    anna, other = house.people[0].name, house.people[1].name
    kitchen = next(iter(house.rooms))
    salmon, fridge, kettle = (house.of_class(name)[0].name for name in ("salmon", "fridge", "kettle"))
    commands = [
        *(Command("walk", kettle), Command("switchOn", kettle), Command("walk", fridge), Command("open", fridge)),
        *(Command("grab", salmon), Command("walk", "character2"), Command("give", salmon, ("character2",))),
        Command("say", salmon, ("character1",), "character2", "Thank you!", "thank"),
        Command("smile", None, (), "character1"),
    ]
    steps = carry_out(house, commands, initial_situation(house, [kitchen, kitchen]))
    triples = parse_rdf(activity_triples(house, "Give1_scene1", "Other", steps), file="full.nt")
    graph = build_activity(short_triples(curate_triples(triples)), name="Give1_scene1", file="full.nt")
    told = tell_activity(graph, None)
    assert told[:2] == [f"{anna} is in the kitchen.", f"{other} is in the kitchen."]
    assert f"{anna} gives the salmon to {other}." in told
    assert f'{other} says to {anna}: "Thank you!"' in told
    assert f"{anna} smiles." in told
    assert "The kettle boils." in told
