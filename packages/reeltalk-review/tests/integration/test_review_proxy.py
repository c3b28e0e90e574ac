"""The how-to's nginx in front of a real `reeltalk review`: people sign in, save and seek through HTTPS."""

import contextlib
import datetime
import os
import re
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from places import doc_page
from served_review import content
from walk_report import ARGUMENTS, find_chromium

from reeltalk.store.benchmark import Benchmark

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOW_TO: Final = doc_page("how-to/review.md")
NAME: Final = "review.example.org"
PASSWORD: Final = "a horse, a battery"
AROUND: Final = """
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 512; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {inner}
}}
"""


@dataclass
class Site:
    """A review behind a proxy."""

    port: int
    plain_port: int
    behind: int
    folder: Path
    certificate: Path
    invitation: str
    told: list[str] = field(default_factory=list)
    """Lines that the server wrote to standard error."""
    opened: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def client(self, host: str = "127.0.0.1") -> httpx.Client:
        """A browser on a machine with an address of its own."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        transport = _Named(httpx.HTTPTransport(verify=context, local_address=host))
        address = f"https://{NAME}:{self.port}"
        browser = {"Origin": address, "Sec-Fetch-Site": "same-origin"}
        client = httpx.Client(base_url=address, transport=transport, headers=browser, timeout=60)
        return self.opened.enter_context(client)


class _Named(httpx.BaseTransport):
    """Reaches the name at this machine, as a name server would say."""

    def __init__(self, inner: httpx.HTTPTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        extensions = {**request.extensions, "sni_hostname": NAME}
        here = request.url.copy_with(host="127.0.0.1")
        return self._inner.handle_request(
            httpx.Request(request.method, here, headers=request.headers, stream=request.stream, extensions=extensions)
        )

    def close(self) -> None:
        self._inner.close()


def free_port() -> int:
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for the name, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    encoded = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    private.write_bytes(key.private_bytes(*encoded))
    return certificate, private


def configured(ports: dict[str, int], certificate: Path, key: Path) -> str:
    """The how-to's configuration; ports and certificate are the only words that are replaced."""
    text = HOW_TO.read_text(encoding="utf-8")
    found = re.findall(r"^```nginx\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(found) == 1
    inner: str = found[0]
    for old, new in (
        ("listen 443 ssl", f"listen {ports['https']} ssl"),
        ("listen 80;", f"listen {ports['http']};"),
        ("127.0.0.1:8765", f"127.0.0.1:{ports['review']}"),
        (f"/etc/ssl/certs/{NAME}.pem", str(certificate)),
        (f"/etc/ssl/private/{NAME}.key", str(key)),
    ):
        assert inner.count(old) == 1, old
        inner = inner.replace(old, new)
    return inner


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if nginx is None:
        pytest.skip("no nginx on the PATH (Debian: nginx-light)")
    folder = tmp_path_factory.mktemp("proxy")
    benchmark = Benchmark.create(folder / "bench")
    benchmark.write_content(content(), stage="test")
    ports = {name: free_port() for name in ("https", "http", "review")}
    certificate, key = self_signed(folder)
    configuration = folder / "nginx.conf"
    # Else its workers run as an account that may not enter a test's folder.
    user = "user root;" if os.getuid() == 0 else ""
    text = AROUND.format(user=user, folder=folder, inner=configured(ports, certificate, key))
    configuration.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "reeltalk", "review", str(benchmark.path), "--port", str(ports["review"])]
    command += ["--public-host", NAME, "--behind-https"]
    review = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    proxy = subprocess.Popen([nginx, "-p", str(folder), "-c", str(configuration)], stderr=subprocess.PIPE, text=True)
    told: list[str] = []
    try:
        assert review.stdout is not None
        assert review.stderr is not None
        line = review.stdout.readline()
        found = re.search(rf"https://{NAME}(/join/\S+)", line)
        assert found is not None, line
        reading = threading.Thread(target=lambda: told.extend(review.stderr or ()), daemon=True)
        reading.start()
        made = Site(ports["https"], ports["http"], ports["review"], folder, certificate, found[1].rstrip(";"), told)
        wait_for(lambda: made.client().get("/sign-in").status_code == 200)
        with made.opened:
            yield made
        review.send_signal(signal.SIGINT)
        assert review.wait(60) == 0
        reading.join(10)
        assert "Traceback" not in "".join(told)
    finally:
        proxy.terminate()
        proxy.communicate(timeout=30)
        if review.poll() is None:
            review.kill()
        review.communicate()


