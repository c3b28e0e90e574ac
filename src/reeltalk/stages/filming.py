"""Film: scenarios of a simulated household become a benchmark whose every fact is known."""

from pathlib import Path

from reeltalk.parallel import Executor, open_executor
from reeltalk.progress import Progress, unseen
from reeltalk.schema.outcomes import StageReport
from reeltalk.store.benchmark import Benchmark
from reeltalk.world.film import film as compute
from reeltalk.world.settings import FilmSettings


def film(
    *,
    into: Path | str,
    settings: FilmSettings | None = None,
    executor: Executor | None = None,
    progress: Progress = unseen,
) -> StageReport:
    """Film scenarios of a household: videos, clips, graphs, template summaries, splits by house.

    Call it again to go on after an interruption. The same settings give the same tables and the same frames.

    Args:
        into: Folder of the benchmark that appears.
        settings: Scenarios, houses, pictures, seed.
        executor: Runs what films; by default processes of this machine, one for each core.
        progress: Told how far the work is.

    Raises:
        BenchmarkError: The houses do not give as many scenarios, or the benchmark holds something else.
    """
    executor = executor or open_executor()
    return compute(Benchmark.create(Path(into)), settings or FilmSettings(), executor=executor, progress=progress)
