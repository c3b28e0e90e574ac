"""Middleware for every route, the host names under which the server answers, and limits on tries to sign in.

It rejects requests that no route needs and adds headers that protect the browser. A page of another site can give its
own name this machine's address (DNS rebinding) and would then pass for this site. So the server answers only to names
that it was started with.

Tries to sign in or join are counted in memory. The tables stay small under a flood of failed sign-ins.
"""

import hashlib
import ipaddress
import math
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reeltalk.errors import SettingError
from reeltalk_review.errors import TooManyRequests

LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARDS: Final = frozenset({"0.0.0.0", "::"})
THIS_MACHINE: Final = ("127.0.0.1", "::1")


@dataclass(frozen=True)
class Address:
    """How browsers reach the server."""

    names: frozenset[str] = LOCAL
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
        """Warnings for the operator about who can read the traffic.

        Args:
            host: The address that the server listens on.
        """
        if host not in WILDCARDS and (host.lower() == "localhost" or _is_loopback(host)):
            return []
        found = [
            f"--host {host}: other machines reach this server directly, without TLS: passwords, cookies and videos can "
            "be read and changed on the way. Listen on 127.0.0.1 behind a proxy that speaks HTTPS, with "
            "--public-host NAME --behind-https; the how-to about reviewing has a configuration for nginx."
        ]
        if self.proxies:
            found = [
                f"--host {host}: let no machine but the proxy reach this port, for the server itself does not speak TLS"
            ]
            if set(self.proxies) <= set(_trusted(THIS_MACHINE)):
                found[0] += "; name a proxy on another machine with --proxy ADDRESS, or all people count as one address"
        return found

    def url(self, host: str, port: int, public_hosts: Sequence[str] = ()) -> str:
        """The URL for people, as `http://127.0.0.1:8765`.

        Args:
            host: The address that the server listens on.
            port: The port.
            public_hosts: Given host names; the first one is used.
        """
        if self.behind_https and public_hosts:
            return f"https://{_bracketed(public_hosts[0])}"
        name = public_hosts[0] if public_hosts else "127.0.0.1" if host in WILDCARDS else host
        return f"http://{_bracketed(name)}:{port}"


def server_address(
    host: str, public_hosts: Sequence[str] = (), *, behind_https: bool = False, proxies: Sequence[str] = ()
) -> Address:
    """The address of a server.

    Args:
        host: The address that it listens on.
        public_hosts: More host names by which browsers reach it.
        behind_https: Whether a proxy in front of it speaks HTTPS.
        proxies: IP addresses and networks of proxies; by default this machine if `behind_https`.

    Raises:
        SettingError: A host name or an address is not valid.
    """
    names = set(LOCAL)
    for given in public_hosts:
        name = host_name(given)
        if name is None or given != given.strip() or (":" in given and not _is_ip(given)):
            raise SettingError(f"--public-host {given!r}: give a name alone, as review.example.org")
        names.add(name)
    if host not in WILDCARDS:
        names.add(host.lower())
    trusted = _trusted(proxies or (THIS_MACHINE if behind_https else ()))
    return Address(frozenset(names), host in WILDCARDS, behind_https, trusted)


def host_name(host: str) -> str | None:
    """The name in a `Host` header, in lower case, without port and brackets; None if it is not valid."""
    if _is_ip(host):
        return host.lower()
    if host.startswith("["):
        name, closed, port = host[1:].partition("]")
        good = closed and _is_ip(name) and (not port or (port.startswith(":") and port[1:].isdecimal()))
        return name.lower() if good else None
    name, colon, port = host.partition(":")
    if colon and not port.isdecimal():
        return None
    name = name.lower().removesuffix(".")
    good = 0 < len(name) <= 253 and name.isascii() and all(c.isalnum() or c in "-._" for c in name)
    return name if good else None


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


def _is_loopback(host: str) -> bool:
    return _is_ip(host) and ipaddress.ip_address(host).is_loopback


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # With `no-referrer`, browsers would also hide the origin of a form from its own site.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
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
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in self._headers if name not in present),
                ]
                if b"cache-control" not in present:
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            if refused.status_code == TOO_LARGE:
                await _drain(receive)
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
            return json_error(
                400,
                "unknown_host",
                "the server does not answer to this host name; start it with --public-host NAME",
            )
        lengths = [value for name, value in scope["headers"] if name == b"content-length"] or [b"0"]
        if len(lengths) > 1 or not lengths[0].isdigit() or len(lengths[0]) > 15 or int(lengths[0]) > LARGEST_BODY:
            return json_error(TOO_LARGE, "too_large", TOO_LARGE_TO_SAVE)
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


