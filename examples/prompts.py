"""Judge with a prompt of your own: write ours into a folder, change it there, and judge with the folder.

python examples/prompts.py runs/qwen my-prompts runs/qwen-mine gpt-4o-mini https://api.openai.com/v1
"""

import sys
from pathlib import Path

from reeltalk import Run
from reeltalk.stages import JudgeModelSettings, JudgeSettings, judge
from reeltalk.stages.prompt_folders import export_prompts, list_prompts


def main(run: str, folder: str, out: str, model: str, base_url: str) -> None:
    """Judge by LAVE, asked in words of your own; the signature says that they are yours."""
    prompts = Path(folder)
    export_prompts(prompts, ["judge/lave"])
    for file in prompts.rglob("lave*.md"):
        file.write_text(file.read_text(encoding="utf-8") + "\nThe video shows a household.\n", encoding="utf-8")
    print(*(one.line for one in list_prompts(prompts) if one.own), sep="\n")
    done = judge(
        Run.open(run),
        out=out,
        judging=JudgeSettings(protocols=("lave",), prompts=prompts),
        judge_model=JudgeModelSettings(judge=model, judge_base_url=base_url),
    )
    for row in done.run.summary:
        if row.metric == "lave":
            print(f"{row.model}: {row.value}, {row.unscored} unscored; {row.signature}")


if __name__ == "__main__":
    main(*sys.argv[1:])
