"""LoRA on every linear layer of the language model, as in SVBench's StreamingChat (alpha = 2 x rank, dropout 0.05).

The vision encoder does not change. The projector can be trained as a whole: peft keeps a copy of it next to the
original, saves it with the adapter, and puts it in place when the adapter is merged.

A checkpoint of a training is whole or absent, and is safetensors and JSON only. It holds the trained weights, the
optimizer's moments and the number of the step, so that a training continues exactly. The order of samples and the
dropout follow from the seed and that number, so no state of a generator is stored.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import peft
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

from reeltalk.errors import InputError, SettingError
from reeltalk.schema.sft import LoraSettings
from reeltalk.store.atomic import write_bytes, writing_directory
from reeltalk_streaming.inference.checkpoint import (
    ADAPTER_CONFIG,
    TUNED_FILE,
    Checkpoint,
    TuningRecord,
    open_checkpoint,
    peft_calls,
)

ADAPTER_WEIGHTS: Final = "adapter_model.safetensors"
PROJECTORS: Final = ("multi_modal_projector", "connector", "merger", "deepstack_merger_list")
"""Names in transformers of the module between vision encoder and language model: InternVL and LLaVA, SmolVLM, Qwen-VL.
"""
WEIGHT_ENDINGS: Final = (".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".pth", ".pt", ".gguf")


def linear_layers(model: nn.Module, decoder: nn.Module) -> list[str]:
    """Full names of the linear layers of the language model, without its embeddings and its head.

    Raises:
        SettingError: There are none.
    """
    within = {id(module) for module in decoder.modules() if isinstance(module, nn.Linear)}
    names = [name for name, module in model.named_modules() if id(module) in within]
    if not names:
        raise SettingError(f"{type(model).__name__} has no linear layers in its language model; LoRA has no place")
    return names


def projectors(model: nn.Module) -> list[str]:
    """Full names of the modules between vision encoder and language model; empty if none is known."""
    return [name for name, _ in model.named_modules() if name.rpartition(".")[2] in PROJECTORS]


def add_lora(checkpoint: Checkpoint, *, rank: int, dropout: float, train_projector: bool) -> Any:
    """Adds LoRA to a model: the adapters and, if requested, the projector are trained, and all else is frozen.

    Trained weights are float32, whatever the precision of the others.

    Args:
        checkpoint: A model without adapter. It is changed in place.
        rank: Rank of the adapters; alpha is twice the rank.
        dropout: Dropout before each adapter in training.
        train_projector: Also train the whole projector.

    Raises:
        SettingError: The model has no known projector, or no linear layers.
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
    )
    with peft_calls():
        adapted = peft.get_peft_model(model, config)
    for weight in adapted.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float()
    # peft writes the path that transformers reports for the model, which may be relative to another folder.
    adapted.peft_config["default"].base_model_name_or_path = str(checkpoint.base.resolve())
    return adapted


def adapter_weights(adapted: Any, trained: dict[str, Tensor] | None = None) -> dict[str, Tensor]:
    """Weights of the adapter and the projector, by their names in peft's files.

    Args:
        adapted: A model with LoRA.
        trained: Its trained weights by their names in the model, if they are distributed over several processes.
    """
    found = peft.get_peft_model_state_dict(adapted, state_dict=trained, save_embedding_layers=False)
    # These must be copies, because tensors that share memory cannot be written.
    return {name: weight.detach().to("cpu", copy=True).contiguous() for name, weight in found.items()}


def write_adapter(folder: Path, adapted: Any, weights: dict[str, Tensor], tuned: TuningRecord) -> None:
    """Writes an adapter into an existing folder: safetensors and JSON, as peft reads them."""
    save_file(weights, folder / ADAPTER_WEIGHTS, metadata={"format": "pt"})
    adapted.peft_config["default"].save_pretrained(folder)
    write_bytes(folder / TUNED_FILE, tuned.model_dump_json(indent=2).encode() + b"\n")


