"""Read SVBench's files in the order of their dependencies: the release, answers, judgements."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Final, Literal, TypeVar

from reeltalk.errors import InputError
from reeltalk.formats import svbench_layout as layout
from reeltalk.formats.export_losses import FILE_FIELDS, fields_like_ours
from reeltalk.formats.release import UNNAMED, ReleaseFile, ReleaseReader
from reeltalk.formats.svbench_documents import SVBenchDocuments
from reeltalk.formats.svbench_layout import (
    END_KEY,
    LANGUAGE,
    START_KEY,
    FolderFacts,
    first_reference,
    relation_of,
    seconds_of,
)
from reeltalk.formats.table_rows import read_table
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import Rejected, SourceFile
from reeltalk.schema.record import ChainId, ClipId, DialogueId, Json, Name, PathId, VideoId
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.documents import SourceModel

Entry = TypeVar("Entry")
Key = tuple[str, str]
"""A video, and the language of its chains."""
SPLITS: Final = ("train", "dev", "test")


class SVBenchReader(ReleaseReader):
    """Reads all files of SVBench at `source`."""

    format = layout.FORMAT
    title = "SVBench"
    expected = (
        "expected Meta, Dialogue, Con, Path or Streaming files of a release (Dialogue/Dialogue_EN/<video>.json, …), "
        f"tables with the columns {', '.join(layout.META_COLUMNS)}, or {', '.join(layout.SCENE_COLUMNS)}, models' "
        "answers (Answers/<model>/<video>.json) or judges' records (Judged/<judge>/<model>/<name>.json)"
    )
    named_kinds: ClassVar = ("answers", "judged chain", "judged single", "judged con")

    def __init__(self, source: Path) -> None:
        super().__init__(source)
        self.clips: dict[str, Clip] = {}
        self.clip_of: dict[tuple[str, float, float], ClipId] = {}
        """The clip of a video by its times. The languages of a video share clips, however they spell the times."""
        self.clip_counts: Counter[str] = Counter()
        self.chains: dict[Key, dict[int, QAChain]] = defaultdict(dict)
        """By their place in the file."""
        self.derived: set[Key] = set()
        """Videos and languages whose chains are known from answers or links only."""
        self.paths: dict[Key, list[DialoguePath]] = {}
        self.answers: dict[tuple[str, str, str], dict[int, Answer]] = defaultdict(dict)
        self.linked: dict[str, str] = {}
        """Dialogue of linked questions by its content."""
        self.linked_counts: Counter[str] = Counter()
        self.scores: dict[tuple[str | int | None, ...], JudgedScore] = {}
        self.judged: dict[tuple[str, str], SourceModel] = {}
        """The record of a unit by the name of its file."""
        self.kinds = {
            "meta": self._read_meta,
            "scenes": self._read_scenes,
            "dialogue": self._read_dialogue,
            "con": self._read_con,
            "path": self._read_path,
            "streaming": self._read_streaming,
            "answers": self._read_answers,
            "judged chain": self._read_judged_chain,
            "judged single": self._read_judged_single,
            "judged con": self._read_judged_con,
        }

    def is_layout_folder(self, name: str) -> bool:
        """True for a folder that the layout names."""
        return layout.is_layout_folder(name)

    def names(self, path: str) -> Sequence[str]:
        """The folders of a model, or of a judge and a model."""
        return FolderFacts.of(path).names

    def kind_of(self, value: Json, name: str) -> str | None:
        """The kind of a JSON file."""
        return layout.kind_of_svbench_file(value, FolderFacts.of(name))

    def open_file(self, name: str, path: Path) -> ReleaseFile | None:
        """Open a JSON file or a table."""
        if path.suffix.lower() != ".csv":
            return super().open_file(name, path)
        table = read_table(path)
        kinds = {"meta": layout.META_COLUMNS, "scenes": layout.SCENE_COLUMNS}
        kind = next((kind for kind, needed in kinds.items() if {*needed} <= {*table.header}), "")
        lines = [row.line or 0 for row in table.rows]
        return ReleaseFile(path, name, [row.cells for row in table.rows], kind, table.header, lines)

    def subject(self, file: ReleaseFile) -> tuple[object, ...]:
        """What a file is about."""
        facts = FolderFacts.of(file.name)
        video = "" if file.kind.startswith(("meta", "scenes", "judged")) else file.path.stem
        return (
            video,
            facts.language,
            facts.unit,
            facts.names if file.kind in self.named_kinds else (),
            tuple(file.columns),
        )

    def plain(self) -> Callable[[SourceFile], Json]:
        """Makes the document of a file in our form."""
        return SVBenchDocuments(self.content, self.files.values()).plain

    def assemble(self) -> None:
        """Put what was read into the tables."""
        content = self.content
        content.videos = list(self.videos.values())
        content.clips = list(self.clips.values())
        content.chains = [chain for numbered in self.chains.values() for _, chain in sorted(numbered.items())]
        content.paths = [path for paths in self.paths.values() for path in paths]
        content.dialogues = list(self.dialogues.values())
        content.answers = [answer for rows in self.answers.values() for _, answer in sorted(rows.items())]
        content.scores = list(self.scores.values())

    # ── records of every kind of file ─────────────────────────────────────────────────────────────────────────────

    def _once(self, file: ReleaseFile, *what: str) -> None:
        other = self.seen.setdefault((file.kind, *what), file.name)
        if other != file.name:
            raise file.error(f"{' '.join(what)}: {other} has this too", "$", hint="remove one of the two files")

    def _begin(self, file: ReleaseFile) -> Key:
        """The video and language of a file of the release, which has no other file of this kind."""
        key = file.path.stem, _language(file)
        self._once(file, *key)
        return key

    def _video(self, file: ReleaseFile, place: str, video_id: str) -> VideoId:
        if video_id not in self.videos:
            self.videos[video_id] = Video(id=VideoId(file.parse(Name, video_id, place)))
        return VideoId(video_id)

    def _clip(
        self, file: ReleaseFile, place: str, video_id: str, times: Sequence[layout.Time | None], line: int | None = None
    ) -> ClipId | None:
        """The clip between two times, created if it is new; None if the times are unknown."""
        start, end = times
        if start is None or end is None:
            return None
        key = (video_id, seconds_of(start), seconds_of(end))
        if key not in self.clip_of:
            with file.making(place, line):
                clip = Clip(
                    id=ClipId(f"{video_id}/{self.clip_counts[video_id]}"),
                    video_id=VideoId(video_id),
                    interval=Interval(start_s=key[1], end_s=key[2]),
                    extra={
                        name: time for name, time in ((START_KEY, start), (END_KEY, end)) if not isinstance(time, float)
                    },
                )
            self.clip_counts[video_id] += 1
            self.clips[clip.id] = clip
            self.clip_of[key] = clip.id
        return self.clip_of[key]

    def _interval(self, chain: QAChain) -> Interval | None:
        return self.clips[chain.clip_id].interval if chain.clip_id else None

    def _new_chain(
        self,
        file: ReleaseFile,
        place: str,
        key: Key,
        number: int,
        pairs: Iterable[tuple[str, str]],
        times: Sequence[layout.Time | None] = (None, None),
        extra: dict[str, Json] | None = None,
    ) -> QAChain:
        video_id, language = key
        self._video(file, "file name", video_id)
        clip_id = self._clip(file, place, video_id, times)
        asked_at_s = seconds_of(times[1]) if times[1] is not None else None
        with file.making(place):
            chain = QAChain(
                id=ChainId(f"{video_id}/{language}/{number}"),
                video_id=VideoId(video_id),
                clip_id=clip_id,
                turns=tuple(_turn(question, answer, language, asked_at_s) for question, answer in pairs),
                extra=extra or {},
            )
        self.chains[key][number] = chain
        return chain

    def _known_chain(self, file: ReleaseFile, place: str, key: Key, number: int, tail: str = "") -> QAChain:
        chain = self.chains[key].get(number)
        if chain is None:
            problem = f"video '{key[0]}' has no chain {number} in language '{key[1]}', counted from 0"
            raise file.error(problem, place + tail, number if tail else None)
        return chain

    def _steps_back(self, earlier: QAChain, later: QAChain) -> bool:
        """True if `later` is before `earlier`: by time, or by place if the times are equal or unknown."""
        before, after = self._interval(earlier), self._interval(later)
        if before and after and before != after:
            return after.start_s < before.start_s
        return _number(later) < _number(earlier)

    # ── the release ───────────────────────────────────────────────────────────────────────────────────────────────

    def _table(self, file: ReleaseFile, column: str) -> Iterator[tuple[int, str, dict[str, str]]]:
        """The line, video and cells of each row of a table; each video has one row."""
        rows: dict[str, dict[str, str]] = {}
        for line, row in zip(file.lines, file.value, strict=True):
            stem = PurePosixPath(row[column].replace("\\", "/")).stem if column == "path" else row[column]
            video_id = file.parse(Name, stem if column == "path" else layout.video_id_of(stem), column, line)
            if rows.setdefault(video_id, row) != row:
                raise file.error("this video appears twice", column, row[column], line=line)
            yield line, video_id, row

    def _read_meta(self, file: ReleaseFile) -> None:
        ids: list[str] = []
        for line, video_id, row in self._table(file, "Video_Name"):
            ids.append(video_id)
            word = row["Sort_of_Set"]
            split = (word.casefold() if word.casefold() in SPLITS else word) or None
            known = self.videos.get(video_id)
            if known is None:
                with file.making("row", line):
                    extra = {column: cell for column, cell in row.items() if column not in layout.META_COLUMNS}
                    path = row["Path_of_Video"] or None
                    self.videos[video_id] = Video(id=VideoId(video_id), file=path, split=split, extra=extra)
            elif known.split != split:
                problem = f"video '{video_id}' is in split '{known.split}' too"
                raise file.error(problem, "Sort_of_Set", word, "splits never share a video", line)
        self.add_file(file, ids, columns=file.columns)

    def _read_scenes(self, file: ReleaseFile) -> None:
        ids: list[str] = []
        clips: list[Json] = []
        for line, video_id, row in self._table(file, "path"):
            if video_id not in self.videos:
                with file.making("row", line):
                    extra = {column: cell for column, cell in row.items() if column not in layout.SCENE_COLUMNS}
                    self.videos[video_id] = Video(id=VideoId(video_id), file=row["path"] or None, extra=extra)
            try:
                scenes = layout.parse_scenes(row["timestamp"])
            except ValueError as error:
                raise file.error(str(error), "timestamp", row["timestamp"], line=line) from None
            ids.append(video_id)
            clips.append([self._clip(file, "timestamp", video_id, scene, line) for scene in scenes])
        self.add_file(file, ids, columns=file.columns, clips=clips)

    def _read_dialogue(self, file: ReleaseFile) -> None:
        video, language = key = self._begin(file)
        self._video(file, "file name", video)
        ids: list[str] = []
        empty: list[int] = []
        extras: list[dict[str, Json]] = []
        for index, place, row in _entries(file, layout.ChainEntry, empty):
            ids.append(self._new_chain(file, place, key, index, row.chain.pairs, row.times, row.unknown).id)
            extras.append(row.unknown)
        own: dict[str, Json] = {FILE_FIELDS: fields_like_ours(extras)}
        self.add_file(file, ids, empty=empty, video=video, language=language, **own)

    def _read_con(self, file: ReleaseFile) -> None:
        video, language = key = self._begin(file)
        self._video(file, "file name", video)
        if not self.chains.get(key):
            self.derived.add(key)
        ids: list[str] = []
        empty: list[int] = []
        by_text: list[int] = []
        pairs: set[tuple[str, str]] = set()
        for index, place, row in _entries(file, layout.LinkEntry, empty):
            if row.chain_1 is None or row.chain_2 is None:
                if any(row.relationship.values()):
                    raise file.error("links of an empty chain", f"{place}.relationship", row.relationship)
                empty.append(index)
                continue
            before = self._linked_chain(file, f"{place}.chain_1", key, row.chain_1)
            after = self._linked_chain(file, f"{place}.chain_2", key, row.chain_2)
            if before.id == after.id or self._steps_back(before, after):
                problem = f"links lead from chain '{before.id}' to '{after.id}', which is not later"
                raise file.error(problem, f"{place}.chain_2")
            if (before.id, after.id) in pairs:
                problem = f"the chains '{before.id}' and '{after.id}' are linked in an entry above too"
                raise file.error(problem, place, hint="join the two entries")
            pairs.add((before.id, after.id))
            ids += [before.id, after.id]
            if "questionsBefore" in row.relationship and "chainBefore" not in row.relationship:
                by_text.append(index)
                self._links_by_text(file, index, (row.chain_1, before), (row.chain_2, after), row.relationship)
            elif row.relationship:
                self._links_by_index(file, f"{place}.relationship", before, after, row.relationship)
        self.add_file(file, ids, empty=empty, by_text=by_text, video=video, language=language)

    def _linked_chain(self, file: ReleaseFile, place: str, key: Key, row: layout.LinkedChain) -> QAChain:
        known = [chain for _, chain in sorted(self.chains[key].items())]
        found, has_times = known, row.times[0] is not None
        if row.times[0] is not None and row.times[1] is not None:
            wanted = (seconds_of(row.times[0]), seconds_of(row.times[1]))
            found = [chain for chain in known if (at := self._interval(chain)) and (at.start_s, at.end_s) == wanted]
        same = [chain for chain in found or known if _pairs(chain) == row.pairs]
        if same or (len(found) == 1 and has_times):
            return (same or found)[0]
        if key in self.derived:
            return self._new_chain(file, place, key, len(known), row.pairs, row.times)
        problem = "no chain of the video's Dialogue file has these times or this wording"
        raise file.error(problem, place, [*row.times, *row.questions[:1]])

    def _links_by_index(
        self, file: ReleaseFile, place: str, before: QAChain, after: QAChain, value: dict[str, Json]
    ) -> None:
        links = file.parse(layout.LinksByIndex, value, place)
        sides = {"chainBefore": (before, links.chainBefore), "chainAfter": (after, links.chainAfter)}
        for name, (chain, indices) in sides.items():
            for position, index in enumerate(indices):
                _check_question(file, f"{place}.{name}[{position}]", chain, index)
        found = list(zip(links.chainBefore, links.chainAfter, links.relationship, strict=True))
        for position, (source, target, word) in enumerate(found):
            if (source, target, word) in found[:position]:
                problem = "this link appears twice; both are kept"
                self.content.warnings.append(f"{file.name} at {place}[{position}]: {problem}")
            self._link(file, f"{place}.relationship[{position}]", (before, source), (after, target), word)

    def _link(
        self, file: ReleaseFile, place: str, source: tuple[QAChain, int], target: tuple[QAChain, int], word: str
    ) -> None:
        relation = relation_of(word)
        with file.making(place):
            self.content.linkages.append(
                Linkage(
                    source=TurnRef(unit_id=source[0].id, turn_index=source[1]),
                    target=TurnRef(unit_id=target[0].id, turn_index=target[1]),
                    relation=relation,
                    extra={} if relation == word else {"relationship": word},
                )
            )

    def _links_by_text(
        self,
        file: ReleaseFile,
        index: int,
        before: tuple[layout.LinkedChain, QAChain],
        after: tuple[layout.LinkedChain, QAChain],
        value: dict[str, Json],
    ) -> None:
        place = f"$[{index}].relationship"
        links = file.parse(layout.LinksByText, value, place)
        for position, word in enumerate(links.relationship):
            text = {name: getattr(links, name)[position] for name in layout.LinksByText.model_fields}
            source = _find(*before, text["questionsBefore"], text["answersBefore"])
            target = _find(*after, text["questionsAfter"], text["answersAfter"])
            at = f"{place}.relationship[{position}]"
            if isinstance(source, int) and isinstance(target, int):
                self._link(file, at, (before[1], source), (after[1], target), word)
                continue
            side, why = ("Before", source) if isinstance(source, str) else ("After", target)
            with file.making(at):
                self.content.rejected.append(
                    Rejected(
                        table="linkages",
                        record_id=f"{before[1].id}→{after[1].id}/{position}",
                        reason=f"questions{side}[{position}] {why}",
                        place=f"{file.name} at {at}",
                        content=text,
                        extra={"file": file.name, "entry": index, "position": position},
                    )
                )

    def _read_path(self, file: ReleaseFile) -> None:
        video, named = file.path.stem, FolderFacts.of(file.name).language
        languages = sorted(language for other, language in self.chains if other == video and named in (None, language))
        if not languages:
            hint = "paths consist of indices into Dialogue files; import the folder that holds both"
            raise InputError(f"no Dialogue file of video '{video}'", file=file.path, hint=hint)
        document = file.parse(layout.PathFile, file.value)
        ids: list[list[str]] = []
        for language in languages:
            self._once(file, video, language)
            paths = [self._path(file, (video, language), number, steps) for number, steps in enumerate(document.Paths)]
            self.paths[video, language] = paths
            ids.append([path.id for path in paths])
        twins: list[Json] = [path_id for own in ids[1:] for path_id in own]
        self.add_file(file, ids[0], twins=twins, video=video, languages=languages)

    def _path(self, file: ReleaseFile, key: Key, number: int, indices: list[list[int]]) -> DialoguePath:
        steps: list[PathStep] = []
        last: tuple[QAChain, int] | None = None
        for position, (chain_index, question) in enumerate(indices):
            place = f"$.Paths[{number}][{position}]"
            chain = self._known_chain(file, place, key, chain_index, "[0]")
            _check_question(file, f"{place}[1]", chain, question)
            if last and (question <= last[1] if chain.id == last[0].id else self._steps_back(last[0], chain)):
                raise file.error("the path steps back in time", place, [chain_index, question])
            last = (chain, question)
            steps.append(PathStep(ref=TurnRef(unit_id=chain.id, turn_index=question)))
        with file.making(f"$.Paths[{number}]"):
            name = PathId(f"{key[0]}/{key[1]}/path/{number}")
            return DialoguePath(id=name, video_id=VideoId(key[0]), steps=tuple(steps))

    def _read_streaming(self, file: ReleaseFile) -> None:
        video, language = key = self._begin(file)
        rows = file.parse(list[layout.StreamingEntry], file.value)
        paths = self.paths.get(key)
        ids: list[str] = []
        if paths is None:
            self.content.warnings.append(f"{file.name}: no Path and Dialogue file with it; its paths become dialogues")
            self._video(file, "file name", video)
        elif len(paths) != len(rows):
            raise file.error(f"{len(rows)} entries, but the video's Path file has {len(paths)} paths", "$")
        for index, row in enumerate(rows):
            turns = [self._streamed_turn(file, index, language, row, position) for position in range(len(row.pairs))]
            if paths is None:
                name = DialogueId(f"{video}/{language}/streaming/{index}")
                spelt = [
                    turn
                    if all(isinstance(time, float | None) for time in times)
                    else turn.model_copy(update={"extra": {"timestamps": [*times]}})
                    for turn, times in zip(turns, row.timestamps, strict=True)
                ]
                with file.making(f"$[{index}]"):
                    self.dialogues[name] = Dialogue(id=name, video_id=VideoId(video), turns=tuple(spelt))
                ids.append(name)
                continue
            path = paths[index]
            if len(path.steps) != len(turns):
                held = f"path {index} of the video's Path file has {len(path.steps)} steps"
                raise file.error(f"{len(turns)} questions, but {held}", f"$[{index}].questions")
            steps = tuple(self._step(key, *parts) for parts in zip(turns, row.timestamps, path.steps, strict=True))
            paths[index] = path.model_copy(update={"steps": steps})
            ids.append(path.id)
        self.add_file(file, ids, video=video, language=language)

    def _streamed_turn(
        self, file: ReleaseFile, index: int, language: str, row: layout.StreamingEntry, position: int
    ) -> Turn:
        start, end = row.timestamps[position]
        with file.making(f"$[{index}].timestamps[{position}]"):
            known = start is not None and end is not None
            evidence = (Interval(start_s=seconds_of(start), end_s=seconds_of(end)),) if known else ()  # type: ignore[arg-type]
        turn = _turn(*row.pairs[position], language, evidence[0].end_s if evidence else None)
        return turn.model_copy(update={"evidence": evidence})

    def _step(self, key: Key, turn: Turn, times: Sequence[layout.Time | None], step: PathStep) -> PathStep:
        """A step with what differs from its chain: the wording, the times and their spelling."""
        chain = self.chains[key][int(step.ref.unit_id.rpartition("/")[2])]
        own, interval = chain.turns[step.ref.turn_index], self._interval(chain)
        same_times = turn.evidence == ((interval,) if interval else ())
        same_text = (turn.question, turn.references) == (own.question, own.references)
        if same_times:
            turn = turn.model_copy(update={"evidence": ()})
        spelling: list[Json] = []
        if chain.clip_id and interval:
            extra = self.clips[chain.clip_id].extra
            spelling = [extra.get(START_KEY, interval.start_s), extra.get(END_KEY, interval.end_s)]
        same_spelling = same_times and list(map(repr, times)) == list(map(repr, spelling))
        update = {
            "turn": None if same_text and same_times else turn,
            "extra": {} if same_spelling or times[0] is None else {"timestamps": [*times]},
        }
        return step.model_copy(update=update)

    # ── answers and judgements ────────────────────────────────────────────────────────────────────────────────────

    def key_of(self, file: ReleaseFile, video: str, place: str) -> Key:
        """The video and the language of the chains that a file names."""
        return video, _language(file)

    def _judged_key(self, file: ReleaseFile, place: str, row: layout.JudgedChain | layout.JudgedScene) -> Key:
        at = f"{place}.video_name"
        return self.key_of(file, self._video(file, at, row.video), at)

    def _read_answers(self, file: ReleaseFile) -> None:
        model, facts = self._model(file), FolderFacts.of(file.name)
        key = self.key_of(file, file.path.stem, "file name")
        self._once(file, model, facts.unit, *key)
        empty: list[int] = []
        ids = [
            self._answered(file, place, model, key, index, row)
            for index, place, row in _entries(file, layout.AnsweredEntry, empty)
        ]
        about = {"video": file.path.stem, "language": _language(file)}
        self.add_file(file, ids, empty=[*empty], model=model, unit=facts.unit, **about)

    def _answered(
        self, file: ReleaseFile, place: str, model: str, key: Key, number: int, row: layout.AnsweredEntry
    ) -> str:
        """Add the answers to a chain or path; return its identifier."""
        unit: Literal["chain", "path"] = "path" if FolderFacts.of(file.name).unit == "path" else "chain"
        pairs = list(zip(row.questions, row.gt_answers, strict=True))
        if unit == "path":
            paths = self.paths.get(key, [])
            if number >= len(paths):
                problem = f"video '{key[0]}' has no path {number} in language '{key[1]}', counted from 0"
                raise file.error(problem, place, hint="import the folder that holds Path, Dialogue and the answers")
            chains = {chain.id: chain for chain in self.chains[key].values()}
            steps = paths[number].steps
            turns = tuple(step.turn or chains[ChainId(step.ref.unit_id)].turns[step.ref.turn_index] for step in steps)
            unit_id: str = paths[number].id
        else:
            chain = self._chain_of_answers(file, place, key, number, pairs)
            turns, unit_id = chain.turns, chain.id
        if len(pairs) > len(turns):
            problem = f"{len(pairs)} questions, but {unit} '{unit_id}' has {len(turns)}"
            raise file.error(problem, f"{place}.questions")
        self._add_answers(file, place, (model, unit, unit_id), turns, pairs, row.answers)
        return unit_id

    def _chain_of_answers(
        self, file: ReleaseFile, place: str, key: Key, number: int, pairs: list[tuple[str, str]]
    ) -> QAChain:
        """A known chain; in a video whose Dialogue file is missing, it is made of the questions that were answered."""
        if not self.chains.get(key):
            self.derived.add(key)
        if key not in self.derived:
            return self._known_chain(file, place, key, number)
        chain = self.chains[key].get(number)
        if chain is None:
            return self._new_chain(file, place, key, number, pairs)
        more = tuple(_turn(*pair, key[1], None) for pair in pairs[len(chain.turns) :])
        self.chains[key][number] = chain.model_copy(update={"turns": (*chain.turns, *more)})
        return self.chains[key][number]

    def _add_answers(
        self,
        file: ReleaseFile,
        place: str,
        key: tuple[str, Literal["chain", "path", "dialogue"], str],
        turns: tuple[Turn, ...],
        pairs: Sequence[tuple[str, str]],
        texts: Sequence[str],
        first: int = 0,
    ) -> None:
        rows = self.answers[key]
        for index, ((question, reference), text) in enumerate(zip(pairs, texts, strict=True), start=first):
            if index in rows:
                if rows[index].text != text:
                    self.content.warnings.append(
                        f"{file.name} at {place}: answer {index} differs from another file's of model '{key[0]}'; "
                        "that one is kept as the answer"
                    )
                continue
            turn = turns[index]
            with file.making(place):
                rows[index] = Answer(
                    model=key[0],
                    unit=key[1],
                    unit_id=key[2],
                    turn_index=index,
                    text=text,
                    asked_as=None if question == turn.question else question,
                    referred_to=None if reference == first_reference(turn.references) else (reference,),
                )

    def _model(self, file: ReleaseFile) -> str:
        if names := self.names(file.name):
            return names[-1]
        self.content.warnings.append(f"{file.name}: no folder names the model, recorded as '{UNNAMED}'")
        return UNNAMED

    def _judge(self, file: ReleaseFile) -> str:
        if len(names := self.names(file.name)) > 1:
            return names[-2]
        self.content.warnings.append(
            f"{file.name}: no folder names the judge, recorded as '{UNNAMED}'; put it in Judged/<judge>/<model>/"
        )
        return UNNAMED

    def _read_judged_chain(self, file: ReleaseFile) -> None:
        model, judge, unit = self._model(file), self._judge(file), FolderFacts.of(file.name).unit
        ids: list[str] = []
        empty: list[int] = []
        for _, place, row in _entries(file, layout.JudgedChain, empty):
            key = self._judged_key(file, place, row)
            unit_id = self._answered(file, place, model, key, int(row.scene_id), row)
            self._refuse_repeat(file, f"{place}.scene_id", unit_id, row)
            ids.append(unit_id)
            self._add_scores(file, place, (model, judge, unit, unit_id, None), row.scores, row.evaluation)
        self.add_file(file, ids, empty=[*empty], model=model, judge=judge, unit=unit, language=_language(file))

    def _refuse_repeat(self, file: ReleaseFile, place: str, unit_id: str, row: SourceModel) -> None:
        if self.judged.setdefault((file.name, unit_id), row) != row:
            raise file.error("judged in a record above too", place, unit_id)

    def _read_judged_single(self, file: ReleaseFile) -> None:
        model, judge = self._model(file), self._judge(file)
        ids: list[str] = []
        empty: list[int] = []
        for _, place, row in _entries(file, layout.JudgedScene, empty):
            pairs = [(question.question, question.gt_answer) for question in row.scores]
            chain = self._chain_of_answers(file, place, self._judged_key(file, place, row), int(row.scene_id), pairs)
            self._refuse_repeat(file, f"{place}.scene_id", chain.id, row)
            ids.append(chain.id)
            judged: list[int] = []
            for position, question in enumerate(row.scores):
                at = f"{place}.scores[{position}]"
                # A question is known by its wording if that is unique, else by its place.
                same = [index for index, turn in enumerate(chain.turns) if turn.question == question.question]
                index = same[0] if len(same) == 1 else position
                if index >= len(chain.turns) or index in judged:
                    problem = f"is no question of chain '{chain.id}', or is judged above"
                    raise file.error(problem, f"{at}.question", question.question)
                judged.append(index)
                if index not in self.answers[model, "chain", chain.id]:
                    texts = [question.model_response]
                    self._add_answers(
                        file, at, (model, "chain", chain.id), chain.turns, [pairs[position]], texts, first=index
                    )
                about = (model, judge, "turn", chain.id, index)
                self._add_scores(file, at, about, question.question_scores, question.evaluation, ("Accuracy",))
        self.add_file(file, ids, empty=[*empty], model=model, judge=judge, unit="chain", language=_language(file))

    def _read_judged_con(self, file: ReleaseFile) -> None:
        model, judge = self._model(file), self._judge(file)
        ids: list[str] = []
        for index, row in enumerate(file.parse(list[layout.JudgedLinks], file.value)):
            place = f"$[{index}]"
            video_id = self._video(file, f"{place}.video_name", row.video)
            names = ("questions", "gt_answers", "answers")
            lists = {name: list(_texts(file, f"{place}.{name}", getattr(row, name))) for name in names}
            try:
                layout.refuse_unequal(lists)
            except ValueError as error:
                raise file.error(str(error), place) from None
            pairs = list(zip(lists["questions"], lists["gt_answers"], strict=True))
            dialogue = self._linked_dialogue(file, place, video_id, row, pairs)
            self._refuse_repeat(file, f"{place}.video_name", dialogue.id, row)
            ids.append(dialogue.id)
            self._add_answers(file, place, (model, "dialogue", dialogue.id), dialogue.turns, pairs, lists["answers"])
            self._add_scores(file, place, (model, judge, "dialogue", dialogue.id, None), row.scores, row.evaluation)
        self.add_file(file, ids, model=model, judge=judge, unit="dialogue", language=_language(file))

    def _linked_dialogue(
        self, file: ReleaseFile, place: str, video_id: VideoId, row: layout.JudgedLinks, pairs: list[tuple[str, str]]
    ) -> Dialogue:
        language, shape = _language(file), _shape(row.questions)
        extra: dict[str, Json] = {"shape": shape} if any(part is not None for part in shape) else {}
        if row.relationships is not None:
            extra["relationships"] = row.relationships
        content, stem = linked_content(video_id, language, pairs, extra), f"{video_id}/{language}/linked"
        if content not in self.linked:
            same = self.linked_counts[stem]
            with file.making(place):
                dialogue = Dialogue(
                    id=DialogueId(f"{stem}/{same + 1}" if same else stem),
                    video_id=video_id,
                    turns=tuple(_turn(*pair, language, None) for pair in pairs),
                    extra=extra,
                )
            self.dialogues[dialogue.id] = dialogue
            self.linked[content] = dialogue.id
            self.linked_counts[stem] += 1
        return self.dialogues[self.linked[content]]

    def _add_scores(
        self,
        file: ReleaseFile,
        place: str,
        key: tuple[str, str, str, str, int | None],
        fields: dict[str, layout.Score] | None,
        evaluation: str | None,
        expected: tuple[str, ...] = layout.CRITERIA,
    ) -> None:
        model, judge, unit, unit_id, turn_index = key
        given = dict(fields or {})
        for alias, criterion in layout.ALIASES.items():
            if alias in given and criterion not in given:
                given[criterion] = given.pop(alias)
        for criterion in (*expected, *(name for name in given if name not in expected)):
            reading = _reading(criterion, given[criterion]) if criterion in given else _unscored(layout.NO_SCORE)
            with file.making(f"{place}.scores.{criterion}"):
                score = JudgedScore(
                    unit=unit,
                    unit_id=unit_id,
                    turn_index=turn_index,
                    model=model,
                    judge=judge,
                    criterion=criterion,
                    # The text is about all criteria. It is stored once, with the overall score or the only one.
                    explanation=evaluation if criterion == expected[-1] else None,
                    **reading,
                )
            if self.scores.setdefault((*key, criterion), score) != score:
                raise file.error(
                    f"judge '{judge}' has another score of model '{model}' for {unit} '{unit_id}' in another file",
                    place,
                    hint="put each judge's records in a folder of its own: Judged/<judge>/<model>/",
                )


def linked_content(video: str, language: str, pairs: Sequence[tuple[str, str]], extra: dict[str, Json]) -> str:
    """What tells two dialogues of linked questions apart."""
    return repr((video, language, list(pairs), extra))


def _language(file: ReleaseFile) -> str:
    """Two letters; English if no folder names a language."""
    return FolderFacts.of(file.name).language or layout.DEFAULT_LANGUAGE


def _entries(file: ReleaseFile, kind: type[Entry], empty: list[int]) -> Iterator[tuple[int, str, Entry]]:
    """Index, JSON path and value of each entry of a file that is a list; the indices of `{}` go to `empty`."""
    for index, item in enumerate(file.parse(list[Any], file.value)):
        if item == {}:
            empty.append(index)
        else:
            yield index, f"$[{index}]", file.parse(kind, item, f"$[{index}]")


def _number(chain: QAChain) -> int:
    """A chain's place in its file."""
    return int(chain.id.rpartition("/")[2])


