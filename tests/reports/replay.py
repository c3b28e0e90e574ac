"""Replays a public report from its folder: makes the input, runs commands and calls, and compares what comes out.

`report.toml` states all of it; a key that is not known here is refused.
"""

import contextlib
import importlib
import io
import json
import shlex
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal

import cv2
import numpy as np
import pytest
from pixel_server import pictures_of
from pydantic import BaseModel, ConfigDict
from scripted_server import Answer, Body, Script, completion, serve, times_in, words

from corpus import films
from corpus.filming import Sound, Video, even, lasting, write
from corpus.pattern import read_number
from reeltalk.cli import run
from reports.looking import film_scenes

FOLDER: Final = Path(__file__).parent
ENVIRONMENT: Final = {"OPENAI_API_KEY": "none", "COLUMNS": "200", "NO_COLOR": "1"}
NONE: Final = "<none>"


class _Stated(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Film(_Stated):
    """A film whose pictures carry their numbers, from 0; either `rate` and `count`, or how long each is shown."""

    rate: str = "25"
    count: int = 0
    first: int = 0
    milliseconds: tuple[int, ...] = ()
    sound_s: float | None = None
    settings: dict[str, Any] = {}
    """Of `corpus.filming.Video`."""
    container: str | None = None
    options: dict[str, str] = {}
    damage: tuple[tuple[float, float], ...] = ()
    """Parts of the file that are overwritten with zeros, from and to, each as a share of its length."""


class Scenes(_Stated):
    """A film of scenes of different colours, by the numbers of their first pictures."""

    starts: tuple[int, ...]
    count: int
    rate: int = 25


class Reply(_Stated):
    """What a server answers to a request whose last message holds `when`, `times` times at most."""

    when: str = ""
    more_pictures_than: int | None = None
    times: int | None = None
    text: str | None = None
    message: dict[str, Any] | None = None
    finish_reason: str | None = "stop"
    body: Any = None
    events: tuple[str | float, ...] = ()
    """Of a stream, in place of a body: what stands behind `data:`, or a number of seconds to wait."""
    status: int = 200
    headers: dict[str, str] = {}


class Step(_Stated):
    """A command of `reeltalk`, as typed after it, in the folder of the input."""

    run: str
    code: int | tuple[int, ...] = 0
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


class Example(_Stated):
    given: tuple[Any, ...] = ()
    named: dict[str, Any] = {}
    gives: Any = None
    raises: str | None = None


class Call(_Stated):
    """A function by `module:name`; of what it returns, `then` names the attribute that is compared."""

    call: str
    then: str = ""
    examples: tuple[Example, ...]


class Find(_Stated):
    """What stands in a file that was written: JSON, or rows of JSON Lines or CSV of which `where` chooses."""

    file: str
    where: dict[str, Any] = {}
    at: str = ""
    gives: Any = None
    least: float | None = None
    most: float | None = None
    holds: str | None = None
    lacks: str | None = None
    rows: int | None = None


class Asked(_Stated):
    """What came to the server in requests whose last message holds `when`."""

    when: str = ""
    requests: int | None = None
    pictures: int | None = None
    numbers: tuple[int, ...] | None = None
    """Of the pictures in the last of those requests."""
    last_time_s: float | None = None
    fields: dict[str, Any] = {}
    holds: str | None = None
    """A text that a message of each holds."""
    lacks: str | None = None
    """A text that no message holds."""
    quiet_s: tuple[float, float] | None = None
    """Seconds after the first of those requests between which none comes."""


class Report(_Stated):
    """A report of somebody else's program, and what reeltalk does with the same input."""

    report: str
    kind: str
    area: Literal["answers", "judges", "servers", "frames", "video", "tables", "people"]
    right: str
    """What is right, written before reeltalk was run."""
    first: Literal["right", "wrong"]
    """What reeltalk did when the report was replayed first."""
    restated: str | None = None
    """What the right value asked for beyond the report, where it did at first."""
    miss: str | None = None
    """Why it is still wrong, where it is."""
    full: bool = False
    """Replayed under `--full` alone."""
    films: dict[str, Film] = {}
    scenes: dict[str, Scenes] = {}
    corpus: dict[str, str] = {}
    """Films of `corpus.films`, by their names there."""
    files: dict[str, str] = {}
    encodings: dict[str, str] = {}
    parquet: dict[str, tuple[dict[str, Any], ...]] = {}
    """Rows of tables; `@name` is the content of a file."""
    joined: dict[str, tuple[str, ...]] = {}
    """Files that are others, one behind the other."""
    replies: tuple[Reply, ...] = ()
    steps: tuple[Step, ...] = ()
    calls: tuple[Call, ...] = ()
    finds: tuple[Find, ...] = ()
    asked: tuple[Asked, ...] = ()


def read_report(folder: Path) -> Report:
    """What a folder states.

    Raises:
        ValueError: It is not of this form.
    """
    return Report.model_validate(tomllib.loads((folder / "report.toml").read_text(encoding="utf-8")))


def folders() -> Iterator[Path]:
    """The folders of all reports, by name."""
    return (path.parent for path in sorted(FOLDER.glob("*/report.toml")))


def replay(report: Report, folder: Path) -> None:
    """Run a report in an empty folder, and compare.

    Raises:
        AssertionError: Something else came out.
    """
    make_input(report, folder)
    if not report.replies:
        for step in report.steps:
            check_step(step, folder, "")
    else:
        came_s: list[float] = []
        with serve(script(report.replies, came_s)) as server:
            for step in report.steps:
                check_step(step, folder, server.base_url)
            for asked in report.asked:
                check_asked(asked, server.requests, came_s)
    for call in report.calls:
        check_call(call, folder)
    for find in report.finds:
        check_find(find, folder)


def make_input(report: Report, folder: Path) -> None:
    """Write the films and files of a report."""
    for name, film in report.films.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = dict(film.settings)
        for fraction in ("pixel", "clock", "shift"):
            if fraction in settings:
                settings[fraction] = Fraction(settings[fraction])
        if "matrix" in settings:
            settings["matrix"] = tuple(settings["matrix"])
        video: Video = (
            lasting(film.milliseconds, Fraction(1, 1000), **settings)
            if film.milliseconds
            else even(Fraction(film.rate), film.count, film.first, **settings)
        )
        sounds = [] if film.sound_s is None else [Sound(Fraction(film.sound_s))]
        write(path, video, *sounds, container=film.container, options=film.options)
        if film.damage:
            content = bytearray(path.read_bytes())
            for begin, end in film.damage:
                first, last = round(begin * len(content)), round(end * len(content))
                content[first:last] = bytes(last - first)
            path.write_bytes(content)
    for name, known in report.corpus.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        next(film for film in films.entries() if film.name == known).make(folder / name)
    for name, scenes in report.scenes.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        film_scenes(folder / name, scenes.starts, scenes.count, scenes.rate)
    for name, text in report.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.lstrip("\n").encode(report.encodings.get(name, "utf-8")))
    for name, rows in report.parquet.items():
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist([contents(row, folder) for row in rows]), folder / name)
    for name, parts in report.joined.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"".join((folder / part).read_bytes() for part in parts))


