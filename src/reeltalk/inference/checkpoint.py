"""Vision-language checkpoints and adapters on disk, through transformers' Auto classes.

Nothing is downloaded, and code inside a checkpoint is not run.
"""

import contextlib
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from reeltalk.errors import InputError, MissingExtraError, ModelError
from reeltalk.inference.processor import Tuned, checkpoint_hash, load_processor

CONFIG: Final = "config.json"
ADAPTER_CONFIG: Final = "adapter_config.json"
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
    tuned: Tuned | None
    """How the checkpoint was tuned, if the folder says so."""

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
        raise MissingExtraError(purpose, extra="train") from None
    base = base_of(path)
    if not (base / CONFIG).is_file():
        what = "no such folder" if not base.is_dir() else f"no {CONFIG} in the folder"
        raise InputError(what, file=base, hint="give the folder of a checkpoint, as 'hf download' makes it")
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
    tuned = Tuned.beside(path)
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

    Args:
        advice: The text of the error.

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
