"""The command that says what so many videos take."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from reeltalk.capacity.settings import CapacitySettings
from reeltalk.cli.construction import plan

DEFAULTS = CapacitySettings()
Settings = Annotated[CapacitySettings, Parameter(name="*")]


@plan.command(name="capacity")
def plan_capacity(
    *,
    measured: Path | None = None,
    format: Literal["text", "json"] = "text",
    settings: Settings = DEFAULTS,
) -> int:
    """Say what so many videos take: cores, storage, tokens, graphics processors, people and money.

    Example: `reeltalk plan capacity --videos 1000000 --minutes 2 --kept 0.25`. Figures of this machine's kind come with
    reeltalk; `make bench` measures them on yours.

    Parameters
    ----------
    measured
        Figures that you measured; those of the package by default.
    format
        text, or json with every line and how it was worked out.
    """
    from dataclasses import asdict

    from reeltalk.capacity.figures import figures
    from reeltalk.capacity.figures import measured as read_measured
    from reeltalk.capacity.plan import capacity, shown
    from reeltalk.store.documents import write_json

    sections = capacity(settings, read_measured(measured))
    if format == "json":
        print(write_json([asdict(section) for section in sections]), end="")
        return 0
    for section in sections:
        print(section.title)
        width = max(len(line.what) for line in section.lines)
        for line in section.lines:
            print(f"  {line.what:<{width}}  {shown(line.value):>13} {line.unit:<14}  {line.working}".rstrip())
    machines = sorted({figure.machine for figure in figures(measured).values() if figure.machine})
    print(f"measured on {'; '.join(machines)}" if machines else "measured on an unknown machine")
    return 0
