"""How far a benchmark was checked: the checks of each turn, and shares of turns that passed them.

Everything comes from rows of the table `gates`; nothing is checked or asked again. A check that could not be made is
neither passed nor failed, and is counted apart.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, Literal

from reeltalk.metrics.constant_replies import ConstantReplies
from reeltalk.metrics.counting import GRAPH
from reeltalk.metrics.judge_rates import (
    HEADINGS,
    STEPS_OF,
    JudgeRate,
    Pairs,
    format_rate,
    judge_rates,
    rate_cells,
    rate_sentences,
)
from reeltalk.metrics.turn_sheet import (
    ReadSheet,
    SheetTurn,
    alpha_text,
    is_verdict,
    measure_sheet,
    sheet_sentences,
    sheet_turns,
)
from reeltalk.metrics.uncertainty import MeanInterval, mean_interval, numbered_clusters
from reeltalk.schema.dialogue import Dialogue, Linkage, QAChain, Turn
from reeltalk.schema.gates import (
    ANSWERABLE,
    DEPENDS,
    DIFFICULTY,
    ELSEWHERE_KEY,
    EVIDENCE_CUT,
    FAULTS,
    GONE_OUTCOMES,
    LEAK,
    VERIFIED,
    GateOutcome,
    GateResult,
)
from reeltalk.schema.media import Video
from reeltalk.schema.rewriting import Rewrite
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.identical import IdenticalUnits, TextIndex, film_key
from reeltalk.store.rows import rows_by
from reeltalk.store.text_tables import escape_card, markdown_table

if TYPE_CHECKING:
    import polars as pl

BATCH: Final = 50_000
"""Turns that become columns at a time."""
CheckName = Literal[
    "verified", "faults", "rules", "leaks", "probes", "answerable", "evidence", "depends", "difficulty", "quality",
    "checklist", "task",
]  # fmt: skip


@dataclass(frozen=True)
class TurnCheckInfo:
    """A check of turns, in the words of a card or page."""

    name: CheckName
    title: str
    fault: str
    """Title of a flag of it."""
    gates: tuple[str, ...]
    """Names of its gates without the step; each also stands for names that continue with a full stop."""
    missing: str
    """What is unknown if it was not made."""
    always: bool = True
    """False for a check that most turns do not need."""


CHECKS: Final = (
    TurnCheckInfo("verified", "Answer verified", "Not verified", (VERIFIED,),
                  "whether the video supports the reference answers"),
    TurnCheckInfo("faults", "No other fault", "Fault", (FAULTS,),
                  "whether the turns have other faults that only a reader sees"),
    TurnCheckInfo("rules", "Wording", "Wording", ("lint",), "whether the wording follows simple rules"),
    TurnCheckInfo("leaks", "Needs the video, by rules", "Needs no video", ("leak.blind", "leak.history", "leak.habit"),
                  "whether simple rules answer the turns without the video"),
    TurnCheckInfo("probes", "Needs the video, by a model", "Needs no video", (f"{LEAK}model",),
                  "whether a model answers the turns without the video"),
    TurnCheckInfo("answerable", "Evidence is enough", "Evidence is not enough", (ANSWERABLE,),
                  "whether the stated evidence is enough to answer"),
    TurnCheckInfo("evidence", "Evidence is needed", "Evidence is not needed", (EVIDENCE_CUT,),
                  "whether the stated evidence is needed to answer"),
    TurnCheckInfo("depends", "Needs the dialogue", "Needs no dialogue", (DEPENDS,),
                  "whether later turns need the earlier ones"),
    TurnCheckInfo("difficulty", "Not too easy", "Too easy", (DIFFICULTY,), "whether the turns are too easy"),
    TurnCheckInfo("quality", "Quality of the chain", "Quality", ("quality",),
                  "whether the chains are good as a whole", always=False),
    TurnCheckInfo("checklist", "Checklist tried", "Checklist", ("checklist",),
                  "whether the checklists tell right answers from wrong ones", always=False),
    TurnCheckInfo("task", "Does its task", "Task", ("task",),
                  "whether the dialogues test what their task asks for", always=False),
)  # fmt: skip
"""In the order of importance to a reader."""

GRAPH_CHECKS: Final = frozenset({"verified", "faults", "answerable", "evidence", "depends"})
"""Checks that a graph needs no model for: it finds every answer again, with its evidence."""
ATTEMPT_GATE: Final = "quality.attempt"
"""Gate of a draft that went back to its writer; it says nothing about the draft that stays."""
WHOLE_DIALOGUE_GATES: Final = ("leak.share", "leak.left")
"""Gates of a whole dialogue that say nothing about each of its turns."""


def gate_name(gate: GateResult) -> str:
    """The name of a gate without the step that made it, such as `verified` for `chains:verified`."""
    return gate.gate.partition(":")[2] or gate.gate


@cache
def check_of(name: str) -> CheckName | None:
    """The check that a gate belongs to."""
    if name == ATTEMPT_GATE or name in WHOLE_DIALOGUE_GATES:
        return None
    return next((c.name for c in CHECKS if any(name == gate or name.startswith(f"{gate}.") for gate in c.gates)), None)


def verdict_of(gate: GateResult) -> str:
    """The verdict of a result of `verified`: `supported`, `contradicted` or `cannot tell`."""
    said = Counter(map(str, gate.extra.get("verdicts", ())))
    if said:
        verdict, times = said.most_common(1)[0]
        return verdict if 2 * times > said.total() else "cannot tell"
    if gate.outcome is GateOutcome.PASSED:
        return "supported"
    return "cannot tell" if gate.outcome is GateOutcome.FLAGGED else "contradicted"


def fault_class(gate: GateResult) -> str:
    """The class of fault that a result stands for: the gate, and for `verified` also the verdict."""
    name = gate_name(gate)
    if name == VERIFIED:
        return f"{name}: {ELSEWHERE_KEY if gate.extra.get(ELSEWHERE_KEY) else verdict_of(gate)}"
    return name


@dataclass(frozen=True)
class CheckedTurn:
    """A turn with the results of its checks."""

    unit: Literal["chain", "dialogue", "rewrite"]
    unit_id: str
    """The chain, dialogue or rewriting draft."""
    index: int
    """From 0."""
    video_id: str
    task: str | None
    """Task of its dialogue; None in a chain."""
    turn: Turn
    results: tuple[GateResult, ...]
    """Results about this turn as it stands, those about its whole unit included."""
    outcomes: Mapping[CheckName, GateOutcome]
    """`flagged`, `passed` or `unchecked` for each check with a result."""
    by_graph: bool = False
    """True if a graph wrote it."""

    @property
    def verified(self) -> bool:
        """True if the answer was compared with the video: by a judge, or by the graph that wrote it."""
        return self.by_graph or self.outcomes.get("verified", GateOutcome.UNCHECKED) is not GateOutcome.UNCHECKED

    @property
    def made(self) -> bool:
        """True if at least one check was made."""
        return any(outcome is not GateOutcome.UNCHECKED for outcome in self.outcomes.values())

    @property
    def passed(self) -> bool:
        """True if the answer is verified and no check that was made found a fault."""
        return self.verified and GateOutcome.FLAGGED not in self.outcomes.values()

    @property
    def needs_video(self) -> bool | None:
        """False if rules or a model answer it without the video; None if neither was tried."""
        found = [self.outcomes[name] for name in ("leaks", "probes") if name in self.outcomes]
        made = [outcome for outcome in found if outcome is not GateOutcome.UNCHECKED]
        return GateOutcome.FLAGGED not in made if made else None

    def result(self, check: CheckName) -> GateResult | None:
        """The result of a check that decides its outcome."""
        found = [gate for gate in self.results if check_of(gate_name(gate)) == check]
        return next((gate for gate in found if gate.outcome is self.outcomes.get(check)), None)

    def value(self, check: CheckName) -> float | None:
        """The measured value of a check, if it was made."""
        result = self.result(check)
        return None if result is None or result.outcome is GateOutcome.UNCHECKED else result.value

    @property
    def flags(self) -> tuple[GateResult, ...]:
        """The results that flag it."""
        flagged = (gate for gate in self.results if gate.outcome is GateOutcome.FLAGGED)
        return tuple(gate for gate in flagged if check_of(gate_name(gate)) is not None)

    @property
    def faults(self) -> tuple[str, ...]:
        """Its classes of faults, such as `lint.pronoun` or `verified: cannot tell`, each once."""
        return tuple(dict.fromkeys(map(fault_class, self.flags)))


def checked_turns(units: Iterable[QAChain | Dialogue], gates: Sequence[GateResult]) -> Iterator[CheckedTurn]:
    """The turns of chains and dialogues with their checks, in order."""
    by_unit = rows_by(gates, "unit_id")
    for unit in units:
        found: dict[int | None, list[GateResult]] = {}
        for gate in by_unit.get(unit.id, ()):
            if gate.outcome not in GONE_OUTCOMES:
                found.setdefault(gate.turn_index, []).append(gate)
        for index, turn in enumerate(unit.turns):
            results = (*found.get(index, ()), *found.get(None, ()))
            yield CheckedTurn(
                "chain" if isinstance(unit, QAChain) else "dialogue",
                unit.id,
                index,
                unit.video_id,
                unit.task if isinstance(unit, Dialogue) else None,
                turn,
                results,
                _outcomes(results),
                by_graph=writer_of(unit) == GRAPH,
            )


def checked_rewrites(
    rewrites: Iterable[Rewrite], gates: Sequence[GateResult], videos: Mapping[str, str]
) -> Iterator[CheckedTurn]:
    """Rewriting drafts with their checks, in order.

    Args:
        rewrites: The drafts.
        gates: Rows of the table `gates`.
        videos: The video of each chain.
    """
    by_unit = rows_by(gates, "unit_id")
    for rewrite in rewrites:
        found = by_unit.get(rewrite.id, ())
        results = tuple(gate for gate in found if gate.unit == "linkage" and gate.outcome not in GONE_OUTCOMES)
        index = rewrite.linkage.target.turn_index
        video_id = videos.get(rewrite.linkage.source.unit_id, "")
        by_graph = model_of(rewrite.writer) == GRAPH
        outcomes = _outcomes(results)
        yield CheckedTurn("rewrite", rewrite.id, index, video_id, None, rewrite.draft, results, outcomes, by_graph)


_WEIGHT: Final = (GateOutcome.UNCHECKED, GateOutcome.PASSED, GateOutcome.FLAGGED)


def _outcomes(results: Iterable[GateResult]) -> dict[CheckName, GateOutcome]:
    outcomes: dict[CheckName, GateOutcome] = {}
    for gate in results:
        name = check_of(gate_name(gate))
        if name is not None:
            outcomes[name] = max(outcomes.get(name, gate.outcome), gate.outcome, key=_WEIGHT.index)
    # A judge that verifies an answer also names the other faults, and no row says that there are none.
    if "verified" in outcomes and "faults" not in outcomes:
        made = outcomes["verified"] is not GateOutcome.UNCHECKED
        outcomes["faults"] = GateOutcome.PASSED if made else GateOutcome.UNCHECKED
    return outcomes


@dataclass(frozen=True)
class CheckCount:
    """A check over all turns of a benchmark."""

    check: TurnCheckInfo
    passed: MeanInterval | None
    """Share of the turns that it was made on and that passed; None if it was made on none."""
    flagged: int
    unchecked: int
    """Turns on which it could not be made."""
    reasons: tuple[tuple[str, int], ...] = ()
    """Why it could not be made, with the number of turns; the most frequent reasons first."""
    judged: str = ""
    """What its judges refuse of turns that were changed to be wrong; empty if no judge decides it, or none was
    measured."""

    @property
    def made(self) -> int:
        """Number of turns on which it was made."""
        return self.passed.n if self.passed else 0


@dataclass(frozen=True)
class ClassQuality:
    """Turns of one class."""

    name: str
    turns: int
    passed: MeanInterval | None
    supported: MeanInterval | None


@dataclass
class Quality:
    """How far a benchmark was checked, and with what result."""

    turns: int = 0
    videos: int = 0
    results: int = 0
    """Results of checks, those about drafts that are gone included."""
    passed: MeanInterval | None = None
    """Share of the verified turns that passed all checks that were made on them."""
    checks: list[CheckCount] = field(default_factory=list)
    """All of `CHECKS` that were made on a turn."""
    not_made: list[CheckCount] = field(default_factory=list)
    """Checks that were made on no turn, as far as the benchmark would need them."""
    needs_video: MeanInterval | None = None
    faults: Counter[str] = field(default_factory=Counter)
    """Turns by gate that flags them."""
    gone: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Results about drafts that are gone, by gate and outcome."""
    classes: list[ClassQuality] = field(default_factory=list)
    writers: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    rates: list[JudgeRate] = field(default_factory=list)
    """What each judge made of turns that were changed to be wrong."""
    constant: tuple[str, ...] = ()
    """What models say of everything alike, in sentences."""
    own_judges: tuple[str, ...] = ()
    """Models that wrote turns and judged them."""
    identical: tuple[IdenticalUnits, ...] = ()
    """Chains and dialogues that say the same about different clips, if they are many."""
    read: ReadSheet | None = None
    """What people said about turns on sheets."""

    @property
    def unverified(self) -> int:
        """Turns whose answers nobody compared with the video. They are in no share of turns that passed."""
        return self.turns - (self.passed.n if self.passed else 0)

    @property
    def by_graph(self) -> bool:
        """True if the graph wrote all of it."""
        return set(self.writers) == {GRAPH}


