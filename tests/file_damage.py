"""Ways in which a file of somebody else is damaged, for tests that bring such files to commands."""

import json
import random
import re
from collections.abc import Callable
from typing import Any


def truncated(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


def wrong_encoding(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + draw.choice([b"\xff\xfe", b"\xe9", b"\x80\x81", b"\x00"]) + content[place:]


def re_encoded(content: bytes, draw: random.Random) -> bytes:
    return content.decode().encode(draw.choice(["utf-16", "utf-16-le", "utf-32"]))


def noise(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + draw.randbytes(draw.randrange(1, 8)) + content[place + draw.randrange(4) :]


def huge_number(content: bytes, draw: random.Random) -> bytes:
    numbers = list(re.finditer(rb"\d+(\.\d+)?", content))
    if not numbers:
        return content + b"9" * 5000
    found = draw.choice(numbers)
    huge = draw.choice([b"1e999", b"-1e999", b"9" * 30, b"9" * 5000, b"-1", b"0", b"1e308", b"NaN", b"Infinity"])
    return content[: found.start()] + huge + content[found.end() :]


def doubled_key(content: bytes, draw: random.Random) -> bytes:
    keys = list(re.finditer(rb'"[^"\n]*"\s*:', content))
    if not keys:
        lines = content.splitlines(keepends=True)
        line = draw.randrange(len(lines))
        return b"".join([*lines[: line + 1], *lines[line:]])
    found = draw.choice(keys)
    return content[: found.start()] + found.group() + b' "twice", ' + content[found.start() :]


def changed_value(content: bytes, draw: random.Random) -> bytes:
    """A JSON value replaced by one of another type, or a key left out."""
    try:
        value = json.loads(content)
    except ValueError:
        return noise(content, draw)
    places: list[tuple[Any, Any]] = []
    open_values = [value]
    while open_values:
        current = open_values.pop()
        members = (
            current.items() if isinstance(current, dict) else enumerate(current) if isinstance(current, list) else ()
        )
        for key, member in members:
            places.append((current, key))
            open_values.append(member)
    if not places:
        return b"null"
    holder, key = draw.choice(places)
    if draw.random() < 0.3:
        del holder[key]
    else:
        others: list[Any] = [
            None,
            True,
            -1,
            10**30,
            1.5,
            "",
            "x\x00y",
            "\u202e",
            [],
            {},
            [None],
            {"a": {}},
            ["x"] * 3,
            "a/../../b",
        ]
        holder[key] = draw.choice(others)
    return json.dumps(value, ensure_ascii=False).encode()


def deep(content: bytes, draw: random.Random) -> bytes:
    place = content.find(b":") + 1
    levels = draw.choice([100, 5000, 200_000])
    return content[:place] + b"[" * levels + b"]" * levels + b"," + content[place:]


MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [
    truncated,
    wrong_encoding,
    re_encoded,
    noise,
    huge_number,
    doubled_key,
    changed_value,
    changed_value,
    changed_value,
    deep,
]
