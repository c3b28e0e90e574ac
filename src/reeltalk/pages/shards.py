"""Data of a site as scripts. A page that was opened from disk may not read a file, but it may run a script beside it.

Each script holds a slice of a list's rows as JSON that is fit to stand in a script, and hands it to `shards.js`.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reeltalk.analysis.visible import visible
from reeltalk.pages.site import write_text
from reeltalk.schema.record import Json

FOLDER: Final = "data"
MOST_BYTES: Final = 1_000_000
"""About where a script ends and the next begins; no row is split."""

_UNFIT: Final = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})
"""JSON that holds none of these says the same, ends no script element, and opens no comment."""


def script_json(value: Json) -> str:
    """A value as JSON that can stand in a script, whatever strangers wrote into its strings.

    Args:
        value: What `json.dumps` takes. Its texts have gone through `visible`, or may show what is invisible as U+FFFD.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return visible(text).translate(_UNFIT)


def write_shards(folder: Path, name: str, rows: Iterable[Json], *, most_bytes: int = MOST_BYTES) -> list[int]:
    """Write a list as `data/NAME-0.js`, `data/NAME-1.js` and so on.

    Args:
        folder: The site's.
        name: Letters; what the page asks for.
        rows: JSON values.
        most_bytes: A script that would be longer begins a new one.

    Returns:
        For each script the number of its first row, from 0.
    """
    starts: list[int] = []
    held: list[str] = []
    size = 0

    def flush() -> None:
        slice_name, slice_rows = f"{name}-{len(starts) - 1}", ",\n".join(held)
        write_text(folder / FOLDER / f"{slice_name}.js", f'reeltalk.put("{slice_name}",[\n{slice_rows}\n]);\n')

    for number, row in enumerate(rows):
        text = script_json(row)
        length = len(text) if text.isascii() else len(text.encode())
        if not starts or size + length > most_bytes:
            if starts:
                flush()
            starts.append(number)
            held, size = [], 0
        held.append(text)
        size += length + 2
    if starts:
        flush()
    return starts
