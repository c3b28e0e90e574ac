"""Settings of `score`, `evaluate` and `judge`: what is played and judged, whom one asks, within what limits.

Imports nothing heavy.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.evaluate.frame_settings import FrameSettings
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.runs import Control

Count = Annotated[int, Field(ge=1)]
AnswerStyle = Literal["free", "short"]
History = Literal["golden", "predicted", "predicted-all", "none", "corrupted"]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ScoreSettings(BaseModel):
    """What can move a number of `score`; each is part of the signature."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[str, ...] = ("bleu", "meteor", "rouge_l", "cider")
    """Names on the command line; `bleu` gives `bleu_1` to `bleu_4`, `python:FILE.py:FUNCTION` one of your own."""
    language: Literal["auto", "en", "zh"] = "auto"
    """Language that decides the tokeniser; `auto` takes that of each item's references."""


class PlaySettings(BaseModel):
    """How dialogues are played. All of it can move a score and is part of the signature."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    mode: Literal["dialogue", "streaming", "single"] = "dialogue"
    """`dialogue`: chains of a video in order, and dialogues; `streaming`: along paths; `single`: no history at all."""
    history: History = "golden"
    """The earlier answers the model is shown: reference answers; the model's own, with references of turns
    that `rounds` leaves out (`predicted`) or without any (`predicted-all`); nothing; or the model's own with a wrong
    one."""
    corrupt_turn: Annotated[int, Field(ge=1)] = 1
    """The turn, from 1, after which a `corrupted` history holds a wrong answer."""
    units: tuple[Literal["chain", "path", "dialogue"], ...] = ()
    """Kinds of units; all that the mode plays where none is named."""
    split: str | None = None
    """Split of the videos; `test` where there is one, else all; `all` for all."""
    tasks: tuple[str, ...] = ()
    """Tasks of dialogues; all where none is named."""
    rounds: Literal["all", "mt-video-bench"] = "all"
    """Which turns are answered: all, or those that MT-Video-Bench's protocol asks."""
    rejump: Annotated[int, Field(ge=0)] | None = None
    """Seed by which new paths are drawn in place of the benchmark's own."""
    prompt: str = "plain"
    """Prompt that answers are asked with: plain, svbench, mt-video-bench, vdact, dramaqa, or a file NAME.md."""
    answer_style: AnswerStyle = "free"
    """`short` asks a model for a word or a phrase; `free` leaves the length to the prompt."""
    option_order: Literal["source", "shuffled"] = "source"
    """Order of a multiple-choice question's options: as in the source, or drawn by the seed."""
    subtitles: bool = False
    """Show the lines that were spoken and had ended by the moment of the question."""
    seed: Annotated[int, Field(ge=0)] = 17
    """Decides the order of options, which wrong answers are planted, and what the controls draw."""
    frames: FrameSettings = FrameSettings()
    """Which frames a turn sees."""
    control: Control | None = None
    """Show no pictures, black ones, the turn's own in another order, or another video's; times and text stay. Compared
    with the run that shows the video's own pictures, this tells what looking is worth."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.mode == "single" and self.history not in ("none", "golden"):
            raise ValueError(f"mode single has no history, so history {self.history} has no meaning")
        if self.rejump is not None and self.mode != "streaming":
            raise ValueError("paths are drawn anew in mode streaming only")
        return self

    @property
    def told(self) -> History:
        """The history that is told; none in mode `single`."""
        return "none" if self.mode == "single" else self.history

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """What can move an answer beside the model, by name."""
        told = f"corrupted-{self.corrupt_turn}" if self.told == "corrupted" else self.told
        parts = [("mode", self.mode), ("history", told)]
        parts += [("rounds", self.rounds)] if self.rounds != "all" else []
        parts += [("rejump", str(self.rejump))] if self.rejump is not None else []
        parts += [("options", f"shuffled-{self.seed}" if self.option_order == "shuffled" else "source")]
        parts += [("subtitles", "yes" if self.subtitles else "no"), ("audio", "unused")]
        drawn = f"-{self.seed}" if self.control in ("shuffled", "other-video") else ""
        parts += [("control", f"{self.control}{drawn}")] if self.control else []
        return (*parts, *self.frames.signature)


class JudgeSettings(BaseModel):
    """By which protocols answers are judged."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    protocols: tuple[str, ...] = ()
    """Names of judging protocols, as `reeltalk judge --help` lists them; python:FILE.py:CLASS for one of your own."""
    metrics: tuple[str, ...] = ()
    """Text metrics, as of `score`."""
    compat: bool = False
    """Show beside each fixed figure what the official script would have made of the same replies."""
    prompts: Path | None = None
    """Folder of prompts in place of ours, as 'reeltalk prompts export' or 'adopt' writes one."""
    published: bool = False
    """Ask the judge as the official script does: with its prompt, its messages and its sampling. Both figures, fixed
    and official, are read from these replies."""
    judge_history: Literal["none", "qa_only", "judged"] = "judged"
    """Earlier turns that VDEval's judge sees."""
    judge_summary: Literal["none", "template", "refined"] = "refined"
    """Which summary of the video VDEval's judge is given."""
    judge_shots: Annotated[int, Field(ge=0, le=1)] = 1
    """Judged dialogues that VDEval's judge is shown as an example."""
    eval_rounds: Annotated[int, Field(ge=1, le=20)] = 3
    """How often a checklist is judged."""
    checklist_version: Literal["v1", "v2"] = "v2"
    """MT-Video-Bench's version, by whose prompt a checklist is judged."""
    null_units: Annotated[int, Field(ge=0)] = 10
    """Chains, paths or dialogues whose empty answers a model judges for the null row; without a model, all are."""
    missing: Literal["zero", "skip"] = "zero"
    """What a turn counts for which the model gave no answer, on checklists."""
    language: Literal["auto", "en", "zh"] = "auto"
    """Language of text metrics' tokens; `auto` takes that of each item's references."""
    seed: Annotated[int, Field(ge=0)] = 17
    """Seed of the draw of `null_units`."""

    @model_validator(mode="before")
    @classmethod
    def _published_is_compared(cls, values: Any) -> Any:
        return values | {"compat": True} if isinstance(values, dict) and values.get("published") else values


