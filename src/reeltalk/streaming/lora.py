"""LoRA on every linear layer of the language model, as SVBench's StreamingChat has it (alpha = 2 x rank, dropout 0.05).

The vision encoder stays as it is. The projector is trained whole where that is asked for: peft keeps a copy of it
beside the original, saves it with the adapter, and puts it in place when the adapter is merged.
"""

import shutil
from pathlib import Path
from typing import Any, Final

import peft
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from reeltalk.errors import InputError, SettingError
from reeltalk.inference.checkpoint import ADAPTER_CONFIG, Checkpoint, open_checkpoint, peft_calls
from reeltalk.inference.processor import TUNED_FILE, Tuned
from reeltalk.store.atomic import write_bytes, writing_directory

ADAPTER_WEIGHTS: Final = "adapter_model.safetensors"
PROJECTORS: Final = ("multi_modal_projector", "connector", "merger", "deepstack_merger_list")
"""transformers' names for the module between vision encoder and language model: InternVL and LLaVA, SmolVLM,
Qwen-VL."""
WEIGHT_ENDINGS: Final = (".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".pth", ".pt", ".gguf")


def linear_layers(model: nn.Module, decoder: nn.Module) -> list[str]:
    """Full names of the linear layers of the language model; its embeddings and its head are none of them.

    Args:
        model: A whole vision-language model.
        decoder: Its language model.

    Raises:
        SettingError: There are none.
    """
    within = {id(module) for module in decoder.modules() if isinstance(module, nn.Linear)}
    names = [name for name, module in model.named_modules() if id(module) in within]
    if not names:
        raise SettingError(f"{type(model).__name__} has no linear layers in its language model; LoRA has no place")
    return names


def projectors(model: nn.Module) -> list[str]:
    """Full names of the modules between vision encoder and language model; empty where none is known."""
    return [name for name, _ in model.named_modules() if name.rpartition(".")[2] in PROJECTORS]


def add_lora(checkpoint: Checkpoint, *, rank: int, dropout: float, train_projector: bool) -> Any:
    """The model with LoRA: adapters and, where asked for, the projector can be trained, all else is frozen.

    Trained weights are float32, whatever the precision of the others.

    Args:
        checkpoint: A model without adapter. It is changed in place.
        rank: Of the adapters; alpha is twice that.
        dropout: Before each adapter, while training.
        train_projector: Train all of the projector, too.

    Raises:
        SettingError: The model has no projector that is known, or no linear layers.
    """
    model = checkpoint.model
    between = projectors(model) if train_projector else None
    if train_projector and not between:
        raise SettingError(
            f"{type(model).__name__} has no projector of a known name ({', '.join(PROJECTORS)}); "
            "pass --no-train-projector"
        )
    config = peft.LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        lora_dropout=dropout,
        bias="none",
        target_modules=linear_layers(model, model.get_decoder()),
        modules_to_save=between,
        base_model_name_or_path=str(checkpoint.base.resolve()),
    )
    with peft_calls():
        adapted = peft.get_peft_model(model, config)
    for weight in adapted.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float()
    # peft writes down where transformers says that the model came from, which may be relative to another folder.
    adapted.peft_config["default"].base_model_name_or_path = str(checkpoint.base.resolve())
    return adapted


def adapter_weights(adapted: Any, trained: dict[str, Tensor] | None = None) -> dict[str, Tensor]:
    """Adapter and projector by the names that peft gives them in files.

    Args:
        adapted: A model with LoRA.
        trained: Its trained weights by their names in the model, where they are spread over several machines.
    """
    found = peft.get_peft_model_state_dict(adapted, state_dict=trained, save_embedding_layers=False)
    # A copy each: tensors that share memory cannot be written.
    return {name: weight.detach().to("cpu", copy=True).contiguous() for name, weight in found.items()}


def write_adapter(folder: Path, adapted: Any, weights: dict[str, Tensor], tuned: Tuned) -> None:
    """Write an adapter into a folder that is there: safetensors and JSON, as peft reads them."""
    save_file(weights, folder / ADAPTER_WEIGHTS, metadata={"format": "pt"})
    adapted.peft_config["default"].save_pretrained(folder)
    write_bytes(folder / TUNED_FILE, tuned.model_dump_json(indent=2).encode() + b"\n")


def merge(adapter: Path, out: Path, *, overwrite: bool = False) -> Path:
    """Add an adapter to the weights of the checkpoint that it was trained on; a whole checkpoint appears.

    Sums are made in float32 and written in the precision that the checkpoint had.

    Args:
        adapter: Folder of an adapter.
        out: Folder that appears, with the files of tokenizer and processor beside the weights.
        overwrite: Replace what is there.

    Raises:
        MissingExtraError: torch, transformers or peft is not installed.
        InputError: The adapter or its checkpoint is not there, cannot be read, or is another one.
        BenchmarkError: `out` exists, or cannot be written.
    """
    if not (adapter / ADAPTER_CONFIG).is_file():
        raise InputError(f"no {ADAPTER_CONFIG} in the folder", file=adapter, hint="'reeltalk train lora' writes one")
    opened = open_checkpoint(adapter, weights="float32", purpose="merging an adapter")
    merged: Any = opened.model.merge_and_unload()
    precision = getattr(torch, str(merged.config.dtype).removeprefix("torch."), torch.float32)
    with writing_directory(out, overwrite=overwrite) as folder:
        merged.to(_stored_precision(opened.base) or precision).save_pretrained(folder)
        for file in sorted(opened.base.iterdir()):
            if file.is_file() and not file.name.endswith(WEIGHT_ENDINGS) and not (folder / file.name).exists():
                shutil.copyfile(file, folder / file.name)
        if opened.tuned is not None:
            write_bytes(folder / TUNED_FILE, opened.tuned.model_dump_json(indent=2).encode() + b"\n")
    return out


def _stored_precision(base: Path) -> torch.dtype | None:
    import transformers

    library: Any = transformers
    config = library.AutoConfig.from_pretrained(base, local_files_only=True, trust_remote_code=False)
    found = getattr(config, "dtype", None)
    return found if isinstance(found, torch.dtype) else None
