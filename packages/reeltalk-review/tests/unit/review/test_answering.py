"""The test: what a person may see, what stands, and how their answers come to the leaderboard."""

from pathlib import Path

import pytest
from team import make_team, small_content

from reeltalk.cli import run
from reeltalk.store.runs import read_run
from reeltalk_review.applying.collected import human_answers
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import add_queue
from reeltalk_review.tasks.answering import answer_drafts


def test_no_reference_and_no_later_question_is_ever_sent(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    with transaction(team.project.database, OPERATOR) as change:
        add_queue(change, "test", "test", answer_drafts(small_content(), "dialogue"), title="Test")
    person = team.member("Ann", "annotator")
    assignment = person.next("test")
    for number in range(3):
        text = person.get(f"/api/work/{assignment}").text
        assert "Secret" not in text
        assert f"Question {number} about" in text
        assert f"Question {number + 1} about" not in text
        early = person.save(assignment, str(number + 1), {"text": "x", "given": True})
        assert early.status_code in (409, 422)
        assert person.save(assignment, str(number), {"text": "typing", "given": False}).status_code == 200
        assert person.save(assignment, str(number), {"text": f"Answer {number}", "given": True}).status_code == 200
        changed = person.save(assignment, str(number), {"text": "Better", "given": True})
        assert (changed.status_code, changed.json()["error"]["code"]) == (409, "locked")
        assert person.api("POST", f"/api/work/{assignment}/undo").status_code == 409
    assert person.api("POST", f"/api/work/{assignment}/submit").status_code == 200
    assert "Secret" not in person.get(f"/api/work/{assignment}").text
    with team.project.database.reading() as session:
        assert [(row.model, row.turn_index, row.text) for row in human_answers(session)] == [
            ("human", 0, "Answer 0"), ("human", 1, "Answer 1"), ("human", 2, "Answer 2"),
        ]  # fmt: skip
    team.project.database.close()


def test_in_a_stream_the_video_ends_at_each_question() -> None:
    content = small_content(1)
    chain = content.chains[0]
    turns = tuple(turn.model_copy(update={"asked_at_s": 2.0 * n + 1}) for n, turn in enumerate(chain.turns))
    content.chains[0] = chain.model_copy(update={"turns": turns})
    (draft,) = answer_drafts(content, "streaming")
    assert [turn["until_s"] for turn in draft.content["turns"]] == [1.0, 3.0, 5.0]
    (after,) = answer_drafts(content, "dialogue")
    assert [turn["until_s"] for turn in after.content["turns"]] == [10.0, 10.0, 10.0], "the clip's end"


@pytest.mark.parametrize("mode", ["dialogue", "streaming"])
def test_people_become_the_human_row(tmp_path: Path, mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    team = make_team(tmp_path)
    bench = str(tmp_path / "bench")
    assert run(["review", "add", bench, "test", "--mode", mode, "--split", "test"]) == 0
    assert "3 tasks; 1 person does each" in capsys.readouterr().out
    person = team.member("Ann", "annotator")
    for _ in range(3):
        assignment = person.next(f"test-{mode}")
        film = person.get(f"/api/work/{assignment}").json()["unit"]["video"]["id"]
        for number in range(3):
            person.save(assignment, str(number), {"text": f"Secret answer {number} of {film}.", "given": True})
        assert person.api("POST", f"/api/work/{assignment}/submit").status_code == 200
    people = tmp_path / "people"
    assert run(["review", "export", bench, str(people), "--only", "answers"]) == 0
    assert "9 answers" in capsys.readouterr().out
    assert run(["review", "export", bench, str(people), "--only", "answers"]) == 2
    assert run(["review", "export", bench, str(tmp_path / "more"), "--only", "answers", "--person", "2"]) == 2
    team.project.database.close()
    arguments = ["evaluate", bench, "--model", f"human:{people}", "--out", str(tmp_path / "run"), "--mode", mode]
    code = run([*arguments, "--metrics", "rouge_l"])
    assert code == 0, capsys.readouterr().err
    found = read_run(tmp_path / "run")
    assert found.info.models[0].source.startswith("human:")
    assert {row.metric: row.value for row in found.summary}["rouge_l"] == pytest.approx(1.0)
