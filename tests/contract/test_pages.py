"""Every command and code block of the documentation: it runs, or says why not and is checked all the same."""

import functools
import json
import re
import runpy
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from cyclopts import CycloptsError
from doc_pages import LANGUAGES, REASONS, SHELL, Block, blocks_of, commands_of, pages
from page_shell import Shell, known_extras, named_extras
from page_world import World
from places import ROOT
from reference_pages import commands

from reeltalk.cli import app, run

PAGES = [page.relative_to(ROOT).as_posix() for page in pages()]
VARIABLE = "$"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
PROJECT = {"benchmark", "evaluate"}
"""Sections by which a file of settings is known as a project."""
MOST = {
    "needs the network": 8,
    "needs a GPU": 2,
    "needs a model of gigabytes": 4,
    "needs your own server": 8,
    "needs a person": 4,
    "needs packages that our lock does not hold": 6,
    "takes too long": 6,
}
"""Blocks that may be left out, of about a hundred; `python tools/doc_pages.py` lists them."""
LONG = {
    "packages/reeltalk-build/docs/how-to/construct.md",
    "packages/reeltalk-build/docs/how-to/curate.md",
    "packages/reeltalk-build/docs/how-to/project.md",
    "packages/reeltalk-review/docs/how-to/review.md",
    "packages/reeltalk-streaming/docs/how-to/stream.md",
    "packages/reeltalk/docs/how-to/evaluate-settings.md",
    "packages/reeltalk/docs/how-to/judge.md",
    "packages/reeltalk/docs/how-to/prompts.md",
    "packages/reeltalk/docs/how-to/published.md",
    "packages/reeltalk/docs/how-to/report.md",
}
"""How-tos that are run under --full, where the tests of their packages run the same commands in `make test`. What a
reader meets first is always run; that every command of every page exists, with its options, is always checked."""
OF_OTHERS = {
    *("--help", "--log-dir", "--details", "--full", "--write"),
    *("--limit-mm-per-prompt", "--enable-prefix-caching", "--data-parallel-size"),
    *("--mmproj", "--parallel", "--max-num-seqs"),
}
"""Options of inspect_ai, pytest, vLLM, llama.cpp and scripts of the repository that pages name beside ours."""


@pytest.mark.parametrize("page", PAGES)
def test_blocks_say_what_they_are_and_their_commands_exist(page: str) -> None:
    for block in blocks_of(ROOT / page):
        assert block.language in LANGUAGES, f"{block}: {block.language!r}"
        assert block.not_run is None or block.not_run in REASONS, f"{block}: {block.not_run}"
        if block.language == "text":
            hidden = block.text.startswith(("$ ", "pip ")) or re.search(r"^reeltalk ", block.text, re.MULTILINE)
            assert not hidden, f"{block}: commands are console or bash, which are run"
        if block.language in SHELL:
            for arguments in commands_of(block):
                _check_command(block, arguments)


def _check_command(block: Block, arguments: list[str]) -> None:
    """A command that exists, with options that it has and values that these take."""
    try:
        app.parse_args(arguments, exit_on_error=False, print_error=False)
    except (CycloptsError, ValueError) as error:
        # A variable of the shell stands for a value that only the run knows.
        if VARIABLE not in str(error):
            raise AssertionError(f"{block}: reeltalk {' '.join(arguments)}: {error}") from None


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page in LONG else ()) for page in PAGES if blocks_of(ROOT / page)],
)
def test_a_page_runs_from_top_to_bottom(
    page: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = [block for block in blocks_of(ROOT / page) if not block.not_run]
    monkeypatch.setenv("OPENAI_BASE_URL", world.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    world.prepare(tmp_path, blocks)
    shell = Shell(tmp_path, world.adapt, world.go_ahead)
    known: dict[str, Any] = {}
    problems: list[str] = []
    for block in blocks:
        if block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        if block.language in SHELL:
            problems += filter(None, [shell.run(block)])
        elif block.language == "python":
            path = tmp_path / (block.title or f"block_{block.line}.py")
            path.write_text(block.text, encoding="utf-8")
            known = runpy.run_path(str(path), init_globals=known)
        elif block.language == "json":
            assert json.loads(block.text)
        elif block.language == "toml":
            assert tomllib.loads(block.text)
        elif block.language == "yaml":
            read = yaml.safe_load(block.text)
            assert read
            if PROJECT <= set(read):
                # A project: its own command reads it, and refuses what it does not know.
                (tmp_path / "project.yaml").write_text(block.text, encoding="utf-8")
                assert run(["run", "--plan", "project.yaml"]) == 0, f"{block}"
    assert not problems, "\n".join(problems)


def test_few_blocks_are_not_run_and_each_for_a_reason() -> None:
    found = Counter(block.not_run for page in PAGES for block in blocks_of(ROOT / page) if block.not_run)
    assert set(MOST) == set(REASONS)
    assert {reason: count for reason, count in found.items() if count > MOST[str(reason)]} == {}


def test_extras_that_pages_name_can_be_installed() -> None:
    known = known_extras()
    for page in PAGES:
        for package, extras in named_extras((ROOT / page).read_text(encoding="utf-8")):
            assert set(extras) <= known.get(package, set()), f"{page}: {package}[{','.join(extras)}]"


@pytest.mark.parametrize("page", PAGES)
def test_options_that_pages_speak_of_exist(page: str) -> None:
    told = re.findall(r"`((?:--|reeltalk )[^`\n]+)`", (ROOT / page).read_text(encoding="utf-8"))
    assert {option for code in told for option in OPTION.findall(code)} <= known_options() | OF_OTHERS


@functools.cache
def known_options() -> set[str]:
    return {
        "--help-all",
        *(option for entry in commands() for term, _ in entry.rows for option in OPTION.findall(term)),
    }
