"""The graph judge scores what the graph decides, says why it leaves the rest, and never takes a failure for a zero."""

import asyncio
from pathlib import Path

import pytest
from told_households import told

from reeltalk.evaluate.judging.grounded import GraphJudge, graphs_of
from reeltalk.evaluate.judging.judge import Judge, JudgeUnit
from reeltalk.graph.asking import write_dialogues
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.ids import VideoId
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import DIALOGUES


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    made = told(tmp_path_factory.mktemp("household") / "benchmark", 3)
    write_dialogues(made, per_video=2, turns=10)
    return Benchmark.open(made.path)


@pytest.fixture(scope="module")
def judge(benchmark: Benchmark) -> Judge:
    return GraphJudge(graphs_of(benchmark))


def units(
    benchmark: Benchmark, answer: str | None = None, state: AnswerState = AnswerState.ANSWERED
) -> list[JudgeUnit]:
    """Every dialogue with its references as answers, or one answer to all."""
    return [
        JudgeUnit(
            model="echo",
            kind="dialogue",
            id=dialogue.id,
            video_id=dialogue.video_id,
            turns=tuple(
                AnsweredTurn(
                    model="echo",
                    item_id=f"{dialogue.id}/{place}",
                    video_id=dialogue.video_id,
                    unit_id=dialogue.id,
                    turn_index=place,
                    question=turn.question,
                    references=turn.references,
                    text=answer if answer is not None else turn.references[0],
                    state=state,
                )
                for place, turn in enumerate(dialogue.turns)
            ),
        )
        for dialogue in benchmark.read(DIALOGUES)
    ]


def scored(judge: Judge, given: list[JudgeUnit]) -> list[JudgedScore]:
    return [row for unit in given for row in asyncio.run(judge.judge(unit, None))]


def test_references_score_full_marks_and_coverage_is_a_number_of_its_own(benchmark: Benchmark, judge: Judge) -> None:
    given = units(benchmark)
    rows = scored(judge, given)
    headline, coverage = judge.measures(given, rows)
    assert (headline.name, headline.value, headline.unscored) == ("graph", 100.0, 0)
    turns = sum(len(unit.turns) for unit in given)
    assert headline.n + headline.not_applicable == coverage.n == turns == len(rows)
    assert coverage.name == "graph.coverage"
    assert coverage.value == pytest.approx(100 * headline.n / turns)
    assert headline.n > 0.6 * turns


def test_an_answer_that_evades_scores_nothing_where_the_graph_knows(benchmark: Benchmark, judge: Judge) -> None:
    given = units(benchmark, "I do not know.")
    rows = scored(judge, given)
    assert {row.value for row in rows if row.state is ScoreState.SCORED} <= {0.0, 1.0}
    headline = judge.measures(given, rows)[0]
    assert headline.value is not None
    assert headline.value < 10, "only questions about what is not there are answered so"


def test_what_is_not_covered_does_not_apply_and_says_why(benchmark: Benchmark, judge: Judge) -> None:
    left = [row for row in scored(judge, units(benchmark)) if row.state is not ScoreState.SCORED]
    assert left
    assert {row.state for row in left} == {ScoreState.NOT_APPLICABLE}
    assert all(row.reason for row in left)
    assert "the question is not surely understood" in {row.reason for row in left}


def test_a_model_that_failed_is_unscored(benchmark: Benchmark, judge: Judge) -> None:
    given = units(benchmark, "", AnswerState.FAILED)
    rows = scored(judge, given)
    assert {row.state for row in rows} == {ScoreState.UNSCORED}
    headline, coverage = judge.measures(given, rows)
    assert (headline.value, headline.n, headline.unscored) == (None, 0, len(rows))
    assert coverage.n == 0, "nothing was answered"


def test_a_turn_that_was_not_asked_has_no_row(benchmark: Benchmark, judge: Judge) -> None:
    given = units(benchmark, "", AnswerState.NOT_ASKED)
    assert scored(judge, given) == []
    assert judge.measures(given, [])[0].unscored == 0


def test_a_missing_row_counts_as_unscored(benchmark: Benchmark, judge: Judge) -> None:
    given = units(benchmark)
    assert judge.measures(given, [])[0].unscored == sum(len(unit.turns) for unit in given)


def test_a_video_without_a_graph_is_left_alone() -> None:
    turn = AnsweredTurn(
        model="m",
        item_id="d/0",
        video_id=VideoId("v"),
        unit_id="d",
        turn_index=0,
        question="Does he drink?",
        references=("Yes.",),
        text="Yes.",
    )
    judge = GraphJudge(lambda _: None)
    (row,) = asyncio.run(judge.judge(JudgeUnit(model="m", kind="dialogue", id="d", video_id="v", turns=(turn,)), None))
    assert (row.state, row.reason) == (ScoreState.NOT_APPLICABLE, "the video has no graph")
    assert judge.needs_model is False


def test_numbers_break_down_by_the_type_of_question(benchmark: Benchmark, judge: Judge) -> None:
    given = units(benchmark)
    headline = judge.measures(given, scored(judge, given))[0]
    kinds = {kind for entry in headline.entries if entry.value is not None for kind in entry.groups["kind"]}
    assert {"place", "object", "action"} <= kinds
    assert "unknown" not in kinds


def test_graphs_are_read_once(benchmark: Benchmark, tmp_path: Path) -> None:
    ground = graphs_of(benchmark)
    video = next(iter(benchmark.read(DIALOGUES))).video_id
    assert ground(video) is ground(video) is not None
    assert graphs_of(Benchmark.create(tmp_path / "empty"))(video) is None
