"""Judge the answers of a run again, by another protocol and a language model, without playing anything.

python examples/judge.py runs/qwen runs/qwen-judged gpt-4o-mini https://api.openai.com/v1
"""

import sys

from reeltalk import Run
from reeltalk.errors import BudgetError
from reeltalk.stages import JudgeModelSettings, JudgeSettings, LimitSettings, judge


def main(run: str, out: str, model: str, base_url: str) -> None:
    """Judge by LAVE, beside what always says yes, within a budget of requests."""
    judging = JudgeSettings(protocols=("typed", "lave"), null_units=2)
    who = JudgeModelSettings(judge=model, judge_base_url=base_url)
    for most in (5, 5000):
        try:
            done = judge(
                Run.open(run),
                out=out,
                judging=judging,
                judge_model=who,
                limits=LimitSettings(max_calls=most),
                beside=("yes",),
            )
        except BudgetError as spent:
            print(f"stopped: {spent}")
            continue  # what was judged is kept; the next call goes on from there
        print(*done.lines(), sep="\n")
        for row in done.run.summary:
            if row.metric == "lave":
                print(f"{row.model}: {row.value}, {row.unscored} unscored; {row.signature}")
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
