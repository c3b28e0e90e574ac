"""LAVE: each answer rated from 1 to 3 against its references, on its own.

Reference: Mañas, Krojer and Agrawal, "Improving Automatic VQA Evaluation Using Large Language Models" (AAAI 2024).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.judge.asking import Judgement, ask_rating, judge_prompts
from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.protocol import REFERENCE, Protocol, ProtocolCriterion
from reeltalk.judge.rating import JudgeRating, lave_compat
from reeltalk.judge.turns import PromptedJudge, read_as_official, skip_reason
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.metrics.info import MetricInfo
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore

CRITERION: Final = "lave"
COMPAT: Final = "lave.compat"
OUTLIER: Final = 0.25
"""A reference is dropped if its count is at most this share of the count of the most frequent one."""
CAPTION_KEY: Final = "refine"
"""Key of the summary that serves as the caption."""


PROTOCOL: Final = Protocol(
    name=CRITERION,
    title="LAVE",
    help="Each answer by itself, after eight examples: 0, 0.5 or 1.",
    create=lambda settings: Lave(compat=settings.compat, prompts=judge_prompts(settings.prompts)),
    criteria=(
        ProtocolCriterion(
            CRITERION,
            "LAVE",
            pass_mark=0.75,
            asked="Correctness beside the reference",
            step=0.5,
            levels={
                "1": "correct",
                "0.5": "ambiguous or incomplete",
                "0": "incorrect; also an answer to a yes or no question that says neither",
            },
        ),
    ),
    needs=REFERENCE,
    measures=(MetricInfo(CRITERION, "LAVE"),),
    credit_rank=80,
    rating="1",
    source="LAVE (AAAI 2024)",
)


@dataclass(frozen=True)
class Lave(PromptedJudge[JudgeRating]):
    """LAVE with eight demonstrations; yes/no questions have demonstrations of their own."""

    caption: bool = False
    """Also show the refined summary of the video. If it contradicts the references, they count."""
    protocol = PROTOCOL

    @property
    def reads(self) -> frozenset[str]:
        """The summary, if it serves as the caption."""
        return frozenset({"summaries"}) if self.caption else frozenset()

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The caption and the signatures of the prompts."""
        prompts = [("prompt", "lave"), ("general", "lave_general"), ("binary", "lave_binary")]
        if self.caption:
            prompts.append(("caption_rule", "lave_caption"))
        return (
            ("caption", CAPTION_KEY if self.caption else "none"),
            *((key, self.prompts[file].signature) for key, file in (*prompts, ("repair", "rating_repair"))),
        )

    def skip_reason(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """Why the turn cannot be judged, as for any turn, or since a caption is wanted and there is none."""
        why = skip_reason(turn)
        if why is None and self.caption and not unit.summaries.get(CAPTION_KEY, "").strip():
            why = "there is no refined summary of the video to serve as a caption; judge without one, or add it"
        return why

    def messages(self, turn: AnsweredTurn, caption: str | None = None) -> list[Message]:
        """The messages about a turn; the part that all turns share comes first.

        Args:
            turn: A turn that has an answer and references.
            caption: Description of the video.
        """
        examples = self.prompts["lave_binary" if is_binary(turn.references) else "lave_general"].text
        rule = self.prompts["lave_caption"].text if self.caption else ""
        system = self.prompts["lave"].fill(caption_rule=rule, demonstrations=examples)
        item = (
            f"Question: {turn.question}\nReference answers: {shown_references(turn.references)}\n"
            f"Candidate answer: {fence(turn.text)}\nOutput: "
        )
        if caption is not None:
            item = f"Video description: {caption.strip()}\n{item}"
        return [Message("system", system), Message("user", item)]

    async def ask(self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel) -> Judgement[JudgeRating]:
        """Ask for a rating from 1 to 3."""
        caption = unit.summaries[CAPTION_KEY] if self.caption else None
        return await ask_rating(judge, self.messages(turn, caption), self.prompts)

    def values(self, verdict: JudgeRating) -> Mapping[str, float]:
        """The rating from 0 to 1."""
        return {CRITERION: (verdict.value - 1) / 2}

    def reasons(self, verdict: JudgeRating) -> str:
        """The reasons that the judge gave."""
        return verdict.rationale

    async def as_official(
        self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel, first: str
    ) -> list[JudgedScore]:
        """The rating that the script reads, from 0 to 1."""

        def read() -> float:
            return (lave_compat(first) - 1) / 2

        return [read_as_official(unit, turn, COMPAT, judge.name, (first,), read)]


def is_binary(references: Sequence[str]) -> bool:
    """True if the most frequent reference is yes or no, in any case, with or without a full stop."""
    most = Counter(references).most_common(1)[0][0]
    return most.lower().rstrip(".") in ("yes", "no")


def kept_references(references: Sequence[str]) -> list[str]:
    """References without outliers, in order, repetitions included."""
    counts = Counter(references)
    most = max(counts.values())
    return [reference for reference in references if counts[reference] / most > OUTLIER]


def shown_references(references: Sequence[str]) -> str:
    """References as the judge sees them: without outliers, sorted, quoted and joined by commas."""
    return ", ".join(f"'{reference}'" for reference in sorted(kept_references(references)))
