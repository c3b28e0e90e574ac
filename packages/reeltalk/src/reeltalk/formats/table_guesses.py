"""Tables of questions as people have them, read as the table that they probably mean, with a line for each guess.

Encodings, delimiters, spreadsheets, names of columns, nested records, conversations, times and options are guessed.
`guess_table` changes nothing in the file; `qa.read_questions` reads the rows that it gives. A table that needs no guess
is read as `table_rows.read_table` reads it.
"""

import ast
import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from reeltalk.errors import InputError
from reeltalk.formats.multiple_choice import without_letters
from reeltalk.formats.parquet import FilesInside
from reeltalk.formats.table_forms import (
    SPREADSHEETS,
    GuessedTable,
    all_objects,
    is_filled,
    read_records,
    read_spreadsheet,
    read_text_table,
)
from reeltalk.formats.table_rows import TableRow, is_text_table, plain_column, read_table
from reeltalk.schema.record import Json
from reeltalk.schema.turn_sense import LETTERS
from reeltalk.store.foreign import VIDEO_SUFFIXES

NAMES: Final = Path(__file__).with_name("table_names.toml")
OPTION: Final = "option_"
_LOOKED_AT: Final = 50
"""Rows whose cells say which columns a table has."""


@cache
def _names() -> Mapping[str, Any]:
    return tomllib.loads(NAMES.read_text(encoding="utf-8"))


def guess_table(
    path: Path,
    *,
    columns: Mapping[str, str],
    known: Callable[[str], bool],
    films: Collection[str] = (),
    files: FilesInside | None = None,
    faults: list[InputError],
) -> GuessedTable:
    """Read a table as it is probably meant.

    Args:
        path: A table, a spreadsheet, or a JSON document.
        columns: The table's name of a column, by our name, as the user gave them.
        known: Says whether a name is one of our columns.
        films: Names of the video files that were found, without their endings and case.
        files: Receives the files that Parquet holds.
        faults: Receives what is wrong with rows that cannot be read even so.

    Raises:
        InputError: Nothing in it can be read as rows.
        MissingExtraError: A spreadsheet needs the `xlsx` extra, Parquet the `hub` extra.
    """
    suffix = path.suffix.lower()
    if suffix in SPREADSHEETS:
        found = read_spreadsheet(path)
    elif suffix in (".csv", ".tsv", ".txt"):
        found = read_text_table(path, faults)
    elif suffix in (".json", ".jsonl", ".ndjson"):
        found = read_records(path, faults)
    else:
        table = read_table(path, repeated=True, files=files, faults=faults)
        found = GuessedTable(path, "Parquet", table.header, table.rows)
    _expand(found)
    _drop_empty(found)
    _bind(found, columns, known, films)
    _mend_cells(found)
    return found


def _expand(found: GuessedTable) -> None:
    """A row for each question of a record that holds several, and for each exchange of a conversation."""
    nested, rows = _names()["nested"], []
    for row in found.rows:
        plain = {_plain(key): key for key in row.cells}
        inner = next(
            (
                (key, _turns(row.cells[key], found, row))
                for name in nested["conversation"]
                if (key := plain.get(name)) and all_objects(row.cells[key]) and _speaks(row.cells[key])
            ),
            None,
        ) or next(
            (
                (key, row.cells[key])
                for name in nested["questions"]
                if (key := plain.get(name)) and all_objects(row.cells[key])
            ),
            None,
        )
        if inner is None:
            rows.append(row)
            continue
        key, members = inner
        found.note(f"a row for each question in {key!r}", row.where, key, None, len(members))
        around = {name: value for name, value in row.cells.items() if name != key}
        for number, member in enumerate(members):
            place = f"{row.place}.{key}[{number}]"
            rows.append(TableRow(row.path, row.line, place, {**around, **member}))
    if len(rows) != len(found.rows) or any(one is not other for one, other in zip(rows, found.rows, strict=True)):
        found.rows = rows
    if not is_text_table(found.path) and found.path.suffix.lower() not in SPREADSHEETS:
        found.header = list(dict.fromkeys(key for row in found.rows for key in row.cells))


def _speaks(value: Json) -> bool:
    nested = _names()["nested"]
    return isinstance(value, list) and all(
        isinstance(one, dict) and any(k in one for k in nested["speaker"]) and any(k in one for k in nested["said"])
        for one in value
    )