def merge(adapter: Path, out: Path, *, overwrite: bool = False) -> Path:
    """Adds an adapter to the weights of its checkpoint, and writes a whole checkpoint.

    Sums are made in float32 and written in the precision of the checkpoint.

    Raises:
        MissingExtraError: torch, transformers or peft is not installed.
        InputError: The adapter or its checkpoint does not exist, cannot be read, or is a different one.
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


OPTIMIZER: Final = "optimizer.safetensors"
STATE: Final = "state.json"
CHECKPOINTS: Final = "checkpoints"
# Separates the name of a weight from the name of the optimizer's number for it; neither contains a space.
BETWEEN: Final = " "


LENGTH_SETTINGS: Final = frozenset({"epochs", "max_steps"})
"""Settings that say how many steps a run has. A finished run may have more."""
# They decide what is stored and when a run ends, and not what a step computes.
_OF_NO_STEP: Final = frozenset({"save_every", "validate_every", "patience"})


class RunInputs(BaseModel):
    """The inputs and settings of a run. A run can be resumed only with the same ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: LoraSettings
    data_sha256: str
    validation_sha256: str | None = None
    """Hash of the validation data; None if there are none."""
    base_hash: str
    processes: int = Field(ge=1)

    def differences(self, other: "RunInputs", *, longer: bool) -> list[str]:
        """The differences in words, for example `rank 16, was 32`."""
        passed_over = _OF_NO_STEP | LENGTH_SETTINGS if longer else _OF_NO_STEP
        own, others = self._flat(passed_over), other._flat(passed_over)
        return [
            f"{name.replace('_', ' ')} {own[name]}, was {others[name]}" for name in own if own[name] != others[name]
        ]

    def _flat(self, passed_over: frozenset[str]) -> dict[str, Any]:
        return self.settings.model_dump(exclude=set(passed_over)) | self.model_dump(exclude={"settings"})


class State(BaseModel):
    """The state of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: str = "reeltalk-lora-1"
    step: int = Field(ge=0)
    """Number of finished steps."""
    begun: RunInputs


def latest(out: Path) -> tuple[Path, State] | None:
    """The last checkpoint of a run, or None.

    Raises:
        InputError: Its description cannot be read.
    """
    found = sorted((out / CHECKPOINTS).glob("step-*"))
    if not found:
        return None
    file = found[-1] / STATE
    try:
        return found[-1], State.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise InputError(
            "is no checkpoint of this version", file=file, hint="delete the folder of the run, or choose another --out"
        ) from error


def save(out: Path, state: State, *, model: Any, optimizer: Any, accelerator: Any, tuned: TuningRecord) -> None:
    """Writes a checkpoint, then deletes the one before. All processes must call it.

    Args:
        out: Folder of the run.
        state: The state of the run.
        model: As accelerate prepared it.
        optimizer: As accelerate prepared it.
        accelerator: The `Accelerator` of accelerate.
        tuned: Written next to the adapter.
    """
    options = StateDictOptions(full_state_dict=True, cpu_offload=True, ignore_frozen_params=True)
    trained = get_model_state_dict(model, options=options)
    moments = get_optimizer_state_dict(model, optimizer.optimizer, options=options)
    if accelerator.is_main_process:
        adapted = accelerator.unwrap_model(model)
        folder = out / CHECKPOINTS / f"step-{state.step:08d}"
        with writing_directory(folder, overwrite=True) as partial:
            write_adapter(partial, adapted, adapter_weights(adapted, trained), tuned)
            save_file(dict(_flat(moments)), partial / OPTIMIZER)
            write_bytes(partial / STATE, state.model_dump_json(indent=2).encode() + b"\n")
        for older in (out / CHECKPOINTS).glob("step-*"):
            if older != folder:
                shutil.rmtree(older, ignore_errors=True)
    accelerator.wait_for_everyone()


def load_adapter(folder: Path, adapted: Any) -> None:
    """Loads the weights of a checkpoint into a model with LoRA.

    Raises:
        InputError: They cannot be read or belong to another model.
    """
    import peft

    weights = _read(folder / ADAPTER_WEIGHTS)
    expected = adapter_weights(adapted)
    if {name: weight.shape for name, weight in weights.items()} != {n: w.shape for n, w in expected.items()}:
        raise InputError("holds weights of another model", file=folder / ADAPTER_WEIGHTS)
    peft.set_peft_model_state_dict(adapted, weights)


def load_optimizer(folder: Path, *, model: Any, optimizer: Any) -> None:
    """Loads the moments of a checkpoint into an optimizer.

    Raises:
        InputError: They cannot be read.
    """
    # Without cpu_offload, because with it all processes except the first get nothing.
    own = get_optimizer_state_dict(model, optimizer.optimizer, options=StateDictOptions(full_state_dict=True))
    state: dict[str, dict[str, Tensor]] = {}
    for name, value in _read(folder / OPTIMIZER).items():
        weight, _, kind = name.rpartition(BETWEEN)
        state.setdefault(weight, {})[kind] = value
    set_optimizer_state_dict(
        model,
        optimizer.optimizer,
        {"state": state, "param_groups": own["param_groups"]},
        options=StateDictOptions(full_state_dict=True),
    )


def _flat(moments: Any) -> Iterator[tuple[str, Tensor]]:
    for weight, kept in moments["state"].items():
        for kind, value in kept.items():
            yield f"{weight}{BETWEEN}{kind}", value.detach().to("cpu", copy=True).contiguous()


def _read(file: Path) -> dict[str, Tensor]:
    try:
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot be read: {error}", file=file, hint="delete the checkpoint's folder") from error
