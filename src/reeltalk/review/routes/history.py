"""For owners: everything that changed, as a page, and as a feed that scripts pull."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from reeltalk.review import people
from reeltalk.review.access import Action
from reeltalk.review.events import OPERATOR
from reeltalk.review.feed import MOST, events_after, events_before
from reeltalk.review.pages import page
from reeltalk.review.people import Person
from reeltalk.review.web import ProjectHere, seeing

router = APIRouter()
Owner = Annotated[Person, seeing(Action.MANAGE)]
ON_A_PAGE = 50
LARGEST_SEQ = 2**31 - 1


@router.get("/history", response_class=HTMLResponse)
def show_history(
    request: Request,
    project: ProjectHere,
    person: Owner,
    before: Annotated[int | None, Query(ge=1, le=LARGEST_SEQ)] = None,
) -> Response:
    """Events, newest first, a page at a time."""
    with project.database.reading() as session:
        events = events_before(session, before, ON_A_PAGE + 1)
        return page(
            request,
            "history.html",
            person,
            events=events[:ON_A_PAGE],
            older=events[ON_A_PAGE - 1].seq if len(events) > ON_A_PAGE else None,
            latest=before is None,
            names={**people.names(session), OPERATOR: "a command", "": "nobody yet"},
        )


@router.get("/api/events")
def pull_events(
    project: ProjectHere,
    person: Owner,
    after: Annotated[int, Query(ge=0, le=LARGEST_SEQ)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 100,
) -> dict[str, Any]:
    """Events that follow one, first to last; ask again from the last until none come."""
    with project.database.reading() as session:
        found = events_after(session, after, limit)
    return {"events": [event.document() for event in found], "last": found[-1].seq if found else after}
