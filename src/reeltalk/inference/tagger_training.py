"""Train a linear tagger with scikit-learn: n-grams, one logistic regression a tag, calibrated on held-out groups.

Loaded only where a tagger is trained; running one needs numpy alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import BenchmarkError, MissingExtraError
from reeltalk.inference.linear_tagger import (
    LONGEST_TEXT_CHARS,
    Analyzer,
    FeatureBlock,
    Floats,
    LinearTagger,
    NGrams,
    characters_of,
    known_vocabularies,
    word_ngrams,
)
from reeltalk.schema.record import Json

Reads = Literal["question", "question+answer"]
FOLDS: Final = 5
FEWEST_GROUPS: Final = 2
BLOCKS: Final[tuple[tuple[Literal["question", "answer"], Analyzer, int, int, int], ...]] = (
    ("question", "word", 1, 3, 1200),
    ("question", "char_wb", 2, 4, 1200),
    ("answer", "word", 1, 2, 600),
)
"""Part of the turn, kind of n-gram, shortest, longest, and how many of the most frequent ones count."""
STRENGTH: Final = 30.0
"""scikit-learn's `C`, the inverse of how strongly large weights are held down."""


@dataclass(frozen=True)
class Example:
    """A turn with its reference tags."""

    question: str
    answer: str
    tags: Mapping[str, tuple[str, ...]]
    """Tags by vocabulary."""
    group: str
    """Turns of one group are held out together when probabilities are calibrated: a video, or a kind of question."""


@dataclass(frozen=True)
class Fitted:
    """A tagger, and the scikit-learn objects that it was made from."""

    tagger: LinearTagger
    features: Any
    """A ColumnTransformer of TfidfVectorizers over questions and answers."""
    classifiers: tuple[Any, ...]
    """A LogisticRegression a tag; None for a tag that all turns carry, or none."""
    calibration: Any
    """A LogisticRegression from a score to whether the tag applies, one for all tags."""


def train(
    examples: Sequence[Example], *, name: str, reads: Reads = "question+answer", card: Mapping[str, Json] | None = None
) -> Fitted:
    """Train a tagger.

    Scores become probabilities by one slope and offset for all tags, fitted on turns whose group was held out: a tag
    that a single kind of question carries could not be calibrated by itself.

    Args:
        examples: What to learn from.
        name: Name of the tagger.
        reads: Which parts of a turn it looks at.
        card: What it was trained on, kept in the file.

    Raises:
        BenchmarkError: There are fewer than two groups, no words, or no tag that some turns carry and others do not.
        MissingExtraError: scikit-learn is not installed.

    Reference:
        Platt, "Probabilistic Outputs for Support Vector Machines", 1999, with whole groups held out.
    """
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtraError("training a tagger", extra="tag") from None
    vocabularies = known_vocabularies()
    targets = target_matrix([example.tags for example in examples], vocabularies)
    if len({example.group for example in examples}) < FEWEST_GROUPS:
        raise BenchmarkError(f"a tagger needs turns of {FEWEST_GROUPS} videos or kinds, or more, to learn from")
    if not (targets.any(axis=0) & ~targets.all(axis=0)).any():
        raise BenchmarkError("all turns carry the same tags; there is nothing to learn from them")
    texts = [(e.question[:LONGEST_TEXT_CHARS], e.answer[:LONGEST_TEXT_CHARS]) for e in examples]
    held_out = _held_out_scores(texts, targets, [example.group for example in examples], reads)
    calibration = LogisticRegression(C=1e6).fit(held_out.reshape(-1, 1), targets.reshape(-1))
    features, blocks = _features(texts, reads)
    classifiers, weights, intercepts = _classifiers(features.transform(_table(texts)), targets)
    tagger = LinearTagger(
        name,
        vocabularies,
        blocks,
        weights,
        intercepts,
        float(calibration.coef_[0, 0]),
        float(calibration.intercept_[0]),
        dict(card or {}),
    )
    return Fitted(tagger, features, classifiers, calibration)


