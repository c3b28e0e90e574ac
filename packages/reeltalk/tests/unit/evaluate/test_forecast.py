"""A forecast counts what an evaluation then asks: the same requests, and about as many tokens."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Body, serve, words

from reeltalk.evaluation.dry_run import (
    TOKEN_ERROR,
    CountingModel,
    EvaluationForecast,
    StandIn,
    estimate_tokens,
    forecast_evaluation,
    forecast_lines,
    stand_in_reply,
)
from reeltalk.evaluation.models import ModelConfig, create_judges, create_model
from reeltalk.evaluation.playing.chat import ChatPlayer, answer_prompt
from reeltalk.evaluation.playing.script import Script, make_scripts
from reeltalk.evaluation.run_folder import RunFolder
from reeltalk.evaluation.settings import FramePolicy, FrameSettings, ModelSettings, PlaySettings, RunConfig
from reeltalk.evaluation.stage import EvaluationRunner, JudgingSetup
from reeltalk.judge.judge import Background
from reeltalk.judge.settings import JudgeSettings
from reeltalk.llm import Endpoint, Message, Prices, ReplyStore
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Dialogue, DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, PathId, VideoId
from reeltalk.store.content import Content

CLAIR = JudgeSettings(protocols=("clair",), null_units=0)
ASKED_BY_ONE_PROTOCOL = ("vdeval", "lave", "clair", "llm-acc", "svbench", "gpt-score", "checklist")


def turn(number: int, *, checklist: bool = False) -> Turn:
    items = tuple(ChecklistItem(question=f"Does it name thing {n}?", expected=n % 2 == 0) for n in range(3))
    return Turn(
        question=f"What happens as number {number}, and where is that?",
        references=(f"Thing {number} is carried from the kitchen to the garden and put on the table.",),
        asked_at_s=60.0 + number,
        labels={"cogme.thinking": ("Recall",)},
        checklist=Checklist(items=items) if checklist else None,
    )


@pytest.fixture(scope="module")
def content() -> Content:
    """Two videos, a chain and a dialogue of each, and one path that repeats a chain's turns."""
    made = Content()
    for video in range(2):
        name = VideoId(f"v{video}")
        summaries = {"template": "A person walks in.", "refine": "A person walks in, and leaves again."}
        made.videos.append(Video(id=name, duration_s=200.0, summaries=summaries))
        made.clips.append(Clip(id=ClipId(f"c{video}"), video_id=name, interval=Interval(start_s=0.0, end_s=50.0)))
        base = 20 * video
        turns = tuple(turn(base + n) for n in range(4))
        made.chains.append(
            QAChain(id=ChainId(f"chain{video}"), video_id=name, clip_id=ClipId(f"c{video}"), turns=turns)
        )
        told = tuple(turn(base + 10 + n, checklist=n > 1) for n in range(5))
        made.dialogues.append(Dialogue(id=DialogueId(f"d{video}"), video_id=name, task="memory_recall", turns=told))
    steps = tuple(PathStep(ref=TurnRef(unit_id="chain0", turn_index=n)) for n in range(3))
    made.paths.append(DialoguePath(id=PathId("p0"), video_id=VideoId("v0"), steps=steps))
    return made


def planned(
    content: Content,
    chosen: Sequence[Script],
    settings: PlaySettings,
    protocols: tuple[str, ...] = (),
    *,
    compat: bool = False,
    image_tokens: int = 100,
    null_units: int = 0,
) -> EvaluationForecast:
    judging = JudgeSettings(protocols=protocols, compat=compat, null_units=null_units)
    asking = ModelSettings(image_tokens=image_tokens)
    return forecast_evaluation(
        chosen,
        RunConfig(model="model", play=settings, judging=judging, asking=asking),
        lambda model: ChatPlayer(model, answer_prompt("plain")),
        create_judges(judging),
        durations_s={str(video.id): video.duration_s for video in content.videos},
        background=Background(content),
    )


