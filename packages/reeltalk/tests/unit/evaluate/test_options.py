"""Every option made from a setting of a run is listed here with a value, and changes what the run asks for."""

from pathlib import Path
from typing import Any, Final

import pytest

from reeltalk.cli.evaluation_options import JudgeOptions, PlayOptions, RetryOptions, judge_settings, play_settings
from reeltalk.evaluate.settings import CHANGEABLE, RunConfig
from reeltalk.evaluate.signing import run_request

PLAYING: Final[dict[str, dict[str, Any]]] = {
    "mode": {"mode": "streaming"},
    "history": {"history": "predicted"},
    "corrupt_turn": {"history": "corrupted", "corrupt_turn": 2},
    "units": {"units": ("chain",)},
    "split": {"split": "dev"},
    "tasks": {"tasks": ("tool",)},
    "rounds": {"rounds": "mt-video-bench"},
    "rejump": {"mode": "streaming", "rejump": 3},
    "prompt": {"prompt": "svbench"},
    "answer_style": {"answer_style": "short"},
    "frame_times": {"frame_times": "yes"},
    "option_order": {"option_order": "shuffled"},
    "subtitles": {"subtitles": True},
    "seed": {"seed": 5},
    "policy": {"policy": "per-clip"},
    "frames": {"frames": 3},
    "fps": {"policy": "fps", "fps": 2.0},
    "longest_side": {"longest_side": 100},
    "square": {"square": 100},
}
JUDGING: Final[dict[str, dict[str, Any]]] = {
    "protocols": {"protocols": ("match",)},
    "metrics": {"metrics": ("rouge_l",)},
    "compat": {"compat": True},
    "prompts": {"protocols": ("vdeval",), "prompts": "own"},
    "published": {"published": True},
    "judge_history": {"protocols": ("vdeval",), "judge_history": "none"},
    "judge_summary": {"protocols": ("vdeval",), "judge_summary": "none"},
    "judge_shots": {"protocols": ("vdeval",), "judge_shots": 0},
    "eval_rounds": {"protocols": ("checklist",), "eval_rounds": 1},
    "checklist_version": {"protocols": ("checklist",), "checklist_version": "v1"},
    "null_units": {"null_units": 0},
    "language": {"language": "zh"},
}
"""Options with a value, and with the options that they need."""


def asked(play: dict[str, Any], judging: dict[str, Any]) -> dict[str, Any]:
    config = RunConfig(
        model="tiny",
        play=play_settings(PlayOptions.model_validate(play), None),
        judging=judge_settings(JudgeOptions.model_validate(judging), None),
    )
    return run_request(config, "0" * 64, None)


def test_every_option_is_listed() -> None:
    assert list(PlayOptions.model_fields) == list(PLAYING)
    assert list(JudgeOptions.model_fields) == list(JUDGING)
    assert tuple(RetryOptions.model_fields) == CHANGEABLE


@pytest.mark.parametrize("option", PLAYING)
def test_an_option_of_playing_changes_the_request(option: str) -> None:
    given = PLAYING[option]
    without = {name: value for name, value in given.items() if name != option}
    assert asked(given, {}) != asked(without, {})


@pytest.mark.parametrize("option", JUDGING)
def test_an_option_of_judging_changes_the_request(option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "vdeval.md").write_text("Judge.")
    given = JUDGING[option]
    without = {name: value for name, value in given.items() if name != option}
    assert asked({}, given) != asked({}, without)
