"""Figures of the benchmark of streams, from made-up measurements."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reeltalk.errors import InputError
from streaming_figure import POLICIES, QUANTITIES, read_figures, write_images

MINUTES = (1, 10, 60)


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    slopes = {"bounded": (1.0, 0.0), "all": (1.0, 0.1), "reading again": (3.0, 3.0)}
    figures = {
        f"{minutes} min, {policy}: {quantity.name}": 20 * (start + minutes * slope)
        for quantity in QUANTITIES
        for policy, (start, slope) in slopes.items()
        for minutes in MINUTES
        if policy != "reading again" or quantity.name == "answer, ms"
    }
    figures |= {"bounded: answer, ms, 60 min over 1 min": 1.0, "1 min, all: times faster": 7.0}
    path = tmp_path / "streaming.json"
    path.write_text(json.dumps({"name": "streaming", "figures": figures}), encoding="utf-8")
    return path


def test_measurements_are_found_by_quantity_policy_and_length(measured: Path) -> None:
    found = read_figures(measured)
    assert set(found) == {*(quantity.name for quantity in QUANTITIES), "times faster"}
    assert {at: value.value for at, value in found["answer, ms"]["all"].items()} == {60: 22.0, 600: 40.0, 3600: 140.0}
    assert set(found["memory, MB"]) == {"all", "bounded"}


def test_each_quantity_is_a_figure_on_a_ground_of_its_own(measured: Path, tmp_path: Path) -> None:
    written = write_images(measured, tmp_path / "images")
    assert [path.name for path in written] == ["streaming-frame.svg", "streaming-answer.svg", "streaming-memory.svg"]
    for path in written:
        root = ElementTree.parse(path).getroot()
        words = "".join(root.itertext())
        assert root[1].get("fill") == "#fff"
        assert "length of the video (min)" in words
        named = [name for name in POLICIES.values() if name in words]
        assert len(named) == (3 if "answer" in path.name else 2)
    again = write_images(measured, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"figures": 3}', '{"figures": {"1 min, all: rain": 1}}', '{"figures": {"a": 1}}']
)
def test_a_file_without_measurements_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "streaming.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"streaming\.json"):
        write_images(path, tmp_path / "images")
    assert not (tmp_path / "images").exists()
    with pytest.raises(InputError, match="run that first"):
        write_images(tmp_path / "nowhere.json", tmp_path / "images")
