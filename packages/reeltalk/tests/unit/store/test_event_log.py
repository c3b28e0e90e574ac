"""Logs of events: what contradicts itself is refused with its line, and a log that was broken off is gone on with."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reeltalk.errors import InputError
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import VideoId
from reeltalk.schema.stream import Moment, ProactiveTask, StreamEvent, UserRequest
from reeltalk.store.event_log import EventLog, read_event_log

TASK = ProactiveTask(
    id="t1",
    video_id=VideoId("v1"),
    requests=(
        UserRequest(
            text="Tell me when he jumps.",
            moments=(Moment(interval=Interval(start_s=5, end_s=8), references=("He jumps.",)),),
        ),
    ),
    until_s=20,
)


def line(kind: str, at_s: float, **more: Any) -> dict[str, Any]:
    return {"model": "m", "session": "t1", "video_id": "v1", "kind": kind, "at_s": at_s} | more


def sound() -> list[dict[str, Any]]:
    return [
        line("started", 0),
        line("frame", 5, readiness=0.9),
        line("replied", 5, text="He jumps."),
        line("ended", 20),
    ]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_reply_directly_after_a_question_is_its_answer(tmp_path: Path) -> None:
    rows = [line("started", 0), line("asked", 3, text="Who?"), line("replied", 3, text="Tom.")]
    rows += [line("asked", 4, text="Where?"), line("frame", 4), line("replied", 5, text="He jumps.")]
    rows += [line("ended", 20)]
    [session] = read_event_log(written(tmp_path / "log.jsonl", rows), {"t1": TASK})
    answers = [(asked.text, answer and answer.text) for asked, answer in session.answers]
    assert answers == [("Who?", "Tom."), ("Where?", None)]
    assert [reply.text for reply in session.replies] == ["He jumps."]


def test_a_sound_log_is_read(tmp_path: Path) -> None:
    rows = sound() + [row | {"model": "other"} for row in sound()]
    mixed = [row for pair in zip(rows[:4], rows[4:], strict=True) for row in pair]
    one, other = read_event_log(written(tmp_path / "log.jsonl", mixed), {"t1": TASK})
    assert (one.model, other.model) == ("m", "other")
    assert [event.text for event in one.replies] == ["He jumps."]
    assert one.last == "ended"


BROKEN: list[tuple[Callable[[list[dict[str, Any]]], object], str]] = [
    (lambda rows: rows.insert(2, line("frame", 4)), r"goes back in time, after 5 s of the same session.*:3"),
    (lambda rows: rows.append(line("replied", 20, text="Hm.")), r"had ended already, and this comes after it.*:5"),
    (lambda rows: rows.__setitem__(1, line("frame", 5, session="t9")), r"no task of this session, got 't9'.*:2"),
    (
        lambda rows: rows.__setitem__(0, line("started", 0, video_id="v9")),
        r"the task is about video 'v1', got 'v9'.*:1",
    ),
    (lambda rows: rows.__setitem__(1, line("frame", 5, video_id="v9")), r"began with video 'v1', got 'v9'.*:2"),
    (lambda rows: rows.__setitem__(2, line("replied", 5, text=" ")), r"a reply without text.*:3"),
    (lambda rows: rows.__setitem__(3, line("replied", 20.2, text="Hm.")), r"after the end of the stream at 20 s.*:4"),
    (lambda rows: rows.__setitem__(1, line("looked", 5)), r"log.jsonl:2 at .kind"),
    (lambda rows: rows.__setitem__(1, line("frame", -1)), r"log.jsonl:2 at .at_s"),
    (lambda rows: rows.__setitem__(1, line("frame", 5, readiness=2)), r"log.jsonl:2 at .readiness"),
    (lambda rows: rows.__setitem__(1, line("frame", 5, mood="good")), r"log.jsonl:2 at .mood"),
    (lambda rows: rows.clear(), "no events"),
]


@pytest.mark.parametrize(("change", "problem"), BROKEN)
def test_what_contradicts_itself_is_refused_with_its_line(
    change: Callable[[list[dict[str, Any]]], object], problem: str, tmp_path: Path
) -> None:
    rows = sound()
    change(rows)
    with pytest.raises(InputError, match=problem):
        read_event_log(written(tmp_path / "log.jsonl", rows), {"t1": TASK})


def test_no_log_and_no_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_event_log(tmp_path / "none.jsonl")
    (tmp_path / "log.jsonl").write_bytes(b'{"model": \xff}\n')
    with pytest.raises(InputError, match=r"log.jsonl:1"):
        read_event_log(tmp_path / "log.jsonl")


def events(session: str, *kinds: str) -> list[StreamEvent]:
    return [
        StreamEvent.model_validate(line(kind, n, session=session, text="a" if kind == "replied" else ""))
        for n, kind in enumerate(kinds)
    ]


def test_a_log_that_was_broken_off_keeps_its_whole_sessions(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with EventLog(path) as log:
        assert log.whole == frozenset()
        for event in events("t1", "started", "replied", "ended") + events("t2", "started", "failed"):
            log.add(event)
        for event in events("t3", "started", "frame"):
            log.add(event)
    whole = path.read_bytes()
    # A process that is killed while it writes leaves part of a line.
    path.write_bytes(whole + b'{"model": "m", "sess')
    with EventLog(path) as log:
        assert log.whole == {("m", "t1")}
    assert [session.session for session in read_event_log(path)] == ["t1"]
    assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:3])


def test_a_file_that_is_no_log_is_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"something else\nand more\n")
    with pytest.raises(InputError, match=r"log.jsonl:1"):
        EventLog(path)
    assert path.read_bytes() == b"something else\nand more\n"
