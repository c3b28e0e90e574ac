"""Settings of judging: the protocols, and the model that judges. Imports nothing heavy."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from reeltalk.schema.server_address import ServerAddress
from reeltalk.schema.settings import Count, Money, Settings


class JudgeSettings(Settings):
    """By which protocols answers are judged."""

    protocols: tuple[str, ...] = ()
    """Names of judging protocols, as `reeltalk judge --help-all` lists them; python:FILE.py:CLASS for one of your
    own."""
    metrics: tuple[str, ...] = ()
    """Text metrics, as of `score`; on the command line `none` for none."""
    compat: bool = False
    """Show beside each fixed figure what the official script would have made of the same replies."""
    prompts: Path | None = None
    """Folder of prompts in place of ours, as 'reeltalk prompts --out' writes one."""
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
    language: Literal["auto", "en", "zh"] = "auto"
    """Language of text metrics' tokens; `auto` takes that of each item's references."""
    seed: Annotated[int, Field(ge=0)] = 17
    """Seed of the draw of `null_units`."""

    @field_validator("protocols", mode="before")
    @classmethod
    def _agree_is_match(cls, names: Any) -> Any:
        # Public reports name `agree`, a rough measure whose place `match` takes.
        return (
            tuple("match" if name == "agree" else name for name in names) if isinstance(names, list | tuple) else names
        )

    @model_validator(mode="before")
    @classmethod
    def _published_is_compared(cls, values: Any) -> Any:
        return values | {"compat": True} if isinstance(values, dict) and values.get("published") else values


AUTO: Final = "auto"
"""Stands for the protocols that need no model and can judge these turns; there may be none."""
JUDGED_BY_DEFAULT: Final = JudgeSettings(protocols=(AUTO,), metrics=("bleu", "rouge_l", "cider"))
"""By default, turns with keys, options or short references are judged by rule, and text metrics score all answers."""
NO_JUDGE: Final = (
    "these turns have neither keys nor options nor short references, so no rule can judge them, and overlap of words "
    "says little. Name a language model that judges: --protocols clair --judge NAME"
)


class JudgeModelSettings(Settings):
    """The model that judges, and how it is asked."""

    judge: str | None = None
    """Model that judges: a name at the judge's address, or inspect:PROVIDER/MODEL."""
    judge_base_url: ServerAddress | None = None
    """Address of the judge's server; OpenAI's own by default."""
    judge_api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the judge's key."""
    judge_max_reply_tokens: Count = 1024
    """Longest reply of the judge."""
    judge_price_in: Money | None = None
    """Price of a million tokens of the judge's prompt."""
    judge_price_out: Money | None = None
    """Price of a million tokens of the judge's reply."""
