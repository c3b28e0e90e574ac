"""Tables of questions as people have them, read as the table that they probably mean, with a line for each guess.

Encodings, delimiters, spreadsheets, names of columns, nested records, conversations, times and options are guessed.
`guess_table` changes nothing in the file; `qa.read_questions` reads the rows that it gives. A table that needs no guess
is read as `table_rows.read_table` reads it.
"""

import ast
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from reeltalk.errors import InputError
from reeltalk.formats.multiple_choice import without_letters
from reeltalk.formats.parquet import FilesInside
from reeltalk.formats.table_forms import (
    SPREADSHEETS,
    GuessedTable,
    all_objects,
    is_filled,
    read_json_rows,
    read_spreadsheet,
    read_text_table,
    usual_names,
)
from reeltalk.formats.table_rows import TableRow, is_text_table, plain_column, read_table
from reeltalk.schema.record import Json
from reeltalk.schema.turn_sense import LETTERS
from reeltalk.store.foreign import VIDEO_SUFFIXES

TEXT_TABLES: Final = (".csv", ".tsv", ".txt", ".md")
OPTION: Final = "option_"
_Is = Callable[[str], bool]
_LOOKED_AT: Final = 50
"""Rows whose cells say which columns a table has."""


def guess_table(
    path: Path,
    *,
    columns: Mapping[str, str],
    known: Callable[[str], bool],
    films: Sequence[str] = (),
    files: FilesInside | None = None,
    faults: list[InputError],
) -> GuessedTable:
    """Read a table as it is probably meant.

    Args:
        path: A table, a spreadsheet, or a JSON document.
        columns: The table's name of a column, by our name, as the user gave them.
        known: Says whether a name is one of our columns.
        films: Names of the video files that were found.
        files: Receives the files that Parquet holds.
        faults: Receives what is wrong with rows that cannot be read even so.

    Raises:
        InputError: Nothing in it can be read as rows.
        MissingExtraError: A spreadsheet needs the `xlsx` extra, Parquet the `hub` extra.
    """
    suffix, names = path.suffix.lower(), {film_name(name) for name in films}

    def is_film(text: str) -> bool:
        return Path(text).suffix.lower() in VIDEO_SUFFIXES or film_name(text) in names

    if suffix in SPREADSHEETS:
        found = read_spreadsheet(path)
    elif suffix in TEXT_TABLES:
        found = read_text_table(path, faults)
    elif suffix in (".json", ".jsonl", ".ndjson"):
        found = read_json_rows(path, faults)
    else:
        table = read_table(path, repeated=True, files=files, faults=faults)
        found = GuessedTable(path, "Parquet", table.header, table.rows)
    if suffix in (*SPREADSHEETS, *TEXT_TABLES):
        _name_columns(found, is_film)
    _expand(found)
    _drop_empty(found)
    _unfold(found)
    _bind(found, columns, known, is_film)
    _mend_cells(found)
    _find_files(found, films)
    return found


def _name_columns(found: GuessedTable, is_film: _Is) -> None:
    """Number the columns of a table whose first line is a question as the others are."""
    usual = {name for ours in ("video", "question") for name in (ours, *usual_names()["columns"][ours])}
    if any(_plain(name) in usual for name in found.header) or not any(map(is_film, found.header)):
        return
    numbered = {name: f"column {number}" for number, name in enumerate(found.header, start=1)}
    first = TableRow(found.path, 1, "$", {new: name for name, new in numbered.items()})
    named = [{numbered[name]: cell for name, cell in row.cells.items()} for row in found.rows]
    found.note("the first line is a question and names no columns", found.path.name, "", found.header, "")
    found.rows = [first, *(replace(row, cells=cells) for row, cells in zip(found.rows, named, strict=True))]
    found.header = list(numbered.values())


def _expand(found: GuessedTable) -> None:
    """A row for each question of a record that holds several, and for each exchange of a conversation."""
    rows = []
    for row in found.rows:
        _lift(row)
        inner = {key: _turns(cell, found, row) for key, cell in list(row.cells.items()) if _speaks(cell)}
        inner = inner or {key: cell for key, cell in row.cells.items() if _asks(cell)}
        around = {name: value for name, value in row.cells.items() if name not in inner}
        for key, members in inner.items():
            found.note("a row for each question of a list", row.where, key, None, len(members))
            several = {"type": key} if len(inner) > 1 else {}
            rows += [
                TableRow(row.path, row.line, f"{row.place}.{key}[{number}]", {**around, **several, **member})
                for number, member in enumerate(members)
            ]
        rows += [] if inner else [row]
    found.rows = rows
    if not is_text_table(found.path) and found.path.suffix.lower() not in SPREADSHEETS:
        found.header = list(dict.fromkeys(key for row in rows for key in row.cells))


