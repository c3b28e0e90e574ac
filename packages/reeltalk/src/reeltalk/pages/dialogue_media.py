"""The video on a dialogue's page: its file or clip, a time line, the evidence, and the frames that models saw."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from jinja2 import Template
from markupsafe import Markup

from reeltalk.analysis.dialogues import ShownDialogue, ShownTurn
from reeltalk.analysis.leaderboard import model_letter
from reeltalk.pages.charts import axis_ticks
from reeltalk.pages.site import Site, plain_environment
from reeltalk.pages.site_media import SiteMedia, Wanted
from reeltalk.schema.intervals import Interval
from reeltalk.video.sampling import pick_evenly

WIDTH: Final = 560
LEFT: Final = 60
RIGHT: Final = 14
ROW: Final = 15
MOST_TURNS: Final = 40
"""Maximum number of turns on a time line; later turns are left out."""


@dataclass(frozen=True)
class LineTurn:
    """One turn as a row."""

    number: int
    href: str
    """Link of the row."""
    asked_at_s: float | None
    evidence: tuple[Interval, ...]


@dataclass(frozen=True)
class LineFrames:
    """Frames, and the models that saw exactly these."""

    models: tuple[int, ...]
    """Places in the leaderboard."""
    times_s: tuple[float, ...]


def draw_timeline(
    template: Template,
    title: str,
    end_s: float,
    *,
    clips: Sequence[tuple[str, Interval]] = (),
    turns: Sequence[LineTurn] = (),
    frames: Sequence[LineFrames] = (),
) -> Markup:
    """A dialogue's time line as inline SVG.

    Args:
        template: `_dialogue_line.html` of a `plain_environment`.
        title: Text alternative.
        end_s: The video's length in seconds, or the last known time.
        clips: Names and intervals, in order of time.
        turns: One row each, for the first `MOST_TURNS`.
        frames: One row each.
    """
    scale = (WIDTH - LEFT - RIGHT) / max(end_s, 0.1)

    def x(time_s: float) -> str:
        return f"{LEFT + min(max(time_s, 0.0), end_s) * scale:.1f}"

    def place(interval: Interval, least: float) -> tuple[str, str, str]:
        """Position, width and words of a bar."""
        start, end = (min(max(time_s, 0.0), end_s) * scale for time_s in (interval.start_s, interval.end_s))
        words = f"{interval.start_s:.1f} to {interval.end_s:.1f} s"
        return x(interval.start_s), f"{max(end - start, least):.1f}", words

    ticks = axis_ticks(0.0, max(end_s, 0.1), count=8)
    return Markup(
        template.render(
            title=title,
            clips=[(name, place(interval, 1)) for name, interval in clips],
            turns=[
                (
                    turn,
                    None if turn.asked_at_s is None else x(turn.asked_at_s),
                    [place(interval, 2) for interval in turn.evidence],
                )
                for turn in turns[:MOST_TURNS]
            ],
            frames=[(row.models, list(map(x, row.times_s))) for row in frames],
            ticks=[(x(at), "end" if LEFT + at * scale > WIDTH - 30 else "middle", f"{at:g} s") for at in ticks],
            width=WIDTH,
            left=LEFT,
            right=RIGHT,
            row=ROW,
        )
    )


MOST_FRAME_ROWS: Final = 8


@dataclass(frozen=True)
class VideoPlayer:
    """A video on a page."""

    src: str
    begins: float
    """Start of the file in the source video, in seconds."""
    words: str
    poster: str | None = None


@dataclass(frozen=True)
class EvidenceLink:
    """A link to the part of the video that shows the answer."""

    href: str
    start: float
    end: float
    words: str


@dataclass(frozen=True)
class SeenFrame:
    """A frame that models saw."""

    file: str
    at: str
    models: str
    """Letters of the models that saw it; empty if all did."""


@dataclass
class SeenTurn:
    """The part of the video that one turn shows."""

    evidence: list[EvidenceLink] = field(default_factory=list)
    frames: list[SeenFrame] = field(default_factory=list)
    more: str = ""
    """A sentence about frames that are not shown; empty if all are."""


@dataclass
class DialogueMedia:
    """The video and frames that one page shows."""

    player: VideoPlayer | None = None
    why: str = ""
    """Why a requested video, or its frames, are missing."""
    line: Markup | None = None
    line_words: str = ""
    turns: dict[str, SeenTurn] = field(default_factory=dict)
    """By the turn's anchor."""


