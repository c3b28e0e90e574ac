"""A conversation while a video plays: what is asked when, what is said unasked, and the log of it."""

import io
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sample_videos import Numbered, number_of

from reeltalk.errors import BenchmarkError, InputError, ModelError, SettingError
from reeltalk.schema.stream import StreamEvent
from reeltalk_streaming.chat.conversation import Conversation, ConversationLog, Status, TalkSettings, format_bytes
from reeltalk_streaming.chat.lines import ChatLines, ScriptedLines, TypedLines
from reeltalk_streaming.chat.playback import Playback, VideoAddress, video_address
from reeltalk_streaming.inference.stream import Stream, StreamAnswer

WEBCAM = VideoAddress("camera:0", {"device": "testsrc=size=64x48:rate=30,realtime", "format": "lavfi"}, live=True)


class Watcher:
    """Follows streams: says which frame it saw last, and is ready as it is told."""

    name = "watcher"

    def __init__(self, readiness: dict[int, float] | None = None, slow_s: float = 0.0) -> None:
        self.readiness, self.slow_s = readiness, slow_s
        self.seen: list[int] = []
        self.told_to: list[str] = []
        self.asked = 0

    def stream(self) -> Stream:
        return self

    @property
    def memory_bytes(self) -> int:
        return 1000 * len(self.seen)

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        time.sleep(self.slow_s)
        self.seen.append(number_of(rgb) if rgb.shape[1] == 320 else -1)
        return None if self.readiness is None else self.readiness.get(len(self.seen), 0.0)

    def ask(self, question: str) -> StreamAnswer:
        self.asked += 1
        if question == "fail":
            raise ModelError("the server is gone")
        return StreamAnswer(f"{question} {self.seen[-1] if self.seen else 'nothing'}", 1, 1, 0.25, None)

    def instruct(self, instruction: str) -> None:
        self.told_to.append(instruction)

    def speak(self) -> StreamAnswer:
        return StreamAnswer(f"ready at {self.seen[-1]}", 1, 1, 0.25, None)

    def add_exchange(self, question: str, answer: str) -> None:
        raise AssertionError("nobody tells it")


class Page:
    """Notes what is shown."""

    def __init__(self) -> None:
        self.answers: list[tuple[float, str, str | None]] = []
        self.notes: list[str] = []
        self.statuses: list[Status] = []

    def show_answer(self, at_s: float, text: str, *, question: str | None) -> None:
        self.answers.append((at_s, text, question))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def status(self, status: Status) -> None:
        self.statuses.append(status)


def video() -> VideoAddress:
    return video_address(str(Numbered("talk.mp4", frames=144).make()[0]))


