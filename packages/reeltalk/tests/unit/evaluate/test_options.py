"""Every option made from a setting of a run is listed here with a value, and changes what the run asks for.

The others change how a model is asked, or which part of a benchmark is read, and say so.
"""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from reeltalk.cli.evaluation_options import JudgeOptions, PlayOptions, RetryOptions, judge_settings, play_settings
from reeltalk.errors import SettingError
from reeltalk.evaluation.checks import check_run
from reeltalk.evaluation.presets import PRESETS
from reeltalk.evaluation.settings import CHANGEABLE, ModelSettings, RunConfig
from reeltalk.evaluation.signing import run_request

PLAYING: Final[dict[str, dict[str, Any]]] = {
    "mode": {"mode": "streaming"},
    "history": {"history": "predicted"},
    "corrupt_turn": {"history": "corrupted", "corrupt_turn": 2},
    "units": {"units": ("chain",)},
    "split": {"split": "dev"},
    "tasks": {"tasks": ("tool",)},
    "only": {"only": "all"},
    "rounds": {"rounds": "mt-video-bench"},
    "rejump": {"mode": "streaming", "rejump": 3},
    "epochs": {"epochs": 3},
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


ASKING: Final[dict[str, Any]] = {
    "sees": "text", "temperature": 0.5, "reasoning_effort": "low", "max_reply_tokens": 9, "memory": "bounded",
    "memory_frames": 8, "first_token": True, "batch": True, "image_tokens": 9,
}  # fmt: skip
"""Fields of `ModelSettings` that change the request."""
UNASKED: Final = {"base_url", "api_key_env", "price_in", "price_out"}
"""Where a model is asked, and for how much: another address is the same run."""
OTHERS: Final[dict[str, Any]] = {"model": "other", "limit": 3}
ABOUT_HOW: Final = {"answers_format", "skip_missing", "workers", "controls", "limits"}
"""Fields of `RunConfig` that change no request of a dialogue: how a file is read, how many run at a time, which more
runs there are."""


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


def test_every_setting_changes_the_request_or_says_why_not() -> None:
    parts = {"play", "judging", "asking", "judge_model", "preset"}
    assert set(RunConfig.model_fields) == {*OTHERS, *ABOUT_HOW, *parts}
    assert set(ModelSettings.model_fields) == {*ASKING, *UNASKED}
    plain = run_request(RunConfig(model="tiny"), "0" * 64, None)
    for name, value in OTHERS.items():
        assert run_request(RunConfig.model_validate({"model": "tiny", name: value}), "0" * 64, None) != plain, name
    for name, value in ASKING.items():
        config = RunConfig(model="tiny", asking=ModelSettings.model_validate({name: value}))
        assert run_request(config, "0" * 64, None) != plain, name


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"play": {"frames": {"fps": 2.0}}}, "--fps has no effect with --policy uniform"),
        ({"play": {"frames": {"policy": "none", "frames": 4}}}, "--frames has no effect with --policy none"),
        ({"play": {"frames": {"square_px": 64, "longest_side_px": 64}}}, "--square sets both sides"),
        ({"play": {"corrupt_turn": 2}}, "--corrupt-turn is for --history corrupted"),
        ({"judging": {"judge_shots": 0}}, "--judge-shots is for --protocols vdeval"),
        ({"judging": {"language": "zh"}}, "--language has no effect with --metrics none"),
        ({"judging": {"metrics": ["blue"]}}, "blue"),
        ({"judging": {"protocols": ["vdeval"]}}, "vdeval needs a model that judges"),
        ({"judging": {"protocols": ["match"]}, "judge_model": {"judge": "tiny"}}, "the protocols match ask no model"),
        ({"asking": {"base_url": "http://localhost:8000/v1"}}, "--base-url has no effect on oracle"),
    ],
)
def test_a_setting_without_effect_is_refused_in_python_as_on_the_command_line(
    settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(SettingError, match=re.escape(said)):
        check_run(RunConfig.model_validate({"model": "oracle", **settings}))


def test_the_settings_of_a_design_are_no_settings_without_effect() -> None:
    for design in PRESETS.values():
        config = RunConfig(model="oracle", preset=design)
        judging = config.judging.model_copy(update={"protocols": ("match",)})
        check_run(config.model_copy(update={"judging": judging}))
