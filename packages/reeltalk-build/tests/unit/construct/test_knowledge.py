"""What a user may ask for beside the video: many different facts, none of which is about a home."""

import re

from reeltalk.language.grammar import SPLITS
from reeltalk.language.vocabulary import ROOMS, plain_name
from reeltalk_build.construct.knowledge import topics
from reeltalk_build.construct.round_forms import expand_pattern, round_forms, texts_of_split
from reeltalk_household.world.kinds import KINDS


def test_there_are_four_hundred_facts_of_many_fields_divided_among_the_splits() -> None:
    every = topics()
    assert len(every) >= 400
    assert len({topic.family for topic in every}) >= 30
    assert len({topic.question for topic in every}) == len(every)
    by_split = [{topic.question for topic in topics(split)} for split in SPLITS]
    assert sum(map(len, by_split)) == len(every) == len(set.union(*by_split))
    assert min(map(len, by_split)) >= 100


def test_a_fact_can_be_asked_for_in_three_ways_and_its_answer_names_the_right_value_only() -> None:
    for topic in topics():
        assert topic.question.endswith("?")
        assert not topic.about.endswith("?")
        assert topic.value in topic.answer
        assert not re.search(rf"\b{re.escape(topic.wrong)}\b", topic.answer), topic
        assert topic.value not in topic.question, topic
    for split in SPLITS:
        forms = texts_of_split(round_forms()["topic"].questions, split)
        assert len([form for form in forms if "{question}" in form or "{about}" in form]) == len(forms) >= 3


def test_no_fact_is_about_what_a_film_shows() -> None:
    things = {plain_name(name) for name in (*KINDS, *ROOMS)} - {"floor"}
    shown = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, things)))})s?\b")
    for topic in topics():
        assert not shown.search(f"{topic.question} {topic.answer}".casefold()), topic


def test_a_pattern_stands_for_all_its_choices() -> None:
    assert expand_pattern("[Okay|Fine][, then|].") == ("Okay, then.", "Okay.", "Fine, then.", "Fine.")


def test_every_sort_of_round_has_forty_wordings_and_no_split_shares_one() -> None:
    for sort, forms in round_forms().items():
        if not forms.questions:
            continue
        by_split = [set(texts_of_split(forms.questions, split)) for split in SPLITS]
        assert sum(map(len, by_split)) >= 40, sort
        assert len(set.union(*by_split)) == sum(map(len, by_split)), sort
        assert all(by_split), sort
