"""Checkpoints of an adapter in training: whole or absent, safetensors and JSON only, and enough to go on exactly.

A checkpoint holds what was trained, the optimizer's moments and the number of the step. The order of samples and what
dropout drops follow from the seed and that number, so no generator's state has to be kept.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

from reeltalk.errors import InputError
from reeltalk.inference.processor import Tuned
from reeltalk.schema.sft import LoraSettings
from reeltalk.store.atomic import write_bytes, writing_directory
from reeltalk.streaming.lora import ADAPTER_WEIGHTS, adapter_weights, write_adapter

OPTIMIZER: Final = "optimizer.safetensors"
STATE: Final = "state.json"
CHECKPOINTS: Final = "checkpoints"
# Between the name of a weight and that of a number the optimizer keeps of it; neither holds a space.
BETWEEN: Final = " "


class Begun(BaseModel):
    """What a run was begun with; one that goes on must have been begun with the same."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: LoraSettings
    data_sha256: str
    base_hash: str
    processes: int = Field(ge=1)

    def differences(self, other: "Begun") -> list[str]:
        """The differences in words: `rank 16, was 32`."""
        own, others = self._flat(), other._flat()
        return [
            f"{name.replace('_', ' ')} {own[name]}, was {others[name]}" for name in own if own[name] != others[name]
        ]

    def _flat(self) -> dict[str, Any]:
        # How often checkpoints are written changes nothing of what is trained.
        settings = self.settings.model_dump(exclude={"save_every"})
        return settings | self.model_dump(exclude={"settings"})


class State(BaseModel):
    """The state of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: str = "reeltalk-lora-1"
    step: int = Field(ge=0)
    """Steps that are done."""
    begun: Begun


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


def save(out: Path, state: State, *, model: Any, optimizer: Any, accelerator: Any, tuned: Tuned) -> None:
    """Write a checkpoint, then delete the one before. All processes must call it.

    Args:
        out: Folder of the run.
        state: Where it stands.
        model: As accelerate prepared it.
        optimizer: The same.
        accelerator: accelerate's.
        tuned: Goes beside the adapter.
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
    """Put the weights of a checkpoint into a model with LoRA.

    Raises:
        InputError: They cannot be read or are those of another model.
    """
    import peft

    weights = _read(folder / ADAPTER_WEIGHTS)
    expected = adapter_weights(adapted)
    if {name: weight.shape for name, weight in weights.items()} != {n: w.shape for n, w in expected.items()}:
        raise InputError("holds weights of another model", file=folder / ADAPTER_WEIGHTS)
    peft.set_peft_model_state_dict(adapted, weights)


def load_optimizer(folder: Path, *, model: Any, optimizer: Any) -> None:
    """Put the moments of a checkpoint into an optimizer.

    Args:
        folder: The checkpoint.
        model: As accelerate prepared it.
        optimizer: The same.

    Raises:
        InputError: They cannot be read.
    """
    # Without cpu_offload: with it all processes but the first get nothing.
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
