"""Faults as models write them, one a kind, by somebody who had not read the rules; good drafts that look alike."""

import json
from pathlib import Path
from typing import Any

from fault_rates import check

DRAFTS: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("faults_of_models.json").read_text(encoding="utf-8")
)
LEAST_CAUGHT = 0.9


def test_most_kinds_of_faults_are_found_without_a_judge() -> None:
    clean = [draft["kind"] for draft in DRAFTS["faults"] if check(draft, judged=False)[0] == "clean"]
    assert len(clean) <= (1 - LEAST_CAUGHT) * len(DRAFTS["faults"]), clean


def test_good_drafts_that_look_alike_are_left_alone() -> None:
    touched = {draft["id"]: found for draft in DRAFTS["good"] if (found := check(draft, judged=False)[1])}
    assert touched == {}


def test_a_truthful_judge_removes_what_is_untrue() -> None:
    good = DRAFTS["good"][0]
    untrue = good | {"faulty_turn": 1, "turns": [good["turns"][0], good["turns"][1] | {"true": False}]}
    assert check(untrue, judged=False)[0] == "clean"
    assert check(untrue, judged=True)[0] == "acted on"
