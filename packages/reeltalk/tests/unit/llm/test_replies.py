"""What was answered once is never asked again."""

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reeltalk.errors import BenchmarkError, ModelError
from reeltalk.llm import CachedModel, Message, Model, Reply, ReplyStore, reply_key
from reeltalk_build.threads import map_threads

USER = (Message("user", "hello", (b"\xff\xd8one",)),)


class Echo:
    """Answers with the number of the call."""

    def __init__(self, name: str = "echo", **sampling: Any) -> None:
        self.name, self.sees_images, self.sampling, self.calls, self.closed = name, True, sampling, 0, False
        self._lock = threading.Lock()

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None) -> Reply:
        with self._lock:
            self.calls += 1
            calls = self.calls
        if messages[-1].text == "fail":
            raise ModelError("no")
        return Reply(f"{calls} 你好 \ud800", "echo-1", 1, None, cut_off=False)

    def close(self) -> None:
        self.closed = True


def test_a_reply_is_kept_at_once_and_comes_back_marked(tmp_path: Path) -> None:
    echo = Echo()
    model: Model = CachedModel(echo, store := ReplyStore(tmp_path / "new" / "replies.sqlite"))
    first = model.ask(USER)
    with ReplyStore(store.path) as other:
        kept = CachedModel(echo, other).ask(USER)
    assert not first.cached
    assert kept.cached
    assert (kept.text, kept.model, kept.prompt_tokens, kept.completion_tokens, kept.cut_off) == (
        *(first.text, first.model, first.prompt_tokens, first.completion_tokens, first.cut_off),
    )
    assert (echo.calls, len(store)) == (1, 1)
    model.close()
    assert echo.closed
    store.close()


def test_what_threads_ask_at_once_is_asked_once(tmp_path: Path) -> None:
    class Slow(Echo):
        def ask(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None) -> Reply:
            time.sleep(0.05)
            return super().ask(messages, schema=schema)

    slow, failing = Slow(), (Message("user", "fail"),)

    def ask(messages: Sequence[Message]) -> str:
        try:
            return CachedModel(slow, store).ask(messages).text
        except ModelError as error:
            return str(error)

    with ReplyStore(tmp_path / "replies.sqlite") as store:
        said = [text for _, text in map_threads(ask, [USER] * 4, 4)]
        assert (slow.calls, len(set(said))) == (1, 1)
        # After an error the next one asks.
        assert [text for _, text in map_threads(ask, [failing] * 3, 3)] == ["no"] * 3
        assert slow.calls == 4


def test_errors_are_not_kept(tmp_path: Path) -> None:
    echo = Echo()
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        for _ in range(2):
            with pytest.raises(ModelError):
                CachedModel(echo, store).ask([Message("user", "fail")])
        assert (echo.calls, len(store)) == (2, 0)


def test_whatever_a_reply_depends_on_is_in_its_key() -> None:
    sampling: Mapping[str, Any] = {"temperature": 0.0, "max_tokens": 10, "seed": 1}
    base: dict[str, Any] = {"model": "m", "messages": USER, "schema": None, "sampling": sampling, "sample": 0}
    others: list[dict[str, Any]] = [
        {"model": "n"},
        {"messages": [Message("system", "hello", (b"\xff\xd8one",))]},
        {"messages": [Message("user", "hello!", (b"\xff\xd8one",))]},
        {"messages": [Message("user", "hello", (b"\xff\xd8two",))]},
        {"messages": [Message("user", "hello")]},
        {"messages": [Message("user", "hello", (b"\xff\xd8one",), ("<0.0 seconds>",))]},
        {"messages": [*USER, *USER]},
        {"schema": {"type": "object"}},
        {"sampling": {**sampling, "seed": 2}},
        {"sampling": {**sampling, "temperature": 1.0}},
        {"sample": 1},
    ]
    keys = [reply_key(**(base | other)) for other in [{}, *others]]
    assert len(set(keys)) == len(keys)
    assert keys[0] == reply_key(**base | {"sampling": dict(sorted(sampling.items()))})


