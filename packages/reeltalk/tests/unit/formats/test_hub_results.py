"""Evaluation results as the Hub keeps them, written and read back by huggingface_hub's own parser."""

from pathlib import Path

import huggingface_hub
import pytest
import yaml

from reeltalk.errors import SettingError
from reeltalk.formats.hub_results import (
    BenchmarkOnHub,
    HubResult,
    check_hub_benchmark,
    write_hub_results,
)

REVISION = "5503434ddd753f426f4b38109466949a1217c2bb"


def test_the_hubs_parser_reads_back_what_was_written(tmp_path: Path) -> None:
    benchmark = BenchmarkOnHub("me/kitchen", REVISION, "2026-11-22", "https://example.org/report")
    path = write_hub_results([HubResult("agree", 23.5, "n = 2: ü"), HubResult("words", 0.25, "x")], benchmark, tmp_path)
    assert path == tmp_path / ".eval_results" / "kitchen.yaml"
    first, second = huggingface_hub.parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert (first.dataset_id, first.task_id, first.value, first.notes) == ("me/kitchen", "agree", 23.5, "n = 2: ü")
    assert (first.dataset_revision, first.date, first.source_url) == (REVISION, "2026-11-22", benchmark.source_url)
    assert (second.task_id, second.value) == ("words", 0.25)


def test_the_file_has_the_keys_of_the_specification_and_no_others(tmp_path: Path) -> None:
    path = write_hub_results([HubResult("agree", 23.5, "n = 2")], BenchmarkOnHub("me/kitchen"), tmp_path)
    assert yaml.safe_load(path.read_text(encoding="utf-8")) == [
        {"dataset": {"id": "me/kitchen", "task_id": "agree"}, "value": 23.5, "notes": "n = 2"}
    ]


@pytest.mark.parametrize("dataset", ["kitchen", "a/b/c", "/kitchen", "me/", "me/kit chen", "me/--", ""])
def test_what_is_no_name_of_a_data_set_is_refused(dataset: str) -> None:
    with pytest.raises(SettingError, match="OWNER/NAME"):
        check_hub_benchmark(BenchmarkOnHub(dataset))


def test_revision_and_date_have_their_form() -> None:
    check_hub_benchmark(BenchmarkOnHub("me/kitchen", REVISION, "2026-11-22T10:30:00+00:00"))
    with pytest.raises(SettingError, match="40 hexadecimal"):
        check_hub_benchmark(BenchmarkOnHub("me/kitchen", "main"))
    with pytest.raises(SettingError, match="2026-11-22"):
        check_hub_benchmark(BenchmarkOnHub("me/kitchen", None, "last week"))
