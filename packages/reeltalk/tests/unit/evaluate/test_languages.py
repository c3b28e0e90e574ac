"""Text metrics take the language of the references; no word of an answer, and no metric that fails, ends a run."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from reeltalk.errors import ReeltalkError
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.judge.settings import JudgeSettings
from reeltalk.metrics.meteor import MeteorError, MeteorProcess
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.stages import evaluate, judge
from reeltalk.stages.run import RunReport
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.runs import ANSWERS, INFO, read_run

ENGLISH = ("He opens the fridge.", "A red cup.", "In the kitchen.", "Twice.")
CHINESE = ("他打开了冰箱。", "一个红色的杯子。", "在厨房里。", "两次。")
STRANGE = (
    "He opens the 冰箱.", "杯", "😀 a cup 😀", "Чашка", "カップです", "كوب أحمر", "42", "…", "\u202eabc", "e\u0301 🇨🇳",
    "한국어 cup", "a" * 5000, "\u0000 cup", "<b>cup</b> ||| EVAL", "\n\n", "",
)  # fmt: skip
PLAYER = """
class Canned:
    name = "canned"
    answers = {answers!r}
    def answer(self, frames, history, question):
        return self.answers[question]
"""
BLIND = PlaySettings.model_validate({"frames": {"policy": "none"}})


def benchmark(folder: Path, references: Sequence[str], videos: int = 2) -> Benchmark:
    dialogues = [
        Dialogue(
            id=f"d{video}",
            video_id=f"v{video}",
            turns=tuple(
                Turn(question=f"Question {video}.{n}?", references=(reference,))
                for n, reference in enumerate(references)
            ),
        )
        for video in range(videos)
    ]
    content = Content(
        videos=[Video(id=f"v{video}", split="test", sha256=f"{video}" * 64) for video in range(videos)],
        dialogues=dialogues,
    )
    made = Benchmark.create(folder)
    made.write_content(content, stage="test")
    return made


def player(folder: Path, answers: Mapping[str, str]) -> str:
    path = folder / f"canned{len(list(folder.glob('canned*.py')))}.py"
    path.write_text(PLAYER.format(answers=dict(answers)), encoding="utf-8")
    return f"python:{path}:Canned"


def played(
    folder: Path, references: Sequence[str], said: Callable[[int, str], str], *, metrics: str = "bleu,rouge_l,cider"
) -> RunReport:
    made = benchmark(folder / "bench", references)
    turns = [turn for dialogue in made.content().dialogues for turn in dialogue.turns]
    answers = {turn.question: said(number, turn.references[0]) for number, turn in enumerate(turns)}
    judging = JudgeSettings(protocols=("match",), metrics=tuple(metrics.split(",")))
    return evaluate(made, model=player(folder, answers), out=folder / "run", play=BLIND, judging=judging)


def lang(report: RunReport, metric: str = "bleu_1") -> str:
    [row] = [row for row in report.run.summary if row.metric == metric]
    return next(part for part in row.signature.split("|") if part.startswith("lang:"))


@pytest.mark.parametrize("kind", ["en", "zh", "per-item"])
def test_strange_answers_leave_all_other_numbers_as_they_are(kind: str, tmp_path: Path) -> None:
    references = {"en": ENGLISH, "zh": CHINESE, "per-item": ENGLISH[:2] + CHINESE[2:]}[kind] * 8

    def said(number: int, reference: str) -> str:
        return STRANGE[number // 2 % len(STRANGE)] if number % 2 else reference

    report = played(tmp_path, references, said)
    assert report.value("rouge_l") is not None
    found = [row.scores.get("rouge_l") for row in report.run.item_scores()]
    assert len(found) == 2 * len(references)
    assert set(found[::2]) == {1.0}
    assert all(value is not None and 0 <= value < 1 for value in found[1::2])
    assert lang(report) == f"lang:{kind}"


def test_chinese_references_are_chinese_whatever_is_answered(tmp_path: Path) -> None:
    report = played(tmp_path, CHINESE, lambda number, _: ENGLISH[number % 4])
    assert lang(report) == "lang:zh"
    assert report.value("rouge_l") == 0.0


def test_each_item_of_a_mixed_benchmark_has_its_own_tokens(tmp_path: Path) -> None:
    mixed = played(tmp_path, (*ENGLISH, *CHINESE), lambda _, reference: reference[:-1])
    apart = {}
    for name, references in (("en", ENGLISH), ("zh", CHINESE)):
        (tmp_path / name).mkdir()
        alone = played(tmp_path / name, references, lambda _, reference: reference[:-1], metrics="rouge_l,token_f1")
        apart[name] = alone.value("rouge_l"), alone.value("token_f1")
    # English tokens are without punctuation and Chinese ones are single characters: both in one run.
    assert apart["en"] == (1.0, 1.0)
    assert mixed.value("rouge_l") == pytest.approx((apart["en"][0] + (apart["zh"][0] or 0)) / 2)


def test_a_metric_that_cannot_be_had_is_unscored_with_its_reason(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def broken(answers, references):\n    raise OSError('no such server')\n", encoding="utf-8")
    report = played(tmp_path, CHINESE, lambda _, reference: reference, metrics=f"meteor,python:{mine}:broken,rouge_l")
    assert report.value("rouge_l") == 1.0
    assert report.value("match") == 100.0
    assert report.value("meteor") is None
    assert report.value("broken") is None
    why = {row.metric: row.reason for row in read_run(tmp_path / "run").info.unscored}
    assert set(why) == {"meteor", "broken"}
    assert "no such server" in why["broken"]
    told = "\n".join(report.text)
    assert "broken not scored:" in told
    assert "meteor not scored:" in told


def test_java_that_dies_half_way_costs_its_own_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count()

    def statistics(self: MeteorProcess, answers: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        next(calls)
        raise MeteorError("METEOR stopped after 0 of 8 replies: OutOfMemoryError")

    class Warm(MeteorProcess):
        def __init__(self, *, jar: Path | None = None, java: str = "java") -> None:
            self.jar = Path(__file__)

        def __enter__(self) -> "Warm":
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(MeteorProcess, "statistics", statistics)
    monkeypatch.setattr("reeltalk.stages.run.MeteorProcess", Warm)
    report = played(tmp_path, ENGLISH, lambda _, reference: reference, metrics="meteor,rouge_l")
    assert next(calls) == 1
    assert report.value("rouge_l") == 1.0
    assert "OutOfMemoryError" in report.run.info.unscored[0].reason


MATCH = JudgeSettings(protocols=("match",), metrics=("bleu", "rouge_l", "cider"))


def test_an_error_in_the_tables_leaves_answers_and_scores_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = benchmark(tmp_path / "bench", ENGLISH)
    turns = [turn for dialogue in made.content().dialogues for turn in dialogue.turns]
    model = player(tmp_path, {turn.question: turn.references[0] for turn in turns})

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the disk of numpy is full")

    with monkeypatch.context() as patched:
        patched.setattr("reeltalk.stages.run.tables_of", broken)
        with pytest.raises(RuntimeError):
            evaluate(made, model=model, out=tmp_path / "run", play=BLIND, judging=MATCH)
    assert len((tmp_path / "run" / ANSWERS).read_text(encoding="utf-8").splitlines()) == 8
    assert len((tmp_path / "run" / "scores/judged-match.jsonl").read_text(encoding="utf-8").splitlines()) == 8
    assert not (tmp_path / "run" / INFO).exists()
    report = evaluate(made, model=model, out=tmp_path / "run", play=BLIND, judging=MATCH)
    assert report.value("match") == 100.0


def test_judge_takes_a_foreign_word_too(tmp_path: Path) -> None:
    played(tmp_path, ENGLISH, lambda number, reference: reference + " 好" if number == 0 else reference)
    report = judge(tmp_path / "run", out=tmp_path / "judged")
    assert report.value("bleu_1") is not None
    assert lang(report) == "lang:en"
    with pytest.raises(ReeltalkError):
        judge(tmp_path / "nothing", out=tmp_path / "judged")
