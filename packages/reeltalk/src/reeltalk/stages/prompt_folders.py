"""The prompts of all jobs, and users' folders of prompts that replace them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from reeltalk.errors import InputError, SettingError
from reeltalk.evaluation.playing.chat import answer_prompt_group
from reeltalk.formats.official_prompts import Source, official_prompts
from reeltalk.judge.asking import judge_prompt_group as judges_group
from reeltalk.judge.settings import JudgeSettings
from reeltalk.llm.prompts import Prompt, PromptGroup, check_prompt, our_prompts, prompt_files, prompts_in
from reeltalk.plugins import loaded
from reeltalk.store.atomic import writing_directory

JUDGE: Final = judges_group()
GROUPS: Final[tuple[PromptGroup, ...]] = tuple(
    sorted(
        (JUDGE, answer_prompt_group(), *chain.from_iterable(loaded("reeltalk.prompts").values())),
        key=lambda group: group.name,
    )
)
"""In the order in which they are listed. Other packages name theirs in the entry points `reeltalk.prompts`."""


@dataclass(frozen=True)
class ListedPrompt:
    """A prompt as `reeltalk prompts` shows it."""

    name: str
    """As `judge/vdeval`."""
    prompt: Prompt | None
    """None if there is no text."""
    own: bool
    """True if it is from the user's folder."""
    remedy: str = ""
    """How to get its text."""

    @property
    def line(self) -> str:
        if self.prompt is None:
            return f"{self.name}: not part of reeltalk; {self.remedy}"
        fields = "".join(f" {{{name}}}" for name in sorted(self.prompt.fields))
        return f"{self.name}: {self.prompt.signature}{fields}{' (yours)' if self.own else ''}"


def list_prompts(folder: Path | None = None) -> list[ListedPrompt]:
    """All prompts. The prompts of a folder replace ours.

    Args:
        folder: A user's own folder of prompts.

    Raises:
        SettingError: There is no such folder.
        InputError: A file of it is not a known prompt, or cannot replace ours.
    """
    if folder is not None:
        check_folder(folder)
    found = []
    for group in GROUPS:
        prompts = prompts_in(folder, group)
        for name in group.names:
            known = prompts[name] if name in prompts else None
            remedy = group.without.get(name, "")
            found.append(ListedPrompt(f"{group.name}/{name}", known, name in prompts.replaced, remedy))
    return found


def prompt_file(name: str) -> str:
    """The file of one of our prompts, as it is.

    Args:
        name: As `judge/vdeval`.

    Raises:
        SettingError: There is no prompt of this name, or we have no text for it.
    """
    group, path = _place(name)
    if path is None:
        raise SettingError(f"{name} is not part of reeltalk; {group.without[name.rpartition('/')[2]]}")
    return path.read_text(encoding="utf-8")


def export_prompts(folder: Path, names: Iterable[str] = ()) -> int:
    """Write our prompts as files, as a starting point for your own.

    Args:
        folder: A new or empty folder.
        names: Prompts such as `judge/vdeval`, or jobs such as `judge` for all their prompts. The default is all.

    Returns:
        Number of files.

    Raises:
        SettingError: A name is unknown, or the folder is not empty.
        InputError: It cannot be written.
    """
    chosen = {f"{group.name}/{name}": path for group in GROUPS for name, path in group.ours.items()}
    wanted = tuple(names)
    for one in wanted:
        if not any(name == one or name.startswith(f"{one}/") for name in chosen):
            prompt_file(one)
    written = {
        name: path.read_bytes()
        for name, path in chosen.items()
        if not wanted or any(name == one or name.startswith(f"{one}/") for one in wanted)
    }
    write_folder(folder, written)
    return len(written)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder of prompts.

    Args:
        folder: A new or empty folder.
        files: Contents by name, as `judge/vdeval`.

    Raises:
        SettingError: The folder is not empty.
        InputError: It cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingError(f"{folder} holds something already; name another folder")
    with writing_directory(folder) as partial:
        for name, content in files.items():
            path = partial / f"{name}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def check_folder(folder: Path | None, *used: PromptGroup) -> None:
    """Refuse a folder of prompts that has an unknown file, or that replaces nothing here.

    Args:
        folder: The user's folder, or None.
        used: The current jobs. The folder must replace a prompt of one of them.

    Raises:
        SettingError: There is no such folder, or it replaces no prompt of the current jobs.
        InputError: A file of it is not a known prompt, or cannot replace ours.
    """
    if folder is None:
        return
    places = {folder / group.name / f"{name}.md" for group in GROUPS for name in group.names}
    for path in prompt_files(folder):
        if path not in places:
            name = path.relative_to(folder).with_suffix("").as_posix()
            raise InputError(f"there is no prompt {name}", file=path, hint="'reeltalk prompts' lists them")
    replaced = {group.name: prompts_in(folder, group).replaced for group in GROUPS}
    if used and not any(replaced[group.name] for group in used):
        held = ", ".join(f"{name}/{one}" for name, found in replaced.items() for one in found) or "no prompt at all"
        jobs = " or ".join(f"{group.name}/" for group in used)
        raise SettingError(f"--prompts {folder} replaces no prompt of {jobs}; it holds {held}")


def check_judge_prompts(settings: JudgeSettings) -> None:
    """Refuse a folder of prompts that changes no judge's prompt.

    Args:
        settings: Protocols, metrics and prompts.

    Raises:
        SettingError: There is no such folder, or it replaces no prompt of a judge.
        InputError: A file of it is not a known prompt, or cannot replace ours.
    """
    check_folder(settings.prompts, JUDGE)
    if settings.prompts is None or settings.published:
        return
    if all(name in JUDGE.without for name in prompts_in(settings.prompts, JUDGE).replaced):
        raise SettingError(f"the judges' prompts in {settings.prompts} are for --published; pass it too")


def _place(name: str) -> tuple[PromptGroup, Path | None]:
    job, _, own = name.rpartition("/")
    group = next((group for group in GROUPS if group.name == job and own in group.names), None)
    if group is None:
        raise SettingError(f"no prompt '{name}'; 'reeltalk prompts' lists them")
    return group, group.ours.get(own)


def adopt_prompts(source: Source, path: Path, out: Path) -> dict[str, Path]:
    """Write the authors' prompts as a folder of prompts, from the user's copy of their repository.

    Args:
        source: The authors, such as `vdact`.
        path: A clone of their repository.
        out: Folder that appears, or is empty.

    Returns:
        The source file of each prompt, by our name.

    Raises:
        SettingError: There is no such path, or `out` holds something.
        InputError: There is none of the prompts, or one of them cannot be used here.
    """
    found = official_prompts(source, path)
    files = {}
    for name, (text, file) in found.items():
        group, _ = _place(name)
        own = name.rpartition("/")[2]
        content = f"<!-- {own} v1 verbatim -->\n{text}"
        check_prompt(Prompt.read(content, file), own, group, our_prompts(group), file)
        files[name] = content.encode()
    write_folder(out, files)
    return {name: file for name, (_, file) in found.items()}
