"""What a linear tagger learns from: turns of benchmarks whose tags were given by a person or a rule."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from reeltalk import __version__
from reeltalk.construct.tagging.turns import Asked, turns_of
from reeltalk.errors import BenchmarkError
from reeltalk.inference.linear_tagger import known_vocabularies
from reeltalk.inference.tagger_training import Example, Fitted, Reads, train
from reeltalk.store.benchmark import Benchmark


def turns_from(benchmarks: Sequence[Benchmark], *, split: str | None = None) -> list[Asked]:
    """The turns of several benchmarks; videos of two of them are two videos, whatever their identifiers.

    Args:
        benchmarks: What to learn from.
        split: Only turns about videos of this split.

    Raises:
        InputError: A table is damaged.
    """
    found: list[Asked] = []
    for number, benchmark in enumerate(benchmarks):
        found += [replace(asked, video_id=f"{number}/{asked.video_id}") for asked in turns_of(benchmark, split=split)]
    return found


def learn(turns: Sequence[Asked], *, name: str, reads: Reads, about: str) -> Fitted:
    """Train a tagger on turns that have reference tags; others are passed over.

    Probabilities are calibrated on turns whose kind of question (`extra.kind`) was held out, where all turns have one:
    a tagger meets other kinds as a rule. Otherwise whole videos are held out.

    Args:
        turns: What to learn from.
        name: Name of the tagger.
        reads: Which parts of a turn it looks at.
        about: What the turns are, in a sentence, for the tagger's card.

    Raises:
        BenchmarkError: No turn has reference tags, or too few differ.
        MissingExtraError: scikit-learn is not installed.
    """
    known = [(asked, tags) for asked in turns if asked.turn.question.strip() and (tags := asked.reference) is not None]
    if not known:
        raise BenchmarkError(
            "no turn has tags of cogme.target, cogme.content and cogme.thinking that a person or a rule gave; "
            "'reeltalk graph questions' writes turns with exact ones"
        )
    kinds = {str(asked.turn.extra.get("kind", "")) for asked, _ in known}
    by_kind = "" not in kinds and len(kinds) > 1
    examples = [
        Example(asked.turn.question, asked.answer, tags, str(asked.turn.extra["kind"]) if by_kind else asked.video_id)
        for asked, tags in known
    ]
    counts = Counter((name, tag) for _, tags in known for name, part in tags.items() for tag in part)
    card = {
        "about": about,
        "reads": reads,
        "turns": len(known),
        "videos": len({asked.video_id for asked, _ in known}),
        "calibrated_by": "kind of question" if by_kind else "video",
        "turns_by_tag": {v: {tag: counts[v, tag] for tag in tags} for v, tags in known_vocabularies().items()},
        "reeltalk": __version__,
    }
    return train(examples, name=name, reads=reads, card=card)