class KeptLog(ConversationLog):
    """Keeps the events, too."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[StreamEvent] = []

    def add(self, event: StreamEvent) -> None:
        self.events.append(event)


def talk(
    watcher: Watcher, lines: ChatLines, settings: TalkSettings | None = None, *, speed: float = 0.0, fps: float = 1.0
) -> tuple[Page, list[StreamEvent]]:
    page, log = Page(), KeptLog()
    with Playback(video(), fps=fps, speed=speed) as watching:
        Conversation(watcher, watching, lines, page, log, settings).run()
    return page, log.events


def test_a_script_asks_at_the_moments_of_the_video_and_always_the_same() -> None:
    script = "/tell Watch.\n@0 a\n@2.9 b\n@3 c\n@3.2 d\ne\n"
    runs = []
    for _ in range(2):
        watcher = Watcher()
        page, events = talk(watcher, ScriptedLines(io.StringIO(script)))
        assert watcher.seen == [0, 24, 48, 72, 96, 120]
        assert watcher.told_to == ["Watch."]
        runs.append((page.answers, [event.model_copy(update={"took_s": None}) for event in events]))
    assert runs[0] == runs[1]
    assert runs[0][0] == [
        (0.0, "a 0", "a"),
        (2.9, "b 48", "b"),
        (3.0, "c 72", "c"),
        (3.2, "d 72", "d"),
        (5.0, "e 120", "e"),
    ]


def test_the_log_tells_all_in_the_order_of_time() -> None:
    _, events = talk(Watcher({3: 0.25}), ScriptedLines(io.StringIO("/tell Watch.\n@2.5 what?\n@3 fail\n")))
    assert [(event.kind, event.at_s, event.text) for event in events if event.kind != "frame"] == [
        ("started", 0.0, events[0].video_id),
        ("instructed", 0.0, "Watch."),
        ("asked", 2.5, "what?"),
        ("replied", 2.5, "what? 48"),
        ("asked", 3.0, "fail"),
        ("failed", 3.0, "the server is gone"),
        ("ended", 5.0, ""),
    ]
    frames = [event for event in events if event.kind == "frame"]
    assert [(event.at_s, event.readiness) for event in frames] == [(n, 0.25 if n == 2 else 0.0) for n in range(6)]
    assert [event.memory_bytes for event in frames] == [1000 * (n + 1) for n in range(6)]
    times = [event.at_s for event in events]
    assert times == sorted(times)


def test_it_speaks_once_when_it_becomes_ready_and_again_after_it_was_not() -> None:
    watcher = Watcher({2: 0.7, 3: 0.9, 5: 0.5, 6: 0.49})
    told = "/tell Watch.\n"
    page, events = talk(watcher, ScriptedLines(io.StringIO(told)), TalkSettings(threshold=0.5))
    assert page.answers == [(1.0, "ready at 24", None), (4.0, "ready at 96", None)]
    assert [event.at_s for event in events if event.kind == "replied"] == [1.0, 4.0]
    page, _ = talk(Watcher({2: 0.7}), ScriptedLines(io.StringIO(told)), TalkSettings(threshold=0.8))
    assert page.answers == []
    page, _ = talk(Watcher({2: 0.7}), ScriptedLines(io.StringIO("")), TalkSettings(threshold=0.5))
    assert page.answers == [], "nobody told it to look out for anything"


def test_a_question_without_an_answer_is_counted_and_the_talk_goes_on() -> None:
    log, page = KeptLog(), Page()
    with Playback(video(), speed=0.0) as watching:
        lines = ScriptedLines(io.StringIO("@1 fail\n@2 and now?\n"))
        conversation = Conversation(Watcher(), watching, lines, page, log)
        conversation.run()
    assert conversation.failed == 1
    assert page.notes == ["No answer: the server is gone"]
    assert page.answers == [(2.0, "and now? 48", "and now?")]


def test_commands() -> None:
    watcher = Watcher()
    page, events = talk(watcher, ScriptedLines(io.StringIO("@1 /memory\n@1 /help\n@1 /play\n@2 /quit\n@3 never\n")))
    assert page.notes[0] == "watcher keeps 2.0 kB of 2 frames and of what was said."
    assert "/tell INSTRUCTION" in page.notes[1]
    assert page.notes[2] == "The video is playing."
    assert watcher.asked == 0
    assert (events[-1].kind, events[-1].at_s) == ("ended", 2.0)


def test_it_ends_where_it_is_told_to() -> None:
    watcher = Watcher()
    talk(watcher, ScriptedLines(io.StringIO("")), TalkSettings(until_s=2.5))
    assert watcher.seen == [0, 24, 48]
    page, _ = talk(Watcher(), ScriptedLines(io.StringIO("@4 later?\nall?\n")), TalkSettings(until_s=2.5))
    assert page.answers == [(2.0, "later? 48", "later?"), (2.0, "all? 48", "all?")]


class Forgetful(Watcher):
    """Keeps no instruction, and has nothing to say unasked."""

    def instruct(self, instruction: str) -> None:
        raise ModelError("too long")

    def speak(self) -> StreamAnswer:
        raise ModelError("nothing to say")


def test_what_was_refused_is_counted_and_ends_nothing() -> None:
    page, log = Page(), KeptLog()
    with Playback(video(), speed=0.0) as watching:
        script = io.StringIO("/tell Watch.\n@3 a\n@1 back\n")
        conversation = Conversation(Forgetful({2: 0.9}), watching, ScriptedLines(script), page, log)
        conversation.run()
    # The instruction and the line that goes back; whom nothing was told says nothing unasked.
    assert conversation.failed == 2
    assert page.answers == [(3.0, "a 72", "a")]
    assert page.notes[0] == "Not told: too long"
    assert "No answer: nothing to say" not in page.notes


def test_a_file_plays_in_its_own_time_and_stands_while_it_is_paused() -> None:
    lines, page = TypedLines(), Page()
    with Playback(video(), speed=4.0, fps=4.0) as watching:
        watcher = Watcher()
        stop = threading.Event()
        conversation = Conversation(watcher, watching, lines, page, ConversationLog(), TalkSettings(stay=True), stop)
        thread = threading.Thread(target=conversation.run)
        thread.start()
        wait_for(lambda: len(watcher.seen) >= 4)
        lines.put("/pause")
        wait_for(lambda: page.statuses[-1].doing == "paused")
        at_s, seen = watching.now_s, len(watcher.seen)
        lines.put("what is there?")
        wait_for(lambda: bool(page.answers))
        assert (watching.now_s, len(watcher.seen)) == (at_s, seen)
        lines.put("/play")
        wait_for(lambda: any("has ended" in note for note in page.notes))
        assert len(watcher.seen) == 24
        lines.put("and at the end?")
        wait_for(lambda: len(page.answers) == 2)
        lines.put("/quit")
        thread.join(20)
        assert not thread.is_alive()
    assert page.answers[1][1] == f"and at the end? {watcher.seen[-1]}"
    # Frames came no sooner than the video's clock allows.
    assert all(status.frames <= status.at_s * 4.0 + 1.001 for status in page.statuses)


def test_a_video_that_is_paused_at_its_first_frame_is_talked_about_and_goes_on() -> None:
    lines, page, watcher = TypedLines(), Page(), Watcher()
    lines.put("/pause")
    with Playback(video(), speed=0.0) as watching:
        thread = threading.Thread(target=Conversation(watcher, watching, lines, page, ConversationLog()).run)
        thread.start()
        wait_for(lambda: bool(page.statuses) and page.statuses[-1].doing == "paused")
        lines.put("what is there?")
        wait_for(lambda: bool(page.answers))
        assert watcher.seen == []
        lines.put("/play")
        thread.join(20)
        assert not thread.is_alive()
    assert len(watcher.seen) == 6


def test_what_is_live_does_not_wait_and_the_newest_frame_wins() -> None:
    lines, page, watcher = TypedLines(), Page(), Watcher(slow_s=0.35)
    with Playback(WEBCAM, fps=15.0) as watching:
        stop = threading.Event()
        thread = threading.Thread(
            target=Conversation(watcher, watching, lines, page, ConversationLog(), TalkSettings(), stop).run
        )
        thread.start()
        wait_for(lambda: len(watcher.seen) >= 5)
        lines.put("what is there?")
        wait_for(lambda: bool(page.answers))
        stop.set()
        thread.join(20)
        assert watching.dropped >= 4
    assert page.statuses[-1].dropped >= 4
    assert page.statuses[-1].doing == "ended"


def test_a_camera_that_cannot_be_opened_says_so_and_the_log_is_whole() -> None:
    address = VideoAddress("camera:7", {"device": "/dev/video-none", "format": "v4l2"}, live=True)
    log = KeptLog()
    with Playback(address) as watching, pytest.raises(InputError, match=r"camera cannot be opened.*plugged in"):
        Conversation(Watcher(), watching, TypedLines(), Page(), log).run()
    assert [event.kind for event in log.events] == ["started", "failed", "ended"]


def test_a_file_that_is_no_video_says_so(tmp_path: Path) -> None:
    (tmp_path / "no.mp4").write_bytes(b"\0" * 5000)
    address = video_address(str(tmp_path / "no.mp4"))
    with (
        Playback(address, speed=0.0) as watching,
        pytest.raises(InputError, match=r"no container that we read.*no.mp4"),
    ):
        Conversation(Watcher(), watching, ScriptedLines(io.StringIO("")), Page(), ConversationLog()).run()


def test_a_log_is_written_as_it_goes_and_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "talk.jsonl"
    event = StreamEvent.model_validate({"model": "m", "session": "s", "video_id": "v", "kind": "started", "at_s": 0})
    with ConversationLog(path) as log:
        log.add(event)
        assert path.read_text() == event.to_json() + "\n"
    with pytest.raises(BenchmarkError, match="exists; choose another file or pass --overwrite"):
        ConversationLog(path)
    replaced = ConversationLog(path, overwrite=True)
    assert path.read_text() == event.to_json() + "\n"
    with replaced:
        assert path.read_text() == ""


@pytest.mark.parametrize(
    ("typed", "shown", "argument", "live"),
    [
        ("camera:0", "camera:0", {"device": "/dev/video0", "format": "v4l2"}, True),
        ("camera:12", "camera:12", {"device": "/dev/video12", "format": "v4l2"}, True),
        ("rtsp://h/live?x=1", "rtsp://h/live", {"address": "rtsp://h/live?x=1"}, True),
        ("rtsps://u:secret@h:322/a", "rtsps://h:322/a", {"address": "rtsps://u:secret@h:322/a"}, True),
        ("RTSP://h/a", "rtsp://h/a", {"address": "RTSP://h/a"}, True),
    ],
)
def test_addresses(typed: str, shown: str, argument: dict[str, str], live: bool) -> None:
    assert video_address(typed) == VideoAddress(shown, argument, live)


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("http://h/v.mp4", r"http:// is not opened.*download it"),
        ("https://h/v.mp4", "https:// is not opened"),
        ("udp://h:1", "udp:// is not opened"),
        ("file:///etc/hostname", "file:// is not opened"),
        ("rtmp://h/live", "rtmp:// is not opened"),
        ("rtsp:///live", "names no host"),
        ("rtsp://h:port/live", "makes no sense"),
        ("rtsp://h/a b", "spaces or control characters"),
        ("camera:", "names no camera"),
        ("camera:front", "names no camera"),
    ],
)
def test_other_addresses_are_refused(typed: str, problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        video_address(typed)


@pytest.mark.parametrize("typed", ["concat:a.mp4|b.mp4", "pipe:0", "lavfi:testsrc", "subfile,,start,0,end,1,,:a.mp4"])
def test_what_looks_like_a_protocol_is_the_name_of_a_file(typed: str) -> None:
    with pytest.raises(InputError, match="no such file"):
        video_address(typed)


def test_a_folder_is_no_video(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder is no video"):
        video_address(str(tmp_path))


def test_sizes_are_told_to_people() -> None:
    assert [format_bytes(count) for count in (0, 1500, 99_999, 100_000, 3_210_000_000)] == [
        "0.0 kB", "1.5 kB", "100.0 kB", "0.1 MB", "3,210.0 MB",
    ]  # fmt: skip


def wait_for(condition: "object", within_s: float = 60.0) -> None:
    assert callable(condition)
    end_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end_s, "it did not come to it"
        time.sleep(0.02)
