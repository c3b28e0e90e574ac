"""`reeltalk review`: people accept, edit, link and label every turn in a browser."""

import contextlib
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import App, Group, Parameter

from reeltalk.cli.options import DRY_RUN, FLAG, IN_OUTPUT, OVERWRITE, RUN
from reeltalk.cli.terminal import ProgressBar, refuse_existing, say
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.schema.settings import check_counts, settings_of

if TYPE_CHECKING:
    from reeltalk.schema.answers import AnsweredTurn
    from reeltalk_review.database import ReviewProject

DATABASE = Annotated[
    str | None,
    Parameter(
        group=RUN,
        help="Address of a PostgreSQL database, such as postgresql+psycopg://user@host/name; a SQLite file next to the "
        "benchmark by default.",
    ),
]
BENCHMARK = Annotated[Path, Parameter(help="Folder of the benchmark.")]
NOTE = Annotated[str, Parameter(help="Name or purpose of the person; owners see it with the invitation.")]
IN_SERVER = Parameter(group=Group("Server", sort_key=2))
IN_RATING = Parameter(group=Group("Rating", sort_key=2))
IN_TEST = Parameter(group=Group("Test", sort_key=3))
IN_COLLECTING = Parameter(group=Group("Collecting", sort_key=4))
ADDRESS: Final = "http://127.0.0.1:8765"

review = App(
    name="review",
    group_commands=Group("Commands", sort_key=90),
    group_parameters=Group("Review", sort_key=1),
)


@review.default
def serve(
    benchmark: BENCHMARK,
    /,
    *,
    host: Annotated[str, IN_SERVER] = "127.0.0.1",
    port: Annotated[int, IN_SERVER] = 8765,
    database: DATABASE = None,
    queues: str | None = None,
    overlap: int = 1,
    only: str | None = None,
    public_host: Annotated[tuple[str, ...], IN_SERVER] = (),
    behind_https: Annotated[bool, IN_SERVER] = False,
    proxy: Annotated[tuple[str, ...], IN_SERVER] = (),
) -> int:
    """Serve a benchmark to the people who review it. Their work is kept next to it, in BENCH.review.

    Example: `reeltalk review benchmarks/kitchen`, then open the link that it prints. Ctrl-C stops it. Nothing is lost,
    and the same command continues.

    Parameters
    ----------
    host
        Address to listen on; 0.0.0.0 for a team, behind a proxy that speaks HTTPS.
    port
        Port to listen on; 0 for any free port.
    queues
        Comma-separated kinds of work, or all; turns,links by default. In a later call it adds queues.
    overlap
        Number of people who do each task of a new queue, independently of each other.
    only
        Only tasks about some videos: split/test, category/cooking or id/VIDEO.
    public_host
        Host name of the server for browsers, such as review.example.org; may be repeated. It answers to
        localhost, 127.0.0.1, the --host, and to no other name.
    behind_https
        A proxy in front of the server speaks HTTPS with browsers: cookies are sent over HTTPS only, and the client
        addresses that the proxy reports are trusted. The proxy is on this machine, unless --proxy names another
        address.
    proxy
        IP address or network of a proxy in front of the server; may be repeated. Only its X-Forwarded-For
        and X-Forwarded-Proto headers are trusted.
    """
    from reeltalk.parallel.work import THREADS_OF_LIBRARIES

    # Before NumPy is loaded: agreement is computed while requests are served, and must leave cores to them.
    for name, threads in THREADS_OF_LIBRARIES.items():
        os.environ.setdefault(name, threads)
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_review.app import first_invitation, listen, run_server
    from reeltalk_review.database import PLAYABLE, ReviewProject
    from reeltalk_review.guard import server_address
    from reeltalk_review.importing import import_benchmark
    from reeltalk_review.playable import prepare_videos, update_served_videos

    reached = server_address(host, public_host, behind_https=behind_https, proxies=proxy)
    opened = Benchmark.open(benchmark)
    # Report an address that is in use before anything is loaded.
    with contextlib.ExitStack() as closed:
        listening = closed.enter_context(contextlib.closing(listen(host, port)))
        project = ReviewProject.open(benchmark, url=database)
        closed.enter_context(contextlib.closing(project.database))
        choice = [name.strip() for name in queues.split(",")] if queues is not None else ()
        served = prepare_videos(opened, project.folder / PLAYABLE, progress=say)
        loaded = import_benchmark(
            project,
            opened,
            serving=lambda _: served,
            queues=choice,
            overlap=overlap,
            only=only,
            progress=say,
        )
        for line in loaded.lines():
            say(line)
        update_served_videos(project, served)
        # Caches of what was read refer to themselves. They would stay while the server runs.
        del opened
        gc.collect()
        address = reached.url(host, listening.getsockname()[1], public_host)
        token = first_invitation(project)
        if token is not None:
            print(f"open {address}/join/{token} to become the first owner; the link is good once", flush=True)
        else:
            print(f"open {address}", flush=True)
        for warning in reached.warnings(host):
            say(f"warning: {warning}")
        say("Ctrl-C stops it; all work is stored, and the same command continues")
        run_server(project, listening, reached)
    say(f"stopped; everything is kept in {project.folder if database is None else 'the database'}")
    return 0


