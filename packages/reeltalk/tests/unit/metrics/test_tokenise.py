"""Tokens of the COCO caption evaluation, without Java."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import TESTS

from reeltalk.metrics.tokenise import (
    language_parts,
    languages_by_item,
    languages_of,
    tokenise_chinese,
    tokenise_coco,
    why_not_tokenised,
)

GOLDEN = TESTS / "golden"
OBSERVED = GOLDEN / "metrics" / "coco_tokens.json"


@pytest.mark.parametrize(("file", "at_least"), [(GOLDEN / "coco_tokens.json", 400), (OBSERVED, 800)])
def test_golden_tokens(file: Path, at_least: int) -> None:
    golden = json.loads(file.read_text(encoding="utf-8"))
    wrong = [(text, tokens, tokenise_coco(text)) for text, tokens in golden["pairs"] if tokenise_coco(text) != tokens]
    assert len(golden["pairs"]) > at_least
    assert wrong == []


def test_the_known_differences_are_these() -> None:
    """Text, tokens of the COCO evaluation, ours. A difference that goes away moves to the pairs."""
    for text, theirs, ours in json.loads(OBSERVED.read_text(encoding="utf-8"))["known_differences"]:
        assert tokenise_coco(text) == ours != theirs, text


def test_every_token_of_a_released_file(shared: Path) -> None:
    """4,524 references and answers, token by token."""
    reference = json.loads(
        (shared / "reference" / "vdact_text_metrics_per_pair_videollama2-8f.json").read_text(encoding="utf-8")
    )
    rows = json.loads((shared / "data/vdact/results/test-videollama2-8f.json").read_text(encoding="utf-8"))
    by_id = {row["id"]: row for row in reversed(rows)}
    wrong = [
        (item, field, tokens[0], tokenise_coco(by_id[item][field]))
        for field, column in (("ref_answer", "ref_tok"), ("gen_answer", "hyp_tok"))
        for item, tokens in zip(reference["ids"], reference[column], strict=True)
        if tokenise_coco(by_id[item][field]) != tokens[0].split()
    ]
    assert len(reference["ids"]) == 4524
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a 2.5kg bag, 1,000m away", "a 2.5 kg bag 1,000 m away"),
        ("from 9:00-17:00", "from 9:00 -17:00"),
        ("they’re at O’Brien’s", "they 're at o’brien 's"),
        ("a well‑known 50‑year‑old", "a well‑known 50‑year‑old"),  # with no-break hyphens, as models like to write
        ("rock'n'roll", "rock 'n' roll"),
        ("see http://example.com/a, then", "see http://example.com/a then"),
        ("it sat in the living-room.Then", "it sat in the living-room then"),
        ("A$5 or C$5", "a$ 5 or c$ 5"),
        ("good :D ok ❤️", "good :d ok ❤"),
        ("", ""),
        (" \t\n ", ""),
        ("?!", "?!"),
        ("... -- ; .", ""),
    ],
)
def test_tokens_of(text: str, tokens: str) -> None:
    assert tokenise_coco(text) == tokens.split()


def test_line_feeds_and_tabs_are_spaces() -> None:
    assert tokenise_coco("He sits.\nHe\tstands.") == tokenise_coco("He sits. He stands.")


@given(st.text(max_size=60))
def test_any_text_gives_lower_case_tokens_without_spaces(text: str) -> None:
    for token in tokenise_coco(text):
        assert token
        assert token == token.lower() or token.lower() != token.lower().lower()
        assert not any(character.isspace() for character in token)


def test_chinese_is_split_into_characters() -> None:
    assert tokenise_chinese("他把TV打开了。") == ["他", "把", "tv", "打", "开", "了", "。"]


def test_each_item_has_the_language_of_its_references() -> None:
    assert languages_of([["他走了"], ["是的。"], ["42"]]) == ["zh", "zh", "zh"]
    assert languages_of([["He left."], [""], ["42"], ["Чашка"]]) == ["en", "en", "en", "en"]
    assert languages_of([["他走了"], ["He left."], ["A cup."], ["3"]]) == ["zh", "en", "en", "en"]
    assert languages_of([["42"], []]) == ["en", "en"]
    assert languages_of([["他走了"], ["He left."]], "zh") == ["zh", "zh"]
    assert languages_of([]) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The sign says 出口.", "en"),
        ("She says 你好 to him.", "en"),
        ("他使用iPhone打电话。", "zh"),
        ("他穿着红色T恤。", "zh"),
        ("第3个", "zh"),
        ("これは赤いカップです", "zh"),
    ],
)
def test_a_mixed_text_has_the_language_of_most_of_it(text: str, language: str) -> None:
    assert languages_of([[text]]) == [language]


@pytest.mark.parametrize(
    ("references", "split"),
    [
        ([["He left."], ["他走了"], ["42"], [""]], True),
        ([["Él abre la puerta."], ["Țară și oraș"], ["naïve café"]], True),
        ([["Чашка"]], False),
        ([["カップです"]], False),
        ([["한국어 컵"]], False),
        ([["كوب أحمر"]], False),
        ([["แก้วสีแดง"]], False),
        ([["लाल कप"]], False),
        ([["κούπα"]], False),
        ([["The sign says Чашка."]], True),
        ([["He left."]] * 49 + [["Чашка"]], True),
        ([["He left."]] * 48 + [["Чашка"]], False),
    ],
)
def test_scripts_that_are_not_split_into_words_are_said_to_be_none(references: list[list[str]], split: bool) -> None:
    why = why_not_tokenised(references)
    assert (why is None) is split
    assert why is None or f"of {len(references)} references are in another script" in why


def test_models_that_answer_other_items_are_tokenised_alike() -> None:
    both = languages_by_item([("a", ("他走了",)), ("b", ("42",)), ("b", ("四十二",)), ("c", ("He left.",))])
    assert {item: both[item] for item in "abc"} == {"a": "zh", "b": "zh", "c": "en"}
    assert language_parts(both.values()) == "tok:coco+sacrebleu-zh|lang:per-item|case:lc"
    assert language_parts(["en", "en"]) == "tok:coco|lang:en|case:lc"
