"""Comparisons as text for a terminal, JSON, CSV, LaTeX or Markdown. Every value has its interval."""

from collections.abc import Callable, Sequence
from typing import Final, Literal

from reeltalk.analysis.columns import metric_title, n_items
from reeltalk.analysis.comparison import Comparison, Comparisons, format_p
from reeltalk.analysis.leaderboard import model_letter
from reeltalk.analysis.style import STYLE_TRAITS
from reeltalk.analysis.table_files import Quantity, TableCell, TableFile, render_rows
from reeltalk.analysis.values import format_range, format_signed, format_value, metric_heading
from reeltalk.metrics.significance import TITLES
from reeltalk.schema.texts import printable
from reeltalk.store.documents import write_json
from reeltalk.store.text_tables import write_csv

CompareFormat = Literal["text", "json", "csv", "latex", "markdown"]

FIELDS: Final = (
    "metric", "group", "first", "second", "first_value", "second_value", "difference", "low", "high", "confidence",
    "standard_error", "df", "p", "corrected_p", "correction", "family", "detectable", "power", "method",
    "items", "item", "videos", "icc", "design_effect", "wins", "ties", "losses",
    "net_wins", "net_low", "net_high", "styled_difference", "styled_low", "styled_high",
    "only_first", "only_second", "asked_otherwise", "unscored_first",
    "unscored_second", "unscored_both", "winner", "verdict", "notes", "first_signature", "second_signature",
)  # fmt: skip
"""Columns of JSON and CSV."""


def render_comparisons(found: Comparisons, format: CompareFormat) -> str:
    """Comparisons as text.

    `json` and `csv` have a row for each comparison with all its fields; `latex`, which needs booktabs, and `markdown`
    are tables for papers.
    """
    return _RENDERERS[format](found)


def method_lines(found: Comparisons) -> list[str]:
    """The methods of the comparisons, as sentences."""
    settings = found.settings
    percent = f"{settings.confidence * 100:g} %"
    methods = {row.method for row in found.rows if row.p is not None}
    lines = []
    if methods:
        lines.append(
            f"Differences with intervals ({percent} before correction) and t tests, clustered by source video (CR2, "
            "Imbens-Kolesár degrees of freedom)."
        )
    if "unpaired clustered t" in methods:
        lines.append("Means over different turns, as of a floor on a sample: both intervals are combined.")
    if "linearised clustered t" in methods:
        lines.append("Measures of the whole file, such as BLEU, are tested by the first-order effect of each turn.")
    largest = max((row.family for row in found.rows), default=0)
    if largest > 1:
        if settings.correction == "none":
            lines.append("No p value is corrected, so some winners may be due to chance.")
        else:
            lines.append(
                f"Corrected by {TITLES[settings.correction]} over all pairs of competing models on the same metric"
                f"{' and all groups' if settings.by else ''} (up to {largest} p values). Each interval is at the "
                "level at which its difference is tested, so it leaves out 0 exactly where a winner is named."
            )
    if any(row.p is not None and not row.family for row in found.rows):
        lines.append("Pairs with a floor, the oracle, references or people are outside the family: not corrected.")
    if found.aside:
        names = ", ".join(found.board.models[index].name for index in found.aside)
        lines.append(f"Not compared, as they do not compete: {names}. Use --model to compare with one of them.")
    return lines


def comparison_records(found: Comparisons) -> list[dict[str, object]]:
    """A record for each comparison, with the names of `FIELDS`."""
    return [_record(found, row) for row in found.rows]


def _record(found: Comparisons, row: Comparison) -> dict[str, object]:
    board, settings, net, styled = found.board, found.settings, row.net, row.styled
    winner = row.winner(settings.alpha)
    cells = [board.models[index].cells[row.metric] for index in (row.first, row.second)]
    signatures = [cell.row.signature if cell else None for cell in cells]
    values: tuple[object, ...] = (
        row.metric, row.group, board.models[row.first].name, board.models[row.second].name, row.first_value,
        row.second_value, row.difference, row.low, row.high, row.confidence, row.standard_error, row.df, row.p,
        row.corrected_p, settings.correction, row.family, row.detectable, settings.target_power,
        row.method if row.problem is None else None,
        row.items, row.item, row.videos, row.icc, row.design_effect, row.wins, row.ties, row.losses,
        net.value if net else None, net.low if net else None, net.high if net else None,
        *((styled.value, *styled.ends(row.confidence or styled.confidence)) if styled else (None, None, None)),
        row.left_out.only_first, row.left_out.only_second, row.left_out.asked_otherwise, row.left_out.unscored_first,
        row.left_out.unscored_second, row.left_out.unscored_both,
        board.models[winner].name if winner is not None else None, found.verdict(row), list(row.notes), *signatures,
    )  # fmt: skip
    return dict(zip(FIELDS, values, strict=True))


def _json(found: Comparisons) -> str:
    return write_json(comparison_records(found))


def _csv(found: Comparisons) -> str:
    rows = []
    for record in comparison_records(found):
        notes = record["notes"]
        joined = {**record, "notes": "; ".join(map(str, notes)) if isinstance(notes, list) else ""}
        rows.append([joined[field] for field in FIELDS])
    return write_csv(FIELDS, rows)


def _text(found: Comparisons) -> str:
    lines: list[str] = []
    for first, second in dict.fromkeys((row.first, row.second) for row in found.rows):
        rows = [row for row in found.rows if (row.first, row.second) == (first, second)]
        lines += [*_pair(found, rows), ""]
    lines += method_lines(found)
    return "\n".join(printable(line).rstrip() for line in lines) + "\n"


