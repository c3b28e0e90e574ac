"""Text metrics by name: values of answers, with the statistics that resampling of videos needs.

`TEXT_METRICS` is the registry of all their numbers. A user's own metric is a function that returns a number for each
answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import ReeltalkError, SettingError
from reeltalk.extension import PYTHON_PREFIX, error_line, loaded_function
from reeltalk.metrics.info import MetricInfo
from reeltalk.metrics.meteor import METEOR, MeteorProcess, meteor_from_statistics
from reeltalk.metrics.token_metrics import (
    BLEU,
    CIDER,
    EXACT_MATCH,
    ROUGE_L,
    TOKEN_F1,
    Corpus,
    bleu_from_statistics,
    bleu_statistics,
    cider_per_item,
    exact_match_per_item,
    rouge_l_per_item,
    token_f1_per_item,
)
from reeltalk.metrics.tokenise import Spoken, language_parts, languages_of, tokenise, why_not_tokenised
from reeltalk.metrics.uncertainty import MeanInterval, measure_interval, numbered_clusters

Floats = NDArray[np.float64]

SIMILARITY: Final = MetricInfo(
    "similarity",
    "Similarity",
    low=-1.0,
    answer_rank=30,
    what="cosine of sentence embeddings (all-MiniLM-L6-v2, 8 bits), best reference; mean of items",
    source="Reimers & Gurevych 2019, arXiv 1908.10084",
)
TEXT_METRICS: Final = {info.name: info for info in (*BLEU, METEOR, ROUGE_L, CIDER, TOKEN_F1, EXACT_MATCH, SIMILARITY)}
"""Every number of a text metric, by name."""
METRICS: Final[dict[str, tuple[str, ...]]] = {"bleu": tuple(info.name for info in BLEU)} | {
    name: (name,) for name in TEXT_METRICS if not name.startswith("bleu_")
}
"""Numbers of each metric on the command line."""
ENGLISH_ONLY: Final = "METEOR 1.5 scores English only, and some references are Chinese"
WHY_CHARS: Final = 300
"""Longest reason, in characters, of a metric that could not be computed."""


TOKEN_METRICS: Final[dict[str, tuple[Callable[[Corpus], Floats], str]]] = {
    "rouge_l": (rouge_l_per_item, "rouge:l-beta1.2"),
    "cider": (cider_per_item, "cider:d-sigma6-df-of-file"),
    "token_f1": (token_f1_per_item, "f1:token-bag"),
    "exact_match": (exact_match_per_item, "match:tokens"),
}
"""Metrics that are means over items and need tokens alone: value of each item, and part of the signature."""


@dataclass(frozen=True)
class MetricResult:
    """One metric of one model's answers."""

    name: str
    corpus: float
    """Value of the whole file, as the original code of the metric computes it."""
    per_item: Floats
    """(N,) value of each item alone."""
    statistics: Floats
    """(N, K) contribution of each item to the corpus value."""
    from_sums: Callable[[Floats, Floats], Floats]
    """(R,) corpus values from (R, K) summed statistics and (R,) numbers of items."""
    signature: str
    """`key:value` parts separated by `|`."""

    def interval(self, chosen: NDArray[np.bool_], clusters: Sequence[str] | NDArray[np.intp]) -> MeanInterval:
        """The value over some items with its 95 % interval, clustered by video.

        Args:
            chosen: (N,) True for the items; at least one.
            clusters: (N,) source video of each item, or its number in the order of names.
        """
        info = TEXT_METRICS.get(self.name)
        videos = clusters if isinstance(clusters, np.ndarray) else numbered_clusters(clusters)
        statistics = self.statistics
        if not chosen.all():
            statistics, videos = statistics[chosen], videos[chosen]
        return measure_interval(statistics, videos, self.from_sums, info.bounds if info else (None, None))


