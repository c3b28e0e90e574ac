"""The questions of a benchmark as rows, for an inference script of your own.

The rows are what `evaluate` asks with the same settings. `read_answer_table` of `formats` reads the answers.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from reeltalk.evaluate.harnesses.task import AskedTurn
from reeltalk.schema.record import Json
from reeltalk.store.content import Content


def question_rows(
    turns: Sequence[AskedTurn], content: Content, media: Callable[[str], Path | None], *, start: Path
) -> list[dict[str, Json]]:
    """One row for each turn, in the order in which they are asked, without its answer.

    Args:
        turns: The turns that are asked.
        content: The benchmark.
        media: The file of a video; None if it is not available.
        start: Folder from which the paths of videos start.

    Returns:
        `id` (of your own table, else of the turn), `unit`, `unit_id`, `turn_index` (from 0), `video_id`, `video` (path
        of the file), `file_name` (its name in your folder), `asked_at_s` (show a model nothing later; null for the
        whole video), `question`, `options`, `history` (earlier questions with their reference answers) and `prompt`
        (the question with spoken lines and lettered options, as `evaluate` sends it).
    """
    names = {str(video.id): video.file for video in content.videos}
    rows = []
    for asked in turns:
        turn = asked.turn
        path = media(turn.video_id)
        rows.append(
            {
                "id": turn.item_id,
                "unit": turn.unit,
                "unit_id": turn.unit_id,
                "turn_index": turn.turn_index,
                "video_id": turn.video_id,
                "video": None if path is None else Path(os.path.relpath(path.resolve(), start)).as_posix(),
                "file_name": names.get(turn.video_id),
                "asked_at_s": turn.asked_at_s,
                "question": turn.question,
                "options": list(turn.options) if turn.options else None,
                "history": [{"question": question, "answer": answer} for question, answer in asked.history],
                "prompt": asked.prompt,
            }
        )
    return rows
