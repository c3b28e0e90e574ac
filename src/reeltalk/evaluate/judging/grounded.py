"""Judge answers against the knowledge graph of their video, without a language model.

What the graph does not surely decide *does not apply*: coverage and score are two numbers, and one is not to be quoted
without the other.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from reeltalk.evaluate.judging.judge import JudgeUnit, unscored
from reeltalk.evaluate.judging.measures import Entry, Measure, mean_of
from reeltalk.graph.activity_reading import read_activity
from reeltalk.graph.grounded import SIGNATURE, Ground
from reeltalk.graph.source import graph_of_clip
from reeltalk.graph.story import Story
from reeltalk.llm.model import AsyncModel
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.media import Clip
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.tables import CLIPS

NAME: Final = "graph"
CRITERION: Final = "graph"
KIND: Final = "kind "
"""What the explanation of a row begins with before the question's type."""


class GraphJudge:
    """Accepts an answer that the graph of its video confirms, and rejects one that it contradicts.

    Args:
        graph_of: The graph of a video by its identifier; None where it has none.
    """

    def __init__(self, graph_of: Callable[[str], Ground | None]) -> None:
        self._graph_of = graph_of

    @property
    def name(self) -> str:
        """`graph`."""
        return NAME

    @property
    def needs_model(self) -> bool:
        """False: the graph decides."""
        return False

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The rules by which questions are understood and answers compared."""
        return (("rules", SIGNATURE.replace(":", "-")),)

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """One row for each turn that was asked and has a reference: 1, 0, or not applicable with the reason.

        Pronouns stand for what the questions and reference answers before them tell, whatever the model answered.

        Args:
            unit: What is judged.
            model: Not used.
        """
        ground = self._graph_of(unit.video_id)
        history: list[tuple[str, str]] = []
        rows: list[JudgedScore] = []
        for turn in unit.turns:
            if turn.references:
                if turn.state is AnswerState.FAILED:
                    reason = turn.reason or "the model gave no answer"
                    rows.append(unscored(unit, CRITERION, NAME, reason, turn=turn))
                elif turn.state is AnswerState.ANSWERED:
                    rows.append(_row(unit, turn, ground, history))
                history.append((turn.question, turn.references[0]))
        return rows

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """Share accepted of what is covered, and share covered of what was answered, both in per cent.

        Args:
            units: All units, judged or not.
            scores: What `judge` gave for them.
        """
        found = {(row.unit_id, row.turn_index): row for row in scores if row.criterion == CRITERION}
        accepted: list[Entry] = []
        covered: list[Entry] = []
        for unit in units:
            for turn in unit.turns:
                if not turn.references or turn.state is AnswerState.NOT_ASKED:
                    continue
                row = found.get((unit.id, turn.turn_index))
                groups = {"kind": (_kind(row),), "turn": (str(turn.turn_index + 1),)}
                applies = row is None or row.state is not ScoreState.NOT_APPLICABLE
                value = row.value if row is not None else None
                accepted.append(Entry(unit.video_id, value, turn.item_id, applies, groups))
                if turn.state is AnswerState.ANSWERED and row is not None:
                    share = float(row.state is ScoreState.SCORED)
                    covered.append(Entry(unit.video_id, share, turn.item_id, True, groups))
        by = ("kind", "turn")
        return [
            mean_of(NAME, accepted, scale=100.0, by=by),
            mean_of(f"{NAME}.coverage", covered, scale=100.0, by=by),
        ]


def _row(unit: JudgeUnit, turn: AnsweredTurn, ground: Ground | None, history: Sequence[tuple[str, str]]) -> JudgedScore:
    if ground is None:
        return _score(unit, turn, None, reason="the video has no graph", kind="")
    verdict = ground.check(turn.question, turn.text, history)
    if verdict.outcome == "not_covered":
        return _score(unit, turn, None, reason=verdict.reason, kind=verdict.kind)
    return _score(unit, turn, float(verdict.outcome == "accepted"), reason=verdict.reason, kind=verdict.kind)


def _score(unit: JudgeUnit, turn: AnsweredTurn, value: float | None, *, reason: str, kind: str) -> JudgedScore:
    return JudgedScore(
        unit="turn",
        unit_id=unit.id,
        turn_index=turn.turn_index,
        model=unit.model,
        criterion=CRITERION,
        value=value,
        state=ScoreState.NOT_APPLICABLE if value is None else ScoreState.SCORED,
        reason=reason if value is None else None,
        explanation=f"{KIND}{kind or 'unknown'}: {reason}",
        judge=NAME,
        video_id=turn.video_id,
    )


def _kind(row: JudgedScore | None) -> str:
    """The type of question that a row's explanation names."""
    if row is None or row.explanation is None or not row.explanation.startswith(KIND):
        return "unknown"
    return row.explanation.removeprefix(KIND).split(":", 1)[0]


def graphs_of(benchmark: Benchmark, initial_rooms: Mapping[str, str] | None = None) -> Callable[[str], Ground | None]:
    """The graphs of a benchmark's videos, each read when it is first asked for.

    Args:
        benchmark: Where the graphs lie.
        initial_rooms: The room in which the person starts, by activity, which released graphs may lack.

    Raises:
        InputError: A table or graph is damaged.
    """
    names = {Path(name).stem for name in benchmark.manifest.files if name.startswith(f"{GRAPHS}/")}
    clips: dict[str, list[tuple[Clip, str]]] = defaultdict(list)
    for clip in benchmark.read(CLIPS):
        if (name := graph_of_clip(clip, names)) is not None:
            clips[clip.video_id].append((clip, name))
    read: dict[str, Ground | None] = {}

    def ground(video_id: str) -> Ground | None:
        if video_id not in read:
            # Clips without times are in the order of the table, as in VDAct's recovered scenarios.
            ordered = sorted(clips[video_id], key=lambda found: found[0].interval.start_s if found[0].interval else 0.0)
            graphs = []
            for _, graph in ordered:
                path = benchmark.path / GRAPHS / f"{graph}.nq"
                graphs.append(read_activity(path.read_text(encoding="utf-8"), file=path, name=graph))
            read[video_id] = Ground(Story(graphs), initial_rooms) if graphs else None
        return read[video_id]

    return ground
