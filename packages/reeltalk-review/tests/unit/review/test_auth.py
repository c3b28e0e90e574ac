"""Who comes in: invitations, passwords, sessions, names of the server; and what is counted and refused."""

import contextlib
import re
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reliability_page import Reliability
from served_review import QUICK
from sqlalchemy import select
from starlette.testclient import TestClient
from team import PASSWORD, Browser, Team, make_team

from reeltalk.errors import SettingError
from reeltalk_review import people
from reeltalk_review.app import create_app
from reeltalk_review.credentials import STRONG, HashCost, check_password, is_password
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import InvalidValue, TooManyRequests
from reeltalk_review.events import OPERATOR, broken_links, transaction
from reeltalk_review.guard import (
    ADDRESS_RATE,
    FREE_TRIES,
    MOST_KEYS,
    NAME_HERE_RATE,
    Address,
    LoginLimiter,
    host_name,
    network_of,
    server_address,
)
from reeltalk_review.tables import Base, EventRow, InvitationRow, PersonRow, SessionRow, timestamp
from reeltalk_review.web import cookie_name


@pytest.fixture(scope="module")
def the_team(tmp_path_factory: pytest.TempPathFactory) -> Team:
    return make_team(tmp_path_factory.mktemp("doors"))


@pytest.fixture
def team(the_team: Team) -> Team:
    # Its time stands still: how long a password takes to be checked must not count as waiting.
    the_team.app.state.login_limiter = LoginLimiter(lambda: 0.0)
    return the_team


NUMBERS = iter(range(10_000))


def new(team: Team, role: str = "annotator", cost: HashCost = QUICK) -> Browser:
    return team.member(f"Person {next(NUMBERS)}", role, cost)


def stranger(team: Team, **options: Any) -> TestClient:
    return TestClient(team.app, base_url="http://localhost", **options)


def sign_in(client: TestClient, name: str, password: str = PASSWORD, **fields: str) -> Any:
    return client.post("/sign-in", data={"name": name, "password": password, **fields}, follow_redirects=False)


# Names under which the server answers.


