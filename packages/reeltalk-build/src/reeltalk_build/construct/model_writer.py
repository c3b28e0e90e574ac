"""A writer that asks a language model for chains, linkages, drafts, captions, dialogues and checklists.

Construction follows SVBench (arXiv 2502.10810) and MT-Video-Bench (arXiv 2510.17722); the prompts are our own. If a
reply cannot be used, the model is asked once more; after that the result is `Unwritten` with the raw replies. A model
that cannot be reached and a spent budget raise errors.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypeVar

from reeltalk.llm import Model, RecordResult
from reeltalk.llm.prompts import Prompts
from reeltalk.schema.dialogue import Dialogue, Linkage, QAChain, Turn
from reeltalk.schema.entrances import Entrance, EntranceVerdict, verdict_by_rule
from reeltalk.schema.gates import VERIFIED, GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, derive_id
from reeltalk_build.construct.evidence import clamped, evidence_complaint, with_shown
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.linting import GATE as LINT
from reeltalk_build.construct.linting import GRAVE_FAULTS, text_faults
from reeltalk_build.construct.model_checklists import write_checklists
from reeltalk_build.construct.model_dialogues import ask_for_dialogue, judge_rounds, rate_tasks
from reeltalk_build.construct.model_linking import find_linkages, judge_standing
from reeltalk_build.construct.model_rewriting import PairDrafting
from reeltalk_build.construct.prompting import (
    ContextOf,
    PromptedModel,
    VisualContext,
    number_turns,
    prompts,
    record_or_unwritten,
    thin_out,
    unwritten_from,
)
from reeltalk_build.construct.replies import (
    CaptionReply,
    ChainReply,
    MergeReply,
    QualityReply,
    TagsReply,
    TurnCheck,
)
from reeltalk_build.construct.tagging.turns import UNVERIFIED
from reeltalk_build.construct.verification import (
    DialogueVerdict,
    TurnVerdict,
    check_numbers,
    combine_checks,
    place_moments,
)
from reeltalk_build.construct.writers import (
    NO_JUDGE,
    NO_SURROUNDINGS,
    ChainJudgement,
    Language,
    LinkageResult,
    RewriteResult,
    Surroundings,
    TriedChecklist,
    Unwritten,
    Writer,
)

MOST_EARLIER_QUESTIONS: Final = 60
"""Most earlier questions that a writer is shown, the latest ones."""
T = TypeVar("T")
EVERY_OTHER: Final = 0.5
"""Share of the frames of two clips for their rewriting drafts; the writer has described both clips before."""
TEXT_ONLY: Final = "writer:text-only"
"""Part of the signature of a writer that sees no images."""


class ModelWriter(Writer):
    """Writes with a language model. Safe to share among threads if the context is."""

    looks_around = True

    def __init__(
        self,
        model: Model,
        *,
        context: ContextOf,
        clips: Mapping[ClipId, Clip] | None = None,
        language: Language = "en",
        threads: int = 1,
        judges: Sequence[Model] = (),
        judge_context: ContextOf | None = None,
        own_prompts: Path | None = None,
    ) -> None:
        """Load the prompts. The model is not asked yet.

        Raises:
            ValueError: `threads` is below 1.
            SettingError: The folder of prompts does not exist.
            InputError: A prompt in it cannot replace ours.
        """
        if threads < 1:
            raise ValueError(f"threads must be 1 or more, got {threads}")
        self._context, self._clips, self.threads = context, clips or {}, threads
        self.language: Language = language
        own = prompts(language, own_prompts)
        self._writer = PromptedModel(model, language, own)
        self._judge_context = judge_context or context
        self._judges = tuple(PromptedModel(judge, language, own) for judge in judges)
        self.judges = tuple(dict.fromkeys(judge.name for judge in judges))
        self.signature = _signature(model, judges, own, language)
        """`model:NAME#` and a hash of all that can change a reply; then language, judges and `writer:text-only`."""

    def chain(
        self, video: Video, clip: Clip, around: Surroundings = NO_SURROUNDINGS, *, advice: Sequence[str] = ()
    ) -> QAChain | Unwritten:
        interval = _interval(clip)
        if isinstance(interval, Unwritten):
            return interval
        seen = self._context(video, (interval,))
        asked = self._writer.ask(
            "chain",
            ChainReply,
            seen=seen,
            parts={
                "start_s": f"{interval.start_s:.1f}",
                "end_s": f"{interval.end_s:.1f}",
                "around": self._around(around),
                "wanted": self._wanted(around.preferred),
                "advice": self._advice(advice),
            },
            check=lambda reply: evidence_complaint(reply, interval),
        )
        if asked.record is None:
            return unwritten_from(asked)
        return QAChain(
            id=ChainId(derive_id("chain", clip.id, "model", self.language)),
            video_id=video.id,
            clip_id=clip.id,
            turns=tuple(
                Turn(
                    question=turn.question,
                    references=(turn.answer,),
                    asked_at_s=interval.end_s,
                    evidence=(clamped(turn, interval),),
                    extra=self._made,
                )
                for turn in asked.record.turns
            ),
            extra=with_shown(self._made, (interval,), seen.times_s),
        )

    def judge(self, video: Video, clip: Clip, chain: QAChain) -> ChainJudgement | Unwritten | None:
        """Judge every turn of a chain, and the chain by SVBench's seven dimensions and an overall score. Never None.

        With several judges or samples, a turn gets the verdict of `combine_checks`, and a number is the mean of theirs.
        A judge whose replies cannot be used is left out; without any judge the result is `Unwritten`.
        """
        if not self._judges:
            return Unwritten(NO_JUDGE)
        interval = _interval(clip)
        if isinstance(interval, Unwritten):
            return interval
        seen = self._judge_context(video, (interval,), _evidence(chain.turns))
        asked = self._all_judges(
            "quality",
            QualityReply,
            seen,
            {"chain": number_turns(chain.turns, timed=True)},
            lambda reply: check_numbers(reply.turns, len(chain.turns)),
        )
        said = [(name, one.record) for name, one in asked if one.record is not None]
        if not said:
            return _no_verdict([one for _, one in asked])
        verdicts = combine_checks([(name, reply.turns) for name, reply in said], self.weights)
        return ChainJudgement(
            overall=fmean(reply.overall for _, reply in said),
            dimensions={name: fmean(reply.dimensions[name] for _, reply in said) for name in said[0][1].dimensions},
            reasons=tuple(dict.fromkeys(reason for _, reply in said for reason in reply.reasons)),
            turns=place_moments(verdicts, chain.turns, (interval,), len(seen.images)),
        )

    def _all_judges(
        self,
        name: str,
        kind: type[T],
        seen: VisualContext,
        data: Mapping[str, str],
        check: Callable[[T], str | None],
    ) -> list[tuple[str, RecordResult[T]]]:
        """The reply of every judge and sample, with the judge's name."""
        return [(judge.model.name, judge.ask(name, kind, seen=seen, data=data, check=check)) for judge in self._judges]

    def linkages(
        self, video: Video, before: QAChain, after: QAChain, preferred: Sequence[str] = ()
    ) -> LinkageResult | Unwritten:
        seen = thin_out(self._of_both(video, before, after), EVERY_OTHER)
        return find_linkages(self._writer, before, after, seen, signature=self.signature, preferred=preferred)

    def rewrites(
        self,
        video: Video,
        linkages: Sequence[Linkage],
        before: QAChain,
        after: QAChain,
        *,
        drafts: int,
        attempts: int,
        skills: Collection[str] = (),
    ) -> RewriteResult:
        """Write drafts for the later turns of linkages, and let the judges check them. Both see both clips.

        The writer has described both clips before, so it gets every other frame.
        """
        if not linkages:
            return RewriteResult([], [])
        seen = self._of_both(video, before, after)
        linked = [turn for one in linkages for turn in (before.turns[one.source.turn_index],
                                                        after.turns[one.target.turn_index])]  # fmt: skip
        return PairDrafting(
            self._writer,
            self._judges,
            thin_out(seen, EVERY_OTHER),
            self._of_both(video, before, after, _evidence(linked)) if self._judges else seen,
            linkages,
            before,
            after,
            self.signature,
            drafts,
            attempts,
            skills,
        ).run()

    def _of_both(
        self, video: Video, before: QAChain, after: QAChain, stretches: Sequence[Interval] | None = None
    ) -> VisualContext:
        """What shows the parts of two chains: to a writer, or to judges with a closer look at some stretches."""
        parts = [part for part in map(self._part, (before, after)) if part is not None]
        if not parts:
            return VisualContext()
        return self._context(video, parts) if stretches is None else self._judge_context(video, parts, stretches)

    def _part(self, chain: QAChain) -> Interval | None:
        """The clip of a chain; without a clip, the span of its evidence, if it has any."""
        clip = self._clips.get(chain.clip_id) if chain.clip_id else None
        if clip is not None and clip.interval is not None:
            return clip.interval
        evidence = [interval for turn in chain.turns for interval in turn.evidence]
        if not evidence:
            return None
        return Interval(
            start_s=min(interval.start_s for interval in evidence), end_s=max(interval.end_s for interval in evidence)
        )

    def stand(
        self, video: Video, entered: Sequence[Entrance], before: QAChain, after: QAChain
    ) -> list[EntranceVerdict]:
        """Let the first judge decide from the turns that paths asked, skip, and ask next. Without one the rule decides.

        A turn in the chain's own words that refers back by its wording does not stand; the judge is not asked.
        """
        return judge_standing(self._judges[0], entered, after) if self._judges else list(map(verdict_by_rule, entered))

    def caption(self, video: Video, clip: Clip) -> tuple[str | Unwritten, list[GateResult]]:
        """Describe a clip in two to four sentences, and let the judges compare the caption with the video.

        A caption in which a rule for texts or a judge finds a fault is written once more with what is wrong. One that
        the video contradicts, or with a grave fault, never stays; other faults are flags.

        Returns:
            The caption, and the results of its checks.
        """
        interval = _interval(clip)
        if isinstance(interval, Unwritten):
            return interval, []
        advice: list[str] = []
        tried: list[tuple[str, TurnVerdict]] = []
        replies: tuple[str, ...] = ()
        while True:
            asked = self._writer.ask(
                "caption",
                CaptionReply,
                seen=self._context(video, (interval,)),
                parts={"advice": self._advice(advice)},
                check=self._caption_complaint(),
            )
            replies += asked.replies
            if asked.record is None:
                if not tried:
                    return unwritten_from(asked), []
                break
            caption = asked.record.caption
            verdict = self._check_caption(video, interval, caption)
            if isinstance(verdict, Unwritten):
                unchecked = Subject("clip", clip.id).unchecked(VERIFIED, verdict.reason)
                return caption, [*self._caption_faults(clip, caption), unchecked]
            tried.append((caption, verdict))
            if len(tried) == 2 or not (verdict.verdict == "contradicted" or verdict.faults):
                break
            advice = ["\n".join([caption, *(f"! {fault}" for fault in verdict.complaints)])]
        best = min(reversed(tried), key=lambda one: (one[1].verdict == "contradicted", len(one[1].complaints)))
        gates = [
            row
            for one in tried
            if one is not best
            for row in Subject("clip", clip.id).verdict(one[1], outcome=GateOutcome.REPLACED)
        ]
        caption, verdict = best
        gates += [*self._caption_faults(clip, caption), *Subject("clip", clip.id).verdict(verdict)]
        if verdict.verdict == "contradicted":
            return Unwritten(f"the judge says after a revision: {verdict.complaints[0]}", replies), gates
        return caption, gates

    def _caption_complaint(self) -> Callable[[CaptionReply], str | None]:
        """A function that complains about each fault of a caption once, and after that about grave ones alone."""
        tries = count()

        def complaint(reply: CaptionReply) -> str | None:
            last = next(tries) > 0
            faults = text_faults(reply.caption, part="caption", language=self.language)
            return "; ".join(reason for rule, reason in faults if rule in GRAVE_FAULTS or not last) or None

        return complaint

    def _caption_faults(self, clip: Clip, caption: str) -> list[GateResult]:
        return [
            Subject("clip", clip.id).gate(f"{LINT}.{rule}", GateOutcome.FLAGGED, reason)
            for rule, reason in text_faults(caption, part="caption", language=self.language)
        ]

    def _check_caption(self, video: Video, interval: Interval, caption: str) -> TurnVerdict | Unwritten:
        if not self._judges:
            return Unwritten(NO_JUDGE)
        asked = self._all_judges(
            "caption_check",
            TurnCheck,
            self._judge_context(video, (interval,)),
            {"caption": caption},
            lambda reply: check_numbers((reply,), 1),
        )
        said = [(name, (one.record,)) for name, one in asked if one.record is not None]
        return combine_checks(said)[0] if said else _no_verdict([one for _, one in asked])

    def same_scene(self, before: str, after: str) -> bool | Unwritten:
        reply = record_or_unwritten(self._writer.ask("merge", MergeReply, data={"before": before, "after": after}))
        return reply if isinstance(reply, Unwritten) else reply.same_scene

    def suitability(self, video: Video, scene: Scene) -> Mapping[Task, int] | Unwritten:
        intervals = self._intervals(scene)
        if isinstance(intervals, Unwritten):
            return intervals
        return rate_tasks(self._writer, scene, lambda: thin_out(self._context(video, intervals), EVERY_OTHER))

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
        intervals = self._intervals(scene)
        if isinstance(intervals, Unwritten):
            return intervals
        return ask_for_dialogue(
            self._writer,
            self._context(video, intervals),
            scene,
            task,
            intervals,
            number=number,
            earlier=earlier,
            advice=self._advice(advice),
            name=DialogueId(derive_id("dialogue", scene.id, task.value, number, "model", self.language)),
            made=self._made,
        )

    def judge_dialogue(self, video: Video, scene: Scene, dialogue: Dialogue, task: Task) -> DialogueVerdict | Unwritten:
        intervals = self._intervals(scene)
        if isinstance(intervals, Unwritten):
            return intervals
        seen = self._judge_context(video, intervals, _evidence(dialogue.turns))
        found = judge_rounds(self._judges, seen, dialogue, task, self.weights)
        if isinstance(found, Unwritten):
            return found
        return replace(found, turns=place_moments(found.turns, dialogue.turns, intervals, len(seen.images)))

    def checklists(
        self, video: Video, dialogue: Dialogue, turns: Sequence[int]
    ) -> dict[int, TriedChecklist | Unwritten]:
        """Write checklists for some turns; the first judge tries each on the right answer and on three wrong ones."""
        return write_checklists(self._writer, self._judges[0] if self._judges else None, dialogue, turns)

    def propose_tags(self, turns: Sequence[Turn]) -> tuple[Turn, ...] | Unwritten:

        def complaint(reply: TagsReply) -> str | None:
            same = len(reply.tags) == len(turns)
            return None if same else f"there are {len(turns)} questions but {len(reply.tags)} entries"

        data = {"chain": number_turns(turns)}
        reply = record_or_unwritten(self._writer.ask("tags", TagsReply, data=data, check=complaint))
        if isinstance(reply, Unwritten):
            return reply
        return tuple(
            turn.model_copy(
                update={
                    "labels": turn.labels
                    | {
                        "cogme.target": tuple(tag.value for tag in tags.target),
                        "cogme.content": tuple(tag.value for tag in tags.content),
                        "cogme.thinking": (tags.thinking.value,),
                        "vdact.question_type": tuple(tag.value for tag in tags.types),
                    },
                    "extra": {**turn.extra, **self._made, UNVERIFIED: False},
                }
            )
            for turn, tags in zip(turns, reply.tags, strict=True)
        )

    def _advice(self, reasons: Sequence[str]) -> str:
        # A text of several lines is an earlier draft with its faults.
        lines = [reason if "\n" in reason else f"- {reason}" for reason in reasons]
        return self._writer.part("advice", {"reasons": "\n".join(lines)}) if reasons else ""

    def _around(self, around: Surroundings) -> str:
        captions = {"around_before": around.before, "around_after": around.after}
        known = [self._writer.part(name, {"caption": text}) for name, text in captions.items() if text]
        if around.questions:
            questions = "\n".join(f"- {question}" for question in around.questions[-MOST_EARLIER_QUESTIONS:])
            known.append(self._writer.part("around_asked", {"questions": questions}))
        return self._writer.part("around", {"known": "\n".join(known)}) if known else ""

    def _wanted(self, labels: Sequence[tuple[str, str]]) -> str:
        """The kinds of questions that are short, in the words of the manual by which people tag."""
        manual = self._writer.prompts["manual"].text.splitlines()
        names = [label for _, label in labels]
        kinds = [line for line in manual for name in names if re.match(rf"- {re.escape(name)}(?:: |（)", line)]
        return self._writer.part("wanted", parts={"kinds": "\n".join(kinds)}) if kinds else ""

    @property
    def _made(self) -> dict[str, Any]:
        return {"writer": self.signature}

    def _intervals(self, scene: Scene) -> tuple[Interval, ...] | Unwritten:
        found: list[Interval] = []
        for clip_id in scene.clip_ids:
            clip = self._clips.get(clip_id)
            if clip is None:
                return Unwritten(f"clip {clip_id!r} of scene {scene.id!r} is not known")
            interval = _interval(clip)
            if isinstance(interval, Unwritten):
                return interval
            found.append(interval)
        if not found:
            return Unwritten(f"scene {scene.id!r} has no clips")
        return tuple(sorted(found, key=lambda interval: (interval.start_s, interval.end_s)))


