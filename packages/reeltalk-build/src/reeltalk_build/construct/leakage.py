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
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final, Literal

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
from reeltalk.metrics.agree import added_words, agrees, content_words, is_yes_no, polarity, states_reference
from reeltalk.metrics.choice import names_same
from reeltalk.metrics.significance import binomial_tail
from reeltalk.schema.dialogue import AnswerKey, Dialogue, KeyType, QAChain, Turn
from reeltalk.schema.gates import LEAK, GateOutcome, GateResult, is_counted
from reeltalk_build.construct.equivalence import AnswerPair, Equivalence, InOrder, Verdicts, typed_by
from reeltalk_build.construct.gate_results import Subject

Conversation = Dialogue | QAChain
LeakProbe = Literal["own", "blind", "history", "habit"]
"""Ways of answering without the video; `own` is the part of `blind` that needs no other video."""
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


ALL_PROBES: Final[tuple[LeakProbe, ...]] = ("blind", "history", "habit")
ALPHA: Final = 0.05
"""Chance at which a fair mixture of answers is taken for a habit; over all forms together, and per turn blind."""
MIN_SUPPORT: Final = 5
"""Least number of other videos with a similar question (blind), or of turns of a form in other videos (habit)."""
LIKENESS: Final = 0.85
"""Least cosine similarity at which a question of another video counts as the same question."""
COVERAGE: Final = 0.6
"""Share of a question's words that an earlier turn must have to answer it."""
MOST_COMPARED: Final = 50_000
"""Most questions of other videos among which like ones are looked for; of more, a draw."""
MOST_VOTES: Final = 20
"""Most other videos whose answers to an open question are compared."""
MOST_STATED: Final = 5
"""Most earlier sentences that are compared with the answer to an open question."""


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
    probes: Sequence[LeakProbe] = ALL_PROBES,
    equivalence: Equivalence | None = None,
    in_order: InOrder = map,
) -> Iterator[GateResult]:
    """Check every counted turn.

    Args:
        conversations: Dialogues or chains; read several times.
        train: Training data of the baselines; `conversations` by default. A turn's own video is never used for it.
        probes: Ways of answering to try.
        equivalence: Compares open answers with the references; by default only identical ones are decided.
        in_order: Compares the answers of several conversations; one after the other by default.

    Yields:
        One result per counted turn and probe: flagged, passed, or unchecked if nobody could compare the answers.
    """
    equivalence = equivalence or Equivalence()
    waiting: deque[tuple[Conversation, list[_Check]]] = deque()

    def pairs() -> Iterator[list[AnswerPair]]:
        for conversation, checks in _found(conversations, conversations if train is None else train, probes):
            waiting.append((conversation, checks))
            yield [
                AnswerPair.of(conversation.turns[index], text)
                for index, _, parts in checks
                for part in parts
                if isinstance(part, _Doubt)
                for text in part.texts
            ]

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
            yield Subject.of(conversation).gate(gate, outcome, reason, turn=index)


_GRAVITY: Final = (GateOutcome.PASSED, GateOutcome.UNCHECKED, GateOutcome.FLAGGED)
_Check = tuple[int, str, list[_Found]]
"""Index of a turn, gate, and what each way of answering found."""


def _found(
    conversations: Iterable[Conversation], learnt: Iterable[Conversation], probes: Sequence[LeakProbe]
) -> Iterator[tuple[Conversation, list[_Check]]]:
    """What the baselines find, by conversation."""
    words: dict[type[Conversation] | None, WordWeights] = {None: WordWeights()}
    total = 0
    forms = Counter[int]()
    for conversation in learnt:
        own = words.setdefault(type(conversation), WordWeights())
        for turn in filter(is_counted, conversation.turns):
            total += 1
            for weights in (own, words[None]):
                weights.add(turn.question)
            if "habit" in probes:
                forms.update(map(hash, _forms(turn)))
    drawn = frozenset(drawn_questions(total, MOST_COMPARED) if "blind" in probes else ())
    known = QuestionIndex([one for place, one in enumerate(known_answers(learnt)) if place in drawn])
    habits = _Habits(learnt if "habit" in probes else (), forms)
    histories = {sort: HistoryAnswerer(weights.weight, least=COVERAGE) for sort, weights in words.items()}
    for conversation in conversations:
        history = histories.get(type(conversation), histories[None])
        checks: list[_Check] = []
        for index, turn in enumerate(conversation.turns):
            if not is_counted(turn):
                continue
            if "own" in probes:
                checks.append((index, BLIND, [_own(turn)]))
            if "blind" in probes:
                checks.append((index, BLIND, [_own(turn), _blind(known, turn, conversation.video_id)]))
            if "history" in probes:
                found = _find_repetition(turn, conversation.turns[:index])
                checks.append((index, HISTORY, [found or _history(history, turn, history_before(conversation, index))]))
            if "habit" in probes:
                checks.append((index, HABIT, [habits.found(turn, conversation.video_id)]))
        yield conversation, checks


