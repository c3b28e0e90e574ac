"""The site that runs become: whole, closed, safe with strangers' text, and usable in a browser from disk."""

import json
import re
import shutil
from html.parser import HTMLParser
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from places import CORE
from playwright.sync_api import Browser
from playwright.sync_api import Page as Tab
from walk_report import find_axe_problems, pages_of

from reeltalk.metrics.choice import NAMES_NONE
from reeltalk.pages.dialogues import write_shards
from reeltalk.pages.stage import write_report
from reeltalk.store.runs import Run, read_run

MARKUP = "</td></table><script>alert(1)</script><img src=x onerror=alert(2)>"
NAME = MARKUP + " {{ 7*7 }} {% raw %} evil ' \" & 你好"
"""As hostile as a name can be: what cannot be seen is refused in names."""
HOSTILE = MARKUP + " {{ 7*7 }} {% raw %} \u202eevil\u2066 ' \" & 你好"
MODELS = {"alpha": 0.52, "beta-with-a-very-long-name-that-somebody-gave-it-2024-08-06": 0.47, "<b>gamma</b>": 0.11}
DIALOGUES = ("d1", "d2", "../../escape", "D1", "图像 对话")
SCRIPTS = {"page.js", "dialogue.js", "dialogues.js", "shards.js", "turns.js"}
"""Scripts that pages may name; no page holds one itself."""
SIGNATURE = "test.answers|data:{data}|metric:{metric}|tok:coco|ci:95%-by-video-cr2-wilson|v:0.1.0"


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


