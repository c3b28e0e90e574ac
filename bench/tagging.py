"""How far a linear tagger agrees with exact tags: on other houses, wordings, kinds of questions and graphs.

Questions about a told household are written from graphs, each with exact tags. A tagger learns from those about some
houses, in some wordings, and is compared on four held-out sets, from easy to hard:

- `houses`: the same wordings about other houses. Wordings repeat, so this says little about questions of others.
- `wordings`: about other houses, in wordings that were not learnt from.
- `kinds`: of kinds that were not learnt from, in turn, in such wordings.
- `tag sets`: the same, and no question that was learnt from has the same tags either.

And, where the data are at hand, on questions about VDAct's released activity graphs (`vdact`), in wordings that were
not learnt from: other activities and objects. And on 64 questions about any video that were written and tagged by hand
after the manual (`by hand`). Beside the tagger that reads question and answer stand one that reads questions only,
a few keywords, and the most frequent tags.

Run `make bench-tagging`. With `--ship` it writes the tagger that comes with reeltalk anew instead.
"""

import argparse
import json
import math
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from told_households import told  # noqa: E402

from record import Measure, options_of, record  # noqa: E402
from reeltalk.construct.graph_writer import GraphWriter  # noqa: E402
from reeltalk.construct.settings import ConstructSettings  # noqa: E402
from reeltalk.construct.stage import construct  # noqa: E402
from reeltalk.construct.step import ConstructRun  # noqa: E402
from reeltalk.construct.tagging.learning import (  # noqa: E402
    Measures,
    format_measures,
    format_statistic,
    learn,
    measure_tagger,
    turns_from,
)
from reeltalk.construct.tagging.stage import LinearTagging  # noqa: E402
from reeltalk.construct.tagging.turns import TagDecision, TurnTags, TurnToTag  # noqa: E402
from reeltalk.formats import load_format  # noqa: E402
from reeltalk.graph.reading import read_activity  # noqa: E402
from reeltalk.graph.story import Story  # noqa: E402
from reeltalk.inference.linear_tagger import SHIPPED, TAGGED  # noqa: E402
from reeltalk.inference.tagger_training import Reads  # noqa: E402
from reeltalk.parallel import LocalExecutor  # noqa: E402
from reeltalk.questions.asking import stories, write_question_dialogues  # noqa: E402
from reeltalk.questions.wording import write_dialogue  # noqa: E402
from reeltalk.schema.dialogue import Turn  # noqa: E402
from reeltalk.store.benchmark import Benchmark  # noqa: E402
from reeltalk.store.tables import DIALOGUES  # noqa: E402

Turns = list[TurnToTag]
Tags = Mapping[str, tuple[str, ...]]
BY_HAND = ROOT / "tests" / "tagged_questions" / "by_hand.jsonl"
METHODS = ("question+answer", "question", "keywords", "most frequent")
KEYWORDS = (
    (r"\bwhy\b|what for|purpose|reason", "Behavior", "Motivation", "Reasoning"),
    (
        r"\bhow many (rooms|people|persons|things|objects)|number of (rooms|people|different)",
        "Object",
        "Feature",
        "Grasping",
    ),
    (r"\broom\b", "Place Behavior", "Relationship", "Recall"),
    (r"\bwhere\b|\bplace\b", "Object Place", "Relationship", "Recall"),
    (
        r"colou?r of (his|her)|\b(his|her) (hair|shirt|trousers|shoes)|wear|sitting|standing",
        "Character",
        "Feature",
        "Recall",
    ),
    (r"colou?r|\blook|kind of|\b(on|open) or\b", "Object", "Feature", "Recall"),
    (r"\bwho\b|person.s name|people", "Character", "Identity", "Recall"),
    (r"how (many (times|seconds)|often|long|much time)", "Behavior", "Sequence", "Grasping"),
    (r"how many", "Object", "Feature", "Recall"),
    (r"feel|enjoy|like to|happy|opinion|think|good idea", "Emotion Behavior", "Feature", "Reasoning"),
    (
        r"pick.* (first|last|next|after)|(first|last|next) thing .* (pick|take)",
        "Object",
        "Identity Sequence",
        "Grasping",
    ),
    (r"before|after|next|then|first|last|later|again", "Behavior", "Sequence", "Grasping"),
    (r"with what|\bwith\?$|tool|use\b|\bhow does\b", "Object Behavior", "Means", "Recall"),
    (r"\b(say|tell|talk|ask|argue)", "Conversation", "Context", "Grasping"),
    (r"^(does|did|is|can|do we) ", "Behavior Object", "Relationship", "Recall"),
    (r"what (does|is) .* (do|doing)\b|happen", "Behavior", "Feature", "Recall"),
    (r"\bwhat\b|which", "Object", "Identity", "Recall"),
)
"""The first that occurs in a question decides. Written by somebody who knew the kinds, and the questions `by hand`."""


