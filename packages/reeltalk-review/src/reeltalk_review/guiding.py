"""Guidelines for people's work: a line and a text for each queue.

The lead writes guidelines in Markdown. Until there is one, that of the kind of work in `guidelines/` applies.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from sqlalchemy.orm import Session

from reeltalk_review.errors import Conflict, InvalidValue
from reeltalk_review.events import Transaction
from reeltalk_review.people import clean_line
from reeltalk_review.tables import GuidelineRow, QueueRow

FOLDER: Final = Path(__file__).parent / "guidelines"
LONGEST_GUIDELINE: Final = 50_000
LONGEST_LINE: Final = 200
SAYS_KEY: Final = "says"
"""Key in a queue's settings: what it is, in the lead's words."""
_SAYS: Final[Mapping[str, str]] = {
    "turns": "Watch a part of a video, and accept, change or reject each question and answer about it.",
    "links": "Find which questions about a clip build on questions about an earlier one, and reword them.",
    "tagging": "Say for each question what it is about and which thinking it needs.",
    "types": "Say for each question of which types it is.",
    "rating": "Give marks to answers of models, without knowing which model wrote them.",
    "test": "Answer questions about videos yourself, one by one, as a model would.",
    "collect": "Talk about a video in pairs: one asks without seeing it, the other answers.",
}
_FILES: Final[Mapping[str, str]] = {"tagging": "labels", "types": "labels"}
"""The file of a kind of work, if it has another name."""


def line_of(queue: QueueRow) -> str:
    """What a queue is, in one line."""
    return str((queue.settings or {}).get(SAYS_KEY) or _SAYS.get(queue.task, ""))


@cache
def default_guideline(kind: str) -> str:
    """The guideline of a kind of work that comes with reeltalk. The first line of its file says its version.

    A kind of another package has none until a lead writes it.
    """
    file = FOLDER / f"{_FILES.get(kind, kind)}.md"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return text.partition("\n")[2].strip() + "\n"


def write_guideline(change: Transaction, queue: QueueRow, text: str, *, based_on: str, says: str) -> None:
    """Write a queue's guideline, and its line. Nothing changes if both are as they were.

    Args:
        text: The guideline in Markdown.
        based_on: When the guideline that its author changed was written; empty for the one that comes with reeltalk.
        says: What the queue is, in one line; empty for the line that comes with reeltalk.
    """
    text = text.replace("\r\n", "\n").strip() + "\n"
    if not 2 <= len(text) <= LONGEST_GUIDELINE:
        raise InvalidValue(f"a guideline has 1 to {LONGEST_GUIDELINE:,} characters", field="text")
    line = clean_line(says, "a line", LONGEST_LINE, field="says") if says.strip() else ""
    row = change.session.get(GuidelineRow, queue.id)
    current, written_at = (row.text, row.at) if row is not None else (default_guideline(queue.task), "")
    if text != current and written_at != based_on:
        raise Conflict(
            "somebody wrote this guideline anew meanwhile; copy your text, open the page again, and put your changes "
            "into the new one"
        )
    if (before := line_of(queue)) != (line or _SAYS.get(queue.task, "")):
        kept = {name: value for name, value in (queue.settings or {}).items() if name != SAYS_KEY}
        queue.settings = {**kept, **({SAYS_KEY: line} if line else {})}
        change.record("line", queue.id, before={"says": before}, after={"says": line_of(queue)})
    if text == current:
        return
    if row is None:
        change.session.add(row := GuidelineRow(queue_id=queue.id))
    row.text, row.author, row.at = text, change.author, change.at
    change.record("guideline", queue.id, after={"text": text})


def guideline_text(session: Session, queue: QueueRow) -> str:
    """A queue's guideline in Markdown."""
    row = session.get(GuidelineRow, queue.id)
    return row.text if row is not None else default_guideline(queue.task)


def guideline_html(session: Session, queue_id: str) -> Markup:
    """A queue's guideline, as its dialog in a task shows it."""
    return render_guideline(guideline_text(session, session.get_one(QueueRow, queue_id)))


def is_safe_link(address: str) -> bool:
    """True for addresses that a guideline may lead to: of the web, or of this server."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    return parts.scheme in ("http", "https") or not (parts.scheme or address.strip().startswith(("//", "\\", "/\\")))


class _SafeMarkdown(MarkdownIt):
    """CommonMark and tables, without HTML and pictures: nothing in a guideline is executed or loaded."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False})
        self.enable("table").disable("image")

    def validateLink(self, url: str) -> bool:
        return is_safe_link(url)


@cache
def _renderer() -> MarkdownIt:
    return _SafeMarkdown()


def render_guideline(text: str) -> Markup:
    """A guideline as safe HTML. Headings go one level down, since each page has one of the first level."""
    tokens = _renderer().parse(text)
    for token in _every(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
        elif token.type == "link_open":
            token.attrs |= {"rel": "noopener noreferrer", "target": "_blank"}
    return Markup(_renderer().renderer.render(tokens, _renderer().options, {}))


def _every(tokens: Iterable[Token]) -> Iterable[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()
