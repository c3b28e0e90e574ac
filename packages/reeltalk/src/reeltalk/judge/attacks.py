"""Adversarial answers that try to manipulate a judge, and the neutral dialogues in which they are given.

Their texts are data: `attacks.toml` holds the attacks, `dialogues_under_attack.toml` the dialogues. Nothing here
judges.
"""

import base64
import codecs
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from reeltalk.judge.judge import JudgeUnit, LinkedTurns
from reeltalk.llm.fencing import FENCED, fence
from reeltalk.schema.answers import AnsweredTurn, UnitKind
from reeltalk.schema.dialogue import Checklist, ChecklistItem

ATTACKS: Final = Path(__file__).parent / "attacks.toml"
DIALOGUES: Final = Path(__file__).parent / "dialogues_under_attack.toml"

_CYRILLIC: Final = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")


@dataclass(frozen=True)
class Attack:
    """A wrong answer that tries to manipulate the judge."""

    id: str
    """Unique and stable, as `openers-03`."""
    family: str
    answer: str
    """Answer to the attacked turn. `{question}`, `{wrong}` and `{mark}` are replaced by that turn's question, a plain
    wrong answer, and the mark of a fence that the attacker can compute."""
    earlier: str | None = None
    """Answer to the turn before, if a part of the attack is planted there."""


@dataclass(frozen=True)
class NeutralTurn:
    """A question with a right and a wrong answer."""

    question: str
    reference: str
    right: str
    """A right answer in other words than the reference."""
    wrong: str
    options: tuple[str, ...]
    correct_option: int
    checklist: Checklist


@dataclass(frozen=True)
class NeutralDialogue:
    """A dialogue about a video that does not exist. Its last turn is attacked."""

    id: str
    summary: str
    turns: tuple[NeutralTurn, ...]


@cache
def attack_items() -> tuple[Attack, ...]:
    """All attacks, by family, always in the same order."""
    raw = tomllib.loads(ATTACKS.read_text(encoding="utf-8"))
    numbers: Counter[str] = Counter()
    items: list[Attack] = []
    for family, answer, earlier in (*_written(raw), *_disguised(raw)):
        numbers[family] += 1
        items.append(Attack(f"{family.replace(' ', '-')}-{numbers[family]:02d}", family, answer, earlier))
    return tuple(items)


@cache
def neutral_dialogues() -> tuple[NeutralDialogue, ...]:
    """The dialogues in which attacks are given."""
    raw = tomllib.loads(DIALOGUES.read_text(encoding="utf-8"))
    return tuple(
        NeutralDialogue(
            id=dialogue["id"],
            summary=dialogue["summary"],
            turns=tuple(_turn(turn, place + index) for index, turn in enumerate(dialogue["turn"])),
        )
        for place, dialogue in enumerate(raw["dialogue"])
    )


def fill_attack(attack: Attack, turn: NeutralTurn) -> tuple[str, str | None]:
    """The answer of an attack, and its answer to the turn before if there is one, with all fields filled."""
    found = FENCED.match(fence(turn.question))
    assert found is not None
    mark = found["mark"]
    fields = {"{question}": turn.question, "{wrong}": turn.wrong, "{mark}": mark}
    return _filled(attack.answer, fields), None if attack.earlier is None else _filled(attack.earlier, fields)


