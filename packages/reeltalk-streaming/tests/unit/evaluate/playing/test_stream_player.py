"""A model that follows streams is told what a fresh one would be told, and looks at each frame once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reeltalk.evaluation.playing.play import (
    HistoryTurn,
    Pictures,
    Response,
    ShownFrame,
    TurnInput,
    WrongAnswers,
    play_script,
)
from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.speech import Utterance
from reeltalk.video.encode import jpeg
from reeltalk_household.mini.mini import MiniModel
from reeltalk_streaming import local_models
from reeltalk_streaming.inference.stream_memory import MemoryPolicy
from reeltalk_streaming.local_models import StreamPlayer, conversation

QUESTIONS = ("where is the person?", "what is on the table?", "where is the cup?", "what is in the kitchen?")
SCRIPT = Script(
    "s",
    "v",
    tuple(
        Step("dialogue", "d", n, Turn(question=question, references=("a red cup.",)), asked_at_s=2.0 * n + 1)
        for n, question in enumerate(QUESTIONS)
    ),
)


def frames(first: int, last: int) -> tuple[ShownFrame, ...]:
    return tuple(ShownFrame(float(n), b"%d" % n) for n in range(first, last))


@dataclass
class Screen:
    """Two more frames a turn, or each turn its own."""

    append_only: bool = True

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        if self.append_only:
            return frames(0, 2 * index + 2), frames(2 * index, 2 * index + 2)
        return frames(3 * index, 3 * index + 3), frames(3 * index, 3 * index + 3)


class Noise:
    async def jpeg(self, reference: bytes) -> bytes:
        return jpeg(np.random.default_rng(int(reference)).integers(0, 256, (36, 64, 3), dtype=np.uint8))


class Fresh:
    """Begins a new stream for each turn."""

    name, sees_frames, signature = "fresh", True, ()

    def __init__(self, model: MiniModel) -> None:
        self._model = model

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        return await StreamPlayer(self._model).answer(seen, pictures)


def played(player: Any, settings: PlaySettings, screen: Screen) -> list[AnsweredTurn]:
    wrong = WrongAnswers([("w", Turn(question=QUESTIONS[0], references=("In the garden.",)))], seed=1)

    async def run() -> list[AnsweredTurn]:
        return [turn async for turn in play_script(SCRIPT, player, screen, Noise(), settings, wrong=wrong)]

    return asyncio.run(run())


@pytest.fixture(scope="module")
def folder(samples: Path) -> Path:
    return samples.parent / "mini_sample"


@pytest.mark.parametrize("append_only", [True, False])
@pytest.mark.parametrize("history", ["golden", "predicted", "none", "corrupted"])
def test_it_answers_as_a_fresh_stream_and_encodes_each_frame_once(
    folder: Path, history: Any, append_only: bool
) -> None:
    model = MiniModel(folder, longest_answer=8)
    settings = PlaySettings(history=history, corrupt_turn=2 if history == "corrupted" else 1)
    player = StreamPlayer(model)
    turns = played(player, settings, Screen(append_only))
    expected = played(Fresh(model), settings, Screen(append_only))
    assert [turn.text for turn in turns] == [turn.text for turn in expected]
    assert all(turn.text for turn in turns)
    assert player.frames_encoded == (8 if append_only else 12)
    memory = [turn.played.memory_bytes for turn in turns if turn.played is not None]
    assert memory == [turn.played.memory_bytes for turn in expected if turn.played is not None]
    assert None not in memory
    if append_only:
        assert memory == sorted(memory, key=lambda n: n or 0)
    for turn in turns:
        assert turn.played is not None
        assert (turn.played.prompt_tokens or 0) > 2
        assert 0 < (turn.played.completion_tokens or 0) <= 8
        assert (turn.played.took_s or 0) > 0


def test_what_is_kept_is_bounded_and_what_is_lost_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = MiniModel(folder, longest_answer=8)
    expected = played(StreamPlayer(model), PlaySettings(), Screen())
    monkeypatch.setattr(local_models, "CACHE_BYTES", 1)
    player = StreamPlayer(model)
    turns = played(player, PlaySettings(history="golden"), Screen())
    assert player.frames_encoded == 2 + 4 + 6 + 8
    assert turns[0].text == expected[0].text
    assert len(player._held) == 1


def test_dialogues_at_the_same_time_do_not_disturb_each_other(folder: Path) -> None:
    model = MiniModel(folder, longest_answer=8)
    player = StreamPlayer(model)

    async def one(turn: int) -> list[str]:
        steps = tuple(replace(step, turn_index=n) for n, step in enumerate(SCRIPT.steps[turn:]))
        found = play_script(replace(SCRIPT, steps=steps), player, Screen(), Noise(), PlaySettings(history="predicted"))
        return [answered.text async for answered in found]

    async def run() -> Sequence[list[str]]:
        return await asyncio.gather(*(one(turn) for turn in (0, 1, 0, 2)))

    together = asyncio.run(run())
    player = StreamPlayer(model)
    assert together == [asyncio.run(one(turn)) for turn in (0, 1, 0, 2)]


def test_frames_and_turns_stand_in_the_order_in_which_they_came() -> None:
    step = SCRIPT.steps[2]
    past = (HistoryTurn("Who?", "He.", frames(0, 2)), HistoryTurn("Where?", "Here.", frames(2, 3)))
    seen = TurnInput("When?", past, frames(0, 5), frames(3, 5), None, (), step, "v")
    told = [getattr(entry, "pts_s", None) for entry in conversation(seen)]
    assert told == [0.0, 1.0, None, 2.0, None, 3.0, 4.0]
    first = replace(seen, history=tuple(replace(turn, new_frames=()) for turn in past), new_frames=())
    told = [getattr(entry, "pts_s", None) for entry in conversation(first)]
    assert told == [0.0, 1.0, 2.0, 3.0, 4.0, None, None]


def test_what_is_said_stands_before_the_first_frame_after_it_and_before_the_question(folder: Path) -> None:
    past = (HistoryTurn(QUESTIONS[0], "A red cup.", frames(0, 2)),)
    speech = tuple(
        Utterance(video_id="v", interval=Interval(start_s=at_s - 0.5, end_s=at_s), text=f"It is {at_s:g}.")
        for at_s in (0.5, 1.5, 3.0, 9.0)
    )
    seen = TurnInput(QUESTIONS[1], past, frames(0, 4), frames(2, 4), None, speech, SCRIPT.steps[1], "v")
    told = [getattr(entry, "line", getattr(entry, "pts_s", None)) for entry in conversation(seen)]
    assert told == [0.0, "It is 0.5.", 1.0, None, "It is 1.5.", 2.0, "It is 3.", 3.0, "It is 9."]
    player = StreamPlayer(MiniModel(folder, longest_answer=4))
    heard = asyncio.run(player.answer(seen, Noise()))
    unheard = asyncio.run(player.answer(replace(seen, speech=()), Noise()))
    assert (heard.memory_bytes or 0) > (unheard.memory_bytes or 0)
    assert heard.prompt_tokens == unheard.prompt_tokens


def test_weights_and_memory_stand_in_the_signature_and_options_in_the_question(folder: Path) -> None:
    policy = MemoryPolicy(recent_words=20)
    player = StreamPlayer(MiniModel(folder, policy=policy, longest_answer=4), memory=policy.signature)
    assert dict(player.signature)["memory"] == "4-128-128-20"
    assert dict(player.signature)["weights"] == player.name == MiniModel(folder).name
    seen = TurnInput(QUESTIONS[0] * 5, (), frames(0, 1), frames(0, 1), None, (), SCRIPT.steps[0], "v")
    said = asyncio.run(player.answer(seen, Noise()))
    assert said.text is None
    assert said.reason is not None
    assert "memory keeps 20" in said.reason
    # A failure takes nothing away from what was seen.
    assert asyncio.run(player.answer(replace(seen, question=QUESTIONS[0]), Noise())).text
    assert player.frames_encoded == 1


def test_a_model_that_never_learned_to_read_choices_is_asked_the_question_alone(folder: Path) -> None:
    choices = ("the hall", "the attic")
    turn = Turn(question=QUESTIONS[0], references=("In the hall.",), options=choices, correct_option=0)
    script = replace(SCRIPT, steps=(replace(SCRIPT.steps[0], turn=turn),))
    bare = replace(SCRIPT, steps=(replace(SCRIPT.steps[0], turn=turn.model_copy(update={"options": None})),))

    async def first(player: StreamPlayer, asked: Script) -> AnsweredTurn:
        return await anext(aiter(play_script(asked, player, Screen(), Noise(), PlaySettings())))

    model = MiniModel(folder, longest_answer=8)
    told, alone = StreamPlayer(model), StreamPlayer(model, tells_options=False)
    expected = asyncio.run(first(alone, bare))
    found = asyncio.run(first(alone, script))
    assert found.text == expected.text
    assert found.played is not None
    assert expected.played is not None
    assert found.played.prompt_tokens == expected.played.prompt_tokens
    with_choices = asyncio.run(first(told, script)).played
    assert with_choices is not None
    assert (with_choices.prompt_tokens or 0) > (found.played.prompt_tokens or 0)
    assert told.signature != alone.signature
