"""Named queries, curation and joining."""

import contextlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from sample_graphs import LAMP, NAME, event, read, state

from reeltalk.cli import run
from reeltalk.errors import InputError, SettingError
from reeltalk_build.graph.knowledge_graph import KnowledgeGraph, describe_query, named_queries
from reeltalk_build.graph.rdf import curate_triples, parse_rdf
from reeltalk_build.graph.reading import graph_texts, read_activity, read_graphs


@pytest.fixture
def store() -> KnowledgeGraph:
    graph = KnowledgeGraph()
    graph.add(NAME, "\n".join(LAMP), file="lamp.nt")
    return graph


def test_queries_and_memory_agree_on_states_and_places(shared: Path, full: bool) -> None:
    """Two paths to the same facts: SPARQL, and the graph in memory."""
    texts = list(graph_texts(shared / "data/vdact/kg_activity.zip"))[:: 20 if full else 120]
    for name, where, text in texts:
        store = KnowledgeGraph()
        store.add(name, text, file=where)
        graph = read_activity(text, file=where, name=name)
        events = store.ask("events", graph=name)
        assert len({row["event"] for row in events}) == len(graph.events)
        for thing in sorted(graph.main_objects)[:4]:
            for k in range(0, graph.situations, 2):
                rows = store.ask("state-at", object=f"{thing}_{graph.scene}", situation=k)
                assert tuple(sorted(row["value"] for row in rows if "value" in row)) == graph.values_at(thing, k)
                rows = store.ask("placed-at", shape_of=f"{thing}_{graph.node}", situation=k)
                told = {(row["relation"], row["target"]) for row in rows}
                assert told == {(p.kind, f"shape_{p.target.node}_{graph.node}") for p in graph.placed_at(thing, k)}, (
                    name,
                    thing,
                    k,
                )


def test_events_by_object_interval_and_action(store: KnowledgeGraph) -> None:
    assert [row["index"] for row in store.ask("events-with", object="lamp7_scene1")] == ["0", "1", "2"]
    assert store.ask("objects") == [{"graph": NAME, "object": "lamp7_scene1", "events": "3"}]
    assert {row["action"] for row in store.ask("actions")} == {"action/walk", "action/switchOn", "action/switchOff"}
    assert store.ask("events-between", start=0.0, end=9.0) == [], "the released graphs have no times"
    timed = [
        *LAMP,
        *(
            f"<vh2kg_url/instance/event{n}_use_lamp1_scene1> <http://www.w3.org/2006/time#hasDuration> _:d{n} ."
            for n in range(3)
        ),
        *(
            f'_:d{n} <http://www.w3.org/2006/time#numericDuration> "2.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .'
            for n in range(3)
        ),
    ]
    other = KnowledgeGraph()
    other.add(NAME, "\n".join(timed), file="lamp.nt")
    rows = other.ask("events-between", start=2.4, end=2.6)
    assert [(row["index"], float(row["from_s"]), float(row["to_s"])) for row in rows] == [("0", 0, 2.5), ("1", 2.5, 5)]
    graph = read(timed)
    assert graph.duration_s == 7.5
    assert graph.event_interval(1) == (2.5, 5.0)


@pytest.mark.parametrize("value", ["x> . ?a ?b ?c . <y", "} DROP ALL #", "lamp7_scene1> <x", 'a"b'])
def test_a_value_cannot_change_a_query(store: KnowledgeGraph, value: str) -> None:
    with contextlib.suppress(SettingError):
        assert store.ask("events-with", object=value) == []
    assert store.ask("placed-at", shape_of=value, situation=1) == []
    with pytest.raises(SettingError, match="there is no graph"):
        store.ask("events-with", graph=value, object="lamp7_scene1")


def test_a_query_says_what_it_needs(store: KnowledgeGraph) -> None:
    with pytest.raises(SettingError, match="there is no query 'nothing'; known: actions"):
        store.ask("nothing")
    with pytest.raises(SettingError, match="state-at needs situation"):
        store.ask("state-at", object="lamp7_scene1")
    for name in named_queries():
        assert "Values:" in describe_query(name)


def test_own_sparql(store: KnowledgeGraph) -> None:
    assert store.select("SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } }") == [{"n": str(len(LAMP))}]
    with pytest.raises(InputError, match=r"not SPARQL.*q\.rq:2"):
        store.select("SELECT *\nWHER", file="q.rq")
    with pytest.raises(InputError, match="only SELECT"):
        store.select("ASK { ?s ?p ?o }")


def test_the_query_command_prints_json(samples: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    graphs = str(samples / "vdact/kg_activity")
    values = ["--activity", "Wash_mug1_scene1", "--object", "mug7", "--situation", "3"]
    assert run(["graph", "query", graphs, "state-at", *values]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["value"] for row in rows} == {"CLEAN", "GRABED"}
    assert run(["graph", "query", graphs]) == 0
    assert "placed-at: Where an object is" in capsys.readouterr().out
    assert run(["graph", "query", graphs, "state-at", "--object", "mug7"]) == 2
    assert "--object needs --activity" in capsys.readouterr().err
    (tmp_path / "q.rq").write_text("SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } } LIMIT 1")
    assert run(["graph", "query", graphs, "--sparql", str(tmp_path / "q.rq")]) == 0


def test_curating_the_released_graphs_changes_nothing(shared: Path) -> None:
    """They are curated already, so the rule that was read off them must keep every triple."""
    for name, where, text in list(graph_texts(shared / "data/vdact/kg_activity.zip"))[::10]:
        triples = parse_rdf(text, file=where)
        assert curate_triples(triples, timed=False) == triples, name


def test_curating_drops_what_concerns_other_objects(tmp_path: Path) -> None:
    other = [*state(0, "bed2", "CLEAN"), *state(1, "bed2", "DIRTY")]
    (tmp_path / f"{NAME}.nt").write_text("\n".join([*other, *LAMP]) + "\n")
    assert run(["graph", "curate", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    kept = read_graphs(tmp_path / "out")[NAME]
    assert len(kept.triples) == len(LAMP)
    assert "bed2" not in kept.values


def test_graphs_are_found_in_folders_archives_and_benchmarks(samples: Path, tmp_path: Path) -> None:
    folder = samples / "vdact/kg_activity"
    archive = Path(shutil.make_archive(str(tmp_path / "graphs"), "zip", folder))
    assert run(["import", "vdact", str(samples / "vdact"), str(tmp_path / "bench")]) == 0
    expected = read_graphs(folder)
    for source in (archive, tmp_path / "bench"):
        found = read_graphs(source)
        assert {name: graph.events for name, graph in found.items()} == {n: g.events for n, g in expected.items()}
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr("again/Wash_mug1_scene1.ttl.nt", "x")
    with pytest.raises(InputError, match="stands twice"):
        read_graphs(archive)
    with pytest.raises(InputError, match="no activity graphs"):
        read_graphs(samples / "svbench")
    with pytest.raises(InputError, match="no such file"):
        read_graphs(tmp_path / "nowhere")


def test_a_broken_archive_member_names_itself(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "graphs.zip", "w") as archive:
        archive.writestr("Use_lamp1_scene1.nt", "\n".join(event(0, "walk")[:2]) + "\n")
    with pytest.raises(InputError, match=r"graphs\.zip/Use_lamp1_scene1\.nt:1"):
        read_graphs(tmp_path / "graphs.zip")
