"""Judging protocols and metrics are described once, beside what computes them, and all else reads that."""

import asyncio
import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import reference_pages
from attack_models import EchoModel
from places import CORE, SOURCES

from reeltalk import judge as judging
from reeltalk.analysis.columns import metric_kind, metric_title
from reeltalk.analysis.values import metric_unit
from reeltalk.cli import run
from reeltalk.judge import protocol as registry
from reeltalk.judge.attacks import attacked_unit, neutral_dialogues
from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.protocol import Protocol, measure_info, protocols
from reeltalk.judge.settings import JudgeSettings
from reeltalk.judge.turns import cascade
from reeltalk.metrics.scoring import METRICS, TEXT_METRICS, score_texts
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.store.runs import read_run

ENDINGS = (".py", ".toml", ".html", ".js")
PRESETS = CORE / "evaluation" / "presets.py"
"""The papers' settings, which name protocols and metrics."""
APPLAUSE = '''"""How loudly a hall would clap at an answer."""

from typing import Final

from reeltalk.judge.judge import JudgeUnit, score_row
from reeltalk.judge.protocol import Protocol, ProtocolCriterion
from reeltalk.judge.turns import NO_MODEL, SingleTurnJudge
from reeltalk.llm.model import AsyncModel
from reeltalk.metrics.info import MetricInfo
from reeltalk.schema.scoring import JudgedScore

PROTOCOL: Final = Protocol(
    name="applause",
    title="Applause of the hall",
    help="Counts the claps for an answer.",
    create=lambda _: Applause(),
    criteria=(ProtocolCriterion("applause", "Applause of the hall", 2.0, 6.0, pass_mark=5.0, rating_title="Claps",
                                levels={"6": "all clap", "2": "nobody does"}),),
    measures=(MetricInfo("applause", "Applause of the hall", 2.0, 6.0),),
    needs_model=False,
    credit_rank=1,
    rating="1",
)


class Applause(SingleTurnJudge):
    """Longer answers are louder."""

    protocol = PROTOCOL
    by = ("turn", "row")

    def groups(self, unit, turn):
        return {"row": ("front",)}

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        return (("hall", "v1"),)

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        turn = unit.turns[index]
        return [score_row(unit, "applause", NO_MODEL, min(6.0, 2.0 + len(turn.text.split())), turn=turn)]
'''


