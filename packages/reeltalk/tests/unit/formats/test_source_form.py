"""What a source spells differently comes back, and never overwrites an edit."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reeltalk.formats.layout import apply_difference, difference

SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(0, 1) | st.text(max_size=2)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)


@given(theirs=VALUES, ours=VALUES)
def test_a_difference_turns_ours_into_theirs_down_to_the_order_of_keys(theirs: Any, ours: Any) -> None:
    found = difference(theirs, ours)
    stored = json.loads(json.dumps(found))
    assert json.dumps(ours if stored is None else apply_difference(ours, stored)) == json.dumps(theirs)


def test_an_edit_wins_over_the_source() -> None:
    found = difference({"at": "00:01", "Bot": "Red.", "mood": 1}, {"at": 1.0, "Assistant": "Red."})
    assert found == {
        "keys": {"at": {"theirs": "00:01", "ours": 1.0}},
        "renamed": {"Assistant": "Bot"},
        "added": {"mood": 1},
    }
    assert apply_difference({"at": 2.0, "Assistant": "Blue."}, found) == {"at": 2.0, "Bot": "Blue.", "mood": 1}


def test_a_shorter_list_is_left_as_it_is() -> None:
    found = difference([1, "2"], [1, 2])
    assert found is not None
    assert apply_difference([1, 2, 3], found) == [1, "2", 3]
    assert apply_difference([2], found) == [2]
