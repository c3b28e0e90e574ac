"""Every option of `judge` has an effect, a place in the signature, or is refused: for protocols that ask and others.

The page *Options and models* shows the table that is tested here. The full counts play every pair; otherwise the
refusals and some pairs are tried.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pytest
import willing_model
from places import ROOT
from scripted_server import Body, Server, serve

from reeltalk.cli import run
from reeltalk.evaluation.model_options import KINDS_BY_COMMAND, OPTIONS_BY_COMMAND, UNSIGNED, ModelKind, kinds_of_option
from reeltalk.schema.dialogue import Checklist, ChecklistItem, QAChain, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.runs import Run
from reeltalk_build.cli.projects import command_of

# inspect_ai 0.3.285 calls tenacity 9.2 the old way.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

Found = Literal["signed", "effect", "refused"]
NEEDED: Final = ("sources", "out")
"""Without these nothing is judged."""
ELSEWHERE: Final[Mapping[str, str]] = {
    "attack": "packages/reeltalk-streaming/tests/integration/test_dead_servers.py",
    "every": "packages/reeltalk-streaming/tests/integration/test_dead_servers.py",
    "format": "packages/reeltalk/tests/integration/test_compat.py",
    "connections": "packages/reeltalk/tests/unit/llm/test_serving.py",
    "timeout_s": "packages/reeltalk/tests/unit/llm/test_senders.py",
    "max_retries": "packages/reeltalk/tests/unit/llm/test_senders.py",
    "give_up_after_s": "packages/reeltalk/tests/unit/llm/test_breaker.py",
    "backoff_s": "packages/reeltalk/tests/unit/llm/test_breaker.py",
    "overwrite": "packages/reeltalk/tests/integration/test_retry.py",
    "strict": "packages/reeltalk/tests/integration/test_faults_stay_with_items.py",
    "delete_replies": "packages/reeltalk/tests/integration/test_retry.py",
}
"""Options whose effect another test shows, which needs a server that fails, other answers, or a run before."""
PRICES: Final = ("--judge-price-in", "2", "--judge-price-out", "3")
VDEVAL: Final = ("--protocols", "vdeval")
CHECKLIST: Final = ("--protocols", "checklist", "--eval-rounds", "1")
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "bench": ("--bench", "OTHER_BENCH"),
    "limit": ("--limit", "1"),
    "beside": ("--beside", "yes"),
    "protocols": ("--protocols", "match,clair"),
    "metrics": ("--metrics", "token_f1"),
    "compat": ("--compat",),
    "prompts": ("--prompts", "PROMPTS"),
    "published": ("--published", "--prompts", "OFFICIAL"),
    "judge_history": ("--judge-history", "none"),
    "judge_summary": ("--judge-summary", "template"),
    "judge_shots": ("--judge-shots", "0"),
    "eval_rounds": ("--eval-rounds", "2"),
    "checklist_version": ("--checklist-version", "v1"),
    "null_units": ("--null-units", "0"),
    "language": ("--language", "zh"),
    "judge": ("--judge", "another"),
    "judge_base_url": ("--judge-base-url", "OTHER"),
    "judge_api_key_env": ("--judge-api-key-env", "OTHER_KEY"),
    "judge_max_reply_tokens": ("--judge-max-reply-tokens", "7"),
    "judge_price_in": PRICES,
    "judge_price_out": PRICES,
    "timeout_s": ("--timeout-s", "7"),
    "max_retries": ("--max-retries", "1"),
    "give_up_after_s": ("--give-up-after-s", "1"),
    "backoff_s": ("--backoff-s", "0.1"),
    "preflight": ("--no-preflight",),
    "max_calls": ("--max-calls", "2"),
    "max_tokens": ("--max-tokens", "2"),
    "max_cost": ("--max-cost", "0.0001"),
    "replies": ("--replies", "REPLIES"),
    "verbose": ("--verbose",),
}
"""Each option with a value that is not its default."""
BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "language": ("--metrics", "rouge_l"),
    "bench": VDEVAL,
    "published": VDEVAL,
    "judge_history": VDEVAL,
    "judge_summary": VDEVAL,
    "judge_shots": VDEVAL,
    "eval_rounds": ("--protocols", "checklist"),
    "checklist_version": CHECKLIST,
    "judge_price_in": ("--max-cost", "0.0001"),
    "judge_price_out": ("--max-cost", "0.0001"),
    "max_cost": PRICES,
}
"""What an option is about, or is counted against. It is given with the option and without it."""
QUICK: Final = ("judge_max_reply_tokens", "prompts", "judge_history", "metrics", "limit")
"""Options whose effect is tried without the full counts too."""
KINDS: Final = KINDS_BY_COMMAND["judge"]


@dataclass(frozen=True)
class Places:
    words: Mapping[str, str]
    """Paths and addresses by the word that stands for them."""
    servers: tuple[Server, Server]


def content(reference: str) -> Content:
    checklist = Checklist(items=tuple(ChecklistItem(question=f"Is it {n}?", expected=n < 4) for n in range(5)))
    summaries = {"template": "He takes a mug.", "refine": f"A man takes a mug. {reference}"}
    units = [
        QAChain(
            id=f"q{unit}",
            video_id="v",
            clip_id=None,
            turns=tuple(
                Turn(question=f"What is shown ({unit}.{n})?", references=(reference,), checklist=checklist)
                for n in range(2)
            ),
        )
        for unit in range(2)
    ]
    return Content(videos=[Video(id="v", split="test", summaries=summaries)], clips=[], chains=units)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judging")
    for name, reference in (("bench", "A red mug."), ("other", "Something else.")):
        Benchmark.create(folder / name).write_content(content(reference), stage="test")
    told = [{"unit_id": f"q{u}", "turn_index": n, "text": "A mug."} for u in range(2) for n in range(2)]
    (folder / "told.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told[:-1]), encoding="utf-8")
    command = ["evaluate", str(folder / "bench"), "--model", f"answers:{folder / 'told.jsonl'}", "--policy", "none"]
    assert run([*command, "--metrics", "rouge_l", "--out", str(folder / "run")]) in (0, 1)
    assert run(["prompts", "judge/clair", "--out", str(folder / "own")]) == 0
    mine = folder / "own" / "judge" / "clair.md"
    mine.write_text(mine.read_text(encoding="utf-8").rstrip() + "\nBe kind.\n", encoding="utf-8")
    (folder / "clone" / "VDEval").mkdir(parents=True)
    instruction = "\nRate the answer from 1 to 3, after 'So rating='.\n"
    (folder / "clone" / "VDEval" / "prompt.py").write_text(f"VDEVAL_INSTRUCTION = {instruction!r}\n", encoding="utf-8")
    adopt = ["prompts", "--from", "vdact", "--clone", str(folder / "clone"), "--out", str(folder / "official")]
    assert run(adopt) == 0
    return folder


@pytest.fixture
def places(folder: Path) -> Iterator[Places]:
    # A server keeps its first requests only, so each test has servers of its own.
    with (
        serve(willing_model.reply, sees_preflights=True) as one,
        serve(willing_model.reply, sees_preflights=True) as other,
    ):
        words = {"OTHER_BENCH": folder / "other", "PROMPTS": folder / "own", "OFFICIAL": folder / "official"}
        paths = {name: str(path) for name, path in words.items()}
        yield Places({"RUN": str(folder / "run"), "URL": one.base_url, "OTHER": other.base_url, **paths}, (one, other))


def judge_of(kind: ModelKind) -> tuple[str, ...]:
    names = {"server": "tiny", "provider": "inspect:openai/gpt-4o", "transformers": "transformers:nowhere"}
    if kind == "rule":
        return ()
    return "--judge", names[kind], *(("--judge-base-url", "URL") if kind != "transformers" else ())


def command(places: Places, kind: ModelKind, folder: Path, *more: str) -> list[str]:
    """The command. An option that is given twice has its last value."""
    asks = ("--protocols", "match" if kind == "rule" else "clair", "--metrics", "none")
    found: dict[str, tuple[str, ...]] = {}
    words = [*asks, *judge_of(kind), *more]
    starts = [place for place, word in enumerate(words) if word.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        found[words[start]] = tuple(words[start:end])
    known = {**places.words, "REPLIES": str(folder.with_name("shared.sqlite"))}
    given = [known.get(word, word) for part in found.values() for word in part]
    return ["judge", known["RUN"], "--out", str(folder), *given]


def bodies(server: Server, start: int) -> list[str]:
    def plain(body: Body) -> str:
        return json.dumps(body, sort_keys=True)

    return sorted(map(plain, server.requests[start:]))


def play(
    places: Places, kind: ModelKind, folder: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> dict[str, Any]:
    before = [len(server.requests) for server in places.servers]
    code = run(command(places, kind, folder, *more))
    out, said = capsys.readouterr()
    found: dict[str, Any] = {
        "code": code,
        "said": re.sub(r"/\S+", "", said),
        "out": re.sub(r"/\S+", "", out),
        "sent": [bodies(server, start) for server, start in zip(places.servers, before, strict=True)],
    }
    if (folder / "run.json").is_file():
        opened = Run.open(folder)
        found["rows"] = sorted((row.model, row.metric, row.signature, row.n, row.value) for row in opened.summary)
        found["benchmark"] = opened.info.settings["benchmark"]
        found["files"] = sorted(path.name for path in folder.iterdir())
    return found


def effect_of(
    option: str, kind: ModelKind, places: Places, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Found | None:
    """What an option does; None if it is accepted and does nothing."""
    # What is about a protocol or a price would itself be refused where no model is asked.
    asks = kind != "rule" or option == "language"
    beside = BESIDE.get(option, ()) if takes(option, kind) and asks else ()
    value = ("--protocols", "auto") if (option, kind) == ("protocols", "rule") else VALUES[option]
    given = play(places, kind, folder / "given", capsys, *beside, *value)
    idle = r"has no effect|are for --published|is for (?:protocols that ask|--protocols)"
    if given["code"] == 2 and re.search(idle, given["said"]):
        assert not (folder / "given").exists()
        assert given["sent"] == [[], []]
        return "refused"
    usual = play(places, kind, folder / "usual", capsys, *beside)
    assert usual["code"] in (0, 1) or {"judge_price_in", "judge_price_out"} & {option}, usual["said"]
    if "rows" in given and signatures(given) != signatures(usual):
        return "signed"
    return "effect" if usual != given else None


def signatures(found: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The signature of each number."""
    return {(metric, signature) for _, metric, signature, *_ in found["rows"]}


