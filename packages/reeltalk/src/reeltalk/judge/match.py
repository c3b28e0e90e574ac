"""Judges answers to questions with a short reference by rule: whether an answer gives the reference and nothing else.

A reference of up to about five words is a name, a number, a colour, yes or no, a time or the like. It counts if it
stands in the answer, is not denied there, and no other value of its kind stands beside it. The rule knows few synonyms.
Other turns are left to a judge: which these are depends on question and references alone, never on an answer.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from reeltalk.judge.judge import JudgeUnit, not_applicable_row, score_row
from reeltalk.judge.protocol import Need, Protocol, ProtocolCriterion, per_cent
from reeltalk.judge.turns import NO_MODEL, SingleTurnJudge, no_answer_reason
from reeltalk.language.answer_reading import read_yes_no
from reeltalk.language.answer_words import (
    Mention,
    answer_tokens,
    clause_end,
    clause_start,
    final_statement,
    is_denied_after,
    is_denied_before,
    is_unable,
    lexicon,
    normalise_answer,
    without_hedges,
)
from reeltalk.llm.model import AsyncModel
from reeltalk.metrics.agree import (
    FUNCTION_WORDS,
    content_words,
    is_negated,
    is_yes_no,
    place_relations,
    polarity,
    stem,
)
from reeltalk.metrics.choice import before_next_question, last_version
from reeltalk.metrics.tokenise import OTHER_SCRIPTS
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import AnswerKey, Turn
from reeltalk.schema.model_texts import plain_answer
from reeltalk.schema.scoring import JudgedScore

MATCH: Final = "match"
WORDS: Final = Path(__file__).parent / "match.toml"
RULES: Final = "match:v2"
WITHIN_S: Final = 0.5
"""Largest difference of two times that are the same."""
LONGEST: Final = 5
"""Most words of a short reference, without articles."""
TOO_LONG: Final = "its references are too long for a rule; a judge can score it"
NOT_ONE_VALUE: Final = "its references tell an act, a reason or a comparison; a judge can score it"
UNREADABLE: Final = "the rule does not read the script of its references"
ERRORS: Final = (
    "Match reads answers by rule. Of 1,141 hard answers, written to mislead it, it accepts 85 % of the right ones and "
    "13 % of the wrong ones."
)
"""Measured on `tests/short_answers/fresh.toml`; `test_match` counts them again."""

_ARTICLES: Final = frozenset("a an the his her their its my your our some this that these those".split())
_FUNCTION: Final = FUNCTION_WORDS - frozenset("person man woman someone".split())
_LIGHT: Final = frozenset(map(stem, "take pick grab get put leave place use find see show do have go".split()))
_PRONOUNS: Final = frozenset("he she it they him her them this that there".split())
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_ORDERS: Final = re.compile(
    r"\b(?:first|before|after|earlier|later|then|more|fewer|less|than|same|most|least)\b|先|后|之前|更|(?<!\d)比(?!\d)"
)
_ACTS: Final = re.compile(
    r"\bwhat (?:else )?(?:does|did|do|is|are|was|were|has|have|happen\w*|will)\b.*\b(?:do|doing|done|happen\w*)\b"
    r"|\bwhat happen|\bwhy\b|\bwhat for\b|\bhow (?:does|did|do|is|are|was|were|can|could|would|has|have)\b"
    r"|为什么|怎么|如何|做什么|干什么|在做|发生|做了"
)
_TOKEN: Final = re.compile(
    r"\d+(?::\d{2})+|\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?|[^\W\d_\u3400-\u9fff]+|[\u3400-\u9fff]|[.,;:!?()/，。；：！？、（）]"
)
_PLAIN: Final = str.maketrans("，。；：！？、（）", ",.;:!?,()")
_TIME: Final = re.compile(
    r"(?<![\d:.])(?:(\d{1,2}):)?(\d{1,2}):(\d{2})(?![\d:])\s*(am|pm|a\.m\.|p\.m\.)?"
    r"|(?<![\d:.])(\d+(?:\.\d+)?)\s*-?\s*(s|secs?|seconds?|min|minutes?|h|hours?|秒|分钟|分|小时)(?![a-z])"
    r"|\b(second)\s+(\d+)\b",
    re.IGNORECASE,
)
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "秒": 1.0, "分": 60.0, "小": 3600.0}
_HALF_DAY_S: Final = 43200.0
_JOINS: Final = re.compile(r"[\s,]*(?:and)?[\s,]*")
_BOUNDS: Final = (("more", "than"), ("less", "than"), ("fewer", "than"), ("at", "most"), ("at", "least"), ("up", "to"))
_HEDGES: Final = re.compile(
    r"\b(?:could|may|might) be\b|\b(?:maybe|perhaps|possibly|either|unclear)\b|可能|或许|也许|看不清"
)
_FAILS: Final = re.compile(r"\b(?:fails?|failed|refuses?|refused|forgets?|forgot|stops?|stopped) (?:to )?\b")
_OFFERED: Final = re.compile(r"([a-z]+),? or (?:the |an? )?([a-z]+)")
_HAN_OFFERED: Final = re.compile(r"还是")
_HAN_DENIES: Final = frozenset("不没非无别")
_HAN_DIGITS: Final = {word: number for number, word in enumerate("零一二三四五六七八九")} | {"两": 2}
_HAN_NUMBER: Final = re.compile(r"[零一二两三四五六七八九]?[十百][零一二三四五六七八九]?|[零一二两三四五六七八九]")


def _is_short(references: Sequence[str], question: str = "") -> bool:
    """True if the rule can compare answers to a question with one of these references."""
    return any(_why_not(reference, question) is None for reference in references)


def _why_not(reference: str, question: str) -> str | None:
    if OTHER_SCRIPTS.search(reference):
        return UNREADABLE
    words = [word for word in _tokens(reference) if word[0].isalnum()]
    words = [word for word in words if word not in _ARTICLES] or words
    if not 0 < len(words) <= (2 * LONGEST if _HAN.search(reference) else LONGEST):
        return TOO_LONG
    if _yes_or_no(reference) is None and (
        _ORDERS.search(reference.casefold()) or _ACTS.search(question.casefold()) or is_negated(reference)
    ):
        return NOT_ONE_VALUE
    return None


@lru_cache(maxsize=8192)
def matches(answer: str, references: tuple[str, ...], question: str = "") -> bool | None:
    """True if an answer gives a short reference; None if no reference is short."""
    short = [reference for reference in references if _why_not(reference, question) is None]
    if not short:
        return None
    said = last_version(plain_answer(before_next_question(answer, question)))
    if not _HAN.search(said):
        hedged = _HEDGES.search(said) is not None
        said = final_statement(said, question)
        said = said if hedged else without_hedges(said)
    if not any(map(str.isalnum, said)) or is_unable(normalise_answer(said)):
        return False
    return any(_gives(said, reference, question) for reference in short)


def _gives(said: str, reference: str, question: str) -> bool:
    tokens, due = _tokens(said), _tokens(reference)
    if _bare(tokens) == _bare(due):
        return True
    if (expected := _yes_or_no(reference)) is not None and (
        _HAN.search(reference) or len(_bare(due)) == 1 or is_yes_no(question)
    ):
        return _read_yes_or_no(said, question) == expected
    if times := _times(reference):
        told = _times(said) or ([float(tokens[0])] if len(tokens) == 1 and _is_number(tokens[0]) else [])
        return bool(told) and abs(told[0] - times[0]) <= WITHIN_S and len(set(told)) == 1 and not is_negated(said)
    if len(_HEDGES.findall(said.casefold())) > 1:
        return False
    asked = frozenset(_tokens(question))
    core = _core(due, asked)
    if core and all(word.isdigit() for word in core):
        return _counts(tokens, asked) == core
    relations = place_relations(reference)
    stands = any(
        (
            not relations
            or not (given := place_relations(" ".join(tokens[max(0, first - 3) : first])))
            or relations & given
        )
        and not _is_denied(tokens, first, last)
        and not _is_part_of_name(said, reference, core)
        and not _is_one_of(tokens, first, last)
        and not _is_beside(tokens, first, asked, due, alone=bool(relations))
        for first, last in _found(tokens, core)
    )
    return stands and not _names_first(tokens, core, asked) and not _has_another(tokens, core, asked, question)


def _tokens(text: str) -> list[str]:
    """Stemmed words of which one stands for all that mean the same, numbers, Chinese characters and punctuation."""
    text = normalise_answer(text)
    if _HAN.search(text):
        for word, first in _same().items():
            text = text.replace(word, first) if _HAN.search(word) else text
        text = _HAN_NUMBER.sub(lambda found: str(_han_number(found[0])), text)
    words = _TOKEN.findall(text)
    found = []
    for place, token in enumerate(words):
        pair = lexicon().numbers.get(f"{token} {words[place + 1]}") if place + 1 < len(words) else None
        before = lexicon().numbers.get(f"{words[place - 1]} {token}") if place else None
        if before is not None:
            continue
        if (
            number := pair if pair is not None else lexicon().numbers.get(token)
        ) is not None and token not in _counted():
            found.append(str(number))
        else:
            plain = token.translate(_PLAIN).replace(",", "") if token[0].isdigit() else token.translate(_PLAIN)
            word = plain if plain in FUNCTION_WORDS else stem(plain)
            found.append(_same().get(plain) or _same().get(word) or word)
    return found


def _han_number(text: str) -> int:
    for sign, unit in (("百", 100), ("十", 10)):
        if sign in text:
            high, _, low = text.partition(sign)
            return (_HAN_DIGITS[high] if high else 1) * unit + (_HAN_DIGITS[low] if low else 0)
    return _HAN_DIGITS[text]


def _bare(tokens: Sequence[str]) -> list[str]:
    words = [word for word in tokens if word[0].isalnum()]
    if any(_HAN.search(word) for word in words):
        measures = _chinese()["measures"]
        # One and its measure word are an article.
        words = [
            word
            for place, word in enumerate(words)
            if not (word == "1" and place + 1 < len(words) and words[place + 1] in measures)
            and not (word in measures and place and words[place - 1] == "1")
        ]
    return [word for word in words if word not in _ARTICLES] or words


def _core(due: Sequence[str], asked: frozenset[str]) -> list[str]:
    """The words of a reference that are its value: not those of every sentence, nor those of the question."""
    words = _bare(due)
    if any(_HAN.search(word) for word in words):
        while len(words) > 1 and words[-1] in _chinese()["endings"]:
            words = words[:-1]
        return words
    for left_out in (_FUNCTION | _LIGHT | asked, _FUNCTION | asked, _FUNCTION | _LIGHT, _FUNCTION, frozenset[str]()):
        if core := [word for word in words if word not in left_out]:
            return core
    return words


def _found(tokens: Sequence[str], core: Sequence[str]) -> Iterator[tuple[int, int]]:
    """First and last place of the core, each time that a clause has all of it."""
    if any(_HAN.search(word) for word in core):
        size = len(core)
        for n in range(len(tokens) - size + 1):
            if list(tokens[n : n + size]) == list(core) and _is_han_word(tokens, n, size):
                yield n, n + size - 1
        return
    joined = "".join(core)
    for place, word in enumerate(tokens):
        if len(core) > 1 and word == joined:
            yield place, place
        if word == core[0]:
            own = range(clause_start(tokens, place), clause_end(tokens, place))
            near = [
                min((n for n in own if tokens[n] == other), key=lambda n: abs(n - place), default=None)
                for other in core
            ]
            if None not in near:
                there = [n for n in near if n is not None]
                yield min(there), max(there)


def _is_han_word(tokens: Sequence[str], first: int, size: int) -> bool:
    """True if a short Chinese value is not a part of a longer word: a cat is neither a panda nor an owl."""
    after = tokens[first + size] if first + size < len(tokens) else ""
    before = tokens[first - 1] if first else ""
    words = _chinese()
    is_kind = any(set(tokens[first : first + size]) <= members for members in _kinds().values())
    ends = not _HAN.search(after) or after in words["after"] + words["endings"] or after in _HAN_DENIES or size > 3
    if after == "的":
        ends = is_kind or not (first + size + 1 < len(tokens) and _HAN.search(tokens[first + size + 1]))
    return ends and (size > 1 or not _HAN.search(before) or before in words["before"])


def _is_denied(tokens: Sequence[str], first: int, last: int) -> bool:
    if any(tuple(tokens[max(0, first - 2) : first]) == bound for bound in _BOUNDS):
        return True
    if any(_HAN.search(word) for word in tokens[first : last + 1]):
        return bool(_HAN_DENIES & set(tokens[max(clause_start(tokens, first), first - 4) : first]))
    mention = Mention("noun", frozenset(), first, last + 1)
    return is_denied_before(tokens, mention) or is_denied_after(tokens, mention, ())


def _is_one_of(tokens: Sequence[str], first: int, last: int) -> bool:
    """True if *or* stands beside a value."""
    before = [word for word in tokens[max(0, first - 3) : first] if word not in _ARTICLES and word != ","]
    after = [word for word in tokens[last + 1 : last + 3] if word != ","]
    return before[-1:] == ["or"] or after[:1] == ["or"] or "或" in tokens[max(0, first - 1) : last + 2]


def _is_part_of_name(said: str, reference: str, core: Sequence[str]) -> bool:
    """True if a noun follows the last word of a reference each time: a rabbit is no rabbit cage."""
    if _HAN.search(reference) or any(word in members for word in core for members in _kinds().values()):
        return False
    words = [token for token in _TOKEN.findall(normalise_answer(said))]
    last = next((token for token in reversed(_TOKEN.findall(normalise_answer(reference))) if token.isalpha()), "")
    following = [words[n + 1] for n, word in enumerate(words[:-1]) if word == last or stem(word) == stem(last) != ""]
    if not following or words[-1:] == [last]:
        return False
    return all(
        word.isalpha()
        and word not in FUNCTION_WORDS
        and word not in lexicon().verbs
        and stem(word) not in core
        and _AFTER.fullmatch(word) is None
        for word in following
    )


_AFTER: Final = re.compile(r"or|and|\w+ly|\w{1,2}|.*(?:s|ing|ed)")


def _is_beside(tokens: Sequence[str], first: int, asked: frozenset[str], due: Sequence[str], *, alone: bool) -> bool:
    """True if a value stands behind a preposition, as in *a chair next to the sofa*, and another thing before it."""
    start = max((n + 1 for n, word in enumerate(tokens[:first]) if word in (".", ";", "!", "?")), default=0)
    before = list(tokens[start:first])
    for words in _beside():
        size = len(words)
        for place in range(len(before) - size, -1, -1):
            if tuple(before[place : place + size]) != words or words[0] in due:
                continue
            between = [word for word in before[place + size :] if word.isalpha() and word not in _ARTICLES]
            if len(between) > 2:
                continue
            earlier = before[:place]
            named = any(
                word.isalpha()
                and word not in _FUNCTION
                and word not in asked
                and (not n or earlier[n - 1] in _ARTICLES or word not in lexicon().verbs)
                for n, word in enumerate(earlier)
            )
            if named or (alone and not between):
                return True
    return False


def _names_first(tokens: Sequence[str], core: Sequence[str], asked: frozenset[str]) -> bool:
    """True if an answer begins with another bare name, as *A mirror*, and a sentence about the reference follows."""
    end = next((n for n, word in enumerate(tokens) if word in (".", ";", ",", "!", "(")), len(tokens))
    head = [word for word in tokens[:end] if word not in _ARTICLES and word.isalpha()]
    if not head or end == len(tokens) or len(head) > 3 or any(_HAN.search(word) for word in head):
        return False
    if set(head) & (set(core) | asked | {"yes", "no", "sure", "well", "not", "final", "answer"}):
        return False
    # Without an article or *to* before it, a first word may be a verb or an adverb.
    opened = tokens[0] in _ARTICLES or tokens[0] in ("to", "on", "in", "at")
    bare = (opened or len(head) == 1) and not any(word in _FUNCTION - {"to", "on", "in", "at"} for word in head)
    # "The cook, Anna" names one thing twice.
    return bare and not (tokens[end] == "," and any(word in core for word in tokens[end + 1 : end + 3]))


def _has_another(tokens: Sequence[str], core: Sequence[str], asked: frozenset[str], question: str) -> bool:
    """True if an answer has another value of the reference's kind, or of those that the question offers, undenied."""
    offered = {word for a, b in _OFFERED.findall(normalise_answer(question)) for word in _tokens(f"{a} {b}")}
    if _HAN_OFFERED.search(question):
        offered |= {word for members in _kinds().values() for word in members if word in asked}
    own = [
        members
        for members in _kinds().values()
        if (set(core) <= members if _HAN.search(core[0]) else set(core) & members)
    ]
    rivals = {word for members in own for word in members - (asked - offered)}
    rivals = (rivals | offered) - set(core) - _ARTICLES
    for place, word in enumerate(tokens):
        adjacent = not _HAN.search(word) and tokens[place + 1 : place + 2] == [core[0]]
        if word not in rivals or _is_denied(tokens, place, place) or adjacent:
            continue
        start, end = clause_start(tokens, place), clause_end(tokens, place)
        clause = tokens[start:end]
        if not set(core) & set(clause):
            # What is said of another thing in a clause of its own is no other value.
            if all(one in _FUNCTION or one in rivals or one in asked or not one.isalpha() for one in clause):
                return True
            continue
        # "A red cup on a blue table": a colour of a thing that the question names, and one of another thing.
        named = next((n for n in range(start, end) if tokens[n] in core), start)
        if not (_describes(tokens, named, asked) and not _describes(tokens, place, asked)):
            return True
    return False


