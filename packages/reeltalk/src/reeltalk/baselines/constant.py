"""Answers from habit: the most frequent answer to questions of the same form."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from reeltalk.baselines.answerer import DialogueHistory, KnownAnswer, as_option
from reeltalk.baselines.nearest import fingerprint
from reeltalk.metrics.agree import added_words, is_yes_no

FORM_WORDS: Final = frozenset(
    """who whom whose which what where when why how many much often long is are was were do does did has have had can
    could will would should may might must before after first last next then again back or else most more than times
    colour color room end beginning start total number while posture kind seconds video people""".split()
)
"""Words that make the form of a question; all other words are its topic."""
CACHED_VIDEOS: Final = 256
"""Videos whose own answers are kept after they were counted, more than are played at a time."""
ANY_FORM: Final = "any"
"""The key for all questions; no form or head has this name."""
_HAN_FORM: Final = re.compile("什么时候|为什么|什么|哪里|哪个|多少|几次|几个|怎么|是否|有没有|是不是|谁|吗|还是")
_HEAD: Final = re.compile(
    r"\b(how (?:many|much|often|long)(?: \w+)?|what colou?r|which \w+"
    r"|(?:what|which|who|whom|whose|where|when|why|how))\b"
)


def question_form(question: str) -> str:
    """The form of a question: its question words and auxiliaries in order, `_` for all between.

    *Does he open the fridge?* and *Does the person take a mug?* are both `does _`; *What colour is it?* is `what colour
    is _`. Chinese questions have the form of their question words.
    """
    han = _HAN_FORM.findall(question)
    if han:
        return " ".join(han)
    form: list[str] = []
    for word in re.findall(r"[\w']+", question.lower()):
        if word in FORM_WORDS:
            form.append(word)
        elif not form or form[-1] != "_":
            form.append("_")
    return " ".join(form)


def question_head(question: str) -> str:
    """A coarser form: `yes/no`, or the question word with the word after it, as `how many`."""
    han = _HAN_FORM.search(question)
    if han:
        return "yes/no" if han.group() in ("吗", "是否", "有没有", "是不是") else han.group()
    if is_yes_no(question):
        return "yes/no"
    match = _HEAD.search(question.lower())
    return match[1] if match else "other"


def _forms(question: str) -> tuple[str, str, str]:
    return question_form(question), question_head(question), ANY_FORM


class ConstantAnswerer:
    """The most frequent answer to questions of one form. It shows the score that a bias, as of *Yes* over *No*, gives.

    Args:
        pairs: Known questions and answers.
    """

    name: Final = "constant"

    def __init__(self, pairs: Sequence[KnownAnswer]) -> None:
        self._fingerprint = fingerprint(pairs)
        self._pairs = pairs
        self._counts: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self._words: dict[tuple[str, ...], str] = {}
        # The answers of a video are counted again when it is asked about. They lie together, or nearly.
        self._places: dict[str, list[range]] = defaultdict(list)
        for place, pair in enumerate(pairs):
            said = added_words(pair.answer, pair.question)
            self._words.setdefault(said, pair.answer)
            for form in _forms(pair.question):
                self._counts[form][said] += 1
            own = self._places[pair.video_id]
            if own and own[-1].stop == place:
                own[-1] = range(own[-1].start, place + 1)
            else:
                own.append(range(place, place + 1))
        self._own = lru_cache(CACHED_VIDEOS)(self._count_own)

    def _count_own(self, video_id: str) -> dict[str, Counter[tuple[str, ...]]]:
        found: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for pair in (self._pairs[place] for places in self._places.get(video_id, ()) for place in places):
            for form in _forms(pair.question):
                found[form][added_words(pair.answer, pair.question)] += 1
        return found

    @property
    def signature(self) -> str:
        """Name and hash of the training data."""
        return f"baseline:constant|train:{self._fingerprint}"

    def answer(
        self,
        question: str,
        history: DialogueHistory = (),
        options: Sequence[str] | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """The most frequent answer to the form of the question, else to its head, else to all questions."""
        for form in _forms(question):
            counts = self._counts.get(form, Counter())
            if without is not None and (own := self._own(without).get(form)):
                counts = counts - own
            # Counter.most_common keeps the order of first occurrence among equals.
            for said, _ in counts.most_common():
                chosen = as_option(self._words[said], options)
                if chosen is not None:
                    return chosen
        return None
