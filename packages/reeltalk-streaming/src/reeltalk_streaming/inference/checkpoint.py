"""Vision-language checkpoints, adapters, processors and tokenizers on disk, through transformers' Auto classes.

Nothing is downloaded, and code inside a checkpoint is not run. transformers' processors for InternVL, Qwen-VL and
SmolVLM have a part for videos that needs torchvision. reeltalk passes frames as single images, so it builds a processor
without that part if torchvision is missing.
"""

import contextlib
import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reeltalk.errors import InputError, MissingExtraError, ModelError

TUNED_FILE: Final = "tuned.json"
"""File next to a tuned checkpoint or an adapter."""
HASHED_BYTES: Final = 1 << 20
"""Bytes from the beginning of each weight file."""
SAME_FOR_IMAGES: Final = {"SmolVLMProcessor": "Idefics3Processor"}
"""SmolVLM's own class needs a package that spells out numbers, for the lengths of videos. For images both are equal."""


class TuningRecord(BaseModel):
    """How a checkpoint or an adapter was tuned, as far as it matters for using it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: Literal["reeltalk-tuned-1"] = "reeltalk-tuned-1"
    frame_tokens: Annotated[int, Field(ge=1)]
    """Most image tokens per frame in tuning."""
    trained_on: str
    """`checkpoint_hash` of the base checkpoint."""

    @classmethod
    def beside(cls, folder: Path) -> "TuningRecord | None":
        """Reads `tuned.json` in a folder. Returns None if there is none.

        Raises:
            InputError: The file cannot be read.
        """
        file = folder / TUNED_FILE
        if not file.is_file():
            return None
        try:
            return cls.model_validate_json(file.read_bytes())
        except (OSError, ValidationError) as error:
            raise InputError("does not say how frames are prepared", file=file, hint="train or merge anew") from error


def frame_options(processor: Any, frame_tokens: int) -> dict[str, Any]:
    """Options for a processor call, so that a frame is one picture within its token budget.

    A frame is never cut into tiles, because a dozen tiles a second would fill any context.

    Args:
        processor: A transformers processor.
        frame_tokens: Most image tokens per frame. Only Qwen-VL's pictures are shrunk for it; others have one size.

    Returns:
        Keyword arguments for the call of the processor.
    """
    images = processor.image_processor
    if hasattr(images, "merge_size"):
        # Qwen-VL: as many tokens as the picture has squares of merge_size x merge_size patches.
        square_px = (images.patch_size * images.merge_size) ** 2
        return {"size": {"shortest_edge": square_px, "longest_edge": frame_tokens * square_px}}
    if hasattr(images, "crop_to_patches"):
        return {"crop_to_patches": False}
    return {"do_image_splitting": False} if hasattr(images, "do_image_splitting") else {}


def load_processor(folder: Path) -> Any:
    """The processor of a checkpoint, from disk only.

    Args:
        folder: Contains a tokenizer, an image processor and their settings.

    Raises:
        Exception: Any error of transformers for a broken folder.
    """
    import transformers as library

    transformers: Any = library

    own = {"local_files_only": True, "trust_remote_code": False}
    name = None if transformers.utils.is_torchvision_available() else _named_class(folder)
    found = getattr(transformers, SAME_FOR_IMAGES.get(name or "", name or ""), None)
    if found is None or not hasattr(found, "get_attributes"):
        return transformers.AutoProcessor.from_pretrained(folder, **own)
    kind: Any = found
    parts = kind.get_attributes()
    if not set(parts) <= {"image_processor", "tokenizer", "video_processor"}:
        return transformers.AutoProcessor.from_pretrained(folder, **own)

    def check(self: Any, name: str, argument: Any) -> Any:
        if name == "video_processor" and argument is None:
            return None
        return kind.check_argument_for_proper_class(self, name, argument)

    # It keeps the class name, because transformers looks up the parts of its processors by it.
    for_images: Any = type(kind.__name__, (kind,), {"check_argument_for_proper_class": check})
    loaders: dict[str, Callable[[], Any]] = {
        "image_processor": lambda: transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **own),
        "tokenizer": lambda: transformers.AutoTokenizer.from_pretrained(folder, **own),
        "video_processor": lambda: None,
    }
    settings, _ = kind.get_processor_dict(folder, **own)
    return for_images.from_args_and_dict([loaders[part]() for part in parts], settings)


def checkpoint_hash(folder: Path) -> str:
    """64 hexadecimal digits that identify a checkpoint or an adapter.

    The hash covers the names and sizes of its files and the first MiB of each, so it is fast even for 100 GB.

    Raises:
        InputError: The folder cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for path in sorted(folder.iterdir()):
            if path.suffix in (".json", ".safetensors", ".jinja") and path.is_file():
                with path.open("rb") as stream:
                    digest.update(f"{path.name} {path.stat().st_size}\n".encode() + stream.read(HASHED_BYTES))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=folder) from error
    return digest.hexdigest()


