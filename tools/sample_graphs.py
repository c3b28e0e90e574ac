"""Activity graphs for tests, line by line, as VDAct releases them."""

from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.reading import read_activity

EX, ONTOLOGY = "<vh2kg_url/instance/", "<vh2kg_url/ontology/"
NAME = "Use_lamp1_scene1"


def line(subject: str, predicate: str, target: str) -> str:
    return f"{EX}{subject}> {ONTOLOGY}{predicate}> {target} ."


def event(index: int, action: str, main: str | None = None, *, before: int | None = None) -> list[str]:
    node, suffix = f"event{index}_use_lamp1_scene1", "use_lamp1_scene1"
    before = index if before is None else before
    lines = [
        line(suffix, "hasEvent", f"{EX}{node}>"),
        line(node, "action", f"{ONTOLOGY}action/{action}>"),
        line(node, "situationBeforeEvent", f"{EX}home_situation{before}_{suffix}>"),
        line(node, "situationAfterEvent", f"{EX}home_situation{before + 1}_{suffix}>"),
    ]
    return lines + ([line(node, "mainObject", f"{EX}{main}_scene1>")] if main else [])


def state(since: int, name: str, *values: str) -> list[str]:
    node = f"state{since}_{name}_use_lamp1_scene1"
    return [
        line(node, "isStateOf", f"{EX}{name}_scene1>"),
        line(node, "bbox", f"{EX}shape_{node}>"),
        *(line(node, "state", f"{ONTOLOGY}{value}>") for value in values),
    ]


def placed(since: int, name: str, kind: str, target: str, target_since: int = 0) -> str:
    suffix = "use_lamp1_scene1"
    return line(f"shape_state{since}_{name}_{suffix}", kind, f"{EX}shape_state{target_since}_{target}_{suffix}>")


LAMP = [
    *event(0, "walk", "lamp7"),
    *event(1, "switchOn", "lamp7"),
    *event(2, "switchOff", "lamp7"),
    *state(0, "lamp7", "OFF", "CLEAN"),
    *state(2, "lamp7", "ON", "CLEAN"),
    *state(3, "lamp7", "OFF", "CLEAN"),
    placed(0, "lamp7", "on", "desk3"),
    placed(0, "desk3", "inside", "bedroom1"),
    placed(2, "lamp7", "on", "desk3"),
]


def read(lines: list[str], name: str = NAME) -> ActivityGraph:
    return read_activity("\n".join(lines) + "\n", file=f"{name}.ttl.nt", name=name)
