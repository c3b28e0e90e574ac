"""Figures and tables about a benchmark's videos, questions, kinds of questions and activities."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.dataset import NOT_STATED, DatasetNumbers, Spread, count_noun, format_number
from reeltalk.metrics.profile import RARE_PERCENT
from reeltalk.pages.charts import Bar, HistogramBin, axis_ticks, bar_chart, histogram_chart
from reeltalk.schema.labels import Content, Target, Thinking, label_title

MOST_BARS: Final = 24
"""Maximum number of bars in a figure; its table has all rows, up to `MOST_ROWS`."""
MOST_ROWS: Final = 200
MINUTE_S: Final = 60.0
MOST_BINS: Final = 14
SECONDS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""Bin widths for lengths in seconds."""
TAIL: Final = 0.98
"""Share of the values that the bins cover; the last bin has the rest."""


@dataclass(frozen=True)
class Panel:
    """A figure with the table of its numbers."""

    title: str
    like: str
    """The published figure that shows the same for another data set; may be empty."""
    svg: Markup
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    left_out: int = 0
    """Number of rows that the table does not show."""
    files: str = ""
    """Links to the table as files, if these are requested."""


def video_panels(found: DatasetNumbers) -> list[Panel]:
    """Categories, lengths, scenes, splits, licences and sources of the videos."""
    panels = []
    if found.categories:
        panels.append(
            nested_panel(
                found.categories,
                "Videos by category",
                "SVBench figure 3a, MT-Video-Bench figure 3",
                ("Category", "Sub-category", "Videos"),
            )
        )
    if found.seconds.n:
        above = found.seconds.share_above(MINUTE_S) or 0.0
        panels.append(
            _spread(
                found.seconds,
                "Length of videos",
                "SVBench figure 6, MT-Video-Bench figure 3",
                "seconds",
                "Videos",
                steps=SECONDS,
                bound=MINUTE_S,
                bound_name="1 min",
                note=f"{above:.2f} % of {count_noun(found.seconds.n, 'video')} are longer than a minute "
                "(95.05 % of SVBench's).",
            )
        )
    if found.scenes_a_video.n:
        what = "Scenes" if found.scenes else "Clips"
        like = "MT-Video-Bench figure 3"
        panels.append(_spread(found.scenes_a_video, f"{what} of a video", like, what.lower(), "Videos", whole=True))
    for counter, title, noun in (
        (found.splits, "Videos by split", "Split"),
        (found.licences, "Videos by licence", "Licence"),
        (found.sources, "Videos by source", "Source"),
    ):
        if counter:
            unstated = found.videos - counter.total()
            whole = counter + Counter({NOT_STATED: unstated}) if unstated else counter
            panels.append(bar_panel(whole, title, "", noun, "Videos"))
    return panels


def question_panels(found: DatasetNumbers) -> list[Panel]:
    """How long chains, dialogues, paths, questions and references are, and when questions are asked."""
    panels = []
    for spread, title, like in (
        (found.chain_turns, "Turns of a chain", ""),
        (found.dialogue_turns, "Turns of a dialogue", "MT-Video-Bench figure 3"),
        (found.path_turns, "Turns of a path", ""),
    ):
        if spread.n:
            noun = title.split()[-1] + "s"
            panels.append(_spread(spread, title, like, "turns", noun.capitalize(), whole=True))
    for spread, title in ((found.question_words, "Words of a question"), (found.answer_words, "Words of a reference")):
        if spread.n:
            panels.append(_spread(spread, title, "", "words", "Questions", whole=True))
    if found.by_tenth:
        rows = [(f"{10 * tenth}–{10 * tenth + 10} %", found.by_tenth[tenth]) for tenth in range(10)]
        panels.append(
            _panel(
                "When questions are asked",
                "",
                "Part of the video",
                "Questions",
                rows,
                note="Relative to the length of the video; a question at its end is in the last tenth.",
                keep_order=True,
            )
        )
    if found.evidence_s.n:
        panels.append(_spread(found.evidence_s, "Length of evidence", "", "seconds", "Stretches", steps=SECONDS))
    if set(found.languages) - {NOT_STATED}:
        panels.append(
            bar_panel(
                found.languages,
                "Questions by language",
                "",
                "Language",
                "Questions",
                note="By label; a question in Chinese characters without a label counts as zh.",
            )
        )
    return panels


