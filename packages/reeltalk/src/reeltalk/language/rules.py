r"""Rules and word lists as data: TOML files beside the code that applies them, each rule with its examples.

    [words]
    beginning = "start starts begin"

    [phrases]
    with_tool = "with | using | by using"

    [parts]
    MEDIUM = '(?:videos?|clips?)'

    [patterns.attached]
    any = ['\bno {MEDIUM} was attached\b', '\bplease send the {MEDIUM}\b']
    ignore_case = true
    right = ["No video was attached."]
    wrong = ["He sends the parcel."]

In a pattern, `{MEDIUM}` is a part, and `{words:beginning}` any of a list's words. One test tries all examples.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

_PART: Final = re.compile(r"\{([A-Z_]+)\}|\{words:(\w+)\}")


class Rule(BaseModel):
    """A pattern that is looked for in a text, with examples."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    any: tuple[str, ...]
    """Regular expressions; one of them must be found."""
    at: Literal["anywhere", "start", "whole"] = "anywhere"
    """Where in the text it must be found."""
    ignore_case: bool = False
    multiline: bool = False
    right: tuple[str, ...] = ()
    """Texts in which it is found."""
    wrong: tuple[str, ...] = ()
    """Texts in which it is not found."""
    rule: str = ""
    """Name of the rule that it belongs to, in files whose rules have several patterns."""
    says: str = ""
    """What is wrong with a text in which it is found."""
    only_of: tuple[str, ...] = ()
    """The kinds of texts that it is for; all by default."""
    not_of: tuple[str, ...] = ()
    """Kinds of texts that it is not for."""
    unless: str = ""
    """Name of a pattern: where that is found, this one does not count."""


class RuleFile:
    """The rules of one file.

    Args:
        path: A TOML file.
    """

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        self.raw: dict[str, Any] = tomllib.loads(self.text)
        """All tables, for data that is neither words nor patterns."""
        self.words: Mapping[str, frozenset[str]] = {
            name: frozenset(words.split()) for name, words in self.raw.get("words", {}).items()
        }
        """Lists of single words by name."""
        self.phrases: Mapping[str, tuple[str, ...]] = {
            name: tuple(" ".join(phrase.split()) for phrase in phrases.split("|"))
            for name, phrases in self.raw.get("phrases", {}).items()
        }
        """Lists of phrases by name."""
        self.rules: Mapping[str, Rule] = {
            name: Rule.model_validate(rule) for name, rule in self.raw.get("patterns", {}).items()
        }
        """Rules by the name of their pattern."""
        self._compiled: dict[str, re.Pattern[str]] = {}

    def pattern(self, name: str) -> re.Pattern[str]:
        """The compiled pattern of a rule."""
        if name not in self._compiled:
            rule = self.rules[name]
            flags = (re.IGNORECASE if rule.ignore_case else 0) | (re.MULTILINE if rule.multiline else 0)
            self._compiled[name] = re.compile("|".join(map(self._filled, rule.any)), flags)
        return self._compiled[name]

    def find(self, name: str, text: str) -> re.Match[str] | None:
        """Where a rule is found in a text; None if it is not.

        Args:
            name: Name of the rule's pattern.
        """
        rule, pattern = self.rules[name], self.pattern(name)
        if rule.unless and self.find(rule.unless, text):
            return None
        if rule.at == "anywhere":
            return pattern.search(text)
        return pattern.match(text) if rule.at == "start" else pattern.fullmatch(text)

    def faults(self, rule: str, text: str, of: str = "") -> Iterator[str]:
        """What the patterns of a rule find wrong with a text; the same is said once.

        Args:
            rule: Name of the rule.
            of: The kind of text.
        """
        from reeltalk.errors import shorten

        said = set[str]()
        for name, one in self.rules.items():
            if one.rule != rule or one.says in said or of in one.not_of or (one.only_of and of not in one.only_of):
                continue
            if match := self.find(name, text):
                said.add(one.says)
                yield f"{one.says}: {shorten(match[0].strip() or text)}"

    def examples(self) -> Iterator[tuple[str, str, bool]]:
        """The examples of all rules: name of the pattern, text, and whether it is found there."""
        for name, rule in self.rules.items():
            yield from ((name, text, True) for text in rule.right)
            yield from ((name, text, False) for text in rule.wrong)

    def _filled(self, pattern: str) -> str:
        def put(match: re.Match[str]) -> str:
            if match[2]:
                return "|".join(sorted(self.words[match[2]], key=lambda word: (-len(word), word)))
            return self._filled(self.raw["parts"][match[1]])

        return _PART.sub(put, pattern)


@cache
def read_rules(path: Path) -> RuleFile:
    """The rules of a file, read once.

    Args:
        path: A TOML file.
    """
    return RuleFile(path)
