"""Forecasts the requests, tokens and cost of construction with language models before anything is spent.

The forecast is a count of clips, videos and turns times the median requests of each prompt (`forecast.toml`). While the
work goes on, what replies took replaces the medians (`RunningForecast`).
"""

import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import fmean
from threading import Lock
from typing import Final, Literal

from reeltalk.llm import Prices, Reply
from reeltalk.llm.budget import Spent
from reeltalk.llm.picture_tokens import frame_tokens
from reeltalk.schema.record import VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, VIDEOS
from reeltalk_build.construct.canaries import READ_AGAIN
from reeltalk_build.construct.settings import STEPS, AskSettings, ConstructSettings, Step
from reeltalk_build.construct.writer_options import GRAPH

LISTED_TOKENS: Final = 550
"""Tokens of a list of objects, which a writer gets with `--sees text` in place of pictures."""
TURNS_A_CHAIN: Final = 5
DIALOGUES_A_VIDEO: Final = 12
TURNS_A_DIALOGUE: Final = 6

Unit = Literal["clip", "neighbours", "dialogue", "turn", "canary clip", "canary dialogue"]
"""Of what a prompt is sent for each; neighbours are clips that follow each other, and a canary is a draft that judges
read again with changed turns."""


@dataclass(frozen=True)
class UsualRequests:
    """The median requests with a prompt, with default settings, for one unit; images and tokens are of one request."""

    step: Step
    prompt: str
    role: Literal["writer", "judge", "judges", "compares", "probe", "attackers"]
    """The model that is asked: `judge` is the first one, which `compares` what a probe or an attacker answers, and each
    of `judges` gives all its verdicts."""
    unit: Unit
    requests: float
    images: int
    tokens_in: int
    """Without images."""
    tokens_out: int


_ROWS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["usual"]
USUAL_REPLIES: Final = tuple(UsualRequests(*row) for row in _ROWS)


@dataclass
class RequestEstimate:
    """Expected requests with one prompt in one step."""

    step: Step
    what: str
    role: str = "writer"
    """Whose prompt it is, as in `UsualRequests`."""
    calls: int = 0
    images: int = 0
    tokens_in: int = 0
    """Tokens of prompts with their images."""
    tokens_out: int = 0


@dataclass(frozen=True)
class ConstructionForecast:
    """Expected requests, and an upper bound."""

    lines: tuple[RequestEstimate, ...]
    videos: int
    attempts: int
    """Most revisions of a draft."""

    @property
    def calls(self) -> int:
        return sum(line.calls for line in self.lines)

    @property
    def images(self) -> int:
        return sum(line.images for line in self.lines)

    @property
    def tokens(self) -> tuple[int, int]:
        """Total tokens of prompts, and of replies."""
        return sum(line.tokens_in for line in self.lines), sum(line.tokens_out for line in self.lines)


def forecast_construction(
    benchmark: Benchmark, *, writer: str, settings: ConstructSettings, asking: AskSettings, steps: Sequence[Step] = ()
) -> ConstructionForecast:
    """Forecast the requests and tokens of `construct` with the same arguments. Nothing is asked or decoded."""
    steps = tuple(steps) or STEPS
    rows = list(islice(benchmark.read(VIDEOS), settings.limit))
    videos = [video.id for video in rows]
    sides = [max(video.width_px, video.height_px) for video in rows if video.width_px and video.height_px]
    side = min(settings.frame_width_px, fmean(sides)) if sides else settings.frame_width_px
    units = _count_units(benchmark, videos, settings, steps, READ_AGAIN if asking.canaries else 0)
    compared = bool(asking.judge) and (asking.probe is not None or bool(asking.attacker))
    models = {
        "writer": 1,
        "judge": min(1, len(asking.judge)),
        "judges": len(asking.judge) * asking.samples,
        "compares": int(compared),
        "probe": int(asking.probe is not None),
        "attackers": len(asking.attacker),
    }
    first_judge = next(iter(asking.judge), "")
    names = {"writer": writer, "probe": asking.probe or "", "attackers": next(iter(asking.attacker), "")}
    tokens_of_image = {
        asks: frame_tokens(names.get(asks, first_judge), side) if asking.image_tokens is None else asking.image_tokens
        for asks in models
    }
    found: dict[tuple[Step, str], RequestEstimate] = {}
    for usual in USUAL_REPLIES:
        if writer == GRAPH and usual.step != "gates":
            continue
        step = usual.step
        if step == "chains" and usual.prompt.startswith("caption") and step not in steps:
            # The first of both steps to run asks.
            step = "scenes"
        if step not in steps or not models[usual.role]:
            continue
        # A judge is shown two fifths more frames than `--frames`, and as many as these again of the evidence.
        most = math.ceil(settings.frames * (2.4 if usual.role == "judges" else 1.0))
        images = min(usual.images, most) if asking.sees == "images" else 0
        listed = LISTED_TOKENS if usual.images and not images and step != "gates" else 0
        tokens_in = usual.tokens_in + listed + images * tokens_of_image[usual.role]
        requests = usual.requests * models[usual.role] * units[usual.unit]
        line = found.setdefault((step, usual.prompt), RequestEstimate(step, usual.prompt, usual.role))
        line.calls += round(requests)
        line.images += round(requests * images)
        line.tokens_in += round(requests * tokens_in)
        line.tokens_out += round(requests * usual.tokens_out)
    return ConstructionForecast(tuple(line for line in found.values() if line.calls), len(videos), settings.attempts)


