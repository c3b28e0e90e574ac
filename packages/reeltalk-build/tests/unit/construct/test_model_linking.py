"""A model links two chains: pairs by number, drafts for all pairs at once, and what becomes of faulty ones."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import scripted_vision

from reeltalk.llm import Message, Reply
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.entrances import MODEL_SAYS, NO_DRAFT, NO_REPLY, Entrance, EntranceVerdict
from reeltalk.schema.gates import GONE_OUTCOMES, GateOutcome
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Relation
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json
from reeltalk.schema.rewriting import catalogue
from reeltalk_build.construct.model_writer import ModelWriter
from reeltalk_build.construct.prompting import VisualContext
from reeltalk_build.construct.rewrite_checks import flag_recurring_drafts
from reeltalk_build.construct.writers import NO_JUDGE, Language, LinkageResult, RewriteResult, Unwritten

VIDEO = Video(id="v")
FIRST, SECOND = Interval(start_s=0, end_s=10), Interval(start_s=10, end_s=20)
NONSENSE = "I would rather not."
BEFORE_PAIRS = (
    ("What does the man carry into the kitchen?", "He carries a wooden crate."),
    ("What does he take out of it?", "Three green bottles."),
    ("Where do they end up?", "On the shelf above the sink."),
    ("Who watches him there?", "A small black dog."),
    ("How does it react to him?", "The dog wags its tail."),
)
AFTER_PAIRS = (
    ("What does the woman pour?", "She pours milk."),
    ("Into what does she pour it?", "Into the green bottles."),
)


def a_chain(name: str, interval: Interval, pairs: Sequence[tuple[str, str]]) -> QAChain:
    turns = tuple(Turn(question=q, references=(a,), asked_at_s=interval.end_s, evidence=(interval,)) for q, a in pairs)
    return QAChain(id=name, video_id="v", turns=turns)


BEFORE, AFTER = a_chain("before", FIRST, BEFORE_PAIRS), a_chain("after", SECOND, AFTER_PAIRS)
LINKAGE = Linkage(
    source=TurnRef(unit_id="before", turn_index=1), target=TurnRef(unit_id="after", turn_index=1), relation="Objects"
)
DRAFT = {
    "linkage": 1,
    "method": "Objects/use_after",
    "question": "What are the bottles from the crate used for now?",
    "answer": "They are filled with milk.",
}
CHECK = {"number": 1, "seen": "Milk runs into the bottles.", "at_s": 12.5, "faults": [], "verdict": "supported"}
CHECKED = {"checks": [CHECK]}


def look(_: Video, intervals: Sequence[Interval], stretches: Sequence[Interval] = ()) -> VisualContext:
    times = tuple(interval.start_s + 1 for interval in intervals)
    return VisualContext(tuple(b"jpeg" for _ in times), times, "mug: 1.0 to 4.0 s")


class Scripted:
    """A model that gives the replies it was given, in their order."""

    def __init__(self, *replies: Any, name: str = "tiny") -> None:
        self.name, self.sees_images, self.sampling = name, True, {"temperature": 0.0}
        self.replies, self.seen = list(replies), list[Sequence[Message]]()

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        assert schema is not None
        self.seen.append(tuple(messages))
        reply = self.replies.pop(0)
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        return Reply(text, self.name, 1, 1, False)

    def close(self) -> None:
        return

    def prompt(self, number: int = -1) -> str:
        return self.seen[number][-1].text


def writer(model: Any, *judges: Any, language: Language = "en") -> ModelWriter:
    return ModelWriter(model, context=look, judges=judges, language=language)


def pairs(*rows: tuple[int, int, str, str]) -> dict[str, Any]:
    names = ("before", "after", "shared", "relation")
    return {"pairs": [dict(zip(names, row, strict=True)) | {"reason": "both speak of it"} for row in rows]}


GOOD = (2, 2, "the green bottles", "Objects")


class TestOfLinkages:
    def test_numbered_questions_become_linkages(self) -> None:
        found = writer(Scripted(pairs(GOOD, GOOD, (4, 1, "the man and the woman", "person")))).linkages(
            VIDEO, BEFORE, AFTER
        )
        assert isinstance(found, LinkageResult)
        assert [(one.relation, one.source.turn_index, one.target.turn_index) for one in found.linkages] == [
            ("Objects", 1, 1),
            ("People", 3, 0),
        ]

    def test_pairs_that_name_no_turn_or_relation_are_reported(self) -> None:
        reply = pairs(GOOD, (2, 3, "the bottles", "Objects"), (*GOOD[:3], "Colour"), (0, 2, "the bottles", "Objects"))
        found = writer(Scripted(reply)).linkages(VIDEO, BEFORE, AFTER)
        assert isinstance(found, LinkageResult)
        assert len(found.linkages) == 1
        results = found.rejected
        assert {(r.gate, r.unit_id, r.outcome) for r in results} == {("linkage.match", "after", GateOutcome.DROPPED)}
        assert [r.reason for r in results] == [
            "pair 2: the second chain has no question 3, only 1 to 2",
            "pair 3: 'Colour' is none of the six relations",
            "pair 4: the first chain has no question 0, only 1 to 5",
        ]

    def test_pairs_of_which_none_can_be_used_are_asked_for_again(self) -> None:
        bad = pairs((2, 9, "the bottles", "Objects"))
        model = Scripted(bad, pairs(GOOD))
        found = writer(model).linkages(VIDEO, BEFORE, AFTER)
        assert isinstance(found, LinkageResult)
        assert (len(found.linkages), found.rejected) == (1, [])
        assert "no pair can be used: pair 1: the second chain has no question 9" in model.prompt()
        nothing = writer(Scripted(bad, bad)).linkages(VIDEO, BEFORE, AFTER)
        assert isinstance(nothing, Unwritten)
        assert nothing.replies == (json.dumps(bad),) * 2

    @pytest.mark.parametrize(
        ("before", "after", "relation", "shared", "words"),
        [
            (2, 2, "Objects", "the green bottles", ["bottl", "green"]),
            (3, 2, "Objects", "the bottles", ["bottl"]),
            (4, 2, "People", "the man and the woman", ["man", "woman"]),
        ],
    )
    def test_a_linkage_names_what_its_turns_share(
        self, before: int, after: int, relation: str, shared: str, words: list[str]
    ) -> None:
        found = writer(Scripted(pairs((before, after, shared, relation)))).linkages(VIDEO, BEFORE, AFTER)
        assert isinstance(found, LinkageResult)
        assert [linkage.extra["rests_on"] for linkage in found.linkages] == [{"words": words, "shared": shared}]

    @pytest.mark.parametrize(
        ("before", "after", "relation", "shared", "reason"),
        [
            (
                1,
                1,
                "Objects",
                "the crate",
                "the turn of the second chain does not speak of what both are said to share",
            ),
            (4, 1, "Objects", "the dog", "the turn of the second chain does not speak of"),
            (1, 1, "Environment", "a meadow", "the turn of the first chain does not speak of"),
            (2, 2, "Quantity", "bottles", "the turn of the second chain neither asks for a quantity nor tells one"),
            (1, 1, "Actions", "carries, pours", "no word of 'carries, pours' is in both chains"),
        ],
    )
    def test_a_linkage_whose_turns_do_not_share_it_is_refused(
        self, before: int, after: int, relation: str, shared: str, reason: str
    ) -> None:
        reply = pairs((before, after, shared, relation), GOOD)
        found = writer(Scripted(reply)).linkages(VIDEO, BEFORE, AFTER)
        assert isinstance(found, LinkageResult)
        [result] = found.rejected
        assert [one.relation for one in found.linkages] == ["Objects"]
        assert result.outcome is GateOutcome.DROPPED
        assert reason in str(result.reason)

    def test_no_linkages_are_legal(self) -> None:
        assert writer(Scripted(pairs())).linkages(VIDEO, BEFORE, AFTER) == LinkageResult([], [])


def rewrite(
    model: Any,
    *judges: Any,
    linkages: Sequence[Linkage] = (LINKAGE,),
    skills: Sequence[str] = (),
    **options: Any,
) -> RewriteResult:
    asked: dict[str, int] = {"drafts": 1, "attempts": 0} | options
    return writer(model, *judges).rewrites(VIDEO, linkages, BEFORE, AFTER, skills=skills, **asked)


class TestOfDrafts:
    def test_a_draft_shows_both_parts_and_says_what_it_rests_on(self) -> None:
        model, judge = Scripted({"drafts": [DRAFT]}), Scripted(CHECKED, name="stern")
        found = rewrite(model, judge)
        (one,) = found.rewrites
        assert (one.method, one.skill, one.coherent, one.problems) == ("Objects/use_after", "STS", True, ())
        assert (one.draft.question, one.draft.asked_at_s, one.draft.evidence) == (
            DRAFT["question"],
            20,
            (FIRST, SECOND),
        )
        assert one.draft.labels == {"svbench.relation": ("Objects",), "svbench.skill": ("STS",)}
        assert model.seen[0][-1].images == judge.seen[0][-1].images == (b"jpeg", b"jpeg")
        assert "- Objects/use_after: where both are about the same, what is done first with the object now" in (
            model.prompt()
        )
        assert "; going deeper, how the event would differ" in model.prompt()
        assert "Events/cause" not in model.prompt()
        assert "1. [2] → [2] Objects/use_after\n   Q: What are the bottles from the crate used for now?" in (
            judge.prompt()
        )
        (gate,) = found.gates
        assert (gate.gate, gate.unit, gate.unit_id, gate.turn_index) == ("verified", "linkage", one.id, 1)
        assert (gate.outcome, gate.value) == (GateOutcome.PASSED, 1.0)
        assert gate.extra == {
            "moment_s": 12.5,
            "seen": gate.extra["seen"],
            "verdicts": ["supported"],
            "judges": ["stern"],
            "source": ["before", 1],
            "target": ["after", 1],
        }

    def test_methods_for_skills_that_are_short_are_preferred(self) -> None:
        model = Scripted({"drafts": [DRAFT]}, {"drafts": [DRAFT]})
        rewrite(model, skills=("STS", "CST"))
        rewrite(model)
        (preferred,) = re.findall(r"force none: (.+)\.", model.prompt(0))
        assert {catalogue()[name].skill for name in preferred.split(", ")} == {"STS"}
        assert {catalogue()[name].relation for name in preferred.split(", ")} == {"Objects"}
        assert "too few" not in model.prompt(1)

    def test_the_writer_gets_every_other_frame_of_what_the_judge_sees(self) -> None:
        def look_closely(_: Video, intervals: Sequence[Interval], stretches: Sequence[Interval] = ()) -> VisualContext:
            times = tuple(float(time_s) for one in intervals for time_s in range(int(one.start_s), int(one.end_s), 4))
            return VisualContext(tuple(str(time_s).encode() for time_s in times), times)

        model, judge = Scripted({"drafts": [DRAFT]}), Scripted(CHECKED)
        own = ModelWriter(model, context=look_closely, judges=(judge,))
        own.rewrites(VIDEO, [LINKAGE], BEFORE, AFTER, drafts=1, attempts=0)
        assert judge.seen[0][-1].images == (b"0.0", b"4.0", b"8.0", b"10.0", b"14.0", b"18.0")
        assert model.seen[0][-1].images == (b"0.0", b"8.0", b"18.0")
        assert "3 pictures" in model.prompt()

    def test_without_a_judge_nobody_knows_if_a_draft_is_coherent(self) -> None:
        found = rewrite(Scripted({"drafts": [DRAFT]}))
        assert [(one.coherent, one.problems) for one in found.rewrites] == [(None, ())]
        assert [(gate.gate, gate.outcome, gate.reason) for gate in found.gates] == [
            ("verified", GateOutcome.UNCHECKED, NO_JUDGE)
        ]

    def test_a_judge_whose_replies_cannot_be_used_has_checked_nothing(self) -> None:
        odd = {"checks": [CHECK | {"number": 2}]}
        found = rewrite(Scripted({"drafts": [DRAFT]}), Scripted(odd, odd))
        assert [one.coherent for one in found.rewrites] == [None]
        assert [gate.outcome for gate in found.gates] == [GateOutcome.UNCHECKED]
        assert len(found.gates[0].raw) == 2

    def test_faulty_drafts_of_a_pair_go_back_in_one_request_with_their_faults(self) -> None:
        other = LINKAGE.model_copy(update={"source": TurnRef(unit_id="before", turn_index=0)})
        wrong = DRAFT | {"linkage": 2, "question": "What did the man bring in the crate?", "answer": "Some milk."}
        talk = DRAFT | {"question": "What are the bottles in the fourth frame used for?"}
        contradicted = CHECK | {"verdict": "contradicted", "seen": "He brings bottles.", "faults": ["it is vague"]}
        model = Scripted(
            {"drafts": [talk, wrong]},
            {"drafts": [DRAFT | {"linkage": 2, "question": "Who fills what was in the crate?"}, DRAFT]},
        )
        both = {"checks": [CHECK, CHECK | {"number": 2}]}
        judge = Scripted({"checks": [CHECK, contradicted | {"number": 2}]}, both)
        found = rewrite(model, judge, linkages=(LINKAGE, other), attempts=2)
        assert [one.coherent for one in found.rewrites] == [True, True]
        back = model.prompt()
        assert "What are the bottles in the fourth frame used for?" in back
        assert "! the question speaks of a frame: 'frame'" in back
        assert "   A: Some milk.\n   ! it is not true: He brings bottles.\n   ! it is vague" in back
        assert len(model.seen) == 2, "one request brings all faulty drafts back"
        replaced = [gate for gate in found.gates if gate.outcome is GateOutcome.REPLACED]
        assert {gate.gate for gate in replaced} == {"lint.wording", "verified", "faults"}

    def test_faults_of_wording_are_mended_without_frames(self) -> None:
        talk = DRAFT | {"question": "What are the bottles in the fourth frame used for?"}
        model = Scripted({"drafts": [talk]}, {"drafts": [DRAFT]})
        rewrite(model, attempts=1)
        assert [len(messages[-1].images) for messages in model.seen] == [2, 0]

    def test_a_contradicted_draft_is_never_kept(self) -> None:
        checked = {"checks": [CHECK | {"verdict": "contradicted"}]}
        found = rewrite(Scripted({"drafts": [DRAFT]}), Scripted(checked))
        assert found.rewrites == []
        assert [(gate.gate, gate.outcome) for gate in found.gates] == [("verified", GateOutcome.DROPPED)]

    @pytest.mark.parametrize(
        ("verdict", "faults", "gates"),
        [("cannot tell", [], ["verified"]), ("supported", ["it is rude"], ["verified", "faults"])],
    )
    def test_a_draft_with_other_faults_is_kept_and_not_coherent(
        self, verdict: str, faults: list[str], gates: list[str]
    ) -> None:
        checked = {"checks": [CHECK | {"verdict": verdict, "faults": faults}]}
        found = rewrite(Scripted({"drafts": [DRAFT]}), Scripted(checked))
        (one,) = found.rewrites
        assert one.coherent is False
        assert one.problems
        assert [gate.gate for gate in found.gates] == gates
        assert GateOutcome.FLAGGED in {gate.outcome for gate in found.gates}

    def test_the_best_of_several_faulty_drafts_is_kept(self) -> None:
        vague, rude = ({"checks": [CHECK | {"faults": faults}]} for faults in (["vague"], ["rude", "vague"]))
        other = DRAFT | {"method": "Objects/evolution", "question": "How have the bottles changed?"}
        found = rewrite(Scripted({"drafts": [DRAFT]}, {"drafts": [other]}), Scripted(vague, rude), attempts=1)
        assert [one.method for one in found.rewrites] == ["Objects/use_after"]
        assert {gate.outcome for gate in found.gates if gate.reason == "rude"} == {GateOutcome.REPLACED}

    def test_a_link_without_a_draft_is_asked_for_again_and_reported(self) -> None:
        other = LINKAGE.model_copy(update={"relation": "Events"})
        (missing,) = (
            gate
            for gate in rewrite(Scripted({"drafts": [DRAFT]}), linkages=(LINKAGE, other)).gates
            if gate.outcome is GateOutcome.UNWRITTEN
        )
        assert (missing.gate, missing.unit_id, missing.turn_index) == ("rewrite", "after", 1)
        assert missing.reason == "the writer gave no draft for it"
        late = {"linkage": 2, "method": "Events/cause", "question": "Who had the bottles ready?", "answer": "The man."}
        model = Scripted({"drafts": [DRAFT]}, {"drafts": [DRAFT | late]})
        found = rewrite(model, linkages=(LINKAGE, other), attempts=1)
        assert len(found.rewrites) == 2
        assert "\n2. [2] → [2] Events\n" in model.prompt()
        assert "\n1. [2] → [2] Objects\n" not in model.prompt()

    def test_a_draft_for_a_link_that_is_not_there_is_rejected(self) -> None:
        found = rewrite(Scripted({"drafts": [DRAFT | {"linkage": 4}, DRAFT]}))
        assert len(found.rewrites) == 1
        assert [gate.reason for gate in found.gates if gate.outcome is GateOutcome.DROPPED] == [
            "a draft is for link 4, and the links are 1"
        ]

    def test_chains_of_which_nothing_can_be_shown_get_no_drafts(self) -> None:
        def blank(chain: QAChain) -> QAChain:
            return chain.model_copy(
                update={"turns": tuple(turn.model_copy(update={"evidence": ()}) for turn in chain.turns)}
            )

        model = Scripted()
        found = writer(model).rewrites(VIDEO, [LINKAGE], blank(BEFORE), blank(AFTER), drafts=1, attempts=2)
        assert [gate.reason for gate in found.gates] == ["there is no picture of this part of the video"]
        assert model.seen == []

    def test_replies_that_cannot_be_used_are_kept_once(self) -> None:
        other = LINKAGE.model_copy(update={"relation": "Events"})
        found = rewrite(Scripted(NONSENSE, "{}"), linkages=(LINKAGE, other))
        assert [gate.raw for gate in found.gates] == [(NONSENSE, "{}"), ()]

    def test_many_links_are_asked_in_batches(self) -> None:
        some = [
            LINKAGE.model_copy(update={"source": TurnRef(unit_id="before", turn_index=n), "relation": relation})
            for n in range(5)
            for relation in ("Objects", "Events")
        ]
        model = Scripted(NONSENSE, NONSENSE, NONSENSE, NONSENSE)
        rewrite(model, linkages=some)
        assert "8. [4] → [2] Events" in model.prompt(0)
        assert "9. [5]" not in model.prompt(0)
        assert "9. [5] → [2] Objects" in model.prompt(2)

    def test_two_drafts_of_a_link_differ_in_method(self) -> None:
        second = DRAFT | {"question": "How do the bottles look now?"}
        model = Scripted({"drafts": [DRAFT, second]}, {"drafts": [second | {"method": "Objects/evolution"}]})
        found = rewrite(model, drafts=2, attempts=1)
        assert [(one.method, one.position) for one in found.rewrites] == [
            ("Objects/use_after", 0),
            ("Objects/evolution", 1),
        ]
        assert "another draft of this link is by the method Objects/use_after too" in model.prompt()

    def test_a_relation_without_methods_is_not_rewritten(self) -> None:
        odd = LINKAGE.model_copy(update={"relation": "Colour"})
        (gate,) = writer(Scripted()).rewrites(VIDEO, [odd], BEFORE, AFTER, drafts=1, attempts=0).gates
        assert gate.reason == "the catalogue has no method for the relation 'Colour'"

    def test_every_method_is_told_in_chinese_too(self) -> None:
        for relation in Relation:
            model = Scripted(NONSENSE, NONSENSE)
            linkage = LINKAGE.model_copy(update={"relation": relation.value})
            writer(model, language="zh").rewrites(VIDEO, [linkage], BEFORE, AFTER, drafts=1, attempts=0)
            lines = re.findall(r"^- (\S+/\S+): (.*[\u4e00-\u9fff].*)$", model.prompt(0), re.MULTILINE)
            for name, told in lines:
                method = catalogue()[name]
                assert ("相同时" in told, "不同时" in told) == (method.case == "same", method.case == "different")
                assert ("更深一步" in told) == (method.deeper is not None)
            listed = [name for name, _ in lines]
            assert listed == [name for name in catalogue() if name.startswith(f"{relation}/")]


class TestOfLandings:
    ENTERED = tuple(
        Entrance(BEFORE.turns[: n + 1], AFTER.turns[:1], Turn(question=f"What about {thing}?"), (), reworded=True)
        for n, thing in enumerate(("the crate", "the bottles"))
    )

    def test_all_landings_between_two_chains_are_decided_in_one_request(self) -> None:
        said = [{"number": 1, "reason": "clear", "stands": "Yes"}, {"number": 2, "reason": "vague", "stands": "No"}]
        judge = Scripted({"landings": said})
        own = Entrance(BEFORE.turns[:1], AFTER.turns[:1], AFTER.turns[1], (), reworded=False)
        found = writer(Scripted(), judge).stand(VIDEO, [own, *self.ENTERED], BEFORE, AFTER)
        assert found == [
            EntranceVerdict(False, NO_DRAFT),
            EntranceVerdict(True),
            EntranceVerdict(False, MODEL_SAYS, explanation="vague"),
        ]
        assert len(judge.seen) == 1
        assert "2.\n   < Q: What does the man carry into the kitchen?" in judge.prompt()
        assert "   x [1]\n   > Q: What about the bottles?" in judge.prompt()

    def test_a_landing_without_a_decision_does_not_stand(self) -> None:
        short = {"landings": [{"number": 1, "reason": "clear", "stands": "Yes"}]}
        found = writer(Scripted(), Scripted(short, short)).stand(VIDEO, self.ENTERED, BEFORE, AFTER)
        assert {(one.stands, one.reason, len(one.raw)) for one in found} == {(False, NO_REPLY, 2)}


THINGS = ("red mug", "blue plate", "green book", "white towel", "brown bottle")
ROOMS = ("kitchen", "hall", "bathroom", "study", "pantry")


def chains_about(number: int) -> tuple[QAChain, QAChain]:
    """The chains of two neighbouring clips."""
    thing, room, next_room = THINGS[number % 5], ROOMS[number // 5 % 5], ROOMS[(number + 2) % 5]
    before = (
        (f"What does the man lift from the table in the {room}?", f"He lifts a {thing}."),
        ("Where does he take it?", f"He takes the {thing} through the door of the {room}."),
        ("How many steps does he need for that?", "He needs four steps."),
        ("Who sees him pass?", "A boy on a stool sees him."),
    )
    after = (
        (f"Who waits in the {next_room} for the man?", "His sister waits there with open arms."),
        ("What does he hand to her?", f"He hands her the {thing}."),
        ("How many times does she turn it?", "She turns it over two times."),
        ("Where does she put it at last?", "She locks it into a drawer."),
    )
    return a_chain(f"before{number}", FIRST, before), a_chain(f"after{number}", SECOND, after)


Draft = dict[str, Any]


FAULTS: dict[str, Callable[[Draft, QAChain, int], Draft]] = {
    "unchanged": lambda draft, after, at: draft | {"question": after.turns[at].question},
    "nearly unchanged": lambda draft, after, at: draft | {"question": f"And {after.turns[at].question}"},
    "frames": lambda draft, after, at: draft | {"question": draft["question"][:-1] + " at 0:14, in the fourth frame?"},
    "answer given away": lambda draft, after, at: (
        draft | {"question": f"{draft['question'][:-1]}, given that {draft['answer'][:-1]}?"}
    ),
    "contradicted": lambda draft, after, at: draft | {"answer": "He rides out on an elephant."},
    "wrong index": lambda draft, after, at: draft | {"linkage": 77},
    "unknown method": lambda draft, after, at: draft | {"method": "Objects/anything"},
    "Chinese": lambda draft, after, at: draft | {"question": "他手里拿着的那个杯子后来被放到了什么地方？"},
    "generic": lambda draft, after, at: (
        draft
        | {
            "question": "How does that compare with what he did before?",
            "answer": "He is slower now than he was then.",
        }
    ),
    "as an AI": lambda draft, after, at: draft | {"answer": "As an AI, I cannot see the video."},
    "markup": lambda draft, after, at: draft | {"question": f"<script>alert(1)</script>{draft['question']}"},
    "no antecedent": lambda draft, after, at: draft | {"question": "What does he do to it now?"},
    "next answer told": lambda draft, after, at: (
        draft | {"answer": " ".join((draft["answer"], *(turn.references[0] for turn in after.turns[at + 1 :][:1])))}
    ),
    "unrelated": lambda draft, after, at: (
        draft | {"question": "Which ships lie at anchor?", "answer": "Two grey ferries."}
    ),
}


class Planting:
    """The scripted vision model, called in this process, whose drafts all have one fault."""

    name, sees_images, sampling = "vision-1", True, {"temperature": 0.0}

    def __init__(self, fault: str | None, after: QAChain) -> None:
        self.fault, self.after = fault, after
        self.planted: list[Draft] = []

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        assert schema is not None
        said = [{"role": message.role, "content": message.text} for message in messages]
        body: dict[str, Any] = {"messages": said, "response_format": {"json_schema": {"name": schema["title"]}}}
        reply = json.loads(scripted_vision.reply(body))
        if schema["title"] == "RewriteReply" and self.fault is not None:
            drafts = []
            for draft in reply["drafts"]:
                link = rf"^{draft['linkage']}\. \[\d+\] → \[(\d+)\]"
                found = re.search(link, "\n".join(message.text for message in messages), re.MULTILINE)
                assert found is not None
                drafts.append(FAULTS[self.fault](draft, self.after, int(found[1]) - 1))
                self.planted += [drafts[-1]] if drafts[-1] != draft else []
            reply = {"drafts": drafts}
        return Reply(json.dumps(reply), self.name, 1, 1, False)

    def close(self) -> None:
        return


def drafted(number: int, fault: str | None) -> tuple[RewriteResult, int, list[Draft]]:
    """The drafts for two chains, the number of links, and the drafts with the fault."""
    before, after = chains_about(number)
    model = Planting(fault, after)
    own = ModelWriter(model, context=look, judges=(Planting(None, after),))
    linked = own.linkages(VIDEO, before, after)
    # Two chains that have no word in common are not linked.
    linkages = linked.linkages if isinstance(linked, LinkageResult) else []
    found = own.rewrites(VIDEO, linkages, before, after, drafts=1, attempts=0)
    return found, len(linkages), model.planted


def test_good_drafts_are_kept_and_none_is_flagged() -> None:
    kept = links = 0
    for number in range(25):
        found, linked, _ = drafted(number, None)
        links += linked
        kept += sum(one.coherent is True for one in found.rewrites)
        assert [gate.reason for gate in found.gates if gate.outcome is not GateOutcome.PASSED] == []
    assert kept == links > 100


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_never_passes(fault: str) -> None:
    planted = dropped = 0
    for number in range(6):
        found, _, faulty = drafted(number, fault)
        planted += len(faulty)
        dropped += sum(gate.outcome in GONE_OUTCOMES for gate in found.gates)
        said = [(draft["question"], draft["answer"]) for draft in faulty]
        passed = [one for one in found.rewrites if (one.draft.question, *one.draft.references) in said]
        assert all(one.coherent is False and one.problems for one in passed)
    assert planted >= 10
    if fault in ("unchanged", "nearly unchanged", "contradicted", "unknown method", "Chinese", "as an AI", "markup"):
        assert dropped >= planted


def test_a_draft_that_recurs_in_other_clips_is_marked() -> None:
    found = [rewrite(Scripted({"drafts": [DRAFT]}), Scripted(CHECKED)).rewrites[0]]
    others = (
        DRAFT | {"answer": "They hold flowers."},
        DRAFT | {"question": "What are the bottles from the crate used for just now?"},
        DRAFT | {"question": "Where do the bottles from the crate stand at last?", "answer": "Beside the stove."},
    )
    for number, other in enumerate(others):
        (one,) = rewrite(Scripted({"drafts": [other]}), Scripted(CHECKED)).rewrites
        found.append(one.model_copy(update={"id": f"other{number}"}))
    kept, gates = flag_recurring_drafts(found)
    assert [one.coherent for one in kept] == [True, False, False, True]
    assert [one.problems != () for one in kept] == [False, True, True, False]
    assert [(gate.gate, gate.unit_id, gate.outcome) for gate in gates] == [
        ("lint.repeated", "other0", GateOutcome.FLAGGED),
        ("lint.repeated", "other1", GateOutcome.FLAGGED),
    ]