Value = TypeVar("Value")
MOST_KEYS: Final = 10_000
"""How many keys are remembered. The key with the oldest try is forgotten first."""
FREE_TRIES: Final = 5
"""Tries for a name from one address before there is a wait."""
LONGEST_WAIT_S: Final = 15 * 60.0
TOO_MANY: Final = "there were too many tries"
LONGEST_PAUSE_S: Final = 5.0
"""How long a paced try may be delayed. A try that would wait longer is refused."""


class BackOff:
    """Exponential back-off: some tries are free, each further one doubles the next wait.

    Args:
        free: Number of free tries.
        most_keys: How many keys are remembered.
    """

    def __init__(self, free: int = FREE_TRIES, *, most_keys: int = MOST_KEYS) -> None:
        self._free, self._most_keys = free, most_keys
        self._tries: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tries)

    def wait_s(self, key: bytes, now: float) -> float:
        """Seconds until a try is accepted; 0 if it is accepted now."""
        return max(0.0, self._tries.get(key, (0, now))[1] - now)

    def count(self, key: bytes, now: float) -> None:
        """Count a try before its cost is spent, so that parallel tries count too."""
        count, until = self._tries.get(key, (0, now))
        # After a long pause, counting starts again.
        count = 1 if now - until >= LONGEST_WAIT_S else count + 1
        wait_s = min(LONGEST_WAIT_S, 2.0 ** min(count - self._free, 20)) if count >= self._free else 0.0
        _put(self._tries, key, (count, now + wait_s), self._most_keys)

    def forget(self, key: bytes) -> None:
        """Forget all tries of a key."""
        self._tries.pop(key, None)


@dataclass(frozen=True)
class Rate:
    """How many tries are accepted at once, and the seconds for each further one."""

    at_once: int
    every_s: float


class Pace:
    """Accepts some tries at once and further ones at a steady rate: the generic cell rate algorithm.

    Args:
        rate: The rate.
        most_keys: How many keys are remembered.
    """

    def __init__(self, rate: Rate, *, most_keys: int = MOST_KEYS) -> None:
        self._rate, self._most_keys = rate, most_keys
        self._due: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._due)

    def wait_s(self, key: bytes, now: float) -> float:
        """Seconds to wait before a try that is counted now may run."""
        return max(0.0, self._due.get(key, now) - (self._rate.at_once - 1) * self._rate.every_s - now)

    def count(self, key: bytes, now: float) -> None:
        _put(self._due, key, max(self._due.get(key, now), now) + self._rate.every_s, self._most_keys)

    def forgive(self, key: bytes) -> None:
        """Take a try back because it was successful."""
        if key in self._due:
            self._due[key] -= self._rate.every_s


class LoginLimiter:
    """Limits tries to sign in and to join.

    Five wrong passwords for a name from one address are accepted at once. Further tries wait, twice as long each time,
    up to a quarter of an hour. The wait affects neither other names from that address nor the same name from other
    addresses. Many tries from one address, or for one name from many addresses, are paced.

    Args:
        clock: Returns the time in seconds and never goes back.
        of_address: The rate of all tries from one address. It limits the processor time spent on passwords.
        of_name: The rate of all tries for one name. It limits how much many addresses together can guess.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        of_address: Rate = Rate(100, 0.25),
        of_name: Rate = Rate(100, 2.0),
    ) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._here = BackOff()
        self._address, self._name = Pace(of_address), Pace(of_name)

    def hit(self, name: str, address: str) -> float:
        """Count a try to sign in; returns after how many seconds it may run.

        Raises:
            TooManyRequests: There were too many tries; this one is not counted.
        """
        now, here, at_name, at_address = self._clock(), _hashed((name, address)), _hashed((name,)), _hashed((address,))
        with self._lock:
            pause_s = max(self._address.wait_s(at_address, now), self._name.wait_s(at_name, now))
            wait_s = self._here.wait_s(here, now) or (pause_s if pause_s > LONGEST_PAUSE_S else 0.0)
            if wait_s:
                raise TooManyRequests(TOO_MANY, wait_s=math.ceil(wait_s))
            self._here.count(here, now)
            self._address.count(at_address, now)
            self._name.count(at_name, now)
        return pause_s

    def reset(self, name: str, address: str) -> None:
        """The password was right: earlier mistakes no longer count."""
        with self._lock:
            self._here.forget(_hashed((name, address)))
            self._address.forgive(_hashed((address,)))
            self._name.forgive(_hashed((name,)))


def _put(remembered: "OrderedDict[bytes, Value]", key: bytes, value: Value, most: int) -> None:
    remembered[key] = value
    remembered.move_to_end(key)
    while len(remembered) > most:
        remembered.popitem(last=False)


def _hashed(key: tuple[str, ...]) -> bytes:
    # A fixed size, however long a name is sent.
    found = hashlib.blake2b(digest_size=16)
    for part in key:
        found.update(len(part).to_bytes(8, "big") + part.encode("utf-8", "surrogatepass"))
    return found.digest()
