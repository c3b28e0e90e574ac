"""Faults of a single text that a model wrote: a question, an answer, a caption, an item of a checklist.

A rule reads the text alone, so it applies to everything that a writer gives. Rules read words and characters, not
meaning: whether a text is true is for a judge. Patterns, their words and their examples are in `text_rules.toml`.
Bounds are chosen so that careful people's texts pass. For example, of the 9,048 texts of VDAct's human dialogues (test
split) grave rules flag 1 and all rules 55.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from reeltalk.errors import shorten
from reeltalk.language.rules import read_rules
from reeltalk.schema.long_texts import shortened
from reeltalk.schema.texts import code_point
from reeltalk_build.construct.writers import Language

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

Part = Literal[
    "question", "remark", "answer", "refusal", "summary", "caption", "object caption", "checklist item"
]  # fmt: skip
"""What a text is. `remark`: what a user says without asking. `refusal`: an answer that must decline. `summary`: an
answer that sums up a conversation."""
_USER_PARTS: Final = ("question", "remark")
TEXT_RULE_FILE: Final = read_rules(Path(__file__).with_suffix(".toml"))

_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN_WORD: Final = re.compile(r"[a-zA-Z\u00c0-\u024f]+(?:['’][a-z]+)?")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][a-z]+)?")


_QUOTED: Final = re.compile(
    r"\"[^\"]*\"|“[^“”]*”|「[^「」]*」|『[^『』]*』|《[^《》]*》|‘[^‘’]*’|(?<!\w)'[^'\n]{1,200}'(?!\w)"
)


MOST_CHINESE_IN_ENGLISH: Final = 0.3
"""Largest share of Chinese in English text. A Chinese character counts as half a word."""
LEAST_CHINESE_IN_CHINESE: Final = 0.3
"""Least share of Chinese in Chinese text; names may be in Latin letters."""
MOST_OTHER_SCRIPT: Final = 0.3
"""Largest share of letters that are neither Latin nor Chinese."""
FEWEST_WORDS_OF_A_LANGUAGE: Final = 3
"""Fewest words of which a language in Latin letters is recognised."""
LEAST_PROBABILITY: Final = 0.7
"""Least probability at which a language is taken for recognised."""
LENGTHS: Final[Mapping[Part, Mapping[Language, tuple[int, int]]]] = {
    "question": {"en": (2, 40), "zh": (4, 70)},
    # "Okay." is a complete turn of a user who is not interested.
    "remark": {"en": (0, 40), "zh": (0, 70)},
    "answer": {"en": (0, 120), "zh": (0, 240)},
    "refusal": {"en": (0, 120), "zh": (0, 240)},
    "summary": {"en": (8, 120), "zh": (12, 240)},
    "caption": {"en": (3, 200), "zh": (4, 400)},
    "object caption": {"en": (2, 200), "zh": (4, 400)},
    "checklist item": {"en": (2, 200), "zh": (4, 400)},
}
"""Least and largest length in English words, and in Chinese characters."""


Problems = Iterator[str]
"""What is wrong with a text, to be read after the words *the question* or *the caption*."""


def _characters(text: str, _: Part, __: Language) -> Problems:
    for at, character in enumerate(text):
        if character.isascii():
            if (character < " " and character not in "\t\n\r") or character == "\x7f":
                yield f"holds the control character {code_point(character)}"
                return
            continue
        kind = unicodedata.category(character)
        if character in _JOINERS:
            # Joiners make one sign of two emoji or of two letters; between ASCII they are only invisible.
            if at and not text[at - 1].isascii():
                continue
        elif kind not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") and character not in _BLANK:
            continue
        elif "\U000e0020" <= character <= "\U000e007f" and "\U0001f3f4" in text[:at]:
            continue
        yield f"holds {code_point(character)}, which cannot be seen or does not belong in a text"
        return


_JOINERS: Final = "\u200c\u200d\ufe0e\ufe0f"
_BLANK: Final = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\ufffd"
"""Characters without ink that are no white space, and the marks of a character or an object that was lost."""


def _found(rule: str, text: str, part: Part, _: Language) -> Problems:
    # What somebody says and what a sign reads may be anything.
    plain = text if rule in TEXT_RULE_FILE.raw["quotes_too"] else _QUOTED.sub("“”", text)
    return TEXT_RULE_FILE.faults(rule, plain, part)


def declines(text: str) -> bool:
    """True if a text says that something cannot be known, seen or answered."""
    return any(TEXT_RULE_FILE.pattern(name).search(text) for name in ("declines", "excuse"))


def _foreign(text: str, _: Part, language: Language) -> Problems:
    # A sign is read out in its own language, and a name may be in any.
    plain = _QUOTED.sub(" ", text)
    letters = [character for character in plain if character.isalpha()]
    if not letters:
        return
    scripts = Counter(_script(character) for character in letters)
    script, count = max(
        ((name, n) for name, n in scripts.items() if name not in ("LATIN", "CJK")),
        key=lambda pair: pair[1],
        default=("", 0),
    )
    # Japanese mixes its own letters with Chinese characters.
    most = MOST_OTHER_SCRIPT if script not in ("HIRAGANA", "KATAKANA") else MOST_OTHER_SCRIPT / 2
    if count > most * len(letters) and count > 1:
        yield f"is written in {script.capitalize()} letters, not in {_NAMES[language]}"
        return
    han, words = scripts["CJK"], _LATIN_WORD.findall(plain)
    chinese = han / (han + 2 * len(words)) if han or words else 0.0
    if language == "zh":
        # "OK", "42" and "iPhone" are answers in any language.
        if chinese < LEAST_CHINESE_IN_CHINESE and len(words) >= 3:
            yield "is not in Chinese"
    elif chinese > MOST_CHINESE_IN_ENGLISH:
        yield "is in Chinese, not in English"
    elif (found := _recognised(words)) is not None:
        yield f"is in another language ({found}), not in English"


_NAMES: Final = {"en": "English", "zh": "Chinese"}


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    return unicodedata.name(character, "UNKNOWN").split()[0].split("-")[0]


_LANGUAGES: Final = (
    "ca cs cy da de en es et eu fi fr ga gl hr hu id is it lt lv ms nb nl no pl pt ro sk sl sq sv sw tl tr vi"
).split()
"""Languages in Latin letters that are told apart; a shorter list would give a wrong name, not a wrong verdict."""


def _recognised(words: list[str]) -> str | None:
    """The code of the language in Latin letters that a text is in, if it is surely not English."""
    if len(words) < FEWEST_WORDS_OF_A_LANGUAGE:
        return None
    english = sum(word.casefold().replace("’", "'") in TEXT_RULE_FILE.words["english"] for word in words)
    if english > _MOST_ENGLISH * len(words):
        return None
    # Names say nothing about the language around them.
    if sum(word[0].islower() for word in words[1:]) < 2:
        return None
    code, probability = _identifier().classify(" ".join(words))
    return code if code != "en" and probability >= LEAST_PROBABILITY else None


_MOST_ENGLISH: Final = 0.15


@lru_cache(maxsize=1)
def _identifier() -> "LanguageIdentifier":
    # Reading the model takes half a second, and most texts need no model.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found.set_languages([code for code in _LANGUAGES if code in found.labels])
    return found


_LONG, _LONG_END = 12, 6
_PAIRS: Final = (("(", ")"), ("（", "）"), ("“", "”"), ("「", "」"), ("《", "》"), ("[", "]"))


def _cut_off(text: str, part: Part, _: Language) -> Problems:
    told, find = text.strip(), TEXT_RULE_FILE.find
    ends = find("hangs", told) or find("must_follow", told)
    if ends is None and part not in _USER_PARTS and _is_long(told, _LONG_END):
        ends = find("would_follow", told)
    if ends is not None:
        yield f"breaks off: it ends with {shorten(ends[0].strip())}"
        return
    for opens, closes in _PAIRS:
        if told.count(opens) > told.count(closes):
            yield f"breaks off: a {opens} is not closed"
            return
    if not find("sentence_end", told) and find("inner_end", told) and part not in _USER_PARTS:
        last = TEXT_RULE_FILE.pattern("inner_end").split(told)[-1]
        if _is_long(told, _LONG):
            yield f"breaks off in its last sentence: {shorten(last)}"


def _is_long(text: str, least: int) -> bool:
    return len(_LATIN_WORD.findall(text)) >= least or len(_HAN.findall(text)) >= least


def _looping(text: str, _: Part, __: Language) -> Problems:
    if (short := shortened(text)) != text:
        yield f"says the same over and over: {shorten(short)}"
        return
    may_recur = TEXT_RULE_FILE.words["may_recur"]
    words = [word.casefold() for word in _WORD.findall(_HAN.sub(" ", text))]
    if (match := TEXT_RULE_FILE.find("same_word", text)) and (match[1] or match[2]).casefold() not in may_recur:
        yield f"says the same over and over: {shorten(match[0])}"
        return
    for size in range(2, min(_LONGEST_LOOP, len(words) // 3) + 1):
        for at in range(len(words) - 3 * size + 1):
            phrase = words[at : at + size]
            if phrase == words[at + size : at + 2 * size] == words[at + 2 * size : at + 3 * size]:
                if set(phrase) <= may_recur:
                    continue
                yield f"says the same over and over: {shorten(' '.join(phrase))}"
                return
    for size in range(_LONGEST_LOOP, 3, -1):
        runs = Counter(tuple(words[at : at + size]) for at in range(len(words) - size + 1))
        if often := next((run for run, count in runs.items() if count > 2 and 2 * count * size > len(words)), None):
            yield f"says the same over and over: {shorten(' '.join(often))}"
            return
    if match := TEXT_RULE_FILE.find("loop_zh", text):
        yield f"says the same over and over: {shorten(match[0])}"
        return
    sentences = [told.strip().casefold() for told in re.split(r"[.!?。！？]+", text)]
    for one, other in pairwise(sentences):
        if one == other and len(_WORD.findall(one)) + len(_HAN.findall(one)) >= _LONG_SENTENCE:
            yield f"says one sentence twice: {shorten(one)}"
            return


_LONGEST_LOOP: Final = 12
_LONG_SENTENCE: Final = 4
"""Words of a sentence that does not stand twice in a row by chance."""


def _echoes(text: str, part: Part, _: Language) -> Problems:
    if said := list(TEXT_RULE_FILE.faults("prompt", text, part)):
        yield from said
        return
    english, chinese = _instructions()
    words = tuple(word.casefold() for word in _WORD.findall(text))
    for at in range(len(words) - _SHINGLE_WORDS + 1):
        if (run := words[at : at + _SHINGLE_WORDS]) in english:
            yield f"takes over words of its instructions: {shorten(' '.join(run))}"
            return
    plain = "".join(_HAN.findall(text))
    for at in range(len(plain) - _SHINGLE_CHARACTERS + 1):
        if (told := plain[at : at + _SHINGLE_CHARACTERS]) in chinese:
            yield f"takes over words of its instructions: {told}"
            return


_SHINGLE_WORDS: Final = 8
_SHINGLE_CHARACTERS: Final = 14


@lru_cache(maxsize=1)
def _instructions() -> tuple[frozenset[tuple[str, ...]], frozenset[str]]:
    """Runs of words, and of Chinese characters, of all prompts without their examples."""
    english: set[tuple[str, ...]] = set()
    chinese: set[str] = set()
    for path in sorted((Path(__file__).parent / "prompts").glob("*/*.md")):
        for line in path.read_text(encoding="utf-8").splitlines():
            # What an example quotes may be said; a draft that copies the example is refused elsewhere.
            plain = _QUOTED.sub(" \x00 ", line)
            for run in plain.split("\x00"):
                words = tuple(word.casefold() for word in _WORD.findall(run))
                english.update(words[at : at + _SHINGLE_WORDS] for at in range(len(words) - _SHINGLE_WORDS + 1))
                told = "".join(_HAN.findall(run))
                chinese.update(told[at : at + _SHINGLE_CHARACTERS] for at in range(len(told) - _SHINGLE_CHARACTERS + 1))
    return frozenset(english), frozenset(chinese)


def _length(text: str, part: Part, language: Language) -> Problems:
    name = "characters" if language == "zh" else "words"
    size = sum(map(str.isalnum, text)) if language == "zh" else len(_WORD.findall(text))
    low, high = LENGTHS[part][language]
    if size < low:
        yield f"has {size} {name}, fewer than {low}"
    elif size > high:
        yield f"has {size} {name}, more than {high}"


_CODED: Final[Mapping[str, Callable[[str, Part, Language], Problems]]] = {
    "characters": _characters,
    "prompt": _echoes,
    "language": _foreign,
    "looping": _looping,
    "cut_off": _cut_off,
    "length": _length,
}
GRAVE_TEXT_RULES: Final = tuple(TEXT_RULE_FILE.raw["grave"])
TEXT_RULES: Final[dict[str, Callable[[str, Part, Language], Problems]]] = {
    name: _CODED.get(name, partial(_found, name)) for name in (*GRAVE_TEXT_RULES, *TEXT_RULE_FILE.raw["others"])
}
"""Rules for single texts by name, grave ones first. Each gives what is wrong with a text."""
