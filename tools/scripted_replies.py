"""Replies of a model that does all that construction asks, for tests against a server.

What is said follows from the request alone, so that the same requests get the same replies. It is about a household
that nobody has filmed.
"""

import hashlib
import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

PLAIN: Final = "On the table."
"""The reply to a request without a schema."""

_COLOURS = ("red", "blue", "green", "white", "brown", "grey", "black", "yellow")
_THINGS = ("mug", "plate", "book", "pillow", "bottle", "towel", "lamp", "chair")
_PLACES = ("table", "shelf", "counter", "floor", "sofa", "bed", "desk", "sink")


_WRITTEN: Final[dict[str, dict[str, float | None]]] = {}
"""The moments of all answers by the question, as writers of this process wrote them; a judge looks them up, as somebody
who has seen the video would. What is written follows from the request alone, so its order does not matter."""


def _picked(draw: int) -> tuple[str, str, str]:
    return _COLOURS[draw % 8], _THINGS[draw // 8 % 8], _PLACES[draw // 64 % 8]


_CLOTHES = ("jacket", "apron", "sweater", "raincoat", "cap", "scarf", "shirt", "vest")
_FINDS = ("take from", "find on", "push off", "put on", "drop beside", "pick up near", "lean against", "clean on")
_STATES = (
    "has a crack",
    "still drips",
    "bears a price tag",
    "lacks its lid",
    "glitters",
    "wobbles",
    "is torn",
    "smokes",
)
_HOW = ("slowly", "quickly", "carefully", "gently", "calmly", "hastily", "clumsily", "proudly")
_ASKS = ("How does he {} it {} the {}?", "Why does he {} it {} the {}?", "What helps him to {} it {} the {}?")
_CHAIN_VERBS = (
    "carry", "turn", "wipe", "hide", "shake", "lower", "drag", "balance", "weigh", "wrap", "empty", "measure",
    "polish", "tilt", "label", "fold",
)  # fmt: skip
_WHERE = ("past", "behind", "next to", "above", "in front of", "towards", "around", "beneath")
_TELLS = (
    "He bends over the {y} and moves both arms {m}.",
    "Somebody comes in {m} through the door by the {y}.",
    "A string that hangs over the {y} is {m} tied to its handle.",
    "He has {m} climbed onto a stool beside the {y}.",
    "Its label has come off and drifts {m} to the {y}.",
    "A dog barks {m} from under the {y}.",
    "He {m} counts the scratches that the {y} has left.",
    "His glasses slide down {m} and land on the {y}.",
    "Rain drips {m} from the ceiling onto the {y}.",
    "A friend stretches out a leg {m} from the {y}.",
    "He leans {m} on a broom that stands at the {y}.",
    "A wet cloth from the {y} makes it shine {m}.",
)


def _chain(text: str, draw: int) -> dict[str, Any]:
    """Questions that were not asked in the text, each about a stretch of its own of the part that the text names."""
    colour, thing, place = _picked(draw)
    who = f"{_COLOURS[draw // 512 % 8]} {_CLOTHES[draw // 4096 % 8]}"
    first = (
        f"What does the person in the {who} {_FINDS[draw // 32768 % 8]} the {place}?",
        f"It is a {thing} with a {colour} stripe that {_STATES[draw // 262144 % 8]}.",
    )
    steps: list[tuple[str, str]] = []
    for number in range(12):
        own = draw >> 18 * (number + 1)
        verb, where = _CHAIN_VERBS[(draw + 5 * number) % 16], _WHERE[own % 8]
        other = f"{_COLOURS[own // 8 % 8]} {_THINGS[own // 64 % 8]}"
        question = _ASKS[own // 512 % 3].format(verb, where, other)
        answer = _TELLS[(draw // 16 + 5 * number) % 12].format(y=_PLACES[own // 2048 % 8], m=_HOW[own // 16384 % 8])
        if question not in text and thing not in other:
            steps.append((question, answer))
    bounds = re.search(r"from second ([\d.]+) to second ([\d.]+)", text) or re.search(
        r"第 ([\d.]+) 秒.*第 ([\d.]+) 秒", text
    )
    start_s, end_s = map(float, bounds.groups()) if bounds else (0.0, 5.0)
    turns = [first, *steps[:4]]
    part_s = (end_s - start_s) / len(turns)
    for number, (question, answer) in enumerate(turns):
        _WRITTEN.setdefault(question, {})[answer] = round(start_s + (number + 0.5) * part_s, 2)
    return {
        "turns": [
            {
                "question": question,
                "answer": answer,
                "start_s": round(start_s + number * part_s, 2),
                "end_s": round(start_s + (number + 1) * part_s, 2),
            }
            for number, (question, answer) in enumerate(turns)
        ]
    }


def _checks(turns: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """A judge who finds a turn true if it answers as the writer did, or if no writer wrote about it."""
    written = {answer for answers in _WRITTEN.copy().values() for answer in answers.copy()}
    found = []
    for number, (question, answer) in enumerate(turns, start=1):
        right = _WRITTEN.get(question, {})
        true, at_s = (answer in right if right else answer not in written), right.get(answer)
        seen = "It is seen as it is told." if true else "Something else is seen."
        verdict = "supported" if true else "contradicted"
        found.append({"number": number, "seen": seen, "at_s": at_s, "faults": [], "verdict": verdict})
    return found


def _turn_check(text: str, draw: int) -> dict[str, Any]:
    return _checks([("", "")])[0]


def _quality(text: str, draw: int) -> dict[str, Any]:
    names = (
        "accuracy", "completeness", "relevance", "fluency", "contextual_comprehension", "logical_consistency",
        "temporal_understanding",
    )  # fmt: skip
    turns = next(chain for chain in read_fenced_chains(text) if chain)
    return {"turns": _checks(turns), "reasons": [], **dict.fromkeys((*names, "overall"), 95)}


def read_fenced_chains(text: str) -> list[list[tuple[str, str]]]:
    """Every numbered chain that a prompt fences."""
    return [re.findall(r"^\d+\. Q: (.+)\n   A: (.*)$", part, re.MULTILINE) for part in _fenced(text)]


def _fenced(text: str) -> list[str]:
    """What stands between lines of equals signs."""
    return re.findall(r"^=====\n(.*?)\n=====$", text, re.DOTALL | re.MULTILINE)


def _linkages(text: str, draw: int) -> dict[str, Any]:
    before, after = [chain for chain in read_fenced_chains(text) if chain][:2]
    names = ("Actions", "Quantity", "People", "Objects", "Events", "Environment")
    # The last pair names a question that is not there, as models do; it is refused, and the others stand.
    places = [(n % len(before), (n + draw) % len(after), names[n]) for n in range(6)]
    pairs = [
        {"before": x + 1, "after": y + 1, "shared": _shared(before[: x + 1], after[: y + 1]), "relation": name}
        for x, y, name in places
    ]
    odd = {"before": 1, "after": len(after) + 1, "shared": "the room", "relation": "Objects"}
    return {"pairs": [pair | {"reason": "Both speak of it."} for pair in (*pairs, odd)]}


def _shared(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> str:
    """The longest word that two parts of chains have in common."""
    one, other = (set(re.findall(r"\w+", " ".join(map(" ".join, turns)).lower())) for turns in (before, after))
    return max(sorted(one & other), key=len, default="nothing")


_LINK = re.compile(r"^(\d+)\. \[(\d+)\] → \[(\d+)\] (\S+?)(?::.*)?$", re.MULTILINE)
_LEADS = {
    "Actions": "In the later part, once {}",
    "Quantity": "Counting on from where {}",
    "People": "As for the person of whom we heard that {}",
    "Objects": "With what was used when {}",
    "Events": "Given what had come about in the part before, namely that {}",
    "Environment": "Standing once more at the very spot where {}",
}
_MANNERS = ("without any hurry", "with great care", "in one quick move", "after a short pause", "while looking away")


def _clause(answer: str) -> str:
    return answer[:1].lower() + answer[1:].rstrip(".")


def _drafts(text: str, draw: int) -> dict[str, Any]:
    """A draft for each link: it takes up the earlier answer, and its answer says more than the later one."""
    before, after = [chain for chain in read_fenced_chains(text) if chain][:2]
    methods = re.findall(r"^- ([A-Z]\w+/\w+):", text, re.MULTILINE)
    links = next(part for part in _fenced(text) if _LINK.match(part) and "\n   Q:" not in part)
    drafts = []
    for number, source, target, relation in _LINK.findall(links):
        own = [method for method in methods if method.startswith(f"{relation}/")]
        pick = draw + int(number)
        question, answer = after[int(target) - 1]
        asked = f"{_LEADS[relation].format(_clause(before[int(source) - 1][1]))}, {question[:1].lower()}{question[1:]}"
        place = _PLACES[pick % 8]
        said = f"{answer.rstrip('.')}, this time beside the {place} and {_MANNERS[pick % 5]}."
        drafts.append({"linkage": int(number), "method": own[pick % len(own)], "question": asked, "answer": said})
    return {"drafts": drafts}


def _draft_checks(text: str, draw: int) -> dict[str, Any]:
    """A judge to whom the video shows all but elephants."""
    drafts = re.findall(r"^(\d+)\. \[\d+\] → \[\d+\] \S+\n   Q: (.+)\n   A: (.*)$", text, re.MULTILINE)
    checks = []
    for number, _, answer in drafts:
        wrong = "elephant" in answer
        seen = "There is no elephant in the room." if wrong else "The person does this in the later part."
        verdict = "contradicted" if wrong else "supported"
        checks.append({"number": int(number), "seen": seen, "at_s": 1.0, "faults": [], "verdict": verdict})
    return {"checks": checks}


def _standing(text: str, draw: int) -> dict[str, Any]:
    landings = next(part for part in _fenced(text) if part.startswith("1.\n"))
    found = []
    for number, said in enumerate(re.split(r"^\d+\.\n", landings, flags=re.MULTILINE)[1:], start=1):
        stands = hashlib.sha256(said.encode()).digest()[0] % 2
        reason = "it means the thing from the scene before"
        found.append({"number": number, "reason": reason, "stands": "Yes" if stands else "No"})
    return {"landings": found}


def _caption(text: str, draw: int) -> dict[str, Any]:
    colour, thing, place = _picked(draw)
    return {"caption": f"A person takes a {colour} {thing} from the {place} and tidies the room."}


def _merge(text: str, draw: int) -> dict[str, Any]:
    return {"reason": "the room is the same", "same_scene": draw % 3 == 0}


_TASKS = ("object_reference", "memory_recall", "summary", "answer_refusal", "topic_shifting", "proactive_interaction")


def _suitability(text: str, draw: int) -> dict[str, Any]:
    scores = {task: 5 + (draw >> place) % 2 for place, task in enumerate(_TASKS)}
    return {"tasks": [{"task": t, "reason": "there is enough to talk about", "score": n} for t, n in scores.items()]}


_ROUNDS = (
    ("What does the {who} {verb} near the {place}?", "A {colour} {thing} with a {mark} and a {sign}."),
    ("Who comes to {verb} the {thing} by the {place}?", "The {who}, in a {colour} jacket with a {mark} and a {sign}."),
    ("Where is the {thing} that the {who} wants to {verb}?", "On the {place}, beside a {colour} {mark} and a {sign}."),
    ("Why does the {who} {verb} the {mark}?", "A {colour} {thing} with a {sign} lies on the {place} behind it."),
    (
        "With what does the {who} {verb} the {place}?",
        "With a {colour} sponge from the {mark} of a {thing} and a {sign}.",
    ),
    (
        "Which thing falls when the {who} starts to {verb}?",
        "A {colour} {thing} by the {place} loses {mark} and {sign}.",
    ),
    ("How does the {who} {verb} the {thing}?", "Over the {place}, until a {colour} {mark} shows next to its {sign}."),
    ("What lies under the {thing} that they {verb}?", "The {colour} cloth of the {who}, {mark} and {sign} and all."),
)
_VERBS = (
    "take", "lift", "wipe", "fold", "open", "shake", "push", "turn", "pull", "carry", "touch", "hide", "polish", "wrap",
)  # fmt: skip
_MARKS = ("ribbon", "handle", "label", "hook", "stripe", "lid", "button", "bell")
_SIGNS = ("scratch", "star", "stain", "zip", "pocket", "crack", "sticker", "tassel")
_WHO = ("cook", "girl", "plumber", "nurse", "painter", "boy", "gardener", "grandmother")
_ABSENT = ("umbrella", "guitar", "parrot", "ladder", "bicycle", "telescope", "drum", "kite")
_CAPITALS = (
    "France Paris, Italy Rome, Spain Madrid, Norway Oslo, Poland Warsaw, Japan Tokyo, Peru Lima, Kenya "
    "Nairobi, Egypt Cairo, Chile Santiago, Cuba Havana, Greece Athens, Iran Tehran, Iraq Baghdad, Ireland "
    "Dublin, Laos Vientiane, Sweden Stockholm, Ghana Accra, Nepal Kathmandu, Austria Vienna, Belgium Brussels, "
    "Denmark Copenhagen, Mali Bamako, Finland Helsinki, Hungary Budapest, Portugal Lisbon, Turkey Ankara, "
    "Canada Ottawa, Mongolia Ulaanbaatar, Fiji Suva, Morocco Rabat, Angola Luanda, Senegal Dakar, Thailand "
    "Bangkok, Latvia Riga, Estonia Tallinn, Serbia Belgrade"
)


def _filled(form: str, dice: random.Random) -> str:
    """A sentence with drawn words; the same ones for the same state of the dice."""
    lists = {"verb": _VERBS, "colour": _COLOURS, "thing": _THINGS, "place": _PLACES, "mark": _MARKS, "absent": _ABSENT}
    lists |= {"sign": _SIGNS, "who": _WHO}
    return form.format(**{name: dice.choice(drawn) for name, drawn in lists.items()})


def _moments(text: str) -> list[float]:
    """The seconds of the pictures that a prompt shows."""
    return [float(time) for time in re.findall(r"^<([\d.]+) seconds>$", text, re.MULTILINE)]


def _dialogue(text: str, draw: int) -> dict[str, Any]:
    dice = random.Random(draw)
    asked = []
    for pair in dice.sample(_ROUNDS, 4):
        drawn = dice.random()
        asked.append(tuple(_filled(form, random.Random(drawn)) for form in pair))
    rounds = [(q, a, "Scene Understanding", "video") for q, a in asked]
    last: list[tuple[str, str, str, str]]
    if "Object Reference:" in text:
        said = _filled("The {colour} {thing} of the {who} ends up on the {place}, by a {mark} and a {sign}.", dice)
        last = [("And where does that one end up?", said, "Object Reference", "video")]
    elif "Memory Recall:" in text:
        asks = f"You told me before: {asked[0][0][0].lower()}{asked[0][0][1:]}"
        last = [(asks, f"In round 1 we said: {asked[0][1]}", "Memory Recall", "video")]
    elif "Summary:" in text:
        last = [("Please sum up our conversation.", " ".join(a for _, a in asked), "Summary", "video")]
    elif "Answer Refusal:" in text:
        drawn = dice.random()
        said = _filled("The video shows no {absent}, only a {colour} {mark} by the {place}.", random.Random(drawn))
        asks = _filled("Where does the {who} put the {absent} with the {sign}?", random.Random(drawn))
        last = [(asks, said, "Answer Refusal", "video")]
    elif "Topic Shifting:" in text:
        off = [
            (f"What is the capital of {land}?", f"The capital of {land} is {city}.", "Topic Shifting", "topic")
            for land, city in (pair.split() for pair in dice.sample(_CAPITALS.split(", "), 2))
        ]
        back = [(q, a, "Topic Shifting", "video") for q, a in asked[2:]]
        rounds, last = rounds[:2], [off[0], back[0], off[1], back[1]]
    else:
        said = _filled("There is a {thing} still to come. What would you do with its {mark} at the {place}?", dice)
        last = [("Okay.", said, "Proactive Interaction", "chat")]
    keys, moments = ("user", "assistant", "ability", "about"), _moments(text)
    replied = []
    for place, one in enumerate((*rounds, *last)):
        shown = one[3] == "video" and one[2] not in ("Answer Refusal", "Summary") and moments
        start_s = moments[place % len(moments)] if shown else None
        span = {"start_s": start_s, "end_s": start_s}
        _WRITTEN.setdefault(one[0], {})[one[1]] = start_s
        replied.append(dict(zip(keys, one, strict=True)) | span)
    return {"rounds": replied}


def _dialogue_check(text: str, draw: int) -> dict[str, Any]:
    turns = next(chain for chain in read_fenced_chains(text) if chain)
    return {"checks": _checks(turns), "task_reasons": ["the rounds do what their kind asks for"], "does_task": "Yes"}


def _checklist(text: str, draw: int) -> dict[str, Any]:
    # The third part between lines of equals signs is the answer that is right.
    parts = _fenced(text)
    facts = [fact.strip() for fact in re.split(r"[.?。？]", parts[2]) if fact.strip()]
    asked = ("say", "make it clear", "tell, in these words or others,", "leave no doubt")
    items = [
        {"question": f"Does the answer {how} that {facts[n % len(facts)]}?", "expected": "Yes"}
        for n, how in enumerate(asked)
    ]
    return {"items": [*items, {"question": "Does the answer speak of an elephant?", "expected": "No"}]}


def _wrong_answers(text: str, draw: int) -> dict[str, Any]:
    numbers = re.search(r"(?:these rounds|这些轮次)\D*([\d, ]+)", text)
    assert numbers is not None
    other = (
        "It is a purple umbrella in the garden.",
        "The neighbour brings an elephant first.",
        "Hard to say, really.",
    )
    return {"rounds": [{"number": int(n), "answers": list(other)} for n in re.findall(r"\d+", numbers[1])]}


def _trial(text: str, draw: int) -> dict[str, Any]:
    answers, items = _fenced(text)[:2]
    asked = re.findall(r"^\d+\. (.+)$", items, re.MULTILINE)
    found = []
    for letter, answer in re.findall(r"^([A-D])\. (.+)$", answers, re.MULTILINE):
        met = ["Yes" if _is_met(item, answer) else "No" for item in asked]
        found.append({"letter": letter, "says": answer, "items": met})
    return {"answers": found}


_ASKING = set(
    "does the answer say make it clear that tell in these words or others leave no doubt speak of an a".split()
)


def _is_met(item: str, answer: str) -> bool:
    """Whether an answer holds nearly all that an item asks for."""
    due = set(re.findall(r"\w+", item.lower())) - _ASKING
    return len(due & set(re.findall(r"\w+", answer.lower()))) > 0.75 * len(due)


def _tags(text: str, draw: int) -> dict[str, Any]:
    count = len(next(chain for chain in read_fenced_chains(text) if chain))
    one = {"target": ["Object"], "content": ["Identity"], "thinking": "Recall", "types": ["D-OBJ"]}
    return {"tags": [one] * count}


def _equivalence(text: str, draw: int) -> dict[str, Any]:
    """No two answers are the same."""
    pairs = [json.loads(line) for line in _fenced(text)[0].splitlines()]
    return {"pairs": [{"number": pair["number"], "reason": "they differ", "same": False} for pair in pairs]}


REPLIES: Final[Mapping[str, Callable[[str, int], dict[str, Any]]]] = {
    "ChainReply": _chain,
    "QualityReply": _quality,
    "TurnCheck": _turn_check,
    "LinkageReply": _linkages,
    "RewriteReply": _drafts,
    "RewriteCheckReply": _draft_checks,
    "StandingReply": _standing,
    "CaptionReply": _caption,
    "MergeReply": _merge,
    "SuitabilityReply": _suitability,
    "DialogueReply": _dialogue,
    "EquivalenceReply": _equivalence,
    "DialogueCheckReply": _dialogue_check,
    "ChecklistReply": _checklist,
    "WrongAnswersReply": _wrong_answers,
    "TrialReply": _trial,
    "TagsReply": _tags,
}
"""Writes the reply to a prompt, by the title of its schema."""
