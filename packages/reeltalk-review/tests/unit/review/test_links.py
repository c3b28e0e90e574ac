"""The link board's task: which pairs of chains it shows, which links can be stored, and when two people agree."""

from typing import Any

import pytest

from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Skill
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.rewriting import Rewrite
from reeltalk.store.content import Content
from reeltalk_review.errors import InvalidValue
from reeltalk_review.tasks.links import BOARD, LinksTask

TASK = LinksTask()


def chain(name: str, clip: str | None, *questions: str) -> QAChain:
    return QAChain(
        id=name,
        video_id="v",
        clip_id=clip,
        turns=tuple(Turn(question=text, references=("An answer.",)) for text in questions),
    )


def link(source: str, turn: int, target: str, other: int, relation: str = "Events") -> Linkage:
    return Linkage(
        source=TurnRef(unit_id=source, turn_index=turn),
        target=TurnRef(unit_id=target, turn_index=other),
        relation=relation,
    )


def content() -> Content:
    order = link("first", 1, "second", 0)
    return Content(
        videos=[Video(id="v")],
        clips=[
            Clip(id=f"clip-{n}", video_id="v", interval=Interval(start_s=10.0 * n, end_s=10.0 * n + 9))
            for n in range(3)
        ],
        # Not in the order of time.
        chains=[
            chain("third", "clip-2", "Who?"),
            chain("first", "clip-0", "What?", "Where?"),
            chain("second", "clip-1", "When?", "Why?"),
        ],
        linkages=[
            order,
            link("first", 1, "second", 0, "Objects"),
            link("first", 0, "third", 0),
            link("first", 7, "second", 0),
        ],
        rewrites=[
            Rewrite(
                id="r",
                linkage=order,
                method="Events/sequence",
                skill="STS",
                draft=Turn(question="Does it come before or after?", references=("Before.",)),
                coherent=False,
                problems=("the next turn rests on it",),
                writer="graph",
            )
        ],
    )


@pytest.fixture
def unit() -> Any:
    return next(iter(TASK.drafts(content()))).content


def kept(**changed: Any) -> dict[str, Any]:
    return {"decision": "keep", "relations": ["Events"], **changed}


def test_units_are_chains_that_follow_each_other_in_time_and_those_that_links_join() -> None:
    assert [draft.target_id for draft in TASK.drafts(content())] == ["first/second", "first/third", "second/third"]


def test_a_unit_holds_both_chains_their_links_and_drafts_of_rewriting(unit: Any) -> None:
    assert [turn["question"] for turn in unit["before"]["turns"]] == ["What?", "Where?"]
    assert [clip["id"] for clip in unit["clips"]] == ["clip-0", "clip-1"]
    # Two relations of one pair of turns are one link; a link that leads from no turn is none.
    assert unit["linkages"] == [{"place": "1-0", "source": 1, "target": 0, "relations": ["Events", "Objects"]}]
    assert unit["rewrites"]["1-0"][0]["problems"] == ["the next turn rests on it"]


def test_places_are_the_drafted_links_and_the_board(unit: Any) -> None:
    assert TASK.places(unit) == ["1-0", BOARD]
    assert TASK.draft_value(unit, "1-0")["relations"] == ["Events", "Objects"]
    assert TASK.draft_value(unit, "0-1")["relations"] == []


def test_a_link_that_somebody_draws_is_stored_at_its_own_place(unit: Any) -> None:
    stored = TASK.check(unit, "0-1", kept(relations=["Events", "Actions", "Events"], skills=["II"]))
    assert (stored["relations"], stored["skills"], stored["question"]) == (["Events", "Actions"], ["II"], None)


