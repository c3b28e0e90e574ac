"""Is A better: pairs on the turns of both, what is left out, what may not be compared, and what is said of it."""

import csv
import dataclasses
import io
import json
from collections.abc import Callable
from typing import Final
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeltalk.analysis.compare_text import FIELDS, render_comparisons
from reeltalk.analysis.comparison import CompareSettings, Comparison, Comparisons, compare_models
from reeltalk.analysis.leaderboard import Leaderboard, build_leaderboard
from reeltalk.analysis.planning import make_plans, plan_text
from reeltalk.analysis.score_matrix import Turns, score_column
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.metrics.significance import Correction
from reeltalk.metrics.uncertainty import clustered_mean, mean_interval
from reeltalk.schema.record import VideoId
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]
Scores = dict[str, tuple[str, dict[str, float]]]


def turns(values: dict[str, float], metric: str = "match", per_video: int = 2) -> Scores:
    """Turns `d1/01`, `d1/02`, `d2/01` and so on, each dialogue about a video of its own."""
    return {item: (f"video-{item.split('/')[0]}", {metric: value}) for item, value in values.items()}


def random_turns(seed: int, videos: int = 20, length: int = 4, *, better: float = 0.0, metric: str = "match") -> Scores:
    draw = np.random.default_rng(seed)
    values = {f"d{v}/{t + 1:02d}": float(draw.random() * 40 + better) for v in range(videos) for t in range(length)}
    return turns(values, metric)


def only(found: Comparisons) -> Comparison:
    assert len(found.rows) == 1
    return found.rows[0]


