"""A few turns to look at first: unread answers, turns that all models get wrong, and turns on which they disagree."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from reeltalk.analysis.columns import metric_title
from reeltalk.analysis.dialogues import ShownAnswer, ShownTurn, limit_text
from reeltalk.analysis.finder import shorten_line
from reeltalk.analysis.standings import Standings
from reeltalk.analysis.turn_scores import RIGHT
from reeltalk.judge.turns import EMPTY_ANSWER
from reeltalk.language.answer_reading import UNREAD
from reeltalk.metrics.choice import NAMES_NONE, NAMES_SEVERAL
from reeltalk.pages.site import Site
from reeltalk.pages.site_media import SiteMedia
from reeltalk.video.sampling import pick_evenly

MOST: Final = 5
MOST_MODELS: Final = 6
MOST_READ: Final = 60
"""Most turns that are read to find unread answers among the wrong ones."""
MOST_UNREAD: Final = 2
FRAMES: Final = 4
CHARACTERS: Final = 400


class ExampleAnswer(NamedTuple):
    """A model's answer to a turn."""

    model: int
    """The model's place on the leaderboard."""
    text: str
    right: bool | None
    """None without a score."""
    read: str
    """What the judge read, or said; empty if it said nothing."""


class ExampleTurn(NamedTuple):
    """A turn, and why to look at it."""

    why: str
    more: str
    """The page with all turns of this kind."""
    href: str
    turn: ShownTurn
    title: str
    """The name of its dialogue."""
    reference: str
    answers: list[ExampleAnswer]
    frames: list[tuple[str, str]]
    """Pictures below the site, and their times."""


def choose_example_turns(site: Site, standings: Standings) -> list[ExampleTurn]:
    """At most five turns, of as many reasons and videos as there are.

    A turn that no model can do says most about the benchmark, one on which they disagree about the models, and an
    answer that no rule could read about the score itself.
    """
    ranked = [row.index for row in standings.rows if row.role == "model"] or [
        index for index, model in enumerate(site.board.models) if model.competes
    ]
    if not ranked or not site.dialogues:
        return []
    shown = ranked[:MOST_MODELS]
    credit = site.turns.credit[:, ranked]
    known, right = ~np.isnan(credit), credit > RIGHT
    some, wrong = right.any(axis=1), (known & ~right).any(axis=1)
    several = len(ranked) > 1
    kinds = {
        ("Every model is wrong" if several else "The answer is wrong", "wrong"): np.flatnonzero(wrong & ~some),
        ("Some models are right, some wrong", "split"): np.flatnonzero(wrong & some),
    }
    if not known.any():
        kinds = {("Nobody judged these answers", "all"): np.arange(len(credit))}
    queues = {kind: _spread(site, rows.tolist()) for kind, rows in kinds.items() if len(rows)}
    chosen: dict[int, tuple[str, str]] = {}
    unread = (row for queue in list(queues.values()) for row in queue[:MOST_READ])
    if known.any():
        for row in unread:
            turn, _ = _turn(site, row)
            if any(_is_unread(turn.answers[index]) for index in shown):
                chosen[row] = ("An answer could not be read", "unread")
                if len(chosen) == MOST_UNREAD:
                    break
    while len(chosen) < MOST and any(queues.values()):
        for kind, queue in queues.items():
            if queue and len(chosen) < MOST:
                chosen.setdefault(queue.pop(0), kind)
    examples = []
    for row, (why, show) in chosen.items():
        turn, title = _turn(site, row)
        examples.append(
            ExampleTurn(
                why,
                f"turns.html#show={show}",
                f"dialogues/{turn.file}#{turn.anchor}",
                turn,
                title,
                next((text for text, is_right in turn.options if is_right), (*turn.references, "")[0]),
                [_answer(turn.answers[index], index, credit[row, ranked.index(index)]) for index in shown],
                [],
            )
        )
    return _with_frames(site, examples, [site.turns.videos[row] for row in chosen])


def _spread(site: Site, rows: Sequence[int]) -> list[int]:
    """Turns in an order in which one of every video comes before a second of any."""
    times: Counter[str] = Counter()
    keys = {}
    for row in rows:
        video = site.turns.videos[row]
        keys[row] = (times[video], row)
        times[video] += 1
    return sorted(rows, key=keys.__getitem__)


def _turn(site: Site, row: int) -> tuple[ShownTurn, str]:
    places = site.dialogues.turns["dialogue"]
    dialogue = site.dialogues[places[row]]
    return dialogue.turns[row - int(places.search_sorted(places[row]))], dialogue.title


def _sayings(answer: ShownAnswer) -> Iterator[tuple[str, str]]:
    for verdict in answer.verdicts:
        for of, text, _ in verdict.sayings:
            yield of or metric_title(verdict.protocol.replace("-", "_")), text


def _is_unread(answer: ShownAnswer) -> bool:
    said = [text for _, text in _sayings(answer)]
    return any(text in (NAMES_NONE, NAMES_SEVERAL) or text.partition(": ")[2].startswith(UNREAD) for text in said)


def _answer(answer: ShownAnswer, index: int, credit: float) -> ExampleAnswer:
    read = "; ".join(dict.fromkeys(text for _, text in _sayings(answer) if text != EMPTY_ANSWER))
    return ExampleAnswer(
        index,
        limit_text(shorten_line(answer.text or "", CHARACTERS)),
        None if np.isnan(credit) else bool(credit > RIGHT),
        shorten_line(read, CHARACTERS),
    )


def _with_frames(site: Site, examples: list[ExampleTurn], videos: Sequence[str]) -> list[ExampleTurn]:
    if site.benchmark is None or site.settings.media == "none":
        return examples
    media = SiteMedia(site.folder, site.benchmark.media, site.context.videos, site.executor)
    wanted: dict[str, set[float]] = {}
    times = []
    for one, video_id in zip(examples, videos, strict=True):
        times.append(_times(site, one.turn, video_id) if media.here(video_id) is not None else [])
        wanted.setdefault(video_id, set()).update(times[-1])
    files = media.frames({video_id: moments for video_id, moments in wanted.items() if moments})
    return [
        one._replace(frames=[(files[video, at], f"{at:.1f} s") for at in own if (video, at) in files])
        for one, video, own in zip(examples, videos, times, strict=True)
    ]


def _times(site: Site, turn: ShownTurn, video_id: str) -> list[float]:
    """The frames that most models saw, thinned out; else even times until the question, or the end."""
    seen = sorted({at for answer in turn.answers for at in answer.frames_s})
    end_s = turn.asked_at_s or site.context.videos[video_id].duration_s
    if seen or not end_s:
        return pick_evenly(seen, FRAMES)
    return [end_s * (place + 0.5) / FRAMES for place in range(FRAMES)]
