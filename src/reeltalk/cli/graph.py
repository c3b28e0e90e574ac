"""Commands on activity graphs: curate, query, tell, refine, ground."""

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from reeltalk.cli.app import OVERWRITE, Bar, app, say
from reeltalk.errors import BenchmarkError, InputError, ModelError, SettingError

if TYPE_CHECKING:
    from reeltalk.graph.activity import ActivityGraph

graph = App(name="graph", help="Activity graphs: curate, query, tell as text, refine, check and see.", sort_key=2)
app.command(graph)

ROOMS = Parameter(name="--initial-rooms")
WARNINGS_SHOWN = 3


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


@graph.command(sort_key=3)
def tell(
    graphs: Path,
    /,
    *,
    scenarios: Path | None = None,
    initial_rooms: Annotated[Path | None, ROOMS] = None,
    out: Path,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Tell graphs as template sentences, one text a scenario, as VDAct's template summaries do.

    Example: `reeltalk graph tell kg_activity.zip --scenarios scenario_to_activities.json --initial-rooms
    initial_rooms.json --out summaries/`

    Parameters
    ----------
    graphs
        Folder, zip archive, file or benchmark of activity graphs.
    scenarios
        JSON object of lists of activities by scenario. Without it the videos of a benchmark, or each activity alone.
    initial_rooms
        JSON object of the room in which the person starts, by activity; by default the graphs' own, where they have it.
    out
        Folder of texts that appears.
    overwrite
        Replace the folder that is there.
    """
    from reeltalk.graph import telling
    from reeltalk.store.atomic import writing_directory

    by_scenario, rooms = _scenarios(graphs, scenarios, initial_rooms)
    lines = 0
    with writing_directory(out, overwrite=overwrite) as folder, Bar() as bar:
        for done, (name, activities) in enumerate(by_scenario.items(), 1):
            text = telling.tell(activities, rooms)
            lines += text.count("\n")
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
            bar.show("telling", done, len(by_scenario), done / len(by_scenario))
    count = len(by_scenario)
    print(f"{count:,} texts of {lines / max(count, 1):.1f} lines on average in {out}")
    return 0


def read_known(graphs: Path) -> "dict[str, ActivityGraph]":
    """All activity graphs by name, with progress and a warning where one is odd."""
    from reeltalk.graph.source import read_graphs

    with Bar() as bar:
        known = read_graphs(graphs, progress=lambda done, total: bar.show("reading graphs", done, total, done / total))
    odd = {name: activity.warnings[0] for name, activity in known.items() if activity.warnings}
    for name, warning in list(odd.items())[:WARNINGS_SHOWN]:
        say(f"warning: {name}: {warning}")
    if len(odd) > WARNINGS_SHOWN:
        say(f"warning: {len(odd) - WARNINGS_SHOWN:,} more graphs are odd in such a way")
    return known


def _scenarios(
    graphs: Path, scenarios: Path | None, initial_rooms: Path | None
) -> "tuple[dict[str, list[ActivityGraph]], dict[str, str]]":
    """Activities by scenario, and start rooms."""
    from reeltalk.graph.source import read_initial_rooms, read_scenarios, scenario_graphs
    from reeltalk.graph.telling import initial_room

    known = read_known(graphs)
    if initial_rooms is not None:
        rooms = read_initial_rooms(initial_rooms)
    else:
        rooms = {name: room for name, activity in known.items() if (room := initial_room(activity))}
    if scenarios is None and (graphs / "manifest.json").is_file():
        from reeltalk.graph.asking import stories
        from reeltalk.store.benchmark import Benchmark

        opened = Benchmark.open(graphs)
        return {video.id: [known[name] for name in texts] for video, _, texts in stories(opened) if texts}, rooms
    if scenarios is None:
        return {name: [activity] for name, activity in known.items()}, rooms
    return scenario_graphs(read_scenarios(scenarios), known, file=scenarios), rooms


@graph.command(sort_key=4)
def refine(
    graphs: Path,
    /,
    *,
    scenarios: Path | None = None,
    initial_rooms: Annotated[Path | None, ROOMS] = None,
    out: Path,
    model: str,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    connections: int = 4,
    limit: int | None = None,
) -> int:
    """Have a language model turn template sentences into prose that adds nothing; lists what the graph cannot ground.

    Example: `reeltalk graph refine graphs/ --scenarios map.json --model gpt-4o-mini --out refined/`. Run it again to go
    on after an interruption. Exit code 1 where a text failed or holds claims that cannot be grounded.

    Parameters
    ----------
    graphs
        Folder, zip archive, file or benchmark of activity graphs.
    scenarios
        JSON object of lists of activities by scenario. Without it the videos of a benchmark, or each activity alone.
    initial_rooms
        JSON object of start rooms by activity.
    out
        Folder that receives a text for each scenario.
    model
        Name of the model, as the server knows it.
    base_url
        Address of an OpenAI-compatible server, as http://localhost:8000/v1.
    api_key_env
        Environment variable that holds the key.
    connections
        Requests at a time.
    limit
        Only the first so many scenarios.
    """
    from reeltalk.graph import refining
    from reeltalk.llm import Endpoint, LanguageModel, Message, Prompt

    if connections < 1:
        raise SettingError(f"--connections {connections}: at least one is needed")
    if limit is not None and limit < 1:
        raise SettingError(f"--limit {limit}: at least one scenario is needed")
    by_scenario, rooms = _scenarios(graphs, scenarios, initial_rooms)
    endpoint = Endpoint(model=model, base_url=base_url)
    asked, prompt = LanguageModel(endpoint, api_key=os.environ.get(api_key_env)), Prompt.load(refining.PROMPT)

    def ask(text: str) -> str:
        reply = asked.ask([Message("user", prompt.fill(text=text))])
        if reply.cut_off:
            raise ModelError(f"the reply did not end within {endpoint.max_tokens:,} tokens")
        return reply.text

    with contextlib.closing(asked), Bar() as bar:
        done = refining.refine(
            dict(list(by_scenario.items())[:limit]),
            rooms,
            out,
            ask=ask,
            signature={"prompt": prompt.signature, "model": model, "base_url": base_url, **endpoint.sampling},
            connections=connections,
            progress=lambda n, total: bar.show("refining", n, total, n / total),
        )
    for name, reason in done.failed.items():
        print(f"{name}: not written: {reason}")
    _print_claims({name: [claim.line for claim in claims] for name, claims in done.claims.items()})
    print(
        f"{done.written:,} texts written, {done.kept:,} kept, {len(done.failed):,} failed, {len(done.claims):,} with "
        f"claims that the graph cannot ground: {out}"
    )
    return 1 if done.failed or done.claims else 0


@graph.command(sort_key=5)
def ground(
    texts: Path,
    graphs: Path,
    /,
    *,
    scenarios: Path,
    initial_rooms: Annotated[Path | None, ROOMS] = None,
) -> int:
    """Compare summaries with their graphs and list the claims that these cannot ground.

    Example: `reeltalk graph ground refined/ kg_activity.zip --scenarios scenario_to_activities.json`. Exit code 1 where
    there are any.

    Parameters
    ----------
    texts
        Folder of texts named after their scenarios, as 00001.txt.
    graphs
        Folder, zip archive, file or benchmark of activity graphs.
    scenarios
        JSON object of lists of activities by scenario.
    initial_rooms
        JSON object of start rooms by activity.
    """
    from reeltalk.graph.grounding import ungrounded
    from reeltalk.store.documents import read_text

    by_scenario, rooms = _scenarios(graphs, scenarios, initial_rooms)
    if not texts.is_dir():
        raise InputError("no such folder", file=texts, hint="give a folder of texts named after their scenarios")
    found: dict[str, list[str]] = {}
    checked = 0
    for name, activities in by_scenario.items():
        if (path := texts / f"{name}.txt").is_file():
            checked += 1
            if claims := ungrounded(read_text(path), activities, rooms):
                found[name] = [claim.line for claim in claims]
    _print_claims(found)
    total = sum(map(len, found.values()))
    print(f"{checked:,} texts checked; {len(found):,} with {total:,} claims that the graph cannot ground")
    return 1 if found else 0


@app.command(sort_key=3)
def stats(
    source: Path,
    /,
    *,
    scenarios: Path | None = None,
) -> int:
    """Count what is in graphs, scenarios and dialogues: tables 3 and 4 and figure 2a of the VDAct paper.

    Example: `reeltalk stats kg_activity.zip --scenarios scenario_to_activities.json`, or `reeltalk stats
    benchmarks/household`

    Parameters
    ----------
    source
        A benchmark, or a folder, zip archive or file of activity graphs.
    scenarios
        JSON object of lists of activities by scenario; of a benchmark, by default its videos' clips.
    """
    from reeltalk.graph import statistics as st
    from reeltalk.graph.source import read_scenarios, scenario_graphs
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.tables import DIALOGUES, VIDEOS

    opened = Benchmark.open(source) if (source / "manifest.json").is_file() else None
    if opened is not None and opened.rows(DIALOGUES):
        counts = st.count_dialogues(opened.read(VIDEOS), opened.read(DIALOGUES))
        print(f"{'Table 3':<16}{'here':>12}{'VDAct':>12}")
        for name, value, paper in zip(st.TABLE_3, counts.values, st.PAPER_TABLE_3, strict=True):
            print(f"{name:<16}{_shown(value):>12}{paper:>12}")
        print()
    if opened is not None and not any(name.startswith("graphs/") for name in opened.manifest.files):
        if not opened.rows(DIALOGUES):
            raise BenchmarkError(f"{source} has neither dialogues nor graphs to count")
        return 0
    known = read_known(source)
    joined: dict[str, list[ActivityGraph]] = {}
    if scenarios is not None:
        joined = scenario_graphs(read_scenarios(scenarios), known, file=scenarios)
    elif opened is not None:
        from reeltalk.graph.asking import stories

        joined = {video.id: [known[name] for name in texts] for video, _, texts in stories(opened) if texts}
    activity = st.mean_counts([st.count_triples(graph.triples) for graph in known.values()])
    scenario = st.mean_counts([st.count_scenario(graphs) for graphs in joined.values()]) if joined else None
    print(f"{'Table 4, means':<16}{'activity':>12}{'VDAct':>12}{'scenario':>12}{'VDAct':>12}")
    for n, name in enumerate(st.ROWS):
        there = _shown(scenario.values[n] if scenario else None)
        print(
            f"{name:<16}{activity.values[n]:>12,.2f}{st.PAPER_ACTIVITY[n]:>12,.2f}{there:>12}{st.PAPER_SCENARIO[n]:>12,.2f}"
        )
    print(f"\n{len(known):,} activities, {len(joined):,} scenarios")
    if not joined:
        return 0
    placed = st.placements(joined)
    if not placed:
        print("Figure 2a: not known, no graph states its activity's category")
        return 0
    width = max(map(len, placed.values()))
    print(f"\n{'Figure 2a':<20}" + "".join(f"{_ordinal(n + 1):>8}" for n in range(width)))
    for category, row in placed.items():
        print(f"{category:<20}" + "".join(f"{count:>8,}" for count in row))
    return 0


def _shown(value: float | None) -> str:
    return "not known" if value is None else f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def _ordinal(n: int) -> str:
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n, 'th') }"


def _print_claims(claims: dict[str, list[str]]) -> None:
    for name, lines in claims.items():
        for line in lines:
            print(f"{name}: {line}")


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
    from reeltalk.report.scenarios import ShownScenario
    from reeltalk.report.stage import write_scenario_report
    from reeltalk.store.atomic import writing_directory

    by_scenario, _ = _scenarios(graphs, scenarios, None)
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
    from reeltalk.graph.asking import write_dialogues
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
