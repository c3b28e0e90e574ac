"""Names of executors, and what is said where there is none."""

import builtins
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from reeltalk import __version__
from reeltalk.errors import ClusterError, MissingExtraError, SettingError
from reeltalk.parallel import LocalExecutor, node, open_executor


def test_local_is_the_default() -> None:
    executor = open_executor(workers=2)
    assert isinstance(executor, LocalExecutor)
    assert executor.workers == 2


@pytest.mark.parametrize(
    ("name", "workers", "says"),
    [
        ("dask", None, "it is local, ray, ray://HOST:PORT or ray://auto"),
        ("ray://", None, "it is local, ray"),
        ("ray://head", None, "'head' is no HOST:PORT"),
        ("local", 0, "--workers 0: at least one"),
    ],
)
def test_what_is_no_executor_is_refused(name: str, workers: int | None, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        open_executor(name, workers)


def test_an_address_without_a_cluster_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        # Bound, and nobody listens.
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"no Ray cluster at {address}.*ray start --head"):
            open_executor(f"ray://{address}")
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(ClusterError, match=address):
            open_executor("ray")


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    actual = builtins.__import__

    def without_ray(name: str, *rest: Any, **more: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return actual(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(MissingExtraError, match=r"reeltalk\[ray\]"):
        open_executor("ray")


def terms(version: str, folder: Path, *paths: Path) -> dict[str, Any]:
    return {"version": version, "folder": str(folder), "paths": [str(path) for path in paths]}


def test_a_node_says_what_it_lacks(tmp_path: Path) -> None:
    other = json.loads(node.answer("", "", terms("0.0.9", tmp_path)))["unfit"]
    assert f"has reeltalk {__version__}" in other
    assert "0.0.9" in other
    unseen = json.loads(node.answer("", "", terms(__version__, tmp_path, tmp_path / "away")))["unfit"]
    assert f"does not see {tmp_path / 'away'}" in unseen
    assert socket.gethostname() in unseen


def test_ray_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def refused(**_: Any) -> None:
        raise OSError("AF_UNIX path length cannot exceed 107 bytes")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refused)
    with pytest.raises(ClusterError, match="Ray does not start on this machine: AF_UNIX path"):
        open_executor("ray")
