"""`reeltalk review rate|test|collect`: other work on the same machinery, and what comes of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from reeltalk.cli.app import OVERWRITE, refuse_existing
from reeltalk.cli.reviewing import BENCHMARK, DATABASE, opened_project, review
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.schema.settings import check_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reeltalk.review.tasks.task import Draft


@review.command(sort_key=10)
def rate(
    benchmark: BENCHMARK,
    /,
    *runs: Path,
    scale: str = "rating",
    overlap: int = 2,
    models: str | None = None,
    name: str | None = None,
    database: DATABASE = None,
) -> int:
    """Let people rate models' answers on a judge's own scale, blind, so that judges can be calibrated.

    Example: `reeltalk review rate benchmarks/kitchen runs/qwen runs/intern --scale vdeval`

    Parameters
    ----------
    runs
        Whose answers: runs of `evaluate` or `score`. Baselines and the oracle are left out.
    scale
        Name of a judging protocol that people can rate by, as vdeval; rating (1 to 5); or a TOML file with your own.
        An unknown name is answered with all that there are.
    overlap
        How many people rate each answer.
    models
        Only these, with commas between.
    name
        Name of the queue in addresses; `rating-SCALE` by default.
    """
    from reeltalk.review.scales import scale_of
    from reeltalk.review.tasks.rating import RatingTask, rating_drafts
    from reeltalk.store.runs import read_run

    check_counts(overlap=overlap)
    if not runs:
        raise SettingError("name at least one run whose answers shall be rated")
    found = scale_of(scale)
    wanted = {part.strip() for part in models.split(",")} if models is not None else None
    answers = []
    known: set[str] = set()
    for run in map(read_run, runs):
        floors = {info.model for info in run.info.models if info.source.startswith(("baseline:", "oracle"))}
        for turn in run.answers():
            known.add(turn.model)
            if turn.model in wanted if wanted is not None else turn.model not in floors:
                answers.append(turn)
    if wanted is not None and (unknown := sorted(wanted - known)):
        raise SettingError(f"--models {unknown[0]}: the runs hold {', '.join(sorted(known)) or 'none'}")
    drafts = rating_drafts(answers, found)
    task = RatingTask()
    title = f"Rate answers: {found.source or found.name}"
    count = _add(benchmark, database, task.kind, name or f"rating-{found.name}", drafts, title=title, overlap=overlap)
    print(f"{count:,} dialogues of answers to rate, by {overlap} people each")
    return 0


@review.command(name="test", sort_key=11)
def take_test(
    benchmark: BENCHMARK,
    /,
    *,
    mode: Literal["dialogue", "streaming"] = "dialogue",
    split: str | None = None,
    overlap: int = 1,
    name: str | None = None,
    database: DATABASE = None,
) -> int:
    """Let people take the test: they answer the questions as a model does, and become the leaderboard's human row.

    Whoever reviewed the benchmark knows its answers: let others take the test.

    Example: `reeltalk review test benchmarks/kitchen --mode streaming --split test`

    Parameters
    ----------
    mode
        dialogue: after the clip; streaming: along dialogue paths, with the video up to each question.
    split
        Only videos of this split.
    overlap
        How many people take each dialogue.
    name
        Name of the queue in addresses; `test-MODE` by default.
    """
    from reeltalk.review.tasks.taking import TakingTask, drafts_of_test
    from reeltalk.store.benchmark import Benchmark

    check_counts(overlap=overlap)
    drafts = drafts_of_test(Benchmark.open(benchmark).content(), mode, split=split)
    title = f"Take the test: {mode}"
    count = _add(benchmark, database, TakingTask.kind, name or f"test-{mode}", drafts, title=title, overlap=overlap)
    print(f"{count:,} dialogues to answer")
    return 0


@review.command(sort_key=12)
def collect(
    benchmark: BENCHMARK,
    /,
    *,
    dialogues: int = 3,
    least_turns: int = 10,
    most_turns: int = 15,
    approve_first: int = 2,
    name: str = "collect",
    database: DATABASE = None,
) -> int:
    """Let pairs collect dialogues as VDAct's were: one asks without the video, the other answers with it.

    Example: `reeltalk review collect benchmarks/kitchen --dialogues 3`, then make pairs on the page Pairs.

    Parameters
    ----------
    dialogues
        How many dialogues are wanted about each video.
    least_turns
        Questions that a dialogue has at least.
    most_turns
        Questions that a dialogue has at most.
    approve_first
        How many of a pair's first dialogues await approval.
    name
        Name of the queue in addresses.
    """
    from reeltalk.cli.app import settings_of
    from reeltalk.review.collecting import KIND, CollectSettings, drafts_of_videos
    from reeltalk.store.benchmark import Benchmark

    check_counts(dialogues=dialogues)
    settings = settings_of(CollectSettings, least_turns=least_turns, most_turns=most_turns, approve_first=approve_first)
    if most_turns < least_turns:
        raise SettingError(f"--most-turns {most_turns}: it must be at least --least-turns {least_turns}")
    drafts = drafts_of_videos(Benchmark.open(benchmark).content())
    count = _add(
        benchmark,
        database,
        KIND,
        name,
        drafts,
        title="Collect dialogues",
        overlap=dialogues,
        settings=settings.model_dump(mode="json"),
    )
    print(f"{count:,} videos to talk about, {dialogues} dialogues each; an owner makes pairs on the page Pairs")
    return 0


@review.command(sort_key=13)
def ratings(
    benchmark: BENCHMARK,
    /,
    *,
    out: Path,
    overwrite: Annotated[bool, OVERWRITE] = False,
    database: DATABASE = None,
) -> int:
    """Write what people gave answers, for `reeltalk calibrate --human`.

    Example: `reeltalk review ratings benchmarks/kitchen --out people.jsonl`, then `reeltalk calibrate runs/qwen-judged
    --human people.jsonl`

    Parameters
    ----------
    out
        JSON Lines file that appears.
    overwrite
        Replace the file that is there.
    """
    from reeltalk.review.outcomes import human_scores
    from reeltalk.store.atomic import write_bytes

    refuse_existing(out, overwrite=overwrite)
    with opened_project(benchmark, database) as project, project.database.reading() as session:
        lines = [row.to_json() for row in human_scores(session)]
    if not lines:
        raise BenchmarkError("nobody's ratings are in yet; a dialogue counts once all its people have submitted")
    write_bytes(out, "".join(f"{line}\n" for line in lines).encode())
    print(f"{len(lines):,} ratings: {out}")
    return 0


@review.command(sort_key=14)
def answers(
    benchmark: BENCHMARK,
    /,
    *,
    into: Path,
    person: int = 1,
    database: DATABASE = None,
) -> int:
    """Write people's answers to the test, for `reeltalk evaluate --model human:FOLDER`.

    Example: `reeltalk review answers benchmarks/kitchen --into people`, then `reeltalk evaluate benchmarks/kitchen
    --model human:people --out runs/people`

    Parameters
    ----------
    into
        Folder that appears: a benchmark that holds answers alone.
    person
        1: the first who answered each dialogue; 2: the second, where several took the test.
    """
    from reeltalk.review.outcomes import HUMAN, human_answers
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.tables import ANSWERS

    check_counts(person=person)
    model = HUMAN if person == 1 else f"{HUMAN} {person}"
    with opened_project(benchmark, database) as project, project.database.reading() as session:
        rows = [row for row in human_answers(session) if row.model == model]
    if not rows:
        raise BenchmarkError("nobody has handed in a test yet")
    refuse_existing(into, overwrite=False)
    made = Benchmark.create(into)
    with made.writing(stage="review answers") as writer:
        writer.add(ANSWERS, rows)
    print(f"{len(rows):,} answers by people: {into}")
    return 0


def _add(
    benchmark: Path,
    database: str | None,
    kind: str,
    queue_id: str,
    drafts: "Sequence[Draft]",
    *,
    title: str,
    overlap: int,
    settings: dict[str, object] | None = None,
) -> int:
    from reeltalk.review.adding import add_queue
    from reeltalk.review.events import OPERATOR, changing

    with opened_project(benchmark, database) as project, changing(project.database, OPERATOR) as change:
        return add_queue(change, kind, queue_id, drafts, title=title, overlap=overlap, settings=settings)
