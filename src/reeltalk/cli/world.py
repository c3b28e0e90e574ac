"""Commands on the household: film scenarios, play a program, export full graphs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from reeltalk.cli.app import OVERWRITE, Bar, ExecutorName, app, print_report, refuse_existing
from reeltalk.errors import SettingError
from reeltalk.world.settings import FilmSettings

if TYPE_CHECKING:
    from reeltalk.world.house import House

world = App(name="world", help="A simulated household that films itself: videos whose every fact is known.", sort_key=2)
app.command(world)

DEFAULTS = FilmSettings()


@world.command(sort_key=1)
def film(
    *,
    into: Path,
    workers: int | None = None,
    executor: ExecutorName = "local",
    settings: Annotated[FilmSettings, Parameter(name="*")] = DEFAULTS,
) -> int:
    """Film scenarios of a household into a benchmark: videos, clips, graphs, template summaries, splits by house.

    Example: `reeltalk world film --scenarios 20 --seed 7 --into benchmarks/household`. Run it again to go on after an
    interruption. The same settings give the same tables and the same frames.

    Parameters
    ----------
    into
        Folder of the benchmark that appears.
    workers
        Videos that are filmed at a time; by default one for each core.
    """
    from reeltalk.parallel import open_executor
    from reeltalk.stages.filming import film as run_stage

    with Bar() as bar:
        done = run_stage(
            into=into, settings=settings, executor=open_executor(executor, workers, shared=[into]), progress=bar.show
        )
    print_report(done)
    print(f"benchmark: {into}")
    return 0


@world.command(sort_key=2)
def play(
    program: Path,
    /,
    *,
    out: Path,
    house: int = 1,
    room: str = "livingroom",
    width_px: int = 640,
    fps: int = 10,
    view: str = "switching",
    labels: bool = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Film one program of your own, written as VirtualHome writes them.

    Example: `reeltalk world play tea.txt --house 3 --out tea.mp4`, where tea.txt holds lines such as
    `[WALK] <fridge> (3)`. `world objects` lists what a house holds.

    Parameters
    ----------
    program
        File with a command a line.
    out
        Video that appears.
    house
        Number of the house.
    room
        Room in which the person starts.
    width_px
        Width of the pictures.
    fps
        Frames a second.
    view
        switching or fixed.
    labels
        Write the names of objects into the pictures.
    overwrite
        Replace the file that is there.
    """
    from reeltalk.store.documents import read_text
    from reeltalk.video.write import write_video
    from reeltalk.world.camera import Camera
    from reeltalk.world.house import ROOM_ORDER
    from reeltalk.world.program import read_program
    from reeltalk.world.simulation import carry_out
    from reeltalk.world.situation import begin

    settings = FilmSettings(width_px=width_px, fps=fps, labels=labels, first_house=house, houses=1)
    if room not in ROOM_ORDER:
        raise SettingError(f"--room {room!r}: one of {', '.join(ROOM_ORDER)}")
    if view not in ("switching", "fixed"):
        raise SettingError(f"--view {view!r}: switching or fixed")
    refuse_existing(out, overwrite=overwrite)
    built = _house(house)
    start = begin(built, next(name for name, r in built.rooms.items() if r.class_name == room))
    steps = carry_out(built, read_program(read_text(program), file=program), start)
    camera = Camera(
        built, width_px=settings.width_px, fps=fps, view="fixed" if view == "fixed" else "switching", labels=labels
    )
    partial = out.with_name(f".{out.name}.part")
    frames = write_video(partial, (picture for _, picture in camera.film(steps)), fps=fps)
    partial.replace(out)
    print(f"{len(steps)} steps, {frames / fps:.1f} s: {out}")
    return 0


def _house(number: int) -> "House":
    from reeltalk.world.house import build_house

    try:
        return build_house(number)
    except ValueError as error:
        raise SettingError(f"--house: {error}") from None


@world.command(sort_key=3)
def objects(*, house: int = 1) -> int:
    """List the rooms and objects of a house, as programs name them.

    Example: `reeltalk world objects --house 3`

    Parameters
    ----------
    house
        Number of the house.
    """
    built = _house(house)
    for room in built.rooms.values():
        print(f"<{room.class_name}> ({room.name[len(room.class_name) :]})")
        for thing in built.things.values():
            if thing.room == room.name:
                place = "" if thing.support in built.rooms else f", {'in' if thing.inside else 'on'} {thing.support}"
                colour = f"{thing.colour} " if thing.colour else ""
                number = thing.name[len(thing.class_name) :]
                print(f"  <{thing.class_name}> ({number}): {colour}{', '.join(thing.states)}{place}")
    return 0


@world.command(sort_key=4)
def graphs(
    *,
    out: Path,
    house: int = 1,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Export the full graph of every activity of a house: every object at every situation.

    Example: `reeltalk world graphs --house 2 --out full-graphs`, then `reeltalk graph curate full-graphs --out curated`

    Parameters
    ----------
    out
        Folder of N-Triples that appears.
    house
        Number of the house.
    overwrite
        Replace the folder that is there.
    """
    from reeltalk.store.atomic import writing_directory
    from reeltalk.world.activities import activities, perform
    from reeltalk.world.facts import activity_triples
    from reeltalk.world.program import CannotError
    from reeltalk.world.situation import begin

    built = _house(house)
    written = triples = 0
    missing: list[str] = []
    with writing_directory(out, overwrite=overwrite) as folder, Bar() as bar:
        for done, (name, activity) in enumerate(activities().items(), 1):
            try:
                steps = perform(built, activity, begin(built, next(iter(built.rooms))))
            except CannotError as error:
                missing.append(f"{name}: {error}")
                continue
            clip = f"{name}1_{built.scene}"
            text = activity_triples(built, clip, activity.category, steps)
            (folder / f"{clip}.nt").write_text(text, encoding="utf-8")
            written, triples = written + 1, triples + text.count("\n")
            bar.show("exporting", done, len(activities()), done / len(activities()))
    for line in missing:
        print(f"left out: {line}")
    print(f"{written:,} graphs of {triples / written:,.1f} triples on average in {out}")
    return 0
