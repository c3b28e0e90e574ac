"""Count the requests of an evaluation before anything is asked or decoded.

The same code as in a real run plays and judges the dialogues, but with substitutes for the models that count. Answers
are as long as the references, and no two are equal. Judges reply at once with a valid reply.
"""

import asyncio
import heapq
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, Final

from reeltalk.evaluation.playing.play import (
    FrameSource,
    NoFrameSource,
    Player,
    Response,
    ShownFrame,
    Subtitles,
    TurnInput,
    WrongAnswers,
    play_script,
    steps_to_ask,
)
from reeltalk.evaluation.playing.policies import policy_of
from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.evaluation.settings import PlaySettings, RunConfig
from reeltalk.judge.judge import Background, Judge, group_units, judged_units, sample_units, with_empty_answers
from reeltalk.judge.protocol import official_sampling
from reeltalk.judge.turns import judge_unit
from reeltalk.llm.budget import Prices
from reeltalk.llm.model import ALL_SAMPLING, AsyncModel, Message, Reply
from reeltalk.llm.picture_tokens import frame_tokens
from reeltalk.llm.replies import reply_key
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.schema.record import Json
from reeltalk.schema.texts import printable

CHARACTERS_A_TOKEN: Final = 4.0
WIDE_A_TOKEN: Final = 1.5
"""Characters a token of Chinese, Japanese and Korean."""
WIDE_FROM: Final = "\u2e80"
NO_REFERENCE: Final = "an answer of usual length"
RATIONALE: Final = "The answer names what the reference names, and adds nothing that speaks against it. " * 3
"""About 60 tokens, as long as judges' reasons usually are."""


@dataclass(frozen=True)
class RequestCount:
    """How many requests of one kind are expected, with their tokens."""

    what: str
    """`answers`, or the name of the judging protocol."""
    calls: int
    """Number of requests."""
    repeated: int
    """Questions that repeat an earlier request word for word. Kept replies answer them."""
    images: int
    """Number of frames in them."""
    tokens_in: int
    """Tokens of all prompts."""
    tokens_out: int
    """Tokens of all replies."""


@dataclass
class CountingModel:
    """A model that counts its requests and replies with a stand-in."""

    name: str
    sees_images: bool = False
    image_tokens: int = 0
    sampling: Mapping[str, Json] = field(default_factory=dict)
    calls: int = 0
    repeated: int = 0
    images: int = 0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    stand_in: Callable[[dict[str, Json] | None], str] = lambda schema: stand_in_reply(schema)
    """Gives the reply to a new request."""
    latest: tuple[Message, ...] = ()
    """The messages of the latest request."""
    _replies: dict[str, str] = field(default_factory=dict)

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """Count a request."""
        self.latest = tuple(messages)
        key = reply_key(self.name, messages, schema=schema, sample=sample)
        text = self._replies.get(key)
        if text is not None:
            self.repeated += 1
            return Reply(text, self.name, None, None, cut_off=False, cached=True)
        text = self._replies[key] = self.stand_in(schema)
        self.calls += 1
        for message in messages:
            self.images += len(message.images)
            self.tokens_in += len(message.images) * self.image_tokens
            self.tokens_in += sum(map(estimate_tokens, (*message.captions, message.text)))
        self.tokens_out += max(1.0, estimate_tokens(text))
        return Reply(text, self.name, None, None, cut_off=False)

    def line(self, what: str) -> RequestCount:
        """The requests that were counted."""
        return RequestCount(what, self.calls, self.repeated, self.images, round(self.tokens_in), round(self.tokens_out))


