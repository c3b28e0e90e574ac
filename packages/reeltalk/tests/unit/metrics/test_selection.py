"""What leaves a benchmark: nothing that a check flags, nothing that hangs on it, and unverified turns by this name."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.metrics.selection import AFTER_LEFT_OUT, BESIDE_LEFT_OUT, TurnState, select_turns
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.gates import GateOutcome, GateResult, GateUnit
from reeltalk.schema.media import Video
from reeltalk.schema.record import ChainId, DialogueId, PathId, VideoId
from reeltalk.schema.review import Decision, Review, wording_hash
from reeltalk.schema.rewriting import Rewrite
from reeltalk.stages import evaluate, export_layout, freeze
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.foreign import SELECTION_FILE
from reeltalk.store.tables import CHAINS, GATES, REJECTED
from reeltalk.store.validate import validate

FLAGGED, PASSED, UNCHECKED = GateOutcome.FLAGGED, GateOutcome.PASSED, GateOutcome.UNCHECKED
ZONE = datetime(2026, 11, 1, tzinfo=UTC)
LAYOUTS = ("svbench", "mt-video-bench", "vdact", "qa", "hub")


def turns(name: str, count: int) -> tuple[Turn, ...]:
    return tuple(
        Turn(question=f"What is {name} number {n}?", references=(f"It is {name} thing {n}.",), asked_at_s=1.0)
        for n in range(count)
    )


def gate(unit: GateUnit, name: str, turn: int | None, outcome: GateOutcome, of: str = "verified") -> GateResult:
    return GateResult(gate=f"chains:{of}", unit=unit, unit_id=name, turn_index=turn, outcome=outcome)


def verified(unit: GateUnit, name: str, count: int) -> list[GateResult]:
    return [gate(unit, name, turn, PASSED) for turn in range(count)]


def link(source: tuple[str, int], target: tuple[str, int]) -> Linkage:
    ends = [TurnRef(unit_id=name, turn_index=turn) for name, turn in (source, target)]
    return Linkage(source=ends[0], target=ends[1], relation="temporal")


def rewrite(name: str, linkage: Linkage, *, coherent: bool | None) -> Rewrite:
    draft = Turn(question=f"And then, {name}?", references=("Yes.",))
    return Rewrite(
        id=name, linkage=linkage, method="temporal/order", skill="x", draft=draft, coherent=coherent, writer="w"
    )


def path(name: str, steps: Sequence[tuple[str, int]], drafts: dict[int, Turn] | None = None) -> DialoguePath:
    return DialoguePath(
        id=PathId(name),
        video_id=VideoId("v"),
        steps=tuple(
            PathStep(ref=TurnRef(unit_id=unit, turn_index=turn), turn=(drafts or {}).get(at))
            for at, (unit, turn) in enumerate(steps)
        ),
    )


def content() -> Content:
    """Two chains, two dialogues of a task, one of none; flagged: turn 3 of `b`, turn 2 of `tasked` and `free`."""
    links = [link(("a", 0), ("b", 0)), link(("a", 1), ("b", 3))]
    drafts = [rewrite("good", links[0], coherent=True), rewrite("bad", links[0], coherent=False)]
    return Content(
        videos=[Video(id=VideoId("v"))],
        chains=[QAChain(id=ChainId(name), video_id=VideoId("v"), turns=turns(name, 5)) for name in "ab"],
        dialogues=[
            Dialogue(id=DialogueId("tasked"), video_id=VideoId("v"), task="memory_recall", turns=turns("tasked", 4)),
            Dialogue(id=DialogueId("sound"), video_id=VideoId("v"), task="memory_recall", turns=turns("sound", 2)),
            Dialogue(id=DialogueId("free"), video_id=VideoId("v"), turns=turns("free", 4)),
        ],
        linkages=links,
        rewrites=drafts,
        paths=[
            path("whole", [("a", 0), ("a", 1), ("b", 0)]),
            path("cut", [("a", 0), ("a", 1), ("b", 3), ("b", 4)]),
            path("gone", [("a", 0), ("b", 0)], {1: drafts[1].draft}),
        ],
        gates=[
            *verified("chain", "a", 5),
            *verified("chain", "b", 5),
            gate("chain", "b", 3, FLAGGED, "lint.yes_no"),
            *verified("dialogue", "tasked", 4),
            gate("dialogue", "tasked", 2, FLAGGED, "answerable"),
            *verified("dialogue", "sound", 2),
            gate("dialogue", "free", None, UNCHECKED),
            gate("dialogue", "free", 2, FLAGGED, "leak.blind"),
            GateResult(gate="linkages:faults", unit="linkage", unit_id="bad", outcome=FLAGGED),
        ],
        answers=[Answer(model="m", unit="chain", unit_id="b", turn_index=turn, text="?") for turn in range(5)],
    )


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    made = Benchmark.create(tmp_path / "bench")
    made.write_content(content(), stage="test")
    return Benchmark.open(tmp_path / "bench")


def accept(name: str, turn: Turn, place: int, decision: Decision = Decision.ACCEPT) -> Review:
    extra = {"task": "turns", "place": place, "settled": "alone", "wording": wording_hash(turn)}
    return Review(
        target_table="chains",
        target_id=name,
        revision=0,
        reviewer="ann",
        decision=decision,
        created_at=ZONE,
        extra=extra,
    )


def test_what_is_flagged_goes_with_what_hangs_on_it() -> None:
    whole = content()
    found = select_turns(whole)
    assert {(row.id, row.turn_index): row.reason for row in found.left} == {
        ("b", 3): "flagged: lint.yes_no",
        ("b", 4): AFTER_LEFT_OUT,
        ("tasked", 0): BESIDE_LEFT_OUT,
        ("tasked", 1): BESIDE_LEFT_OUT,
        ("tasked", 2): "flagged: answerable",
        ("tasked", 3): BESIDE_LEFT_OUT,
        ("free", 2): "flagged: leak.blind",
        ("free", 3): AFTER_LEFT_OUT,
    }
    assert found.selected == {TurnState.PASSED: 10, TurnState.UNVERIFIED: 2}
    left = found.content
    assert [(unit.id, len(unit.turns)) for unit in left.chains] == [("a", 5), ("b", 3)]
    assert [(unit.id, len(unit.turns)) for unit in left.dialogues] == [("sound", 2), ("free", 2)]
    assert left.linkages == whole.linkages[:1]
    assert [row.id for row in left.rewrites] == ["good"]
    assert [(row.id, len(row.steps)) for row in left.paths] == [("whole", 3), ("cut", 2)]
    assert [row.turn_index for row in left.answers] == [0, 1, 2]
    assert FLAGGED not in {row.outcome for row in left.gates}
    assert found.also == {"linkages": 1, "rewriting drafts": 1, "paths": 1, "paths cut short": 1}
    assert select_turns(left).content is left, "nothing more is left out of what is left"


def test_people_overrule_checks_for_the_wording_that_they_saw() -> None:
    whole = content()
    flagged = whole.chains[1].turns[3]
    whole.reviews = [accept("b", flagged, 3)]
    assert ("b", 3) not in {(row.id, row.turn_index) for row in select_turns(whole).left}
    whole.reviews = [accept("b", flagged.model_copy(update={"question": "Another?"}), 3)]
    assert ("b", 3) in {(row.id, row.turn_index) for row in select_turns(whole).left}
    whole.reviews = [accept("b", flagged, 3), accept("b", flagged, 3, Decision.SKIP)]
    assert ("b", 3) in {(row.id, row.turn_index) for row in select_turns(whole).left}, "the last verdict counts"


def test_only_reviewed_are_those_that_people_accepted() -> None:
    whole = content()
    whole.reviews = [accept("a", turn, place) for place, turn in enumerate(whole.chains[0].turns) if place != 3]
    found = select_turns(whole, "reviewed")
    assert [(unit.id, len(unit.turns)) for unit in found.content.chains] == [("a", 3)]
    assert found.selected == {TurnState.ACCEPTED: 3}
    assert found.sentence.startswith("left out 17 of 20 turns (")
    assert not found.content.rewrites
    whole.reviews = []
    with pytest.raises(BenchmarkError, match="people accepted none of the 20 turns; 'reeltalk review apply'"):
        select_turns(whole, "reviewed")


def test_nothing_is_known_of_an_imported_benchmark_and_all_of_it_stays() -> None:
    whole = content()
    whole.gates = []
    found = select_turns(whole)
    assert found.content is whole
    assert (found.sentence, found.left, found.selected.total()) == ("", (), 0)


def test_a_release_holds_no_flagged_turn_and_records_what_it_left_out(benchmark: Benchmark, tmp_path: Path) -> None:
    told = freeze(benchmark, tmp_path / "r", version="1.0.0")
    release = Benchmark.open(tmp_path / "r")
    assert not [finding for finding in validate(release) if finding.severity == "error"]
    assert FLAGGED not in {row.outcome for row in release.read(GATES)}
    assert [len(row.turns) for row in release.read(CHAINS)] == [5, 3]
    rows = [(row.table, row.record_id, row.place, row.content) for row in release.read(REJECTED)]
    assert ("chains", "b", "turns[4]", None) in rows
    assert len(rows) == 8
    settings = release.manifest.files["chains.jsonl"].settings
    assert (settings["only"], settings["left_out"], settings["kept"]) == ("passed", 8, {"passed": 10, "unverified": 2})
    card = (tmp_path / "r" / "README.md").read_text(encoding="utf-8")
    assert "`--only passed`: left out 8 of 20 turns (" in card
    assert "; the others: 10 passed, 2 unverified." in card
    assert told.overview().title.endswith(told.selection)
    every = freeze(benchmark, tmp_path / "all", version="1.0.0", only="all").release
    assert [len(row.turns) for row in every.read(CHAINS)] == [5, 5]
    assert every.manifest.files["chains.jsonl"] == benchmark.manifest.files["chains.jsonl"]
    assert every.manifest.canary != release.manifest.canary


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_export_holds_no_flagged_turn_and_counts_them(layout: str, benchmark: Benchmark, tmp_path: Path) -> None:
    done = export_layout(benchmark, layout, tmp_path / "out")
    document = json.loads((tmp_path / "out" / SELECTION_FILE).read_text(encoding="utf-8"))
    assert (document["turns"], document["left_out"], document["kept"]) == (20, 8, {"passed": 10, "unverified": 2})
    assert document["by_reason"]["flagged: answerable"] == 1
    assert {"table": "chains", "id": "b", "turn_index": 3, "reason": "flagged: lint.yes_no"} in document[
        "turns_left_out"
    ]
    assert "left out 8 of 20 turns" in done.overview().title
    if layout != "hub":
        texts = "".join(
            file.read_text(encoding="utf-8")
            for file in (tmp_path / "out").rglob("*")
            if file.is_file() and file.name != SELECTION_FILE
        )
        for name, number in (("b", 3), ("b", 4), ("tasked", 0), ("tasked", 2), ("free", 2), ("free", 3)):
            assert f"{name} number {number}" not in texts
        assert "a number 4" in texts or "free number 1" in texts or "sound number 1" in texts
    assert run(["import", layout, str(tmp_path / "out"), str(tmp_path / "again")]) == 0, "our file disturbs no reader"
    again = select_turns(Benchmark.open(tmp_path / "again").stored_content())
    assert not again.left


def test_questions_and_training_data_leave_out_the_same(benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "questions.jsonl"
    assert run(["export", "questions", str(benchmark.path), str(out)]) == 0
    assert len(out.read_text().splitlines()) == 12
    assert json.loads((tmp_path / f"questions.{SELECTION_FILE}").read_text())["left_out"] == 8
    assert run(["export", "questions", str(benchmark.path), str(out), "--only", "all", "--overwrite"]) == 0
    assert len(out.read_text().splitlines()) == 20


def played(
    benchmark: Benchmark, out: Path, model: str = "baseline:constant", **settings: object
) -> tuple[int, str, str]:
    """The turns that were due, a signature, and all that is told about the run."""
    told: list[str] = []
    play = PlaySettings.model_validate({"frames": {"policy": "none"}} | settings)
    done = evaluate(benchmark, model=model, out=out, play=play, tell=told.append)
    row = done.run.summary[0]
    return row.n, row.signature, "\n".join([*told, *done.run.info.remarks])


def test_a_run_signs_a_selection_that_changes_what_is_due(benchmark: Benchmark, tmp_path: Path) -> None:
    due, signed, told = played(benchmark, tmp_path / "passed")
    assert (due, "|only:passed" in signed) == (12, True)
    assert told.count("Left out by --only passed: 8 turns (") == 1
    due, signed, told = played(benchmark, tmp_path / "all", only="all")
    assert (due, "only:" in signed, "Left out" in told) == (20, False, False)
    due, signed, told = played(benchmark, tmp_path / "paths", mode="streaming")
    assert (due, "|only:passed" in signed) == (5, True)
    assert "4 turns (2 flagged, 1 after a turn that is left out, 1 alone on its path)" in told
    due, signed, told = played(benchmark, tmp_path / "sound", tasks=("memory_recall",))
    assert (due, "|only:passed" in signed, "4 turns (" in told) == (2, True, True)


def test_nothing_to_play_says_what_is_left_out(benchmark: Benchmark, tmp_path: Path) -> None:
    with benchmark.writing(stage="test") as writer:
        writer.add(GATES, [*content().gates, gate("chain", "a", 0, FLAGGED), gate("chain", "b", 0, FLAGGED)])
    with pytest.raises(
        BenchmarkError, match=r"nothing to play: no path .* 9 turns \(6 flagged, .*; --only all plays them"
    ):
        played(Benchmark.open(benchmark.path), tmp_path / "out", mode="streaming")


def test_a_comparison_of_other_selections_says_so(
    benchmark: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for only in ("passed", "all"):
        played(benchmark, tmp_path / only, only=only, model="baseline:history")
    assert run(["compare", str(tmp_path / "passed"), str(tmp_path / "all")]) == 0
    told = "".join(capsys.readouterr())
    assert "was asked only turns that are passed, history · all all turns" in told
    assert "12 turns of both, 1 video; left out 8 of" in told


def test_an_export_of_turns_that_all_passed_has_no_file_of_ours(benchmark: Benchmark, tmp_path: Path) -> None:
    freeze(benchmark, tmp_path / "r", version="1.0.0")
    chains = Benchmark.open(tmp_path / "r").content()
    chains.dialogues, chains.gates = [], [row for row in chains.gates if row.unit == "chain"]
    Benchmark.create(tmp_path / "passed").write_content(chains, stage="test")
    done = export_layout(Benchmark.open(tmp_path / "passed"), "svbench", tmp_path / "out")
    assert done.selection == "all 8 turns: 8 passed"
    assert not (tmp_path / "out" / SELECTION_FILE).exists()
