"""A report with figures and tables as files: every one is linked, listed, and the same each time."""

import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reeltalk.cli import run as command
from reeltalk.errors import SettingError
from reeltalk.pages.settings import ModelAbout, ReportSettings
from reeltalk.pages.stage import write_report
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]
HOSTILE = '<b>"x"</b>'
UNITS = {"a": [100.0, 0.0, 100.0], "b": [0.0, 0.0], "c": [100.0, 100.0]}
EVERY = ReportSettings(
    figures=("svg", "pdf", "png"),
    tables=("latex", "markdown", "csv"),
    about={HOSTILE: ModelAbout(parameters_b=7.0, kind=HOSTILE, link="https://example.org/<x>")},
)


class Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name == "href" and tag == "a"]


@pytest.fixture
def runs(make_played: RunMaker) -> list[Run]:
    return [
        make_played(history, UNITS, model=HOSTILE, signed={"mode": "dialogue", "history": history})
        for history in ("none", "golden")
    ]


def report(folder: Path, runs: list[Run], settings: ReportSettings) -> Path:
    folder.mkdir()
    write_report(runs, folder, settings=settings)
    return folder


def test_every_figure_and_table_is_a_file_that_its_page_links(tmp_path: Path, runs: list[Run]) -> None:
    site = report(tmp_path / "site", runs, EVERY)
    linked = set()
    for page in site.rglob("*.html"):
        for link in Links(page.read_text(encoding="utf-8")).found:
            file, _, _ = link.partition("#")
            if file and not file.startswith("https://example.org/"):
                assert (page.parent / file).is_file(), (page, link)
                linked.add((page.parent / file).resolve())
    written = {path.resolve() for folder in ("figures", "tables") for path in (site / folder).iterdir()}
    assert {path.name for path in written - linked} == {"index.md"}
    names = {path.stem for path in (site / "figures").glob("*.svg")}
    assert {"numbers-values-match", "along-after-match", "along-since-match", "settings-history-match"} <= names
    assert {path.stem for path in (site / "figures").glob("*.pdf")} == names
    assert {"numbers-judged", "models-about", "along-after-match"} <= {p.stem for p in (site / "tables").glob("*.tex")}
    for path in (site / "figures").glob("*.svg"):
        ElementTree.fromstring(path.read_bytes())


def test_files_name_the_signatures_of_their_numbers(tmp_path: Path, runs: list[Run]) -> None:
    site = report(tmp_path / "site", runs, EVERY)
    for listed in (site / "figures" / "index.md", site / "tables" / "numbers-judged.tex"):
        text = listed.read_text(encoding="utf-8")
        for history in ("none", "golden"):
            assert f"test.dialogue|data:dialogue|mode:dialogue|history:{history}|judge:none|metric:match" in text


def test_the_same_runs_give_the_same_files(tmp_path: Path, runs: list[Run]) -> None:
    one, two = (report(tmp_path / name, runs, EVERY) for name in ("one", "two"))
    files = {path.relative_to(one): path.read_bytes() for path in one.rglob("*") if path.is_file()}
    assert files == {path.relative_to(two): path.read_bytes() for path in two.rglob("*") if path.is_file()}


def test_unasked_the_figures_and_tables_of_a_paper_are_written(tmp_path: Path, runs: list[Run]) -> None:
    site = report(tmp_path / "site", runs, ReportSettings())
    figures, tables = ({path.name for path in (site / name).iterdir()} for name in ("figures", "tables"))
    assert figures == {"index.md", "leaderboard.svg", "leaderboard.pdf"}
    stems = ("leaderboard", "comparisons-match")
    assert tables == {"index.md", *(f"{stem}.{end}" for stem in stems for end in ("tex", "csv"))}
    assert not (site / "models.html").exists()


def test_no_files_are_written_and_none_are_linked_if_none_are_wanted(tmp_path: Path, runs: list[Run]) -> None:
    site = report(tmp_path / "site", runs, ReportSettings(figures=(), tables=()))
    assert not (site / "figures").exists()
    assert not (site / "tables").exists()
    assert not any('class="files"' in page.read_text(encoding="utf-8") for page in site.rglob("*.html"))


def test_strangers_text_stays_text_on_all_pages(tmp_path: Path, runs: list[Run]) -> None:
    site = report(tmp_path / "site", runs, EVERY)
    for page in ("settings.html", "along.html", "models.html", "numbers.html"):
        text = (site / page).read_text(encoding="utf-8")
        assert HOSTILE not in text
        assert "&lt;b&gt;" in text
    assert "https://example.org/&lt;x&gt;" in (site / "models.html").read_text(encoding="utf-8")


def test_settings_show_values_and_their_difference(tmp_path: Path, runs: list[Run]) -> None:
    site = report(tmp_path / "site", runs, ReportSettings())
    text = re.sub(r"<[^>]+>|\s+", " ", (site / "settings.html").read_text(encoding="utf-8"))
    assert "57.1 " in text
    # Where no video differs from another there is nothing to tell an interval from.
    assert "Δ +0.0 [-70.8, +70.8], 3 videos" in " ".join(text.split())


def test_what_is_said_about_other_models_is_an_error(tmp_path: Path, runs: list[Run]) -> None:
    said = ReportSettings(about={"another": ModelAbout(parameters_b=1.0)})
    with pytest.raises(SettingError, match="there are no facts about any model of these runs"):
        report(tmp_path / "site", runs, said)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--figures", "svg,jpg"], "--figures has no 'jpg'; it takes svg, pdf, png"),
        (["--tables", "tex"], "--tables has no 'tex'; it takes latex, markdown, csv"),
        (["--figures", "svg", "--format", "csv"], "are for a site about runs"),
        (["--about", "no.toml"], "cannot be read"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    tmp_path: Path, runs: list[Run], options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["report", str(runs[0].path), "--out", str(tmp_path / "site"), *options]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_a_damaged_run_among_several_is_named_and_the_others_are_shown(
    tmp_path: Path, runs: list[Run], capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(shutil.copytree(run.path, tmp_path / f"run-{n}")) for n, run in enumerate(runs)]
    Path(folders[0], "run.json").write_text("{", encoding="utf-8")
    assert command(["report", *folders, "--out", str(tmp_path / "site")]) == 1
    assert re.search(r"left out: not JSON.*run-0/run\.json", capsys.readouterr().err)
    assert (tmp_path / "site" / "index.html").is_file()
    assert command(["report", *folders, "--format", "csv", "--strict"]) == 2
    assert command(["report", *folders, str(tmp_path / "absent"), "--format", "csv"]) == 2


def test_the_command_writes_them(tmp_path: Path, runs: list[Run]) -> None:
    (tmp_path / "models.toml").write_text("['<b>\"x\"</b>']\nparameters_b = 7\n", encoding="utf-8")
    options = ["--figures", "png, SVG", "--tables", "csv", "--about", str(tmp_path / "models.toml")]
    assert command(["report", *(str(run.path) for run in runs), "--out", str(tmp_path / "site"), *options]) == 0
    assert {path.suffix for path in (tmp_path / "site" / "figures").iterdir()} == {".svg", ".png", ".md"}
    assert {path.suffix for path in (tmp_path / "site" / "tables").iterdir()} == {".csv", ".md"}
    assert (tmp_path / "site" / "models.html").is_file()
