"""Plays one load of calls in its own process: through reeltalk, or with a bare client that sends the same calls.

The measurement begins after all imports, the decoding of the pictures, and one played dialogue.
"""

import asyncio
import base64
import dataclasses
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openai
from numpy.typing import NDArray

from chat_server import ChatServer
from reeltalk.evaluation.models import ModelConfig, create_model
from reeltalk.evaluation.playing.chat import ChatPlayer, answer_prompt
from reeltalk.evaluation.playing.frames import FrameServer
from reeltalk.evaluation.playing.play import NoFrameSource, Pictures, Response, TurnInput, play_script
from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.evaluation.run_folder import RunFolder
from reeltalk.evaluation.settings import FramePolicy, FrameSettings, PlaySettings
from reeltalk.evaluation.stage import EvaluationRunner, JudgingSetup
from reeltalk.judge.settings import JudgeSettings
from reeltalk.llm import Budget, Endpoint, ReplyStore
from reeltalk.llm.model import Message
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk_build.video.write import write_video

SEED = 17
VIDEO_FPS = 2
CELL_PX = 40
SECONDS_A_TURN = 6.0
QUESTION = "In turn {turn}, which object does the person take into the hand after leaving the room, and why?"
ANSWER = "After leaving room {turn} the person takes the cup from the shelf, to fill it with water."
MOST_TOKENS = 256
PROMPT = answer_prompt("plain")


