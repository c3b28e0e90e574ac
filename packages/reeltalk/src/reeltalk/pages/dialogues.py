"""The dialogues of a report: a list to search and sort, a page for each dialogue, and a page to find turns.

A page that was opened from disk may run scripts but not read files. So the rows of long lists are written as scripts.
Each script has a part of the rows as JSON and passes it to `shards.js`.

The address of the page to find turns sets its filters, after `#` or `?`:
`turns.html#show=wrong&model=NAME&label=VOCABULARY:LABEL&task=TASK&q=WORDS`. `show` is a value of the page's first list,
such as `wrong`, `right`, `unread`, `failed` or `unscored`; `v` is a video, and `sort` is `apart`, `low` or `high`.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from markupsafe import Markup

from reeltalk.analysis.columns import metric_title, share_of_scale, split_model_name
from reeltalk.analysis.dialogues import (
    NEAR_ZERO_FOR_ONE_ANSWER,
    ListedDialogue,
    ShownAnswer,
    ShownDialogue,
    ShownTurn,
    heat_borders,
    heat_level,
    item_metrics,
    mean_metric,
)
from reeltalk.analysis.finder import (
    TurnPlaces,
    column_row,
    found_in,
    word_row,
)
from reeltalk.analysis.leaderboard import model_letter
from reeltalk.analysis.standings import group_title
from reeltalk.analysis.turn_scores import RIGHT, credit_metric, title_of_vocabulary
from reeltalk.analysis.values import format_value
from reeltalk.analysis.verdicts import ShownScore, ShownVerdict
from reeltalk.pages.charts import COLOURS
from reeltalk.pages.dialogue_media import MediaWriter
from reeltalk.pages.failures import FAILURES, FailureRow, failure_rows
from reeltalk.pages.site import Page, Site, plain_environment, shown_text, write_static, write_text
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.record import Json
from reeltalk.schema.texts import escape_html, printable
from reeltalk.store.rows import SpooledRows

FOLDER: Final = "data"
MOST_BYTES: Final = 1_000_000
"""Approximate maximum size of a script; rows are not split."""

_UNFIT: Final = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})
"""Characters that are escaped in JSON, so that it cannot end a script element or open a comment."""


def script_json(value: Json) -> str:
    """A value as JSON that is safe in a script, with any text in its strings.

    Args:
        value: A value for `json.dumps`. Invisible characters in its texts must be shown before, or may become U+FFFD.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return printable(text).translate(_UNFIT)


class ShardWriter:
    """Writes a list as `data/NAME-0.js`, `data/NAME-1.js` and so on, row by row.

    Args:
        folder: The folder of the site.
        name: Name of the list, of letters; the page uses it.
        most_bytes: Size at which a new script begins.
    """

    def __init__(self, folder: Path, name: str, *, most_bytes: int = MOST_BYTES) -> None:
        self._folder, self._name, self._most = folder, name, most_bytes
        self._starts: list[int] = []
        self._held: list[str] = []
        self._rows = self._size = 0

    def add(self, row: Json) -> None:
        """Add a JSON value."""
        text = script_json(row)
        length = len(text) if text.isascii() else len(text.encode())
        if not self._starts or self._size + length > self._most:
            self._flush()
            self._starts.append(self._rows)
            self._held, self._size = [], 0
        self._held.append(text)
        self._size += length + 2
        self._rows += 1

    def close(self) -> list[int]:
        """Write the last script.

        Returns:
            The number of the first row of each script, from 0.
        """
        self._flush()
        return self._starts

    def _flush(self) -> None:
        if self._starts:
            name, rows = f"{self._name}-{len(self._starts) - 1}", ",\n".join(self._held)
            write_text(self._folder / FOLDER / f"{name}.js", f'reeltalk.put("{name}",[\n{rows}\n]);\n')


def write_shards(folder: Path, name: str, rows: Iterable[Json], *, most_bytes: int = MOST_BYTES) -> list[int]:
    """Write a list by `ShardWriter`, which has the same arguments.

    Args:
        folder: The folder of the site.
        name: Name of the list.
        rows: JSON values.
        most_bytes: Size at which a new script begins.

    Returns:
        The number of the first row of each script, from 0.
    """
    writer = ShardWriter(folder, name, most_bytes=most_bytes)
    for row in rows:
        writer.add(row)
    return writer.close()


