"""Middleware for every route, the host names under which the server answers, and limits on tries to sign in.

It rejects requests that no route needs and adds headers that protect the browser. A page of another site can give its
own name this machine's address (DNS rebinding) and would then pass for this site. So the server answers only to names
that it was started with.
"""

import hashlib
import ipaddress
import math
import re
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reeltalk.errors import SettingError
from reeltalk_review.errors import TooManyRequests

LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARDS: Final = frozenset({"0.0.0.0", "::"})
THIS_MACHINE: Final = ("127.0.0.1", "::1")


@dataclass(frozen=True)
class Address:
    """How browsers reach the server."""

    names: frozenset[str] = LOCAL_HOSTS
    """Host names that it answers to, in lower case, without a port."""
    any_ip: bool = False
    """True: it also answers to every IP address, since it listens on all and an IP address cannot be rebound."""
    behind_https: bool = False
    """True if a proxy in front of it speaks HTTPS with browsers."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks of trusted proxies, which report the client and the scheme of a request."""

    def answers_to(self, host: str) -> bool:
        """True if a request's `Host` header names this server."""
        name = host_name(host)
        return name is not None and (name in self.names or (self.any_ip and _is_ip(name)))

    def warnings(self, host: str) -> list[str]:
        """Warnings for the operator, who listens on `host`, about who can read the traffic."""
        if host.lower() == "localhost" or (_is_ip(host) and ipaddress.ip_address(host).is_loopback):
            return []
        if not self.proxies:
            return [
                f"--host {host}: other machines reach this server directly, without TLS: passwords, cookies and videos "
                "can be read and changed on the way. Listen on 127.0.0.1 behind a proxy that speaks HTTPS, with "
                "--public-host NAME --behind-https; the how-to about reviewing has a configuration for nginx."
            ]
        alone = f"--host {host}: let no machine but the proxy reach this port, for the server itself does not speak TLS"
        if set(self.proxies) <= set(_trusted(THIS_MACHINE)):
            alone += "; name a proxy on another machine with --proxy ADDRESS, or all people count as one address"
        return [alone]

    def url(self, host: str, port: int, public_hosts: Sequence[str] = ()) -> str:
        """The URL for people, as `http://127.0.0.1:8765`, of a server that listens on `host`."""
        name = public_hosts[0] if public_hosts else "127.0.0.1" if host in WILDCARDS else host
        shown = f"[{name}]" if ":" in name else name
        return f"https://{shown}" if self.behind_https and public_hosts else f"http://{shown}:{port}"


def server_address(
    host: str, public_hosts: Sequence[str] = (), *, behind_https: bool = False, proxies: Sequence[str] = ()
) -> Address:
    """The address of a server that listens on `host`; by default this machine is its proxy if it is `behind_https`.

    Raises:
        SettingError: A host name or an address is not valid.
    """
    names = set(LOCAL_HOSTS)
    for given in public_hosts:
        if host_name(given) != given.lower():
            raise SettingError(f"--public-host {given!r}: give a name alone, as review.example.org")
        names.add(given.lower())
    if host not in WILDCARDS:
        names.add(host.lower())
    trusted = _trusted(proxies or (THIS_MACHINE if behind_https else ()))
    return Address(frozenset(names), host in WILDCARDS, behind_https, trusted)


_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]{1,253}?)\.?)(?::\d+)?", re.ASCII | re.IGNORECASE)


def host_name(host: str) -> str | None:
    """The name in a `Host` header, in lower case, without port and brackets; None if it is not valid."""
    if _is_ip(host):
        return host.lower()
    found = _HOST.fullmatch(host)
    if found is None or (found[1] and not _is_ip(found[1])):
        return None
    return (found[1] or found[2]).lower()


def _trusted(proxies: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for given in proxies:
        try:
            network = ipaddress.ip_network(given)
        except ValueError:
            raise SettingError(
                f"--proxy {given!r}: give an IP address or a network, as 10.0.0.2 or 10.0.0.0/24"
            ) from None
        found.append(str(network))
        if network.version == 4:
            # The form in which a socket that listens on :: sees it.
            found.append(f"::ffff:{network.network_address}/{96 + network.prefixlen}")
    return tuple(found)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # With `no-referrer`, browsers would also hide the origin of a form from its own site.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    # Only where an answer does not say otherwise, as the others.
    (b"cache-control", b"no-store"),
)
HTTPS_ALONE: Final = (b"strict-transport-security", b"max-age=31536000")
LARGEST_BODY: Final = 2 << 20
"""Bytes of a request body. A turn's texts have a few hundred thousand at most."""
LARGEST_DRAINED: Final = 64 << 20
"""Bytes of a body that is too large that are read and thrown away, since a browser reads no answer while it sends."""
TOO_LARGE: Final = 413
TOO_LARGE_TO_SAVE: Final = (
    f"this is too large to be saved: a request has at most {LARGEST_BODY >> 20} MiB; shorten the text"
)
JSON_ALONE: Final = ("/api/", "/media/")
"""Path prefixes with JSON errors for every client."""


