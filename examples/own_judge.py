"""Judge by a rule of your own: its file's hash stands in the signature of every number.

python examples/own_judge.py runs/qwen runs/qwen-brevity
"""

import sys

from reeltalk import Run
from reeltalk.stages import JudgeSettings, judge


class Brevity:
    """1 where an answer has at most ten words; questions that ask why may have more."""

    name = "brevity"
    scale = (0, 1)

    def score(self, question: str, references: list[str], answer: str) -> float | None:
        """What an answer gets; None where the measure does not apply."""
        if question.lower().startswith("why"):
            return None
        return 1.0 if len(answer.split()) <= 10 else 0.0


def main(run: str, out: str) -> None:
    """Judge a run by agreement and by brevity."""
    judging = JudgeSettings(protocols=("typed", f"python:{__file__}:Brevity"))
    done = judge(Run.open(run), out=out, judging=judging)
    print(*done.lines(), sep="\n")
    print(next(row.signature for row in done.run.summary if row.metric == "brevity"))


if __name__ == "__main__":
    main(*sys.argv[1:])
