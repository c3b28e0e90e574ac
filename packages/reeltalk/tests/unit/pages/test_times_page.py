"""The page of times and memory, over runs of three made-up models: one bounded, one not, one that looks anew."""

import random
import re
from pathlib import Path

import pytest

from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.evaluation.tables import Tables, add_summary, latency_measures
from reeltalk.pages.breakdowns import timings_by_length, timings_by_moment, timings_by_turn
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.stage import write_report
from reeltalk.schema.answers import AnsweredTurn, PlayDetails
from reeltalk.schema.record import VideoId
from reeltalk.schema.runs import ItemScores, ModelInfo, RunInfo
from reeltalk.store.runs import FILES, Run, read_run, write_tables

LENGTHS_S = {f"video-{number}": 40.0 * 1.35**number for number in range(14)}
"""From 40 seconds to about half an hour."""
MODELS = ("bounded", "unbounded", "anew")


def played(model: str, at_s: float, gap_s: float, draw: random.Random) -> PlayDetails:
    """An answer of one of the models: frames come every second, and 24 KiB of each are kept."""
    frames = int(at_s)
    kept = {"bounded": min(frames, 240), "unbounded": frames, "anew": None}[model]
    first = {"bounded": 0.02, "unbounded": 0.02 + frames * 2e-5, "anew": 0.1 + frames * 0.004}[model]
    first *= draw.uniform(0.9, 1.3)
    return PlayDetails(
        frames_s=tuple(float(second) for second in range(frames)),
        new_frames=int(gap_s),
        took_s=round(first + draw.uniform(0.1, 0.2), 4),
        first_token_s=round(first, 4),
        prompt_tokens=12 if kept is not None else 3 * frames,
        completion_tokens=9,
        memory_bytes=None if kept is None else kept * 24 * 1024,
    )


def timed_run(folder: Path, models: tuple[str, ...] = MODELS, *, turns: int = 8) -> Run:
    """A run whose tables are made as `evaluate` makes them."""
    draw, tables = random.Random(5), Tables()
    rows = {
        model: [
            AnsweredTurn(
                model=model, item_id=f"{video}/{turn}", video_id=VideoId(video), unit_id=video, turn_index=turn,
                question="What does she hold now?", references=("a cup",), text="A cup.",
                asked_at_s=length_s * (turn + 1) / turns,
                played=played(model, length_s * (turn + 1) / turns, length_s / turns, draw),
            )
            for video, length_s in LENGTHS_S.items()
            for turn in range(turns)
        ]
        for model in models
    }  # fmt: skip
    for model, answered in rows.items():
        measures = latency_measures(answered, LENGTHS_S.get)
        add_summary(model, measures, subject="made.up", signed=(), tables=tables)
    info = RunInfo(
        kind="evaluate", reeltalk_version="1", subject="made.up", metrics=tuple(tables.metrics),
        clusters=len(LENGTHS_S),
        models=tuple(
            ModelInfo(model=model, source=model, sha256=f"{place:064d}", rows=len(answered), items=len(answered))
            for place, (model, answered) in enumerate(rows.items())
        ),
    )  # fmt: skip
    answers = [turn for answered in rows.values() for turn in answered]
    items = [ItemScores(model=turn.model, item_id=turn.item_id, scores={}) for turn in answers]
    folder.mkdir(parents=True)
    write_tables(
        folder, info, answers=answers, items=items, summary=tables.summary, curves=tables.curves, groups=tables.groups
    )
    return read_run(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return timed_run(tmp_path_factory.mktemp("runs") / "timed")


@pytest.fixture(scope="module")
def site(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write_report([run], folder, settings=ReportSettings(tables=("csv",)))
    return folder


def test_memory_by_moment_grows_where_it_is_not_bounded_and_stays_where_it_is(run: Run) -> None:
    memory = next(one for one in timings_by_moment(build_leaderboard([run])) if one.metric == "memory_mib")
    bounded, unbounded, anew = zip(*(values for _, values in memory.rows), strict=True)
    late = [value.value for value in bounded if value is not None][-3:]
    assert late == [240 * 24 * 1024 / 2**20] * 3
    grown = [value.value for value in unbounded if value is not None]
    assert grown == sorted(grown)
    assert set(anew) == {None}
    assert all(value.low is not None for value in unbounded if value is not None and value.n > 8)


def test_groups_stand_in_the_order_of_time(run: Run) -> None:
    for drawn in (timings_by_moment(build_leaderboard([run])), timings_by_length(build_leaderboard([run]))):
        names = [name for name, _ in drawn[0].rows]
        starts = [float(re.findall("[0-9]+", name)[0]) for name in names]
        assert starts == sorted(starts)
        assert len(starts) > 3


def test_every_quantity_has_a_figure_of_each_kind(run: Run) -> None:
    board = build_leaderboard([run])
    wanted = ["took_s", "first_token_s", "prompt_tokens", "new_frames", "memory_mib"]
    for drawn in (timings_by_moment(board), timings_by_length(board), timings_by_turn(board)):
        assert [one.metric for one in drawn] == wanted
        assert all(one.svg.count('stroke-width="1.8"') >= 2 for one in drawn)
    # Of videos of one length there are fewer than four, and so no intervals to draw.
    assert all('opacity="0.1"' in one.svg for one in timings_by_turn(board))
    assert not any('opacity="0.1"' in one.svg for one in timings_by_length(board))


def test_players_that_see_nothing_have_no_figure_of_frames(tmp_path: Path) -> None:
    run = timed_run(tmp_path / "run", ("anew",), turns=2)
    blind = [row.model_copy(update={"value": 0.0}) for row in run.groups() if row.metric == "new_frames"]
    others = [row for row in run.groups() if row.metric == "took_s"]
    (run.path / FILES).unlink()  # the table is changed by hand
    path = run.path / "scores" / "groups.jsonl"
    path.write_text("".join(row.model_dump_json() + "\n" for row in (*blind, *others)), encoding="utf-8")
    assert [one.metric for one in timings_by_moment(build_leaderboard([read_run(run.path)]))] == ["took_s"]


def test_the_page_says_who_tells_memory_and_calls_silence_no_zero(site: Path) -> None:
    text = (site / "times.html").read_text(encoding="utf-8")
    kept = text[text.index('id="kept"') : text.index("</section>", text.index('id="kept"'))]
    plain = re.sub("<[^>]+>", "", kept)
    assert "Reported by bounded, unbounded." in plain
    assert "Not reported by anew. That does not mean zero" in plain
    assert "By the moment of the question" in text
    assert text.count("<figure>") == 15


def test_numbers_of_figures_are_tables_beside_the_pages(site: Path) -> None:
    lines = (site / "tables" / "times-memory-mib-by-moment.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("Moment")
    assert any(line.startswith("0-30 s") for line in lines)
