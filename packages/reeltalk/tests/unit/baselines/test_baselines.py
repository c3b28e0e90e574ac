"""Baselines that need no weights: what each answers, and when it says nothing."""

import random
from dataclasses import replace

import pytest
from traced_memory import traced_peak

from reeltalk.baselines import ranking
from reeltalk.baselines.answerer import Answerer, KnownAnswer, KnownTurn
from reeltalk.baselines.constant import ConstantAnswerer, question_form, question_head
from reeltalk.baselines.history import HistoryAnswerer
from reeltalk.baselines.in_context import InContextAnswerer
from reeltalk.baselines.nearest import BlindAnswerer, QuestionIndex
from reeltalk.baselines.ngrams import NGramRegression, NGramsAnswerer

PAIRS = [
    KnownAnswer("Where does he take the milk from?", "From the fridge.", "v1"),
    KnownAnswer("Where does she take the milk from?", "In the fridge.", "v2"),
    KnownAnswer("What colour is the sofa?", "It is red.", "v1"),
    KnownAnswer("Does he open the fridge?", "Yes.", "v1"),
    KnownAnswer("Does he close the closet?", "Yes, he does.", "v2"),
    KnownAnswer("Does he read the book?", "No.", "v3"),
]
TURNS = [KnownTurn(pair.question, pair.answer, pair.video_id) for pair in PAIRS]
HISTORY = [
    ("What does he pick up first?", "The mug."),
    ("Where does he put it?", "On the kitchen table. At the end he opens the fridge."),
]


def every() -> list[Answerer]:
    return [
        BlindAnswerer(PAIRS),
        HistoryAnswerer(),
        ConstantAnswerer(PAIRS),
        NGramsAnswerer(TURNS),
    ]


@pytest.mark.parametrize("answerer", every(), ids=lambda answerer: answerer.name)
def test_every_baseline_answers_alike_each_time_and_names_itself(answerer: Answerer) -> None:
    assert answerer.signature.startswith(f"baseline:{answerer.name}")
    options = ["on the sofa", "in the fridge", "on the kitchen table", "in the closet"]
    for question in ("Where does he take the milk from?", "Does he open it?", "Где молоко?"):
        for choices in (None, options):
            first = answerer.answer(question, HISTORY, choices)
            assert first == answerer.answer(question, HISTORY, choices)
            assert first is None or choices is None or first in choices


def test_blind_takes_the_likest_questions_answer() -> None:
    blind = BlindAnswerer(PAIRS)
    assert blind.answer("Where does he take the milk from?") == "From the fridge."
    assert blind.answer("So where did he take milk from?", [], ["on the sofa", "in the fridge"]) == "in the fridge"
    assert blind.answer("Pourquoi?") is None
    assert BlindAnswerer([]).answer("Where?") is None


def test_a_videos_own_questions_can_be_left_out() -> None:
    index = QuestionIndex(PAIRS)
    best = index.nearest("Where does he take the milk from?", without="v1")[0]
    assert best.pair.video_id == "v2"
    assert 0.5 < best.similarity <= 1.0
    assert index.nearest("Where does he take the milk from?")[0].similarity == pytest.approx(1.0)


