"""Faults of a chain or a dialogue that code can detect, without a model.

`lint` applies rules that may be wrong about a turn, so it drops nothing: each fault is a flag with a reason, which the
writer receives as advice and reviewers see. `check_structure` applies the structural rules of MT-Video-Bench's six
tasks (arXiv 2510.17722): the number of rounds, the place of the ability, the moves between subjects. Whether a dialogue
truly tests its ability takes a reader.

Texts are compared by their words. English is split at word boundaries. Chinese is split into pairs of neighbouring
characters, since it has no spaces and a segmenter would be a large dependency for a small use.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Final

from reeltalk.errors import shorten
from reeltalk.language.rules import read_rules
from reeltalk.metrics.agree import is_yes_no
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.entrances import REFERENCE_WORDS, REFERENCE_WORDS_ZH, is_graph_written
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.labels import Task
from reeltalk.schema.long_texts import shortened
from reeltalk.schema.turn_sense import Film, unit_findings
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.replies import ROUNDS
from reeltalk_build.construct.text_rules import GRAVE_TEXT_RULES, TEXT_RULE_FILE, TEXT_RULES, Part, declines
from reeltalk_build.construct.writers import Language

RULE_FILE: Final = read_rules(Path(__file__).with_suffix(".toml"))

_WORD: Final = RULE_FILE.pattern("word")
_HAN: Final = RULE_FILE.pattern("han")
_HAN_RUN: Final = RULE_FILE.pattern("han_run")
_PAIR: Final = 2

FUNCTION_WORDS: Final = RULE_FILE.words["function_words"]
FUNCTION_CHARACTERS: Final = frozenset(
    "的了是在和与也就都而及着或一个这那他她它们什么怎哪谁为吗呢啊吧有没不会能可以到从对把被给"
)
"""Chinese characters that do not show the topic of a sentence."""


@lru_cache(maxsize=4096)
def normalise(text: str) -> str:
    """The text in lower case, without punctuation, with single spaces between words."""
    spelled = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    return " ".join(_WORD.findall(spelled))


def text_words(text: str) -> list[str]:
    """All words in order; each run of Chinese characters as pairs of neighbours."""
    found: list[str] = []
    for word in normalise(text).split():
        found += _pairs(word) if _HAN.search(word) else [word]
    return found


def topic_words(text: str) -> frozenset[str]:
    """The words that show the topic of a text, without their most common endings."""
    kept = set()
    for word in text_words(text):
        if _HAN.search(word):
            if not set(word) <= FUNCTION_CHARACTERS:
                kept.add(word)
        elif word.removesuffix("'s") not in FUNCTION_WORDS:
            kept.add(_stem(word.removesuffix("'s")))
    return frozenset(kept)


def _pairs(text: str) -> list[str]:
    found: list[str] = []
    for run in _HAN_RUN.findall(text):
        found += [run[at : at + _PAIR] for at in range(max(1, len(run) - 1))]
    return found + [rest for rest in _HAN_RUN.split(text) if rest]


def _stem(word: str) -> str:
    # Enough to match "opens", "opened" and "opening". Errors do not matter, since both texts get the same ones.
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word


Found = Iterator[tuple[int, str]]
"""Pairs of a turn's index, from 0, and its fault."""

GATE: Final = "lint"


LEAST_OVERLAP: Final = 0.8
"""Questions whose words overlap by this share of both together are near-duplicates."""
LEAST_GIVEN_AWAY: Final = 0.9
"""An answer of which the question already holds this share of the content words is given away."""
MOST_RECURRING: Final = 0.5
"""Largest share of a chain's questions that other chains of the video may ask too."""
MOST_RECURRING_ELSEWHERE: Final = 0.75
"""Largest share of a unit's questions that one unit of another video may ask too."""
GRAVE_FAULTS: Final = frozenset({*GRAVE_TEXT_RULES, "task"})
"""Rules after whose faults a text must not stay: it says nothing, says it to nobody, or is no turn of its task."""


