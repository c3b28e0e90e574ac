"""Dialogues become sequences: loss on answers alone, as many image tokens as frames give, nothing passed over."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peft", reason="the train extra is not installed")

from tiny_architectures import ARCHITECTURES, save_dialogues, save_tiny

from reeltalk.errors import InputError, SettingError
from reeltalk.llm.model import Message
from reeltalk.schema.sft import LoraSettings
from reeltalk_streaming.inference.checkpoint import Checkpoint, open_checkpoint
from reeltalk_streaming.inference.video_model import LocalVideoModel
from reeltalk_streaming.training.collate import IGNORED, Collator, Dialogues, Sequence
from reeltalk_streaming.training.lora import add_lora, merge
from reeltalk_streaming.training.lora_training import train_lora

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_dialogues(tmp_path_factory.mktemp("dialogues"))


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Checkpoint]:
    root = tmp_path_factory.mktemp("checkpoints")
    return {name: open_checkpoint(save_tiny(name, root / name), purpose="the test") for name in ARCHITECTURES}


def collated(collator: Collator, data: Path, index: int = 0) -> Sequence:
    dialogues = Dialogues.read(data)
    return collator.collate(dialogues.rows[index], dialogues.root)


def changed(data: Path, folder: Path, change: Change) -> Path:
    """The first dialogue alone, changed, beside its frames."""
    copy = folder / "changed"
    shutil.copytree(data.parent, copy)
    row = json.loads(data.read_text().splitlines()[0])
    change(row)
    (copy / data.name).write_text(json.dumps(row) + "\n")
    return copy / data.name


@pytest.mark.parametrize(
    ("architecture", "learnt"),
    [
        ("internvl", "red<|im_end|>\ngreen now<|im_end|>\n"),
        ("qwen2_5_vl", "red<|im_end|>\ngreen now<|im_end|>\n"),
        ("smolvlm", " red<end_of_utterance>\n green now<end_of_utterance>\n"),
    ],
)
def test_loss_falls_on_answers_and_their_ends_alone(
    architecture: str, learnt: str, checkpoints: dict[str, Checkpoint], data: Path
) -> None:
    checkpoint = checkpoints[architecture]
    sequence = collated(Collator(checkpoint, frame_tokens=6), data)
    ids = sequence.inputs["input_ids"]
    assert checkpoint.processor.decode(ids[sequence.labels != IGNORED]) == learnt
    assert bool((sequence.labels[sequence.labels != IGNORED] == ids[sequence.labels != IGNORED]).all())
    assert int((ids == checkpoint.image_token_id).sum()) == 2 * 4
    assert sequence.frames == 2
    # Frames stand where they were said to: the second behind the first answer.
    first_answer = int((sequence.labels[0] != IGNORED).nonzero()[0])
    places = (ids[0] == checkpoint.image_token_id).nonzero()[:, 0].tolist()
    assert [place < first_answer for place in places] == [True] * 4 + [False] * 4


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_tokens_are_counted_without_preparing_pictures(
    architecture: str, checkpoints: dict[str, Checkpoint], data: Path
) -> None:
    collator = Collator(checkpoints[architecture], frame_tokens=6, system="Be brief.")
    dialogues = Dialogues.read(data)
    for row in dialogues.rows:
        assert collator.tokens(row, dialogues.root) == collator.collate(row, dialogues.root).tokens


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_is_asked_later_begins_with_the_tokens_that_were_trained(
    architecture: str, checkpoints: dict[str, Checkpoint], data: Path
) -> None:
    sequence = collated(Collator(checkpoints[architecture], frame_tokens=6, system="Be brief."), data)
    first_answer = int((sequence.labels[0] != IGNORED).nonzero()[0])
    model = LocalVideoModel(checkpoints[architecture].path, device="cpu")
    model._options = Collator(checkpoints[architecture], frame_tokens=6)._options
    picture = (data.parent / "red.png").read_bytes()
    asked = model._inputs([Message("system", "Be brief."), Message("user", "Which colour is it, 0?", (picture,))])
    assert asked["input_ids"][0].tolist() == sequence.inputs["input_ids"][0, :first_answer].tolist()


def placeholder_more(row: dict[str, Any]) -> None:
    row["conversations"][2]["value"] = "<image>\n" + row["conversations"][2]["value"]


def question_of(text: str) -> Change:
    def change(row: dict[str, Any]) -> None:
        row["conversations"][2]["value"] = "<image>\n" + text

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (placeholder_more, r"3 placeholders for 2 images .*dialogues\.jsonl:1"),
        (lambda row: row["image"].pop(), "2 placeholders for 1 images"),
        (lambda row: row.update(image=["red.png", "blue.jpg"]), r"'dialogue-0': the frame .*blue\.jpg is not there"),
        (lambda row: row.update(image=["red.png", "../red.png"]), "must lie below the root"),
        (lambda row: row.update(image=["red.png", "dialogues.jsonl"]), "cannot be read as a picture"),
        (lambda row: row["conversations"].reverse(), "roles must alternate"),
        (question_of("Say <|im_end|>!"), r"a text holds '<\|im_end\|>', which means something to the model"),
        (question_of("What is <IMG_CONTEXT>?"), "stands inside a text"),
    ],
)
def test_bad_samples_are_told_with_their_place(
    change: Change, told: str, data: Path, checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        collated(Collator(checkpoints["internvl"], frame_tokens=6), changed(data, tmp_path, change))


def test_rows_of_one_answer_each_are_refused(tmp_path: Path) -> None:
    said = {"role": "user", "content": "What?"}, {"role": "assistant", "content": "A cup."}
    file = tmp_path / "trl.jsonl"
    file.write_text(json.dumps({"prompt": said[:1], "completion": said[1:]}) + "\n")
    with pytest.raises(InputError, match="conversations"):
        Dialogues.read(file)


def test_no_samples_are_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(InputError, match="no samples"):
        Dialogues.read(tmp_path / "empty.jsonl")
    with pytest.raises(InputError):
        Dialogues.read(tmp_path / "nowhere.jsonl")


def test_a_sample_over_the_budget_is_refused_or_left_out_and_counted(
    data: Path, checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    collator = Collator(checkpoints["internvl"], frame_tokens=6, max_tokens=20)
    with pytest.raises(InputError, match=r"'dialogue-0': 98 tokens with 2 frames, 20 are allowed .*--over-budget"):
        collated(collator, data)
    dialogues = Dialogues.read(data)
    counts = [Collator(checkpoints["internvl"]).tokens(row, dialogues.root) for row in dialogues.rows]
    base = checkpoints["internvl"].path
    settings = LoraSettings(max_steps=1, accumulate=1, max_tokens=min(counts), over_budget="skip")
    done = train_lora(data, base, tmp_path / "run", settings, cpu=True)
    longer = tuple(row.sample.id for row, count in zip(dialogues.rows, counts, strict=True) if count > min(counts))
    assert longer
    assert done.left_out == longer
    assert json.loads((tmp_path / "run" / "run.json").read_text())["left_out"] == list(longer)
    with pytest.raises(InputError, match="are allowed"):
        train_lora(data, base, tmp_path / "other", settings.model_copy(update={"over_budget": "refuse"}), cpu=True)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("architecture", ["internvl", "smolvlm"])
def test_a_frame_over_its_budget_is_refused(architecture: str, data: Path, checkpoints: dict[str, Checkpoint]) -> None:
    with pytest.raises(InputError, match="a frame takes 4 tokens, 3 are allowed"):
        collated(Collator(checkpoints[architecture], frame_tokens=3), data)


def test_pictures_of_qwen_are_made_as_small_as_their_budget(data: Path, checkpoints: dict[str, Checkpoint]) -> None:
    def tokens(budget: int) -> int:
        ids = collated(Collator(checkpoints["qwen2_5_vl"], frame_tokens=budget), data).inputs["input_ids"]
        return int((ids == checkpoints["qwen2_5_vl"].image_token_id).sum()) // 2

    assert [tokens(budget) for budget in (1, 12, 256)] == [1, 12, 48]


def test_a_template_that_changes_earlier_turns_is_refused(data: Path, checkpoints: dict[str, Checkpoint]) -> None:
    checkpoint = open_checkpoint(checkpoints["internvl"].path, purpose="the test")
    checkpoint.processor.chat_template = "{{ messages | length }} messages: " + checkpoint.processor.chat_template
    with pytest.raises(InputError, match="changes the text before an answer"):
        collated(Collator(checkpoint, frame_tokens=6), data)


def spoilt(path: Path, folder: Path, file: str, change: Change) -> Path:
    copy = Path(shutil.copytree(path, folder / "spoilt"))
    document = json.loads((copy / file).read_text())
    change(document)
    (copy / file).write_text(json.dumps(document))
    return copy


def test_a_tokenizer_of_another_model_is_refused(checkpoints: dict[str, Checkpoint], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(checkpoints["internvl"].path, tmp_path / "larger"))
    from transformers import AutoTokenizer

    untyped: Any = AutoTokenizer
    tokenizer = untyped.from_pretrained(copy)
    tokenizer.add_tokens(["one more"])
    tokenizer.save_pretrained(copy)
    with pytest.raises(InputError, match="the tokenizer has tokens up to 263, the model has embeddings for 263"):
        open_checkpoint(copy, purpose="the test")


def test_an_image_token_that_the_tokenizer_lacks_or_takes_for_another_is_refused(
    checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    other = spoilt(
        checkpoints["qwen2_5_vl"].path, tmp_path / "a", "config.json", lambda one: one.update(image_token_id=7)
    )
    with pytest.raises(InputError, match=r"'<\|image_pad\|>' is 5 for the tokenizer and 7 for the model"):
        open_checkpoint(other, purpose="the test")
    mixed = Path(shutil.copytree(checkpoints["qwen2_5_vl"].path, tmp_path / "mixed"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(checkpoints["smolvlm"].path / name, mixed / name)
    with pytest.raises(InputError, match=r"lacks the image token '<\|image_pad\|>'"):
        open_checkpoint(mixed, purpose="the test")


def test_a_processor_of_another_model_is_told_by_the_first_sample(
    checkpoints: dict[str, Checkpoint], data: Path, tmp_path: Path
) -> None:
    base = spoilt(
        checkpoints["internvl"].path, tmp_path, "processor_config.json", lambda one: one.update(image_seq_length=5)
    )
    settings = LoraSettings(max_steps=1, accumulate=1)
    with pytest.raises(InputError, match=r"sample 'dialogue-\d' does not fit the model: .*[Ii]mage"):
        train_lora(data, base, tmp_path / "run", settings, cpu=True)


def test_missing_and_wrong_checkpoints_are_named(
    checkpoints: dict[str, Checkpoint], data: Path, tmp_path: Path
) -> None:
    settings = LoraSettings(max_steps=0, accumulate=1)
    with pytest.raises(InputError, match="no such folder"):
        train_lora(data, tmp_path / "nowhere", tmp_path / "run", settings, cpu=True)
    wrong = spoilt(checkpoints["internvl"].path, tmp_path, "config.json", lambda one: one.update(model_type="bert"))
    with pytest.raises(InputError, match=r"transformers cannot load its (model|processor)"):
        train_lora(data, wrong, tmp_path / "run", settings, cpu=True)
    assert not (tmp_path / "run").exists()

    done = train_lora(data, checkpoints["internvl"].path, tmp_path / "run", settings, cpu=True)
    with pytest.raises(InputError, match="is an adapter, not a checkpoint"):
        train_lora(data, done.adapter, tmp_path / "again", settings, cpu=True)
    with pytest.raises(InputError, match=r"no adapter_config\.json in the folder"):
        merge(checkpoints["internvl"].path, tmp_path / "merged")

    config = done.adapter / "adapter_config.json"
    described = json.loads(config.read_text())
    config.write_text(json.dumps(described | {"base_model_name_or_path": str(checkpoints["smolvlm"].path)}))
    with pytest.raises(InputError, match="trained on another checkpoint"):
        merge(done.adapter, tmp_path / "merged")
    config.write_text(json.dumps(described | {"base_model_name_or_path": "gone"}))
    with pytest.raises(InputError, match="checkpoint that the adapter was trained on is not there"):
        LocalVideoModel(done.adapter, device="cpu")


def test_a_model_without_a_known_projector_says_so(checkpoints: dict[str, Checkpoint]) -> None:
    checkpoint = open_checkpoint(checkpoints["smolvlm"].path, purpose="the test")
    inner = checkpoint.model.model
    inner.bridge = inner.connector
    del inner.connector
    with pytest.raises(SettingError, match=r"no projector of a known name .*--no-train-projector"):
        add_lora(checkpoint, rank=2, dropout=0.0, train_projector=True)
