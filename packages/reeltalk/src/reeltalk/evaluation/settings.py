"""Settings of a run: dialogues, frames, the model that answers, the judge, and limits.

`RunConfig` holds all settings of `evaluate`. The other models are parts of it, or settings of one other command.
Nothing heavy is imported here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from reeltalk.judge.settings import JUDGED_BY_DEFAULT, JudgeModelSettings, JudgeSettings
from reeltalk.schema.gates import Only
from reeltalk.schema.runs import CONTROLS, Control
from reeltalk.schema.server_address import ServerAddress
from reeltalk.schema.settings import Count, Effort, Money, Settings, Temperature, settings_of

FramePolicy = Literal["uniform", "fps", "per-clip", "first-turn", "none"]


class FrameSettings(Settings):
    """Which frames a turn sees and how large they are. Every setting can change a score."""

    policy: FramePolicy = "uniform"
    """`uniform`: spread anew over the visible video at each turn; `fps`: a fixed rate, sent as it comes; `per-clip`:
    whole seconds of each clip when a turn comes to it (SVBench); `first-turn`: once, with the first turn (VDAct);
    `none`: no frames."""
    frames: Annotated[int, Field(ge=1, le=100_000)] = 16
    """How many: of a turn (`uniform`), of a script at most (`fps`), of a clip (`per-clip`), or all (`first-turn`)."""
    fps: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 1.0
    """Frames per second of `fps`, before it is thinned to `frames`."""
    longest_side_px: Annotated[int, Field(ge=16, le=8192)] | None = 720
    """Frames are scaled down if their longer side has more pixels; None leaves them unchanged."""
    square_px: Annotated[int, Field(ge=16, le=8192)] | None = None
    """Frames are scaled to exactly this width and height, whatever their shape, as InternVL's 448. If set,
    `longest_side_px` is not used."""
    quality: Annotated[int, Field(ge=1, le=100)] = 90
    """Quality of the JPEG files."""

    @property
    def size(self) -> str:
        """The limit of the size as a word: `square448`, `720`, or `full`."""
        if self.square_px is not None:
            return f"square{self.square_px}"
        return "full" if self.longest_side_px is None else str(self.longest_side_px)

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The settings that can change a score, by name. Settings that the policy does not use are left out."""
        if self.policy == "none":
            return (("policy", self.policy),)
        rate = (("fps", f"{self.fps:g}"),) if self.policy == "fps" else ()
        return (
            ("policy", self.policy),
            ("frames", str(self.frames)),
            *rate,
            ("size", self.size),
            ("quality", str(self.quality)),
        )


OTHER_NAMES: Final = {"longest_side_px": "longest_side", "square_px": "square"}
"""Settings of frames whose options have a shorter name."""
MOST_FRAMES: Final = 100_000


class ProactiveSettings(Settings):
    """Settings that can change the replies of a model and their times. Each is part of the signature."""

    fps: Annotated[float, Field(gt=0, le=60, allow_inf_nan=False)] = 1.0
    """Frames per second of the video's clock."""
    longest_side_px: Annotated[int, Field(ge=16, le=8192)] = 448
    """Frames are scaled down if their longer side has more pixels."""
    threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    """A model with a readiness speaks from this readiness on; None: from its own readiness."""
    refractory_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 2.0
    """Silence of the model after a reply."""

    @property
    def frames(self) -> FrameSettings:
        """Which frames are served."""
        return FrameSettings(policy="fps", frames=MOST_FRAMES, fps=self.fps, longest_side_px=self.longest_side_px)


AnswerStyle = Literal["form", "short", "free"]
History = Literal["golden", "predicted", "predicted-all", "none", "corrupted"]


class ScoreSettings(BaseModel):
    """Settings that can change a number of `score`. Each is part of the signature."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[str, ...] = ("bleu", "meteor", "rouge_l", "cider")
    """Names on the command line; `bleu` gives `bleu_1` to `bleu_4`, `python:FILE.py:FUNCTION` your own metric."""
    language: Literal["auto", "en", "zh"] = "auto"
    """Language that decides the tokeniser; `auto` takes that of each item's references."""


