"""Options that several commands share, and the groups under which a command's help lists them."""

from typing import Annotated, Final

from cyclopts import Group, Parameter

SELECTION: Final = Group("Selection", sort_key=10)
"""Which part of the input is used."""
MODEL: Final = Group("Model", sort_key=20)
FRAMES: Final = Group("Frames", sort_key=30)
JUDGE: Final = Group("Judge's model", sort_key=45)
OUTPUT: Final = Group("Output", sort_key=50)
BUDGET: Final = Group("Budget and requests", sort_key=60)
RUN: Final = Group("Run", sort_key=70)
"""How the work is done; nothing here changes a result."""

FLAG: Final = Parameter(negative="")
"""A switch without a `--no-` form, or a list without an `--empty-` form."""
OUT: Final = Parameter(group=OUTPUT)
OVERWRITE: Final = Parameter(name="--overwrite", negative="", group=OUTPUT)
VERBOSE: Final = Parameter(name="--verbose", negative="", group=OUTPUT)
DELETE_REPLIES: Final = Parameter(name="--delete-replies", negative="", group=OUTPUT)
SELECT: Final = Parameter(group=SELECTION)
HOW: Final = Parameter(group=RUN)
PLAN: Final = Parameter(name="--plan", negative="", group=RUN)
DRY_RUN: Final = Parameter(name="--dry-run", negative="", group=RUN)
ExecutorName = Annotated[
    str,
    Parameter(
        name="--executor",
        group=RUN,
        help="Where work runs: local, on this machine's cores; ray, on the Ray cluster of RAY_ADDRESS or an instance "
        "of Ray here; ray://HOST:PORT or ray://auto, on the cluster that this machine is a node of.",
    ),
]
