"""How many faults of a set of drafts construction acts on, flags or lets through, by kind; which good ones it touches.

    python tools/fault_rates.py FAULTS.json GOOD.json [--only even|odd] [--clean]

Each draft is a chain with `turns` (`question`, `answer`, `start_s`, `end_s`, `true`, `evidence_true`), a `clip`, and
for a faulty one its `kind`, `faulty_turn` (an index), `needs_meaning`, and the `scope` `chain` if turns are at fault
together. The writer heeds no advice, so what is found stays found. The truthful judge says of each turn what the draft
says of its truth.
"""

import argparse
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk_build.construct.evidence import evidence_complaint
from reeltalk_build.construct.replies import ChainReply, ChainTurnReply, Verdict
from reeltalk_build.construct.revising import write_checked_chain
from reeltalk_build.construct.verification import TurnVerdict
from reeltalk_build.construct.writers import NO_JUDGE, ChainJudgement, Unwritten

Draft = Mapping[str, Any]
_FOUND: Final = (GateOutcome.FLAGGED, GateOutcome.DROPPED, GateOutcome.REPLACED, GateOutcome.UNWRITTEN)
OUTCOMES: Final = ("acted on", "flagged", "clean")


class _Told:
    """A writer that gives one draft, and with a judge the truth about it."""

    signature, threads, looks_around = "told", 1, False

    def __init__(self, draft: Draft, judged: bool) -> None:
        self._draft, self._judged = draft, judged

    def chain(self, *_: Any, **__: Any) -> QAChain | Unwritten:
        start_s, end_s = self._draft["clip"]
        try:
            told = tuple(map(ChainTurnReply.model_validate, self._draft["turns"]))
        except ValidationError as error:
            return Unwritten(str(error))
        # A set may have shorter chains than a writer is asked for.
        reply = ChainReply.model_construct(turns=told)
        if complaint := evidence_complaint(reply, Interval(start_s=start_s, end_s=end_s)):
            return Unwritten(complaint)
        turns = (
            Turn(
                question=turn.question,
                references=(turn.answer,),
                asked_at_s=end_s,
                evidence=(Interval(start_s=max(start_s, turn.start_s), end_s=min(end_s, turn.end_s)),),
            )
            for turn in told
        )
        return QAChain(id="chain", video_id="video", turns=tuple(turns))

    def judge(self, *_: Any) -> ChainJudgement | Unwritten:
        if not self._judged:
            return Unwritten(NO_JUDGE)
        return ChainJudgement(overall=100.0, dimensions={}, turns=tuple(map(self._verdict, self._draft["turns"])))

    def _verdict(self, turn: Draft) -> TurnVerdict:
        verdict: Verdict = "supported" if turn.get("true", True) else "contradicted"
        faults = () if turn.get("evidence_true", True) else ("its evidence does not show it",)
        return TurnVerdict(verdict, "what there is to see", None, faults, (verdict,), ("truthful",))


OF_A_CHAIN: Final = frozenset({"lint.dependence", "lint.order", "lint.yes_no"})
"""Rules of SVBench's chains, which a set need not keep: what only these find is clean."""


def check(draft: Draft, *, judged: bool) -> tuple[str, tuple[str, ...]]:
    """What becomes of a draft: one of `OUTCOMES`, and by which gates."""
    clip = Clip(id="clip", video_id="video", interval=Interval(start_s=draft["clip"][0], end_s=draft["clip"][1]))
    video = Video(id="video")
    kept, gates = write_checked_chain(_Told(draft, judged), video, clip, least=1)  # type: ignore[arg-type]
    together = draft.get("scope") == "chain" or draft.get("faulty_turn") is None
    turns = set(range(len(draft["turns"]))) if together else {draft["faulty_turn"]}
    found = [gate for gate in gates if (gate.turn_index is None or gate.turn_index in turns) and gate.outcome in _FOUND]
    names = tuple(sorted({gate.gate for gate in found} - OF_A_CHAIN))
    if kept is None or len(kept.turns) <= max(turns):
        return "acted on", names
    return ("flagged" if names else "clean"), names


def is_even(kind: str) -> bool:
    """The half of the kinds that a kind is in."""
    return hashlib.sha256(kind.encode()).digest()[0] % 2 == 0


def rates(drafts: list[Draft], *, judged: bool) -> dict[str, Counter[str]]:
    """Counts of outcomes by kind."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for draft in drafts:
        found[draft["kind"]][check(draft, judged=judged)[0]] += 1
    return found


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", type=Path)
    parser.add_argument("good", type=Path)
    parser.add_argument("--only", choices=("even", "odd"), help="one half of the kinds, by a hash of their names")
    parser.add_argument("--clean", action="store_true", help="print the faulty turns that stay clean without a judge")
    options = parser.parse_args()
    faults, good = (json.loads(path.read_text(encoding="utf-8")) for path in (options.faults, options.good))
    if options.only:
        faults = [draft for draft in faults if is_even(draft["kind"]) == (options.only == "even")]
    visible = [draft for draft in faults if not draft.get("needs_meaning")]
    for name, drafts in (("visible in the text", visible), ("all", faults)):
        for judged in (False, True):
            total = sum(rates(drafts, judged=judged).values(), Counter[str]())
            shares = ", ".join(f"{outcome} {total[outcome]}" for outcome in OUTCOMES)
            caught = 1 - total["clean"] / max(1, total.total())
            print(
                f"{name}, {'a truthful' if judged else 'no'} judge: {shares} of {total.total()} ({caught:.1%} caught)"
            )
    print("by kind, without a judge:")
    for kind, counts in sorted(rates(faults, judged=False).items()):
        print(f"  {' / '.join(str(counts[one]) for one in OUTCOMES)}  {kind}")
    for draft in faults if options.clean else ():
        if check(draft, judged=False)[0] == "clean":
            print(f"  clean: {draft['id']} {draft['kind']}: {json.dumps(draft['turns'], ensure_ascii=False)}")
    touched = [(draft, names) for draft in good if (names := check(draft, judged=False)[1])]
    print(f"good drafts touched: {len(touched)} of {len(good)}")
    for draft, names in touched:
        print(f"  {draft['id']} {draft.get('lookalike', '')}: {', '.join(names)}")


if __name__ == "__main__":
    main()
