"""A page of the site that one searches: entries with rows, written as HTML inside a page of Markdown.

Entries stand in the page itself, so they need no network and no script; `docs/javascripts/search_page.js` only hides
what does not match. Each entry has an anchor, made from its name: `reeltalk-evaluate`.
"""

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FORM: Final = """<div class="find"><label for="find">Search this page</label>
<input type="search" id="find" autocomplete="off" spellcheck="false" placeholder="{example}">
<p id="found" role="status">{count} entries</p></div>
"""


@dataclass(frozen=True)
class Entry:
    """A thing that people look up. Texts may hold code between backticks, and links to files of the site."""

    name: str
    text: str
    """Paragraphs, with an empty line between two; the first stands beside the name."""
    rows: Sequence[tuple[str, str]] = ()
    """Terms with what they mean; an empty term begins a group, whose title is the text."""
    table: Sequence[Sequence[str]] = ()
    """Instead of rows, the lines of a table; the first is its head."""
    code: str = ""
    """How it is called."""

    @property
    def anchor(self) -> str:
        """Its place on the page."""
        plain = unicodedata.normalize("NFKD", self.name).encode("ascii", "ignore").decode().lower()
        return re.sub(r"[^a-z0-9_.]+", "-", plain).strip("-")


def search_page(title: str, about: str, entries: Sequence[Entry], *, example: str) -> str:
    """The page, as Markdown with HTML.

    Args:
        title: Its heading.
        about: What stands above the field, as Markdown.
        entries: In the order of the page.
        example: A word that finds something.

    Raises:
        ValueError: Two entries have one anchor, or the example finds nothing.
    """
    anchors = [entry.anchor for entry in entries]
    if twice := {anchor for anchor in anchors if anchors.count(anchor) > 1}:
        raise ValueError(f"{title}: several entries have the anchors {', '.join(sorted(twice))}")
    shown = "\n".join(map(_entry, entries))
    if example not in shown:
        raise ValueError(f"{title}: no entry has {example!r}")
    form = FORM.format(example=html.escape(example), count=len(entries))
    return f"# {title}\n\n{about.strip()}\n\n{form}\n{shown}\n"


def _entry(entry: Entry) -> str:
    first, *others = re.split(r"\n\n+", entry.text.strip())
    parts = [f'<details class="entry" id="{entry.anchor}"><summary><code>{html.escape(entry.name)}</code> ']
    parts += [inline(first), "</summary>"]
    parts += [f'<pre class="call">{html.escape(entry.code)}</pre>'] if entry.code else []
    parts += [f"<p>{inline(text)}</p>" for text in others]
    if entry.table:
        head, *lines = entry.table
        # Who has no mouse scrolls a wide table by its region; the theme would make one that cannot be reached.
        parts.append(f'<div class="scroll" role="region" tabindex="0" aria-label="{html.escape(entry.name)}">')
        parts.append(f'<table class="matrix"><thead>{_cells(head, "th")}</thead><tbody>')
        parts += [_cells(line, "td") for line in lines]
        parts.append("</tbody></table></div>")
    if entry.rows:
        # A group without a term of its own before it begins with its rows.
        opened = False
        for term, text in entry.rows:
            if not term:
                parts += ["</dl>"] if opened else []
                parts.append(f"<p class='group'>{inline(text)}</p>")
                opened = False
                continue
            parts += [] if opened else ["<dl>"]
            opened = True
            parts.append(f"<div><dt><code>{html.escape(term)}</code></dt><dd>{inline(text)}</dd></div>")
        parts += ["</dl>"] if opened else []
    return "".join([*parts, "</details>"]).replace("\n\n", "\n&#8203;\n")


def _cells(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{inline(cell)}</{tag}>' for cell in cells)}</tr>"


def inline(text: str) -> str:
    """Text as HTML: code between backticks, links."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    parts = re.split(r"`([^`]+)`", escaped)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', parts[at])
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
