"""Score released answers with text metrics, and write the leaderboard as Markdown.

python examples/score.py vdact runs/released VDAct/results/*.json
"""

import sys

from reeltalk.stages import ScoreSettings, runs_table, score


def main(layout: str, out: str, *answers: str) -> None:
    """Score answer files of a published layout."""
    settings = ScoreSettings(metrics=("bleu", "rouge_l", "cider", "token_f1"))
    done = score(*answers, out=out, format=layout, settings=settings, tell=print)
    print(*done.lines(), *done.warnings, sep="\n")
    for model in done.run.info.models:
        print(f"{model.model}: {model.items} answers, {len(model.duplicates)} duplicates, {len(model.missing)} missing")
    print(runs_table(done.run, format="markdown"))


if __name__ == "__main__":
    main(*sys.argv[1:])
