"""Which number stands in which table, how it is titled, and whether more of it is better."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from reeltalk.schema.runs import ModelInfo, SummaryRow
from reeltalk.schema.scoring import Signature
from reeltalk.store.runs import Run

Kind = Literal["headline", "detail", "compat", "floor", "text", "timing"]
Direction = Literal["higher", "neither"]

METRIC_TITLES: Final = {
    "bleu_1": "BLEU-1",
    "bleu_2": "BLEU-2",
    "bleu_3": "BLEU-3",
    "bleu_4": "BLEU-4",
    "meteor": "METEOR",
    "rouge_l": "ROUGE-L",
    "cider": "CIDEr",
    "token_f1": "Token F1",
    "exact_match": "Exact match",
    "similarity": "Similarity",
    "took_s": "Answer (s)",
    "first_token_s": "First token (s)",
    "prompt_tokens": "Prompt tokens",
    "completion_tokens": "Answer tokens",
    "frames_seen": "Frames",
    "new_frames": "New frames",
    "memory_mib": "Memory (MiB)",
}
TEXT: Final = frozenset(
    {"bleu_1", "bleu_2", "bleu_3", "bleu_4", "meteor", "rouge_l", "cider", "token_f1", "exact_match", "similarity"}
)
TIMINGS: Final = (
    "took_s", "first_token_s", "prompt_tokens", "completion_tokens", "frames_seen", "new_frames", "memory_mib",
)  # fmt: skip
"""How long an answer took, and what was sent and kept: no scores, so none is best."""

FAMILIES: Final = {
    "vdeval": "VDEval",
    "lave": "LAVE",
    "clair": "CLAIR",
    "llm_acc": "LLM-Acc",
    "llm_rel": "LLM-Rel",
    "svbench": "SVBench",
    "gpt-score": "GPT-Score",
    "mtv": "MT-Video-Bench",
    "accuracy": "Accuracy",
    "agree": "Agreement",
    "cogme": "CogME",
    "graph": "Graph",
    "choice": "Choice",
    "checklist": "Checklist",
    "rubric": "Rubric",
    "rubric-words": "Rubric by words",
}
"""Names of judged measures for people; what follows after a dot says which of them."""
ENDINGS: Final = {
    "OS": "overall",
    "first_error": "turn of the first error",
    "recovery": "right after a wrong answer",
    "after_right": "right after a right answer",
    "after_corrupted": "right after a planted error",
    "percentile": "from 0 to 1",
    "by_dialogue": "mean of dialogues",
    "floor": "without content",
    "chance_adjusted": "above the floor",
    "rounds_sd": "deviation between judgings",
    "agreement": "share alike",
    "kappa": "Cohen's kappa",
}
RANGES: Final = {
    "vdeval": (1.0, 3.0),
    "lave": (0.0, 1.0),
    "clair": (0.0, 1.0),
    "llm_acc": (0.0, 1.0),
    "llm_rel": (0.0, 5.0),
}
PER_CENT: Final = "0–100"
"""Scale of all other judged measures."""
COMPAT: Final = "compat"
FLOOR: Final = "floor"
HEADLINES: Final = frozenset({"svbench.OS"})
"""Judged measures with a dot in their name that stand in the first table all the same."""
NEITHER: Final = frozenset({FLOOR, "rounds_sd", "first_error"})
FLOORS: Final = {
    "baseline:empty": "says nothing",
    "baseline:constant": "says the most frequent answer",
    "baseline:yes": "always says yes",
    "baseline:copied-question": "gives the question back",
}
"""Players that know nothing of the video or the question, by where their answers are from."""
REFERENCE: Final = "baseline:reference"
"""Where answers are from that are the references themselves."""
HUMAN: Final = "human:"
"""How the source of people's answers begins, and the judge of people's ratings."""
BASELINES: Final = ("baseline:", "oracle", HUMAN)
SAID_BY_A_MODEL: Final = frozenset(
    {"baseline", "oracle", "prompt", "sampling", "shown", "policy", "frames", "fps", "size", "quality", "model"}
    | {"weights", "memory", "choices"}
)
"""Signature parts that a baseline has otherwise than a model, or not at all, and is compared with one all the same."""


@dataclass(frozen=True)
class Column:
    """One metric in one of the tables."""

    metric: str
    kind: Kind
    of: str | None = None
    """The measure beside which this one stands: of `clair.compat` it is `clair`."""

    @property
    def direction(self) -> Direction:
        """Whether more of it is better."""
        return direction_of(self.metric)


def kind_of(metric: str) -> Kind:
    """The table of a metric.

    Args:
        metric: Its name, as `mtv.compat.summary`.
    """
    if metric in TIMINGS:
        return "timing"
    if metric in TEXT:
        return "text"
    _, *rest = metric.split(".")
    if COMPAT in rest:
        return "compat"
    if rest == [FLOOR]:
        return "floor"
    return "headline" if not rest or metric in HEADLINES else "detail"


def direction_of(metric: str) -> Direction:
    """Whether more of a metric is better; a floor, a spread, a time and an official script's figure say neither."""
    if kind_of(metric) in ("timing", "compat") or metric.split(".")[-1] in NEITHER:
        return "neither"
    return "higher"


def fixed_of(metric: str) -> str:
    """The measure that a figure of an official script, or a floor, stands beside."""
    return ".".join(part for part in metric.split(".") if part not in (COMPAT, FLOOR))


