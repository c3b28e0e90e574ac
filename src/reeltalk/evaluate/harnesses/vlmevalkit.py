"""A benchmark as a data set of VLMEvalKit: a TSV file, a class that reads it, and videos that end at the question.

VLMEvalKit has no plugins for data sets. The class is in a separate file, which registers it and then runs VLMEvalKit's
`run.py`.
"""

import csv
import json
import re
import string
from pathlib import Path
from typing import Final

from reeltalk.errors import SettingError
from reeltalk.evaluate.harnesses.task import AskedTurn, HarnessTask, columns_of, write_template

COLUMNS: Final = ("index", "video", "question", "answer", "history", "item_id", "video_id", "prompt", "scored_by")


def write_vlmevalkit(task: HarnessTask, folder: Path) -> None:
    """Write the data set into a folder.

    Args:
        task: The task.
        folder: Folder to write into. You may move it afterwards.

    Raises:
        SettingError: The task has no videos, which VLMEvalKit's video data sets need, or a question has more options
            than there are letters.
    """
    if task.films is None:
        raise SettingError("a video data set of VLMEvalKit needs its videos; leave --no-videos out")
    most = max(len(turn.turn.options or ()) for turn in task.turns)
    if most > len(string.ascii_uppercase):
        raise SettingError(
            f"a question has {most} options, and VLMEvalKit has columns for {len(string.ascii_uppercase)}"
        )
    letters = string.ascii_uppercase[:most]
    with (folder / f"{task.name}.tsv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, (*COLUMNS, *letters), dialect="excel-tab", lineterminator="\n")
        table.writeheader()
        table.writerows(_row(task, index, turn, letters) for index, turn in enumerate(task.turns))
    # The suffix avoids Python keywords and names that the module imports, such as `None` or `Path`.
    class_name = "".join(part.capitalize() for part in re.split(r"_+", task.name)) + "Dataset"
    write_template(
        "vlmevalkit_module.py.txt",
        folder / f"{task.name}_vlmevalkit.py",
        title=task.title,
        name=task.name,
        class_name=class_name,
        signature=task.signature,
    )
    write_template(
        "vlmevalkit_readme.md.txt",
        folder / "README.md",
        title=task.title,
        name=task.name,
        signature=task.signature,
    )


def _row(task: HarnessTask, index: int, turn: AskedTurn, letters: str) -> dict[str, object]:
    assert task.films is not None
    options = dict(zip(letters, turn.turn.options or (), strict=False))
    row = columns_of(turn) | {
        "index": index,
        "video": task.films.names[turn.turn.item_id],
        "history": json.dumps(turn.history, ensure_ascii=False),
        # In VLMEvalKit the answer to a multiple-choice question is only the letter.
        "answer": turn.target[:1] if options else turn.target,
    }
    return row | {letter: options.get(letter, "") for letter in letters}
