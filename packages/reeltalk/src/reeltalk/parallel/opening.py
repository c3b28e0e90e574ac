"""Opens an executor by its name on the command line."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reeltalk.errors import SettingError
from reeltalk.parallel.executor import Executor
from reeltalk.parallel.local import LocalExecutor

CLUSTER: Final = "ray://"


def open_executor(name: str = "local", workers: int | None = None, *, shared: Sequence[Path] = ()) -> Executor:
    """Opens an executor for the work of a stage.

    Args:
        name: `local` for processes of this machine; `ray` for the Ray cluster that `RAY_ADDRESS` names, or else for an
            instance of Ray on this machine; `ray://HOST:PORT` for the cluster that this machine is a node of, and
            `ray://auto` for the one that `ray start` began here.
        workers: Calls at a time; by default one for each core.
        shared: Files and folders that calls read and write. Every node must see them.

    Raises:
        SettingError: There is no executor with that name, or `workers` is below 1.
        MissingExtraError: Ray is not installed.
        ClusterError: There is no such cluster, or its version differs.
    """
    if workers is not None and workers < 1:
        raise SettingError(f"--workers {workers}: at least one is needed")
    if name == "local":
        return LocalExecutor(workers)
    if name != "ray" and (not name.startswith(CLUSTER) or name == CLUSTER):
        raise SettingError(f"--executor {name!r}: it is local, ray, ray://HOST:PORT or ray://auto")
    address = name.removeprefix(CLUSTER) if name != "ray" else os.environ.get("RAY_ADDRESS") or None
    if address not in (None, "auto") and not re.fullmatch(r".+:\d{1,5}", address or ""):
        raise SettingError(f"--executor {name!r}: {address!r} is no HOST:PORT; a Ray cluster has port 6379 by default")
    from reeltalk.parallel.ray_executor import RayExecutor

    return RayExecutor(address, workers, shared)
