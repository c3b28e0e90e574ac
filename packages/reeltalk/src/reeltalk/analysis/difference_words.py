"""What differs between numbers that are not comparable, and how to make it equal, in words for people.

Numbers differ by the parts of their signatures; `difference_words.toml` has the words of each part.
"""

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from reeltalk.analysis.columns import MODEL_PARTS, floor_of, is_baseline, signature_parts
from reeltalk.schema.runs import ModelInfo, SummaryRow

MOST_NAMED: Final = 3
"""Models, and groups of models, that a sentence names."""


class Difference(NamedTuple):
    """One thing in which numbers differ."""

    what: str
    """Such as `A was shown 8 frames, B 32 frames`."""
    equal: str
    """How to make it equal, such as `evaluate B with --frames 8`; empty if nobody can say."""

    @property
    def clause(self) -> str:
        """Both within a sentence."""
        return f"{self.what} ({self.equal})" if self.equal else self.what

    def __str__(self) -> str:
        return f"{self.what}. To make it equal, {self.equal}." if self.equal else f"{self.what}."


def list_names(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Names as text: `a, b and 2 more`."""
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def independent_parts(parts: Iterable[str]) -> list[str]:
    """The given parts of a signature, sorted, without those that follow from another one of them."""
    there = set(parts)
    return sorted(part for part in there if not there & set(_words().get(part, {}).get("follows", ())))


def part_titles(parts: Iterable[str]) -> str:
    """What some signature parts are, such as `number of frames and history`."""
    return list_names([_words().get(part, {}).get("title", part) for part in independent_parts(parts)])


def describe_differences(
    numbers: Sequence[tuple[str, ModelInfo, SummaryRow]], parts: Iterable[str]
) -> list[Difference]:
    """What differs between numbers of one metric.

    Args:
        numbers: Each model's name for people, and its number; floors are left out.
        parts: The signature parts that differ, as `differing_parts` finds them.
    """
    told = [(name, info, signature_parts(row.signature)) for name, info, row in numbers if not floor_of(info)]
    due = {name: f"{info.due or info.items:,} turns" for name, info, _ in told}
    found = []
    for part in independent_parts(parts):
        words = _words().get(part, {})
        groups: dict[str | None, list[str]] = {}
        for name, info, values in told:
            if not (is_baseline(info) and part in MODEL_PARTS):
                groups.setdefault(values.get(part), []).append(name)
        # What most have comes first: the others are those to make equal.
        ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
        if part == "data":
            # A hash tells people nothing. The number of turns often does; where it is equal, their texts differ.
            same = len({due[names[0]] for names in groups.values()}) < len(groups)
            parted = [
                (names, f"on {due[names[0]]}{' of other content' if same and place else ''}")
                for place, (_, names) in enumerate(ordered)
            ]
        else:
            parted = [(names, _value(words, part, value)) for value, names in ordered]
        (first, value), *rest = parted[:MOST_NAMED]
        verb = words.get("verb", "has")
        if len(first) > 1:
            verb = verb.replace("was ", "were ").replace("has ", "have ")
        what = ", ".join([f"{list_names(first)} {verb} {value}", *(f"{list_names(n)} {v}" for n, v in rest)])
        others = list_names([name for _, names in ordered[1:] for name in names])
        equal = words.get("equal", "").replace("{others}", others).replace("{}", ordered[0][0] or "none")
        found.append(Difference(what, equal))
    return found


def _value(words: dict[str, Any], part: str, value: str | None) -> str:
    if value is None:
        return str(words.get("none", f"no {part}"))
    known = words.get("words", {})
    return str(words.get("value", f"{part} {{}}")).replace("{}", known.get(value, known.get("*", value)))


@cache
def _words() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
