"""Classes of objects: their sizes, the actions that they allow, and their looks and colours."""

from dataclasses import dataclass
from typing import Final

COLOURS: Final = {
    "red": (204, 48, 46),
    "orange": (238, 132, 36),
    "yellow": (244, 206, 60),
    "green": (78, 156, 76),
    "blue": (54, 108, 200),
    "purple": (134, 76, 176),
    "pink": (242, 130, 178),
    "brown": (130, 84, 48),
    "white": (246, 245, 242),
    "grey": (148, 150, 154),
    "black": (42, 42, 46),
}
"""Names and RGB of colours, as people would name them."""


@dataclass(frozen=True)
class ObjectKind:
    """A class of objects."""

    width_m: float
    height_m: float
    can: frozenset[str] = frozenset()
    """grab, open, switch, sit, lie, read, eat, drink, surface, container, wipe, lookAt, climb, pour, fill, fragile,
    unwrap, play, throw, ring."""
    states: tuple[str, ...] = ("CLEAN",)
    colours: tuple[str, ...] = ()
    """Colours of the objects of this class; empty if they all look the same."""


def _kind(width_m: float, height_m: float, can: str = "", states: str = "CLEAN", colours: str = "") -> ObjectKind:
    return ObjectKind(width_m, height_m, frozenset(can.split()), tuple(sorted(states.split())), tuple(colours.split()))