@pytest.fixture
def applause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A protocol in a file of its own, where the package finds its modules, and no other edit."""
    folder = tmp_path / "more_judges"
    folder.mkdir()
    (folder / "applause.py").write_text(APPLAUSE, encoding="utf-8")
    monkeypatch.setattr(judging, "__path__", [*judging.__path__, str(folder)])
    yield
    sys.modules.pop("reeltalk.judge.applause", None)


@pytest.fixture
def unit() -> JudgeUnit:
    """A chain with all that a protocol may look for in a turn."""
    dialogue = neutral_dialogues()[0]
    made = attacked_unit(dialogue, dialogue.turns[-1].right, kind="chain", task="memory_recall")
    labels = {"cogme.target": ("Object",), "cogme.content": ("Identity",), "cogme.thinking": ("Recall",)}
    key = AnswerKey(type="colour", values=("red",))
    turns = tuple(turn.model_copy(update={"labels": labels, "key": key}) for turn in made.turns)
    short = {"key": None, "options": None, "correct_option": None, "references": ("Red.",)}
    asked = {"item_id": "short", "turn_index": len(turns), "question": "Which colour?"}
    turns = (*turns, turns[-1].model_copy(update=asked | short))
    return JudgeUnit(made.model, made.kind, made.id, made.video_id, turns, made.task, made.summaries, made.linked)


@pytest.mark.parametrize("name", protocols())
@pytest.mark.parametrize("compat", [False, True])
def test_every_criterion_and_every_measure_is_described(name: str, compat: bool, unit: JudgeUnit) -> None:
    protocol = protocols()[name]
    judge = protocol.create(JudgeSettings(compat=compat))
    assert judge.needs_model is protocol.needs_model
    assert registry.find_protocol(judge.name) is protocol
    scores = asyncio.run(judge.judge(unit, EchoModel("So rating=3") if protocol.needs_model else None))
    assert scores
    for row in scores:
        found = protocol.criterion(row.criterion)
        assert found is not None, f"{name} does not describe its criterion {row.criterion}"
        assert row.value is None or "compat" in row.criterion or found.low <= row.value <= found.high
    measures = judge.measures([unit], scores)
    assert measures[0].name.split(".")[0] == protocol.measures[0].name
    if protocol.right_or_wrong:
        measures += cascade([([unit], lambda _: None)], name)
    for measure in measures:
        assert measure_info(measure.name) is not None, f"{name} does not describe its measure {measure.name}"
        assert metric_title(measure.name) != measure.name


def test_what_nobody_described_is_not_taken_for_something_else() -> None:
    for metric in ("clair.floor_of_nobody", "nobody", "svbench.nothing", "vdeval.percentile.nothing"):
        assert measure_info(metric) is None
        assert (metric_title(metric), metric_unit(metric)) == (metric, "")
    assert protocols()["clair"].criterion("nobody") is None


def test_every_text_metric_is_described() -> None:
    for name in (name for produced in METRICS.values() for name in produced):
        info = TEXT_METRICS[name]
        assert info.title
        assert info.what
        assert info.source
        assert metric_kind(name) == "text"


@pytest.mark.parametrize("metric", sorted({*METRICS} - {"meteor"}))
def test_every_text_metric_on_the_command_line_is_computed(metric: str) -> None:
    """METEOR needs Java; its own tests run it."""
    texts = ["She pours milk into a cup.", "He opens the door."]
    embed = lambda some: np.eye(len(some))  # noqa: E731
    found = score_texts(texts, [[text] for text in texts], [metric], embed=embed, embedder="identity")
    assert set(found) == {*METRICS[metric]}
    assert all(result.signature and result.corpus > 0 for result in found.values())


def test_rubric_by_words_is_a_rule_and_rubric_needs_a_model() -> None:
    assert not protocols()["rubric-words"].needs_model
    assert protocols()["rubric"].needs_model


def test_no_module_lists_protocols_beside_the_registry() -> None:
    """A module may name the protocols that it is about; a list of several is a second home for the same fact."""
    names = {name for name in protocols() if name not in ("choice", "match", "rubric", "checklist", "typed")}
    allowed = {CORE / "judge" / "attacks.toml", CORE / "judge" / "single_answers.py", PRESETS}
    files = [path for source in SOURCES for path in source.rglob("*") if path.suffix in ENDINGS]
    assert len(files) > 500
    for path in files:
        if path in allowed or {"benchmarks", "published"} & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8")
        named = {name for name in names if re.search(rf"""["'`]{re.escape(name)}["'`]""", text)}
        assert len(named) < 3, f"{path} lists {sorted(named)}; read them from the registry"


def test_no_module_lists_metrics_beside_the_registry() -> None:
    """Settings name the metrics of a default run; all else reads `TEXT_METRICS`."""
    for path in (path for source in SOURCES for path in source.rglob("*.py")):
        if path in (CORE / "evaluation" / "settings.py", PRESETS):
            continue
        if {"metrics", "benchmarks", "published"} & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8")
        named = {name for name in (*METRICS, *TEXT_METRICS) if f'"{name}"' in text}
        assert len(named) < 4, f"{path} lists {sorted(named)}; read them from the registry"


def test_a_protocol_in_one_new_file_is_found_everywhere(
    applause: None, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    help_line, title = "Counts the claps for an answer.", "Applause of the hall"
    assert isinstance(protocols()["applause"], Protocol)

    assert run(["judge", "--help-all"]) == 0
    assert help_line in capsys.readouterr().out
    assert help_line in reference_pages.PAGES["protocols.md"]()
    assert title in reference_pages.PAGES["protocols.md"]()

    assert run(["judge", "nothing", "--protocols", "nobody", "--out", str(tmp_path / "no")]) == 2
    files = [str(samples / "vdact" / "results" / name) for name in ("careful-8f.json",)]
    out = tmp_path / "run"
    command = ["judge", *files, "--format", "vdact", "--protocols", "applause", "--metrics", "none", "--out", str(out)]
    assert run(command) == 0
    made = read_run(out)
    assert made.info.metrics[0] == "applause"

    assert run(["report", str(out), "--out", str(tmp_path / "site")]) == 0
    site = tmp_path / "site"
    pages = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert title in pages["index.html"]
    assert title in pages["breakdowns.html"]
    assert "2–6" in pages["breakdowns.html"]
    assert any(title in text for name, text in pages.items() if name.startswith("turns"))

    ratings = tmp_path / "ann.csv"
    with ratings.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("model", "unit_id", "turn_index", "criterion", "rater", "value"))
        for turn in made.answers():
            if turn.model != "empty":
                value = 2 + turn.turn_index % 5
                writer.writerow((turn.model, turn.unit_id, turn.turn_index, "applause", "ann", value))
    capsys.readouterr()
    assert run(["calibrate", str(out), "--human", str(ratings), "--scale", "2:6", "--out", str(tmp_path / "c")]) in (
        0,
        1,
    )
    assert title in (tmp_path / "c" / "calibration.html").read_text(encoding="utf-8")
