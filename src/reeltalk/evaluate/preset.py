"""What a paper fixes of playing and judging, and which settings still keep to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reeltalk.evaluate.settings import PlaySettings
from reeltalk.judge.settings import JudgeSettings


@dataclass(frozen=True)
class Preset:
    """A published design."""

    name: str
    paper: str
    play: PlaySettings
    judging: JudgeSettings
    also: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Further published values of a setting, by its path, as `frames.frames`."""
    ours: tuple[str, ...] = ()
    """Settings that the paper leaves open, where ours is a choice; another value is no deviation."""

    def deviations(self, play: PlaySettings, judging: JudgeSettings) -> tuple[str, ...]:
        """Settings whose values are not the published ones.

        Args:
            play: How dialogues are played.
            judging: How answers are judged.
        """
        pairs = (*_pairs("", self.play, play), *_pairs("", self.judging, judging))
        return tuple(
            path
            for path, published, chosen in pairs
            if chosen != published and path not in (*self.ours, *FREE) and chosen not in self.also.get(path, ())
        )

    def signed(self, play: PlaySettings, judging: JudgeSettings) -> tuple[tuple[str, str], ...]:
        """The preset's part of a signature: its name, and what was modified.

        Args:
            play: How dialogues are played.
            judging: How answers are judged.
        """
        modified = self.deviations(play, judging)
        return (("preset", f"{self.name} modified ({','.join(modified)})" if modified else self.name),)


FREE: Final = ("units", "split", "tasks", "seed", "compat", "language", "option_order", "null_units", "control")
"""What says which part of a benchmark is played, has its own place in a signature, or moves no number of a model."""


def _pairs(prefix: str, published: Any, chosen: Any) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    for name in type(published).model_fields:
        one, other = getattr(published, name), getattr(chosen, name)
        if hasattr(one, "model_fields_set"):
            found += _pairs(f"{prefix}{name}.", one, other)
        else:
            found.append((f"{prefix}{name}", one, other))
    return found