def _asks(cell: Json) -> bool:
    """True for a list of objects that each hold a question."""
    names = {"question", *usual_names()["columns"]["question"]}
    return (
        isinstance(cell, list)
        and bool(cell)
        and all(isinstance(one, dict) and any(_plain(key) in names for key in one) for one in cell)
    )


def _lift(row: TableRow) -> None:
    """Put the members of an inner object, such as `metadata`, beside the other cells; options stay together."""
    for key, value in list(row.cells.items()):
        if isinstance(value, dict) and _plain(key) not in ("options", "answer", *usual_names()["columns"]["options"]):
            for name, inner in value.items():
                if any(_plain(name) in (ours, *usual) for ours, usual in usual_names()["columns"].items()):
                    row.cells.setdefault(name, inner)
    for key in usual_names()["nested"]["history"]:  # pairs before the last question
        pairs = row.cells.get(key)
        if isinstance(pairs, list) and pairs and all(isinstance(one, list) and len(one) == 2 for one in pairs):
            last = next(([row.cells[q], row.cells.get(a)] for q, a in (("query", "response"),) if q in row.cells), None)
            said = [*pairs, *([last] if last else [])]
            row.cells["conversations"] = [
                {"from": who, "value": text}
                for pair in said
                if isinstance(pair, list)
                for who, text in zip(("user", "assistant"), pair, strict=True)
            ]
            for name in (key, "query", "response"):
                row.cells.pop(name, None)


def _speaks(value: Json) -> bool:
    nested = usual_names()["nested"]
    return (
        all_objects(value)
        and isinstance(value, list)
        and all(
            isinstance(one, dict) and any(k in one for k in nested["speaker"]) and any(k in one for k in nested["said"])
            for one in value
        )
    )


def _turns(value: Json, found: GuessedTable, row: TableRow) -> list[dict[str, Json]]:
    """The exchanges of a conversation: what the user says, and the answer."""
    nested, asked, film = usual_names()["nested"], "", None
    turns: list[dict[str, Json]] = []
    at_s: Json = None
    for one in value if isinstance(value, list) else ():
        who = next(str(one[key]).strip().lower() for key in nested["speaker"] if key in one)
        said = next(one[key] for key in nested["said"] if key in one)
        if isinstance(said, list):
            parts = [part for part in said if isinstance(part, dict)]
            for part in parts:
                shown = part.get("video") or part.get("video_url")
                film = film or (shown.get("url") if isinstance(shown, dict) else shown)
                for name in ("video_start", "video_end"):
                    row.cells.setdefault(name, part.get(name))
            said = "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))
        text = re.sub(r"<(?:video|image|vid|img)>|<\|\w{1,40}\|>", "", str(said)).strip()
        if who not in (*nested["assistant"], *nested["others"]):
            asked = f"{asked}\n{text}".strip()
            at_s = next((one[key] for key in nested["time"] if one.get(key) is not None), None)
        elif who in nested["assistant"] and asked:
            turns.append({"dialogue": None, "turn": len(turns) + 1, "question": asked, "answer": text})
            turns[-1] |= {} if at_s is None else {"asked_at_s": at_s}
            asked = ""
        else:
            found.note("what nobody asked is left out of a conversation", row.where, who, text[:200], "")
    if asked:
        turns.append({"dialogue": None, "turn": len(turns) + 1, "question": asked, "answer": None})
    plain = {_plain(key) for key in row.cells}
    for turn in turns:
        called = next((row.cells[key] for key in ("id", "dialogue_id", "conversation_id") if row.cells.get(key)), None)
        turn["dialogue"] = called if isinstance(called, str | int) else row.where
        turn["id"] = None
        if film is not None and not plain & {"video", *usual_names()["columns"]["video"]}:
            turn["video"] = film
    return turns if len(turns) > 1 else [{**turn, "dialogue": None, "turn": None} for turn in turns]


def _drop_empty(found: GuessedTable) -> None:
    found.rows = [row for row in found.rows if is_filled(row.cells.values())]
    if not found.rows:
        raise InputError("the table has no rows", file=found.path, hint="write a question a row")


def _unfold(found: GuessedTable) -> None:
    """A row for each of `Question 1`, `Answer 1`, `Question 2` and so on."""
    names = usual_names()["columns"]
    pairs: dict[str, dict[str, str]] = {}
    for theirs in found.header:
        numbered = re.fullmatch(r"(\D*?)_?(\d{1,2})", _plain(theirs))
        for ours in ("question", "answer"):
            if numbered is not None and numbered[1] in (ours, *names[ours]):
                pairs.setdefault(numbered[2], {})[ours] = theirs
    if sum("question" in pair for pair in pairs.values()) < 2:
        return
    alone = next((name for name in found.header if _plain(name) in ("answer", *names["answer"])), "")
    pairs = {number: {"answer": alone, **pair} for number, pair in pairs.items() if "question" in pair}
    wide = {theirs for pair in pairs.values() for theirs in pair.values()}
    rows = []
    for row in found.rows:
        around = {name: cell for name, cell in row.cells.items() if name not in wide}
        for pair in pairs.values():
            asked = {ours: row.cells.get(theirs) for ours, theirs in pair.items()}
            if str(asked["question"] or "").strip():
                rows.append(TableRow(row.path, row.line, row.place, {**around, **asked}))
    why = "a row for each numbered question; --one-dialogue-per-video makes turns of them"
    found.note(why, found.path.name, "", sorted(wide), len(rows))
    found.rows, found.header = rows, [*(name for name in found.header if name not in wide), "question", "answer"]


