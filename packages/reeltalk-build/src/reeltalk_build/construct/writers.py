"""The base class of writers, from which the language-model writer and the graph writer are derived.

A writer returns records, or `Unwritten` with the reason and the raw replies of a model. Nothing ever replaces a missing
record.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from reeltalk.schema.dialogue import Checklist, Dialogue, Linkage, QAChain, Turn
from reeltalk.schema.entrances import Entrance, EntranceVerdict, verdict_by_rule
from reeltalk.schema.gates import GateResult
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.rewriting import Rewrite
from reeltalk_build.construct.verification import DialogueVerdict, TurnVerdict

NO_JUDGE: Final = "no model judged it; name one with --judge"
"""Reason of a check that was not made because there is no judge."""
Language = Literal["en", "zh"]


@dataclass(frozen=True)
class Unwritten:
    """The result of a writer that could not write a record."""

    reason: str
    replies: tuple[str, ...] = ()
    """Raw replies of the model."""


@dataclass(frozen=True)
class RewriteResult:
    """The rewriting drafts for the linkages of two chains."""

    rewrites: list[Rewrite]
    gates: list[GateResult]
    """What the checks of the drafts found, and the linkages without a draft."""


@dataclass(frozen=True)
class ChainJudgement:
    """The judgement of a chain's quality."""

    overall: float
    """Overall quality, 0 to 100."""
    dimensions: dict[str, float]
    reasons: tuple[str, ...] = ()
    """What is wrong with the chain as a whole."""
    turns: tuple[TurnVerdict, ...] = ()
    """The verdict on every turn; empty if single turns were not judged."""


@dataclass(frozen=True)
class Surroundings:
    """What a writer knows about the rest of a video, so that a chain belongs to its clip and repeats no question."""

    before: str = ""
    """Caption of the clip before; empty if there is none."""
    after: str = ""
    """Caption of the clip after."""
    questions: tuple[str, ...] = ()
    """Questions of the video's earlier chains."""
    preferred: tuple[tuple[str, str], ...] = ()
    """Labels that the chain is to get, each with its vocabulary; see `balance.wanted_labels`."""


@dataclass(frozen=True)
class LinkageResult:
    """The linkages between two chains."""

    linkages: list[Linkage]
    rejected: list[GateResult]
    """Pairs of turns that could not be used."""


@dataclass(frozen=True)
class TriedChecklist:
    """A checklist, and whether it was tried on a right answer and on wrong ones."""

    checklist: Checklist
    untried: Unwritten | None = None
    """Why it was not tried; None if it was, and passed."""


NO_SURROUNDINGS: Final = Surroundings()
"""Of a clip of which nothing else is known."""


