"""Baselines as players: each knows what the one before it knows, and none uses the video that it is asked about."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from places import doc_page

from reeltalk.analysis.columns import BASELINE_NOTES
from reeltalk.baselines.answerer import KnownTurn
from reeltalk.baselines.looking import LookingAnswerer
from reeltalk.cli import run
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.evaluation.playing.baseline_players import (
    BASELINES,
    FramesPlayer,
    baseline_player,
    look_at_videos,
    training_pairs,
)
from reeltalk.evaluation.playing.play import HistoryTurn, Player, Response, ShownFrame, TurnInput
from reeltalk.evaluation.playing.script import Step
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.record import DialogueId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.video.encode import jpeg
from reeltalk.video.frame_features import FrameFeatures, describe_frames, shrink

RED, BLUE, GREEN = (200, 40, 40), (50, 80, 200), (60, 160, 70)
COLOURS = {"red": RED, "blue": BLUE, "green": GREEN}


class Album:
    """Pictures by their references."""

    def __init__(self) -> None:
        self.pictures: dict[bytes, bytes] = {}
        self.asked = 0

    async def jpeg(self, reference: bytes) -> bytes:
        self.asked += 1
        return self.pictures[reference]


def seen_of(
    question: str,
    *,
    history: tuple[tuple[str, str], ...] = (),
    video: str = "new",
    frames: tuple[ShownFrame, ...] = (),
    options: tuple[str, ...] | None = None,
    asked_at_s: float | None = None,
) -> TurnInput:
    turn = Turn(question=question, asked_at_s=asked_at_s)
    step = Step("dialogue", "d", len(history), turn, asked_at_s)
    return TurnInput(question, tuple(HistoryTurn(q, a) for q, a in history), frames, frames, options, (), step, video)


def said_by(player: Player, seen: TurnInput, album: Album | None = None) -> Response:
    return asyncio.run(player.answer(seen, album or Album()))


PAIRS = [
    KnownTurn("Where does he take the milk from?", "From the fridge.", "v1"),
    KnownTurn("Where does she take the milk from?", "In the fridge.", "v2"),
    KnownTurn("What colour is the sofa?", "It is red.", "v1"),
    KnownTurn("Where does he put the book?", "On the bookshelf.", "v3", history=(("What does he read?", "The book."),)),
    KnownTurn("Where does he put the pan?", "On the stove.", "v4", history=(("What does he wash?", "The pan."),)),
]


def test_the_empty_player_answers_with_an_empty_text() -> None:
    assert said_by(baseline_player("empty", []), seen_of("What?")) == Response(text="")


@pytest.mark.parametrize("name", ["constant", "blind", "history"])
def test_text_baselines_look_at_no_frame_and_say_what_they_learnt_from(name: str) -> None:
    player, album = baseline_player(name, PAIRS), Album()
    frames = (ShownFrame(0.0, b"a frame"),)
    said = said_by(player, seen_of("Where does he take the milk from?", frames=frames), album)
    assert said.text == "From the fridge."
    assert (player.name, player.sees_frames, album.asked) == (name, False, 0)
    assert player.signature[0][0] == "baseline"
    assert "|" not in player.signature[0][1]
    assert player.signature != baseline_player(name, PAIRS[:-1]).signature


def test_what_was_learnt_from_the_video_itself_is_left_out() -> None:
    for name in ("constant", "blind", "history"):
        player = baseline_player(name, PAIRS)
        own = said_by(player, seen_of("What colour is the sofa?", video="v1")).text
        assert own != "It is red."
        assert said_by(player, seen_of("What colour is the sofa?", video="v2")).text == "It is red."


def test_who_knows_nothing_gives_an_empty_answer() -> None:
    said = said_by(baseline_player("blind", PAIRS), seen_of("Pourquoi?"))
    assert (said.text, said.reason) == ("", None)


def test_history_knows_what_a_pronoun_means() -> None:
    player = baseline_player("history", PAIRS)
    asked = "Where does he put it?"
    assert said_by(player, seen_of(asked, history=(("What does he read?", "The book."),))).text == "On the bookshelf."
    assert said_by(player, seen_of(asked, history=(("What does he wash?", "The pan."),))).text == "On the stove."


def test_options_are_answered_with_one_of_them() -> None:
    options = ("on the sofa", "in the fridge")
    for name in ("blind", "history"):
        said = said_by(baseline_player(name, PAIRS), seen_of("Where does he take the milk from?", options=options))
        assert said.text == "in the fridge"


def test_a_baseline_that_lacks_what_it_needs_is_refused() -> None:
    with pytest.raises(SettingError, match="'frames' needs the frames of the known videos"):
        baseline_player("frames", PAIRS)
    with pytest.raises(SettingError, match=f"no baseline 'best'; there are {', '.join(BASELINES)}"):
        baseline_player("best", PAIRS)


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_is_told_of_where_it_is_chosen_and_where_it_is_shown(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"baseline:{name}" in BASELINE_NOTES
    assert f"`{name}`" in doc_page("how-to/evaluate-settings.md").read_text(encoding="utf-8")
    assert run(["evaluate", "--help"]) == 0
    assert name in capsys.readouterr().out.partition("baseline:")[2][:600]


def a_benchmark(*splits: str | None) -> Content:
    videos = [Video(id=VideoId(f"v{n}"), split=split, duration_s=9.0) for n, split in enumerate(splits)]
    turns = (
        Turn(question="Who?", references=("He.",), asked_at_s=3.0),
        Turn(question="Withheld?"),
        Turn(question="What?", references=("Tea.", "Milk."), evidence=(Interval(start_s=1, end_s=2),)),
    )
    dialogues = [Dialogue(id=DialogueId(f"d-{v.id}"), video_id=v.id, turns=turns) for v in videos]
    return Content(videos=videos, dialogues=dialogues)


def test_training_turns_are_those_of_the_train_split_with_their_history() -> None:
    found = training_pairs(a_benchmark("train", "test", "dev"))
    assert {turn.video_id for turn in found} == {"v0"}
    assert [(turn.question, turn.answer) for turn in found] == [("Who?", "He."), ("What?", "Tea.")]
    assert found[1].history == (("Who?", "He."), ("Withheld?", ""))
    assert (found[0].asked_at_s, found[1].evidence) == (3.0, (Interval(start_s=1, end_s=2),))


def test_without_a_train_split_every_video_teaches_the_others() -> None:
    assert {turn.video_id for turn in training_pairs(a_benchmark(None, "test", None))} == {"v0", "v1", "v2"}


def a_film(rng: np.random.Generator, colour: tuple[int, int, int], *, seconds: int = 24) -> list[np.ndarray]:
    """Something of a colour moves to and fro in a grey room, whose walls are lighter or darker."""
    frames = []
    wall = int(rng.integers(110, 150))
    for second in range(seconds):
        frame = np.full((90, 160, 3), wall, np.uint8)
        left = int(10 + 110 * abs((second / 8) % 2 - 1))
        frame[30:70, left : left + 24] = colour
        frames.append(frame)
    return frames


def known_world(videos: int) -> tuple[list[KnownTurn], dict[str, FrameFeatures]]:
    """Videos of a thing of any of three colours; each is asked for the colour and for the time, in either wording."""
    rng = np.random.default_rng(5)
    turns, looks = [], {}
    for n in range(videos):
        name, colour = f"v{n}", list(COLOURS)[n % 3]
        seconds = 18 + n % 7
        film = a_film(rng, COLOURS[colour], seconds=seconds)
        looks[name] = describe_frames(list(range(seconds)), np.array([shrink(frame) for frame in film]))
        words = ("Which colour has the thing?", "What colour is the thing that moves?")[n % 2]
        turns.append(KnownTurn(words, f"It is {colour}.", name, asked_at_s=float(seconds)))
        words = ("How long has it taken?", "How long did all that take so far?")[n % 2]
        turns.append(KnownTurn(words, f"About {seconds} seconds.", name, asked_at_s=float(seconds)))
    return turns, looks


def shown(film: list[np.ndarray], album: Album, name: str) -> tuple[ShownFrame, ...]:
    frames = tuple(ShownFrame(float(n), f"{name}/{n}".encode()) for n in range(len(film)))
    album.pictures |= {frame.reference: jpeg(picture) for frame, picture in zip(frames, film, strict=True)}
    return frames


@pytest.fixture(scope="module")
def frames_player() -> Player:
    turns, looks = known_world(18)
    return baseline_player("frames", turns, videos=looks)


def test_frames_tell_what_history_cannot(frames_player: Player) -> None:
    turns, _ = known_world(18)
    history = baseline_player("history", turns)
    rng = np.random.default_rng(9)
    right = {"frames": 0, "history": 0}
    for colour, value in COLOURS.items():
        album = Album()
        frames = shown(a_film(rng, value), album, colour)
        seen = seen_of("And which colour is the moving thing?", frames=frames, asked_at_s=24.0)
        for player in (frames_player, history):
            right[player.name] += said_by(player, seen, album).text == f"It is {colour}."
    assert right["frames"] == 3
    assert right["history"] <= 1


def test_frames_tell_how_much_time_has_passed(frames_player: Player) -> None:
    album = Album()
    frames = shown(a_film(np.random.default_rng(9), RED, seconds=41), album, "long")
    seen = seen_of("How long has all that taken?", frames=frames, asked_at_s=41.0)
    assert said_by(frames_player, seen, album).text == "About 41 seconds."


def test_each_frame_is_asked_for_once(frames_player: Player) -> None:
    album = Album()
    frames = shown(a_film(np.random.default_rng(9), RED), album, "once")
    for question in ("Which colour has the thing?", "How long has it taken?"):
        said_by(frames_player, seen_of(question, frames=frames), album)
    said_by(frames_player, seen_of("Which colour has the thing?", frames=frames[:10]), album)
    assert album.asked == len(frames)


def test_without_frames_it_is_the_history_baseline(frames_player: Player) -> None:
    turns, _ = known_world(18)
    seen = seen_of("Which colour has the thing?")
    assert said_by(frames_player, seen) == said_by(baseline_player("history", turns), seen)


def test_frames_of_the_video_that_is_asked_about_teach_nothing(frames_player: Player) -> None:
    turns, looks = known_world(18)
    turns.append(KnownTurn("Is there a secret?", "The secret is 7.", "v0"))
    looking = LookingAnswerer(turns, looks)
    for without, known in (("v0", False), ("v1", True)):
        possible = looking.in_context.possible("Is there a secret?", (), without=without)
        assert ("The secret is 7." in [one.text for one in possible]) is known
    assert FramesPlayer(looking).signature[0][1].endswith("films:18")


def test_a_known_question_that_is_like_no_other_teaches_nothing_and_harms_nothing() -> None:
    turns, looks = known_world(6)
    looking = LookingAnswerer([*turns, KnownTurn("Pourquoi?", "Parce que.", "v0", asked_at_s=4.0)], looks)
    assert looking.answer("Which colour has the thing?", (), None, looks["v1"], without="new")
    assert LookingAnswerer([], {}).answer("Who?", (), None, looks["v1"]) is None


def test_the_clips_that_a_turn_is_about_are_looked_at(frames_player: Player) -> None:
    rng = np.random.default_rng(9)
    film = a_film(rng, BLUE) + a_film(rng, GREEN)
    for clip, answer in (
        (Interval(start_s=0, end_s=23), "It is blue."),
        (Interval(start_s=24, end_s=47), "It is green."),
    ):
        album = Album()
        seen = seen_of("Which colour has the thing?", frames=shown(film, album, "two"), asked_at_s=48.0)
        about = replace(seen, step=replace(seen.step, clips=(clip,)))
        assert said_by(frames_player, about, album).text == answer


def test_a_video_that_is_not_at_hand_is_left_out_and_a_broken_one_is_named(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "benchmark")
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no film")
    sha256 = benchmark.media.add(broken)
    executor = LocalExecutor(workers=1)
    absent = Video(id=VideoId("absent"), sha256="0" * 64, duration_s=3.0)
    assert look_at_videos(benchmark, [absent], executor=executor) == {}
    with pytest.raises(BenchmarkError, match="'there' cannot be decoded"):
        look_at_videos(benchmark, [Video(id=VideoId("there"), sha256=sha256, duration_s=3.0)], executor=executor)


def test_judges_are_tried_with_yes_the_question_and_the_reference() -> None:
    seen = seen_of("What is red?")
    assert said_by(baseline_player("yes", PAIRS), seen).text == "Yes."
    assert said_by(baseline_player("yes", PAIRS), seen_of("什么是红的？")).text == "是的。"
    assert said_by(baseline_player("copied-question", PAIRS), seen).text == "What is red?"
    known = replace(seen, step=replace(seen.step, turn=Turn(question="What is red?", references=("The sofa.", "It."))))
    assert said_by(baseline_player("reference", PAIRS), known).text == "The sofa."
    choice = Turn(question="What?", references=("red",), options=("blue", "red"), correct_option=0)
    assert (
        said_by(baseline_player("reference", PAIRS), replace(seen, step=replace(seen.step, turn=choice))).text == "blue"
    )
    assert said_by(baseline_player("reference", PAIRS), seen) == Response(
        text=None, reason="the benchmark holds no reference to this turn"
    )
