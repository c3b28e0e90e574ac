"""Every option of a model has an effect, a place in the signature, or is refused: each is tried on each kind of model.

The page *Options and models* shows the table that is tested here; the options of `judge`, `construct` and `train` are
tried in `test_judge_options.py`, `test_construct_options.py` and `test_training_options.py`. The full counts play every
pair; otherwise the refusals and one pair of each option are tried.
"""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from sample_videos import Numbered
from scripted_server import Body, Server, count_images, serve

from reeltalk.cli import run
from reeltalk.evaluation.model_options import (
    KINDS_BY_COMMAND,
    OPTIONS,
    OPTIONS_BY_COMMAND,
    UNSIGNED,
    ModelCommand,
    ModelKind,
    kinds_of_option,
)
from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file
from reeltalk.store.runs import Run

Found = Literal["signed", "effect", "refused"]
PRICES: Final = ("--price-in", "2", "--price-out", "3")
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "base_url": ("--base-url", "OTHER"),
    "api_key_env": ("--api-key-env", "OTHER_KEY"),
    "sees": ("--sees", "text"),
    "temperature": ("--temperature", "0.7"),
    "reasoning_effort": ("--reasoning-effort", "low"),
    "max_reply_tokens": ("--max-reply-tokens", "3"),
    "memory": ("--memory", "bounded"),
    "memory_frames": ("--memory-frames", "4"),
    "first_token": ("--first-token",),
    "batch": ("--batch",),
    "price_in": PRICES,
    "price_out": PRICES,
    "image_tokens": ("--image-tokens", "90000"),
    "epochs": ("--epochs", "2"),
    "prompt": ("--prompt", "svbench"),
    "answer_style": ("--answer-style", "short"),
    "frame_times": ("--frame-times", "yes"),
}
"""Each option with a value that is not its default."""
BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "price_in": ("--max-cost", "0.0001"),
    "price_out": ("--max-cost", "0.0001"),
    "image_tokens": ("--max-tokens", "80000"),
}
"""Limits that an option is counted against. They are given with the option and without it."""
ON: Final = KINDS_BY_COMMAND["evaluate"]
OWN: Final = """
class Eyes:
    name = "eyes"

    def answer(self, frames, history, question):
        return f"{len(frames)} frames"
"""


@dataclass(frozen=True)
class Places:
    benchmark: Path
    film: Path
    models: Mapping[ModelKind, tuple[str, ...]]
    """Options that name a model of each kind."""
    servers: tuple[Server, Server]