@pytest.mark.parametrize("host", ["localhost", "localhost:8765", "127.0.0.1:1", "[::1]:8765", "LOCALHOST"])
def test_a_server_on_this_machine_answers_to_its_own_names(team: Team, host: str) -> None:
    assert stranger(team).get("/sign-in", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost@evil", "10.0.0.7", "", "["],
)
def test_a_name_that_the_server_was_not_told_is_refused(team: Team, host: str) -> None:
    answer = stranger(team).get("/sign-in", headers={"host": host})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "unknown_host"
    assert "evil" not in answer.text
    assert "content-security-policy" in answer.headers


def test_names_are_given_on_the_command_line() -> None:
    told = server_address("192.168.0.7", ["review.example.org"])
    assert all(told.answers_to(host) for host in ("192.168.0.7:80", "Review.Example.org", "localhost:5"))
    assert not told.answers_to("192.168.0.8")
    everywhere = server_address("0.0.0.0")
    assert everywhere.answers_to("192.168.0.8:8765")
    assert not everywhere.answers_to("evil.example")
    for wrong in ("https://review.example.org", "review.example.org:80", "a b", "", "*"):
        with pytest.raises(SettingError, match="--public-host"):
            server_address("127.0.0.1", [wrong])


def test_proxies_are_addresses_and_networks_and_this_machine_behind_https() -> None:
    named = server_address("0.0.0.0", proxies=["10.0.0.2", "192.168.7.0/24", "2001:db8::1"])
    assert named.proxies[:2] == ("10.0.0.2/32", "::ffff:10.0.0.2/128")
    assert "127.0.0.1/32" in server_address("127.0.0.1", behind_https=True).proxies
    assert server_address("127.0.0.1").proxies == ()
    for wrong_address in ("proxy.example.org", "10.0.0.1/24", "*", ""):
        with pytest.raises(SettingError, match=r"--proxy .*give an IP address or a network"):
            server_address("127.0.0.1", proxies=[wrong_address])


@pytest.mark.parametrize(
    ("host", "options", "told"),
    [
        ("127.0.0.1", {}, None),
        ("::1", {}, None),
        ("localhost", {"behind_https": True}, None),
        ("0.0.0.0", {}, "without TLS: passwords, cookies and videos can be read.*--behind-https"),
        ("192.168.0.7", {}, "without TLS"),
        ("::", {}, "without TLS"),
        ("0.0.0.0", {"behind_https": True}, "let no machine but.*on another machine with --proxy"),
        ("0.0.0.0", {"behind_https": True, "proxies": ["10.0.0.2"]}, "let no machine but the proxy reach this port"),
    ],
)  # fmt: skip
def test_whoever_starts_a_server_without_tls_for_other_machines_is_told(
    host: str, options: dict[str, Any], told: str | None
) -> None:
    warnings = server_address(host, **options).warnings(host)
    assert len(warnings) == (told is not None)
    if told is not None:
        assert re.search(told, warnings[0])


@given(st.text())
def test_any_text_is_a_host_name_or_none(text: str) -> None:
    found = host_name(text)
    assert found is None or (found == found.lower() and not set(found) & set("/@?# "))


# Signing in.


def test_a_wrong_password_and_a_wrong_name_look_the_same(team: Team) -> None:
    known = new(team)
    answers = [sign_in(stranger(team), name, "not the password") for name in (known.name, "Nobody here")]
    assert [answer.status_code for answer in answers] == [401, 401]
    texts = [answer.text.replace(name, "") for answer, name in zip(answers, (known.name, "Nobody here"), strict=True)]
    assert texts[0] == texts[1]


def wrong(n: int) -> str:
    return f"wrong password {n}"


def test_whoever_errs_often_waits_and_is_told_how_long(team: Team) -> None:
    known = new(team)
    client = stranger(team)
    statuses = [sign_in(client, known.name, wrong(n)).status_code for n in range(FREE_TRIES)]
    assert statuses == [401] * FREE_TRIES
    answer = sign_in(client, known.name)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
    assert "try again in 60 seconds" in answer.text


def test_wrong_passwords_for_one_name_keep_out_nobody_else(team: Team, reliability: Reliability) -> None:
    known, colleague = new(team), new(team)
    tally = reliability(
        "review",
        "wrong passwords for a name from one address",
        "a colleague at that address, or the person themself at another, is not let in at once",
    )
    statuses = [sign_in(stranger(team), known.name, wrong(n)).status_code for n in range(60)]
    assert statuses == [401] * FREE_TRIES + [429] * (60 - FREE_TRIES)
    assert sign_in(stranger(team), known.name).status_code == 429, "guessing on would be worth it"
    let_in = [
        sign_in(stranger(team), colleague.name).status_code,
        sign_in(stranger(team, client=("192.0.2.7", 1)), known.name).status_code,
    ]
    tally.tried, tally.failed = len(statuses), sum(status != 303 for status in let_in)
    assert let_in == [303, 303]


def test_wrong_passwords_for_many_names_keep_out_nobody_at_that_address(team: Team, reliability: Reliability) -> None:
    known = new(team)
    tally = reliability(
        "review", "wrong passwords for many names from one address", "a colleague at that address is not let in at once"
    )
    tries = reliability.count(10, full=60, release=60)
    statuses = [sign_in(stranger(team), f"{known.name} {n}", wrong(n)).status_code for n in range(tries)]
    assert statuses == [401] * tries
    let_in = sign_in(stranger(team), known.name).status_code
    tally.tried, tally.failed = len(statuses), int(let_in != 303)
    assert let_in == 303
    assert stranger(team).post("/join/x", data={"name": "a", "password": PASSWORD}).status_code == 404


def test_wrong_passwords_for_a_name_from_many_addresses_keep_its_person_waiting_a_moment_at_most(team: Team) -> None:
    known = new(team)
    for n in range(60):
        team.app.state.login_limiter.hit(people.sign_in_name(known.name), f"192.0.2.{n}")
    assert sign_in(stranger(team), known.name).status_code == 303


def test_links_to_join_that_are_guessed_keep_nobody_from_joining(team: Team) -> None:
    for n in range(60):
        assert stranger(team).post(f"/join/{n}", data={"name": "a", "password": PASSWORD}).status_code == 404
    with transaction(team.project.database, OPERATOR) as change:
        token = people.invite(change, team.project.secret, "annotator")[1]
    joined = stranger(team).post(f"/join/{token}", data={"name": "Late", "password": PASSWORD}, follow_redirects=False)
    assert joined.status_code == 303


def test_a_password_costs_the_same_whether_or_not_there_is_such_a_name(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[str] = []

    def noted(stored: str, password: str) -> bool:
        verified.append(stored.rpartition("$")[0].rpartition("$")[0])
        return is_password(stored, password)

    monkeypatch.setattr(people, "is_password", noted)
    known, gone = new(team, cost=STRONG), new(team, cost=STRONG)
    with transaction(team.project.database, OPERATOR) as change:
        change.session.get_one(PersonRow, gone.id).disabled_at = change.at
    answers = [sign_in(stranger(team), name, wrong(0)) for name in (known.name, gone.name, "Nobody here")]
    assert [answer.status_code for answer in answers] == [401] * 3
    assert len(verified) == 3
    assert set(verified) == {"$argon2id$v=19$m=65536,t=3,p=4"}, "the same parameters of argon2"
    for name in (known.name, gone.name, "Nobody here"):
        later = [sign_in(stranger(team), name, wrong(n)).status_code for n in range(FREE_TRIES)]
        assert later == [401] * (FREE_TRIES - 1) + [429]


def test_a_good_password_clears_what_was_mistyped(team: Team) -> None:
    known = new(team)
    client = stranger(team)
    for _ in range(3):
        for n in range(FREE_TRIES - 1):
            assert sign_in(client, known.name, wrong(n)).status_code == 401
        assert sign_in(client, known.name).status_code == 303


def test_the_log_tells_from_which_address_and_not_what_was_typed(
    team: Team, capsys: pytest.CaptureFixture[str]
) -> None:
    sign_in(stranger(team, client=("192.0.2.9", 1)), "a password in the wrong field", "and another")
    told = capsys.readouterr().err
    assert "sign-in from 192.0.2.9: name and password do not match" in told
    assert "field" not in told
    assert "another" not in told


def test_a_pace_is_kept_and_ends_with_the_pause_that_was_told() -> None:
    now = 0.0
    limiter = LoginLimiter(lambda: now)
    heard = []
    for _ in range(3600):
        now += 1
        with contextlib.suppress(TooManyRequests):
            limiter.hit("name", "address")
            heard.append(now)
    assert len(heard) == pytest.approx(FREE_TRIES + 3600 / NAME_HERE_RATE.every_s, abs=1)
    with pytest.raises(TooManyRequests) as told:
        limiter.hit("name", "address")
    assert 1 <= told.value.wait_s <= NAME_HERE_RATE.every_s
    now += told.value.wait_s
    limiter.hit("name", "address")


def test_tries_from_one_address_are_paced_whatever_their_names() -> None:
    limiter = LoginLimiter(lambda: 0.0)
    for number in range(ADDRESS_RATE.at_once):
        limiter.hit(f"name {number}", "address")
    with pytest.raises(TooManyRequests):
        limiter.hit("another name", "address")
    limiter.hit("another name", "another address")


def test_what_is_remembered_stays_small() -> None:
    limiter = LoginLimiter(lambda: 0.0)
    for number in range(MOST_KEYS):
        limiter.hit(f"name {number}", f"address {number}")
    assert len(limiter) == MOST_KEYS


def test_the_addresses_of_one_ipv6_network_count_as_one() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1") != network_of("2001:db8:0:1::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") != network_of("192.0.2.2")
    assert network_of(None) == ""


@pytest.mark.parametrize(
    "address",
    ["https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)",
     "/\t/evil.example", "/\n/evil.example", "", "evil.example", " //evil.example", "/é", "https:/evil.example"],
)  # fmt: skip
def test_signing_in_leads_nowhere_else(team: Team, address: str) -> None:
    known = new(team)
    assert sign_in(stranger(team), known.name, next=address).headers["location"] == "/"
    assert known.client.get("/sign-in", params={"next": address}, follow_redirects=False).headers["location"] == "/"


def test_signing_in_leads_to_the_page_that_was_asked_for(team: Team) -> None:
    known = new(team, "owner")
    client = stranger(team)
    asked = client.get("/history?before=7", follow_redirects=False).headers["location"]
    page = client.get(asked).text
    hidden = re.search(r'name="next" value="([^"]*)"', page)
    assert hidden is not None
    assert sign_in(client, known.name, next=hidden[1]).headers["location"] == "/history?before=7"


# Sessions.


def sessions(team: Team, browser: Browser) -> list[SessionRow]:
    with team.project.database.reading() as session:
        return list(session.scalars(select(SessionRow).where(SessionRow.person_id == browser.id)))


def set_session(team: Team, browser: Browser, **columns: str) -> None:
    with transaction(team.project.database, OPERATOR) as change:
        for row in change.session.scalars(select(SessionRow).where(SessionRow.person_id == browser.id)):
            for name, value in columns.items():
                setattr(row, name, value)


def in_days(days: float) -> str:
    return timestamp(datetime.now(UTC) + timedelta(days=days))


def test_a_session_that_is_used_lasts_and_one_that_is_not_ends(team: Team) -> None:
    known = new(team)
    set_session(team, known, expires_at=in_days(2), created_at=in_days(-12))
    assert known.get("/account").status_code == 200
    assert sessions(team, known)[0].expires_at > in_days(13)
    set_session(team, known, expires_at=in_days(-0.001))
    assert known.client.get("/account", follow_redirects=False).status_code == 303
    assert known.client.get("/api/work/x").status_code == 401


def test_no_session_lasts_for_ever(team: Team) -> None:
    known = new(team)
    set_session(team, known, created_at=in_days(-85), expires_at=in_days(1))
    assert known.get("/account").status_code == 200
    assert in_days(4.9) < sessions(team, known)[0].expires_at < in_days(5.1)


def test_signing_in_anew_ends_the_session_before(team: Team) -> None:
    known = new(team)
    before = known.client.cookies[cookie_name(team.project)]
    assert sign_in(known.client, known.name).status_code == 303
    assert len(sessions(team, known)) == 1
    old = stranger(team)
    old.cookies.set(cookie_name(team.project), before)
    assert old.get("/account", follow_redirects=False).status_code == 303


def test_a_new_password_ends_all_other_sessions_and_the_old_password(team: Team) -> None:
    known = new(team)
    other = stranger(team)
    sign_in(other, known.name)
    wrong = known.form("/account/password", current="not my password", password="something else 1")
    assert wrong.status_code == 422
    assert other.get("/account", follow_redirects=False).status_code == 200
    done = known.form("/account/password", current=PASSWORD, password="something else 1")
    assert done.headers["location"] == "/account?done=password"
    assert known.get("/account?done=password").status_code == 200
    assert other.get("/account", follow_redirects=False).status_code == 303
    assert sign_in(stranger(team), known.name).status_code == 401
    assert sign_in(stranger(team), known.name, "something else 1").status_code == 303
    with team.project.database.reading() as session:
        kinds = session.scalars(select(EventRow.kind).where(EventRow.subject == known.id)).all()
    assert kinds.count("password") == 1


def test_signing_out_twice_is_signing_out(team: Team) -> None:
    known = new(team)
    assert [known.form("/sign-out").headers["location"] for _ in range(2)] == ["/sign-in"] * 2
    assert sessions(team, known) == []


def test_behind_https_cookies_are_sent_over_https_alone(team: Team) -> None:
    known = new(team)
    app = create_app(team.project, server_address("127.0.0.1", ["review.example.org"], behind_https=True))
    client = TestClient(app, base_url="http://review.example.org")
    answer = sign_in(client, known.name)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-reeltalk_")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=lax"} <= set(cookie.split("; "))
    assert "max-age=31536000" in answer.headers["strict-transport-security"]
    plain = sign_in(stranger(team), known.name)
    assert "Secure" not in plain.headers["set-cookie"]
    assert "HttpOnly" in plain.headers["set-cookie"]
    assert "strict-transport-security" not in plain.headers


# What is stored.


def test_the_secret_can_be_read_by_its_owner_alone(team: Team) -> None:
    assert stat.S_IMODE((team.project.folder / "secret").stat().st_mode) == 0o600


def test_a_copied_database_opens_no_door(team: Team, tmp_path: Path) -> None:
    known = new(team, "owner")
    cookie = known.client.cookies[cookie_name(team.project)]
    invitation = re.search(r"/join/([\w-]+)", invite(known).text)
    assert invitation is not None
    held = (cookie, invitation[1], PASSWORD)
    with team.project.database.reading() as session:
        for table in Base.metadata.sorted_tables:
            for row in session.execute(select(table)):
                assert not any(value in str(tuple(row)) for value in held)
    if not team.project.database.is_sqlite:
        return
    with team.project.database.reading() as session:
        stored = [*session.scalars(select(SessionRow.token)), *session.scalars(select(SessionRow.csrf))]
    # A copy in another folder has another secret: what the browser holds opens nothing there, nor does what is stored.
    folder = tmp_path / "copied.review"
    folder.mkdir()
    team.project.database.close()
    for path in team.project.folder.glob("review.db*"):
        shutil.copy(path, folder)
    copied = ReviewProject.open(tmp_path / "copied", folder=folder)
    app = create_app(copied)
    for value in (cookie, *stored):
        client = TestClient(app, base_url="http://localhost")
        client.cookies.set(cookie_name(copied), value)
        assert client.get("/api/session").status_code == 401
    # And whoever copies a database without its secret cannot make one session valid by what stands in it.
    for value in stored:
        client = stranger(team)
        client.cookies.set(cookie_name(team.project), value)
        assert client.get("/api/session").status_code == 401


# Invitations, shown once.


def key_of(page: str) -> str:
    found = re.search(r'name="key" value="([^"]+)"', page)
    assert found is not None
    return found[1]


def invite(owner: Browser, **fields: str) -> Any:
    form = {"role": "annotator", "note": "", "key": key_of(owner.get("/team").text), **fields}
    return owner.form("/team/invitations", **form)


def test_a_form_that_is_sent_twice_makes_one_invitation_and_shows_its_link_both_times(team: Team) -> None:
    owner = new(team, "owner")
    key = key_of(owner.get("/team").text)
    pages = [invite(owner, note="for Ben", key=key).text for _ in range(2)]
    links = [re.findall(r"http://localhost/join/[\w-]+", page) for page in pages]
    assert links[0] == links[1] != []
    assert owner.get("/team").text.count("for Ben</td>") == 1
    assert links[0][0] not in owner.get("/team").text
    with transaction(team.project.database, OPERATOR) as change:
        row = change.session.scalars(select(InvitationRow).where(InvitationRow.note == "for Ben")).one()
        row.created_at = in_days(-0.01)
    assert "withdraw the invitation and make another" in invite(owner, note="for Ben", key=key).text
    assert links[0] != re.findall(r"http://localhost/join/[\w-]+", invite(owner, note="for Bo", key=key).text)


def test_an_invitation_lets_one_person_in(team: Team) -> None:
    found = re.search(r"/join/[\w-]+", invite(new(team, "owner")).text)
    assert found is not None
    form = {"name": "Grace Öß", "password": PASSWORD}
    client = stranger(team)
    assert client.post(found[0], data=form, follow_redirects=False).headers["location"] == "/"
    assert "Grace Öß" in client.get("/account").text
    for name in ("Grace Öß", "Somebody"):
        assert stranger(team).post(found[0], data={**form, "name": name}).status_code == 404
    with team.project.database.reading() as session:
        assert len(session.scalars(select(PersonRow).where(PersonRow.name == "Grace Öß")).all()) == 1


def test_withdrawn_invitations_let_nobody_in(team: Team) -> None:
    owner = new(team, "owner")
    found = re.search(r"/join/[\w-]+", invite(owner, note="mistaken").text)
    assert found is not None
    address = re.findall(r"/team/invitations/\w+/withdraw", owner.get("/team").text)[0]
    for _ in range(2):
        assert owner.form(address).status_code == 303
    assert stranger(team).get(found[0]).status_code == 404


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"role": "king"}, "there is no role"),
        ({"note": "x" * 201}, "a note has 1 to 200"),
        ({"key": "short"}, "key: string should have at least 8"),
    ],
)
def test_an_invitation_that_cannot_be_made_says_why(team: Team, fields: dict[str, str], says: str) -> None:
    answer = invite(new(team, "owner"), **fields)
    assert answer.status_code == 422
    assert says in answer.text.lower()