def scripted(content: Content) -> Any:
    """Answers as long as the references, no two alike; a judge's replies that can be used."""
    units: list[QAChain | Dialogue] = [*content.chains, *content.dialogues]
    references = {turn.question: turn.references[0] for unit in units for turn in unit.turns}

    def reply(body: Body) -> str:
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        if body["model"] == "judge":
            return stand_in_reply(schema)
        name = hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()
        reference: str = references[words(body["messages"][-1])]
        return (name + reference)[: len(reference)]

    return reply


def played(
    content: Content, chosen: Sequence[Script], settings: PlaySettings, judging: JudgeSettings, folder: Path, url: str
) -> tuple[int, int]:
    """Requests to the model and to the judge of a run, one script at a time."""
    with RunFolder(folder, {}) as run, ReplyStore(run.replies) as store:

        def model(name: str) -> Any:
            endpoint = Endpoint(model=name, base_url=url, backoff_s=0.0)
            return create_model(name, ModelConfig(endpoint, connections=1, sees_images=False), store, None)

        player, judge = model("player"), model("judge")
        judges = create_judges(judging)
        stage = EvaluationRunner(
            run.work, JudgingSetup(judging, judges, judge, judge), Background(content), at_a_time=1
        )
        chat = ChatPlayer(player, answer_prompt("plain"))
        evaluation = stage.run(chosen, chat, settings, None, served=player)
        assert set(evaluation.counts) == {"answered"}
        assert all(
            row.state != "unscored" for rows in evaluation.scores.values() for row in rows if "." not in row.criterion
        )
        return player.questions - player.reused, judge.questions - judge.reused


@pytest.mark.parametrize("protocol", ASKED_BY_ONE_PROTOCOL)
def test_the_judge_is_asked_as_often_as_forecast(content: Content, tmp_path: Path, protocol: str) -> None:
    settings = PlaySettings(frames=FrameSettings(policy="none"))
    chosen = make_scripts(content, PlaySettings(split="all"))
    judging = JudgeSettings(protocols=(protocol,), compat=True)
    found = planned(content, chosen, settings, (protocol,), compat=True, null_units=judging.null_units)
    with serve(scripted(content)) as server:
        asked = played(content, chosen, settings, judging, tmp_path / "run", server.base_url)
    assert asked == (found.answers.calls, found.judged[0].calls)
    assert server.count == found.calls
    assert found.judged[0].calls > 0


@pytest.mark.parametrize("history", ["golden", "predicted", "none"])
def test_answers_and_judgings_are_as_many_as_forecast_and_tokens_about_so(
    content: Content, tmp_path: Path, history: Any
) -> None:
    settings = PlaySettings(history=history, frames=FrameSettings(policy="none"))
    chosen = make_scripts(content, PlaySettings(units=("chain", "dialogue", "path"), split="all"))
    protocols = ("clair", "checklist", "match", "svbench", "vdeval")
    judging = JudgeSettings(protocols=protocols, null_units=2)
    found = planned(content, chosen, settings, protocols, null_units=2)
    with serve(scripted(content)) as server:
        asked = played(content, chosen, settings, judging, tmp_path / "run", server.base_url)
    assert asked == (found.answers.calls, sum(line.calls for line in found.judged))
    # The path's turns are asked in the words of the chain's.
    assert (found.answers.calls, found.answers.repeated) == (18, 3)
    tokens = sum(line.tokens_in + line.tokens_out for line in found.lines)
    assert tokens == pytest.approx(server.tokens, rel=TOKEN_ERROR)


def test_a_protocol_without_a_model_asks_nothing(content: Content) -> None:
    chosen = make_scripts(content, PlaySettings(split="all"))
    found = planned(content, chosen, PlaySettings(), ("match", "choice"))
    assert [line.calls for line in found.judged] == [0, 0]


def test_turns_that_the_protocol_skips_are_not_asked(content: Content) -> None:
    chosen = make_scripts(content, PlaySettings(units=("dialogue",), split="all", rounds="mt-video-bench"))
    found = planned(content, chosen, PlaySettings(rounds="mt-video-bench"), ("checklist",))
    assert (found.turns, found.answers.calls, found.judged[0].calls) == (0, 0, 0)


