"""The dialogues of a report: a list to search and sort, and a page for each dialogue."""

from reeltalk.report.dialogues import NEAR_ZERO_FOR_ONE_ANSWER, heat_levels, item_metrics, mean_metric, scored_metrics
from reeltalk.report.site import Site


def write_dialogues(site: Site) -> None:
    """Write `dialogues.html`, and a page a dialogue below `dialogues/`.

    Args:
        site: The report.
    """
    _write_list(site)
    board, dialogues = site.board, site.dialogues
    metrics = item_metrics(board, dialogues)
    # The floor may be a few judged empty answers, of which no run holds a row.
    silent = {
        index
        for index, model in enumerate(board.models)
        if model.floor is not None
        and all(turn.answers[index].text is None for dialogue in dialogues for turn in dialogue.turns)
    }
    for number, dialogue in enumerate(dialogues):
        site.render(
            "dialogue.html",
            f"dialogues/{dialogue.file}",
            dialogue=dialogue,
            before=dialogues[number - 1] if number else None,
            after=dialogues[number + 1] if number + 1 < len(dialogues) else None,
            metrics=metrics,
            silent=silent,
            left_out=[m for m in board.metrics if m in NEAR_ZERO_FOR_ONE_ANSWER and m not in metrics],
        )


def _write_list(site: Site) -> None:
    metric = mean_metric(scored_metrics(site.board, site.dialogues))
    means = [dialogue.means(metric) if metric else [] for dialogue in site.dialogues]
    levels = heat_levels(means)
    cells = [list(zip(values, heat, strict=True)) for values, heat in zip(means, levels, strict=True)]
    rows = list(zip(site.dialogues, cells, strict=True))
    site.render("dialogues.html", "dialogues.html", metric=metric, rows=rows)
