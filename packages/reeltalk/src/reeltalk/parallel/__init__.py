"""Maps a function over records, each call in a separate process, so that one record cannot make the others fail.

The rooms above decide what a call does. Begin with `executor`, the interface; `call_server` runs in the process.
"""

from reeltalk.parallel.executor import Call, Executor, Failure, FailureKind, Limits, Outcome
from reeltalk.parallel.local import LocalExecutor
from reeltalk.parallel.opening import open_executor

__all__ = ["Call", "Executor", "Failure", "FailureKind", "Limits", "LocalExecutor", "Outcome", "open_executor"]
