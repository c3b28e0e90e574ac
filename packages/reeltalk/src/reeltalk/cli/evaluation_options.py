"""Options of the commands that play and judge."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from reeltalk.cli.options import BUDGET, FRAMES, JUDGE, MODEL, START, describe_default, in_groups, options_of
from reeltalk.cli.short_help import short_panel
from reeltalk.evaluation.settings import (
    CHANGEABLE,
    OTHER_NAMES,
    FrameSettings,
    LimitSettings,
    ModelSettings,
    PlaySettings,
    RunConfig,
)
from reeltalk.judge.settings import JUDGED_BY_DEFAULT, JudgeModelSettings, JudgeSettings
from reeltalk.plugins import added
from reeltalk.schema.settings import overlay

NEEDS_NO_MODEL = " Needs no model."

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from cyclopts.help.protocols import HelpFormatter
    from rich.console import Console, ConsoleOptions

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
if TYPE_CHECKING:
    PresetName = str
else:
    PresetName = Literal["svbench", "mt-video-bench", "vdact", "dramaqa", *added("reeltalk.presets")]


def _default(
    part: Literal["play", "judging"], path: str, group: Group | None = None, name: tuple[str, ...] | None = None
) -> Parameter:
    """Help for an option that a preset may fix: the default, and the values of the presets that have another."""

    def describe(_: object) -> str:
        from reeltalk.evaluation.presets import PRESETS

        value = attrgetter(path)
        start = value(PlaySettings() if part == "play" else JUDGED_BY_DEFAULT)
        return describe_default(start, {name: value(getattr(preset, part)) for name, preset in PRESETS.items()})

    # Without a group the options belong to the group of their settings.
    shown = Parameter(name=name, show_default=describe)
    return shown if group is None else Parameter(group=group, name=name, show_default=describe)


def _play_options() -> dict[str, tuple[FieldInfo, Parameter]]:
    found: dict[str, tuple[FieldInfo, Parameter]] = {}
    for name, field in PlaySettings.model_fields.items():
        if name not in ("frames", "control"):
            found[name] = (field, _default("play", name, START if name == "mode" else None))
    for name, field in FrameSettings.model_fields.items():
        if name != "quality":
            option = OTHER_NAMES.get(name, name)
            names = None if option == name else tuple(f"--{one.replace('_', '-')}" for one in (option, name))
            found[option] = (field, _default("play", f"frames.{name}", FRAMES, names))
    return found


def play_settings(options: BaseModel, preset: PlaySettings | None) -> PlaySettings:
    """How dialogues are played: by the options, else by the preset, else by the documented defaults.

    Args:
        options: `PlayOptions`.
        preset: The settings of a published design.

    Raises:
        SettingError: A value cannot be used.
    """
    given = {name: value for name, value in options if value not in (None, ())}
    if "tasks" in given:
        given["tasks"] = split_names(given["tasks"])
    chosen: dict[str, Any] = {}
    if given.get("mode") == "single":
        chosen["history"] = "none"
    if given.get("mode") == "streaming":
        chosen["units"] = ()
    start = (preset or PlaySettings()).model_copy(update=chosen)
    # The name `frames` is that of the number of frames here, and of all settings of frames there.
    of_frames = {
        name: given.pop(OTHER_NAMES.get(name, name))
        for name in FrameSettings.model_fields
        if OTHER_NAMES.get(name, name) in given
    }
    return overlay(start.model_copy(update={"frames": overlay(start.frames, of_frames)}), given)


def _judge_options() -> dict[str, tuple[FieldInfo, Parameter]]:
    return {
        name: (field, _default("judging", name)) for name, field in JudgeSettings.model_fields.items() if name != "seed"
    }


def judge_settings(options: BaseModel, preset: JudgeSettings | None, *, seed: int | None = None) -> JudgeSettings:
    """How answers are judged: by the options, else by the preset, else by the documented defaults.

    Args:
        options: `JudgeOptions`.
        preset: The settings of a published design.
        seed: Seed of the draw of null units.

    Raises:
        SettingError: A value cannot be used.
    """
    given = {name: value for name, value in options if value not in (None, ())} | {"seed": seed}
    for name in {"protocols", "metrics"} & set(given):
        given[name] = split_names(given[name])
    if given.get("metrics") == ("none",):
        given["metrics"] = ()
    return overlay(preset or JUDGED_BY_DEFAULT, given)


def _retry_options() -> dict[str, tuple[FieldInfo, Parameter]]:
    fields = {**ModelSettings.model_fields, **JudgeModelSettings.model_fields, **LimitSettings.model_fields}
    return {name: ((fields | RunConfig.model_fields)[name], Parameter()) for name in CHANGEABLE}


def split_names(given: tuple[str, ...]) -> tuple[str, ...]:
    """Names from repeated options or comma-separated lists."""
    return tuple(name.strip() for part in given for name in part.split(",") if name.strip())


def _with_list(title: str, entries: Callable[[], Iterable[tuple[str, str]]]) -> "HelpFormatter":
    """A formatter that prints a panel of help and, unless the page is a short one, a list below it.

    What the list names is imported only then.
    """

    def print_both(console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        from cyclopts.help import DefaultFormatter, HelpEntry, HelpPanel

        print_panel = DefaultFormatter()
        if (short := short_panel(panel)).entries:
            print_panel(console, options, short)
        if short is not panel:
            return
        listed = [HelpEntry(positive_names=(name,), description=description) for name, description in entries()]
        print_panel(console, options, HelpPanel(format="command", title=title, entries=listed))

    return print_both


def _protocols() -> Iterable[tuple[str, str]]:
    from reeltalk.judge.protocol import protocols

    for protocol in protocols().values():
        yield protocol.name, f"{protocol.help}{'' if protocol.needs_model else NEEDS_NO_MODEL}"


def _text_metrics() -> Iterable[tuple[str, str]]:
    from reeltalk.metrics.scoring import METRICS, TEXT_METRICS

    for name, numbers in METRICS.items():
        yield name, ", ".join(TEXT_METRICS[number].title for number in numbers)


if TYPE_CHECKING:

    class PlayOptions(BaseModel): ...

    class JudgeOptions(BaseModel): ...

    class RetryOptions(BaseModel): ...
else:
    PlayOptions = options_of("PlayOptions", _play_options())
    JudgeOptions = options_of("JudgeOptions", _judge_options())
    RetryOptions = options_of("RetryOptions", _retry_options())
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
