"""The demo: all stages on a filmed household."""

from pathlib import Path
from typing import Annotated

from reeltalk.cli.options import IN_OUTPUT
from reeltalk.cli.terminal import ProgressBar, say


def demo(*, out: Annotated[Path, IN_OUTPUT] = Path("build/demo")) -> int:
    """Walk through all stages: film a household, curate, construct, play, judge, report; offline, in two minutes.

    Run it again to continue after an interruption. For videos of your own, `reeltalk new NAME --template videos`
    begins a project.

    Example: `reeltalk demo --out build/demo`.

    Parameters
    ----------
    out
        Folder that receives everything; the report is in its folder site.
    """
    from reeltalk_household.benchmarks.household import build_household

    with ProgressBar() as bar:
        page = build_household(out, tell=say, progress=bar.show)
    print(f"report: {page}")
    return 0
