"""SVBench (ICLR 2025): chains of questions per clip, links between them, paths along them, in English and Chinese.

You can import any part of the release alone, and also models' answers and judges' records alone. A chain is a list
entry of a `Dialogue` file and named `<video>/<language>/<place in the list>`; the turns of a chain name their language.
An export restores the imported files, and writes new ones for chains, links and paths that none of them holds.
"""

import csv
import io
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Final

from reeltalk.errors import InputError
from reeltalk.formats import svbench_layout as layout
from reeltalk.formats.export_losses import (
    UNSTORED,
    WORKING_TABLES,
    fields_left_out,
    labels_left_out,
    source_fields,
    source_keys_like_ours,
    tables_left_out,
)
from reeltalk.formats.layout import LONGEST_NAME_BYTES
from reeltalk.formats.release import ReleaseFile, ReleaseWriter
from reeltalk.formats.svbench_documents import SVBenchDocuments
from reeltalk.formats.svbench_layout import FORMAT, LANGUAGE, first_reference, language_of, with_empty_places
from reeltalk.formats.svbench_read import SVBenchReader, linked_content
from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain, Turn
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import derive_id
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json

CHAIN_FILES: Final = ("dialogue", "con", "answers", "judged chain", "judged single")
"""Kinds of files whose records are chains."""
DIALOGUE_FILES: Final = ("streaming", "judged con")
"""Kinds of files whose records become dialogues if their chains are unknown."""
_HELD_OF_CHAINS: Final = frozenset({"id", "video_id", "clip_id", "turns"})
_HELD_OF_TURNS: Final = frozenset({"question", "references", "asked_at_s", "labels"})


