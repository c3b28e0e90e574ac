"""The cost of an evaluation without the model's own work, against a bare asyncio client that sends the same calls.

Each load is played in its own process, to a server in another one. CPU is user and system time of the client's process,
its threads included; both sides send the same bytes, which is checked, and take turns.

CPU of a call: reeltalk with its frames, its store of replies and its log, against the bare client.

Full slots: a server with N slots that takes 1 s for a call can do N calls a second. The figure is calls a second
divided by N, from the moment when all slots are taken to the beginning of the last dialogue, and over the whole run. At
the end of a run, dialogues of several lengths leave slots empty for any client, so the best possible value for these
dialogues in this order is given too.

Prefixes: a server that keeps blocks of tokens, with room for fewer dialogues than there are, counts the tokens that it
must read. "Saved of sent" is 1 - tokens read / tokens of all prompts. If frames come as the video plays, early prompts
are short, and a server that reads each token once saves no more than 1 - last prompts / all prompts, which is "at
best". "Saved of T * V" is 1 - tokens read / (T * tokens of the last prompt): the cost of showing the whole video at
each turn. A server that reads each token once saves 1 - 1 / T of that.

Judging: the prompts of `vdeval` for all answers of VDAct's six published files, in the order in which `judge` asks 100
at a time, against one model after the other. Without these files, answers of six models to generated dialogues are
judged.
"""

import asyncio
import dataclasses
import heapq
import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from chat_server import ChatServer, PrefixCache, chat_server, prompt_tokens, text_tokens
from load import (
    SECONDS_A_TURN,
    Load,
    Spent,
    body,
    conversations,
    decode,
    in_a_process,
    scripts_of,
    write_videos,
)
from record import ROOT, Measure, at_least, at_most, options_of, record
from reeltalk.evaluation.models import create_judges
from reeltalk.evaluation.stage import EvaluationRunner, JudgingSetup
from reeltalk.judge.judge import Background
from reeltalk.judge.settings import JudgeSettings
from reeltalk.llm.model import Message, Reply
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.media import Video
from reeltalk.schema.record import VideoId
from reeltalk.stages.judging import AnswersToJudge
from reeltalk.store.content import Content

LATENCY_S = 0.05
ROOM = 1.2
"""Times the prompts of the dialogues at a time, what the server keeps."""
ROOMS_TO_JUDGE = (30_000, 100_000)
"""Tokens that the server keeps while answers are judged."""
AT_A_TIME = 100
ORDERS = ("unit by unit", "model by model")
JUDGED = "It names the same thing. So rating=3"
SHARED = Path(os.environ.get("REELTALK_SHARED", ROOT.parent / "shared"))
MOST_MS = 1.0
"""CPU of a call beyond a bare client's."""
LEAST_FULL = 0.97
"""Slots that are full, over those of a bare client."""
BUSY = 0.05
GROWING = ("fixed rate", "per clip")
CONSTANT = ("first turn", "uniform, whole video")
NOTES = (
    "baseline: a bare client on the openai package that sends the same bytes with as many dialogues at a time",
    "at best: what these dialogues could reach if asking cost nothing",
    "T * V: the last prompt of a dialogue at each of its T turns; reading each token once saves 1 - 1 / T of that",
)


def cpu_of_a_call(load: Load, folder: Path, server: ChatServer, rounds: int) -> dict[str, float]:
    spent: dict[str, list[Spent]] = {"bare": [], "reeltalk": []}
    for number in range(rounds):
        sent = set()
        for client in ("bare", "reeltalk") if number % 2 else ("reeltalk", "bare"):
            took, counted = in_a_process(client, load, folder, server, latency_s=LATENCY_S)
            spent[client].append(took)
            sent.add((len(counted["calls"]), counted["bytes"], counted["digest"]))
        if len(sent) != 1:
            raise RuntimeError(f"the two clients did not send the same: {sent}")
    ms = {name: statistics.median(took.cpu_s for took in times) / load.calls * 1e3 for name, times in spent.items()}
    beyond = [ours.cpu_s - bare.cpu_s for ours, bare in zip(spent["reeltalk"], spent["bare"], strict=True)]
    return {
        "bare client, CPU ms a call": ms["bare"],
        "reeltalk, CPU ms a call": ms["reeltalk"],
        "reeltalk over bare": ms["reeltalk"] / ms["bare"],
        "beyond bare, CPU ms a call": statistics.median(beyond) / load.calls * 1e3,
        "peak RSS, MB": max(took.peak_rss_mb for took in spent["reeltalk"]),
        "a request, KB": next(iter(sent))[1] / load.calls / 1e3,
    }