class StandIn:
    """Plays with answers as long as the references.

    Args:
        player: The player, which asks `model`. None if no model is asked.
        model: Counts the requests.
        sees_frames: Whether frames are shown to a player that asks no model.
    """

    signature: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Empty: a dry run has no signature."""

    def __init__(self, player: Player | None, model: CountingModel, *, sees_frames: bool = False) -> None:
        self._player, self._model, self._sees_frames = player, model, sees_frames
        self._numbers = count(1)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def sees_frames(self) -> bool:
        return self._player.sees_frames if self._player is not None else self._sees_frames

    async def answer(self, seen: TurnInput, pictures: Any) -> Response:
        """The player's answer, made from a stand-in reply."""
        references = seen.step.turn.references
        self._model.stand_in = lambda schema: self._text(references[0] if references else NO_REFERENCE)
        if self._player is None:
            return Response(self._model.stand_in(None))
        return await self._player.answer(seen, pictures)

    def _text(self, reference: str) -> str:
        """A text as long as the reference and different from all others, since equal answers are judged only once."""
        number = str(next(self._numbers))
        return f"{number} {reference}"[: max(len(number), len(reference))].strip()


def estimate_tokens(text: str) -> float:
    """Estimate how many tokens a text has."""
    wide = sum(character >= WIDE_FROM for character in text) if not text.isascii() else 0
    return wide / WIDE_A_TOKEN + (len(text) - wide) / CHARACTERS_A_TOKEN


def stand_in_reply(schema: dict[str, Json] | None) -> str:
    """A valid judge's reply: a rating in words, or an object that fits the schema.

    Args:
        schema: A JSON schema of an object of strings, numbers and words to choose from; None if none was sent.
    """
    if schema is None:
        # MT-Video-Bench's script asks again while a reply is no JSON.
        return f"```{{}}``` {RATIONALE}So rating=3."
    found: Any = schema
    return json.dumps({name: _value(kind) for name, kind in found["properties"].items()})


def _value(kind: Any) -> Any:
    kinds = [one for one in kind.get("anyOf", [kind]) if one.get("type") != "null"]
    first = kinds[0]
    if "enum" in first:
        return first["enum"][0]
    if first.get("type") in ("integer", "number"):
        return first.get("maximum", first.get("minimum", 1))
    return RATIONALE


TOKEN_ERROR: Final = 0.1
"""Relative error of the prompt tokens for a server that counts 4 characters a token, if answers are as long as the
references."""
ANSWERS: Final = "answers"
SOME_LENGTH_S: Final = 60.0
"""Assumed length of a video whose length is unknown."""

PlayerOf = Callable[[AsyncModel], "Player | None"]
"""Creates the player with the model that it asks. None for a player that asks no model."""


@dataclass(frozen=True, repr=False)
class EvaluationForecast(HasOverview):
    """All requests that are expected. Requests that repair malformed replies are not included."""

    lines: tuple[RequestCount, ...]
    """Requests to the model that answers, then those to the judge by protocol."""
    scripts: int
    """Dialogues, paths, and videos whose chains are played. Each control counts them again."""
    turns: int
    """Turns that are asked."""
    due: tuple[tuple[int, int], ...]
    """Requests of each script: for answers, and of judges."""
    history_only: int = 0
    """Turns that are asked only for the history and are not scored."""
    example: tuple[Message, ...] = ()
    """The last request about the first script, with stand-ins for the model's own answers."""

    @property
    def answers(self) -> RequestCount:
        """Requests to the model that answers."""
        return self.lines[0]

    @property
    def judged(self) -> tuple[RequestCount, ...]:
        """Requests to the judge, by protocol."""
        return self.lines[1:]

    def overview(self) -> Overview:
        """Requests and tokens by kind."""
        rows = tuple(
            (line.what, *(f"{n:,}" for n in (line.calls, line.repeated, line.images, line.tokens_in, line.tokens_out)))
            for line in self.lines
        )
        return Overview(
            f"{self.scripts:,} scripts, {self.turns:,} turns: {self.calls:,} requests expected",
            ("for", "requests", "kept replies", "images", "prompt tokens", "reply tokens"),
            rows,
        )

    @property
    def calls(self) -> int:
        """Number of requests."""
        return sum(line.calls for line in self.lines)

    def seconds(self, connections: int, answer_s: float, judging_s: float) -> float:
        """Expected duration.

        Turns run one after another, several scripts at a time, and each script is judged after it is played.
        """
        ends = [0.0] * max(1, min(connections, len(self.due)))
        for answers, judgings in self.due:
            heapq.heappush(ends, heapq.heappop(ends) + answers * answer_s + judgings * judging_s)
        return max(ends)


