"""Starts `reeltalk review` repeatedly, each time in a fresh process, without the cost of the imports.

One process imports the command line and waits. For each server it forks, and the fork runs the command as a terminal
would. So a killed server is back within a tenth of a second.

    echo '["review", "BENCH", "--port", "8765"]' | python tools/killable_server.py

Each line on standard input starts a server with the arguments that it lists; its process id is printed on standard
output.
"""

import json
import os
import signal
import sys


def main() -> None:
    """Forks a server for every line of input."""
    # Imports of the command, before the first fork. Nothing is opened yet.
    import sqlalchemy.dialects.postgresql.psycopg
    import uvicorn

    import reeltalk_review.app
    import reeltalk_review.importing
    from reeltalk.cli import run

    del sqlalchemy, uvicorn, reeltalk_review
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)
            os._exit(run(json.loads(line)))
        print(child, flush=True)


if __name__ == "__main__":
    main()
