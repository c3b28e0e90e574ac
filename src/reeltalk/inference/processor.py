"""Loads processors of vision-language checkpoints from disk, even if torchvision is not installed.

transformers' processors for InternVL, Qwen-VL and SmolVLM have a part for videos that needs torchvision. reeltalk
passes
frames as single images, so it builds a processor without that part if torchvision is missing.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reeltalk.errors import InputError

TUNED_FILE: Final = "tuned.json"
"""File next to a tuned checkpoint or an adapter."""
HASHED_BYTES: Final = 1 << 20
"""Bytes from the beginning of each weight file."""
SAME_FOR_IMAGES: Final = {"SmolVLMProcessor": "Idefics3Processor"}
"""SmolVLM's own class needs a package that spells out numbers, for the lengths of videos. For images both are equal."""


class Tuned(BaseModel):
    """How a checkpoint or an adapter was tuned, as far as it matters for using it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: Literal["reeltalk-tuned-1"] = "reeltalk-tuned-1"
    frame_tokens: Annotated[int, Field(ge=1)]
    """Most image tokens per frame in tuning."""
    trained_on: str
    """`checkpoint_hash` of the base checkpoint."""

    @classmethod
    def beside(cls, folder: Path) -> "Tuned | None":
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
