"""Read the text of a file beside a video. Any tool, in any encoding, may have written it."""

import codecs
import json
import re
from pathlib import Path
from typing import Final, NamedTuple

from reeltalk.errors import InputError
from reeltalk.schema.record import Json
from reeltalk.store.foreign import open_file

LARGEST_BYTES: Final = 32 << 20
"""Largest file that is read; an hour of Whisper's JSON with the times of words has about 5 MiB."""
REPLACEMENT_CHARACTER: Final = "\ufffd"
"""Stands for bytes that are no characters."""
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by the first bytes of a file; UTF-32 before UTF-16, whose mark it begins with."""
_ALPHABETS: Final = (
    "éèêëïîâàçñöüäåóæœ",
    *("àâæçéèêëîïôœùûüÿ", "äöüßéà", "áéíñóúü", "àáâãçéêíóôõúü", "àèéìíîòóùú", "åäöæøéèü", "áéèëêïíóöúü", "àçéèíïòóúü"),
)
"""Letters beyond ASCII of English, with words that it borrows, and of French, German, Spanish, Portuguese, Italian, the
Nordic languages, Dutch and Catalan."""
_WESTERN_MARKS: Final = frozenset("\xa0’‘“”„–—…«»°€£©®™¡¿·•♪")
_NOT_WESTERN: Final = re.compile(r"[^\W\d_][„“”][^\W\d_]|[^\x00-\x7f\W]{3}")
"""A quotation mark inside a word, as DOS letters look, and three letters beyond ASCII in a row."""


class SideText(NamedTuple):
    """The text of a file."""

    text: str
    converted: bool
    """True if it is no Unicode, and was read as Windows-1252."""
    fault: InputError | None
    """Why some of its bytes are no characters; they are `REPLACEMENT_CHARACTER` in the text."""


def read_side_text(path: Path, name: str | None = None, *, largest_bytes: int = LARGEST_BYTES) -> SideText:
    """The text of a file in UTF-8, UTF-16, UTF-32 or, where its letters are those of one language, Windows-1252.

    Args:
        path: The file.
        name: Its name in errors; the path by default.
        largest_bytes: The largest file that is read.

    Raises:
        InputError: It cannot be read, is too long, or is not in the encoding that its first bytes say.
    """
    shown = name or str(path)
    try:
        with open_file(path) as stream:
            content = stream.read(largest_bytes + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=shown) from None
    if len(content) > largest_bytes:
        raise InputError(f"longer than {largest_bytes >> 20} MiB, too long for a file beside a video", file=shown)
    encoding = next((encoding for mark, encoding in _MARKS.items() if content.startswith(mark)), None)
    sample = content[:4096]
    if encoding is None and sample.count(0) * 3 > len(sample):
        encoding = "utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be"
    try:
        text = content.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        problem, line = f"not UTF-8: byte 0x{content[error.start]:02x}", content.count(b"\n", 0, error.start) + 1
        fault = InputError(problem, file=shown, line=line, hint="convert the file to UTF-8")
        if encoding not in (None, "utf-8-sig"):
            problem = f"not {encoding.upper()}, as its first bytes say"
            raise InputError(problem, file=shown, hint="convert it to UTF-8") from None
        western = content.decode("cp1252", "replace")
        if _is_western(western):
            return SideText(western, True, None)
        return SideText(content.decode("utf-8", "replace").removeprefix("\ufeff"), False, fault)
    try:
        # Text that was converted to UTF-8 twice.
        twice = text.encode("cp1252").decode()
    except UnicodeError:
        return SideText(text, False, None)
    return SideText(twice, twice != text, None)


def _is_western(text: str) -> bool:
    """True if a text in Windows-1252 holds only the letters of one language, fewer than of ASCII."""
    beyond = {letter for letter in text.lower() if not letter.isascii()} - _WESTERN_MARKS
    letters = sum(letter.isalpha() for letter in text)
    return (
        any(beyond <= set(alphabet) for alphabet in _ALPHABETS)
        and sum(letter in beyond for letter in text.lower()) * 2 < letters
        and _NOT_WESTERN.search(text) is None
    )


def parse_side_json(text: str, name: str) -> Json:
    """The value of a JSON text. NaN and infinite numbers are None; keys that appear twice are not looked for.

    Raises:
        InputError: It is no JSON; names the line.
    """
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg[0].lower()}{error.msg[1:]}, column {error.colno}"
        raise InputError(problem, file=name, line=error.lineno, hint="it may be cut off; get it again") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"not JSON that can be read: {error}", file=name) from None
