"""The step that finds objects and tells which sightings are of one."""

from reeltalk.construct.objects import ObjectSettings
from reeltalk.construct.sighting import sight_objects
from reeltalk.construct.step import Run
from reeltalk.construct.writers import DescribesObjects, Unwritten, Writer
from reeltalk.errors import SettingError
from reeltalk.inference.detection import open_detector
from reeltalk.store.tables import KNOWN_BOXES


def sight(run: Run, warnings: list[str]) -> dict[str, int]:
    """Fill sightings, entities and identity changes; how many of each.

    Without a detector the boxes that filming wrote are taken, and without those the step is passed over and says so.

    Args:
        run: The benchmark and its settings.
        warnings: Receives what a person should know.

    Raises:
        SettingError: The detector is not to be had.
        BenchmarkError: There is no video to look at.
    """
    spec = run.settings.detector
    if spec is None and run.benchmark.rows(KNOWN_BOXES) and any(run.benchmark.media.names()):
        spec = "known"
    if spec is None:
        warnings.append("objects: passed over, since no --detector is given and no boxes are known")
        return {}
    describe = _Describe(run.writer) if run.settings.object_captions else None
    report = sight_objects(
        run.benchmark,
        ObjectSettings(),
        "known" if spec == "known" else open_detector(spec),
        run.executor,
        run.progress,
        describe=describe,
    )
    warnings += [f"objects: {warning}" for warning in report.warnings]
    if describe is not None and describe.unwritten:
        warnings.append(f"objects: {describe.unwritten:,} captions are unwritten; class, colour and place stand there")
    return dict(report.counts)


class _Describe:
    """Asks the writer what an object looks like; where it says nothing, what one sees offline is kept."""

    def __init__(self, writer: Writer) -> None:
        if not isinstance(writer, DescribesObjects):
            raise SettingError("--object-captions needs a vision model as --writer; the graph sees no pictures")
        self._writer, self.signature, self.unwritten = writer, writer.signature, 0

    def __call__(self, picture: bytes, kind: str) -> str:
        said = self._writer.object_caption(kind, picture)
        if isinstance(said, Unwritten):
            self.unwritten += 1
            return ""
        return said
