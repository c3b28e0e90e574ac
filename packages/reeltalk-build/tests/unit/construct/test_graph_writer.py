"""The graph as a writer: everything it writes is exact, keeps its task's rules, and is the same every time."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from checklist_reader import score, wrong_answers
from page_world import World

from reeltalk.cli import run as command
from reeltalk.errors import BenchmarkError
from reeltalk.metrics.counting import count_benchmark, format_counts
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.entrances import has_referent, refers_back
from reeltalk.schema.gates import GateOutcome, is_counted
from reeltalk.schema.labels import Task, unknown_labels
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES, GATES, LINKAGES, PATHS, REWRITES, SCENES
from reeltalk.store.validate import validate
from reeltalk_build.construct.leakage import BLIND, HISTORY, leaks, own_answer
from reeltalk_build.construct.linting import check_structure
from reeltalk_build.construct.mending import LEAKS_LEFT_GATE
from reeltalk_build.construct.settings import STEPS, ConstructSettings, Step
from reeltalk_build.construct.stage import construct
from reeltalk_build.construct.step import ConstructRun
from reeltalk_build.construct.writers import Unwritten
from reeltalk_household.questions.asking import stories
from reeltalk_household.questions.checking import Checker
from reeltalk_household.questions.wording import forms
from reeltalk_household.writer.graph_chains import MOST_NEIGHBOURS_OF_CHAIN, NEIGHBOUR_KINDS
from reeltalk_household.writer.graph_checklists import statement_forms
from reeltalk_household.writer.graph_writer import GraphWriter

WRITTEN = ("chains", "linkages", "rewrites", "paths", "scenes", "dialogues", "gates")
ABOUT_THE_TALK = {"recall", "recall_first", "recall_both", "summary", "remark", "topic"}
SLIPS = re.compile(r"[{}_]|\bNone\b|  | [?.,!]|\b(the|a|an|to|is|are|in|on|he|it) \1\b|[a-z][A-Z]")


@pytest.fixture(scope="session")
def household(world: World, full: bool) -> Path:
    """A told scenario, three in full counts, nothing written about them yet. Copy it before writing."""
    return world.made(f"told/{3 if full else 1}")


def written_by(folder: Path, *steps: Step, **settings: object) -> Benchmark:
    """Of all steps, or of some alone."""
    benchmark = Benchmark.open(folder)
    chosen = ConstructSettings(**settings)
    construct(ConstructRun(benchmark, chosen, GraphWriter(benchmark, chosen), LocalExecutor(1)), steps or STEPS)
    return Benchmark.open(folder)


def tables_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.jsonl").read_bytes() for name in WRITTEN}


def units_of(benchmark: Benchmark) -> list[QAChain | Dialogue]:
    return [*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)]


def test_it_writes_all_there_is_to_write_and_it_validates(constructed: Path) -> None:
    benchmark = Benchmark.open(constructed)
    assert [str(finding) for finding in validate(benchmark)] == []
    assert min(benchmark.rows(table) for table in (CHAINS, LINKAGES, REWRITES, PATHS, SCENES, DIALOGUES)) > 0
    kinds = {(row.task, row.extra["kind"]) for row in benchmark.read(DIALOGUES)}
    assert kinds == {(task.value, kind) for task in Task for kind in ("single", "cross")}
    for row in units_of(benchmark):
        assert row.extra["writer"] == "graph"
        for turn in row.turns:
            assert unknown_labels(turn.labels) == []
            assert turn.extra["tags_verified"] is False


def test_chains_have_five_or_six_open_turns_each_resting_on_the_one_before(constructed: Path) -> None:
    for chain in Benchmark.open(constructed).read(CHAINS):
        assert 5 <= len(chain.turns) <= 6
        assert "/forms/" in str(chain.turns[0].extra["form"])
        # A *she* may skip a turn about a man.
        for n, turn in enumerate(chain.turns[1:], start=1):
            assert refers_back(turn)
            assert any(has_referent(before, turn) for before in chain.turns[max(0, n - 2) : n]), turn.question
        assert all("REF" in turn.labels["vdact.question_type"] for turn in chain.turns[1:])
        assert not any(turn.extra["answer_type"] == "yes_no" for turn in chain.turns)
        assert sum(turn.extra["kind"] in NEIGHBOUR_KINDS for turn in chain.turns) <= MOST_NEIGHBOURS_OF_CHAIN
        assert all(turn.options is None for turn in chain.turns)
        texts = [turn.question for turn in chain.turns]
        assert len(set(texts)) == len(texts)


def test_sparql_finds_every_answer_again(constructed: Path) -> None:
    benchmark = Benchmark.open(constructed)
    checked = 0
    texts = {video.id: found for video, _, found in stories(benchmark)}
    # All is asked about the film so far; several dialogues are asked at one moment.
    checkers: dict[tuple[str, ...], Checker] = {}
    for unit in units_of(benchmark):
        own, clips = texts[unit.video_id], [unit.clip_id] if isinstance(unit, QAChain) else unit.clip_ids
        film = tuple(own)[: max(list(own).index(str(clip)) for clip in clips) + 1]
        if film not in checkers:
            checkers[film] = Checker({clip: own[clip] for clip in film})
        assert checkers[film].disagreements(unit.turns) == []
        checked += len(unit.turns)
    assert checked > 150


def test_every_turn_that_asks_for_a_fact_has_a_key(constructed: Path) -> None:
    benchmark = Benchmark.open(constructed)
    assert all(turn.key is not None for chain in benchmark.read(CHAINS) for turn in chain.turns)
    assert all(row.draft.key is not None for row in benchmark.read(REWRITES))
    turns = [turn for dialogue in benchmark.read(DIALOGUES) for turn in dialogue.turns]
    without = {turn.extra["kind"] for turn in turns if turn.key is None}
    assert without <= ABOUT_THE_TALK, "what the talk itself is about"
    assert sum(turn.key is not None for turn in turns) > 0.75 * len(turns)


def test_rounds_about_the_talk_are_labelled_by_what_they_ask_for(constructed: Path) -> None:
    """Recalling an answer takes the fact again; who shows a need or no interest asks nothing."""
    seen = set()
    tags = ("cogme.target", "cogme.content")
    for dialogue in Benchmark.open(constructed).read(DIALOGUES):
        for number, turn in enumerate(dialogue.turns):
            seen.add(kind := str(turn.extra["kind"]))
            if kind in ("recall", "recall_first"):
                before = [earlier.labels for earlier in dialogue.turns[:number]]
                assert any(all(turn.labels[name] == labels[name] for name in tags) for labels in before)
                assert turn.labels["vdact.question_type"] == ("REF",)
            elif kind == "remark":
                assert turn.labels.keys() == {"mt_video_bench.task"}
            elif kind != "topic":
                assert turn.labels["vdact.question_type"], turn.question
    assert seen >= {"recall", "summary", "remark", "topic"}


def test_dialogues_keep_the_rules_of_their_task_and_are_worded_without_slips(constructed: Path) -> None:
    for dialogue in Benchmark.open(constructed).read(DIALOGUES):
        assert check_structure(dialogue, Task(dialogue.task or "")) == []
        assert 5 <= len(dialogue.turns) <= 8
        for turn in dialogue.turns:
            for text in (turn.question, *turn.references):
                assert not SLIPS.search(text), text
            assert turn.references[0][-1] in ".?”", turn.references


def test_evidence_lies_in_the_clips_that_are_shown(constructed: Path) -> None:
    benchmark = Benchmark.open(constructed)
    clips = {clip.id: clip.interval for _, found, _ in stories(benchmark) for clip in found}
    seen = 0
    for row in units_of(benchmark):
        names = (row.clip_id,) if isinstance(row, QAChain) else row.clip_ids
        shown = [clips[name] for name in names if name]
        for turn in row.turns:
            for interval in turn.evidence:
                start_s, end_s = min(s.start_s for s in shown if s), max(s.end_s for s in shown if s)
                assert start_s - 0.05 <= interval.start_s
                assert interval.end_s <= end_s + 0.05
                assert turn.asked_at_s == pytest.approx(end_s, abs=0.01)
                seen += 1
    assert seen > 100


def test_checklists_ask_for_each_fact_once_and_last_for_what_is_wrong(constructed: Path) -> None:
    seen = Counter[str]()
    for dialogue in Benchmark.open(constructed).read(DIALOGUES):
        for turn in dialogue.turns:
            if turn.checklist is None:
                continue
            seen[dialogue.task or ""] += 1
            *yes, no = turn.checklist.items
            assert yes
            assert all(item.expected for item in yes)
            assert not no.expected
            # No item asks for what another one asks for, in other words.
            asked = [item.question.partition(" that ")[2] or item.question for item in yes]
            assert len(set(asked)) == len(asked)
            for item in turn.checklist.items:
                assert item.question.endswith("?")
                assert "because does" not in item.question
                assert not SLIPS.search(item.question), item.question
    assert set(seen) == {task.value for task in Task}


def test_only_a_right_answer_meets_the_items_of_a_checklist(constructed: Path) -> None:
    found: dict[str, list[float]] = {}
    for turn, answers in wrong_answers(Benchmark.open(constructed).read(DIALOGUES)):
        assert turn.checklist is not None
        for name, answer in answers.items():
            found.setdefault(name, []).append(score(turn.checklist, answer))
    assert min(map(len, found.values())) > 30
    means = {name: sum(values) / len(values) for name, values in found.items()}
    assert set(found.pop("reference")) == {1.0}
    assert set(found.pop("empty")) == {0.0}
    assert set(found) == {"fixed", "yes", "negated", "other"}
    assert all(means[name] <= 0.1 for name in found), means


def test_clips_without_a_chain_are_counted_with_their_reason(constructed: Path) -> None:
    benchmark = Benchmark.open(constructed)
    gates = list(benchmark.read(GATES))
    unwritten = [gate for gate in gates if gate.outcome is GateOutcome.UNWRITTEN]
    lost = [gate for gate in gates if gate.gate == f"chains:{LEAKS_LEFT_GATE}" and gate.outcome is GateOutcome.DROPPED]
    about_chains = {gate.unit_id for gate in unwritten if gate.gate == "chains:written"}
    with_chain = {chain.clip_id for chain in benchmark.read(CHAINS)}
    clips = {clip.id for _, found, _ in stories(benchmark) for clip in found}
    # A clip whose chain was sent back for another, and none was found, keeps the first.
    assert about_chains | with_chain <= clips
    # A chain that leaks once all chains are known is dropped; its row names the chain, whose clip goes with it.
    assert len(clips - about_chains - with_chain) == len({gate.unit_id for gate in lost})
    assert all(gate.reason for gate in [*unwritten, *lost])


def test_every_kind_of_question_can_be_stated() -> None:
    assert set(statement_forms()) | {"video_length"} == set(forms())


@pytest.fixture(scope="module")
def plain(household: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The household, written about with the settings as they are. Copy it before writing."""
    folder = tmp_path_factory.mktemp("written") / "plain"
    shutil.copytree(household, folder)
    written_by(folder)
    return folder


