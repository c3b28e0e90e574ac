"""Builds judged units from answered turns: chains, paths and dialogues, with the context that a judge may see."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from reeltalk.judge.judge import Judge, JudgeUnit, LinkedTurns
from reeltalk.judge.svbench import SVBenchJudge
from reeltalk.judge.svbench_official import LinkedQuestions
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.media import Video
from reeltalk.store.content import Content

Place = tuple[str, int]


@dataclass(frozen=True)
class Background:
    """Facts of a benchmark beside the turns."""

    videos: Mapping[str, Video]
    places: Mapping[tuple[str, int], Place]
    """Chain turn of every step of a path, by path and index of the step."""
    linked: Mapping[tuple[Place, Place], str]
    """Relations between two chain turns."""
    clips: Mapping[str, int]
    """Number of scenes that each dialogue is about."""
    joined: tuple["JoinedChains", ...] = ()
    """Chains that SVBench's script judges together in place of paths."""

    @classmethod
    def of(cls, content: Content, joined: Iterable["JoinedChains"] = ()) -> "Background":
        """The background of a benchmark.

        Args:
            content: The benchmark.
            joined: Chains that SVBench's script judges together in place of paths, if wanted.
        """
        cross = {scene.clip_ids: max(2, len(scene.parts)) for scene in content.scenes if scene.kind == "cross"}
        single = {scene.clip_ids for scene in content.scenes if scene.kind == "single"}
        clips: dict[str, int] = {}
        for dialogue in content.dialogues:
            known = 1 if dialogue.clip_ids in single else cross.get(dialogue.clip_ids)
            clips[dialogue.id] = known or max(1, len(dialogue.clip_ids))
        return cls(
            videos={video.id: video for video in content.videos},
            places={
                (path.id, index): (step.ref.unit_id, step.ref.turn_index)
                for path in content.paths
                for index, step in enumerate(path.steps)
            },
            linked={
                (
                    (linkage.source.unit_id, linkage.source.turn_index),
                    (linkage.target.unit_id, linkage.target.turn_index),
                ): linkage.relation
                for linkage in content.linkages
            },
            clips=clips,
            joined=tuple(joined),
        )


@dataclass(frozen=True)
class JoinedChains:
    """The chains of one video and the links that SVBench's script finds between them."""

    id: str
    video_id: str
    chain_ids: tuple[str | None, ...]
    """In order; None for an empty entry of the source."""
    slots: tuple[tuple[LinkedQuestions, ...], ...]
    """For each chain, from `streaming_slots`."""


def judged_units(judge: Judge, units: Sequence[JudgeUnit], background: Background | None) -> list[JudgeUnit]:
    """The units that a protocol judges. SVBench with `compat` adds those that only its official script forms.

    Args:
        judge: The judge.
        units: Chains, paths and dialogues with answers, of any models.
        background: Facts of the benchmark.
    """
    if background is None or not isinstance(judge, SVBenchJudge) or not judge.compat:
        return list(units)
    return [*units, *joined_units(units, background)]


def joined_units(units: Sequence[JudgeUnit], background: Background) -> list[JudgeUnit]:
    """The units of SVBench's official streaming evaluation: all linked questions of a video at once.

    A video without links has a unit without turns, since the script judges that too. A video of which a model answered
    no chain has no unit.

    Args:
        units: Chains with answers, of any models.
        background: Facts of the benchmark, with the chains that the script joins.
    """
    found: list[JudgeUnit] = []
    for model in dict.fromkeys(unit.model for unit in units if unit.kind == "chain"):
        own = {unit.id: unit for unit in units if unit.kind == "chain" and unit.model == model}
        for joined in background.joined:
            if any(chain_id in own and own[chain_id].answered for chain_id in joined.chain_ids):
                found.append(_joined_unit(model, joined, own, background))
    return found


