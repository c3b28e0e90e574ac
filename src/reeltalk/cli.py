"""The command line: one function a command, each parses, calls and prints.

Stages are imported inside their command, so that `reeltalk --help` is quick and extras stay optional.
"""

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Group, Parameter

from reeltalk import __version__
from reeltalk.curate.settings import CurateSettings
from reeltalk.errors import BenchmarkError, ReeltalkError, SettingError
from reeltalk.formats import FORMATS

if TYPE_CHECKING:
    from reeltalk.schema.outcomes import StageReport

USER_ERROR = 2
INTERRUPTED = 130

app = App(
    name="reeltalk",
    help="Build and run benchmarks of multi-turn dialogue about video.",
    version=__version__,
    help_format="markdown",
    group_commands=Group("Commands, in the order one uses them", sort_key=0),
)

CURATE_DEFAULTS = CurateSettings()
LAYOUT = Parameter(help=f"Layout: {', '.join(FORMATS)}.")
ACCEPT = Parameter(name="--accept-licence", negative="")
OVERWRITE = Parameter(name="--overwrite", negative="")


def main() -> None:
    """Run the command line and exit: 0 done, 1 findings, 2 the user must act, 130 interrupted."""
    try:
        code = run(sys.argv[1:])
        # A reader such as `head` may be gone; find out here, where it can be handled.
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Args:
        arguments: As typed after `reeltalk`.

    Returns:
        The exit code.
    """
    try:
        result = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        # A settings model is checked by pydantic, whose own words are for programmers.
        problem = _setting_problem(error.__cause__ or error.__context__)
        if problem is not None:
            return _complain(problem)
        return _complain(f"{_sentence(str(error))}; 'reeltalk --help' lists the commands")
    except ReeltalkError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        print("interrupted; nothing is half-written, run the same command to go on", file=sys.stderr)
        return INTERRUPTED
    return result if isinstance(result, int) else 0


def _complain(message: str) -> int:
    # One paragraph: a file's name or a value may hold line feeds and control characters.
    line = "".join(c if c.isprintable() else " " for c in " ".join(message.split()))
    print(f"reeltalk: {line}", file=sys.stderr)
    return USER_ERROR


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return (words[:1].lower() + words[1:]).rstrip(".")


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _report(report: "StageReport") -> None:
    for line in report.lines():
        print(line)


@app.command(sort_key=1)
def fetch(
    dataset: Literal["vdact", "svbench", "mt-video-bench", "dramaqa"],
    /,
    *,
    into: Path,
    source: Annotated[Path | None, Parameter(name="--from")] = None,
    repo: str | None = None,
    endpoint: str | None = None,
    revision: str | None = None,
    accept_licence: Annotated[bool, ACCEPT] = False,
) -> int:
    """Bring a published data set here: licence shown and accepted, resumable, every file hashed.

    Example: `reeltalk fetch svbench --into data/svbench --accept-licence`

    Parameters
    ----------
    dataset
        Which data set.
    into
        Folder that receives it; run again to go on after an interruption.
    source
        A local folder to take it from, in place of the Hub.
    repo
        Repository on the hub, OWNER/NAME, where it is not the one we know.
    endpoint
        Address of a hub of the same protocol.
    revision
        Branch, tag or commit; the newest by default.
    accept_licence
        Accept the licence without being asked.
    """
    from reeltalk.formats import fetch as fetching

    report = fetching.fetch(
        dataset,
        into=into,
        source=source,
        repo=repo,
        endpoint=endpoint,
        revision=revision,
        accept_licence=True if accept_licence else _ask_licence,
        progress=_say,
    )
    for line in report.lines():
        print(line)
    return 0


def _ask_licence(text: str) -> bool:
    print(text)
    if not sys.stdin.isatty():
        return False
    return input("Do you accept these terms? Type 'yes' to go on: ").strip().lower() == "yes"


@app.command(name="import", sort_key=2)
def import_(
    format: Annotated[str, LAYOUT],
    source: Path,
    benchmark: Path,
    /,
    *,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Read a published layout into a benchmark.

    Example: `reeltalk import vdact VDAct/ benchmarks/vdact`

    Parameters
    ----------
    format
        Name of the layout.
    source
        The release's folder, a part of it, or one of its files.
    benchmark
        Folder of the benchmark that appears.
    overwrite
        Replace what the benchmark holds.
    """
    from reeltalk.formats.registry import load_format
    from reeltalk.schema.outcomes import StageReport
    from reeltalk.store.benchmark import Benchmark

    layout = load_format(format)
    stage, parents = f"import {format}", {"source": _hash_source(source)}
    if (benchmark / "manifest.json").is_file() or (benchmark / ".commit").is_dir():
        existing = Benchmark.open(benchmark)
        entries = list(existing.manifest.files.values())
        if entries and all((e.stage, e.parents, e.version) == (stage, parents, __version__) for e in entries):
            print(f"{benchmark} is up to date with {source}")
            return 0
        if entries and not overwrite:
            raise BenchmarkError(f"{benchmark} holds {_counts(existing)}; pass --overwrite to replace that")
    content = layout.read(source)
    target = Benchmark.create(benchmark)
    counts = target.write_content(content, stage=stage, parents=parents)
    if content.graphs:
        counts["graphs"] = len(content.graphs)
    _report(StageReport(stage=stage, counts=counts, rejected=tuple(content.rejected), warnings=tuple(content.warnings)))
    return 0


