"""A Label Studio export, alone or in the folder that its tasks were exported to, as a benchmark again."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import InputError
from reeltalk.formats.label_studio_annotations import Annotations
from reeltalk.formats.label_studio_documents import KEPT, Row, Task, read_tasks
from reeltalk.formats.label_studio_write import GRAPHS, VIDEOS
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.store.content import Content
from reeltalk.store.documents import parse, placed, read_json, read_json_lines
from reeltalk.store.manifest import hash_file
from reeltalk.store.tables import TABLES

UNITS: Final = {"chains": QAChain, "dialogues": Dialogue}
LONGEST_GRAPH_NAME_BYTES: Final = 200
"""A file system takes 255, of which the ending and a file that is still being written need some."""
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class Reader:
    """Reads one file or folder.

    Args:
        source: An export, or a folder with exports, `tasks.json`, `kept` and `videos`.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self.content = Content()
        self.rows: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self.records: dict[str, dict[int, Any]] = defaultdict(dict)

    def read(self) -> Content:
        """All that is there.

        Raises:
            InputError: A file is damaged, or is of another benchmark than the rest; names file and place.
        """
        tasks = self._tasks()
        for task in tasks:
            for number, row in enumerate(task.source.units):
                self._add(row, task.file, f"{task.place}: unit {number}", unit=True)
            for number, row in enumerate(task.source.rows):
                self._add(row, task.file, f"{task.place}: row {number}")
        kept = self._read_kept() if self.source.is_dir() else set()
        self._read_annotations(tasks)
        for table, records in self.records.items():
            found = [records[number] for number in sorted(records)]
            setattr(self.content, table, found + getattr(self.content, table))
        if self.source.is_dir():
            self._read_videos()
        self._tell_left_behind(tasks, kept)
        return self.content

    def _tasks(self) -> list[Task]:
        if not self.source.exists():
            raise InputError("no such file or folder", file=self.source, hint="check the path")
        if not self.source.is_dir():
            return read_tasks(self.source, read_json(self.source))
        paths = sorted(path for path in self.source.glob("*.json") if not path.name.startswith("."))
        if not paths:
            raise InputError(
                "no tasks or exports here",
                file=self.source,
                hint="expected tasks.json, or an export as JSON or JSON-MIN",
            )
        return [task for path in paths for task in read_tasks(path, read_json(path))]

    def _add(self, row: Row, file: Path, place: str, *, unit: bool = False) -> None:
        if row.table not in (UNITS if unit else TABLES):
            known = ", ".join(UNITS if unit else TABLES)
            raise InputError("no such table", file=file, place=place, value=row.table, hint=f"known are {known}")
        known_row = self.rows[row.table].setdefault(row.row, row.record)
        if known_row is not row.record:
            if json.dumps(known_row, sort_keys=True) != json.dumps(row.record, sort_keys=True):
                raise InputError(
                    f"row {row.row} of {row.table} differs from what another task or file says",
                    file=file,
                    place=place,
                    hint="files of one export belong together; keep those of others in folders of their own",
                )
            return
        with placed(file, place):
            self.records[row.table][row.row] = TABLES[row.table].record.model_validate(row.record)

    def _read_kept(self) -> set[str]:
        """Read the rows that no task holds; the tables that there are."""
        found = set()
        for path in sorted((self.source / KEPT).glob("*.jsonl")):
            found.add(path.stem)
            for line, value in read_json_lines(path):
                if path.name == GRAPHS:
                    graph = parse(dict[str, str], value, file=path, line=line)
                    if graph.keys() != {"name", "quads"}:
                        raise InputError("must have name and quads", file=path, line=line)
                    name = graph["name"]
                    if not _names_a_file(name):
                        raise InputError(
                            "no graph can have this name", file=path, line=line, place="$.name", value=name
                        )
                    self.content.graphs[graph["name"]] = graph["quads"]
                    continue
                self._add(parse(Row, value, file=path, line=line), path, f"line {line}")
        return found

    def _read_annotations(self, tasks: list[Task]) -> None:
        annotations = Annotations()
        for task in tasks:
            units = [(row, self.records[row.table][row.row]) for row in task.source.units]
            annotations.add(task, units)
        touched = {(table, row) for table, row, _ in annotations.wordings}
        for table, row in sorted(touched):
            unit = self.records[table][row]
            turns = tuple(annotations.turn((table, row, index), turn) for index, turn in enumerate(unit.turns))
            if turns != unit.turns:
                self.records[table][row] = unit.model_copy(update={"turns": turns})
        self.content.reviews = annotations.reviews
        self.content.rejected = annotations.rejected
        self.content.warnings += [f"{what}: {count:,}" for what, count in annotations.counts.items() if count]

    def _read_videos(self) -> None:
        strange = 0
        for path in sorted((self.source / VIDEOS).glob("*")):
            if path.name.startswith(".") or not path.is_file():
                continue
            if not _HASH.fullmatch(path.stem):
                strange += 1
                continue
            sha256 = hash_file(path)[0]
            if sha256 != path.stem:
                raise InputError("the file does not have the hash that it is named by", file=path, value=sha256)
            self.content.media[sha256] = path
        if strange:
            self.content.warnings.append(f"videos that are not named by their hash are not taken in: {strange:,}")

    def _tell_left_behind(self, tasks: list[Task], kept: set[str]) -> None:
        counts: dict[str, int] = {}
        for task in tasks:
            counts |= task.source.kept
        absent = [f"{count:,} {table}" for table, count in counts.items() if table not in kept]
        if absent:
            self.content.warnings.append(
                f"tasks do not hold {', '.join(absent)}: import the folder that was exported, with the export in it"
            )


def _names_a_file(name: str) -> bool:
    """True if the benchmark can hold a graph of this name."""
    fits = len(name.encode(errors="replace")) <= LONGEST_GRAPH_NAME_BYTES
    return name != "" and not name.startswith(".") and not set("/\\\0") & set(name) and fits
