"""What single-turn multiple-choice layouts share: a dialogue of one turn with options."""

from collections.abc import Sequence
from typing import Final

from reeltalk.formats.layout import Document, Index
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import DialogueId

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def option_of_letter(document: Document, place: str, letter: str, options: Sequence[str]) -> int:
    """The index that an answer letter means.

    Raises:
        InputError: It is no letter of an option.
    """
    index = LETTERS.find(letter) if len(letter) == 1 else -1
    if not 0 <= index < len(options):
        raise document.error(f"the answer is no letter of the {len(options)} options", place, letter)
    return index


def option_of_text(document: Document, place: str, text: str, options: Sequence[str]) -> int:
    """The index of the option that an answer repeats.

    Raises:
        InputError: It is none of the options.
    """
    if text not in options:
        raise document.error("the answer is none of the options", place, text)
    return list(options).index(text)


def question_names(index: Index) -> list[str]:
    """The name of every turn that has options: its dialogue's, with the turn's number where there are several."""
    return [
        dialogue.id if len(dialogue.turns) == 1 else f"{dialogue.id}#{number}"
        for dialogue in index.dialogues.values()
        for number, turn in enumerate(dialogue.turns)
        if turn.options is not None
    ]


def question_named(index: Index, name: str) -> tuple[Dialogue, Turn]:
    """The dialogue and turn of a name that `question_names` gave."""
    if DialogueId(name) in index.dialogues:
        dialogue = index.dialogues[DialogueId(name)]
        return dialogue, dialogue.turns[0]
    dialogue_id, _, number = name.rpartition("#")
    dialogue = index.dialogues[DialogueId(dialogue_id)]
    return dialogue, dialogue.turns[int(number)]
