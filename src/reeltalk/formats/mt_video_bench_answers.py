"""Reads answers to MT-Video-Bench that lie apart from its release: a benchmark says which dialogue each is about."""

from pathlib import Path
from typing import Final

from reeltalk.errors import InputError
from reeltalk.formats import mt_video_bench_layout as layout
from reeltalk.formats.mt_video_bench_documents import number_of
from reeltalk.formats.mt_video_bench_read import Reader
from reeltalk.formats.mt_video_bench_write import Writer
from reeltalk.store.content import Content

LOOKED_FOR: Final = "expected a model's folder with <task>.json in it: {video: {event: [an answer for each round]}}"


class AnswerReader(Reader):
    """Reads the answers and results that lie at `source`, and nothing else of a release.

    Args:
        source: A model's folder, a folder of such, one file, or a release with answers in it.
        about: The benchmark. Its dialogues are called as in its files, or as its export would call them.
    """

    def __init__(self, source: Path, about: Content) -> None:
        super().__init__(source)
        self.elsewhere = "--bench must name the benchmark that the answers are about"
        dialogues = {dialogue.id: dialogue for dialogue in about.dialogues}
        for name, own in Writer(about, Path()).named().items():
            dialogue = self.dialogues[name] = dialogues[own]  # type: ignore[index]
            self.rounds[own] = {number_of(turn, index): index for index, turn in enumerate(dialogue.turns)}

    def read(self) -> Content:
        """Read the answers, each about a dialogue of the benchmark.

        Raises:
            InputError: Something is damaged, is about another benchmark, or there are no answers.
        """
        files = self._collect()
        folder = self.source.absolute() if self.source.is_dir() else self.source.absolute().parent
        for file in files:
            # Where only the given folder can name the model, it belongs to the files' paths.
            if file.kind in ("answers", "results") and not layout.names_above(file.name):
                file.name = f"{folder.name}/{file.name}"
        if not any(file.kind == "answers" for file in files):
            raise InputError("no models' answers to MT-Video-Bench here", file=self.source, hint=LOOKED_FOR)
        self._read_kinds(files, "answers", "results")
        self._assemble()
        return self.content
