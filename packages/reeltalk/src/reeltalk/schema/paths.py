"""Dialogue paths: walks along question chains and linkages through one video (SVBench, arXiv 2502.10810).

The paper leaves a part of the rule open. Ours: a walk begins at the first turn of the first chain. At a turn with
usable linkages it jumps, with the given probability, to the target of one of them, chosen uniformly, and skips the rest
of its chain. Otherwise it goes to the next turn of the chain. After the last turn of a chain it goes to the first turn
of the next one. It ends after the last turn of the last chain. Paths are drawn once and fixed in the benchmark; all
models are evaluated on the same paths.

**Targets.** The target of a jump has the wording of the linkage's draft: a draft that people accepted, else the first
one in which no check found a fault, else the chain's own wording. In the middle of a chain, a walk can land only
if the target and all turns after it can be understood without the skipped turns (`entrances`). Other linkages are not
usable.

**Frequency.** Walks are drawn independently, in the requested number, and none is drawn again. Each jumps at every
chance with the stated probability, and so do all together. Every walk is a path of its own, also if it equals another:
with one path for equal walks, or walks drawn again until all differ, the rare ones that jump less would count too much.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, pairwise
from typing import Any, Final, NamedTuple

from reeltalk.errors import BrokenInvariantError
from reeltalk.schema.dialogue import DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.entrances import Entrance, EntranceVerdict, verdict_by_rule
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.record import Json, PathId, derive_id
from reeltalk.schema.rewriting import Rewrite

WALK: Final = "walk"
"""Key of a path's `extra`: `chances`, the turns at which its walk could jump, and `jumps`."""
LANGUAGE: Final = "language"
"""The vocabulary of a turn's `labels` for its language."""
LANDING: Final = "landing"
"""The gate of links: whether a walk can land at their targets."""
VERDICTS_KEY: Final = "asked"
"""Key of such a gate's `extra`: whether each entrance stands, by its signature."""
BEFORE: Final = "it did not stand when the benchmark's own paths were drawn"
LEADS_ANYWAY: Final = "it leads where a walk goes anyway"
"""The reason against a link from a chain's last turn to the first of the next in its own wording."""
ACCEPTED: Final = "accepted"
"""Key of a rewrite's `extra`: true if people accepted it, so that paths along its linkage use it."""

Place = tuple[str, int]
"""A chain and the index of one of its turns."""


@dataclass(frozen=True)
class Jump:
    """The target of a linkage, and its wording there."""

    source: Place
    target: Place
    turn: Turn | None = None
    """The turn in a draft's wording; None for the chain's own."""


Walk = tuple[tuple[Place, Jump | None], ...]
"""Every turn of a walk, each with the jump by which it was reached."""


@dataclass(frozen=True)
class TurnLink:
    """All linkages between the same two turns. Several linkages do not make a jump more likely."""

    source: Place
    target: Place
    drafts: tuple[Rewrite, ...] = ()
    """Drafts of its relations in which no check found a fault: accepted ones first, then by position."""


@dataclass(frozen=True)
class Landing:
    """The decision on a link."""

    link: TurnLink
    jump: Jump | None
    """None if a walk cannot land."""
    standing: EntranceVerdict
    verdicts: tuple[tuple[str, bool], ...] = ()
    """Signatures of the checked entrances, and whether they stand."""

    @property
    def gate(self) -> GateResult:
        """The decision as a row of the benchmark."""
        if self.jump is not None:
            outcome = GateOutcome.PASSED
        else:
            outcome = GateOutcome.UNCHECKED if self.standing.raw else GateOutcome.FLAGGED
        said: dict[str, Json] = {"said": self.standing.explanation} if self.standing.explanation else {}
        return GateResult(
            gate=LANDING,
            unit="linkage",
            unit_id=derive_id("link", self.link.source, self.link.target),
            outcome=outcome,
            reason=self.standing.reason,
            raw=self.standing.raw,
            extra={
                "source": [*self.link.source],
                "target": [*self.link.target],
                VERDICTS_KEY: dict(self.verdicts),
                **said,
            },
        )


Decide = Callable[[Sequence[Entrance], QAChain, QAChain], Sequence[EntranceVerdict]]
"""Decides for each entrance whether it stands; the chains are the source and the target of all these links."""


@dataclass
class PathStatistics:
    """Counts of the links and walks of a benchmark."""

    paths: int = 0
    """Walks that were drawn."""
    different: int = 0
    """Different walks among them."""
    walks: int = 0
    """Different walks that are possible, in all videos together."""
    jumps: int = 0
    chances: int = 0
    """Turns of the paths at which they could jump."""
    links: int = 0
    """Pairs of turns that linkages relate."""
    refused: Counter[str] = field(default_factory=Counter)
    """Links that walks cannot use, by reason."""

    def count(self, landings: Iterable[Landing]) -> None:
        """Add the decisions on links.

        Args:
            landings: One for each link.
        """
        for landing in landings:
            self.links += 1
            if landing.jump is None:
                self.refused[landing.standing.reason or ""] += 1


