"""The path walker: never back in time, seeded, jumps as often as it should, every reference resolves."""

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.errors import BrokenInvariantError
from reeltalk.metrics.uncertainty import wilson
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.entrances import FOLLOWING, NEW_WORDS, NO_DRAFT, Entrance, EntranceVerdict, verdict_by_rule
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.paths import (
    LEADS_ANYWAY,
    WALK,
    Jump,
    Landing,
    PathStatistics,
    Walker,
    find_landings,
    links_of,
    recorded_verdicts,
)
from reeltalk.schema.rewriting import Rewrite


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


def jumps_of(linkages: Iterable[Linkage]) -> list[Jump]:
    """Jumps along all of them, each pair of turns once."""
    ends = dict.fromkeys(
        ((row.source.unit_id, row.source.turn_index), (row.target.unit_id, row.target.turn_index)) for row in linkages
    )
    return [Jump(source, target) for source, target in ends]


def draft(linkage: Linkage, question: str, *, position: int = 0, **more: Any) -> Rewrite:
    return Rewrite(
        id=f"{question} {position}",
        linkage=linkage,
        method="Objects/trajectory",
        skill="CTA",
        draft=Turn(question=question, references=("yes",), **more.pop("turn", {})),
        writer="somebody",
        position=position,
        **{"coherent": True} | more,
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
    statistics = PathStatistics()
    walker = Walker(chains, jumps_of(linkages), jump_probability=probability)
    paths = walker.paths("v", count=3, seed=seed, statistics=statistics)
    assert len(paths) == 3 == statistics.paths
    assert statistics.different <= statistics.walks
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
    assert len({path.id for path in paths}) == len(paths)


@given(videos(), st.integers(0, 10_000))
def test_the_same_seed_gives_the_same_paths(video: tuple[list[QAChain], list[Linkage]], seed: int) -> None:
    chains, linkages = video

    def drawn() -> list[str]:
        found = Walker(chains, jumps_of(linkages)).paths("v", count=5, seed=seed, statistics=PathStatistics())
        return [path.to_json() for path in found]

    assert drawn() == drawn()


@pytest.mark.parametrize("count", [5, 20, 300])
def test_the_paths_that_are_played_jump_with_the_stated_probability(count: int) -> None:
    chains = [chain(n, 6) for n in range(4)]
    jumps = jumps_of(link(n, x, n + 1, y) for n in range(3) for x, y in ((1, 0), (3, 2), (3, 4)))
    statistics = PathStatistics()
    walker = Walker(chains, jumps)
    paths = [
        path
        for video in range(6000 // count)
        for path in walker.paths(f"v{video}", count=count, seed=3, statistics=statistics)
    ]
    assert len(paths) == 6000 == len({path.id for path in paths})
    taken, seen = (sum(path.extra[WALK][name] for path in paths) for name in ("jumps", "chances"))
    assert (taken, seen) == (statistics.jumps, statistics.chances)
    assert seen > 10_000
    assert taken / seen == pytest.approx(0.8, abs=0.03)


def test_all_different_walks_are_counted() -> None:
    chains = [chain(0, 3), chain(1, 2), chain(2, 2)]
    walker = Walker(chains, jumps_of([link(0, 0, 1, 1), link(0, 1, 1, 0), link(1, 0, 2, 1), link(0, 2, 2, 0)]))
    statistics, draw = PathStatistics(), random.Random(1)
    found = {tuple((place, jump is not None) for place, jump in walker.walk(draw, statistics)) for _ in range(3000)}
    assert walker.different_walks() == len(found)


def test_several_links_of_a_turn_are_chosen_uniformly() -> None:
    chains = [chain(0, 2), chain(1, 5)]
    # A pair that is linked by two relations counts once.
    linkages = [link(0, 1, 1, 1), link(0, 1, 1, 1, "Events"), link(0, 1, 1, 3)]
    jumps = [
        found.jump
        for found in find_landings(
            chains, links_of(chains, linkages, ()), lambda all_, *_: [EntranceVerdict(True)] * len(all_)
        )
    ]
    walker, draw = Walker(chains, [jump for jump in jumps if jump], jump_probability=1.0), random.Random(5)
    landed = [walker.walk(draw)[2][0][1] for _ in range(4000)]
    assert set(landed) == {1, 3}
    low, high = wilson(landed.count(1), 4000, confidence=0.999)[3:]
    assert low is not None
    assert high is not None
    assert low <= 0.5 <= high


def test_the_paths_of_a_video_without_links_are_equal() -> None:
    statistics = PathStatistics()
    paths = Walker([chain(0, 3), chain(1, 2)], []).paths("v", count=5, seed=1, statistics=statistics)
    assert [len(path.steps) for path in paths] == [5] * 5
    assert paths[0].extra[WALK] == {"chances": 0, "jumps": 0}
    assert (statistics.paths, statistics.different, statistics.walks) == (5, 1, 1)


@pytest.mark.parametrize(("linkage", "problem"), [(link(0, 9, 1, 0), "no such turn"), (link(1, 0, 0, 0), "later")])
def test_a_linkage_that_leads_nowhere_is_refused(linkage: Linkage, problem: str) -> None:
    with pytest.raises(BrokenInvariantError, match=problem):
        links_of([chain(0, 2), chain(1, 2)], [linkage], ())


def worded(name: str, *questions: str) -> QAChain:
    turns = tuple(Turn(question=question, references=("Yes.",)) for question in questions)
    return QAChain(id=name, video_id="v", turns=turns)


FIRST = worded("c0", "What does the woman take?", "Where does she put it?")


class TestLanding:
    def one(self, after: QAChain, linkage: Linkage, *drafts: Rewrite) -> Landing:
        [found] = find_landings(
            [FIRST, after],
            links_of([FIRST, after], [linkage], drafts),
            lambda all_, *_: [verdict_by_rule(one) for one in all_],
        )
        return found

    @pytest.mark.parametrize(
        ("question", "reason"),
        [
            ("What does she do with it?", NO_DRAFT),
            ("And in the kitchen?", NO_DRAFT),
            ("Why?", NO_DRAFT),
            ("Which thing comes next?", NO_DRAFT),
            ("之后他做了什么？", NO_DRAFT),
            ("How fast does the lorry drive?", NEW_WORDS),
            ("谁在开卡车？", NEW_WORDS),
            ("How many windows are open?", None),
            ("窗户开着吗？", None),
        ],
    )
    def test_in_the_middle_of_a_chain_it_stands_by_its_wording_or_not_at_all(
        self, question: str, reason: str | None
    ) -> None:
        found = self.one(worded("c1", "Who drives a lorry? 卡车来了", question, "How does it end?"), link(0, 1, 1, 1))
        assert found.standing.reason == reason
        assert (found.jump is None) == (reason is not None)

    def test_the_first_turn_of_a_chain_always_stands(self) -> None:
        assert self.one(worded("c1", "And what is it now?", "Why?"), link(0, 0, 1, 0)).jump is not None

    def test_a_draft_is_asked_in_place_of_the_chain_s_own_words(self) -> None:
        linkage = link(0, 1, 1, 1)
        after = worded("c1", "Who drives a lorry?", "What does she do with it?")
        drafts = [
            draft(linkage, "Third?", position=2),
            draft(linkage, "Broken?", coherent=False, problems=("it does not fit",)),
            draft(linkage, "Second?", position=1),
            draft(link(0, 0, 1, 1), "Of another link?"),
            draft(link(0, 1, 1, 1, "Events"), "Of a relation that is gone?"),
        ]
        found = self.one(after, linkage, *drafts)
        assert found.jump is not None
        assert found.jump.turn is not None
        assert found.jump.turn.question == "Second?"
        settled = draft(linkage, "By people?", position=9, extra={"accepted": True})
        found = self.one(after, linkage, *drafts, settled)
        assert found.jump is not None
        assert found.jump.turn == settled.draft

    def test_what_follows_must_not_speak_of_what_was_skipped(self) -> None:
        linkage = link(0, 1, 1, 1)
        after = worded("c1", "Who drives a lorry?", "What is loaded?", "How large is the lorry?")
        assert self.one(after, linkage, draft(linkage, "What is loaded?")).standing.reason == FOLLOWING
        told = draft(linkage, "What is loaded into the new lorry?")
        assert self.one(after, linkage, told).jump is None, "a draft that takes the lorry for known is no better"
        assert self.one(after, linkage, draft(linkage, "What is loaded into a lorry?")).jump is not None

    def test_graph_written_turns_say_what_they_mean(self) -> None:
        linkage = link(0, 1, 1, 1)

        def turn(question: str, meant: str | None, *spoken_of: str) -> Turn:
            return Turn(question=question, extra={"refers_to": meant, "speaks_of": list(spoken_of)})

        turns = (turn("Zero?", None, "mug1"), turn("One?", "mug1", "mug1", "e#1"), turn("Two?", "e#1", "e#2"))
        after = QAChain(id="c1", video_id="v", turns=turns)
        assert self.one(after, linkage).standing.reason == NO_DRAFT
        wrong, right = ({"extra": {"refers_to": None, "speaks_of": [name]}} for name in ("e#7", "e#1"))
        assert self.one(after, linkage, draft(linkage, "X?", turn=wrong)).standing.reason == FOLLOWING
        assert self.one(after, linkage, draft(linkage, "X?", turn=right)).jump is not None

    def test_a_link_to_where_a_walk_goes_anyway_is_no_chance(self) -> None:
        found = self.one(worded("c1", "Who sings?", "Why?"), link(0, 1, 1, 0))
        assert (found.jump, found.standing.reason) == (None, LEADS_ANYWAY)

    def test_all_ways_to_reach_a_turn_must_stand(self) -> None:
        chains = [FIRST, worded("c1", "A?", "B?", "C?"), worded("c2", "D?", "E?")]
        entrance, onward = link(0, 0, 1, 1), link(1, 1, 2, 1)
        rows = [draft(entrance, "Reworded B?"), draft(onward, "Reworded E?")]
        seen: list[tuple[str, ...]] = []

        def decide(entered: Sequence[Entrance], before: QAChain, after: QAChain) -> list[EntranceVerdict]:
            assert all(after.turns[len(one.skipped) + 1 :] == one.following for one in entered)
            seen.extend((*(turn.question for turn in one.before), one.turn.question) for one in entered)
            return [EntranceVerdict(one.before[-1].question != "Reworded B?", "no") for one in entered]

        found = find_landings(chains, links_of(chains, [entrance, onward], rows), decide)
        assert [landing.jump is not None for landing in found] == [True, False]
        # A walk comes to the second link by going on, and by landing on the draft.
        assert seen[0] == ("What does the woman take?", "Reworded B?")
        assert {("B?", "Reworded E?"), ("Reworded B?", "Reworded E?")} <= set(seen)

    def test_what_was_found_is_kept_and_holds_for_what_is_asked_alike(self) -> None:
        linkage = link(0, 1, 1, 1)
        after = worded("c1", "Who drives a lorry?", "What does she do with it?")
        rows = [draft(linkage, "What is done with the thing?")]
        links = links_of([FIRST, after], [linkage], rows)
        [refused] = find_landings(
            [FIRST, after],
            links,
            lambda all_, *_: [EntranceVerdict(False, "a model says so", explanation="the thing")] * len(all_),
        )
        row = refused.gate
        assert (row.gate, row.unit, row.outcome, row.extra["said"]) == (
            "landing", "linkage", GateOutcome.FLAGGED, "the thing",
        )  # fmt: skip
        kept = GateResult.model_validate_json(row.model_copy(update={"gate": "paths:landing"}).to_json())
        assert find_landings([FIRST, after], links, recorded_verdicts([kept]))[0].jump is None
        edited = worded("c1", "Who drives a lorry?", "What does she do with it now?", "How many are there?")
        links = links_of([FIRST, edited], [linkage], rows)
        assert find_landings([FIRST, edited], links, recorded_verdicts([kept]))[0].jump is not None, (
            "the rule decides again"
        )