def _counts(benchmark: Any) -> str:
    counts = [f"{entry.rows:,} {Path(name).stem}" for name, entry in benchmark.manifest.files.items() if entry.rows]
    return ", ".join(counts) or "files"


@app.command(sort_key=2)
def curate(
    *videos: Path,
    into: Path,
    workers: int | None = None,
    settings: Annotated[CurateSettings, Parameter(name="*")] = CURATE_DEFAULTS,
) -> int:
    """Filter videos, split them into clips and choose key frames, in one pass over the pixels.

    Example: `reeltalk curate raw/ --into benchmarks/kitchen --splits train=0.8,test=0.2`. Run it again to go on after
    an interruption.

    Parameters
    ----------
    videos
        Video files, and folders to search. `NAME.info.json` or `NAME.json` beside a video may state its licence,
        source, category and split.
    into
        Folder of the benchmark that appears.
    workers
        Videos that are decoded at a time; by default one for each core.
    """
    from reeltalk.curate.stage import curate as run_stage
    from reeltalk.parallel import LocalExecutor
    from reeltalk.store.benchmark import Benchmark

    if not videos:
        raise SettingError("curate needs at least one video or folder of videos")
    if workers is not None and workers < 1:
        raise SettingError(f"--workers {workers}: at least one is needed")
    benchmark = Benchmark.create(into)
    with _Bar() as bar:
        done = run_stage(videos, benchmark, settings, executor=LocalExecutor(workers), progress=bar.show)
    _report(done)
    print(f"benchmark: {into}")
    return 0


class _Bar:
    """Progress with the time that is left: a line that moves on a terminal, now and then a line elsewhere."""

    EVERY_S = 10.0

    def __init__(self) -> None:
        self._what, self._last_s = "", 0.0
        self._bar: Any = None

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, what: str, done: int, total: int, share: float) -> None:
        """Show how far a part of the work is."""
        from tqdm import tqdm

        if not sys.stderr.isatty():
            now_s = time.monotonic()
            if what != self._what or done == total or now_s - self._last_s > self.EVERY_S:
                _say(f"{what}: {done:,} of {total:,}")
                self._last_s = now_s
            self._what = what
            return
        if what != self._what:
            self.__exit__()
            layout = "{desc} |{bar}| {percentage:3.0f} % [{elapsed} gone, {remaining} left]"
            self._what = what
            self._bar = tqdm(total=1.0, file=sys.stderr, bar_format=layout, dynamic_ncols=True)
        assert self._bar is not None
        self._bar.set_description_str(f"{what}: {done:,} of {total:,}", refresh=False)
        self._bar.n = share
        self._bar.refresh()


