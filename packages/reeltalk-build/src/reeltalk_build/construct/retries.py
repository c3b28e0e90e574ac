"""Asks again for replies that cannot be used, and stops a step in which no reply can be used."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, TypeVar

from reeltalk.errors import ModelError, UnusableError, shorten
from reeltalk.llm import CachedModel, Message, Prompt, RecordResult, Reply, ask_for, json_schema
from reeltalk.llm.fencing import fence
from reeltalk.schema.record import Json
from reeltalk_build.construct.settings import Step

T = TypeVar("T")

FIRST: Final = 8
"""A step stops if the first replies of a model, in it or to one of its prompts, cannot be used, at this number. A reply
counts once, also if it was asked for again."""
NO_ANSWER_WEIGHT: Final = 4
"""A reply without an answer counts as this many: the model gave none in several tries."""
SHOWN_CHARS: Final = 300
"""Longest part of an unusable reply in an error."""


@dataclass
class _Outcomes:
    """Whether the first replies of a model could be used."""

    unusable: dict[str, int] = field(default_factory=dict)
    """How much each request without one counts, by its key."""
    any_usable: bool = False
    problem: str | None = None
    """Why the step stops."""


class ReplyWatch:
    """Watches whether the replies of the step that runs can be used. Safe to share among threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._step: Step | None = None
        self._outcomes: dict[tuple[str | None, str], _Outcomes] = {}
        """By prompt and model; without a prompt for all replies of the step."""
        self.measure: Callable[[Step | None, str, Reply], None] = lambda *_: None
        """Receives each reply with its step and prompt."""

    def begin(self, step: Step) -> None:
        """Start anew for a step."""
        with self._lock:
            self._step, self._outcomes = step, {}

    def count(self, prompt: str, replies: Sequence[Reply]) -> None:
        """Measure replies to a prompt, kept ones too."""
        for reply in replies:
            self.measure(self._step, prompt, reply)

    def judge_reply(self, prompt: str, model: str, request: str, result: RecordResult[T]) -> None:
        """Note whether a reply could be used. The same request counts once.

        Raises:
            UnusableError: The first `FIRST` replies of a model in this step, or to this prompt in it, could not be
                used.
        """
        with self._lock:
            for part in (prompt, None):
                found = self._outcomes.setdefault((part, model), _Outcomes())
                if result.record is not None:
                    found.any_usable = True
                elif result.replies and not found.any_usable:
                    found.unusable[request] = 1 if any(result.replies) else NO_ANSWER_WEIGHT
                    if found.problem is None and sum(found.unusable.values()) >= FIRST:
                        found.problem = _useless(self._step, part, model, result)
        self.check(prompt, model)

    def check(self, prompt: str, model: str) -> None:
        """Refuse further requests after the first replies were useless.

        Raises:
            UnusableError: The first `FIRST` replies of this model in this step, or to this prompt in it, could not be
                used.
        """
        with self._lock:
            problems = [self._outcomes.get((part, model), _Outcomes()).problem for part in (prompt, None)]
        if problem := next(filter(None, problems), None):
            raise UnusableError(problem)


def _useless(step: Step | None, prompt: str | None, model: str, asked: RecordResult[T]) -> str:
    said = asked.replies[-1]
    shown = fence(said if len(said) <= SHOWN_CHARS else f"{said[:SHOWN_CHARS]}…") if said else "(no answer)"
    to = "" if prompt is None else f" to the prompt {prompt!r}"
    return (
        f"the first {FIRST} replies of {model}{to} in the step {step or 'of this command'} cannot be used, though each "
        f"was asked for again; the last one, since {shorten(asked.reasons[-1])}:\n{shown}\nAll replies are kept. "
        "Choose another model, or raise --max-reply-tokens if replies are cut off; 'reeltalk construct' takes other "
        "--prompts, and asks for other replies with --retry-unwritten"
    )


class RetriedModel:
    """A model that is asked again where its replies cannot be used.

    Each retry has a sample number of its own, so that its replies are kept apart, and its own seed and temperature.
    """

    def __init__(self, opened: Callable[[int], CachedModel], watch: ReplyWatch, *, retries: bool = False) -> None:
        self._opened, self._watch, self._retries = opened, watch, retries
        self._lock = threading.Lock()
        self._tries = {0: opened(0)}

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._tries[0].name

    @property
    def sees_images(self) -> bool:
        """True if the model takes pictures."""
        return self._tries[0].sees_images

    @property
    def sampling(self) -> Mapping[str, Json]:
        """The sampling of the first try."""
        return self._tries[0].sampling

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """The kept reply, or a new one.

        Raises:
            BenchmarkError: The store is damaged or locked.
        """
        reply = self._tries[0].ask(messages, schema=schema)
        self._watch.count("probe", (reply,))
        return reply

    def close(self) -> None:
        """Close the model."""
        for tried in self._tries.values():
            tried.close()

    def converse(
        self,
        prompt: str,
        messages: Sequence[Message],
        kind: type[T],
        *,
        check: Callable[[T], str | None] | None = None,
        repair: Prompt | None = None,
    ) -> RecordResult[T]:
        """Ask for a record.

        If no reply can be used, the next kept sample counts. If there is none, and this model retries, it asks for it
        once. So a later run without retries finds what a retry has found.

        Returns:
            The record, or the replies of all tries with the reasons of the last one.

        Raises:
            UnusableError: None of the first `FIRST` replies in this step, or to this prompt in it, can be used.
        """
        self._watch.check(prompt, self.name)
        replies: list[str] = []
        retried = False
        for number in count():
            model = self._try(number)
            if number and not model.keeps(messages, schema=json_schema(kind)):
                if retried or not self._retries:
                    break
                retried = True
            try:
                asked = ask_for(model, messages, kind, check=check, repair=repair)
            except ModelError as error:
                # As of a model that thinks until its tokens end: the server works.
                if error.kind != "reply":
                    raise
                asked = RecordResult(None, ("",), (str(error),))
            self._watch.count(prompt, asked.given)
            replies += asked.replies
            tries, last = number + 1, asked
            if asked.record is not None:
                break
        if last.record is None:
            reasons = last.reasons if tries == 1 else (f"in try {tries}: {last.reasons[0]}", *last.reasons[1:])
            last = RecordResult(None, tuple(replies), reasons)
        request = self._tries[0].key(messages, schema=json_schema(kind))
        self._watch.judge_reply(prompt, self.name, request, last)
        return last

    def _try(self, number: int) -> CachedModel:
        with self._lock:
            if number not in self._tries:
                self._tries[number] = self._opened(number)
            return self._tries[number]
