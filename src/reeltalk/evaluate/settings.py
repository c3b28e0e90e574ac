"""Settings of `score`, `evaluate` and `judge`: what is played and judged, whom one asks, within what limits.

Imports nothing heavy.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.evaluate.frame_settings import FrameSettings
from reeltalk.llm.model import Effort, Temperature
from reeltalk.schema.runs import Control
from reeltalk.schema.server_address import ServerAddress
from reeltalk.schema.settings import Count, Money

AnswerStyle = Literal["free", "short"]
History = Literal["golden", "predicted", "predicted-all", "none", "corrupted"]


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


class ModelSettings(BaseModel):
    """How the model that answers is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

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


class LimitSettings(BaseModel):
    """How many requests at a time, and what all may cost together."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    connections: Count = 20
    """Dialogues, and requests to a server, at a time; fewer requests where it says that it is asked too often."""
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    """Longest wait for one reply."""
    max_retries: Annotated[int, Field(ge=0)] = 5
    """How often a request that failed on the way is sent again, at least; 0 for never."""
    give_up_after_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 600.0
    """Longest time without any answer for which requests are sent again to a server that is busy (429), fails (5xx) or
    gives no reply in time; then the command stops. 0: no longer than `max_retries` says."""
    backoff_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Wait before a request is sent again; each further one is twice as long."""
    preflight: bool = True
    """Ask each server for one small reply before anything is decoded, to find out what is wrong with it and what it
    takes; where replies are kept already, before the first request that leaves."""
    max_calls: Count | None = None
    """Hard limit: requests that may reach a server, repeated ones included."""
    max_tokens: Count | None = None
    """Hard limit: tokens of prompts and replies."""
    max_cost: Money | None = None
    """Hard limit: money, by the prices given."""
    replies: Path | None = None
    """File in which replies are kept, shared by several runs; the run's own by default."""


class RetrySettings(BaseModel):
    """What may be another than before: where models are, and what asking may take. What is not given stays."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    base_url: ServerAddress | None = None
    """Address of the model's server."""
    api_key_env: str | None = None
    """Environment variable that holds the key."""
    judge_base_url: ServerAddress | None = None
    """Address of the judge's server."""
    judge_api_key_env: str | None = None
    """Environment variable that holds the judge's key."""
    connections: Count | None = None
    """Dialogues, and requests to a server, at a time."""
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Longest wait for one reply."""
    max_retries: Annotated[int, Field(ge=0)] | None = None
    """How often a request that failed on the way is sent again, at least; 0 for never."""
    give_up_after_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Longest time without any answer for which requests are sent again; then the command stops."""
    backoff_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Wait before a request is sent again; each further one is twice as long."""
    preflight: bool | None = None
    """Ask each server for one small reply first."""
    max_calls: Count | None = None
    """Hard limit: requests that may reach a server, repeated ones included."""
    max_tokens: Count | None = None
    """Hard limit: tokens of prompts and replies."""
    max_cost: Money | None = None
    """Hard limit: money, by the prices given."""
    workers: Count | None = None
    """Videos that are decoded at a time."""
    processes: Count | None = None
    """Processes that share the dialogues, by video."""