class TestPairs:
    def test_the_difference_is_that_of_common_turns_with_the_clustered_interval(
        self, make_paired_run: RunMaker
    ) -> None:
        first, second = random_turns(1), random_turns(2)
        del second["d0/01"], first["d1/02"]
        first["d2/03"] = ("video-d2", {})
        found = compare_models(build_leaderboard([make_paired_run({"a": first, "b": second})]), CompareSettings())
        row = only(found)
        common = [item for item in first if item in second and first[item][1]]
        differences = np.array([first[i][1]["match"] - second[i][1]["match"] for i in common])
        videos = [first[item][0] for item in common]
        expected = clustered_mean(differences, videos)
        assert row.items == len(common) == 77
        assert row.videos == 20
        assert (row.difference, row.low, row.high, row.p) == pytest.approx(
            (expected.value, expected.low, expected.high, expected.p), rel=1e-12
        )
        assert row.corrected_p == row.p, "a single comparison needs no correction"
        assert dataclasses.asdict(row.left_out) == {
            "only_first": 1, "only_second": 1, "asked_otherwise": 0, "unscored_first": 1, "unscored_second": 0,
            "unscored_both": 0,
        }  # fmt: skip

    def test_a_clear_winner_is_named_and_a_tie_says_what_would_have_been_found(self, make_paired_run: RunMaker) -> None:
        base = random_turns(1)
        noise = np.random.default_rng(9)
        near = {item: (video, {"match": s["match"] + noise.normal()}) for item, (video, s) in base.items()}
        run = make_paired_run({"a": base, "b": near, "c": random_turns(3, better=30)})
        found = compare_models(build_leaderboard([run]), CompareSettings())
        verdicts = [found.verdict(row) for row in found.rows]
        assert [(row.first, row.second) for row in found.rows] == [(0, 1), (0, 2), (1, 2)]
        assert verdicts[0].startswith("no difference shown; the smallest detectable difference here is ")
        assert verdicts[1:] == ["C is better", "C is better"]
        assert found.rows[1].corrected_p is not None
        assert {row.family for row in found.rows} == {3}

    def test_wins_ties_and_losses_are_counted_by_turn(self, make_paired_run: RunMaker) -> None:
        first = turns({"d1/01": 1, "d1/02": 0, "d2/01": 0, "d3/01": 1})
        second = turns({"d1/01": 0, "d1/02": 0, "d2/01": 1, "d3/01": 0})
        row = only(compare_models(build_leaderboard([make_paired_run({"a": first, "b": second})]), CompareSettings()))
        assert (row.wins, row.ties, row.losses) == (2, 1, 1)
        assert row.net is not None
        assert row.net.value == 0.25

    def test_net_wins_have_the_confidence_that_was_asked_for(self, make_paired_run: RunMaker) -> None:
        board = build_leaderboard([make_paired_run({"a": random_turns(1), "b": random_turns(2)})])
        usual, sure = (only(compare_models(board, CompareSettings(confidence=level))).net for level in (0.95, 0.99))
        assert usual is not None
        assert usual.low is not None
        assert sure is not None
        assert sure.low is not None
        assert sure.value == usual.value
        assert sure.low < usual.low

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(seed=st.integers(0, 1 << 20), videos=st.integers(2, 8))
    def test_swapping_the_models_flips_the_sign(self, make_paired_run: RunMaker, seed: int, videos: int) -> None:
        models = {"a": random_turns(seed, videos, 2), "b": random_turns(seed + 1, videos, 3)}
        run = make_paired_run(models, name=f"run-{uuid4()}")
        board = build_leaderboard([run])
        one = only(compare_models(board, CompareSettings(), models=[0, 1]))
        other = only(compare_models(board, CompareSettings(), models=[1, 0]))
        assert one.difference == pytest.approx(-other.difference if other.difference is not None else None, abs=1e-9)
        assert one.p == pytest.approx(other.p, abs=1e-9)
        assert (one.wins, one.losses) == (other.losses, other.wins)
        assert one.left_out.only_first == other.left_out.only_second
        assert one.left_out.only_second == other.left_out.only_first
        if one.low is not None and other.high is not None:
            assert one.low == pytest.approx(-other.high, abs=1e-9)

    def test_many_comparisons_are_corrected_together(self, make_paired_run: RunMaker) -> None:
        board = build_leaderboard([make_paired_run({name: random_turns(seed) for seed, name in enumerate("abcde")})])
        holm, none, bh = (compare_models(board, CompareSettings(correction=how)).rows for how in ("holm", "none", "bh"))
        assert len(holm) == 10
        smallest = min(holm, key=lambda row: row.p or 0)
        assert smallest.corrected_p == pytest.approx(min(1.0, 10 * (smallest.p or 0)))
        assert [row.corrected_p for row in none] == [row.p for row in none]
        for one, two, three in zip(holm, bh, none, strict=True):
            assert (one.corrected_p or 0) >= (two.corrected_p or 0) - 1e-12 >= (three.p or 0) - 2e-12

    @pytest.mark.parametrize("correction", ["holm", "bh", "none"])
    def test_an_interval_leaves_out_0_exactly_where_a_winner_is_named(
        self, make_paired_run: RunMaker, correction: Correction
    ) -> None:
        models = {name: random_turns(seed, better=2.5 * seed) for seed, name in enumerate("abcdef")}
        found = compare_models(build_leaderboard([make_paired_run(models)]), CompareSettings(correction=correction))
        winners = []
        for row in found.rows:
            assert row.low is not None
            assert row.high is not None
            assert (row.low <= 0 <= row.high) == (row.winner(0.05) is None)
            winners.append(row.winner(0.05) is not None)
        assert 0 < sum(winners) < len(winners)

    def test_equal_differences_in_every_video_have_an_interval_and_a_winner(self, make_paired_run: RunMaker) -> None:
        first = random_turns(1, 10)
        second = {item: (video, {"match": s["match"] + 5}) for item, (video, s) in first.items()}
        row = only(compare_models(build_leaderboard([make_paired_run({"a": first, "b": second})]), CompareSettings()))
        assert row.difference == pytest.approx(-5)
        assert row.winner(0.05) == 1
        assert row.low is not None
        assert row.high is not None
        assert -10 < row.low < -5 < row.high < 0

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(seed=st.integers(0, 1 << 20), videos=st.integers(2, 5))
    def test_a_difference_stays_within_what_the_scale_allows(
        self, make_paired_run: RunMaker, seed: int, videos: int
    ) -> None:
        draw = np.random.default_rng(seed)
        models = {name: turns({f"d{v}/01": float(draw.choice([0, 100])) for v in range(videos)}) for name in ("a", "b")}
        row = only(compare_models(build_leaderboard([make_paired_run(models, name=f"run-{uuid4()}")]),
                                  CompareSettings()))  # fmt: skip
        assert row.low is not None
        assert row.high is not None
        assert -100 <= row.low <= row.high <= 100