def _pair(found: Comparisons, rows: Sequence[Comparison]) -> list[str]:
    first, second = model_letter(rows[0].first), model_letter(rows[0].second)
    lines = []
    for index in (rows[0].first, rows[0].second):
        model = found.board.models[index]
        lines.append(f"{model_letter(index)}  {model.name}{'  (floor: ' + model.floor + ')' if model.floor else ''}")
    grouped = found.settings.by is not None
    common: dict[str, list[str]] = {}
    for row in rows:
        for words in [*_counted(row), *row.notes]:
            common.setdefault(words, []).append(_name(row, grouped))
    width = max(len(_name(row, grouped)) for row in rows)
    values, differences = [_values(row) for row in rows], [_difference(row) for row in rows]
    wide = max(len(text) for text in (*differences, f"{first} - {second}"))
    broad = max(len(text) for pair in values for text in (*pair, "A"))
    letters = f"{first:>{broad}}  {second:>{broad}}  {f'{first} - {second}':<{wide}}"
    lines.append(f"{'':<{width}}  {letters}  {'p':>8}  {'corrected':>9}")
    for row, (a, b), difference in zip(rows, values, differences, strict=True):
        if row.problem is not None:
            common.setdefault(found.verdict(row), []).append(_name(row, grouped))
            continue
        p = f"  {format_p(row.p):>8}  {format_p(row.corrected_p):>9}"
        lines.append(f"{_name(row, grouped):<{width}}  {a:>{broad}}  {b:>{broad}}  {difference:<{wide}}{p}")
        lines.append(f"    {found.verdict(row)}")
        if row.net is not None:
            lines.append(f"    {_duel(row)}")
        if row.styled is not None:
            low, high = row.styled.ends(row.confidence or row.styled.confidence)
            ends = format_range(low, high, row.metric, signed=True)
            value = format_signed(row.metric, row.styled.value)
            lines.append(f"    at equal style ({', '.join(STYLE_TRAITS)}): {value} {ends or 'no interval'}")
    for words, metrics in common.items():
        of = (
            ""
            if len(metrics) == len(rows) > 1 or len(rows) == 1
            else f" ({', '.join(metrics) if len(metrics) < 6 else f'{len(metrics)} rows'})"
        )
        lines.append(f"{words}{of}")
    return lines


def _name(row: Comparison, grouped: bool) -> str:
    heading = metric_heading(row.metric)
    return f"{heading}: {row.group}" if grouped and row.group else heading


def _values(row: Comparison) -> tuple[str, str]:
    if row.first_value is None or row.second_value is None:
        return "", ""
    return format_value(row.first_value, row.metric), format_value(row.second_value, row.metric)


def _difference(row: Comparison) -> str:
    if row.difference is None:
        return ""
    return f"{format_signed(row.metric, row.difference)} {_interval(row)}"


def _interval(row: Comparison) -> str:
    return format_range(row.low, row.high, row.metric, signed=True) or "no interval"


def _duel(row: Comparison) -> str:
    first, second = model_letter(row.first), model_letter(row.second)
    return f"{first} has more on {row.wins:,} {row.item}s, {second} on {row.losses:,}, {row.ties:,} ties"


def _counted(row: Comparison) -> list[str]:
    if row.problem is not None and not row.items:
        return []
    both = " of both" if row.paired else ""
    items, videos = ("" if count == 1 else "s" for count in (row.items, row.videos))
    counted = f"{row.items:,} {row.item}{items}{both}, {row.videos:,} video{videos}"
    left = row.left_out_text()
    return [counted + (f"; left out {left}" if left else "")]


def _table_file(found: Comparisons) -> TableFile:
    header = ("Metric", "A", "B", "A", "B", "A - B", "p", "corrected", "n", "videos", "Verdict")
    signatures = [
        cell.row.signature
        for row in found.rows
        for index in (row.first, row.second)
        if (cell := found.board.models[index].cells[row.metric]) is not None
    ]
    rows = tuple(_cells(found, row) for row in found.rows)
    notes = (*method_lines(found), *_row_notes(found))
    told = tuple(dict.fromkeys(signatures))
    return TableFile("comparisons", "Comparisons", header, rows, told, notes, columns_printed=(0, 1, 2, 5, 6, 7))


def _cells(found: Comparisons, row: Comparison) -> tuple[TableCell, ...]:
    names = [found.board.models[index].name for index in (row.first, row.second)]
    best = row.winner(found.settings.alpha)
    words = found.verdict(row)
    if best is not None:
        words = words.replace(model_letter(best), "A" if best == row.first else "B", 1)
    values = [Quantity(value, metric=row.metric, missing="") for value in (row.first_value, row.second_value)]
    difference = Quantity(
        row.difference, row.low, row.high, metric=row.metric, missing="", signed=True, videos=row.videos
    )
    tested = [format_p(row.p), format_p(row.corrected_p)]
    counted = f"{row.items:,}{n_items(row.metric)}"
    return (_name(row, found.settings.by is not None), *names, *values, difference, *tested, counted, row.videos, words)


def _row_notes(found: Comparisons) -> list[str]:
    notes: dict[str, list[str]] = {}
    for row in found.rows:
        left = row.left_out_text()
        for note in (*row.notes, *([f"left out {left}"] if left else [])):
            notes.setdefault(note, []).append(
                f"{metric_title(row.metric)} of {model_letter(row.first)} and {model_letter(row.second)}"
            )
    return [f"{note} ({', '.join(of) if len(of) < 6 else f'{len(of)} rows'})" for note, of in notes.items()]


_RENDERERS: Final[dict[CompareFormat, Callable[[Comparisons], str]]] = {
    "text": _text,
    "json": _json,
    "csv": _csv,
    "latex": lambda found: render_rows(_table_file(found), "latex"),
    "markdown": lambda found: render_rows(_table_file(found), "markdown"),
}