def _turn(question: str, answer: str, language: str, asked_at_s: float | None) -> Turn:
    return Turn(question=question, references=(answer,), asked_at_s=asked_at_s, labels={LANGUAGE: (language,)})


def _pairs(chain: QAChain) -> list[tuple[str, str]]:
    return [(turn.question, first_reference(turn.references)) for turn in chain.turns]


def _check_question(file: ReleaseFile, place: str, chain: QAChain, index: int) -> None:
    if index >= len(chain.turns):
        problem = f"chain '{chain.id}' has {len(chain.turns)} questions, counted from 0"
        raise file.error(problem, place, index)


def _find(row: layout.LinkedChain, chain: QAChain, question: str, answer: str) -> int | str:
    """The index of a question with exactly this wording and answer, or the reason why there is none."""
    asked = [index for index, text in enumerate(row.questions) if text == question and index < len(chain.turns)]
    if not asked:
        return "is no question of its chain"
    answered = [index for index in asked if row.answers[index] == answer]
    return answered[0] if answered else "is a question of its chain, but has another answer there"


def _texts(file: ReleaseFile, place: str, value: list[Any]) -> Iterator[str]:
    for index, member in enumerate(value):
        if isinstance(member, list):
            yield from _texts(file, f"{place}[{index}]", member)
        elif isinstance(member, str):
            yield member
        else:
            raise file.error("neither a text nor a list of texts", f"{place}[{index}]", member)


def _shape(value: list[Any]) -> list[Json]:
    return [_shape(member) if isinstance(member, list) else None for member in value]


def _unscored(reason: str) -> dict[str, Any]:
    return {"state": ScoreState.UNSCORED, "reason": reason}


def _reading(criterion: str, value: layout.Score) -> dict[str, Any]:
    if value is None:
        return _unscored("the judge's reply held no number")
    if value == layout.NOT_APPLICABLE and criterion == layout.MAY_NOT_APPLY:
        return {"state": ScoreState.NOT_APPLICABLE, "reason": "the judge said -1: not applicable"}
    if not 0 <= value <= layout.HIGHEST_SCORE:
        return _unscored(f"outside 0-{layout.HIGHEST_SCORE}") | {"extra": {"value": value}}
    return {"value": float(value)}
