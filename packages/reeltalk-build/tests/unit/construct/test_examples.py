"""Worked examples of prompts keep the rules that they illustrate, and a draft that copies one is refused."""

import json
from pathlib import Path

import pytest
from prompt_examples import examples_in

from reeltalk.llm import Prompt
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Task
from reeltalk.schema.record import ChainId, DialogueId, VideoId
from reeltalk_build.construct.linting import ABILITY_LABEL, ABOUT_KEY, TASK_LABEL, check_structure, lint
from reeltalk_build.construct.prompting import prompts
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
            Turn(question=round_.user, references=(round_.assistant,), labels=labels, extra={ABOUT_KEY: round_.about})
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


def test_examples_are_json_as_a_reply_is() -> None:
    for language in ("en", "zh"):
        for task in Task:
            shown = json.loads(prompts(language)[f"example_{task.value}"].text.splitlines()[-1])
            assert list(shown["rounds"][0]) == list(RoundReply.model_fields)
