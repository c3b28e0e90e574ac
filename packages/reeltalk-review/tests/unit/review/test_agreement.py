"""Agreement of people who judged the same places, against the reference packages and by hand."""

import random
from collections import defaultdict
from itertools import combinations
from typing import Literal

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.schema.record import Json
from reeltalk_review.agreement import (
    NO_PAIRS,
    NOTHING_EDITED,
    CodedPlace,
    VariableAgreement,
    agreement_by_pair,
    agreement_by_variable,
    edit_tokens,
    word_distance,
)
from reeltalk_review.tasks.task import Code, CodeScale

EXACT = 1e-9


def coded(
    place: int, person: str, scale: CodeScale = "nominal", *, video: str = "", draft: str = "", **said: Json
) -> CodedPlace:
    codes = {name: Code(name, scale, value, draft) for name, value in said.items()}
    return CodedPlace(f"u{place // 8}", str(place % 8), video or f"v{place // 16}", person, codes)


def random_rows(rng: random.Random, scale: CodeScale, people: int) -> list[CodedPlace]:
    """Places of which each was judged by two of some people, who agree somewhat."""
    rows = []
    for place in range(rng.randrange(10, 60)):
        truth = rng.randrange(4)
        for person in rng.sample(range(people), 2):
            said = truth if rng.random() < 0.6 else rng.randrange(4)
            code: Json = f"c{said}" if scale == "nominal" else float(said)
            rows.append(coded(place, f"p{person}", scale, x=code))
    return rows


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_coefficients_are_the_reference_packages(scale: Literal["nominal", "ordinal", "interval"], full: bool) -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = random.Random(2)
    for _ in range(1000 if full else 34):
        rows = random_rows(rng, scale, people := rng.randrange(2, 5))
        (found,) = agreement_by_variable(rows)
        table: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for row in rows:
            table[row.unit, row.place][row.person] = float(str(row.codes["x"].value).removeprefix("c"))
        names = [f"p{person}" for person in range(people)]
        matrix = np.array([[said.get(name, np.nan) for said in table.values()] for name in names])
        assert found.alpha is not None
        assert found.alpha.value == pytest.approx(
            krippendorff.alpha(reliability_data=matrix, level_of_measurement=scale), abs=EXACT
        )
        by_pair: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for said in table.values():
            first, second = sorted(said)
            by_pair[first, second].append((said[first], said[second]))
        same = [a == b for pairs in by_pair.values() for a, b in pairs]
        assert found.raw.value == pytest.approx(np.mean(same), abs=EXACT)
        assert found.raw.n == len(table)
        if scale == "interval":
            assert found.kappa is None
            continue
        weights = "quadratic" if scale == "ordinal" else None
        kappas = [
            (cohen_kappa_score(*zip(*pairs, strict=True), weights=weights), len(pairs))
            for pairs in by_pair.values()
            if len({code for pair in pairs for code in pair}) > 1
        ]
        assert found.kappa is not None
        expected = sum(kappa * n for kappa, n in kappas) / sum(n for _, n in kappas)
        assert found.kappa.value == pytest.approx(expected, abs=EXACT)


def test_each_pair_of_people_has_its_own_numbers() -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = random.Random(5)
    rows = random_rows(rng, "nominal", 3)
    pairs = agreement_by_pair(rows)
    assert [pair.people for pair in pairs] == list(combinations(["p0", "p1", "p2"], 2))
    assert sum(pair.places for pair in pairs) == len(rows) // 2
    for pair in pairs:
        mine = {(r.unit, r.place): r.codes["x"].value for r in rows if r.person == pair.people[0]}
        theirs = {(r.unit, r.place): r.codes["x"].value for r in rows if r.person == pair.people[1]}
        both = sorted(mine.keys() & theirs.keys())
        kappa = pair.main.kappa
        assert kappa is not None
        expected = cohen_kappa_score([mine[place] for place in both], [theirs[place] for place in both])
        assert kappa.value == pytest.approx(expected, abs=EXACT)


def test_the_order_of_rows_changes_nothing() -> None:
    rng = random.Random(6)
    rows = random_rows(rng, "nominal", 4)
    found = agreement_by_variable(rows)
    rng.shuffle(rows)
    assert agreement_by_variable(rows) == found


def test_a_place_of_one_person_and_a_code_that_is_missing_do_not_count() -> None:
    rows = [
        coded(0, "a", decision="accept"),
        coded(1, "a", decision="accept"),
        coded(1, "b", decision=None),
        coded(2, "a", decision="accept"),
        coded(2, "b", decision="reject"),
    ]
    (found,) = agreement_by_variable(rows)
    assert (found.raw.value, found.raw.n) == (0.0, 1)
    (nothing,) = agreement_by_variable(rows[:3])
    assert nothing.raw.reason == NO_PAIRS
    assert (nothing.raw.value, nothing.kappa, nothing.alpha) == (None, None, None)