# The team.


def test_the_last_owner_can_neither_be_demoted_nor_disabled(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    owner, second = new(team, "owner"), new(team, "owner")
    assert owner.form(f"/team/people/{second.id}", role="disabled").status_code == 303
    for role in ("reader", "disabled"):
        answer = owner.form(f"/team/people/{owner.id}", role=role)
        assert answer.status_code == 409
        assert "last owner" in answer.text
    assert owner.form(f"/team/people/{second.id}", role="owner").status_code == 303
    assert owner.form(f"/team/people/{owner.id}", role="reader").headers["location"] == "/"
    assert owner.get("/team").status_code == 403


def test_whoever_is_disabled_is_out_at_once_and_their_units_go_to_others(team: Team) -> None:
    owner, leaver, other = new(team, "owner"), new(team), new(team)
    begun = leaver.next("turns")
    unit = leaver.get(f"/api/work/{begun}").json()["unit"]["id"]
    assert leaver.save(begun, "0", {"decision": None, "question": "Typed by the leaver?"}).status_code == 200
    assert other.get(f"/api/work/{other.next('turns')}").json()["unit"]["id"] != unit
    for _ in range(2):
        assert owner.form(f"/team/people/{leaver.id}", role="disabled").status_code == 303
    assert leaver.client.get("/account", follow_redirects=False).status_code == 303
    assert sign_in(stranger(team), leaver.name).status_code == 401
    assert third_gets(team, unit)
    assert owner.form(f"/team/people/{leaver.id}", role="annotator").status_code == 303
    assert sign_in(leaver.client, leaver.name).status_code == 303
    # What they had typed is there still.
    entries = leaver.get(f"/api/work/{begun}").json()["entries"]
    assert entries["0"]["value"]["question"] == "Typed by the leaver?"


def third_gets(team: Team, unit: str) -> bool:
    third = new(team)
    return bool(third.get(f"/api/work/{third.next('turns')}").json()["unit"]["id"] == unit)


def test_a_role_counts_from_the_next_request_on(team: Team) -> None:
    owner, member = new(team, "owner"), new(team, "reader")
    assert member.get("/history").status_code == 403
    owner.form(f"/team/people/{member.id}", role="owner")
    assert member.get("/history").status_code == 200
    owner.form(f"/team/people/{member.id}", role="reader")
    assert member.get("/history").status_code == 403


# Queues and settings.


def test_settings_are_kept_over_a_start(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    owner = new(team, "owner")
    form = {"lease_minutes": "45", "approval": "yes", "least_agreement": "0.667"}
    for _ in range(2):
        assert owner.form("/setup/settings", **form).headers["location"] == "/setup?saved=yes"
    again = ReviewProject.open(team.project.benchmark)
    assert again.settings == team.project.settings
    expected = {"lease_minutes": 45, "approval": True, "least_agreement": 0.667}
    assert again.settings.model_dump(include=set(expected)) == expected
    with again.database.reading() as session:
        assert [event.kind for event in session.scalars(select(EventRow))].count("settings") == 1
        assert list(broken_links(session)) == []


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"lease_minutes": "0"}, "lease_minutes: input should be greater than or equal to 1"),
        ({"lease_minutes": "soon"}, "lease_minutes: input should be a valid integer"),
        ({"lease_minutes": "30", "least_agreement": "1.5"}, "least_agreement: input should be less than or equal to 1"),
        ({"lease_minutes": "30", "least_agreement": "nan"}, "least_agreement: input should be a finite number"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_the_reason(team: Team, fields: dict[str, str], says: str) -> None:
    before = team.project.settings
    answer = new(team, "owner").form("/setup/settings", **fields)
    assert answer.status_code == 422
    assert says in answer.text.lower()
    assert team.project.settings == before


def test_a_closed_queue_gives_out_no_units_and_what_was_begun_can_be_finished(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    owner, member = new(team, "owner"), new(team)
    begun = member.next("turns")
    form = {"title": "Chains", "position": "3", "overlap": "1"}
    for _ in range(2):
        assert owner.form("/setup/queues/turns", **form).status_code == 303
    assert new(team).form("/queues/turns/next").status_code == 404
    assert (
        member.save(begun, "0", {"decision": "accept", "question": "Why?", "references": ["Yes."]}).status_code == 200
    )
    for place in ("1", "2"):
        assert (
            member.save(begun, place, {"decision": "accept", "question": "Why?", "references": ["Yes."]}).status_code
            == 200
        )
    handed_in = member.api("POST", f"/api/work/{begun}/submit")
    assert (handed_in.status_code, handed_in.json()) == (200, {"next": None})
    with team.project.database.reading() as session:
        (event,) = session.scalars(select(EventRow).where(EventRow.kind == "queue")).all()
    assert event.before["title"] == "Review turns"
    assert event.after == {
        "title": "Chains", "position": 2, "is_open": False, "order": "films", "in_bulk": False, "labels": False,
    }  # fmt: skip


# What is refused before any route hears it.


def test_a_body_that_is_too_large_is_refused_however_it_comes(team: Team) -> None:
    known = new(team)

    def pieces() -> Iterator[bytes]:
        for _ in range(3):
            yield b"a" * (1 << 20)

    form = {"content-type": "application/x-www-form-urlencoded"}
    assert known.client.post("/sign-out", content=b"a" * (3 << 20), headers=form).status_code == 413
    assert known.client.post("/sign-out", content=pieces(), headers=form).status_code == 413
    headers = {"content-type": "application/json", "x-csrf-token": known.csrf, "idempotency-key": "12345678"}
    for content in (pieces(), b"a" * (9 << 20)):
        answer = known.client.put("/api/work/x/entries/0", content=content, headers=headers)
        assert answer.status_code == 413
        assert "too large to be saved" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "address", ["/nothing/<marker>", "/work/<marker>", "/history?before=<marker>", "/join/<marker>"]
)
def test_refusals_do_not_repeat_what_was_sent(team: Team, address: str) -> None:
    known = new(team, "owner")
    for accept in ("text/html", "application/json"):
        answer = known.client.get(address, headers={"accept": accept})
        assert 400 <= answer.status_code < 500
        assert "marker" not in answer.text


def test_what_goes_wrong_tells_nothing_and_protects_its_browser(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("the marker of an inner fault")

    monkeypatch.setattr("reeltalk_review.routes.accounts.page", broken)
    known = new(team)
    answer = known.get("/account")
    assert answer.status_code == 500
    assert "marker" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_everything_that_was_done_is_in_the_chain(team: Team) -> None:
    with team.project.database.reading() as session:
        assert list(broken_links(session)) == []


def test_addresses_that_are_told_can_be_opened() -> None:
    assert Address().url("127.0.0.1", 8765) == "http://127.0.0.1:8765"
    assert server_address("::1").url("::1", 80) == "http://[::1]:80"
    assert server_address("0.0.0.0").url("0.0.0.0", 80) == "http://127.0.0.1:80"
    proxied = server_address("127.0.0.1", ["review.example.org"], behind_https=True)
    assert proxied.url("127.0.0.1", 80, ["review.example.org"]) == "https://review.example.org"


def test_notes_and_names_are_trimmed() -> None:
    assert people.clean_line("  a \n b ", "a name", 5, field="name") == "a b"


@pytest.mark.parametrize(
    "password",
    [
        "1234567890",
        "qwertyuiop",
        "zaq12wsxcde3",
        "mnbvcxzlkjh",
        "PASSWORD123",
        "Enterprise",
        "aaaabbbbccccdddd",
        "Ada Lovelace",
    ],
)
def test_a_password_that_others_would_try_is_refused(password: str) -> None:
    with pytest.raises(InvalidValue, match="too easy to guess"):
        check_password(password, "Ada Lovelace")


@pytest.mark.parametrize("password", ["a horse, a battery", "wasser were trees", "everyone we met", "kj3h4kjh23"])
def test_a_password_that_is_no_row_of_keys_may_be_chosen(password: str) -> None:
    check_password(password, "Ada")


@pytest.mark.parametrize(
    "name", ["ada l", "Ada  L", "AdaL", "Ада L"[:0] + "Аdа L", "Ada L", "Ada I", "Ada-L", "\uff21da L"]
)
def test_a_name_that_looks_like_another_is_refused(team: Team, name: str) -> None:
    # The team is that of all tests here: she joins once.
    with contextlib.suppress(InvalidValue):
        team.member("Ada L", "annotator")
    with pytest.raises(InvalidValue, match="looks like it"):
        team.member(name, "annotator")


def test_names_that_differ_visibly_are_two_people(team: Team) -> None:
    for name in ("Jose", "José", "Anna", "Ben 1", "Ben 2", "王"):
        team.member(name, "annotator")
