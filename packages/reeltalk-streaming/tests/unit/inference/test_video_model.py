"""A checkpoint on disk answers about pictures; what is wrong with one is said in clear words.

The checkpoint is made when the tests run (`tools/tiny_checkpoint.py`).
"""

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_checkpoint import save_tiny_checkpoint

from reeltalk.errors import InputError, MissingExtraError, ModelError, SettingError
from reeltalk.llm.model import Message
from reeltalk.video.encode import jpeg
from reeltalk_streaming.inference.video_model import LocalVideoModel


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers", reason="the train extra is not installed")
    return save_tiny_checkpoint(tmp_path_factory.mktemp("models") / "tiny-llava")


@pytest.fixture(scope="module")
def model(checkpoint: Path) -> LocalVideoModel:
    return LocalVideoModel(checkpoint, device="cpu", max_new_tokens=6)


def a_picture(red: int) -> bytes:
    return jpeg(np.full((40, 60, 3), (red, 255 - red, 90), np.uint8))


def test_a_conversation_with_pictures_gets_a_reply(model: LocalVideoModel) -> None:
    reply = model.reply(
        [Message("system", "Be brief."), Message("user", "What is it?", (a_picture(0), a_picture(255)))]
    )
    assert reply.text
    assert (model.name, reply.completion_tokens, reply.cut_off) == ("tiny-llava", 6, True)
    assert reply.first_token_s is not None
    assert 0 < reply.first_token_s <= reply.took_s


def test_each_picture_takes_its_tokens_of_the_prompt(model: LocalVideoModel) -> None:
    asked = [
        model.reply([Message("user", "What is it?", tuple(a_picture(n) for n in range(count)))]).prompt_tokens
        for count in (0, 1, 3)
    ]
    patches = (16 // 8) ** 2
    assert [count - asked[0] for count in asked] == [0, patches, 3 * patches]


def test_the_same_question_gets_the_same_reply_and_pictures_count(model: LocalVideoModel) -> None:
    def said(red: int) -> str:
        return model.reply([Message("user", "What is it?", (a_picture(red),))]).text

    assert said(10) == said(10)
    assert len({said(red) for red in (0, 90, 170, 255)}) > 1


def test_earlier_turns_are_part_of_the_prompt(model: LocalVideoModel) -> None:
    short = model.reply([Message("user", "And then?")])
    long = model.reply([Message("user", "Who?"), Message("assistant", "He."), Message("user", "And then?")])
    assert long.prompt_tokens > short.prompt_tokens


def test_peak_memory_is_told(model: LocalVideoModel) -> None:
    peak = model.peak_memory()
    assert peak.host_bytes > 10_000_000
    assert peak.device_bytes is None


def test_what_is_no_picture_is_an_input_error(model: LocalVideoModel) -> None:
    with pytest.raises(InputError, match="picture of the conversation cannot be read"):
        model.reply([Message("user", "What is it?", (b"no picture",))])


def test_a_processor_without_video_says_so(checkpoint: Path) -> None:
    as_video = LocalVideoModel(checkpoint, device="cpu", max_new_tokens=2, as_video=True)
    with pytest.raises(InputError, match=r"takes no video.*as images"):
        as_video.reply([Message("user", "What is it?", (a_picture(0),))])
    assert as_video.reply([Message("user", "Hello?")]).text


def test_missing_memory_is_a_model_error(model: LocalVideoModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def generate(**_: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 1 byte")

    monkeypatch.setattr(model._model, "generate", generate)
    with pytest.raises(ModelError, match="more memory than the cpu has; show it fewer"):
        model.reply([Message("user", "What is it?")])


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(InputError, match=r"no such folder \(.*nowhere"):
        LocalVideoModel(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no config\.json in the folder"):
        LocalVideoModel(tmp_path)


def test_a_folder_without_processor_is_named(checkpoint: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(checkpoint, tmp_path / "copy"))
    for name in ("processor_config.json", "preprocessor_config.json"):
        (copy / name).unlink(missing_ok=True)
    with pytest.raises(InputError, match="processor"):
        LocalVideoModel(copy, device="cpu")


def test_a_model_of_another_kind_is_named(checkpoint: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(checkpoint, tmp_path / "copy"))
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"model_type": "bert"}))
    with pytest.raises(InputError, match=r"transformers cannot load its (model|processor)"):
        LocalVideoModel(copy, device="cpu")


def test_an_accelerator_that_is_not_there_is_a_setting_error(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingError, match="finds no accelerator"):
        LocalVideoModel(checkpoint, device="cuda")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"reeltalk-streaming\[train\]"):
        LocalVideoModel(tmp_path)


def test_pictures_are_read_as_rgb() -> None:
    from PIL import Image

    from reeltalk_streaming.inference.video_model import _picture

    grey = io.BytesIO()
    Image.new("L", (4, 4), 128).save(grey, "JPEG")
    assert _picture(grey.getvalue(), Path("x")).mode == "RGB"


def test_weights_that_nothing_has_trained_are_told(checkpoint: Path, tmp_path: Path) -> None:
    told: list[str] = []
    LocalVideoModel(checkpoint, device="cpu", tell=told.append)
    [sentence] = told
    assert sentence.startswith(f"{checkpoint} holds the random weights of a new network that nothing has trained")
    # One step of training moves the norms.
    import torch
    from transformers import AutoModelForImageTextToText

    copy = Path(shutil.copytree(checkpoint, tmp_path / "trained"))
    model: Any = AutoModelForImageTextToText.from_pretrained(copy)
    for weight in model.parameters():
        weight.grad = torch.randn_like(weight)
    torch.optim.SGD(model.parameters(), lr=1e-3).step()
    model.save_pretrained(copy)
    LocalVideoModel(copy, device="cpu", tell=told.append)
    assert len(told) == 1
