"""Writes typed records as SVBench's files: those that were imported, and default ones for what none of them holds."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from reeltalk.formats import svbench_layout as layout
from reeltalk.formats.svbench_documents import ABSENT, Documents, slots
from reeltalk.formats.svbench_layout import FORMAT, LANGUAGE
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain, Turn
from reeltalk.schema.ids import ChainId, PathId, derive_id
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json

LONGEST_NAME_BYTES: Final = 100
_LANGUAGE = re.compile(r"[a-z]{2}")


@dataclass
class Writer:
    """Plans the files, then writes them."""

    content: Content
    folder: Path
    lost: list[str] = field(default_factory=list)
    files: list[SourceFile] = field(default_factory=list)
    places: dict[tuple[str, tuple[str, ...]], dict[str, int]] = field(default_factory=dict)
    """Where in `files` those of a kind are, by the fields that tell them apart and the values of these."""
    taken: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    """What a video, model or judge is called in file names."""

    def write(self) -> list[str]:
        """Write everything; one line for each thing that the layout cannot express."""
        self.files = self.content.source_files_of(FORMAT)
        self._chains_of_dialogues()
        self.chains = {chain.id: chain for chain in self.content.chains}
        self.paths = {path.id: path for path in self.content.paths}
        self._plan_videos()
        self._plan_chains()
        self._plan_linkages()
        self._plan_paths()
        self._plan_answers()
        self._plan_scores()
        self._what_is_lost()
        documents = Documents(self.content, self.files)
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

    def _lose(self, count: int, what: str) -> None:
        if count:
            self.lost.append(f"{what}: {count:,}")

    # ── the plan ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _covered(self, *kinds: str) -> set[str]:
        return {
            record
            for file in self.files
            if file.kind in kinds
            for record in (*file.records, *file.extra.get("twins", ()))
        }

    def _chains_of_dialogues(self) -> None:
        """SVBench has no dialogues: each that no file holds becomes a chain."""
        covered = self._covered("streaming", "judged con")
        others = [dialogue for dialogue in self.content.dialogues if dialogue.id not in covered]
        taken = {str(chain.id) for chain in self.content.chains}
        answered = {answer.unit_id for answer in self.content.answers if answer.unit == "dialogue"}
        self._lose(len(others), "dialogues became chains")
        self._lose(
            sum(dialogue.id in answered for dialogue in others), "dialogues whose answers and scores are left out"
        )
        self.content = replace(
            self.content,
            chains=[
                *self.content.chains,
                *(_as_chain(dialogue) for dialogue in others if str(dialogue.id) not in taken),
            ],
        )

    def _add(self, kind: str, path: str, ids: Iterable[str], **extra: Json) -> int:
        """Append records to the file of that kind and subject, or plan a new one; its place in the plan."""
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
        """A file name for a video, model or judge: its own where a file can be called so."""
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

    def _language(self, chain: QAChain) -> str:
        words = {turn.labels.get(LANGUAGE, (layout.DEFAULT_LANGUAGE,)) for turn in chain.turns}
        if len(words) == 1:
            (word,) = words
            if len(word) == 1 and _LANGUAGE.fullmatch(word[0]):
                return word[0]
        return layout.DEFAULT_LANGUAGE

    def _plan_videos(self) -> None:
        covered = self._covered("meta", "scenes")
        if self.files:
            units: list[QAChain | DialoguePath | Dialogue] = [
                *self.content.chains,
                *self.content.paths,
                *self.content.dialogues,
            ]
            recorded = self._covered(*{file.kind for file in self.files})
            covered |= {unit.video_id for unit in units if unit.id in recorded}
            covered |= {str(file.extra["video"]) for file in self.files if "video" in file.extra}
        by_split: dict[str | None, list[str]] = defaultdict(list)
        for video in self.content.videos:
            if video.id not in covered:
                by_split[video.split].append(video.id)
        for split, ids in by_split.items():
            name = self._name("split", split) if split else "all"
            self._add("meta", f"Meta/Meta_EN/meta_{name}.csv", ids, columns=list(layout.META_COLUMNS), split=split)

    def _plan_chains(self) -> None:
        covered = self._covered("dialogue", "con", "answers", "judged chain", "judged single")
        renamed = 0
        by_video: dict[tuple[str, str], list[str]] = defaultdict(list)
        for chain in self.content.chains:
            if chain.id not in covered:
                by_video[chain.video_id, self._language(chain)].append(chain.id)
        for (video, language), ids in by_video.items():
            name, suffix = self._name("video", video), language.upper()
            path = f"Dialogue/Dialogue_{suffix}/{name}.json"
            index = self._add("dialogue", path, ids, video=video, language=language)
            file = self.files[index]
            empty = _places_between(ids, f"{video}/{language}/") if len(file.records) == len(ids) else []
            if empty:
                self.files[index] = file.model_copy(update={"extra": {**file.extra, "empty": empty}})
            entries = enumerate(slots(ids, empty))
            renamed += sum(chain_id not in (None, f"{video}/{language}/{number}") for number, chain_id in entries)
        if renamed and not covered:
            self.lost.append(f"chains get new identifiers when read again, <video>/<language>/<place>: {renamed:,}")

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
            language = self._language(chain)
            path = f"Con/Con_{language.upper()}/{self._name('video', chain.video_id)}.json"
            self._add("con", path, pair, video=chain.video_id, language=language)

    def _plan_paths(self) -> None:
        covered = self._covered("path")
        by_video: dict[str, dict[str, list[DialoguePath]]] = defaultdict(lambda: defaultdict(list))
        unfit = 0
        for path in self.content.paths:
            chains = [self.chains.get(ChainId(step.ref.unit_id)) for step in path.steps]
            known = [chain for chain in chains if chain is not None]
            if len(known) < len(chains) or any(chain.video_id != path.video_id for chain in known):
                unfit += 1
            elif path.id not in covered:
                language = self._language(known[0]) if known else layout.DEFAULT_LANGUAGE
                by_video[path.video_id][language].append(path)
        self._lose(unfit, "paths along dialogues or through several videos are left out")
        new = {path.id for by_language in by_video.values() for paths in by_language.values() for path in paths}
        self._part_languages(by_video)
        for video, by_language in by_video.items():
            name = self._name("video", video)
            for language, paths in by_language.items():
                suffix, ids = language.upper(), [path.id for path in paths]
                # Each language has its own file: two languages need not have the same chains.
                self._add("path", f"Path/Path_{suffix}/{name}.json", ids, video=video, languages=[language])
                streamed = [path_id for path_id in ids if path_id in new]
                if streamed:
                    streaming = f"Streaming/Streaming_{suffix}/{name}.json"
                    self._add("streaming", streaming, streamed, video=video, language=language)

    def _part_languages(self, by_video: dict[str, dict[str, list[DialoguePath]]]) -> None:
        """Give each language its own Path file where one file for all no longer says the same."""
        languages_of: dict[str, set[str]] = defaultdict(set)
        for chain in self.content.chains:
            languages_of[chain.video_id].add(self._language(chain))
        for file in self.content.source_files_of(FORMAT, "path"):
            video, languages = file.extra["video"], file.extra["languages"]
            for_all = layout.Place.of(file.path).language is None
            if for_all and (video in by_video or languages_of[video] != set(languages)):
                self.files.remove(file)
                self.places.clear()
                for path_id in reversed([*file.records, *file.extra.get("twins", ())]):
                    if path := self.paths.get(PathId(path_id)):
                        language = self._subject("path", path_id)[1]
                        by_video[video][language].insert(0, path)

    def _plan_answers(self) -> None:
        covered: set[tuple[str, str, str]] = set()
        for file in self.files:
            if file.kind in ("answers", "judged chain", "judged single", "judged con"):
                covered |= {(file.extra["model"], file.extra["unit"], record) for record in file.records}
        wanted: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        unfit = 0
        for answer in self.content.answers:
            known = answer.unit_id in (self.chains if answer.unit == "chain" else self.paths)
            if (answer.model, answer.unit, answer.unit_id) in covered:
                continue
            if answer.unit == "dialogue" or not known:
                unfit += 1
            else:
                wanted[answer.model, answer.unit, answer.unit_id].append(answer.turn_index)
        self._lose(unfit, "answers to dialogues are left out")
        gaps = sum(sorted(indices) != list(range(len(indices))) for indices in wanted.values())
        self._lose(gaps, "chains or paths answered with gaps: later answers move up")
        grouped: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
        for model, unit, unit_id in wanted:
            video, language = self._subject(unit, unit_id)
            grouped[model, unit, video, language].append(unit_id)
        numbers = self._unit_numbers()
        for (model, unit, video, language), ids in grouped.items():
            part = "Dialogue" if unit == "chain" else "Streaming"
            folder = f"Answers/{self._name('model', model)}/{part}_{language.upper()}"
            index = self._add(
                "answers",
                f"{folder}/{self._name('video', video)}.json",
                ids,
                model=model,
                unit=unit,
                video=video,
                language=language,
            )
            file = self.files[index]
            places = {unit_id: numbers.get(unit_id, 0) for unit_id in file.records}
            if len(set(places.values())) == len(places):
                empty = sorted(set(range(max(places.values()))) - set(places.values()))
                self.files[index] = file.model_copy(
                    update={
                        "records": tuple(sorted(places, key=lambda unit_id: places[unit_id])),
                        "extra": {**file.extra, "empty": empty},
                    }
                )

    def _unit_numbers(self) -> dict[str, int]:
        """The place of each chain and path in the file that numbers it."""
        numbers = dict(Documents(self.content, self.files).numbers)
        for file in self.files:
            if file.kind == "path":
                languages = file.extra["languages"]
                numbers |= {path_id: place for place, path_id in enumerate(file.records)}
                twins = file.extra.get("twins", [])
                count = len(twins) // max(1, len(languages) - 1)
                numbers |= {path_id: place % max(1, count) for place, path_id in enumerate(twins)}
        return numbers

    def _subject(self, unit: str, unit_id: str) -> tuple[str, str]:
        if unit == "path":
            path = self.paths[unit_id]  # type: ignore[index]
            chain = self.chains.get(ChainId(path.steps[0].ref.unit_id)) if path.steps else None
            return path.video_id, self._language(chain) if chain else layout.DEFAULT_LANGUAGE
        chain = self.chains[ChainId(unit_id)]
        return chain.video_id, self._language(chain)

    def _plan_scores(self) -> None:
        covered: set[tuple[str, str, str, str]] = set()
        for file in self.files:
            if file.kind.startswith("judged"):
                unit = "turn" if file.kind == "judged single" else file.extra["unit"]
                covered |= {(file.extra["model"], file.extra["judge"], unit, record) for record in file.records}
        wanted: dict[tuple[str, str, str, str, str], dict[str, None]] = defaultdict(dict)
        unfit = 0
        for score in self.content.scores:
            if (score.model, score.judge, score.unit, score.unit_id) in covered:
                continue
            if not self._can_be_judged(score):
                unfit += 1
                continue
            video, language = self._subject("path" if score.unit == "path" else "chain", score.unit_id)
            wanted[score.model, score.judge, score.unit, video, language][score.unit_id] = None
        self._lose(unfit, "scores of dialogues, or of chains that are not there, are left out")
        for (model, judge, unit, video, language), ids in wanted.items():
            kind = "judged single" if unit == "turn" else "judged chain"
            part = {"turn": "single", "chain": "chain", "path": "streaming"}[unit]
            folder = f"Judged/{self._name('judge', judge)}/{self._name('model', model)}/{part}_{language.upper()}"
            self._add(
                kind,
                f"{folder}/{self._name('video', video)}.json",
                ids,
                model=model,
                judge=judge,
                unit="chain" if unit == "turn" else unit,
                language=language,
            )

    def _can_be_judged(self, score: JudgedScore) -> bool:
        if score.unit == "path":
            return score.unit_id in self.paths
        return score.unit in ("chain", "turn") and score.unit_id in self.chains

    # ── what has no place in the layout ───────────────────────────────────────────────────────────────────────────

    def _what_is_lost(self) -> None:
        content = self.content
        for what, rows in (
            ("entities, events and facts", [*content.entities, *content.events, *content.facts]),
            ("graphs", content.graphs),
            ("reviews", content.reviews),
            ("rubrics", content.rubrics),
            ("video files", content.media),
        ):
            self._lose(len(rows), f"{what} are left out")
        self._lose(sum(row.extra.get("file") is None for row in content.rejected), "refused records are left out")
        described = [
            video
            for video in content.videos
            if any((video.sha256, video.duration_s, video.frame_rate, video.licence, video.source, video.summaries))
        ]
        self._lose(len(described), "videos with lengths, hashes, licences or summaries, which are left out")
        used = {chain.clip_id for chain in content.chains}
        used |= {clip for file in self.files for clips in file.extra.get("clips", ()) for clip in clips}
        self._lose(sum(clip.id not in used for clip in content.clips), "clips of no chain are left out")
        self._lose(
            sum(clip.interval is None for clip in content.clips if clip.id in used), "clips without times are left out"
        )
        turns = [turn for chain in content.chains for turn in chain.turns]
        ends = {clip.id: clip.interval.end_s if clip.interval else None for clip in content.clips}
        asked = sum(
            turn.asked_at_s is not None and turn.asked_at_s != (ends.get(chain.clip_id) if chain.clip_id else None)
            for chain in content.chains
            for turn in chain.turns
        )
        self._lose(asked, "turns asked at another time than the end of their clip")
        self._lose(
            sum(len(turn.references) > 1 for turn in turns),
            "turns with several references, of which the first is written",
        )
        self._lose(sum(not turn.references for turn in turns), "turns without a reference, written as an empty answer")
        self._lose(
            sum(map(_has_more, turns)),
            "turns with options, evidence, checklists, rubrics, keys or other labels, which are left out",
        )
        states = Counter(answer.state for answer in content.answers)
        failed = states[AnswerState.FAILED] + states[AnswerState.NOT_ASKED]
        self._lose(failed, "answers that failed or were not asked, written as their text alone")
        reasons = sum(
            score.value is None and score.reason != ABSENT and "value" not in score.extra
            for score in content.scores
            if not any(file.kind.startswith("judged") for file in self.files)
        )
        self._lose(reasons, "scores without a value, whose reason is left out")


def _as_chain(dialogue: Dialogue) -> QAChain:
    clip_id = dialogue.clip_ids[0] if len(dialogue.clip_ids) == 1 else None
    return QAChain(id=ChainId(dialogue.id), video_id=dialogue.video_id, clip_id=clip_id, turns=dialogue.turns)


def _places_between(ids: list[str], stem: str) -> list[int]:
    """The places that chains named by their place leave empty; none where they are named otherwise."""
    tails = [chain_id.removeprefix(stem) for chain_id in ids]
    places = [int(tail) for tail in tails if re.fullmatch("0|[1-9][0-9]{0,3}", tail)]
    if len(places) < len(ids) or places != sorted(set(places)):
        return []
    return sorted(set(range(max(places))) - set(places))


def _has_more(turn: Turn) -> bool:
    return bool(
        turn.options or turn.evidence or turn.checklist or turn.rubric or turn.key or turn.extra
        or set(turn.labels) - {LANGUAGE}
    )  # fmt: skip
