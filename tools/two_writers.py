"""Benchmarks of writers about the same clips with results of all checks, for tests of the pages that show them.

`python tools/two_writers.py FOLDER` writes two: a careful writer, and one that plants faults.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.gates import (
    ANSWERABLE,
    DEPENDS,
    DIFFICULTY,
    EVIDENCE_CUT,
    FAULTS,
    VERIFIED,
    GateOutcome,
    GateResult,
)
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, GATES, VIDEOS

VIDEO_COUNT = 6
CLIP_COUNT = 4
HOSTILE = "<script>alert(1)</script> What is there?"
JUDGES = ["judge-1", "judge-2"]
THINGS = ("mug", "plate", "book", "pillow", "bottle", "towel")
ACTS = ("lift", "wash", "open", "fold")


def written(folder: Path, writer: str, *, careful: bool, judges: list[str] | None = None, judged: bool = True) -> Path:
    """Write a benchmark of one writer.

    Args:
        folder: Where it is created.
        writer: Name of the model.
        careful: False for a writer with faults: a hostile question, answers that nobody can check, one missing clip.
        judges: Who judged.
        judged: False for a benchmark without a judge.
    """
    benchmark = Benchmark.create(folder)
    clips = [
        Clip(
            id=ClipId(f"v{v}-c{c}"),
            video_id=VideoId(f"v{v}"),
            interval=Interval(start_s=10.0 * c, end_s=10.0 * c + 10),
        )
        for v in range(VIDEO_COUNT)
        for c in range(CLIP_COUNT)
    ]
    with benchmark.writing(stage="curate") as tables:
        tables.add(VIDEOS, [Video(id=VideoId(f"v{v}"), duration_s=40.0) for v in range(VIDEO_COUNT)])
        tables.add(CLIPS, clips)
    chains: list[QAChain] = []
    gates: list[GateResult] = []
    for number, clip in enumerate(clips):
        if not careful and number == 3:
            gates.append(
                GateResult(
                    gate="chains:written",
                    unit="clip",
                    unit_id=clip.id,
                    outcome=GateOutcome.UNWRITTEN,
                    reason="no JSON",
                    raw=("I cannot do that.",),
                )
            )
            continue
        chain = _chain(clip, number, writer, careful=careful)
        chains.append(chain)
        gates += _gates(chain, number, careful=careful, judges=judges or JUDGES, judged=judged)
    with benchmark.writing(stage="construct chains", settings={"writer": f"model:{writer}", "quality": 90}) as tables:
        tables.add(CHAINS, chains)
        tables.add(GATES, gates)
    return folder


def _chain(clip: Clip, number: int, writer: str, *, careful: bool) -> QAChain:
    thing, act = THINGS[number % 6], ACTS[number // 6]
    asked = [f"Who comes to {act} the {thing}?", f"Where does he {act} it?", f"What follows when the {thing} is done?"]
    answers = ["A person in a jacket.", f"At the {THINGS[(number + 1) % 6]} in the corner.", "He turns to the window."]
    if not careful:
        asked = ["What happens here?", "What does the person do?", HOSTILE if number == 0 else "What happens next?"]
    assert clip.interval is not None
    start_s = clip.interval.start_s
    turns = [
        Turn(
            question=question,
            references=(answer,),
            evidence=(Interval(start_s=start_s + 3 * n, end_s=start_s + 3 * n + 2.5),),
            labels={"vdact.question_type": (("D-OBJ", "D-LOC", "T-SEQ")[n if careful else 0],)},
        )
        for n, (question, answer) in enumerate(zip(asked, answers, strict=True))
    ]
    return QAChain(
        id=ChainId(f"chain-{clip.id}"),
        video_id=clip.video_id,
        clip_id=clip.id,
        turns=tuple(turns),
        extra={"writer": f"model:{writer}#1f2e3d4c"},
    )


def _gates(chain: QAChain, number: int, *, careful: bool, judges: list[str], judged: bool) -> Iterator[GateResult]:
    def gate(name: str, turn: int | None, outcome: GateOutcome, **more: object) -> GateResult:
        return GateResult.model_validate(
            {
                "gate": name,
                "unit": "chain",
                "unit_id": chain.id,
                "turn_index": turn,
                "outcome": outcome,
                **more,
            }
        )

    passed, flagged = GateOutcome.PASSED, GateOutcome.FLAGGED
    yield gate("chains:lint", None, passed)
    if not careful and number % 4 == 0:
        yield gate("chains:lint.given_away", 1, flagged, reason="the question has the words of its answer")
        yield gate(
            f"chains:{VERIFIED}",
            0,
            GateOutcome.REPLACED,
            reason="no elephant dances",
            value=1.0,
            extra={"verdicts": ["contradicted"] * len(judges), "judges": judges, "moment_s": 1.0},
        )
    for n in range(3):
        at_s = chain.turns[n].evidence[0].start_s
        unknown = not careful and (n + number) % 3 == 0
        if not judged:
            yield gate(f"chains:{VERIFIED}", n, GateOutcome.UNCHECKED, reason="no model judges; name one as --judge")
        else:
            verdicts = ["cannot tell" if unknown else "supported"] * len(judges)
            yield gate(
                f"chains:{VERIFIED}",
                n,
                flagged if unknown else passed,
                reason="the corner is not in the picture" if unknown else None,
                value=1.0,
                extra={"moment_s": at_s, "verdicts": verdicts, "judges": judges},
            )
            if unknown and number % 2:
                yield gate(f"chains:{FAULTS}", n, flagged, reason="it could be asked about any video")
        leak = "a model that has only the question answers 'He turns to the window.'"
        leaks = not careful and n == 2
        yield gate("gates:leak.blind", n, passed)
        yield gate("gates:leak.model.blind", n, flagged if leaks else passed, reason=leak if leaks else None)
        yield gate(f"gates:{ANSWERABLE}", n, passed)
        yield gate(
            f"gates:{EVIDENCE_CUT}",
            n,
            flagged if unknown else passed,
            reason="without its evidence it is answered all the same" if unknown else None,
        )
        if n:
            yield gate(f"gates:{DEPENDS}", n, passed, value=float(n))
        yield gate(f"gates:{DIFFICULTY}", n, passed, value=0.5 if unknown else 0.0)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    for name, is_careful in (("careful-7b", True), ("careless-2b", False)):
        print(written(target / name, name, careful=is_careful))