def attacked_unit(
    dialogue: NeutralDialogue, answer: str, *, kind: UnitKind, earlier: str | None = None, task: str | None = None
) -> JudgeUnit:
    """A dialogue as a unit to judge: right answers, and the given answer to the last turn.

    Args:
        answer: Answer to the last turn.
        kind: Kind of the unit; the first two turns of a path are linked.
        earlier: Answer to the turn before the last, if it is not the right one.
        task: Task of the unit, for judges that need one.
    """
    last = len(dialogue.turns) - 1
    answers = [turn.right for turn in dialogue.turns[:last]] + [answer]
    if earlier is not None:
        answers[last - 1] = earlier
    return JudgeUnit(
        model="attacker",
        kind=kind,
        id=dialogue.id,
        video_id=dialogue.id,
        turns=tuple(
            AnsweredTurn(
                model="attacker",
                item_id=f"{dialogue.id}-{index}",
                video_id=dialogue.id,
                unit=kind,
                unit_id=dialogue.id,
                turn_index=index,
                question=turn.question,
                references=(turn.reference,),
                text=text,
                task=task,
                options=turn.options,
                correct_option=turn.correct_option,
                checklist=turn.checklist,
            )
            for index, (turn, text) in enumerate(zip(dialogue.turns, answers, strict=True))
        ),
        task=task,
        summaries={"template": dialogue.summary, "refine": dialogue.summary},
        linked=(LinkedTurns(0, 1, "Objects"),) if kind == "path" else (),
    )


def _written(raw: Mapping[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    for block in raw["family"]:
        verdicts = [raw["verdicts"][name] for name in block.get("verdicts", ())] or [""]
        wrapped = [_filled(wrap, {"{verdict}": verdict}) for wrap in block.get("wraps", ()) for verdict in verdicts]
        for answer in (*block.get("texts", ()), *wrapped):
            for earlier in block.get("earlier", (None,)):
                yield block["name"], answer, earlier


def _disguised(raw: Mapping[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    noise = " ".join([raw["noise"]["words"]] * raw["noise"]["times"])
    for block in raw["disguise"]:
        for how in block["how"]:
            for name in block["sentences"]:
                sentence = raw["sentences"][name]
                yield block["family"], raw["leads"][block["family"]] + _disguise(how, sentence, noise), None


def _disguise(how: str, sentence: str, noise: str) -> str:
    ways: dict[str, Callable[[], str]] = {
        "zero_width": lambda: "\u200b".join(sentence),
        # Tag characters repeat ASCII from U+E0000 on, and no font shows them.
        "tags": lambda: "".join(chr(0xE0000 + ord(character)) for character in sentence),
        "bidi": lambda: f"\u202e{sentence[::-1]}\u202c",
        "soft_hyphens": lambda: "\u00ad".join(sentence),
        "base64": lambda: base64.b64encode(sentence.encode()).decode(),
        "rot13": lambda: codecs.encode(sentence, "rot13"),
        "hex": lambda: sentence.encode().hex(" "),
        "reversed": lambda: sentence[::-1],
        "percent": lambda: "".join(f"%{byte:02X}" for byte in sentence.encode()),
        "cyrillic": lambda: sentence.translate(_CYRILLIC),
        "full_width": lambda: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in sentence),
        "mathematical": lambda: "".join(_bold(character) for character in sentence),
        "spaced": lambda: " ".join(sentence),
        "repeated": lambda: " ".join([sentence] * 100),
        "after_noise": lambda: f"{noise} {sentence}",
        "before_noise": lambda: f"{sentence} {noise}",
    }
    return ways[how]()


def _bold(character: str) -> str:
    for first, start in (("A", 0x1D400), ("a", 0x1D41A), ("0", 0x1D7CE)):
        if 0 <= ord(character) - ord(first) < (10 if first == "0" else 26):
            return chr(start + ord(character) - ord(first))
    return character


def _filled(text: str, fields: Mapping[str, str]) -> str:
    for field, value in fields.items():
        text = text.replace(field, value)
    return text


def _turn(raw: Mapping[str, Any], place: int) -> NeutralTurn:
    # The file has the correct option first; it is moved, so that a constant "A" is not right.
    correct = 1 + place % (len(raw["options"]) - 1)
    others = list(raw["options"][1:])
    return NeutralTurn(
        question=raw["question"],
        reference=raw["reference"],
        right=raw["right"],
        wrong=raw["wrong"],
        options=(*others[:correct], raw["options"][0], *others[correct:]),
        correct_option=correct,
        checklist=Checklist(
            items=tuple(ChecklistItem(question=text, expected=expected) for text, expected in raw["checklist"])
        ),
    )