def text_faults(text: str, *, part: Part, language: Language = "en") -> list[tuple[str, str]]:
    """Find the faults of a single text.

    Args:
        text: A question, an answer, a caption, an item of a checklist.
        part: What the text is.
        language: The language that it should be written in.

    Returns:
        A rule's name and a reason for each fault, grave ones first. Rules of `GRAVE_FAULTS` mean that the text must not
        stay.
    """
    # Characters are looked for in all of a text; no other rule needs more than a text may have, or runs of spaces.
    read = _SPACES.sub(lambda found: "\n" if "\n" in found[0] else " ", text)[:MOST_READ]
    whole, short = {"characters": text, "length": read, "looping": read}, shortened(read)
    return [
        (name, f"the {part} {said}")
        for name, rule in TEXT_RULES.items()
        for said in rule(whole.get(name, short), part, language)
    ]


MOST_READ: Final = 4000
"""Characters of a text that are read for faults; one of more is too long."""
_SPACES: Final = re.compile(r"\s\s+")


def lint(unit: QAChain | Dialogue, *, language: Language = "en") -> list[GateResult]:
    """Find faults with all rules.

    Returns:
        A flag of the gate `lint.RULE` for each fault, in the order of the turns.
    """
    faults = list(_texts(unit, language))
    faults += [(index, name, reason) for name, rule in RULES.items() for index, reason in rule(unit, language)]
    return [
        Subject.of(unit).gate(f"{GATE}.{name}", GateOutcome.FLAGGED, reason, turn=index)
        for index, name, reason in sorted(faults, key=lambda fault: fault[0])
    ]


def _texts(unit: QAChain | Dialogue, language: Language) -> Iterator[tuple[int, str, str]]:
    for index, turn in enumerate(unit.turns):
        for part, text in _parts(turn):
            for name, reason in text_faults(text, part=part, language=language):
                # A talk about photography is about pictures, and an assistant may not know what a user asks there.
                if turn.extra.get(ABOUT_KEY) == "topic" and name in ("wording", "declines"):
                    continue
                if (
                    isinstance(unit, Dialogue)
                    and name in _SPOKEN[is_graph_written(turn) or part in ("question", "remark")]
                ):
                    continue
                asked = " ".join(one.question for one in unit.turns[max(0, index - 1) : index + 1])
                if any(says in reason and RULE_FILE.find(shown, asked) for shown, says in _SHOWN.items()):
                    continue
                yield index, name, reason


_SPOKEN: Final = {
    False: frozenset(TEXT_RULE_FILE.raw["spoken"]),
    True: frozenset([*TEXT_RULE_FILE.raw["spoken"], *TEXT_RULE_FILE.raw["spoken_by_users"]]),
}
_SHOWN: Final = {name: rule.says for name, rule in RULE_FILE.rules.items() if rule.says}


def _parts(turn: Turn) -> list[tuple[Part, str]]:
    asked: Part = "remark" if turn.extra.get(ABOUT_KEY) == "chat" else "question"
    said: Part = "answer"
    if is_labelled(turn, Task.ANSWER_REFUSAL):
        said = "refusal"
    elif is_labelled(turn, Task.CONTENT_SUMMARY):
        said = "summary"
    return [(asked, turn.question), *((said, text) for text in turn.references[:1])]


def _dependence(unit: QAChain | Dialogue, language: Language) -> Found:
    # The rounds of a dialogue may change the subject, and some tasks demand it.
    if isinstance(unit, Dialogue):
        return
    pattern = REFERENCE_WORDS_ZH if language == "zh" else REFERENCE_WORDS
    for index in range(1, len(unit.turns)):
        question, before = unit.turns[index].question, unit.turns[:index]
        shared = topic_words(question) & topic_words(" ".join(text for turn in before for text in turn.references[:1]))
        if not shared and not pattern.search(question):
            yield index, "it refers to nothing in the answers before: no pronoun and no shared word"


