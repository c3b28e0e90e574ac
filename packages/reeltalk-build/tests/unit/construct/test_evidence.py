"""Evidence says where an answer is: not finer than what was seen, not all of it, and not the same for all turns."""

from collections.abc import Sequence

import pytest

from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk_build.construct.evidence import evidence_faults, with_shown

PART = Interval(start_s=0, end_s=20)
SEEN = [2.0, 6.0, 10.0, 14.0, 18.0]
GOOD = [(0, 5), (4, 9), (8, 12), (12, 16), (16, 20)]


def a_chain(stretches: Sequence[tuple[float, float]], shown_s: Sequence[float] | None = SEEN) -> QAChain:
    turns = tuple(
        Turn(question=f"What is {number}?", references=("It.",), evidence=(Interval(start_s=start_s, end_s=end_s),))
        for number, (start_s, end_s) in enumerate(stretches)
    )
    shown = {} if shown_s is None else with_shown({}, [PART], shown_s)
    return QAChain(id="c", video_id="v", turns=turns, extra=shown)


def faults(chain: QAChain) -> list[tuple[int | None, str]]:
    return [(gate.turn_index, gate.gate) for gate in evidence_faults(chain)]


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ((6.04, 9.9), None),
        ((6.1, 9.9), "lint.evidence_fine"),
        ((2.5, 2.6), "lint.evidence_fine"),
        ((0, 20), "lint.evidence_whole"),
        ((1, 19.5), "lint.evidence_whole"),
        ((0, 15), None),
    ],
)
def test_evidence_is_neither_finer_than_the_frames_nor_all_of_them(
    changed: tuple[float, float], fault: str | None
) -> None:
    assert faults(a_chain([*GOOD[:4], changed])) == ([] if fault is None else [(4, fault)])


def test_turns_that_all_rest_on_the_same_are_each_flagged_once() -> None:
    assert faults(a_chain([(0, 20)] * 5)) == [(index, "lint.evidence_same") for index in range(5)]
    assert faults(a_chain([(4, 9)] * 5, [])) == [(index, "lint.evidence_same") for index in range(5)]
    assert faults(a_chain([(4, 9)] * 3)) == []


def test_few_frames_may_all_be_evidence_and_a_blind_writer_may_not_name_the_whole() -> None:
    assert faults(a_chain([*GOOD[:3], (8, 15), (0, 20)], SEEN[:3])) == []
    assert faults(a_chain([*GOOD[:4], (0, 20)], [])) == [(4, "lint.evidence_whole")]


def test_a_round_without_a_stretch_of_its_own_may_rest_on_the_whole_scene() -> None:
    chain = a_chain([(0, 20)] * 5)
    made = {"id": "d", "video_id": "v", "turns": chain.turns, "extra": chain.extra}
    assert evidence_faults(Dialogue(**made)) == []
    turns = a_chain([(4, 9)] * 4 + [(0, 20)]).turns
    assert len(evidence_faults(Dialogue(**made | {"turns": turns}))) == 4


def test_evidence_from_elsewhere_is_not_looked_at() -> None:
    assert faults(a_chain([(0, 20)] * 5, None)) == []
