"""Commands on activity graphs: curate, query, see, ask questions; `graph_texts.py` has those that tell them as text."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from reeltalk.cli.app import OVERWRITE, Bar, app, say
from reeltalk.cli.graph_reading import read_by_scenario
from reeltalk.errors import SettingError

graph = App(name="graph", help="Activity graphs: curate, query, tell as text, refine, check and see.", sort_key=2)
app.command(graph)


@graph.command(sort_key=1)
def curate(
    graphs: Path,
    /,
    *,
    out: Path,
    released: Annotated[bool, Parameter(negative="")] = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Keep what concerns main and target objects of full activity graphs, as VDAct did.

    Example: `reeltalk graph curate full-graphs/ --out curated/`

    Parameters
    ----------
    graphs
        Folder, zip archive or file of activity graphs: N-Triples, N-Quads, Turtle or RDF/XML.
    out
        Folder of N-Triples that appears.
    released
        Keep only the 14 predicates of VDAct's released graphs: no times, rooms or hands.
    overwrite
        Replace the folder that is there.
    """
    from reeltalk.graph.curation import curate_triples
    from reeltalk.graph.rdf import ntriples, parse
    from reeltalk.graph.source import graph_texts
    from reeltalk.store.atomic import writing_directory

    texts = list(graph_texts(graphs))
    before = after = 0
    with writing_directory(out, overwrite=overwrite) as folder, Bar() as bar:
        for done, (name, where, text) in enumerate(texts, 1):
            full = parse(text, file=where)
            kept = curate_triples(full, timed=not released)
            (folder / f"{name}.nt").write_text(ntriples(kept), encoding="utf-8")
            before, after = before + len(full), after + len(kept)
            bar.show("curating graphs", done, len(texts), done / len(texts))
    count = len(texts)
    print(f"{count:,} graphs in {out}: {before / count:,.1f} triples a graph before, {after / count:,.1f} after")
    return 0


@graph.command(sort_key=2)
def query(
    graphs: Path,
    name: str | None = None,
    /,
    *,
    sparql: Path | None = None,
    activity: str | None = None,
    object: str | None = None,
    situation: int | None = None,
    start: float | None = None,
    end: float | None = None,
) -> int:
    """Ask activity graphs a named or your own SPARQL question; one JSON object a line.

    Example: `reeltalk graph query kg_activity.zip state-at --activity Brush_teeth1_scene1 --object faucet52 --situation
    11`. Without a name, lists the queries.

    Parameters
    ----------
    graphs
        Folder, zip archive, file or benchmark.
    name
        Name of the query.
    sparql
        A file with a SELECT query of your own.
    activity
        Keep to this activity or clip.
    object
        An object, as tv297.
    situation
        Index of a situation, from 0.
    start
        Start of an interval, in seconds from the activity's start.
    end
        End of the interval.
    """
    from reeltalk.graph.knowledge_graph import KnowledgeGraph, describe_query, named_queries
    from reeltalk.store.documents import read_text

    if name is None and sparql is None:
        for known in named_queries():
            print(f"{known}: {describe_query(known)}")
        return 0
    if name is not None and sparql is not None:
        raise SettingError("give the name of a query or --sparql, not both")
    store = KnowledgeGraph.load(graphs)
    if sparql is not None:
        rows = store.select(read_text(sparql), file=sparql)
    else:
        assert name is not None
        if object is not None and activity is None:
            raise SettingError("--object needs --activity: objects of different environments share names")
        values: dict[str, str | float] = {}
        if object is not None and activity is not None:
            node = activity.lower()
            values["shape_of" if name == "placed-at" else "object"] = (
                f"{object}_{node}" if name == "placed-at" else f"{object}_{node.rsplit('_', 1)[-1]}"
            )
        for option, value in (("situation", situation), ("start", start), ("end", end)):
            if value is not None:
                values[option] = value
        rows = store.ask(name, graph=activity, **values)
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))
    say(f"{len(rows):,} rows")
    return 0


@graph.command(sort_key=6)
def see(
    graphs: Path,
    /,
    *,
    scenarios: Path | None = None,
    out: Path,
    only: str | None = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Show scenarios as pages: events on a time line, every object's states, and relations at each moment.

    Example: `reeltalk graph see kg_activity.zip --scenarios scenario_to_activities.json --only 00001 --out pages`. Of
    a benchmark with graphs, `reeltalk report` writes the same pages.

    Parameters
    ----------
    graphs
        Folder, zip archive or file of activity graphs.
    scenarios
        JSON object of lists of activities by scenario. Without it the videos of a benchmark, or each activity alone.
    out
        Folder of the site that appears.
    only
        Comma-separated names of the scenarios to show; all by default.
    overwrite
        Replace the folder that is there.
    """
    from reeltalk.pages.scenarios import ShownScenario
    from reeltalk.pages.stage import write_scenario_report
    from reeltalk.store.atomic import writing_directory

    by_scenario, _ = read_by_scenario(graphs, scenarios, None)
    wanted = [name.strip() for name in only.split(",")] if only else list(by_scenario)
    if missing := [name for name in wanted if name not in by_scenario]:
        raise SettingError(f"--only {missing[0]}: there is no such scenario")
    shown = [ShownScenario(name, by_scenario[name], f"{n:04d}.html") for n, name in enumerate(wanted, 1)]
    with writing_directory(out, overwrite=overwrite) as folder:
        write_scenario_report(graphs.name, shown, folder)
    print(f"report: {out / 'index.html'}")
    return 0


@graph.command(sort_key=7)
def questions(
    benchmark: Path,
    /,
    *,
    per_video: int = 3,
    turns: int = 10,
    seed: int = 17,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Write dialogues about a benchmark's videos from their graphs: exact answers, checked again by SPARQL.

    Example: `reeltalk graph questions benchmarks/household`. Surface forms are divided among the splits.

    Parameters
    ----------
    benchmark
        A benchmark whose clips have graphs, as `world film` makes it.
    per_video
        Dialogues a video.
    turns
        Turns a dialogue.
    seed
        Decides what is asked.
    overwrite
        Replace the dialogues that are there.
    """
    from reeltalk.questions.asking import write_dialogues
    from reeltalk.store.benchmark import Benchmark

    for option, value in (("--per-video", per_video), ("--turns", turns)):
        if value < 1:
            raise SettingError(f"{option} {value}: at least one is needed")
    with Bar() as bar:
        done = write_dialogues(
            Benchmark.open(benchmark),
            per_video=per_video,
            turns=turns,
            seed=seed,
            overwrite=overwrite,
            progress=lambda n, total: bar.show("asking", n, total, n / total),
        )
    print(f"{done.dialogues:,} dialogues, {done.turns:,} turns in {benchmark}")
    for name, counts in (("types", done.types), ("answers", done.answer_types), ("forms by split", done.forms)):
        print(f"{name}: {', '.join(f'{key} {count:,}' for key, count in counts.items())}")
    if done.without_graphs:
        print(f"left out: {done.without_graphs:,} videos without graphs")
    print(f"SPARQL agrees on {done.checked:,} of {done.turns:,} turns")
    return 0
