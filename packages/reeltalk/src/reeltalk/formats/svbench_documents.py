"""SVBench's documents, made from typed records.

The importer makes the documents too, to find the places in which a source differs from them. SVBench's official
streaming evaluation joins chains and links by equal spellings of their start times, so `join_inputs` keeps the spelling
of each file.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from reeltalk.formats.layout import restore_form
from reeltalk.formats.svbench_layout import (
    CRITERIA,
    END_KEY,
    FORMAT,
    META_COLUMNS,
    NO_SCORE,
    NOT_APPLICABLE,
    START_KEY,
    ChainEntry,
    LinksByText,
    clock_time,
    first_reference,
    language_of,
    relation_of,
    spell_time,
    with_empty_places,
)
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import Rejected, SourceFile
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.content import Content

NO_ANSWERS: Final[dict[str, Json]] = {"questions": [], "gt_answers": [], "answers": []}
NO_TURN: Final = Turn(question="")
"""Stands for a turn that the content lacks."""


class SVBenchDocuments:
    """Finds records by the names that files use for them, and makes the document of each file."""

    def __init__(self, content: Content, files: Iterable[SourceFile]) -> None:
        self.files = list(files)
        self.videos: dict[str, Video] = {row.id: row for row in content.videos}
        self.clips: dict[str, Clip] = {row.id: row for row in content.clips}
        self.chains: dict[str, QAChain] = {row.id: row for row in content.chains}
        self.paths: dict[str, DialoguePath] = {row.id: row for row in content.paths}
        self.dialogues: dict[str, Dialogue] = {row.id: row for row in content.dialogues}
        self.linkages: dict[tuple[str, str], list[Linkage]] = defaultdict(list)
        for linkage in content.linkages:
            self.linkages[linkage.source.unit_id, linkage.target.unit_id].append(linkage)
        self.rejected: dict[tuple[Json, Json], dict[int, Rejected]] = defaultdict(dict)
        for row in content.rejected:
            if row.table == "linkages" and isinstance(row.extra.get("position"), int):
                self.rejected[row.extra.get("file"), row.extra.get("entry")][row.extra["position"]] = row
        self.answers: dict[tuple[str, str, str], list[Answer]] = defaultdict(list)
        for answer in sorted(content.answers, key=lambda row: row.turn_index):
            self.answers[answer.model, answer.unit, answer.unit_id].append(answer)
        self.scores: dict[tuple[str, str, str, str], list[JudgedScore]] = defaultdict(list)
        for score in content.scores:
            self.scores[score.model, score.judge, score.unit, score.unit_id].append(score)
        self.numbers = self._chain_numbers()

    def _chain_numbers(self) -> dict[str, int]:
        """Each chain's place in its `Dialogue` file, or else in its identifier or among the chains of its video."""
        numbers: dict[str, int] = {}
        for file in self.files:
            if file.kind == "dialogue":
                entries = with_empty_places(file.records, file.extra.get("empty", []))
                numbers |= {chain_id: number for number, chain_id in enumerate(entries) if chain_id}
        counts: dict[str, int] = defaultdict(int)
        for chain in self.chains.values():
            own = _number_in(chain.id)
            numbers.setdefault(chain.id, counts[chain.video_id] if own is None else own)
            counts[chain.video_id] += 1
        return numbers

    def document(self, file: SourceFile) -> Json:
        """The document of a file, in the source's own form; the rows of a CSV file."""
        return restore_form(file, self.plain(file))

    def plain(self, file: SourceFile) -> Json:
        """The document of a file, in our form."""
        if file.kind == "path":
            paths = [self.paths[name] for name in file.records if name in self.paths]
            return {
                "Paths": [
                    [[self.numbers.get(step.ref.unit_id, 0), step.ref.turn_index] for step in path.steps]
                    for path in paths
                ]
            }
        if file.kind == "scenes":
            pairs = zip(file.records, file.extra.get("clips", ()), strict=False)
            return [self._row(file, video_id, self._scenes(video_id, clip_ids)) for video_id, clip_ids in pairs]
        if file.kind == "con":
            return self._con(file)
        makers: dict[str, Callable[[SourceFile, str], Json]] = {
            "meta": lambda file, video_id: self._row(file, video_id, self._meta(video_id)),
            "dialogue": self._chain,
            "streaming": self._streaming,
            "answers": self._answered,
            "judged chain": self._judged_unit,
            "judged single": self._judged_scene,
            "judged con": self._judged_links,
        }
        records: Sequence[str] = file.records
        if file.kind == "streaming":
            records = [name for name in records if name in self.paths or name in self.dialogues]
        make = makers[file.kind]
        return [make(file, name) if name else {} for name in with_empty_places([*records], file.extra.get("empty", []))]

    def _row(self, file: SourceFile, video_id: str, known: dict[str, str]) -> dict[str, str]:
        """A row of a table: what we know, and the other columns of the source."""
        video = self.videos.get(video_id)
        extra = video.extra if video else {}
        return {column: known.get(column, str(extra.get(column, ""))) for column in file.extra["columns"]}

    def _meta(self, video_id: str) -> dict[str, str]:
        video = self.videos.get(video_id)
        cells = (video_id, (video and video.file) or "", (video and video.split) or "")
        return dict(zip(META_COLUMNS, cells, strict=True))

    def _scenes(self, video_id: str, clip_ids: list[str]) -> dict[str, str]:
        video = self.videos.get(video_id)
        times = [self._times(clip_id) for clip_id in clip_ids]
        scenes = [[t if isinstance(t, str) else clock_time(t) for t in pair if t is not None] for pair in times]
        return {"path": (video and video.file) or video_id, "timestamp": repr([scene for scene in scenes if scene])}

    def _times(self, clip_id: str | None) -> list[str | float | None]:
        clip = self.clips.get(clip_id) if clip_id else None
        if clip is None or clip.interval is None:
            return [None, None]
        start, end = clip.interval.start_s, clip.interval.end_s
        return [spell_time(start, clip.extra.get(START_KEY)), spell_time(end, clip.extra.get(END_KEY))]

    def _chain(self, file: SourceFile, chain_id: str) -> dict[str, Json]:
        chain = self.chains.get(chain_id)
        if chain is None:
            return {}
        start, end = self._times(chain.clip_id)
        row: dict[str, Json] = {"chain": _lists(chain.turns), START_KEY: start, END_KEY: end}
        return row | {key: value for key, value in chain.extra.items() if key not in ChainEntry.model_fields}

    def _con(self, file: SourceFile) -> list[Json]:
        pairs = list(zip(file.records[::2], file.records[1::2], strict=False))
        entries = with_empty_places([str(number) for number in range(len(pairs))], file.extra.get("empty", []))
        return [self._con_entry(file, place, *pairs[int(n)]) if n else {} for place, n in enumerate(entries)]

    def _con_entry(self, file: SourceFile, index: int, before: str, after: str) -> dict[str, Json]:
        if before not in self.chains or after not in self.chains:
            return {}
        rows: dict[str, Json] = {}
        for key, chain_id in (("chain_1", before), ("chain_2", after)):
            start, end = self._times(self.chains[chain_id].clip_id)
            rows[key] = _lists(self.chains[chain_id].turns) | {START_KEY: start, END_KEY: end}
        source, target = self.chains[before].turns, self.chains[after].turns
        linkages = [
            row
            for row in self.linkages[before, after]
            if row.source.turn_index < len(source) and row.target.turn_index < len(target)
        ]
        if index not in file.extra.get("by_text", ()):
            rows["relationship"] = {
                "chainBefore": [row.source.turn_index for row in linkages],
                "chainAfter": [row.target.turn_index for row in linkages],
                "relationship": [_relation(row) for row in linkages],
            }
            return rows
        texts = []
        for row in linkages:
            asked, answered = source[row.source.turn_index], target[row.target.turn_index]
            references = first_reference(asked.references), first_reference(answered.references)
            texts.append((asked.question, references[0], answered.question, references[1], _relation(row)))
        keys = tuple(LinksByText.model_fields)
        for position, refused in sorted(self.rejected[file.path, index].items()):
            texts.insert(position, tuple(refused.content[key] for key in keys))
        rows["relationship"] = {key: [text[place] for text in texts] for place, key in enumerate(keys)}
        return rows

    def _streaming(self, file: SourceFile, unit_id: str) -> dict[str, Json]:
        if unit_id in self.dialogues:
            turns = self.dialogues[unit_id].turns
            return _lists(turns) | {"timestamps": [_turn_times(turn) for turn in turns]}
        steps = self.paths[unit_id].steps
        return _lists(self._step_turn(step) for step in steps) | {"timestamps": list(map(self._step_times, steps))}

    def _step_turn(self, step: PathStep) -> Turn:
        """The turn of a step, in the wording of its path."""
        unit = self._unit(step.ref.unit, step.ref.unit_id)
        turns = unit.turns if unit else ()
        return step.turn or (turns[step.ref.turn_index] if step.ref.turn_index < len(turns) else NO_TURN)

    def _step_times(self, step: PathStep) -> list[Json]:
        chain = self.chains.get(step.ref.unit_id)
        clip = self.clips.get(chain.clip_id) if chain and chain.clip_id else None
        interval = clip.interval if clip else None
        # The evidence of a draft may be in an earlier clip; only imported evidence gives the time of the question.
        if step.turn is not None and step.turn.evidence and ("timestamps" in step.extra or interval is None):
            interval = step.turn.evidence[0]
        if interval is None:
            return [None, None]
        return _spelt(interval, step.extra.get("timestamps"), self._times(chain.clip_id if chain else None))

    def _unit(self, unit: str, unit_id: str) -> QAChain | Dialogue | None:
        return self.chains.get(unit_id) if unit == "chain" else self.dialogues.get(unit_id)

    def _turn(self, unit: str, unit_id: str, index: int) -> Turn:
        """The turn of an answer."""
        if unit == "path" and unit_id in self.paths:
            steps = self.paths[unit_id].steps
            return self._step_turn(steps[index]) if index < len(steps) else NO_TURN
        found = self._unit(unit, unit_id)
        return found.turns[index] if found and index < len(found.turns) else NO_TURN

    def _answered(self, file: SourceFile, unit_id: str) -> dict[str, Json]:
        unit = file.extra.get("unit", "chain")
        rows = self.answers.get((file.extra["model"], unit, unit_id), [])
        if not rows:
            return {}
        asked = [_wording(row, self._turn(unit, unit_id, row.turn_index)) for row in rows]
        questions, references = ([pair[place] for pair in asked] for place in (0, 1))
        return {"questions": questions, "gt_answers": references, "answers": [row.text for row in rows]}

    def _judged_unit(self, file: SourceFile, unit_id: str) -> dict[str, Json]:
        return {
            **self._named(unit_id),
            **(self._answered(file, unit_id) or NO_ANSWERS),
            **_evaluation(self._scores(file, file.extra.get("unit", "chain"), unit_id)),
        }

    def _judged_links(self, file: SourceFile, dialogue_id: str) -> dict[str, Json]:
        dialogue = self.dialogues.get(dialogue_id)
        extra = dialogue.extra if dialogue else {}
        row: dict[str, Json] = {"video_name": self._named(dialogue_id)["video_name"]}
        answered = self._answered(file, dialogue_id) or NO_ANSWERS
        row |= {key: _nest(texts, extra.get("shape")) for key, texts in answered.items()}
        row |= {"relationships": extra["relationships"]} if "relationships" in extra else {}
        return row | _evaluation(self._scores(file, "dialogue", dialogue_id))

    def _judged_scene(self, file: SourceFile, chain_id: str) -> dict[str, Json]:
        answers = {row.turn_index: row for row in self.answers.get((file.extra["model"], "chain", chain_id), [])}
        by_turn: dict[int, list[JudgedScore]] = defaultdict(list)
        for score in self._scores(file, "turn", chain_id):
            by_turn[score.turn_index or 0].append(score)
        rows: list[Json] = []
        for index, scores in sorted(by_turn.items()):
            answer = answers.get(index)
            question, reference = _wording(answer, self._turn("chain", chain_id, index))
            text = answer.text if answer else ""
            row = {"question_id": index, "question": question, "gt_answer": reference, "model_response": text}
            rows.append(row | _evaluation(scores, "question_scores"))
        return self._named(chain_id) | {"scores": rows}

    def _named(self, unit_id: str) -> dict[str, Json]:
        unit = self.chains.get(unit_id) or self.paths.get(unit_id) or self.dialogues.get(unit_id)
        number = self.numbers.get(unit_id, _number_in(unit_id))
        return {"video_name": unit.video_id if unit else unit_id, "scene_id": number or 0}

    def _scores(self, file: SourceFile, unit: str, unit_id: str) -> list[JudgedScore]:
        return self.scores.get((file.extra["model"], file.extra["judge"], unit, unit_id), [])


