"""Which options of a model have an effect on which kinds of models. An option without effect is refused.

`tests/integration/test_option_effects.py` tries every option on every kind, and writes what it found into
`docs/reference/options.md`.
"""

from collections.abc import Collection, Mapping
from typing import Final, Literal

from reeltalk.errors import SettingError
from reeltalk.evaluate.settings import ModelSettings, PlaySettings, RunConfig
from reeltalk.llm.model import INSPECT

ModelKind = Literal[
    "server", "provider", "streaming", "transformers", "mini", "python", "baseline", "answers", "oracle", "floor"
]
ModelCommand = Literal["evaluate", "chat", "proactive"]
EXAMPLES: Final[Mapping[ModelKind, str]] = {
    "server": "a model at an address",
    "provider": "`inspect:PROVIDER/MODEL`",
    "streaming": "`inspect:reeltalk-streaming/FOLDER`",
    "transformers": "`transformers:FOLDER`",
    "mini": "`mini`, `mini:FOLDER`",
    "python": "`python:MODULE:CLASS`",
    "baseline": "`baseline:NAME`",
    "answers": "`answers:PATH`, `human:PATH`",
    "oracle": "`oracle`",
    "floor": "`always:SECONDS`, `never`",
}
"""Names of the kinds of models."""


def _kinds(*names: ModelKind) -> frozenset[ModelKind]:
    return frozenset(names)


_ASKED: Final = _kinds("server", "provider")
_LANGUAGE: Final = _ASKED | _kinds("streaming", "transformers")

_TAKEN_BY: Final[Mapping[str, frozenset[ModelKind]]] = {
    "base_url": _ASKED,
    "api_key_env": _kinds("server"),
    "sees": _LANGUAGE | _kinds("mini", "python"),
    "temperature": _ASKED,
    "reasoning_effort": _ASKED,
    "max_reply_tokens": _LANGUAGE | _kinds("mini"),
    "memory": _kinds("streaming", "mini"),
    "memory_frames": _kinds("streaming", "mini"),
    "first_token": _kinds("server"),
    "batch": _kinds("provider"),
    "price_in": _ASKED,
    "price_out": _ASKED,
    "image_tokens": _ASKED,
    "prompt": _LANGUAGE,
    "answer_style": _LANGUAGE,
}
"""Kinds of models that an option of `evaluate` has an effect on."""
OPTIONS: Final = tuple(_TAKEN_BY)
"""The options that not every kind of model takes."""
UNSIGNED: Final = frozenset(
    {"base_url", "api_key_env", "first_token", "batch", "price_in", "price_out", "image_tokens"}
)
"""Options that change how a model is asked, and not what it answers. The others are in the signature."""
_IN_CHAT: Final[Mapping[str, frozenset[ModelKind]]] = {
    "sees": _ASKED,
    "memory": _LANGUAGE | _kinds("mini", "python"),
    "memory_frames": _LANGUAGE | _kinds("mini", "python"),
    "first_token": _kinds(),
    "batch": _kinds(),
}
_IN_STREAMS: Final[Mapping[str, frozenset[ModelKind]]] = {
    "sees": _LANGUAGE,
    "memory": _kinds("mini"),
    "memory_frames": _kinds("mini"),
    "first_token": _kinds(),
    "batch": _kinds(),
}
_OF_COMMANDS: Final[Mapping[ModelCommand, Mapping[str, frozenset[ModelKind]]]] = {
    "evaluate": _TAKEN_BY,
    "chat": {**_TAKEN_BY, **_IN_CHAT},
    "proactive": {**_TAKEN_BY, **_IN_STREAMS},
}
KINDS_OF: Final[Mapping[ModelCommand, tuple[ModelKind, ...]]] = {
    "evaluate": tuple(kind for kind in EXAMPLES if kind != "floor"),
    "chat": ("server", "provider", "streaming", "transformers", "mini", "python"),
    "proactive": ("server", "provider", "transformers", "mini", "python", "oracle", "floor"),
}
"""Kinds of models that a command takes; a language model of `proactive` is polled, as `poll:MODEL`."""
OPTIONS_OF: Final[Mapping[ModelCommand, tuple[str, ...]]] = {
    "evaluate": OPTIONS,
    "chat": (*ModelSettings.model_fields, "prompt"),
    "proactive": tuple(ModelSettings.model_fields),
}
"""The options of a command that are about a model."""
_WHY: Final[Mapping[str, str]] = {
    "base_url": "it is asked at no address",
    "api_key_env": "it gets no key from this variable; providers of inspect_ai read their own",
    "sees": "it has no pictures to leave out",
    "temperature": "its answers are not sampled",
    "reasoning_effort": "it takes no effort",
    "max_reply_tokens": "it has no limit of words",
    "memory": "it keeps no stream that could be bounded; inspect:reeltalk-streaming/FOLDER keeps one of a checkpoint",
    "first_token": "only a model at an address sends an answer in pieces; a model of this process tells it anyway",
    "batch": "it has no batch API, or an answer is awaited at once",
    "price_in": "its tokens cost nothing",
    "price_out": "its tokens cost nothing",
    "image_tokens": "its frames count against no budget",
    "prompt": "it reads no prompt",
    "answer_style": "it reads no prompt",
}


