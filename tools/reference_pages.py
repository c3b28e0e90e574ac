"""The reference: pages to search, made from the code whenever the site is built, and kept nowhere.

`PAGES` has their names in the site. `tools/assemble_docs.py` writes them.
"""

import ast
import inspect
import io
import itertools
import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Final
from unittest.mock import patch

from api_reference import ABOUT_API, api_entries
from cyclopts.help import DefaultFormatter
from places import REVIEW
from pydantic import TypeAdapter
from rich.console import Console
from search_page import Entry, search_page

from reeltalk import errors
from reeltalk.analysis.published.records import (
    HOW_WORDS,
    PUBLISHED_FILES,
    PublishedBenchmark,
    PublishedTable,
    format_published,
    read_published,
)
from reeltalk.cli import app
from reeltalk.cli.short_help import show_all_options
from reeltalk.evaluation.checks import PROTOCOL_SETTINGS
from reeltalk.evaluation.model_options import EXAMPLES, KINDS_BY_COMMAND, OPTIONS_BY_COMMAND, UNSIGNED, kinds_of_option
from reeltalk.judge.protocol import protocols
from reeltalk.metrics.scoring import TEXT_METRICS
from reeltalk.schema.labels import VOCABULARIES, label_title
from reeltalk.schema.sft import TRAINING_NEEDS
from reeltalk.store.tables import TABLES
from reeltalk_build.cli.projects import command_of, section_commands
from reeltalk_build.construct.writer_options import CHECKING_OPTIONS, NEEDED_OPTIONS, WRITER_OPTIONS, WRITERS
from reeltalk_build.project.sections import MODELS, SECTIONS, SHARED

# ── Commands ──────────────────────────────────────────────────────────────────────────────────────────────────────────

ABOUT_COMMANDS: Final = """Every command with all of its options. `reeltalk COMMAND --help` shows the usual ones in a
terminal, and `--help-all` all. Exit codes: 0 done, 1 findings, 2 you must act, 130 interrupted."""


def commands() -> Iterator[Entry]:
    """Every command, in the order of use."""
    for name in [name for name in app if not name.startswith("-")]:
        yield _command(name)
        for sub in [sub for sub in app[name] if not sub.startswith("-")]:
            yield _command(name, sub)


def _command(*words: str) -> Entry:
    rows: list[tuple[str, str]] = []

    def take(_: object, __: object, ___: object, panel: Any) -> None:
        if panel.entries:
            rows.append(("", str(panel.title)))
        for one in panel.entries:
            told = _plain(one.description) if one.description is not None else ""
            told += f" One of {', '.join(one.choices)}." if one.choices else ""
            told += f" Default: `{one.default}`." if one.default is not None else ""
            told += " Required." if one.required else ""
            shown = one.display_labels_with_metavar or one.names
            rows.append((", ".join(shown), told.strip()))

    stream = io.StringIO()
    console = Console(file=stream, width=100_000, color_system=None, force_terminal=False)
    show_all_options()
    # Groups of options have formatters of their own, and each ends in this one.
    with patch.object(DefaultFormatter, "__call__", take):
        app([*words, "--help"], console=console, exit_on_error=False, result_action="return_value")
    printed = "\n".join(line.rstrip() for line in stream.getvalue().strip().splitlines())
    usage, *texts = re.split(r"\n\n+", printed)
    texts = [text for text in texts if "--help-all" not in text]
    return Entry(f"reeltalk {' '.join(words)}", "\n\n".join(texts), rows, code=usage.removeprefix("Usage: "))


def _plain(text: Any) -> str:
    stream = io.StringIO()
    Console(file=stream, width=100_000, color_system=None, force_terminal=False).print(text)
    return stream.getvalue().strip()


# ── Options and models ────────────────────────────────────────────────────────────────────────────────────────────────

