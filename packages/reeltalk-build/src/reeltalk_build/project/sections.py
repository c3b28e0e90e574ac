"""The sections of a project file: the command of each and its options.

The options come from the command line; nothing is copied. Sections run in the order of this module, not in the order
of the file.
"""

from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

REQUIRED: Final = object()
"""The default of a required option."""


@dataclass(frozen=True)
class Option:
    """One option of a command."""

    key: str
    """Its name in a project, such as `min_shots`."""
    flag: str | None
    """Its name on the command line, such as `--min-shots`; None for a positional argument."""
    kind: Any
    """Its type, with bounds, as pydantic validates it."""
    default: Any
    """Its default; `REQUIRED` if it has none."""
    help: str
    """Its description, on one line."""
    negative: str | None = None
    """The flag that turns it off, such as `--no-labels`."""
    settings: type[BaseModel] | None = None
    """The settings model that it belongs to, whose fields are checked together."""
    set_by_preset: bool = False
    """Whether a preset of the command changes its default."""

    @property
    def required(self) -> bool:
        """Whether it is required."""
        return self.default is REQUIRED

    @property
    def takes_one(self) -> bool:
        """Whether a single text may stand for a list of one."""
        schema = TypeAdapter(self.kind).json_schema()
        lists = (part for part in schema.get("anyOf", [schema]) if part.get("type") == "array")
        return any(part.get("items", {}).get("type") == "string" for part in lists)

    def words(self, value: Any, *, preset: Any = None) -> tuple[str, ...]:
        """The option with a value, as words of a command line; empty if the value is the default.

        Args:
            preset: The command's preset, if one is given. An option that it changes is then said with its default too.
        """
        is_default = value == self.default and not (preset and self.set_by_preset)
        if value is None or is_default or (isinstance(value, tuple | list) and not value):
            return ()
        if isinstance(value, bool) and self.flag is not None:
            said = self.flag if value else self.negative
            return (said,) if said is not None else ()
        found: list[str] = []
        for part in value if isinstance(value, tuple | list) else (value,):
            text = str(part)
            if self.flag is None:
                found.append(f"./{text}" if text.startswith("-") else text)
            else:
                found += [f"{self.flag}={text}"] if text.startswith("-") else [self.flag, text]
        return tuple(found)


@dataclass(frozen=True)
class CommandSpec:
    """One command of reeltalk."""

    words: tuple[str, ...]
    """The words after `reeltalk`, such as `world film`."""
    help: str
    """Its summary, one sentence."""
    options: tuple[Option, ...]

    def option(self, key: str) -> Option | None:
        """The option with this key; None if there is none."""
        return next((option for option in self.options if option.key == key), None)


@dataclass(frozen=True)
class ProjectSection:
    """One section of a project file."""

    name: str
    command: tuple[str, ...]
    """The words after `reeltalk`."""
    filled: frozenset[str]
    """Options that the project fills in: the folders that stages share."""


def _section(name: str, command: str, *filled: str) -> ProjectSection:
    return ProjectSection(name, tuple(command.split()), frozenset(filled) | {"overwrite", "delete_replies", "plan"})


SECTIONS: Final = {
    section.name: section
    for section in (
        _section("film", "world film", "into"),
        _section("curate", "curate", "into"),
        _section("import", "import", "benchmark"),
        _section("questions", "graph questions", "benchmark", "proactive", "per_kind"),
        _section("streams", "graph questions", "benchmark", "proactive", "per_video", "turns"),
        _section(
            "construct",
            "construct",
            "benchmark",
            "out",
            "rubrics",
            "sheet",
            "apply",
            "more",
            "more_tokens",
            "more_cost",
        ),
        _section("evaluate", "evaluate", "benchmark", "out", "latency_s", "judge_latency_s"),
        _section("judge", "judge", "sources", "out", "bench", "format", "attack", "every"),
        _section("proactive", "proactive run", "benchmark", "out", "tune", "thresholds"),
        _section("compare", "compare", "runs", "out"),
        _section(
            "report", "report", "runs", "out", "bench", "format", "dialogue", "turns", "models", "scenarios", "only"
        ),
        _section("release", "freeze", "benchmark", "release"),
        _section("export", "export", "benchmark", "out", "check", "root", "problems"),
    )
}
SOURCES: Final = ("film", "curate", "import")
"""Sections that begin the benchmark. A project has one of them, or none if the benchmark exists."""
WRITING_SECTIONS: Final = ("questions", "streams", "construct")
"""Sections that write into the benchmark, in the order in which they run."""
SHARED: Final = {
    "workers": "Videos that are processed at a time, in all sections; by default as each section says.",
    "executor": "Where the work runs, in all sections; by default as each section says.",
}
"""Options that apply to all sections if they are at the top of the file, with their meaning there."""
MODELS: Final = "models"
"""The key that lists the models of a section. Each model is a run."""
MODEL_SECTIONS: Final = ("evaluate", "proactive")
"""Sections that list models."""
NEUTRAL: Final = frozenset(
    {
        *("workers", "processes", "executor", "connections", "replies"),
        *("timeout_s", "max_retries", "give_up_after_s", "backoff_s", "preflight"),
        *("base_url", "api_key_env", "judge_base_url", "judge_api_key_env", "accept_licence"),
        *("price_in", "price_out", "judge_price_in", "judge_price_out", "max_calls", "max_tokens", "max_cost"),
    }
)
"""Options that do not change the result of a step. If one changes, no step runs again."""
INPUTS: Final = frozenset({"videos", "source"})
"""Options that name inputs, even if their type is text, since an input may be an address on an object store."""
OUTPUTS: Final = frozenset({"into", "out", "replies"})
"""Options that name outputs of a command; all other paths are inputs."""
