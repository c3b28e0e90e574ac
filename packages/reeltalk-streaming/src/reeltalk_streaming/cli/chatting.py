"""The command that talks to a video, on a terminal with a status line and a prompt, or as plain lines."""

import asyncio
import contextlib
import io
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from reeltalk.cli import EXIT_INTERRUPTED
from reeltalk.cli.evaluation_options import ANSWERING, LIMITS, Answering, Limits
from reeltalk.cli.options import OVERWRITE
from reeltalk.cli.terminal import say
from reeltalk.errors import SettingError
from reeltalk.schema.settings import Count

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import ANSI

    from reeltalk_streaming.chat.conversation import Conversation, Status
    from reeltalk_streaming.chat.lines import TypedLines

MOST_FPS: Final = 60.0
MOST_SPEED: Final = 100.0
PROMPT: Final = "> "
CHECK_S: Final = 0.25
"""How often the prompt checks whether the conversation has ended."""
MINI_ONLY: Final = (
    "reeltalk-mini answers. It knows the drawn films of 'reeltalk world film' and nothing else; for any other video "
    "name a model, as in --model qwen3-vl --base-url http://localhost:8000/v1"
)
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def chat(
    video: str,
    /,
    *,
    model: str | None = None,
    fps: float = 1.0,
    speed: float = 1.0,
    longest_side: Count = 720,
    threshold: float | None = None,
    pause_to_answer: bool = True,
    until: float | None = None,
    prompt: str = "plain",
    log: Path | None = None,
    answering: Answering = ANSWERING,
    limits: Limits = LIMITS,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Talk to a video while it plays: ask at any time, or ask to be told when something happens.

    Type a question, or /help. From a pipe, `@12.5 Where is the cup?` asks at 12.5 s, and `--speed 0` plays as fast as
    the model sees. Exit code 1 if a question got no answer, or a line of a script is not valid.

    Example: `reeltalk chat kitchen.mp4 --model qwen3-vl --base-url http://localhost:8000/v1 --log kitchen.jsonl`.

    Parameters
    ----------
    video
        A file; BENCHMARK/VIDEO for a video of a benchmark; camera:0 for a webcam; or an rtsp:// or rtsps:// address. No
        other address is opened.
    model
        Model that answers: a model at the address, inspect:PROVIDER/MODEL, transformers:FOLDER, python:MODULE:CLASS,
        mini:FOLDER, or mini, the default, which knows the drawn films of `reeltalk world film` and nothing else.
    fps
        Frames per second that the model sees.
    speed
        Speed of a file: 1 for real time, 2 for twice as fast, 0 for as fast as the model reads frames.
    longest_side
        Pixels of a frame's longer side at most.
    threshold
        Lowest readiness, 0 to 1, at which a model that reports it speaks unasked; by default that of the model (mini:
        0.3), or 0.5.
    pause_to_answer
        Stop a file's clock while the model answers.
    until
        End at this second of the video. Questions that a script asks later are asked at this moment.
    prompt
        System prompt of a language model: a prompt's name, as for `evaluate`, or a file NAME.md.
    log
        File that receives each event as it happens, one per line.
    overwrite
        Replace an existing log.
    """
    from reeltalk.evaluation.models import ModelConfig, check_player
    from reeltalk.evaluation.playing.chat import answer_prompt
    from reeltalk.llm import Budget
    from reeltalk_streaming.chat.conversation import Conversation, ConversationLog, TalkSettings
    from reeltalk_streaming.chat.lines import ScriptedLines, TypedLines
    from reeltalk_streaming.chat.playback import Playback, video_address
    from reeltalk_streaming.chat.stream_models import create_stream_model

    _check(fps=fps, speed=speed, threshold=threshold, until=until)
    by_default, model = model is None, model or "mini"
    check_player(model, answering, also=("prompt",) if prompt != "plain" else (), command="chat")
    address = video_address(video)
    if by_default:
        say(MINI_ONLY)
    interactive = is_terminal()
    piped = sys.stdin or io.StringIO()
    if isinstance(piped, io.TextIOWrapper):
        # Bytes that are not UTF-8 are replaced, so that they do not end the conversation.
        piped.reconfigure(encoding="utf-8", errors="replace")
    lines: TypedLines | ScriptedLines
    if interactive or address.live:
        lines = TypedLines()
    else:
        lines = ScriptedLines(piped)
    settings = TalkSettings(threshold, pause_to_answer, until, stay=interactive)
    kept = ConversationLog(log, overwrite=overwrite)
    with (
        create_stream_model(
            model,
            ModelConfig.for_answers(answering, limits, tell=say),
            budget=Budget(limits.max_calls, limits.max_tokens, limits.max_cost),
            replies=limits.replies,
            prompt=answer_prompt(prompt).text,
        ) as opened,
        Playback(address, fps=fps, speed=speed, longest_side_px=longest_side) as watching,
        kept as events,
    ):
        if isinstance(lines, TypedLines) and interactive:
            typed = lines
            return _on_terminal(
                typed, lambda screen, stop: Conversation(opened, watching, typed, screen, events, settings, stop)
            )
        if isinstance(lines, TypedLines):
            lines.read_from(piped)
        conversation = Conversation(opened, watching, lines, PlainScreen(), events, settings)
        conversation.run()
        return 1 if conversation.failed else 0


def _on_terminal(lines: "TypedLines", made: "Callable[[TerminalScreen, threading.Event], Conversation]") -> int:
    """Run the conversation in a thread, so that the person can type while the model computes."""
    screen, stop = TerminalScreen(lines), threading.Event()
    conversation = made(screen, stop)
    raised: list[BaseException] = []

    def talk() -> None:
        try:
            conversation.run()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=talk, name="conversation", daemon=True)
    thread.start()
    code = 0
    try:
        screen.serve(thread.is_alive)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
        print("stopping …", flush=True)
        conversation.stop()
        # A model in this process finishes its word first. A second Ctrl-C leaves at once.
        thread.join()
    if raised:
        raise raised[0]
    if screen.last is not None:
        say(format_status(screen.last))
    return code or (1 if conversation.failed else 0)


def _check(*, fps: float, speed: float, threshold: float | None, until: float | None) -> None:
    if not 0 < fps <= MOST_FPS:
        raise SettingError(f"--fps {fps:g}: give more than 0 and at most {MOST_FPS:g}")
    if not 0 <= speed <= MOST_SPEED:
        raise SettingError(f"--speed {speed:g}: give 0 for as fast as it goes, or up to {MOST_SPEED:g}")
    if threshold is not None and not 0 <= threshold <= 1:
        raise SettingError(f"--threshold {threshold:g}: give a number from 0 to 1")
    if until is not None and not 0 <= until < float("inf"):
        raise SettingError(f"--until {until:g}: give a second of the video")


class PlainScreen:
    """Answers as lines on standard output, all else on standard error."""

    def show_answer(self, at_s: float, text: str, *, question: str | None) -> None:
        """Print a line for the question, if there is one, and a line for the answer."""
        if question is not None:
            print(f"[{format_clock(at_s)}] > {printable(question)}")
        print(f"[{format_clock(at_s)}] {printable(text)}", flush=True)

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        say(printable(text))

    def status(self, status: "Status") -> None:
        """Print the status only at the end of the conversation."""
        if status.doing == "ended":
            say(format_status(status))


class _InterruptedError(Exception):
    """Ctrl-C was typed."""


class TerminalScreen:
    """A terminal on which answers scroll above a status line and the input line."""

    def __init__(self, lines: "TypedLines") -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.input import create_input
        from prompt_toolkit.output import create_output

        self._lines = lines
        self.last: Status | None = None
        """The newest status."""
        output = create_output(sys.stdout)
        # Not every terminal reports the position of its cursor, and the prompt does not need it.
        output.enable_cpr = False  # type: ignore[attr-defined]
        self._keys = create_input(sys.stdin)
        # The terminal stays raw while lines are printed above the prompt: a cooked one would lose a Ctrl-D typed then.
        self._keys.cooked_mode = contextlib.nullcontext  # type: ignore[method-assign]
        self._session: PromptSession[str] = PromptSession(
            self._prompt,
            erase_when_done=True,
            interrupt_exception=_InterruptedError,
            input=self._keys,
            output=output,
        )
        self._session.app.before_render += lambda app: app.renderer.erase()
        self._typed = ""

    def show_answer(self, at_s: float, text: str, *, question: str | None) -> None:
        """Print the answer. If another line was typed after its question, the question is printed again."""
        mark = "" if question is not None else f"{BOLD}unasked{PLAIN} "
        if question is not None and question != self._typed:
            print(f"{DIM}to “{printable(question)}”{PLAIN}", flush=True)
        print(f"{DIM}[{format_clock(at_s)}]{PLAIN} {mark}{printable(text)}", flush=True)

    def note(self, text: str) -> None:
        """Print a dimmed line."""
        print(f"{DIM}{printable(text)}{PLAIN}", flush=True)

    def status(self, status: "Status") -> None:
        """Draw the status line again if it changed."""
        changed = self.last is None or format_status(status) != format_status(self.last)
        self.last = status
        if changed:
            self._session.app.invalidate()

    def serve(self, running: Callable[[], bool]) -> None:
        """Read lines from the terminal until `running` returns False.

        Raises:
            KeyboardInterrupt: Ctrl-C was typed.
        """
        from prompt_toolkit.patch_stdout import patch_stdout

        with patch_stdout(raw=True):
            try:
                asyncio.run(self._read(running))
            except _InterruptedError:
                raise KeyboardInterrupt from None

    async def _read(self, running: Callable[[], bool]) -> None:
        # Raw between two prompts, too. Cooked again while the conversation ends, so that Ctrl-C leaves at once.
        with self._keys.raw_mode():
            await self._read_lines(running)
        while running():
            await asyncio.sleep(CHECK_S)

    async def _read_lines(self, running: Callable[[], bool]) -> None:
        ended = False
        while running() and not ended:
            typing = asyncio.ensure_future(self._session.prompt_async())
            while running() and not typing.done():
                await asyncio.wait({typing}, timeout=CHECK_S)
            if not typing.done():
                self._session.app.exit(result="")
            try:
                line = await typing
            except EOFError:
                line, ended = "/quit", True
            if line.strip():
                if not ended:
                    print(f"{BOLD}{PROMPT}{printable(line)}{PLAIN}", flush=True)
                self._typed = line.strip()
                self._lines.put(line)

    def _prompt(self) -> "ANSI":
        from prompt_toolkit.formatted_text import ANSI

        status = format_status(self.last) if self.last is not None else "opening the video …"
        # A status that wraps would leave its first line behind when the window changes.
        shown = status[: max(8, self._session.app.output.get_size().columns - 1)]
        return ANSI(f"{DIM}{shown}{PLAIN}\n{PROMPT}")


def format_clock(at_s: float) -> str:
    """A time as `1:02:03.4`."""
    minutes, seconds = divmod(at_s, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02}:{seconds:04.1f}" if hours else f"{minutes}:{seconds:04.1f}"


def format_status(status: "Status") -> str:
    """A status as one line."""
    from reeltalk_streaming.chat.conversation import format_bytes

    frames = f"{status.frames:,} frame{'' if status.frames == 1 else 's'} seen"
    dropped = f" ({status.dropped:,} dropped)" if status.dropped else ""
    return f"{format_clock(status.at_s)}  {status.doing}  {frames}{dropped}  memory {format_bytes(status.memory_bytes)}"


def printable(text: str) -> str:
    """A text without characters that move a terminal's cursor or change its colours."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text.strip())


def is_terminal() -> bool:
    """True if standard input and output are a terminal."""
    return sys.stdin is not None and sys.stdout is not None and sys.stdin.isatty() and sys.stdout.isatty()