def _opening(unit: QAChain | Dialogue, _: Language) -> Found:
    for turn in unit.turns[:1]:
        if not is_graph_written(turn) and turn.extra.get(ABOUT_KEY) not in ("topic", "chat"):
            if found := RULE_FILE.find("refers_to_nothing", turn.question):
                yield 0, f"nothing was said before it that it can refer to: {shorten(found[0])}"


def _exchange(unit: QAChain | Dialogue, language: Language) -> Found:
    if isinstance(unit, Dialogue):
        return
    for index, turn in enumerate(unit.turns):
        if is_graph_written(turn):
            continue
        question, answer = turn.question, " ".join(turn.references[:1])
        plain = RULE_FILE.pattern("quoted").sub("“”", question).strip()
        marks = plain.count("?") + plain.count("？")
        if marks > 1:
            yield index, "it asks two questions"
        elif _AND_ASKS.search(plain):
            yield index, "it asks two questions"
        elif not marks and (language == "en" or not _ASKS_OPENLY.search(question)):
            yield index, "it asks nothing"
        elif marks and not _ENDS_WITH_A_QUESTION.search(plain):
            yield index, "it does not end with its question"
        if _ENDS_WITH_A_QUESTION.search(RULE_FILE.pattern("quoted").sub("“”", answer)):
            yield index, "its answer is a question"
        if (words := len(text_words(answer))) > MOST_WORDS[language]:
            yield index, f"its answer has {words} words, more than {MOST_WORDS[language]}"
        if RULE_FILE.find("does_not_fit", f"{question}\n{answer}"):
            yield index, "its answer is none to such a question"


_AND_ASKS: Final = RULE_FILE.pattern("and_asks")
MOST_WORDS: Final = {"en": 50, "zh": 100}
"""Most words of an answer in a chain; for Chinese, pairs of characters. People's longest in VDAct has 52."""


def _same_fact(unit: QAChain | Dialogue, _: Language) -> Found:
    """Turns with an answer of earlier ones: the same is asked in other words, or the third time."""
    told: list[tuple[frozenset[str], frozenset[str]]] = []
    for index, turn in enumerate(unit.turns):
        if not _is_compared(turn) or turn.extra.get(ABOUT_KEY) == "topic" or is_labelled(turn, Task.MEMORY_RECALL):
            continue
        asks, says = topic_words(turn.question) - _PEOPLE, topic_words(" ".join(turn.references[:1])) - _PEOPLE
        again = [(asked, said) for asked, said in told if says and said and (says <= said or said <= says)]
        same = [said for asked, said in again if 2 * len(asks & asked) >= min(len(asks), len(asked)) > 0]
        if len(again) > 1 or any(min(len(says), len(said)) > 1 for said in same):
            yield index, "an earlier question has this answer already"
        told.append((asks, says))


_PEOPLE: Final = RULE_FILE.words["people"]


def _order(unit: QAChain | Dialogue, _: Language) -> Found:
    asked_s, begins_s = 0.0, None
    for index, turn in enumerate(unit.turns):
        if turn.asked_at_s is not None:
            if turn.asked_at_s < asked_s:
                yield index, f"it is asked at {turn.asked_at_s:g} s, before the question before it at {asked_s:g} s"
            asked_s = max(asked_s, turn.asked_at_s)
        if not turn.evidence:
            continue
        ends_s, first_s = max(e.end_s for e in turn.evidence), min(e.start_s for e in turn.evidence)
        # A dialogue may return to an earlier subject, and a chain to the origin of a thing.
        if isinstance(unit, QAChain) and begins_s is not None and ends_s <= begins_s:
            yield index, f"its evidence ends at {ends_s:g} s, before that of the first question at {begins_s:g} s"
        begins_s = first_s if begins_s is None else begins_s


def _sense(unit: QAChain | Dialogue, _: Language) -> Found:
    for index, found in unit_findings(unit, Film(), {}):
        yield index, found.text


