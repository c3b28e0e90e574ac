"""The page on which published numbers stand beside one's own."""

from typing import Final

from reeltalk.analysis.published.compare_published import beside
from reeltalk.analysis.published.records import HOW_WORDS, published, shown_value
from reeltalk.pages.site import Site, write_static
from reeltalk.store.benchmark import Benchmark

PAGE: Final = "published.html"
STYLE: Final = "published.css"
IMPORT: Final = "import "
"""What the names of stages begin with that read a published layout."""


def write_published(site: Site) -> None:
    """Write `published.html`: what the settings name beside the runs' numbers.

    Args:
        site: The report.

    Raises:
        SettingError: The settings name a benchmark of which nothing published is known.
    """
    imported = formats_of(site.benchmark) if site.benchmark is not None else None
    write_static(site.folder, [STYLE])
    site.render(
        "published.html",
        PAGE,
        shown_beside=[beside(site.board, published(name), imported=imported) for name in site.settings.published],
        shown_value=shown_value,
        how_words=HOW_WORDS,
    )


def formats_of(benchmark: Benchmark) -> frozenset[str]:
    """The published layouts from which files of a benchmark were imported.

    Args:
        benchmark: Any.
    """
    stages = {entry.stage for entry in benchmark.manifest.files.values()}
    return frozenset(stage.removeprefix(IMPORT) for stage in stages if stage.startswith(IMPORT))
