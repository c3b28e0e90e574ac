"""The dialogues of a report: a list to search and sort, and a page for each dialogue."""

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import title_of
from reeltalk.analysis.dialogues import (
    NEAR_ZERO_FOR_ONE_ANSWER,
    ShownDialogue,
    ShownTurn,
    heat_levels,
    item_metrics,
    mean_metric,
    scored_metrics,
)
from reeltalk.analysis.leaderboard import key_of
from reeltalk.analysis.turns import credit_metric
from reeltalk.analysis.visible import visible
from reeltalk.pages.case import MOST_TURNS, CaseFrame, CaseTurn, case_file, draw_case
from reeltalk.pages.case_export import chosen_models, credits_of
from reeltalk.pages.charts import COLOURS
from reeltalk.pages.shards import write_shards
from reeltalk.pages.site import Site, write_static, write_text
from reeltalk.pages.staging import Staging

ROWS: Final = 200
"""Dialogues on a page of the list."""
LIST: Final = "dialogues.html"
MOST_CASES: Final = 300
"""A report with more dialogues has no case-study figure of each: `reeltalk report --dialogue` draws those one wants."""
CASE_FRAMES: Final = 4


def write_dialogues(site: Site) -> None:
    """Write `dialogues.html` with as many pages as it needs, and a page or more a dialogue below `dialogues/`.

    Args:
        site: The report.
    """
    _write_list(site)
    write_static(site.folder, ["browser.css", "dialogue.js"])
    board, dialogues = site.board, site.dialogues
    metrics = item_metrics(board, dialogues)
    # The floor may be a few judged empty answers, of which no run holds a row.
    silent = {
        index
        for index, model in enumerate(board.models)
        if model.floor is not None
        and all(turn.answers[index].text is None for dialogue in dialogues for turn in dialogue.turns)
    }
    staging = Staging(site)
    metric = credit_metric(scored_metrics(board, dialogues))
    same = {
        "heads": Markup("").join(Markup('<th scope="col" class="number">{}</th>').format(title_of(m)) for m in metrics),
        "keys": [
            Markup('<span class="key m{}">{}</span><span dir="auto">{}</span>').format(
                index % COLOURS, key_of(index), visible(model.name)
            )
            for index, model in enumerate(board.models)
        ],
        "titles": [(metric, title_of(metric)) for metric in metrics],
        "silent": silent,
        "left_out": [m for m in board.metrics if m in NEAR_ZERO_FOR_ONE_ANSWER and m not in metrics],
    }
    for number, dialogue in enumerate(dialogues):
        stage = staging.of(dialogue)
        parts = list(_parts(dialogue))
        files = [(file, turns[0].number, turns[-1].number) for file, turns in parts]
        case = _write_case(site, staging, dialogue, metric) if len(dialogues) <= MOST_CASES else None
        for place, (file, turns) in enumerate(parts):
            site.render(
                "dialogue.html",
                f"dialogues/{file}",
                dialogue=dialogue,
                shown_turns=[(turn, stage.turns.get(turn.anchor)) for turn in turns],
                stage=stage,
                case=case,
                place=place,
                files=files,
                list_file=_list_file(number // ROWS),
                before=dialogues[number - 1] if number else None,
                after=dialogues[number + 1] if number + 1 < len(dialogues) else None,
                **same,
            )


def _write_case(site: Site, staging: Staging, dialogue: ShownDialogue, metric: str | None) -> str:
    """Write a dialogue's case-study figure; its address from the dialogue's page."""
    turns = dialogue.turns[:MOST_TURNS]
    svg = draw_case(
        f"Dialogue {dialogue.unit_id}, video {dialogue.video_id}",
        [CaseTurn(turn, credits_of(turn, metric)) for turn in turns],
        chosen_models(site.board, ()),
        measure=title_of(metric) if metric is not None else "",
        frames=[CaseFrame(*found) for found in staging.pictures(dialogue, turns, CASE_FRAMES)],
        left_out=len(dialogue.turns) - len(turns),
    )
    name = f"cases/{dialogue.file.removesuffix('.html')}.svg"
    write_text(site.folder / name, case_file(svg))
    return f"../{name}"


def _parts(dialogue: ShownDialogue) -> Iterator[tuple[str, Sequence[ShownTurn]]]:
    """The files of a dialogue, with the turns of each."""
    start = 0
    for end in range(1, len(dialogue.turns) + 1):
        if end == len(dialogue.turns) or dialogue.turns[end].file != dialogue.turns[start].file:
            yield dialogue.turns[start].file, dialogue.turns[start:end]
            start = end


def _list_file(place: int) -> str:
    return LIST if place == 0 else f"dialogues-{place + 1}.html"


def _write_list(site: Site) -> None:
    metric = mean_metric(scored_metrics(site.board, site.dialogues))
    means = [dialogue.means(metric) if metric else [] for dialogue in site.dialogues]
    levels = heat_levels(means)
    cells = [list(zip(values, heat, strict=True)) for values, heat in zip(means, levels, strict=True)]
    rows = list(zip(site.dialogues, cells, strict=True))
    files = [_list_file(place) for place in range(max(1, -(-len(rows) // ROWS)))]
    shards = 0
    if len(files) > 1:
        write_static(site.folder, ["dialogues.js", "shards.js"])
        shards = len(write_shards(site.folder, "dialogues", (_list_row(*row) for row in rows)))
    for place, file in enumerate(files):
        shown = rows[place * ROWS : (place + 1) * ROWS]
        site.render(LIST, file, metric=metric, rows=shown, total=len(rows), files=files, place=place, shards=shards)


def _list_row(dialogue: ShownDialogue, cells: Sequence[tuple[float | None, int]]) -> list[object]:
    """What the script that searches all pages of the list knows of a dialogue."""
    means = [[None if mean is None else round(mean, 4), level] for mean, level in cells]
    return [visible(dialogue.unit_id), dialogue.file, visible(dialogue.video_id), len(dialogue.turns), means]
