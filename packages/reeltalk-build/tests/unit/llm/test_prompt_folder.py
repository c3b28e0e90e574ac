"""A user's own prompts in place of ours: what is checked before a model is asked."""

from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.errors import InputError, ReeltalkError
from reeltalk.evaluation.signing import judging_request
from reeltalk.judge.asking import judge_prompts, our_judge_prompts
from reeltalk.judge.settings import JudgeSettings
from reeltalk.llm.prompts import LARGEST_BYTES, Prompt
from reeltalk.stages.prompt_folders import GROUPS, check_folder, export_prompts
from reeltalk_build.construct.prompting import construction_prompts, prompts


def write(folder: Path, name: str, text: str, head: str = "<!-- own v1 -->") -> Path:
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{head}\n{text}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_ours_hold_what_we_ask_of_others(group: object, tmp_path: Path) -> None:
    export_prompts(tmp_path / "ours")
    check_folder(tmp_path / "ours", group)  # type: ignore[arg-type]


def test_exported_and_unchanged_prompts_have_our_signatures(tmp_path: Path) -> None:
    count = export_prompts(tmp_path / "ours")
    assert count == sum(len(group.ours) for group in GROUPS)
    for own, ours in (
        (judge_prompts(tmp_path / "ours"), our_judge_prompts()),
        (prompts("zh", tmp_path / "ours"), prompts("zh")),
    ):
        assert {name: own[name] for name in own} == {name: ours[name] for name in ours}
        assert own.replaced


def test_some_prompts_can_be_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prompts", "tag", "judge/vdeval", "--out", str(tmp_path / "own")]) == 0
    found = {path.relative_to(tmp_path / "own").as_posix() for path in (tmp_path / "own").rglob("*.md")}
    assert found == {"judge/vdeval.md", "tag/manual.md", "tag/repair.md", "tag/request.md"}
    assert run(["prompts", "judge/none", "--out", str(tmp_path / "other")]) == 2
    assert "no prompt 'judge/none'" in capsys.readouterr().err
    assert run(["prompts", "judge/vdeval-published"]) == 2
    assert "reeltalk prompts --from vdact" in capsys.readouterr().err


def test_a_text_is_taken_as_it_is_where_its_head_says_so() -> None:
    assert Prompt.read("<!-- one v1 verbatim -->\n\n  text \n\n", Path("one.md")).text == "\n  text \n\n"
    assert Prompt.read("<!-- one v1 -->\n\n  text \n\n", Path("one.md")).text == "text"


@pytest.mark.parametrize(
    ("name", "text", "problem", "line"),
    [
        ("judge/svbench", "a\nb {item}", "unknown placeholder {item}; judge/svbench has {items}", 3),
        ("judge/gpt-score", "accuracy", "the placeholder {items} of judge/gpt-score is missing", 2),
        ("judge/gpt-score", "{items}", "the reply to judge/gpt-score is read by 'accuracy'", 2),
        ("construct/en/linkages", "{before} {after}", "the reply to construct/en/linkages is read by", 2),
        ("construct/zh/chain", "questions answers {seen} {before}", "unknown placeholder {before}", 2),
        ("tag/request", "{turns} turns number target content thinking", "the placeholder {count}", 2),
        ("refine/refine", "Say it in prose.", "the placeholder {text} of refine/refine is missing", 2),
    ],
)
def test_a_prompt_that_cannot_be_used_is_refused_with_file_and_line(
    tmp_path: Path, name: str, text: str, problem: str, line: int
) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(InputError) as refused:
        check_folder(tmp_path)
    assert problem in str(refused.value)
    assert f"({path}:{line})" in str(refused.value)


def test_files_that_are_no_prompts_are_refused(tmp_path: Path) -> None:
    def refused(folder: Path) -> str:
        with pytest.raises(ReeltalkError) as error:
            check_folder(folder, construction_prompts("en"))
        return str(error.value)

    assert "no such folder" in refused(tmp_path / "gone")
    write(tmp_path / "name", "judge/vdevil", "x")
    assert "there is no prompt judge/vdevil" in refused(tmp_path / "name")
    write(tmp_path / "head", "judge/vdeval", "x", head="vdeval")
    assert "the first line does not name the prompt" in refused(tmp_path / "head")
    write(tmp_path / "long", "judge/vdeval", "x" * LARGEST_BYTES)
    assert "longer than" in refused(tmp_path / "long")
    write(tmp_path / "other", "judge/vdeval", "So rating=")
    assert "replaces no prompt of construct/en/; it holds judge/vdeval" in refused(tmp_path / "other")
    (tmp_path / "link" / "judge").mkdir(parents=True)
    (tmp_path / "link" / "judge" / "vdeval.md").symlink_to(tmp_path / "other" / "judge" / "vdeval.md")
    assert "no links" in refused(tmp_path / "link")
    (tmp_path / "bytes" / "judge").mkdir(parents=True)
    (tmp_path / "bytes" / "judge" / "vdeval.md").write_bytes(b"<!-- own v1 -->\n\xff\xfe")
    assert "not UTF-8" in refused(tmp_path / "bytes")


def test_a_run_is_another_where_a_text_is_another_and_the_same_where_the_folder_moved(tmp_path: Path) -> None:
    for folder, text in (("one", "So rating="), ("two", "So rating="), ("three", "So rating=.")):
        write(tmp_path / folder, "judge/vdeval", text)
    one, two, three = (
        judging_request(JudgeSettings(protocols=("vdeval",), prompts=tmp_path / folder))
        for folder in ("one", "two", "three")
    )
    assert one == two != three
    assert judging_request(JudgeSettings(protocols=("vdeval",))) != one