def links_of(chains: Sequence[QAChain], linkages: Iterable[Linkage], rewrites: Iterable[Rewrite]) -> list[TurnLink]:
    """The links between some chains, with their drafts, in the order of their sources.

    Raises:
        BrokenInvariantError: A linkage leads to no turn, or not forward.
    """
    number: dict[str, int] = {chain.id: n for n, chain in enumerate(chains)}
    found: dict[tuple[Place, Place], set[str]] = defaultdict(set)
    for linkage in linkages:
        for ref in (linkage.source, linkage.target):
            if ref.unit_id not in number or ref.turn_index >= len(chains[number[ref.unit_id]].turns):
                raise BrokenInvariantError(f"a linkage names turn {ref.turn_index} of '{ref.unit_id}': no such turn")
        if number[linkage.target.unit_id] <= number[linkage.source.unit_id]:
            raise BrokenInvariantError(f"a linkage of '{linkage.source.unit_id}' does not lead to a later chain")
        found[_ends(linkage)].add(linkage.relation)
    drafts: dict[tuple[Place, Place], list[Rewrite]] = defaultdict(list)
    for rewrite in rewrites:
        if rewrite.coherent is not False and rewrite.linkage.relation in found.get(_ends(rewrite.linkage), ()):
            drafts[_ends(rewrite.linkage)].append(rewrite)
    ordered = sorted(found, key=lambda ends: [(number[name], turn) for name, turn in ends])
    return [
        TurnLink(*ends, tuple(sorted(drafts[ends], key=lambda row: (not row.extra.get(ACCEPTED), row.position))))
        for ends in ordered
    ]


def _ends(linkage: Linkage) -> tuple[Place, Place]:
    source, target = linkage.source, linkage.target
    return (source.unit_id, source.turn_index), (target.unit_id, target.turn_index)


def find_landings(chains: Sequence[QAChain], links: Sequence[TurnLink], decide: Decide) -> list[Landing]:
    """Decide for each link where walks land: at the first draft that stands, else at the chain's own wording.

    If neither stands, walks do not use the link. Links are decided in the order of their sources, since the ways to a
    turn determine the turns before it. All links between two chains are decided together. A draft that people accepted
    stands, since they saw the turns around it. The first turn of a chain stands in its own wording, since no turn is
    skipped.
    """
    by_id: dict[str, QAChain] = {chain.id: chain for chain in chains}
    onward: dict[str, str] = dict(pairwise(chain.id for chain in chains if chain.turns))
    reached: dict[Place, list[Jump]] = defaultdict(list)
    found: list[Landing] = []
    for name, group in groupby(links, key=lambda link: link.source[0]):
        own = list(group)
        landed: dict[tuple[Place, Place], Landing] = {}
        for there in dict.fromkeys(link.target[0] for link in own):
            pair = [_Open(link, _histories(by_id, link.source, reached)) for link in own if link.target[0] == there]
            for landing in _land(by_id[name], by_id[there], pair, decide):
                landed[landing.link.source, landing.link.target] = landing
        for link in own:
            landing, index = landed[link.source, link.target], link.target[1]
            if landing.jump and landing.jump.turn is None and index == 0 and onward.get(name) == link.target[0]:
                if link.source[1] == len(by_id[name].turns) - 1:
                    landing = Landing(link, None, EntranceVerdict(False, LEADS_ANYWAY))
            found.append(landing)
            if landing.jump is not None:
                reached[link.target].append(landing.jump)
    return found


def recorded_verdicts(gates: Iterable[GateResult]) -> Decide:
    """Decide as when the benchmark's own paths were drawn; use the rule if the wording is another one now.

    Args:
        gates: Gates of the benchmark.
    """
    known: dict[str, bool] = {}
    for gate in gates:
        if gate.gate.endswith(f":{LANDING}"):
            known |= gate.extra.get(VERDICTS_KEY, {})

    def verdict(entered: Entrance) -> EntranceVerdict:
        stands = known.get(entered.signature)
        return verdict_by_rule(entered) if stands is None else EntranceVerdict(stands, None if stands else BEFORE)

    return lambda entered, before, after: [verdict(one) for one in entered]


