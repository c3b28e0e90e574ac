"""Suites state measures; one command runs them all and gathers what they state."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import performance_page
import pytest

import record
import suites
from record import Goal, Measure, at_least, at_most

ROOT = Path(__file__).parents[3]
MACHINE = {"cpu": "a cpu", "cores": 2, "memory_gib": 4.0, "platform": "Linux", "python": "3.11"}

STUB = """
import sys, time
sys.path.insert(0, {bench!r})
import record as kept
kept.ROOT = __import__("pathlib").Path({root!r})
kept.code = lambda: "the code"
from record import Measure, lacking, options_of, record
quick = options_of(__doc__).parse_args().quick
{body}
"""
GOOD = "record('good', [Measure('a call', 4.0, 'ms', 'a bare client', 2.0)], packages=['numpy'], quick=quick)"
LACKS = "lacking('lacks', 'an accelerator', quick=quick)"
BROKEN = f"{GOOD.replace('good', 'broken')}; raise SystemExit('the disk is full')"
SLOW = "print('still at it', flush=True); time.sleep(60)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of small suites that lie and write in a place of their own."""
    for name, body in (("good", GOOD), ("lacks", LACKS), ("broken", BROKEN), ("slow", SLOW)):
        text = STUB.format(bench=str(ROOT / "bench"), root=str(tmp_path), body=body)
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "no_suite.py").write_text("print('a part of a suite')")
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    monkeypatch.setattr(suites, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(suites, "code", lambda: "the code")
    monkeypatch.setattr(
        suites, "read_record", lambda path, *_: json.loads(path.read_text()) if path.is_file() else None
    )
    return tmp_path


def stored(**changes: object) -> dict[str, object]:
    measure = {"what": "a call", "value": 4.0, "unit": "ms", "baseline": "", "ratio": None, "goal": None}
    about = {
        "name": "some",
        "quick": True,
        "date": "2026-01-02",
        "commit": "abc",
        "machine": MACHINE,
        "took_s": 3.0,
        "load": 0.4,
    }
    return about | {"versions": {"numpy": "2"}, "notes": ["quiet machine"], "measures": [measure | changes]}


def test_every_suite_is_found_and_none_is_named_twice() -> None:
    names = suites.suites()
    assert {"curate", "evaluate", "household", "many_videos", "review", "streaming", "world"} <= set(names)
    assert not {"record", "suites", "chat_server", "load", "review_team", "spending"} & set(names)
    for name in names:
        tree = ast.parse((ROOT / "bench" / f"{name}.py").read_text())
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        assert any(call.func.id == "options_of" for call in calls if isinstance(call.func, ast.Name)), name
        written = {
            call.args[0].value
            for call in calls
            if isinstance(call.func, ast.Name)
            and call.func.id in ("record", "lacking")
            and isinstance(call.args[0], ast.Constant)
        }
        assert written == {name}, f"{name} writes {written}, where bench/suites.py looks for {name}.json"


def test_a_suite_starts() -> None:
    command = [sys.executable, str(ROOT / "bench" / "world.py"), "--help"]
    assert "--quick" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_every_suite_starts(full: bool) -> None:
    if not full:
        pytest.skip("a start of each takes a second; run with --full")
    for name in suites.suites():
        command = [sys.executable, str(ROOT / "bench" / f"{name}.py"), "--help"]
        assert "--quick" in subprocess.run(command, capture_output=True, text=True, check=True).stdout, name


def test_one_suite_does_not_keep_others_from_running(folder: Path) -> None:
    assert suites.suites(folder) == ["broken", "good", "lacks", "slow"]
    found = {name: suites.run(name, quick=True, limit_s=20, folder=folder) for name in ("broken", "good", "lacks")}
    assert found["broken"]["failed"] == "it ended with 1: the disk is full"
    assert suites.kept("broken", quick=True) is None, "what failed after it wrote was not measured"
    assert found["lacks"]["needs"] == "an accelerator"
    assert [measure.ratio for measure in record.read_measures(found["good"])] == [2.0]
    assert found["good"]["took_s"] > 0
    assert suites.kept("good", quick=True) == found["good"]
    assert suites.kept("good", quick=False) is None
    assert suites.kept("lacks", quick=True) is None, "what was lacking may be there by now"


def test_a_suite_that_takes_too_long_is_ended(folder: Path) -> None:
    found = suites.run("slow", quick=True, limit_s=2.0, folder=folder, say=lambda _: None)
    assert found == {"name": "slow", "failed": "it took longer than 2 s and was ended"}
    assert suites.kept("slow", quick=True) is None


def test_figures_of_other_code_are_measured_anew(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text(json.dumps(stored() | {"code": record.code()}))
    assert suites.read_record(path) is not None
    path.write_text(json.dumps(stored() | {"code": "of another day"}))
    assert suites.read_record(path) is None
    assert suites.read_record(path, "of another day") is not None
    path.write_text("{")
    assert suites.read_record(path) is None


@pytest.mark.parametrize(
    "stated",
    [
        {"what": "", "value": 1.0, "unit": "s"},
        {"what": "a call", "value": 1.0, "unit": ""},
        {"what": "a call", "value": float("nan"), "unit": "s"},
        {"what": "a call", "value": 1.0, "unit": "s", "ratio": 2.0},
        {"what": "a call", "value": 1.0, "unit": "s", "ratio": float("inf"), "baseline": "another"},
    ],
)
def test_a_measure_without_meaning_is_refused(stated: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"a call|words"):
        Measure(**stated)  # type: ignore[arg-type]


def test_goals_are_met_at_their_value() -> None:
    assert [at_most(2).met_by(value) for value in (1.9, 2.0, 2.1)] == [True, True, False]
    assert [at_least(2).met_by(value) for value in (1.9, 2.0, 2.1)] == [False, True, True]


def test_tables_say_goals_ratios_and_what_was_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    goal = {"sense": "at most", "value": 3.0, "source": ""}
    records: list[dict[str, object]] = [
        stored(goal=goal, ratio=2.5, baseline="a bare | client"),
        {"name": "gpu", "needs": "an accelerator"},
        {"name": "poor", "failed": "it ended with 1: no space"},
    ]
    book = suites.book(records)
    call, gpu, poor = performance_page.measures(book)
    assert call[1:8] == ("a call", "4", "ms", "2.5", "a bare | client", "at most 3", "no")
    assert call[8:11] == ("2026-01-02", "small", "0.4")
    assert gpu[-1] == "not run: needs an accelerator"
    assert poor[-1] == "not measured: it ended with 1: no space"
    monkeypatch.setattr(performance_page, "read_book", lambda: book)
    assert performance_page.figure(f"{call[0]}: a call") == "4 ms"
    assert performance_page.figure(f"{call[0]}/ratio: a call") == "2.5 ×"
    with pytest.raises(KeyError, match="no 'some: another call'"):
        performance_page.figure("some: another call")


def test_a_book_keeps_the_versions_of_what_was_not_run_now() -> None:
    earlier = {"versions": {"numpy": "1", "av": "18"}}
    now = stored() | {"versions": {"numpy": "2"}}
    assert suites.book([now], earlier=earlier)["versions"] == {"numpy": "2"}
    old = {"name": "old", "measures": [], "date": "2026-01-01"}
    assert suites.book([now, old], earlier=earlier)["versions"] == {"av": "18", "numpy": "2"}


def test_what_is_committed_is_read_back_as_measures() -> None:
    book = json.loads((ROOT / "docs" / "reference" / "performance.json").read_text())
    assert [suite["name"] for suite in book["suites"]] == suites.suites()
    measures = [measure for suite in book["suites"] for measure in record.read_measures(suite)]
    assert measures
    assert all(measure.goal is None or isinstance(measure.goal, Goal) for measure in measures)
