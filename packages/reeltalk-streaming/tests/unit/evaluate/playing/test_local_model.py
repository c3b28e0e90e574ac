"""A checkpoint on disk, asked from an event loop and by the example script."""

import asyncio
import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from places import PACKAGES, ROOT
from tiny_checkpoint import save_tiny_checkpoint

from reeltalk.errors import ModelError
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.video.encode import jpeg
from reeltalk_streaming.inference.video_model import LocalVideoModel
from reeltalk_streaming.local_models import LocalModel

# inspect_ai 0.3.285 calls tenacity 9.2 the old way.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

PICTURE = jpeg(np.full((20, 30, 3), 200, np.uint8))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers", reason="the train extra is not installed")
    return save_tiny_checkpoint(tmp_path_factory.mktemp("models") / "tiny-llava")


class Album:
    async def jpeg(self, reference: bytes) -> bytes:
        return {b"frame 1": PICTURE}[reference]


def test_questions_are_answered_one_after_the_other_in_one_thread(checkpoint: Path) -> None:
    model = LocalModel(LocalVideoModel(checkpoint, device="cpu", max_new_tokens=3), pictures=Album())
    as_any: AsyncModel = model

    async def ask_all() -> list[str]:
        messages = [[Message("user", text, (b"frame 1",))] for text in ("Who?", "Where?", "Who?")]
        return [reply.text for reply in await asyncio.gather(*(as_any.ask(one) for one in messages))]

    first, _, again = asyncio.run(ask_all())
    assert first == again != ""
    assert model.name.startswith("transformers/tiny-llava#")
    assert model.sampling == {"temperature": 0.0, "max_tokens": 3, "seed": 17, "as_video": False}
    assert model.sees_images
    model.close()
    with pytest.raises(ModelError, match="tiny-llava is closed"):
        asyncio.run(model.ask([Message("user", "Who?")]))


def test_the_name_follows_what_is_in_the_folder(checkpoint: Path) -> None:
    loaded = LocalVideoModel(checkpoint, device="cpu")
    before = LocalModel(loaded).name
    assert LocalModel(loaded).name == before
    template = checkpoint / "chat_template.jinja"
    text = template.read_text()
    template.write_text(text + " ")
    assert LocalModel(loaded).name != before
    template.write_text(text)


def test_the_provider_is_registered_by_an_entry_point() -> None:
    import tomllib

    project = tomllib.loads((PACKAGES / "reeltalk-streaming" / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["inspect_ai"] == {"reeltalk": "reeltalk_streaming.providers"}


def test_the_example_script_answers_exported_questions(
    checkpoint: Path, filmed_household: Path, tmp_path: Path
) -> None:
    film = min((filmed_household / "media").iterdir(), key=lambda file: file.stat().st_size)
    (tmp_path / "film.mp4").symlink_to(film)
    past = [{"question": "Who is there?", "answer": "a woman"}]
    rows = [
        {"unit_id": "d1", "turn_index": 0, "video": "film.mp4", "asked_at_s": 2.0, "history": [], "prompt": "Who?"},
        {
            "unit_id": "d1",
            "turn_index": 1,
            "video": "film.mp4",
            "asked_at_s": None,
            "history": past,
            "prompt": "Why?",
        },
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    script = runpy.run_path(str(ROOT / "examples" / "answer_questions.py"))
    script["main"](str(tmp_path / "questions.jsonl"), str(checkpoint), str(tmp_path / "answers.jsonl"))
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["unit_id"], row["turn_index"]) for row in answers] == [("d1", 0), ("d1", 1)]
    assert all(isinstance(row["text"], str) for row in answers)
    assert len(script["read_frames"](film, 0.5)) == script["FRAMES"]
