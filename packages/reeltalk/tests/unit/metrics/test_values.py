"""BLEU, ROUGE-L, CIDEr, token F1, exact match: by hand, by property, and against reference values."""

import json
import math
import os
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT, TESTS

from reeltalk.errors import SettingError
from reeltalk.metrics import token_metrics
from reeltalk.metrics.meteor import MeteorProcess, find_jar
from reeltalk.metrics.scoring import METRICS, metric_names, score_texts
from reeltalk.metrics.token_metrics import Corpus

GOLDEN = TESTS / "golden" / "metrics" / "coco_values.json"

tokens = st.lists(st.sampled_from("abcde"), max_size=8)
corpora = st.lists(st.tuples(tokens, st.lists(tokens, min_size=1, max_size=3)), min_size=1, max_size=6)


def corpus_of(*items: tuple[str, list[str]]) -> Corpus:
    return Corpus([answer.split() for answer, _ in items], [[text.split() for text in group] for _, group in items])


def slow_lcs(first: list[str], second: list[str]) -> int:
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def slow_cider(items: list[tuple[list[str], list[list[str]]]]) -> list[float]:
    """The paper's formulas with the COCO code's choices, n-gram by n-gram."""

    def counts(words: list[str], n: int) -> dict[tuple[str, ...], int]:
        grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
        return {gram: grams.count(gram) for gram in grams}

    values = []
    for answer, group in items:
        total = 0.0
        for reference in group:
            for n in range(1, 5):
                weight = {}
                for gram in {**counts(answer, n), **counts(reference, n)}:
                    seen = sum(any(gram in counts(other, n) for other in others) for _, others in items)
                    weight[gram] = math.log(len(items)) - math.log(max(seen, 1))
                a = {gram: k * weight[gram] for gram, k in counts(answer, n).items()}
                r = {gram: k * weight[gram] for gram, k in counts(reference, n).items()}
                product = sum(min(a[gram], r[gram]) * r[gram] for gram in a.keys() & r.keys())
                norms = math.sqrt(sum(v * v for v in a.values())) * math.sqrt(sum(v * v for v in r.values()))
                difference = max(len(answer) - 1, 0) - max(len(reference) - 1, 0)
                total += (product / norms if norms else product) * math.exp(-(difference**2) / 72)
        values.append(total / 4 / len(group) * 10)
    return values


class TestByHand:
    def test_bleu(self) -> None:
        # 4 of 5 words, 2 of 4 word pairs; as long as the reference, so no penalty.
        corpus = corpus_of(("a b c x e", ["a b c d e"]))
        values = token_metrics.bleu_from_statistics(token_metrics.bleu_statistics(corpus))[0]
        assert values[:2] == pytest.approx([4 / 5, math.sqrt(4 / 5 * 2 / 4)], abs=1e-8)

    def test_bleu_takes_the_nearest_reference_length_and_the_best_count(self) -> None:
        corpus = corpus_of(("a a b", ["a x x x x x", "a a y y"]))
        matched, answer_length, reference_length = token_metrics.bleu_statistics(corpus)[0, [0, 8, 9]]
        assert (matched, answer_length, reference_length) == (2, 3, 4)
        assert token_metrics.bleu_from_statistics(token_metrics.bleu_statistics(corpus))[0, 0] == pytest.approx(
            2 / 3 * math.exp(1 - 4 / 3)
        )

    def test_rouge_l(self) -> None:
        # Common: a c e, precision 3/4, recall 3/5.
        expected = (1 + 1.44) * 0.75 * 0.6 / (0.6 + 1.44 * 0.75)
        assert token_metrics.rouge_l_per_item(corpus_of(("a c x e", ["a b c d e"])))[0] == pytest.approx(expected)

    def test_token_f1_and_exact_match_take_the_best_reference(self) -> None:
        corpus = corpus_of(("a b", ["c d", "a b"]), ("a b", ["a c c"]), ("", ["a"]))
        assert token_metrics.token_f1_per_item(corpus).tolist() == [1.0, pytest.approx(2 / 5), 0.0]
        assert token_metrics.exact_match_per_item(corpus).tolist() == [1.0, 0.0, 0.0]

    def test_cider_of_answers_equal_to_their_references_is_ten(self) -> None:
        corpus = corpus_of(("a b c d", ["a b c d"]), ("e f g h", ["e f g h"]))
        assert token_metrics.cider_per_item(corpus).tolist() == pytest.approx([10, 10])


@given(corpora)
def test_lcs_equals_the_table_algorithm(items: list[tuple[list[str], list[list[str]]]]) -> None:
    for answer, group in items:
        first, second = [ord(t) for t in answer], [ord(t) for t in group[0]]
        assert token_metrics.longest_common_subsequence(first, second) == slow_lcs(answer, group[0])


@given(corpora)
def test_cider_equals_its_formulas(items: list[tuple[list[str], list[list[str]]]]) -> None:
    corpus = Corpus([answer for answer, _ in items], [group for _, group in items])
    assert token_metrics.cider_per_item(corpus).tolist() == pytest.approx(slow_cider(items), abs=1e-9)


