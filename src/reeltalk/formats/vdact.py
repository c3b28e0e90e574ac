"""VDAct (AAAI 2025): dialogues, split lists, released model outputs, activity graphs, summaries."""

from pathlib import Path

from reeltalk.formats.vdact_read import FORMAT, read
from reeltalk.formats.vdact_write import exported_ids, write
from reeltalk.store.content import Content

__all__ = ["read", "read_answers", "write"]


def read_answers(source: Path, about: Content) -> Content:
    """Read models' outputs, also those about a benchmark that was exported, whose dialogues are called otherwise there.

    Raises:
        InputError: A file is damaged, contradicts another, or nothing of VDAct lies at `source`.
    """
    content = read(source)
    if about.source_files_of(FORMAT):
        return content
    names = {new: old for old, new in exported_ids(about).items()}
    content.answers = [
        answer.model_copy(update={"unit_id": names.get(answer.unit_id, answer.unit_id)})  # type: ignore[call-overload]
        for answer in content.answers
    ]
    content.dialogues = [row.model_copy(update={"id": names.get(row.id, row.id)}) for row in content.dialogues]
    return content
