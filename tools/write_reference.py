"""Write the pages that follow from the code and from measurements: names, commands, project files, tables, errors.

Run after a change of any of them; a test compares the pages with what this prints.
"""

import ast
import inspect
import io
import itertools
from enum import StrEnum
from pathlib import Path
from typing import Any

from api_reference import api
from performance_page import performance
from pydantic import TypeAdapter
from reliability_page import reliability
from report_replays import public_reports
from rich.console import Console

from reeltalk import errors
from reeltalk.analysis.published.records import FILES, markdown, published_overview, read_published
from reeltalk.cli import app
from reeltalk.cli.short_help import show_all_options
from reeltalk.evaluation.checks import OF_PROTOCOLS
from reeltalk.evaluation.model_options import EXAMPLES, KINDS_OF, OPTIONS_OF, UNSIGNED, kinds_of_option
from reeltalk.judge.protocol import protocols
from reeltalk.metrics.scoring import TEXT_METRICS
from reeltalk.schema.labels import VOCABULARIES, label_title
from reeltalk.schema.sft import TRAINING_NEEDS
from reeltalk.store.tables import TABLES
from reeltalk.store.text_tables import markdown_table
from reeltalk_build.cli.projects import command_of, section_commands
from reeltalk_build.construct.writer_options import CHECKED, ONLY_WITH, WRITER_OPTIONS, WRITERS
from reeltalk_build.project.sections import MODELS, SECTIONS, SHARED

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def commands() -> str:
    """Every command with its help, as a terminal of 100 columns shows it."""
    parts = [
        "# Commands\n\nAll commands with their help, in the order of use.\n",
        "Exit codes: 0 done, 1 findings, 2 you must act, 130 interrupted.\n",
    ]
    for name in [name for name in app if not name.startswith("-")]:
        parts.append(_help(name))
        parts += [_help(name, sub) for sub in app[name] if not sub.startswith("-")]
    return "\n".join(parts)


def _help(*names: str) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=100, color_system=None, force_terminal=False)
    show_all_options()
    app([*names, "--help"], console=console, exit_on_error=False, result_action="return_value")
    text = "\n".join(line.rstrip() for line in stream.getvalue().strip().splitlines())
    return f"{'#' * (1 + len(names))} {' '.join(names)}\n\n```text\n{text}\n```\n"


def tables() -> str:
    """Every table with the fields of its records."""
    parts = [
        "# Tables\n\nA benchmark's tables, one JSON object a line. Fields equal to their default are left out. "
        "`reeltalk validate --accept`\nmakes a table that you wrote a part of the benchmark, as "
        "[tasks of streams](../how-to/stream.md#tasks-of-your-own).\n"
    ]
    for table in TABLES.values():
        summary = (inspect.getdoc(table.record) or "").split("\n\n")[0].replace("\n", " ")
        schema = table.record.model_json_schema(mode="serialization")
        fields = "\n".join(f"- `{name}`: {_type_name(field)}" for name, field in schema["properties"].items())
        parts.append(f"## {table.file_name}\n\n`{table.record.__name__}`: {summary}\n\n{fields}\n")
    return "\n".join(parts)


def _type_name(schema: dict[str, Any]) -> str:
    """A JSON schema in words, as `list of Turn or null`."""
    if "$ref" in schema:
        return str(schema["$ref"]).split("/")[-1]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type_name(option) for option in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type_name(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type_name(schema['additionalProperties'])}"
    return str(schema.get("type", "any JSON value"))


def labels() -> str:
    """Every known vocabulary with its labels."""
    parts = ["# Labels\n\nVocabularies are open: a turn may have any label. reeltalk knows these.\n"]
    for name, vocabulary in VOCABULARIES.items():
        summary = (inspect.getdoc(vocabulary) or "").split("\n")[0]
        says = member_docs(vocabulary)
        listed = ", ".join(f"`{label.value}`" for label in vocabulary)
        if says:
            listed = "\n".join(f"- {_named(name, label)}: {says[label.name]}" for label in vocabulary)
        parts.append(f"## {name}\n\n{summary}\n\n{listed}\n")
    return "\n".join(parts)


def _named(vocabulary: str, label: StrEnum) -> str:
    title = label_title(vocabulary, label)
    return f"`{label}`" if title == label else f"`{label}`, {title}"