def forecast_evaluation(
    scripts: Sequence[Script],
    config: RunConfig,
    player_of: PlayerOf,
    judges: Sequence[Judge],
    *,
    durations_s: Mapping[str, float | None],
    background: Background | None = None,
    wrong: WrongAnswers | None = None,
    subtitles: Subtitles | None = None,
) -> EvaluationForecast:
    """Count what an evaluation will ask.

    Args:
        scripts: The scripts that are played.
        config: Settings of the run.
        player_of: Creates the player.
        judges: The protocols by which answers are judged.
        durations_s: Length of each video in seconds; None if unknown.
        background: Other data of the benchmark that judges may read.
        wrong: Gives the answer that a corrupted history holds.
        subtitles: Gives the spoken lines.

    Raises:
        BenchmarkError: A golden history needs a reference that is withheld.
    """
    asked = CountingModel(config.model, config.asking.sees == "images", tokens_of_frame(config))
    sends = official_sampling(judges).sends if config.judging.published else ALL_SAMPLING
    sampling: dict[str, Json] = {"temperature": 0} if "temperature" in sends else {}
    counting = {one.name: CountingModel(config.judge_model.judge or "judge", sampling=sampling) for one in judges}
    player = StandIn(player_of(asked), asked)
    due: list[tuple[int, int]] = []
    turns = told_only = 0
    example: tuple[Message, ...] = ()
    plays = [config.under(control).play for control in (None, *config.controls)]
    every = {(step.unit, step.unit_id) for script in scripts for step in script.steps}
    nothing = sample_units(every, config.judging.null_units, seed=config.judging.seed)

    async def run() -> None:
        nonlocal turns, told_only, example
        for own, script in ((own, script) for own in plays for script in scripts):
            answers, judgings = asked.calls, sum(one.calls for one in counting.values())
            screening = _screening(script, own, durations_s, player)
            played = play_script(script, player, screening, _NoPictures(), own, wrong=wrong, subtitles=subtitles)
            answered = [turn async for turn in played]
            turns += sum(steps_to_ask(script, own))
            told_only += sum(turn.state is AnswerState.NOT_SCORED for turn in answered)
            units = group_units(answered, background)
            for one in judges:
                for unit in judged_units(one, units, background):
                    await judge_unit(one, unit, counting[one.name])
                    if one.needs_model and not unit.epoch and (unit.kind, unit.id) in nothing:
                        await judge_unit(one, with_empty_answers(unit), counting[one.name])
            example = asked.latest if not due else example
            due.append((asked.calls - answers, sum(one.calls for one in counting.values()) - judgings))

    asyncio.run(run())
    lines = [asked.line(ANSWERS), *(one.line(name) for name, one in counting.items())]
    return EvaluationForecast(tuple(lines), len(due), turns, tuple(due), told_only, example)


def tokens_of_frame(config: RunConfig) -> int:
    """Tokens that the model of a run counts for a frame."""
    frames, stated = config.play.frames, config.asking.image_tokens
    if stated is not None:
        return stated
    return frame_tokens(config.model, frames.square_px or frames.longest_side_px, square=frames.square_px is not None)


