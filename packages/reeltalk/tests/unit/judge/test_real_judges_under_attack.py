"""Every judging protocol under the whole attack suite, judged by models that quote the attacker wherever they can."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attack_models import quoting_model
from reliability_page import Reliability

from reeltalk.judge.attacks import attack_items
from reeltalk.judge.checklist import ChecklistJudge
from reeltalk.judge.choice import ChoiceJudge
from reeltalk.judge.judge import Judge
from reeltalk.judge.match import MatchJudge
from reeltalk.judge.single_answers import single_answer_judge
from reeltalk.judge.svbench import SVBenchJudge
from reeltalk.judge.under_attack import attack_judge
from reeltalk.judge.vdeval import VDEval


def six(good: bool) -> str:
    mark = 10 if good else 1
    names = (
        "semantic_accuracy", "contextual_coherence", "logical_consistency", "temporal_understanding",
        "informational_completeness", "overall_score",
    )  # fmt: skip
    return json.dumps({"rationale": "as it is"} | dict.fromkeys(names, mark))


PROTOCOLS: dict[str, tuple[Callable[[], Judge], Callable[[bool], str]]] = {
    "vdeval": (VDEval, lambda good: f"As it is. So rating={3 if good else 1}"),
    "lave": (partial(single_answer_judge, "lave"), lambda good: f"As it is. So rating={3 if good else 1}"),
    "clair": (
        partial(single_answer_judge, "clair"), lambda good: f'{{"score": {100 if good else 3}, "reason": "as it is"}}'
    ),
    "llm-acc": (
        partial(single_answer_judge, "llm-acc"),
        lambda good: json.dumps({"pred": "yes" if good else "no", "score": 5 if good else 0}),
    ),
    "svbench": (SVBenchJudge, six),
    "gpt-score": (
        partial(single_answer_judge, "gpt-score"),
        lambda good: json.dumps({"rationale": "as it is", "accuracy": 10 if good else 1}),
    ),
    "checklist": (
        lambda: ChecklistJudge(eval_rounds=1),
        lambda good: json.dumps({f"A{n}": ("No" if n == 5 else "Yes") if good else ("Yes" if n == 5 else "No")
                                 for n in range(1, 6)}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("place", ["before", "after", "around"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_protocol_takes_a_quotation_for_the_verdict(protocol: str, place: Any, reliability: Reliability) -> None:
    made, verdict = PROTOCOLS[protocol]
    items = attack_items()
    due = reliability.count(len(items[::10]), full=len(items), release=len(items))
    tally = reliability("judges", "attacks on judges whose model quotes them", "the score that the attack wanted")
    report = asyncio.run(attack_judge(made(), quoting_model(verdict, place), items[:: -(-len(items) // due)]))
    tally.tried, tally.failed = report.total.n, report.total.fooled
    assert report.total.fooled == 0
    assert report.total.blind == 0
    assert report.broken == {}
    assert report.total.resisted + report.total.unscored == report.total.n


@pytest.mark.parametrize("judge", [ChoiceJudge(), MatchJudge()])
def test_protocols_without_a_model_are_not_talked_into_anything(judge: Judge, full: bool) -> None:
    items = attack_items()
    report = asyncio.run(attack_judge(judge, None, items if full else items[::10]))
    assert report.total.fooled == 0
    assert report.broken == {}


def test_the_suite_is_as_large_as_it_is_said_to_be() -> None:
    items = attack_items()
    assert len(items) >= 300
    assert len({item.family for item in items}) >= 10
