"""reeltalk-mini's training: what it learns from, and that it goes on where it stopped."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from safetensors.torch import load_file

from reeltalk.errors import BenchmarkError, InputError, ModelError
from reeltalk.language.vocabulary import class_of
from reeltalk.parallel.local import LocalExecutor
from reeltalk.schema.intervals import Interval, no_later
from reeltalk.schema.speech import Utterance
from reeltalk.store.benchmark import Benchmark
from reeltalk_household.mini.mini_input import (
    ANSWER,
    END,
    HEARD,
    PAD,
    PEOPLE,
    QUESTION,
    SAYS,
    TAG_HIGH_PX,
    TAG_WIDE_PX,
    MiniShape,
    MiniWords,
)
from reeltalk_household.questions.wording import LESSONS, forms, forms_of, write_dialogue
from reeltalk_household.training.household import (
    FilmedVideo,
    LabelWords,
    Seconds,
    SeenPerson,
    _tagged,
    effect_s,
    filmed_videos,
    middle_of,
)
from reeltalk_household.training.lessons import FRAME, NOT_LEARNED, Interleaved, Lessons, TokenWords, batch_of
from reeltalk_household.training.mini_training import LOSSES, STATE, corpus, train_mini, train_words
from reeltalk_household.training.network import GLIMPSES, Mini
from reeltalk_household.training.speech import losses_of, optimisers_of, train_speech
from reeltalk_household.training.tags import LONGEST, SHORTEST, draw_name, invented_name, tag_size, tagged_parts
from reeltalk_household.training.vision import (
    Frames,
    boxes_of,
    cells_of,
    finding_loss,
    letters_loss,
    match_people,
    shown_cells,
    vary_colours,
)
from reeltalk_household.world import bubbles
from reeltalk_streaming.training.settings import MiniSettings, SpeechSettings, VisionSettings

SETTINGS = MiniSettings(
    seed=3,
    eye=VisionSettings(steps=4, batch=4, warmup=1, bf16=False),
    speech=SpeechSettings(steps=6, batch=2, warmup=1, bf16=False),
    vocabulary=400,
    save_every=1,
    threads=1,
)


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frames")


@pytest.fixture(scope="module")
def videos(filmed_household: Path, frames: Path) -> list[FilmedVideo]:
    return filmed_videos(
        Benchmark.open(filmed_household), "train", MiniShape(), folder=frames, executor=LocalExecutor(1)
    )


@pytest.fixture(scope="module")
def words(videos: list[FilmedVideo], tmp_path_factory: pytest.TempPathFactory) -> MiniWords:
    path = tmp_path_factory.mktemp("words") / "tokenizer.json"
    train_words(corpus(videos, 1), 400, path)
    return MiniWords(path)


def test_a_frame_is_labelled_with_what_each_person_in_it_does(videos: list[FilmedVideo]) -> None:
    shape = MiniShape()
    for video in videos:
        assert video.pixels().shape == (len(video.times_s), shape.height_px, shape.width_px, 3)
        for time_s, second in zip(video.times_s, video.labels, strict=True):
            going_on = {
                event.action
                for event in video.story().events
                if event.interval is not None and event.interval.start_s <= time_s < event.interval.end_s - 1e-6
            }
            assert {person.action for person in second.people} - {None} <= going_on
            middles = [person.box[0] + person.box[2] for person in second.people if person.box is not None]
            assert middles == sorted(middles)


def test_what_is_held_is_what_was_taken_and_not_yet_put_down(videos: list[FilmedVideo]) -> None:
    held = 0
    for video in videos:
        for time_s, second in zip(video.times_s, video.labels, strict=True):
            done = [event for event in video.story().events if no_later(effect_s(event), time_s)]
            taken = {event.main for event in done if event.action == "grab"}
            for person in second.people:
                held += person.held is not None
                assert person.held is None or person.held in {class_of(name or "") for name in taken}
    assert held > 0


def test_where_the_eye_shall_look_lies_in_the_known_boxes(videos: list[FilmedVideo]) -> None:
    person = next(person for second in videos[0].labels for person in second.people)
    high, wide = MiniShape().cells_high, MiniShape().cells_wide
    for box in boxes_of(person):
        cells = cells_of(box, high, wide).reshape(high, wide)
        assert (cells.sum() > 0) == (box is not None)
        if box is not None:
            rows, columns = np.nonzero(cells)
            assert box[0] - 1 / wide <= columns.min() / wide <= columns.max() / wide <= box[2]
            assert box[1] - 1 / high <= rows.min() / high <= rows.max() / high <= box[3]


def test_a_mirror_turns_the_order_of_people_around(videos: list[FilmedVideo]) -> None:
    shape = MiniShape()
    two = tuple(
        SeenPerson(action=action, looks=(look,), box=box)
        for action, look, box in (
            ("walk", "shirt_red", (0.1, 0.2, 0.3, 0.9)),
            ("sit", "shirt_blue", (0.6, 0.2, 0.8, 0.9)),
        )
    )
    peopled = replace(videos[0], labels=(Seconds(people=two),) * len(videos[0].times_s))
    words = LabelWords.of([peopled])
    frames, chosen = Frames.of([peopled], words, shape), np.array([[0, 0], [0, 0]])
    mirrored = np.array([False, True])
    pictures, labels = frames.batch(chosen, mirrored=mirrored)
    assert torch.equal(pictures[1], pictures[0].flip(-1))
    assert labels["action"][1].tolist() == labels["action"][0, [1, 0, 2]].tolist()
    assert labels["looks"][1].tolist() == labels["looks"][0, [1, 0, 2]].tolist()
    assert labels["present"].tolist() == [[1, 1, 0]] * 2
    where = frames.where(chosen, mirrored=mirrored).view(2, shape.people, -1, shape.cells_high, shape.cells_wide)
    assert torch.equal(where[1, :2], where[0, [1, 0]].flip(-1))
    half = shape.cells_wide // 2
    assert where[1, 0, ..., :half].sum() > 0 == where[1, 1, ..., :half].sum()
    people = frames.people(chosen, mirrored=mirrored)
    wide = shape.cells_wide
    assert (people // wide).tolist() == [[int(0.55 * shape.cells_high)] * 2 + [-1]] * 2
    assert (people[:, :2] % wide).tolist() == [[int(0.2 * wide), int(0.7 * wide)], [int(0.3 * wide), int(0.8 * wide)]]


def test_who_came_into_the_picture_a_short_while_ago_has_a_name_above_the_head() -> None:
    bed, anna = (0.5, 0.5, 0.9, 0.9), (0.1, 0.2, 0.3, 0.9)
    view = {"bed1": bed}
    came = [view, view | {"character1": anna}] + [view | {"character1": anna}] * 4
    times = [float(n) for n in range(len(came))]
    found = [shown.get("character1", "away") for shown in _tagged(times, came)]
    # Anna came at a time from 0 to 1 s, and her name is shown for 2.5 s.
    assert found == ["away", True, True, None, False, False]
    near = {"bed1": (0.2, 0.5, 0.9, 0.9), "character1": anna}
    cut = [*came, near]
    assert _tagged([*times, 6.0], cut)[-1]["character1"] is True


def test_the_loss_of_letters_falls_when_a_name_is_read() -> None:
    letters = torch.zeros(2, 2, 24, 27)
    names: list[list[str | None]] = [["Anna", None], ["", None]]
    before = letters_loss(letters, names)
    for at, letter in enumerate("a nn na"):
        letters[0, 0, 2 * at, 0 if letter == " " else ord(letter) - 96] = 20.0
    letters[1, 0, :, 0] = 20.0
    assert float(letters_loss(letters, names)) < 0.7 * float(before)
    letters[:, 1] = 5.0 * torch.randn(2, 24, 27)
    assert float(letters_loss(letters, [[None, None]] * 2)) == 0


def test_people_of_a_lesson_have_marks_in_texts_and_at_their_tokens(
    videos: list[FilmedVideo], words: MiniWords
) -> None:
    found = 0
    lessons = Lessons(videos, words, 4, seed=11)
    shape = MiniShape(vocabulary=words.size)
    for number in range(16):
        place, lesson = lessons.lesson(number)
        tokens = np.zeros((len(videos[place].times_s), 4, shape.vision_width), np.float32)
        batch = batch_of([lesson], [tokens], [lessons.names[place]])
        names = [second.names for second in videos[place].labels]
        for frame, marks in zip(lesson.frames, batch.marks.tolist(), strict=True):
            assert marks == [PAD, *(lesson.people.get(name or "", PAD) for name in names[frame])]
        found += sum(word in PEOPLE for word in lesson.ids)
        assert set(lesson.ids) & set(PEOPLE) <= set(lesson.people.values())
    assert found > 0


def test_close_looks_are_sent_to_the_middle_of_what_they_shall_tell(videos: list[FilmedVideo]) -> None:
    shape = MiniShape()
    where = torch.zeros(40, shape.people, len(GLIMPSES), shape.cells_high, shape.cells_wide)
    where[:, 1, 3, 4:9, 10:13] = 1
    cells = shown_cells(where.flatten(3), shape, np.random.default_rng(1))
    assert (cells[:, [0, 2]] == -1).all()
    assert (cells[:, 1, [0, 2, 3]] == -1).all()
    told = cells[:, 1, 1]
    assert 0 < (told >= 0).sum() < 40
    rows, columns = told[told >= 0] // shape.cells_wide, told[told >= 0] % shape.cells_wide
    assert ((rows - 6).abs() <= 1).all()
    assert ((columns - 11).abs() <= 1).all()


def test_a_place_of_a_thing_is_in_its_box_and_in_no_smaller_one(videos: list[FilmedVideo]) -> None:
    shape, words = MiniShape(), LabelWords.of(videos)
    frames = Frames.of(videos, words, shape)
    chosen = frames.places[:: max(1, len(frames.places) // 12)]
    mirrored = np.arange(len(chosen)) % 2 == 1
    places, labels = frames.things(chosen, mirrored=mirrored, draw=np.random.default_rng(1))
    assert len(places) == len(labels["kind"]) > len(chosen)
    for (row, cell), kind in zip(places.tolist(), labels["kind"].tolist(), strict=True):
        v, t = chosen[row]
        column, line = cell % shape.cells_wide, cell // shape.cells_wide
        x, y = (column + 0.5) / shape.cells_wide, (line + 0.5) / shape.cells_high
        x = 1 - x if mirrored[row] else x
        near = [
            thing
            for thing in videos[v].labels[t].things
            if abs(x - middle_of(thing.box)[0]) <= (thing.box[2] - thing.box[0]) / 4 + 0.5 / shape.cells_wide
            and abs(y - middle_of(thing.box)[1]) <= (thing.box[3] - thing.box[1]) / 4 + 0.5 / shape.cells_high
        ]
        assert words.words["kind"][kind - 1] in {thing.kind for thing in near}


def test_who_is_found_is_whoever_has_the_nearest_middle() -> None:
    shape = MiniShape()
    wide, high = shape.cells_wide, shape.cells_high
    second = Seconds(people=(SeenPerson(box=(0.1, 0.2, 0.3, 0.8)), SeenPerson(box=(0.2, 0.2, 0.4, 0.8))))
    cells = [(high // 2) * wide + int(x * wide) for x in (0.21, 0.29, 0.9)]
    assert match_people(second, np.array([cells[0], cells[1], -1]), shape).tolist() == [0, 1, -1]
    assert match_people(second, np.array([cells[1], cells[2], -1]), shape).tolist() == [1, -1, -1]
    assert match_people(second, np.array([cells[0], cells[0] + 1, -1]), shape).tolist() == [0, 1, -1]


def test_cells_around_the_middle_of_somebody_count_neither_as_right_nor_as_wrong() -> None:
    shape = MiniShape()
    wide = shape.cells_wide
    people = torch.tensor([[5 * wide + 5, -1, -1], [-1, -1, -1]])
    heat = torch.full((2, shape.cells_high * wide), -9.0)
    heat[0, 5 * wide + 5] = 9.0
    right = float(finding_loss(heat, people, shape))
    heat[0, 4 * wide + 4] = heat[0, 6 * wide + 5] = 9.0
    assert float(finding_loss(heat, people, shape)) == pytest.approx(right)
    heat[0, 5 * wide + 7] = 9.0
    further = float(finding_loss(heat, people, shape))
    assert further > right + 0.5
    heat[1, 3] = 9.0
    assert float(finding_loss(heat, people, shape)) > further + 0.5


def test_tags_of_invented_names_look_like_those_of_films() -> None:
    draw = random.Random(3)
    for _ in range(20):
        name, shirt = invented_name(draw), (draw.randrange(256), 40, 90)
        assert SHORTEST <= len(name) <= LONGEST
        assert name.isalpha()
        left, top, right, bottom = bubbles.tag_box(name, 320, 180, 640)
        film = np.full((360, 640, 3), 200, np.uint8)
        own = film.copy()
        bubbles.draw_tag(film, name, (left, top, right, bottom), shirt)
        assert tag_size(name) == (right - left, bottom - top)
        draw_name(own, name, left, top, shirt)
        assert np.array_equal(own, film)
    picture = np.full((180, 320, 3), 200, np.uint8)
    parts, names = tagged_parts([picture] * 60, draw)
    assert parts.shape == (60, TAG_HIGH_PX, TAG_WIDE_PX, 3)
    for part, name in zip(parts, names, strict=True):
        assert (part.min() < 100) == bool(name)


def test_varied_pictures_stay_near_their_colours() -> None:
    pictures = torch.rand(6, 6, 36, 64)
    other = vary_colours(pictures, np.random.default_rng(2))
    assert 0 <= float(other.min()) <= float(other.max()) <= 1
    assert 0 < float((other - pictures).abs().mean()) < 0.1


def test_no_lesson_has_a_surface_form_of_another_split(videos: list[FilmedVideo]) -> None:
    for seed in range(20):
        turns, _ = write_dialogue(videos[0].story(), split=LESSONS, seed=seed, turns=16)
        train = {form.name for kind in forms() for ref in (False, True) for form in forms_of(kind, "train", ref=ref)}
        assert {str(turn.extra["form"]) for turn in turns} <= train


def test_a_lesson_is_the_same_whenever_it_is_drawn_and_each_video_comes_once_a_round(
    videos: list[FilmedVideo], words: MiniWords
) -> None:
    lessons = Lessons(videos, words, 2, seed=9)
    first = [lessons.lesson(number) for number in range(6)]
    assert {place for place, _ in first[: len(videos)]} == set(range(len(videos)))
    again = Lessons(videos, words, 2, seed=9)
    for number in (5, 0, 3):
        assert again.lesson(number)[1].ids == first[number][1].ids


def test_only_what_follows_the_mark_of_an_answer_is_learned(videos: list[FilmedVideo], words: MiniWords) -> None:
    lessons = Lessons(videos, words, 2, seed=4)
    for number in range(24):
        _, lesson = lessons.lesson(number)
        ids, learning = lesson.ids, False
        for place, word in enumerate(ids):
            if word in (ANSWER, SAYS):
                learning = True
            if word == END:
                learning = False
            expected = ids[place + 1] if learning else NOT_LEARNED
            assert lesson.learned[place] == expected
        assert ids.count(FRAME) == 2 * len(lesson.frames)
        assert lesson.frames == sorted(set(lesson.frames))


def test_questions_come_after_the_frames_that_they_are_about(videos: list[FilmedVideo], words: MiniWords) -> None:
    lessons = Lessons(videos, words, 2, seed=4)
    for number in range(12):
        _, lesson = lessons.lesson(number)
        assert lesson.ids.index(QUESTION) > lesson.ids.index(FRAME)


def test_what_is_said_in_a_video_is_heard_when_it_has_ended(videos: list[FilmedVideo], words: MiniWords) -> None:
    said = tuple(
        Utterance(video_id=video.video.id, interval=Interval(start_s=at_s - 1.5, end_s=at_s), text=f"It is {at_s:.0f}.")
        for video in videos[:1]
        for at_s in (4.0, 9.0)
    )
    lessons, found = Lessons([replace(videos[0], speech=said)], words, 2, seed=4), 0
    for number in range(12):
        _, lesson = lessons.lesson(number)
        heard = [place for place, word in enumerate(lesson.ids) if word == HEARD]
        found += len(heard)
        for place in heard:
            assert lesson.learned[place] == NOT_LEARNED
            shown = sum(word == FRAME for word in lesson.ids[:place]) // 2
            line = words.text(lesson.ids[place + 1 : lesson.ids.index(END, place)])
            assert shown == 0 or lesson.frames[shown - 1] < float(line.strip("It is."))
    assert found > 0


def test_what_is_due_is_said_after_its_moment_begins(videos: list[FilmedVideo], words: MiniWords) -> None:
    lessons, found = Lessons(videos, words, 2, seed=4), 0
    for number in range(60):
        _, lesson = lessons.lesson(number)
        for place, ready in enumerate(lesson.ready):
            if ready == 1.0:
                found += 1
                assert lesson.ids[place] == FRAME
                assert lesson.ids[place + 1] == SAYS
        assert lesson.ids.count(SAYS) == sum(ready == 1.0 for ready in lesson.ready)
    assert found > 0


def test_shorter_sequences_of_a_batch_give_the_losses_that_they_give_alone(words: MiniWords) -> None:
    torch.manual_seed(0)
    shape = MiniShape(vocabulary=words.size, frame_tokens=2)
    model = Mini(shape).eval()
    draw = np.random.default_rng(0)
    features = [draw.random((5, 2, shape.vision_width)).astype(np.float32) for _ in range(2)]
    both = []
    for length, answer in ((5, "In the kitchen."), (2, "He picks up the mug and the plate.")):
        sequence = Interleaved(words, 2)
        for index in range(length):
            sequence.frame(index, float(index))
        sequence.ask("Where is he?", answer)
        both.append(sequence)
    with torch.no_grad():
        names = [[[TokenWords((9,)), TokenWords()]] * 5] * 2
        alone = [
            float(losses_of(model, batch_of([s], [f], names[:1])).words) for s, f in zip(both, features, strict=True)
        ]
        counts = [sum(word != NOT_LEARNED for word in s.learned) for s in both]
        together = float(losses_of(model, batch_of(both, features, names)).words)
    assert together == pytest.approx(np.average(alone, weights=counts), abs=1e-5)


class Stopped(Exception):
    pass


@pytest.fixture(scope="module")
def training(full: bool) -> MiniSettings:
    """`SETTINGS`, with half of the steps where the counts are not full."""
    eye, speech = SETTINGS.eye.model_copy(update={"steps": 2}), SETTINGS.speech.model_copy(update={"steps": 3})
    return SETTINGS if full else SETTINGS.model_copy(update={"eye": eye, "speech": speech})


SMALL = MiniShape(
    channels=(8, 8, 16, 16), person_glimpses=7, glimpses=2, glimpse_width=16, close_px=16, close_width=16,
    vision_width=16, width=48, layers=1, heads=2, hidden=64,
)  # fmt: skip


@pytest.fixture(scope="module")
def sizes(full: bool) -> MiniShape:
    """Those of the shipped network; smaller ones, which read the same frames, where the counts are not full."""
    return MiniShape() if full else SMALL


@pytest.fixture(scope="module")
def trained(
    training: MiniSettings,
    sizes: MiniShape,
    filmed_household: Path,
    frames: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A folder of a training that nothing interrupted."""
    folder = tmp_path_factory.mktemp("trained") / "whole"
    benchmark = Benchmark.open(filmed_household)
    train_mini(benchmark, folder, training, frames=frames, executor=LocalExecutor(1), sizes=sizes)
    return folder


