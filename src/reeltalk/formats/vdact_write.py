"""VDAct out: the files that were imported, or the release's layout for a benchmark from elsewhere."""

import io
import json
import re
import zipfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from reeltalk.formats.layout import chain_as_dialogue
from reeltalk.formats.vdact_read import FORMAT, SCENARIO_SUFFIX_DIGITS, SPLIT_FILE, turn_number
from reeltalk.graph.rdf import triples_from_quads
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import DialogueId, VideoId
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json


def write(content: Content, folder: Path) -> list[str]:
    """Write VDAct's layout into an empty folder; what it cannot express is returned, a line each."""
    return _Writer(content, folder).write()


@dataclass
class _Writer:
    content: Content
    folder: Path
    lost: list[str] = field(default_factory=list)

    def write(self) -> list[str]:
        files = self.content.source_files_of(FORMAT)
        if files:
            self._write_files(files)
        else:
            self._write_default_layout()
        return self.lost

    def _write_files(self, files: list[SourceFile]) -> None:
        videos = {video.id: video for video in self.content.videos}
        dialogues = {dialogue.id: dialogue for dialogue in self.content.dialogues}
        for file in files:
            path = self.folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.kind == "split":
                path.write_text("".join(f"{record}\n" for record in file.records), encoding="utf-8")
            elif file.kind == "dialogues":
                rows = [_dialogue_row(dialogues[DialogueId(record)]) for record in file.records]
                path.write_text(write_json(rows), encoding="utf-8")
            elif file.kind == "scenario activities":
                activities: dict[str, list[Json]] = {record: [] for record in file.records}
                for clip in self.content.clips:
                    if "activity" in clip.extra and clip.video_id in activities:
                        activities[clip.video_id].append(clip.extra["activity"])
                path.write_text(write_json(activities), encoding="utf-8")
            elif file.kind == "initial rooms":
                rooms = {record: videos[VideoId(record)].extra["initial_room"] for record in file.records}
                path.write_text(write_json(rooms), encoding="utf-8")
            elif file.kind == "answers":
                path.write_text(_output_text(self._output_rows(file, dialogues)), encoding="utf-8")
            elif file.kind == "graphs":
                self._write_members(path, [(name, self._graph(file, index)) for index, name in enumerate(file.records)])
            elif file.kind.startswith("summaries "):
                kind = file.kind.removeprefix("summaries ")
                self._write_members(
                    path, [(name, videos[VideoId(Path(name).stem)].summaries[kind]) for name in file.records]
                )

    def _graph(self, file: SourceFile, index: int) -> str:
        name = Path(file.records[index]).name.removesuffix(".nt").removesuffix(".ttl")
        pseudo = file.extra.get("pseudo_of", [])
        return triples_from_quads(
            self.content.graphs[name], pseudo=pseudo[index] if pseudo else bool(file.extra["pseudo_iris"])
        )

    @staticmethod
    def _write_members(path: Path, members: list[tuple[str, str]]) -> None:
        if path.suffix != ".zip":
            path.write_bytes(members[0][1].encode())
            return
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members:
                # ZipInfo's default date keeps the archive's bytes the same on every day.
                archive.writestr(zipfile.ZipInfo(name), text.encode(), zipfile.ZIP_DEFLATED)
        path.write_bytes(buffer.getvalue())

    def _output_rows(self, file: SourceFile, dialogues: dict[DialogueId, Dialogue]) -> list[dict[str, Json]]:
        model = file.extra["model"]
        rows: dict[str, list[dict[str, Json]]] = defaultdict(list)
        dropped = [
            Answer.model_validate(row.content)
            for row in self.content.rejected
            if row.table == "answers" and row.content
        ]
        # The kept row of an identifier came first, the dropped ones in their order after it.
        for answer in (*self.content.answers, *dropped):
            if answer.model == model and answer.unit == "dialogue":
                dialogue = dialogues[DialogueId(answer.unit_id)]
                number = turn_number(dialogue.turns[answer.turn_index], answer.turn_index)
                row = _output_row(answer, dialogue, number)
                rows[row["id"]].append(row)
        return [rows[record].pop(0) for record in file.records]

    def _write_default_layout(self) -> None:
        units = [*self.content.dialogues, *(chain_as_dialogue(chain) for chain in self.content.chains)]
        names = _vdact_ids(units)
        renamed = sum(names[unit.id] != unit.id for unit in units)
        if renamed:
            self.lost.append(
                f"{renamed:,} dialogues or chains have new identifiers: VDAct's are a scenario's and two digits"
            )
        for label, count in (
            ("clips", len(self.content.clips)),
            ("linkages", len(self.content.linkages)),
            ("paths", len(self.content.paths)),
            ("entities, events and facts", len(self.content.entities + self.content.events + self.content.facts)),
            ("scores", len(self.content.scores)),
            ("reviews", len(self.content.reviews)),
            ("chains became dialogues:", len(self.content.chains)),
            (
                "dialogues known in part lose the numbers of their turns:",
                sum(any(turn.position is not None for turn in unit.turns) for unit in units),
            ),
            (
                "turns with several references, of which the first is written:",
                sum(len(turn.references) > 1 for unit in units for turn in unit.turns),
            ),
            (
                "turns with options, times, evidence, checklists, rubrics, keys or labels of other vocabularies:",
                sum(_has_more(turn) for unit in units for turn in unit.turns),
            ),
        ):
            if count:
                self.lost.append(f"{label} {count:,}" if label.endswith(":") else f"{label} are left out: {count:,}")
        renamed_units = {unit.id: unit.model_copy(update={"id": names[unit.id]}) for unit in units}
        if units:
            rows = [_dialogue_row(unit) for unit in renamed_units.values()]
            (self.folder / "dialogue.json").write_text(write_json(rows), encoding="utf-8")
        split_of = {video.id: video.split for video in self.content.videos}
        by_split: dict[str, list[str]] = defaultdict(list)
        for unit in units:
            if split := split_of.get(unit.video_id):
                by_split[split].append(names[unit.id])
        for split, ids in by_split.items():
            if SPLIT_FILE.fullmatch(f"{split}_ids.txt") and all(name.isdigit() for name in ids):
                (self.folder / f"{split}_ids.txt").write_text("".join(f"{name}\n" for name in ids), encoding="utf-8")
            else:
                self.lost.append(f"split '{split}' is left out: its name or its identifiers do not fit a split list")
        self._write_default_answers(renamed_units)
        if not units and not self.content.graphs:
            self.lost.append("the benchmark holds nothing that this layout can hold")
        for name, quads in self.content.graphs.items():
            (self.folder / "kg_activity").mkdir(exist_ok=True)
            text = triples_from_quads(quads, pseudo=True)
            (self.folder / "kg_activity" / f"{name}.ttl.nt").write_text(text, encoding="utf-8")

    def _write_default_answers(self, units: dict[DialogueId, Dialogue]) -> None:
        by_model: dict[str, list[dict[str, Json]]] = defaultdict(list)
        paths = 0
        for answer in self.content.answers:
            unit = units.get(DialogueId(answer.unit_id))
            if answer.unit == "path" or unit is None or answer.turn_index >= len(unit.turns):
                paths += 1
            else:
                by_model[answer.model].append(_output_row(answer, unit, answer.turn_index + 1))
        if paths:
            self.lost.append(f"answers along paths are left out: {paths:,}")
        for model, rows in by_model.items():
            name = re.sub(r"[^\w.+-]", "_", model)
            if name != model:
                self.lost.append(f"model '{model}' is written as '{name}'")
            (self.folder / "results").mkdir(exist_ok=True)
            (self.folder / "results" / f"{name}.json").write_text(_output_text(rows), encoding="utf-8")


