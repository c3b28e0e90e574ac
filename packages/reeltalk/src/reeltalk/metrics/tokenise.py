"""Splits text into the tokens that text metrics count.

English follows the COCO caption evaluation: Penn Treebank tokens in lower case, without a list of punctuation. The
rules were written from the tokens that evaluation gives for released answers and for invented sentences
(`tests/golden/coco_tokens.json`) and from the public description of Penn Treebank tokenisation. Chinese is
split by sacreBLEU's `zh` tokeniser. Known differences from the COCO tokens are listed in
`docs/reference/metrics.md`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Final, Literal

from reeltalk.schema.runs import is_withheld
from reeltalk.store.rows import database_errors, temporary_database

Spoken = Literal["en", "zh"]
Language = Literal["auto", "en", "zh"]

TOKENISER: Final[dict[Spoken, str]] = {"en": "coco", "zh": "sacrebleu-zh"}
"""Name of the tokeniser of each language in signatures."""

REMOVED: Final = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"])
"""Tokens that the COCO evaluation removes. Its list also has brackets, but in upper case, and it is applied to lower
case: round and curly brackets stay, as `-lrb-` and the like."""

_CHARACTERS: Final = str.maketrans(
    {
        "‘": "`",
        "“": ' " ',
        "”": ' " ',
        "«": " ",
        "»": " ",
        "‹": " ",
        "›": " ",
        "—": " -- ",
        "–": " -- ",
        "…": " ... ",
        "\u00ad": None,
        "½": " 1/2 ",
        "¼": " 1/4 ",
        "¾": " 3/4 ",
        "⅓": " 1/3 ",
        "⅔": " 2/3 ",
        "¢": " cents ",
        **{digit: f" {digit} " for digit in "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉"},
        "£": "#",
        "€": "$",
        "₠": "$",
        "¤": "$",
    }
)
_ENTITIES: Final = {"&amp;": " & ", "&lt;": " < ", "&gt;": " > ", "&quot;": '"', "&apos;": "'", "&nbsp;": " "}
_ENTITY: Final = re.compile("|".join(_ENTITIES))
_UNKNOWN: Final = re.compile(
    "[\x7f-\x84\x86-\x9f\u0482\u0488\u0489\u200b-\u200f\u2012\u2015\u2024\u2025\u2027\u202a-\u202e\u203c\u203d\u2043"
    "\u2045-\u205e\u2060-\u206f\u20a1-\u20a3\u20a5-\u20ab\u20ad-\u20c0\u20d0-\u20f0\u2150-\u2152\u215f-\u2182\u2185-\u218b"
    "\u2e00-\u2e2e\u2e30-\u2e5d\u3003\u3004\u3007-\u3011\u3013-\u3030\u3036-\u303a\u303d-\u303f\ufe00-\ufe19\ufe20-\ufe52"
    "\ufe54-\ufe66\ufe68-\ufe6b\ufeff\uffe2-\uffe4\uffe8-\uffee\ufff9-\ufffd\U00010000-\U0010ffff]"
)
"""Characters that the evaluation drops, ending a word there. Found by testing each character."""
_BRACKETS: Final = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}

_ABBREVIATIONS: Final = (
    "mr|mrs|ms|mme|mlle|messrs|drs?|prof|st|ste|sgt|gen|lt|capt|col|maj|cmdr|adm|rev|hon|sens?|reps?|gov|pres|jr|sr|esq|"
    "cpl|pfc|pvt|det|insp|supt|atty|md|treas|vs|etc|cf|est|ext|tel|al|inc|cos?|corp|ltd|plc|bros|intl|natl|mfg|pty|"
    "ave|blvd|rd|rt|ct|sq|ft|mt|bldg|dept|univ|assn|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu|thurs|fri|ph\\.d|"
    "ala|ariz|calif|colo|conn|dak|fla|ga|ind|kan|ky|mich|minn|mo|mont|neb|nev|okla|tenn|va|vt|wis|wyo"
)
"""Abbreviations that keep their full stop wherever they stand."""
_CAPITALISED: Final = ("Ark", "Del", "Ill", "La", "Mass", "Miss", "Ore", "Pa", "Tex", "Wash")
"""States that are words in lower case; they keep the full stop only with a capital."""
_BEFORE_NUMBER: Final = "art|ca|figs?|nos?|op|pp|prop"

_SENTENCE_STARTS: Final = (
    "The|A|An|In|He|She|It|They|We|You|This|That|These|There|Here|When|What|If|But|So|Then|Her|Their|Our|At|As|After|"
    "While|Some|Many|One|Now|However|Since|Once|Other|Such|According"
)
"""Before one of these words, the full stop of a single letter ends a sentence."""

_L: Final = r"[^\W\d_]"  # a letter of any script
_A: Final = r"[^\W_]"  # a letter or digit
_CLITIC: Final = r"'(?:s|m|d|re|ve|ll)(?!\w)"
_CURLY_CLITIC: Final = re.compile(r"’(?=(?:s|m|d|re|ve|ll)(?!\w))|(?<=n)’(?=t(?!\w))", re.IGNORECASE)
"""Where a curly apostrophe comes out straight; in `o’clock` and `’em` it stays curly."""
_WORD_ENDS: Final = rf"(?!\w|[-/_]{_A}|{_CLITIC})"

_TOKEN: Final = re.compile(
    rf"""
      -[lr][rsc]b-                                           # a bracket spelt out already
    | https?://[^\s"<>|(){{}}.]{{1,253}}\.[^\s"<>|(){{}}]*[^\s"<>|(){{}}.!?,-]
    | www\.(?:{_A}[\w-]*\.)*{_A}(?:[\w-]*{_A})?
    | {_A}[^\s"<>|()@]{{0,64}}@(?:[^\s"<>|().@]+\.)*[^\s"<>|().@]+   # foo@bar.com, and what sticks to it
    | <(?!https?:)(?:/?{_A}[^\s<>]*)>                                   # a markup tag
    | >?[:;=](?:-|'-?)?(?:[()](?!\w)|[\]\[|{{@]|(?-i:[DPpO])(?!\w)) | :3  # smileys
    | \^_\^
    | \(\d{{3}}\)(?=\ ?\d{{3}}[- ]?\d{{4}}(?!\w))            # (555) 123-4567
    | can(?=not{_WORD_ENDS}) | (?<=can)not(?!\w)
    | gon(?=na{_WORD_ENDS}) | got(?=ta{_WORD_ENDS}) | wan(?=na{_WORD_ENDS})
    | lem(?=me{_WORD_ENDS}) | gim(?=me{_WORD_ENDS})
    | 't(?=(?:is|was)(?!\w))
    | {_CLITIC}
    | n['`]t(?!\w)
    | (?:'n'|’n’)(?={_A}) | ['’](?:em|cause|til|n['’]|n)(?!\w) | ['’]\d0s | ['’]\d\d(?![\w"'.?!])
    | y(?!{_CLITIC})['’](?={_L})
    | (?-i:[A-Z]+(?:&[A-Z]+)+)(?!\w)
    | (?!etc\.)(?:{_A}+\.)+-{_A}+(?:-{_A}+)*                # U.S.-based
    | (?:{_L}\.){{2,}}(?!\w)                                   # a.m., U.S.
    | {_L}\.(?!\w)(?!\ (?-i:{_SENTENCE_STARTS})(?![\w/]))      # the letter A., but not plan B. The
    | {_L}\.(?=\d)
    | (?:{_ABBREVIATIONS})\.(?!\w)
    | (?-i:{"|".join((*_CAPITALISED, *map(str.upper, _CAPITALISED)))})\.(?!\w)
    | (?:{_BEFORE_NUMBER})\.(?=\ ?\d)
    | {_A}[\w-]*\.(?=[,;:])
    | ol['’](?!\w)
    | (?-i:[A-Z]+\$) | c\+\+ | [cCfF]\#
    | \d+(?:\.\d+)?e-\d+
    | (?:(?<!\w)-|(?<=:\d\d)-|(?<=:\d)-|\+)?\d+(?::\d+)+     # a time, to -17:00 perhaps
    | (?<=:\d\d)-\d+ | (?<=:\d)-\d+
    | [-+]?\d+(?:(?:/\d+)+|(?:[,.]\d+)+)(?:-{_A}+)*(?!\w)
    | (?:(?<!\w)-|\+)?\d+(?:[,.:]\d+)+                       # 2.5 of 2.5kg
    | (?:(?<!\w)-|\+)\d+
    | [.,]\d+(?:[,.:]\d+)*
    | {_L}+?(?=n['`]t(?!\w))                               # the verb before n't
    | {_A}+(?='n(?!\w)|’n(?!\w))
    | {_L}{_A}*(?:\.{_L}{_A}*)+(?:-{_A}+)*                    # example.com, and a space that is missing
    | {_A}+(?:[\u0300-\u036f]+{_A}*)*
      (?:[-‐‑/_?!]{_A}+(?:[\u0300-\u036f]+{_A}*)*|['’](?!(?:s|m|d|re|ve|ll|n|nt)(?!\w)){_L}{{2,}})*
    | \#{_L}\w* | @{_A}\w*
    | [!?]+ | \.+ | -+ | \*+ | '' | `+ | _+
    | \S
    """,
    re.VERBOSE | re.IGNORECASE,
)


def tokenise_coco(text: str) -> list[str]:
    """Tokens of one English answer as the COCO caption evaluation counts them.

    Returns:
        Lower-case tokens without punctuation; empty for a text of punctuation alone.
    """
    if not text.isascii():
        text = _UNKNOWN.sub(" ", text.translate(_CHARACTERS))
        if "’" in text:
            text = _CURLY_CLITIC.sub("'", text)
    if "&" in text:
        text = _ENTITY.sub(lambda match: _ENTITIES[match.group()], text)
    tokens: list[str] = []
    for token in _TOKEN.findall(text):
        lowered = token.lower()
        if lowered in _DROPPED or (lowered[0] in ".-" and not lowered.strip(lowered[0])):
            continue
        if lowered[-1] in "()[]{}":
            # In a smiley, and nowhere else but alone, stands a round bracket that is spelt out.
            lowered = _BRACKETS.get(lowered) or lowered.replace("(", "-lrb-").replace(")", "-rrb-")
        tokens.append(lowered)
    return tokens


_DROPPED: Final = REMOVED | {'"', "’"}


_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_OTHER_WORD: Final = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
"""A word of a script that is neither Chinese nor kana."""
CHARACTERS_A_WORD: Final = 1.5
"""Han characters that count as one word in a mixed text: *他使用 iPhone* is Chinese, *The sign says 出口* is not."""


def languages_of(references: Sequence[Sequence[str]], language: Language = "auto") -> list[Spoken]:
    """The language in which each item is tokenised: the language of its references, not of the answer.

    An item is Chinese if its references have more than `CHARACTERS_A_WORD` Han characters for each word of another
    script. References without a word, as *42*, take the language of most items; all others are English.

    Args:
        references: References of each item.
        language: A language for all items; `auto` to detect it.
    """
    if language != "auto":
        return [language] * len(references)
    found = [_language_of(" ".join(group)) for group in references]
    most: Spoken = "zh" if found.count("zh") > found.count("en") else "en"
    return [own or most for own in found]


OTHER_SCRIPTS: Final = re.compile(r"[\u0370-\u1cff\u3040-\u30ff\uac00-\ud7af]")
"""Letters of scripts that no tokeniser of ours splits: Greek to Mongolian, kana and Hangul."""


def why_not_tokenised(references: Iterable[Sequence[str]]) -> str | None:
    """Why tokens of answers mean nothing for these references; None if they can be split into words."""
    items = other = 0
    for group in references:
        letters = [letter for text in group for letter in text if letter.isalpha()]
        items += 1
        other += 2 * sum(OTHER_SCRIPTS.match(letter) is not None for letter in letters) > len(letters)
    if not is_withheld(items - other, other):
        return None
    return f"it splits English and Chinese into words, and {other:,} of {items:,} references are in another script"


def languages_by_item(
    references: Iterable[tuple[str, Sequence[str]]], language: Language = "auto"
) -> dict[str, Spoken]:
    """The language of each item of a run, by its id.

    Args:
        references: Id and references of every turn of every model, with and without an answer, so that the items of all
            models have the same languages.
        language: A language for all items; `auto` to detect it.
    """
    if language != "auto":
        return {item_id: language for item_id, _ in references}
    schema = "CREATE TABLE texts (item, text, han, words, PRIMARY KEY (item, text)) WITHOUT ROWID; BEGIN"
    with closing(temporary_database(schema)) as database, database_errors():
        # The models of a run have the same references, or nearly: each different one counts once. An item without
        # references counts, too.
        texts = ((item_id, text, *_counted(text)) for item_id, group in references for text in (group or ("",)))
        database.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?, ?, ?)", texts)
        found: dict[str, Spoken | None] = {}
        for item_id, han, words in database.execute("SELECT item, sum(han), sum(words) FROM texts GROUP BY item"):
            found[item_id] = ("zh" if han > CHARACTERS_A_WORD * words else "en") if han or words else None
    spoken = Counter(found.values())
    most: Spoken = "zh" if spoken["zh"] > spoken["en"] else "en"
    return {item_id: own or most for item_id, own in found.items()}


def _language_of(text: str) -> Spoken | None:
    han, words = _counted(text)
    if not han and not words:
        return None
    return "zh" if han > CHARACTERS_A_WORD * words else "en"


def _counted(text: str) -> tuple[int, int]:
    """Numbers of Han characters, and of words of another script."""
    return len(_HAN.findall(text)), len(_OTHER_WORD.findall(text))


def language_parts(languages: Iterable[Spoken]) -> str:
    """Languages, tokenisers and case for a signature: `tok:coco|lang:en|case:lc`; several are `lang:per-item`."""
    kinds = sorted(set(languages))
    lang = kinds[0] if len(kinds) == 1 else "per-item"
    return f"tok:{'+'.join(TOKENISER[kind] for kind in kinds)}|lang:{lang}|case:lc"


def tokenise(text: str, language: Spoken) -> list[str]:
    """Tokens of one text in the language of its item."""
    return tokenise_coco(text) if language == "en" else tokenise_chinese(text)


def tokenise_chinese(text: str) -> list[str]:
    """Tokens of a Chinese text: single Han characters, words of other scripts, punctuation."""
    from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

    spaced = str(TokenizerZh()(text))  # type: ignore[no-untyped-call]
    return spaced.lower().split()
