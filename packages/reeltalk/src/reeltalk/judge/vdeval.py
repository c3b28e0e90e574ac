"""VDEval: each answer rated from 1 to 3 after a summary of the video and the judged turns before it.

Reference: Imrattanatrai et al., "A Video-grounded Dialogue Dataset and Metric for Event-driven Activities" (AAAI 2025).
The judge sees one user message that grows from turn to turn, so that servers can reuse cached prefixes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from reeltalk.errors import SettingError
from reeltalk.judge.asking import Judgement, ask_rating, ask_text, judge_prompts, our_judge_prompts
from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.measures import MeanItems, Measure, mean_measure
from reeltalk.judge.protocol import REFERENCE, MeasurePart, OfficialSampling, Protocol, ProtocolCriterion
from reeltalk.judge.rating import JudgeRating, rating_line, read_rating, vdeval_compat
from reeltalk.judge.turns import (
    GROUPED_BY,
    TurnJudge,
    read_as_official,
    require_model,
    skip_reason,
    take_last_answers,
    unscored_rows,
)
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.prompts import Prompts
from reeltalk.llm.structured import MalformedReplyError
from reeltalk.metrics.info import MetricInfo
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.media import Video
from reeltalk.schema.scoring import JudgedScore

History = Literal["none", "qa_only", "judged"]
Summary = Literal["none", "template", "refined"]

SUMMARY_KEYS: Final = {"template": "template", "refined": "refine"}
"""Key of each kind of summary in a unit."""
CRITERION: Final = "vdeval"
COMPAT: Final = "vdeval.compat"
PUBLISHED: Final = "vdeval-published"
"""The prompt of the official script; reeltalk does not bring its text."""


PROTOCOL: Final = Protocol(
    name=CRITERION,
    title="VDEval",
    help="Each turn, in one conversation that grows, with a summary of the video: 1 to 3.",
    create=lambda settings: VDEval(
        history=settings.judge_history,
        summary=settings.judge_summary,
        shots=1 if settings.judge_shots else 0,
        compat=settings.compat,
        prompts=judge_prompts(settings.prompts),
        published=settings.published,
    ),
    criteria=(
        ProtocolCriterion(
            CRITERION,
            "VDEval",
            1.0,
            3.0,
            pass_mark=2.5,
            rating_title="Correctness",
            levels={
                "3": "correct: it answers the question and is true",
                "2": "ambiguous or incomplete: partly right, or it can be read in several ways",
                "1": "incorrect or irrelevant",
            },
        ),
    ),
    needs=REFERENCE,
    measures=(MetricInfo(CRITERION, "VDEval", 1.0, 3.0),),
    credit_rank=70,
    parts=(
        MeasurePart("percentile", "from 0 to 1", (0.0, 1.0)),
        MeasurePart("by_dialogue", "mean of dialogues", mean_of="dialogues"),
    ),
    rating="1",
    source="VDEval (AAAI 2025)",
    official=OfficialSampling(("temperature", "seed"), seed=42),
)


@dataclass(frozen=True)
class VDEval(TurnJudge):
    """VDEval; `history="none", summary="none"` is the paper's turn-based baseline."""

    history: History = "judged"
    """Earlier turns that are shown: none, questions with references, or all with reasons and ratings."""
    summary: Summary = "refined"
    """The summary of the video at the start of the message."""
    shots: Literal[0, 1] = 1
    """Example dialogues in the system message."""
    compat: bool = False
    """Also read the first replies as the official script does. If a published file holds turns of a dialogue twice, the
    dialogue is judged again with the last answer of each turn, which the script takes."""

    published: bool = False
    """Ask as the official script does: with its system message, answers without fences, and the judge's own replies to
    earlier turns. Each reply is read twice, strictly and as the script reads it."""
    prompts: Prompts = field(default_factory=our_judge_prompts)
    """The judges' prompts."""
    protocol = PROTOCOL

    def __post_init__(self) -> None:
        for name, kinds in (("history", History), ("summary", Summary), ("shots", Literal[0, 1])):
            if getattr(self, name) not in get_args(kinds):
                known = ", ".join(str(kind) for kind in get_args(kinds))
                raise SettingError(f"{name} of vdeval is {getattr(self, name)!r}; choose one of {known}")
        if self.published and ((self.history, self.shots) != ("judged", 1) or self.summary == "none"):
            raise SettingError(
                "--published asks vdeval as its script does, with judged turns, a refined or template summary and the "
                "example; leave --judge-history, --judge-shots and --judge-summary none out"
            )

    @property
    def reads(self) -> frozenset[str]:
        """References, and the summary if one is shown."""
        return frozenset({"references"} if self.summary == "none" else {"references", "summaries"})

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The variant and the signatures of the prompts."""
        if self.published:
            return (("mode", "published"), ("summary", self.summary), ("prompt", self.prompts[PUBLISHED].signature))
        prompts = [("prompt", "vdeval"), *([("example", "vdeval_example")] if self.shots else [])]
        return (
            ("history", self.history),
            ("summary", self.summary),
            ("shots", str(self.shots)),
            *((key, self.prompts[file].signature) for key, file in (*prompts, ("repair", "rating_repair"))),
        )

    def check_videos(self, videos: Sequence[Video]) -> None:
        """Refuse videos if none has the summary that the judge is shown.

        Raises:
            SettingError: No video has the summary. The message says what to do.
        """

        def count(key: str) -> int:
            return sum(bool(video.summaries.get(key, "").strip()) for video in videos)

        if self.summary == "none" or count(SUMMARY_KEYS[self.summary]):
            return
        kinds = [*(kind for kind, key in SUMMARY_KEYS.items() if count(key)), *([] if self.published else ["none"])]
        remedies = [f"pass --judge-summary {' or '.join(kinds)}"] if kinds else []
        if self.summary == "refined":
            remedies.append("write summaries with 'reeltalk graph tell --model' and import them")
        if not videos:
            remedies.append("name the benchmark with --bench")
        lack = f"none of the {len(videos):,} videos has one" if videos else "no benchmark is known that has one"
        raise SettingError(
            f"{self.name} needs a {self.summary} summary of each video, and {lack}; {', or '.join(remedies)}"
        )

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for every turn that is due; with `compat` a second one. Turns are judged in order."""
        judge = require_model(self.name, model)
        rows = await self._judged(unit, judge)
        if not (self.compat and any(turn.repeats for turn in unit.turns)):
            return rows
        official = await self._judged(take_last_answers(unit), judge)
        return [row for row in rows if row.criterion != COMPAT] + [row for row in official if row.criterion == COMPAT]

    async def _judged(self, unit: JudgeUnit, judge: AsyncModel) -> list[JudgedScore]:
        summary = "" if self.summary == "none" else unit.summaries.get(SUMMARY_KEYS[self.summary], "").strip()
        if self.summary != "none" and not summary:
            none = f"there is no {self.summary} summary of the video; judge without one, or add it"
            return [
                row
                for turn in unit.turns
                if self.is_due(turn)
                for row in unscored_rows(unit, turn, self.criteria, judge.name, skip_reason(turn) or none)
            ]
        if self.published:
            return await self._as_published(unit, judge, unit.summaries[SUMMARY_KEYS[self.summary]])
        system = Message("system", self.system_message())
        shown = JudgeConversation(self.history, summary)
        rows: list[JudgedScore] = []
        for turn in unit.turns:
            if not turn.state.is_due:
                shown.skip(turn)
            elif (why := skip_reason(turn)) is not None:
                shown.skip(turn)
                rows += unscored_rows(unit, turn, self.criteria, judge.name, why)
            else:
                judging = await ask_rating(judge, [system, Message("user", shown.ask(turn))], self.prompts)
                shown.keep(turn, judging.verdict)
                rows += self._rows(unit, turn, judge.name, judging)
        return rows

    async def _as_published(self, unit: JudgeUnit, judge: AsyncModel, summary: str) -> list[JudgedScore]:
        system = Message("system", self.prompts[PUBLISHED].text)
        asked, before = f"Summary: {summary}\n", ""
        shown = [system.text, summary]
        stopped: str | None = None
        rows: list[JudgedScore] = []
        for turn in (turn for turn in unit.turns if turn.state.is_due):
            why = skip_reason(turn) or stopped
            if why is not None:
                rows += unscored_rows(unit, turn, self.criteria, judge.name, why)
                continue
            asked += f"{before}{published_block(turn)}"
            shown.append(published_block(turn))
            said = await ask_text(judge, [system, Message("user", asked)])
            if said.verdict is None:
                stopped = f"the official script stops, for the judge said nothing of turn {turn.turn_index + 1}"
                rows += self._rows(unit, turn, judge.name, Judgement(None, said.replies, said.reason))
                continue
            # The script shows the judge its own replies unchanged.
            asked, before = f"{asked}{said.verdict}", "\n\n"
            try:
                judging = Judgement(read_rating(said.verdict, shown), said.replies)
            except MalformedReplyError as error:
                judging = Judgement[JudgeRating](None, said.replies, error.reason)
            rows += self._rows(unit, turn, judge.name, judging)
        return rows

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """The mean over turns, the same from 0 to 1, and the mean of dialogues; with `compat` the first two again."""
        found = self._means(CRITERION, self.entries(units, scores, CRITERION))
        by_unit = self.entries(units, scores, CRITERION, by_unit=True)
        found.append(mean_measure(f"{CRITERION}.by_dialogue", by_unit, by=GROUPED_BY))
        if self.compat:
            repeated = any(turn.repeats for unit in units for turn in unit.turns)
            signature = (("mode", "compat"), *((("repeats", "last"),) if repeated else ()))
            found += self._means(COMPAT, self.entries(units, scores, COMPAT), signature=signature)
        return found

    def system_message(self) -> str:
        """The system message: the task, and the example if one is shown."""
        example = self.prompts["vdeval_example"].text if self.shots else ""
        return self.prompts["vdeval"].fill(example=example).strip()

    def _means(self, name: str, entries: MeanItems, signature: tuple[tuple[str, str], ...] = ()) -> list[Measure]:
        return [
            mean_measure(name, entries, by=GROUPED_BY, signature=signature),
            mean_measure(f"{name}.percentile", entries, scale=0.5, offset=-0.5, by=GROUPED_BY, signature=signature),
        ]

    def _rows(
        self, unit: JudgeUnit, turn: AnsweredTurn, judge: str, judging: Judgement[JudgeRating]
    ) -> list[JudgedScore]:
        rating, replies = judging.verdict, judging.replies
        values = {} if rating is None else {CRITERION: float(rating.value)}
        why = None if rating is None else rating.rationale or None
        rows = self.rows_of(unit, turn, judging, values, judge, explanation=why)
        if not self.compat:
            return rows
        if not replies:
            return rows + unscored_rows(unit, turn, [COMPAT], judge, judging.reason)
        official = read_as_official(unit, turn, COMPAT, judge, replies[:1], lambda: vdeval_compat(replies[0]))
        return [*rows, official]


