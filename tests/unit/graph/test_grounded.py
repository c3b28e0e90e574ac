"""Answers are checked against the graph: true ones accepted, false ones rejected, and the rest left alone."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from grounded_references import References
from sample_graphs import event, line, placed, read, state

from reeltalk.graph.activity_reading import read_activity
from reeltalk.graph.grounded import Ground, Verdict
from reeltalk.graph.story import Story
from reeltalk.graph.wording import SPLITS, dialogue
from reeltalk.schema.dialogue import Turn
from reeltalk.world.activities import activities
from reeltalk.world.film import carry_out_all, clip_graphs, plan
from reeltalk.world.house import build_house
from reeltalk.world.settings import FilmSettings

MILK = [
    *event(0, "walk", "kitchen1"),
    *event(1, "grab", "milk5"),
    *event(2, "pour", "milk5"),
    line("event2_use_lamp1_scene1", "targetObject", "<vh2kg_url/instance/waterglass6_scene1>"),
    *event(3, "put", "milk5"),
    *event(4, "drink", "waterglass6"),
    *event(5, "walk", "livingroom2"),
    *event(6, "sit", "sofa8"),
    *event(7, "grab", "remotecontrol9"),
    *event(8, "fall"),
    *state(0, "milk5", "CLEAN"),
    placed(0, "milk5", "inside", "fridge4"),
    placed(0, "fridge4", "inside", "kitchen1"),
    *state(4, "milk5", "CLEAN"),
    placed(4, "milk5", "on", "kitchentable3"),
    placed(0, "kitchentable3", "inside", "kitchen1"),
    placed(0, "sofa8", "inside", "livingroom2"),
    placed(0, "character1", "inside", "bedroom7"),
]
"""A drink of milk in the kitchen and a fall before the sofa, as VDAct's graphs tell it."""


@pytest.fixture(scope="module")
def ground() -> Ground:
    return Ground(Story([read(MILK)]))


@pytest.mark.parametrize(
    ("question", "right", "wrong", "kind"),
    [
        ("Does he drink milk?", "Yes, he does.", "No.", "yes_no"),
        ("Did the man eat a cupcake?", "Nope.", "Yes, a big one.", "yes_no"),
        ("Did he drink the milk after pouring it?", "He did.", "He did not.", "yes_no"),
        ("How many times does he drink?", "Just once.", "Twice.", "count"),
        ("What does the person take from the fridge?", "A carton of milk.", "The wine.", "object"),
        ("What did he pick up last?", "The remote.", "A glass of milk.", "object"),
        ("Where does he get the milk from?", "From the refrigerator.", "It was on the sofa.", "place"),
        ("Where did he put the milk?", "On the kitchen table.", "In the fridge.", "place"),
        ("Where did he fall?", "In the living room.", "He fell in the kitchen.", "place"),
        ("In which room does he drink?", "The kitchen.", "The bathroom.", "room"),
        ("Where does he go after drinking the milk?", "He went to the living room.", "To the bathroom.", "room"),
        ("Does he drink before or after sitting down?", "Before that.", "After it.", "order"),
        ("Was he holding the remote when he fell?", "Yes, he was.", "No, he wasn't.", "holding"),
        ("Did he sit on the sofa or the bed?", "On the couch.", "He sat on the bed.", "choice"),
        ("What does he do with the milk?", "He pours it into a glass.", "He cuts it.", "action"),
    ],
)
def test_an_answer_is_accepted_where_the_graph_has_it_so(
    ground: Ground, question: str, right: str, wrong: str, kind: str
) -> None:
    accepted, rejected = ground.check(question, right), ground.check(question, wrong)
    assert (accepted.outcome, accepted.kind) == ("accepted", kind), accepted
    assert (rejected.outcome, rejected.kind) == ("rejected", kind), rejected
    assert rejected.expected == accepted.expected != ()


@pytest.mark.parametrize(
    "question",
    [
        "Does he enjoy the milk?",
        "Is the milk fresh?",
        "Does he only drink milk?",
        "Does he drink the milk or spill it on purpose?",
        "Did he drink it?",
        "Does he do anything else?",
        "What brand of milk is it?",
        "Why do you think he fell?",
        "",
    ],
)
def test_a_question_that_is_not_surely_understood_is_not_covered(ground: Ground, question: str) -> None:
    verdict = ground.check(question, "Yes, the milk.")
    assert verdict == Verdict("not_covered", "", (), "the question is not surely understood")


