"""The upper bound for videos with known facts: answers from their graphs by SPARQL, never from references.

Unlike other players, it gets the fact that a turn asks for (`kind` and `params` of a turn that a graph wrote). A turn
without them is read by its wording. It gives no answer if it does not find the fact, and denies what a turn takes for
granted if SPARQL finds no such act. It also gives none to a turn of a path that refers to a turn that the path has
skipped: only the graph would know what is meant.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any, Final, NamedTuple, Self

from reeltalk.baselines.answerer import as_option
from reeltalk.evaluation.playing.play import Pictures, Response, TurnInput
from reeltalk.evaluation.playing.script import Script
from reeltalk.language import phrases
from reeltalk.language.grammar import SPLITS
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.asking import stories
from reeltalk_household.questions.checking import Checker, checks, linked_checks
from reeltalk_household.questions.linked import linked_questions, scene_questions
from reeltalk_household.questions.question import Question, act_phrase, present_clause
from reeltalk_household.questions.questions import questions
from reeltalk_household.questions.wording import fill_form, form_of, forms_of

SEEDS_TRIED: Final = 64
"""Seeds that are tried to find a question whose subject was chosen by a seed, as an object that is not there."""
SEEDED_KINDS: Final = frozenset(
    {
        "acts", "order", "times", "never_handled", "opinion", "common_sense", "could_take",
    }
)  # fmt: skip
"""Kinds of questions whose subject a seed chooses."""
EVERYTHING: Final = (0.25, 0.75)
"""Seeds for which all is chosen that a seed may choose, with the one decision or the other where there are two."""
PREMISE_KINDS: Final = frozenset({"premise", "premise_act", "premise_by", "premise_towards", "premise_towards_by"})
"""Kinds of turns that take for granted what does not happen."""
UNKNOWN_KINDS: Final = frozenset({"sound"})
"""Kinds of turns that ask for what no graph holds."""
NOT_IN_GRAPHS: Final = "the graphs do not hold what is asked for"
SAME_TIME_S: Final = 1e-3


@dataclass(frozen=True)
class KnownVideo:
    """A video whose facts are known."""

    clips: tuple[Clip, ...]
    """Clips that have a graph, in order."""
    graphs: Mapping[str, str]
    """N-Quads by name, in the same order."""


class OraclePlayer:
    """Answers from graphs."""

    sees_frames = False
    name = "oracle"

    def __init__(self, videos: Mapping[str, KnownVideo]) -> None:
        self._videos = videos
        self._parts: dict[tuple[str, ...], _Part] = {}
        self._of: str | None = None

    @classmethod
    def of(cls, benchmark: Benchmark) -> Self:
        """A player that knows all graphs of a benchmark.

        Raises:
            InputError: A table or a graph's file is damaged.
        """
        return cls({video.id: KnownVideo(tuple(clips), texts) for video, clips, texts in stories(benchmark) if clips})

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        return (("oracle", "graph"),)

    def knows(self, script: Script) -> object:
        """All data except the questions that it reads for a script: graphs, clips, and the facts that turns ask for."""
        told = [
            [step.clips, step.turn.extra.get("kind"), step.turn.extra.get("params"), step.understood]
            for step in script.steps
        ]
        known = self._videos.get(script.video_id)
        if known is None:
            return told
        return [told, [clip.interval for clip in known.clips], list(known.graphs.items())]

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        """The answer from the graphs; none if they do not hold the fact.

        Raises:
            InputError: A graph is malformed.
        """
        known = self._videos.get(seen.video_id)
        if known is None:
            return Response(text=None, reason="the video has no graph")
        if not seen.step.understood:
            return Response(text=None, reason="the question refers to a turn that its path has skipped")
        if seen.video_id != self._of:
            # Only the stories of the last video are kept: a store needs memory, and videos are played in turn.
            self._parts, self._of = {}, seen.video_id
        extra = seen.step.turn.extra
        if extra.get("kind") in UNKNOWN_KINDS:
            return Response(text="The video does not tell that.")
        parts = self._candidates(known, seen.step.clips)
        if extra.get("kind") in PREMISE_KINDS and isinstance(extra.get("params"), dict):
            denied = next(parts).deny(str(extra["kind"]), extra["params"])
            return Response(text=denied, reason=None if denied else NOT_IN_GRAPHS)
        found = next((found for part in parts if (found := part.find(seen)) is not None), None)
        if found is not None:
            return Response(text=_in_words(found, seen.options))
        return Response(text=None, reason=NOT_IN_GRAPHS)

    def _candidates(self, known: KnownVideo, clips: Sequence[Interval]) -> Iterator["_Part"]:
        """The parts of a video that a turn may be about: the film up to the end of its clips, its clips, the whole."""
        all_ = range(len(known.clips))
        own = [n for n in all_ if any(_is_same(known.clips[n].interval, clip) for clip in clips)]
        if own:
            yield self._part(known, list(range(max(own) + 1)))
            yield self._part(known, own)
        yield self._part(known, list(all_))

    def _part(self, known: KnownVideo, places: Sequence[int]) -> "_Part":
        names = list(known.graphs)
        key = tuple(names[n] for n in places)
        if key not in self._parts:
            self._parts[key] = _Part({name: known.graphs[name] for name in key}, [known.clips[n] for n in places])
        return self._parts[key]


class _Everything(random.Random):
    """Draws all there is, and always the same number."""

    def __init__(self, number: float) -> None:
        super().__init__(0)
        # Below 1, as every number that is drawn: choices by this class would else never end.
        self._number = 0.0 if number < 0.5 else 0.999

    def random(self) -> float:
        return self._number

    def sample(self, population: Sequence[Any], k: int, *, counts: object = None) -> list[Any]:
        return list(population)


class _Part:
    """Some clips of a video, and all that can be asked about them."""

    def __init__(self, texts: Mapping[str, str], clips: Sequence[Clip]) -> None:
        self._texts = texts
        begins = [clip.interval.start_s for clip in clips if clip.interval is not None]
        self._begins = begins if len(begins) == len(clips) else None
        self._pools: dict[float, list[Question]] = {}

    @cached_property
    def _graphs(self) -> list[ActivityGraph]:
        return [read_activity(text, file=f"{GRAPHS}/{name}.nq", name=name) for name, text in self._texts.items()]

    @cached_property
    def _story(self) -> Story:
        return Story(self._graphs, begins_s=self._begins)

    @cached_property
    def _checker(self) -> Checker:
        return Checker(self._texts)

    def _pool(self, seed: int | float) -> list[Question]:
        if seed not in self._pools:
            draw = _Everything(seed) if isinstance(seed, float) else None
            self._pools[seed] = questions(self._story, seed=int(seed), draw=draw)
            if seed == 0:
                boundary = sum(event.part < len(self._graphs) - 1 for event in self._story.events)
                self._pools[seed] += scene_questions(self._story, boundary)
                self._pools[seed] += linked_questions(self._story, boundary) if boundary else ()
        return self._pools[seed]

    def find(self, seen: TurnInput) -> Question | None:
        """The question that a turn asks, as this part's graphs and SPARQL answer it; None if there is none."""
        extra = seen.step.turn.extra
        kind, params = extra.get("kind"), extra.get("params")
        told = isinstance(kind, str) and isinstance(params, dict)
        for seed in (0, *EVERYTHING, *range(1, SEEDS_TRIED)) if told and kind in SEEDED_KINDS else (0,):
            fitting = [
                question
                for question in self._pool(seed)
                if (not told or (question.kind == kind and dict(question.params) == params))
                and (told or _asks(question, seen.question))
            ]
            if len({question.key for question in fitting}) == 1 and self._is_so(fitting[0]):
                return fitting[0]
        return None

    def deny(self, kind: str, params: Mapping[str, Json]) -> str | None:
        """A correction of what a turn takes for granted, with what is shown instead; None if SPARQL finds it."""
        if self._checker.answer(kind, params) != "no":
            return None
        story = self._story
        agent, action, main, target = (params.get(name) for name in ("agent", "action", "object", "target"))
        targets = () if target is None else (str(target),)

        def agreement(event: StoryEvent) -> int:
            same_place = bool(targets) and event.targets == targets
            return sum((event.action == action, event.main == main, event.agent == agent, same_place))

        nearest = max(story.events, key=agreement)
        wrong = replace(nearest, agent=agent, action=str(action), main=main, targets=targets, speech_act=None)
        does, do = (act_phrase(wrong, story, form) for form in ("does", "do"))
        denied = f"nobody {does}" if agent is None else f"{story.called.get(agent, agent)} does not {do}"
        return f"That does not happen in the video: {denied}. Instead, {present_clause(nearest, story)}."

    def _is_so(self, question: Question) -> bool:
        if question.kind not in checks().keys() | linked_checks().keys():
            return True
        return self._checker.answer(question.kind, question.params) == question.key


