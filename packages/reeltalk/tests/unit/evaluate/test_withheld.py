"""What is withheld is withheld in every place, n means the same everywhere, and what is unscored says why."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from reeltalk.cli import run as command
from reeltalk.errors import SettingError
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.evaluation.tables import Tables, add_summary
from reeltalk.judge.checklist_measures import checklist_measures
from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.measures import MeanItem, mean_measure, mean_of_means
from reeltalk.judge.settings import JudgeModelSettings, JudgeSettings
from reeltalk.pages.leaderboard import render_table
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.runs import is_withheld
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.stages import evaluate, judge
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

BLIND = PlaySettings.model_validate({"frames": {"policy": "none"}})
PLAYER = """
class Sometimes:
    name = "sometimes"
    def answer(self, frames, history, question):
        if "fail" in question:
            raise OSError("the server is gone")
        return "A red cup."
"""


def benchmark(folder: Path, *, failing: int, turns: int = 60, summaries: Mapping[str, str] | None = None) -> Benchmark:
    """Three dialogues; the first `failing` turns, all of type D-INT, cannot be answered."""
    asked = [
        Turn(
            question=f"Question {n}{', fail' if n < failing else ''}?",
            references=("A red cup.",),
            labels={"vdact.question_type": ("D-INT",) if n < 5 else ("D-LOC",)},
        )
        for n in range(turns)
    ]
    third = turns // 3
    content = Content(
        videos=[Video(id=f"v{n}", split="test", sha256=f"{n}" * 64, summaries=dict(summaries or {})) for n in range(3)],
        dialogues=[
            Dialogue(id=f"d{n}", video_id=f"v{n}", turns=tuple(asked[n * third : (n + 1) * third])) for n in range(3)
        ],
    )
    made = Benchmark.create(folder)
    made.write_content(content, stage="test")
    return made


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "sometimes.py").write_text(PLAYER, encoding="utf-8")
    return f"python:{tmp_path / 'sometimes.py'}:Sometimes"


@pytest.mark.parametrize(
    ("n", "unscored", "withheld"),
    [(0, 0, False), (49, 1, False), (48, 1, True), (4, 1, True), (343, 7, False), (342, 7, True), (0, 1, True)],
)
def test_more_than_two_per_cent(n: int, unscored: int, withheld: bool) -> None:
    assert is_withheld(n, unscored) is withheld


def entries(scored: int, unscored: int, **groups: str) -> list[MeanItem]:
    of = {by: (name,) for by, name in groups.items()}
    values = [1.0] * scored + [None] * unscored
    return [MeanItem(f"v{n % 4}", value, f"{groups}/{n}", groups=of) for n, value in enumerate(values)]


def test_a_group_and_a_turn_position_are_withheld_by_the_rule_of_the_whole() -> None:
    whole = [*entries(4, 1, question_type="D-INT", turn="1"), *entries(95, 0, question_type="D-LOC", turn="2")]
    tables = Tables()
    measure = mean_measure("vdeval", whole, by=("question_type", "turn"))
    add_summary("m", [measure], subject="s", signed=(), tables=tables)
    assert [row.value for row in tables.summary] == [1.0]
    groups = {row.group: row for row in tables.groups}
    assert (groups["D-INT"].value, groups["D-INT"].low, groups["D-INT"].over_scored) == (None, None, 1.0)
    assert (groups["D-LOC"].value, groups["D-LOC"].over_scored) == (1.0, None)
    assert [(point.value, point.over_scored, point.unscored) for point in tables.curves] == [
        (None, 1.0, 1),
        (1.0, None, 0),
    ]


def test_a_mean_of_tasks_is_withheld_with_any_of_them() -> None:
    parts = {"small": entries(4, 1), "large": entries(500, 0)}
    assert mean_of_means("mtv", parts).withheld
    assert mean_of_means("mtv", {"small": entries(0, 1), "large": entries(500, 0)}).withheld
    assert not mean_of_means("mtv", {"small": entries(5, 0), "large": entries(500, 0)}).withheld


def test_n_counts_rounds_in_the_whole_and_in_its_groups() -> None:
    checklist = Checklist(items=(ChecklistItem(question="Is it red?", expected=True),))
    turns = tuple(
        AnsweredTurn(
            model="m", item_id=f"d/{n}", video_id="v", unit_id="d", turn_index=n, question="?", text="x",
            references=("y",), checklist=checklist, task="topic_shifting",
        )
        for n in range(170)
    )  # fmt: skip
    unit = JudgeUnit("m", "dialogue", "d", "v", turns, task="topic_shifting")
    rows = [
        JudgedScore(
            unit="turn", unit_id="d", turn_index=turn.turn_index, model="m", criterion="accuracy", value=1.0, judge="j",
            video_id="v", sample=sample,
        )
        for turn in turns
        for sample in range(3)
    ]  # fmt: skip
    measures = {one.name: one for one in checklist_measures([unit], rows, eval_rounds=3)}
    assert {one.n for one in measures.values()} == {170}
    # Every round lost one of its three judgings: there is a value, and it is not quoted.
    failed = [
        row.model_copy(update={"value": None, "state": ScoreState.UNSCORED, "reason": "?"}) if row.sample == 2 else row
        for row in rows
    ]
    lost = {one.name: one for one in checklist_measures([unit], failed, eval_rounds=3)}
    assert all(one.withheld for one in lost.values())
    assert lost["mtv"].n == 170


def test_from_the_terminal_to_every_export(tmp_path: Path, model: str) -> None:
    made = benchmark(tmp_path / "bench", failing=1)
    by_match = JudgeSettings(protocols=("match",))
    report = evaluate(made, model=model, out=tmp_path / "run", play=BLIND, judging=by_match)
    [row] = [row for row in report.run.summary if row.metric == "match" and row.model == "sometimes"]
    assert (row.value, row.n, row.unscored) == (100.0, 59, 1)
    assert row.reasons == {"the model gave no answer: OSError: the server is gone": 1}
    assert any("1 unscored in match" in line and "the server is gone" in line for line in report.text)
    lines = (tmp_path / "run/scores/groups.jsonl").read_text(encoding="utf-8").splitlines()
    groups = [json.loads(line) for line in lines]
    for group in groups:
        if group["model"] == "sometimes" and group["metric"] == "match":
            assert (group.get("value") is None) is is_withheld(group["n"], group.get("unscored", 0))
    made = benchmark(tmp_path / "more", failing=3)
    report = evaluate(made, model=model, out=tmp_path / "more-run", play=BLIND, judging=by_match)
    assert report.value("match") is None
    derived = {row.metric: row.value for row in report.run.summary if row.metric.startswith("match.") and row.n}
    assert set(derived.values()) <= {None}
    for form in ("csv", "json", "markdown", "latex"):
        table = render_table([report.run], form)
        assert "the server is gone" in table
        assert form in ("csv", "json") or "withheld" in table
    assert command(["report", str(tmp_path / "more-run"), "--out", str(tmp_path / "site")]) == 0
    page = (tmp_path / "site/numbers.html").read_text(encoding="utf-8")
    assert "the server is gone" in page
    assert "withheld" in page


class TestNeeds:
    """A protocol that could score nothing is refused, with the remedy, before a folder or a request is there."""

    MODEL = JudgeModelSettings(judge="never-asked", judge_base_url="http://127.0.0.1:9/v1")

    def test_vdeval_without_refined_summaries(self, tmp_path: Path, model: str) -> None:
        made = benchmark(tmp_path / "bench", failing=0, summaries={"template": "He takes a cup."})
        settings = JudgeSettings(protocols=("vdeval",))
        with pytest.raises(SettingError, match=r"refined summary.*--judge-summary template or none.*graph tell"):
            evaluate(made, model=model, out=tmp_path / "run", play=BLIND, judging=settings, judge_model=self.MODEL)
        assert not (tmp_path / "run").exists()
        evaluate(made, model=model, out=tmp_path / "run", play=BLIND)
        with pytest.raises(SettingError, match="refined summary"):
            judge(tmp_path / "run", out=tmp_path / "judged", judging=settings, judge_model=self.MODEL)
        assert not (tmp_path / "judged").exists()

    @pytest.mark.parametrize(
        ("protocol", "words"),
        [("checklist", "a checklist.*reeltalk construct"), ("choice", "options with a correct one")],
    )
    def test_what_turns_lack(self, protocol: str, words: str, tmp_path: Path, model: str) -> None:
        made = benchmark(tmp_path / "bench", failing=0)
        settings = JudgeSettings(protocols=(protocol,))
        who = self.MODEL if protocol == "checklist" else JudgeModelSettings()
        with pytest.raises(SettingError, match=f"{protocol} needs {words}"):
            evaluate(made, model=model, out=tmp_path / "run", play=BLIND, judging=settings, judge_model=who)
        assert not (tmp_path / "run").exists()
