"""The tokenizer of reeltalk-mini, trained on the train split's questions and answers."""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from reeltalk.inference.mini_words import SPECIAL
from reeltalk.store.atomic import write_bytes


def train_words(texts: Iterable[str], size: int, path: Path) -> None:
    """Write a tokenizer.

    Args:
        texts: What it shall know well.
        size: Words and pieces of words at most.
        path: Where it is written.
    """
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=True)
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=list(SPECIAL), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    write_bytes(path, tokenizer.to_str().encode())