@app.command(sort_key=3)
def validate(benchmark: Path, /, *, limit: int = 50) -> int:
    """Check a benchmark: files whole, identifiers unique, references resolved, times and splits consistent.

    Example: `reeltalk validate benchmarks/vdact`. Exit code 1 where there are errors.

    Parameters
    ----------
    benchmark
        Folder of the benchmark.
    limit
        Findings shown.
    """
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.validate import validate as find

    opened = Benchmark.open(benchmark)
    findings = find(opened)
    for finding in findings[:limit]:
        print(finding)
    if len(findings) > limit:
        print(f"… and {len(findings) - limit:,} more; --limit shows them")
    errors = sum(finding.severity == "error" for finding in findings)
    print(f"{benchmark}: {_counts(opened)}; {errors:,} errors, {len(findings) - errors:,} warnings")
    return 1 if errors else 0


@app.command(sort_key=4)
def freeze(benchmark: Path, release: Path, /, *, version: str, title: str | None = None) -> int:
    """Write an immutable release with a card: counts, licences, splits, a canary, dropped items with reasons.

    Example: `reeltalk freeze benchmarks/kitchen releases/kitchen-1.0.0 --version 1.0.0`

    Parameters
    ----------
    benchmark
        Folder of the benchmark; it must validate.
    release
        Folder of the release that appears.
    version
        Version of the release, as 1.0.0.
    title
        Heading of the card; the benchmark's name by default.
    """
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.release import CARD
    from reeltalk.store.release import freeze as write_release

    frozen = write_release(Benchmark.open(benchmark), release, version=version, title=title)
    print(f"release {version} of {_counts(frozen)}: {release / CARD}")
    return 0