def _number_in(unit_id: str) -> int | None:
    tail = unit_id.rpartition("/")[2]
    return int(tail) if tail.isascii() and tail.isdigit() and len(tail) < 6 else None


def _lists(turns: Iterable[Turn]) -> dict[str, Json]:
    listed = list(turns)
    answers = [first_reference(turn.references) for turn in listed]
    return {"questions": [turn.question for turn in listed], "answers": answers}


def _wording(answer: Answer | None, turn: Turn) -> tuple[str, str]:
    """The question and the reference in the wording that the model or its judge was given."""
    asked, referred = (answer.asked_as, answer.referred_to) if answer else (None, None)
    return turn.question if asked is None else asked, first_reference(turn.references if referred is None else referred)


def _relation(linkage: Linkage) -> str:
    """The source's word for a relation, if the record still has this relation."""
    own = linkage.extra.get("relationship")
    return own if isinstance(own, str) and relation_of(own) == linkage.relation else linkage.relation


def _turn_times(turn: Turn) -> list[Json]:
    unknown = [None, None]
    return _spelt(turn.evidence[0], turn.extra.get("timestamps"), unknown) if turn.evidence else unknown


def _spelt(interval: Interval, own: Json, otherwise: Sequence[Json]) -> list[Json]:
    """Both times in a record's own spelling, if it has one."""
    start, end = own if isinstance(own, list) and len(own) == 2 else otherwise
    return [spell_time(interval.start_s, start), spell_time(interval.end_s, end)]


