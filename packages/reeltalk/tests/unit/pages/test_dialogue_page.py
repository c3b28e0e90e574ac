"""The page of a dialogue: answers before references, marks, names of labels, and what is folded."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reeltalk.analysis.standings import group_title
from reeltalk.pages.site import label_mark
from reeltalk.pages.stage import write_report
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]


def page_of(run: Run, folder: Path, name: str = "dialogues/d1.html") -> str:
    folder.mkdir()
    write_report([run], folder)
    return (folder / name).read_text(encoding="utf-8")


def test_answers_come_before_the_reference_with_marks_and_folded_judgements(
    make_paired_run: RunMaker, tmp_path: Path
) -> None:
    scores = {"good": 0.9, "bad": 0.1, "none": None}
    run = make_paired_run(
        {
            name: {"d1/01": ("v1", {} if value is None else {"clair": value}), "d1/02": ("v1", {"clair": 0.6})}
            for name, value in scores.items()
        },
        texts={(name, "d1/01"): f"the answer of {name}" for name in scores},
    )
    page = page_of(run, tmp_path / "site")
    turn = page[page.index('id="turn-1"') : page.index('id="turn-2"')]
    answers = turn.index('class="answers"'), turn.index("the answer of good"), turn.index("a man washes a mug")
    assert list(answers) == sorted(answers)
    marks = [re.findall(r'class="(right|wrong)"', answer) for answer in turn.split("<li>")[1:]]
    assert marks == [["right"], ["wrong"], []]
    assert '<details class="judged"><summary>Judged</summary>' in turn
    assert "Right</span>: CLAIR gives the answer more than 50 % of the credit." in page


@pytest.mark.parametrize(("models", "folded"), [(6, False), (7, True)])
def test_many_answers_are_folded_by_model(models: int, folded: bool, make_paired_run: RunMaker, tmp_path: Path) -> None:
    run = make_paired_run({f"m{n}": {"d1/01": ("v1", {"match": 60.0})} for n in range(models)})
    page = page_of(run, tmp_path / "site")
    assert page.count("<li><details><summary>") == (models if folded else 0)
    assert page.count('class="said" dir="auto">a man<') == models


def test_labels_and_tasks_are_named_and_codes_are_tooltips(make_paired_run: RunMaker, tmp_path: Path) -> None:
    run = make_paired_run(
        {"alpha": {"d1/01": ("v1", {"match": 60.0})}},
        tasks={"d1": "memory_recall"},
        labels={"d1/01": {"vdact.question_type": ("T-SEQ",), "own": ("my_label",)}},
    )
    page = page_of(run, tmp_path / "site")
    chips = re.findall(r'<span class="label" dir="auto" title="([^"]+)">([^<]+)</span>', page)
    assert [name for _, name in chips] == ["Memory recall", "Sequence", "my label"]
    assert chips[1][0] == "VDAct&#39;s question types: T-SEQ"
    finder = (tmp_path / "site" / "turns.html").read_text(encoding="utf-8")
    assert 'data-name="vdact.question_type:T-SEQ">Sequence (T-SEQ)</option>' in finder


def test_a_dialogue_shows_its_title_with_the_name_small_beside(make_paired_run: RunMaker, tmp_path: Path) -> None:
    run = make_paired_run({"alpha#0123abcd": {"d1/01": ("v1", {"match": 60.0}), "d2/01": ("v2", {"match": 60.0})}})
    page = page_of(run, tmp_path / "site")
    assert '<h1 dir="auto">d1 · v1</h1>' in page, "the only question is the heading of its turn"
    assert '<p class="id">dialogue d1 · video v1</p>' in page
    assert 'title="What? · 1 question · v2"' in page
    assert re.search(r'<span dir="auto">alpha</span> <span class="id">0123abcd</span>', page)


def test_a_group_is_named_by_the_vocabulary_of_its_kind() -> None:
    assert group_title("question_type", "T-SEQ") == group_title("vdact.question_type", "T-SEQ") == "Sequence"
    assert group_title("skill", "STS") == "Spatio-temporal speculation"
    assert group_title("video_length", "<60 s") == "<60 s"
    assert label_mark("skill", "CR") == '<abbr title="CR">Counterfactual reasoning</abbr>'
    assert label_mark("own", "<b>") == '<span dir="auto">&lt;b&gt;</span>'
