"""Useless replies are asked for again, or stop the step."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from reeltalk.errors import ModelError, UnusableError
from reeltalk.llm import CachedModel, Message, Reply, ReplyStore
from reeltalk.schema.record import Json
from reeltalk_build.construct.prompting import PromptedModel
from reeltalk_build.construct.replies import CaptionReply, MergeReply
from reeltalk_build.construct.retries import FIRST, ReplyWatch, RetriedModel

GOOD, BAD = '{"caption": "A person takes a mug."}', "I would rather not."
NONE = ""
"""Of a model whose replies hold no answer."""


class Sampled:
    """A model that says what is scripted for a sample, and counts what it is asked."""

    def __init__(self, script: dict[int, str], sample: int, asked: list[int]) -> None:
        self.name, self.sees_images, self.sampling = "tiny", True, {"seed": sample}
        self.script, self.sample, self.asked = script, sample, asked

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        self.asked.append(self.sample)
        if self.script[self.sample] == NONE:
            raise ModelError("tiny wrote no answer within 9 tokens", kind="reply")
        return Reply(self.script[self.sample], "tiny", 10, 2, False)

    def close(self) -> None:
        return


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReplyStore]:
    with ReplyStore(tmp_path / "replies.sqlite") as opened:
        yield opened


def opened(store: ReplyStore, script: dict[int, str], *, retries: bool = False) -> tuple[RetriedModel, list[int]]:
    asked: list[int] = []

    def open_sample(retry: int) -> CachedModel:
        return CachedModel(Sampled(script, retry, asked), store, sample=retry)

    return RetriedModel(open_sample, ReplyWatch(), retries=retries), asked


def caption(model: RetriedModel, about: str = "mug") -> str | None:
    said = PromptedModel(model, "en").ask("caption", CaptionReply, parts={"seen": about, "advice": ""})
    return None if said.record is None else said.record.caption


def test_what_has_no_usable_reply_is_asked_again_with_another_sample(store: ReplyStore) -> None:
    script = {0: BAD, 1: BAD, 2: GOOD}
    model, asked = opened(store, script)
    assert caption(model) is None
    assert asked == [0, 0]
    model, asked = opened(store, script)
    assert caption(model) is None
    assert asked == []
    model, asked = opened(store, script, retries=True)
    assert caption(model) is None
    assert asked == [1, 1]
    model, asked = opened(store, script, retries=True)
    assert caption(model) == "A person takes a mug."
    assert asked == [2]
    # A later run finds what the retry found, and asks nothing.
    model, asked = opened(store, script)
    assert caption(model) == "A person takes a mug."
    assert asked == []


def test_what_is_written_is_not_asked_again(store: ReplyStore) -> None:
    model, asked = opened(store, {0: GOOD}, retries=True)
    caption(model)
    caption(model)
    assert asked == [0]


def test_the_reasons_say_how_often_it_was_tried(store: ReplyStore) -> None:
    model, _ = opened(store, {0: BAD, 1: BAD}, retries=True)
    said = PromptedModel(model, "en").ask("caption", CaptionReply, parts={"seen": "mug", "advice": ""})
    assert said.record is None
    assert said.replies == (BAD,) * 4
    assert said.reasons[0].startswith("in try 2: ")


def test_a_step_whose_first_replies_are_useless_stops_and_shows_one(store: ReplyStore) -> None:
    model, asked = opened(store, {0: BAD + " =====" + "x" * 2000})
    model._watch.begin("scenes")
    for number in range(FIRST - 1):
        assert caption(model, f"mug {number}") is None
    with pytest.raises(UnusableError) as stopped:
        caption(model, "mug")
    said = str(stopped.value)
    for part in ("first 8 replies of tiny", "'caption'", "step scenes", BAD, "<<<DATA", "--retry-unwritten"):
        assert part in said
    assert len(said) < 1500
    assert len(store) == len(asked) == 2 * FIRST


def merge(model: RetriedModel, number: int) -> None:
    PromptedModel(model, "en").ask("merge", MergeReply, data={"before": f"A {number}.", "after": "B."})


def test_useless_replies_to_several_prompts_of_a_step_are_counted_together(store: ReplyStore) -> None:
    model, asked = opened(store, {0: BAD})
    model._watch.begin("scenes")
    for number in range(FIRST // 2):
        caption(model, f"mug {number}")
    for number in range(FIRST // 2 - 1):
        merge(model, number)
    with pytest.raises(UnusableError, match="first 8 replies of tiny in the step scenes"):
        merge(model, FIRST)
    assert len(asked) == 2 * FIRST


def test_a_request_that_is_repeated_counts_once(store: ReplyStore) -> None:
    model, _ = opened(store, {0: BAD})
    model._watch.begin("scenes")
    for _ in range(2 * FIRST):
        caption(model)


def test_a_model_without_answers_stops_the_step_soon_and_one_missing_answer_does_not(store: ReplyStore) -> None:
    model, asked = opened(store, {0: NONE})
    model._watch.begin("scenes")
    assert caption(model, "mug 0") is None
    with pytest.raises(UnusableError, match=r"wrote no answer within 9 tokens.*\n\(no answer\)\n"):
        caption(model, "mug 1")
    assert len(asked) == 2
    assert len(store) == 0


def test_useless_replies_to_one_prompt_stop_a_step_whose_others_are_usable(store: ReplyStore) -> None:
    script = {0: GOOD}
    model, _ = opened(store, script)
    model._watch.begin("scenes")
    caption(model)
    script[0] = BAD
    for number in range(FIRST - 1):
        merge(model, number)
    with pytest.raises(UnusableError, match="first 8 replies of tiny to the prompt 'merge' in the step scenes"):
        merge(model, FIRST)


def test_one_usable_reply_keeps_a_step_going(store: ReplyStore) -> None:
    script = {0: BAD}
    model, _ = opened(store, script)
    for number in range(3 * FIRST):
        script[0] = GOOD if number == FIRST - 1 else BAD
        caption(model, f"mug {number}")
    # A new step, and another prompt, count from the start.
    model._watch.begin("dialogues")
    script[0] = BAD
    for number in range(FIRST - 1):
        caption(model, f"mug {number} again")
    with pytest.raises(UnusableError):
        caption(model, "mug again")
