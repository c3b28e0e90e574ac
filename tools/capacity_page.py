"""The page `docs/concepts/capacity.md`: the cost of a number of videos, calculated by `capacity_plan`.

Run `python tools/capacity_page.py --videos 200000 --minutes 5` to print the page for numbers of your own.
"""

import sys
from pathlib import Path
from typing import Annotated, Final

from capacity_plan import CapacitySettings, Section, capacity, measured, prefill_tokens, shown
from cyclopts import App, CycloptsError, Parameter
from pydantic import ValidationError

from reeltalk.errors import ReeltalkError
from reeltalk.schema.settings import setting_problem

DEFAULTS: Final = CapacitySettings()
SVBENCH: Final = CapacitySettings(videos=200, kept=1.0, turns=7_374 / 200, turns_a_dialogue=7_374 / 1_719)
"""SVBench's test set, for which calls were counted before reeltalk was written."""

OPENING: Final = """# Capacity: a million videos

What do {videos} videos cost? This page calculates cores, storage, tokens, GPUs, people and money. It assumes
{minutes} minutes of {height}p for each video, {kept} % of the videos kept, {turns} turns for each kept video, and
{nodes} nodes of {cores} cores with {gpus} GPUs.

- **People cost the most.** Reviewing every turn takes {people} person hours and {money_people} in money; all cores
  and GPUs together cost {money_machines}. Keep fewer videos, write fewer questions about each, and let gates decide
  what people review.
- **GPU time depends on how models are asked.** Reading a video again at each turn takes {anew} GPU hours, reading
  each frame once {once}.
- **Memory is not the limit.** All work on cores takes {cluster} hours if you
  [distribute it](../how-to/scale.md). `construct` writes blocks of 256 videos; with a block on each core it takes
  {construct_gib} GiB of a node, however many videos there are. The other stages read one video at a time
  ([their memory](../reference/performance.md#many_videos)).

`python tools/capacity_page.py --videos 200000 --minutes 5` prints this page for your numbers; run it in a clone of the
repository. Add `--help` to see all numbers that you can set. Prices and the speed of your servers are round numbers
here. Figures of reeltalk itself were [measured](../reference/performance.md); `make bench` measures yours.
"""

TOKENS: Final = """## How tokens are counted

A dialogue has T turns, a video has V tokens of frames, and s, q and a are the tokens of instructions, a question and an
answer. A model reads for each dialogue

- if everything is sent again at each turn: T (V + s + q) + (q + a) T (T - 1) / 2;
- if the server caches the prefix, in blocks of 16 tokens: V + s + T q + at most 16 (T - 1);
- if each frame is read once: V + s for each video, and T q + 16 (T - 1) for each dialogue.

For SVBench's test set, 200 videos and 1,719 chains of 120 frames, these are {anew}, {prefix} and {once}
million tokens.
"""


def capacity_page(settings: CapacitySettings = DEFAULTS, measurements: Path | None = None) -> str:
    """The page for the given settings.

    Args:
        settings: The numbers that only the reader knows.
        measurements: A file of measured figures; `bench/capacity.json` by default.
    """
    sections = capacity(settings, measured(measurements))
    values = {(section.title, line.what): line.value for section in sections for line in section.lines}
    money = {line.what: line.value for section in sections if section.title == "Money" for line in section.lines}
    asked = next(section for section in sections if section.title == "GPUs").lines
    opening = OPENING.format(
        videos=shown(settings.videos),
        minutes=shown(settings.minutes),
        height=settings.height,
        kept=shown(100 * settings.kept),
        turns=shown(settings.turns),
        gpus=settings.gpus,
        people=shown(values["People", "reviewing every turn"]),
        money_people=shown(money["people"]),
        money_machines=shown(money["cores"] + money["GPUs"]),
        anew=shown(asked[0].value),
        once=shown(asked[2].value),
        cluster=shown(values["Nodes and time", "on the cluster"]),
        nodes=settings.nodes,
        cores=settings.cores,
        construct_gib=shown(values["Tables and database", "memory of construct on a node"]),
    )
    anew, prefix, once = (shown(round(SVBENCH.videos * way / 1e6)) for way in prefill_tokens(SVBENCH))
    told = TOKENS.format(anew=anew, prefix=prefix, once=once)
    return "\n".join([opening, *map(_section, sections), told])


def _section(section: Section) -> str:
    rows = [f"| {line.what} | {shown(line.value)} | {line.unit} | {line.working} |" for line in section.lines]
    head = f"## {section.title}\n\n| What | | | Calculation |\n| --- | ---: | --- | --- |\n"
    return head + "\n".join(rows) + "\n"


app = App(help="Print the capacity page for numbers of your own.")


@app.default
def print_page(
    *,
    measured: Path | None = None,
    settings: Annotated[CapacitySettings, Parameter(name="*")] = DEFAULTS,
) -> None:
    """Print the page.

    Args:
        measured: A file of figures that you measured; `bench/capacity.json` by default.
        settings: The numbers that only you know.
    """
    print(capacity_page(settings, measured), end="")


def main(arguments: list[str] | None = None) -> int:
    """Print the page, or what is wrong with the arguments, and return the exit status."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        problem = setting_problem(error.__cause__) if isinstance(error.__cause__, ValidationError) else str(error)
        print(f"capacity_page: {problem}; --help lists all numbers", file=sys.stderr)
        return 2
    except ReeltalkError as error:
        print(f"capacity_page: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
