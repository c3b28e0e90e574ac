"""Options of the commands that play and judge."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from pydantic import BaseModel, ConfigDict, Field

from reeltalk.cli.options import BUDGET, FRAMES, JUDGE, MODEL, START, describe_default, in_groups
from reeltalk.errors import SettingError
from reeltalk.evaluate.model_options import OF_FRAMES
from reeltalk.evaluate.settings import History, LimitSettings, ModelSettings, PlaySettings
from reeltalk.judge.settings import JUDGED_BY_DEFAULT, JudgeModelSettings, JudgeSettings
from reeltalk.plugins import added
from reeltalk.schema.runs import CONTROLS, Control
from reeltalk.schema.settings import Count, settings_of

NO_MODEL = " Needs no model."

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from cyclopts.help.protocols import HelpFormatter
    from rich.console import Console, ConsoleOptions

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
if TYPE_CHECKING:
    PresetName = str
else:
    PresetName = Literal["svbench", "mt-video-bench", "vdact", "dramaqa", *added("reeltalk.presets")]


def _default(part: Literal["play", "judging"], path: str, group: Group | None = None) -> Parameter:
    """Help for an option that a preset may fix: the default, and the values of the presets that have another."""

    def describe(_: object) -> str:
        from reeltalk.evaluate.presets import PRESETS

        value = attrgetter(path)
        start = value(PlaySettings() if part == "play" else JUDGED_BY_DEFAULT)
        return describe_default(start, {name: value(getattr(preset, part)) for name, preset in PRESETS.items()})

    # Without a group the options belong to the group of their settings.
    return Parameter(show_default=describe) if group is None else Parameter(group=group, show_default=describe)


class PlayOptions(BaseModel):
    """How dialogues are played. By default the preset decides, else the documented default."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    mode: Annotated[Literal["dialogue", "streaming", "single"] | None, _default("play", "mode", START)] = None
    """dialogue: chains of a video in order, and dialogues; streaming: along paths; single: no history."""
    history: Annotated[History | None, _default("play", "history")] = None
    """The earlier answers that the model sees: references (golden); its own answers, and references for turns that
    --rounds leaves out (predicted); only its own answers, so that those turns are asked too but not scored
    (predicted-all); nothing (none); or its own answers with one wrong answer (corrupted)."""
    corrupt_turn: Annotated[Count | None, _default("play", "corrupt_turn")] = None
    """The turn, from 1, whose answer is wrong in a corrupted history."""
    units: Annotated[tuple[Literal["chain", "path", "dialogue"], ...], _default("play", "units")] = ()
    """Kinds of units; by default all kinds that the mode plays."""
    split: Annotated[str | None, _default("play", "split")] = None
    """Split of the videos; test if there is one, else all; `all` for all."""
    tasks: Annotated[tuple[str, ...], _default("play", "tasks")] = ()
    """Tasks of dialogues; all by default."""
    rounds: Annotated[Literal["all", "mt-video-bench"] | None, _default("play", "rounds")] = None
    """Turns that are answered: all, or only those of MT-Video-Bench's protocol."""
    rejump: Annotated[int | None, _default("play", "rejump")] = None
    """Draw new paths with this seed in place of the benchmark's own."""
    prompt: Annotated[str | None, _default("play", "prompt")] = None
    """plain, svbench, mt-video-bench, vdact, dramaqa, or a file NAME.md."""
    answer_style: Annotated[Literal["form", "short", "free"] | None, _default("play", "answer_style")] = None
    """form asks for what a turn is judged by; short for a word or a phrase; free leaves it to the prompt."""
    frame_times: Annotated[Literal["auto", "yes", "no"] | None, _default("play", "frame_times")] = None
    """Write the time before each picture; auto: in mode streaming, and where a question asks for a moment."""
    option_order: Annotated[Literal["source", "shuffled"] | None, _default("play", "option_order")] = None
    """Order of options: as in the source, or shuffled by the seed."""
    subtitles: Annotated[bool | None, _default("play", "subtitles")] = None
    """Show spoken lines that ended by the moment of the question."""
    policy: Annotated[
        Literal["uniform", "fps", "per-clip", "first-turn", "none"] | None, _default("play", "frames.policy", FRAMES)
    ] = None
    """Frames of a turn: spread again at each turn, at a fixed rate, of each clip, once with the first turn, or none."""
    frames: Annotated[Count | None, _default("play", "frames.frames", FRAMES)] = None
    """Number of frames; the policy decides whether of a turn, of a script at most, of a clip, or in all."""
    fps: Annotated[
        Annotated[float, Field(gt=0, allow_inf_nan=False)] | None, _default("play", "frames.fps", FRAMES)
    ] = None
    """Frames per second, for the policy fps."""
    longest_side: Annotated[
        Count | None,
        _default("play", "frames.longest_side_px", FRAMES),
        Parameter(name=("--longest-side", "--longest-side-px")),
    ] = None
    """Pixels of a frame's longer side at most."""
    square: Annotated[
        Count | None, _default("play", "frames.square_px", FRAMES), Parameter(name=("--square", "--square-px"))
    ] = None
    """Resize frames to exactly this width and height, in pixels."""
    seed: Annotated[int | None, _default("play", "seed")] = None
    """Seed of the order of options, of planted answers and of resampling."""

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
            given["tasks"] = _split_names(self.tasks)
        if given.get("mode") == "single" and "history" not in given:
            given["history"] = "none"
        if given.get("mode") == "streaming" and "units" not in given:
            given["units"] = ()
        from reeltalk.evaluate.settings import FrameSettings

        made: PlaySettings = settings_of(PlaySettings, **(own | given), frames=settings_of(FrameSettings, **frames))
        self._check_effects(made)
        return made

    def _check_effects(self, made: PlaySettings) -> None:
        """Refuse an option that another one makes useless."""
        policy = made.frames.policy
        if self.corrupt_turn is not None and made.history != "corrupted":
            raise SettingError("--corrupt-turn is for --history corrupted")
        for name in OF_FRAMES if policy == "none" else ():
            if getattr(self, name) is not None:
                raise SettingError(f"--{name.replace('_', '-')} has no effect with --policy none; leave it out")
        if self.fps is not None and policy != "fps":
            raise SettingError(f"--fps has no effect with --policy {policy}; give --policy fps, or leave it out")
        if self.square is not None and self.longest_side is not None:
            raise SettingError("--square sets both sides; leave out --longest-side")


