"""Addresses, and files that arrive from them: whole or not at all, though servers fail, change or never end."""

import contextlib
import functools
import hashlib
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from reeltalk.errors import MissingExtraError, ReeltalkError, RemoteError, SettingError
from reeltalk.store import download, remote
from reeltalk.store.atomic import PARTIAL_PREFIX
from reeltalk.store.download import StoppedError, Traffic, download_file, run_in_threads
from reeltalk.store.remote import Remote, RemoteFile, check_remote_address, redact
from reeltalk.store.sources import fetch_sources

CONTENT = bytes(range(256)) * 40_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.parametrize(
    "address",
    [
        "s3://AKIA:very-secret@bucket/raw",
        "https://very-secret@example.org/film.mp4",
        "https://example.org/film.mp4?X-Amz-Signature=very-secret",
        "https://example.org/film.mp4?v=1&access_token=very-secret",
        "az://container/film.mp4?sig=very-secret",
    ],
)
def test_credentials_in_an_address_are_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(SettingError, match="holds credentials") as refused:
        check_remote_address(address)
    assert "very-secret" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "bucket/raw",
        "simplecache::s3://b/x",
        "zip://a.zip",
        "reference://x",
        "s3://b/../x",
        "s3://b/x\ny",
        "http://[::1",
    ],
)
def test_what_is_no_address_of_a_store_is_refused(address: str) -> None:
    with pytest.raises(SettingError):
        Remote(address)


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingExtraError, match=r"gs:// needs the package 'gcsfs'.*pip install gcsfs"):
        Remote("gs://bucket/raw")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'reeltalk\[s3\]'"):
        Remote("s3://bucket/raw")


def test_errors_show_no_query_and_no_password() -> None:
    said = "GET https://u:p@x.org/f.mp4?X-Amz-Credential=k&sig=s failed (s3://key:word@bucket/x)"
    assert redact(said) == "GET https://x.org/f.mp4 failed (s3://bucket/x)"


def test_what_is_not_there_is_told_from_what_cannot_be_reached(
    s3: Any, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Remote(f"s3://{bucket}/nothing").look() is None
    with pytest.raises(RemoteError, match="holds no files"):
        Remote(f"s3://{bucket}/nothing/").files()
    with pytest.raises(RemoteError, match="there is no such file, folder or bucket"):
        Remote("s3://no-such-bucket/x").files()
    monkeypatch.setattr(remote, "MOST_FILES", 1)
    for key in "ab":
        s3.put_object(Bucket=bucket, Key=f"raw/{key}", Body=b"x")
    with pytest.raises(RemoteError, match="holds more than 1 files"):
        Remote(f"s3://{bucket}/raw").files()


def test_a_listing_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch, s3: Any, bucket: str) -> None:
    import asyncio

    async def endless(*_: Any, **__: Any) -> None:
        while True:
            await asyncio.sleep(0.01)

    opened = Remote(f"s3://{bucket}/raw")
    monkeypatch.setattr(type(opened._files), "_find", endless)
    monkeypatch.setattr(remote, "LISTING_S", 0.1)
    with pytest.raises(RemoteError, match="listing"):
        opened.files()


