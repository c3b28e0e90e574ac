"""The bundles of the pages: one script from all modules, one style sheet, names with a hash of their content."""

import gzip
import hashlib
import subprocess
from pathlib import Path

import check_scripts
import pytest
from places import PACKAGES, REVIEW
from team import make_team

from reeltalk_review.bundle import bundled_script, bundled_style, bundles

PREACT = REVIEW / "static" / "vendor" / "preact.js"


def written(folder: Path, **modules: str) -> Path:
    for name, source in modules.items():
        (folder / f"{name}.js").write_text(source, encoding="utf-8")
    return folder


def said(script: str, tmp_path: Path, start: str = "main") -> str:
    """What a script prints that starts a module of the bundle."""
    node = check_scripts.find_node()
    if node is None:
        pytest.skip("there is no Node")
    run = tmp_path / "run.cjs"
    page = f'globalThis.document = {{ documentElement: {{ dataset: {{ start: "{start}" }} }} }};\n'
    run.write_text(page + script, encoding="utf-8")
    return subprocess.run([node, str(run)], capture_output=True, text=True, check=True).stdout


def test_modules_run_once_and_only_if_they_are_needed(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        main='import { one, two as zwei } from "./numbers.js";\nimport "./other.js";\n'
        'import {\n  Three,\n} from "./numbers.js";\nconsole.log(one, zwei(), new Three().n);\n',
        numbers='console.log("once");\nexport const one = 1;\nexport function two() {\n  return 2;\n}\n'
        "export class Three {\n  n = 3;\n}\n",
        other='import { one } from "./numbers.js";\nconsole.log("other", one);\n',
        unused='console.log("never");\n',
    )
    assert said(bundled_script(folder), tmp_path).split("\n") == ["once", "other 1", "1 2 3", ""]


def test_a_page_may_start_several_modules_and_none(tmp_path: Path) -> None:
    script = bundled_script(written(tmp_path, a='console.log("a");', b='console.log("b");'))
    assert said(script, tmp_path, "b a") == "b\na\n"
    assert said(script, tmp_path, "") == ""


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ('import all from "./b.js";\n', "main.js: 'import all from"),
        ("export default 1;\n", "main.js: 'export default 1"),
        ("export let a = 1;\n", "main.js: 'export let a"),
        ('import { a } from "./none.js";\n', "main.js imports none.js, which is not there"),
        ('import { b } from "./b.js";\n', "in a circle: b.js → main.js → b.js"),
    ],
)
def test_what_the_bundle_cannot_take_is_named(tmp_path: Path, source: str, problem: str) -> None:
    folder = written(tmp_path, main=source, b='import { a } from "./main.js";\nexport const b = 1;\n')
    with pytest.raises(ValueError, match=problem):
        bundled_script(folder)


def test_a_sheet_applies_to_its_pages(tmp_path: Path) -> None:
    (tmp_path / "board.css").write_text(".bar { color: red; }\n", encoding="utf-8")
    (tmp_path / "review.css").write_text("p { margin: 0; }\n", encoding="utf-8")
    assert bundled_style(tmp_path) == "p { margin: 0; }\n:where(.board) {\n.bar { color: red; }\n}\n"


def test_the_servers_bundles_are_kept_for_ever_under_a_name_of_their_content(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    try:
        browser = team.member("Ann", "annotator")
        html = browser.get("/").text
        for ending, bundle in bundles().items():
            path = f"/static/{bundle.name}"
            assert path in html
            answer = browser.get(path)
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.content == bundle.content == gzip.decompress(bundle.packed)
            assert hashlib.sha256(answer.content).hexdigest()[:16] in path
            plain = browser.client.get(path, headers={"accept-encoding": "identity"})
            assert plain.content == bundle.content
            assert "content-encoding" not in plain.headers
            assert browser.get(path.replace("review.", "review.0")).status_code == 404, ending
    finally:
        team.project.database.close()


def test_the_vendored_library_is_the_listed_one() -> None:
    sha256 = hashlib.sha256(PREACT.read_bytes()).hexdigest()
    listed = (PACKAGES / "reeltalk" / "THIRD_PARTY.md").read_text(encoding="utf-8")
    assert sha256 in listed
    assert "preact" in listed