def metric_names(metrics: Sequence[str]) -> list[str]:
    """Names of the numbers of some metrics, in order.

    Raises:
        SettingError: One is unknown, or none is given.
    """
    if not metrics:
        raise SettingError(f"no metric is named; known are {', '.join(METRICS)}")
    for name in metrics:
        if name not in METRICS and not is_own(name):
            raise SettingError(f"unknown metric '{name}'; known are {', '.join(METRICS)}, python:FILE.py:FUNCTION")
    wanted = dict.fromkeys(metrics)
    names = [name for metric in wanted for name in ((own_name(metric),) if is_own(metric) else METRICS[metric])]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SettingError(f"two metrics are called {twice[0]!r}; give your function another name")
    return names


def score_texts(
    answers: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str],
    *,
    languages: Sequence[Spoken] | None = None,
    spoken: frozenset[Spoken] = frozenset(),
    meteor: MeteorProcess | None = None,
    embed: Callable[[Sequence[str]], Floats] | None = None,
    embedder: str = "",
    unscored: dict[str, str] | None = None,
) -> dict[str, MetricResult]:
    """Score answers against references.

    Args:
        answers: One text an item.
        references: For each item one or more texts.
        metrics: Keys of `METRICS`, and `python:MODULE:FUNCTION` for a user's own functions.
        languages: Language of the tokens of each item, as from `languages_of`; that of its references by default. A
            foreign word in an answer is a token like any other.
        spoken: Languages of the whole file, if these items are a part of it.
        meteor: A running METEOR; needed for `meteor`, which is for English only.
        embed: Returns (N, D) unit vectors for N texts; needed for `similarity`.
        embedder: Name of the model of `embed`, for the signature.
        unscored: Filled with the reason of each number that could not be computed; without it the error is raised.

    Returns:
        A result for each number, in the order of `metric_names`.

    Raises:
        SettingError: A metric is unknown, does not fit the language, or is a function that failed.
        MeteorError: Java failed.
        ValueError: There are no items, or an item has no reference.
    """
    names = metric_names(metrics)
    own = list(languages) if languages is not None else languages_of(references)

    def tokens() -> Iterator[list[str]]:
        return (tokenise(text, language) for text, language in zip(answers, own, strict=True))

    def reference_tokens() -> Iterator[list[list[str]]]:
        pairs = zip(references, own, strict=True)
        return ([tokenise(text, language) for text in group] for group, language in pairs)

    corpus = Corpus(tokens(), reference_tokens())
    unsplit = why_not_tokenised(references)
    whole = spoken or frozenset(own)
    tok = language_parts(whole)
    results: dict[str, MetricResult] = {}
    for metric in dict.fromkeys(metrics):
        try:
            if unsplit is not None and metric in {"meteor", "bleu", *TOKEN_METRICS}:
                raise SettingError(unsplit)
            if metric == "cider" and len(set(map(tuple, references))) < 2:
                raise SettingError("CIDEr weighs words by how rare they are, and all these references are the same")
            if metric == "meteor":
                results[metric] = _meteor(list(tokens()), list(reference_tokens()), meteor, whole, tok)
            elif metric == "similarity":
                if embed is None:
                    raise SettingError("similarity needs an embedder")
                results[metric] = _mean_result(
                    metric, _similarity(answers, references, embed), f"embedding:{embedder}|pool:max-over-references"
                )
            elif is_own(metric):
                values, signature = own_values(metric, answers, references)
                results[own_name(metric)] = _mean_result(own_name(metric), values, signature)
            elif metric == "bleu":
                results |= _bleu(corpus, tok)
            else:
                per_item, parts = TOKEN_METRICS[metric]
                results[metric] = _mean_result(metric, per_item(corpus), f"{tok}|{parts}")
        except Exception as error:
            # Java, a network or a user's function may fail in any way; the other metrics must not be lost.
            if unscored is None:
                raise
            why = str(error) if isinstance(error, ReeltalkError) else f"{type(error).__name__}: {error}"
            unscored |= dict.fromkeys(metric_names([metric]), " ".join(why.split())[:WHY_CHARS])
    return {name: results[name] for name in names if name in results}


