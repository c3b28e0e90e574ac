"""Which options of a model have an effect on which kinds of models. An option without effect is refused.

The page *Options and models* of the documentation shows it. `tests/integration/test_option_effects.py` tries every
option on every kind.
"""

from collections.abc import Collection, Mapping
from typing import Final, Literal

from reeltalk.errors import SettingError
from reeltalk.evaluation.settings import LimitSettings, ModelSettings, PlaySettings, RunConfig
from reeltalk.judge.settings import JudgeModelSettings
from reeltalk.llm.model import INSPECT
from reeltalk.plugins import added

ModelKind = Literal[
    "server",
    "provider",
    "streaming",
    "transformers",
    "mini",
    "python",
    "baseline",
    "answers",
    "oracle",
    "floor",
    "rule",
]
ModelCommand = Literal["evaluate", "judge", "chat", "proactive"]
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
    "rule": "protocols that ask no model",
}
"""Names of the kinds of models. `rule` stands for no model at all."""


def _kinds(*names: ModelKind) -> frozenset[ModelKind]:
    return frozenset(names)


_REMOTE: Final = _kinds("server", "provider")
_LANGUAGE: Final = _REMOTE | _kinds("streaming", "transformers")

_TAKEN_BY: Final[Mapping[str, frozenset[ModelKind]]] = {
    "base_url": _REMOTE,
    "api_key_env": _kinds("server"),
    "sees": _LANGUAGE | _kinds("mini", "python"),
    "temperature": _REMOTE,
    "reasoning_effort": _REMOTE,
    "max_reply_tokens": _LANGUAGE | _kinds("mini"),
    "memory": _kinds("streaming", "mini"),
    "memory_frames": _kinds("streaming", "mini"),
    "first_token": _kinds("server"),
    "batch": _kinds("provider"),
    "price_in": _REMOTE,
    "price_out": _REMOTE,
    "image_tokens": _REMOTE,
    "epochs": _REMOTE | _kinds("python"),
    "prompt": _LANGUAGE,
    "answer_style": _LANGUAGE,
    "frame_times": _LANGUAGE,
}
"""Kinds of models that an option of `evaluate` has an effect on."""
OPTIONS: Final = tuple(_TAKEN_BY)
"""The options that not every kind of model takes."""
UNSIGNED: Final = frozenset(
    {
        *("base_url", "api_key_env", "first_token", "batch", "price_in", "price_out", "image_tokens"),
        *("judge_base_url", "judge_api_key_env", "judge_max_reply_tokens", "judge_price_in", "judge_price_out"),
        *LimitSettings.model_fields,
    }
)
"""Options that change how a model is asked, and not what it answers. The others are in the signature."""
FRAME_OPTIONS: Final = ("frames", "fps", "longest_side", "square")
"""Options of `evaluate` about pictures, which have no effect with `--policy none`."""
_IN_CHAT: Final[Mapping[str, frozenset[ModelKind]]] = {
    "sees": _REMOTE,
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
_JUDGES: Final = _REMOTE | _kinds("transformers")
_OF_JUDGES: Final[Mapping[str, frozenset[ModelKind]]] = {
    "judge": _JUDGES,
    "judge_base_url": _REMOTE,
    "judge_api_key_env": _kinds("server"),
    "judge_max_reply_tokens": _JUDGES,
    "judge_price_in": _REMOTE,
    "judge_price_out": _REMOTE,
    "compat": _JUDGES,
    "published": _JUDGES,
    "prompts": _JUDGES,
    "judge_history": _JUDGES,
    "judge_summary": _JUDGES,
    "judge_shots": _JUDGES,
    "eval_rounds": _JUDGES,
    "checklist_version": _JUDGES,
    "timeout_s": _REMOTE,
    "max_retries": _REMOTE,
    "give_up_after_s": _REMOTE,
    "backoff_s": _REMOTE,
    "preflight": _REMOTE,
    "max_calls": _JUDGES,
    "max_tokens": _JUDGES,
    "max_cost": _REMOTE,
}
"""Kinds of judges that an option of `judge` has an effect on. The others have an effect on all kinds."""
_OF_COMMANDS: Final[Mapping[ModelCommand, Mapping[str, frozenset[ModelKind]]]] = {
    "evaluate": _TAKEN_BY,
    "judge": _OF_JUDGES,
    "chat": {**_TAKEN_BY, **_IN_CHAT},
    "proactive": {**_TAKEN_BY, **_IN_STREAMS},
}
KINDS_BY_COMMAND: Final[Mapping[ModelCommand, tuple[ModelKind, ...]]] = {
    "evaluate": tuple(kind for kind in EXAMPLES if kind not in ("floor", "rule")),
    "judge": ("server", "provider", "transformers", "rule"),
    "chat": ("server", "provider", "streaming", "transformers", "mini", "python"),
    "proactive": ("server", "provider", "transformers", "mini", "python", "oracle", "floor"),
}
"""Kinds of models that a command takes; a language model of `proactive` is polled, as `poll:MODEL`."""
OPTIONS_BY_COMMAND: Final[Mapping[ModelCommand, tuple[str, ...]]] = {
    "evaluate": OPTIONS,
    "judge": tuple(_OF_JUDGES),
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
    "epochs": "it answers the same in every play",
    "prompt": "it reads no prompt",
    "answer_style": "it reads no prompt",
    "frame_times": "it is told no times in words",
    "judge_base_url": "it is asked at no address",
    "judge_api_key_env": "it gets no key from this variable; providers of inspect_ai read their own",
    "judge_price_in": "its tokens cost nothing",
    "judge_price_out": "its tokens cost nothing",
    "max_cost": "its tokens cost nothing",
    "preflight": "it has no server that could be tried",
}
_NO_SERVER: Final = "it runs in this process, where no request is sent again"
NO_JUDGE_MODEL: Final = JudgeModelSettings()
"""No model that judges."""


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
    if kind == "transformers" and colon:
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
    # A model of another package is asked like a user's own class.
    return "python" if kind in added("reeltalk.models") else "server"


def kinds_of_option(option: str, command: ModelCommand = "evaluate") -> frozenset[ModelKind]:
    """The kinds of models that an option has an effect on.

    Args:
        option: A field of `ModelSettings`, or `epochs`, `prompt`, `answer_style` or `frame_times`.
        command: The command that has the option.
    """
    return _OF_COMMANDS[command][option]


def prompt_options(config: RunConfig) -> tuple[str, ...]:
    """The options of playing that only some models take, if a run sets them to something else than its preset."""
    start = config.preset.play if config.preset else PlaySettings()
    names = ("epochs", "prompt", "answer_style", "frame_times")
    return tuple(name for name in names if getattr(config.play, name) != getattr(start, name))


def check_options(
    spec: str, asking: ModelSettings, *, also: Collection[str] = (), command: ModelCommand = "evaluate"
) -> None:
    """Refuse an option that has no effect on a model.

    Args:
        spec: The model.
        asking: How it is asked. Fields with their default value are not looked at.
        also: Other options that are given, of `prompt_options`.

    Raises:
        SettingError: An option has no effect, or the command takes no model of this kind.
    """
    kind = kind_of_model(spec)
    if kind not in KINDS_BY_COMMAND[command]:
        known = ", ".join(EXAMPLES[one].replace("`", "") for one in KINDS_BY_COMMAND[command])
        raise SettingError(f"{command} takes no {spec}; it takes {known}")
    start = ModelSettings()
    given = [name for name in ModelSettings.model_fields if getattr(asking, name) != getattr(start, name)]
    for name in (*given, *also):
        if name == "memory" and not asking.bounded and command == "evaluate":
            continue
        if kind not in kinds_of_option(name, command):
            why = _WHY["memory" if name == "memory_frames" else name]
            raise SettingError(f"--{name.replace('_', '-')} has no effect on {spec}: {why}; leave it out")


def judge_options(judge_model: JudgeModelSettings, limits: LimitSettings | None = None) -> tuple[str, ...]:
    """The options about the model that judges which have another value than their default.

    Args:
        judge_model: The model that judges.
        limits: How it is asked, if no other model is asked too.
    """
    found = [
        name for name in JudgeModelSettings.model_fields if getattr(judge_model, name) != getattr(NO_JUDGE_MODEL, name)
    ]
    if limits is not None:
        start = LimitSettings()
        found += [name for name in LimitSettings.model_fields if getattr(limits, name) != getattr(start, name)]
    return tuple(found)


def kind_of_judge(judge: str) -> ModelKind:
    """The kind of a model that judges, by its name on the command line.

    Args:
        judge: As `--judge` takes it.
    """
    kind = kind_of_model(judge)
    if kind == "streaming":
        return "transformers"
    return kind if kind in _JUDGES else "server"


def check_judge_options(
    protocols: Collection[str], judge_model: JudgeModelSettings, limits: LimitSettings | None = None, *, asks: bool
) -> None:
    """Refuse an option of the model that judges which has no effect.

    Args:
        protocols: Names of the protocols.
        judge_model: The model that judges.
        limits: How it is asked, if no other model is asked too.
        asks: Whether one of the protocols asks a model.

    Raises:
        SettingError: No protocol asks a model, or an option has no effect on the model that judges.
    """
    kind = kind_of_judge(judge_model.judge) if asks and judge_model.judge is not None else "rule"
    if asks and kind == "rule":
        # Nobody is named who judges, which is refused with a word on how.
        return
    for name in judge_options(judge_model, limits):
        if kind in _OF_JUDGES.get(name, _kinds(kind)):
            continue
        option = f"--{'no-' if name == 'preflight' else ''}{name.replace('_', '-')}"
        if kind == "rule":
            named = ", ".join(protocols)
            raise SettingError(
                f"{option} has no effect: {f'the protocols {named} ask' if named else 'text metrics ask'} no model; "
                "name a protocol that does, as --protocols clair, or leave it out"
            )
        raise SettingError(f"{option} has no effect on {judge_model.judge}: {_WHY.get(name, _NO_SERVER)}; leave it out")