@review.command(sort_key=1)
def add(
    benchmark: BENCHMARK,
    work: Literal["rate", "test", "collect"],
    /,
    *runs: Path,
    name: str | None = None,
    overlap: int | None = None,
    scale: Annotated[str, IN_RATING] = "rating",
    models: Annotated[str | None, IN_RATING] = None,
    mode: Annotated[Literal["dialogue", "streaming"], IN_TEST] = "dialogue",
    split: Annotated[str | None, IN_TEST] = None,
    dialogues: Annotated[int, IN_COLLECTING] = 3,
    least_turns: Annotated[int, IN_COLLECTING] = 10,
    most_turns: Annotated[int, IN_COLLECTING] = 15,
    approve_first: Annotated[int, IN_COLLECTING] = 2,
    database: DATABASE = None,
) -> int:
    """Add a queue of other work: rating models' answers, taking the test, or collecting dialogues in pairs.

    `rate`: people rate models' answers on a judge's own scale, blind, so that judges can be calibrated. `test`: people
    answer the questions as a model does; their answers become the human row of the leaderboard. Reviewers know the
    answers, so let other people take the test. `collect`: pairs of people collect dialogues, as for VDAct; one asks
    without the video, the other answers with it. An owner makes the pairs on the page Pairs.

    Example: `reeltalk review add benchmarks/kitchen rate runs/qwen runs/intern --scale vdeval`, `reeltalk review add
    benchmarks/kitchen test --mode streaming --split test`, or `reeltalk review add benchmarks/kitchen collect`.

    Parameters
    ----------
    work
        rate, test or collect.
    runs
        For rate: runs of `evaluate` or `score` with the answers. Baselines and the oracle are left out.
    name
        Name of the queue in addresses; rating-SCALE, test-MODE or collect by default.
    overlap
        Number of people who rate each answer (2 by default) or answer each dialogue (1 by default).
    scale
        Name of a judging protocol that people can rate by, such as vdeval; rating (1 to 5); or a TOML file with your
        own scale. The error for an unknown name lists all names.
    models
        Comma-separated names of models; all by default.
    mode
        dialogue: after the clip; streaming: along dialogue paths, with the video up to each question.
    split
        Only videos of this split.
    dialogues
        Number of dialogues to collect about each video.
    least_turns
        Smallest number of questions of a dialogue.
    most_turns
        Largest number of questions of a dialogue.
    approve_first
        Number of first dialogues of each pair that need approval.
    """
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_review.collecting import KIND, CollectSettings, collecting_drafts
    from reeltalk_review.events import OPERATOR, transaction
    from reeltalk_review.importing import add_queue
    from reeltalk_review.tasks.answering import AnswerTask, answer_drafts
    from reeltalk_review.tasks.rating import RatingTask, load_scale, rating_drafts

    if runs and work != "rate":
        raise SettingError(f"review add {work} takes no runs")
    if overlap is not None and work == "collect":
        raise SettingError("--overlap is for rate and test; --dialogues says how many dialogues a video gets")
    check_counts(overlap=overlap, dialogues=dialogues)
    people, settings = {"rate": overlap or 2, "test": overlap or 1, "collect": dialogues}[work], None
    kind = {"rate": RatingTask.kind, "test": AnswerTask.kind, "collect": KIND}[work]
    if work == "rate":
        found, answers = load_scale(scale), _answers(runs, models)
    content = Benchmark.open(benchmark).content(boxes=False)
    if work == "rate":
        queue, title = f"rating-{found.name}", f"Rate answers: {found.source or found.name}"
        drafts = rating_drafts(answers, found, content=content)
    elif work == "test":
        queue, title, drafts = f"test-{mode}", f"Take the test: {mode}", answer_drafts(content, mode, split=split)
    else:
        chosen = {"least_turns": least_turns, "most_turns": most_turns, "approve_first": approve_first}
        settings = settings_of(CollectSettings, **chosen).model_dump(mode="json")
        if most_turns < least_turns:
            raise SettingError(f"--most-turns {most_turns}: it must be at least --least-turns {least_turns}")
        queue, title, drafts = work, "Collect dialogues", collecting_drafts(content)
    with open_project(benchmark, database) as project, transaction(project.database, OPERATOR) as change:
        count = add_queue(change, kind, name or queue, drafts, title=title, overlap=people, settings=settings)
    if work == "collect":
        print(f"{title}: {count:,} videos, {people} dialogues about each; an owner makes pairs on the page Pairs")
    else:
        print(f"{title}: {count:,} tasks; {people} {'person does' if people == 1 else 'people do'} each")
    return 0


