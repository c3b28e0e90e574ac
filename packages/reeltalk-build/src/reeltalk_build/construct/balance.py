"""Target shares of labels: reading them, dealing them out to writers, and measuring how far a benchmark is from them.

A graph chooses among chains that it has written. A model is told before it writes which labels its clip is to get: they
are dealt to the clips of all videos in order, the one that is furthest below its share first. The deal depends only on
the clips, the seed and what others wrote, so it is the same for any number of threads.
"""

import random
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeVar

from reeltalk.errors import InputError
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.labels import VOCABULARIES, QuestionType, Target
from reeltalk.schema.media import Clip
from reeltalk.schema.record import ClipId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.documents import read_text
from reeltalk.store.tables import CHAINS, DIALOGUES
from reeltalk_build.construct.settings import ConstructSettings

Balance = Literal["tags", "types"]
Label = tuple[str, str]
"""A vocabulary and a label in it, for example `("cogme.target", "Object")`."""

BALANCED: Final[dict[Balance, tuple[str, ...]]] = {
    "tags": ("cogme.target", "cogme.content", "cogme.thinking"),
    "types": ("vdact.question_type",),
}
"""Vocabularies by the value of `--balance`. Each is balanced separately: its target shares add up to 1."""


LABELS_A_CLIP: Final = 3
"""Labels that a clip is to get; with several vocabularies as many of each."""
LABELS_A_LINKAGE: Final = 2
"""Relations, and skills, that a model is to prefer between two chains."""
UNWANTED: Final[frozenset[Label]] = frozenset(
    ("vdact.question_type", str(label))
    for label in (QuestionType.INTERACTION, QuestionType.REFERENCE, QuestionType.VIDEO, QuestionType.OPINION)
) | {("cogme.target", str(Target.COMMONSENSE))}
"""Labels that no model is asked for: yes-or-no questions, references, which every later turn is, questions about the
video as such, opinions, and what is known without the video."""
_SPOKEN: Final[Label] = ("cogme.target", str(Target.CONVERSATION))

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Shortfall:
    """Distance of a label from its target share."""

    label: Label
    target: float
    """Wanted share among all labels of its vocabulary."""
    count: int
    share: float
    """Actual share; 0 if no turn has a label of the vocabulary."""
    missing: int
    """Number of labels missing to the target share, at the present number of labels, rounded up; 0 if none."""


def balanced_labels(turn: Turn, balance: Balance) -> frozenset[Label]:
    """The labels of a turn in the balanced vocabularies."""
    return frozenset(
        (vocabulary, label) for vocabulary in BALANCED[balance] for label in turn.labels.get(vocabulary, ())
    )


def count_labels(labelled: Iterable[Iterable[Label]]) -> dict[Label, int]:
    """Count the occurrences of each label."""
    return dict(Counter(label for labels in labelled for label in sorted(labels)))


def even_targets(balance: Balance, possible: Iterable[Label] | None = None) -> dict[Label, float]:
    """Equal target shares for all labels of each vocabulary."""
    if possible is None:
        labels = [(name, str(label)) for name in BALANCED[balance] for label in VOCABULARIES[name]]
    else:
        labels = [label for label in sorted(set(possible)) if label[0] in BALANCED[balance]]
    sizes = Counter(vocabulary for vocabulary, _ in labels)
    return {label: 1.0 / sizes[label[0]] for label in labels}


def read_targets(path: Path, balance: Balance) -> dict[Label, float]:
    """Read target shares from a TOML file with one table per vocabulary and one share, 0 to 1, per label.

    Shares of a vocabulary need not add up to 1; they are divided by their sum.

    Raises:
        InputError: The file cannot be read, or it contains an unknown label or a wrong share; the message says where.
    """
    try:
        tables = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is no TOMLDecodeError
        raise InputError(f"not TOML: {error}", file=path) from None
    targets: dict[Label, float] = {}
    # `[cogme.target]` is a table inside a table in TOML; `["cogme.target"]` is not. Both are accepted.
    for vocabulary in BALANCED[balance]:
        first, _, second = vocabulary.partition(".")
        outer = tables.get(first)
        shares = tables.get(vocabulary) or (outer.get(second) if isinstance(outer, dict) else None)
        if shares is None:
            continue
        if not isinstance(shares, dict):
            raise InputError("a table of shares by label was expected", file=path, place=vocabulary, value=shares)
        for label, share in shares.items():
            place = f"{vocabulary}.{label}"
            if label not in VOCABULARIES[vocabulary]._value2member_map_:
                known = ", ".join(VOCABULARIES[vocabulary])
                raise InputError("unknown label", file=path, place=place, hint=f"known are {known}")
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
                raise InputError("a share must be a number from 0 to 1", file=path, place=place, value=share)
            targets[vocabulary, label] = float(share)
    sums = {name: sum(share for (own, _), share in targets.items() if own == name) for name in BALANCED[balance]}
    if not any(sums.values()):
        raise InputError("no target shares", file=path, hint=f"write a table [{BALANCED[balance][0]}]")
    return {label: share / sums[label[0]] for label, share in targets.items() if sums[label[0]]}