def measure_quality(
    units: Iterable[QAChain | Dialogue],
    gates: Sequence[GateResult],
    rewrites: Iterable[Rewrite] = (),
    videos: Iterable[Video] = (),
    read: Iterable[SheetTurn] = (),
    linkages: Iterable[Linkage] = (),
) -> Quality:
    """Count how far turns were checked, with intervals clustered by video. Of a turn, some bytes are kept.

    Args:
        units: Chains and dialogues of a benchmark.
        rewrites: Its rewriting drafts. They are a class of their own, and not among the turns.
        videos: Its videos; of those that look alike, chains may say the same.
        read: Its turns in their places, which are gone through if people filled in sheets about some.
        linkages: Its links, of which a model may say the same of all.
    """
    import polars as pl

    found, about = Quality(results=len(gates)), dict[str, str]()
    reasons: dict[str, Counter[str]] = {check.name: Counter() for check in CHECKS}
    said, writers, constant = TextIndex(), set[str](), ConstantReplies()
    verdicts = [gate for gate in gates if is_verdict(gate)]
    refused: dict[tuple[str, int], bool] = {}

    def noted() -> Iterator[QAChain | Dialogue]:
        for unit in units:
            said.add(unit)
            if writer := writer_of(unit):
                writers.add(writer)
            yield unit

    def counted() -> Iterator[CheckedTurn]:
        for turn in checked_turns(noted(), gates):
            about[turn.unit_id] = turn.video_id
            constant.add_turn(turn.turn, turn.result("verified"))
            found.faults.update(turn.faults)
            if verdicts and turn.made:
                refused[turn.unit_id, turn.index] = bool(turn.flags)
            for name, outcome in turn.outcomes.items():
                if outcome is GateOutcome.UNCHECKED and (result := turn.result(name)) is not None:
                    reasons[name][result.reason or "no reason given"] += 1
            yield turn

    found.rates = judge_rates(gates)
    turns = _frame(counted())
    found.turns, found.videos = len(turns), len(set(about.values()))
    found.passed, found.needs_video = _share(turns, "passed"), _share(turns, "needs_video")
    for check in CHECKS:
        outcomes = turns.select("video_id", outcome=check.name).drop_nulls()
        made = outcomes.filter(pl.col("outcome") != GateOutcome.UNCHECKED)
        passed = made.select("video_id", passed=pl.col("outcome") == GateOutcome.PASSED)
        flagged = len(made.filter(pl.col("outcome") == GateOutcome.FLAGGED))
        unchecked = len(outcomes) - len(made)
        count = CheckCount(
            check,
            _share(passed, "passed"),
            flagged,
            unchecked,
            tuple(reasons[check.name].most_common()),
            _judged(found.rates, check.name),
        )
        if count.passed is not None:
            found.checks.append(count)
        elif check.always or count.unchecked:
            found.not_made.append(count)
    for gate in gates:
        if gate.outcome in GONE_OUTCOMES or gate_name(gate) == ATTEMPT_GATE:
            outcome = GateOutcome.REPLACED if gate_name(gate) == ATTEMPT_GATE else gate.outcome
            found.gone[fault_class(gate), outcome.value] += 1
    drafts = list(checked_rewrites(rewrites, gates, about))
    found.faults.update(f"{fault} (draft)" for draft in drafts for fault in draft.faults)
    classes = pl.concat([turns, _frame(drafts)]).with_columns(pl.col("class").cast(pl.String))
    found.classes = [
        ClassQuality(str(name).replace("_", " "), len(own), _share(own, "passed"), _share(own, "supported"))
        for (name,), own in classes.sort("class", maintain_order=True).group_by("class", maintain_order=True)
    ]
    found.read = measure_sheet(verdicts, read, refused) if verdicts else None
    found.identical = tuple(said.identical({video.id: film_key(video) for video in videos}))
    constant.add_links(linkages)
    found.constant = tuple(constant.sentences())
    found.writers = tuple(sorted(writers))
    found.judges = tuple(sorted({str(name) for gate in gates for name in gate.extra.get("judges", ())}))
    found.own_judges = tuple(name for name in found.writers if name in map(model_of, found.judges))
    return found