class Writer:
    """Writes what annotators of SVBench and MT-Video-Bench wrote. Methods may be called from several threads.

    The methods from `judge` on say by default that the writer does without: then rules decide, or nothing is written.
    A method of a writer that asks models raises `ModelError` if there is no reply, and `BudgetError` at a limit.
    """

    signature: str
    """Identifies the writer: `graph` or `model:NAME#1f2e3d4c`, with `writer:text-only` if it sees no images."""
    threads: int = 1
    """Most simultaneous calls."""
    judges: Sequence[str] = ()
    """Names of the models that judge what it writes, each once."""
    weights: Mapping[str, float] = MappingProxyType({})
    """How much the vote of each judge counts in `judge` and `judge_dialogue`, by name; 1 for others."""
    looks_around: bool = False
    """True if chains are written with the captions of the neighbouring clips at hand."""

    def chain(
        self, video: Video, clip: Clip, around: Surroundings = NO_SURROUNDINGS, *, advice: Sequence[str] = ()
    ) -> QAChain | Unwritten:
        """Write five or six questions about a clip. Each one after the first depends on the answer before it.

        Args:
            video: The video of the clip.
            around: What the neighbouring clips show, and what was asked about earlier ones.
            advice: What was wrong with an earlier attempt: the attempt line by line with the faults of each turn below
                it, then reasons about the whole.
        """
        raise NotImplementedError

    def linkages(
        self, video: Video, before: QAChain, after: QAChain, preferred: Sequence[str] = ()
    ) -> LinkageResult | Unwritten:
        """Find related turns of two consecutive chains; `preferred` are relations that the benchmark has too few of."""
        raise NotImplementedError

    def caption(self, video: Video, clip: Clip) -> tuple[str | Unwritten, list[GateResult]]:
        """Describe a clip in a few sentences, with the results of the checks of the caption."""
        raise NotImplementedError

    def suitability(self, video: Video, scene: Scene) -> Mapping[Task, int | Unwritten] | Unwritten:
        """Rate how suitable a scene is for each task, 1 to 6."""
        raise NotImplementedError

    def dialogue(
        self,
        video: Video,
        scene: Scene,
        task: Task,
        *,
        number: int,
        earlier: Sequence[str] = (),
        advice: Sequence[str] = (),
    ) -> Dialogue | Unwritten:
        """Write a dialogue of 5 to 8 rounds about a scene.

        Args:
            video: The video of the scene.
            scene: The scene. A cross-scene segment has several parts.
            task: The task that the dialogue tests.
            number: Index, from 0, among the dialogues of this scene and task.
            earlier: Questions that other dialogues about the video ask.
            advice: Reasons why an earlier attempt was sent back.
        """
        raise NotImplementedError

    def checklists(
        self, video: Video, dialogue: Dialogue, turns: Sequence[int]
    ) -> Mapping[int, TriedChecklist | Checklist | Unwritten]:
        """Write five yes/no items, four expected Yes and one No, for some turns of a dialogue, by index from 0."""
        raise NotImplementedError

    def rewrite(self, video: Video, linkage: Linkage, before: QAChain, after: QAChain) -> list[Rewrite] | Unwritten:
        """Write drafts in which the later turn depends on the earlier one; rules check them."""
        return Unwritten("the writer gave no draft for it")

    def rewrites(
        self,
        video: Video,
        linkages: Sequence[Linkage],
        before: QAChain,
        after: QAChain,
        *,
        drafts: int,
        attempts: int,
        skills: Collection[str] = (),
    ) -> RewriteResult | None:
        """Write and check the drafts for all linkages of two chains at once; None if `rewrite` writes them.

        Args:
            video: The video of the chains.
            linkages: Linkages from turns of `before` to turns of `after`.
            before: The earlier chain.
            after: The later chain.
            drafts: Wanted drafts for each linkage.
            attempts: Most times that faulty drafts are written again.
            skills: Skills of which the benchmark has too few questions.
        """
        return None

    def judge(self, video: Video, clip: Clip, chain: QAChain) -> ChainJudgement | Unwritten | None:
        """Judge the quality of a chain; None for a writer that needs no judge."""
        return None

    def stand(
        self, video: Video, entered: Sequence[Entrance], before: QAChain, after: QAChain
    ) -> Sequence[EntranceVerdict]:
        """Decide for each entrance if the turn that a path lands on, and the turns after it, make sense.

        Args:
            video: The video of the chains.
            entered: For each entrance the turns asked and the turns skipped.
            before: The chain that the paths leave.
            after: The chain that the paths enter.
        """
        return [verdict_by_rule(one) for one in entered]

    def objects(self, video: Video, clip: Clip) -> frozenset[str]:
        """Names of the objects in a clip, known without a detector; the same name in all clips of a video."""
        return frozenset()

    def same_scene(self, before: str, after: str) -> bool | Unwritten | None:
        """True if both captions describe one scene; None to decide by their words."""
        return None

    def judge_dialogue(
        self, video: Video, scene: Scene, dialogue: Dialogue, task: Task
    ) -> DialogueVerdict | Unwritten | None:
        """Check every round, and whether the dialogue does its task; None for a writer that needs no judge."""
        return None

    def propose_tags(self, turns: Sequence[Turn]) -> tuple[Turn, ...] | Unwritten:
        """The turns with CogME's tags and VDAct's question types, marked as not verified by a person."""
        return tuple(turns)

    def list_replaced(self, unit_id: str) -> list[GateResult]:
        """Gate results for questions of a chain or dialogue that the writer itself replaced, just after writing it."""
        return []
