"""Rules find faults of rewriting drafts, and leave good drafts alone."""

import pytest

from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.rewriting import RESTS_ON
from reeltalk_build.construct.rewrite_checks import find_draft_faults
from reeltalk_build.construct.writers import Language


def a_chain(name: str, *pairs: tuple[str, str]) -> QAChain:
    return QAChain(id=name, video_id="v", turns=tuple(Turn(question=q, references=(a,)) for q, a in pairs))


CHAINS: dict[Language, tuple[QAChain, QAChain]] = {
    "en": (
        a_chain(
            "before",
            ("What does the man carry into the kitchen?", "He carries a wooden crate."),
            ("What does he take out of it?", "He takes out three green bottles."),
        ),
        a_chain(
            "after",
            ("What does the woman hold when she comes in?", "She holds a jug of milk."),
            ("Into what does she pour it?", "She pours it into the green bottles."),
            ("How does she close them?", "She pushes a cork into each neck."),
            ("How many drops fall beside them?", "Two drops fall."),
        ),
    ),
    "zh": (
        a_chain(
            "before", ("男人把什么搬进了厨房？", "他搬进了一个木箱。"), ("他从里面拿出了什么？", "三个绿色的瓶子。")
        ),
        a_chain(
            "after",
            ("女人走进来时手里拿着什么？", "她拿着一壶牛奶。"),
            ("她把它倒进了哪里？", "倒进了绿色的瓶子里。"),
            ("倒完以后她做了什么？", "她用软木塞把瓶口塞紧。"),
            ("谁在一旁看着她？", "一只小黑狗。"),
        ),
    ),
}
SHARED = {"en": "the green bottles", "zh": "绿色的瓶子"}


def rules(question: str, answer: str, language: Language) -> set[str]:
    before, after = CHAINS[language]
    ends = TurnRef(unit_id="before", turn_index=1), TurnRef(unit_id="after", turn_index=1)
    rests_on = {RESTS_ON: {"shared": SHARED[language]}}
    linkage = Linkage(source=ends[0], target=ends[1], relation="Objects", extra=rests_on)
    draft = Turn(question=question, references=(answer,))
    faults = find_draft_faults(draft, linkage, before, after, language=language)
    return {fault.gate.removeprefix("lint.") for fault in faults}


@pytest.mark.parametrize(
    ("language", "question", "answer"),
    [
        ("en", "What are the bottles from the crate used for by the woman?", "She fills them with milk."),
        ("en", "Could the bottles that he unpacked still be carried in the crate now?", "No, they are open and full."),
        ("en", "Compared with the crate, which of the two is heavier, the jug or a bottle?", "The jug is heavier."),
        ("en", "What has changed in the kitchen since the earlier part?", "A woman has come in."),
        ("en", "How many of the bottles that he took out does she fill?", "She fills two of them."),
        ("en", "Into what does she pour the milk that he could not have carried?", "Into what stood in the crate."),
        ("zh", "男人从木箱里拿出的绿色瓶子后来派上了什么用场？", "女人用它们装牛奶。"),
        ("zh", "先前放在架子上的瓶子现在被用来做什么？", "它们被灌满了牛奶。"),
        ("zh", "木箱里的瓶子和牛奶壶相比，哪个更大？", "牛奶壶更大。"),
    ],
)
def test_good_drafts_have_no_fault(language: Language, question: str, answer: str) -> None:
    assert rules(question, answer, language) == set()


@pytest.mark.parametrize(
    ("language", "question", "answer", "rule"),
    [
        ("en", "Into what does she pour it now?", "Into the bottles.", "unchanged"),
        ("en", "What does he carry into the kitchen, the man?", "A crate.", "unchanged"),
        ("en", "What does he do to it?", "He drops it.", "pronoun"),
        ("en", "Which ships lie at anchor?", "Two grey ferries.", "builds_on_nothing"),
        ("en", "Why does she push a cork into each neck of the green bottles?", "So that they hold.", "tells_later"),
        ("en", "What comes of the bottles?", "They are full, and two drops fall beside them.", "tells_later"),
        ("en", "Which green bottles from the crate does she fill?", "She fills the green bottles.", "given_away"),
        ("en", "What are the bottles in the fourth frame used for?", "For milk.", "wording"),
        ("en", "那些瓶子后来被用来做什么？", "For milk.", "language"),
        ("zh", "她把它倒进了哪里？", "倒进了绿色的瓶子里。", "unchanged"),
        ("zh", "他现在拿它做什么？", "他把它放下。", "pronoun"),
        ("zh", "绿色的瓶子装满后，用软木塞把瓶口塞紧的女人多大年纪？", "大约三十岁。", "tells_later"),
        ("zh", "视频第四帧里的绿色瓶子用来做什么？", "装牛奶。", "wording"),
        ("zh", "What are the green bottles used for?", "装牛奶。", "language"),
    ],
)
def test_a_faulty_draft_is_found(language: Language, question: str, answer: str, rule: str) -> None:
    assert rule in rules(question, answer, language)
