"""SVBench (ICLR 2025): chains of questions per clip, links between them, paths along them, in English and Chinese.

You can import any part of the release alone, and also models' answers and judges' records alone. A chain is a list
entry of a `Dialogue` file and named `<video>/<language>/<place in the list>`; the turns of a chain name their language.
An export restores the imported files, and writes new ones for chains, links and paths that none of them holds.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from reeltalk.errors import InputError
from reeltalk.formats import svbench_layout as layout
from reeltalk.formats.export_losses import (
    MADE_ON_THE_WAY,
    UNHELD,
    fields_left_out,
    labels_left_out,
    source_fields,
    source_keys_like_ours,
    tables_left_out,
)
from reeltalk.formats.layout import LONGEST_NAME_BYTES
from reeltalk.formats.svbench_layout import (
    FORMAT,
    LANGUAGE,
    SVBenchDocuments,
    first_reference,
    language_of,
    slots,
)
from reeltalk.formats.svbench_read import File, SVBenchReader
from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain, Turn
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import ChainId, Json, PathId, derive_id
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json

OF_CHAINS: Final = ("dialogue", "con", "answers", "judged chain", "judged single")
"""Kinds of files whose records are chains."""
OF_DIALOGUES: Final = ("streaming", "judged con")
"""Kinds of files whose records become dialogues if their chains are unknown."""
_HELD_OF_CHAINS: Final = frozenset({"id", "video_id", "clip_id", "turns"})
_HELD_OF_TURNS: Final = frozenset({"question", "references", "asked_at_s", "labels"})


def _records_in(files: Iterable[SourceFile], *kinds: str) -> set[str]:
    """The identifiers of the records in files of some kinds."""
    return {record for file in files if file.kind in kinds for record in (*file.records, *file.extra.get("twins", ()))}


def _lost(content: Content, files: list[SourceFile]) -> list[str]:
    """A line for each thing that the layout cannot express."""
    imported = content.source_files_of("svbench")
    streamed = _records_in(imported, *OF_DIALOGUES)
    paths, chains = _records_in(imported, "path"), _records_in(imported, *OF_CHAINS)
    own = [chain for chain in content.chains if chain.id not in chains]
    turns = [turn for chain in content.chains for turn in chain.turns]
    steps = [step.turn for path in content.paths if path.id not in paths for step in path.steps if step.turn]
    used = {chain.clip_id for chain in content.chains}
    used |= {clip for file in files for clips in file.extra.get("clips", ()) for clip in clips}
    ends = {clip.id: clip.interval.end_s if clip.interval else None for clip in content.clips}
    described = (video.model_copy(update={"extra": {}}) for video in content.videos)
    return [
        *_counted(
            {
                "dialogues are left out": sum(row.id not in streamed for row in content.dialogues),
                "chains without times, written with null": sum(chain.clip_id is None for chain in own),
                "clips of no chain are left out": sum(clip.id not in used for clip in content.clips),
                "clips without times are left out": sum(
                    clip.interval is None for clip in content.clips if clip.id in used
                ),
                "turns asked at another time than the end of their clip": sum(
                    turn.asked_at_s is not None
                    and turn.asked_at_s != (ends.get(chain.clip_id) if chain.clip_id else None)
                    for chain in content.chains
                    for turn in chain.turns
                ),
                "turns with several references, of which the first is written": sum(
                    len(turn.references) > 1 for turn in (*turns, *steps)
                ),
                "turns without a reference, written as an empty answer": sum(
                    not turn.references for turn in (*turns, *steps)
                ),
            }
        ),
        *tables_left_out(content, ("graphs", *MADE_ON_THE_WAY, *(name for name in UNHELD if name != "rejected"))),
        *_counted({"refused records are left out": sum(row.extra.get("file") is None for row in content.rejected)}),
        *fields_left_out("videos", described, {"id", "file", "split"}),
        *fields_left_out("chains", own, _HELD_OF_CHAINS),
        *fields_left_out("turns", turns, _HELD_OF_TURNS),
        *labels_left_out(turns, {LANGUAGE}),
        *fields_left_out("rewritten turns of paths", steps, _HELD_OF_TURNS),
    ]


def _counted(counts: dict[str, int]) -> list[str]:
    return [f"{what}: {count:,}" for what, count in counts.items() if count]


@dataclass
class _Writer:
    """Plans the files, then writes them."""

    content: Content
    folder: Path
    lost: list[str] = field(default_factory=list)
    files: list[SourceFile] = field(default_factory=list)
    places: dict[tuple[str, tuple[str, ...]], dict[str, int]] = field(default_factory=dict)
    """Index in `files` by kind, by the fields that distinguish files, and by the values of these fields."""
    taken: set[str] = field(default_factory=set)
    spoken: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Languages of a video's chains."""
    names: dict[str, str] = field(default_factory=dict)
    """The name of a video, model or judge in file names."""

    def write(self) -> list[str]:
        """Write everything; return a line for each thing that the layout cannot express."""
        whole = self.content
        self.plan()
        self.lost += _lost(whole, self.files)
        if not self.files:
            self.lost.append("the benchmark holds nothing that this layout can hold")
        documents = SVBenchDocuments(self.content, self.files)
        for file in self.files:
            path = self.folder / file.path
            document = documents.document(file)
            if file.kind in ("meta", "scenes"):
                text = layout.csv_text(file.extra["columns"], document)
            else:
                text = write_json(document)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        return self.lost

    def plan(self) -> list[SourceFile]:
        """Plan the files, each with its records."""
        self.files = self.content.source_files_of(FORMAT)
        self._without_ours()
        for chain in self.content.chains:
            self.spoken[chain.video_id].add(language_of(chain))
        self.chains = {chain.id: chain for chain in self.content.chains}
        self.paths = {path.id: path for path in self.content.paths}
        self._plan_videos()
        self._plan_chains()
        self._plan_linkages()
        self._plan_paths()
        self._leave_answers_out()
        return self.files

    def _lose(self, count: int, what: str) -> None:
        if count:
            self.lost.append(f"{what}: {count:,}")

    # ── the plan ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _without_ours(self) -> None:
        """Remove our own keys from `extra`; a chain or path that no file holds keeps none."""
        fields = source_keys_like_ours(self.files)
        chains, paths = _records_in(self.files, *OF_CHAINS), _records_in(self.files, "path")
        self.content = replace(
            self.content,
            chains=[
                chain.model_copy(update={"extra": source_fields(chain.extra, fields) if chain.id in chains else {}})
                for chain in self.content.chains
            ],
            paths=[path if path.id in paths else _at_chain_times(path) for path in self.content.paths],
        )

    def _add(self, kind: str, path: str, ids: Iterable[str], **extra: Json) -> int:
        """Append records to the file of that kind and subject, or plan a new one; return its index in the plan."""
        keys, subject = tuple(extra), repr(list(extra.values()))
        if (kind, keys) not in self.places:
            self.places[kind, keys] = {
                repr([file.extra.get(key) for key in keys]): index
                for index, file in enumerate(self.files)
                if file.kind == kind
            }
        places = self.places[kind, keys]
        if subject in places:
            file = self.files[places[subject]]
            self.files[places[subject]] = file.model_copy(update={"records": (*file.records, *ids)})
            return places[subject]
        self.taken = self.taken or {file.path for file in self.files}
        stem, dot, suffix = path.rpartition(".")
        number = 1
        while path in self.taken:
            number += 1
            path = f"{stem}_{number}{dot}{suffix}"
        self.taken.add(path)
        places[subject] = len(self.files)
        self.files.append(SourceFile(format=FORMAT, path=path, kind=kind, records=tuple(ids), extra=extra))
        return places[subject]

    def _name(self, what: str, name: str) -> str:
        """A file name for a video, model or judge: its own name if a file can have it."""
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
        covered = _records_in(self.files, "meta", "scenes")
        if self.files:
            units: list[QAChain | DialoguePath | Dialogue] = [
                *self.content.chains,
                *self.content.paths,
                *self.content.dialogues,
            ]
            recorded = _records_in(self.files, *{file.kind for file in self.files})
            covered |= {unit.video_id for unit in units if unit.id in recorded}
            covered |= {str(file.extra["video"]) for file in self.files if "video" in file.extra}
        tables: dict[tuple[str, str | None], list[str]] = defaultdict(list)
        for video in self.content.videos:
            if video.id not in covered:
                for language in sorted(self.spoken[video.id]) or [layout.DEFAULT_LANGUAGE]:
                    tables[language, video.split].append(video.id)
        for (language, split), ids in tables.items():
            suffix, name = language.upper(), self._name("split", split) if split else "all"
            path = f"Meta/Meta_{suffix}/meta_{name}.csv"
            self._add("meta", path, ids, columns=list(layout.META_COLUMNS), split=split, language=language)

    def _plan_chains(self) -> None:
        covered = _records_in(self.files, *OF_CHAINS)
        renamed = 0
        by_video: dict[tuple[str, str], list[str]] = defaultdict(list)
        for chain in self.content.chains:
            if chain.id not in covered:
                by_video[chain.video_id, language_of(chain)].append(chain.id)
        for (video, language), ids in by_video.items():
            name, suffix = self._name("video", video), language.upper()
            path = f"Dialogue/Dialogue_{suffix}/{name}.json"
            ids = ids if _are_places(ids, f"{video}/{language}/") else self._in_time(ids)
            index = self._add("dialogue", path, ids, video=video, language=language)
            file = self.files[index]
            empty = _places_between(ids, f"{video}/{language}/") if len(file.records) == len(ids) else []
            if empty:
                self.files[index] = file.model_copy(update={"extra": {**file.extra, "empty": empty}})
            entries = enumerate(slots(ids, empty))
            renamed += sum(chain_id not in (None, f"{video}/{language}/{number}") for number, chain_id in entries)
        if renamed and not covered:
            self.lost.append(f"chains get new identifiers when read again, <video>/<language>/<place>: {renamed:,}")

    def _in_time(self, ids: list[str]) -> list[str]:
        """Chains in the order of their clips, if all have times."""
        clips = {clip.id: clip.interval for clip in self.content.clips}
        times = {chain_id: clips.get(clip) for chain_id in ids if (clip := self.chains[ChainId(chain_id)].clip_id)}
        known = {chain_id: at for chain_id, at in times.items() if at is not None}
        if len(known) < len(ids):
            return ids
        return sorted(ids, key=lambda chain_id: (known[chain_id].start_s, known[chain_id].end_s))

    def _plan_linkages(self) -> None:
        covered = {
            pair
            for file in self.files
            if file.kind == "con"
            for pair in zip(file.records[::2], file.records[1::2], strict=False)
        }
        pairs: dict[tuple[str, str], None] = {}
        unfit = 0
        for linkage in self.content.linkages:
            pair = (linkage.source.unit_id, linkage.target.unit_id)
            source, target = self.chains.get(ChainId(pair[0])), self.chains.get(ChainId(pair[1]))
            if not source or not target or source.video_id != target.video_id:
                unfit += 1
            elif pair not in covered:
                pairs[pair] = None
        self._lose(unfit, "linkages between dialogues, or of turns that are not there, are left out")
        for pair in pairs:
            chain = self.chains[ChainId(pair[0])]
            language = language_of(chain)
            path = f"Con/Con_{language.upper()}/{self._name('video', chain.video_id)}.json"
            self._add("con", path, pair, video=chain.video_id, language=language)

    def _plan_paths(self) -> None:
        covered = _records_in(self.files, "path")
        by_video: dict[str, dict[str, list[DialoguePath]]] = defaultdict(lambda: defaultdict(list))
        unfit = 0
        for path in self.content.paths:
            chains = [self.chains.get(ChainId(step.ref.unit_id)) for step in path.steps]
            known = [chain for chain in chains if chain is not None]
            if len(known) < len(chains) or any(chain.video_id != path.video_id for chain in known):
                unfit += 1
            elif path.id not in covered:
                language = language_of(known[0]) if known else layout.DEFAULT_LANGUAGE
                by_video[path.video_id][language].append(path)
        self._lose(unfit, "paths along dialogues or through several videos are left out")
        new = {path.id for by_language in by_video.values() for paths in by_language.values() for path in paths}
        self._part_languages(by_video)
        numbers = SVBenchDocuments(self.content, self.files).numbers
        for video, by_language in by_video.items():
            self._plan_path_files(video, by_language, numbers)
            for language, paths in by_language.items():
                streamed = [path.id for path in paths if path.id in new]
                if streamed:
                    streaming = f"Streaming/Streaming_{language.upper()}/{self._name('video', video)}.json"
                    self._add("streaming", streaming, streamed, video=video, language=language)

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
            first_of, *others = languages
            path = f"Path/{name}.json"
            index = self._add("path", path, ids[first_of], video=video, languages=languages)
            if others:
                twins = [path_id for language in others for path_id in ids[language]]
                file = self.files[index]
                self.files[index] = file.model_copy(update={"extra": {**file.extra, "twins": twins}})
            return
        for language in languages:
            path = f"Path/Path_{language.upper()}/{name}.json"
            self._add("path", path, ids[language], video=video, languages=[language])

    def _part_languages(self, by_video: dict[str, dict[str, list[DialoguePath]]]) -> None:
        """Plan the paths of a file for all languages again if the languages no longer have the same paths."""
        for file in self.content.source_files_of(FORMAT, "path"):
            video, languages = file.extra["video"], file.extra["languages"]
            for_all = layout.FolderFacts.of(file.path).language is None
            if for_all and (video in by_video or self.spoken[video] != set(languages)):
                self.files.remove(file)
                self.places.clear()
                for path_id in reversed([*file.records, *file.extra.get("twins", ())]):
                    if path := self.paths.get(PathId(path_id)):
                        language = self._subject("path", path_id)[1]
                        by_video[video][language].insert(0, path)

    def _leave_answers_out(self) -> None:
        """Count the answers and scores that no imported file holds: only those that came from a file are written."""
        judged = [file for file in self.files if file.kind.startswith("judged")]
        answering = [*judged, *(file for file in self.files if file.kind == "answers")]
        answered = {(file.extra["model"], file.extra["unit"], name) for file in answering for name in file.records}
        scored = {
            (
                file.extra["model"],
                file.extra["judge"],
                "turn" if file.kind == "judged single" else file.extra["unit"],
                name,
            )
            for file in judged
            for name in file.records
        }
        answers = sum((row.model, row.unit, row.unit_id) not in answered for row in self.content.answers)
        scores = sum((row.model, row.judge, row.unit, row.unit_id) not in scored for row in self.content.scores)
        self._lose(answers, "model answers that no imported file holds are left out")
        self._lose(scores, "scores that no imported file holds are left out")

    def _subject(self, unit: str, unit_id: str) -> tuple[str, str]:
        if unit == "path":
            path = self.paths[unit_id]  # type: ignore[index]
            chain = self.chains.get(ChainId(path.steps[0].ref.unit_id)) if path.steps else None
            return path.video_id, language_of(chain) if chain else layout.DEFAULT_LANGUAGE
        chain = self.chains[ChainId(unit_id)]
        return chain.video_id, language_of(chain)


