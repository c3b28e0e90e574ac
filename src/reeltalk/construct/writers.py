"""Who writes: one protocol, which a language model and the graph both follow.

A writer gives records or says why it gives none. What it cannot write is `Unwritten`, with the raw replies where a
model was asked; nothing is ever put in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, runtime_checkable

from reeltalk.schema.dialogue import Checklist, Dialogue, Linkage, QAChain, Turn
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.rewriting import Rewrite
from reeltalk.schema.standing import Entered, Standing

T = TypeVar("T")
Language = Literal["en", "zh"]


@dataclass(frozen=True)
class Unwritten:
    """Nothing was written."""

    reason: str
    replies: tuple[str, ...] = ()
    """What a model answered, as it came."""


@dataclass(frozen=True)
class ChainJudgement:
    """What a quality gate found about a chain."""

    overall: float
    """0 to 100."""
    dimensions: dict[str, float]
    reasons: tuple[str, ...] = ()


class Writer(Protocol):
    """Writes what SVBench's and MT-Video-Bench's annotators wrote. Methods may be called from several threads."""

    @property
    def signature(self) -> str:
        """What wrote a record, as `graph` or `model:NAME#1f2e3d4c`; with `writer:text-only` where it is blind."""
        ...

    @property
    def threads(self) -> int:
        """How many calls may be under way at once, 1 or more."""
        ...

    def chain(self, video: Video, clip: Clip, *, advice: Sequence[str] = ()) -> QAChain | Unwritten:
        """Five or six questions about a clip, each after the first resting on the answer before.

        Args:
            video: Whose clip it is.
            clip: What it is about.
            advice: Why an earlier chain was sent back, for another attempt.
        """
        ...

    def judge(self, video: Video, clip: Clip, chain: QAChain) -> ChainJudgement | Unwritten | None:
        """How good a chain is; None for a writer that needs no judge."""
        ...

    def linkages(self, video: Video, before: QAChain, after: QAChain) -> list[Linkage] | Unwritten:
        """Relations between turns of two chains that follow each other; an empty list is legal."""
        ...

    def rewrite(self, video: Video, linkage: Linkage, before: QAChain, after: QAChain) -> list[Rewrite] | Unwritten:
        """Drafts that rest the later turn on the earlier one, along SVBench's catalogue."""
        ...

    def caption(self, video: Video, clip: Clip) -> str | Unwritten:
        """What happens in a clip, in a few sentences."""
        ...

    def suitability(self, video: Video, scene: Scene, task: Task) -> int | Unwritten:
        """How well a scene suits a task, 1 to 6."""
        ...

    def dialogue(
        self, video: Video, scene: Scene, task: Task, *, number: int, advice: Sequence[str] = ()
    ) -> Dialogue | Unwritten:
        """A dialogue of 5 to 8 rounds about a scene.

        Args:
            video: Whose scene it is.
            scene: What it is about; a cross-scene segment has several parts.
            task: What it is to test.
            number: Tells the dialogues of one scene and task apart, from 0.
            advice: Why an earlier dialogue was sent back, for another attempt.
        """
        ...

    def checklist(self, video: Video, dialogue: Dialogue, turn: Turn) -> Checklist | Unwritten:
        """Five yes/no items by which an answer to the turn is judged: four expected Yes, one No."""
        ...


@runtime_checkable
class ChecksEntrances(Protocol):
    """A writer that can tell more than the rule does whether a path can enter a chain in its middle."""

    def stands(self, video: Video, entered: Entered, before: QAChain, after: QAChain) -> Standing:
        """Whether the turn that a path lands on, and all that follow it there, stand without the skipped turns.

        Args:
            video: Whose chains they are.
            entered: What is asked, and what is skipped.
            before: The chain that the path leaves.
            after: The chain that it enters.
        """
        ...


@runtime_checkable
class KnowsObjects(Protocol):
    """A writer that knows which objects a clip shows, without a detector."""

    def objects(self, video: Video, clip: Clip) -> frozenset[str]:
        """Names of objects, the same throughout a video."""
        ...


@runtime_checkable
class JudgesScenes(Protocol):
    """A writer that says itself whether two neighbouring captions tell one scene."""

    def same_scene(self, before: str, after: str) -> bool | Unwritten:
        """True where they do."""
        ...


@runtime_checkable
class DescribesObjects(Protocol):
    """A writer that sees what a detected object looks like."""

    def object_caption(self, kind: str, picture: bytes) -> str | Unwritten:
        """What an object in a JPEG file looks like, in one sentence."""
        ...


@runtime_checkable
class ProposesTags(Protocol):
    """A writer that tags turns after they are written."""

    def propose_tags(self, turns: Sequence[Turn]) -> tuple[Turn, ...] | Unwritten:
        """The turns with CogME's tags and VDAct's question types, marked as not verified."""
        ...
