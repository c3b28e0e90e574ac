"""A layout, a page and a chart are added by a module each, as CONTRIBUTING says, and no other edit.

`test_protocols.py` adds a judging protocol in the same way.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
LAYOUT = '''"""Lines of text: video, question and answer, with a tab between them."""

from pathlib import Path

from reeltalk.formats.export_losses import added_since_import
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.record import DialogueId, VideoId
from reeltalk.schema.media import Video
from reeltalk.store.content import Content


def read(source: Path) -> Content:
    """One dialogue of one turn for each line."""
    rows = [line.split("\\t") for line in source.read_text(encoding="utf-8").splitlines()]
    return Content(
        videos=[Video(id=VideoId(name)) for name in dict.fromkeys(video for video, _, _ in rows)],
        dialogues=[
            Dialogue(id=DialogueId(f"q{at}"), video_id=VideoId(video), turns=(Turn(question=q, references=(a,)),))
            for at, (video, q, a) in enumerate(rows)
        ],
    )


def write(content: Content, folder: Path) -> list[str]:
    """One line for each turn that has a reference."""
    lines = [
        f"{dialogue.video_id}\\t{turn.question}\\t{turn.references[0]}\\n"
        for dialogue in content.dialogues
        for turn in dialogue.turns
        if turn.references
    ]
    (folder / "lines.tsv").write_text("".join(lines), encoding="utf-8")
    return added_since_import(content, "tab-lines")
'''
PAGE = '''"""The page of long answers."""

from typing import Final

from reeltalk.pages.charts import Spec, render_chart
from reeltalk.pages.site import Page, Site


@render_chart
def bars_of_words(counts: list[int], *, title: str) -> Spec | None:
    """A bar for each answer: its number of words; nothing without answers."""
    rows = [{"answer": place, "words": count} for place, count in enumerate(counts)]
    if not rows:
        return None
    bars = {
        "mark": {"type": "bar", "color": "var(--m0)", "aria": False},
        "data": {"values": rows},
        "encoding": {"x": {"field": "answer", "type": "ordinal"}, "y": {"field": "words", "type": "quantitative"}},
    }
    return {"description": title, "width": 300, "height": 100, "layer": [bars]}


def write_long_answers(site: Site) -> None:
    """Write `long.html`."""
    words = [len(turn.question.split()) for dialogue in site.dialogues for turn in dialogue.turns]
    drawn = site.figure("long.html", "words", bars_of_words(words, title="Words of each question"), "Words")
    site.render("long.html", "long.html", drawn=drawn, longest=max(words))


REPORT_PAGES: Final = (Page("Long answers", "long.html", lambda site: True, write_long_answers, place=25),)
'''
TEMPLATE = """{% extends "base.html" %}
{% block title %}Long answers{% endblock %}
{% block body %}<main id="content"><p>The longest has {{ longest }} words.</p>{{ drawn }}</main>{% endblock %}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with the three additions."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(SOURCE / "reeltalk", folder / "reeltalk", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "reeltalk" / "formats" / "tab_lines.py").write_text(LAYOUT, encoding="utf-8")
    (folder / "reeltalk" / "pages" / "long_answers.py").write_text(PAGE, encoding="utf-8")
    (folder / "reeltalk" / "pages" / "templates" / "long.html").write_text(TEMPLATE, encoding="utf-8")
    return folder


def reeltalk(package: Path, *arguments: str | Path) -> str:
    """Run a command of the copy, and give what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "reeltalk", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_layout_is_a_module(package: Path, tmp_path: Path) -> None:
    source = tmp_path / "questions.tsv"
    source.write_text("a.mp4\tWhat is it?\tA cup.\nb.mp4\tWho comes?\tAnna.\n", encoding="utf-8")
    assert "tab-lines" in reeltalk(package, "import", "--help")
    reeltalk(package, "import", "tab-lines", source, tmp_path / "bench")
    reeltalk(package, "export", "tab-lines", tmp_path / "bench", tmp_path / "out")
    assert (tmp_path / "out" / "lines.tsv").read_text(encoding="utf-8") == source.read_text(encoding="utf-8")


def test_a_page_and_its_chart_are_a_module_and_a_template(package: Path, played_run: Path, tmp_path: Path) -> None:
    reeltalk(package, "report", played_run, "--out", tmp_path / "site", "--figures", "svg")
    page = (tmp_path / "site" / "long.html").read_text(encoding="utf-8")
    assert 'aria-label="Words of each question"' in page
    assert "The longest has" in page
    titles = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert titles.index(">Leaderboard<") < titles.index(">Long answers<")
    assert list((tmp_path / "site").rglob("*words*.svg"))
