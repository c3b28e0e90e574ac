"""Two judges side by side: by hand, and where there is nothing to compare."""

import pytest

from reeltalk.metrics.agreement import Agreement, agreement
from reeltalk.schema.scoring import JudgedScore, ScoreState


def row(turn: int, value: float | None, *, judge: str = "a", sample: int = 0) -> JudgedScore:
    return JudgedScore(
        unit="turn",
        unit_id="d",
        turn_index=turn,
        model="m",
        criterion="c",
        value=value,
        state=ScoreState.SCORED if value is not None else ScoreState.NOT_APPLICABLE,
        judge=judge,
        sample=sample,
    )


def test_kappa_is_agreement_beyond_chance() -> None:
    # 20 both pass, 15 both fail, 5 only the first, 10 only the second: raw 0.7, chance 0.5, kappa 0.4.
    pairs = [(1.0, 3.0)] * 20 + [(0.0, 1.0)] * 15 + [(1.0, 1.0)] * 5 + [(0.0, 3.0)] * 10
    found = agreement(
        [row(n, a) for n, (a, _) in enumerate(pairs)],
        [row(n, b, judge="b") for n, (_, b) in enumerate(pairs)],
        other_threshold=2.0,
    )
    assert found.n == 50
    assert found.raw == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)


def test_only_items_that_both_scored_count() -> None:
    assert agreement([row(0, 1.0), row(1, None), row(2, 0.0)], [row(0, 1.0), row(1, 1.0), row(3, 1.0)]).n == 1
    assert agreement([row(0, None)], [row(0, 1.0)]) == Agreement(0, None, None)


def test_rounds_of_one_item_are_averaged_first() -> None:
    rounds = [row(0, 1.0, sample=0), row(0, 0.0, sample=1), row(0, 0.0, sample=2)]
    assert agreement(rounds, [row(0, 0.0), row(1, 1.0)]).raw == 1.0


def test_judges_that_never_differ_from_a_constant_have_no_kappa() -> None:
    assert agreement([row(0, 1.0), row(1, 1.0)], [row(0, 1.0), row(1, 1.0)]) == Agreement(2, 1.0, None)
