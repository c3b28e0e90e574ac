"""More ways to ask, to teach a model with: none is of dev or test, and each can be filled in as those of its kind."""

import re

import pytest

from reeltalk.questions.wording import LESSONS, forms, forms_of, lesson_forms


def slots(template: str) -> set[str]:
    return {slot.lower().rstrip("2") for slot in re.findall(r"\{(\w+)\}", template)}


def plain(template: str) -> str:
    return re.sub(r"[^a-z{} ]", "", template.lower()).strip()


@pytest.mark.parametrize("kind", sorted(lesson_forms()))
@pytest.mark.parametrize("ref", [False, True])
def test_lesson_forms_are_new_and_ask_with_the_slots_of_their_kind(kind: str, ref: bool) -> None:
    more = lesson_forms()[kind].get("ref" if ref else "forms", ())
    held_out = {plain(text) for split in ("dev", "test") for _, text in forms_of(kind, split, ref=ref)}
    known = set().union(*(slots(text) for text in (forms()[kind].ref if ref else forms()[kind].forms)))
    for template in more:
        assert plain(template) not in held_out
        assert slots(template) <= known | {"he", "him", "his"}
    assert len(set(more)) == len(more)


def test_what_teaches_holds_the_train_forms_and_the_new_ones() -> None:
    for kind in forms():
        taught = {text for _, text in forms_of(kind, LESSONS, ref=False)}
        assert {text for _, text in forms_of(kind, "train", ref=False)} <= taught
        assert set(lesson_forms().get(kind, {}).get("forms", ())) <= taught
