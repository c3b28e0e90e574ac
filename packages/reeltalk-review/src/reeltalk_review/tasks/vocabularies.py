"""Vocabularies of labels, closed and open, for pages and for checking what people choose."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from reeltalk.schema.labels import LABEL_COUNTS, VOCABULARIES
from reeltalk.schema.record import Json
from reeltalk_review.errors import InvalidValue

TITLES: Final[Mapping[str, str]] = {
    "vdact.question_type": "VDAct question type",
    "svbench.relation": "SVBench relation",
    "svbench.skill": "SVBench skill",
    "cogme.target": "CogME target",
    "cogme.content": "CogME content",
    "cogme.thinking": "CogME thinking",
    "mt_video_bench.task": "MT-Video-Bench task",
}
"""Names of the known vocabularies for people."""


def closed_vocabulary(labels: Iterable[str], least: int, most: int | None) -> dict[str, Json]:
    """A vocabulary from which people choose, in the form that pages get.

    Args:
        labels: All labels, in order.
        least: Fewest labels that a value with a decision has.
        most: Most labels; None if there is no limit.
    """
    return {"labels": list(labels), "closed": True, "least": least, "most": most}


def turn_vocabularies(turns: Iterable[Mapping[str, Json]]) -> dict[str, Json]:
    """The vocabularies in which people may label turns, by name.

    The known ones are closed. Others that a unit's turns have are open, with the labels that the turns have.
    """
    found: dict[str, dict[str, Json]] = {
        name: closed_vocabulary(known_labels(name), *LABEL_COUNTS[name]) for name in VOCABULARIES
    }
    for turn in turns:
        for name, labels in turn.get("labels", {}).items():
            if name not in VOCABULARIES:
                entry = found.setdefault(name, {"labels": [], "closed": False, "least": 0, "most": None})
                entry["labels"] += [label for label in labels if label not in entry["labels"]]
    return dict(found)


def known_labels(vocabulary: str) -> list[str]:
    """All labels of a known vocabulary, in order."""
    return [label.value for label in VOCABULARIES[vocabulary]]


def check_turn_labels(labels: Mapping[str, Sequence[str]], drafted: Mapping[str, Sequence[str]]) -> None:
    """Reject labels of a kept turn that their vocabulary does not have, and a wrong number of them.

    A turn without any label of a vocabulary may stay so, whatever its least number is.

    Args:
        labels: By vocabulary.
        drafted: The labels of the draft.

    Raises:
        InvalidValue: A label is unknown, or there are too few or too many.
    """
    for name in VOCABULARIES:
        if labels.get(name) or drafted.get(name):
            chosen = labels.get(name, ())
            check_labels(TITLES[name], known_labels(name), chosen, *LABEL_COUNTS[name], field=f"labels.{name}")


def check_labels(
    title: str, allowed: Sequence[str], chosen: Sequence[str], least: int = 0, most: int | None = None, *, field: str
) -> None:
    """Reject labels that a vocabulary does not have, and a wrong number of them.

    Args:
        title: The vocabulary's name for people.
        allowed: Its labels.
        chosen: The chosen labels.
        least: Fewest labels.
        most: Most labels; None if there is no limit.
        field: The field of the value.

    Raises:
        InvalidValue: A label is unknown, or there are too few or too many.
    """
    if other := [label for label in chosen if label not in allowed]:
        raise InvalidValue(f"{title} has no label {other[0][:80]!r}; choose from {', '.join(allowed)}", field=field)
    count = len(set(chosen))
    if count < least or (most is not None and count > most):
        many = f"exactly {least}" if least == most else f"{least} to {most}"
        raise InvalidValue(f"{title} takes {many}, not {count}", field=field)
