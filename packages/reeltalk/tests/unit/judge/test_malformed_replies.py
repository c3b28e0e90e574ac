"""Hundreds of replies that are not what was asked for: none of them is scored wrongly.

Every case says what may be read from it: a value, nothing, or either of the two.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from reliability_page import Reliability

from reeltalk.judge.judge import Judge, JudgeUnit
from reeltalk.judge.single_answers import single_answer_judge
from reeltalk.judge.vdeval import VDEval
from reeltalk.llm import Message, Reply
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import ScoreState

Value = int | float | tuple[float, float] | None


@dataclass(frozen=True)
class Case:
    kind: str
    reply: str
    allowed: tuple[Value, ...]


@dataclass
class Echo:
    """Says the same whatever it is asked."""

    reply: str
    name: str = "echo"
    sees_images: bool = False

    @property
    def sampling(self) -> Mapping[str, Any]:
        return {}

    async def ask(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, sample: int = 0) -> Reply:
        return Reply(self.reply, self.name, None, None, cut_off=False)


TURN = AnsweredTurn(
    model="m", item_id="1", video_id="v", unit_id="u", turn_index=0, question="q", references=("r",), text="a"
)
UNIT = JudgeUnit("m", "dialogue", "u", "v", (TURN,))

WORDS = {1: "one", 2: "two", 3: "three"}
FULL_WIDTH = {1: "１", 2: "２", 3: "３"}
ARABIC = {1: "١", 2: "٢", 3: "٣"}
ROMAN = {1: "I", 2: "II", 3: "III"}
CHINESE = {1: "一", 2: "二", 3: "三"}
SUPERSCRIPT = {1: "¹", 2: "²", 3: "³"}
CIRCLED = {1: "①", 2: "②", 3: "③"}


def wide(number: int) -> str:
    return "".join(chr(ord(digit) + 0xFEE0) for digit in str(number))


def of_ratings() -> Iterator[Case]:
    for n in (1, 2, 3):
        other = n % 3 + 1
        right, none, either = (n,), (None,), (n, None)
        for text in (
            f"So rating={n}", f"Good.\nSo rating={n}\n", f"Good. So rating = {n}", f"Good. So rating=\n{n}",
            f"Good. So rating={n}.", f"Good. So rating={n}!", f"Good. So rating=({n})", f"So rating={n} ",
        ):  # fmt: skip
            yield Case("around the number", text, right)
        for mark in ("**", "*", "`", '"', "'", "```"):
            yield Case("markdown", f"Good. So rating={mark}{n}{mark}", right)
        for text in (f"Good. **So rating={n}**", f"# So rating={n}", f"Good. So rating=[{n}]", f"So rating=<{n}>"):
            yield Case("markdown", text, right)
        for text in (f"**So rating**={n}", f"So rating=__{n}__", f"So rating=\\boxed{{{n}}}", f"So rating=${n}$"):
            yield Case("markdown", text, either)
        for text in (
            f"Good. {n}", f"Rating: {n}", f"rating={n}", f"So the rating is {n}", f"Therefore {n}/3", f"[{n}]", f"{n}",
            f"Score = {n}", f"So rating: {n}", f"So rating {n}", f"So rating is {n}", f"Sorating={n}", f"={n}",
            f'{{"rating": {n}}}', f"So  rating={n}", f"So_rating={n}", f"So-rating={n}", f"SO RATING={n}",
            f"so rating={n}", f"So Rating={n}", f"So rat\u200bing={n}", f"So rating＝{n}", f"So\nrating={n}",
        ):  # fmt: skip
            yield Case("no marker", text, none if "ating" not in text.replace("\u200b", "") else either)
        for digits in (FULL_WIDTH, ARABIC, ROMAN, CHINESE, SUPERSCRIPT, CIRCLED, WORDS):
            yield Case("other digits", f"Good. So rating={digits[n]}", either)
            yield Case("other digits", f"Good. So rating={n}{digits[other]}", none)
            yield Case("other digits", f"Good. So rating={digits[n]}\nThe number {other}.", either)
        for beyond in (
            0,
            4,
            5,
            7,
            10,
            10 + n,
            20 + n,
            100 * n,
            1000 + n,
            f"0{n}",
            f"{n}{n}",
            f"{n}e5",
            f"{n}x",
            f"{n}st",
        ):
            yield Case("out of range", f"Good. So rating={beyond}", none if beyond != f"0{n}" else either)
        for text in (
            f"-{n}",
            f"−{n}",
            f"- {n}",
            f"+-{n}",
            f"~{n}",
            f"≥{n}",
            f">{n}",
            f"<{n}",
            f"≠{n}",
            f"!={n}",
            f"not {n}",
        ):
            yield Case("signs and inequalities", f"Good. So rating={text}", none)
        for text in (f"{n}.5", f"{n},5", f"{n}.25", f"{n}·5", f"{n}.{other}"):
            yield Case("fractions", f"Good. So rating={text}", none)
        yield Case("fractions", f"Good. So rating={n}.0", either)
        for joint in (
            "-",
            "–",
            "—",
            " - ",
            " to ",
            " or ",
            " and ",
            "/",
            " / ",
            "|",
            ", ",
            " & ",
            "..",
            "...",
            "~",
            " or maybe ",
        ):
            for a, b in ((n, other),):
                if (joint == "/" and b == 3) or (joint == " / " and b == 3):
                    continue
                yield Case("ranges", f"Good. So rating={a}{joint}{b}", none if joint != " or maybe " else (a, None))
        for text in (
            "1, 2 or 3",
            "<1, 2 or 3>",
            "[1-3]",
            "1|2|3",
            "{1, 2, 3}",
            "1/2/3",
            "**1**/**2**/**3**",
            "N",
            "?",
            "",
        ):
            yield Case("the instruction echoed", f"{WORDS[n]}: So rating={text}", none)
        for scale in (4, 5, 10, 100, 30):
            yield Case("another scale", f"Good. So rating={n}/{scale}", none)
            yield Case("another scale", f"Good. So rating=**{n}** out of {scale}", none)
        for text in (f"{n}/3", f"{n} / 3", f"{n} out of 3", f"**{n}**/3", f"{n} (of 3)"):
            yield Case("the same scale", f"Good. So rating={text}", either)
        yield Case("percent", f"Good. So rating={n}%", none)
        yield Case("percent", f"Good. So rating={n}0%", none)
        yield Case("two markers", f"At first So rating={other}. But then: So rating={n}", none)
        yield Case("two markers", f"So rating={other}\nSo rating={other}\nSo rating={n}", none)
        yield Case("two markers", f"So rating={n}\nSo rating={n}", right)
        yield Case("two markers", f"The last line shall be 'So rating='. So rating={n}", right)
        yield Case("two markers", f"I thought So rating={other}, but So rating={n}", none)
        yield Case("two markers", f"So rating={n}. So rating=7", none)
        yield Case("two markers", f"So rating={n}\nI ended with `So rating=` as asked.", either)
        yield Case("a quotation", f"So rating={n}\n(The candidate wants So rating={other}.)", either)
        yield Case("a quotation", f"So rating={n}. It says 'So rating={other}'.", either)
        yield Case("a quotation", f"So rating={n}. The candidate says So rating={other} to trick me.", either)
        yield Case("a quotation", f"The candidate writes 'So rating={other}'. So rating={n}", none)
        yield Case("a quotation", f'The candidate writes "So rating={other}" and I refuse to rate it.', none)
        yield Case("a quotation", f"The candidate writes “So rating={other}”.", none)
        yield Case("a quotation", f"It asks for a rating (So rating={other}) and answers nothing.", none)
        yield Case("a quotation", f"It asks (in its own words: So rating={other}) for a rating.", none)
        yield Case("a quotation", f'Good.\n"So rating={n}"', right)
        yield Case("a thought before it", f"<think>So rating={other}</think>Good. So rating={n}", right)
        yield Case("a thought before it", f"<think>So rating={other}</think>Good.", none)
        yield Case("a thought before it", f"<think>Perhaps So rating={other}, or So rating={n}", none)
        yield Case("corrected at once", f"So rating={other} -> {n}", none)
        yield Case("corrected at once", f"So rating={other} → {n}", none)
        yield Case("a list after it", f"So rating=\n{other}. The chair is right.", none)
        yield Case("a list after it", f"So rating=\n\n{other}) The chair is right.", none)
        yield Case("text after it", f"So rating={n}\n\nI hope that this helps.", right)
        yield Case("text after it", f"So rating={n} because 2 of 3 facts are there.", right)
        yield Case("text after it", f"So rating={n}\n- 2 facts are right.", right)
        for text in (
            f"评分={n}", f"所以评分是{n}", f"Donc note={n}", f"Also Bewertung={n}", f"Así que puntuación={n}",
            f"だから評価={n}", f"Итак, оценка={n}", f"لذا التقييم={n}", f"따라서 평점={n}",
        ):  # fmt: skip
            yield Case("other languages", text, none)
        yield Case("other languages", f"答案正确。So rating={n}", right)
        yield Case("other languages", f"答案正确。So rating={n}。", right)
        yield Case("other languages", f"答案正确。So rating={n}分", either)
    for text in (
        "",
        " ",
        "\n",
        "I cannot rate this.",
        "N/A",
        "null",
        "NaN",
        "So rating=",
        "So rating",
        "So rating=So rating=",
    ):
        yield Case("nothing", text, (None,))
    for text in (
        "NaN",
        "nan",
        "inf",
        "None",
        "null",
        "true",
        "X",
        "good",
        "N/A",
        "three stars",
        "[]",
        "{}",
        "**",
        "high",
    ):
        yield Case("no number", f"Good. So rating={text}", (None,))


def truncated(text: str) -> Iterator[str]:
    for length in range(0, len(text) - 1, 2):
        yield text[:length]


def of_clair() -> Iterator[Case]:
    for v in (0, 5, 80, 100):
        good = json.dumps({"score": v, "reason": "The chair is right."})
        right, none, either = (v / 100,), (None,), (v / 100, None)
        for text in (
            good, f"```json\n{good}\n```", f"Sure! {good} Anything else?", f"\ufeff{good}", f"好的：{good}。",
            f'<think>{{"score": 50, "reason": "?"}}</think>{good}', good + good, f"{good}\nAgain: {good}",
            f'{{"reason": "x", "score": {v}, "more": [1, 2]}}', f'{{"score": {v}.0, "reason": "x"}}',
        ):  # fmt: skip
            yield Case("JSON in prose", text, right)
        yield from (Case("truncated", text, none) for text in truncated(good))
        for score in (
            f'"{v}%"', f"[{v}]", "null", "true", "false", "NaN", "Infinity", "-Infinity", "-1", "-0.5", "101",
            "1e999", "1000", f"-{v + 1}", f"{v}%", f"0x{v + 1:x}", f"{v}/100", '"high"', '{"value": 3}', "", f"+{v}",
            "0.85", "0.01", f"{v} or 50", "8_0", "eighty",
        ):  # fmt: skip
            yield Case("the score is none", f'{{"score": {score}, "reason": "x"}}', none)
        for text in (
            f'{{"score": "{v}", "reason": "x"}}', f'{{"score": \'{v}\', "reason": "x"}}',
            f"{{'score': {v}, 'reason': 'x'}}", f'{{score: {v}, reason: "x"}}', f'{{"score": {v}, "reason": "x",}}',
            f'{{"score": {wide(v)}, "reason": "x"}}', f'{{“score”：{v}，“reason”：“x”}}',
        ):  # fmt: skip
            yield Case("careless", text, right)
        for text in (
            f'{{"score": {v}}}', f'{{"score": {v}, "reason": null}}', f'{{"score": {v}, "reason": 5}}',
            f'{{"Score": {v}, "reason": "x"}}', f'{{"result": {good}}}', f'{{"分数": {v}, "原因": "x"}}',
            f'{{"score": {v} "reason": "x"}}', f'{{"score"= {v}, "reason": "x"}}', f'"score": {v}, "reason": "x"',
            f"{v}", f"{v}/100", f"Score: {v}. Reason: x", f"<score>{v}</score>", f"score,reason\n{v},x",
        ):  # fmt: skip
            yield Case("no record", text, none)
        yield Case("a list", f"[{good}]", either)
        other = json.dumps({"score": 55, "reason": "Another."})
        yield Case("two verdicts", f"{good} {other}", none)
        yield Case("two verdicts", f"[{other}, {good}]", none)
        yield Case("two verdicts", f'{{"score": 55, "score": {v}, "reason": "x"}}', none)
        yield Case("two verdicts", f"The candidate says {other}. I say {good}", none)
        yield Case("nested", f'{{"score": {v}, "reason": "x", "candidate": {other}}}', either)
        yield Case("quoted", json.dumps({"score": v, "reason": f"The candidate says {other}."}), either)


def of_llm_acc() -> Iterator[Case]:
    for said, right_one in (("yes", 1.0), ("no", 0.0)):
        for v in (0, 3, 5):
            good = json.dumps({"pred": said, "score": v})
            right, none = ((right_one, float(v)),), (None,)
            for text in (
                good, f"```json\n{good}\n```", f"Sure! {good}", f"\ufeff{good}", f'{{"score": {v}, "pred": "{said}"}}',
                f'{{"pred": "{said.upper()}", "score": {v}}}', f'{{"pred": " {said.title()} ", "score": {v}.0}}',
            ):  # fmt: skip
                yield Case("JSON in prose", text, right)
            yield from (Case("truncated", text, none) for text in truncated(good))
            for score, clamped in (("4.8", 4.8), ("-1", 0.0), ("7", 5.0), ("100", 5.0), ("0.5", 0.5)):
                yield Case("floats and beyond", f'{{"pred": "{said}", "score": {score}}}', ((right_one, clamped), None))
            for score in (
                "null",
                "true",
                "NaN",
                "Infinity",
                "1e999",
                f"[{v}]",
                f"{v}/5",
                '"five"',
                "",
                "{}",
            ):
                yield Case("the score is none", f'{{"pred": "{said}", "score": {score}}}', none)
            for pred in (
                '"maybe"',
                '"yes and no"',
                "true",
                "1",
                "null",
                '["yes"]',
                '"ja"',
                '"是"',
                '"yes/no"',
                '""',
                "yes",
            ):
                yield Case("neither yes nor no", f'{{"pred": {pred}, "score": {v}}}', none)
            for text in (
                f"{said}, {v}", f"pred: {said}\nscore: {v}", f"({said}, {v})",
                f'{{"pred": "{said}"}}', f'{{"score": {v}}}', f'{{"Pred": "{said}", "Score": {v}}}',
                f'{{"result": {good}}}', f"dict(pred='{said}', score={v})",
            ):  # fmt: skip
                yield Case("no record", text, none)
            for text in (
                f"{{'pred': '{said}', 'score': {v}}}", f'{{"pred": "{said}", "score": {v},}}',
                f'{{"pred": "{said}", "score": "{v}"}}', f'{{"pred": "{said}", "score": {wide(v)}}}',
            ):  # fmt: skip
                yield Case("careless", text, right)
            opposite = json.dumps({"pred": "no" if said == "yes" else "yes", "score": 1})
            yield Case("two verdicts", f"{opposite} {good}", none)
            yield Case("two verdicts", f"{good}\n{opposite}", none)
            yield Case("two verdicts", f'{{"pred": "no", "pred": "yes", "score": {v}}}', none)


RATINGS, LIKELIHOODS, VERDICTS = ([*dict.fromkeys(cases())] for cases in (of_ratings, of_clair, of_llm_acc))


def read_by(judge: Judge, cases: Sequence[Case]) -> list[Value]:
    async def every() -> list[Value]:
        found: list[Value] = []
        for case in cases:
            rows = await judge.judge(UNIT, Echo(case.reply))
            values = tuple(row.value for row in rows)
            assert all((row.state is ScoreState.UNSCORED) == (row.value is None) for row in rows)
            assert all(row.reason for row in rows if row.value is None)
            scored = tuple(value for value in values if value is not None)
            assert len(scored) in (0, len(rows))
            found.append((scored[0] if len(scored) == 1 else (scored[0], scored[1])) if scored else None)
        return found

    return asyncio.run(every())


def wrong(cases: Sequence[Case], found: Sequence[Value]) -> list[tuple[Case, Value]]:
    return [(case, value) for case, value in zip(cases, found, strict=True) if value not in case.allowed]


WHAT = "replies to judges that are not as they were asked for", "a score that the reply does not give"


def test_no_rating_is_read_wrongly(reliability: Reliability) -> None:
    found = read_by(VDEval(summary="none"), RATINGS)
    tally = reliability("judges", *WHAT)
    tally.tried, tally.failed = len(RATINGS), len(wrong(RATINGS, found))
    assert wrong(RATINGS, found) == []
    assert read_by(single_answer_judge("lave"), RATINGS) == [
        None if n is None else (float(str(n)) - 1) / 2 for n in found
    ]


@pytest.mark.parametrize(
    ("judge", "cases"),
    [(single_answer_judge("clair"), LIKELIHOODS), (single_answer_judge("llm-acc"), VERDICTS)],
    ids=["clair", "llm_acc"],
)
def test_no_record_is_read_wrongly(judge: Judge, cases: Sequence[Case], reliability: Reliability) -> None:
    found = wrong(cases, read_by(judge, cases))
    tally = reliability("judges", *WHAT)
    tally.tried, tally.failed = len(cases), len(found)
    assert found == []


def test_what_may_be_read_is_mostly_read() -> None:
    found = read_by(VDEval(summary="none"), RATINGS)
    scored = [value is not None for case, value in zip(RATINGS, found, strict=True) if len(case.allowed) == 2]
    assert len(scored) >= 60
    assert sum(scored) >= 8


@pytest.mark.parametrize(
    ("cases", "kinds"), [(RATINGS, 15), (LIKELIHOODS, 8), (VERDICTS, 7)], ids=["ratings", "clair", "llm_acc"]
)
def test_the_table_is_large_and_of_many_kinds(cases: list[Case], kinds: int) -> None:
    counted = Counter(case.kind for case in cases)
    assert len(cases) >= 200
    assert len(counted) >= kinds
    assert any(case.allowed == (None,) for case in cases)
    assert any(None not in case.allowed for case in cases)


def test_a_judge_that_only_talks_is_unscored_in_the_official_reading_of_no_criterion_of_ours() -> None:
    rows = asyncio.run(VDEval(summary="none", compat=True).judge(UNIT, Echo("Fine.")))
    assert [(row.criterion, row.value) for row in rows] == [("vdeval", None), ("vdeval.compat", 1.0)]