def _describes(tokens: Sequence[str], place: int, asked: frozenset[str]) -> bool:
    """True if the word behind an adjective is one of the question's, or if it stands behind *is* and the like."""
    after = next((word for word in tokens[place + 1 : place + 3] if word not in _FUNCTION), "")
    before = tokens[max(0, place - 2) : place]
    return after in asked or bool({"is", "are", "was", "were", "be"} & set(before))


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdigit()


def _counts(tokens: Sequence[str], asked: frozenset[str]) -> list[str] | None:
    """The numbers that an answer counts: those of its first clause that has one. None if it only bounds them."""
    found: list[str] = []
    for place, token in enumerate(tokens):
        after, before = tokens[place + 1 : place + 2], tokens[max(0, place - 1) : place]
        word = _counted().get(token, token)
        if found and (word in (".", ";", ":", "(", "!") or (word == "," and not (after and after[0].isdigit()))):
            break
        if not word.isdigit() or (word in asked and len(tokens) > 1):
            continue
        if tuple(tokens[max(0, place - 2) : place]) in _BOUNDS:
            return None
        if token in ("1", "no", "none") and (
            after == ["of"] or before in (["the"], ["that"], ["another"], ["no"], ["other"])
        ):
            continue
        if (
            token == "no"
            and (place or not after or after[0] in (",", ".", "1"))
            and before not in (["be"], ["are"], ["is"])
        ):
            continue
        if _counted().get(token) == "0" or not _is_denied(tokens, place, place):
            found.append(word)
    return found


