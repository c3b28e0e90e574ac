"""The page `docs/concepts/capacity.md`: what so many videos take, worked out by `capacity_plan`.

Run `python tools/capacity_page.py --videos 200000 --minutes 5` to print the page for numbers of your own.
"""

from pathlib import Path
from typing import Annotated, Final

from capacity_plan import CapacitySettings, Measured, Section, capacity, figures, measured, prefill_tokens, shown
from cyclopts import App, Parameter

DEFAULTS: Final = CapacitySettings()
SVBENCH: Final = CapacitySettings(videos=200, kept=1.0, turns=7_374 / 200, turns_a_dialogue=7_374 / 1_719)
"""The test set that calls were counted for before reeltalk was written."""

OPENING: Final = """# Capacity: a million videos

How much of everything {videos} videos take, worked out step by step. Two kinds of numbers go in. What was measured
stands at the end, with what measured it. What only you know, as the length of your videos, your server's speed and your
prices, are round numbers here, to be replaced.

`python tools/capacity_page.py --videos 200000 --minutes 5` prints this page for your numbers; run it in a copy of the
repository. `--measured FILE` takes figures of your own machine: `make bench` writes them to `bench/capacity.json`. To
spread the work over machines, read [Go from one machine to many](../how-to/scale.md).

What stands out:

- **People are what costs.** Reviewing every turn takes {people} person hours, {money_people} in money; all cores
  and graphics processors together take {money_machines}. Keep fewer videos (`--kept`) or ask less
  about each (`--turns`), and let gates decide what people see.
- **How models are asked decides the graphics processors.** Reading a video anew at each turn takes {anew} GPU
  hours, reading each frame once {once}.
- **Cores are no problem, memory of one process is.** All work on cores takes {cluster} hours on {nodes} nodes of
  {cores} cores. But a benchmark is constructed by one process that holds it, so that half the memory of such a node
  is enough for about {pieces} videos: make several benchmarks of it, one a source or split, and report on them
  together.
"""

TOKENS: Final = """## How tokens are counted

A dialogue has T turns, a video V tokens of frames, a prompt s tokens of instructions, q of a question and a of an
answer. A model reads, for each dialogue:

- everything anew at each turn: T (V + s + q) + (q + a) T (T - 1) / 2;
- with its prefix kept by the server: V + s + T q + at most 16 (T - 1), for a server keeps whole blocks of 16
  tokens;
- with frames first and all dialogues of a video on one replica, or as a stream whose frames are appended at a fixed
  rate: V + s once a video, and T q + 16 (T - 1) for each dialogue. Frames that are spread anew over all that was
  seen destroy this.

At the size of SVBench's test set, 200 videos and 1,719 chains of 120 frames, that makes {anew}, {prefix} and {once}
million tokens. `make bench-evaluate` measures how near reeltalk comes ([performance](../reference/performance.md)).
"""


def capacity_page(settings: CapacitySettings = DEFAULTS, measurements: Path | None = None) -> str:
    """The page for the given settings.

    Args:
        settings: What only the reader knows.
        measurements: A file of measured figures; `bench/capacity.json` by default.
    """
    sections = capacity(settings, measured(measurements))
    values = {(section.title, line.what): line.value for section in sections for line in section.lines}
    money = {line.what: line.value for section in sections if section.title == "Money" for line in section.lines}
    asked = next(section for section in sections if section.title == "Graphics processors").lines
    opening = OPENING.format(
        videos=shown(settings.videos),
        people=shown(values["People", "reviewing every turn"]),
        money_people=shown(money["people"]),
        money_machines=shown(money["cores"] + money["graphics processors"]),
        anew=shown(asked[0].value),
        once=shown(asked[2].value),
        cluster=shown(values["Nodes and time", "on the cluster"]),
        nodes=settings.nodes,
        cores=settings.cores,
        pieces=shown(round(values["Tables and database", "one benchmark, constructed in one piece"], -3)),
    )
    anew, prefix, once = (shown(round(SVBENCH.videos * way / 1e6)) for way in prefill_tokens(SVBENCH))
    told = TOKENS.format(anew=anew, prefix=prefix, once=once)
    return "\n".join([opening, *map(_section, sections), told, _settings(settings), _figures(measurements)])


def _section(section: Section) -> str:
    rows = [f"| {line.what} | {shown(line.value)} | {line.unit} | {line.working} |" for line in section.lines]
    head = f"## {section.title}\n\n| What | | | Worked out |\n| --- | ---: | --- | --- |\n"
    return head + "\n".join(rows) + "\n"


def _settings(settings: CapacitySettings) -> str:
    rows = [
        f"| `--{name.replace('_', '-')}` | {shown(getattr(settings, name))} | {field.description} |"
        for name, field in CapacitySettings.model_fields.items()
    ]
    return "## What only you know\n\n| Option | Here | What |\n| --- | ---: | --- |\n" + "\n".join(rows) + "\n"


def _figures(measurements: Path | None) -> str:
    fields = Measured.model_fields
    rows = [
        f"| {fields[name].description} | {shown(figure.value)} {figure.unit} | {figure.source} | {figure.machine} |"
        for name, figure in figures(measurements).items()
    ]
    head = "## What was measured\n\n| What | Figure | By | On |\n| --- | ---: | --- | --- |\n"
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
        settings: What only you know.
    """
    print(capacity_page(settings, measured), end="")


if __name__ == "__main__":
    app()
