"""Trains reeltalk-mini from scratch on a filmed household: tokenizer, vision encoder, speech. It can resume.

The tokenizer is made from the train split's questions and answers. A file holds the state of the training (weights,
moments and the step), and is written whole or not at all. It contains no code: tensors are safetensors, and the rest is
JSON inside the same file.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import Tensor, nn

from reeltalk._version import __version__
from reeltalk.errors import InputError
from reeltalk.parallel import Executor
from reeltalk.progress import Progress
from reeltalk.schema.record import VideoId
from reeltalk.store.atomic import write_bytes
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.manifest import hash_file
from reeltalk_household.mini.mini_input import SPECIAL, TOKENIZER, UNKNOWN, MiniShape, MiniWords
from reeltalk_household.questions.proactive import tasks_of
from reeltalk_household.questions.wording import LESSONS, write_dialogue
from reeltalk_household.training.household import FilmedVideo, LabelWords, SeenPerson, check_filmed, filmed_videos
from reeltalk_household.training.lessons import SPLIT, Lessons
from reeltalk_household.training.network import Mini
from reeltalk_household.training.speech import optimisers_of, train_speech
from reeltalk_household.training.vision import Readings, accuracy, optimisers_of_eye, train_encoder, visual_tokens
from reeltalk_streaming.training.settings import MiniSettings

DEV: Final = "dev"
"""The split on which the vision encoder is measured."""
LEAST_OCCURRENCES: Final = 3
"""A word with fewer occurrences is split into pieces."""
ENDING_SHARE: Final = 0.15
"""Share of the vocabulary for endings and other pieces; characters are extra."""
LONGEST_PIECE: Final = 5


def train_words(texts: Iterable[str], size: int, path: Path) -> None:
    """Writes a WordPiece tokenizer: every character, the most frequent words, and the most frequent ends of words.

    The library's own trainer breaks ties by the order of a hash table; counting gives the same words every time.
    """
    tokenizer = Tokenizer(models.WordPiece(unk_token=SPECIAL[UNKNOWN]))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=True)
    counts: Counter[str] = Counter()
    for text in texts:
        normal = tokenizer.normalizer.normalize_str(text)
        counts.update(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
    characters = sorted(set("abcdefghijklmnopqrstuvwxyz0123456789.,?!:;'-").union(*counts))
    pieces = [*SPECIAL, *characters, *(f"##{character}" for character in characters)]
    endings: Counter[str] = Counter()
    for word, count in counts.items():
        for start in range(max(1, len(word) - LONGEST_PIECE), len(word)):
            endings[f"##{word[start:]}"] += count
    words = [word for word, count in _ranked(counts) if count >= LEAST_OCCURRENCES]
    room = max(0, size - len(pieces))
    known = dict.fromkeys([*pieces, *words[: room - int(room * ENDING_SHARE)]])
    rest = [ending for ending, _ in _ranked(endings) if ending not in known]
    known |= dict.fromkeys(rest[: max(0, size - len(known))])
    model = models.WordPiece({piece: number for number, piece in enumerate(known)}, unk_token=SPECIAL[UNKNOWN])
    tokenizer.model = model
    write_bytes(path, tokenizer.to_str(pretty=True).encode())


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


STATE_OF: Final = "state"
"""Key of the step and the signature. They are one value: files with several are written in any order."""
_MOMENTS: Final = ("exp_avg", "exp_avg_sq", "momentum_buffer", "step")
Optimisers = Sequence[torch.optim.Optimizer]


def save_state(path: Path, model: nn.Module, optimisers: Optimisers, *, step: int, signature: str = "") -> None:
    """Writes a state.

    Args:
        path: A `.safetensors` file.
        model: The model; its parameters and buffers are stored.
        optimisers: AdamW or Muon; their moments are stored in the order of their parameters.
        step: Number of finished steps.
        signature: Everything that must be the same to resume the training: settings, data, versions.
    """
    tensors: dict[str, Tensor] = {f"model.{name}": value for name, value in model.state_dict().items()}
    for which, optimiser in enumerate(optimisers):
        for number, kept in optimiser.state_dict()["state"].items():
            found = {name: torch.as_tensor(kept[name]) for name in _MOMENTS if name in kept}
            tensors |= {f"optimiser.{which}.{number}.{name}": value for name, value in found.items()}
    clean = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    write_bytes(path, save(clean, metadata={STATE_OF: f"{step} {signature}"}))


def load_state(path: Path, model: nn.Module, optimisers: Optimisers, *, signature: str = "") -> int:
    """Reads a state into a model and its optimisers.

    Args:
        path: A file of `save_state`.
        model: A model of the same shape.
        optimisers: Optimisers of the same parameters.
        signature: The required signature.

    Returns:
        Number of finished steps.

    Raises:
        InputError: It is not such a file, or belongs to another model or to a training with other settings.
    """
    try:
        with safe_open(str(path), framework="pt") as file:
            step, _, found = (file.metadata() or {}).get(STATE_OF, "").partition(" ")
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (OSError, SafetensorError) as error:
        raise InputError(f"no state of a training: {error}", file=path) from error
    if not step or found != signature:
        raise InputError(
            "it was written with other settings or data",
            file=path,
            hint="go on with the same ones, or begin in another folder",
        )
    weights = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
    try:
        model.load_state_dict(weights)
        for which, optimiser in enumerate(optimisers):
            state = optimiser.state_dict()
            state["state"] = _moments(tensors, f"optimiser.{which}.")
            optimiser.load_state_dict(state)
        return int(step)
    except (RuntimeError, ValueError, KeyError) as error:
        raise InputError(f"it is of another model: {' '.join(str(error).split())[:200]}", file=path) from error


def _moments(tensors: Mapping[str, Tensor], prefix: str) -> dict[int, dict[str, Tensor]]:
    found: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith(prefix):
            number, _, moment = name.removeprefix(prefix).partition(".")
            found.setdefault(int(number), {})[moment] = value
    return found


EYE: Final = "eye.safetensors"
"""File of the part of the network that sees."""
RECOGNISED: Final = "eye.json"
SEEN: Final = "seen.npz"
STATE: Final = "state.safetensors"
LOSSES: Final = "loss.jsonl"
RUN: Final = "run.json"
TEXTS_A_VIDEO: Final = 4
"""Number of dialogues per video for the training of the tokenizer."""


class _Losses:
    """Writes the loss curve, one line per step with its seconds. Lines after the loaded state are dropped."""

    def __init__(self, path: Path) -> None:
        self._path, self._before_s = path, time.monotonic()
        self._lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []

    def keep(self, part: str, steps: int) -> None:
        kept = [line for line in self._lines if (row := json.loads(line))["part"] != part or row["step"] < steps]
        self._lines, self._before_s = kept, time.monotonic()

    @property
    def took_s(self) -> float:
        """Seconds of all steps."""
        return float(sum(json.loads(line).get("took_s", 0.0) for line in self._lines))

    def add(self, part: str, step: int, **losses: float) -> None:
        now_s = time.monotonic()
        row = {"part": part, "step": step} | {name: round(value, 7) for name, value in losses.items()}
        self._lines.append(json.dumps(row | {"took_s": round(now_s - self._before_s, 3)}))
        self._before_s = now_s

    def write(self) -> None:
        write_bytes(self._path, ("\n".join(self._lines) + "\n").encode())


def corpus(videos: Sequence[FilmedVideo], seed: int) -> Iterator[str]:
    """Questions, answers and instructions about videos, in the words of the train split."""
    for place, video in enumerate(videos):
        story = video.story()
        for number in range(TEXTS_A_VIDEO):
            for turn in write_dialogue(story, split=LESSONS, seed=(seed * 7919 + place) * 100 + number, turns=16)[0]:
                yield from (turn.question, *turn.references)
        for task in tasks_of(story, VideoId(video.video.id), SPLIT, seed, until_s=video.video.duration_s):
            for request in task.requests:
                yield request.text
                for moment in request.moments:
                    yield from moment.references
        yield from (spoken.line for spoken in video.speech)


def train_mini(
    benchmark: Benchmark,
    folder: Path,
    settings: MiniSettings,
    *,
    frames: Path,
    executor: Executor,
    progress: Progress | None = None,
    sizes: MiniShape | None = None,
) -> tuple[Mini, MiniWords]:
    """Trains on the train split, and measures the vision encoder on the dev split.

    Args:
        benchmark: A benchmark of `reeltalk world film`.
        folder: Receives the tokenizer, the vision encoder, the state, the loss curve and a description of the training.
            A stopped run resumes from its files.
        settings: Settings of the training.
        frames: Folder for decoded frames; several runs may share it.
        executor: Runs the decoders.
        progress: Called with the name of the task, the number of finished steps and of all steps, and the share.
        sizes: Sizes of the network; those of the shipped one by default. The tokenizer decides the vocabulary.

    Raises:
        BenchmarkError: The benchmark lacks the needed data.
        InputError: The folder holds a training with other settings.
        ModelError: A loss is no longer a finite number.
    """
    check_filmed(benchmark, SPLIT, DEV)
    torch.set_num_threads(settings.threads)
    losses = _Losses(folder / LOSSES)
    tell = progress or (lambda part, done, of, share: None)
    shape = sizes or MiniShape()

    def read(split: str) -> list[FilmedVideo]:
        return filmed_videos(
            benchmark,
            split,
            shape,
            folder=frames,
            executor=executor,
            progress=lambda done, of: tell(f"decoding {split}", done, of, done / of),
        )

    videos = read(SPLIT)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / TOKENIZER).is_file():
        train_words(corpus(videos, settings.seed), settings.vocabulary, folder / TOKENIZER)
    words = MiniWords(folder / TOKENIZER)
    shape = shape.model_copy(update={"vocabulary": words.size})
    eye_signature = _signature(videos, shape, settings, "eye")
    signature = _signature(videos, shape, settings, "eye", "speech", "vocabulary") + hash_file(folder / TOKENIZER)[0]
    torch.manual_seed(settings.seed)
    model = Mini(shape).to(settings.device)
    told = _eye(model, videos, lambda: read(DEV), folder, settings, eye_signature, losses, tell)
    speech = settings.speech
    features, who = _seen(model, videos, folder / SEEN, tell, bf16=settings.eye.bf16)
    lessons = Lessons(
        _as_seen(videos, who),
        words,
        shape.frame_tokens,
        seed=settings.seed,
        short=round(speech.short * speech.steps * speech.batch / 2),
    )
    _speech(model, lessons, features, folder, settings, signature, losses, tell)
    about = {
        "settings": settings.model_dump(mode="json"),
        "signature": signature,
        "videos": len(videos),
        "frames": sum(len(video.times_s) for video in videos),
        "parameters": {name: sum(p.numel() for p in part.parameters()) for name, part in model.named_children()},
        "eye": told,
        "took_s": round(losses.took_s, 1),
        "versions": {"reeltalk": __version__, "torch": torch.__version__},
    }
    write_bytes(folder / RUN, (json.dumps(about, indent=2) + "\n").encode())
    return model.cpu(), words


def _signature(videos: Sequence[FilmedVideo], shape: MiniShape, settings: MiniSettings, *parts: str) -> str:
    told = settings.model_dump(mode="json", include={"seed", *parts})
    sizes = shape.model_dump(mode="json", exclude={"vocabulary"})
    digest = hashlib.sha256(json.dumps([told, sizes, __version__], sort_keys=True).encode())
    for video in videos:
        digest.update(str(video.video.sha256).encode())
    return digest.hexdigest()


def _eye(
    model: Mini, videos: Sequence[FilmedVideo], dev: Callable[[], Sequence[FilmedVideo]], folder: Path,
    settings: MiniSettings, signature: str, losses: _Losses, tell: Progress,
) -> dict[str, float]:  # fmt: skip
    labels = LabelWords.of(videos)
    readings = Readings(model.shape, labels).to(settings.device)
    both = nn.ModuleList([model.encoder, readings])
    optimisers = optimisers_of_eye(model.encoder, readings, settings.eye)
    path, steps = folder / EYE, settings.eye.steps
    first = load_state(path, both, optimisers, signature=signature) if path.is_file() else 0
    losses.keep("eye", first)

    def report(step: int, loss: float) -> None:
        losses.add("eye", step, loss=loss)
        tell("learning to see", step + 1, steps, (step + 1) / steps)
        if (step + 1) % settings.save_every == 0 or step + 1 == steps:
            save_state(path, both, optimisers, step=step + 1, signature=signature)
            losses.write()

    train_encoder(
        model.encoder, readings, videos, labels, settings.eye, optimisers, report, seed=settings.seed, first=first
    )
    measured = folder / RECOGNISED
    if first < steps or not measured.is_file():
        found = accuracy(model.encoder, readings, dev(), labels, bf16=settings.eye.bf16)
        write_bytes(measured, (json.dumps(found, indent=2) + "\n").encode())
    told: dict[str, float] = json.loads(measured.read_text(encoding="utf-8"))
    return told


def _seen(
    model: Mini, videos: Sequence[FilmedVideo], path: Path, tell: Progress, *, bf16: bool
) -> tuple[list[NDArray[np.float32]], list[NDArray[np.int64]]]:
    """The visual tokens of all frames, and whom they show. The trained vision encoder no longer changes them."""
    ends = np.cumsum([len(video.times_s) for video in videos])
    if not path.is_file():
        parts, who = [], []
        for number, video in enumerate(videos, 1):
            tokens, people = visual_tokens(model.encoder, video, bf16=bf16)
            parts.append(tokens)
            who.append(people)
            tell("looking at every frame", number, len(videos), number / len(videos))
        partial = path.with_suffix(".part.npz")
        np.savez(partial, tokens=np.concatenate(parts), who=np.concatenate(who))
        partial.replace(path)
    with np.load(path, allow_pickle=False) as found:
        return np.split(found["tokens"], ends[:-1]), np.split(found["who"], ends[:-1])


def _as_seen(videos: Sequence[FilmedVideo], who: Sequence[NDArray[np.int64]]) -> list[FilmedVideo]:
    """The videos with the people of each frame in the order in which the eye found them."""
    found = []
    for video, people in zip(videos, who, strict=True):
        labels = [
            replace(second, people=tuple(second.people[at] if at >= 0 else SeenPerson() for at in row))
            for second, row in zip(video.labels, people, strict=True)
        ]
        found.append(replace(video, labels=tuple(labels)))
    return found


def _speech(
    model: Mini, lessons: Lessons, features: Sequence[Any], folder: Path, settings: MiniSettings, signature: str,
    losses: _Losses, tell: Progress,
) -> None:  # fmt: skip
    optimisers = optimisers_of(model, settings.speech)
    path, steps = folder / STATE, settings.speech.steps
    first = load_state(path, model, optimisers, signature=signature) if path.is_file() else 0
    losses.keep("speech", first)

    def report(step: int, found: dict[str, float]) -> None:
        losses.add("speech", step, **found)
        tell("learning to answer", step + 1, steps, (step + 1) / steps)
        if (step + 1) % settings.save_every == 0 or step + 1 == steps:
            save_state(path, model, optimisers, step=step + 1, signature=signature)
            losses.write()

    train_speech(model, lessons, features, settings.speech, optimisers, report, seed=settings.seed, first=first)
