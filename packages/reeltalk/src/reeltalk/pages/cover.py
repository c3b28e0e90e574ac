"""A cover for several reports: frames, a dialogue with answers, the verdict and standings of each, and the limits.

The cover links the sites, and each page of the sites links the cover.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from reeltalk.analysis.columns import share_of_scale
from reeltalk.analysis.comparison import Comparison
from reeltalk.analysis.dialogues import RunDialogues, limit_text
from reeltalk.analysis.leaderboard import build_leaderboard, model_title
from reeltalk.analysis.standings import Standings, find_standings
from reeltalk.analysis.turn_scores import RIGHT
from reeltalk.analysis.values import metric_heading
from reeltalk.pages.leaderboard import STYLE, draw_standings
from reeltalk.pages.looking import compare_controls, separate_controls
from reeltalk.pages.site import STATIC, make_environment, write_static, write_text
from reeltalk.pages.site_media import SiteMedia
from reeltalk.schema.media import Video
from reeltalk.schema.runs import CONTROLS, Control
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run
from reeltalk.store.tables import VIDEOS

PAGE: Final = "index.html"
SKIP: Final = '<a class="skip" href="#content">Skip to the content</a>\n'
NAVIGATION: Final = '<nav class="site" aria-label="Pages of this report">\n'
"""The same as in `base.html`."""


@dataclass(frozen=True)
class CoverPart:
    """A site, or a page of a site, that the cover links."""

    title: str
    file: str
    """Relative to the cover, such as `streaming/index.html`."""
    about: str
    """A sentence about its content."""


@dataclass(frozen=True)
class Cover:
    """The content of a cover."""

    over: str
    """Subject, above the title."""
    title: str
    lead: str
    done: tuple[tuple[str, str], ...]
    """The steps in order: a word and its result."""
    parts: tuple[CoverPart, ...]
    weak: tuple[str, ...]
    """Limits of the numbers, one sentence each."""
    finding: str = ""
    """How to read the tables, as text."""
    looking: str = ""
    """The value of looking, as text; empty if no run has controls."""


@dataclass(frozen=True)
class ControlRow:
    """A model under a control; with the videos' own pictures if `control` is None."""

    name: str
    title: str
    """The name for people, without the hash of weights."""
    control: Control | None
    cells: tuple[tuple[float, Comparison | None] | None, ...]
    """Its score in each group of runs, with the comparison with own pictures; None if it is not in the group."""


@dataclass(frozen=True)
class CoverAnswer:
    """An answer to a question on the cover."""

    name: str
    text: str
    right: bool | None
    """Whether it gets more than half of the credit; None without a score, and for a reference."""


@dataclass(frozen=True)
class CoverExchange:
    """Some turns of one dialogue, with frames of its video."""

    page: str
    """The dialogue's page, relative to the cover."""
    frames: tuple[tuple[str, str], ...]
    """Pictures and their times as text."""
    turns: tuple[tuple[str, tuple[CoverAnswer, ...]], ...]
    """Questions, each with its answers: the reference, the leading model, a baseline."""
    of: int
    """Number of turns of the whole dialogue."""


SHOWN_TURNS: Final = 3
SHOWN_FRAMES: Final = 4
NO_ANSWER: Final = "(no answer)"


def choose_exchange(drawn: Standings, folder: Path, name: str, benchmark: Benchmark | None) -> CoverExchange | None:
    """The first turns of the dialogue whose score is nearest to the mean of the leading model, with frames.

    Nearest to the mean, because the best dialogue would promise too much.

    Args:
        drawn: The standings of a group of runs.
        folder: The folder of the cover; receives the frames.
        name: The group's folder in it.
        benchmark: The benchmark with the videos; without it, or if they cannot be decoded, there are no frames.

    Returns:
        None if no model has a score, or if there is no dialogue.
    """
    leading = next((row for row in drawn.rows if row.value is not None and row.role in ("model", "baseline")), None)
    if leading is None or leading.value is None or drawn.headline is None:
        return None
    metric, mean = drawn.headline.metric, leading.value
    dialogues = RunDialogues(drawn.board)
    far = np.abs(dialogues.means(metric)[:, leading.index] - mean)
    far[[listed.turns < SHOWN_TURNS for listed in dialogues.listed]] = np.nan
    if np.isnan(far).all():
        return None
    dialogue = dialogues[int(np.nanargmin(far))]
    shown = [leading]
    if (over := leading.above.over if leading.above is not None else None) is not None:
        shown += [row for row in drawn.rows if row.index == over and row.role == "baseline"]
    turns = []
    for turn in dialogue.turns[:SHOWN_TURNS]:
        answers = [CoverAnswer("reference", limit_text(text), None) for text in turn.references[:1]]
        for row in shown:
            answer = turn.answers[row.index]
            credit = None if metric not in answer.scores else share_of_scale(metric, answer.scores[metric])
            right = None if credit is None else credit > RIGHT
            answers.append(CoverAnswer(row.title, limit_text(answer.text or NO_ANSWER), right))
        turns.append((turn.question, tuple(answers)))
    asked = [turn.asked_at_s for turn in dialogue.turns if turn.asked_at_s is not None]
    frames = _frames(folder, benchmark, dialogue.video_id, max(asked, default=None))
    return CoverExchange(f"{name}/dialogues/{dialogue.file}", tuple(frames), tuple(turns), len(dialogue.turns))


