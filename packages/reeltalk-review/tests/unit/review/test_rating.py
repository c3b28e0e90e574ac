"""People rate answers on a judge's own scale, blind, and `calibrate` reads what they gave."""

from pathlib import Path

import pytest
from team import make_team

from reeltalk.cli import run
from reeltalk.errors import InputError, SettingError
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import ModelInfo, RunInfo
from reeltalk.schema.scoring import ScoreState
from reeltalk.store.runs import write_run
from reeltalk_review.applying.collected import human_scores
from reeltalk_review.errors import InvalidValue
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import add_queue
from reeltalk_review.tasks.rating import RatingTask, load_scale, rating_drafts, rating_scales


def answers(models: tuple[str, ...] = ("alpha-net", "beta-net"), videos: int = 3) -> list[AnsweredTurn]:
    return [
        AnsweredTurn(
            model=model,
            item_id=f"chain-film{video}/{index}",
            video_id=f"film{video}",
            unit="chain",
            unit_id=f"chain-film{video}",
            turn_index=index,
            question=f"Question {index} about film{video}?",
            references=("The reference.",),
            text=f"An answer {index}.",
        )
        for model in models
        for video in range(videos)
        for index in range(3)
    ]


@pytest.mark.parametrize("name", list(rating_scales()))
def test_every_scale_takes_all_its_marks_and_no_other(name: str) -> None:
    scale = load_scale(name)
    content = rating_drafts(answers(), scale)[0].content
    task = RatingTask()
    place = task.places(content)[0]
    for criterion in scale.criteria:
        for mark in criterion.marks:
            stored = task.check(content, place, {"marks": {criterion.name: mark}})
            assert stored["marks"] == {criterion.name: mark}
        for mark in (criterion.lowest - criterion.step, criterion.highest + criterion.step, criterion.lowest + 0.01):
            with pytest.raises(InvalidValue, match="goes from"):
                task.check(content, place, {"marks": {criterion.name: mark}})
        assert set(criterion.levels), "every level is described"
    whole = {criterion.name: criterion.highest for criterion in scale.criteria}
    assert task.is_decided(task.check(content, place, {"marks": whole}))
    assert not task.is_decided(task.check(content, place, {"marks": {}}))


def test_a_mark_that_does_not_apply_is_taken_where_that_can_be() -> None:
    content = rating_drafts(answers(), load_scale("svbench"))[0].content
    task = RatingTask()
    assert task.check(content, "whole", {"marks": {"TU": None}})["marks"] == {"TU": None}
    with pytest.raises(InvalidValue, match="always applies"):
        task.check(content, "whole", {"marks": {"SA": None}})
    with pytest.raises(InvalidValue, match="no criterion"):
        task.check(content, "whole", {"marks": {"XY": 3}})


def test_units_are_mixed_and_the_same_for_a_seed() -> None:
    first = [draft.target_id for draft in rating_drafts(answers(), load_scale("vdeval"), seed=1)]
    assert first == [draft.target_id for draft in rating_drafts(answers(), load_scale("vdeval"), seed=1)]
    assert first != [draft.target_id for draft in rating_drafts(answers(), load_scale("vdeval"), seed=2)]
    assert len(first) == len(set(first)) == 6


def test_raters_never_learn_whose_answers_they_rate_and_marks_come_out_when_all_are_in(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    with transaction(team.project.database, OPERATOR) as change:
        drafts = rating_drafts(answers(), load_scale("vdeval"))
        add_queue(change, "rating", "rating-vdeval", drafts, title="Rate", overlap=2)
    people = [team.member("Ann", "annotator"), team.member("Ben", "annotator")]
    units = []
    for person, mark in zip(people, (3, 2), strict=True):
        assignment = person.next("rating-vdeval")
        for address in (f"/work/{assignment}", f"/api/work/{assignment}", "/"):
            assert "-net" not in person.get(address).text
        work = person.get(f"/api/work/{assignment}").json()
        units.append(work["unit"]["id"])
        assert work["unit"]["content"]["turns"][0]["answer"] == "An answer 0."
        for place in work["places"]:
            saved = person.save(assignment, place, {"marks": {"vdeval": mark}, "note": ""})
            assert saved.status_code == 200, saved.text
        with team.project.database.reading() as session:
            assert list(human_scores(session)) == []
        assert person.api("POST", f"/api/work/{assignment}/submit").status_code == 200
    assert units[0] == units[1]
    with team.project.database.reading() as session:
        rows = list(human_scores(session))
    assert sorted((row.judge, row.turn_index, row.value) for row in rows) == [
        ("human:Ann", 0, 3.0), ("human:Ann", 1, 3.0), ("human:Ann", 2, 3.0),
        ("human:Ben", 0, 2.0), ("human:Ben", 1, 2.0), ("human:Ben", 2, 2.0),
    ]  # fmt: skip
    assert {row.state for row in rows} == {ScoreState.SCORED}
    assert {row.model for row in rows} <= {"alpha-net", "beta-net"}
    team.project.database.close()


def test_ratings_from_the_command_line_calibrate_judges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    team = make_team(tmp_path)
    bench = tmp_path / "bench"
    models = ("alpha-net", "beta-net", "floor")
    sources = {"floor": "baseline:constant"}
    info = RunInfo(
        kind="score",
        reeltalk_version="1",
        subject="test.answers",
        models=tuple(
            ModelInfo(model=model, source=sources.get(model, "answers.json"), sha256="0" * 64, rows=9, items=9)
            for model in models
        ),
        metrics=(),
        clusters=3,
    )
    write_run(tmp_path / "run", info, answers=answers(models), items=[], summary=[], curves=[])
    assert run(["review", "add", str(bench), "rate", str(tmp_path / "run"), "--scale", "rating", "--overlap", "1"]) == 0
    assert "6 tasks; " in capsys.readouterr().out, "the floor is not rated"
    assert run(["review", "add", str(bench), "rate", str(tmp_path / "run"), "--scale", "rating"]) == 2
    assert "already" in capsys.readouterr().err
    out = tmp_path / "people.jsonl"
    assert run(["review", "export", str(bench), str(out), "--only", "ratings"]) == 2
    assert "in yet" in capsys.readouterr().err
    person = team.member("Ann", "annotator")
    for _ in range(6):
        assignment = person.next("rating-rating")
        for place in ("0", "1", "2"):
            person.save(assignment, place, {"marks": {"correctness": 1 + int(place)}})
        assert person.api("POST", f"/api/work/{assignment}/submit").status_code == 200
    assert run(["review", "export", str(bench), str(out), "--only", "ratings"]) == 0
    assert "18 ratings" in capsys.readouterr().out
    team.project.database.close()
    from reeltalk.analysis.human_ratings import human_ratings

    found = human_ratings([], [out], [])
    assert len(found.ratings) == 18
    assert {rating.rater for rating in found.ratings} == {"Ann"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = [", "TOML"),
        ("a = 1\nb = 2", "one table"),
        ('[a]\nversion = "1"\nunit = "turn"\ncriteria = []', "criteria"),
        (
            '[a]\nversion = "1"\nunit = "turn"\n[[a.criteria]]\nname = "x"\ntitle = "X"\nlowest = 0\nhighest = 1\n'
            'step = 0.3\nlevels = { "1" = "good" }',
            "whole steps",
        ),
    ],
)
def test_a_scale_that_is_none_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=says):
        load_scale(str(file))
    with pytest.raises(SettingError, match="known are"):
        load_scale("nothing")
