"""Official figures beside ours, from the command line: `reeltalk judge --compat` on published files."""

import json
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Body, serve, words

from reeltalk.cli import run
from reeltalk.schema.answers import NOT_IN_SOURCE, AnsweredTurn, AnswerState
from reeltalk.store.runs import read_run

MALFORMED = ("Right. So rating=3.", "Partly. So rating=**2**", "I would say 3.", "Partly. So rating=2")
"""What the judge says of the first, second, third and any further turn."""
MEANT = (3, 2, 3, 2)
AS_THE_SCRIPT_READS = (1, 1, 1, 2)


def malformed(body: Body) -> str:
    if len(body["messages"]) > 2:
        return "It is right. So rating=3"
    turn = words(body["messages"][1]).count("Question: ")
    return MALFORMED[min(turn, len(MALFORMED)) - 1]


def of_turn(values: tuple[int, ...], turn: AnsweredTurn) -> int:
    return values[min(turn.turn_index, len(values) - 1)]


def judge(base_url: str, source: Path, out: Path, *more: str) -> int:
    model = ("--judge", "tiny", "--judge-base-url", base_url, "--backoff-s", "0.001", "--null-units", "0")
    return run(["judge", str(source), "--out", str(out), "--metrics", "none", *model, *more])


def test_vdeval_and_what_the_official_script_makes_of_malformed_replies(samples: Path, tmp_path: Path) -> None:
    with serve(malformed) as server:
        more = ("--format", "vdact", "--protocols", "vdeval", "--judge-summary", "none", "--compat")
        assert judge(server.base_url, samples / "vdact" / "results" / "careful-8f.json", tmp_path / "run", *more) == 0
    made = read_run(tmp_path / "run")
    turns = list(made.answers())
    rows = {row.metric: row for row in made.summary}
    for metric, values in (("vdeval", MEANT), ("vdeval.compat", AS_THE_SCRIPT_READS)):
        mean = sum(of_turn(values, turn) for turn in turns) / len(turns)
        assert rows[metric].value == pytest.approx(mean)
        assert rows[f"{metric}.percentile"].value == pytest.approx((mean - 1) / 2)
        assert (rows[metric].n, rows[metric].unscored) == (15, 0)
    assert rows["vdeval"].value != rows["vdeval.compat"].value
    assert "|mode:compat|" in rows["vdeval.compat"].signature
    assert "mode:compat" not in rows["vdeval"].signature
    # Both come from the same replies: the script's from the first one.
    judged = {(row.unit_id, row.turn_index, row.criterion): row for row in made.judged("vdeval")}
    third = [turn for turn in turns if turn.turn_index == 2]
    assert third
    for turn in third:
        ours, official = (judged[turn.unit_id, 2, criterion] for criterion in ("vdeval", "vdeval.compat"))
        assert ours.replies == ("I would say 3.", "It is right. So rating=3")
        assert official.replies == ours.replies[:1]


def test_without_compat_there_is_no_official_figure(samples: Path, tmp_path: Path) -> None:
    with serve(malformed) as server:
        more = ("--format", "vdact", "--protocols", "vdeval", "--judge-summary", "none")
        assert judge(server.base_url, samples / "vdact" / "results" / "careful-8f.json", tmp_path / "run", *more) == 0
    assert [row.metric for row in read_run(tmp_path / "run").summary if "compat" in row.metric] == []


def test_a_release_that_holds_summaries_needs_no_benchmark_beside_it(samples: Path, tmp_path: Path) -> None:
    with serve(malformed, keep=99) as server:
        more = ("--format", "vdact", "--protocols", "vdeval", "--judge-summary", "template")
        judge(server.base_url, samples / "vdact", tmp_path / "run", *more)
        asked = [words(request["messages"][1]) for request in server.requests]
    assert asked
    assert all(text.startswith("Summary: ") for text in asked)


def test_an_error_in_a_published_file_is_judged_by_the_script_and_unscored_for_us(
    samples: Path, tmp_path: Path
) -> None:
    seen: list[str] = []

    def say(body: Body) -> str:
        text = words(body["messages"][0])
        seen.append(text)
        replies: dict[str, Any] = {"A1": "No", "A2": "No", "A3": "No", "A4": "No", "A5": "No"}
        if "The keys of your reply" in text:
            keys = text.rpartition("exactly once: ")[2].strip().split(", ")
            replies = {key: "Yes" for key in keys}
        return json.dumps(replies)

    with serve(say) as server:
        more = ("--format", "mt-video-bench", "--protocols", "checklist", "--eval-rounds", "1", "--compat")
        assert judge(server.base_url, samples / "mt-video-bench-v2", tmp_path / "run", *more) == 1
    made = read_run(tmp_path / "run")
    failed = next(turn for turn in made.answers() if turn.text.startswith("[ERROR]"))
    assert failed.state is AnswerState.FAILED
    ours, official = (
        next(row for row in made.judged("checklist") if (row.unit_id, row.turn_index, row.criterion) == key)
        for key in ((failed.unit_id, failed.turn_index, name) for name in ("accuracy", "accuracy.compat"))
    )
    # Three items, expected Yes, No, Yes, and five replies No.
    assert (ours.value, ours.reason) == (None, f"the model gave no answer: {failed.reason}")
    assert official.value == 0.2
    shown = [text for text in seen if "[ERROR]" in text]
    assert len(shown) == 1
    assert "The keys of your reply" not in shown[0]
    rows = {row.metric: row for row in made.summary}
    # The dialogue of which the file holds no answer at all is unscored here, and vanishes there.
    gone = [turn for turn in made.answers() if turn.reason == NOT_IN_SOURCE and turn.checklist]
    assert [turn.unit_id for turn in gone] == ["object_reference/夜市/1"]
    ability = rows["mtv.object_reference"]
    assert (ability.n, ability.unscored, ability.value, ability.over_scored) == (1, 2, None, 80.0)
    without = {f"the model gave no answer: {reason}" for reason in (failed.reason, NOT_IN_SOURCE)}
    assert ability.reasons == dict.fromkeys(without, 1)
    assert rows["mtv.compat.object_reference"].n == 1
    assert rows["mtv.compat.object_reference"].unscored == 1
    assert rows["mtv.compat.object_reference"].value is not None


def test_turns_that_another_file_of_the_model_answers_are_not_missing(samples: Path, tmp_path: Path) -> None:
    rows = json.loads((samples / "vdact" / "results" / "careful-8f.json").read_text(encoding="utf-8"))
    assert run(["import", "vdact", str(samples / "vdact" / "dialogue.json"), str(tmp_path / "bench")]) == 0
    for name, part in (("a", rows[:4]), ("b", rows[4:12])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "m.json").write_text(json.dumps(part), encoding="utf-8")
    files = [str(tmp_path / name / "m.json") for name in ("a", "b")]
    command = ["judge", *files, "--format", "vdact", "--bench", str(tmp_path / "bench"), "--metrics", "rouge_l"]
    assert run([*command, "--protocols", "match", "--out", str(tmp_path / "run")]) == 1
    found = {row.metric: row for row in read_run(tmp_path / "run").summary if row.model == "m"}
    assert [(found[name].n, found[name].unscored) for name in ("rouge_l", "match")] == [(12, 3), (6, 2)]
    # Long references are left to a judge, whether or not there is an answer.
    assert found["match"].not_applicable == 7
    assert [found[name].reasons for name in ("rouge_l", "match")] == [
        {f"the model gave no answer: {NOT_IN_SOURCE}": count} for count in (3, 2)
    ]
    assert found["rouge_l"].value is found["match"].value is None