def _frames(folder: Path, benchmark: Benchmark | None, video_id: str, end_s: float | None) -> list[tuple[str, str]]:
    """Frames of a video at even times before a moment, and the times as text."""
    if benchmark is None:
        return []
    videos: dict[str, Video] = {video.id: video for video in benchmark.read(VIDEOS)}
    media = SiteMedia(folder, benchmark.media, videos)
    length_s = videos[video_id].duration_s if video_id in videos else None
    end_s = min(filter(None, (end_s, length_s)), default=None)
    if media.here(video_id) is None or not end_s:
        return []
    times = [end_s * (place + 0.5) / SHOWN_FRAMES for place in range(SHOWN_FRAMES)]
    written = media.frames({video_id: times})
    return [(written[video_id, at], f"{at:.0f} s") for at in times if (video_id, at) in written]


def control_rows(groups: Mapping[str, Sequence[Run]], metrics: Mapping[str, str]) -> list[ControlRow]:
    """One metric of every model that has controls, with its videos' own pictures and under each control.

    Args:
        groups: Runs with comparable numbers, by name of the group.
        metrics: Name of the metric by group, such as `typed`.
    """
    cells: dict[tuple[str, Control | None], dict[str, tuple[float, Comparison | None]]] = {}
    for group, runs in groups.items():
        for run, controls in separate_controls(runs)[1]:
            for looking in compare_controls(run, controls):
                if (line := looking.line(metrics[group])) is None or line.own is None:
                    continue
                cells.setdefault((looking.model, None), {})[group] = (line.own, None)
                for control, one in zip(looking.controls, line.comparisons, strict=True):
                    if one.second_value is not None:
                        cells.setdefault((looking.model, control), {})[group] = (one.second_value, one)
    return [
        ControlRow(name, model_title(name), control, tuple(by_group.get(group) for group in groups))
        for (name, control), by_group in cells.items()
    ]


def write_cover(
    cover: Cover,
    folder: Path,
    groups: Mapping[str, Sequence[Run]],
    metrics: Mapping[str, str],
    benchmark: Benchmark | None = None,
) -> Path:
    """Write the cover and its style into a folder with the sites, and add links to it in their pages.

    Args:
        cover: Its content.
        folder: An existing folder with the folders of all sites.
        groups: Runs with comparable numbers, by name of the group.
        metrics: The metric of its table, by group.
        benchmark: The benchmark of the runs, for frames of its videos.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    write_static(folder, [*STATIC, STYLE])
    found = {name: find_standings(build_leaderboard(runs), metrics[name]) for name, runs in groups.items()}
    exchanges = (choose_exchange(one, folder, name, benchmark) for name, one in found.items())
    controlled = {group: runs for group, runs in groups.items() if separate_controls(runs)[1]}
    html = (
        make_environment()
        .get_template("cover.html")
        .render(
            root="",
            cover=cover,
            drawn={name: draw_standings(one) for name, one in found.items()},
            exchange=next((one for one in exchanges if one is not None), None),
            warnings=list(dict.fromkeys(warning for one in found.values() for warning in one.warnings)),
            looked=control_rows(controlled, metrics),
            controlled=list(controlled),
            titles=CONTROLS,
            metrics=metrics,
            measure=", ".join(dict.fromkeys(metric_heading(metric) for metric in metrics.values())),
        )
    )
    for page in folder.glob("*/**/*.html"):
        _link_back(page, "../" * (len(page.relative_to(folder).parts) - 1))
    write_text(folder / PAGE, html)
    return folder / PAGE


def _link_back(page: Path, root: str) -> None:
    """Add a link to the cover to a page's navigation. A site is written before its cover."""
    text = page.read_text(encoding="utf-8")
    link = f'<a href="{root}{PAGE}">Cover</a>\n'
    if NAVIGATION in text:
        write_text(page, text.replace(NAVIGATION, NAVIGATION + link, 1))
    else:
        write_text(page, text.replace(SKIP, f'{SKIP}<nav class="site" aria-label="Cover">\n{link}</nav>\n', 1))
