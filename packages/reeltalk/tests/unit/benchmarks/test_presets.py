"""Presets hold what the papers fix, and say where a run departs from it."""

from typing import Any

import pytest

from reeltalk.evaluation.playing.chat import answer_prompt
from reeltalk.evaluation.presets import PRESETS
from reeltalk.evaluation.settings import FREE, FrameSettings, PlaySettings
from reeltalk.judge.protocol import protocols
from reeltalk.judge.settings import JudgeSettings
from reeltalk.metrics.scoring import metric_names

NAMES = sorted(PRESETS)


def modified(
    name: str, *, frames: dict[str, Any] | None = None, judging: dict[str, Any] | None = None, **play: Any
) -> str:
    """The preset's part of a signature with other settings."""
    preset = PRESETS[name]
    changed = preset.play.model_dump() | play
    changed["frames"] = preset.play.frames.model_dump() | (frames or {})
    chosen = JudgeSettings(**(preset.judging.model_dump() | (judging or {})))
    [(key, value)] = preset.signed(PlaySettings(**changed), chosen)
    assert key == "preset"
    return value


class TestPublished:
    """Values as the papers and their scripts have them."""

    def test_svbench(self) -> None:
        preset = PRESETS["svbench"]
        assert preset.play.prompt == "svbench"
        assert preset.judging.protocols == ("svbench", "gpt-score")
        assert preset.judging.metrics == ("meteor",)
        # Ten frames of each clip: the released script.
        assert (preset.play.frames.policy, preset.play.frames.frames) == ("per-clip", 10)

    def test_mt_video_bench(self) -> None:
        preset = PRESETS["mt-video-bench"]
        assert (preset.play.history, preset.play.rounds) == ("golden", "mt-video-bench")
        assert preset.judging.protocols == ("checklist",)
        assert (preset.judging.eval_rounds, preset.judging.checklist_version) == (3, "v2")
        assert (preset.play.frames.policy, preset.play.frames.frames) == ("uniform", 128)
        assert preset.play.frames.longest_side_px == 720

    def test_vdact(self) -> None:
        preset = PRESETS["vdact"]
        assert preset.play.history == "golden"
        # The video goes with the first question, as 8 or 16 frames.
        assert (preset.play.frames.policy, preset.play.frames.frames) == ("first-turn", 8)
        assert preset.judging.protocols == ("vdeval",)
        assert (preset.judging.judge_history, preset.judging.judge_summary, preset.judging.judge_shots) == (
            "judged", "refined", 1,
        )  # fmt: skip
        assert preset.judging.metrics == ("bleu", "meteor", "rouge_l", "cider")

    def test_dramaqa(self) -> None:
        preset = PRESETS["dramaqa"]
        assert (preset.play.mode, preset.play.subtitles) == ("single", True)
        assert preset.judging.protocols == ("choice", "cogme")


@pytest.mark.parametrize("name", NAMES)
class TestEveryPreset:
    def test_as_it_is_published_it_is_signed_by_its_name(self, name: str) -> None:
        assert modified(name) == name
        assert PRESETS[name].name == name
        assert PRESETS[name].paper

    def test_its_prompt_protocols_and_metrics_exist(self, name: str) -> None:
        preset = PRESETS[name]
        assert answer_prompt(preset.play.prompt).text
        assert set(preset.judging.protocols) <= set(protocols())
        if preset.judging.metrics:
            metric_names(preset.judging.metrics)

    def test_settings_that_it_leaves_open_are_settings(self, name: str) -> None:
        known = {*PlaySettings.model_fields, *JudgeSettings.model_fields}
        known |= {f"frames.{field}" for field in FrameSettings.model_fields}
        preset = PRESETS[name]
        assert {*preset.ours, *preset.also, *FREE} <= known

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"prompt": "plain"}, "prompt"),
            ({"judging": {"protocols": ("match",)}}, "protocols"),
            ({"judging": {"judge_summary": "none"}}, "judge_summary"),
            ({"frames": {"quality": 40}}, "frames.quality"),
            ({"answer_style": "form"}, "answer_style"),
        ],
    )
    def test_a_deviation_is_named(self, name: str, change: dict[str, Any], path: str) -> None:
        if path in PRESETS[name].ours:
            assert modified(name, **change) == name
        else:
            assert modified(name, **change) == f"{name} modified ({path})"

    @pytest.mark.parametrize(
        "change",
        [
            {"split": "train"}, {"seed": 4}, {"tasks": ("memory_recall",)}, {"option_order": "shuffled"},
            {"judging": {"compat": True}}, {"judging": {"seed": 5}},
            {"judging": {"null_units": 0}}, {"judging": {"language": "en"}},
        ],
        ids=str,
    )  # fmt: skip
    def test_what_is_no_part_of_a_design_may_change(self, name: str, change: dict[str, Any]) -> None:
        assert modified(name, **change) == name


class TestDeviations:
    def test_several_are_all_named(self) -> None:
        value = modified("mt-video-bench", prompt="plain", frames={"frames": 32}, judging={"eval_rounds": 1})
        assert value == "mt-video-bench modified (prompt,frames.frames,eval_rounds)"

    def test_what_the_paper_leaves_open_is_no_deviation(self) -> None:
        assert modified("svbench", history="predicted") == "svbench"
        assert modified("svbench", frames={"policy": "fps", "frames": 64, "fps": 2.0}) == "svbench"
        assert modified("dramaqa", frames={"frames": 8}) == "dramaqa"

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("svbench", {"mode": "streaming"}),
            ("mt-video-bench", {"history": "predicted-all"}),
            ("mt-video-bench", {"history": "none"}),
            ("mt-video-bench", {"frames": {"square_px": 448}}),
            ("vdact", {"frames": {"frames": 16}}),
            ("vdact", {"frames": {"frames": 100}}),
        ],
    )
    def test_further_published_values_are_none_either(self, name: str, change: dict[str, Any]) -> None:
        assert modified(name, **change) == name

    @pytest.mark.parametrize(
        ("name", "change", "path"),
        [
            ("svbench", {"mode": "single", "history": "none"}, "mode"),
            ("mt-video-bench", {"history": "corrupted"}, "history"),
            ("mt-video-bench", {"history": "predicted"}, "history"),
            ("mt-video-bench", {"rounds": "all"}, "rounds"),
            ("mt-video-bench", {"frames": {"square_px": 224}}, "frames.square_px"),
            ("mt-video-bench", {"frames": {"policy": "fps"}}, "frames.policy"),
            ("mt-video-bench", {"judging": {"checklist_version": "v1"}}, "checklist_version"),
            ("vdact", {"history": "predicted"}, "history"),
            ("vdact", {"frames": {"frames": 12}}, "frames.frames"),
            ("vdact", {"judging": {"judge_shots": 0}}, "judge_shots"),
            ("dramaqa", {"subtitles": False}, "subtitles"),
        ],
    )
    def test_other_values_are(self, name: str, change: dict[str, Any], path: str) -> None:
        assert modified(name, **change) == f"{name} modified ({path})"