def test_sets_of_tags_agree_by_masi_and_tag_by_tag() -> None:
    from sklearn.metrics import cohen_kappa_score

    said = [(["Object"], ["Object"]), (["Object", "Place"], ["Object"]), (["Time"], ["Place"]), (["Time"], ["Time"])]
    rows = [
        coded(place, person, "set", video=f"v{place}", target=tags)
        for place, pair in enumerate(said)
        for person, tags in zip("ab", pair, strict=True)
    ]
    whole, *each = agreement_by_variable(rows)
    assert whole.raw.value == 0.5
    # Observed are distances 0, 1 - 1/2 * 2/3, 1, 0; expected are those of all 8 * 7 ordered pairs of the sets given.
    distance = {frozenset("O"): 0, frozenset("OP"): 1, frozenset("P"): 2, frozenset("T"): 3}
    apart = np.array([[0, 2 / 3, 1, 1], [2 / 3, 0, 2 / 3, 1], [1, 2 / 3, 0, 1], [1, 1, 1, 0]])
    given = [distance[frozenset(s)] for s in ("O", "O", "OP", "O", "T", "P", "T", "T")]
    expected = sum(apart[a, b] for n, a in enumerate(given) for m, b in enumerate(given) if n != m) / (8 * 7)
    assert whole.alpha is not None
    assert whole.alpha.value == pytest.approx(1 - (2 / 3 + 1) / 4 / expected, abs=EXACT)
    assert [tag.label for tag in each] == ["Object", "Place", "Time"]
    place = each[1]
    assert place.raw.value == 0.5
    assert place.kappa is not None
    assert place.kappa.value == pytest.approx(cohen_kappa_score([0, 1, 0, 0], [0, 0, 1, 0]), abs=EXACT)


def test_stretches_of_time_agree_by_their_common_time() -> None:
    rows = [
        coded(0, "a", "spans", evidence=[(0.0, 4.0), (3.0, 6.0)]),
        coded(0, "b", "spans", evidence=[(3.0, 9.0)]),
        coded(1, "a", "spans", evidence=[]),
        coded(1, "b", "spans", evidence=[]),
        coded(2, "a", "spans", evidence=[]),
        coded(2, "b", "spans", evidence=[]),
        coded(2, "c", "spans", evidence=[(1.0, 2.0)]),
    ]
    (found,) = agreement_by_variable(rows)
    assert found.raw.value == pytest.approx((3 / 9 + 0 + 0) / 3)
    assert found.raw.n == 3, "two who marked nothing agree on nothing, also beside somebody who marked something"
    assert found.chance_corrected == found.raw


SOME_WORDS = ["the", "cup", "a", "red", "Cup", "?", "杯", "子", "he", "opens"]
texts = st.lists(st.sampled_from(SOME_WORDS), max_size=12).map(" ".join)


@given(texts, texts)
def test_distances_are_those_of_the_textbook_table(first: str, second: str) -> None:
    words, others = edit_tokens(first), edit_tokens(second)
    row = list(range(len(others) + 1))
    for i, word in enumerate(words, 1):
        before, row = row, [i]
        for j, other in enumerate(others, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (word != other)))
    assert word_distance(first, second) == row[-1]


def test_words_are_words_of_any_script_and_marks_are_words_too() -> None:
    assert edit_tokens("He doesn't open it.") == ["He", "doesn", "'", "t", "open", "it", "."]
    assert edit_tokens("他打开2个冰箱?") == ["他", "打", "开", "2", "个", "冰", "箱", "?"]
    assert edit_tokens("cafe\u0301 x_1") == ["café", "x_1"]
    assert edit_tokens(" \n\t") == []


def edited(*versions: tuple[str, str, str]) -> VariableAgreement:
    """Agreement of two people on texts: what each made of a draft."""
    rows = [
        coded(place, person, "text", video="v", draft=draft, question=said)
        for place, (first, second, draft) in enumerate(versions)
        for person, said in (("a", first), ("b", second))
    ]
    (found,) = agreement_by_variable(rows)
    return found


def test_texts_are_similar_by_words_and_agree_by_what_both_changed() -> None:
    found = edited(("What does he take?", "What does he carry?", "What does she take?"))
    assert found.raw.value == pytest.approx(4 / 5)
    assert found.chance_corrected.value == pytest.approx(2 / 3)
    same = edited(("He opens the fridge.", "He opens the door.", ""), ("", "", ""), ("a b", "", ""), ("Yes", "yes", ""))
    assert same.raw.value == pytest.approx((4 / 5 + 1 + 0 + 0) / 4)
    draft = "one two three four five six seven eight nine ten"
    apart = edited((draft.replace("two", "2"), draft.replace("nine", "9"), draft))
    assert (apart.raw.value, apart.chance_corrected.value) == pytest.approx((0.8, 0))
    untouched = edited(("a b", "a b", "a b"), ("c d", "c x", "c y"), ("e f", "e f", "e f"))
    assert untouched.edits is not None
    assert (untouched.edits.value, untouched.edits.n) == pytest.approx((0.5, 1))


@given(texts, texts, texts)
def test_edits_in_common_lie_between_nothing_and_everything(first: str, second: str, draft: str) -> None:
    found = edited((first, second, draft)).edits
    assert found is not None
    if edit_tokens(first) == edit_tokens(draft) == edit_tokens(second):
        assert (found.value, found.reason) == (None, NOTHING_EDITED)
    else:
        assert found.value is not None
        assert 0 <= found.value <= 1
        assert (found.value == 1) == (edit_tokens(first) == edit_tokens(second))


def test_three_people_on_a_place_are_three_pairs() -> None:
    rows = [coded(0, person, decision=code) for person, code in zip("abc", ("x", "x", "y"), strict=True)]
    (found,) = agreement_by_variable(rows)
    assert found.raw.value == pytest.approx(1 / 3)
    assert found.raw.n == 3
    assert found.alpha is not None
    assert found.alpha.n == 1
