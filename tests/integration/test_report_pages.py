"""The site that runs become: whole, closed, safe with strangers' text, and usable in a browser from disk."""

import json
import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest

from reeltalk.report.stage import write_report
from reeltalk.store.runs import Run, read_run

MARKUP = "</td></table><script>alert(1)</script><img src=x onerror=alert(2)>"
HOSTILE = MARKUP + " {{ 7*7 }} {% raw %} \u202eevil\u2066 ' \" & 你好"
MODELS = {"alpha": 0.52, "beta-with-a-very-long-name-that-somebody-gave-it-2024-08-06": 0.47, "<b>gamma</b>": 0.11}
DIALOGUES = ("d1", "d2", "../../escape", "D1", "图像 对话")
SIGNATURE = "test.answers|data:{data}|metric:{metric}|tok:coco|ci:95%-by-video-1000|seed:17|v:0.1.0"


def write_jsonl(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def make_run(folder: Path, *, data: str = "d1", models: dict[str, float] = MODELS) -> Run:
    """A run written file by file, as another program would."""
    infos: list[dict[str, object]] = []
    summary: list[dict[str, object]] = []
    unscored: list[dict[str, object]] = []
    answers: list[dict[str, object]] = []
    items: list[dict[str, object]] = []
    curves: list[dict[str, object]] = []
    for place, (model, value) in enumerate(models.items()):
        duplicate = {"item_id": "d1/01", "kept": "a at $[0]", "dropped": ["a at $[9]"], "same_answer": False,
                     "dropped_answers": [HOSTILE]}  # fmt: skip
        infos.append({
            "model": model, "source": "../elsewhere/answers.json", "sha256": "ab" * 32, "rows": 21, "items": 20,
            "duplicates": [duplicate] if place == 1 else [], "missing": ["d1/05"] if place == 2 else [],
            "mismatched": ["d2/01"] if place == 2 else [], "not_scored": {"failed": 3} if place == 2 else {},
        })  # fmt: skip
        for metric, scale in (("rouge_l", 1.0), ("cider", 2.0), ("meteor", None)):
            signature = SIGNATURE.format(data=data, metric=metric)
            row: dict[str, object] = {"model": model, "metric": metric, "signature": signature}
            if scale is None:
                unscored.append({"model": model, "metric": metric, "reason": f"no METEOR here {HOSTILE}"})
                summary.append(row | {"value": None, "n": 0, "low": None, "high": None})
                continue
            score = value * scale
            summary.append(row | {"value": score, "n": 20, "low": score - 0.04, "high": score + 0.04})
            curves += [
                {"model": model, "metric": metric, "turn_index": turn, "value": score, "n": 450 if turn < 3 else 4,
                 "low": score - 0.05, "high": score + 0.05} for turn in range(4)
            ]  # fmt: skip
        for number, dialogue in enumerate(DIALOGUES):
            for turn in range(4):
                item = f"{dialogue}/{turn + 1:02d}"
                text = ("", "  ", HOSTILE, "word " * 400 + "x" * 3000)[turn]
                answers.append({
                    "model": model, "item_id": item, "video_id": f"video-{number}", "unit_id": dialogue,
                    "turn_index": turn, "question": HOSTILE if place < 2 else "Asked otherwise?",
                    "references": ["one", HOSTILE], "text": text, "labels": {"kind": [HOSTILE]},
                })  # fmt: skip
                scores = {"rouge_l": value * (number + turn) / 8, "cider": 1.5}
                items.append({"model": model, "item_id": item, "scores": scores if turn else {}})
    info = {"kind": "score", "reeltalk_version": "0.1.0", "subject": "test.answers", "models": infos,
            "metrics": ["rouge_l", "cider", "meteor"], "clusters": 5, "unscored": unscored}  # fmt: skip
    write_jsonl(folder / "answers.jsonl", answers)
    write_jsonl(folder / "scores" / "items.jsonl", items)
    write_jsonl(folder / "scores" / "curves.jsonl", curves)
    (folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return read_run(folder)


class Page(HTMLParser):
    """What one page holds; fails where its elements are not balanced."""

    VOID = frozenset({"meta", "link", "input", "br", "img", "wbr"})

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.source = path.read_text(encoding="utf-8")
        self.links: list[str] = []
        self.ids: list[str] = []
        self.described_by: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.headings: list[int] = []
        self.texts: list[str] = []
        self.tables: list[set[str]] = []
        self._open: list[str] = []
        self.feed(self.source)
        self.close()
        assert self._open == [], path

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        assert len(found) == len(attrs), f"{self.path}: <{tag}> has an attribute twice"
        self.tags.append(tag)
        self.attributes |= set(found)
        self.links += [value for name in ("href", "src") if (value := found.get(name))]
        self.described_by += [v for name in ("aria-labelledby", "for") if (v := found.get(name))]
        if (identifier := found.get("id")) is not None:
            self.ids.append(identifier)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "table":
            self.tables.append(set())
        if tag == "caption":
            self.tables[-1].add("caption")
        if tag == "th":
            assert found.get("scope") in {"row", "col"}, f"{self.path}: a heading cell has no scope"
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self._open, f"{self.path}: </{tag}> closes nothing"
            assert self._open.pop() == tag, f"{self.path}:{self.getpos()}"

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    run = make_run(tmp_path_factory.mktemp("runs") / "first")
    assert write_report([run], folder) == folder / "index.html"
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in site.rglob("*.html")}


def test_there_is_an_index_a_list_and_a_page_a_dialogue(site: Path, pages: dict[Path, Page]) -> None:
    assert len(pages) == 2 + len(DIALOGUES)
    assert all(path.is_relative_to(site.resolve()) for path in pages)
    listed = {link for link in pages[(site / "dialogues.html").resolve()].links if link.startswith("dialogues/")}
    assert {(site / link).resolve() for link in listed} == {p for p in pages if p.parent.name == "dialogues"}


def test_every_link_resolves_inside_the_site(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), path
        assert set(page.described_by) <= set(page.ids)
        for link in page.links:
            if link == "data:,":
                continue
            assert not re.match(r"[a-zA-Z]+:|/", link), link
            target, _, anchor = link.partition("#")
            reached = (path.parent / unquote(target)).resolve() if target else path
            assert reached.is_file(), link
            assert reached.is_relative_to(site.resolve())
            if anchor:
                assert anchor in pages[reached].ids, link


def test_no_page_asks_a_network_for_anything(site: Path) -> None:
    for path in site.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest", text), path


def test_strangers_text_stays_text(pages: dict[Path, Page]) -> None:
    for page in pages.values():
        assert page.tags.count("script") == 1
        assert "img" not in page.tags
        assert "b" not in page.tags
        assert not any(name.startswith("on") or name == "style" for name in page.attributes)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f-\x9f]", page.source)
    dialogue = next(page for page in pages.values() if page.path.name == "d1.html")
    assert "<script>alert(1)</script>" in dialogue.text
    assert "{{ 7*7 }} {% raw %}" in dialogue.text
    assert "你好" in dialogue.text


