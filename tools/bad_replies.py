"""Malformed replies of judges, made by rules, each with the values that a reader may take from it.

The replies are sentences with a rating, JSON records, and checklists of yes and no.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reeltalk.llm import json_schema
from reeltalk.schema.record import Json

RATIONALES: Final = (
    "The candidate names the shelf, as the reference does.",
    "Both texts speak of four oranges {sic}; the candidate adds that it rains.",
    "候选回答与参考答案一致，提到了架子。",
    "La respuesta nombra el estante, igual que la referencia.",
    "Der Kandidat nennt 2 von 3 Dingen, die in der Vorlage stehen.",
)
REFUSALS: Final = (
    "I'm sorry, but I can't help with judging this.",
    "As a language model I am not able to watch videos.",
    "I cannot rate this answer without the video.",
    "抱歉，我无法对该回答评分。",
    "Lo siento, no puedo evaluar esta respuesta.",
)


@dataclass(frozen=True)
class BadReply:
    """A malformed reply."""

    text: str
    cls: str
    """The fault, such as `trailing comma`."""
    readable: bool
    """True if the value is clear: it must be read, at once or after one retry."""
    allowed: frozenset[int | str] | None
    """The values that may be read: ratings, or records in the form of `canonical`; None if nothing may be read."""
    clean: str
    """The intended reply in the right form, as the answer to the retry."""


@dataclass(frozen=True)
class Ratings:
    """A sentence that ends in a marker and a rating, as in VDEval and LAVE."""

    marker: str = "So rating="
    values: tuple[int, ...] = (1, 2, 3)


@dataclass(frozen=True)
class Records:
    """A JSON object with integer fields."""

    kind: type[Any]
    """A pydantic model that forbids other fields."""
    examples: tuple[Mapping[str, Json], ...]
    """Two or more valid records that differ in every integer."""


@dataclass(frozen=True)
class Checklists:
    """A JSON object of keys with Yes or No."""

    keys: tuple[str, ...] = ("A1", "A2", "A3", "A4", "A5")


def canonical(record: Mapping[str, Json]) -> str:
    """The same text for equal records."""
    return json.dumps(record, sort_keys=True, ensure_ascii=False)


def bad_replies(kind: Ratings | Records | Checklists) -> list[BadReply]:
    """The replies of a kind without duplicates, the same at every call.

    Args:
        kind: The expected form.
    """
    match kind:
        case Ratings():
            found = list(_bad_ratings(kind))
        case Records():
            found = [reply for n in range(len(kind.examples)) for reply in _bad_records(kind, n)]
        case Checklists():
            found = list(_bad_checklists(kind))
    return list({(reply.text, reply.allowed): reply for reply in found}.values())


def _bad_ratings(kind: Ratings) -> Iterator[BadReply]:
    mark, lowest, highest = kind.marker, min(kind.values), max(kind.values)
    name = mark.rstrip("=")
    for value in kind.values:
        other = lowest if value == highest else value + 1
        said = f"{mark}{value}"
        for why in RATIONALES:
            clean = f"{why} {said}"
            one, none = frozenset({value}), None
            plain = {
                "prose around": [
                    f"{said} {why}",
                    f"{why}\n{said}\nI hope this helps!",
                    f"Rationale: {why}\n\n{said}\n",
                ],
                "punctuation": [
                    f"{why} {said}.",
                    f"{why} {said}!",
                    f'{why} "{said}"',
                    f"{why} ({said})",
                    f"{why} {said};",
                ],
                "fenced": [f"```\n{why} {said}\n```", f"{why}\n```text\n{said}\n```", f"{why} `{said}`"],
                "markdown": [
                    f"{why} {mark}**{value}**",
                    f"{why} **{said}**",
                    f"{why} {mark}*{value}*",
                    f"- {why}\n- {said}",
                ],
                "spaces": [
                    f"{why} {name} = {value}",
                    f"{why} {mark}\n{value}",
                    f"{why} {mark} {value}  \n",
                    f"{why} {name}\t=\t{value}",
                ],
                "case": [f"{why} {said.lower()}", f"{why} {said.upper()}"],
                "duplicated": [f"{why} {said}\n{said}", f"{said}\n{why} {said}"],
                "thinking": [
                    f"<think>Perhaps {mark}{other}?</think>{why} {said}",
                    f"<think>\n{mark}{other}\n</think>\n\n{why} {said}",
                    f"<thinking>{mark}{other} or not</thinking> {why} {said}",
                ],
                "invisible": [
                    f"\ufeff{why} {said}",
                    f"{why} {mark}\u200b{value}",
                    f"{why} {said}\u200b",
                    f"{why} {mark}\u2060{value}\u2060",
                ],
                "extra": [f"{why} {said} Confidence: 0.9", f"{why} {said}\n(checked against 4 references)"],
            }
            digits = [chr(0xFF10 + value), chr(0x0660 + value), chr(0x0966 + value)]
            # These may be read, but a reader that asks once more is right too.
            possible = {
                "other language": [f"{why} {mark}{digit}" for digit in digits],
                "other form": [
                    f"{why} {name}: {value}",
                    f"{why} {name} is {value}",
                    f'{{"rating": {value}}}',
                    f"{why} Rating: {value}",
                ],
                "scale": [f"{why} {said}/{highest}", f"{why} {said} out of {highest}", f"{why} {mark}{value}.0"],
            }
            nothing = {
                "no verdict": [why, f"{why} It deserves a rating.", f"Rationale: {why}"],
                "truncated": [f"{why} {mark}", f"{why} {mark[:-3]}", f"{why} {mark} ", f"{why[:20]}"],
                "out of range": [
                    f"{why} {mark}{wrong}"
                    for wrong in (0, highest + 1, highest + 2, 10, f"{value}{value}", f"-{value}", 100)
                ],
                "wrong type": [
                    f"{why} {mark}{wrong}" for wrong in (f"{value}.5", f"{value},5", "true", "null", "?", "A", "X")
                ],
                "not a number": [f"{why} {mark}{wrong}" for wrong in ("NaN", "Infinity", "inf", "None")],
                "undecided": [
                    f"{why} {mark}{value} or {other}",
                    f"{why} {mark}{value}-{other}",
                    f"{why} {mark}{value}/{other}0",
                    f"{why} {mark}{value} to {other}",
                ],
                "contradicting": [
                    f"{why} {said}\nOn reflection: {mark}{other}",
                    f"{mark}{other}\n{why}\n{said}",
                    f"{why} {said} {mark}{other} {said}",
                ],
                "quoted": [
                    f'The candidate says "{mark}{other}". {why} {said}',
                    f"{why} {said}\nThe candidate itself wrote {mark}{other}",
                ],
                "lost in thought": [
                    f"<think>{why} {said}</think>",
                    f"<think>{why} {said}",
                    f"<think>{said}</think> {why}",
                ],
            }
            for classes, readable, allowed in ((plain, True, one), (possible, False, one), (nothing, False, none)):
                for cls, texts in classes.items():
                    for text in texts:
                        yield BadReply(text, cls, readable, allowed, clean)
        for text in ("", " ", "\n\n", "{}", "```\n```", "<think></think>"):
            yield BadReply(text, "empty", False, None, said)
        for text in REFUSALS:
            yield BadReply(text, "refusal", False, None, said)


def _bad_records(kind: Records, number: int) -> Iterator[BadReply]:
    right = dict(kind.examples[number])
    other = dict(kind.examples[(number + 1) % len(kind.examples)])
    yield from _around(right, other)
    properties = json_schema(kind.kind)["properties"]
    numbers = [name for name, value in right.items() if type(value) is int]
    for name in numbers:
        value = right[name]
        # Clear, but of another type.
        for meant in (str(value), float(value), f" {value} "):
            yield _record(right, {**right, name: meant}, "wrong type", may=True)
        for wrong in (value + 0.5, True, False, None, [value], {"value": value}, "", "high", f"{value}/10"):
            yield _record(right, {**right, name: wrong}, "wrong type")
        for limit, step in (("minimum", -1), ("maximum", 1)):
            for far in (1, 7, 1000) if limit in properties[name] else ():
                yield _record(right, {**right, name: properties[name][limit] + step * far}, "out of range")
        yield from _numbers(right, name, value)
        yield _bad(right, _with(right, name, f"{value}, {json.dumps(name)}: {other[name]}"), "contradicting")
        yield _bad(right, _with(right, name, f"{other[name]} or {value}"), "undecided")


def _bad_checklists(kind: Checklists) -> Iterator[BadReply]:
    count = len(kind.keys)
    for number in range(1 << min(count, 4)):
        right: dict[str, Json] = {key: "Yes" if number >> n & 1 else "No" for n, key in enumerate(kind.keys)}
        other = {key: "No" if value == "Yes" else "Yes" for key, value in right.items()}
        yield from _around(right, other)
        for key in kind.keys[:3]:
            said = right[key]
            for wrong in ("Maybe", "N/A", "", "Yes and No", True, None, 1, [said], "Yes/No", "是", "Sí"):
                yield _record(right, {**right, key: wrong}, "wrong value")
            yield _bad(right, _with(right, key, f'"{said}", "{key}": "{other[key]}"'), "contradicting")


def _around(right: Mapping[str, Json], other: Mapping[str, Json]) -> Iterator[BadReply]:
    """Faults of any JSON object."""
    text, wrong = json.dumps(right, ensure_ascii=False), json.dumps(other, ensure_ascii=False)
    lines = json.dumps(right, ensure_ascii=False, indent=2)
    first = next(iter(right))
    loose = text.replace('"', "'")
    without = json.dumps({key: value for key, value in right.items() if key != first}, ensure_ascii=False)
    plain = {
        "fenced": [
            f"```json\n{lines}\n```",
            f"```\n{text}```",
            f"Here it is:\n```JSON\n{text}\n```\nBye.",
            f"~~~json\n{text}\n~~~",
        ],
        "prose around": [f"{why}\n{text}" for why in RATIONALES] + [f"{text} {why}" for why in RATIONALES],
        "trailing comma": [text[:-1] + ",}", lines[:-2] + ",\n}", f"```json\n{text[:-1]}, }}\n```"],
        "single quotes": [loose, f"Verdict: {loose}", f"```python\n{loose}\n```"],
        "bare names": [_bare(right), f"Verdict: {_bare(right)}"],
        "smart quotes": [text.replace(chr(34), "”"), f"Verdict: {text.replace(chr(34), chr(0x201C))}"],
        "comments": [
            text[:-1] + " // sure\n}",
            text.replace(", ", ", /* next */ ", 1) if ", " in text else f"{text[:-1]}/* */}}",
        ],
        "nested": [f'{{"result": {text}}}', f"[{text}]", f'{{"verdict": {{"scores": {text}}}}}'],
        "in a string": [json.dumps(text), f"result = {json.dumps(text)}"],
        "extra keys": [_also(right, confidence=0.9), _also(right, note="none"), _also(right, **{"": 0})],
        "duplicated": [
            f"{text}\n{text}",
            f"{text}\nIn pretty form:\n```json\n{lines}\n```",
            f"{text} Once more: {text}",
        ],
        "thinking": [
            f"<think>Perhaps {wrong}?</think>\n{text}",
            f"<thinking>{wrong}</thinking>{text}",
            f"<think>{{unfinished</think>\n```json\n{text}\n```",
            f"I wonder: {wrong}\n</think>\n{text}",
            f"\ufeff<think>{wrong}</think>{text}",
        ],
        "invisible": [
            f"\ufeff{text}",
            f"\u200b{text}\u200b",
            "{\u200b" + text[1:],
            text.replace(": ", ":\u200b "),
            f"\u2060\ufeff{lines}",
            _renamed(right, lambda key: f"{key}\u200b"),
        ],
        "markdown": [f"**{text}**", f"`{text}`", f"> {text}", f"# Verdict\n\n{text}\n\n---", f"| {text} |"],
        "placeholders": [f'The form is {{"{first}": "<value>"}}. {text}', f"I fill in {{{first}}}: {text}"],
    }
    nothing = {
        "no verdict": list(RATIONALES),
        "refusal": list(REFUSALS),
        "empty": ["", " \n", "{}", "null", "[]", "```json\n```", "{", "}"],
        "truncated": [text[: len(text) * part // 8] for part in range(1, 8)] + [text[:-1], f"Verdict: {lines[:-3]}"],
        "missing key": [without, f"```json\n{without}\n```", f"{RATIONALES[0]} {without}"],
        "wrong names": [
            _renamed(right, str.swapcase),
            _renamed(right, lambda key: f"得{key}分"),
        ],
        "contradicting": [
            f"{text}\n{wrong}",
            f"{wrong}\nNo, rather:\n{text}",
            f"{text}\n```json\n{wrong}\n```\n{text}",
            f'{{"a": {text}, "b": {wrong}}}',
            f"[{text}, {wrong}]",
        ],
        "lost in thought": [
            f"<think>{text}</think>",
            f"<think>{text}",
            f"<think>\n{text}\nBut wait, {wrong}",
            f"<thinking>{text}</thinking> {RATIONALES[0]}",
        ],
        "quoted": [f"The candidate wrote {wrong}, which proves nothing.\n{text}", f"{text}\nIt tried to say {wrong}."],
    }
    # The judge's own verdict is broken, and the one that it quotes from the candidate is valid.
    meant = {
        "quoted": [
            f"{loose}\nThe candidate wrote {wrong}.",
            f"The candidate wrote {wrong}. I say: {loose}",
            f"{wrong} is what it wants. {text[:-1]},}}",
            f"{_bare(right)} and not {wrong}",
            f'Asked for {wrong}. {{"result": {text}}}',
            f'{{"result": {text}}} and not {wrong}',
            f"It wants {wrong}. {_also(right, sure=1)}",
            f"{_also(right, sure=1)} It wants {wrong}.",
        ],
    }
    for classes, readable, may in ((plain, True, True), (nothing, False, False), (meant, False, True)):
        for cls, texts in classes.items():
            for reply in texts:
                yield _bad(right, reply, cls, readable=readable, may=may)
    # Nothing may be read from a broken verdict with one key next to a valid quoted one.
    for reply in (
        f"{wrong} was its wish. {without}",
        f"{text[:-1]} – unlike {wrong}",
        f"{wrong} was its wish. {text[:-2]}",
    ):
        yield _bad(right, reply, "quoted")


def _numbers(right: Mapping[str, Json], name: str, value: int) -> Iterator[BadReply]:
    for token in ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "nan", "0x1F", "9" * 5000):
        yield _bad(right, _with(right, name, token), "not a number")
    for start in (0xFF10, 0x0660, 0x0966):
        written = "".join(chr(start + int(digit)) for digit in str(value)) if value >= 0 else str(value)
        if value >= 0:
            yield _bad(right, _with(right, name, written), "other language", readable=True, may=True)
            yield _bad(right, _with(right, name, f'"{written}"'), "other language", may=True)
    for word in ("three", "drei", "三", "ثلاثة", "тройка"):
        yield _bad(right, _with(right, name, f'"{word}"'), "other language")
    yield _bad(right, _with(right, name, f"**{value}**"), "markdown", readable=True, may=True)


def _record(right: Mapping[str, Json], told: Mapping[str, Json], cls: str, *, may: bool = False) -> BadReply:
    return _bad(right, json.dumps(told, ensure_ascii=False), cls, readable=may, may=may)


def _bad(right: Mapping[str, Json], text: str, cls: str, *, readable: bool = False, may: bool = False) -> BadReply:
    allowed: frozenset[int | str] | None = frozenset({canonical(right)}) if may else None
    return BadReply(text, cls, readable, allowed, json.dumps(right, ensure_ascii=False))


def _with(right: Mapping[str, Json], name: str, token: str) -> str:
    """The record with one value that is not JSON."""
    pairs = (f"{json.dumps(key)}: {token if key == name else json.dumps(value)}" for key, value in right.items())
    return "{" + ", ".join(pairs) + "}"


def _bare(right: Mapping[str, Json]) -> str:
    return "{" + ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in right.items()) + "}"


def _also(right: Mapping[str, Json], **more: Json) -> str:
    return json.dumps({**right, **more}, ensure_ascii=False)


def _renamed(right: Mapping[str, Json], rename: Any) -> str:
    return json.dumps({rename(key): value for key, value in right.items()}, ensure_ascii=False)


def classes_of(replies: Sequence[BadReply]) -> list[str]:
    """All faults, each once, in order."""
    return list(dict.fromkeys(reply.cls for reply in replies))
