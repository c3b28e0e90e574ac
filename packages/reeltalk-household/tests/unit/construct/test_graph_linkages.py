"""Linkages that a graph finds: true in the graph, by necessity, each with a draft that stands where a path lands."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reeltalk.metrics.counting import count_benchmark, format_counts
from reeltalk.schema.dialogue import Linkage, QAChain, Turn
from reeltalk.schema.entrances import has_referent
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.rewriting import RESTS_ON, Rewrite, catalogue, published_methods
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, GATES, LINKAGES, REWRITES
from reeltalk_build.graph.activity import ActivityEvent, ActivityGraph
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.asking import stories
from reeltalk_household.questions.checking import Checker


@pytest.fixture(scope="module")
def benchmark(constructed: Path) -> Benchmark:
    return Benchmark.open(constructed)


@pytest.fixture(scope="module")
def texts(benchmark: Benchmark) -> dict[str, dict[str, str]]:
    return {video.id: found for video, _, found in stories(benchmark)}


@pytest.fixture(scope="module")
def chains(benchmark: Benchmark) -> dict[str, QAChain]:
    return {chain.id: chain for chain in benchmark.read(CHAINS)}


@pytest.fixture(scope="module")
def graphs(benchmark: Benchmark) -> dict[str, tuple[ActivityGraph, float]]:
    """Each clip's graph by its name, and when its clip begins in the video."""
    return {
        name: (read_activity(text, file=f"{name}.nq", name=name), clip.interval.start_s if clip.interval else 0.0)
        for _, clips, own in stories(benchmark)
        for clip, (name, text) in zip(clips, own.items(), strict=True)
    }


def turns_of(linkage: Linkage, chains: dict[str, QAChain]) -> tuple[Turn, Turn]:
    source, target = linkage.source, linkage.target
    return chains[source.unit_id].turns[source.turn_index], chains[target.unit_id].turns[target.turn_index]


def event_of(name: str, graphs: dict[str, tuple[ActivityGraph, float]]) -> ActivityEvent:
    graph, _, index = name.rpartition("#")
    return graphs[graph][0].events[int(index)]


def is_shown(name: str, turn: Turn, graphs: dict[str, tuple[ActivityGraph, float]]) -> bool:
    """True where the event lies in what the turn's answer is seen in, by the graph's own times."""
    graph, _, index = name.rpartition("#")
    found, begins_s = graphs[graph]
    at = found.event_interval(int(index))
    assert at is not None
    middle_s = begins_s + (at[0] + at[1]) / 2
    return any(interval.start_s <= middle_s <= interval.end_s for interval in turn.evidence)


def is_about(name: str, turn: Turn) -> bool:
    """True where a thing of the graph is what a turn asks about, names, or is told with."""
    params: dict[str, Any] = turn.extra["params"]
    return name in (params.get("object"), *turn.extra["shows"]["objects"])


def test_each_linkage_names_what_its_turns_share_and_the_graph_holds_it(
    benchmark: Benchmark, chains: dict[str, QAChain], graphs: dict[str, tuple[ActivityGraph, float]]
) -> None:
    seen = defaultdict[str, int](int)
    for linkage in benchmark.read(LINKAGES):
        earlier, later = turns_of(linkage, chains)
        ground: dict[str, Any] = linkage.extra[RESTS_ON]
        seen[linkage.relation] += 1
        if linkage.relation == "Objects":
            assert is_about(ground["object"], earlier)
            assert is_about(ground["object"], later)
            continue
        one, other = event_of(ground["earlier"], graphs), event_of(ground["later"], graphs)
        assert is_shown(ground["earlier"], earlier, graphs)
        assert is_shown(ground["later"], later, graphs)
        if linkage.relation == "Actions":
            same = "action" in ground
            assert (one.action == other.action) is same
            assert same or one.main == other.main == ground["object"]
            assert one.action not in ("walk", "stand", "turnTo")
        elif linkage.relation == "Events":
            assert ground["how"] in ("again", "alike")
            assert (one.main == other.main) is (ground["how"] == "again")
            assert one.action == other.action
        elif linkage.relation == "Environment":
            assert one.from_room == other.from_room == ground["room"]
        elif linkage.relation == "People" and "people" in ground:
            assert sorted((str(one.agent), str(other.agent))) == ground["people"]
        elif linkage.relation == "People":
            assert one.agent == other.agent == ground["person"]
        else:
            assert one.action == other.action == ground["quantity"]
    assert sum(seen.values()) >= 2


def drafts(benchmark: Benchmark, chains: dict[str, QAChain]) -> Iterator[tuple[Rewrite, tuple[Turn, ...]]]:
    for rewrite in benchmark.read(REWRITES):
        target = rewrite.linkage.target
        yield rewrite, chains[target.unit_id].turns[target.turn_index + 1 :]