class TestWhatANumberIsTheMeanOf:
    def test_a_mean_of_dialogues_weighs_dialogues_alike(self, make_paired_run: RunMaker) -> None:
        first = turns({"d1/01": 90, "d2/01": 10, "d2/02": 20, "d2/03": 30, "d3/01": 50}, "mtv")
        second = turns({"d1/01": 60, "d2/01": 10, "d2/02": 10, "d2/03": 10, "d3/01": 40}, "mtv")
        told = {("a", "mtv"): (90 + 20 + 50) / 3, ("b", "mtv"): (60 + 10 + 40) / 3}
        row = only(
            compare_models(
                build_leaderboard([make_paired_run({"a": first, "b": second}, summary=told)]), CompareSettings()
            )
        )
        assert row.difference == pytest.approx((30 + 10 + 10) / 3)
        assert row.first_value == pytest.approx(160 / 3)

    def test_a_mean_of_tasks_weighs_tasks_alike(self, make_paired_run: RunMaker) -> None:
        first = turns({"d1/01": 90, "d2/01": 10, "d3/01": 50, "d4/01": 70}, "mtv")
        second = turns({"d1/01": 60, "d2/01": 10, "d3/01": 40, "d4/01": 10}, "mtv")
        told = {("a", "mtv"): ((90 + 10 + 50) / 3 + 70) / 2, ("b", "mtv"): ((60 + 10 + 40) / 3 + 10) / 2}
        tasks = {"d1": "summary", "d2": "summary", "d3": "summary", "d4": "recall"}
        run = make_paired_run({"a": first, "b": second}, summary=told, tasks=tasks)
        row = only(compare_models(build_leaderboard([run]), CompareSettings()))
        assert row.difference == pytest.approx(((30 + 0 + 10) / 3 + 60) / 2)
        assert row.p is None, "one task has a single video"

    def test_judgements_of_whole_chains_are_compared_chain_by_chain(self, make_paired_run: RunMaker) -> None:
        marks = {"a": (7, 5, 9), "b": (6, 5, 6)}
        rows = [
            JudgedScore(unit="chain", unit_id=f"d{n}", model=model, criterion="OS", value=float(mark), judge="j",
                        video_id=VideoId(f"video-d{n}"))
            for model, own in marks.items() for n, mark in enumerate(own)
        ]  # fmt: skip
        played = {model: turns({f"d{n}/01": 1.0 for n in range(3)}, "rouge_l") for model in marks}
        told = {("a", "svbench.OS"): 70.0, ("b", "svbench.OS"): 170 / 3}
        run = make_paired_run(played, summary=told, rows={"svbench": rows})
        row = only(compare_models(build_leaderboard([run]), CompareSettings(metrics=("svbench.OS",))))
        assert (row.item, row.items) == ("chain", 3)
        assert row.difference == pytest.approx(40 / 3)

    def test_bleu_of_the_whole_file_is_tested_by_what_each_turn_moves(self, make_paired_run: RunMaker) -> None:
        from reeltalk.metrics.scoring import score_texts

        draw = np.random.default_rng(3)
        words = "a man washes the mug".split()
        models: dict[str, Scores] = {}
        texts: dict[tuple[str, str], str] = {}
        told: dict[tuple[str, str], float] = {}
        for model, right in (("a", 0.9), ("b", 0.6)):
            said = {
                f"d{v}/{t + 1:02d}": " ".join(word if draw.random() < right else "x" for word in words)
                for v in range(30)
                for t in range(3)
            }
            results = score_texts(list(said.values()), [("a man washes a mug",)] * len(said), ["bleu"])
            models[model] = {
                item: (f"video-{item.split('/')[0]}", {"bleu_2": float(value)})
                for item, value in zip(said, results["bleu_2"].per_item, strict=True)
            }
            told[model, "bleu_2"] = results["bleu_2"].corpus
            texts |= {(model, item): text for item, text in said.items()}
        run = make_paired_run(models, summary=told, texts=texts)
        row = only(compare_models(build_leaderboard([run]), CompareSettings()))
        assert row.method == "linearised clustered t"
        assert row.difference == pytest.approx(told["a", "bleu_2"] - told["b", "bleu_2"], rel=1e-9)
        assert row.standard_error is not None
        assert row.p is not None
        assert row.p < 0.001

    def test_a_file_measure_that_cannot_be_had_again_is_compared_by_its_turns_and_says_so(
        self, make_paired_run: RunMaker
    ) -> None:
        models = {"a": random_turns(1, metric="meteor"), "b": random_turns(2, metric="meteor")}
        run = make_paired_run(models, summary={("a", "meteor"): 0.3, ("b", "meteor"): 0.2})
        row = only(compare_models(build_leaderboard([run]), CompareSettings()))
        assert row.notes == ("means of single turns, while the leaderboard's METEOR is of the whole file",)

    def test_a_metric_without_values_of_turns_is_not_compared(self, make_paired_run: RunMaker) -> None:
        run = make_paired_run({"a": random_turns(1), "b": random_turns(2)},
                              summary={("a", "match.first_error"): 2.0, ("b", "match.first_error"): 3.0})  # fmt: skip
        found = compare_models(build_leaderboard([run]), CompareSettings(metrics=("match.first_error",)))
        assert found.verdict(only(found)) == (
            "not compared: the runs hold no values of single turns or dialogues for it, so that it cannot be paired"
        )


