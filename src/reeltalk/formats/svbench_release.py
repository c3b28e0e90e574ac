"""Reads the files of SVBench's release: Meta, Dialogue, Con, Path and Streaming."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from reeltalk.errors import InputError
from reeltalk.formats import svbench_layout as layout
from reeltalk.formats.left_out import FILE_FIELDS, fields_like_ours
from reeltalk.formats.svbench_documents import END, START, relation_of
from reeltalk.formats.svbench_layout import seconds_of
from reeltalk.formats.svbench_records import File, Records, check_name, pairs_of, refuse_unequal, rows_of, turn_in
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.ids import DialogueId, PathId, VideoId
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import Rejected
from reeltalk.schema.record import Json
from reeltalk.store.documents import parse, placed

SPLITS: Final = ("train", "dev", "test")


class ReleaseReader(Records):
    """Reads each kind of file of the release."""

    def _read_meta(self, file: File) -> None:
        ids: list[str] = []
        for line, row in zip(file.lines, file.value, strict=True):
            video_id = check_name(layout.video_id_of(row["Video_Name"]), file, "Video_Name", line)
            if video_id in ids:
                raise InputError(
                    "this video stands twice", file=file.path, line=line, place="Video_Name", value=video_id
                )
            ids.append(video_id)
            word = row["Sort_of_Set"]
            split = (word.casefold() if word.casefold() in SPLITS else word) or None
            known = self.videos.get(video_id)
            if known is not None and known.split != split:
                raise InputError(
                    f"video '{video_id}' is in split '{known.split}' too",
                    file=file.path,
                    line=line,
                    place="Sort_of_Set",
                    value=word,
                    hint="splits never share a video",
                )
            if known is None:
                extra = {column: cell for column, cell in row.items() if column not in layout.META_COLUMNS}
                with placed(file.path, "row", line=line):
                    self.videos[video_id] = Video(
                        id=VideoId(video_id), file=row["Path_of_Video"] or None, split=split, extra=extra
                    )
        self.add_file(file, ids, columns=file.columns)

    def _read_scenes(self, file: File) -> None:
        ids: list[str] = []
        clips: list[Json] = []
        for line, row in zip(file.lines, file.value, strict=True):
            video_id = check_name(PurePosixPath(row["path"].replace("\\", "/")).stem, file, "path", line)
            if video_id in ids:
                raise InputError("this video stands twice", file=file.path, line=line, place="path", value=row["path"])
            if video_id not in self.videos:
                extra = {column: cell for column, cell in row.items() if column not in layout.SCENE_COLUMNS}
                with placed(file.path, "row", line=line):
                    self.videos[video_id] = Video(id=VideoId(video_id), file=row["path"] or None, extra=extra)
            try:
                scenes = layout.scenes_of(row["timestamp"])
                for start, end in scenes:
                    seconds_of(start)
                    seconds_of(end)
            except ValueError as error:
                raise InputError(
                    str(error), file=file.path, line=line, place="timestamp", value=row["timestamp"]
                ) from None
            ids.append(video_id)
            clips.append([self.clip(video_id, scene, file, "timestamp", line) for scene in scenes])
        self.add_file(file, ids, columns=file.columns, clips=clips)

    def _read_dialogue(self, file: File) -> None:
        key = (file.video, file.language)
        self.once(file, *key)
        self.video(file.video, file, "file name")
        ids, empty = [], []
        extras: list[dict[str, Json]] = []
        for index, item in enumerate(rows_of(file)):
            place = f"$[{index}]"
            if item == {}:
                empty.append(index)
                continue
            row = parse(layout.ChainEntry, item, file=file.path, place=place)
            pairs = _pairs(row.chain.questions, row.chain.answers, file, f"{place}.chain")
            times = (row.qac_timestamps_start, row.qac_timestamps_end)
            ids.append(self.new_chain(file, place, key, index, pairs, times, row.unknown).id)
            extras.append(row.unknown)
        own = {FILE_FIELDS: fields_like_ours(extras)}
        self.add_file(file, ids, empty=empty, video=file.video, language=file.language, **own)

    def _read_con(self, file: File) -> None:
        key = (file.video, file.language)
        self.once(file, *key)
        self.video(file.video, file, "file name")
        if not self.chains.get(key):
            self.derived.add(key)
        ids: list[str] = []
        empty: list[int] = []
        by_text: list[int] = []
        pairs: set[tuple[str, str]] = set()
        for index, item in enumerate(rows_of(file)):
            place = f"$[{index}]"
            if item == {}:
                empty.append(index)
                continue
            row = parse(layout.LinkEntry, item, file=file.path, place=place)
            if not row.chain_1 or not row.chain_2:
                if any(row.relationship.values()):
                    raise InputError(
                        "links of an empty chain", file=file.path, place=f"{place}.relationship", value=row.relationship
                    )
                empty.append(index)
                continue
            before = self._linked_chain(row.chain_1, file, f"{place}.chain_1", key)
            after = self._linked_chain(row.chain_2, file, f"{place}.chain_2", key)
            if before.id == after.id or self.steps_back(before, after):
                raise InputError(
                    f"links lead from chain '{before.id}' to '{after.id}', which is not later",
                    file=file.path,
                    place=f"{place}.chain_2",
                )
            if (before.id, after.id) in pairs:
                raise InputError(
                    f"the chains '{before.id}' and '{after.id}' are linked in an entry above too",
                    file=file.path,
                    place=place,
                    hint="join the two entries",
                )
            pairs.add((before.id, after.id))
            ids += [before.id, after.id]
            if "questionsBefore" in row.relationship and "chainBefore" not in row.relationship:
                by_text.append(index)
                self._links_by_text(row, file, index, before, after)
            elif row.relationship:
                self._links_by_index(row, file, place, before, after)
        self.add_file(file, ids, empty=empty, by_text=by_text, video=file.video, language=file.language)

    def _linked_chain(self, value: dict[str, Any], file: File, place: str, key: tuple[str, str]) -> QAChain:
        row = parse(layout.LinkedChain, value, file=file.path, place=place)
        pairs = list(_pairs(row.questions, row.answers, file, place))
        times = (row.qac_timestamps_start, row.qac_timestamps_end)
        if (times[0] is None) != (times[1] is None):
            raise InputError("one of the two times is missing", file=file.path, place=place, hint="give both or none")
        known = [chain for _, chain in sorted(self.chains[key].items())]
        if times[0] is not None and times[1] is not None:
            wanted = (seconds_of(times[0]), seconds_of(times[1]))
            found = [chain for chain in known if (at := self.interval(chain)) and (at.start_s, at.end_s) == wanted]
        else:
            found = known
        same = [chain for chain in found or known if pairs_of(chain) == pairs]
        if same or (len(found) == 1 and times[0] is not None):
            return (same or found)[0]
        if key in self.derived:
            return self.new_chain(file, place, key, len(known), pairs, times)
        raise InputError(
            "no chain of the video's Dialogue file has these times or this wording",
            file=file.path,
            place=place,
            value=[*times, *row.questions[:1]],
        )

    def _links_by_index(self, row: layout.LinkEntry, file: File, place: str, before: QAChain, after: QAChain) -> None:
        place = f"{place}.relationship"
        links = parse(layout.LinksByIndex, row.relationship, file=file.path, place=place)
        lists = {"chainBefore": links.chainBefore, "chainAfter": links.chainAfter, "relationship": links.relationship}
        refuse_unequal(lists, file, place)
        for name, chain, indices in (
            ("chainBefore", before, links.chainBefore),
            ("chainAfter", after, links.chainAfter),
        ):
            for position, index in enumerate(indices):
                if index >= len(chain.turns):
                    raise InputError(
                        f"chain '{chain.id}' has {len(chain.turns)} questions, counted from 0",
                        file=file.path,
                        place=f"{place}.{name}[{position}]",
                        value=index,
                    )
        found = list(zip(links.chainBefore, links.chainAfter, links.relationship, strict=True))
        for position, (source, target, word) in enumerate(found):
            if (source, target, word) in found[:position]:
                self.content.warnings.append(
                    f"{file.name} at {place}[{position}]: this link stands twice; both are kept"
                )
            self._link(file, f"{place}.relationship[{position}]", (before, source), (after, target), word)

    def _link(
        self, file: File, place: str, source: tuple[QAChain, int], target: tuple[QAChain, int], word: str
    ) -> None:
        relation = relation_of(word)
        with placed(file.path, place):
            self.content.linkages.append(
                Linkage(
                    source=TurnRef(unit_id=source[0].id, turn_index=source[1]),
                    target=TurnRef(unit_id=target[0].id, turn_index=target[1]),
                    relation=relation,
                    extra={} if relation == word else {"relationship": word},
                )
            )

    def _links_by_text(self, row: layout.LinkEntry, file: File, index: int, before: QAChain, after: QAChain) -> None:
        place = f"$[{index}].relationship"
        links = parse(layout.LinksByText, row.relationship, file=file.path, place=place)
        lists: dict[str, list[str]] = {name: getattr(links, name) for name in layout.LinksByText.model_fields}
        refuse_unequal(lists, file, place)
        chain_1 = parse(layout.LinkedChain, row.chain_1, file=file.path, place=f"$[{index}].chain_1")
        chain_2 = parse(layout.LinkedChain, row.chain_2, file=file.path, place=f"$[{index}].chain_2")
        for position in range(len(links.relationship)):
            text = {name: values[position] for name, values in lists.items()}
            source = _find(chain_1, before, text["questionsBefore"], text["answersBefore"])
            target = _find(chain_2, after, text["questionsAfter"], text["answersAfter"])
            at = f"{place}.relationship[{position}]"
            if isinstance(source, int) and isinstance(target, int):
                self._link(file, at, (before, source), (after, target), text["relationship"])
                continue
            side, why = ("Before", source) if isinstance(source, str) else ("After", target)
            with placed(file.path, at):
                self.content.rejected.append(
                    Rejected(
                        table="linkages",
                        record_id=f"{before.id}→{after.id}/{position}",
                        reason=f"questions{side}[{position}] {why}",
                        place=f"{file.name} at {at}",
                        content=text,
                        extra={"file": file.name, "entry": index, "position": position},
                    )
                )

    def _read_path(self, file: File) -> None:
        languages = sorted(language for video, language in self.chains if video == file.video)
        if file.place.language:
            languages = [language for language in languages if language == file.place.language]
        if not languages:
            raise InputError(
                f"no Dialogue file of video '{file.video}'",
                file=file.path,
                hint="paths consist of indices into Dialogue files; import the folder that holds both",
            )
        document = parse(layout.PathFile, file.value, file=file.path)
        by_language: list[list[str]] = []
        for language in languages:
            self.once(file, file.video, language)
            paths = [
                self._path(file, (file.video, language), number, steps) for number, steps in enumerate(document.Paths)
            ]
            self.paths[file.video, language] = paths
            by_language.append([path.id for path in paths])
        self.add_file(
            file,
            by_language[0],
            twins=[path_id for ids in by_language[1:] for path_id in ids],
            video=file.video,
            languages=languages,
        )

    def _path(self, file: File, key: tuple[str, str], number: int, indices: list[list[int]]) -> DialoguePath:
        steps: list[PathStep] = []
        last: tuple[QAChain, int] | None = None
        for position, (chain_index, question) in enumerate(indices):
            place = f"$.Paths[{number}][{position}]"
            chain = self.chains[key].get(chain_index)
            if chain is None:
                raise InputError(
                    f"video '{key[0]}' has no chain {chain_index} in language '{key[1]}', counted from 0",
                    file=file.path,
                    place=f"{place}[0]",
                    value=chain_index,
                )
            if question >= len(chain.turns):
                raise InputError(
                    f"chain '{chain.id}' has {len(chain.turns)} questions, counted from 0",
                    file=file.path,
                    place=f"{place}[1]",
                    value=question,
                )
            if last and (question <= last[1] if chain.id == last[0].id else self.steps_back(last[0], chain)):
                raise InputError(
                    "the path steps back in time", file=file.path, place=place, value=[chain_index, question]
                )
            last = (chain, question)
            steps.append(PathStep(ref=TurnRef(unit_id=chain.id, turn_index=question)))
        with placed(file.path, f"$.Paths[{number}]"):
            return DialoguePath(
                id=PathId(f"{key[0]}/{key[1]}/path/{number}"), video_id=VideoId(key[0]), steps=tuple(steps)
            )

    def _read_streaming(self, file: File) -> None:
        key = (file.video, file.language)
        self.once(file, *key)
        rows = [
            parse(layout.StreamingEntry, item, file=file.path, place=f"$[{index}]")
            for index, item in enumerate(rows_of(file))
        ]
        paths = self.paths.get(key)
        ids: list[str] = []
        if paths is None:
            self.content.warnings.append(f"{file.name}: no Path and Dialogue file with it; its paths become dialogues")
            self.video(file.video, file, "file name")
        elif len(paths) != len(rows):
            raise InputError(
                f"{len(rows)} entries, but the video's Path file has {len(paths)} paths", file=file.path, place="$"
            )
        for index, row in enumerate(rows):
            place = f"$[{index}]"
            lists = {"questions": row.questions, "answers": row.answers, "timestamps": row.timestamps}
            refuse_unequal(lists, file, place)
            if paths is None:
                ids.append(self._streamed_dialogue(file, key, index, row))
                continue
            path = paths[index]
            if len(path.steps) != len(row.questions):
                raise InputError(
                    f"{len(row.questions)} questions, but path {index} of the video's Path file has "
                    f"{len(path.steps)} steps",
                    file=file.path,
                    place=f"{place}.questions",
                )
            steps = tuple(self._step(file, place, key, row, position, step) for position, step in enumerate(path.steps))
            paths[index] = path.model_copy(update={"steps": steps})
            ids.append(path.id)
        self.add_file(file, ids, video=file.video, language=file.language)

    def _streamed_turn(self, file: File, place: str, language: str, row: layout.StreamingEntry, position: int) -> Turn:
        start, end = row.timestamps[position]
        if (start is None) != (end is None):
            raise InputError("one of the two times is null", file=file.path, place=f"{place}.timestamps[{position}]")
        with placed(file.path, f"{place}.timestamps[{position}]"):
            evidence = (
                (Interval(start_s=seconds_of(start), end_s=seconds_of(end)),)
                if start is not None and end is not None
                else ()
            )
        turn = turn_in(
            row.questions[position], row.answers[position], language, evidence[0].end_s if evidence else None
        )
        return turn.model_copy(update={"evidence": evidence})

    def _streamed_dialogue(self, file: File, key: tuple[str, str], index: int, row: layout.StreamingEntry) -> str:
        place = f"$[{index}]"
        turns = [self._streamed_turn(file, place, key[1], row, position) for position in range(len(row.questions))]
        spelt = [
            turn if all(isinstance(time, float | None) for time in times) else _with_extra(turn, times)
            for turn, times in zip(turns, row.timestamps, strict=True)
        ]
        with placed(file.path, place):
            dialogue = Dialogue(
                id=DialogueId(f"{key[0]}/{key[1]}/streaming/{index}"), video_id=VideoId(key[0]), turns=tuple(spelt)
            )
        self.dialogues[dialogue.id] = dialogue
        return dialogue.id

    def _step(
        self, file: File, place: str, key: tuple[str, str], row: layout.StreamingEntry, position: int, step: PathStep
    ) -> PathStep:
        turn = self._streamed_turn(file, place, key[1], row, position)
        chain = self.chains[key][int(step.ref.unit_id.rpartition("/")[2])]
        own, interval = chain.turns[step.ref.turn_index], self.interval(chain)
        same_times = turn.evidence == ((interval,) if interval else ())
        same_text = (turn.question, turn.references) == (own.question, own.references)
        if same_times:
            turn = turn.model_copy(update={"evidence": ()})
        spelling: list[Json] = []
        if chain.clip_id and interval:
            extra = self.clips[chain.clip_id].extra
            spelling = [extra.get(START, interval.start_s), extra.get(END, interval.end_s)]
        times = list(row.timestamps[position])
        same_spelling = same_times and list(map(repr, times)) == list(map(repr, spelling))
        return step.model_copy(
            update={
                "turn": None if same_text and same_times else turn,
                "extra": {} if same_spelling or times[0] is None else {"timestamps": times},
            }
        )


def _with_extra(turn: Turn, times: list[str | int | float | None]) -> Turn:
    return turn.model_copy(update={"extra": {"timestamps": list(times)}})


def _pairs(questions: list[str], answers: list[str], file: File, place: str) -> Iterator[tuple[str, str]]:
    refuse_unequal({"questions": questions, "answers": answers}, file, place)
    return zip(questions, answers, strict=True)


def _find(row: layout.LinkedChain, chain: QAChain, question: str, answer: str) -> int | str:
    """The index of a question with exactly this wording and answer, or why there is none."""
    asked = [index for index, text in enumerate(row.questions) if text == question and index < len(chain.turns)]
    if not asked:
        return "is no question of its chain"
    answered = [index for index in asked if row.answers[index] == answer]
    return answered[0] if answered else "is a question of its chain, but has another answer there"
