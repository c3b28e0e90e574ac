"""Rubrics from graphs and from models: the reference itself says every part."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from reeltalk.errors import BenchmarkError
from reeltalk.llm import Message, Reply
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn, TurnRubric
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES
from reeltalk_build.construct.prompting import PromptedModel
from reeltalk_build.construct.rubrics import graph_rubric, model_rubric, write_rubrics
from reeltalk_build.construct.writers import Unwritten


def turn(question: str, reference: str, *, target: tuple[str, ...] = ("Behavior",), **extra: Json) -> Turn:
    labels = {"cogme.target": target, "cogme.content": ("Sequence",)}
    return Turn.model_validate({"question": question, "references": (reference,), "labels": labels, "extra": extra})


WALK = turn("What does he do next?", "Right after that, the person walks to the sofa.", answer_type="action",
            answer_key="walk|sofa")  # fmt: skip


def said(rubric: TurnRubric | None) -> list[tuple[str, tuple[str, ...]]]:
    return [(item.says, item.tags) for item in rubric.items] if rubric is not None else []


def test_an_action_and_what_it_is_done_to_are_two_parts() -> None:
    assert said(graph_rubric(WALK)) == [("walks to it", ("Behavior",)), ("the sofa", ())]
    both = turn("And then?", "He opens the fridge.", target=("Behavior", "Object"), answer_type="action",
                answer_key="open|fridge")  # fmt: skip
    assert said(graph_rubric(both)) == [("opens it", ("Behavior",)), ("the fridge", ("Object",))]


@pytest.mark.parametrize(
    "one",
    [
        turn("What does he do with the plate?", "He rinses the plate.", answer_type="action", answer_key="rinse|plate"),
        turn("And then?", "Having picked up the plate, he rinses it.", answer_type="action", answer_key="rinse|plate"),
        turn("And then?", "He stands up.", answer_type="action", answer_key="stand|"),
        turn("Which room?", "The kitchen.", answer_type="room", answer_key="kitchen"),
        turn("Who?", "Nobody knows."),
    ],
)
def test_what_the_question_has_said_is_no_part_and_one_part_needs_no_rubric(one: Turn) -> None:
    assert graph_rubric(one) is None


def test_every_member_of_a_list_is_a_part() -> None:
    one = turn("What else does he pick up?", "Besides the milk, the person picks up the notes and the shirt.",
               target=("Object",), answer_type="list", answer_key="clothesshirt62|notes56")  # fmt: skip
    assert said(graph_rubric(one)) == [("the shirt", ("Object",)), ("the notes", ("Object",))]


def test_every_sentence_of_a_summary_is_a_part() -> None:
    one = turn("Sum it up.", "To sum up what we have talked about: The sofa is grey. He sits down on it.",
               target=("Conversation",), kind="summary")  # fmt: skip
    assert said(graph_rubric(one)) == [("The sofa is grey.", ()), ("He sits down on it.", ())]


class Says:
    name, sees_images = "says", False
    sampling: Mapping[str, Json] = {}

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = list(texts), list[str]()

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0) -> Reply:
        self.asked.append(messages[-1].text)
        return Reply(self.texts.pop(0), self.name, None, None, cut_off=False)

    def close(self) -> None:
        pass


def test_a_part_that_the_reference_does_not_say_goes_back_to_the_model() -> None:
    wrong = '{"items": [{"says": "the kitchen", "tags": [], "points": 1}]}'
    right = '{"items": [{"says": "walks", "tags": ["Behavior"], "points": 2}, {"says": "the sofa", "tags": []}]}'
    model = Says(wrong, right)
    found = model_rubric(PromptedModel(model, "en"), WALK, ())
    assert isinstance(found, TurnRubric)
    assert said(found) == [("walks", ("Behavior",)), ("the sofa", ())]
    assert [item.points for item in found.items] == [2.0, 1.0]
    assert "does not say 'the kitchen'" in model.asked[1]
    assert "Behavior, Sequence" in model.asked[0]


def test_a_tag_that_the_question_does_not_have_is_refused() -> None:
    wrong = '{"items": [{"says": "walks", "tags": ["Emotion"], "points": 1}]}'
    found = model_rubric(PromptedModel(Says(wrong, wrong), "en"), WALK, ())
    assert isinstance(found, Unwritten)
    assert "no tag 'Emotion'" in found.reason


def test_rubrics_are_written_beside_what_is_there_and_say_who_wrote_them(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "b")
    with benchmark.writing(stage="construct dialogues", settings={"seed": 7}) as writer:
        writer.add(DIALOGUES, [Dialogue(id="d", video_id="v", turns=(WALK, turn("Who?", "Nobody.")))])
        writer.add(CHAINS, [QAChain(id="c", video_id="v", turns=(WALK,))])
    found = write_rubrics(benchmark, lambda one, _: graph_rubric(one), writer="graph")
    assert (found.turns, found.written, found.items, found.single) == (3, 2, 4, 1)
    again = Benchmark.open(tmp_path / "b")
    (dialogue,) = again.read(DIALOGUES)
    assert [turn.rubric is not None for turn in dialogue.turns] == [True, False]
    assert dialogue.turns[0].model_copy(update={"rubric": None}) == WALK
    entry = again.manifest.files[DIALOGUES.file_name]
    assert entry.stage == "construct dialogues"
    assert entry.settings == {"seed": 7, "rubrics": "graph"}


def test_without_turns_there_is_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no chains and no dialogues"):
        write_rubrics(Benchmark.create(tmp_path / "b"), lambda one, _: None, writer="graph")
