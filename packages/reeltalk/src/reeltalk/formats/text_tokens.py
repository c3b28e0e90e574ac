"""Counts the tokens of texts with the tokenizer of a model's folder."""

from pathlib import Path
from typing import Any

from reeltalk.errors import InputError, MissingExtraError


class TextTokens:
    """Counts tokens with the tokenizer of a model's folder.

    `tokenizer.json` is read as it is; other tokenizers go through transformers, without code from the folder.

    Args:
        folder: The model's folder, or `tokenizer.json` itself.

    Raises:
        InputError: There is no tokenizer, or it cannot be read.
        MissingExtraError: It needs transformers, which is not installed.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.exists():
            raise InputError("no such file or folder", file=folder, hint="give the folder of the model's tokenizer")
        file = folder if folder.is_file() else folder / "tokenizer.json"
        self._fast: Any = None
        self._slow: Any = None
        if file.is_file():
            self._fast = _read(file)
        else:
            self._slow = _load(folder)

    def __call__(self, text: str) -> int:
        """Number of tokens of a text, without special ones."""
        if self._fast is not None:
            return len(self._fast.encode(text, add_special_tokens=False).ids)
        return len(self._slow.encode(text, add_special_tokens=False))


def _read(file: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError("counting with a tokenizer", package="tokenizers") from None
    try:
        tokenizer = Tokenizer.from_file(str(file))
    # The library raises a bare Exception for every problem of the file.
    except Exception as error:
        raise InputError(f"no tokenizer that can be read: {str(error)[:200]}", file=file) from None
    # The file may turn on truncation, and then the count would be too small.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _load(folder: Path) -> Any:
    if not any((folder / name).is_file() for name in ("tokenizer_config.json", "tokenizer.model", "vocab.txt")):
        raise InputError("holds no tokenizer", file=folder, hint="it needs tokenizer.json or tokenizer_config.json")
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise MissingExtraError(
            "counting with a tokenizer that has no tokenizer.json", package="transformers"
        ) from None
    try:
        return AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, ImportError, KeyError, TypeError) as error:
        raise InputError(f"no tokenizer that can be read: {str(error)[:200]}", file=folder) from None
