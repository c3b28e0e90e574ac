"""The command that tags questions."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter
from pydantic import BaseModel, ConfigDict, Field

from reeltalk.cli.evaluation_options import LIMITS, Limits
from reeltalk.cli.options import DRY_RUN, FLAG, OUT, OVERWRITE, SELECT, SELECTION
from reeltalk.cli.terminal import ProgressBar, print_report, refuse_existing, say
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.llm.model import Temperature
from reeltalk.schema.server_address import ServerAddress, check_server
from reeltalk.schema.settings import check_counts, settings_of
from reeltalk_build.construct.settings import ReviewSettings, TagSettings

if TYPE_CHECKING:
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_build.construct.tagging.stage import Tagger

REPLIES = "tag-replies.sqlite"
TAGS_SHOWN = 19


class TaggerOptions(BaseModel):
    """The language model that proposes tags."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    model: str | None = None
    """Name of a language model, as its server knows it, or inspect:PROVIDER/MODEL."""
    base_url: ServerAddress | None = None
    """Address of an OpenAI-compatible server, such as http://localhost:8000/v1; OpenAI's own by default."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key."""
    prompts: Path | None = None
    """Folder of prompts in place of ours, as `reeltalk prompts --out` writes one."""
    samples: Annotated[int, Field(ge=1, le=99)] = 3
    """Replies per request. The probability of a tag is the share of replies that give it."""
    temperature: Temperature = 0.7
    """Sampling temperature; 0 if --samples is 1; none leaves it to the server."""
    max_reply_tokens: Annotated[int, Field(ge=1)] = 2048
    """Longest reply."""
    price_in: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Price of a million tokens of prompt."""
    price_out: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Price of a million tokens of reply."""


Tagging = Annotated[TaggerOptions, Parameter(name="*", group=Group("Tagger", sort_key=2))]
Settings = Annotated[TagSettings, Parameter(name="*", group=SELECTION)]
Reviewing = Annotated[ReviewSettings, Parameter(name="*", group=Group("Doubts", sort_key=3))]
TAGGING, SETTINGS, REVIEWING = TaggerOptions(), TagSettings(), ReviewSettings()


def tag(
    benchmark: Path,
    /,
    *,
    measure: Annotated[bool, FLAG] = False,
    split: Annotated[str | None, SELECT] = None,
    limit: Annotated[int | None, SELECT] = None,
    out: Annotated[Path | None, OUT] = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
    options: Tagging = TAGGING,
    settings: Settings = SETTINGS,
    review: Reviewing = REVIEWING,
    limits: Limits = LIMITS,
) -> int:
    """Propose CogME's tags for the turns of a benchmark that lack them; tags by people and rules stay.

    Run it again to continue after an interruption: replies are kept. Exit code 1 if turns are left untagged.

    --measure changes nothing. It compares a tagger with the tags that people or rules gave: agreement by tag,
    calibration, and the gain of a review. The most uncertain proposals are marked for `reeltalk review`. No tagger
    changes the turns that a person corrected.

    Example: `reeltalk tag benchmarks/kitchen --model qwen3 --base-url http://localhost:8000/v1`.

    Parameters
    ----------
    benchmark
        A benchmark with turns.
    measure
        Measure the tagger against the existing tags; needs --model.
    split
        With --measure: only turns about videos of this split.
    limit
        With --measure: only the first turns, up to this number.
    out
        With --measure: a JSON file for all numbers.
    overwrite
        Replace an existing file.
    dry_run
        Print the turns that would be tagged; write nothing and ask no model.
    """
    if measure and dry_run:
        raise SettingError("--measure is given alone; leave out --dry-run")
    if not measure and (split is not None or limit is not None or out is not None or overwrite):
        raise SettingError("--split, --limit, --out and --overwrite are for --measure")
    if measure:
        return _measure(benchmark, options, limits, out, split=split, limit=limit, overwrite=overwrite)
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_build.construct.tagging.stage import count_turns, turns_to_tag
    from reeltalk_build.construct.tagging.stage import tag as run_stage

    opened = Benchmark.open(benchmark)
    _check(options)
    if dry_run:
        from reeltalk_build.construct.tagging.model_tagger import requests_for

        total, wanted = count_turns(opened, settings)
        count = sum(map(requests_for, turns_to_tag(opened, settings))) * options.samples
        print(f"{wanted:,} of {total:,} turns would be tagged, by {count:,} requests to {options.model}")
        return 0
    with _tagger(opened, options, limits) as tagger, ProgressBar() as bar:
        done = run_stage(opened, tagger, settings, review, progress=bar.show)
    print_report(done.report)
    kept = done.turns - done.tagged - done.untagged
    print(f"{kept:,} of {done.turns:,} turns kept the tags they had")
    if done.counts:
        print(", ".join(f"{name} {count:,}" for name, count in list(done.counts.items())[:TAGS_SHOWN]))
    if done.tagged or done.untagged:
        print(f"proposed by {tagger.signature}, verified by nobody; the doubts are marked for 'reeltalk review'")
    return 1 if done.untagged else 0