class TestSignatures:
    def test_two_judges_are_not_compared_unless_anyway(self, make_paired_run: RunMaker) -> None:
        one = make_paired_run({"a": random_turns(1)}, name="one", judged={"judge": "gpt-4"})
        two = make_paired_run({"b": random_turns(2)}, name="two", judged={"judge": "qwen"})
        board = build_leaderboard([one, two])
        row = only(compare_models(board, CompareSettings()))
        assert row.problem == (
            "scored in different ways: a was judged by gpt-4, b by qwen (judge b again, with the same --judge); "
            "--anyway compares all the same"
        )
        row = only(compare_models(board, CompareSettings(anyway=True)))
        assert row.p is not None
        assert row.notes == ("scored in different ways: a was judged by gpt-4, b by qwen",)

    def test_what_models_were_shown_may_differ_and_is_said(self, make_paired_run: RunMaker) -> None:
        run = make_paired_run(
            {"a": random_turns(1), "b": random_turns(2)}, signed={"a": {"frames": "8"}, "b": {"frames": "16"}}
        )
        row = only(compare_models(build_leaderboard([run]), CompareSettings()))
        assert row.problem is None
        assert row.notes == ("answered in different ways: a was shown 8 frames, b 16 frames",)

    def test_turns_asked_otherwise_are_left_out(self, make_paired_run: RunMaker) -> None:
        run = make_paired_run(
            {"a": random_turns(1), "b": random_turns(2)}, questions={("b", "d3/02"): "And what of the mug?"}
        )
        row = only(compare_models(build_leaderboard([run]), CompareSettings()))
        assert (row.items, row.left_out.asked_otherwise) == (79, 1)

    def test_a_withheld_number_names_no_winner(self, make_paired_run: RunMaker) -> None:
        run = make_paired_run({"a": random_turns(1), "b": random_turns(2, better=60)}, unscored={("b", "match"): 9})
        row = only(compare_models(build_leaderboard([run]), CompareSettings()))
        why = "9 of 89 of b are unscored, more than 2 %"
        assert row.problem == f"withheld: {why}; --anyway compares what was scored"
        assert (row.p, row.difference, row.winner(0.05)) == (None, None, None)
        found = compare_models(build_leaderboard([run]), CompareSettings(anyway=True))
        row = only(found)
        assert row.p is not None
        assert row.p < 0.001
        assert found.verdict(row) == f"no winner is named: {why}"
        assert row.winner(0.05) is None