def test_keys_stay_the_same_from_release_to_release() -> None:
    key = reply_key("m", [Message("user", "你好")], schema={"b": 1, "a": [2]}, sampling={"seed": 17})
    assert key == "3c82632a6f4e37ca59a0da8110240bb0a425de48da022152b12899fed89c17d2"
    key = reply_key("m", [Message("user", "a", (b"x",))])
    assert key == "6cb49c648f32f2ba1fa674e5bc5ba3a35b4c63bc8888e4ef332bfa6f3368e5cb"


def test_threads_share_a_store(tmp_path: Path) -> None:
    echo = Echo()
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        model = CachedModel(echo, store)
        replies = dict(map_threads(lambda n: model.ask([Message("user", str(n % 50))]).text, range(400), 8))
        assert len(store) == 50
        # Whoever asked at the same moment got the reply that was kept.
        assert all(replies[n] == replies[n % 50] for n in range(400))


WRITER = """
import sys
from pathlib import Path
from reeltalk.llm import Reply, ReplyStore
with ReplyStore(Path(sys.argv[1])) as store:
    for n in range(200):
        store.put(f"{n}", Reply(f"{n}", "m", 1, 1, cut_off=False))
        store.put(f"{sys.argv[2]}-{n}", Reply(f"{n}", "m", 1, 1, cut_off=False))
"""


def test_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, str(n)]) for n in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    with ReplyStore(path) as store:
        assert len(store) == 800


OPENER = """
import sys
from pathlib import Path
from reeltalk.llm import ReplyStore
sys.stdin.read()
ReplyStore(Path(sys.argv[1])).close()
"""


def test_processes_begin_a_file_at_once(tmp_path: Path, full: bool) -> None:
    for attempt in range(5 if full else 1):
        path = tmp_path / f"{attempt}.sqlite"
        openers = [subprocess.Popen([sys.executable, "-c", OPENER, path], stdin=subprocess.PIPE) for _ in range(4)]
        time.sleep(0.3)
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.close()
        assert [opener.wait(60) for opener in openers] == [0] * 4


def test_what_is_kept_first_stays(tmp_path: Path) -> None:
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        one, two = (Reply(text, "m", 1, 1, cut_off=False) for text in ("one", "two"))
        assert store.put("key", one) is one
        assert store.put("key", two).text == "one"


def test_a_damaged_file_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    path.write_bytes(b"this is no database, and long enough to be looked at" * 100)
    with pytest.raises(BenchmarkError, match=r"replies\.sqlite: .*move it away"):
        ReplyStore(path)
    path.unlink()
    with ReplyStore(path) as store:
        for n in range(500):
            store.put(f"{n}", Reply("x" * 200, "m", 1, 1, cut_off=False))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with ReplyStore(path) as store, pytest.raises(BenchmarkError, match="move it away"):
        store.get("7")


@pytest.mark.parametrize("value", ["{", "[]", '{"text": 1}', '{"text": "a", "model": "m", "prompt_tokens": "1"}'])
def test_a_damaged_reply_is_refused_with_advice(tmp_path: Path, value: str) -> None:
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        connection = sqlite3.connect(store.path)
        connection.execute("INSERT INTO replies VALUES ('key', ?)", (value,))
        connection.commit()
        connection.close()
        with pytest.raises(BenchmarkError, match="something else than a reply under key; move"):
            store.get("key")


def test_a_locked_file_is_refused_with_advice(tmp_path: Path) -> None:
    with ReplyStore(tmp_path / "replies.sqlite", busy_s=0.05) as store:
        other = sqlite3.connect(store.path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BenchmarkError, match="another run writes to it"):
            store.put("key", Reply("a", "m", 1, 1, cut_off=False))
        other.close()
        store.put("key", Reply("a", "m", 1, 1, cut_off=False))


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "replies.sqlite")
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(BenchmarkError, match="version 9, this reeltalk reads version 1"):
        ReplyStore(tmp_path / "replies.sqlite")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchmarkError, match="choose another folder"):
        ReplyStore(tmp_path / "file" / "replies.sqlite")