def test_pages_are_ordered_for_those_who_listen(pages: dict[Path, Page]) -> None:
    for page in pages.values():
        assert '<html lang="en">' in page.source
        assert page.headings[0] == 1
        assert page.headings.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(page.headings))
        assert all("caption" in table for table in page.tables)


def test_what_was_counted_is_said(pages: dict[Path, Page], site: Path) -> None:
    text = " ".join(pages[(site / "index.html").resolve()].text.split())
    for said in (
        "3 models, 20 turns in 5 dialogues about 5 videos.", "not scored", "METEOR of all models: no METEOR here",
        "a at $[9]", "d1/05", "d2/01", "3 × failed", "1 with another answer", "With so few they are rough",
        SIGNATURE.format(data="d1", metric="rouge_l"), "450",
    ):  # fmt: skip
        assert said in text, said
    assert "elsewhere/answers.json" not in text
    dialogue = next(page for page in pages.values() if page.path.name == "d1.html")
    assert dialogue.text.count("empty answer") == 2 * len(MODELS)
    assert "asked as: Asked otherwise?" in dialogue.text


def test_every_value_links_to_its_signature(pages: dict[Path, Page], site: Path) -> None:
    source = pages[(site / "index.html").resolve()].source
    for number in re.findall(r'class="value" href="#(signature-\d+)" title="([^"]+)"', source):
        anchor, signature = number
        row = re.search(rf'<tr id="{anchor}">.*?</tr>', source, re.DOTALL)
        assert row is not None
        assert signature in row.group()
    assert source.count('class="value"') == 2 * len(MODELS)


def test_numbers_that_do_not_compare_are_said_in_their_column(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "one"), make_run(tmp_path / "two", data="d2")]
    (tmp_path / "site").mkdir()
    page = Page(write_report(runs, tmp_path / "site"))
    head = page.source[page.source.index("<thead>") : page.source.index("</thead>")]
    assert head.count("not comparable: data differs") == 2
    assert 'class="number best"' not in page.source
    assert "alpha · one" in page.text
    assert "alpha · two" in page.text


