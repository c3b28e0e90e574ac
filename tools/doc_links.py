"""Finds broken links of the documentation to pages, sections and pictures, in the source and in the site.

    python tools/doc_links.py            the pages
    python tools/doc_links.py build/docs the site of `make docs`

External addresses are not requested, so the check needs no network. The exit code is 1 if a link is broken.
"""

import html
import re
import sys
import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from assemble_docs import SOURCE, assemble
from places import ROOT

LINK: Final = re.compile(r"(?<!\\)!?\[[^\]]*\]\(([^)\s]+)(?: \"[^\"]*\")?\)")
HEADING: Final = re.compile(r"^#{1,6} (.+?)(?: \{#([\w-]+)\})?$", re.MULTILINE)
FENCED: Final = re.compile(r"^(\s*)```.*?^\1```\s*$", re.MULTILINE | re.DOTALL)
CODE: Final = re.compile(r"`[^`\n]+`")
ANYWHERE: Final = re.compile(r"https?://[^\s<>`\")\]]+")
SCHEMES: Final = ("https", "http", "mailto")
EXAMPLES: Final = ("localhost", "127.0.0.1", "example.org", "host", "…")
"""Hosts that pages use as examples."""


DOCS: Final = SOURCE
"""The pages as the site has them, those of the packages among them."""


def pages() -> list[Path]:
    """Every page with links."""
    return [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("packages/*/README.md"))]


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's sections, as on the site."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    found: set[str] = set()
    for heading, named in HEADING.findall(text):
        words = re.sub(r"[`*]|!?\[([^\]]*)\]\([^)]*\)", lambda part: part[1] or "", heading)
        name, number = named or _slug(words), 1
        while name in found:
            name, number = f"{_slug(words)}_{number}", number + 1
        found.add(name)
    return found | set(re.findall(r'\bid="([^"]+)"', text))


def _slug(words: str) -> str:
    plain = unicodedata.normalize("NFKD", html.unescape(words)).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def broken_in_pages() -> Iterator[str]:
    """The faults in the links of each page, one sentence each."""
    if DOCS == SOURCE:
        assemble(SOURCE)
    for page in pages():
        text = CODE.sub("", FENCED.sub("", page.read_text(encoding="utf-8")))
        for target in LINK.findall(text):
            if problem := _problem(page, target):
                yield f"{page.relative_to(ROOT)}: {target}: {problem}"
        for address in ANYWHERE.findall(text):
            if problem := _address_problem(address.rstrip(".,;:")):
                yield f"{page.relative_to(ROOT)}: {address}: {problem}"


def _problem(page: Path, target: str) -> str | None:
    parts = urlsplit(target)
    if parts.scheme:
        return _address_problem(target)
    path = page if not parts.path else page.parent / unquote(parts.path)
    if not path.exists():
        return "there is no such file"
    if DOCS in page.parents and DOCS not in path.resolve().parents:
        return "the site has no file outside docs"
    if parts.fragment and path.suffix == ".md" and parts.fragment not in anchors_of(path):
        return f"{path.name} has no such section"
    return None


def _address_problem(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in SCHEMES:
        return f"{parts.scheme} is no scheme of a page"
    if parts.scheme != "mailto" and "." not in host and host not in EXAMPLES:
        return "the address names no host"
    return None


class _Page(HTMLParser):
    """Links and names of a page of the site."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links, self.names = list[str](), {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("href", "src"):
                self.links.append(value)
            elif name in ("id", "name"):
                self.names.add(value)


def broken_in_site(site: Path) -> Iterator[str]:
    """The faults in the links of each page of a built site."""
    read = {path.resolve(): _Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in read.items():
        if path.name == "404.html":
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("data:"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(site.resolve())}: {link}: there is no such file"
            elif target in read and unquote(parts.fragment) not in read[target].names:
                yield f"{path.relative_to(site.resolve())}: {link}: no such section"


def main(arguments: list[str]) -> int:
    """Prints the broken links."""
    found = list(broken_in_site(Path(arguments[0])) if arguments else broken_in_pages())
    print("\n".join([*found, f"{len(found)} broken links"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
