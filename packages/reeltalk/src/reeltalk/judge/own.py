"""A user's own judge: a class with a rule as a method, or with a prompt and a scale, which make a `Design`."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from reeltalk.errors import SettingError
from reeltalk.extension import check_has, error_line, made_of
from reeltalk.judge.judge import Judge, JudgeUnit, not_applicable_row, score_row, unscored_row
from reeltalk.judge.protocol import Protocol, ProtocolCriterion
from reeltalk.judge.single_answers import Design, SingleAnswerJudge
from reeltalk.judge.turns import NO_MODEL, SingleTurnJudge
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.prompts import Prompt
from reeltalk.llm.structured import repair_signature
from reeltalk.metrics.info import MetricInfo
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore

Rule = Callable[[str, list[str], str], object]
"""Scores an answer. It gets the question, the references and the answer."""
NEEDED_ATTRIBUTES: Final = ("name", "scale")
JUDGE_ATTRIBUTES: Final = ("name", "needs_model", "signature", "judge", "measures")
"""A class with all of these attributes is a `Judge` itself."""


class OwnVerdict(BaseModel):
    """What a model says of one answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="Verdict")

    reason: str
    score: float


def own_judge(spec: str, taken: Sequence[str]) -> Judge:
    """The judge that a user's own class is or describes.

    Args:
        spec: `package.module:Class` or `path/to/file.py:Class`.
        taken: Names of other judges, which it cannot have.

    Raises:
        SettingError: There is no such class, or it describes no judge.
    """
    made = made_of(spec)
    if all(hasattr(made.object, name) for name in JUDGE_ATTRIBUTES):
        found: Judge = made.object
        _check_name(spec, found.name, taken)
        return found
    check_has(made.object, spec, NEEDED_ATTRIBUTES)
    _check_name(spec, made.object.name, taken)
    return _described_judge(spec, made.object, made.sha256)


def _check_name(spec: str, name: object, taken: Sequence[str]) -> None:
    if not isinstance(name, str) or not name or not name.replace("-", "").replace("_", "").isalnum() or name in taken:
        raise SettingError(
            f"{spec}: its name {name!r} cannot be used; give a word of letters, digits, - and _ that is none of "
            f"{', '.join(taken)}"
        )


def _described_judge(spec: str, described: Any, sha256: str) -> Judge:
    """The judge that an object describes.

    Args:
        spec: Name of the class as the user gave it, for errors.
        described: Has `name`; `scale`, the lowest and highest score; and either `score(question, references, answer)`,
            which returns a number on the scale, or None if it does not apply, or `prompt`, the path of a versioned
            prompt file whose `{items}` are filled with question, references and answer.
        sha256: First digits of the hash of its file.

    Raises:
        SettingError: The object does not have these attributes.
    """
    name, (low, high) = str(described.name), _scale(spec, described.scale)
    title = str(getattr(described, "title", None) or name)
    mark = getattr(described, "pass_mark", None)
    if mark is not None and not (isinstance(mark, int | float) and low <= mark <= high):
        raise SettingError(f"{spec}: its pass_mark is {mark!r}; give a number on its scale, or leave it out")
    rule: Rule | None = getattr(described, "score", None)
    own = ("python", f"{name}#{sha256}")
    judge: Judge
    protocol = Protocol(
        name=name,
        title=title,
        help=f"A protocol of your own: {spec}.",
        create=lambda _: judge,
        criteria=(ProtocolCriterion(name, title, low, high, pass_mark=mark),),
        measures=(MetricInfo(name, title, low, high),),
        needs_model=rule is None,
    )
    if rule is not None:
        try:
            inspect.signature(rule).bind("", [], "")
        except (TypeError, ValueError):
            raise SettingError(f"{spec}: its method score does not take (question, references, answer)") from None
        judge = RuleJudge(protocol, rule, (own,))
        return judge
    prompt = _prompt(spec, described)

    def off_scale(found: OwnVerdict) -> str | None:
        if low <= found.score <= high:
            return None
        return f"the score is {found.score}; the scale goes from {low:g} to {high:g}"

    design = Design(
        messages=lambda _, turn: [Message("user", prompt.fill(items=_items(turn)))],
        signature=lambda _: (own, ("prompt", prompt.signature), ("repair", repair_signature())),
        reply=OwnVerdict,
        check=off_scale,
        values=lambda verdict: {name: verdict.score},
        reasons=lambda verdict: str(verdict.reason),
    )
    judge = SingleAnswerJudge(protocol, design)
    return judge


class RuleJudge(SingleTurnJudge):
    """Judges each answer by a user's own rule."""

    def __init__(self, protocol: Protocol, rule: Rule, signature: tuple[tuple[str, str], ...]) -> None:
        self.protocol, self._rule, self._signature = protocol, rule, signature

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Hash of the file of the class."""
        return self._signature

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """One row on the stated scale; see `SingleTurnJudge`."""
        turn, name, [criterion] = unit.turns[index], self.name, self.protocol.criteria
        try:
            value = self._rule(turn.question, list(turn.references), turn.text)
        except Exception as error:
            return [unscored_row(unit, name, NO_MODEL, f"its method score failed: {error_line(error)}", turn=turn)]
        if value is None:
            return [not_applicable_row(unit, name, NO_MODEL, "its method score gave None", turn=turn)]
        if not isinstance(value, int | float) or not criterion.low <= value <= criterion.high:
            reason = f"its method score gave {value!r}, no number from {criterion.low:g} to {criterion.high:g}"
            return [unscored_row(unit, name, NO_MODEL, reason, turn=turn)]
        return [score_row(unit, name, NO_MODEL, float(value), turn=turn)]


def _items(turn: AnsweredTurn) -> str:
    references = "\n".join(f"- {reference}" for reference in turn.references)
    return f"Question:\n{turn.question}\n\nReference answers:\n{references}\n\nAnswer:\n{fence(turn.text)}"


def _scale(spec: str, scale: object) -> tuple[float, float]:
    low, high = scale if isinstance(scale, tuple | list) and len(scale) == 2 else (None, None)
    if not isinstance(low, int | float) or not isinstance(high, int | float) or not low < high:
        raise SettingError(f"{spec}: its scale is {scale!r}; give the lowest and the highest score, as (0, 5)")
    return float(low), float(high)


def _prompt(spec: str, described: Any) -> Prompt:
    path = getattr(described, "prompt", None)
    if not isinstance(path, str | Path):
        raise SettingError(f"{spec}: it has neither a method score nor a prompt, the path of a prompt file")
    try:
        found = Prompt.load(Path(path))
        found.fill(items="")
    except (OSError, ValueError, KeyError) as error:
        raise SettingError(
            f"{spec}: its prompt cannot be used: {error_line(error)}; it may have the field {{items}}"
        ) from None
    if "{items}" not in found.text:
        raise SettingError(f"{spec}: {path} has no {{items}}, where question, references and answer go")
    return found