@given(corpora)
def test_bleu_statistics_count_what_they_say(items: list[tuple[list[str], list[list[str]]]]) -> None:
    statistics = token_metrics.bleu_statistics(Corpus([answer for answer, _ in items], [group for _, group in items]))
    for row, (answer, group) in zip(statistics, items, strict=True):
        pairs = list(pairwise(answer))
        most = {pair: max(list(pairwise(other)).count(pair) for other in group) for pair in pairs}
        matched = sum(min(pairs.count(pair), count) for pair, count in most.items())
        assert row[1] == matched
        assert row[5] == len(pairs)


def test_values_with_several_references_and_empty_texts() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    corpus = corpus_of(*zip(golden["answers"], golden["references"], strict=True))
    statistics = token_metrics.bleu_statistics(corpus)
    whole, items = (
        token_metrics.bleu_from_statistics(statistics.sum(axis=0, keepdims=True))[0],
        token_metrics.bleu_from_statistics(statistics),
    )
    per_item = {"rouge_l": token_metrics.rouge_l_per_item(corpus), "cider": token_metrics.cider_per_item(corpus)}
    values = {name: float(column.mean()) for name, column in per_item.items()}
    for n in range(4):
        per_item[f"bleu_{n + 1}"], values[f"bleu_{n + 1}"] = items[:, n], float(whole[n])
    assert "" in golden["answers"]
    assert max(map(len, golden["references"])) > 2
    for name, expected in golden["corpus"].items():
        assert values[name] == pytest.approx(expected, rel=1e-9), name
        assert np.abs(per_item[name] - golden["per_item"][name]).max() <= 1e-9, name


def test_reference_values_of_all_released_files(shared: Path) -> None:
    """Origin: the COCO caption evaluation code on the same files, first row of a duplicate id."""
    expected = json.loads((shared / "reference" / "vdact_text_metrics.json").read_text(encoding="utf-8"))
    names = {"rouge_l": "ROUGE_L", "cider": "CIDEr", **{f"bleu_{n}": f"Bleu_{n}" for n in range(1, 5)}}
    for file, values in expected.items():
        rows = json.loads((shared / "data/vdact/results" / file).read_text(encoding="utf-8"))
        kept = {row["id"]: row for row in reversed(rows)}
        ordered = [kept[item] for item in dict.fromkeys(row["id"] for row in rows)]
        results = score_texts(
            [row["gen_answer"] for row in ordered],
            [[row["ref_answer"]] for row in ordered],
            ["bleu", "rouge_l", "cider"],
        )
        for name, result in results.items():
            assert result.corpus == pytest.approx(values[names[name]], rel=1e-9), (file, name)
            whole = result.from_sums(result.statistics.sum(axis=0, keepdims=True), np.array([float(len(ordered))]))
            assert whole[0] == pytest.approx(result.corpus, rel=1e-12)


def test_reference_values_of_each_pair(shared: Path) -> None:
    name = "vdact_text_metrics_per_pair_videollama2-8f.json"
    expected = json.loads((shared / "reference" / name).read_text(encoding="utf-8"))
    rows = json.loads((shared / "data/vdact/results/test-videollama2-8f.json").read_text(encoding="utf-8"))
    by_id = {row["id"]: row for row in reversed(rows)}
    results = score_texts(
        [by_id[item]["gen_answer"] for item in expected["ids"]],
        [[by_id[item]["ref_answer"]] for item in expected["ids"]],
        ["bleu", "rouge_l", "cider"],
    )
    for ours, theirs in (("bleu_1", "bleu1"), ("bleu_4", "bleu4"), ("rouge_l", "rouge_l"), ("cider", "cider")):
        assert np.abs(results[ours].per_item - np.array(expected[theirs])).max() <= 1e-9


def meteor_jar() -> Path:
    """The jar that is installed, named by the environment, or of the baseline that `make test-full` installs."""
    baseline = ROOT / "build" / "bench" / "venv"
    named = os.environ.get("REELTALK_METEOR_JAR")
    jar = Path(named) if named else find_jar() or next(baseline.rglob("meteor-1.5.jar"), None)
    if jar is None or shutil.which("java") is None:
        pytest.skip("no Java or no meteor-1.5.jar here; make test-full installs the jar beside the project")
    return jar


def test_meteor_equals_the_jar_on_a_released_file(shared: Path) -> None:
    jar = meteor_jar()
    expected = json.loads((shared / "reference" / "vdact_text_metrics.json").read_text(encoding="utf-8"))
    file = "test-videollama2-8f.json"
    rows = json.loads((shared / "data/vdact/results" / file).read_text(encoding="utf-8"))
    with MeteorProcess(jar=jar) as meteor:
        result = score_texts(
            [row["gen_answer"] for row in rows], [[row["ref_answer"]] for row in rows], ["meteor"], meteor=meteor
        )["meteor"]
    assert result.corpus == pytest.approx(expected[file]["METEOR"], rel=1e-9)
    assert "meteor:1.5|jar:" in result.signature
    name = "vdact_text_metrics_per_pair_videollama2-8f.json"
    per_pair = json.loads((shared / "reference" / name).read_text(encoding="utf-8"))
    order = {row["id"]: index for index, row in enumerate(rows)}
    ours = result.per_item[[order[item] for item in per_pair["ids"]]]
    assert np.abs(ours - np.array(per_pair["meteor"])).max() <= 1e-9


