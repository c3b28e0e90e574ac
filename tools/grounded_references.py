"""Are VDAct's human reference answers true by its graphs? Coverage, acceptance and disagreements of the graph judge.

`python tools/grounded_references.py VDACT [--half even|odd] [--show N]`, where VDACT is a folder with VDAct's release
and the recovered order of its scenarios (`derived/`). Rules were developed on scenarios of even place; those of odd
place were looked at once they stood.
"""

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.graph.grounded import Ground, Verdict
from reeltalk.graph.source import read_graphs, read_initial_rooms
from reeltalk.graph.story import Story

HALVES: Final = {"even": 0, "odd": 1}
OTHERS: Final = 3
"""Wrong answers that are tried on each covered turn."""


@dataclass(frozen=True)
class Checked:
    """A reference answer beside what the graph says of it."""

    dialogue: str
    turn: int
    question: str
    answer: str
    verdict: Verdict


class References:
    """VDAct's test dialogues with the graphs of their scenarios.

    Args:
        folder: VDAct's release with `derived/`.
        half: `even` or `odd` scenarios; all by default.
    """

    def __init__(self, folder: Path, half: str | None = None) -> None:
        graphs = read_graphs(folder / "kg_activity.zip")
        rooms = read_initial_rooms(folder / "derived" / "initial_rooms.json")
        every = json.loads((folder / "derived" / "dialogue_test_rebuilt.json").read_text(encoding="utf-8"))
        names = sorted({dialogue["scenario_id"] for dialogue in every})
        kept = set(names if half is None else names[HALVES[half] :: 2])
        self.dialogues = [dialogue for dialogue in every if dialogue["scenario_id"] in kept]
        self.grounds: dict[str, Ground] = {}
        for dialogue in self.dialogues:
            if dialogue["scenario_id"] not in self.grounds:
                story = Story([graphs[name] for name in dialogue["activities"]])
                self.grounds[dialogue["scenario_id"]] = Ground(story, rooms)

    def checked(self, answers: Mapping[tuple[str, int], str] | None = None) -> list[Checked]:
        """Every turn with the graph's verdict on its reference, or on another answer to it.

        Args:
            answers: Answers by dialogue and turn in place of the references; turns without one are left out.
        """
        found = []
        for dialogue in self.dialogues:
            ground, history = self.grounds[dialogue["scenario_id"]], list[tuple[str, str]]()
            for place, turn in enumerate(dialogue["turns"]):
                reference = turn["answer"]
                answer = reference if answers is None else answers.get((dialogue["id"], place))
                if answer is not None:
                    verdict = ground.check(turn["question"], answer, history)
                    found.append(Checked(dialogue["id"], place, turn["question"], answer, verdict))
                history.append((turn["question"], reference))
        return found

    def wrong(self, rows: Sequence[Checked], *, seed: int = 1) -> Counter[str]:
        """What becomes of wrong answers: those to questions of the same type for which other facts are expected."""
        draw, outcomes = random.Random(seed), Counter[str]()
        by_kind: dict[str, list[Checked]] = defaultdict(list)
        for row in rows:
            if row.verdict.outcome == "accepted":
                by_kind[row.verdict.kind].append(row)
        histories = {
            dialogue["id"]: [(turn["question"], turn["answer"]) for turn in dialogue["turns"]]
            for dialogue in self.dialogues
        }
        for row in rows:
            if row.verdict.outcome != "accepted":
                continue
            expected = set(row.verdict.expected)
            others = [o for o in by_kind[row.verdict.kind] if not expected & set(o.verdict.expected)]
            ground = self.grounds[row.dialogue[:5]]
            for other in draw.sample(others, min(OTHERS, len(others))):
                history = histories[row.dialogue][: row.turn]
                outcomes[ground.check(row.question, other.answer, history).outcome] += 1
        return outcomes


def table(rows: Iterable[Checked]) -> list[str]:
    """Turns, coverage and acceptance, by type of question, as lines."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for group in ("all", row.verdict.kind or "not understood"):
            counts[group][row.verdict.outcome] += 1
    lines = [f"{'type':<16}{'turns':>7}{'covered':>9}{'%':>7}{'accepted':>10}{'%':>7}"]
    for group, found in sorted(counts.items(), key=lambda item: -sum(item[1].values())):
        turns, accepted = sum(found.values()), found["accepted"]
        covered = accepted + found["rejected"]
        share = f"{100 * accepted / covered:.1f}" if covered else "-"
        lines.append(f"{group:<16}{turns:>7,}{covered:>9,}{100 * covered / turns:>7.1f}{accepted:>10,}{share:>7}")
    return lines


def model_answers(path: Path) -> dict[tuple[str, int], str]:
    """A released file of a model's answers, by dialogue and turn; the first of two answers to one turn."""
    found: dict[tuple[str, int], str] = {}
    for row in json.loads(path.read_text(encoding="utf-8")):
        found.setdefault((row["dial_id"], row["turn_num"] - 1), row["gen_answer"])
    return found


def main() -> None:
    """Print the tables and a sample of disagreements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=sorted(HALVES))
    parser.add_argument("--show", type=int, default=0, help="disagreements to print")
    parser.add_argument("--models", action="store_true", help="check the released models' answers too")
    given = parser.parse_args()
    references = References(given.folder, given.half)
    rows = references.checked()
    print("\n".join(table(rows)))
    reasons = Counter(row.verdict.reason for row in rows if row.verdict.outcome == "not_covered")
    print("\nnot covered: " + "; ".join(f"{reason} {n:,}" for reason, n in reasons.most_common()))
    wrong = references.wrong(rows)
    covered = wrong["accepted"] + wrong["rejected"]
    print(f"\nwrong answers: {wrong.total():,} tried, {covered:,} covered, {wrong['rejected']:,} of them rejected")
    if given.models:
        for path in sorted((given.folder / "results").glob("*.json")):
            print(f"\n{path.stem}\n{table(references.checked(model_answers(path)))[1]}")
    disagreements = [row for row in rows if row.verdict.outcome == "rejected"]
    for row in random.Random(1).sample(disagreements, min(given.show, len(disagreements))):
        print(f"\n{row.dialogue} turn {row.turn + 1} ({row.verdict.kind}): {row.question}")
        print(f"  reference: {row.answer}\n  {row.verdict.reason}")


if __name__ == "__main__":
    main()
