"""Tables for scripts and spreadsheets: as JSON, or as CSV with `?format=csv`.

Spreadsheets run a cell that begins like a formula. Such text gets an apostrophe in front.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from fastapi.responses import JSONResponse, Response, StreamingResponse

from reeltalk.schema.record import Json
from reeltalk.store.text_tables import write_csv

Format = Literal["json", "csv"]
CSV: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "The table; with format=csv as CSV."}
}
"""For the description of a route: it answers CSV too."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def sheet_answer(
    name: str, rows: Iterable[Mapping[str, Json]], columns: Sequence[str], wanted: Format, **more: Json
) -> Response:
    """A table as `{"rows": […]}` with more entries, or as a CSV file of this name and these columns."""
    if wanted == "csv":
        return stream_csv(name, rows, columns)
    return JSONResponse({"rows": [dict(row) for row in rows], **more})


def stream_csv(name: str, rows: Iterable[Mapping[str, Json]], columns: Sequence[str]) -> Response:
    """A table as a CSV file of this name and these columns, sent while it is read."""

    def lines() -> Iterator[str]:
        yield write_csv(columns, [])
        for row in rows:
            yield write_csv([plain_cell(row[column]) for column in columns], [])

    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(lines(), media_type="text/csv; charset=utf-8", headers=headers)


def plain_cell(value: Json) -> Json:
    """A cell that no spreadsheet takes for a formula."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
