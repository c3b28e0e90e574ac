"""Case-study figures: turns of a dialogue with frames and the answers of models, as one SVG file."""

import base64
import difflib
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from reeltalk.analysis.columns import metric_title, share_of
from reeltalk.analysis.dialogues import (
    RunDialogues,
    ShownAnswer,
    ShownDialogue,
    ShownTurn,
    read_context,
    scored_metrics,
)
from reeltalk.analysis.finder import main_score
from reeltalk.analysis.leaderboard import Leaderboard, build_leaderboard, key_of
from reeltalk.analysis.turn_scores import RIGHT, credit_metric
from reeltalk.analysis.verdicts import verdicts_of
from reeltalk.errors import SettingError
from reeltalk.pages.site_media import SiteMedia
from reeltalk.parallel import Executor
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.texts import escape_html, printable
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run
from reeltalk.video.sampling import evenly

NARROW: Final = frozenset("iljtfrI.,;:'!|()[]{}`·- ")
WIDE: Final = frozenset("mwMWQOGD@%&—…")


@lru_cache(maxsize=4096)
def width_of_character(character: str) -> float:
    """Approximate width of a character, as a share of the font size."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if unicodedata.combining(character):
        return 0.0
    if character in NARROW:
        return 0.36
    if character in WIDE:
        return 0.92
    return 0.72 if character.isupper() else 0.58


def width_of(text: str, size: float) -> float:
    """Approximate width of a text, in the units of `size`.

    Args:
        text: One line.
        size: Font size.
    """
    return sum(map(width_of_character, text)) * size


def wrap_text(text: str, width: float, size: float, *, most_lines: int) -> list[str]:
    """Wrap a text into lines.

    Args:
        text: Any text; line breaks count as spaces, and invisible characters are shown.
        width: Width of a line, in the units of `size`.
        size: Font size.
        most_lines: A longer text is cut and ends with an ellipsis.

    Returns:
        The lines; empty if there is no text.
    """
    lines: list[str] = []
    line = ""
    room = width / size
    used = 0.0
    for piece in _pieces(printable(" ".join(text[: 400 * most_lines].split()))):
        length = sum(map(width_of_character, piece.rstrip()))
        if used + length > room and line:
            lines.append(line.rstrip())
            line, used = "", 0.0
        while length > room:
            # A word that is longer than a line.
            taken, filled = 0, 0.0
            while taken < len(piece) and (filled := filled + width_of_character(piece[taken])) <= room:
                taken += 1
            taken = max(taken, 1)
            lines.append(piece[:taken])
            piece = piece[taken:]
            length = sum(map(width_of_character, piece.rstrip()))
        line += piece
        used += sum(map(width_of_character, piece))
        if len(lines) > most_lines:
            break
    if line.strip():
        lines.append(line.rstrip())
    if len(lines) > most_lines or len(text) > 400 * most_lines:
        lines = lines[:most_lines]
        last = lines[-1]
        while last and width_of(last + "…", 1.0) > room:
            last = last[:-1]
        lines[-1] = last.rstrip() + "…"
    return lines


def _pieces(text: str) -> Iterator[str]:
    """Unbreakable pieces: words with the following space, and single wide characters."""
    word = ""
    for character in text:
        if unicodedata.east_asian_width(character) in "WF":
            if word:
                yield word
            word = character
        elif character == " ":
            yield word + character
            word = ""
        else:
            if word and unicodedata.east_asian_width(word[-1]) in "WF" and character.isalnum():
                yield word
                word = ""
            word += character
    if word:
        yield word


WIDTH: Final = 720
MARGIN: Final = 16
NAMES: Final = 128
"""Width of the column of models."""
GAP: Final = 6
MOST_TURNS: Final = 6
MOST_FRAMES: Final = 6
FONT: Final = "Helvetica, Arial, Noto Sans, DejaVu Sans, Noto Sans CJK SC, PingFang SC, Microsoft YaHei, sans-serif"
INK: Final = "#1b1f24"
SOFT: Final = "#59636e"
LINE: Final = "#dcdfe3"
COLOURS: Final = ("#0072b2", "#c24a00", "#007f61", "#a8447e", "#3a3f45", "#8a6500", "#6a5bbd", "#8e1f3f")
"""The style sheet's `m0` to `m7` on paper."""
RIGHT_COLOUR: Final = "#007f61"
WRONG_COLOUR: Final = "#c24a00"


@dataclass(frozen=True)
class CaseFrame:
    """A picture in the strip."""

    at_s: float
    jpeg: bytes