class JudgeConversation:
    """The user message of one dialogue, as it grows."""

    def __init__(self, history: History, summary: str) -> None:
        """Begin before the first turn.

        Args:
            history: The part of earlier turns that the judge sees.
            summary: Text of the summary; empty to show none.
        """
        self._history = history
        self._head = f"Summary: {summary}\n" if summary else ""
        self._past: list[str] = []
        self._answers: list[str] = []

    def ask(self, turn: AnsweredTurn) -> str:
        """The message that asks for the rating of a turn."""
        return self._head + "\n\n".join([*self._past, self._judged(turn)])

    def keep(self, turn: AnsweredTurn, rating: JudgeRating | None) -> None:
        """Add a turn that was asked about.

        Args:
            rating: Its rating. The judge's own words are not shown to it unchanged, since they may repeat what a
                candidate's answer told it to say.
        """
        if self._history == "judged":
            self._answers.append(turn.text)
            said = rating_line(rating, self._answers) if rating is not None else ""
            self._past.append(self._judged(turn) + said)
        else:
            self.skip(turn)

    def skip(self, turn: AnsweredTurn) -> None:
        """Add a turn without its answer; later questions may refer to it."""
        if self._history != "none":
            self._past.append(_format_question(turn).rstrip("\n"))

    @staticmethod
    def _judged(turn: AnsweredTurn) -> str:
        return f"{_format_question(turn)}Candidate answer: {fence(turn.text)}\nOutput: "


def _format_question(turn: AnsweredTurn) -> str:
    question = f"Question: {turn.question}\n"
    if not turn.references:
        return question
    shown = turn.references[0]
    if len(turn.references) > 1:
        shown = ", ".join(f"'{reference}'" for reference in turn.references)
    return f"{question}Reference answer: {shown}\n"


def published_block(turn: AnsweredTurn) -> str:
    """The four lines of one turn, as VDEval's script writes them."""
    return f"Question: {turn.question}\nReference answer: {turn.references[0]}\nCandidate answer: {turn.text}\nOutput: "