def _joined_unit(model: str, joined: JoinedChains, own: Mapping[str, JudgeUnit], background: Background) -> JudgeUnit:
    turns: list[AnsweredTurn] = []
    places: list[list[dict[int, Place]]] = []
    for slot in joined.slots:
        places.append([])
        for questions in slot:
            unit = own.get(joined.chain_ids[questions.chain] or "")
            by_index = {turn.turn_index: turn for turn in unit.turns} if unit is not None else {}
            here: dict[int, Place] = {}
            for number, index in enumerate(questions.questions):
                if unit is not None and index in by_index:
                    here[number] = (unit.id, index)
                    turns.append(by_index[index])
            places[-1].append(here)
    video = background.videos.get(joined.video_id)
    return JudgeUnit(
        model=model,
        kind="dialogue",
        id=joined.id,
        video_id=joined.video_id,
        turns=tuple(turns),
        linked=tuple(_joined_links(places, background)),
        lists=_lists(places),
        duration_s=video.duration_s if video else None,
        official=True,
    )


def _lists(places: Sequence[Sequence[Mapping[int, Place]]]) -> tuple[tuple[int, ...], ...]:
    """Indices of the turns of each list, in the order of the slots."""
    found: list[tuple[int, ...]] = []
    at = 0
    for questions in (questions for slot in places for questions in slot):
        found.append(tuple(range(at, at + len(questions))))
        at += len(questions)
    return tuple(found)


def _joined_links(places: Sequence[Sequence[Mapping[int, Place]]], background: Background) -> Iterable[LinkedTurns]:
    """Relations between the linked questions of one chain, the last list of its slot, and the first of the next."""
    starts: list[list[int]] = []
    at = 0
    for slot in places:
        starts.append([])
        for questions in slot:
            starts[-1].append(at)
            at += len(questions)
    for index, (before, after) in enumerate(pairwise(places)):
        if not before or not after:
            continue
        for place, (number, source) in enumerate(before[-1].items()):
            target = after[0].get(number)
            relation = background.linked.get((source, target)) if target is not None else None
            if relation is not None:
                yield LinkedTurns(
                    starts[index][-1] + place, starts[index + 1][0] + list(after[0]).index(number), relation
                )


def group_units(turns: Iterable[AnsweredTurn], background: Background | None = None) -> list[JudgeUnit]:
    """Group turns into chains, paths and dialogues of each model, in the order of their first turns.

    Args:
        turns: Answered turns, in the order of their units.
        background: Facts of the benchmark; without it there are no summaries and no links.
    """
    grouped: dict[tuple[str, str, str], list[AnsweredTurn]] = {}
    for turn in turns:
        grouped.setdefault((turn.model, turn.unit, turn.unit_id), []).append(turn)
    return [_unit(tuple(sorted(own, key=lambda turn: turn.turn_index)), background) for own in grouped.values()]


def _unit(turns: tuple[AnsweredTurn, ...], background: Background | None) -> JudgeUnit:
    first = turns[0]
    video = background.videos.get(first.video_id) if background else None
    return JudgeUnit(
        model=first.model,
        kind=first.unit,
        id=first.unit_id,
        video_id=first.video_id,
        turns=turns,
        task=first.task,
        summaries=video.summaries if video else {},
        linked=_links(turns, background) if background and first.unit == "path" else (),
        clips=background.clips.get(first.unit_id, 1) if background else 1,
        duration_s=video.duration_s if video else None,
    )


def _links(turns: tuple[AnsweredTurn, ...], background: Background) -> tuple[LinkedTurns, ...]:
    """Relations between neighbours on a path: the jumps it took."""
    places = [background.places.get((turn.unit_id, turn.turn_index)) for turn in turns]
    found: list[LinkedTurns] = []
    for index, (before, after) in enumerate(pairwise(places)):
        if before is not None and after is not None and (relation := background.linked.get((before, after))):
            found.append(LinkedTurns(index, index + 1, relation))
    return tuple(found)
