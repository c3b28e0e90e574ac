"""The label vocabularies of the four systems.

Vocabularies are open: a turn may carry any label in any vocabulary, since annotators and later papers add their own.
Those listed here are known, so that a reader can group by them and `validate` can point out a likely misspelling.
"""

from enum import StrEnum


class QuestionType(StrEnum):
    """VDAct's thirteen question types; a turn may carry several (AAAI 2025)."""

    AGENT = "D-AGT"
    ACTIVITY = "D-ACT"
    OBJECT = "D-OBJ"
    INTERACTION = "D-INT"
    LOCATION = "D-LOC"
    SEQUENCE = "T-SEQ"
    FREQUENCY = "T-FRQ"
    EXPLANATION = "EXP"
    QUANTITY = "QNT"
    REFERENCE = "REF"
    """Needs the dialogue's history."""
    SUPPOSITION = "SUP"
    VIDEO = "VID"
    """About the video itself: audio, quality, length, language."""
    OPINION = "OPI"


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
    """SVBench's nine skills (arXiv 2502.10810), by the abbreviations of its tables."""

    II = "II"
    """Intention inference: why somebody does something."""
    PA = "PA"
    """Potentiality assessment: whether something can be done."""
    CR = "CR"
    """Counterfactual reasoning: what would be otherwise."""
    STS = "STS"
    """Spatio-temporal speculation: how things lie in space and time."""
    RI = "RI"
    """Relationship inference: how entities are related."""
    CST = "CST"
    """Character state and transition: how somebody is, and becomes."""
    CTA = "CTA"
    """Comparison and trend analysis: how things differ or develop."""
    CSI = "CSI"
    """Common sense inference: what general knowledge adds."""
    ECA = "ECA"
    """Event-centric analysis: a significant event in depth."""


class Target(StrEnum):
    """CogME: what a question is about (CogSci 2024)."""

    CHARACTER = "Character"
    OBJECT = "Object"
    PLACE = "Place"
    CONVERSATION = "Conversation"
    BEHAVIOR = "Behavior"
    EVENT = "Event"
    EMOTION = "Emotion"
    COMMONSENSE = "Commonsense"


class Content(StrEnum):
    """CogME: which knowledge of the target a question asks for (CogSci 2024)."""

    IDENTITY = "Identity"
    FEATURE = "Feature"
    RELATIONSHIP = "Relationship"
    MEANS = "Means"
    CONTEXT = "Context"
    SEQUENCE = "Sequence"
    CAUSALITY = "Causality"
    MOTIVATION = "Motivation"


class Thinking(StrEnum):
    """CogME: the highest way of thinking a question needs; weights 1, 2, 3 in this order (CogSci 2024)."""

    RECALL = "Recall"
    GRASPING = "Grasping"
    REASONING = "Reasoning"


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


def unknown_labels(labels: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    """The (vocabulary, label) pairs whose vocabulary is known and whose label is not in it."""
    return [
        (vocabulary, label)
        for vocabulary, given in labels.items()
        if vocabulary in VOCABULARIES
        for label in given
        if label not in VOCABULARIES[vocabulary]._value2member_map_
    ]