def bar_panel(counter: Counter[str], title: str, like: str, noun: str, of: str, *, note: str = "") -> Panel:
    """A bar for each name, the longest first.

    Args:
        counter: Number of occurrences by name.
        title: Title of the figure.
        like: The published figure that shows the same.
        noun: Heading of the names.
        of: Heading of the counts.
        note: A sentence below the figure.
    """
    return _panel(title, like, noun, of, list(counter.items()), note=note)


def _panel(
    title: str,
    like: str,
    noun: str,
    of: str,
    rows: Sequence[tuple[str, int]],
    *,
    note: str = "",
    keep_order: bool = False,
) -> Panel:
    total = sum(number for _, number in rows)
    shown = list(rows) if keep_order else sorted(rows, key=lambda row: (row[0] == NOT_STATED, -row[1], row[0]))
    drawn = [Bar(name, number, f"{number:,}") for name, number in shown[:MOST_BARS]]
    return Panel(
        title,
        like,
        Markup(bar_chart(drawn, title=title, axis=of.lower(), rows=noun.lower())),
        (noun, of, "%"),
        with_shares(shown[:MOST_ROWS], total),
        note,
        left_out=max(0, len(shown) - MOST_ROWS),
    )


def nested_panel(
    counts: Counter[tuple[str, str]], title: str, like: str, head: tuple[str, str, str], note: str = ""
) -> Panel:
    """Outer bars, each with a thinner bar for each of its parts, as in a chart of two rings.

    Args:
        counts: Counts by whole and part; the part is empty if none is stated.
        title: Title of the figure.
        like: The published figure that shows the same.
        head: Headings of the wholes, the parts and the counts.
        note: A sentence below the figure.
    """
    totals: Counter[str] = Counter()
    for (name, _), number in counts.items():
        totals[name] += number
    drawn: list[Bar] = []
    rows: list[tuple[str, ...]] = []
    has_parts = any(part for _, part in counts)
    for name, number in sorted(totals.items(), key=lambda pair: (-pair[1], pair[0])):
        share = f"{100 * number / totals.total():.1f}"
        drawn.append(Bar(name, number, f"{number:,}"))
        rows.append((name, "", f"{number:,}", share) if has_parts else (name, f"{number:,}", share))
        parts = [(part, n) for (whole, part), n in counts.items() if whole == name and part]
        for part, n in sorted(parts, key=lambda pair: (-pair[1], pair[0])):
            drawn.append(Bar(part, n, f"{n:,}", inner=True))
            rows.append((name, part, f"{n:,}", f"{100 * n / totals.total():.1f}"))
    return Panel(
        title,
        like,
        Markup(bar_chart(drawn[: 3 * MOST_BARS], title=title, axis=head[2].lower(), rows=head[0].lower())),
        (*head, "%") if has_parts else (head[0], head[2], "%"),
        tuple(rows[:MOST_ROWS]),
        note,
        left_out=max(0, len(rows) - MOST_ROWS),
    )


def _spread(
    spread: Spread,
    title: str,
    like: str,
    axis: str,
    of: str,
    *,
    steps: Sequence[float] = (),
    whole: bool = False,
    bound: float | None = None,
    bound_name: str = "",
    note: str = "",
) -> Panel:
    found = histogram_bins(spread, steps=steps, whole=whole)
    svg = histogram_chart(found, title=title, axis=axis, values=of.lower(), bound=bound, bound_name=bound_name)
    told = (
        f"Mean {format_number(spread.mean)}, median {format_number(spread.median)}, "
        f"from {format_number(spread.least)} to {format_number(spread.most)} {axis}."
    )
    rows = [(each.label, each.count) for each in found]
    head = (axis.capitalize(), of, "%")
    return Panel(title, like, Markup(svg), head, with_shares(rows, spread.n), f"{told} {note}".strip())