def _duplicates(unit: QAChain | Dialogue, _: Language) -> Found:
    for index, turn in enumerate(unit.turns):
        # *How often?* may be asked about many things.
        if turn.extra.get(ABOUT_KEY) == "chat" or len(text_words(turn.question)) < 3:
            continue
        for before, earlier in enumerate(unit.turns[:index]):
            if normalise(turn.question) == normalise(earlier.question):
                yield index, f"it asks the same as question {before + 1}"
                break
            one, other = set(text_words(turn.question)), set(text_words(earlier.question))
            if one and len(one & other) / len(one | other) >= LEAST_OVERLAP:
                yield index, f"it asks nearly the same as question {before + 1}"
                break


def _given_away(unit: QAChain | Dialogue, _: Language) -> Found:
    for index, turn in enumerate(unit.turns):
        # A choice question names its answer, and a yes/no answer repeats its question.
        closed = re.search(r"\bor\b|还是", turn.question) or re.match(
            r"(yes|no)\b|是|不|没", " ".join(turn.references[:1]).casefold()
        )
        if turn.extra.get(ABOUT_KEY) == "topic" or closed:
            continue
        answer = topic_words(" ".join(turn.references[:1])) - _EMPTY
        if answer and len(answer & topic_words(turn.question)) >= LEAST_GIVEN_AWAY * len(answer):
            yield index, "the question already says what the answer says"


_EMPTY: Final = frozenset({"th", "thing", "someth", "one", "object", "way"})
"""Topics that add nothing to a question, as in *with the thing that she uses*."""


def _yes_no(unit: QAChain | Dialogue, _: Language) -> Found:
    for index, turn in enumerate(unit.turns):
        # A graph may ask one such question. Rounds off the video, and requests to sum up, take any form.
        if is_graph_written(turn) or turn.extra.get(ABOUT_KEY) in ("topic", "chat") or turn.options:
            continue
        if any(is_labelled(turn, task) for task in (Task.ANSWER_REFUSAL, Task.CONTENT_SUMMARY)):
            continue
        if is_yes_no(turn.question) and not _ASKS_OPENLY.search(turn.question):
            yield index, "the question can be answered with yes or no"


_ASKS_OPENLY: Final = RULE_FILE.pattern("asks_openly")


def _repeats_question(unit: QAChain | Dialogue, _: Language) -> Found:
    for index, turn in enumerate(unit.turns):
        for answer in turn.references[:1]:
            said, asked = normalise(answer), normalise(turn.question)
            if asked and said == asked:
                yield index, "the answer repeats the question"
            elif turn.extra.get(ABOUT_KEY) != "chat" and len(asked.split()) >= 4 and said.startswith(asked):
                yield index, "the answer begins with the question"


def _task(unit: QAChain | Dialogue, language: Language) -> Found:
    for index, turn in enumerate(unit.turns):
        answer = " ".join(turn.references[:1])
        if is_labelled(turn, Task.ANSWER_REFUSAL) and answer and not _DENIES.search(answer) and not declines(answer):
            yield index, f"the answer must say that the video does not show it, and says: {shorten(answer)}"
        if is_labelled(turn, Task.CONTENT_SUMMARY) and any(
            rule == "length" and "fewer" in reason
            for rule, reason in text_faults(answer, part="summary", language=language)
        ):
            yield index, f"the answer sums up nothing: {shorten(answer)}"


_DENIES: Final = RULE_FILE.pattern("denies")


RULES: Final[dict[str, Callable[[QAChain | Dialogue, Language], Found]]] = {
    "task": _task,
    "yes_no": _yes_no,
    "opening": _opening,
    "exchange": _exchange,
    "same_fact": _same_fact,
    "dependence": _dependence,
    "order": _order,
    "sense": _sense,
    "duplicate": _duplicates,
    "given_away": _given_away,
    "repeats_question": _repeats_question,
}
"""Rules for the turns of a unit, by the last part of their gate's name."""