class Guard:
    """Middleware: rejects requests that no route needs, and adds headers that protect browsers, to errors as well.

    Args:
        app: The wrapped application.
        address: The host names that the server answers to.
    """

    def __init__(self, app: ASGIApp, address: Address) -> None:
        self._app, self._address = app, address
        self._headers = (*HEADERS, HTTPS_ALONE) if address.behind_https else HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                present = {name.lower() for name, _ in message["headers"]}
                more = [(name, value) for name, value in self._headers if name not in present]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, with_headers)
            return
        taken = 0

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > LARGEST_BODY:
                if message.get("more_body"):
                    await _drain(receive)
                raise HTTPException(TOO_LARGE)
            return message

        try:
            await self._app(scope, bounded, with_headers)
        except Exception as error:
            # An error of the program goes to the server's log, never to the client.
            traceback.print_exception(error)
            if begun:
                raise
            broken = json_error(500, "broken", "the server made a mistake; what you typed stays in this browser")
            await broken(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> JSONResponse | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._address.answers_to(hosts[0].decode("latin-1")):
            said = "the server does not answer to this host name; start it with --public-host NAME"
            return json_error(400, "unknown_host", said)
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            return json_error(400, "bad_address", "the address holds a NUL character")
        return None


async def _drain(receive: Receive) -> None:
    """Read the rest of a body, and throw it away."""
    taken = 0
    while taken <= LARGEST_DRAINED:
        message = await receive()
        taken += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


def json_error(status: int, code: str, message: str) -> JSONResponse:
    """An error in the JSON form for scripts."""
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=status)


def network_of(address: str | None) -> str:
    """What counts as one address: an IPv4 address, or the half of an IPv6 address that its holder cannot choose."""
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return address or ""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return found.ipv4_mapped.compressed
        return str(ipaddress.ip_network((found, 64), strict=False))
    return found.compressed


@dataclass(frozen=True)
class Rate:
    """How many tries are accepted at once, and the seconds for each further one."""

    at_once: int
    every_s: float


FREE_TRIES: Final = 5
"""Tries for a name from one address before there is a wait."""
NAME_HERE_RATE: Final = Rate(FREE_TRIES, 60.0)
"""Of tries for a name from one address, who may have mistyped a password or be guessing it."""
NAME_RATE: Final = Rate(100, 2.0)
"""Of tries for a name from anywhere. It limits how much many addresses together can guess."""
ADDRESS_RATE: Final = Rate(100, 0.25)
"""Of tries from one address. It limits the processor time spent on passwords."""
MOST_KEYS: Final = 10_000
"""How many names and addresses are remembered. That with the oldest try is forgotten first."""


class LoginLimiter:
    """Limits tries to sign in and to join, in memory: the generic cell rate algorithm.

    A client that guesses at a name from one address soon waits for each try. The wait affects neither other names
    from that address nor the same name from other addresses.

    Args:
        clock: Returns the time in seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._due: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._due)

    def hit(self, name: str, address: str) -> None:
        """Count a try before its cost is spent, so that parallel tries count too."""
        now = self._clock()
        here, everywhere = _hashed(name, address), _hashed(name)
        rates = {here: NAME_HERE_RATE, everywhere: NAME_RATE, _hashed(address, "address"): ADDRESS_RATE}
        with self._lock:
            due = {key: max(self._due.get(key, now), now) for key in rates}
            wait_s = max(due[key] - now - (rate.at_once - 1) * rate.every_s for key, rate in rates.items())
            if wait_s > 0:
                raise TooManyRequests("there were too many tries", wait_s=math.ceil(wait_s))
            for key, rate in rates.items():
                self._due[key] = due[key] + rate.every_s
                self._due.move_to_end(key)
            while len(self._due) > MOST_KEYS:
                self._due.popitem(last=False)

    def reset(self, name: str, address: str) -> None:
        """The password was right: what was mistyped before no longer counts."""
        with self._lock:
            self._due.pop(_hashed(name, address), None)


def _hashed(*key: str) -> str:
    # A fixed size, however long a name is sent.
    return hashlib.sha256(repr(key).encode()).hexdigest()
