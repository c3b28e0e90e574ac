"""Options of the commands that play and judge."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import SettingError
from reeltalk.evaluate.settings import History, LimitSettings, ModelSettings, PlaySettings
from reeltalk.judge.settings import JUDGED_BY_DEFAULT, JudgeModelSettings, JudgeSettings
from reeltalk.schema.runs import CONTROLS, Control
from reeltalk.schema.settings import Count, settings_of

NO_MODEL = " Needs no model."

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PRESET_NAMES = Literal["svbench", "mt-video-bench", "vdact", "dramaqa"]


class PlayOptions(BaseModel):
    """How dialogues are played; what is not given is as the preset has it, else as the documentation says."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    mode: Literal["dialogue", "streaming", "single"] | None = None
    """dialogue: chains of a video in order, and dialogues; streaming: along paths; single: no history."""
    history: History | None = None
    """The earlier answers the model is shown: references (golden); the model's answers, beside references of turns
    that --rounds leaves out (predicted); its answers alone, for which those turns are asked too and not scored
    (predicted-all); nothing (none); or its answers with a wrong one (corrupted)."""
    corrupt_turn: Count | None = None
    """The turn, from 1, in whose place a corrupted history holds a wrong answer."""
    units: tuple[Literal["chain", "path", "dialogue"], ...] = ()
    """Kinds of units; all that the mode plays by default."""
    split: str | None = None
    """Split of the videos; test where there is one, else all; `all` for all."""
    tasks: tuple[str, ...] = ()
    """Tasks of dialogues; all by default."""
    rounds: Literal["all", "mt-video-bench"] | None = None
    """Turns that are answered: all, or those that MT-Video-Bench's protocol asks."""
    rejump: int | None = None
    """Seed by which new paths are drawn in place of the benchmark's own."""
    prompt: str | None = None
    """plain, svbench, mt-video-bench, vdact, dramaqa, or a file NAME.md."""
    answer_style: Literal["free", "short"] | None = None
    """short asks a model for a word or a phrase; free leaves the length to the prompt."""
    option_order: Literal["source", "shuffled"] | None = None
    """Order of options: the source's, or drawn by the seed."""
    subtitles: bool | None = None
    """Show lines that were spoken and had ended by the moment of the question."""
    policy: Literal["uniform", "fps", "per-clip", "first-turn", "none"] | None = None
    """Which frames a turn sees: spread anew, a fixed rate, of each clip, once with the first turn, none."""
    frames: Count | None = None
    """How many frames: of a turn, of a script at most, of a clip, or in all, by the policy."""
    fps: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Frames per second of the policy fps."""
    longest_side: Count | None = None
    """Pixels of a frame's longer side at most."""
    square: Count | None = None
    """Bring frames to exactly this width and height."""
    seed: int | None = None
    """Decides the order of options, planted answers and resampling."""

    def settings(self, preset: PlaySettings | None) -> PlaySettings:
        """The settings, over those of a preset."""
        start = preset or PlaySettings()
        of_frames = {
            "policy": self.policy,
            "frames": self.frames,
            "fps": self.fps,
            "longest_side_px": self.longest_side,
            "square_px": self.square,
        }
        frames = start.frames.model_dump() | {k: v for k, v in of_frames.items() if v is not None}
        names = set(PlaySettings.model_fields) - {"frames", "control"}
        given = {name: getattr(self, name) for name in names if getattr(self, name) not in (None, ())}
        own = {name: getattr(start, name) for name in names}
        if self.tasks:
            given["tasks"] = _named(self.tasks)
        if given.get("mode") == "single" and "history" not in given:
            given["history"] = "none"
        if given.get("mode") == "streaming" and "units" not in given:
            given["units"] = ()
        from reeltalk.evaluate.settings import FrameSettings

        made: PlaySettings = settings_of(PlaySettings, **(own | given), frames=settings_of(FrameSettings, **frames))
        return made


