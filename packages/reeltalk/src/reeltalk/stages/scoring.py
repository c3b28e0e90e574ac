"""Score: text metrics over answers that exist already, written as a run."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from reeltalk.analysis.values import format_quoted
from reeltalk.errors import BenchmarkError, MissingToolError, SettingError
from reeltalk.evaluation.answers import AnswerSet, answer_sets, expected_items, with_distinct_names
from reeltalk.evaluation.score import ScoredAnswers, score_sets
from reeltalk.evaluation.settings import ScoreSettings
from reeltalk.formats import load_format
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.progress import Tell, ignore_sentences
from reeltalk.stages.run import RunReport, missing_metric_lines, open_embedder
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.manifest import hash_source
from reeltalk.store.runs import Run, write_run


def score(
    *answers: Path | str,
    out: Path | str,
    settings: ScoreSettings | None = None,
    format: str | None = None,
    benchmark: Benchmark | None = None,
    model: str | None = None,
    meteor_jar: Path | None = None,
    overwrite: bool = False,
    tell: Tell = ignore_sentences,
) -> RunReport:
    """Score models' answers with text metrics, with intervals clustered by source video.

    Args:
        answers: Answer files or folders in a published layout, or benchmarks that hold answers.
        out: Folder of the run that appears.
        settings: Metrics, language and resampling.
        format: Layout of the answers; not needed for a benchmark.
        benchmark: Supplies questions and references, in place of those in the answer files.
        model: Name of the model; the file's stem by default.
        meteor_jar: Path of meteor-1.5.jar; by default that of an installed pycocoevalcap.
        overwrite: Replace the run that is there.
        tell: Receives a line before each model, and about each metric that is not available here.

    Raises:
        SettingError: A metric is unknown, or no layout is named.
        BenchmarkError: There are no answers to score, or `out` is taken.
        InputError: A source is missing or damaged.
        MissingToolError: `meteor_jar` cannot be run.
    """
    out, settings = Path(out), settings or ScoreSettings()
    if not answers:
        raise SettingError("score needs at least one file or folder of answers")
    if out.exists() and not overwrite and (not out.is_dir() or any(out.iterdir())):
        raise BenchmarkError(f"{out} exists and is not empty; choose another folder or pass --overwrite")
    known = benchmark.content(boxes=False) if benchmark else None
    sets: list[AnswerSet] = []
    warnings: list[str] = []
    for path in map(Path, answers):
        if (path / "manifest.json").is_file():
            content, sha256 = Benchmark.open(path).content(boxes=False), Benchmark.open(path).manifest.content_hash
        elif format is None:
            raise SettingError(f"{path} is no benchmark, so --format must name its layout, as '--format vdact'")
        else:
            layout, sha256 = load_format(format), hash_source(path)
            content = layout.read(path) if known is None else layout.read_answers(path, known)
        warnings += content.warnings
        sets += answer_sets(content, source=str(path), sha256=sha256, benchmark=known, model=model)
    with _meteor("meteor" in settings.metrics, meteor_jar, tell) as meteor:
        scored = score_sets(
            with_distinct_names(sets),
            settings,
            subject=f"{format or 'benchmark'}.answers",
            meteor=meteor,
            embedder=open_embedder(settings.metrics, tell),
            expected=expected_items(known, sets) if known else frozenset(),
            progress=tell,
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
    # Answers that a published file lacks are counted, and are no failure of ours.
    unscored = not any(row.n for row in scored.summary)
    return RunReport(
        Run(out, scored.info, scored.summary, scored.curves),
        complete=not unscored,
        text=tuple(_lines(scored)),
        warnings=(*warnings, *(["no metric could be scored; the lines above say why"] if unscored else [])),
    )


@contextlib.contextmanager
def _meteor(wanted: bool, jar: Path | None, tell: Tell) -> Iterator[MeteorProcess | MissingToolError | None]:
    """A running METEOR, or the reason why there is none."""
    if not wanted:
        yield None
        return
    try:
        process = MeteorProcess(jar=jar)
    except MissingToolError as missing:
        if jar is not None:
            raise
        tell(f"meteor is not scored: {missing}")
        yield missing
        return
    with process:
        yield process


def _lines(scored: ScoredAnswers) -> Iterable[str]:
    rows = {(row.model, row.metric): row for row in scored.summary}
    models = [info.model for info in scored.info.models]
    width = max(len(name) for name in models)
    widths = [max(12, len(metric) + 2) for metric in scored.info.metrics]
    yield " " * width + "".join(f"{metric:>{wide}}" for metric, wide in zip(scored.info.metrics, widths, strict=True))
    for model in models:
        values = [rows[model, metric].value for metric in scored.info.metrics]
        told = (
            "not scored" if value is None else format_quoted(value, metric).split(" on a scale")[0]
            for metric, value in zip(scored.info.metrics, values, strict=True)
        )
        cells = "".join(f"{text:>{wide}}" for text, wide in zip(told, widths, strict=True))
        yield f"{model:<{width}}{cells}"
    yield from missing_metric_lines(scored.info)
    for info in scored.info.models:
        notes = [
            f"{len(info.duplicates):,} duplicate ids (first row kept)" if info.duplicates else "",
            f"{len(info.missing):,} missing" if info.missing else "",
            f"{len(info.mismatched):,} with other wording than the first model's" if info.mismatched else "",
            *(f"{count:,} not scored: {reason}" for reason, count in info.not_scored.items()),
        ]
        if any(notes):
            yield f"{info.model}: {'; '.join(note for note in notes if note)}"
