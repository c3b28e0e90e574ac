"""Label vocabularies mean one thing everywhere: in the manual, in prompts, in what the graph writes, on screens.

The rules are those of VDAct's table 1 and CogME's tables 1 to 3, stated over the words of every surface form.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest

from reeltalk.language.grammar import SPLITS, SurfaceForm
from reeltalk.llm import Prompt
from reeltalk.schema.labels import (
    TAGGING_MANUALS,
    Content,
    QuestionType,
    Skill,
    Target,
    Thinking,
    unknown_labels,
)
from reeltalk.schema.rewriting import catalogue
from reeltalk_build.construct.prompting import prompts
from reeltalk_household.questions.question import Question
from reeltalk_household.questions.wording import (
    all_forms,
    fill_form,
    form_of,
    forms,
    forms_of,
    linked_forms,
    question_labels,
)
from reeltalk_review.collecting import collection_guide
from reeltalk_review.tasks.labelling import LabelsTask, Manual
from reeltalk_review.tasks.registry import TAGGING, TYPES

ACTS = {"do": "open the fridge", "does": "opens the fridge", "doing": "opening the fridge"}
BARE = {"do": "dance", "does": "dances", "doing": "dancing"}
SLOTS = {
    "o": "the lamp", "t": "the stove", "it": "it", "it_s": "it", "its": "its", "is": "is", "is_it": "is it",
    "it_is": "it is", "was_it": "was it", "it_was": "it was", "are": "is", "have": "has", "they": "it", "part": "hair",
    "room": "kitchen", "a": "on", "b": "off", "other": "jumping",
    "where": "in this scene", "where1": "in the earlier scene",
    "p": "Tom", "q": "Anna", "q_he": "she", "q_him": "her", "q_his": "her", "act": "speak",
    "cause": "the vase breaks",
    "feeling": "sad", "says": "Here you are.", "called": "offer", "told": "Tom offers Anna the mug", "class": "mug",
    "verb": "pick up", "first": "red", "second": "blue", "effect": "the kettle boils", "undone": "opened the fridge",
    "did": "opened the fridge", "had": "the kettle have boiled", "fact": "can be eaten", "undone_it": "opened it",
    "did_it": "opened it", "had_it": "it have boiled", "o_then": "the lamp",
}  # fmt: skip


class Wording(NamedTuple):
    """A surface form, filled in, with the labels that its question gets."""

    kind: str
    text: str
    types: tuple[str, ...]
    target: tuple[str, ...]
    content: tuple[str, ...]
    thinking: str
    rests: bool


def slots(*, bare: bool) -> Mapping[str, str]:
    acts = BARE if bare else ACTS
    return SLOTS | acts | {f"{name}1": words for name, words in acts.items()}


def worded(kind: str, form: SurfaceForm, filled: Mapping[str, str], *, rests: bool = False) -> Wording:
    question = Question(kind, "", "object", {}, filled)
    given = question_labels(question, form.core, rests=rests)
    assert unknown_labels(given) == [], kind
    names = ("vdact.question_type", "cogme.target", "cogme.content", "cogme.thinking")
    types, target, content, (thinking,) = (given[name] for name in names)
    return Wording(kind, fill_form(form.text, filled, named=False), types, target, content, thinking, rests)


def all_wordings() -> Iterator[Wording]:
    """Every surface form of every kind, about an act on an object and about an act on none."""
    for kind in (*forms(), *linked_forms()):
        for rests in (False, True):
            for form in (form for split in SPLITS for form in forms_of(kind, split, ref=rests)):
                yield from (worded(kind, form, slots(bare=bare), rests=rests) for bare in (False, True))


WORDINGS = list(all_wordings())
HOW_OFTEN = re.compile(
    r"\bhow often\b|times\b|\b(how|what) long\b|\bhow many seconds\b|how much time|total time|in seconds"
)
A_NUMBER = re.compile(
    r"\bhow many (?!times|seconds)|number of (?!times)|\b(more|fewer)\b.* (things|objects)|how many are there"
)


def test_there_are_wordings_of_every_kind() -> None:
    assert len(WORDINGS) > 1500
    assert {wording.kind for wording in WORDINGS} == {*forms(), *linked_forms()}


def test_one_to_three_tags_and_at_least_one_type() -> None:
    for wording in WORDINGS:
        for labels, most in ((wording.types, 13), (wording.target, 3), (wording.content, 3)):
            assert 1 <= len(set(labels)) == len(labels) <= most, wording


def test_every_exception_of_a_kind_fits_some_of_its_wordings_and_not_all() -> None:
    for kind in (*forms(), *linked_forms()):
        form = form_of(kind)
        texts = [derived.core for derived in all_forms(kind)]
        for other in form.otherwise:
            assert other.words or other.names_object is not None, kind
            for words in other.words:
                assert 0 < sum(words in text for text in texts) < len(texts), (kind, words)


def test_the_colour_of_a_thing_is_about_an_object_and_never_a_place() -> None:
    asked = [wording for wording in WORDINGS if "colour" in wording.text.casefold()]
    assert {wording.kind for wording in asked} == {
        "object_colour", "clothes_colour", "which_colour",
    }  # fmt: skip
    for wording in asked:
        of_person = wording.kind == "clothes_colour"
        assert ("D-AGT" if of_person else "D-OBJ") in wording.types, wording
        assert ("D-OBJ" if of_person else "D-AGT") not in wording.types, wording
        assert "D-LOC" not in wording.types, wording
        assert wording.content == ("Feature",), wording


def test_an_interaction_is_yes_or_no_about_an_act_on_an_object() -> None:
    asked = [wording for wording in WORDINGS if "D-INT" in wording.types]
    assert {wording.kind for wording in asked} == {"acts"}
    for wording in asked:
        form = form_of(wording.kind)
        assert form.yes, wording
        assert form.no, wording
        assert not re.match(r"(what|which|whom?|how|where|why)\b", wording.text.casefold()), wording
        assert re.search(r"the (fridge|lamp)|\bit\b|\bthat\b", wording.text), wording


def test_actions_in_general_name_no_object() -> None:
    asked = [wording for wording in WORDINGS if "D-ACT" in wording.types]
    assert {wording.kind for wording in asked} >= {"acts", "next_action", "previous_action"}
    for wording in asked:
        assert not re.search(r"the (fridge|lamp|stove)", wording.text.casefold()), wording


def test_how_often_and_how_long_is_frequency_and_no_quantity() -> None:
    asked = 0
    for wording in WORDINGS:
        # How long after one act another comes is their order in time, and no length of either.
        if not HOW_OFTEN.search(wording.text.casefold()) or wording.kind in (
            "order",
            "linked_interval",
        ):
            continue
        asked += 1
        expected = "VID" if wording.kind == "video_length" else "T-FRQ"
        assert expected in wording.types, wording
        assert "QNT" not in wording.types, wording
    assert asked > 100
    kinds = {
        "times",
        "duration",
        "linked_often",
        "linked_longer",
        "linked_trend",
    }
    assert {w.kind for w in WORDINGS if "T-FRQ" in w.types} == kinds


def test_a_number_of_people_or_things_is_a_quantity_alone() -> None:
    for wording in WORDINGS:
        is_number = bool(A_NUMBER.search(wording.text.casefold()))
        if "QNT" in wording.types:
            assert set(wording.types) <= {"QNT", "REF"}, wording
            assert wording.content == ("Feature",), wording
        elif is_number:
            assert wording.kind in ("times", "duration"), wording


def test_context_needs_people_who_deal_with_each_other() -> None:
    """The story line as it shows in talk and in what people do to each other: no room, no posture."""
    shown = [wording for wording in WORDINGS if "Context" in wording.content]
    assert {wording.kind for wording in shown} == {
        "says_to", "says_what", "offers_what", "asks_about", "talks_about", "why_says", "reply", "towards",
        "says_here", "says_back",
    }  # fmt: skip
    for wording in shown:
        assert "Conversation" in wording.target or "Relationship" in wording.content, wording
    assert {w.kind for w in WORDINGS if "Conversation" in w.target} == {w.kind for w in shown} - {"towards"} | {
        "who_says"
    }


def test_rooms_are_places_and_postures_are_features() -> None:
    for wording in WORDINGS:
        if re.search(r"\b(which|what|same|the) room\b|changed rooms|what room", wording.text.casefold()):
            assert "D-LOC" in wording.types, wording
            assert "Place" in wording.target, wording
            assert "Relationship" in wording.content, wording
        if re.search(r"\b(sitting|sit|lying|posture)\b", wording.text.casefold()) and wording.kind != "acts":
            assert "D-AGT" in wording.types, wording
            assert wording.content == ("Feature",), wording


def test_order_in_time_is_told_by_both_vocabularies() -> None:
    for wording in WORDINGS:
        if "Sequence" in wording.content:
            assert {"T-SEQ", "T-FRQ"} & set(wording.types), wording
            assert wording.thinking != "Recall", wording
        if re.search(r"at the (very )?(end|beginning|start)\b|video (ends|starts|begins|closes|opens)", wording.text):
            assert "T-SEQ" in wording.types, wording


CAUSES = {"cause_of", "effect_of", "why_feels", "makes_feel", "would_happen", "would_place"}
"""Kinds about what follows by nature: what boils, breaks, and how one feels about it."""


def test_reasons_of_acts_are_motives_and_what_follows_by_nature_has_causes() -> None:
    assert {wording.kind for wording in WORDINGS if "Causality" in wording.content} == CAUSES
    for wording in WORDINGS:
        if re.search(r"^why\b|what for\?|for what (purpose|reason)|the reason", wording.text.casefold()):
            assert "EXP" in wording.types, wording
            assert wording.thinking == "Reasoning", wording
            assert ("Causality" in wording.content) == (wording.kind in CAUSES), wording
            assert ("Motivation" in wording.content) != (wording.kind in CAUSES), wording


def test_what_cannot_be_verified_is_an_opinion() -> None:
    assert {wording.kind for wording in WORDINGS if "OPI" in wording.types} == {"opinion", "unknown_person"}


def test_only_what_the_scene_does_not_show_takes_reasoning() -> None:
    assert {w.kind for w in WORDINGS if w.thinking == "Reasoning"} == {
        "opinion",
        *CAUSES,
        "why_act",
        "why_says",
        "feels_after",
        "daytime",
        "could_take",
        "common_sense",
    }


def test_the_skills_of_svbench_are_all_asked_for_and_each_kind_has_one() -> None:
    skills = {form_of(kind).skill for kind in forms()}
    assert skills == {label.value for label in Skill}
    for kind in forms():
        form = all_forms(kind)[0]
        given = question_labels(Question(kind, "", "object", {}, slots(bare=False)), form.core, rests=False)
        assert given["svbench.skill"] == (form_of(kind).skill,)
    for name, method in catalogue().items():
        assert {form_of(kind).skill for kind in method.kinds} <= {method.skill}, name


def test_what_rests_on_turns_before_is_a_reference() -> None:
    for wording in WORDINGS:
        assert ("REF" in wording.types) == (wording.rests or wording.kind.startswith("linked_")), wording


BY_HAND = (
    ("Where does he put the lamp?", "never_handled", "D-LOC", "Object Place", "Relationship", "Recall"),
    ("What colour is the lamp?", "object_colour", "D-OBJ", "Object", "Feature", "Recall"),
    ("What colour is his hair?", "clothes_colour", "D-AGT", "Character", "Feature", "Recall"),
    ("Does he open the fridge?", "acts", "D-INT", "Behavior Object", "Relationship", "Recall"),
    ("Does he dance?", "acts", "D-ACT", "Behavior", "Feature", "Recall"),
    ("How often does he open the fridge?", "times", "T-FRQ", "Behavior", "Sequence", "Grasping"),
    ("For how long does he dance?", "duration", "T-FRQ", "Behavior", "Sequence", "Grasping"),
    ("How long is the video?", "video_length", "VID", "Event", "Feature", "Grasping"),
    ("In which room does he open the fridge?", "which_room", "D-LOC", "Place Behavior", "Relationship", "Recall"),
    ("Which room is he in at the end?", "room_end", "D-LOC T-SEQ", "Place Character", "Relationship", "Recall"),
    ("Is he sitting, lying or standing when he dances?", "posture", "D-AGT", "Character Behavior", "Feature", "Recall"),
    ("At the end, is the lamp on or off?", "state_end", "D-OBJ T-SEQ", "Object", "Feature", "Grasping"),
    ("What does he do right after opening the fridge?", "next_action", "T-SEQ", "Behavior", "Sequence", "Grasping"),
    ("What does he do right after dancing?", "next_action", "T-SEQ D-ACT", "Behavior", "Sequence", "Grasping"),
    ("What happens next?", "next_action", "T-SEQ D-ACT REF", "Behavior", "Sequence", "Grasping"),
    ("What is the first thing he picks up?", "first_thing", "D-OBJ T-SEQ", "Object", "Identity Sequence", "Grasping"),
    ("What else does he pick up?", "what_else", "SUP D-OBJ REF", "Object", "Identity", "Grasping"),
    ("Why does he open the fridge?", "why_act", "EXP", "Behavior", "Motivation", "Reasoning"),
    ("How does he clean the stove?", "how_clean", "EXP", "Behavior Object", "Means", "Grasping"),
    ("What does he use to clean the stove?", "tool", "D-OBJ", "Object Behavior", "Means", "Recall"),
    ("How many people are in the video?", "people_count", "QNT", "Character", "Feature", "Recall"),
    ("Where does he put it?", "where_put", "D-LOC REF", "Object Place", "Relationship", "Grasping"),
    ("Does he enjoy dancing?", "opinion", "OPI", "Emotion Behavior", "Feature", "Reasoning"),
    ("Was it a good idea to dance?", "opinion", "OPI", "Behavior Commonsense", "Feature", "Reasoning"),
    ("What is his family name?", "unknown_person", "D-AGT OPI", "Character", "Identity", "Recall"),
)


@pytest.mark.parametrize("given", BY_HAND, ids=[row[0] for row in BY_HAND])
def test_the_graph_labels_as_a_person_does_by_the_manual(given: tuple[str, ...]) -> None:
    text, kind, *expected = given
    found = {
        (wording.types, wording.target, wording.content, wording.thinking)
        for wording in WORDINGS
        if (wording.kind, wording.text[:1].upper() + wording.text[1:]) == (kind, text)
    }
    types, target, content, thinking = (tuple(part.split()) for part in expected)
    assert found == {(types, target, content, thinking[0])}


@pytest.mark.parametrize("language", sorted(TAGGING_MANUALS))
def test_the_manual_says_each_label_of_each_vocabulary_once(language: str) -> None:
    text = Prompt.load(TAGGING_MANUALS[language]).text
    parts = dict(re.findall(r"^# ([A-Z]+)[:：].*\n((?:(?!^# ).*\n?)*)", text, re.MULTILINE))
    for title, vocabulary in (
        ("TARGET", Target),
        ("CONTENT", Content),
        ("THINKING", Thinking),
        ("TYPES", QuestionType),
    ):
        assert re.findall(r"^- ([\w-]+)", parts[title], re.MULTILINE) == [label.value for label in vocabulary]
    assert "supposition" not in text.casefold()


def test_the_examples_of_the_manual_are_the_same_in_both_languages() -> None:
    labels = {
        language: re.findall(
            r"→ target (.+?)[;；] ?content (.+?)[;；] ?thinking (\w+)[;；] ?types (.+)", Prompt.load(path).text
        )
        for language, path in TAGGING_MANUALS.items()
    }
    assert labels["en"] == labels["zh"]
    assert len(labels["en"]) >= 6
    vocabularies = ("cogme.target", "cogme.content", "cogme.thinking", "vdact.question_type")
    for example in labels["en"]:
        given = {name: tuple(part.split(", ")) for name, part in zip(vocabularies, example, strict=True)}
        assert unknown_labels(given) == []


@pytest.mark.parametrize("task", [TAGGING, TYPES], ids=["tagging", "types"])
def test_people_and_models_tag_by_one_manual(task: LabelsTask) -> None:
    manual = Prompt.load(TAGGING_MANUALS["en"])
    assert task.manual == Manual.load(TAGGING_MANUALS["en"])
    assert task.manual.says.keys() >= {label for vocabulary in task.vocabularies for label in vocabulary.labels}
    assert prompts("en")["tags"].text.startswith(manual.text)
    assert prompts("zh")["tags"].text.startswith(Prompt.load(TAGGING_MANUALS["zh"]).text)


def test_the_investigator_gets_examples_of_four_categories_and_no_more() -> None:
    names = [kind["name"].partition(":")[0] for kind in collection_guide()["types"]]
    assert names == ["Descriptive", "Temporal", "Explanatory", "Quantitative"]