def _bleu(corpus: Corpus, tok: str) -> dict[str, MetricResult]:
    statistics = bleu_statistics(corpus)
    whole = bleu_from_statistics(statistics.sum(axis=0, keepdims=True))[0]
    items = bleu_from_statistics(statistics)
    return {
        name: MetricResult(
            name,
            float(whole[order]),
            items[:, order],
            statistics,
            lambda sums, _, order=order: bleu_from_statistics(sums)[:, order],  # type: ignore[misc]
            f"{tok}|bleu:coco-closest",
        )
        for order, name in enumerate(METRICS["bleu"])
    }


def _meteor(
    tokens: Sequence[Sequence[str]],
    references: Sequence[Sequence[Sequence[str]]],
    meteor: MeteorProcess | None,
    spoken: frozenset[Spoken],
    tok: str,
) -> MetricResult:
    if spoken != {"en"}:
        raise SettingError(ENGLISH_ONLY)
    if meteor is None:
        raise SettingError("meteor needs a running METEOR")
    statistics, per_item = meteor.statistics(
        [" ".join(text) for text in tokens], [[" ".join(text) for text in group] for group in references]
    )
    return MetricResult(
        "meteor",
        float(meteor_from_statistics(statistics.sum(axis=0, keepdims=True))[0]),
        per_item,
        statistics,
        lambda sums, _: meteor_from_statistics(sums),
        f"{tok}|{meteor.signature}",
    )


def _mean_result(name: str, per_item: Floats, signature: str) -> MetricResult:
    return MetricResult(
        name, float(per_item.mean()), per_item, per_item[:, None], lambda sums, n: sums[:, 0] / n, signature
    )


def _similarity(
    answers: Sequence[str], references: Sequence[Sequence[str]], embed: Callable[[Sequence[str]], Floats]
) -> Floats:
    """(N,) largest cosine of an answer with one of its references, in [-1, 1]; of an empty answer -1."""
    texts = list(dict.fromkeys([*answers, *(text for group in references for text in group)]))
    number = {text: index for index, text in enumerate(texts)}
    vectors = embed(texts)
    return np.array(
        [
            max(float(vectors[number[answer]] @ vectors[number[reference]]) for reference in group)
            if answer.strip()
            else -1.0
            for answer, group in zip(answers, references, strict=True)
        ]
    )


def is_own(metric: str) -> bool:
    """True for `python:MODULE:FUNCTION`."""
    return metric.startswith(PYTHON_PREFIX)


def own_name(metric: str) -> str:
    """Name of a user's own metric in tables: the name of its function.

    Raises:
        SettingError: There is no such function, or its name has a dot or begins with an underscore.
    """
    name = loaded_function(metric.removeprefix(PYTHON_PREFIX)).name
    if "." in name or name.startswith("_"):
        raise SettingError(f"{metric}: {name!r} cannot name a metric; give a function at the top of its module")
    return name


def own_values(
    metric: str, answers: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[NDArray[np.float64], str]:
    """Values of a user's own metric, and its part of the signature.

    Args:
        metric: `python:MODULE:FUNCTION`; the function takes a list of N answers and a list of N lists of references,
            and returns N finite numbers, higher being better.
        answers: One text an item.
        references: For each item one or more texts.

    Returns:
        (N,) values, and `python:NAME#HASH`.

    Raises:
        SettingError: The function raised an error, or returned something else.
    """
    function, name, sha256 = loaded_function(metric.removeprefix(PYTHON_PREFIX))
    try:
        values = np.asarray(function(list(answers), [list(group) for group in references]), np.float64)
    except Exception as error:
        raise SettingError(f"{metric} failed: {error_line(error)}; mend the function") from error
    if values.shape != (len(answers),):
        raise SettingError(f"{metric} must give {len(answers):,} numbers, one an answer, but gave shape {values.shape}")
    if not np.isfinite(values).all():
        raise SettingError(f"{metric} gave {values[~np.isfinite(values)][0]} for an answer; give a finite number")
    return values, f"{PYTHON_PREFIX}{name}#{sha256}"
