"""Turns that an attacker answers are too easy."""

import pytest

from reeltalk.schema.gates import GateResult, GateUnit
from reeltalk_build.construct.difficulty import Item, check_difficulty

UNITS: dict[str, GateUnit] = {"d1": "dialogue", "d2": "dialogue", "c1": "chain"}


def outcomes(found: list[GateResult]) -> dict[tuple[str, int | None], tuple[str, float | None]]:
    return {(row.unit_id, row.turn_index): (row.outcome.value, row.value) for row in found}


def test_one_attacker_is_enough_and_the_one_that_sees_least_is_named() -> None:
    attackers: dict[str, dict[Item, bool | None]] = {
        "a model that has only the text": {("c1", 0): False, ("c1", 1): False, ("d1", 1): False},
        "a model that sees one frame": {("c1", 0): True, ("c1", 1): False, ("d1", 1): False},
        "the attacker small": {("c1", 0): True, ("c1", 1): None, ("d1", 1): False},
    }
    found = {(row.unit_id, row.turn_index): row for row in check_difficulty(attackers, UNITS)}
    easy = found["c1", 0]
    assert (str(easy.unit), easy.outcome.value) == ("chain", "flagged")
    assert easy.value == pytest.approx(2 / 3)
    assert easy.reason == "a model that sees one frame answers it correctly"
    assert easy.extra["right"] == ["a model that sees one frame", "the attacker small"]
    assert found["c1", 1].outcome.value == "unchecked"
    assert "the attacker small" in str(found["c1", 1].reason)
    assert found["d1", 1].outcome.value == "passed"
    assert found["d1", 1].value == 0.0
    assert list(found) == [("d1", 1), ("c1", 0), ("c1", 1)]


def test_what_nobody_could_compare_is_unchecked() -> None:
    found = check_difficulty({"x": {("d1", 0): None}}, UNITS)
    assert outcomes(found) == {("d1", 0): ("unchecked", None)}
    assert check_difficulty({"x": {("other", 0): True}}, UNITS) == []