def _yes_or_no(text: str) -> str | None:
    if not _HAN.search(text):
        return polarity(text)
    bare = re.sub(r"\W", "", text)
    return next((said for said in ("no", "yes") if bare in _chinese()[said].split()), polarity(text))


def _read_yes_or_no(said: str, question: str) -> str | None:
    """*yes* or *no* as an answer begins, or as its statement about the question implies; None if it says neither."""
    if _HAN.search(said):
        start = said.lstrip(" ，,。")
        for value, listed in (("no", "no"), ("yes", "yes")):
            if start.startswith(tuple(sorted(_chinese()[listed].split(), key=len, reverse=True))):
                return "yes" if value == "no" and start.startswith("没错") else value
        asked = set(re.findall(r"[\u3400-\u9fff]", question)) - set("吗了的是")
        told = set(re.findall(r"[\u3400-\u9fff]", said))
        if not asked or len(asked & told) < 0.5 * len(asked):
            return None
        return "no" if _HAN_DENIES & told else "yes"
    if (head := polarity(said)) is not None:
        return head
    if _FAILS.search(said):
        return "no"
    key = AnswerKey(type="yes_no", values=("yes",))
    tokens = answer_tokens(without_hedges(final_statement(said, question)))
    if found := read_yes_no(tokens, normalise_answer(question), key).values:
        return found[0]
    topic = content_words(question)
    if not topic or not is_yes_no(question):
        return None
    tokens = _tokens(said)
    own = [frozenset(content_words(part)) for part in re.split(r"[.;!?]|, (?:and|but)\b", said)]
    least = LEAST_OF_TOPIC_BY_PRONOUN if tokens and tokens[0] in _PRONOUNS else LEAST_OF_TOPIC
    best = max(range(len(own)), key=lambda n: sum(word in own[n] for word in topic))
    if sum(word in own[best] for word in topic) < least * len(topic):
        return None
    return "no" if is_negated(re.split(r"[.;!?]|, (?:and|but)\b", said)[best]) else "yes"


