"""CogME's Agent I: from five published accuracies to simulated answers, and from those answers back."""

import asyncio

import numpy as np
import pytest

import agent_one
from reeltalk.analysis.profiles import frequencies, model_profiles
from reeltalk.analysis.turn_scores import TaggedTurns
from reeltalk.judge.cogme import CogMEJudge
from reeltalk.judge.judge import JudgeUnit
from reeltalk.metrics.profile import TAGS
from reeltalk.schema.answers import AnsweredTurn


@pytest.fixture(scope="module")
def design() -> agent_one.Design:
    return agent_one.make_design()


@pytest.fixture(scope="module")
def agent(design: agent_one.Design) -> agent_one.Agent:
    return agent_one.calibrated(design, agent_one.OVERALL["I"], agent_one.PUBLISHED)


@pytest.fixture(scope="module")
def turns(design: agent_one.Design, agent: agent_one.Agent) -> TaggedTurns:
    return agent_one.answered(design, [agent], seed=1)


def test_questions_carry_tags_as_the_paper_has_them(design: agent_one.Design) -> None:
    assert design.tags.shape == (4385, 19)
    for places in (slice(0, 8), slice(8, 16)):
        assert set(design.tags[:, places].sum(axis=1)) == {1, 2, 3}
    assert set(design.tags[:, 16:].sum(axis=1)) == {1}


def test_the_model_has_exactly_the_published_accuracies(design: agent_one.Design, agent: agent_one.Agent) -> None:
    truth = agent_one.truth_by_tag(design, agent, weighted=False)
    assert {tag: truth[tag] for tag in agent_one.PUBLISHED} == pytest.approx(agent_one.PUBLISHED, abs=1e-9)
    assert 100 * agent.truth.mean() == pytest.approx(73.4, abs=1e-9)


def test_the_profile_finds_the_published_accuracies_again(turns: TaggedTurns) -> None:
    (mine,) = model_profiles(turns)
    for tag, published in agent_one.PUBLISHED.items():
        found = mine.unweighted[tag]
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low <= published <= found.high, tag
    assert mine.overall is not None
    assert mine.overall.low is not None
    assert mine.overall.high is not None
    assert mine.overall.low <= 73.4 <= mine.overall.high


def test_the_four_tags_of_the_paper_are_flagged_and_score_below_all_others(turns: TaggedTurns) -> None:
    assert {tag for tag, share in frequencies(turns).items() if share.rare} == set(agent_one.RARE)
    (mine,) = model_profiles(turns)
    found = {tag: value.value for tag, value in mine.unweighted.items() if value is not None}
    assert max(found[tag] for tag in agent_one.RARE) < min(found[tag] for tag in TAGS if tag not in agent_one.RARE)
    assert mine.rank_correlation is not None
    assert mine.rank_correlation > 0.5


def test_a_judge_of_the_same_answers_gives_the_same_profile(turns: TaggedTurns) -> None:
    units = []
    for row in range(len(turns.videos)):
        own = [TAGS[place] for place in np.flatnonzero(turns.tags[row])]
        right = bool(turns.credit[row, 0])
        turn = AnsweredTurn(
            model="m", item_id=f"q{row}", video_id=turns.videos[row], unit_id=f"q{row}", turn_index=0,
            question="Which?", references=("yes",), text="B" if right else "A", options=("no", "yes"), correct_option=1,
            labels={"cogme.target": tuple(own[:-1]), "cogme.thinking": (own[-1],)},
        )  # fmt: skip
        units.append(JudgeUnit("m", "dialogue", f"q{row}", turns.videos[row], (turn,)))
    judge = CogMEJudge()
    scores = [row for unit in units for row in asyncio.run(judge.judge(unit, None))]
    judged = {measure.name: measure.value for measure in judge.measures(units, scores)}
    (mine,) = model_profiles(turns)
    for tag in TAGS:
        assert judged[f"cogme.{tag}"] == pytest.approx(mine.weighted[tag].value)  # type: ignore[union-attr]
        assert judged[f"cogme.unweighted.{tag}"] == pytest.approx(mine.unweighted[tag].value)  # type: ignore[union-attr]


def test_intervals_hold_the_truth_about_as_often_as_they_say(
    design: agent_one.Design, agent: agent_one.Agent, full: bool
) -> None:
    truths = {weighted: agent_one.truth_by_tag(design, agent, weighted=weighted) for weighted in (False, True)}
    held: list[bool] = []
    for seed in range(400 if full else 12):
        (mine,) = model_profiles(agent_one.answered(design, [agent], seed))
        held += agent_one.covered(mine.unweighted, truths[False]).values()
        held += agent_one.covered(mine.weighted, truths[True]).values()
    # With few seeds the count itself scatters; answers at 19 tags are not independent.
    assert (0.93 if full else 0.87) < np.mean(held) < (0.97 if full else 0.995)
