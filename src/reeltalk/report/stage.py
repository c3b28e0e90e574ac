"""Write runs as a static site that opens from disk: an index, a page a dialogue, one style sheet, one script."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reeltalk import __version__
from reeltalk.report import figures
from reeltalk.report.export import TableFormat, render_table
from reeltalk.report.figures import Estimate
from reeltalk.report.leaderboard import Leaderboard, build, shown, title_of
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.store.runs import Run

SHOWN_PER_ITEM: Final = ("meteor", "rouge_l", "cider", "token_f1", "exact_match", "similarity")
"""Metrics beside each answer, where a run has them. BLEU of a single short answer is next to always zero."""
WHISKER_LIMIT: Final = 40


@dataclass(frozen=True)
class Page:
    """A dialogue's page."""

    unit_id: str
    video_id: str
    file: str
    turns: int


@dataclass
class _Answer:
    index: int
    model: str
    text: str | None = None
    other_wording: str | None = None
    scores: dict[str, float] = field(default_factory=dict)


@dataclass
class _Turn:
    number: int
    question: str
    references: tuple[str, ...]
    answers: list[_Answer]


def write_report(runs: Sequence[Run], folder: Path) -> Path:
    """Write the site.

    Args:
        runs: Runs side by side, in the order of their models on the pages.
        folder: An existing, empty folder.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: The runs hold no scores.
        InputError: A run's file is damaged.
    """
    board = build(runs)
    environment = _environment()
    dialogues = _collect(board)
    pages = [
        Page(unit_id, video_id, _file_name(unit_id), len(turns)) for (unit_id, video_id), turns in dialogues.items()
    ]
    static = files("reeltalk.report") / "static"
    for name in ("style.css", "page.js"):
        (folder / name).write_text((static / name).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "dialogues").mkdir()
    template = environment.get_template("dialogue.html")
    metrics = [metric for metric in SHOWN_PER_ITEM if metric in board.metrics]
    for number, (page, turns) in enumerate(zip(pages, dialogues.values(), strict=True)):
        html = template.render(
            root="../",
            page=page,
            before=pages[number - 1] if number else None,
            after=pages[number + 1] if number + 1 < len(pages) else None,
            turns=sorted(turns.values(), key=lambda turn: turn.number),
            metrics=metrics,
        )
        (folder / "dialogues" / page.file).write_text(html, encoding="utf-8")
    index = environment.get_template("index.html").render(
        root="",
        board=board,
        pages=pages,
        few=figures.FEW,
        counts={
            "models": len(board.models),
            "items": sum(page.turns for page in pages),
            "dialogues": len(pages),
            "videos": len({page.video_id for page in pages}),
        },
        whisker_figures=[(metric, Markup(_whiskers(board, metric))) for metric in board.metrics],
        curve_figures=[(metric, Markup(_curves(board, metric))) for metric in board.metrics if board.curves(metric)],
    )
    (folder / "index.html").write_text(index, encoding="utf-8")
    return folder / "index.html"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reeltalk.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        # Answers are strangers' text: control characters would be invalid HTML or turn the line's direction round.
        finalize=lambda value: _visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    environment.globals.update(
        version=__version__,
        csp_source="'self' file: 'unsafe-inline'",
        title_of=title_of,
        shown=shown,
        swatch=lambda index: Markup(figures.swatch(index)),
    )
    return environment


_INVISIBLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def _visible(text: str) -> str:
    return _INVISIBLE.sub("\ufffd", text)


def _file_name(unit_id: str) -> str:
    """A file name that is safe on every system and different for every dialogue."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", unit_id)[:80]
    if plain == unit_id:
        return f"{plain}.html"
    return f"{plain}.{hashlib.sha256(unit_id.encode()).hexdigest()[:8]}.html"


def _collect(board: Leaderboard) -> dict[tuple[str, str], dict[str, _Turn]]:
    """All turns by dialogue and item, with every model's answer beside them, in the order of dialogues' names."""
    found: dict[tuple[str, str], dict[str, _Turn]] = defaultdict(dict)
    for index, model in enumerate(board.models):
        scores = {row.item_id: row.scores for row in model.run.item_scores() if row.model == model.info.model}
        for answer in model.run.answers():
            if answer.model == model.info.model:
                _add(found[answer.unit_id, answer.video_id], board, index, answer, scores.get(answer.item_id, {}))
    return dict(sorted(found.items()))


def _add(
    turns: dict[str, _Turn], board: Leaderboard, index: int, answer: AnsweredTurn, scores: dict[str, float]
) -> None:
    turn = turns.get(answer.item_id)
    if turn is None:
        answers = [_Answer(number, model.name) for number, model in enumerate(board.models)]
        turn = turns[answer.item_id] = _Turn(answer.turn_index + 1, answer.question, answer.references, answers)
    shown_answer = turn.answers[index]
    shown_answer.text, shown_answer.scores = answer.text, scores
    if (turn.question, turn.references) != (answer.question, answer.references):
        shown_answer.other_wording = " / ".join([answer.question, *answer.references])


def _whiskers(board: Leaderboard, metric: str) -> str:
    rows: list[tuple[str, Estimate | None]] = []
    for model in board.models[:WHISKER_LIMIT]:
        cell = model.cells[metric]
        value = cell.row.value if cell else None
        rows.append((model.name, Estimate(value, cell.row.low, cell.row.high) if cell and value is not None else None))
    return figures.whiskers(rows, title=f"{title_of(metric)} with 95 % intervals")


def _curves(board: Leaderboard, metric: str) -> str:
    place = {model.name: index for index, model in enumerate(board.models)}
    series = [
        (
            place[name],
            name,
            [(point.turn_index + 1, Estimate(point.value, point.low, point.high, point.n)) for point in points],
        )
        for name, points in board.curves(metric)
    ]
    return figures.curves(series, title=f"{title_of(metric)} by turn position")


__all__ = ["TableFormat", "render_table", "write_report"]