@dataclass
class _Open:
    """A link that is not decided yet."""

    link: TurnLink
    histories: Sequence[tuple[Turn, ...]]
    refused: int = 0
    """Drafts that do not stand."""
    first: EntranceVerdict | None = None
    verdicts: list[tuple[str, bool]] = field(default_factory=list)

    def jump(self) -> tuple[Jump, bool]:
        """The next wording to try, and whether it needs no decision."""
        drafts = self.link.drafts[self.refused : self.refused + 1]
        jump = Jump(self.link.source, self.link.target, drafts[0].draft if drafts else None)
        return jump, bool(drafts[0].extra.get(ACCEPTED)) if drafts else self.link.target[1] == 0

    def entrances(self, turns: Sequence[Turn]) -> list[Entrance]:
        index, worded = self.link.target[1], self.jump()[0].turn
        return [
            Entrance(
                before=history,
                skipped=tuple(turns[:index]),
                turn=worded or turns[index],
                following=tuple(turns[index + 1 :]),
                reworded=worded is not None,
            )
            for history in self.histories
        ]


def _land(before: QAChain, after: QAChain, links: Iterable[_Open], decide: Decide) -> Iterator[Landing]:
    """The decisions on the links between two chains. What is left to decide is asked for together."""
    left = list(links)
    while left:
        asking: list[tuple[_Open, list[Entrance]]] = []
        for one in left:
            jump, stands = one.jump()
            if stands:
                yield Landing(one.link, jump, EntranceVerdict(True), tuple(one.verdicts))
            else:
                asking.append((one, one.entrances(after.turns)))
        left = []
        entered_at = [entered for _, own in asking for entered in own]
        verdicts = iter(decide(entered_at, before, after) if entered_at else ())
        for one, own in asking:
            standing = EntranceVerdict(True)
            for entered, verdict in zip(own, islice(verdicts, len(own)), strict=True):
                if not verdict.raw:
                    one.verdicts.append((entered.signature, verdict.stands))
                if standing.stands:
                    standing = verdict
            if standing.stands:
                yield Landing(one.link, one.jump()[0], standing, tuple(one.verdicts))
                continue
            # The reason against the best draft is more useful than the one against the chain's own wording.
            one.first = one.first or standing
            one.refused += 1
            if one.refused > len(one.link.drafts):
                yield Landing(one.link, None, one.first, tuple(one.verdicts))
            else:
                left.append(one)


def _histories(
    chains: Mapping[str, QAChain], source: Place, reached: Mapping[Place, Sequence[Jump]]
) -> list[tuple[Turn, ...]]:
    """The turns of the source's chain that all paths ask before the jump, in each wording."""
    name, index = source
    turns = chains[name].turns
    worded = [jump.turn for jump in reached.get(source, ()) if jump.turn is not None]
    entrance = index
    while entrance and not reached.get((name, entrance)):
        entrance -= 1
    ambiguous = any(jump.turn is not None for jump in reached.get((name, entrance), ()))
    own = turns[min(index, entrance + ambiguous) : index + 1]
    return [own, *((turn,) for turn in worded)]


class Walker:
    """Walks through one video.

    Args:
        chains: Its chains, in the order of time.
        jumps: The possible jumps.
        jump_probability: Probability of a jump at a turn with usable links, 0 to 1.
    """

    def __init__(self, chains: Sequence[QAChain], jumps: Iterable[Jump], *, jump_probability: float = 0.8) -> None:
        self.chains, self.jump_probability = tuple(chains), jump_probability
        self._number: dict[str, int] = {chain.id: n for n, chain in enumerate(self.chains)}
        self._jumps: dict[Place, list[Jump]] = defaultdict(list)
        for jump in jumps:
            self._jumps[jump.source].append(jump)

    def walk(self, draw: random.Random, statistics: PathStatistics | None = None) -> Walk:
        """One walk.

        Args:
            draw: Decides the jumps.
            statistics: Receives counts of chances and jumps.
        """
        steps: list[tuple[Place, Jump | None]] = []
        here, by = self._onward(0, 0), None
        while here is not None:
            steps.append((here, by))
            jumps, by = self._jumps.get(here), None
            if jumps:
                goes = draw.random() < self.jump_probability
                if statistics is not None:
                    statistics.chances += 1
                    statistics.jumps += goes
                if goes:
                    by = jumps[draw.randrange(len(jumps))]
                    here = by.target
                    continue
            here = self._onward(self._number[here[0]], here[1] + 1)
        return tuple(steps)

    def _onward(self, number: int, turn: int) -> Place | None:
        """The turn of a chain, or the first of the next that has any, or None after the last."""
        while number < len(self.chains) and turn >= len(self.chains[number].turns):
            number, turn = number + 1, 0
        return (self.chains[number].id, turn) if number < len(self.chains) else None

    def different_walks(self) -> int:
        """The number of different walks."""
        counts: dict[Place, int] = {}
        for number in range(len(self.chains) - 1, -1, -1):
            for turn in range(len(self.chains[number].turns) - 1, -1, -1):
                here = (self.chains[number].id, turn)
                onward = self._onward(number, turn + 1)
                ways = [jump.target for jump in self._jumps.get(here, ())]
                ways += [onward] if onward is not None else []
                counts[here] = sum(counts[place] for place in ways) if ways else 1
        start = self._onward(0, 0)
        return counts[start] if start is not None else 0

    def paths(self, video_id: str, *, count: int, seed: int, statistics: PathStatistics) -> list[DialoguePath]:
        """Draw `count` walks; each is a path, equal ones too.

        Args:
            count: Number of paths; SVBench's test split has 5 a video.
            seed: Seed of the draws.
            statistics: Receives the counts of jumps and of the turns at which a walk could jump.
        """
        draw = random.Random(f"paths {seed} {video_id}")
        found: list[DialoguePath] = []
        different = set[tuple[Any, ...]]()
        for number in range(count if self._onward(0, 0) else 0):
            one = PathStatistics()
            walk = self.walk(draw, one)
            different.add(tuple((place, jump is not None) for place, jump in walk))
            name = derive_id("path", video_id, seed, number, [place for place, _ in walk])
            found.append(
                DialoguePath(
                    id=PathId(name),
                    video_id=self.chains[0].video_id,
                    steps=tuple(_steps(walk)),
                    extra={WALK: {"chances": one.chances, "jumps": one.jumps}},
                )
            )
            statistics.chances += one.chances
            statistics.jumps += one.jumps
        statistics.paths += len(found)
        statistics.different += len(different)
        statistics.walks += self.different_walks()
        return found


