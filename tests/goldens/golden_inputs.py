"""What goldens are made from: small releases in published layouts, and models that answer by the request alone."""

import hashlib
import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Final

# The tools of the tests lie beside the packages, and stay there.
import willing_model
from scripted_server import Body, words

THINGS: Final = ("cup", "kettle", "book", "lamp", "towel", "plant", "radio", "bowl")
COLOURS: Final = ("red", "blue", "green", "white", "black", "yellow")
PLACES: Final = ("on the table", "in the sink", "by the window", "under the chair", "on the shelf")
PEOPLE: Final = ("the woman", "the man", "the boy", "the girl")
RELATIONS: Final = ("People", "Objects", "Actions", "Events", "Quantity")
TURNS: Final = 5
CHAINS: Final = 2


def draw(*about: object) -> int:
    """A number that depends on the words alone."""
    return int(hashlib.sha256(" ".join(map(str, about)).encode()).hexdigest()[:8], 16)


def _turns(video: int, chain: int) -> tuple[list[str], list[str]]:
    """The questions and answers of a chain: what somebody does with a thing of some colour at some place."""

    def one(words: tuple[str, ...], name: str) -> str:
        return words[draw(name, video, chain) % len(words)]

    thing, other, colour = one(THINGS, "thing"), one(THINGS, "other"), one(COLOURS, "colour")
    place, later, who = one(PLACES, "place"), one(PLACES, "later"), one(PEOPLE, "who")
    count = 2 + draw("count", video, chain) % 7
    return (
        [
            f"Who takes the {thing}?",
            f"What colour is the {thing}?",
            f"Where does {who} put the {thing}?",
            f"How many times does {who} touch the {other}?",
            f"Is the {other} still {later} at the end?",
        ],
        [
            f"{who.capitalize()} takes it.",
            f"{colour.capitalize()}.",
            f"{who.capitalize()} puts the {colour} {thing} {place}.",
            f"{count} times.",
            "Yes." if draw("still", video, chain) % 2 else "No.",
        ],
    )