def _evaluation(scores: list[JudgedScore], name: str = "scores") -> dict[str, Json]:
    order = {criterion: place for place, criterion in enumerate(CRITERIA)}
    fields: dict[str, Json] = {}
    for row in sorted(scores, key=lambda row: order.get(row.criterion, len(order))):
        if row.state is ScoreState.UNSCORED and row.reason == NO_SCORE:
            continue
        if row.state is ScoreState.NOT_APPLICABLE:
            fields[row.criterion] = NOT_APPLICABLE
        elif row.value is None:
            fields[row.criterion] = row.extra.get("value")
        else:
            fields[row.criterion] = int(row.value) if row.value.is_integer() else row.value
    return {"evaluation": next((row.explanation for row in scores if row.explanation is not None), None), name: fields}


def _nest(texts: Json, shape: Json) -> Json:
    """Put a flat list into the nesting of `shape`: None for one text, a list for a list."""
    if not isinstance(shape, list) or not isinstance(texts, list):
        return texts
    rest = iter(texts)

    def fill(part: Json) -> Json:
        return [fill(member) for member in part] if isinstance(part, list) else next(rest, "")

    filled = [fill(part) for part in shape]
    return filled if next(rest, None) is None else texts


@dataclass
class JoinInput:
    """Input of the official script for one video in one language."""

    video_id: str
    language: str
    chain_ids: list[str | None] = field(default_factory=list)
    """In order; None if the source has an empty entry."""
    chains: list[dict[str, Json]] = field(default_factory=list)
    """The start time of each chain, as the file of chains spells it."""
    links: list[dict[str, Json]] = field(default_factory=list)
    """Records of links: the start time of the earlier chain, as the file of links spells it, and question indices."""


