"""Tables for scripts and spreadsheets: as JSON, or as CSV with `?format=csv`."""

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


def sheet_answer(
    name: str, rows: Iterable[Mapping[str, Json]], columns: Sequence[str], format: Format, **more: Json
) -> Response:
    """A table as `{"rows": […]}` with more entries, or as a CSV file of this name and these columns."""
    if format == "csv":
        return stream_csv(name, rows, columns)
    return JSONResponse({"rows": [dict(row) for row in rows], **more})


def stream_csv(name: str, rows: Iterable[Mapping[str, Json]], columns: Sequence[str]) -> Response:
    """A table as a CSV file of this name and these columns, sent while it is read."""

    def lines() -> Iterator[str]:
        yield write_csv(columns, [])
        for row in rows:
            cells = (row[column] for column in columns)
            yield write_csv([("no", "yes")[cell] if isinstance(cell, bool) else cell for cell in cells], [])

    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(lines(), media_type="text/csv; charset=utf-8", headers=headers)
