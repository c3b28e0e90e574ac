"""The card of a data set repository: YAML that the Hub reads, and a page for people."""

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Any, Final

import yaml

from reeltalk.formats import FORMATS
from reeltalk.store.content import Content

FULL: Final = "full"
"""Name of the split that a whole table is; the Hub knows no table without a split."""
SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
ENGLISH: Final = frozenset({"vdact", "mt-video-bench", "dramaqa", "avsd", "video-mme", "mvbench", "ovo-bench"})
"""Layouts whose questions are in English throughout."""


def title_of(content: Content) -> str:
    """What to call the data set, from the layout it was imported from."""
    formats = sorted({file.format for file in content.source_files} & set(FORMATS))
    return f"{formats[0]} in reeltalk's tables" if len(formats) == 1 else "a benchmark of dialogue about video"


def licences_of(content: Content) -> Counter[str]:
    """How many videos have each licence."""
    return Counter(video.licence or "not stated" for video in content.videos)


def languages_of(content: Content) -> list[str]:
    """Languages of the questions, as far as the imported files tell."""
    found: set[str] = set()
    for file in content.source_files:
        if file.format in ENGLISH:
            found.add("en")
        elif file.format == "svbench":
            folders = PurePosixPath(file.path).parts[:-1]
            found |= {code for code in ("en", "zh") if any(part.lower().endswith(f"_{code}") for part in folders)}
    return sorted(found)


def card(content: Content, configs: dict[str, list[tuple[str, str]]]) -> str:
    """The card as Markdown.

    Args:
        content: The benchmark.
        configs: For each part that can be loaded alone its splits, as name of the split and path; the first is the
            default.
    """
    title = title_of(content)
    turns = [turn for chain in content.chains for turn in chain.turns]
    turns += [turn for dialogue in content.dialogues for turn in dialogue.turns]
    tasks = ["video-text-to-text", "question-answering"]
    if any(turn.options for turn in turns):
        tasks.append("multiple-choice")
    front: dict[str, Any] = {"pretty_name": title, "license": "other", "license_name": "see-card"}
    if languages := languages_of(content):
        front["language"] = languages
    front |= {
        "task_categories": tasks,
        "tags": ["video", "multi-turn-dialogue", "reeltalk"],
        "size_categories": [next((label for size, label in SIZES if len(turns) < size), "n>1M")],
        "configs": [
            {
                "config_name": name,
                **({"default": True} if index == 0 else {}),
                "data_files": [{"split": split, "path": path} for split, path in files],
            }
            for index, (name, files) in enumerate(configs.items())
        ],
    }
    first = next(iter(configs), None)
    lines = [
        "---",
        yaml.safe_dump(front, sort_keys=False, allow_unicode=True).strip(),
        "---",
        "",
        f"# {_cell(title)}",
        "",
        *([f'`datasets.load_dataset("OWNER/NAME", "{first}")` loads the first part.', ""] if first else []),
        "## Parts",
        "",
        "| Part | Splits |",
        "| --- | --- |",
        *(f"| {name} | {', '.join(split for split, _ in files)} |" for name, files in configs.items()),
        "",
        "| Table | Rows |",
        "| --- | ---: |",
        *(f"| {table} | {len(rows):,} |" for table, rows in content.rows() if rows),
        *([f"| graphs | {len(content.graphs):,} |"] if content.graphs else []),
        *([f"| media files | {len(content.media):,} |"] if content.media else []),
        "",
        "Columns that hold free-form values (`extra`, `labels` and the like) are strings of JSON.",
        "",
        "## Licences",
        "",
        "Each video keeps its own; `data/videos.parquet` has it.",
        "",
        "| Licence | Videos |",
        "| --- | ---: |",
        *(f"| {_cell(licence)} | {count:,} |" for licence, count in licences_of(content).most_common()),
        "",
        "Read it back with `reeltalk import hub FOLDER BENCHMARK`.",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"([|<>`*_\[\]\\])", r"\\\1", " ".join(text.split()))