def repeated(units: Sequence[QAChain | Dialogue]) -> Iterator[GateResult]:
    """Find turns and units that say again what an earlier unit says, within and across clips and videos.

    A turn recurs if its question and its answer do in the same video. A short question alone, such as *What does he do
    next?*, may be asked about any clip; but a chain is generic if more than `max_recurring` of its questions are asked
    in earlier chains of its video, and a unit if more than `max_recurring_elsewhere` are asked in one unit of another
    video. Single turns of other videos are not compared: with enough videos, true answers recur. Questions that a graph
    wrote are not compared either, since a graph has one form for each kind of question.

    Yields:
        A flag of the gate `lint.repeated` for each turn that recurs, and for each generic unit, with the place of the
        earlier one.
    """
    earlier = _EarlierTurns()
    for unit in units:
        for index, reason in earlier.recurring(unit, lambda seen: f"{seen.unit_id}, question {seen.number}"):
            yield Subject.of(unit).gate(f"{GATE}.repeated", GateOutcome.FLAGGED, reason, turn=index)
        earlier.add(unit)


def repeats_of(unit: QAChain | Dialogue, earlier: Sequence[QAChain | Dialogue]) -> list[tuple[int, str]]:
    """Find the turns of a draft that repeat earlier units of its video, as advice to its writer.

    Args:
        unit: A chain or a dialogue.
        earlier: Units with which it is compared, such as the other chains of the video.

    Returns:
        The index of each turn that repeats one, and a reason. If the draft as a whole is generic, these are all of its
        questions that were asked before.
    """
    past = _EarlierTurns()
    for one in earlier:
        past.add(one)
    found = list(past.recurring(unit, lambda seen: shorten(seen.question)))
    of_turns = [(index, reason) for index, reason in found if index is not None]
    if len(of_turns) == len(found):
        return of_turns
    asked = {index: seen[0] for index, turn in enumerate(unit.turns) if (seen := past.with_question(turn))}
    return [
        (index, dict(of_turns).get(index, f"an earlier part of the video was asked the same: {shorten(seen.question)}"))
        for index, seen in asked.items()
    ]


@dataclass(frozen=True, slots=True)
class _Seen:
    video_id: str
    unit_id: str
    number: int
    """Number of the turn, from 1."""
    question: str


class _EarlierTurns:
    """Turns of earlier units, found again by what they speak of and how they ask."""

    def __init__(self) -> None:
        # By hash, since the words of a million turns would fill the memory.
        self._questions: defaultdict[int, list[_Seen]] = defaultdict(list)
        self._turns: dict[int, _Seen] = {}

    def add(self, unit: QAChain | Dialogue) -> None:
        for index, turn in enumerate(unit.turns):
            if _is_compared(turn):
                seen = _Seen(unit.video_id, unit.id, index + 1, turn.question)
                self._turns.setdefault(hash((unit.video_id, _asks(turn), _says(turn))), seen)
                if len(places := self._questions[hash(_asks(turn))]) < _MOST_PLACES:
                    places.append(seen)

    def with_question(self, turn: Turn) -> list[_Seen]:
        """The earlier turns with the question of a turn, in order."""
        return self._questions.get(hash(_asks(turn)), []) if _is_compared(turn) else []

    def recurring(self, unit: QAChain | Dialogue, place: Callable[[_Seen], str]) -> Iterator[tuple[int | None, str]]:
        """The turns of a unit that recur, and last, without an index, the unit if it is generic."""
        asked: list[_Seen] = []
        elsewhere: Counter[str] = Counter()
        for index, turn in enumerate(unit.turns):
            again = self.with_question(turn)
            asked += [seen for seen in again if seen.video_id == unit.video_id][:1]
            elsewhere.update({seen.unit_id for seen in again if seen.video_id != unit.video_id})
            # "Yes." to "Did he sit?" says too little to be a repetition.
            if not _is_compared(turn) or len(topic_words(" ".join((turn.question, *turn.references[:1])))) < 3:
                continue
            if same := self._turns.get(hash((unit.video_id, _asks(turn), _says(turn)))):
                yield index, f"it asks and answers the same as {place(same)}"
        of = len(unit.turns)
        if isinstance(unit, QAChain) and len(asked) > MOST_RECURRING * of:
            yield None, f"{len(asked)} of its {of} questions are asked in earlier chains, first: {place(asked[0])}"
        elif elsewhere and (count := max(elsewhere.values())) > MOST_RECURRING_ELSEWHERE * of:
            one = min(unit_id for unit_id, times in elsewhere.items() if times == count)
            yield None, f"{count} of its {of} questions are asked in {one}, about another video"