def test_each_linkage_has_a_draft_that_stands_between_its_neighbours(
    benchmark: Benchmark, chains: dict[str, QAChain]
) -> None:
    linkages = {linkage.to_json() for linkage in benchmark.read(LINKAGES)}
    found = list(drafts(benchmark, chains))
    assert len({(r.linkage.source, r.linkage.target, r.linkage.relation) for r, _ in found}) == len(linkages)
    for rewrite, following in found:
        draft = rewrite.draft
        assert rewrite.coherent
        source = rewrite.linkage.source
        assert has_referent(chains[source.unit_id].turns[source.turn_index], draft)
        assert draft.key is not None
        if following and (means := following[0].extra["refers_to"]) is not None:
            assert means in draft.extra["speaks_of"], (draft.question, following[0].question)
        keys = {turn.extra["answer_key"] for turn in following if turn.extra["answer_type"] == "action"}
        assert draft.extra["answer_type"] != "action" or draft.extra["answer_key"] not in keys, draft.question


def test_a_link_needs_the_earlier_film_or_the_earlier_turn(
    benchmark: Benchmark, chains: dict[str, QAChain], texts: dict[str, dict[str, str]]
) -> None:
    """SPARQL finds the answer in the film so far, and another or none in the later clip alone."""
    needs = defaultdict[str, int](int)
    for rewrite in benchmark.read(REWRITES):
        chain, draft = chains[rewrite.linkage.target.unit_id], rewrite.draft
        own, clip = texts[chain.video_id], str(chain.clip_id)
        film = {name: own[name] for name in list(own)[: list(own).index(clip) + 1]}
        assert Checker(film).disagreements([draft]) == []
        needs[need := str(draft.extra["needs"])] += 1
        if need == "turn":
            assert draft.extra["refers_to"] is not None
            continue
        graphs = [read_activity(text, file=f"{name}.nq", name=name) for name, text in film.items()]
        person = draft.extra["params"].get("person")
        first = sum(event.part < len(graphs) - 1 for event in Story(graphs, person=person).events)
        given = draft.extra["params"]
        params = {name: value - first if isinstance(value, int) else value for name, value in given.items()}
        if all(not isinstance(value, int) or value >= 0 for value in params.values()):
            assert Checker({clip: own[clip]}).answer(draft.extra["kind"], params) != draft.extra["answer_key"]
    assert needs["clip"]


def test_a_skill_follows_from_the_question(benchmark: Benchmark) -> None:
    skills = defaultdict[str, set[str]](set)
    for rewrite in benchmark.read(REWRITES):
        method = catalogue()[rewrite.method]
        assert method.relation == rewrite.linkage.relation
        assert rewrite.draft.extra["kind"] in method.kinds
        assert rewrite.skill == method.skill
        assert rewrite.draft.labels["svbench.skill"] == (rewrite.skill,)
        assert rewrite.draft.labels["svbench.relation"] == (rewrite.linkage.relation,)
        skills[rewrite.draft.extra["kind"]].add(rewrite.skill)
    assert all(len(found) == 1 for found in skills.values())


def test_what_a_household_cannot_be_asked_is_left_out_and_counted(benchmark: Benchmark) -> None:
    found = count_benchmark(benchmark)
    assert found.grounded == found.relations.total() == benchmark.rows(LINKAGES)
    assert found.needed == found.relations, "a link by necessity"
    assert set(found.not_offered) == {name for name, method in published_methods().items() if not method.kinds}
    assert len(found.not_offered) <= 18, "what has no answer in a graph, or none that needs what came before"
    assert set(found.skills_not_offered) <= {"PA", "CSI"}
    told = "\n".join(format_counts(found))
    assert f"{len(found.not_offered)} of SVBench's 31 methods are not offered" in told


def test_relations_of_which_no_question_can_be_made_are_counted(benchmark: Benchmark) -> None:
    gates = [gate for gate in benchmark.read(GATES) if gate.gate == "linkages:linkage.rewrite"]
    assert gates
    assert all(gate.outcome is GateOutcome.UNWRITTEN and (gate.value or 0) >= 1 for gate in gates)


def test_linkages_join_neighbouring_chains(benchmark: Benchmark, chains: dict[str, QAChain]) -> None:
    by_video = defaultdict[str, list[str]](list)
    for chain in sorted(chains.values(), key=lambda chain: chain.turns[0].asked_at_s or 0):
        by_video[chain.video_id].append(chain.id)
    neighbours = {pair for names in by_video.values() for pair in pairwise(names)}
    for linkage in benchmark.read(LINKAGES):
        assert (linkage.source.unit_id, linkage.target.unit_id) in neighbours
