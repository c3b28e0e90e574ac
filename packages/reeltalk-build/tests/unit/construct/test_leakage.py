"""Leaks: planted ones are found, fair mixtures and what needs no video by design are left alone."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from page_world import World
from planted_leaks import Told, biased, repeated, told_dialogues, without_kinds
from scripted_judge import scripted_judge
from told_households import told

from reeltalk.metrics.significance import binomial_tail
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.gates import GateOutcome, GateResult, is_counted
from reeltalk.schema.record import DialogueId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import DIALOGUES
from reeltalk_build.construct import leakage
from reeltalk_build.construct.equivalence import Equivalence
from reeltalk_build.construct.leakage import HABIT, HISTORY, leak_of, leaks_of
from reeltalk_household.questions.asking import write_question_dialogues

WANTED = 0.95
ENOUGH = 15
"""Turns of a form by which a bias can be told from chance at all, among as many forms as dialogues have."""


def leaks(*conversations: Any, **settings: Any) -> list[GateResult]:
    return list(leakage.leaks(*conversations, **settings))


def limit_leak_share(*results: Any) -> list[GateResult]:
    return list(leakage.limit_leak_share(*results))


def a_dialogue(number: int, *turns: tuple[str, str], video: int | None = None) -> Dialogue:
    return Dialogue(
        id=DialogueId(f"d{number:03}"),
        video_id=VideoId(f"v{number if video is None else video:03}"),
        turns=tuple(Turn(question=question, references=(answer,)) for question, answer in turns),
    )


def flagged(results: list[GateResult], gate: str | None = None) -> set[tuple[str, int | None]]:
    return {
        (r.unit_id, r.turn_index)
        for r in results
        if r.outcome is GateOutcome.FLAGGED and (gate is None or r.gate == gate)
    }


def test_dialogues_about_whole_videos_leave_out_what_their_earlier_turns_tell(
    world: World, copy_of: Callable[..., Path]
) -> None:
    benchmark = Benchmark.open(copy_of(world.made("told/4")))
    leaking = {}
    for is_told in (None, leak_of):
        write_question_dialogues(benchmark, per_video=2, overwrite=True, is_answered=is_told)
        dialogues: list[Dialogue] = list(benchmark.read(DIALOGUES))
        leaking[is_told is None] = [found for dialogue in dialogues for found in leaks_of(dialogue)]
        assert all(len(dialogue.turns) == 10 for dialogue in dialogues)
    assert leaking[True]
    assert leaking[False] == []


@pytest.fixture(scope="module")
def households(world: World) -> list[Told]:
    return list(told_dialogues(Benchmark.open(world.made("told/12"))))


def found_share(dialogues: list[Told], draw: random.Random) -> dict[str, float]:
    """Share found by way of planting, and the share of the clean dialogues' turns that are flagged all the same."""
    planted = [one for each in dialogues for one in repeated(each, draw)]
    clean = [each.dialogue for each in dialogues]
    results = leaks([one.dialogue for one in planted], clean, ("history",))
    hits = flagged(results, HISTORY)
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for one in planted:
        total[one.how] += 1
        found[one.how] += (one.dialogue.id, one.turn_index) in hits
    before = leaks(clean, clean, ("history",))
    shares = {how: found[how] / total[how] for how in sorted(total)}
    return shares | {"all": found.total() / total.total(), "false alarms": len(flagged(before)) / len(before)}


def test_answers_repeated_in_the_history_are_found(households: list[Told]) -> None:
    shares = found_share(households, random.Random(5))
    print(shares)
    assert shares["all"] >= WANTED
    assert shares["false alarms"] <= 0.1


