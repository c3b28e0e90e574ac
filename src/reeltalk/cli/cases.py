"""The command that exports one dialogue as a figure."""

from pathlib import Path
from typing import Annotated

from reeltalk.cli.app import OVERWRITE, app
from reeltalk.errors import BenchmarkError, SettingError

ENDINGS = (".svg", ".pdf", ".png")


@app.command(name="export-case", sort_key=7)
def export_case(
    *runs: Path,
    dialogue: str,
    out: Path,
    bench: Path | None = None,
    turns: str = "",
    models: str = "",
    frames: int = 4,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Draw one dialogue for a paper: frames, questions, references, every model's answer, and what judges said.

    Example: `reeltalk export-case runs/first --dialogue d17 --turns 2,3 --bench benchmarks/kitchen --out case.svg`

    Parameters
    ----------
    runs
        Folders that `score`, `evaluate` or `judge` wrote.
    dialogue
        Name of the chain, path or dialogue.
    out
        File of the figure: .svg, .pdf or .png.
    bench
        Benchmark that the runs were played on; the figure then shows frames.
    turns
        Comma-separated numbers of turns, from 1; the first six by default.
    models
        Comma-separated names of models, as the leaderboard has them; all but floors by default.
    frames
        Most frames shown, 0 to 6, of those that the models saw.
    overwrite
        Replace the file that is there.
    """
    from reeltalk.pages.case import MOST_FRAMES, case_file
    from reeltalk.pages.case_export import export_case as draw
    from reeltalk.pages.figure_files import write_figure
    from reeltalk.store.atomic import storage_errors, write_bytes
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.runs import read_run

    if not runs:
        raise SettingError("export-case needs at least one run; 'reeltalk evaluate' and 'reeltalk score' write them")
    if out.suffix not in ENDINGS:
        raise SettingError(f"--out {out} must end with one of {', '.join(ENDINGS)}, which say as what it is written")
    if not 0 <= frames <= MOST_FRAMES:
        raise SettingError(f"--frames must be 0 to {MOST_FRAMES}, got {frames}")
    if out.exists() and (out.is_dir() or not overwrite):
        raise BenchmarkError(f"{out} exists; choose another file{'' if out.is_dir() else ' or pass --overwrite'}")
    svg = draw(
        [read_run(path) for path in runs],
        dialogue,
        benchmark=Benchmark.open(bench) if bench else None,
        turns=_numbers(turns),
        models=[name.strip() for name in models.split(",") if name.strip()],
        frames=frames,
    )
    if out.suffix == ".svg":
        write_bytes(out, case_file(svg).encode())
    else:
        with storage_errors(out):
            write_figure(svg, out)
    print(f"figure: {out}")
    return 0


def _numbers(text: str) -> list[int]:
    found = []
    for part in text.split(","):
        if part.strip():
            if not part.strip().isdecimal() or int(part) < 1:
                raise SettingError(f"--turns must be numbers of turns from 1, as 2,3, and {part.strip()!r} is none")
            found.append(int(part))
    return found
