"""The 22 known defects of the official scripts and papers, one test each.

Where a defect moves a number, the official figure (`--compat`) and ours stand beside each other, from the same input.
Where it does not, or where nobody could have got a number, the test shows that ours lacks it. The table of
`docs/concepts/official-scripts.md` follows the same numbers.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from places import doc_page
from pydantic import BaseModel, ValidationError
from scripted_server import Body, serve, words

from reeltalk.cli import app, run
from reeltalk.errors import ModelError, SettingError
from reeltalk.evaluation.answers import AnswerSet, answer_sets
from reeltalk.evaluation.playing.chat import ChatPlayer, answer_prompt
from reeltalk.evaluation.playing.play import HistoryTurn, ShownFrame, TurnInput
from reeltalk.evaluation.playing.script import Step, make_scripts
from reeltalk.evaluation.settings import FrameSettings, PlaySettings
from reeltalk.formats import mt_video_bench
from reeltalk.formats.mt_video_bench_layout import event_of
from reeltalk.judge.checklist import ChecklistJudge, official_replies
from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.measures import Measure
from reeltalk.judge.rating import vdeval_compat
from reeltalk.judge.svbench import SVBenchJudge
from reeltalk.judge.vdeval import VDEval
from reeltalk.llm import Endpoint, MalformedReplyError, Message, Reply, read_record, reply_key
from reeltalk.llm.retrying import Breaker, RetryPolicy, TransientError
from reeltalk.schema.answers import NOT_IN_SOURCE, AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Dialogue, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, Json, VideoId
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.content import Content
from reeltalk.video.sampling import svbench, svbench_published
from reeltalk_build.construct.revising import MIN_QUALITY, write_checked_chain
from reeltalk_build.construct.writers import ChainJudgement
from reeltalk_build.curate.stage import clips_of, clips_of_script
from reeltalk_build.formats import vdact


class Pairs(BaseModel):
    """A chain as a model writes it."""

    questions: list[str]
    answers: list[str]


class Scripted:
    """Says what it is told to, in order, and the last of it again and again; or what a function makes of a request."""

    name = "scripted"
    sees_images = True
    sampling: Mapping[str, Json] = {}

    def __init__(self, *replies: str | Exception | Callable[[Sequence[Message]], str]) -> None:
        self.replies, self.asked = replies, list[list[Message]]()

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        reply = self.replies[min(len(self.asked), len(self.replies) - 1)]
        self.asked.append(list(messages))
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply if isinstance(reply, str) else reply(messages), self.name, None, None, cut_off=False)


def turn(index: int = 0, text: str = "A red cup.", expected: str = "", **more: Any) -> AnsweredTurn:
    items = tuple(ChecklistItem(question=f"Item {n}?", expected=mark == "Y") for n, mark in enumerate(expected))
    given: dict[str, Any] = {
        "model": "m",
        "item_id": f"u/{index + 1:02d}",
        "video_id": "v",
        "unit_id": "u",
        "turn_index": index,
        "question": f"Question {index}?",
        "references": ("A red cup.",),
        "text": text,
        "checklist": Checklist(items=items) if items else None,
    }
    return AnsweredTurn(**{**given, **more})


def unit(*turns: AnsweredTurn, id: str = "u", kind: Any = "dialogue") -> JudgeUnit:
    return JudgeUnit("m", kind, id, "v", turns, task="summary")


def judged(protocol: Any, model: Scripted, *units: JudgeUnit) -> list[JudgedScore]:
    return [row for of in units for row in asyncio.run(protocol.judge(of, model))]


def measured(protocol: Any, model: Scripted, *units: JudgeUnit) -> dict[str, Measure]:
    return {measure.name: measure for measure in protocol.measures(units, judged(protocol, model, *units))}


def says(marks: str) -> str:
    return json.dumps({f"A{n}": "Yes" if mark == "Y" else "No" for n, mark in enumerate(marks, start=1)})


def summary(folder: Path) -> dict[str, dict[str, Any]]:
    rows = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return {row["metric"]: row for row in rows}


def judge_command(source: Path, out: Path, base_url: str, format: str, protocol: str, *more: str) -> list[str]:
    return [
        *("judge", str(source), "--format", format, "--protocols", protocol, "--judge", "tiny"),
        *("--judge-base-url", base_url, "--metrics", "none", "--out", str(out), "--backoff-s", "0.001"),
        *("--null-units", "0", *more),
    ]


def answers_of(content: Content) -> AnswerSet:
    (found,) = answer_sets(content, source="file", sha256="0")
    return found


# ── VDEval ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def rows_of(dialogue: str, *turns: tuple[int, str]) -> list[dict[str, Json]]:
    return [
        {
            "id": f"{dialogue}{number:02d}",
            "dial_id": dialogue,
            "turn_num": number,
            "question": f"What happens in step {number}?",
            "ref_answer": f"Step {number}.",
            "gen_answer": answer,
        }
        for number, answer in turns
    ]


def file_of(folder: Path, name: str, rows: list[dict[str, Json]]) -> Path:
    path = folder / name
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_defect_01_a_file_suffix_stripped_as_characters(tmp_path: Path) -> None:
    """Moves no number, but the name that it stands under: two models may get one name, and one overwrites the other."""
    files = ("nova.json", "sonova.json")
    for file in files:
        file_of(tmp_path, file, rows_of("0000100", (1, f"The answer of {file}.")))
    assert {answer.model for answer in vdact.read(tmp_path).answers} == {"nova", "sonova"}


def test_defect_02_a_rating_that_is_not_a_bare_integer_counts_as_one() -> None:
    """Moves the mean: three right answers, two of them rated in a way that the script cannot read."""
    model = Scripted("Good. So rating=3", "Good. So rating=3.", "Good. So rating=**3**")
    found = measured(VDEval(summary="none", compat=True), model, unit(turn(0), turn(1), turn(2)))
    assert found["vdeval.compat"].value == pytest.approx(5 / 3)
    assert found["vdeval"].value == 3.0
    assert [vdeval_compat(text) for text in ("no marker", "So rating=5", "So rating=0")] == [1, 5, 0]
    out_of_scale = judged(VDEval(summary="none"), Scripted("So rating=5"), unit(turn()))
    assert [row.state for row in out_of_scale] == [ScoreState.UNSCORED]


def test_defect_03_a_failed_batch_waits_for_ever_and_a_gap_in_turns_stops_the_script(tmp_path: Path) -> None:
    """Moves no number, since the script gives none. Ours ends, counts, takes gaps, and goes on after a limit."""
    model = Scripted(ModelError("the server is gone"))
    rows = judged(VDEval(summary="none"), model, unit(turn(0), turn(1)))
    assert [(row.state, row.reason) for row in rows] == [(ScoreState.UNSCORED, "the server is gone")] * 2
    assert len(model.asked) == 2
    gaps = file_of(tmp_path, "gaps.json", rows_of("0000100", (1, "One."), (3, "Three."), (4, "Four.")))
    with serve(lambda _: "Right. So rating=3") as server:
        command = judge_command(gaps, tmp_path / "run", server.base_url, "vdact", "vdeval", "--judge-summary", "none")
        assert run([*command, "--max-calls", "2"]) != 0
        assert not (tmp_path / "run" / "run.json").exists()
        assert run(command) == 0
        assert server.count == 3
    row = summary(tmp_path / "run")["vdeval"]
    assert (row["value"], row["n"], row["unscored"]) == (3.0, 3, 0)


def test_defect_04_duplicate_ids_of_which_the_last_answer_wins(tmp_path: Path) -> None:
    """Moves the mean of a released file, 19 ids of which stand there twice with different answers.

    The dialogue is judged once more with the last answers, for those also stand in the history of later turns.
    """
    rows = rows_of("0000100", (1, "Step 1."), (2, "Step 2."), (2, "An elephant."), (3, "Step 3."))
    source = file_of(tmp_path, "twice.json", rows)

    def rate(body: Body) -> str:
        last = words(body["messages"][-1]).rpartition("Question:")[2]
        return "Wrong. So rating=1" if "elephant" in last else "Right. So rating=3"

    with serve(rate, keep=9) as server:
        arguments = ("--judge-summary", "none", "--compat")
        assert run(judge_command(source, tmp_path / "run", server.base_url, "vdact", "vdeval", *arguments)) == 0
        asked = [words(request["messages"][-1]) for request in server.requests]
    found = summary(tmp_path / "run")
    assert found["vdeval.compat"]["value"] == pytest.approx(7 / 3)
    assert found["vdeval"]["value"] == 3.0
    assert "duplicates:first-of-1" in found["vdeval"]["signature"]
    assert "mode:compat|repeats:last" in found["vdeval.compat"]["signature"]
    # Turn 1 is asked about once; turns 2 and 3 in both histories.
    assert len(asked) == 5
    assert sum("elephant" in text for text in asked) == 2


# ── SVBench ───────────────────────────────────────────────────────────────────────────────────────────────────────────

OFFICIAL_LAYOUT = """Semantic Accuracy:
Score: {score}
Contextual Coherence:
Score: {score}
Logical Consistency:
Score: {score}
Temporal Understanding:
Score: {time}
Informational Completeness:
Score: {score}
Overall Evaluation:
Score: {score}"""


def verdict(score: int, time: int | None = None) -> str:
    dimensions = ("semantic_accuracy", "contextual_coherence", "logical_consistency", "informational_completeness")
    marks = dict.fromkeys((*dimensions, "overall_score"), score)
    return json.dumps({"rationale": "so", "temporal_understanding": score if time is None else time, **marks})


def overall(text: str) -> int:
    """A judge that finds what says WRONG worth 2, as it finds nothing at all, and all else 9."""
    return 2 if "WRONG" in text or "Question 1:" not in text else 9


def svbench_judge(body: Body) -> str:
    text = words(body["messages"][0])
    score = overall(text)
    return verdict(score) if "Overall Evaluation" not in text else OFFICIAL_LAYOUT.format(score=score, time=score)


def svbench_release(folder: Path, videos: Mapping[str, tuple[list[list[str]], list[dict[str, Json]]]]) -> Path:
    """Videos with the answers to each chain's questions, and records of links: first chain, its start, indices."""
    for video, (chains, links) in videos.items():
        pairs = [
            {"questions": [f"{video} {n}.{k}?" for k in range(len(answers))], "answers": ["Right."] * len(answers)}
            for n, answers in enumerate(chains)
        ]
        times = [{"qac_timestamps_start": 10.0 * n, "qac_timestamps_end": 10.0 * n + 10} for n in range(len(chains))]
        documents: dict[str, Json] = {
            f"Dialogue/Dialogue_EN/{video}.json": [
                {"chain": pair, **time} for pair, time in zip(pairs, times, strict=True)
            ],
            f"Answers/m/Dialogue_EN/{video}.json": [
                {"questions": pair["questions"], "gt_answers": pair["answers"], "answers": answers}
                for pair, answers in zip(pairs, chains, strict=True)
            ],
        }
        if links:
            documents[f"Con/Con_EN/{video}.json"] = [
                {
                    "chain_1": pairs[link["from"]] | times[link["from"]] | {"qac_timestamps_start": link["start"]},
                    "chain_2": pairs[link["from"] + 1] | times[link["from"] + 1],
                    "relationship": {"chainBefore": [0], "chainAfter": [0], "relationship": ["Object"]},
                }
                if link
                else {}
                for link in links
            ]
        for name, document in documents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(json.dumps(document), encoding="utf-8")
    return folder


