"""Reads which option an answer names: one, none, or several.

The last explicit statement counts; without one, a letter that stands alone, and without letters the text of an option.
A letter whose own words name another option is no choice. The forms are rows of `choice.toml`.
"""

import re
import string
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from reeltalk.metrics.agree import content_words, is_negated, polarity, words_of
from reeltalk.schema.long_texts import shortened
from reeltalk.schema.model_texts import (
    announced_answer,
    plain_answer,
    plain_characters,
    plain_reply,
    without_struck,
    without_thoughts,
)

FORMS: Final = Path(__file__).parent / "choice.toml"
RULES: Final = "choice:v3"
"""Version of the rules; the signature adds a hash of their rows."""
NAMES_NONE: Final = "names no option"
NAMES_SEVERAL: Final = "names several options"
_ARTICLES: Final = frozenset(("a", "an", "the"))
_CLAUSES: Final = re.compile(r"(?<!\d)[.:](?!\d)|[,;!?\n()。，；！？：、]|\bbut\b|\bwhile\b|\bwhereas\b|而是|但是?")
_NEGATED: Final = re.compile(
    r"\b(?:not|n't|no|never|neither|nor|without|instead of|rather than|except|unlike)\b|n't\b|不|没|非"
)
_OPENERS, _CLOSERS = r"""\*`_"'“‘「『【\[({<（《$""", r"""\*`_"'”’」』】\])}>）》$"""
_NUMBERED: Final = re.compile(
    r"\b(?:option|answer|choice|number)\s*(?:is|:|#|no\.?)?\s*([1-9])\b|(?:选项|答案)\s*(?:是|:)?\s*([1-9])", re.I
)
_ORDINAL: Final = re.compile(
    r"\b(first|second|third|fourth|fifth|sixth|seventh|eighth|last)\s+(?:option|answer|choice|one)\b|(?:第([一二三四五六七八])|最(后)一)(?:个(?:选项|答案)?|项|(?:选项|答案))",
    re.I,
)
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", *"一二三四五六七八")
_LAST: Final = ("last", "后")
_HAN_DIGITS: Final = str.maketrans("一二两三四五六七八九", "1223456789")
_INITIALS: Final = re.compile(r"\b(?:[A-Za-z]\.){2,}")


@dataclass(frozen=True)
class ChoiceReading:
    """The option that an answer names."""

    option: int | None
    """Its place among the options as they were shown, from 0; None if the answer names none, or several."""
    several: bool = False
    """True if it names several, or stays open between them."""

    @property
    def why(self) -> str:
        """What it names, if it is not one option."""
        return "" if self.option is not None else NAMES_SEVERAL if self.several else NAMES_NONE


NONE, SEVERAL = ChoiceReading(None), ChoiceReading(None, several=True)


def choice_signature() -> str:
    """Version of the rules and hash of their rows."""
    return f"{RULES}-{_forms()['hash']}"


@lru_cache(maxsize=8192)
def read_choice(answer: str, options: tuple[str, ...], question: str = "") -> ChoiceReading:
    """The option that an answer names.

    Args:
        answer: The answer as it came, in English or Chinese.
        options: The texts of the options, in the order in which they were shown under the letters A, B, C and so on.
        question: The question, whose words do not tell options apart.
    """
    answer, options = shortened(answer), tuple(map(shortened, options))
    begun = _forms()["goes_on"].search(answer)
    if begun is not None and (first := read_choice(answer[: begun.start()], options, question)).option is not None:
        return first
    letters = string.ascii_uppercase[: len(options)]
    marked = _without_list(_with_marked_letters(answer, letters), letters, options, question)
    if not any(map(str.isalnum, marked)):
        return NONE
    texts = [_plain_words(option) for option in options]
    found = None
    if _plain_words(marked) not in texts or "⟦" in marked or re.match(rf"\W*[{letters}]\s*[.):、，,：]|.\Z", marked):
        found = _by_letter(_without_texts_of_letters(marked, letters, options), letters, options)
    if found is None:
        found = _by_text(plain_answer(re.sub("[⟦⟧]", "", marked)), options, question)
    # An answer that is taken back with nothing in its place, and one that ends open, chooses nothing.
    if found.option is not None and (back := _forms()["withdrawn"].search(marked)) is not None:
        rest = marked[back.end() :]
        if _forms()["unsure"].search(rest) and _by_letter(rest, letters, options) is None:
            return NONE
    return SEVERAL if _forms()["open"].search(marked) and not _opens_itself(found, options) else found


