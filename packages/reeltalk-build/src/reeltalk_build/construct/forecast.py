"""Forecasts the requests, tokens and cost of construction with language models before anything is spent.

The forecast is a count of clips, videos and turns times the median requests of each prompt (`forecast.toml`).
"""

import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from reeltalk.llm import Prices
from reeltalk.schema.knowledge import KnownBox
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, KNOWN_BOXES, VIDEOS
from reeltalk_build.construct.object_step import ObjectSettings
from reeltalk_build.construct.settings import STEPS, AskSettings, ConstructSettings, Step
from reeltalk_build.construct.writer_options import GRAPH

OBJECT_TOKENS: Final = (240, 40)
"""Tokens of the prompt and of the reply about one object, without its picture."""
LISTED_TOKENS: Final = 550
"""Tokens of a list of objects, which a writer gets with `--sees text` in place of pictures."""
TURNS_A_CHAIN: Final = 5
DIALOGUES_A_VIDEO: Final = 12
TURNS_A_DIALOGUE: Final = 6

Unit = Literal["clip", "neighbours", "dialogue", "turn"]
"""Of what a prompt is sent for each; neighbours are clips that follow each other."""
Asks = Literal["writer", "judge", "judges", "compares", "probe", "attackers"]
"""Whose prompt it is: `judge` is the first one, which `compares` what a probe or an attacker answers, and each of
`judges` gives all its verdicts."""


@dataclass(frozen=True)
class Usual:
    """The median requests with a prompt, with default settings, for one unit; images and tokens are of one request."""

    step: Step
    prompt: str
    asks: Asks
    unit: Unit
    requests: float
    images: int
    tokens_in: int
    """Without images."""
    tokens_out: int


_ROWS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["usual"]
USUAL: Final = tuple(Usual(*row) for row in _ROWS)


@dataclass(frozen=True)
class RequestEstimate:
    """Expected requests with one prompt in one step."""

    step: str
    what: str
    calls: int
    images: int
    tokens_in: int
    """Tokens of prompts with their images."""
    tokens_out: int


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

    @property
    def most_calls(self) -> int:
        """Requests if every draft is sent back as often as allowed, and every reply is repaired once."""
        return 2 * (1 + self.attempts) * self.calls

    def cost(self, prices: Prices) -> float:
        """Cost of the expected requests."""
        return prices.cost(*self.tokens)


def forecast_construction(
    benchmark: Benchmark, *, writer: str, settings: ConstructSettings, asking: AskSettings, steps: Sequence[Step] = ()
) -> ConstructionForecast:
    """Forecast the requests and tokens of `construct` with the same settings. Nothing is asked or decoded.

    Args:
        benchmark: One with clips.
        writer: As for `construct`, but no class of your own.
        settings: As for `construct`.
        asking: As for `construct`.
        steps: As for `construct`.
    """
    steps = tuple(steps) or STEPS
    videos = list(islice(benchmark.read(VIDEOS), settings.limit))
    clips = Counter(clip.video_id for clip in benchmark.read(CLIPS))
    units = _count_units(benchmark, [(video.id, clips[video.id]) for video in videos], settings, steps)
    found: dict[tuple[Step, str], RequestEstimate] = {}
    for usual in USUAL:
        if writer == GRAPH and usual.step != "gates":
            continue
        step = usual.step
        if step == "chains" and usual.prompt.startswith("caption") and step not in steps:
            # The first of both steps to run asks.
            step = "scenes"
        asked = _models(usual.asks, asking)
        if step not in steps or not asked:
            continue
        key = step, usual.prompt
        line = _usual_requests(usual, step, usual.requests * asked * units[usual.unit], settings, asking)
        found[key] = _together(found[key], line) if key in found else line
    lines = [line for line in found.values() if line.calls]
    if "objects" in steps and settings.object_captions and asking.sees == "images" and writer != GRAPH:
        thresholds = ObjectSettings()
        captions = estimate_object_captions(
            videos,
            benchmark.read(KNOWN_BOXES),
            most=settings.object_captions_per_video,
            side_px=thresholds.caption_side_px,
            sightings=thresholds.caption_sightings,
            image_tokens=asking.image_tokens,
        )
        lines.insert(0, captions)
    return ConstructionForecast(tuple(lines), len(videos), settings.attempts)


