"""`reeltalk review`: people accept, edit, link and label every turn in a browser."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from reeltalk.cli.app import app, say
from reeltalk.errors import BenchmarkError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeltalk.review.project import Project

DATABASE = Annotated[
    str | None,
    Parameter(
        help="Address of a PostgreSQL database, as postgresql+psycopg://user@host/name; a SQLite file beside the "
        "benchmark by default."
    ),
]
BENCHMARK = Annotated[Path, Parameter(help="Folder of the benchmark.")]
NOTE = Annotated[str, Parameter(help="Whom it is for; owners see it beside the invitation.")]
FLAG = Parameter(negative="")

review = App(
    name="review", help="Let people review every turn of a benchmark in a browser, alone or as a team.", sort_key=7
)
app.command(review)


@review.default
def serve(
    benchmark: BENCHMARK,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    database: DATABASE = None,
    queues: str | None = None,
    overlap: int = 1,
    only: str | None = None,
    reload: Annotated[bool, FLAG] = False,
    public_host: tuple[str, ...] = (),
    behind_https: bool = False,
    proxy: tuple[str, ...] = (),
    connections: int | None = None,
    connections_per_address: int | None = None,
) -> int:
    """Serve a benchmark to whoever reviews it. What they do is kept beside it, in BENCH.review.

    Example: `reeltalk review benchmarks/kitchen`, then open the link that it prints. Ctrl-C stops it; nothing is lost,
    and the same command goes on.

    Parameters
    ----------
    host
        Address to listen on; 0.0.0.0 for a team, behind a proxy that speaks HTTPS.
    port
        Port to listen on; 0 for any that is free.
    queues
        Kinds of work, with commas between, or all: turns,links by default. Given later, it adds queues.
    overlap
        How many people do each unit of a new queue, blind to each other.
    only
        Only units of some videos: split/test, category/cooking or id/VIDEO.
    reload
        Take over what another command changed in the benchmark since it was loaded: finished and begun work stays as it
        is, what nobody has begun is renewed, new units are added.
    public_host
        Name by which browsers reach the server, as review.example.org; may be given more than once. It answers to
        localhost, 127.0.0.1, the --host, and to no other name.
    behind_https
        A proxy in front of the server speaks HTTPS with browsers: cookies are sent over HTTPS alone, and the proxy is
        believed who asks. It is on this machine, unless --proxy names another.
    proxy
        IP address or network of a proxy in front of the server; may be given more than once. Its X-Forwarded-For is
        believed who asks, and its X-Forwarded-Proto whether by HTTPS. Nobody else's is.
    connections
        Most connections at a time; by default what the limit of open files allows, 2,000 at most. Where all are taken,
        the one that has waited longest for a request ends.
    connections_per_address
        Most of them from one address, but for a proxy's; half of them by default.
    """
    from reeltalk.parallel.call_server import THREADS_OF_LIBRARIES

    # Before NumPy is loaded: agreement is computed beside the requests, and must not take every core from them.
    for name, threads in THREADS_OF_LIBRARIES.items():
        os.environ.setdefault(name, threads)
    from reeltalk.review.address import address_of
    from reeltalk.review.connections import limits_of
    from reeltalk.review.loading import load
    from reeltalk.review.playable import prepare, renew
    from reeltalk.review.project import PLAYABLE, Project
    from reeltalk.review.serving import first_invitation, listen
    from reeltalk.review.serving import serve as run
    from reeltalk.store.benchmark import Benchmark

    reached = address_of(host, public_host, behind_https=behind_https, proxies=proxy)
    limits = limits_of(connections, connections_per_address)
    opened = Benchmark.open(benchmark)
    # An address that is taken is told before anything is loaded.
    with contextlib.ExitStack() as closed:
        listening = closed.enter_context(contextlib.closing(listen(host, port)))
        project = Project.open(benchmark, url=database)
        closed.enter_context(contextlib.closing(project.database))
        served = prepare(opened, project.folder / PLAYABLE, progress=say)
        loaded = load(
            project,
            opened,
            serving=lambda _: served,
            queues=[name.strip() for name in queues.split(",")] if queues is not None else (),
            overlap=overlap,
            only=only,
            reload=reload,
            progress=say,
        )
        for line in loaded.lines():
            say(line)
        renew(project, served)
        address = reached.shown(host, listening.getsockname()[1], public_host)
        token = first_invitation(project)
        if token is not None:
            print(f"open {address}/join/{token} to become the first owner; the link is good once", flush=True)
        else:
            print(f"open {address}", flush=True)
        for warning in reached.warnings(host):
            say(f"warning: {warning}")
        say("Ctrl-C stops it; what people do is kept, and the same command goes on")
        run(project, listening, reached, limits)
    say(f"stopped; everything is kept in {project.folder if database is None else 'the database'}")
    return 0


@review.command(sort_key=1)
def status(benchmark: BENCHMARK, /, *, database: DATABASE = None) -> int:
    """Print each queue with what is done, under way and left, without starting a server.

    Example: `reeltalk review status benchmarks/kitchen`
    """
    from reeltalk.review.queue_status import queue_counts

    with opened_project(benchmark, database) as project, project.database.reading() as session:
        rows = list(queue_counts(session))
    if not rows:
        raise BenchmarkError(f"{benchmark} was not loaded for review yet; 'reeltalk review {benchmark}' does that")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        cells = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        print("  ".join([name.ljust(widths[0]), *cells]))
    return 0


@review.command(sort_key=2)
def invite(
    benchmark: BENCHMARK,
    /,
    *,
    role: str = "annotator",
    note: NOTE = "",
    address: str = "http://127.0.0.1:8765",
    database: DATABASE = None,
) -> int:
    """Print a link by which one person joins, as where the first owner's link was lost.

    Example: `reeltalk review invite benchmarks/kitchen --role owner`

    Parameters
    ----------
    role
        owner, adjudicator, annotator or reader.
    address
        Where the server is reached.
    """
    from reeltalk.review.events import OPERATOR, changing
    from reeltalk.review.people import INVITATION_DAYS
    from reeltalk.review.people import invite as make_invitation

    with opened_project(benchmark, database) as project, changing(project.database, OPERATOR) as change:
        token = make_invitation(change, project.secret, role, note)[1]
    print(f"{address.rstrip('/')}/join/{token}")
    say(f"good once, for {INVITATION_DAYS} days")
    return 0


@review.command(sort_key=3)
def reset_password(
    benchmark: BENCHMARK,
    /,
    *,
    name: str,
    address: str = "http://127.0.0.1:8765",
    database: DATABASE = None,
) -> int:
    """Print a link by which somebody who lost their password chooses a new one.

    Example: `reeltalk review reset-password benchmarks/kitchen --name Ada`

    Parameters
    ----------
    name
        The name that the person signs in with.
    address
        Where the server is reached.
    """
    from reeltalk.review.events import OPERATOR, changing
    from reeltalk.review.resetting import RESET_DAYS, make_reset

    with opened_project(benchmark, database) as project, changing(project.database, OPERATOR) as change:
        token = make_reset(change, project.secret, name)
    print(f"{address.rstrip('/')}/reset/{token}")
    say(f"good once, for {RESET_DAYS} days")
    return 0


@review.command(name="verify", sort_key=4)
def check(benchmark: BENCHMARK, /, *, database: DATABASE = None, head: str | None = None) -> int:
    """Check that nobody changed the history of a review, and that all work is what the history leads to.

    Prints what was looked at and the end of the chain of events. Note that line elsewhere: given as --head later, it
    proves that nothing up to there was written anew. The exit code is 1 where something is wrong.

    Example: `reeltalk review verify benchmarks/kitchen`

    Parameters
    ----------
    head
        What an earlier check printed after `head`, as 412:9f2c….
    """
    from reeltalk.review.verifying import verify

    with opened_project(benchmark, database) as project:
        found = verify(project.database, head=head)
    print("\n".join(found.lines()))
    return 1 if found.findings else 0


@contextlib.contextmanager
def opened_project(benchmark: Path, database: str | None) -> "Iterator[Project]":
    """A project that is there: a command about one shall not make it. Its database is closed at the end.

    Raises:
        BenchmarkError: There is none.
    """
    from reeltalk.review.project import DATABASE as FILE
    from reeltalk.review.project import Project, folder_of

    if database is None and not (folder_of(benchmark) / FILE).is_file():
        raise BenchmarkError(f"{benchmark} is not under review; 'reeltalk review {benchmark}' begins one")
    project = Project.open(benchmark, url=database)
    with contextlib.closing(project.database):
        yield project
