"""Tags are proposed for turns that lack them: which are taken, what stays, what is marked, how people put it right."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from told_households import told

from reeltalk.cli import run
from reeltalk.parallel import LocalExecutor
from reeltalk.progress import Progress
from reeltalk.schema.dialogue import Dialogue, DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES, PATHS, TAG_PROPOSALS, VIDEOS
from reeltalk.store.validate import validate
from reeltalk_build.construct.settings import ConstructSettings, ReviewSettings, TagSettings
from reeltalk_build.construct.stage import construct
from reeltalk_build.construct.step import ConstructRun
from reeltalk_build.construct.tagging.stage import tag
from reeltalk_build.construct.tagging.turns import (
    TAGGED,
    TagDecision,
    TurnTags,
    TurnToTag,
    choose_tags,
    known_vocabularies,
    read_turns,
    select_for_review,
)
from reeltalk_household.writer.graph_writer import GraphWriter

TARGETS = known_vocabularies()[TAGGED[0]]
GIVEN = {TAGGED[0]: ("Character",), TAGGED[1]: ("Feature",), TAGGED[2]: ("Recall",)}


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8), st.sampled_from(TAGGED))
def test_the_margin_is_how_far_probabilities_may_move(values: list[float], vocabulary: str) -> None:
    tags = known_vocabularies()[vocabulary]
    said = dict(zip(tags, values, strict=False))
    found = choose_tags(vocabulary, said)
    assert 1 <= len(found.tags) <= (1 if vocabulary == TAGGED[2] else 3)
    assert 0 <= found.margin <= 0.5
    assert found.tags == tuple(tag for tag in tags if tag in found.tags)
    if found.margin < 1e-6:
        return
    step = found.margin * 0.99
    for push in (1, -1):
        # All that was taken moves one way, and all else the other.
        moved = {tag: value + push * (step if tag in found.tags else -step) for tag, value in said.items()}
        assert choose_tags(vocabulary, moved).tags == found.tags
    beyond = found.margin + 1e-6
    changes = []
    for one in tags:
        for other in tags:
            moved = dict(said)
            moved[one] -= beyond
            moved[other] += beyond if other != one else 0.0
            changes.append(choose_tags(vocabulary, moved).tags != found.tags)
    assert any(changes)


@pytest.mark.parametrize(
    ("values", "tags"),
    [
        ({"Character": 0.2, "Object": 0.4, "Place": 0.1}, ("Object",)),
        ({"Character": 0.6, "Object": 0.9, "Place": 0.1}, ("Character", "Object")),
        ({"Character": 0.6, "Object": 0.9, "Place": 0.7, "Event": 0.8}, ("Object", "Place", "Event")),
    ],
)
def test_one_to_three_tags_are_taken(values: dict[str, float], tags: tuple[str, ...]) -> None:
    assert choose_tags(TAGGED[0], values).tags == tags


def sure(margin: float) -> TurnTags:
    return TurnTags({TAGGED[0]: TagDecision(("Object",), margin)}, {TAGGED[0]: {"Object": 0.5 + margin}})


def test_the_closest_calls_are_reviewed_first_and_what_has_no_tags_before_them() -> None:
    turns = [sure(0.4), sure(0.01), TurnTags({}, {}, "nothing"), sure(0.2), sure(0.05)]
    assert select_for_review(turns, ReviewSettings(review_share=0.5)) == (2, 1, 4)
    assert select_for_review(turns, ReviewSettings(review_share=0)) == (2,)


class Fixed:
    """Says the same of every turn, and nothing where the question asks for silence."""

    signature = "fixed#00000000"

    def __init__(self, target: str = "Object") -> None:
        said = {name: {tag: 0.1 for tag in tags} for name, tags in known_vocabularies().items()}
        said[TAGGED[0]][target] = said[TAGGED[1]]["Identity"] = said[TAGGED[2]]["Grasping"] = 0.8
        self._said: Mapping[str, Mapping[str, float]] = said
        self.asked: list[str] = []

    def tag(self, turns: Sequence[TurnToTag], progress: Progress) -> list[TurnTags]:
        self.asked = [asked.turn.question for asked in turns]
        made = TurnTags({name: choose_tags(name, part) for name, part in self._said.items()}, self._said)
        return [
            TurnTags({}, {}, "no usable reply", ("hm",)) if "silent" in asked.turn.question else made for asked in turns
        ]


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    """Turns without tags, with a person's, with some of them, in a chain, a dialogue and a path."""
    plain = Turn(question="What is it?", references=("A cup.",))
    human = Turn(question="How is she?", references=("Tall.",), labels={**GIVEN, "mine": ("x",)})
    partly = Turn(question="Who is it?", references=("Ann.",), labels={TAGGED[0]: ("Emotion",)})
    benchmark = Benchmark.create(tmp_path / "bench")
    with benchmark.writing(stage="test") as writer:
        writer.add(VIDEOS, [Video(id="v"), Video(id="w")])
        writer.add(CHAINS, [QAChain(id="c", video_id="v", turns=(plain, human))])
        writer.add(DIALOGUES, [Dialogue(id="d", video_id="w", turns=(partly, Turn(question="Stay silent?")))])
        steps = (
            PathStep(ref=TurnRef(unit_id="c", turn_index=0)),
            PathStep(ref=TurnRef(unit_id="c", turn_index=1), turn=plain),
        )
        writer.add(PATHS, [DialoguePath(id="p", video_id="v", steps=steps)])
    return Benchmark.open(benchmark.path)


