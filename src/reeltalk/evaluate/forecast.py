"""What an evaluation will ask, before anything is asked or decoded.

The dialogues are played and judged by the same code as in earnest, against stand-ins that count: answers as long as the
references, no two of them alike, and judges that reply at once with what can be used.
"""

import asyncio
import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.evaluate.counting import Counting, Line, StandIn
from reeltalk.evaluate.playing.histories import WrongAnswers
from reeltalk.evaluate.playing.play import NoScreening, Screening, Subtitles, asked_of, play
from reeltalk.evaluate.playing.player import Player, ShownFrame
from reeltalk.evaluate.playing.policies import policy_of
from reeltalk.evaluate.playing.script import Script, Step
from reeltalk.evaluate.settings import PlaySettings
from reeltalk.judge import reference_checks
from reeltalk.judge.judge import Judge
from reeltalk.judge.units import Background, group_units, judged_units
from reeltalk.llm.budget import Prices
from reeltalk.llm.model import AsyncModel
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.runs import Control

WITHIN: Final = 0.1
"""Share by which prompt tokens may be off for a server that counts 4 characters a token, where answers are as long as
the references."""
ANSWERS: Final = "answers"
SOME_LENGTH_S: Final = 60.0
"""Length of a video of which nothing tells it."""

PlayerOf = Callable[[AsyncModel], "Player | None"]
"""Makes who answers, with the model that it asks; None for one that asks none."""


@dataclass(frozen=True)
class Forecast:
    """All that is expected to be asked. A reply that cannot be used is asked for again, which comes on top."""

    lines: tuple[Line, ...]
    scripts: int
    """Dialogues, paths, and videos whose chains are played; once more for each control."""
    turns: int
    """Turns that are asked."""
    due: tuple[tuple[int, int], ...]
    """Requests of each script: for answers, and of judges."""
    told_only: int = 0
    """Those of the turns that are asked for the history alone and not scored."""

    @property
    def answers(self) -> Line:
        """What the model is asked."""
        return self.lines[0]

    @property
    def judged(self) -> tuple[Line, ...]:
        """What the judge is asked, by protocol."""
        return self.lines[1:]

    @property
    def calls(self) -> int:
        """Requests in all."""
        return sum(line.calls for line in self.lines)

    def seconds(self, connections: int, answer_s: float, judging_s: float) -> float:
        """How long it takes: turns one after the other, several scripts at a time, each judged when it is played.

        Args:
            connections: Scripts at a time.
            answer_s: Seconds of an answer.
            judging_s: Seconds of a judge's reply.
        """
        ends = [0.0] * max(1, min(connections, len(self.due)))
        for answers, judgings in self.due:
            heapq.heappush(ends, heapq.heappop(ends) + answers * answer_s + judgings * judging_s)
        return max(ends)


def forecast(
    scripts: Sequence[Script],
    settings: PlaySettings,
    player_of: PlayerOf,
    judges: Sequence[Judge],
    *,
    durations_s: Mapping[str, float | None],
    background: Background | None = None,
    model: str = "model",
    judge: str = "judge",
    sees_images: bool = True,
    image_tokens: int = 0,
    wrong: WrongAnswers | None = None,
    subtitles: Subtitles | None = None,
    null_units: int = 0,
    seed: int = 17,
    controls: Sequence[Control] = (),
) -> Forecast:
    """Count what an evaluation will ask.

    Args:
        scripts: What is played.
        settings: How.
        player_of: Makes who answers.
        judges: By which protocols answers are judged.
        durations_s: Length of each video.
        background: What the benchmark knows beside the turns.
        model: Name of the model that answers.
        judge: Name of the model that judges.
        sees_images: Whether the model is shown frames.
        image_tokens: Tokens of one frame.
        wrong: Gives the answer that a corrupted history holds.
        subtitles: Gives lines that were spoken.
        null_units: Units whose empty answers are judged for the null row.
        seed: Decides which.
        controls: Controls that are played too.

    Raises:
        BenchmarkError: A golden history needs a reference that is withheld.
    """
    asked = Counting(model, sees_images, image_tokens)
    counting = {one.name: Counting(judge) for one in judges}
    player = StandIn(player_of(asked), asked)
    due: list[tuple[int, int]] = []
    turns = told_only = 0
    plays = [settings, *(settings.model_copy(update={"control": control}) for control in controls)]
    every = {(step.unit, step.unit_id) for script in scripts for step in script.steps}
    nothing = reference_checks.sample_units(every, null_units, seed=seed)

    async def run() -> None:
        nonlocal turns, told_only
        for own, script in ((own, script) for own in plays for script in scripts):
            answers, judgings = asked.calls, sum(one.calls for one in counting.values())
            screening = _screening(script, own, durations_s, player)
            played = play(script, player, screening, _NoPictures(), own, wrong=wrong, subtitles=subtitles)
            answered = [turn async for turn in played]
            turns += sum(asked_of(script, own))
            told_only += sum(turn.state is AnswerState.NOT_SCORED for turn in answered)
            units = group_units(answered, background)
            for one in judges:
                for unit in judged_units(one, units, background):
                    await one.judge(unit, counting[one.name])
                    if one.needs_model and (unit.kind, unit.id) in nothing:
                        await one.judge(reference_checks.with_empty_answers(unit), counting[one.name])
            due.append((asked.calls - answers, sum(one.calls for one in counting.values()) - judgings))

    asyncio.run(run())
    lines = [asked.line(ANSWERS), *(one.line(name) for name, one in counting.items())]
    return Forecast(tuple(lines), len(due), turns, tuple(due), told_only)


