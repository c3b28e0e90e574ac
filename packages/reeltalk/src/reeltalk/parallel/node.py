"""Runs one call on a node of a cluster, in a process of its own, after checking that the node is fit for the work."""

import functools
import json
import os
import socket
import sys
from typing import Any

from reeltalk._version import __version__
from reeltalk.parallel.executor import Call, Limits
from reeltalk.parallel.local import LocalExecutor


def answer(function: str, call: str, terms: dict[str, Any]) -> str:
    """Make one call on this node.

    Args:
        function: As `package.module:name`.
        call: A `Call` as JSON text.
        terms: `version` of reeltalk; `folder`, the working folder; `paths`, files and folders that this node must see.

    Returns:
        JSON text for `work.read_outcome`; or with `unfit`, the reason why this node cannot do the work.
    """
    lacking = _lacking(json.dumps(terms))
    if lacking:
        return json.dumps({"unfit": lacking})
    os.chdir(terms["folder"])
    read = json.loads(call)
    made = Call(read["argument"], Limits(**read["limits"]))
    return next(_executor().answers(function, [made]))[1]


@functools.cache
def _executor() -> LocalExecutor:
    """Kept from call to call, with its process."""
    return LocalExecutor(1)


@functools.cache
def _lacking(terms: str) -> str | None:
    wanted: dict[str, Any] = json.loads(terms)
    here = socket.gethostname()
    if wanted["version"] != __version__:
        return (
            f"node {here} has reeltalk {__version__} in {sys.executable}, and this machine {wanted['version']}; "
            "install the same version on every node"
        )
    for path in (wanted["folder"], *wanted["paths"]):
        if not os.access(path, os.R_OK):
            return (
                f"node {here} does not see {path}; put it on a file system that every node mounts at the same place, "
                "and run the command from a folder there"
            )
    return None
