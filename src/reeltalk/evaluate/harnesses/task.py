"""A benchmark as a task of another harness: single requests, video files cut at the question, and files from templates.

Other harnesses ask each item separately. So each turn becomes one item. It holds the dialogue before it, in the same
words that `evaluate` sends, and all data for scoring its answer.
"""

import asyncio
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Final

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, InputError, SettingError
from reeltalk.evaluate.playing.chat import AnswerForms, answer_forms, answer_prompt, question_text
from reeltalk.evaluate.playing.play import (
    NoFrameSource,
    Pictures,
    Response,
    Subtitles,
    TurnInput,
    answered_turn,
    play_script,
)
from reeltalk.evaluate.playing.script import Script
from reeltalk.evaluate.settings import PlaySettings
from reeltalk.progress import Progress, unseen
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import Signature
from reeltalk.store.content import Content
from reeltalk.video.cut import cut_clip
from reeltalk.video.records import How
from reeltalk.video.stream import VideoError

MODEL: Final = "model"
"""Placeholder for the name of the model that answers in another harness."""


@dataclass(frozen=True)
class AskedTurn:
    """One question with the dialogue before it."""

    turn: AnsweredTurn
    """The question, its references and options, without an answer."""
    index: int
    """Its place in its dialogue, chain or path of the benchmark, from 0."""
    before: tuple[tuple[str, str], ...]
    """Questions and first references of the earlier turns."""
    history: tuple[tuple[str, str], ...]
    """Questions and answers of the history, across the chains of a video as in `evaluate`."""
    system: str
    """The system message."""
    prompt: str
    """The complete question: spoken lines, the question, and its options by letter."""

    @property
    def text(self) -> str:
        """The whole request as one text, for models without roles."""
        told = [line for question, answer in self.history for line in (f"Question: {question}", f"Answer: {answer}")]
        return "\n".join([self.system, "", *told, f"Question: {self.prompt}", "Answer:"])

    @property
    def target(self) -> str:
        """The right answer: the letter of an option, or the first reference. Empty if unknown."""
        if self.turn.options and self.turn.correct_option is not None:
            return f"{chr(ord('A') + self.turn.correct_option)}. {self.turn.options[self.turn.correct_option]}"
        return self.turn.references[0] if self.turn.references else ""

    def scored_by(self) -> str:
        """All data that scoring needs, as one line of JSON. `harnesses.scoring` reads it."""
        turn = self.turn.model_dump(mode="json", exclude_defaults=True)
        return json.dumps({"turn": turn, "before": self.before}, ensure_ascii=False, sort_keys=True)

    def messages(self) -> list[dict[str, str]]:
        """The request as messages with roles. The video is in the user's first message."""
        told = [
            message
            for question, answer in self.history
            for message in ({"role": "user", "text": question}, {"role": "assistant", "text": answer})
        ]
        return [{"role": "system", "text": self.system}, *told, {"role": "user", "text": self.prompt}]


@dataclass
class _Listener:
    """A player that gives no answers and records its inputs."""

    seen: list[TurnInput]

    name = MODEL
    signature: tuple[tuple[str, str], ...] = ()
    sees_frames = False

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        self.seen.append(seen)
        return Response(None)


class _NoPictures:
    async def jpeg(self, reference: bytes) -> bytes:
        raise ValueError(f"no frame {reference!r} was shown")


def list_asked_turns(
    scripts: Iterable[Script], settings: PlaySettings, *, subtitles: Subtitles | None = None
) -> list[AskedTurn]:
    """Every turn that is asked, in the order of the scripts.

    Args:
        scripts: The scripts.
        settings: History (golden or none), prompt, order of options.
        subtitles: Gives the spoken lines, if the settings show them.

    Raises:
        BenchmarkError: A golden history needs a reference that the benchmark withholds, or no turn is asked.
        SettingError: The prompt is not known.
        ValueError: The history needs the model's own answers.
    """
    if settings.shown_history not in ("golden", "none"):
        raise ValueError(f"a history of kind {settings.shown_history} cannot be written before a model has answered")
    system = answer_prompt(settings.prompt, settings.answer_style).text
    forms = answer_forms(settings.prompt, settings.answer_style)
    found = [turn for script in scripts for turn in asyncio.run(_asked(script, settings, system, forms, subtitles))]
    if not found:
        raise BenchmarkError("there is nothing to ask; 'reeltalk report BENCH --format text' counts what there is")
    return found


