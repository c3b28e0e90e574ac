"""A real Label Studio server takes the tasks, plays the videos and gives back what people submitted."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from reeltalk.cli import run
from reeltalk.formats import label_studio
from reeltalk.schema.review import Decision
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

ROOT = Path(__file__).parents[2]
BIN = ROOT / "build" / "label-studio" / "venv" / "bin"
TOKEN = "0123456789abcdef" * 2
STARTS_IN_S = 900
"""A first start makes the server's database by some hundred migrations."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(STARTS_IN_S + 300),
    pytest.mark.skipif(not BIN.is_dir(), reason="no Label Studio: run make build/label-studio/ready"),
]


@pytest.fixture
def exported(samples: Path, tmp_path: Path) -> Path:
    """The sample with a film, exported; the benchmark lies beside it."""
    content = label_studio.read(samples / "label-studio")
    (tmp_path / "film").write_bytes(bytes(range(256)) * 40)
    bench = Benchmark.create(tmp_path / "bench")
    sha256 = bench.media.add(tmp_path / "film")
    content.videos[0] = content.videos[0].model_copy(update={"sha256": sha256})
    bench.write_content(content, stage="test")
    assert run(["export", "label-studio", str(bench.path), str(tmp_path / "out")]) == 0
    return tmp_path / "out"


class Server:
    """A server's API."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, method: str, path: str, value: Any = None, **headers: str) -> bytes:
        told = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json", **headers}
        body = None if value is None else json.dumps(value).encode()
        with urlopen(Request(self.address + path, data=body, headers=told, method=method), timeout=120) as reply:
            content: bytes = reply.read()
            return content

    def json(self, method: str, path: str, value: Any = None) -> Any:
        return json.loads(self.ask(method, path, value))


@pytest.fixture
def server(exported: Path, tmp_path: Path) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "HOME": str(tmp_path),
        "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "true",
        "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str(exported),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }
    person = ["--username", "ann@example.org", "--password", "a-long-password-1", "--user-token", TOKEN]
    options = ["--no-browser", "--port", str(port), "--internal-host", "127.0.0.1", "--data-dir", str(tmp_path / "db")]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [BIN / "label-studio", "start", *options, *person],
            stdout=log, stderr=log, env={"PATH": os.environ["PATH"], **settings},
        )  # fmt: skip
        try:
            made = Server(f"http://127.0.0.1:{port}")
            _wait(made, process, tmp_path / "server.log")
            yield made
        finally:
            process.terminate()
            process.wait(60)


def _wait(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTS_IN_S
    while True:
        try:
            server.ask("GET", "/api/projects")
            return
        except (URLError, ConnectionError, TimeoutError):
            assert process.poll() is None, log.read_text(errors="replace")[-3000:]
            if time.monotonic() > until:
                pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-3000:]}")
            time.sleep(1)


def tables(content: Content) -> dict[str, Any]:
    return {name: rows for name, rows in content.rows() if name != "reviews"}


def test_the_sdk_finds_no_error_in_config_and_predictions(exported: Path) -> None:
    done = subprocess.run(
        [BIN / "python", ROOT / "tools" / "check_label_studio.py", exported],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


def test_work_on_a_server_comes_back(exported: Path, server: Server, tmp_path: Path) -> None:
    config = (exported / "config.xml").read_text(encoding="utf-8")
    project = server.json("POST", "/api/projects", {"title": "drafts", "label_config": config})["id"]
    tasks = json.loads((exported / "tasks.json").read_text(encoding="utf-8"))
    made = server.json("POST", f"/api/projects/{project}/import?return_task_ids=true", tasks)
    assert (made["task_count"], made["prediction_count"]) == (len(tasks), len(tasks))
    storage = {"project": project, "path": str(exported / "videos"), "use_blob_urls": True}
    server.json("POST", "/api/storages/localfiles", storage)
    assert server.ask("GET", tasks[0]["data"]["video"], Range="bytes=100-199") == bytes(range(100, 200))
    for place, task_id in enumerate(made["task_ids"]):
        task = server.json("GET", f"/api/tasks/{task_id}")
        assert task["data"] == tasks[place]["data"]
        result = list(task["predictions"][0]["result"])
        for number in range(len(task["data"]["turns"])):
            decision = {"from_name": f"decision_{number}", "to_name": f"turn_{number}", "type": "choices"}
            result.append({"id": f"decision{number}", **decision, "value": {"choices": ["accept"]}})
        if place == 1:
            question = next(region for region in result if region["from_name"] == "question_0")
            question["value"] = {"text": ["<script>alert(1)</script>?"]}
        skipped = {"was_cancelled": True} if place == len(tasks) - 1 else {}
        server.json("POST", f"/api/tasks/{task_id}/annotations", {"result": result, "lead_time": 2, **skipped})
    before = Benchmark.open(tmp_path / "bench").content()
    for form in ("JSON", "JSON_MIN"):
        query = f"exportType={form}&download_all_tasks=true"
        (exported / "export.json").write_bytes(server.ask("GET", f"/api/projects/{project}/export?{query}"))
        assert run(["import", "label-studio", str(exported), str(tmp_path / form)]) == 0
        content = Benchmark.open(tmp_path / form).content()
        assert content.chains[1].turns[0].question == "<script>alert(1)</script>?"
        content.chains[1] = before.chains[1]
        assert tables(content) == tables(before)
        decisions = {review.decision for review in content.reviews}
        assert decisions == {Decision.ACCEPT, Decision.EDIT} | ({Decision.SKIP} if form == "JSON" else set())
