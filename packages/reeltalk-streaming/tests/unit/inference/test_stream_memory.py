from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from reeltalk_streaming.inference.stream_memory import MemoryPolicy, StreamMemory

LAYERS, HEADS, WIDTH, K = 2, 3, 4, 2
POLICIES = st.builds(
    MemoryPolicy,
    sinks=st.integers(0, 6),
    recent_frames=st.integers(1, 5),
    merged_frames=st.integers(0, 4),
    recent_words=st.integers(4, 9),
)
# A number is a turn of so many words, in two parts; None a frame; a negative number an instruction.
EVENTS = st.lists(st.one_of(st.none(), st.none(), st.integers(1, 4), st.integers(-4, -1)), max_size=60)


Floats = NDArray[np.float32]


def tokens(draw: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    keys, values = draw.normal(size=(2, LAYERS, HEADS, count, WIDTH)).astype(np.float32)
    return keys, values


def played(events: list[int | None], policy: MemoryPolicy | None) -> tuple[StreamMemory, list[Floats], list[Floats]]:
    """A memory of events, all keys and those of frames."""
    memory, every, frames = StreamMemory(LAYERS, HEADS, WIDTH, K, policy), [], []
    draw = np.random.default_rng(0)
    for number, event in enumerate(events):
        if event is None:
            keys, values = tokens(draw, K)
            memory.add_frame(keys, values, pts_s=float(number))
            frames.append(keys)
            every.append(keys)
        else:
            for _ in range(2 if abs(event) < 3 else 1):
                keys, values = tokens(draw, abs(event))
                memory.add_words(keys, values, lasting=event < 0)
                every.append(keys)
            memory.end_turn()
        if policy is not None:
            assert memory.tokens <= policy.most_tokens(K)
    return memory, every, frames


@given(events=EVENTS)
@settings(max_examples=50, deadline=None)
def test_without_a_policy_everything_is_kept(events: list[int | None]) -> None:
    memory, every, _ = played(events, None)
    assert memory.tokens == sum(keys.shape[2] for keys in every)
    if every:
        assert np.array_equal(memory.keys, np.concatenate(every, axis=2))
    assert memory.memory_bytes == memory.tokens * LAYERS * HEADS * WIDTH * 4 * 2
    assert memory.frames_dropped == memory.words_dropped == 0


@given(events=EVENTS, policy=POLICIES)
@settings(max_examples=150, deadline=None)
def test_bounds_hold_and_what_stays_is_in_the_order_of_time(events: list[int | None], policy: MemoryPolicy) -> None:
    memory, every, seen = played(events, policy)
    entries = memory.entries
    assert sum(entry.tokens for entry in entries) == memory.tokens
    assert memory.memory_bytes == memory.tokens * LAYERS * HEADS * WIDTH * 4 * 2
    if every:
        first = np.concatenate(every, axis=2)[:, :, : policy.sinks]
        assert np.array_equal(memory.keys[:, :, : first.shape[2]], first)
    frames = [entry for entry in entries if entry.kind == "frame"]
    assert len(frames) <= policy.recent_frames + policy.merged_frames
    assert sum(entry.tokens for entry in entries if entry.kind == "words") <= policy.recent_words
    # Every frame is in one entry; only where there is no place for merged ones it may be dropped.
    assert sum(entry.frames for entry in entries) + memory.frames_dropped == memory.frames_seen == len(seen)
    assert not memory.frames_dropped or policy.merged_frames == 0
    times = [at for entry in frames for at in (entry.first_pts_s, entry.last_pts_s)]
    assert times == sorted(times, key=lambda at: at or 0.0)
    assert all((a.first_frame or 0) + a.frames == b.first_frame for a, b in pairwise(frames))
    assert all(entry.frames == 1 for entry in frames[-policy.recent_frames :])
    at = 0
    for entry in entries:
        own = memory.keys[:, :, at : at + entry.tokens]
        at += entry.tokens
        if entry.kind == "frame":
            start = entry.first_frame or 0
            # What is merged is the mean of its frames, each counted once.
            assert np.allclose(own, np.mean(seen[start : start + entry.frames], axis=0), atol=1e-5)


def test_what_is_most_alike_is_merged_first() -> None:
    memory = StreamMemory(1, 1, WIDTH, 1, MemoryPolicy(sinks=0, recent_frames=1, merged_frames=2, recent_words=4))
    for number, direction in enumerate((0, 1, 1, 2, 3)):
        key = np.zeros((1, 1, 1, WIDTH), np.float32)
        key[..., direction] = 1 + number
        memory.add_frame(key, key, pts_s=float(number))
        if number == 3:
            assert [(entry.first_frame, entry.frames) for entry in memory.entries] == [(0, 1), (1, 2), (3, 1)]
    assert [entry.frames for entry in memory.entries] in ([3, 1, 1], [1, 3, 1])


def test_old_turns_are_dropped_whole_and_instructions_after_them() -> None:
    memory = StreamMemory(1, 1, WIDTH, 1, MemoryPolicy(sinks=0, recent_frames=1, merged_frames=0, recent_words=6))
    word = np.ones((1, 1, 1, WIDTH), np.float32)
    memory.add_words(np.repeat(word, 2, axis=2), np.repeat(word, 2, axis=2), lasting=True)
    memory.end_turn()
    for size in (2, 2, 3):
        memory.add_words(size * np.repeat(word, size, axis=2), np.repeat(word, size, axis=2))
        memory.end_turn()
    assert [(entry.tokens, entry.lasting) for entry in memory.entries] == [(2, True), (3, False)]
    assert memory.keys[0, 0, :, 0].tolist() == [1, 1, 3, 3, 3]
    assert memory.words_dropped == 4
    with pytest.raises(ValueError, match="more words than the 6"):
        memory.add_words(np.repeat(word, 7, axis=2), np.repeat(word, 7, axis=2))
    with pytest.raises(ValueError, match="a frame has 1 tokens"):
        memory.add_frame(np.repeat(word, 2, axis=2), np.repeat(word, 2, axis=2), 0.0)


@given(events=EVENTS, policy=st.one_of(st.none(), POLICIES), more=EVENTS)
@settings(max_examples=30, deadline=None)
def test_a_fork_goes_on_by_itself(
    events: list[int | None], policy: MemoryPolicy | None, more: list[int | None]
) -> None:
    memory, _, _ = played(events, policy)
    other, before = memory.fork(), memory.keys.copy()
    assert other.entries == memory.entries
    draw = np.random.default_rng(1)
    for number, event in enumerate(more):
        if event is None:
            other.add_frame(*tokens(draw, K), pts_s=1000.0 + number)
        else:
            other.add_words(*tokens(draw, 1))
            other.end_turn()
    assert np.array_equal(memory.keys, before)
    assert memory.frames_seen == events.count(None)
    assert other.frames_seen == events.count(None) + more.count(None)