def wait_for(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(httpx.TransportError):
            if done():
                return
        time.sleep(0.1)
    raise TimeoutError


@pytest.fixture(scope="module")
def ada(site: Site) -> httpx.Client:
    """The first owner, signed in."""
    client = site.client()
    joined = client.post(site.invitation, data={"name": "Ada", "password": PASSWORD})
    assert joined.status_code == 303, joined.text
    return client


def sign_in(client: httpx.Client, name: str = "Ada", password: str = PASSWORD, **headers: str) -> httpx.Response:
    return client.post("/sign-in", data={"name": name, "password": password}, headers=headers)


def test_a_person_signs_in_saves_and_seeks_through_https(site: Site, ada: httpx.Client) -> None:
    client = site.client()
    assert client.get("/", headers={"Accept": "text/html"}).headers["location"].startswith("/sign-in")
    signed_in = sign_in(client)
    assert signed_in.status_code == 303
    cookie = signed_in.headers["set-cookie"]
    assert cookie.startswith("__Host-")
    assert {"Secure", "HttpOnly", "Path=/"} <= set(cookie.split("; "))
    assert "max-age" in signed_in.headers["strict-transport-security"]
    found = re.search(r'name="csrf" content="([^"]+)"', client.get("/").text)
    assert found is not None
    work = client.post("/queues/turns/next", data={"csrf": found[1]}).headers["location"].removeprefix("/work/")
    turn = client.get(f"/api/work/{work}").json()["unit"]["content"]["turns"][0]
    value = {"decision": "accept", "question": turn["question"], "references": ["Milk."], "note": "through nginx"}
    value["labels"] = turn.get("labels", {})
    headers = {"X-CSRF-Token": found[1], "Idempotency-Key": secrets.token_hex(8)}
    body = {"revision": 0, "value": value}
    saved = client.put(f"/api/work/{work}/entries/0", json=body, headers=headers)
    assert saved.status_code == 200, saved.text
    assert saved.json()["revision"] == 1
    elsewhere = client.put(
        f"/api/work/{work}/entries/0", json=body, headers={**headers, "Origin": "https://evil.example"}
    )
    assert elsewhere.json()["error"]["code"] == "other_site"
    sha256 = next(video.sha256 for video in content().videos if video.id == "kitchen")
    path = content().media[sha256 or ""]
    for first, last in ((0, 99), (1000, 70_000), (path.stat().st_size - 50, path.stat().st_size - 1)):
        part = client.get(f"/media/{sha256}", headers={"Range": f"bytes={first}-{last}"})
        assert part.status_code == 206
        assert part.content == path.read_bytes()[first : last + 1]


def test_a_request_is_as_large_as_the_server_takes_it(site: Site, ada: httpx.Client) -> None:
    largest = 2 << 20
    for size, status in ((largest // 2, 401), (largest, 401), (largest + 1, 413)):
        body = b'{"value": "' + b"x" * (size - 13) + b'"}'
        answer = site.client().put(
            "/api/work/none/entries/0", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == status, (size, answer.text[:200])


def test_addresses_are_those_of_people_and_nobody_chooses_theirs(site: Site, ada: httpx.Client) -> None:
    attacker = site.client("127.0.0.2")
    statuses = [
        sign_in(attacker, password=f"wrong {n}", **{"X-Forwarded-For": f"192.0.2.{n}"}).status_code for n in range(60)
    ]
    assert statuses.count(429) > 30
    assert set(statuses) == {401, 429}
    assert sign_in(site.client("127.0.0.3")).status_code == 303
    wait_for(lambda: any("sign-in from 127.0.0.2: " in line for line in site.told))
    # Whoever reaches the server past the proxy is not believed either.
    form = {"name": "Ada", "password": "wrong again"}
    headers = {"Host": NAME, "X-Forwarded-For": "192.0.2.99"}
    with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.4"), headers=headers) as past:
        assert past.post(f"http://127.0.0.1:{site.behind}/sign-in", data=form).status_code == 401
    wait_for(lambda: any("sign-in from 127.0.0.4: " in line for line in site.told))
    assert not any("192.0.2." in line for line in site.told)
    logged = (site.folder / "access.log").read_text(encoding="utf-8")
    assert {line.split()[0] for line in logged.splitlines()} >= {"127.0.0.1", "127.0.0.2", "127.0.0.3"}


def test_browsers_are_offered_http_2(site: Site) -> None:
    context = ssl.create_default_context(cafile=str(site.certificate))
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", site.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=NAME) as secure,
    ):
        assert secure.selected_alpn_protocol() == "h2"
        assert secure.version() in ("TLSv1.2", "TLSv1.3")


def test_every_answer_tells_browsers_to_use_https_alone(site: Site, ada: httpx.Client) -> None:
    for path in ("/", "/sign-in", "/nothing", "/static/review.css", "/api/work/none", "/media/none"):
        answer = ada.get(path)
        assert answer.headers["strict-transport-security"] == "max-age=31536000", path


def test_plain_http_leads_to_https_and_other_names_nowhere(site: Site) -> None:
    plain = httpx.get(f"http://127.0.0.1:{site.plain_port}/work/1?a=b", headers={"Host": NAME})
    assert (plain.status_code, plain.headers["location"]) == (301, f"https://{NAME}/work/1?a=b")
    other = site.client().get("/sign-in", headers={"Host": "evil.example"})
    assert other.json()["error"]["code"] == "unknown_host"


@pytest.mark.browser
def test_a_real_browser_signs_in_and_plays(site: Site, ada: httpx.Client) -> None:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    from playwright.sync_api import sync_playwright

    mapped = f"--host-resolver-rules=MAP {NAME} 127.0.0.1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*ARGUMENTS, mapped])
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.goto(f"https://{NAME}:{site.port}/")
        page.get_by_label("Name").fill("Ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"https://{NAME}:{site.port}/")
        assert [cookie["secure"] for cookie in page.context.cookies()] == [True]
        loaded = page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol")
        assert loaded == "h2"
        assert seconds_played(page) > 30
        browser.close()


def seconds_played(page: "Page") -> float:
    """Where a video is after a seek to its end."""
    sha256 = next(video.sha256 for video in content().videos if video.id == "kitchen")
    return float(
        page.evaluate(
            """async (address) => {
                const video = document.createElement("video");
                video.src = address;
                await new Promise((done) => { video.onloadedmetadata = done; });
                video.currentTime = video.duration - 1;
                await new Promise((done) => { video.onseeked = done; });
                return video.currentTime;
            }""",
            f"/media/{sha256}",
        )
    )
