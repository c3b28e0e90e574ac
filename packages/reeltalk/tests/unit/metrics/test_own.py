"""Metrics of the user's own: values with intervals as any other, or one error that says what to mend."""

from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.errors import SettingError
from reeltalk.metrics.scoring import metric_names, score_texts
from reeltalk.store.runs import read_run

GOOD = """
def contains_reference(answers, references):
    return [any(text.lower() in answer.lower() for text in group) for answer, group in zip(answers, references)]
"""


def metric(folder: Path, text: str, function: str = "contains_reference") -> str:
    (folder / "mine.py").write_text(text, encoding="utf-8")
    return f"python:{folder / 'mine.py'}:{function}"


def test_it_is_a_mean_with_its_file_in_the_signature(tmp_path: Path) -> None:
    mine = metric(tmp_path, GOOD)
    found = score_texts(["A red cup.", "No."], [["red cup"], ["Yes."]], [mine, "token_f1"])
    assert list(found) == ["contains_reference", "token_f1"]
    result = found["contains_reference"]
    assert (result.corpus, result.per_item.tolist()) == (0.5, [1.0, 0.0])
    changed = metric(tmp_path, GOOD + "\n# another version\n")
    again = score_texts(["A red cup.", "No."], [["red cup"], ["Yes."]], [changed])["contains_reference"]
    assert result.signature.startswith("python:contains_reference#")
    assert again.signature != result.signature


def test_score_writes_it_beside_others(tmp_path: Path, samples: Path) -> None:
    command = ["score", str(samples / "vdact/results"), "--format", "vdact", "--out", str(tmp_path / "run")]
    assert run([*command, "--metrics", f"token_f1,{metric(tmp_path, GOOD)}"]) == 0
    rows = {row.metric: row for row in read_run(tmp_path / "run").summary if row.model == "careful-8f"}
    # Its turns are about fewer than four videos.
    assert rows["contains_reference"].value is not None
    assert rows["contains_reference"].low is None
    assert "python:contains_reference#" in rows["contains_reference"].signature
    assert run(["report", str(tmp_path / "run"), "--out", str(tmp_path / "site")]) == 0
    assert "contains reference" in (tmp_path / "site/index.html").read_text(encoding="utf-8").replace("_", " ")


@pytest.mark.parametrize(
    ("text", "function", "problem"),
    [
        (GOOD, "other", "has no function 'other'"),
        ("def f(answers, references):\n    return [1.0]\n", "f", r"must give 2 numbers.*shape \(1,\)"),
        ("def f(answers, references):\n    return [1.0, float('nan')]\n", "f", "gave nan"),
        ("def f(answers, references):\n    raise OSError('no file')\n", "f", "failed: OSError: no file"),
        ("def f(answers):\n    return answers\n", "f", "failed: TypeError"),
        ("def token_f1(answers, references):\n    return [0, 0]\n", "token_f1", "two metrics are called 'token_f1'"),
        ("import nothing_like_this\n", "f", "No module named"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, text: str, function: str, problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        score_texts(["a", "b"], [["a"], ["b"]], ["token_f1", metric(tmp_path, text, function)])


def test_an_unknown_name_tells_of_own_metrics() -> None:
    with pytest.raises(SettingError, match=r"python:FILE\.py:FUNCTION"):
        metric_names(["contains_reference"])