def _named_class(folder: Path) -> str | None:
    """The processor class that a file of the folder names. It looks in the same places as transformers."""
    for name in ("processor_config.json", "preprocessor_config.json", "tokenizer_config.json"):
        try:
            named = json.loads((folder / name).read_text(encoding="utf-8")).get("processor_class")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(named, str):
            return named
    return None


CONFIG: Final = "config.json"
ADAPTER_CONFIG: Final = "adapter_config.json"
FOLDER_HINT: Final = "give the folder of a checkpoint, as 'hf download' makes it"
PROCESSOR_FILES: Final = ("processor_config.json", "preprocessor_config.json")

Weights = Literal["auto", "float32", "bfloat16"]
"""Precision of weights in memory; `auto` uses the precision of the files."""


@dataclass(frozen=True)
class Checkpoint:
    """A model with its processor, loaded on the CPU."""

    path: Path
    """The folder that was requested."""
    base: Path
    """The folder of the weights: `path`, or the checkpoint that the adapter in `path` was trained on."""
    processor: Any = field(repr=False)
    model: Any = field(repr=False)
    tuned: TuningRecord | None
    """How the checkpoint was tuned, if the folder says so."""

    @property
    def untrained(self) -> str | None:
        """What to tell a user of weights that nothing has trained; None if they were trained."""
        # The first step of any training moves them. In a new network each is constant.
        norms = [getattr(part, "weight", None) for part in self.model.modules() if "Norm" in type(part).__name__]
        scales = [weight for weight in norms if weight is not None]
        if not scales or not all(bool((weight == weight[0]).all()) for weight in scales):
            return None
        return f"{self.base} holds the random weights of a new network that nothing has trained: its words mean nothing"

    @property
    def image_token_id(self) -> int:
        """The token that stands for a part of a picture."""
        return _image_token_id(self.model.config)


def open_checkpoint(path: Path, *, weights: Weights = "auto", purpose: str) -> Checkpoint:
    """Load a checkpoint, or an adapter and the checkpoint that it was trained on.

    Args:
        path: Folder with `config.json`, weights as safetensors, a tokenizer, a processor and its chat template; or with
            `adapter_config.json` and `adapter_model.safetensors` as peft writes them.
        weights: Precision in memory.
        purpose: The task that needs it, for the error if transformers is not installed.

    Raises:
        MissingExtraError: torch, transformers or peft is not installed.
        InputError: The folder does not exist, holds no model or processor that transformers can load, or the two do not
            fit each other.
        ModelError: There is not enough memory.
    """
    try:
        import peft
        import torch
        import transformers
    except ImportError:
        raise MissingExtraError(purpose, extra="train", of="reeltalk-streaming") from None
    base = base_of(path)
    require_folder(base)
    if not (base / CONFIG).is_file():
        raise InputError(f"no {CONFIG} in the folder", file=base, hint=FOLDER_HINT)
    processor: Any = _loaded("processor", base, lambda: load_processor(base))
    if not hasattr(processor, "image_processor"):
        raise InputError(
            f"no image processor (none of {', '.join(PROCESSOR_FILES)} names one)",
            file=base,
            hint="copy the processor's files beside the weights",
        )
    if not getattr(processor, "chat_template", None):
        raise InputError("the processor has no chat template", file=base, hint="add chat_template.jinja")
    dtype = "auto" if weights == "auto" else getattr(torch, weights)
    model: Any = _loaded(
        "model",
        base,
        lambda: transformers.AutoModelForImageTextToText.from_pretrained(
            base, local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype=dtype
        ),
    )
    _check_fit(base, processor, model)
    tuned = TuningRecord.beside(path)
    if base != path:
        if tuned is not None and tuned.trained_on != checkpoint_hash(base):
            raise InputError(
                f"the adapter was trained on another checkpoint than {base}",
                file=path,
                hint=f"name the right one in {ADAPTER_CONFIG}",
            )
        with peft_calls():
            model = _loaded("adapter", path, lambda: peft.PeftModel.from_pretrained(model, path, local_files_only=True))
    return Checkpoint(path, base, processor, model, tuned)


