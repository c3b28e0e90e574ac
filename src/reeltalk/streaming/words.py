"""The tokenizer of reeltalk-mini, made from the train split's questions and answers."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from reeltalk.inference.mini_words import SPECIAL, UNKNOWN
from reeltalk.store.atomic import write_bytes

LEAST: Final = 3
"""A word that is rarer is put together from pieces."""
ENDINGS: Final = 0.15
"""Share of the vocabulary that is endings and other pieces; characters come on top."""
LONGEST_PIECE: Final = 5


def train_words(texts: Iterable[str], size: int, path: Path) -> None:
    """Write a WordPiece tokenizer: every character, the most frequent words, and the most frequent ends of words.

    The library's own trainer breaks ties by the order of a hash table; counting gives the same words every time.

    Args:
        texts: What it shall know well.
        size: Words and pieces of words at most.
        path: Where it is written.
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
    words = [word for word, count in _ranked(counts) if count >= LEAST]
    room = max(0, size - len(pieces))
    known = dict.fromkeys([*pieces, *words[: room - int(room * ENDINGS)]])
    rest = [ending for ending, _ in _ranked(endings) if ending not in known]
    known |= dict.fromkeys(rest[: max(0, size - len(known))])
    model = models.WordPiece({piece: number for number, piece in enumerate(known)}, unk_token=SPECIAL[UNKNOWN])
    tokenizer.model = model
    write_bytes(path, tokenizer.to_str(pretty=True).encode())


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