def _plain(name: str) -> str:
    """A name of a column in lower case, with `_` between words."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", name.strip())
    letters = unicodedata.normalize("NFD", plain_column(words))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return re.sub(r"[\s./-]+", "_", unicodedata.normalize("NFC", plain)).strip("_")


def _bind(found: GuessedTable, columns: Mapping[str, str], known: _Is, is_film: _Is) -> None:
    """Find out which column has which meaning: by its own name, by a usual one, or by its cells."""
    meanings = {theirs: ours for ours, theirs in columns.items() if theirs in found.header}
    for theirs in found.header:
        ours = plain_column(theirs)
        if theirs not in meanings and ours not in meanings.values() and known(ours):
            meanings[theirs] = ours
    exact = set(meanings)
    _bind_options(found, meanings)
    plain = {
        theirs: {_plain(part) for part in (theirs, *re.split(r"[/(),（）]", theirs))} - {""} for theirs in found.header
    }

    for ours, usual in usual_names()["columns"].items():
        free = [
            theirs
            for name in (ours, *usual)
            for theirs in found.header
            if name in plain[theirs] and theirs not in meanings
        ]
        fitting = [theirs for theirs in free if _may_be(found, theirs, ours)]
        if ours == "video":  # of an identifier and a file, the one that names a file
            fitting.sort(key=lambda theirs: not any(is_film(str(row.cells.get(theirs))) for row in found.rows))
        if fitting and ours not in meanings.values():
            meanings[fitting[0]] = ours
    if "video" not in meanings.values():
        _bind_by_cells(found, meanings, "video", is_film)
    if "video" not in meanings.values():  # a file that is called like the question about it
        named = {theirs: ours for theirs, ours in meanings.items() if ours != "id"}
        _bind_by_cells(found, named, "video", is_film)
        meanings = named if "video" in named.values() else meanings
    if "question" not in meanings.values():
        _bind_by_cells(found, meanings, "question", lambda text: text.rstrip().endswith(("?", "？")))
    for ours, words in usual_names()["words"].items():
        said = {theirs: {*re.split(r"[\W_]+", _plain(theirs))} for theirs in found.header if theirs not in meanings}
        other = usual_names()["other_words"]["words"]
        free = [
            theirs for theirs, any_of in said.items() if len(any_of) > 2 and any_of & {*words} and not any_of & {*other}
        ]
        if len(free) == 1 and not {ours, *(["correct"] if ours == "answer" else [])} & {*meanings.values()}:
            meanings[free[0]] = ours
    if not {"answer", "correct"} & {*meanings.values()} and any(ours[:6] == "option" for ours in meanings.values()):
        meanings.update({theirs: "correct" for theirs in found.header if _plain(theirs) == "key"})
    free = [theirs for theirs in found.header if theirs not in meanings]
    if [re.sub(r"\d+", "", theirs) for theirs in free] == ["column "] and "answer" not in meanings.values():
        meanings[free[0]] = "answer"  # the only column left of a table without names
    if "correct" in meanings.values() and "options" not in meanings.values():
        theirs = next(name for name, ours in meanings.items() if ours == "correct")
        if "answer" not in meanings.values() and not any(ours.startswith(OPTION) for ours in meanings.values()):
            meanings[theirs] = "answer"
    for theirs, ours in meanings.items():
        if theirs not in exact:
            found.note("a column under another name", found.path.name, theirs, theirs, ours)
    found.meanings = meanings


def film_name(text: str) -> str:
    """The name of a video without folder, ending and case, by which its file may be found."""
    plain = text.strip().replace("\\", "/")
    path = PurePosixPath(unquote(plain.partition("?")[0]) if "://" in plain else plain)
    return unicodedata.normalize(
        "NFC", path.stem.strip() if path.suffix.lower() in VIDEO_SUFFIXES else path.name
    ).casefold()


def _find_files(found: GuessedTable, films: Sequence[str]) -> None:
    """Write the name of its file for each video that is named otherwise, or in several ways, if one file alone fits."""
    column = next((theirs for theirs, ours in found.meanings.items() if ours == "video"), "")
    cells = [row.cells.get(column) for row in found.rows if films]
    given = [str(cell[0] if isinstance(cell, list) and len(cell) == 1 else cell or "").strip() for cell in cells]
    given = [re.sub(r" \(https?://[^ ]*\)$", "", name) for name in given]  # a file attached to a cell, and its address
    known = {name: same[0] for name in {*given} - {""} if len(same := _files_named(name, films)) == 1}
    spellings = Counter(known[name] for name in {*known})
    for row, name in zip(found.rows, given, strict=False):
        if name in known:
            path = PurePosixPath(known[name])
            usual = {known[name], path.name, path.stem, path.with_suffix("").as_posix()}
            plain = PurePosixPath(name)
            if (
                "://" in str(row.cells[column])
                or spellings[known[name]] > 1
                or not usual & {name, plain.name, plain.stem}
            ):
                found.note("a file under another spelling", row.where, column, row.cells[column], known[name])
                row.cells[column] = known[name]


def _files_named(wanted: str, films: Sequence[str]) -> list[str]:
    """The files that a name may mean: the end of its path, its name in any case, or a name that only ends in it."""
    if address := _ADDRESS.search(wanted):
        wanted = address[1]
    path = unicodedata.normalize("NFC", unquote(wanted).replace("\\", "/")).casefold()
    folded = {name: unicodedata.normalize("NFC", name).casefold() for name in films}
    stem = film_name(unquote(wanted))
    for fits in (
        lambda name: path == folded[name] or path.endswith(f"/{folded[name]}"),
        lambda name: folded[name].endswith(f"/{path}"),
        lambda name: film_name(name) == stem,
        lambda name: len(stem) >= _SHORTEST and re.search(rf"[\W_]{re.escape(stem)}\]?$", film_name(name)),
        lambda name: len(stem) >= _SHORTEST and re.fullmatch(rf"{re.escape(stem)}\.f\d+", film_name(name)),
        lambda name: len(film_name(name)) >= _SHORTEST and re.search(rf"[\W_]{re.escape(film_name(name))}$", stem),
    ):
        if same := [name for name in films if fits(name)]:
            return same
    return []


def _may_be(found: GuessedTable, column: str, ours: str) -> bool:
    cells = [row.cells.get(column) for row in found.rows]
    if ours == "span":
        return any(_span(cell) is not None for cell in cells[:_LOOKED_AT])
    if ours == "options":
        return any(_option_list(cell) for cell in cells)
    if ours.endswith("_s"):
        given = [str(cell) for cell in cells if cell not in (None, "")]
        return 2 * sum(parse_seconds(cell) is not None for cell in given) >= len(given)
    if ours == "id":
        given = [str(cell) for cell in cells if cell not in (None, "")]
        return len(set(given)) == len(given)
    return True


def _bind_options(found: GuessedTable, meanings: dict[str, str]) -> None:
    """Columns such as `a0`, `option 1`, `Choice A` or plain `A`, if at least two follow each other from the first."""
    pattern = re.compile(r"(options?|opcion|choices?|candidate|opt|answer|ans|antwort|a|选项|選択肢)?_?([0-9]|[a-j])")
    groups: dict[str, dict[str, str]] = {}
    for theirs in found.header:
        if theirs not in meanings and (match := pattern.fullmatch(_plain(theirs))):
            groups.setdefault(match[1] or "", {})[match[2]] = theirs
    for name, members in groups.items():
        marks = sorted(members)
        first = next((one for one in ("0123456789", "123456789", "abcdefghij") if one.startswith("".join(marks))), None)
        if first is not None and len(marks) > 1 and not any(one.startswith(OPTION) for one in meanings.values()):
            if name in ("answer", "ans", "antwort") and not _has_right_one(found, meanings):
                continue  # several answers, not options
            for letter, mark in zip(LETTERS, marks, strict=False):
                meanings[members[mark]] = f"{OPTION}{letter.lower()}"


def _has_right_one(found: GuessedTable, meanings: Mapping[str, str]) -> bool:
    usual = {*usual_names()["columns"]["correct"], *usual_names()["columns"]["answer"], "answer", "correct"}
    return any(_plain(name) in usual or meanings.get(name) in ("answer", "correct") for name in found.header)


def _bind_by_cells(found: GuessedTable, meanings: dict[str, str], ours: str, fits: _Is) -> None:
    looked = found.rows[:_LOOKED_AT]
    for theirs in found.header:
        texts = [str(row.cells[theirs]) for row in looked if isinstance(row.cells.get(theirs), str)]
        if theirs not in meanings and texts and sum(map(fits, texts)) > 0.8 * len(looked):
            meanings[theirs] = ours
            return


_UNITS: Final = str.maketrans({"：": ":", "．": ".", "秒": "s", "分": "m", "第": " ", "～": "~", "約": " ", "约": " "})
_ADDRESS: Final = re.compile(r"(?:[?&]v=|youtu\.be/|/shorts/|/embed/)([\w-]{11})")
"""The identifier of a video in an address of YouTube."""
_SHORTEST: Final = 5
"""Fewest characters of a name that is looked for in a longer one."""
_CLOCK: Final = re.compile(r"(?:(\d{1,2})[:h])?(\d{1,3}):(\d{1,2}(?:[.,]\d{1,6})?)")
_SECONDS: Final = re.compile(r"(\d{1,6}(?:[.,]\d{1,6})?) ?(?:s|sec|secs|seconds?|sek|sekunden)?\.?", re.IGNORECASE)
_MINUTES: Final = re.compile(
    r"(\d{1,4}) ?(?:m|min|minutes?) ?(?:(\d{1,2}(?:[.,]\d{1,6})?) ?(?:s|sec|seconds?)?)?", re.IGNORECASE
)
_BETWEEN: Final = re.compile(r"\s?(?:-->|[-\u2013\u2014~]|to|bis)\s?", re.IGNORECASE)


def parse_seconds(text: str) -> float | None:
    """Seconds from a time as people write it: `0:05`, `1:02:03.5`, `12,5`, `1 min 5 s`; None for another text."""
    plain = text.translate(_UNITS).strip().lstrip("~≈").strip()
    if match := _CLOCK.fullmatch(plain):
        hours, minutes, seconds = (float((part or "0").replace(",", ".")) for part in match.groups())
        return hours * 3600 + minutes * 60 + seconds
    if match := _SECONDS.fullmatch(plain):
        return float(match[1].replace(",", "."))
    if match := _MINUTES.fullmatch(plain):
        return float(match[1]) * 60 + float((match[2] or "0").replace(",", "."))
    return None


def _nested(values: Sequence[Any]) -> bool:
    return all(isinstance(one, list | tuple) for one in values)


def _span(value: Any) -> tuple[float, float] | None:
    """The start and end of a stretch, a moment or several stretches: `0:05-0:09`, `[5, 9]`; None for another value."""
    if isinstance(value, str) and value.strip().startswith(("[", "(")):
        value = _literal(value)
    several = value.split(", ") if isinstance(value, str) and ", " in value else value
    if (
        isinstance(several, list | tuple)
        and several
        and (len(several) == 1 or value is not several or _nested(several))
    ):
        found = [one for part in several if (one := _span(part)) is not None]
        return (min(one[0] for one in found), max(one[1] for one in found)) if len(found) == len(several) else None
    parts = _BETWEEN.split(value.strip().lstrip("~")) if isinstance(value, str) else value
    if isinstance(parts, list) and len(parts) == 1 and ":" in str(parts[0]):
        parts = [parts[0], parts[0]]
    if not isinstance(parts, list | tuple) or len(parts) != 2:
        return None
    start, end = (parse_seconds(str(part)) for part in parts)
    return None if start is None or end is None or end < start else (start, end)


def _literal(text: str) -> Any:
    """The value of a Python or JSON literal, as pandas writes lists into CSV; None for another text."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text) if len(text) < 100_000 else None
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def _mend_cells(found: GuessedTable) -> None:
    _take_frames(found)
    theirs = {ours: name for name, ours in found.meanings.items()}
    _join_wrong_answers(found, theirs)
    _empty_absent(found, theirs)
    _fill_down(found, theirs)
    _leave_out_splits(found, theirs)
    in_minutes = _are_minutes(found, theirs)
    base = _first_index(found, theirs)
    for row in found.rows:
        for ours in ("asked_at_s", "start_s", "end_s"):
            if ours in theirs:
                _mend_time(found, row, theirs[ours], in_minutes)
        if "span" in theirs and row.cells.get(theirs["span"]) is not None:
            given = row.cells[theirs["span"]]
            stretch = _span(given)
            if stretch is None and str(given).strip():
                found.note("what is no stretch of time is left out", row.where, theirs["span"], given, "")
            elif stretch is not None:
                row.cells.update(start_s=stretch[0], end_s=stretch[1])
                found.note("a stretch as its start and end", row.where, theirs["span"], given, list(stretch))
        for ours in ("answer", "also"):
            if ours in theirs:
                _mend_answers(found, row, theirs, ours)
        if "options" in theirs:
            _mend_options(found, row, theirs["options"])
        elif "question" in theirs and not any(ours.startswith(OPTION) for ours in theirs):
            _options_of_question(found, row, theirs)
        _mend_index(found, row, theirs, base)
        right = row.cells.get(theirs.get("correct", ""))
        if right not in (None, "") and not _option_texts(row, theirs):
            row.cells[theirs["correct"]] = None
            row.cells.setdefault(theirs.get("answer", "answer"), right)
            found.meanings.setdefault(theirs.get("answer", "answer"), "answer")
            found.note("the right one of no options is the answer", row.where, theirs["correct"], right, right)
    if "also" in theirs:
        found.meanings = {name: ours for name, ours in found.meanings.items() if ours != "also"}
    if "span" in theirs:
        found.meanings = {name: ours for name, ours in found.meanings.items() if ours != "span"}
        found.meanings |= {ours: ours for ours in ("start_s", "end_s") if any(ours in row.cells for row in found.rows)}
    if any("options" in row.cells for row in found.rows) and "options" not in theirs:
        found.meanings["options"] = "options"


