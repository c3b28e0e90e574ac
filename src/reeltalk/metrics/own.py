"""Text metrics of the user's own: a function that gives each answer a number."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import SettingError
from reeltalk.extension import PREFIX, loaded_function, told


def is_own(metric: str) -> bool:
    """True for `python:MODULE:FUNCTION`."""
    return metric.startswith(PREFIX)


def own_name(metric: str) -> str:
    """What such a metric is called in tables: its function's name.

    Raises:
        SettingError: There is no such function, or its name has a dot or begins with an underscore.
    """
    name = loaded_function(metric.removeprefix(PREFIX)).name
    if "." in name or name.startswith("_"):
        raise SettingError(f"{metric}: {name!r} cannot name a metric; give a function at the top of its module")
    return name


def own_values(
    metric: str, answers: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[NDArray[np.float64], str]:
    """What such a function gives, and its part of the signature.

    Args:
        metric: `python:MODULE:FUNCTION`; the function takes a list of N answers and a list of N lists of references,
            and gives N finite numbers, of which more is better.
        answers: One text an item.
        references: For each item one or more texts.

    Returns:
        (N,) values, and `python:NAME#HASH`.

    Raises:
        SettingError: The function raised, or gave something else.
    """
    function, name, sha256 = loaded_function(metric.removeprefix(PREFIX))
    try:
        values = np.asarray(function(list(answers), [list(group) for group in references]), np.float64)
    except Exception as error:
        raise SettingError(f"{metric} failed: {told(error)}; mend the function") from error
    if values.shape != (len(answers),):
        raise SettingError(f"{metric} must give {len(answers):,} numbers, one an answer, but gave shape {values.shape}")
    if not np.isfinite(values).all():
        raise SettingError(f"{metric} gave {values[~np.isfinite(values)][0]} for an answer; give a finite number")
    return values, f"{PREFIX}{name}#{sha256}"
