"""CogME's Agent I, simulated: does the profile find the published accuracies, with intervals that contain them?

The paper (arXiv 2107.09847) publishes five of the 19 accuracies of its Agent I, the overall accuracy, and which four
tags lie under 5 %. Everything else here is simulated and says so: how frequent the other tags are, which tags occur
together, in which scene a question stands, and how easy the other tags are. `docs/concepts/profiles.md` tells the
model.

Run `make bench-profile`; `--quick` for a quick look, `--site DIR` to also write the page of profiles.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from record import Measure, at_least, options_of, record
from reeltalk.analysis.estimates import Estimate
from reeltalk.analysis.profiles import ModelProfile, frequencies, model_profiles
from reeltalk.analysis.turn_scores import TaggedTurns
from reeltalk.metrics.profile import TAGS, WEIGHTS
from reeltalk.pages.stage import write_report
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.labels import Content, Target, Thinking
from reeltalk.schema.runs import ItemScores, ModelInfo, RunInfo, SummaryRow
from reeltalk.store.runs import Run, read_run, write_run

Floats = NDArray[np.float64]

QUESTIONS = 4_385
OVERALL = {"I": 73.4, "II": 58.7}
PUBLISHED = {"Identity": 79.1, "Means": 34.3, "Commonsense": 35.8, "Relationship": 47.8, "Causality": 47.2}
"""Agent I (MCM), per cent. All else of it, but the overall accuracy, stands only in figures."""
RARE = ("Commonsense", "Relationship", "Means", "Causality")
"""The tags on fewer than 5 % of DramaQA's validation questions, as the paper says."""

SCENES = 240
"""Simulated. The paper's questions are about three episodes, too few to draw anew; scenes stand in for videos."""
SPREAD = 0.5
"""Simulated: standard deviation of a scene's effect on the logit, so that answers about one scene go together."""
SIZES = {1: 0.5, 2: 0.35, 3: 0.15}
"""Simulated: how many targets, and how many contents, a question has."""
DRAWN: Mapping[str, float] = {
    "Character": 30, "Object": 11, "Place": 9, "Conversation": 10, "Behavior": 22, "Event": 12, "Emotion": 8,
    "Commonsense": 1.2, "Identity": 40, "Feature": 16, "Relationship": 2.1, "Means": 1.3, "Context": 15,
    "Sequence": 7.5, "Causality": 2.0, "Motivation": 9, "Recall": 45, "Grasping": 32, "Reasoning": 23,
}  # fmt: skip
"""Simulated: how readily a tag is drawn, within its component."""
EASE: Mapping[str, float] = {
    "Character": 0.3, "Object": 0.1, "Place": 0.2, "Conversation": -0.1, "Behavior": 0.1, "Event": -0.2,
    "Emotion": -0.1, "Feature": 0.2, "Context": 0.0, "Sequence": -0.3, "Motivation": -0.3, "Recall": 0.3,
    "Grasping": 0.0, "Reasoning": -0.4,
}  # fmt: skip
"""Simulated: what the tags without a published accuracy add to the logit of a right answer."""
DESIGN_SEED = 2107


@dataclass(frozen=True)
class Design:
    """The questions: which tags, which scene."""

    tags: Floats
    """(N, 19) 0 or 1."""
    weights: Floats
    """(N,) 1 to 3."""
    scenes: NDArray[np.int64]
    """(N,)"""


@dataclass(frozen=True)
class Agent:
    """Who answers."""

    logit: Floats
    """(N,) of a right answer in a scene of no effect."""
    truth: Floats
    """(N,) probability of a right answer, over all scenes there might be."""


def make_design(seed: int = DESIGN_SEED) -> Design:
    """Questions with one to three targets, one to three contents and one way of thinking."""
    rng = np.random.default_rng(seed)
    places = {tag: place for place, tag in enumerate(TAGS)}
    tags = np.zeros((QUESTIONS, len(TAGS)))
    weights = np.zeros(QUESTIONS)
    sizes, shares = list(SIZES), list(SIZES.values())
    levels = list(Thinking)
    for row in range(QUESTIONS):
        for component in (Target, Content):
            names = [tag.value for tag in component]
            ready = np.array([DRAWN[name] for name in names])
            chosen = rng.choice(len(names), size=rng.choice(sizes, p=shares), replace=False, p=ready / ready.sum())
            tags[row, [places[names[place]] for place in chosen]] = 1
        ready = np.array([DRAWN[level.value] for level in levels])
        level = levels[rng.choice(len(levels), p=ready / ready.sum())]
        tags[row, places[level.value]] = 1
        weights[row] = WEIGHTS[level]
    return Design(tags, weights, rng.integers(0, SCENES, QUESTIONS))


