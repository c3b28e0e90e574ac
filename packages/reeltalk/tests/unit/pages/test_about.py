"""What is said about models is read from a file, and what is wrong with it named."""

from pathlib import Path

import pytest

from reeltalk.errors import InputError
from reeltalk.pages.settings import ModelAbout, read_about

WHOLE = """
["qwen3-vl-8b"]
parameters_b = 8.8
kind = "open"
frames = 64
context = 131072
link = "https://example.org/a?b=c"

[small]
parameters_b = 7
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_model_has_what_is_said_and_nothing_else(tmp_path: Path) -> None:
    found = read_about(write(tmp_path, WHOLE))
    assert found["qwen3-vl-8b"] == ModelAbout(
        parameters_b=8.8, kind="open", frames=64, context=131072, link="https://example.org/a?b=c"
    )
    assert found["small"] == ModelAbout(parameters_b=7)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[a]\nparameters_b = -1", "at a.parameters_b"),
        ("[a]\nparameters_b = nan", "at a.parameters_b"),
        ('[a]\nparameters_b = "8B"', "got '8B'"),
        ("[a]\nparameters = 8", "unknown key, got 8"),
        ("[a]\nframes = 1.5", "at a.frames"),
        ('[a]\nlink = "javascript:alert(1)"', "at a.link"),
        ('[gpt-4.1]\nkind = "closed"', 'a name with a dot needs quotes: ["gpt-4.1"]'),
        ('kind = "open"', "at kind"),
        ("[a\n", "is not TOML"),
        ("[a]\nx = \n", ":2)"),
        ("[a]\nframes = " + "9" * 5000, "is not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as raised:
        read_about(write(tmp_path, text))
    assert told in str(raised.value)
    assert "models.toml" in str(raised.value)


def test_a_file_that_is_not_there_or_no_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_about(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_about(tmp_path / "bytes.toml")
