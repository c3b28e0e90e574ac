"""reeltalk-mini's training: what it learns from, and that it goes on where it stopped."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from safetensors.torch import load_file

from reeltalk.errors import BenchmarkError, InputError, ModelError
from reeltalk.inference.mini_input import ANSWER, END, QUESTION, SAYS, MiniShape, MiniWords
from reeltalk.parallel.local import LocalExecutor
from reeltalk.questions.wording import LESSONS, forms, forms_of, write_dialogue
from reeltalk.store.benchmark import Benchmark
from reeltalk.streaming.household import FilmedVideo, filmed_videos
from reeltalk.streaming.lessons import FRAME, NOT_LEARNED, Interleaved, Lessons, batch_of
from reeltalk.streaming.mini_training import LOSSES, STATE, corpus, train_mini, train_words
from reeltalk.streaming.network import Mini
from reeltalk.streaming.settings import MiniSettings, SpeechSettings, VisionSettings
from reeltalk.streaming.speech import losses_of, optimisers_of, train_speech
from reeltalk.streaming.vision import boxes_of, cells_of

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


def test_a_frame_is_labelled_with_what_goes_on_in_it(videos: list[FilmedVideo]) -> None:
    for video in videos:
        assert video.pixels().shape == (len(video.times_s), 108, 192, 3)
        for time_s, second in zip(video.times_s, video.labels, strict=True):
            going_on = [
                event
                for event in video.story().events
                if event.interval is not None and event.interval.start_s <= time_s < event.interval.end_s - 1e-6
            ]
            assert not going_on or second.action == going_on[0].action


def test_where_the_eye_shall_look_lies_in_the_known_boxes(videos: list[FilmedVideo]) -> None:
    second = next(second for second in videos[0].labels if second.person_box is not None)
    hair, shirt, trousers = boxes_of(second)[:3]
    assert hair is not None
    assert shirt is not None
    assert trousers is not None
    for box in boxes_of(second):
        cells = cells_of(box, 14, 24).reshape(14, 24)
        assert (cells.sum() > 0) == (box is not None)
        if box is not None:
            rows, columns = np.nonzero(cells)
            assert box[0] - 1 / 24 <= columns.min() / 24 <= columns.max() / 24 <= box[2]
            assert box[1] - 1 / 14 <= rows.min() / 14 <= rows.max() / 14 <= box[3]


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
    shape = MiniShape(vocabulary=words.size)
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
        names = [[[9]] * 5] * 2
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
    """`SETTINGS`, with half of the steps that take long where the counts are not full."""
    return SETTINGS if full else SETTINGS.model_copy(update={"speech": SETTINGS.speech.model_copy(update={"steps": 3})})


@pytest.fixture(scope="module")
def trained(
    training: MiniSettings, filmed_household: Path, frames: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder of a training that nothing interrupted."""
    folder = tmp_path_factory.mktemp("trained") / "whole"
    train_mini(Benchmark.open(filmed_household), folder, training, frames=frames, executor=LocalExecutor(1))
    return folder


@pytest.mark.parametrize("part", ["learning to see", "learning to answer"])
def test_training_that_was_interrupted_goes_on_to_the_same_loss_curve_and_weights(
    training: MiniSettings, filmed_household: Path, frames: Path, trained: Path, tmp_path: Path, part: str
) -> None:
    benchmark, executor = Benchmark.open(filmed_household), LocalExecutor(1)
    step = training.eye.steps // 2 if part == "learning to see" else training.speech.steps * 2 // 3

    def stop(at: str, done: int, of: int, share: float) -> None:
        if (at, done) == (part, step):
            raise Stopped

    with pytest.raises(Stopped):
        train_mini(benchmark, tmp_path / "parts", training, frames=frames, executor=executor, progress=stop)
    train_mini(benchmark, tmp_path / "parts", training, frames=frames, executor=executor)
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
    training: MiniSettings, filmed_household: Path, frames: Path, trained: Path
) -> None:
    benchmark, executor = Benchmark.open(filmed_household), LocalExecutor(1)
    other = training.model_copy(update={"seed": 4})
    with pytest.raises(InputError, match="other settings"):
        train_mini(benchmark, trained, other, frames=frames, executor=executor)


def test_a_benchmark_without_dev_videos_is_refused_by_name(filmed_household: Path, frames: Path) -> None:
    with pytest.raises(BenchmarkError, match="no videos of split 'other'"):
        filmed_videos(Benchmark.open(filmed_household), "other", MiniShape(), folder=frames, executor=LocalExecutor(1))


def test_a_loss_that_is_no_number_ends_the_training_by_step(videos: list[FilmedVideo], words: MiniWords) -> None:
    shape = MiniShape(vocabulary=words.size)
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
