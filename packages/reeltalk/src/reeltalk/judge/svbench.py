"""Judges chains and paths by SVBench's five dimensions and an overall score (ICLR 2025, arXiv 2502.10810).

One request per chain or path; the reply is a record of six whole numbers. The overall score is not the mean of the
five: for every published model it is lower.
"""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reeltalk.judge.asking import Judgement, ask_text, ask_verdict, judge_prompts, our_judge_prompts
from reeltalk.judge.judge import Background, JudgeUnit, not_applicable_row, score_row, unscored_row
from reeltalk.judge.measures import MeanItem, Measure, mean_measure, mean_of_means
from reeltalk.judge.protocol import (
    LENIENT,
    PER_CENT,
    REFERENCE,
    MeasurePart,
    OfficialSampling,
    Protocol,
    ProtocolCriterion,
    per_cent,
)
from reeltalk.judge.svbench_official import (
    COMPAT,
    MARK_HEADINGS,
    joined_units,
    official_scores,
    read_headed,
    svbench_fields,
)
from reeltalk.judge.turns import require_model
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.own_words import own_reply
from reeltalk.llm.prompts import Prompts
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.model_texts import plain_characters
from reeltalk.schema.scoring import NO_UNIT, JudgedScore, ScoreState

NAME: Final = "svbench"
CRITERIA: Final = ("OS", "SA", "CC", "LC", "TU", "IC")
"""The overall score, and the five dimensions in the paper's order."""
NOT_APPLICABLE: Final = -1
"""Mark for TU if no question has to do with time."""
PUBLISHED: Final = f"{NAME}-published"
STREAMING: Final = f"{NAME}-streaming-published"
"""The prompts of the official scripts, for chains and for videos; reeltalk does not bring their text."""
NO_ANSWER: Final = "[no answer was given]"
AVERAGED_UNITS: Final = ("chain", "path")
"""Kinds of units whose overall scores the leaderboard averages: dialogue and streaming evaluation."""
AVERAGE: Final = f"{NAME}.average"
OVERALL: Final = (f"{NAME}.OS", f"{NAME}.streaming.OS")
PERCENT: Final = 10.0
"""Tables show a scale of 0 to 10 as 0 to 100."""

Mark = Annotated[int, Field(ge=0, le=10)]


