"""What is run again, what is not, and what happens when a step fails. Commands are stood in for by a function."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from reeltalk.errors import BenchmarkError, InputError, SettingError, UnusableError
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import VIDEOS
from reeltalk_build.project.records import RECORDS, Fingerprints, read_records
from reeltalk_build.project.running import Runner, StepChoice, choose_steps, step_statuses
from reeltalk_build.project.steps import ProjectStep, StepInput


def step(name: str, result: str, *reads: str, options: tuple[str, ...] = (), section: str = "") -> ProjectStep:
    given = tuple((word.removeprefix("--"), (word,)) for word in options)
    return ProjectStep(
        name, section or name, (name,), given, tuple(map(StepInput, reads)), result, "file", replaces=True
    )


ALL = StepChoice()
STOPPED = -2
"""Stands for a command that a model's useless replies stop."""


class Commands:
    """Copies what a step reads into its result, and counts what was run."""

    def __init__(self, folder: Path, steps: tuple[ProjectStep, ...]) -> None:
        self.ran: list[tuple[str, ...]] = []
        self.codes: dict[str, int] = {}
        self._folder, self._steps = folder, steps

    def __call__(self, arguments: Sequence[str]) -> int:
        self.ran.append(tuple(arguments))
        code = self.codes.get(arguments[0], 0)
        if code == -1:
            raise KeyboardInterrupt
        if code == STOPPED:
            raise UnusableError("the first 8 replies cannot be used:\nno")
        if code in (0, 1):
            made = next(step for step in self._steps if step.name == arguments[0])
            text = "".join(Path(read.path).read_text() for read in made.reads) + " ".join(arguments[1:2])
            Path(made.result).write_text(text.replace("--overwrite", ""))
        return code


