"""The golden of the review: a team of five at work over HTTP, what it exports, and the next revision of the benchmark.

Nothing of the review is imported: its server is a command, and people are clients of its addresses.
"""

import json
import re
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import golden_files as files
import httpx
from golden_files import WORK, command
from golden_inputs import draw
from golden_playing import imported

PASSWORD: Final = "correct horse battery"
SECRET: Final = re.compile(r"\b[0-9a-f]{16}\b")
"""Identifiers of people and of their work are drawn anew for each review."""
LEFT_OUT: Final = {"hash", "previous", "rows", "seconds_per_turn"}
"""Each event has a hash over the one before it, its moment and the rows that it changed; and how long people took."""


class Person:
    """Somebody with a browser, who counts what they do."""

    def __init__(self, address: str, name: str, done: Counter[str]) -> None:
        self.name, self.done = name, done
        self.client = httpx.Client(base_url=address, timeout=60, follow_redirects=True)
        self.csrf = ""
        self._keys = 0

    def join(self, link: str) -> None:
        """Join the team by a link."""
        form = {"name": self.name, "password": PASSWORD}
        answer = self._checked(self.client.post(link, data=form))
        found = re.search(r'name="csrf" content="([^"]+)', answer.text)
        assert found is not None, answer.text[:500]
        self.csrf = found[1]

    def form(self, path: str, **values: str) -> httpx.Response:
        """Send a form."""
        self._keys += 1
        key = f"{self.name}-{self._keys:06d}"
        return self._checked(self.client.post(path, data=values | {"csrf": self.csrf, "key": key}))

    def next(self, path: str) -> str:
        """The identifier of the work that a form gives, or nothing."""
        answer = self.client.post(path, data={"csrf": self.csrf}, follow_redirects=False)
        assert answer.status_code == 303, answer.text[:500]
        found = re.fullmatch(r"/(?:work|adjudicate)/(\w+)", answer.headers["location"])
        return found[1] if found else ""

    def read(self, path: str) -> Any:
        """What an address says."""
        return self._checked(self.client.get(path)).json()

    def do(self, action: str, method: str, path: str, body: Any = None) -> Any:
        """One action, which is counted."""
        self._keys += 1
        headers = {"X-CSRF-Token": self.csrf, "Idempotency-Key": f"{self.name}-{self._keys:08d}"}
        answer = self._checked(self.client.request(method, path, headers=headers, json=body))
        self.done[action] += 1
        return answer.json()

    @staticmethod
    def _checked(answer: httpx.Response) -> httpx.Response:
        if not answer.is_success:
            raise RuntimeError(
                f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text[:500]}"
            )
        return answer


@contextmanager
def served(bench: Path) -> Iterator[str]:
    """The link by which the first owner joins a server that runs until the block ends."""
    started = files.command_line("review", bench, "--port", 0, "--overlap", 2, "--queues", "turns,links")
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None, "the server did not start"
            yield found[0].rstrip(";")
        finally:
            process.terminate()
            process.wait(30)


def review() -> dict[str, Any]:
    """Two do each task, of three; a fourth settles what they differ in; then the next revision is written."""
    bench = Path(shutil.copytree(imported("films"), WORK / "reviewed"))
    done: Counter[str] = Counter()
    with served(bench) as link:
        address = link.partition("/join/")[0]
        owner = Person(address, "Olga", done)
        owner.join(link)
        team = [Person(address, name, done) for name in ("Ann", "Ben", "Cat")]
        judge = Person(address, "Ada", done)
        for person, role in (*((one, "annotator") for one in team), (judge, "adjudicator")):
            shown = owner.form("/team/invitations", role=role).text
            invitation = re.search(r"/join/[\w-]+", shown)
            assert invitation is not None, "no link is shown"
            person.join(invitation[0])
        for queue in ("turns", "links"):
            while any([work(person, queue) for person in team]):
                pass
            while settle(judge, queue):
                pass
        quality = owner.read("/api/quality")
    exported = WORK / "review.zip"
    command("review", "export", bench, exported)
    verified = files.plain(command("review", "status", bench, "--verify")).splitlines()
    command("review", "apply", bench, allowed=(0, 1))
    return {
        "actions": dict(sorted(done.items())) | {"all": done.total()},
        "exports": exports(exported),
        "quality": Names().line(quality.get("rows", quality) if isinstance(quality, dict) else quality),
        "verified": [SECRET.sub("ID", line) for line in verified if "head" not in line],
        "next revision": files.benchmark(bench),
    }


