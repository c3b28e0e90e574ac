"""The page of the capacity plan, whose numbers the plan itself works out."""

from typing import Final

from reeltalk.capacity.figures import figures, measured
from reeltalk.capacity.plan import Section, capacity, prefill_tokens, shown
from reeltalk.capacity.settings import CapacitySettings

SVBENCH: Final = CapacitySettings(videos=200, kept=1.0, turns=7_374 / 200, turns_a_dialogue=7_374 / 1_719)
"""The test set that calls were counted for before reeltalk was written."""

OPENING: Final = """# Capacity: a million videos

How much of everything {videos} videos take, worked out step by step. Two kinds of numbers go in. What was measured
stands at the end, with what measured it. What only you know, as the length of your videos, your server's speed and your
prices, are round numbers here, to be replaced:

```console
$ reeltalk plan capacity --videos 1000000 --minutes 2 --kept 0.25 \\
    --prefill-tokens-s 10000 --gpu-hour 2
```

The command prints the tables of this page for your numbers; `--format json` is for scripts, and `--measured FILE`
takes figures of your own machine (`make bench` writes them to `src/reeltalk/capacity/measured.json`). How the
work is spread over machines: [Go from one machine to many](../how-to/scale.md).

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


def capacity_page() -> str:
    """The page."""
    settings, known = CapacitySettings(), measured()
    sections = capacity(settings, known)
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
    return "\n".join([opening, *map(_section, sections), told, _settings(settings), _figures()])


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


def _figures() -> str:
    fields = type(measured()).model_fields
    rows = [
        f"| {fields[name].description} | {shown(figure.value)} {figure.unit} | {figure.source} | {figure.machine} |"
        for name, figure in figures().items()
    ]
    head = "## What was measured\n\n| What | Figure | By | On |\n| --- | ---: | --- | --- |\n"
    return head + "\n".join(rows) + "\n"
