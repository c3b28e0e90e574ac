"""The command that shows our prompts, exports them, and imports the authors' prompts from the user's copy."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from reeltalk.cli.options import IN_OUTPUT
from reeltalk.errors import SettingError


def prompts(
    *names: str,
    prompts: Path | None = None,
    source: Annotated[Literal["svbench", "vdact", "mt-video-bench"] | None, Parameter(name="--from")] = None,
    clone: Path | None = None,
    out: Annotated[Path | None, IN_OUTPUT] = None,
) -> int:
    """List the prompts that --prompts can replace, show one, or write them into a folder so that you can change them.

    Without a name, all prompts are listed with version, hash and placeholders. A name prints its file. --out writes
    prompts into a folder that commands take as --prompts; unchanged files give the same requests and signatures. With
    --from and --clone, the folder gets the authors' prompts, from a clone of their repository. No code of a clone is
    run.

    Example: `reeltalk prompts`, `reeltalk prompts judge/vdeval`, `reeltalk prompts judge/vdeval --out my-prompts`, or
    `reeltalk prompts --from vdact --clone VDAct --out vdact-prompts`.

    Parameters
    ----------
    names
        Prompts, such as `judge/vdeval`; with --out also all prompts of a job, such as `judge`. All by default.
    prompts
        Check and list a folder of your own prompts, and mark those that differ from ours.
    source
        Authors whose prompts you want.
    clone
        With --from: a clone of the repository.
    out
        Folder to create.
    """
    from reeltalk.stages import prompt_folders

    if (source is None) != (clone is None):
        raise SettingError("--from and --clone are given together: the authors, and the place of their prompts")
    if source is not None and clone is not None:
        if out is None or names or prompts is not None:
            raise SettingError("--from takes --clone and --out only")
        adopted = prompt_folders.adopt_prompts(source, clone, out)
        for name, file in adopted.items():
            print(f"{name}: from {file}")
        print(f"{len(adopted):,} prompts: {out}")
        return 0
    if out is not None:
        if prompts is not None:
            raise SettingError("--prompts lists a folder; leave it out to write one with --out")
        print(f"{prompt_folders.export_prompts(out, names):,} prompts: {out}")
        return 0
    if names:
        if len(names) > 1 or prompts is not None:
            raise SettingError("name one prompt to show it, or give --out FOLDER to write several")
        print(prompt_folders.prompt_file(names[0]).rstrip("\n"))
        return 0
    for one in prompt_folders.list_prompts(prompts):
        print(one.line)
    return 0
