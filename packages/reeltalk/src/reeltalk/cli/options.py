"""Options that several commands share, and the groups under which a command's help lists them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from cyclopts import Group, Parameter
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from reeltalk.cli.short_help import short_panel

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from cyclopts.help.protocols import HelpFormatter
    from rich.console import Console, ConsoleOptions

M = TypeVar("M", bound=BaseModel)
FIRST_NAMES: Final = (
    *("--into", "--model", "--writer", "--base-url", "--out", "--bench", "--format", "--mode", "--preset"),
    *("--protocols", "--judge", "--judge-base-url", "--media", "--splits", "--limit", "--max-calls", "--plan"),
)
"""The options that everybody needs, in the order in which a command's help shows them first."""


def _in_order(console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
    from cyclopts.help import DefaultFormatter

    entries = sorted(
        short_panel(panel).entries, key=lambda entry: min(map(FIRST_NAMES.index, entry.positive_names[:1]))
    )
    DefaultFormatter()(console, options, panel.copy(entries=entries))


START: Final = Group("Start here", sort_key=0, help_formatter=_in_order)
"""The first group of a command that has many options."""
SELECTION: Final = Group("Selection", sort_key=10)
"""Which part of the input is used."""
MODEL: Final = Group("Model", sort_key=20)
FRAMES: Final = Group("Frames", sort_key=30)
JUDGE: Final = Group("Judge's model", sort_key=45)
OUTPUT: Final = Group("Output", sort_key=50)
BUDGET: Final = Group("Budget and requests", sort_key=60)
RUN: Final = Group("Run", sort_key=70)
"""How the work is done; nothing here changes a result."""

IN_START: Final = Parameter(group=START)
FLAG: Final = Parameter(negative="")
"""A switch without a `--no-` form, or a list without an `--empty-` form."""
IN_OUTPUT: Final = Parameter(group=OUTPUT)
OVERWRITE: Final = Parameter(name="--overwrite", negative="", group=OUTPUT)
VERBOSE: Final = Parameter(name="--verbose", negative="", group=OUTPUT)
DELETE_REPLIES: Final = Parameter(name="--delete-replies", negative="", group=OUTPUT)
IN_SELECTION: Final = Parameter(group=SELECTION)
BENCH: Final = Parameter(name=("--bench", "--benchmark"))
"""The second name is that of the verbs of `reeltalk.stages`, as for other options with two names."""
IN_RUN: Final = Parameter(group=RUN)
TRUST_HELP: Final = "Use the servers, keys, code and paths that a folder of others names; else you are asked."
TrustOption = Annotated[bool, Parameter(name="--trust", negative="", group=RUN, help=TRUST_HELP)]
PLAN: Final = Parameter(name="--plan", negative="", group=RUN)
DRY_RUN: Final = Parameter(name="--dry-run", negative="", group=RUN)
ExecutorName = Annotated[
    str,
    Parameter(
        name="--executor",
        group=RUN,
        help="Where work runs: local, on this machine's cores; ray, on the Ray cluster of RAY_ADDRESS or an instance "
        "of Ray here; ray://HOST:PORT or ray://auto, on the cluster that this machine is a node of.",
    ),
]


def options_of(name: str, fields: Mapping[str, tuple[FieldInfo, Parameter]]) -> type[BaseModel]:
    """A model of options of which none need be given; what is not given is None.

    Args:
        name: Name of the model.
        fields: For each option, the field of the settings that it sets, which states its type, bounds and help; and how
            it is shown.
    """
    made: dict[str, Any] = {}
    for option, (field, parameter) in fields.items():
        bounded: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        made[option] = (Annotated[bounded | None, parameter], Field(default=None, description=field.description))
    return create_model(name, __config__=ConfigDict(frozen=True, extra="forbid"), __module__=__name__, **made)


def in_groups(model: type[M], groups: Mapping[Group, Sequence[str]]) -> type[M]:
    """A settings model whose fields are options in groups of their own.

    Args:
        model: The settings. A field that is in no group belongs to the group of the whole model.
        groups: Names of fields.
    """
    fields: dict[str, Any] = {}
    for group, names in groups.items():
        for name in names:
            field = model.model_fields[name]
            fields[name] = (Annotated[(field.annotation, *field.metadata, Parameter(group=group))], field)
    made: type[M] = create_model(model.__name__, __base__=model, __module__=__name__, **fields)
    return made


def describe_default(start: object, others: Mapping[str, object]) -> str:
    """The default of an option that a preset may set, with the values of the presets that have another.

    Args:
        start: The default.
        others: Values by the names of presets.
    """
    names: dict[str, list[str]] = {}
    for name, value in others.items():
        if value != start:
            names.setdefault(_format_value(value), []).append(name)
    return "; ".join(
        [_format_value(start), *(f"{text} for preset {', '.join(presets)}" for text, presets in names.items())]
    )


def _format_value(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return "not set" if value is None else f"{value}"


def with_presets(start: BaseModel, presets: Mapping[str, Mapping[str, Any]]) -> "HelpFormatter":
    """A formatter of help that adds the values of presets to the defaults.

    Args:
        start: The defaults.
        presets: By the names of presets, their values by the names of options.
    """

    def show(console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        from cyclopts.help import DefaultFormatter

        set_by = {name for preset in presets.values() for name in preset}
        entries = []
        for entry in short_panel(panel).entries:
            name = next((long[2:].replace("-", "_") for long in entry.positive_names), "")
            if name in set_by:
                value = getattr(start, name)
                values = {preset: own.get(name, value) for preset, own in presets.items()}
                entry = entry.copy(default=describe_default(value, values))
            entries.append(entry)
        DefaultFormatter()(console, options, panel.copy(entries=entries))

    return show
