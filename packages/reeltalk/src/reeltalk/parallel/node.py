"""Runs one call on a node of a cluster, in a forking process, after checking that the node is fit for the work."""

import functools
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from reeltalk._version import __version__
from reeltalk.parallel.call_server import CallServer


class Server:
    """The forking process that a worker of a cluster keeps from call to call.

    Args:
        folder: Working folder of the calls.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._server: CallServer | None = None

    def ask(self, request: str) -> str:
        if self._server is None or not self._server.is_alive:
            self._server = CallServer(self._folder)
        return self._server.ask(request)


def answer(request: str, terms: dict[str, Any]) -> str:
    """Make one call on this node.

    Args:
        request: From `call_server.request_line`.
        terms: `version` of reeltalk; `folder`, the working folder; `paths`, files and folders that this node must see.

    Returns:
        A line for `call_server.read_reply`; or JSON with `unfit`, the reason why this node cannot do the work.
    """
    lacking = _lacking(json.dumps(terms))
    return json.dumps({"unfit": lacking}) if lacking else _server(terms["folder"]).ask(request)


_server = functools.cache(Server)


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
