"""Values of published tables as people read them."""

from reeltalk.report.published.records import Value


def shown_value(value: Value) -> str:
    """A value of a table as people read it: marks for yes and no, digits in groups, a dash for none.

    Args:
        value: Of a cell.
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "✓" if value else "✗"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