def svbench_figures(tmp_path: Path, videos: Mapping[str, Any], *more: str) -> dict[str, dict[str, Any]]:
    source = svbench_release(tmp_path / "release", videos)
    with serve(svbench_judge) as server:
        command = judge_command(source, tmp_path / "run", server.base_url, "svbench", "svbench", "--compat", *more)
        assert run(command) == 0
    return summary(tmp_path / "run")


def test_defect_05_the_dialogue_script_names_a_variable_that_is_not_there() -> None:
    """Moves no number, since the script cannot run. Relations are optional here."""
    found = measured(SVBenchJudge(), Scripted(verdict(7)), unit(turn(), kind="chain"))
    assert found["svbench.OS"].value == 70.0


def test_defect_06_minus_one_is_lost_and_patterns_reach_across_headings() -> None:
    """Moves the dimensions: "not applicable" counts as 1, and the scale in brackets as the score."""
    official = OFFICIAL_LAYOUT.format(score=8, time=-1).replace("Score: 8", "Score (0-10): 8", 1)
    found = measured(SVBenchJudge(compat=True), Scripted(verdict(8, -1), official), unit(turn(), kind="chain"))
    assert (found["svbench.TU.compat"].value, found["svbench.SA.compat"].value) == (10.0, 0.0)
    assert (found["svbench.TU"].value, found["svbench.SA"].value) == (None, 80.0)
    assert (found["svbench.TU"].not_applicable, found["svbench.TU"].unscored) == (1, 0)