def _judged(rates: Iterable[JudgeRate], check: CheckName) -> str:
    own: dict[str, Pairs] = {}
    for rate in rates:
        if rate.step in STEPS_OF.get(check, ()):
            own[rate.judge] = own.get(rate.judge, Pairs()) + rate.pairs
    named = [f"{judge} {format_rate(pairs.detected)}" for judge, pairs in own.items()]
    return "; ".join(named) if len(named) > 1 else "".join(format_rate(pairs.detected) for pairs in own.values())


def benchmark_quality(benchmark: Benchmark) -> Quality:
    """How far the turns of a benchmark were checked.

    Raises:
        InputError: A table is damaged.
    """
    return content_quality(benchmark.stored_content())


def content_quality(content: Content) -> Quality:
    """How far the turns of a benchmark's content were checked."""
    return measure_quality(
        chain[QAChain | Dialogue](content.chains, content.dialogues),
        content.gates,
        content.rewrites,
        content.videos,
        sheet_turns(content.chains, content.dialogues, content.paths),
        content.linkages,
    )


def is_supported(turn: CheckedTurn) -> bool | None:
    """True if a judge saw that the video supports the reference answer; None if no judge looked."""
    outcome = turn.outcomes.get("verified")
    return None if outcome in (None, GateOutcome.UNCHECKED) else outcome is GateOutcome.PASSED


