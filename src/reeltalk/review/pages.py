"""Pages: templates with autoescape, and one look for what is refused."""

from functools import cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from reeltalk import __version__
from reeltalk.review.access import Action, Role, may
from reeltalk.review.people import Person


@cache
def environment() -> Environment:
    """The templates."""
    found = Environment(
        loader=PackageLoader("reeltalk.review"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals |= {"version": __version__, "Action": Action, "Role": Role, "may": may}
    return found


def page(request: Request, template: str, person: Person | None, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page.

    Args:
        request: What was asked.
        template: Which, as `home.html`; it gets `person`, `project` and `here` besides the values.
        person: Who looks; None where nobody is signed in.
        status: The status of the answer.
        **values: What it shows.
    """
    html = (
        environment()
        .get_template(template)
        .render(person=person, project=request.app.state.project, here=request.url.path, **values)
    )
    return HTMLResponse(html, status_code=status)