def make_judged_run(folder: Path) -> Run:
    """A run as `evaluate` leaves it, with a model that fails at a turn, and a judge that quotes strangers."""
    models = ("qwen", "<i>intern</i>", "empty")
    answers: list[dict[str, object]] = []
    items: list[dict[str, object]] = []
    summary: list[dict[str, object]] = []
    curves: list[dict[str, object]] = []
    groups: list[dict[str, object]] = []
    judged: dict[str, list[dict[str, object]]] = {"clair": [], "checklist": [], "svbench": []}
    for place, model in enumerate(models):
        floor = model == "empty"
        for metric, value, more in (
            ("clair", 0.8 - place / 10, {"unscored": 1}),
            ("clair.compat", 0.9, {}),
            ("mtv", None, {"over_scored": 61.5, "unscored": 7}),
            ("mtv.floor", 20.0, {}),
            ("mtv.compat", 30.0, {}),
            ("svbench.OS", 70.0, {"not_applicable": 3}),
            ("svbench.SA", 60.0, {}),
            ("took_s", 1.5 + place, {}),
            ("first_token_s", 0.5, {}),
            ("rouge_l", 0.3, {}),
        ):
            if floor and metric in ("took_s", "first_token_s", "rouge_l"):
                continue
            parts = "data:9|mode:dialogue|ci:95" if floor else f"data:1|mode:dialogue|judge:j|metric:{metric}|ci:95"
            low, high = (None, None) if value is None else (value - 0.05, value + 0.05)
            row: dict[str, object] = {"model": model, "metric": metric, "signature": f"b.dialogue|{parts}"}
            summary.append(row | {"value": value, "n": 8, "low": low, "high": high} | more)
            if value is not None:
                points = [{"turn_index": turn, "value": value, "n": 40, "low": low, "high": high} for turn in range(2)]
                curves += [row_of(model, metric) | point for point in points]
                groups += [
                    row_of(model, metric) | {"by": by, "group": group, "value": value, "n": 4, "low": low, "high": high}
                    for by, names in (("task", (NAME, "memory_recall")), ("video_length", ("<60 s", "60-120 s")))
                    for group in names
                ]
        for number, unit in enumerate(("d1", "path-2") if not floor else ()):
            for turn in range(2):
                failed = number == turn == place == 1
                answers.append({
                    "model": model, "item_id": f"{unit}/{turn}", "video_id": "v", "unit_id": unit, "turn_index": turn,
                    "question": "What is it?", "references": ["A cup."], "text": "" if failed else HOSTILE,
                    "state": "failed" if failed else "answered", "reason": f"400 {HOSTILE}" if failed else None,
                    "asked_at_s": 30.0, "options": [HOSTILE, "a cup"], "correct_option": 1,
                    "checklist": {"items": [{"question": HOSTILE, "expected": True}]},
                    "played": {"frames_s": [1.0, 29.5], "new_frames": 1, "took_s": 1.5, "prompt_tokens": 900,
                               "completion_tokens": 12},
                })  # fmt: skip
                items.append({"model": model, "item_id": f"{unit}/{turn}", "scores": {"clair": 0.5, "rouge_l": 0.1}})
                about = {"unit": "turn", "unit_id": unit, "turn_index": turn, "model": model, "judge": NAME}
                missing = {"state": "unscored", "reason": f"it says {HOSTILE}", "replies": [HOSTILE, "x" * 4000]}
                judged["clair"].append(about | {"criterion": "clair"} | (
                    missing if failed else {"value": 0.5, "explanation": HOSTILE, "replies": [HOSTILE]}
                ))  # fmt: skip
                judged["clair"].append(about | {"criterion": "clair.compat", "value": 0.9, "replies": [HOSTILE]})
                judged["checklist"] += [
                    about | {"criterion": "accuracy", "value": 0.4, "sample": sample, "replies": ["{}"]}
                    for sample in range(3)
                ]
            whole: dict[str, object] = {"unit": "path", "unit_id": unit, "model": model, "judge": "j"}
            judged["svbench"].append(whole | {"criterion": "OS", "value": 7.0, "explanation": HOSTILE})
            judged["svbench"].append(whole | {"criterion": "TU", "state": "not_applicable", "reason": "no time"})
    signed = {model: [["mode", "dialogue"], ["history", "golden"], ["policy", NAME]] for model in models}
    info = {
        "kind": "evaluate", "reeltalk_version": "0.1.0", "subject": "b.dialogue", "clusters": 1,
        "metrics": [], "settings": {"signed": signed, "judge": {"judge": HOSTILE}},
        "models": [{"model": model, "source": "baseline:empty" if model == "empty" else model, "sha256": "", "rows": 4,
                    "items": 4, "missing": ["d1/1"] if place == 1 else []} for place, model in enumerate(models)],
    }  # fmt: skip
    write_jsonl(folder / "answers.jsonl", answers)
    write_jsonl(folder / "scores" / "items.jsonl", items)
    write_jsonl(folder / "scores" / "curves.jsonl", curves)
    write_jsonl(folder / "scores" / "groups.jsonl", groups)
    for protocol, rows in judged.items():
        write_jsonl(folder / "scores" / f"judged-{protocol}.jsonl", rows)
    (folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return read_run(folder)


def row_of(model: str, metric: str) -> dict[str, object]:
    return {"model": model, "metric": metric}


class Page(HTMLParser):
    """What one page holds; fails where its elements are not balanced."""

    VOID = frozenset({"meta", "link", "input", "br", "img", "wbr"})

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.source = path.read_text(encoding="utf-8")
        self.links: list[str] = []
        self.scripts: list[str] = []
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
        if tag == "script":
            self.scripts.append(Path(found.get("src") or "").name)
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
            assert found.get("scope") in {"row", "col", "rowgroup"}, f"{self.path}: a heading cell has no scope"
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
def judged_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    write_report([make_judged_run(tmp_path_factory.mktemp("runs") / "played")], folder)
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in site.rglob("*.html")}


@pytest.fixture(scope="module")
def judged_pages(judged_site: Path) -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in judged_site.rglob("*.html")}


def test_there_is_an_index_a_list_and_a_page_a_dialogue(site: Path, pages: dict[Path, Page]) -> None:
    named = {path.name for path in pages if path.parent.name not in ("dialogues", "models")}
    assert named == {
        "index.html", "numbers.html", "comparisons.html", "along.html", "dialogues.html", "turns.html", "failures.html",
    }  # fmt: skip
    assert len(pages) == 7 + len(DIALOGUES) + len(MODELS)
    assert all(path.is_relative_to(site.resolve()) for path in pages)
    listed = {link for link in pages[(site / "dialogues.html").resolve()].links if link.startswith("dialogues/")}
    assert {(site / link).resolve() for link in listed} == {p for p in pages if p.parent.name == "dialogues"}


@pytest.mark.parametrize("which", ["site", "judged_site"])
def test_every_link_resolves_inside_the_site(which: str, request: pytest.FixtureRequest) -> None:
    site = request.getfixturevalue(which)
    pages = request.getfixturevalue("pages" if which == "site" else "judged_pages")
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
            # The page to find turns has its filters there.
            if anchor and not anchor.startswith("show="):
                assert anchor in pages[reached].ids, link


