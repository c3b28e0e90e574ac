"""Settings of `score`. Imports nothing heavy."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class ScoreSettings(BaseModel):
    """What can move a number of `score`; each is part of the signature."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[str, ...] = ("bleu", "meteor", "rouge_l", "cider")
    """Names on the command line; `bleu` gives `bleu_1` to `bleu_4`."""
    language: Literal["auto", "en", "zh"] = "auto"
    """Language of the answers, which decides the tokeniser; `auto` refuses mixed languages."""
    resamples: Annotated[int, Field(ge=100)] = 1000
    """Bootstrap resamples behind every interval."""
    seed: Annotated[int, Field(ge=0)] = 17
    """Seed of the resampling."""