def scale_of(metric: str) -> str:
    """From where to where a judged measure goes; empty for one that has no such scale."""
    family, *rest = (part for part in metric.split(".") if part != COMPAT)
    if family not in FAMILIES or rest in (["first_error"], ["rounds_sd"]):
        return ""
    if rest == ["percentile"]:
        return "0–1"
    if rest == ["chance_adjusted"]:
        return "at most 100"
    low, high = RANGES.get(family, (0.0, 100.0))
    return f"{low:g}–{high:g}"


def share_of(metric: str, value: float) -> float | None:
    """Where a value of one turn lies on its metric's scale, from 0 to 1.

    Args:
        metric: A text metric or a judged measure.
        value: Its value of a turn.

    Returns:
        None for a measure that has no such scale, as a time or the turn of the first error. CIDEr has no upper bound
        that answers reach: it is divided by 10 and cut at 1.
    """
    if metric in TEXT:
        return min(value / 10, 1.0) if metric == "cider" else min(max(value, 0.0), 1.0)
    family, *rest = (part for part in metric.split(".") if part != COMPAT)
    if metric in TIMINGS or not scale_of(metric) or rest == ["chance_adjusted"]:
        return None
    low, high = (0.0, 1.0) if rest == ["percentile"] else RANGES.get(family, (0.0, 100.0))
    return min(max((value - low) / (high - low), 0.0), 1.0)


def span_of(metric: str) -> float | None:
    """How wide a metric's scale is, so that a hundredth of it is a point; None for one without a scale.

    Args:
        metric: A text metric or a judged measure. CIDEr's is 10, as in `share_of`.
    """
    if share_of(metric, 0.0) is None:
        return None
    if metric in TEXT:
        return 10.0 if metric == "cider" else 1.0
    family, *rest = (part for part in metric.split(".") if part != COMPAT)
    low, high = (0.0, 1.0) if rest == ["percentile"] else RANGES.get(family, (0.0, 100.0))
    return high - low


def goes_to_hundreds(metric: str) -> bool:
    """True for metrics whose values lie between 0 and 100, and for counts."""
    if metric in TIMINGS:
        return not metric.endswith("_s")
    return scale_of(metric) in (PER_CENT, "at most 100") or metric.split(".")[-1] in ("rounds_sd", "first_error")


def title_of(metric: str) -> str:
    """How a metric is written for people."""
    if metric in METRIC_TITLES:
        return METRIC_TITLES[metric]
    family, *rest = metric.split(".")
    official = COMPAT in rest
    words = [ENDINGS.get(part, part.replace("_", " ")) for part in rest if part != COMPAT]
    title = ", ".join([FAMILIES.get(family, family), *words])
    return f"{title} (official script)" if official else title


def columns(metrics: Iterable[str], kinds: Iterable[Kind]) -> list[Column]:
    """The columns of a table: measures in their order, what stands beside one right after it.

    Args:
        metrics: All metrics there are.
        kinds: Which of them; those of kind `compat` and `floor` follow the measure that they belong to, and are left
            out where it is not in the table.
    """
    wanted, there = set(kinds), list(metrics)
    beside = [metric for metric in there if kind_of(metric) in wanted & {"compat", "floor"}]
    found: list[Column] = []
    for metric in there:
        kind = kind_of(metric)
        if kind not in wanted - {"compat", "floor"}:
            continue
        found.append(Column(metric, kind))
        found += [Column(other, kind_of(other), metric) for other in beside if fixed_of(other) == metric]
    return found


def floor_of(info: ModelInfo) -> str | None:
    """What a player does that knows nothing; None for all others."""
    return FLOORS.get(info.source)


def is_human(info: ModelInfo) -> bool:
    """True where people answered."""
    return info.source.startswith(HUMAN)


def is_reference(info: ModelInfo) -> bool:
    """True where the answers are the references themselves."""
    return info.source == REFERENCE


def competes(info: ModelInfo) -> bool:
    """True for what may be called the best: people, references and floors are what models are measured against."""
    return not (floor_of(info) or is_human(info) or is_reference(info))


def is_baseline(info: ModelInfo) -> bool:
    """True where no model answers."""
    return info.source.startswith(BASELINES)


def differing_parts(rows: Iterable[tuple[ModelInfo, SummaryRow]], ignored: frozenset[str]) -> list[str]:
    """Signature parts in which numbers of one metric differ, so that they do not compare.

    The floor stands beside all others, also where it rests on a sample of their turns.

    Args:
        rows: The numbers, with whose they are.
        ignored: Parts that may differ.
    """
    parts = [
        (is_baseline(info), parts_of(row.signature))
        for info, row in rows
        if row.value is not None and not floor_of(info)
    ]
    keys = {key for _, found in parts for key in found} - ignored
    differing = []
    for key in keys:
        values = {found.get(key) for baseline, found in parts if not (baseline and key in SAID_BY_A_MODEL)}
        if len(values) > 1:
            differing.append(key)
    return sorted(differing)


def settings_of(run: Run, model: str) -> dict[str, str]:
    """How a model's answers came about, as its run has it: mode, history, frames and so on, by name."""
    signed = run.info.settings.get("signed")
    found = signed.get(model) if isinstance(signed, dict) else None
    pairs = found if isinstance(found, list) else []
    return {str(pair[0]): str(pair[1]) for pair in pairs if isinstance(pair, list) and len(pair) == 2}


def parts_of(signature: str) -> dict[str, str]:
    """What a signature says, by name; its first word is the `subject`."""
    try:
        parsed = Signature.parse(signature)
    except ValueError:
        # A run that another program wrote; its signatures still differ or not as a whole.
        return {"signature": signature}
    return {"subject": parsed.subject, **dict(parsed.parts)}
