"""The writer protocol, which the language-model writer and the graph writer implement.

A writer returns records, or `Unwritten` with the reason and the raw replies of a model. Nothing ever replaces a missing
record.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeVar, runtime_checkable

from reeltalk.schema.dialogue import Checklist, Dialogue, Linkage, QAChain, Turn
from reeltalk.schema.entrances import Entrance, EntranceVerdict
from reeltalk.schema.gates import GateResult
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.rewriting import Rewrite
from reeltalk_build.construct.verification import DialogueVerdict, TurnVerdict

T = TypeVar("T")
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
    """What a writer is told about the rest of a video, so that a chain belongs to its clip and repeats no question."""

    before: str = ""
    """Caption of the clip before; empty if there is none."""
    after: str = ""
    """Caption of the clip after."""
    asked: tuple[str, ...] = ()
    """Questions of the video's earlier chains."""
    wanted: tuple[tuple[str, str], ...] = ()
    """Labels that the chain is to get, each with its vocabulary; see `balance.wanted_labels`."""


class Writer(Protocol):
    """Writes what annotators of SVBench and MT-Video-Bench wrote. Methods may be called from several threads."""

    @property
    def signature(self) -> str:
        """Identifies the writer: `graph` or `model:NAME#1f2e3d4c`, with `writer:text-only` if it sees no images."""
        ...

    @property
    def threads(self) -> int:
        """Most simultaneous calls, 1 or more."""
        ...

    def chain(self, video: Video, clip: Clip, *, advice: Sequence[str] = ()) -> QAChain | Unwritten:
        """Write five or six questions about a clip. Each one after the first depends on the answer before it.

        Args:
            video: The video of the clip.
            clip: The clip.
            advice: What was wrong with an earlier attempt: the attempt line by line with the faults of each turn below
                it, then reasons about the whole.
        """
        ...

    def judge(self, video: Video, clip: Clip, chain: QAChain) -> ChainJudgement | Unwritten | None:
        """Judge the quality of a chain; None for a writer that needs no judge."""
        ...

    def linkages(self, video: Video, before: QAChain, after: QAChain) -> list[Linkage] | Unwritten:
        """Find related turns of two consecutive chains. An empty list is a valid result."""
        ...

    def rewrite(self, video: Video, linkage: Linkage, before: QAChain, after: QAChain) -> list[Rewrite] | Unwritten:
        """Write drafts in which the later turn depends on the earlier one, by the methods of SVBench's catalogue."""
        ...

    def caption(self, video: Video, clip: Clip) -> str | Unwritten:
        """Describe a clip in a few sentences."""
        ...

    def suitability(self, video: Video, scene: Scene, task: Task) -> int | Unwritten:
        """Rate how suitable a scene is for a task, 1 to 6."""
        ...

    def dialogue(
        self, video: Video, scene: Scene, task: Task, *, number: int, advice: Sequence[str] = ()
    ) -> Dialogue | Unwritten:
        """Write a dialogue of 5 to 8 rounds about a scene.

        Args:
            video: The video of the scene.
            scene: The scene. A cross-scene segment has several parts.
            task: The task that the dialogue tests.
            number: Index, from 0, among the dialogues of this scene and task.
            advice: Reasons why an earlier attempt was sent back.
        """
        ...

    def checklist(self, video: Video, dialogue: Dialogue, turn: Turn) -> Checklist | Unwritten:
        """Write five yes/no items for judging an answer to the turn: four expected Yes, one No."""
        ...


@runtime_checkable
class SeesSurroundings(Protocol):
    """A writer that takes the rest of the video into account, and describes clips for this."""

    def chain_among(
        self, video: Video, clip: Clip, around: Surroundings, *, advice: Sequence[str] = ()
    ) -> QAChain | Unwritten:
        """Like `Writer.chain`, with the neighbouring clips' captions and the questions that were asked before."""
        ...

    def checked_caption(self, video: Video, clip: Clip) -> tuple[str | Unwritten, list[GateResult]]:
        """The caption of a clip, with the results of its checks."""
        ...


