"""Reads answers to SVBench that lie apart from the release: a benchmark says which chain and path each is about."""

from pathlib import Path
from typing import Final

from reeltalk.errors import InputError
from reeltalk.formats.svbench_documents import Documents, first
from reeltalk.formats.svbench_layout import FORMAT, language_of
from reeltalk.formats.svbench_read import Reader
from reeltalk.formats.svbench_records import File
from reeltalk.formats.svbench_write import Writer
from reeltalk.schema.dialogue import DialoguePath
from reeltalk.schema.ids import PathId
from reeltalk.store.content import Content

KINDS: Final = ("answers", "judged chain", "judged single", "judged con")
LOOKED_FOR: Final = (
    "expected a model's folder with Dialogue_EN/<video>.json or Streaming_EN/<video>.json in it, lists of "
    "{questions, gt_answers, answers}"
)
WHICH: Final = "give the folder of answers to the benchmark that --bench names, or name the one that they are about"


class AnswerReader(Reader):
    """Reads the answers and judgements that lie at `source`, and nothing else of a release.

    Args:
        source: A model's folder, a folder of such, one file, or a release with answers in it.
        about: The benchmark. Its chains and paths are counted as in its files, or as its export would have them.
    """

    def __init__(self, source: Path, about: Content) -> None:
        super().__init__(source)
        writer = Writer(about, Path())
        files = writer.plan()
        self.named = {used: name.removeprefix("video ") for name, used in writer.names.items()}
        numbers = Documents(about, files).numbers
        for chain in about.chains:
            self.chains[chain.video_id, language_of(chain)][numbers[chain.id]] = chain
        self.clips = {clip.id: clip for clip in about.clips}
        paths: dict[str, DialoguePath] = {path.id: path for path in about.paths}
        for file in files:
            if file.kind != "path":
                continue
            languages, ids = file.extra["languages"], [*file.records, *file.extra.get("twins", ())]
            share = len(ids) // len(languages)
            for place, language in enumerate(languages):
                own = ids[place * share : (place + 1) * share]
                self.paths[file.extra["video"], language] = [paths[PathId(path_id)] for path_id in own]
        for file in about.source_files_of(FORMAT, "judged con"):
            for dialogue in about.dialogues:
                if dialogue.id in file.records:
                    language = dialogue.id.removeprefix(f"{dialogue.video_id}/").split("/")[0]
                    texts = [turn.question for turn in dialogue.turns], [first(t.references) for t in dialogue.turns]
                    self.linked[repr((dialogue.video_id, language, *texts, dialogue.extra))] = dialogue.id
                    self.dialogues[dialogue.id] = dialogue

    def read(self) -> Content:
        """Read the answers, each about a chain or path of the benchmark.

        Raises:
            InputError: Something is damaged, is about another benchmark, or there are no answers.
        """
        files = [file for file in self._collect() if file.kind in KINDS]
        if not files:
            raise InputError("no models' answers to SVBench here", file=self.source, hint=LOOKED_FOR)
        for kind in KINDS:
            for file in files:
                if file.kind == kind:
                    getattr(self, f"_read_{kind.replace(' ', '_')}")(file)
        self._assemble()
        self._refuse_others(files)
        return self.content

    def key_of(self, file: File, video: str, place: str) -> tuple[str, str]:
        """The video of the benchmark that a file names, and the language of its chains."""
        video = self.named.get(video, video)
        spoken = [language for name, language in self.chains if name == video and self.chains[name, language]]
        language = spoken[0] if file.place.language is None and len(spoken) == 1 else file.language
        if language not in spoken:
            known = f"are in {', '.join(sorted(spoken))} alone" if spoken else "are not in the benchmark"
            raise InputError(f"chains of video '{video}' {known}", file=file.path, place=place, hint=WHICH)
        return video, language

    def _refuse_others(self, files: list[File]) -> None:
        """Refuse answers of which not one question is the benchmark's."""
        answers = self.content.answers
        if answers and all(answer.asked_as is not None for answer in answers):
            raise InputError(
                "not one of these questions is asked at its place in the benchmark",
                file=files[0].path,
                value=answers[0].asked_as,
                hint=WHICH,
            )
