"""reeltalk-mini by its name, however it is then asked."""

from pathlib import Path
from typing import Final

from reeltalk.errors import SettingError
from reeltalk.inference.mini import LONGEST_ANSWER, MiniModel
from reeltalk.inference.stream_memory import MemoryPolicy

MOST_MINI_FRAMES: Final = 20_000
"""Room for all of them is set aside at once: about 300 MB."""


def opened_mini(spec: str = "mini", *, policy: MemoryPolicy | None, max_words: int | None = None) -> MiniModel:
    """The model.

    Args:
        spec: `mini` for the weights that come with reeltalk, or `mini:FOLDER`.
        policy: What is kept of a stream; everything where there is none.
        max_words: Longest answer, in words and pieces of words; never longer than it was made for.

    Raises:
        InputError: The folder holds no such model.
        SettingError: No folder is named.
    """
    _, colon, name = spec.partition(":")
    if colon and not name:
        raise SettingError(f"{spec!r} names no folder; give mini:FOLDER, or mini for what comes with reeltalk")
    longest = min(max_words or LONGEST_ANSWER, LONGEST_ANSWER)
    return MiniModel(Path(name) if name else None, policy=policy, longest_answer=longest)


def bounded(memory_frames: int | None) -> MemoryPolicy:
    """A bound on what is kept, so that a camera may run for days.

    Args:
        memory_frames: Frames at most: half as they are, half merged from older ones; the model's own bound by default.

    Raises:
        SettingError: It cannot keep so many.
    """
    if memory_frames is None:
        return MemoryPolicy()
    if memory_frames > MOST_MINI_FRAMES:
        raise SettingError(f"reeltalk-mini keeps at most {MOST_MINI_FRAMES:,} frames, not {memory_frames:,}")
    kept = memory_frames // 2
    return MemoryPolicy(recent_frames=kept, merged_frames=memory_frames - kept)
