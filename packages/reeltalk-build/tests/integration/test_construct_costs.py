"""What construction costs: the forecast against what servers count for four families, and limits over many calls."""

import base64
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

import pytest
import scripted_vision
from PIL import Image
from scripted_server import Body, completion, serve, words

from reeltalk.cli import run
from reeltalk.llm import ReplyStore
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.tables import CHAINS

MOST_OFF = 0.4
"""Most by which the forecast after ten replies may be off, as a share of what was counted."""


def openai_tiles(width: int, height: int) -> int:
    """GPT-4o: within 2,048 x 2,048, then at most 768 on the short side; 85, and 170 for each square of 512."""
    while max(width, height) > 2048:
        width, height = width // 2, height // 2
    if min(width, height) > 768:
        width, height = width * 768 // min(width, height), height * 768 // min(width, height)
    return 85 + 170 * (-(-width // 512)) * (-(-height // 512))


def anthropic_area(width: int, height: int) -> int:
    """Claude: pixels by 750, if no side is longer than 1,568."""
    assert max(width, height) <= 1568
    return round(width * height / 750)


def qwen_patches(width: int, height: int) -> int:
    """Qwen2.5-VL: sides to the nearest multiples of 28, one token for each cell."""
    return max(1, round(width / 28)) * max(1, round(height / 28))


def gemini_tiles(width: int, height: int) -> int:
    """Gemini 2.0: 258 for a picture with no side above 384, else for each tile of 768."""
    return 258 if max(width, height) <= 384 else 258 * math.ceil(width / 768) * math.ceil(height / 768)


FAMILIES: Mapping[str, Callable[[int, int], int]] = {
    "gpt-4o": openai_tiles,
    "claude-sonnet-4-5": anthropic_area,
    "Qwen/Qwen2.5-VL-7B-Instruct": qwen_patches,
    "gemini-2.0-flash": gemini_tiles,
}
"""How the makers document what a picture counts, written without a look at ours."""
OFTEN = ("gpt-4o",)
"""Tried in `make test`; `test_picture_tokens` compares each family's rule with ours."""


def counting(body: Body) -> Body:
    """An answer with the tokens that the family of its model counts: four characters are one."""
    pictures = [
        base64.b64decode(part["image_url"]["url"].split(",", 1)[1])
        for message in body["messages"]
        if not isinstance(message["content"], str)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    family = FAMILIES[body["model"]]
    text = scripted_vision.reply(body)
    answer = completion(body, text)
    prompt = sum(len(words(message)) for message in body["messages"]) // 4
    prompt += sum(family(*Image.open(BytesIO(picture)).size) for picture in pictures)
    reply = len(text) // 4
    return answer | {"usage": {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}}


@pytest.mark.parametrize(
    "model", [pytest.param(name, marks=() if name in OFTEN else pytest.mark.slow) for name in FAMILIES]
)
def test_after_ten_replies_the_forecast_is_near_what_the_family_counts(
    filmed_household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str, full: bool
) -> None:
    folder = tmp_path / "household"
    shutil.copytree(filmed_household, folder)
    steps = ("chains", "linkages", "scenes", "dialogues") if full else ("chains", "linkages")
    options = ["--judge", model, "--price-in", "1", "--price-out", "1", "--no-preflight", "--connections", "1"]
    with serve(counting) as server:
        command = ["construct", str(folder), "--writer", model, "--base-url", server.base_url, *options]
        command += ["--limit", "2", *(part for step in steps for part in ("--steps", step))]
        assert run(command) == 0
        said = capsys.readouterr().err
        requests, tokens = server.count, server.tokens
    (told,) = re.findall(r"by the first 10 replies, about ([\d,]+) requests, ([\d,]+) tokens, ([\d.,]+) in money", said)
    more_requests, more_tokens, more_money = (float(number.replace(",", "")) for number in told)
    with ReplyStore(folder / WORK / "replies.sqlite") as store:
        assert store.spent().calls == requests
    first = sum(used(body)["total_tokens"] for body in server.requests[:10])
    print(f"{model}: {more_requests:.0f} for {requests - 10} requests, {more_tokens:.0f} for {tokens - first} tokens")
    assert abs(more_requests / (requests - 10) - 1) <= MOST_OFF
    assert abs(more_tokens / (tokens - first) - 1) <= MOST_OFF
    assert abs(more_money / ((tokens - first) / 1e6) - 1) <= MOST_OFF + 0.1


def used(body: Body) -> Counter[str]:
    """What a request took."""
    usage = counting({name: body[name] for name in body if name not in ("path", "key")})["usage"]
    return Counter(usage)


def test_a_limit_holds_over_five_calls_and_what_the_message_says_adds_to_it(
    filmed_video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "video"
    shutil.copytree(filmed_video, folder)

    def spent() -> int:
        with ReplyStore(folder / WORK / "replies.sqlite") as store:
            return store.spent().calls

    with serve(scripted_vision.reply) as server:
        command = ["construct", str(folder), "--writer", "vision-1", "--judge", "vision-2", "--no-preflight"]
        command += ["--base-url", server.base_url, "--steps", "chains", "--connections", "1", "--max-calls", "3"]
        # 1. the limit; 2. it holds for all calls together; 3. and 4. so many more, each time anew
        for options, calls in (([], 3), ([], 3), (["--more", "2"], 5), (["--more", "2"], 7)):
            assert run([*command, *options]) == 2
            assert server.count == spent() == calls
            said = capsys.readouterr().err
            assert f"{calls} of {calls} requests" in said
        # 5. what the last message names is enough, and the forecast has found it
        (named,) = re.findall(r"add (--more \d+) to the same command", said)
        assert run([*command, *named.split()]) == 0
        assert server.count == spent() > 7
    assert Benchmark.open(folder).rows(CHAINS)


@pytest.mark.parametrize(
    ("limit", "more"), [(["--max-tokens", "30000"], "--more-tokens"), (["--max-cost", "0.03"], "--more-cost")]
)
def test_limits_of_tokens_and_money_name_what_adds_to_them(
    filmed_video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: list[str], more: str
) -> None:
    folder = tmp_path / "video"
    shutil.copytree(filmed_video, folder)
    with serve(scripted_vision.reply) as server:
        command = ["construct", str(folder), "--writer", "vision-1", "--no-preflight", "--base-url", server.base_url]
        command += ["--steps", "chains", "--price-in", "1", "--price-out", "1", "--image-tokens", "100", *limit]
        assert run(command) == 2
        said = capsys.readouterr().err
        (named,) = re.findall(rf"add ({more} [\d.]+) to the same command", said)
        assert run([*command, *named.split()]) == 0, capsys.readouterr().err


def test_thoughts_that_a_server_counts_in_the_total_alone_are_paid_for(
    filmed_video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "video"
    shutil.copytree(filmed_video, folder)
    limits: list[int] = []

    def thinking(body: Body) -> Body:
        limits.append(body["max_tokens"])
        answer = completion(body, json.dumps({"caption": "A person takes a mug from the table."}))
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 1110}
        return answer | {"usage": usage, "choices": answer["choices"]}

    with serve(thinking) as server:
        command = ["construct", str(folder), "--writer", "gemini-2.5-flash", "--base-url", server.base_url]
        run([*command, "--steps", "scenes", "--no-preflight", "--max-calls", "2", "--connections", "1"])
        assert server.count == 2
    assert set(limits) == {2048 + 24576}
    with ReplyStore(folder / WORK / "replies.sqlite") as store:
        assert store.spent().tokens == 2 * 1110
