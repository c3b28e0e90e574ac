"""Embedding similarity: the best cosine over references, with vectors made up here and with the real network."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from reeltalk.errors import MissingExtraError
from reeltalk.metrics.embedding import SentenceEmbedder
from reeltalk.metrics.scoring import score_texts

VECTORS = {"east": (1.0, 0.0), "north": (0.0, 1.0), "north-east": (0.6, 0.8), "west": (-1.0, 0.0)}


def made_up(texts: Sequence[str]) -> NDArray[np.float64]:
    return np.array([VECTORS[text] for text in texts])


def test_the_nearest_reference_counts() -> None:
    result = score_texts(
        ["east", "east", "north"],
        [["north", "north-east"], ["west"], ["north"]],
        ["similarity"],
        embed=made_up,
        embedder="made-up",
    )["similarity"]
    assert result.per_item.tolist() == pytest.approx([0.6, -1.0, 1.0])
    assert result.corpus == pytest.approx(0.2)
    assert result.signature == "embedding:made-up|pool:max-over-references"
    assert result.from_sums(np.array([[1.2], [0.0]]), np.array([3.0, 2.0])).tolist() == pytest.approx([0.4, 0.0])


def test_an_empty_answer_is_as_far_as_can_be() -> None:
    vectors = {"": (1.0, 0.0), " ": (1.0, 0.0), **VECTORS}
    found = score_texts(
        ["", " ", "east"],
        [["east"], ["east"], ["east"]],
        ["similarity"],
        embed=lambda texts: np.array([vectors[text] for text in texts]),
        embedder="made-up",
    )["similarity"]
    assert found.per_item.tolist() == [-1.0, -1.0, 1.0]


@pytest.fixture(scope="module")
def embedder() -> SentenceEmbedder:
    try:
        return SentenceEmbedder()
    except MissingExtraError as error:
        pytest.skip(str(error))


def test_the_network_puts_a_paraphrase_nearer_than_another_subject(embedder: SentenceEmbedder) -> None:
    texts = ["A man washes a mug.", "A person is cleaning a cup.", "The stock market fell today.", ""]
    vectors = embedder(texts)
    assert vectors.shape == (4, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4))
    assert vectors[0] @ vectors[1] > 0.5 > 0.2 > vectors[0] @ vectors[2]


def test_a_text_has_one_vector_whatever_it_is_batched_with(embedder: SentenceEmbedder) -> None:
    # A batch pads short texts to its longest; that must not reach the short ones.
    texts = ["He sits.", "A man " + "walks and " * 60 + "stops.", "The cat sleeps."]
    together = embedder(texts)
    for text, vector in zip(texts, together, strict=True):
        assert embedder([text])[0] == pytest.approx(vector, abs=1e-4)
