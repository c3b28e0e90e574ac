"""Dialogues of graphs do what their tasks mean: references with several candidates, distant recall, false premises."""

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from peopled_scenes import SCENES, texts

from reeltalk.language.grammar import SPLITS
from reeltalk.schema.dialogue import Checklist, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip
from reeltalk.schema.record import ClipId, VideoId
from reeltalk_build.construct.round_forms import expand_pattern, round_forms
from reeltalk_build.graph.reading import read_activity
from reeltalk_household.questions.balancing import is_usual
from reeltalk_household.writer.graph_chains import NEIGHBOUR_KINDS, ORIGIN_KINDS, TIMELESS_KINDS, VideoPart
from reeltalk_household.writer.graph_checklists import GraphRound, graph_checklist
from reeltalk_household.writer.graph_dialogues import REFERRING_SHARE, UNASKED_IN_DIALOGUES, DialogueMaker
from reeltalk_household.writer.graph_premises import NEVER_DONE
from reeltalk_household.writer.graph_references import CANDIDATES
from reeltalk_household.writer.graph_summaries import SENTENCE_LIMITS, find_consequences, important_events, sum_up

SEEDS = list(range(8))


@pytest.fixture(scope="module", autouse=True)
def _all_seeds(full: bool) -> None:
    if full:
        SEEDS[:] = range(12)


@cache
def part() -> VideoPart:
    """Two scenes of three people, written by hand."""
    found = texts(SCENES)
    graphs = [read_activity(text, file=f"{name}.nq", name=name) for name, text in found.items()]
    clips = [
        Clip(id=ClipId(name), video_id=VideoId("v"), interval=Interval(start_s=30.0 * n, end_s=30.0 * n + 29))
        for n, name in enumerate(found)
    ]
    return VideoPart(tuple(clips), tuple(graphs), found)


@cache
def written(task: Task) -> tuple[tuple[GraphRound, ...], ...]:
    made = []
    for seed in SEEDS:
        for split in SPLITS:
            maker = DialogueMaker(part(), split=split, seed=str(seed), shown=frozenset({0, 1}), earlier=frozenset({0}))
            rounds = maker.dialogue(task)
            if not isinstance(rounds, str):
                made.append(tuple(rounds))
    assert len(made) > len(SEEDS)
    return tuple(made)


def turns_of(task: Task) -> Iterator[Turn]:
    for rounds in written(task):
        for made in rounds:
            yield made.turn


def is_tested(turn: Turn, task: Task) -> bool:
    return task.value in turn.labels.get("mt_video_bench.task", ())


def is_premise(turn: Turn) -> bool:
    """True for a turn that takes for granted what does not happen, rather than ask what no video tells."""
    return is_tested(turn, Task.ANSWER_REFUSAL) and "premise" in turn.extra


@pytest.mark.parametrize("task", list(Task))
def test_sparql_finds_every_fact_of_every_round_again(task: Task) -> None:
    assert part().checker.disagreements(turns_of(task)) == []


@pytest.mark.parametrize("task", list(Task))
def test_every_tested_round_has_a_checklist_that_its_reference_passes(task: Task) -> None:
    made = [one for rounds in written(task) for one in rounds if is_tested(one.turn, task)]
    lists = [graph_checklist(one) for one in made]
    assert sum(isinstance(one, Checklist) for one in lists) > 0.9 * len(lists), lists


def test_most_references_have_two_candidates_that_only_the_dialogue_tells_apart() -> None:
    turns = list(turns_of(Task.OBJECT_REFERENCE))
    ambiguous = [turn for turn in turns if CANDIDATES in turn.extra]
    assert len(ambiguous) >= REFERRING_SHARE * len(turns)
    for turn in ambiguous:
        candidates = turn.extra[CANDIDATES]
        assert len(candidates) >= 2
        # Without its dialogue, the question has another answer for another candidate.
        answers = {name: part().checker.answer(turn.extra["kind"], params) for name, params in candidates.items()}
        assert len(set(answers.values())) > 1, turn.question
        assert turn.extra["answer_key"] in answers.values()
        assert turn.extra["refers_to"] in candidates