ABOUT_OPTIONS: Final = """Not every option has an effect on every kind of model. An option without effect is refused, so
two runs that differ in an option never are the same run. *Signed*: the option can change an answer or a score, and is
part of the signature. *Yes*: it has another effect, as the address of a server. *–*: the command refuses it, and says
why. In a project file, a setting that all models share is left out for the models on which it has no effect."""
OF_COMMANDS: Final = {
    "judge": "The columns are the models of `--judge`. What is left out here, such as `--limit`, has an effect with "
    "each. `evaluate`, where no protocol asks a model, and `judge --attack` refuse the options of a judge's model too.",
    "construct": "*Checked*: yes if `--judge`, `--attacker` or `--probe` names a model. What is left out here has an "
    "effect on every writer. `--steps` runs a part of a command: options of other steps may stay.",
    "train": "What is left out here has an effect on its own.",
}


def model_options() -> Iterator[Entry]:
    """Which options have an effect on which kinds of models, for each command that asks or trains a model."""
    for command, kinds in KINDS_BY_COMMAND.items():
        only = {name: " or ".join(f"`{one}`" for one in of) for name, of in PROTOCOL_SETTINGS.items()}
        last = ("Only with",) if command == "judge" else ()
        rows = [("Option", *(EXAMPLES[kind] for kind in kinds), *last)]
        for option in OPTIONS_BY_COMMAND[command]:
            # A conversation has no score that could be signed.
            effect = "yes" if option in UNSIGNED or command == "chat" else "signed"
            takes = kinds_of_option(option, command)
            also = (only.get(option, ""),) if last else ()
            flag = f"`--{option.replace('_', '-')}`"
            rows.append((flag, *(effect if kind in takes else "–" for kind in kinds), *also))
        yield _matrix(command, rows)
    rows = [("Option", *WRITERS.values(), "Only with")]
    for one in command_of(("construct",)).options:
        writers = WRITER_OPTIONS.get(one.key, frozenset(WRITERS))
        if one.flag is None or (len(writers) == len(WRITERS) and one.key not in NEEDED_OPTIONS):
            continue
        other = "checked" if one.key in CHECKING_OPTIONS else "–"
        cells = ("yes" if writer in writers else other for writer in WRITERS)
        rows.append((f"`{one.flag}`", *cells, NEEDED_OPTIONS.get(one.key, "")))
    yield _matrix("construct", rows)
    rows = [("Option", "Command", "Only with")]
    for words in (("train", "lora"), ("world", "train")):
        rows += [
            (f"`{one.flag}`", f"`{' '.join(words)}`", TRAINING_NEEDS[one.key])
            for one in command_of(words).options
            if one.key in TRAINING_NEEDS
        ]
    yield _matrix("train", rows)


def _matrix(command: str, rows: list[tuple[str, ...]]) -> Entry:
    about = OF_COMMANDS.get(command, "").replace("*Checked*", "“Checked”")
    return Entry(command, f"and the options that depend on the model\n\n{about}".strip(), table=rows)


# ── Project files ─────────────────────────────────────────────────────────────────────────────────────────────────────

ABOUT_PROJECT: Final = """Every section and setting of `project.yaml`; [a how-to](../how-to/project.md) says how to use
it. A section is a command and a setting one of its options. `null` means not given. `reeltalk new` writes all of them
into the file, as comments."""


def project_file() -> Iterator[Entry]:
    """Every section of a project file with its settings."""
    found = section_commands()
    known = {option.key for command in found.values() for option in command.options}
    shared = [(key, text) for key, text in SHARED.items() if key in known]
    first = ("benchmark", "Folder of the benchmark; all paths start from the project's file. Required.")
    yield Entry("project.yaml", "settings of the whole project", [first, *shared])
    for name, section in SECTIONS.items():
        command = found[name]
        rows = []
        if name == "evaluate":
            told = (
                "Models by name, each a run: `NAME: MODEL`, or `NAME:` with any setting of this section, which then "
                "replaces the section's value. `mode` may be a list; each mode is then a run. Required."
            )
            rows.append((MODELS, told))
        for option in command.options:
            if option.key not in section.filled:
                default = TypeAdapter(option.kind).dump_json(option.default).decode() if not option.required else ""
                rows.append((option.key, f"{option.help} {f'Default: `{default}`.' if default else 'Required.'}"))
        yield Entry(name, f"`reeltalk {' '.join(command.words)}`: {command.help}", rows)


