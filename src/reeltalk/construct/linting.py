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
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.construct.replies import ROUNDS
from reeltalk.construct.writers import Language
from reeltalk.errors import shorten
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.entrances import REFERENCE_WORDS, REFERENCE_WORDS_ZH
from reeltalk.schema.gates import GateOutcome, GateResult, GateUnit
from reeltalk.schema.labels import Task
from reeltalk.schema.settings import Count, Share

_WORD: Final = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN_RUN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_PAIR: Final = 2

FUNCTION_WORDS: Final = frozenset(
    "a an the and or but if of in on at to from by with for as into onto up down out off over under about is are was "
    "were be been being am do does did done doing has have had having can could will would shall should may might must "
    "not no nor so than too very just there here then that this these those it its he him his she her hers they them "
    "their theirs we us our you your i me my what which who whom whose when where why how yes all any some each both "
    "more most other another such same own only also while during before after again s t video scene".split()
)
"""English words that do not show the topic of a sentence."""
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


def han_share(text: str) -> float:
    """Share of Chinese characters among all letters, 0 to 1; 0 without letters."""
    letters = [character for character in text if character.isalpha()]
    return sum(bool(_HAN.match(character)) for character in letters) / len(letters) if letters else 0.0


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

_NUMERAL_ZH: Final = "[0-9０-９一二三四五六七八九十百零两]+"
FORBIDDEN: Final = {
    "a point in time": re.compile(
        r"\b\d{1,2}:\d{2}(:\d{2})?\b"
        # "12 seconds in" is a point in time, "12 minutes in the oven" is none.
        r"|\b\d+(\.\d+)?[ -]?(s|secs?|seconds?|mins?|minutes?)"
        r"\s+(in\b(?!\s+(an?|the|his|her|its|their|this|that)\b)|(in|into)\s+the\s+(video|clip|scene|film)|mark\b)"
        r"|\bat\s+(the\s+)?\d+(\.\d+)?(st|nd|rd|th)?[ -]?(s|secs?|seconds?|mins?|minutes?)\b"
        r"|\b(second|minute)\s+\d+\b|\btime-?stamps?\b"
        rf"|第\s*{_NUMERAL_ZH}\s*(秒|分钟|分)|{_NUMERAL_ZH}\s*(秒|分钟)\s*(时|处|的时候|左右)|时间戳",
        re.IGNORECASE,
    ),
    "a frame": re.compile(
        # A frame that is a thing in the video may be talked about.
        r"(?<!door )(?<!window )(?<!picture )(?<!photo )(?<!bed )(?<!bike )(?<!bicycle )(?<!wooden )(?<!metal )"
        r"\b(key-?)?frames?\b|关键帧|帧",
        re.IGNORECASE,
    ),
    "an image": re.compile(
        r"\bimages?\b|\bscreen-?shots?\b"
        r"|\b(picture|photo|photograph|still)s?\s+(shows?|depicts?|displays?|above|below)\b"
        r"|\b(in|from|of)\s+the\s+(first\s+|last\s+|next\s+)?(picture|photo|photograph)s?\b(?!\s+(frame|album))"
        r"|图片|图像|截图|照片[中里]|[幅张]画面",
        re.IGNORECASE,
    ),
}


