"""What judges said, as it is shown."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from reeltalk.analysis.dialogues import RunDialogues, item_metrics
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.verdicts import RunVerdicts, ShownVerdict, title_of_criterion, unscored_reasons
from reeltalk.errors import InputError
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.manifest import hash_file
from reeltalk.store.runs import FILES, JUDGED, Run
from reeltalk.store.tables import write_rows

RunMaker = Callable[..., Run]


def row(criterion: str = "clair", value: float | None = 0.5, **more: Any) -> JudgedScore:
    state = ScoreState.SCORED if value is not None else ScoreState.UNSCORED
    given: dict[str, Any] = {
        "unit": "turn", "unit_id": "dialogue", "turn_index": 0, "model": "alpha", "judge": "j", "state": state,
    }  # fmt: skip
    return JudgedScore(criterion=criterion, value=value, **(given | more))


def judged(run: Run, protocol: str, *rows: JudgedScore) -> Run:
    with (run.path / JUDGED.format(protocol=protocol)).open("wb") as stream:
        write_rows(stream, rows)
    return run


def only(run: Run) -> ShownVerdict:
    (verdicts,) = RunVerdicts(run).values()
    (verdict,) = verdicts
    return verdict


def test_the_official_reading_stands_beside_the_score_and_replies_are_shown_once(make_run: RunMaker) -> None:
    verdict = only(
        judged(
            make_run(),
            "clair",
            row(explanation="near enough", replies=("{...}",)),
            row("clair.compat", None, reason="the official script stops here", replies=("{...}",)),
        )
    )
    (score,) = verdict.scores
    assert (score.title, score.values, score.official_values, score.failed) == ("CLAIR", "0.5", "–", False)
    assert verdict.replies == ("{...}",)
    assert verdict.sayings == [
        ("", "near enough", False), ("official script", "the official script stops here", True),
    ]  # fmt: skip


def test_judgings_of_one_turn_stand_side_by_side(make_run: RunMaker) -> None:
    rows = [
        row("accuracy", 1.0, sample=2),
        row("accuracy", 0.4, sample=0, explanation="not as expected: A1"),
        row("accuracy", None, sample=1, reason="it leaves out A2"),
    ]
    verdict = only(judged(make_run(), "checklist", *rows))
    assert verdict.scores[0].values == "0.4 · – · 1"
    assert verdict.scores[0].failed
    assert verdict.sayings == [
        ("judging 1", "not as expected: A1", False), ("judging 2", "it leaves out A2", True),
    ]  # fmt: skip


def test_what_holds_for_all_criteria_is_said_once(make_run: RunMaker) -> None:
    why = {"reason": "there is no answer"}
    run = judged(make_run(), "llm_acc", row("llm_acc", None, **why), row("llm_rel", None, **why))
    assert only(run).sayings == [("", "there is no answer", True)]
    assert [score.title for score in only(run).scores] == ["LLM-Acc", "LLM-Rel"]


def test_a_criterion_that_does_not_apply_is_no_failure(make_run: RunMaker) -> None:
    rows = [row("OS", 7.0), row("TU", None, state=ScoreState.NOT_APPLICABLE, reason="no question is about time")]
    verdict = only(judged(make_run(), "svbench", *(r.model_copy(update={"unit": "path"}) for r in rows)))
    assert [(score.title, score.values, score.failed) for score in verdict.scores] == [
        ("SVBench, overall", "7", False), ("SVBench, TU", "n/a", False),
    ]  # fmt: skip


def test_nobody_judges_where_no_model_does(make_run: RunMaker) -> None:
    assert only(judged(make_run(), "match", row("match", judge="none"))).judge is None


def test_verdicts_find_their_turns_and_their_dialogues(make_run: RunMaker) -> None:
    run = judged(make_run(), "clair", row(turn_index=1), row(model="beta"), row(unit="dialogue", turn_index=None))
    board = build_leaderboard([run])
    (dialogue,) = RunDialogues(board, {id(run): RunVerdicts(run)})
    found = [[len(answer.verdicts) for answer in turn.answers] for turn in dialogue.turns]
    assert found == [[0, 1], [1, 0]]
    assert [len(verdicts) for verdicts in dialogue.verdicts] == [1, 0]


def test_judged_metrics_have_no_columns_where_verdicts_stand_below_answers(make_run: RunMaker) -> None:
    run = judged(make_run(metric="clair"), "clair", row())
    board = build_leaderboard([run])
    assert item_metrics(RunDialogues(board, {id(run): RunVerdicts(run)})) == []
    assert item_metrics(RunDialogues(board)) == ["clair"]


def test_reasons_are_counted_by_criterion_and_model(make_run: RunMaker) -> None:
    rows = [row(value=None, turn_index=n, reason="a  long\nreason" if n else "x" * 1000) for n in range(3)]
    run = judged(make_run(), "clair", *rows, row(model="beta"))
    found = unscored_reasons(build_leaderboard([run]))
    assert [(line.criterion, line.model, line.count) for line in found] == [
        ("CLAIR", "alpha", 2),
        ("CLAIR", "alpha", 1),
    ]
    assert found[0].reason == "a long reason"
    assert len(found[1].reason) < 400


def of_a_stranger(run: Run, **written: Any) -> Run:
    """The run with a judged row as a stranger wrote it, and with hashes that fit its files."""
    line = {**row().model_dump(mode="json"), **written}
    (run.path / JUDGED.format(protocol="clair")).write_text(json.dumps(line) + "\n")
    info = Run.open(run.path).info
    names = [path.relative_to(run.path).as_posix() for path in run.path.rglob("*") if path.is_file()]
    hashes = {name: hash_file(run.path / name)[0] for name in names if name != FILES}
    (run.path / FILES).write_text(json.dumps(hashes))
    assert Run.open(run.path).info == info
    return Run.open(run.path)


@pytest.mark.parametrize("written", [{"state": "<img src=x onerror=alert(1)>"}, {"replies": 5}, {"value": "<b>"}])
def test_hashes_of_a_stranger_prove_nothing(written: dict[str, Any], make_run: RunMaker) -> None:
    with pytest.raises(InputError, match="clair"):
        RunVerdicts(of_a_stranger(make_run(), **written))


def test_a_number_in_quotes_is_a_number(make_run: RunMaker) -> None:
    assert only(of_a_stranger(make_run(), value="0.25", turn_index="0")).scores[0].values == "0.25"


def test_criteria_are_named_for_people() -> None:
    assert title_of_criterion("gpt-score", "accuracy") == "GPT-Score, accuracy"
    assert title_of_criterion("mine", "mine") == "mine"