class SVBenchVerdict(BaseModel):
    """What a judge says of a chain or path."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rationale: str
    semantic_accuracy: Mark
    contextual_coherence: Mark
    logical_consistency: Mark
    temporal_understanding: Annotated[int, Field(ge=NOT_APPLICABLE, le=10)]
    """-1 where no question has to do with time."""
    informational_completeness: Mark
    overall_score: Annotated[int, Field(ge=1, le=10)]

    @property
    def marks(self) -> dict[str, int]:
        """Marks by criterion, in the order of `CRITERIA`."""
        return {
            "OS": self.overall_score,
            "SA": self.semantic_accuracy,
            "CC": self.contextual_coherence,
            "LC": self.logical_consistency,
            "TU": self.temporal_understanding,
            "IC": self.informational_completeness,
        }


class SVBenchJudge:
    """SVBench's dialogue and streaming evaluation: criteria OS, SA, CC, LC, TU and IC, 0 to 10 each."""

    needs_model = True
    name = NAME

    def __init__(self, *, compat: bool = False, published: bool = False, prompts: Prompts | None = None) -> None:
        """Choose the variant.

        Args:
            compat: Also ask once per unit in the official layout, and read the reply with the official patterns:
                criteria `SA.compat` and so on, with the defects of those patterns. Units that only the official script
                forms are judged in this way alone.
            published: Ask as the official scripts do, and read each reply twice: strictly, and with the official
                patterns.
            prompts: The judges' prompts; ours by default.
        """
        self.compat, self.published, self.prompts = compat or published, published, prompts or our_judge_prompts()

    @property
    def reads(self) -> frozenset[str]:
        """References, and relations between turns."""
        return frozenset({"references", "linked"})

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The signatures of the prompts."""
        if self.published:
            chosen = (("prompt", PUBLISHED), ("streaming", STREAMING))
            return (("mode", "published"), *((key, self.prompts[name].signature) for key, name in chosen))
        parts = (("prompt", self.prompts[NAME].signature), ("repair", self.prompts["repair"].signature))
        return (*parts, ("compat", self.prompts[f"{NAME}-compat"].signature)) if self.compat else parts

    def added_units(self, units: Sequence[JudgeUnit], background: Background) -> list[JudgeUnit]:
        """With `compat`, the units that only the official script forms."""
        return joined_units(units, background) if self.compat else []

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """Six rows, and six more with `compat`. The row of the overall score has rationale and replies."""
        judging = require_model(NAME, model)
        if unit.official:
            # The script also asks about a video without links; it shows no questions then.
            return self._read_as_official(unit, judging.name, await self._ask_official(unit, judging))
        if not unit.answered:
            criteria = (*CRITERIA, *(f"{criterion}{COMPAT}" for criterion in CRITERIA if self.compat))
            return _unscored(unit, criteria, judging.name, NO_UNIT)
        if self.published:
            said = await self._ask_official(unit, judging)
            return _each_for_itself(unit, judging.name, said) + self._read_as_official(unit, judging.name, said)
        message = Message("user", self.prompts[NAME].fill(items=show_turns(unit)))
        verdict = await ask_verdict(judging, [message], SVBenchVerdict, prompts=self.prompts)
        rows = _fixed(unit, judging.name, verdict)
        if not self.compat:
            return rows
        return rows + self._read_as_official(unit, judging.name, await self._ask_official(unit, judging))

    async def _ask_official(self, unit: JudgeUnit, model: AsyncModel) -> Judgement[str]:
        """The judge's reply in the official layout."""
        if self.published:
            streaming = unit.official or unit.kind == "path"
            text = self.prompts[STREAMING if streaming else PUBLISHED].fill(**svbench_fields(unit))
        else:
            text = self.prompts[f"{NAME}-compat"].fill(items=show_turns(unit))
        return await ask_text(model, [Message("user", text)])

    def _read_as_official(self, unit: JudgeUnit, judge: str, said: Judgement[str]) -> list[JudgedScore]:
        if said.verdict is None:
            criteria = [f"{criterion}{COMPAT}" for criterion in CRITERIA]
            return _unscored(unit, criteria, judge, said.reason or "", said.replies)
        rows: list[JudgedScore] = []
        found = official_scores(said.verdict)
        for criterion in CRITERIA:
            name, value = f"{criterion}{COMPAT}", found[criterion]
            replies = said.replies if criterion == "OS" else ()
            if value is None:
                reason = "the official pattern finds no number"
                rows.append(unscored_row(unit, name, judge, reason, replies=replies))
            else:
                rows.append(score_row(unit, name, judge, float(value), replies=replies))
        return rows

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`svbench.OS` first, then the dimensions, all 0 to 100: means of marks, times ten.

        As in table 2 of the paper, dialogue and streaming evaluation are separate: `svbench.OS` and so on are means
        over chains and dialogues, `svbench.streaming.OS` and so on over paths. A unit to which TU does not apply is
        left out of TU alone. The official script judges the linked questions of a video together in place of paths;
        if there are such units, `svbench.streaming.OS.compat` and so on are means over those.
        """
        rows = {(row.unit, row.unit_id, row.criterion): row for row in scores}
        own = [unit for unit in units if not unit.official and unit.kind != "path"]
        paths = [unit for unit in units if not unit.official and unit.kind == "path"]
        joined = [unit for unit in units if unit.official]
        mode = (("mode", "compat"),)
        streaming = f"{NAME}.streaming"
        variants: list[tuple[str, str, Sequence[JudgeUnit], tuple[tuple[str, str], ...]]] = []
        if own or not paths:
            variants.append((NAME, "", own, ()))
        if paths:
            variants.append((streaming, "", paths, ()))
        if self.compat and own:
            variants.append((NAME, COMPAT, own, mode))
        if self.compat and paths and not joined:
            variants.append((streaming, COMPAT, paths, mode))
        if joined:
            variants.append((streaming, COMPAT, joined, (*mode, ("join", "by-start-time"))))
        means = [
            mean_measure(
                f"{name}.{criterion}{suffix}",
                [_entry(unit, rows.get((unit.kind, unit.id, f"{criterion}{suffix}"))) for unit in among],
                scale=PERCENT,
                by=("kind", "task", "relation") if criterion == "OS" else ("kind",),
                signature=signature,
            )
            for name, suffix, among, signature in variants
            for criterion in CRITERIA
        ]
        if self.published:
            read = [(unit, rows.get((unit.kind, unit.id, criterion))) for unit in own + paths for criterion in CRITERIA]
            entries = [
                MeanItem(unit.video_id, float(row.lenient)) for unit, row in read if row and row.value is not None
            ]
            means.append(mean_measure(f"{NAME}.{LENIENT}", entries, scale=PER_CENT))
        overall = [entry for mean in means if mean.name in OVERALL for entry in mean.entries]
        parts = {kind: [entry for entry in overall if entry.groups["kind"] == (kind,)] for kind in AVERAGED_UNITS}
        if not all(parts.values()):
            return means
        return [*means, mean_of_means(AVERAGE, parts, scale=PERCENT)]


def _fixed(unit: JudgeUnit, judge: str, verdict: Judgement[SVBenchVerdict]) -> list[JudgedScore]:
    """The rows of our own reading."""
    if verdict.verdict is None:
        return _unscored(unit, CRITERIA, judge, verdict.reason or "", verdict.replies)
    return [
        not_applicable_row(unit, criterion, judge, "the judge said -1: not applicable")
        if mark == NOT_APPLICABLE
        else score_row(
            unit,
            criterion,
            judge,
            float(mark),
            explanation=verdict.verdict.rationale if criterion == "OS" else None,
            replies=verdict.replies if criterion == "OS" else (),
        )
        for criterion, mark in verdict.verdict.marks.items()
    ]


def _each_for_itself(unit: JudgeUnit, judge: str, said: Judgement[str]) -> list[JudgedScore]:
    """Our own reading of a reply in the official layout. A criterion that cannot be read spoils no other."""
    if said.verdict is None:
        return _unscored(unit, CRITERIA, judge, said.reason or "", said.replies)
    reply = plain_characters(own_reply(said.verdict))
    marks, reasons, lenient = read_headed(reply, MARK_HEADINGS, [turn.text for turn in unit.turns])
    try:
        SVBenchVerdict(rationale="", **marks)
    except ValidationError as error:
        wrong = {str(one["loc"][0]): one["msg"] for one in error.errors() if one["type"] != "missing"}
        reasons |= wrong
    rows: list[JudgedScore] = []
    for criterion, name in zip(CRITERIA, MARK_HEADINGS, strict=True):
        replies = said.replies if criterion == "OS" else ()
        if name in reasons:
            rows.append(unscored_row(unit, criterion, judge, reasons[name], replies=replies))
        elif marks[name] == NOT_APPLICABLE:
            rows.append(not_applicable_row(unit, criterion, judge, "the judge said -1: not applicable"))
        else:
            row = score_row(unit, criterion, judge, float(marks[name]), replies=replies)
            rows.append(row.model_copy(update={"lenient": lenient or bool(reasons)}))
    return rows


def show_turns(unit: JudgeUnit) -> str:
    """The turns of a unit as text for the judge, numbered from 1, with the relations between them.

    Turns without a reference and turns that were not asked are left out.
    """
    numbers: dict[int, int] = {}
    for index, turn in enumerate(unit.turns):
        if turn.references and turn.state.is_due:
            numbers[index] = len(numbers) + 1
    blocks = [_block(number, unit.turns[index]) for index, number in numbers.items()]
    relations = [
        f"- question {numbers[link.before]} and question {numbers[link.after]}: {link.relation}"
        for link in unit.linked
        if link.before in numbers and link.after in numbers
    ]
    if relations:
        blocks.insert(0, "These questions are related:\n" + "\n".join(relations))
    return "\n\n".join(blocks)


def _block(number: int, turn: AnsweredTurn) -> str:
    answer = fence(turn.text) if turn.state is AnswerState.ANSWERED else NO_ANSWER
    return (
        f"Question {number}: {turn.question}\n"
        f"Reference answer {number}: {turn.references[0]}\n"
        f"Answer {number}:\n{answer}"
    )


def _unscored(
    unit: JudgeUnit, criteria: Sequence[str], judge: str, reason: str, replies: tuple[str, ...] = ()
) -> list[JudgedScore]:
    return [
        unscored_row(unit, criterion, judge, reason, replies=replies if criterion.startswith("OS") else ())
        for criterion in criteria
    ]


def _entry(unit: JudgeUnit, row: JudgedScore | None) -> MeanItem:
    relations = dict.fromkeys(link.relation for link in unit.linked)
    relations |= dict.fromkeys(name for turn in unit.turns for name in turn.labels.get("svbench.relation", ()))
    groups = {"kind": (unit.kind,), "relation": tuple(relations)}
    return MeanItem(
        video_id=unit.video_id,
        value=row.value if row is not None else None,
        applies=row is None or row.state is not ScoreState.NOT_APPLICABLE,
        reason=row.reason if row is not None else None,
        groups=groups | ({"task": (unit.task,)} if unit.task is not None else {}),
    )


_LEVELS: Final = {
    "SA": (
        "all answers mean what the references mean",
        "small differences",
        "partly",
        "mostly different",
        "not at all",
    ),
    "CC": (
        "every answer fits what was said before",
        "small breaks",
        "some answers do not fit",
        "most do not",
        "none does",
    ),
    "LC": (
        "nothing contradicts itself or the question",
        "small slips",
        "some contradictions",
        "many",
        "it makes no sense",
    ),
    "TU": ("order, time and change are all right", "small errors", "partly right", "mostly wrong", "wrong"),
    "IC": ("nothing that was asked for is missing", "little is", "some is", "most is", "all is"),
    "OS": ("excellent", "good", "fair", "poor"),
}
"""Meaning of the marks 10, 7 to 9, 4 to 6, 1 to 3 and 0, for people."""


def _criterion(name: str, asked: str, title: str) -> ProtocolCriterion:
    return ProtocolCriterion(
        name,
        f"SVBench, {title}",
        0.0,
        10.0,
        pass_mark=5.0,
        rating_title=asked,
        levels=dict(zip(("10", "7–9", "4–6", "1–3", "0"), _LEVELS[name], strict=False)),
        lowest=1.0 if name == "OS" else None,
        may_not_apply=name == "TU",
        whole=name == "OS",
    )


PROTOCOL: Final = Protocol(
    name=NAME,
    title="SVBench",
    help="A chain or path at once, by five dimensions and overall: 0 to 10, shown as 0 to 100.",
    create=lambda settings: SVBenchJudge(
        compat=settings.compat, published=settings.published, prompts=judge_prompts(settings.prompts)
    ),
    criteria=(
        _criterion("SA", "Semantic accuracy", "SA"),
        _criterion("CC", "Contextual coherence", "CC"),
        _criterion("LC", "Logical consistency", "LC"),
        _criterion("TU", "Temporal understanding", "TU"),
        _criterion("IC", "Informational completeness", "IC"),
        _criterion("OS", "Overall", "overall"),
    ),
    needs=REFERENCE,
    measures=(per_cent(NAME, "SVBench"),),
    unit="unit",
    parts=(
        MeasurePart("OS", "overall", headline=True),
        *(MeasurePart(criterion, criterion) for criterion in CRITERIA[1:]),
        MeasurePart("average", "average", mean_of="kinds"),
        MeasurePart("streaming", "streaming"),
        MeasurePart("streaming.OS", "streaming, overall", headline=True),
    ),
    rating="1",
    source="SVBench (ICLR 2025)",
    # The client that its scripts import is not in their repository.
    official=OfficialSampling(),
)