def _steps(walk: Walk) -> Iterator[PathStep]:
    for (name, turn), jump in walk:
        yield PathStep(ref=TurnRef(unit_id=name, turn_index=turn), turn=jump.turn if jump else None)


class VideoLinks(NamedTuple):
    """Linkages between chains of one video, and their drafts."""

    linkages: list[Linkage]
    rewrites: list[Rewrite]


def links_by_video(
    chains: Mapping[str, Sequence[QAChain]], linkages: Iterable[Linkage], rewrites: Iterable[Rewrite]
) -> dict[str, VideoLinks]:
    """The linkages and drafts of each video, in their order. Those of other chains are left out.

    Args:
        chains: The chains of each video.
        linkages: Linkages of the benchmark.
        rewrites: Drafts of the benchmark.
    """
    video_of: dict[str, str] = {chain.id: video for video, own in chains.items() for chain in own}
    found = {video: VideoLinks([], []) for video in chains}
    for linkage in linkages:
        if (video := video_of.get(linkage.source.unit_id)) is not None:
            found[video].linkages.append(linkage)
    for rewrite in rewrites:
        if (video := video_of.get(rewrite.linkage.source.unit_id)) is not None:
            found[video].rewrites.append(rewrite)
    return found


def draw_paths(
    chains: Sequence[QAChain],
    linkages: Sequence[Linkage],
    rewrites: Sequence[Rewrite],
    decide: Decide,
    *,
    video_id: str,
    count: int,
    seed: int,
    jump_probability: float = 0.8,
    statistics: PathStatistics,
) -> tuple[list[DialoguePath], list[Landing]]:
    """The paths of a video, and the decisions on its links. Chains of each language form their own paths.

    Args:
        chains: Its chains, in the order of time.
        linkages: Linkages of the video (`links_by_video`); others are left out.
        rewrites: Drafts of the video.
        decide: Says whether a walk can enter a chain in its middle.
        count: Number of walks to draw in each language.
        seed: Seed of the draws.
        jump_probability: Probability of a jump at a turn with usable links, 0 to 1.
        statistics: Receives the counts of jumps and of the turns at which a walk could jump.

    Raises:
        BrokenInvariantError: A linkage leads to no turn, or not forward.
    """
    spoken: dict[str, list[QAChain]] = defaultdict(list)
    for chain in chains:
        spoken[next((word for turn in chain.turns for word in turn.labels.get(LANGUAGE, ())), "")].append(chain)
    paths: list[DialoguePath] = []
    found: list[Landing] = []
    for language, own in spoken.items():
        names = {chain.id for chain in own}
        linked = [row for row in linkages if {row.source.unit_id, row.target.unit_id} <= names]
        landed = find_landings(own, links_of(own, linked, rewrites), decide)
        statistics.count(landed)
        jumps = [landing.jump for landing in landed if landing.jump is not None]
        walker = Walker(own, jumps, jump_probability=jump_probability)
        name = f"{video_id}/{language}" if len(spoken) > 1 else video_id
        paths += walker.paths(name, count=count, seed=seed, statistics=statistics)
        found += landed
    return paths, found
