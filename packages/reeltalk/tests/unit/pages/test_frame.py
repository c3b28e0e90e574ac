"""The scores of runs as one frame: what a row holds, and that the leaderboard's numbers follow from it."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import reeltalk
from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.answers import AnsweredTurn, AnswerState, PlayDetails
from reeltalk.schema.record import VideoId
from reeltalk.schema.runs import ItemScores, ModelInfo, RunInfo, SummaryRow
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store import score_frame
from reeltalk.store.runs import ANSWERS, FILES, ITEMS, Run, read_run, write_tables
from reeltalk.store.score_frame import COLUMNS

RunMaker = Callable[..., Run]

NONE, FAILED = "the file says that there is no answer", "the server is gone"


def write_small_run(folder: Path) -> Run:
    """Two turns with answers, one that failed and one that is missing, and judges' rows of turns and of the chain."""

    def turn(index: int, state: AnswerState = AnswerState.ANSWERED, reason: str | None = None) -> AnsweredTurn:
        return AnsweredTurn(
            model="alpha", item_id=f"c/{index + 1:02d}", video_id=VideoId("v"), unit="chain", unit_id="c",
            turn_index=index, question="What?", references=("a cup",), text="", state=state, reason=reason,
            task="recall", labels={"vdact.question_type": ("D-LOC",)}, options=("a", "b") if index else None,
            played=PlayDetails(took_s=2.0, prompt_tokens=100, completion_tokens=5) if not reason else None,
        )  # fmt: skip

    def judged(criterion: str, value: float | None, *, unit: str = "chain", index: int | None = None, sample: int = 0,
               state: ScoreState = ScoreState.UNSCORED) -> JudgedScore:  # fmt: skip
        given = {"value": value} if value is not None else {"state": state, "reason": "no number in the reply"}
        about = {"unit": unit, "unit_id": "c", "turn_index": index, "model": "alpha", "criterion": criterion}
        return JudgedScore.model_validate(about | given | {"judge": "j", "sample": sample, "video_id": VideoId("v")})

    failed, missing = turn(2, AnswerState.FAILED, FAILED), turn(3, AnswerState.FAILED, NONE)
    answers = [turn(0), turn(1), failed, missing, turn(4, AnswerState.NOT_ASKED)]
    scores: list[dict[str, float]] = [{"rouge_l": 0.5, "clair": 0.25}, {"rouge_l": 0.0}, {}, {}, {}]
    info = RunInfo(
        kind="evaluate", reeltalk_version="1", subject="test", metrics=("rouge_l",), clusters=1,
        models=(ModelInfo(model="alpha", source="a", sha256="0", rows=5, items=2),),
    )  # fmt: skip
    folder.mkdir()
    write_tables(
        folder,
        info,
        answers=answers,
        items=[
            ItemScores(model="alpha", item_id=one.item_id, scores=own) for one, own in zip(answers, scores, strict=True)
        ],
        summary=[SummaryRow(model="alpha", metric="rouge_l", value=0.25, n=2, unscored=2, signature="test|v:1")],
        curves=[],
        judged={
            "clair": [
                judged("clair", 0.25, unit="turn", index=0),
                judged("clair", None, unit="turn", index=1),
                judged("clair", None, unit="turn", index=2),
                judged("clair", None, unit="turn", index=3, state=ScoreState.NOT_APPLICABLE),
            ],
            "svbench": [judged("OS", 4.0), judged("OS", 8.0, sample=1), judged("SA", None)],
        },
    )
    return read_run(folder)


