"""Read untrusted JSON strictly, with errors that name the place.

For all formats, this module refuses repeated keys, NaN, infinite numbers, lone surrogates, wrong encodings and
structures deeper than `DEEPEST`. A pydantic type describes a document; `parse` raises an `InputError` with the JSON
path of the first value that does not fit.
"""

import contextlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from reeltalk.errors import InputError
from reeltalk.schema.record import Json
from reeltalk.schema.texts import code_point, control_refusal, refusal, refused_in_text
from reeltalk.store.foreign import MOST_DOCUMENT_BYTES, open_file, path_inside

T = TypeVar("T")

LARGEST_TEXT_BYTES: Final = 1 << 30
"""Largest text or JSON file, since it is read into memory."""
REMOVE_HINT: Final = "remove it from the file, and run the command again"
NO_LIST: Final = "not a list of objects"
DEEPEST: Final = 64
"""Deepest nesting; beyond it, parsers and serialisers fail without naming a place."""


class SourceModel(BaseModel):
    """A record in a published layout: types are exact (`"1"` is not an int), unknown fields are kept in `unknown`."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False, populate_by_name=True)

    @property
    def unknown(self) -> dict[str, Json]:
        """The fields that the layout's specification does not name."""
        return dict(self.model_extra or {})


_ESCAPED_CONTROL: Final = re.compile(r"\\(?:[bf]|u00(?:[01]|7[fF])|u20(?:2[a-eA-E]|6[6-9]))")
"""Escapes in a JSON text that may be refused characters; raw control characters are not valid JSON."""


_UNDECODED: Final = re.compile("[\udc80-\udcff]")
"""Bytes that are not UTF-8, as `surrogateescape` stands for them."""


class _Refused(ValueError):
    pass


def read_text(path: Path, *, checked: bool = True) -> str:
    """The text of a UTF-8 file, without a byte order mark.

    Args:
        path: The file.
        checked: False to leave the check of its characters to `check_text`, for a file that is checked line by line.

    Raises:
        InputError: The file is absent, unreadable, too long, not UTF-8, or holds a control character; names the line.
    """
    try:
        with open_file(path) as stream:
            content = stream.read(min(os.fstat(stream.fileno()).st_size, LARGEST_TEXT_BYTES) + 1)
    except FileNotFoundError:
        raise InputError("no such file", file=path, hint="check the path") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    if len(content) > LARGEST_TEXT_BYTES:
        raise InputError(f"longer than {LARGEST_TEXT_BYTES:,} bytes", file=path, hint="split the file, or give a part")
    return decode_text(content, file=path) if checked else content.decode("utf-8-sig", "surrogateescape")


def decode_text(content: bytes, *, file: Path | str) -> str:
    """The text of UTF-8, without a byte order mark.

    Raises:
        InputError: It is not UTF-8, or holds a control character other than tab and line ends; names the line.
    """
    text = content.decode("utf-8-sig", "surrogateescape")
    check_text(text, file=file)
    return text


def check_text(text: str, *, file: Path | str, line: int = 1) -> None:
    """Check a text, or the part of it that begins at `line`, that was decoded with `surrogateescape`.

    Raises:
        InputError: As `decode_text`.
    """
    if undecoded := _UNDECODED.search(text):
        problem = f"not UTF-8: byte 0x{ord(undecoded[0]) - 0xDC00:02x}"
        line += text.count("\n", 0, undecoded.start())
        raise InputError(problem, file=file, line=line, hint="convert the file to UTF-8")
    if found := refused_in_text(text):
        problem, line = (
            f"holds the control character {code_point(found)}",
            line + text.count("\n", 0, text.index(found)),
        )
        raise InputError(problem, file=file, line=line, hint="convert it to UTF-8" if found == "\0" else REMOVE_HINT)


def read_json(path: Path) -> Json:
    """The value of a JSON file.

    Raises:
        InputError: It cannot be read or is not strict JSON; names the line or the JSON path.
    """
    return parse_json(read_text(path), file=path)


