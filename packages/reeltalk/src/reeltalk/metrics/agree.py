"""Lexical agreement: whether two short answers say the same, judged offline by their words.

A yes or no at the beginning decides alone. Otherwise numbers, negation and place relations must not contradict, and the
words that an answer adds to its question must match. This is a rough measure for gates, not a score to publish: it
knows no synonyms and no facts.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal

from reeltalk.metrics.tokenise import tokenise_coco

SIGNATURE: Final = "agree:v1"
"""Version of these rules and thresholds in signatures."""
RECALL: Final = 0.6
"""Share of the reference's new words that an answer must have: two of three, but not one of two."""
PRECISION: Final = 0.4
"""Share of the answer's new words that the reference must have; an answer may say somewhat more."""

Polarity = Literal["yes", "no"]

FUNCTION_WORDS: Final = frozenset(
    """a an the this that these those he she it they them him her his hers its their theirs we us our you your i me
    my person man woman one's someone somebody who whom whose which what where when why how is are was were be
    been being am 's 're 'm 'd 'll 've do does did done doing so has have had having will would shall should can
    could may might must and or but if as of to for from with by at than then there here first next just before
    after that's also only different about approximately roughly appear spend visit around apart while during
    into onto upon up down out again later finally end beginning start video clip see seen show shown happen
    happens occur get go goes thing things please tell yes no not n't never any some each everyone every both all very
    really actually too now ever else other because want wants order earlier come comes somewhere afterwards
    anything same more in on inside off under behind beside near""".split()
)
"""Words without a fact; place relations and negation are compared separately."""
_LIGHT_VERBS: Final = frozenset("tak pick grab get put leav plac us use find".split())
"""Stemmed verbs that an answer may change or leave out if it names something else."""
_VERBS: Final = {"pick": "tak", "find": "tak", "grab": "tak", "get": "tak", "leav": "put", "plac": "put", "set": "put"}
_RELATIONS: Final = {
    "in": "in", "inside": "in", "into": "in", "within": "in",
    "on": "on", "onto": "on", "upon": "on", "atop": "on",
    "off": "off", "under": "under", "below": "under", "beneath": "under", "underneath": "under",
    "behind": "behind", "beside": "beside", "near": "beside", "above": "above", "over": "above",
}  # fmt: skip
_NEGATIONS: Final = frozenset("not n't never no none nothing nobody nowhere neither nor cannot without".split())
_YES: Final = frozenset("yes yeah yep yup indeed correct".split())
_NO: Final = frozenset("no nope nah".split())
NUMBERS: Final = {
    word: str(n)
    for n, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
_TIMES: Final = {"once": "1", "twice": "2", "thrice": "3"}
_IRREGULAR: Final = {
    "took": "take", "taken": "take", "went": "go", "gone": "go", "sat": "sit", "lay": "lie", "lying": "lie",
    "stood": "stand", "drank": "drink", "drunk": "drink", "ate": "eat", "eaten": "eat", "wrote": "write",
    "written": "write", "held": "hold", "left": "leave", "leaves": "leave", "knives": "knife", "shelves": "shelf",
    "found": "find", "began": "begin", "came": "come", "people": "person", "children": "child", "women": "woman",
    "men": "man", "got": "get", "made": "make", "gave": "give", "given": "give", "slept": "sleep", "kept": "keep",
    "using": "use", "used": "use",
}  # fmt: skip
CACHED_TEXTS: Final = 8192
"""Texts whose words are kept: those of some dozens of videos, since the same texts come again within a video."""
_COUNT: Final = re.compile(
    r"\bhow (?:many|much|often|long)\b|\bnumber of\b|\bhow many times\b|\bcount|\bseconds\b|\blength\b|\btotal\b",
    re.IGNORECASE,
)
_AUXILIARY: Final = frozenset(
    "is are was were does do did has have had can could will would should may might must am".split()
)
_ASKS_MORE: Final = re.compile(
    r"\b(?:can|could|would|will) you (?:please )?(?:tell|describe|say|name)\b"
    r"|\band (?:what|which|how|where|when|who|why)\b",
    re.IGNORECASE,
)
"""*Can you tell me its colour?* and *Is there more than one, and how many?* are not answered by yes or no."""
_PARTS: Final = re.compile(r"n't|'\w+|\w+")
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN_FUNCTION: Final = frozenset("的了在是他她它我你们吗呢吧啊这那有个之和与及也就都着把被从到对中")
_NO_CONTENT: Final = FUNCTION_WORDS | _HAN_FUNCTION | frozenset(_RELATIONS)
_HAN_NO: Final = re.compile(r"^\s*(?:不|没|否|非)")
_HAN_YES: Final = re.compile(r"^\s*(?:是|对|有的|会的|当然)(?:[的,，。!！]|$)")


@lru_cache(maxsize=CACHED_TEXTS)
def stem(word: str) -> str:
    """A word without its English inflection, such as `put` for *putting* and `tak` for *takes*.

    The result need not be a word, only the same for all forms of one word.
    """
    word = _IRREGULAR.get(word, word)
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zes")) else word[:-1]
    for suffix in ("ing", "ed"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and re.search("[aeiouy]", word[: -len(suffix)]):
            word = word[: -len(suffix)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    # "notes" must not become a denial.
    return word[:-1] if len(word) > 3 and word.endswith("e") and word[:-1] not in FUNCTION_WORDS else word


@lru_cache(maxsize=CACHED_TEXTS)
def words_of(text: str) -> tuple[str, ...]:
    """All words of a text in order, stemmed, with numbers as digits; of Chinese, single characters."""
    if _HAN.search(text):
        return tuple(re.findall(r"[\u3400-\u4dbf\u4e00-\u9fff]|[A-Za-z]+|\d+", text.lower()))
    found: list[str] = []
    for token in tokenise_coco(text):
        for part in _PARTS.findall(token):
            if part in _TIMES:
                found += [_TIMES[part], stem("time")]
            elif part in NUMBERS:
                found.append(NUMBERS[part])
            elif part in FUNCTION_WORDS or part in _RELATIONS:
                found.append(part)
            else:
                found.append(stem(part))
    return tuple(found)


@lru_cache(maxsize=CACHED_TEXTS)
def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that carry facts, numbers included: stemmed, in order, each once."""
    return tuple(dict.fromkeys(word for word in words_of(text) if word not in _NO_CONTENT))


@lru_cache(maxsize=CACHED_TEXTS)
def polarity(answer: str) -> Polarity | None:
    """`yes` or `no` if an answer begins so, else None."""
    if _HAN.search(answer):
        return "no" if _HAN_NO.match(answer) else "yes" if _HAN_YES.match(answer) else None
    tokens = tokenise_coco(answer[:80])
    head = tokens[0] if tokens else ""
    # "No toothbrush is on the shelf." and "None." are no answers to a yes-or-no question.
    if head in _NO:
        return "no" if len(tokens) == 1 or re.match(r"\s*\w+\s*[,.;:!–—-]", answer) else None
    return "yes" if head in _YES else None


@lru_cache(maxsize=CACHED_TEXTS)
def is_yes_no(question: str) -> bool:
    """True if a question can be answered by yes or no: it has an auxiliary first, or after a comma, and no *or*."""
    if _HAN.search(question):
        return "吗" in question or bool(re.search(r"是不是|有没有|(\w)不\1", question))
    for part in re.split(r"[,.:;?]\s*", question.lower()):
        tokens = part.split()
        while tokens and tokens[0] in ("and", "so", "then", "but"):
            tokens = tokens[1:]
        if tokens and tokens[0] in _AUXILIARY:
            return " or " not in question.lower() and not _ASKS_MORE.search(question)
    return False


def is_negated(text: str) -> bool:
    """True if a text contains a negation."""
    if _HAN.search(text):
        return bool(re.search("不|没", text))
    return any(word in _NEGATIONS for word in words_of(text))


def _numbers(text: str) -> frozenset[str]:
    return frozenset(word for word in words_of(text) if word.isdigit())


def place_relations(text: str) -> frozenset[str]:
    """The relations of place that a text states, such as `on`."""
    words = words_of(text)
    return frozenset(_RELATIONS[word] for word in words if word in _RELATIONS)


@lru_cache(maxsize=CACHED_TEXTS)
def added_words(answer: str, question: str = "") -> tuple[str, ...]:
    """The words that an answer adds to its question, in a form that equivalent answers share.

    `yes` or `no` alone if it begins so, the numbers if the question asks for one, otherwise its new content words in
    alphabetical order. Place relations, as *on*, are used only if there are no other words.
    """
    head = polarity(answer)
    if head is not None:
        return (head,)
    numbers = _numbers(answer)
    if numbers and _COUNT.search(question):
        return tuple(sorted(numbers))
    asked = frozenset(content_words(question))
    words = content_words(answer)
    new = [word for word in words if word not in asked]
    return tuple(sorted(new or words or place_relations(answer) or set(words_of(answer))))


def agrees(answer: str, references: Sequence[str], question: str | None = None) -> bool:
    """True if an answer says the same as one of the references."""
    if not answer.strip():
        return False
    return any(
        _same(answer, text, question or "")
        for reference in references
        for text in dict.fromkeys((reference, first_sentence(reference)))
    )


def first_sentence(text: str) -> str:
    """The first sentence of a text that has content words: a short answer comes first, and its reasons follow."""
    match = re.match(r"(.{4,}?[.!?。!?])\s*\S", text, re.DOTALL)
    return match[1] if match and content_words(match[1]) else text


@lru_cache(maxsize=CACHED_TEXTS)
def _same(answer: str, reference: str, question: str) -> bool:
    if words_of(answer) == words_of(reference):
        return bool(words_of(answer))
    expected, given = polarity(reference), polarity(answer)
    if expected is not None and given is not None:
        return expected == given
    if expected is not None and is_yes_no(question):
        # A statement in place of yes or no must have the topic of the question.
        topic, told = content_words(question), frozenset(content_words(answer))
        covered = sum(word in told for word in topic)
        return ("no" if is_negated(answer) else "yes") == expected and covered >= RECALL * len(topic) > 0
    if expected is None and given is None and is_negated(answer) != is_negated(reference):
        return False
    if _COUNT.search(question) and _numbers(reference):
        return bool(_numbers(answer) & _numbers(reference))
    if not _compatible(_numbers(answer), _numbers(reference)):
        return False
    places, expected_places = place_relations(answer), place_relations(reference)
    if not _compatible(places, expected_places) or ("off" in places) != ("off" in expected_places):
        return False
    asked, given_words, whole = classed_words(question), classed_words(answer), classed_words(reference)
    said, due = given_words - asked, whole - asked
    if not due or not said:
        # Both repeat words of the question, as "off" to "on or off?".
        said, due = given_words, whole
        if not due:
            return not said and bool(expected_places) and places == expected_places
    elif (whole & asked) - given_words and said - due:
        # "He walks to the door" is not "he walks to the fridge", though the question speaks of the fridge.
        return False
    common = len(said & due)
    return common >= RECALL * len(due) and common >= PRECISION * len(said)


def classed_words(text: str) -> frozenset[str]:
    """The content words of a text. Verbs of taking are one word, and verbs of putting down are another."""
    return frozenset(_VERBS.get(word, word) for word in content_words(text))


@lru_cache(maxsize=CACHED_TEXTS)
def states_reference(text: str, reference: str, question: str = "") -> bool:
    """True if a longer text contains what a reference adds to its question.

    Unlike in `agrees` the text may say more. It must have the numbers, place relations and negation of the reference.
    """
    if polarity(reference) is not None:
        return polarity(text) == polarity(reference)
    reference = first_sentence(reference)
    if is_negated(text) != is_negated(reference):
        return False
    if _COUNT.search(question) and _numbers(reference):
        return bool(_numbers(text) & _numbers(reference))
    if not _compatible(place_relations(text), place_relations(reference)):
        return False
    asked, said = frozenset(content_words(question)), frozenset(content_words(text))
    whole = frozenset(content_words(reference))
    due = (whole - asked - _LIGHT_VERBS) or (whole - asked) or whole
    if not due:
        return bool(place_relations(reference)) and place_relations(reference) <= place_relations(text)
    common = len(due & said)
    return common == len(due) if len(due) <= 2 else common >= RECALL * len(due)


def _compatible(some: frozenset[str], others: frozenset[str]) -> bool:
    return not some or not others or bool(some & others)
