"""Groups in the order of people, and times over turns and lengths."""

from collections.abc import Callable, Sequence
from typing import Any

from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.pages.breakdowns import (
    answer_settings_table,
    group_breakdowns,
    judge_name,
    sort_groups,
    timings_by_length,
)
from reeltalk.schema.runs import GroupRow
from reeltalk.store.runs import GROUPS, INFO, Run, read_run
from reeltalk.store.tables import write_rows

RunMaker = Callable[..., Run]


def grouped(run: Run, rows: Sequence[GroupRow]) -> Run:
    with (run.path / GROUPS).open("wb") as stream:
        write_rows(stream, rows)
    return run


def row(group: str, value: float | None = 0.5, **more: Any) -> GroupRow:
    given: dict[str, Any] = {"model": "alpha", "metric": "clair", "by": "video_length", "n": 9}
    return GroupRow(group=group, value=value, **(given | more))


def test_groups_stand_in_the_order_of_people() -> None:
    lengths = ["120-180 s", ">=300 s", "unknown", "<60 s", "60-120 s", "1800-3600 s"]
    assert sort_groups(lengths) == ["<60 s", "60-120 s", "120-180 s", ">=300 s", "1800-3600 s", "unknown"]
    assert sort_groups(["10", "9", "2"]) == ["2", "9", "10"]
    assert sort_groups(["T-SEQ", "D-LOC"]) == ["D-LOC", "T-SEQ"]


def test_a_table_has_a_row_a_group_and_a_column_a_model(make_run: RunMaker) -> None:
    rows = [row("long"), row("short", model="beta"), row("long", metric="clair.compat"), row("long", metric="took_s")]
    (breakdown,) = group_breakdowns(build_leaderboard([grouped(make_run(metric="clair"), rows)]))
    (table,) = breakdown.tables
    assert breakdown.title == "By length of the video"
    shape = [(group, [cell is not None for cell in cells]) for group, cells in table.rows]
    assert shape == [("long", [True, False]), ("short", [False, True])]


def test_one_length_makes_no_figure_and_two_do(make_run: RunMaker) -> None:
    one = [row("60-120 s", 1.5, metric="took_s")]
    assert timings_by_length(build_leaderboard([grouped(make_run(), one)])) == []
    two = [*one, row("0-60 s", 0.5, metric="took_s"), row("120-180 s", None, metric="took_s")]
    (figure,) = timings_by_length(build_leaderboard([grouped(make_run("other"), two)]))
    assert figure.title == "Answer (s) by length of the video"
    assert figure.svg.index("0-60 s") < figure.svg.index("60-120 s")


def test_a_run_without_groups_has_no_tables(make_run: RunMaker) -> None:
    assert group_breakdowns(build_leaderboard([make_run()])) == []


def test_how_answers_came_about_is_read_from_the_run(make_run: RunMaker) -> None:
    run = make_run()
    settings = {"signed": {"alpha": [["mode", "dialogue"], ["history", "golden"], ["odd"]]}, "judge": {"judge": "gpt"}}
    info = run.info.model_copy(update={"settings": settings})
    (run.path / INFO).write_text(info.model_dump_json(), encoding="utf-8")
    board = build_leaderboard([read_run(run.path)])
    names, rows = answer_settings_table(board)
    assert names == ["mode", "history"]
    assert [values for _, values in rows] == [["dialogue", "golden"], ["–", "–"]]
    assert judge_name(board.models[0]) == "gpt"


def test_runs_of_other_programs_may_say_nothing(make_run: RunMaker) -> None:
    board = build_leaderboard([make_run()])
    assert answer_settings_table(board)[0] == []
    assert judge_name(board.models[0]) is None