@pytest.mark.parametrize(("agreeing", "leaks_blind"), [(5, True), (4, False)])
def test_five_videos_that_agree_are_no_chance_and_four_of_five_are(agreeing: int, leaks_blind: bool) -> None:
    question = "What colour is the kettle that she fills?"
    answers = ["red"] * agreeing + ["blue"] * (5 - agreeing)
    others = [a_dialogue(number, (question, answer)) for number, answer in enumerate(answers)]
    asked = a_dialogue(9, (question, "red"))
    # Of five fair coins all show heads once in 32 times, and at least four in 6 of 32: below 5 % and above it.
    settings = ("blind",)
    assert (("d009", 0) in flagged(leaks([asked], others, settings))) is leaks_blind


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 99])
def test_planted_leaks_are_found_on_twenty_scenarios(tmp_path: Path, seed: int) -> None:
    dialogues = list(told_dialogues(told(tmp_path / "benchmark", scenarios=20, seed=seed)))
    shares = found_share(dialogues, random.Random(5))
    print(seed, shares)
    assert shares["all"] >= WANTED
    assert shares["false alarms"] <= 0.1
    clean = [each.dialogue for each in dialogues]
    for kind in ("acts",):
        changed, places = biased(clean, kind)
        if len(places) < ENOUGH:
            continue
        hits = flagged(leaks(changed, None, ("habit",)))
        print(seed, kind, len(hits & places), len(places), "others", len(hits - places))
        assert len(hits & places) >= WANTED * len(places)


def test_a_bias_to_yes_is_found_and_a_fair_mixture_is_not() -> None:
    draw = random.Random(1)
    things = ["fridge", "closet", "window", "box", "drawer", "washing machine"]
    fair = [
        a_dialogue(n, (f"Does he open the {draw.choice(things)}?", draw.choice(["Yes.", "No."])), ("Why?", f"For {n}."))
        for n in range(60)
    ]
    settings = ("habit",)
    assert flagged(leaks(fair, None, settings)) == set()
    yes = [a_dialogue(n, (one.turns[0].question, "Yes, he does."), ("Why?", f"For {n}.")) for n, one in enumerate(fair)]
    found = leaks(yes, None, settings)
    assert flagged(found) == {(one.id, 0) for one in yes}
    assert "59 of 59" in str(found[0].reason)


def test_a_form_that_its_writer_names_is_judged_by_itself() -> None:
    draw = random.Random(2)

    def turn(kind: str, answer: str) -> Turn:
        return Turn(question=f"Does he {kind} it?", references=(answer,), extra={"kind": kind})

    dialogues = [
        Dialogue(
            id=DialogueId(f"d{n}"),
            video_id=VideoId(f"v{n}"),
            turns=(turn("open", "Yes."), turn("close", draw.choice(["Yes.", "No."]))),
        )
        for n in range(40)
    ]
    settings = ("habit",)
    assert flagged(leaks(dialogues, None, settings)) == {(one.id, 0) for one in dialogues}
    # By their wording the two are one form; what is biased in one shows as a bias of both.
    found = flagged(leaks(without_kinds(dialogues), None, settings))
    assert {(one.id, 0) for one in dialogues} <= found


def test_a_question_is_answered_blind_only_from_other_videos() -> None:
    settings = ("blind",)
    asked = ("Where does he take the milk from?", "From the fridge.")
    same = [a_dialogue(n, asked, video=0) for n in range(12)]
    assert flagged(leaks(same, None, settings)) == set()
    others = [a_dialogue(n, asked) for n in range(12)]
    results = leaks(others, None, settings)
    assert len(flagged(results)) == 12
    assert results[0].reason == "11 of 11 other videos with a like question have this answer"
    few = leaks(others[:4], None, settings)
    assert flagged(few) == set()


def test_what_needs_no_video_by_design_is_not_checked() -> None:
    recall = Turn(question="q", references=("a",), labels={"mt_video_bench.task": ("memory_recall",)})
    topic = Turn(question="q", references=("a",), extra={"about": "topic"})
    refusal = Turn(question="q", references=("a",), extra={"answer_type": "refusal"})
    assert [is_counted(turn) for turn in (recall, topic, refusal, Turn(question="q"))] == [False] * 4
    dialogue = Dialogue(id=DialogueId("d"), video_id=VideoId("v"), turns=(recall, topic, refusal))
    assert leaks([dialogue]) == []