# ── Tables and labels ─────────────────────────────────────────────────────────────────────────────────────────────────

ABOUT_TABLES: Final = """The tables of a benchmark and of a run, one JSON object a line, and the labels that reeltalk
knows. Fields equal to their default are left out. `reeltalk validate --accept` makes a table that you wrote a part of
the benchmark, as [tasks of streams](../how-to/stream.md#tasks-of-your-own). Vocabularies are open: a turn may have any
label."""


def tables_and_labels() -> Iterator[Entry]:
    """Every table with the fields of its records, then every known vocabulary with its labels."""
    for table in TABLES.values():
        summary = (inspect.getdoc(table.record) or "").split("\n\n")[0]
        schema = table.record.model_json_schema(mode="serialization")
        rows = [(name, _type_name(field)) for name, field in schema["properties"].items()]
        yield Entry(table.file_name, f"`{table.record.__name__}`: {summary}", rows)
    for name, vocabulary in VOCABULARIES.items():
        summary = (inspect.getdoc(vocabulary) or "").split("\n")[0]
        says = member_docs(vocabulary)
        rows = [(label.value, _says(name, label, says.get(label.name, ""))) for label in vocabulary]
        yield Entry(f"label {name}", summary, rows)


def _says(vocabulary: str, label: StrEnum, text: str) -> str:
    title = label_title(vocabulary, label)
    return ": ".join(filter(None, ("" if title == label else title, text)))


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


# ── Protocols and metrics ─────────────────────────────────────────────────────────────────────────────────────────────

ABOUT_PROTOCOLS: Final = """Judging protocols and text metrics, as the modules that hold them say. [Judge
answers](../how-to/judge.md) says how to use protocols, [Metrics](metrics.md) how texts are tokenised. A number that
begins with `.` is a part of the one before. All text metrics take several references."""


def protocols_and_metrics() -> Iterator[Entry]:
    """Every judging protocol and every text metric."""
    for protocol in protocols().values():
        rows = [("model", "A model is asked." if protocol.needs_model else "No model is asked.")]
        for one in protocol.criteria:
            marked = f", right from {one.pass_mark:g}" if one.pass_mark is not None else ""
            rows.append((one.name, f"The judge's score, {one.low:g}–{one.high:g}{marked}."))
        rows.append(("", "Numbers"))
        rows += [(info.name, f"{info.title}, {info.scale}") for info in protocol.measures]
        rows += [(f".{part.name}", part.title) for part in protocol.parts]
        rows += [(f".{protocol.open_parts.upper()}", "one for each")] if protocol.open_parts else []
        yield Entry(protocol.name, protocol.help, rows)
    for info in TEXT_METRICS.values():
        rows = [("title", info.title), ("range", info.scale), ("source", info.source)]
        yield Entry(f"metric {info.name}", info.what, rows)


# ── Keys of the review ────────────────────────────────────────────────────────────────────────────────────────────────

ABOUT_KEYS: Final = """Keys of the screens on which people [review](../how-to/review.md). A key means the same on every
screen. In a field no key acts alone: hold Alt (Mac: Control) with it, or press Esc first."""
ACTION: Final = re.compile(
    r'name: "[^"]+", group: "([^"]+)", label: "([^"]+)", keys: (\[".+?"\]|[A-Z]+)(?:, range: "([^"]+)")?'
)
SIGNS: Final = {"Escape": "Esc", "ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓"}


