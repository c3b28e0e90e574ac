"""Whether a file of training samples can be trained on: every line read, every picture decoded, every budget held."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reeltalk.errors import InputError
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.schema.sft import SampleLimits, TokenCounter, TrainingSample, sample_tokens
from reeltalk.store.documents import parse_json, read_text
from reeltalk.store.sft import SampleLayout, layout_of, read_line

UNREADABLE: Final = "reeltalk.video.stills:unreadable"
PICTURES_A_CALL: Final = 64
CALL_S: Final = 300.0
MEMORY_BYTES: Final = 1 << 30


@dataclass
class Checked:
    """What a file of samples holds and what is wrong with it."""

    samples: int = 0
    frames: int = 0
    """Over all samples; a picture counts as often as it is shown."""
    answers: int = 0
    """Answers that loss falls on."""
    most_frames: int = 0
    most_tokens: int = 0
    """Of the longest sample."""
    problems: list[InputError] = field(default_factory=list)


def check(
    path: Path,
    *,
    limits: SampleLimits,
    count: TokenCounter,
    executor: Executor,
    layout: SampleLayout | None = None,
    root: Path | None = None,
    progress: Callable[[str, int, int, float], None] = lambda *_: None,
) -> Checked:
    """Check a file of samples; problems are collected, not raised.

    Args:
        path: JSON Lines of a layout of `store.sft`.
        limits: What a sample may hold.
        count: Counts the tokens of a text.
        executor: Decodes pictures.
        layout: Of the file; by default what each line looks like.
        root: Pictures lie below it; the file's folder by default.
        progress: Told how far it is.

    Raises:
        InputError: The file cannot be read.
    """
    checked = Checked()
    shown: dict[str, tuple[int, int]] = {}
    lines_of: dict[str, int] = {}
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            value = parse_json(text, file=path, line=line)
            sample = read_line(value, layout or layout_of(value, file=path, line=line), file=path, line=line)
        except InputError as error:
            checked.problems.append(error)
            continue
        checked.problems += _problems(sample, limits, count, lines_of, checked, path=path, line=line)
        for index, frame in enumerate(sample.frames):
            shown.setdefault(frame.file, (line, index))
        # TRL's completion is the last answer; loss falls on nothing else of such a line.
        checked.answers += 1 if isinstance(value, dict) and "completion" in value else len(sample.turns)
    if not checked.samples and not checked.problems:
        checked.problems.append(InputError("no sample", file=path, hint="the file is empty"))
    checked.problems += _pictures(path, root or path.parent, shown, executor, progress)
    checked.problems.sort(key=lambda problem: problem.line or 0)
    return checked


def _problems(
    sample: TrainingSample,
    limits: SampleLimits,
    count: TokenCounter,
    lines_of: dict[str, int],
    checked: Checked,
    *,
    path: Path,
    line: int,
) -> Iterable[InputError]:
    tokens = sample_tokens(sample, limits, count)
    checked.samples += 1
    checked.frames += len(sample.frames)
    checked.most_frames = max(checked.most_frames, len(sample.frames))
    checked.most_tokens = max(checked.most_tokens, tokens)
    if len(sample.frames) > limits.max_frames:
        yield InputError(f"{len(sample.frames)} frames where {limits.max_frames} are allowed", file=path, line=line,
                         place="$", hint="export with a smaller --max-frames")  # fmt: skip
    if tokens > limits.budget:
        yield InputError(
            f"{tokens:,} tokens where {limits.budget:,} are allowed",
            file=path,
            line=line,
            place="$",
            hint="export with a smaller --budget, or give the --tokenizer that it was exported with",
        )
    first = lines_of.setdefault(sample.id, line)
    if first != line:
        yield InputError(f"this identifier stands in line {first} too", file=path, line=line, place="$.id",
                         value=sample.id)  # fmt: skip


def _pictures(
    path: Path,
    root: Path,
    shown: dict[str, tuple[int, int]],
    executor: Executor,
    progress: Callable[[str, int, int, float], None],
) -> list[InputError]:
    """A problem for each picture that cannot be decoded, at the first line that shows it."""
    names = list(shown)
    parts = [names[start : start + PICTURES_A_CALL] for start in range(0, len(names), PICTURES_A_CALL)]
    calls = [Call({"paths": [str(root / name) for name in part]}, Limits(CALL_S, MEMORY_BYTES)) for part in parts]
    problems: list[InputError] = []
    done = 0
    for place, outcome in executor.map(UNREADABLE, calls) if calls else ():
        part = parts[place]
        if isinstance(outcome, Failure) or not isinstance(outcome, list) or len(outcome) != len(part):
            outcome = [f"it was read among others, and {outcome}"] * len(part)
        for name, problem in zip(part, outcome, strict=True):
            if problem is not None:
                line, index = shown[name]
                problems.append(
                    InputError(
                        f"the picture of frame {index} cannot be used: {str(problem)[:200]}",
                        file=path,
                        line=line,
                        place=f"$.image[{index}]",
                        value=name,
                        hint=f"pictures are looked for below {root}",
                    )
                )
        done += len(part)
        progress("pictures", done, len(names), done / len(names))
    return problems