LEAST_OF_TOPIC: Final = 0.75
LEAST_OF_TOPIC_BY_PRONOUN: Final = 0.3
"""Least share of a question's words that a statement must repeat to answer it by yes or no."""


def _times(text: str) -> list[float]:
    """Moments and lengths in a text, in seconds; `1 minute and 17 seconds` is one. Lengths come before moments."""
    lengths: list[float] = []
    clocks: list[float] = []
    end, unit = -1, ""
    text = _in_digits(text)
    for match in _TIME.finditer(text):
        hours, minutes, seconds, half, amount, named, second, number = match.groups()
        if second:
            lengths.append(float(number))
        elif amount:
            value = float(amount) * _UNITS[named[0].lower()]
            if unit in ("m", "h", "分", "小") and _JOINS.fullmatch(text[end : match.start()]):
                lengths[-1] += value
            else:
                lengths.append(value)
        else:
            # 3:30 pm is a time of day, 0:05 a moment of a video.
            value = 3600.0 * int(hours or 0) + 60.0 * int(minutes) + int(seconds)
            late = half is not None and half.lower().startswith("p")
            clocks.append(value if half is None else 60 * value % _HALF_DAY_S + _HALF_DAY_S * late)
        end, unit = match.end(), named[0].lower() if named else ""
    return lengths or clocks