def member_docs(kind: type) -> dict[str, str]:
    """The docstrings of an enum's members, by their names."""
    found: dict[str, str] = {}
    for given, said in itertools.pairwise(ast.walk(ast.parse(inspect.getsource(kind)).body[0])):
        match given, said:
            case (
                ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found


def error_tree() -> str:
    """Every error class."""
    parts = ["# Errors\n\nThe command line prints any of these as one paragraph and exits with code 2.\n"]
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.ReeltalkError):
            parts.append(f"- `{name}`: {(inspect.getdoc(kind) or '').splitlines()[0]}")
    return "\n".join(parts) + "\n"


def published_numbers() -> str:
    """Every published table that reeltalk ships, with its source."""
    parts = [
        "# Published numbers\n",
        "`reeltalk report --published` lists these numbers, or compares them with the numbers of runs. *Printed* "
        "means printed in a paper or on its project's page; a *label in a figure* is printed in a figure; a number "
        "*read off a figure by eye* may be off by one; a number *counted from released files* is nobody's claim; a "
        "third party reports the others. None of them was published with an interval.\n",
        published_overview(markdown=True),
    ]
    return "\n".join([*parts, *(markdown(read_published(name)) for name in FILES)])


def project_file() -> str:
    """Every section of a project file with its settings."""
    parts = [
        "# Project files\n",
        "All sections and settings of `project.yaml`; [a how-to](../how-to/project.md) says how to use it. Every "
        "section is a command and every setting one of its options, with its default in brackets. `null` means not "
        "given. `reeltalk new` writes all of them into the file, as comments.\n",
        "- `benchmark` (required): folder of the benchmark; all paths start from the project's file.",
    ]
    commands = section_commands()
    known = {option.key for command in commands.values() for option in command.options}
    parts += [f"- `{key}`: {text}" for key, text in SHARED.items() if key in known]
    for name, section in SECTIONS.items():
        command = commands[name]
        parts.append(f"\n## {name}\n\n`reeltalk {' '.join(command.words)}`: {command.help}\n")
        if name == "evaluate":
            parts.append(
                f"- `{MODELS}` (required): models by name, each a run: `NAME: MODEL`, or `NAME:` with any setting of "
                "this section, which then replaces the section's value. `mode` may be a list; each mode is then a run."
            )
        for option in command.options:
            if option.key in section.filled:
                continue
            default = TypeAdapter(option.kind).dump_json(option.default).decode() if not option.required else ""
            parts.append(f"- `{option.key}` ({f'`{default}`' if default else 'required'}): {option.help}")
    return "\n".join(parts) + "\n"


def judging_protocols() -> str:
    """Every judging protocol and every text metric, as their modules describe them."""
    parts = [
        "# Protocols and metrics\n",
        "Each row comes from the module that holds the judge or the metric. [Judge answers](../how-to/judge.md) says "
        "how to use protocols, [Metrics](metrics.md) how texts are tokenised.\n",
        "## Judging protocols\n",
        "*Score* is the judge's score, *right from* the lowest score of a right answer, and *numbers* are the columns "
        "of tables. A number that begins with `.` is a part of the one before.\n",
        "| Name | What it judges | Model | Score | Right from | Numbers |",
        "|---|---|---|---|---|---|",
    ]
    for protocol in protocols().values():
        scores = "; ".join(f"`{one.name}` {one.low:g}–{one.high:g}" for one in protocol.criteria)
        marks = ", ".join(dict.fromkeys(f"{one.pass_mark:g}" for one in protocol.criteria if one.pass_mark is not None))
        numbers = [f"`{info.name}` ({info.title}, {info.scale})" for info in protocol.measures]
        numbers += [f"`.{part.name}` {part.title}" for part in protocol.parts]
        numbers += [f"`.{protocol.open_parts.upper()}`"] if protocol.open_parts else []
        parts.append(
            f"| `{protocol.name}` | {protocol.help} | {'yes' if protocol.needs_model else 'no'} | {scores} | "
            f"{marks or '–'} | {', '.join(numbers)} |"
        )
    parts += [
        "\n## Text metrics\n",
        "All take several references.\n",
        "| Name | Title | What | Range | Source |",
        "|---|---|---|---|---|",
    ]
    parts += [
        f"| `{info.name}` | {info.title} | {info.what} | {info.scale} | {info.source} |"
        for info in TEXT_METRICS.values()
    ]
    return "\n".join(parts) + "\n"


