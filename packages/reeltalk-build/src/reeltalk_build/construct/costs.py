"""What the steps of construction ask of models: requests, images and tokens, by step and prompt.

A request counts once, in the step that asked it first, also if its reply was kept by an earlier run. So the record says
what the step's result takes, and an interrupted run that is continued leaves the same record. `CountedModel` also asks
again for replies that cannot be used, and stops a step in which no reply can be used.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter

from reeltalk.errors import ModelError, UnusableError, shorten
from reeltalk.llm import CachedModel, Message, Prompt, RecordResult, Reply, ask_for, json_schema
from reeltalk.llm.fencing import fence
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.documents import parse, read_document, write_json
from reeltalk_build.construct.settings import Step

T = TypeVar("T")

COSTS: Final = "costs.json"
"""File of a benchmark with the record of its construction."""
FIRST: Final = 8
"""A step stops if the first replies of a model, in it or to one of its prompts, cannot be used, at this number. A reply
counts once, also if it was asked for again."""
NO_ANSWER: Final = 4
"""A reply without an answer counts as this many: the model gave none in several tries."""
SHOWN_CHARS: Final = 300
"""Longest part of an unusable reply in an error."""
PROBE: Final = "probe"
"""Name under which requests without a record are counted."""


class Asked(BaseModel):
    """The requests with one prompt."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    requests: int = 0
    """Different requests whose replies were used, repeated ones included."""
    repeated: int = 0
    """Those that were asked since a reply could not be used."""
    unusable: int = 0
    """Conversations that ended without a reply that can be used."""
    images: int = 0
    prompt_tokens: int = 0
    """Tokens of prompts with their images, as the server counted them."""
    reply_tokens: int = 0

    def __add__(self, other: "Asked") -> "Asked":
        return Asked(**{name: getattr(self, name) + getattr(other, name) for name in Asked.model_fields})


class StepCost(BaseModel):
    """The requests of one step."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    videos: int
    """Videos that the step worked on."""
    clips: int
    """Clips of these videos."""
    prompts: dict[str, Asked]
    """Requests by the name of the prompt."""


_COSTS: Final = TypeAdapter(dict[str, StepCost])


def step_costs(benchmark: Benchmark) -> dict[str, StepCost]:
    """The record of a benchmark's construction by step; empty if no model was asked.

    Raises:
        InputError: The record is damaged.
    """
    if COSTS not in benchmark.manifest.files:
        return {}
    path = benchmark.file(COSTS)
    return {
        str(step): parse(StepCost, cost, file=path) for step, cost in dict(read_document(path.parent, COSTS)).items()
    }


def construct_cost(benchmark: Benchmark) -> dict[str, dict[str, Asked]]:
    """Requests, images and tokens of a benchmark's construction, by step and prompt; empty if no model was asked.

    Raises:
        InputError: The record is damaged.
    """
    return {step: dict(cost.prompts) for step, cost in step_costs(benchmark).items()}


def costs_with(benchmark: Benchmark, step: Step, cost: StepCost) -> bytes | None:
    """The content of `COSTS` after a step; None if it needs no such file.

    Args:
        benchmark: Holds the record of the other steps.
        step: The step.
        cost: Its requests.
    """
    found = step_costs(benchmark)
    found.pop(step, None)
    if cost.prompts:
        found[step] = cost
    if not found and COSTS not in benchmark.manifest.files:
        return None
    return write_json(_COSTS.dump_python(dict(sorted(found.items())), mode="json")).encode()


def format_costs(costs: Mapping[str, Mapping[str, Asked]]) -> list[str]:
    """One line for each step.

    Args:
        costs: Requests by step and prompt.
    """
    lines = []
    for step, prompts in costs.items():
        total = sum(prompts.values(), Asked())
        again = f", {total.repeated:,} of them since a reply could not be used" if total.repeated else ""
        lost = f"; {total.unusable:,} times no reply could be used" if total.unusable else ""
        images = f", {total.images:,} images" if total.images else ""
        told = ", ".join(f"{asked.requests:,} {name}" for name, asked in prompts.items())
        lines.append(
            f"{step} took {total.requests:,} requests{again}{images}, {total.prompt_tokens:,} + "
            f"{total.reply_tokens:,} tokens: {told}{lost}"
        )
    return lines


@dataclass
class _Outcomes:
    """Whether the first replies of a model could be used."""

    unusable: dict[str, int] = field(default_factory=dict)
    """How much each request without one counts, by its key."""
    any_usable: bool = False
    problem: str | None = None
    """Why the step stops."""


class StepCounter:
    """Counts the requests of the step that runs. Safe to share among threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._step: Step | None = None
        self._seen: set[tuple[str, str]] = set()
        self._asked: dict[str, Asked] = {}
        self._outcomes: dict[tuple[str | None, str], _Outcomes] = {}
        """By prompt and model; without a prompt for all replies of the step."""

    def begin(self, step: Step) -> None:
        """Start at zero for a step."""
        with self._lock:
            self._step = step
            self._seen, self._asked, self._outcomes = set(), {}, {}

    @property
    def step(self) -> str:
        """Name of the step; empty outside of steps."""
        with self._lock:
            return self._step or ""

    @property
    def asked(self) -> dict[str, Asked]:
        """Requests of the step so far, by prompt in alphabetical order."""
        with self._lock:
            return dict(sorted(self._asked.items()))

    def count(self, prompt: str, key: str, messages: Sequence[Message], reply: Reply, *, repeated: bool) -> None:
        """Count a request, unless the step has sent the same one before.

        Args:
            prompt: Name of the prompt.
            key: Identity of the request.
            messages: The conversation.
            reply: The reply, kept or new.
            repeated: True if it was sent since a reply could not be used.
        """
        one = Asked(
            requests=1,
            repeated=int(repeated),
            images=sum(len(message.images) for message in messages),
            prompt_tokens=reply.prompt_tokens or 0,
            reply_tokens=reply.completion_tokens or 0,
        )
        with self._lock:
            if (prompt, key) not in self._seen:
                self._seen.add((prompt, key))
                self._asked[prompt] = self._asked.get(prompt, Asked()) + one

    def judge_reply(self, prompt: str, model: str, request: str, asked: RecordResult[T]) -> None:
        """Note whether a reply could be used. The same request counts once.

        Args:
            prompt: Name of the prompt.
            model: Name of the model.
            request: Key of the request.
            asked: The record, or the replies and why they cannot be used.

        Raises:
            UnusableError: The first `FIRST` replies of a model in this step, or to this prompt in it, could not be
                used.
        """
        with self._lock:
            if asked.record is None and asked.replies:
                self._asked[prompt] = self._asked.get(prompt, Asked()) + Asked(unusable=1)
            for part in (prompt, None):
                found = self._outcomes.setdefault((part, model), _Outcomes())
                if asked.record is not None:
                    found.any_usable = True
                elif asked.replies and not found.any_usable:
                    found.unusable[request] = 1 if any(asked.replies) else NO_ANSWER
                    if found.problem is None and sum(found.unusable.values()) >= FIRST:
                        found.problem = _useless(self._step, part, model, asked)
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