def contents(value: Any, folder: Path) -> Any:
    """A cell of Parquet, with the content of the file that it names."""
    if isinstance(value, dict):
        return {name: contents(part, folder) for name, part in value.items()}
    return (folder / value[1:]).read_bytes() if isinstance(value, str) and value.startswith("@") else stated(value)


def script(replies: Sequence[Reply], came_s: list[float]) -> Script:
    """The server's part: the first reply that fits. When requests came is noted."""
    given = dict.fromkeys(range(len(replies)), 0)

    def reply(body: Body) -> str | Body | Answer:
        came_s.append(time.monotonic())
        said = [words(message) for message in body["messages"]]
        # What is asked now goes before what was asked earlier, as where a reply is to be mended.
        for text in (said[-1], "\n".join(said)):
            for place, one in enumerate(replies):
                few = one.more_pictures_than is not None and count_pictures(body) <= one.more_pictures_than
                if one.when in text and not few and given[place] != one.times:
                    given[place] += 1
                    return answer(one, body)
        raise AssertionError(f"no reply is stated for {said[-1][-200:]!r}")

    return reply


def answer(one: Reply, body: Body) -> Body | Answer:
    """What goes over the wire."""
    if one.events:
        parts = [event if isinstance(event, int | float) else f"data: {event}\n\n" for event in one.events]
        return Answer(one.status, parts, {"Content-Type": "text/event-stream"} | one.headers)
    content = one.body
    if content is None:
        content = completion(body, one.text)
        content["choices"][0]["finish_reason"] = one.finish_reason
        if one.message is not None:
            content["choices"][0]["message"] = {"role": "assistant", **one.message}
            for name, value in one.message.items():
                content["choices"][0]["message"][name] = stated(value)
    return Answer(one.status, content, one.headers)


def count_pictures(body: Body) -> int:
    return sum(len(pictures_of(message)) for message in body["messages"])


