"""Detects turns that can be answered without the video: from the question alone, from the history, or from habit.

Offline baselines try to answer (`baselines`); `probing.py` asks a model in the same way. For the baselines a turn's own
video is left out of the training data. Turns that need no video by design are not checked.

A baseline only finds candidate answers. For a turn with a typed answer the type says whether one is right; for an open
answer `equivalence.py` does, so without a judge such a turn is unchecked. A turn without a candidate passes.

A question also leaks if it contains its own answer: it names the asked value, or something that implies it. Names and
synonyms for this are those for reading typed answers (`questions/answer_words.toml`). Alternatives that a question
offers, and a statement that it asks to confirm, do not count.
"""

import math
import re
import tomllib
import zlib
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from reeltalk.baselines.answerer import KnownAnswer
from reeltalk.baselines.constant import question_form, question_head
from reeltalk.baselines.history import HistoryAnswerer, StatedAnswer
from reeltalk.baselines.nearest import QuestionIndex, WordWeights
from reeltalk.baselines.ranking import drawn_questions
from reeltalk.errors import shorten
from reeltalk.language.answer_words import (
    ARTICLES,
    Mention,
    answer_tokens,
    lexicon,
    names_in,
    normalise_answer,
    verbs_in,
)
from reeltalk.language.vocabulary import ROOMS
from reeltalk.metrics.agree import agrees, content_words, essence, is_yes_no, polarity, states
from reeltalk.metrics.choice import names_same
from reeltalk.metrics.significance import binomial_tail
from reeltalk.schema.dialogue import AnswerKey, Dialogue, KeyType, QAChain, Turn
from reeltalk.schema.gates import LEAK, GateOutcome, GateResult, is_counted
from reeltalk_build.construct.equivalence import AnswerPair, Equivalence, InOrder, Verdicts, typed_by

Conversation = Dialogue | QAChain
LeakProbe = Literal["own", "blind", "history", "habit"]
BLIND: Final = "leak.blind"
HISTORY: Final = "leak.history"
HABIT: Final = "leak.habit"
SHARE: Final = "leak.share"
STRICT_COVERAGE: Final = 0.5
"""Share of a question's words that an earlier turn must have to answer it, if there are no turns to learn weights from.
"""
STRICT_STATED: Final = 0.5
"""The same share for a statement that answers a yes/no question."""
_EVEN: Final = 0.5
"""Probability of an answer under the null hypothesis; an answer that is right more often than wrong is a good guess."""


class LeakSettings(BaseModel):
    """Thresholds for leaks."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    probes: tuple[LeakProbe, ...] = ("blind", "history", "habit")
    """Ways of answering without the video to try; `own` is the part of `blind` that needs no other video."""
    max_context_share: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Largest share of turns that may be answerable without the video before whole dialogues are dropped."""
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Chance at which a fair mixture of answers is taken for a habit; over all forms together, and per turn blind."""
    min_support: Annotated[int, Field(ge=1)] = 5
    """Least number of other videos with a similar question (blind), or of turns of a form in other videos (habit)."""
    likeness: Annotated[float, Field(gt=0, le=1)] = 0.85
    """Least cosine similarity at which a question of another video counts as the same question."""
    coverage: Annotated[float, Field(gt=0, le=1)] = 0.6
    """Share of a question's words that an earlier turn must have to answer it."""


def history_before(conversation: Conversation, index: int) -> list[tuple[str, str]]:
    """(question, preferred reference) of the turns before a turn."""
    return [(turn.question, turn.references[0] if turn.references else "") for turn in conversation.turns[:index]]


def known_answers(conversations: Iterable[Conversation]) -> Iterator[KnownAnswer]:
    """Every counted turn as a question with its answer and its video, for baselines to learn from."""
    for conversation in conversations:
        for turn in conversation.turns:
            if is_counted(turn):
                yield KnownAnswer(turn.question, turn.references[0], conversation.video_id)