class CountedModel:
    """A model whose requests are counted, and asked again where its replies cannot be used.

    Args:
        opened: Opens the model for a retry, from 0 for the first try. Each retry has its own sample number, so that its
            replies are kept apart, and its own seed and temperature.
        counter: Counts the requests.
        retries: True to ask for another sample where no kept reply can be used.
    """

    def __init__(self, opened: Callable[[int], CachedModel], counter: StepCounter, *, retries: bool = False) -> None:
        self._opened, self._counter, self._retries = opened, counter, retries
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
        """The kept reply, or a new one; counted as `PROBE`.

        Raises:
            ModelError: There is no reply.
            BudgetError: A limit would be passed.
            BenchmarkError: The store is damaged or locked.
        """
        return _Try(self._tries[0], self._counter, PROBE, len(messages), again=False).ask(messages, schema=schema)

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

        Args:
            prompt: Name of the prompt.
            messages: The conversation.
            kind: Type of the record.
            check: Returns what is wrong with a record; None if nothing is.
            repair: Prompt that asks again after a reply that cannot be used.

        Returns:
            The record, or the replies of all tries with the reasons of the last one.

        Raises:
            ModelError: The server failed.
            BudgetError: A limit would be passed.
            UnusableError: None of the first `FIRST` replies in this step, or to this prompt in it, can be used.
        """
        self._counter.check(prompt, self.name)
        replies: list[str] = []
        retried = False
        for number in count():
            model = _Try(self._try(number), self._counter, prompt, len(messages), again=number > 0)
            if number and not self._try(number).keeps(messages, schema=json_schema(kind)):
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
            replies += asked.replies
            tries, last = number + 1, asked
            if asked.record is not None:
                break
        if last.record is None:
            reasons = last.reasons if tries == 1 else (f"in try {tries}: {last.reasons[0]}", *last.reasons[1:])
            last = RecordResult(None, tuple(replies), reasons)
        request = self._tries[0].key(messages, schema=json_schema(kind))
        self._counter.judge_reply(prompt, self.name, request, last)
        return last

    def _try(self, number: int) -> CachedModel:
        with self._lock:
            if number not in self._tries:
                self._tries[number] = self._opened(number)
            return self._tries[number]


class _Try:
    """One try at a conversation. Its requests are counted."""

    def __init__(self, model: CachedModel, counter: StepCounter, prompt: str, opening: int, *, again: bool) -> None:
        self._model, self._counter, self._prompt = model, counter, prompt
        self._opening, self._again = opening, again
        self.name, self.sees_images, self.sampling = model.name, model.sees_images, model.sampling

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """The kept reply, or a new one."""
        reply = self._model.ask(messages, schema=schema)
        key = self._model.key(messages, schema=schema)
        if self._model.store.claim(key, self._counter.step) != self._counter.step:
            return reply
        # A conversation that is longer than its opening repairs a reply.
        repeated = self._again or len(messages) > self._opening
        self._counter.count(self._prompt, key, messages, reply, repeated=repeated)
        return reply

    def close(self) -> None:
        """Nothing; `CountedModel` closes the model."""
