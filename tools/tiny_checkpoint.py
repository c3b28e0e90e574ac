"""A vision-language checkpoint of random weights, small enough to be made whenever tests run: a LLaVA, untrained.

Its image processor works on PIL, for transformers' others need torchvision. `python tools/tiny_checkpoint.py FOLDER`
writes one.
"""

import sys
from pathlib import Path
from typing import Any, Final

TEMPLATE: Final = (
    "{% for message in messages %}{{ message.role }}: {% for part in message.content %}"
    "{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def save_tiny_checkpoint(folder: Path) -> Path:
    """Write configuration, weights, tokenizer, processor and chat template.

    Args:
        folder: Where; it is created.
    """
    import tokenizers
    import torch
    import transformers
    from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil

    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    special = ["<pad>", "<s>", "</s>", "<image>"]
    vocabulary = {token: n for n, token in enumerate([*special, *alphabet])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    untyped: Any = transformers
    tokenizer = untyped.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens={"image_token": "<image>"},
    )
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=16,
            patch_size=8,
        ),
        text_config=transformers.LlamaConfig(
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            vocab_size=len(vocabulary),
            pad_token_id=0,
            bos_token_id=1,
            # None of these ends a reply, so that a model that says anything says as much as it may.
            eos_token_id=None,
        ),
        image_token_index=vocabulary["<image>"],
        vision_feature_layer=-1,
    )
    torch.manual_seed(0)
    model = transformers.LlavaForConditionalGeneration(config)
    with torch.no_grad():
        # Larger than a model begins with, so that what comes out hangs on what went in.
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(15)
        model.lm_head.weight[: len(special)] = 0
    processor = untyped.LlavaProcessor(
        LlavaImageProcessorPil(size={"height": 16, "width": 16}, crop_size={"height": 16, "width": 16}),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    print(save_tiny_checkpoint(Path(sys.argv[1])))
