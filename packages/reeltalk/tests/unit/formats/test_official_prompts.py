"""The authors' prompts out of stand-in clones in the official layout, in words of our own."""

from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.errors import InputError, ReeltalkError, SettingError
from reeltalk.formats.official_prompts import LARGEST_SCRIPT_BYTES, official_prompts
from reeltalk.stages.prompt_folders import adopt_prompts

VDACT = '''
VDEVAL_INSTRUCTION = """
Say how good the answer is, with a number after 'So rating='.

Question: And now?
Output: Fine. So rating=3


"""
'''
SVBENCH_CHAIN = '''
import os
def create_evaluation_prompt(video_id, scene_id, questions, ground_truth, model_responses):
    prompt = f"""
    Video: {video_id}
    Scene: {scene_id}
    Mark Semantic Accuracy, Contextual Coherence, Logical Consistency, Temporal Understanding, Informational
    Completeness and the Overall Evaluation, as {{"a": 1}}.
    Informational Completeness:
    Score:

    {questions}
    {ground_truth}
    {model_responses}
    {relationships}
    """

    return prompt

prompt = create_evaluation_prompt(1, 2, 3, 4, 5)
'''
CHECKLIST = '''
def evaluate_single_task(task_data):
    model_answer = ""
    PROMPT = f"""
    Look at {model_answer} and {checklist_str}.
    {{
    "A1": "Yes/No"
    }}
    """
'''


def clone(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_vdevals_instruction_is_taken_to_the_last_blank_line(tmp_path: Path) -> None:
    found = official_prompts("vdact", clone(tmp_path / "VDAct", VDEval__prompt_py=VDACT))
    text, file = found["judge/vdeval-published"]
    assert text == VDACT.split('"""')[1]
    assert file == tmp_path / "VDAct" / "VDEval" / "prompt.py"


def test_fields_of_the_scripts_become_ours(tmp_path: Path) -> None:
    folder = tmp_path / "SVBench"
    (folder / "evaluation").mkdir(parents=True)
    (folder / "evaluation" / "eval_chainQA_gpt4_gpt4o.py").write_text(SVBENCH_CHAIN, encoding="utf-8")
    found = official_prompts("svbench", folder)
    chain = found["judge/svbench-published"][0]
    assert chain.startswith("\n    Video: {video_id}\n    Scene: {scene_id}\n")
    assert 'as {"a": 1}.' in chain
    assert chain.endswith("{model_responses}\n    {relationships}\n    ")
    checklist = official_prompts("mt-video-bench", clone(tmp_path / "MT", eval__eval_py=CHECKLIST))
    assert "Look at {model_answer} and {checklist}." in checklist["judge/checklist-published"][0]


def test_an_adopted_folder_is_one_that_prompts_can_be_listed_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = clone(tmp_path / "VDAct", VDEval__prompt_py=VDACT)
    assert run(["prompts", "--from", "vdact", "--clone", str(folder), "--out", str(tmp_path / "own")]) == 0
    assert run(["prompts", "--prompts", str(tmp_path / "own")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.endswith("(yours)")).startswith("judge/vdeval-published: ")
    assert run(["prompts", "--from", "vdact", "--clone", str(folder), "--out", str(tmp_path / "own")]) == 2
    assert "holds something already" in capsys.readouterr().err


def test_nothing_of_a_clone_is_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    text = f"import pathlib\npathlib.Path({str(trap)!r}).touch()\n{VDACT}"
    official_prompts("vdact", clone(tmp_path / "VDAct", VDEval__prompt_py=text))
    assert not trap.exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("VDEVAL_INSTRUCTION = open('/etc/passwd').read()", "assigned a literal 0 times"),
        ("VDEVAL_INSTRUCTION = 'a'\nVDEVAL_INSTRUCTION = 'b'", "assigned a literal 2 times"),
        ("x = 1\nVDEVAL_INSTRUCTION = f'So rating= {x.y}'", "not made of string literals and names alone"),
        ("VDEVAL_INSTRUCTION = f'So rating= {summary}'", "unknown placeholder {summary}"),
        ("VDEVAL_INSTRUCTION = 'So rating= {summary}'", "{summary} is not a field of the script"),
        ("VDEVAL_INSTRUCTION = 'no marker'", "the reply to judge/vdeval-published is read by 'So rating='"),
        ("VDEVAL_INSTRUCTION = (", "not Python"),
        ("VDEVAL_INSTRUCTION = " + "(" * 5_000 + "'a'" + ")" * 5_000, "not Python"),
        ("a\0b", "holds the control character U+0000"),
        ("#" * (LARGEST_SCRIPT_BYTES + 1), "longer than"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_file(tmp_path: Path, text: str, problem: str) -> None:
    folder = clone(tmp_path / "VDAct", VDEval__prompt_py=text)
    with pytest.raises(ReeltalkError) as refused:
        adopt_prompts("vdact", folder, tmp_path / "own")
    assert problem in str(refused.value)
    assert "prompt.py" in str(refused.value)
    assert not (tmp_path / "own").exists()


def test_a_link_out_of_the_clone_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text(VDACT, encoding="utf-8")
    (tmp_path / "VDAct" / "VDEval").mkdir(parents=True)
    (tmp_path / "VDAct" / "VDEval" / "prompt.py").symlink_to(tmp_path / "secret.py")
    with pytest.raises(InputError, match="leads outside of the clone"):
        official_prompts("vdact", tmp_path / "VDAct")


def test_a_folder_without_prompts_says_where_they_were_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"VDEVAL_INSTRUCTION in VDEval/prompt\.py"):
        official_prompts("vdact", tmp_path)
    with pytest.raises(SettingError, match="no such folder"):
        official_prompts("vdact", tmp_path / "gone")
