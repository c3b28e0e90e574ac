"""Judges of all sorts behind a real server: which of them construction believes, and what it says of them."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from faulty_writer import Cast
from invented_clips import STORIES, tell_clips
from scripted_server import Body, Server, serve, words

from reeltalk.cli import run
from reeltalk.metrics.judge_rates import CHANCE_LEVEL, LEAST_REFUSED, JudgeRate, Pairs, judge_rates
from reeltalk.metrics.turn_checks import benchmark_quality, quality_card, quality_sentences
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.gates import VERIFIED, GateOutcome
from reeltalk.schema.record import ChainId, ClipId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES, GATES
from reeltalk_build.construct.canaries import KINDS, PER_KIND, READ_AGAIN, draw_canaries

CLIPS = 12
"""In two videos."""
Check = dict[str, Any]
KNOWN_WORDS = frozenset(
    word
    for story in STORIES.values()
    for turn in story.turns()
    for word in re.findall(r"[a-z]+", " ".join(turn).lower())
)


def _say(verdict: str) -> Callable[[Check, str], None]:
    def said(check: Check, turn: str) -> None:
        check["verdict"] = verdict

    return said


def _flip(check: Check, turn: str) -> None:
    drawn = hashlib.sha256(f"{turn} {check['number']}".encode()).digest()[0]
    check["verdict"] = "supported" if drawn % 2 else "contradicted"


def _overlook_some(check: Check, turn: str) -> None:
    if hashlib.sha256(turn.encode()).digest()[0] % 8 == 0:
        check["verdict"] = {"supported": "cannot tell"}.get(check["verdict"], "supported")


def _look_at_form(check: Check, turn: str) -> None:
    is_english = set(re.findall(r"[a-z]+", turn.lower())) <= KNOWN_WORDS
    check["verdict"] = "supported" if is_english else "cannot tell"


def _constant(check: Check, turn: str) -> None:
    check["verdict"] = "supported" if check["number"] % 2 else "cannot tell"


JUDGES: Mapping[str, Callable[[Check, str], None]] = {
    "yes-man": _say("supported"),
    "no-man": _say("contradicted"),
    "constant": _constant,
    "coin-flip": _flip,
    "lazy": _look_at_form,
    "truthful": lambda check, turn: None,
    "distracted": _overlook_some,
}
RARE = ("no-man", "constant", "coin-flip")
"""Judges that are stopped as the yes-man is, for another reason (`test_what_a_judge_is_stopped_for`)."""


def replies(cast: Cast) -> Callable[[Body], str]:
    """What the models say: the cast, of whose judge each judge makes verdicts of its own."""

    def reply(body: Body) -> str:
        said = json.loads(text) if (text := cast.reply(body)).startswith("{") else None
        checks = (said or {}).get("checks") or (said or {}).get("turns") or []
        if body["model"] not in JUDGES or not checks or "verdict" not in checks[0]:
            return text
        shown = "\n".join(words(message) for message in body["messages"])
        turns = re.findall(r"^\d+\. Q: (.+\n   A: .*)$", shown, re.MULTILINE)
        for check, turn in zip(checks, turns, strict=True):
            JUDGES[body["model"]](check, turn)
        return json.dumps(said)

    return reply


def construct(folder: Path, server: Server, *judges: str, steps: tuple[str, ...] = ("chains",)) -> int:
    command = ["construct", str(folder), "--writer", "writer", "--base-url", server.base_url, "--sees", "text"]
    command += [word for judge in judges for word in ("--judge", judge)]
    return run([*command, *(word for step in steps for word in ("--steps", step)), "--connections", "4"])


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chains that a truthful judge has checked, and no other."""
    folder = tmp_path_factory.mktemp("alone") / "told"
    tell_clips(folder, CLIPS)
    with serve(replies(Cast())) as server:
        assert construct(folder, server, "truthful") == 0
    return folder


