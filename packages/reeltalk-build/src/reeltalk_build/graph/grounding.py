"""Refines template summaries with a language model, and finds claims in them that the graph does not support.

VDAct refined its summaries with gpt-4o-mini (AAAI 2025). The prompt here is our own. There is one file per scenario,
and an interrupted run continues. Ungrounded claims are listed next to the text and never removed or corrected silently.
The model is passed in as a function, so this room needs no language-model package.

Claims are checked sentence by sentence and without a model. There are four checks. A content word must belong to an
object, room, state or action of the scenario, or to the small vocabulary of narration (`narration.txt`). An action word
followed by an object in the same clause must be an event on that object. A state, as in *is open*, must hold for the
object at some time. A place, as in *is on the sofa*, must be the object's place at some time. An ungrounded claim is a
reason to look at the text, not a proof of an error.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError, BudgetError, OutageError, ReeltalkError
from reeltalk.language.rules import read_rules
from reeltalk.language.vocabulary import ROOMS, class_of, plain_name, told_name
from reeltalk.llm.prompts import PromptGroup
from reeltalk.progress import CountProgress
from reeltalk.schema.record import Json
from reeltalk.store.atomic import storage_errors, write_bytes
from reeltalk.store.documents import read_json
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.telling import tell_scenario

NARRATION: Final = Path(__file__).parent / "narration.txt"

RULE_FILE: Final = read_rules(Path(__file__).with_suffix(".toml"))
ACTION_WORDS: Final[dict[str, str]] = RULE_FILE.raw["actions"]
STATE_WORDS: Final[dict[str, str]] = RULE_FILE.raw["states"]
IRREGULAR: Final[dict[str, str]] = RULE_FILE.raw["irregular"]
GAP_WORDS: Final = 3
"""Words that may stand between an action and its object."""
UNSPECIFIC: Final = RULE_FILE.words["unspecific"]


@dataclass(frozen=True)
class Claim:
    """A claim of a text that its graph does not support."""

    sentence: int
    """Number of the sentence, from 1."""
    kind: str
    """`word`, `event`, `state` or `place`."""
    text: str
    """The words of the claim."""

    @property
    def line(self) -> str:
        """The claim as one line of text."""
        reason = {
            "word": "not in the graph",
            "event": "no such event",
            "state": "never so",
            "place": "never there",
        }[self.kind]
        return f"sentence {self.sentence}: {self.text!r} ({reason})"


@cache
def _stemmer() -> "object":
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@cache
def _stem(word: str) -> str:
    stemmed: str = _stemmer().stemWord(IRREGULAR.get(word, word))  # type: ignore[attr-defined]
    return stemmed


@cache
def _narration() -> frozenset[str]:
    lines = NARRATION.read_text(encoding="utf-8").splitlines()
    return frozenset(_stem(word) for line in lines if not line.startswith("#") for word in line.split())


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower().replace("'s", " "))


def _names(name: str) -> set[tuple[str, ...]]:
    shown = {told_name(name), plain_name(name), class_of(name)}
    return {tuple(_stem(word) for word in _words(each)) for each in shown}


@cache
def _action_stems(action: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in ACTION_WORDS.get(action, action).split())


def ungrounded(
    text: str, graphs: Sequence[ActivityGraph], initial_rooms: Mapping[str, str] | None = None
) -> list[Claim]:
    """Find the claims of a text that the graphs of a scenario do not support.

    Args:
        text: A summary in prose.
        graphs: The scenario's activities.
        initial_rooms: Start rooms of the person by activity, which curated graphs may lack.

    Returns:
        One claim for each word, event, state or place; empty if all is grounded.
    """
    objects = _objects(graphs)
    for graph in graphs:
        if room := (initial_rooms or {}).get(graph.name):
            objects.setdefault(tuple(_stem(word) for word in _words(room)), set()).add(room.replace(" ", ""))
    stems = {stem for name in objects for stem in name}
    actions = {event.action for graph in graphs for event in graph.events}
    action_stems = {stem for action in actions for stem in _action_stems(action)}
    allowed = _narration() | stems | action_stems | {_stem(word) for word in STATE_WORDS}
    events = _events(graphs)
    states, places = _states(graphs), _places(graphs)
    claims = []
    for number, sentence in enumerate(re.split(r"(?<=[.!?])\s+|\n+", text.strip()), 1):
        words = _words(sentence)
        claims += [Claim(number, "word", word) for word in dict.fromkeys(words) if _stem(word) not in allowed]
        for clause in re.split(r"[,;:.]|\band\b|\bthen\b|\bwhere\b|\bwhich\b|\bbefore\b|\bafter\b", sentence.lower()):
            claims += _check_clause(number, _words(clause), objects, events, states, places)
    return claims


def _objects(graphs: Iterable[ActivityGraph]) -> dict[tuple[str, ...], set[str]]:
    """Classes of all objects in the graphs, by their names as stems."""
    found: dict[tuple[str, ...], set[str]] = {}
    for graph in graphs:
        for name in (*graph.shapes, *graph.main_objects, *graph.target_objects):
            for shown in _names(name):
                found.setdefault(shown, set()).add(class_of(name))
    return found


def _events(graphs: Iterable[ActivityGraph]) -> set[tuple[str, str]]:
    """(stem of an action word, class of an object) of every event, target objects included."""
    return {
        (stem, class_of(name))
        for graph in graphs
        for event in graph.events
        for name in ((event.main,) if event.main else ()) + event.targets
        for stem in _action_stems(event.action)
    }


def _states(graphs: Iterable[ActivityGraph]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for graph in graphs:
        for name, versions in graph.values.items():
            for values in versions.values():
                found.setdefault(class_of(name), set()).update(values)
    return found


def _places(graphs: Iterable[ActivityGraph]) -> set[tuple[str, str]]:
    """(class, class of a thing that it is on or inside) at any time, directly or through other things."""
    pairs = {
        (class_of(shape.object), class_of(placed.target.object))
        for graph in graphs
        for shape, found in graph.placed.items()
        for placed in found
        if placed.kind in ("on", "inside")
    }
    while further := {(a, d) for a, b in pairs for c, d in pairs if b == c and a != d} - pairs:
        pairs |= further
    return pairs


def _check_clause(
    number: int,
    words: Sequence[str],
    objects: Mapping[tuple[str, ...], set[str]],
    events: set[tuple[str, str]],
    states: Mapping[str, set[str]],
    places: set[tuple[str, str]],
) -> Iterable[Claim]:
    stems = [_stem(word) for word in words]
    verbs = {stem for action in ACTION_WORDS for stem in _action_stems(action)}
    unspecific = {_stem(word) for word in UNSPECIFIC}
    for start, verb in enumerate(stems):
        if verb in verbs and verb not in unspecific and not _in_name(stems, start, objects):
            found = _first_object(stems, start + 1, objects)
            # Many verbs state that somebody is in a room; the room itself is checked as a word.
            if found is not None and not found[1] & ROOMS and not any((verb, name) in events for name in found[1]):
                yield Claim(number, "event", " ".join(words[start : found[0]]))
        elif words[start] in ("is", "are") and start + 1 < len(words):
            value = next((STATE_WORDS[w] for w in words[start + 1 : start + 3] if w in STATE_WORDS), None)
            before = _last_object(stems, start, objects)
            found = _place_said(words, stems, start, objects)
            if found is not None and before and "character" not in before | found[1]:
                if not any((name, there) in places for name in before for there in found[1]):
                    yield Claim(number, "place", " ".join(words[max(0, start - 2) : found[0]]))
                continue
            # "is on the table" is a place, "is on" a state.
            ends = start + 2 >= len(words) or words[start + 2] not in ("the", "a", "his")
            if value and before and ends and not any(value in states.get(name, set()) for name in before):
                yield Claim(number, "state", " ".join(words[max(0, start - 2) : start + 3]))


def _match(
    stems: Sequence[str], start: int, objects: Mapping[tuple[str, ...], set[str]]
) -> tuple[int, set[str]] | None:
    for length in (3, 2, 1):
        name = tuple(stems[start : start + length])
        if len(name) == length and name in objects:
            return start + length, objects[name]
    return None


def _place_said(
    words: Sequence[str], stems: Sequence[str], start: int, objects: Mapping[tuple[str, ...], set[str]]
) -> tuple[int, set[str]] | None:
    """The object after *is on* or *is in*, where *is* or *are* is at `start`; None if there is none."""
    for place in range(start + 1, min(start + 4, len(words))):
        if words[place] in ("on", "in", "inside"):
            return _first_object(stems, place + 1, objects)
    return None


def _in_name(stems: Sequence[str], place: int, objects: Mapping[tuple[str, ...], set[str]]) -> bool:
    """True if the word at `place` is the last one of an object's name, as in *light switch* and *TV stand*."""
    return place > 0 and (stems[place - 1], stems[place]) in objects


def _first_object(
    stems: Sequence[str], start: int, objects: Mapping[tuple[str, ...], set[str]]
) -> tuple[int, set[str]] | None:
    for place in range(start, min(start + GAP_WORDS, len(stems))):
        if (found := _match(stems, place, objects)) is not None:
            return found
    return None


def _last_object(stems: Sequence[str], end: int, objects: Mapping[tuple[str, ...], set[str]]) -> set[str] | None:
    """The last object named before a word, with its longest name: *the kitchen cabinet*, not *the cabinet*."""
    found = [_match(stems, place, objects) for place in range(max(0, end - GAP_WORDS), end)]
    named = [match for match in found if match is not None and match[0] <= end]
    last = max((match[0] for match in named), default=None)
    return next((match[1] for match in named if match[0] == last), None)


PROMPT: Final = Path(__file__).parent / "prompts" / "refine.md"
REFINE: Final = PromptGroup("refine", {"refine": PROMPT})
PROMPT_GROUPS: Final = (REFINE,)
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
