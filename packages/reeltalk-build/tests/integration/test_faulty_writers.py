"""A writer that plants faults of every class in what it writes: what is caught, and what good drafts it costs."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from faulty_writer import TASKS, Cast, Fault, Turn, fault_classes
from invented_clips import STORIES, Story, clip_of, tell_clips
from scripted_server import serve

from reeltalk.cli import run
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import FAULTS, VERIFIED, GateOutcome, GateResult
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.foreign import SELECTION_FILE
from reeltalk.store.tables import CHAINS, DIALOGUES, GATES, REWRITES, SCENES

LEAST_CAUGHT = 0.95
MOST_LOST = 0.05
CLIPS = len(TASKS)
"""Clips of a video, each of which suits another task."""
UNITS = ("chain", "dialogue")
TURNS = 5
"""Turns of a good chain."""


@dataclass
class Found:
    """What construction made of the planted faults and of the good drafts."""

    tried: Counter[Fault] = field(default_factory=Counter)
    missed: dict[Fault, list[object]] = field(default_factory=lambda: defaultdict(list))
    """Texts with a fault that stayed without a flag."""
    good: int = 0
    lost: list[tuple[str, int]] = field(default_factory=list)
    """Good drafts that are not in the benchmark, or that have a flag: what was written, and its story."""
    gates: tuple[GateResult, ...] = ()

    @property
    def caught(self) -> float:
        return 1 - sum(map(len, self.missed.values())) / self.tried.total()


def cast_parts(classes: Sequence[Fault], each: int) -> dict[int, Fault]:
    """Each class of faults `each` times by the number of its clip, and good clips, a fifth as many, between them."""
    dialogues = [fault for fault in classes if fault.kind == "dialogue"] * each
    others: list[Fault | None] = [*(fault for fault in classes if fault.kind != "dialogue")] * each
    others += [None] * ((len(dialogues) + len(others)) // 5)
    random.Random(4).shuffle(others)
    planted: dict[int, Fault] = {}
    number = 0
    while dialogues or others:
        place = number % CLIPS
        fault = next((one for one in dialogues if TASKS[place] == one.task), None)
        if fault is not None:
            dialogues.remove(fault)
        elif others:
            # A linkage joins a clip to the next one of its video.
            at = next(
                (n for n, one in enumerate(others) if one is None or one.kind != "rewrite" or place < CLIPS - 1), 0
            )
            fault = others.pop(at)
        if fault is not None:
            planted[number] = fault
        number += 2 if fault is not None and fault.kind == "rewrite" else 1
    return planted


def construct(folder: Path, planted: Mapping[int, Fault], *options: str) -> Found:
    clips = max(planted) + 1
    tell_clips(folder, clips, CLIPS)
    cast = Cast(planted)
    with serve(cast.reply) as server:
        command = ["construct", str(folder), "--writer", "writer", "--base-url", server.base_url, "--sees", "text"]
        run([*command, "--cross-per-video", "0", "--connections", "8", *options])
    return examine(Benchmark.open(folder), cast, clips)


def examine(benchmark: Benchmark, cast: Cast, clips: int) -> Found:
    gates = tuple(benchmark.read(GATES))
    flagged = {(gate.unit_id, gate.turn_index) for gate in gates if gate.outcome is GateOutcome.FLAGGED}
    found = Found(Counter(cast.faults.values()), gates=gates)
    for fault, kept, has_flag in texts(benchmark, cast, flagged):
        if not has_flag:
            found.missed[fault].append(kept)
    chains = {chain.clip_id: chain for chain in benchmark.read(CHAINS)}
    scenes = {clip: scene for scene in benchmark.read(SCENES) for clip in scene.clip_ids}
    dialogues = {dialogue.clip_ids[0]: dialogue for dialogue in benchmark.read(DIALOGUES)}
    for number in set(range(clips)) - cast.faults.keys():
        clip = clip_of(number)
        found.good += 3
        chain, dialogue, scene = chains.get(clip), dialogues.get(clip), scenes.get(clip)
        if chain is None or len(chain.turns) < TURNS or any((chain.id, n) in flagged for n in (None, *range(TURNS))):
            found.lost.append(("chain", number))
        if scene is None or scene.caption != Story(number).caption or (clip, None) in flagged:
            found.lost.append(("caption", number))
        turns = (None, *range(len(dialogue.turns))) if dialogue else ()
        if dialogue is None or any((dialogue.id, n) in flagged for n in turns):
            found.lost.append(("dialogue", number))
    return found


def texts(
    benchmark: Benchmark, cast: Cast, flagged: set[tuple[str, int | None]]
) -> Iterator[tuple[Fault, object, bool]]:
    """Every text with a planted fault that stayed: its class, where it stands, and whether it has a flag."""
    units: list[QAChain | Dialogue] = [*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)]
    for unit in units:
        for index, turn in enumerate(unit.turns):
            has_flag = (unit.id, index) in flagged or (unit.id, None) in flagged
            said: Turn = (turn.question, turn.references[0])
            fault = cast.planted.get(said)
            # A rewriting draft that changes nothing has the words of a good turn.
            if fault is not None and fault.kind != "rewrite":
                yield fault, said, has_flag
            items = tuple(item.question for item in turn.checklist.items[:2]) if turn.checklist else ()
            if len(items) == 2 and (items[0], items[1]) in cast.planted:
                yield cast.planted[items[0], items[1]], items, has_flag
    for scene in benchmark.read(SCENES):
        for turn_, fault in cast.planted.items():
            if fault.kind == "caption" and turn_[1] in scene.caption:
                yield fault, scene.caption, any((clip, None) in flagged for clip in scene.clip_ids)
    for rewrite in benchmark.read(REWRITES):
        said = (rewrite.draft.question, rewrite.draft.references[0])
        if said in cast.planted:
            yield cast.planted[said], said, rewrite.coherent is False


@pytest.mark.timeout(900)
def test_faults_of_every_class_are_caught_and_good_drafts_stay(tmp_path: Path, full: bool) -> None:
    # A quick run plants every other class.
    classes = fault_classes()[:: 1 if full else 2]
    assert len(classes) >= 25
    found = construct(tmp_path / "told", cast_parts(classes, 10 if full else 1), "--judge", "judge")
    assert found.tried.total() >= len(classes)
    assert found.caught >= LEAST_CAUGHT, {(one.kind, one.name): kept for one, kept in found.missed.items()}
    assert len(found.lost) <= MOST_LOST * found.good, found.lost
    layouts = ("svbench", "mt-video-bench", "qa", "hub", "questions") if full else ("svbench", "questions")
    no_flagged_turn_leaves(tmp_path / "told", tmp_path, layouts)


def no_flagged_turn_leaves(folder: Path, out: Path, layouts: Sequence[str]) -> None:
    """Requires that releases, exports and questions hold what is not flagged, and count the rest."""
    gates = list(Benchmark.open(folder).read(GATES))
    flagged = {(g.unit_id, g.turn_index) for g in gates if g.outcome is GateOutcome.FLAGGED and g.unit in UNITS}
    assert len(flagged) >= 10
    assert run(["freeze", str(folder), str(out / "release"), "--version", "1.0.0"]) == 0
    assert run(["validate", str(out / "release")]) == 0
    release = Benchmark.open(out / "release")
    units: list[QAChain | Dialogue] = [*release.read(CHAINS), *release.read(DIALOGUES)]
    assert not flagged & {(unit.id, n) for unit in units for n in (None, *range(len(unit.turns)))}
    assert not [rewrite.id for rewrite in release.read(REWRITES) if rewrite.coherent is False]
    turns = sum(len(unit.turns) for unit in units)
    told = release.manifest.files["chains.jsonl"].settings
    assert (told["turns"] - told["left_out"], sum(told["kept"].values())) == (turns, turns)
    for layout in layouts:
        target = out / ("questions.jsonl" if layout == "questions" else layout)
        assert run(["export", layout, str(folder), str(target)]) == 0
        # The release has nothing left to leave out: both exports say the same.
        assert run(["export", layout, str(out / "release"), str(out / f"again-{target.name}")]) == 0
        beside = target / SELECTION_FILE if target.is_dir() else target.with_name(f"{target.stem}.{SELECTION_FILE}")
        assert json.loads(beside.read_text())["left_out"] == told["left_out"]
        if layout != "hub":
            assert texts_in(target) == texts_in(out / f"again-{target.name}")


def texts_in(path: Path) -> dict[str, str]:
    """The files of an export but ours, by name."""
    files = (
        [path]
        if path.is_file()
        else [file for file in path.rglob("*") if file.is_file() and file.name != SELECTION_FILE]
    )
    return {str(file.relative_to(path)): file.read_text(encoding="utf-8") for file in files}


def test_without_a_judge_what_is_not_checked_is_said(tmp_path: Path, full: bool) -> None:
    classes = fault_classes() if full else fault_classes()[1::4]
    planted = {n: fault for n, fault in cast_parts(classes, 1).items() if fault.kind in ("chain", "dialogue")}
    found = construct(tmp_path / "told", planted, "--steps", "chains", "--steps", "scenes", "--steps", "dialogues")
    verified = [gate for gate in found.gates if gate.gate.split(":")[1] in (VERIFIED, FAULTS)]
    assert {gate.outcome for gate in verified} == {GateOutcome.UNCHECKED}
    assert all("--judge" in (gate.reason or "") for gate in verified)
    checked = {gate.unit_id for gate in verified if gate.unit == "chain"}
    benchmark = Benchmark.open(tmp_path / "told")
    assert checked == {chain.id for chain in benchmark.read(CHAINS)}
    # What code alone can catch is caught all the same.
    code_finds = [fault for fault in found.missed if fault.verdict == "supported" and not fault.said]
    assert code_finds == []


def test_every_story_is_told_once() -> None:
    assert len(STORIES) == 900
