"""Questions from graphs: exact, checked on another path, in forms that no two splits share, and in good English."""

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from label_shares import label_shares
from peopled_scenes import JUICE, SCENES
from peopled_scenes import story as peopled_story
from peopled_scenes import texts as texts_of_people

from reeltalk.cli import run
from reeltalk.language.grammar import SPLITS, bare_form
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.labels import QuestionType, unknown_labels
from reeltalk.store.validate import accept
from reeltalk_build.graph.reading import graph_texts, read_activity, read_scenarios
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.checking import Checker, checks
from reeltalk_household.questions.questions import questions
from reeltalk_household.questions.wording import (
    all_forms,
    forms,
    forms_of,
    linked_forms,
    turn_of,
    word_question,
    write_dialogue,
)
from reeltalk_household.world.film import film_graphs, plan_films, play_film
from reeltalk_household.world.settings import FilmSettings


def told(count: int, *, houses: int = 4) -> Iterator[tuple[Story, dict[str, str]]]:
    """Stories of the household, not filmed, with their graphs as text."""
    for planned in plan_films(FilmSettings(scenarios=count, houses=houses, seed=11)).plans:
        graphs = film_graphs(planned, play_film(planned))
        texts = {clip.clip: text for clip, text in zip(planned.scenes, graphs, strict=True)}
        yield Story([read_activity(text, file=f"{n}.nq", name=n) for n, text in texts.items()]), texts


@pytest.fixture(scope="module")
def stories(request: pytest.FixtureRequest) -> list[tuple[Story, dict[str, str]]]:
    return list(told(80 if request.config.getoption("--full") else 8))


def test_sparql_finds_every_answer_again(stories: list[tuple[Story, dict[str, str]]], full: bool) -> None:
    """10,000 questions in full counts, a tenth otherwise; every kind among them."""
    asked: Counter[str] = Counter()
    for seed, (story, texts) in enumerate(stories):
        checker = Checker(texts)
        for question in questions(story, seed=seed):
            assert checker.answer(question.kind, question.params) == question.key, (question.kind, question.params)
            asked[question.kind] += 1
    checker = Checker(texts_of_people((*SCENES, JUICE)))
    for question in questions(peopled_story((*SCENES, JUICE))):
        assert checker.answer(question.kind, question.params) == question.key, (question.kind, question.params)
        asked[question.kind] += 1
    assert asked.total() >= (10_000 if full else 1_000)
    assert set(asked) == set(checks()) == set(forms())


def test_the_checker_finds_a_wrong_answer(stories: list[tuple[Story, dict[str, str]]]) -> None:
    story, texts = stories[0]
    turns, _ = write_dialogue(story, split="train", seed=1)
    checker = Checker(texts)
    assert checker.disagreements(turns) == []
    wrong = [turn.model_copy(update={"extra": turn.extra | {"answer_key": "unheard of"}}) for turn in turns]
    assert len(checker.disagreements(wrong)) == len(turns)


def test_a_graph_that_says_otherwise_gives_another_answer(
    stories: list[tuple[Story, dict[str, str]]], full: bool
) -> None:
    """The checker reads the graph, not what was written: without its switchOn events a graph has other counts."""
    changed = 0
    for story, texts in stories if full else stories[:2]:
        for question in questions(story):
            if question.kind == "times" and str(question.params["signature"]).startswith("grab|"):
                main = str(question.params["signature"]).split("|")[1]
                line = re.compile(rf".*/ontology/mainObject> <[^>]*/{main}\d+_scene\d+> .*\n")
                fewer = Checker({name: line.sub("", text) for name, text in texts.items()})
                assert fewer.answer("times", question.params) == "0"
                changed += 1
    assert changed


def test_no_surface_form_is_in_two_splits() -> None:
    by_split = {
        split: {
            bare_form(form.text) for kind in forms() for ref in (False, True) for form in forms_of(kind, split, ref=ref)
        }
        for split in SPLITS
    }
    assert sum(map(len, by_split.values())) >= 40 * len(forms())
    assert not by_split["train"] & by_split["test"]
    assert not by_split["train"] & by_split["dev"]
    assert not by_split["dev"] & by_split["test"]
    for kind in forms():
        for split in SPLITS:
            assert any(forms_of(kind, split, ref=ref) for ref in (False, True)), (kind, split)


@pytest.mark.parametrize("kind", sorted({*forms(), *linked_forms()}))
def test_every_kind_has_forty_forms_that_differ_by_more_than_a_pronoun(kind: str) -> None:
    texts = [bare_form(form.text) for form in all_forms(kind)]
    assert len(set(texts)) == len(texts) >= 40
    assert len({form.name for form in all_forms(kind)}) == len(texts)
    for ref in (False, True):
        assert len({bool(forms_of(kind, split, ref=ref)) for split in SPLITS}) == 1, "all splits can ask so, or none"
    assert not [form.text for form in all_forms(kind) if "[" in form.text or "|" in form.text]


def test_every_question_type_of_vdact_is_asked() -> None:
    types = {label for form in forms().values() for label in form.types} | {"REF"}
    assert types == {str(label) for label in QuestionType}


def test_every_label_is_asked_for_and_none_is_rare(stories: list[tuple[Story, dict[str, str]]], full: bool) -> None:
    """All of CogME's tags, VDAct's types and SVBench's skills; at least 2 % each in full counts."""
    dialogues = 12
    turns = [
        turn
        for story, _ in stories
        for seed in range(dialogues)
        for turn in write_dialogue(story, split=SPLITS[seed % 3], seed=seed, turns=12)[0]
    ]
    shares = label_shares(turns)
    assert min(shares.values()) >= (0.02 if full else 0.01), sorted(shares.items(), key=lambda item: item[1])[:6]


