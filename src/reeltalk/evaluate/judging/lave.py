"""LAVE: each answer rated from 1 to 3 against its references, on its own.

Reference: Mañas, Krojer and Agrawal, "Improving Automatic VQA Evaluation Using Large Language Models" (AAAI 2024).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.evaluate.fencing import fenced
from reeltalk.evaluate.judging import turns
from reeltalk.evaluate.judging.asking import ask_rating, prompt
from reeltalk.evaluate.judging.judge import JudgeUnit
from reeltalk.evaluate.judging.measures import Measure
from reeltalk.evaluate.judging.rating import lave_compat
from reeltalk.evaluate.judging.rows import scored
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore

CRITERION: Final = "lave"
COMPAT: Final = "lave.compat"
OUTLIER: Final = 0.25
"""A reference that is given at most so often as this share of the most frequent one is dropped."""
CAPTION_KEY: Final = "refine"
"""Which of a unit's summaries serves as the caption."""


@dataclass(frozen=True)
class Lave:
    """LAVE with eight demonstrations, of yes/no questions or of others as the references are."""

    caption: bool = False
    """Show the refined summary of the video too; where it contradicts the references, they win."""
    compat: bool = False
    """Also read the first replies as the official script does."""

    @property
    def name(self) -> str:
        """`lave`."""
        return CRITERION

    @property
    def needs_model(self) -> bool:
        """True."""
        return True

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The prompts, and whether a caption is shown."""
        prompts = [("prompt", "lave"), ("general", "lave_general"), ("binary", "lave_binary")]
        if self.caption:
            prompts.append(("caption_rule", "lave_caption"))
        return (
            ("caption", CAPTION_KEY if self.caption else "none"),
            *((key, prompt(file).signature) for key, file in (*prompts, ("repair", "rating_repair"))),
        )

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """A row from 0 to 1 for every turn that is due; with `compat` a second one.

        Args:
            unit: A chain, path or dialogue; its turns are judged one by one and see nothing of each other.
            model: The judge.

        Raises:
            BudgetError: A limit would be passed.
        """
        judge = turns.who(self.name, model)
        rows: list[JudgedScore] = []
        for turn in turns.due(unit):
            why = turns.obstacle(turn)
            if why is None and self.caption and not unit.summaries.get(CAPTION_KEY, "").strip():
                why = "there is no refined summary of the video to serve as a caption; judge without one, or add it"
            if why is None:
                rows += await self._judge(unit, turn, judge)
            else:
                rows += turns.without_score(unit, turn, self._criteria, judge.name, why)
        return rows

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """The mean over turns; with `compat` that of the official reading too.

        Args:
            units: All units of one model.
            scores: Their rows.
        """
        return turns.means(units, scores, [CRITERION], [COMPAT] if self.compat else [])

    def messages(self, turn: AnsweredTurn, caption: str | None = None) -> list[Message]:
        """What the judge is sent about a turn; what all turns share stands first.

        Args:
            turn: A turn that has an answer and references.
            caption: What happens in the video.
        """
        examples = prompt("lave_binary" if is_binary(turn.references) else "lave_general").text
        rule = prompt("lave_caption").text if self.caption else ""
        system = prompt("lave").fill(caption_rule=rule, demonstrations=examples)
        item = (
            f"Question: {turn.question}\nReference answers: {shown_references(turn.references)}\n"
            f"Candidate answer: {fenced(turn.text)}\nOutput: "
        )
        if caption is not None:
            item = f"Video description: {caption.strip()}\n{item}"
        return [Message("system", system), Message("user", item)]

    @property
    def _criteria(self) -> tuple[str, ...]:
        return (CRITERION, COMPAT) if self.compat else (CRITERION,)

    async def _judge(self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel) -> list[JudgedScore]:
        caption = unit.summaries[CAPTION_KEY] if self.caption else None
        judging = await ask_rating(judge, self.messages(turn, caption))
        rating, replies = judging.verdict, judging.replies
        if rating is None:
            rows = turns.without_score(unit, turn, [CRITERION], judge.name, judging.reason, replies=replies)
        else:
            value, said = (rating.value - 1) / 2, rating.rationale or None
            rows = [scored(unit, CRITERION, judge.name, value, turn=turn, explanation=said, replies=replies)]
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