@dataclass(frozen=True)
class CaseModel:
    """A model in the figure."""

    index: int
    """Its place in the leaderboard, which determines letter and colour."""
    name: str


@dataclass(frozen=True)
class CaseTurn:
    """A turn of the figure."""

    turn: ShownTurn
    credits: tuple[float | None, ...]
    """How right each model of the leaderboard is, from 0 to 1."""


class _Sheet:
    """Collects the parts of the drawing, from top to bottom."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.top = float(MARGIN)

    def lines(
        self,
        text: str,
        *,
        x: float = MARGIN,
        width: float = WIDTH - 2 * MARGIN,
        size: float = 12,
        most: int = 8,
        looks: str = "",
        colour: str = INK,
    ) -> None:
        """Add text at the bottom."""
        for line in wrap_text(text, width, size, most_lines=most):
            self.top += size * 1.3
            self.parts.append(
                f'<text x="{x:g}" y="{self.top - size * 0.3:.1f}" font-size="{size:g}" fill="{colour}"{looks}>'
                f"{escape_html(line)}</text>"
            )

    def rule(self, colour: str = LINE, width: float = 1) -> None:
        """Add a horizontal line."""
        self.top += GAP
        path = f"M{MARGIN} {self.top:.1f}H{WIDTH - MARGIN}"
        self.parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="{width:g}" fill="none"/>')
        self.top += GAP


def draw_case(
    title: str,
    turns: Sequence[CaseTurn],
    models: Sequence[CaseModel],
    *,
    measure: str = "",
    frames: Sequence[CaseFrame] = (),
    left_out: int = 0,
) -> str:
    """Draw a dialogue.

    Args:
        title: Title, such as dialogue and video.
        turns: The turns, in order.
        models: The models whose answers are shown, in this order.
        measure: Title of the measure that decides whether an answer is right; without it there are no marks.
        frames: Pictures for the strip above the turns, all of one size.
        left_out: Number of turns that the figure leaves out and mentions.

    Returns:
        SVG of 720 units' width, with a `viewBox` and without a name space; `case_file` makes it a file.
    """
    sheet = _Sheet()
    sheet.lines(title, size=10.5, most=2, colour=SOFT)
    if frames:
        _strip(sheet, frames[:MOST_FRAMES])
    for case in turns:
        sheet.rule(INK, 1.2)
        _turn(sheet, case, models, bool(measure))
    sheet.rule(INK, 1.2)
    told = []
    if measure:
        told.append(f"Marks: right where {measure} gives more than {RIGHT:g} of the possible credit.")
    if left_out:
        told.append(f"{left_out} more turn{'s' if left_out > 1 else ''} left out.")
    if told:
        sheet.lines(" ".join(told), size=9, most=3, colour=SOFT)
    height = sheet.top + MARGIN
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape_html(title)}" font-family="{FONT}">'
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fff"/>{"".join(sheet.parts)}</svg>'
    )


def case_file(svg: str) -> str:
    """A drawing of `draw_case` as the content of an SVG file."""
    width, height = svg.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
    return svg.replace("<svg ", head, 1) + "\n"


def _strip(sheet: _Sheet, frames: Sequence[CaseFrame]) -> None:
    room = WIDTH - 2 * MARGIN
    width = min((room - GAP * (len(frames) - 1)) / len(frames), 200.0)
    sizes = [jpeg_size(frame.jpeg) for frame in frames]
    height = max(min(width * size[1] / size[0], 180.0) for size in sizes)
    sheet.top += GAP
    for place, frame in enumerate(frames):
        x = MARGIN + place * (width + GAP)
        data = base64.b64encode(frame.jpeg).decode()
        sheet.parts.append(
            f'<image x="{x:.1f}" y="{sheet.top:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'href="data:image/jpeg;base64,{data}"/>'
            f'<text x="{x:.1f}" y="{sheet.top + height + 11:.1f}" font-size="9" fill="{SOFT}">{frame.at_s:.1f} s</text>'
        )
    sheet.top += height + 14


def _turn(sheet: _Sheet, case: CaseTurn, models: Sequence[CaseModel], marked: bool) -> None:
    turn = case.turn
    when = f", asked at {turn.asked_at_s:.1f} s" if turn.asked_at_s is not None else ""
    sheet.lines(f"Turn {turn.number}{when}", size=9.5, most=1, colour=SOFT)
    sheet.lines(turn.question, size=13, most=6, looks=' font-weight="700"')
    for reference in turn.references[:2]:
        sheet.lines(f"Reference: {reference}", size=11, most=6, looks=' font-style="italic"', colour=SOFT)
    for place, (option, right) in enumerate(turn.options):
        sheet.lines(f"({chr(ord('A') + place % 26)}) {option}{'  (right)' if right else ''}", size=11, most=2)
    for model in models:
        sheet.top += GAP
        start = sheet.top
        colour = COLOURS[model.index % len(COLOURS)]
        _name(sheet, model, colour)
        bottom, sheet.top = sheet.top, start
        x = MARGIN + NAMES
        if marked:
            sheet.parts.append(_mark(case.credits[model.index], x, start + 4))
            x += 18
        _answer(sheet, turn.answers[model.index], x)
        sheet.top = max(sheet.top, bottom)


def _name(sheet: _Sheet, model: CaseModel, colour: str) -> None:
    letter = key_of(model.index)
    looks = f'font-size="11" font-weight="700" fill="{colour}"'
    sheet.parts.append(f'<text x="{MARGIN}" y="{sheet.top + 11.7:.1f}" {looks}>{letter}</text>')
    indent = width_of(letter, 11) + 5
    sheet.lines(model.name, x=MARGIN + indent, width=NAMES - indent - GAP, size=11, most=3)


def _answer(sheet: _Sheet, answer: ShownAnswer, x: float) -> None:
    width = WIDTH - MARGIN - x
    if answer.text is None:
        sheet.lines("no answer in the run", x=x, width=width, most=1, looks=' font-style="italic"', colour=WRONG_COLOUR)
        return
    if answer.state is not AnswerState.ANSWERED or not answer.text.strip():
        words = "empty answer" if answer.state is AnswerState.ANSWERED else answer.state.value.replace("_", " ")
        if answer.reason:
            words += f": {answer.reason}"
        sheet.lines(words, x=x, width=width, most=3, looks=' font-style="italic"', colour=WRONG_COLOUR)
    sheet.lines(answer.text, x=x, width=width)
    for verdict in answer.verdicts:
        score = main_score(verdict)
        given = [f"{one.title} {one.values}" for one in ([score] if score is not None else verdict.scores[:6])]
        said = next((text for _, text, _ in verdict.sayings), "")
        by = f" ({verdict.judge})" if verdict.judge else ""
        words = f"{', '.join(given)}{by}{': ' + said if said else ''}"
        sheet.lines(words, x=x, width=width, size=9.5, most=3, colour=SOFT)


def _mark(credit: float | None, x: float, y: float) -> str:
    """A tick, a cross, or a dash if unknown. They are drawn because fonts may lack them."""
    path, colour, words = "M0 5H9", SOFT, "not scored"
    if credit is not None and credit > RIGHT:
        path, colour, words = "M0 5L3.5 9L10 0", RIGHT_COLOUR, "right"
    elif credit is not None:
        path, colour, words = "M1 1L9 9M9 1L1 9", WRONG_COLOUR, "wrong"
    told = words if credit is None else f"{words}: {credit:.2f}"
    return (
        f'<path d="{path}" transform="translate({x:.1f} {y:.1f})" fill="none" stroke="{colour}" stroke-width="2" '
        f'stroke-linecap="round" stroke-linejoin="round"><title>{told}</title></path>'
    )


def jpeg_size(content: bytes) -> tuple[int, int]:
    """Width and height of a JPEG in pixels; 16 by 9 if the file does not state them."""
    place = 2
    while place + 9 < len(content) and content[place] == 0xFF:
        marker = content[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = (int.from_bytes(content[at : at + 2]) for at in (place + 5, place + 7))
            return (width, height) if width and height else (16, 9)
        place += 2 + int.from_bytes(content[place + 2 : place + 4])
    return 16, 9


def export_case(
    runs: Sequence[Run],
    dialogue: str,
    *,
    benchmark: Benchmark | None = None,
    turns: Sequence[int] = (),
    models: Sequence[str] = (),
    frames: int = 4,
    executor: Executor | None = None,
) -> str:
    """Draw a dialogue of some runs.

    Args:
        runs: The runs.
        dialogue: The chain, path or dialogue.
        benchmark: The benchmark with its video; without it there are no frames.
        turns: Numbers of turns, from 1; by default the first ones.
        models: Names of models; by default all but the floors.
        frames: Maximum number of frames, from those that the models saw at these turns.
        executor: Runs the decoding; by default processes of this machine.

    Returns:
        The drawing of `draw_case`.

    Raises:
        SettingError: There is no such dialogue, turn or model.
        BenchmarkError: The runs have no scores, or one contradicts itself.
        InputError: A file is damaged.
    """
    board = build_leaderboard(runs)
    dialogues = RunDialogues(board, {id(run): verdicts_of(run) for run in runs})
    found = _chosen(dialogues, dialogue)
    chosen, left_out = _turns(found, turns)
    metric = credit_metric(scored_metrics(board, dialogues))
    shown = chosen_models(board, models)
    pictures = _frames(benchmark, found, chosen, shown, frames, executor) if benchmark is not None and frames else []
    return draw_case(
        f"Dialogue {found.unit_id}, video {found.video_id}",
        [CaseTurn(turn, credits_of(turn, metric)) for turn in chosen],
        shown,
        measure=metric_title(metric) if metric is not None else "",
        frames=pictures,
        left_out=left_out,
    )


def credits_of(turn: ShownTurn, metric: str | None) -> tuple[float | None, ...]:
    """How right each model's answer to a turn is, from 0 to 1.

    Args:
        turn: The turn.
        metric: The measure; if it is None, all credits are None.
    """
    values = [answer.scores.get(metric) if metric is not None else None for answer in turn.answers]
    return tuple(None if value is None or metric is None else share_of(metric, value) for value in values)


def chosen_models(board: Leaderboard, names: Sequence[str]) -> list[CaseModel]:
    """The models of a figure, in the leaderboard's order.

    Args:
        board: All models.
        names: Names of models; by default all but the floors.

    Raises:
        SettingError: There is no such model.
    """
    known = [model.name for model in board.models]
    for name in names:
        if name not in known:
            raise SettingError(f"the runs have no model {name!r}; they have {', '.join(map(repr, known))}")
    return [
        CaseModel(index, model.name)
        for index, model in enumerate(board.models)
        if (model.name in names if names else model.floor is None)
    ]


def _chosen(dialogues: Sequence[ShownDialogue], name: str) -> ShownDialogue:
    found = [dialogue for dialogue in dialogues if dialogue.unit_id == name]
    if len(found) > 1:
        videos = ", ".join(repr(dialogue.video_id) for dialogue in found)
        raise SettingError(f"dialogue {name!r} is about several videos ({videos}), so its name does not tell which one")
    if not found:
        near = difflib.get_close_matches(name, [dialogue.unit_id for dialogue in dialogues], n=3, cutoff=0.5)
        hint = f"; there is {', '.join(map(repr, near))}" if near else "; dialogues.html of a report lists them"
        raise SettingError(f"the runs have no dialogue {name!r}{hint}")
    return found[0]


def _turns(dialogue: ShownDialogue, numbers: Sequence[int]) -> tuple[list[ShownTurn], int]:
    if not numbers:
        return dialogue.turns[:MOST_TURNS], max(len(dialogue.turns) - MOST_TURNS, 0)
    known = {turn.number for turn in dialogue.turns}
    for number in numbers:
        if number not in known:
            raise SettingError(
                f"dialogue {dialogue.unit_id!r} has no turn {number}; its turns go from {min(known)} to {max(known)}"
            )
    chosen = [turn for turn in dialogue.turns if turn.number in numbers]
    return chosen, len(dialogue.turns) - len(chosen)


def _frames(
    benchmark: Benchmark,
    dialogue: ShownDialogue,
    turns: Sequence[ShownTurn],
    models: Sequence[CaseModel],
    count: int,
    executor: Executor | None,
) -> list[CaseFrame]:
    """Frames that the models saw at these turns; if they saw none, frames of the evidence."""
    context = read_context(benchmark)
    seen = {time_s for turn in turns for model in models for time_s in turn.answers[model.index].frames_s}
    if not seen:
        seen = {
            (interval.start_s + interval.end_s) / 2
            for turn in turns
            for interval in context.evidence(turn.unit, dialogue.unit_id, turn.index)
        }
    times = evenly(sorted(seen), min(count, MOST_FRAMES))
    folder = Path(tempfile.mkdtemp(prefix="reeltalk-case-"))
    try:
        media = SiteMedia(folder, benchmark.media, context.videos, executor)
        if not times or media.here(dialogue.video_id) is None:
            return []
        files = media.frames({dialogue.video_id: times})
        return [
            CaseFrame(time_s, (folder / files[dialogue.video_id, time_s]).read_bytes())
            for time_s in times
            if (dialogue.video_id, time_s) in files
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