def ask(benchmark: Benchmark, *, split: str, per_video: int, turns: int, limit: int | None = None) -> Turns:
    """Questions about a benchmark's videos, in the wordings of one split whatever the split of the video."""
    found: Turns = []
    told_about = (known for known in stories(benchmark) if known[1])
    for video, _, texts in islice(told_about, limit):
        story = Story([read_activity(text, file=f"{name}.nq", name=name) for name, text in texts.items()])
        draw = random.Random(f"{video.id} {split}")
        for number in range(per_video):
            written, _ = write_dialogue(story, split=split, seed=draw.getrandbits(32), turns=turns)
            for index, turn in enumerate(written):
                given = dict.fromkeys(TAGGED, "given")
                found.append(TurnToTag("dialogue", f"{video.id}-{number}", index, video.id, turn, (), given))  # type: ignore[arg-type]
    return found


def by_hand() -> Turns:
    """Questions that were written and tagged by hand, each about a video of its own."""
    found: Turns = []
    for number, line in enumerate(BY_HAND.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        tags = zip(TAGGED, (row["target"], row["content"], [row["thinking"]]), strict=True)
        labels = {name: tuple(part) for name, part in tags}
        turn = Turn(question=row["question"], references=(row["answer"],), labels=labels)
        given = dict.fromkeys(TAGGED, "given")
        found.append(TurnToTag("chain", f"hand-{number}", 0, f"hand-{number}", turn, (), given))  # type: ignore[arg-type]
    return found


def most_frequent(learnt: Turns) -> Callable[[Turns], list[TurnTags]]:
    """The set of tags that most turns have, for every turn."""
    tags = {name: Counter(asked.turn.labels[name] for asked in learnt).most_common(1)[0][0] for name in TAGGED}
    return lambda turns: [constant(tags) for _ in turns]


def constant(tags: Tags) -> TurnTags:
    return TurnTags({name: TagDecision(tags[name], 0.0) for name in TAGGED}, {})


def by_keywords(learnt: Turns) -> Callable[[Turns], list[TurnTags]]:
    """What the first keyword says; where none occurs, the most frequent tags."""
    otherwise = most_frequent(learnt)

    def tag(turns: Turns) -> list[TurnTags]:
        rest = otherwise(turns)
        found = []
        for asked, default in zip(turns, rest, strict=True):
            tags = next((tags for word, *tags in KEYWORDS if re.search(word, asked.turn.question.lower())), None)
            given = {} if tags is None else {name: tuple(part.split()) for name, part in zip(TAGGED, tags, strict=True)}
            found.append(constant(given) if given else default)
        return found

    return tag


def by_tagger(reads: Reads) -> Callable[[Turns], Callable[[Turns], list[TurnTags]]]:
    def make(learnt: Turns) -> Callable[[Turns], list[TurnTags]]:
        tagging = LinearTagging(learn(learnt, name="bench", reads=reads, about="bench").tagger)
        return lambda turns: tagging.tag(turns, lambda *_: None)

    return make


MAKERS: dict[str, Callable[[Turns], Callable[[Turns], list[TurnTags]]]] = {
    "question+answer": by_tagger("question+answer"),
    "question": by_tagger("question"),
    "keywords": by_keywords,
    "most frequent": most_frequent,
}


def held_out(
    learnt: Turns, turns: Turns, key: Callable[[TurnToTag], object], folds: int, method: str
) -> list[TurnTags]:
    """Each turn tagged by what did not learn from any turn with its key."""
    keys = sorted({str(key(asked)) for asked in turns})
    random.Random(17).shuffle(keys)
    found: dict[int, TurnTags] = {}
    for fold in range(folds):
        out = set(keys[fold::folds])
        places = [place for place, asked in enumerate(turns) if str(key(asked)) in out]
        tag = MAKERS[method]([asked for asked in learnt if str(key(asked)) not in out])
        found |= dict(zip(places, tag([turns[place] for place in places]), strict=True))
    return [found[place] for place in range(len(turns))]


def kind(asked: TurnToTag) -> object:
    return asked.turn.extra["kind"]


def tag_set(asked: TurnToTag) -> object:
    """Targets and contents; thinking follows from them up to whether a turn rests on the one before."""
    return [asked.turn.labels[name] for name in TAGGED[:2]]


def vdact(folder: Path) -> Benchmark | None:
    """A benchmark of VDAct's released graphs and scenarios, without its dialogues."""
    shared = Path(os.environ.get("REELTALK_SHARED", ROOT.parent / "shared")) / "data" / "vdact"
    if not (shared / "kg_activity.zip").is_file():
        return None
    if not (folder / "manifest.json").is_file():
        source = folder.with_name("vdact-source")
        source.mkdir(parents=True, exist_ok=True)
        files = [shared / "kg_activity.zip", *(shared / "derived").glob("[is]*.json")]
        files += (shared / "dialogue").glob("*.txt")
        for file in files:
            (source / file.name).write_bytes(file.read_bytes())
        Benchmark.create(folder).write_content(load_format("vdact").read(source), stage="import vdact")
    return Benchmark.open(folder)


def household(given: argparse.Namespace) -> Benchmark:
    folder = given.folder / f"household-{given.scenarios}-{given.houses}"
    if (folder / "manifest.json").is_file():
        return Benchmark.open(folder)
    return told(folder, given.scenarios, 7, given.houses)


def sets_of(given: argparse.Namespace) -> tuple[Turns, dict[str, Turns]]:
    """What is learnt from, and what is held out."""
    bench = household(given)
    houses = sorted({int(text) for text in (re.findall(r"\d+", v.id)[0] for v, _, _ in stories(bench))})
    others = set(houses[-max(1, len(houses) // 3) :])

    def of_house(turns: Turns, *, held: bool) -> Turns:
        return [asked for asked in turns if (int(re.findall(r"\d+", asked.video_id)[0]) in others) == held]

    plain = ask(bench, split="train", per_video=given.per_video, turns=given.turns)
    worded = ask(bench, split="test", per_video=given.per_video, turns=given.turns)
    sets = {"houses": of_house(plain, held=True), "wordings": of_house(worded, held=True)}
    sets |= {"kinds": sets["wordings"], "tag sets": sets["wordings"]}
    known = vdact(given.folder / "vdact")
    if known is not None:
        sets["vdact"] = ask(known, split="test", per_video=1, turns=given.turns, limit=given.vdact)
    sets["by hand"] = by_hand()
    return of_house(plain, held=False), sets


SUMMARY: tuple[tuple[str, Callable[[Measures], str]], ...] = (
    ("mean kappa", lambda m: "–" if m.kappa is None else f"{m.kappa:.3f}"),
    ("all tags right", lambda m: format_statistic(m.exact["all"])),
    ("Jaccard, target", lambda m: format_statistic(m.jaccard[TAGGED[0]])),
    ("Jaccard, content", lambda m: format_statistic(m.jaccard[TAGGED[1]])),
    ("thinking right", lambda m: format_statistic(m.exact[TAGGED[2]])),
    ("Brier score", lambda m: "–" if m.brier is None else f"{m.brier:.4f}"),
    ("right after 10 %", lambda m: f"{m.review[2].exact:.3f}" if m.review else "–"),
    ("right after 20 %", lambda m: f"{m.review[3].exact:.3f}" if m.review else "–"),
)


def compare(given: argparse.Namespace) -> None:
    learnt, sets = sets_of(given)
    print(f"learnt from {len(learnt):,} turns of {len({a.video_id for a in learnt}):,} videos")
    found: dict[tuple[str, str], Measures] = {}
    for method in METHODS:
        plain = MAKERS[method](learnt)
        for name, turns in sets.items():
            if name in ("kinds", "tag sets"):
                made = held_out(learnt, turns, kind if name == "kinds" else tag_set, given.folds, method)
            else:
                made = plain(turns)
            found[method, name] = measure_tagger(turns, made, tagger=method)
    print("\nCohen's kappa by tag, tagger that reads question and answer (reference turns; 95 % interval by video)")
    print(f"{'':<14}" + "".join(f"{name:<28}" for name in sets))
    some = found[METHODS[0], "houses"]
    for vocabulary, tags in some.tags.items():
        for tag in tags:
            cells = [found[METHODS[0], name].tags[vocabulary][tag] for name in sets]
            print(
                f"{tag:<14}"
                + "".join(f"{format_statistic(c.kappa)} ({c.reference:,})".ljust(28) for c in cells).rstrip()
            )
    for what, value in SUMMARY:
        print(f"\n{what}")
        for method in METHODS:
            print(f"  {method:<18}" + "".join(f"{value(found[method, name]):<24}" for name in sets).rstrip())
    figures = {}
    for (method, name), measures in found.items():
        label = f"{method}, {name}"
        figures[f"{label}: mean kappa"] = float("nan") if measures.kappa is None else measures.kappa
        figures[f"{label}: all tags right"] = measures.exact["all"].value or 0.0
    if given.details:
        for name in sets:
            print(f"\n== {name}")
            print("\n".join(format_measures(found[METHODS[0], name])))
    print()
    figures = {name: value for name, value in figures.items() if math.isfinite(value)}
    right = "all tags right"
    stated = [
        Measure(
            f"turns with {right}, held-out {name}", figures[f"{METHODS[0]}, {name}: {right}"], "share",
            "keywords", None if not (floor := figures[f"keywords, {name}: {right}"])
            else figures[f"{METHODS[0]}, {name}: {right}"] / floor,
        )
        for name in sets
    ]  # fmt: skip
    packages = ("reeltalk", "scikit-learn", "numpy")
    record("tagging", stated, figures=figures, packages=packages, quick=given.quick)


def ship(given: argparse.Namespace) -> None:
    """Train the tagger that comes with reeltalk: all houses, all wordings, chains and dialogues for all tasks."""
    dialogues = household(given)
    if not dialogues.rows(DIALOGUES):
        write_question_dialogues(dialogues)
    constructed = given.folder / "household-constructed"
    if not (constructed / "manifest.json").is_file():
        bench = told(constructed, given.scenarios, 11, given.houses)
        settings = ConstructSettings()
        construct(ConstructRun(bench, settings, GraphWriter(bench, settings), LocalExecutor(None)))
    turns = turns_from([Benchmark.open(path) for path in (dialogues.path, constructed)])
    about = (
        "Questions about simulated households only, written from activity graphs: all their houses and wordings. "
        "Not measured on questions that people wrote, as no tags of such questions are public."
    )
    tagger = learn(turns, name="household", reads="question+answer", about=about).tagger
    tagger.save(SHIPPED)
    print(f"{tagger.signature}: {SHIPPED}, {SHIPPED.stat().st_size:,} bytes, {len(turns):,} turns")
    turns = by_hand()
    found = measure_tagger(turns, LinearTagging(tagger).tag(turns, lambda *_: None), tagger=tagger.signature)
    print(f"by hand: all tags right {format_statistic(found.exact['all'])}, mean kappa {found.kappa or 0:.3f}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options_of(__doc__)
    parser.add_argument("--scenarios", type=int, default=60)
    parser.add_argument("--houses", type=int, default=10)
    parser.add_argument("--per-video", type=int, default=2)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--folds", type=int, default=6)
    parser.add_argument("--vdact", type=int, default=200, help="so many scenarios of VDAct")
    parser.add_argument("--details", action="store_true", help="all measures of the tagger, set by set")
    parser.add_argument("--ship", action="store_true", help="train the tagger that comes with reeltalk")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "bench" / "tagging")
    given = parser.parse_args(arguments)
    if given.quick:
        given.scenarios, given.houses, given.per_video, given.turns = 8, 4, 2, 6
        given.folds, given.vdact = 2, 10
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.ship:
        ship(given)
    else:
        compare(given)


if __name__ == "__main__":
    main()
