"""Pages: templates with autoescape, one navigation, and one look for what is refused."""

import json
from functools import cache
from typing import Any, Final

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from reeltalk import __version__
from reeltalk.review.access import Action, Role, may
from reeltalk.review.people import Person
from reeltalk.schema.record import Json

NAVIGATION: Final = (
    ("/", "Work", Action.LOOK),
    ("/board", "Board", Action.LOOK),
    ("/adjudicate", "Adjudicate", Action.ADJUDICATE),
    ("/pairs", "Pairs", Action.WORK),
    ("/team", "Team", Action.MANAGE),
    ("/setup", "Queues and settings", Action.MANAGE),
    ("/history", "History", Action.MANAGE),
    ("/account", "Your account", Action.LOOK),
)
"""Pages that the navigation leads to, with what one must be allowed to see them."""


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
    found.filters |= {"minute": _minute, "plain": _plain, "sentence": _sentence}
    return found


def _minute(moment: str) -> str:
    """A stored moment as people read it: UTC to the minute."""
    return f"{moment[:10]} {moment[11:16]}"


def _plain(value: Json) -> str:
    """A JSON value as people read it."""
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)


def _sentence(text: object) -> str:
    """A message as a sentence; what it names keeps its letters."""
    words = str(text)
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "?")) else ".")


def page(request: Request, template: str, person: Person | None, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page.

    Args:
        request: What was asked.
        template: Which, as `home.html`; it gets `person`, `project`, `here` (the address), `paths` (all addresses
            that there are) and `navigation` besides the values.
        person: Who looks; None where nobody is signed in.
        status: The status of the answer.
        **values: What it shows.
    """
    html = (
        environment()
        .get_template(template)
        .render(
            person=person,
            project=request.app.state.project,
            here=request.url.path,
            paths=request.app.state.paths,
            navigation=[
                (path, label)
                for path, label, action in NAVIGATION
                if person is not None and path in request.app.state.paths and may(person.role, action)
            ],
            **values,
        )
    )
    return HTMLResponse(html, status_code=status)
