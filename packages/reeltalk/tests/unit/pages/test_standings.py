"""The verdict in one sentence, ranks with their ranges, and the worst types of questions, in every case."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pytest

from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.standings import Standings, find_standings, headline_metric, worst_types
from reeltalk.schema.runs import GroupRow
from reeltalk.store.runs import GROUPS, Run

RunMaker = Callable[..., Run]
Scores = dict[str, tuple[str, dict[str, float]]]
BLIND: Final = {"blind": "baseline:blind", "history": "baseline:history", "constant": "baseline:constant"}


def answered(right: float, *, seed: int = 1, videos: int = 20, metric: str = "typed", first: int = 0) -> Scores:
    """Four turns about each video, right (100) with a probability."""
    draw = np.random.default_rng(seed)
    return {
        f"d{video}/{turn + 1:02d}": (f"v{video}", {metric: 100.0 * float(draw.random() < right)})
        for video in range(first, first + videos)
        for turn in range(4)
    }


def standings(make: RunMaker, models: Mapping[str, Scores], **more: object) -> Standings:
    sources = BLIND | {"people": "human:people.json", "oracle": "oracle", "frames": "baseline:frames"}
    return find_standings(build_leaderboard([make(models, sources=sources, **more)]))


def test_one_model_above_the_baselines_has_its_lead_with_the_paired_interval(make_paired_run: RunMaker) -> None:
    found = standings(
        make_paired_run,
        {"qwen": answered(0.8), "blind": answered(0.3, seed=2), "history": answered(0.35, seed=3),
         "frames": answered(0.9, seed=4)},
    )  # fmt: skip
    row = found.models[0]
    assert row.above is not None
    assert row.above.difference is not None
    assert found.board.models[row.above.over].name == "history"
    lead = f"{row.above.difference:.1f} points more than the best baseline that does not see the video (history)"
    assert found.verdict == f"qwen scores {lead} [{row.above.low:.1f}, {row.above.high:.1f}]."
    assert (row.rank, row.ranks) == (1, (1, 1))


def test_one_model_that_is_not_above_the_baselines_is_not_said_to_be(make_paired_run: RunMaker) -> None:
    found = standings(make_paired_run, {"qwen": answered(0.42), "blind": answered(0.4, seed=2)})
    assert found.verdict.startswith("qwen is not shown to be above blind, which does not see the video: the difference")
    assert "[-" in found.verdict


def test_one_model_below_a_baseline_is_said_to_be(make_paired_run: RunMaker) -> None:
    found = standings(make_paired_run, {"qwen": answered(0.2), "blind": answered(0.8, seed=2)})
    above = found.models[0].above
    assert above is not None
    assert above.difference is not None
    assert above.low is not None
    assert above.high is not None
    assert found.verdict == (
        f"qwen scores {-above.difference:.1f} points less than blind, which does not see the video "
        f"[{-above.high:.1f}, {-above.low:.1f}]."
    )


def test_a_baseline_that_sees_the_video_is_no_floor(make_paired_run: RunMaker) -> None:
    found = standings(make_paired_run, {"qwen": answered(0.5), "frames": answered(0.9, seed=2)})
    assert found.verdict == "qwen is the only model, and there is no baseline to compare it with."


def test_a_model_must_be_above_every_baseline_that_does_not_see(make_paired_run: RunMaker) -> None:
    blind, history = answered(0.1, seed=2), answered(0.75, seed=3)
    found = standings(make_paired_run, {"qwen": answered(0.8), "blind": blind, "history": history})
    assert found.models[0].above is not None
    assert not found.models[0].above.shown


def test_equal_models_are_not_ranked_apart(make_paired_run: RunMaker) -> None:
    models = {name: answered(0.6, seed=seed) for seed, name in enumerate(("a", "b", "c"))}
    found = standings(make_paired_run, models | {"blind": answered(0.2, seed=9)})
    beyond = "all are shown to be above the baselines that do not see the video"
    assert found.verdict == f"No model is shown to be better than another; {beyond}."
    assert [(row.rank, row.ranks) for row in found.models] == [(1, (1, 3))] * 3


def test_the_best_model_is_named_with_both_leads(make_paired_run: RunMaker) -> None:
    models = {"a": answered(0.95), "b": answered(0.5, seed=2), "blind": answered(0.2, seed=3)}
    found = standings(make_paired_run, models)
    assert found.verdict.startswith("a is the best model: ")
    assert "points more than b [" in found.verdict
    assert "more than the best baseline that does not see the video (blind) [" in found.verdict
    assert [(row.title, row.rank, row.ranks) for row in found.models] == [("a", 1, (1, 1)), ("b", 2, (2, 2))]


def test_several_models_may_be_the_best(make_paired_run: RunMaker) -> None:
    models = {"a": answered(0.9), "b": answered(0.9, seed=2), "c": answered(0.2, seed=3)}
    found = standings(make_paired_run, models)
    assert found.verdict.startswith("2 of 3 models may be the best: ")
    assert [row.ranks for row in found.models] == [(1, 2), (1, 2), (3, 3)]


def test_no_model_above_the_baselines_comes_before_who_leads(make_paired_run: RunMaker) -> None:
    models = {"a": answered(0.8), "b": answered(0.2, seed=2), "blind": answered(0.82, seed=3)}
    assert standings(make_paired_run, models).verdict == (
        "No model is shown to be above the baselines that do not see the video."
    )


def test_only_baselines_give_no_winner(make_paired_run: RunMaker) -> None:
    found = standings(make_paired_run, {"blind": answered(0.3), "frames": answered(0.6, seed=2)})
    assert found.verdict.startswith("No model was run; the best baseline, frames, has ")
    assert found.models == []
    only = standings(make_paired_run, {"constant": answered(0.3), "oracle": answered(1.0)}, name="floors")
    assert only.verdict == "No model was run, only floors and oracle and references."


def test_people_and_the_oracle_stand_apart(make_paired_run: RunMaker) -> None:
    models = {"people": answered(0.95), "oracle": answered(1.0), "qwen": answered(0.6, seed=2), "constant": {}}
    found = standings(make_paired_run, models | {"constant": answered(0.1, seed=4)})
    assert [(title, [row.title for row in rows]) for title, rows in found.by_role()] == [
        ("Models", ["qwen"]), ("People", ["people"]), ("Floors", ["constant"]), ("Oracle and references", ["oracle"]),
    ]  # fmt: skip
    assert found.models[0].rank == 1


def test_a_withheld_number_says_how_much_is_missing(make_paired_run: RunMaker) -> None:
    found = standings(make_paired_run, {"qwen": answered(0.8)}, unscored={("qwen", "typed"): 20})
    assert found.verdict.startswith("qwen has no Typed answers score to quote: 20 of 100 turns are unscored")
    row = found.models[0]
    assert (row.rank, row.unscored, row.unscored_share) == (None, 20, 0.2)


def test_without_any_score_the_reason_is_said(make_run: RunMaker) -> None:
    one = find_standings(build_leaderboard([make_run(models=("a",), values=(None,), metric="clair")]))
    assert one.verdict == "a has no CLAIR score: the moon was in the wrong phase."
    two = find_standings(build_leaderboard([make_run("two", values=(None, None), metric="clair")]))
    assert two.verdict == "No model has a CLAIR score: the moon was in the wrong phase."


def test_a_model_without_a_score_is_named(make_paired_run: RunMaker) -> None:
    models = {"a": answered(0.8), "b": answered(0.5, seed=2), "blind": answered(0.2, seed=3)}
    found = standings(make_paired_run, models, unscored={("b", "typed"): 20})
    assert found.verdict.endswith("; b has no score to quote.")


@pytest.mark.parametrize("videos", [1, 2, 3])
def test_too_few_videos_give_no_verdict(make_paired_run: RunMaker, videos: int) -> None:
    models = {"a": answered(1.0, videos=videos), "blind": answered(0.0, videos=videos)}
    found = standings(make_paired_run, models)
    assert found.verdict.startswith("There is no verdict on ")
    assert found.models[0].above is None or not found.models[0].above.shown
    assert found.models[0].above is None or found.models[0].above.videos == videos


def test_few_videos_are_said_to_be_few(make_paired_run: RunMaker) -> None:
    models = {"a": answered(0.9, videos=6), "blind": answered(0.1, seed=2, videos=6)}
    assert standings(make_paired_run, models).verdict.endswith(" (roughly: 6 videos are few).")


def test_numbers_scored_in_different_ways_are_not_compared(make_paired_run: RunMaker) -> None:
    runs = [
        make_paired_run({name: answered(0.9, seed=seed)}, name=name, judged={"judge": name})
        for seed, name in enumerate(("a", "b"))
    ]
    found = find_standings(build_leaderboard(runs))
    assert found.verdict.startswith("The models cannot be compared with each other: scored in different ways")
    assert found.warnings[0].startswith(
        "Not all numbers are comparable. a was judged by a, b by b. To make it equal, judge b"
    )
    assert [row.ranks for row in found.models] == [(1, 2), (1, 2)]


def test_runs_on_different_turns_are_not_compared(make_paired_run: RunMaker) -> None:
    runs = [
        make_paired_run({"a": answered(0.9)}, name="first"),
        make_paired_run({"b": answered(0.2, first=100)}, name="second"),
    ]
    found = find_standings(build_leaderboard(runs))
    assert found.verdict == "The models cannot be compared with each other: no turn has a score of both models."


def test_a_number_of_which_more_is_not_better_never_ranks(make_paired_run: RunMaker) -> None:
    board = build_leaderboard([make_paired_run({"a": answered(0.5, metric="took_s"), "b": answered(0.9)})])
    headline = headline_metric(board)
    assert headline is not None
    assert headline.metric == "typed"
    times = build_leaderboard([make_paired_run({"a": answered(0.5, metric="took_s")}, name="times")])
    assert headline_metric(times) is None
    assert find_standings(times).verdict.startswith("No verdict: ")


def test_a_judged_measure_leads_and_overlap_of_words_never_does(make_paired_run: RunMaker) -> None:
    def leading(*metrics: str) -> str | None:
        scores: Scores = {"d1/01": ("v1", dict.fromkeys(metrics, 1.0))}
        found = headline_metric(build_leaderboard([make_paired_run({"a": scores}, name="-".join(metrics))]))
        return None if found is None else found.metric

    assert leading("rouge_l", "clair") == "clair"
    assert leading("rouge_l", "typed", "clair") == "typed"
    assert leading("match", "token_f1", "rouge_l") == "match"
    assert leading("match", "clair") == "clair"
    assert leading("typed", "match", "correct") == "correct"
    assert leading("token_f1", "rouge_l", "bleu_4", "cider") is None


def test_overlap_of_words_alone_gives_no_verdict_and_no_rank(make_paired_run: RunMaker) -> None:
    board = build_leaderboard([
        make_paired_run({"a": answered(0.9, metric="rouge_l"), "b": answered(0.1, metric="rouge_l", seed=2)})
    ])  # fmt: skip
    assert headline_metric(board) is None
    found = find_standings(board)
    assert found.verdict.startswith("No verdict: these turns need a judge")
    assert found.rows == ()


@pytest.mark.parametrize(
    ("turns", "verdict", "warned"),
    [
        ({"answered": 80}, "qwen scores ", ""),
        ({"answered": 80, "not_due": 40}, "qwen scores ", ""),
        ({"answered": 84, "missing": 2}, "qwen scores ", "covers 93 % of the due turns; the others need a judge"),
        ({"answered": 90, "failed": 6, "missing": 4}, "No verdict: these turns need a judge", "applies to 80 % of"),
    ],
)
def test_a_rule_that_leaves_out_many_due_turns_gives_no_verdict(
    turns: dict[str, int], verdict: str, warned: str, make_paired_run: RunMaker
) -> None:
    run = make_paired_run({"qwen": answered(0.8), "blind": answered(0.3, seed=2)}, sources=BLIND)
    models = tuple(info.model_copy(update={"turns": turns}) for info in run.info.models)
    run = dataclasses.replace(run, info=run.info.model_copy(update={"models": models}))
    found = find_standings(build_leaderboard([run]))
    assert found.verdict.startswith(verdict)
    assert warned in " ".join([found.verdict, *found.warnings])
    assert (found.models[0].rank is None) == verdict.startswith("No verdict")


@pytest.mark.parametrize(("unread", "warned"), [(0.0, False), (1.25, False), (2.5, True)])
def test_answers_that_could_not_be_read_are_told(unread: float, warned: bool, make_paired_run: RunMaker) -> None:
    scores = {item: (video, {**own, "typed.unread": unread}) for item, (video, own) in answered(0.8).items()}
    found = standings(make_paired_run, {"qwen": scores})
    told = f"{round(unread * 0.8)} of 80 answers of qwen could not be read, and count as wrong."
    assert (told in found.warnings) is warned


def test_two_weights_of_one_model_keep_their_hashes(make_paired_run: RunMaker) -> None:
    models = {"mini#0a1b2c3d": answered(0.9), "mini#ffff0000": answered(0.9, seed=2), "tiny#12345678": answered(0.5)}
    found = standings(make_paired_run, models)
    assert {row.title for row in found.models} == {"mini#0a1b2c3d", "mini#ffff0000", "tiny"}
    assert found.models[-1].model.revision == "12345678"


def test_the_worst_types_are_named_for_people_and_small_ones_are_left_out(make_paired_run: RunMaker) -> None:
    run = make_paired_run({"qwen": answered(0.5)})

    def group(name: str, value: float | None, n: int = 20, videos: int = 8, by: str = "question_type") -> str:
        row = GroupRow(model="qwen", metric="typed", by=by, group=name, value=value, n=n, videos=videos)
        return row.model_dump_json() + "\n"

    (run.path / GROUPS).write_text(
        group("T-SEQ", 30.0) + group("D-LOC", 10.0, n=9) + group("EXP", 5.0, videos=3) + group("REF", None)
        + group("D-ACT", 80.0, n=21) + group("60-120 s", 1.0, by="video_length") + group("alone", 2.0, by="task")
        + group("yes_no", 20.0, by="answer_type") + group("colour", 40.0, by="answer_type")
    )  # fmt: skip
    found = worst_types(build_leaderboard([run]), 0, "typed")
    assert [(weak.title, weak.kind, weak.row.value) for weak in found] == [
        ("Yes no", "answer type", 20.0), ("Sequence", "question type", 30.0), ("Colour", "answer type", 40.0),
    ]  # fmt: skip


def test_a_lead_that_correction_takes_away_has_the_interval_of_the_correction(make_paired_run: RunMaker) -> None:
    blind, frames = answered(0.4, seed=2), answered(0.45, seed=5)
    found = standings(make_paired_run, {"qwen": answered(0.6, seed=41), "blind": blind, "frames": frames})
    row = found.models[0]
    assert row.above is not None
    assert row.above.low is not None
    assert row.above.low < 0, "alone, the test would find it"
    assert not row.above.shown
    assert ": the difference may be anything in [" in found.verdict


def test_the_lead_over_a_baseline_that_is_not_shown_is_the_one_reported(make_paired_run: RunMaker) -> None:
    models = {"qwen": answered(0.8), "blind": answered(0.1, seed=2), "history": answered(0.75, seed=3)}
    found = standings(make_paired_run, models)
    assert found.verdict.startswith("qwen is not shown to be above history, which does not see the video: ")


def test_a_floor_is_not_called_the_best_baseline(make_paired_run: RunMaker) -> None:
    found = standings(make_paired_run, {"qwen": answered(0.8), "constant": answered(0.1, seed=2)})
    assert " points more than the best floor (constant: says the most frequent answer) [" in found.verdict