async def _asked(
    script: Script, settings: PlaySettings, system: str, forms: AnswerForms | None, subtitles: Subtitles | None
) -> Sequence[AskedTurn]:
    listener = _Listener([])
    rows = [
        row
        async for row in play_script(script, listener, NoFrameSource(), _NoPictures(), settings, subtitles=subtitles)
    ]
    told = iter(listener.seen)
    before: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    found: list[AskedTurn] = []
    for row, step in zip(rows, script.steps, strict=True):
        if step.answered:
            seen = next(told)
            turn = answered_turn(script, step, MODEL, Response(""), row.played)
            found.append(
                AskedTurn(
                    turn=turn.model_copy(update={"state": AnswerState.ANSWERED}),
                    index=step.turn_index,
                    before=tuple(before[row.unit_id]),
                    history=tuple((past.question, past.answer) for past in seen.history),
                    system=system,
                    prompt=question_text(seen, forms),
                )
            )
        before[row.unit_id].append((row.question, row.references[0] if row.references else ""))
    return found


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
        `id` (of the turn in a run), `unit`, `unit_id`, `turn_index` (from 0), `video_id`, `video` (path
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
                "turn_index": asked.index,
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


def columns_of(turn: AskedTurn) -> dict[str, str]:
    """The columns of a turn that every harness's table has."""
    return {
        "item_id": turn.turn.item_id,
        "video_id": turn.turn.video_id,
        "question": turn.turn.question,
        "answer": turn.target,
        "prompt": turn.text,
        "scored_by": turn.scored_by(),
    }


FOLDER: Final = "videos"
FRAME_S: Final = 0.05
"""A question at the very beginning sees at least this much, enough for one frame of a usual video."""
FOREVER_S: Final = 1e6


@dataclass
class VideoFiles:
    """The video files that were written for a task."""

    names: dict[str, str] = field(default_factory=dict)
    """Name of the file below `videos`, without its ending `.mp4`, by item."""
    whole: int = 0
    """Whole videos."""
    cut: int = 0
    """Videos cut at a question."""
    encoded: int = 0
    """Number of cut files that had to be encoded."""


def write_videos(
    turns: Iterable[AskedTurn],
    videos: Mapping[str, Video],
    media: Callable[[str], Path | None],
    folder: Path,
    *,
    progress: Progress = unseen,
) -> VideoFiles:
    """Write one MP4 file for each video and moment of a question.

    Args:
        turns: The turns that are asked.
        videos: Videos by identifier.
        media: The file of a video; None if it is not available.
        folder: Gets the folder `videos`.
        progress: Called with a message, the number of finished files, the number of all files, and the share.

    Raises:
        BenchmarkError: A video is not available.
        InputError: A video cannot be decoded.
    """
    films = VideoFiles()
    wanted: dict[tuple[str, float | None], list[str]] = {}
    for turn in turns:
        video = videos.get(turn.turn.video_id)
        wanted.setdefault((turn.turn.video_id, _end_s(turn, video)), []).append(turn.turn.item_id)
    missing = sorted({video_id for video_id, _ in wanted if media(video_id) is None})
    if missing:
        raise BenchmarkError(
            f"{len(missing):,} videos are not available, as '{missing[0]}'; put them into the benchmark with "
            "'reeltalk attach' or 'reeltalk media pull', choose a --split whose videos are there, or pass --no-videos "
            "for questions without them"
        )
    (folder / FOLDER).mkdir()
    taken: set[str] = set()
    for done, ((video_id, end_s), items) in enumerate(wanted.items()):
        progress("cutting videos", done, len(wanted), done / len(wanted))
        path = media(video_id)
        assert path is not None
        name = _name(video_id, end_s, taken)
        _write(path, end_s, folder / FOLDER / f"{name}.mp4", films, videos.get(video_id))
        films.names |= dict.fromkeys(items, name)
    progress("cutting videos", len(wanted), len(wanted), 1.0)
    return films


def _end_s(turn: AskedTurn, video: Video | None) -> float | None:
    """The second at which the turn's video is cut; None if it is shown to its end."""
    asked_at_s, duration_s = turn.turn.asked_at_s, video.duration_s if video is not None else None
    if asked_at_s is None or (duration_s is not None and asked_at_s >= duration_s):
        return None
    return max(asked_at_s, FRAME_S)


def _name(video_id: str, end_s: float | None, taken: set[str]) -> str:
    # Letters that every file system and every harness takes.
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", video_id)[:60] or "video"
    name = stem if end_s is None else f"{stem}-{round(end_s * 1000):08d}ms"
    number = 1
    while name.casefold() in taken:
        number += 1
        name = f"{stem}-{number}" if end_s is None else f"{stem}-{number}-{round(end_s * 1000):08d}ms"
    taken.add(name.casefold())
    return name


def _suffix(video: Video | None, path: Path) -> str:
    # The store names files by their hash. The record keeps their original name.
    return Path(video.file).suffix.lower() if video is not None and video.file else path.suffix.lower()


def _write(path: Path, end_s: float | None, target: Path, films: VideoFiles, video: Video | None) -> None:
    if end_s is None:
        films.whole += 1
        if _suffix(video, path) == ".mp4":
            shutil.copyfile(path, target)
            return
    else:
        films.cut += 1
    interval = Interval(start_s=0.0, end_s=FOREVER_S if end_s is None else end_s)
    rotation_deg = video.encoding.rotation_deg if video is not None and video.encoding is not None else 0
    try:
        made = cut_clip(path, interval, target, lossless=True, rotation_deg=rotation_deg, exact_end=end_s is not None)
    except VideoError as error:
        raise InputError(f"the video cannot be cut: {error}", file=path) from None
    films.encoded += made.how is How.ENCODE


TEMPLATES: Final = Path(__file__).parent / "templates"
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,59}")


