"""Exports of a benchmark of our own, and published files, before readers that know nothing of reeltalk."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import read_published
from page_world import World
from read_published import READERS, MisfitError

from reeltalk.formats import load_format
from reeltalk.schema.dialogue import PathStep, Turn
from reeltalk.schema.labels import Task
from reeltalk.stages.layouts import export_layout
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

FIT = {
    "mt-video-bench": ("videos", "dialogues", "turns", "checklists"),
    "svbench": ("videos", "chains", "turns", "linkages", "paths", "steps"),
    "vdact": ("videos", "dialogues", "turns", "summaries", "graphs"),
}
"""What of a benchmark fits each layout."""


def counted(content: Content, layout: str) -> dict[str, int]:
    """The same counts as the readers', from a benchmark."""
    units: list[Any] = [*content.chains] if layout == "svbench" else [*content.dialogues]
    counts = {
        "videos": len(content.videos),
        "dialogues": len(content.dialogues),
        "chains": len(content.chains),
        "turns": sum(len(unit.turns) for unit in units),
        "checklists": sum(turn.checklist is not None for unit in units for turn in unit.turns),
        "linkages": len(content.linkages),
        "paths": len(content.paths),
        "steps": sum(len(path.steps) for path in content.paths),
        "summaries": sum(len(video.summaries) for video in content.videos),
        "graphs": len(content.graphs),
    }
    return {name: counts[name] for name in FIT[layout]}


@pytest.fixture(scope="module")
def own(world: World) -> Content:
    """A household with chains, linkages, paths, dialogues of all six tasks, checklists, summaries and graphs."""
    content = Benchmark.open(world.made("written/4")).content()
    assert {row.task for row in content.dialogues} <= {task.value for task in Task}
    # Keys that any stage may come to write, and a turn that is worded anew for its path.
    mark = {"rests_on": {"object": "mug1"}, "of_no_layout": [1]}
    content.linkages = [row.model_copy(update={"extra": {**row.extra, **mark}}) for row in content.linkages]
    for number, path in enumerate(content.paths):
        steps = tuple(
            PathStep(
                ref=step.ref, turn=Turn(question="And then?", references=("He sits.",), asked_at_s=1.0), extra=mark
            )
            if place == 1
            else step
            for place, step in enumerate(path.steps)
        )
        content.paths[number] = path.model_copy(update={"steps": steps, "extra": {**path.extra, **mark}})
    for number, row in enumerate(content.dialogues):
        turns = tuple(turn.model_copy(update={"extra": {**turn.extra, **mark}}) for turn in row.turns)
        content.dialogues[number] = row.model_copy(update={"turns": turns, "extra": {**row.extra, **mark}})
    return content


