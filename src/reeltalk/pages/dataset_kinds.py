"""Figures about kinds of questions and of activities: skills, relations, tasks, checklists, types, tags, categories."""

from collections import Counter
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.dataset import DatasetNumbers, counted, number_of
from reeltalk.metrics.profile import RARE_PERCENT
from reeltalk.pages.charts import Bar, bars, grid, shares
from reeltalk.pages.dataset_panels import MOST_BARS, Panel, bar_panel, nested_panel, with_shares
from reeltalk.schema.labels import Content, Target, Thinking

NAMED_BY_THE_PAPER: Final = {
    "T-SEQ": "VDAct",
    "D-INT": "VDAct, AVSD",
    "REF": "VDAct",
    "D-ACT": "VDAct, AVSD",
    "D-AGT": "AVSD",
}
"""Question types that VDAct's text names as the most frequent of 60 dialogues each of VDAct and of AVSD; the shares are
only bars without numbers."""


def kind_panels(found: DatasetNumbers) -> list[Panel]:
    """Skills, relations, tasks, checklists, question types and tags.

    Args:
        found: Numbers of a benchmark; what it has none of has no figure.
    """
    panels = []
    if found.skills:
        note = "Skills of drafts of rewriting: no question carries one yet." if found.drafted else ""
        head = ("Skill", "Relation", "Drafts" if found.drafted else "Questions")
        panels.append(nested_panel(found.skills, "Skills, and their relations", "SVBench figure 3b", head, note))
    if found.relations:
        panels.append(bar_panel(found.relations, "Linkages by relation", "SVBench figure 3b", "Relation", "Linkages"))
    if found.tasks:
        plain = Counter({task.replace("_", " "): n for task, n in found.tasks.items()})
        panels.append(bar_panel(plain, "Dialogues by task", "MT-Video-Bench figure 3", "Task", "Dialogues"))
    if found.expected:
        rows = [("expects Yes", found.expected[True]), ("expects No", found.expected[False])]
        title = "Checklist items"
        panels.append(
            Panel(
                title,
                "MT-Video-Bench figure 3",
                Markup(shares(rows, title=f"{title} by the reply they expect")),
                ("Reply", "Items", "%"),
                with_shares(rows, found.expected.total()),
                note=f"{number_of(found.expected.total() / found.checklists)} items a checklist on average "
                "(version 1 of MT-Video-Bench 3.29, 37.65 % No; version 2 five). "
                "An answer without content gets every item that expects No.",
            )
        )
    if found.question_types:
        panels.append(_question_types(found))
    if found.tagged:
        panels.append(_tags(found))
    return panels


def _question_types(found: DatasetNumbers) -> Panel:
    ordered = sorted(found.question_types.items(), key=lambda pair: (-pair[1], pair[0]))
    rows = [Bar(name, n, f"{100 * n / found.typed:.1f} %") for name, n in ordered]
    return Panel(
        "Question types",
        "VDAct figure 2b",
        Markup(bars(rows[:MOST_BARS], title="Share of questions with each type")),
        ("Type", "Questions", "%", "Most frequent in"),
        tuple(
            (name, f"{n:,}", f"{100 * n / found.typed:.1f}", NAMED_BY_THE_PAPER.get(name, "")) for name, n in ordered
        ),
        note=f"Of {counted(found.typed, 'question')} with a type; one may have several. The paper prints no shares: "
        "the last column of the table has the types that its text names as the most frequent of VDAct and of AVSD, on "
        "60 dialogues each.",
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
    svg = bars(rows, title="Share of questions with each of 19 tags", bound=RARE_PERCENT, bound_name="5 %")
    return Panel(
        "CogME's tags",
        "CogME figure 4",
        Markup(svg),
        ("Tag", "Kind", "Questions", "%", ""),
        tuple(cells),
        note=f"Of {counted(found.tagged, 'tagged question')}; one may carry several.{named} "
        "What a model achieves at a rare tag says little.",
    )


def activity_panels(found: DatasetNumbers) -> list[Panel]:
    """Activities by category and position, where graphs or names give their category.

    Args:
        found: Numbers of a benchmark; what it has none of has no figure.
    """
    if found.graphs is None or not found.graphs.placed.counts:
        return []
    placed = found.graphs.placed.counts
    heads = [_ordinal(place + 1) for place in range(max(map(len, placed.values())))]
    return [
        Panel(
            "Activities by category and position",
            "VDAct figure 2a",
            Markup(
                grid(list(placed.items()), heads, title="Activities of each category by position in their scenario")
            ),
            ("Category", *heads),
            tuple((name, *(f"{n:,}" for n in counts)) for name, counts in placed.items()),
            note=found.graphs.placed.source,
        )
    ]


def _ordinal(place: int) -> str:
    return f"{place}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(place if place < 20 else place % 10, 'th') }"
