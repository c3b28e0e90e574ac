"""MVBench (CVPR 2024, arXiv 2311.17005): `json/<task>.json`, a list of questions whose answer repeats a candidate.

A row names its video without the folder; the official loader takes the folder from a table of tasks, and also
whether only the part from `start` to `end` is shown. reeltalk does the same: `video_1.mp4` of two tasks may be two
videos.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from reeltalk.formats.layout import DocumentKind, Layout, SourceDocument
from reeltalk.formats.multiple_choice import option_of_text, read_options
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ClipId, DialogueId, Finite, Name, VideoId
from reeltalk.store.documents import SourceModel, parse, record_errors

FORMAT: Final = "mvbench"
TASK: Final = "mvbench.task"
BOUNDS: Final = ("start", "end")

FOLDERS: Final = {
    "action_sequence": "star/Charades_v1_480",
    "action_prediction": "star/Charades_v1_480",
    "action_antonym": "ssv2_video",
    "fine_grained_action": "Moments_in_Time_Raw/videos",
    "unexpected_action": "FunQA_test/test",
    "object_existence": "clevrer/video_validation",
    "object_interaction": "star/Charades_v1_480",
    "object_shuffle": "perception/videos",
    "moving_direction": "clevrer/video_validation",
    "action_localization": "sta/sta_video",
    "scene_transition": "scene_qa/video",
    "action_count": "perception/videos",
    "moving_count": "clevrer/video_validation",
    "moving_attribute": "clevrer/video_validation",
    "state_change": "perception/videos",
    "fine_grained_pose": "nturgbd",
    "character_order": "perception/videos",
    "egocentric_navigation": "vlnqa",
    "episodic_reasoning": "tvqa/frames_fps3_hq",
    "counterfactual_inference": "clevrer/video_validation",
}
"""The video folder of each of the twenty tasks, by the name of its file."""
BOUND: Final = {
    "action_sequence",
    "action_prediction",
    "object_interaction",
    "action_localization",
    "episodic_reasoning",
}
"""The tasks that show the part from `start` to `end`; the others always show the whole video."""


class MVBenchRow(SourceModel):
    """One question; `start` and `end` are seconds. `fps` is the rate at which a folder of frames was extracted."""

    video: Name
    question: str
    candidates: list[str]
    answer: str
    start: Finite | None = None
    end: Finite | None = None


def _decode(document: SourceDocument) -> Iterator[str]:
    seen: Counter[object] = Counter()
    for index, item in enumerate(document.value):
        place = f"$[{index}]"
        row = parse(MVBenchRow, item, file=document.path, place=place)
        same = (row.video, row.question, tuple(row.candidates), row.start, row.end)
        if seen[same]:
            document.records.content.warnings.append(f"{document.name} asks the same again at {place}: {row.question}")
        seen[same] += 1
        with record_errors(document.path, place):
            name = DialogueId(f"{document.name.removesuffix('.json')}/{index}")
            yield document.records.add_dialogue(document, place, _question(document, place, row, name))


def _question(document: SourceDocument, place: str, row: MVBenchRow, name: DialogueId) -> Dialogue:
    task = document.stem
    file = f"{FOLDERS[task]}/{row.video}" if task in FOLDERS else row.video
    document.records.add_video(document, place, Video(id=VideoId(file), file=file))
    interval = _part(document, place, row)
    shown = interval if task in BOUND or task not in FOLDERS else None
    clip_ids: tuple[ClipId, ...] = ()
    if shown is not None:
        clip_ids = (ClipId(f"{file}@{shown.start_s}-{shown.end_s}"),)
        document.records.add_clip(Clip(id=clip_ids[0], video_id=VideoId(file), interval=shown))
    unused = {key: getattr(row, key) for key in BOUNDS} if interval and not shown else {}
    options, _ = read_options(document, f"{place}.candidates", row.candidates)
    given = row.candidates if row.answer in row.candidates else options
    correct = option_of_text(document, f"{place}.answer", row.answer, given)
    turn = Turn(
        question=row.question,
        references=(options[correct],),
        options=options,
        correct_option=correct,
        labels={TASK: (task,)},
    )
    return Dialogue(id=name, video_id=VideoId(file), clip_ids=clip_ids, turns=(turn,), extra=unused | row.unknown)


def _part(document: SourceDocument, place: str, row: MVBenchRow) -> Interval | None:
    if row.start is None and row.end is None:
        return None
    if row.start is None or row.end is None:
        raise document.error("one of start and end is missing", place, [row.start, row.end])
    if row.end < row.start or row.start < 0:
        raise document.error("the part to show ends before it starts, or starts before 0", place, [row.start, row.end])
    return Interval(start_s=row.start, end_s=row.end)


LAYOUT: Final = Layout(
    FORMAT,
    [DocumentKind("questions", lambda _, value: isinstance(value, list), _decode)],
    "json/<task>.json, lists of video, question, candidates, answer",
)
read = LAYOUT.read
