"""Settings from user input. Errors quote each value as the user wrote it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from reeltalk.errors import SettingError
from reeltalk.schema.server_address import without_user

Count = Annotated[int, Field(ge=1)]
"""At least one."""
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A price or a limit on cost, in the user's unit."""
Share = Annotated[float, Field(ge=0, le=1)]
"""From 0 to 1."""
Temperature = Annotated[
    Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None,
    BeforeValidator(lambda value: None if isinstance(value, str) and value.lower() == "none" else value),
]
"""Sampling temperature, 0-2; None, or the word, sends none, for a server that takes none or knows better."""
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
"""How long a model that reasons may think."""
M = TypeVar("M", bound=BaseModel)


class Settings(BaseModel):
    """Settings that cannot be changed. Each field is described by the text below it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def settings_of(model: type[M], /, **values: Any) -> M:
    """A settings model from options.

    Args:
        values: Its fields, by name.

    Raises:
        SettingError: A value cannot be used; names the option.
    """
    try:
        return model(**values)
    except ValidationError as error:
        raise SettingError(setting_problem(error)) from None


def overlay(start: M, given: Mapping[str, Any]) -> M:
    """Settings with other values where some are given, also in the settings within them.

    Args:
        start: The settings.
        given: Values by name; names that the settings do not have and None are left out.

    Raises:
        SettingError: A value cannot be used; names the option.
    """
    values = {name: overlay(value, given) if isinstance(value, BaseModel) else value for name, value in start}
    own = {name: value for name, value in given.items() if value is not None and name in values}
    return settings_of(type(start), **values | own)


def setting_problem(error: ValidationError) -> str:
    """Describe for users why a settings model refused an option."""
    first = error.errors(include_url=False)[0]
    words = " ".join(first["msg"].removeprefix("Value error, ").split())
    problem = (words[:1].lower() + words[1:]).rstrip(".")
    if first["type"] == "greater_than_equal":
        problem = f"it must be at least {first['ctx']['ge']}"
    if not first["loc"]:
        return problem
    value = without_user(repr(first["input"]))
    return f"--{str(first['loc'][0]).replace('_', '-')} {value}: {problem}"


def check_counts(**options: int | None) -> None:
    """Raise if a count is below 1.

    Raises:
        SettingError: Names the option.
    """
    for name, value in options.items():
        if value is not None and value < 1:
            raise SettingError(f"--{name} {value}: it must be at least 1")
