"""Sort texts in little memory: parts that are sorted in memory wait in a temporary file, and are merged."""

import heapq
import struct
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import BinaryIO, Final

Pair = tuple[bytes, bytes]
PART_BYTES: Final = 4 << 20
"""Memory of the pairs that are sorted at a time."""
_PAIR_BYTES: Final = 130
"""What Python adds to the texts of a pair: headers of two texts, a tuple and its place in a list."""
_LENGTHS: Final = struct.Struct("<QQ")


def sort_pairs(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Pairs of a key and a text in the order of their keys.

    Args:
        pairs: In any order.
    """
    part: list[Pair] = []
    size = 0
    with tempfile.TemporaryFile() as file:
        starts = [0]
        for pair in pairs:
            part.append(pair)
            size += len(pair[0]) + len(pair[1]) + _PAIR_BYTES
            if size >= PART_BYTES:
                starts.append(_write(file, sorted(part)))
                part, size = [], 0
        part.sort()
        if len(starts) == 1:
            yield from part
            return
        waiting = [_read(file, start, end) for start, end in pairwise(starts)]
        yield from heapq.merge(*waiting, part)


def order_key(texts: Sequence[str]) -> bytes:
    """Bytes in the order of tuples of texts.

    Args:
        texts: One tuple.
    """
    return b"".join(text.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\xff") + b"\0\1" for text in texts)


def _write(file: BinaryIO, part: list[Pair]) -> int:
    file.seek(0, 2)
    for key, text in part:
        file.write(_LENGTHS.pack(len(key), len(text)) + key + text)
    return file.tell()


def _read(file: BinaryIO, start: int, end: int) -> Iterator[Pair]:
    while start < end:
        # All parts are read in turn from one file.
        file.seek(start)
        key, text = _LENGTHS.unpack(file.read(_LENGTHS.size))
        found = file.read(key + text)
        start += _LENGTHS.size + key + text
        yield found[:key], found[key:]
