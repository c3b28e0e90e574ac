"""What every drawing begins with."""

from reeltalk.report.visible import escaped


def open_svg(width: float, height: float, title: str) -> str:
    """The first tag of a figure.

    Args:
        width: In units of the drawing.
        height: In units of the drawing.
        title: What it shows, for readers who do not see it.
    """
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escaped(title)}" class="figure">'
