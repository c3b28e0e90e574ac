"""How far labels are from their target shares, and what is missing."""

from pathlib import Path

import pytest

from reeltalk.construct.balance import (
    Label,
    balanced_labels,
    count_labels,
    distance,
    even_targets,
    format_shortfalls,
    read_targets,
    shortfall,
)
from reeltalk.errors import InputError
from reeltalk.schema.dialogue import Turn

TYPES = "vdact.question_type"


def test_even_counts_are_no_distance_away_and_a_skew_is() -> None:
    targets = even_targets("types", [(TYPES, name) for name in ("D-AGT", "QNT")])
    assert distance({(TYPES, "D-AGT"): 4, (TYPES, "QNT"): 4}, targets) == 0
    assert distance({(TYPES, "D-AGT"): 8}, targets) == 0.5
    # A label that nobody wants counts against the rest.
    assert distance({(TYPES, "D-AGT"): 4, (TYPES, "QNT"): 4, (TYPES, "EXP"): 8}, targets) == 0.375


def test_a_label_that_runs_out_is_reported() -> None:
    targets = even_targets("types", [(TYPES, name) for name in ("D-AGT", "QNT")])
    agent, quantity = shortfall({(TYPES, "D-AGT"): 16, (TYPES, "QNT"): 4}, targets)
    assert (agent.count, agent.missing) == (16, 0)
    assert (quantity.count, quantity.share, quantity.missing) == (4, 0.2, 6)
    assert list(format_shortfalls([agent, quantity])) == [
        "balance: 1 labels are short of their target share",
        "  vdact.question_type QNT: 20.0% of 50.0%, 6 missing",
    ]


def test_several_labels_a_question_are_balanced_vocabulary_by_vocabulary() -> None:
    turn = Turn(
        question="q", labels={"cogme.target": ("Object", "Place"), "cogme.thinking": ("Recall",), TYPES: ("D-LOC",)}
    )
    labels = balanced_labels(turn, "tags")
    assert labels == {("cogme.target", "Object"), ("cogme.target", "Place"), ("cogme.thinking", "Recall")}
    targets = even_targets("tags")
    assert sum(share for (name, _), share in targets.items() if name == "cogme.thinking") == pytest.approx(1.0)
    found = {s.label: s for s in shortfall(count_labels([labels]), targets)}
    assert found["cogme.target", "Object"].share == 0.5
    assert found["cogme.thinking", "Reasoning"].missing == 1


def test_targets_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "targets.toml"
    path.write_text('[vdact.question_type]\n"D-AGT" = 0.5\nQNT = 0.3\n')
    targets: dict[Label, float] = read_targets(path, "types")
    assert targets == {(TYPES, "D-AGT"): pytest.approx(0.625), (TYPES, "QNT"): pytest.approx(0.375)}
    path.write_text('["vdact.question_type"]\nQNT = 1\n')
    assert read_targets(path, "types") == {(TYPES, "QNT"): 1.0}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[vdact.question_type]\nNOPE = 0.5", "unknown label"),
        ("[vdact.question_type]\nQNT = 1.5", "a share must be"),
        ("[vdact]\nquestion_type = 3", "a table of shares"),
        ("[other]\nx = 1", "no target shares"),
        ("[", "not TOML"),
    ],
)
def test_a_file_that_gives_no_targets_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "targets.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_targets(path, "types")
