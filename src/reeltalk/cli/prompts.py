"""Commands that show our prompts, write them out, and take the authors' own from what the user has."""

from pathlib import Path
from typing import Literal

from cyclopts import App

from reeltalk.cli.app import app

prompts = App(name="prompts", help="Show prompts, and make folders of them for --prompts.", sort_key=5)
app.command(prompts)


@prompts.command(name="list", sort_key=1)
def list_(*, prompts: Path | None = None) -> int:
    """List all prompts that --prompts can replace: name, version, hash, and placeholders.

    Example: `reeltalk prompts list`, or `reeltalk prompts list --prompts my-prompts` to check a folder and see which
    prompts are its own.

    Parameters
    ----------
    prompts
        A folder of prompts of your own.
    """
    from reeltalk.stages.prompt_folders import listed

    for one in listed(prompts):
        print(one.line)
    return 0


@prompts.command(sort_key=2)
def show(name: str, /) -> int:
    """Print one of our prompts as it stands in its file.

    Example: `reeltalk prompts show judge/vdeval`.

    Parameters
    ----------
    name
        As `reeltalk prompts list` has it.
    """
    from reeltalk.stages.prompt_folders import prompt_file

    print(prompt_file(name).rstrip("\n"))
    return 0


@prompts.command(sort_key=3)
def export(folder: Path, /, *names: str) -> int:
    """Write our prompts into a folder, to change them there and pass it as --prompts.

    Example: `reeltalk prompts export my-prompts judge/vdeval judge/vdeval_example`. Unchanged files give the same
    requests and the same signatures.

    Parameters
    ----------
    folder
        Folder that appears.
    names
        Prompts as `judge/vdeval`, or all of a job as `judge`; all where none is named.
    """
    from reeltalk.stages.prompt_folders import export as write

    print(f"{write(folder, names):,} prompts: {folder}")
    return 0


@prompts.command(sort_key=4)
def adopt(source: Literal["svbench", "vdact", "mt-video-bench"], path: Path, /, *, out: Path) -> int:
    """Make a folder of the authors' prompts from a clone of their repository, or from the text of their paper.

    Example: `reeltalk prompts adopt vdact VDAct --out vdact-prompts`, then `reeltalk judge results/model.json --format
    vdact --bench benchmarks/vdact --protocols vdeval --published --prompts vdact-prompts --judge
    gpt-4o-mini-2024-07-18 --out runs/model`. Nothing of a clone is run.

    Parameters
    ----------
    source
        Whose prompts.
    path
        A clone of the repository, or a text file of the paper.
    out
        Folder that appears.
    """
    from reeltalk.stages.prompt_folders import adopt as write

    adopted = write(source, path, out)
    for name, file in adopted.items():
        print(f"{name}: from {file}")
    print(f"{len(adopted):,} prompts: {out}")
    return 0
