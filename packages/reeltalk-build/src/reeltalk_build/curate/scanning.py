"""The function for child processes that scans one file. Its argument and result are JSON.

It is apart from `workers`, because PySceneDetect takes a tenth of a second to import, which a run whose videos are all
rejected by their facts need not spend.
"""

from pathlib import Path
from typing import Any

from reeltalk.video.encode import load_font
from reeltalk.video.records import DetectorSettings, ScanSettings, TransNetSettings
from reeltalk.video.stream import Source
from reeltalk_build.video.scan import pyscenedetect_finder, scan_video
from reeltalk_build.video.shots import CutFinder, SmallFrame, tiny_rgb

load_font()


def scan(argument: dict[str, Any]) -> dict[str, Any]:
    """Scan one file.

    Args:
        argument: `path`, and `settings` as `ScanSettings`.

    Returns:
        `Scan` as JSON.
    """
    settings = ScanSettings.model_validate(argument["settings"])
    found = scan_video(Path(argument["path"]), settings, make_finder=_finder)
    return found.model_dump(mode="json")


def _finder(settings: DetectorSettings, source: Source) -> CutFinder:
    return (
        _Network(settings.threshold)
        if isinstance(settings, TransNetSettings)
        else pyscenedetect_finder(settings, source)
    )


class _Network:
    """TransNetV2 as a `CutFinder`."""

    def __init__(self, threshold: float) -> None:
        # torch takes seconds to import and is an extra.
        from reeltalk_build.inference.transnet import TransNetFinder

        self._finder = TransNetFinder(threshold)

    def push(self, frame: SmallFrame) -> list[int]:
        return self._finder.push(frame.pts, tiny_rgb(frame.bgra))

    def finish(self) -> list[int]:
        return self._finder.finish()
