"""Prose that a language model makes of template summaries, as VDAct refined its own with gpt-4o-mini (AAAI 2025).

The prompt is our own. There is one file per scenario, and an interrupted run continues. The model is passed in as a
function.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError, BudgetError, OutageError, ReeltalkError
from reeltalk.llm.prompts import PromptGroup
from reeltalk.progress import CountProgress
from reeltalk.schema.record import Json
from reeltalk.store.atomic import storage_errors, write_bytes
from reeltalk.store.documents import read_json
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.telling import tell_scenario
from reeltalk_build.threads import map_threads

PROMPTS: Final = Path(__file__).parent / "prompts"
REFINE: Final = PromptGroup("refine", {path.stem: path for path in sorted(PROMPTS.glob("*.md"))})
"""`refine` has rules of ours; `vdact` says what the paper's own line says."""
PROMPT_GROUPS: Final = (REFINE,)
SIGNATURE: Final = "refined.json"


@dataclass
class RefineReport:
    """The result of a run."""

    written: int = 0
    reused: int = 0
    """Existing texts of an earlier run."""
    failed: dict[str, str] = field(default_factory=dict)
    """Reason by scenario."""


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
    open_ = [name for name in scenarios if not (out / f"{name}.txt").is_file()]
    done = RefineReport(reused=len(scenarios) - len(open_))

    def write(name: str) -> str | None:
        try:
            text = ask(tell_scenario(scenarios[name], initial_rooms))
        except (BudgetError, OutageError):
            raise
        except ReeltalkError as error:
            return str(error)
        write_bytes(out / f"{name}.txt", (text.strip() + "\n").encode())
        return None

    for number, (index, problem) in enumerate(map_threads(write, open_, connections), 1):
        if problem is not None:
            done.failed[open_[index]] = problem
        if progress is not None:
            progress(number, len(open_))
    done.written = len(open_) - len(done.failed)
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