def outcome_of(turns: Sequence[tuple[str, str]], gate: str, equivalence: Equivalence | None = None) -> GateResult:
    """The result of a gate on the last of some turns of one video."""
    found = leaks([a_dialogue(1, *turns)], equivalence=equivalence)
    return next(row for row in found if row.gate == gate and row.turn_index == len(turns) - 1)


TOLD = ("What does the dog do in the yard?", "The dog chases the small cat in the yard.")


@pytest.mark.parametrize(
    ("turns", "gate", "judged"),
    [
        ([TOLD, ("What happens to the cat in the yard?", "It is pursued by the dog.")], "leak.history", "flagged"),
        ([TOLD, ("What else does the cat do in the yard?", "The cat chases the dog.")], "leak.history", "passed"),
        (
            [("How does the man who closes the door leave the door?", "The man closes the door.")],
            "leak.blind",
            "flagged",
        ),
        ([("When the cat chases the dog, what happens then?", "The dog chases the cat.")], "leak.blind", "passed"),
    ],
)
def test_open_answers_are_compared_by_a_judge_or_not_at_all(
    turns: Sequence[tuple[str, str]], gate: str, judged: str
) -> None:
    alone = outcome_of(turns, gate)
    assert (alone.outcome.value, "--judge" in str(alone.reason)) == ("unchecked", True)
    with scripted_judge() as (judge, _):
        assert outcome_of(turns, gate, Equivalence(judge)).outcome.value == judged


def test_answers_of_other_videos_are_judged_too() -> None:
    question = "What happens to the bicycle in the garage?"
    others = [a_dialogue(number, (question, "A man fixes it.")) for number in range(6)]
    asked = a_dialogue(9, (question, "It is repaired by the man."))
    alone = leaks([asked], others)
    assert [row.outcome.value for row in alone] == ["unchecked", "passed", "unchecked"]
    with scripted_judge() as (model, server):
        judge = Equivalence(model)
        assert [row.outcome.value for row in leaks([asked], others, equivalence=judge)] == [
            "flagged", "passed", "flagged"
        ]  # fmt: skip
        assert server.count == 1
        other = a_dialogue(9, (question, "The bicycle falls over."))
        assert [row.outcome.value for row in leaks([other], others, equivalence=judge)] == ["passed"] * 3


def test_what_passed_has_a_row_for_each_probe() -> None:
    results = leaks([a_dialogue(1, ("Where does he put the mug?", "On the table."))])
    assert [(r.gate, r.outcome.value) for r in results] == [
        ("leak.blind", "passed"), ("leak.history", "passed"), ("leak.habit", "passed")
    ]  # fmt: skip


def test_the_dialogues_that_leak_most_are_dropped_first() -> None:
    turns = [(f"What is thing {n}?", f"Number {n}.") for n in range(4)]
    dialogues = [a_dialogue(n, *turns) for n in range(4)]
    results = [
        GateResult(gate=HABIT, unit="dialogue", unit_id=f"d{d:03}", turn_index=t, outcome=GateOutcome.FLAGGED)
        for d, t in ((0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1))
    ]

    def dropped(share: float) -> list[str]:
        kept = limit_leak_share(dialogues, results, share)
        assert len(kept) == 4
        return [r.unit_id for r in kept if r.outcome is GateOutcome.DROPPED]

    assert dropped(0.4) == []
    assert dropped(0.3) == ["d001"]
    assert dropped(0.2) == ["d001", "d002"]
    assert dropped(0.0) == ["d000", "d001", "d002"]
    assert "3 of 4" in str(limit_leak_share(dialogues, results, 0.3)[1].reason)


def test_the_binomial_tail_is_exact() -> None:
    assert binomial_tail(0, 5) == 1.0
    assert binomial_tail(5, 5) == pytest.approx(0.5**5, rel=1e-12)
    assert binomial_tail(8, 10) == pytest.approx(56 / 1024)
    assert binomial_tail(2_000, 4_000) == pytest.approx(0.506, abs=0.001)


def test_results_do_not_depend_on_the_order_of_hashes(households: list[Told]) -> None:
    clean = [each.dialogue for each in households]
    assert leaks(clean) == leaks(list(clean))
