"""References are right by every judge without a model, in every mode, also after jumps; yes alone is seldom right."""

import json
import shutil
from pathlib import Path

import pytest
from page_world import World

from reeltalk.evaluation.settings import FrameSettings, PlaySettings
from reeltalk.judge.protocol import protocols
from reeltalk.judge.settings import JudgeSettings
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.runs import SummaryRow
from reeltalk.stages import evaluate
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES
from reeltalk.store.validate import accept
from reeltalk_household.questions.asking import write_question_dialogues

UNSEEN = FrameSettings(policy="none")
MODES = {
    "dialogue": PlaySettings(frames=UNSEEN, split="all"),
    "single": PlaySettings(mode="single", history="none", frames=UNSEEN, split="all"),
    "streaming": PlaySettings(mode="streaming", frames=UNSEEN, split="all"),
    "other jumps": PlaySettings(mode="streaming", frames=UNSEEN, split="all", rejump=5),
}
OFTEN = ("dialogue", "streaming")


@pytest.fixture(scope="module")
def benchmark(world: World, tmp_path_factory: pytest.TempPathFactory, full: bool) -> Benchmark:
    """Chains with paths, dialogues of six tasks, and dialogues whose questions have options."""
    number = 12 if full else 2
    folder = tmp_path_factory.mktemp("references") / "told"
    shutil.copytree(world.made(f"told/{number}"), folder)
    write_question_dialogues(Benchmark.open(folder), per_video=2, turns=12, seed=3)
    with_options = list(Benchmark.open(folder).read(DIALOGUES))
    other = tmp_path_factory.mktemp("tasks") / "told"
    shutil.copytree(world.made(f"written/{number}"), other)
    opened = Benchmark.open(other)
    tasks = list(opened.read(DIALOGUES))
    with opened.writing(stage="test") as writer:
        writer.add(DIALOGUES, [*tasks, *with_options])
    return Benchmark.open(other)


def by_rule() -> tuple[str, ...]:
    return tuple(name for name, protocol in protocols().items() if not protocol.needs_model)


def judged(benchmark: Benchmark, model: str, mode: str, out: Path) -> dict[str, SummaryRow]:
    # Turns of chains and paths have keys, so these judges have nothing to judge there.
    names = [name for name in by_rule() if MODES[mode].mode != "streaming" or name not in ("choice", "cogme", "match")]
    judging = JudgeSettings(protocols=tuple(names), metrics=())
    done = evaluate(benchmark, model=model, out=out, play=MODES[mode], judging=judging)
    name = done.run.info.models[0].model
    return {row.metric: row for row in done.run.summary if row.model == name}


def test_every_rule_is_tried() -> None:
    assert {"typed", "choice", "match", "rubric-words", "cogme"} <= set(by_rule())


@pytest.mark.parametrize("mode", [pytest.param(one, marks=() if one in OFTEN else pytest.mark.slow) for one in MODES])
def test_references_are_right_in_every_mode(benchmark: Benchmark, mode: str, tmp_path: Path) -> None:
    reference = judged(benchmark, "baseline:reference", mode, tmp_path / "reference")
    measures = {protocols()[name].measures[0].name for name in by_rule()}
    scored = {metric: row for metric, row in reference.items() if metric in measures and row.n}
    # CogME's profile is withheld where some turns have no options; those that have are all right.
    values = {metric: row.over_scored if row.value is None else row.value for metric, row in scored.items()}
    assert values == dict.fromkeys(scored, 100.0)
    streaming = MODES[mode].mode == "streaming"
    assert set(scored) >= ({"typed", "rubric-words"} if streaming else measures)
    always_yes = judged(benchmark, "baseline:yes", mode, tmp_path / "yes")["typed"]
    assert always_yes.n == reference["typed"].n, "the same turns for every model"
    assert (always_yes.value or 0.0) <= 25.0


def test_nearly_all_turns_that_a_graph_wrote_have_keys(benchmark: Benchmark) -> None:
    units: list[QAChain | Dialogue] = [*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)]
    turns = [turn for unit in units for turn in unit.turns]
    about_facts = [turn for turn in turns if "answer_key" in turn.extra]
    assert len(about_facts) > 0.8 * len(turns)
    assert all(turn.key is not None for turn in about_facts)


def test_an_edited_graph_or_key_gives_another_signature(benchmark: Benchmark, tmp_path: Path) -> None:
    def signed(bench: Path, model: str) -> str:
        play = MODES["dialogue"].model_copy(update={"units": ("chain",)})
        out = tmp_path / f"{bench.name}-{model.replace(':', '-')}"
        judging = JudgeSettings(protocols=("typed",), metrics=())
        done = evaluate(Benchmark.open(bench), model=model, out=out, play=play, judging=judging)
        (row,) = [r for r in done.run.summary if r.metric == "typed" and r.model == done.run.info.models[0].model]
        return row.signature

    shutil.copytree(benchmark.path, tmp_path / "graph")
    for graph in (tmp_path / "graph" / "graphs").iterdir():
        text = graph.read_text(encoding="utf-8")
        graph.write_text(text + text.splitlines(keepends=True)[-1], encoding="utf-8")
    shutil.copytree(benchmark.path, tmp_path / "key")
    chains = tmp_path / "key" / "chains.jsonl"
    rows = [json.loads(line) for line in chains.read_text(encoding="utf-8").splitlines()]
    turn = next(turn for row in rows for turn in row["turns"] if turn.get("key"))
    turn["key"]["values"] = ["something else"]
    chains.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    for edited in ("graph", "key"):
        accept(tmp_path / edited)
    before = {model: signed(benchmark.path, model) for model in ("oracle", "baseline:yes")}
    assert signed(tmp_path / "graph", "oracle") != before["oracle"]
    assert signed(tmp_path / "graph", "baseline:yes") == before["baseline:yes"], "it reads no graph"
    assert signed(tmp_path / "key", "baseline:yes") != before["baseline:yes"]