def _opens_itself(found: ChoiceReading, options: Sequence[str]) -> bool:
    """True for an option such as `all of the above`."""
    return found.option is not None and _forms()["open"].search(options[found.option]) is not None


def _without_list(text: str, letters: str, options: Sequence[str], question: str) -> str:
    """A text without the question and the whole list of options, if it repeats them."""
    lines = text.splitlines()
    words = [_plain_words(re.sub(rf"^\W*[{letters}]\s*[.):、]", "", line)) for line in lines]
    texts = [_plain_words(option) for option in options]
    if all(option in words for option in texts) and not re.search(_forms()["verdict"]["signs"], text):
        dropped = [*texts, _plain_words(question)]
        lines = [line for line, found in zip(lines, words, strict=True) if found not in dropped]
    return "\n".join(lines)


def _without_texts_of_letters(text: str, letters: str, options: Sequence[str]) -> str:
    """A text without those options that hold a letter themselves, such as `vitamin C`."""
    for option in sorted(options, key=len, reverse=True):
        if re.search(rf"(?<!\w)[{letters}](?!\w)", option.removeprefix("A ")) and len(option) > 1:
            text = re.sub(rf"(?<!\w){re.escape(option)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return text


def says_unsure(answer: str) -> bool:
    """True if an answer says that it does not know, as the prompt asks where a video does not show something."""
    return _forms()["unsure"].search(plain_reply(answer)) is not None


def names_same(answer: str, references: Sequence[str], options: Sequence[str], question: str = "") -> bool | None:
    """True if an answer names the option that a reference names; None if the answer or every reference is unclear.

    Args:
        answer: The answer: a letter, or the text of an option.
        references: References, by text or letter.
        options: The options in the order in which they were shown.
    """
    shown = tuple(options)
    named = read_choice(answer, shown, question).option
    due = {read_choice(reference, shown, question).option for reference in references} - {None}
    return named in due if named is not None and due else None


def _with_marked_letters(answer: str, letters: str) -> str:
    """The plain text, in which a letter in bold type, quotation marks or brackets is put between ⟦ and ⟧."""
    text = without_struck(plain_characters(without_thoughts(answer)))
    if "{" in text[:12] and not (told := plain_reply(text)).startswith("{"):
        text = told
    own = f"{letters}{letters.lower()}"
    for _ in range(3):
        text = re.sub(rf"\\+(?:boxed|text|textbf|mathrm|mathbf)\s*\{{\s*⟦?([{own}])⟧?\s*\.?\s*\}}", _mark, text)
        text = re.sub(
            rf"(?<![\w'’])[{_OPENERS}]{{1,3}}\s*(?:(?:option|choice|选项)\s*)?⟦?([{own}])⟧?\s*[.:]?\s*[{_CLOSERS}]{{1,3}}(?!\w)",
            _mark, text, flags=re.IGNORECASE,
        )  # fmt: skip
    alone = re.compile(rf"\W*(?:(?:option|answer|choice|选项|答案)\W*)?([{own}])\W*", re.IGNORECASE)
    whole = alone.fullmatch(text) or alone.fullmatch(plain_answer(text))
    if whole:
        return f"⟦{whole[1].upper()}⟧"
    # "The answer is b." and "选b": a small letter right after the word.
    words, ends = r"(?:\b(?:option|answer|choice)|选项?|答案)(?:\s|\bis\b|[:是为选])*", r"(?=\W*$|[.,;)]|\W*\n)"
    small = re.compile(rf"({words})\(?([{letters.lower()}])\)?{ends}", re.IGNORECASE)
    return small.sub(lambda found: f"{found[1]} ⟦{found[2].upper()}⟧", plain_reply(text))


def _mark(found: re.Match[str]) -> str:
    return f" ⟦{found[1].upper()}⟧ "


def _by_letter(text: str, letters: str, options: Sequence[str]) -> ChoiceReading | None:
    forms = _patterns(letters)
    if (ticked := _ticked(text, options, forms)) is not None:
        return NONE if not ticked else SEVERAL if len(ticked) > 1 else ChoiceReading(letters.index(ticked.pop()))
    run, said = forms["run"].search(text), set(re.findall(r"\w", text))
    if (run and len(set(run[1])) == len(run[1])) or (len(said) > 1 and said <= {*letters}):
        return SEVERAL
    stated: list[tuple[int, int, str]] = []
    denied: dict[str, int] = {}
    for found in forms["letter"].finditer(text):
        if _is_denied(text, found, forms):
            beside = _around(text, found.start(), found.end(), forms)[2]
            denied |= dict.fromkeys((_letter(found), *beside), found.start())
    lists = _lists(text, letters)
    for statement in forms["statements"]:
        for found in statement.finditer(text):
            letter = _last_letter(found)
            place = found.start(letter)
            if _is_article(text, found, forms, letter) or _is_denied(text, found, forms, letter):
                continue
            if any(start <= place < end for start, end in lists) and re.match(
                rf"[^\n]*?{found[letter]}⟧?\s*[.):、]\s*\S", text[place:]
            ):
                continue
            stated.append((place, found.end(letter), found[letter]))
    if stated:
        place, end, word = max(stated)
        if denied.get(word, -1) > place:
            return NONE
        beside = _around(text, place, end, forms)[2] - denied.keys() - {word}
        if beside or _belongs_to_another(text[end:], letters.index(word), options):
            return SEVERAL
        return ChoiceReading(letters.index(word))
    named = {
        _letter(found)
        for found in forms["letter"].finditer(text)
        if not _is_article(text, found, forms) and not any(start <= found.start() < end for start, end in lists)
    }
    left = named - denied.keys()
    if not left and denied and len(rest := set(letters) - denied.keys()) == 1 and len(letters) > 2:
        return ChoiceReading(letters.index(rest.pop()))
    if len(left) > 1:
        return SEVERAL
    if left and not (left <= {"A", "I"} and not forms["sure"].search(text)):
        word = left.pop()
        end = max(found.end() for found in forms["letter"].finditer(text) if _letter(found) == word)
        other = _belongs_to_another(text[end:], letters.index(word), options)
        return SEVERAL if other else ChoiceReading(letters.index(word))
    return None


def _ticked(text: str, options: Sequence[str], forms: dict[str, Any]) -> set[str] | None:
    """The letters whose line says that they are right, of two or more lines with verdicts; None without such lines."""
    for letter, option in zip(string.ascii_uppercase, options, strict=False):
        text = re.sub(rf"(?mi)^\W*{re.escape(option)}(?=\s*[:：–—-])", f"⟦{letter}⟧", text)
    marked = {_letter(found): bool(found["yes"]) for found in forms["verdict"].finditer(text)}
    right = {letter for letter, is_right in marked.items() if is_right}
    return right if len(marked) > 1 and (right or len(marked) == len(options)) else None


def _lists(text: str, letters: str) -> list[tuple[int, int]]:
    """The lines of a text that list options: each begins with a letter, and there are two letters or more."""
    lines = list(re.finditer(rf"(?m)^[^\w\n]*([{letters}])⟧?\s*[.):、].*$", text))
    # A first line on its own is the answer if another paragraph announces the others.
    if len(lines) > 2 and re.search(
        r"\n[^\n]*(?:[:：]|other|其他|其余)[^\n]*\n", text[lines[0].end() : lines[1].start() + 1]
    ):
        lines = lines[1:]
    return [found.span() for found in lines] if len({found[1] for found in lines}) > 1 else []


def _letter(found: re.Match[str]) -> str:
    return str(next(group for group in found.groups() if group))


def _last_letter(found: re.Match[str]) -> int:
    return max(number for number, group in enumerate(found.groups(), start=1) if group)


def _is_article(text: str, found: re.Match[str], forms: dict[str, Any], group: int | None = None) -> bool:
    """True if a bare A or I is an article or a pronoun."""
    group = _last_letter(found) if group is None else group
    if found[group] not in "AI" or text[found.start(group) - 1 : found.start(group)] == "⟦":
        return False
    rest = text[found.end(group) :]
    return forms["noun"].match(rest) is not None and forms["next"].match(rest) is None


def _is_denied(text: str, found: re.Match[str], forms: dict[str, Any], group: int | None = None) -> bool:
    group = _last_letter(found) if group is None else group
    # "A, C and D are wrong": what is said of the last is said of all.
    before, after, _ = _around(text, found.start(group), found.end(group), forms)
    return forms["before"].search(before[-60:]) is not None or forms["after"].match(after[:60]) is not None


def _around(text: str, start: int, end: int, forms: dict[str, Any]) -> tuple[str, str, set[str]]:
    """The text before and after a letter and those that stand beside it, as in `B or C`; and these letters."""
    letters: set[str] = set()
    before, after = text[:start].rstrip("⟦ "), text[end:].lstrip("⟧")
    while (more := forms["next"].match(after)) is not None:
        letters.add(_letter(more))
        after = after[more.end() :].lstrip("⟧")
    while (earlier := forms["previous"].search(before[-80:])) is not None:
        letters.add(_letter(earlier))
        before = before[: len(before) - len(earlier[0])].rstrip("⟦ ")
    return before, after, letters


def _belongs_to_another(rest: str, own: int, options: Sequence[str]) -> bool:
    """True if the words right behind a letter are the text of another option."""
    said = _plain_words(re.split(r"[\n.;,，。；]|\bbecause\b|\bsince\b", rest.lstrip("⟧ \t.):：、-–—,"), maxsplit=1)[0])
    texts = [_plain_words(option) for option in options]
    return bool(said) and said != texts[own] and said in texts


def _plain_words(text: str) -> tuple[str, ...]:
    text = _INITIALS.sub(lambda found: found[0].replace(".", ""), text).translate(_HAN_DIGITS)
    return tuple(word for word in words_of(text) if word not in _ARTICLES)


def _by_text(text: str, options: Sequence[str], question: str) -> ChoiceReading:
    texts = [_plain_words(option) for option in options]
    said = _plain_words(text)
    if said in texts:
        return ChoiceReading(texts.index(said))
    # An option that is a list itself, as `cup, spoon, plate`.
    lists = [n for n, option in enumerate(options) if _CLAUSES.search(option.strip()[:-1])]
    if len(found := [n for n in lists if any(_places(said, texts[n]))]) == 1 and not is_negated(text):
        return ChoiceReading(found[0])
    kept = last_version(text)
    withdrawn = kept != text
    parts = [kept] if withdrawn else []
    parts += [part for part in (announced_answer(text), _conclusion(text)) if part]
    if is_negated(question) and len(lacking := _denied_in(text, texts)) == 1:
        return ChoiceReading(lacking.pop())
    for part in (*parts, text) if not withdrawn else parts[:1]:
        named = _named_in(part, texts)
        if len(named) == 1:
            return ChoiceReading(named.pop())
        if named:
            first = _plain_words(_CLAUSES.split(part.strip(), maxsplit=1)[0])
            if first in texts and part is text:
                return ChoiceReading(texts.index(first))
            asked = _find_option_near(part, texts, question)
            return SEVERAL if asked is None else ChoiceReading(asked)
    if ordinal := ["".join(groups).lower() for groups in _ORDINAL.findall(text)]:
        place = len(options) - 1 if ordinal[-1] in _LAST else _ORDINALS.index(ordinal[-1]) % 8
        return (
            ChoiceReading(place) if place < len(options) and len(set(ordinal)) == 1 and not is_negated(text) else NONE
        )
    if (numbered := [a or b for a, b in _NUMBERED.findall(text)]) and int(numbered[-1]) <= len(options):
        numeric = any(word.isdigit() for words in texts for word in words)
        return NONE if numeric else ChoiceReading(int(numbered[-1]) - 1)
    return _by_content(parts[-1] if parts else text, options, question)


def before_next_question(answer: str, question: str) -> str:
    """An answer without further questions that a model made up after it; one that repeats the question stays whole."""
    begun = _forms()["goes_on"].search(answer)
    if begun is None or not any(map(str.isalnum, answer[: begun.start()])):
        return answer
    told = answer[begun.end() :].strip().partition("\n")[0]
    return answer if _plain_words(told) == _plain_words(question) else answer[: begun.start()]


def last_version(text: str) -> str:
    """The text after the last words that take an answer back; the whole text if nothing follows them."""
    found = list(_forms()["withdrawn"].finditer(text))
    rest = text[found[-1].end() :].lstrip(" ,.:;!，。：") if found else ""
    return rest if any(map(str.isalnum, rest)) else text


def _conclusion(text: str) -> str | None:
    found = list(_forms()["concludes"].finditer(text))
    return text[found[-1].end() :] if found and found[-1].start() > 0 else None


def _named_in(text: str, texts: Sequence[tuple[str, ...]]) -> set[int]:
    """The options whose texts stand in a text and are not denied there."""
    named: set[int] = set()
    head = polarity(text)
    for number, clause in enumerate(_clauses(text)):
        words = _plain_words(clause)
        spans = [
            (start, start + len(option), place)
            for place, option in enumerate(texts)
            for start in _places(words, option)
        ]
        for start, end, place in spans:
            if any(a <= start and end <= b and b - a > end - start for a, b, _ in spans):
                continue
            if texts[place] in (("yes",), ("no",)):
                if (number == 0 and head == texts[place][0]) or words == texts[place]:
                    named.add(place)
                continue
            if _denies(texts[place]) or not (_denies(words[:start]) or _denies(words[end : end + 3])):
                named.add(place)
    return named


def _denied_in(text: str, texts: Sequence[tuple[str, ...]]) -> set[int]:
    """The options right behind whose texts a negation stands."""
    return {
        place
        for words in map(_plain_words, _clauses(text))
        for place, option in enumerate(texts)
        for start in _places(words, option)
        if _denies(words[start + len(option) : start + len(option) + 3])
    }


def _find_option_near(text: str, texts: Sequence[tuple[str, ...]], question: str) -> int | None:
    """Of several options that a text names, the one in whose clause most words of the question stand."""
    if _forms()["hedges"].search(text):
        return None
    asked = frozenset(content_words(question)) - {word for option in texts for word in option}
    shared: dict[int, int] = {}
    for clause in _clauses(text):
        for place in _named_in(clause, texts):
            shared[place] = max(shared.get(place, 0), len(asked & frozenset(content_words(clause))))
    most = max(shared.values(), default=0)
    best = [place for place, count in shared.items() if count == most]
    return best[0] if most and len(best) == 1 else None


def _clauses(text: str) -> Iterator[str]:
    return (part for part in _CLAUSES.split(text) if part and part.strip())


def _places(words: Sequence[str], option: Sequence[str]) -> Iterator[int]:
    if option:
        yield from (
            n for n in range(len(words) - len(option) + 1) if tuple(words[n : n + len(option)]) == tuple(option)
        )


def _denies(words: Sequence[str]) -> bool:
    return _NEGATED.search(" ".join(words[-6:])) is not None


def _by_content(text: str, options: Sequence[str], question: str) -> ChoiceReading:
    """By the words that tell options apart: an answer that has all those of one option, or only words of one."""
    asked = frozenset(content_words(question))
    own = [frozenset(content_words(option)) - asked for option in options]
    shared = frozenset.intersection(*own) if own else frozenset()
    own = [words - shared for words in own]
    said = frozenset(content_words(text)) - asked
    there = [
        place
        for place, words in enumerate(own)
        if words and words <= said and is_negated(text) == is_negated(options[place])
    ]
    # Of options that contain each other, the one with more words.
    there = [place for place in there if not any(own[place] < own[other] for other in there)]
    if len(there) == 1:
        return ChoiceReading(there[0])
    if there:
        return SEVERAL
    within = [place for place, words in enumerate(own) if said and said - shared and said - shared <= words]
    if len(within) == 1 and is_negated(text) == is_negated(options[within[0]]):
        return ChoiceReading(within[0])
    return NONE


@lru_cache(maxsize=1)
def _forms() -> dict[str, Any]:
    text = FORMS.read_text(encoding="utf-8")
    raw = tomllib.loads(text)
    words = ("concludes", "goes_on", "withdrawn", "unsure", "open", "hedges")
    return raw | {
        "hash": sha256(text.encode()).hexdigest()[:8],
        **{name: re.compile("|".join(f"(?:{p})" for p in raw[name]["patterns"]), re.IGNORECASE) for name in words},
    }


@lru_cache(maxsize=32)
def _patterns(letters: str) -> dict[str, Any]:
    raw = _forms()
    after = raw["letter"]["not_before"]
    letter = rf"(?:⟦([{letters}])⟧|(?<![A-Za-z0-9_'’&.])(?-i:([{letters}]))(?![A-Za-z0-9_'’&]|\.[A-Z]\b|{after}))"
    prefix = r"(?:\W{0,3}(?:the )?(?:options?|choices?|letters?|answers?|选项|答案)\W{0,3}|\W{0,3})"
    filled = [
        pattern.replace("{L}", letter).replace("{N}", prefix) for row in raw["statement"] for pattern in row["patterns"]
    ]
    joins = f"(?:{raw['denials']['joins']})"
    wrapped = rf"(?:(?:option|选项)\s*)?⟦?(?-i:([{letters}]))⟧?"
    flags = re.IGNORECASE
    yes, no, gap, signs = (raw["verdict"][name] for name in ("right", "wrong", "gap", "signs"))
    return {
        "letter": re.compile(letter, flags),
        "run": re.compile(
            rf"(?:选|答案|\banswers?|\boptions?)(?:\s|\bis\b|\bare\b|[:是为])*\(?(?-i:([{letters}]{{2,}}))\)?\W*\Z",
            flags,
        ),
        "verdict": re.compile(
            rf"^[^\w⟦\n]*(?:option |选项)?{letter}(?:[^\n]{{0,200}}?(?:[:=–—-]|(?={signs})))?"
            rf"{gap}(?:(?P<yes>{yes})|{no})",
            flags | re.MULTILINE,
        ),
        "noun": re.compile(raw["letter"]["noun"]),
        "sure": re.compile(rf"⟦|[^\x00-\u024f]\s*(?-i:[{letters}])(?=\W)|:\s*(?-i:[{letters}])\W*$", flags),
        "statements": [re.compile(pattern, flags) for pattern in filled],
        "before": re.compile("|".join(f"(?:{pattern})" for pattern in raw["denials"]["before"]), flags),
        "after": re.compile("|".join(f"(?:{pattern})" for pattern in raw["denials"]["after"]), flags),
        "next": re.compile(rf"{joins}{wrapped}(?![A-Za-z0-9_'’&])", flags),
        "previous": re.compile(rf"(?<![A-Za-z0-9_'’&]){wrapped}{joins}(?:(?:option|选项)\s*)?\Z", flags),
    }
