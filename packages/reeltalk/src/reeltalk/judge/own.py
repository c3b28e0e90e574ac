"""A user's own judge: a class with a rule as a method, or with a prompt and a scale. It judges turn by turn."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from reeltalk.errors import SettingError
from reeltalk.extension import check_has, made_of, told
from reeltalk.judge.asking import ask_verdict
from reeltalk.judge.judge import Judge, JudgeUnit, not_applicable_row, score_row, unscored_row
from reeltalk.judge.protocol import Protocol, ProtocolCriterion
from reeltalk.judge.turns import NOBODY, SingleTurnJudge, require_model
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.prompts import Prompt
from reeltalk.llm.structured import repair_signature
from reeltalk.metrics.info import MetricInfo
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore

NEEDS: Final = ("name", "scale")
WHOLE: Final = ("name", "needs_model", "signature", "judge", "measures")
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
    if all(hasattr(made.object, name) for name in WHOLE):
        found: Judge = made.object
        _check_name(spec, found.name, taken)
        return found
    check_has(made.object, spec, NEEDS)
    _check_name(spec, made.object.name, taken)
    return OwnJudge(spec, made.object, made.sha256)


def _check_name(spec: str, name: object, taken: Sequence[str]) -> None:
    if not isinstance(name, str) or not name or not name.replace("-", "").replace("_", "").isalnum() or name in taken:
        raise SettingError(
            f"{spec}: its name {name!r} cannot be used; give a word of letters, digits, - and _ that is none of "
            f"{', '.join(taken)}"
        )


class OwnJudge(SingleTurnJudge):
    """Judges each answer by an object's `score` method, or by a model with its `prompt`.

    Args:
        spec: Name of the class as the user gave it, for errors.
        described: Has `name`; `scale`, the lowest and highest score; and either `score(question, references, answer)`,
            which returns a number on the scale, or None if it does not apply, or `prompt`, the path of a versioned
            prompt file whose `{items}` are filled with question, references and answer.
        sha256: First digits of the hash of its file.

    Raises:
        SettingError: The object does not have these attributes.
    """

    def __init__(self, spec: str, described: Any, sha256: str) -> None:
        self._spec, self._sha256, self._name = spec, sha256, str(described.name)
        self._low, self._high = _scale(spec, described.scale)
        title = str(getattr(described, "title", None) or self._name)
        mark = getattr(described, "pass_mark", None)
        if mark is not None and not (isinstance(mark, int | float) and self._low <= mark <= self._high):
            raise SettingError(f"{spec}: its pass_mark is {mark!r}; give a number on its scale, or leave it out")
        self._rule: Callable[[str, list[str], str], object] | None = getattr(described, "score", None)
        self._prompt = None if self._rule is not None else _prompt(spec, described)
        if self._rule is not None:
            try:
                inspect.signature(self._rule).bind("", [], "")
            except (TypeError, ValueError):
                raise SettingError(f"{spec}: its method score does not take (question, references, answer)") from None
        self.protocol = Protocol(
            name=self._name,
            title=title,
            help=f"A protocol of your own: {spec}.",
            create=lambda _: self,
            criteria=(ProtocolCriterion(self._name, title, self._low, self._high, pass_mark=mark),),
            measures=(MetricInfo(self._name, title, self._low, self._high),),
            needs_model=self._rule is None,
        )

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Hash of the file of the class, and the signature of the prompt."""
        own = ("python", f"{self._name}#{self._sha256}")
        if self._prompt is None:
            return (own,)
        return (own, ("prompt", self._prompt.signature), ("repair", repair_signature()))

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """One row on the stated scale.

        Args:
            unit: The unit of the turn.
            index: Index of the turn in the unit.
            model: The judge, if there is a prompt.

        Raises:
            BudgetError: A limit would be passed.
        """
        turn = unit.turns[index]
        if self._prompt is None:
            return [self._by_rule(unit, turn)]
        return [await self._by_model(unit, turn, require_model(self._name, model))]

    def _by_rule(self, unit: JudgeUnit, turn: AnsweredTurn) -> JudgedScore:
        assert self._rule is not None
        try:
            value = self._rule(turn.question, list(turn.references), turn.text)
        except Exception as error:
            return unscored_row(unit, self._name, NOBODY, f"its method score failed: {told(error)}", turn=turn)
        if value is None:
            return not_applicable_row(unit, self._name, NOBODY, "its method score gave None", turn=turn)
        if not isinstance(value, int | float) or not self._low <= value <= self._high:
            reason = f"its method score gave {value!r}, no number from {self._low:g} to {self._high:g}"
            return unscored_row(unit, self._name, NOBODY, reason, turn=turn)
        return score_row(unit, self._name, NOBODY, float(value), turn=turn)

    async def _by_model(self, unit: JudgeUnit, turn: AnsweredTurn, model: AsyncModel) -> JudgedScore:
        assert self._prompt is not None
        found = await ask_verdict(
            model, [Message("user", self._prompt.fill(items=_items(turn)))], OwnVerdict, check=self._off_scale
        )
        if found.verdict is None:
            return unscored_row(unit, self._name, model.name, found.reason or "", turn=turn, replies=found.replies)
        value, why = found.verdict.score, found.verdict.reason
        return score_row(unit, self._name, model.name, value, turn=turn, explanation=why, replies=found.replies)

    def _off_scale(self, found: OwnVerdict) -> str | None:
        if self._low <= found.score <= self._high:
            return None
        return f"the score is {found.score}; the scale goes from {self._low:g} to {self._high:g}"


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
        found.fill(**_FILLED)
    except (OSError, ValueError, KeyError) as error:
        raise SettingError(
            f"{spec}: its prompt cannot be used: {told(error)}; it may have the field {{items}}"
        ) from None
    if "{items}" not in found.text:
        raise SettingError(f"{spec}: {path} has no {{items}}, where question, references and answer go")
    return found


_FILLED: Final[Mapping[str, str]] = {"items": ""}
