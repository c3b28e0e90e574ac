"""How fast an adapter of a large checkpoint trains: frames, tokens and FLOPs a second, on a random one.

    python bench/train_large.py            an InternVL of InternVL3-2B's shape; needs an accelerator
    python bench/train_large.py --tiny     a tiny one on any machine: shows that the script works, and nothing else

FLOPs of a step, per sequence of T tokens with F frames, A adapter weights, N weights of the language model's layers,
V of the vision encoder with P patches a frame, L layers of width d, H answer tokens of a vocabulary of U:

    4 N T                  forward, and backward through activations; frozen weights need no gradient of their own
    + 6 A T                adapters: forward, backward, gradient
    + 6 L d T^2            attention, causal: 2 L d T^2 forward and twice that backward
    + 2 V P F              the vision encoder, forward only
    + 4 H d U              scores of answer tokens

Model FLOPs utilisation is that, divided by seconds and by the accelerator's peak (--peak-tflops, dense bfloat16).
Projector and optimizer are left out: they are below 1 %.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from record import Measure, lacking, options_of, record
from reeltalk_streaming.inference.checkpoint import open_checkpoint
from reeltalk_streaming.training.collate import Collator, Dialogues
from reeltalk_streaming.training.lora import add_lora
from reeltalk_streaming.training.lora_training import answer_loss

PEAK_TFLOPS = 989.0
"""Dense bfloat16 of an H100 or H200 SXM, by its data sheet."""


def enlarge(folder: Path) -> None:
    """Put a random model of InternVL3-2B's shape, 1.5 B and 0.3 B weights, beside the tiny one's tokenizer."""
    import transformers

    untyped: Any = transformers
    tiny = untyped.AutoConfig.from_pretrained(folder, local_files_only=True)
    config = untyped.InternVLConfig(
        vision_config={
            "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
            "image_size": [448, 448], "patch_size": [14, 14],
        },
        text_config={
            "model_type": "qwen2", "hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28,
            "num_attention_heads": 12, "num_key_value_heads": 2, "vocab_size": 151_674,
            "max_position_embeddings": 32_768, "tie_word_embeddings": True,
        },
        image_token_id=tiny.image_token_id, image_seq_length=256, tie_word_embeddings=True,
    )  # fmt: skip
    torch.manual_seed(0)
    untyped.InternVLForConditionalGeneration(config).to(torch.bfloat16).save_pretrained(folder)
    for name, change in (
        ("processor_config.json", {"image_seq_length": 256}),
        ("preprocessor_config.json", {"image_seq_length": 256, "size": {"height": 448, "width": 448}}),
    ):
        document = json.loads((folder / name).read_text()) | change
        (folder / name).write_text(json.dumps(document))


def dialogue(folder: Path, frames: int) -> Path:
    """One dialogue: a turn for every tenth frame."""
    Image.effect_noise((448, 448), 60).convert("RGB").save(folder / "frame.jpg")
    turns = []
    for begin in range(0, frames, 10):
        shown = "<image>\n" * min(10, frames - begin)
        turns += [{"from": "human", "value": f"{shown}What does she do now?"},
                  {"from": "gpt", "value": "She puts the red cup on the shelf."}]  # fmt: skip
    file = folder / "dialogue.jsonl"
    file.write_text(json.dumps({"id": "one", "image": ["frame.jpg"] * frames, "conversations": turns}) + "\n")
    return file


def count(module: torch.nn.Module, *, trained: bool | None = None) -> int:
    """Weights of a module's layers, embeddings left out."""
    return sum(
        weight.numel()
        for name, weight in module.named_parameters()
        if "embed_tokens" not in name and trained in (None, weight.requires_grad)
    )


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--frames", type=int, default=0, help="of the sample; 64, or 4 with --tiny")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--gradient-checkpointing", action="store_true")
    parser.add_argument("--peak-tflops", type=float, default=PEAK_TFLOPS)
    options = parser.parse_args()
    if not torch.cuda.is_available() and not options.tiny:
        lacking("train_large", "an accelerator; a model of 1.8 B weights says nothing on a CPU", quick=options.quick)
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    from tiny_architectures import save_tiny

    device = torch.device("cpu" if options.tiny else "cuda")
    half = device.type == "cuda"
    with tempfile.TemporaryDirectory() as temporary:
        folder = save_tiny("internvl", Path(temporary) / "internvl")
        if not options.tiny:
            enlarge(folder)
        checkpoint = open_checkpoint(folder, weights="bfloat16" if half else "float32", purpose="the measurement")
        dialogues = Dialogues.read(dialogue(Path(temporary), options.frames or (4 if options.tiny else 64)))
        collator = Collator(checkpoint)
        began = time.perf_counter()
        sequence = collator.collate(dialogues.rows[0], dialogues.root)
        prepared_s = time.perf_counter() - began
    config, base = checkpoint.model.config, checkpoint.model
    decoder, vision = count(base.get_decoder()), count(base.model.vision_tower)
    model = add_lora(checkpoint, rank=options.rank, dropout=0.05, train_projector=True).to(device).train()
    if options.gradient_checkpointing:
        model.enable_input_require_grads()
        base.activation_checkpointing_enable({"use_reentrant": False})
    adapters = sum(w.numel() for name, w in model.named_parameters() if "lora_" in name)
    text, tokens, frames = config.text_config, sequence.tokens, sequence.frames
    patches = (config.vision_config.image_size[0] // config.vision_config.patch_size[0]) ** 2 + 1
    flops = (
        4 * decoder * tokens
        + 6 * adapters * tokens
        + 6 * text.num_hidden_layers * text.hidden_size * tokens**2
        + 2 * vision * patches * frames
        + 4 * sequence.answer_tokens * text.hidden_size * text.vocab_size
    )
    sequence = sequence.to(device)
    optimizer: Any = torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=1e-5)
    took: list[float] = []
    for _ in range(options.steps + 2):
        began = time.perf_counter()
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            loss = answer_loss(model, sequence)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if half:
            torch.cuda.synchronize()
        took.append(time.perf_counter() - began)
    # The first two warm up.
    step_s = sorted(took[2:])[len(took[2:]) // 2]
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if half else "CPU (tiny model: shows that the script works)",
        "weights": sum(w.numel() for w in base.parameters()), "adapter_weights": adapters, "tokens": tokens,
        "frames": frames, "step_s": step_s, "preparing_s": prepared_s, "frames_per_s": frames / step_s,
        "tokens_per_s": tokens / step_s, "model_tflops_per_s": flops / step_s / 1e12,
        "gradient_checkpointing": options.gradient_checkpointing,
    }  # fmt: skip
    if half:
        found["peak_tflops"] = options.peak_tflops
        found["model_flops_utilisation"] = flops / step_s / 1e12 / options.peak_tflops
        found["peak_memory_gb"] = torch.cuda.max_memory_allocated() / 1e9
    print(json.dumps(found, indent=2))
    if half:
        of = f"training an adapter of {found['weights'] / 1e9:.1f} B weights, {frames} frames a sample"
        share = found["model_flops_utilisation"]
        measures = [
            Measure(f"{of}: frames", found["frames_per_s"], "frames a s"),
            Measure(f"{of}: tokens", found["tokens_per_s"], "tokens a s"),
            Measure(f"{of}: model FLOPs", found["model_tflops_per_s"], "TFLOP a s", "the accelerator's peak", share),
            Measure(f"{of}: peak of memory", found["peak_memory_gb"], "GB"),
        ]
        packages = ["torch", "transformers", "peft"]
        record("train_large", measures, packages=packages, notes=[found["device"]], quick=options.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
