"""Scripts are divided by video, evenly, and the same way each time. Each process that loads a model has its own GPU."""

import random

import pytest

from reeltalk.evaluate.playing.script import Script, Step
from reeltalk.evaluate.settings import RunConfig
from reeltalk.judge.settings import JudgeModelSettings
from reeltalk.schema.dialogue import Turn
from reeltalk.stages.evaluating import VISIBLE_GPUS, gpus_of, shards_of, turns_of

TURN = Turn(question="Who is there?", references=("Nobody.",))


def scripts(lengths: dict[str, list[int]]) -> list[Script]:
    """Scripts of such lengths for each video, the videos' scripts among each other."""
    found = [
        Script(f"{video}-{n}", video, tuple(Step("dialogue", f"{video}-{n}", i, TURN, None) for i in range(length)))
        for video, own in lengths.items()
        for n, length in enumerate(own)
    ]
    random.Random(5).shuffle(found)
    return found


def test_a_video_is_in_one_shard_and_shards_are_about_even() -> None:
    draw = random.Random(1)
    played = scripts({f"v{n}": [draw.randint(1, 30) for _ in range(draw.randint(1, 6))] for n in range(40)})
    for count in (1, 2, 3, 8):
        divided = shards_of(played, count)
        shards = [[played[place] for place in shard] for shard in divided]
        assert len(shards) == count
        assert sorted(script.id for shard in shards for script in shard) == sorted(script.id for script in played)
        homes = [{script.video_id for script in shard} for shard in shards]
        assert sum(map(len, homes)) == 40
        sizes = [turns_of(shard) for shard in shards]
        assert max(sizes) - min(sizes) < 0.1 * sum(sizes) / count
        for shard in divided:
            assert shard == sorted(shard)
        assert shards_of(played, count) == divided


def test_there_are_no_more_shards_than_videos() -> None:
    assert [len(shard) for shard in shards_of(scripts({"a": [3, 1], "b": [0]}), 5)] == [2, 1]


@pytest.mark.parametrize(
    ("visible", "count", "expected"),
    [
        (None, 0, ()),
        (None, 3, ("0", "1", "2")),
        ("", 0, ()),
        ("2, 5", 2, ("2", "5")),
        ("GPU-8932f937,MIG-12", 2, ("GPU-8932f937", "MIG-12")),
        # CUDA sees what is named before a number that is none.
        ("4,-1,2", 1, ("4",)),
    ],
)
def test_gpus_are_those_that_this_process_sees(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, count: int, expected: tuple[str, ...]
) -> None:
    torch = pytest.importorskip("torch", reason="the train extra is not installed")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.delenv(VISIBLE_GPUS, raising=False)
    if visible is not None:
        monkeypatch.setenv(VISIBLE_GPUS, visible)
    local = RunConfig(model="transformers:models/tuned")
    judged = RunConfig(model="baseline:blind", judge_model=JudgeModelSettings(judge="transformers:models/judge"))
    assert gpus_of(local) == gpus_of(judged) == expected
    assert gpus_of(RunConfig(model="tiny")) == ()
