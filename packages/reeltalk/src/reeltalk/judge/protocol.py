"""The registry of judging protocols. Each protocol is described once, in the module of its judge.

A module of this package that holds a `PROTOCOL`, or several `PROTOCOLS`, is found by that alone; another package names
its protocol in the entry points `reeltalk.judges`.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Final, Literal

from reeltalk.errors import SettingError
from reeltalk.extension import PYTHON_PREFIX as PREFIX_OF_OWN
from reeltalk.judge.settings import AUTO
from reeltalk.metrics.info import AMOUNT_DECIMALS, Direction, MeanOf, MetricInfo
from reeltalk.plugins import loaded

if TYPE_CHECKING:
    from reeltalk.judge.judge import Judge
    from reeltalk.judge.settings import JudgeSettings
    from reeltalk.schema.answers import AnsweredTurn
    from reeltalk.schema.dialogue import Turn

PACKAGE: Final = "reeltalk.judge"
COMPAT: Final = "compat"
"""Part of the name of a number that an official script makes of the same replies."""
PER_CENT: Final = 100.0
OWN_PROTOCOL_FORM: Final = f"{PREFIX_OF_OWN}FILE.py:CLASS"
"""Form of the name of a user's own protocol."""


@dataclass(frozen=True)
class ProtocolCriterion:
    """A criterion that a protocol scores."""

    name: str
    """Name in the rows."""
    title: str
    """Name on pages, as `SVBench, overall`."""
    low: float = 0.0
    high: float = 1.0
    pass_mark: float | None = None
    """Lowest value of a right answer; None if none was published or chosen."""
    tagged: bool = False
    """True if there are also rows `NAME.TAG` for single tags of a turn."""
    rating_title: str = ""
    """Title for people who rate the same answers; empty if people cannot rate it."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """Meaning of each mark or range of marks, for people."""
    step: float = 1.0
    """Step from one mark that people can give to the next."""
    lowest: float | None = None
    """Lowest mark that people can give; None: `low`."""
    may_not_apply: bool = False
    whole: bool = False
    """True for the overall criterion of a protocol with several."""

    def names(self, criterion: str) -> bool:
        """True if rows of this name belong to the criterion, with or without a tag.

        Args:
            criterion: Criterion of a row, without `compat`.
        """
        return criterion == self.name or (self.tagged and criterion.startswith(f"{self.name}."))

    def share(self, value: float) -> float:
        """The position of a score on the scale, from 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


@dataclass(frozen=True)
class MeasurePart:
    """A part of a measure's name after a dot, as `floor` in `mtv.floor`."""

    name: str
    title: str
    scale: tuple[float | None, float | None] | None = None
    """Lowest and highest value; None: the scale of the measure."""
    direction: Direction = "higher"
    decimals: int | None = None
    headline: bool = False
    """True if the first table shows the number."""
    items: Literal["turns", "dialogues"] | None = None
    """What its n counts; None: the same as the measure's."""
    mean_of: MeanOf | None = None
    """How its number follows from the scores of its items; None: as that of the measure."""


LENIENT: Final = "lenient"
"""Part of a protocol that reads, with `--published`, replies that do not keep to the form."""
COMMON_PARTS: Final = (
    MeasurePart(LENIENT, "share of replies read leniently", (0.0, PER_CENT), "neither", AMOUNT_DECIMALS),
)
"""Parts that any protocol's measures may have."""


@dataclass(frozen=True)
class Need:
    """A field that a turn must have before a protocol can judge it."""

    what: str
    """The field in words, as `a checklist`."""
    has: Callable[["Turn | AnsweredTurn"], bool]
    remedy: str
    """Advice to the user if no turn has it."""


REFERENCE: Final = Need(
    "a reference answer",
    lambda turn: bool(turn.references),
    "name a protocol that needs none, or give --bench a benchmark that holds references",
)


@dataclass(frozen=True)
class OfficialSampling:
    """The sampling parameters that an official script sends."""

    sends: tuple[Literal["temperature", "max_tokens", "seed"], ...] = ()
    seed: int | None = None