def histogram_bins(spread: Spread, *, steps: Sequence[float] = (), whole: bool = False) -> list[HistogramBin]:
    """Equal bins with their counts; the last one includes a long tail.

    Args:
        spread: The values, 0 or more.
        steps: Allowed widths; any round number if none is given, or if the last is too narrow.
        whole: True for whole numbers; bins are then at least 1 wide.
    """
    if not spread.n:
        return []
    values = sorted(spread.counts)
    covered, upper = 0, values[-1]
    for value in values:
        covered += spread.counts[value]
        if covered >= TAIL * spread.n:
            upper = value
            break
    low = values[0]
    if whole and values[-1] - low < MOST_BINS:
        upper = values[-1]
    fine = (upper - low) / MOST_BINS
    step = next((step for step in steps if step >= fine), None) or _round_step(fine, whole=whole)
    start = math.floor(low / step) * step
    wanted = int((upper - start) / step) + 1
    counts = [0] * (wanted + 1)
    for value, count in spread.counts.items():
        counts[min(wanted, int((value - start) / step + 1e-9))] += count
    ends = [round(start + n * step, 6) for n in range(wanted + 1)]
    found = [HistogramBin(ends[n], ends[n + 1], counts[n], whole) for n in range(wanted)]
    return [*found, HistogramBin(ends[-1], math.inf, counts[wanted], whole)] if counts[wanted] else found


def _round_step(fine: float, *, whole: bool) -> float:
    step = axis_ticks(0, max(fine * 2, 1e-6), 2)
    width = next((each for each in step if each >= fine and each > 0), max(fine, 1e-6))
    return max(1.0, math.ceil(width)) if whole else width


def with_shares(rows: Sequence[tuple[str, int]], total: int) -> tuple[tuple[str, ...], ...]:
    """Rows of a table: name, number, percent.

    Args:
        rows: Names and numbers.
        total: The number that is 100 %.
    """
    return tuple((name, f"{number:,}", f"{100 * number / total:.1f}") for name, number in rows)


NAMED_BY_THE_PAPER: Final = {
    "T-SEQ": "VDAct",
    "D-INT": "VDAct, AVSD",
    "REF": "VDAct",
    "D-ACT": "VDAct, AVSD",
    "D-AGT": "AVSD",
}
"""The most frequent question types in 60 dialogues each of VDAct and of AVSD, by VDAct's text. The paper shows the
shares only as bars without numbers."""


def kind_panels(found: DatasetNumbers) -> list[Panel]:
    """Skills, relations, tasks, checklists, question types and tags."""
    panels = []
    if found.skills:
        note = "Skills of drafts of rewriting: no question has one yet." if found.drafted else ""
        head = ("Skill", "Relation", "Drafts" if found.drafted else "Questions")
        named = Counter({(label_title("svbench.skill", skill), part): n for (skill, part), n in found.skills.items()})
        panels.append(nested_panel(named, "Skills, and their relations", "SVBench figure 3b", head, note))
    if found.relations:
        panels.append(bar_panel(found.relations, "Linkages by relation", "SVBench figure 3b", "Relation", "Linkages"))
    if found.tasks:
        plain = Counter({_task_title(task): n for task, n in found.tasks.items()})
        panels.append(bar_panel(plain, "Dialogues by task", "MT-Video-Bench figure 3", "Task", "Dialogues"))
    if found.expected:
        rows = [("expects Yes", found.expected[True]), ("expects No", found.expected[False])]
        drawn = [Bar(name, n, f"{n:,}") for name, n in rows]
        title = "Checklist items"
        panels.append(
            Panel(
                title,
                "MT-Video-Bench figure 3",
                Markup(bar_chart(drawn, title=f"{title} by expected reply", axis="items", rows="reply")),
                ("Reply", "Items", "%"),
                with_shares(rows, found.expected.total()),
                note=f"{format_number(found.expected.total() / found.checklists)} items a checklist on average "
                "(MT-Video-Bench: 3.29, 37.65 % No; its version 2: five).",
            )
        )
    if found.question_types:
        panels.append(_question_types(found))
    if found.tagged:
        panels.append(_tags(found))
    return panels


