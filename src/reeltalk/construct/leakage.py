"""Which turns can be answered without the video: from the question alone, from the history, or from habit.

Offline baselines try (`baselines`); `probing.py` asks a model the same. A turn about a video is never answered from
that video's other turns, only from those of others. What is meant to be answered without the video is left out.
A question that holds its own answer (`own_answers.py`) is answered from the question alone, too.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.baselines.answerer import KnownAnswer
from reeltalk.baselines.constant import question_form, question_head
from reeltalk.baselines.history import HistoryAnswerer
from reeltalk.baselines.nearest import BlindAnswerer
from reeltalk.construct.own_answers import own_answer
from reeltalk.metrics.agree import agrees, essence, is_yes_no, states
from reeltalk.metrics.significance import binomial_tail
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.gates import LEAK, GateOutcome, GateResult, is_counted

Conversation = Dialogue | QAChain
LeakProbe = Literal["blind", "history", "habit"]
BLIND: Final = "leak.blind"
HISTORY: Final = "leak.history"
HABIT: Final = "leak.habit"
SHARE: Final = "leak.share"
STRICT_COVERAGE: Final = 0.5
"""Share of a question's words that an earlier turn must have to answer it, where no other turns tell their weights."""
STRICT_STATED: Final = 0.7
"""The same where a statement is to answer yes or no."""
_EVEN: Final = 0.5
"""Fair share of an answer, also to an open question: what is right more often than wrong is a good guess."""


class LeakSettings(BaseModel):
    """What decides whether a turn leaks."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    probes: tuple[LeakProbe, ...] = ("blind", "history", "habit")
    """Which ways of answering without the video are tried."""
    max_context_share: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Largest share of turns that may be answerable without the video before whole dialogues are dropped."""
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Chance at which a fair mixture of answers is taken for a habit; over all forms together, and per turn blind."""
    min_support: Annotated[int, Field(ge=1)] = 5
    """Other videos with a like question (blind), or turns of a form in other videos (habit), needed to tell."""
    likeness: Annotated[float, Field(gt=0, le=1)] = 0.85
    """How like a question of another video must be, as a cosine, to count as the same question."""
    coverage: Annotated[float, Field(gt=0, le=1)] = 0.6
    """Share of a question's words that an earlier turn must have to answer it."""


def history_before(conversation: Conversation, index: int) -> list[tuple[str, str]]:
    """The questions and preferred references before a turn."""
    return [(turn.question, turn.references[0] if turn.references else "") for turn in conversation.turns[:index]]


def pairs_of(conversations: Iterable[Conversation]) -> list[KnownAnswer]:
    """Every counted turn as a question whose answer is known, with its video."""
    return [
        KnownAnswer(turn.question, turn.references[0], conversation.video_id)
        for conversation in conversations
        for turn in conversation.turns
        if is_counted(turn)
    ]


def leaks(
    conversations: Sequence[Conversation],
    train: Iterable[Conversation] | None = None,
    settings: LeakSettings | None = None,
) -> list[GateResult]:
    """Check every counted turn.

    Args:
        conversations: Dialogues or chains.
        train: From what is learnt how like questions are answered; `conversations` themselves by default. Turns of a
            turn's own video are never used for it.
        settings: What decides.

    Returns:
        One result a counted turn and probe: flagged, or passed.
    """
    settings = settings or LeakSettings()
    learnt = list(conversations if train is None else train)
    pairs = pairs_of(learnt)
    blind = BlindAnswerer(pairs)
    histories = {sort: _weighted(learnt, sort, settings) for sort in {type(one) for one in conversations}}
    habits = _Habits(learnt, settings)
    results = []
    for conversation in conversations:
        unit: Literal["dialogue", "chain"] = "dialogue" if isinstance(conversation, Dialogue) else "chain"
        history = histories[type(conversation)]
        for index, turn in enumerate(conversation.turns):
            if not is_counted(turn):
                continue
            reasons: dict[str, str | None] = {}
            if "blind" in settings.probes:
                reasons[BLIND] = own_answer(turn) or _blind(blind, turn, conversation.video_id, settings)
            if "history" in settings.probes:
                reasons[HISTORY] = _history(history, turn, history_before(conversation, index))
            if "habit" in settings.probes:
                reasons[HABIT] = habits.reason(turn, conversation.video_id)
            for gate, reason in reasons.items():
                outcome = GateOutcome.PASSED if reason is None else GateOutcome.FLAGGED
                results.append(
                    GateResult(
                        gate=gate, unit=unit, unit_id=conversation.id, turn_index=index, outcome=outcome, reason=reason
                    )
                )
    return results


