"""A project file is read strictly: what cannot be used is refused with file, line and key."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reeltalk.errors import InputError
from reeltalk_build.cli.projects import section_commands
from reeltalk_build.project.reading import ProjectFile, read_project
from reeltalk_build.project.sections import CommandSpec
from reeltalk_build.project.steps import steps_of_project

Read = Callable[[str], ProjectFile]


@pytest.fixture(scope="module")
def commands() -> dict[str, CommandSpec]:
    return section_commands()


@pytest.fixture
def read(tmp_path: Path, commands: dict[str, CommandSpec]) -> Read:
    def read_text(text: str) -> ProjectFile:
        file = tmp_path / "project.yaml"
        file.write_text(text, encoding="utf-8")
        return read_project(file, commands)

    return read_text


REFUSED = {
    "a typo": ("benchmark: b\nfilm:\n  scenarois: 3\n", 3, "did you mean 'scenarios'"),
    "a section that is none": ("benchmark: b\nfilms: {}\n", 2, "did you mean 'film'"),
    "a key twice": (
        "benchmark: b\nfilm:\n  seed: 1\n  fps: 5\n  seed: 2\n",
        5,
        "'film.seed' appears twice, first on line 3",
    ),
    "a section twice": ("film: {}\nbenchmark: b\nfilm: {}\n", 3, "appears twice, first on line 1"),
    "text for a number": ("benchmark: b\nfilm:\n  scenarios: many\n", 3, "valid integer"),
    "a quoted number": ("benchmark: b\nfilm:\n  scenarios: '3'\n", 3, "valid integer"),
    "yes for a number": ("benchmark: b\nfilm:\n  scenarios: yes\n", 3, "valid integer"),
    "below its bound": ("benchmark: b\nfilm:\n  scenarios: 0\n", 3, "greater than or equal to 1"),
    "not a number": ("benchmark: b\nfilm:\n  boxes_fps: .nan\n", 3, "not a possible value of a setting"),
    "an unknown word": ("benchmark: b\nfilm:\n  view: sideways\n", 3, "'mixed', 'switching' or 'fixed'"),
    "settings at odds": ("benchmark: b\nconstruct:\n  max_turns: 2\n", 3, "--max-turns 2 is less than"),
    "a list's part": ("benchmark: b\nconstruct:\n  steps:\n    - chains\n    - chins\n", 5, "construct.steps.1"),
    "a date": ("benchmark: b\nrelease:\n  version: 2026-11-22\n", 3, "put it in quotes"),
    "a version that is a number": ("benchmark: b\nrelease:\n  version: 1.0\n", 3, "valid string"),
    "an impossible date": ("benchmark: b\nrelease:\n  version: 2026-13-45\n", 3, "put it in quotes"),
    "an anchor": ("benchmark: &b x\nimport: {format: *b, source: x}\n", 2, "anchors and aliases"),
    "a program": ("benchmark: !!python/object/apply:os.system [ls]\n", 1, "not YAML"),
    "no YAML": ("benchmark: b]\nfilm: }\n", 2, "not YAML"),
    "a list that is not closed": ("benchmark: b\nfilm:\n  x: [a, b\nreport:\n", 3, "while parsing a flow sequence"),
    "a mapping that is not closed": ("benchmark: b\nfilm: {seed: 1\nreport:\n  media: link\n", 2, "a flow mapping"),
    "a quote that is not closed": ('benchmark: "b\nfilm:\n  seed: 1\n', 1, "while scanning a quoted scalar"),
    "two documents": ("benchmark: b\n---\nbenchmark: c\n", 2, "not YAML"),
    "a list": ("- benchmark\n", None, "as 'key: value'"),
    "a number without end": (f"benchmark: {'9' * 5000}\n", None, "cannot be read"),
    "depth without end": (f"benchmark: {'[' * 700}\n", None, "too deep"),
    "nothing": ("", None, "as 'key: value'"),
    "a key that is no word": ("benchmark: b\nno: 3\n", 2, "a key must be a word"),
    "no benchmark": ("film: {}\n", None, "folder of the benchmark is missing"),
    "two beginnings": ("benchmark: b\nfilm: {}\ncurate: {videos: [raw]}\n", 3, "film and curate"),
    "what must be given": ("benchmark: b\nimport: {format: vdact}\n", 2, "'import.source' is missing"),
    "nothing to curate": ("benchmark: b\ncurate: {videos: []}\n", 2, "'curate.videos' is missing"),
    "what the project fills in": ("benchmark: b\nfilm:\n  into: elsewhere\n", 3, "'film' has no 'into'"),
    "no model": ("benchmark: b\nevaluate: {}\n", 2, "names no model"),
    "a model without one": ("benchmark: b\nevaluate:\n  models:\n    mine: {limit: 3}\n", 4, "model' is missing"),
    "a model's name": ("benchmark: b\nevaluate:\n  models:\n    ../x: oracle\n", 4, "letters, digits"),
    "a mode twice": ("benchmark: b\nevaluate:\n  mode: [single, single]\n  models: {a: oracle}\n", 3, "a mode appears"),
    "a section that is a word": ("benchmark: b\nfilm: yes please\n", 2, "settings are expected"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused_with_its_line(read: Read, case: str) -> None:
    text, line, said = REFUSED[case]
    with pytest.raises(InputError) as caught:
        read(text)
    assert said in str(caught.value)
    assert caught.value.line == line
    assert "project.yaml" in str(caught.value)


@pytest.mark.parametrize("line", ["api_key: sk-12345", "api_key_env: sk-12345", "judge_api_key_env: sk-12345"])
def test_a_key_in_the_file_is_refused_and_not_shown(read: Read, line: str) -> None:
    with pytest.raises(InputError, match="never") as caught:
        read(f"benchmark: b\nevaluate:\n  models:\n    mine:\n      model: gpt\n      {line}\n")
    assert caught.value.line == 6
    assert "sk-12345" not in str(caught.value)


def test_each_step_is_the_command_line_that_a_person_would_type(read: Read, commands: dict[str, CommandSpec]) -> None:
    project = read(
        "benchmark: benchmarks/k/\nworkers: 3\nfilm: {scenarios: 4, labels: true, seed: 7}\n"
        "construct: {steps: [chains, paths]}\n"
        "evaluate:\n  frames: 8\n  mode: [dialogue, streaming]\n  models:\n    blind: baseline:blind\n"
        "    mine: {model: qwen, base_url: 'http://localhost:1/v1', mode: single, prompt: -own.md}\n"
        "judge: {protocols: [clair], judge: gpt}\ncompare: {format: csv}\nreport: {media: cut}\n"
        "release: {version: '1.0'}\n"
    )
    steps = {step.name: step for step in steps_of_project(project, commands)}
    assert list(steps) == [
        *("film", "construct", "evaluate:blind-dialogue", "evaluate:blind-streaming", "evaluate:mine"),
        *("judge:blind-dialogue", "judge:blind-streaming", "judge:mine", "compare", "report", "release"),
    ]
    typed = {name: " ".join(step.arguments) for name, step in steps.items()}
    # What equals the default is not typed.
    assert typed["film"] == "world film --into benchmarks/k --workers 3 --scenarios 4 --labels"
    assert typed["construct"] == "construct benchmarks/k --steps chains --steps paths --workers 3"
    assert typed["evaluate:blind-streaming"] == (
        "evaluate benchmarks/k --model baseline:blind --out runs/blind-streaming --workers 3 --mode streaming "
        "--frames 8 --replies runs/replies.sqlite"
    )
    assert "--mode single --prompt=-own.md --frames 8 --base-url http://localhost:1/v1" in typed["evaluate:mine"]
    assert typed["judge:mine"].startswith("judge runs/mine --out runs/mine-judged --protocols clair --judge gpt")
    judged = "runs/blind-dialogue-judged runs/blind-streaming-judged runs/mine-judged"
    assert typed["compare"] == f"compare {judged} --format csv --out comparison.csv"
    assert typed["report"] == f"report {judged} --out report --bench benchmarks/k --media cut --workers 3"
    assert typed["release"] == "freeze benchmarks/k releases/1.0 --version 1.0"


def test_players_of_streams_are_steps_with_a_report_of_their_own(read: Read, commands: dict[str, CommandSpec]) -> None:
    project = read(
        "benchmark: b\nreport: {media: cut}\n"
        "proactive:\n  fps: 2\n  models:\n    silence: never\n    mine: {model: 'poll:qwen', fps: 1}\n"
    )
    typed = {step.name: " ".join(step.arguments) for step in steps_of_project(project, commands)}
    kept = "--replies runs/replies.sqlite"
    assert typed == {
        "proactive:silence": f"proactive run b --model never --out streams/silence --fps 2.0 {kept}",
        "proactive:mine": f"proactive run b --model poll:qwen --out streams/mine {kept}",
        "report": "report b --out report --media cut",
        "report:streams": "report streams/silence streams/mine --out streams-report --bench b",
    }
    with pytest.raises(InputError, match="'proactive' names no model"):
        read("benchmark: b\nproactive: {fps: 1}\n")


def test_a_setting_wins_over_a_preset_also_where_it_is_the_default(
    read: Read, commands: dict[str, CommandSpec]
) -> None:
    def typed(settings: str) -> str:
        steps = steps_of_project(read(f"benchmark: b\ncurate: {{videos: [raw], {settings}}}\n"), commands)
        return " ".join(steps[0].arguments)

    assert typed("min_shots: 5") == "curate raw --into b"
    assert typed("preset: static-camera, min_shots: 5") == "curate raw --into b --preset static-camera --min-shots 5"


def test_what_does_not_move_a_result_does_not_decide(read: Read, commands: dict[str, CommandSpec]) -> None:
    def decides(settings: str) -> tuple[str, ...]:
        text = f"benchmark: b\nevaluate:\n  models:\n    mine: {{model: qwen, {settings}}}\n"
        return steps_of_project(read(text), commands)[0].decides

    assert decides("workers: 7, connections: 2, max_calls: 9, base_url: 'http://b/v1'") == decides("")
    assert decides("frames: 9") != decides("")


def test_a_shared_setting_is_left_out_for_a_model_on_which_it_has_no_effect(
    read: Read, commands: dict[str, CommandSpec]
) -> None:
    project = read(
        "benchmark: b\nevaluate:\n  temperature: 0.5\n  memory: bounded\n  first_token: true\n"
        "  models: {words: 'baseline:blind', small: mini, asked: qwen, mine: {model: 'oracle', temperature: 1}}\n"
    )
    typed = {step.name: " ".join(step.arguments) for step in steps_of_project(project, commands)}
    assert "--temperature" not in typed["evaluate:words"] + typed["evaluate:small"]
    assert "--memory bounded" in typed["evaluate:small"]
    assert "--temperature 0.5" in typed["evaluate:asked"]
    assert "--memory" not in typed["evaluate:asked"]
    # What a model's own settings say is passed on, and refused by the command.
    assert "--temperature 1" in typed["evaluate:mine"]


def test_pictures_and_a_judge_that_models_share_are_left_out_for_those_that_have_none(
    read: Read, commands: dict[str, CommandSpec]
) -> None:
    project = read(
        "benchmark: b\nevaluate:\n  frames: 8\n  longest_side: 64\n  protocols: [clair]\n  judge: gpt\n"
        "  judge_base_url: http://localhost:1/v1\n"
        "  models: {asked: qwen, unseen: {model: qwen, policy: none}, ruled: {model: qwen, protocols: [match, auto]}}\n"
    )
    typed = {step.name: " ".join(step.arguments) for step in steps_of_project(project, commands)}
    assert "--frames 8" in typed["evaluate:asked"]
    assert "--judge gpt" in typed["evaluate:asked"]
    assert "--frames" not in typed["evaluate:unseen"]
    assert "--longest-side" not in typed["evaluate:unseen"]
    assert "--judge gpt" in typed["evaluate:unseen"]
    assert "--frames 8" in typed["evaluate:ruled"]
    assert "--judge" not in typed["evaluate:ruled"]


def test_files_that_settings_name_are_read(read: Read, commands: dict[str, CommandSpec], tmp_path: Path) -> None:
    (tmp_path / "ask.md").write_text("Ask.", encoding="utf-8")
    (tmp_path / "answers").mkdir()
    (tmp_path / "own.py").write_text("", encoding="utf-8")
    project = read(
        "benchmark: b\ncurate: {videos: [raw, one.mp4]}\nconstruct: {balance: tags, targets: shares.toml}\n"
        "evaluate: {prompt: ask.md, models: {theirs: 'answers:answers', gone: 'answers:nowhere', asked: qwen}}\n"
        "judge: {metrics: 'bleu,python:own.py:length'}\n"
    )
    found = {step.name: [read.path for read in step.reads] for step in steps_of_project(project, commands)}
    assert found == {
        "curate": ["raw", "one.mp4"],
        "construct": ["b", "shares.toml"],
        "evaluate:theirs": ["b", "answers"],
        "evaluate:gone": ["b"],
        "evaluate:asked": ["b", "ask.md"],
        "judge:theirs": ["runs/theirs", "b", "own.py"],
        "judge:gone": ["runs/gone", "b", "own.py"],
        "judge:asked": ["runs/asked", "b", "own.py"],
    }


def test_two_steps_never_write_one_folder(read: Read, commands: dict[str, CommandSpec]) -> None:
    text = (
        "benchmark: b\nevaluate:\n  models:\n    a: {model: oracle, mode: [single, dialogue]}\n    a-single: oracle\n"
        "report: {}\n"
    )
    with pytest.raises(InputError, match=r"evaluate:a-single and evaluate:a-single would both write runs/a-single"):
        steps_of_project(read(text), commands)
    text = "benchmark: runs/a\nevaluate:\n  models: {a: oracle}\n"
    with pytest.raises(InputError, match="the benchmark and evaluate:a would both write runs/a"):
        steps_of_project(read(text), commands)
