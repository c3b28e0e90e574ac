"""A team of simulated annotators, in a process of its own: signs in, works for a while, and tells how long all took.

    python bench/review_team.py ADDRESS --people 30 --seconds 300

What is read on standard input are their names, one a line; the answer is one JSON document on standard output. Times
are from the first byte sent to the last byte read, on this side, so what this process itself waits for the processor
counts too; how much that is, is told as `lag`.
"""

import argparse
import asyncio
import json
import os
import random
import re
import resource
import sys
import time
from collections import Counter, defaultdict
from typing import Any

import httpx

PASSWORD = "correct horse battery"
SEEK_BYTES = 512 * 1024
THINK_S = 2.0
LAG_EVERY_S = 0.05
BOARD_EVERY_S = 5.0


class Team:
    """What all annotators share: the clock, and what was measured."""

    def __init__(self, address: str, seconds: float) -> None:
        self.address, self.seconds = address, seconds
        self.took_s: dict[str, list[float]] = defaultdict(list)
        self.errors: Counter[str] = Counter()
        self.end = float("inf")
        self.measuring = False

    async def ask(
        self, client: httpx.AsyncClient, what: str, method: str, path: str, **more: Any
    ) -> httpx.Response | None:
        """One request; None where it failed, which is counted."""
        begun = time.perf_counter()
        try:
            answer = await client.request(method, path, **more)
        except httpx.HTTPError as error:
            self.errors[f"{what}: {type(error).__name__}"] += 1
            return None
        if self.measuring:
            self.took_s[what].append(time.perf_counter() - begun)
        if answer.status_code not in (200, 201, 206, 303):
            self.errors[f"{what}: {answer.status_code} {answer.text[:120]}"] += 1
            return None
        return answer

    async def lag(self) -> None:
        """How much later than asked for this process goes on: its own waiting for the processor."""
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(LAG_EVERY_S)
            if self.measuring:
                self.took_s["lag"].append(time.perf_counter() - begun - LAG_EVERY_S)


class Annotator:
    """One person with a browser."""

    def __init__(self, team: Team, name: str) -> None:
        self.team, self.name = team, name
        self.rng = random.Random(name)
        self.client = httpx.AsyncClient(base_url=team.address, timeout=60)
        self.csrf, self.keys = "", 0

    async def sign_in(self) -> None:
        """Sign in; the token for changes is on the first page."""
        form = {"name": self.name, "password": PASSWORD, "next": "/"}
        await self.team.ask(self.client, "sign in", "POST", "/sign-in", data=form)
        home = await self.team.ask(self.client, "home", "GET", "/")
        found = re.search(r'name="csrf" content="([^"]+)', home.text) if home is not None else None
        if found is None:
            raise SystemExit(f"{self.name} cannot sign in: {dict(self.team.errors)}")
        self.csrf = found[1]

    async def work(self) -> None:
        """Review units until the time is over."""
        address: str | None = None
        while time.monotonic() < self.team.end:
            if address is None:
                answer = await self.team.ask(
                    self.client, "next", "POST", "/queues/turns/next", data={"csrf": self.csrf}
                )
                address = answer.headers.get("location", "") if answer is not None else ""
            if not address.startswith("/work/"):
                self.team.errors["no unit was left"] += 1
                return
            address = await self._review(address.removeprefix("/work/"))

    async def _review(self, copy: str) -> str | None:
        """Open a unit, watch, decide every turn, hand it in; the address of the next."""
        await self.team.ask(self.client, "page", "GET", f"/work/{copy}")
        answer = await self.team.ask(self.client, "open", "GET", f"/api/work/{copy}")
        if answer is None:
            return None
        opened = answer.json()
        entries, video = opened["entries"], opened["unit"]["video"]
        for place, turn in enumerate(opened["unit"]["content"]["turns"]):
            if video is not None and video["playable"] is not None:
                start = self.rng.randrange(SEEK_BYTES)
                headers = {"Range": f"bytes={start}-{start + SEEK_BYTES - 1}"}
                await self.team.ask(self.client, "seek", "GET", video["playable"], headers=headers)
            await asyncio.sleep(THINK_S * self.rng.uniform(0.25, 1.75))
            read = entries.get(str(place), {"revision": 0})["revision"]
            await self._change(
                "save", "PUT", f"/api/work/{copy}/entries/{place}", {"revision": read, "value": self._value(turn)}
            )
            if time.monotonic() > self.team.end:
                return None
        answer = await self._change("submit", "POST", f"/api/work/{copy}/submit", None)
        return answer.json()["next"] if answer is not None else None

    def _value(self, turn: dict[str, Any]) -> dict[str, Any]:
        value: dict[str, Any] = {
            name: turn[name] for name in ("question", "references", "asked_at_s", "evidence", "labels") if name in turn
        }
        decision = self.rng.choices(["accept", "edit", "reject"], [7, 2, 1])[0]
        value |= {"decision": decision, "reasons": ["ambiguous"] if decision == "reject" else []}
        if decision == "edit":
            value["question"] = f"{value['question']} Say so in a sentence."
        return value

    async def _change(self, what: str, method: str, path: str, body: Any) -> httpx.Response | None:
        self.keys += 1
        headers = {"X-CSRF-Token": self.csrf, "Idempotency-Key": f"{os.getpid()}-{self.name}-{self.keys:08d}"}
        return await self.team.ask(self.client, what, method, path, headers=headers, json=body)


async def look_at_board(team: Team, owner: Annotator) -> None:
    """The owner's board, again and again."""
    while time.monotonic() < team.end:
        begun = time.perf_counter()
        answer = await owner.client.get("/units")
        if answer.status_code == 404:
            return
        if team.measuring:
            team.took_s["board"].append(time.perf_counter() - begun)
        if answer.status_code != 200:
            team.errors[f"board: {answer.status_code}"] += 1
        await asyncio.sleep(BOARD_EVERY_S)


async def simulate(address: str, names: list[str], seconds: float) -> dict[str, Any]:
    """Let everybody sign in and work; what was measured."""
    team = Team(address, seconds)
    owner, *annotators = [Annotator(team, name) for name in names]
    team.measuring = True
    for person in (owner, *annotators):
        await person.sign_in()
    begun, used = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    team.end = begun + seconds
    lag = asyncio.create_task(team.lag())

    async def start(person: Annotator, after_s: float) -> None:
        await asyncio.sleep(after_s)
        await person.work()

    # They do not all begin in the same instant.
    spread = [start(person, THINK_S * number / len(annotators)) for number, person in enumerate(annotators)]
    await asyncio.gather(look_at_board(team, owner), *spread)
    lag.cancel()
    now = resource.getrusage(resource.RUSAGE_SELF)
    for person in (owner, *annotators):
        await person.client.aclose()
    return {
        "took_s": team.took_s,
        "errors": dict(team.errors),
        "seconds": time.monotonic() - begun,
        "cpu_s": now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime,
    }


def main() -> None:
    """Read who works, simulate, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--seconds", type=float, default=300.0)
    options = parser.parse_args()
    names = sys.stdin.read().split()
    sys.stdout.write(json.dumps(asyncio.run(simulate(options.address, names, options.seconds))))


if __name__ == "__main__":
    main()