OF_PROTOCOLS = {
    "judge_history": ("vdeval",),
    "judge_summary": ("vdeval",),
    "judge_shots": ("vdeval",),
    "eval_rounds": ("checklist",),
    "checklist_version": ("checklist",),
}
"""Options that only some protocols read."""


class JudgeOptions(BaseModel):
    """How answers are judged. By default the preset decides, else the documented default."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    protocols: Annotated[tuple[str, ...], _default("judging", "protocols")] = ()
    """Judging protocols, as listed below, or python:FILE.py:CLASS; by default typed for turns with keys, choice for
    those with options, and none for others."""
    metrics: Annotated[str | None, _default("judging", "metrics")] = None
    """Comma-separated text metrics, as `reeltalk score --help` lists them; `none` for none."""
    compat: Annotated[bool | None, _default("judging", "compat")] = None
    """Also show the number that the official script computes from the same replies."""
    prompts: Annotated[Path | None, _default("judging", "prompts")] = None
    """Folder of judges' prompts in place of ours, as `reeltalk prompts --out` writes one."""
    published: Annotated[bool | None, _default("judging", "published")] = None
    """Ask the judge as the official script does, with the official prompts of --prompts; implies --compat."""
    judge_history: Annotated[Literal["none", "qa_only", "judged"] | None, _default("judging", "judge_history")] = None
    """Earlier turns that the judge of VDEval sees."""
    judge_summary: Annotated[Literal["none", "template", "refined"] | None, _default("judging", "judge_summary")] = None
    """Summary of the video that the judge of VDEval sees."""
    judge_shots: Annotated[Annotated[int, Field(ge=0, le=1)] | None, _default("judging", "judge_shots")] = None
    """Number of judged dialogues that the judge of VDEval sees as examples."""
    eval_rounds: Annotated[Count | None, _default("judging", "eval_rounds")] = None
    """Number of times that a checklist is judged."""
    checklist_version: Annotated[Literal["v1", "v2"] | None, _default("judging", "checklist_version")] = None
    """Version of MT-Video-Bench whose prompt judges checklists."""
    null_units: Annotated[Annotated[int, Field(ge=0)] | None, _default("judging", "null_units")] = None
    """Number of chains, paths or dialogues whose empty answers the model judges for the null row; 0 for no row."""
    language: Annotated[Literal["auto", "en", "zh"] | None, _default("judging", "language")] = None
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
            given["protocols"] = _split_names(self.protocols)
        if self.metrics is not None:
            named = _split_names((self.metrics,))
            given["metrics"] = () if named == ("none",) else named
        if seed is not None:
            given["seed"] = seed
        made: JudgeSettings = settings_of(JudgeSettings, **(start.model_dump() | given))
        for name, protocols in OF_PROTOCOLS.items():
            if getattr(self, name) is not None and not set(protocols) & set(made.protocols):
                raise SettingError(f"--{name.replace('_', '-')} is for --protocols {' or '.join(protocols)}")
        from reeltalk.judge.protocol import may_ask_model

        if self.prompts is not None and not made.published and not may_ask_model(made.protocols):
            raise SettingError("--prompts has no effect: no protocol asks a model; name one that does, or leave it out")
        if self.language is not None and not made.metrics:
            raise SettingError("--language has no effect with --metrics none: it is that of text metrics; leave it out")
        return made