def _at_chain_times(path: DialoguePath) -> DialoguePath:
    """A path as reeltalk stores it. Its steps have the times of their chains, since the layout has no other times."""
    steps = tuple(
        step.model_copy(update={"extra": {}, "turn": None if step.turn is None else _plain(step.turn)})
        for step in path.steps
    )
    return path.model_copy(update={"extra": {}, "steps": steps})


def _plain(turn: Turn) -> Turn:
    return Turn(question=turn.question, references=turn.references, labels=turn.labels)


def _are_places(ids: list[str], stem: str) -> bool:
    """True for chains that are named by their place, in order."""
    tails = [chain_id.removeprefix(stem) for chain_id in ids]
    places = [int(tail) for tail in tails if re.fullmatch("0|[1-9][0-9]{0,3}", tail)]
    return len(places) == len(ids) and places == sorted(set(places))


def _places_between(ids: list[str], stem: str) -> list[int]:
    """The empty places between chains that are named by their place; none for other chains."""
    if not _are_places(ids, stem):
        return []
    places = [int(chain_id.removeprefix(stem)) for chain_id in ids]
    return sorted(set(range(max(places))) - set(places))


KINDS: Final = ("answers", "judged chain", "judged single", "judged con")
LOOKED_FOR: Final = (
    "expected a model's folder with Dialogue_EN/<video>.json or Streaming_EN/<video>.json in it, lists of "
    "{questions, gt_answers, answers}"
)
WHICH: Final = "give the folder of answers to the benchmark that --bench names, or name the one that they are about"