@pytest.mark.parametrize("least", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("most", [1, 2, 5, 1_000])
def test_the_most_similar_questions_are_those_of_all_in_order(least: float, most: int) -> None:
    # Each question is known three times, so that there are ties.
    index = QuestionIndex([replace(pair, video_id=f"{pair.video_id}-{copy}") for copy in range(3) for pair in PAIRS])
    for pair in PAIRS:
        scores = index.similarities(pair.question, without="v1-1")
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        expected = [(index.pairs[n], scores[n]) for n in order if scores[n] > 0 and scores[n] >= least - 1e-9][:most]
        found = index.nearest(pair.question, without="v1-1", least=least, most=most)
        assert [(one.pair, one.similarity) for one in found] == expected


def test_history_finds_what_was_answered_or_stated() -> None:
    history = HistoryAnswerer()
    assert history.answer("Where does he put the mug?", HISTORY) == HISTORY[1][1]
    assert history.answer("Does he open the fridge?", HISTORY) == "Yes."
    assert history.answer("Does he open the closet?", HISTORY) is None
    assert history.answer("Which thing is taken first?", HISTORY) == "The mug."
    assert history.answer("What colour is the sofa?", HISTORY) is None
    assert history.answer("Where does he put the mug?", []) is None


def test_history_picks_the_one_option_that_was_mentioned() -> None:
    assert HistoryAnswerer().answer("What does he wash?", HISTORY, ["the plate", "the mug", "the apple"]) == "the mug"
    assert HistoryAnswerer().answer("What does he wash?", HISTORY, ["the fridge", "the mug", "the apple"]) is None


def test_constant_answers_from_habit() -> None:
    constant = ConstantAnswerer(PAIRS)
    assert constant.answer("Does he jump?") == "Yes."
    assert constant.answer("Can he be seen jumping?") == "Yes."
    assert constant.answer("Does he jump?", [], ["No", "Yes"]) == "Yes"
    assert constant.answer("Why does he jump?") in {pair.answer for pair in PAIRS}, "the most frequent of all"
    assert ConstantAnswerer([]).answer("Why does he jump?") is None


def test_questions_of_a_form_differ_in_what_they_are_about() -> None:
    assert question_form("Does he open the fridge?") == question_form("Does the person take a mug?") == "does _"
    assert question_form("Does he close it again?") == "does _ again"
    assert question_head("After opening it, does he close it?") == "yes/no"
    assert question_head("How many rooms does he visit?") == "how many rooms"
    assert question_head("他打开冰箱了吗?") == "yes/no"


def test_two_thousand_questions_are_answered_from_two_thousand(full: bool) -> None:
    draw = random.Random(3)
    words = [f"thing{n}" for n in range(800)]

    def question() -> str:
        return f"Where does he put the {draw.choice(words)} after taking the {draw.choice(words)} to the kitchen?"

    pairs = [KnownAnswer(question(), f"On the {draw.choice(words)}.", f"v{n % 50}") for n in range(2_000)]
    asked = [question() for _ in range(1_939 if full else 300)]
    blind, constant = BlindAnswerer(pairs), ConstantAnswerer(pairs)
    for text in asked:
        assert blind.answer(text)
        constant.answer(text)


def test_ngrams_learn_which_words_go_with_an_answer_and_what_was_said_before() -> None:
    rooms = {"fridge": "In the kitchen.", "bed": "In the bedroom.", "tub": "In the bathroom."}
    draw = random.Random(1)
    taught = [
        KnownTurn(f"{ask} is the {thing}?", rooms[thing], f"v{n}")
        for n in range(30)
        for ask, thing in [(draw.choice(("Where", "In the end, where")), draw.choice(sorted(rooms)))]
    ]
    ngrams = NGramsAnswerer(taught)
    assert ngrams.answer("Where is the red bed now?") == "In the bedroom."
    options = ["in the kitchen", "in the bedroom"]
    assert ngrams.answer("Where is the tub?", (), options) in options
    assert ngrams.answer("Why?") is None
    told = [
        KnownTurn("And where is it?", rooms[thing], f"v{n}", history=(("What is that?", f"The {thing}."),))
        for n, thing in enumerate(sorted(rooms) * 6)
    ]
    assert NGramsAnswerer(told).answer("And where is it?", [("What is that?", "The tub.")]) == "In the bathroom."


def test_a_regression_holds_three_arrays_of_its_weights() -> None:
    draw = random.Random(3)
    texts = [[f"q {draw.randrange(6_000)}" for _ in range(60)] for _ in range(400)]
    answers = [f"answer {n % 150}" for n in range(400)]
    weights = NGramRegression.fit(texts, answers).weights
    assert weights.shape[0] > 4_000
    assert traced_peak(lambda: NGramRegression.fit(texts, answers)) < 4 * weights.nbytes


def test_ngrams_leave_the_own_video_out() -> None:
    turns = [KnownTurn("Where is the vase?", "In the hall.", "own")] * 3
    turns += [KnownTurn("Where is the lamp?", "On the desk.", "other")]
    assert NGramsAnswerer(turns).answer("Where is the vase?", without="own") == "On the desk."
    assert NGramsAnswerer(turns).answer("Where is the vase?") == "In the hall."


def test_weights_are_learned_from_a_draw_where_there_are_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = (
        "What does she take in the {}?",
        "Name what she takes out of the {}.",
        "Which thing of the {} does she take?",
    )
    rooms = [("kitchen", "the cup"), ("office", "the pen"), ("bedroom", "the pillow")]
    made, turns = random.Random(5), []
    for n in range(180):
        room, thing = made.choice(rooms)
        before = made.choice(rooms)[1]
        turns.append(
            KnownTurn(made.choice(asked).format(room), thing, f"v{n % 40}", history=(("What is it?", before),))
        )
    whole = InContextAnswerer(turns)
    signature, weights = whole.signature, whole.ranker().weights
    monkeypatch.setattr(ranking, "MOST_LEARNED", 60)
    drawn, again = InContextAnswerer(turns), InContextAnswerer(turns)
    blind = BlindAnswerer(turns)
    assert len(blind.index.pairs) == 60
    assert blind.signature.endswith("|learned:60")
    assert drawn.signature == f"{signature}|learned:60"
    assert (drawn.ranker().weights == again.ranker().weights).all()
    assert (drawn.ranker().weights != weights).any()
    assert ranking.drawn_questions(60) == list(range(60))
    some = ranking.drawn_questions(61)
    assert len(set(some)) == 60
    assert some == sorted(some)