@pytest.fixture(scope="module")
def every_step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chains, scenes and dialogues that a truthful judge has checked; a second run has asked nothing."""
    folder = tmp_path_factory.mktemp("steps") / "told"
    tell_clips(folder, CLIPS)
    steps = ("chains", "scenes", "dialogues")
    with serve(replies(Cast())) as server:
        assert construct(folder, server, "truthful", steps=steps) == 0
        asked = server.count
        assert construct(folder, server, "truthful", steps=steps) == 0
        assert server.count == asked
    return folder


@pytest.mark.parametrize(
    "judge",
    ["yes-man", "lazy", "truthful", *(pytest.param(judge, marks=pytest.mark.slow) for judge in RARE)],
)
def test_a_judge_that_does_not_look_stops_the_step(
    judge: str, alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "told"
    tell_clips(folder, CLIPS)
    with serve(replies(Cast())) as server:
        code = construct(folder, server, judge)
        said = capsys.readouterr()
        if judge == "truthful":
            assert code == 0
            (rate,) = judge_rates(Benchmark.open(folder).read(GATES))
            assert rate.pairs.detected.share == 1.0
            assert rate.pairs.alarms.share == 0.0
            assert rate.pairs.count == PER_KIND * len(KINDS)
            assert re.search(r"The judge truthful, turns of chains: it refused 100 % \(\d+ to 100 %; ", said.out)
            return
        assert code == 1
        assert Benchmark.open(folder).rows(CHAINS) == 0
        assert f"the judge {judge} cannot be used in the step chains: " in said.err
        assert "gibberish" in said.err
        assert re.search(r"^all +\d+ % \(\d+ to \d+ %; \d+ of \d+\) +\d+ % ", said.err, re.MULTILINE)
        assert "replies are kept" in said.err
        asked = server.count
        # The same command with another judge asks the writer for nothing a second time.
        assert construct(folder, server, "truthful") == 0
    assert asked > 0
    assert (folder / "chains.jsonl").read_bytes() == (alone / "chains.jsonl").read_bytes()
    assert (folder / "gates.jsonl").read_bytes() == (alone / "gates.jsonl").read_bytes()


def test_rates_stand_beside_what_passed_in_every_step(every_step: Path) -> None:
    quality = benchmark_quality(Benchmark.open(every_step))
    assert [(rate.step, rate.problem) for rate in quality.rates] == [("chains", None), ("dialogues", None)]
    card = "\n".join(quality_card(quality))
    for rate in quality.rates:
        assert f"{rate.pairs.count} of {rate.pairs.count}" in card
    assert "| Answer verified |" in card
    assert "Its judge refuses of wrong turns" in card
    checks = {count.check.name: count.judged for count in quality.checks}
    assert checks["verified"]
    assert not checks["rules"]


def test_without_canaries_nobody_has_measured_the_judge(tmp_path: Path) -> None:
    folder = tmp_path / "told"
    tell_clips(folder, CLIPS)
    with serve(replies(Cast())) as server:
        base = ["construct", str(folder), "--writer", "writer", "--base-url", server.base_url, "--sees", "text"]
        assert run([*base, "--judge", "yes-man", "--steps", "chains", "--no-canaries"]) == 0
    sentences = list(quality_sentences(benchmark_quality(Benchmark.open(folder))))
    assert "Not checked: whether yes-man would have noticed a wrong turn." in sentences


def test_two_judges_vote_by_what_they_notice(tmp_path: Path) -> None:
    folder = tmp_path / "told"
    tell_clips(folder, CLIPS)
    with serve(replies(Cast())) as server:
        assert construct(folder, server, "truthful", "distracted") == 0
    benchmark = Benchmark.open(folder)
    weights = {rate.judge: rate.weight for rate in judge_rates(benchmark.read(GATES))}
    assert weights["distracted"] < weights["truthful"] == 1.0
    verified = [gate for gate in benchmark.read(GATES) if gate.gate == f"chains:{VERIFIED}"]
    split = [gate for gate in verified if len(set(gate.extra["verdicts"])) > 1]
    # The judge that notices more decides; two equal votes would leave it open.
    assert {gate.outcome for gate in verified} == {GateOutcome.PASSED}
    assert split


def test_canaries_follow_the_seed_and_are_few(every_step: Path) -> None:
    benchmark = Benchmark.open(every_step)
    chains: list[QAChain | Dialogue] = [*islice(benchmark.read(CHAINS), READ_AGAIN)]
    dialogues: list[QAChain | Dialogue] = [*islice(benchmark.read(DIALOGUES), READ_AGAIN)]
    for units in (chains, dialogues):
        drawn, again, other = (list(draw_canaries(units, seed, "en")) for seed in (17, 17, 18))
        assert drawn == again != other
        kinds = [kind for _, changed in drawn for kind in changed.values()]
        assert all(kinds.count(kind) <= 2 * PER_KIND for kind in KINDS)
        assert {"other_answer", "neighbour_question", "gibberish"} <= set(kinds)
        for unit, (copy, changed) in zip(units, drawn, strict=True):
            differ = {n for n, turn in enumerate(unit.turns) if copy.turns[n] != turn}
            assert differ == set(changed)
            assert len(differ) < len(unit.turns)


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        (Pairs(missed=18), "everything"),
        (Pairs(both=18), "everything"),
        (Pairs(missed=9, both=9), "the same"),
        (Pairs(caught=5, missed=4, both=4, turned=5), "coin"),
        (Pairs(caught=7, missed=11), f"{LEAST_REFUSED:.0%}"),
        (Pairs(caught=4, missed=1, both=12, turned=1), "coin"),
        (Pairs(caught=16, missed=2), None),
        # A careless writer: most originals are wrong too, and what its judge says of the others still tells.
        (Pairs(caught=7, missed=1, both=10), None),
        (Pairs(missed=5), None),
    ],
)
def test_what_a_judge_is_stopped_for(pairs: Pairs, why: str | None) -> None:
    problem = JudgeRate("chains", "judge", {"gibberish": pairs}).problem
    assert problem is None if why is None else problem is not None and why in problem


def test_a_coin_passes_less_often_than_is_said() -> None:
    from math import comb

    passing = 0.0
    for discordant in range(19):
        for told in range(discordant + 1):
            pairs = Pairs(caught=told, turned=discordant - told, missed=18 - discordant)
            if JudgeRate("chains", "coin", {"x": pairs}).problem is None:
                passing += comb(18, discordant) * comb(discordant, told) / 2**discordant / 2**18
    assert passing <= CHANCE_LEVEL


def test_a_run_that_was_stopped_while_judges_were_judged_goes_on_to_the_same_bytes(
    alone: Path, tmp_path: Path, full: bool
) -> None:
    stopped = tmp_path / "stopped"
    tell_clips(stopped, CLIPS)
    with serve(replies(Cast())) as server:
        base = ["construct", str(stopped), "--writer", "writer", "--base-url", server.base_url, "--sees", "text"]
        base += ["--judge", "truthful", "--steps", "chains", "--connections", "4"]
        for most in (9, 20, 33, 45) if full else (20, 45):
            assert run([*base, "--max-calls", str(most)]) == 2
        assert run(base) == 0
    for name in ("chains.jsonl", "gates.jsonl"):
        assert (stopped / name).read_bytes() == (alone / name).read_bytes()


def test_canaries_are_drawn_in_chinese_too() -> None:
    said = [("他先拿起什么？", "他先拿起一个红色的杯子，之后打开那个柜子。"), ("桌上有几个碗？", "桌上有三个碗。")]
    other = [("谁在花园里浇水？", "一位园丁在浇水。"), ("屋顶上落着什么？", "两只鸽子落在那里。")]
    chains = [
        QAChain(
            id=ChainId(name),
            video_id=VideoId("v"),
            clip_id=ClipId(name),
            turns=tuple(Turn(question=question, references=(answer,)) for question, answer in 2 * turns),
        )
        for name, turns in (("a", said), ("b", other))
    ]
    drawn = list(draw_canaries(chains, 17, "zh"))
    kinds = [kind for _, changed in drawn for kind in changed.values()]
    assert {"count_off_by_one", "gibberish", "other_answer"} <= set(kinds)
    for chain, (copy, changed) in zip(chains, drawn, strict=True):
        assert all(copy.turns[index] != chain.turns[index] for index in changed)