def require_folder(path: Path) -> None:
    """Raise `InputError` if there is no folder. Models check it before they import torch, which takes seconds."""
    if not path.is_dir():
        raise InputError("no such folder", file=path, hint=FOLDER_HINT)


def base_of(path: Path) -> Path:
    """The checkpoint that an adapter was trained on, or the folder itself if it holds no adapter.

    Raises:
        InputError: The adapter does not name its checkpoint, or that checkpoint does not exist.
    """
    file = path / ADAPTER_CONFIG
    if not file.is_file():
        return path
    try:
        named = json.loads(file.read_text(encoding="utf-8"))["base_model_name_or_path"]
        base = Path(named)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError("does not name the checkpoint that the adapter was trained on", file=file) from error
    base = base if base.is_absolute() else path / base
    if not base.is_dir():
        raise InputError(
            "the checkpoint that the adapter was trained on is not there",
            file=file,
            place="$.base_model_name_or_path",
            value=named,
            hint="write where it is now",
        )
    return base


@contextlib.contextmanager
def within_memory(advice: str) -> Iterator[None]:
    """Convert an out-of-memory failure, of the machine or of its accelerator, into an error.

    Raises:
        ModelError: There is not enough memory.
    """
    import torch

    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise ModelError(advice) from error
    except RuntimeError as error:
        if "not enough memory" in str(error) or "can't allocate memory" in str(error):
            raise ModelError(advice) from error
        raise


@contextlib.contextmanager
def peft_calls() -> Iterator[None]:
    """Silence a warning that peft causes: it reads a property of transformers that has a new name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing", category=FutureWarning)
        yield


def load_error_text(error: BaseException) -> str:
    """The message of an error in one line, or the name of its class."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def _loaded(what: str, path: Path, load: Callable[[], Any]) -> Any:
    try:
        with within_memory(f"the memory does not suffice to load the {what} of {path}; take a smaller one"):
            return load()
    except ModelError:
        raise
    except ImportError as error:
        raise InputError(
            f"its {what} needs a package that is not installed: {load_error_text(error)}", file=path
        ) from error
    except Exception as error:
        # transformers raises OSError, ValueError, KeyError and others for errors in a folder.
        raise InputError(
            f"transformers cannot load its {what}: {load_error_text(error)}",
            file=path,
            hint="the folder must hold what save_pretrained of model and processor wrote",
        ) from error


def _check_fit(path: Path, processor: Any, model: Any) -> None:
    """Refuse a tokenizer or a processor of another model."""
    tokenizer = processor.tokenizer
    rows = int(model.get_input_embeddings().weight.shape[0])
    largest = max(tokenizer.get_vocab().values())
    mend = "take tokenizer, processor and weights from one checkpoint"
    if largest >= rows:
        raise InputError(
            f"the tokenizer has tokens up to {largest:,}, the model has embeddings for {rows:,}", file=path, hint=mend
        )
    expected = _image_token_id(model.config)
    word = getattr(processor, "image_token", None)
    vocabulary = tokenizer.get_vocab()
    if word is None or word not in vocabulary:
        raise InputError(f"the tokenizer lacks the image token {word!r}", file=path, hint=mend)
    if vocabulary[word] != expected:
        raise InputError(
            f"the image token {word!r} is {vocabulary[word]} for the tokenizer and {expected} for the model",
            file=path,
            hint=mend,
        )


def _image_token_id(config: Any) -> int:
    found = getattr(config, "image_token_id", None)
    return int(found if found is not None else getattr(config, "image_token_index", -1))
