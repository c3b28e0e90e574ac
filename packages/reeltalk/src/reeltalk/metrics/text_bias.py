"""What answers to a kind of question can be had from the text alone, as a gate result of the kind and as a table.

`construct.text_learners` measures it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter

from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.store.text_tables import escape_card, markdown_table

TEXT_GATE: Final = "text"
"""Gate of a kind of question: a learner of the text should not gain much over the constant answer."""
MARGIN: Final = 0.10
"""Most that a learner may gain, as a share of the turns."""
FEWEST_TURNS: Final = 20
"""Turns of a kind in test below which there is no verdict."""
_NUMBER: Final = TypeAdapter(float)


@dataclass(frozen=True)
class TextBias:
    """What answers to one kind of question can be had from the text alone, as shares of right answers, 0 to 1."""

    kind: str
    turns: int
    """Turns in test."""
    videos: int
    constant: float
    """With the most frequent answer of the kind in train."""
    form: float
    """With the most frequent answer in train to the same first two words."""
    ngrams: float
    """By a logistic regression on n-grams of the question, its options and the dialogue before it."""
    nearest: float
    """By the answer to the most similar question."""
    gain: float
    """The better learner less the constant answer."""
    low: float | None
    """Lower end of the 95 % interval of `gain`, clustered by video; None if there are too few videos."""
    high: float | None

    @property
    def outcome(self) -> GateOutcome:
        """Whether the gain is within the margin; unchecked if the turns are few, or a gain above it may be chance."""
        above = self.gain > MARGIN
        if self.turns < FEWEST_TURNS or (above and (self.low is None or self.low <= 0)):
            return GateOutcome.UNCHECKED
        return GateOutcome.FLAGGED if above else GateOutcome.PASSED


def text_gate(bias: TextBias) -> GateResult:
    """The gate result of a kind; its value is the gain in points."""
    reasons = {
        GateOutcome.FLAGGED: f"a learner of the text gains {100 * bias.gain:.1f} points over the constant answer",
        GateOutcome.UNCHECKED: f"{bias.turns:,} turns in test are too few to tell",
    }
    return GateResult(
        gate=TEXT_GATE,
        unit="kind",
        unit_id=bias.kind,
        outcome=bias.outcome,
        reason=reasons.get(bias.outcome),
        value=100 * bias.gain,
        extra={
            name: getattr(bias, name)
            for name in ("turns", "videos", "constant", "form", "ngrams", "nearest", "low", "high")
        },
    )


def text_biases(gates: Iterable[GateResult]) -> list[TextBias]:
    """The kinds among gate results, in their order."""
    found = []
    for gate in gates:
        if gate.unit != "kind" or gate.gate.rpartition(":")[2] != TEXT_GATE or gate.value is None:
            continue
        extra = {name: None if value is None else _NUMBER.validate_python(value) for name, value in gate.extra.items()}
        found.append(
            TextBias(
                kind=gate.unit_id,
                turns=int(extra["turns"] or 0),
                videos=int(extra["videos"] or 0),
                constant=extra["constant"] or 0.0,
                form=extra["form"] or 0.0,
                ngrams=extra["ngrams"] or 0.0,
                nearest=extra["nearest"] or 0.0,
                gain=gate.value / 100,
                low=extra["low"],
                high=extra["high"],
            )
        )
    return found


HEADINGS: Final = (
    "Kind", "Turns", "Videos", "Constant", "Its form", "N-grams", "Nearest", "Gain", "95 %", "Within 10 points",
)  # fmt: skip
_VERDICTS: Final = {GateOutcome.PASSED: "yes", GateOutcome.FLAGGED: "no", GateOutcome.UNCHECKED: "too few turns"}


def text_bias_cells(bias: TextBias) -> tuple[str, ...]:
    """The cells of a kind under `HEADINGS`, shares in per cent."""
    interval = ""
    if bias.low is not None and bias.high is not None:
        interval = f"{100 * bias.low:+.1f} to {100 * bias.high:+.1f}"
    return (
        bias.kind,
        f"{bias.turns:,}",
        f"{bias.videos:,}",
        *(f"{100 * share:.1f}" for share in (bias.constant, bias.form, bias.ngrams, bias.nearest)),
        f"{100 * bias.gain:+.1f}",
        interval,
        _VERDICTS[bias.outcome],
    )


def text_bias_card(found: Iterable[TextBias]) -> list[str]:
    """A section of a Markdown card; empty if nothing was measured."""
    rows = list(found)
    if not rows:
        return []
    judged = [row for row in rows if row.outcome is not GateOutcome.UNCHECKED]
    within = sum(row.outcome is GateOutcome.PASSED for row in judged)
    return [
        "## What the text alone gives away",
        "",
        "Learners were taught on the train split and asked about the test split. They were told the kind of each "
        "question, and read the question, its options and the dialogue before it, but saw no video. *Constant* is the "
        "most frequent answer of the kind. *Gain* is that of the better learner over it, with its 95 % interval, "
        f"clustered by video. In {within} of the {len(judged)} kinds with enough turns to tell it is at most "
        f"{100 * MARGIN:.0f} points. The row *answerable* is about whether a question has an answer at all, among "
        "questions in the forms of the same kinds.",
        "",
        *markdown_table(
            HEADINGS,
            [tuple(map(escape_card, text_bias_cells(row))) for row in rows],
            numbers=(False, *[True] * 8, False),
        ),
        "",
    ]
