"""Shared code of layouts with multiple choice: letters of options, and dialogues of one turn with options."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Final

from reeltalk.formats.export_losses import fields_left_out, labels_left_out, more_references_left_out, tables_left_out
from reeltalk.formats.layout import Index, SourceDocument, lost_beyond_dialogues
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.record import DialogueId, derive_id
from reeltalk.store.content import Content

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TURN_FIELDS: Final = ("question", "references", "options", "correct_option", "labels", "checklist")
"""Fields of a turn that every such layout holds, or reports as lost itself."""


_LETTER = re.compile(
    r"\s*(?:[(（\[【]\s*([A-Za-zＡ-Ｚａ-ｚ])\s*[)）\]】][.:：]?|([A-Za-zＡ-Ｚａ-ｚ])\s?[.．:：)）、])(?![A-Za-z][.])\s*(?=\S)"
)
_NUMBER = re.compile(r"\s*(?:\(([0-9]{1,2})\)\s*|([0-9]{1,2})(?:[.:]\s+|[)．、：）]\s*))(?=\S)")


def without_letters(options: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Options without the letters or numbers that all of them carry, and these; none if they do not carry all.

    Letters (`A. red`, `(B) blue`, `Ｃ、绿`) are taken off in any order, numbers only in the order of their places.
    """
    expected = tuple(LETTERS[: len(options)])
    for pattern, marks in ((_LETTER, expected), (_NUMBER, tuple(str(n + 1) for n in range(len(options))))):
        found = [pattern.match(option) for option in options]
        carried = tuple(unicodedata.normalize("NFKC", one[1] or one[2]).upper() for one in found if one)
        if len(options) > 1 and (sorted(carried) == [*marks] if pattern is _LETTER else carried == marks):
            return tuple(option[one.end() :] for option, one in zip(options, found, strict=True) if one), carried
    return tuple(options), ()


def equal_options(options: Sequence[str]) -> str | None:
    """Which two options are the same apart from case and space around them; None if there are none."""
    first: dict[str, int] = {}
    for index, option in enumerate(options):
        other = first.setdefault(option.strip().casefold(), index)
        if other != index:
            names = [LETTERS[one] if one < len(LETTERS) else str(one + 1) for one in (other, index)]
            return f"options {names[0]} and {names[1]} are the same"
    return None


def read_options(
    document: SourceDocument, place: str, options: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """As `without_letters`, with a warning if two options are the same, as in some questions of published sets."""
    texts, marks = without_letters(options)
    if problem := equal_options(texts):
        document.records.content.warnings.append(f"{document.name}: {problem} at {place}; the question is kept")
    return texts, marks


def option_of_letter(
    document: SourceDocument, place: str, letter: str, options: Sequence[str], marks: Sequence[str] = ()
) -> int:
    """The index of the option with an answer letter: the one that carries it, else the one in its place.

    Raises:
        InputError: It is not the letter of an option.
    """
    index = next((names.index(letter) for names in (tuple(marks), tuple(LETTERS)) if letter in names), -1)
    if not 0 <= index < len(options):
        raise document.error(f"the answer is not a letter of the {len(options)} options", place, letter)
    return index


def option_of_text(document: SourceDocument, place: str, text: str, options: Sequence[str]) -> int:
    """The index of the option that an answer repeats.

    Raises:
        InputError: It is not one of the options.
    """
    if text not in options:
        raise document.error("the answer is not one of the options", place, text)
    return list(options).index(text)


def question_names(index: Index) -> list[str]:
    """The name of every turn that has options: its dialogue's, with the turn's number if there are several."""
    return [
        dialogue.id if len(dialogue.turns) == 1 else _name_of_turn(index, dialogue, number)
        for dialogue in index.dialogues.values()
        for number, turn in enumerate(dialogue.turns)
        if turn.options is not None
    ]


def question_named(index: Index, name: str) -> tuple[Dialogue, int]:
    """The dialogue of a name that `question_names` gave, and the number of the turn in it."""
    if DialogueId(name) in index.dialogues:
        return index.dialogues[DialogueId(name)], 0
    dialogue_id, _, digits = name.rpartition("#")
    dialogue = index.dialogues.get(DialogueId(dialogue_id))
    if dialogue and digits.isdecimal() and int(digits) < len(dialogue.turns):
        return dialogue, int(digits)
    return next(
        (dialogue, number)
        for dialogue in index.dialogues.values()
        for number in range(len(dialogue.turns))
        if len(dialogue.turns) > 1 and _name_of_turn(index, dialogue, number) == name
    )


def _name_of_turn(index: Index, dialogue: Dialogue, number: int) -> str:
    name = f"{dialogue.id}#{number}"
    # A dialogue that was imported from an earlier export may have this name.
    return derive_id("question", dialogue.id, number) if DialogueId(name) in index.dialogues else name


def lost_beyond_questions(
    content: Content, *, labels: Collection[str], dialogue: Collection[str] = (), turn: Collection[str] = ()
) -> list[str]:
    """One line for each thing that a layout of single multiple-choice questions cannot express.

    Args:
        content: The benchmark.
        labels: Vocabularies that the layout holds.
        dialogue: Fields of a dialogue that the layout holds, beyond its identifier, video and turns.
        turn: Fields of a turn that the layout holds, beyond question, options and the right one.
    """
    dialogues = list(Index(content).dialogues.values())
    turns = [turn for unit in dialogues for turn in unit.turns if turn.options is not None]
    return [
        *lost_beyond_dialogues(content, options=True, several_turns=False),
        *tables_left_out(content),
        *fields_left_out("dialogues", dialogues, {"id", "video_id", "turns", "extra", *dialogue}),
        *fields_left_out("turns", turns, {*TURN_FIELDS, *turn}),
        *more_references_left_out(turns),
        *labels_left_out(turns, labels),
    ]
