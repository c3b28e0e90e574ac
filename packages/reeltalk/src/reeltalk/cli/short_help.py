"""Short help pages: the options that most need, in few groups. `--help-all` shows every option.

A group that prints itself calls `short_panel`; all others are printed by `shorten`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.help import HelpPanel

HELP_ALL: Final = "--help-all"
FIRST_OPTIONS: Final = {
    "evaluate": (
        *("--model", "--base-url", "--out", "--mode", "--preset", "--judge", "--judge-base-url", "--limit"),
        *("--split", "--subtitles", "--sees", "--temperature", "--max-reply-tokens", "--policy", "--frames"),
        *("--protocols", "--metrics", "--connections", "--max-calls", "--overwrite", "--plan"),
    ),
    "judge": (
        *("--out", "--bench", "--format", "--protocols", "--judge", "--judge-base-url", "--beside", "--limit"),
        *("--metrics", "--language", "--connections", "--max-calls", "--max-cost", "--overwrite", "--attack"),
    ),
}
"""Options that the help of our own commands with many shows; other packages say so in their `Command`."""
ARGUMENTS: Final = "Arguments"
SHORT_GROUPS: Final = ("Start here", "Model", "Frames", "Judging", "Filters", "Shots and clips", "Checks")
"""Groups of a short page. Options of others stand in the last one, `LAST_GROUP`."""
LAST_GROUP: Final = "Run"
_state: dict[str, Any] = {"all": False, "names": frozenset()}


def show_all_options(shown: bool = True) -> None:
    """Show every option on help pages, or, from now on, the first alone."""
    _state.update(all=shown, names=frozenset())


def short_panel(panel: "HelpPanel") -> "HelpPanel":
    """A group of a help page without the options that only `--help-all` shows."""
    names = _state["names"]
    return panel.copy(entries=[one for one in panel.entries if {*one.names} & names]) if names else panel


def shorten(command: "App", name: str, first: Iterable[str]) -> None:
    """Let the help of a command show these options alone, and say how to see the rest."""
    _state["names"] = frozenset() if _state["all"] else frozenset(first)
    held: list[Any] = []

    def write(console: Any, options: Any, panel: "HelpPanel") -> None:
        from cyclopts.help import DefaultFormatter

        if _state["names"] and panel.title != ARGUMENTS:
            panel = short_panel(panel)
            if panel.title not in (*SHORT_GROUPS, LAST_GROUP):
                held.extend(panel.entries)
                return
            if panel.title == LAST_GROUP:
                panel = panel.copy(entries=[*held, *panel.entries])
        if panel.entries:
            DefaultFormatter()(console, options, panel)

    command.help_formatter = write
    more = f"`reeltalk {name} {HELP_ALL}` shows all options."
    command.help_epilogue = "\n\n".join(filter(None, (command.help_epilogue, more)))