def test_defect_07_empty_replies_for_ever_one_result_file_and_videos_without_links(tmp_path: Path) -> None:
    """The script judges a video without links as well, and that moves its mean; ours judges chains and paths.

    An empty reply ends after the retries, every video has its rows, and an empty linkage links nothing.
    """
    same: list[dict[str, Json]] = [{"from": 0, "start": 0.0}, {}]
    videos = {"linked": ([["Right."], ["Right."]], same), "alone": ([["Right."], ["Right."]], [])}
    found = svbench_figures(tmp_path, videos)
    assert found["svbench.streaming.OS.compat"]["value"] == pytest.approx((90 + 20) / 2)
    assert found["svbench.OS"]["value"] == 90.0
    rows = (tmp_path / "run/scores/judged-svbench.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(row)["video_id"] for row in rows} == {"linked", "alone"}
    with serve(lambda _: "") as server:
        source = svbench_release(tmp_path / "one", {"alone": ([["Right."]], [])})
        command = judge_command(source, tmp_path / "none", server.base_url, "svbench", "svbench", "--max-retries", "2")
        # Where a judge says nothing at all there is no run, and the same command goes on.
        assert run(command) == 2
        # The same words may well give the same reply, so that they are asked once again.
        assert server.count == 2
    assert not (tmp_path / "none" / "run.json").exists()


def test_defect_08_frames_before_the_clip_skipped_scenes_and_names_that_sort_wrongly() -> None:
    """Moves which frames are seen, and a score only through those. Both rules of frames and of clips can be chosen.

    Scenes below 1.5 s are skipped there, so that the clips after them take their places; ours merges them.
    """
    clip = Interval(start_s=40.2, end_s=52.7)
    official, ours = svbench_published(clip), svbench(clip)
    assert (official[0], ours[0]) == (35.0, 41.0)
    assert [sum(time < clip.start_s for time in times) for times in (official, ours)] == [3, 0]
    early = Interval(start_s=0.0, end_s=12.0)
    assert [(times[0], len(times)) for times in (svbench_published(early), svbench(early))] == [(2.0, 6), (0.0, 10)]
    shots = [Interval(start_s=start, end_s=end) for start, end in ((0, 10), (10, 11), (11, 30))]
    assert [(clip.start_s, clip.end_s) for clip in clips_of_script(shots, 30.0)] == [(0, 10), (11, 30)]
    merged = clips_of(shots, 30.0, merge_below_s=2.0, extend_s=0.0)
    assert [(clip.start_s, clip.end_s) for clip in merged] == [(0, 11), (11, 30)]
    numbers = range(9998, 10003)
    by_name = sorted(f"{number:04d}" for number in numbers)
    assert [int(name) for name in by_name] == [10000, 10001, 10002, 9998, 9999]
    late = svbench(Interval(start_s=9998.0, end_s=10003.0))
    assert late == tuple(float(number) for number in numbers)


def test_defect_09_cleaners_delete_backslashes_and_reuse_the_chain_before() -> None:
    """Moves no score: it spoils data. A reply is read as JSON with its backslashes, or not at all."""
    reply = '```json\n{"questions": ["What does \\"stop\\" mean?"], "answers": ["C:\\\\videos"]}\n```'
    found = read_record(reply, Pairs)
    assert (found.questions, found.answers) == (['What does "stop" mean?'], ["C:\\videos"])
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(reply.replace("\\", "").strip("`").removeprefix("json"))
    with pytest.raises(MalformedReplyError):
        read_record("I can see a kitchen, but no questions come to my mind.", Pairs)


def test_defect_10_linked_chains_are_joined_by_equal_times(tmp_path: Path) -> None:
    """Moves the streaming figure: a record of links whose start is spelled in another way is never found.

    The last chain begins no pair. Ours joins by index, and judges every turn of chains and paths.
    """
    chains = [["WRONG."], ["Right."], ["Right."]]
    as_text: list[dict[str, Json]] = [{"from": 0, "start": "00:00:00.000000"}, {"from": 1, "start": 10.0}]
    found = svbench_figures(tmp_path / "a", {"yard": (chains, as_text)})
    assert found["svbench.streaming.OS.compat"]["value"] == 90.0
    assert found["svbench.OS"]["value"] == pytest.approx((20 + 90 + 90) / 3)
    as_number: list[dict[str, Json]] = [{"from": 0, "start": 0.0}, {"from": 1, "start": 10.0}]
    found = svbench_figures(tmp_path / "b", {"yard": (chains, as_number)})
    assert found["svbench.streaming.OS.compat"]["value"] == 20.0
    assert found["svbench.OS"]["value"] == pytest.approx((20 + 90 + 90) / 3)


def test_defect_11_the_quality_script_and_the_averaging_are_missing() -> None:
    """There is no official figure to show. Both are defined here: a gate at 90, and means times ten, n for each."""

    class OneWriter:
        def __init__(self) -> None:
            self.overall = [80.0, 95.0]

        def chain(self, video: Video, clip: Clip, around: object, *, advice: Sequence[str] = ()) -> QAChain:
            verb = "lift" if advice else "carry"
            turn = Turn(question=f"What does the man {verb}?", references=("A heavy crate.",))
            return QAChain(id=ChainId("c"), video_id=VideoId("v"), turns=(turn,))

        def judge(self, video: Video, clip: Clip, chain: QAChain) -> ChainJudgement:
            return ChainJudgement(self.overall.pop(0), {"accuracy": 80.0}, ("too vague",))

    writer: Any = OneWriter()
    video, clip = Video(id=VideoId("v")), Clip(id=ClipId("v/0"), video_id=VideoId("v"))
    _, gates = write_checked_chain(writer, video, clip)
    assert MIN_QUALITY == 90
    assert [(gate.value, gate.outcome.value) for gate in gates if gate.gate.startswith("quality")] == [
        (80.0, "flagged"),
        (95.0, "passed"),
    ]
    units = [unit(turn(), kind="chain", id="a"), unit(turn(), kind="chain", id="b")]
    found = measured(SVBenchJudge(), Scripted(verdict(8, 6), verdict(4, -1)), *units)
    assert (found["svbench.OS"].value, found["svbench.OS"].n) == (60.0, 2)
    assert (found["svbench.TU"].value, found["svbench.TU"].n) == (60.0, 1)


# ── MT-Video-Bench, inference ─────────────────────────────────────────────────────────────────────────────────────────


def conversation() -> list[Message]:
    frames = tuple(ShownFrame(float(second), f"frame {second}".encode()) for second in range(3))
    step = Step("dialogue", "d", 1, Turn(question="And what is in it?"), None)
    past = (HistoryTurn("What does she hold?", "A cup."),)
    seen = TurnInput("And what is in it?", past, frames, (), None, (), step, "v")
    return ChatPlayer(Scripted("Tea."), answer_prompt("mt-video-bench")).conversation(seen)


def test_defect_12_the_history_holds_the_prompt_in_place_of_the_question() -> None:
    """Moves answers, so no reading of them can undo it. A question goes into the history as it was asked."""
    _, first, answer, last = conversation()
    assert (first.text, answer.text) == ("What does she hold?", "A cup.")
    assert last.text == "And what is in it?"
    assert not any("<image>" in message.text for message in conversation())
    assert [len(message.images) for message in (first, last)] == [3, 0]


def test_defect_13_the_history_is_one_string_within_a_chat_role() -> None:
    """Moves answers, as defect 12. Each turn is a message with its role, and no list is printed into a prompt."""
    assert [message.role for message in conversation()] == ["system", "user", "assistant", "user"]
    said = "\n".join(message.text for message in conversation()[1:])
    assert re.search(r"User:|Assistant:|\['|\"\]", said) is None


def test_defect_14_resuming_skips_what_is_not_done(samples: Path, tmp_path: Path) -> None:
    """Moves no number that ours gives: rounds that are left out are asked when a run goes on, and none twice."""
    assert event_of(3) == event_of("3") == event_of("event_3") == "3"
    content = mt_video_bench.read(samples / "mt-video-bench-v2")
    left_out = [row.item_id for row in answers_of(content).others if row.reason == NOT_IN_SOURCE]
    assert "object_reference/夜市/1/01" in left_out, "an empty list is no dialogue that is done"
    assert "object_reference/market_walk/2/02" in left_out, "a dialogue that was begun is not done"
    assert run(["import", "vdact", str(samples / "vdact" / "dialogue.json"), str(tmp_path / "bench")]) == 0
    with serve(lambda _: "Yes.") as server:
        command = ["evaluate", str(tmp_path / "bench"), "--model", "tiny", "--base-url", server.base_url]
        command += ["--policy", "none", "--split", "all", "--metrics", "none", "--out", str(tmp_path / "run")]
        assert run([*command, "--max-calls", "4", "--no-preflight"]) != 0
        assert server.count == 4
        assert run(command) == 0
        assert server.count == 15
    assert len((tmp_path / "run" / "answers.jsonl").read_text(encoding="utf-8").splitlines()) == 15


def test_defect_15_defaults_that_skip_everything_and_flags_that_are_always_true() -> None:
    """Moves no number: nothing is answered. Ours plays all tasks by default, and checks what it is given."""
    dialogue = Dialogue(
        id=DialogueId("d"), video_id=VideoId("v"), task="summary", turns=(Turn(question="Q?", references=("A.",)),)
    )
    content = Content(videos=[Video(id=VideoId("v"))], dialogues=[dialogue])
    assert len(make_scripts(content, PlaySettings())) == 1
    with pytest.raises(SettingError, match="no dialogue has task 'sumary'"):
        make_scripts(content, PlaySettings(tasks=("sumary",)))
    evaluate = ["evaluate", "bench", "--model", "m", "--out", "run"]
    for flag, meant in (("--subtitles", True), ("--no-subtitles", False), ("--subtitles=False", False)):
        _, bound, _ = app.parse_args([*evaluate, flag], exit_on_error=False, print_error=False)
        assert bound.arguments["playing"].subtitles is meant
    assert FrameSettings(square_px=448).size == "square448"
    with pytest.raises(ValidationError, match="greater than or equal to 16"):
        FrameSettings(square_px=7)


def test_defect_16_an_error_message_is_judged_as_an_answer() -> None:
    """Moves the score: an error earns every item that expects No. Ours is unscored, and the judge never sees it."""
    error = turn(text="[ERROR] CUDA out of memory", expected="YYYYN", state=AnswerState.FAILED)
    model = Scripted(says("NNNNN"))
    found = measured(ChecklistJudge(eval_rounds=1, compat=True), model, unit(error))
    assert (found["mtv.compat"].value, found["mtv"].value, found["mtv"].unscored) == (20.0, None, 1)
    assert len(model.asked) == 1
    assert "[ERROR] CUDA out of memory" in model.asked[0][-1].text
    placeholder = turn(expected="YN", text="", state=AnswerState.NOT_ASKED)
    found = measured(ChecklistJudge(eval_rounds=1, compat=True), Scripted(says("NN")), unit(placeholder))
    assert (found["mtv.compat"].value, found["mtv"].value) == (50.0, None)


# ── MT-Video-Bench, judging ───────────────────────────────────────────────────────────────────────────────────────────


def test_defect_17_replies_are_paired_by_order_and_counted_by_what_came_back() -> None:
    """Moves the score in both directions: another order, replies to items that are not there, items left out."""

    def figures(*replies: str) -> tuple[Any, Any]:
        judge = ChecklistJudge(eval_rounds=1, compat=True)
        found = measured(judge, Scripted(*replies), unit(turn(expected="YYN")))
        return found["mtv.compat"].value, found["mtv"].value

    in_another_order = '{"A3": "No", "A2": "Yes", "A1": "Yes"}'
    assert figures(in_another_order, in_another_order) == (33.0, 100.0)
    padded = says("YYYNN")
    assert figures(says("YYY"), padded) == (pytest.approx(40.0), pytest.approx(100 * 2 / 3))
    assert figures(says("YYY"), '{"A1": "Yes"}') == (100.0, pytest.approx(100 * 2 / 3))


def test_defect_18_rounds_that_failed_or_are_missing_vanish_from_the_mean() -> None:
    """Moves the score: the mean is over what is left. Ours counts both as unscored, and withholds the number."""
    judge = ChecklistJudge(eval_rounds=1, compat=True)
    gone = turn(1, "", "YY", state=AnswerState.FAILED, reason=NOT_IN_SOURCE)
    found = measured(judge, Scripted(says("YY")), unit(turn(0, expected="YY"), gone))
    assert (found["mtv.compat"].value, found["mtv"].unscored, found["mtv"].withheld) == (100.0, 1, True)

    def of_two(messages: Sequence[Message]) -> str:
        return "I cannot tell." if "A blue cup." in messages[0].text else says("YY")

    units = unit(turn(0, expected="YY"), id="a"), unit(turn(0, "A blue cup.", expected="YY"), id="b")
    found = measured(judge, Scripted(of_two), *units)
    assert (found["mtv.compat"].value, found["mtv.compat"].withheld) == (100.0, False)
    assert (found["mtv"].value, found["mtv"].n, found["mtv"].unscored, found["mtv"].withheld) == (100.0, 1, 1, True)
    first_version = ChecklistJudge(eval_rounds=1, compat=True, version="v1")
    assert measured(first_version, Scripted(of_two), *units)["mtv.compat"].value == 50.0


def test_defect_19_rounds_kept_from_another_judge_and_replies_that_crash_the_run() -> None:
    """Moves no number that one set of replies gives. What is kept is found by all that it depends on."""
    asked = [Message("user", "Judge this.")]
    keys = {
        reply_key("judge-1", asked),
        reply_key("judge-2", asked),
        reply_key("judge-1", [Message("user", "Judge that.")]),
        reply_key("judge-1", asked, sampling={"temperature": 1.0}),
        reply_key("judge-1", asked, sample=1),
    }
    assert len(keys) == 5
    assert reply_key("judge-1", asked) in keys
    assert official_replies('["Yes", "No"]') is None
    rows = judged(ChecklistJudge(eval_rounds=1, compat=True), Scripted('["Yes"]'), unit(turn(expected="Y")))
    assert [row.state for row in rows] == [ScoreState.UNSCORED, ScoreState.UNSCORED]
    endpoint = Endpoint(model="judge", max_retries=3, give_up_after_s=0)
    policy = RetryPolicy(endpoint, Breaker("judge", give_up_after_s=0))
    for times in (1, 2, 3, 4):
        waits = [policy.wait_s(TransientError("not now", kind="server"), times) for _ in range(50)]
        longer = 2 ** (times - 1)
        assert longer / 2 <= min(waits) <= max(waits) <= 1.5 * longer + 1, "waits grow, by a factor of two each time"


def test_defect_20_a_checklist_item_contradicts_its_reference() -> None:
    """A fault of the data: it lowers every model's score alike. Judged itself, the reference must reach 100 %."""

    def by_colour(messages: Sequence[Message]) -> str:
        return says("YYN" if "A red cup." in messages[0].text else "YNN")

    contradicting = unit(turn(text="A red cup.", expected="YYY"))
    found = measured(ChecklistJudge(eval_rounds=1), Scripted(by_colour), contradicting)
    assert found["mtv"].value == pytest.approx(100 * 2 / 3)
    sound = unit(turn(text="A red cup.", expected="YYN"))
    assert measured(ChecklistJudge(eval_rounds=1), Scripted(by_colour), sound)["mtv"].value == 100.0


# ── papers ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def numbers(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "spec" / "NUMBERS.json").read_text(encoding="utf-8"))
    return found


def test_defect_21_the_axis_of_a_figure_is_permuted(numbers: dict[str, Any]) -> None:
    """The bars with a golden context are those of Table 2 in the alphabetical order of files, not as labelled."""
    table = numbers["MT-Video-Bench"]["v2"]["results"]["Qwen3-VL-8B-Instruct"]
    figure = numbers["MT-Video-Bench"]["v2"]["fig_context_Qwen3-VL-8B_figure_estimate"]
    bars, in_order = figure["golden"], figure["bar_order_corrected"]
    assert in_order == ["AR", "MR", "OR", "PI", "CS", "TS"]
    assert max(abs(table[task] - bar) for task, bar in zip(in_order, bars, strict=True)) < 1
    as_printed = ["OR", "MR", "CS", "AR", "TS", "PI"]
    assert max(abs(table[task] - bar) for task, bar in zip(as_printed, bars, strict=True)) > 30


def test_defect_22_two_tables_give_one_model_two_figures(numbers: dict[str, Any]) -> None:
    """StreamingChat's multi-turn METEOR and GPT4-Score differ from table to table; our page cites both by table."""
    of_four, of_five = numbers["SVBench"]["table4_single_vs_multi"], numbers["SVBench"]["table5_basic_metrics"]
    four = dict(zip(of_four["columns"], of_four["rows"]["StreamingChat"], strict=True))
    five = dict(zip(of_five["columns"], of_five["rows"]["StreamingChat"], strict=True))
    assert (four["METEOR_multi"], four["GPT4Score_multi"]) == (35.58, 57.94)
    assert (five["METEOR"], five["GPT4-Score"]) == (37.58, 57.88)
    page = doc_page("concepts/official-scripts.md").read_text(encoding="utf-8")
    assert "35.58 and 57.94 in Table 4" in page
    assert "37.58 and 57.88 in Table 5" in page


# ── the page ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_and_the_tests_tell_of_the_same_defects() -> None:
    page = doc_page("concepts/official-scripts.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    tested = [match[1] for name in globals() if (match := re.match(r"test_defect_(\d\d)_", name))]
    assert list(map(int, listed)) == sorted(map(int, tested)) == list(range(1, 23))