AUTO: Final = "auto"
"""In place of a protocol: those without a model that can judge the turns at hand, which may be none."""
JUDGED_BY_DEFAULT: Final = JudgeSettings(protocols=(AUTO,), metrics=("bleu", "rouge_l", "cider"))
"""The default: keys or options judge the turns that have them, and text metrics score all answers."""
NO_JUDGE: Final = (
    "these turns have neither keys nor options, so no rule can judge them: there are text metrics only. Name a judge: "
    "--protocols clair --judge NAME for a language model, or --protocols agree for lexical agreement, a rough measure"
)


def judging_of(settings: JudgeSettings, turns: Iterable[Turn | AnsweredTurn]) -> JudgeSettings:
    """Settings with protocols in place of `auto`.

    Args:
        settings: As they were given.
        turns: What is judged.

    Returns:
        With `typed` where turns have keys, and `choice` where some have options and no key; the settings as they are
        where they do not say `auto`.
    """
    if AUTO not in settings.protocols:
        return settings
    keyed = chosen = False
    for turn in turns:
        keyed = keyed or turn.key is not None
        chosen = chosen or (turn.key is None and bool(turn.options) and turn.correct_option is not None)
    found = (*(("typed",) if keyed else ()), *(("choice",) if chosen else ()))
    named = [name for given in settings.protocols for name in (found if given == AUTO else (given,))]
    return settings.model_copy(update={"protocols": tuple(dict.fromkeys(named))})


class ModelSettings(BaseModel):
    """How the model that answers is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    base_url: str | None = None
    """Address of an OpenAI-compatible server (vLLM, SGLang, Ollama, llama.cpp); OpenAI's own by default."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key."""
    sees: Literal["images", "text"] = "images"
    """text: the model is shown no frames."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    """Sampling temperature."""
    max_reply_tokens: Count = 512
    """Longest answer."""
    memory: Literal["all", "bounded"] = "all"
    """What a model that follows streams keeps: all of a video, or a memory that does not grow."""
    first_token: bool = False
    """Let answers come in pieces, so that the time to the first token is known."""
    batch: bool = False
    """Use the provider's batch API, where inspect_ai offers it: cheaper, and much later."""
    price_in: Money | None = None
    """Price of a million tokens of prompt."""
    price_out: Money | None = None
    """Price of a million tokens of reply."""
    image_tokens: Count = 2048
    """Most tokens that the server counts for one frame: what a budget sets aside for it."""


class JudgeModelSettings(BaseModel):
    """Who judges, and how it is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    judge: str | None = None
    """Model that judges: a name at the judge's address, or inspect:PROVIDER/MODEL."""
    judge_base_url: str | None = None
    """Address of the judge's server; OpenAI's own by default."""
    judge_api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the judge's key."""
    judge_max_reply_tokens: Count = 1024
    """Longest reply of the judge."""
    judge_price_in: Money | None = None
    """Price of a million tokens of the judge's prompt."""
    judge_price_out: Money | None = None
    """Price of a million tokens of the judge's reply."""


class LimitSettings(BaseModel):
    """How many requests at a time, and what all may cost together."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    connections: Count = 20
    """Dialogues, and requests to a server, at a time; fewer requests where it says that it is asked too often."""
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    """Longest wait for one reply."""
    max_retries: Annotated[int, Field(ge=0)] = 5
    """How often a request that failed on the way is sent again."""
    backoff_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Wait before a request is sent again; each further one is twice as long."""
    max_calls: Count | None = None
    """Hard limit: requests that may leave, repeated ones included."""
    max_tokens: Count | None = None
    """Hard limit: tokens of prompts and replies."""
    max_cost: Money | None = None
    """Hard limit: money, by the prices given."""
    replies: Path | None = None
    """File in which replies are kept, shared by several runs; the run's own by default."""
