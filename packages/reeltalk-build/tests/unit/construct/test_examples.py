"""Worked examples of prompts keep the rules that they illustrate, and a draft that copies one is refused."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from reeltalk.llm import Prompt
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Task
from reeltalk.schema.record import ChainId, DialogueId, VideoId
from reeltalk_build.construct.linting import ABILITY_LABEL, ABOUT, TASK_LABEL, check_structure, lint
from reeltalk_build.construct.prompting import copy_complaint, examples_in, prompts, quoted_in
from reeltalk_build.construct.replies import (
    Ability,
    CaptionReply,
    ChainReply,
    DialogueReply,
    QualityReply,
    RoundReply,
    TurnCheck,
)
from reeltalk_build.construct.verification import check_numbers
from reeltalk_build.construct.writers import Language

both_languages = pytest.mark.parametrize("language", ["en", "zh"])
every_task = pytest.mark.parametrize("task", Task)


def chain_example(language: Language) -> ChainReply:
    (found,) = examples_in(prompts(language)["chain"], ChainReply)
    return found


def dialogue_example(language: Language, task: Task) -> DialogueReply:
    (found,) = examples_in(prompts(language)[f"example_{task.value}"], DialogueReply)
    return found


def texts(reply: ChainReply | DialogueReply) -> list[str]:
    if isinstance(reply, ChainReply):
        return reply.texts
    return [text for round_ in reply.rounds for text in (round_.user, round_.assistant)]


@both_languages
def test_the_example_of_a_chain_keeps_the_rules_of_a_chain(language: Language) -> None:
    reply = chain_example(language)
    turns = tuple(
        Turn(
            question=turn.question,
            references=(turn.answer,),
            evidence=(Interval(start_s=turn.start_s, end_s=turn.end_s),),
        )
        for turn in reply.turns
    )
    chain = QAChain(id=ChainId("c"), video_id=VideoId("v"), turns=turns)
    assert lint(chain, language=language) == []


@both_languages
@every_task
def test_the_example_of_a_task_keeps_the_rules_of_the_task(language: Language, task: Task) -> None:
    turns = []
    for round_ in dialogue_example(language, task).rounds:
        own = round_.ability.task
        labels = {TASK_LABEL: (own.value,)} if own else {ABILITY_LABEL: (round_.ability.value,)}
        turns.append(
            Turn(question=round_.user, references=(round_.assistant,), labels=labels, extra={ABOUT: round_.about})
        )
    dialogue = Dialogue(id=DialogueId("d"), video_id=VideoId("v"), task=task.value, turns=tuple(turns))
    assert check_structure(dialogue, task) == []
    assert lint(dialogue, language=language) == []
    abilities = {round_.ability for round_ in dialogue_example(language, task).rounds}
    assert abilities - {Ability.SCENE_UNDERSTANDING, Ability.SCENE_REASONING} == {Ability[task.name]}


@both_languages
def test_the_examples_of_judges_check_what_they_were_shown(language: Language) -> None:
    known = prompts(language)
    (quality,) = examples_in(known["quality"], QualityReply)
    assert check_numbers(quality.turns, 2) is None
    assert quality.overall < 90
    (caption,) = examples_in(known["caption_check"], TurnCheck)
    assert (caption.number, caption.verdict) == (1, "contradicted")


def test_a_form_with_blanks_is_no_example(tmp_path: Path) -> None:
    path = tmp_path / "caption.md"
    path.write_text('<!-- caption v1 -->\nGive {"text": "…"} or {"caption": "A dog."} {and [no] {"caption":\n')
    assert examples_in(Prompt.load(path), CaptionReply) == (CaptionReply(caption="A dog."),)
    assert examples_in(prompts("en")["caption"], ChainReply) == ()


def test_an_example_in_prose_is_what_a_prompt_quotes(tmp_path: Path) -> None:
    path = tmp_path / "rewrite.md"
    path.write_text(
        '<!-- rewrite v1 -->\nA draft: "What becomes of the clay pot from the cart?" "A boy kicks over the clay pot." '
        "\u7b54\u6848\uff1a\u201c\u4e00\u4e2a\u7537\u5b69\u201d",
        encoding="utf-8",
    )
    quoted = quoted_in(Prompt.load(path))
    assert quoted == (
        "What becomes of the clay pot from the cart?", "A boy kicks over the clay pot.", "\u4e00\u4e2a\u7537\u5b69",
    )  # fmt: skip
    assert (
        copy_complaint(["Who is it that kicks the clay pot over?", "A boy kicks the clay pot over."], quoted)
        is not None
    )
    assert copy_complaint(["What becomes of the mug?", "A boy washes it."], quoted) is None


@both_languages
def test_no_example_copies_another_and_each_copies_itself(language: Language) -> None:
    examples = [texts(chain_example(language)), *(texts(dialogue_example(language, task)) for task in Task)]
    for draft in examples:
        assert [copy_complaint(draft, example) is not None for example in examples] == [
            draft is one for one in examples
        ]


EN = texts(chain_example("en"))
ZH = texts(chain_example("zh"))
OWN = ("What does the man carry into the kitchen?", "He carries a wooden crate.", "What does she do next?", "Okay.")


@pytest.mark.parametrize(
    ("draft", "example", "told"),
    [
        ((*OWN, "Where does she take the thread out? A round biscuit tin."), EN, "it repeats the example"),
        ((*OWN, "SHE IS MENDING an accordion with a torn leather strap!"), EN, "SHE IS MENDING"),
        ((*OWN, "她用蜡线把断开的背带缝在一起。"), ZH, "it repeats the example"),
        (
            (
                "Who sits there with an accordion?", "A man who mends things.", "What is broken?", "A strap.",
                "How does he put it right?", "With a needle and thread.", "What lies next to him?", "A cat.",
            ),
            EN, "it has the subject of the example in place of this video's: accordion, lie, mend, put, strap, thread",
        ),
    ],
    ids=["shuffled", "spelled", "chinese", "subject"],
)  # fmt: skip
def test_a_draft_that_takes_over_an_example_is_refused(draft: Sequence[str], example: Sequence[str], told: str) -> None:
    assert told in (copy_complaint(draft, example) or "nothing")


@pytest.mark.parametrize(
    "draft",
    [
        OWN,
        ("What is the woman mending?", "A torn sock.", "How does she put it right?", "With blue thread."),
        ("Where does he play the accordion?", "On a bench in front of the station."),
        ("Please sum up what we have talked about so far.", "A man unpacks three green bottles."),
        ("Hm, okay.", "What would you do with the bottles?"),
    ],
    ids=["other", "a-word", "one-thing", "summary", "chat"],
)
def test_a_draft_about_its_own_video_is_taken(draft: Sequence[str]) -> None:
    for example in (EN, *(texts(dialogue_example("en", task)) for task in Task)):
        assert copy_complaint(draft, example) is None


def test_examples_are_json_as_a_reply_is() -> None:
    for language in ("en", "zh"):
        for task in Task:
            shown = json.loads(prompts(language)[f"example_{task.value}"].text.splitlines()[-1])
            assert list(shown["rounds"][0]) == list(RoundReply.model_fields)
