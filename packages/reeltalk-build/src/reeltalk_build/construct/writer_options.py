"""Which options of `construct` have an effect on which kinds of writers. An option without effect is refused.

`--steps` runs a part of the same command, so options of other steps are not refused.
`tests/integration/test_construct_options.py` tries every option on every kind of writer.
"""

from collections.abc import Mapping
from typing import Final, Literal

from reeltalk.errors import SettingError
from reeltalk.extension import PREFIX
from reeltalk.llm.model import INSPECT
from reeltalk.plugins import added
from reeltalk_build.construct.settings import AskSettings, ConstructSettings

WriterKind = Literal["server", "provider", "python", "graph"]
GRAPH: Final = "graph"
"""Name of the writer that needs no model."""
WRITERS: Final[Mapping[WriterKind, str]] = {
    "server": "a model at an address",
    "provider": "`inspect:PROVIDER/MODEL`",
    "python": "`python:FILE.py:CLASS`",
    "graph": "`graph`",
}
"""Names of the kinds of writers."""
_ASKED: Final[frozenset[WriterKind]] = frozenset({"server", "provider"})
_OWN: Final[frozenset[WriterKind]] = frozenset({"python"})
_GRAPH: Final[frozenset[WriterKind]] = frozenset({"graph"})

WRITER_OPTIONS: Final[Mapping[str, frozenset[WriterKind]]] = {
    "language": _ASKED | _OWN,
    "max_turns": _OWN | _GRAPH,
    "pairs": _OWN | _GRAPH,
    "merge_similarity": _OWN | _GRAPH,
    "block": _GRAPH,
    "quality": _ASKED | _OWN,
    "object_captions": _ASKED | _OWN,
    "object_captions_per_video": _ASKED | _OWN,
    "frames": _ASKED | _OWN,
    "frame_width_px": _ASKED | _OWN,
    "base_url": _ASKED,
    "api_key_env": frozenset({"server"}),
    "sees": _ASKED,
    "samples": _ASKED,
    "prompts": _ASKED,
    "retry_unwritten": _ASKED | _OWN,
    "connections": _ASKED,
    "max_reply_tokens": _ASKED,
    "timeout_s": _ASKED,
    "give_up_after_s": _ASKED,
    "preflight": _ASKED,
    "max_calls": _ASKED,
    "max_tokens": _ASKED,
    "max_cost": _ASKED,
    "price_in": _ASKED,
    "price_out": _ASKED,
    "image_tokens": _ASKED,
}
"""Kinds of writers that an option has an effect on. The others have an effect on all kinds."""
CHECKED: Final = frozenset(
    {
        *("frame_width_px", "base_url", "api_key_env", "sees", "prompts", "retry_unwritten", "max_reply_tokens"),
        *("timeout_s", "give_up_after_s", "preflight", "max_calls", "max_tokens", "max_cost"),
        *("price_in", "price_out", "image_tokens"),
    }
)
"""Options that also have an effect where a model of `--judge`, `--attacker` or `--probe` is asked."""
ONLY_WITH: Final[Mapping[str, str]] = {
    "quality": "`--judge`; a class of your own may judge itself",
    "samples": "`--judge`",
    "easy": "`--run`, `--attacker` or `--probe`",
    "easy_runs": "`--run`",
    "object_captions_per_video": "`--object-captions`",
    "targets": "`--balance`",
    "frames": "`--sees images`",
    "frame_width_px": "`--sees images`",
    "max_cost": "prices",
}
"""Options that have an effect only with another one."""
_OF_RUBRICS: Final = frozenset(
    {
        *("base_url", "api_key_env", "prompts", "retry_unwritten", "max_reply_tokens", "timeout_s", "give_up_after_s"),
        *("preflight", "max_calls", "max_tokens", "max_cost", "price_in", "price_out"),
    }
)
_WHY: Final[Mapping[str, str]] = {
    "max_turns": "a model is asked for 5 or 6 questions",
    "pairs": "a model links all turns that it finds related",
    "merge_similarity": "a model decides itself which clips are one scene",
    "block": "only the graph balances the answers of many videos",
    "quality": "its chains get no rating",
    "object_captions": "it sees no pictures; name a vision model as --writer",
    "object_captions_per_video": "it sees no pictures",
    "frames": "it is shown no pictures",
    "frame_width_px": "it is shown no pictures",
    "api_key_env": "no model gets a key from this variable; providers of inspect_ai read their own",
    "samples": "nobody judges its drafts",
    "connections": "its questions are checked one after the other",
}
_NO_MODEL: Final = "no model is asked; name one as --writer, --judge, --attacker or --probe"


