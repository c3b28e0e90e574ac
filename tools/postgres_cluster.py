"""A private PostgreSQL for tests and measurements: a cluster in a temporary folder, reached by a socket in it.

It touches nothing outside the folder, opens no port, and uses no running server.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg

FOLDERS: Final = Path("/usr/lib/postgresql")
"""Debian's folders of the programs, by version."""
USER: Final = "reviewer"


class PostgresCluster:
    """A running server.

    Args:
        folder: An empty folder.
        data: Another empty folder, for the server's data; a folder in `folder` by default.
        durable: True if it must survive a kill; otherwise it never waits for the disk nor cleans up, which is faster.

    Raises:
        RuntimeError: It cannot run here; the message gives the reason.
    """

    def __init__(self, folder: Path, *, data: Path | None = None, durable: bool = False) -> None:
        self._programs = _programs()
        self._folder, self._data = folder, (data or folder) / "data"
        # PostgreSQL does not run as root.
        self._user = _unprivileged() if os.getuid() == 0 else None
        if self._user is not None:
            for each in (folder, self._data.parent):
                shutil.chown(each, self._user)
        self._run("initdb", "-D", str(self._data), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        self._options = [
            "-D",
            str(self._data),
            "-k",
            str(folder),
            "-c",
            "listen_addresses=",
            "-c",
            "max_connections=100",
        ]
        if not durable:
            # Tests make hundreds of databases, and it would look after all of them, several a second.
            self._options += ["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "autovacuum=off"]
        self._server: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Starts the server, for example after `kill`.

        Raises:
            RuntimeError: It does not answer within a minute.
        """
        # After a kill its children may hold the data folder for a moment.
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self._server is None or self._server.poll() is not None:
                (self._data / "postmaster.pid").unlink(missing_ok=True)
                with (self._folder / "log").open("ab") as log:
                    self._server = subprocess.Popen(
                        [self._programs / "postgres", *self._options], stdout=log, stderr=log, user=self._user
                    )
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self._conninfo("postgres"), connect_timeout=5).close()
                return
            time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL does not start: {(self._folder / 'log').read_text()[-500:]}")

    def kill(self) -> None:
        """Kills the server and all its children, as a power cut would."""
        assert self._server is not None
        self.send_to_all(signal.SIGKILL)
        self._server.wait()

    def send_to_all(self, number: signal.Signals) -> None:
        """Sends a signal to the server and all its children."""
        assert self._server is not None
        children = Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children").read_text().split()
        for process in (self._server.pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def shut_down(self, number: signal.Signals, *, within_s: float) -> bool:
        """Asks the server to end, with a signal from PostgreSQL's manual. Returns True if it ended in time."""
        assert self._server is not None
        self._server.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._server.wait(within_s)
        return self._server.poll() is not None

    def ask(self, statement: str) -> None:
        """Executes a statement on its own.

        Raises:
            psycopg.Error: The server refuses it or breaks the connection.
        """
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def stop(self) -> None:
        """Stops the server at once."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait(30)

    def new_database(self, *, encoding: str = "UTF8", template: str = "template0") -> str:
        """The address of a new database, a copy of the one that `template` names: an empty one by default."""
        name = f"review_{secrets.token_hex(6)}"
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE {template}")
        return f"postgresql+psycopg://{USER}@/{name}?host={self._folder}"

    def program(self, name: str) -> Path:
        """The path of a program of this PostgreSQL, such as `pg_dump`."""
        # The PATH may have a link to one of them alone.
        return (self._programs / "initdb").resolve().parent / name

    def _conninfo(self, database: str) -> str:
        return f"host={self._folder} user={USER} dbname={database}"

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments], user=self._user, capture_output=True, cwd=self._folder, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.decode(errors='replace')[-500:]}")


@contextlib.contextmanager
def postgres_cluster(*, durable: bool = False, data: Path | None = None) -> Iterator[PostgresCluster]:
    """A server for a `with` block.

    Args:
        durable: True if it must survive a kill.
        data: An empty folder for its data; a temporary one by default.

    Raises:
        RuntimeError: It cannot run here; the message gives the reason.
    """
    with tempfile.TemporaryDirectory(prefix="reeltalk-postgres-") as folder:
        cluster = PostgresCluster(Path(folder), durable=durable, data=data)
        try:
            yield cluster
        finally:
            cluster.stop()


def _programs() -> Path:
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = sorted(
        FOLDERS.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]) if path.parts[-3].isdigit() else 0
    )
    if not versions:
        raise RuntimeError("no PostgreSQL here; on Debian: apt-get install postgresql")
    return versions[-1].parent


def _unprivileged() -> str:
    names = {entry.pw_name for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in names:
            return name
    raise RuntimeError("PostgreSQL does not run as root, and there is no user postgres or nobody")
