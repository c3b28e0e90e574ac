"""Paths that are written: what each turn refers to was asked on the same path, and its reference is its answer."""

import asyncio
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import scripted_vision

from reeltalk.cli import run as command
from reeltalk.evaluation.playing.play import TurnInput
from reeltalk.evaluation.playing.script import make_scripts
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.language import phrases
from reeltalk.language.vocabulary import is_person
from reeltalk.llm import Message, Reply
from reeltalk.metrics.counting import count_benchmark, format_counts
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.dialogue import DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.entrances import ANSWERED_BEFORE, FOLLOWING, NO_DRAFT
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.paths import WALK
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.tables import CHAINS, CLIPS, GATES, LINKAGES, PATHS, REWRITES, TABLES
from reeltalk_build.construct.leakage import leak_of
from reeltalk_build.construct.model_writer import ModelWriter
from reeltalk_build.construct.prompting import VisualContext as Shown
from reeltalk_build.construct.settings import ConstructSettings, Step
from reeltalk_build.construct.stage import construct
from reeltalk_build.construct.step import ConstructRun
from reeltalk_household.oracle import OraclePlayer
from reeltalk_household.questions.asking import stories
from reeltalk_household.questions.checking import Checker
from reeltalk_household.writer.graph_linkages import NO_PERSON
from reeltalk_household.writer.graph_writer import GraphWriter

Asked = tuple[TurnRef, Turn]
STEPS: tuple[Step, ...] = ("chains", "linkages", "paths")


def asked_on(path: DialoguePath, chains: dict[str, QAChain]) -> list[Asked]:
    return [(step.ref, step.turn or chains[step.ref.unit_id].turns[step.ref.turn_index]) for step in path.steps]


def landings_of(path: list[Asked]) -> Iterator[tuple[Asked, Asked]]:
    """Turns in the middle of a chain that a jump leads to, each with the turn before it."""
    for one, other in pairwise(path):
        if one[0].unit_id != other[0].unit_id and other[0].turn_index:
            yield one, other


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory, constructed: Path) -> Path:
    """Told scenarios with many walks a video."""
    folder = tmp_path_factory.mktemp("walked") / "household"
    shutil.copytree(constructed, folder)
    benchmark, settings = Benchmark.open(folder), ConstructSettings(paths=30)
    construct(ConstructRun(benchmark, settings, GraphWriter(benchmark, settings), LocalExecutor(1)), ["paths"])
    return folder