def _take_frames(found: GuessedTable) -> None:
    """The start and end in seconds of rows that number frames and have a frame rate."""
    usual = usual_names()["frames"]
    columns = [next((one for one in found.header if _plain(one) in usual[key]), "") for key in ("start", "end", "rate")]
    if not all(columns) or {"start_s", "end_s"} & {*found.meanings.values()}:
        return
    for row in found.rows:
        start, end, rate = (parse_seconds(str(row.cells.get(name))) for name in columns)
        if start is not None and end is not None and rate:
            row.cells.update(start_s=round(start / rate, 3), end_s=round(end / rate, 3))
            found.note("frames as seconds, by the frame rate in the row", row.where, columns[0],
                       [start, end], [row.cells["start_s"], row.cells["end_s"]])  # fmt: skip
    found.meanings |= {"start_s": "start_s", "end_s": "end_s"}


_WRONG: Final = re.compile(r"(?:(?:wrong|incorrect|false)_(?:answer|option|choice)|distractor)s?_?[0-9a-e]?")


def _join_wrong_answers(found: GuessedTable, theirs: Mapping[str, str]) -> None:
    """Options of the answer and the wrong answers. In the order of the alphabet no place says which one is right."""
    wrong = [name for name in found.header if name not in found.meanings and _WRONG.fullmatch(_plain(name))]
    if "answer" not in theirs or any(ours == "options" or ours.startswith(OPTION) for ours in theirs):
        return
    for row in found.rows if wrong else ():
        cells = [row.cells.get(name) for name in (theirs["answer"], *wrong)]
        given = [one for cell in cells for one in (cell if isinstance(cell, list) else [cell])]
        texts = [text for one in given if (text := str("" if one is None else one).strip())]
        if not isinstance(cells[0], list) and str(cells[0] or "").strip() and len({*texts}) == len(texts) > 1:
            row.cells["options"] = sorted(texts)
            found.note("the answer and the wrong answers as options", row.where, wrong[0], texts, sorted(texts))


