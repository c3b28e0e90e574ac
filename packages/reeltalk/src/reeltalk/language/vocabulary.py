"""The terms of VirtualHome2KG's ontology, and the English words for its classes and actions.

Ontology: Egami et al., "Synthesizing Event-Centric Knowledge Graphs of Daily Activities Using Virtual Space",
IEEE Access 2023. Words: VDAct's template summaries (AAAI 2025), which `TOLD_CLASSES`, `CLAUSES` and `PLURALS` repeat
exactly; `PLAIN_CLASSES` adds those that VDAct shows unsplit, and those of our own household.
"""

from functools import cache
from typing import Final

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

NAMESPACES: Final = {
    ONTOLOGY: "",
    "http://kgrc4si.home.kg/virtualhome2kg/ontology/": "",
    INSTANCE: "ex:",
    "http://kgrc4si.home.kg/virtualhome2kg/instance/": "ex:",
    GRAPH: "graph:",
    RDF: "rdf:",
    RDFS: "rdfs:",
    TIME: "time:",
    X3D: "x3do:",
    HOME: "ho:",
    DCTERMS: "dcterms:",
}
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
SPEECH_ACTS: Final = (
    "greet", "ask", "offer", "accept", "refuse", "thank", "apologise", "announce", "complain", "praise", "comfort",
    "propose", "agree", "warn",
)  # fmt: skip
"""What words do, after speech acts in dialogue annotation (ISO 24617-2, coarsened)."""
ROOMS: Final = frozenset({"kitchen", "bedroom", "livingroom", "bathroom"})

CATEGORIES: Final = (
    "HouseArrangement",
    "Abnormal",
    "Leisure",
    "HouseCleaning",
    "EatingDrinking",
    "FoodPreparation",
    "HygieneStyling",
    "PhysicalActivity",
    "Work",
    "BedTimeSleep",
    "SocialInteraction",
    "Other",
)
"""HomeOntology's eleven activity categories and Abnormal, as in VDAct's figure 2a."""

TOLD_CLASSES: Final = {
    "character": "person",
    "tv": "TV",
    "tvstand": "TV stand",
    "remotecontrol": "remote control",
    "livingroom": "living room",
    "kitchentable": "kitchen table",
    "waterglass": "water glass",
    "cutleryfork": "cutlery fork",
    "cutleryknife": "cutlery knife",
    "garbagecan": "garbage can",
    "fryingpan": "frying pan",
    "coffeetable": "coffee table",
    "lightswitch": "light switch",
    "clothespants": "pants",
    "clothesshirt": "shirt",
    "clothespile": "pile of clothes",
    "wallpictureframe": "wall picture frame",
    "breadslice": "slice of bread",
    "barsoap": "bar soap",
    "dishbowl": "dish bowl",
    "washingsponge": "washing sponge",
    "chocolatesyrup": "chocolate syrup",
    "kitchencounter": "kitchen counter",
    "kitchencounterdrawer": "kitchen counter drawer",
    "wallshelf": "wall shelf",
    "kitchencabinet": "kitchen cabinet",
    "facecream": "face cream",
    "dishwashingliquid": "dish washing liquid",
    "bathroomcounter": "bathroom counter",
    "cuttingboard": "cutting board",
    "closetdrawer": "closet drawer",
    "mousemat": "mouse mat",
}
"""Words of VDAct's summaries for classes that they do not show by their own name."""