def _count_units(
    benchmark: Benchmark, clips_of: Sequence[tuple[str, int]], settings: ConstructSettings, steps: Sequence[Step]
) -> Mapping[Unit, int]:
    """How many there are; turns that a step is still to write are estimated."""
    clips = sum(count for _, count in clips_of)
    dialogues = len(clips_of) * DIALOGUES_A_VIDEO * settings.dialogues
    names = {name for name, _ in clips_of}
    turns = clips * TURNS_A_CHAIN
    if "chains" not in steps:
        turns = sum(len(chain.turns) for chain in benchmark.read(CHAINS) if chain.video_id in names)
    if "dialogues" in steps:
        turns += dialogues * TURNS_A_DIALOGUE
    else:
        turns += sum(len(dialogue.turns) for dialogue in benchmark.read(DIALOGUES) if dialogue.video_id in names)
    neighbours = sum(max(0, count - 1) for _, count in clips_of)
    return {"clip": clips, "neighbours": neighbours, "dialogue": dialogues, "turn": turns}


def _models(asks: Asks, asking: AskSettings) -> int:
    """How often a prompt is sent for a unit, since several models get it or one gets it several times."""
    match asks:
        case "writer":
            return 1
        case "judge":
            return min(1, len(asking.judge))
        case "compares":
            return min(1, len(asking.judge)) if asking.probe or asking.attacker else 0
        case "judges":
            return len(asking.judge) * asking.samples
        case "probe":
            return int(asking.probe is not None)
        case "attackers":
            return len(asking.attacker)


def _usual_requests(
    usual: Usual, step: str, requests: float, settings: ConstructSettings, asking: AskSettings
) -> RequestEstimate:
    """The requests of a prompt; a judge is shown two fifths more frames than `--frames`."""
    most = math.ceil(settings.frames * (1.4 if usual.asks == "judges" else 1.0))
    images = min(usual.images, most) if asking.sees == "images" else 0
    listed = LISTED_TOKENS if usual.images and not images and step != "gates" else 0
    tokens_in = usual.tokens_in + listed + images * asking.image_tokens
    numbers = (requests, requests * images, requests * tokens_in, requests * usual.tokens_out)
    return RequestEstimate(step, usual.prompt, *(round(number) for number in numbers))


def _together(first: RequestEstimate, second: RequestEstimate) -> RequestEstimate:
    return RequestEstimate(
        first.step,
        first.what,
        first.calls + second.calls,
        first.images + second.images,
        first.tokens_in + second.tokens_in,
        first.tokens_out + second.tokens_out,
    )


def estimate_object_captions(
    videos: Sequence[Video], boxes: Iterable[KnownBox], *, most: int, side_px: int, sightings: int, image_tokens: float
) -> RequestEstimate:
    """The requests for captions of objects: those of known boxes that are worth one, else as many as are allowed.

    Args:
        videos: The videos.
        boxes: Known boxes of any videos.
        most: Most captions of a video.
        side_px: Shorter side of a box that is worth a caption, in pixels.
        sightings: Fewest sightings of an object that is worth one.
        image_tokens: Tokens of one image.
    """
    seen: dict[str, dict[str, list[float]]] = {video.id: {} for video in videos}
    size = {video.id: (video.width_px or side_px, video.height_px or side_px) for video in videos}
    for one in boxes:
        if one.video_id in seen:
            width, height = size[one.video_id]
            side = min((one.box.right - one.box.left) * width, (one.box.bottom - one.box.top) * height)
            seen[one.video_id].setdefault(one.object, []).append(side)
    count = sum(
        min(most, sum(max(sides) >= side_px and len(sides) >= sightings for sides in own.values())) if own else most
        for own in seen.values()
    )
    tokens_in, tokens_out = OBJECT_TOKENS
    return RequestEstimate(
        "objects", "object_caption", count, count, round(count * (tokens_in + image_tokens)), count * tokens_out
    )


def format_construction_forecast(found: ConstructionForecast, prices: Prices | None) -> Iterator[str]:
    """The estimate as lines of text."""
    yield f"{found.videos:,} videos; requests by step and prompt, with prompt and reply tokens:"
    for line in found.lines:
        images = f", {line.images:,} images" if line.images else ""
        yield (
            f"  {line.step}, {line.what}: {line.calls:,} requests, {line.tokens_in:,} + {line.tokens_out:,} "
            f"tokens{images}"
        )
    tokens_in, tokens_out = found.tokens
    images = f", {found.images:,} images" if found.images else ""
    yield f"in all {found.calls:,} requests, {tokens_in:,} + {tokens_out:,} tokens{images}"
    yield f"at most {found.most_calls:,} requests, where every reply is repaired and every draft sent back"
    if prices is None:
        yield "money: not known; give --price-in and --price-out per million tokens"
    else:
        yield f"money: {found.cost(prices):,.2f} by the prices given"