class Bench:
    """A project of three steps in a row, on one source file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "source").write_text("one")
        self.steps: tuple[ProjectStep, ...] = (step("a", "A", "source"), step("b", "B", "A"), step("c", "C", "B"))
        self.version = "1"
        self.commands = Commands(folder, self.steps)
        self.said: list[str] = []

    def run(self, chosen: StepChoice = ALL) -> tuple[int, list[str]]:
        self.commands.ran.clear()
        self.commands._steps = self.steps
        code = Runner(self.folder, self.commands, self.said.append, version=self.version).run(self.steps, chosen)
        return code, [" ".join(arguments) for arguments in self.commands.ran]

    def kinds(self) -> list[str]:
        records = read_records(self.folder)
        prints = Fingerprints(self.folder, dict(records.files))
        return [found.kind for found in step_statuses(self.steps, records, prints, self.folder, self.version)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_second_run_runs_nothing(bench: Bench) -> None:
    assert bench.kinds() == ["new", "new", "new"]
    assert bench.run() == (0, ["a", "b", "c"])
    assert bench.run() == (0, [])
    assert bench.kinds() == ["done", "done", "done"]
    assert bench.said[-1] == "0 of 3 steps were run, 3 were done already"
    assert "$ reeltalk a" in bench.said


def test_a_command_that_useless_replies_stop_has_failed_and_ends_the_run_with_code_1(bench: Bench) -> None:
    bench.commands.codes["b"] = STOPPED
    assert bench.run() == (1, ["a", "b"])
    assert "the first 8 replies cannot be used: no" in bench.said
    assert bench.kinds() == ["done", "failed", "new"]
    bench.commands.codes.clear()
    assert bench.run() == (0, ["b", "c"])


def test_what_rests_on_a_changed_setting_runs_again_and_nothing_else(bench: Bench) -> None:
    bench.run()
    bench.steps = (bench.steps[0], step("b", "B", "A", options=("--more",)), bench.steps[2])
    assert bench.kinds() == ["done", "changed", "waits"]
    assert bench.run() == (0, ["b --more --overwrite", "c --overwrite"])
    assert "[2/3] b: now --more" in bench.said


def test_a_step_that_made_the_same_again_sets_off_nothing(bench: Bench) -> None:
    bench.run()
    bench.version = "2"
    (bench.folder / RECORDS).write_text(
        (bench.folder / RECORDS).read_text().replace('"version": "1"', '"version": "2"', 1)
    )
    bench.run()
    assert [a[0] for a in bench.commands.ran] == ["b", "c"]
    bench.run(StepChoice(force=("a",)))
    assert [a[0] for a in bench.commands.ran] == ["a"]


def test_a_source_that_changed_is_noticed_and_one_touched_is_not(bench: Bench) -> None:
    bench.run()
    os.utime(bench.folder / "source", (1, 1))
    assert bench.run() == (0, [])
    (bench.folder / "source").write_text("two")
    assert [a.split()[0] for a in bench.run()[1]] == ["a", "b", "c"]


def test_a_source_that_changed_while_it_was_read_is_read_again(bench: Bench) -> None:
    class Slow(Commands):
        def __call__(self, arguments: Sequence[str]) -> int:
            code = super().__call__(arguments)
            if arguments[0] == "a":
                Path("source").write_text("two")
            return code

    bench.commands = Slow(bench.folder, bench.steps)
    bench.run()
    assert bench.kinds() == ["changed", "waits", "waits"]


def test_a_result_that_is_gone_is_made_again(bench: Bench) -> None:
    bench.run()
    (bench.folder / "B").unlink()
    assert bench.run() == (0, ["b"])


def test_a_failing_step_stops_the_run_and_the_next_goes_on_there(bench: Bench) -> None:
    bench.commands.codes["b"] = 2
    assert bench.run() == (2, ["a", "b"])
    assert bench.said[-1] == (
        "b failed; 1 step is left after it; fix the problem above, then 'reeltalk run' continues from here"
    )
    assert bench.kinds() == ["done", "failed", "new"]
    bench.commands.codes.clear()
    assert bench.run() == (0, ["b", "c"])


@pytest.mark.parametrize("code", [130, -1], ids=["the command says so", "between commands"])
def test_an_interrupted_run_goes_on(bench: Bench, code: int) -> None:
    bench.commands.codes["b"] = code
    assert bench.run() == (130, ["a", "b"])
    assert bench.kinds() == ["done", "interrupted", "new"]
    bench.commands.codes.clear()
    assert bench.run() == (0, ["b", "c"])


def test_what_a_killed_step_left_is_gone_on_with_and_not_replaced(bench: Bench) -> None:
    bench.commands.codes["b"] = 130
    bench.run()
    # A part of a run: the folder is there, and not whole.
    half = ProjectStep("b", "b", ("b",), (), (StepInput("A"),), "B", "run", replaces=True)
    (bench.folder / "B").mkdir()
    bench.steps = (bench.steps[0], half)
    assert bench.run()[1] == ["b"]
    # Begun with another setting, it cannot be gone on with.
    changed = ProjectStep("b", "b", ("b",), (("x", ("--x",)),), (StepInput("A"),), "B", "run", replaces=True)
    bench.steps = (bench.steps[0], changed)
    assert bench.run()[1] == ["b --x --overwrite"]


def test_what_someone_else_wrote_is_not_replaced_without_being_told_to(bench: Bench) -> None:
    (bench.folder / "B").write_text("mine")
    assert bench.run()[1] == ["a", "b", "c"]
    (bench.folder / RECORDS).unlink()
    assert bench.run(StepChoice(force=("b",)))[1] == ["a", "b --overwrite", "c"]


def test_findings_do_not_stop_the_run_and_are_not_forgotten(bench: Bench) -> None:
    bench.commands.codes["b"] = 1
    assert bench.run() == (1, ["a", "b", "c"])
    assert bench.run() == (1, [])
    assert bench.said[-1] == "0 of 3 steps were run, 3 were done already; findings in b"


def test_steps_are_chosen_by_name_or_section(bench: Bench) -> None:
    steps = (*bench.steps, step("d:x", "D", section="d"), step("d:y", "E", section="d"))
    assert [s.name for s in choose_steps(steps, StepChoice(only=("d",)))] == ["d:x", "d:y"]
    assert [s.name for s in choose_steps(steps, StepChoice(only=("a", "d:y")))] == ["a", "d:y"]
    assert [s.name for s in choose_steps(steps, StepChoice(since="c"))] == ["c", "d:x", "d:y"]
    with pytest.raises(SettingError, match=r"--force e: the project has no such step; it has a, b, c"):
        choose_steps(steps, StepChoice(force=("e",)))
    for left_out in (
        StepChoice(only=("a",), since="c"),
        StepChoice(only=("c",), force=("a",)),
        StepChoice(since="c", force=("b",)),
    ):
        with pytest.raises(SettingError, match="other options leave that step out"):
            choose_steps(steps, left_out)


def test_a_damaged_memory_is_said(bench: Bench) -> None:
    bench.run()
    (bench.folder / RECORDS).write_text('{"steps": 3}')
    with pytest.raises(InputError, match="the stored state of the project cannot be read"):
        bench.run()


def filmed(folder: Path, duration_s: float, stage: str = "world film") -> None:
    benchmark = Benchmark.create(folder)
    with benchmark.writing(stage=stage) as writer:
        video = Video.model_validate({"id": "v", "sha256": "0" * 64, "duration_s": duration_s, "frame_rate": "5"})
        writer.add(VIDEOS, [video])


def film(*options: str) -> ProjectStep:
    given = tuple((word.removeprefix("--"), (word,)) for word in options)
    return ProjectStep("film", "film", ("film",), given, (), "bench", "benchmark", replaces=False)


def test_a_benchmark_is_set_aside_before_another_is_begun(tmp_path: Path) -> None:
    def run_command(arguments: Sequence[str]) -> int:
        filmed(Path("bench"), float(len(arguments)))
        return 0

    runner = Runner(tmp_path, run_command, lambda line: None, version="1")
    assert runner.run((film(),), StepChoice()) == 0
    (tmp_path / "bench/.work").mkdir(exist_ok=True)
    (tmp_path / "bench/.work/replies").write_text("paid for")
    before = Benchmark.open(tmp_path / "bench").manifest.content_hash
    assert runner.run((film("--x"),), StepChoice()) == 0
    assert Benchmark.open(tmp_path / "bench.before-1").manifest.content_hash == before
    assert Benchmark.open(tmp_path / "bench").manifest.content_hash != before
    assert (tmp_path / "bench/.work/replies").read_text() == "paid for"


def test_tables_that_a_command_writes_anew_itself_are_not_set_aside(tmp_path: Path) -> None:
    def run_command(arguments: Sequence[str]) -> int:
        filmed(Path("bench"), float(len(arguments)), "curate")
        return 0

    def curate(*options: str) -> ProjectStep:
        given = tuple((word.removeprefix("--"), (word,)) for word in options)
        return ProjectStep("curate", "curate", ("curate",), given, (), "bench", "benchmark", replaces=False)

    runner = Runner(tmp_path, run_command, lambda line: None, version="1")
    assert runner.run((curate(),), StepChoice()) == 0
    assert runner.run((curate("--x"),), StepChoice()) == 0
    assert not (tmp_path / "bench.before-1").exists()
    assert runner.run((curate("--x"),), StepChoice(force=("curate",))) == 0
    assert (tmp_path / "bench.before-1").exists()


def test_what_people_reviewed_is_not_begun_anew_unless_forced(tmp_path: Path) -> None:
    def run_command(arguments: Sequence[str]) -> int:
        filmed(Path("bench"), 1.0, "review apply")
        return 0

    runner = Runner(tmp_path, run_command, lambda line: None, version="1")
    assert runner.run((film(),), StepChoice()) == 0
    with pytest.raises(BenchmarkError, match="holds reviewed work"):
        runner.run((film("--x"),), StepChoice())
    assert runner.run((film("--x"),), StepChoice(force=("film",))) == 0
    assert (tmp_path / "bench.before-1/manifest.json").is_file()
