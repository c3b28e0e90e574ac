"""The turns of a benchmark as single requests: what `evaluate` would ask, with the reference answers as history.

Other harnesses ask each item on its own. So each turn becomes an item that carries the dialogue before it, in the very
words of our own player, and everything that its answer is scored by.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.evaluate.playing.chat import answer_prompt, asked
from reeltalk.evaluate.playing.play import NoScreening, Subtitles, answered_turn, play
from reeltalk.evaluate.playing.player import Pictures, Said, Seen
from reeltalk.evaluate.playing.script import Script
from reeltalk.evaluate.settings import PlaySettings
from reeltalk.schema.answers import AnsweredTurn, AnswerState

MODEL: Final = "model"
"""Stands for whoever answers elsewhere."""


@dataclass(frozen=True)
class AskedTurn:
    """One question with all that comes before it."""

    turn: AnsweredTurn
    """The question, its references and options, without an answer."""
    before: tuple[tuple[str, str], ...]
    """Questions and first references of the unit's turns before it, which `agree` reads pronouns by."""
    history: tuple[tuple[str, str], ...]
    """Questions and answers that are told; across the chains of a video as `evaluate` tells them."""
    system: str
    """What the model is told to do."""
    prompt: str
    """The question as it is asked: lines that were spoken, the question, its options by letter."""

    @property
    def text(self) -> str:
        """The whole request as one text, for models that know no roles."""
        told = [line for question, answer in self.history for line in (f"Question: {question}", f"Answer: {answer}")]
        return "\n".join([self.system, "", *told, f"Question: {self.prompt}", "Answer:"])

    @property
    def target(self) -> str:
        """The answer that is right: the letter of an option, else the first reference; empty where none is known."""
        if self.turn.options and self.turn.correct_option is not None:
            return f"{chr(ord('A') + self.turn.correct_option)}. {self.turn.options[self.turn.correct_option]}"
        return self.turn.references[0] if self.turn.references else ""

    def scored_by(self) -> str:
        """All that scoring needs, as one line of JSON; `harnesses.scoring` reads it back."""
        turn = self.turn.model_dump(mode="json", exclude_defaults=True)
        return json.dumps({"turn": turn, "before": self.before}, ensure_ascii=False, sort_keys=True)

    def messages(self) -> list[dict[str, str]]:
        """The request as messages with roles; the video belongs to the first of the user."""
        told = [
            message
            for question, answer in self.history
            for message in ({"role": "user", "text": question}, {"role": "assistant", "text": answer})
        ]
        return [{"role": "system", "text": self.system}, *told, {"role": "user", "text": self.prompt}]


@dataclass
class _Listener:
    """Says nothing, and notes what it was asked."""

    seen: list[Seen]

    name = MODEL
    signature: tuple[tuple[str, str], ...] = ()
    sees_frames = False

    async def answer(self, seen: Seen, pictures: Pictures) -> Said:
        self.seen.append(seen)
        return Said(None)


class _NoPictures:
    async def jpeg(self, reference: bytes) -> bytes:
        raise ValueError(f"nobody was shown {reference!r}")


def asked_turns(
    scripts: Iterable[Script], settings: PlaySettings, *, subtitles: Subtitles | None = None
) -> list[AskedTurn]:
    """Every turn that is asked, in the order of the scripts.

    Args:
        scripts: What is played.
        settings: History (golden or none), prompt, order of options.
        subtitles: Gives lines that were spoken, where the settings show them.

    Raises:
        BenchmarkError: A golden history needs a reference that the benchmark withholds, or nothing is asked.
        SettingError: The prompt is not known.
        ValueError: The history is one that only a model's own answers make.
    """
    if settings.told not in ("golden", "none"):
        raise ValueError(f"a history of kind {settings.told} cannot be written before a model has answered")
    system = answer_prompt(settings.prompt, settings.answer_style).text
    found = [turn for script in scripts for turn in asyncio.run(_asked(script, settings, system, subtitles))]
    if not found:
        raise BenchmarkError("there is nothing to ask; 'reeltalk report BENCH --format text' counts what there is")
    return found


async def _asked(
    script: Script, settings: PlaySettings, system: str, subtitles: Subtitles | None
) -> Sequence[AskedTurn]:
    listener = _Listener([])
    rows = [row async for row in play(script, listener, NoScreening(), _NoPictures(), settings, subtitles=subtitles)]
    told = iter(listener.seen)
    before: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    found: list[AskedTurn] = []
    for row, step in zip(rows, script.steps, strict=True):
        if step.answered:
            seen = next(told)
            turn = answered_turn(script, step, MODEL, Said(""), row.played)
            found.append(
                AskedTurn(
                    turn=turn.model_copy(update={"state": AnswerState.ANSWERED}),
                    before=tuple(before[row.unit_id]),
                    history=tuple((past.question, past.answer) for past in seen.history),
                    system=system,
                    prompt=asked(seen),
                )
            )
        before[row.unit_id].append((row.question, row.references[0] if row.references else ""))
    return found


def columns_of(turn: AskedTurn) -> dict[str, str]:
    """What every harness's table has of a turn, one value a column."""
    return {
        "item_id": turn.turn.item_id,
        "video_id": turn.turn.video_id,
        "question": turn.turn.question,
        "answer": turn.target,
        "prompt": turn.text,
        "scored_by": turn.scored_by(),
    }
