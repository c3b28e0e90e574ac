"""What SVBench's official evaluation scripts do, defects included: how they read scores and join linked chains."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.schema.record import Json

COMPAT: Final = ".compat"
"""Ends the name of a criterion or number that was got as the official script gets it."""
HEADINGS: Final = {
    "OS": "Overall Evaluation",
    "SA": "Semantic Accuracy",
    "CC": "Contextual Coherence",
    "LC": "Logical Consistency",
    "TU": "Temporal Understanding",
    "IC": "Informational Completeness",
}
"""The heading that each pattern looks for."""
LONGEST_NUMBER: Final = 15
"""Digits; a longer number is none that a judge means, and may be none that a float can hold."""

_DIMENSIONS: Final = {name: re.compile(heading + r".*?Score.*?(\d+)", re.DOTALL) for name, heading in HEADINGS.items()}
_SINGLE: Final = re.compile(r".*Score.*?(\d+)", re.DOTALL)


def official_scores(text: str) -> dict[str, int | None]:
    """The six scores of a judge's text, by criterion, as the official patterns find them; None where they find none.

    A number may be another than what the judge meant: *-1* gives 1, *7.5* gives 7, *Score (0-10): 8* gives 0, and a
    dimension without a number takes the next one, such as the number of the next heading.

    Args:
        text: The judge's reply.
    """
    return {name: _number(pattern.search(text)) for name, pattern in _DIMENSIONS.items()}


def official_single_score(text: str) -> int | None:
    """The accuracy of a single question: the number after the last *Score* of a judge's text.

    Args:
        text: The judge's reply.
    """
    return _number(_SINGLE.search(text))


def _number(match: re.Match[str] | None) -> int | None:
    return int(match[1]) if match is not None and len(match[1]) <= LONGEST_NUMBER else None


@dataclass(frozen=True)
class LinkedQuestions:
    """The linked questions of one chain, as they stand in a slot of the official streaming evaluation."""

    chain: int
    """Index into the chains."""
    questions: tuple[int, ...]
    """Indices into the chain's questions, in the order of the linkage record; one may stand there twice."""


def streaming_slots(
    chains: Sequence[Mapping[str, Json]], linkages: Sequence[Mapping[str, Json]]
) -> list[list[LinkedQuestions]]:
    """What the official streaming evaluation asks of one video: no paths, but slots of linked questions.

    Each pair of adjacent chains i, i + 1 for which there is a linkage record adds the linked questions of chain i to
    slot i and those of chain i + 1 to slot i + 1, so that a slot in the middle holds two lists. A record belongs to a
    pair if the start timestamps of its first chain and of chain i are equal to the last bit. The official script stops
    with a KeyError at a record or relationship that is `{}`; here it links nothing. It judges a video without links as
    well.

    Args:
        chains: Chains of a video in order, each with `qac_timestamps_start`; or `{}`.
        linkages: Records with `chain_1` and `relationship`, whose `chainBefore` and `chainAfter` are question indices.

    Returns:
        A slot for each chain, in order.
    """
    slots: list[list[LinkedQuestions]] = [[] for _ in chains]
    for index, chain in enumerate(chains[:-1]):
        relationship = next((link["relationship"] for link in linkages if chain and _begins(link, chain)), None)
        if relationship:
            slots[index].append(LinkedQuestions(index, tuple(relationship["chainBefore"])))
            slots[index + 1].append(LinkedQuestions(index + 1, tuple(relationship["chainAfter"])))
    return slots


def _begins(link: Mapping[str, Json], chain: Mapping[str, Json]) -> bool:
    return bool(link) and bool(link["chain_1"]["qac_timestamps_start"] == chain["qac_timestamps_start"])