KINDS: Final = {
    # Furniture and appliances.
    "fridge": _kind(0.9, 1.9, "open container", "CLEAN CLOSED PLUGGED_IN", "white grey red"),
    "kitchencounter": _kind(3.1, 0.9, "surface"),
    "sink": _kind(0.6, 0.12, "surface"),
    "faucet": _kind(0.25, 0.32, "switch", "CLEAN OFF"),
    "stove": _kind(0.8, 0.9, "switch surface", "CLEAN OFF PLUGGED_IN"),
    "kitchencabinet": _kind(1.6, 0.7, "open container", "CLEAN CLOSED", "white brown green"),
    "kitchentable": _kind(1.5, 0.75, "surface", "CLEAN", "brown white"),
    "garbagecan": _kind(0.36, 0.55, "container", "CLEAN", "grey green blue"),
    "microwave": _kind(0.55, 0.32, "open switch container", "CLEAN CLOSED OFF PLUGGED_IN", "grey black white"),
    "toaster": _kind(0.34, 0.26, "switch container", "CLEAN OFF PLUGGED_IN", "red grey"),
    "coffeemaker": _kind(0.34, 0.42, "switch", "CLEAN OFF PLUGGED_IN", "black red"),
    "chair": _kind(0.5, 0.95, "sit", "CLEAN", "brown white blue"),
    "sofa": _kind(2.1, 0.9, "sit lie surface", "CLEAN", "blue green grey red orange"),
    "coffeetable": _kind(1.3, 0.45, "surface climb", "CLEAN", "brown white"),
    "tvstand": _kind(1.5, 0.5, "surface", "CLEAN", "brown black white"),
    "tv": _kind(1.25, 0.75, "switch lookAt wipe", "CLEAN OFF PLUGGED_IN"),
    "bookshelf": _kind(1.0, 2.0, "surface", "CLEAN", "brown white"),
    "floorlamp": _kind(0.42, 1.7, "switch", "CLEAN OFF PLUGGED_IN", "yellow white red"),
    "radio": _kind(0.4, 0.26, "switch", "CLEAN OFF PLUGGED_IN", "red brown blue"),
    "wallpictureframe": _kind(0.9, 0.62, "lookAt"),
    "clock": _kind(0.42, 0.42, "lookAt"),
    "bed": _kind(2.2, 0.62, "sit lie surface", "CLEAN", "blue red green purple"),
    "nightstand": _kind(0.5, 0.55, "surface", "CLEAN", "brown white"),
    "tablelamp": _kind(0.34, 0.44, "switch", "CLEAN OFF PLUGGED_IN", "yellow pink green"),
    "closet": _kind(1.3, 2.1, "open container", "CLEAN CLOSED", "brown white"),
    "desk": _kind(1.3, 0.75, "surface", "CLEAN", "brown white"),
    "computer": _kind(0.62, 0.48, "switch lookAt", "CLEAN OFF PLUGGED_IN"),
    "bathtub": _kind(1.8, 0.6, "surface", "CLEAN"),
    "toilet": _kind(0.6, 0.85, "sit", "CLEAN"),
    "bathroomcounter": _kind(1.3, 0.85, "surface", "CLEAN", "white brown blue"),
    "bathroomcabinet": _kind(0.9, 0.66, "open container", "CLEAN CLOSED", "white blue"),
    "washingmachine": _kind(0.7, 0.88, "open switch container", "CLEAN CLOSED OFF PLUGGED_IN"),
    "towelrack": _kind(0.7, 0.1, "surface"),
    "lightswitch": _kind(0.16, 0.22, "switch", "CLEAN ON PLUGGED_IN"),
    "rug": _kind(2.4, 0.06, "", "CLEAN", "red blue green purple"),
    "orchid": _kind(0.4, 0.7, "lookAt", "CLEAN"),
    "laundrybasket": _kind(0.55, 0.5, "container surface", "CLEAN", "brown white blue"),
    # Objects that are carried. They are drawn larger than life, so that a viewer recognises them.
    "milk": _kind(0.2, 0.34, "grab drink pour", "CLEAN"),
    "juice": _kind(0.2, 0.34, "grab drink pour", "CLEAN", "orange red"),
    "wine": _kind(0.16, 0.42, "grab drink pour", "CLEAN"),
    "waterglass": _kind(0.16, 0.22, "grab drink fragile", "CLEAN"),
    "wineglass": _kind(0.16, 0.28, "grab drink fragile", "CLEAN"),
    "mug": _kind(0.2, 0.2, "grab drink fragile", "CLEAN", "red blue green yellow white"),
    "plate": _kind(0.36, 0.1, "grab surface fragile", "CLEAN", "white blue"),
    "dishbowl": _kind(0.3, 0.16, "grab container fragile", "CLEAN", "white yellow blue"),
    "fryingpan": _kind(0.5, 0.14, "grab surface", "CLEAN"),
    "apple": _kind(0.18, 0.18, "grab eat", "CLEAN", "red green"),
    "cupcake": _kind(0.2, 0.24, "grab eat", "CLEAN", "pink brown"),
    "breadslice": _kind(0.26, 0.22, "grab eat", "CLEAN"),
    "salmon": _kind(0.38, 0.16, "grab eat", "CLEAN"),
    "carrot": _kind(0.34, 0.14, "grab eat", "CLEAN"),
    "cereal": _kind(0.26, 0.38, "grab eat pour", "CLEAN", "yellow red blue"),
    "cuttingboard": _kind(0.44, 0.1, "grab surface", "CLEAN"),
    "cutleryknife": _kind(0.3, 0.08, "grab", "CLEAN"),
    "washingsponge": _kind(0.24, 0.14, "grab", "CLEAN", "yellow green pink"),
    "book": _kind(0.26, 0.3, "grab read", "CLEAN", "red blue green purple"),
    "magazine": _kind(0.3, 0.24, "grab read", "CLEAN", "yellow pink"),
    "remotecontrol": _kind(0.24, 0.1, "grab", "CLEAN"),
    "cellphone": _kind(0.16, 0.24, "grab ring", "CLEAN", "black white blue red"),
    "notes": _kind(0.3, 0.22, "grab", "CLEAN"),
    "pillow": _kind(0.56, 0.26, "grab", "CLEAN", "white blue yellow"),
    "clothesshirt": _kind(0.46, 0.4, "grab", "CLEAN", "red blue green yellow"),
    "clothespile": _kind(0.46, 0.3, "grab", "DIRTY"),
    "slippers": _kind(0.36, 0.14, "grab", "CLEAN", "pink blue brown"),
    "dumbbell": _kind(0.36, 0.16, "grab", "CLEAN"),
    "towel": _kind(0.44, 0.5, "grab", "CLEAN", "white blue yellow pink"),
    "toothbrush": _kind(0.12, 0.3, "grab", "CLEAN", "red blue green"),
    "toothpaste": _kind(0.28, 0.14, "grab", "CLEAN"),
    "barsoap": _kind(0.22, 0.14, "grab", "CLEAN", "pink white green"),
    "facecream": _kind(0.18, 0.2, "grab", "CLEAN", "white pink"),
    "wateringcan": _kind(0.36, 0.3, "grab pour fill", "CLEAN", "green blue red"),
    "paper": _kind(0.24, 0.18, "grab", "CLEAN"),
    "kettle": _kind(0.34, 0.34, "grab switch pour fill", "CLEAN OFF PLUGGED_IN", "white black red"),
    "bottle": _kind(0.16, 0.42, "grab drink pour", "CLEAN", "green blue brown"),
    "cookie": _kind(0.18, 0.14, "grab eat", "CLEAN"),
    "sandwich": _kind(0.28, 0.18, "grab eat", "CLEAN"),
    "cake": _kind(0.4, 0.32, "grab eat", "CLEAN", "pink white brown"),
    "balloon": _kind(0.3, 0.44, "grab", "CLEAN", "red blue yellow green"),
    "giftbox": _kind(0.34, 0.34, "grab unwrap container", "CLEAN CLOSED", "red blue yellow purple"),
    "flowers": _kind(0.26, 0.4, "grab", "CLEAN", "red yellow pink white"),
    "vase": _kind(0.24, 0.4, "grab container fragile", "CLEAN", "blue white green purple"),
    "teddybear": _kind(0.3, 0.38, "grab play", "CLEAN", "brown white"),
    "ball": _kind(0.28, 0.28, "grab play throw", "CLEAN", "red blue yellow green"),
    "guitar": _kind(0.36, 0.9, "grab play", "CLEAN", "brown red black"),
    "boardgame": _kind(0.4, 0.16, "grab play", "CLEAN", "green red blue"),
    "photoalbum": _kind(0.34, 0.28, "grab read", "CLEAN", "brown green blue"),
    "blanket": _kind(0.5, 0.3, "grab", "CLEAN", "red green grey blue"),
    "broom": _kind(0.24, 1.2, "grab", "CLEAN", "yellow blue"),
    "doorbell": _kind(0.2, 0.24, "ring", "CLEAN", "white grey"),
    "floor": _kind(0.9, 0.02, "surface", "CLEAN"),
}


