"""Judges beside people whose truth is known: simulated raters and judges, never shown as real ones."""

import csv
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from reeltalk.analysis.calibration import Calibration, CalibrationSettings, Dimension, JudgeAgreement, calibrate
from reeltalk.analysis.human_ratings import HumanRatings, _order_in_videos, human_ratings, rating_sheet
from reeltalk.analysis.judge_bias import family_of
from reeltalk.analysis.judge_values import read_scored
from reeltalk.cli import run as command
from reeltalk.errors import InputError, SettingError
from reeltalk.metrics import CorrectedInterval, MeanInterval
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.stage import write_report
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.store.runs import Run, read_run

VIDEOS, TURNS = 30, 4
MODELS = {"alpha": 0.2, "beta": 0.5, "gamma": 0.8, "gpt-small": 0.5}
SETTINGS = CalibrationSettings(resamples=200)
Row = dict[str, object]


def write_jsonl(path: Path, rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def judged_row(
    place: tuple[str, str, int], criterion: str, value: float, judge: str, video: str, sample: int = 0
) -> Row:
    model, unit, turn = place
    return {"unit": "turn", "unit_id": unit, "turn_index": turn, "model": model, "criterion": criterion,
            "value": value, "judge": judge, "video_id": video, "sample": sample}  # fmt: skip


class Study:
    """A run with a sharp judge, one that only counts words, and one of two rounds; and what people would say."""

    def __init__(
        self,
        folder: Path,
        *,
        models: dict[str, float] | None = None,
        human_in_run: bool = False,
        videos: int = VIDEOS,
    ) -> None:
        rng = np.random.default_rng(1)
        self.quality: dict[tuple[str, str, int], float] = {}
        self.video: dict[str, str] = {}
        answers: list[Row] = []
        items: list[Row] = []
        judged: dict[str, list[Row]] = {"vdeval": [], "clair": [], "lave": []}
        people: list[Row] = []
        infos: list[Row] = []
        chosen = dict(MODELS if models is None else models)
        for model, level in {**chosen, "reference": 1.5, "yes": -1.5}.items():
            source = f"baseline:{model}" if model in ("reference", "yes") else f"{model}.json"
            infos.append(
                {"model": model, "source": source, "sha256": "0" * 64, "rows": videos * TURNS, "items": videos * TURNS}
            )
            for number in range(videos):
                unit, effect = f"d{number}", rng.normal(0, 0.3)
                for turn in range(TURNS):
                    place = (model, unit, turn)
                    good = level + effect + rng.normal(0, 0.6)
                    self.quality[place], self.video[unit] = good, f"v{number}"
                    words = int(rng.integers(2, 30))
                    text = " ".join(["word"] * words) if model != "alpha" or turn else "=cmd|' /C calc'!A0"
                    answers.append({"model": model, "item_id": f"{unit}/{turn}", "video_id": f"v{number}",
                                    "unit_id": unit, "turn_index": turn, "question": "What does she hold?",
                                    "references": ["a cup"], "text": text})  # fmt: skip
                    shares = {"rouge_l": float(np.clip(good / 2 + rng.normal(0, 0.4), 0, 1))}
                    items.append({"model": model, "item_id": f"{unit}/{turn}", "scores": shares})
                    sharp = int(np.clip(round(2 + good + rng.normal(0, 0.3)), 1, 3))
                    judged["vdeval"].append(judged_row(place, "vdeval", sharp, "sharp-judge", f"v{number}"))
                    judged["clair"].append(judged_row(place, "clair", words / 30, "openai/gpt-4o", f"v{number}"))
                    for sample in range(2):
                        said = float(np.clip(round(good + rng.normal(0, 0.5)) / 2 + 0.5, 0, 1))
                        judged["lave"].append(judged_row(place, "lave", said, "noisy-judge", f"v{number}", sample))
                    if human_in_run:
                        people.append(judged_row(place, "correctness", sharp, "human:ann", f"v{number}"))
        if human_in_run:
            judged["people"] = people
        info = {"kind": "judge", "reeltalk_version": "1", "subject": "test.answers", "models": infos,
                "metrics": ["rouge_l"], "clusters": videos}  # fmt: skip
        write_jsonl(folder / "answers.jsonl", answers)
        write_jsonl(folder / "scores/items.jsonl", items)
        write_jsonl(folder / "scores/curves.jsonl", [])
        for protocol, rows in judged.items():
            write_jsonl(folder / f"scores/judged-{protocol}.jsonl", rows)
        (folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
        summary = [{"model": model, "metric": "rouge_l", "value": 0.5, "n": 9, "signature": "s"} for model in chosen]
        (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        self.folder = folder
        self.run: Run = read_run(folder)

    def ratings(self, file: Path, *, people: Sequence[str] = ("ann", "bob", "cyd"), share: float = 0.5) -> Path:
        """What simulated people say: quality from 1 to 3, each with an error of their own."""
        rng = np.random.default_rng(2)
        rows: list[Row] = []
        for place, good in self.quality.items():
            if place[0] in ("reference", "yes") or rng.random() > share:
                continue
            for name in people:
                value = int(np.clip(round(2 + good + rng.normal(0, 0.4)), 1, 3))
                rows.append(judged_row(place, "correctness", value, f"human:{name}", self.video[place[1]]))
        write_jsonl(file, rows)
        return file

    def calibrated(self, *files: Path, settings: CalibrationSettings = SETTINGS) -> Calibration:
        found = read_scored([self.run])
        return calibrate([self.run], human_ratings([self.run], files, found.places), found, settings)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(tmp_path_factory.mktemp("study") / "run")


@pytest.fixture(scope="module")
def dimension(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Dimension:
    found = study.calibrated(study.ratings(tmp_path_factory.mktemp("people") / "people.jsonl"))
    assert len(found.dimensions) == 1
    return found.dimensions[0]


@pytest.fixture
def judges(dimension: Dimension) -> dict[str, JudgeAgreement]:
    return {judge.protocol: judge for judge in dimension.judges}


def test_a_judge_that_follows_people_ranks_above_one_that_counts_words(dimension: Dimension) -> None:
    order = [judge.protocol for judge in dimension.judges]
    assert order[-1] == "clair"
    best, worst = dimension.judges[order.index("vdeval")], dimension.judges[-1]
    assert worst.name not in best.not_told_apart
    low, high = worst.levels.answers.spearman.low, worst.levels.answers.spearman.high
    assert low is not None
    assert high is not None
    assert low < 0.15
    assert (best.levels.answers.spearman.low or 0) > high


def test_correlations_on_answers_are_scipys_of_the_peoples_means(study: Study, tmp_path: Path) -> None:
    file = study.ratings(tmp_path / "h.jsonl")
    found = study.calibrated(file).dimensions[0]
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    people: dict[tuple[str, str, int], list[float]] = {}
    for row in rows:
        people.setdefault((row["model"], row["unit_id"], row["turn_index"]), []).append(row["value"])
    judge = {(r.model, r.unit_id, r.turn_index): r.value for r in study.run.judged("vdeval")}
    x, y = [float(np.mean(values)) for values in people.values()], [judge[place] for place in people]
    mine = next(one for one in found.judges if one.protocol == "vdeval").levels
    assert mine.answers.kendall.value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert mine.answers.pearson.value == pytest.approx(stats.pearsonr(x, y).statistic)
    by_model = [
        stats.spearmanr(*np.array([(a, b) for place, a, b in zip(people, x, y, strict=True) if place[0] == model]).T)
        for model in MODELS
    ]
    assert mine.within.spearman.value == pytest.approx(np.mean([one.statistic for one in by_model]))
    assert mine.models.spearman.n == len(MODELS)


def test_floors_and_references_are_landmarks_and_no_part_of_correlations(
    dimension: Dimension, judges: dict[str, JudgeAgreement]
) -> None:
    assert dimension.models == tuple(sorted(MODELS))
    stands = {one.name: (one.role, one.share) for one in judges["vdeval"].landmarks}
    assert stands["reference"][0] == "reference"
    assert stands["yes"][0] == "floor"
    assert stands["yes"][1] < 0.2 < stands["alpha"][1] < stands["gamma"][1] < stands["reference"][1]


def test_a_judge_of_the_peoples_scale_has_weighted_kappas_and_others_pass_and_fail(
    judges: dict[str, JudgeAgreement],
) -> None:
    same, other, none = judges["vdeval"].categories, judges["lave"].categories, judges["rouge_l"]
    assert other is not None
    assert (other.how, other.people_pass, other.judge_passes, other.quadratic) == ("pass", 2.0, 0.75, None)
    assert none.categories is None
    assert "--pass-mark" in (none.no_categories or "")
    assert same is not None


def test_one_person_on_the_judges_scale_gives_weighted_kappas(study: Study, tmp_path: Path) -> None:
    found = study.calibrated(study.ratings(tmp_path / "one.jsonl", people=["ann"])).dimensions[0]
    judge = next(one for one in found.judges if one.protocol == "vdeval")
    assert judge.categories is not None
    assert judge.categories.how == "same scale"
    assert judge.categories.quadratic is not None
    assert judge.in_place is None
    assert found.people.ceiling.value is None


def test_people_are_the_ceiling_and_a_judge_is_put_in_each_ones_place(
    dimension: Dimension, judges: dict[str, JudgeAgreement]
) -> None:
    people = dimension.people
    assert set(people.alpha) == {"nominal", "ordinal", "interval", "ratio"}
    assert [(pair.first, pair.second) for pair in people.pairs] == [("ann", "bob"), ("ann", "cyd"), ("bob", "cyd")]
    placed = judges["vdeval"].in_place
    assert placed is not None
    assert placed.value is not None
    assert people.ceiling.value == pytest.approx(placed.value, abs=0.12)


def test_length_is_found_where_a_judge_counts_words_and_nowhere_else(judges: dict[str, JudgeAgreement]) -> None:
    length = {
        name: next(check for check in judge.bias.checks if check.what == "length") for name, judge in judges.items()
    }
    counting = length["clair"].beyond_people
    assert counting is not None
    assert (counting.low or 0) > 0.9
    sharp = length["vdeval"].beyond_people
    assert sharp is not None
    assert sharp.low is not None
    assert sharp.high is not None
    assert sharp.low < 0.1
    assert sharp.high > -0.1


def test_rounds_are_averaged_and_their_spread_is_told(judges: dict[str, JudgeAgreement]) -> None:
    noise = judges["lave"].bias.noise
    assert noise is not None
    assert noise.items == len(MODELS) * VIDEOS * TURNS
    assert 0.1 < noise.rounds_sd < 0.5
    assert judges["vdeval"].bias.noise is None


def test_a_judge_of_the_same_family_is_looked_at_for_liking_its_own(judges: dict[str, JudgeAgreement]) -> None:
    own = judges["clair"].bias.self_preference
    assert own is not None
    assert (own.family, own.own) == ("gpt", ("gpt-small",))
    assert judges["vdeval"].bias.self_preference is None
    assert family_of("inspect:together/Qwen/Qwen3-VL") == "qwen"
    assert family_of("7b") is None


def width(found: CorrectedInterval | MeanInterval) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_corrected_means_by_a_sharp_judge_are_narrower_than_labels_and_by_one_that_counts_words_are_not(
    study: Study, tmp_path: Path
) -> None:
    found = study.calibrated(study.ratings(tmp_path / "h.jsonl", share=0.25)).dimensions[0]
    judges = {judge.protocol: judge for judge in found.judges}
    sharp = [(row, row.people) for row in judges["vdeval"].means if row.people is not None]
    assert len(sharp) == len(MODELS)
    assert sum(width(row.corrected) for row, _ in sharp) < sum(width(people) for _, people in sharp)
    assert sum(row.worth or 0 for row, _ in sharp) > sum(row.corrected.n for row, _ in sharp)
    counting = judges["clair"].means[0]
    assert counting.worth == pytest.approx(counting.corrected.n, rel=0.3)


def test_a_model_with_few_ratings_has_no_interval_and_says_how_many_more(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = [judged_row(("alpha", f"d{n}", 0), "c", 1 + n % 3, "human:ann", f"v{n}") for n in range(6)]
    people += [judged_row(("beta", f"d{n}", 0), "c", 3, "human:ann", f"v{n}") for n in range(25)]
    write_jsonl(tmp_path / "h.jsonl", people)
    arguments = ["calibrate", str(study.folder), "--human", str(tmp_path / "h.jsonl"), "--resamples", "100"]
    assert command([*arguments, "--out", str(tmp_path / "c")]) == 0
    printed, page = capsys.readouterr().out, (tmp_path / "c/calibration.html").read_text(encoding="utf-8")
    for told in (printed, page):
        assert "6 ratings of 6 videos are too few for an interval; rate 14 more answers, some of 4 more videos" in told
        assert "all 25 ratings are 3, the highest, so there is only a lower bound" in told
        assert "at least 2." in told
    data = json.loads((tmp_path / "c/calibration.json").read_text(encoding="utf-8"))
    means = {row["model"]: row["corrected"] for row in data["dimensions"][0]["judges"][0]["means"]}
    assert (means["alpha"]["low"], means["alpha"]["more_labels"], means["alpha"]["more_clusters"]) == (None, 14, 4)
    assert (means["beta"]["bound"], means["beta"]["high"]) == ("at least", 3)
    assert means["beta"]["low"] < 3


def test_one_rating_for_everything_leaves_the_scale_unknown(study: Study, tmp_path: Path) -> None:
    people = [judged_row(("beta", f"d{n}", 0), "c", 3, "human:ann", f"v{n}") for n in range(25)]
    write_jsonl(tmp_path / "h.jsonl", people)
    means = study.calibrated(tmp_path / "h.jsonl").dimensions[0].judges[0].means[0].corrected
    assert (means.value, means.low, means.high) == (3, None, None)
    assert "--scale" in (means.reason or "")
    settings = CalibrationSettings(resamples=100, scale=(1, 5))
    inner = study.calibrated(tmp_path / "h.jsonl", settings=settings).dimensions[0].judges[0].means[0].corrected
    assert inner.low is not None
    assert inner.high is not None
    assert inner.low < 3 < inner.high


def test_tables_of_a_report_have_the_corrected_means(tmp_path: Path) -> None:
    rated = Study(tmp_path / "run", models={"alpha": 0.2, "beta": 0.5}, human_in_run=True, videos=10)
    (tmp_path / "site").mkdir()
    write_report([rated.run], tmp_path / "site", settings=ReportSettings(tables=("csv",)))
    files = [path for path in (tmp_path / "site").rglob("*.csv") if "means-correctness" in path.name]
    assert len(files) == 1
    text = files[0].read_text(encoding="utf-8-sig")
    assert "Corrected" in text
    assert "alpha" in text


def test_two_models_have_no_correlation_of_models_and_the_reason(tmp_path: Path) -> None:
    study = Study(tmp_path / "run", models={"alpha": 0.2, "beta": 0.9})
    found = study.calibrated(study.ratings(tmp_path / "h.jsonl")).dimensions[0]
    statistic = found.judges[0].levels.models.spearman
    assert (statistic.value, statistic.reason) == (None, "2 models: a correlation of models' means needs three")


def test_equal_input_gives_equal_results(study: Study, tmp_path: Path) -> None:
    file = study.ratings(tmp_path / "h.jsonl", share=0.1)
    assert study.calibrated(file) == study.calibrated(file)


# Ratings in files


def rate_by_length(row: dict[str, str]) -> dict[str, str]:
    return row | {"rater": "ann", "value": str(len(row["answer"]) % 3)}


def sheet_of(study: Study, path: Path, fill: Callable[[dict[str, str]], dict[str, str]], *, items: int = 40) -> Path:
    text = rating_sheet([study.run], items=items, seed=3, criteria=["c"])
    rows = [fill(row) for row in csv.DictReader(io.StringIO(text))]
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_sheet_is_blind_balanced_and_known_again(study: Study, tmp_path: Path) -> None:
    text = rating_sheet([study.run], items=40, seed=3, criteria=["c"])
    assert not any(name in text for name in (*MODELS, "reference,", "baseline"))
    assert text == rating_sheet([study.run], items=40, seed=3, criteria=["c"])
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 40
    codes = iter(range(1, 41))
    filled = sheet_of(study, tmp_path / "s.csv", lambda row: row | {"rater": "ann", "value": str(next(codes) % 3)})
    ratings = human_ratings([study.run], [filled], read_scored([study.run]).places).ratings
    assert len(ratings) == 40
    models = [rating.place[0] for rating in ratings]
    assert {models.count(name) for name in MODELS} == {10}
    turns = {name: {rating.place[1:] for rating in ratings if rating.place[0] == name} for name in MODELS}
    assert len({frozenset(found) for found in turns.values()}) == 1
    assert len({unit for unit, _ in turns["alpha"]}) == 10


def test_a_second_sheet_has_other_answers_and_says_what_they_bring(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = sheet_of(study, tmp_path / "first.csv", rate_by_length, items=80)
    second = tmp_path / "second.csv"
    more = ["--human", str(first), "--items", "60", "--seed", "3", "--criteria", "c", "--resamples", "100"]
    assert command(["calibrate", str(study.folder), "--sheet", str(second), *more]) == 0
    before, after = (
        list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")))) for path in (first, second)
    )
    assert len(after) == 60
    assert not {row["item"] for row in before} & {row["item"] for row in after}
    videos = set(study.video.values())
    unrated = videos - {row["video_id"] for row in before}
    assert len(unrated) == 10
    assert unrated <= {row["video_id"] for row in after}
    said = capsys.readouterr().out
    assert "c, alpha: 15 more ratings would narrow the interval of the corrected mean by" in said
    few = sheet_of(study, tmp_path / "few.csv", rate_by_length)
    more = ["--human", str(few), "--criteria", "c", "--resamples", "100"]
    assert command(["calibrate", str(study.folder), "--sheet", str(tmp_path / "third.csv"), *more]) == 0
    assert (
        "c, alpha: 10 ratings of 10 videos are too few for an interval; rate 10 more answers" in capsys.readouterr().out
    )


def test_a_sheet_is_spread_over_the_judges_scale_and_favours_no_turn() -> None:
    turns = [
        AnsweredTurn(
            model="m", item_id=f"d{video}/{place}", video_id=f"v{video}", unit_id=f"d{video}", turn_index=place,
            question="?", references=("x",), text="y",
        )
        for video in range(30)
        for place in range(8)
    ]  # fmt: skip
    draw = np.random.default_rng(1)
    scores = {(turn.unit_id, turn.turn_index): float(draw.random()) for turn in turns}
    mean, firsts, means = np.mean(list(scores.values())), Counter[int](), []
    for seed in range(400):
        order = _order_in_videos(turns, scores, seed)
        drawn = [turn for turn, place in order.items() if place == 0]
        assert len(drawn) == 30
        firsts.update(index for _, index in drawn)
        means.append(np.mean([scores[turn] for turn in drawn]))
    assert np.mean(means) == pytest.approx(mean, abs=0.01)
    # Of 30 turns that are drawn at random, the mean deviates by about 0.05.
    assert np.std(means) < 0.02
    assert max(firsts.values()) < 1.15 * min(firsts.values())


def test_no_cell_of_a_sheet_is_a_formula(study: Study) -> None:
    rows = list(csv.reader(io.StringIO(rating_sheet([study.run], items=480, seed=3, criteria=["c"]))))
    assert any(cell.startswith("'=cmd") for row in rows for cell in row)
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)


def test_rows_not_filled_in_and_not_applicable_are_counted(study: Study, tmp_path: Path) -> None:
    values = iter(["", "n/a", "2,5"] + ["1"] * 37)
    file = sheet_of(study, tmp_path / "s.csv", lambda row: row | {"rater": "ann", "value": next(values)})
    found = human_ratings([study.run], [file], read_scored([study.run]).places)
    assert (found.empty, found.not_applicable, len(found.ratings)) == (1, 1, 38)
    assert found.ratings[0].value == 2.5


HEAD = "model,unit_id,turn_index,criterion,rater,value\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "column 'model' is missing"),
        ("model,unit_id,turn_index,criterion,value\n", "column 'rater' is missing"),
        (HEAD.replace("\n", ",value\n"), "column 'value' appears twice"),
        (HEAD + "alpha,d1,0,c,ann,good\n", r"not a number, got 'good' \(.*s.csv:2 at value\)"),
        (HEAD + "alpha,d1,0,c,ann,nan\n", "not a number"),
        (HEAD + "alpha,d1,0,c,,3\n", r"rater is empty \(.*:2 at rater\)"),
        (HEAD + "alpha,d1,first,c,ann,3\n", "not the number of a turn"),
        (HEAD + "alpha,d1,-1,c,ann,3\n", "not the number of a turn"),
        (HEAD + "alpha,d1,0,c,ann,3\nalpha,d1,0,c,ann,2\n", r"a second time; the first is in .*s.csv:2"),
        (HEAD + 'alpha,"d1,0,c,ann,3\n', "not CSV"),
        ("item,criterion,rater,value\nitem-0,c,ann,3\n", "no answer in the runs has this code"),
    ],
)
def test_a_sheet_that_cannot_be_used_says_line_and_field(study: Study, tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "s.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        human_ratings([study.run], [tmp_path / "s.csv"], read_scored([study.run]).places)


def test_a_row_that_is_no_persons_is_refused(study: Study, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "h.jsonl", [judged_row(("alpha", "d1", 0), "c", 2, "gpt-4o", "v1")])
    with pytest.raises(InputError, match=r"h.jsonl:1 at judge"):
        human_ratings([study.run], [tmp_path / "h.jsonl"], [])


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (("delta", "d1", 0), "they rate the models 'delta', the runs hold 'alpha', 'beta'"),
        (("alpha", "d99", 0), "unit_id 'd99', turn_index 0, where the runs hold unit_id 'd0', turn_index 0"),
        (("yes", "d1", 0), "all 1 ratings are of floors or references"),
    ],
)
def test_what_does_not_match_is_told_with_what_was_looked_for(
    study: Study, tmp_path: Path, place: tuple[str, str, int], words: str
) -> None:
    write_jsonl(tmp_path / "h.jsonl", [judged_row(place, "c", 2, "human:ann", "v1")])
    with pytest.raises(SettingError, match=words):
        study.calibrated(tmp_path / "h.jsonl")


def test_runs_with_different_answers_to_one_turn_are_refused(study: Study, tmp_path: Path) -> None:
    other = Study(tmp_path / "other")
    rows = [json.loads(line) for line in (other.folder / "answers.jsonl").read_text().splitlines()]
    rows[5]["text"] = "Something else."
    write_jsonl(other.folder / "answers.jsonl", rows)
    with pytest.raises(SettingError, match="another answer of 'alpha' to turn 2 of 'd1'"):
        read_scored([study.run, read_run(other.folder)])


def test_a_judge_who_says_something_else_in_another_run_is_kept_apart(study: Study, tmp_path: Path) -> None:
    other = tmp_path / "again"
    shutil.copytree(study.folder, other)
    table = other / "scores/judged-vdeval.jsonl"
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    write_jsonl(table, [row | {"value": 4 - float(row["value"])} for row in rows])
    found = {scorer.name: scorer for scorer in read_scored([study.run, read_run(other)]).scorers}
    first, second = found["VDEval, sharp-judge"], found["VDEval, sharp-judge · again"]
    assert np.array_equal(4 - first.values, second.values, equal_nan=True)
    assert "CLAIR, openai/gpt-4o · again" not in found


def test_ratings_outside_the_scale_are_refused(study: Study, tmp_path: Path) -> None:
    file = study.ratings(tmp_path / "h.jsonl", share=0.1)
    with pytest.raises(
        SettingError, match="--scale 1:2 does not hold all ratings on 'correctness', which go from 1 to 3"
    ):
        study.calibrated(file, settings=CalibrationSettings(resamples=100, scale=(1, 2)))


def test_a_pass_mark_of_nothing_is_refused(study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = study.ratings(tmp_path / "h.jsonl", share=0.2)
    assert command(["calibrate", str(study.folder), "--human", str(file), "--pass-mark", "nosuch=3"]) == 2
    assert "--pass-mark nosuch: no judge of that name" in capsys.readouterr().err


def test_no_ratings_at_all_says_how_to_get_some(study: Study) -> None:
    with pytest.raises(SettingError, match="--sheet"):
        human_ratings([study.run], [], [])


# Command and pages


def test_the_command_writes_page_and_data(study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = study.ratings(tmp_path / "h.jsonl", share=0.2)
    arguments = [
        "calibrate",
        str(study.folder),
        "--human",
        str(file),
        "--resamples",
        "100",
        "--out",
        str(tmp_path / "c"),
    ]
    assert command(arguments) == 0
    assert "VDEval, sharp-judge" in capsys.readouterr().out
    data = json.loads((tmp_path / "c/calibration.json").read_text(encoding="utf-8"))
    assert data["dimensions"][0]["judges"][0]["levels"]["answers"]["spearman"]["value"] > 0.5
    signature = data["dimensions"][0]["signature"]
    assert "|scale:" in signature
    assert "|passes:human=" in signature
    assert signature in (tmp_path / "c/calibration.html").read_text(encoding="utf-8")
    page = (tmp_path / "c/calibration.html").read_text(encoding="utf-8")
    assert "sharp-judge" in page
    assert "nan" not in page.replace("nance", "")
    before = page
    assert command(arguments) == 2
    assert "not empty" in capsys.readouterr().err
    assert command([*arguments, "--overwrite"]) == 0
    assert (tmp_path / "c/calibration.html").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--scale", "5"], "--scale '5' is not two numbers"),
        (["--scale", "5:1"], "from a lower to a higher"),
        (["--pass-mark", "vdeval"], "--pass-mark 'vdeval' is not NAME=VALUE"),
        (["--pass-mark", "human=nan"], "--pass-mark 'human=nan' is not NAME=VALUE"),
        (["--resamples", "3"], "--resamples"),
        (["--human", "nowhere.jsonl"], "no such file"),
        (["--sheet", "s.csv", "--items", "0"], "--items"),
        (["--sheet", "s.csv", "--out", "x"], "--sheet writes a blank sheet"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    study: Study, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert command(["calibrate", str(study.folder), *options]) == 2
    assert words in capsys.readouterr().err


def test_a_sheet_is_never_written_over_peoples_work(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = tmp_path / "ratings.csv"
    assert command(["calibrate", str(study.folder), "--sheet", str(sheet), "--items", "5"]) == 0
    assert command(["calibrate", str(study.folder), "--sheet", str(sheet)]) == 2
    assert "people's work" in capsys.readouterr().err


def test_a_report_has_the_page_where_people_rated_and_only_there(tmp_path: Path) -> None:
    models = {"alpha": 0.2, "beta": 0.5}
    rated = Study(tmp_path / "rated", models=models, human_in_run=True, videos=6)
    unrated = Study(tmp_path / "unrated", models=models, videos=6)
    for name, run in (("with", rated.run), ("without", unrated.run)):
        (tmp_path / name).mkdir()
        write_report([run], tmp_path / name)
    assert (tmp_path / "with/calibration.html").is_file()
    assert "calibration.html" in (tmp_path / "with/index.html").read_text(encoding="utf-8")
    assert not (tmp_path / "without/calibration.html").exists()
    assert "calibration.html" not in (tmp_path / "without/index.html").read_text(encoding="utf-8")


def test_ratings_given_twice_in_two_files_are_refused(study: Study, tmp_path: Path) -> None:
    file = study.ratings(tmp_path / "h.jsonl", share=0.05)
    other = tmp_path / "again.jsonl"
    other.write_bytes(file.read_bytes())
    with pytest.raises(InputError, match=r"the first is in .*h.jsonl:1"):
        human_ratings([study.run], [file, other], [])


def test_nothing_scored_says_so(study: Study) -> None:
    found = read_scored([study.run])
    found.scorers.clear()
    human = HumanRatings(
        human_ratings([study.run], [study.ratings(study.folder.parent / "h.jsonl", share=0.1)], found.places).ratings,
        (),
    )
    with pytest.raises(SettingError, match="reeltalk judge"):
        calibrate([study.run], human, found, SETTINGS)


def test_strangers_text_is_shown_as_text(study: Study, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> {{ 7*7 }} |"
    rows = [
        judged_row(place, hostile, 1 + (len(str(good)) % 3), f"human:{hostile}", study.video[place[1]])
        for place, good in study.quality.items()
        if place[0] == "alpha"
    ]
    write_jsonl(tmp_path / "h.jsonl", rows)
    arguments = ["calibrate", str(study.folder), "--human", str(tmp_path / "h.jsonl"), "--resamples", "100"]
    assert command([*arguments, "--out", str(tmp_path / "c")]) == 0
    page = (tmp_path / "c/calibration.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; {{ 7*7 }}" in page
    assert "style=" not in page


def test_judges_and_people_who_say_the_same_of_everything_give_reasons_not_numbers(
    study: Study, tmp_path: Path
) -> None:
    rows = [judged_row(("alpha", f"d{n}", 0), "c", 2, "human:ann", f"v{n}") for n in range(6)]
    write_jsonl(tmp_path / "h.jsonl", rows)
    found = study.calibrated(tmp_path / "h.jsonl").dimensions[0]
    spearman = found.judges[0].levels.answers.spearman
    assert spearman.value is None
    assert "the same of all items" in (spearman.reason or "")
    arguments = ["calibrate", str(study.folder), "--human", str(tmp_path / "h.jsonl"), "--resamples", "100"]
    assert command([*arguments, "--out", str(tmp_path / "c")]) == 0
    assert "No correlation is defined" in (tmp_path / "c/calibration.html").read_text(encoding="utf-8")