class JudgeOptions(BaseModel):
    """How answers are judged; what is not given is as the preset has it, else as the documentation says."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    protocols: tuple[str, ...] = ()
    """Judging protocols, as listed below, or python:FILE.py:CLASS; by default typed for turns with keys, choice for
    those with options, and none for others."""
    metrics: str | None = None
    """Comma-separated text metrics, as of `score`; `none` for none."""
    compat: bool | None = None
    """Show beside each fixed figure what the official script would have made of the same replies."""
    prompts: Path | None = None
    """Folder of judges' prompts in place of ours, as `reeltalk prompts --out` writes one."""
    published: bool | None = None
    """Ask the judge as the official script does, with the official prompts of --prompts; implies --compat."""
    judge_history: Literal["none", "qa_only", "judged"] | None = None
    """Earlier turns that VDEval's judge sees."""
    judge_summary: Literal["none", "template", "refined"] | None = None
    """Which summary of the video VDEval's judge is given."""
    judge_shots: Annotated[int, Field(ge=0, le=1)] | None = None
    """Judged dialogues that VDEval's judge is shown as an example."""
    eval_rounds: Count | None = None
    """How often a checklist is judged."""
    checklist_version: Literal["v1", "v2"] | None = None
    """MT-Video-Bench's version, by whose prompt a checklist is judged."""
    null_units: Annotated[int, Field(ge=0)] | None = None
    """Chains, paths or dialogues whose empty answers the model judges for the null row; 0 for no such row."""
    missing: Literal["zero", "skip"] | None = None
    """What a turn without an answer counts for, on checklists."""
    language: Literal["auto", "en", "zh"] | None = None
    """Language of the answers, for text metrics."""

    def settings(self, preset: JudgeSettings | None, *, seed: int | None = None) -> JudgeSettings:
        """The settings, over those of a preset."""
        start = preset or JUDGED_BY_DEFAULT
        given: dict[str, Any] = {
            name: getattr(self, name)
            for name in JudgeSettings.model_fields
            if name not in ("metrics", "seed") and getattr(self, name) not in (None, ())
        }
        if self.protocols:
            given["protocols"] = _named(self.protocols)
        if self.metrics is not None:
            named = _named((self.metrics,))
            given["metrics"] = () if named == ("none",) else named
        if seed is not None:
            given["seed"] = seed
        made: JudgeSettings = settings_of(JudgeSettings, **(start.model_dump() | given))
        return made


def controls_named(given: tuple[str, ...]) -> tuple[Control, ...]:
    """Controls by name.

    Raises:
        SettingError: There is none of a name.
    """
    names = _named(given)
    if unknown := [name for name in names if name not in CONTROLS]:
        raise SettingError(f"--controls has no {unknown[0]!r}; it takes {', '.join(CONTROLS)}, commas between them")
    return tuple(name for name in CONTROLS if name in names)


def _named(given: tuple[str, ...]) -> tuple[str, ...]:
    """Names that were given one by one, or with commas between them."""
    return tuple(name.strip() for part in given for name in part.split(",") if name.strip())


def _with_protocols(console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
    """Print a panel of help, and under it the protocols, which are looked up for nothing else than this."""
    from cyclopts.help import DefaultFormatter, HelpEntry, HelpPanel

    from reeltalk.judge.protocol import protocols

    print_panel = DefaultFormatter()
    print_panel(console, options, panel)
    entries = [
        HelpEntry(
            positive_names=(protocol.name,), description=f"{protocol.help}{'' if protocol.needs_model else NO_MODEL}"
        )
        for protocol in protocols().values()
    ]
    print_panel(console, options, HelpPanel(format="command", title="Judging protocols", entries=entries))


CONTROLS_OPTION = Parameter(negative="")
Playing = Annotated[PlayOptions, Parameter(name="*")]
JudgingOptions = Annotated[
    JudgeOptions, Parameter(name="*", group=Group("Judging", sort_key=20, help_formatter=_with_protocols))
]
Answering = Annotated[ModelSettings, Parameter(name="*")]
JudgeModel = Annotated[JudgeModelSettings, Parameter(name="*")]
Limits = Annotated[LimitSettings, Parameter(name="*")]
PLAYING, JUDGING, ANSWERING, JUDGE_MODEL, LIMITS = (
    PlayOptions(),
    JudgeOptions(),
    ModelSettings(),
    JudgeModelSettings(),
    LimitSettings(),
)
