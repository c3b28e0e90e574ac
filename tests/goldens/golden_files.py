"""What goldens are made of: commands that run, and short records of what they wrote.

A record holds numbers that people can read, and a hash for all else: of a table one for each column, of a page one of
its visible text. What differs between two runs that are equally right is taken out in one place, `plain`.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import reeltalk.cli

ROOT: Final = Path(__file__).parents[2]
SHARED: Final = Path(os.environ.get("REELTALK_SHARED", ROOT.parent / "shared")).resolve()
WORK: Final = ROOT / "build" / "goldens" / str(os.getpid())
KEYS: Final = ("id", "model", "unit", "unit_id", "turn_index", "item_id", "metric", "criterion", "by", "group", "name")
"""Columns that name a row; rows are sorted by them, since those that are written by several workers have no order."""
MOST_LINES: Final = 120
"""Of the text of a page; the rest is in its hash."""
VOLATILE: Final = {
    "at": "a moment",
    "created_at": "a moment",
    "submitted_at": "a moment",
    "seconds": "how long something took",
    "took_s": "how long an answer took",
    "first_token_s": "how long something took",
    "active_s": "how long somebody worked",
}
"""Fields that are left out, and why."""
SUBSTITUTES: Final = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| ?UTC|[+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"\d+\.\d+ s, first token after \d+\.\d+ s"), "DURATIONS"),
    (re.compile(r"(?m)^\s*(Answer|First token) \(s\)\s+s\s.*"), "DURATION"),
    (re.compile(r"https?://(127\.0\.0\.1|localhost):\d+"), "ADDRESS"),
    (re.compile(r"\|code:[0-9a-f]{8}"), "|code:HASH"),
)
"""Moments, how long answers took, the port of a server of this run, and the hash of the code of rules."""
UNLIKE: Final = ("times.html",)
"""Pages that are left out: this one is about how long answers took; its frames and tokens are in the runs."""


def command_line(*arguments: object) -> list[str]:
    """A command of reeltalk for a process of its own."""
    return [sys.executable, "-m", "reeltalk", *map(str, arguments)]


def command(*arguments: object, allowed: Sequence[int] = (0,)) -> str:
    """Run a command in this process, which is five times quicker than in one of its own; what it prints.

    Raises:
        RuntimeError: It ended with another code than the allowed ones.
    """
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        code = reeltalk.cli.run([*map(str, arguments)])
    if code not in allowed:
        said = f"{printed.getvalue()}\n{errors.getvalue()}"
        raise RuntimeError(f"reeltalk {' '.join(map(str, arguments))}: {code}\n{said}")
    return printed.getvalue()


def own_version() -> str:
    return command("--version").split()[-1]


VERSION: Final[list[str]] = []


def plain(text: str) -> str:
    """A text without paths of this machine, moments, ports, and the program's own version."""
    if not VERSION:
        VERSION.append(own_version())
    text = text.replace(str(WORK), "WORK").replace(str(ROOT), "ROOT").replace(str(SHARED), "SHARED")
    for pattern, word in SUBSTITUTES:
        text = pattern.sub(word, text)
    return re.sub(rf"(?<![\d.]){re.escape(VERSION[0])}(?![\d.]|\w)", "VERSION", text)


def digest(data: str | bytes) -> str:
    """The first half of a sha256 in hex."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:32]


def even(value: Any) -> Any:
    """A value with numbers of nine digits, as sums in another order or on another processor give them, and without
    what is volatile."""
    if isinstance(value, float):
        return float(f"{round(value, 12):.9g}") + 0.0
    if isinstance(value, dict):
        return {key: even(one) for key, one in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [even(one) for one in value]
    return plain(value) if isinstance(value, str) else value


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines, or of a list in a JSON file, in the order of their names."""
    text = path.read_text(encoding="utf-8")
    raw = json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    rows = [even(row) for row in raw if row.get("metric") not in VOLATILE]
    return sorted(rows, key=lambda row: ([str(row.get(key, "")).zfill(4) for key in KEYS], dumped(row)))


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """A hash for each column, so that a difference says where it is."""
    names = sorted({name for row in rows for name in row})
    return {name: digest("\n".join(dumped(row.get(name)) for row in rows))[:12] for name in names}


def table(path: Path) -> str:
    """A table on one line: how many rows, and its columns with their hashes."""
    rows = read_rows(path)
    return " ".join([f"{len(rows)} rows:", *(f"{name}={hashed}" for name, hashed in columns(rows).items())])


