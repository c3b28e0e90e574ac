"""Estimates the requests, tokens and cost of construction with a language model before anything is spent."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from reeltalk.construct.prompting import prompts
from reeltalk.construct.settings import STEPS, ConstructSettings, Step
from reeltalk.llm import Prices
from reeltalk.llm.prompts import Prompts
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Video

CHARACTERS_A_TOKEN: Final = {"en": 4.0, "zh": 1.5}
TURN_TOKENS: Final = 40
"""Tokens of a question with its answer."""
ROUNDS: Final = 6.5
"""Mean number of rounds of a dialogue, which has 5 to 8."""
JUDGED_ROUNDS: Final = 3.0
"""Mean number of rounds of a dialogue that get a checklist."""
SCENES_A_CLIP: Final = 0.7
REPLIES: Final = {
    "chain": 450, "quality": 250, "linkages": 700, "rewrite": 200, "standing": 50, "caption": 120,
    "suitability": 160,
    "dialogue": 800, "checklist": 200, "checklist_trial": 120, "wrong_answers": 200,
    "dialogue_check": 350, "merge": 60, "tags": 500, "probe": 30,
}  # fmt: skip
"""Typical tokens of a reply, by prompt."""


@dataclass(frozen=True)
class RequestEstimate:
    """Expected requests with one prompt."""

    what: str
    calls: int
    images: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True)
class ConstructionForecast:
    """Expected requests, and an upper bound."""

    lines: tuple[RequestEstimate, ...]
    most_calls: int
    """Requests if every chain and dialogue is sent back as often as allowed, and every reply is repaired once."""

    @property
    def calls(self) -> int:
        return sum(line.calls for line in self.lines)

    @property
    def tokens(self) -> tuple[int, int]:
        """Total tokens of prompts, and of replies."""
        return sum(line.tokens_in for line in self.lines), sum(line.tokens_out for line in self.lines)

    def cost(self, prices: Prices) -> float:
        """Cost of the expected requests."""
        return prices.cost(*self.tokens)


def forecast_construction(
    clips: dict[str, list[Clip]],
    settings: ConstructSettings,
    *,
    sees_images: bool,
    image_tokens: int,
    probe: bool = False,
    steps: Iterable[Step] = STEPS,
    own_prompts: Path | None = None,
) -> ConstructionForecast:
    """Estimate the requests of a run.

    Args:
        clips: Clips to write about, by video.
        settings: Settings of `construct`.
        sees_images: True if the model gets frames.
        image_tokens: Tokens of one frame.
        probe: True if a model checks every turn as a gate.
        steps: Steps to run.
        own_prompts: A folder of prompts to use instead of ours.

    Raises:
        SettingError: The folder does not exist.
        InputError: A prompt in it cannot replace ours.
    """
    known = prompts(settings.language, own_prompts)
    wanted = set(steps)
    count = sum(map(len, clips.values()))
    pairs = sum(len(list(pairwise(own))) for own in clips.values())
    scenes = round(count * SCENES_A_CLIP) + len(clips) * settings.cross_per_video
    dialogues = len(clips) * len(Task) * 2 * settings.dialogues
    turns = (settings.min_turns + settings.max_turns) / 2 * TURN_TOKENS
    told = round(ROUNDS * TURN_TOKENS)
    planned = [
        ("chains", "chain", count, True, 0),
        ("chains", "quality", count, True, round(turns)),
        ("chains", "tags", count, False, round(turns)),
        ("linkages", "linkages", pairs, False, round(2 * turns)),
        ("linkages", "rewrite", pairs * settings.pairs, False, round(2 * turns)),
        ("paths", "standing", pairs * settings.pairs, False, round(2 * turns)),
        ("scenes", "caption", count, True, 0),
        ("scenes", "merge", 2 * pairs, False, 240),
        ("scenes", "suitability", scenes, False, 120),
        ("dialogues", "dialogue", dialogues, True, 240),
        ("dialogues", "tags", dialogues, False, told),
        ("dialogues", "checklist", round(dialogues * JUDGED_ROUNDS), False, told),
        ("dialogues", "checklist_trial", round(dialogues * JUDGED_ROUNDS), False, told),
        ("dialogues", "wrong_answers", dialogues, False, told),
        ("dialogues", "dialogue_check", dialogues, True, told),
    ]
    if probe:
        asked = round(count * (settings.min_turns + settings.max_turns) / 2 + dialogues * ROUNDS)
        # Two conditions without frames (blind, history), three with frames (one, shuffled, evidence).
        planned.append(("gates", "probe", asked * (5 if sees_images else 2), sees_images, told // 2))
    lines = []
    for step, name, calls, shown, more in planned:
        if step not in wanted or not calls:
            continue
        images = settings.frames * calls if shown and sees_images else 0
        own = round(_prompt_characters(name, known) / CHARACTERS_A_TOKEN[settings.language]) + more
        lines.append(RequestEstimate(name, calls, images, own * calls + images * image_tokens, REPLIES[name] * calls))
    # A chain that is sent back is written and judged again; a dialogue is only written again.
    again = 2 * count * ("chains" in wanted) + dialogues * ("dialogues" in wanted)
    most = 2 * (sum(line.calls for line in lines) + settings.attempts * again)
    return ConstructionForecast(tuple(lines), most)


def _prompt_characters(name: str, known: Prompts) -> int:
    if name == "dialogue":
        # The part for the task and its example are sent with the common part.
        of_tasks = sum(len(known[f"{part}_{task.value}"].text) for part in ("dialogue", "example") for task in Task)
        return len(known[name].text) + round(of_tasks / len(Task))
    return len(known[name].text)


def format_construction_forecast(
    found: ConstructionForecast, videos: Iterable[Video], prices: Prices | None
) -> Iterable[str]:
    """The estimate as lines of text."""
    yield f"{len(list(videos)):,} videos; requests by kind, with prompt and reply tokens:"
    for line in found.lines:
        images = f", {line.images:,} images" if line.images else ""
        yield f"  {line.what}: {line.calls:,} requests, {line.tokens_in:,} + {line.tokens_out:,} tokens{images}"
    tokens_in, tokens_out = found.tokens
    yield f"in all {found.calls:,} requests, {tokens_in:,} + {tokens_out:,} tokens"
    yield f"at most {found.most_calls:,} requests, where every reply is repaired and every chain and dialogue sent back"
    if prices is None:
        yield "money: not known; give --price-in and --price-out per million tokens"
    else:
        yield f"money: {found.cost(prices):,.2f} by the prices given"