def test_references_use_several_ways() -> None:
    said = " ".join(turn.question.casefold() for turn in turns_of(Task.OBJECT_REFERENCE))
    for words in (" it", "the other one", " she ", " he "):
        assert words in said, words


def test_recall_reaches_back_over_three_rounds_and_into_another_scene() -> None:
    first = part().graphs[0].duration_s or 0.0
    sorts = Counter[str]()
    for rounds in written(Task.MEMORY_RECALL):
        for index, made in enumerate(rounds):
            if not is_tested(made.turn, Task.MEMORY_RECALL):
                continue
            places = made.turn.extra["recalls"]
            sorts[str(made.turn.extra.get("recall", made.turn.extra["kind"]))] += 1
            assert all(index - place >= 3 for place in places)
            for place in places:
                shown = rounds[place].turn.evidence
                assert shown, "a recalled fact is seen somewhere"
                assert max(interval.end_s for interval in shown) <= first + 0.01
            # The rounds right before are about the later scene, or recall something themselves.
            before = rounds[index - 1].turn
            assert "recalls" in before.extra or max(i.end_s for i in before.evidence) > first
    assert sorts["recall"]
    assert sorts["recall_both"]
    assert len(sorts) >= 3


def test_a_refused_question_cannot_be_told_by_its_words() -> None:
    sorts = Counter[str]()
    refused, answered = Counter[str](), Counter[str]()
    for rounds in written(Task.ANSWER_REFUSAL):
        wrong = [made.turn for made in rounds if is_premise(made.turn)]
        right = [made.turn for made in rounds if "form" in made.turn.extra and not is_premise(made.turn)]
        for turn in wrong:
            assert turn.extra["form"].split("/")[0] == turn.extra["asks_like"]
            sorts[turn.extra["premise"]] += 1
        refused.update(turn.extra["form"].split("/")[0] for turn in wrong)
        answered.update(turn.extra["form"].split("/")[0] for turn in right)
    assert {kind for kind, times in refused.items() if times > 5} <= set(answered), (
        "the same kinds are asked with a true premise"
    )
    assert 0.35 < refused.total() / (refused.total() + answered.total()) < 0.65
    assert set(sorts) >= {"agent", "object"}


def test_a_refusal_says_what_is_wrong_and_what_is_shown_instead() -> None:
    for rounds in written(Task.ANSWER_REFUSAL):
        for made in rounds:
            if not is_premise(made.turn):
                continue
            (said,) = made.says
            assert said.says in made.turn.references[0]
            if said.value is not None:
                assert said.value in made.turn.references[0]
            assert (said.value is None) == (made.turn.extra["premise"] in ("thing", "act"))
            assert said.says != said.value
            # SPARQL finds no such act, and the one that is shown.
            assert part().checker.answer(made.turn.extra["kind"], made.turn.extra["params"]) == "no"
            (fact,) = made.turn.extra["facts"]
            assert part().checker.answer(fact["kind"], fact["params"]) == fact["answer_key"]


def test_a_dialogue_that_left_the_video_comes_back_to_what_was_spoken_of() -> None:
    families = set()
    for rounds in written(Task.TOPIC_SHIFTING):
        for before, made in itertools.pairwise(rounds):
            if before.topic is None:
                continue
            families.add(before.topic.family)
            assert made.turn.extra["about"] == "video"
            assert made.turn.extra["refers_to"] is not None
    assert len(families) >= 15


@pytest.mark.parametrize("task", list(Task))
def test_every_later_round_goes_on_from_the_one_before_or_does_the_task(task: Task) -> None:
    for rounds in written(task):
        for made in rounds[1:]:
            assert made.turn.extra.get("refers_to") is not None or is_tested(made.turn, task), made.turn.question
        assert rounds[0].turn.extra["refers_to"] is None


