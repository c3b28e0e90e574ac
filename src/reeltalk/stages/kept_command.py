"""The command that makes a run, as the run's folder keeps it, and what the same command does where the run is there.

Given again, a command asks again what failed, and does nothing where nothing failed.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, RootModel

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.evaluate.settings import LimitSettings, ModelSettings, PlaySettings
from reeltalk.judge.settings import JudgeModelSettings, JudgeSettings
from reeltalk.progress import Tell
from reeltalk.schema.runs import Control
from reeltalk.schema.server_address import without_user
from reeltalk.stages.finishing import RunReport
from reeltalk.store.atomic import write_bytes
from reeltalk.store.documents import parse, read_json, write_json
from reeltalk.store.runs import COMMAND, CONTROLS_FOLDER, INFO, REQUEST, holds_plays, is_unfinished, told_of_unfinished

M = TypeVar("M", bound=BaseModel)
ADDRESSES: Final = ("base_url", "judge_base_url")


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    folder: str
    """Where the command was given, seen from the run's folder: all other paths are seen from there."""
    judging: JudgeSettings
    judge_model: JudgeModelSettings
    limits: LimitSettings
    limit: int | None = None
    without_passwords: tuple[str, ...] = ()
    """Addresses that were given with a user or a password, which is not kept."""


class KeptEvaluation(_Kept):
    """What `reeltalk evaluate` was told."""

    verb: Literal["evaluate"] = "evaluate"
    benchmark: Path
    model: str
    preset: str | None = None
    play: PlaySettings
    asking: ModelSettings
    train: Path | None = None
    answers_format: str | None = None
    skip_missing: bool = False
    workers: int = 2
    processes: int = 1
    controls: tuple[Control, ...] = ()


class KeptJudgement(_Kept):
    """What `reeltalk judge` was told."""

    verb: Literal["judge"] = "judge"
    sources: tuple[Path, ...]
    benchmark: Path | None = None
    format: str | None = None
    beside: tuple[str, ...] = ()


class _Any(RootModel[Annotated[KeptEvaluation | KeptJudgement, Field(discriminator="verb")]]):
    pass


def seen_from(out: Path) -> str:
    """The folder in which a command is given now, as the run's folder keeps it.

    Args:
        out: The run's folder.
    """
    return os.path.relpath(Path.cwd(), out.resolve())


def kept(command: KeptEvaluation | KeptJudgement) -> dict[str, Any]:
    """A command as JSON, without users and passwords of addresses.

    Args:
        command: As it was given.
    """
    found = command.model_dump(mode="json")
    hidden = []
    for part in ("asking", "judge_model"):
        for name in ADDRESSES:
            address = (found.get(part) or {}).get(name)
            if address and (plain := without_user(address)) != address:
                found[part][name] = plain
                hidden.append(name)
    found["without_passwords"] = hidden
    return found


def write_command(path: Path, command: Mapping[str, Any]) -> None:
    """Keep a command in a run's folder.

    Args:
        path: The run's folder.
        command: As `kept` gave it.

    Raises:
        BenchmarkError: It cannot be written.
    """
    write_bytes(path / COMMAND, write_json(dict(command)).encode())


def read_command(path: Path) -> KeptEvaluation | KeptJudgement:
    """The command that a run's folder keeps.

    Args:
        path: The run's folder.

    Raises:
        BenchmarkError: It is no run, a control, or keeps no command.
        InputError: The command is damaged.
    """
    if path.resolve().parent.name == CONTROLS_FOLDER:
        raise BenchmarkError(f"{path} is a control; retry its run, which asks again what failed in its controls, too")
    if not (path / COMMAND).is_file():
        if not (path / INFO).is_file() and not (path / REQUEST).is_file():
            raise BenchmarkError(f"{path} is not a run: it has neither {INFO} nor {REQUEST}")
        if holds_plays(path):
            raise BenchmarkError(f"{path} was made by 'reeltalk proactive': the same command plays again what failed")
        if is_unfinished(path):
            raise BenchmarkError(f"{path} {told_of_unfinished(path)}")
        raise BenchmarkError(
            f"{path} does not keep the command that made it (it has no {COMMAND}); give that command again: it asks "
            "only what failed"
        )
    return parse(_Any, read_json(path / COMMAND), file=path / COMMAND).root


def changed(settings: M, given: Sequence[tuple[str, Any]]) -> M:
    """Settings with other values where some are given.

    Args:
        settings: As they were kept.
        given: Names of settings, of this model or of another one, and their values; None leaves one as it was.
    """
    fields = type(settings).model_fields
    values = {name: value for name, value in given if value is not None and name in fields}
    return type(settings).model_validate(settings.model_dump() | values)


def is_to_do(before: RunReport | None) -> bool:
    """True where there is no such run yet, or something in it failed that may come out otherwise.

    Args:
        before: The run of the same settings that is there.
    """
    return before is None or before.can_retry


def told_of_whole(done: RunReport) -> str:
    """Why nothing is asked, as a sentence.

    Args:
        done: A whole run of the settings that were given.
    """
    if done.complete:
        why = "nothing in it failed, so nothing is asked; --overwrite makes it anew"
    else:
        why = (
            "asking again would not change what failed in it, so nothing is asked; --overwrite makes it anew from the "
            "replies that are kept, and --overwrite --delete-replies without them"
        )
    return f"{done.run.path} is whole: {why}"


def tell_again(before: RunReport, replies: Path, *, tell: Tell) -> None:
    """Say what is asked again, and refuse where all would be.

    Args:
        before: The whole run in which something failed.
        replies: File in which its replies are kept.
        tell: Told it.

    Raises:
        BenchmarkError: The replies are not there any more.
    """
    path = before.run.path
    if not replies.is_file():
        raise BenchmarkError(
            f"something failed in {path}, but {replies}, which keeps the replies to all the rest, is not there: "
            "everything would be asked again; put it back, or pass --overwrite to the command that made the run"
        )
    tell(f"{path} is whole, but something in it failed: this is asked again, and the run stays until that is done")


def check_deletion(delete_replies: bool, overwrite: bool, limits: LimitSettings | None) -> None:
    """Refuse to delete replies where that is not what was meant.

    Raises:
        SettingError: Nothing is overwritten, or the replies are in a file that other runs may share.
    """
    if delete_replies and not overwrite:
        raise SettingError(
            "--delete-replies needs --overwrite: it deletes what the run keeps, so that all is asked anew"
        )
    if delete_replies and limits is not None and limits.replies is not None:
        raise SettingError(
            f"--delete-replies deletes the run's own replies, and these are in {limits.replies}, which other runs may "
            "share; delete that file yourself, or leave --replies out"
        )
