"""Commands that tell activity graphs as text, refine the text, and check it."""

import contextlib
import os
from functools import partial
from pathlib import Path
from typing import Annotated

from reeltalk.cli.app import OVERWRITE, Bar
from reeltalk.cli.graph import graph
from reeltalk.cli.graph_reading import ROOMS, read_by_scenario
from reeltalk.errors import InputError, ModelError, SettingError
from reeltalk.schema.server_address import check_address, check_server


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

    by_scenario, rooms = read_by_scenario(graphs, scenarios, initial_rooms)
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
    prompts: Path | None = None,
    preflight: bool = True,
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
    prompts
        Folder of prompts in place of ours, as `reeltalk prompts export` or `adopt` writes one.
    preflight
        Ask the server for one small reply first, to find out what is wrong with it and what it takes.
    """
    from reeltalk.graph import refining
    from reeltalk.llm import Endpoint, LanguageModel, Message
    from reeltalk.llm.preflight import preflight as check_server_now
    from reeltalk.llm.prompts import prompts_in
    from reeltalk.llm.retrying import Breaker
    from reeltalk.llm.scrubbing import public_address
    from reeltalk.llm.wire import describe_endpoint
    from reeltalk.stages.prompt_folders import REFINE, check_folder

    if base_url is not None:
        check_address(base_url, "--base-url")
    key = os.environ.get(api_key_env)
    check_server(model, base_url, api_key_env)
    if connections < 1:
        raise SettingError(f"--connections {connections}: at least one is needed")
    if limit is not None and limit < 1:
        raise SettingError(f"--limit {limit}: at least one scenario is needed")
    by_scenario, rooms = read_by_scenario(graphs, scenarios, initial_rooms)
    endpoint = Endpoint(model=model, base_url=base_url)
    check_folder(prompts, REFINE)
    prompt = prompts_in(prompts, REFINE)["refine"]
    tried = partial(check_server_now, endpoint, api_key=key, key_variable=api_key_env) if preflight else None
    breaker = Breaker(describe_endpoint(endpoint), give_up_after_s=endpoint.give_up_after_s, preflight=tried)
    asked = LanguageModel(endpoint, api_key=key, breaker=breaker)

    address = None if base_url is None else public_address(base_url)

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
            signature={"prompt": prompt.signature, "model": model, "base_url": address, **asked.sampling},
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

    by_scenario, rooms = read_by_scenario(graphs, scenarios, initial_rooms)
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


def _print_claims(claims: dict[str, list[str]]) -> None:
    for name, lines in claims.items():
        for line in lines:
            print(f"{name}: {line}")
