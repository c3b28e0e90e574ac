"""A run says who gave its replies, and its signatures hold what its numbers rest on and nothing else."""

import dataclasses
import json
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Body, completion, serve

from reeltalk.cli import run
from reeltalk.evaluation import signing
from reeltalk.judge import choice, match, typed
from reeltalk.schema.dialogue import AnswerKey, Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.runs import Run, read_run

NAMES = ("owl-7b-2026-01", "owl-7b-2026-02")


def content_of(videos: int = 5) -> Content:
    colours = ("red", "green", "blue", "white")
    content = Content(videos=[Video(id=f"v{n}", duration_s=8.0) for n in range(videos)])
    for n in range(videos):
        turns = tuple(
            Turn(
                question=f"What colour is thing {place} of video {n}?",
                references=(f"The thing is {colours[(n + place) % 4]}.",),
                options=colours,
                correct_option=(n + place) % 4,
                key=AnswerKey(type="colour", values=(colours[(n + place) % 4],)),
            )
            for place in range(4)
        )
        content.dialogues.append(Dialogue(id=f"d{n}", video_id=f"v{n}", turns=turns))
    return content


def made(folder: Path, content: Content) -> Path:
    Benchmark.create(folder).write_content(content, stage="test")
    return folder


def evaluated(bench: Path, out: Path, base_url: str, *more: str) -> Run:
    model = ("--model", "owl-7b", "--base-url", base_url, "--connections", "1", "--backoff-s", "0.001")
    what = ("--policy", "none", "--protocols", "choice,typed", "--metrics", "rouge_l", "--no-preflight")
    assert run(["evaluate", str(bench), "--out", str(out), *model, *what, *more]) == 0
    return read_run(out)


class Renamed:
    """Says that another model answers, after 15 replies."""

    def __init__(self, *names: str) -> None:
        self.names, self.count, self._lock = names, 0, threading.Lock()

    def __call__(self, body: Body) -> Body:
        with self._lock:
            self.count += 1
            name = self.names[0 if self.count <= 15 else -1]
        return completion(body, "It is red.") | {"model": name}


def signatures(made: Run) -> dict[str, str]:
    return {row.metric: row.signature for row in made.summary if row.model == "owl-7b"}


def test_another_name_midway_is_said_in_terminal_report_run_and_signature(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = made(tmp_path / "bench", content_of())
    with serve(Renamed(*NAMES)) as server:
        changed = evaluated(bench, tmp_path / "changed", server.base_url)
    terminal = capsys.readouterr().err
    told = f"{NAMES[0]} (15), {NAMES[1]} (5)"
    # Said while the run goes on, once, and not only below its numbers.
    assert terminal.count(f"the replies of owl-7b now come from '{NAMES[1]}'") == 1
    assert "warning: The replies of the model came from models of several names" in terminal
    assert told in terminal
    counts = [(row["model"], row["host"], row["replies"]) for row in changed.info.settings["replies"]]
    assert counts == [(NAMES[0], "127.0.0.1", 15), (NAMES[1], "127.0.0.1", 5)]
    rows = [json.loads(line) for line in (changed.path / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["played"]["served_model"] for row in rows].count(NAMES[1]) == 5
    assert run(["report", str(changed.path), "--out", str(tmp_path / "site")]) == 0
    assert told in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    with serve(Renamed(NAMES[0])) as server:
        steady = evaluated(bench, tmp_path / "steady", server.base_url)
    assert "several names" not in capsys.readouterr().err
    with serve(Renamed("owl-7b")) as server:
        plain = evaluated(bench, tmp_path / "plain", server.base_url)
    one, two, none = (signatures(found)["accuracy"] for found in (steady, changed, plain))
    assert f"|served:{NAMES[0]}|" in one
    assert f"|served:{NAMES[0]}+{NAMES[1]}|" in two
    assert "served" not in none


def test_a_benchmark_with_shuffled_rows_gives_the_same_numbers_and_signatures(tmp_path: Path) -> None:
    content, draw = content_of(), random.Random(3)
    mixed = dataclasses.replace(
        content,
        videos=draw.sample(content.videos, len(content.videos)),
        dialogues=draw.sample(content.dialogues, len(content.dialogues)),
    )
    found = []
    for name, stored in (("plain", content), ("mixed", mixed)):
        with serve(lambda body: f"It is {('red', 'green')[len(body['messages']) // 2 % 2]}.") as server:
            report = evaluated(made(tmp_path / name / "bench", stored), tmp_path / f"run-{name}", server.base_url)
        rows = [
            row for row in report.summary if row.model == "owl-7b" and row.metric not in ("took_s", "first_token_s")
        ]
        numbers = {
            row.metric: [round(one, 9) for one in (row.value, row.low, row.high) if one is not None] for row in rows
        }
        found.append((numbers, {row.metric: row.signature for row in rows}))
    assert len(found[0][0]) > 3
    assert found[0] == found[1]


def test_references_are_signed_by_measures_that_read_them_and_by_no_others(tmp_path: Path) -> None:
    content = content_of()
    changes: dict[str, Callable[[Turn], dict[str, Any]]] = {
        "text": lambda turn: {"references": (f"{turn.references[0]} It is.",)},
        "case": lambda turn: {"references": (turn.references[0].upper(),)},
        "number": lambda turn: {"references": (*turn.references, "Some colour.")},
    }
    with serve(lambda _: "It is red.") as server:
        history = ("--history", "predicted-all")
        before = signatures(
            evaluated(made(tmp_path / "before" / "bench", content), tmp_path / "r", server.base_url, *history)
        )
        for name, change in changes.items():
            dialogues = [
                one.model_copy(update={"turns": tuple(turn.model_copy(update=change(turn)) for turn in one.turns)})
                for one in content.dialogues
            ]
            bench = made(tmp_path / name / "bench", dataclasses.replace(content, dialogues=dialogues))
            after = signatures(evaluated(bench, tmp_path / f"r-{name}", server.base_url, *history))
            moved = {metric for metric in before if before[metric] != after[metric]}
            assert moved == {"rouge_l"}, name
    assert "|case:lc|" in before["rouge_l"]
    assert "|refs:1|" in before["rouge_l"]
    assert "refs" not in before["accuracy"]


@pytest.mark.parametrize(
    "judge",
    [typed, pytest.param(match, marks=pytest.mark.slow), choice],
    ids=lambda module: module.__name__,
)
def test_a_rule_that_is_edited_by_one_word_moves_the_signature(
    judge: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "reeltalk"
    shutil.copytree(signing.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    monkeypatch.setattr(signing, "PACKAGE", package)
    module = package / Path(str(judge.__file__)).relative_to(Path(signing.__file__).parents[1])  # type: ignore[attr-defined]
    read = signing.code_hash.__wrapped__
    before = read(str(module))
    rules = [module, package / "metrics" / "choice.toml", package / "schema" / "model_texts.toml"]
    if judge is not choice:
        rules += [file for file in (package / "language").iterdir() if file.suffix in (".py", ".toml")]
        rules = [
            file for file in rules if file.name not in ("__init__.py", "grammar.py", "grammar.toml", "near_misses.py")
        ]
    for file in rules:
        text = file.read_text(encoding="utf-8")
        file.write_text(f"{text}# another\n", encoding="utf-8")
        assert read(str(module)) != before, file
        file.write_text(text, encoding="utf-8")
    (package / "evaluation" / "tables.py").write_text("", encoding="utf-8")
    assert read(str(module)) == before
