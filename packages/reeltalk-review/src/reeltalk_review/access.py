"""Who may do what: four roles, and one table of the actions that each role allows.

Rules about single objects are checked where the object is opened: an assignment belongs to one person, nobody sees
another's work on a unit before all of it is in, and an investigator never gets the video.
"""

from enum import StrEnum
from typing import Final

from reeltalk_review.errors import Forbidden


class Role(StrEnum):
    """A person's role in the team."""

    OWNER = "owner"
    """Invites people, sets up queues, and may do everything that others may."""
    ADJUDICATOR = "adjudicator"
    """Settles disagreements and returns work."""
    ANNOTATOR = "annotator"
    READER = "reader"
    """Sees the board and complete units, and changes nothing."""


class Action(StrEnum):
    """A kind of request, for which a role is needed."""

    LOOK = "look"
    """Pages about yourself, the board's progress, manuals."""
    WORK = "work"
    """Take units and work on them."""
    ADJUDICATE = "adjudicate"
    """Settle units that are not your own, return work."""
    SEE_TEAM = "see_team"
    """See everybody's numbers and their agreement."""
    SEE_RESULTS = "see_results"
    """See complete units with everybody's work on them."""
    MANAGE = "manage"
    """Change people, invitations, queues and settings."""


ALLOWED: Final[dict[Action, frozenset[Role]]] = {
    Action.LOOK: frozenset(Role),
    Action.WORK: frozenset({Role.OWNER, Role.ADJUDICATOR, Role.ANNOTATOR}),
    Action.ADJUDICATE: frozenset({Role.OWNER, Role.ADJUDICATOR}),
    Action.SEE_TEAM: frozenset({Role.OWNER, Role.ADJUDICATOR, Role.READER}),
    Action.SEE_RESULTS: frozenset({Role.OWNER, Role.ADJUDICATOR, Role.READER}),
    Action.MANAGE: frozenset({Role.OWNER}),
}
"""The roles that each action needs."""


def may(role: str, action: Action) -> bool:
    """True if a role allows an action."""
    return Role(role) in ALLOWED[action]


def check_role(role: str, action: Action) -> None:
    """Reject an action that a role does not allow."""
    if not may(role, action):
        who = " or ".join(sorted(ALLOWED[action]))
        raise Forbidden(f"this needs the role of {who}; yours is {role}. Ask an owner of the project")