def parse_controls(given: tuple[str, ...]) -> tuple[Control, ...]:
    """Controls by name.

    Raises:
        SettingError: There is none of a name.
    """
    names = _split_names(given)
    if unknown := [name for name in names if name not in CONTROLS]:
        raise SettingError(f"--controls has no {unknown[0]!r}; it takes {', '.join(CONTROLS)}, commas between them")
    return tuple(name for name in CONTROLS if name in names)


def _split_names(given: tuple[str, ...]) -> tuple[str, ...]:
    """Names from repeated options or comma-separated lists."""
    return tuple(name.strip() for part in given for name in part.split(",") if name.strip())


def _with_list(title: str, entries: Callable[[], Iterable[tuple[str, str]]]) -> "HelpFormatter":
    """A formatter that prints a panel of help and a list below it; the list is read only when help is printed."""

    def print_both(console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        from cyclopts.help import DefaultFormatter, HelpEntry, HelpPanel

        print_panel = DefaultFormatter()
        print_panel(console, options, panel)
        listed = [HelpEntry(positive_names=(name,), description=description) for name, description in entries()]
        print_panel(console, options, HelpPanel(format="command", title=title, entries=listed))

    return print_both


def _protocols() -> Iterable[tuple[str, str]]:
    from reeltalk.judge.protocol import protocols

    for protocol in protocols().values():
        yield protocol.name, f"{protocol.help}{'' if protocol.needs_model else NO_MODEL}"


def _text_metrics() -> Iterable[tuple[str, str]]:
    from reeltalk.metrics.scoring import METRICS, TEXT_METRICS

    for name, numbers in METRICS.items():
        yield name, ", ".join(TEXT_METRICS[number].title for number in numbers)


TEXT_METRICS_OPTION = Parameter(
    group=Group("Metrics", sort_key=10, help_formatter=_with_list("Text metrics", _text_metrics))
)
CONTROLS_OPTION = Parameter(negative="")
Playing = Annotated[PlayOptions, Parameter(name="*", group=Group("Dialogues and history", sort_key=15))]
JudgingOptions = Annotated[
    JudgeOptions,
    Parameter(
        name="*", group=Group("Judging", sort_key=40, help_formatter=_with_list("Judging protocols", _protocols))
    ),
]
Answering = Annotated[ModelSettings, Parameter(name="*", group=MODEL)]
if TYPE_CHECKING:
    FirstAnswering = ModelSettings
    FirstJudging = JudgeOptions
    JudgeModel = JudgeModelSettings
else:
    # What a command needs first stands at the top of its help; the values are those of the same settings.
    FirstAnswering = Annotated[in_groups(ModelSettings, {START: ("base_url",)}), Parameter(name="*", group=MODEL)]
    FirstJudging = Annotated[in_groups(JudgeOptions, {START: ("protocols",)}), *JudgingOptions.__metadata__]
    JudgeModel = Annotated[
        in_groups(JudgeModelSettings, {START: ("judge", "judge_base_url")}), Parameter(name="*", group=JUDGE)
    ]
Limits = Annotated[LimitSettings, Parameter(name="*", group=BUDGET)]
PLAYING, JUDGING, ANSWERING, JUDGE_MODEL, LIMITS = (
    PlayOptions(),
    JudgeOptions(),
    ModelSettings(),
    JudgeModelSettings(),
    LimitSettings(),
)