def _is_same(one: Interval | None, other: Interval) -> bool:
    return (
        one is not None
        and abs(one.start_s - other.start_s) < SAME_TIME_S
        and abs(one.end_s - other.end_s) < SAME_TIME_S
    )


def _asks(question: Question, text: str) -> bool:
    """True if a text asks a question outright in one of its wordings, with any text before it."""
    asked = text.casefold()
    # Many questions of one kind are compared with one text.
    forms = _forms_within(question.kind, asked)
    if not forms:
        return False
    called = [question.slots, *({**question.slots, "who": look} for look in [question.slots.get("look")] if look)]
    return any(
        asked.endswith(phrases.sentence(fill_form(form, slots, named=named)).casefold())
        for form in forms
        for slots in called
        for named in (False, True)
    )


@lru_cache(maxsize=4096)
def _forms_within(kind: str, asked: str) -> tuple[str, ...]:
    """The wordings of a kind that a text may end with, whatever stands in their slots."""
    return tuple(form.text for form in _outright(kind) if form.pattern.search(asked))


class _Wording(NamedTuple):
    text: str
    pattern: re.Pattern[str]
    """What a text must hold, whatever stands in the slots."""


@cache
def _outright(kind: str) -> tuple[_Wording, ...]:
    found = []
    for split in SPLITS:
        for form in forms_of(kind, split, ref=False):
            parts = [re.escape(part.casefold()) for part in re.split(r"\{\w+\}", phrases.sentence(form.text))]
            found.append(_Wording(form.text, re.compile(".+?".join(parts) + "$", re.DOTALL)))
    return tuple(found)


def _in_words(question: Question, options: Sequence[str] | None) -> str:
    spec = form_of(question.kind)
    template = (spec.answers or (spec.yes if question.key == "yes" else spec.no))[0]
    text = phrases.sentence(fill_form(template, question.slots, named=False))
    if not options:
        return text
    return as_option(question.slots.get("option", text), options) or as_option(text, options) or text
