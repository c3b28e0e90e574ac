"""The command that writes rubrics for open answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reeltalk.cli.app import app, say
from reeltalk.cli.construction import ASK_DEFAULTS, Asking
from reeltalk.errors import SettingError

if TYPE_CHECKING:
    from reeltalk.construct.writers import Unwritten
    from reeltalk.schema.dialogue import Turn, TurnRubric

SHOWN = 5
"""Reasons that are printed."""


@app.command(sort_key=3)
def rubric(
    benchmark: Path,
    /,
    *,
    writer: str = "graph",
    language: Literal["en", "zh"] = "en",
    asking: Asking = ASK_DEFAULTS,
) -> int:
    """Write rubrics for open answers: what a right answer says, part by part, with the tags that each part shows.

    Example: `reeltalk rubric benchmarks/kitchen`, then `reeltalk judge runs/qwen --protocols rubric-words --out
    runs/qwen-rubric`. Replies are kept, so that an interrupted command goes on. Exit code 1 where a model gave replies
    that cannot be used.

    Parameters
    ----------
    benchmark
        A benchmark with chains or dialogues.
    writer
        `graph` takes apart the answers that a graph gave; else the name of a model, as its server knows it.
    language
        Of the prompt; the answers' own.
    """
    from reeltalk.construct.rubrics import graph_rubric, model_rubric, write_rubrics
    from reeltalk.store.benchmark import Benchmark

    opened = Benchmark.open(benchmark)
    if writer == "graph":
        if asking.prompts is not None:
            raise SettingError("--prompts: the graph asks no model; choose one as --writer")
        found = write_rubrics(opened, lambda turn, _: graph_rubric(turn), writer=writer)
    else:
        from reeltalk.construct.prompting import PromptedModel, prompt_group, prompts
        from reeltalk.stages.prompt_folders import check_folder
        from reeltalk.stages.writing_models import opened_models

        check_folder(asking.prompts, prompt_group(language))
        own = prompts(language, asking.prompts)
        with opened_models(opened, writer, asking, tell=say) as models:
            model = PromptedModel(models.open(writer, sees_images=False), language, own)

            def write(turn: "Turn", history: "Sequence[Turn]") -> "TurnRubric | Unwritten | None":
                return model_rubric(model, turn, history)

            found = write_rubrics(opened, write, writer=writer)
            if spent := models.spent():
                say(spent)
    print(f"rubrics: {found.written:,} of {found.turns:,} turns, {found.items:,} parts; {found.single:,} of one part")
    for reason in found.unwritten[:SHOWN]:
        print(f"  no rubric for {reason}")
    if len(found.unwritten) > SHOWN:
        print(f"  and {len(found.unwritten) - SHOWN:,} more")
    print(f"benchmark: {benchmark}")
    return 1 if found.unwritten else 0