def calibrated(design: Design, overall: float, accuracy: Mapping[str, float]) -> Agent:
    """An agent whose accuracy over the questions of each named tag, and over all, is as given.

    The logit of a right answer is a sum: an intercept, the ease of each of its tags, and its scene's effect. The
    intercept and the ease of the named tags are solved for: the conditions are the score equations of a logistic
    regression with the other tags as its offset, so that Newton's method finds the only solution.
    """
    named = [TAGS.index(tag) for tag in accuracy]
    x = np.column_stack([np.ones(QUESTIONS), design.tags[:, named]])
    offset = design.tags @ np.array([0.0 if tag in accuracy else EASE.get(tag, 0.0) for tag in TAGS])
    wanted = x.sum(axis=0) * np.array([overall, *accuracy.values()]) / 100
    at = np.zeros(x.shape[1])
    for _ in range(100):
        mean, slope = _over_scenes(offset + x @ at)
        step = np.linalg.solve((x * slope[:, None]).T @ x, wanted - x.T @ mean)
        at += step
        if np.abs(step).max() < 1e-12:
            break
    logit = offset + x @ at
    return Agent(logit, _over_scenes(logit)[0])


def answered(design: Design, agents: list[Agent], seed: int) -> TaggedTurns:
    """What the agents answer, right or wrong; each has scene effects of its own."""
    rng = np.random.default_rng(seed)
    columns = []
    for agent in agents:
        effects = rng.normal(0, SPREAD, SCENES)
        columns.append(rng.random(QUESTIONS) < _expit(agent.logit + effects[design.scenes]))
    credit = np.column_stack(columns).astype(np.float64)
    return TaggedTurns(
        videos=tuple(f"scene-{scene:03d}" for scene in design.scenes),
        weights=design.weights,
        tags=design.tags.astype(np.bool_),
        groups={},
        credit=credit,
        tag_credit={},
        due=np.ones(credit.shape, np.bool_),
        measures=("accuracy",) * len(agents),
    )


def truth_by_tag(design: Design, agent: Agent, *, weighted: bool) -> dict[str, float]:
    """What a profile of endless answers would say, per cent."""
    weights = design.weights if weighted else np.ones(QUESTIONS)
    possible = design.tags.T @ weights
    return dict(zip(TAGS, (100 * (design.tags.T @ (weights * agent.truth)) / possible).tolist(), strict=True))


def covered(found: Mapping[str, Estimate | None], truth: Mapping[str, float]) -> dict[str, bool]:
    """Which intervals hold the truth."""
    held = {}
    for tag, estimate in found.items():
        assert estimate is not None, tag
        assert estimate.low is not None, tag
        assert estimate.high is not None, tag
        held[tag] = estimate.low <= truth[tag] <= estimate.high
    return held


def agents_of(design: Design) -> list[Agent]:
    """Agent I; and Agent II, of which the paper says: 58.7 in all, 1 more at Means, 20 less at Conversation."""
    first = calibrated(design, OVERALL["I"], PUBLISHED)
    talk = truth_by_tag(design, first, weighted=False)["Conversation"]
    means = PUBLISHED["Means"]
    return [first, calibrated(design, OVERALL["II"], {"Means": means + 1, "Conversation": talk - 20})]


def table(design: Design, agent: Agent, turns: TaggedTurns, mine: ModelProfile) -> list[str]:
    """Lines: tag, how frequent, what is true, what was found."""
    often = frequencies(turns)
    plain, weighted = (truth_by_tag(design, agent, weighted=weighted) for weighted in (False, True))
    lines = [
        f"{'tag':<14}{'questions':>10}{'%':>7}  {'accuracy':<12}{'true':>7}  {'found':<22}{'weighted: true':>14}  found"
    ]
    for tag in TAGS:
        share = often[tag]
        source = "published" if tag in PUBLISHED else "simulated"
        flag = " rare" if share.rare else ""
        found, of_weights = mine.unweighted[tag], mine.weighted[tag]
        assert found is not None, tag
        assert of_weights is not None, tag
        lines.append(
            f"{tag:<14}{share.questions:>10,}{share.percent:>7.1f}  {source:<12}{plain[tag]:>7.1f}  {_shown(found):<22}"
            f"{weighted[tag]:>14.1f}  {_shown(of_weights)}{flag}"
        )
    return lines


def write_site(turns: TaggedTurns, folder: Path, *, questions: int = QUESTIONS) -> Path:
    """Both agents' answers to the first questions as runs, and a report on them."""
    runs = []
    for model, name in enumerate(("Agent I (simulated)", "Agent II (simulated)")):
        runs.append(
            _run(turns, model, name, folder / "runs" / name.split(" (")[0].replace(" ", "-").lower(), questions)
        )
    site = folder / "site"
    site.mkdir()
    return write_report(runs, site)


