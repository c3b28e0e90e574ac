"""What importing reeltalk costs."""

import subprocess
import sys
from importlib.metadata import distributions

import pytest
from packaging.specifiers import SpecifierSet

import reeltalk

HEAVY = {
    "accelerate", "argon2", "av", "cv2", "fastapi", "fsspec", "huggingface_hub", "inspect_ai", "jinja2",
    "mlcroissant",
    "numpy", "onnx", "onnxruntime", "openai", "pandas", "peft", "psycopg", "pyarrow", "pyoxigraph", "ray",
    "sacrebleu", "scenedetect", "scipy", "sklearn", "sqlalchemy", "starlette",
    "statsmodels", "tenacity", "tokenizers", "torch", "transformers", "uvicorn", "vl_convert",
}  # fmt: skip


def loaded_by(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.split("|")[-1].strip().split(".")[0] for line in lines}


def test_importing_reeltalk_loads_nothing_heavy() -> None:
    assert not loaded_by("import reeltalk") & HEAVY
    assert "numpy" in loaded_by("import numpy")


def test_the_command_line_loads_nothing_heavy_before_it_knows_the_command() -> None:
    assert not loaded_by("import reeltalk.cli") & HEAVY


@pytest.mark.parametrize("command", ["evaluate", "judge", "construct", "report", "export"])
def test_a_short_page_of_help_loads_nothing_heavy(command: str) -> None:
    loaded = loaded_by(f"from reeltalk.cli import run; run([{command!r}, '--help'])")
    assert "rich" in loaded
    assert not loaded & HEAVY


def test_importing_language_models_loads_none() -> None:
    assert not loaded_by("import reeltalk.llm") & HEAVY


def test_the_public_names_are_exactly_those_promised() -> None:
    assert reeltalk.__all__ == sorted(reeltalk.__all__)
    assert all(hasattr(reeltalk, name) for name in reeltalk.__all__)
    assert len(reeltalk.__all__) <= 20


def test_every_package_runs_on_the_oldest_python_that_we_name() -> None:
    needs = {found.metadata["Name"]: found.metadata["Requires-Python"] for found in distributions()}
    too_new = {name: need for name, need in needs.items() if need and "3.11.0" not in SpecifierSet(need)}
    assert not too_new, "name an older version in tools/lock.py"