@app.command(sort_key=5)
def export(
    format: Annotated[str, LAYOUT],
    benchmark: Path,
    out: Path,
    /,
    *,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Write a benchmark in a published layout; says what the layout cannot express.

    Example: `reeltalk export hub benchmarks/vdact out/vdact-hub`

    Parameters
    ----------
    format
        Name of the layout.
    benchmark
        Folder of the benchmark.
    out
        Folder that appears.
    overwrite
        Replace the folder that is there.
    """
    from reeltalk.formats.registry import load_format
    from reeltalk.store.atomic import writing_directory
    from reeltalk.store.benchmark import Benchmark

    layout = load_format(format)
    opened = Benchmark.open(benchmark)
    content = opened.content()
    pictures = sum("/" in name and not name.startswith("graphs/") for name in opened.manifest.files)
    with writing_directory(out, overwrite=overwrite) as folder:
        lost = layout.write(content, folder)
        lost += [f"contact sheets and saved key frames are left out: {pictures:,}"] if pictures else []
        files = sum(path.is_file() for path in folder.rglob("*"))
    for line in lost:
        print(f"not expressed: {line}")
    print(f"{files:,} files in {out}")
    return 0


@app.command(sort_key=6)
def score(
    *answers: Path,
    out: Path,
    format: str | None = None,
    metrics: str = "bleu,meteor,rouge_l,cider",
    bench: Path | None = None,
    model: str | None = None,
    language: Literal["auto", "en", "zh"] = "auto",
    meteor_jar: Annotated[Path | None, Parameter(env_var="REELTALK_METEOR_JAR")] = None,
    resamples: int = 1000,
    seed: int = 17,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Score models' answers with text metrics, with intervals clustered by source video.

    Example: `reeltalk score results/*.json --format vdact --metrics bleu,rouge_l,cider --out runs/first`

    Parameters
    ----------
    answers
        Answer files or folders in a published layout, or benchmarks that hold answers.
    out
        Folder of the run that appears.
    format
        Layout of the answers; not needed for a benchmark.
    metrics
        Comma-separated: bleu, meteor, rouge_l, cider, token_f1, exact_match, similarity.
    bench
        Benchmark that supplies questions and references, in place of those in the answer files.
    model
        Name of the model; the file's stem by default.
    language
        Language of the answers, which decides the tokeniser.
    meteor_jar
        Path of meteor-1.5.jar; by default that of an installed pycocoevalcap.
    resamples
        Bootstrap resamples behind each interval.
    seed
        Seed of the resampling.
    overwrite
        Replace the run that is there.
    """
    from reeltalk.evaluate.answers import AnswerSet, answer_sets, expected_items, with_distinct_names
    from reeltalk.evaluate.score import score as compute
    from reeltalk.evaluate.settings import ScoreSettings
    from reeltalk.formats.registry import load_format
    from reeltalk.inference.embedding import SentenceEmbedder
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.runs import INFO, write_run

    if not answers:
        raise SettingError("score needs at least one file or folder of answers")
    if out.exists() and not overwrite and (not out.is_dir() or any(out.iterdir())):
        raise BenchmarkError(f"{out} exists and is not empty; choose another folder or pass --overwrite")
    names = tuple(name.strip() for name in metrics.split(",") if name.strip())
    settings = _settings(ScoreSettings, metrics=names, language=language, resamples=resamples, seed=seed)
    benchmark = Benchmark.open(bench).content() if bench else None
    sets: list[AnswerSet] = []
    warnings: list[str] = []
    for path in answers:
        if (path / "manifest.json").is_file():
            content, sha256 = Benchmark.open(path).content(), Benchmark.open(path).manifest.content_hash
        elif format is None:
            raise SettingError(f"{path} is no benchmark, so --format must name its layout, as '--format vdact'")
        else:
            content, sha256 = load_format(format).read(path), _hash_source(path)
        warnings += content.warnings
        sets += answer_sets(content, source=str(path), sha256=sha256, benchmark=benchmark, model=model)
    expected = expected_items(benchmark, sets) if benchmark else frozenset()
    scored = _with_meteor(
        "meteor" in names,
        meteor_jar,
        lambda process: compute(
            with_distinct_names(sets),
            settings,
            subject=f"{format or 'benchmark'}.answers",
            meteor=process,
            embedder=SentenceEmbedder() if "similarity" in names else None,
            expected=expected,
            progress=_say,
        ),
    )
    write_run(
        out,
        scored.info,
        answers=scored.answers,
        items=scored.items,
        summary=scored.summary,
        curves=scored.curves,
        overwrite=overwrite,
    )
    _print_scores(scored, warnings)
    print(f"run: {out / INFO}")
    return 0


def _settings(model: Any, **values: Any) -> Any:
    from pydantic import ValidationError

    try:
        return model(**values)
    except ValidationError as error:
        raise SettingError(str(_setting_problem(error))) from None


def _setting_problem(error: BaseException | None) -> str | None:
    """What is wrong with an option, where a settings model refused it."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return None
    first = error.errors(include_url=False)[0]
    problem = _sentence(first["msg"].removeprefix("Value error, "))
    if not first["loc"]:
        return problem
    return f"--{str(first['loc'][0]).replace('_', '-')} {first['input']!r}: {problem}"


def _with_meteor(wanted: bool, jar: Path | None, compute: Callable[[Any], Any]) -> Any:
    """Run `compute` with a warm METEOR, or with the reason why there is none."""
    if not wanted:
        return compute(None)
    from reeltalk.errors import MissingToolError
    from reeltalk.metrics.meteor import MeteorProcess

    try:
        process = MeteorProcess(jar=jar)
    except MissingToolError as missing:
        if jar is not None:
            raise
        _say(f"meteor is not scored: {missing}")
        return compute(missing)
    with process:
        return compute(process)


def _hash_source(source: Path) -> str:
    """One hash of a file, or of a folder's file names and contents."""
    from reeltalk.errors import InputError
    from reeltalk.store.documents import visible_files
    from reeltalk.store.manifest import hash_file

    if not source.exists():
        raise InputError("no such file or folder", file=source, hint="check the path")
    try:
        if source.is_file():
            return hash_file(source)[0]
        digest = hashlib.sha256()
        for path in visible_files(source):
            digest.update(f"{hash_file(path)[0]}  {path.relative_to(source).as_posix()}\n".encode())
        return digest.hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=error.filename or source) from None


