"""Retry: repeat the failed requests of a run, with the command that is stored in the run's folder."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import BenchmarkError, ReeltalkError, SettingError
from reeltalk.evaluation.settings import CHANGEABLE, Preset
from reeltalk.progress import Progress, Tell, ignore_progress, ignore_sentences
from reeltalk.schema.runs import CONTROLS
from reeltalk.schema.settings import overlay
from reeltalk.stages.evaluating import evaluate
from reeltalk.stages.judging import judge
from reeltalk.stages.run import EvaluationCommand, JudgementCommand, RunReport, read_command
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.consent import Trust, check_consent, named_in_settings, not_agreed
from reeltalk.store.documents import read_json
from reeltalk.store.manifest import read_manifest
from reeltalk.store.runs import COMMAND, CONTROLS_FOLDER, REQUEST

NO_PRESETS: Final[Mapping[str, Preset]] = {}


def retry(
    run: Path | str,
    *,
    benchmark: Path | str | None = None,
    presets: Mapping[str, Preset] = NO_PRESETS,
    trust: Trust = False,
    progress: Progress = ignore_progress,
    tell: Tell = ignore_sentences,
    **changed: Any,
) -> RunReport:
    """Repeat the failed requests of a run of `evaluate` or `judge`, or continue an unfinished run.

    Other requests are not repeated. The existing run stays until the new one is complete. This is the same as calling
    `evaluate` or `judge` again with the same settings.

    Args:
        run: The run's folder.
        benchmark: The new place of the benchmark, if it was moved.
        presets: Published designs by name, as in `reeltalk.evaluation.presets.PRESETS`, for runs that used one.
        trust: True to use the servers, keys, code and paths that a run of somebody else names; or a function that is
            given a text about them, and asks the user. A run that was made here needs neither.
        progress: Called after each turn.
        tell: Receives a sentence about the repeated requests.
        **changed: Settings that differ from before, by name, of `reeltalk.evaluation.settings.CHANGEABLE`; None leaves
            one as it was.

    Raises:
        TypeError: A setting has another name.
        BenchmarkError: `run` is not a run or has no command, or its sources no longer exist.
        SettingError: A password is not stored, the preset is not in `presets`, or you do not agree to what a run names.
        ReeltalkError: As `evaluate` and `judge`.
    """
    if unknown := [name for name in changed if name not in CHANGEABLE]:
        raise TypeError(f"retry cannot change {unknown[0]!r}; it can change {', '.join(CHANGEABLE)}")
    path = Path(run).resolve()
    command = read_command(path)
    for name in command.without_passwords:
        if changed.get(name) is None:
            raise SettingError(
                f"the address was given with a user or a password, which {path.name} does not keep; give it again: "
                f"--{name.replace('_', '-')}"
            )
    limits, judge_model = overlay(command.limits, changed), overlay(command.judge_model, changed)
    moved = Path(benchmark).resolve() if benchmark is not None else None
    folder = (path / command.folder).resolve()
    if not folder.is_dir():
        raise BenchmarkError(
            f"{path / COMMAND} says that the run was made from the folder {command.folder!r}, as seen from the run; "
            f"that would be {folder}, which is not there. If the run was moved or copied alone, put it back; or give "
            f"the command that made it again with --out {path}: it asks only what failed"
        )
    stored = _settings_of(command, path, folder)
    # In a run that was made here, what is given now does not turn the rest into somebody else's.
    if not_agreed(path, named_in_settings(stored, base=folder, folder=path)):
        given = {name: value for name, value in [("benchmark", moved), *changed.items()] if value is not None}
        check_consent(path, named_in_settings(stored | {"given": given}, base=folder, folder=path, given=given), trust)
    # Paths of the command, and paths in names such as python:FILE.py:CLASS, are relative to that folder.
    with contextlib.chdir(folder):
        if isinstance(command, JudgementCommand):
            about = moved or command.benchmark
            return judge(
                *command.sources,
                out=path,
                judging=command.judging,
                judge_model=judge_model,
                limits=limits,
                benchmark=_opened(about, path) if about is not None else None,
                format=command.format,
                limit=command.limit,
                beside=command.beside,
                progress=progress,
                tell=tell,
            )
        controls = [name for name in CONTROLS if name in command.controls or (path / CONTROLS_FOLDER / name).is_dir()]
        config = command.config(
            _preset(command, presets),
            asking=overlay(command.asking, changed),
            judge_model=judge_model,
            limits=limits,
            workers=changed.get("workers") or command.workers,
            controls=controls,
        )
        return evaluate(
            _opened(moved or command.benchmark, path),
            config,
            out=path,
            train=_opened(command.train, path, option="--train") if command.train is not None else None,
            progress=progress,
            tell=tell,
        )


def _settings_of(command: EvaluationCommand | JudgementCommand, run: Path, folder: Path) -> dict[str, Any]:
    """The settings of a command, without benchmarks that have the content that the run was played on."""
    found: dict[str, Any] = command.model_dump()
    with contextlib.suppress(ReeltalkError, OSError, AttributeError):
        request: Any = read_json(run / REQUEST)
        for name in ("benchmark", "train"):
            # Nobody knows the hash of a content without knowing the content.
            if found.get(name) and read_manifest(folder / found[name]).content_hash == request.get(name):
                del found[name]
    return found


def _opened(path: Path, run: Path, *, option: str = "--bench") -> Benchmark:
    """A benchmark of the command; relative paths are seen from the current folder."""
    if path.is_dir():
        return Benchmark.open(path)
    kept = "" if path.is_absolute() else f", which {run / COMMAND} names as {str(path)!r} seen from {Path.cwd()}"
    way = "name its place with --bench" if option == "--bench" else f"give the whole command again with its {option}"
    raise BenchmarkError(f"there is no benchmark {path.resolve()}{kept}; if the run or the benchmark was moved, {way}")


def _preset(command: EvaluationCommand, presets: Mapping[str, Preset]) -> Preset | None:
    if command.preset is None:
        return None
    if command.preset not in presets:
        raise SettingError(f"the run was played by the preset {command.preset!r}, which is not among those given")
    return presets[command.preset]