@dataclass(frozen=True)
class HarnessTask:
    """A benchmark as a task of another harness."""

    name: str
    """Lower case letters, digits and `_`."""
    title: str
    turns: Sequence[AskedTurn]
    films: VideoFiles | None
    """None if questions have no videos."""
    signature: str
    """Settings that can change an answer: benchmark, mode, history, prompt, subtitles, and whether there are videos."""

    def video_of(self, turn: AskedTurn) -> str:
        """Path of a turn's video below the task's folder. Empty if it has none."""
        return "" if self.films is None else f"{FOLDER}/{self.films.names[turn.turn.item_id]}.mp4"


def task_name(wanted: str | None, benchmark: str) -> str:
    """A task name that harnesses accept.

    Args:
        wanted: Name chosen by the user.
        benchmark: Name of the benchmark. The task name is made from it by default.

    Raises:
        SettingError: The wanted name has other characters.
    """
    if wanted is None:
        made = re.sub(r"[^a-z0-9]+", "_", benchmark.lower()).strip("_")[:40]
        return f"reeltalk_{made}" if made else "reeltalk_task"
    if not NAME.fullmatch(wanted):
        raise SettingError(
            f"--name {wanted!r}: a harness's task is named by lower case letters, digits and _, beginning with a letter"
        )
    return wanted


def task_title(benchmark: str) -> str:
    """A benchmark's name for code and signatures, with only letters, digits, spaces, `.`, `_` and `-`."""
    return re.sub(r"[^\w .-]", "_", benchmark) or "a benchmark"


def task_signature(subject: str, content_hash: str, parts: Sequence[tuple[str, str]]) -> str:
    """The signature in a task's files.

    Args:
        subject: First word, as `household.dialogue`.
        content_hash: Hash of the benchmark's content.
        parts: Settings of the requests.
    """
    return str(Signature(subject=subject, parts=(("data", content_hash[:8]), *parts, ("v", __version__))))


def write_template(template: str, path: Path, **fields: str) -> None:
    """Write a file from a template of this package.

    Args:
        template: Name of the template.
        path: The file that appears.
        **fields: Values that replace `$field`.
    """
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    path.write_text(Template(text).substitute(fields), encoding="utf-8", newline="\n")
