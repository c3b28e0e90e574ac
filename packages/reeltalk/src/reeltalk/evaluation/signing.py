"""Identify a run: the request that its folder keeps, and the parts of its signatures, some of which are short hashes.

`run_request` decides whether a folder holds the run that is asked for; `run_signature` says what can change its
numbers. A field is part of a hash if the number can change with it. The order of rows and `extra`, which no judge
reads, are not part of it.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from reeltalk.evaluation.models import CreatedPlayer
from reeltalk.evaluation.playing.play import Subtitles, WrongAnswers
from reeltalk.evaluation.playing.script import Script
from reeltalk.evaluation.settings import ModelSettings, RunConfig
from reeltalk.judge.asking import judge_prompt_group
from reeltalk.judge.judge import TURN_FIELDS, UNIT_FIELDS, Judge, JudgeUnit, fields_read_by
from reeltalk.judge.settings import JudgeModelSettings, JudgeSettings
from reeltalk.llm.model import ReplyOrigin
from reeltalk.llm.prompts import prompts_in
from reeltalk.schema.answers import AnsweredTurn, right_answer
from reeltalk.schema.record import LONGEST_NAME
from reeltalk.schema.scoring import hash_texts, plain_value, short_hash
from reeltalk.store.documents import read_text
from reeltalk.store.rows import sort_texts

QUESTION_FIELDS: Final = (
    "item_id", "video_id", "unit", "turn_index", "question", "options", "correct_option", "asked_at_s",
)  # fmt: skip
"""Fields of a turn that a model can be shown, or that intervals and groups depend on."""
RULES: Final = tuple(
    f"reeltalk.{name}"
    for name in ("language", "metrics.agree", "metrics.choice", "metrics.tokenise", "schema.model_texts", "judge.match")
)
"""Modules that read answers by rule, and packages of them."""
PACKAGE: Final = Path(__file__).parents[1]
GROUPED_FIELDS: Final = ("labels", "task")
"""Fields by which judged numbers are broken down; some protocols read them too."""


def run_request(config: RunConfig, benchmark: str, train: str | None) -> dict[str, Any]:
    """All settings that decide what a run asks: `request.json`. A folder with the same request holds the same run.

    Args:
        config: Settings of the run.
        benchmark: Hash of the benchmark's content.
        train: Hash of the benchmark that baselines learn from, if it is another one.
    """
    return {
        "benchmark": benchmark,
        "model": config.model,
        "preset": config.preset.name if config.preset else None,
        "play": config.play.model_dump(mode="json"),
        "judging": judging_request(config.judging),
        "answering": asking_request(config.asking),
        "judge": judge_request(config.judge_model),
        "limit": config.limit,
        "train": train,
    }


def asking_request(settings: ModelSettings) -> dict[str, Any]:
    """All settings of the model that decide what it is asked and what it keeps."""
    told = settings.model_dump(mode="json", exclude={"base_url", "api_key_env", "price_in", "price_out"})
    return told | {"memory": "bounded" if settings.bounded else "all"}


def judging_request(settings: JudgeSettings) -> dict[str, Any]:
    """All settings that decide what a judge is asked. A folder of prompts counts by its texts, not by its path."""
    found: dict[str, Any] = settings.model_dump(mode="json", exclude={"prompts"})
    if settings.prompts is not None:
        prompts = prompts_in(settings.prompts, judge_prompt_group())
        found["prompts"] = short_hash([(name, prompts[name].sha256) for name in prompts.replaced])
    return found


def judge_request(settings: JudgeModelSettings) -> dict[str, Any]:
    """All settings of the judge's model that decide what it is asked."""
    return settings.model_dump(mode="json", include={"judge", "judge_max_reply_tokens"})


