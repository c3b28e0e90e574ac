"""From texts to named metrics with what is needed to resample them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import SettingError
from reeltalk.metrics import bleu, cider, overlap, rouge
from reeltalk.metrics import meteor as meteor_metric
from reeltalk.metrics.corpus import Corpus
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.metrics.own import is_own, own_name, own_values
from reeltalk.metrics.tokenise import TOKENISER, Language, detect_language, tokenise

Floats = NDArray[np.float64]

METRICS: Final[dict[str, tuple[str, ...]]] = {
    "bleu": ("bleu_1", "bleu_2", "bleu_3", "bleu_4"),
    "meteor": ("meteor",),
    "rouge_l": ("rouge_l",),
    "cider": ("cider",),
    "token_f1": ("token_f1",),
    "exact_match": ("exact_match",),
    "similarity": ("similarity",),
}
"""What each name on the command line produces."""


@dataclass(frozen=True)
class MetricResult:
    """One metric of one model's answers."""

    name: str
    corpus: float
    """The value of the whole file, as the metric's own code gives it."""
    per_item: Floats
    """(N,) the value of each item alone."""
    statistics: Floats
    """(N, K) what each item adds to the corpus value."""
    from_sums: Callable[[Floats, Floats], Floats]
    """(R,) corpus values from (R, K) summed statistics and (R,) numbers of items."""
    signature: str
    """`key:value` parts separated by `|`."""


def metric_names(metrics: Sequence[str]) -> list[str]:
    """The names of what these metrics produce, in order.

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
    language: Language = "auto",
    meteor: MeteorProcess | None = None,
    embed: Callable[[Sequence[str]], Floats] | None = None,
    embedder: str = "",
) -> dict[str, MetricResult]:
    """Score answers against references.

    Args:
        answers: One text an item.
        references: For each item one or more texts.
        metrics: Keys of `METRICS`, and `python:MODULE:FUNCTION` for functions of the user's own.
        language: `auto` takes the language of the texts and refuses mixed ones.
        meteor: A running METEOR; needed for `meteor`, and for English only.
        embed: Gives (N, D) unit vectors for N texts; needed for `similarity`.
        embedder: Name of what `embed` runs, for the signature.

    Returns:
        A result for each produced name, in the order of `metric_names`.

    Raises:
        SettingError: A metric is unknown or does not fit the language, or the language cannot be told.
        ValueError: There are no items, or an item has no reference.
    """
    names = metric_names(metrics)
    spoken = detect_language([*answers, *(text for group in references for text in group)], language)
    tokens = [tokenise(text, spoken) for text in answers]
    reference_tokens = [[tokenise(text, spoken) for text in group] for group in references]
    corpus = Corpus(tokens, reference_tokens)
    tok = f"tok:{TOKENISER[spoken]}"
    results: dict[str, MetricResult] = {}
    if "bleu" in metrics:
        statistics = bleu.statistics(corpus)
        whole = bleu.from_statistics(statistics.sum(axis=0, keepdims=True))[0]
        items = bleu.from_statistics(statistics)
        for order in range(4):
            results[f"bleu_{order + 1}"] = MetricResult(
                f"bleu_{order + 1}",
                float(whole[order]),
                items[:, order],
                statistics,
                lambda sums, _, order=order: bleu.from_statistics(sums)[:, order],  # type: ignore[misc]
                f"{tok}|bleu:coco-closest",
            )
    for name, per_item, parts in (
        ("rouge_l", rouge.per_item, "rouge:l-beta1.2"),
        ("cider", cider.per_item, "cider:d-sigma6-df-of-file"),
        ("token_f1", overlap.token_f1, "f1:token-bag"),
        ("exact_match", overlap.exact_match, "match:tokens"),
    ):
        if name in metrics:
            results[name] = _mean_result(name, per_item(corpus), f"{tok}|{parts}")
    if "meteor" in metrics:
        if meteor is None or spoken != "en":
            raise SettingError("METEOR 1.5 scores English only" if meteor else "meteor needs a running METEOR")
        statistics, per_item_scores = meteor.statistics(
            [" ".join(text) for text in tokens], [[" ".join(text) for text in group] for group in reference_tokens]
        )
        results["meteor"] = MetricResult(
            "meteor",
            float(meteor_metric.from_statistics(statistics.sum(axis=0, keepdims=True))[0]),
            per_item_scores,
            statistics,
            lambda sums, _: meteor_metric.from_statistics(sums),
            f"{tok}|{meteor.signature}",
        )
    if "similarity" in metrics:
        if embed is None:
            raise SettingError("similarity needs an embedder")
        results["similarity"] = _mean_result(
            "similarity", _similarity(answers, references, embed), f"embedding:{embedder}|pool:max-over-references"
        )
    for metric in filter(is_own, metrics):
        values, signature = own_values(metric, answers, references)
        results[own_name(metric)] = _mean_result(own_name(metric), values, signature)
    return {name: results[name] for name in names}


def _mean_result(name: str, per_item: Floats, signature: str) -> MetricResult:
    return MetricResult(
        name, float(per_item.mean()), per_item, per_item[:, None], lambda sums, n: sums[:, 0] / n, signature
    )


def _similarity(
    answers: Sequence[str], references: Sequence[Sequence[str]], embed: Callable[[Sequence[str]], Floats]
) -> Floats:
    """(N,) the best cosine of an answer with one of its references, in [-1, 1]."""
    texts = list(dict.fromkeys([*answers, *(text for group in references for text in group)]))
    number = {text: index for index, text in enumerate(texts)}
    vectors = embed(texts)
    return np.array(
        [
            max(float(vectors[number[answer]] @ vectors[number[reference]]) for reference in group)
            for answer, group in zip(answers, references, strict=True)
        ]
    )
