"""Each wheel alone, without extras: every command of the documentation works, or says in a sentence what is missing."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from bare_wheels import NAMES, Bare, Done, build_wheels, install
from doc_pages import SHELL, blocks_of, commands_of, pages
from places import ROOT
from sample_videos import write_grey_film

from reeltalk.cli.commands import command_names
from reeltalk.plugins import OURS

NEEDS: Final = {
    "reeltalk-build": {"reeltalk-build"},
    "reeltalk-streaming": {"reeltalk-streaming"},
    "reeltalk-review": {"reeltalk-review"},
    "reeltalk-household": {"reeltalk-build", "reeltalk-streaming", "reeltalk-household"},
}
"""Which packages of ours a wheel brings, beside the core."""
LONG: Final = (["world", "film"], ["world", "release"])
"""Commands that need nothing and film for minutes; where they are, only their help is asked for."""
SECONDS: Final = 300.0
"""Whatever still works after these is interrupted."""
NOBODY: Final = "http://127.0.0.1:9/v1"
"""An address where no server is."""


def documented() -> list[list[str]]:
    """The help of every command, and every command that a page writes, once."""
    found = [[*words, "--help"] for words in command_names()]
    for page in pages():
        for block in blocks_of(page):
            if block.language in SHELL:
                # A variable of the shell stands for words that only a loop knows.
                found += [words for words in commands_of(block) if not any("$" in word for word in words)]
    return [list(words) for words in dict.fromkeys(map(tuple, found))]


COMMANDS: Final = documented()


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory, full: bool) -> Path:
    """Those of all packages for the full counts, else that of the core."""
    folder = tmp_path_factory.mktemp("wheels")
    build_wheels(folder, NAMES if full else NAMES[:1])
    return folder


@pytest.fixture(params=NAMES)
def bare(request: pytest.FixtureRequest, wheels: Path, tmp_path: Path) -> Bare:
    return install(request.param, wheels, tmp_path / "environment")


def lacks(package: str, command: str) -> str | None:
    """The package of a command that a wheel does not bring."""
    for owner, groups in OURS.items():
        if command in groups.get("reeltalk.commands", ()) and owner not in NEEDS.get(package, ()):
            return owner
    return None


def faults(bare: Bare, words: list[str], done: Done) -> Iterator[str]:
    """What is wrong with what a command says."""
    told = [line for line in done.problem.splitlines() if line.startswith("reeltalk: ")]
    if "Traceback" in done.problem or re.search(r"\b\w+Error:", done.problem) or "unknown command" in done.problem:
        yield "no sentence"
    elif owner := lacks(bare.package, words[0]):
        wanted = f"reeltalk: 'reeltalk {words[0]}' needs the package '{owner}'; install it with: pip install {owner}"
        if (done.code, told) != (2, [wanted]):
            yield f"does not say: {wanted}"
    elif "--help" in words:
        if done.code or not done.out.removeprefix("Usage: ").startswith(f"reeltalk {words[0]}"):
            yield "no help"
    elif done.code == 2:
        # What is missing has a name: a file of the command, a package, or a server.
        given = re.split(r"[ ,:]", " ".join(word.rstrip("/") for word in words[1:] if not word.startswith("-")))
        names = [*filter(None, given), "pip install", NOBODY, "project.yaml"]
        if len(told) != 1 or not any(name in told[0] for name in names):
            yield "does not say in one sentence what is missing"
    elif done.code not in (0, 1):
        yield f"ended with {done.code}"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_documented_command_works_or_says_what_is_missing(bare: Bare, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    given = {"OPENAI_BASE_URL": NOBODY, "OPENAI_API_KEY": "none", "HOME": str(tmp_path)}
    commands = [
        words for words in COMMANDS if words[:2] not in LONG or "--help" in words or lacks(bare.package, words[0])
    ]
    done = bare.each(commands, work, SECONDS, **given)
    found = [
        f"reeltalk {shlex.join(words)} -> {ended.code}: {fault}\n{ended.problem[-600:]}"
        for words, ended in zip(commands, done, strict=True)
        for fault in faults(bare, words, ended)
    ]
    assert not found, f"{len(found)} of {len(done)} in an environment of {bare.package}:\n" + "\n".join(found)
    # Otherwise nothing was tried.
    assert sum(ended.code == 0 for ended in done) >= 20


OF_EXTRAS: Final = {
    "evaluate BENCH --model transformers:CHECKPOINT --out run": "reeltalk-streaming[train]",
    "evaluate BENCH --model inspect:openai/gpt-4o --out run": "reeltalk[inspect]",
    "export hub BENCH hub": "reeltalk[hub]",
    "import qa TABLE.xlsx new --fix": "reeltalk[xlsx]",
    "media push BENCH s3://bucket/kitchen": "reeltalk[s3]",
    "curate VIDEOS --into new --executor ray": "reeltalk[ray]",
    "train merge VIDEOS --out merged": "reeltalk-streaming[train]",
    "world train BENCH --out model": "reeltalk-household[train]",
}


@pytest.mark.slow
def test_an_option_of_an_extra_says_how_to_install_it(notebook: Path, wheels: Path, tmp_path: Path) -> None:
    every = install("reeltalk-household", wheels, tmp_path / "environment")
    benchmark = notebook / "bench"
    run = str(every.folder / "bin" / "reeltalk")
    imported = [run, "import", "qa", "questions.csv", str(benchmark), "--videos", "videos"]
    subprocess.run(imported, cwd=notebook, env=every.variables(), check=True)
    (notebook / "table.xlsx").touch()
    places = {
        "BENCH": benchmark, "VIDEOS": notebook / "videos", "TABLE.xlsx": notebook / "table.xlsx",
        "transformers:CHECKPOINT": f"transformers:{notebook}",
    }  # fmt: skip
    commands = [[str(places.get(word, word)) for word in command.split()] for command in OF_EXTRAS]
    (tmp_path / "work").mkdir()
    done = every.each(commands, tmp_path / "work", SECONDS)
    sentences = [ended.problem.splitlines()[-1] for ended in done]
    told = {command: sentence.split("; ")[-1] for command, sentence in zip(OF_EXTRAS, sentences, strict=True)}
    assert told == {command: f"install it with: pip install '{extra}'" for command, extra in OF_EXTRAS.items()}


EXECUTE: Final = """
import nbformat, sys
from nbclient import NotebookClient
notebook = nbformat.read("page.ipynb", as_version=4)
NotebookClient(notebook, kernel_name="python3").execute()
nbformat.write(notebook, "page.ipynb")
"""


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    """The three cells of the page *In a notebook* as one, beside its table and videos."""
    folder = tmp_path / "notebook"
    (folder / "videos").mkdir(parents=True)
    for name in ("kitchen", "street"):
        write_grey_film(folder / "videos" / f"{name}.mp4", 90)
    blocks = blocks_of(ROOT / "docs/notebook.md")
    for block in blocks:
        if block.title:
            (folder / block.title).write_text(block.text, encoding="utf-8")
    sources = [block.text for block in blocks if block.language == "python"][:3]
    blank: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [
        blank | {"id": f"cell-{place}", "source": source} for place, source in enumerate([*sources, "mine.plot()"])
    ]
    (folder / "page.ipynb").write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8"
    )
    return folder


def test_three_cells_lead_to_a_leaderboard_with_the_core_wheel(notebook: Path, wheels: Path, tmp_path: Path) -> None:
    core = install("reeltalk", wheels, tmp_path / "environment")
    command = [str(core.python), str(ROOT / "tools/notebook_cells.py"), "page.ipynb"]
    done = subprocess.run(command, cwd=notebook, env=core.variables(), stdout=subprocess.PIPE, text=True, check=True)
    made, own, both, _ = [json.loads(line) for line in done.stdout.splitlines()]
    assert "2 videos attached" in made["html"]
    assert '<td style="text-align:left">Brightness</td>' in own["html"]
    assert "Brightness − blind" in both["html"]
    assert (notebook / "leaderboard.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.slow
def test_jupyter_shows_its_tables_its_figure_and_a_bar(notebook: Path, wheels: Path, tmp_path: Path) -> None:
    core = install("reeltalk", wheels, tmp_path / "environment", "nbclient", "ipykernel")
    # Jupyter keeps what it knows of kernels at home.
    variables = core.variables(HOME=str(tmp_path))
    subprocess.run([str(core.python), "-c", EXECUTE], cwd=notebook, env=variables, check=True)
    cells = json.loads((notebook / "page.ipynb").read_text(encoding="utf-8"))["cells"]
    shown = [[kind for output in cell["outputs"] for kind in output.get("data", ())] for cell in cells]
    assert shown == [["text/html", "text/plain"]] * 3 + [["image/svg+xml", "text/plain"]]
    written = "".join("".join(output["text"]) for output in cells[1]["outputs"] if output.get("name") == "stderr")
    assert "playing: 3 of 3 |██████████████████████████████| 100 %" in written
    # What is told has a line of its own.
    assert "\rscoring 1 of 1: Brightness, 3 answers\n" in written