def test_what_other_houses_make_anybody_guess_is_not_asked() -> None:
    story = part().story
    asked = {(t.extra["kind"], str(t.extra["params"])) for task in Task for t in turns_of(task) if "form" in t.extra}
    usual = [q for q in part().question_pool(0) if is_usual(q, story)]
    assert usual
    assert not [q for q in usual if (q.kind, str(dict(q.params))) in asked and "premise" not in q.kind]


def test_refusals_also_ask_for_what_is_not_there_at_all() -> None:
    sorts = Counter[str]()
    for turn in turns_of(Task.ANSWER_REFUSAL):
        sort = str(turn.extra.get("premise", turn.extra["kind"]))
        sorts[sort] += 1
        if sort == "act":
            assert turn.extra["params"]["action"] in NEVER_DONE
    assert set(sorts) >= {"thing", "act", "sound"}


def test_the_user_does_not_follow_what_is_on_screen_and_is_told_what_comes_of_it() -> None:
    found = {one.act.order: one for one in find_consequences(part().story, [0, 1])}
    assert found
    for rounds in written(Task.PROACTIVE_INTERACTION):
        chats = [made for made in rounds if made.turn.extra["about"] == "chat"]
        assert 1 <= len(chats) <= 2
        for made in chats:
            act, *effects = made.turn.extra["facts"]
            assert found[act["params"]["event"]].effects[0].order == effects[0]["params"]["event"]
            assert made.says[0].says.casefold() in made.turn.references[0].casefold()
            assert made.turn.references[0].endswith("?")


def test_a_summary_keeps_to_its_number_of_sentences_of_one_subject_each() -> None:
    names = set(part().story.names.values())
    for turn in turns_of(Task.CONTENT_SUMMARY):
        if turn.extra["kind"] != "summary":
            continue
        sentences = turn.references[0].removesuffix(".").split(". ")
        assert SENTENCE_LIMITS[0] <= len(sentences) <= SENTENCE_LIMITS[-1]
        assert "walks" not in turn.references[0]
        assert any(name in turn.references[0] for name in names)
        assert not any("; " in sentence for sentence in sentences)


def test_a_summary_keeps_the_order_of_important_events() -> None:
    events = important_events(part().story.events)
    assert [event.order for event in events] == sorted(event.order for event in events)
    assert {event.action for event in events} >= {"give", "break"}
    assert not {event.action for event in events} & {"walk", "stand", "turnTo"}
    assert sum_up(events[:1], part().story) == (), "one event needs no summary"


def test_dialogues_ask_nothing_for_yes_or_no_little_for_the_next_act_and_never_go_back_without_a_reason() -> None:
    for rounds in (rounds for task in Task for rounds in written(task)):
        assert not any(made.turn.extra.get("answer_type") == "yes_no" for made in rounds)
        kinds = [made.turn.extra["kind"] for made in rounds]
        assert not UNASKED_IN_DIALOGUES & {*kinds}
        assert sum(kind in NEIGHBOUR_KINDS for kind in kinds) <= 1
        reached = 0.0
        for made in rounds:
            shown = [interval.end_s for interval in made.turn.evidence]
            # What does not happen has no moment.
            if (
                not shown
                or made.turn.extra["kind"] in ORIGIN_KINDS | TIMELESS_KINDS
                or {"recalls", "premise"} & {*made.turn.extra}
            ):
                continue
            assert max(shown) >= reached - 1.0, made.turn.question
            reached = max(reached, max(shown))


def test_wordings_are_varied() -> None:
    for task, sorts in ((Task.MEMORY_RECALL, ("recall", "recall_both")), (Task.TOPIC_SHIFTING, ("topic",))):
        for sort in sorts:
            said = [t.question for t in turns_of(task) if t.extra["kind"] == sort]
            # All of them are about the same two scenes, which have few things to recall.
            assert len(set(said)) >= 0.75 * len(said)
    assert all(len(expand_pattern(p)) > 0 for forms in round_forms().values() for p in forms.questions)