def benchmark(folder: Path) -> dict[str, Any]:
    """All tables of a benchmark, and its graphs and media by name and content."""
    found: dict[str, Any] = {path.name: table(path) for path in sorted(folder.glob("*.jsonl"))}
    for kind in ("graphs", "media", "crops", "sheets"):
        if files := sorted((folder / kind).glob("*")):
            found[kind] = f"{len(files)} files {files_digest(files)}"
    return found


def files_digest(files: Iterable[Path]) -> str:
    return digest("\n".join(f"{path.name} {digest(path.read_bytes())}" for path in files))


def export(folder: Path) -> dict[str, str]:
    """Files that were written for others, each as a hash of its text."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): digest(plain(path.read_text(encoding="utf-8"))) for path in files}


def number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"


def summary_line(row: dict[str, Any]) -> str:
    """A number of a run as people read it: the value, its interval, and what it is a mean of."""
    text = f"{number(row['value'])} ({number(row['low'])} to {number(row['high'])})"
    text += f", {row['n']} turns of {row['videos']} videos"
    more = {key: row[key] for key in ("unscored", "not_applicable", "over_scored", "reasons") if row.get(key)}
    return text + (f", {dumped(more)}" if more else "")


def run(folder: Path, *, only: Sequence[str] = ()) -> dict[str, Any]:
    """Answers, scores and totals of a run.

    Args:
        folder: Of the run.
        only: The metrics whose numbers are written out; all by default. The others are in the hash of the table.
    """
    described = even(json.loads((folder / "run.json").read_text(encoding="utf-8")))
    rows = read_rows(folder / "summary.json")
    return {
        "turns": {one["model"]: one["turns"] for one in described["models"]},
        "totals": {
            f"{row['model']} {row['metric']}": summary_line(row) for row in rows if not only or row["metric"] in only
        },
        "summary.json": table(folder / "summary.json"),
        "answers.jsonl": table(folder / "answers.jsonl"),
        **{f"scores/{path.name}": table(path) for path in sorted((folder / "scores").glob("*.jsonl"))},
    }


class _Text(HTMLParser):
    """The words of a page that people see."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")
        self.parts.append("\n" if tag in ("tr", "p", "li", "h1", "h2", "h3", "div", "section", "table") else " ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def page_lines(path: Path) -> list[str]:
    """The visible text of a page, line by line."""
    reader = _Text()
    reader.feed(path.read_text(encoding="utf-8"))
    lines = (" ".join(line.split()) for line in "".join(reader.parts).splitlines())
    return [line for line in plain("\n".join(lines)).splitlines() if line]


def site(folder: Path, *whole: str) -> dict[str, Any]:
    """The pages of a report: how many words they have and a hash of these, by page or by folder of pages of a kind;
    and the text of some pages from its beginning."""
    texts = {path.relative_to(folder): page_lines(path) for path in sorted(folder.rglob("*.html"))
             if path.name not in UNLIKE}  # fmt: skip
    found: dict[str, Any] = {f"{name}, its text": texts[Path(name)][:MOST_LINES] for name in whole}
    kinds: dict[str, list[str]] = {}
    for path, lines in texts.items():
        many = path.parent.name in ("dialogues", "models", "construction", "objects", "videos")
        kinds.setdefault(f"{path.parent}/" if many else str(path), []).append("\n".join([path.name, *lines]))
    for name, pages in kinds.items():
        words = sum(len(page.split()) - 1 for page in pages)
        found[name] = f"{len(pages)} pages, {words} words {digest(chr(10).join(pages))[:16]}"
    return found


def places(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every value in a record with its place."""
    if isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value, 1)
        for name, one in named:
            yield from places(one, f"{place} › {name}" if place else str(name))
    else:
        yield place, json.dumps(value, ensure_ascii=False)


def words_of(text: str) -> dict[str, str]:
    """The columns of a table's line."""
    return dict(word.split("=") for word in text.strip('"').split() if word.count("=") == 1)


def differences(old: Any, new: Any) -> Iterator[str]:
    """Yield a line for each place at which two records differ: the place, the old value and the new one."""
    before, after = dict(places(old)), dict(places(new))
    for place in dict.fromkeys([*before, *after]):
        was, now = before.get(place, "nothing"), after.get(place, "nothing")
        if was == now:
            continue
        had, has = words_of(was), words_of(now)
        if " rows: " in was and " rows: " in now:
            rows = was.split(" rows")[0], now.split(" rows")[0]
            if rows[0] != rows[1]:
                yield f"{place}: {rows[0][1:]} → {rows[1][1:]} rows"
            for name in sorted({*had, *has}):
                if had.get(name) != has.get(name):
                    yield f"{place} › {name}: {had.get(name, 'nothing')} → {has.get(name, 'nothing')}"
        else:
            yield f"{place}: {was} → {now}"
