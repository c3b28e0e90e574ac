"""Who may do what: four roles, and one table that says what each is allowed.

What depends on an object besides (an assignment is its person's own; nobody sees another's work on a unit before all
are in; an investigator never gets the video) is decided where the object is opened.
"""

from enum import StrEnum
from typing import Final

from reeltalk.review.errors import Forbidden


class Role(StrEnum):
    """What a person is in a team."""

    OWNER = "owner"
    """Invites people, sets up queues, and may do all that others may."""
    ADJUDICATOR = "adjudicator"
    """Settles what annotators disagree on, returns work."""
    ANNOTATOR = "annotator"
    READER = "reader"
    """Looks at the board and at results."""


class Action(StrEnum):
    """What a request does."""

    LOOK = "look"
    """Pages about the person themself, the board's progress, manuals."""
    WORK = "work"
    """Take units and work on them."""
    ADJUDICATE = "adjudicate"
    """Settle units that are not the person's own, return work."""
    SEE_TEAM = "see_team"
    """Everybody's numbers and their agreement."""
    SEE_RESULTS = "see_results"
    """Settled work and the history of complete units."""
    MANAGE = "manage"
    """People, invitations, queues, settings."""


ALLOWED: Final[dict[Action, frozenset[Role]]] = {
    Action.LOOK: frozenset(Role),
    Action.WORK: frozenset({Role.OWNER, Role.ADJUDICATOR, Role.ANNOTATOR}),
    Action.ADJUDICATE: frozenset({Role.OWNER, Role.ADJUDICATOR}),
    Action.SEE_TEAM: frozenset({Role.OWNER, Role.ADJUDICATOR, Role.READER}),
    Action.SEE_RESULTS: frozenset({Role.OWNER, Role.ADJUDICATOR, Role.READER}),
    Action.MANAGE: frozenset({Role.OWNER}),
}
"""Which roles may do what."""


def may(role: str, action: Action) -> bool:
    """True where a role allows an action."""
    return Role(role) in ALLOWED[action]


def check_role(role: str, action: Action) -> None:
    """Refuse an action that a role does not allow.

    Raises:
        Forbidden: It does not.
    """
    if not may(role, action):
        who = " or ".join(sorted(ALLOWED[action]))
        raise Forbidden(f"this needs the role of {who}; yours is {role}. Ask an owner of the project")