def _answers(runs: Sequence[Path], models: str | None) -> "list[AnsweredTurn]":
    """The answers of runs that people rate: of the named models, or of all but baselines and the oracle."""
    from reeltalk.store.runs import read_run

    if not runs:
        raise SettingError("name at least one run whose answers people rate")
    wanted = {part.strip() for part in models.split(",")} if models is not None else None
    answers = []
    known: set[str] = set()
    for run in map(read_run, runs):
        floors = {info.model for info in run.info.models if info.source.startswith(("baseline:", "oracle"))}
        for turn in run.answers():
            known.add(turn.model)
            rated = turn.model in wanted if wanted is not None else turn.model not in floors
            if rated and not turn.epoch:
                answers.append(turn)
    if wanted is not None and (unknown := sorted(wanted - known)):
        raise SettingError(f"--models {unknown[0]}: the runs hold {', '.join(sorted(known)) or 'none'}")
    return answers


@review.command(sort_key=2)
def status(
    benchmark: BENCHMARK,
    /,
    *,
    verify: Annotated[bool, FLAG] = False,
    head: str | None = None,
    database: DATABASE = None,
) -> int:
    """Print how much of each queue is done, under way and left, without starting a server.

    With --verify, check instead that nobody changed the history of the review, and that all work follows from the
    history. This prints the checks and the end of the chain of events. Store that line elsewhere: if you pass it as
    --head later, it proves that nothing up to there was rewritten. Exit code 1 if something is wrong.

    Example: `reeltalk review status benchmarks/kitchen`, or `reeltalk review status benchmarks/kitchen --verify`.

    Parameters
    ----------
    verify
        Check the history of the review.
    head
        With --verify: the line that an earlier check printed after `head`, such as 412:9f2c….
    """
    if head is not None and not verify:
        raise SettingError("--head is for --verify")
    from reeltalk.schema.overview import aligned_table
    from reeltalk_review.team_stats import queue_table
    from reeltalk_review.verifying import verify_history

    if verify:
        with open_project(benchmark, database) as project:
            found = verify_history(project.database, head=head)
        print("\n".join(found.lines()))
        return 1 if found.findings else 0
    with open_project(benchmark, database) as project, project.database.reading() as session:
        rows = list(queue_table(session))
    if not rows:
        raise BenchmarkError(f"{benchmark} was not loaded for review yet; 'reeltalk review {benchmark}' does that")
    print(aligned_table(rows), end="")
    return 0


