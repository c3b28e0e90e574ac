"""Figures of the benchmark of streams, from made-up measurements."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reeltalk.errors import InputError
from streaming_figure import POLICIES, QUANTITIES, read_figures, write_images

LENGTHS_S = (60, 600, 3600)


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    slopes = {"bounded": (1.0, 0.0), "unbounded": (1.0, 1 / 600), "reencoding": (3.0, 1 / 20)}
    figures = {
        f"{quantity.name}/{policy}/{seconds}": (start + seconds * slope) * (2e7 if "bytes" in quantity.name else 0.02)
        for quantity in QUANTITIES
        for policy, (start, slope) in slopes.items()
        for seconds in LENGTHS_S
        if not (policy == "reencoding" and quantity.name in ("memory_bytes", "frame_s"))
    }
    figures |= {"answer_s/bounded/60/low": 0.01, "answer_s/bounded/60/high": 0.03, "speed-up": 12.5}
    path = tmp_path / "streaming.json"
    path.write_text(json.dumps({"name": "streaming", "figures": figures}), encoding="utf-8")
    return path


def test_measurements_are_found_by_quantity_policy_and_length(measured: Path) -> None:
    found = read_figures(measured)
    assert set(found) == {quantity.name for quantity in QUANTITIES}
    answers = found["answer_s"]
    assert list(answers["unbounded"]) == list(map(float, LENGTHS_S))
    assert (answers["bounded"][60.0].low, answers["bounded"][60.0].high) == (0.01, 0.03)


def test_each_quantity_is_a_figure_on_a_ground_of_its_own(measured: Path, tmp_path: Path) -> None:
    pytest.importorskip("cssselect2", reason="the figures extra is not installed")
    written = write_images(measured, tmp_path / "images")
    assert [path.name for path in written] == [
        "streaming-frame.svg", "streaming-first-token.svg", "streaming-answer.svg", "streaming-memory.svg",
    ]  # fmt: skip
    for path in written:
        root = ElementTree.parse(path).getroot()
        words = "".join(root.itertext())
        assert root[1].get("fill") == "#fff"
        assert "length of the video (min)" in words
        named = [name for name in POLICIES.values() if name in words]
        assert len(named) == (2 if "memory" in path.name or "frame" in path.name else 3)
    again = write_images(measured, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


@pytest.mark.parametrize("content", ["", "[]", '{"figures": 3}', '{"figures": {"a/b/c": 1}}', '{"figures": {"a": 1}}'])
def test_a_file_without_measurements_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "streaming.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"streaming\.json"):
        write_images(path, tmp_path / "images")
    assert not (tmp_path / "images").exists()
    with pytest.raises(InputError, match="run that first"):
        write_images(tmp_path / "nowhere.json", tmp_path / "images")
