"""Every rule that is data does what its examples say."""

from pathlib import Path

import pytest
from places import SOURCES

from reeltalk.language.rules import RuleFile

FILES = sorted(
    path
    for source in SOURCES
    for path in source.rglob("*.toml")
    if "\n[patterns." in path.read_text(encoding="utf-8") and "\nright = " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_rule_is_found_in_its_right_examples_only(path: Path) -> None:
    rules = RuleFile(path)
    failed = [(name, text, due) for name, text, due in rules.examples() if bool(rules.find(name, text)) is not due]
    assert failed == []


def test_there_are_rules_with_examples() -> None:
    assert {"text_rules", "answer_reading"} <= {path.stem for path in FILES}