def writer_of(unit: QAChain | Dialogue) -> str:
    """The name of the model that wrote a chain or dialogue, or `graph`; empty if it was imported."""
    return model_of(str(unit.extra.get("writer", "")))


def model_of(signature: str) -> str:
    """The name of a model in a writer's signature: `qwen3-vl` of `model:qwen3-vl#1f2e3d4c`."""
    return signature.split("|")[0].removeprefix("model:").partition("#")[0]


def _frame(turns: Iterable[CheckedTurn]) -> "pl.DataFrame":
    """A row for each turn: its video and class, what it passed, and the outcome of every check."""
    import polars as pl

    names = [check.name for check in CHECKS]
    name, flag = pl.Categorical(), pl.Boolean()
    schema: dict[str, pl.DataType] = {"video_id": name, "class": name, "passed": flag, "needs_video": flag,
                                      "supported": flag, **dict.fromkeys(names, name)}  # fmt: skip
    rows = (
        (turn.video_id, _class_of(turn), turn.passed if turn.verified else None, turn.needs_video, is_supported(turn),
         *map(turn.outcomes.get, names))
        for turn in turns
    )  # fmt: skip
    frames = [pl.DataFrame(schema=schema)]
    while batch := list(islice(rows, BATCH)):
        frames.append(pl.DataFrame(batch, schema, orient="row"))
    return pl.concat(frames)


