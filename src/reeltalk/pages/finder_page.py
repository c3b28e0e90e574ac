"""The page that finds turns: filters over all of them in the browser, and lists of the most telling ones without it."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.analysis.finder import (
    QUESTION_CHARACTERS,
    Finder,
    FoundTurn,
    Places,
    column_row,
    found_turns,
    make_finder,
    short,
    word_row,
)
from reeltalk.analysis.leaderboard import key_of
from reeltalk.analysis.turns import RIGHT
from reeltalk.analysis.visible import visible
from reeltalk.pages.shards import FOLDER, script_json, write_shards
from reeltalk.pages.site import Page, Site, write_static, write_text

LISTED: Final = 20
"""Turns in a list that needs no script."""
MOST_LISTS: Final = 12
"""Models that are set against the best one in such lists."""


@dataclass(frozen=True)
class ListedTurn:
    """A turn in a list."""

    unit_id: str
    number: int
    href: str
    question: str
    marks: tuple[tuple[int, float], ...]
    """Models and their credit."""


@dataclass(frozen=True)
class TurnList:
    """Turns that one filter finds."""

    title: str
    count: int
    turns: tuple[ListedTurn, ...]


def write_finder(site: Site) -> None:
    """Write `turns.html` and its data.

    Args:
        site: The report.
    """
    board, dialogues = site.board, site.dialogues
    finder = make_finder(board, dialogues)
    places = Places.of(finder)
    turns = list(found_turns(finder, dialogues))
    columns = write_shards(site.folder, "turns", (column_row(finder, found, places) for found in turns))
    words = write_shards(site.folder, "words", (word_row(found.turn) for found in turns))
    units = write_shards(
        site.folder,
        "units",
        ([visible(dialogue.unit_id), dialogue.file, visible(dialogue.video_id)] for dialogue in dialogues),
    )
    told = {
        "turns": len(columns),
        "words": words,
        "units": len(units),
        "count": len(turns),
        "models": [[visible(model.name), model.floor is not None] for model in board.models],
    }
    write_text(site.folder / FOLDER / "finder.js", f'reeltalk.put("finder",{script_json(told)});\n')
    write_static(site.folder, ["browser.css", "shards.js", "turns.js"])
    labels: dict[str, list[tuple[int, str]]] = {}
    for place, (name, value) in enumerate(finder.labels):
        labels.setdefault(name, []).append((place, value))
    site.render(
        "turns.html",
        PAGE.file,
        finder=finder,
        labels=labels,
        total=len(turns),
        right=RIGHT,
        several=len([model for model in board.models if model.floor is None]) > 1,
        lists=_lists(site, finder, turns),
    )


PAGE: Final = Page("Turns", "turns.html", lambda site: bool(site.dialogues), write_finder)


def _lists(site: Site, finder: Finder, turns: Sequence[FoundTurn]) -> list[TurnList]:
    """The best model against each other one, and what all get wrong, by the first measure."""
    if not finder.measures:
        return []
    players = [index for index, model in enumerate(site.board.models) if model.floor is None]
    means = {}
    for index in players:
        values = [value for found in turns if (value := found.credits[0][index]) is not None]
        if values:
            means[index] = sum(values) / len(values)
    if not means:
        return []
    best, *others = sorted(means, key=lambda index: (-means[index], index))
    names = [f"{key_of(i)} {model.name}" for i, model in enumerate(site.board.models)]
    lists = []
    for other in others[:MOST_LISTS]:
        for one, two in ((best, other), (other, best)):
            differing = []
            for place, found in enumerate(turns):
                first, second = found.credits[0][one], found.credits[0][two]
                if first is not None and second is not None and first > RIGHT >= second:
                    differing.append((second - first, place))
            title = f"{names[one]} is right and {names[two]} wrong"
            lists.append(_list(site, title, turns, differing, (one, two)))
    wrong = []
    for place, found in enumerate(turns):
        given = [value for index in means if (value := found.credits[0][index]) is not None]
        if given and max(given) <= RIGHT:
            wrong.append((sum(given) / len(given), place))
    lists.append(_list(site, "All models are wrong", turns, wrong, tuple(means)))
    return [each for each in lists if each.count]


def _list(
    site: Site, title: str, turns: Sequence[FoundTurn], ranked: Sequence[tuple[float, int]], models: tuple[int, ...]
) -> TurnList:
    shown = []
    for _, place in heapq.nsmallest(LISTED, ranked):
        found = turns[place]
        marks = [(index, value) for index in models if (value := found.credits[0][index]) is not None]
        shown.append(
            ListedTurn(
                site.dialogues[found.dialogue].unit_id,
                found.turn.number,
                f"dialogues/{found.turn.file}#{found.turn.anchor}",
                short(found.turn.question, QUESTION_CHARACTERS),
                tuple(marks),
            )
        )
    return TurnList(title, len(ranked), tuple(shown))
