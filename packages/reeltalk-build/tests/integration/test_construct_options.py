"""Every option of `construct` has an effect, is recorded in the manifest, or is refused, for each kind of writer.

The page *Options and models* shows the table that is tested here. The full counts play every pair; otherwise the
refusals and some pairs are tried.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pytest
import scripted_vision
from page_world import World
from places import ROOT
from scripted_server import Body, Server, serve

from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.cli.projects import command_of
from reeltalk_build.construct.writer_options import (
    CHECKING_OPTIONS,
    NEEDED_OPTIONS,
    WRITER_OPTIONS,
    WRITERS,
    WriterKind,
)

# inspect_ai 0.3.285 calls tenacity 9.2 the old way.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

Found = Literal["recorded", "effect", "refused"]
ELSEWHERE: Final[Mapping[str, str]] = {
    "benchmark": "packages/reeltalk-build/tests/integration/test_construct_model.py",
    "block": "packages/reeltalk-build/tests/integration/test_construct_blocks.py",
    "writer": "packages/reeltalk-build/tests/integration/test_construct_model.py",
    "sheet": "packages/reeltalk-build/tests/unit/construct/test_sheets.py",
    "apply": "packages/reeltalk-build/tests/unit/construct/test_sheets.py",
    "rubrics": "packages/reeltalk-streaming/tests/integration/test_dead_servers.py",
    "workers": "packages/reeltalk/tests/integration/test_speech.py",
    "executor": "packages/reeltalk/tests/integration/test_ray.py",
    "plan": "packages/reeltalk-build/tests/integration/test_construct_model.py",
    "max_leaking": "packages/reeltalk-build/tests/unit/construct/test_gate_step.py",
    "targets": "packages/reeltalk-build/tests/unit/construct/test_balance.py",
    "retry_unwritten": "packages/reeltalk-build/tests/integration/test_construct_model.py",
    "connections": "packages/reeltalk-build/tests/integration/test_construct_model.py",
    "timeout_s": "packages/reeltalk-build/tests/integration/test_construct_model.py",
    "give_up_after_s": "packages/reeltalk/tests/unit/llm/test_breaker.py",
    "probe": "packages/reeltalk-build/tests/integration/test_gates.py",
    "canaries": "packages/reeltalk-build/tests/integration/test_canaries.py",
    "attacker": "packages/reeltalk-build/tests/integration/test_gates.py",
}
"""Options whose effect another test shows, which needs runs, a server that fails, a cluster, or a whole benchmark."""
PRICES: Final = ("--price-in", "2", "--price-out", "3")
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "steps": ("--steps", "scenes"),
    "language": ("--language", "zh"),
    "limit": ("--limit", "1"),
    "seed": ("--seed", "18"),
    "min_turns": ("--min-turns", "4"),
    "max_turns": ("--max-turns", "5"),
    "pairs": ("--pairs", "1"),
    "drafts": ("--drafts", "2"),
    "paths": ("--paths", "2"),
    "jump_probability": ("--jump-probability", "0.1"),
    "quality": ("--quality", "99"),
    "attempts": ("--attempts", "1"),
    "suitability": ("--suitability", "6"),
    "dialogues": ("--dialogues", "0"),
    "merge_similarity": ("--merge-similarity", "0.1"),
    "theme_similarity": ("--theme-similarity", "0.1"),
    "cross_per_video": ("--cross-per-video", "0"),
    "block": ("--block", "1"),
    "detector": ("--detector", "python:OWN:Nothing"),
    "frames": ("--frames", "1"),
    "frame_width_px": ("--frame-width-px", "64"),
    "max_leaking": ("--max-leaking", "0.5"),
    "balance": ("--balance", "types"),
    "base_url": ("--base-url", "OTHER"),
    "api_key_env": ("--api-key-env", "OTHER_KEY"),
    "sees": ("--sees", "text"),
    "judge": ("--judge", "vision-2", "--base-url", "URL"),
    "samples": ("--samples", "2"),
    "canaries": ("--no-canaries",),
    "prompts": ("--prompts", "PROMPTS"),
    "retry_unwritten": ("--retry-unwritten",),
    "connections": ("--connections", "1"),
    "max_reply_tokens": ("--max-reply-tokens", "999"),
    "timeout_s": ("--timeout-s", "99"),
    "give_up_after_s": ("--give-up-after-s", "99"),
    "preflight": ("--no-preflight",),
    "max_calls": ("--max-calls", "2"),
    "max_tokens": ("--max-tokens", "2"),
    "max_cost": ("--max-cost", "0.0001"),
    "more": ("--more", "2"),
    "more_tokens": ("--more-tokens", "2"),
    "more_cost": ("--more-cost", "0.0001"),
    "price_in": PRICES,
    "price_out": PRICES,
    "image_tokens": ("--image-tokens", "90000"),
}
"""Each option with a value that is not its default."""
BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "quality": ("--judge", "vision-2"),
    "samples": ("--judge", "vision-2"),
    "canaries": ("--judge", "vision-2"),
    "frames": ("--frames", "8"),
    "max_cost": PRICES,
    "more_cost": PRICES,
    "image_tokens": ("--max-tokens", "80000"),
}
"""What an option is about, or is counted against. It is given with the option and without it."""
STEPS: Final[Mapping[str, tuple[str, ...]]] = {
    "pairs": ("chains", "linkages"),
    "drafts": ("chains", "linkages"),
    "paths": ("chains", "linkages", "paths"),
    "jump_probability": ("chains", "linkages", "paths"),
    "suitability": ("scenes", "dialogues"),
    "dialogues": ("scenes", "dialogues"),
    "merge_similarity": ("scenes",),
    "theme_similarity": ("scenes",),
    "cross_per_video": ("scenes",),
    "detector": ("objects",),
}
"""The steps that show the effect of an option; `chains` for the others."""
QUICK: Final = (("limit", "graph"), ("max_reply_tokens", "server"), ("sees", "server"))
"""Pairs whose effect is tried without the full counts too."""
CHECKERS: Final = ("--probe", "vision-2", "--judge", "vision-3", "--base-url", "URL")
OWN: Final = """
from reeltalk_household.writer.graph_writer import GraphWriter


