"""The command that tags questions."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from reeltalk.cli.options import BUDGET, DRY_RUN, FLAG, IN_OUTPUT, IN_SELECTION, OVERWRITE, SELECTION, in_groups
from reeltalk.cli.terminal import ProgressBar, print_report, refuse_existing, say
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.schema.server_address import check_server
from reeltalk.schema.settings import check_counts
from reeltalk_build.construct.settings import ReviewSettings, TaggerSettings, TagSettings

if TYPE_CHECKING:
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_build.construct.tagging.stage import Tagger

REPLIES = "tag-replies.sqlite"
TAGS_SHOWN = 19
LIMIT_GROUPS = {
    BUDGET: (
        *("max_calls", "max_tokens", "max_cost", "more", "more_tokens", "more_cost", "price_in", "price_out"),
        *("connections", "timeout_s", "give_up_after_s", "preflight"),
    )
}
if TYPE_CHECKING:
    Tagging = TaggerSettings
else:
    Tagging = Annotated[in_groups(TaggerSettings, LIMIT_GROUPS), Parameter(name="*", group=Group("Tagger", sort_key=2))]
Settings = Annotated[TagSettings, Parameter(name="*", group=SELECTION)]
Reviewing = Annotated[ReviewSettings, Parameter(name="*", group=Group("Doubts", sort_key=3))]
TAGGING, SETTINGS, REVIEWING = TaggerSettings(), TagSettings(), ReviewSettings()


def tag(
    benchmark: Path,
    /,
    *,
    measure: Annotated[bool, FLAG] = False,
    limit: Annotated[int | None, IN_SELECTION] = None,
    out: Annotated[Path | None, IN_OUTPUT] = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
    options: Tagging = TAGGING,
    settings: Settings = SETTINGS,
    review: Reviewing = REVIEWING,
) -> int:
    """Propose CogME's tags for the turns of a benchmark that lack them; tags by people and rules stay.

    Run it again to continue after an interruption: replies are kept. Exit code 1 if turns are left untagged.

    --measure changes nothing. It compares a tagger with the tags that people or rules gave, tag by tag. The most
    uncertain proposals are marked for `reeltalk review`. No tagger changes the turns that a person corrected.

    Example: `reeltalk tag benchmarks/kitchen --model qwen3 --base-url http://localhost:8000/v1`.

    Parameters
    ----------
    benchmark
        A benchmark with turns.
    measure
        Measure the tagger against the existing tags; needs --model.
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
    if not measure and (limit is not None or out is not None or overwrite):
        raise SettingError("--limit, --out and --overwrite are for --measure")
    if measure:
        return _measure(benchmark, options, out, limit=limit, overwrite=overwrite)
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
    with _tagger(opened, options) as tagger, ProgressBar() as bar:
        done = run_stage(opened, tagger, settings, review, progress=bar.show)
    print_report(done.report, opened.path)
    kept = done.turns - done.tagged - done.untagged
    print(f"{kept:,} of {done.turns:,} turns kept the tags they had")
    if done.counts:
        print(", ".join(f"{name} {count:,}" for name, count in list(done.counts.items())[:TAGS_SHOWN]))
    if done.tagged or done.untagged:
        print(f"proposed by {tagger.signature}, verified by nobody; the doubts are marked for 'reeltalk review'")
    return 1 if done.untagged else 0


def _measure(benchmark: Path, options: TaggerSettings, out: Path | None, *, limit: int | None, overwrite: bool) -> int:
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
    turns = list(islice((a for a in read_turns(opened) if a.reference is not None), limit))
    if not turns:
        raise BenchmarkError(f"{benchmark} has no turns with tags that a person or a rule gave to compare with")
    with _tagger(opened, options) as tagger, ProgressBar() as bar:
        made = tagger.tag(turns, bar.show)
    found = compare(turns, made, tagger=tagger.signature)
    for line in format_measures(found):
        print(line)
    if out is not None:
        write_bytes(out, (json.dumps(found.to_json(), indent=2, ensure_ascii=False) + "\n").encode())
        print(out)
    return 1 if found.untagged else 0


def _check(options: TaggerSettings) -> None:
    if options.model is None:
        raise SettingError("give --model NAME: the language model that proposes tags")
    if not options.model or options.model != options.model.strip():
        raise SettingError(f"--model {options.model!r}: give the name of a model")
    from reeltalk.llm.budget import prices_of
    from reeltalk.stages.prompt_folders import check_folder
    from reeltalk_build.construct.tagging.model_tagger import PROMPT_GROUP

    prices_of(options.price_in, options.price_out, "--price")
    check_server(options.model, options.base_url, None, name="--model")
    check_folder(options.prompts, PROMPT_GROUP)


@contextlib.contextmanager
def _tagger(benchmark: "Benchmark", options: TaggerSettings) -> Iterator["Tagger"]:
    assert options.model is not None
    from reeltalk_build.construct.tagging.model_tagger import ModelTagging
    from reeltalk_build.stages.constructing import open_models

    with open_models(benchmark, options, tell=say, replies=REPLIES) as models:
        samples = [
            models.open(options.model, option="--model", sees_images=False, sample=number)
            for number in range(options.samples)
        ]
        yield ModelTagging(samples, threads=options.connections, own_prompts=options.prompts)
