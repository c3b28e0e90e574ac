"""Readers of three published layouts that share no code with reeltalk's importers. They check exports.

Each is written from the papers and the official scripts, and is strict: a key, a file or a value that the layout does
not have is a misfit. `python tools/read_published.py LAYOUT FOLDER` prints the contents of a folder; LAYOUT is
`mt-video-bench`, `svbench` or `vdact`. The exit code is 1 if something does not fit.
"""

import csv
import json
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

OURS: Final = "reeltalk-selection.json"
"""Says which turns an export left out; it is of no layout."""
Counts = dict[str, int]


class MisfitError(ValueError):
    """Something that the layout does not have, or something that is missing; the message names the place."""


def demand(is_so: object, place: str, problem: str) -> None:
    """Raises if a condition does not hold."""
    if not is_so:
        raise MisfitError(f"{place}: {problem}")


def loaded(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def keys_are(value: object, keys: set[str], place: str) -> None:
    """Requires an object with exactly these keys."""
    demand(isinstance(value, dict), place, "not an object")
    assert isinstance(value, dict)
    demand(set(value) == keys, place, f"keys are {sorted(value)}, not {sorted(keys)}")


def is_text(value: object, place: str) -> None:
    """Requires words."""
    demand(isinstance(value, str) and value.strip(), place, f"not a text: {value!r}")


def folders_are(folder: Path, known: set[str]) -> None:
    """Requires that a folder has no other files than the layout's and ours."""
    found = {path.name for path in folder.iterdir()} - {OURS}
    demand(found <= known, str(folder), f"holds {sorted(found - known)} too")
    demand(found, str(folder), "is empty")


# ── MT-Video-Bench ────────────────────────────────────────────────────────────────────────────────────────────────────

BY_ABILITY: Final = {
    "summary": "Summary",
    "object_reference": "Object Reference",
    "memory_recall": "Memory Recall",
    "answer_refusal": "Answer Refusal",
}
"""Files of which the official inference asks those rounds alone whose ability is one of these."""
WHOLE: Final = {"proactive_interaction": "Proactive Interaction", "topic_shifting": "Topic Shifting"}
BASIC: Final = {"Scene Understanding", "Scene Reasoning"}


def read_mt_video_bench(folder: Path) -> Counts:
    """The contents of `mtqa` and `checklist`.

    Raises:
        MisfitError: Something does not fit.
    """
    folders_are(folder, {"mtqa", "checklist", "model_answers", "eval_results"})
    counts: Counter[str] = Counter(checklists=0)
    videos: set[str] = set()
    events: dict[tuple[str, str, str], set[int]] = {}
    for path in sorted((folder / "mtqa").iterdir()):
        task = path.name.removesuffix(".json")
        demand(task in BY_ABILITY or task in WHOLE, str(path), "is none of the six abilities")
        for video, dialogues in loaded(path).items():
            videos.add(video)
            for index, dialogue in enumerate(dialogues):
                place = f"{path}: {video}[{index}]"
                keys_are(dialogue, {"event_index", "mtqa"}, place)
                event = dialogue["event_index"]
                demand(isinstance(event, str | int) and not isinstance(event, bool), place, "no event_index")
                demand(re.search(r"\d", str(event)), place, "event_index has no digit, by which the script sorts")
                demand((task, video, str(event)) not in events, place, "event_index stands twice")
                events[task, video, str(event)] = rounds = set(_rounds(dialogue["mtqa"], task, place))
                counts += Counter(dialogues=1, turns=len(rounds))
    for path in sorted((folder / "checklist").iterdir()) if (folder / "checklist").is_dir() else ():
        task = path.name.removesuffix("_CheckList.json")
        for video, listed in loaded(path).items():
            for event, rows in listed.items():
                place = f"{path}: {video}.{event}"
                demand((task, video, event) in events, place, "no such dialogue")
                numbers = [_checklist(row, f"{place}[{index}]") for index, row in enumerate(rows)]
                demand(len(set(numbers)) == len(numbers), place, "a round has two checklists")
                demand(set(numbers) <= events[task, video, event], place, "a checklist for a round that is not there")
                counts["checklists"] += len(numbers)
    return {"videos": len(videos), **counts}


def _rounds(mtqa: Any, task: str, place: str) -> Iterator[int]:
    demand(list(mtqa) == [f"Round {number}" for number in range(1, len(mtqa) + 1)], place, f"rounds are {list(mtqa)}")
    demand(mtqa, place, "no rounds")
    for name, row in mtqa.items():
        keys_are(row, {"User", "Assistant", "Ability"}, f"{place}.{name}")
        for key, value in row.items():
            is_text(value, f"{place}.{name}.{key}")
        abilities = {*BY_ABILITY.values(), *WHOLE.values()} | BASIC
        demand(row["Ability"] in abilities, f"{place}.{name}", f"Ability {row['Ability']!r} is not known")
        yield int(name.removeprefix("Round "))
    asked = {row["Ability"] for row in mtqa.values()}
    demand(task in WHOLE or BY_ABILITY[task] in asked, place, "no round tests the file's ability: none would be asked")


def _checklist(row: Any, place: str) -> int:
    items = [key for key in row if key != "round index"]
    count = len(items) // 2
    numbers = range(1, count + 1)
    keys_are(row, {"round index", *(f"Q{n}" for n in numbers), *(f"A{n}" for n in numbers)}, place)
    demand(count, place, "no items")
    demand(isinstance(row["round index"], int) and not isinstance(row["round index"], bool), place, "not a number")
    for number in numbers:
        is_text(row[f"Q{number}"], f"{place}.Q{number}")
        demand(row[f"A{number}"] in ("Yes", "No"), f"{place}.A{number}", "neither Yes nor No")
    return int(row["round index"])


# ── SVBench ───────────────────────────────────────────────────────────────────────────────────────────────────────────

RELATIONS: Final = {"People", "Objects", "Actions", "Environment", "Quantity", "Events"}
TIMES: Final = ("qac_timestamps_start", "qac_timestamps_end")


def read_svbench(folder: Path) -> Counts:
    """The contents of `Meta`, `Dialogue`, `Con`, `Path` and `Streaming`.

    Raises:
        MisfitError: Something does not fit.
    """
    folders_are(folder, {"Meta", "Dialogue", "Con", "Path", "Streaming", "Answers", "Judged"})
    videos = {row["Video_Name"] for path in sorted(folder.glob("Meta/*/*")) for row in _meta(path)}
    counts: Counter[str] = Counter(linkages=0, paths=0, steps=0)
    spoken: dict[str, list[str]] = {}
    chains: dict[tuple[str, str], list[Any]] = {}
    for language, path in _by_language(folder, "Dialogue"):
        demand(path.stem in videos, str(path), "is of a video that Meta does not list")
        rows = chains[language, path.stem] = [_chain(row, f"{path}[{n}]") for n, row in enumerate(loaded(path))]
        starts = [row[TIMES[0]] for row in rows if row]
        demand(starts == sorted(starts), str(path), "chains are not in the order of time")
        counts += Counter(chains=sum(map(bool, rows)), turns=sum(len(row["chain"]["questions"]) for row in rows if row))
        spoken.setdefault(path.stem, []).append(language)
    for language, path in _by_language(folder, "Con"):
        for number, row in enumerate(loaded(path)):
            place = f"{path}[{number}]"
            demand((language, path.stem) in chains, place, "no Dialogue file of this video")
            counts["linkages"] += _links(row, chains[language, path.stem], place)
    for path in sorted((folder / "Path").iterdir()) if (folder / "Path").is_dir() else ():
        demand(path.suffix == ".json", str(path), "not Path/<video>.json")
        document = loaded(path)
        keys_are(document, {"Paths"}, str(path))
        demand(path.stem in spoken, str(path), "no Dialogue file of this video")
        for language in spoken[path.stem]:
            streamed = folder / "Streaming" / f"Streaming_{language}" / path.name
            demand(streamed.is_file(), str(streamed), "is missing")
            rows = loaded(streamed)
            demand(len(rows) == len(document["Paths"]), str(streamed), "not as many as paths")
            for number, (steps, row) in enumerate(zip(document["Paths"], rows, strict=True)):
                _walk(steps, row, chains[language, path.stem], f"{streamed}[{number}]")
                counts += Counter(paths=1, steps=len(steps))
    return {"videos": len(videos), **counts}


def _meta(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            keys_are(row, {"Video_Name", "Path_of_Video", "Sort_of_Set"}, str(path))
            is_text(row["Video_Name"], str(path))
            yield row


def _by_language(folder: Path, part: str) -> Iterator[tuple[str, Path]]:
    for path in sorted((folder / part).rglob("*")) if (folder / part).is_dir() else ():
        match = re.fullmatch(rf"{part}/{part}_(EN|ZH)/[^/]+\.json", path.relative_to(folder).as_posix())
        demand(path.is_dir() or match, str(path), f"not {part}/{part}_<LANGUAGE>/<video>.json")
        if match:
            yield match[1], path


def _chain(row: Any, place: str) -> Any:
    if row == {}:
        return row
    keys_are(row, {"chain", *TIMES}, place)
    _pairs(row["chain"], {"questions", "answers"}, place)
    _times([row[name] for name in TIMES], place)
    return row


def _pairs(row: Any, keys: set[str], place: str) -> None:
    keys_are(row, keys, place)
    demand(row["questions"], place, "no questions")
    demand(len(row["questions"]) == len(row["answers"]), place, "not as many answers as questions")
    for text in (*row["questions"], *row["answers"]):
        is_text(text, place)


def _times(times: list[Any], place: str) -> None:
    numbers = all(isinstance(time, int | float) and not isinstance(time, bool) for time in times)
    demand(numbers and len(times) == 2 and 0 <= times[0] < times[1], place, f"no span of time: {times}")


def _links(row: Any, chains: list[Any], place: str) -> int:
    if row == {}:
        return 0
    keys_are(row, {"chain_1", "chain_2", "relationship"}, place)
    numbers = []
    for key in ("chain_1", "chain_2"):
        keys_are(row[key], {"questions", "answers", *TIMES}, f"{place}.{key}")
        plain = {"chain": {part: row[key][part] for part in ("questions", "answers")}}
        demand(plain | {name: row[key][name] for name in TIMES} in chains, f"{place}.{key}", "is no chain of the video")
        numbers.append(chains.index(plain | {name: row[key][name] for name in TIMES}))
    demand(numbers[0] < numbers[1], place, "leads back in time")
    lists = row["relationship"]
    keys_are(lists, {"chainBefore", "chainAfter", "relationship"}, place)
    demand(len({len(rows) for rows in lists.values()}) == 1, place, "lists of different length")
    for name, chain in zip(("chainBefore", "chainAfter"), numbers, strict=True):
        asked = len(chains[chain]["chain"]["questions"])
        demand(all(type(at) is int and 0 <= at < asked for at in lists[name]), f"{place}.{name}", "no such question")
    demand(set(lists["relationship"]) <= RELATIONS, place, f"relations {lists['relationship']}")
    return len(lists["relationship"])


def _walk(steps: Any, row: Any, chains: list[Any], place: str) -> None:
    keys_are(row, {"questions", "answers", "timestamps"}, place)
    _pairs({key: row[key] for key in ("questions", "answers")}, {"questions", "answers"}, place)
    demand(len(steps) == len(row["questions"]) == len(row["timestamps"]), place, "not as many as the path's steps")
    demand([tuple(step) for step in steps] == sorted({tuple(step) for step in steps}), place, "steps back in time")
    for (number, question), times in zip(steps, row["timestamps"], strict=True):
        demand(number < len(chains) and chains[number], place, f"no chain {number}")
        demand(
            question < len(chains[number]["chain"]["questions"]), place, f"chain {number} has no question {question}"
        )
        demand(times == [chains[number][name] for name in TIMES], place, "other times than the chain's")


# ── VDAct ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_TRIPLE: Final = re.compile(r'<[^<>"]+> <[^<>"]+> (?:<[^<>"]+>|_:\w+|"(?:[^"\\]|\\.)*"(?:\^\^<[^<>"]+>|@[\w-]+)?) ?\.')
_BLANK: Final = re.compile(r"_:\w+ ")
RELEASED: Final = "scenario_template_summaries"
SUMMARIES: Final = ("VDEval/scenario_refine_summaries", f"VDEval/{RELEASED}", RELEASED)


def read_vdact(folder: Path) -> Counts:
    """The contents of dialogues, split lists, model outputs, summaries and activity graphs, as far as they exist.

    Raises:
        MisfitError: Something does not fit.
    """
    known = {"data", "results", "VDEval", RELEASED, "kg_activity"}
    folders_are(folder, known | {f"{name}.zip" for name in known})
    counts: Counter[str] = Counter()
    path = folder / "data/dialogue/dialogue.json"
    rows = loaded(path) if path.is_file() else []
    turns = {row["id"]: _dialogue(row, f"{path}[{index}]") for index, row in enumerate(rows)}
    demand(len(turns) == len(rows), str(path), "a dialogue stands twice")
    videos = {(row["id"][:5], row["scenario_video"]) for row in rows}
    for side in zip(*videos, strict=True):
        demand(len(set(side)) == len(videos), str(path), "scenarios and videos do not belong together one by one")
    split_of: dict[str, str] = {}
    for listed in sorted((folder / "data/dialogue").glob("*.txt")):
        demand(re.fullmatch("(train|dev|test)_ids.txt", listed.name), str(listed), "no list of a split")
        for name in listed.read_text(encoding="utf-8").splitlines():
            demand(re.fullmatch(r"\d{7}", name), str(listed), f"{name!r} is not seven digits")
            demand(split_of.setdefault(name[:5], listed.stem) == listed.stem, str(listed), f"{name} is in two splits")
            demand(not rows or name in turns, str(listed), f"{name} is no dialogue")
            counts["listed"] += 1
    for output in sorted((folder / "results").glob("*")):
        for index, row in enumerate(loaded(output)):
            _output(row, turns, f"{output}[{index}]")
            counts["answers"] += 1
    for name, text in (member for part in SUMMARIES for member in _members(folder / part)):
        demand(re.fullmatch(r"\d{5}\.txt", name), name, "not called by a scenario")
        is_text(text, name)
        counts["summaries"] += 1
    graphs = dict(_members(folder / "kg_activity"))
    for name, text in graphs.items():
        demand(re.fullmatch(r"[A-Za-z_]+\d*_scene\d+\.ttl\.nt", name), name, "not <Activity>_scene<s>.ttl.nt")
        for line in text.splitlines():
            line = _BLANK.sub("<blank> ", line, count=1) if line.startswith("_:") else line
            demand(_TRIPLE.fullmatch(line.strip()) or not line.strip(), name, f"not a triple: {line[:120]}")
    parts = {Path(video).stem for row in rows for video in row["activity_videos"]}
    demand(not rows or {f"{part}.ttl.nt" for part in parts} == set(graphs), str(path), "activities are not the graphs")
    counts["graphs"] = len(graphs)
    if rows:
        counts += Counter(videos=len(videos), dialogues=len(rows), turns=sum(map(len, turns.values())))
    return dict(counts)


def _dialogue(row: Any, place: str) -> list[Any]:
    keys_are(row, {"id", "turns", "scenario_video", "activity_videos"}, place)
    demand(isinstance(row["id"], str) and re.fullmatch(r"\d{7}", row["id"]), place, f"id {row['id']!r}")
    for video in (row["scenario_video"], *row["activity_videos"]):
        is_text(video, place)
        demand(video.endswith(".mp4"), place, f"not a video: {video}")
    demand(row["activity_videos"], place, "no activities")
    demand(row["turns"], place, "no turns")
    for turn in row["turns"]:
        keys_are(turn, {"question", "answer"}, place)
        is_text(turn["question"], place)
        is_text(turn["answer"], place)
    return list(row["turns"])


def _output(row: Any, turns: dict[str, list[Any]], place: str) -> None:
    keys_are(row, {"id", "dial_id", "turn_num", "question", "ref_answer", "gen_answer"}, place)
    demand(row["id"] == f"{row['dial_id']}{row['turn_num']:02d}", place, "id is not dial_id and turn_num")
    if turns:
        asked = turns[row["dial_id"]][row["turn_num"] - 1]
        demand((row["question"], row["ref_answer"]) == (asked["question"], asked["answer"]), place, "another turn")


def _members(place: Path) -> Iterator[tuple[str, str]]:
    """The files of a folder or a zip archive."""
    if place.is_dir():
        yield from ((path.name, path.read_text(encoding="utf-8")) for path in sorted(place.iterdir()))
    elif (archive := place.with_name(f"{place.name}.zip")).is_file():
        with zipfile.ZipFile(archive) as opened:
            names = (name for name in opened.namelist() if not name.endswith("/"))
            yield from ((Path(name).name, opened.read(name).decode()) for name in names)


READERS: Final[dict[str, Callable[[Path], Counts]]] = {
    "mt-video-bench": read_mt_video_bench,
    "svbench": read_svbench,
    "vdact": read_vdact,
}

if __name__ == "__main__":
    try:
        for counted, number in READERS[sys.argv[1]](Path(sys.argv[2])).items():
            print(f"{counted:<12}{number:>8,}")
    except MisfitError as misfit:
        sys.exit(str(misfit))
