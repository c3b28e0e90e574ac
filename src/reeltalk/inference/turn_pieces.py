"""A chat template taken apart, so that a conversation can grow at its end without being written anew."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import InputError

ASKED, ANSWERED, ASKED_NEXT = "¤first question¤", "¤answer¤", "¤next question¤"
IMAGE: Final = {"type": "image"}


@dataclass(frozen=True)
class TurnPieces:
    """What stands between frames, questions and answers."""

    head: str
    """Before the first frame."""
    head_without_frame: str
    """Before a question that comes before any frame."""
    frame: str
    """One frame."""
    after_frames: str
    """Between the last frame and the question."""
    before_answer: str
    """After the question, where the model is to answer."""
    before_told: str
    """After the question, where the answer is known."""
    next_frame: str
    """After an answer, before a frame."""
    next_question: str
    """After an answer, before a question without a frame."""


def turn_pieces(processor: Any, path: Path, *, system: str = "") -> TurnPieces:
    """Take the chat template of a processor apart.

    Args:
        processor: Of transformers.
        path: Its folder, for errors.
        system: The system message; none where it is empty.

    Raises:
        InputError: Its template does not append turn to turn, or fails.
    """
    before: list[Any] = [{"role": "system", "content": [{"type": "text", "text": system}]}] if system else []

    def written(*turns: Any, answer: bool = False) -> str:
        try:
            chat = [*before, *turns]
            return str(processor.apply_chat_template(chat, add_generation_prompt=answer, tokenize=False))
        except Exception as error:
            # A template raises whatever it likes, as where it takes no system message.
            told = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputError(f"the chat template fails: {told}", file=path, hint="leave out --prompt") from error

    one = written(_user(ASKED, frames=1), answer=True)
    two = written(_user(ASKED, frames=2), answer=True)
    # Up to the end of the first frame both say the same.
    end = next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))
    frame = two[end : end + len(two) - len(one)]
    start = end - len(frame)
    told = _assistant(ANSWERED)
    first, after = _user(ASKED, frames=1), written(_user(ASKED, frames=1), told, _user(ASKED_NEXT, frames=1))
    plain = written(first, told, _user(ASKED_NEXT, frames=0))
    between = _between(after, ANSWERED, ASKED_NEXT)
    after_frames = _between(one[end - 1 :], one[end - 1], ASKED)
    if not frame or one[start:end] != frame or between is None or after_frames is None:
        raise _not_apart(path)
    if not between.endswith(frame + after_frames):
        raise _not_apart(path)
    head_without = written(_user(ASKED, frames=0)).partition(ASKED)[0]
    before_told, next_question = _between(after, ASKED, ANSWERED), _between(plain, ANSWERED, ASKED_NEXT)
    if before_told is None or next_question is None or not after.startswith(one[:end]):
        raise _not_apart(path)
    return TurnPieces(
        head=one[:start],
        head_without_frame=head_without,
        frame=frame,
        after_frames=after_frames,
        before_answer=one.partition(ASKED)[2],
        before_told=before_told,
        next_frame=between[: len(between) - len(frame + after_frames)],
        next_question=next_question,
    )


def _user(text: str, *, frames: int) -> dict[str, Any]:
    return {"role": "user", "content": [*[IMAGE] * frames, {"type": "text", "text": text}]}


def _assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def _between(text: str, left: str, right: str) -> str | None:
    _, found, rest = text.partition(left)
    middle, ended, _ = rest.partition(right)
    return middle if found and ended else None


def _not_apart(path: Path) -> InputError:
    return InputError(
        "the chat template does not put turn after turn, a frame at a time; the conversation cannot grow",
        file=path,
        hint="play it without a stream, as reeltalk evaluate does",
    )
