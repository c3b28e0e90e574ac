"""The writer `graph`, as `reeltalk construct --writer graph` and `reeltalk graph questions` find it."""

from typing import Final

from reeltalk.errors import SettingError
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.construct.added_writers import AddedWriter
from reeltalk_build.construct.settings import ConstructSettings
from reeltalk_build.construct.step import BlockWriting
from reeltalk_household.questions.asking import write_question_dialogues, write_tasks
from reeltalk_household.writer.blocks import forget_blocks, write_in_blocks
from reeltalk_household.writer.graph_writer import GraphWriter


def _create(benchmark: Benchmark, settings: ConstructSettings, paths_alone: bool) -> GraphWriter:
    if settings.language != "en" and not paths_alone:
        raise SettingError(f"--language {settings.language}: the graph writes English; choose a model as --writer")
    return GraphWriter(benchmark, settings, graphs_needed=not paths_alone)


GRAPH_WRITER: Final = AddedWriter(
    create=_create,
    blocks=BlockWriting(write_in_blocks, forget_blocks),
    write_questions=write_question_dialogues,
    write_tasks=write_tasks,
)