ListRow = tuple[ListedDialogue, list[tuple[float | None, int]], str | None]
"""A dialogue, the mean and tint of each model, and a picture."""
ROWS: Final = 200
"""Dialogues on a page of the list."""
LIST: Final = "dialogues.html"
FOLDED_MODELS: Final = 6
"""If more models answered, each answer is folded on the page of its dialogue."""
STILLS: Final = "stills"
"""Pictures of all dialogues, in the memory of the site."""
FOUND: Final = "found turns"
"""Data of the page to find turns, in the memory of the site: a dialogue is read once for its page and for these."""
MARKS: Final = (' <span class="wrong">wrong</span>', ' <span class="right">right</span>')
TASKS: Final = "mt_video_bench.task"
"""The vocabulary of the tasks of dialogues."""


def write_dialogue_pages(site: Site) -> None:
    """Write `dialogues.html` on one or more pages, and one or more pages for each dialogue below `dialogues/`."""
    write_static(site.folder, ["browser.css", "dialogue.js"])
    board, dialogues = site.board, site.dialogues
    staging = MediaWriter(site)
    _write_list(site, staging)
    metrics = item_metrics(dialogues)
    # The floor may consist of judged empty answers, which have no rows in a run.
    silent = {
        index for index, model in enumerate(board.models) if model.floor is not None and not dialogues.answered[index]
    }
    metric = credit_metric(dialogues.metrics)
    keys = [_model_key(index, model.name) for index, model in enumerate(board.models)]
    titles = [(metric, escape_html(metric_title(metric))) for metric in metrics]
    folded = len(board.models) - len(silent) > FOLDED_MODELS
    template = plain_environment(site.environment).get_template("_turns.html")

    def answers_of(turn: ShownTurn) -> str:
        rows = []
        for index, (answer, credit) in enumerate(zip(turn.answers, credits_of(turn, metric), strict=True)):
            if index not in silent:
                scores = answer.scores
                values = [f"{title} {format_value(scores[name], name)}" for name, title in titles if name in scores]
                by = f'<span class="by">{keys[index]}{"" if credit is None else MARKS[credit > RIGHT]}</span>'
                rows.append(_answer_item(answer, by, " · ".join(values), folded=folded))
        return "".join(rows)

    same = {
        "measure": metric_title(metric) if metric is not None else "",
        "right_above": f"{RIGHT:.0%}".replace("%", " %"),
        "left_out": [m for m in board.metrics if m in NEAR_ZERO_FOR_ONE_ANSWER and m not in metrics],
    }
    listed = dialogues.listed
    found = site.memory[FOUND] = _FoundTurns(site)
    failing = set(dialogues.failing())
    failures = site.memory[FAILURES] = SpooledRows(FailureRow, site.folder)
    for number, dialogue in enumerate(dialogues):
        found.add(number, dialogue)
        if number in failing:
            failures.extend(failure_rows(dialogue))
        stage = staging.of(dialogue)
        parts = list(_parts(dialogue))
        files = [(file, turns[0].number, turns[-1].number) for file, turns in parts]
        own = zip(keys, dialogue.verdicts, strict=True)
        wholes = [(key, _verdict_list(verdicts)) for key, verdicts in own if verdicts]
        for place, (file, turns) in enumerate(parts):
            shown = template.render(
                turns=[(turn, answers_of(turn), stage.turns.get(turn.anchor), _label_chips(turn)) for turn in turns],
                wholes=wholes if place == 0 else (),
            )
            site.render(
                "dialogue.html",
                f"dialogues/{file}",
                dialogue=dialogue,
                turns=Markup(shown),
                stage=stage,
                place=place,
                files=files,
                list_file=_list_file(number // ROWS),
                before=listed[number - 1] if number else None,
                after=listed[number + 1] if number + 1 < len(listed) else None,
                **same,
            )


def _answer_item(answer: ShownAnswer, by: str, values: str, *, folded: bool) -> str:
    """An answer as HTML, several times as fast as a template: a report may hold hundreds of thousands."""
    text = answer.text
    if text is None:
        shown = '<span class="unscored">no answer in the run</span>'
    else:
        shown = f'<span class="said" dir="auto">{shown_text(text)}</span>'
        if answer.state is not AnswerState.ANSWERED:
            why = f': <span dir="auto">{shown_text(answer.reason)}</span>' if answer.reason else ""
            shown = f'<span class="unscored">{answer.state.value.replace("_", " ")}{why}</span> {shown}'
        elif not text.strip():
            shown = f'<span class="unscored">empty answer</span>{shown}'
    if answer.other_question is not None:
        shown += f'\n<span class="other">asked as: <span dir="auto">{shown_text(answer.other_question)}</span></span>'
    if answer.other_references is not None:
        references = shown_text(" / ".join(answer.other_references))
        shown += f'\n<span class="other">scored against: <span dir="auto">{references}</span></span>'
    shown = f'<div class="text">{shown}</div>\n'
    if judged := _verdict_list(answer.verdicts) + "".join(
        f'<p class="facts">{facts}</p>\n' for facts in (values, shown_text(" · ".join(answer.facts))) if facts
    ):
        shown += f'<details class="judged"><summary>Judged</summary>\n{judged}</details>\n'
    if not folded:
        return f"<li>{by}\n{shown}</li>\n"
    start = f' <span class="start" dir="auto">{shown_text((text or "")[:90])}</span>'
    return f"<li><details><summary>{by}{start}</summary>\n{shown}</details></li>\n"


def _verdict_list(verdicts: Sequence[ShownVerdict]) -> str:
    """Verdicts as HTML; empty without one."""
    rows = []
    for verdict in verdicts:
        parts = [_score(score) for score in verdict.scores]
        if verdict.judge:
            parts.append(f'<span class="soft">by <span dir="auto">{shown_text(verdict.judge)}</span></span>')
        for of, text, missing in verdict.sayings:
            about = f'<span class="soft">{shown_text(of)}:</span> ' if of else ""
            kind = "saying unscored" if missing else "saying"
            parts.append(f'\n<span class="{kind}">{about}<span dir="auto">{shown_text(text)}</span></span>')
        if verdict.replies:
            count = "1 raw reply" if len(verdict.replies) == 1 else f"{len(verdict.replies)} raw replies"
            replies = "".join(f'<pre class="reply" dir="auto">{shown_text(reply)}</pre>' for reply in verdict.replies)
            parts.append(f"\n<details><summary>{count}</summary>{replies}</details>")
        rows.append(f"<li>{''.join(parts)}\n</li>\n")
    return f'<ul class="verdicts">\n{"".join(rows)}</ul>' if rows else ""


def _score(score: ShownScore) -> str:
    kind = "given unscored" if score.failed else "given"
    official = f' <span class="official">official script {score.official_values}</span>' if score.official else ""
    return (
        f'<span class="score"><span class="criterion">{shown_text(score.title)}</span> '
        f'<span class="{kind}">{score.values}</span>{official}</span> '
    )


def _model_key(index: int, name: str) -> Markup:
    """A model's letter and name, with the hash of its weights small beside it."""
    title, weights = split_model_name(printable(name))
    shown = Markup('<span class="key m{}">{}</span><span dir="auto">{}</span>').format(
        index % COLOURS, model_letter(index), title
    )
    return shown + Markup(' <span class="id">{}</span>').format(weights) if weights else shown


def _label_chips(turn: ShownTurn) -> Markup:
    """The task and labels of a turn by their names; the vocabulary and the code are tooltips."""
    labels = [(name, value) for name, values in turn.labels.items() for value in values]
    if turn.task and (TASKS, turn.task) not in labels:
        labels.insert(0, (TASKS, turn.task))
    return Markup("").join(_label_chip(name, value) for name, value in labels)


@cache
def _label_chip(name: str, value: str) -> Markup:
    return Markup(' <span class="label" dir="auto" title="{}: {}">{}</span>').format(
        printable(title_of_vocabulary(name)), printable(value), printable(group_title(name, value))
    )


def credits_of(turn: ShownTurn, metric: str | None) -> list[float | None]:
    """How right each model's answer to a turn is, from 0 to 1; None without a score or a measure."""
    values = [answer.scores.get(metric) if metric is not None else None for answer in turn.answers]
    return [None if value is None or metric is None else share_of_scale(metric, value) for value in values]


def _parts(dialogue: ShownDialogue) -> Iterator[tuple[str, Sequence[ShownTurn]]]:
    """The files of a dialogue, with the turns of each."""
    start = 0
    for end in range(1, len(dialogue.turns) + 1):
        if end == len(dialogue.turns) or dialogue.turns[end].file != dialogue.turns[start].file:
            yield dialogue.turns[start].file, dialogue.turns[start:end]
            start = end


def _list_file(place: int) -> str:
    return LIST if place == 0 else f"dialogues-{place + 1}.html"


def _write_list(site: Site, staging: MediaWriter) -> None:
    listed, metric = site.dialogues.listed, mean_metric(site.dialogues.metrics)
    means = site.dialogues.means(metric) if metric is not None else np.empty((len(listed), 0))
    # A floor of judged empty answers has no answers in a dialogue.
    shown = np.flatnonzero(~np.isnan(means).all(axis=0)).tolist() if len(means) else []
    borders = heat_borders(means[~np.isnan(means)].tolist())
    stills = [staging.still(dialogue) for dialogue in site.dialogues] if staging.frames else [None] * len(listed)
    site.memory[STILLS] = stills

    def rows(first: int, last: int) -> Iterator[ListRow]:
        for place in range(first, min(last, len(listed))):
            found = [None if math.isnan(mean) else mean for mean in means[place, shown].tolist()]
            yield listed[place], [(mean, heat_level(mean, borders)) for mean in found], stills[place]

    files = [_list_file(place) for place in range(max(1, -(-len(listed) // ROWS)))]
    shards = 0
    if len(files) > 1:
        write_static(site.folder, ["dialogues.js", "shards.js"])
        shards = len(write_shards(site.folder, "dialogues", (_list_row(metric, *r) for r in rows(0, len(listed)))))
    for place, file in enumerate(files):
        site.render(
            LIST,
            file,
            metric=metric,
            rows=list(rows(place * ROWS, (place + 1) * ROWS)),
            shown=shown,
            total=len(listed),
            files=files,
            place=place,
            shards=shards,
            pictures=any(stills),
        )


def _list_row(
    metric: str | None, dialogue: ListedDialogue, cells: Sequence[tuple[float | None, int]], still: str | None
) -> list[object]:
    """A dialogue's row for the script that searches all pages of the list."""
    means = [["–" if mean is None else format_value(mean, metric), level, mean] for mean, level in cells]
    return [
        printable(dialogue.title),
        dialogue.file,
        printable(dialogue.video_id),
        dialogue.turns,
        means,
        printable(dialogue.unit_id),
        still or "",
    ]


TURNS_PAGE: Final = "turns.html"


def write_finder(site: Site) -> None:
    """Write `turns.html` and its data."""
    board, finder, listed = site.board, site.finder, site.dialogues.listed
    # The pages of dialogues are written first.
    kept = site.memory.get(STILLS)
    stills = kept if isinstance(kept, list) else [None] * len(listed)
    found = site.memory[FOUND]
    assert isinstance(found, _FoundTurns)
    turns = len(site.dialogues.turns)
    units = write_shards(
        site.folder,
        "units",
        (
            [*(printable(text) for text in (unit.title, unit.file, unit.video_id, unit.unit_id)), still or ""]
            for unit, still in zip(listed, stills, strict=True)
        ),
    )
    told = {
        "turns": len(found.columns.close()),
        "words": found.words.close(),
        "units": len(units),
        "count": turns,
        "models": [[printable(model.name), model.competes] for model in board.models],
    }
    write_text(site.folder / FOLDER / "finder.js", f'reeltalk.put("finder",{script_json(told)});\n')
    write_static(site.folder, ["browser.css", "shards.js", "turns.js"])
    labels: dict[str, list[tuple[int, str]]] = {}
    for place, (name, value) in enumerate(finder.labels):
        labels.setdefault(name, []).append((place, value))
    site.render(
        TURNS_PAGE,
        TURNS_PAGE,
        finder=finder,
        labels=labels,
        total=turns,
        right=round(100 * RIGHT),
        title_of_vocabulary=title_of_vocabulary,
        several=len(board.models) > 1,
        rivals=sum(model.competes for model in board.models) or len(board.models),
    )


REPORT_PAGES: Final = (
    Page("Dialogues", "dialogues.html", lambda site: True, write_dialogue_pages, place=120),
    Page("Turns", TURNS_PAGE, lambda site: bool(site.dialogues), write_finder, place=130),
)


class _FoundTurns:
    """Writes the data of the page to find turns, dialogue by dialogue."""

    def __init__(self, site: Site) -> None:
        self._finder = site.finder
        self._places = TurnPlaces.of(self._finder)
        self.columns = ShardWriter(site.folder, "turns")
        self.words = ShardWriter(site.folder, "words")

    def add(self, place: int, dialogue: ShownDialogue) -> None:
        for found in found_in(self._finder, place, dialogue):
            self.columns.add(column_row(self._finder, found, self._places))
            self.words.add(word_row(found.turn))
