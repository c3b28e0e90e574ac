"""Words of English and Chinese texts for the checks: normalised text, topic words, language.

English is split at word boundaries. Chinese is split into pairs of neighbouring characters, since it has no spaces and
a segmenter would be a large dependency for a small use.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

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
