"""Read a YAML file that people wrote, strictly, and know on which line everything stands.

`yaml.safe_load` takes the last of two equal keys without a word, and says nothing of lines; so the tree of nodes is
looked at first. Anchors, tags and dates have no use here and are refused, with them all that can go round in circles.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from reeltalk.errors import InputError
from reeltalk.store.documents import read_text

Place = tuple[str | int, ...]
"""Where something stands: keys, and numbers in lists, from the top."""
DEEPEST: Final = 16


@dataclass(frozen=True)
class Document:
    """A YAML file: its value, and the line of every key and list item."""

    file: Path
    value: dict[str, Any]
    lines: dict[Place, int]

    def wrong(self, problem: str, place: Place = (), *, hint: str | None = None) -> InputError:
        """An error that names file, line and key."""
        line = next((self.lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in self.lines), None)
        return InputError(problem, file=self.file, line=line, place=dotted(place) or None, hint=hint)


def dotted(place: Place) -> str:
    """A place as people write it: `evaluate.models.qwen`."""
    return ".".join(str(part) for part in place)


def read_document(file: Path) -> Document:
    """Read a YAML file whose top is a mapping.

    Raises:
        InputError: It cannot be read, is no YAML, has a key twice, or holds what no setting can be; names the line.
    """
    text = read_text(file)
    lines: dict[Place, int] = {}
    try:
        top = yaml.compose(text, Loader=yaml.SafeLoader)
        if top is not None:
            _look_at(top, (), lines, set(), file)
        value = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "cannot be parsed").split())
        raise InputError(f"not YAML: {problem}", file=file, line=mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {' '.join(str(error).split())}", file=file) from None
    except RecursionError:
        raise InputError("nested too deep to be a project", file=file) from None
    except ValueError as error:  # a number or date that Python does not make
        raise InputError(f"a value cannot be read: {error}", file=file) from None
    if not isinstance(value, dict):
        raise InputError("a project is a list of settings, each as 'key: value'", file=file, hint="see 'reeltalk new'")
    return Document(file, value, lines)


def _look_at(node: yaml.Node, place: Place, lines: dict[Place, int], seen: set[int], file: Path) -> None:
    # An alias has the mark of what it stands for, so the key's own line goes before it.
    line = lines.get(place, node.start_mark.line + 1)
    if id(node) in seen:
        raise InputError("anchors and aliases are not read", file=file, line=line, hint="write the value again")
    seen.add(id(node))
    if len(place) > DEEPEST:
        raise InputError("nested too deep to be a project", file=file, line=line)
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            at = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise InputError("a key must be a word", file=file, line=at, hint="put it in quotes if it is one")
            below = (*place, key.value)
            if below in lines:
                raise InputError(
                    f"'{dotted(below)}' stands twice, first on line {lines[below]}",
                    file=file,
                    line=at,
                    hint="keep one of them",
                )
            lines[below] = at
            _look_at(child, below, lines, seen, file)
    elif isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            lines[*place, number] = child.start_mark.line + 1
            _look_at(child, (*place, number), lines, seen, file)
    elif node.tag == "tag:yaml.org,2002:timestamp":
        raise InputError("a date", file=file, line=line, place=dotted(place), hint="put it in quotes")