def _run(turns: TaggedTurns, model: int, name: str, path: Path, questions: int) -> Run:
    path.parent.mkdir(parents=True, exist_ok=True)
    answers, items = [], []
    for row in range(questions):
        own = [TAGS[place] for place in np.flatnonzero(turns.tags[row])]
        labels = {
            f"cogme.{kind.__name__.lower()}": tuple(tag for tag in own if tag in [known.value for known in kind])
            for kind in (Target, Content, Thinking)
        }
        right = bool(turns.credit[row, model])
        answers.append(AnsweredTurn(
            model=name, item_id=f"q{row:04d}/01", video_id=turns.videos[row], unit_id=f"q{row:04d}", turn_index=0,
            question="A simulated question.", references=("right",), text="right" if right else "wrong", labels=labels,
        ))  # fmt: skip
        items.append(ItemScores(model=name, item_id=f"q{row:04d}/01", scores={"accuracy": 100.0 * right}))
    mine = model_profiles(turns)[model].overall
    assert mine is not None
    summary = SummaryRow(
        model=name, metric="accuracy", value=mine.value, n=mine.n, low=mine.low, high=mine.high,
        signature="simulated.cogme|metric:accuracy",
    )  # fmt: skip
    info = RunInfo(
        kind="simulation", reeltalk_version="0", subject="simulated.cogme", metrics=("accuracy",), clusters=SCENES,
        models=(ModelInfo(model=name, source="bench/agent_one.py", sha256="0" * 64, rows=questions, items=questions),),
    )  # fmt: skip
    write_run(path, info, answers=answers, items=items, summary=[summary], curves=[])
    return read_run(path)


def _over_scenes(logit: Floats) -> tuple[Floats, Floats]:
    """Mean probability, and mean slope, over a scene's normal effect."""
    nodes, shares = np.polynomial.hermite_e.hermegauss(40)
    p = _expit(logit[:, None] + SPREAD * nodes)
    shares = shares / shares.sum()
    return p @ shares, (p * (1 - p)) @ shares


def _expit(logit: Floats) -> Floats:
    p: Floats = 1 / (1 + np.exp(-logit))
    return p


def _shown(estimate: Estimate) -> str:
    return f"{estimate.value:.1f} [{estimate.low:.1f}, {estimate.high:.1f}]"


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--seeds", type=int, help="400; 20 with --quick")
    parser.add_argument("--site", type=Path)
    arguments = parser.parse_args()
    seeds = arguments.seeds or (20 if arguments.quick else 400)
    design = make_design()
    agents = agents_of(design)
    turns = answered(design, agents, seed=1)
    profiles = model_profiles(turns)
    print("\n".join(table(design, agents[0], turns, profiles[0])))
    overall = profiles[0].overall
    assert overall is not None
    print(f"overall: published {OVERALL['I']}, found {_shown(overall)}")
    print(f"rank correlation of frequency and achievement over tags: {profiles[0].rank_correlation:+.2f}")
    truths = {weighted: truth_by_tag(design, agents[0], weighted=weighted) for weighted in (False, True)}
    held: dict[str, list[bool]] = {tag: [] for tag in TAGS}
    weighted: list[bool] = []
    for seed in range(1, seeds + 1):
        mine = model_profiles(answered(design, agents[:1], seed))[0]
        for tag, ok in covered(mine.unweighted, truths[False]).items():
            held[tag].append(ok)
        weighted += covered(mine.weighted, truths[True]).values()
    figures = {f"coverage.{tag}": float(np.mean(held[tag])) for tag in PUBLISHED}
    figures["coverage.all_19_tags"] = float(np.mean([ok for found in held.values() for ok in found]))
    figures["coverage.all_19_tags.weighted"] = float(np.mean(weighted))
    figures["seeds"] = float(seeds)
    # Few seeds say little about a coverage.
    goal = None if arguments.quick else at_least(0.93)
    measures = [
        Measure(f"coverage of 95 % intervals of all 19 tags, {told}", figures[f"coverage.all_19_tags{name}"], "share",
                goal=goal)
        for name, told in (("", "unweighted"), (".weighted", "weighted"))
    ]  # fmt: skip
    notes = [f"{seeds} simulated studies; intervals clustered by simulated scene"]
    record("agent_one", measures, figures=figures, packages=["numpy"], notes=notes, quick=arguments.quick)
    if arguments.site is not None:
        print(write_site(turns, arguments.site))


if __name__ == "__main__":
    main()