def forecast_lines(
    found: EvaluationForecast,
    *,
    prices: Prices | None,
    judge_prices: Prices | None,
    connections: int,
    latency_s: float | None,
    judge_latency_s: float | None,
    image_tokens: int,
) -> Iterable[str]:
    """The forecast as lines of text."""
    told = f", {found.history_only:,} of them for the history alone" if found.history_only else ""
    yield f"{found.scripts:,} scripts, {found.turns:,} turns{told}; requests by kind, with prompt and reply tokens:"
    for line in found.lines:
        what = line.what if line is found.answers else f"judge, {line.what}"
        if not line.calls:
            yield f"  {what}: no requests"
            continue
        images = f", {line.images:,} images" if line.images else ""
        kept = f"; {line.repeated:,} more are kept replies, asked in the same words" if line.repeated else ""
        yield f"  {what}: {line.calls:,} requests, {line.tokens_in:,} + {line.tokens_out:,} tokens{images}{kept}"
    tokens_in, tokens_out = (sum(getattr(line, name) for line in found.lines) for name in ("tokens_in", "tokens_out"))
    yield f"in all {found.calls:,} requests, {tokens_in:,} + {tokens_out:,} tokens; repairs of replies come on top"
    frame = f", {image_tokens:,} a frame" if found.answers.images else ""
    yield (
        f"tokens: 4 characters each{frame}, answers as long as the references; "
        f"prompts then come within {TOKEN_ERROR:.0%} of what such a server counts"
    )
    yield _money(found, prices, judge_prices)
    if latency_s is None:
        yield "time: not known; give --latency-s, the seconds of an answer"
    else:
        judging_s = latency_s if judge_latency_s is None else judge_latency_s
        yield (
            f"time: {_clock(found.seconds(connections, latency_s, judging_s))} at {latency_s:g} s an answer and "
            f"{judging_s:g} s a judge's reply, {connections:,} dialogues at a time"
        )
    if found.example:
        yield "the last request of the first dialogue:"
    for message in found.example:
        pictures = [f"{len(message.images):,} pictures"] if message.images and not any(message.captions) else []
        parts = [*pictures, *(f"{caption.strip()} picture" for caption in message.captions), message.text]
        yield textwrap.indent(printable(f"{message.role}: {chr(10).join(filter(None, parts))}"), "  ")


def _screening(
    script: Script, settings: PlaySettings, durations_s: Mapping[str, float | None], player: Player
) -> FrameSource:
    if not player.sees_frames or "none" in (settings.frames.policy, settings.control):
        return NoFrameSource()
    return _Counted(script, settings, durations_s.get(script.video_id) or _least_length(script.steps))


def _least_length(steps: Sequence[Step]) -> float:
    known = [step.asked_at_s for step in steps if step.asked_at_s is not None]
    known += [clip.end_s for step in steps for clip in step.clips]
    return max(known, default=SOME_LENGTH_S)


class _Counted:
    """The frames that would be shown, without pictures."""

    def __init__(self, script: Script, settings: PlaySettings, duration_s: float) -> None:
        policy = policy_of(settings.frames, script.steps, duration_s)
        self.append_only = policy.append_only
        times = [policy.times(script.steps[: end + 1], duration_s) for end in range(len(script.steps))]
        # A control shows other pictures, so its questions do not count as repeated.
        picture = f"{script.video_id}@%.6f/{settings.control}"
        frames = {time: ShownFrame(time, (picture % time).encode()) for shown in times for time in shown}
        self._frames = [tuple(frames[time] for time in shown) for shown in times]

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        frames = self._frames[index]
        before = self._frames[index - 1] if self.append_only and index else ()
        return frames, frames[len(before) :]


class _NoPictures:
    async def jpeg(self, reference: bytes) -> bytes:
        return b""


def _money(found: EvaluationForecast, prices: Prices | None, judge_prices: Prices | None) -> str:
    parts: list[str] = []
    costs: list[float] = []
    for who, priced, asked, option in (
        ("model", prices, (found.answers,), "--price-in and --price-out"),
        ("judge", judge_prices, found.judged, "--judge-price-in and --judge-price-out"),
    ):
        if not sum(line.calls for line in asked):
            continue
        if priced is None:
            parts.append(f"{who} not known, give {option} per million tokens")
            continue
        costs.append(priced.cost(sum(line.tokens_in for line in asked), sum(line.tokens_out for line in asked)))
        parts.append(f"{who} {costs[-1]:,.2f}")
    if not parts:
        return "money: none, no model is asked"
    total = f"; {sum(costs):,.2f} in all" if len(costs) > 1 else ""
    return f"money: {'; '.join(parts)}{total}{'; no discount for kept prefixes is counted' if costs else ''}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