class Odd(BaseHTTPRequestHandler):
    """A web server whose files each have a fault."""

    protocol_version = "HTTP/1.1"
    asked: list[tuple[str, str | None]]
    released: threading.Event

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Range")))
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        start, end = 0, len(CONTENT)
        ranged = self.headers.get("Range") if self.path != "/whole.mp4" else None
        if ranged:
            first, _, last = ranged.removeprefix("bytes=").partition("-")
            start, end = int(first), min(len(CONTENT), int(last) + 1) if last else len(CONTENT)
            if start >= len(CONTENT):
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        self.send_response(206 if ranged else 200)
        if self.path != "/whole.mp4":
            self.send_header("Accept-Ranges", "bytes")
        changes = self.path == "/changing.mp4" and any(path == self.path for path, _ in self.asked)
        self.send_header("ETag", '"2"' if changes else '"1"')
        if ranged:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(CONTENT)}")
        if self.path == "/silent.mp4" and body:
            self.end_headers()
            self.released.wait()
            return
        if self.path == "/endless.mp4":
            self.send_header("Connection", "close")
            self.end_headers()
            while body:
                try:
                    self.wfile.write(bytes(1 << 16))
                except OSError:
                    return
            return
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        if not body:
            return
        failures = sum(path == self.path for path, _ in self.asked)
        if self.path == "/breaking.mp4" and failures <= 2:
            self.wfile.write(CONTENT[start : (start + end) // 2])
            self.close_connection = True
            return
        with contextlib.suppress(OSError):
            self.wfile.write(CONTENT[start:end])

    def log_message(self, *_: Any) -> None:
        pass


class Quiet(SimpleHTTPRequestHandler):
    """A web server that lists its folders."""

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Odd.asked, Odd.released = [], threading.Event()
    monkeypatch.setattr(download, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(remote, "BLOCK_BYTES", 1 << 20)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    Odd.released.set()
    server.shutdown()
    server.server_close()


def brought(address: str, name: str, folder: Path, most_bytes: int = 1 << 30) -> str:
    there = Remote(address)
    file = there.look(name)
    assert file is not None
    return download_file(there, file, folder, str, Traffic(), most_bytes=most_bytes)


@pytest.mark.parametrize("name", ["fine.mp4", "breaking.mp4", "whole.mp4"])
def test_a_file_arrives_whole_from_servers_that_break_off_or_know_no_parts(odd: str, name: str, tmp_path: Path) -> None:
    assert brought(odd, name, tmp_path) == SHA256
    assert (tmp_path / SHA256).read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == [SHA256]


def test_a_file_that_never_ends_or_changes_leaves_nothing(odd: str, tmp_path: Path) -> None:
    with pytest.raises(RemoteError, match="more than the 4,000,000 bytes"):
        brought(odd, "endless.mp4", tmp_path, most_bytes=4_000_000)
    with pytest.raises(RemoteError, match="changed while it was read"):
        brought(odd, "changing.mp4", tmp_path)
    assert [path for path in tmp_path.iterdir() if path.suffix != ".lock"] == []


def test_a_stopped_download_goes_on_where_it_was(odd: str, tmp_path: Path) -> None:
    there = Remote(odd)
    file = there.look("fine.mp4")
    assert file is not None
    traffic = Traffic()
    traffic.on_bytes = lambda size_bytes: traffic.stop.set() if size_bytes else None
    with pytest.raises(StoppedError):
        download_file(there, file, tmp_path, str, traffic, most_bytes=1 << 30)
    before, (partial,) = len(Odd.asked), tmp_path.glob(f"{PARTIAL_PREFIX}*")
    # How much a read gives is the network's choice.
    here = partial.stat().st_size
    assert 0 < here < len(CONTENT)
    told: list[int] = []
    assert download_file(there, file, tmp_path, str, Traffic(told.append), most_bytes=1 << 30) == SHA256
    # What was here is told of as well, so that progress adds up.
    assert sum(told) == len(CONTENT)
    starts = [int(str(ranged).removeprefix("bytes=").partition("-")[0]) for _, ranged in Odd.asked[before:]]
    assert min(starts) == here


def test_a_download_that_was_killed_once_all_was_here_asks_for_no_rest(odd: str, tmp_path: Path) -> None:
    there = Remote(odd)
    file = there.look("fine.mp4")
    assert file is not None
    (tmp_path / f"{PARTIAL_PREFIX}{SHA256}").write_bytes(CONTENT)
    assert download_file(there, file, tmp_path, str, Traffic(), sha256=SHA256, most_bytes=1 << 30) == SHA256
    assert [path.name for path in tmp_path.iterdir()] == [SHA256]


def test_who_waits_for_another_process_can_be_stopped(odd: str, tmp_path: Path) -> None:
    there = Remote(odd)
    file = there.look("fine.mp4")
    assert file is not None
    traffic = Traffic()
    with FileLock(tmp_path / f"{PARTIAL_PREFIX}{SHA256}.lock"), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(download_file, there, file, tmp_path, str, traffic, sha256=SHA256, most_bytes=1 << 30)
        traffic.stop.set()
        with pytest.raises(StoppedError):
            waiting.result()
    assert download_file(there, file, tmp_path, str, Traffic(), sha256=SHA256, most_bytes=1 << 30) == SHA256


def test_content_of_another_hash_is_not_kept(odd: str, tmp_path: Path) -> None:
    there = Remote(odd)
    file = there.look("fine.mp4")
    assert file is not None
    with pytest.raises(RemoteError, match="damaged or replaced"):
        download_file(there, file, tmp_path, str, Traffic(), sha256="0" * 64, most_bytes=1 << 30)
    assert [path for path in tmp_path.iterdir() if path.suffix != ".lock"] == []


def test_web_servers_take_no_files(odd: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(RemoteError, match="only read"):
        Remote(odd).put(tmp_path / "a", "a")


def test_what_users_can_mend_is_handed_out_and_all_else_stops_the_rest() -> None:
    def work(number: int) -> int:
        if number == 2:
            raise RemoteError("two")
        return number

    outcomes = dict(run_in_threads(work, [1, 2, 3], Traffic()))
    assert isinstance(outcomes.pop(2), ReeltalkError)
    assert outcomes == {1: 1, 3: 3}
    traffic, begun = Traffic(), []

    def interrupted(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise KeyboardInterrupt
        traffic.stop.wait(10)

    with pytest.raises(KeyboardInterrupt):
        list(run_in_threads(interrupted, range(50), traffic, at_once=2))
    assert traffic.stop.is_set()
    assert len(begun) < 50


def test_an_interrupt_does_not_wait_for_a_server_that_says_nothing(odd: str, tmp_path: Path) -> None:
    there, traffic = Remote(odd), Traffic()

    def work(name: str) -> None:
        if name == "interrupted":
            while not Odd.asked:
                traffic.stop.wait(0.01)
            raise KeyboardInterrupt
        file = RemoteFile(f"{odd}{name}", name, None, None)
        download_file(there, file, tmp_path, str, traffic, most_bytes=1 << 30)

    # The server never ends its answer: a run that waited for it would hang here.
    with pytest.raises(KeyboardInterrupt):
        list(run_in_threads(work, ["silent.mp4", "interrupted"], traffic, at_once=2))


def test_a_folder_on_a_web_server_is_its_page_of_links(tmp_path: Path) -> None:
    (tmp_path / "raw" / "day").mkdir(parents=True)
    for name in ("a.mp4", "day/b c.mp4", ".hidden.mp4"):
        (tmp_path / "raw" / name).write_bytes(b"x")
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        files, refused = Remote(f"http://127.0.0.1:{server.server_port}/raw/").files()
        assert ([file.name for file in files], refused) == (["a.mp4", "day/b c.mp4"], {})
        address = f"http://127.0.0.1:{server.server_port}/raw/day/b%20c.mp4?v=1"
        beside = ("b c.json", "b c.info.json")
        brought = fetch_sources(address, tmp_path / "cache", choose=list, beside=lambda _: beside, most_bytes=1000)
        assert [(file.name, file.address) for file in brought.files] == [("b c.mp4", address)]
        with pytest.raises(SettingError, match="--max-download-gib"):
            fetch_sources(address, tmp_path / "other", choose=list, beside=lambda _: (), most_bytes=0)
        server.shutdown()


def test_a_file_that_is_written_to_a_folder_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(CONTENT)
    there = Remote(f"file://{tmp_path}/far/away")
    there.put(tmp_path / "a", "b")
    assert there.look("b") is not None
    assert [path.name for path in (tmp_path / "far/away").iterdir()] == ["b"]
    assert b"".join(there.blocks(RemoteFile(f"{tmp_path}/far/away/b", "b", None, None), 5)) == CONTENT[5:]

    def torn(source: str, target: str, **_: object) -> None:
        Path(target).write_bytes(b"a part")
        raise OSError("no space left")

    monkeypatch.setattr(there._files, "put_file", torn)
    with pytest.raises(RemoteError, match="no space left"):
        there.put(tmp_path / "a", "c")
    assert [path.name for path in (tmp_path / "far/away").iterdir()] == ["b"]