def test_an_unchanged_benchmark_is_left_alone_and_another_seed_is_not(plain: Path, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    shutil.copytree(plain, folder)
    before = tables_of(folder)
    manifest = (folder / "manifest.json").read_bytes()
    written_by(folder)
    assert tables_of(folder) == before
    assert (folder / "manifest.json").read_bytes() == manifest
    written_by(folder, "chains", "linkages", "paths", "gates", seed=18)
    assert tables_of(folder)["chains"] != before["chains"]
    assert validate(Benchmark.open(folder)) == []


def test_targets_that_changed_in_their_file_are_written_towards(household: Path, tmp_path: Path) -> None:
    folder, targets = tmp_path / "towards", tmp_path / "targets.toml"
    shutil.copytree(household, folder)
    targets.write_text("[vdact.question_type]\nD-LOC = 1\n")
    written_by(folder, "chains", balance="types", targets=targets)
    before = (folder / "chains.jsonl").read_bytes()
    targets.write_text("[vdact.question_type]\nT-SEQ = 1\n")
    written_by(folder, "chains", balance="types", targets=targets)
    assert (folder / "chains.jsonl").read_bytes() != before
    assert str(tmp_path) not in (folder / "manifest.json").read_text()


def test_steps_run_alone_or_together_write_the_same(household: Path, plain: Path, tmp_path: Path) -> None:
    apart = tmp_path / "apart"
    shutil.copytree(household, apart)
    alone: tuple[Step, ...] = ("scenes", "dialogues", "chains", "linkages", "paths", "gates")
    for step in alone:
        written_by(apart, step)
    assert tables_of(apart) == tables_of(plain)


def test_a_step_that_rests_on_what_changed_is_named(plain: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stale"
    shutil.copytree(plain, folder)
    benchmark, settings = Benchmark.open(folder), ConstructSettings(seed=18)
    run = ConstructRun(benchmark, settings, GraphWriter(benchmark, settings), LocalExecutor(1))
    named = {warning.split(":")[0] for warning in construct(run, ["chains"]).warnings}
    assert named == {"linkages", "paths"}
    again = construct(run, ["chains"]).warnings
    assert len(again) == 2
    assert all("have changed" in warning for warning in again)


def test_what_another_stage_wrote_is_kept_beside(household: Path, tmp_path: Path) -> None:
    folder = tmp_path / "beside"
    shutil.copytree(household, folder)
    assert command(["graph", "questions", str(folder), "--per-video", "1"]) == 0
    theirs = {row.id: row.to_json() for row in Benchmark.open(folder).read(DIALOGUES)}
    benchmark = written_by(folder)
    rows = {row.id: row for row in benchmark.read(DIALOGUES)}
    assert {name: rows[name].to_json() for name in theirs} == theirs
    assert len(rows) > len(theirs)
    assert validate(benchmark) == []


def test_no_question_is_answered_by_itself_or_by_those_before_it(constructed: Path) -> None:
    benchmark = Benchmark.open(constructed)
    units = units_of(benchmark)
    found = [r for r in leaks(units) if r.outcome is GateOutcome.FLAGGED and r.gate in (BLIND, HISTORY)]
    assert len(found) <= 0.01 * sum(len(unit.turns) for unit in units), found
    assert [turn.question for unit in units for turn in unit.turns if is_counted(turn) and own_answer(turn)] == []
    replaced = [
        gate for gate in benchmark.read(GATES) if gate.outcome is GateOutcome.REPLACED and ":leak." in gate.gate
    ]
    # Dialogues hardly come to ask what is answered: what they may ask is told apart from what was said before.
    assert {"chain"} <= {gate.unit for gate in replaced} <= {"chain", "dialogue"}
    assert all(str(gate.reason).startswith("not asked, ") for gate in replaced)
    told = "\n".join(format_counts(count_benchmark(benchmark)))
    assert f"questions that need no video: {len(replaced):,} replaced by others" in told


def test_more_leaks_than_allowed_drop_dialogues_and_say_so(plain: Path, tmp_path: Path) -> None:
    folder = tmp_path / "strict"
    shutil.copytree(plain, folder)
    benchmark = Benchmark.open(folder)
    rows = list(benchmark.read(DIALOGUES))
    entry = benchmark.manifest.files["dialogues.jsonl"]
    # The same is asked again and again.
    leaking = rows[0].model_copy(update={"turns": (rows[0].turns[0],) * 5})
    with benchmark.writing(stage=entry.stage, settings=entry.settings, parents=entry.parents) as writer:
        writer.add(DIALOGUES, [leaking, *rows[1:]])

    def checked(share: float) -> Benchmark:
        return written_by(folder, "gates", max_leaking=share)

    assert {row.id for row in checked(1.0).read(DIALOGUES)} == {row.id for row in rows}
    benchmark = checked(0.0)
    dropped = {gate.unit_id for gate in benchmark.read(GATES) if gate.gate == "gates:leak.share" and gate.reason}
    assert dropped == {leaking.id}
    assert {row.id for row in benchmark.read(DIALOGUES)} == {row.id for row in rows} - dropped
    assert validate(benchmark) == []
    settled = tables_of(folder)
    checked(0.0)
    assert tables_of(folder) == settled


def test_a_dialogue_with_a_leak_is_sent_back_and_then_left_out(household: Path, tmp_path: Path) -> None:
    class Repeating(GraphWriter):
        """Asks the first question twice until it is told twice."""

        def dialogue(
            self, *of: Any, number: int, earlier: Sequence[str] = (), advice: Sequence[str] = ()
        ) -> Dialogue | Unwritten:
            made = super().dialogue(*of, number=number)
            told.append(tuple(advice))
            stubborn = isinstance(made, Dialogue) and made.task == "summary"
            if isinstance(made, Unwritten) or (len(advice) > 0 and not stubborn):
                return made
            return made.model_copy(update={"turns": (made.turns[0], *made.turns)})

        def checklists(self, *_: Any) -> dict[int, Any]:
            return {}

    told: list[tuple[str, ...]] = []
    folder = tmp_path / "repeating"
    shutil.copytree(household, folder)
    benchmark, settings = Benchmark.open(folder), ConstructSettings()
    construct(
        ConstructRun(benchmark, settings, Repeating(benchmark, settings), LocalExecutor(1)), ["scenes", "dialogues"]
    )
    benchmark = Benchmark.open(folder)
    assert any("can be answered without the video" in advice[0] for advice in told if advice)
    written = {row.task for row in benchmark.read(DIALOGUES)}
    assert len(written) >= 3
    assert "summary" not in written
    gates = list(benchmark.read(GATES))
    left = [gate for gate in gates if gate.gate == "dialogues:leak.left"]
    assert "its summary tells of the round that would be taken out" in {
        gate.reason for gate in left if gate.unit_id.startswith("summary/")
    }
    assert any(gate.outcome is GateOutcome.REPLACED and gate.turn_index == 1 for gate in gates)
    assert validate(benchmark) == []


@pytest.mark.parametrize("what", ["types", pytest.param("tags", marks=pytest.mark.slow)])
def test_balancing_evens_out_what_chains_ask_for(household: Path, plain: Path, tmp_path: Path, what: str) -> None:
    balanced = tmp_path / "balanced"
    shutil.copytree(household, balanced)
    written_by(balanced, "chains", balance=what)

    def unevenness(folder: Path) -> float:
        benchmark = Benchmark.open(folder)
        names = ("vdact.question_type",) if what == "types" else ("cogme.target", "cogme.content", "cogme.thinking")
        chains = benchmark.read(CHAINS)
        labels = Counter(x for c in chains for t in c.turns for n in names for x in t.labels[n] if x != "REF")
        return sum((n / labels.total()) ** 2 for n in labels.values())

    # One scenario gives few chains, so there is little to choose among.
    assert unevenness(balanced) < unevenness(plain) + 0.02


def test_tables_do_not_depend_on_the_order_of_sets(household: Path, plain: Path, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    shutil.copytree(household, folder)
    # Not the seed of this process, which is in all likelihood another one.
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    command = [sys.executable, "-m", "reeltalk", "construct", str(folder)]
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert tables_of(folder) == tables_of(plain)


def test_a_benchmark_without_graphs_is_refused(household: Path, tmp_path: Path) -> None:
    empty = Benchmark.create(tmp_path / "empty")
    with pytest.raises(BenchmarkError, match="no video with graphs"):
        GraphWriter(empty, ConstructSettings())
    assert command(["construct", str(tmp_path / "empty")]) == 2
    assert command(["construct", str(household), "--language", "zh"]) == 2
    assert command(["construct", str(household), "--min-turns", "7", "--max-turns", "5"]) == 2
