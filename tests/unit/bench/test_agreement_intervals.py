"""What the simulation of agreement takes for true is what the coefficients of many ratings come to."""

import numpy as np
import pytest

from agreement_intervals import (
    AGREEMENTS,
    LEVELS,
    Cell,
    Family,
    between,
    of_judges,
    simulate,
    strength_of,
    texts,
    truth_of,
)
from reeltalk.metrics import meteor, token_metrics
from reeltalk.metrics.draws import draw_videos
from reeltalk.metrics.token_metrics import Corpus

ONE_VIDEO = draw_videos(["v"] * 4000, resamples=0, seed=0)


@pytest.mark.parametrize("measure", AGREEMENTS)
@pytest.mark.parametrize("family", ["errors", "agreement"])
def test_the_truth_is_what_many_ratings_come_to(measure: str, family: Family) -> None:
    draw = np.random.default_rng(7)
    for level in LEVELS:
        strength = strength_of(measure, family, level)
        assert truth_of(measure, family, strength) == pytest.approx(level, abs=1e-6)
        first, noise = draw.standard_normal((2, 4000))
        same = draw.random(4000) < strength
        other = strength * first + np.sqrt(1 - strength**2) * noise
        found = between(measure, first, other if family == "errors" else np.where(same, first, noise), ONE_VIDEO)
        assert found.value == pytest.approx(level, abs=0.05)


def test_judges_of_a_cell_are_as_much_alike_as_it_says() -> None:
    draw = np.random.default_rng(8)
    cell = Cell("agreement", "equal", 300, 0.6, 0.1)
    for measure, found, truth in of_judges(cell, np.repeat(np.arange(300), 6), draw):
        assert found.value == pytest.approx(truth, abs=0.08), measure


def test_answers_that_keep_all_have_the_statistics_of_their_texts() -> None:
    draw = np.random.default_rng(9)
    found = texts(1 - 1e-9, lambda: draw.standard_normal(200), draw)
    lengths, references = found["bleu"][:, 8].astype(int), found["bleu"][:, 9].astype(int)
    words = [[f"w{place}" for place in range(int(length))] for length in references]
    answers = [
        [*own[:length], *(f"x{place}" for place in range(length - len(own)))]
        for own, length in zip(words, lengths, strict=True)
    ]
    assert np.array_equal(found["bleu"], token_metrics.bleu_statistics(Corpus(answers, [[own] for own in words])))
    same = lengths == references
    assert found["CIDEr"][same, 0] == pytest.approx(token_metrics.CIDER_SCALE)
    assert (found["CIDEr"][~same, 0] < token_metrics.CIDER_SCALE).all()
    assert meteor.meteor_from_statistics(found["METEOR"][same]) == pytest.approx(1.0)


@pytest.mark.parametrize("family", ["texts", "errors", "agreement"])
def test_the_intervals_hold_the_truth_in_most_of_a_few_benchmarks(family: Family) -> None:
    for one in simulate(Cell(family, "equal", 10, 0.6, 0.1), 60):
        assert one.given == one.trials == 60
        assert one.holds >= 0.85, one.measure
        assert one.narrowest > 0