def full_slots(load: Load, folder: Path, server: ChatServer) -> dict[str, float]:
    slots, figures = load.connections, dict[str, float]()
    # Seconds that these dialogues take at best, each begun where one ends.
    ends = [0] * slots
    for length in load.lengths():
        heapq.heapreplace(ends, ends[0] + length)
    for client in ("bare", "reeltalk"):
        spent, counted = in_a_process(client, load, folder, server, latency_s=1.0, slots=slots)
        calls: list[tuple[float, float]] = counted["calls"]
        from_s, until_s = sorted(began_s for began_s, _ in calls)[slots - 1], spent.last_began_s
        # A server that is late keeps its slots no fuller: each call counts as one second, spread over what it took.
        done = sum(max(0.0, min(end_s, until_s) - max(began_s, from_s)) / (end_s - began_s) for began_s, end_s in calls)
        figures |= {
            f"{client}, slots full while dialogues wait": done / (until_s - from_s) / slots,
            f"{client}, seconds of that": until_s - from_s,
            f"{client}, slots full over all": len(calls) / spent.wall_s / slots,
            f"{client}, over all, of the best": max(ends) / spent.wall_s,
            f"{client}, cores used": spent.cpu_s / spent.wall_s,
            f"{client}, of the time waited for a core": spent.waited_s / spent.wall_s,
        }
    waits = "slots full while dialogues wait"
    figures[f"{waits}, reeltalk over bare"] = figures[f"reeltalk, {waits}"] / figures[f"bare, {waits}"]
    return figures | {"reeltalk, peak RSS, MB": spent.peak_rss_mb}


def prefixes(load: Load, folder: Path, server: ChatServer, client: str = "reeltalk") -> dict[str, float]:
    asked = asyncio.run(conversations(load, folder))
    prompts = [[prompt_tokens(body(messages)["messages"]) for messages in turns] for turns in asked]
    last = [len(turns[-1][0]) for turns in prompts]
    room = int(ROOM * load.connections * max(last))
    _, counted = in_a_process(client, load, folder, server, latency_s=LATENCY_S, cache_tokens=room)
    sent, read = counted["tokens"], counted["read_tokens"]
    if sent != sum(len(tokens) for turns in prompts for tokens, _ in turns):
        raise RuntimeError(f"the server got {sent} tokens, which is not what these dialogues have")
    of_one = {
        "pictures sent": counted["pictures"] / load.dialogues,
        "pictures read": counted["read_pictures"] / load.dialogues,
        "pictures, T * V": load.turns * sum(len(turns[-1][1]) for turns in prompts) / load.dialogues,
        "tokens sent": sent / load.dialogues,
        "tokens read": read / load.dialogues,
        "tokens, T * V": load.turns * sum(last) / load.dialogues,
    }
    at_best = (
        {} if load.policy == "uniform" and load.asked_as_it_plays else {"saved of sent, at best": 1 - sum(last) / sent}
    )
    return (
        of_one | {"saved of sent": 1 - read / sent} | at_best | {"saved of T * V": 1 - read / (load.turns * sum(last))}
    )


class NotingJudge:
    """Gives every answer the same rating, and notes what it is asked."""

    name, sees_images = "bench", False
    sampling: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self.asked: list[Sequence[Message]] = []

    async def ask(self, messages: Sequence[Message], *, schema: object = None, sample: int = 0) -> Reply:
        self.asked.append(messages)
        # Other requests are sent before the reply.
        await asyncio.sleep(0)
        return Reply(JUDGED, self.name, None, None, cut_off=False)


