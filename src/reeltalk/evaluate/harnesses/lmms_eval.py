"""A benchmark as a task of lmms-eval.

Every turn is one document, with the dialogue before it as messages. All models of lmms-eval support this; only a few
support its multi-round tasks. Videos end at the question. Scores are reeltalk's, clustered by video.
"""

import json
import shlex
from pathlib import Path
from typing import Final

import yaml

from reeltalk.evaluate.harnesses.scoring import turn_metrics
from reeltalk.evaluate.harnesses.task import HarnessTask, columns_of, write_template

DATA: Final = "turns.jsonl"
PREFIX: Final = "reeltalk_"
"""Prefix of reeltalk's metric names. It avoids clashes with lmms-eval's own metrics."""
LONGEST_ANSWER_TOKENS: Final = 512


def write_lmms_eval(task: HarnessTask, folder: Path, *, lies_at: Path) -> None:
    """Write the task into a folder.

    Args:
        task: The task.
        folder: Folder to write into.
        lies_at: The absolute path that the folder will have. lmms-eval finds the questions by it.
    """
    module = f"{task.name}_lmms_eval"
    rows = []
    for turn in task.turns:
        columns = columns_of(turn)
        rows.append(
            columns | {"video": task.video_of(turn), "messages": json.dumps(turn.messages(), ensure_ascii=False)}
        )
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / DATA).write_text("".join(lines), encoding="utf-8", newline="\n")
    metrics = turn_metrics(row["scored_by"] for row in rows)
    write_template("lmms_eval_module.py.txt", folder / f"{module}.py", title=task.title, signature=task.signature)
    (folder / f"{task.name}.yaml").write_text(
        _yaml(task, module, metrics, lies_at / DATA), encoding="utf-8", newline="\n"
    )
    write_template(
        "lmms_eval_readme.md.txt",
        folder / "README.md",
        title=task.title,
        name=task.name,
        folder=shlex.quote(str(lies_at)),
        data=DATA,
        signature=task.signature,
        metrics="\n".join(f"- `{PREFIX}{metric}`" for metric in metrics),
    )


class _Function(str):
    """A function of the module, which lmms-eval's YAML names by a tag."""


def _yaml(task: HarnessTask, module: str, metrics: tuple[str, ...], data: Path) -> str:
    def function(name: str) -> _Function:
        return _Function(f"{module}.{name}")

    config = {
        "task": task.name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_visual": function("doc_to_visual"),
        "doc_to_text": function("doc_to_text"),
        "doc_to_messages": function("doc_to_messages"),
        "doc_to_target": "answer",
        "process_results": function("process_results"),
        "cluster_key": "video_id",
        "generation_kwargs": {
            "max_new_tokens": LONGEST_ANSWER_TOKENS, "temperature": 0, "do_sample": False, "until": ["\n\n\n"],
        },
        "metric_list": [
            {
                "metric": f"{PREFIX}{metric}",
                "aggregation": function(f"total_{metric}"),
                "higher_is_better": metric != "unscored",
            }
            for metric in metrics
        ],
        "metadata": [{"version": 1, "reeltalk": task.signature}],
    }  # fmt: skip
    return yaml.dump(config, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(_Function, lambda dumper, name: dumper.represent_scalar("!function", str(name)))