class Mine(GraphWriter):
    signature = "mine"

    def __init__(self, benchmark, settings):
        super().__init__(benchmark, settings)
        self.signature = f"mine {settings.model_dump_json()}"


class Nothing:
    signature = "nothing"

    def detect(self, rgb):
        return []
"""


@dataclass(frozen=True)
class Places:
    filmed: Path
    chained: Path
    """The same with chains of the graph, in full counts."""
    words: Mapping[str, str]
    """Paths and addresses by the word that stands for them."""
    servers: tuple[Server, Server]


@pytest.fixture(scope="module")
def folder(world: World, full: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("constructing")
    for name in ("filmed", "chained"):
        shutil.copytree(world.made("sighted-video"), folder / name)
    if full:
        assert run(["construct", str(folder / "chained"), "--steps", "chains", "--workers", "1"]) == 0
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    for name in ("chain", "probe"):
        assert run(["prompts", f"construct/en/{name}", "--out", str(folder / f"own-{name}")]) == 0
        mine = folder / f"own-{name}" / "construct" / "en" / f"{name}.md"
        mine.write_text(mine.read_text(encoding="utf-8").rstrip() + "\nBe brief.\n", encoding="utf-8")
    return folder


@pytest.fixture
def places(folder: Path) -> Iterator[Places]:
    # A server keeps its first requests only, so each test has servers of its own.
    with (
        serve(scripted_vision.reply, sees_preflights=True) as one,
        serve(scripted_vision.reply, sees_preflights=True) as other,
    ):
        words = {"URL": one.base_url, "OTHER": other.base_url, "PROMPTS": str(folder / "own-chain")}
        words |= {"OWN": str(folder / "own.py"), "PROBE_PROMPTS": str(folder / "own-probe")}
        yield Places(folder / "filmed", folder / "chained", words, (one, other))


def command(places: Places, kind: WriterKind, bench: Path, steps: tuple[str, ...], *more: str) -> list[str]:
    """The command. An option that is given twice has its last value."""
    names = {"server": "vision-1", "provider": "inspect:openai/gpt-4o", "python": "python:OWN:Mine", "graph": "graph"}
    address = ("--base-url", "URL") if kind in ("server", "provider") else ()
    chosen = () if "--steps" in more else tuple(word for step in steps for word in ("--steps", step))
    found: dict[str, tuple[str, ...]] = {}
    words = ["--writer", names[kind], *address, *more]
    starts = [place for place, word in enumerate(words) if word.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        found[words[start]] = tuple(words[start:end])
    given = [word for part in found.values() for word in part]
    for word, meant in places.words.items():
        given = [re.sub(rf"\b{word}\b", meant.replace("\\", ""), part) for part in given]
    return ["construct", str(bench), "--workers", "1", *chosen, *given]


def play(
    places: Places,
    kind: WriterKind,
    bench: Path,
    steps: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    *more: str,
) -> dict[str, Any]:
    before = [len(server.requests) for server in places.servers]
    code = run(command(places, kind, bench, steps, *more))
    out, said = capsys.readouterr()

    def sent(server: Server, start: int) -> list[str]:
        def plain(body: Body) -> str:
            return json.dumps(body, sort_keys=True)

        return sorted(map(plain, server.requests[start:]))

    files = Benchmark.open(bench).manifest.files
    return {
        "code": code,
        "said": re.sub(r"/\S+", "", said),
        "out": re.sub(r"/\S+", "", out),
        "sent": [sent(server, start) for server, start in zip(places.servers, before, strict=True)],
        "recorded": {name: entry.settings for name, entry in files.items() if entry.stage.startswith("construct")},
        "written": {name: entry.sha256 for name, entry in files.items()},
    }


def effect_of(
    option: str, kind: WriterKind, places: Places, folder: Path, capsys: pytest.CaptureFixture[str], *, checked: bool
) -> Found | None:
    """What an option does; None if it is accepted and does nothing."""
    steps = ("gates",) if checked else STEPS.get(option, ("chains",))
    # The judge of a model needs an address, and a class of one's own judges itself.
    beside = (
        BESIDE.get(option, ()) if (checked or takes(option, kind)) and (option, kind) != ("quality", "python") else ()
    )
    value: tuple[str, ...] = VALUES[option]
    if checked:
        beside = (*CHECKERS, *beside)
        value = ("--prompts", "PROBE_PROMPTS") if option == "prompts" else value
        if option == "api_key_env":
            assert kind == "graph"
    source = places.chained if checked else places.filmed
    given_in, usual_in = (Path(shutil.copytree(source, folder / name)) for name in ("given", "usual"))
    before = {path.name: path.read_bytes() for path in given_in.glob("*.json*")}
    given = play(places, kind, given_in, steps, capsys, *beside, *value)
    idle = r"has no effect on|the graph writes English"
    if given["code"] == 2 and re.search(idle, given["said"]):
        assert {path.name: path.read_bytes() for path in given_in.glob("*.json*")} == before
        assert given["sent"] == [[], []]
        return "refused"
    usual = play(places, kind, usual_in, steps, capsys, *beside)
    assert usual["code"] in (0, 1) or "the budget" in usual["said"], usual["said"]
    if given["recorded"] != usual["recorded"]:
        return "recorded"
    return "effect" if given != usual else None


def test_every_option_is_tried_here_or_elsewhere() -> None:
    known = {option.key for option in command_of(("construct",)).options}
    assert {*VALUES, *ELSEWHERE} == known
    assert set(WRITER_OPTIONS) <= known
    assert known >= CHECKING_OPTIONS
    assert set(NEEDED_OPTIONS) <= known
    for option, file in ELSEWHERE.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert option in text or f"--{option.replace('_', '-')}" in text, option


def takes(option: str, kind: WriterKind) -> bool:
    return kind in WRITER_OPTIONS.get(option, WRITERS)


@pytest.mark.parametrize("kind", WRITERS)
def test_an_option_without_effect_is_refused(
    kind: WriterKind, places: Places, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in (name for name in VALUES if not takes(name, kind)):
        found = effect_of(option, kind, places, tmp_path / option, capsys, checked=False)
        assert found == "refused", f"--{option} is accepted and the table says that it has no effect on {kind}"


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("option", VALUES)
def test_an_option_has_an_effect(
    option: str,
    kind: WriterKind,
    request: pytest.FixtureRequest,
    full: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-one")
    monkeypatch.setenv("OTHER_KEY", "key-two")
    if not takes(option, kind):
        pytest.skip("it is refused")
    if option in ELSEWHERE:
        pytest.skip(f"{ELSEWHERE[option]} shows the effect")
    if not full and (option, kind) not in QUICK:
        pytest.skip("full counts: make test-full")
    found = effect_of(option, kind, request.getfixturevalue("places"), tmp_path, capsys, checked=False)
    assert found in ("recorded", "effect"), f"--{option} is accepted and has no effect on {kind}"


@pytest.mark.parametrize("option", sorted(CHECKING_OPTIONS - ELSEWHERE.keys()))
def test_an_option_has_an_effect_on_models_that_check_what_the_graph_writes(
    option: str,
    request: pytest.FixtureRequest,
    full: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not full:
        pytest.skip("full counts: make test-full")
    monkeypatch.setenv("OPENAI_API_KEY", "key-one")
    monkeypatch.setenv("OTHER_KEY", "key-two")
    places: Places = request.getfixturevalue("places")
    assert effect_of(option, "graph", places, tmp_path, capsys, checked=True) in ("recorded", "effect")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--quality", "80"), "--quality has no effect on vision-1: it needs `--judge`"),
        (("--samples", "2"), "--samples has no effect on vision-1: it needs `--judge`"),
        (("--sees", "text", "--frames", "2"), "--frames has no effect on vision-1: it needs `--sees images`"),
        (("--sees", "text", "--frame-width-px", "64"), "--frame-width-px has no effect on vision-1: it needs `--sees"),
        (("--no-canaries",), "--no-canaries has no effect on vision-1: it needs `--judge`"),
        (("--rubrics", "--judge", "vision-2"), "--judge has no effect on vision-1: --rubrics"),
        (("--rubrics", "--sees", "text"), "--sees has no effect on vision-1: --rubrics"),
        (("--rubrics", "--workers", "2"), "leave out --plan, --steps, --workers and --executor"),
        (("--plan", "--samples", "2"), "--samples has no effect on vision-1"),
    ],
)
def test_options_that_another_one_makes_useless_are_refused(
    given: tuple[str, ...], said: str, places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["construct", str(places.filmed), "--writer", "vision-1", "--base-url", places.words["URL"]]
    assert run([*words, *given]) == 2
    assert said in capsys.readouterr().err