@dataclass(frozen=True)
class Load:
    """Dialogues and how they are played."""

    dialogues: int
    turns: int
    """Of a dialogue, on average."""
    spread: int = 0
    """A dialogue has up to so many turns more or fewer."""
    connections: int = 20
    policy: FramePolicy = "first-turn"
    frames: int = 16
    fps: float = 1.0
    side_px: int = 640
    dialogues_a_video: int = 3
    asked_as_it_plays: bool = False
    """Questions come while the video plays, else after its end."""

    def lengths(self) -> list[int]:
        draw = random.Random(SEED)
        return [self.turns + draw.randint(-self.spread, self.spread) for _ in range(self.dialogues)]

    @property
    def calls(self) -> int:
        return sum(self.lengths())

    @property
    def videos(self) -> int:
        return -(-self.dialogues // self.dialogues_a_video)

    @property
    def settings(self) -> FrameSettings:
        return FrameSettings(policy=self.policy, frames=self.frames, fps=self.fps, longest_side_px=self.side_px)


@dataclass(frozen=True)
class Spent:
    """What a load took."""

    cpu_s: float
    wall_s: float
    peak_rss_mb: float
    last_began_s: float
    """When the last dialogue began, on the clock of the machine."""
    waited_s: float
    """How long the process could have worked, and other processes of the machine had its core."""


def write_videos(folder: Path, count: int, *, width: int, height: int, seconds: int) -> None:
    """Videos whose pictures have as much detail as filmed ones: grain over broad shades, moving, no two alike."""
    folder.mkdir()
    draw = np.random.default_rng(SEED)
    shades = draw.uniform(80, 175, (height // CELL_PX, width // CELL_PX, 3))
    picture = np.kron(shades, np.ones((CELL_PX, CELL_PX, 1)))[:height, :width] + draw.normal(0, 2, (height, width, 1))
    frame: NDArray[np.uint8] = picture.clip(0, 255).astype(np.uint8)
    for number in range(count):
        moved = (np.roll(frame, (7 * n + 3 * number, 11 * n + 5 * number), (0, 1)) for n in range(seconds * VIDEO_FPS))
        write_video(folder / f"{number}.mp4", moved, fps=VIDEO_FPS)


def scripts_of(load: Load) -> list[Script]:
    scripts = []
    for number, length in enumerate(load.lengths()):
        steps = []
        for index in range(length):
            end_s = (index + 1) * SECONDS_A_TURN
            turn = Turn(
                question=f"Dialogue {number}. {QUESTION.format(turn=index + 1)}",
                references=(ANSWER.format(turn=index + 1),),
            )
            asked_at_s = end_s if load.asked_as_it_plays else None
            clips = (Interval(start_s=end_s - SECONDS_A_TURN, end_s=end_s),)
            steps.append(Step("dialogue", f"d{number}", index, turn, asked_at_s, clips))
        scripts.append(Script(f"d{number}", str(number // load.dialogues_a_video), tuple(steps)))
    return scripts


class Watched:
    """A player, and when it was last asked for the first turn of a dialogue."""

    def __init__(self, player: ChatPlayer) -> None:
        self._player, self.last_began_s = player, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._player, name)

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        if not seen.step.turn_index:
            self.last_began_s = time.monotonic()
        return await self._player.answer(seen, pictures)


def used_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def waited_s() -> float:
    """Time that the main thread, where calls are made, was ready and not running; 0 where the system does not say."""
    schedstat = Path("/proc/self/schedstat")
    return int(schedstat.read_text().split()[1]) / 1e9 if schedstat.is_file() else 0.0


def measured(work: Callable[[], float]) -> Spent:
    cpu_s, wall_s, waiting_s = used_s(), time.monotonic(), waited_s()
    last_began_s = work()
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Spent(used_s() - cpu_s, time.monotonic() - wall_s, rss_mb, last_began_s, waited_s() - waiting_s)


def frames_of(load: Load, folder: Path) -> FrameServer:
    return FrameServer(lambda name: folder / f"{name}.mp4", load.settings, folder / "frames")


async def decode(load: Load, folder: Path) -> None:
    """Bring all pictures of a load into the folder."""
    async with frames_of(load, folder) as frames:
        for script in scripts_of(load):
            await frames.open(script)


def through_reeltalk(load: Load, folder: Path, endpoint: Endpoint, begin: Callable[[], None]) -> Spent:
    """As `reeltalk evaluate` does."""

    def once(scripts: list[Script], run: Path) -> float:
        with RunFolder(run, {}) as made, ReplyStore(made.replies) as store:
            frames = frames_of(load, folder) if load.policy != "none" else None
            asking = ModelConfig(endpoint, connections=load.connections)
            model = create_model("bench", asking, store, Budget(), frames.jpeg if frames else None)
            player = Watched(ChatPlayer(model, PROMPT))
            stage = EvaluationRunner(made.work, JudgingSetup(JudgeSettings()), None, at_a_time=load.connections)
            settings = PlaySettings(frames=load.settings)
            evaluation = stage.run(scripts, player, settings, frames, served=model)
        turns = sum(len(script.steps) for script in scripts)
        if evaluation.counts["answered"] != turns:
            raise RuntimeError(f"of {turns} turns, {dict(evaluation.counts)}; {evaluation.turns[0].reason}")
        return player.last_began_s

    scripts = scripts_of(load)
    with tempfile.TemporaryDirectory() as runs:
        once(scripts[:1], Path(runs, "first"))
        begin()
        spent = measured(lambda: once(scripts, Path(runs, "run")))
    return spent


class Writing:
    """A player that only notes what would be asked, and says what the reference says."""

    name, signature, sees_frames, sees_images = "bench", (), True, True

    def __init__(self) -> None:
        self._chat = ChatPlayer(self, PROMPT)  # type: ignore[arg-type]
        self.asked: list[list[Message]] = []

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        messages = self._chat.conversation(seen)
        self.asked.append(
            [Message(m.role, m.text, tuple([await pictures.jpeg(i) for i in m.images])) for m in messages]
        )
        return Response(seen.step.turn.references[0])


async def conversations(load: Load, folder: Path) -> list[list[list[Message]]]:
    """What is asked, by dialogue and turn, with the pictures themselves."""
    found = []
    settings = PlaySettings(frames=load.settings)
    for script in scripts_of(load):
        player = Writing()
        screening: Any = await frames_of(load, folder).open(script) if load.policy != "none" else NoFrameSource()
        async for _ in play_script(script, player, screening, screening, settings):
            pass
        found.append(player.asked)
    return found


def body(messages: Sequence[Message]) -> dict[str, Any]:
    """A request, as anyone writes it who asks this protocol."""
    written: list[dict[str, Any]] = []
    for message in messages:
        content: Any = message.text
        if message.images:
            urls = [f"data:image/jpeg;base64,{base64.b64encode(image).decode('ascii')}" for image in message.images]
            content = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            content.append({"type": "text", "text": message.text})
        written.append({"role": message.role, "content": content})
    return {"model": "bench", "messages": written, "temperature": 0.0, "max_tokens": MOST_TOKENS, "seed": SEED}


def bare(load: Load, folder: Path, endpoint: Endpoint, begin: Callable[[], None], *, by_turn: bool = False) -> Spent:
    """As a script of a few lines does: the `openai` package, so many dialogues at a time, the answers in one file.

    Pictures are in memory before it begins; each request encodes its own, as ours do. `by_turn` asks the first turn of
    all dialogues, then the second of all, as scripts do that write one file of requests after the other.
    """
    dialogues = asyncio.run(conversations(load, folder))
    lines = dialogues
    if by_turn:
        lines = [
            [dialogue[turn]]
            for turn in range(max(map(len, dialogues)))
            for dialogue in dialogues
            if turn < len(dialogue)
        ]

    async def ask(asked: list[list[list[Message]]], answers: Path) -> float:
        last_began_s, at_a_time = 0.0, asyncio.Semaphore(load.connections)
        async with openai.AsyncOpenAI(api_key="none", base_url=endpoint.base_url, max_retries=0) as client:

            async def one(turns: list[list[Message]]) -> list[str | None]:
                nonlocal last_began_s
                async with at_a_time:
                    last_began_s = time.monotonic()
                    replies = [await client.chat.completions.create(**body(messages)) for messages in turns]
                    return [reply.choices[0].message.content for reply in replies]

            found = await asyncio.gather(*map(one, asked))
        answers.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
        return last_began_s

    with tempfile.TemporaryDirectory() as place:
        asyncio.run(ask(dialogues[:1], Path(place, "first")))
        begin()
        return measured(lambda: asyncio.run(ask(lines, Path(place, "answers"))))


CLIENTS: dict[str, Callable[[Load, Path, Endpoint, Callable[[], None]], Spent]] = {
    "reeltalk": through_reeltalk,
    "bare": bare,
    "by turn": partial(bare, by_turn=True),
}


def in_a_process(
    client: str, load: Load, folder: Path, server: ChatServer, **serving: float
) -> tuple[Spent, dict[str, Any]]:
    """Play a load in a new process.

    Args:
        client: One of `CLIENTS`.
        load: What is played.
        folder: Holds its videos, and pictures that `decode` made.
        server: Who answers.
        serving: How; see `chat_server.Work`.

    Returns:
        What it took, and what the server counted.
    """
    question = [client, dataclasses.asdict(load), str(folder), server.port, serving]
    done = subprocess.run([sys.executable, __file__], input=json.dumps(question), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{client} {load}: {done.stderr}")
    spent, counted = json.loads(done.stdout)
    return Spent(**spent), counted


def main() -> None:
    client, load, folder, port, serving = json.load(sys.stdin)
    server = ChatServer(port)
    endpoint = Endpoint(model="bench", base_url=server.base_url, max_tokens=MOST_TOKENS)
    spent = CLIENTS[client](Load(**load), Path(folder), endpoint, lambda: server.begin(**serving))
    print(json.dumps([dataclasses.asdict(spent), server.done()]))


if __name__ == "__main__":
    main()