_MOST_PLACES: Final = 50
"""Most places that are kept of one text, so that a question that every unit asks does not slow the search."""


def _is_compared(turn: Turn) -> bool:
    # People ask for a summary in the same words, and "Okay." is said often.
    return not (
        is_graph_written(turn) or turn.extra.get(ABOUT_KEY) == "chat" or is_labelled(turn, Task.CONTENT_SUMMARY)
    )


def _asks(turn: Turn) -> frozenset[str]:
    """What a question speaks of, with its question words; persons are alike."""
    words = {_PERSONS.get(word, word) for word in text_words(turn.question)}
    return topic_words(" ".join(sorted(words))) | {f"? {word}" for word in words & _QUESTION_WORDS}


def _says(turn: Turn) -> frozenset[str]:
    return topic_words(" ".join(_PERSONS.get(word, word) for word in text_words(" ".join(turn.references[:1]))))


_QUESTION_WORDS: Final = frozenset("who whom whose what which when where why how not no after before".split())
_PERSONS: Final = {"she": "he", "they": "he", "her": "his", "their": "his", "him": "his", "them": "his", "woman": "man"}


TASK_LABEL: Final = "mt_video_bench.task"
ABILITY_LABEL: Final = "mt_video_bench.ability"
"""Vocabulary of the abilities that are not among the six tasks."""
ABOUT_KEY: Final = "about"
"""Key in a turn's `extra` for the subject of the user's turn: `video`, `topic` or `chat`."""

MIN_SHIFTS: Final = 2
"""Fewest shifts to a subject outside the video and back."""
MIN_VIDEO_ROUNDS: Final = 2
"""Fewest rounds about the video alone in topic shifting."""

_NAMES_A_ROUND: Final = RULE_FILE.pattern("names_a_round")
_ENDS_WITH_A_QUESTION: Final = RULE_FILE.pattern("ends_with_a_question")


def check_structure(dialogue: Dialogue, task: Task) -> list[str]:
    """List violations of a task's structural rules, one sentence each; empty if there are none.

    Args:
        dialogue: Its turns carry their abilities as labels and, if subjects shift, `extra["about"]`.
        task: The task that it should test.
    """
    problems: list[str] = []
    rounds = len(dialogue.turns)
    if not ROUNDS[0] <= rounds <= ROUNDS[1]:
        problems.append(f"it has {rounds} rounds, not {ROUNDS[0]} to {ROUNDS[1]}")
    problems += [f"round {number} has no answer" for number, turn in _numbered(dialogue) if not turn.references]
    problems += _find_missing_rounds(dialogue.turns)
    return problems + _RULES[task](dialogue.turns, task)


def _find_missing_rounds(turns: Sequence[Turn]) -> list[str]:
    # A boxer has rounds, too; so only rounds that recall or sum up the conversation are read.
    recalling = (Task.MEMORY_RECALL, Task.CONTENT_SUMMARY)
    return [
        f"round {number} speaks of round {named}, and only {number - 1} rounds are before it"
        for number, turn in enumerate(turns[1:], start=2)
        if any(is_labelled(turn, task) for task in recalling)
        for named in rounds_named(turn)
        if named >= number or named == 0
    ]


def is_labelled(turn: Turn, task: Task) -> bool:
    """True if a turn carries the label of a task."""
    return task.value in turn.labels.get(TASK_LABEL, ())


def names_a_round(turn: Turn) -> bool:
    """True if a turn mentions a round by its number or position."""
    return any(_NAMES_A_ROUND.search(text) for text in (turn.question, *turn.references[:1]))


