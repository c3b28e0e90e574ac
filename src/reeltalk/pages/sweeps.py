"""Runs of one model that differ in one setting: mode, history, frames and so on, found from what the runs state."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.analysis.columns import parts_of, settings_of
from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.analysis.turns import scored_turns
from reeltalk.pages.charts import Estimate
from reeltalk.pages.contrasts import Entry, difference_of

SWEPT: Final = {
    "mode": "Mode",
    "history": "History",
    "frames": "Number of frames",
    "fps": "Frames per second",
    "policy": "Choice of frames",
    "size": "Size of frames",
    "prompt": "Prompt",
    "subtitles": "Subtitles",
    "options": "Order of options",
    "rounds": "Turns that are answered",
}
"""Settings by which runs are set side by side, in the order of the page."""
FOLLOWS: Final = frozenset({"shown", "planted"})
"""Parts that other settings decide."""
VALUES: Final = (
    "single",
    "dialogue",
    "streaming",
    "none",
    "predicted-all",
    "predicted",
    "golden",
    "corrupted",
    "no",
    "yes",
)
"""The order of values that are words: those with less history before those with more."""
SINGLE: Final = "single"
"""The mode that has no history, so that `history` differs with it."""


@dataclass(frozen=True)
class Line:
    """Runs of one model on one benchmark that differ in one setting only."""

    setting: str
    name: str
    """The model's, and what else tells this line from others of the model."""
    values: tuple[str, ...]
    """Values of the setting in their order; the first is what the others are compared with."""
    indices: tuple[int, ...]
    """For each value the place in the leaderboard."""
    index: int
    """The place by which figures name it: one that no other line of the setting has, where there is one."""


@dataclass(frozen=True)
class Step:
    """A metric at one value of the setting."""

    value: Estimate | None
    difference: Estimate | None
    """From the first value; `n` is the number of turns at this value that are compared."""
    same_turns: bool = True
    """False where the difference is over other turns about the same videos, as of dialogues and paths."""


@dataclass(frozen=True)
class Swept:
    """One metric along one line."""

    metric: str
    steps: tuple[Step, ...]


def lines_of(board: Leaderboard) -> list[Line]:
    """Where runs of one model differ in one setting, by setting and in the leaderboard's order.

    Players that know nothing are left out, and of several runs with the same settings all but the first.
    """
    stated = [settings_of(model.run, model.info.model) for model in board.models]
    lines = []
    for setting in SWEPT:
        grouped: dict[tuple[object, ...], dict[str, int]] = defaultdict(dict)
        for index, model in enumerate(board.models):
            own = stated[index]
            if model.floor is not None or setting not in own:
                continue
            fixed = {name: value for name, value in own.items() if name != setting and name not in FOLLOWS}
            benchmark = str(model.run.info.settings.get("benchmark"))
            histories = [fixed.pop("history", None)] if setting == "mode" else [None]
            if setting == "mode" and own[setting] == SINGLE:
                # It stands beside whatever history the other modes were told.
                histories = list(dict.fromkeys(found.get("history") for found in stated if found.get("mode") != SINGLE))
            for history in histories:
                key = (model.info.model, benchmark, history, tuple(sorted(fixed.items())))
                grouped[key].setdefault(own[setting], index)
        found = [(key, places) for key, places in grouped.items() if len(places) > 1]
        used = Counter(index for _, places in found for index in places.values())
        for name, (_, places) in zip(_names([key for key, _ in found]), found, strict=True):
            values = sorted(places, key=_place)
            indices = tuple(places[value] for value in values)
            own_index = next((index for index in indices if used[index] == 1), indices[0])
            lines.append(Line(setting, name, tuple(values), indices, own_index))
    return lines


