"""What SVBench's layout has no place for, counted by kind."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from reeltalk.formats.left_out import MADE_ON_THE_WAY, UNHELD, fields_left_out, labels_left_out, tables_left_out
from reeltalk.formats.svbench_documents import ABSENT
from reeltalk.formats.svbench_layout import LANGUAGE
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.outcomes import SourceFile
from reeltalk.store.content import Content

OF_CHAINS: Final = ("dialogue", "con", "answers", "judged chain", "judged single")
"""Kinds of files whose records are chains."""
OF_DIALOGUES: Final = ("streaming", "judged con")
"""Kinds of files that become dialogues, where no chains are known of."""
_HELD_OF_CHAINS: Final = frozenset({"id", "video_id", "clip_id", "turns"})
_HELD_OF_TURNS: Final = frozenset({"question", "references", "asked_at_s", "labels"})


def named_in(files: Iterable[SourceFile], *kinds: str) -> set[str]:
    """The records that stand in files of some kinds."""
    return {record for file in files if file.kind in kinds for record in (*file.records, *file.extra.get("twins", ()))}


def left_out(content: Content, files: list[SourceFile]) -> list[str]:
    """A line for each thing that the layout cannot express.

    Args:
        content: The benchmark.
        files: The files that are written, imported ones among them.
    """
    imported = content.source_files_of("svbench")
    streamed = named_in(imported, *OF_DIALOGUES)
    paths, chains = named_in(imported, "path"), named_in(imported, *OF_CHAINS)
    own = [chain for chain in content.chains if chain.id not in chains]
    turns = [turn for chain in content.chains for turn in chain.turns]
    steps = [step.turn for path in content.paths if path.id not in paths for step in path.steps if step.turn]
    used = {chain.clip_id for chain in content.chains}
    used |= {clip for file in files for clips in file.extra.get("clips", ()) for clip in clips}
    ends = {clip.id: clip.interval.end_s if clip.interval else None for clip in content.clips}
    described = (video.model_copy(update={"extra": {}}) for video in content.videos)
    return [
        *_counted(
            {
                "dialogues are left out": sum(row.id not in streamed for row in content.dialogues),
                "chains without times, written with null": sum(chain.clip_id is None for chain in own),
                "clips of no chain are left out": sum(clip.id not in used for clip in content.clips),
                "clips without times are left out": sum(
                    clip.interval is None for clip in content.clips if clip.id in used
                ),
                "turns asked at another time than the end of their clip": sum(
                    turn.asked_at_s is not None
                    and turn.asked_at_s != (ends.get(chain.clip_id) if chain.clip_id else None)
                    for chain in content.chains
                    for turn in chain.turns
                ),
                "turns with several references, of which the first is written": sum(
                    len(turn.references) > 1 for turn in (*turns, *steps)
                ),
                "turns without a reference, written as an empty answer": sum(
                    not turn.references for turn in (*turns, *steps)
                ),
            }
        ),
        *tables_left_out(content, ("graphs", *MADE_ON_THE_WAY, *(name for name in UNHELD if name != "rejected"))),
        *_counted({"refused records are left out": sum(row.extra.get("file") is None for row in content.rejected)}),
        *fields_left_out("videos", described, {"id", "file", "split"}),
        *fields_left_out("chains", own, _HELD_OF_CHAINS),
        *fields_left_out("turns", turns, _HELD_OF_TURNS),
        *labels_left_out(turns, {LANGUAGE}),
        *fields_left_out("rewritten turns of paths", steps, _HELD_OF_TURNS),
        *_of_answers(content, files),
    ]


def _of_answers(content: Content, files: Iterable[SourceFile]) -> list[str]:
    states = Counter(answer.state for answer in content.answers)
    is_judged = any(file.kind.startswith("judged") for file in files)
    reasons = sum(
        score.value is None and score.reason != ABSENT and "value" not in score.extra
        for score in (content.scores if not is_judged else ())
    )
    return _counted(
        {
            "answers that failed or were not asked, written as their text alone": states[AnswerState.FAILED]
            + states[AnswerState.NOT_ASKED],
            "scores without a value, whose reason is left out": reasons,
        }
    )


def _counted(counts: dict[str, int]) -> list[str]:
    return [f"{what}: {count:,}" for what, count in counts.items() if count]
