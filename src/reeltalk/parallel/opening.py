"""From a name on the command line to whatever runs the work."""

from reeltalk.errors import SettingError
from reeltalk.parallel.executor import Executor
from reeltalk.parallel.local import LocalExecutor


def open_executor(name: str = "local", workers: int | None = None) -> Executor:
    """What runs a stage's work.

    Args:
        name: `local` for processes of this machine.
        workers: Calls at a time; by default one for each core.

    Raises:
        SettingError: There is no executor of that name, or `workers` is below 1.
    """
    if workers is not None and workers < 1:
        raise SettingError(f"--workers {workers}: at least one is needed")
    if name == "local":
        return LocalExecutor(workers)
    raise SettingError(f"--executor {name!r}: it is local")