def rounds_named(turn: Turn) -> list[int]:
    """The numbers of the rounds that a turn speaks of as rounds of its dialogue, from 1, in order."""
    found = set()
    for text in (turn.question, *turn.references[:1]):
        for match in _ROUND_NUMBER.finditer(text):
            name = next(group for group in match.groups() if group).casefold()
            found.add(int(name) if name.isdecimal() else _NUMBERS[name])
    return sorted(found)


_NUMBERS: Final = {
    name: number
    for names in ("one two three four five six seven eight nine ten", "一 二 三 四 五 六 七 八 九 十",
                  "first second third fourth fifth sixth seventh eighth ninth tenth")
    for number, name in enumerate(names.split(), start=1)
}  # fmt: skip
_ROUND_NUMBER: Final = RULE_FILE.pattern("round_number")


def _numbered(dialogue: Dialogue) -> list[tuple[int, Turn]]:
    return list(enumerate(dialogue.turns, start=1))


def _after_the_first(turns: Sequence[Turn], task: Task) -> list[str]:
    found = any(is_labelled(turn, task) for turn in turns[1:])
    return [] if found else [f"no round after the first carries the ability {task.value}"]


def _recalled(turns: Sequence[Turn], task: Task) -> list[str]:
    if problems := _after_the_first(turns, task):
        return problems
    return [
        f"the answer of round {number} does not name the round that it goes back to"
        for number, turn in enumerate(turns[1:], start=2)
        if is_labelled(turn, task) and not any(_NAMES_A_ROUND.search(answer) for answer in turn.references[:1])
    ]


def _summed_up(turns: Sequence[Turn], task: Task) -> list[str]:
    numbers = [number for number, turn in enumerate(turns, start=1) if is_labelled(turn, task)]
    if numbers == [len(turns)] and turns:
        return []
    where = ", ".join(map(str, numbers)) or "none"
    return [f"exactly the last round must carry the ability {task.value}, not round {where}"]


def _shifted(turns: Sequence[Turn], _: Task) -> list[str]:
    about, problems = _abouts(turns)
    # Chat is neither the video nor a new subject, so it does not end a stretch of either.
    stays = [subject for subject, _ in groupby(subject for subject in about if subject in ("video", "topic"))]
    shifts = sum(stays[at - 1 : at + 2] == ["video", "topic", "video"] for at in range(1, len(stays)))
    if shifts < MIN_SHIFTS:
        problems.append(f"the subject leaves the video and comes back {shifts} times, not at least {MIN_SHIFTS}")
    if (pure := about.count("video")) < MIN_VIDEO_ROUNDS:
        problems.append(f"{pure} rounds are about nothing but the video, not at least {MIN_VIDEO_ROUNDS}")
    return problems


def _won_back(turns: Sequence[Turn], _: Task) -> list[str]:
    about, problems = _abouts(turns)
    remarks = [turn for turn, subject in zip(turns, about, strict=True) if subject == "chat"]
    if not remarks:
        problems.append("in no round does the user make a neutral or uninterested remark")
    elif not any(_ENDS_WITH_A_QUESTION.search(answer) for turn in remarks for answer in turn.references[:1]):
        problems.append("no neutral or uninterested remark is answered with a question at the end")
    return problems


def _abouts(turns: Sequence[Turn]) -> tuple[list[object], list[str]]:
    about = [turn.extra.get(ABOUT_KEY) for turn in turns]
    return about, [
        f"round {number} does not say whether it is about the video, another topic or chat"
        for number, subject in enumerate(about, start=1)
        if subject not in ("video", "topic", "chat")
    ]


_RULES: Final[dict[Task, Callable[[Sequence[Turn], Task], list[str]]]] = {
    Task.OBJECT_REFERENCE: _after_the_first,
    Task.MEMORY_RECALL: _recalled,
    Task.CONTENT_SUMMARY: _summed_up,
    Task.ANSWER_REFUSAL: _after_the_first,
    Task.TOPIC_SHIFTING: _shifted,
    Task.PROACTIVE_INTERACTION: _won_back,
}
