"""The construct stage: runs the steps in order. Steps share data through the benchmark's tables only.

A step is skipped if its inputs, settings, writer and version are the same as in the last run. Replies of a model are
cached, so a step that was interrupted repeats at most the calls that were in progress.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError
from reeltalk.metrics.turn_sheet import STEP as SHEET_STEP
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.manifest import hash_file
from reeltalk.store.rows import KeyIndex, Rows
from reeltalk.store.tables import CLIPS, DIALOGUES, GATES, VIDEOS, Table
from reeltalk_build.construct.chain_steps import CHAIN_STEPS
from reeltalk_build.construct.dialogue_steps import DIALOGUE_STEPS
from reeltalk_build.construct.gate_steps import GATE_STEP
from reeltalk_build.construct.object_step import UP_TO_DATE, run_object_step
from reeltalk_build.construct.prompting import prompts
from reeltalk_build.construct.settings import STEPS, Step
from reeltalk_build.construct.step import (
    WRITER,
    ConstructRun,
    StepResult,
    StepSpec,
    is_written,
    lacks_replies,
    unseen_parts,
)

STAGE: Final = "construct"
REVIEWED: Final = "review apply"
"""The stage of tables that reviewers have changed."""
SETTLED_BY_PEOPLE: Final = frozenset({"chains", "linkages", "dialogues"})
"""Steps that would overwrite such tables. Paths and checks may be made again after a review."""
UNITS: Final = {"chains": "chain", "linkages": "linkage", "dialogues": "dialogue", "scenes": "scene"}
"""Name of the unit that a step writes, as gate results use it."""
BLOCK_STEPS: Final[Mapping[str, StepSpec]] = {spec.name: spec for spec in (*CHAIN_STEPS, *DIALOGUE_STEPS)}
"""Steps that write about each video by itself."""
_SPECS: Final = {**BLOCK_STEPS, GATE_STEP.name: GATE_STEP}


def construct(run: ConstructRun, steps: Sequence[Step] = STEPS) -> StageReport:
    """Write chains, linkages, paths, scenes, dialogues and gate results into the tables of a benchmark.

    Args:
        run: The benchmark, its writer and its settings.
        steps: Steps to run. They always run in the order of `STEPS`.

    Raises:
        BenchmarkError: The benchmark has no clips, a row of another stage has an identifier that a step would write, or
            a step would overwrite what people reviewed.
    """
    if not run.benchmark.rows(VIDEOS) or not run.benchmark.rows(CLIPS):
        raise BenchmarkError(
            f"{run.benchmark.path} has no clips to write about; 'reeltalk curate' or 'reeltalk world film' makes some"
        )
    counts: dict[str, int] = {}
    warnings: list[str] = []
    left_out: list[str] = []
    unchanged: list[str] = []
    for step in (name for name in STEPS if name in steps):
        run.watch.begin(step)
        if step == "objects":
            objects = run_object_step(run)
            counts |= objects.counts
            if objects.warnings == (UP_TO_DATE,):
                unchanged.append(step)
            else:
                warnings += objects.warnings
            left_out += objects.left_out
            continue
        spec = _SPECS[step]
        settings, parents = _settings_of(run, spec), _parents_of(run.benchmark, spec)
        again = (run.retries and lacks_replies(run.benchmark, step)) or any(unseen_parts(run.benchmark, step))
        if not again and _is_up_to_date(run.benchmark, spec, settings, parents):
            unchanged.append(step)
            counts |= {table.name: run.benchmark.rows(table) for table in spec.writes}
            continue
        _refuse_reviewed(run.benchmark, spec)
        blocks = run.blocks if _has_blocks(run, spec) else None
        made = spec.join(run, blocks.write(run, spec, parents) if blocks is not None else spec.work(run))
        counts |= _write(run, spec, made, settings, parents)
        if blocks is not None:
            blocks.forget(run.benchmark, step)
    if unchanged:
        # Told, not reported: the report of work that was interrupted says the same as that of work that was not.
        run.tell(f"nothing changed since the last run: {', '.join(unchanged)}")
    warnings += _out_of_date(run.benchmark, steps)
    left_out += (line for step in steps for line in unseen_parts(run.benchmark, step))
    return StageReport(stage=STAGE, counts=counts, warnings=tuple(warnings), left_out=tuple(dict.fromkeys(left_out)))


def _has_blocks(run: ConstructRun, spec: StepSpec) -> bool:
    """True if a step is done in several blocks: the writer can, and there are more videos than in one."""
    return run.blocks is not None and spec.name in BLOCK_STEPS and len(run.videos) > run.settings.block


def _out_of_date(benchmark: Benchmark, steps: Sequence[Step]) -> list[str]:
    """Steps that were not asked for and whose inputs have changed since they were run."""
    found = []
    for name, spec in _SPECS.items():
        entry = benchmark.manifest.files.get(spec.writes[0].file_name)
        if name in steps or entry is None or entry.stage != f"{STAGE} {name}":
            continue
        if entry.parents != _parents_of(benchmark, spec):
            found.append(f"{name}: rests on tables that have changed; run 'reeltalk construct' without --steps")
    return found


def _refuse_reviewed(benchmark: Benchmark, spec: StepSpec) -> None:
    entry = benchmark.manifest.files.get(spec.writes[0].file_name)
    if spec.name in SETTLED_BY_PEOPLE and entry is not None and entry.stage == REVIEWED:
        raise BenchmarkError(
            f"{benchmark.path} holds {spec.name} that people reviewed and that would be overwritten; construct into "
            "another benchmark, or name other steps, as --steps paths --steps gates"
        )


def _settings_of(run: ConstructRun, spec: StepSpec) -> dict[str, Json]:
    stored = run.settings.model_dump(mode="json")
    chosen: dict[str, Json] = {name: stored[name] for name in spec.settings}
    if spec.name == "gates":
        chosen["probe"] = run.probe_name
        chosen["attackers"] = list(run.attackers)
        chosen["judge"] = run.judges[0].model.name if run.judges else None
        if run.prompts is not None:
            own = prompts(run.settings.language, run.prompts)
            chosen["prompts"] = [own[name].signature for name in ("probe", "equivalence")]
    else:
        chosen[WRITER] = run.writer.signature
        if _has_blocks(run, spec):
            chosen["block"] = run.settings.block
        if not run.canaries:
            chosen["canaries"] = False
    if run.settings.targets is not None and "targets" in chosen:
        # The content of the file counts, not its path on this machine.
        chosen["targets"] = _hash(run.settings.targets)
    return chosen


def _hash(path: Path) -> str:
    """Hash of a file. A missing file is reported later, by the code that reads it."""
    return hash_file(path)[0] if path.is_file() else "missing"


def _parents_of(benchmark: Benchmark, spec: StepSpec) -> dict[str, str]:
    """Hashes of the tables that a step reads, and one hash of all graphs, which the graph writer reads."""
    files = benchmark.manifest.files
    parents = {t.file_name: files[t.file_name].sha256 for t in spec.reads if t.file_name in files}
    graphs = "".join(f"{entry.sha256} {name}\n" for name, entry in sorted(files.items()) if name.startswith(GRAPHS))
    if graphs:
        parents[f"{GRAPHS}/"] = hashlib.sha256(graphs.encode()).hexdigest()
    return parents


def _is_up_to_date(benchmark: Benchmark, spec: StepSpec, settings: dict[str, Json], parents: dict[str, str]) -> bool:
    entry = benchmark.manifest.files.get(spec.writes[0].file_name)
    return entry is not None and (entry.stage, entry.version, entry.settings, entry.parents) == (
        f"{STAGE} {spec.name}",
        __version__,
        json.loads(json.dumps(settings)),
        parents,
    )


def _write(
    run: ConstructRun, spec: StepSpec, made: StepResult, settings: dict[str, Json], parents: dict[str, str]
) -> dict[str, int]:
    benchmark, counts = run.benchmark, {}
    # A step that writes dialogues leaves out by itself those that it drops.
    gone = {
        gate.unit_id
        for gate in (made.gates if spec.name == "gates" else ())
        if gate.outcome is GateOutcome.DROPPED and gate.unit == "dialogue"
    }
    if gone:
        _drop(benchmark, gone)
        parents = _parents_of(benchmark, spec)
    before = dict(benchmark.manifest.files)
    others = {table: _of_others(benchmark, table) for table in made.rows}
    _refuse_identifiers_of_others(benchmark, made, others)
    gates = benchmark.table(GATES)
    with benchmark.writing(stage=f"{STAGE} {spec.name}", settings=settings, parents=parents) as writer:
        for table, rows in made.rows.items():
            counts[table.name] = writer.add(table, chain(others[table], rows))
        names = [table.file_name for table in made.rows]
        # Later steps are skipped if these rows come out unchanged, so their gate results stay.
        same = all(name in before and before[name].sha256 == writer.entries[name].sha256 for name in names)
        earlier, later = _select_remaining(gates, spec, same=same)
        own = (gate.model_copy(update={"gate": f"{spec.name}:{gate.gate}"}) for gate in made.gates)
        found = chain(earlier, own, later)
        writer.add(GATES, (gate for gate in found if gate.unit_id not in gone or gate.outcome is GateOutcome.DROPPED))
    return counts


def _select_remaining(
    gates: Rows[GateResult], spec: StepSpec, *, same: bool
) -> tuple[Sequence[GateResult], Sequence[GateResult]]:
    """The gate results that stay: those of steps before one, and those of steps after it, in the order of the steps."""
    by_step = KeyIndex(
        (step, place)
        for place, gate in enumerate(gates.raw())
        if (step := gate["gate"].split(":")[0]) != spec.name and (same or step == SHEET_STEP or _remains(gate, spec))
    )
    at = STEPS.index(spec.name)
    # What people said about turns stays; it is dropped where it is read, if the turns have other words by then.
    parts = STEPS[:at], (*STEPS[at:], SHEET_STEP)
    earlier, later = ([place for step in some for place in by_step.values(step)] for some in parts)
    return gates.at(earlier), gates.at(later)


def _of_others(benchmark: Benchmark, table: Table[Any]) -> Sequence[Any]:
    """Rows that no writer of ours wrote, for example imported ones. They stay."""
    return [] if table is GATES else benchmark.table(table).where(lambda row: not is_written(row))


def _refuse_identifiers_of_others(
    benchmark: Benchmark, made: StepResult, others: Mapping[Table[Any], Sequence[Any]]
) -> None:
    for table, rows in made.rows.items():
        if table.key is None or not others[table]:
            continue
        taken = {table.key(row) for row in others[table]}
        twice = next((table.key(row) for row in rows if table.key(row) in taken), None)
        if twice is not None:
            raise BenchmarkError(
                f"{benchmark.path} holds {table.name} {twice!r} of another stage; construct into a copy without it"
            )


def _remains(gate: Mapping[str, Any], spec: StepSpec) -> bool:
    """False for results of later steps about rows that are now rewritten."""
    found_by = gate["gate"].split(":")[0]
    return gate["unit"] != UNITS.get(spec.name) or STEPS.index(found_by) < STEPS.index(spec.name)


def _drop(benchmark: Benchmark, gone: set[str]) -> None:
    """Remove dialogues from their table. The manifest still names the step that wrote it."""
    entry = benchmark.manifest.files[DIALOGUES.file_name]
    rows = benchmark.table(DIALOGUES).where(lambda row: row["id"] not in gone)
    with benchmark.writing(stage=entry.stage, settings=entry.settings, parents=entry.parents) as writer:
        writer.add(DIALOGUES, rows)
