"""All else works where `reeltalk/streaming/` is deleted: whoever evaluates models needs nothing of what trains them."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "reeltalk"
STREAMING = "reeltalk.streaming"
LAZILY = ("cli",)
"""Layers that may import it inside a function, and nowhere else."""
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "build", "site")

IMPORT_ALL = """
import importlib, pkgutil, sys, warnings
import reeltalk
warnings.simplefilter("ignore")
failed = {}
def note(name):
    failed[name] = "its package"
for found in pkgutil.walk_packages(reeltalk.__path__, "reeltalk.", onerror=note):
    # The first runs; what lies in the others is read by alembic.
    if found.name == "reeltalk.__main__" or ".migrations." in found.name:
        continue
    try:
        importlib.import_module(found.name)
    except Exception as error:
        failed[found.name] = repr(error)
print(reeltalk.__file__)
print(len([name for name in sys.modules if name.startswith("reeltalk.")]))
sys.exit("\\n".join(f"{name}: {why}" for name, why in failed.items()) or 0)
"""
ASKING_FOR_IT = """
import sys
from reeltalk.cli import app, run
@app.command
def needs_it() -> None:
    from reeltalk.streaming import network
@app.command
def needs_another() -> None:
    import reeltalk_that_is_no_package
assert run(["needs-it"]) == 2
try:
    run(["needs-another"])
except ModuleNotFoundError:
    print("fails as it should")
"""


def imports_of(path: Path) -> Iterator[tuple[str, bool]]:
    """Modules that a file imports, and whether it does when it is imported itself."""

    def walk(node: ast.AST, lazily: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.Import):
                yield from ((alias.name, not lazily) for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module:
                yield child.module, not lazily
                yield from ((f"{child.module}.{alias.name}", not lazily) for alias in child.names)
            yield from walk(child, lazily or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))

    return walk(ast.parse(path.read_text(encoding="utf-8")), False)


def of_streaming(path: Path) -> list[bool]:
    """For each import of the package in a file, whether it comes about when the file is imported."""
    if "streaming" not in path.read_text(encoding="utf-8"):
        return []
    return [at_once for name, at_once in imports_of(path) if name == STREAMING or name.startswith(f"{STREAMING}.")]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package without its part, to stand first on the path."""
    folder = tmp_path_factory.mktemp("without")
    shutil.copytree(PACKAGE, folder / "reeltalk", ignore=shutil.ignore_patterns("streaming", "__pycache__"))
    assert not (folder / "reeltalk" / "streaming").exists()
    return folder


def python(
    copy: Path, *arguments: str, timeout_s: float = 240, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python with the copy in place of the package."""
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd or copy, env=environment, capture_output=True, text=True,
        timeout=timeout_s, check=False,
    )  # fmt: skip


def test_imports_are_told_apart_by_when_they_come_about(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import reeltalk.streaming.a\n"
        "from reeltalk import streaming\nclass A:\n    import reeltalk.streaming.b\n"
        "def f():\n    from reeltalk.streaming.c import d\n",
        encoding="utf-8",
    )
    assert of_streaming(path) == [True, True, False, False]


def test_only_the_command_line_knows_it_and_only_inside_functions() -> None:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        layer, *_ = path.relative_to(PACKAGE).parts
        if layer != "streaming" and (imports := of_streaming(path)) and (any(imports) or layer not in LAZILY):
            found[str(path.relative_to(PACKAGE))] = imports
    assert found == {}


def test_tests_that_need_it_stand_in_folders_of_its_name() -> None:
    tests = ROOT / "tests"
    elsewhere = [
        str(path.relative_to(ROOT))
        for path in tests.rglob("*.py")
        if "streaming" not in path.relative_to(tests).parts[:-1] and of_streaming(path)
    ]
    assert elsewhere == []


def test_the_command_line_starts_without_it(copy: Path) -> None:
    helped = python(copy, "-m", "reeltalk", "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "evaluate" in helped.stdout


def test_a_command_that_needs_it_says_so_and_other_faults_stay_faults(copy: Path) -> None:
    done = python(copy, "-c", ASKING_FOR_IT)
    assert (done.returncode, done.stdout) == (0, "fails as it should\n")
    assert done.stderr == (
        "reeltalk: this installation lacks reeltalk.streaming, which this command needs; install reeltalk again: "
        "pip install --force-reinstall --no-deps reeltalk\n"
    )


def test_all_other_modules_can_be_imported_without_it(copy: Path) -> None:
    done = python(copy, "-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    home, count = done.stdout.splitlines()[-2:]
    assert Path(home).is_relative_to(copy)
    modules = [path for path in PACKAGE.rglob("*.py") if "streaming" not in path.relative_to(PACKAGE).parts]
    assert int(count) > 0.9 * len(modules)


def test_inspect_ai_goes_on_without_a_provider_that_is_gone(copy: Path) -> None:
    """It tries every entry point, and warns of those that it cannot load: the other models of ours stay there."""
    metadata = copy / "reeltalk_elsewhere-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: reeltalk-elsewhere\nVersion: 1\n", encoding="utf-8"
    )
    entry = f"[inspect_ai]\nreeltalk_elsewhere = {STREAMING}.provider\n"
    (metadata / "entry_points.txt").write_text(entry, encoding="utf-8")
    code = "from inspect_ai.model import get_model\nget_model('reeltalk-transformers/nowhere', device='nonsense')"
    done = python(copy, "-c", code)
    assert f"No module named '{STREAMING}'" in done.stderr
    assert "SettingError: device 'nonsense': there are auto, cpu and cuda" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(5400)
def test_every_other_unit_test_passes_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REELTALK_SHARED", os.environ.get("REELTALK_SHARED", str(ROOT.parent / "shared")))
    for name in ("src", "tests", "tools", "bench", "docs", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=NOT_COPIED)
    for path in (path for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".")):
        shutil.copy2(path, tmp_path)
    shutil.rmtree(tmp_path / "src" / "reeltalk" / "streaming")
    for folder in [path for path in (tmp_path / "tests").rglob("streaming") if path.is_dir()]:
        shutil.rmtree(folder)
    done = python(tmp_path / "src", "-m", "pytest", "-q", "-x", "tests/unit", timeout_s=5300, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
