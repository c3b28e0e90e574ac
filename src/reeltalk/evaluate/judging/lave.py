"""LAVE: each answer rated from 1 to 3 against its references, on its own.

Reference: Mañas, Krojer and Agrawal, "Improving Automatic VQA Evaluation Using Large Language Models" (AAAI 2024).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from reeltalk.evaluate.fencing import fenced
from reeltalk.evaluate.judging import turns
from reeltalk.evaluate.judging.asking import ask_rating, judge_prompts, our_judge_prompts
from reeltalk.evaluate.judging.judge import JudgeUnit
from reeltalk.evaluate.judging.protocol import REFERENCE, Criterion, Protocol
from reeltalk.evaluate.judging.rating import lave_compat
from reeltalk.evaluate.judging.single_turn import SingleTurnJudge
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.prompt_folder import Prompts
from reeltalk.metrics.info import MetricInfo
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore

CRITERION: Final = "lave"
COMPAT: Final = "lave.compat"
OUTLIER: Final = 0.25
"""A reference that is given at most so often as this share of the most frequent one is dropped."""
CAPTION_KEY: Final = "refine"
"""Which of a unit's summaries serves as the caption."""


PROTOCOL: Final = Protocol(
    name=CRITERION,
    title="LAVE",
    help="Each answer by itself, after eight examples: 0, 0.5 or 1.",
    create=lambda settings: Lave(compat=settings.compat, prompts=judge_prompts(settings.prompts)),
    criteria=(
        Criterion(
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
class Lave(SingleTurnJudge):
    """LAVE with eight demonstrations, of yes/no questions or of others as the references are."""

    caption: bool = False
    """Show the refined summary of the video too; where it contradicts the references, they win."""
    compat: bool = False
    """Also read the first replies as the official script does."""
    prompts: Prompts = field(default_factory=our_judge_prompts)
    """The judges' prompts."""
    protocol = PROTOCOL

    @property
    def reads(self) -> frozenset[str]:
        """The summary, where it serves as the caption."""
        return frozenset({"summaries"}) if self.caption else frozenset()

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The prompts, and whether a caption is shown."""
        prompts = [("prompt", "lave"), ("general", "lave_general"), ("binary", "lave_binary")]
        if self.caption:
            prompts.append(("caption_rule", "lave_caption"))
        return (
            ("caption", CAPTION_KEY if self.caption else "none"),
            *((key, self.prompts[file].signature) for key, file in (*prompts, ("repair", "rating_repair"))),
        )

    def obstacle(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """As of any turn; and that a caption is wanted and there is none."""
        why = turns.obstacle(turn)
        if why is None and self.caption and not unit.summaries.get(CAPTION_KEY, "").strip():
            why = "there is no refined summary of the video to serve as a caption; judge without one, or add it"
        return why

    def messages(self, turn: AnsweredTurn, caption: str | None = None) -> list[Message]:
        """What the judge is sent about a turn; what all turns share stands first.

        Args:
            turn: A turn that has an answer and references.
            caption: What happens in the video.
        """
        examples = self.prompts["lave_binary" if is_binary(turn.references) else "lave_general"].text
        rule = self.prompts["lave_caption"].text if self.caption else ""
        system = self.prompts["lave"].fill(caption_rule=rule, demonstrations=examples)
        item = (
            f"Question: {turn.question}\nReference answers: {shown_references(turn.references)}\n"
            f"Candidate answer: {fenced(turn.text)}\nOutput: "
        )
        if caption is not None:
            item = f"Video description: {caption.strip()}\n{item}"
        return [Message("system", system), Message("user", item)]

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """A row from 0 to 1; with `compat` a second one.

        Args:
            unit: Where the turn stands; its turns see nothing of each other.
            index: Its place among the unit's turns.
            model: The judge.

        Raises:
            BudgetError: A limit would be passed.
        """
        turn, judge = unit.turns[index], turns.who(self.name, model)
        caption = unit.summaries[CAPTION_KEY] if self.caption else None
        judging = await ask_rating(judge, self.messages(turn, caption), self.prompts)
        rating, replies = judging.verdict, judging.replies
        values = {} if rating is None else {CRITERION: (rating.value - 1) / 2}
        why = None if rating is None else rating.rationale or None
        rows = self.rows_of(unit, turn, judging, values, judge.name, explanation=why)
        if not self.compat:
            return rows
        if not replies:
            return rows + turns.without_score(unit, turn, [COMPAT], judge.name, judging.reason)

        def read() -> float:
            return (lave_compat(replies[0]) - 1) / 2

        return [*rows, turns.read_as_official(unit, turn, COMPAT, judge.name, replies[:1], read)]


def is_binary(references: Sequence[str]) -> bool:
    """True where the most frequent reference is yes or no, whatever its case and with or without a full stop."""
    most = Counter(references).most_common(1)[0][0]
    return most.lower().rstrip(".") in ("yes", "no")


def kept_references(references: Sequence[str]) -> list[str]:
    """References without the outliers among them, in order; one that is given several times stays so."""
    counts = Counter(references)
    most = max(counts.values())
    return [reference for reference in references if counts[reference] / most > OUTLIER]


def shown_references(references: Sequence[str]) -> str:
    """References as the judge sees them: without outliers, sorted, quoted, joined by commas."""
    return ", ".join(f"'{reference}'" for reference in sorted(kept_references(references)))
