"""Runs the application until it is stopped."""

import contextlib
import socket
from typing import Final

import uvicorn
from sqlalchemy import select

from reeltalk.errors import SettingError
from reeltalk.review.access import Role
from reeltalk.review.app import create_app
from reeltalk.review.connections import BoundedServer, ConnectionLimits, ConnectionPool, connection_limits
from reeltalk.review.events import OPERATOR, transaction
from reeltalk.review.guard import Address
from reeltalk.review.people import invite, withdraw
from reeltalk.review.project import ReviewProject
from reeltalk.review.tables import InvitationRow, PersonRow

FIRST_OWNER: Final = "the first owner"


def first_invitation(project: ReviewProject) -> str | None:
    """The token with which an owner joins a team that has none; None if it has one. Earlier such links end."""
    with transaction(project.database, OPERATOR) as change:
        owners = select(PersonRow.id).where(PersonRow.role == Role.OWNER, PersonRow.disabled_at.is_(None))
        if change.session.scalars(owners).first() is not None:
            return None
        earlier = select(InvitationRow.id).where(
            InvitationRow.created_by == OPERATOR,
            InvitationRow.note == FIRST_OWNER,
            InvitationRow.used_by.is_(None),
            InvitationRow.withdrawn_at.is_(None),
        )
        for invitation_id in change.session.scalars(earlier).all():
            withdraw(change, invitation_id)
        return invite(change, project.secret, Role.OWNER, FIRST_OWNER)[1]


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Made first, so that a taken port is reported before anything else is done.

    Raises:
        SettingError: The address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY. Otherwise each answer on a kept connection would wait 40 ms for
    # the browser's acknowledgement.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, OverflowError) as error:
        found.close()
        reason = error.strerror if isinstance(error, OSError) else "ports are 0 to 65535"
        raise SettingError(f"--host {host} --port {port}: {reason}; choose another --port, or 0 for any") from None
    found.listen(2048)
    return found


def run_server(
    project: ReviewProject,
    listening: socket.socket,
    address: Address | None = None,
    limits: ConnectionLimits | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM. Requests that are being answered are finished first.

    Args:
        project: The project.
        listening: The listening socket.
        address: How browsers reach it; by default only under this machine's own names.
        limits: Limits of connections; by default what this process can hold.
    """
    address = address or Address()
    config = uvicorn.Config(
        create_app(project, address),
        http="httptools",
        ws="none",
        # Only named proxies may tell the client's address; anybody else could send any address.
        proxy_headers=bool(address.proxies),
        forwarded_allow_ips=list(address.proxies),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )
    # uvicorn raises the signal again after it has closed everything.
    with contextlib.suppress(KeyboardInterrupt):
        BoundedServer(config, ConnectionPool(limits or connection_limits(), address.is_proxy)).run(sockets=[listening])