@pytest.mark.parametrize("place", ["2-0", "0-2", "00-1", "0", "-1-0", "0-1-1", "", "x", "1e1-0", "٠-1", "0-0\n"])
def test_a_link_from_or_to_no_turn_is_refused(unit: Any, place: str) -> None:
    with pytest.raises(InvalidValue, match="a link leads from"):
        TASK.check(unit, place, kept())


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (kept(relations=[]), "how the two turns are related"),
        (kept(question=" ", references=["Yes."], fits=True), "rewritten to nothing"),
        (kept(question="Which came first?", references=[" "], fits=True), "needs its answer"),
        (kept(question="Which came first?", references=["That."]), "confirm that it fits"),
        (kept(method="Events/nothing"), "no method"),
        (kept(weight=3), "weight"),
        ({"decision": "accept"}, "decision"),
        (kept(relations=["a\nb"]), "relations"),
        (["keep"], "dictionary"),
    ],
)
def test_a_link_that_cannot_be_stored_says_why(unit: Any, value: Any, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        TASK.check(unit, "1-0", value)


def test_what_is_being_typed_can_always_be_kept(unit: Any) -> None:
    stored = TASK.check(unit, "1-0", {"question": "", "references": [""], "relations": []})
    assert stored["question"] == ""
    assert not TASK.is_decided(stored)


def test_a_later_question_in_its_own_words_was_not_rewritten(unit: Any) -> None:
    own = kept(question="When?", references=["An answer."], fits=True)
    assert TASK.check(unit, "1-0", own) == TASK.check(unit, "1-0", kept())


def test_two_people_agree_link_by_link(unit: Any) -> None:
    def essence(value: Any) -> Any:
        return TASK.essence(unit, "1-0", TASK.check(unit, "1-0", value))

    assert essence(kept(relations=["Events", "People"], note="sure")) == essence(kept(relations=["People", "Events"]))
    assert essence(kept(relations=["Events"])) != essence(kept(relations=["People"]))
    assert essence(kept(skills=["II"])) != essence(kept())
    # Who deletes a link agrees with who never drew it.
    assert essence({"decision": "delete"}) is None


def test_agreement_sees_which_links_there_are_and_their_relations(unit: Any) -> None:
    board = TASK.check(unit, BOARD, {"decision": "complete", "links": ["1-0", "0-0"]})
    assert [(code.variable, code.scale, code.value) for code in TASK.codes(unit, BOARD, board)] == [
        ("links", "set", ["0-0", "1-0"])
    ]
    found = {
        code.variable: code.value
        for code in TASK.codes(unit, "1-0", TASK.check(unit, "1-0", kept(skills=["PA", "II"])))
    }
    assert found == {"decision": "keep", "relation": "Events", "skills": ["II", "PA"], "question": "When?"}
    gone = {
        code.variable: code.value for code in TASK.codes(unit, "1-0", TASK.check(unit, "1-0", {"decision": "delete"}))
    }
    assert gone == {"decision": "delete", "relation": None, "skills": None, "question": None}


def test_the_board_is_looked_at_again_when_a_link_comes_or_goes(unit: Any) -> None:
    draft, keep = TASK.draft_value(unit, "0-0"), TASK.check(unit, "0-0", kept())
    relabelled = TASK.check(unit, "0-0", kept(relations=["People"]))
    assert TASK.affects_others(draft, keep)
    assert TASK.affects_others(keep, None)
    assert not TASK.affects_others(keep, relabelled)
    assert list(TASK.dependents(unit, "0-0")) == [BOARD]
    assert list(TASK.dependents(unit, BOARD)) == []


def test_lines_tell_a_link_in_words(unit: Any) -> None:
    value = TASK.check(
        unit,
        "1-0",
        kept(question="Which came first?", references=["That."], fits=True, method="Events/sequence", note="n"),
    )
    assert TASK.summary(unit, "1-0", value) == [
        ("Decision", "keep"),
        ("Link", "turn 2 → turn 1"),
        ("Earlier question", "Where?"),
        ("Later question", "When?"),
        ("Relations", "Events"),
        ("Method", "Events/sequence"),
        ("Rewritten question", "Which came first?"),
        ("Rewritten answer", "That."),
        ("Note", "n"),
    ]
    assert TASK.summary(unit, BOARD, TASK.draft_value(unit, BOARD)) == [("Decision", "none yet"), ("Links", "none")]


def test_the_page_names_all_nine_skills() -> None:
    assert set(TASK.skills) == {skill.value for skill in Skill}
    shown = TASK.visible_content({"unit": "pair"}, {})
    assert {method["relation"] for method in shown["methods"]} <= set(TASK.relations)
    assert shown["vocabularies"]["skills"]["says"]["II"] == "intention inference"
    assert all(known["closed"] for known in shown["vocabularies"].values())
