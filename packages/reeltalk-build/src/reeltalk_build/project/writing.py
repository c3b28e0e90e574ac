"""Write a project file with every setting of every stage, from the options of the commands.

A template gives some settings. The others are commented out, as `#key: default`. Comments of plain text have a space
after the `#`. So you enable a setting by removing one character, and a pattern can enable all of them.
"""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

import yaml

from reeltalk_build.project.sections import MODELS, SECTIONS, SHARED, CommandSpec, Option


@dataclass(frozen=True)
class Template:
    """One kind of project."""

    name: str
    about: str
    """Its purpose, in one sentence."""
    given: dict[str, dict[str, Any]]
    """Sections that run, with the settings that differ from the defaults, in the order of the file."""
    offered: dict[str, dict[str, Any]]
    """Sections that are commented out, with examples of required settings."""
    models: dict[str, str]
    """Models that are played, by name."""


JUDGE: Final[dict[str, Any]] = {"protocols": ["clair"], "judge": "gpt-4o-mini"}
RELEASE: Final[dict[str, Any]] = {"version": "1.0.0"}
EXAMPLE_MODEL: Final[dict[str, Any]] = {
    "model": "qwen3-vl",
    "base_url": "http://localhost:8000/v1",
    "api_key_env": "OPENAI_API_KEY",
    "max_calls": 1000,
}
"""An example of your own model, commented out."""

HOUSEHOLD: Final = Template(
    "household",
    "a filmed household: exact answers, baselines, no network; it runs without changes in about a minute",
    {
        "film": {"scenarios": 8, "houses": 4, "width_px": 320, "fps": 5, "max_duration_s": 120.0},
        "construct": {"steps": ["chains", "linkages", "paths"]},
        "evaluate": {"units": ["chain"], "frames": 8},
        "compare": {"metrics": "typed"},
        "report": {"media": "link"},
    },
    {"judge": JUDGE, "release": RELEASE},
    {"blind": "baseline:blind", "history": "baseline:history", "frames": "baseline:frames", "oracle": "oracle"},
)
VIDEOS: Final = Template(
    "videos",
    "your own videos in the folder raw: filtered, cut into clips, with questions by a language model",
    {
        "curate": {"videos": ["raw"], "splits": "train=0.8,test=0.2"},
        "construct": {"writer": "qwen3-vl", "base_url": "http://localhost:8000/v1", "max_calls": 5000},
        "evaluate": {},
        "report": {},
    },
    {"judge": JUDGE, "compare": {}, "release": RELEASE},
    {"blind": "baseline:blind", "history": "baseline:history"},
)
PUBLISHED: Final = Template(
    "published",
    "a published benchmark in the folder data: imported, played to your models, and reported",
    {
        "import": {"format": "svbench", "source": "data/svbench"},
        "evaluate": {"preset": "svbench", "skip_missing": True, "judge": "gpt-4o-mini", "max_calls": 2000},
        "report": {"published": "svbench"},
    },
    {"judge": JUDGE, "compare": {}, "release": RELEASE},
    {"blind": "baseline:blind"},
)
TEMPLATES: Final = {template.name: template for template in (HOUSEHOLD, VIDEOS, PUBLISHED)}


WIDTH: Final = 120
HELP_AT: Final = 34
"""Column at which a setting's description begins."""
REVIEW: Final = (
    "Here people can review the dialogues: reeltalk review {benchmark}, then reeltalk review apply {benchmark}. The "
    "next 'reeltalk run' plays the reviewed dialogues."
)


def project_text(template: Template, name: str, commands: Mapping[str, CommandSpec]) -> str:
    """The project file."""
    return "\n".join(_lines(template, name, commands)) + "\n"


def _lines(template: Template, name: str, commands: Mapping[str, CommandSpec]) -> Iterator[str]:
    benchmark = f"benchmarks/{name}"
    about = template.about
    yield from _text(f"{about[0].upper()}{about[1:]}.", "")
    yield from _text(
        "'reeltalk run' runs the steps that have changed, 'reeltalk run --plan' shows these steps and their cost, and "
        "'reeltalk status' shows the progress. Every section is one command, and every setting one of its options. A "
        "commented-out setting shows its default: remove the # to change it.",
        "",
    )
    yield ""
    yield from _setting("benchmark", benchmark, "Folder of the benchmark; paths start from this file.", "")
    for key in SHARED:
        option = next((found for c in commands.values() if (found := c.option(key)) is not None), None)
        if option is not None:
            yield from _setting(f"#{key}", None, SHARED[key], "")
    for section in SECTIONS:
        given = section in template.given
        if not given and section not in template.offered:
            continue
        mark = "" if given else "#"
        command = commands[section]
        yield ""
        yield from _text(f"reeltalk {' '.join(command.words)}: {command.help}", "")
        yield f"{mark}{section}:"
        values = template.given[section] if given else template.offered[section]
        if section == "evaluate":
            yield from _models(template)
        for option in command.options:
            if option.key in SECTIONS[section].filled or (section == "evaluate" and option.key == "model"):
                continue
            if option.key in values:
                yield from _setting(f"{mark}{option.key}", values[option.key], option.help, "  ")
            else:
                yield from _setting(f"#{option.key}", option.default, option.help, "  ", default=option)
        if section == "construct":
            yield ""
            yield from _text(REVIEW.format(benchmark=benchmark), "")


def _models(template: Template) -> Iterator[str]:
    yield from _text(
        "Each model is a run, in runs/NAME: NAME: MODEL, or NAME: with settings below it. A model may have every "
        "setting of this section, which then replaces the setting here. 'mode' may be a list, such as [dialogue, "
        "streaming], with one run for each mode.",
        "  ",
    )
    yield f"  {MODELS}:"
    for name, model in template.models.items():
        yield f"    {name}: {model}"
    yield "    #mine:"
    for key, value in EXAMPLE_MODEL.items():
        yield f"      #{key}: {_scalar(value)}"


def _setting(key: str, value: Any, help: str, indent: str, *, default: Option | None = None) -> Iterator[str]:
    if default is not None and default.required:
        raise AssertionError(f"{key} must be given, and a template gives nothing")
    start = f"{indent}{key}: {_scalar(default.default if default is not None else value)}"
    column = max(HELP_AT, len(start) + 2)
    said = textwrap.wrap(help, WIDTH - HELP_AT - 2) or [""]
    if column > HELP_AT and len(said[0]) + column + 2 > WIDTH:
        yield from (f"{indent}# {line}" for line in textwrap.wrap(help, WIDTH - len(indent) - 2))
        yield start
        return
    yield f"{start:<{column}}# {said[0]}"
    yield from (f"{'':<{HELP_AT}}# {line}" for line in said[1:])


def _scalar(value: Any) -> str:
    """A value as YAML on one line."""
    plain = [str(v) if isinstance(v, PurePath) else v for v in value] if isinstance(value, tuple | list) else value
    if isinstance(plain, PurePath):
        plain = str(plain)
    text: str = yaml.safe_dump(plain, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")


def _text(text: str, indent: str) -> Iterator[str]:
    yield from (f"{indent}# {line}" for line in textwrap.wrap(text, WIDTH - len(indent) - 2))