@dataclass
class _Writer(ReleaseWriter):
    """Plans the files, then writes them."""

    format: ClassVar = FORMAT
    spoken: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Languages of a video's chains."""
    names: dict[str, str] = field(default_factory=dict)
    """The name of a video, model or judge in file names."""

    def write(self) -> list[str]:
        """Write everything; return a line for each thing that the layout cannot express."""
        whole = self.content
        self.plan()
        self._lose_the_rest(whole)
        documents = SVBenchDocuments(self.content, self.files)

        def text(file: SourceFile) -> str:
            document = documents.document(file)
            if file.kind not in ("meta", "scenes"):
                return write_json(document)
            stream = io.StringIO()
            writer = csv.DictWriter(stream, file.extra["columns"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(document)
            return stream.getvalue()

        return self.write_files(text)

    def plan(self) -> list[SourceFile]:
        """Plan the files, each with its records."""
        self.files = self.content.source_files_of(FORMAT)
        self._without_ours()
        for chain in self.content.chains:
            self.spoken[chain.video_id].add(language_of(chain))
        self.chains: dict[str, QAChain] = {chain.id: chain for chain in self.content.chains}
        self.new_paths = {path.id for path in self.content.paths} - self.records_in("path")
        self._part_languages()
        self._plan_videos()
        self._plan_chains()
        self._plan_linkages()
        self._plan_paths()
        self.leave_answers_out()
        return self.files

    def _without_ours(self) -> None:
        """Remove our own keys from `extra`; a chain or path that no file holds keeps none."""
        fields = source_keys_like_ours(self.files)
        chains, paths = self.records_in(*CHAIN_FILES), self.records_in("path")
        self.content = replace(
            self.content,
            chains=[
                chain.model_copy(update={"extra": source_fields(chain.extra, fields) if chain.id in chains else {}})
                for chain in self.content.chains
            ],
            paths=[path if path.id in paths else _at_chain_times(path) for path in self.content.paths],
        )

    def _part_languages(self) -> None:
        """Take a file of paths for all languages out of the plan if the languages no longer have the same paths."""
        more = {path.video_id for path in self.content.paths if path.id in self.new_paths}
        self.files = [
            file
            for file in self.files
            if file.kind != "path"
            or layout.FolderFacts.of(file.path).language is not None
            or (file.extra["video"] not in more and self.spoken[file.extra["video"]] == {*file.extra["languages"]})
        ]

    def _name(self, what: str, name: str) -> str:
        """A file name for a video or split: its own name if a file can have it."""
        key = f"{what} {name}"
        if key not in self.names:
            fits = (
                not re.search(r"[/\\]", name)
                and not name.startswith(".")
                and len(name.encode()) <= LONGEST_NAME_BYTES
                and not layout.is_layout_folder(name)
                and (what != "video" or layout.video_id_of(name) == name)
            )
            used = name if fits else derive_id(what, name)
            if not fits:
                self.lost.append(f"{what} '{name}' is written as '{used}': a file cannot be called so")
            self.names[key] = used
        return self.names[key]

    def _plan_videos(self) -> None:
        covered = self.records_in("meta", "scenes")
        if self.files:
            units: list[QAChain | DialoguePath | Dialogue] = [
                *self.content.chains, *self.content.paths, *self.content.dialogues,
            ]  # fmt: skip
            recorded = self.records_in()
            covered |= {unit.video_id for unit in units if unit.id in recorded}
            covered |= {str(file.extra["video"]) for file in self.files if "video" in file.extra}
        tables: dict[tuple[str, str | None], list[str]] = defaultdict(list)
        for video in self.content.videos:
            if video.id not in covered:
                for language in sorted(self.spoken[video.id]) or [layout.DEFAULT_LANGUAGE]:
                    tables[language, video.split].append(video.id)
        for (language, split), ids in tables.items():
            name = self._name("split", split) if split else "all"
            about = {"columns": list(layout.META_COLUMNS), "split": split, "language": language}
            self.add("meta", f"Meta/Meta_{language.upper()}/meta_{name}.csv", ids, about)

    def _plan_chains(self) -> None:
        covered = self.records_in(*CHAIN_FILES)
        renamed = 0
        by_video: dict[tuple[str, str], list[str]] = defaultdict(list)
        for chain in self.content.chains:
            if chain.id not in covered:
                by_video[chain.video_id, language_of(chain)].append(chain.id)
        for (video, language), ids in by_video.items():
            stem = f"{video}/{language}/"
            tails = [chain_id.removeprefix(stem) for chain_id in ids]
            places = [int(tail) for tail in tails if re.fullmatch("0|[1-9][0-9]{0,3}", tail)]
            if len(places) < len(ids) or places != sorted(set(places)):
                # Not named by their places, so their times give these.
                ids, places = self._in_time(ids), []
            path = f"Dialogue/Dialogue_{language.upper()}/{self._name('video', video)}.json"
            index = self.add("dialogue", path, ids, {"video": video, "language": language})
            file = self.files[index]
            is_new = len(file.records) == len(ids)
            empty = sorted({*range(max(places))} - {*places}) if places and is_new else []
            if empty:
                self.files[index] = file.model_copy(update={"extra": {**file.extra, "empty": empty}})
            entries = enumerate(with_empty_places(ids, empty))
            renamed += sum(chain_id not in (None, f"{stem}{number}") for number, chain_id in entries)
        if renamed and not covered:
            self.lost.append(f"chains get new identifiers when read again, <video>/<language>/<place>: {renamed:,}")

    def _in_time(self, ids: list[str]) -> list[str]:
        """Chains in the order of their clips, if all have times."""
        clips = {clip.id: clip.interval for clip in self.content.clips}
        times = {chain_id: clips.get(clip) for chain_id in ids if (clip := self.chains[chain_id].clip_id)}
        known = {chain_id: (at.start_s, at.end_s) for chain_id, at in times.items() if at is not None}
        return sorted(ids, key=known.__getitem__) if len(known) == len(ids) else ids

    def _plan_linkages(self) -> None:
        covered = {
            pair
            for file in self.files
            if file.kind == "con"
            for pair in zip(file.records[::2], file.records[1::2], strict=False)
        }
        pairs: dict[tuple[str, str], QAChain] = {}
        unfit = 0
        for linkage in self.content.linkages:
            pair = (linkage.source.unit_id, linkage.target.unit_id)
            source, target = self.chains.get(pair[0]), self.chains.get(pair[1])
            if not source or not target or source.video_id != target.video_id:
                unfit += 1
            elif pair not in covered:
                pairs[pair] = source
        self.lose(unfit, "linkages between dialogues, or of turns that are not there, are left out")
        for pair, chain in pairs.items():
            language = language_of(chain)
            path = f"Con/Con_{language.upper()}/{self._name('video', chain.video_id)}.json"
            self.add("con", path, pair, {"video": chain.video_id, "language": language})

    def _plan_paths(self) -> None:
        covered = self.records_in("path")
        by_video: dict[str, dict[str, list[DialoguePath]]] = defaultdict(lambda: defaultdict(list))
        unfit = 0
        for path in self.content.paths:
            chains = [self.chains.get(step.ref.unit_id) for step in path.steps]
            known = [chain for chain in chains if chain is not None and chain.video_id == path.video_id]
            if len(known) < len(chains):
                unfit += 1
            elif path.id not in covered:
                language = language_of(known[0]) if known else layout.DEFAULT_LANGUAGE
                by_video[path.video_id][language].append(path)
        self.lose(unfit, "paths along dialogues or through several videos are left out")
        numbers = SVBenchDocuments(self.content, self.files).numbers
        for video, by_language in by_video.items():
            self._plan_path_files(video, by_language, numbers)
            for language, paths in by_language.items():
                streamed = [path.id for path in paths if path.id in self.new_paths]
                if streamed:
                    streaming = f"Streaming/Streaming_{language.upper()}/{self._name('video', video)}.json"
                    self.add("streaming", streaming, streamed, {"video": video, "language": language})

    def _plan_path_files(self, video: str, by_language: dict[str, list[DialoguePath]], numbers: dict[str, int]) -> None:
        """Plan one file for all languages, as in the release, or one for each if their paths differ."""
        name, languages = self._name("video", video), sorted(by_language)
        ids = {language: [path.id for path in by_language[language]] for language in languages}
        walks = [
            [[(numbers.get(step.ref.unit_id), step.ref.turn_index) for step in path.steps] for path in paths]
            for paths in by_language.values()
        ]
        is_new = not any(file.kind == "path" and file.extra["video"] == video for file in self.files)
        if is_new and self.spoken[video] == set(languages) and all(walk == walks[0] for walk in walks):
            first, *others = languages
            twins = {"twins": [path_id for language in others for path_id in ids[language]]} if others else {}
            self.add("path", f"Path/{name}.json", ids[first], {"video": video, "languages": languages}, **twins)
            return
        for language in languages:
            path = f"Path/Path_{language.upper()}/{name}.json"
            self.add("path", path, ids[language], {"video": video, "languages": [language]})

    def _lose_the_rest(self, content: Content) -> None:
        """A line for each thing that the layout cannot express."""
        imported = ReleaseWriter(content, self.folder, files=content.source_files_of(FORMAT))
        streamed, paths = imported.records_in(*DIALOGUE_FILES), imported.records_in("path")
        chains = imported.records_in(*CHAIN_FILES)
        own = [chain for chain in content.chains if chain.id not in chains]
        turns = [turn for chain in content.chains for turn in chain.turns]
        steps = [step.turn for path in content.paths if path.id not in paths for step in path.steps if step.turn]
        used = {chain.clip_id for chain in content.chains}
        used |= {clip for file in self.files for clips in file.extra.get("clips", ()) for clip in clips}
        ends = {clip.id: clip.interval.end_s if clip.interval else None for clip in content.clips}
        elsewhere = sum(
            turn.asked_at_s not in (None, ends.get(chain.clip_id) if chain.clip_id else None)
            for chain in content.chains
            for turn in chain.turns
        )
        counts = {
            "dialogues are left out": sum(row.id not in streamed for row in content.dialogues),
            "chains without times, written with null": sum(chain.clip_id is None for chain in own),
            "clips of no chain are left out": sum(clip.id not in used for clip in content.clips),
            "clips without times are left out": sum(ends[clip.id] is None for clip in content.clips if clip.id in used),
            "turns asked at another time than the end of their clip": elsewhere,
            "turns with several references, of which the first is written": sum(
                len(turn.references) > 1 for turn in (*turns, *steps)
            ),
            "turns without a reference, written as an empty answer": sum(
                not turn.references for turn in (*turns, *steps)
            ),
        }
        for what, count in counts.items():
            self.lose(count, what)
        unheld = [name for name in UNSTORED if name != "rejected"]
        self.lost += tables_left_out(content, ("graphs", *WORKING_TABLES, *unheld))
        self.lose(sum(row.extra.get("file") is None for row in content.rejected), "refused records are left out")
        described = (video.model_copy(update={"extra": {}}) for video in content.videos)
        self.lost += fields_left_out("videos", described, {"id", "file", "split"})
        self.lost += fields_left_out("chains", own, _HELD_OF_CHAINS)
        self.lost += fields_left_out("turns", turns, _HELD_OF_TURNS)
        self.lost += labels_left_out(turns, {LANGUAGE})
        self.lost += fields_left_out("rewritten turns of paths", steps, _HELD_OF_TURNS)


def _at_chain_times(path: DialoguePath) -> DialoguePath:
    """A path as reeltalk stores it. Its steps have the times of their chains, since the layout has no other times."""
    steps = []
    for step in path.steps:
        turn = step.turn and Turn(question=step.turn.question, references=step.turn.references, labels=step.turn.labels)
        steps.append(step.model_copy(update={"extra": {}, "turn": turn}))
    return path.model_copy(update={"extra": {}, "steps": tuple(steps)})


ANSWERS_HINT: Final = (
    "give the folder of answers to the benchmark that --bench names, or name the one that they are about"
)


class _AnswerReader(SVBenchReader):
    """Reads only the answers and judgements at `source`, and no other files of a release.

    Args:
        source: A model's folder, a folder with several of them, one file, or a release with answers.
        about: The benchmark. Its chains and paths are numbered as in its files, or as in its export.
    """

    expected = (
        "expected a model's folder with Dialogue_EN/<video>.json or Streaming_EN/<video>.json in it, lists of "
        "{questions, gt_answers, answers}"
    )

    def __init__(self, source: Path, about: Content) -> None:
        super().__init__(source)
        self.kinds = {kind: read for kind, read in self.kinds.items() if kind in self.named_kinds}
        writer = _Writer(about, Path())
        files = writer.plan()
        self.used = {used: name.removeprefix("video ") for name, used in writer.names.items()}
        numbers = SVBenchDocuments(about, files).numbers
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
                self.paths[file.extra["video"], language] = [paths[path_id] for path_id in own]
        linked = {name for file in about.source_files_of(FORMAT, "judged con") for name in file.records}
        for dialogue in about.dialogues:
            if dialogue.id in linked:
                language = dialogue.id.removeprefix(f"{dialogue.video_id}/").split("/")[0]
                pairs = [(turn.question, first_reference(turn.references)) for turn in dialogue.turns]
                self.linked[linked_content(dialogue.video_id, language, pairs, dialogue.extra)] = dialogue.id
                self.dialogues[dialogue.id] = dialogue

    def read(self) -> Content:
        """Read the answers, each about a chain or path of the benchmark."""
        files = [file for file in self.collect() if file.kind in self.kinds]
        if not files:
            raise InputError("no models' answers to SVBench here", file=self.source, hint=self.expected)
        self.read_files(files)
        self.assemble()
        answers = self.content.answers
        if answers and all(answer.asked_as is not None for answer in answers):
            problem = "none of these questions is at its place in the benchmark"
            raise InputError(problem, file=files[0].path, value=answers[0].asked_as, hint=ANSWERS_HINT)
        return self.content

    def key_of(self, file: ReleaseFile, video: str, place: str) -> tuple[str, str]:
        """The video of the benchmark that a file names, and the language of its chains."""
        video, named = self.used.get(video, video), layout.FolderFacts.of(file.name).language
        spoken = [language for name, language in self.chains if name == video and self.chains[name, language]]
        language = spoken[0] if named is None and len(spoken) == 1 else named or layout.DEFAULT_LANGUAGE
        if language not in spoken:
            known = f"are in {', '.join(sorted(spoken))} alone" if spoken else "are not in the benchmark"
            raise file.error(f"chains of video '{video}' {known}", place, hint=ANSWERS_HINT)
        return video, language


def read(source: Path) -> Content:
    """Read a release folder, a part of it, or one file.

    Raises:
        InputError: A file is damaged, contradicts another, or `source` contains no files of SVBench.
    """
    return SVBenchReader(source).read()


def read_answers(source: Path, about: Content) -> Content:
    """Read models' answers that are stored apart from the release, with the chains and paths of a benchmark.

    Raises:
        InputError: A file is damaged, is about another benchmark, or there are no answers at `source`.
    """
    return _AnswerReader(source, about).read()


def write(content: Content, folder: Path) -> list[str]:
    """Write SVBench's layout into an empty folder; return a line for each thing that it cannot express."""
    return _Writer(content, folder).write()
