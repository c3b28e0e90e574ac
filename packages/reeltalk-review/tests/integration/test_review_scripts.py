"""What people and benchmarks write is shown as text: 200 and more ways to smuggle in a script run none in Chromium."""

import itertools
import secrets
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from askers import World, known, routes_of
from reliability_page import Reliability
from served_review import serving
from sqlalchemy import select
from team import make_team

from reeltalk_review.assigning import ANNOTATOR, take_unit
from reeltalk_review.tables import (
    EntryRow,
    InvitationRow,
    PersonRow,
    QueueRow,
    UnitRow,
    VideoRow,
)
from reeltalk_review.web import cookie_name

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route
    from playwright.sync_api import Page as Tab

WAYS = (
    "<script>{}</script>",
    "<SCRIPT>{}</SCRIPT>",
    "<scr<script>ipt>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    "<svg/onload={}>",
    "<body onload={}>",
    "<iframe srcdoc='<script>{}</script>'>",
    "<iframe src=javascript:{}>",
    "<a href=javascript:{}>x</a>",
    "<details open ontoggle={}>",
    "<input autofocus onfocus={}>",
    "<video><source onerror={}>",
    '"><script>{}</script>',
    "'><script>{}</script>",
    '" autofocus onfocus={} x="',
    "' onmouseover={} x='",
    "` onload={} x=`",
    "</title><script>{}</script>",
    "</textarea><script>{}</script>",
    "</script><script>{}</script>",
    "--><script>{}</script>",
    "{{{{{}}}}}",
    "${{{}}}",
    "{{% {} %}}",
    "';{}//",
    "\\';{}//",
    "javascript:{}",
    "data:text/html,<script>{}</script>",
    "<script src='data:text/javascript,{}'></script>",
    "<object data=javascript:{}>",
    "<embed src=javascript:{}>",
    "<form action=javascript:{}><button>",
    "<button formaction=javascript:{}>x",
    "<audio src onerror={}>",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<base href=javascript:{}//>",
    "<style onload={}></style>",
    "<svg><script>{}</script></svg>",
    "<svg><animate onbegin={} attributeName=x>",
    "<math><a href=javascript:{}>x</a>",
    "&lt;script&gt;{}&lt;/script&gt;",
    "\\u003cscript\\u003e{}\\u003c/script\\u003e",
    "<template><img src=x onerror={}>",
    "<noscript><p title='</noscript><img src=x onerror={}>'>",
    "<x tabindex=1 autofocus onfocus={}>",
)
BODIES = ("alert(1)", "pwned=1", "top.pwned=1", "confirm`1`", "eval('pwned=1')")
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""
STRANGE = """
() => [...document.querySelectorAll("*")].flatMap((element) => {
  const found = [];
  for (const attribute of element.attributes) {
    if (attribute.name.startsWith("on")) found.push(`${element.tagName} ${attribute.name}`);
    const leads = ["href", "src", "action", "formaction", "data"].includes(attribute.name);
    if (leads && /^\\s*(javascript|data:text)/i.test(attribute.value))
      found.push(`${element.tagName} ${attribute.name}=${attribute.value}`);
  }
  if (element.tagName === "SCRIPT" && !element.src.startsWith(`${location.origin}/static/`)) found.push("SCRIPT");
  if (["IFRAME", "OBJECT", "EMBED", "BASE", "MATH", "MARQUEE"].includes(element.tagName)) found.push(element.tagName);
  return found;
}).concat(window.pwned === undefined ? [] : ["pwned"], window.violations)
"""
KEPT = ("unit", "direction", "target_table", "sha256", "kind")
FEW = 20
PAUSE_MS = 150
"""What a page writes after it was loaded."""


def strings() -> list[str]:
    return [way.format(body) for way, body in itertools.product(WAYS, BODIES)]


