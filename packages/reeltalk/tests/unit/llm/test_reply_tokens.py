"""Models that think get room for it, and those that do not get none."""

import pytest

from reeltalk.llm.reply_tokens import ANSWER, longest_reply


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        ("o3", 25000),
        ("openai/o4-mini", 25000),
        ("gpt-5-mini", 25000),
        ("gpt-5.2", 25000),
        ("gpt-5-chat-latest", 0),
        ("gpt-4o", 0),
        ("gpt-4.1-nano", 0),
        ("openai/gpt-oss-20b", 16384),
        ("gemini-2.5-flash", 24576),
        ("gemini-2.5-flash-lite", 0),
        ("gemini-3-pro-preview", 32768),
        ("gemini-2.0-flash", 0),
        ("claude-sonnet-4-5", 0),
        ("grok-4-fast", 16384),
        ("Qwen/Qwen3-8B", 32768),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", 0),
        ("Qwen/Qwen3-VL-8B-Thinking", 32768),
        ("Qwen/Qwen3-VL-8B-Instruct", 0),
        ("qwen3-vl", 0),
        ("Qwen/Qwen2.5-VL-7B-Instruct", 0),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", 32768),
        ("zai-org/GLM-4.5V", 8192),
        ("moonshotai/Kimi-VL-A3B-Thinking-2506", 32768),
        ("moonshotai/Kimi-VL-A3B-Instruct", 0),
        ("gemma3", 0),
        ("vision-1", 0),
    ],
)
def test_room_for_thoughts_follows_the_family(model: str, thinks: int) -> None:
    assert longest_reply(model) == ANSWER + thinks
