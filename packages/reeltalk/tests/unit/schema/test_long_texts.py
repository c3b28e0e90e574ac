"""Rules read what a model writes without end in a time that grows with its length, and read the same in it."""

import contextlib
import functools
import random
import time
from collections.abc import Callable

import pytest
from reliability_page import Reliability

from reeltalk.judge.match import matches
from reeltalk.judge.own import OwnVerdict
from reeltalk.judge.rating import OfficialScriptStopsError, lave_compat, read_rating, vdeval_compat
from reeltalk.judge.svbench_official import official_scores, official_single_score
from reeltalk.language.answer_words import is_unable, normalise_answer
from reeltalk.llm.scrubbing import scrub
from reeltalk.llm.structured import MalformedReplyError, read_record
from reeltalk.metrics import agree
from reeltalk.metrics.choice import read_choice, says_unsure
from reeltalk.metrics.tokenise import tokenise
from reeltalk.schema.long_texts import HEAD, SHORT_CHARS, TAIL, shortened, without_long_spaces
from reeltalk.schema.model_texts import plain_answer, without_thoughts
from reeltalk.schema.texts import text_problem

OPTIONS = ("the red cup", "the blue cup", "a green ball", "nothing")
READERS: dict[str, Callable[[str], object]] = {
    "choice": lambda text: read_choice(text, OPTIONS, "Which one?"),
    "choice of an option": lambda text: read_choice("the red cup", (text, "the cup"), "Which one?"),
    "unsure": says_unsure,
    "agreement": lambda text: agree.agrees(text, ("the red cup",), "Which one?"),
    "agreement with a reference": lambda text: agree.agrees("the red cup", (text,), "Which one?"),
    "agreement on a question": lambda text: agree.agrees("the red cup", ("a cup",), text),
    "statement": lambda text: agree.states_reference(text, "the red cup", "Which one?"),
    "match of a time": lambda text: matches(text, ("3 seconds",), "How long?"),
    "match of words": lambda text: matches(text, ("the red cup",), "Which one?"),
    "match with a reference": lambda text: matches("red", (text,), "Which one?"),
    "rating": read_rating,
    "rating as VDEval's script": vdeval_compat,
    "rating as LAVE's script": lave_compat,
    "scores as SVBench's script": official_scores,
    "score as SVBench's script": official_single_score,
    "record": lambda text: read_record(text, OwnVerdict),
    "record beside what was shown": lambda text: read_record('{"score": 1, "reason": ""}', OwnVerdict, shown=[text]),
    "keys": scrub,
    "thoughts": without_thoughts,
    "plain answer": plain_answer,
    "English tokens": lambda text: tokenise(text, "en"),
    "Chinese tokens": lambda text: tokenise(text, "zh"),
    "normal form": normalise_answer,
    "refusal": is_unable,
    "characters": text_problem,
}
UNITS = (
    *" \n\t\u3000aA1é选.,;:()[]{}<>\"'“`*_-=$\\/!?#|~\u200b%+&^@",
    *("a ", "A. ", "(A) ", "1 ", "1. ", "1:", "0:05 ", ". ", " ,", "<b>", "</b>", "\\boxed{", "\\text{"),
    *('{"a":', "[1,", '"a": ', "yes ", "no, ", "not ", "the answer is ", "or A ", "and ", "Answer: "),
    *("score: ", "Score ", "So rating=", "A1: ", "- ", "**a** ", "<think>", "</think>", "<answer>"),
    *("选A。", "Q1: yes\n", "rating: 3 ", "it is ", "a-", "a'", "x = ", "don't ", "```", "```json\n", "wait, ", "\r\n"),
)  # fmt: skip
PLACES: tuple[Callable[[str], str], ...] = (
    str,
    lambda run: f"The answer is {run}A",
    lambda run: f"yes{run}",
    lambda run: f'{{"score": 1, {run}',
)
SLOW_S = 0.5
"""CPU seconds below which nothing is compared: a hundred times what a linear reader takes for these lengths."""
GROWS = 2.5


def cpu_s(read: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    with contextlib.suppress(MalformedReplyError, OfficialScriptStopsError, ValueError):
        read(text)
    return time.process_time() - begun


def grows_too_fast(read: Callable[[str], object], write: Callable[[int], str], length: int) -> bool:
    """True if twice the text takes more than `GROWS` times the CPU, in the best of three."""
    if cpu_s(read, write(2 * length)) < SLOW_S:
        return False
    once, twice = (min(cpu_s(read, write(long)) for _ in range(3)) for long in (length, 2 * length))
    return twice > max(SLOW_S, GROWS * once)


def repeated(unit: str, place: Callable[[str], str], length: int) -> str:
    return place((unit * (length // len(unit) + 1))[:length])


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_a_time_that_grows_with_the_text(name: str, full: bool, reliability: Reliability) -> None:
    tally = reliability(
        "judges", "replies of one sign or word without end, in each reader", "2.5 times the CPU for twice"
    )
    read = READERS[name]
    place_in_list = list(READERS).index(name)
    # Where not every unit is shown to a reader, the readers together are shown all of them.
    tried = [(5_000, UNITS[place_in_list % 3 :: 3], PLACES[:2])]
    if full:
        tried = [(8_000, UNITS, PLACES), (500_000, UNITS[place_in_list % 12 :: 12], PLACES[:1])]
    texts = [(unit, place, length) for length, units, places in tried for unit in units for place in places]
    found = [
        (unit, PLACES.index(place), length)
        for unit, place, length in texts
        if grows_too_fast(read, functools.partial(repeated, unit, place), length)
    ]
    tally.tried, tally.failed = len(texts), len(found)
    assert not found


@pytest.mark.parametrize("name", READERS)
def test_a_reader_is_not_slowed_by_signs_without_order(name: str) -> None:
    drawn = random.Random(7)
    signs = "".join(drawn.choice(" \n\t.,:;-*_()[]{}\"'`<>/\\=") for _ in range(16_000))
    assert not grows_too_fast(READERS[name], lambda length: "A" + signs[:length] + "B", 8_000)


@pytest.mark.parametrize("unit", ["\n", "I do not know. ", "1, ", "…", "好的。", " .\n"])
def test_what_follows_endless_repetition_is_read(unit: str) -> None:
    text = f"Let me look. {unit * 3_000}The answer is B."
    assert len(shortened(text)) < SHORT_CHARS * 3
    assert shortened(text).endswith("The answer is B.")
    assert read_choice(text, OPTIONS, "Which one?").option == 1


def test_ordinary_text_is_read_as_it_is() -> None:
    drawn = random.Random(3)
    words = "he she puts takes the a red blue cup ball table on under then before and while 3 12 7.5 yes no".split()
    text = ". ".join(" ".join(drawn.choices(words, k=9)).capitalize() for _ in range(300))
    assert len(text) > 10 * SHORT_CHARS
    assert shortened(text) == text
    assert shortened("a" * SHORT_CHARS) == "a" * SHORT_CHARS


def test_the_beginning_and_the_end_of_a_long_text_are_read() -> None:
    drawn = random.Random(3)
    text = "".join(drawn.choice("abcdefgh ") for _ in range(100_000))
    assert shortened(text) == f"{text[:HEAD]}\n{text[-TAIL:]}"
    thought = f"<think>{text}</think>B"
    assert plain_answer(thought) == "B"


def test_data_that_repeats_is_kept_in_a_reply() -> None:
    reply = '{"scores": [' + "3, " * 999 + "3]}"
    assert without_long_spaces(reply) == reply
    assert without_long_spaces(f"{{{' ' * 5_000}{reply}") == f"{{{' ' * 64}{reply}"