@dataclass(frozen=True)
class Protocol:
    """Description of a judging protocol; commands, tables and pages read it."""

    name: str
    """Name on the command line, as `llm-acc`. Score files use the judge's own name, which may have `_` for `-`."""
    title: str
    help: str
    """One line for `--help`."""
    create: Callable[["JudgeSettings"], "Judge"]
    """Creates the judge from the settings of a run."""
    criteria: tuple[ProtocolCriterion, ...]
    """In the order in which people are asked about them."""
    measures: tuple[MetricInfo, ...]
    """Its measures, the headline first. A name may end in a dot and one of `parts`, `COMMON_PARTS`, or an open part."""
    needs_model: bool = True
    needs: Need | None = None
    """A field that at least one turn must have. Turns that lack it are unscored, with the reason."""
    unit: Literal["turn", "unit"] = "turn"
    """Unit of its scores: a turn, or a whole chain, path or dialogue."""
    credit_rank: int | None = None
    """Order among the measures of correctness, the most exact first; None if it does not measure correctness."""
    right_or_wrong: bool = False
    """True if a turn is either right or wrong; then `turns.cascade` can follow errors through a dialogue."""
    parts: tuple[MeasurePart, ...] = ()
    open_parts: str = ""
    """Kind of the parts that depend on the benchmark, as `tag` or `task`; empty if there are none."""
    note: str = ""
    """What readers should know about its numbers, as its error rate; shown beside them."""
    rating: str = ""
    """Version of the instructions by which people rate on its scale; empty if people cannot rate it."""
    source: str = ""
    """The paper."""
    official: OfficialSampling | None = None
    """Sampling of its official script; None if it has no published mode."""

    @property
    def main(self) -> ProtocolCriterion:
        """The overall criterion, or the first one."""
        return next((criterion for criterion in self.criteria if criterion.whole), self.criteria[0])

    def criterion(self, name: str) -> ProtocolCriterion | None:
        """The criterion of a row; None if the protocol does not describe it."""
        own = ".".join(part for part in name.split(".") if part != COMPAT)
        return next((found for found in self.criteria if found.names(own)), None)


CORRECT: Final = "correct"
"""Measure of all due turns, each by its own measure: options, keys, short references, or a judge."""


def protocols() -> Mapping[str, Protocol]:
    """All protocols by name: first those that need a model, then the others, each sorted by title."""
    return _current().protocols


def find_protocol(name: str) -> Protocol | None:
    """The protocol with this name on the command line or in score files; None if there is none."""
    return protocols().get(name) or protocols().get(name.replace("_", "-"))


def may_ask_model(names: Iterable[str]) -> bool:
    """True if any of these protocols may ask a model. A protocol of your own may: its class says so once it is loaded.

    Args:
        names: Names on the command line; `auto` stands for protocols that ask none.
    """
    known = protocols()
    return any(name != AUTO and (name not in known or known[name].needs_model) for name in names)


def measure_info(metric: str) -> MetricInfo | None:
    """The description of a judged measure; None if no protocol describes it.

    Args:
        metric: Name of the measure, as `mtv.floor` or `svbench.OS.compat`.
    """
    registry = _current()
    if metric not in registry.infos:
        registry.infos[metric] = _describe(registry, metric)
    return registry.infos[metric]


def _describe(registry: "_Registry", metric: str) -> MetricInfo | None:
    family, *rest = metric.split(".")
    described, shared = registry.families.get(family), registry.parts
    if described is None:
        return None
    protocol, info = described
    info = info if protocol.unit == "turn" else replace(info, items="dialogues")
    own = [part for part in rest if part != COMPAT]
    titles, unknown = [info.title], 0
    for name in own:
        part = next((part for part in (*protocol.parts, *shared) if part.name == name), None)
        if part is None:
            titles.append(name.replace("_", " "))
            unknown += 1
            # One task of a mean of tasks is a mean of dialogues.
            info = replace(info, mean_of="dialogues") if info.mean_of == "tasks" else info
            continue
        titles.append(part.title)
        low, high = (info.low, info.high) if part.scale is None else part.scale
        decimals = info.decimals if part.scale is None else part.decimals
        items = info.items if part.items is None else part.items
        mean_of = info.mean_of if part.mean_of is None else part.mean_of
        info = replace(
            info, low=low, high=high, direction=part.direction, decimals=decimals, items=items, mean_of=mean_of
        )
    if unknown > bool(protocol.open_parts):
        return None
    official = len(own) < len(rest)
    title = ", ".join(titles) + (" (official script)" if official else "")
    return replace(info, name=metric, title=title, direction="neither" if official else info.direction)


def needs_model(metric: str) -> bool:
    """True if a language model judges this measure.

    Args:
        metric: Name of the measure, as `mtv.floor`.
    """
    described = _current().families.get(metric.split(".")[0])
    return described is not None and described[0].needs_model


def is_right_or_wrong(metric: str) -> bool:
    """True if a turn is either right or wrong by this measure.

    Args:
        metric: Name of the measure, as `match`.
    """
    described = _current().families.get(metric.split(".")[0])
    return described is not None and described[0].right_or_wrong