def target_matrix(
    tags: Sequence[Mapping[str, tuple[str, ...]]], vocabularies: Mapping[str, tuple[str, ...]]
) -> NDArray[np.bool_]:
    """(N, T) which of all tags each turn carries."""
    rows = [[tag in given.get(name, ()) for name, known in vocabularies.items() for tag in known] for given in tags]
    return np.array(rows, dtype=bool).reshape(len(tags), sum(map(len, vocabularies.values())))


def _features(texts: Sequence[tuple[str, str]], reads: Reads) -> tuple[Any, tuple[FeatureBlock, ...]]:
    """N-grams fitted to the texts; those of a part in which no turn has words are left out."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer

    chosen = []
    for place, (field, analyzer, shortest, longest, most) in enumerate(BLOCKS):
        column = 0 if field == "question" else 1
        words = NGrams(analyzer, shortest, longest, (), np.zeros(0))
        runs = word_ngrams if analyzer == "word" else characters_of
        if (field == "answer" and reads == "question") or not any(any(runs(t[column].lower(), words)) for t in texts):
            continue
        vectorizer = TfidfVectorizer(
            analyzer=analyzer, ngram_range=(shortest, longest), max_features=most, sublinear_tf=True
        )
        chosen.append((f"{field} {analyzer} {place}", vectorizer, column, BLOCKS[place]))
    if not chosen:
        raise BenchmarkError("no question has a word to learn from")
    features = ColumnTransformer([(name, vectorizer, column) for name, vectorizer, column, _ in chosen])
    features.set_params(sparse_threshold=1.0)
    features.fit(_table(texts))
    blocks = []
    for name, _, _, (field, analyzer, shortest, longest, _) in chosen:
        fitted = features.named_transformers_[name]
        terms = tuple(map(str, fitted.get_feature_names_out()))
        blocks.append(
            FeatureBlock(field, NGrams(analyzer, shortest, longest, terms, np.asarray(fitted.idf_, np.float64)))
        )
    return features, tuple(blocks)


def _table(texts: Sequence[tuple[str, str]]) -> Any:
    """(N, 2) questions and answers as scikit-learn takes them."""
    return np.array(texts, dtype=object).reshape(len(texts), 2)


def _classifiers(values: Any, targets: NDArray[np.bool_]) -> tuple[tuple[Any, ...], Floats, Floats]:
    """A classifier a tag, with (F, T) weights and (T,) intercepts."""
    from sklearn.linear_model import LogisticRegression

    classifiers: list[Any] = []
    weights, intercepts = np.zeros((values.shape[1], targets.shape[1])), np.zeros(targets.shape[1])
    for column, target in enumerate(targets.T):
        carried, missing = float(target.sum()), float((~target).sum())
        if not carried or not missing:
            # Nothing can be learnt; odds with half a turn on either side stay finite.
            intercepts[column] = np.log((carried + 0.5) / (missing + 0.5))
            classifiers.append(None)
            continue
        fitted = LogisticRegression(C=STRENGTH, max_iter=2000).fit(values, target)
        weights[:, column], intercepts[column] = fitted.coef_[0], fitted.intercept_[0]
        classifiers.append(fitted)
    return tuple(classifiers), weights, intercepts


def _held_out_scores(
    texts: Sequence[tuple[str, str]], targets: NDArray[np.bool_], groups: Sequence[str], reads: Reads
) -> Floats:
    """(N, T) log odds of each turn by classifiers that saw no turn of its group."""
    from sklearn.model_selection import GroupKFold

    found = np.zeros(targets.shape)
    folds = GroupKFold(min(FOLDS, len(set(groups))))
    for seen, unseen in folds.split(np.zeros(len(texts)), groups=groups):
        features, _ = _features([texts[i] for i in seen], reads)
        _, weights, intercepts = _classifiers(features.transform(_table([texts[i] for i in seen])), targets[seen])
        found[unseen] = features.transform(_table([texts[i] for i in unseen])) @ weights + intercepts
    return found
