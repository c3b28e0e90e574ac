"""Turns with their scores, and how right an answer is from 0 to 1."""

import pytest

from reeltalk.analysis.columns import share_of_scale
from reeltalk.analysis.turn_scores import credit_metric


@pytest.mark.parametrize(
    ("metric", "value", "share"),
    [
        ("vdeval", 1.0, 0.0),
        ("vdeval", 2.0, 0.5),
        ("llm_rel", 5.0, 1.0),
        ("svbench.OS", 70.0, 0.7),
        ("vdeval.percentile", 0.625, 0.625),
        ("rouge_l", 0.3, 0.3),
        ("cider", 25.0, 1.0),
        ("took_s", 3.0, None),
        ("graph.first_error", 3.0, None),
    ],
)
def test_a_value_has_its_place_on_its_scale(metric: str, value: float, share: float | None) -> None:
    assert share_of_scale(metric, value) == share


def test_the_most_exact_measure_says_how_right_an_answer_is() -> None:
    assert credit_metric(["rouge_l", "vdeval", "rubric"]) == "rubric"
    assert credit_metric(["rouge_l", "svbench.OS"]) == "svbench.OS"
    assert credit_metric(["match", "correct", "rouge_l"]) == "correct"
    assert credit_metric(["took_s", "rouge_l", "bleu_4", "cider"]) is None
