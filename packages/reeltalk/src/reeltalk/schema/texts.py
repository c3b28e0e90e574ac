"""Characters that a text, a name and a path may hold, and names that look alike.

Texts keep what people write: tabs and line ends, the joiners of Persian and of emoji, the marks of Arabic and Hebrew.
Names are stricter: an invisible character would make two names look the same.
"""

import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

LONGEST_PART_BYTES: Final = 255
"""Longest part of a path that file systems accept."""
LONGEST_PATH_BYTES: Final = 1024
DEEPEST_PATH: Final = 32
"""Folders above a file."""

_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NOT_IN_NAME: Final = re.compile(
    # Control characters and line ends; characters that change the direction of writing; characters without width.
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u200b\u2060-\u206f\ufeff\ufff9-\ufffb]"
    # The joiners of Persian, of Indic scripts and of emoji stand between two characters, the first beyond ASCII.
    "|(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d]$"
)
_LATER_CONTROL: Final = re.compile("[\x80-\x9f]")
_LINE_END: Final = re.compile("[\n\r\x1c-\x1e\x85\u2029]")
_DIRECTION: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_OVERRIDES: Final = "\u202d\u202e"
_ISOLATES: Final = "\u2066\u2067\u2068"
_END_OF_EMBEDDING: Final = "\u202c"
_END_OF_ISOLATE: Final = "\u2069"
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point, and invisible characters that only order letters."""

# Control characters are invalid in HTML; bidirectional ones can reverse the text after them; a lone surrogate cannot
# be written as UTF-8.
_NOT_SHOWN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)

# The forms of such characters in JSON of json.dumps and pydantic. An escaped backslash can match by accident.
MAY_BE_REFUSED: Final = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\\\\(?:[bf]|u00[01])")
"""Matches every line of JSON, written with raw letters beyond ASCII, in which `text_problem` may find a problem."""


def refused_in_text(text: str) -> str | None:
    """The first character that no text may hold: a control character other than tab and line ends."""
    return _first(_CONTROL, text)


def without_controls(value: Any) -> Any:
    """A JSON value whose texts hold no control character other than tab and line ends."""
    if isinstance(value, str):
        return _CONTROL.sub("", value)
    if isinstance(value, list):
        return [without_controls(member) for member in value]
    if isinstance(value, dict):
        return {without_controls(key): without_controls(member) for key, member in value.items()}
    return value


def refused_in_name(name: str) -> str | None:
    """The first character that no name may hold: a control character, or one that cannot be seen."""
    return _first(_NOT_IN_NAME, name)


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[0] if found else None


def printable(text: str) -> str:
    """`text` with U+FFFD for each character that cannot be shown or that reverses the direction of writing."""
    # Pages call this for every word, and this quick check is enough for most.
    return text if text.isascii() and text.isprintable() else _NOT_SHOWN.sub("\ufffd", text)


def escape_html(text: str) -> str:
    """`text` escaped for HTML or SVG, with its invisible characters replaced."""
    return html.escape(printable(text))


def code_point(character: str) -> str:
    """A character for people, such as `U+202E`."""
    return f"U+{ord(character):04X}"


def refusal(text: str) -> str | None:
    """The reason why a text is refused, after the words *the text*; None if it is not.

    Refused are control characters other than tab and line ends, and characters that invisibly change the direction of
    writing. These are overrides (U+202D, U+202E), and an embedding or isolate that does not end in its paragraph
    (Unicode Standard Annex 9).
    """
    return control_refusal(text) or _unended_direction(text)


def control_refusal(text: str) -> str | None:
    """The reason why a text is refused for a control character, as `refusal` words it; None if it has none."""
    found = refused_in_text(text)
    return f"holds the control character {code_point(found)}" if found else None


def text_problem(text: str) -> tuple[bool, str] | None:
    """The problem of a text's characters: whether the text is refused, and a description; None if there is no problem.

    Control characters beyond ASCII, which come from a wrong encoding, are only reported.
    """
    if found := refusal(text):
        return True, found
    if found := _first(_LATER_CONTROL, text):
        return False, f"holds the control character {code_point(found)}, as a wrong encoding leaves it"
    return None


def _unended_direction(text: str) -> str | None:
    if not _DIRECTION.search(text):
        return None
    for paragraph in _LINE_END.split(text):
        opened: list[str] = []
        for match in _DIRECTION.finditer(paragraph):
            mark = match[0]
            if mark in _OVERRIDES:
                return f"holds {code_point(mark)}, which reverses the order in which letters are shown"
            if mark == _END_OF_ISOLATE:
                # It ends the embeddings within the isolate, too; one that ends nothing has no effect.
                last = max((place for place, begun in enumerate(opened) if begun in _ISOLATES), default=None)
                del opened[len(opened) if last is None else last :]
            elif mark != _END_OF_EMBEDDING:
                opened.append(mark)
            elif opened and opened[-1] not in _ISOLATES:
                opened.pop()
        if opened:
            return f"holds {code_point(opened[0])}, which turns the direction of writing and is not ended"
    return None


def texts_of(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, keys included, with its JSON path."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield f"{place}.{key}", key
            yield from texts_of(member, f"{place}.{key}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from texts_of(member, f"{place}[{index}]")


def path_problem(path: str) -> str | None:
    """The reason why an untrusted path cannot name a file below a folder; None if it can."""
    parts = path.split("/")
    if path.startswith("/"):
        return "an absolute path"
    if ".." in parts:
        return "a path that leads out of its folder"
    if "\\" in path or ":" in parts[0]:
        return "a path with a backslash or a drive"
    if "" in parts or "." in parts:
        return "a path with an empty part"
    return name_problem(path) or length_problem(path)


def name_problem(name: str) -> str | None:
    """The reason why a file's name is refused for its characters; None if it is not."""
    if any("\ud800" <= character <= "\udfff" for character in name):
        return "a name that is not UTF-8"
    if found := refused_in_name(name):
        return f"a name that holds {code_point(found)}"
    return None


def length_problem(path: str) -> str | None:
    """The reason why a path is too long; None if it is not."""
    parts = path.split("/")
    if any(len(part.encode(errors="replace")) > LONGEST_PART_BYTES for part in parts):
        return f"a name of more than {LONGEST_PART_BYTES} bytes"
    if len(path.encode(errors="replace")) > LONGEST_PATH_BYTES:
        return f"a path of more than {LONGEST_PATH_BYTES:,} bytes"
    return f"more than {DEEPEST_PATH} folders deep" if len(parts) > DEEPEST_PATH + 1 else None


def fold_name(name: str) -> str:
    """A name without differences that readers or file systems ignore: case, normal form, invisible characters."""
    seen = unicodedata.normalize("NFKD", _INVISIBLE.sub("", name)).casefold()
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", seen))


def equal_names(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of two or more different names that are equal after `fold_name`."""
    alike: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for name in names:
        alike[fold_name(name)][name] = None
    return [tuple(group) for group in alike.values() if len(group) > 1]
