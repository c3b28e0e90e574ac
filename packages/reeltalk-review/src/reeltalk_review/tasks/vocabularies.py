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

    The known ones are closed. Others that a unit's turns have are open, with the labels that the turns have. A turn
    without any label of a vocabulary may stay so, whatever its `least` is.
    """
    found: dict[str, dict[str, Json]] = {
        name: closed_vocabulary(known_labels(name), *LABEL_COUNTS[name]) for name in VOCABULARIES
    }
    for turn in turns:
        for name, labels in turn.get("labels", {}).items():
            entry = found.setdefault(name, {"labels": [], "closed": False, "least": 0, "most": None})
            if not entry["closed"]:
                entry["labels"] += [label for label in labels if label not in entry["labels"]]
    return dict(found)


def known_labels(vocabulary: str) -> list[str]:
    """All labels of a known vocabulary, in order."""
    return [label.value for label in VOCABULARIES[vocabulary]]


def check_chosen(
    title: str, allowed: Sequence[str], chosen: Sequence[str], drafted: Sequence[str], *, is_decided: bool, field: str
) -> None:
    """Reject labels that a closed vocabulary does not have.

    What the draft has may stay until there is a decision. Then it must be replaced.

    Args:
        title: The vocabulary's name for people.
        allowed: Its labels.
        chosen: The chosen labels.
        drafted: The labels of the draft.
        is_decided: Whether the value is a decision that keeps the labels.
        field: The field of the value.

    Raises:
        InvalidValue: A label is not in the vocabulary.
    """
    for label in chosen:
        if label in allowed or (label in drafted and not is_decided):
            continue
        whose = (
            f"the draft's label {label!r} is not in {title}; replace it with"
            if label in drafted
            else (f"{title} has no label {label[:80]!r}; choose from")
        )
        raise InvalidValue(f"{whose} {', '.join(allowed)}", field=field)


def check_turn_labels(
    labels: Mapping[str, Sequence[str]], drafted: Mapping[str, Sequence[str]], *, is_decided: bool
) -> None:
    """Reject labels of a turn that their closed vocabulary does not have, and a wrong number of them.

    Args:
        labels: By vocabulary.
        drafted: The labels of the draft.
        is_decided: Whether the value is a decision that keeps the labels. Numbers are checked only then.

    Raises:
        InvalidValue: A label is unknown, or there are too few or too many.
    """
    for name in VOCABULARIES:
        chosen, before = labels.get(name, ()), drafted.get(name, ())
        title, field = TITLES[name], f"labels.{name}"
        check_chosen(title, known_labels(name), chosen, before, is_decided=is_decided, field=field)
        least, most = LABEL_COUNTS[name]
        count = len(set(chosen))
        # A turn that was never labelled in a vocabulary may stay so.
        if is_decided and (chosen or before) and not least <= count <= most:
            raise InvalidValue(f"{title} takes {spoken_count(least, most)}, not {count}", field=field)


def spoken_count(least: int, most: int) -> str:
    """A number of labels for people: `exactly 1`, `1 to 3`."""
    return f"exactly {least}" if least == most else f"{least} to {most}"