def read_document(folder: Path, name: str) -> Json:
    """The value of a JSON file of a benchmark or run.

    Raises:
        BenchmarkError: The file is reached through a link.
        InputError: As `read_json`, or it is larger than `MOST_DOCUMENT_BYTES`.
    """
    path = path_inside(folder, name)
    try:
        size_bytes = path.stat().st_size
    except OSError:
        size_bytes = 0  # reading it raises the error
    if size_bytes > MOST_DOCUMENT_BYTES:
        raise InputError(f"{size_bytes:,} bytes are too many for this file", file=path, hint="get it again")
    return parse_json(read_text(path), file=path, own=True)


def read_json_lines(path: Path, faults: list[InputError] | None = None) -> Iterator[tuple[int, Json]]:
    """The values of a JSON Lines file with their line numbers, from 1. Blank lines are skipped.

    Args:
        path: The file.
        faults: Receives what is wrong with lines that cannot be read. By default the first is raised.

    Raises:
        InputError: As `read_json`, with the line.
    """
    for number, line in enumerate(read_text(path, checked=faults is None).split("\n"), start=1):
        if line.strip():
            try:
                if faults is not None:
                    check_text(line, file=path, line=number)
                yield number, parse_json(line, file=path, line=number)
            except InputError as fault:
                if faults is None:
                    raise
                faults.append(fault)


def read_json_list(path: Path, faults: list[InputError] | None = None) -> list[tuple[str, Json]]:
    """The members of a JSON list with their places.

    Args:
        path: The file.
        faults: Receives what is wrong with members that hold NaN and the like. By default the first is raised.

    Raises:
        InputError: As `read_json`, or it is no list.
    """
    text = read_text(path)
    try:
        document = parse_json(text, file=path)
    except InputError as fault:
        try:
            # Python's own reader takes NaN, so that the members which hold it are found.
            document = json.loads(text, object_pairs_hook=_unique_keys) if faults is not None else None
        except (ValueError, RecursionError):
            document = None
        if faults is None or not isinstance(document, list):
            raise fault from None
        found = []
        for number, value in enumerate(document):
            try:
                found.append((f"$[{number}]", parse_json(json.dumps(value), file=path)))
            except InputError as of_member:
                faults.append(InputError(of_member.problem, file=path, place=f"$[{number}]", hint=of_member.hint))
        return found
    if not isinstance(document, list):
        raise InputError(NO_LIST, file=path, value=document, hint="write [{…}, {…}], a row each")
    return [(f"$[{number}]", value) for number, value in enumerate(document)]


