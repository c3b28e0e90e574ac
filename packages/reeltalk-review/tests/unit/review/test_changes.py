"""The page on which an owner sees what settled work would change in the benchmark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from people_at_work import decide, full_content, unit_id, verdicts
from team import Team, make_team

from reeltalk_review.applying.differences import FieldChange
from reeltalk_review.applying.stage import apply_reviews
from reeltalk_review.routes import changes


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """A team of one owner and one annotator."""
    found = make_team(tmp_path, full_content())
    yield found
    found.project.database.close()


def test_an_owner_sees_word_by_word_what_will_change(team: Team) -> None:
    owner, ada = team.member("Olga", "owner"), team.member("Ada", "annotator")
    assert "The benchmark has all finished work." in owner.get("/changes").text
    unit = unit_id("turns", "chains", "a")
    edit = {"decision": "edit", "question": "What is <b>a1</b>?", "note": "clearer"}
    rejected = {"decision": "reject", "reasons": ["leaks"]}
    decide(team.project, ada.id, unit, verdicts(team.project, unit, {"0": rejected, "1": edit}))
    page = owner.get("/changes").text
    assert f'href="/units/{unit}"' in page
    assert '<h3>Turn 1: removed, <span class="soft">leaks</span></h3>' in page
    assert '<del><span class="unseen"> gone: </span>a0?</del>' in page
    assert "What is &lt;b&gt;</ins>a1<ins>" in page.replace('<span class="unseen"> new: </span>', "")
    assert "Turn 3" not in page
    assert ada.get("/changes").status_code == 403
    apply_reviews(team.project)
    assert unit not in owner.get("/changes").text


def test_many_changes_are_shown_some_tasks_at_a_time(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "ON_A_PAGE", 2)
    owner, ada = team.member("Olga", "owner"), team.member("Ada", "annotator")
    for name in "abc":
        unit = unit_id("turns", "chains", name)
        decide(team.project, ada.id, unit, verdicts(team.project, unit, {"0": {"decision": "edit", "question": "Q?"}}))
    first, second = owner.get("/changes").text, owner.get("/changes?page=2").text
    assert (first.count("<h2>"), second.count("<h2>")) == (2, 1)
    assert 'href="/changes?page=2"' in first
    assert 'href="/changes?page=1"' in second
    assert "There are no more changes." in owner.get("/changes?page=9").text


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("the red car", "the blue car", [("same", "the "), ("del", "red"), ("ins", "blue"), ("same", " car")]),
        ("红色的车", "蓝色的车", [("del", "红"), ("ins", "蓝"), ("same", "色的车")]),
        ("", "new", [("ins", "new")]),
        ("a\n\nb", "a\n\nb", [("same", "a\n\nb")]),
    ],
)
def test_words_are_marked_where_they_differ(before: str, after: str, pieces: list[tuple[str, str]]) -> None:
    assert list(FieldChange("question", before, after).pieces) == pieces
