"""Which judge without a model is the default: it depends on what turns have."""

from reeltalk.judge.settings import AUTO, JUDGED_BY_DEFAULT, JudgeSettings
from reeltalk.schema.dialogue import AnswerKey, Turn
from reeltalk.stages.run import resolve_protocols

KEYED = Turn(question="Where?", references=("In the kitchen.",), key=AnswerKey(type="room", values=("kitchen",)))
CHOICE = Turn(question="Where?", options=("kitchen", "bedroom"), correct_option=0)
FREE = Turn(question="Why?", references=("He is thirsty.",))
SHORT = Turn(question="Who drinks?", references=("The cook.",))


def protocols(*turns: Turn) -> tuple[str, ...]:
    return resolve_protocols(JUDGED_BY_DEFAULT, turns).protocols


def test_turns_with_keys_are_judged_by_them() -> None:
    assert protocols(FREE, KEYED) == ("typed",)
    assert protocols(KEYED.model_copy(update={"options": CHOICE.options, "correct_option": 0})) == ("typed",)


def test_turns_with_options_are_judged_by_these() -> None:
    assert protocols(CHOICE) == ("choice",)
    assert protocols(KEYED, CHOICE) == ("typed", "choice")


def test_turns_with_short_references_are_judged_by_these() -> None:
    assert protocols(SHORT, FREE) == ("match",)
    assert protocols(SHORT, KEYED, CHOICE) == ("typed", "choice", "match")
    assert protocols(SHORT.model_copy(update={"options": CHOICE.options, "correct_option": 0})) == ("choice",)


def test_nothing_judges_free_text_by_itself() -> None:
    assert protocols(FREE) == ()
    assert resolve_protocols(JUDGED_BY_DEFAULT, [FREE]).metrics == ("bleu", "rouge_l", "cider")


def test_what_is_asked_for_stays() -> None:
    assert resolve_protocols(JudgeSettings(protocols=("match",)), [KEYED]).protocols == ("match",)
    assert resolve_protocols(JudgeSettings(protocols=(AUTO, "match")), [KEYED]).protocols == ("typed", "match")
    assert resolve_protocols(JudgeSettings(), [KEYED]).protocols == ()