def test_data_of_pages_end_no_script_and_open_no_comment(site: Path, judged_site: Path) -> None:
    shards = [path for folder in (site, judged_site) for path in (folder / "data").glob("*.js")]
    assert {path.stem.split("-")[0] for path in shards} == {"turns", "words", "units", "finder"}
    for path in shards:
        text = path.read_text(encoding="utf-8")
        assert not re.search("[<>&\u2028\u2029\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f-\x9f]", text), path
    words = (site / "data" / "words-0.js").read_text(encoding="utf-8")
    assert r"\u003cscript\u003ealert(1)\u003c/script\u003e" in words
    assert "你好" in words


def test_what_failed_leads_to_its_turn_and_its_raw_replies(judged_site: Path, judged_pages: dict[Path, Page]) -> None:
    page = judged_pages[(judged_site / "failures.html").resolve()]
    text = " ".join(page.text.split())
    assert "failed: 400 </td></table><script>" in text
    assert re.search("CLAIR ?it says </td>", text)
    assert "2 raw replies" in text
    assert "dialogues/path-2.html#turn-2" in page.links
    assert "61.5" in text


def test_no_page_asks_a_network_for_anything(site: Path) -> None:
    for path in site.rglob("*"):
        if path.is_file() and path.suffix != ".pdf":
            text = path.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
            assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest", text), path


def test_strangers_text_stays_text(pages: dict[Path, Page], judged_pages: dict[Path, Page]) -> None:
    for page in (*pages.values(), *judged_pages.values()):
        assert set(page.scripts) <= SCRIPTS
        assert page.tags.count("script") == len(page.scripts)
        assert "img" not in page.tags
        assert "b" not in page.tags
        assert not any(name.startswith("on") or name == "style" for name in page.attributes)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f-\x9f]", page.source)
    dialogue = next(page for page in pages.values() if page.path.name == "d1.html")
    assert "<script>alert(1)</script>" in dialogue.text
    assert "{{ 7*7 }} {% raw %}" in dialogue.text
    assert "你好" in dialogue.text


def test_pages_are_ordered_for_those_who_listen(pages: dict[Path, Page], judged_pages: dict[Path, Page]) -> None:
    for page in (*pages.values(), *judged_pages.values()):
        assert '<html lang="en">' in page.source
        assert page.headings[0] == 1
        assert page.headings.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(page.headings))
        assert all("caption" in table for table in page.tables)


def test_what_was_counted_is_said(pages: dict[Path, Page], site: Path) -> None:
    first = " ".join(pages[(site / "index.html").resolve()].text.split())
    assert re.search("5 videos ?, 5 dialogues, 20 turns.", first)
    assert "No verdict: these turns need a judge, since overlap of words does not tell right from wrong" in first
    text = " ".join(pages[(site / "numbers.html").resolve()].text.split())
    for said in (
        "not scored", "METEOR of all models: no METEOR here",
        "a at $[9]", "d1/05", "d2/01", "3 × failed", "1 with another answer",
        "Some intervals rest on 5 source videos only.",
        SIGNATURE.format(data="d1", metric="rouge_l"),
    ):  # fmt: skip
        assert said in text, said
    assert "450" in pages[(site / "along.html").resolve()].text
    assert "elsewhere/answers.json" not in text
    dialogue = next(page for page in pages.values() if page.path.name == "d1.html")
    assert dialogue.text.count("empty answer") == 2 * len(MODELS)
    assert "asked as: Asked otherwise?" in dialogue.text


def test_every_value_links_to_its_signature(pages: dict[Path, Page], site: Path) -> None:
    source = pages[(site / "numbers.html").resolve()].source
    for number in re.findall(r'class="value" href="#(signature-\d+)" title="([^"]+)"', source):
        anchor, signature = number
        row = re.search(rf'<tr id="{anchor}">.*?</tr>', source, re.DOTALL)
        assert row is not None
        assert signature in row.group()
    assert source.count('class="value"') == 2 * len(MODELS)


def section(page: Page, heading: str) -> str:
    """The source of one section of a page."""
    start = page.source.index(f'<section aria-labelledby="{heading}">')
    return page.source[start : page.source.index("</section>", start)]


def index_of(site: Path, pages: dict[Path, Page]) -> Page:
    return page_of(site, pages, "numbers.html")


def page_of(site: Path, pages: dict[Path, Page], name: str) -> Page:
    return pages[(site / name).resolve()]