def _empty_absent(found: GuessedTable, theirs: Mapping[str, str]) -> None:
    """Cells that say that there is no time are empty; in a table of R so is every `NA`."""
    columns = {theirs[ours] for ours in ("asked_at_s", "start_s", "end_s", "span") if ours in theirs}
    absent = {"NA", "N/A", "NaN", "nan", "null", "None", "-", "–", "—"}
    in_r = any(row.cells.get(column) == "NA" for row in found.rows for column in columns)
    for row in found.rows:
        for column, cell in row.cells.items():
            if isinstance(cell, str) and (cell == "NA" if in_r else column in columns and cell in absent):
                found.note("a word for an empty cell", row.where, column, cell, "")
                row.cells[column] = ""


def _fill_down(found: GuessedTable, theirs: Mapping[str, str]) -> None:
    """An empty name of a video is that of another column, or the one above: in merged cells, or in a later turn."""
    other = [
        name
        for name in found.header
        if _plain(name) in usual_names()["columns"]["video"] and name not in found.meanings
    ]
    video, dialogue, turn = (theirs.get(ours, "") for ours in ("video", "dialogue", "turn"))
    above: TableRow | None = None
    for row in found.rows:
        for column in other if "video" in theirs and not row.cells.get(theirs["video"]) else ():
            if row.cells.get(column):
                row.cells[theirs["video"]] = row.cells[column]
                found.note("the video in another column", row.where, column, "", row.cells[column])
                break
        asks = str(row.cells.get(theirs.get("question", "")) or "").strip()
        later = str(row.cells.get(turn) or "").strip() not in ("", "1")
        merged = found.path.suffix.lower() in SPREADSHEETS or later
        merged &= not str(row.cells.get(dialogue) or "").strip()
        if above is not None and asks and merged and video and not str(row.cells.get(video) or "").strip():
            for column in filter(None, (video, dialogue)):
                if not str(row.cells.get(column) or "").strip():
                    row.cells[column] = above.cells.get(column)
            found.note("an empty cell below the name of a video", row.where, video, "", row.cells[video])
        above = row