def work(person: Person, queue: str) -> bool:
    """Let somebody do the next task of a queue; False if there is none for them."""
    assignment = person.next(f"/queues/{queue}/next")
    if not assignment:
        return False
    path = f"/api/work/{assignment}"
    opened = person.read(path)
    content = opened["unit"]["content"]
    for place in opened["places"]:
        value = (turn_value if queue == "turns" else link_value)(person.name, content, place)
        revision = opened["entries"].get(place, {"revision": 0})["revision"]
        named = "unsure" if value["unsure"] else value["decision"]
        person.do(f"{queue}: {named}", "PUT", f"{path}/entries/{place}", {"revision": revision, "value": value})
    if draw("undo", person.name, opened["unit"]["name"]) % 4 == 0:
        person.do(f"{queue}: undo", "POST", f"{path}/undo")
        person.do(f"{queue}: redo", "POST", f"{path}/redo")
    person.do(f"{queue}: submit", "POST", f"{path}/submit")
    return True


def turn_value(name: str, content: Any, place: str) -> dict[str, Any]:
    """What somebody decides about a turn: it stays, is worded anew, goes, or is left for others; some are unsure."""
    turn = content["turns"][int(place)]
    fields = ("question", "references", "asked_at_s", "evidence", "labels", "options", "correct_option")
    value = {field: turn[field] for field in fields if field in turn}
    number = draw(name if draw("alike", turn["question"]) % 3 == 0 else "all", turn["question"], place)
    decision = ("accept", "accept", "accept", "accept", "edit", "edit", "reject", "skip")[number % 8]
    if decision == "edit":
        value["question"] += " Say so in a sentence."
    unsure = number % 11 == 0
    return value | {
        "decision": decision,
        "reasons": ["ambiguous"] if decision == "reject" else [],
        "unsure": unsure,
        "note": "I cannot see it." if unsure else "",
    }


def link_value(name: str, content: Any, place: str) -> dict[str, Any]:
    """What somebody decides about a link, or that all links between two chains are there."""
    if place == "board":
        return {"decision": "complete", "links": [], "unsure": False}
    link = next(one for one in content["linkages"] if one["place"] == place)
    number = draw(name, place, link["relations"], content["before"]["turns"][0]["question"])
    relations = ["Events"] if number % 3 == 0 else link["relations"]
    return {"decision": "delete" if number % 5 == 0 else "keep", "relations": relations, "unsure": False}


def settle(judge: Person, queue: str) -> bool:
    """Let the adjudicator settle the next task on which people differ; False if there is none."""
    assignment = judge.next(f"/adjudicate/queues/{queue}/next")
    if not assignment:
        return False
    opened = judge.read(f"/api/adjudicate/{assignment}?names=true")
    # The letters A and B of people are drawn by their identifiers.
    works = [one["id"] for one in sorted(opened["sides"], key=lambda side: side["name"])]
    for place in opened["disputed"]:
        revision = opened["entries"].get(place, {"revision": 0})["revision"]
        value = {"take": works[draw(queue, place, opened["unit"]["name"]) % len(works)], "note": ""}
        judge.do(f"{queue}: adjudicate", "PUT", f"/api/work/{assignment}/entries/{place}",
                 {"revision": revision, "value": value})  # fmt: skip
    judge.do(f"{queue}: submit a settlement", "POST", f"/api/work/{assignment}/submit")
    return True


class Names:
    """Gives identifiers that are drawn anew for each review the same names each time, in the order of events."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def plain(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.plain(key): self.plain(one) for key, one in value.items() if key not in LEFT_OUT}
        if isinstance(value, list):
            named = [self.plain(one) for one in value]
            # A list of people or of their work is in the order of their identifiers.
            return sorted(named) if all(str(one).startswith("id-") for one in named) else named
        if isinstance(value, str):
            return SECRET.sub(lambda found: self.known.setdefault(found[0], f"id-{len(self.known) + 1:04d}"), value)
        return value

    def line(self, rows: Any) -> str:
        """A table on one line, as `golden_files.table` has it."""
        named = sorted((files.even(self.plain(row)) for row in rows), key=files.dumped)
        return " ".join([f"{len(named)} rows:", *(f"{k}={v}" for k, v in files.columns(named).items())])


def exports(path: Path) -> dict[str, Any]:
    """The files of an exported project: rows, and hashes of their columns."""
    found: dict[str, Any] = {}
    names = Names()
    with zipfile.ZipFile(path) as packed:
        inside = sorted(packed.namelist(), key=lambda name: ("events" not in name, name))
        for name in inside:
            text = packed.read(name).decode()
            if name.endswith(".jsonl"):
                rows = [json.loads(line) for line in text.splitlines()]
                found[name] = names.line(rows)
    return found
