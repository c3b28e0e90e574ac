"""Forecasts the requests, tokens and cost of construction with language models before anything is spent.

The forecast is a count of clips, videos and turns times the median requests of each prompt (`forecast.toml`).
"""

import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from reeltalk.llm import Prices
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

Unit = Literal["clip", "neighbours", "dialogue", "turn", "object", "canary clip", "canary dialogue"]
"""Of what a prompt is sent for each; neighbours are clips that follow each other, and a canary is a draft that judges
read again with changed turns."""


@dataclass(frozen=True)
class Usual:
    """The median requests with a prompt, with default settings, for one unit; images and tokens are of one request."""

    step: Step
    prompt: str
    asks: Literal["writer", "judge", "judges", "compares", "probe", "attackers"]
    """Whose prompt it is: `judge` is the first one, which `compares` what a probe or an attacker answers, and each of
    `judges` gives all its verdicts."""
    unit: Unit
    requests: float
    images: int
    tokens_in: int
    """Without images."""
    tokens_out: int


_ROWS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["usual"]
USUAL: Final = tuple(Usual(*row) for row in _ROWS)


@dataclass
class RequestEstimate:
    """Expected requests with one prompt in one step."""

    step: str
    what: str
    calls: int = 0
    images: int = 0
    tokens_in: int = 0
    """Tokens of prompts with their images."""
    tokens_out: int = 0

    def add(self, requests: float, images: int, tokens_in: int, tokens_out: int) -> None:
        """Add requests; the other numbers are of one request."""
        self.calls += round(requests)
        self.images += round(requests * images)
        self.tokens_in += round(requests * tokens_in)
        self.tokens_out += round(requests * tokens_out)


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
    videos = [video.id for video in islice(benchmark.read(VIDEOS), settings.limit)]
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
        asks: frame_tokens(names.get(asks, first_judge), settings.frame_width_px)
        if asking.image_tokens is None
        else asking.image_tokens
        for asks in models
    }
    found: dict[tuple[Step, str], RequestEstimate] = {}
    for usual in USUAL:
        if writer == GRAPH and usual.step != "gates":
            continue
        step = usual.step
        if step == "chains" and usual.prompt.startswith("caption") and step not in steps:
            # The first of both steps to run asks.
            step = "scenes"
        if step not in steps or not models[usual.asks] or (usual.unit == "object" and asking.sees == "text"):
            continue
        # A judge is shown two fifths more frames than `--frames`.
        most = math.ceil(settings.frames * (1.4 if usual.asks == "judges" else 1.0))
        images = min(usual.images, most) if asking.sees == "images" else 0
        listed = LISTED_TOKENS if usual.images and not images and step != "gates" else 0
        tokens_in = usual.tokens_in + listed + images * tokens_of_image[usual.asks]
        requests = usual.requests * models[usual.asks] * units[usual.unit]
        line = found.setdefault((step, usual.prompt), RequestEstimate(step, usual.prompt))
        line.add(requests, images, tokens_in, usual.tokens_out)
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
        "object": len(videos) * settings.object_captions_per_video if settings.object_captions else 0,
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