def _leave_out_splits(found: GuessedTable, theirs: Mapping[str, str]) -> None:
    """A video whose rows are in several splits has none."""
    splits: dict[str, set[str]] = {}
    for row in found.rows if "split" in theirs and "video" in theirs else ():
        split = str(row.cells.get(theirs["split"]) or "")
        splits.setdefault(str(row.cells.get(theirs["video"])), set()).add(split)
    for video, names in splits.items():
        if len(names - {""}) > 1:
            for row in found.rows:
                if str(row.cells.get(theirs["video"])) == video:
                    row.cells[theirs["split"]] = None
            found.note("a video in several splits is in none", found.path.name, theirs["split"], sorted(names), "")


def _mend_answers(found: GuessedTable, row: TableRow, theirs: Mapping[str, str], ours: str) -> None:
    """Several answers in one text, and the marks that models write around one."""
    column, given = theirs[ours], row.cells.get(theirs[ours])
    if not isinstance(given, str) or not given.strip():
        return
    texts: Any = unicodedata.normalize("NFKC", given).strip() if len(given.strip()) == 1 else given
    if isinstance(_json_list(given), list):
        return
    if given.strip().startswith(("[", "{")) and isinstance(value := _literal(given.strip()), list | dict):
        texts = next(iter(value.values()), None) if isinstance(value, dict) else value
    elif match := re.fullmatch(r"(?:<think>.*</think>)?\s?(?:<answer>)?(.*?)(?:</answer>)?", given, re.DOTALL):
        texts = match[1].strip() if match[1] != given else texts
    if isinstance(texts, str) and (" / " in texts or ours == "also"):
        texts = [part.strip() for part in re.split(r" / |;" if ours == "also" else " / ", texts) if part.strip()]
    listed = texts if isinstance(texts, list) and all(isinstance(one, str) for one in texts) else None
    if ours == "also" and "answer" in theirs and listed:
        first = row.cells.get(theirs["answer"])
        row.cells[theirs["answer"]] = [*(first if isinstance(first, list) else [first]), *listed]
        found.note("further answers", row.where, column, given, list[Json](listed))
    elif ours == "answer" and texts != given and (listed or isinstance(texts, str)):
        row.cells[column] = texts
        found.note("an answer out of the text around it", row.where, column, given, texts)


