"""Numbers of dialogues: VDAct's table 3 (AAAI 2025)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields

from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.media import Video


@dataclass(frozen=True)
class DialogueCounts:
    """A row of table 3. Lengths of texts are in words; None means unknown."""

    videos: int
    dialogues: int
    turns: int
    mean_video_s: float | None
    mean_question_words: float | None
    mean_answer_words: float | None

    @property
    def values(self) -> tuple[float | None, ...]:
        """The six numbers in the order of table 3."""
        return tuple(getattr(self, field.name) for field in fields(self))


TABLE_3 = ("Videos", "Dialogues", "QA pairs", "Video length, s", "Question, words", "Answer, words")
PAPER_TABLE_3 = ("1,000", "3,000", "30,095", "248", "7.8", "10.2")


def split_words(text: str) -> int:
    """Number of words in a text, separated by spaces."""
    return len(text.split())


class DialogueCounter:
    """Counts the numbers of table 3 one dialogue at a time, without keeping dialogues in memory."""

    def __init__(self, words: Callable[[str], int] = split_words) -> None:
        self._words = words
        self._talked: set[str] = set()
        self._dialogues = self._turns = self._question_words = self._answers = self._answer_words = 0

    def add(self, dialogue: Dialogue) -> None:
        """Count one dialogue."""
        self._talked.add(dialogue.video_id)
        self._dialogues += 1
        for turn in dialogue.turns:
            self._turns += 1
            self._question_words += self._words(turn.question)
            if turn.references:
                self._answers += 1
                self._answer_words += self._words(turn.references[0])

    def counts(self, lengths_s: Mapping[str, float | None]) -> DialogueCounts:
        """The counts so far."""
        known = [length for video, length in lengths_s.items() if video in self._talked and length is not None]
        return DialogueCounts(
            videos=len(self._talked),
            dialogues=self._dialogues,
            turns=self._turns,
            mean_video_s=sum(known) / len(known) if known else None,
            mean_question_words=self._question_words / self._turns if self._turns else None,
            mean_answer_words=self._answer_words / self._answers if self._answers else None,
        )


def count_dialogues(videos: Iterable[Video], dialogues: Iterable[Dialogue]) -> DialogueCounts:
    """Count the numbers of table 3. Videos without dialogues are ignored."""
    counter = DialogueCounter()
    for dialogue in dialogues:
        counter.add(dialogue)
    return counter.counts({video.id: video.duration_s for video in videos})
