"""Settings of `reeltalk construct` and `reeltalk tag`. If a paper names a value, it is the default."""

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator, model_validator

from reeltalk.schema.labels import TagUnit
from reeltalk.schema.server_address import ServerAddress
from reeltalk.schema.settings import Count, Money, Settings, Share
from reeltalk_build.construct.writers import Language

Step = Literal["objects", "chains", "linkages", "paths", "scenes", "dialogues", "gates"]
STEPS: Final[tuple[Step, ...]] = ("objects", "chains", "linkages", "paths", "scenes", "dialogues", "gates")
"""In the order in which they run. Each step reads what earlier ones wrote."""


class ConstructSettings(Settings):
    """Settings of `reeltalk construct`."""

    language: Language = "en"
    """Language of questions and answers; the graph writer writes English only."""
    limit: Count | None = None
    """Write about this many videos only, from the first on; all by default."""
    seed: int = 17
    """Seed of all random choices."""
    min_turns: Annotated[int, Field(ge=2)] = 5
    """Fewest questions of a chain that the graph writes (SVBench); a model is asked for 5 or 6."""
    max_turns: Count = 6
    """Most questions of a chain that the graph writes (SVBench)."""
    pairs: Count = 6
    """Wanted pairs of linked turns between adjacent chains (SVBench)."""
    drafts: Count = 1
    """Rewriting drafts to keep for each linkage."""
    paths: Annotated[int, Field(ge=0)] = 5
    """Walks per video (SVBench's test split has 5); each is a path, equal ones too."""
    jump_probability: Share = 0.8
    """Probability that a walk jumps at a linked turn if it can land on the other one (SVBench)."""
    quality: Annotated[float, Field(ge=0, le=100)] = 90.0
    """Lowest overall quality that passes (SVBench); a chain below it goes back to its writer."""
    attempts: Annotated[int, Field(ge=0)] = 2
    """Most revisions of a chain or dialogue; then turns that need no video are removed, and a bad chain is flagged."""
    suitability: Annotated[int, Field(ge=1, le=6)] = 5
    """Lowest suitability of a scene for a task, 1 to 6 (MT-Video-Bench keeps 5 and 6)."""
    dialogues: Annotated[int, Field(ge=0)] = 1
    """Dialogues per video and task about single scenes, and the same number across scenes."""
    merge_similarity: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of a caption's content words that its neighbour must have for the two to be one scene."""
    theme_similarity: Annotated[float, Field(gt=0, le=1)] = 0.3
    """The same for scenes apart from each other to share a theme."""
    cross_per_video: Annotated[int, Field(ge=0)] = 3
    """Most cross-scene segments of a video."""
    block: Count = 256
    """Videos among which the graph balances answers; a benchmark with more is written in blocks of so many, several at
    a time."""
    detector: str | None = None
    """How objects are found: `known` boxes of filmed videos, yolo11:PATH or rtdetr:PATH."""
    frames: Count = 16
    """Most frames of a clip or scene that a writer is shown: 5 of 10 seconds, 9 of 30, 12 of 60, and up to twice as
    many where much moves; a judge is shown two fifths more."""
    frame_width_px: Annotated[int, Field(ge=64)] = 720
    """Longer side of those frames at most (MT-Video-Bench)."""
    max_leaking: Share = 0.2
    """Largest share of turns that may be answerable without the video; dialogues beyond it are dropped."""
    balance: Literal["tags", "types"] | None = None
    """Aim at target shares of CogME's tags or VDAct's question types, and at all relations between chains: the graph
    chooses among chains, a model is told for each clip what is short."""
    targets: Path | None = None
    """TOML file of target shares by vocabulary and label; equal shares by default."""

    @model_validator(mode="after")
    def _turns_are_in_order(self) -> "ConstructSettings":
        if self.max_turns < self.min_turns:
            raise ValueError(f"--max-turns {self.max_turns} is less than --min-turns {self.min_turns}")
        if self.targets is not None and self.balance is None:
            raise ValueError("--targets needs --balance tags or --balance types")
        return self