class LintSettings(BaseModel):
    """Bounds of the lint rules."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    min_question_words: Count = 2
    """Shortest question in English words."""
    max_question_words: Count = 40
    """Longest question in English words."""
    max_answer_words: Count = 120
    """Longest answer in English words; a summary of a dialogue is the longest there is."""
    min_question_characters: Count = 4
    """Shortest question in Chinese characters."""
    max_question_characters: Count = 70
    """Longest question in Chinese characters."""
    max_answer_characters: Count = 240
    """Longest answer in Chinese characters."""
    min_overlap: Share = 0.8
    """Questions whose words overlap by this share of both together are near-duplicates."""
    min_given_away: Share = 0.9
    """An answer of which the question already holds this share of the content words is given away."""
    max_chinese_in_english: Share = 0.3
    """Largest share of Chinese characters among the letters of English text."""
    min_chinese_in_chinese: Share = 0.3
    """Least share of Chinese characters among the letters of Chinese text; names may be in Latin letters."""


DEFAULT_LINT = LintSettings()


def lint(
    unit: QAChain | Dialogue, *, language: Language = "en", settings: LintSettings = DEFAULT_LINT
) -> list[GateResult]:
    """Find faults with all rules.

    Args:
        unit: A chain or a dialogue.
        language: The language that it should be written in.
        settings: Bounds of the rules.

    Returns:
        A flag of the gate `lint.RULE` for each fault.
    """
    kind: GateUnit = "chain" if isinstance(unit, QAChain) else "dialogue"
    return [
        GateResult(
            gate=f"{GATE}.{name}",
            unit=kind,
            unit_id=unit.id,
            turn_index=index,
            outcome=GateOutcome.FLAGGED,
            reason=reason,
        )
        for name, rule in RULES.items()
        for index, reason in rule(unit, language, settings)
    ]


def _dependence(unit: QAChain | Dialogue, language: Language, _: LintSettings) -> Found:
    # The rounds of a dialogue may change the subject, and some tasks demand it.
    if isinstance(unit, Dialogue):
        return
    pattern = REFERENCE_WORDS_ZH if language == "zh" else REFERENCE_WORDS
    for index in range(1, len(unit.turns)):
        question, before = unit.turns[index].question, unit.turns[index - 1]
        shared = topic_words(question) & topic_words(" ".join(before.references[:1]))
        if not shared and not pattern.search(question):
            yield index, "it refers to nothing in the answer before: no pronoun and no shared word"


def _forbidden_wording(unit: QAChain | Dialogue, _: Language, __: LintSettings) -> Found:
    for index, turn in enumerate(unit.turns):
        if turn.extra.get("about") == "topic":
            continue
        for part, text in _parts(turn):
            for what, pattern in FORBIDDEN.items():
                if match := pattern.search(text):
                    yield index, f"the {part} speaks of {what}: {shorten(match[0])}"


def _order(unit: QAChain | Dialogue, _: Language, __: LintSettings) -> Found:
    asked_s, begins_s = 0.0, None
    for index, turn in enumerate(unit.turns):
        if turn.asked_at_s is not None:
            if turn.asked_at_s < asked_s:
                yield index, f"it is asked at {turn.asked_at_s:g} s, before the question before it at {asked_s:g} s"
            asked_s = max(asked_s, turn.asked_at_s)
        if not turn.evidence:
            continue
        ends_s, first_s = max(e.end_s for e in turn.evidence), min(e.start_s for e in turn.evidence)
        if turn.asked_at_s is not None and ends_s > turn.asked_at_s:
            yield index, f"its evidence ends at {ends_s:g} s, after the question at {turn.asked_at_s:g} s"
        # A dialogue may return to an earlier subject, and a chain to the origin of a thing.
        if isinstance(unit, QAChain) and begins_s is not None and ends_s <= begins_s:
            yield index, f"its evidence ends at {ends_s:g} s, before that of the first question at {begins_s:g} s"
        begins_s = first_s if begins_s is None else begins_s


def _duplicates(unit: QAChain | Dialogue, _: Language, settings: LintSettings) -> Found:
    for index, turn in enumerate(unit.turns):
        if turn.extra.get("about") == "chat":
            continue
        for before, earlier in enumerate(unit.turns[:index]):
            if normalise(turn.question) == normalise(earlier.question):
                yield index, f"it asks the same as question {before + 1}"
                break
            one, other = set(text_words(turn.question)), set(text_words(earlier.question))
            if one and len(one & other) / len(one | other) >= settings.min_overlap:
                yield index, f"it asks nearly the same as question {before + 1}"
                break


def _given_away(unit: QAChain | Dialogue, _: Language, settings: LintSettings) -> Found:
    for index, turn in enumerate(unit.turns):
        # A choice question names its answer, and a yes/no answer repeats its question.
        if turn.extra.get("about") == "topic" or _is_closed(turn):
            continue
        answer = topic_words(" ".join(turn.references[:1]))
        if answer and len(answer & topic_words(turn.question)) / len(answer) >= settings.min_given_away:
            yield index, "the question already says what the answer says"


def _is_closed(turn: Turn) -> bool:
    answer = " ".join(turn.references[:1]).casefold()
    return bool(re.search(r"\bor\b|还是", turn.question)) or bool(re.match(r"(yes|no)\b|是|不|没", answer))


def _length(unit: QAChain | Dialogue, language: Language, settings: LintSettings) -> Found:
    if language == "zh":
        low, high, longest = (
            settings.min_question_characters,
            settings.max_question_characters,
            settings.max_answer_characters,
        )
    else:
        low, high, longest = settings.min_question_words, settings.max_question_words, settings.max_answer_words
    measure, name = (_characters, "characters") if language == "zh" else (_words, "words")
    for index, turn in enumerate(unit.turns):
        size = measure(turn.question)
        # "Okay." is a complete turn of a user who is not interested.
        if size < low and turn.extra.get("about") != "chat":
            yield index, f"the question has {size} {name}, fewer than {low}"
        if size > high:
            yield index, f"the question has {size} {name}, more than {high}"
        for answer in turn.references[:1]:
            if measure(answer) > longest:
                yield index, f"the answer has {measure(answer)} {name}, more than {longest}"


def _language(unit: QAChain | Dialogue, language: Language, settings: LintSettings) -> Found:
    for index, turn in enumerate(unit.turns):
        for part, text in _parts(turn):
            if not any(character.isalpha() for character in text):
                continue
            share = han_share(text)
            if language == "en" and share > settings.max_chinese_in_english:
                yield index, f"the {part} is in Chinese, not in English"
            elif language == "zh" and share < settings.min_chinese_in_chinese:
                yield index, f"the {part} is not in Chinese"


def _parts(turn: Turn) -> list[tuple[str, str]]:
    return [("question", turn.question), *(("answer", text) for text in turn.references[:1])]


def _words(text: str) -> int:
    return len(normalise(text).split())


def _characters(text: str) -> int:
    return len(normalise(text).replace(" ", ""))


RULES: Final[dict[str, Callable[[QAChain | Dialogue, Language, LintSettings], Found]]] = {
    "dependence": _dependence,
    "wording": _forbidden_wording,
    "order": _order,
    "duplicate": _duplicates,
    "given_away": _given_away,
    "length": _length,
    "language": _language,
}
"""Rules by the last part of their gate's name."""


