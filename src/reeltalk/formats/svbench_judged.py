"""Reads models' answers to SVBench, and judges' records about them."""

from collections.abc import Iterator
from typing import Any, Final

from reeltalk.errors import InputError
from reeltalk.formats import svbench_layout as layout
from reeltalk.formats.svbench_documents import ABSENT, first
from reeltalk.formats.svbench_records import File, Records, pairs_of, refuse_unequal, rows_of, turn_in
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.ids import ChainId, DialogueId, VideoId
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.documents import parse, placed

UNNAMED: Final = "unnamed"


class JudgedReader(Records):
    """Reads each kind of file that a model or a judge left."""

    def _read_answers(self, file: File) -> None:
        model, unit = self._model(file), file.place.unit
        key = self.key_of(file, file.video, "file name")
        self.once(file, model, unit, *key)
        ids, empty = [], []
        for index, item in enumerate(rows_of(file)):
            place = f"$[{index}]"
            if item == {}:
                empty.append(index)
                continue
            row = parse(layout.AnsweredEntry, item, file=file.path, place=place)
            lists = {"questions": row.questions, "gt_answers": row.gt_answers, "answers": row.answers}
            refuse_unequal(lists, file, place)
            ids.append(self._answered(file, place, model, unit, key, index, row))
        self.add_file(file, ids, empty=empty, model=model, unit=unit, video=file.video, language=file.language)

    def key_of(self, file: File, video: str, place: str) -> tuple[str, str]:
        """The video and the language of the chains that a file names."""
        return video, file.language

    def _answered(
        self,
        file: File,
        place: str,
        model: str,
        unit: str,
        key: tuple[str, str],
        number: int,
        row: layout.AnsweredEntry | layout.JudgedChain,
    ) -> str:
        pairs = list(zip(row.questions, row.gt_answers, strict=True))
        if unit == "path":
            paths = self.paths.get(key, [])
            path = paths[number] if number < len(paths) else None
            if path is None:
                raise InputError(
                    f"video '{key[0]}' has no path {number} in language '{key[1]}', counted from 0",
                    file=file.path,
                    place=place,
                    hint="import the folder that holds Path, Dialogue and the answers",
                )
            chains = {chain.id: chain for chain in self.chains[key].values()}
            turns = tuple(
                step.turn or chains[ChainId(step.ref.unit_id)].turns[step.ref.turn_index] for step in path.steps
            )
            unit_id: str = path.id
        else:
            chain = self._chain_of_answers(file, place, key, number, pairs)
            turns, unit_id = chain.turns, chain.id
        if len(pairs) > len(turns):
            raise InputError(
                f"{len(pairs)} questions, but {unit} '{unit_id}' has {len(turns)}",
                file=file.path,
                place=f"{place}.questions",
            )
        self._add_answers(file, place, (model, unit, unit_id), turns, pairs, row.answers)
        return unit_id

    def _chain_of_answers(
        self, file: File, place: str, key: tuple[str, str], number: int, pairs: list[tuple[str, str]]
    ) -> QAChain:
        if not self.chains.get(key):
            self.derived.add(key)
        chain = self.chains[key].get(number)
        if key in self.derived and (chain is None or len(chain.turns) < len(pairs)):
            known = [] if chain is None else pairs_of(chain)
            if chain is None:
                return self.new_chain(file, place, key, number, pairs)
            more = tuple(turn_in(*pair, key[1], None) for pair in pairs[len(known) :])
            chain = chain.model_copy(update={"turns": (*chain.turns, *more)})
            self.chains[key][number] = chain
        if chain is None:
            raise InputError(
                f"video '{key[0]}' has no chain {number} in language '{key[1]}', counted from 0",
                file=file.path,
                place=place,
            )
        return chain

    def _add_answers(
        self,
        file: File,
        place: str,
        key: tuple[str, str, str],
        turns: tuple[Turn, ...],
        pairs: list[tuple[str, str]],
        texts: list[str],
    ) -> None:
        model, unit, unit_id = key
        rows = self.answers.setdefault(key, {})
        for index, ((question, reference), text) in enumerate(zip(pairs, texts, strict=True)):
            turn = turns[index]
            if index in rows:
                if rows[index].text != text:
                    self.content.warnings.append(
                        f"{file.name} at {place}: answer {index} differs from another file's of model '{model}'; "
                        "that one is kept as the answer"
                    )
                continue
            with placed(file.path, place):
                rows[index] = Answer(
                    model=model,
                    unit=unit,
                    unit_id=unit_id,
                    turn_index=index,
                    text=text,
                    asked_as=None if question == turn.question else question,
                    referred_to=None if reference == first(turn.references) else (reference,),
                )

    def _model(self, file: File) -> str:
        if file.place.names:
            return file.place.names[-1]
        self.content.warnings.append(f"{file.name}: no folder names the model, recorded as '{UNNAMED}'")
        return UNNAMED

    def _judge(self, file: File) -> str:
        if len(file.place.names) > 1:
            return file.place.names[-2]
        self.content.warnings.append(
            f"{file.name}: no folder names the judge, recorded as '{UNNAMED}'; put it in Judged/<judge>/<model>/"
        )
        return UNNAMED

    def _read_judged_chain(self, file: File) -> None:
        model, judge, unit = self._model(file), self._judge(file), file.place.unit
        ids: list[str] = []
        empty: list[int] = []
        for index, item in enumerate(rows_of(file)):
            place = f"$[{index}]"
            if item == {}:
                empty.append(index)
                continue
            row = parse(layout.JudgedChain, item, file=file.path, place=place)
            lists = {"questions": row.questions, "gt_answers": row.gt_answers, "answers": row.answers}
            refuse_unequal(lists, file, place)
            at = f"{place}.video_name"
            key = self.key_of(file, self.video(layout.video_id_of(row.video_name), file, at), at)
            unit_id = self._answered(file, place, model, unit, key, int(row.scene_id), row)
            self._refuse_repeat(file, f"{place}.scene_id", unit_id, ids)
            self._add_scores(file, place, (model, judge, unit, unit_id, None), row.scores, row.evaluation)
        self.add_file(file, ids, empty=empty, model=model, judge=judge, unit=unit, language=file.language)

    @staticmethod
    def _refuse_repeat(file: File, place: str, unit_id: str, ids: list[str]) -> None:
        if unit_id in ids:
            raise InputError("judged in a record above too", file=file.path, place=place, value=unit_id)
        ids.append(unit_id)

    def _read_judged_single(self, file: File) -> None:
        model, judge = self._model(file), self._judge(file)
        ids: list[str] = []
        empty: list[int] = []
        for index, item in enumerate(rows_of(file)):
            place = f"$[{index}]"
            if item == {}:
                empty.append(index)
                continue
            row = parse(layout.JudgedScene, item, file=file.path, place=place)
            at = f"{place}.video_name"
            key = self.key_of(file, self.video(layout.video_id_of(row.video_name), file, at), at)
            pairs = [(question.question, question.gt_answer) for question in row.scores]
            chain = self._chain_of_answers(file, place, key, int(row.scene_id), pairs)
            self._refuse_repeat(file, f"{place}.scene_id", chain.id, ids)
            turns = _turns_of_questions(file, place, row, chain)
            answers = self.answers.setdefault((model, "chain", chain.id), {})
            for position, (turn_index, question) in enumerate(zip(turns, row.scores, strict=True)):
                at, turn = f"{place}.scores[{position}]", chain.turns[turn_index]
                if turn_index not in answers:
                    with placed(file.path, at):
                        answers[turn_index] = Answer(
                            model=model,
                            unit="chain",
                            unit_id=chain.id,
                            turn_index=turn_index,
                            text=question.model_response,
                            asked_as=None if question.question == turn.question else question.question,
                            referred_to=None if question.gt_answer == first(turn.references) else (question.gt_answer,),
                        )
                self._add_scores(
                    file,
                    at,
                    (model, judge, "turn", chain.id, turn_index),
                    question.question_scores,
                    question.evaluation,
                    expected=("Accuracy",),
                )
        self.add_file(file, ids, empty=empty, model=model, judge=judge, unit="chain", language=file.language)

    def _read_judged_con(self, file: File) -> None:
        model, judge = self._model(file), self._judge(file)
        ids: list[str] = []
        for index, item in enumerate(rows_of(file)):
            place = f"$[{index}]"
            row = parse(layout.JudgedLinks, item, file=file.path, place=place)
            video_id = self.video(layout.video_id_of(row.video_name), file, f"{place}.video_name")
            lists = {
                name: list(_texts(getattr(row, name), file, f"{place}.{name}"))
                for name in ("questions", "gt_answers", "answers")
            }
            refuse_unequal(lists, file, place)
            dialogue = self._linked_dialogue(file, place, video_id, row, lists)
            self._refuse_repeat(file, f"{place}.video_name", dialogue.id, ids)
            pairs = list(zip(lists["questions"], lists["gt_answers"], strict=True))
            key = (model, "dialogue", dialogue.id)
            self._add_answers(file, place, key, dialogue.turns, pairs, lists["answers"])
            self._add_scores(file, place, (model, judge, "dialogue", dialogue.id, None), row.scores, row.evaluation)
        self.add_file(file, ids, model=model, judge=judge, unit="dialogue", language=file.language)

    def _linked_dialogue(
        self, file: File, place: str, video_id: VideoId, row: layout.JudgedLinks, lists: dict[str, list[str]]
    ) -> Dialogue:
        extra: dict[str, Json] = {}
        shape = _shape(row.questions)
        if any(part is not None for part in shape):
            extra["shape"] = shape
        if row.relationships is not None:
            extra["relationships"] = row.relationships
        content = repr((video_id, file.language, lists["questions"], lists["gt_answers"], extra))
        stem = f"{video_id}/{file.language}/linked"
        if content not in self.linked:
            same = self.linked_counts[stem]
            with placed(file.path, place):
                dialogue = Dialogue(
                    id=DialogueId(f"{stem}/{same + 1}" if same else stem),
                    video_id=video_id,
                    turns=tuple(
                        turn_in(question, answer, file.language, None)
                        for question, answer in zip(lists["questions"], lists["gt_answers"], strict=True)
                    ),
                    extra=extra,
                )
            self.dialogues[dialogue.id] = dialogue
            self.linked[content] = dialogue.id
            self.linked_counts[stem] += 1
        return self.dialogues[self.linked[content]]

    def _add_scores(
        self,
        file: File,
        place: str,
        key: tuple[str, str, str, str, int | None],
        fields: dict[str, layout.Score] | None,
        evaluation: str | None,
        *,
        expected: tuple[str, ...] = layout.CRITERIA,
    ) -> None:
        model, judge, unit, unit_id, turn_index = key
        given = dict(fields or {})
        for alias, criterion in layout.ALIASES.items():
            if alias in given and criterion not in given:
                given[criterion] = given.pop(alias)
        # The text is about all criteria; it is kept once, with the overall score or the only one.
        carrier = expected[-1]
        for criterion in (*expected, *(name for name in given if name not in expected)):
            reading = _reading(criterion, given[criterion]) if criterion in given else _unscored(ABSENT)
            with placed(file.path, f"{place}.scores.{criterion}"):
                score = JudgedScore(
                    unit=unit,
                    unit_id=unit_id,
                    turn_index=turn_index,
                    model=model,
                    judge=judge,
                    criterion=criterion,
                    explanation=evaluation if criterion == carrier else None,
                    **reading,
                )
            if (*key, criterion) in self.scores:
                raise InputError(
                    f"judge '{judge}' has a score of model '{model}' for {unit} '{unit_id}' in another file",
                    file=file.path,
                    place=place,
                    hint="put each judge's records in a folder of its own: Judged/<judge>/<model>/",
                )
            self.scores[*key, criterion] = score


def _turns_of_questions(file: File, place: str, row: layout.JudgedScene, chain: QAChain) -> list[int]:
    """Which turn of the chain each judged question is: by its wording where that is unique, else by its place."""
    found: list[int] = []
    for position, question in enumerate(row.scores):
        same = [index for index, turn in enumerate(chain.turns) if turn.question == question.question]
        index = same[0] if len(same) == 1 else position
        if index >= len(chain.turns) or index in found:
            raise InputError(
                f"is no question of chain '{chain.id}', or is judged above",
                file=file.path,
                place=f"{place}.scores[{position}].question",
                value=question.question,
            )
        found.append(index)
    return found


def _texts(value: list[Any], file: File, place: str) -> Iterator[str]:
    for index, member in enumerate(value):
        if isinstance(member, list):
            yield from _texts(member, file, f"{place}[{index}]")
        elif isinstance(member, str):
            yield member
        else:
            raise InputError(
                "neither a text nor a list of texts", file=file.path, place=f"{place}[{index}]", value=member
            )


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