class PlaySettings(Settings):
    """How dialogues are played. Every setting can change a score and is part of the signature."""

    mode: Literal["dialogue", "streaming", "single"] = "dialogue"
    """`dialogue`: chains of a video in order, and dialogues; `streaming`: along paths; `single`: no history at all."""
    history: History = "golden"
    """The earlier answers that the model sees: references (`golden`); its own, and references for turns that `rounds`
    leaves out (`predicted`); only its own, so that those turns are asked too but not scored (`predicted-all`); nothing
    (`none`); or its own with one wrong answer (`corrupted`)."""
    corrupt_turn: Annotated[int, Field(ge=1)] = 1
    """The turn, from 1, after which a `corrupted` history holds a wrong answer."""
    units: tuple[Literal["chain", "path", "dialogue"], ...] = ()
    """Kinds of units; by default all that the mode plays."""
    split: str | None = None
    """Split of the videos. The default is `test` if there is one, else all; `all` for all."""
    tasks: tuple[str, ...] = ()
    """Tasks of dialogues; all by default."""
    only: Annotated[Only, Field(exclude_if=lambda only: only == "passed")] = "passed"
    """Which turns are played: all but those that a check flags (`passed`), those that people accepted (`reviewed`), or
    `all`. The turns after one that is left out go with it, and a dialogue of a task goes as a whole."""
    rounds: Literal["all", "mt-video-bench"] = "all"
    """Which turns are answered: all, or those that MT-Video-Bench's protocol asks."""
    rejump: Annotated[int, Field(ge=0)] | None = None
    """Seed by which new paths are drawn in place of the benchmark's own."""
    epochs: Annotated[Count, Field(exclude_if=lambda count: count == 1)] = 1
    """How often every dialogue is played, for models that sample their answers. A turn's value is the mean of its
    answers, and the interval of a number holds how far they differ."""
    prompt: str = "plain"
    """Prompt for answers: plain, svbench, mt-video-bench, vdact, dramaqa, or a file NAME.md."""
    answer_style: AnswerStyle = "form"
    """`form` asks for what the turn is judged by: a letter for options, the answer alone for keys, yes or no, or a few
    words; a prompt of your own stays as it is. `short` asks for a word or a phrase at every turn; `free` leaves it to
    the prompt."""
    frame_times: Literal["auto", "yes", "no"] = "auto"
    """Write the time before each picture, and the moment of the question where it has one. `auto` does so in mode
    `streaming`, and in dialogues in which a question or its key asks for a moment or a length of time."""
    option_order: Literal["source", "shuffled"] = "source"
    """Order of a multiple-choice question's options: as in the source, or drawn by the seed."""
    subtitles: bool = False
    """Show what is said in the video, from the benchmark's table of speech: the lines that ended by the moment of the
    question. Baselines, recorded answers and the oracle read none."""
    seed: Annotated[int, Field(ge=0)] = 17
    """Seed of the order of options, of planted wrong answers, and of the controls."""
    frames: FrameSettings = FrameSettings()
    """Which frames a turn sees."""
    control: Control | None = None
    """Show no pictures, black ones, the turn's own in another order, or another video's; times and text stay. Comparing
    with the run that shows the video's own pictures shows how much the video helps."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.mode == "single" and self.history not in ("none", "golden"):
            raise ValueError(f"mode single has no history, so history {self.history} has no meaning")
        if self.rejump is not None and self.mode != "streaming":
            raise ValueError("new paths are drawn in mode streaming only")
        if self.mode == "streaming" and self.units not in ((), ("path",)):
            raise ValueError("streaming plays paths only; leave --units out, or choose --mode dialogue")
        return self

    @property
    def shown_history(self) -> History:
        """The history that is shown; none in mode `single`."""
        return "none" if self.mode == "single" else self.history

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The settings that can change an answer of a model, by name."""
        told = f"corrupted-{self.corrupt_turn}" if self.shown_history == "corrupted" else self.shown_history
        parts = [("mode", self.mode), ("history", told)]
        parts += [("rounds", self.rounds)] if self.rounds != "all" else []
        parts += [("rejump", str(self.rejump))] if self.rejump is not None else []
        parts += [("epochs", str(self.epochs))] if self.epochs > 1 else []
        parts += [("options", f"shuffled-{self.seed}" if self.option_order == "shuffled" else "source")]
        parts += [("subtitles", "yes" if self.subtitles else "no"), ("audio", "unused")]
        parts += [("times", "auto-v1" if self.frame_times == "auto" else self.frame_times)]
        drawn = f"-{self.seed}" if self.control in ("shuffled", "other-video") else ""
        parts += [("control", f"{self.control}{drawn}")] if self.control else []
        return (*parts, *self.frames.signature)