def leak_of(turn: Turn, history: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Check one turn against its own question and the history.

    Writers use it while no other video is known yet: it is stricter than `leaks` on the history, and has no habits.

    Returns:
        The gate that the turn fails and the reason; None if it passes.
    """
    if not is_counted(turn):
        return None
    own = own_answer(turn)
    if own is not None:
        return BLIND, own
    told = _stated(_strict(), turn, history)
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


def _own(turn: Turn) -> _Found:
    named = _named_answer(turn)
    if named is not None or not _contains_answer(turn):
        return named
    return ANSWER_IN_QUESTION if typed_by(turn) else _doubt(turn.question, ANSWER_IN_QUESTION)


def _doubt(text: str, reason: str) -> _Doubt:
    return _Doubt((text,), lambda same: reason if same[0] else None)


def _blind(known: QuestionIndex, turn: Turn, video_id: str) -> _Found:
    """Leaks if similar questions of other videos have this answer more often than by chance."""
    votes: dict[str, str] = {}
    for like in known.nearest(turn.question, without=video_id, least=LIKENESS):
        # One vote a video, so that a question asked again and again in one video counts once.
        votes.setdefault(like.pair.video_id, like.pair.answer)
    if len(votes) < MIN_SUPPORT:
        return None

    def reason(same: Sequence[bool]) -> str | None:
        if binomial_tail(sum(same), len(same)) > ALPHA:
            return None
        return f"{sum(same):,} of {len(same):,} other videos with a like question have this answer"

    if typed_by(turn):
        return reason([_agrees(text, turn) for text in votes.values()])
    return _Doubt(tuple(votes.values())[:MOST_VOTES], reason)


def _agrees(text: str, turn: Turn) -> bool:
    same = names_same(text, turn.references, turn.options, turn.question) if turn.options else None
    return agrees(text, turn.references, turn.question) if same is None else same


def _find_repetition(turn: Turn, earlier: Sequence[Turn]) -> str | None:
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
        if any(states_reference(found.text, reference, turn.question) for reference in turn.references):
            return _states_it(found)
    return None


def _states_it(found: StatedAnswer) -> str:
    how = "asks the like and has this answer" if found.repeats_question else "states the answer"
    return f"turn {found.turn + 1} {how}: {found.text!r}"


class _Habits:
    """Counts of answers by form of question, in all videos and in one."""

    def __init__(self, learnt: Iterable[Conversation], forms: Counter[int]) -> None:
        fewest = min(MIN_SUPPORT, math.ceil(math.log(ALPHA, _EVEN) - 1e-9))
        self._all: dict[tuple[str, str], Counter[tuple[str, ...]]] = defaultdict(Counter)
        self._own = Counter[int]()
        """By hash, of a form and a video, and of these and an answer."""
        self._texts: dict[tuple[str, ...], str] = {}
        for conversation in learnt:
            for turn in filter(is_counted, conversation.turns):
                said = added_words(turn.references[0], turn.question)
                for form in _forms(turn):
                    if forms[hash(form)] >= fewest:
                        self._all[form][said] += 1
                        place = form, conversation.video_id
                        self._own.update((hash(place), hash((*place, said))))
                        self._texts.setdefault(said, turn.references[0])
        self._totals = {form: answers.total() for form, answers in self._all.items()}
        # So many forms are tested that one of them would seem a habit by chance (Bonferroni).
        self._alpha = ALPHA / max(1, sum(_EVEN**total <= ALPHA for total in self._totals.values()))

    def found(self, turn: Turn, video_id: str) -> _Found:
        """Leaks if a turn's answer is the usual one for its form in other videos."""
        for form in _forms(turn):
            if form not in self._all:
                continue
            total = self._totals[form] - self._own[hash((form, video_id))]
            if total < MIN_SUPPORT or _EVEN**total > self._alpha:
                continue
            if typed_by(turn):
                usual = added_words(turn.references[0], turn.question)
            else:
                _, usual = max(map(partial(self._elsewhere, form, video_id), self._all[form]))
            count, _ = self._elsewhere(form, video_id, usual)
            if binomial_tail(count, total) > self._alpha:
                return None
            why = f"{count:,} of {total:,} questions of the form {form[1]!r} in other videos have this answer"
            return why if typed_by(turn) else _doubt(self._texts[usual], why)
        return None

    def _elsewhere(self, form: tuple[str, str], video_id: str, said: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """How many turns of a form in other videos have an answer, and that answer."""
        return self._all[form][said] - self._own[hash((form, video_id, said))], said


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
        share: Largest share of turns that may be answerable without the video.

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
        why = (
            f"{flagged[name]} of {turns[name]} turns can be answered without the video, and at most {share:.0%} of all "
            "turns may"
        )
        gone = name in dropped
        outcome = GateOutcome.DROPPED if gone else GateOutcome.PASSED
        yield Subject.of(conversation).gate(SHARE, outcome, why if gone else None)


def _flagged(results: Iterable[GateResult]) -> set[tuple[str, int]]:
    return {
        (result.unit_id, result.turn_index)
        for result in results
        if result.gate.startswith(LEAK) and result.outcome is GateOutcome.FLAGGED and result.turn_index is not None
    }


OWN_ANSWERS_FILE: Final = Path(__file__).parent / "own_answers.toml"
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


ANSWER_IN_QUESTION: Final = "the question already says what the answer says"


def own_answer(turn: Turn) -> str | None:
    """The reason why a question contains its own answer, by its words; None if it does not.

    The answer comes from the turn's key, or from its reference and the wording of the question.

    Args:
        turn: A turn with a reference or a key.
    """
    return _named_answer(turn) or (ANSWER_IN_QUESTION if _contains_answer(turn) else None)


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


def _contains_answer(turn: Turn) -> bool:
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
    raw: dict[str, str] = tomllib.loads(OWN_ANSWERS_FILE.read_text(encoding="utf-8"))["rooms"]
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