def swept(board: Leaderboard, lines: Sequence[Line]) -> list[list[Swept]]:
    """For each line every metric that has a value at two of its settings and compares between them.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    scores = _scores(board, {index for line in lines for index in line.indices})
    return [
        [one for metric in board.plotted if (one := _of_metric(board, line, metric, scores)) is not None]
        for line in lines
    ]


_Scores = Mapping[tuple[int, str], Mapping[str, Entry]]
"""By place in the leaderboard and metric, the scores of turns by item."""


def _of_metric(board: Leaderboard, line: Line, metric: str, scores: _Scores) -> Swept | None:
    cells = [board.models[index].cells[metric] for index in line.indices]
    rows = [cell.row if cell is not None and cell.row.value is not None else None for cell in cells]
    there = [row for row in rows if row is not None]
    if len(there) < 2 or not _compare(line.setting, [row.signature for row in there]):
        return None
    values = [
        None if row is None or row.value is None else Estimate(row.value, row.low, row.high, row.n, row.videos)
        for row in rows
    ]
    means = [
        scores.get((index, metric), {}) if value is not None else {}
        for index, value in zip(line.indices, values, strict=True)
    ]
    steps = [Step(values[0], None)]
    for value, own in zip(values[1:], means[1:], strict=True):
        first, second, shared = _comparable(means[0], own)
        is_mean = _is_mean(means[0], values[0]) and _is_mean(own, value)
        difference = difference_of(first, second, paired=shared) if is_mean else None
        if difference is not None:
            difference = Estimate(difference.value, difference.low, difference.high, len(second), difference.videos)
        steps.append(Step(value, difference, shared))
    return Swept(metric, tuple(steps))


def _compare(setting: str, signatures: Sequence[str]) -> bool:
    """True where numbers differ in the setting only, and in what it decides."""
    free = {setting, *FOLLOWS} | ({"history", "subject", "data"} if setting == "mode" else set())
    found = [{name: part for name, part in parts_of(one).items() if name not in free} for one in signatures]
    return all(parts == found[0] for parts in found)


def _comparable(first: Mapping[str, Entry], second: Mapping[str, Entry]) -> tuple[list[Entry], list[Entry], bool]:
    """The scores of turns that both have; where they have few, those of all turns about videos that both have."""
    common = [item for item in first if item in second]
    if 2 * len(common) >= min(len(first), len(second)):
        return [first[item] for item in common], [second[item] for item in common], True
    videos = {entry.video_id for entry in first.values()} & {entry.video_id for entry in second.values()}
    kept = [[entry for entry in found.values() if entry.video_id in videos] for found in (first, second)]
    return kept[0], kept[1], False


def _is_mean(entries: Mapping[str, Entry], value: Estimate | None) -> bool:
    """True where a metric's number is the mean of its turns, so that a difference of means is the one that is meant."""
    if value is None or not entries:
        return False
    mean = sum(entry.value for entry in entries.values()) / len(entries)
    return abs(mean - value.value) <= 1e-6 * max(1.0, abs(value.value))


def _scores(board: Leaderboard, indices: set[int]) -> _Scores:
    found: dict[tuple[int, str], dict[str, Entry]] = defaultdict(dict)
    wanted = set(board.plotted)
    for run in {id(board.models[index].run): board.models[index].run for index in sorted(indices)}.values():
        places = {board.models[index].info.model: index for index in indices if board.models[index].run is run}
        for turn in scored_turns(run):
            if (place := places.get(turn.model)) is None:
                continue
            for metric, score in turn.scores.items():
                if metric in wanted:
                    found[place, metric][turn.item_id] = Entry(turn.video_id, score)
    return found


def _names(keys: Sequence[tuple[object, ...]]) -> list[str]:
    """Names of lines: the model's, with the settings in which it has several lines."""
    names = []
    for model, _, history, fixed in keys:
        others = [key for key in keys if key[0] == model]
        told = []
        if len(others) > 1:
            pairs = dict(fixed) if isinstance(fixed, tuple) else {}
            if history is not None and len({key[2] for key in others}) > 1:
                told.append(f"history {history}")
            every = [dict(key[3]) if isinstance(key[3], tuple) else {} for key in others]
            told += [f"{name} {value}" for name, value in pairs.items() if len({one.get(name) for one in every}) > 1]
        names.append(f"{model} ({', '.join(told)})" if told else str(model))
    return names


def _place(value: str) -> tuple[int, float, str]:
    """Numbers by size, known words by their order, others by the alphabet."""
    number = re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", value)
    if number is not None:
        return (0, float(value), "")
    word = re.split(r"[^a-z]", value)[0]
    return (1, float(VALUES.index(word)), value) if word in VALUES else (2, 0.0, value)