def _turns(value: Json, found: GuessedTable, row: TableRow) -> list[dict[str, Json]]:
    """The exchanges of a conversation: what the user says, and the answer."""
    nested, asked, film = _names()["nested"], "", None
    turns: list[dict[str, Json]] = []
    for one in value if isinstance(value, list) else ():
        who = next(str(one[key]).strip().lower() for key in nested["speaker"] if key in one)
        said = next(one[key] for key in nested["said"] if key in one)
        if isinstance(said, list):
            parts = [part for part in said if isinstance(part, dict)]
            film = film or next((part["video"] for part in parts if isinstance(part.get("video"), str)), None)
            said = "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))
        text = re.sub(r"<(?:video|image|vid|img)>", "", str(said)).strip()
        if who in nested["user"]:
            asked = f"{asked}\n{text}".strip()
        elif who in nested["assistant"] and asked:
            turns.append({"dialogue": None, "turn": len(turns) + 1, "question": asked, "answer": text})
            asked = ""
        else:
            found.note("what nobody asked is left out of a conversation", row.where, who, text[:200], "")
    if asked:
        turns.append({"dialogue": None, "turn": len(turns) + 1, "question": asked, "answer": None})
    plain = {_plain(key) for key in row.cells}
    for turn in turns:
        name = next((row.cells[key] for key in ("id", "dialogue_id", "conversation_id") if row.cells.get(key)), None)
        turn["dialogue"] = name if isinstance(name, str | int) else row.where
        turn["id"] = None
        if film is not None and not plain & {"video", *_names()["columns"]["video"]}:
            turn["video"] = film
    return turns if len(turns) > 1 else [{**turn, "dialogue": None, "turn": None} for turn in turns]


def _drop_empty(found: GuessedTable) -> None:
    found.rows = [row for row in found.rows if is_filled(row.cells.values())]
    if not found.rows:
        raise InputError("the table has no rows", file=found.path, hint="write a question a row")


