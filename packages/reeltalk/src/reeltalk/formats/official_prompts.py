"""Read the authors' prompts from the user's clone of their repository.

Python files are parsed and never run: a prompt is a string literal that is assigned to a name. A clone is untrusted:
only files inside it are read, up to a size limit.
"""

import ast
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from reeltalk.errors import InputError, SettingError
from reeltalk.llm.prompts import read_small

LARGEST_SCRIPT_BYTES: Final = 1_000_000
Source = Literal["svbench", "vdact", "mt-video-bench"]


@dataclass(frozen=True)
class ScriptPrompt:
    """A prompt in a Python file of a repository."""

    name: str
    """Our name of the prompt, such as `judge/vdeval-published`."""
    file: str
    """Path from the repository's root."""
    variable: str
    fields: Mapping[str, str] = field(default_factory=dict)
    """Our names of fields by the script's names."""


_SVBENCH_SCRIPT: Final = {
    name: name for name in ("video_id", "scene_id", "questions", "ground_truth", "model_responses", "relationships")
}
IN_SCRIPTS: Final[Mapping[Source, tuple[ScriptPrompt, ...]]] = {
    "vdact": (ScriptPrompt("judge/vdeval-published", "VDEval/prompt.py", "VDEVAL_INSTRUCTION"),),
    "svbench": (
        ScriptPrompt("judge/svbench-published", "evaluation/eval_chainQA_gpt4_gpt4o.py", "prompt", _SVBENCH_SCRIPT),
        ScriptPrompt(
            "judge/svbench-streaming-published", "evaluation/eval_ConQA_gpt4_gpt4o.py", "prompt", _SVBENCH_SCRIPT
        ),
        ScriptPrompt(
            "judge/gpt-score-published",
            "evaluation/eval_SingleQA_gpt4_gpt4o.py",
            "prompt",
            {
                name: name
                for name in ("video_id", "scene_id", "question_id", "question", "ground_truth", "model_response")
            },
        ),
    ),
    "mt-video-bench": (
        ScriptPrompt(
            "judge/checklist-published",
            "eval/eval.py",
            "PROMPT",
            {"model_answer": "model_answer", "checklist_str": "checklist"},
        ),
        ScriptPrompt(
            "answer/mt-video-bench-published",
            "eval/infer_qwen25vl.py",
            "PROMPT",
            {"dialogue_history": "history", "question": "question"},
        ),
    ),
}
"""The prompts in the authors' repositories, by the names of their files and variables."""


def official_prompts(source: Source, path: Path) -> dict[str, tuple[str, Path]]:
    """The authors' prompts with our fields: text and file by our name. Prompts that are missing are left out.

    Raises:
        InputError: No prompt is there, or one cannot be read; names file and line.
        SettingError: There is no such folder.
    """
    if not path.is_dir():
        raise SettingError(f"{path}: there is no such folder; give a clone of the repository")
    found: dict[str, tuple[str, Path]] = {}
    root = path.resolve()
    for one in IN_SCRIPTS[source]:
        file = path / one.file
        if not file.exists():
            continue
        if not file.resolve().is_relative_to(root) or not file.is_file():
            raise InputError("leads outside of the clone", file=file, hint="clone the repository again")
        found[one.name] = _in_script(one, file), file
    if not found:
        looked = ", ".join(f"{one.variable} in {one.file}" for one in IN_SCRIPTS[source])
        raise InputError(f"none of the prompts of {source}", file=path, hint=f"looked for {looked}")
    return found


def _in_script(one: ScriptPrompt, file: Path) -> str:
    source = read_small(file, LARGEST_SCRIPT_BYTES)
    try:
        with warnings.catch_warnings():
            # Ignore warnings about escapes such as "\d" in other people's literals.
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        assigned = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant | ast.JoinedStr | ast.BinOp)
            and any(isinstance(target, ast.Name) and target.id == one.variable for target in node.targets)
        ]
    except SyntaxError as error:
        raise InputError(f"not Python: {error.msg}", file=file, line=error.lineno, hint="clone it again") from None
    except (ValueError, RecursionError, MemoryError):
        raise InputError("not Python that can be parsed", file=file, hint="clone the repository again") from None
    if len(assigned) != 1:
        raise InputError(
            f"{one.variable} is assigned a literal {len(assigned)} times, not once",
            file=file,
            line=assigned[1].lineno if assigned else None,
            hint="the repository may have changed; take the version that the paper names",
        )
    line, text = assigned[0].lineno, ""
    for part in _parts(assigned[0].value, file, one.variable):
        if part.is_field and part.text not in one.fields:
            known = ", ".join(one.fields) or "none"
            raise InputError(f"unknown placeholder {{{part.text}}}; known are {known}", file=file, line=line)
        if not part.is_field and (taken := re.search(r"\{\w+\}", part.text)) is not None:
            # It is sent unchanged, so it must not look like one of our fields.
            problem = f"{taken[0]} is not a field of the script, but would be one here"
            raise InputError(problem, file=file, line=line)
        text += f"{{{one.fields[part.text]}}}" if part.is_field else part.text
    return text


@dataclass(frozen=True)
class _Part:
    text: str
    is_field: bool = False


def _parts(value: ast.expr, file: Path, variable: str) -> list[_Part]:
    """The texts and fields of a literal."""
    match value:
        case ast.Constant(value=str() as text):
            return [_Part(text)]
        case ast.JoinedStr(values=values):
            return [part for one in values for part in _parts(one, file, variable)]
        case ast.FormattedValue(value=ast.Name(id=name), conversion=-1, format_spec=None):
            return [_Part(name, is_field=True)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [*_parts(left, file, variable), *_parts(right, file, variable)]
        case _:
            raise InputError(
                f"{variable} is not made of string literals and names alone",
                file=file,
                line=value.lineno,
                hint="the repository may have changed; take the version that the paper names",
            )