class MediaWriter:
    """Prepares the media of a whole report, and returns the media of each dialogue.

    Args:
        site: The report; if its settings request media, they are written at once.
    """

    def __init__(self, site: Site) -> None:
        self.site, self.settings = site, site.settings
        self.context = site.context
        self._line = plain_environment(site.environment).get_template("_dialogue_line.html")
        self.media: SiteMedia | None = None
        self.clips: dict[Wanted, tuple[str, float]] = {}
        self.frames: dict[tuple[str, float], str] = {}
        self.without: set[str] = set()
        """Files of the dialogues that have no frames because the report has its maximum."""
        if site.benchmark is not None and self.settings.media != "none":
            self.media = SiteMedia(site.folder, site.benchmark.media, self.context.videos, site.executor)
            if self.settings.media == "cut":
                parts = (self._part(dialogue) for dialogue in site.dialogues if self.media.here(dialogue.video_id))
                self.clips = self.media.cut(part for part in parts if part is not None)
            self._write_frames()

    def of(self, dialogue: ShownDialogue) -> DialogueMedia:
        """The media of one dialogue."""
        stage = DialogueMedia()
        seen_any = any(answer.frames_s for turn in dialogue.turns for answer in turn.answers)
        evidence = {
            turn.anchor: self.context.evidence(turn.unit, dialogue.unit_id, turn.index) for turn in dialogue.turns
        }
        if self.media is not None:
            self._play(dialogue, stage)
        for turn in dialogue.turns:
            if not evidence[turn.anchor] and not self.frames:
                continue
            seen = SeenTurn()
            if stage.player is not None:
                seen.evidence = [_jump(stage.player, interval) for interval in evidence[turn.anchor]]
            self._show_frames(dialogue, turn, seen)
            if seen.evidence or seen.frames:
                stage.turns[turn.anchor] = seen
        if seen_any or any(evidence.values()) or any(turn.asked_at_s is not None for turn in dialogue.turns):
            self._draw(dialogue, evidence, stage)
        return stage

    def still(self, dialogue: ShownDialogue) -> str | None:
        """A picture of a dialogue's part of the video, below the site; None if the report has none."""
        return self._first_frame(dialogue, self._part(dialogue)) if self.frames else None

    def _part(self, dialogue: ShownDialogue) -> Wanted | None:
        """The part of its video that a dialogue is about, including the times of its questions."""
        video = self.context.videos.get(dialogue.video_id)
        about = self.context.about(dialogue.turns[0].unit, dialogue.unit_id, dialogue.video_id)
        asked = [turn.asked_at_s for turn in dialogue.turns if turn.asked_at_s is not None]
        if about is None:
            end_s = video.duration_s if video is not None and video.duration_s else max(asked, default=0.0)
            about = Interval(start_s=0.0, end_s=end_s)
        if video is not None and video.duration_s:
            about = Interval(start_s=min(about.start_s, video.duration_s), end_s=min(about.end_s, video.duration_s))
        return (dialogue.video_id, about) if about.duration_s > 0 else None

    def _play(self, dialogue: ShownDialogue, stage: DialogueMedia) -> None:
        assert self.media is not None
        if self.media.here(dialogue.video_id) is None:
            stage.why = "The benchmark does not have the file of this video."
            return
        part = self._part(dialogue)
        still = self._first_frame(dialogue, part)
        poster = None if still is None else f"../{still}"
        if self.settings.media == "cut":
            if part is None or part not in self.clips:
                why = self.media.failed.get(part, "it has no length") if part is not None else "it has no length"
                stage.why = f"The clip cannot be cut: {why}"
                return
            file, begins = self.clips[part]
            words = f"{part[1].start_s:.1f} to {part[1].end_s:.1f} s of video {dialogue.video_id}"
            stage.player = VideoPlayer(f"../{file}", begins, words, poster)
            return
        video_id = dialogue.video_id
        if self.settings.media == "link":
            src = self.media.link(video_id, below="dialogues")
        else:
            src = f"../{self.media.copy(video_id)}"
        words = f"Video {video_id}"
        if part is not None:
            src += f"#t={part[1].start_s:g},{part[1].end_s:g}"
            words += f"; the dialogue is about {part[1].start_s:.1f} to {part[1].end_s:.1f} s"
        stage.player = VideoPlayer(src, 0.0, words, poster)

    def _first_frame(self, dialogue: ShownDialogue, part: Wanted | None) -> str | None:
        """File of the first frame of the part that the dialogue is about; shown until the video plays."""
        times = sorted({time_s for turn in dialogue.turns for time_s in self._times(turn)})
        files = {time_s: file for time_s in times if (file := self.frames.get((dialogue.video_id, time_s)))}
        inside = [time_s for time_s in files if part is None or part[1].start_s <= time_s < part[1].end_s]
        return files[(inside or list(files))[0]] if files else None

    def _times(self, turn: ShownTurn) -> list[float]:
        """Times of the frames shown at a turn: frames that models saw, thinned out evenly if there are many."""
        return pick_evenly(
            sorted({time_s for answer in turn.answers for time_s in answer.frames_s}), self.settings.frames
        )

    def _write_frames(self) -> None:
        assert self.media is not None
        wanted: dict[str, set[float]] = {}
        left = self.settings.most_frames
        for dialogue in self.site.dialogues:
            if self.media.here(dialogue.video_id) is None:
                continue
            times = {time_s for turn in dialogue.turns for time_s in self._times(turn)}
            new = times - wanted.get(dialogue.video_id, set())
            if len(new) > left:
                self.without.add(dialogue.file)
                continue
            left -= len(new)
            wanted.setdefault(dialogue.video_id, set()).update(new)
        self.frames = self.media.frames({video_id: times for video_id, times in wanted.items() if times})

    def _show_frames(self, dialogue: ShownDialogue, turn: ShownTurn, seen: SeenTurn) -> None:
        looking = [index for index, answer in enumerate(turn.answers) if answer.frames_s]
        times = self._times(turn)
        for time_s in times:
            file = self.frames.get((dialogue.video_id, time_s))
            if file is not None:
                models = [index for index in looking if time_s in turn.answers[index].frames_s]
                letters = "" if models == looking else " ".join(map(model_letter, models))
                seen.frames.append(SeenFrame(f"../{file}", f"{time_s:.1f} s", letters))
        whole = len({time_s for answer in turn.answers for time_s in answer.frames_s})
        if seen.frames and whole > len(times):
            seen.more = f"{len(times)} of {whole:,} frames."

    def _draw(self, dialogue: ShownDialogue, evidence: dict[str, tuple[Interval, ...]], stage: DialogueMedia) -> None:
        by_times: dict[tuple[float, ...], list[int]] = {}
        for index in range(len(self.site.board.models)):
            times = tuple(sorted({time_s for turn in dialogue.turns for time_s in turn.answers[index].frames_s}))
            if times:
                by_times.setdefault(times, []).append(index)
        rows = [LineFrames(tuple(models), times) for times, models in by_times.items()][:MOST_FRAME_ROWS]
        video = self.context.videos.get(dialogue.video_id)
        known = [turn.asked_at_s for turn in dialogue.turns if turn.asked_at_s is not None]
        known += [interval.end_s for intervals in evidence.values() for interval in intervals]
        known += [row.times_s[-1] for row in rows]
        end_s = video.duration_s if video is not None and video.duration_s else max(known)
        turns = [
            LineTurn(
                turn.number,
                f"#{turn.anchor}" if turn.file == dialogue.file else f"{turn.file}#{turn.anchor}",
                turn.asked_at_s,
                evidence[turn.anchor],
            )
            for turn in dialogue.turns
        ]
        clips = self.context.clips.get(dialogue.video_id, ())
        title = f"Time line of {dialogue.title} on video {dialogue.video_id}"
        stage.line = draw_timeline(self._line, title, end_s, clips=clips, turns=turns, frames=rows)
        told = ["triangles: when a question is asked"] if known else []
        told += ["bars: where its answer can be seen"] if any(evidence.values()) else []
        told += ["ticks: the frames that models saw, by their letters"] if rows else []
        told += [f"turns after the first {MOST_TURNS} are left out"] if len(turns) > MOST_TURNS else []
        stage.line_words = "; ".join(told).capitalize() + "."
        if self.media is not None and not stage.why:
            if dialogue.file in self.without:
                stage.why = (
                    f"No frames are shown here: the report already has its {self.settings.most_frames:,} frames "
                    "(--most-frames)."
                )
            elif dialogue.video_id in self.media.failed:
                stage.why = f"Not all frames could be decoded: {self.media.failed[dialogue.video_id]}"


def _jump(player: VideoPlayer, interval: Interval) -> EvidenceLink:
    start, end = interval.start_s, interval.end_s
    inside = f"#t={max(start - player.begins, 0):g},{max(end - player.begins, 0):g}"
    return EvidenceLink(player.src.split("#")[0] + inside, start, end, f"{start:.1f}–{end:.1f} s")