def all_options() -> list[str]:
    return [option.key for option in command_of(("judge",)).options]


def test_every_option_is_tried_here_or_elsewhere() -> None:
    assert sorted({*VALUES, *ELSEWHERE, *NEEDED}) == sorted(all_options())
    assert set(OPTIONS_BY_COMMAND["judge"]) <= set(all_options())
    for option, file in ELSEWHERE.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert option in text or f"--{option.replace('_', '-')}" in text, option


def takes(option: str, kind: ModelKind) -> bool:
    return option not in OPTIONS_BY_COMMAND["judge"] or kind in kinds_of_option(option, "judge")


@pytest.mark.parametrize("kind", KINDS)
def test_an_option_without_effect_is_refused(
    kind: ModelKind, places: Places, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in (name for name in VALUES if not takes(name, kind)):
        found = effect_of(option, kind, places, tmp_path / option, capsys)
        assert found == "refused", f"--{option} is accepted and the table says that it has no effect on {kind}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", VALUES)
def test_an_option_has_an_effect(
    option: str,
    kind: ModelKind,
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
    if kind == "transformers":
        pytest.skip("a tiny random checkpoint judges nothing")
    if not full and (option not in QUICK or kind == "provider"):
        pytest.skip("full counts: make test-full")
    found = effect_of(option, kind, request.getfixturevalue("places"), tmp_path, capsys)
    assert found is not None, f"--{option} is accepted and has no effect where the judge is a {kind}"
    if option in OPTIONS_BY_COMMAND["judge"]:
        assert found == ("effect" if option in UNSIGNED else "signed")
    else:
        assert found in ("signed", "effect")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--metrics", "rouge_l"), "--metrics has no effect with --attack"),
        (("--null-units", "1"), "--null-units has no effect with --attack"),
        (("--language", "en"), "--language has no effect with --attack"),
        (("--replies", "kept.sqlite"), "--replies has no effect: replies to attacks are not kept"),
        (("--verbose",), "--verbose has no effect with --attack"),
        (("--judge", "tiny"), "--judge has no effect: the protocols match ask no model"),
        (("--max-calls", "5"), "--max-calls has no effect: the protocols match ask no model"),
    ],
)
def test_an_attack_refuses_what_it_does_not_read(
    more: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    language = ("--metrics", "rouge_l") if "--language" in more else ()
    assert run(["judge", "--attack", "manipulation", "--protocols", "match", *more, *language]) == 2
    told = capsys.readouterr().err
    assert said in told or (language and "--metrics has no effect with --attack" in told)


def test_a_layout_is_not_for_runs(places: Places, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command(places, "rule", tmp_path / "out"), "--format", "vdact"]) == 2
    assert "--format has no effect" in capsys.readouterr().err


def test_evaluate_refuses_a_judge_that_nothing_asks(
    places: Places, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", places.words["OTHER_BENCH"], "--model", "oracle", "--policy", "none"]
    for option in (name for name in VALUES if name == "judge" or name.startswith("judge_")):
        given = [places.words.get(word, word) for word in VALUES[option]]
        assert run([*command, "--protocols", "match", *given, "--out", str(tmp_path / "run")]) == 2
        said = capsys.readouterr().err
        assert re.search(r"has no effect: the protocols match|is for --protocols vdeval", said), option
        assert not (tmp_path / "run").exists()