def lines(
    found: Forecast,
    *,
    prices: Prices | None,
    judge_prices: Prices | None,
    connections: int,
    latency_s: float | None,
    judge_latency_s: float | None,
    image_tokens: int,
) -> Iterable[str]:
    """The forecast as lines of text.

    Args:
        found: The forecast.
        prices: Of the model that answers.
        judge_prices: Of the judge.
        connections: Scripts at a time.
        latency_s: Seconds of an answer.
        judge_latency_s: Seconds of a judge's reply.
        image_tokens: Tokens that were counted for one frame.
    """
    told = f", {found.told_only:,} of them for the history alone" if found.told_only else ""
    yield f"{found.scripts:,} scripts, {found.turns:,} turns{told}; requests by kind, with prompt and reply tokens:"
    for line in found.lines:
        what = line.what if line is found.answers else f"judge, {line.what}"
        if not line.calls:
            yield f"  {what}: no requests"
            continue
        images = f", {line.images:,} images" if line.images else ""
        kept = f"; {line.repeated:,} more are kept replies, asked in the same words" if line.repeated else ""
        yield f"  {what}: {line.calls:,} requests, {line.tokens_in:,} + {line.tokens_out:,} tokens{images}{kept}"
    tokens_in, new, tokens_out = (
        sum(getattr(line, name) for line in found.lines) for name in ("tokens_in", "new_tokens_in", "tokens_out")
    )
    yield f"in all {found.calls:,} requests, {tokens_in:,} + {tokens_out:,} tokens; repairs of replies come on top"
    if tokens_in:
        yield (
            f"with a prefix cache {new:,} of {tokens_in:,} prompt tokens are computed ({new / tokens_in:.0%}): "
            f"{found.answers.new_tokens_in:,} of {found.answers.tokens_in:,} for answers"
        )
    frame = f", {image_tokens:,} a frame" if found.answers.images else ""
    yield (
        f"tokens: 4 characters each{frame}, answers as long as the references; "
        f"prompts then come within {WITHIN:.0%} of what such a server counts"
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


def _screening(
    script: Script, settings: PlaySettings, durations_s: Mapping[str, float | None], player: Player
) -> Screening:
    if not player.sees_frames or "none" in (settings.frames.policy, settings.control):
        return NoScreening()
    return _Counted(script, settings, durations_s.get(script.video_id) or _least_length(script.steps))


def _least_length(steps: Sequence[Step]) -> float:
    known = [step.asked_at_s for step in steps if step.asked_at_s is not None]
    known += [clip.end_s for step in steps for clip in step.clips]
    return max(known, default=SOME_LENGTH_S)


class _Counted:
    """Frames as they would be shown, without pictures."""

    def __init__(self, script: Script, settings: PlaySettings, duration_s: float) -> None:
        policy = policy_of(settings.frames, script.steps, duration_s)
        self.append_only = policy.append_only
        times = [policy.times(script.steps[: end + 1], duration_s) for end in range(len(script.steps))]
        # A control's pictures are others, so that its questions are no repeated ones.
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


def _money(found: Forecast, prices: Prices | None, judge_prices: Prices | None) -> str:
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