class RequestSettings(Settings):
    """Servers of language models, and limits on what is asked."""

    base_url: ServerAddress | None = None
    """Address of an OpenAI-compatible server, as http://localhost:8000/v1; OpenAI's own by default."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key."""
    prompts: Path | None = None
    """Folder of prompts in place of ours, as 'reeltalk prompts --out' writes one."""
    connections: Count = 4
    """Most simultaneous requests."""
    max_reply_tokens: Count | None = None
    """Longest reply, thoughts included; 2,048 by default, and for a model of a family that thinks as much more as its
    makers advise."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Longest wait for one reply."""
    give_up_after_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 600.0
    """Longest time without any answer for which requests are sent again to a server that is busy (429), fails (5xx) or
    gives no reply in time; then the command stops. 0: no longer than five times."""
    preflight: bool = True
    """Ask each server for one small reply before anything is decoded, to find out what is wrong with it and what it
    takes; where replies are kept already, before the first request that leaves."""
    max_calls: Count | None = None
    """Hard limit of all calls for this benchmark together: requests that may reach a server, repeated ones included."""
    max_tokens: Count | None = None
    """The same of tokens of prompts and replies."""
    max_cost: Money | None = None
    """The same of money, by the prices given."""
    more: Count | None = None
    """So many calls more than --max-calls, or than were made already if those are more or there is no --max-calls."""
    more_tokens: Count | None = None
    """The same of tokens."""
    more_cost: Money | None = None
    """The same of money."""
    price_in: Money | None = None
    """Price of a million tokens of prompt."""
    price_out: Money | None = None
    """Price of a million tokens of reply."""


class AskSettings(RequestSettings):
    """Language models, their servers and limits."""

    sees: Literal["images", "text"] = "images"
    """text: the writer gets no images but a list of detected objects; its signature has writer:text-only."""
    judge: tuple[str, ...] = ()
    """Models that verify every draft against the video; the first one also decides whether two answers say the same.
    Without one, drafts and answers are `unchecked`. It should be another model than the writer."""
    samples: Count = 1
    """Verdicts of each judge about a draft; the agreement is recorded."""
    canaries: bool = True
    """Let each judge first read up to 18 turns a step that were changed to be wrong, in 6 requests. What it refuses
    stands beside what passed; one that does not tell them from the same turns unchanged stops the step."""
    attacker: tuple[str, ...] = ()
    """Further models, for example small ones, that answer every question from frames and dialogue; a question that one
    of them answers is too easy."""
    probe: str | None = None
    """Model that answers every question without the video, with its evidence, without it, and without the dialogue."""
    retry_unwritten: bool = False
    """Ask again, for another sample, whatever got no usable reply so far; nothing else is asked again."""
    image_tokens: Count | None = None
    """Most tokens that the server counts for one image. By default what the model's family counts for its size, and
    2,048 for a model of no known family."""

    @field_validator("judge", "attacker", mode="before")
    @classmethod
    def _one_is_a_list_of_one(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class TaggerSettings(RequestSettings):
    """The language model that proposes tags."""

    model: str | None = None
    """Name of a language model, as its server knows it, or inspect:PROVIDER/MODEL."""
    samples: Annotated[int, Field(ge=1, le=99)] = 3
    """Replies per request. The probability of a tag is the share of replies that give it."""


UNITS: Final[tuple[TagUnit, ...]] = ("chain", "dialogue", "path")
Replace = Literal["proposed", "all"]


class TagSettings(Settings):
    """Which turns `reeltalk tag` tags."""

    units: tuple[TagUnit, ...] = UNITS
    """Turns of which units: chain, dialogue, path; all by default."""
    replace: Replace | None = None
    """Tag also what has tags: `proposed` ones of an earlier tagger, or `all`, those that people or rules gave too."""


class ReviewSettings(Settings):
    """Which turns a person should look at."""

    review_share: Share = 0.1
    """Share of the turns that is marked for review, those with the closest calls."""