def answers_to_judge(load: Load, limit: int | None) -> tuple[Mapping[str, Sequence[AnsweredTurn]], dict[str, str]]:
    """Turns by unit and model, one model after the other, and summaries by video."""
    vdact = SHARED / "data" / "vdact"
    if files := sorted((vdact / "results").glob("*.json")):
        with ZipFile(vdact / "scenario_refine_summaries.zip") as told:
            summaries = {Path(name).stem: told.read(name).decode() for name in told.namelist()}
        return AnswersToJudge(files, "vdact", None).units(limit), summaries
    units = {
        f"{model} {script.id}": [
            AnsweredTurn(
                model=f"model{model}", item_id=f"{script.id}/{step.turn_index}", video_id=script.video_id,
                unit="dialogue", unit_id=script.id, turn_index=step.turn_index, question=step.turn.question,
                references=step.turn.references, text=f"{step.turn.references[0][: 20 + 10 * model]}.",
            )
            for step in script.steps
        ]
        for model in range(6)
        for script in scripts_of(load)[:limit]
    }  # fmt: skip
    return units, {turns[0].video_id: JUDGED for turns in units.values()}


def judging(load: Load, limit: int | None, folder: Path) -> dict[str, float]:
    units, summaries = answers_to_judge(load, limit)
    videos = [Video(id=VideoId(name), summaries={"refine": told}) for name, told in summaries.items()]
    by_model: dict[str, dict[str, Sequence[AnsweredTurn]]] = {}
    for name, turns in units.items():
        by_model.setdefault(turns[0].model, {})[name] = turns
    about = Background(Content(videos=videos))
    settings = JudgeSettings(protocols=("vdeval",), null_units=0)
    prompts: dict[str, list[list[int]]] = {}
    parts: tuple[list[Mapping[str, Sequence[AnsweredTurn]]], ...] = ([units], [*by_model.values()])
    for order, given in zip(ORDERS, parts, strict=True):
        judge = NotingJudge()
        for part in given:
            setup = JudgingSetup(settings, create_judges(settings), judge)
            EvaluationRunner(folder / "judged", setup, about, at_a_time=AT_A_TIME).judge(part)
        prompts[order] = [prompt_tokens(body(messages)["messages"])[0] for messages in judge.asked]
    ours, before = (prompts[order] for order in ORDERS)
    if sorted(ours) != sorted(before):
        raise RuntimeError("the two orders do not ask the same")
    found: dict[str, float] = {"prompts": len(ours)}
    for order, asked in prompts.items():
        sent = sum(map(len, asked))
        for room in ROOMS_TO_JUDGE:
            cache = PrefixCache(room)
            known = sum(cache.read(tokens, text_tokens(JUDGED)) for tokens in asked)
            found[f"saved {order}, room for {room:,} tokens"] = known / sent
    return found


def busy(figures: dict[str, float]) -> list[str]:
    """Where a client waited for the machine, one line each."""
    waited = [figure for figure in figures if figure.endswith("waited for a core") and figures[figure] > BUSY]
    return [f"the machine had no core for it: {figure} {figures[figure]:.0%}" for figure in waited]


