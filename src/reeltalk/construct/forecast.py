"""Forecasts the requests, tokens and cost of construction with language models before anything is spent.

The requests are those of a rehearsal (`rehearsal.py`), scaled to all videos. Where the benchmark holds the record of an
earlier run with the same settings, for example for one video, its numbers count: they know how often this writer is
sent back, how much it writes, and how its server counts tokens.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.construct.costs import Asked, StepCost
from reeltalk.construct.settings import STEPS
from reeltalk.llm import Prices
from reeltalk.schema.knowledge import KnownBox
from reeltalk.schema.media import Video

OBJECT_TOKENS: Final = (240, 40)
"""Tokens of the prompt and of the reply about one object, without its picture."""
BY_VIDEO: Final = frozenset({"objects", "dialogues"})
"""Steps whose requests grow with the videos; those of the others grow with the clips."""
CAPTIONS: Final = ("caption", "caption_check")
"""Prompts that the steps `chains` and `scenes` share. The first step to run asks."""


@dataclass(frozen=True)
class Size:
    """How much of a benchmark is written about."""

    videos: int
    clips: int

    def times(self, step: str, other: "Size") -> float:
        """How many times the requests of a smaller part of the benchmark a step needs."""
        if step in BY_VIDEO:
            return self.videos / max(1, other.videos)
        return self.clips / max(1, other.clips)


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

    def times(self, factor: float) -> "RequestEstimate":
        """The same for more or fewer units."""
        numbers = (self.calls, self.images, self.tokens_in, self.tokens_out)
        return RequestEstimate(self.step, self.what, *(round(number * factor) for number in numbers))


@dataclass(frozen=True)
class ConstructionForecast:
    """Expected requests, and an upper bound."""

    lines: tuple[RequestEstimate, ...]
    videos: int
    attempts: int
    """Most revisions of a draft."""
    measured: tuple[str, ...] = ()
    """Steps whose numbers rest on an earlier run."""

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


Costs = Mapping[str, Mapping[str, Asked]]
"""Requests by step and prompt."""


@dataclass(frozen=True)
class Measured:
    """What an earlier run asked, and what a rehearsal of the same videos asks."""

    costs: Mapping[str, StepCost]
    """Only steps with the settings of the forecast."""
    rehearsed: Costs


def estimate_requests(
    rehearsed: Costs, of: Size, total: Size, *, image_tokens: float, measured: Measured | None = None
) -> list[RequestEstimate]:
    """The requests of all videos, by step and prompt.

    Args:
        rehearsed: Requests of the rehearsed videos; tokens without images.
        of: The rehearsed part of the benchmark.
        total: The part that is written about.
        image_tokens: Tokens of one image, where no earlier run shows them.
        measured: Requests of an earlier run.
    """
    found = []
    for step in (step for step in STEPS if step in rehearsed):
        times = total.times(step, of)
        cost = measured.costs.get(step) if measured else None
        for prompt, asked in rehearsed[step].items():
            before = cost.prompts.get(prompt) if cost else None
            small = measured.rehearsed.get(step, {}).get(prompt) if measured else None
            if before is not None and small is not None and cost is not None:
                found.append(_grown(step, prompt, asked, before, small, times))
                continue
            tokens_in = asked.prompt_tokens + image_tokens * asked.images
            numbers = (asked.requests, asked.images, tokens_in, asked.reply_tokens)
            found.append(RequestEstimate(step, prompt, *(round(number * times) for number in numbers)))
        # What only the earlier run asked, for example a judge in a second attempt.
        for prompt, before in (cost.prompts if cost else {}).items():
            if cost is not None and prompt not in rehearsed[step]:
                more = total.times(step, Size(cost.videos, cost.clips))
                numbers = (before.requests, before.images, before.prompt_tokens, before.reply_tokens)
                found.append(RequestEstimate(step, prompt, *(round(number * more) for number in numbers)))
    return [line for line in found if line.calls]


def _grown(step: str, prompt: str, asked: Asked, before: Asked, small: Asked, times: float) -> RequestEstimate:
    """Measured requests, as many times as a rehearsal of everything asks more than one of the measured videos."""

    def grown(measured: int, whole: int, part: int) -> int:
        return round(measured * times * (whole / part if part else asked.requests / max(1, small.requests)))

    text = grown(before.prompt_tokens, asked.prompt_tokens, small.prompt_tokens)
    if small.images:
        # Images are most of such a prompt.
        text = grown(before.prompt_tokens, asked.images, small.images)
    return RequestEstimate(
        step,
        prompt,
        grown(before.requests, asked.requests, small.requests),
        grown(before.images, asked.images, small.images),
        text,
        grown(before.reply_tokens, asked.reply_tokens, small.reply_tokens),
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


def format_construction_forecast(found: ConstructionForecast, prices: Prices | None) -> Iterable[str]:
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
    if found.measured:
        yield f"by what an earlier run took: {', '.join(found.measured)}"
    elif found.calls:
        yield "for a nearer forecast, first run it with --limit 1: then its replies are counted"
    if prices is None:
        yield "money: not known; give --price-in and --price-out per million tokens"
    else:
        yield f"money: {found.cost(prices):,.2f} by the prices given"