def review_keys() -> Iterator[Entry]:
    """The keys of each group of actions, as the script of the screens lists them."""
    table = (REVIEW / "static" / "actions.js").read_text(encoding="utf-8")
    groups: dict[str, list[tuple[str, str]]] = {}
    for group, label, listed, spoken in ACTION.findall(table):
        keys = [key.replace("\\\\", "\\") for key in re.findall(r'"([^"]+)"', listed)]
        shown = [re.sub(r"\b[a-z]$", lambda letter: letter.group().upper(), key) for key in keys]
        shown = [re.sub(r"\w{5,}$", lambda word: SIGNS.get(word.group(), word.group()), key) for key in shown]
        groups.setdefault(group, []).append((spoken or ", ".join(shown), label))
    for group, rows in groups.items():
        yield Entry(group, f"{len(rows)} keys", rows)


# ── Python, errors, published numbers ─────────────────────────────────────────────────────────────────────────────────


def python() -> Iterator[Entry]:
    """Every public name, then every error."""
    yield from api_entries()
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.ReeltalkError) and name != "ReeltalkError":
            yield Entry(name, (inspect.getdoc(kind) or "").splitlines()[0])


ABOUT_PUBLISHED: Final = """`reeltalk report --published` lists these numbers, or compares them with those of runs.
*Printed* means printed in a paper or on its project's page; a number *read off a figure by eye* may be off by one; a
number *counted from released files* is nobody's claim; a third party reports the others. None of them was published
with an interval."""


def published_tables() -> Iterator[Entry]:
    """Every published table that reeltalk ships, with its source."""
    for benchmark in map(read_published, PUBLISHED_FILES):
        notes = "\n\n".join(benchmark.notes)
        yield Entry(benchmark.name, f"{benchmark.paper}, {len(benchmark.tables)} tables\n\n{notes}")
        for table in benchmark.tables:
            yield _published(benchmark, table)


def _published(benchmark: PublishedBenchmark, table: PublishedTable) -> Entry:
    labels = [column.label for column in table.columns]
    told = [
        f"{one.label}, {one.mode}" if labels.count(one.label) > 1 and one.mode else one.label for one in table.columns
    ]
    about = [f"{benchmark.source_of(table)}: {HOW_WORDS[table.how]}"]
    about += [f"judge {table.judge}"] if table.judge else []
    about += [f"version {table.version}"] if table.version else []
    about += [f"{table.frames} frames"] if table.frames else []
    about += [f"history {table.history}"] if table.history else []
    about += [f"our {', '.join(f'`{one}`' for one in table.metrics)}"] if table.metrics else []
    frames = any(row.frames is not None for row in table.rows)
    rows = [("Model", *told, *(("Frames",) if frames else ()))]
    for row in table.rows:
        rows.append((row.model, *map(format_published, row.values), *((str(row.frames or "–"),) if frames else ())))
    text = "\n\n".join([table.about, f"{'; '.join(about)}.", *table.notes])
    return Entry(f"{benchmark.name} {table.id}", text, table=rows)


PAGES: Final[dict[str, Callable[[], str]]] = {
    "commands.md": lambda: search_page("Commands", ABOUT_COMMANDS, [*commands()], example="--frames"),
    "options.md": lambda: search_page("Options and models", ABOUT_OPTIONS, [*model_options()], example="--temperature"),
    "api.md": lambda: search_page("Python API", ABOUT_API, [*python()], example="PlaySettings"),
    "project.md": lambda: search_page("Project files", ABOUT_PROJECT, [*project_file()], example="min_shots"),
    "tables.md": lambda: search_page("Tables and labels", ABOUT_TABLES, [*tables_and_labels()], example="evidence"),
    "protocols.md": lambda: search_page(
        "Protocols and metrics", ABOUT_PROTOCOLS, [*protocols_and_metrics()], example="svbench"
    ),
    "review-keys.md": lambda: search_page("Keys of the review", ABOUT_KEYS, [*review_keys()], example="Undo"),
    "published.md": lambda: search_page("Published numbers", ABOUT_PUBLISHED, [*published_tables()], example="GPT-4o"),
}
"""The name of each page below `reference/`, and what makes it."""