def test_turns_that_only_the_history_needs_are_counted_apart(content: Content) -> None:
    dialogues = [dialogue.model_copy(update={"task": "memory_recall"}) for dialogue in content.dialogues]
    # The last turn is scored, so that all of those before it stand in its history.
    labels = {"mt_video_bench.task": ("memory_recall",)}
    dialogues = [
        one.model_copy(update={"turns": (*one.turns[:-1], one.turns[-1].model_copy(update={"labels": labels}))})
        for one in dialogues
    ]
    chosen = make_scripts(
        replace(content, dialogues=dialogues), PlaySettings(units=("dialogue",), split="all", rounds="mt-video-bench")
    )
    due = sum(len(script.steps) for script in chosen)
    own = planned(content, chosen, PlaySettings(history="predicted", rounds="mt-video-bench"))
    assert (own.turns, own.history_only, own.answers.calls) == (len(chosen), 0, len(chosen))
    found = planned(content, chosen, PlaySettings(history="predicted-all", rounds="mt-video-bench"))
    assert (found.turns, found.history_only, found.answers.calls) == (due, due - len(chosen), due)
    said = forecast_lines(
        found, prices=None, judge_prices=None, connections=1, latency_s=None, judge_latency_s=None, image_tokens=0
    )
    assert f"{due:,} turns, {due - len(chosen):,} of them for the history alone;" in next(iter(said))


def test_a_player_that_asks_no_model_is_judged_all_the_same(content: Content) -> None:
    chosen = make_scripts(content, PlaySettings(split="all"))
    found = forecast_evaluation(
        chosen,
        RunConfig(model="model", judging=CLAIR),
        lambda model: None,
        create_judges(CLAIR),
        durations_s={},
    )
    assert (found.answers.calls, found.answers.images, found.judged[0].calls) == (0, 0, 18)


@pytest.mark.parametrize(
    ("policy", "sent"),
    [
        ("none", 0),
        # Four frames with each turn, none of them anew in the history.
        ("uniform", 4 * (4 + 5) * 2),
        # The frames of the first turn stay in the conversation.
        ("first-turn", 4 * (4 + 5) * 2),
    ],
)
def test_images_are_counted_as_often_as_they_are_sent(content: Content, policy: FramePolicy, sent: int) -> None:
    chosen = make_scripts(content, PlaySettings(split="all"))
    settings = PlaySettings(frames=FrameSettings(policy=policy, frames=4))
    found = planned(content, chosen, settings)
    assert found.answers.images == sent
    without = planned(content, chosen, PlaySettings(frames=FrameSettings(policy="none")))
    assert found.answers.tokens_in == pytest.approx(without.answers.tokens_in + 100 * sent, abs=1)


def test_prompts_grow_with_the_history_and_frames_are_sent_with_each_turn() -> None:
    """T(V + s + q) + (q + a)T(T-1)/2 tokens."""
    turns = tuple(
        Turn(question=f"{n} {'q' * 198}", references=(f"{n} {'a' * 78}",), asked_at_s=100.0) for n in range(10)
    )
    content = Content(
        videos=[Video(id=VideoId("v"), duration_s=100.0)],
        dialogues=[Dialogue(id=DialogueId("d"), video_id=VideoId("v"), turns=turns)],
    )
    chosen = make_scripts(content, PlaySettings(split="all"))
    settings = PlaySettings(history="predicted", frames=FrameSettings(policy="first-turn", frames=50))
    line = planned(content, chosen, settings, image_tokens=200).answers
    video, system, question, answer, count = 50 * 200, estimate_tokens(answer_prompt("plain").text), 50, 20, 10
    assert line.tokens_in == pytest.approx(
        count * (video + system + question) + (question + answer) * count * (count - 1) / 2, abs=count
    )


