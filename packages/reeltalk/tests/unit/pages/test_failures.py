"""What is not there, in one list."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from reeltalk.analysis.dialogues import RunDialogues
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.verdicts import RunVerdicts
from reeltalk.pages.failures import collect_failures, has_failures
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.site import Site
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.record import VideoId
from reeltalk.schema.runs import SummaryRow
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.runs import JUDGED, Run
from reeltalk.store.tables import write_rows

RunMaker = Callable[..., Run]


def answered(model: str, index: int, **more: Any) -> AnsweredTurn:
    given: dict[str, Any] = {
        "model": model, "item_id": f"dialogue/v1/{index + 1:02d}", "video_id": VideoId("v1"), "unit_id": "dialogue",
        "turn_index": index, "question": "What?", "references": ("A cup.",), "text": "A cup.",
    }  # fmt: skip
    return AnsweredTurn(**(given | more))


def site_of(run: Run, folder: Path) -> Site:
    board = build_leaderboard([run])
    verdicts = {id(run): RunVerdicts(run)}
    return Site(folder, board, RunDialogues(board, verdicts), ReportSettings())


def test_failed_answers_are_counted_by_reason_and_lead_to_their_turns(make_run: RunMaker, tmp_path: Path) -> None:
    failed = {"text": "", "state": AnswerState.FAILED, "reason": "status 500"}
    turns = [answered("alpha", 0, **failed), answered("alpha", 1, **failed), answered("beta", 0, **failed)]
    turns += [answered("beta", 1, text="", state=AnswerState.NOT_ASKED)]
    failures = collect_failures(site_of(make_run(answers=turns), tmp_path))
    groups = failures.groups(answers=True)
    assert [(group.reason, group.count, dict(group.counts)) for group in groups] == [
        ("failed: status 500", 3, {0: 2, 1: 1}), ("not asked", 1, {1: 1}),
    ]  # fmt: skip
    assert failures.groups(answers=False) == []
    assert failures.rows[0].href == "dialogues/dialogue.html#turn-1"


def test_unscored_judgings_tell_measure_reason_and_raw_replies(make_run: RunMaker, tmp_path: Path) -> None:
    run = make_run()
    row: dict[str, Any] = {"unit_id": "dialogue", "model": "beta", "criterion": "clair", "judge": "j"}
    missing = row | {"state": ScoreState.UNSCORED, "reason": "no number", "replies": ("{", "[")}
    with (run.path / JUDGED.format(protocol="clair")).open("wb") as stream:
        rows = [
            JudgedScore(unit="turn", turn_index=1, **missing),
            JudgedScore(unit="dialogue", **missing),
            JudgedScore(unit="turn", turn_index=0, **(row | {"state": ScoreState.NOT_APPLICABLE, "reason": "so"})),
        ]
        write_rows(stream, rows)
    found = collect_failures(site_of(run, tmp_path)).rows
    assert [(row.kind, row.model, row.where, row.reason, row.replies) for row in found] == [
        ("CLAIR", 1, "as a whole", "no number", 2), ("CLAIR", 1, "turn 2", "no number", 2),
    ]  # fmt: skip


def test_withheld_numbers_and_missing_turns_are_there(make_run: RunMaker, tmp_path: Path) -> None:
    summary = [
        SummaryRow(model="alpha", metric="clair", n=7, unscored=3, over_scored=0.625, signature="s|v:1"),
        SummaryRow(model="beta", metric="clair", value=0.5, n=10, signature="s|v:1"),
    ]
    failures = collect_failures(site_of(make_run(metric="clair", summary=summary), tmp_path))
    (withheld,) = failures.withheld
    assert (withheld.model, withheld.title, withheld.over_scored, withheld.unscored) == (0, "CLAIR", "62.5", 3)
    assert [(row.model, row.count, row.named) for row in failures.missing] == [
        (0, 1, ("dialogue/03",)), (1, 1, ("dialogue/03",)),
    ]  # fmt: skip
    assert failures.missing[0].not_scored == (("failed", 1),)


def test_a_report_has_the_page_only_if_something_is_missing(make_paired_run: RunMaker, tmp_path: Path) -> None:
    whole = make_paired_run({"alpha": {"d1/01": ("v1", {"clair": 0.5})}})
    assert not has_failures(site_of(whole, tmp_path))
    less = make_paired_run({"alpha": {"d1/01": ("v1", {"clair": 0.5})}}, unscored={("alpha", "clair"): 1}, name="less")
    assert has_failures(site_of(less, tmp_path))
