"""Leaks planted into dialogues of told households: an answer that an earlier turn gives away, and a bias to yes."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.record import DialogueId
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.asking import stories
from reeltalk_household.questions.wording import WordedQuestion, turn_of, word_question, write_dialogue

STATEMENTS: Final = {
    "first_thing": "The first thing he picks up is {o}.",
    "last_thing": "The last thing he picks up is {o}.",
    "acts": "He {does}.",
    "times": "He {does} {times}.",
    "where_put": "He puts {o} {place}.",
    "where_from": "He takes {o}, which {is} {place}.",
    "which_room": "He is in the {room} when he {does}.",
    "room_start": "He is in the {room} at the beginning.",
    "room_end": "He is in the {room} at the end.",
    "next_action": "After {doing}, he {next}.",
    "previous_action": "Before {doing}, he {next}.",
    "things_count": "He picks up {n} different {things}.",
    "people_count": "There is {n} person in the video.",
    "clothes_colour": "His {part} {are} {colour}.",
    "posture": "He is {posture} when he {does}.",
    "object_colour": "The colour of {o} is {colour}.",
    "state_end": "At the end {o} {is} {state}.",
    "how_clean": "He cleans {t} by {doing}.",
    "tool": "He uses {o} to clean {t}.",
    "duration": "He spends {n} seconds {doing}.",
    "video_length": "The video lasts {n} seconds.",
    "use": "After picking up {o}, he first {next}.",
    "what_else": "Besides {o}, he picks up {list}.",
}
"""How a person might mention a fact, by kind of question. Kinds that only deny or compare are left out."""


@dataclass(frozen=True)
class Told:
    """A dialogue with everything that is needed to reword its questions."""

    dialogue: Dialogue
    asked: tuple[WordedQuestion, ...]
    story: Story
    split: str


@dataclass(frozen=True)
class Planted:
    """A dialogue that gives an answer away."""

    dialogue: Dialogue
    turn_index: int
    """The turn with an answer before it."""
    how: str
    kind: str


def told_dialogues(benchmark: Benchmark, *, per_video: int = 3) -> Iterator[Told]:
    for video, _, texts in stories(benchmark):
        story = Story([read_activity(text, file=f"{n}.nq", name=n) for n, text in texts.items()])
        split = video.split or "train"
        for number in range(per_video):
            seed = random.Random(f"{video.id} {number}").getrandbits(32)
            turns, asked = write_dialogue(story, split=split, seed=seed)
            name = DialogueId(f"{video.id}-{number}")
            yield Told(Dialogue(id=name, video_id=video.id, turns=tuple(turns)), tuple(asked), story, split)


def repeated(told: Told, draw: random.Random) -> Iterator[Planted]:
    """Every turn that an earlier turn can give away: a rewording before it, or a fact in an earlier answer."""
    for index, (asked, turn) in enumerate(zip(told.asked, told.dialogue.turns, strict=True)):
        if turn.extra["answer_type"] == "refusal" or index < 2:
            continue
        kind = asked.question.kind
        if kind != "what_else":
            place = draw.randrange(index)
            worded = word_question(asked.question, split=told.split, draw=draw, first=place == 0)
            turns = list(told.dialogue.turns)
            turns.insert(place, turn_of(worded, told.story, draw))
            yield Planted(_with(told.dialogue, turns, f"asked{index}"), index + 1, "asked before", kind)
        if kind in STATEMENTS:
            place = draw.randrange(index)
            template = STATEMENTS[kind]
            if kind == "acts" and asked.question.key == "no":
                template = "He does not {do}."
            stated = template.format(**asked.question.slots)
            turns = list(told.dialogue.turns)
            earlier = turns[place]
            stated = f"{earlier.references[0]} {stated[0].upper()}{stated[1:]}"
            turns[place] = earlier.model_copy(update={"references": (stated,)})
            yield Planted(_with(told.dialogue, turns, f"stated{index}"), index, "stated before", kind)


def _with(dialogue: Dialogue, turns: Sequence[Turn], mark: str) -> Dialogue:
    return dialogue.model_copy(update={"id": DialogueId(f"{dialogue.id}-{mark}"), "turns": tuple(turns)})


def biased(dialogues: Sequence[Dialogue], kind: str) -> tuple[list[Dialogue], set[tuple[str, int]]]:
    """The dialogues with *Yes* for every answer to one kind of question, and the list of these turns."""
    changed, places = [], set()
    for one in dialogues:
        turns = list(one.turns)
        for index, turn in enumerate(turns):
            if turn.extra["kind"] == kind:
                turns[index] = turn.model_copy(update={"references": ("Yes.",)})
                places.add((str(one.id), index))
        changed.append(one.model_copy(update={"turns": tuple(turns)}))
    return changed, places


def without_kinds(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """The dialogues as a writer would leave them that names no kinds, with only their wording."""
    bare = [
        tuple(
            turn.model_copy(update={"extra": {k: v for k, v in turn.extra.items() if k == "answer_type"}})
            for turn in one.turns
        )
        for one in dialogues
    ]
    return [one.model_copy(update={"turns": turns}) for one, turns in zip(dialogues, bare, strict=True)]