def _evidence(turns: Sequence[Turn]) -> list[Interval]:
    return [part for turn in turns for part in turn.evidence]


def _no_verdict(asked: Sequence[RecordResult[T]]) -> Unwritten:
    why = "; ".join(dict.fromkeys(unwritten_from(one).reason for one in asked))
    return Unwritten(f"the judge's reply cannot be used: {why}", tuple(reply for one in asked for reply in one.replies))


def _interval(clip: Clip) -> Interval | Unwritten:
    return clip.interval or Unwritten(f"clip {clip.id!r} has no interval, so nothing of it can be shown")


def _signature(model: Model, judges: Sequence[Model], own: Prompts, language: Language) -> str:
    moving = {
        "prompts": sorted(prompt.signature for prompt in own.values()),
        "asked": [(dict(asked.sampling), asked.sees_images) for asked in (model, *judges)],
    }
    digest = hashlib.sha256(json.dumps(moving, sort_keys=True).encode()).hexdigest()[:8]
    parts = [f"model:{model.name}#{digest}"]
    if language != "en":
        parts.append(f"language:{language}")
    samples = Counter(judge.name for judge in judges)
    parts += [f"judge:{name}" if times == 1 else f"judge:{name}*{times}" for name, times in samples.items()]
    if not model.sees_images:
        parts.append(TEXT_ONLY)
    return "|".join(parts)
