"""Agreement on edited text: the distance against the textbook's table, and what the two numbers mean."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.metrics import mean_interval
from reeltalk.metrics.draws import draw_videos
from reeltalk_review.edit_similarity import (
    NOTHING_EDITED,
    edit_agreement,
    edit_tokens,
    word_distances,
)

SOME_WORDS = ["the", "cup", "a", "red", "Cup", "?", "杯", "子", "he", "opens"]
texts = st.lists(st.sampled_from(SOME_WORDS), max_size=12).map(" ".join)


def by_table(first: list[str], second: list[str]) -> int:
    """The textbook's recursion, cell by cell."""
    row = list(range(len(second) + 1))
    for i, word in enumerate(first, 1):
        before, row = row, [i]
        for j, other in enumerate(second, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (word != other)))
    return row[-1]


def test_distances_are_those_of_the_textbook_table(full: bool) -> None:
    rng = random.Random(3)
    pairs = [
        [" ".join(rng.choices(SOME_WORDS, k=rng.randrange(rng.choice([4, 30, 90])))) for _ in range(2)]
        for _ in range(1000 if full else 100)
    ]
    distances, lengths = word_distances([a for a, _ in pairs], [b for _, b in pairs])
    assert distances.tolist() == [by_table(edit_tokens(a), edit_tokens(b)) for a, b in pairs]
    assert lengths.tolist() == [max(len(edit_tokens(a)), len(edit_tokens(b))) if a != b else 0 for a, b in pairs]


def test_a_long_text_is_compared_with_a_short_one() -> None:
    long = " ".join(f"w{n}" for n in range(3000))
    distances, lengths = word_distances([long, "w5", ""], ["w7 w9", long, long])
    assert distances.tolist() == [2998, 2999, 3000]
    assert lengths.tolist() == [3000, 3000, 3000]


def test_words_are_words_of_any_script_and_marks_are_words_too() -> None:
    assert edit_tokens("He doesn't open it.") == ["He", "doesn", "'", "t", "open", "it", "."]
    assert edit_tokens("他打开2个冰箱?") == ["他", "打", "开", "2", "个", "冰", "箱", "?"]
    assert edit_tokens("cafe\u0301 x_1") == ["café", "x_1"]
    assert edit_tokens(" \n\t") == []


def test_similarity_is_the_share_of_the_longer_text_that_can_stay() -> None:
    first, second = ["He opens the fridge.", "", "a b", "Yes"], ["He opens the door.", "", "", "yes"]
    found = edit_agreement(first, second, second, draw_videos(["v"] * 4, resamples=0, seed=0))
    assert found.similarity.value == pytest.approx((4 / 5 + 1 + 0 + 0) / 4)


@given(texts, texts, texts)
def test_overlap_lies_between_nothing_and_everything(first: str, second: str, draft: str) -> None:
    found = edit_agreement([first], [second], [draft], draw_videos(["v"], resamples=0, seed=0))
    if edit_tokens(first) == edit_tokens(draft) == edit_tokens(second):
        assert found.overlap.value is None
        assert found.overlap.reason == NOTHING_EDITED
        assert found.untouched == 1
    else:
        assert found.overlap.value is not None
        assert 0 <= found.overlap.value <= 1
        assert (found.overlap.value == 1) == (edit_tokens(first) == edit_tokens(second))


def test_who_changes_different_words_of_a_long_draft_is_similar_and_agrees_on_no_edit() -> None:
    draft = "one two three four five six seven eight nine ten"
    draws = draw_videos(["v"], resamples=0, seed=0)
    apart = edit_agreement([draft.replace("two", "2")], [draft.replace("nine", "9")], [draft], draws)
    assert apart.similarity.value == pytest.approx(0.8)
    assert apart.overlap.value == 0
    half = edit_agreement(
        [draft.replace("two", "2").replace("five", "5")],
        [draft.replace("two", "2").replace("nine", "9")],
        [draft],
        draws,
    )
    assert half.overlap.value == pytest.approx(0.5)


def test_untouched_texts_are_counted_and_do_not_dilute_the_overlap() -> None:
    draws = draw_videos(["v1", "v1", "v2"], resamples=50, seed=0)
    found = edit_agreement(["a b", "c d", "e f"], ["a b", "c x", "e f"], ["a b", "c y", "e f"], draws)
    assert found.untouched == 2
    assert found.similarity.value == pytest.approx((1 + 0.5 + 1) / 3)
    assert (found.similarity.n, found.similarity_of_edited.n, found.overlap.n) == (3, 1, 1)
    assert found.overlap.value == pytest.approx(0.5)


def test_intervals_are_clustered_by_video() -> None:
    rng = np.random.default_rng(0)
    drafts = ["a b c d"] * 60
    first = [" ".join(rng.permutation(list("abcd"))) for _ in drafts]
    second = [" ".join(rng.permutation(list("abcd"))) for _ in drafts]
    videos = [f"v{n // 5}" for n in range(60)]
    found = edit_agreement(first, second, drafts, draw_videos(videos, resamples=0, seed=4))
    distances, lengths = word_distances(first, second)
    known = mean_interval(1 - distances / np.maximum(lengths, 1), videos, (0, 1))
    assert known.low is not None
    assert (found.similarity.low, found.similarity.high) == pytest.approx((known.low, known.high))
    assert found.similarity.clusters == 12
