"""A turn is shown what was said by its moment, and nothing that is said later."""

from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.evaluation.playing.subtitles import speech_notice, spoken_lines
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.speech import Utterance
from reeltalk.store.content import Content


def utterance(start_s: float, end_s: float, text: str, speaker: str | None = None, video: str = "v") -> Utterance:
    return Utterance.model_validate(
        {"video_id": video, "interval": Interval(start_s=start_s, end_s=end_s), "text": text, "speaker": speaker}
    )


TALK = Content(
    speech=[
        utterance(4.5, 6.0, "Where?", "Haeyoung"),
        utterance(1.0, 3.5, "Come\nin."),
        utterance(1.0, 3.5, "Come\nin."),
        utterance(0.5, 2.0, "Not here.", video="w"),
        utterance(8.0, 12.0, "Late."),
    ]
)


def shown(asked_at_s: float | None, *clips: tuple[float, float]) -> tuple[str, ...]:
    parts = tuple(Interval(start_s=start_s, end_s=end_s) for start_s, end_s in clips)
    step = Step("dialogue", "d", 0, Turn(question="Who?"), asked_at_s, parts)
    return tuple(spoken.line for spoken in spoken_lines(TALK)(Script("d", "v", (step,)), step))


def test_only_lines_that_have_ended_are_shown() -> None:
    assert shown(0.5) == ()
    assert shown(3.5) == ("Come in.",)
    assert shown(5.9) == ("Come in.",)
    assert shown(6.0) == ("Come in.", "Haeyoung: Where?")


def test_a_turn_with_a_moment_knows_all_that_was_said_before_its_clip() -> None:
    assert shown(6.5, (6.0, 6.5)) == ("Come in.", "Haeyoung: Where?")


def test_a_turn_after_the_whole_video_is_shown_what_is_heard_in_its_clips() -> None:
    assert shown(None) == ("Come in.", "Haeyoung: Where?", "Late.")
    assert shown(None, (4.0, 9.0)) == ("Haeyoung: Where?", "Late.")
    assert shown(None, (0.0, 1.0), (6.0, 8.0)) == ()


def test_missing_speech_and_questions_about_speech_that_is_not_shown_are_told() -> None:
    def script(*targets: str) -> Script:
        turn = Turn(question="What does she ask for?", labels={"cogme.target": targets})
        return Script("d", "v", (Step("dialogue", "d", 0, turn, None),))

    spoken, seen = script("Object", "Conversation"), script("Object")
    assert "the benchmark has no speech" in (speech_notice(Content(), [spoken], shown=True) or "")
    assert speech_notice(TALK, [spoken], shown=True) is None
    assert (speech_notice(TALK, [spoken, seen, spoken], shown=False) or "").startswith("2 turns are tagged")
    assert speech_notice(TALK, [seen], shown=False) is None
    assert speech_notice(Content(), [spoken], shown=False) is None
