"""The oracle finds in the graphs what was asked, and never looks at the references."""

import asyncio
import shutil
from dataclasses import replace
from typing import Literal

import pytest
from page_world import World

from reeltalk.evaluation.playing.play import Pictures, Response, TurnInput
from reeltalk.evaluation.playing.script import Step, make_scripts
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.language.answer_reading import read_answer
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import DIALOGUES
from reeltalk_build.graph.reading import read_activity
from reeltalk_household.oracle import NOT_IN_GRAPHS, OraclePlayer
from reeltalk_household.questions.asking import stories, write_question_dialogues

ENOUGH = 0.95


class NoPictures:
    async def jpeg(self, reference: bytes) -> bytes:
        raise AssertionError("the oracle looks at no frame")


PICTURES: Pictures = NoPictures()


@pytest.fixture(scope="module")
def household(world: World, tmp_path_factory: pytest.TempPathFactory, full: bool) -> Benchmark:
    folder = tmp_path_factory.mktemp("oracle") / "household"
    shutil.copytree(world.made(f"told/{4 if full else 2}"), folder)
    benchmark = Benchmark.open(folder)
    write_question_dialogues(benchmark, per_video=2)
    return Benchmark.open(folder)


@pytest.fixture(scope="module")
def player(household: Benchmark) -> OraclePlayer:
    """One for all tests: it keeps no more than the graphs that it has read."""
    return OraclePlayer.of(household)


@pytest.fixture(scope="module")
def written_player(world: World) -> OraclePlayer:
    return OraclePlayer.of(Benchmark.open(world.made("written/4")))


@pytest.fixture(scope="module")
def dialogues(household: Benchmark) -> list[Dialogue]:
    return list(household.read(DIALOGUES))


def asked(turn: Turn, video: str, *, options: bool = False) -> TurnInput:
    hidden = turn.model_copy(
        update={
            "references": ("A reference that nobody may read.",),
            "extra": {name: turn.extra[name] for name in ("kind", "params") if name in turn.extra},
        }
    )
    step = Step("dialogue", "d", 0, hidden, turn.asked_at_s)
    return TurnInput(turn.question, (), (), (), turn.options if options else None, (), step, video)


def said_to(player: OraclePlayer, seen: TurnInput) -> Response:
    return asyncio.run(player.answer(seen, PICTURES))


@pytest.mark.parametrize("options", [False, True])
def test_nearly_every_turn_of_a_graph_is_answered_and_none_wrongly(
    player: OraclePlayer, dialogues: list[Dialogue], options: bool
) -> None:
    outcomes = []
    for dialogue in dialogues:
        for turn in dialogue.turns:
            # A refusal has no words of its own to agree in.
            if turn.extra["answer_type"] == "refusal" or (options and not turn.options):
                continue
            said = said_to(player, asked(turn, dialogue.video_id, options=options))
            if said.text is None:
                assert said.reason == "the graphs do not hold what is asked for"
            else:
                assert turn.key is not None
                assert read_answer(turn.question, turn.key, said.text).right, (turn.question, said.text)
                if options and turn.options is not None and turn.correct_option is not None:
                    assert said.text == turn.options[turn.correct_option]
            outcomes.append(said.text is not None)
    assert len(outcomes) > (10 if options else 30)
    assert sum(outcomes) / len(outcomes) >= ENOUGH


@pytest.mark.parametrize("mode", ["dialogue", "streaming"])
def test_every_turn_with_a_key_that_construct_writes_is_answered_right(
    world: World, written_player: OraclePlayer, mode: Literal["dialogue", "streaming"]
) -> None:
    benchmark, kinds = Benchmark.open(world.made("written/4")), set()
    for script in make_scripts(benchmark.content(), PlaySettings(mode=mode, split="all")):
        for step in script.steps:
            if step.turn.key is None or not step.understood:
                continue
            seen = asked(step.turn, script.video_id)
            said = said_to(written_player, replace(seen, step=replace(step, turn=seen.step.turn)))
            assert said.text is not None, (step.turn.question, said.reason)
            assert read_answer(step.turn.question, step.turn.key, said.text).right, (step.turn.question, said.text)
            kinds.add(str(step.turn.extra["kind"]))
    assert len(kinds) > (20 if mode == "dialogue" else 10)
    assert mode == "streaming" or {kind for kind in kinds if kind.startswith("premise")} >= {"premise_by"}


def test_a_false_premise_is_denied_by_the_graph_alone(household: Benchmark, player: OraclePlayer) -> None:
    video, _, texts = next(iter(stories(household)))
    graphs = [read_activity(text, file=f"{name}.nq", name=name) for name, text in texts.items()]
    taken = next(event for graph in graphs for event in graph.events if event.action == "grab" and event.agent)

    def reply(**params: object) -> Response:
        kind = "premise_by" if "agent" in params else "premise"
        return said_to(player, asked(Turn(question="Why?", extra={"kind": kind, "params": params}), video.id))

    denied = reply(action="paint", object=taken.main, agent=taken.agent).text
    assert denied is not None
    assert denied.startswith("That does not happen in the video: ")
    assert " Instead, " in denied
    # What does happen is not denied.
    assert reply(action="grab", object=taken.main, agent=taken.agent) == Response(text=None, reason=NOT_IN_GRAPHS)


def test_what_is_not_in_the_graphs_is_not_answered(player: OraclePlayer, dialogues: list[Dialogue]) -> None:
    video = dialogues[0].video_id
    assert said_to(player, asked(Turn(question="What is the capital of Peru?"), video)).text is None
    assert said_to(player, asked(Turn(question="Who?"), "nowhere")).reason == "the video has no graph"
    made_up = Turn(question="Where does he put it?", extra={"kind": "where_put", "params": {"object": "violin9"}})
    assert said_to(player, asked(made_up, video)).text is None


def test_a_turn_that_says_no_kind_is_read_by_its_wording(
    player: OraclePlayer, dialogues: list[Dialogue], full: bool
) -> None:
    answered = 0
    for dialogue in dialogues:
        for turn in dialogue.turns[:: 1 if full else 2]:
            if str(turn.extra["form"]).split("/")[1] == "forms" and turn.extra["answer_type"] != "refusal":
                said = said_to(player, asked(turn.model_copy(update={"extra": {}}), dialogue.video_id))
                if said.text is not None:
                    answered += 1
                    assert turn.key is not None
                    assert read_answer(turn.question, turn.key, said.text).right, (turn.question, said.text)
    assert answered > 10


def test_a_wrong_graph_gives_a_wrong_answer(household: Benchmark, player: OraclePlayer) -> None:
    # It is the graph that answers: of another video's graphs the same question has another answer, or none.
    (one, _, _), (_, clips, texts) = list(stories(household))[:2]
    from reeltalk_household.oracle import KnownVideo

    wrong = OraclePlayer({one.id: KnownVideo(tuple(clips), texts)})
    turns = next(dialogue.turns for dialogue in household.read(DIALOGUES) if dialogue.video_id == one.id)
    # The first turn with another answer is enough.
    assert any(said_to(player, seen).text != said_to(wrong, seen).text for seen in (asked(t, one.id) for t in turns))


def test_it_is_named_and_sees_no_frame(player: OraclePlayer) -> None:
    assert (player.name, player.sees_frames, player.signature) == ("oracle", False, (("oracle", "graph"),))
