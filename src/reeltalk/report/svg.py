"""What every drawing begins with, and how text gets into one."""

from html import escape

from reeltalk.report.visible import visible


def open_svg(width: float, height: float, title: str) -> str:
    """The first tag of a figure.

    Args:
        width: In units of the drawing.
        height: In units of the drawing.
        title: What it shows, for readers who do not see it.
    """
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{text_of(title)}" class="figure">'


def text_of(text: str) -> str:
    """Anybody's text, fit to stand in a drawing."""
    return escape(visible(text))
