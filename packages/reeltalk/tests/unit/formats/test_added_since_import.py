"""What came into a benchmark after its import is named by an export; what was edited goes out."""

from pathlib import Path

import pytest
from places import TESTS

from reeltalk.formats import load_format
from reeltalk.schema.record import DialogueId, Json

SAMPLES = TESTS / "samples"


@pytest.mark.parametrize("name", ["dramaqa"])
def test_a_new_dialogue_is_named_and_an_edited_question_goes_out(name: str, tmp_path: Path) -> None:
    layout = load_format(name)
    content = layout.read(SAMPLES / name)
    dialogue = content.dialogues[0]
    first = dialogue.turns[0]
    edited = first.model_copy(update={"question": "An edited question?"})
    content.dialogues[0] = dialogue.model_copy(update={"turns": (edited, *dialogue.turns[1:])})
    content.dialogues.append(dialogue.model_copy(update={"id": DialogueId("new"), "turns": (first,)}))
    assert layout.write(content, tmp_path) == ["dialogues that no imported file holds are left out: 1"]
    written = "".join(path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.json"))
    assert "An edited question?" in written


@pytest.mark.parametrize("name", ["dramaqa"])
def test_what_our_stages_note_of_a_turn_stays_here(name: str, tmp_path: Path) -> None:
    layout = load_format(name)
    content = layout.read(SAMPLES / name)
    ours: dict[str, Json] = {"tags_verified": False, "writer": "graph", "rests_on": 1}
    content.dialogues = [
        row.model_copy(
            update={
                "extra": row.extra | ours,
                "turns": tuple(turn.model_copy(update={"extra": turn.extra | ours}) for turn in row.turns),
            }
        )
        for row in content.dialogues
    ]
    assert layout.write(content, tmp_path) == []
    assert layout.read(tmp_path) == layout.read(SAMPLES / name)
    content.source_files = []
    (tmp_path / "new").mkdir()
    layout.write(content, tmp_path / "new")
    for path in (tmp_path / "new").rglob("*.json"):
        assert not any(f'"{key}"' in path.read_text(encoding="utf-8") for key in ours)