@dataclass(frozen=True)
class _Doubt:
    """Candidate answers to a turn with an open answer."""

    texts: tuple[str, ...]
    reason: Callable[[Sequence[bool]], str | None]
    """Takes which candidates are right, and returns the reason why the turn leaks, or None."""

    def outcome(self, verdicts: Verdicts, undecided: str) -> tuple[GateOutcome, str | None]:
        leak = self.reason([verdict is True for verdict in verdicts])
        if leak is not None:
            return GateOutcome.FLAGGED, leak
        if self.reason([verdict is not False for verdict in verdicts]) is None:
            return GateOutcome.PASSED, None
        return GateOutcome.UNCHECKED, f"{undecided}: {shorten(self.texts[0])}"


_Found = str | _Doubt | None
"""The reason why a turn leaks, candidate answers that may be right, or None for a turn that passes."""


def leaks(
    conversations: Iterable[Conversation],
    train: Iterable[Conversation] | None = None,
    settings: LeakSettings | None = None,
    equivalence: Equivalence | None = None,
    in_order: InOrder = map,
) -> Iterator[GateResult]:
    """Check every counted turn.

    Args:
        conversations: Dialogues or chains; read several times.
        train: Training data of the baselines; `conversations` by default. A turn's own video is never used for it. If
            it has a method `of_video`, its conversations are not held in memory.
        settings: Probes and thresholds.
        equivalence: Compares open answers with the references; by default only identical ones are decided.
        in_order: Compares the answers of several conversations; one after the other by default.

    Yields:
        One result per counted turn and probe: flagged, passed, or unchecked if nobody could compare the answers.
    """
    settings, equivalence = settings or LeakSettings(), equivalence or Equivalence()
    learnt = conversations if train is None else train
    told = learnt if isinstance(learnt, FindsByVideo) else _Listed(learnt)
    waiting: deque[tuple[Conversation, list[_Check]]] = deque()

    def pairs() -> Iterator[list[AnswerPair]]:
        for conversation, checks in _found(conversations, told, settings):
            waiting.append((conversation, checks))
            yield [AnswerPair.of(turn, text) for turn, doubt in _doubts(conversation, checks) for text in doubt.texts]

    for verdicts in in_order(equivalence.decide, pairs()):
        conversation, checks = waiting.popleft()
        left = iter(verdicts)
        for index, gate, parts in checks:
            outcomes = [
                part.outcome([next(left) for _ in part.texts], equivalence.undecided)
                if isinstance(part, _Doubt)
                else (GateOutcome.PASSED if part is None else GateOutcome.FLAGGED, part)
                for part in parts
            ]
            outcome, reason = max(outcomes, key=lambda one: _GRAVITY.index(one[0]))
            yield GateResult(
                gate=gate,
                unit="dialogue" if isinstance(conversation, Dialogue) else "chain",
                unit_id=conversation.id,
                turn_index=index,
                outcome=outcome,
                reason=reason,
            )


_GRAVITY: Final = (GateOutcome.PASSED, GateOutcome.UNCHECKED, GateOutcome.FLAGGED)
_Check = tuple[int, str, list[_Found]]
"""Index of a turn, gate, and what each way of answering found."""


@runtime_checkable
class FindsByVideo(Protocol):
    """Conversations that can be read again and again, and by their video."""

    def __iter__(self) -> Iterator[Conversation]: ...

    def of_video(self, video_id: str) -> Iterable[Conversation]:
        """The conversations about a video."""
        ...


class _Listed:
    """Conversations that are read again and again; by their video only in memory."""

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        self._all = conversations

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self._all)

    @cached_property
    def _by_video(self) -> dict[str, list[Conversation]]:
        found: dict[str, list[Conversation]] = defaultdict(list)
        for conversation in self._all:
            found[conversation.video_id].append(conversation)
        return found

    def of_video(self, video_id: str) -> Iterable[Conversation]:
        return self._by_video.get(video_id, ())