def answer(body: Body) -> str:
    return f"{count_images(body)} frames, {body.get('temperature')}"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    folder = tmp_path_factory.mktemp("options")
    film, _ = Numbered("h264-b-frames.mkv", options={"bf": "3", "g": "48"}).make()
    sha256 = hash_file(film)[0]
    turns = tuple(Turn(question=f"What is shown ({n})?", references=("A number.",)) for n in range(2))
    content = Content(
        videos=[Video(id="v", split="test", sha256=sha256), Video(id="w", split="train")],
        clips=[Clip(id="c", video_id="v", interval=Interval(start_s=0, end_s=6))],
        chains=[
            QAChain(id="q", video_id="v", clip_id="c", turns=turns),
            QAChain(id="t", video_id="w", clip_id=None, turns=turns),
        ],
    )
    content.media[sha256] = film
    Benchmark.create(folder / "bench").write_content(content, stage="test")
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    told = [{"unit_id": "q", "turn_index": n, "answer": "A number."} for n in range(2)]
    (folder / "told.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told), encoding="utf-8")
    pytest.importorskip("torch")
    from tiny_architectures import save_tiny

    checkpoint = save_tiny("internvl", folder / "tiny")
    with serve(answer, sees_preflights=True) as one, serve(answer, sees_preflights=True) as other:
        yield Places(
            folder / "bench",
            film,
            {
                "server": ("tiny", "--base-url", one.base_url),
                "provider": ("inspect:openai/gpt-4o", "--base-url", one.base_url),
                "streaming": (f"inspect:reeltalk-streaming/{checkpoint}",),
                "transformers": (f"transformers:{checkpoint}",),
                "mini": ("mini",),
                "python": (f"python:{folder / 'own.py'}:Eyes",),
                "baseline": ("baseline:blind",),
                "answers": (f"answers:{folder / 'told.jsonl'}",),
                "oracle": ("oracle",),
            },
            (one, other),
        )


def command(places: Places, kind: ModelKind, out: Path, *more: str) -> list[str]:
    given = [places.servers[1].base_url if part == "OTHER" else part for part in (*places.models[kind], *more)]
    if given.count("--base-url") == 2:
        del given[1:3]
    return [
        *("evaluate", str(places.benchmark), "--model", *given, "--out", str(out)),
        *("--policy", "fps", "--frames", "8", "--longest-side", "64", "--protocols", "match", "--metrics", "none"),
    ]


def play(places: Places, kind: ModelKind, out: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """Everything about a run that an option can change: its end, its signatures, requests and answers."""
    before = [len(server.requests) for server in places.servers]
    code = run(command(places, kind, out, *more))
    said = capsys.readouterr().err
    sent = [server.requests[start:] for server, start in zip(places.servers, before, strict=True)]
    found: dict[str, Any] = {"code": code, "said": re.sub(r"/\S+", "", said), "sent": sent}
    if (out / "run.json").is_file():
        opened = Run.open(out)
        found["signatures"] = sorted({row.signature for row in opened.summary if row.metric == "match"})
        found["answers"] = [
            (turn.text, turn.played is not None and turn.played.first_token_s is not None) for turn in opened.answers()
        ]
    return found


def effect_of(
    option: str, kind: ModelKind, places: Places, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Found | None:
    """What an option does to a kind of model; None if it is accepted and does nothing."""
    beside = BESIDE.get(option, ())
    # One file of replies: what was answered under one setting must not answer under another.
    beside += ("--replies", str(folder / "replies.sqlite"))
    given = play(places, kind, folder / "given", capsys, *beside, *VALUES[option])
    if given["code"] == 2 and re.search(r"has no effect on|works with inspect:|keeps its own", given["said"]):
        assert not (folder / "given").exists()
        return "refused"
    usual = play(places, kind, folder / "usual", capsys, *beside)
    if option in ("base_url", "api_key_env") and kind == "provider":
        # Without an address this provider would ask OpenAI.
        assert given["code"] == 0, given["said"]
    if usual.get("signatures") != given.get("signatures"):
        return "signed" if given.get("signatures") and usual.get("signatures") else "effect"
    return "effect" if usual != given else None


@pytest.mark.parametrize("kind", ON)
@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_does_what_the_table_says(
    option: str,
    kind: ModelKind,
    places: Places,
    full: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-one")
    monkeypatch.setenv("OTHER_KEY", "key-two")
    takes = kind in kinds_of_option(option)
    if takes and not full and kind != next(one for one in ON if one in kinds_of_option(option)):
        pytest.skip("full counts: make test-full")
    if option == "batch" and takes:
        pytest.skip("a batch takes up to a day; packages/reeltalk/tests/unit/llm/test_senders.py sends one")
    found = effect_of(option, kind, places, tmp_path, capsys)
    assert found is not None, f"--{option} is accepted and has no effect on {kind}"
    assert found == (("effect" if option in UNSIGNED else "signed") if takes else "refused")


@pytest.mark.parametrize("command", ["chat", "proactive"])
def test_other_commands_refuse_an_option_without_effect(
    command: ModelCommand, places: Places, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    start = ["chat", str(places.film)] if command == "chat" else ["proactive", "run", str(places.benchmark)]
    names = {**{kind: given[0] for kind, given in places.models.items()}, "floor": "always:5"}
    for kind, option in itertools.product(KINDS_BY_COMMAND[command], OPTIONS_BY_COMMAND[command]):
        if kind in kinds_of_option(option, command):
            continue
        polled = command == "proactive" and kind in ("server", "provider", "transformers")
        named = f"poll:{names[kind]}" if polled else names[kind]
        given = [places.servers[1].base_url if part == "OTHER" else part for part in VALUES[option]]
        out = ["--out", str(tmp_path / "run")] if command == "proactive" else []
        assert run([*start, "--model", named, *given, *out]) == 2, (kind, option)
        assert "has no effect on" in capsys.readouterr().err, (kind, option)
    if command == "chat":
        for kind in ("baseline", "answers", "oracle"):
            assert run([*start, "--model", names[kind]]) == 2
            assert f"chat takes no {names[kind]}" in capsys.readouterr().err


def test_options_that_another_one_makes_useless_are_refused(
    places: Places, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for given, said in {
        ("--policy", "uniform", "--fps", "2"): "--fps has no effect with --policy uniform",
        ("--policy", "none", "--frames", "4"): "--frames has no effect with --policy none",
        ("--policy", "none", "--square", "64"): "--square has no effect with --policy none",
        ("--square", "64", "--longest-side", "64"): "--square sets both sides",
        ("--corrupt-turn", "2"): "--corrupt-turn is for --history corrupted",
        ("--judge-shots", "0"): "--judge-shots is for --protocols vdeval",
        ("--eval-rounds", "2", "--protocols", "match"): "--eval-rounds is for --protocols checklist",
        ("--judge", "tiny", "--protocols", "match"): "--judge has no effect: the protocols match ask no model",
        ("--judge", "tiny"): "--judge has no effect: the protocols auto ask no model",
        ("--compat", "--protocols", "match"): "--compat has no effect on match",
        ("--prompts", "mine", "--protocols", "match"): "--prompts has no effect: no protocol asks a model",
        ("--language", "en", "--metrics", "none"): "--language has no effect with --metrics none",
    }.items():
        out = tmp_path / "run"
        assert run(["evaluate", str(places.benchmark), "--model", "oracle", "--out", str(out), *given]) == 2
        assert said in capsys.readouterr().err