def labels(benchmark: Benchmark) -> dict[tuple[str, str, int], dict[str, tuple[str, ...]]]:
    return {asked.place: asked.turn.labels for asked in read_turns(Benchmark.open(benchmark.path))}


def test_only_what_is_lacking_is_tagged_and_marked_as_a_machines(bench: Benchmark) -> None:
    before = dict(bench.manifest.files)
    done = tag(bench, Fixed(), TagSettings(), ReviewSettings(review_share=0.4))
    assert (done.turns, done.tagged, done.untagged) == (5, 3, 1)
    found = labels(bench)
    assert found["chain", "c", 1] == {**GIVEN, "mine": ("x",)}
    assert found["dialogue", "d", 0] == {TAGGED[0]: ("Emotion",), TAGGED[1]: ("Identity",), TAGGED[2]: ("Grasping",)}
    proposed = {TAGGED[0]: ("Object",), TAGGED[1]: ("Identity",), TAGGED[2]: ("Grasping",)}
    assert found["chain", "c", 0] == found["path", "p", 1] == proposed
    assert not found["dialogue", "d", 1]
    opened = Benchmark.open(bench.path)
    assert {a.place: a.turn.extra.get("tags_verified") for a in read_turns(opened)}["chain", "c", 0] is False
    rows = {(row.unit_id, row.turn_index, row.vocabulary): row for row in opened.read(TAG_PROPOSALS)}
    assert len(rows) == 3 + 2 + 3 + 3
    assert rows["c", 0, TAGGED[0]].probabilities["Object"] == 0.8
    assert rows["c", 0, TAGGED[0]].tagger == Fixed.signature
    assert rows["d", 1, TAGGED[0]].raw == ("hm",)
    assert rows["d", 1, TAGGED[0]].needs_review
    assert not rows["d", 1, TAGGED[0]].tags
    assert [str(finding) for finding in validate(opened)] == []
    entry = opened.manifest.files["tag_proposals.jsonl"]
    assert (entry.stage, entry.settings["tagger"]) == ("tag", Fixed.signature)
    assert entry.parents["chains.jsonl"] == before["chains.jsonl"].sha256
    assert opened.manifest.files["chains.jsonl"].stage == "test", "it stays the work of whoever wrote it"


