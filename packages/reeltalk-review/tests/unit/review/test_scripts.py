"""The scripts of the review's pages: texts of strangers stay texts, types hold, and every key is documented."""

import importlib.util
import re
from pathlib import Path

import check_scripts
import pytest
from places import REVIEW, doc_page

STATIC = REVIEW / "static"
TEMPLATES = REVIEW / "templates"
SCRIPTS = sorted(STATIC.glob("*.js"))
MARKUP = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc|setHTMLUnsafe|parseHTMLUnsafe)\b"
    r"|document\s*\.\s*write|\beval\s*\(|new\s+Function\b|\bimport\s*\((?!\s*[\"']\./)|\bset(Timeout|Interval)\s*\(\s*[\"'`]"
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_markup_or_code_from_text(script: Path) -> None:
    found = [match.group() for match in MARKUP.finditer(script.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    "line",
    ['x.innerHTML = "a"', "document.write(a)", "eval (a)", "new Function(a)", "import(a)", 'setTimeout("a()", 1)'],
)
def test_what_makes_markup_or_code_is_found(line: str) -> None:
    assert MARKUP.search(line)


@pytest.mark.parametrize("page", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_no_page_has_a_script_or_a_style_of_its_own(page: Path) -> None:
    html = page.read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", html) == []


def test_the_types_of_all_scripts_hold(capfd: pytest.CaptureFixture[str]) -> None:
    if not check_scripts.COMPILER.is_file() or check_scripts.find_node() is None:
        pytest.skip("TypeScript was not fetched: run make check")
    assert check_scripts.check() == 0, capfd.readouterr().out


def test_a_wrong_type_is_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if not check_scripts.COMPILER.is_file() or check_scripts.find_node() is None:
        pytest.skip("TypeScript was not fetched: run make check")
    (tmp_path / "wrong.js").write_text('/** @type {number} */\nexport const wrong = "text";\n', encoding="utf-8")
    settings = tmp_path / "tsconfig.json"
    own = check_scripts.PINNED / "tsconfig.json"
    settings.write_text(f'{{"extends": "{own.as_posix()}", "include": ["*.js"]}}', encoding="utf-8")
    assert check_scripts.check(settings) != 0
    assert "wrong.js(2,14)" in capfd.readouterr().out


def test_without_typescript_the_check_is_skipped_and_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check_scripts, "HOME", tmp_path / "typescript")
    monkeypatch.setattr(check_scripts, "COMPILER", tmp_path / "typescript" / "tsc")
    monkeypatch.setattr(check_scripts, "_npm", lambda: [str(tmp_path / "no-such-npm")])
    assert check_scripts.main([]) == 0
    assert re.search("skipped, since TypeScript could not be had: .*no-such-npm", capsys.readouterr().out)
    assert check_scripts.main(["--required"]) == 1


def documented_keys(page: str, section: str) -> dict[str, list[str]]:
    """What each key in the tables of a section of a how-to does."""
    text = (doc_page(f"how-to/{page}")).read_text(encoding="utf-8")
    part = text.split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ((?:<kbd>[^|]+</kbd>[ ,–]*)+) \| ([^|]+) \|$", part, re.MULTILINE)
    return {does.strip(): re.findall("<kbd>([^<]+)</kbd>", keys) for keys, does in rows}


@pytest.mark.parametrize(
    ("page", "section", "scripts", "least"),
    [
        ("review.md", "Review a task", ("watch.js", "editor.js", "turns.js"), 24),
        ("review-team.md", "Adjudication", ("watch.js", "editor.js", "adjudicate.js"), 8),
        ("review-team.md", "Link chains", ("watch.js", "editor.js", "links.js"), 8),
        ("review-team.md", "Tag turns", ("watch.js", "editor.js", "labels.js"), 6),
    ],
)
def test_keys_that_a_how_to_lists_do_what_it_says(
    page: str, section: str, scripts: tuple[str, ...], least: int
) -> None:
    sources = [(STATIC / script).read_text(encoding="utf-8") for script in scripts]
    source = "".join(sources).replace("${view.what}", "turn")
    several = r'\[(?:"[^"]+"(?:, )?)*\]'
    numbers = r"numbers(?:\.slice\(0, 6\))?"
    found = re.findall(
        rf"name: \"([^\"]+)\", label: [\"`]([^\"`]+)[\"`], group: \"[^\"]+\", keys: ({several}|{numbers})", source
    )
    found += re.findall(rf'action\("([^"]+)", "([^"]+)", ({several})', source)
    # The view of a task may give other keys to actions of the editor.
    others = re.search(r"this\.keys = \{(.+?)\};", sources[-1])
    own_keys = dict(re.findall(rf'"?([\w-]+)"?: ({several})', others[1])) if others else {}
    shown = {
        "Space": "Space", "Escape": "Esc", "ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓",
    }  # fmt: skip
    keys: dict[str, list[str]] = {}
    for name, label, listed in found:
        given = {"numbers": ["1", "9"], "numbers.slice(0, 6)": ["1", "6"]}.get(listed) or re.findall(
            '"([^"]+)"', own_keys.get(name, listed)
        )
        spelled = [re.sub(r"\b[a-z]$", lambda letter: letter.group().upper(), key) for key in given]
        keys[label] = [re.sub(r"\w{5,}$", lambda word: shown.get(word.group(), word.group()), key) for key in spelled]
    assert len(keys) > 12
    documented = documented_keys(page, section)
    assert len(documented) >= least
    assert {does: keys.get(does) for does in documented} == documented


def test_the_tool_is_no_part_of_the_package() -> None:
    assert importlib.util.find_spec("reeltalk.check_scripts") is None
    assert not list(STATIC.glob("*.json"))
