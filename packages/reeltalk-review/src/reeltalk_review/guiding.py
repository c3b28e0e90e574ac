"""What people are told about their work: a line and a guideline for each queue.

The lead writes guidelines in Markdown. Every version stays; until there is one, the guideline of the kind of work in
`guidelines/` applies, as version 0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk_review.errors import Conflict, InvalidValue, NotFound
from reeltalk_review.events import Transaction
from reeltalk_review.people import clean_line
from reeltalk_review.tables import GuidelineRow, QueueRow

FOLDER: Final = Path(__file__).parent / "guidelines"
LONGEST_GUIDELINE: Final = 50_000
LONGEST_LINE: Final = 200
SAYS: Final = "says"
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
    return str((queue.settings or {}).get(SAYS) or _SAYS.get(queue.task, ""))


@dataclass(frozen=True)
class Guideline:
    """One version of a queue's guideline."""

    version: int
    """From 1; 0 if it came with reeltalk."""
    text: str
    """Markdown."""
    author: str | None
    """A person's id; None if it came with reeltalk."""
    at: str | None


@cache
def default_guideline(kind: str) -> Guideline:
    """The guideline of a kind of work that comes with reeltalk. The first line of its file says its version.

    A kind of another package has none until a lead writes it.
    """
    file = FOLDER / f"{_FILES.get(kind, kind)}.md"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return Guideline(0, text.partition("\n")[2].strip() + "\n", None, None)


def guideline_of(session: Session, queue: QueueRow, version: int | None = None) -> Guideline:
    """A version of a queue's guideline; by default the newest.

    Raises:
        NotFound: There is no such version.
    """
    query = select(GuidelineRow).where(GuidelineRow.queue_id == queue.id).order_by(GuidelineRow.version.desc())
    if version is not None:
        query = query.where(GuidelineRow.version == version)
    row = session.scalars(query.limit(1)).one_or_none()
    if row is not None:
        return Guideline(row.version, row.text, row.author, row.at)
    if version:
        raise NotFound("the guideline has no such version")
    return default_guideline(queue.task)


def guideline_versions(session: Session, queue: QueueRow) -> list[Guideline]:
    """All versions of a queue's guideline, newest first."""
    rows = session.scalars(
        select(GuidelineRow).where(GuidelineRow.queue_id == queue.id).order_by(GuidelineRow.version.desc())
    )
    written = [Guideline(row.version, row.text, row.author, row.at) for row in rows]
    return [*written, default_guideline(queue.task)]


def write_guideline(change: Transaction, queue_id: str, text: str, *, based_on: int, says: str) -> Guideline:
    """Write the next version of a queue's guideline, and its line. Nothing changes if both are as they were.

    Args:
        change: The transaction.
        queue_id: Which queue.
        text: The guideline in Markdown.
        based_on: The version that its author changed.
        says: What the queue is, in one line; empty for the line that comes with reeltalk.

    Raises:
        NotFound: There is no such queue.
        InvalidValue: The text or the line is empty or too long.
        Conflict: Somebody else wrote a version meanwhile.
    """
    queue = change.session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    text = text.replace("\r\n", "\n").strip() + "\n"
    if not 2 <= len(text) <= LONGEST_GUIDELINE:
        raise InvalidValue(f"a guideline has 1 to {LONGEST_GUIDELINE:,} characters", field="text")
    line = clean_line(says, "a line", LONGEST_LINE, field="says") if says.strip() else ""
    current = guideline_of(change.session, queue)
    if current.version != based_on:
        raise Conflict(
            f"somebody wrote version {current.version} of this guideline meanwhile; copy your text, open the page "
            "again, and put your changes into the new version"
        )
    if (before := line_of(queue)) != (line or _SAYS.get(queue.task, "")):
        kept = {name: value for name, value in (queue.settings or {}).items() if name != SAYS}
        queue.settings = {**kept, **({SAYS: line} if line else {})}
        change.record("line", queue.id, before={"says": before}, after={"says": line_of(queue)})
    if text == current.text:
        return current
    row = GuidelineRow(queue_id=queue.id, version=current.version + 1, text=text, author=change.author, at=change.at)
    change.session.add(row)
    change.session.flush()
    change.record("guideline", queue.id, after={"version": row.version, "text": text})
    return Guideline(row.version, row.text, row.author, row.at)


def guideline_html(session: Session, queue_id: str) -> Markup:
    """The newest version of a queue's guideline, as its dialog in a task shows it."""
    return render_guideline(guideline_of(session, session.get_one(QueueRow, queue_id)).text)


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