def _count_units(
    benchmark: Benchmark, videos: Sequence[VideoId], settings: ConstructSettings, steps: Sequence[Step], canaries: int
) -> Mapping[Unit, int]:
    """How many there are; turns that a step is still to write are estimated."""
    of_videos = Counter(clip.video_id for clip in benchmark.read(CLIPS))
    names, counts = frozenset(videos), [of_videos[video] for video in videos]
    dialogues = len(videos) * DIALOGUES_A_VIDEO * settings.dialogues
    turns = sum(counts) * TURNS_A_CHAIN
    if "chains" not in steps:
        turns = sum(len(one.turns) for one in benchmark.read(CHAINS) if one.video_id in names)
    if "dialogues" in steps:
        turns += dialogues * TURNS_A_DIALOGUE
    else:
        turns += sum(len(one.turns) for one in benchmark.read(DIALOGUES) if one.video_id in names)
    return {
        "clip": sum(counts),
        "neighbours": sum(max(0, count - 1) for count in counts),
        "dialogue": dialogues,
        "turn": turns,
        "canary clip": min(canaries, sum(counts)),
        "canary dialogue": min(canaries, dialogues),
    }


def format_construction_forecast(found: ConstructionForecast, prices: Prices | None) -> Iterator[str]:
    """The estimate as lines of text."""
    yield f"{found.videos:,} videos; requests by step and prompt, with prompt and reply tokens:"
    for line in found.lines:
        yield f"  {line.step}, {line.what}: {_numbers(line.calls, line.images, (line.tokens_in, line.tokens_out))}"
    yield f"in all {_numbers(found.calls, found.images, found.tokens)}"
    most = 2 * (1 + found.attempts) * found.calls
    yield f"at most {most:,} requests, where every reply is repaired and every draft sent back"
    if prices is None:
        yield "money: not known; give --price-in and --price-out per million tokens"
    else:
        yield f"money: {prices.cost(*found.tokens):,.2f} by the prices given"


def _numbers(calls: int, images: int, tokens: tuple[int, int]) -> str:
    pictures = f", {images:,} images" if images else ""
    return f"{calls:,} requests, {tokens[0]:,} + {tokens[1]:,} tokens{pictures}"


ENOUGH_REPLIES: Final = 10
"""Replies of a run, after which what they took replaces the medians."""
FEW_REPLIES: Final = 3
"""Fewer replies to prompts of a kind say nothing of it."""


@dataclass
class RunningForecast:
    """What is still to be asked while `construct` runs. Safe to share among threads."""

    estimate: ConstructionForecast
    prices: Prices | None = None
    _done: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    _took: dict[tuple[str | None, str], tuple[int, int, int]] = field(default_factory=dict)
    """Replies with known tokens, tokens of their prompts, and of themselves."""
    _step: Step | None = None
    _lock: Lock = field(default_factory=Lock)

    def measure(self, step: Step | None, prompt: str, reply: Reply) -> int:
        """Count a reply; steps before this one have ended. Gives the number of replies so far."""
        key = step, prompt
        with self._lock:
            self._step = step
            self._done[key] += 1
            if reply.prompt_tokens is not None and reply.completion_tokens is not None:
                replies, tokens_in, tokens_out = self._took.get(key, (0, 0, 0))
                added = tokens_in + reply.prompt_tokens, tokens_out + reply.completion_tokens
                self._took[key] = (replies + 1, *added)
            return self._done.total()

    def left(self) -> Spent:
        """The requests, tokens and money that the rest of the work is expected to take."""
        with self._lock:
            calls = tokens_in = tokens_out = 0.0
            for line in self.estimate.lines:
                if self._step is not None and STEPS.index(line.step) < STEPS.index(self._step):
                    continue
                left = max(0, line.calls - self._done[line.step, line.what])
                each_in, each_out = self._off(line)
                calls += left
                tokens_in += left * line.tokens_in / line.calls * each_in
                tokens_out += left * line.tokens_out / line.calls * each_out
        money = self.prices.cost(round(tokens_in), round(tokens_out)) if self.prices is not None else 0.0
        return Spent(round(calls), round(tokens_in + tokens_out), money)

    def _off(self, line: RequestEstimate) -> tuple[float, float]:
        """How many times the estimate prompts and replies took: those of a line, or of others of its kind."""
        seen = [
            (one, self._took[one.step, one.what]) for one in self.estimate.lines if (one.step, one.what) in self._took
        ]
        if sum(took[0] for _, took in seen) < ENOUGH_REPLIES:
            return 1.0, 1.0
        looks = line.images > 0
        for alike in (
            [pair for pair in seen if pair[0] is line],
            [pair for pair in seen if (pair[0].role, pair[0].images > 0) == (line.role, looks)],
            [pair for pair in seen if (pair[0].images > 0) == looks],
            seen,
        ):
            if sum(took[0] for _, took in alike) >= FEW_REPLIES:
                expected_in = sum(took[0] * one.tokens_in / one.calls for one, took in alike)
                expected_out = sum(took[0] * one.tokens_out / one.calls for one, took in alike)
                return sum(took[1] for _, took in alike) / expected_in, sum(took[2] for _, took in alike) / expected_out
        return 1.0, 1.0
