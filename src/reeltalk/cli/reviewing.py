"""`reeltalk review`: people accept, edit, link and label every turn in a browser."""

from pathlib import Path

from cyclopts import App

from reeltalk.cli.app import app, say

review = App(
    name="review", help="Let people review every turn of a benchmark in a browser, alone or as a team.", sort_key=7
)
app.command(review)


@review.default
def serve(
    benchmark: Path,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    database: str | None = None,
    overlap: int = 1,
) -> int:
    """Serve a benchmark to whoever reviews it. What they do is kept beside it, in BENCH.review.

    Example: `reeltalk review benchmarks/kitchen`, then open the link that it prints. Ctrl-C stops it; nothing is lost,
    and the same command goes on.

    Parameters
    ----------
    benchmark
        Folder of the benchmark.
    host
        Address to listen on; 0.0.0.0 for a team, behind a proxy that speaks HTTPS.
    port
        Port to listen on; 0 for any that is free.
    database
        Address of a PostgreSQL database, as postgresql+psycopg://user@host/name; a SQLite file by default.
    overlap
        How many people do each unit, blind to each other. Counts when the benchmark is loaded first.
    """
    from reeltalk.review.loading import load
    from reeltalk.review.playable import prepare, renew
    from reeltalk.review.project import PLAYABLE, Project
    from reeltalk.review.serving import first_invitation, listen
    from reeltalk.review.serving import serve as run
    from reeltalk.store.benchmark import Benchmark

    opened = Benchmark.open(benchmark)
    project = Project.open(benchmark, url=database)
    served = prepare(opened, project.folder / PLAYABLE, progress=say)
    load(project, opened, serving=lambda _: served, overlap=overlap, progress=say)
    renew(project, served)
    listening = listen(host, port)
    address = f"http://{host}:{listening.getsockname()[1]}"
    token = first_invitation(project)
    print(f"open {address}/join/{token} to become the first owner" if token else f"open {address}", flush=True)
    run(project, listening)
    return 0
