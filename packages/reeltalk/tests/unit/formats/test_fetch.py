"""Fetching: from a folder, and from a real server on this machine that speaks the hub's protocol."""

import hashlib
import json
import shutil
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from places import TESTS

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError, FetchError, SettingError
from reeltalk.formats.fetch import RECORD, fetch

pytest.importorskip("huggingface_hub")

SAMPLES = TESTS / "samples"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "someone/SVBench"


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Hub:
    """A hub that holds one data set, and can misbehave."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.large = {name for name in files if name.endswith(".mp4")}
        self.requests: list[tuple[str, str, str | None]] = []
        self.cut_off: dict[str, int] = {}
        """Bytes after which the connection drops, once, by file."""
        self.served: dict[str, bytes] = {}
        """Other content than the hub states, by file."""
        self.status = 200
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_HEAD(self) -> None:
                self.answer(with_body=False)

            def do_GET(self) -> None:
                self.answer(with_body=True)

            def send_json(self, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(hub.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("X-Repo-Commit", COMMIT)
                self.end_headers()
                self.wfile.write(body)

            def answer(self, *, with_body: bool) -> None:
                path = urllib.parse.unquote(urllib.parse.urlparse(self.path).path)
                hub.requests.append((self.command, path, self.headers.get("Range")))
                if hub.status != 200:
                    self.send_json({"error": "no"})
                elif path.startswith(f"/api/datasets/{REPO}/tree/"):
                    self.send_json([hub.entry(name) for name in sorted(hub.files)])
                elif path.startswith(f"/api/datasets/{REPO}"):
                    self.send_json({"id": REPO, "sha": COMMIT, "siblings": [], "private": False, "tags": []})
                elif path.startswith(f"/datasets/{REPO}/resolve/{COMMIT}/"):
                    self.send_file(path.removeprefix(f"/datasets/{REPO}/resolve/{COMMIT}/"), with_body=with_body)
                else:
                    hub_status, hub.status = hub.status, 404
                    self.send_json({"error": "not found"})
                    hub.status = hub_status

            def send_file(self, name: str, *, with_body: bool) -> None:
                content = hub.served.get(name, hub.files[name])
                stated = hub.files[name]
                etag = hashlib.sha256(stated).hexdigest() if name in hub.large else blob_id(stated)
                start = 0
                if asked := self.headers.get("Range"):
                    start = int(asked.removeprefix("bytes=").split("-")[0])
                self.send_response(206 if asked else 200)
                self.send_header("ETag", f'"{etag}"')
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("Content-Length", str(len(content) - start))
                if asked:
                    self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
                self.end_headers()
                if with_body:
                    stop = hub.cut_off.pop(name, None)
                    self.wfile.write(content[start:stop])
                    if stop is not None:
                        self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def entry(self, name: str) -> dict[str, Any]:
        content = self.files[name]
        found: dict[str, Any] = {"type": "file", "oid": blob_id(content), "size": len(content), "path": name}
        if name in self.large:
            found["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        return found

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def downloads(self) -> list[str]:
        return [path.rpartition("/")[2] for verb, path, _ in self.requests if verb == "GET" and "/resolve/" in path]


@pytest.fixture
def hub() -> Iterator[Hub]:
    files = {
        path.relative_to(SAMPLES / "svbench").as_posix(): path.read_bytes()
        for path in sorted((SAMPLES / "svbench").rglob("*"))
        if path.is_file()
    }
    files["Videos/kitchen_01.mp4"] = bytes(range(256)) * 100_000
    server = Hub(files)
    yield server
    server.close()


def get(hub: Hub, into: Path, **more: Any) -> Any:
    return fetch("svbench", into=into, repo=REPO, endpoint=hub.endpoint, accept_licence=True, **more)


def test_a_data_set_arrives_whole_with_its_hashes(hub: Hub, tmp_path: Path) -> None:
    lines: list[str] = []
    report = get(hub, tmp_path / "data", progress=lines.append)
    assert sorted(report.fetched) == sorted(hub.files)
    for name, content in hub.files.items():
        assert (tmp_path / "data" / name).read_bytes() == content
    record = json.loads((tmp_path / "data" / RECORD).read_text(encoding="utf-8"))
    assert record["source"] == f"{REPO}@{COMMIT}"
    assert record["files"]["Videos/kitchen_01.mp4"] == {
        "sha256": hashlib.sha256(hub.files["Videos/kitchen_01.mp4"]).hexdigest(),
        "size_bytes": 25_600_000,
    }
    assert len(lines) == len(hub.files)
    # The annotations name more videos than there are files.
    assert "kitchen_01" not in record["missing_videos"]
    assert record["missing_videos"] == report.missing
    assert len(report.missing) >= 1
    assert f"{len(report.missing)} videos are named but not here:" in list(report.lines())[1]


def test_a_second_run_asks_for_no_file_again(hub: Hub, tmp_path: Path) -> None:
    get(hub, tmp_path / "data")
    hub.requests.clear()
    report = get(hub, tmp_path / "data")
    assert report.fetched == []
    assert len(report.kept) == len(hub.files)
    assert hub.downloads() == []


def test_an_interrupted_download_goes_on_where_it_stopped(hub: Hub, tmp_path: Path) -> None:
    hub.cut_off["Videos/kitchen_01.mp4"] = 15_000_000
    try:
        get(hub, tmp_path / "data")
    except FetchError:
        get(hub, tmp_path / "data")
    assert (tmp_path / "data" / "Videos" / "kitchen_01.mp4").read_bytes() == hub.files["Videos/kitchen_01.mp4"]
    ranges = [asked for verb, path, asked in hub.requests if path.endswith(".mp4") and verb == "GET"]
    assert ranges[0] is None
    assert any(asked and int(asked.removeprefix("bytes=").split("-")[0]) > 0 for asked in ranges[1:])
    others = [name for name in hub.downloads() if not name.endswith(".mp4")]
    assert len(others) == len(set(others)) or len(others) == len(hub.files) - 1


def test_a_damaged_file_is_found_and_not_kept(hub: Hub, tmp_path: Path) -> None:
    name = "Videos/kitchen_01.mp4"
    hub.served[name] = b"x" * len(hub.files[name])
    with pytest.raises(FetchError, match=r"kitchen_01\.mp4"):
        get(hub, tmp_path / "data")
    assert not (tmp_path / "data" / name).exists()
    hub.served.clear()
    get(hub, tmp_path / "data")
    assert (tmp_path / "data" / name).read_bytes() == hub.files[name]


def test_a_file_that_was_changed_here_is_fetched_again(hub: Hub, tmp_path: Path) -> None:
    get(hub, tmp_path / "data")
    victim = tmp_path / "data" / "Videos" / "kitchen_01.mp4"
    victim.write_bytes(b"y" * victim.stat().st_size)
    assert get(hub, tmp_path / "data").fetched == ["Videos/kitchen_01.mp4"]
    assert victim.read_bytes() == hub.files["Videos/kitchen_01.mp4"]


@pytest.mark.parametrize(("status", "advice"), [(401, "sign in"), (403, "ask for access"), (404, "check --repo")])
def test_a_refusal_says_what_to_do(hub: Hub, tmp_path: Path, status: int, advice: str) -> None:
    hub.status = status
    with pytest.raises(FetchError, match=advice):
        get(hub, tmp_path / "data")


def test_a_hub_that_is_not_there_is_said_so(hub: Hub, tmp_path: Path) -> None:
    endpoint = hub.endpoint
    hub.close()
    with pytest.raises(FetchError, match=r"cannot reach http://127\.0\.0\.1:\d+ .* --from"):
        fetch("svbench", into=tmp_path, repo=REPO, endpoint=endpoint, accept_licence=True)
    hub.thread = threading.Thread(target=lambda: None)
    hub.thread.start()


def test_a_path_out_of_the_folder_is_refused(hub: Hub, tmp_path: Path) -> None:
    hub.files["../../evil.txt"] = b"evil"
    with pytest.raises(FetchError, match="leads out of its folder"):
        get(hub, tmp_path / "data")
    assert not (tmp_path / "evil.txt").exists()
    assert not (tmp_path.parent / "evil.txt").exists()


class TestFromAFolder:
    def test_files_are_copied_once_and_checked(self, tmp_path: Path) -> None:
        report = fetch("vdact", into=tmp_path / "data", source=SAMPLES / "vdact", accept_licence=True)
        assert report.kept == []
        assert (tmp_path / "data" / "dialogue.json").read_bytes() == (SAMPLES / "vdact" / "dialogue.json").read_bytes()
        (tmp_path / "data" / "dialogue.json").write_text("[]")
        again = fetch("vdact", into=tmp_path / "data", source=SAMPLES / "vdact")
        assert again.fetched == ["dialogue.json"]
        assert "09001" in again.missing

    def test_a_zero_byte_video_counts_as_missing(self, tmp_path: Path) -> None:
        shutil.copytree(SAMPLES / "vdact", tmp_path / "source")
        (tmp_path / "source" / "videos").mkdir()
        (tmp_path / "source" / "videos" / "09001.mp4").write_bytes(b"")
        (tmp_path / "source" / "videos" / "09002.mp4").write_bytes(b"film")
        report = fetch("vdact", into=tmp_path / "data", source=tmp_path / "source", accept_licence=True)
        assert "09001" in report.missing
        assert "09002" not in report.missing

    def test_terms_must_be_accepted_once(self, tmp_path: Path) -> None:
        asked: list[str] = []

        def decline(text: str) -> bool:
            asked.append(text)
            return False

        with pytest.raises(SettingError, match=r"not accepted .*Apache-2\.0.*--accept-licence"):
            fetch("vdact", into=tmp_path / "data", source=SAMPLES / "vdact", accept_licence=decline)
        assert not (tmp_path / "data").exists()
        assert "Apache-2.0" in asked[0]
        fetch("vdact", into=tmp_path / "data", source=SAMPLES / "vdact", accept_licence=True)
        fetch("vdact", into=tmp_path / "data", source=SAMPLES / "vdact", accept_licence=decline)
        assert len(asked) == 1

    def test_mistakes_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(FetchError, match="is not a folder"):
            fetch("vdact", into=tmp_path / "data", source=tmp_path / "nowhere", accept_licence=True)
        with pytest.raises(FetchError, match=r"no hub repository of DramaQA .* --from"):
            fetch("dramaqa", into=tmp_path / "data", accept_licence=True)
        with pytest.raises(FetchError, match="lie in one another"):
            fetch("vdact", into=SAMPLES / "vdact" / "x", source=SAMPLES / "vdact", accept_licence=True)
        (tmp_path / "file").write_text("")
        with pytest.raises((BenchmarkError, FetchError)):
            fetch("vdact", into=tmp_path / "file" / "data", source=SAMPLES / "vdact", accept_licence=True)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["fetch", "vdact", "--into", str(tmp_path / "data"), "--from", str(SAMPLES / "vdact")]
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert "Apache-2.0" in captured.out
    assert "pass --accept-licence" in captured.err
    assert run([*arguments, "--accept-licence"]) == 0
    assert "files fetched" in capsys.readouterr().out
    assert run(["import", "vdact", str(tmp_path / "data"), str(tmp_path / "bench")]) == 0
