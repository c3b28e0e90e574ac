"""Which options of `construct` have an effect on which kinds of writers. An option without effect is refused.

`--steps` runs a part of the same command, so options of other steps are not refused.
`tests/integration/test_construct_options.py` tries every option on every kind of writer.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from reeltalk.errors import SettingError
from reeltalk.extension import PYTHON_PREFIX
from reeltalk.plugins import added
from reeltalk_build.construct.settings import AskSettings, ConstructSettings, RequestSettings

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
_REMOTE: Final[frozenset[WriterKind]] = frozenset({"server", "provider"})
_OWN: Final[frozenset[WriterKind]] = frozenset({"python"})
_GRAPH: Final[frozenset[WriterKind]] = frozenset({"graph"})
CHECKING_OPTIONS: Final = frozenset(
    {*RequestSettings.model_fields, "sees", "image_tokens", "retry_unwritten", "frame_width_px"} - {"connections"}
)
"""Options that also have an effect where a model of `--judge`, `--attacker` or `--probe` is asked."""
WRITER_OPTIONS: Final[Mapping[str, frozenset[WriterKind]]] = {
    **dict.fromkeys((*RequestSettings.model_fields, "sees", "samples", "canaries", "image_tokens"), _REMOTE),
    **dict.fromkeys(("language", "quality", "retry_unwritten", "frames", "frame_width_px"), _REMOTE | _OWN),
    **dict.fromkeys(("max_turns", "pairs", "merge_similarity"), _OWN | _GRAPH),
    "api_key_env": frozenset({"server"}),
    "block": _GRAPH,
}
"""Kinds of writers that an option has an effect on. The others have an effect on all kinds."""
NEEDED_OPTIONS: Final[Mapping[str, str]] = {
    "quality": "`--judge`; a class of your own may judge itself",
    "samples": "`--judge`",
    "canaries": "`--judge`",
    "targets": "`--balance`",
    "frames": "`--sees images`",
    "frame_width_px": "`--sees images`",
    **dict.fromkeys(("max_cost", "more_cost"), "prices"),
}
"""Options that have an effect only with another one."""


def kind_of_writer(writer: str) -> WriterKind:
    """The kind of a writer, by its name on the command line."""
    from reeltalk.llm.model import INSPECT

    if writer == GRAPH:
        return "graph"
    if writer.startswith(PYTHON_PREFIX) or writer in added("reeltalk.writers"):
        return "python"
    return "provider" if writer.startswith(INSPECT) else "server"


def idle_options(
    writer: str, settings: ConstructSettings, asking: AskSettings, *, rubrics: bool = False
) -> Iterator[tuple[str, str]]:
    """The options that have no effect on a writer, each with the reason.

    Args:
        settings: What is written. Fields with their default value are not looked at.
        asking: How models are asked; the same.
        rubrics: True if only rubrics are written.
    """
    kind = kind_of_writer(writer)
    has_checkers = bool(asking.attacker or asking.judge) or asking.probe is not None
    lacks = {
        "quality": kind in _REMOTE and not asking.judge,
        "samples": not asking.judge,
        "canaries": not asking.judge,
        "frames": kind in _REMOTE and asking.sees == "text",
        "frame_width_px": kind in _REMOTE and asking.sees == "text",
    }
    for name in given_options(settings, asking):
        kinds = WRITER_OPTIONS.get(name, frozenset(WRITERS))
        if rubrics:
            if name not in {*RequestSettings.model_fields, "retry_unwritten", "language"} - {"connections"}:
                yield name, "--rubrics neither reads nor asks for what it is about"
            elif name != "language" and kind not in _REMOTE:
                yield name, "no model is asked; name one as --writer"
        elif kind not in kinds:
            # The graph's language has an error of its own; most turns cannot be fewer than the fewest.
            excused = name == "language" or (name == "max_turns" and settings.min_turns > ConstructSettings().max_turns)
            if not excused and not (name in CHECKING_OPTIONS and has_checkers):
                models = ", and for models of --judge, --attacker or --probe" if name in CHECKING_OPTIONS else ""
                yield name, f"it is for {' or '.join(told for one, told in WRITERS.items() if one in kinds)}{models}"
        elif lacks.get(name, False):
            yield name, f"it needs {NEEDED_OPTIONS[name]}"


def given_options(settings: ConstructSettings, asking: AskSettings) -> tuple[str, ...]:
    """The options with another value than their default."""
    pairs = ((settings, ConstructSettings()), (asking, AskSettings()))
    return tuple(
        name for one, start in pairs for name in type(one).model_fields if getattr(one, name) != getattr(start, name)
    )


def check_writer_options(
    writer: str, settings: ConstructSettings, asking: AskSettings, *, rubrics: bool = False
) -> None:
    """Refuse an option that has no effect on a writer; the arguments are those of `idle_options`.

    Raises:
        SettingError: An option has no effect.
    """
    for name, why in idle_options(writer, settings, asking, rubrics=rubrics):
        option = f"--{'no-' if name in ('preflight', 'canaries') else ''}{name.replace('_', '-')}"
        raise SettingError(f"{option} has no effect on {writer}: {why}; leave it out")
