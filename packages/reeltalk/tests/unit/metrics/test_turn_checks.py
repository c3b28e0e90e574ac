"""How far a benchmark was checked: what was not checked is said first, and never counted as passed."""

import json
from pathlib import Path

import pytest
from two_writers import JUDGES, written

from reeltalk.cli import run
from reeltalk.metrics.turn_checks import (
    benchmark_quality,
    checked_turns,
    measure_quality,
    quality_card,
    quality_sentences,
)
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.media import Video
from reeltalk.schema.record import ChainId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.tables import CHAINS, GATES


def tables(folder: Path) -> tuple[list[QAChain | Dialogue], list[GateResult]]:
    benchmark = Benchmark.open(folder)
    return [*benchmark.read(CHAINS)], list(benchmark.read(GATES))


@pytest.fixture(scope="module")
def careless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("checked") / "careless", "careless-2b", careful=False)


def test_shares_are_those_of_the_rows(careless: Path) -> None:
    units, gates = tables(careless)
    found = measure_quality(units, gates)
    assert (found.turns, found.videos) == (69, 6)
    flagged = {(g.unit_id, g.turn_index) for g in gates if g.outcome is GateOutcome.FLAGGED}
    assert found.passed is not None
    assert found.passed.value == pytest.approx(1 - len(flagged) / 69)
    assert found.passed.low is not None
    assert found.passed.low < found.passed.value
    by_name = {count.check.name: count for count in found.checks}
    cannot = sum(g.gate == "chains:verified" and g.outcome is GateOutcome.FLAGGED for g in gates)
    assert by_name["verified"].flagged == cannot == found.faults["verified: cannot tell"]
    assert found.gone["verified: contradicted", "replaced"] == 6
    assert by_name["depends"].made == 46
    assert found.judges == tuple(JUDGES)
    assert not found.own_judges


@pytest.mark.parametrize("checked", [True, False])
def test_chains_that_all_say_the_same_are_a_warning_everywhere(checked: bool, tmp_path: Path) -> None:
    turns = tuple(
        Turn(question=question, references=(answer,))
        for question, answer in (
            ("What does she lift?", "A blue mug with a lid."),
            ("Where to?", "To the window sill."),
        )
    )
    chains = [QAChain(id=ChainId(f"q{n}"), video_id=VideoId("v"), turns=turns) for n in range(3)]
    passed = GateResult(gate="chains:lint", unit="chain", unit_id="q0", outcome=GateOutcome.PASSED)
    content = Content(videos=[Video(id=VideoId("v"))], chains=chains, gates=[passed] if checked else [])
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    said = "3 of 3 chains have the questions and answers of another one"
    assert f"Warning: {said}" in next(quality_sentences(benchmark_quality(Benchmark.open(tmp_path / "bench"))))
    assert run(["report", str(tmp_path / "bench"), "--out", str(tmp_path / "site")]) == 0
    pages = [page.read_text(encoding="utf-8") for page in (tmp_path / "site").glob("*.html")]
    assert any(f'<li class="warn">Warning: {said}' in page for page in pages)
    assert run(["freeze", str(tmp_path / "bench"), str(tmp_path / "release"), "--version", "1.0.0"]) == 0
    assert f"Warning: {said}" in (tmp_path / "release" / "README.md").read_text(encoding="utf-8")


def test_a_draft_that_went_back_says_nothing_about_the_turn_that_stays(careless: Path) -> None:
    units, gates = tables(careless)
    turn = next(t for t in checked_turns(units, gates) if (t.unit_id, t.index) == ("chain-v2-c0", 0))
    assert any(g.unit_id == turn.unit_id and g.outcome is GateOutcome.REPLACED for g in gates)
    assert all(g.outcome is not GateOutcome.REPLACED for g in turn.results)


def test_what_was_not_checked_comes_first_and_is_never_passed(tmp_path: Path) -> None:
    units, gates = tables(written(tmp_path / "b", "alone-7b", careful=True, judged=False))
    found = measure_quality(units, gates)
    sentences = list(quality_sentences(found))
    unverified = "Unverified: 72 of 72 turns; no judge compared their answers with the video."
    assert sentences[-1] == unverified, "rules alone pass no turn"
    assert any(count.check.name == "rules" and count.passed for count in found.checks)
    assert sentences[0].startswith("Not checked: whether the video supports the reference answers")
    assert "name one as --judge" in sentences[0]
    names = {count.check.name for count in found.not_made}
    assert {"verified", "faults"} <= names
    assert not names & {count.check.name for count in found.checks}
    only = [gate for gate in gates if gate.outcome is GateOutcome.UNCHECKED]
    nothing = measure_quality(units, only)
    assert nothing.passed is found.passed is None
    assert unverified in list(quality_sentences(nothing))


def test_unverified_turns_are_in_no_share_of_those_that_passed(careless: Path) -> None:
    units, gates = tables(careless)
    skipped = {units[0].id, units[1].id}
    rows = [gate for gate in gates if gate.unit_id not in skipped or not gate.gate.endswith((":verified", ":faults"))]
    found, whole = measure_quality(units, rows), measure_quality(units, gates)
    assert found.passed is not None
    assert whole.passed is not None
    assert found.unverified == sum(len(unit.turns) for unit in units if unit.id in skipped) > 0
    assert found.passed.n == whole.passed.n - found.unverified
    assert f"Unverified: {found.unverified} of 69 turns; no judge" in " ".join(quality_sentences(found))


def test_a_judge_of_its_own_work_is_named_on_the_card(tmp_path: Path) -> None:
    units, gates = tables(written(tmp_path / "b", "vision-1", careful=True, judges=["vision-1"]))
    card = "\n".join(quality_card(measure_quality(units, gates)))
    assert "Warning: vision-1 wrote turns and judged them." in card
    other, rows = tables(written(tmp_path / "c", "vision-2", careful=True, judges=["vision-1"]))
    assert "Warning" not in "\n".join(quality_card(measure_quality(other, rows)))


def test_a_card_of_imported_turns_has_no_such_section(careless: Path) -> None:
    units, _ = tables(careless)
    imported = [unit.model_copy(update={"extra": {}}) for unit in units]
    assert quality_card(measure_quality(imported[:1], [])) == []
    card = quality_card(measure_quality(imported, []))
    assert [line[:10] for line in card] == ["## How far", "", "- Warning:", ""], "but the chains of this one are alike"
    assert quality_card(measure_quality(units, []))


def test_releases_and_exports_carry_the_card(careless: Path, tmp_path: Path) -> None:
    every = ("--only", "all")
    assert run(["freeze", str(careless), str(tmp_path / "release"), "--version", "1.0.0", *every]) == 0
    assert run(["export", "hub", str(careless), str(tmp_path / "hub"), *every]) == 0
    for card in (tmp_path / "release" / "README.md", tmp_path / "hub" / "README.md"):
        text = card.read_text()
        assert "## How far it was checked" in text
        assert "of the verified turns passed every check that was made on them. Checks made: answer verified;" in text
        assert "| `verified: cannot tell` | 23 |" in text
    croissant = json.loads((tmp_path / "hub" / "croissant.json").read_text())
    assert "passed every check that was made" in croissant["description"]