def poisoned(value: Any, text: str, key: str = "") -> Any:
    """A unit's content with a text in place of every text that is shown; kinds and references stay."""
    if isinstance(value, dict):
        return {name: poisoned(inner, text, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [poisoned(inner, text, key) for inner in value]
    return text if isinstance(value, str) and key not in KEPT else value


def fill(world: World, texts: list[str]) -> list[str]:
    """Put every text wherever people and benchmarks can put one; the ids of the work that shows it."""
    owner, found = world.browsers["owner"], []
    with world.changing() as change:
        queues = change.session.scalars(select(QueueRow)).all()
        likes = [
            change.session.scalars(select(UnitRow).where(UnitRow.queue_id == queue.id)).first() for queue in queues
        ]
        for number, text in enumerate(texts):
            short, key = text[:80], secrets.token_hex(8)
            change.session.add(PersonRow(id=key, name=short, sign_in=key, role="annotator", created_at=change.at))
            for like, queue in zip(likes, queues, strict=True):
                if like is None:
                    continue
                video = VideoRow(id=f"{text} {queue.id}", sha256=None, duration_s=20.0, file=None, problem=text)
                change.session.add(video)
                change.session.flush()
                unit = UnitRow(
                    id=secrets.token_hex(8),
                    queue_id=queue.id,
                    position=number,
                    title=text,
                    video_id=video.id,
                    turns=like.turns,
                    content=rich(poisoned(like.content, text), text),
                    target_table=like.target_table,
                    target_id=text,
                )
                change.session.add(unit)
                change.session.flush()
                work = take_unit(change, unit, owner.id, ANNOTATOR, lease_minutes=30)
                work.note, work.state = text, "returned"
                if queue.task == "turns":
                    value = {
                        "decision": None,
                        "question": text,
                        "references": [text, text],
                        "note": text,
                        "reasons": [],
                    }
                    row = EntryRow(assignment_id=work.id, place="0", revision=1, value=value, stale=False, at=change.at)
                    change.session.add(row)
                    change.record("save", work.id, place="0", after={"revision": 1, "value": value})
                found.append(work.id)
            change.session.add(
                QueueRow(id=key, task="turns", title=short, position=number, overlap=1, is_open=False, settings={})
            )
            change.session.add(
                InvitationRow(
                    id=key, token=key, role="reader", note=text, created_by=key, created_at=change.at, expires_at="9"
                )
            )
            change.record("invite", key, before={"note": text}, after={"note": text, text: text})
    return found


def rich(content: Any, text: str) -> Any:
    """A chain's content with options, labels, captions, checks and links too."""
    if "turns" not in content or "scenes" not in content:
        return content
    for turn in content["turns"]:
        turn.update(options=[text, f"2 {text}"], correct_option=0, labels={text: [text]}, references=[text])
    for part in (*content["clips"], *content["scenes"]):
        part["caption"] = text
    content["checks"] = {"0": [{"gate": text, "outcome": "flagged", "reason": text, "value": None}]}
    other = {"unit_id": text, "turn_index": 0, "question": text, "asked_at_s": None}
    content["links"] = [{"place": "0", "direction": "to", "relation": text, "other": other}]
    return content


def pages(world: World, work: list[str]) -> Iterator[str]:
    """Every page that there is, with whatever can be named in its address."""
    values = known(world) | {"assignment_id": work}
    for method, route in routes_of(world.team.app):
        if method != "GET" or route.startswith(("/static/", "/media/", "/api/")):
            continue
        names = [part[1:-1] for part in route.split("/") if part.startswith("{")]
        every = list(itertools.product(*(values.get(name, work) for name in names)))
        # Pairs of pairs of people are many and alike.
        for chosen in every if len(names) < 2 else every[:: len(every) // FEW + 1]:
            address = route
            for name, value in zip(names, chosen, strict=True):
                address = address.replace(f"{{{name}}}", value)
            yield address
    yield from (f"/history?before={before}" for before in range(2, len(work) * 4, 50))


def heard_on(tab: "Tab") -> list[str]:
    """Dialogs, refusals of the policy and mistakes of scripts, from now on."""
    heard: list[str] = []

    def dialog(found: Any) -> None:
        heard.append(f"dialog: {found.message}")
        found.dismiss()

    def message(found: Any) -> None:
        if "Content Security Policy" in found.text or "Trusted" in found.text:
            heard.append(found.text)

    tab.on("dialog", dialog)
    tab.on("console", message)
    return heard


@pytest.mark.browser(always=True)
@pytest.mark.timeout(1500)
def test_nothing_that_is_shown_runs(
    tmp_path_factory: pytest.TempPathFactory, browser: "Browser", reliability: Reliability
) -> None:
    every = strings()
    due = reliability.count(len(every[::30]), full=len(every), release=len(every))
    texts = every[:: -(-len(every) // due)]
    tally = reliability("pages", "ways to smuggle in a script, in every text that is shown", "a script that runs")
    visits = reliability(
        "pages", "pages of the review server that show them, in Chromium", "a script that runs", is_counted=False
    )
    assert len(set(strings())) >= 200
    world = World(make_team(tmp_path_factory.mktemp("scripts")))
    work = fill(world, texts)
    owner = world.browsers["owner"]
    name = cookie_name(world.team.project)
    problems, shown = [], set()
    tally.tried = len(texts)
    with serving(world.team.app) as address:
        context = browser.new_context()
        context.add_init_script(WATCH)
        context.add_cookies([{"name": name, "value": owner.client.cookies[name], "url": address}])
        tab = context.new_page()
        heard = heard_on(tab)
        for path in dict.fromkeys(pages(world, work)):
            tab.goto(address + path)
            visits.tried += 1
            if path.startswith("/work/"):
                tab.wait_for_timeout(PAUSE_MS)
            problems += [f"{path}: {found}" for found in (*tab.evaluate(STRANGE), *heard)]
            heard.clear()
            text = tab.content()
            shown |= {route for route in ("/team", "/history") if path == route and "onerror" in text}
            assert len(problems) < 20, problems
        context.close()
    assert problems == []
    # What was written is there to be read: the pages were not empty.
    assert shown == {"/team", "/history"}


def answer_with(html: str, route: "Route") -> None:
    route.fulfill(body=html, content_type="text/html")


@pytest.mark.browser
def test_the_watch_hears_what_runs_and_what_the_policy_stops(browser: "Browser") -> None:
    policy = "<meta http-equiv=content-security-policy content=\"script-src 'none'\">"
    cases = (("", {"dialog: 1", "pwned", "IMG onerror"}), (policy, {"script-src-attr", "IMG onerror"}))
    context = browser.new_context()
    context.add_init_script(WATCH)
    for head, expected in cases:
        tab = context.new_page()
        heard = heard_on(tab)
        body = f"<!DOCTYPE html>{head}<img src=data:, onerror=alert(1),pwned=1>"
        tab.route("http://page.invalid/", partial(answer_with, body))
        tab.goto("http://page.invalid/", wait_until="commit")
        tab.wait_for_timeout(PAUSE_MS)
        assert expected <= {*heard, *tab.evaluate(STRANGE)}
    context.close()
