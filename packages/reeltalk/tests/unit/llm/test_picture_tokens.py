"""Tokens of pictures by families of models: worked examples of their makers, and the sizes of JPEG files."""

import math

import cv2
import numpy as np
import pytest

from reeltalk.llm.model import Endpoint, Message
from reeltalk.llm.picture_tokens import ROOM, UNKNOWN, frame_tokens, jpeg_size, picture_tokens
from reeltalk.llm.wire import most_prompt_tokens


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        # OpenAI's guide to images: a square of 1,024 pixels in high detail, 2,048 by 4,096, and patches.
        ("gpt-4o", (1024, 1024), 765),
        ("openai/gpt-4o-2024-08-06", (2048, 4096), 1105),
        ("gpt-4o-mini", (1024, 1024), 25_501),
        ("gpt-5", (1024, 1024), 630),
        ("gpt-4.1-mini", (1024, 1024), math.ceil(1024 * 1.62)),
        # Anthropic's table of sizes and tokens.
        ("claude-sonnet-4-5", (200, 200), 54),
        ("claude-3-7-sonnet-latest", (1000, 1000), 1334),
        ("claude-opus-4", (1092, 1092), 1590),
        # Google: up to 384 pixels 258 tokens, else 258 for each crop.
        ("gemini-2.0-flash", (384, 300), 258),
        ("gemini-2.5-pro", (1920, 1080), 1548),
        ("google/gemma-3-27b-it", (1920, 1080), 256),
        # The models' own processors: a whole picture of 448 is one tile, one of 896 by 448 is two and the whole.
        ("OpenGVLab/InternVL3-8B", (448, 448), 256),
        ("OpenGVLab/InternVL2_5-26B", (896, 448), 768),
        ("Qwen/Qwen2.5-VL-7B-Instruct", (280, 280), 100),
        ("Qwen2-VL-72B", (1288, 728), 46 * 26),
        ("Qwen/Qwen3-VL-8B-Instruct", (1024, 768), 32 * 24),
        ("mistralai/Pixtral-12B-2409", (1024, 1024), 64 * 64 + 64),
        ("my-finetune", (640, 360), None),
    ],
)
def test_a_family_counts_as_its_maker_says(model: str, size: tuple[int, int], tokens: int | None) -> None:
    assert picture_tokens(model, *size) == tokens


def test_a_larger_picture_never_counts_less_in_steps_of_a_family() -> None:
    for model in ("gpt-4.1", "o3", "claude", "qwen2.5-vl", "qwen3-vl", "pixtral", "gemini-2.5"):
        counts = [picture_tokens(model, side, side * 9 / 16) or 0 for side in range(64, 4096, 64)]
        assert counts == sorted(counts), model


def test_a_budget_reserves_what_the_family_counts_for_the_picture_with_room() -> None:
    picture = cv2.imencode(".jpg", np.zeros((280, 560, 3), np.uint8))[1].tobytes()
    assert jpeg_size(picture) == (560, 280)
    for damaged in (b"", b"video@1.0", picture[:12], b"\xff\xd8\xff\xff", b"\xff\xd8" + b"\xff\xe0\x00\x00" * 3):
        assert jpeg_size(damaged) is None
    bare, shown = ([Message("user", "Who?", images)] for images in ((), (picture,)))
    for model, stated, tokens in (
        ("Qwen/Qwen2.5-VL-3B", None, math.ceil(ROOM * 200)),
        ("my-finetune", None, UNKNOWN),
        ("Qwen/Qwen2.5-VL-3B", 7, 7),
    ):
        endpoint = Endpoint(model=model, image_tokens=stated)
        assert most_prompt_tokens(shown, None, endpoint) - most_prompt_tokens(bare, None, endpoint) == tokens


def test_a_frame_whose_shape_is_not_known_counts_as_a_wide_one() -> None:
    assert frame_tokens("gpt-4o", 720) == picture_tokens("gpt-4o", 720, 405)
    assert frame_tokens("qwen2.5-vl", 448, square=True) == 256
    assert frame_tokens("gpt-4o", None) == picture_tokens("gpt-4o", 1920, 1080)
    assert frame_tokens("my-finetune", 720) == UNKNOWN
