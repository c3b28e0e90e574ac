"""Commands on activity graphs."""

import contextlib
import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import App, Group, Parameter

from reeltalk.cli.options import FLAG, IN_OUTPUT, IN_SELECTION, MODEL, OVERWRITE, SELECTION
from reeltalk.cli.terminal import ProgressBar, say
from reeltalk.errors import ModelError, SettingError
from reeltalk.schema.server_address import check_address, check_server
from reeltalk.schema.settings import check_counts

if TYPE_CHECKING:
    from reeltalk_build.construct.added_writers import AddedWriter
    from reeltalk_build.graph.activity import ActivityGraph

ROOMS = Parameter(name="--initial-rooms", group=SELECTION)
WARNINGS_SHOWN: Final = 3
IN_MODEL = Parameter(group=MODEL)
API_KEY_ENV: Final = "OPENAI_API_KEY"
GRAPH_COMMANDS = Group("Graph options", sort_key=1)

graph = App(name="graph", group_commands=Group("Commands", sort_key=0), group_parameters=GRAPH_COMMANDS)


@graph.command(sort_key=1)
def curate(
    graphs: Path,
    /,
    *,
    out: Path,
    released: Annotated[bool, Parameter(negative="")] = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Keep the parts of full activity graphs that concern main and target objects, as VDAct did.

    Example: `reeltalk graph curate full-graphs/ --out curated/`.

    Parameters
    ----------
    graphs
        Folder, zip archive or file of activity graphs: N-Triples, N-Quads, Turtle or RDF/XML.
    out
        Folder of N-Triples to create.
    released
        Keep only the 14 predicates of VDAct's released graphs: no times, rooms or hands.
    overwrite
        Replace an existing folder.
    """
    from reeltalk.store.atomic import writing_directory
    from reeltalk_build.graph.rdf import curate_triples, ntriples, parse_rdf
    from reeltalk_build.graph.reading import graph_texts

    texts = list(graph_texts(graphs))
    before = after = 0
    with writing_directory(out, overwrite=overwrite) as folder, ProgressBar() as bar:
        for done, (name, where, text) in enumerate(texts, 1):
            full = parse_rdf(text, file=where)
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
    """Query activity graphs with a named query or your own SPARQL; prints one JSON object per line.

    Without a name, lists the queries.

    Example: `reeltalk graph query kg_activity.zip state-at --activity Brush_teeth1_scene1 --object faucet52 --situation
    11`.

    Parameters
    ----------
    graphs
        Folder, zip archive, file or benchmark.
    name
        Name of the query.
    sparql
        A file with a SELECT query of your own.
    activity
        Query only this activity or clip.
    object
        An object, such as tv297.
    situation
        Index of a situation, from 0.
    start
        Start of an interval, in seconds from the activity's start.
    end
        End of the interval.
    """
    from reeltalk.store.documents import read_text
    from reeltalk_build.graph.knowledge_graph import KnowledgeGraph, describe_query, named_queries

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
    scenarios: Annotated[Path | None, IN_SELECTION] = None,
    initial_rooms: Annotated[Path | None, ROOMS] = None,
    limit: Annotated[int | None, IN_SELECTION] = None,
    out: Annotated[Path, IN_OUTPUT],
    model: Annotated[str | None, IN_MODEL] = None,
    base_url: Annotated[str | None, IN_MODEL] = None,
    api_key_env: Annotated[str, IN_MODEL] = API_KEY_ENV,
    prompt: Annotated[Literal["refine", "vdact"], IN_MODEL] = "refine",
    prompts: Annotated[Path | None, IN_MODEL] = None,
    connections: Annotated[int, IN_MODEL] = 4,
    preflight: Annotated[bool, IN_MODEL] = True,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Describe graphs in template sentences, one text per scenario, like VDAct's template summaries.

    With --model a language model turns the sentences into prose that adds nothing; run it again to continue after an
    interruption. Exit code 1 if a text failed.

    Example: `reeltalk graph tell kg_activity.zip --scenarios scenario_to_activities.json --initial-rooms
    initial_rooms.json --out summaries/`, then `reeltalk graph tell kg_activity.zip --scenarios
    scenario_to_activities.json --model gpt-4o-mini --out refined/`.

    Parameters
    ----------
    graphs
        Folder, zip archive, file or benchmark of activity graphs.
    scenarios
        JSON object of lists of activities by scenario. Without it the videos of a benchmark, or each activity alone.
    initial_rooms
        JSON object of the room in which the person starts, by activity; by default from the graphs, if they name it.
    limit
        Only the first scenarios, up to this number.
    out
        Folder of texts to create.
    model
        Name of a language model, as the server knows it.
    base_url
        Address of an OpenAI-compatible server, such as http://localhost:8000/v1.
    api_key_env
        Environment variable that holds the key.
    prompt
        `vdact` asks in one line, as VDAct's paper does; `refine` has rules that keep every action.
    prompts
        Folder of prompts in place of ours, as `reeltalk prompts --out` writes one.
    connections
        Requests at a time.
    preflight
        Ask the server for one small reply first, to find its problems and the options that it accepts.
    overwrite
        Replace an existing folder. A folder of --model is continued instead.
    """
    given = (base_url, api_key_env, prompt, prompts, connections, preflight)
    if model is None and given != (None, API_KEY_ENV, "refine", None, 4, True):
        raise SettingError(
            "--base-url, --api-key-env, --prompt, --prompts, --connections and --no-preflight are for --model"
        )
    check_counts(limit=limit, connections=connections)
    if model is not None:
        if overwrite:
            raise SettingError("--overwrite: a folder of --model is continued; choose another --out to begin anew")
        return _refine(
            graphs,
            scenarios,
            initial_rooms,
            out,
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            connections=connections,
            limit=limit,
            named=prompt,
            prompts=prompts,
            preflight=preflight,
        )
    from reeltalk.store.atomic import writing_directory
    from reeltalk_build.graph import telling

    by_scenario, rooms = read_by_scenario(graphs, scenarios, initial_rooms)
    by_scenario = dict(list(by_scenario.items())[:limit])
    lines = 0
    with writing_directory(out, overwrite=overwrite) as folder, ProgressBar() as bar:
        for done, (name, activities) in enumerate(by_scenario.items(), 1):
            text = telling.tell_scenario(activities, rooms)
            lines += text.count("\n")
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
            bar.show("telling", done, len(by_scenario), done / len(by_scenario))
    count = len(by_scenario)
    print(f"{count:,} texts of {lines / max(count, 1):.1f} lines on average in {out}")
    return 0


def _refine(
    graphs: Path,
    scenarios: Path | None,
    initial_rooms: Path | None,
    out: Path,
    *,
    model: str,
    base_url: str | None,
    api_key_env: str,
    connections: int,
    limit: int | None,
    named: str,
    prompts: Path | None,
    preflight: bool,
) -> int:
    from reeltalk.llm import Endpoint, LanguageModel, Message
    from reeltalk.llm.preflight import preflight as check_server_now
    from reeltalk.llm.prompts import prompts_in
    from reeltalk.llm.retrying import Breaker
    from reeltalk.llm.scrubbing import public_address
    from reeltalk.llm.wire import describe_endpoint
    from reeltalk.stages.prompt_folders import check_folder
    from reeltalk_build.graph import grounding
    from reeltalk_build.graph.grounding import REFINE

    if base_url is not None:
        check_address(base_url, "--base-url")
    key = os.environ.get(api_key_env)
    check_server(model, base_url, api_key_env)
    by_scenario, rooms = read_by_scenario(graphs, scenarios, initial_rooms)
    endpoint = Endpoint(model=model, base_url=base_url)
    check_folder(prompts, REFINE)
    prompt = prompts_in(prompts, REFINE)[named]
    tried = partial(check_server_now, endpoint, api_key=key, key_variable=api_key_env) if preflight else None
    breaker = Breaker(describe_endpoint(endpoint), give_up_after_s=endpoint.give_up_after_s, preflight=tried)
    asked = LanguageModel(endpoint, api_key=key, breaker=breaker)

    address = None if base_url is None else public_address(base_url)

    def ask(text: str) -> str:
        reply = asked.ask([Message("user", prompt.fill(text=text))])
        if reply.cut_off:
            raise ModelError(f"the reply did not end within {endpoint.max_tokens:,} tokens")
        return reply.text

    with contextlib.closing(asked), ProgressBar() as bar:
        done = grounding.refine(
            dict(list(by_scenario.items())[:limit]),
            rooms,
            out,
            ask=ask,
            signature={"prompt": prompt.signature, "model": model, "base_url": address, **asked.sampling},
            connections=connections,
            progress=lambda n, total: bar.show("refining", n, total, n / total),
        )
    for name, reason in done.failed.items():
        print(f"{name}: not written: {reason}")
    print(f"{done.written:,} texts written, {done.reused:,} kept, {len(done.failed):,} failed: {out}")
    return 1 if done.failed else 0


@graph.command(sort_key=4)
def questions(
    benchmark: Path,
    /,
    *,
    per_video: int = 3,
    turns: int = 10,
    proactive: Annotated[bool, FLAG] = False,
    per_kind: int = 1,
    seed: int = 17,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Write dialogues about a benchmark's videos from their graphs. SPARQL checks the exact answers again.

    With --proactive, write streams for models that speak unasked into proactive.jsonl instead: events to look out for,
    questions whose answers change or are not shown yet, and requests that are changed and cancelled, with the moments
    at which a reply is due. Surface forms are divided among the splits.

    Example: `reeltalk graph questions benchmarks/household`, or `reeltalk graph questions benchmarks/household
    --proactive`.

    Parameters
    ----------
    benchmark
        A benchmark whose clips have graphs, as `world film` makes it.
    per_video
        Dialogues per video.
    turns
        Turns per dialogue.
    proactive
        Write proactive tasks in place of dialogues; the graphs must have times.
    per_kind
        Proactive tasks of each kind for a video, at most: event, room, state, count, absent, narrate, changing, ready,
        standing.
    seed
        Seed of the choice of questions.
    overwrite
        Replace existing dialogues or tasks.
    """
    if proactive:
        return _write_tasks(benchmark, per_kind=per_kind, seed=seed, overwrite=overwrite)
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_build.construct.leakage import leak_of

    write_question_dialogues = _graph_writer().write_questions
    assert write_question_dialogues is not None
    for option, value in (("--per-video", per_video), ("--turns", turns)):
        if value < 1:
            raise SettingError(f"{option} {value}: at least one is needed")
    with ProgressBar() as bar:
        done = write_question_dialogues(
            Benchmark.open(benchmark),
            per_video=per_video,
            turns=turns,
            seed=seed,
            overwrite=overwrite,
            is_answered=leak_of,
            progress=lambda n, total: bar.show("asking", n, total, n / total),
        )
    print(f"{done.dialogues:,} dialogues, {done.turns:,} turns in {benchmark}")
    for name, counts in (("types", done.types), ("answers", done.answer_types), ("forms by split", done.forms)):
        print(f"{name}: {', '.join(f'{key} {count:,}' for key, count in counts.items())}")
    if done.without_graphs:
        print(f"left out: {done.without_graphs:,} videos without graphs")
    print(f"SPARQL agrees on {done.checked:,} of {done.turns:,} turns")
    return 0


def _graph_writer() -> "AddedWriter":
    from reeltalk_build.construct.added_writers import find_writer

    found = find_writer("graph")
    assert found is not None
    return found


def _write_tasks(benchmark: Path, *, per_kind: int, seed: int, overwrite: bool) -> int:
    from reeltalk.store.benchmark import Benchmark

    write_tasks = _graph_writer().write_tasks
    assert write_tasks is not None
    check_counts(**{"per-kind": per_kind})
    with ProgressBar() as bar:
        done = write_tasks(
            Benchmark.open(benchmark),
            per_kind=per_kind,
            seed=seed,
            overwrite=overwrite,
            progress=lambda n, total: bar.show("writing", n, total, n / total),
        )
    print(f"{done.tasks:,} tasks, {done.requests:,} requests, {done.moments:,} moments in {benchmark}")
    print(f"kinds: {', '.join(f'{kind} {count:,}' for kind, count in done.kinds.items())}")
    if done.checked:
        print(f"SPARQL agrees on {done.checked:,} requests")
    if done.without_graphs:
        print(f"left out: {done.without_graphs:,} videos without graphs that tell when things happen")
    return 0


def read_known(graphs: Path) -> "dict[str, ActivityGraph]":
    """All activity graphs by name, with progress and a warning for each odd one."""
    from reeltalk_build.graph.reading import read_graphs

    with ProgressBar() as bar:
        known = read_graphs(graphs, progress=lambda done, total: bar.show("reading graphs", done, total, done / total))
    odd = {name: activity.warnings[0] for name, activity in known.items() if activity.warnings}
    for name, warning in list(odd.items())[:WARNINGS_SHOWN]:
        say(f"warning: {name}: {warning}")
    if len(odd) > WARNINGS_SHOWN:
        say(f"warning: {len(odd) - WARNINGS_SHOWN:,} more graphs are odd in such a way")
    return known


def read_by_scenario(
    graphs: Path, scenarios: Path | None, initial_rooms: Path | None
) -> "tuple[dict[str, list[ActivityGraph]], dict[str, str]]":
    """Activities by scenario, and start rooms."""
    from reeltalk_build.graph.reading import read_initial_rooms, read_scenarios, scenario_graphs
    from reeltalk_build.graph.telling import initial_room

    known = read_known(graphs)
    if initial_rooms is not None:
        rooms = read_initial_rooms(initial_rooms)
    else:
        rooms = {name: room for name, activity in known.items() if (room := initial_room(activity))}
    if scenarios is None and (graphs / "manifest.json").is_file():
        from reeltalk.store.benchmark import Benchmark
        from reeltalk.store.tables import VIDEOS
        from reeltalk_build.graph.reading import VideoGraphs

        opened = Benchmark.open(graphs)
        found = VideoGraphs(opened)
        return {video.id: list(part) for video in opened.read(VIDEOS) if (part := found.of(video.id))}, rooms
    if scenarios is None:
        return {name: [activity] for name, activity in known.items()}, rooms
    return scenario_graphs(read_scenarios(scenarios), known, file=scenarios), rooms