def _class_of(turn: CheckedTurn) -> str:
    return {"chain": "question chains", "rewrite": "rewriting drafts"}.get(turn.unit, turn.task or "dialogues")


def _share(turns: "pl.DataFrame", column: str) -> MeanInterval | None:
    """The share of true values; None if all are unknown."""
    known = turns.drop_nulls(column)
    if known.is_empty():
        return None
    return mean_interval(known[column].cast(float).to_numpy(), numbered_clusters(known["video_id"]), (0.0, 1.0))


def format_share(share: MeanInterval | None) -> str:
    """A share with its interval and what it rests on: `93 % (88 to 97 %; 120 turns, 12 videos)`."""
    if share is None:
        return "not checked"
    interval = ""
    if share.low is not None and share.high is not None:
        interval = f"{_percent(share.low)} to {_percent(share.high)} %; "
    videos = f"{share.clusters:,} video{'' if share.clusters == 1 else 's'}"
    return f"{_percent(share.value)} % ({interval}{share.n:,} turn{'' if share.n == 1 else 's'}, {videos})"


def _percent(share: float) -> str:
    # A share below 1 never reads as 100 %, nor one above 0 as 0 %.
    if 0 < share < 0.005 or 0.995 <= share < 1:
        return f"{100 * share:.1f}" if 0.0005 <= share < 0.9995 else ("under 0.1" if share < 0.5 else "over 99.9")
    return f"{100 * share:.0f}"


