"""The path walker: never back in time, seeded, jumps as often as it should, every reference resolves."""

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.errors import BrokenInvariantError
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.paths import PathStatistics, Walker


def chain(number: int, turns: int) -> QAChain:
    return QAChain(
        id=f"c{number}",
        video_id="v",
        turns=tuple(Turn(question=f"{number}.{n}?", references=("yes",)) for n in range(turns)),
    )


def link(a: int, x: int, b: int, y: int, relation: str = "Objects") -> Linkage:
    return Linkage(
        source=TurnRef(unit_id=f"c{a}", turn_index=x), target=TurnRef(unit_id=f"c{b}", turn_index=y), relation=relation
    )


@st.composite
def videos(draw: st.DrawFn) -> tuple[list[QAChain], list[Linkage]]:
    lengths = draw(st.lists(st.integers(1, 7), min_size=1, max_size=6))
    chains = [chain(n, length) for n, length in enumerate(lengths)]
    linkages = []
    for n in range(len(chains) - 1):
        for _ in range(draw(st.integers(0, 8))):
            x, y = draw(st.integers(0, lengths[n] - 1)), draw(st.integers(0, lengths[n + 1] - 1))
            linkages.append(link(n, x, n + 1, y))
    return chains, linkages


@given(videos(), st.integers(0, 10_000), st.floats(0, 1))
def test_a_path_steps_forward_and_all_its_references_resolve(
    video: tuple[list[QAChain], list[Linkage]], seed: int, probability: float
) -> None:
    chains, linkages = video
    paths = Walker(chains, linkages, jump_probability=probability).paths(
        "v", count=3, seed=seed, statistics=PathStatistics()
    )
    assert paths
    order: dict[str, int] = {c.id: n for n, c in enumerate(chains)}
    sizes: dict[str, int] = {c.id: len(c.turns) for c in chains}
    jumps = {(k.source.unit_id, k.source.turn_index, k.target.unit_id, k.target.turn_index) for k in linkages}
    for path in paths:
        places = [(step.ref.unit_id, step.ref.turn_index) for step in path.steps]
        assert places[0] == (chains[0].id, 0)
        assert all(turn < sizes[name] for name, turn in places)
        assert (places[-1][0], places[-1][1]) == (chains[-1].id, sizes[chains[-1].id] - 1)
        for (a, x), (b, y) in itertools.pairwise(places):
            assert (order[b], y) > (order[a], x)
            onward = a == b and y == x + 1
            next_chain = order[b] == order[a] + 1 and y == 0 and x == sizes[a] - 1
            assert onward or next_chain or (a, x, b, y) in jumps
    assert len({tuple((s.ref.unit_id, s.ref.turn_index) for s in path.steps) for path in paths}) == len(paths)
    assert len({path.id for path in paths}) == len(paths)


@given(videos(), st.integers(0, 10_000))
def test_the_same_seed_gives_the_same_paths(video: tuple[list[QAChain], list[Linkage]], seed: int) -> None:
    chains, linkages = video

    def drawn() -> list[str]:
        found = Walker(chains, linkages).paths("v", count=5, seed=seed, statistics=PathStatistics())
        return [path.to_json() for path in found]

    assert drawn() == drawn()


def test_ten_thousand_walks_jump_with_the_given_probability() -> None:
    chains = [chain(n, 6) for n in range(5)]
    linkages = [link(n, x, n + 1, y) for n in range(4) for x, y in ((1, 0), (3, 2), (3, 4))]
    walker, statistics, draw = Walker(chains, linkages), PathStatistics(), random.Random(3)
    for _ in range(10_000):
        walker.walk(draw, statistics)
    error = math.sqrt(0.8 * 0.2 / statistics.chances)
    assert statistics.chances > 10_000
    assert statistics.jump_rate == pytest.approx(0.8, abs=4 * error)


def test_several_links_of_a_turn_are_chosen_uniformly() -> None:
    chains = [chain(0, 2), chain(1, 5)]
    # A pair that is linked by two relations counts once.
    linkages = [link(0, 1, 1, 1), link(0, 1, 1, 1, "Events"), link(0, 1, 1, 3)]
    walker, draw = Walker(chains, linkages, jump_probability=1.0), random.Random(5)
    landed = [walker.walk(draw)[2][1] for _ in range(4000)]
    assert set(landed) == {1, 3}
    assert landed.count(1) / 4000 == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / 4000))


def test_a_video_without_links_has_one_path_and_a_shortfall() -> None:
    statistics = PathStatistics()
    paths = Walker([chain(0, 3), chain(1, 2)], []).paths("v", count=5, seed=1, statistics=statistics)
    assert [len(path.steps) for path in paths] == [5]
    assert (statistics.paths, statistics.shortfall, statistics.jump_rate) == (1, 4, None)


@pytest.mark.parametrize(("linkage", "problem"), [(link(0, 9, 1, 0), "no such turn"), (link(1, 0, 0, 0), "later")])
def test_a_linkage_that_leads_nowhere_is_refused(linkage: Linkage, problem: str) -> None:
    with pytest.raises(BrokenInvariantError, match=problem):
        Walker([chain(0, 2), chain(1, 2)], [linkage])
