"""Label Studio: a task for each scene with drafts as predictions, a labelling config, and the annotations back.

For teams that run a Label Studio server. A task holds the units that it is about, so that what nobody changed comes
back as it was; rows that no task holds lie beside the tasks.
"""

from pathlib import Path

from reeltalk.formats.label_studio_layout import DEFAULTS, LabelStudioOptions
from reeltalk.formats.label_studio_read import Reader
from reeltalk.formats.label_studio_write import Writer
from reeltalk.store.content import Content

__all__ = ["LabelStudioOptions", "read", "write"]


def read(source: Path) -> Content:
    """Read an export (JSON or JSON-MIN), or a folder of tasks with exports in it.

    Raises:
        InputError: A file is damaged, or its tasks did not come from reeltalk.
    """
    return Reader(source).read()


def write(content: Content, folder: Path, options: LabelStudioOptions = DEFAULTS) -> list[str]:
    """Write tasks, config and videos into an empty folder; what does not come back is returned, a line each.

    Raises:
        InputError: A video cannot be copied.
        SettingError: The address of the videos is none.
    """
    return Writer(content, folder, options).write()