def parse_json(text: str, *, file: Path | str, line: int | None = None, own: bool = False) -> Json:
    """The value of a JSON text in `file`, at `line` if it is a part of the file.

    Args:
        file: The file, for errors.
        line: The line of the text in it.
        own: True for a file that we wrote. It may hold a model's own words, so characters that turn the direction of
            writing stay in it.

    Raises:
        InputError: It is not strict JSON.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite_float
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg[0].lower()}{error.msg[1:]}, column {error.colno}",
            file=file,
            line=(line or 1) + error.lineno - 1,
            hint="the file may be cut off or damaged; get it again",
        ) from None
    except _Refused as error:
        found = text.find(str(error.args[1]))
        at_line = (line or 1) + text.count("\n", 0, max(found, 0))
        raise InputError(str(error.args[0]), file=file, line=at_line) from None
    except RecursionError:
        raise InputError("nested too deep to be a benchmark", file=file, line=line) from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise InputError(f"a number cannot be read: {error}", file=file, line=line) from None
    is_escaped = _ESCAPED_CONTROL.search(text) is not None
    _refuse_what_cannot_be_written(value, is_escaped, file=file, line=line, own=own)
    return value


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Refused(f"the key {key!r} appears twice in one object", f'"{key}"')
            seen.add(key)
    return members


def _refuse_constant(name: str) -> Json:
    raise _Refused(f"{name} is not JSON", name)


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _Refused(f"the number {digits[:40]} is too large", digits)
    return value


def _refuse_what_cannot_be_written(
    value: Json, is_escaped: bool, *, file: Path | str, line: int | None, own: bool
) -> None:
    open_values: list[tuple[Json, str, int]] = [(value, "$", 0)]
    while open_values:
        current, place, depth = open_values.pop()
        if depth > DEEPEST:
            raise InputError(f"nested deeper than {DEEPEST} levels", file=file, line=line, place=place[:120])
        if isinstance(current, dict):
            for key, member in current.items():
                if is_escaped or not key.isascii():
                    refuse_characters(key, place, file=file, line=line, own=own)
                if isinstance(member, str):
                    if is_escaped or not member.isascii():
                        refuse_characters(member, f"{place}.{key}", file=file, line=line, own=own)
                elif isinstance(member, dict | list):
                    open_values.append((member, f"{place}.{key}", depth + 1))
        elif isinstance(current, list):
            for index, member in enumerate(current):
                if isinstance(member, str):
                    if is_escaped or not member.isascii():
                        refuse_characters(member, f"{place}[{index}]", file=file, line=line, own=own)
                elif isinstance(member, dict | list):
                    open_values.append((member, f"{place}[{index}]", depth + 1))


def refuse_characters(text: str, place: str, *, file: Path | str, line: int | None = None, own: bool = False) -> None:
    """Check that a text holds only characters that a text of a benchmark may hold.

    Args:
        place: Its place in the file.
        file: The file, for errors.
        line: Its line in the file.
        own: As for `parse_json`.

    Raises:
        InputError: It holds a control character other than tab and line ends, a character that reverses the direction
            of writing or turns it without an end, or a lone surrogate.
    """
    if found := control_refusal(text) if own else refusal(text):
        raise InputError(found, file=file, line=line, place=place, hint=REMOVE_HINT)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(
            "a lone UTF-16 surrogate, which is half a character", file=file, line=line, place=place
        ) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def parse(kind: type[T], value: Json, *, file: Path | str, line: int | None = None, place: str = "$") -> T:
    """Check a JSON value against a type.

    Args:
        kind: A pydantic model or any type that pydantic validates, such as `list[Row]`.
        value: The value, as `read_json` gives it.
        file: Its file, for errors.
        line: Its line, if the file has one value a line.
        place: JSON path of `value` in the file.

    Raises:
        InputError: It does not fit; names file, JSON path, value and the number of other misfits.
    """
    try:
        return _adapter(kind).validate_python(value)  # type: ignore[no-any-return, arg-type]
    except ValidationError as error:
        raise input_error(error, file=file, line=line, place=place) from None
    except RecursionError:
        raise InputError("nested too deep to be a benchmark", file=file, line=line, place=place) from None


@contextlib.contextmanager
def record_errors(file: Path | str, place: str, *, line: int | None = None) -> Iterator[None]:
    """Turn a validation error of one of our records into an `InputError` with its place in the source.

    Raises:
        InputError: In place of pydantic's error.
    """
    try:
        yield
    except ValidationError as error:
        raise input_error(error, file=file, line=line, place=place) from None


def input_error(error: ValidationError, *, file: Path | str, line: int | None = None, place: str = "$") -> InputError:
    """The first misfit of a pydantic error as an `InputError`."""
    first: ErrorDetails = error.errors(include_url=False, include_context=False)[0]
    others = error.error_count() - 1
    missing = first["type"] == "missing"
    message = first["msg"].removeprefix("Value error, ")
    return InputError(
        "a required field is missing" if missing else message[0].lower() + message[1:],
        file=file,
        line=line,
        place=place + json_path(first["loc"]),
        value=None if missing else first["input"],
        hint=f"and {others} more like it" if others else None,
    )


def json_path(location: tuple[int | str, ...]) -> str:
    """A pydantic location as the tail of a JSON path: `(3, "turns", 0)` gives `[3].turns[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)


def write_json_rows(path: Path, rows: Iterable[Json]) -> None:
    """Write a list into a file, as `write_json` writes it, one row at a time."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        opened = False
        for row in rows:
            text = json.dumps(row, ensure_ascii=False, indent=2, allow_nan=False).replace("\n", "\n  ")
            file.write(f"{',' if opened else '['}\n  {text}")
            opened = True
        file.write("\n]\n" if opened else "[]\n")


def write_json(value: Json) -> str:
    """A JSON document for people: indented, unescaped, one final line feed."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