@runtime_checkable
class RewritesPairs(Protocol):
    """A writer that writes the drafts for all linkages of two chains at once, and checks them."""

    def rewrite_pair(
        self,
        video: Video,
        linkages: Sequence[Linkage],
        before: QAChain,
        after: QAChain,
        *,
        drafts: int,
        attempts: int,
        skills: Collection[str] = (),
    ) -> RewriteResult:
        """Write drafts in which the later turns depend on the earlier ones.

        Args:
            video: The video of the chains.
            linkages: Linkages from turns of `before` to turns of `after`.
            before: The earlier chain.
            after: The later chain.
            drafts: Wanted drafts for each linkage.
            attempts: Most times that faulty drafts are written again.
            skills: Skills of which the benchmark has too few questions.
        """
        ...


@runtime_checkable
class ChecksEntrances(Protocol):
    """A writer that can decide better than the rule if a path may enter a chain in its middle."""

    def stands(self, video: Video, entered: Entrance, before: QAChain, after: QAChain) -> EntranceVerdict:
        """Decide if the turn that a path lands on, and the turns after it, make sense without the skipped turns.

        Args:
            video: The video of the chains.
            entered: The turns asked and the turns skipped.
            before: The chain that the path leaves.
            after: The chain that the path enters.
        """
        ...


@runtime_checkable
class ChecksAllEntrances(Protocol):
    """A writer that decides on all entrances from one chain into another at once."""

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
        ...


@runtime_checkable
class KnowsObjects(Protocol):
    """A writer that knows the objects in a clip without a detector."""

    def objects(self, video: Video, clip: Clip) -> frozenset[str]:
        """Names of the objects. An object has the same name in all clips of a video."""
        ...


@runtime_checkable
class JudgesScenes(Protocol):
    """A writer that can decide if two neighbouring captions describe one scene."""

    def same_scene(self, before: str, after: str) -> bool | Unwritten:
        """True if both captions describe one scene."""
        ...


@runtime_checkable
class RatesTasks(Protocol):
    """A writer that can rate a scene for all tasks at once."""

    def suitabilities(self, video: Video, scene: Scene) -> Mapping[Task, int] | Unwritten:
        """How suitable a scene is for each task, 1 to 6."""
        ...


@runtime_checkable
class AvoidsRepeats(Protocol):
    """A writer of dialogues that can be told what was already asked about a video."""

    def dialogue_unlike(
        self,
        video: Video,
        scene: Scene,
        task: Task,
        *,
        number: int,
        earlier: Sequence[str],
        advice: Sequence[str] = (),
    ) -> Dialogue | Unwritten:
        """Write a dialogue as `Writer.dialogue` does, with other questions than `earlier`."""
        ...


@runtime_checkable
class JudgesDialogues(Protocol):
    """A writer with judges that check a dialogue against the video."""

    def judge_dialogue(
        self, video: Video, scene: Scene, dialogue: Dialogue, task: Task, /
    ) -> DialogueVerdict | Unwritten:
        """Check every round, and whether the dialogue does its task; `Unwritten` if no judge can be asked."""
        ...


@dataclass(frozen=True)
class TriedChecklist:
    """A checklist, and whether it was tried on a right answer and on wrong ones."""

    checklist: Checklist
    untried: Unwritten | None = None
    """Why it was not tried; None if it was, and passed."""


@runtime_checkable
class TriesChecklists(Protocol):
    """A writer that tries its checklists on right and wrong answers, those of a dialogue together."""

    def checklists(
        self, video: Video, dialogue: Dialogue, turns: Sequence[int]
    ) -> Mapping[int, TriedChecklist | Unwritten]:
        """Checklists by index of the turn, from 0, for some turns of a dialogue."""
        ...


@runtime_checkable
class DescribesObjects(Protocol):
    """A writer that can describe a detected object."""

    def object_caption(self, kind: str, picture: bytes) -> str | Unwritten:
        """Describe the object in a JPEG file, in one sentence."""
        ...


@runtime_checkable
class ProposesTags(Protocol):
    """A writer that tags turns after they are written."""

    def propose_tags(self, turns: Sequence[Turn]) -> tuple[Turn, ...] | Unwritten:
        """The turns with CogME's tags and VDAct's question types, marked as not verified by a person."""
        ...
