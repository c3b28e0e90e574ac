"""Random checkpoints of real architectures, small enough to train in a test: InternVL, Qwen2.5-VL, SmolVLM.

Files are laid out as published checkpoints lay them out, down to the class names of processors whose part for videos
needs torchvision. `python tools/tiny_architectures.py ARCHITECTURE FOLDER` writes one.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

_IM = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% for p in m.content %}"
_IM_END = (
    "{% endfor %}{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TEMPLATES: Final = {
    "internvl": _IM + "{% if p.type == 'image' %}{{ '<IMG_CONTEXT>\n' }}{% else %}{{ p.text }}{% endif %}" + _IM_END,
    "qwen2_5_vl": _IM
    + "{% if p.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ p.text }}{% endif %}"
    + _IM_END,
    # As SmolVLM's own: the space before an answer is part of the template.
    "smolvlm": "<|im_start|>{% for m in messages %}{{ m.role | capitalize }}"
    "{% if m.content[0].type == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}"
    "{% for p in m.content %}{% if p.type == 'image' %}<image>{% else %}{{ p.text }}{% endif %}{% endfor %}"
    "<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}",
}
SPECIAL: Final = {
    "internvl": ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>", "<video>"],
    "qwen2_5_vl": ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>",
                   "<|image_pad|>", "<|video_pad|>"],
    "smolvlm": ["<|endoftext|>", "<|im_start|>", "<end_of_utterance>", "<fake_token_around_image>", "<global-img>",
                "<image>", "<video>"],
}  # fmt: skip
ARCHITECTURES: Final = tuple(TEMPLATES)
SIDE_PX: Final = 16


def save_tiny(architecture: str, folder: Path, *, width: int = 32, layers: int = 2, seed: int = 0) -> Path:
    """Write configuration, weights, tokenizer and processor of a random checkpoint.

    Args:
        architecture: One of `ARCHITECTURES`.
        folder: Where; it is created.
        width: Of the language model, a multiple of 16.
        layers: Of the language model.
        seed: Decides the weights.
    """
    import torch
    import transformers

    torch.manual_seed(seed)
    tokenizer, vocabulary = _tokenizer(SPECIAL[architecture], _named(architecture))
    text: dict[str, Any] = {
        "hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers, "num_attention_heads": 2,
        "num_key_value_heads": 2, "vocab_size": len(vocabulary), "max_position_embeddings": 4096, "pad_token_id": 0,
        "bos_token_id": None, "eos_token_id": 2, "tie_word_embeddings": False,
    }  # fmt: skip
    untyped: Any = transformers
    images: dict[str, Any]
    if architecture == "internvl":
        config: Any = transformers.InternVLConfig(
            vision_config={
                "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
                "image_size": [SIDE_PX, SIDE_PX], "patch_size": [4, 4],
            },
            text_config=text | {"model_type": "qwen2"},
            image_token_id=vocabulary["<IMG_CONTEXT>"], image_seq_length=4, tie_word_embeddings=False,
        )  # fmt: skip
        model: Any = transformers.InternVLForConditionalGeneration(config)
        images = {"image_processor_type": "GotOcr2ImageProcessor", "size": {"height": SIDE_PX, "width": SIDE_PX},
                  "crop_to_patches": True, "max_patches": 12}  # fmt: skip
        processor = {"processor_class": "InternVLProcessor", "image_seq_length": 4}
    elif architecture == "qwen2_5_vl":
        config = transformers.Qwen2_5_VLConfig(
            vision_config={
                "hidden_size": 16, "intermediate_size": 32, "depth": 1, "num_heads": 2, "patch_size": 4,
                "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 16, "fullatt_block_indexes": [0],
                "out_hidden_size": width,
            },
            text_config=text | {
                "rope_parameters": {
                    "rope_type": "default", "rope_theta": 10000.0,
                    "mrope_section": [width // 8, width // 16, width // 16],
                }
            },
            image_token_id=vocabulary["<|image_pad|>"], video_token_id=vocabulary["<|video_pad|>"],
            vision_start_token_id=vocabulary["<|vision_start|>"], vision_end_token_id=vocabulary["<|vision_end|>"],
            tie_word_embeddings=False,
        )  # fmt: skip
        model = transformers.Qwen2_5_VLForConditionalGeneration(config)
        images = {"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 4, "merge_size": 2,
                  "temporal_patch_size": 2, "min_pixels": 64, "max_pixels": 12800}  # fmt: skip
        processor = {"processor_class": "Qwen2_5_VLProcessor"}
    else:
        config = transformers.SmolVLMConfig(
            vision_config={
                "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
                "image_size": SIDE_PX, "patch_size": 4,
            },
            text_config=text | {"model_type": "llama"},
            image_token_id=vocabulary["<image>"], scale_factor=2, tie_word_embeddings=False,
        )  # fmt: skip
        model = transformers.SmolVLMForConditionalGeneration(config)
        images = {"image_processor_type": "SmolVLMImageProcessor", "size": {"longest_edge": 4 * SIDE_PX},
                  "max_image_size": {"longest_edge": SIDE_PX}, "do_image_splitting": True}  # fmt: skip
        processor = {"processor_class": "SmolVLMProcessor", "image_seq_len": 4}
    with torch.no_grad():
        # Larger than a model begins with, so that what comes out hangs on what went in.
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(4)
        # A frozen head of small weights could not be sure of any token, whatever an adapter learns.
        model.lm_head.weight.mul_(6)
    model.generation_config = untyped.GenerationConfig(eos_token_id=2, pad_token_id=0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    _json(folder / "preprocessor_config.json", images | processor)
    _json(folder / "processor_config.json", processor)
    (folder / "chat_template.jinja").write_text(TEMPLATES[architecture], encoding="utf-8")
    return folder


def save_dialogues(folder: Path, count: int = 4) -> Path:
    """Write dialogues of two turns about two frames each, and the frames, as StreamingChat's JSON Lines.

    Args:
        folder: Where; it is created.
        count: Dialogues.

    Returns:
        The file.
    """
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    colours = ("red", "green", "blue", "white", "black", "yellow")
    for name in colours:
        Image.new("RGB", (64, 48), name).save(folder / f"{name}.png")
    rows = []
    for n in range(count):
        first, then = colours[n % 6], colours[(n // 6 + n + 1) % 6]
        said = [f"<image>\nWhich colour is it, {n}?", first, "<image>\nAnd now?", f"{then} now"]
        turns = [{"from": ("human", "gpt")[i % 2], "value": text} for i, text in enumerate(said)]
        rows.append({"id": f"dialogue-{n}", "image": [f"{first}.png", f"{then}.png"], "conversations": turns})
    file = folder / "dialogues.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def _named(architecture: str) -> dict[str, str]:
    """Tokens that processors look up by a name."""
    if architecture != "internvl":
        return {}
    return {
        "start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }  # fmt: skip


def _tokenizer(special: list[str], named: dict[str, str]) -> tuple[Any, dict[str, int]]:
    import tokenizers
    import transformers

    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: n for n, token in enumerate([*special, *alphabet])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    untyped: Any = transformers
    tokenizer = untyped.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token=special[0], eos_token=special[2], extra_special_tokens=named
    )
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    return tokenizer, vocabulary


def _json(file: Path, value: dict[str, Any]) -> None:
    file.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    print(save_tiny(sys.argv[1], Path(sys.argv[2])))
