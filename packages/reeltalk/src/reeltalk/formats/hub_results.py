"""A model's evaluation results in the Hub's format: `.eval_results/*.yaml` in the model's repository.

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
SHA: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class BenchmarkOnHub:
    """The data set whose leaderboard shows a result."""

    dataset: str
    """OWNER/NAME."""
    revision: str | None = None
    """Git hash of the data set."""
    date: str | None = None
    """Date of the evaluation in ISO 8601; by default the Hub takes the time of the commit."""
    source_url: str | None = None
    """The web page of the results."""


@dataclass(frozen=True)
class HubResult:
    """One number of a model."""

    task: str
    """A task of the benchmark."""
    value: float
    notes: str


def check_hub_benchmark(benchmark: BenchmarkOnHub) -> None:
    """Raise if the Hub would refuse the settings.

    Raises:
        SettingError: Names the option.
        MissingExtraError: The `hub` extra is not installed.
    """
    hub = _hub()
    try:
        hub.utils.validate_repo_id(benchmark.dataset)
        named = benchmark.dataset.count("/") == 1
    except hub.errors.HFValidationError:
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


def write_hub_results(results: Sequence[HubResult], benchmark: BenchmarkOnHub, repository: Path) -> Path:
    """Write a model's results into its repository; return the file.

    Raises:
        MissingExtraError: The `hub` extra is not installed.
    """
    hub = _hub()
    entries = [
        hub.EvalResultEntry(
            dataset_id=benchmark.dataset,
            task_id=result.task,
            value=result.value,
            dataset_revision=benchmark.revision,
            date=benchmark.date,
            source_url=benchmark.source_url,
            notes=result.notes,
        )
        for result in results
    ]
    path = repository / FOLDER / f"{as_file_stem(benchmark.dataset.split('/')[1], otherwise='results')}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    document = hub.eval_result_entries_to_yaml(entries)
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _hub() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.errors
        import huggingface_hub.utils
    except ImportError:
        raise MissingExtraError("writing results for the Hub", extra="hub") from None
    return huggingface_hub