def test_what_a_graph_of_steps_need_not_hold_is_not_denied(ground: Ground) -> None:
    assert ground.check("Does he look at the sofa?", "Yes.").outcome == "not_covered"
    assert ground.check("Does he cook the salmon?", "Yes.").outcome == "rejected", "no step touches any salmon"


def test_an_answer_that_evades_is_rejected_and_one_that_is_not_understood_is_not_covered(ground: Ground) -> None:
    assert ground.check("Where did he put the milk?", "I am not sure.").outcome == "rejected"
    assert ground.check("Where did he put the milk?", "  ").outcome == "rejected"
    strange = ground.check("Where did he put the milk?", "Wherever his mother taught him.")
    assert (strange.outcome, strange.kind, strange.reason) == ("not_covered", "place", "the answer is not understood")


def test_a_pronoun_means_the_one_object_of_the_turn_before(ground: Ground) -> None:
    history = [("What does he take from the fridge?", "He takes the milk.")]
    assert ground.check("Where does he put it?", "On the kitchen table.", history).outcome == "accepted"
    assert ground.check("Where does he put it?", "On the kitchen table.").outcome == "not_covered"
    two = [("What things are there?", "There is milk, and a remote control.")]
    assert ground.check("Where does he put it?", "On the kitchen table.", two).outcome == "not_covered"
    asked_again = [*history, ("Where does he put it?", "On the kitchen table.")]
    assert ground.check("Does he drink it?", "Yes.", asked_again).outcome == "accepted"


def test_that_means_the_event_of_the_turn_before(ground: Ground) -> None:
    history = [("Does he sit on the sofa?", "Yes, he does.")]
    verdict = ground.check("What does he do after that?", "He falls.", history)
    assert (verdict.outcome, verdict.expected) == ("accepted", ("picks up the remote control", "falls down"))
    denied = [("Does he eat a cupcake?", "No.")]
    assert ground.check("What does he do after that?", "He falls.", denied).outcome == "not_covered"


def test_an_answer_that_names_everything_is_not_accepted(ground: Ground) -> None:
    everything = "The wine, the juice, the milk, the mug, the plate, the book or the towel."
    assert ground.check("What does the person take from the fridge?", everything).outcome == "rejected"


def told(count: int) -> Iterator[Story]:
    for planned in plan(FilmSettings(scenarios=count, houses=4, seed=23)).plans:
        house = build_house(planned.house)
        parts = carry_out_all(house, planned.start_room, list(planned.activities))
        texts = clip_graphs(house, planned.clips, [activities()[name] for name in planned.activities], parts)
        named = zip(planned.clips, texts, strict=True)
        yield Story([read_activity(text, file=f"{name}.nq", name=name) for name, text in named])


def test_household_references_are_accepted_and_wrong_answers_rejected(full: bool) -> None:
    right, wrong = Counter[str](), Counter[str]()
    draw = random.Random(5)
    for story in told(60 if full else 4):
        ground = Ground(story)
        for split in SPLITS:
            turns, _ = dialogue(story, split=split, seed=draw.getrandbits(32), turns=12)
            history: list[tuple[str, str]] = []
            for turn in turns:
                right[ground.check(turn.question, turn.references[0], history).outcome] += 1
                for answer in wrong_answers(turn):
                    wrong[ground.check(turn.question, answer, history).outcome] += 1
                history.append((turn.question, turn.references[0]))
    covered = right["accepted"] + right["rejected"]
    assert covered >= 0.6 * right.total(), right
    assert right["accepted"] >= 0.98 * covered, right
    assert wrong["rejected"] >= 0.95 * (wrong["accepted"] + wrong["rejected"]) > 100, wrong


def wrong_answers(turn: Turn) -> list[str]:
    return [option for place, option in enumerate(turn.options or ()) if place != turn.correct_option]


def test_human_references_agree_with_the_real_graphs_where_they_are_covered(shared: Path, full: bool) -> None:
    references = References(shared / "data" / "vdact", None if full else "odd")
    rows = references.checked()
    outcomes = Counter(row.verdict.outcome for row in rows)
    covered = outcomes["accepted"] + outcomes["rejected"]
    assert len(rows) == (4_524 if full else 2_258)
    assert covered >= 0.15 * len(rows), outcomes
    assert outcomes["accepted"] >= 0.9 * covered, outcomes
    wrong = references.wrong(rows)
    assert wrong["rejected"] >= 0.95 * (wrong["accepted"] + wrong["rejected"]), wrong
