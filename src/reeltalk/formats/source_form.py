"""How a source writes down what our records say: the difference between its document and the one we would write.

An importer makes typed records, writes them back in memory, and keeps here what still differs: `"1"` for `1`, an
alias, a key left out, an order. On export a difference is applied only where our side still says what it said at
import, so that an edited record is never overwritten by an old spelling.
"""

from typing import Final

from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json

FORM: Final = "form"
"""Under which key of `SourceFile.extra` the difference is kept."""


def with_form(file: SourceFile, theirs: Json, ours: Json) -> SourceFile:
    """`file`, with what turns `ours` into `theirs` in its `extra`; unchanged where the two are the same."""
    found = difference(theirs, ours)
    return file if found is None else file.model_copy(update={"extra": {**file.extra, FORM: found}})


def in_its_form(file: SourceFile, ours: Json) -> Json:
    """The document as the source had it, as far as the records still say the same."""
    return restored(ours, file.extra[FORM]) if isinstance(file.extra.get(FORM), dict) else ours


def difference(theirs: Json, ours: Json) -> dict[str, Json] | None:
    """What turns `ours` into `theirs`, or None where they are the same down to the order of keys."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return _difference_of_objects(theirs, ours)
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = enumerate(zip(theirs, ours, strict=True))
        items = {str(i): found for i, (a, b) in pairs if (found := difference(a, b)) is not None}
        return {"items": items, "length": len(ours)} if items else None
    return None if _same(theirs, ours) else {"theirs": theirs, "ours": ours}


def _difference_of_objects(theirs: dict[str, Json], ours: dict[str, Json]) -> dict[str, Json] | None:
    added = {key: member for key, member in theirs.items() if key not in ours}
    absent = {key: member for key, member in ours.items() if key not in theirs}
    # An alias is kept as a name, without what it names: so an edited record comes back under the alias too.
    renamed: dict[str, Json] = {}
    for key, member in list(absent.items()):
        alias = next((alias for alias, other in added.items() if _same(member, other)), None)
        if alias is not None:
            renamed[key] = alias
            del absent[key], added[alias]
    changed = {
        key: found
        for key, member in theirs.items()
        if key in ours and (found := difference(member, ours[key])) is not None
    }
    merged = [*(renamed.get(key, key) for key in ours if key not in absent), *added]
    order = list(theirs) if merged != list(theirs) else []
    parts = {"keys": changed, "renamed": renamed, "added": added, "absent": absent, "order": order}
    return {part: members for part, members in parts.items() if members} or None


def restored(ours: Json, found: dict[str, Json]) -> Json:
    """Apply a difference where our side is still what it was when the difference was taken."""
    if "theirs" in found:
        return found["theirs"] if _same(ours, found["ours"]) else ours
    if "items" in found and isinstance(ours, list) and len(ours) >= found["length"]:
        items: dict[str, Json] = found["items"]
        return [restored(member, items[str(i)]) if str(i) in items else member for i, member in enumerate(ours)]
    if "items" in found or not isinstance(ours, dict):
        return ours
    keys, renamed, absent = (found.get(part, {}) for part in ("keys", "renamed", "absent"))
    members = {
        renamed.get(key, key): restored(member, keys[key]) if key in keys else member
        for key, member in ours.items()
        if not (key in absent and _same(member, absent[key]))
    }
    members |= {key: member for key, member in found.get("added", {}).items() if key not in members}
    order = {key: place for place, key in enumerate(found.get("order", ()))}
    return dict(sorted(members.items(), key=lambda item: order.get(item[0], len(order)))) if order else members


def _same(one: Json, other: Json) -> bool:
    # 1, 1.0 and true are equal to Python, and three different things in a file.
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same(member, other[key]) for key, member in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)
