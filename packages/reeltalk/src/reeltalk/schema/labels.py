"""The label vocabularies of the four systems.

Vocabularies are open: a turn may carry any label in any vocabulary, since annotators and later papers add their own.
Those listed here are known, so that a reader can group by them and `validate` can point out a likely misspelling.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from reeltalk.schema.record import Finite, Index, Name, Record


class QuestionType(StrEnum):
    """VDAct's thirteen question types; a turn may carry several (AAAI 2025, table 1)."""

    AGENT = "D-AGT"
    """A characteristic or state of an agent, as looks, clothes or posture; the number of agents is QNT."""
    ACTION = "D-ACT"
    """Actions in general; the question names no object."""
    OBJECT = "D-OBJ"
    """Objects that take part in actions, on which actions are done, or their state; the colour of a thing too."""
    INTERACTION = "D-INT"
    """Whether an action was done on a specific object."""
    LOCATION = "D-LOC"
    """Whereabouts of agents or objects, or where an action took place."""
    SEQUENCE = "T-SEQ"
    """The order of actions in time, with or without objects; also a specific point in time."""
    FREQUENCY = "T-FRQ"
    """How often, or how long, an action was done."""
    EXPLANATION = "EXP"
    """How or why an action was carried out."""
    QUANTITY = "QNT"
    """The quantity or number of agents or objects; no duration."""
    REFERENCE = "REF"
    """Refers to earlier turns, or needs the dialogue's history to be answered."""
    SUPPLEMENTARY = "SUP"
    """Further details of the activities."""
    VIDEO = "VID"
    """The video itself: sound, quality, length, the language spoken in it."""
    OPINION = "OPI"
    """Opinions, or facts about agents, actions and objects that are subjective or cannot be verified."""


class Relation(StrEnum):
    """SVBench's six relations between turns of adjacent chains (arXiv 2502.10810), in the code's spelling."""

    PEOPLE = "People"
    OBJECTS = "Objects"
    ACTIONS = "Actions"
    EVENTS = "Events"
    ENVIRONMENT = "Environment"
    QUANTITY = "Quantity"

    @classmethod
    def from_published(cls, name: str) -> "Relation | None":
        """The relation that a paper's or a file's spelling means (`Person`, `actions`, `Event`), or None."""
        return _RELATION_SPELLINGS.get(name.strip().casefold())


_RELATION_SPELLINGS = {
    **{relation.value.casefold(): relation for relation in Relation},
    "person": Relation.PEOPLE,
    "object": Relation.OBJECTS,
    "action": Relation.ACTIONS,
    "event": Relation.EVENTS,
    "environments": Relation.ENVIRONMENT,
    "quantities": Relation.QUANTITY,
}


class Skill(StrEnum):
    """SVBench's nine skills (arXiv 2502.10810, appendix B), by the abbreviations of its tables.

    A question's skill follows from what it asks: one main skill, the same for questions of one meaning.
    """

    II = "II"
    """The intent behind an action."""
    PA = "PA"
    """Whether an action is feasible under conditions, or its outcome in another context."""
    CR = "CR"
    """A scenario contrary to fact."""
    STS = "STS"
    """Implications, differences or changes of events at a certain time and place."""
    RI = "RI"
    """Links between entities, persons or objects."""
    CST = "CST"
    """Emotional states of characters, and how they change."""
    CTA = "CTA"
    """How objects, actions or events compare, and trends."""
    CSI = "CSI"
    """Common sense or established facts applied to what is shown."""
    ECA = "ECA"
    """A significant event in depth, what triggers it and what it does to what follows."""


class Target(StrEnum):
    """CogME: what a question is about (CogSci 2024, table 1); one to three."""

    CHARACTER = "Character"
    """Who is featured."""
    OBJECT = "Object"
    """Things and parts of bodies."""
    PLACE = "Place"
    """Spatial information."""
    CONVERSATION = "Conversation"
    """What characters say or write: dialogue, monologue, sounds of speech, messages."""
    BEHAVIOR = "Behavior"
    """Movements and actions."""
    EVENT = "Event"
    """What happened."""
    EMOTION = "Emotion"
    """Feelings that are shown."""
    COMMONSENSE = "Commonsense"
    """What people of a culture accept as known."""


class Content(StrEnum):
    """CogME: which knowledge of the target a question asks for (CogSci 2024, table 2); one to three."""

    IDENTITY = "Identity"
    """Personal information of subjects, names of objects."""
    FEATURE = "Feature"
    """Characteristics, traits, atmosphere."""
    RELATIONSHIP = "Relationship"
    """How two or more targets stand to each other."""
    MEANS = "Means"
    """The instrument or method for a purpose."""
    CONTEXT = "Context"
    """The story line, as it shows in conversations or interactions between characters; no room and no posture."""
    SEQUENCE = "Sequence"
    """Events related in time, before and after."""
    CAUSALITY = "Causality"
    """Cause and consequence of a change that is natural or mechanical."""
    MOTIVATION = "Motivation"
    """A change that comes from personal preference or intention."""


class Thinking(StrEnum):
    """CogME: the highest way of thinking a question needs; weights 1, 2, 3 in this order (CogSci 2024, table 3).

    Exactly one. The same question may need another one in another video.
    """

    RECALL = "Recall"
    """A fact of the scene."""
    GRASPING = "Grasping"
    """Perceiving or interpreting with change in time or space; includes Recall."""
    REASONING = "Reasoning"
    """Judging from circumstantial evidence, not from direct observation; includes both."""