def kind_of_model(spec: str) -> ModelKind:
    """The kind of a model, by its name on the command line.

    Args:
        spec: As `--model` takes it. `summary:MODEL` and `poll:MODEL` are of the kind of MODEL.
    """
    kind, colon, name = spec.partition(":")
    if kind in ("summary", "poll") and colon:
        return kind_of_model(name)
    if spec.startswith(f"{INSPECT}reeltalk-streaming/"):
        return "streaming"
    if spec.startswith(f"{INSPECT}reeltalk-transformers/") or (kind == "transformers" and colon):
        return "transformers"
    if spec.startswith(INSPECT):
        return "provider"
    if kind == "mini":
        return "mini"
    if kind in ("python", "baseline") and colon:
        return "python" if kind == "python" else "baseline"
    if kind in ("answers", "human") and colon:
        return "answers"
    if spec == "oracle":
        return "oracle"
    if spec == "never" or (kind == "always" and colon):
        return "floor"
    return "server"


def kinds_of_option(option: str, command: ModelCommand = "evaluate") -> frozenset[ModelKind]:
    """The kinds of models that an option has an effect on.

    Args:
        option: A field of `ModelSettings`, or `prompt` or `answer_style`.
        command: The command that has the option.
    """
    return _OF_COMMANDS[command][option]


def prompt_options(config: RunConfig) -> tuple[str, ...]:
    """The options about the prompt that a run sets to something else than its preset, or than the default.

    Args:
        config: Settings of the run.
    """
    start = config.preset.play if config.preset else PlaySettings()
    return tuple(name for name in ("prompt", "answer_style") if getattr(config.play, name) != getattr(start, name))


def check_options(
    spec: str, asking: ModelSettings, *, also: Collection[str] = (), command: ModelCommand = "evaluate"
) -> None:
    """Refuse an option that has no effect on a model.

    Args:
        spec: The model.
        asking: How it is asked. Fields with their default value are not looked at.
        also: Other options that are given: `prompt`, `answer_style`.
        command: The command.

    Raises:
        SettingError: An option has no effect, or the command takes no model of this kind.
    """
    kind = kind_of_model(spec)
    if kind not in KINDS_OF[command]:
        known = ", ".join(EXAMPLES[one].replace("`", "") for one in KINDS_OF[command])
        raise SettingError(f"{command} takes no {spec}; it takes {known}")
    start = ModelSettings()
    given = [name for name in ModelSettings.model_fields if getattr(asking, name) != getattr(start, name)]
    for name in (*given, *also):
        if name == "memory" and not asking.bounded and command == "evaluate":
            continue
        if kind not in kinds_of_option(name, command):
            why = _WHY["memory" if name == "memory_frames" else name]
            raise SettingError(f"--{name.replace('_', '-')} has no effect on {spec}: {why}; leave it out")
