"""Every due turn is counted once in every number, whatever became of its answer, and no fault makes a number better.

Small benchmarks of your own questions are answered by tables of answers: turns with options, a key, a short or a long
reference, or none that is asked, each answered, or spoilt in one of the ways in which answers are.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reeltalk.evaluation.playing.script import ONE_ABILITY
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.formats.qa import read_questions
from reeltalk.judge.judge import NULL_MODEL
from reeltalk.judge.settings import JudgeSettings
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.runs import SummaryRow, is_withheld
from reeltalk.stages import evaluate
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run

BLIND: Final = PlaySettings.model_validate({"frames": {"policy": "none"}, "rounds": "mt-video-bench"})
TEXTS: Final = ("bleu", "rouge_l", "cider", "token_f1")
OWN: Final = """
class Mention:
    name, scale = "mention", (0, 2)
    def score(self, question, references, answer):
        return 2 if any(reference in answer for reference in references) else 0
"""


@dataclass(frozen=True)
class Form:
    """A kind of turn, with a right and a wrong answer."""

    question: str
    right: str
    wrong: str
    options: tuple[str, ...] = ()
    key: AnswerKey | None = None
    asked: bool = True


FORMS: Final = {
    "options": Form("Which utensil is it?", "a whisk", "a spoon", options=("a ladle", "a whisk", "a spoon")),
    "key": Form(
        "In which room is he?",
        "In the kitchen.",
        "In the bedroom.",
        key=AnswerKey(type="room", values=("kitchen",), among=("bedroom",)),
    ),
    "short": Form("Who comes in?", "The cook.", "The neighbour."),
    "long": Form(
        "Why does she go out?",
        "She goes out to buy flour since the jar on the shelf is empty.",
        "He is tired of all these people and wants to be alone for a while.",
    ),
    "unasked": Form("And then?", "It falls.", "It stands.", asked=False),
}
FAULTS: Final[dict[str, tuple[str | None, str]]] = {
    "empty": ("", "empty"),
    "thought alone": ("<think>It has wires, and I would", "failed"),
    "says none": (None, "missing"),
    "no row": (None, "missing"),
    "refused": ("I'm sorry, but I can't help with that.", "answered"),
    "cut off": ("It must b", "answered"),
    "unread": ("Something happens there.", "answered"),
}
"""The text of a spoilt answer, and what became of its turn."""
WITHOUT: Final = ("failed", "missing")


@dataclass(frozen=True)
class Said:
    """A turn, whether its answer is right, and how the answer is spoilt."""

    form: str
    right: bool = True
    fault: str = ""

    @property
    def outcome(self) -> str:
        if not FORMS[self.form].asked:
            return "not_due"
        return FAULTS[self.fault][1] if self.fault else "answered"

    @property
    def text(self) -> str | None:
        form = FORMS[self.form]
        return FAULTS[self.fault][0] if self.fault else form.right if self.right else form.wrong


def units_of(turns: Sequence[Said]) -> list[tuple[str, int]]:
    """Dialogue and position of each turn: dialogues of three turns, and one for each turn that is not asked."""
    places, asked = list[tuple[str, int]](), 0
    for number, turn in enumerate(turns):
        if FORMS[turn.form].asked:
            places.append((f"talk{asked // 3}", asked % 3))
            asked += 1
        else:
            places.append((f"quiet{number}", 0))
    return places


def benchmark(folder: Path, turns: Sequence[Said]) -> Benchmark:
    rows = []
    for (unit, _), turn in zip(units_of(turns), turns, strict=True):
        form = FORMS[turn.form]
        rows.append({"video": f"{unit}.mp4", "dialogue": unit, "question": form.question, "answer": form.right}
                    | ({"options": list(form.options)} if form.options else {}))  # fmt: skip
    table = folder / "questions.json"
    table.write_text(json.dumps(rows), encoding="utf-8")
    content = read_questions(table).content
    keys = {form.question: form.key for form in FORMS.values()}
    content.dialogues[:] = [
        dialogue.model_copy(
            update={
                "turns": tuple(turn.model_copy(update={"key": keys[turn.question]}) for turn in dialogue.turns),
                "task": next(iter(ONE_ABILITY)) if dialogue.id.startswith("quiet") else None,
            }
        )
        for dialogue in content.dialogues
    ]
    made = Benchmark.create(folder / "bench")
    made.write_content(content, stage="test")
    return made


def played(folder: Path, made: Benchmark, turns: Sequence[Said], name: str) -> Run:
    """A run of a table of answers."""
    rows = [
        {"unit_id": unit, "turn_index": index, "text": turn.text}
        for (unit, index), turn in zip(units_of(turns), turns, strict=True)
        if turn.fault != "no row" and FORMS[turn.form].asked
    ]
    (folder / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    judging = JudgeSettings(protocols=("auto", f"python:{folder / 'own.py'}:Mention"), metrics=TEXTS)
    model = f"answers:{folder / f'{name}.json'}"
    return evaluate(made, model=model, out=folder / f"run-{name}", play=BLIND, judging=judging).run


def rows_of(run: Run, model: str) -> dict[str, SummaryRow]:
    return {row.metric: row for row in run.summary if row.model == model}


def due_of(metric: str, asked: Mapping[str, int]) -> int | None:
    """Number of due turns that a number is about; None for numbers of dialogues, times and cascades."""
    everything, short = sum(asked.values()), asked.get("short", 0) + asked.get("long", 0)
    about = {
        "typed": asked.get("key", 0),
        "accuracy": asked.get("options", 0),
        "match": short,
        "correct": everything,
        "mention": everything,
    }
    about |= dict.fromkeys(("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider", "token_f1"), everything)
    return about.get(metric.removesuffix(".unread"))


def check_counts(run: Run, name: str, turns: Sequence[Said]) -> None:
    """The ledger and all numbers count the turns as they are."""
    (info,) = (info for info in run.info.models if info.model == name)
    expected = Counter(turn.outcome for turn in turns)
    assert info.turns == dict(expected)
    assert info.due == sum(count for outcome, count in expected.items() if outcome != "not_due")
    assert info.without_answer == expected["failed"] + expected["missing"]
    asked = Counter(turn.form for turn in turns if FORMS[turn.form].asked)
    lost = {form: sum(turn.outcome in WITHOUT for turn in turns if turn.form == form) for form in asked}
    rows = rows_of(run, name)
    judged = [form for form, metric in (("key", "typed"), ("options", "accuracy"), ("short", "match")) if asked[form]]
    assert ("correct" in rows) is (len(judged) > 1)
    for metric, row in rows.items():
        if (due := due_of(metric, asked)) is None:
            continue
        assert row.n + row.unscored + row.not_applicable == due, metric
        assert sum(row.reasons.values()) == row.unscored, metric
        assert (row.value is None) is (row.n == 0 or is_withheld(row.n, row.unscored)), metric
        if metric in ("match", "correct"):
            assert row.not_applicable == asked["long"], "what no rule can judge depends on the benchmark alone"
        if metric.removesuffix(".unread") in ("typed", "accuracy", "mention") or metric in ("rouge_l", "token_f1"):
            about = {"typed": ["key"], "accuracy": ["options"]}.get(metric.removesuffix(".unread"), list(asked))
            assert row.unscored == sum(lost[form] for form in about), metric
    if (whole := rows.get("correct")) is not None:
        parts = [rows[metric] for metric in ("typed", "accuracy", "match") if metric in rows]
        assert (whole.n, whole.unscored) == (sum(row.n for row in parts), sum(row.unscored for row in parts))
        forms = [group for group in run.groups() if (group.model, group.metric) == (name, "correct")]
        of_forms = [group for group in forms if group.by == "form"]
        assert (whole.n, whole.unscored) == (sum(row.n for row in of_forms), sum(row.unscored for row in of_forms))
    # A curve has the positions at which a turn is scored.
    for metric in rows:
        points = [point for point in run.curves if (point.model, point.metric) == (name, metric)]
        assert not points or sum(point.n for point in points) == rows[metric].n, metric
        assert sum(point.unscored for point in points) <= rows[metric].unscored, metric
        assert all(point.n for point in points), metric


def credit(row: SummaryRow) -> float:
    """The sum of a number over its scored turns."""
    value = row.value if row.value is not None else row.over_scored
    return 0.0 if value is None else value * row.n


def check_no_better(clean: Run, spoilt: Run) -> None:
    """Faults raise no number, show none that was withheld, and leave the turns that it is about as they are."""
    before, after = rows_of(clean, "clean"), rows_of(spoilt, "spoilt")
    assert {metric for metric in before if due_of(metric, {}) is not None} <= after.keys()
    for metric, row in after.items():
        if "." in metric or due_of(metric, {}) is None or metric not in before:
            continue
        first = before[metric]
        assert first.n + first.unscored + first.not_applicable == row.n + row.unscored + row.not_applicable, metric
        if first.value is None:
            assert row.value is None or first.n == 0, f"{metric} is shown though turns were lost"
        elif row.value is not None and metric != "cider" and not metric.startswith("bleu"):
            assert credit(row) <= credit(first) + 1e-9, metric
            # Up to 2 % of the turns may be lost from a number that is shown, wrong ones too.
            assert row.value <= first.value + 1e-9 or 0 < row.unscored, metric


ANSWERS: Final = st.builds(Said, st.sampled_from(sorted(FORMS)), st.booleans())
SPOILT: Final = st.sampled_from(["", *sorted(FAULTS)])


@st.composite
def spoilt_answers(draw: st.DrawFn) -> tuple[list[Said], list[Said]]:
    """Answers of a model, and of one that is the same but for its faults."""
    # One answer stays: a model that answers no turn has no run. Many of one kind: few faults are below 2 %.
    some = draw(st.lists(st.tuples(ANSWERS, SPOILT, SPOILT), min_size=1, max_size=8))
    rest = [Said(draw(st.sampled_from(["options", "key", "short"])))] * draw(st.sampled_from([0, 60]))
    has_faults = draw(st.booleans())
    clean = [Said(turn.form, turn.right, fault if has_faults else "") for turn, fault, _ in some]
    spoilt = [Said(turn.form, turn.right, turn.fault or later) for turn, (_, _, later) in zip(clean, some, strict=True)]
    return [Said("short"), *clean, *rest], [Said("short"), *spoilt, *rest]


@given(spoilt_answers())
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[phase for phase in Phase if phase is not Phase.explain],
)
def test_turns_are_counted_once_and_no_fault_helps(pair: tuple[list[Said], list[Said]]) -> None:
    clean, spoilt = pair
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        made = benchmark(folder, clean)
        first, second = (played(folder, made, turns, name) for turns, name in ((clean, "clean"), (spoilt, "spoilt")))
        check_counts(first, "clean", clean)
        check_counts(second, "spoilt", spoilt)
        check_no_better(first, second)
        # The floor is judged on the same turns.
        own, floor = rows_of(second, "spoilt"), rows_of(second, NULL_MODEL)
        for metric in ("typed", "accuracy", "match", "correct"):
            if metric in floor:
                row = own[metric]
                assert floor[metric].n + floor[metric].not_applicable == row.n + row.unscored + row.not_applicable


MIXED: Final = tuple(Said(form) for form in ("short", "options", "key", "long", "unasked"))
WHOLE: Final = (*MIXED, *(Said("short") for _ in range(196)))


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[Benchmark, Run]:
    """A benchmark of two hundred turns, and a run of right answers."""
    folder = tmp_path_factory.mktemp("clean")
    made = benchmark(folder, WHOLE)
    run = played(folder, made, WHOLE, "clean")
    check_counts(run, "clean", WHOLE)
    assert rows_of(run, "clean")["correct"].value == 100.0
    return made, run


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_each_fault_alone(fault: str, clean: tuple[Benchmark, Run], tmp_path: Path) -> None:
    """A turn of each form is spoilt in the same way."""
    spoilt = (WHOLE[0], *(Said(turn.form, turn.right, fault) for turn in WHOLE[1:4]), *WHOLE[4:])
    run = played(tmp_path, clean[0], spoilt, "spoilt")
    check_counts(run, "spoilt", spoilt)
    check_no_better(clean[1], run)
    rows, outcome = rows_of(run, "spoilt"), FAULTS[fault][1]
    if outcome in WITHOUT:
        # One turn of options, and one with a key, are all that these two numbers have.
        assert [(rows[name].value, rows[name].unscored) for name in ("typed", "accuracy")] == [(None, 1)] * 2
        assert (rows["correct"].value, rows["correct"].unscored) == (100.0, 2)
        assert (rows["rouge_l"].value, rows["rouge_l"].unscored) == (1.0, 3)
    else:
        assert [(rows[name].value, rows[name].unscored) for name in ("typed", "accuracy")] == [(0.0, 0)] * 2
        assert rows["correct"].value == pytest.approx(100 * 197 / 199)
        unread = [rows[f"{name}.unread"].value for name in ("typed", "accuracy")]
        assert unread == [0.0 if outcome == "empty" else 100.0] * 2
        assert (rows["rouge_l"].value or 0) < 1


def test_failed_answers_above_two_per_cent_withhold_every_number_of_theirs(tmp_path: Path) -> None:
    turns = (*MIXED, *(Said("short", fault="thought alone") for _ in range(3)))
    rows = rows_of(played(tmp_path, benchmark(tmp_path, turns), turns, "spoilt"), "spoilt")
    assert {rows[metric].value for metric in ("match", "correct", "mention", "bleu_1", "rouge_l", "token_f1")} == {None}
    assert rows["correct"].over_scored == 100.0
    assert rows["rouge_l"].over_scored == 1.0
    assert (rows["typed"].value, rows["accuracy"].value) == (100.0, 100.0), "all of their turns have answers"


@pytest.mark.parametrize("blank", [" ", "\n\n", "<|im_end|>"])
def test_an_answer_without_a_word_is_empty_and_did_not_fail(
    blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FAULTS, "empty", (blank, "empty"))
    turns = (*MIXED, Said("short", fault="empty"))
    check_counts(played(tmp_path, benchmark(tmp_path, turns), turns, "spoilt"), "spoilt", turns)