_TOPS_M: Final = {
    "bed": 0.5,
    "sofa": 0.45,
    "bookshelf": 1.18,
    "towelrack": -0.42,
    "sink": 0.0,
    "bathtub": 0.5,
    "fryingpan": 0.05,
    "plate": 0.06,
    "cuttingboard": 0.06,
    "laundrybasket": 0.36,
}


def top_m(class_name: str) -> float:
    """Height of the surface on which objects lie."""
    # On a bed and a sofa, objects lie below the back rest; on a shelf, they lie on its middle board.
    return _TOPS_M.get(class_name, KINDS[class_name].height_m)


Colour = tuple[int, int, int]

WOOD: Final = {"brown": (138, 90, 52), "white": (244, 242, 236), "black": (50, 48, 52)}
METAL: Final = (186, 190, 196)
STEEL: Final = (156, 162, 170)
DARK: Final = (62, 64, 70)
INK: Final = (74, 66, 62)
GLASS: Final = (206, 228, 236)
WATER: Final = (120, 180, 220)
PORCELAIN: Final = (246, 246, 242)
SCREEN_OFF: Final = (40, 42, 48)
GLOW: Final = (255, 236, 160)
SKY: Final = (176, 216, 240)
LEAF: Final = (86, 146, 84)


def named(colour: str | None, default: Colour = METAL) -> Colour:
    """RGB of a named colour."""
    return COLOURS.get(colour, default) if colour else default


def wood(colour: str | None) -> Colour:
    """RGB of painted or plain wood."""
    return WOOD.get(colour or "brown") or named(colour)


def shade(colour: Colour, by: float) -> Colour:
    """The colour, darker by a share if `by` is negative, lighter if it is positive."""
    r, g, b = ((c + (255 - c) * by) if by > 0 else c * (1 + by) for c in colour)
    return (round(r), round(g), round(b))
