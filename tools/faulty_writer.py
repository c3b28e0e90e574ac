"""A writer that plants faults, and a judge that knows them, behind the chat-completions protocol.

The model `writer` writes good drafts about invented clips (`invented_clips.py`), and about chosen clips drafts with one
fault of a class in `faults.toml`, however often they go back. The model `judge` checks as a careful person would: it
finds every fault that it reads in a draft. Both see what is in their request, and nothing else of the construction.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

from invented_clips import STORIES, Story
from pydantic import TypeAdapter
from scripted_server import Body, words
from scripted_vision import decide_equivalence

Turn = tuple[str, str]
"""A question and its answer."""
Kind = Literal["chain", "caption", "dialogue", "rewrite", "checklist"]


@dataclass(frozen=True)
class Fault:
    """A class of faults of one kind of draft, and what a judge says of it."""

    kind: Kind
    name: str
    turn: int = 0
    question: str = "{question}"
    answer: str = "{answer}"
    items: tuple[str, ...] = ()
    task: str = ""
    verdict: str = "supported"
    said: str = ""
    """What a judge lists as a fault; empty if its verdict says all."""
    fails: bool = False
    """The dialogue does not do what its task asks for."""

    def plant(self, story: Story, turn: Turn, **more: str) -> Turn:
        """The turn with the fault in place of a good one."""
        question, answer = turn
        words_of = {
            "question": question,
            "answer": answer,
            "decapitalised": answer[:1].lower() + answer[1:],
            "He": story.he.capitalize(),
            **more,
        }
        names = ("person", "thing", "other", "colour", "other_colour", "from_place", "to_place", "tool", "why", "he")
        words_of |= {name: getattr(story, name) for name in names}
        return self.question.format(**words_of), self.answer.format(**words_of)


@cache
def fault_classes() -> tuple[Fault, ...]:
    """All classes of faults."""
    raw = tomllib.loads(Path(__file__).with_name("faults.toml").read_text(encoding="utf-8"))
    read = TypeAdapter(tuple[Fault, ...])
    return read.validate_python(
        [{"kind": kind, "name": name} | one for kind, classes in raw.items() for name, one in classes.items()]
    )


@dataclass
class Cast:
    """The two models, and what was planted.

    Args:
        faults: The class of fault by the number of the story that it is planted in.
    """

    faults: Mapping[int, Fault] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by model and type of reply."""
    planted: dict[Turn, Fault] = field(default_factory=dict)
    """Classes of faults by the question and the answer of the turn or draft that has one; a caption stands alone, and
    of a checklist the first two items."""
    written: dict[tuple[Story, Turn], float] = field(default_factory=dict)
    """The moment of every turn of a chain or dialogue that was written, by the story of its clip."""
    _captions: dict[str, Story] = field(default_factory=dict)

    def reply(self, body: Body) -> str:
        """The text of whichever model is asked."""
        text = "\n".join(words(message) for message in body["messages"])
        name = body.get("response_format", {}).get("json_schema", {}).get("name", "")
        if not name:
            return "ready"
        self.asked[f"{body['model']} {name}"] += 1
        return json.dumps(getattr(self, f"_{name}")(text), ensure_ascii=False)

    def _fault(self, story: Story, kind: Kind) -> Fault | None:
        fault = self.faults.get(story.number)
        return fault if fault is not None and fault.kind == kind else None

    def _checks(self, turns: Sequence[Turn], kind: Kind, text: str = "") -> list[dict[str, Any]]:
        """What a judge finds who has seen the clips of a request; without its text nothing but planted faults."""
        known = [self.planted.get(turn) for turn in turns]
        found = [fault if fault and fault.kind == kind else None for fault in known]
        checks = [_check(n, *((fault.verdict, fault.said) if fault else ())) for n, fault in enumerate(found, 1)]
        for check, turn in zip(checks, turns, strict=True) if text else ():
            moments = [at_s for story in _stories(text) if (at_s := self.written.get((story, turn))) is not None]
            check |= {"at_s": moments[0]} if moments else {"at_s": None, "verdict": "contradicted"}
        return checks

    def _ChainReply(self, text: str) -> Any:
        story, (start_s, end_s) = _stories(text)[0], _times(text)
        turns = story.turns()
        if fault := self._fault(story, "chain"):
            turns[fault.turn] = fault.plant(story, turns[fault.turn])
            self.planted[turns[fault.turn]] = fault
        step_s = (end_s - start_s) / len(turns)
        self.written |= {(story, turn): start_s + (n + 0.5) * step_s for n, turn in enumerate(turns)}
        return {
            "turns": [
                {"question": q, "answer": a, "start_s": start_s + n * step_s, "end_s": start_s + (n + 1) * step_s}
                for n, (q, a) in enumerate(turns)
            ]
        }

    def _CaptionReply(self, text: str) -> Any:
        story = _stories(text)[0]
        if (fault := self._fault(story, "caption")) is None:
            return {"caption": story.caption}
        _, caption = fault.plant(story, ("", story.caption))
        self.planted["", caption] = fault
        self._captions[caption] = story
        return {"caption": caption}

    def _TurnCheck(self, text: str) -> Any:
        return self._checks([("", _fenced(text)[-1])], "caption")[0]

    def _QualityReply(self, text: str) -> Any:
        checks = self._checks(_drafted(text), "chain", text)
        bad = any(check["faults"] or check["verdict"] != "supported" for check in checks)
        seven = (
            "accuracy", "completeness", "relevance", "fluency", "contextual_comprehension", "logical_consistency",
            "temporal_understanding", "overall",
        )  # fmt: skip
        return {"turns": checks, "reasons": [], **dict.fromkeys(seven, 40 if bad else 96)}

    def _SuitabilityReply(self, text: str) -> Any:
        captioned = [story for caption, story in self._captions.items() if caption in text]
        story = (_stories(text) or captioned or _captioned(text))[0]
        wanted = TASKS[story.number % len(TASKS)]
        return {"tasks": [{"task": task, "reason": "as it is", "score": 6 if task == wanted else 2} for task in TASKS]}

    def _MergeReply(self, text: str) -> Any:
        return {"reason": "another person does something else", "same_scene": False}

    def _DialogueReply(self, text: str) -> Any:
        story, (start_s, end_s) = _stories(text)[0], _times(text)
        task = next(name for name, title in _TITLES.items() if f"{title}:" in text)
        rounds = _rounds(story, task)
        if (fault := self._fault(story, "dialogue")) and fault.task == task:
            good = rounds[fault.turn]
            question, answer = fault.plant(story, (good["user"], good["assistant"]))
            rounds[fault.turn] = good | {"user": question, "assistant": answer}
            self.planted[question, answer] = fault
        stretches = _stretches(text) or [(start_s, end_s)]
        for n, round_ in enumerate(rounds):
            seen = round_["about"] == "video" and round_["ability"] not in ("Answer Refusal", "Summary")
            first_s, last_s = stretches[n * len(stretches) // len(rounds)]
            round_ |= {"start_s": first_s if seen else None, "end_s": last_s if seen else None}
            self.written[story, (round_["user"], round_["assistant"])] = (first_s + last_s) / 2
        return {"rounds": rounds}

    def _DialogueCheckReply(self, text: str) -> Any:
        turns = _drafted(text)
        fails = any(turn in self.planted and self.planted[turn].fails for turn in turns)
        return {
            "checks": self._checks(turns, "dialogue", text),
            "task_reasons": ["what it has to do is missing" if fails else "it does what it has to"],
            "does_task": "No" if fails else "Yes",
        }

    def _ChecklistReply(self, text: str) -> Any:
        history, question, answer = _fenced(text)[:3]
        told = [story for story in STORIES.values() if story.turns()[0][0] in history + question]
        facts = [part.strip() for part in re.split(r"[.?]", answer) if part.strip()]
        asked = [f"Does the answer {how} {facts[n % len(facts)]}?" for n, how in enumerate(_FACTS)]
        if told and (fault := self._fault(told[0], "checklist")):
            asked = [item.format(core=answer.rstrip(".").lower()) for item in fault.items]
            self.planted[asked[0], asked[1]] = fault
        items = [{"question": one, "expected": "Yes"} for one in asked]
        return {"items": [*items, {"question": "Does the answer speak of a submarine?", "expected": "No"}]}

    def _WrongAnswersReply(self, text: str) -> Any:
        numbers = re.findall(r"\d+", re.findall(r"for these rounds: ([\d, ]+)", text)[-1])
        wrong = [
            "A brass trombone and a sleeping cat.",
            "The other way round: nobody but the cat.",
            "It is hard to say.",
        ]
        return {"rounds": [{"number": int(number), "answers": wrong} for number in numbers]}

    def _TrialReply(self, text: str) -> Any:
        answers, items = _fenced(text)[:2]
        asked = re.findall(r"^\d+\. (.+)$", items, re.MULTILINE)
        return {
            "answers": [
                {"letter": letter, "says": answer[:60], "items": [_is_met(item, answer) for item in asked]}
                for letter, answer in re.findall(r"^([A-D])\. (.+)$", answers, re.MULTILINE)
            ]
        }

    def _LinkageReply(self, text: str) -> Any:
        before, after = (turns for part in _fenced(text) if (turns := _drafted(part)))
        for x, one in enumerate(before, 1):
            for y, other in enumerate(after, 1):
                if shared := (_content(one) & _content(other)):
                    word = max(sorted(shared), key=len)
                    return {
                        "pairs": [{"before": x, "after": y, "shared": word, "reason": "both", "relation": "Actions"}]
                    }
        return {"pairs": []}

    def _RewriteReply(self, text: str) -> Any:
        chains = [turns for part in _fenced(text) if (turns := _drafted(part))]
        before, after = _story_of(chains[0]), _story_of(chains[1])
        target = int(re.findall(r"→ \[(\d+)\] Actions", text)[-1]) - 1
        drafted = (
            f"What does the {after.person} lift, after the {before.person} has lifted the {before.thing}?",
            f"The {after.person} lifts a {after.colour} {after.thing} after that.",
        )
        if fault := self._fault(before, "rewrite"):
            earlier = {"earlier_person": before.person, "earlier_thing": before.thing}
            drafted = fault.plant(after, chains[1][target], **earlier)
            self.planted[drafted] = fault
        method = re.findall(r"^- (Actions/\w+)", text, re.MULTILINE)[0]
        return {"drafts": [{"linkage": 1, "method": method, "question": drafted[0], "answer": drafted[1]}]}

    def _RewriteCheckReply(self, text: str) -> Any:
        drafts = re.split(r"^\d+\. ", _fenced(text)[-1], flags=re.MULTILINE)[1:]
        known = [turn for turn, fault in self.planted.items() if fault.kind == "rewrite"]
        turns = [
            next((turn for turn in known if turn[0] in draft and turn[1] in draft), ("", draft)) for draft in drafts
        ]
        return {"checks": self._checks(turns, "rewrite")}

    def _EquivalenceReply(self, text: str) -> Any:
        return decide_equivalence(text)

    def _StandingReply(self, text: str) -> Any:
        landings = next(part for part in _fenced(text) if part.startswith("1.\n"))
        count = len(re.findall(r"^\d+\.$", landings, re.MULTILINE))
        one = {"reason": "nothing is taken as known", "stands": "Yes"}
        return {"landings": [{"number": number} | one for number in range(1, count + 1)]}

    def _TagsReply(self, text: str) -> Any:
        one = {"target": ["Object"], "content": ["Identity"], "thinking": "Recall", "types": ["D-OBJ"]}
        return {"tags": [one] * len(_drafted(text))}


_TITLES: Final = {
    "object_reference": "Object Reference",
    "memory_recall": "Memory Recall",
    "summary": "Summary",
    "answer_refusal": "Answer Refusal",
    "topic_shifting": "Topic Shifting",
    "proactive_interaction": "Proactive Interaction",
}
TASKS: Final = tuple(_TITLES)
"""A clip suits the task at the place of its number, from the first on again and again."""
_ABSENT: Final = ("violin case", "fishing net", "birdcage", "rocking horse", "chandelier", "wheelbarrow")
_FACTS: Final = ("say that", "make clear that", "leave no doubt that", "state, in whatever words, that")


def _rounds(story: Story, task: str) -> list[dict[str, Any]]:
    """A good dialogue for a task."""
    title, he, told = _TITLES[task], story.he, story.turns()
    opening = [(q, a, "Scene Understanding", "video") for q, a in told[:4]]
    object_, absent = f"{story.other_colour} {story.other}", _ABSENT[story.number % len(_ABSENT)]
    last = {
        "object_reference": (
            f"And what happens to the {story.thing} that {he} had put there?",
            f"{he.capitalize()} wipes it, because {story.why}.",
            "video",
        ),
        "memory_recall": (
            "Remind me, what did you say was lying there at first?",
            f"In round 3 we said that a {object_} was lying there.",
            "video",
        ),
        "summary": (
            "Please sum up what we have talked about.",
            f"We talked about the {story.colour} {story.thing} that the {story.person} takes from the "
            f"{story.from_place} to the {story.to_place}, the {object_} there, and how it is pushed aside with the "
            f"{story.tool}.",
            "video",
        ),
        "answer_refusal": (
            f"Where does the {story.person} put the {absent}?",
            f"The video shows no {absent}, so that cannot be answered.",
            "video",
        ),
        "proactive_interaction": (
            "Okay.",
            f"Look at the {story.tool} that moves the {story.other}: what would you have used for that?",
            "chat",
        ),
    }
    if task in last:
        question, answer, about = last[task]
        rounds = [*opening, (question, answer, title, about)]
    else:
        capital = f"What is the capital of Australia, where the {story.person}'s cousin lives?"
        spelling = (f"And how does one spell {story.other}?", f"One spells it {'-'.join(story.other)}.")
        rounds = [
            opening[0],
            (capital, "The capital of Australia is Canberra.", title, "topic"),
            (*told[1], title, "video"),
            (*spelling, title, "topic"),
            (*told[2], title, "video"),
            (*told[3], title, "video"),
        ]
    return [dict(zip(("user", "assistant", "ability", "about"), one, strict=True)) for one in rounds]


def _check(number: int, verdict: str = "supported", fault: str = "") -> dict[str, Any]:
    seen = "What is asked about can be seen, and it is looked at closely."
    return {"number": number, "seen": seen, "at_s": 1.0, "faults": [fault] if fault else [], "verdict": verdict}


def _is_met(item: str, answer: str) -> str:
    """What a careful reader says: any answer meets an item about form, and one about a fact an answer that has it."""
    asked = re.search(r"(?:that|speak of|name) (.+)\?$", item)
    if asked is None or re.search(r"something or|a thing, a place|noun|any detail", item):
        return "Yes"
    due = set(re.findall(r"\w+", asked[1].lower())) - {"a", "the"}
    return "Yes" if due <= set(re.findall(r"\w+", answer.lower())) else "No"


def _fenced(text: str) -> list[str]:
    return re.findall(r"^=====\n(.*?)\n?=====$", text, re.DOTALL | re.MULTILINE)


def _drafted(text: str) -> list[Turn]:
    return re.findall(r"^\d+\. Q: (.+)\n   A: (.*)$", text, re.MULTILINE)


def _content(turn: Turn) -> set[str]:
    stop = "does what with where which there from that because lying before already they".split()
    return {word for word in re.findall(r"\w+", " ".join(turn).lower()) if len(word) > 3} - set(stop)


def _stories(text: str) -> list[Story]:
    """The stories of the clips that a request shows, in order."""
    found = re.findall(r"\d+\.\d s: (\w+) beside the (\w+)", text)
    return list(dict.fromkeys(STORIES[person, thing] for person, thing in found))


def _captioned(text: str) -> list[Story]:
    """The stories whose captions a request holds."""
    return [story for story in STORIES.values() if story.caption in text]


def _story_of(chain: Sequence[Turn]) -> Story:
    return next(story for story in STORIES.values() if story.turns()[0] == chain[0])


def _times(text: str) -> tuple[float, float]:
    """The first and the last second at which a request shows something."""
    moments = [float(found) for found in re.findall(r"(\d+\.\d) s: \w+ beside", text)]
    return min(moments), max(moments)


def _stretches(text: str) -> list[tuple[float, float]]:
    """The times between moments that are shown one after the other, without those between two parts of a film."""
    moments = sorted({float(found) for found in re.findall(r"(\d+\.\d) s: \w+ beside", text)})
    steps = sorted(end_s - start_s for start_s, end_s in pairwise(moments))
    return [pair for pair in pairwise(moments) if pair[1] - pair[0] <= 1.5 * steps[len(steps) // 2]]
