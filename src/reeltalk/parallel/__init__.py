"""Map a function over records, each call in a process of its own, so that no record can take the others down."""

from reeltalk.parallel.executor import Call, Executor, Failure, FailureKind, Limits, Outcome
from reeltalk.parallel.local import LocalExecutor
from reeltalk.parallel.opening import open_executor

__all__ = ["Call", "Executor", "Failure", "FailureKind", "Limits", "LocalExecutor", "Outcome", "open_executor"]
