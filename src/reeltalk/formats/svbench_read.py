"""Finds out which files of SVBench lie at a place, and reads them in the order in which they rest on each other."""

from pathlib import Path, PurePosixPath
from typing import Final

from reeltalk.errors import InputError
from reeltalk.formats import svbench_layout as layout
from reeltalk.formats.source_form import with_form
from reeltalk.formats.svbench_documents import Documents
from reeltalk.formats.svbench_judged import JudgedReader
from reeltalk.formats.svbench_layout import Place
from reeltalk.formats.svbench_records import File
from reeltalk.formats.svbench_release import ReleaseReader
from reeltalk.store.content import Content
from reeltalk.store.documents import read_json

LOOKED_FOR: Final = (
    "expected Meta, Dialogue, Con, Path or Streaming files of a release (Dialogue/Dialogue_EN/<video>.json, …), "
    "models' answers (Answers/<model>/<video>.json) or judges' records (Judged/<judge>/<model>/<name>.json)"
)
READING_ORDER: Final = (
    "meta",
    "scenes",
    "dialogue",
    "con",
    "path",
    "streaming",
    "answers",
    "judged chain",
    "judged single",
    "judged con",
)


class Reader(ReleaseReader, JudgedReader):
    """Reads whatever of SVBench lies at `source`."""

    def read(self) -> Content:
        """Read everything.

        Raises:
            InputError: Something is damaged, or nothing of SVBench is there.
        """
        files = self._collect()
        if not files:
            raise InputError("nothing of SVBench here", file=self.source, hint=LOOKED_FOR)
        for kind in READING_ORDER:
            for file in files:
                if file.kind == kind:
                    getattr(self, f"_read_{kind.replace(' ', '_')}")(file)
        self._assemble()
        documents = Documents(self.content, self.files.values())
        self.content.source_files = [
            with_form(self.files[file.name], file.value, documents.plain(self.files[file.name])) for file in files
        ]
        return self.content

    def _assemble(self) -> None:
        content = self.content
        content.videos = list(self.videos.values())
        content.clips = list(self.clips.values())
        content.chains = [chain for numbered in self.chains.values() for _, chain in sorted(numbered.items())]
        content.paths = [path for paths in self.paths.values() for path in paths]
        content.dialogues = list(self.dialogues.values())
        content.answers = [answer for rows in self.answers.values() for _, answer in sorted(rows.items())]
        content.scores = list(self.scores.values())

    def _collect(self) -> list[File]:
        if not self.source.exists():
            raise InputError("no such file or folder", file=self.source, hint="check the path")
        single = self.source.is_file()
        root = self.source.absolute().parent if single else self.source.absolute()
        # A part of a release keeps the folders that say what it is and in which language.
        while layout.is_layout_folder(root.name) and not (root == self.source.absolute() and _has_layout_folder(root)):
            root = root.parent
        paths = [self.source] if single else sorted(self.source.rglob("*"))
        files = []
        for path in paths:
            name = path.absolute().relative_to(root).as_posix()
            if path.is_file() and not any(part.startswith(".") for part in PurePosixPath(name).parts):
                if file := self._open(name, path):
                    files.append(file)
        # Where only the imported folder itself can name the model, it belongs to the files' paths.
        unnamed = [file for file in files if file.kind.startswith(("answers", "judged")) and not file.place.names]
        if any(Place.of(f"{root.name}/{file.name}").names for file in unnamed):
            for file in files:
                file.name = f"{root.name}/{file.name}"
        return files

    def _open(self, name: str, path: Path) -> File | None:
        suffix = path.suffix.lower()
        if suffix == ".json":
            value = read_json(path)
            if kind := layout.kind_of(value, Place.of(name)):
                return File(name, path, kind, value)
            raise InputError("not a file of SVBench", file=path, place="$", value=value, hint=LOOKED_FOR)
        if suffix == ".csv":
            columns, rows = layout.read_csv(path)
            for kind, required in (("meta", layout.META_COLUMNS), ("scenes", layout.SCENE_COLUMNS)):
                if set(required) <= set(columns):
                    return File(name, path, kind, [row for _, row in rows], columns, [line for line, _ in rows])
            raise InputError(
                "not a table of SVBench",
                file=path,
                line=1,
                value=",".join(columns),
                hint=f"expected the columns {', '.join(layout.META_COLUMNS)}; or {', '.join(layout.SCENE_COLUMNS)}",
            )
        self.content.warnings.append(f"{name}: not part of SVBench's layout; left out")
        return None


def _has_layout_folder(folder: Path) -> bool:
    return any(child.is_dir() and layout.is_layout_folder(child.name) for child in folder.iterdir())