def main() -> None:
    quick: bool = options_of(__doc__).parse_args().quick
    rounds = 1 if quick else 3
    figures: dict[str, float] = {}

    def add(name: str, found: dict[str, float]) -> None:
        figures.update({f"{name}: {figure}": value for figure, value in found.items()})
        print(*(f"{name}: {figure} {value:.4g}" for figure, value in found.items()), sep="\n", flush=True)

    with tempfile.TemporaryDirectory() as place, chat_server() as server:
        large, small = Path(place, "large"), Path(place, "small")
        pictures = Load(dialogues=20, turns=15)
        texts = dataclasses.replace(pictures, policy="none")
        hundred = Load(dialogues=300, turns=3 if quick else 10, spread=1 if quick else 2, connections=100)
        full = [dataclasses.replace(hundred, policy="none")]
        full += [] if quick else [hundred, dataclasses.replace(hundred, dialogues=60, connections=20)]
        largest = pictures if quick else hundred
        write_videos(large, largest.videos, width=640, height=360, seconds=16)
        asyncio.run(decode(largest, large))
        for name, load in (("16 pictures", pictures), ("text", texts)):
            add(name, cpu_of_a_call(load, large, server, rounds))
        for load in full:
            name = "text" if load.policy == "none" else "16 pictures"
            add(f"{load.connections} slots, {name}", full_slots(load, large, server))

        asking = dataclasses.replace(texts, dialogues=60 if quick else 200, turns=10, connections=100)
        add("judging", judging(asking, 120 if quick else None, Path(place)))

        turns = 8 if quick else 12
        streamed = Load(dialogues=30, turns=turns, side_px=160, dialogues_a_video=1, fps=0.5, frames=3 * turns)
        streamed = dataclasses.replace(streamed, asked_as_it_plays=True, policy="fps")
        constant = dataclasses.replace(streamed, asked_as_it_plays=False, policy="first-turn", frames=16)
        write_videos(small, streamed.videos, width=160, height=80, seconds=int(turns * SECONDS_A_TURN))
        played = {
            "fixed rate": streamed,
            "per clip": dataclasses.replace(streamed, policy="per-clip", frames=3),
            "first turn": constant,
            "uniform, whole video": dataclasses.replace(constant, policy="uniform"),
            "uniform up to the question": dataclasses.replace(streamed, policy="uniform", frames=16),
        }
        if quick:
            played = {name: played[name] for name in ("fixed rate", "first turn")}
        for name, load in played.items():
            asyncio.run(decode(load, small))
            add(name, prefixes(load, small, server))
        add("first turn, all dialogues turn by turn", prefixes(constant, small, server, "by turn"))
    notes = [*NOTES, *busy(figures)]
    packages = ["inspect-ai", "openai", "pydantic", "httpx2"]
    measures = stated(figures, 0.95 * (1 - 1 / turns))
    record("evaluate", measures, figures=figures, packages=packages, notes=notes, quick=quick)


def stated(figures: dict[str, float], saved: float) -> list[Measure]:
    """What this suite vouches for."""
    found = []
    for name, told in (("16 pictures", "a call with 16 pictures"), ("text", "a call of text")):
        cpu, ratio = figures[f"{name}: reeltalk, CPU ms a call"], figures[f"{name}: reeltalk over bare"]
        found.append(Measure(told, cpu, "CPU ms", "times as much as a bare client", ratio))
        beyond = figures[f"{name}: beyond bare, CPU ms a call"]
        found.append(Measure(f"{told}, beyond a bare client", beyond, "CPU ms", goal=at_most(MOST_MS)))
    full = "slots full while dialogues wait"
    for name in (figure.partition(":")[0] for figure in figures if figure.endswith(f": reeltalk, {full}")):
        found.append(Measure(f"{name}: {full}", figures[f"{name}: reeltalk, {full}"], "share"))
        ratio = figures[f"{name}: {full}, reeltalk over bare"]
        found.append(Measure(f"{name}: slots full, over a bare client's", ratio, "ratio", goal=at_least(LEAST_FULL)))
    for room in ROOMS_TO_JUDGE:
        ours, before = (figures[f"judging: saved {order}, room for {room:,} tokens"] for order in ORDERS)
        told = f"judging six models, room for {room:,} tokens: tokens saved"
        fewer = "reading one model after the other, over reading unit by unit"
        found.append(Measure(told, ours, "share", fewer, (1 - before) / (1 - ours)))
    for name in (*GROWING, *CONSTANT):
        if (figure := f"{name}: saved of T * V") in figures:
            least = f"reading the whole video at each turn, over what {name} reads"
            share = figures[figure]
            found.append(Measure(f"{name}: tokens saved", share, "share", least, 1 / (1 - share), at_least(saved)))
    return found


if __name__ == "__main__":
    main()