def join_inputs(content: Content) -> list[JoinInput]:
    """The input of the official script for each video and language that has chains.

    A benchmark that was not imported from SVBench is treated like its export.
    """
    files = content.source_files_of(FORMAT)
    documents = SVBenchDocuments(content, files)
    languages = {chain.id: language_of(chain) for chain in content.chains}
    found: dict[tuple[str, str], JoinInput] = {}
    for chain in content.chains:
        found.setdefault((chain.video_id, languages[chain.id]), JoinInput(chain.video_id, languages[chain.id]))
    listed: set[str] = set()
    linked: set[tuple[str, str]] = set()

    def start_of(chain_id: str) -> Json:
        clip = documents.clips.get(documents.chains[chain_id].clip_id or "")
        return clip.interval.start_s if clip is not None and clip.interval is not None else None

    def link(pair: tuple[str, str], start: Json) -> dict[str, Json]:
        linkages = documents.linkages[pair]
        relationship: Json = {
            "chainBefore": [linkage.source.turn_index for linkage in linkages],
            "chainAfter": [linkage.target.turn_index for linkage in linkages],
        }
        return {"chain_1": {START_KEY: start}, "relationship": relationship}

    for file in files:
        own = found.get((str(file.extra.get("video")), str(file.extra.get("language"))))
        if own is None or file.kind not in ("dialogue", "con"):
            continue
        rows = documents.document(file)
        if file.kind == "dialogue":
            entries = with_empty_places(file.records, file.extra.get("empty", []))
            own.chain_ids += entries
            own.chains += [
                {START_KEY: row[START_KEY]} if chain_id and START_KEY in row else {}
                for chain_id, row in zip(entries, rows, strict=True)
            ]
            listed.update(file.records)
        else:
            pairs = list(zip(file.records[::2], file.records[1::2], strict=True))
            starts = [row["chain_1"].get(START_KEY) for row in rows if row and row["chain_1"]]
            own.links += map(link, pairs, starts)
            linked.update(pairs)
    for chain in content.chains:
        if chain.id not in listed:
            own = found[chain.video_id, languages[chain.id]]
            own.chain_ids.append(chain.id)
            own.chains.append({START_KEY: start_of(chain.id)})
    for pair in documents.linkages:
        source = documents.chains.get(pair[0])
        if pair not in linked and source is not None and pair[1] in documents.chains:
            found[source.video_id, languages[source.id]].links.append(link(pair, start_of(pair[0])))
    return list(found.values())