def test_time_is_that_of_dialogues_side_by_side_and_turns_one_after_the_other() -> None:
    found = EvaluationForecast((), 3, 0, ((4, 2), (1, 0), (2, 0)))
    assert found.seconds(1, 10.0, 1.0) == 72.0
    assert found.seconds(2, 10.0, 1.0) == 42.0
    assert found.seconds(20, 10.0, 1.0) == 42.0
    assert EvaluationForecast((), 0, 0, ()).seconds(4, 1.0, 1.0) == 0.0


def told(found: EvaluationForecast, **options: Any) -> str:
    given: dict[str, Any] = {
        "prices": None, "judge_prices": None, "connections": 2, "latency_s": None, "judge_latency_s": None,
        "image_tokens": 100,
    }  # fmt: skip
    return "\n".join(forecast_lines(found, **(given | options)))


def test_one_request_is_shown_as_it_would_be_sent(content: Content) -> None:
    scripts = make_scripts(content, PlaySettings(split="all"))
    first, *_, last = [step.turn for step in scripts[0].steps]
    shown = told(planned(content, scripts, PlaySettings(frame_times="yes"))).partition("first dialogue:\n")[2]
    assert shown.startswith("  system: ")
    assert "seconds> picture\n" in shown
    # The history is golden, and nothing is sent that answers the question itself.
    assert f"  assistant: {first.references[0]}\n" in shown
    assert shown.rindex(last.question) > shown.rindex("  user: ")


def test_what_is_not_known_is_said(content: Content) -> None:
    found = planned(content, make_scripts(content, PlaySettings(split="all")), PlaySettings(), ("clair", "match"))
    text = told(found)
    assert "judge, clair: 18 requests" in text
    assert "judge, match: no requests" in text
    assert "give --price-in and --price-out" in text
    assert "give --judge-price-in and --judge-price-out" in text
    assert "give --latency-s" in text


def test_money_and_time_follow_from_prices_and_latency(content: Content) -> None:
    found = planned(content, make_scripts(content, PlaySettings(split="all")), PlaySettings(), ("clair",))
    prices, judge = Prices(input=1000.0, output=2000.0), Prices(input=100.0, output=0.0)
    text = told(found, prices=prices, judge_prices=judge, latency_s=3.0, judge_latency_s=1.0)
    model = prices.cost(found.answers.tokens_in, found.answers.tokens_out)
    assert f"model {model:,.2f}; judge {judge.cost(found.judged[0].tokens_in, 0):,.2f}" in text
    # 4 + 5 turns of each video with two scripts at a time: a chain of 4 and a dialogue of 5 in each lane.
    assert "time: 36 s at 3 s an answer and 1 s a judge's reply, 2 dialogues at a time" in text


def test_no_model_costs_nothing(content: Content) -> None:
    chosen = make_scripts(content, PlaySettings(split="all"))
    found = forecast_evaluation(chosen, RunConfig(model="model"), lambda model: None, (), durations_s={})
    assert "money: none, no model is asked" in told(found)


def test_tokens_of_wide_scripts_are_more() -> None:
    assert estimate_tokens("abcdefgh") == 2
    assert estimate_tokens("你好吗") == 2


def test_a_video_of_unknown_length_has_frames_too(content: Content) -> None:
    bare = Content(
        videos=[Video(id=VideoId("v"))],
        dialogues=[Dialogue(id=DialogueId("d"), video_id=VideoId("v"), turns=(Turn(question="?", references=("a",)),))],
    )
    settings = PlaySettings(frames=FrameSettings(policy="uniform", frames=6))
    assert planned(bare, make_scripts(bare, PlaySettings(split="all")), settings).answers.images == 6


def test_stand_in_answers_are_as_long_as_the_references_and_never_alike() -> None:
    model = CountingModel("m")
    player = StandIn(None, model)
    answers = [player._text("A short one.") for _ in range(3)]
    assert len(set(answers)) == 3
    assert {len(answer) for answer in answers} == {12}


def test_the_same_words_are_asked_once() -> None:
    import asyncio

    model = CountingModel("m")
    first, second = (asyncio.run(model.ask([Message("user", "x" * 40)])) for _ in range(2))
    assert (model.calls, model.repeated, first.text == second.text) == (1, 1, True)
