"""The code blocks of a page of documentation, and the commands in them.

If a block cannot run in tests, an invisible comment right before it gives the reason:

    <!-- not run: needs a GPU -->

Its commands are still checked against the command line. `<!-- findings -->` says that commands of the block may exit
with 1. A block with `title="models.toml"` is a file for later commands.

    python tools/doc_pages.py   lists what is not run, and why
"""

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assemble_docs import resolved
from places import PACKAGES, ROOT

DOCS: Final = ROOT / "docs"
SHELL: Final = ("console", "bash")
LANGUAGES: Final = (*SHELL, "python", "yaml", "json", "toml", "csv", "markdown", "nginx", "latex", "mermaid", "text")
REASONS: Final = (
    "needs the network",
    "needs a GPU",
    "needs a model of gigabytes",
    "needs your own server",
    "needs a person",
    "needs packages that our lock does not hold",
    "takes too long",
)
"""The allowed reasons for leaving out a block."""
FENCE = re.compile(r'^(?P<indent>\s*)```(?P<language>[\w-]*)(?: title="(?P<title>[^"]+)")?\s*$')
NOT_RUN = re.compile(r"^\s*<!-- not run: (.+) -->$")
FINDINGS = re.compile(r"^\s*<!-- findings -->$")
OPENS = re.compile(r"^\s*(for|while|if)\b")
CLOSES = re.compile(r"^\s*(done|fi)\b")
SEPARATORS: Final = frozenset({"&&", "||", "|", ";", "&", "do", "then", "(", ")", "{", "}"})
LAUNCHERS: Final = (("-m", "reeltalk"),)


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: Path
    line: int
    """Number of the line with its opening fence."""
    language: str
    text: str
    title: str | None = None
    """Name of the file that the block shows, if any."""
    not_run: str | None = None
    """Reason why it is not run, or None."""
    findings: bool = False
    """True if its commands may exit with 1."""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """All pages whose blocks are checked, the longest first."""
    folders = (DOCS, *sorted(PACKAGES.glob("*/docs")))
    found = [page for folder in folders for page in folder.rglob("*.md") if folder / "includes" not in page.parents]
    found += [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PACKAGES.glob("*/README.md")]
    return sorted(found, key=lambda page: (-page.stat().st_size, page))


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order.

    Raises:
        ValueError: A fence is not closed, or a block is made by indenting alone.
    """
    found: list[Block] = []
    inside: list[str] | None = None
    opened, language, title, indent = 0, "", None, ""
    reason, findings = None, False
    before = ""
    for number, line in enumerate(resolved(page.read_text(encoding="utf-8")).splitlines(), start=1):
        fence = FENCE.match(line)
        if inside is not None:
            if fence and not fence["language"]:
                found.append(Block(page, opened, language, "\n".join(inside) + "\n", title, reason, findings))
                inside, reason, findings = None, None, False
            else:
                inside.append(line.removeprefix(indent))
        elif fence:
            inside, opened, language, title, indent = [], number, fence["language"], fence["title"], fence["indent"]
        elif told := NOT_RUN.match(line):
            reason = told[1]
        elif FINDINGS.match(line):
            findings = True
        elif line.startswith("    ") and not before.strip():
            raise ValueError(f"{page}:{number}: a block by indenting alone says not what it is; fence it")
        elif line.strip():
            reason, findings = None, False
        before = line
    if inside is not None:
        raise ValueError(f"{page}:{opened}: the block is not closed")
    return found


def script_of(block: Block) -> str:
    """The commands of a block, without prompts and printed output."""
    if block.language == "bash":
        return block.text
    lines: list[str] = []
    depth = 0
    for line in block.text.splitlines():
        goes_on = bool(lines) and (lines[-1].endswith("\\") or depth > 0)
        if line.startswith("$ "):
            said = line[2:]
        elif goes_on:
            said = line.removeprefix("> ")
        else:
            continue
        lines.append(said)
        depth += bool(OPENS.match(said)) - bool(CLOSES.match(said))
    return "\n".join(lines)


def commands_of(block: Block) -> Iterator[list[str]]:
    """The arguments of each `reeltalk` command of a block, anywhere in a line."""
    for line in script_of(block).replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word not in SEPARATORS:
                words.append(word)
                continue
            if (arguments := _arguments(words)) is not None:
                yield arguments
            words = []


def _arguments(words: list[str]) -> list[str] | None:
    words = list(words)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        del words[0]
    for at, word in enumerate(words):
        if word in (">", ">>", "<", "2>"):
            words = words[:at]
            break
    if words and Path(words[0]).name == "reeltalk":
        return words[1:]
    for first, second in LAUNCHERS:
        for at in range(len(words) - 1):
            if (words[at], words[at + 1]) == (first, second):
                return words[at + 2 :]
    return None


def main() -> int:
    """Lists the blocks that are not run, and the reasons."""
    for page in sorted(pages()):
        for block in blocks_of(page):
            if block.not_run:
                print(f"{block} [{block.language}] {block.not_run}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