def _print_scores(scored: Any, warnings: Iterable[str]) -> None:
    rows = {(row.model, row.metric): row for row in scored.summary}
    models = [info.model for info in scored.info.models]
    width = max(len(name) for name in models)
    print(" " * width + "".join(f"{metric:>12}" for metric in scored.info.metrics))
    for model in models:
        values = [rows[model, metric].value for metric in scored.info.metrics]
        cells = "".join(f"{'not scored':>12}" if value is None else f"{value:>12.4f}" for value in values)
        print(f"{model:<{width}}{cells}")
    for info in scored.info.models:
        notes = [
            f"{len(info.duplicates):,} duplicate ids (first row kept)" if info.duplicates else "",
            f"{len(info.missing):,} missing" if info.missing else "",
            f"{len(info.mismatched):,} with other wording than the first model's" if info.mismatched else "",
            *(f"{count:,} not scored: {reason}" for reason, count in info.not_scored.items()),
        ]
        if any(notes):
            print(f"{info.model}: {'; '.join(note for note in notes if note)}")
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


@app.command(sort_key=7)
def report(
    *runs: Path,
    out: Path | None = None,
    format: Literal["html", "json", "csv", "latex", "markdown"] = "html",
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Write runs, or a curated benchmark, as a static site; runs also as a table on standard output.

    Example: `reeltalk report runs/first runs/second --out site`, or `reeltalk report benchmarks/kitchen --out site`

    Parameters
    ----------
    runs
        Folders that `score` wrote, or one benchmark that `curate` wrote.
    out
        Folder of the site that appears; for the other formats the file, or standard output where it is not given.
    format
        html writes a site that opens from disk; the others write the leaderboard.
    overwrite
        Replace what is there.
    """
    from reeltalk.report.stage import render_table, write_curation_report, write_report
    from reeltalk.store.atomic import write_bytes, writing_directory
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.runs import read_run

    if not runs:
        raise SettingError("report needs at least one run; 'reeltalk score' writes them")
    benchmarks = [path for path in runs if (path / "manifest.json").is_file()]
    if benchmarks and (len(runs) > 1 or format != "html"):
        raise SettingError(f"{benchmarks[0]} is a benchmark: its report is a site of its own, from it alone")
    opened = [] if benchmarks else [read_run(path) for path in runs]
    if format == "html":
        if out is None:
            raise SettingError("report needs --out DIR, the folder of the site")
        if overwrite and out.exists() and not (out / "index.html").is_file() and (out.is_file() or any(out.iterdir())):
            raise BenchmarkError(f"{out} holds something that is no report, so --overwrite does not replace it")
        with writing_directory(out, overwrite=overwrite) as folder:
            if benchmarks:
                write_curation_report(Benchmark.open(benchmarks[0]), folder)
            else:
                write_report(opened, folder)
        print(f"report: {out / 'index.html'}")
        return 0
    table = render_table(opened, format)
    if out is None:
        print(table, end="" if table.endswith("\n") else "\n")
        return 0
    if out.is_dir():
        out = out / f"leaderboard.{ {'latex': 'tex', 'markdown': 'md'}.get(format, format) }"
    elif out.exists() and not overwrite:
        raise BenchmarkError(f"{out} exists; choose another file or pass --overwrite")
    write_bytes(out, table.encode())
    print(f"report: {out}")
    return 0