SLIPS = re.compile(
    r"[{}_]|\bNone\b|  | [?.,!]|\b(the|a|an|to|is|are|in|on|he|it) \1\b|\b(pick up|switch on|switch off) (it|them)\b"
    r"|\bthey is\b|\bit are\b|[a-z][A-Z]|\d[a-z]"
)


def test_the_english_has_no_slips_that_a_rule_can_find(stories: list[tuple[Story, dict[str, str]]]) -> None:
    draw = random.Random(5)
    seen = 0
    for story, _ in stories:
        for question in questions(story):
            for split in SPLITS:
                for rests in (False, True):
                    if (rests and question.anchor is None) or not forms_of(question.kind, split, ref=rests):
                        continue
                    asked = word_question(question, split=split, draw=draw, first=draw.random() < 0.3, rests=rests)
                    for said in (asked.text, asked.answer):
                        assert not SLIPS.search(said), said
                    assert asked.text[0].isupper(), asked.text
                    assert asked.text[-1] in "?.”", asked.text
                    assert asked.answer.lstrip("“")[0].isupper(), asked.answer
                    assert asked.answer[-1] in ".”", asked.answer
                    seen += 1
    assert seen > 2000


def test_turns_are_whole(stories: list[tuple[Story, dict[str, str]]]) -> None:
    for seed, (story, _) in enumerate(stories):
        turns, asked = write_dialogue(story, split="dev", seed=seed, turns=12)
        assert len(turns) == 12
        identities = [(turn.extra["kind"], repr(turn.extra["params"])) for turn in turns]
        assert len(set(identities)) == 12, "nothing is asked twice"
        for turn, how in zip(turns, asked, strict=True):
            check_turn(turn, story)
            assert ("REF" in turn.labels["vdact.question_type"]) >= how.rests
        assert not asked[0].rests, "the first turn rests on nothing"
        named = ("the person", *(story.called[person].lower() for person in story.people))
        pronoun = re.search(r"\b(he|his|him)\b", turns[0].question)
        assert pronoun is None or any(name in turns[0].question[: pronoun.start()].lower() for name in named)


def check_turn(turn: Turn, story: Story) -> None:
    assert not unknown_labels(turn.labels)
    assert story.interval is not None
    assert turn.asked_at_s == story.interval.end_s
    if turn.extra["answer_type"] == "refusal":
        assert turn.evidence == ()
    else:
        assert turn.evidence
        assert all(0 <= i.start_s < i.end_s <= story.interval.end_s + 1e-6 for i in turn.evidence)
    if turn.options is not None:
        assert len(set(turn.options)) == len(turn.options) >= 2
        assert turn.correct_option is not None


def test_evidence_is_where_it_happens(stories: list[tuple[Story, dict[str, str]]]) -> None:
    story, _ = stories[0]
    for question in questions(story):
        turn = (
            turn_of(word_question(question, split="train", draw=random.Random(0)), story, random.Random(0))
            if forms_of(question.kind, "train", ref=False)
            else None
        )
        for event in question.evidence:
            assert turn is None or event.interval is not None
            assert turn is None or any(
                i.start_s <= event.interval.start_s and event.interval.end_s <= i.end_s + 1e-6  # type: ignore[union-attr]
                for i in turn.evidence
            )


def test_dialogues_follow_from_their_seed(stories: list[tuple[Story, dict[str, str]]]) -> None:
    story, _ = stories[0]
    assert write_dialogue(story, split="train", seed=3)[0] == write_dialogue(story, split="train", seed=3)[0]
    assert write_dialogue(story, split="train", seed=3)[0] != write_dialogue(story, split="train", seed=4)[0]


def test_released_scenarios_can_be_asked_about_too(shared: Path, full: bool) -> None:
    """Without times and rooms there are fewer kinds, and SPARQL still agrees."""
    data = shared / "data/vdact"
    texts = {name: text for name, _, text in graph_texts(data / "kg_activity.zip")}
    scenarios = read_scenarios(data / "derived/scenario_to_activities.json")
    for name in list(scenarios)[:: 10 if full else 200]:
        graphs = {activity: texts[activity] for activity in scenarios[name]}
        checker = Checker(graphs)
        asked = questions(Story([read_activity(text, file=f"{one}.nq", name=one) for one, text in graphs.items()]))
        for question in asked:
            assert checker.answer(question.kind, question.params) == question.key, (name, question.kind)
        kinds = {question.kind for question in asked}
        assert {"times", "acts", "next_action", "what_else"} & kinds
        assert not {"room_start", "video_length", "clothes_colour", "posture"} & kinds


def test_an_imported_release_is_asked_about_and_shown(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = str(tmp_path / "bench")
    shutil.copytree(samples / "vdact/kg_activity", tmp_path / "release/kg_activity")
    shutil.copy(samples / "vdact/scenario_to_activities.json", tmp_path / "release")
    assert run(["import", "vdact", str(tmp_path / "release"), bench]) == 0
    assert run(["graph", "questions", bench]) == 0
    assert run(["graph", "questions", bench, "--overwrite"]) == 0
    assert run(["validate", bench]) == 0
    assert run(["import", "vdact", str(samples / "vdact"), str(tmp_path / "whole")]) == 0
    capsys.readouterr()
    assert run(["graph", "questions", str(tmp_path / "whole"), "--overwrite"]) == 2
    assert "which are not replaced" in capsys.readouterr().err
    videos = tmp_path / "bench/videos.jsonl"
    videos.write_text(videos.read_text().replace('"id":"09001"', '"id":"09001","split":"val"'))
    accept(tmp_path / "bench")
    assert run(["graph", "questions", bench, "--overwrite"]) == 2
    assert "is of split 'val'" in capsys.readouterr().err