def _measure(
    benchmark: Path,
    options: TaggerOptions,
    limits: Limits,
    out: Path | None,
    *,
    split: str | None,
    limit: int | None,
    overwrite: bool,
) -> int:
    from itertools import islice

    from reeltalk.store.atomic import write_bytes
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_build.construct.tagging.measuring import format_measures
    from reeltalk_build.construct.tagging.measuring import measure_tagger as compare
    from reeltalk_build.construct.tagging.turns import read_turns

    check_counts(limit=limit)
    refuse_existing(out, overwrite=overwrite)
    _check(options)
    opened = Benchmark.open(benchmark)
    turns = list(islice((a for a in read_turns(opened, split=split) if a.reference is not None), limit))
    if not turns:
        of = f" of split {split}" if split else ""
        raise BenchmarkError(f"{benchmark} has no turns{of} with tags that a person or a rule gave to compare with")
    with _tagger(opened, options, limits) as tagger, ProgressBar() as bar:
        made = tagger.tag(turns, bar.show)
    found = compare(turns, made, tagger=tagger.signature)
    for line in format_measures(found):
        print(line)
    if out is not None:
        write_bytes(out, (json.dumps(found.to_json(), indent=2, ensure_ascii=False) + "\n").encode())
        print(out)
    return 1 if found.untagged else 0


def _check(options: TaggerOptions) -> None:
    if options.model is None:
        raise SettingError("give --model NAME: the language model that proposes tags")
    if not options.model or options.model != options.model.strip():
        raise SettingError(f"--model {options.model!r}: give the name of a model")
    from reeltalk.llm.budget import prices_of

    prices_of(options.price_in, options.price_out, "--price")
    check_server(options.model, options.base_url, None)
    if options.prompts is not None:
        from reeltalk.stages.prompt_folders import check_folder
        from reeltalk_build.construct.tagging.model_tagger import PROMPT_GROUP

        check_folder(options.prompts, PROMPT_GROUP)


@contextlib.contextmanager
def _tagger(benchmark: "Benchmark", options: TaggerOptions, limits: Limits) -> Iterator["Tagger"]:
    assert options.model is not None
    from reeltalk.llm import Budget, CachedModel, Endpoint, LanguageModel, Model, ReplyStore
    from reeltalk.llm.preflight import breaker_with_preflight
    from reeltalk.llm.retrying import Breaker
    from reeltalk.llm.wire import create_breaker
    from reeltalk.store.benchmark import WORK
    from reeltalk_build.construct.tagging.model_tagger import ModelTagging

    budget = Budget(limits.max_calls, limits.max_tokens, limits.max_cost)
    path = limits.replies or benchmark.path / WORK / REPLIES
    with ReplyStore(path) as store, contextlib.ExitStack() as stack:
        check_server(options.model, options.base_url, None if len(store) else options.api_key_env)
        samples: list[Model] = []
        breaker: Breaker | None = None
        for number in range(options.samples):
            endpoint = settings_of(
                Endpoint,
                model=options.model,
                base_url=options.base_url,
                temperature=options.temperature if options.samples > 1 or options.temperature is None else 0.0,
                max_tokens=options.max_reply_tokens,
                # A server that honours the seed would otherwise give the same reply every time.
                seed=17 + number,
                timeout_s=limits.timeout_s,
                max_retries=limits.max_retries,
                give_up_after_s=limits.give_up_after_s,
                backoff_s=limits.backoff_s,
                price_in=options.price_in,
                price_out=options.price_out,
            )
            if breaker is None and limits.preflight:
                breaker = breaker_with_preflight(
                    endpoint,
                    kept=store,
                    tell=say,
                    api_key=os.environ.get(options.api_key_env),
                    key_variable=options.api_key_env,
                    schema=True,
                    budget=budget,
                )
            breaker = breaker or create_breaker(endpoint)
            key = os.environ.get(options.api_key_env)
            model = LanguageModel(endpoint, api_key=key, budget=budget, sees_images=False, kept=store, breaker=breaker)
            stack.callback(model.close)
            samples.append(CachedModel(model, store, sample=number))
        try:
            yield ModelTagging(samples, threads=limits.connections, own_prompts=options.prompts)
        finally:
            spent = budget.spent
            money = f", {spent.cost:,.4f} in money" if options.price_in is not None else ""
            say(f"{spent}{money}; {len(store):,} replies are kept")