def test_a_run_with_one_model_and_no_single_scores_gives_a_site(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", models={"only": 0.5})
    (run.path / "scores" / "items.jsonl").write_text("", encoding="utf-8")
    (run.path / "scores" / "curves.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "site").mkdir()
    write_report([read_run(run.path)], tmp_path / "site")
    pages = [Page(path) for path in (tmp_path / "site").rglob("*.html")]
    assert len(pages) == 2 + len(DIALOGUES)
    assert any("The runs hold no scores of single answers" in page.text for page in pages)


def test_the_same_run_gives_the_same_bytes(site: Path, tmp_path: Path) -> None:
    again = tmp_path / "site"
    again.mkdir()
    write_report([make_run(tmp_path / "first")], again)
    files = {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    assert files == {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}


def test_colours_of_text_have_enough_contrast() -> None:
    """WCAG 2.2 AA asks 4.5 to 1 for text; a model's colour writes its letter too."""
    css = (Path(__file__).parents[2] / "src/reeltalk/report/static/style.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--(\w[\w-]*): (#[0-9a-f]{3,6});", block)) for block in
                   re.findall(r":root \{(.*?)\}", css, re.DOTALL))  # fmt: skip
    for theme in (light, dark):
        for ink in ("ink", "soft", "link", "warn"):
            assert contrast(theme[ink], theme["paper"]) >= 4.5, ink
        assert contrast(theme["ink"], theme["best"]) >= 4.5
        assert contrast(theme["soft"], theme["best"]) >= 4.5
        assert contrast(theme["warn"], theme["warn-panel"]) >= 4.5
        for index in range(8):
            assert contrast(theme[f"m{index}"], theme["paper"]) >= 4.5, index


def contrast(one: str, two: str) -> float:
    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
        parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.fixture
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no Chromium on the PATH")
    return found


@pytest.mark.browser
def test_a_browser_sorts_filters_and_never_scrolls_sideways(site: Path, chromium: str) -> None:
    from playwright.sync_api import Page as Tab
    from playwright.sync_api import sync_playwright

    def widths(tab: Tab) -> tuple[int, int]:
        return tab.evaluate("document.documentElement.scrollWidth"), tab.evaluate("innerWidth")

    def watch(tab: Tab) -> None:
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)

    problems: list[str] = []
    with sync_playwright() as playwright:
        # As root, Chromium's zygotes may get a real-time priority and, once, spun with it: then nothing else ran.
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-background-networking"],
        )
        for width in (390, 1280):
            tab = browser.new_page(viewport={"width": width, "height": 800})
            watch(tab)
            for path in sorted(site.rglob("*.html")):
                tab.goto(path.as_uri())
                assert widths(tab) == (width, width), path.name
            tab.close()

        tab = browser.new_page(viewport={"width": 390, "height": 800})
        watch(tab)
        tab.goto((site / "index.html").as_uri())
        names = tab.locator("table.leaderboard tbody th span[dir]")
        given = list(MODELS)
        assert names.all_inner_texts() == given
        head = tab.locator("table.leaderboard thead th")
        head.nth(1).locator("button").click()
        assert head.nth(1).get_attribute("aria-sort") == "descending"
        assert names.all_inner_texts() == given
        head.nth(1).locator("button").press("Enter")
        assert names.all_inner_texts() == given[::-1]
        head.nth(0).locator("button").click()
        assert names.all_inner_texts() == given

        assert not tab.locator("#duplicates-2").evaluate("element => element.open")
        tab.locator('a[href="#duplicates-2"]').click()
        tab.locator("#duplicates-2[open]").wait_for(state="attached")

        # A4 less its margins, at 96 pixels an inch: no column may fall off the paper.
        tab.set_viewport_size({"width": 688, "height": 1000})
        tab.emulate_media(media="print")
        assert widths(tab) == (688, 688)
        tab.emulate_media(media="screen")

        tab.goto((site / "dialogues.html").as_uri())
        rows = tab.locator("#dialogue-rows tr:visible")
        assert rows.count() == len(DIALOGUES)
        tab.fill("#find", "VIDEO-1")
        assert rows.count() == 1
        assert tab.locator("#dialogue-rows-count").inner_text() == f"1 of {len(DIALOGUES)}"
        rows.locator("a").click()
        assert tab.locator("h1").inner_text() == "Dialogue d2"
        tab.locator('a[rel="next"]').first.click()
        assert tab.locator("h1").inner_text() == "Dialogue 图像 对话"
        browser.close()
    assert problems == []


@pytest.mark.browser
def test_without_scripts_everything_is_there(site: Path, chromium: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--no-zygote", "--disable-gpu"]
        )
        tab = browser.new_context(java_script_enabled=False).new_page()
        tab.goto((site / "dialogues.html").as_uri())
        assert tab.locator("#dialogue-rows tr:visible").count() == len(DIALOGUES)
        assert not tab.locator("#find").is_visible()
        tab.goto((site / "index.html").as_uri())
        assert tab.locator("table.leaderboard tbody tr:visible").count() == len(MODELS)
        assert tab.locator("svg.figure").count() == 4
        browser.close()