def test_a_second_run_tags_only_what_is_still_lacking(bench: Benchmark) -> None:
    tag(bench, Fixed(), TagSettings(), ReviewSettings())
    content = {path.name: path.read_bytes() for path in bench.path.glob("*.jsonl")}
    again = Fixed("Event")
    tag(Benchmark.open(bench.path), again, TagSettings(), ReviewSettings())
    assert again.asked == ["Stay silent?"]
    assert {path.name: path.read_bytes() for path in bench.path.glob("*.jsonl")} == content


@pytest.mark.parametrize(("replace", "touched"), [("proposed", False), ("all", True)])
def test_what_is_replaced_is_replaced_by_name(bench: Benchmark, replace: str, touched: bool) -> None:
    tag(bench, Fixed(), TagSettings(), ReviewSettings())
    settings = TagSettings.model_validate({"replace": replace})
    tag(Benchmark.open(bench.path), Fixed("Event"), settings, ReviewSettings())
    found = labels(bench)
    assert found["chain", "c", 0][TAGGED[0]] == ("Event",)
    assert (found["chain", "c", 1][TAGGED[0]] == ("Event",)) == touched
    assert (found["dialogue", "d", 0][TAGGED[0]] == ("Event",)) == touched
    assert found["chain", "c", 1]["mine"] == ("x",)


def test_what_people_put_right_stays(bench: Benchmark) -> None:
    tag(bench, Fixed(), TagSettings(), ReviewSettings())
    entry = bench.manifest.files[DIALOGUES.file_name]
    right = {TAGGED[0]: ("Place", "Event"), TAGGED[1]: ("Context",), TAGGED[2]: ("Reasoning",)}
    rows = [
        row.model_copy(update={"turns": tuple(turn.model_copy(update={"labels": right}) for turn in row.turns)})
        for row in bench.read(DIALOGUES)
    ]
    with bench.writing(stage="review apply", settings={}) as writer:
        writer.add(DIALOGUES, rows, work_of=entry)
    tag(Benchmark.open(bench.path), Fixed("Event"), TagSettings(replace="proposed"), ReviewSettings())
    assert labels(bench)["dialogue", "d", 1] == right


def test_tags_that_the_graph_wrote_are_given_though_nobody_verified_them(tmp_path: Path) -> None:
    benchmark = told(tmp_path / "household", scenarios=1)
    settings = ConstructSettings()
    construct(ConstructRun(benchmark, settings, GraphWriter(benchmark, settings), LocalExecutor(1)), ["chains"])
    turns = list(read_turns(Benchmark.open(benchmark.path)))
    assert turns
    assert {asked.turn.extra["tags_verified"] for asked in turns} == {False}
    assert {origin for asked in turns for origin in asked.origins.values()} == {"given"}
    tag(Benchmark.open(benchmark.path), Fixed(), TagSettings(), ReviewSettings())
    assert [a.turn for a in read_turns(Benchmark.open(benchmark.path))] == [a.turn for a in turns]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "give --model NAME"),
        (["--model", " m"], "give the name of a model"),
        (["--model", "m", "--review-share", "2"], "--review-share"),
        (["--model", "m", "--samples", "0"], "--samples"),
        (["--model", "m", "--price-in", "1"], "--price-in and --price-out"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    bench: Benchmark, options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tag", str(bench.path), *options]) == 2
    assert says in capsys.readouterr().err


def test_a_benchmark_without_turns_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = Benchmark.create(tmp_path / "empty")
    model = ["--model", "m", "--base-url", "http://127.0.0.1:1/v1"]
    assert run(["tag", str(empty.path), *model, "--dry-run"]) == 2
    assert "has no turns to tag" in capsys.readouterr().err
    assert run(["tag", "--measure", str(empty.path), *model]) == 2
    assert "a person or a rule" in capsys.readouterr().err
    assert run(["tag", str(tmp_path / "nowhere"), *model]) == 2
