"""Accepting at once the turns without findings, in Chromium."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from served_review import serving
from team import make_team, small_content

from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk_review.web import cookie_name


@pytest.mark.browser
def test_turns_that_passed_are_accepted_at_once_and_the_others_stay(tmp_path: Path, browser: Browser) -> None:
    content = small_content(1)
    for index, outcome in enumerate((GateOutcome.PASSED, GateOutcome.FLAGGED, GateOutcome.PASSED)):
        content.gates.append(
            GateResult(gate="lint", unit="chain", unit_id="chain-film0", turn_index=index, outcome=outcome)
        )
    team = make_team(tmp_path, content)
    owner, ann = team.member("Olga", "owner"), team.member("Ann", "annotator")
    queue = {"title": "Review turns", "position": "1", "overlap": "1", "is_open": "yes"}
    assert owner.form("/setup/queues/turns", **queue, in_bulk="yes").status_code == 303
    work = ann.next("turns")
    with serving(team.app) as address:
        context = browser.new_context(viewport={"width": 1366, "height": 768})
        name = cookie_name(team.project)
        context.add_cookies([{"name": name, "value": ann.client.cookies[name], "url": address}])
        page = context.new_page()
        page.goto(f"{address}/work/{work}")
        page.get_by_role("button", name="Accept 2 unflagged").click()
        expect(page.locator("#turn-title")).to_have_text("Turn 2 of 3")
        expect(page.get_by_role("button", name="unflagged")).to_have_count(0)
        context.close()
    entries = ann.get(f"/api/work/{work}").json()["entries"]
    assert {place: entry["value"]["in_bulk"] for place, entry in entries.items()} == {"0": True, "2": True}
