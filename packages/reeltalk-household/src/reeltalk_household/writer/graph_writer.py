"""A writer that works from knowledge graphs: exact and offline, for filmed videos and any video with a graph.

SPARQL answers every question again before the writer returns it. It writes English.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from reeltalk.errors import BenchmarkError, BrokenInvariantError
from reeltalk.language import phrases
from reeltalk.language.near_misses import fault_of
from reeltalk.language.vocabulary import ROOMS, class_of, plain_name
from reeltalk.schema.dialogue import Checklist, Dialogue, Linkage, QAChain, Turn
from reeltalk.schema.entrances import (
    FOLLOWING,
    NO_DRAFT,
    Entrance,
    EntranceVerdict,
    all_resolve,
    has_referent,
    is_graph_written,
    verdict_by_rule,
)
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, derive_id
from reeltalk.schema.rewriting import Rewrite, catalogue
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.tables import VIDEOS
from reeltalk_build.construct.balance import BALANCED, Label, distance, even_targets, read_targets
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.linting import check_structure
from reeltalk_build.construct.settings import ConstructSettings
from reeltalk_build.construct.writers import (
    NO_SURROUNDINGS,
    LinkageResult,
    Surroundings,
    TriedChecklist,
    Unwritten,
    Writer,
)
from reeltalk_household.questions.asking import ClipGraphs, possible_answers
from reeltalk_household.questions.balancing import AnswerBalance, AnswerCounts
from reeltalk_household.questions.question import Question
from reeltalk_household.questions.wording import WordedQuestion, turn_of
from reeltalk_household.writer import graph_chains
from reeltalk_household.writer.graph_chains import GraphVideo, VideoPart, is_askable, is_open
from reeltalk_household.writer.graph_checklists import GraphRound, graph_checklist
from reeltalk_household.writer.graph_dialogues import DialogueMaker, words_so_far
from reeltalk_household.writer.graph_linkages import (
    NO_PERSON,
    ChainPair,
    find_links,
    has_its_person,
    shown_facts,
    write_drafts,
)

SIGNATURE = "graph"
ENOUGH_QUESTIONS = 24
"""Number of possible questions for a suitability of 6; half as many for 5, fewer for 4."""
CAPTION_EVENTS = 6
"""Most actions in a caption."""
CANDIDATE_CHAINS = 4
"""Candidate chains per clip if labels are balanced."""
CACHED_VIDEOS = 8
"""Videos whose graphs are kept, so that the steps of a small benchmark read them once."""


class GraphWriter(Writer):
    """Writes from the graphs of a benchmark.

    Args:
        benchmark: Has clips with graphs.
        settings: Lengths, seed and counts.
        graphs_needed: False to write paths only: for a video without graphs, a rule decides where paths land.
        possible: How often each answer is possible in all videos; counted when it is needed by default.
        among: Identifiers of the videos to write about; all by default.

    Raises:
        BenchmarkError: The benchmark has no graphs, but they are needed.
        InputError: A graph or the file of target shares is malformed.
    """

    signature = SIGNATURE
    threads = 1

    def __init__(
        self,
        benchmark: Benchmark,
        settings: ConstructSettings,
        *,
        graphs_needed: bool = True,
        possible: AnswerCounts | None = None,
        among: Collection[str] | None = None,
    ) -> None:
        self.settings = settings
        self._graphs, self._known = ClipGraphs(benchmark, among), possible
        videos = benchmark.table(VIDEOS)[: settings.limit]
        if graphs_needed and not any(self._graphs.of(video.id)[0] for video in videos):
            raise BenchmarkError(
                f"{benchmark.path} has no video with graphs; 'reeltalk world film' makes some, or take --writer with "
                "the name of a language model"
            )
        self._folder = f"{benchmark.path}/{GRAPHS}"
        self._videos: dict[str, GraphVideo] = {}
        self._pairs: dict[tuple[str, str], ChainPair] = {}
        self._rounds: dict[tuple[str, int], GraphRound] = {}
        """The rounds of the last video's dialogues, for their checklists."""
        self._rounds_of: str | None = None
        self._replaced: dict[str, list[GateResult]] = {}
        self._benchmark = benchmark
        self._counts: Counter[Label] = Counter()
        self._methods: Counter[str] = Counter()
        """How often each method of rewriting has been used."""
        self._targets: dict[Label, float] = {}
        if settings.balance is not None:
            given = settings.targets
            self._targets = read_targets(given, settings.balance) if given else even_targets(settings.balance)

    @cached_property
    def _possible(self) -> AnswerCounts:
        if self._known is not None:
            return self._known
        return possible_answers(self._benchmark, seed=self.settings.seed, among=slice(self.settings.limit))

    # One for each step, since a step that is up to date is skipped and counts nothing.
    @cached_property
    def _chain_balance(self) -> AnswerBalance:
        return AnswerBalance(self._possible)

    @cached_property
    def _dialogue_balance(self) -> AnswerBalance:
        return AnswerBalance(self._possible)

    def video(self, video: Video) -> GraphVideo | None:
        """A video with its graphs, or None if it has none."""
        if video.id not in self._videos:
            clips, texts = self._graphs.of(video.id)
            if not clips:
                return None
            # Only the last videos are cached: graphs take memory, and videos are written one after the other.
            while len(self._videos) >= CACHED_VIDEOS:
                self._videos.pop(next(iter(self._videos)), None)
            self._videos[video.id] = GraphVideo(video, clips, texts, file=self._folder)
        return self._videos[video.id]

    def _part(self, video: Video, clips: Sequence[str]) -> tuple[GraphVideo, VideoPart] | Unwritten:
        graphs = self.video(video)
        part = graphs.part(clips) if graphs is not None else None
        if graphs is None or part is None:
            return Unwritten("it has no graph")
        return graphs, part

    def chain(
        self, video: Video, clip: Clip, around: Surroundings = NO_SURROUNDINGS, *, advice: Sequence[str] = ()
    ) -> QAChain | Unwritten:
        """Five or six questions about a clip. Each one after the first depends on the answer before it."""
        graphs = self.video(video)
        found = graphs.film_until([clip.id]) if graphs is not None else None
        if graphs is None or found is None:
            return Unwritten("it has no graph")
        part = found[0]
        candidates = []
        for attempt in range(CANDIDATE_CHAINS if self.settings.balance else 1):
            seed = " ".join((str(self.settings.seed), clip.id, *([str(attempt)] if attempt else []), *advice))
            written = self._chain(graphs, part, seed)
            if isinstance(written, Unwritten):
                return written
            candidates.append(written)
        chosen = candidates[0]
        if self.settings.balance is not None:
            chosen = min(candidates, key=lambda c: distance(self._counts + self._labels_of(c.turns), self._targets))
            self._counts += self._labels_of(chosen.turns)
        _check(part, chosen.turns, clip.id)
        self._chain_balance.count(chosen.questions, part.story, graphs.split, words_so_far(chosen.turns))
        chain = QAChain(
            id=ChainId(derive_id("chain", clip.id, SIGNATURE, self.settings.seed)),
            video_id=video.id,
            clip_id=clip.id,
            turns=chosen.turns,
            extra={"writer": SIGNATURE},
        )
        self._replaced[chain.id] = [
            Subject.of(chain).gate(gate, GateOutcome.REPLACED, reason, turn=turn)
            for turn, gate, reason in chosen.passed_over
        ]
        return chain

    def _chain(self, graphs: GraphVideo, part: VideoPart, seed: str) -> "_Written | Unwritten":
        """A chain in which no turn is answered by its own question or by earlier turns."""
        lengths = range(self.settings.max_turns, self.settings.min_turns - 1, -1)
        draw = random.Random(f"turns {seed}")
        passed_over: dict[str, tuple[int, str, str]] = {}

        def word(said: WordedQuestion, before: Sequence[Turn]) -> Turn | None:
            made = turn_of(said, part.story, draw, asked_at_s=part.asked_at_s)
            extra = made.extra | shown_facts(said.question, part.story) | {"tags_verified": False}
            turn = made.model_copy(update={"options": None, "correct_option": None, "extra": extra})
            told = [(earlier.question, earlier.references[0]) for earlier in before]
            fault = graph_chains.fault_of_turn(turn, told, part.story)
            if fault is None:
                so_far = words_so_far([*before, turn])[-1]
                suits = self._chain_balance.suits_person(said.question, part.story, so_far, graphs.split)
                return turn if suits else None
            why = f"not asked, {turn.question!r}: {fault[1]}"
            passed_over.setdefault(graph_chains.question_id(said.question), (len(before), fault[0], why))
            return None

        shown = [len(part.clips) - 1]
        universe = part.questions_of_last(self.settings.seed)
        chain = graph_chains.write_chain(
            part.story,
            [q for q in universe if is_askable(q, part.story, shown) and is_open(q, part.story)],
            universe=universe,
            split=graphs.split,
            seed=seed,
            lengths=lengths,
            word=word,
            balance=self._chain_balance,
        )
        if isinstance(chain, str):
            return Unwritten(chain)
        return _Written(
            [question for question, _ in chain], tuple(turn for _, turn in chain), list(passed_over.values())
        )

    def _labels_of(self, turns: Sequence[Turn]) -> Counter[Label]:
        """Counts of a chain's labels in the balanced vocabularies."""
        return Counter(
            (vocabulary, label)
            for turn in turns
            for vocabulary in BALANCED[self.settings.balance or "types"]
            for label in turn.labels[vocabulary]
        )

    def linkages(
        self, video: Video, before: QAChain, after: QAChain, preferred: Sequence[str] = ()
    ) -> LinkageResult | Unwritten:
        """Linkages by shared objects, actions, events, rooms and durations for which a question can be written."""
        pair = self._pair(video, before, after)
        if isinstance(pair, Unwritten):
            return pair
        seed = f"{self.settings.seed} {before.id} {after.id}"

        def has_draft(linkage: Linkage) -> bool:
            return next(self._drafts(video, pair, linkage), None) is not None

        found = find_links(pair, count=self.settings.pairs, seed=seed, has_draft=has_draft, often=self._methods)
        left_out = [
            GateResult(
                gate="linkage.rewrite",
                unit="chain",
                unit_id=after.id,
                outcome=GateOutcome.UNWRITTEN,
                reason=f"{relation}: {reason}",
                value=pairs,
            )
            for (relation, reason), pairs in sorted(found.refused.items())
        ]
        return LinkageResult(found.found, left_out)

    def _pair(self, video: Video, before: QAChain, after: QAChain) -> ChainPair | Unwritten:
        key = (before.id, after.id)
        if key not in self._pairs:
            graphs, clip = self.video(video), [after.clip_id or ""]
            film = graphs.film_until(clip) if graphs is not None else None
            later = graphs.part(clip) if graphs is not None else None
            if film is None or later is None:
                return Unwritten("it has no graph")
            # Only the last pair is cached: its linkages are rewritten right after they are found.
            self._pairs = {key: ChainPair(film[0], before, after, later=later, seed=self.settings.seed)}
        return self._pairs[key]

    def rewrite(self, video: Video, linkage: Linkage, before: QAChain, after: QAChain) -> list[Rewrite] | Unwritten:
        """Drafts by those methods of the catalogue that graphs support."""
        pair = self._pair(video, before, after)
        if isinstance(pair, Unwritten):
            return Unwritten("it has no graph")
        made = list(self._drafts(video, pair, linkage))
        if not made:
            return Unwritten(f"no method for {linkage.relation} that the graphs can carry out")
        random.Random(self._draft_seed(linkage)).shuffle(made)
        # Rare methods come first, and those of the paper before ours.
        made.sort(
            key=lambda rewrite: (self._methods[rewrite.method] + 1) * (2 if catalogue()[rewrite.method].ours else 1)
        )
        kept = made[: self.settings.drafts]
        self._methods.update(rewrite.method for rewrite in kept)
        _check(pair.part, [rewrite.draft for rewrite in kept], kept[0].id)
        return [rewrite.model_copy(update={"position": n}) for n, rewrite in enumerate(kept)]

    def _drafts(self, video: Video, pair: ChainPair, linkage: Linkage) -> Iterator[Rewrite]:
        """The drafts of a linkage, the same at each call."""
        graphs = self.video(video)
        if graphs is None:
            return iter(())
        return write_drafts(pair, linkage, split=graphs.split, seed=self._draft_seed(linkage), writer=SIGNATURE)

    def _draft_seed(self, linkage: Linkage) -> str:
        return f"{self.settings.seed} {linkage.source.unit_id} {linkage.source.turn_index} {linkage.target.turn_index}"

    def stand(
        self, video: Video, entered: Sequence[Entrance], before: QAChain, after: QAChain
    ) -> Sequence[EntranceVerdict]:
        """For each entrance whether a path may enter the later chain there, decided by what its turns refer to."""
        return [self._stands(video, one, before, after) for one in entered]

    def _stands(self, video: Video, entered: Entrance, before: QAChain, after: QAChain) -> EntranceVerdict:
        """Whether a path may enter the later chain here, decided by what its turns refer to."""
        turns = (*entered.before[-1:], entered.turn, *entered.following)
        pair = self._pair(video, before, after)
        if isinstance(pair, Unwritten) or not all(map(is_graph_written, turns)):
            return verdict_by_rule(entered)
        if entered.reworded:
            _check(pair.part, [entered.turn], after.id)
        if not has_referent(entered.before[-1] if entered.before else None, entered.turn):
            return EntranceVerdict(False, NO_DRAFT)
        met = [*entered.before[-1:], entered.turn, *entered.following[:1]]
        if not all(has_its_person(turn, last, pair.story) for last, turn in pairwise(met)):
            return EntranceVerdict(False, NO_PERSON)
        return EntranceVerdict(True) if all_resolve(turns[1:]) else EntranceVerdict(False, FOLLOWING)

    def caption(self, video: Video, clip: Clip) -> tuple[str | Unwritten, list[GateResult]]:
        """The room of the person and the first actions."""
        found = self._part(video, [clip.id])
        if isinstance(found, Unwritten):
            return found, []
        events = [event for event in found[1].story.events if event.action not in ("walk", "stand", "turnTo")]
        does = [phrases.phrase(e.action, e.main, e.targets, "does") for e in events]
        told = list(dict.fromkeys(does))[:CAPTION_EVENTS]
        room = next((event.from_room for event in events if event.from_room), None)
        head = f"in the {plain_name(room)}, the person " if room else "the person "
        return phrases.sentence(f"{head}{phrases.join_list(told) if told else 'walks about'}."), []

    def objects(self, video: Video, clip: Clip) -> frozenset[str]:
        """Names in the graphs of the objects that the person handles in a clip."""
        found = self._part(video, [clip.id])
        if isinstance(found, Unwritten):
            return frozenset()
        names = {e.main for e in found[1].story.events} | {t for e in found[1].story.events for t in e.targets}
        return frozenset(name for name in names if name and class_of(name) not in ROOMS)

    def suitability(self, video: Video, scene: Scene) -> Mapping[Task, int | Unwritten]:
        """By task 1 to 6, or why the scene has no graph."""
        return {task: self._suits(video, scene, task) for task in Task}

    def _suits(self, video: Video, scene: Scene, task: Task) -> int | Unwritten:
        """1 to 6, by the number of possible questions about the scene; 1 if no dialogue for the task can be written."""
        made = self._maker(video, scene, task, 0)
        if isinstance(made, Unwritten):
            return made
        if isinstance(made.dialogue(task), str):
            return 1
        # A dialogue can be written, so the scene is suitable; the number of possible questions says how much.
        return 6 if made.material >= ENOUGH_QUESTIONS else 5 if made.material >= ENOUGH_QUESTIONS // 2 else 4

    def dialogue(
        self,
        video: Video,
        scene: Scene,
        task: Task,
        *,
        number: int,
        earlier: Sequence[str] = (),
        advice: Sequence[str] = (),
    ) -> Dialogue | Unwritten:
        """A dialogue of 5 to 8 rounds that keeps the rules of its task."""
        maker = self._maker(video, scene, task, number, advice)
        if isinstance(maker, Unwritten):
            return maker
        rounds = maker.dialogue(task)
        if isinstance(rounds, str):
            return Unwritten(rounds)
        turns = tuple(
            made.turn.model_copy(update={"extra": made.turn.extra | {"tags_verified": False}}) for made in rounds
        )
        _check(maker.part, turns, scene.id)
        event = f"{scene.id.removeprefix('scene-')}-{number}"
        dialogue = Dialogue(
            id=DialogueId(f"{task.value}/{video.id}/{event}"),
            video_id=video.id,
            clip_ids=self._clips_for(video, scene, task),
            task=task.value,
            turns=turns,
            extra={"writer": SIGNATURE, "scene": scene.id, "kind": scene.kind},
        )
        if problems := check_structure(dialogue, task):
            return Unwritten(f"it breaks the rules of its task: {'; '.join(problems)}")
        self._dialogue_balance.count(maker.questions, maker.story, maker.split, maker.words_so_far)
        if self._rounds_of != video.id:
            self._rounds, self._rounds_of = {}, video.id
        for index, made in enumerate(rounds):
            self._rounds[dialogue.id, index] = made
        self._replaced[dialogue.id] = [
            Subject.of(dialogue).gate(gate, GateOutcome.REPLACED, reason, turn=index)
            for index, gate, reason in maker.passed_over
        ]
        return dialogue

    def list_replaced(self, unit_id: str) -> list[GateResult]:
        """Gate results for the questions that were replaced in a chain or dialogue.

        Args:
            unit_id: A chain or dialogue that was just written.
        """
        return self._replaced.pop(unit_id, [])

    def checklists(
        self, video: Video, dialogue: Dialogue, turns: Sequence[int]
    ) -> dict[int, TriedChecklist | Checklist | Unwritten]:
        """Five items from the facts of each turn. Its reference answer passes them."""
        unknown = Unwritten("another run wrote the dialogue, and its facts are not known")
        rounds = {index: self._rounds.get((dialogue.id, index)) for index in turns}
        return {index: unknown if made is None else graph_checklist(made) for index, made in rounds.items()}

    def _maker(
        self, video: Video, scene: Scene, task: Task, number: int, advice: Sequence[str] = ()
    ) -> DialogueMaker | Unwritten:
        # A dialogue that was sent back is drawn with another seed.
        seed = " ".join((f"{self.settings.seed} {scene.id} {task.value} {number}", *advice))
        graphs = self.video(video)
        found = graphs.film_until(self._clips_for(video, scene, task)) if graphs is not None else None
        if graphs is None or found is None:
            return Unwritten("it has no graph")
        part, shown = found
        objects = frozenset(name.removeprefix("object:") for name in scene.joined_by if name.startswith("object:"))
        return DialogueMaker(
            part,
            split=graphs.split,
            seed=seed,
            pool_seed=self.settings.seed,
            shown=frozenset(shown),
            earlier=frozenset(_earlier_of(shown)),
            objects=objects,
            balance=self._dialogue_balance,
        )

    def _clips_for(self, video: Video, scene: Scene, task: Task) -> tuple[ClipId, ...]:
        """The clips that a dialogue about a scene is about: to recall, it takes in the clip before the scene."""
        graphs = self.video(video)
        if graphs is None or task is not Task.MEMORY_RECALL or scene.kind != "single" or len(scene.clip_ids) > 1:
            return scene.clip_ids
        ids = [clip.id for clip in graphs.clips]
        place = ids.index(scene.clip_ids[0]) if scene.clip_ids[0] in ids else 0
        return (ids[place - 1], *scene.clip_ids) if place else scene.clip_ids


def _earlier_of(shown: Sequence[int]) -> list[int]:
    """The activities of two scenes that belong to the earlier: up to the largest gap, or else the first half."""
    if len(shown) < 2:
        return []
    gaps = [after - before for before, after in pairwise(shown)]
    middle = len(shown) // 2 - 1
    place = max(range(len(gaps)), key=lambda n: (gaps[n], n == middle))
    return list(shown[: place + 1])


@dataclass(frozen=True)
class _Written:
    """A chain, and the questions that were left out of it."""

    questions: list[Question]
    turns: tuple[Turn, ...]
    passed_over: list[tuple[int, str, str]]
    """Index of a turn, the gate, and why."""


def _check(part: VideoPart, turns: Sequence[Turn], unit: str) -> None:
    for wrong in part.checker.disagreements(turns):
        raise BrokenInvariantError(
            f"{unit}: {wrong.question!r} has the answer {wrong.written!r} but SPARQL finds {wrong.found!r}"
        )
    # Graphs that name nobody need not say who acts.
    for turn in turns if part.story.names else ():
        if turn.key is not None and (fault := fault_of(turn.key, turn.references[0])):
            raise BrokenInvariantError(f"{unit}: the key of {turn.question!r} {fault}")