def _has_more(turn: Turn) -> bool:
    other_labels = set(turn.labels) - {"vdact.question_type"}
    return bool(
        turn.options or turn.evidence or turn.asked_at_s is not None or turn.checklist or turn.rubric or turn.key
        or other_labels
    )  # fmt: skip


def _vdact_ids(units: list[Dialogue]) -> dict[DialogueId, DialogueId]:
    """Each unit's identifier in VDAct: its own where it has the form, else numbered by video and order."""
    if all(unit.id[:-SCENARIO_SUFFIX_DIGITS] == unit.video_id and unit.id.isdigit() for unit in units):
        return {unit.id: unit.id for unit in units}
    scenarios: dict[VideoId, int] = {}
    counts: Counter[VideoId] = Counter()
    names: dict[DialogueId, DialogueId] = {}
    for unit in units:
        number = scenarios.setdefault(unit.video_id, len(scenarios) + 1)
        counts[unit.video_id] += 1
        names[unit.id] = DialogueId(f"{number:05d}{counts[unit.video_id]:02d}")
    return names


def _dialogue_row(dialogue: Dialogue) -> dict[str, Json]:
    extra = {key: value for key, value in dialogue.extra.items() if key != "from_answers"}
    turns = []
    for turn in dialogue.turns:
        row: dict[str, Json] = {"question": turn.question, "answer": turn.references[0] if turn.references else ""}
        if "vdact.question_type" in turn.labels:
            row["types"] = list(turn.labels["vdact.question_type"])
        turns.append(row | turn.extra)
    return {"id": dialogue.id, "turns": turns} | extra


def _output_row(answer: Answer, dialogue: Dialogue, number: int) -> dict[str, Json]:
    turn = dialogue.turns[answer.turn_index]
    references = turn.references if answer.referred_to is None else answer.referred_to
    return {
        "id": f"{dialogue.id}{number:02d}",
        "dial_id": dialogue.id,
        "turn_num": number,
        "question": turn.question if answer.asked_as is None else answer.asked_as,
        "ref_answer": references[0] if references else "",
        "gen_answer": answer.text,
    } | answer.extra


def _output_text(rows: list[dict[str, Json]]) -> str:
    # The release's own form, without spaces after colons, so that a file comes back byte for byte.
    return json.dumps(rows, ensure_ascii=False, indent=2, separators=(",", ":")) + "\n"
