"""How long a report on 50,000 turns takes, how much memory it needs, and how large its pages are.

The run is drawn at random: 5,000 dialogues of ten turns about 500 videos, answers of a few words to a few sentences, a
text metric, right or wrong by choice, and a judge that explains itself. The command line builds the report in its own
process, so that its start and its peak memory count.
"""

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from record import Measure, at_most, options_of, record
from reeltalk import __version__
from reeltalk.schema.answers import AnsweredTurn, AnswerState, PlayDetails
from reeltalk.schema.record import VideoId
from reeltalk.schema.runs import CurvePoint, ItemScores, ModelInfo, RunInfo, SummaryRow
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.runs import write_tables
from spending import reeltalk, spend

TURNS_A_DIALOGUE = 10
DIALOGUES_A_VIDEO = 10
WORDS = [
    "the", "person", "walks", "to", "kitchen", "and", "opens", "a", "fridge", "then", "takes", "milk", "out", "of",
    "it", "before", "sitting", "down", "at", "table", "with", "cup", "bread", "television", "lamp", "light", "red",
    "shirt", "left", "hand", "while", "other", "one", "turns", "off", "stove", "again", "twice", "he", "she", "looks",
]  # fmt: skip
TASKS = ("memory_recall", "jumping_rope", "object_reference", "answer_refusal")
TYPES = ("D-ACT", "T-SEQ", "D-INT", "E-WHY", "C-CNT")
JUDGE = "judge-model-72b"