def test_judged_measures_texts_and_times_have_tables_of_their_own(
    judged_site: Path, judged_pages: dict[Path, Page]
) -> None:
    index = index_of(judged_site, judged_pages)
    judged, texts = section(index, "scores").split('id="texts"')
    assert "CLAIR" in judged
    assert "ROUGE-L" in texts
    assert "ROUGE-L" not in judged
    assert "Answer (s)" not in judged + texts
    times = page_of(judged_site, judged_pages, "times.html").source
    assert "Answer (s)" in times
    assert "best" not in times.replace("none is called the best", "")


def test_a_withheld_number_is_shown_in_detail_alone(judged_site: Path, judged_pages: dict[Path, Page]) -> None:
    index = index_of(judged_site, judged_pages)
    assert "61.5" not in section(index, "scores")
    assert section(index, "scores").count(">withheld</a>") == 3
    assert "61.5 % over the scored items" in section(index, "detail")
    assert "Some numbers are withheld" in index.source


def test_coverage_stands_beside_every_judged_mean(judged_site: Path, judged_pages: dict[Path, Page]) -> None:
    scores = section(index_of(judged_site, judged_pages), "scores")
    assert scores.count("n = 8") >= 3 * 6
    assert scores.count("1 unscored") == 3
    assert scores.count("3 n/a") == 3


def test_figures_of_official_scripts_are_marked_and_never_best(
    judged_site: Path, judged_pages: dict[Path, Page]
) -> None:
    scores = section(index_of(judged_site, judged_pages), "scores")
    assert scores.count("of CLAIR, reproduced") == 1
    cells = re.findall(r'<td class="([^"]*)" data-value="0.9">', scores)
    assert cells == ["number beside"] * 3


def test_the_floor_is_marked_and_is_no_row_of_a_dialogue(judged_site: Path, judged_pages: dict[Path, Page]) -> None:
    index = index_of(judged_site, judged_pages)
    assert "says nothing. This is the floor" in index.text
    assert section(index, "intervals").count("<title>floor: ") > 0
    assert "not comparable" not in section(index, "scores")
    for page in judged_pages.values():
        if page.path.parent.name == "dialogues":
            assert "no answer in the run" not in page.text


def test_groups_and_lengths_are_shown(judged_site: Path, judged_pages: dict[Path, Page]) -> None:
    groups = page_of(judged_site, judged_pages, "breakdowns.html").source
    times = page_of(judged_site, judged_pages, "times.html").source
    assert "Memory recall" in groups
    assert "By length of the video" in groups
    assert times.count("<figure>") == 4
    assert "&lt;60 s" in times


def test_a_dialogue_tells_what_was_seen_and_what_judges_said(judged_pages: dict[Path, Page]) -> None:
    page = next(page for page in judged_pages.values() if page.path.name == "path-2.html")
    text = " ".join(page.text.split())
    for said in (
        "asked at 30.0 s", "2 frames, 1.0–29.5 s, 1 new · 1.50 s · 900 + 12 tokens", "failed: 400",
        "CLAIR 0.5 official script 0.9", "Checklist, accuracy 0.4 · 0.4 · 0.4", "SVBench, overall 7", "SVBench, TU n/a",
        "2 raw replies", "a cup (right)", "expected: yes",
    ):  # fmt: skip
        assert said in text, said
    for folded in re.findall(r"<details>.*?</details>", page.source, re.DOTALL):
        assert "<summary>" in folded


def test_why_scores_are_missing_is_counted(judged_site: Path, judged_pages: dict[Path, Page]) -> None:
    counted = section(index_of(judged_site, judged_pages), "counted")
    assert "Why scores are missing" in counted
    assert "does not apply:" in counted


def test_numbers_that_do_not_compare_are_said_in_their_column(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "one"), make_run(tmp_path / "two", data="d2")]
    (tmp_path / "site").mkdir()
    first = Page(write_report(runs, tmp_path / "site"))
    page = Page(first.path.with_name("numbers.html"))
    assert "Not comparable between all models here: ROUGE-L, CIDEr." in " ".join(page.text.split())
    head = page.source[page.source.index("<thead>") : page.source.index("</thead>")]
    assert head.count("not comparable, by questions") == 2
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
    assert len(pages) == 5 + len(DIALOGUES)
    assert {"index.html", "dialogues.html", "turns.html", "d1.html"} <= {page.path.name for page in pages}
    assert any("The runs hold no scores of single answers" in page.text for page in pages)


