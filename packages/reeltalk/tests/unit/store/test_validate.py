"""The invariants that span tables, each broken once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pytest

from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, PathId, VideoId
from reeltalk.schema.scoring import JudgedScore
from reeltalk.schema.speech import Utterance
from reeltalk.schema.stream import Moment, ProactiveTask, UserRequest
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.invariants import check_content
from reeltalk.store.validate import validate

V1, V2 = VideoId("v1"), VideoId("v2")


def ref(chain: str, turn: int) -> TurnRef:
    return TurnRef(unit_id=chain, turn_index=turn)


def sound() -> Content:
    """Two chains of a video, linked, with a path along them."""
    turns = (Turn(question="a?"), Turn(question="b?", evidence=(Interval(start_s=0, end_s=30),), asked_at_s=30))
    return Content(
        videos=[Video(id=V1, duration_s=60, split="train", sha256="a" * 64), Video(id=V2, split="test")],
        clips=[
            Clip(id=ClipId("c1"), video_id=V1, interval=Interval(start_s=0, end_s=30)),
            Clip(id=ClipId("c2"), video_id=V1, interval=Interval(start_s=29, end_s=60)),
        ],
        chains=[
            QAChain(id=ChainId("q1"), video_id=V1, clip_id=ClipId("c1"), turns=turns),
            QAChain(id=ChainId("q2"), video_id=V1, clip_id=ClipId("c2"), turns=turns),
        ],
        linkages=[Linkage(source=ref("q1", 1), target=ref("q2", 0), relation="People")],
        paths=[
            DialoguePath(
                id=PathId("p1"),
                video_id=V1,
                steps=tuple(PathStep(ref=r) for r in (ref("q1", 0), ref("q1", 1), ref("q2", 0))),
            )
        ],
        dialogues=[Dialogue(id=DialogueId("d1"), video_id=V2, turns=turns[:1])],
        answers=[Answer(model="m", unit_id="d1", turn_index=0, text="yes")],
        proactive=[task("t1", (1, 4), (3, 9))],
    )


def task(name: str, *spans: tuple[float, float], video: VideoId = V1, until_s: float = 60) -> ProactiveTask:
    moments = tuple(Moment(interval=Interval(start_s=a, end_s=b), references=("He jumps.",)) for a, b in spans)
    said = UserRequest(text="Tell me.", moments=moments)
    return ProactiveTask(id=name, video_id=video, requests=(said,), until_s=until_s)


def passed(chain: str, turn: int | None = None) -> GateResult:
    return GateResult(gate="lint", unit="chain", unit_id=chain, turn_index=turn, outcome=GateOutcome.PASSED)


def scored(unit: Literal["turn", "path"], name: str, turn: int | None = None) -> JudgedScore:
    return JudgedScore(unit=unit, unit_id=name, turn_index=turn, model="m", criterion="detail", value=1, judge="none")


def spoken(video: str, end_s: float) -> Utterance:
    return Utterance(video_id=VideoId(video), interval=Interval(start_s=1, end_s=end_s), text="Hello.")


def test_a_sound_benchmark_has_no_findings() -> None:
    assert list(check_content(sound())) == []


ASKED = ("What does she lift?", "Where does she carry it?", "What stands beside it there?")
TOLD = ("She lifts a blue mug.", "To the window sill.", "A small cactus in a pot.")


def chain(name: str, video: str, told: Sequence[str] = TOLD, asked: Sequence[str] = ASKED) -> QAChain:
    turns = tuple(Turn(question=q, references=(a,)) for q, a in zip(asked, told, strict=True))
    return QAChain(id=ChainId(name), video_id=VideoId(video), turns=turns)


def chains_of(videos: Sequence[str], *told: Sequence[str]) -> list[QAChain]:
    """A chain for each video; those that are not told otherwise say the same."""
    return [chain(f"q{n}", video, told[n] if n < len(told) else TOLD) for n, video in enumerate(videos)]


OTHERS = [[f"She lifts thing number {n}.", "To the sill over there.", "A cactus."] for n in range(40)]
WORD_FOR_WORD = {
    "all of one video": (chains_of(["v"] * 11), 11),
    "of several videos": (chains_of(["v1", "v2", "v3"]), 3),
    "with other capitals and stops": ([chain("a", "v"), chain("b", "v", [text.upper() + "!" for text in TOLD])], 2),
    "two of ten": (chains_of([f"v{n}" for n in range(10)], *OTHERS[:8]), 2),
    "in Chinese": ([chain(str(n), "v", ("她拿起了杯子。", "在窗台上。", "一盆仙人掌。")) for n in range(3)], 3),
}


@pytest.mark.parametrize("case", WORD_FOR_WORD)
def test_chains_that_say_the_same_about_different_clips_are_a_finding(case: str) -> None:
    chains, same = WORD_FOR_WORD[case]
    videos = [Video(id=VideoId(name)) for name in dict.fromkeys(chain.video_id for chain in chains)]
    (found,) = check_content(Content(videos=videos, chains=chains))
    assert (found.severity, found.where) == ("warning", "chains")
    assert found.problem.startswith(f"{same} of {len(chains)} chains have the questions and answers of another one")
    assert str(chains[-1].id) in found.problem or len(chains) > 3


MAY_BE_THE_SAME = {
    "different answers": chains_of(["v"] * 11, *OTHERS[:11]),
    "two of forty": chains_of(["v"] * 40, *OTHERS[:38]),
    "yes and no": [chain(str(n), "v", ("Yes.", "No.", "Yes.")) for n in range(9)],
    "one question": [chain(str(n), "v", TOLD[2:], ASKED[2:]) for n in range(9)],
    "a video and its copy": [chain("a", "v1"), chain("b", "v2")],
}


@pytest.mark.parametrize("case", MAY_BE_THE_SAME)
def test_chains_that_may_say_the_same_are_no_finding(case: str) -> None:
    chains = MAY_BE_THE_SAME[case]
    names = dict.fromkeys(chain.video_id for chain in chains)
    videos = [Video(id=name, lookalikes="v1" if name == "v2" or "v2" in names else None) for name in names]
    assert list(check_content(Content(videos=videos, chains=chains))) == []


def test_dialogues_that_say_the_same_are_a_finding_too() -> None:
    turns = chain("q", "v").turns
    dialogues = [Dialogue(id=DialogueId(f"d{n}"), video_id=V1, turns=turns) for n in range(4)]
    (found,) = check_content(Content(videos=[Video(id=V1)], dialogues=dialogues))
    assert str(found).startswith("warning: dialogues: 4 of 4 dialogues have the questions and answers of another one")


BROKEN: list[tuple[Callable[[Content], object], str]] = [
    (lambda c: c.proactive.append(task("t2", video=VideoId("v9"))), "proactive:t2: belongs to video 'v9'"),
    (lambda c: c.proactive.append(task("t2", until_s=61)), "goes on until 61 s; the video lasts 60 s"),
    (lambda c: c.proactive.append(task("t2", (5, 6), (4, 9))), "t2.requests[0].moments[1]: begins at 4 s, before 5 s"),
    (lambda c: c.proactive.append(task("t2", (50, 59), until_s=55)), "ends at 59 s; the stream ends at 55 s"),
    (lambda c: c.proactive.append(c.proactive[0]), "proactive:t1: stands 2 times"),
    (lambda c: c.videos.append(c.videos[0]), "videos:v1: stands 2 times"),
    (lambda c: c.videos.append(Video(id=VideoId("v3"), split="test", sha256="a" * 64)), "in several splits"),
    (lambda c: c.clips.append(Clip(id=ClipId("c3"), video_id=VideoId("v9"))), "belongs to video 'v9'"),
    (lambda c: c.speech.append(spoken("v9", 2)), "speech:0: belongs to video 'v9'"),
    (lambda c: c.speech.append(spoken("v1", 61)), "speech:0: ends at 61 s but video 'v1' lasts 60 s"),
    (
        lambda c: c.clips.append(Clip(id=ClipId("c3"), video_id=V1, interval=Interval(start_s=50, end_s=61))),
        "ends at 61 s but video 'v1' lasts 60 s",
    ),
    (
        lambda c: c.chains.append(QAChain(id=ChainId("q3"), video_id=V2, clip_id=ClipId("c1"), turns=())),
        "is about video 'v2' but clip 'c1' is of 'v1'",
    ),
    (
        lambda c: c.chains.append(QAChain(id=ChainId("q3"), video_id=V1, turns=(Turn(question="?", asked_at_s=90),))),
        "turn 1: asked at 90.00 s, but the video lasts only 60.00 s",
    ),
    (
        lambda c: c.dialogues.append(
            Dialogue(
                id=DialogueId("d2"),
                video_id=V1,
                turns=(Turn(question="?", evidence=(Interval(start_s=1, end_s=99),)),),
            )
        ),
        "turn 1: evidence 1 ends at 99.00 s, but the video lasts",
    ),
    (
        lambda c: c.linkages.append(Linkage(source=ref("q2", 0), target=ref("q1", 0), relation="People")),
        "leads back in time",
    ),
    (
        lambda c: c.linkages.append(Linkage(source=ref("q1", 7), target=ref("q2", 0), relation="People")),
        "its source is turn 7 of chain 'q1', which is not there",
    ),
    (
        lambda c: c.paths.append(
            DialoguePath(id=PathId("p2"), video_id=V1, steps=(PathStep(ref=ref("q2", 0)), PathStep(ref=ref("q1", 1))))
        ),
        "paths:p2.steps[1]: steps back in time",
    ),
    (
        lambda c: c.paths.append(DialoguePath(id=PathId("p2"), video_id=V2, steps=(PathStep(ref=ref("q2", 0)),))),
        "leaves video 'v2' for 'v1'",
    ),
    (
        lambda c: c.scenes.append(Scene(id="s1", video_id=V1, kind="single", clip_ids=("c1", "c9"))),
        "refers to clip 'c9'",
    ),
    (lambda c: c.gates.append(passed("q9")), "gates:0: is about chain 'q9', which is not there"),
    (lambda c: c.gates.append(passed("q1", 5)), "gates:0: is about turn 5 of 2 turns"),
    (lambda c: c.scores.append(scored("turn", "q1", 2)), "scores:m/q1/detail: scores turn 2 of a turn of 2 turns"),
    (lambda c: c.scores.append(scored("path", "p9")), "scores:m/p9/detail: scores path 'p9'"),
    (
        lambda c: c.linkages.append(Linkage(source=ref("q1", 1), target=ref("q1", 1), relation="People")),
        "linkages:1: leads back in time, from 'q1' to 'q1'",
    ),
    (lambda c: c.videos.pop(), "dialogues:d1: belongs to video 'v2'"),
    (lambda c: c.answers.append(Answer(model="m", unit_id="d9", turn_index=0, text="")), "answers dialogue 'd9'"),
    (
        lambda c: c.answers.append(Answer(model="m", unit_id="d1", turn_index=3, text="")),
        "answers turn 3 of a dialogue of 1 turns",
    ),
    (
        lambda c: c.dialogues.append(
            Dialogue(
                id=DialogueId("d3"),
                video_id=V2,
                turns=(Turn(question="?", labels={"svbench.skill": ("Skating",)}),),
            )
        ),
        "warning: dialogues:d3.turns[0]: label 'Skating' is not among the known ones",
    ),
]


@pytest.mark.parametrize(("damage", "message"), BROKEN, ids=[message[:40] for _, message in BROKEN])
def test_a_broken_invariant_is_named(damage: Callable[[Content], object], message: str) -> None:
    content = sound()
    damage(content)
    found = [str(finding) for finding in check_content(content)]
    assert any(message in line for line in found), found


def test_files_must_be_those_of_the_manifest(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "b")
    content = sound()
    (tmp_path / "film.mp4").write_bytes(b"film")
    content.media = {"unused": tmp_path / "film.mp4"}
    benchmark.write_content(content, stage="test")
    assert validate(benchmark) == []
    (tmp_path / "b" / "videos.jsonl").write_text('{"id":"v1"}\n')
    (tmp_path / "b" / "linkages.jsonl").unlink()
    (tmp_path / "b" / "notes.txt").write_text("mine")
    (tmp_path / "b" / "media" / benchmark.media.names()[0]).write_bytes(b"another film")
    (tmp_path / "b" / "media" / "Thumbs.db").write_bytes(b"not a film")
    (tmp_path / "b" / "media" / "aside").mkdir()
    found = {finding.where: finding for finding in validate(benchmark)}
    assert "was edited or damaged" in found["videos.jsonl"].problem
    assert "missing" in found["linkages.jsonl"].problem
    assert found["notes.txt"].severity == "warning"
    assert found["media/Thumbs.db"].severity == "warning"
    assert any(where.startswith("media/") and finding.severity == "error" for where, finding in found.items())


def test_a_doubt_is_a_warning_that_gives_the_reason_for_keeping_the_turn() -> None:
    content = sound()
    early = Turn(question="What will she lift?", evidence=(Interval(start_s=40, end_s=45),), asked_at_s=31.4)
    reason = "It asks what comes next."
    kept = early.model_copy(update={"extra": {"kept_because": reason}})
    content.chains.append(QAChain(id=ChainId("q3"), video_id=V1, clip_id=ClipId("c2"), turns=(early, kept)))
    findings = [str(finding) for finding in check_content(content)]
    said = "evidence 1 ends at 45.00 s, after the question at 31.40 s: end it by then, or ask later"
    assert findings == [
        f"warning: chains:q3.turns[0]: turn 1: {said}",
        f"warning: chains:q3.turns[1]: turn 2: {said}; kept because: {reason}",
    ]