class Drawn:
    """A run of `turns` turns by `models` models, drawn in the same way each time."""

    def __init__(self, turns: int, models: int) -> None:
        self.turns, self.models = turns, [f"model-{number + 1}" for number in range(models)]
        self.words = random.Random(5).choices(WORDS, k=1 << 16)

    def text(self, draw: random.Random, low: int, high: int) -> str:
        start = draw.randrange(len(self.words) - high)
        return " ".join(self.words[start : start + draw.randint(low, high)])

    def places(self) -> Iterator[tuple[str, str, int, random.Random]]:
        for number in range(self.turns):
            dialogue, turn = divmod(number, TURNS_A_DIALOGUE)
            yield f"dialogue-{dialogue:05d}", f"video-{dialogue // DIALOGUES_A_VIDEO:04d}", turn, random.Random(number)

    def verdict(self, protocol: str, model: str, unit_id: str, turn: int) -> tuple[random.Random, float | None]:
        """What a judge gives, and what draws its words; seldom nothing."""
        own = random.Random(f"{protocol}/{model}/{unit_id}/{turn}")
        return own, None if own.random() < 0.005 else round(own.random(), 2)

    def credit(self, model: int, unit_id: str, turn: int) -> float:
        return 100.0 * (random.Random(f"{model}/{unit_id}/{turn}").random() < 0.4 + 0.08 * model)

    def answers(self) -> Iterator[AnsweredTurn]:
        for number, model in enumerate(self.models):
            for unit_id, video, turn, draw in self.places():
                question, reference = self.text(draw, 6, 16) + "?", self.text(draw, 3, 18)
                task, kind = draw.choice(TASKS), draw.choice(TYPES)
                own = random.Random(f"{model}/{unit_id}/{turn}")
                failed = own.random() < 0.003
                yield AnsweredTurn(
                    model=model,
                    item_id=f"{unit_id}/{turn}",
                    video_id=VideoId(video),
                    unit_id=unit_id,
                    turn_index=turn,
                    question=question,
                    references=(reference,),
                    text="" if failed else self.text(own, 3, 40),
                    state=AnswerState.FAILED if failed else AnswerState.ANSWERED,
                    reason=f"{model} gave status {500 + number}" if failed else None,
                    labels={"vdact.question_type": (kind,), "cogme.target": ("Object",)},
                    task=task,
                    asked_at_s=20.0 * (turn + 1),
                    played=PlayDetails(
                        frames_s=tuple(20.0 * turn + 2.5 * step for step in range(8)),
                        new_frames=8,
                        took_s=round(own.uniform(0.4, 4.0), 3),
                        prompt_tokens=own.randint(800, 9000),
                        completion_tokens=own.randint(3, 80),
                    ),
                )

    def items(self) -> Iterator[ItemScores]:
        for number, model in enumerate(self.models):
            for unit_id, _, turn, draw in self.places():
                scores = {"choice": self.credit(number, unit_id, turn), "rouge_l": draw.random(), "took_s": 1.0}
                _, given = self.verdict("clair", model, unit_id, turn)
                scores |= {} if given is None else {"clair": given}
                yield ItemScores(model=model, item_id=f"{unit_id}/{turn}", scores=scores)

    def judged(self, protocol: str) -> Iterator[JudgedScore]:
        for number, model in enumerate(self.models):
            for unit_id, video, turn, _ in self.places():
                own, value = self.verdict(protocol, model, unit_id, turn)
                about = {
                    "unit": "turn", "unit_id": unit_id, "turn_index": turn, "model": model,
                    "video_id": VideoId(video), "criterion": protocol,
                }  # fmt: skip
                if protocol == "choice":
                    yield JudgedScore.model_validate(
                        about | {"value": self.credit(number, unit_id, turn), "judge": "none"}
                    )
                elif value is None:
                    missing = {"state": ScoreState.UNSCORED, "reason": "the reply holds no score", "replies": ("{",)}
                    yield JudgedScore.model_validate(about | missing | {"judge": JUDGE})
                else:
                    said = self.text(own, 8, 30)
                    reply = f'{{"score": {round(value * 100)}, "reason": "{said}"}}'
                    more = {"value": value, "explanation": said, "judge": JUDGE, "replies": (reply,)}
                    yield JudgedScore.model_validate(about | more)

    def write(self, folder: Path) -> None:
        metrics = ("choice", "clair", "rouge_l", "took_s")
        signature = "bench.dialogue|data:1|metric:{}|ci:95%-by-video-1000|seed:17|v:0.1.0"
        summary, curves = [], []
        for model in self.models:
            for metric in metrics:
                scale = 100.0 if metric == "choice" else 1.0
                value, low, high = (scale * share for share in (0.5, 0.48, 0.52))
                row = {"model": model, "metric": metric, "value": value, "n": self.turns, "low": low, "high": high}
                summary.append(SummaryRow.model_validate(row | {"signature": signature.format(metric)}))
                curves += [
                    CurvePoint.model_validate(row | {"turn_index": turn, "n": self.turns // TURNS_A_DIALOGUE})
                    for turn in range(TURNS_A_DIALOGUE)
                ]
        info = RunInfo(
            kind="evaluate",
            reeltalk_version=__version__,
            subject="bench.dialogue",
            models=tuple(
                ModelInfo(model=model, source=model, sha256="", rows=self.turns, items=self.turns)
                for model in self.models
            ),
            metrics=metrics,
            clusters=self.turns // TURNS_A_DIALOGUE // DIALOGUES_A_VIDEO,
        )
        folder.mkdir()
        write_tables(
            folder,
            info,
            answers=self.answers(),
            items=self.items(),
            summary=summary,
            curves=curves,
            judged={protocol: self.judged(protocol) for protocol in ("choice", "clair")},
        )


def build(run: Path, site: Path) -> tuple[float, float, float]:
    """Seconds on the clock, seconds of processors, and the largest process in MiB, of one `reeltalk report`."""
    spent = spend(reeltalk("report", str(run), "--out", str(site)))
    return spent.wall_s, spent.cpu_s, spent.peak_mib


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--turns", type=int, help="50,000; 5,000 with --quick")
    parser.add_argument("--models", type=int, nargs="+", help="2 and 6; 2 with --quick")
    parser.add_argument("--keep", type=Path, help="a folder for runs and sites, which are kept there")
    arguments = parser.parse_args()
    turns = arguments.turns or (5_000 if arguments.quick else 50_000)
    teams = arguments.models or ([2] if arguments.quick else [2, 6])
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="reeltalk-bench-report-"))
    folder.mkdir(parents=True, exist_ok=True)
    figures: dict[str, float] = {}
    try:
        for models in teams:
            run, site = folder / f"run-{models}", folder / f"site-{models}"
            if not run.exists():
                Drawn(turns, models).write(run)
            shutil.rmtree(site, ignore_errors=True)
            wall_s, cpu_s, peak_mib = build(run, site)
            sizes = {path: path.stat().st_size for path in site.rglob("*") if path.is_file()}
            largest = max(sizes, key=lambda path: sizes[path])
            print(f"{models} models: the largest file is {largest.relative_to(site)}", flush=True)
            figures |= {
                f"models_{models}_seconds": wall_s,
                f"models_{models}_cpu_s": cpu_s,
                f"models_{models}_peak_mib": peak_mib,
                f"models_{models}_files": len(sizes),
                f"models_{models}_site_mb": sum(sizes.values()) / 1e6,
                f"models_{models}_largest_file_mb": max(sizes.values()) / 1e6,
            }
    finally:
        if arguments.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    promised = "promise of the changelog"
    measures = []
    for models in teams:
        of = f"report on {turns:,} turns of {models} models"
        measures += [
            Measure(f"{of}: built in", figures[f"models_{models}_seconds"], "s", goal=at_most(60, promised)),
            Measure(
                f"{of}: largest page", figures[f"models_{models}_largest_file_mb"], "MB", goal=at_most(2, promised)
            ),
            Measure(f"{of}: peak of memory", figures[f"models_{models}_peak_mib"], "MiB"),
        ]
    record(
        "report",
        measures,
        figures=figures,
        quick=arguments.quick,
        packages=["jinja2", "reeltalk"],
        notes=[f"{turns:,} turns a model, {TURNS_A_DIALOGUE} a dialogue; peak: the largest of the processes"],
    )


if __name__ == "__main__":
    main()