def test_the_same_run_gives_the_same_bytes(site: Path, tmp_path: Path) -> None:
    again = tmp_path / "site"
    again.mkdir()
    write_report([make_run(tmp_path / "first")], again)
    files = {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    assert files == {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}


def test_colours_of_text_have_enough_contrast() -> None:
    """WCAG 2.2 AA asks 4.5 to 1 for text; a model's colour writes its letter too."""
    css = (CORE / "pages/static/style.css").read_text(encoding="utf-8")
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


def widths(tab: Tab) -> tuple[int, int]:
    return tab.evaluate("document.documentElement.scrollWidth"), tab.evaluate("innerWidth")


def watch(tab: Tab) -> list[str]:
    """What a page does that no page of a report may do, from now on."""
    problems: list[str] = []
    tab.on("console", lambda message: problems.append(message.text))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("dialog", lambda dialog: problems.append(dialog.message))
    tab.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
    return problems


@pytest.mark.slow
@pytest.mark.browser
def test_no_page_scrolls_sideways(site: Path, judged_site: Path, browser: Browser) -> None:
    for width in (390, 1280):
        with browser.new_page(viewport={"width": width, "height": 800}) as tab:
            problems = watch(tab)
            for path in [*pages_of(site), *pages_of(judged_site)]:
                tab.goto(path.as_uri())
                assert widths(tab) == (width, width), path.name
            assert problems == []


@pytest.mark.browser
def test_a_browser_sorts_filters_and_prints(site: Path, judged_site: Path, browser: Browser) -> None:
    with browser.new_page(viewport={"width": 390, "height": 800}) as tab:
        problems = watch(tab)
        tab.goto((site / "numbers.html").as_uri())
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
        for name in ("numbers.html", "index.html"):
            tab.goto((judged_site / name).as_uri())
            assert widths(tab) == (688, 688), name
        tab.emulate_media(media="screen")

        tab.goto((site / "dialogues.html").as_uri())
        rows = tab.locator("#dialogue-rows tr:visible")
        assert rows.count() == len(DIALOGUES)
        tab.fill("#find", "VIDEO-1")
        assert rows.count() == 1
        assert tab.locator("#dialogue-rows-count").inner_text() == f"1 of {len(DIALOGUES)}"
        rows.locator("a").click()
        assert "dialogue d2 · video video-1" in tab.locator("main .id").first.inner_text()
        tab.locator('a[rel="next"]').first.click()
        assert "dialogue 图像 对话 · video video-4" in tab.locator("main .id").first.inner_text()
    assert problems == []


@pytest.mark.slow
@pytest.mark.browser
def test_without_scripts_everything_is_there(site: Path, browser: Browser) -> None:
    with browser.new_page(java_script_enabled=False) as tab:
        tab.goto((site / "dialogues.html").as_uri())
        assert tab.locator("#dialogue-rows tr:visible").count() == len(DIALOGUES)
        assert not tab.locator("#find").is_visible()
        tab.goto((site / "index.html").as_uri())
        # Overlap of words ranks nothing: there is a verdict that says so, and no table of ranks.
        assert "No verdict" in tab.inner_text("h1 + *")
        assert tab.locator("table.standings").count() == 0
        tab.goto((site / "numbers.html").as_uri())
        assert tab.locator("table.leaderboard tbody tr:visible").count() == len(MODELS)
        assert tab.locator("svg.figure").count() == 2


@pytest.mark.browser
def test_turns_are_found_and_the_address_holds_the_filters(judged_site: Path, site: Path, browser: Browser) -> None:
    with browser.new_page(viewport={"width": 390, "height": 800}) as tab:
        problems = watch(tab)

        def counted(words: str) -> None:
            tab.wait_for_function("words => document.getElementById('count').textContent === words", arg=words)

        tab.goto((judged_site / "turns.html").as_uri())
        counted("4 of 4 turns")
        tab.select_option("#show", "unscored")
        counted("1 of 4 turns")
        assert "show=unscored" in tab.url
        assert "CLAIR: it says </td></table><script>" in tab.locator("#found").inner_text()
        tab.select_option("#show", "failed")
        counted("1 of 4 turns")
        tab.select_option("#m", "0")
        counted("0 of 4 turns")
        # Another reader opens the address.
        with browser.new_page() as other:
            other.goto(tab.url)
            other.wait_for_function("document.getElementById('count').textContent === '0 of 4 turns'")
            assert other.input_value("#show") == "failed"

        # A link of another page names a model and leaves the others out.
        tab.goto((judged_site / "turns.html").as_uri() + "#show=failed&model=qwen")
        counted("0 of 4 turns")
        assert tab.input_value("#m") == "0"
        tab.goto((judged_site / "turns.html").as_uri() + "?show=failed&model=%3Ci%3Eintern%3C%2Fi%3E")
        counted("1 of 4 turns")

        tab.goto((site / "turns.html").as_uri() + "#show=right-wrong&a=0&b=2&t=30&nonsense=1&task=99")
        tab.wait_for_function("!document.getElementById('count').textContent.includes('…')")
        found = int(tab.inner_text("#count").split()[0])
        # Overlap of words makes no answer right or wrong, so that filter of an address is left out.
        assert found == 20
        tab.wait_for_selector("#found .said-by p")
        assert tab.evaluate("document.documentElement.scrollWidth") == 390
        tab.keyboard.press("j")
        first = tab.evaluate("document.activeElement.closest('li').dataset.place")
        tab.keyboard.press("j")
        assert tab.evaluate("document.activeElement.closest('li').dataset.place") != first
        tab.keyboard.press("/")
        assert tab.evaluate("document.activeElement.id") == "q"
        tab.keyboard.type("图像")
        tab.wait_for_function("before => parseInt(document.getElementById('count').textContent) < before", arg=found)
        tab.fill("#q", "word word")
        counted("0 of 20 turns")
        tab.check("#answers")
        tab.select_option("#show", "all")
        counted("5 of 20 turns")
        tab.locator("#found a").first.click()
        tab.wait_for_selector("section.turn:target")
        tab.keyboard.press("k")
        assert tab.evaluate("document.activeElement.id").startswith("turn-")
    assert problems == []


@pytest.fixture(scope="module")
def choice_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty turns with options: the model `right` is always right, `other` at every third, and unread at the next."""
    folder = tmp_path_factory.mktemp("choice")
    answers: list[dict[str, object]] = []
    items: list[dict[str, object]] = []
    judged: list[dict[str, object]] = []
    for number, model in enumerate(("right", "other")):
        for place in range(60):
            unit, turn = f"d{place // 6}", place % 6
            unread = number == 1 and place % 3 == 1
            value = float(number == 0 or place % 3 == 0)
            answers.append({
                "model": model, "item_id": f"{unit}/{turn}", "video_id": f"v{place // 30}", "unit_id": unit,
                "turn_index": turn, "question": f"Question {place}?", "references": ["a cup"], "unit": "dialogue",
                "text": "I cannot tell." if unread else "A", "options": ["a cup", "a bus"], "correct_option": 0,
            })  # fmt: skip
            items.append({"model": model, "item_id": f"{unit}/{turn}", "scores": {"accuracy": 100 * value}})
            about = {"unit": "turn", "unit_id": unit, "turn_index": turn, "model": model, "judge": "none"}
            why = NAMES_NONE if unread else "read as option A: a cup"
            judged.append(about | {"criterion": "accuracy", "value": value, "explanation": why})
    row: dict[str, object] = {"metric": "accuracy", "n": 60, "low": 40.0, "high": 100.0, "signature": "b|v:1"}
    info = {"kind": "evaluate", "reeltalk_version": "1", "subject": "b", "metrics": ["accuracy"], "clusters": 2,
            "models": [{"model": model, "source": model, "sha256": "", "rows": 60, "items": 60}
                       for model in ("right", "other")]}  # fmt: skip
    write_jsonl(folder / "run" / "answers.jsonl", answers)
    write_jsonl(folder / "run" / "scores" / "items.jsonl", items)
    write_jsonl(folder / "run" / "scores" / "curves.jsonl", [])
    write_jsonl(folder / "run" / "scores" / "judged-choice.jsonl", judged)
    (folder / "run" / "run.json").write_text(json.dumps(info), encoding="utf-8")
    rows = [row | {"model": model, "value": value} for model, value in (("right", 100.0), ("other", 33.3))]
    (folder / "run" / "summary.json").write_text(json.dumps(rows), encoding="utf-8")
    write_report([read_run(folder / "run")], folder / "site")
    return folder / "site"


@pytest.mark.browser
def test_turns_are_sorted_opened_in_place_and_linked_to(choice_site: Path, browser: Browser) -> None:
    with browser.new_context(viewport={"width": 390, "height": 800}) as context, context.new_page() as tab:
        problems = watch(tab)

        def counted(words: str) -> None:
            tab.wait_for_function("words => document.getElementById('count').textContent === words", arg=words)

        def questions() -> list[str]:
            return tab.locator("#found summary").all_inner_texts()

        def is_open(place: int) -> None:
            shown = "document.querySelector('#found details[open] > summary')?.textContent"
            tab.wait_for_function(f"words => {shown} === words", arg=f"Question {place}?")

        tab.goto((choice_site / "turns.html").as_uri())
        counted("60 of 60 turns")
        tab.select_option("#show", "unread")
        counted("20 of 60 turns")
        assert "could not be read" in tab.inner_text("#found")
        tab.select_option("#m", "0")
        counted("0 of 60 turns")
        tab.select_option("#m", "")
        tab.fill("#v", "v1")
        counted("10 of 60 turns")
        tab.select_option("#show", "all")
        counted("30 of 60 turns")

        # Where the models differ comes first, each in the order of the dialogues.
        tab.select_option("#sort", "apart")
        assert questions()[:3] == ["Question 31?", "Question 32?", "Question 34?"]
        assert questions()[20] == "Question 30?"
        tab.select_option("#m", "1")
        tab.select_option("#sort", "high")
        assert questions()[:2] == ["Question 30?", "Question 33?"]
        tab.select_option("#sort", "low")
        assert questions()[:2] == ["Question 31?", "Question 32?"]

        tab.locator("#found summary").first.focus()
        tab.keyboard.press("Enter")
        is_open(31)
        frame = tab.frame_locator("#found iframe")
        frame.locator("section.turn:target .answers").wait_for()
        said = frame.locator("body").inner_text()
        # One turn, with options, reference, both answers and what was read, though judgements are folded on the page.
        assert all(words in said for words in ("a bus", "Reference", "names no option", "read as option A: a cup"))
        assert "Question 32?" not in said
        assert "All dialogues" not in said
        tab.wait_for_function("() => parseInt(document.querySelector('#found iframe').style.height) > 200")
        assert tab.evaluate("document.documentElement.scrollWidth") == 390
        assert find_axe_problems(tab) == []
        problems.clear()

        # Keys work in the page and in the frame, and go on to the next page of the list.
        frame.locator("section.turn:target").click(position={"x": 5, "y": 5})
        tab.keyboard.press("j")
        is_open(32)
        for place in (34, 35):
            tab.keyboard.press("j")
            is_open(place)
        tab.keyboard.press("k")
        is_open(34)
        tab.wait_for_function("() => location.hash.includes('open=35')")
        address = tab.url
        assert {"sort=low", "m=1", "v=v1", "open=35"} <= set(address.split("#")[1].split("&"))
        # By key, not by place: a frame that is still growing moves what is under the mouse.
        last = tab.locator("#found summary").nth(24)
        last.focus()
        tab.keyboard.press("Enter")
        tab.locator("#found li:nth-child(25) iframe").wait_for()
        tab.keyboard.press("j")
        tab.wait_for_function("() => document.getElementById('page').textContent === 'page 2 of 2'")
        tab.wait_for_function("() => document.querySelectorAll('#found details[open]').length === 1")
        tab.keyboard.press("Escape")
        tab.wait_for_function("() => !location.hash.includes('open') && !document.querySelector('#found iframe')")

        # Another reader opens the link that the button copies.
        tab.goto(address)
        is_open(34)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        tab.click("#copy")
        tab.wait_for_function("() => document.getElementById('copy').textContent === 'Copied'")
        assert tab.evaluate("navigator.clipboard.readText()") == address
    assert problems == []


@pytest.mark.slow
@pytest.mark.browser
def test_many_turns_are_filtered_and_sorted_at_once(choice_site: Path, tmp_path: Path, browser: Browser) -> None:
    turns = 50_000
    site = tmp_path / "site"
    shutil.copytree(choice_site, site)

    def held(name: str) -> Any:
        text = (site / "data" / f"{name}.js").read_text(encoding="utf-8")
        return json.loads(text[text.index(",") + 1 : text.rindex(")")])

    starts = {name: write_shards(site, name, islice(cycle(held(f"{name}-0")), turns)) for name in ("turns", "words")}
    told = held("finder") | {"turns": len(starts["turns"]), "words": starts["words"]}
    (site / "data" / "finder.js").write_text(f'reeltalk.put("finder",{json.dumps(told)});', encoding="utf-8")
    choose = """([name, value]) => new Promise((done) => {
      const [began, field] = [performance.now(), document.getElementById(name)];
      const list = document.getElementById("found");
      new MutationObserver(() => done(performance.now() - began)).observe(list, { childList: true });
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    })"""
    with browser.new_page() as tab:
        tab.goto((site / "turns.html").as_uri())
        count = f"{turns:,} of {turns:,} turns"
        tab.wait_for_function("words => document.getElementById('count').textContent === words", arg=count)
        steps = [("sort", "apart"), ("sort", "low"), ("show", "unread"), ("show", "right-wrong"), ("q", "question 1")]
        # Other work on the machine may hold up one attempt.
        took_ms = {step: min(tab.evaluate(choose, list(step)) for _ in range(3)) for step in steps}
    assert {step: ms for step, ms in took_ms.items() if ms >= 300} == {}


@pytest.mark.slow
@pytest.mark.browser
def test_a_long_list_has_pages_and_is_searched_as_a_whole(tmp_path: Path, browser: Browser) -> None:
    run = make_long_run(tmp_path / "run", dialogues=450)
    folder = tmp_path / "site"
    folder.mkdir()
    write_report([run], folder)
    listed = [Page(folder / f"dialogues{place}.html") for place in ("", "-2", "-3")]
    names = [link for page in listed for link in page.links if link.startswith("dialogues/")]
    assert len(names) == len(set(names)) == 450
    assert {(folder / name).is_file() for name in names} == {True}
    assert not (folder / "cases").exists()
    with browser.new_page() as tab:
        problems = watch(tab)
        tab.goto((folder / "dialogues.html").as_uri())
        tab.fill("#find", "d44")
        tab.wait_for_function("document.getElementById('dialogue-rows-count').textContent.startsWith('11 of 450')")
        assert tab.locator("#dialogue-rows a").first.inner_text() == "What? · 1 question · v44"
        tab.fill("#find", "")
        tab.locator("#dialogues thead button").nth(3).click()
        tab.wait_for_function("document.getElementById('dialogue-rows-count').textContent.includes('the first 200')")
        assert tab.locator("#dialogue-rows a").first.inner_text() == "What? · 1 question · v449"
    assert problems == []


def test_a_long_dialogue_has_pages_that_stay_small_and_link_up(tmp_path: Path) -> None:
    run = make_long_run(tmp_path / "run", dialogues=1, turns=300, text="长" * 7_000 + HOSTILE)
    folder = tmp_path / "site"
    folder.mkdir()
    write_report([run], folder)
    pages = {path: Page(path) for path in sorted((folder / "dialogues").iterdir())}
    assert len(pages) > 3
    anchors = [name for page in pages.values() for name in page.ids if re.fullmatch(r"turn-[0-9]+", name)]
    assert len(anchors) == len(set(anchors)) == 300
    assert all(path.stat().st_size < 2_000_000 for path in folder.rglob("*") if path.is_file())
    found = {link for page in pages.values() for link in page.links if link.endswith(".html") and "/" not in link}
    assert found == {path.name for path in pages}


def make_long_run(folder: Path, *, dialogues: int, turns: int = 1, text: str = "A cup.") -> Run:
    """A run of one model, large in one way."""
    answers: list[dict[str, object]] = []
    items: list[dict[str, object]] = []
    for number in range(dialogues):
        for turn in range(turns):
            item = f"d{number}/{turn}"
            answers.append({
                "model": "m", "item_id": item, "video_id": f"v{number}", "unit_id": f"d{number}", "turn_index": turn,
                "question": "What?", "references": ["A cup."], "text": text,
            })  # fmt: skip
            items.append({"model": "m", "item_id": item, "scores": {"choice": number / dialogues * 100}})
    row = {"model": "m", "metric": "choice", "value": 50.0, "n": len(items), "low": 40.0, "high": 60.0}
    model = {"model": "m", "source": "m", "sha256": "", "rows": len(items), "items": len(items)}
    info = {"kind": "evaluate", "reeltalk_version": "1", "subject": "b", "metrics": ["choice"], "clusters": dialogues,
            "models": [model]}  # fmt: skip
    write_jsonl(folder / "answers.jsonl", answers)
    write_jsonl(folder / "scores" / "items.jsonl", items)
    write_jsonl(folder / "scores" / "curves.jsonl", [])
    (folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps([row | {"signature": "b|v:1"}]), encoding="utf-8")
    return read_run(folder)


def test_every_box_that_scrolls_can_be_reached_by_keys_and_has_a_name() -> None:
    templates = CORE / "pages" / "templates"
    boxes = [
        tag
        for template in templates.glob("*.html")
        for tag in re.findall(r'<div class="scroll[^>]*>', template.read_text(encoding="utf-8"))
    ]
    assert len(boxes) > 20
    assert [tag for tag in boxes if 'tabindex="0"' not in tag or "aria-label=" not in tag] == []