def run_signature(
    config: RunConfig,
    scripts: Sequence[Script],
    turns: Iterable[AnsweredTurn],
    player: CreatedPlayer,
    *,
    wrong: WrongAnswers | None,
    subtitles: Subtitles | None,
    origins: Iterable[ReplyOrigin] = (),
    left_out: bool = False,
) -> tuple[tuple[str, str], ...]:
    """How the answers of a run were produced: the parts of its signatures that do not depend on a judge or metric.

    Args:
        config: Settings of the run.
        scripts: The scripts that were played.
        turns: The turns with their answers, one for each step, in the same order.
        wrong: Gives the wrong answers of corrupted histories; None if histories are not corrupted.
        subtitles: Gives the spoken lines; None if they were not shown.
        origins: Who gave the replies.
        left_out: Whether `play.only` left out turns that would have been played.
    """
    play = config.play
    # The first epoch's; what is shown in another one differs by the model's own answers alone.
    scripts = scripts[: len(scripts) // play.epochs]
    return (
        *(config.preset.signed(play, config.judging) if config.preset else ()),
        *play.signature,
        *((("only", play.only),) if left_out else ()),
        *((("planted", planted_hash(scripts, wrong, play.corrupt_turn)),) if wrong is not None else ()),
        (
            "shown",
            shown_hash(scripts, turns, subtitles=subtitles, golden=play.shown_history in ("golden", "corrupted")),
        ),
        *player.player.signature,
        *server_part("served", player.player.name, origins),
        *((("knows", scripts_hash(scripts, player.knows)),) if player.knows is not None else ()),
    )


def server_part(key: str, requested: str, origins: Iterable[ReplyOrigin]) -> tuple[tuple[str, str], ...]:
    """The names that a server reported with its replies, as a part of a signature.

    Args:
        key: Key of the part.
        requested: Name of the model that was asked for. Without another name, there is no part.
        origins: Who gave the replies.
    """
    names = sorted({origin.model for origin in origins})
    if all(requested == name or requested.endswith((f"/{name}", f":{name}")) for name in names):
        return ()
    joined = "+".join(names).replace("|", "/")
    # A server that reports a text in place of a name, or many names, must not end the run.
    return ((key, joined if len(joined) <= LONGEST_NAME else f"{len(names)} names {short_hash(names)}"),)


def reference_count(counts: Iterable[int]) -> str:
    """How many references turns have, as a part of a signature: `1`, or `1-3`.

    Args:
        counts: Number of references of each turn.
    """
    found = set(counts) or {0}
    return "-".join(map(str, dict.fromkeys((min(found), max(found)))))


@cache
def code_hash(file: str) -> str:
    """Eight digits over a module, the modules of rules that it imports, and the word lists beside them.

    Args:
        file: The module's file.
    """
    waiting, texts = [Path(file)], dict[str, str]()
    while waiting:
        path = waiting.pop()
        text = read_text(path)
        if texts.setdefault(f"{path.parent.name}/{path.name}", text) is not text or path.suffix != ".py":
            continue
        names = {f"{path.stem}.toml", *re.findall(r"\w+\.toml(?=\")", text)}
        waiting += [path.with_name(name) for name in names if path.with_name(name).is_file()]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(RULES):
                for name in (str(node.module), *(f"{node.module}.{one.name}" for one in node.names)):
                    imported = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
                    waiting += [imported] if imported.is_file() else []
    return short_hash(texts)


def questions_hash(turns: Iterable[AnsweredTurn]) -> str:
    """Eight digits over turns, without answers and references."""
    return _hash_sorted({name: getattr(turn, name) for name in QUESTION_FIELDS} for turn in turns)


def judged_hash(units: Iterable[JudgeUnit], judge: Judge) -> str:
    """Eight digits over all data that a judge reads about some units besides the answers.

    Args:
        units: Units of one model. Other models' answers to the same units give the same hash.
        judge: Its `reads` names the fields that it reads. A judge without `reads` may read all fields.
    """
    reads = fields_read_by(judge)
    of_turns = (*QUESTION_FIELDS, *GROUPED_FIELDS, *(name for name in TURN_FIELDS if name in reads))
    of_units = ("kind", "id", "video_id", "task", "official", *(name for name in UNIT_FIELDS if name in reads))
    return _hash_sorted(
        {name: getattr(unit, name) for name in of_units}
        | {"turns": [{name: getattr(turn, name, None) for name in of_turns} for turn in unit.turns]}
        for unit in units
    )


def shown_hash(
    scripts: Sequence[Script],
    turns: Iterable[AnsweredTurn],
    *,
    subtitles: Subtitles | None = None,
    golden: bool = False,
) -> str:
    """Eight digits over the input of each turn: presentation times, the file of the frames, spoken lines, history.

    Args:
        scripts: The scripts that were played.
        turns: Their answered turns, one for each step, in the same order.
        subtitles: Gives the spoken lines, if they were shown.
        golden: Whether the history of a turn holds the right answers to those before it.
    """
    found = iter(turns)

    def shown(script: Script) -> tuple[str, list[object]]:
        steps: list[object] = []
        for step in script.steps:
            played = next(found).played
            seen: list[object] = [step.unit, step.unit_id, step.turn_index]
            if played is not None and played.frames_s:
                # A baseline that looks at frames may use only the frames of the clips.
                seen += [[round(time_s, 6) for time_s in played.frames_s], played.film, step.clips]
            if golden and step is not script.steps[-1]:
                seen.append(right_answer(step.turn))
            if subtitles is not None:
                seen.append([spoken.line for spoken in subtitles(script, step)])
            steps.append(seen)
        return script.id, steps

    return _hash_sorted(map(shown, scripts))


def planted_hash(scripts: Iterable[Script], wrong: WrongAnswers, turn: int) -> str:
    """Eight digits over the wrong answers in corrupted histories.

    Args:
        scripts: The scripts that are played.
        wrong: Gives the answers.
        turn: Number of the turn with the wrong answer, from 1.
    """
    return _hash_sorted((one.id, wrong.wrong(one, one.steps[turn - 1])) for one in scripts if turn < len(one.steps))


def scripts_hash(scripts: Iterable[Script], of: Callable[[Script], object]) -> str:
    """Eight digits over something of each script."""
    return _hash_sorted((script.id, of(script)) for script in scripts)


def _hash_sorted(rows: Iterable[object]) -> str:
    """`short_hash` of rows in the order of their JSON, without a list of them."""

    def texts() -> Iterator[tuple[bytes, bytes | None]]:
        for row in rows:
            plain = plain_value(row)
            text = json.dumps(plain, sort_keys=True).encode()
            # A mapping may be empty only after its own empty fields are left out.
            hashed = plain_value(plain) if b"{}" in text else plain
            yield text, None if hashed == plain else json.dumps(hashed, sort_keys=True).encode()

    return hash_texts(sort_texts(texts()))
