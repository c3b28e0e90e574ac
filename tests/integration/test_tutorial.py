"""The numbers of the tutorial are those of its commands."""

import re
from pathlib import Path

import pytest
from doc_pages import DOCS, blocks_of, commands_of

from reeltalk.cli import run
from reeltalk.stages import CompareSettings, compare
from reeltalk.store.runs import Run

PAGE = DOCS / "tutorial.md"
ROUNDING = 0.0501
COMPARED = re.compile(r"answers ([\d.]+) points more than the blind baseline \(([\d.]+) to ([\d.]+)\)")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_numbers_of_the_tutorial_are_those_of_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    printed = ""
    for arguments in (arguments for block in blocks_of(PAGE) for arguments in commands_of(block)):
        if arguments[0] in ("world", "construct") or {"baseline:blind", "mini", "oracle"} & set(arguments):
            assert run(arguments) == 0, arguments
            printed += capsys.readouterr().out
    told = re.findall(r"^(?:world film|construct): .+", text, re.MULTILINE)
    assert len(told) == 2
    assert set(told) <= set(printed.splitlines())

    rows = re.findall(r"^\| ([\w-]+) \| ([\d.]+) % \| ([\d.]+) to ([\d.]+) % \|$", text, re.MULTILINE)
    assert [name for name, *_ in rows] == ["oracle", "reeltalk-mini", "blind"]
    for name, *numbers in rows:
        played = Run.open(Path("runs") / name.removeprefix("reeltalk-"))
        row = next(row for row in played.summary if row.metric == "typed" and row.model.startswith(name))
        assert f"the {row.n} questions about the {row.videos} test videos" in text
        assert [row.value, row.low, row.high] == pytest.approx(list(map(float, numbers)), abs=ROUNDING)

    (paired,) = compare("runs/mini", "runs/blind", settings=CompareSettings(metrics=("typed",))).rows
    (difference,) = COMPARED.findall(text.replace("\n", " "))
    assert [paired.difference, paired.low, paired.high] == pytest.approx(list(map(float, difference)), abs=ROUNDING)
