"""Generated requests to every route, right and wrong ones, by people who are signed in: no answer is status 500."""

import secrets
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from askers import World, known
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from reliability_page import Reliability
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from team import Browser, Team

from reeltalk_review.guard import LoginLimiter
from reeltalk_review.people import start_session
from reeltalk_review.tables import PersonRow
from reeltalk_review.web import cookie_name

MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
ASKERS = ("owner", "annotator")


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory, make_any_team: Callable[[Path], Team]) -> World:
    found = World(make_any_team(tmp_path_factory.mktemp("generated")))
    for state in ("fresh", "decided", "submitted", "complete"):
        for who in (*ASKERS, "other"):
            found.work(who, state)
    found.dispute("owner")
    found.dialogue("owner", "annotator", said=1)
    found.video()
    found.invitation()
    return found


def keep_in(world: World, browser: Browser, role: str) -> None:
    """Let somebody be signed in, in their role, whatever was asked before."""
    world.team.app.state.login_limiter = LoginLimiter()
    if browser.client.get("/account", follow_redirects=False).status_code == 200:
        return
    with world.changing() as change:
        person = change.session.get_one(PersonRow, browser.id)
        person.role, person.disabled_at = role, None
        cookie = start_session(change, world.team.project.secret, browser.id)
    browser.client.cookies.clear()
    browser.client.cookies.set(cookie_name(world.team.project), cookie)
    browser.csrf = browser.get("/").text.split('name="csrf" content="')[1].split('"')[0]


def send(browser: Browser, case: Any, real: dict[str, str]) -> Any:
    """A generated request with the token of the session, a fresh key, and what is there in its address."""
    if real:
        case.path_parameters = {**(case.path_parameters or {}), **real}
    request = case.as_transport_kwargs(base_url="http://localhost")
    headers = {name: value for name, value in request["headers"].items() if is_sendable(name, value)}
    headers |= {"x-csrf-token": browser.csrf, "idempotency-key": secrets.token_hex(8)}
    fields = request.get("data")
    if isinstance(fields, dict):
        fields = {**fields, "csrf": browser.csrf}
    return browser.client.request(
        request["method"],
        request["url"],
        params=request.get("params"),
        headers=headers,
        json=request.get("json"),
        data=fields if isinstance(fields, dict) else None,
        content=fields if isinstance(fields, str | bytes) else None,
        follow_redirects=False,
    )


def is_sendable(name: str, value: Any) -> bool:
    """True for a header that a client can send, and that does not name somebody else."""
    plain = all(isinstance(text, str) and text.isascii() and text.isprintable() for text in (name, value))
    return plain and name.lower() not in ("authorization", "cookie", "host", "content-length", "transfer-encoding")


@pytest.mark.timeout(7200)
def test_no_generated_request_breaks_the_server(world: World, reliability: Reliability) -> None:
    generated = reliability.count(50, full=2_000, release=20_000)
    tally = reliability(
        "review", "generated requests to every address, right and wrong ones", "an answer of status 500"
    )
    schema = schemathesis.openapi.from_dict(world.team.app.openapi())
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    # More than are needed, since some operations have only right requests, and small spaces end early.
    each = -(-generated * 2 // (len(operations) * len(MODES)))
    things = known(world)
    statuses: Counter[int] = Counter()
    broken: list[str] = []
    for number, operation in enumerate(operations):
        # Where one request each is enough, every other operation is asked rightly, and those between wrongly.
        for mode in MODES if each > 1 else (MODES[number % 2],):
            strategy = operation.as_strategy(generation_mode=mode)
            names = [name for name in things if f"{{{name}}}" in operation.path]
            real: st.SearchStrategy[dict[str, str]] = st.one_of(
                st.just({}), st.fixed_dictionaries({name: st.sampled_from(things[name]) for name in names})
            )

            @seed(7)
            @settings(max_examples=each, database=None, deadline=None, suppress_health_check=list(HealthCheck))
            @given(case=strategy, real=real, who=st.sampled_from(ASKERS))
            def ask(case: Any, real: dict[str, str], who: str) -> None:
                browser = world.browsers[who]
                keep_in(world, browser, who)
                answer = send(browser, case, real)
                statuses[answer.status_code] += 1
                if answer.status_code >= 500:
                    broken.append(f"{who}: {case.method} {case.formatted_path} {case.query!r} {case.body!r}"[:500])

            try:
                ask()
            except Unsatisfiable:
                # Nothing about a page without parameters can be wrong.
                continue
    print(dict(statuses))
    tally.tried, tally.failed = sum(statuses.values()), len(broken)
    assert broken == []
    assert sum(statuses.values()) >= generated
    # Neither is everything refused, nor everything swallowed.
    assert statuses[200] + statuses[303] > sum(statuses.values()) / 20
    assert statuses[422] + statuses[404] > sum(statuses.values()) / 20