class ModelSettings(Settings):
    """How the model that answers is asked."""

    base_url: ServerAddress | None = None
    """Address of an OpenAI-compatible server (vLLM, SGLang, Ollama, llama.cpp); OpenAI's own by default."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key."""
    sees: Literal["images", "text"] = "images"
    """text: the model is shown no frames."""
    temperature: Temperature = 0.0
    """Sampling temperature; none leaves it to the server."""
    reasoning_effort: Annotated[Effort | None, Field(exclude_if=lambda effort: effort is None)] = None
    """How long a model that reasons may think: none, minimal, low, medium, high or xhigh. Left to the server by
    default."""
    max_reply_tokens: Count = 512
    """Longest answer."""
    memory: Literal["all", "bounded"] | None = None
    """What a model that follows streams keeps of a video: all, or a memory that does not grow. By default all in a run,
    and the model's own bound in a conversation."""
    memory_frames: Annotated[Annotated[int, Field(ge=2)] | None, Field(exclude_if=lambda count: count is None)] = None
    """Most frames that such a model keeps, 2 or more; this bounds the memory. The model's own bound by default."""
    first_token: bool = False
    """Let answers come in pieces, so that the time to the first token is known."""
    batch: bool = False
    """Use the provider's batch API, where inspect_ai offers it: cheaper, and much later."""
    price_in: Money | None = None
    """Price of a million tokens of prompt."""
    price_out: Money | None = None
    """Price of a million tokens of reply."""
    image_tokens: Count | None = None
    """Most tokens that the server counts for one frame. By default what the model's family counts for its size, and
    2,048 for a model of no known family; a budget then reserves a quarter more."""

    @model_validator(mode="after")
    def _frames_bound_the_memory(self) -> Self:
        if self.memory == "all" and self.memory_frames is not None:
            raise ValueError("memory_frames bounds the memory; leave out memory all")
        return self

    @property
    def bounded(self) -> bool:
        """Whether the memory of a stream shall not grow."""
        return self.memory == "bounded" or self.memory_frames is not None


class LimitSettings(Settings):
    """Number of requests at a time, and limits of all requests together."""

    connections: Count = 20
    """Most dialogues, and requests to a server, at a time. A server gets few at first, and more while it answers them
    side by side."""
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    """Longest wait for one reply; it begins anew with each reply to a request that was sent before."""
    max_retries: Annotated[int, Field(ge=0)] = 5
    """Minimum number of times that a request is sent again after a transient failure; 0 for never."""
    give_up_after_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 600.0
    """Longest time without any answer for which requests are sent again to a server that is busy (429), fails (5xx) or
    gives no reply in time; then the command stops. 0: no longer than `max_retries` says."""
    backoff_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Wait before a request is sent again; each further one is twice as long."""
    preflight: bool = True
    """Ask each server for one small reply before anything is decoded, to find errors and the fields that it accepts. If
    replies are already kept, this is done before the first new request. Without it, empty replies stop no command."""
    max_calls: Count | None = None
    """Hard limit: requests that may reach a server, repeated ones included."""
    max_tokens: Count | None = None
    """Hard limit: tokens of prompts and replies."""
    max_cost: Money | None = None
    """Hard limit: money, by the prices given."""
    replies: Path | None = None
    """File in which replies are kept, shared by several runs; the run's own by default."""


CHANGEABLE: Final = (
    *("base_url", "api_key_env", "judge_base_url", "judge_api_key_env"),
    *(name for name in LimitSettings.model_fields if name != "replies"),
    "workers",
)
"""Settings of a run that may differ when its failed requests are repeated: addresses, limits and workers."""


@dataclass(frozen=True)
class Preset:
    """A published design."""

    name: str
    paper: str
    play: PlaySettings
    judging: JudgeSettings
    also: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Further published values of a setting, by its path, as `frames.frames`."""
    ours: tuple[str, ...] = ()
    """Settings that the paper leaves open, where ours is a choice; another value is no deviation."""

    def deviations(self, play: PlaySettings, judging: JudgeSettings) -> tuple[str, ...]:
        """Settings whose values are not the published ones."""
        pairs = (*_pairs("", self.play, play), *_pairs("", self.judging, judging))
        return tuple(
            path
            for path, published, chosen in pairs
            if chosen != published and path not in (*self.ours, *FREE) and chosen not in self.also.get(path, ())
        )

    def signed(self, play: PlaySettings, judging: JudgeSettings) -> tuple[tuple[str, str], ...]:
        """The preset's part of a signature: its name and the modified settings."""
        modified = self.deviations(play, judging)
        return (("preset", f"{self.name} modified ({','.join(modified)})" if modified else self.name),)