class TestOfAGraph:
    def test_each_turn_asked_with_its_path_s_history_has_its_reference_as_its_answer(self, walked: Path) -> None:
        benchmark = Benchmark.open(walked)
        texts = {video.id: found for video, _, found in stories(benchmark)}
        chains: dict[str, QAChain] = {chain.id: chain for chain in benchmark.read(CHAINS)}
        jumped = resolved = 0
        # A checker loads its graphs into a store; many turns are asked about the same.
        checkers: dict[tuple[str, ...], Checker] = {}
        for path in benchmark.read(PATHS):
            own = texts[path.video_id]
            order = list(own)
            before: list[Asked] = []
            for ref, turn in asked_on(path, chains):
                clip = chains[ref.unit_id].clip_id or ""
                if turn != chains[ref.unit_id].turns[ref.turn_index]:
                    assert order.index(chains[before[-1][0].unit_id].clip_id or "") < order.index(clip)
                # All is asked about the film so far.
                film = tuple(order[: order.index(clip) + 1])
                if film not in checkers:
                    checkers[film] = Checker({name: own[name] for name in film})
                assert checkers[film].disagreements([turn]) == []
                if "/ref/" in turn.extra["form"] and turn.extra["kind"] != "feels_after":
                    assert turn.extra["refers_to"] in before[-1][1].extra["speaks_of"]
                    here = [other for place, other in before if place.unit_id == ref.unit_id]
                    # What a rewritten question took up from the turn before its path came here is still spoken of.
                    start = max(len(before) - len(here) - 1, 0)
                    # So is what the turns before that one referred to, each by a pronoun.
                    while start and before[start][1].extra.get("refers_to") == turn.extra["refers_to"]:
                        start -= 1
                    since = [other for _, other in before[start:]]
                    assert self.is_told(turn, since, checkers[film]), [t.question for t in (*since, turn)]
                    resolved += 1
                before.append((ref, turn))
            jumped += len(list(landings_of(before)))
        assert resolved > 50
        assert jumped > 3

    def is_told(self, turn: Turn, since: Sequence[Turn], checker: Checker) -> bool:
        """Whether what a question means was named since its path came to the clip, read from words and the graph."""
        params = turn.extra["params"]
        said = " ".join(f"{before.question} {before.references[0]}" for before in since).casefold()
        if "object" in params and not is_person(params["object"]):
            return phrases.noun(params["object"]).removeprefix("the ").casefold() in said
        # Questions about an act hold its place among its person's, or what it is. People in it have names of their own.
        whose = {"person": params["person"]} if "person" in params else {}
        act = params.get("signature") or checker.answer("happens", {"event": params["event"]} | whose)
        verb, *things = (thing for thing in act.split("|") if thing and not is_person(thing))
        # Some acts name their thing in words of their own, as a walk to the dirty spot on the floor.
        words = phrases.SPECIAL.get((verb, things[0] if things else ""), "{o}")
        if "{o}" not in words:
            return words in said
        return all(phrases.noun(f"{thing}1").removeprefix("the ").casefold() in said for thing in things)

    def test_paths_ask_coherent_drafts_and_nothing_else_in_place_of_a_chain(self, walked: Path) -> None:
        benchmark = Benchmark.open(walked)
        chains: dict[str, QAChain] = {chain.id: chain for chain in benchmark.read(CHAINS)}
        drafts = {
            (row.linkage.source, row.linkage.target, row.draft.to_json())
            for row in benchmark.read(REWRITES)
            if row.coherent
        }
        for path in benchmark.read(PATHS):
            asked = asked_on(path, chains)
            for (ref, _), step, (there, turn) in zip(asked, path.steps[1:], asked[1:], strict=False):
                assert step.turn is None or (ref, there, turn.to_json()) in drafts
            for one, other in landings_of(asked):
                assert (one[0], other[0], other[1].to_json()) in drafts or "/ref/" not in other[1].extra["form"]

    def test_every_link_of_a_graph_can_be_landed_on_and_walks_are_told(self, walked: Path) -> None:
        benchmark = Benchmark.open(walked)
        found = count_benchmark(benchmark)
        ends = {(row.source, row.target) for row in benchmark.read(LINKAGES)}
        assert found.jumps is not None
        assert found.jumps.links == len(ends) == found.jumps.landed + found.refused.total()
        assert found.jumps.landed > 0
        # What a path asks before may answer a draft, or leave its *he* to several people.
        assert set(found.refused) <= {ANSWERED_BEFORE, NO_DRAFT, FOLLOWING, NO_PERSON}
        assert found.refused.total() <= 0.1 * found.jumps.links
        walks = [path.extra[WALK] for path in benchmark.read(PATHS)]
        assert found.jumps.taken.trials == sum(walk["chances"] for walk in walks)
        assert (found.jumps.stated, len(walks)) == (0.8, found.paths)
        low, high = found.jumps.taken[3:]
        assert low is not None
        assert high is not None
        assert low - 0.05 <= 0.8 <= high + 0.05
        told = "\n".join(format_counts(found))
        assert "stated as 0.8" in told
        landed = {
            (tuple(row.extra["source"]), tuple(row.extra["target"]))
            for row in benchmark.read(GATES)
            if row.gate == "paths:landing" and row.outcome is GateOutcome.PASSED
        }
        for path in benchmark.read(PATHS):
            places = [(step.ref.unit_id, step.ref.turn_index) for step in path.steps]
            for one, other in pairwise(places):
                assert one[0] == other[0] or other[1] == 0 or (one, other) in landed

    def test_a_draft_gives_nothing_away_and_is_not_given_away(self, walked: Path) -> None:
        benchmark = Benchmark.open(walked)
        chains: dict[str, QAChain] = {chain.id: chain for chain in benchmark.read(CHAINS)}
        looked_at = 0
        for path in benchmark.read(PATHS):
            asked = asked_on(path, chains)
            for number, step in enumerate(path.steps):
                if step.turn is None:
                    continue
                said = [(asked[number - 1][1].question, asked[number - 1][1].references[0])]
                for turn in (step.turn, *chains[step.ref.unit_id].turns[step.ref.turn_index + 1 :]):
                    assert leak_of(turn, said) is None, (said, turn.question, turn.references)
                    said.append((turn.question, turn.references[0]))
                    looked_at += 1
        assert looked_at > 20

    def test_new_paths_land_where_the_benchmark_s_own_may(self, walked: Path) -> None:
        content = Benchmark.open(walked).content()
        drawn = [
            script
            for seed in range(3)
            for script in make_scripts(content, PlaySettings(mode="streaming", split="all", rejump=seed))
        ]
        landed = [
            step
            for script in drawn
            for before, step in pairwise(script.steps)
            if step.source != before.source
        ]  # fmt: skip
        assert all(step.understood for step in landed)
        questions = {row.draft.question for row in content.rewrites}
        assert any(step.turn.question in questions for script in drawn for step in script.steps)

    def test_what_rests_on_skipped_turns_is_not_understood(self, walked: Path) -> None:
        content = Benchmark.open(walked).content()
        for number, path in enumerate(content.paths):
            content.paths[number] = path.model_copy(
                update={"steps": tuple(step.model_copy(update={"turn": None}) for step in path.steps)}
            )
        played = make_scripts(content, PlaySettings(mode="streaming", split="all"))
        assert any(not step.understood for script in played for step in script.steps)

    def test_the_oracle_leaves_what_rests_on_skipped_turns_unanswered(self, walked: Path) -> None:
        benchmark = Benchmark.open(walked)
        content, player = benchmark.content(), OraclePlayer.of(benchmark)
        step = make_scripts(content, PlaySettings(mode="streaming", split="all"))[0].steps[1]
        asked = TurnInput(step.turn.question, (), (), (), None, (), step, content.paths[0].video_id)
        assert asyncio.run(player.answer(asked, None)).text is not None  # type: ignore[arg-type]
        lost = replace(asked, step=replace(step, understood=False))
        assert "skipped" in str(asyncio.run(player.answer(lost, None)).reason)  # type: ignore[arg-type]

    def test_an_export_asks_drafts_in_the_time_of_the_clip_that_they_are_asked_about(
        self, walked: Path, tmp_path: Path
    ) -> None:
        assert command(["export", "svbench", str(walked), str(tmp_path / "svbench")]) == 0
        benchmark = Benchmark.open(walked)
        clips: dict[Any, Clip] = {clip.id: clip for clip in benchmark.read(CLIPS)}
        chains: dict[str, QAChain] = {chain.id: chain for chain in benchmark.read(CHAINS)}
        told: set[str] = set()
        for file in (tmp_path / "svbench" / "Streaming").rglob("*.json"):
            told |= {json.dumps(entry, sort_keys=True) for entry in json.loads(file.read_text(encoding="utf-8"))}
        for path in benchmark.read(PATHS):
            turns = [turn for _, turn in asked_on(path, chains)]
            at = [clips[chains[step.ref.unit_id].clip_id].interval for step in path.steps]
            entry = {
                "questions": [turn.question for turn in turns],
                "answers": [turn.references[0] for turn in turns],
                "timestamps": [[interval.start_s, interval.end_s] for interval in at if interval],
            }
            assert json.dumps(entry, sort_keys=True) in told