def _task_title(task: str) -> str:
    return label_title("mt_video_bench.task", task).replace("_", " ")


def _with_code(title: str, code: str) -> str:
    """The name of a label, followed by its code if it has one."""
    return title if title == code else f"{title} ({code})"


def _question_types(found: DatasetNumbers) -> Panel:
    ordered = sorted(found.question_types.items(), key=lambda pair: (-pair[1], pair[0]))
    titles = {name: label_title("vdact.question_type", name) for name in found.question_types}
    rows = [Bar(titles[name], n, f"{100 * n / found.typed:.1f} %") for name, n in ordered]
    return Panel(
        "Question types",
        "VDAct figure 2b",
        Markup(
            bar_chart(rows[:MOST_BARS], title="Share of questions with each type", axis="questions, %", rows="type")
        ),
        ("Type", "Questions", "%", "Most frequent in"),
        tuple(
            (_with_code(titles[name], name), f"{n:,}", f"{100 * n / found.typed:.1f}", NAMED_BY_THE_PAPER.get(name, ""))
            for name, n in ordered
        ),
        note=f"Of {count_noun(found.typed, 'question')} with a type; one may have several. The last column has "
        "the types that the paper calls the most frequent.",
    )


def _tags(found: DatasetNumbers) -> Panel:
    rows, cells = [], []
    for kind, vocabulary in (("Target", Target), ("Content", Content), ("Thinking", Thinking)):
        for tag in vocabulary:
            share = 100 * found.tags[tag.value] / found.tagged
            rare = 0 < share < RARE_PERCENT
            told = f"{share:.1f} %{', rare' if rare else ''}" if share else "none"
            rows.append(Bar(tag.value, share, told, rare=rare))
            flag = "none" if not share else f"under {RARE_PERCENT:g} %" if rare else ""
            cells.append((tag.value, kind, f"{found.tags[tag.value]:,}", f"{share:.1f}", flag))
    rare_ones = [row.label for row in rows if row.rare]
    named = f" Under {RARE_PERCENT:g} %: {', '.join(rare_ones)}." if rare_ones else ""
    svg = bar_chart(
        rows,
        title="Share of questions with each of 19 tags",
        axis="questions, %",
        rows="tag",
        bound=RARE_PERCENT,
        bound_name="5 %",
    )
    return Panel(
        "CogME's tags",
        "CogME figure 4",
        Markup(svg),
        ("Tag", "Kind", "Questions", "%", ""),
        tuple(cells),
        note=f"Of {count_noun(found.tagged, 'tagged question')}; a question may have several.{named} "
        "Scores at rare tags are unreliable.",
    )


def activity_panels(found: DatasetNumbers) -> list[Panel]:
    """Activities by category and position, if graphs or names give their category."""
    if found.graphs is None or not found.graphs.placed.counts:
        return []
    placed = found.graphs.placed.counts
    heads = [_ordinal(place + 1) for place in range(max(map(len, placed.values())))]
    drawn = [Bar(name, sum(counts), f"{sum(counts):,}") for name, counts in placed.items()]
    return [
        Panel(
            "Activities by category and position",
            "VDAct figure 2a",
            Markup(
                bar_chart(
                    drawn, title="Activities of each category, at any position", axis="activities", rows="category"
                )
            ),
            ("Category", *heads),
            tuple((name, *(f"{n:,}" for n in counts)) for name, counts in placed.items()),
            note=found.graphs.placed.source,
        )
    ]


def _ordinal(place: int) -> str:
    return f"{place}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(place if place < 20 else place % 10, 'th') }"