class _AnswerReader(SVBenchReader):
    """Reads only the answers and judgements at `source`, and no other files of a release.

    Args:
        source: A model's folder, a folder with several of them, one file, or a release with answers.
        about: The benchmark. Its chains and paths are numbered as in its files, or as in its export.
    """

    def __init__(self, source: Path, about: Content) -> None:
        super().__init__(source)
        writer = _Writer(about, Path())
        files = writer.plan()
        self.named = {used: name.removeprefix("video ") for name, used in writer.names.items()}
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
                self.paths[file.extra["video"], language] = [paths[PathId(path_id)] for path_id in own]
        for file in about.source_files_of(FORMAT, "judged con"):
            for dialogue in about.dialogues:
                if dialogue.id in file.records:
                    language = dialogue.id.removeprefix(f"{dialogue.video_id}/").split("/")[0]
                    texts = (
                        [turn.question for turn in dialogue.turns],
                        [first_reference(t.references) for t in dialogue.turns],
                    )
                    self.linked[repr((dialogue.video_id, language, *texts, dialogue.extra))] = dialogue.id
                    self.dialogues[dialogue.id] = dialogue

    def read(self) -> Content:
        """Read the answers, each about a chain or path of the benchmark.

        Raises:
            InputError: A file is damaged, is about another benchmark, or there are no answers.
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
        """Refuse answers if none of their questions belongs to the benchmark."""
        answers = self.content.answers
        if answers and all(answer.asked_as is not None for answer in answers):
            raise InputError(
                "none of these questions is at its place in the benchmark",
                file=files[0].path,
                value=answers[0].asked_as,
                hint=WHICH,
            )


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