class TestFloors:
    SOURCES: Final = {"empty": "baseline:empty"}

    def board(
        self, make_paired_run: RunMaker, turns: Scores, floor: dict[str, float], **more: Scores
    ) -> tuple[Leaderboard, list[int]]:
        told = {("empty", "match"): sum(floor.values()) / len(floor)}
        nothing = {item: {"match": value} for item, value in floor.items()}
        run = make_paired_run({"a": turns, **more, "empty": {}}, sources=self.SOURCES, summary=told, floor=nothing,
                              name=f"run-{uuid4()}")  # fmt: skip
        board = build_leaderboard([run])
        return board, [score_column(board, "a"), score_column(board, "empty")]

    def test_floors_are_left_aside_unless_named(self, make_paired_run: RunMaker) -> None:
        first = random_turns(1, better=40)
        board, pair = self.board(make_paired_run, first, dict.fromkeys(list(first)[:40], 0.0), b=random_turns(2))
        found = compare_models(board, CompareSettings())
        assert found.aside == (2,)
        assert "Not compared, as they do not compete: empty. Use --model" in render_comparisons(found, "text")
        row = only(compare_models(board, CompareSettings(), models=pair))
        own = mean_interval(
            np.array([scores["match"] for _, scores in first.values()]), [v for v, _ in first.values()], (0, 100)
        )
        assert row.method == "unpaired clustered t"
        assert row.first_value == pytest.approx(own.value)
        assert (row.second_value, row.items) == (0.0, 120)
        assert row.low is not None
        assert own.low is not None
        assert 0 < row.low < own.low, "of ten videos alone, the floor is not known to be 0"
        assert row.notes[-1] == "empty answers were judged on 40 turns; empty has the uncertainty of so many"
        assert row.winner(0.05) == 0

    def test_a_floor_on_all_turns_is_paired_turn_by_turn(self, make_paired_run: RunMaker) -> None:
        first = random_turns(1)
        board, pair = self.board(make_paired_run, first, dict.fromkeys(first, 0.0))
        row = only(compare_models(board, CompareSettings(), models=pair))
        expected = clustered_mean(np.array([s["match"] for _, s in first.values()]), [v for v, _ in first.values()])
        assert row.low == pytest.approx(expected.low)
        assert (row.method, row.notes) == ("clustered t", ())

    def test_a_floor_without_values_of_turns_is_not_compared(self, make_paired_run: RunMaker) -> None:
        run = make_paired_run({"a": random_turns(1), "empty": {}}, sources=self.SOURCES,
                              summary={("empty", "match"): 4.0})  # fmt: skip
        row = only(compare_models(build_leaderboard([run]), CompareSettings()))
        assert row.problem == "the run holds no values of single turns of 'empty'"

    @pytest.mark.parametrize("videos", [4, 10, 30])
    def test_a_judge_that_replies_at_random_finds_no_model_above_or_below_the_floor(
        self, make_paired_run: RunMaker, videos: int
    ) -> None:
        """Of 12 trials each more than 2 are false about once in 50 at the promised rate; a fixed floor fails at 30."""
        false = 0
        for seed in range(12):
            draw = np.random.default_rng([videos, seed])
            items = [(f"d{v}/{t + 1:02d}", v) for v in range(videos) for t in range(4)]
            own = turns({item: float(draw.integers(101)) for item, _ in items})
            floor = {item: float(draw.integers(101)) for item, video in items if video < 10}
            board, pair = self.board(make_paired_run, own, floor)
            false += only(compare_models(board, CompareSettings(), models=pair)).winner(0.05) is not None
        assert false <= 2


class TestFamily:
    """The p values of one metric are one family, whichever pairs and metrics are asked for."""

    SOURCES: Final = {"oracle": "oracle", "empty": "baseline:empty", "people": "human:a.json"}

    def board(self, make_paired_run: RunMaker) -> Leaderboard:
        models = {name: random_turns(seed, 8, better=seed) for seed, name in enumerate("abcd")}
        for name in self.SOURCES:
            models[name] = random_turns(len(name), 8, better=50)
        for name, more in models.items():
            for item, (_, scores) in random_turns(len(name) + 40, 8, metric="graph").items():
                more[item][1].update(scores)
        return build_leaderboard([make_paired_run(models, sources=self.SOURCES)])

    def test_a_pair_has_the_same_p_whichever_pairs_and_metrics_are_asked_for(self, make_paired_run: RunMaker) -> None:
        board = self.board(make_paired_run)
        a, d, oracle = (score_column(board, name) for name in ("a", "d", "oracle"))
        calls = [
            compare_models(board, CompareSettings()),
            compare_models(board, CompareSettings(), models=range(len(board.models))),
            compare_models(board, CompareSettings(), models=[a, d]),
            compare_models(board, CompareSettings(), models=[d, oracle, a]),
            compare_models(board, CompareSettings(metrics=("match",)), models=[a, d]),
        ]
        found = []
        for call in calls:
            (row,) = [r for r in call.rows if r.metric == "match" and {r.first, r.second} == {a, d}]
            assert row.p is not None
            assert row.difference is not None
            assert row.low is not None
            assert row.high is not None
            low, high = (row.low, row.high) if row.first == a else (-row.high, -row.low)
            sign = 1 if row.first == a else -1
            found.append((sign * row.difference, low, high, row.p, row.corrected_p, row.family))
        assert len(set(found)) == 1
        assert found[0][-1] == 6, "six pairs of four models"
        assert found[0][4] is not None
        assert found[0][4] > found[0][3]

    def test_floors_oracle_and_people_are_not_in_the_family(self, make_paired_run: RunMaker) -> None:
        board = self.board(make_paired_run)
        everybody = compare_models(board, CompareSettings(), models=range(len(board.models)))
        outside = {score_column(board, name) for name in self.SOURCES}
        for row in everybody.rows:
            if {row.first, row.second} & outside:
                assert (row.family, row.corrected_p) == (0, row.p)
            else:
                assert row.family == 6
        assert {board.models[index].name for index in compare_models(board, CompareSettings()).aside} == set(
            self.SOURCES
        )
        assert "outside the family: not corrected" in render_comparisons(everybody, "text")


