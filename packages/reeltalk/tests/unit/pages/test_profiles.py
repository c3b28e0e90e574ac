"""Profiles of models: what they rest on, what they leave empty, and that they are the numbers a judged run has."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from reeltalk.analysis.dialogues import RunDialogues
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.profiles import (
    frequencies,
    matrix_of,
    model_profiles,
    tag_differences,
)
from reeltalk.analysis.turn_scores import TaggedTurns, tagged_turns
from reeltalk.errors import SettingError
from reeltalk.evaluation.tables import Tables, add_summary
from reeltalk.judge.cogme import CogMEJudge
from reeltalk.judge.judge import JudgeUnit
from reeltalk.metrics.profile import TAGS, WEIGHTS
from reeltalk.metrics.uncertainty import clustered_mean
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.runs import ItemScores, ModelInfo, RunInfo, SummaryRow
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run, read_run, write_run
from reeltalk.store.tables import CHAINS, DIALOGUES, LINKAGES, PATHS

NAN = float("nan")


def turns(
    rows: Sequence[tuple[str, tuple[str, ...], Sequence[float]]],
    *,
    groups: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
    tag_credit: Mapping[str, Sequence[Sequence[float]]] | None = None,
) -> TaggedTurns:
    """Turns of (video, tags with a way of thinking, each model's credit)."""
    tags = np.array([[tag in own for tag in TAGS] for _, own, _ in rows])
    by_name = {level.value: weight for level, weight in WEIGHTS.items()}
    heavy = [max(by_name.get(tag, 0) for tag in ("", *own)) for _, own, _ in rows]
    credit = np.array([shares for *_, shares in rows], float)
    return TaggedTurns(
        videos=tuple(video for video, *_ in rows),
        weights=np.array(heavy, float),
        tags=tags & (np.array(heavy) > 0)[:, None],
        groups={
            vocabulary: {label: np.isin(np.arange(len(rows)), places) for label, places in labels.items()}
            for vocabulary, labels in (groups or {}).items()
        },
        credit=credit,
        tag_credit={tag: np.array(values, float) for tag, values in (tag_credit or {}).items()},
        due=np.ones(credit.shape, bool),
        measures=("accuracy",) * credit.shape[1],
    )


def test_the_check_value_of_the_paper_and_nothing_where_no_question_has_the_tag() -> None:
    found = turns([("a", ("Character", "Recall"), [1]), ("b", ("Character", "Reasoning"), [0])])
    (mine,) = model_profiles(found)
    assert mine.weighted["Character"] is not None
    assert mine.weighted["Character"].value == 25.0
    assert mine.unweighted["Character"] is not None
    assert mine.unweighted["Character"].value == 50.0
    assert mine.weighted["Emotion"] is None
    assert mine.overall is not None
    assert mine.overall.value == 50.0
    assert sum(value is None for value in mine.weighted.values()) == 16


def test_a_profile_has_the_numbers_and_intervals_of_a_run_that_was_judged() -> None:
    rng = np.random.default_rng(4)
    rows: list[tuple[str, tuple[str, ...], Sequence[float]]] = []
    answered: dict[str, list[AnsweredTurn]] = {}
    for number in range(120):
        video, target = f"v{number % 9}", TAGS[rng.integers(0, 8)]
        content, thinking = TAGS[rng.integers(8, 16)], TAGS[rng.integers(16, 19)]
        right = bool(rng.random() < 0.6)
        rows.append((video, (target, content, thinking), [float(right)]))
        answered.setdefault(video, []).append(AnsweredTurn(
            model="m", item_id=f"i{number}", video_id=video, unit_id=f"u-{video}",
            turn_index=len(answered.get(video, [])), question="?", references=("x",), text="B" if right else "A",
            options=("no", "yes"), correct_option=1,
            labels={"cogme.target": (target,), "cogme.content": (content,), "cogme.thinking": (thinking,)},
        ))  # fmt: skip
    units = [JudgeUnit("m", "dialogue", f"u-{video}", video, tuple(own)) for video, own in answered.items()]
    judge = CogMEJudge()
    scores = [row for unit in units for row in asyncio.run(judge.judge(unit, None))]
    tables = Tables()
    add_summary("m", judge.measures(units, scores), subject="t", signed=(), tables=tables)
    judged = {row.metric: row for row in tables.summary}
    (mine,) = model_profiles(turns(rows))
    for tag in TAGS:
        for found, row in ((mine.weighted[tag], judged[f"cogme.{tag}"]),
                           (mine.unweighted[tag], judged[f"cogme.unweighted.{tag}"])):  # fmt: skip
            assert (None if found is None else found.value) == pytest.approx(row.value)
            assert ((None, None) if found is None else (found.low, found.high)) == pytest.approx((row.low, row.high))


def test_shares_add_up_to_more_than_all_and_those_below_five_per_cent_are_flagged() -> None:
    rows = [("a", ("Character", "Object", "Identity", "Recall"), [1.0])] * 24
    often = frequencies(turns([*rows, ("b", ("Emotion", "Means", "Recall"), [0.0])]))
    assert sum(share.percent or 0 for share in often.values()) > 100
    assert [tag for tag, share in often.items() if share.rare] == ["Emotion", "Means"]
    assert often["Place"].percent == 0
    assert not often["Place"].rare


def test_a_turn_without_a_score_is_no_zero() -> None:
    found = turns([("a", ("Object", "Recall"), [1.0, NAN]), ("b", ("Object", "Recall"), [NAN, NAN])])
    first, second = model_profiles(found)
    assert first.weighted["Object"] is not None
    assert (first.weighted["Object"].value, first.weighted["Object"].n) == (100.0, 1)
    assert first.weighted["Object"].low is None
    assert second.weighted["Object"] is None
    assert second.overall is None
    assert second.tagged_turns == 2


def test_credit_of_a_rubric_counts_at_its_tag() -> None:
    found = turns(
        [("a", ("Object", "Place", "Recall"), [0.5]), ("b", ("Object", "Place", "Recall"), [1.0])],
        tag_credit={"Object": [[1.0], [NAN]]},
    )
    (mine,) = model_profiles(found)
    assert [mine.weighted[tag].value for tag in ("Object", "Place")] == [100.0, 75.0]  # type: ignore[union-attr]


def test_models_are_compared_on_the_turns_they_share_and_19_tests_are_corrected() -> None:
    rng = np.random.default_rng(0)
    rows = [
        (f"v{place % 20}", ("Object" if place % 2 else "Place", "Recall"), [float(rng.random() < 0.9), 0.0])
        for place in range(200)
    ]
    rows += [(f"v{place}", ("Emotion", "Recall"), [1.0, NAN]) for place in range(20)]
    found = {row.tag: row for row in tag_differences(turns(rows), 0, 1)}
    assert found["Emotion"].found is None
    assert found["Object"].found is not None
    assert found["Object"].found.n == 100
    assert found["Object"].differs
    assert found["Recall"].found is not None
    assert found["Recall"].found.n == 200
    assert found["Recall"].corrected is not None
    credits = np.array([100 * credit[0] for _, _, credit in rows[:200]])
    alone = clustered_mean(credits, [video for video, _, _ in rows[:200]])
    assert alone.p is not None
    assert found["Recall"].corrected > alone.p
    same = tag_differences(turns([(video, tags, [shares[0], shares[0]]) for video, tags, shares in rows]), 0, 1)
    assert not any(row.differs for row in same)


def test_no_tag_differs_where_there_is_one_video() -> None:
    found = tag_differences(turns([("v", ("Object", "Recall"), [1.0, 0.0])] * 50), 0, 1)
    assert all(row.corrected is None for row in found)


def test_tags_are_joined_with_labels_and_cells_without_turns_stay_empty() -> None:
    rows = [("a", ("Object", "Recall"), [1.0, 0.0]), ("b", ("Object", "Reasoning"), [0.0, 0.0]),
            ("b", ("Place", "Recall"), [NAN, 1.0])]  # fmt: skip
    found = turns(rows, groups={"svbench.skill": {"CR": [0, 1], "PA": [2]}})
    cells = dict(matrix_of(found, "svbench.skill", 0).rows)
    counts, nothing = cells["Object"]
    assert counts is not None
    assert (counts.value, counts.n) == (25.0, 2)
    assert nothing is None
    assert cells["Place"] == (None, None)
    apart = dict(matrix_of(found, "svbench.skill", 0, 1).rows)
    assert apart["Object"][0] is not None
    assert apart["Object"][0].value == 25.0


def test_what_stands_out_is_told_by_the_interval_of_the_difference_on_thirty_turns_at_least() -> None:
    rows = [(f"v{place % 15}", ("Object", "Recall"), [float(place % 10 != 0)]) for place in range(150)]
    rows += [(f"v{place % 15}", ("Place", "Recall"), [float(place % 10 == 0)]) for place in range(60)]
    rows += [(f"v{place}", ("Emotion", "Recall"), [0.0]) for place in range(15)]
    (mine,) = model_profiles(turns(rows))
    assert [found.label for found in mine.strengths] == ["Object"]
    assert [found.label for found in mine.weaknesses] == ["Place"]


def test_labels_are_compared_with_turns_of_their_own_kind() -> None:
    rows: list[tuple[str, tuple[str, ...], Sequence[float]]] = []
    rows += [(f"v{place % 10}", ("Object", "Recall"), [1.0]) for place in range(100)]
    rows += [(f"v{place % 10}", (), [0.0]) for place in range(100)]
    found = turns(rows, groups={"task": {"summary": range(100, 150), "recall": range(150, 200)}})
    (mine,) = model_profiles(found)
    assert mine.labels["task"]["summary"] is not None
    assert mine.labels["task"]["summary"].value == 0.0
    assert not mine.weaknesses


def run_of(
    path: Path,
    answers: Sequence[tuple[str, int, Mapping[str, tuple[str, ...]]]],
    scores: Mapping[str, float],
    *,
    model: str = "m",
) -> Run:
    """A run with answers to (unit, turn, labels), all with the same scores."""
    made = [
        AnsweredTurn(
            model=model, item_id=f"{unit}/{index:02d}", video_id=f"v-{unit}", unit_id=unit, turn_index=index,
            question="?", references=("x",), text="y", labels=dict(labels),
        )
        for unit, index, labels in answers
    ]  # fmt: skip
    info = RunInfo(
        kind="evaluate", reeltalk_version="1", subject="t", metrics=tuple(scores), clusters=2,
        models=(ModelInfo(model=model, source="s", sha256="0", rows=len(made), items=len(made)),),
    )  # fmt: skip
    rows = [
        SummaryRow(model=model, metric=metric, value=v, n=1, signature=f"t|metric:{metric}")
        for metric, v in scores.items()
    ]
    items = [ItemScores(model=model, item_id=turn.item_id, scores=dict(scores)) for turn in made]
    write_run(path, info, answers=made, items=items, summary=rows, curves=[])
    return read_run(path)


COGME = {"cogme.target": ("Object",), "cogme.content": ("Feature",), "cogme.thinking": ("Recall",)}


def read(*runs: Run, benchmark: Benchmark | None = None, credit: str | None = None) -> TaggedTurns:
    board = build_leaderboard(runs)
    return tagged_turns(board, RunDialogues(board), benchmark, credit=credit)


def test_credit_is_the_most_exact_measure_that_all_models_share(tmp_path: Path) -> None:
    one = run_of(tmp_path / "a", [("u", 0, COGME)], {"clair": 0.5, "rubric": 100.0})
    two = run_of(tmp_path / "b", [("u", 0, COGME)], {"clair": 0.25}, model="n")
    assert read(one).measures == ("rubric",)
    both = read(one, two)
    assert both.measures == ("clair", "clair")
    assert both.credit.tolist() == [[0.5, 0.25]]
    assert read(one, two, credit="rubric").measures == ("rubric", None)
    with pytest.raises(SettingError, match=r"'vdeval'.*measures with one: clair, rubric"):
        read(one, credit="vdeval")


def test_models_without_a_common_measure_keep_their_own(tmp_path: Path) -> None:
    one = run_of(tmp_path / "a", [("u", 0, COGME)], {"rubric": 100.0})
    two = run_of(tmp_path / "b", [("u", 0, COGME)], {"vdeval": 2.0}, model="n")
    found = read(one, two)
    assert found.measures == ("rubric", "vdeval")
    assert found.credit.tolist() == [[1.0, 0.5]]


def test_a_target_without_a_way_of_thinking_is_left_out_and_counted(tmp_path: Path) -> None:
    found = read(run_of(tmp_path / "a", [("u", 0, {"cogme.target": ("Object",)}), ("u", 1, COGME)], {"rubric": 100.0}))
    assert found.without_thinking == 1
    assert found.tagged.tolist() == [False, True]
    assert not found.tags[0].any()


def test_tags_come_from_the_benchmark_where_the_run_has_none(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "bench")
    turn = Turn(question="?", labels=COGME)
    chains = [QAChain(id=name, video_id="v", turns=(turn, turn)) for name in ("c1", "c2")]
    steps = [TurnRef(unit_id="c1", turn_index=1), TurnRef(unit_id="c2", turn_index=0)]
    with benchmark.writing(stage="test", settings={}) as writer:
        writer.add(CHAINS, chains)
        writer.add(LINKAGES, [Linkage(source=steps[0], target=steps[1], relation="Objects")])
        writer.add(PATHS, [DialoguePath(id="p", video_id="v", steps=tuple(PathStep(ref=ref) for ref in steps))])
        writer.add(DIALOGUES, [Dialogue(id="d", video_id="v", turns=(turn,))])
    asked: list[tuple[str, int, Mapping[str, tuple[str, ...]]]] = [
        ("d", 0, {}),
        ("p", 0, {}),
        ("p", 1, {"kind": ("x",)}),
    ]
    run = run_of(tmp_path / "a", asked, {"rubric": 100.0})
    assert not read(run).has_tags
    found = read(run, benchmark=benchmark)
    assert found.from_benchmark == 3
    assert found.tagged.all()
    assert found.groups["svbench.relation"]["Objects"].tolist() == [False, False, True]
    assert found.groups["kind"]["x"].tolist() == [False, False, True]


def test_a_level_of_memory_says_whether_it_is_about_shots_or_scenes(tmp_path: Path) -> None:
    labels = [{"dramaqa.q_level_mem": (level,), "dramaqa.extent": (extent,)} for level, extent in
              (("2", "shot"), ("2", "shot"), ("3", "scene"))]  # fmt: skip
    found = read(run_of(tmp_path / "a", [("u", place, own) for place, own in enumerate(labels)], {"accuracy": 100.0}))
    assert list(found.groups["dramaqa.q_level_mem"]) == ["2 (shot)", "3 (scene)"]


def test_a_vocabulary_of_free_text_is_no_grouping(tmp_path: Path) -> None:
    asked = [("u", place, {"note": (f"text {place}",)}) for place in range(40)]
    found = read(run_of(tmp_path / "a", asked, {"rubric": 100.0}))
    assert not found.groups
    assert found.crowded == ("note",)
