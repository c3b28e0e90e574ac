"""The gates step: finds turns that need no video, that the video does not answer, that need no dialogue, or are easy.

Baselines (`leakage.py`) and a model (`probing.py`) answer turns with less than the video. All of them and the
models of `--attacker` are attackers (`difficulty.py`): a turn should be hard for the best of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Final

from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.gates import GateResult, GateUnit, is_counted
from reeltalk.schema.media import Video
from reeltalk.schema.speech import Speech
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, GATES, SPEECH, VIDEOS, Table
from reeltalk_build.construct.context import video_path
from reeltalk_build.construct.difficulty import Item, check_difficulty
from reeltalk_build.construct.frames import read_frames
from reeltalk_build.construct.leakage import Conversation, leaks, limit_leak_share
from reeltalk_build.construct.probing import (
    Condition,
    FramesAt,
    ModelProbe,
    ProbedConversation,
    probe_conversation,
)
from reeltalk_build.construct.prompting import prompts
from reeltalk_build.construct.step import Ask, C, ConstructRun, StepResult, StepSpec, is_written

CACHED_FRAME_SETS: Final = 32
"""Sets of frames that are kept; several conditions show the same ones."""
_ATTACKS: Final[dict[Condition, str]] = {
    "blind": "a model that has only the question",
    "history": "a model that has only the text",
    "one_frame": "a model that sees one frame",
    "shuffled": "a model that sees shuffled frames",
}
"""Attackers of the probe, from the one that sees least."""


def check_gates(run: ConstructRun) -> StepResult:
    """Check all turns with baselines, and with models if some are given."""
    chains, dialogues = run.written_rows(CHAINS), run.written_rows(DIALOGUES)
    conversations = _Units([chains, dialogues])
    # Others' turns are checked too as far as it costs no model, since all turns are released together.
    everything = _Units([chains, dialogues, _others(run.benchmark, CHAINS), _others(run.benchmark, DIALOGUES)])
    made = run.spooled()
    asked = partial(run.map_ordered, "asking without the video", total=len(everything))
    made.gates.extend(leaks(everything, equivalence=run.equivalence, in_order=lambda work, pairs: asked(pairs, work)))
    probed, attackers = _probed(run, conversations)
    made.gates.extend(probed)
    share = limit_leak_share(dialogues, made.gates, run.settings.max_leaking)
    # Put away first, since it reads the results that it is added to.
    made.gates.extend(run.benchmark.spool(GateResult, share))
    units: dict[str, GateUnit] = {one.id: "dialogue" if isinstance(one, Dialogue) else "chain" for one in conversations}
    made.gates.extend(check_difficulty(attackers, units) if attackers else ())
    return made


def _others(benchmark: Benchmark, table: Table[C]) -> Sequence[C]:
    """Rows that no writer of ours wrote, where there are others that one did."""
    rows = benchmark.table(table)
    others = rows.where(lambda row: not is_written(row))
    return others if len(others) < len(rows) else others[:0]


class _Units:
    """Chains and dialogues of a benchmark, which stay in their files."""

    def __init__(self, parts: Sequence[Sequence[Conversation]]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Conversation]:
        return chain.from_iterable(self._parts)


def _probed(
    run: ConstructRun, conversations: _Units
) -> tuple[Iterable[GateResult], dict[str, dict[Item, bool | None]]]:
    """Results of the probe, and which turns it answers with less than the video and each attacker with all of it."""
    if run.probe is None and not run.attackers:
        return [], {}
    videos = {str(video.id): video for video in run.videos}
    prompt = prompts(run.settings.language, run.prompts)["probe"]
    frames = _frames_of(run, videos) if run.probe_sees else None
    speech = Speech(run.benchmark.read(SPEECH))

    def opened(ask: Ask) -> ModelProbe:
        return ModelProbe(ask, frames, run.equivalence, run.settings.language, prompt, speech, run.settings.seed)

    probe = None if run.probe is None else opened(run.probe)
    shown: Condition = "whole" if run.probe_sees else "history"
    attackers = {f"the attacker {name}": opened(ask) for name, ask in run.attackers.items()}

    def ask(conversation: Conversation) -> tuple[list[GateResult], dict[str, dict[int, bool | None]]]:
        video = videos.get(conversation.video_id)
        duration_s = video.duration_s if video else None
        gates: list[GateResult] = []
        attacks: dict[str, dict[int, bool | None]] = {}
        left = [index for index, turn in enumerate(conversation.turns) if is_counted(turn)]
        if probe is not None:
            asked = ProbedConversation(probe, conversation, duration_s)
            gates = probe_conversation(asked, sees=run.probe_sees)
            attacks = {name: asked.verdicts(condition, left) for condition, name in _ATTACKS.items()}
            # A turn that a weaker attacker answers is easy already.
            left = [index for index in left if not any(right.get(index) for right in attacks.values())]
        for name, attacker in attackers.items():
            asked = ProbedConversation(attacker, conversation, duration_s)
            asked.ask(shown, left)
            attacks[name] = asked.verdicts(shown, left)
        return gates, attacks

    found = run.benchmark.spool(GateResult)
    correct: dict[str, dict[Item, bool | None]] = {name: {} for name in (*_ATTACKS.values(), *attackers)}
    results = run.map_ordered("probing", conversations, ask, total=len(conversations))
    for conversation, (gates, attacks) in zip(conversations, results, strict=True):
        found += gates
        for name, verdicts in attacks.items():
            correct[name] |= {(conversation.id, index): right for index, right in verdicts.items()}
    return found, correct


def _frames_of(run: ConstructRun, videos: dict[str, Video]) -> FramesAt:
    @lru_cache(maxsize=CACHED_FRAME_SETS)
    def decoded(video_id: str, times_s: tuple[float, ...]) -> dict[float, bytes]:
        video = videos[video_id]
        found = read_frames(
            video_path(run.benchmark, video),
            times_s,
            executor=run.executor,
            longest_px=run.settings.frame_width_px,
        )
        return dict(zip(times_s, (frame.jpeg for frame in found), strict=True))

    def frames(video_id: str, times_s: Sequence[float]) -> list[bytes]:
        # The decoder moves forward in time; shuffled times get their order back afterwards.
        by_time = decoded(video_id, tuple(sorted(times_s)))
        return [by_time[time_s] for time_s in times_s]

    return frames


GATE_STEP = StepSpec(
    "gates",
    check_gates,
    reads=(VIDEOS, CLIPS, CHAINS, DIALOGUES, SPEECH),
    writes=(GATES,),
    settings=("language", "limit", "seed", "frame_width_px", "max_leaking"),
)
