"""How far labels are from their target shares, and what is missing."""

from collections import Counter
from pathlib import Path
from typing import Literal

import pytest

from reeltalk.errors import InputError
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.labels import VOCABULARIES
from reeltalk.schema.media import Clip
from reeltalk.schema.record import ClipId
from reeltalk_build.construct.balance import (
    BALANCED,
    UNWANTED,
    Balance,
    Label,
    balanced_labels,
    count_labels,
    distance,
    even_targets,
    format_shortfalls,
    preferred_between,
    preferred_labels,
    read_targets,
    shortfall,
)
from reeltalk_build.construct.settings import ConstructSettings

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
        ("a = " + "9" * 5000, "not TOML"),
    ],
)
def test_a_file_that_gives_no_targets_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "targets.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_targets(path, "types")


def clips(count: int) -> list[Clip]:
    return [Clip(id=ClipId(f"c{n}"), video_id=f"v{n // 4}") for n in range(count)]


@pytest.mark.parametrize(("balance", "each"), [("types", 3), ("tags", 1)])
def test_labels_are_dealt_evenly_and_no_clip_gets_one_twice(balance: Balance, each: int) -> None:
    settings = ConstructSettings(balance=balance)
    wanted = preferred_labels(settings, clips(72), spoken={f"v{n}" for n in range(18)})
    counts = count_labels(wanted.values())
    for vocabulary in BALANCED[balance]:
        dealt = [count for (name, _), count in counts.items() if name == vocabulary]
        assert len(dealt) == sum((vocabulary, str(label)) not in UNWANTED for label in VOCABULARIES[vocabulary])
        assert max(dealt) - min(dealt) <= 1
        assert all(len({label for label in got if label[0] == vocabulary}) == each for got in wanted.values())
    assert wanted == preferred_labels(settings, clips(72), spoken={f"v{n}" for n in range(18)})
    assert wanted != preferred_labels(settings.model_copy(update={"seed": 5}), clips(72))


def test_what_others_have_many_of_is_dealt_less_and_what_is_never_wanted_not_at_all(tmp_path: Path) -> None:
    targets = tmp_path / "targets.toml"
    targets.write_text('["vdact.question_type"]\n"D-AGT" = 1\nQNT = 1\nEXP = 1\n"D-LOC" = 1\nREF = 1\nSUP = 0\n')
    settings = ConstructSettings(balance="types", targets=targets)
    known = [Turn(question="q", labels={TYPES: ("QNT",)})] * 20
    counts = count_labels(preferred_labels(settings, clips(8), known).values())
    assert counts == {(TYPES, "D-AGT"): 8, (TYPES, "EXP"): 8, (TYPES, "D-LOC"): 8}


def test_conversation_is_wanted_only_where_somebody_speaks() -> None:
    wanted = preferred_labels(ConstructSettings(balance="tags"), clips(40), spoken={"v1"})
    talk = ("cogme.target", "Conversation")
    assert {clip for clip, labels in wanted.items() if talk in labels} <= {f"c{n}" for n in range(4, 8)}
    assert any(talk in labels for labels in wanted.values())


def test_relations_and_skills_are_dealt_evenly_and_nothing_without_balance() -> None:
    pairs = [f"pair{n}" for n in range(36)]
    counts: dict[Literal["svbench.relation", "svbench.skill"], int] = {"svbench.relation": 12, "svbench.skill": 8}
    for vocabulary, count in counts.items():
        dealt = preferred_between(ConstructSettings(balance="types"), pairs, vocabulary)
        assert set(Counter(label for own in dealt.values() for label in own).values()) == {count}
        assert preferred_between(ConstructSettings(), pairs, vocabulary) == {}
    assert preferred_labels(ConstructSettings(), clips(3)) == {}
