"""Refines template summaries into prose with a language model, one file per scenario. An interrupted run continues.

VDAct refined its summaries with gpt-4o-mini (AAAI 2025). The prompt here is our own. The text is compared with the
graph; ungrounded claims are listed next to it and never removed or corrected silently. The model is passed in as a
function, so this room needs no language-model package.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError, BudgetError, OutageError, ReeltalkError
from reeltalk.graph.activity import ActivityGraph
from reeltalk.graph.grounding import Claim, ungrounded
from reeltalk.graph.telling import tell_scenario
from reeltalk.progress import CountProgress
from reeltalk.schema.record import Json
from reeltalk.store.atomic import storage_errors, write_bytes
from reeltalk.store.documents import read_json

PROMPT: Final = Path(__file__).parent / "prompts" / "refine.md"
SIGNATURE: Final = "refined.json"


@dataclass
class RefineReport:
    """The result of a run."""

    written: int = 0
    kept: int = 0
    """Existing texts of an earlier run."""
    failed: dict[str, str] = field(default_factory=dict)
    """Reason by scenario."""
    claims: dict[str, list[Claim]] = field(default_factory=dict)
    """Ungrounded claims by scenario."""


def refine(
    scenarios: Mapping[str, Sequence[ActivityGraph]],
    initial_rooms: dict[str, str],
    out: Path,
    *,
    ask: Callable[[str], str],
    signature: dict[str, Json],
    connections: int = 4,
    progress: CountProgress | None = None,
) -> RefineReport:
    """Refine the template summaries of all scenarios that have no text in `out` yet.

    Args:
        scenarios: Activities by scenario.
        initial_rooms: Start rooms by activity.
        out: Folder that receives `ID.txt` as each is answered, and `refined.json`.
        ask: Turns a template summary into prose; raises a `ReeltalkError` if the model fails.
        signature: Everything that the texts depend on. A folder holds texts of one signature.
        connections: Most simultaneous requests.
        progress: Called with the number of finished scenarios and of all scenarios.

    Raises:
        BenchmarkError: `out` holds texts of another signature.
        OutageError: The model server does not answer. Earlier texts are in `out`.
    """
    _claim_folder(out, signature)
    done = RefineReport()
    open_ = []
    for name in scenarios:
        if (out / f"{name}.txt").is_file():
            done.kept += 1
        else:
            open_.append(name)
    stopped: ReeltalkError | None = None
    with ThreadPoolExecutor(connections) as pool:
        running: dict[Future[str], str] = {}
        queue = iter(open_)
        try:
            while True:
                for name in queue if stopped is None else ():
                    running[pool.submit(ask, tell_scenario(scenarios[name], initial_rooms))] = name
                    if len(running) >= connections:
                        break
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    name = running.pop(future)
                    try:
                        text = future.result()
                    except (BudgetError, OutageError) as error:
                        # Replies to the requests in progress are written, too.
                        stopped = error
                        continue
                    except ReeltalkError as error:
                        done.failed[name] = str(error)
                    else:
                        write_bytes(out / f"{name}.txt", (text.strip() + "\n").encode())
                        done.written += 1
                    if progress is not None:
                        progress(done.written + len(done.failed), len(open_))
        finally:
            for future in running:
                future.cancel()
    if stopped is not None:
        raise stopped
    for name, graphs in scenarios.items():
        path = out / f"{name}.txt"
        if path.is_file() and (found := ungrounded(path.read_text(encoding="utf-8"), graphs, initial_rooms)):
            done.claims[name] = found
    return done


def _claim_folder(out: Path, signature: dict[str, Json]) -> None:
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    path = out / SIGNATURE
    if path.is_file():
        if (found := read_json(path)) != signature:
            raise BenchmarkError(
                f"{out} holds texts of another model, prompt or setting ({json.dumps(found)}); choose another folder"
            )
    elif any(out.glob("*.txt")):
        raise BenchmarkError(f"{out} holds texts of unknown origin (no {SIGNATURE}); choose another folder")
    else:
        write_bytes(path, (json.dumps(signature, indent=2) + "\n").encode())
