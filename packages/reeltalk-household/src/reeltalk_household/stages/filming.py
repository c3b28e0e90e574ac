"""Film: make a benchmark of clips from a simulated household, whose facts are all known."""

from pathlib import Path

from reeltalk.parallel import Executor, open_executor
from reeltalk.progress import Progress, ignore_progress
from reeltalk.schema.outcomes import StageReport
from reeltalk.store.benchmark import Benchmark
from reeltalk_household.world.film import film as film_scenarios
from reeltalk_household.world.settings import FilmSettings


def film(
    *,
    into: Path | str,
    settings: FilmSettings | None = None,
    executor: Executor | None = None,
    progress: Progress = ignore_progress,
) -> StageReport:
    """Film scenarios of a household. Writes videos, clips, graphs, template summaries, and splits by house.

    Call it again to continue after an interruption. The same settings give the same tables and the same frames.

    Args:
        into: Folder of the new benchmark.
        settings: Scenarios, houses, pictures, seed.
        executor: Runs the filming. The default is one process for each core of this machine.
        progress: Called with the share of the work that is done.

    Raises:
        BenchmarkError: The houses do not give enough scenarios, or the benchmark holds something else.
    """
    executor = executor or open_executor()
    return film_scenarios(
        Benchmark.create(Path(into)), settings or FilmSettings(), executor=executor, progress=progress
    )