class TestOfAnImport:
    def test_paths_are_drawn_by_the_rule_within_each_language_and_released_ones_stay(self, tmp_path: Path) -> None:
        folder, content = tmp_path / "imported", Content()
        content.videos.append(Video(id="film", duration_s=20.0))
        for language, words in (
            ("en", ("Who sings?", "Where is it?", "How many bells ring?")),
            ("zh", ("谁在唱歌？",)),
        ):
            for number in range(2):
                interval = Interval(start_s=10.0 * number, end_s=10.0 * number + 10)
                clip, name = f"clip {number} {language}", f"film/{language}/{number}"
                content.clips.append(Clip(id=clip, video_id="film", interval=interval))
                turns = (Turn(question=word, references=("?",), labels={"language": (language,)}) for word in words)
                content.chains.append(QAChain(id=name, video_id="film", clip_id=clip, turns=tuple(turns)))
        for target in (1, 2):
            ends = (TurnRef(unit_id=name, turn_index=turn) for name, turn in (("film/en/0", 0), ("film/en/1", target)))
            content.linkages.append(Linkage(source=next(ends), target=next(ends), relation="Events"))
        released = DialoguePath(
            id="released", video_id="film", steps=tuple(PathStep(ref=row.target) for row in content.linkages)
        )
        content.paths.append(released)
        benchmark = Benchmark.create(folder)
        with benchmark.writing(stage="import", settings={}) as writer:
            for name, rows in content.rows():
                if rows:
                    writer.add(TABLES[name], rows)
        assert command(["construct", str(folder), "--steps", "paths", "--paths", "20"]) == 0
        paths = list(Benchmark.open(folder).read(PATHS))
        assert paths[0] == released
        walks = {tuple((step.ref.unit_id, step.ref.turn_index) for step in path.steps) for path in paths[1:]}
        en = [("film/en/0", 0), ("film/en/0", 1), ("film/en/0", 2)]
        assert walks == {
            (*en, ("film/en/1", 0), ("film/en/1", 1), ("film/en/1", 2)),
            (en[0], ("film/en/1", 2)),
            (("film/zh/0", 0), ("film/zh/1", 0)),
        }