def _are_minutes(found: GuessedTable, theirs: Mapping[str, str]) -> bool:
    """True if a spreadsheet took all times, typed as `0:05`, for hours and minutes."""
    columns = [theirs[ours] for ours in ("asked_at_s", "start_s", "end_s") if ours in theirs]
    cells = [str(row.cells.get(name) or "") for row in found.rows for name in columns]
    times = [cell for cell in cells if re.fullmatch(r"\d{1,2}:\d{2}:\d{2}", cell)]
    # Nobody shows a film of hours in a table of moments; a few cells with seconds were typed in full.
    short = sum(cell.endswith(":00") for cell in times)
    return found.path.suffix.lower() in SPREADSHEETS and 2 * short > len(times)


def _mend_time(found: GuessedTable, row: TableRow, column: str, in_minutes: bool) -> None:
    given = row.cells.get(column)
    if not isinstance(given, str) or not given.strip():
        return
    text = given.strip()
    if in_minutes and re.fullmatch(r"\d{1,2}:\d{2}:00", text):
        seconds, why = parse_seconds(text[:-3]), "hours and minutes of a spreadsheet as minutes and seconds"
    else:
        seconds, why = parse_seconds(text), "a time as seconds"
    try:
        float(text)
    except ValueError:
        if seconds is not None:
            row.cells[column] = f"{seconds:g}" if is_text_table(row.path) else seconds
            found.note(why, row.where, column, given, seconds)


_MARKED: Final = re.compile(r"(?:^|(?<=\s)|(?<=[;,|>]))[(\[]?([A-Ja-j])[)\].:、](?=\s|[^\s.])")
_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


def _split_options(text: str) -> list[str] | None:
    """The options in one text: a list as code, letters from A on, lines, bars or semicolons; None for another text."""
    text = re.sub(r"<br ?/?>", "\n", unicodedata.normalize("NFKC", text) if "．" in text or "：" in text else text)
    if text.strip().startswith(("[", "{", "(")):
        # numpy writes no commas between texts, and Python would join them
        quoted = _QUOTED.findall(text) if re.search(r"['\"]\s+['\"]", text) and not re.search(r"['\"],", text) else []
        value = [_literal(one) or one[1:-1] for one in quoted] or _literal(text.strip())
        if isinstance(value, dict):
            value = list(value.values())
        if (
            isinstance(value, list | tuple)
            and len(value) > 1
            and all(isinstance(one, str | int | float) for one in value)
        ):
            return [str(one) for one in value]
    marks = list(_MARKED.finditer(text))
    if (
        len(marks) > 1
        and [one[1].upper() for one in marks] == list(LETTERS[: len(marks)])
        and not text[: marks[0].start()].strip()
    ):
        ends = [*(one.start() for one in marks[1:]), len(text)]
        return [text[one.start() : end].strip(" \n;,|") for one, end in zip(marks, ends, strict=True)]
    for delimiter in ("\n", "|", ";", " / "):
        parts = [part.strip() for part in text.split(delimiter) if part.strip()]
        if len(parts) > 1:
            return parts
    return None


