"""Dialogue paths: walks along question chains and linkages through one video (SVBench, arXiv 2502.10810).

The walking rule, which the paper leaves open in part: a walk begins at the first turn of the first chain. At a turn
from which linkages lead on, it jumps with the given probability to the target of one of them, chosen uniformly, and
the rest of its chain is skipped; otherwise it goes on to the next turn of the chain. After the last turn of a chain
it goes to the first turn of the next. It ends after the last turn of the last chain. Paths are drawn once and
fixed in the benchmark; a model is never evaluated on jumps of its own.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from reeltalk.errors import BrokenInvariantError
from reeltalk.schema.dialogue import DialoguePath, Linkage, PathStep, QAChain, TurnRef
from reeltalk.schema.ids import PathId, derive_id

TRIES: Final = 20
"""Walks drawn for a path before it is given up that it differs from those there are."""

Place = tuple[str, int]


@dataclass
class PathStatistics:
    """What became of the walks of a benchmark."""

    paths: int = 0
    turns: int = 0
    jumps: int = 0
    chances: int = 0
    """Turns at which a walk could have jumped."""
    shortfall: int = 0
    """Paths that a video has too few different walks for."""
    lengths: list[int] = field(default_factory=list)

    @property
    def jump_rate(self) -> float | None:
        """Jumps per chance, or None without a chance."""
        return self.jumps / self.chances if self.chances else None


class Walker:
    """Walks through one video.

    Args:
        chains: Its chains, in the order of time.
        linkages: Relations between their turns.
        jump_probability: How likely a jump is where one can be made, 0 to 1.

    Raises:
        BrokenInvariantError: A linkage leads to no turn, or not forward.
    """

    def __init__(
        self, chains: Sequence[QAChain], linkages: Iterable[Linkage], *, jump_probability: float = 0.8
    ) -> None:
        self.chains, self.jump_probability = tuple(chains), jump_probability
        place: dict[str, int] = {chain.id: n for n, chain in enumerate(self.chains)}
        self._targets: dict[Place, list[Place]] = defaultdict(list)
        for linkage in linkages:
            for ref in (linkage.source, linkage.target):
                if ref.unit_id not in place or ref.turn_index >= len(self.chains[place[ref.unit_id]].turns):
                    raise BrokenInvariantError(
                        f"a linkage names turn {ref.turn_index} of '{ref.unit_id}': no such turn"
                    )
            if place[linkage.target.unit_id] <= place[linkage.source.unit_id]:
                raise BrokenInvariantError(f"a linkage of '{linkage.source.unit_id}' does not lead to a later chain")
            target = (linkage.target.unit_id, linkage.target.turn_index)
            source = (linkage.source.unit_id, linkage.source.turn_index)
            # The same two turns may be linked by several relations; that makes no jump more likely.
            if target not in self._targets[source]:
                self._targets[source].append(target)
        self._place = place

    def walk(self, draw: random.Random, statistics: PathStatistics | None = None) -> tuple[Place, ...]:
        """One walk: chain and index of every turn.

        Args:
            draw: Decides the jumps.
            statistics: Where chances and jumps are counted.
        """
        steps: list[Place] = []
        chain, turn = 0, 0
        while chain < len(self.chains):
            if turn >= len(self.chains[chain].turns):
                chain, turn = chain + 1, 0
                continue
            here = (self.chains[chain].id, turn)
            steps.append(here)
            targets = self._targets.get(here)
            if targets:
                jumps = draw.random() < self.jump_probability
                if statistics is not None:
                    statistics.chances += 1
                    statistics.jumps += jumps
                if jumps:
                    name, turn = targets[draw.randrange(len(targets))]
                    chain = self._place[name]
                    continue
            turn += 1
        return tuple(steps)

    def paths(self, video_id: str, *, count: int, seed: int, statistics: PathStatistics) -> list[DialoguePath]:
        """Different paths of a video, as many as there are up to `count`.

        Args:
            video_id: The video.
            count: How many; SVBench's test split has 5 a video.
            seed: Decides the walks.
            statistics: Counts are added to it.
        """
        draw = random.Random(f"paths {seed} {video_id}")
        found: list[tuple[Place, ...]] = []
        for _ in range(count):
            for _ in range(TRIES):
                walked = PathStatistics()
                walk = self.walk(draw, walked)
                if walk and walk not in found:
                    found.append(walk)
                    statistics.jumps += walked.jumps
                    statistics.chances += walked.chances
                    break
        statistics.paths += len(found)
        statistics.turns += sum(map(len, found))
        statistics.lengths += map(len, found)
        statistics.shortfall += count - len(found) if self.chains else 0
        return [
            DialoguePath(
                id=PathId(derive_id("path", video_id, seed, number, walk)),
                video_id=self.chains[0].video_id,
                steps=tuple(PathStep(ref=TurnRef(unit_id=name, turn_index=turn)) for name, turn in walk),
            )
            for number, walk in enumerate(found)
        ]
