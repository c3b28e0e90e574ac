"""The command that lists what others have published."""

from typing import Literal

from reeltalk.cli.app import app


@app.command(sort_key=8)
def published(*benchmarks: str, format: Literal["text", "json", "csv", "markdown"] = "text") -> int:
    """List published numbers with their sources: tables of results, counts of data sets, and how each is known.

    Example: `reeltalk published svbench`, or `reeltalk published --format csv`. `reeltalk report --published` lays them
    beside the numbers of runs.

    Parameters
    ----------
    benchmarks
        Names of benchmarks, as svbench or mt-video-bench; an overview of all where none is given.
    format
        text and markdown have a table for each published table; json and csv a row for each number.
    """
    from reeltalk.analysis.published.listing import listed

    print(listed(benchmarks, format), end="")
    return 0
