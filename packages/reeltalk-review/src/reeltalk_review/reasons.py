"""The reasons for rejecting a turn: those that come with reeltalk, and the project's own, which owners write."""

import re
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk.schema.review import REASON_TITLES
from reeltalk_review.errors import InvalidValue
from reeltalk_review.tables import ProjectRow

MOST_REASONS: Final = 30
WITH_REASONS: Final = "turns"
"""The kind of work in which something is rejected for a reason."""


class OwnReason(BaseModel):
    """A reason that a project added."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,40}$")]
    """As in the benchmark's reviews."""
    title: Annotated[str, Field(min_length=1, max_length=80)]
    """As people read it."""


def read_reasons(text: str) -> tuple[OwnReason, ...]:
    """Own reasons as an owner writes them: one on each line, as `name: Title` or as a title alone.

    Raises:
        InvalidValue: A line is no reason, a name occurs twice or comes with reeltalk, or there are too many.
    """
    found: dict[str, OwnReason] = {}
    for line in filter(None, (" ".join(line.split()) for line in text.splitlines())):
        name, colon, title = (part.strip() for part in line.partition(":"))
        if not colon:
            name, title = re.sub(r"[^a-z0-9]+", "_", line.casefold()).strip("_")[:40].strip("_"), line
        if not re.fullmatch(r"[a-z0-9_]{1,40}", name):
            raise InvalidValue(
                f"write the reason {line[:60]!r} as 'name: Title'; a name has 1 to 40 small letters, digits and "
                "underscores",
                field="reasons",
            )
        if not 1 <= len(title) <= 80:
            raise InvalidValue(f"the title of the reason {name!r} has 1 to 80 characters", field="reasons")
        if name in found or name in REASON_TITLES:
            raise InvalidValue(f"the reason {name!r} is there already; give it another name", field="reasons")
        found[name] = OwnReason(name=name, title=title)
    if len(found) > MOST_REASONS:
        raise InvalidValue(f"a project has at most {MOST_REASONS} reasons of its own", field="reasons")
    return tuple(found.values())


def reason_titles(session: Session) -> dict[str, str]:
    """The titles of all reasons of a project, by name: the built-in ones, then its own."""
    settings = session.scalars(select(ProjectRow.settings)).one_or_none() or {}
    own = {reason["name"]: reason["title"] for reason in settings.get("reasons", ())}
    return {str(name): title for name, title in REASON_TITLES.items()} | own


def offered_reasons(session: Session, kind: str) -> list[Json]:
    """The reasons that a kind of work offers, as screens get them: name and title."""
    if kind != WITH_REASONS:
        return []
    return [{"name": name, "title": title} for name, title in reason_titles(session).items()]


def check_reasons(session: Session, value: Json) -> Json:
    """A value whose reasons are all reasons of this project.

    Raises:
        InvalidValue: One is not.
    """
    given = value.get("reasons") or ()
    known = reason_titles(session) if given else {}
    if unknown := [name for name in given if name not in known]:
        raise InvalidValue(
            f"this project has no reason {unknown[0][:60]!r}; choose from {', '.join(known)}", field="reasons"
        )
    return value