def is_headline(metric: str) -> bool:
    """True for a measure that the first table shows although its name has a dot.

    Args:
        metric: Name of the measure, as `svbench.OS`.
    """
    family, *rest = metric.split(".")
    described = _current().families.get(family)
    return described is not None and any(part.headline for part in described[0].parts if part.name == ".".join(rest))


def measure_note(metric: str) -> str:
    """What readers should know about a measure's numbers; empty if its protocol has no note.

    Args:
        metric: Name of the measure, as `match`.
    """
    if metric == CORRECT:
        return next(iter(filter(None, (one.note for one in protocols().values()))), "")
    described = _current().families.get(metric.split(".")[0])
    return "" if described is None else described[0].note


def credit_measures() -> tuple[str, ...]:
    """Measures of correctness, the most exact first."""
    return _current().credit


@dataclass(frozen=True)
class _Registry:
    """The protocols that the modules of a path describe."""

    protocols: Mapping[str, Protocol]
    families: Mapping[str, tuple[Protocol, MetricInfo]]
    """Protocol and description by measure, and by protocol name for measures derived from it."""
    parts: tuple[MeasurePart, ...]
    """Parts that any protocol's measures may have."""
    credit: tuple[str, ...]
    infos: dict[str, MetricInfo | None] = field(default_factory=dict)
    """Descriptions of measures that were asked for; pages ask for one of each score."""


def _current() -> _Registry:
    # The path is the cache key: a folder that is added to the package is read too.
    return _registry(tuple(sys.modules[PACKAGE].__path__))


@cache
def _registry(path: tuple[str, ...]) -> _Registry:
    names = sorted(module.name for module in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{PACKAGE}.{name}") for name in names]
    found = [protocol for module in modules for protocol in _described(module)]
    named = [protocol.name for protocol in found]
    assert len(named) == len(set(named)), f"a protocol is described twice among {named}"
    # A name of ours stays ours.
    found += [own for name, own in loaded("reeltalk.judges", Protocol).items() if name not in named]
    found.sort(key=lambda protocol: (not protocol.needs_model, protocol.title.casefold()))
    families = {one.name: (one, replace(one.measures[0], title=one.title)) for one in found}
    families |= {info.name: (one, info) for one in found for info in one.measures}
    whole = _of_all_turns()
    families[CORRECT] = (whole, whole.measures[0])
    ranked = sorted((one.credit_rank, one.measures[0].name) for one in [whole, *found] if one.credit_rank is not None)
    return _Registry(
        {protocol.name: protocol for protocol in found},
        families,
        tuple(part for module in modules for part in getattr(module, "PARTS", ())),
        tuple(name for _, name in ranked),
    )


def _of_all_turns() -> Protocol:
    """The description of `correct`, which is no protocol that one can name: it follows from the others."""
    return Protocol(
        name=CORRECT,
        title="Correct",
        help="",
        create=lambda _: (_ for _ in ()).throw(ValueError("correct follows from other protocols")),
        criteria=(ProtocolCriterion(CORRECT, "Correct", pass_mark=0.5),),
        measures=(per_cent(CORRECT, "Correct"),),
        needs_model=False,
        credit_rank=0,
        right_or_wrong=True,
    )


def _described(module: ModuleType) -> Sequence[Protocol]:
    own = getattr(module, "PROTOCOL", None)
    return getattr(module, "PROTOCOLS", ()) if own is None else (own,)


def per_cent(name: str, title: str) -> MetricInfo:
    """A judged measure from 0 to 100."""
    return MetricInfo(name, title, 0.0, PER_CENT, decimals=AMOUNT_DECIMALS)


def official_sampling(judges: Iterable["Judge"]) -> OfficialSampling:
    """The sampling that the official scripts of some judges share.

    Raises:
        SettingError: A judge has no published mode, two scripts sample differently, or no judge asks a model.
    """
    found: dict[str, OfficialSampling] = {}
    for judge in judges:
        protocol = find_protocol(judge.name)
        if not judge.needs_model:
            continue
        if protocol is None or protocol.official is None:
            known = ", ".join(protocol.name for protocol in protocols().values() if protocol.official is not None)
            raise SettingError(f"{judge.name} has no published mode; --published is for {known}")
        found[judge.name] = protocol.official
    if len(set(found.values())) > 1:
        raise SettingError(
            f"--published asks {' and '.join(found)} with different sampling, as their scripts do; "
            "judge them in runs of their own"
        )
    if not found:
        raise SettingError("--published is for protocols that ask a model; name one with --protocols")
    return next(iter(found.values()))
