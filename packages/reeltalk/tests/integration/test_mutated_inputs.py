"""Damaged files of every layout: each import ends well or in one paragraph that names the place, and leaves nothing.

50 mutations, 1,000 under `make test-full` and 3,000 for a release, spread over all sample folders and drawn from a
fixed seed. What is mutated is every file that a format's importer reads as text.
"""

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from places import TESTS
from reliability_page import Reliability

from reeltalk.cli import run
from reeltalk.formats import WRITTEN
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.validate import validate

SAMPLES = TESTS / "samples"
FORMAT_OF = {
    "vdact": "vdact",
    "svbench": "svbench",
    "mt-video-bench-v1": "mt-video-bench",
    "mt-video-bench-v2": "mt-video-bench",
    "dramaqa": "dramaqa",
    "avsd": "avsd",
    "dstc10": "avsd",
    "video-mme": "video-mme",
    "mvbench": "mvbench",
    "ovo-bench": "ovo-bench",
    "streamingbench": "streamingbench",
    "folder": "folder",
    "qa": "qa",
    "hub": "hub",
}
TEXT = {".json", ".jsonl", ".csv", ".txt", ".nt", ".md", ".yaml"}
FOLDERS = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())


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


def each(count: int) -> int:
    """Every folder's share."""
    return -(-count // len(FOLDERS))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", FOLDERS)
def test_damaged_files_are_refused_in_one_paragraph(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], reliability: Reliability
) -> None:
    draw = random.Random(f"reeltalk {name}")
    count = reliability.count(each(50), full=each(1000), release=each(3000))
    tally = reliability(
        "data", "damaged files of every layout, imported", "a traceback, no place named, or files left over"
    )
    source = tmp_path / "source"
    refused = 0
    for number in range(count):
        tally.tried += 1
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(SAMPLES / name, source)
        files = sorted(p for p in source.rglob("*") if p.is_file() and p.suffix in TEXT and p.stat().st_size)
        # One folder goes on with the kinds of damage where the one before it stopped.
        victim, mutate = draw.choice(files), MUTATIONS[(FOLDERS.index(name) * count + number) % len(MUTATIONS)]
        victim.write_bytes(mutate(victim.read_bytes(), draw))
        bench = tmp_path / f"bench{number}"
        told = f"{mutate.__name__} of {victim.relative_to(source)} ({number})"
        code = run(["import", FORMAT_OF[name], str(source), str(bench)])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err, told
        if code == 0 or (code == 1 and name in ("qa", "folder")):
            # What was accepted is whole, readable, and comes out again if the layout is written; damaged rows and rows
            # without a video are set aside.
            refused += code
            validate(Benchmark.open(bench))
            if FORMAT_OF[name] in WRITTEN:
                assert run(["export", FORMAT_OF[name], str(bench), str(tmp_path / f"out{number}")]) == 0, told
            capsys.readouterr()
        else:
            refused += 1
            assert code == 2, told
            assert captured.err.count("\n") == 1, told
            assert victim.name in captured.err or victim.parent.name in captured.err or str(source) in captured.err, (
                f"{told}: {captured.err}"
            )
            assert not bench.exists(), told
        shutil.rmtree(bench, ignore_errors=True)
        shutil.rmtree(tmp_path / f"out{number}", ignore_errors=True)
        assert not list(tmp_path.glob(".partial-*")), told
    # A suite in which nothing is refused would test nothing.
    assert refused >= count // 4