def shortfall(counts: Mapping[Label, int], targets: Mapping[Label, float]) -> list[Shortfall]:
    """Distance of each label from its target, in the order of `targets`."""
    totals: Counter[str] = Counter()
    for (vocabulary, _), count in counts.items():
        totals[vocabulary] += count
    found = []
    for label, target in targets.items():
        count, total = counts.get(label, 0), totals[label[0]]
        # Rounded first, because 0.1 * 30 is slightly more than 3.
        missing = max(0, -int(-round(target * total, 6) // 1) - count)
        found.append(Shortfall(label, target, count, count / total if total else 0.0, missing))
    return found


def benchmark_shortfall(benchmark: Benchmark, balance: Balance, targets: Path | None) -> list[Shortfall]:
    """Distance of the constructed chains and dialogues from the targets.

    Raises:
        InputError: The file of targets or a table is damaged.
    """
    units: list[QAChain | Dialogue] = [*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)]
    turns = (turn for unit in units if "writer" in unit.extra for turn in unit.turns)
    counts = count_labels(balanced_labels(turn, balance) for turn in turns)
    return shortfall(counts, read_targets(targets, balance) if targets else even_targets(balance))


def preferred_labels(
    settings: ConstructSettings, clips: Iterable[Clip], known: Iterable[Turn] = (), spoken: Collection[str] = ()
) -> dict[ClipId, tuple[Label, ...]]:
    """The labels that the chain of each clip is to get; none without `--balance`.

    Args:
        settings: The balance, the targets and the seed.
        clips: The clips of all videos, in order.
        known: Turns of others in the benchmark, whose labels count.
        spoken: Identifiers of videos with speech; only their clips are to get questions about conversation.

    Raises:
        InputError: The file of targets is damaged.
    """
    if settings.balance is None:
        return {}
    given = settings.targets
    targets = read_targets(given, settings.balance) if given else even_targets(settings.balance)
    counts = count_labels(balanced_labels(turn, settings.balance) for turn in known)
    each = LABELS_A_CLIP // len({vocabulary for vocabulary, _ in targets})
    video_of = {clip.id: clip.video_id for clip in clips}
    keys, silent = list(video_of), {name: {_SPOKEN} for name, video in video_of.items() if video not in spoken}
    return deal_labels(keys, targets, each=each, seed=settings.seed, counts=counts, never=silent)


def preferred_between(
    settings: ConstructSettings, keys: Sequence[K], vocabulary: Literal["svbench.relation", "svbench.skill"]
) -> dict[K, tuple[str, ...]]:
    """The relations to look for first between two chains, or the skills to prefer; none without `--balance`.

    Args:
        settings: The balance and the seed.
        keys: Identifiers of the pairs of chains, in order.
        vocabulary: Whether relations or skills are dealt; all get equal shares.
    """
    if settings.balance is None:
        return {}
    labels = VOCABULARIES[vocabulary]
    targets: dict[Label, float] = {(vocabulary, str(label)): 1 / len(labels) for label in labels}
    dealt = deal_labels(keys, targets, each=LABELS_A_LINKAGE, seed=settings.seed)
    return {key: tuple(label for _, label in own) for key, own in dealt.items()}


def deal_labels(
    keys: Sequence[K],
    targets: Mapping[Label, float],
    *,
    each: int,
    seed: int,
    counts: Mapping[Label, int] | None = None,
    never: Mapping[K, Collection[Label]] | None = None,
) -> dict[K, tuple[Label, ...]]:
    """Deal labels, so that each label's share comes as near to its target as possible.

    Args:
        keys: What gets labels, in order.
        targets: Target share of each label in its vocabulary. Labels of `UNWANTED` and with the share 0 are not dealt.
        each: Labels of each vocabulary for one key.
        seed: Decides among labels that are equally short.
        counts: Occurrences of each label before the deal.
        never: Labels that a key must not get.
    """
    by_vocabulary: dict[str, list[Label]] = defaultdict(list)
    for label, target in targets.items():
        if target > 0 and label not in UNWANTED:
            by_vocabulary[label[0]].append(label)
    draw = random.Random(f"{seed} balance")
    ties = {label: draw.random() for label in targets}
    dealt = Counter(counts or {})
    found: dict[K, tuple[Label, ...]] = {}
    for key in keys:
        chosen: list[Label] = []
        for labels in by_vocabulary.values():
            open_ = [label for label in labels if label not in (never or {}).get(key, ())]
            total = sum(dealt[label] for label in labels) + each
            open_.sort(key=lambda label: (dealt[label] - targets[label] * total, ties[label]))
            chosen += open_[:each]
        dealt.update(chosen)
        found[key] = tuple(chosen)
    return found


def distance(counts: Mapping[Label, int], targets: Mapping[Label, float]) -> float:
    """Sum of squared differences between shares and targets, 0 or more. A label without a target has the target 0."""
    totals: Counter[str] = Counter()
    for (vocabulary, _), count in counts.items():
        totals[vocabulary] += count
    found = 0.0
    for label in dict.fromkeys([*targets, *counts]):
        total = totals[label[0]]
        share = counts.get(label, 0) / total if total else 0.0
        found += (share - targets.get(label, 0.0)) ** 2
    return round(found, 12)


def format_shortfalls(found: Iterable[Shortfall]) -> Iterable[str]:
    """Missing labels, most first, as lines of text."""
    missing = sorted((one for one in found if one.missing), key=lambda one: (-one.missing, one.label))
    yield (
        f"balance: {len(missing):,} labels are short of their target share" if missing else "balance: no label is short"
    )
    for one in missing:
        yield f"  {one.label[0]} {one.label[1]}: {one.share:.1%} of {one.target:.1%}, {one.missing:,} missing"