PLAIN_CLASSES: Final = TOLD_CLASSES | {
    "alarmclock": "alarm clock",
    "barbell": "barbell",
    "bathroomcabinet": "bathroom cabinet",
    "bathroomscale": "bathroom scale",
    "bathtub": "bathtub",
    "boardgame": "board game",
    "bedsidelamp": "bedside lamp",
    "bellpepper": "bell pepper",
    "cellphone": "phone",
    "ceilinglamp": "ceiling lamp",
    "coatrack": "coat rack",
    "coffeemaker": "coffee maker",
    "coffeepot": "coffee pot",
    "condimentbottle": "condiment bottle",
    "condimentshaker": "condiment shaker",
    "cookingpot": "cooking pot",
    "deskchair": "desk chair",
    "dumbbell": "dumbbell",
    "exercisemat": "exercise mat",
    "floorlamp": "floor lamp",
    "giftbox": "present",
    "hairproduct": "hair product",
    "laundrybasket": "laundry basket",
    "orchid": "plant",
    "paperbag": "paper bag",
    "perfume": "perfume",
    "photoalbum": "photo album",
    "photoframe": "photo frame",
    "powersocket": "power socket",
    "saltshaker": "salt shaker",
    "shoppingbag": "shopping bag",
    "stovefan": "stove fan",
    "tablelamp": "table lamp",
    "teddybear": "teddy bear",
    "toiletpaper": "toilet paper",
    "towelrack": "towel rack",
    "vacuumcleaner": "vacuum cleaner",
    "wallclock": "wall clock",
    "wallpictureframe": "picture",
    "walllamp": "wall lamp",
    "wallphone": "wall phone",
    "washingmachine": "washing machine",
    "wateringcan": "watering can",
    "wineglass": "wine glass",
}
"""Plain English for questions, by class; other classes read as they are."""

PLURALS: Final = frozenset({"slippers", "pants", "chips", "crackers", "notes", "curtains"})
"""Words for classes that take *are*."""

CLAUSES: Final = {
    "walk": "walks to the {}",
    "grab": "grabs the {}",
    "put": "puts the {}",
    "putIn": "puts in the {}",
    "switchOn": "switches on the {}",
    "switchOff": "switches off the {}",
    "sit": "sits on the {}",
    "drink": "drinks the {}",
    "stand": "stands",
    "pour": "pours the {}",
    "turnTo": "turns to the {}",
    "wipe": "wipes with the {}",
    "fall": "falls",
    "soak": "soaks the {}",
    "close": "closes the {}",
    "open": "opens the {}",
    "find": "finds the {}",
    "eat": "eats the {}",
    "read": "reads the {}",
    "rinse": "rinses the {}",
    "fallsit": "falls while sitting on the {}",
    "text": "texts on the {}",
    "write": "writes on the {}",
    "type": "types on the {}",
    "run": "runs the {}",
    "fold": "folds",
    "scrub": "scrubs with the {}",
    "squeeze": "squeezes the {}",
    "shake": "shakes the {}",
    "lookAt": "looks at the {}",
    "brush": "brushes the {}",
    "fallback": "falls back",
    "climb": "climbs the {}",
    "jump": "jumps",
    "squat": "squats",
    "touch": "touches the {}",
    "throw": "throws the {}",
    "straddle": "straddles",
    "stretch": "stretches",
    "legopp": "does leg exercises",
    "falltable2": "falls on the table",
    "sleep": "sleeps on the {}",
    "lie": "lies on the {}",
    "wakeUp": "wakes up",
    "wash": "washes the {}",
    "watch": "watches the {}",
    "cut": "cuts the {}",
    "plugIn": "plugs in the {}",
    "plugOut": "unplugs the {}",
    "dance": "dances",
    "give": "gives the {}",
    "show": "shows the {}",
    "wait": "waits for the {}",
    "hug": "hugs the {}",
    "comfort": "comforts the {}",
    "wave": "waves to the {}",
    "clap": "claps for the {}",
    "play": "plays with the {}",
    "unwrap": "unwraps the {}",
    "fill": "fills the {}",
    "sweep": "sweeps with the {}",
    "answer": "answers the {}",
    "knock": "knocks over the {}",
    "drop": "drops the {}",
    "smile": "smiles",
    "frown": "frowns",
    "scowl": "scowls",
    "gasp": "gasps",
    "calm": "calms down",
}
"""Clauses after *He*, by action; those from `sleep` on are not in VDAct."""


@cache
def class_of(name: str) -> str:
    """The class in an object's name: `kitchentable` for `kitchentable231`."""
    return name.rstrip("0123456789")


def is_person(name: str | None) -> bool:
    """True for the name of a person, such as `character2`."""
    return name is not None and class_of(name) == PERSON


def told_name(name: str) -> str:
    """The words of VDAct's template summaries for an object."""
    return TOLD_CLASSES.get(class_of(name), class_of(name))


@cache
def plain_name(name: str) -> str:
    """Plain English words for an object or class, without an article."""
    return PLAIN_CLASSES.get(class_of(name), class_of(name))