@review.command(sort_key=3)
def invite(
    benchmark: BENCHMARK,
    /,
    *,
    role: str = "annotator",
    note: NOTE = "",
    reset: str | None = None,
    address: str = ADDRESS,
    database: DATABASE = None,
) -> int:
    """Print a link with which one person can join, for example if the first owner's link was lost.

    With --reset, print a link with which a person who lost their password can choose a new one.

    Example: `reeltalk review invite benchmarks/kitchen --role owner`, or `reeltalk review invite benchmarks/kitchen
    --reset Ada`.

    Parameters
    ----------
    role
        owner, adjudicator, annotator or reader.
    reset
        User name of the person whose password is reset.
    address
        Address at which browsers reach the server.
    """
    from reeltalk_review.events import OPERATOR, transaction
    from reeltalk_review.people import INVITATION_DAYS, RESET_DAYS, make_reset
    from reeltalk_review.people import invite as make_invitation

    with open_project(benchmark, database) as project, transaction(project.database, OPERATOR) as change:
        if reset is None:
            page, token, days = "join", make_invitation(change, project.secret, role, note)[1], INVITATION_DAYS
        else:
            page, token, days = "reset", make_reset(change, project.secret, reset), RESET_DAYS
    print(f"{address.rstrip('/')}/{page}/{token}")
    say(f"good once, for {days} days")
    return 0


@review.command(sort_key=4)
def apply(
    benchmark: BENCHMARK,
    /,
    *,
    into: Annotated[Path | None, IN_OUTPUT] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
    database: DATABASE = None,
) -> int:
    """Write people's decisions as the next revision of the benchmark, in one write. Applying again changes nothing.

    Example: `reeltalk review apply benchmarks/kitchen --dry-run`, then without. Exit code 1 if settled work
    was set aside because it cannot be written; the rest is written.

    Parameters
    ----------
    into
        A copy that gets the decisions in place of the benchmark itself, for example of a release, which never changes.
        It is made if it is missing.
    dry_run
        Print every change, turn by turn, and write nothing.
    """
    from reeltalk_review.applying.stage import apply_reviews

    with open_project(benchmark, database) as project:
        applied = apply_reviews(project, into=into, dry_run=dry_run, progress=say, show=print)
    for line in applied.lines(into if into is not None else benchmark, dry_run=dry_run):
        print(line)
    return 1 if applied.aside else 0


@review.command(name=["export", "backup"], sort_key=5)
def export(
    benchmark: BENCHMARK,
    out: Path,
    /,
    *,
    only: Literal["ratings", "answers"] | None = None,
    person: int = 1,
    overwrite: Annotated[bool, OVERWRITE] = False,
    database: DATABASE = None,
) -> int:
    """Write the whole project as JSON Lines: people, queues, tasks, all work and its history. No passwords are written.

    People may keep working meanwhile; you get the project as it was at one moment. `review backup` is the same command.

    `--only ratings` writes the ratings that people gave to answers, for `reeltalk calibrate --human`. `--only answers`
    writes people's answers to the test, for `reeltalk evaluate --model human:FOLDER`.

    Example: `reeltalk review backup benchmarks/kitchen kitchen-review.zip`, `reeltalk review export benchmarks/kitchen
    people.jsonl --only ratings`, or `reeltalk review export benchmarks/kitchen people --only answers`.

    Parameters
    ----------
    out
        Folder to create, whole or not at all, or a file that ends with .zip; with `--only ratings` a JSON Lines file.
    only
        ratings or answers, in place of the whole project.
    person
        With `--only answers`: 1 for the first person who answered each dialogue, 2 for the second, and so on.
    overwrite
        With `--only ratings`: replace the file that is there.
    """
    if person != 1 and only != "answers":
        raise SettingError("--person is for --only answers")
    if overwrite and only != "ratings":
        raise SettingError("--overwrite is for --only ratings; choose another folder")
    from reeltalk_review.exporting import ZIP, export_project, export_to_zip

    with open_project(benchmark, database) as project:
        if only == "ratings":
            print(f"{_write_ratings(project, out, overwrite=overwrite):,} ratings: {out}")
        elif only == "answers":
            print(f"{_write_answers(project, out, person):,} answers by people: {out}")
        else:
            write = export_to_zip if out.suffix == ZIP else export_project
            with ProgressBar() as bar:
                manifest = write(project.database, out, progress=_progress_of(bar))
            rows = {name.removesuffix(".jsonl"): entry.rows for name, entry in manifest.files.items()}
            print(f"{out}: {', '.join(f'{count:,} {name}' for name, count in rows.items() if count)}")
    return 0