def _plain(name: str) -> str:
    """A name of a column in lower case, with `_` between words."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", name.strip())
    return re.sub(r"[\s./-]+", "_", plain_column(words)).strip("_")


def _bind(
    found: GuessedTable, columns: Mapping[str, str], known: Callable[[str], bool], films: Collection[str]
) -> None:
    """Find out which column has which meaning: by its own name, by a usual one, or by its cells."""
    meanings = {theirs: ours for ours, theirs in columns.items() if theirs in found.header}
    for theirs in found.header:
        ours = plain_column(theirs)
        if theirs not in meanings and ours not in meanings.values() and known(ours):
            meanings[theirs] = ours
    exact = set(meanings)
    _bind_options(found, meanings)
    plain = {theirs: _plain(theirs) for theirs in found.header}

    def is_film(text: str) -> bool:
        return Path(text).suffix.lower() in VIDEO_SUFFIXES or film_name(text) in films

    for ours, usual in _names()["columns"].items():
        free = [theirs for name in usual for theirs in found.header if plain[theirs] == name and theirs not in meanings]
        fitting = [theirs for theirs in free if _may_be(found, theirs, ours)]
        if ours == "video":  # of an identifier and a file, the one that names a file
            fitting.sort(key=lambda theirs: not any(is_film(str(row.cells.get(theirs))) for row in found.rows))
        if fitting and ours not in meanings.values():
            meanings[fitting[0]] = ours
    if "video" not in meanings.values():
        _bind_by_cells(found, meanings, "video", is_film)
    if "question" not in meanings.values():
        _bind_by_cells(found, meanings, "question", lambda text: text.rstrip().endswith(("?", "？")))
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
    path = PurePosixPath(text.strip().replace("\\", "/"))
    return unicodedata.normalize("NFC", path.stem if path.suffix.lower() in VIDEO_SUFFIXES else path.name).casefold()


def _may_be(found: GuessedTable, column: str, ours: str) -> bool:
    cells = [row.cells.get(column) for row in found.rows]
    if ours == "span":
        return any(_span(cell) is not None for cell in cells[:_LOOKED_AT])
    if ours == "id":
        given = [str(cell) for cell in cells if cell not in (None, "")]
        return len(set(given)) == len(given)
    return True


def _bind_options(found: GuessedTable, meanings: dict[str, str]) -> None:
    """Columns such as `a0`, `option 1`, `Choice A` or plain `A`, if at least two follow each other from the first."""
    pattern = re.compile(r"(option|choice|candidate|opt|answer|ans|antwort|a)?_?([0-9]|[a-j])")
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
    usual = {*_names()["columns"]["correct"], *_names()["columns"]["answer"], "answer", "correct"}
    return any(_plain(name) in usual or meanings.get(name) in ("answer", "correct") for name in found.header)


def _bind_by_cells(found: GuessedTable, meanings: dict[str, str], ours: str, fits: Callable[[str], bool]) -> None:
    looked = found.rows[:_LOOKED_AT]
    for theirs in found.header:
        texts = [str(row.cells[theirs]) for row in looked if isinstance(row.cells.get(theirs), str)]
        if theirs not in meanings and texts and sum(map(fits, texts)) > 0.8 * len(looked):
            meanings[theirs] = ours
            return


_CLOCK: Final = re.compile(r"(?:(\d{1,2})[:h])?(\d{1,3}):(\d{1,2}(?:[.,]\d{1,6})?)")
_SECONDS: Final = re.compile(r"(\d{1,6}(?:[.,]\d{1,6})?) ?(?:s|sec|secs|seconds?|sek|sekunden)?\.?", re.IGNORECASE)
_MINUTES: Final = re.compile(
    r"(\d{1,4}) ?(?:m|min|minutes?) ?(?:(\d{1,2}(?:[.,]\d{1,6})?) ?(?:s|sec|seconds?)?)?", re.IGNORECASE
)
_BETWEEN: Final = re.compile(r"\s?(?:-->|[-\u2013\u2014~]|to|bis)\s?", re.IGNORECASE)


def read_seconds(text: str) -> float | None:
    """Seconds from a time as people write it: `0:05`, `1:02:03.5`, `12,5`, `1 min 5 s`; None for another text."""
    plain = text.strip()
    if match := _CLOCK.fullmatch(plain):
        hours, minutes, seconds = (float((part or "0").replace(",", ".")) for part in match.groups())
        return hours * 3600 + minutes * 60 + seconds
    if match := _SECONDS.fullmatch(plain):
        return float(match[1].replace(",", "."))
    if match := _MINUTES.fullmatch(plain):
        return float(match[1]) * 60 + float((match[2] or "0").replace(",", "."))
    return None


def _span(value: Json) -> tuple[float, float] | None:
    """The start and end of a stretch: `0:05-0:09`, `[5, 9]`; None for another value."""
    if isinstance(value, str) and value.strip().startswith(("[", "(")):
        value = _literal(value)
    if isinstance(value, list | tuple) and len(value) == 1:
        return _span(value[0])
    parts = _BETWEEN.split(value.strip()) if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or len(parts) != 2:
        return None
    start, end = (read_seconds(str(part)) for part in parts)
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
    theirs = {ours: name for name, ours in found.meanings.items()}
    in_minutes = _are_minutes(found, theirs)
    base = _first_index(found, theirs)
    for row in found.rows:
        for ours in ("asked_at_s", "start_s", "end_s"):
            if ours in theirs:
                _mend_time(found, row, theirs[ours], in_minutes)
        if "span" in theirs and row.cells.get(theirs["span"]) is not None:
            given = row.cells[theirs["span"]]
            if (stretch := _span(given)) is not None:
                row.cells.update(start_s=stretch[0], end_s=stretch[1])
                found.note("a stretch as its start and end", row.where, theirs["span"], given, list(stretch))
        if "options" in theirs:
            _mend_options(found, row, theirs["options"])
        elif "question" in theirs and not any(ours.startswith(OPTION) for ours in theirs):
            _options_of_question(found, row, theirs)
        _mend_index(found, row, theirs, base)
    if "span" in theirs:
        found.meanings = {name: ours for name, ours in found.meanings.items() if ours != "span"}
        found.meanings |= {ours: ours for ours in ("start_s", "end_s") if any(ours in row.cells for row in found.rows)}
    if any("options" in row.cells for row in found.rows) and "options" not in theirs:
        found.meanings["options"] = "options"


def _are_minutes(found: GuessedTable, theirs: Mapping[str, str]) -> bool:
    """True if a spreadsheet took all times, typed as `0:05`, for hours and minutes."""
    columns = [theirs[ours] for ours in ("asked_at_s", "start_s", "end_s") if ours in theirs]
    cells = [str(row.cells.get(name) or "") for row in found.rows for name in columns]
    times = [cell for cell in cells if re.fullmatch(r"\d{1,2}:\d{2}:\d{2}", cell)]
    return found.path.suffix.lower() in SPREADSHEETS and bool(times) and all(cell.endswith(":00") for cell in times)


def _mend_time(found: GuessedTable, row: TableRow, column: str, in_minutes: bool) -> None:
    given = row.cells.get(column)
    if not isinstance(given, str) or not given.strip():
        return
    text = given.strip()
    if in_minutes and re.fullmatch(r"\d{1,2}:\d{2}:\d{2}", text):
        seconds, why = read_seconds(text[:-3]), "hours and minutes of a spreadsheet as minutes and seconds"
    else:
        seconds, why = read_seconds(text), "a time as seconds"
    try:
        float(text)
    except ValueError:
        if seconds is not None:
            row.cells[column] = f"{seconds:g}" if is_text_table(row.path) else seconds
            found.note(why, row.where, column, given, seconds)


_MARKED: Final = re.compile(r"(?:^|(?<=\s)|(?<=[;,|]))[(\[]?([A-J])[)\].:](?=\s|[^\s.])")


def _split_options(text: str) -> list[str] | None:
    """The options in one text: a list as code, letters from A on, lines, bars or semicolons; None for another text."""
    if text.strip().startswith(("[", "{", "(")):
        value = _literal(text.strip())
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
        and [one[1] for one in marks] == list(LETTERS[: len(marks)])
        and not text[: marks[0].start()].strip()
    ):
        ends = [*(one.start() for one in marks[1:]), len(text)]
        return [text[one.start() : end].strip(" \n;,|") for one, end in zip(marks, ends, strict=True)]
    for delimiter in ("\n", "|", ";"):
        parts = [part.strip() for part in text.split(delimiter) if part.strip()]
        if len(parts) > 1:
            return parts
    return None


def _mend_options(found: GuessedTable, row: TableRow, column: str) -> None:
    given = row.cells.get(column)
    if isinstance(given, str) and given.strip() and not isinstance(_json_list(given), list):
        options = _split_options(given)
    elif isinstance(given, list) and given and all(isinstance(one, dict) for one in given):
        options = [str(next(iter(list(one.values())[-1:]), "")) for one in given if isinstance(one, dict)]
    else:
        return
    if options is not None:
        row.cells[column] = list[Json](options)
        found.note("options out of one text", row.where, column, given, list[Json](options))


def _json_list(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _options_of_question(found: GuessedTable, row: TableRow, theirs: Mapping[str, str]) -> None:
    """Take options out of the text of a question whose answer is the letter of one."""
    question, answer = row.cells.get(theirs["question"]), row.cells.get(theirs.get("answer", theirs.get("correct", "")))
    letter = re.match(r"\s?[(\[]?([A-J])(?:[)\].:]|\s?$)", str(answer or ""))
    if not isinstance(question, str) or letter is None:
        return
    marks = list(_MARKED.finditer(question))
    if (
        len(marks) < 2
        or [one[1] for one in marks] != list(LETTERS[: len(marks)])
        or letter[1] not in LETTERS[: len(marks)]
    ):
        return
    head, tail = question[: marks[0].start()].rstrip(), question[marks[-1].start() :]
    last, _, after = tail.partition("\n")
    body = question[marks[0].start() : marks[-1].start()] + last
    options = _split_options(body)
    if options is None or not head:
        return
    head = re.sub(r"\n\s?(?:options|choices)\s?:?$", "", head, flags=re.IGNORECASE)
    row.cells[theirs["question"]] = head
    row.cells["options"] = list[Json](options)
    if "answer" in theirs:
        row.cells[theirs["answer"]] = letter[1]
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
            if text not in options and text not in marked[0] and text not in marked[1]:
                return column, int(float(text)), options
    return None


def _first_index(found: GuessedTable, theirs: Mapping[str, str]) -> int | None:
    """0 or 1, as the table counts its options; None if its numbers do not say."""
    numbers = [(one[1], len(one[2])) for row in found.rows if (one := _index(row, theirs)) is not None]
    if any(number == 0 for number, _ in numbers):
        return 0 if all(number < count for number, count in numbers) else None
    return 1 if any(number == count for number, count in numbers) else None


def _mend_index(found: GuessedTable, row: TableRow, theirs: Mapping[str, str], base: int | None) -> None:
    one = _index(row, theirs) if base is not None else None
    if one is not None and base is not None and 0 <= one[1] - base < len(one[2]):
        column, number, options = one
        row.cells[column] = options[number - base]
        why = f"the number of an option, counted from {base}"
        found.note(why, row.where, column, number, options[number - base])