OPTIONS_PAGE = """# Options and models

Not every option has an effect on every kind of model. An option without effect is refused, so two runs that differ in
an option never are the same run. *Signed*: the option can change an answer or a score, and is part of the signature.
*Yes*: it has another effect, as the address of a server. *–*: the command refuses it, and says why.

In a project file, a setting that all models share is left out for the models on which it has no effect.

Tests try every option on every kind of model: `test_option_effects.py`, `test_judge_options.py` and
`test_construct_options.py` of reeltalk-build, and `test_training_options.py` of reeltalk-streaming.
"""
ABOUT_JUDGE = """The columns are the models of `--judge`. What is left out here, such as `--limit`, has an effect with
each. `evaluate`, where no protocol asks a model, and `judge --attack` refuse the options of a judge's model too.
"""
ABOUT_CONSTRUCT = """*Checked*: yes if `--judge`, `--attacker` or `--probe` names a model. What is left out here has an
effect on every writer. The manifest of the
benchmark keeps the settings of each step. `--steps` runs a part of a command: options of other steps may stay.
"""
ABOUT_TRAIN = """Every other option of `train lora`, `world train` and `train merge` has an effect on its own."""


def model_options() -> str:
    """Which options have an effect on which kinds of models, for each command that asks or trains a model."""
    parts = [OPTIONS_PAGE]
    for command, kinds in KINDS_OF.items():
        rows = []
        only = {name: " or ".join(f"`{one}`" for one in of) for name, of in OF_PROTOCOLS.items()}
        for option in OPTIONS_OF[command]:
            # A conversation has no score that could be signed.
            effect = "yes" if option in UNSIGNED or command == "chat" else "signed"
            takes = kinds_of_option(option, command)
            also = (only.get(option, ""),) if command == "judge" else ()
            rows.append((_option(option), *(effect if kind in takes else "–" for kind in kinds), *also))
        header = ("Option", *(EXAMPLES[kind] for kind in kinds), *(("Only with",) if command == "judge" else ()))
        about = [ABOUT_JUDGE] if command == "judge" else []
        parts += [f"## {command}\n", *about, *markdown_table(header, rows, numbers=[False] * len(header)), ""]
    rows = []
    for one in command_of(("construct",)).options:
        writers = WRITER_OPTIONS.get(one.key, frozenset(WRITERS))
        if one.flag is None or (len(writers) == len(WRITERS) and one.key not in ONLY_WITH):
            continue
        other = "checked" if one.key in CHECKED else "–"
        cells = ("yes" if writer in writers else other for writer in WRITERS)
        rows.append((f"`{one.flag}`", *cells, ONLY_WITH.get(one.key, "")))
    header = ("Option", *WRITERS.values(), "Only with")
    parts += ["## construct\n", ABOUT_CONSTRUCT, *markdown_table(header, rows, numbers=[False] * len(header)), ""]
    rows = []
    for words in (("train", "lora"), ("world", "train")):
        rows += [
            (f"`{one.flag}`", f"`{' '.join(words)}`", TRAINING_NEEDS[one.key])
            for one in command_of(words).options
            if one.key in TRAINING_NEEDS
        ]
    table = markdown_table(("Option", "Command", "Only with"), rows, numbers=[False] * 3)
    parts += ["## train\n", f"{ABOUT_TRAIN}\n", *table, ""]
    return "\n".join(parts) + "\n"


def _option(name: str) -> str:
    return f"`--{name.replace('_', '-')}`"


PAGES = {
    "options.md": model_options,
    "protocols.md": judging_protocols,
    "api.md": api,
    "commands.md": commands,
    "tables.md": tables,
    "labels.md": labels,
    "errors.md": error_tree,
    "project.md": project_file,
    "published.md": published_numbers,
    "performance.md": performance,
    "reliability.md": reliability,
    "public-reports.md": public_reports,
}


def main() -> None:
    """Write the pages."""
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")
        print(REFERENCE / name)


if __name__ == "__main__":
    main()