MOST_COMPARED: Final = 50_000
"""Most questions of other videos among which like ones are looked for; of more, a draw."""


def _found(
    conversations: Iterable[Conversation], learnt: FindsByVideo, settings: LeakSettings
) -> Iterator[tuple[Conversation, list[_Check]]]:
    """What the baselines find, by conversation."""
    summary = _Summary(learnt)
    known = QuestionIndex(_drawn(learnt, summary.turns) if "blind" in settings.probes else ())
    habits = _Habits(learnt if "habit" in settings.probes else _Listed(()), settings, summary)
    for conversation in conversations:
        checks: list[_Check] = []
        for index, turn in enumerate(conversation.turns):
            if not is_counted(turn):
                continue
            if "own" in settings.probes:
                checks.append((index, BLIND, [_own(turn)]))
            if "blind" in settings.probes:
                checks.append((index, BLIND, [_own(turn), _blind(known, turn, conversation.video_id, settings)]))
            if "history" in settings.probes:
                said = history_before(conversation, index)
                repeated = _asked_before(turn, conversation.turns[:index])
                found = repeated or _history(summary.history(type(conversation), settings), turn, said)
                checks.append((index, HISTORY, [found]))
            if "habit" in settings.probes:
                checks.append((index, HABIT, [habits.found(turn, conversation.video_id)]))
        yield conversation, checks


def _drawn(learnt: Iterable[Conversation], turns: int) -> list[KnownAnswer]:
    places = iter(drawn_questions(turns, MOST_COMPARED))
    wanted, found = next(places, None), []
    for place, known in enumerate(known_answers(learnt)):
        if place == wanted:
            found.append(known)
            wanted = next(places, None)
    return found


_FORMS: Final = 1 << 20


class _Summary:
    """What all conversations have in common, counted in one reading."""

    def __init__(self, learnt: Iterable[Conversation]) -> None:
        self.turns = 0
        self._words: dict[type[Conversation], WordWeights] = {}
        self._all = WordWeights()
        # By hash, so that its size does not grow with the wordings. Two forms with one hash count as more frequent.
        self._forms = np.zeros(_FORMS, dtype=np.int64)
        self._histories: dict[type[Conversation], HistoryAnswerer] = {}
        for conversation in learnt:
            words = self._words.setdefault(type(conversation), WordWeights())
            for turn in conversation.turns:
                if is_counted(turn):
                    self.turns += 1
                    words.add(turn.question)
                    self._all.add(turn.question)
                    for form in _forms(turn):
                        self._forms[_hash(form)] += 1

    def history(self, sort: type[Conversation], settings: LeakSettings) -> HistoryAnswerer:
        """The history baseline, with weights of words from conversations of one type; from all if there are none."""
        if sort not in self._histories:
            words = self._words.get(sort, self._all)
            self._histories[sort] = HistoryAnswerer(words.weight, least=settings.coverage)
        return self._histories[sort]

    def may_have(self, form: tuple[str, str], turns: int) -> bool:
        """False only for a form that fewer turns have."""
        return bool(self._forms[_hash(form)] >= turns)


def _hash(form: tuple[str, str]) -> int:
    return zlib.crc32("\t".join(form).encode()) % _FORMS


def _doubts(conversation: Conversation, checks: Sequence[_Check]) -> Iterator[tuple[Turn, _Doubt]]:
    for index, _, parts in checks:
        for part in parts:
            if isinstance(part, _Doubt):
                yield conversation.turns[index], part