def _write_ratings(project: "ReviewProject", out: Path, *, overwrite: bool) -> int:
    from reeltalk.store.atomic import write_bytes
    from reeltalk_review.applying.collected import human_scores

    refuse_existing(out, overwrite=overwrite)
    with project.database.reading() as session:
        lines = [row.to_json() for row in human_scores(session)]
    if not lines:
        raise BenchmarkError("nobody's ratings are in yet; a dialogue counts once all its people have submitted")
    write_bytes(out, "".join(f"{line}\n" for line in lines).encode())
    return len(lines)


def _write_answers(project: "ReviewProject", into: Path, person: int) -> int:
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.tables import ANSWERS
    from reeltalk_review.applying.collected import HUMAN, human_answers

    check_counts(person=person)
    model = HUMAN if person == 1 else f"{HUMAN} {person}"
    with project.database.reading() as session:
        rows = [row for row in human_answers(session) if row.model == model]
    if not rows:
        raise BenchmarkError("nobody has handed in a test yet")
    refuse_existing(into, overwrite=False)
    with Benchmark.create(into).writing(stage="review answers") as writer:
        return writer.add(ANSWERS, rows)


@review.command(sort_key=6)
def restore(export: Path, /, *, into: Path, database: DATABASE = None) -> int:
    """Restore an exported project, here or on another machine or database. Its chain of events is verified.

    Example: `reeltalk review restore kitchen-review --into benchmarks/kitchen`, then `reeltalk review invite
    benchmarks/kitchen --reset Ada` for everybody who needs to sign in again.

    Parameters
    ----------
    export
        Folder or zip file that `reeltalk review export` or the page Backup wrote.
    into
        Folder of the benchmark that the project is about; its review must be empty.
    """
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_review.database import ReviewProject
    from reeltalk_review.exporting import opened_export, restore_project

    opened = Benchmark.open(into)
    project = ReviewProject.open(into, url=database)
    with contextlib.closing(project.database), opened_export(export) as folder, ProgressBar() as bar:
        manifest = restore_project(project.database, folder, progress=_progress_of(bar))
    rows = manifest.files["events.jsonl"].rows
    print(
        f"{manifest.project}: {rows:,} events, chain whole; nobody has a password yet: "
        "'reeltalk review invite --reset NAME'"
    )
    if manifest.content_hash != opened.manifest.content_hash:
        say(f"{into} is not the revision that the project was about: 'reeltalk review {into}' takes it over")
    return 0


def _progress_of(bar: ProgressBar) -> Callable[[str, int, int], None]:
    def show(what: str, done: int, total: int) -> None:
        bar.show(what, done, total, done / total if total else 1.0)

    return show


@contextlib.contextmanager
def open_project(benchmark: Path, database: str | None) -> "Iterator[ReviewProject]":
    """Open an existing project, without creating one. Its database is closed at the end.

    Raises:
        BenchmarkError: There is none.
    """
    from reeltalk_review.database import DATABASE as FILE
    from reeltalk_review.database import ReviewProject, folder_of

    if database is None and not (folder_of(benchmark) / FILE).is_file():
        raise BenchmarkError(f"{benchmark} is not under review; 'reeltalk review {benchmark}' begins one")
    project = ReviewProject.open(benchmark, url=database)
    with contextlib.closing(project.database):
        yield project