def _mend_options(found: GuessedTable, row: TableRow, column: str) -> None:
    given = row.cells.get(column)
    if isinstance(given, str) and given.strip() and not isinstance(_json_list(given), list):
        options = _split_options(given)
    elif isinstance(given, list) and given and all(isinstance(one, dict) for one in given):
        options = [
            next((str(one[key]) for key in ("choice", "text", "option", "value", "label") if key in one), "")
            for one in given
            if isinstance(one, dict)
        ]
    else:
        return
    row.cells[column] = None if options is None else list[Json](options)
    why = "options out of one text" if options else "what is no list of options is left out"
    found.note(why, row.where, column, given, row.cells[column])


def _option_list(cell: Json) -> bool:
    return isinstance(cell, list | dict) or (isinstance(cell, str) and _split_options(cell) is not None)


def _json_list(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _options_of_question(found: GuessedTable, row: TableRow, theirs: Mapping[str, str]) -> None:
    """Take options out of the text of a question whose answer is the letter of one."""
    question, answer = row.cells.get(theirs["question"]), row.cells.get(theirs.get("answer", theirs.get("correct", "")))
    letter = re.match(r"\s?[(\[]?([A-Ja-j])(?:[)\].:]|\s?$)", str(answer or ""))
    if not isinstance(question, str) or letter is None:
        return
    marks = list(_MARKED.finditer(question))
    if (
        len(marks) < 2
        or [one[1].upper() for one in marks] != list(LETTERS[: len(marks)])
        or letter[1].upper() not in LETTERS[: len(marks)]
    ):
        return
    head, tail = question[: marks[0].start()].rstrip(), question[marks[-1].start() :]
    last, _, after = tail.partition("\n")
    body = question[marks[0].start() : marks[-1].start()] + last
    options = _split_options(body)
    if options is None or not head:
        return
    head = re.sub(r"\s(?:options|choices|choose)\s?:?$", "", head, flags=re.IGNORECASE)
    row.cells[theirs["question"]] = head
    row.cells["options"] = list[Json](options)
    if "answer" in theirs:
        row.cells[theirs["answer"]] = letter[1].upper()
    found.note("options out of the question", row.where, theirs["question"], question, [head, *options])
    if after.strip():
        found.note("an instruction behind the options is left out", row.where, theirs["question"], after.strip(), "")


def _option_texts(row: TableRow, theirs: Mapping[str, str]) -> list[str]:
    given = row.cells.get(theirs.get("options", "options"))
    if isinstance(given, str):
        given = _split_options(given)
    columns = [theirs[ours] for ours in sorted(theirs) if ours.startswith(OPTION)]
    listed = given if isinstance(given, list) else [row.cells.get(name) for name in columns]
    return [str(one) for one in listed if str("" if one is None else one).strip()]


def _index(row: TableRow, theirs: Mapping[str, str]) -> tuple[str, int, list[str]] | None:
    """The column with the number of the right option, the number and the options; None if it is no number."""
    options = _option_texts(row, theirs)
    for ours in ("correct", "answer"):
        column = theirs.get(ours)
        text = str(row.cells.get(column) if column and row.cells.get(column) is not None else "").strip()
        if column and options and re.fullmatch(r"\d{1,2}(?:\.0)?", text):
            marked = without_letters(options)
            is_number = column != ours and ours == "correct"
            if is_number or (text not in options and text not in marked[0] and text not in marked[1]):
                return column, int(float(text)), options
    return None


def _first_index(found: GuessedTable, theirs: Mapping[str, str]) -> int | None:
    """0 or 1, as the table counts its options; None if its numbers do not say."""
    numbers = [(one[1], len(one[2])) for row in found.rows if (one := _index(row, theirs)) is not None]
    if any(number == 0 for number, _ in numbers):
        return 0
    if any(number == count for number, count in numbers):
        return 1
    named = re.search(r"[01]$", _plain(theirs.get(f"{OPTION}a", "")))  # the first of `option 0`, `option 1`, …
    return int(named[0]) if named else None


def _mend_index(found: GuessedTable, row: TableRow, theirs: Mapping[str, str], base: int | None) -> None:
    one = _index(row, theirs) if base is not None else None
    if one is not None and base is not None and 0 <= one[1] - base < len(one[2]):
        column, number, options = one
        row.cells[column] = options[number - base]
        why = f"the number of an option, counted from {base}"
        found.note(why, row.where, column, number, options[number - base])