def _in_digits(text: str) -> str:
    numbers = lexicon().numbers
    pairs = re.sub(
        r"\b([a-z]+)[ -]([a-z]+)\b",
        lambda found: str(numbers[key]) if (key := f"{found[1]} {found[2]}".lower()) in numbers else found[0],
        text,
        flags=re.IGNORECASE,
    )
    return re.sub(
        r"[a-z]+",
        lambda word: (
            str(numbers[word[0].lower()])
            if word[0].lower() in numbers and word[0].lower() not in _counted()
            else word[0]
        ),
        _HAN_NUMBER.sub(lambda found: str(_han_number(found[0])), pairs),
        flags=re.IGNORECASE,
    )


@cache
def _raw() -> dict[str, Any]:
    return tomllib.loads(WORDS.read_text(encoding="utf-8"))


@cache
def _kinds() -> Mapping[str, frozenset[str]]:
    return {kind: frozenset(map(stem, words.split())) for kind, words in _raw()["kinds"].items()}


@cache
def _same() -> Mapping[str, str]:
    groups = [
        group.split() for line in _raw()["same"]["words"].splitlines() for group in line.split("|") if group.strip()
    ]
    return {form: stem(group[0]) for group in groups for word in group for form in (word, stem(word))}


@cache
def _beside() -> tuple[tuple[str, ...], ...]:
    listed = _raw()["beside"]["words"].replace("\n", "|").split("|")
    return tuple(tuple(_tokens(words)) for words in listed if words.strip())