class TestGroups:
    LABELS: Final = {
        f"d{v}/{t + 1:02d}": {"vdact.question_type": ("T-DUR",) if t % 2 else ("T-DUR", "REF")}
        for v in range(20)
        for t in range(4)
    }

    def test_differences_within_groups_are_corrected_over_groups(self, make_paired_run: RunMaker) -> None:
        run = make_paired_run({"a": random_turns(1), "b": random_turns(2)}, labels=self.LABELS)
        found = compare_models(build_leaderboard([run]), CompareSettings(by="question_type"))
        assert [(row.group, row.items) for row in found.rows] == [("REF", 40), ("T-DUR", 80)]
        assert {row.family for row in found.rows} == {2}
        assert "Match (%): REF" in render_comparisons(found, "text")

    def test_turns_stand_in_their_order(self, make_paired_run: RunMaker) -> None:
        run = make_paired_run({"a": random_turns(1, 5, 12), "b": random_turns(2, 5, 12)})
        found = compare_models(build_leaderboard([run]), CompareSettings(by="turn"))
        assert [row.group for row in found.rows] == [str(number) for number in range(1, 13)]

    def test_an_unknown_group_names_those_there_are(self, make_paired_run: RunMaker) -> None:
        run = make_paired_run({"a": random_turns(1), "b": random_turns(2)}, labels=self.LABELS)
        with pytest.raises(SettingError, match=r"--by mood: no turn has it; .* turn, kind, vdact.question_type"):
            compare_models(build_leaderboard([run]), CompareSettings(by="mood"))


class TestErrors:
    def test_one_model_needs_another(self, make_paired_run: RunMaker) -> None:
        board = build_leaderboard([make_paired_run({"a": random_turns(1)})])
        with pytest.raises(BenchmarkError, match=r"there is one model to compare, 'a'; give a second run"):
            compare_models(board, CompareSettings())
        with pytest.raises(BenchmarkError, match=r"'a' is named twice; a model equals itself"):
            compare_models(board, CompareSettings(), models=[0, 0])
        with pytest.raises(BenchmarkError, match=r"the runs have no model 'x'; they have 'a'"):
            score_column(board, "x")

    def test_no_common_turn_is_refused_or_compared_by_means(self, make_paired_run: RunMaker) -> None:
        other = {f"e{item}": (f"other-{video}", scores) for item, (video, scores) in random_turns(2, better=20).items()}
        board = build_leaderboard([make_paired_run({"a": random_turns(1), "b": other})])
        with pytest.raises(BenchmarkError, match=r"'a' and 'b' have no turn in common: 80 and 80 turns .* --unpaired"):
            compare_models(board, CompareSettings())
        row = only(compare_models(board, CompareSettings(unpaired=True)))
        assert row.method == "unpaired clustered t"
        assert (row.items, row.videos) == (160, 40)
        assert row.difference == pytest.approx(-20, abs=6)
        assert row.winner(0.05) == 1

    def test_common_turns_asked_otherwise_are_no_common_turns(self, make_paired_run: RunMaker) -> None:
        first = random_turns(1)
        run = make_paired_run({"a": first, "b": first}, questions={("b", item): "Otherwise?" for item in first})
        with pytest.raises(BenchmarkError, match=r"have 80 turns in common, but none asked in the same words"):
            compare_models(build_leaderboard([run]), CompareSettings())

    def test_one_video_says_that_nothing_can_be_said(self, make_paired_run: RunMaker) -> None:
        found = compare_models(
            build_leaderboard([make_paired_run({"a": random_turns(1, 1), "b": random_turns(2, 1)})]), CompareSettings()
        )
        assert found.verdict(only(found)) == "nothing can be said: 1 source video, and an interval needs two"
        assert "no interval" in render_comparisons(found, "text")

    def test_an_unknown_metric_names_those_there_are(self, make_paired_run: RunMaker) -> None:
        board = build_leaderboard([make_paired_run({"a": random_turns(1), "b": random_turns(2)})])
        with pytest.raises(SettingError, match="--metrics cider: the runs do not have it; they have match"):
            compare_models(board, CompareSettings(metrics=("cider",)))


