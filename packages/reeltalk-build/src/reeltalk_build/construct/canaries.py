"""Judges the judges before they check a step: they read first drafts in which some turns were changed to be wrong.

They read the drafts as they are, as they would anyway, and then a copy of each with changed turns (*canaries*) among
unchanged ones, by the same prompt. A judge that does not tell a changed turn from its original stops the step;
`reeltalk.metrics.judge_rates` says when. All replies are kept, so nothing is paid for twice.
"""

import math
import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from reeltalk.errors import UnusableError
from reeltalk.metrics.judge_rates import FEWEST_PAIRS, JudgeRate, Pairs, format_rate, rate_table
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.gates import GateResult, is_counted
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk_build.construct.linting import topic_words
from reeltalk_build.construct.step import ConstructRun
from reeltalk_build.construct.verification import TurnVerdict
from reeltalk_build.construct.writers import Language, Unwritten, Writer

U = TypeVar("U", QAChain, Dialogue)
READ_AGAIN: Final = 6
"""Drafts that the judges read a second time, with changed turns."""
PER_KIND: Final = 3
"""Changed turns of each kind, 18 of all six; where one fits too few turns, others stand in, twice as many at most."""
QAPair = tuple[str, str]
"""A question and its answer."""
_WORDS: Final[Mapping[str, Mapping[str, Any]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
Enough = Callable[[], bool]
"""True if no more drafts are wanted."""


@dataclass(frozen=True)
class _Reading:
    """A first draft, what the judges say of it, and how they are asked about a copy."""

    unit: QAChain | Dialogue
    verdicts: Sequence[TurnVerdict]
    ask: Callable[[Any], Any]


class _Overheard:
    """A writer of whose drafts the first about each part is noted as the judges read it."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.readings: dict[str, _Reading] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def judge(self, video: Video, clip: Clip, chain: QAChain) -> Any:
        return self._noted(clip.id, chain, partial(self._writer.judge, video, clip))

    def judge_dialogue(self, video: Video, scene: Scene, dialogue: Dialogue, task: Task) -> Any:
        ask = partial(self._writer.judge_dialogue, video, scene, task=task)
        return self._noted(f"{scene.id} {task}", dialogue, ask)

    def _noted(self, part: str, unit: QAChain | Dialogue, ask: Callable[[Any], Any]) -> Any:
        if verdicts := _verdicts(reply := ask(unit)):
            self.readings.setdefault(part, _Reading(unit, verdicts, ask))
        return reply


def _verdicts(reply: Any) -> Sequence[TurnVerdict]:
    return () if reply is None or isinstance(reply, Unwritten) else reply.turns


def judge_the_judges(
    run: ConstructRun, step: str, write: Callable[[ConstructRun, Video, Enough], object]
) -> list[GateResult]:
    """Let the judges of a step read changed turns, and weigh their votes by what they make of them.

    Args:
        run: The run. Without judges of its writer, or without canaries, nothing happens.
        step: Name of the step.
        write: Writes about a video with the writer of a run until it has enough. The step writes the same again.

    Raises:
        UnusableError: A judge does not tell changed turns from unchanged ones.
    """
    run.writer.weights = {}
    if not run.canaries or not run.writer.judges:
        return []
    readings = _first_readings(run, write)
    changed = list(draw_canaries([one.unit for one in readings], run.settings.seed, run.settings.language))
    asked = [(one, copy) for one, (copy, _) in zip(readings, changed, strict=True)]
    answers = run.map_ordered("reading changed turns", asked, lambda pair: _verdicts(pair[0].ask(pair[1])))
    rates = {name: JudgeRate(step, name) for name in run.writer.judges}
    for one, (_, kinds), again in zip(readings, changed, answers, strict=True):
        for index, kind in kinds.items() if again else ():
            for name, rate in rates.items():
                original, copy = (_refuses(verdicts[index], name) for verdicts in (one.verdicts, again))
                if original is not None and copy is not None:
                    pair = Pairs(copy and not original, not copy and not original, copy and original,
                                 original and not copy)  # fmt: skip
                    rate.kinds[kind] = rate.kinds.get(kind, Pairs()) + pair
    for rate in rates.values():
        if rate.problem is not None:
            for line in rate_table(rate).splitlines():
                run.tell(line)
            raise UnusableError(_stopped(rate, len(readings)))
    if len(rates) > 1 and all(rate.pairs.count >= FEWEST_PAIRS for rate in rates.values()):
        run.writer.weights = {name: rate.weight for name, rate in rates.items()}
    return [gate for rate in rates.values() for gate in rate.gates()]


def _first_readings(run: ConstructRun, write: Callable[[ConstructRun, Video, Enough], object]) -> list[_Reading]:
    """Up to `READ_AGAIN` first drafts, of videos that the seed draws."""
    videos = list(run.videos)
    random.Random(f"canaries {run.settings.seed}").shuffle(videos)
    each = math.ceil(READ_AGAIN / max(1, len(videos)))

    def read(video: Video) -> list[_Reading]:
        heard = _Overheard(run.writer)
        write(replace(run, writer=cast(Writer, heard)), video, lambda: len(heard.readings) >= each)
        return list(heard.readings.values())[:each]

    found: list[_Reading] = []
    while videos and len(found) < READ_AGAIN:
        some, videos = videos[:READ_AGAIN], videos[READ_AGAIN:]
        found += (one for own in run.map_ordered("writing for the judges to read", some, read) for one in own)
    return found[:READ_AGAIN]


def _refuses(verdict: TurnVerdict, judge: str) -> bool | None:
    """Whether at least half of a judge's samples refuse a turn; None if none could be used."""
    own = [refused for name, refused in zip(verdict.judges, verdict.refused, strict=True) if name == judge]
    return 2 * sum(own) >= len(own) if own else None


def _stopped(rate: JudgeRate, requests: int) -> str:
    pairs = rate.pairs
    return (
        f"the judge {rate.judge} cannot be used in the step {rate.step}: {rate.problem}. It refused "
        f"{format_rate(pairs.detected)} of the turns that were changed to be wrong, in {requests} requests, and "
        f"{format_rate(pairs.alarms)} of the same turns unchanged. All replies are kept: name another model as "
        "--judge, and the same command goes on and pays for nothing twice. With --no-canaries the step goes on with "
        "this judge, and the benchmark says that nobody measured it"
    )


def draw_canaries(
    units: Sequence[QAChain | Dialogue], seed: int, language: Language
) -> Iterator[tuple[QAChain | Dialogue, dict[int, str]]]:
    """Copies of chains or dialogues in which some turns are changed to be wrong.

    The kind that is short comes first, and of those that are equally short the one that fits few turns, as another
    count. At least one turn of each copy stays.

    Yields:
        The copy, and the kind of change by index of the turn.
    """
    wanted, used = math.ceil(len(KINDS) * PER_KIND / max(1, len(units))), Counter[str]()
    for unit in units:
        draw = random.Random(f"canaries {seed} {unit.id}")
        others = [turn for other in units if _part(other) != _part(unit) for turn in other.turns if is_counted(turn)]
        turns, kinds = list(unit.turns), dict[int, str]()
        places = [index for index, turn in enumerate(turns) if is_counted(turn)]
        for index in draw.sample(places, len(places)):
            for kind in sorted(KINDS, key=used.__getitem__) if len(kinds) < min(wanted, len(turns) - 1) else ():
                pair = turns[index].question, turns[index].references[0]
                changed = KINDS[kind](pair, others, draw, _WORDS[language]) if used[kind] < 2 * PER_KIND else None
                if changed is not None and changed != pair:
                    question, answer = changed
                    turns[index] = turns[index].model_copy(update={"question": question, "references": (answer,)})
                    kinds[index] = kind
                    used[kind] += 1
                    break
        yield unit.model_copy(update={"turns": tuple(turns)}), kinds


def _part(unit: QAChain | Dialogue) -> object:
    return unit.clip_id if isinstance(unit, QAChain) else unit.clip_ids


def _roles(pair: QAPair, _: Sequence[Turn], __: random.Random, words: Mapping[str, Any]) -> QAPair | None:
    """Two that take part change places, in the answer or else in the question."""

    def swapped(text: str) -> str:
        nouns = list(re.finditer(words["nouns"], text, re.I))
        for one, other in pairwise(nouns):
            between = text[one.end() : other.start()]
            if one[1].lower() != other[1].lower() and not re.search(words["alike"], between):
                parts = text[: one.start(1)], other[1], text[one.end(1) : other.start(1)], one[1], text[other.end(1) :]
                return "".join(parts)
        return text

    question, answer = pair
    return (question, swapped(answer)) if swapped(answer) != answer else (swapped(question), answer)


def _count(pair: QAPair, _: Sequence[Turn], __: random.Random, words: Mapping[str, Any]) -> QAPair | None:
    """The first number of the answer is off by one."""
    numbers: list[str] = words["numbers"]
    following = dict(zip(numbers, [*numbers[1:], numbers[-2]], strict=True))
    pattern = "|".join([r"\d+", *(words["word"].format(number) for number in numbers)])
    question, answer = pair
    return question, re.sub(
        pattern, lambda one: following.get(one[0].lower()) or str(int(one[0]) + 1), answer, count=1, flags=re.I
    )


def _time(pair: QAPair, _: Sequence[Turn], __: random.Random, words: Mapping[str, Any]) -> QAPair | None:
    """The answer, or else the question, tells the opposite order."""
    other = {word: both[1 - place] for both in reversed(words["times"]) for place, word in enumerate(both)}
    pattern = "|".join(words["word"].format(word) for word in other)
    question, answer = (re.sub(pattern, lambda one: other[one[0].lower()], text, count=1, flags=re.I) for text in pair)
    return (pair[0], answer) if answer != pair[1] else (question, pair[1])


def _neighbour(pair: QAPair, others: Sequence[Turn], draw: random.Random, _: Mapping[str, Any]) -> QAPair | None:
    """A question about another part, with its answer, which has no word in common with this turn."""
    own = topic_words(" ".join(pair))
    fit = [(turn.question, turn.references[0]) for turn in others if not own & topic_words(turn.references[0])]
    return draw.choice(fit) if fit else None


def _other_answer(pair: QAPair, others: Sequence[Turn], draw: random.Random, words: Mapping[str, Any]) -> QAPair | None:
    """The answer of such a turn."""
    found = _neighbour(pair, others, draw, words)
    return (pair[0], found[1]) if found else None


def _gibberish(pair: QAPair, _: Sequence[Turn], draw: random.Random, __: Mapping[str, Any]) -> QAPair:
    """The letters of each word of the answer in another order."""
    return pair[0], re.sub(r"\w{2,}", lambda word: "".join(draw.sample(word[0], len(word[0]))), pair[1])


KINDS: Final[Mapping[str, Callable[[QAPair, Sequence[Turn], random.Random, Mapping[str, Any]], QAPair | None]]] = {
    "count_off_by_one": _count,
    "wrong_time": _time,
    "swapped_roles": _roles,
    "other_answer": _other_answer,
    "neighbour_question": _neighbour,
    "gibberish": _gibberish,
}
"""How turns are changed, by kind; those that fit few turns come first."""
