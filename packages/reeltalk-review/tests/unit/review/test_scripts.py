"""The scripts of the review's pages: texts of strangers stay texts, types hold, and every key is documented."""

import importlib.util
import re
from pathlib import Path

import check_scripts
import pytest
from places import REVIEW, doc_page
from reference_pages import review_keys

from reeltalk_review.tasks.registry import TASKS

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


ACTION = re.compile(
    r'name: "([^"]+)", group: "[^"]+", label: "([^"]+)", '
    r'keys: (\["(?:[^"]+(?:", ")?)*"\]|[A-Z]+)(?:, range: "([^"]+)")?'
)
RANGES = {"DIGITS": list("1234567890"), "LETTERS": [f"Shift+{letter}" for letter in "QWERTYUIASDF"]}


def actions() -> dict[str, tuple[str, list[str], str]]:
    """The label, the keys and the range of each action of the table."""
    table = (STATIC / "actions.js").read_text(encoding="utf-8")
    found = {}
    for name, label, listed, spoken in ACTION.findall(table):
        keys = RANGES.get(listed) or [key.replace(r"\\", "\\") for key in re.findall('"([^"]+)"', listed)]
        assert name not in found
        found[name] = (label, keys, spoken)
    assert len(found) == table.count('name: "')
    return found


def test_a_key_means_one_act_everywhere() -> None:
    keys = [key for _, listed, _ in actions().values() for key in listed]
    assert len(keys) > 50
    assert sorted(keys) == sorted(set(keys))
    # No view has keys of its own: what it offers are names of the table, which the types check.
    others = [script.name for script in SCRIPTS if script.name != "actions.js"]
    assert [name for name in others if re.search(r"\bkeys: \[", (STATIC / name).read_text(encoding="utf-8"))] == []


def test_labels_have_keys_that_no_other_action_has() -> None:
    given = set(RANGES["LETTERS"]) | set(RANGES["DIGITS"])
    for task in TASKS.values():
        for vocabulary in getattr(task, "vocabularies", ()):
            keys = {key if key.isdigit() else f"Shift+{key.upper()}" for key in vocabulary.keys}
            assert keys <= given
            assert len(vocabulary.keys) >= len(vocabulary.labels)


def test_every_key_and_what_it_does_can_be_searched() -> None:
    told = {text: term for entry in review_keys() for term, text in entry.rows}
    assert set(told) == {label for label, _, _ in actions().values()}
    assert told["Undo"] == "Z, Ctrl+Z"
    assert told["1 s back"] == "←"
    assert told["Choose by number: a turn, reason, option, mark, relation, side or label"] == "0–9"
    # The how-to tells a few in words, where it first names them.
    text = doc_page("how-to/review.md").read_text(encoding="utf-8")
    said = dict(reversed(re.findall(r"<kbd>([A-Z])</kbd> (\w+)", text)))
    names = {key.upper(): name for name, (_, keys, _) in actions().items() for key in keys}
    assert (names["A"], said["A"]) == ("accept", "accept")
    assert (names["R"], said["R"]) == ("reject", "reject")
    assert (names["Z"], said["Z"]) == ("undo", "undo")
    assert (names["F"], said["F"]) == ("submit", "submit")


def test_the_tool_is_no_part_of_the_package() -> None:
    assert importlib.util.find_spec("reeltalk.check_scripts") is None
    assert not list(STATIC.glob("*.json"))