def leak_of(turn: Turn, said: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Check one turn against its own question and the history.

    Writers use it while no other video is known yet: it is stricter than `leaks` on the history, and has no habits.

    Args:
        turn: A turn that may be asked.
        said: The questions and answers before it.

    Returns:
        The gate that the turn fails and the reason; None if it passes.
    """
    if not is_counted(turn):
        return None
    own = own_answer(turn)
    if own is not None:
        return BLIND, own
    told = _stated(_strict(), turn, said)
    return None if told is None else (HISTORY, told)


def leaks_of(conversation: Conversation) -> list[tuple[int, str, str]]:
    """The turns that fail `leak_of`, as (index, gate, reason).

    Args:
        conversation: A chain or dialogue that was just written.
    """
    found = (
        (index, leak_of(turn, history_before(conversation, index))) for index, turn in enumerate(conversation.turns)
    )
    return [(index, *leak) for index, leak in found if leak is not None]


@cache
def _strict() -> HistoryAnswerer:
    return HistoryAnswerer(least=STRICT_COVERAGE, stated=STRICT_STATED)


MOST_VOTES: Final = 20
"""Most other videos whose answers to an open question are compared."""
MOST_STATED: Final = 5
"""Most earlier sentences that are compared with the answer to an open question."""


def _own(turn: Turn) -> _Found:
    named = _named_answer(turn)
    if named is not None or not _all_said(turn):
        return named
    return ALL_SAID if typed_by(turn) else _doubt(turn.question, ALL_SAID)


def _doubt(text: str, reason: str) -> _Doubt:
    return _Doubt((text,), lambda same: reason if same[0] else None)


def _blind(known: QuestionIndex, turn: Turn, video_id: str, settings: LeakSettings) -> _Found:
    """Leaks if similar questions of other videos have this answer more often than by chance."""
    votes: dict[str, str] = {}
    for like in known.nearest(turn.question, without=video_id, least=settings.likeness):
        # One vote a video, so that a question asked again and again in one video counts once.
        votes.setdefault(like.pair.video_id, like.pair.answer)
    if len(votes) < settings.min_support:
        return None

    def reason(same: Sequence[bool]) -> str | None:
        if binomial_tail(sum(same), len(same)) > settings.alpha:
            return None
        return f"{sum(same):,} of {len(same):,} other videos with a like question have this answer"

    if typed_by(turn):
        return reason([_agrees(text, turn) for text in votes.values()])
    return _Doubt(tuple(votes.values())[:MOST_VOTES], reason)


def _agrees(text: str, turn: Turn) -> bool:
    same = names_same(text, turn.references, turn.options, turn.question) if turn.options else None
    return agrees(text, turn.references, turn.question) if same is None else same


def _asked_before(turn: Turn, earlier: Sequence[Turn]) -> str | None:
    """The reason if an earlier turn asks for the same fact in other words; only turns whose writer names it."""
    fact = _fact_of(turn)
    same = next((one for one in earlier if fact is not None and _fact_of(one) == fact), None)
    return None if same is None else f"an earlier turn asks for the same: {shorten(same.question)}"


def _fact_of(turn: Turn) -> tuple[str, str] | None:
    kind, params = turn.extra.get("kind"), turn.extra.get("params")
    return (kind, repr(sorted(params.items()))) if isinstance(kind, str) and isinstance(params, dict) else None


def _history(history: HistoryAnswerer, turn: Turn, said: Sequence[tuple[str, str]]) -> _Found:
    """Leaks if an earlier turn is about the question and contains its answer."""
    if typed_by(turn):
        return _stated(history, turn, said)
    once: dict[str, StatedAnswer] = {}
    for one in history.found(turn.question, said):
        once.setdefault(one.text, one)
    found = list(once.values())[:MOST_STATED]

    def reason(same: Sequence[bool]) -> str | None:
        return next((_states_it(one) for one, right in zip(found, same, strict=True) if right), None)

    return _Doubt(tuple(one.text for one in found), reason) if found else None


def _stated(history: HistoryAnswerer, turn: Turn, said: Sequence[tuple[str, str]]) -> str | None:
    """The reason if an earlier turn is about the question and has the words of its answer; otherwise None."""
    for found in history.found(turn.question, said):
        if any(states(found.text, reference, turn.question) for reference in turn.references):
            return _states_it(found)
    return None


def _states_it(found: StatedAnswer) -> str:
    how = "asks the like and has this answer" if found.asked_before else "states the answer"
    return f"turn {found.turn + 1} {how}: {found.text!r}"


_NONE: Final[Counter[tuple[str, ...]]] = Counter()


class _Habits:
    """Counts of answers by form of question, in all videos and in one."""

    def __init__(self, learnt: FindsByVideo, settings: LeakSettings, summary: _Summary) -> None:
        self._settings, self._learnt = settings, learnt
        fewest = min(settings.min_support, math.ceil(math.log(settings.alpha, _EVEN) - 1e-9))
        self._all: dict[Hashable, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self._texts: dict[tuple[str, ...], str] = {}
        for turn, said in _answers(learnt):
            for form in _forms(turn):
                if summary.may_have(form, fewest):
                    self._all[form][said] += 1
                    self._texts.setdefault(said, turn.references[0])
        self._totals = {form: answers.total() for form, answers in self._all.items()}
        self._tests = sum(_EVEN**total <= settings.alpha for total in self._totals.values())
        self._own_of = lru_cache(maxsize=16)(self._count_own)

    def _count_own(self, video_id: str) -> dict[Hashable, Counter[tuple[str, ...]]]:
        found: dict[Hashable, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for turn, said in _answers(self._learnt.of_video(video_id)):
            for form in _forms(turn):
                found[form][said] += 1
        return found

    def found(self, turn: Turn, video_id: str) -> _Found:
        """Leaks if a turn's answer is the usual one for its form in other videos."""
        said = essence(turn.references[0], turn.question)
        # So many forms are tested that one of them would seem a habit by chance (Bonferroni).
        alpha = self._settings.alpha / max(1, self._tests)
        for form in _forms(turn):
            answers, own = self._all.get(form, _NONE), self._own_of(video_id).get(form, _NONE)
            total = self._totals.get(form, 0) - own.total()
            if total < self._settings.min_support or _EVEN**total > alpha:
                continue
            usual = said if typed_by(turn) else max(answers, key=lambda one: (answers[one] - own[one], one))
            count = answers[usual] - own[usual]
            if binomial_tail(count, total) > alpha:
                return None
            why = f"{count:,} of {total:,} questions of the form {form[1]!r} in other videos have this answer"
            return why if typed_by(turn) else _doubt(self._texts[usual], why)
        return None


def _answers(conversations: Iterable[Conversation]) -> Iterator[tuple[Turn, tuple[str, ...]]]:
    for conversation in conversations:
        for turn in conversation.turns:
            if is_counted(turn):
                yield turn, essence(turn.references[0], turn.question)


def _forms(turn: Turn) -> list[tuple[str, str]]:
    """The forms of a turn, the finest first: the writer's kind, the wording, and the question word."""
    kind = turn.extra.get("kind")
    forms = [("kind", kind)] if isinstance(kind, str) else []
    forms += [("form", question_form(turn.question))]
    # Open questions of one head have nothing in common; yes or no is a choice of two wherever it is asked.
    return [*forms, ("head", question_head(turn.question))] if is_yes_no(turn.question) else forms


def limit_leak_share(
    conversations: Iterable[Conversation], results: Iterable[GateResult], share: float
) -> Iterator[GateResult]:
    """Choose the conversations to drop, so that at most a share of all turns can be answered without the video.

    Args:
        conversations: All of them; read twice.
        results: Of `leaks`, or of a model's probes.
        share: `LeakSettings.max_context_share`.

    Yields:
        A `leak.share` result for each: dropped are those with the largest share of flagged turns, among equals the one
        with more flagged turns and then the earlier identifier, until the rest is at the limit or under it.
    """
    leaky = _flagged(results)
    turns, flagged = dict[str, int](), Counter[str]()
    for one in conversations:
        counted = [index for index, turn in enumerate(one.turns) if is_counted(turn)]
        turns[one.id], flagged[one.id] = len(counted), sum((one.id, index) in leaky for index in counted)
    order = sorted(
        (name for name in turns if flagged[name]),
        key=lambda name: (-flagged[name] / turns[name], -flagged[name], name),
    )
    bad, total = flagged.total(), sum(turns.values())
    dropped = set()
    for name in order:
        if bad <= share * total:
            break
        dropped.add(name)
        bad, total = bad - flagged[name], total - turns[name]
    for conversation in conversations:
        name = conversation.id
        yield GateResult(
            gate=SHARE,
            unit="dialogue" if isinstance(conversation, Dialogue) else "chain",
            unit_id=name,
            outcome=GateOutcome.DROPPED if name in dropped else GateOutcome.PASSED,
            reason=(
                f"{flagged[name]} of {turns[name]} turns can be answered without the video, "
                f"and at most {share:.0%} of all turns may"
            )
            if name in dropped
            else None,
        )


def _flagged(results: Iterable[GateResult]) -> set[tuple[str, int]]:
    return {
        (result.unit_id, result.turn_index)
        for result in results
        if result.gate.startswith(LEAK) and result.outcome is GateOutcome.FLAGGED and result.turn_index is not None
    }


TELLING: Final = Path(__file__).parent / "own_answers.toml"
MOST_SHARED: Final = 0.9
"""A question that has at least this share of the answer's content words contains the answer."""
_CLOSED: Final = frozenset({"yes_no", "order", "comparison", "refusal", "person", "reply", "daytime"})
_CHOICES: Final = re.compile(
    r"(?:\w+, )*\w+,? or \w+|(?:\w+、)*\w+还是\w+|\b(?:of|between) .+ and .+, (?:which|what|who)\b"
)
"""Matches alternatives that a question offers."""
_ASKS: Final[tuple[tuple[KeyType, re.Pattern[str]], ...]] = (
    ("room", re.compile(r"\b(?:which|what) (?:part|room)\b|\bwhere in the (?:house|home|flat|apartment)\b")),
    ("colour", re.compile(r"\b(?:which|what|of what|whose) colour\b|\bits colour\b")),
    ("count", re.compile(r"\bhow (?:many|often)\b|\bnumber of\b")),
)
"""Type of the answer by the wording of a question without a key."""
_TOWARDS: Final = ARTICLES | {"to", "at", "on", "in", "into", "onto", "towards", "up", "down", "over", "from", "off"}
_NAMELESS: Final = frozenset({"one", "once"})
"""Number words that often do not count anything, as in *which one* and *once he is done*."""


ALL_SAID: Final = "the question already says what the answer says"


def own_answer(turn: Turn) -> str | None:
    """The reason why a question contains its own answer, by its words; None if it does not.

    The answer comes from the turn's key, or from its reference and the wording of the question.

    Args:
        turn: A turn with a reference or a key.
    """
    return _named_answer(turn) or (ALL_SAID if _all_said(turn) else None)


def _named_answer(turn: Turn) -> str | None:
    """The reason if a question names the asked value."""
    text = _CHOICES.sub(" ", normalise_answer(turn.question))
    if (key := _key_of(turn, text)) is not None:
        for value, words in _named(key, answer_tokens(text)):
            return f"the question names its answer, {value}: {words!r}"
    return None


def _key_of(turn: Turn, text: str) -> AnswerKey | None:
    """The key by which a question may name its answer; None for a closed question, which offers its answers."""
    if turn.key is not None:
        return None if turn.key.type in _CLOSED else turn.key
    return None if _is_closed(turn) else _read_key(text, turn)


def _is_closed(turn: Turn) -> bool:
    return bool(turn.options) or is_yes_no(turn.question) or any(polarity(text) for text in turn.references[:1])


def _all_said(turn: Turn) -> bool:
    """True if a question has the words of its answer."""
    text = normalise_answer(turn.question)
    if (_is_closed(turn) if turn.key is None else turn.key.type in _CLOSED) or _CHOICES.search(text):
        return False
    key = _key_of(turn, _CHOICES.sub(" ", text))
    if key is not None and key.type in ("state", "count", "seconds"):
        # The other words of the answer do not reveal a number or a state.
        return False
    answer, asked = set(content_words(" ".join(turn.references[:1]))), set(content_words(turn.question))
    return bool(answer) and len(answer & asked) >= MOST_SHARED * len(answer)


def _read_key(question: str, turn: Turn) -> AnswerKey | None:
    """A key for a question without one, if the question and the reference determine it."""
    type_ = next((name for name, pattern in _ASKS if pattern.search(question)), None)
    if type_ is None or not turn.references:
        return None
    said = answer_tokens(normalise_answer(turn.references[0]))
    if type_ == "count":
        values = {str(n) for n in _numbers(said)}
    else:
        values = {value for name in names_in(said, "noun", type_) if name.kind == type_ for value in name.values}
    return AnswerKey(type=type_, values=tuple(values)) if len(values) == 1 else None


def _named(key: AnswerKey, tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Values of a key that a question names, each with the words that name it."""
    due = frozenset(key.values)
    if key.type in ("count", "seconds"):
        yield from ((str(n), str(n)) for n in _numbers(tokens) if str(n) in due)
    elif key.type == "action":
        for act in (*key.values, *key.also):
            if act not in key.about and (words := _act_named(act, tokens)):
                yield act, words
    elif key.type in _KINDS:
        for name in names_in(tokens, *_KINDS[key.type]):
            meant = _rooms_of(name) if key.type == "room" else name.values
            if meant and meant <= due and name.kind != ("room" if key.type == "object" else ""):
                yield " ".join(sorted(meant)), _words(tokens, name)


_KINDS: Final[dict[KeyType, tuple[str, ...]]] = {
    "room": ("noun", "room"),
    "object": ("noun",),
    "place": ("noun",),
    "colour": ("noun", "colour"),
    "state": ("state",),
    "feeling": ("feeling",),
    "size": ("size",),
}


def _words(tokens: Sequence[str], name: Mention) -> str:
    return " ".join(tokens[name.start : name.end])


def _numbers(tokens: Sequence[str]) -> Iterator[int]:
    for token in tokens:
        if token.isdigit():
            yield int(token)
        elif token in lexicon().numbers and token not in _NAMELESS:
            yield lexicon().numbers[token]


@cache
def _tells_room() -> dict[str, str]:
    raw: dict[str, str] = tomllib.loads(TELLING.read_text(encoding="utf-8"))["rooms"]
    return {thing: room for room, things in raw.items() for thing in things.split()}


def _rooms_of(name: Mention) -> frozenset[str]:
    """The rooms that a name means or implies; none if one of its meanings implies no room."""
    if name.kind == "room":
        return name.values
    told = {_tells_room().get(value) or next((r for r in ROOMS if value.startswith(r)), None) for value in name.values}
    return frozenset(room for room in told if room is not None) if None not in told else frozenset()


def _act_named(act: str, tokens: Sequence[str]) -> str | None:
    """The words by which a question names an act: its verb, then its object, then its targets; None if it does not."""
    action, main, *targets = act.split("|")
    nouns = names_in(tokens, "noun", "room")
    for verb in verbs_in(tokens, nouns):
        after = [noun for noun in nouns if noun.start >= verb.end]
        if action not in verb.values:
            continue
        if not main:
            return _words(tokens, verb)
        behind = bool(after) and set(tokens[verb.end : after[0].start]) <= _TOWARDS and main in after[0].values
        if behind and all(any(target in noun.values for noun in after[1:]) for target in targets):
            last = after[0] if not targets else after[-1]
            return " ".join(tokens[verb.start : last.end])
    return None