def write_svbench(folder: Path, videos: int = 10) -> Path:
    """A release in the layout of SVBench, half of its videos for training: chains, links, paths and streams."""
    names = [f"film_{number:02}" for number in range(1, videos + 1)]
    for number, name in enumerate(names):
        told = [_turns(number, chain) for chain in range(CHAINS)]
        spans = [(chain * 20.0, chain * 20.0 + 18.5) for chain in range(CHAINS)]
        chains = [{"questions": asked, "answers": said} for asked, said in told]
        ends = ("qac_timestamps_start", "qac_timestamps_end")
        times = [dict(zip(ends, span, strict=True)) for span in spans]
        _dump(folder / f"Dialogue/Dialogue_EN/{name}.json",
              [{"chain": chain} | time for chain, time in zip(chains, times, strict=True)])  # fmt: skip
        linked = [
            {
                "chain_1": chains[first] | times[first],
                "chain_2": chains[first + 1] | times[first + 1],
                "relationship": {
                    "chainBefore": [draw("link", name, first) % TURNS, 4],
                    "chainAfter": [1 + draw("to", name, first) % (TURNS - 1), 0],
                    "relationship": [RELATIONS[draw("how", name, first) % len(RELATIONS)], "Objects"],
                },
            }
            for first in range(CHAINS - 1)
        ]
        _dump(folder / f"Con/Con_EN/{name}.json", linked)
        paths = [[[0, 0], [0, 1], [1, turn], [1, turn + 1], [1, 4]] for turn in (1, 2)]
        _dump(folder / f"Path/{name}.json", {"Paths": paths})
        streams = [
            {
                "questions": [told[chain][0][turn] for chain, turn in path],
                "answers": [told[chain][1][turn] for chain, turn in path],
                "timestamps": [list(spans[chain]) for chain, _ in path],
            }
            for path in paths
        ]
        _dump(folder / f"Streaming/Streaming_EN/{name}.json", streams)
    for split, part in (("train", names[: videos // 2]), ("test", names[videos // 2 :])):
        rows = ["Video_Name,Path_of_Video,Sort_of_Set", *(f"{name},Videos/{name}.mp4,{split}" for name in part)]
        path = folder / f"Meta/Meta_EN/meta_{split}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def write_choices(folder: Path, questions: int = 60) -> Path:
    """A release in the layout of DramaQA: questions with five options, and CogME's tags."""
    tags = {
        "target": ("Character", "Object", "Place", "Event", "Behavior"),
        "content": ("Identity", "Feature", "Causality", "Sequence", "Motivation"),
        "thinking": ("Recall", "Grasping", "Reasoning"),
    }
    rows = []
    for number in range(questions):
        asked, said = _turns(number, 0)
        colours = [f"It is {colour}." for colour in COLOURS[:5]]
        rows.append({
            "qid": number, "vid": f"Film{1 + number % 6:02}_001_0000", "videoType": "scene", "shot_contained": [1, 9],
            "que": asked[number % 4], "answers": colours, "correct_idx": draw("right", number) % 5,
            "q_level_logic": 1 + number % 4, "q_level_mem": 2 + number % 2,
            "target": [tags["target"][draw("target", number) % 5]],
            "content": [tags["content"][draw("content", number) % 5]],
            "thinking": tags["thinking"][draw(said, number) % 3],
        })  # fmt: skip
    _dump(folder / "AnotherMissOhQA_val_set.json", rows)
    return folder


def _dump(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


class Models:
    """A judge, and a model that answers, behind one server: what they say depends on the texts of a request alone."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self._hashes: list[str] = []
        self._lock = threading.Lock()

    def reply(self, body: Body) -> str:
        """The text of whichever model is asked."""
        text = "\n".join(f"{message['role']}: {words(message)}" for message in body["messages"])
        wanted = body.get("response_format", {}).get("json_schema", {})
        number = draw(body["model"], text)
        with self._lock:
            self.asked[f"{body['model']} {wanted.get('name', 'text')}"] += 1
            self._hashes.append(hashlib.sha256(text.encode()).hexdigest())
        if body["model"] == "judge":
            return (
                json.dumps(varied(json.loads(willing_model.reply(body)), number)) if wanted else _rating(text, number)
            )
        return say(body["model"], {"question": words(body["messages"][-1])})

    def seen(self) -> dict[str, Any]:
        """How often each model was asked, and a hash of all texts that they read."""
        with self._lock:
            hashed = hashlib.sha256("\n".join(sorted(self._hashes)).encode()).hexdigest()[:32]
        return {**dict(sorted(self.asked.items())), "texts of requests": hashed}


def say(name: str, asked: dict[str, Any]) -> str:
    """What a model of a name answers to a question: an option by its letter, or a sentence about the thing in it."""
    number = draw(name, asked["question"], asked.get("unit_id"), asked.get("turn_index"))
    if options := asked.get("options"):
        return "ABCDEFGH"[number % len(options)]
    thing = next((thing for thing in THINGS if thing in asked["question"]), "box")
    return f"{PEOPLE[number % 4].capitalize()} puts the {COLOURS[number % 6]} {thing} {PLACES[number % 5]}."


def varied(value: Any, number: int) -> Any:
    """A full record with numbers from 1 up to those that it had, in place of the highest, and with yes and no."""
    if isinstance(value, dict):
        return {name: varied(one, draw(number, name)) for name, one in value.items()}
    if isinstance(value, list):
        return [varied(one, draw(number, place)) for place, one in enumerate(value)]
    if isinstance(value, bool):
        return number % 2 == 0
    if isinstance(value, int):
        return 1 + number % value if value > 0 else value
    if isinstance(value, float):
        return round(value * (number % 101) / 100, 2)
    return {"Yes": "No", "yes": "no"}.get(value, value) if number % 3 == 0 else value


def _rating(text: str, number: int) -> str:
    """A rating in words: by VDEval 1 to 3 after a mark; else a number alone."""
    return f"It says {'most' if number % 2 else 'some'} of it. So rating={1 + number % 3}"