@pytest.mark.parametrize("layout", FIT)
def test_an_export_of_our_own_is_read_and_comes_back_with_as_much_as_fits(
    own: Content, tmp_path: Path, layout: str
) -> None:
    lost = load_format(layout).write(own, tmp_path)
    found, again = READERS[layout](tmp_path), counted(load_format(layout).read(tmp_path), layout)
    ours = counted(own, layout)
    for name in FIT[layout]:
        print(f"{layout:<16}{name:<12}{ours[name]:>6}{found[name]:>6}{again[name]:>6}")
    assert {name: found[name] for name in FIT[layout]} == ours == again
    assert all(ours.values())
    assert not any("of_no_layout" in path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.*"))
    left = {line.rpartition(":")[0] for line in lost}
    assert "turns lose their extra" in left
    if layout == "svbench":
        assert f"dialogues are left out: {len(own.dialogues)}" in lost
    else:
        assert f"chains are left out: {len(own.chains)}" in lost


def test_the_command_counts_what_it_leaves_out(own: Content, tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "bench")
    benchmark.write_content(own, stage="test", parents={})
    done = export_layout(benchmark, "svbench", tmp_path / "out")
    assert f"graphs are left out: {len(own.graphs)}" in done.lost
    assert READERS["svbench"](tmp_path / "out")["chains"] == len(own.chains)


def test_the_reader_reads_what_vdact_published(shared: Path, tmp_path: Path) -> None:
    released = shared / "data" / "vdact"
    for place, part in (
        ("data/dialogue", "dialogue"),
        ("results", "results"),
        ("kg_activity.zip", "kg_activity.zip"),
        ("scenario_template_summaries.zip", "scenario_template_summaries.zip"),
        ("VDEval/scenario_refine_summaries.zip", "scenario_refine_summaries.zip"),
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).symlink_to(released / part)
    found = READERS["vdact"](tmp_path)
    assert (found["listed"], found["answers"], found["graphs"]) == (3000, 6 * 4524 + 19, 706)


Change = Callable[[Any], Any]


def _first_round(document: Any) -> Any:
    return next(iter(document.values()))[0]["mtqa"]["Round 1"]


def _first_list(document: Any) -> Any:
    return next(iter(next(iter(document.values())).values()))[0]


MISFITS: list[tuple[str, str, Change, str]] = [
    ("mt-video-bench", "mtqa/summary.json", lambda d: _first_round(d).pop("Ability"), "keys are"),
    ("mt-video-bench", "mtqa/summary.json", lambda d: _first_round(d).update(kind="x"), "keys are"),
    ("mt-video-bench", "mtqa/summary.json", lambda d: _first_round(d).update(Ability="Counting"), "not known"),
    ("mt-video-bench", "mtqa/summary.json", lambda d: next(iter(d.values()))[0].update(writer="x"), "keys are"),
    ("mt-video-bench", "checklist/summary_CheckList.json", lambda d: _first_list(d).pop("A1"), "keys are"),
    ("svbench", "Dialogue/*/*.json", lambda d: d[0].update(writer="graph"), "keys are"),
    ("svbench", "Dialogue/*/*.json", lambda d: d[0].update(qac_timestamps_start=None), "no span of time"),
    ("svbench", "Dialogue/*/*.json", lambda d: d[0]["chain"]["answers"].pop(), "not as many answers"),
    ("svbench", "Con/*/*.json", lambda d: d[0]["relationship"].update(skill=[]), "keys are"),
    ("svbench", "Con/*/*.json", lambda d: d[0]["relationship"].update(relationship=["Mood"]), "relations|length"),
    ("svbench", "Path/*.json", lambda d: d["Paths"][0].reverse(), "back in time|times"),
    ("svbench", "Streaming/*/*.json", lambda d: d[0]["timestamps"].pop(), "not as many"),
    ("vdact", "data/dialogue/dialogue.json", lambda d: d[0].pop("scenario_video"), "keys are"),
    ("vdact", "data/dialogue/dialogue.json", lambda d: d[0]["turns"][0].update(types=[]), "keys are"),
    ("vdact", "data/dialogue/dialogue.json", lambda d: d[0].update(id="1"), "id '1'"),
]


@pytest.mark.parametrize(("layout", "file", "change", "problem"), MISFITS)
def test_the_readers_refuse_what_a_layout_does_not_have(
    own: Content, tmp_path: Path, layout: str, file: str, change: Change, problem: str
) -> None:
    load_format(layout).write(own, tmp_path)
    path = min(tmp_path.glob(file))
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(MisfitError, match=problem):
        READERS[layout](tmp_path)


@pytest.mark.parametrize(
    ("layout", "file"), [("mt-video-bench", "mtqa/other.json"), ("svbench", "Path/Path_EN"), ("vdact", "dialogue.json")]
)
def test_the_readers_refuse_what_lies_in_another_place(own: Content, tmp_path: Path, layout: str, file: str) -> None:
    load_format(layout).write(own, tmp_path)
    source = next(path for path in sorted(tmp_path.rglob("*.json")) if path.parent.name != "checklist")
    shutil.copy(source, tmp_path / file)
    with pytest.raises(MisfitError):
        READERS[layout](tmp_path)


def test_the_readers_rest_on_nothing_of_ours() -> None:
    text = Path(read_published.__file__).read_text(encoding="utf-8")
    assert "import reeltalk" not in text
    assert "from reeltalk" not in text