FREE: Final = (
    *("units", "split", "tasks", "only", "seed", "epochs", "compat", "language"),
    *("option_order", "null_units", "control"),
)
"""Settings that select a part of a benchmark, have their own place in a signature, or change no number of a model."""


def _pairs(prefix: str, published: Any, chosen: Any) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    for name in type(published).model_fields:
        one, other = getattr(published, name), getattr(chosen, name)
        if hasattr(one, "model_fields_set"):
            found += _pairs(f"{prefix}{name}.", one, other)
        else:
            found.append((f"{prefix}{name}", one, other))
    return found


class RunConfig(Settings):
    """All settings of a run of `evaluate`: who answers and who judges, and how."""

    model: str
    """Who answers, as on the command line: the name of a model at an address, `inspect:PROVIDER/MODEL`,
    `transformers:FOLDER`, `mini`, `python:MODULE:CLASS`, `answers:PATH`, `human:PATH`, `baseline:NAME`, `oracle` or
    `summary:MODEL`."""
    preset: Preset | None = None
    """A published design, as `reeltalk.evaluation.presets.SVBENCH`. Its settings apply where `play` or `judging` is not
    given; its name and the modified settings are part of the signatures."""
    play: PlaySettings = PlaySettings()
    """How dialogues are played."""
    judging: JudgeSettings = JUDGED_BY_DEFAULT
    """How answers are judged; by default by keys or options where turns have some, and by text metrics."""
    asking: ModelSettings = ModelSettings()
    """How the model that answers is asked."""
    judge_model: JudgeModelSettings = JudgeModelSettings()
    """Who judges, for protocols that need a model."""
    limits: LimitSettings = LimitSettings()
    """Requests at a time, and hard limits of requests, tokens and money."""
    limit: Count | None = None
    """Play the first dialogues or paths only."""
    answers_format: str | None = None
    """Layout of `answers:PATH` or `human:PATH`, if it is neither a benchmark nor a table of answers."""
    skip_missing: bool = False
    """Leave out dialogues whose video is not available here."""
    workers: Count = 2
    """Videos that are decoded at a time."""
    controls: tuple[Control, ...] = ()
    """Play the same again with other pictures: `none`, `black`, `shuffled`, `other-video`. Each becomes a run below
    `controls` in the folder of the run, and `report` shows how much the video helps."""

    @model_validator(mode="before")
    @classmethod
    def _begin_with_preset(cls, values: Any) -> Any:
        preset = values.get("preset") if isinstance(values, dict) else None
        return {"play": preset.play, "judging": preset.judging} | values if isinstance(preset, Preset) else values

    @field_validator("controls", mode="before")
    @classmethod
    def _check_controls(cls, names: Any) -> Any:
        for name in names:
            if name not in CONTROLS:
                raise ValueError(f"no control {name!r}; there are {', '.join(CONTROLS)}, with commas between them")
        return tuple(name for name in CONTROLS if name in names)

    @model_validator(mode="after")
    def _controls_are_of_a_run(self) -> Self:
        if self.controls and self.play.control is not None:
            raise ValueError(
                f"the run itself is control {self.play.control}; leave it out, and give the controls in `controls`"
            )
        return self

    def under(self, control: Control | None) -> "RunConfig":
        """The same run with other pictures; unchanged if `control` is None."""
        if control is None:
            return self
        return self.model_copy(update={"play": self.play.model_copy(update={"control": control})})


def config_of(config: RunConfig | None, settings: Mapping[str, Any]) -> RunConfig:
    """The settings of a run, given as one value or by name.

    Args:
        config: The settings; None if they are given by name.
        settings: Fields of `RunConfig`; None leaves the default.

    Raises:
        TypeError: Both are given, or a field has another name.
        SettingError: A value cannot be used.
    """
    if config is not None:
        if settings:
            raise TypeError(f"give a RunConfig or settings by name, not both: {', '.join(settings)}")
        return config
    if unknown := [name for name in settings if name not in RunConfig.model_fields]:
        raise TypeError(f"there is no setting {unknown[0]!r} of a run; there are {', '.join(RunConfig.model_fields)}")
    return settings_of(RunConfig, **{name: value for name, value in settings.items() if value is not None})