TASK_LABEL: Final = "mt_video_bench.task"
ABILITY_LABEL: Final = "mt_video_bench.ability"
"""Vocabulary of the abilities that are not among the six tasks."""
ABOUT: Final = "about"
"""Key in a turn's `extra` for the subject of the user's turn: `video`, `topic` or `chat`."""

MIN_SHIFTS: Final = 2
"""Fewest shifts to a subject outside the video and back."""
MIN_VIDEO_ROUNDS: Final = 2
"""Fewest rounds about the video alone in topic shifting."""

_NAMES_A_ROUND: Final = re.compile(
    r"\b(round|turn|question)\s+(no\.?\s*|number\s+)?(\d+|one|two|three|four|five|six|seven|eight)\b"
    r"|\b(first|second|third|fourth|fifth|sixth|seventh|previous|last|opening|\d+(st|nd|rd|th))\s+(round|turn|question)\b"
    r"|第\s*[0-9一二三四五六七八]+\s*(轮|个问题|次)|上一轮|首轮|第一次",
    re.IGNORECASE,
)
_ENDS_WITH_A_QUESTION: Final = re.compile(r"[?？][\s\"'”’」』)）]*$")


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
    return problems + _RULES[task](dialogue.turns, task)


def is_labelled(turn: Turn, task: Task) -> bool:
    """True if a turn carries the label of a task."""
    return task.value in turn.labels.get(TASK_LABEL, ())


def names_a_round(turn: Turn) -> bool:
    """True if a turn mentions a round by its number or position."""
    return any(_NAMES_A_ROUND.search(text) for text in (turn.question, *turn.references[:1]))


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
    about = [turn.extra.get(ABOUT) for turn in turns]
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
