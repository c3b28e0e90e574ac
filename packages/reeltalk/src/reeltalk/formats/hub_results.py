"""Evaluation results in the Hub's format: `.eval_results/*.yaml` of a model, and `eval.yaml` of a benchmark.

Reference: https://huggingface.co/docs/hub/eval-results
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import yaml

from reeltalk.errors import MissingExtraError, SettingError
from reeltalk.formats.layout import as_file_stem

FOLDER: Final = ".eval_results"
TASK_FILE: Final = "eval.yaml"
SHA: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class ResultSource:
    """The web page of a result."""

    url: str
    name: str | None = None
    user: str | None = None
    org: str | None = None


@dataclass(frozen=True)
class BenchmarkOnHub:
    """The data set whose leaderboard shows a result."""

    dataset: str
    """OWNER/NAME."""
    revision: str | None = None
    """Git hash of the data set."""
    date: str | None = None
    """Date of the evaluation in ISO 8601; by default the Hub takes the time of the commit."""
    source: ResultSource | None = None


@dataclass(frozen=True)
class HubResult:
    """One number of a model."""

    task: str
    """A task of the benchmark's `eval.yaml`."""
    value: float
    notes: str


def check_hub_benchmark(benchmark: BenchmarkOnHub) -> None:
    """Raise if the Hub would refuse the settings.

    Raises:
        SettingError: Names the option.
        MissingExtraError: The `hub` extra is not installed.
    """
    errors = _hub().errors
    try:
        _hub().utils.validate_repo_id(benchmark.dataset)
        named = benchmark.dataset.count("/") == 1
    except errors.HFValidationError:
        named = False
    if not named:
        raise SettingError(f"--dataset {benchmark.dataset!r}: the Hub names data sets OWNER/NAME")
    if benchmark.revision is not None and not SHA.fullmatch(benchmark.revision):
        raise SettingError(f"--revision {benchmark.revision!r}: a revision is the 40 hexadecimal digits of a commit")
    if benchmark.date is not None:
        try:
            datetime.fromisoformat(benchmark.date)
        except ValueError:
            raise SettingError(f"--date {benchmark.date!r}: write a date as 2026-11-22, or with a time") from None


def write_results(results: Sequence[HubResult], benchmark: BenchmarkOnHub, repository: Path) -> Path:
    """Write a model's results into its repository.

    Returns:
        Path of the file.

    Raises:
        MissingExtraError: The `hub` extra is not installed.
    """
    hub = _hub()
    source = benchmark.source
    entries = [
        hub.EvalResultEntry(
            dataset_id=benchmark.dataset,
            task_id=result.task,
            value=result.value,
            dataset_revision=benchmark.revision,
            date=benchmark.date,
            source_url=source.url if source else None,
            source_name=source.name if source else None,
            source_user=source.user if source else None,
            source_org=source.org if source else None,
            notes=result.notes,
        )
        for result in results
    ]
    path = repository / FOLDER / f"{as_file_stem(benchmark.dataset.split('/')[1], otherwise='results')}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    _dump(hub.eval_result_entries_to_yaml(entries), path)
    return path


def write_benchmark(
    path: Path,
    tasks: Sequence[str],
    *,
    name: str,
    description: str,
    config: str,
    split: str,
    framework: str | None = None,
) -> None:
    """Write `eval.yaml`, which registers a data set as a benchmark.

    Args:
        path: The file.
        tasks: Identifiers of its leaderboards.
        name: Name for people.
        description: One sentence on its content.
        config: The part of the data set that is evaluated, such as `turns`.
        split: Its split.
        framework: The Hub's identifier of the evaluation framework. The Hub accepts only those on its list.
    """
    document: dict[str, Any] = {"name": name, "description": description}
    if framework is not None:
        document["evaluation_framework"] = framework
    document["tasks"] = [{"id": task, "config": config, "split": split} for task in tasks]
    _dump(document, path)


def _dump(document: Any, path: Path) -> None:
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    path.write_text(text, encoding="utf-8", newline="\n")


def _hub() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.errors
        import huggingface_hub.utils
    except ImportError:
        raise MissingExtraError("writing results for the Hub", extra="hub") from None
    return huggingface_hub