PARTS = ("learning to see", "learning to answer")


@pytest.mark.parametrize("parts", [PARTS, *(pytest.param((part,), marks=pytest.mark.slow) for part in PARTS)], ids=str)
def test_training_that_was_interrupted_goes_on_to_the_same_loss_curve_and_weights(
    training: MiniSettings,
    sizes: MiniShape,
    filmed_household: Path,
    frames: Path,
    trained: Path,
    tmp_path: Path,
    parts: tuple[str, ...],
) -> None:
    train = partial(
        train_mini, Benchmark.open(filmed_household), tmp_path / "parts", training, frames=frames,
        executor=LocalExecutor(1), sizes=sizes,
    )  # fmt: skip
    steps = {PARTS[0]: training.eye.steps // 2, PARTS[1]: training.speech.steps * 2 // 3}
    stops = [(part, steps[part]) for part in parts]

    def stop(at: str, done: int, of: int, share: float) -> None:
        if stops and (at, done) == stops[0]:
            del stops[0]
            raise Stopped

    while stops:
        with pytest.raises(Stopped):
            train(progress=stop)
    train()
    curves = [
        [json.loads(line) for line in (folder / LOSSES).read_text(encoding="utf-8").splitlines()]
        for folder in (trained, tmp_path / "parts")
    ]
    assert len(curves[0]) == len(curves[1]) == training.eye.steps + training.speech.steps
    for one, other in zip(*curves, strict=True):
        assert {**one, "took_s": 0} == pytest.approx({**other, "took_s": 0}, abs=1e-6)
    weights = [load_file(folder / STATE) for folder in (trained, tmp_path / "parts")]
    for name, tensor in weights[0].items():
        torch.testing.assert_close(tensor, weights[1][name], atol=1e-6, rtol=0)


def test_a_folder_of_another_training_is_refused(
    training: MiniSettings, sizes: MiniShape, filmed_household: Path, frames: Path, trained: Path
) -> None:
    benchmark, executor = Benchmark.open(filmed_household), LocalExecutor(1)
    other = training.model_copy(update={"seed": 4})
    with pytest.raises(InputError, match="other settings"):
        train_mini(benchmark, trained, other, frames=frames, executor=executor, sizes=sizes)


def no_decoder(*_: object) -> NoReturn:
    raise AssertionError("a video is decoded before all is known to be there")


def refused(benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The message by which a training is refused."""
    monkeypatch.setattr(LocalExecutor, "map", no_decoder)
    with pytest.raises(BenchmarkError) as told:
        train_mini(
            Benchmark.open(benchmark), tmp_path / "run", SETTINGS, frames=tmp_path / "f", executor=LocalExecutor(1)
        )
    assert not (tmp_path / "run").exists()
    return str(told.value)


def test_a_benchmark_without_dev_videos_is_refused_before_anything_is_decoded(
    filmed_household: Path, copy_of: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copy_of(filmed_household)
    benchmark = Benchmark.open(copy)
    content = benchmark.content()
    content.videos = [
        video.model_copy(update={"split": "test"}) if video.split == "dev" else video for video in content.videos
    ]
    benchmark.write_content(content, stage="test")
    said = refused(copy, tmp_path, monkeypatch)
    assert "has no videos of split 'dev' (its videos: test 2, train 2)" in said
    assert "reeltalk world film --houses 5 --dev-houses 1 --into FOLDER" in said


def test_videos_without_graphs_boxes_or_files_are_refused_with_the_command_that_makes_them(
    filmed_household: Path, copy_of: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copy_of(filmed_household)
    content = Benchmark.open(filmed_household).content()
    train = {video.id for video in content.videos if video.split == "train"}
    clip = next(clip.id for clip in content.clips if clip.video_id in train)
    content.graphs.pop(clip)
    content.known_boxes = []
    Benchmark.open(copy).write_content(content, stage="test")
    said = refused(copy, tmp_path, monkeypatch)
    assert f"1 clips have no graph of what happens in them, such as '{clip}'" in said
    assert "3 videos have no known boxes of their objects" in said
    assert "reeltalk world film" in said
    for file in (copy / "media").rglob("*"):
        if file.is_file():
            file.unlink()
    assert "lacks the files of 3 of 3 videos" in refused(copy, tmp_path, monkeypatch)


def test_a_loss_that_is_no_number_ends_the_training_by_step(videos: list[FilmedVideo], words: MiniWords) -> None:
    shape = MiniShape(vocabulary=words.size, frame_tokens=2)
    model = Mini(shape)
    features = [np.full((len(video.times_s), 2, shape.vision_width), np.nan, np.float32) for video in videos]
    settings = SETTINGS.speech
    with pytest.raises(ModelError, match=r"step 1 is nan; what was saved before it is kept"):
        train_speech(
            model,
            Lessons(videos, words, 2, seed=1),
            features,
            settings,
            optimisers_of(model, settings),
            lambda *_: None,
            seed=1,
        )