@cache
def _counted() -> Mapping[str, str]:
    pairs = (pair.split() for pair in _raw()["numbers"]["words"].split("|"))
    return {word: number for word, number in pairs}


def _chinese() -> Mapping[str, str]:
    found: Mapping[str, str] = _raw()["chinese"]
    return found


PROTOCOL: Final = Protocol(
    name=MATCH,
    title="Match",
    help="Turns with a short reference (a name, a number, yes or no): whether the answer gives it, by rule.",
    create=lambda _: MatchJudge(),
    criteria=(ProtocolCriterion(MATCH, "Match", pass_mark=0.5),),
    measures=(per_cent(MATCH, "Match"),),
    needs_model=False,
    needs=Need(
        "a short reference, and neither options nor a key",
        lambda turn: has_short_reference(turn),
        "name a language model that judges: --protocols clair --judge NAME",
    ),
    credit_rank=1000,
    right_or_wrong=True,
    note=ERRORS,
)


class MatchJudge(SingleTurnJudge):
    """Judges turns with a short reference: criterion `match`, 1 if the answer gives it, else 0."""

    protocol = PROTOCOL
    by = ("turn", "question_type", "task")

    @property
    def reads(self) -> frozenset[str]:
        """The key of a turn, too: a turn with one is judged by it."""
        return frozenset({"key", "references"})

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Version of the rules and hash of their words."""
        return ((MATCH, f"{RULES}-{sha256(WORDS.read_bytes()).hexdigest()[:8]}"),)

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that was asked and has a reference; one with options or a key is judged by these."""
        return bool(turn.references) and not is_typed(turn) and super().is_due(turn)

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """Type of the question, and task of the unit."""
        return {**super().groups(unit, turn), "task": (unit.task,) if unit.task is not None else ()}

    def skip_reason(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """Why a turn with a short reference has no answer; the others are left to a judge, answered or not."""
        if not _is_short(turn.references, turn.question):
            return None
        return None if turn.state is AnswerState.ANSWERED else no_answer_reason(turn)

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """One row: 1 or 0, or that the rule does not apply."""
        turn = unit.turns[index]
        found = matches(turn.text, turn.references, turn.question)
        if found is None:
            why = next(why for reference in turn.references if (why := _why_not(reference, turn.question)))
            return [not_applicable_row(unit, MATCH, NO_MODEL, why, turn=turn)]
        return [score_row(unit, MATCH, NO_MODEL, float(found), turn=turn)]


def is_typed(turn: Turn | AnsweredTurn) -> bool:
    """True for a turn that is judged by its options or its key."""
    return turn.key is not None or bool(turn.options and turn.correct_option is not None)


def has_short_reference(turn: Turn | AnsweredTurn) -> bool:
    """True for a turn without options and key whose answers the rule can judge."""
    return not is_typed(turn) and _is_short(turn.references, turn.question)
