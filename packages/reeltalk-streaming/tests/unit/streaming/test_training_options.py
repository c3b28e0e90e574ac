"""Every option of `train` changes what is trained or written, or is refused where it has no effect.

The page *Options and models* shows the table that is tested here. The full counts play every option; otherwise the
refusals are tried.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from places import ROOT

pytest.importorskip("peft", reason="the train extra is not installed")

from tiny_architectures import save_dialogues, save_tiny

from reeltalk.cli import run
from reeltalk.schema.sft import TRAINING_NEEDS
from reeltalk_build.cli.projects import command_of

LORA: Final[Mapping[str, tuple[str, ...]]] = {
    "validation": ("--validation", "HELD_OUT"),
    "overwrite": ("--overwrite",),
    "rank": ("--rank", "2"),
    "dropout": ("--dropout", "0.5"),
    "train_projector": ("--no-train-projector",),
    "learning_rate": ("--learning-rate", "0.1"),
    "warmup": ("--warmup", "0.9"),
    "weight_decay": ("--weight-decay", "0.9"),
    "clip": ("--clip", "0.001"),
    "epochs": ("--epochs", "3"),
    "max_steps": ("--max-steps", "2"),
    "accumulate": ("--accumulate", "1"),
    "system": ("--system", "Be brief."),
    "frame_tokens": ("--frame-tokens", "3"),
    "max_tokens": ("--max-tokens", "16"),
    "over_budget": ("--over-budget", "skip"),
    "precision": ("--precision", "bfloat16"),
    "save_every": ("--save-every", "1"),
    "validate_every": ("--validate-every", "1"),
    "patience": ("--patience", "1"),
    "seed": ("--seed", "18"),
    "frames": ("--frames", "ELSEWHERE"),
}
MINI: Final[Mapping[str, tuple[str, ...]]] = {
    "seed": ("--seed", "18"),
    "share": ("--share", "0.0004"),
    "eye_steps": ("--eye-steps", "2"),
    "speech_steps": ("--speech-steps", "2"),
    "frames": ("--frames", "SHARED"),
}
"""Options, each with a value that is not its default."""
SHORT: Final = ("--max-steps", "3")
BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "epochs": (),
    "over_budget": ("--max-tokens", "40"),
    "validate_every": ("--validation", "HELD_OUT", *SHORT),
    "patience": ("--validation", "HELD_OUT", *SHORT, "--validate-every", "1", "--learning-rate", "0.2"),
}
"""What is given with an option and without it; three steps for the others."""
ELSEWHERE: Final[Mapping[str, str]] = {
    "data": "packages/reeltalk-streaming/tests/unit/streaming/test_lora_training.py",
    "base": "packages/reeltalk-streaming/tests/unit/streaming/test_lora_training.py",
    "adapter": "packages/reeltalk-streaming/tests/unit/streaming/test_lora_training.py",
    "out": "packages/reeltalk-streaming/tests/unit/streaming/test_lora_training.py",
    "bench": "tests/unit/test_cli_commands.py",
    "cpu": "packages/reeltalk-streaming/tests/unit/streaming/test_lora_training.py",
    "gradient_checkpointing": "packages/reeltalk-streaming/tests/unit/streaming/test_lora_training.py",
    "threads": "packages/reeltalk-household/tests/unit/streaming/test_mini_training.py",
}
"""Options whose effect another test shows: inputs, devices and memory."""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    folder = tmp_path_factory.mktemp("training")
    data = save_dialogues(folder / "dialogues")
    held_out = save_dialogues(folder / "held-out", count=3)
    shutil.copytree(data.parent, folder / "elsewhere")
    for picture in (folder / "elsewhere").glob("*.png"):
        shutil.copy(folder / "dialogues" / "red.png", picture)
    paths = {"DATA": data, "HELD_OUT": held_out, "ELSEWHERE": folder / "elsewhere"}
    return {name: str(path) for name, path in paths.items()} | {"BASE": str(save_tiny("internvl", folder / "tiny"))}


def trained(
    places: Mapping[str, str], out: Path, capsys: pytest.CaptureFixture[str], *more: str, before: bool = False
) -> dict[str, Any]:
    """Everything about a training that an option can change. With `before`, the run is there already."""
    found: dict[str, tuple[str, ...]] = {}
    words = [*more]
    starts = [place for place, word in enumerate(words) if word.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        found[words[start]] = tuple(words[start:end])
    given = [places.get(word, word) for part in found.values() for word in part]
    base = ("--base", places["BASE"], "--cpu", "--out", str(out))
    command = ["train", "lora", places["DATA"], *base, *given]
    if before:
        assert run([word for word in command if word != "--overwrite"]) == 0
    code = run(command)
    out_text, said = capsys.readouterr()
    if not (out / "run.json").is_file():
        return {"code": code, "said": said}
    rows = [json.loads(line) for line in (out / "loss.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = [{name: value for name, value in row.items() if name != "took_s"} for row in rows]
    checkpoints = sorted(path.name for path in (out / "checkpoints").iterdir())
    about = json.loads((out / "run.json").read_text(encoding="utf-8"))
    left = {name: about[name] for name in ("begun", "steps", "left_out", "stopped_early")}
    return {"code": code, "rows": kept, "checkpoints": checkpoints, "about": left, "printed": len(out_text.split())}


def test_every_option_is_tried_here_or_elsewhere() -> None:
    words = {"lora": ("train", "lora"), "mini": ("world", "train"), "merge": ("train", "merge")}
    known = {(name, option.key) for name, command in words.items() for option in command_of(command).options}
    tried = {("lora", key) for key in LORA} | {("mini", key) for key in MINI} | {("merge", "overwrite")}
    assert not [pair for pair in known - tried if pair[1] not in ELSEWHERE]
    assert tried <= known
    assert set(TRAINING_NEEDS) <= {key for _, key in known}
    for option, file in ELSEWHERE.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert option in text or f"--{option.replace('_', '-')}" in text, option


@pytest.mark.parametrize("option", LORA)
def test_an_option_of_an_adapter_changes_its_training(
    option: str, places: Mapping[str, str], full: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not full and option != "validate_every":
        pytest.skip("full counts: make test-full")
    usual = ("--accumulate", "2", "--frame-tokens", "6", "--warmup", "0.1")
    beside = (*usual, *BESIDE.get(option, SHORT))
    before = option == "overwrite"
    given = trained(places, tmp_path / "given", capsys, *beside, *LORA[option], before=before)
    assert given != trained(places, tmp_path / "usual", capsys, *beside, before=before)


@pytest.mark.parametrize("option", MINI)
def test_an_option_of_reeltalk_mini_changes_its_training(
    option: str, full: bool, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not full:
        pytest.skip("full counts: make test-full")
    filmed_household: Path = request.getfixturevalue("filmed_household")
    monkeypatch.chdir(tmp_path)
    found = []
    for name, value in (("given", MINI[option]), ("usual", ())):
        chosen = {"--eye-steps": "1", "--speech-steps": "1"}
        if option == "share":
            chosen.pop("--eye-steps")
            value = value or ("--share", "0.0002")
        words = [word for pair in chosen.items() for word in pair if pair[0] not in value]
        command = ["world", "train", str(filmed_household), "--out", str(tmp_path / name), *words, *value]
        assert run(command) == 0
        losses = [json.loads(line) for line in (tmp_path / name / "loss.jsonl").read_text().splitlines()]
        kept = [{key: value for key, value in row.items() if not key.endswith("_s")} for row in losses]
        found.append((kept, (tmp_path / "SHARED").is_dir() and option == "frames" and name == "given"))
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--patience", "2"), "--patience needs --validation"),
        (("--validate-every", "2"), "--validate-every has no effect without --validation"),
        (("--epochs", "2", "--max-steps", "3"), "--epochs has no effect with --max-steps"),
    ],
)
def test_an_option_without_effect_on_an_adapter_is_refused(
    given: tuple[str, ...], said: str, places: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "lora", places["DATA"], "--base", places["BASE"], "--out", str(tmp_path / "run"), *given]
    assert run(command) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_share_of_no_steps_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = ("--eye-steps", "1", "--speech-steps", "1", "--share", "0.5")
    assert run(["world", "train", str(tmp_path), "--out", str(tmp_path / "out"), *steps]) == 2
    assert "--share has no effect" in capsys.readouterr().err


def test_merging_replaces_only_what_it_is_told_to(
    places: Mapping[str, str], full: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not full:
        pytest.skip("full counts: make test-full")
    trained(places, tmp_path / "run", capsys, "--max-steps", "0", "--frame-tokens", "6")
    merge = ["train", "merge", str(tmp_path / "run" / "adapter"), "--out", str(tmp_path / "merged")]
    assert run(merge) == 0
    assert run(merge) == 2
    assert run([*merge, "--overwrite"]) == 0
