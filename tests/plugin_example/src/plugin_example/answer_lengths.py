"""A page of the report: how long each model's answers are.

`PAGE` says where the page stands in the navigation and for which runs it is written. Its template is in this package's
folder `templates`, and begins with `{% extends "base.html" %}`, as those of reeltalk do.
"""

from statistics import mean
from typing import Final

from reeltalk.pages.site import Page, Site


def write_page(site: Site) -> None:
    """Write the page.

    Args:
        site: The report: its models are in `board`, and their answers in `dialogues`.
    """
    words: list[list[int]] = [[] for _ in site.board.models]
    for dialogue in site.dialogues:
        for turn in dialogue.turns:
            for answer, lengths in zip(turn.answers, words, strict=True):
                if answer.text is not None:
                    lengths.append(len(answer.text.split()))
    rows = [
        (model.name, f"{mean(lengths):.1f}" if lengths else "no answers", max(lengths, default=0))
        for model, lengths in zip(site.board.models, words, strict=True)
    ]
    files = site.table("answer-lengths.html", "words", ("Model", "Mean words", "Most words"), rows, "Words of answers")
    site.render("plugin_example/answer_lengths.html", "answer-lengths.html", rows=rows, files=files)


PAGE: Final = Page(
    title="Answer lengths", file="answer-lengths.html", applies=lambda site: True, write=write_page, place=25
)
"""Pages are ordered by `place`."""
