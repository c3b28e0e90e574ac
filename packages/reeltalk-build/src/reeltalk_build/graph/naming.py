"""What people and things are called: names, looks, and adjectives that tell two things of a class apart."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from reeltalk.language.vocabulary import ROOMS, class_of, is_person, plain_name

Attributes = Mapping[str, Sequence[str]]
SOMEBODY: Final = "the person"
_WORN: Final = ("shirt", "trousers")
_SEEN: Final = ("glasses", "beard")
_CARRIED: Final = {"glasses": "with glasses", "beard": "with the beard"}


def attribute_of(values: Sequence[str], kind: str) -> str | None:
    """The value of an attribute: `red` for `colour` among `("colour_red", "size_small")`; None without exactly one."""
    found = [value.removeprefix(f"{kind}_") for value in values if value.startswith(f"{kind}_")]
    return found[0] if len(found) == 1 else None


def pronoun_of(values: Sequence[str]) -> str:
    """`she` or `he`; `he` if the attributes of a person do not tell."""
    return attribute_of(values, "pronoun") or "he"


def look_of(person: str, people: Collection[str], attributes: Attributes) -> str | None:
    """A description that fits one person only, as `the woman in the red shirt`; None if no description does."""
    own = attributes.get(person, ())
    gender = attribute_of(own, "pronoun")
    if gender is None:
        return None
    noun = {"she": "woman", "he": "man"}[gender]
    rivals = [attributes.get(other, ()) for other in people if other != person]
    rivals = [values for values in rivals if attribute_of(values, "pronoun") in (gender, None)]
    if not rivals:
        return f"the {noun}"
    for part in _WORN:
        colour = attribute_of(own, part)
        if colour is not None and all(attribute_of(values, part) not in (colour, None) for values in rivals):
            return f"the {noun} in the {colour} {part}" if part != "trousers" else f"the {noun} in {colour} trousers"
    colour = attribute_of(own, "hair")
    if colour is not None and all(attribute_of(values, "hair") not in (colour, None) for values in rivals):
        return f"the {noun} with {hair_colour(colour)} hair"
    for part in _SEEN:
        if part in own and not any(part in values for values in rivals):
            return f"the {noun} {_CARRIED[part]}"
    return None


def hair_colour(colour: str) -> str:
    """The word for a colour of hair: `blond` for `yellow`."""
    return {"yellow": "blond"}.get(colour, colour)


def name_words(
    people: Sequence[str], names: Mapping[str, str], things: Collection[str], attributes: Attributes
) -> dict[str, str]:
    """Words for people and things by name, such as `Tom` and `the red mug`. What needs no adjective is left out."""
    words = {person: names.get(person) or look_of(person, people, attributes) or SOMEBODY for person in people}
    for name, adjective in adjectives(things, attributes).items():
        words[name] = f"the {adjective} {plain_name(name)}"
    return words


def adjectives(things: Collection[str], attributes: Attributes) -> dict[str, str]:
    """By thing, a colour or size that no other thing of its class has; only for classes with several things."""
    found: dict[str, str] = {}
    for names in siblings(things).values():
        for kind in ("colour", "size"):
            values = {name: attribute_of(attributes.get(name, ()), kind) for name in names}
            for name, value in values.items():
                rivals = [other for other_name, other in values.items() if other_name != name]
                if value is not None and value not in rivals and None not in rivals:
                    found.setdefault(name, value)
    return found


def siblings(things: Collection[str]) -> dict[str, list[str]]:
    """Things by class, sorted, of the classes that have several."""
    by_class: dict[str, list[str]] = defaultdict(list)
    for name in sorted(things):
        if class_of(name) not in ROOMS and not is_person(name):
            by_class[class_of(name)].append(name)
    return {kind: names for kind, names in by_class.items() if len(names) > 1}