def quality_sentences(found: Quality) -> Iterator[str]:
    """What a reader must know: what was not checked, the headline, and who judged."""
    yield from identical_sentences(found)
    if found.read is not None:
        yield from sheet_sentences(found.read, format_share)
    missing: dict[str, list[str]] = {}
    for count in found.not_made:
        if not (found.by_graph and count.check.name in GRAPH_CHECKS):
            missing.setdefault(count.reasons[0][0] if count.reasons else "", []).append(count.check.missing)
    for reason, what in missing.items():
        yield f"Not checked: {'; '.join(what)}{f' ({reason})' if reason else ''}."
    for count in found.checks:
        if count.unchecked:
            yield f"Not checked on {count.unchecked:,} of {found.turns:,} turns: {count.check.missing}."
    if found.unverified:
        why = "no judge compared their answers with the video"
        yield f"Unverified: {found.unverified:,} of {found.turns:,} turns; {why}."
    if found.passed is None:
        return
    made = "; ".join(count.check.title[0].lower() + count.check.title[1:] for count in found.checks)
    share = format_share(found.passed)
    yield f"{share} of the verified turns passed every check that was made on them. Checks made: {made}."
    yield from rate_sentences(found.rates, found.judges)
    if elsewhere := found.faults[f"{VERIFIED}: {ELSEWHERE_KEY}"]:
        yield (
            f"Not verified: {elsewhere:,} of {found.turns:,} turns that a judge supports by a moment outside the "
            "stated evidence, or outside what it was shown."
        )
    yield from found.constant
    if found.by_graph:
        yield "A graph wrote the answers. Each was found again in the graph before it was written."
    for name in found.own_judges:
        yield f"Warning: {name} wrote turns and judged them. Models tend to approve of what they wrote."


def identical_sentences(found: Quality) -> Iterator[str]:
    """A warning about chains or dialogues that say the same about different clips, if they are many."""
    for same in found.identical:
        yield f"Warning: {same}. A writer that looks at the clips does not write so."


def quality_card(found: Quality) -> list[str]:
    """A section of a Markdown card that says how far a benchmark was checked.

    It is empty if nothing was constructed, unless many chains are identical.
    """
    known = found.turns and (found.writers or found.results)
    sentences = list((quality_sentences if known else identical_sentences)(found))
    if not sentences:
        return []
    lines = ["## How far it was checked", "", *(f"- {escape_card(sentence)}" for sentence in sentences)]
    if not known:
        return [*lines, ""]
    if found.read is not None:
        people = [(column.title, format_share(column.yes), alpha_text(column.alpha)) for column in found.read.columns]
        read = ("Read by people, blind to the checks", "Turns with yes", "Agreement, α")
        lines += ["", *markdown_table(read, people, numbers=(False, False, False))]
    if found.checks:
        rows = [
            (count.check.title, format_share(count.passed), count.judged, f"{count.flagged:,}", f"{count.unchecked:,}")
            for count in found.checks
        ]
        titles = ("Check", "Turns that passed", "Its judge refuses of wrong turns", "Flagged", "Unverified")
        kept = [n for n in range(len(titles)) if n != 2 or found.rates]
        cells = [[row[n] for n in kept] for row in (titles, *rows)]
        lines += ["", *markdown_table(cells[0], cells[1:], numbers=[n > 2 for n in kept])]
    if found.rates:
        rates = [tuple(map(escape_card, rate_cells(rate))) for rate in found.rates]
        lines += ["", *markdown_table(HEADINGS, rates, numbers=(False, False, False, False))]
    if len(found.classes) > 1:
        classes = [
            (escape_card(one.name), f"{one.turns:,}", format_share(one.passed), format_share(one.supported))
            for one in found.classes
        ]
        head = ("Class", "Turns", "Passed every check that was made", "Answer verified")
        lines += ["", *markdown_table(head, classes, numbers=(False, True, False, False))]
    if found.faults:
        faults = [(f"`{escape_card(name)}`", f"{n:,}") for name, n in found.faults.most_common()]
        lines += ["", *markdown_table(("Flag", "Turns"), faults, numbers=(False, True))]
    who = [f"Written by {', '.join(map(escape_card, found.writers))}." if found.writers else ""]
    who.append(f"Judged by {', '.join(map(escape_card, found.judges))}." if found.judges else "No model judged it.")
    lines += [
        "",
        " ".join(filter(None, who)),
        "Intervals are 95 %, clustered by video. Turns that contradict the video ",
    ]
    lines[-1] += "are gone; releases and exports leave out flagged ones, too, unless they say otherwise."
    return [*lines, ""]