def test_every_due_turn_and_unit_has_a_row_of_each_measure_with_its_state(tmp_path: Path) -> None:
    frame = write_small_run(tmp_path / "run").frame()
    assert frame.columns == list(COLUMNS)
    shown = frame.filter(~pl.col("measure").cast(pl.String).is_in(list(score_frame.PLAY_COLUMNS)))
    found = [tuple(row) for row in shown.select("turn_index", "measure", "value", "state", "reason").iter_rows()]
    assert sorted(found, key=lambda row: (row[1], row[0] or 0)) == [
        (0, "clair", 0.25, "scored", None),
        (1, "clair", None, "unscored", "no number in the reply"),
        (2, "clair", None, "failed", "no number in the reply"),
        (3, "clair", None, "not_applicable", "no number in the reply"),
        (0, "rouge_l", 0.5, "scored", None),
        (1, "rouge_l", 0.0, "scored", None),
        (2, "rouge_l", None, "failed", FAILED),
        (3, "rouge_l", None, "missing", NONE),
        (None, "svbench.OS", 6.0, "scored", None),
        (None, "svbench.SA", None, "unscored", "no number in the reply"),
    ]


def test_a_row_says_where_it_belongs(tmp_path: Path) -> None:
    frame = write_small_run(tmp_path / "run").frame()
    row = frame.filter(measure="rouge_l", turn_index=1).row(0, named=True)
    assert {name: row[name] for name in ("run", "model", "video_id", "unit", "unit_id", "item_id", "task", "form")} == {
        "run": "run", "model": "alpha", "video_id": "v", "unit": "chain", "unit_id": "c", "item_id": "c/02",
        "task": "recall", "form": "options",
    }  # fmt: skip
    assert (row["labels"], row["seconds"], row["tokens"]) == (["vdact.question_type=D-LOC"], 2.0, 105.0)
    assert frame.filter(measure="svbench.OS")["task"].to_list() == ["recall"]


def test_numbers_of_the_leaderboard_are_means_of_the_frame(make_paired_run: RunMaker) -> None:
    turns = {f"d{n}/01": (f"v{n}", {"match": float(n % 3), "rouge_l": n / 7}) for n in range(7)}
    runs = [make_paired_run({"alpha": turns}, name="one"), make_paired_run({"beta": turns}, name="two")]
    frame = reeltalk.frames([runs[0], runs[1].path])
    means = frame.group_by("run", "measure").agg(pl.col("value").mean())
    found = {(run, measure): value for run, measure, value in means.iter_rows()}
    for run in runs:
        for row in run.summary:
            assert found[run.name, row.metric] == pytest.approx(row.value, abs=1e-12)


def test_pandas_reads_a_frame(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = write_small_run(tmp_path / "run").frame()
    found = frame.to_pandas()
    assert list(found.columns) == list(COLUMNS)
    assert len(found) == len(frame)
    rouge = found[found["measure"] == "rouge_l"]
    assert rouge["value"].mean() == 0.25
    assert list(rouge["labels"].iloc[0]) == ["vdact.question_type=D-LOC"]
    assert found.groupby("state", observed=True).size().to_dict()["failed"] == 2


def test_a_frame_comes_from_the_cache_until_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = write_small_run(tmp_path / "run").frame()
    assert len(list((tmp_path / "cache/reeltalk/frames").iterdir())) == 3
    monkeypatch.setattr(score_frame, "_answers", None)
    assert read_run(tmp_path / "run").frame().equals(first)
    for damaged in (tmp_path / "cache/reeltalk/frames").iterdir():
        damaged.write_bytes(b"PAR1")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert read_run(tmp_path / "run").frame().equals(first)


def test_a_damaged_row_names_file_line_and_field(tmp_path: Path) -> None:
    run = write_small_run(tmp_path / "run")
    (run.path / FILES).unlink()
    lines = (run.path / ANSWERS).read_text().splitlines()
    lines[1] = re.sub(r'"turn_index": ?1', '"turn_index": "one"', lines[1])
    (run.path / ANSWERS).write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"answers.jsonl:2.*turn_index"):
        read_run(run.path).frame()


def test_an_answer_without_a_row_of_scores_is_an_error(tmp_path: Path) -> None:
    run = write_small_run(tmp_path / "run")
    (run.path / FILES).unlink()
    lines = (run.path / ITEMS).read_text().splitlines()
    (run.path / ITEMS).write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(BenchmarkError, match=r"has no row of model 'alpha' and 'c/01'"):
        read_run(run.path).frame()
