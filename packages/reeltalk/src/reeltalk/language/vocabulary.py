"""The terms of VirtualHome2KG's ontology, and the English words for its classes and actions.

Ontology: Egami et al., "Synthesizing Event-Centric Knowledge Graphs of Daily Activities Using Virtual Space",
IEEE Access 2023. Words: VDAct's template summaries (AAAI 2025), which `SUMMARY_WORDS`, `CLAUSES` and `PLURALS` repeat
exactly; `PLAIN_CLASSES` adds those that VDAct shows unsplit, and those of our own household.
"""

from functools import cache
from pathlib import Path
from typing import Final

from reeltalk.language.rules import read_rules

RULE_FILE: Final = read_rules(Path(__file__).with_suffix(".toml"))

ONTOLOGY: Final = "http://example.org/virtualhome2kg/ontology/"
INSTANCE: Final = "http://example.org/virtualhome2kg/instance/"
GRAPH: Final = "http://example.org/virtualhome2kg/graph/"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
TIME: Final = "http://www.w3.org/2006/time#"
X3D: Final = "https://www.web3d.org/specifications/X3dOntology4.0#"
HOME: Final = "http://www.owl-ontologies.com/VirtualHome.owl#"
DCTERMS: Final = "http://purl.org/dc/terms/"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE: Final = f"{RDF}type"

NAMESPACES: Final[dict[str, str]] = RULE_FILE.raw["namespaces"]
"""Namespaces of the released graphs with the prefixes that our code uses; terms of the ontology have none."""

SPATIAL: Final = ("inside", "on", "facing", "close")
"""Spatial relations between Shapes in VDAct's curated graphs, in the order in which summaries tell them."""
HOLDING: Final = ("holds_rh", "holds_lh")
"""Right and left hand; only full graphs have them."""
OPPOSITES: Final = {"ON": "OFF", "OFF": "ON", "OPEN": "CLOSED", "CLOSED": "OPEN", "CLEAN": "DIRTY", "DIRTY": "CLEAN"}
AGENT: Final = "character1"
PERSON: Final = "character"
"""The class of people."""
FEELINGS: Final = {"HAPPY": "happy", "SAD": "sad", "ANGRY": "angry", "SURPRISED": "surprised"}
"""State values of people for feelings, and their words; without one, a person is calm."""
SPEECH_ACTS: Final[tuple[str, ...]] = tuple(RULE_FILE.raw["lists"]["speech_acts"].split())
"""What words do, after speech acts in dialogue annotation (ISO 24617-2, coarsened)."""
ROOMS: Final = RULE_FILE.words["rooms"]

CATEGORIES: Final[tuple[str, ...]] = tuple(RULE_FILE.raw["lists"]["categories"].split())
"""HomeOntology's eleven activity categories and Abnormal, as in VDAct's figure 2a."""

SUMMARY_WORDS: Final[dict[str, str]] = RULE_FILE.raw["told_classes"]
"""Words of VDAct's summaries for classes that they do not show by their own name."""

PLAIN_CLASSES: Final[dict[str, str]] = SUMMARY_WORDS | RULE_FILE.raw["plain_classes"]
"""Plain English for questions, by class; other classes read as they are."""

PLURALS: Final = RULE_FILE.words["plurals"]
"""Words for classes that take *are*."""

CLAUSES: Final[dict[str, str]] = RULE_FILE.raw["clauses"]
"""Clauses after *He*, by action; those from `sleep` on are not in VDAct."""


@cache
def class_of(name: str) -> str:
    """The class in an object's name: `kitchentable` for `kitchentable231`."""
    return name.rstrip("0123456789")


def is_person(name: str | None) -> bool:
    """True for the name of a person, such as `character2`."""
    return name is not None and class_of(name) == PERSON


def summary_name(name: str) -> str:
    """The words of VDAct's template summaries for an object."""
    return SUMMARY_WORDS.get(class_of(name), class_of(name))


@cache
def plain_name(name: str) -> str:
    """Plain English words for an object or class, without an article."""
    return PLAIN_CLASSES.get(class_of(name), class_of(name))