@pytest.mark.slow
def test_meteor_equals_the_reference_values_of_all_released_files(shared: Path) -> None:
    """One process, six files."""
    expected = json.loads((shared / "reference" / "vdact_text_metrics.json").read_text(encoding="utf-8"))
    with MeteorProcess(jar=meteor_jar()) as meteor:
        for file, values in expected.items():
            rows = json.loads((shared / "data/vdact/results" / file).read_text(encoding="utf-8"))
            kept = list({row["id"]: row for row in reversed(rows)}.values())
            result = score_texts(
                [row["gen_answer"] for row in kept], [[row["ref_answer"]] for row in kept], ["meteor"], meteor=meteor
            )["meteor"]
            assert result.corpus == pytest.approx(values["METEOR"], rel=1e-9), file


def test_meteor_of_a_resample_is_that_of_its_items() -> None:
    """Statistics add up: what the bootstrap computes is what METEOR gives for the same items, equal ones included."""
    jar = meteor_jar()
    answers = ["the man washes a mug", "he sits down", "no he does not", "a cat"] * 3
    references = [["a man is washing the mug"], ["he sits down"], ["no"], ["the dog sleeps", "a cat sleeps"]] * 3
    with MeteorProcess(jar=jar) as meteor:
        result = score_texts(answers, references, ["meteor"], meteor=meteor)["meteor"]
        chosen = [0, 0, 1, 1, 3, 5, 6]
        again = score_texts([answers[i] for i in chosen], [references[i] for i in chosen], ["meteor"], meteor=meteor)
    summed = result.from_sums(result.statistics[chosen].sum(axis=0, keepdims=True), np.array([7.0]))
    assert summed[0] == pytest.approx(again["meteor"].corpus, abs=1e-12)


def test_unknown_metrics_are_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingError, match=r"unknown metric 'blue'; known are bleu, meteor"):
        metric_names(["blue"])
    assert metric_names(["cider", "bleu", "cider"]) == ["cider", "bleu_1", "bleu_2", "bleu_3", "bleu_4"]
    assert set(METRICS) >= {"bleu", "meteor", "rouge_l", "cider"}


def test_an_empty_answer_scores_zero_and_counts() -> None:
    results = score_texts(["", "a dog"], [["a cat"], ["a dog"]], ["bleu", "rouge_l", "cider", "token_f1"])
    for result in results.values():
        assert len(result.per_item) == 2
        assert result.per_item[0] == pytest.approx(0, abs=1e-6)


def test_an_empty_file_and_an_item_without_reference_are_mistakes_of_the_caller() -> None:
    with pytest.raises(ValueError, match="need as many references as answers, and some"):
        score_texts([], [], ["bleu"])
    with pytest.raises(ValueError, match="item 1 has no reference"):
        score_texts(["a dog", "a cat"], [["a dog"], []], ["bleu"])


def test_metrics_that_need_a_tool_say_so() -> None:
    with pytest.raises(SettingError, match="meteor needs a running METEOR"):
        score_texts(["a dog"], [["a dog"]], ["meteor"])
    with pytest.raises(SettingError, match="similarity needs an embedder"):
        score_texts(["a dog"], [["a dog"]], ["similarity"])


def test_chinese_is_signed_as_such() -> None:
    result = score_texts(["他走了。"], [["她走了。"]], ["bleu"])["bleu_1"]
    assert "tok:sacrebleu-zh" in result.signature
    assert result.corpus == pytest.approx(3 / 4, abs=1e-8)


@pytest.mark.parametrize(
    ("references", "lacking"),
    [
        ([["A red cup."], ["A blue cup."]], set()),
        ([["A red cup."], ["A red cup."]], {"cider"}),
        ([["A red cup."]], {"cider"}),
        ([["Красная чашка."], ["Синяя чашка."]], {"bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider"}),
    ],
)
def test_a_number_that_would_mean_nothing_is_not_given(references: list[list[str]], lacking: set[str]) -> None:
    unscored: dict[str, str] = {}
    metrics = ["bleu", "rouge_l", "cider"]
    found = score_texts(["A red cup."] * len(references), references, metrics, unscored=unscored)
    assert set(unscored) == lacking
    assert set(found) == set(metric_names(metrics)) - lacking
    words = "another script" if len(lacking) > 1 else "all these references are the same"
    assert all(words in why for why in unscored.values())
    if lacking:
        with pytest.raises(SettingError, match=words):
            score_texts(["A red cup."] * len(references), references, ["cider"])


def test_an_empty_answer_has_the_lowest_value_of_every_metric() -> None:
    metrics = ["bleu", "rouge_l", "cider", "token_f1"]
    found = score_texts(["", "A blue cup."], [["A red cup."], ["A blue cup."]], metrics)
    assert {name: result.per_item[0] for name, result in found.items()} == dict.fromkeys(found, 0.0)