def check_step(step: Step, folder: Path, url: str) -> None:
    """Run a command in this process, where the servers that decode films are shared by all reports."""
    printed, told = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(told),
    ):
        for variable, value in ENVIRONMENT.items():
            patch.setenv(variable, value)
        code = run(shlex.split(step.run.replace("{server}", url)))
    said = f"{printed.getvalue()}\n{told.getvalue()}"
    codes = (step.code,) if isinstance(step.code, int) else step.code
    assert code in codes, said
    plain = " ".join(said.split())
    for text in step.says:
        assert text in plain, said
    for text in (*step.never, "Traceback"):
        assert text not in plain, said


def check_call(call: Call, folder: Path) -> None:
    module, name = call.call.split(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    for example in call.examples:
        given = [argument(value, folder) for value in example.given]
        named = {key: argument(value, folder) for key, value in example.named.items()}
        if example.raises is not None:
            with pytest.raises(Exception, match=example.raises):
                function(*given, **named)
            continue
        found = function(*given, **named)
        for part in filter(None, call.then.split(".")):
            found = getattr(found, part)
        wanted = stated(example.gives)
        assert plain(found) == wanted, (example.given, plain(found), wanted)


def argument(value: Any, folder: Path) -> Any:
    """A stated value as a function takes it: lists as tuples, and `@name` as a file of the input."""
    if isinstance(value, str):
        return folder / value[1:] if value.startswith("@") else stated(value)
    if isinstance(value, list | tuple):
        return tuple(argument(part, folder) for part in value)
    return value


def stated(value: Any) -> Any:
    """A value of TOML, which has no null: `<none>` is None."""
    if isinstance(value, dict):
        return {name: stated(part) for name, part in value.items()}
    return None if value == NONE else value


def plain(value: Any) -> Any:
    """A value as TOML states it; decimal numbers to three places."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    elif is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float | Fraction):
        return round(float(value), 3)
    return [plain(part) for part in value]


def check_asked(asked: Asked, requests: Sequence[Body], came_s: Sequence[float]) -> None:
    chosen = [body for body in requests if asked.when in words(body["messages"][-1])]
    if asked.requests is not None:
        assert len(chosen) == asked.requests, [words(body["messages"][-1])[-80:] for body in requests]
    if asked.pictures is not None:
        assert {count_pictures(body) for body in chosen} == {asked.pictures}
    if asked.numbers is not None:
        assert numbers(chosen[-1]) == list(asked.numbers)
    if asked.last_time_s is not None:
        assert max(max(times_in(message), default=0) for message in chosen[-1]["messages"]) == asked.last_time_s
    for name, value in asked.fields.items():
        assert {json.dumps(body.get(name)) for body in chosen} == {json.dumps(value)}, name
    if asked.holds is not None:
        assert all(any(asked.holds in words(message) for message in body["messages"]) for body in chosen)
    if asked.quiet_s is not None:
        begin, end = asked.quiet_s
        assert not [at_s for at_s in came_s if begin < at_s - came_s[0] < end], came_s
    if asked.lacks is not None:
        assert all(asked.lacks not in words(message) for body in chosen for message in body["messages"])


def numbers(body: Body) -> list[int | None]:
    """The numbers of all pictures in a request, in their order."""
    return [
        read_number(cv2.cvtColor(cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB))
        for message in body["messages"]
        for jpeg in pictures_of(message)
    ]


def check_find(find: Find, folder: Path) -> None:
    [path] = folder.glob(find.file)
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".json", ".jsonl"):
        lines = text.split("\n") if path.suffix == ".jsonl" else [text]
        # NaN and Infinity are no JSON.
        found = [json.loads(line, parse_constant=_refused) for line in lines if line]
    else:
        found = [text]
    rows = [row for row in found if all(at(row, name) == value for name, value in find.where.items())]
    if find.rows is not None:
        assert len(rows) == find.rows, rows
    if find.holds is not None or find.lacks is not None:
        chosen = json.dumps(rows, ensure_ascii=False) if path.suffix != ".csv" else text
        assert find.holds is None or find.holds in chosen, chosen
        assert find.lacks is None or find.lacks not in chosen, chosen
    if find.gives is not None or find.least is not None or find.most is not None:
        assert rows, found
        values = [at(row, find.at) for row in rows]
        for value in values:
            if find.gives is not None:
                assert value == stated(find.gives), values
            assert find.least is None or value >= find.least, values
            assert find.most is None or value <= find.most, values


def _refused(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


def at(value: Any, path: str) -> Any:
    """A part of a JSON value: names and places, with dots between them; None where there is none."""
    for part in filter(None, path.split(".")):
        if isinstance(value, list):
            value = value[int(part)] if int(part) < len(value) else None
        elif isinstance(value, dict):
            value = value.get(part)
        else:
            return None
    return value