class Vision:
    """The scripted vision model, called in this process; what it was asked about standing is kept."""

    name, sees_images, sampling = "vision-1", True, {"temperature": 0.0}

    def __init__(self) -> None:
        self.standing: list[tuple[list[list[str]], bool]] = []

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        assert schema is not None
        name = str(schema["title"])
        said = [{"role": message.role, "content": message.text} for message in messages]
        body: dict[str, Any] = {"messages": said, "response_format": {"json_schema": {"name": name}}}
        text = scripted_vision.reply(body)
        if name == "StandingReply":
            chain, landings = re.findall(r"^=====\n(.*?)\n=====$", messages[-1].text, re.DOTALL | re.MULTILINE)
            questions = ["", *re.findall(r"^\d+\. Q: (.+)$", chain, re.MULTILINE)]
            blocks = re.split(r"^\d+\.\n", landings, flags=re.MULTILINE)[1:]
            for block, decided in zip(blocks, json.loads(text)["landings"], strict=True):
                asked = [re.findall(rf"^   {mark} (.+)$", block, re.MULTILINE) for mark in "<x>"]
                worded = [[self._question(line, questions) for line in part] for part in asked]
                self.standing.append((worded, decided["stands"] == "Yes"))
        return Reply(text, self.name, 1, 1, False)

    def _question(self, line: str, questions: Sequence[str]) -> str:
        return line.removeprefix("Q: ") if line.startswith("Q: ") else questions[int(line.strip("[]"))]

    def close(self) -> None:
        return


@pytest.fixture(scope="module")
def vision() -> Vision:
    return Vision()


@pytest.fixture(scope="module")
def written(household: Path, tmp_path_factory: pytest.TempPathFactory, vision: Vision) -> Benchmark:
    folder = tmp_path_factory.mktemp("model") / "household"
    shutil.copytree(household, folder)
    benchmark, settings = Benchmark.open(folder), ConstructSettings(paths=20)
    clips: dict[Any, Clip] = {clip.id: clip for clip in benchmark.read(CLIPS)}
    writer = ModelWriter(vision, context=look, clips=clips, judges=(vision,))
    construct(ConstructRun(benchmark, settings, writer, LocalExecutor(1)), STEPS)
    return Benchmark.open(folder)


class TestOfAModel:
    def test_a_path_enters_a_chain_only_where_the_model_says_that_it_stands(
        self, written: Benchmark, vision: Vision
    ) -> None:
        chains: dict[str, QAChain] = {chain.id: chain for chain in written.read(CHAINS)}
        stands = [asked for asked, yes in vision.standing if yes]
        assert stands
        assert len(stands) < len(vision.standing)
        entered = 0
        for path in written.read(PATHS):
            asked = asked_on(path, chains)
            for index, (one, other) in enumerate(pairwise(asked), 1):
                if (one, other) not in list(landings_of([one, other])):
                    continue
                turns = chains[other[0].unit_id].turns
                skipped = [turn.question for turn in turns[: other[0].turn_index]]
                on = [other[1].question, *(turn.question for turn in turns[other[0].turn_index + 1 :])]
                history = [turn.question for _, turn in asked[:index]]
                assert any(
                    history[-len(before) :] == before and (left_out, goes_on) == (skipped, on)
                    for before, left_out, goes_on in stands
                ), (history[-1], on)
                entered += 1
        assert entered

    def test_coherent_drafts_of_the_model_are_asked_with_their_references(self, written: Benchmark) -> None:
        drafts = {row.draft.to_json() for row in written.read(REWRITES) if row.coherent}
        turns = [step.turn for path in written.read(PATHS) for step in path.steps if step.turn is not None]
        assert turns
        assert all(turn.to_json() in drafts and turn.references for turn in turns)

    def test_what_the_model_says_is_kept_and_not_asked_again(self, written: Benchmark, vision: Vision) -> None:
        rows = [row for row in written.read(GATES) if row.gate == "paths:landing"]
        refused = [row for row in rows if row.outcome is GateOutcome.FLAGGED]
        assert any(row.extra.get("said") for row in refused)
        asked = len(vision.standing)
        played = make_scripts(written.content(), PlaySettings(mode="streaming", split="all", rejump=5))
        assert played
        assert len(vision.standing) == asked


def look(_: Video, intervals: Sequence[Interval], stretches: Sequence[Interval] = ()) -> Shown:
    return Shown(tuple(b"jpeg" for _ in intervals), tuple(interval.start_s for interval in intervals), "")
