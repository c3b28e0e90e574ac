"""The page `docs/concepts/capacity.md`: the cost of a number of videos, calculated by `capacity_plan`.

Run `python tools/capacity_page.py --videos 200000 --minutes 5` to print the page for numbers of your own.
"""

from pathlib import Path
from typing import Annotated, Final

from capacity_plan import CapacitySettings, Measured, Section, capacity, figures, measured, prefill_tokens, shown
from cyclopts import App, Parameter

DEFAULTS: Final = CapacitySettings()
SVBENCH: Final = CapacitySettings(videos=200, kept=1.0, turns=7_374 / 200, turns_a_dialogue=7_374 / 1_719)
"""SVBench's test set, for which calls were counted before reeltalk was written."""

OPENING: Final = """# Capacity: a million videos

This page calculates step by step what {videos} videos need: cores, storage, tokens, GPUs, people and money. It uses
two kinds of numbers. Measured figures are listed at the end, with the program that measured each. Numbers that only you
know, such as the length of your videos, your server's speed and your prices, are round numbers here; replace them.

`python tools/capacity_page.py --videos 200000 --minutes 5` prints this page for your numbers; run it in a clone of the
repository. `--measured FILE` reads figures of your own machine, which `make bench` writes to `bench/capacity.json`. To
distribute the work over several machines, read [Go from one machine to many](../how-to/scale.md).

The main results:

- **People cost the most.** Reviewing every turn takes {people} person hours and {money_people} in money; all cores
  and GPUs together cost {money_machines}. Keep fewer videos (`--kept`) or write fewer questions
  about each (`--turns`), and let gates decide what people review.
- **GPU time depends on how models are asked.** Reading a video again at each turn takes {anew} GPU
  hours, reading each frame once {once}.
- **Cores suffice; the memory of one process does not.** All work on cores takes {cluster} hours on {nodes} nodes of
  {cores} cores. But one process holds a benchmark while it constructs it, so half the memory of such a node
  is enough for about {pieces} videos. Make several benchmarks, one for each source or split, and report on them
  together.
"""

TOKENS: Final = """## How tokens are counted

A dialogue has T turns, a video has V tokens of frames, a prompt has s tokens of instructions, a question q and an
answer a. For each dialogue a model reads:

- everything again at each turn: T (V + s + q) + (q + a) T (T - 1) / 2;
- if the server caches its prefix: V + s + T q + at most 16 (T - 1), because a server caches whole blocks of 16
  tokens;
- if frames come first and all dialogues of a video use one replica, or frames are appended to a stream at a fixed
  rate: V + s once for each video, and T q + 16 (T - 1) for each dialogue. This is not possible if each turn spreads its
  frames again over everything seen.

For SVBench's test set, 200 videos and 1,719 chains of 120 frames, these are {anew}, {prefix} and {once}
million tokens. `make bench-evaluate` measures how near reeltalk comes ([performance](../reference/performance.md)).
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
        people=shown(values["People", "reviewing every turn"]),
        money_people=shown(money["people"]),
        money_machines=shown(money["cores"] + money["GPUs"]),
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
    head = f"## {section.title}\n\n| What | | | Calculation |\n| --- | ---: | --- | --- |\n"
    return head + "\n".join(rows) + "\n"


def _settings(settings: CapacitySettings) -> str:
    rows = [
        f"| `--{name.replace('_', '-')}` | {shown(getattr(settings, name))} | {field.description} |"
        for name, field in CapacitySettings.model_fields.items()
    ]
    return "## Numbers that only you know\n\n| Option | Here | What |\n| --- | ---: | --- |\n" + "\n".join(rows) + "\n"


def _figures(measurements: Path | None) -> str:
    fields = Measured.model_fields
    rows = [
        f"| {fields[name].description} | {shown(figure.value)} {figure.unit} | {figure.source} | {figure.machine} |"
        for name, figure in figures(measurements).items()
    ]
    head = "## Measured figures\n\n| What | Figure | By | On |\n| --- | ---: | --- | --- |\n"
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


if __name__ == "__main__":
    app()