def kind_of_writer(writer: str) -> WriterKind:
    """The kind of a writer, by its name on the command line.

    Args:
        writer: As `--writer` takes it.
    """
    if writer == GRAPH:
        return "graph"
    if writer.startswith(PREFIX) or writer in added("reeltalk.writers"):
        return "python"
    return "provider" if writer.startswith(INSPECT) else "server"


def idle_options(
    writer: str, settings: ConstructSettings, asking: AskSettings, *, has_runs: bool, rubrics: bool = False
) -> dict[str, str]:
    """The options that have no effect on a writer, each with the reason.

    Args:
        writer: The writer.
        settings: What is written. Fields with their default value are not looked at.
        asking: How models are asked; the same.
        has_runs: True if runs with scores are given.
        rubrics: True if only rubrics are written.
    """
    kind = kind_of_writer(writer)
    checkers = (*asking.judge, *asking.attacker, *((asking.probe,) if asking.probe is not None else ()))
    watches = asking.sees == "images" and (bool(asking.attacker) or asking.probe is not None)
    found: dict[str, str] = {}
    for name in given_options(settings, asking):
        if rubrics:
            if name != "language" and name not in _OF_RUBRICS:
                found[name] = "--rubrics neither reads nor asks for what it is about"
            elif name != "language" and kind not in _ASKED:
                found[name] = f"{'the graph' if kind == 'graph' else writer} asks no model; choose one as --writer"
        elif kind not in WRITER_OPTIONS.get(name, WRITERS):
            if name == "language" or (name == "max_turns" and settings.min_turns > ConstructSettings().max_turns):
                # The graph's language has an error of its own; most turns cannot be fewer than the fewest.
                continue
            is_checked = name in CHECKED and bool(checkers)
            if name == "frame_width_px":
                is_checked = watches
            elif name == "api_key_env":
                is_checked = any(kind_of_writer(one) == "server" for one in checkers)
            if not is_checked:
                found[name] = _WHY.get(name, _NO_MODEL)
        elif name in ("frames", "frame_width_px") and kind in _ASKED and asking.sees == "text":
            found[name] = "with --sees text nobody is shown a picture"
        elif name in ("quality", "samples") and kind in _ASKED and not asking.judge:
            found[name] = "nobody judges the drafts; name a model with --judge"
        elif name == "object_captions_per_video" and not settings.object_captions:
            found[name] = "objects are described with --object-captions only"
        elif name == "easy_runs" and not has_runs:
            found[name] = "there are no runs; name some with --run"
        elif name == "easy" and not has_runs and not asking.attacker and asking.probe is None:
            found[name] = "nobody answers the questions; give --run, --attacker or --probe"
    return found


def given_options(settings: ConstructSettings, asking: AskSettings) -> tuple[str, ...]:
    """The options with another value than their default.

    Args:
        settings: What is written.
        asking: How models are asked.
    """
    pairs = ((settings, ConstructSettings()), (asking, AskSettings()))
    return tuple(
        name for one, start in pairs for name in type(one).model_fields if getattr(one, name) != getattr(start, name)
    )


def check_writer_options(
    writer: str,
    settings: ConstructSettings,
    asking: AskSettings,
    *,
    has_runs: bool,
    rubrics: bool = False,
) -> None:
    """Refuse an option that has no effect on a writer.

    Args:
        writer: The writer.
        settings: What is written.
        asking: How models are asked.
        has_runs: True if runs with scores are given.
        rubrics: True if only rubrics are written.

    Raises:
        SettingError: An option has no effect.
    """
    for name, why in idle_options(writer, settings, asking, has_runs=has_runs, rubrics=rubrics).items():
        option = f"--{'no-' if name == 'preflight' else ''}{name.replace('_', '-')}"
        raise SettingError(f"{option} has no effect on {writer}: {why}; leave it out")