class TestFormats:
    @pytest.fixture
    def found(self, make_paired_run: RunMaker) -> Comparisons:
        run = make_paired_run({"a|b & <c>": random_turns(1), "d_e": random_turns(2)})
        return compare_models(build_leaderboard([run]), CompareSettings())

    def test_json_and_csv_hold_all_that_is_known(self, found: Comparisons) -> None:
        (record,) = json.loads(render_comparisons(found, "json"))
        assert list(record) == list(FIELDS)
        row = only(found)
        assert (record["difference"], record["p"]) == (row.difference, row.p)
        (line,) = csv.DictReader(io.StringIO(render_comparisons(found, "csv")))
        assert float(line["difference"]) == row.difference
        assert line["first_signature"].startswith("test.answers|metric:match")

    def test_no_value_stands_without_its_interval(self, found: Comparisons) -> None:
        row = only(found)
        for format in ("text", "latex", "markdown"):
            text = render_comparisons(found, format).replace("\\", "")
            assert f"[{row.low:+.1f}, {row.high:+.1f}]" in text
            assert f"{row.p:.4f}" in text
            assert "clustered by source video" in text

    def test_strangers_names_are_escaped(self, found: Comparisons) -> None:
        assert r"a\|b &amp; &lt;c&gt;" in render_comparisons(found, "markdown")
        assert r"a\textbar{}\allowbreak{}b \& " in render_comparisons(found, "latex")


class TestPlanning:
    def test_a_pilot_says_how_many_videos_a_difference_takes(self, make_paired_run: RunMaker) -> None:
        found = compare_models(
            build_leaderboard([make_paired_run({"a": random_turns(1), "b": random_turns(2)})]), CompareSettings()
        )
        made = make_plans(found, [1.0, 5.0])
        assert [plan.points for plan in made] == [1.0, 5.0]
        assert (made[0].difference, made[0].videos, made[0].items_per_video) == (1.0, 20, 4.0)
        assert made[0].videos_needed is not None
        assert made[1].videos_needed is not None
        assert made[0].videos_needed > 20 * made[1].videos_needed > 0
        text = plan_text(found, [1.0, 5.0])
        assert f"1 point: {made[0].videos_needed:,} videos" in text

    def test_a_point_is_a_hundredth_of_the_scale(self, make_paired_run: RunMaker) -> None:
        models = {"a": random_turns(1, metric="rouge_l"), "b": random_turns(2, metric="rouge_l")}
        found = compare_models(build_leaderboard([make_paired_run(models)]), CompareSettings())
        assert make_plans(found, [2.0])[0].difference == pytest.approx(0.02)

    def test_without_scatter_there_is_no_plan_and_it_says_why(self, make_paired_run: RunMaker) -> None:
        found = compare_models(
            build_leaderboard([make_paired_run({"a": random_turns(1, 1), "b": random_turns(2, 1)})]), CompareSettings()
        )
        assert make_plans(found) == []
        assert "no plan: one video tells no scatter" in plan_text(found)


def test_reading_keeps_each_turn_where_it_stands(make_paired_run: RunMaker) -> None:
    board = build_leaderboard([make_paired_run({"a": random_turns(1, 2, 2), "b": random_turns(2, 3, 1)})])
    read = Turns(board)
    assert read.places["unit_id"].to_list() == ["d0", "d0", "d1", "d1", "d2"]
    assert (read.wordings > 0).sum(axis=0).tolist() == [4, 3]
    assert read.kinds() == ["turn", "kind"]
