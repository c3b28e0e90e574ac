"""Settings of `score`, `evaluate` and `judge`: what is played and judged, whom one asks, within what limits.

Imports nothing heavy.
"""

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.evaluate.frame_settings import FrameSettings

Count = Annotated[int, Field(ge=1)]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ScoreSettings(BaseModel):
    """What can move a number of `score`; each is part of the signature."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[str, ...] = ("bleu", "meteor", "rouge_l", "cider")
    """Names on the command line; `bleu` gives `bleu_1` to `bleu_4`, `python:FILE.py:FUNCTION` one of your own."""
    language: Literal["auto", "en", "zh"] = "auto"
    """Language of the answers, which decides the tokeniser; `auto` refuses mixed languages."""
    resamples: Annotated[int, Field(ge=100)] = 1000
    """Bootstrap resamples behind every interval."""
    seed: Annotated[int, Field(ge=0)] = 17
    """Seed of the resampling."""


class PlaySettings(BaseModel):
    """How dialogues are played. All of it can move a score and is part of the signature."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    mode: Literal["dialogue", "streaming", "single"] = "dialogue"
    """`dialogue`: chains of a video in order, and dialogues; `streaming`: along paths; `single`: no history at all."""
    history: Literal["golden", "predicted", "none", "corrupted"] = "golden"
    """What a turn is told of those before: reference answers, the model's own, nothing, or its own with a wrong one."""
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
    option_order: Literal["source", "shuffled"] = "source"
    """Order of a multiple-choice question's options: as in the source, or drawn by the seed."""
    subtitles: bool = False
    """Show the lines that were spoken and had ended by the moment of the question."""
    seed: Annotated[int, Field(ge=0)] = 17
    """Decides the order of options and which wrong answers are planted."""
    frames: FrameSettings = FrameSettings()
    """Which frames a turn sees."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.mode == "single" and self.history not in ("none", "golden"):
            raise ValueError(f"mode single has no history, so history {self.history} has no meaning")
        if self.rejump is not None and self.mode != "streaming":
            raise ValueError("paths are drawn anew in mode streaming only")
        return self

    @property
    def told(self) -> Literal["golden", "predicted", "none", "corrupted"]:
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
        return (*parts, *self.frames.signature)


class JudgeSettings(BaseModel):
    """By which protocols answers are judged."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    protocols: tuple[str, ...] = ()
    """Names of judging protocols: vdeval, lave, clair, llm-acc, svbench, gpt-score, checklist, choice, agree, graph,
    cogme, rubric, rubric-words; or python:FILE.py:CLASS for one of your own."""
    metrics: tuple[str, ...] = ()
    """Text metrics, as of `score`."""
    compat: bool = False
    """Show beside each fixed figure what the official script would have made of the same replies."""
    judge_history: Literal["none", "qa_only", "judged"] = "judged"
    """What VDEval's judge is told of the turns before."""
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
    """Language of the answers, for text metrics."""
    resamples: Annotated[int, Field(ge=100)] = 1000
    """Bootstrap resamples behind every interval."""
    seed: Annotated[int, Field(ge=0)] = 17
    """Seed of the resampling."""


JUDGED_BY_DEFAULT: Final = JudgeSettings(protocols=("agree",), metrics=("bleu", "rouge_l", "cider"))
"""By what answers are judged where nothing is said: whether they agree with a reference, and text metrics."""


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