class Task(StrEnum):
    """MT-Video-Bench's six tasks (arXiv 2510.17722), by the names of its files."""

    OBJECT_REFERENCE = "object_reference"
    MEMORY_RECALL = "memory_recall"
    CONTENT_SUMMARY = "summary"
    ANSWER_REFUSAL = "answer_refusal"
    TOPIC_SHIFTING = "topic_shifting"
    PROACTIVE_INTERACTION = "proactive_interaction"


VOCABULARIES: dict[str, type[StrEnum]] = {
    "vdact.question_type": QuestionType,
    "svbench.relation": Relation,
    "svbench.skill": Skill,
    "cogme.target": Target,
    "cogme.content": Content,
    "cogme.thinking": Thinking,
    "mt_video_bench.task": Task,
}
"""Known vocabularies by the name under which `Turn.labels` files them."""


LABEL_COUNTS: Final[Mapping[str, tuple[int, int]]] = {
    "vdact.question_type": (1, 13),
    "svbench.relation": (1, 6),
    "svbench.skill": (1, 9),
    "cogme.target": (1, 3),
    "cogme.content": (1, 3),
    "cogme.thinking": (1, 1),
    "mt_video_bench.task": (1, 6),
}
"""The least and the most labels of a known vocabulary that a turn has, if it has any."""


_TITLES: Final[Mapping[type[StrEnum], Mapping[StrEnum, str]]] = {
    QuestionType: {
        QuestionType.AGENT: "Agents",
        QuestionType.ACTION: "Actions",
        QuestionType.OBJECT: "Objects",
        QuestionType.INTERACTION: "Interactions",
        QuestionType.LOCATION: "Locations",
        QuestionType.SEQUENCE: "Sequence",
        QuestionType.FREQUENCY: "Frequency",
        QuestionType.EXPLANATION: "Explanations",
        QuestionType.QUANTITY: "Quantities",
        QuestionType.REFERENCE: "References to earlier turns",
        QuestionType.SUPPLEMENTARY: "Supplementary details",
        QuestionType.VIDEO: "Video attributes",
        QuestionType.OPINION: "Opinions",
    },
    Skill: {
        Skill.II: "Intention inference",
        Skill.PA: "Potentiality assessment",
        Skill.CR: "Counterfactual reasoning",
        Skill.STS: "Spatio-temporal speculation",
        Skill.RI: "Relationship inference",
        Skill.CST: "Character state and transition",
        Skill.CTA: "Comparison and trend analysis",
        Skill.CSI: "Common sense inference",
        Skill.ECA: "Event-centric analysis",
    },
    Task: {
        Task.OBJECT_REFERENCE: "Object reference",
        Task.MEMORY_RECALL: "Memory recall",
        Task.CONTENT_SUMMARY: "Content summary",
        Task.ANSWER_REFUSAL: "Answer refusal",
        Task.TOPIC_SHIFTING: "Topic shifting",
        Task.PROACTIVE_INTERACTION: "Proactive interaction",
    },
}
"""Names of labels that are codes, as the papers have them."""


def label_title(vocabulary: str, label: str) -> str:
    """The name of a label for people: `Sequence` for `T-SEQ`. A label that is a word, or unknown, is its own title.

    Args:
        vocabulary: The name of its vocabulary, such as `svbench.skill`.
        label: The label as tables hold it.
    """
    kind = VOCABULARIES.get(vocabulary)
    if kind is None or label not in kind._value2member_map_:
        return label
    return _TITLES.get(kind, {}).get(kind(label), label)


def unknown_labels(labels: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    """The (vocabulary, label) pairs whose vocabulary is known and whose label is not in it."""
    return [
        (vocabulary, label)
        for vocabulary, given in labels.items()
        if vocabulary in VOCABULARIES
        for label in given
        if label not in VOCABULARIES[vocabulary]._value2member_map_
    ]


TagUnit = Literal["chain", "dialogue", "path"]
Probability = Annotated[Finite, Field(ge=0, le=1)]


class TagProposal(Record):
    """What a tagger made of one turn in one vocabulary. It stays a proposal until a person has looked at it."""

    unit: TagUnit
    unit_id: Name
    turn_index: Index
    """From 0."""
    vocabulary: Name
    """As `cogme.target`."""
    tags: tuple[Name, ...] = ()
    """What the turn was tagged with; none if the tagger gave nothing that could be used."""
    probabilities: dict[str, Probability] = Field(default_factory=dict)
    """How likely each tag of the vocabulary is, by the tagger; empty if it does not say."""
    margin: Probability | None = None
    """How far the probabilities are from other tags, 0 to 0.5; None if the tagger does not say."""
    tagger: Name
    """Signature, as `model:NAME#1f2e3d4c`."""
    needs_review: bool = False
    """True for the most uncertain ones, and for those without tags."""
    reason: str | None = None
    """Why there are no tags."""
    raw: tuple[str, ...] = ()
    """Replies of a model that could not be used, as they came."""


_FOLDER: Final = Path(__file__).parent
TAGGING_MANUAL: Final = _FOLDER / "tagging_manual.md"
"""CogME's vocabularies (CogSci 2024, tables 1 to 3) and VDAct's question types (AAAI 2025, table 1), in our words.

A change of it is another version, and shows in what it tagged.
"""
TAGGING_MANUALS: Final[Mapping[str, Path]] = {"en": TAGGING_MANUAL, "zh": _FOLDER / "tagging_manual_zh.md"}
"""The manual by language."""