def leak_of(turn: Turn, said: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Which gate a turn does not pass by itself and by what was said before it, and why; None where it passes.

    It is for writing, when no other video is known yet: stricter than `leaks` on the history, and without habits.

    Args:
        turn: A turn that may be asked.
        said: The questions and answers before it.
    """
    if not is_counted(turn):
        return None
    own = own_answer(turn)
    if own is not None:
        return BLIND, own
    told = _history(_strict(), turn, said)
    return None if told is None else (HISTORY, told)


def leaks_of(conversation: Conversation) -> list[tuple[int, str, str]]:
    """The turns that do not pass `leak_of`: index, gate and reason.

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


def _weighted(learnt: Sequence[Conversation], sort: type[Conversation], settings: LeakSettings) -> HistoryAnswerer:
    """What a conversation gives away, by how rare words are in those of its sort; in all where there are none."""
    alike = [conversation for conversation in learnt if isinstance(conversation, sort)]
    return HistoryAnswerer(BlindAnswerer(pairs_of(alike or learnt)).index.weight, least=settings.coverage)


def _blind(blind: BlindAnswerer, turn: Turn, video_id: str, settings: LeakSettings) -> str | None:
    """Why a question's answer is known from other videos: they agree on it more often than chance allows."""
    votes: dict[str, str] = {}
    for like in blind.index.nearest(turn.question, without=video_id, least=settings.likeness):
        # One vote a video, so that a question asked again and again in one video counts once.
        votes.setdefault(like.pair.video_id, like.pair.answer)
    if len(votes) < settings.min_support:
        return None
    right = sum(agrees(answer, turn.references, turn.question, turn.options) for answer in votes.values())
    if binomial_tail(right, len(votes)) > settings.alpha:
        return None
    return f"{right:,} of {len(votes):,} other videos with a like question have this answer"


def _history(history: HistoryAnswerer, turn: Turn, said: Sequence[tuple[str, str]]) -> str | None:
    """Why the history answers a question: something in it that speaks of what is asked and holds the answer."""
    for found in history.found(turn.question, said):
        if any(states(found.text, reference, turn.question) for reference in turn.references):
            how = "asks the like and has this answer" if found.asked_before else "states the answer"
            return f"turn {found.turn + 1} {how}: {found.text!r}"
    return None


class _Habits:
    """How questions of each form are answered."""

    def __init__(self, conversations: Sequence[Conversation], settings: LeakSettings) -> None:
        self._settings = settings
        self._answers: dict[Hashable, dict[str, Counter[tuple[str, ...]]]] = defaultdict(lambda: defaultdict(Counter))
        for conversation in conversations:
            for turn in conversation.turns:
                if is_counted(turn):
                    said = essence(turn.references[0], turn.question)
                    for form in _forms(turn):
                        self._answers[form][conversation.video_id][said] += 1
        self._tests = sum(
            _EVEN ** sum(counts.total() for counts in videos.values()) <= settings.alpha
            for videos in self._answers.values()
        )

    def reason(self, turn: Turn, video_id: str) -> str | None:
        """Why a turn's answer is the habit of its form in other videos; None where it is not.

        The finest form decides that has turns enough for a habit to show, so that a fair form is not taken for biased
        because others are.
        """
        said = essence(turn.references[0], turn.question)
        # So many forms are tested that one of them would seem a habit by chance (Bonferroni).
        alpha = self._settings.alpha / max(1, self._tests)
        for form in _forms(turn):
            videos = self._answers.get(form, {})
            others: Counter[tuple[str, ...]] = Counter()
            for other in sorted(videos):
                if other != video_id:
                    others.update(videos[other])
            total = others.total()
            if total < self._settings.min_support or _EVEN**total > alpha:
                continue
            if binomial_tail(others[said], total) > alpha:
                return None
            return f"{others[said]:,} of {total:,} questions of the form {form[1]!r} in other videos have this answer"
        return None


def _forms(turn: Turn) -> list[tuple[str, str]]:
    """The forms of a turn, the finest first: its writer's own name, its wording, and its question word."""
    kind = turn.extra.get("kind")
    forms = [("kind", kind)] if isinstance(kind, str) else []
    forms += [("form", question_form(turn.question))]
    # Open questions of one head have nothing in common; yes or no is a choice of two wherever it is asked.
    return [*forms, ("head", question_head(turn.question))] if is_yes_no(turn.question) else forms


def limit_leak_share(
    conversations: Sequence[Conversation], results: Iterable[GateResult], share: float
) -> list[GateResult]:
    """Which conversations to drop so that no larger share of all turns is answerable without the video.

    Args:
        conversations: All of them.
        results: Of `leaks`, or of a model's probes.
        share: `LeakSettings.max_context_share`.

    Returns:
        A `leak.share` result for each: dropped are those with the largest share of flagged turns, among equals the one
        with more flagged turns and then the earlier identifier, until the rest is at the limit or under it.
    """
    leaky = _flagged(results)
    turns = {c.id: [(c.id, index) for index, turn in enumerate(c.turns) if is_counted(turn)] for c in conversations}
    flagged = {name: sum(turn in leaky for turn in own) for name, own in turns.items()}
    order = sorted(
        (name for name in turns if flagged[name]),
        key=lambda name: (-flagged[name] / len(turns[name]), -flagged[name], name),
    )
    bad, total = sum(flagged.values()), sum(map(len, turns.values()))
    dropped = set()
    for name in order:
        if bad <= share * total:
            break
        dropped.add(name)
        bad, total = bad - flagged[name], total - len(turns[name])
    return [
        GateResult(
            gate=SHARE,
            unit="dialogue" if isinstance(conversation, Dialogue) else "chain",
            unit_id=conversation.id,
            outcome=GateOutcome.DROPPED if conversation.id in dropped else GateOutcome.PASSED,
            reason=(
                f"{flagged[conversation.id]} of {len(turns[conversation.id])} turns can be answered without the video, "
                f"and at most {share:.0%} of all turns may"
            )
            if conversation.id in dropped
            else None,
        )
        for conversation in conversations
    ]


def _flagged(results: Iterable[GateResult]) -> set[tuple[str, int]]:
    return {
        (result.unit_id, result.turn_index)
        for result in results
        if result.gate.startswith(LEAK) and result.outcome is GateOutcome.FLAGGED and result.turn_index is not None
    }
