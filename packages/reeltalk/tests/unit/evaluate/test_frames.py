"""A turn sees exactly the frames that its policy names, and none that comes after its question.

The frames of these videos carry their number in their pixels, so which frame was seen is an equality.
"""

import asyncio
import contextlib
import itertools
import shutil
from collections.abc import Callable, Coroutine, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_videos import Numbered, number_of

from reeltalk.errors import BenchmarkError, BrokenInvariantError, InputError
from reeltalk.evaluation.playing import frames as frames_module
from reeltalk.evaluation.playing.frames import FrameServer, VisibleFrames
from reeltalk.evaluation.playing.play import Pictures, ShownFrame
from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.evaluation.settings import FramePolicy, FrameSettings
from reeltalk.parallel import Limits
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.video.encode import pixels_of
from reeltalk.video.picture import rgb
from reeltalk.video.probe import probe
from reeltalk.video.stream import VideoError, open_video

T = TypeVar("T")
NTSC = Fraction(30000, 1001)
CONSTANT = Numbered("h264-b-frames.mkv", options={"bf": "3", "g": "48"}, rate=NTSC)
VARIABLE = Numbered("h264-variable.mp4", variable=True)
TURNED = Numbered("h264-turned.mp4", rotation_deg=90)
FILMS = [CONSTANT, VARIABLE, TURNED, Numbered("vp9-variable.webm", codec="libvpx-vp9", frames=120, variable=True,
                                              options={"deadline": "realtime", "cpu-used": "8"})]  # fmt: skip
by_film = pytest.mark.parametrize("film", FILMS, ids=lambda film: film.name)
POLICIES: list[FramePolicy] = ["uniform", "fps", "per-clip", "first-turn", "none"]
FULL = FrameSettings(longest_side_px=None)
MOST_CASES = min(25, settings().max_examples // 2)
"""Ten in `make test`."""


def script(*asked_at_s: float | None, clips: Sequence[Sequence[tuple[float, float]]] = (), video: str = "v") -> Script:
    """A script of turns at some moments."""
    about = [tuple(Interval(start_s=a, end_s=b) for a, b in c) for c in clips] or [()] * len(asked_at_s)
    steps = [
        Step(unit="chain", unit_id="c", turn_index=n, turn=Turn(question="?"), asked_at_s=moment, clips=clip)
        for n, (moment, clip) in enumerate(zip(asked_at_s, about, strict=True))
    ]
    return Script(id="s", video_id=video, steps=tuple(steps))


def media(path: Path) -> Callable[[str], Path]:
    return lambda _: path


def play(path: Path, chosen: FrameSettings, folder: Path, told: Script) -> list[list[ShownFrame]]:
    """All frames of each turn; what is new agrees with them."""

    async def run() -> list[list[ShownFrame]]:
        async with FrameServer(media(path), chosen, folder, processes=1) as server:
            screening = await server.open(told)
            return [list(screening.at(index)[0]) for index in range(len(told.steps))]

    return asyncio.run(run())


def numbers(path: Path, chosen: FrameSettings, folder: Path, told: Script, *, rotation_deg: int = 0) -> list[list[int]]:
    """The numbers in the pictures that each turn sees."""

    async def run() -> list[list[int]]:
        async with FrameServer(media(path), chosen, folder, processes=1) as server:
            screening = await server.open(told)
            found = []
            for index in range(len(told.steps)):
                frames, _ = screening.at(index)
                found.append([await number(screening, frame, rotation_deg) for frame in frames])
            return found

    return asyncio.run(run())


async def number(pictures: Pictures, frame: ShownFrame, rotation_deg: int) -> int:
    pixels = pixels_of(await pictures.jpeg(frame.reference))
    return number_of(np.ascontiguousarray(np.rot90(pixels, rotation_deg // 90)))


def exact_times(path: Path) -> list[float]:
    with open_video(path) as source:
        return [frame.pts_s for frame in source.frames()]


def on_screen(times: list[float], moment: float) -> int:
    """The last frame that is not after a moment."""
    return max(0, sum(time <= moment + 1e-6 for time in times) - 1)


class Servers:
    """One running server for each policy over one video, in one event loop."""

    def __init__(self, film: Numbered, folder: Path) -> None:
        self.film, (self.path, _) = film, film.make()
        self.times = exact_times(self.path)
        self.folder = folder
        self.runner = asyncio.Runner()
        self.servers: dict[FrameSettings, FrameServer] = {}

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def server(self, chosen: FrameSettings) -> FrameServer:
        if chosen not in self.servers:
            self.servers[chosen] = FrameServer(media(self.path), chosen, self.folder, processes=1)
        return self.servers[chosen]

    def close(self) -> None:
        for server in self.servers.values():
            self.run(server.__aexit__(None, None, None))
        self.runner.close()


@pytest.fixture(scope="module", params=[CONSTANT, VARIABLE], ids=lambda film: film.name)
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    made = Servers(request.param, tmp_path_factory.mktemp("frames"))
    yield made
    made.close()


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Turns in the order of time over a video of about eight seconds, with and without clips."""
    moments: list[float | None] = list(sorted(draw(st.lists(st.floats(0, 9), max_size=5))))
    moments += [None] * draw(st.integers(0 if moments else 1, 2))
    ends = st.floats(0, 12)
    pairs = [draw(st.lists(st.tuples(ends, ends), max_size=2)) for _ in moments]
    clips = [[(min(pair), max(pair)) for pair in of_turn] for of_turn in pairs]
    return script(*moments, clips=clips)


@pytest.mark.parametrize("policy", POLICIES)
@given(told=scripts())
@settings(max_examples=MOST_CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_turn_sees_what_comes_after_its_question(servers: Servers, policy: FramePolicy, told: Script) -> None:
    server = servers.server(FrameSettings(policy=policy, frames=6, fps=2, longest_side_px=None))

    async def play() -> list[tuple[Step, list[int], bool]]:
        screening = await server.open(told)
        found = []
        before: tuple[ShownFrame, ...] = ()
        for index, step in enumerate(told.steps):
            frames, new = screening.at(index)
            if screening.append_only:
                assert frames == before + new
            else:
                assert frames == new
            before = frames
            found.append((step, [await number(screening, frame, 0) for frame in frames], screening.append_only))
        return found

    for step, seen, _ in servers.run(play()):
        assert len(seen) == len(set(seen))
        assert policy == "none" or seen or step.clips, "only a clip that is still to come shows nothing"
        if step.asked_at_s is not None:
            assert all(servers.times[frame] <= step.asked_at_s + 1e-6 for frame in seen)


@by_film
def test_a_turn_sees_the_frames_that_were_on_the_screen(film: Numbered, tmp_path: Path) -> None:
    path, _ = film.make()
    times = exact_times(path)
    told = script(*sorted((1.0, 3.25, times[70], times[70] - 0.0001)))
    chosen = FULL.model_copy(update={"policy": "fps", "frames": 1000, "fps": 8.0})
    found = numbers(path, chosen, tmp_path, told, rotation_deg=film.rotation_deg)
    for step, seen in zip(told.steps, found, strict=True):
        assert step.asked_at_s is not None
        grid = [index / 8 for index in range(1000) if index / 8 <= step.asked_at_s]
        assert seen == list(dict.fromkeys(on_screen(times, moment) for moment in grid))


@by_film
def test_uniform_frames_are_spread_over_what_may_be_seen(film: Numbered, tmp_path: Path) -> None:
    path, _ = film.make()
    times = exact_times(path)
    chosen = FULL.model_copy(update={"frames": 4})
    found = numbers(path, chosen, tmp_path, script(2.0, 4.0), rotation_deg=film.rotation_deg)
    assert found == [[on_screen(times, part * end / 8) for part in (1, 3, 5, 7)] for end in (2.0, 4.0)]


def test_a_question_at_the_time_of_a_frame_sees_that_frame_and_one_before_it_does_not(tmp_path: Path) -> None:
    path, _ = VARIABLE.make()
    times = exact_times(path)
    chosen = FULL.model_copy(update={"policy": "fps", "frames": 10_000, "fps": 1000.0})
    found = numbers(path, chosen, tmp_path, script(times[9] - 0.001, times[9]))
    assert [seen[-1] for seen in found] == [8, 9]
    assert found[1] == list(range(10))


def test_a_turned_video_is_shown_upright(tmp_path: Path) -> None:
    path, _ = TURNED.make()

    async def sizes(chosen: FrameSettings) -> set[tuple[int, ...]]:
        async with FrameServer(media(path), chosen, tmp_path, processes=1) as server:
            screening = await server.open(script(2.0))
            return {pixels_of(await screening.jpeg(frame.reference)).shape for frame in screening.at(0)[0]}

    assert asyncio.run(sizes(FULL)) == {(320, 96, 3)}
    assert asyncio.run(sizes(FrameSettings(longest_side_px=160))) == {(160, 48, 3)}
    assert asyncio.run(sizes(FrameSettings(square_px=448))) == {(448, 448, 3)}
    assert asyncio.run(sizes(FrameSettings(square_px=64, longest_side_px=None))) == {(64, 64, 3)}


def test_two_moments_on_one_frame_show_it_once(tmp_path: Path) -> None:
    path, _ = CONSTANT.make()
    [seen] = play(path, FrameSettings(frames=100), tmp_path, script(0.1))
    assert [frame.pts_s for frame in seen] == pytest.approx([0, 1 / 30, 2 / 30], abs=0.002)


def test_the_same_picture_has_the_same_reference_whoever_asks(tmp_path: Path) -> None:
    path, _ = CONSTANT.make()
    shutil.copy(path, tmp_path / "copy.mkv")
    first = play(path, FrameSettings(policy="fps"), tmp_path / "a", script(3.0))
    again = play(tmp_path / "copy.mkv", FrameSettings(policy="fps", fps=2.0), tmp_path / "b", script(3.0, video="w"))
    smaller = play(path, FrameSettings(policy="fps", longest_side_px=160), tmp_path / "a", script(3.0))
    assert {frame.reference for frame in first[0]} < {frame.reference for frame in again[0]}
    assert not {frame.reference for frame in first[0]} & {frame.reference for frame in smaller[0]}
    assert all(len(frame.reference) < 80 for frame in first[0])


@pytest.mark.parametrize("policy", ["fps", "per-clip", "first-turn"])
def test_frames_that_were_sent_stay_where_they_are(policy: FramePolicy, tmp_path: Path) -> None:
    path, _ = CONSTANT.make()
    clips = [[(0.0, 2.5)], [(0.0, 2.5)], [(2.0, 5.0)], [], [(1.0, 7.0), (3.0, 6.0)]]
    told = script(2.5, 2.5, 4.0, 6.0, None, clips=clips)
    found = play(path, FrameSettings(policy=policy, frames=7, fps=2), tmp_path, told)
    for before, after in itertools.pairwise(found):
        assert after[: len(before)] == before
    assert found[0] == found[1]
    assert len(found[-1]) > len(found[0]) or policy == "first-turn"
    assert len(found[-1]) <= 7 or policy == "per-clip"


def test_without_frames_the_video_is_not_even_looked_for(tmp_path: Path) -> None:
    def nowhere(video_id: str) -> Path:
        raise AssertionError(video_id)

    async def run() -> tuple[object, object]:
        async with FrameServer(nowhere, FrameSettings(policy="none"), tmp_path / "frames") as server:
            return (await server.open(script(1.0))).at(0)

    assert asyncio.run(run()) == ((), ())
    assert not (tmp_path / "frames").exists()


def test_a_later_run_decodes_nothing_again(tmp_path: Path) -> None:
    path, _ = CONSTANT.make()

    async def run(*told: Script, chosen: FrameSettings = FULL) -> int:
        async with FrameServer(media(path), chosen, tmp_path, processes=1) as server:
            for one in told:
                await server.open(one)
            return server.decoded

    assert asyncio.run(run(script(2.0), script(4.0))) == 32
    index = next(tmp_path.glob("*/full-q90.json"))
    written = index.stat().st_mtime_ns
    assert asyncio.run(run(script(4.0), script(2.0))) == 0
    assert index.stat().st_mtime_ns == written
    assert asyncio.run(run(script(2.0), script(5.0))) == 16, "only what is new"
    assert asyncio.run(run(script(2.0), chosen=FrameSettings(longest_side_px=100))) == 16, "another size"
    next(tmp_path.glob("*/0.*-full-q90.jpg")).unlink()
    assert asyncio.run(run(script(2.0), script(4.0), script(5.0))) > 0, "a picture that is gone is made again"
    index.write_text("{")
    assert asyncio.run(run(script(2.0))) == 16, "a damaged index is made again"


def test_another_file_under_the_same_name_is_decoded_anew(tmp_path: Path) -> None:
    path = tmp_path / "video.mkv"
    shutil.copy(CONSTANT.make()[0], path)
    first = play(path, FULL, tmp_path / "frames", script(2.0))
    shutil.copy(Numbered("h264.mp4").make()[0], path)
    assert not set(first[0]) & set(play(path, FULL, tmp_path / "frames", script(2.0))[0])


def test_scripts_of_one_video_that_open_at_once_decode_it_once(tmp_path: Path) -> None:
    path, _ = CONSTANT.make()

    async def run() -> int:
        async with FrameServer(media(path), FULL, tmp_path, processes=2) as server:
            await asyncio.gather(*(server.open(script(2.0)) for _ in range(4)))
            return server.decoded

    assert asyncio.run(run()) == 16


def test_a_frame_that_was_not_shown_cannot_be_had(tmp_path: Path) -> None:
    path, _ = CONSTANT.make()

    async def run() -> None:
        async with FrameServer(media(path), FrameSettings(policy="fps"), tmp_path, processes=1) as server:
            early, late = await server.open(script(1.0, 5.0)), await server.open(script(1.0, 5.0))
            early.at(0)
            future = late.at(1)[0][-1].reference
            assert await late.jpeg(future) == await server.jpeg(future)
            with pytest.raises(ValueError, match="no turn so far was shown a frame"):
                await early.jpeg(future)
            (*_, unseen), *_ = (await server.open(script(7.0)))._frames
            with pytest.raises(ValueError, match="no turn was shown a frame"):
                await server.jpeg(unseen.reference)
            with pytest.raises(ValueError, match="no turn was shown a frame"):
                await server.jpeg(b"../../../etc/passwd")
            with pytest.raises(IndexError, match="there is no step 2"):
                early.at(2)

    asyncio.run(run())


def test_a_screening_refuses_a_frame_of_the_future(tmp_path: Path) -> None:
    server = FrameServer(media(tmp_path), FULL, tmp_path)
    told = script(1.0, None)
    frame = ShownFrame(1.1, b"x")
    screening = VisibleFrames(server, told.steps, [(frame,)] * 2, {b"x": tmp_path}, append_only=True)
    with pytest.raises(BrokenInvariantError, match=r"turn 0 of chain 'c' is asked at 1 s .* frame of 1\.1 s"):
        screening.at(0)
    assert screening.at(1) == ((frame,), ())


def test_turns_that_step_back_in_time_are_refused(tmp_path: Path) -> None:
    path, _ = CONSTANT.make()
    with pytest.raises(BrokenInvariantError, match="turn 1 of chain 'c' is asked at 2 s, and a turn before"):
        play(path, FULL, tmp_path, script(3.0, 2.0))
    with pytest.raises(BrokenInvariantError, match="at the end of the video"):
        play(path, FULL, tmp_path, script(None, 2.0))


def test_pictures_in_memory_are_bounded_and_the_others_are_read_again(tmp_path: Path) -> None:
    path, _ = CONSTANT.make()

    async def run() -> None:
        async with FrameServer(media(path), FULL, tmp_path, processes=1, cache_bytes=30_000) as server:
            screening = await server.open(script(5.0))
            frames, _ = screening.at(0)
            first = [await screening.jpeg(frame.reference) for frame in frames]
            assert sum(map(len, first)) > 60_000
            assert 0 < sum(map(len, server._cached.values())) <= 30_000
            assert [await screening.jpeg(frame.reference) for frame in frames] == first
            shutil.rmtree(tmp_path)
            with pytest.raises(BenchmarkError, match="was made and cannot be read"):
                await screening.jpeg(frames[0].reference)

    asyncio.run(run())


def refusal(path: Path | None, folder: Path, told: Script, kind: type[Exception], **options: Any) -> str:
    """What is said of a video that cannot be shown; asked twice, it is said twice."""

    async def run() -> str:
        said = []
        async with FrameServer(lambda _: path, FULL, folder, processes=1, **options) as server:
            for _ in range(2):
                with pytest.raises(kind) as caught:
                    await server.open(told)
                said.append(str(caught.value))
        assert said[0] == said[1]
        return said[0]

    return asyncio.run(run())


def test_a_missing_video_is_named_with_what_to_do(tmp_path: Path) -> None:
    for path in (None, tmp_path / "gone.mp4", tmp_path):
        said = refusal(path, tmp_path / "frames", script(1.0, video="v-07aa"), BenchmarkError)
        assert "the file of video 'v-07aa' is not available" in said
        assert "play without frames" in said


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
@pytest.mark.parametrize("film", [CONSTANT, Numbered("h264.mp4"), Numbered("h264.ts", rate=Fraction(25))],
                         ids=lambda film: film.name)  # fmt: skip
def test_a_truncated_video_shows_its_own_frames_or_is_refused(film: Numbered, share: float, tmp_path: Path) -> None:
    content = film.make()[0].read_bytes()
    path = tmp_path / f"cut-{film.name}"
    path.write_bytes(content[: int(share * len(content))])
    told = script(0.25, 9.5)
    chosen = FULL.model_copy(update={"policy": "fps", "fps": 10.0, "frames": 1000})
    there = []
    with contextlib.suppress(VideoError), open_video(path) as source:
        there = [(frame.pts_s, number_of(rgb(frame.picture))) for frame in source.frames()]
    if not there or probe(path).duration_s + frames_module.LATE_QUESTION_S < 9.5:
        with pytest.raises(InputError, match=r"cannot be decoded|the video ends at") as caught:
            numbers(path, chosen, tmp_path / "frames", told)
        assert str(path) in str(caught.value)
        return
    for step, seen in zip(told.steps, numbers(path, chosen, tmp_path / "frames", told), strict=True):
        assert step.asked_at_s is not None
        grid = [index / 10 for index in range(96) if index / 10 <= min(step.asked_at_s, probe(path).duration_s)]
        times = [time for time, _ in there]
        # By frame: the decoder fills a broken last frame with the picture of the one before.
        assert seen == [there[place][1] for place in dict.fromkeys(on_screen(times, moment) for moment in grid)]


def test_a_video_that_ends_before_the_question_is_refused(tmp_path: Path) -> None:
    path, _ = CONSTANT.make()
    said = refusal(path, tmp_path, script(1.0, 60.0), InputError)
    assert said.startswith("the video ends at 8.0 s and 's' asks about it at 60.0 s")
    assert str(path) in said
    assert play(path, FULL, tmp_path, script(9.9)), "published times are rounded up"


def test_what_is_no_video_is_refused_and_the_next_video_is_shown(tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_text("not a video")
    good, _ = CONSTANT.make()
    files = {"bad": tmp_path / "bad.mp4", "good": good}

    async def run() -> int:
        async with FrameServer(files.get, FULL, tmp_path / "frames", processes=1) as server:
            with pytest.raises(InputError, match=r"cannot be decoded: no container that we read .*bad\.mp4"):
                await server.open(script(1.0, video="bad"))
            return len((await server.open(script(1.0, video="good"))).at(0)[0])

    assert asyncio.run(run()) == 16


WORK = """
import os, signal, time

def crash(argument): os.kill(os.getpid(), signal.SIGSEGV)
def hang(argument): time.sleep(60)
def future(argument): return {"pts_s": [time + 1 for time in argument["times_s"]]}
def short(argument): return {"pts_s": argument["times_s"][1:]}
def words(argument): return {"pts_s": ["a"] * len(argument["times_s"])}
def long(argument): return {"duration_s": 1e12}
def nothing(argument): return None
"""


@pytest.mark.parametrize(
    ("which", "function", "says"),
    [
        ("SERVE_FUNCTION", "crash", "killed by SIGSEGV"),
        ("SERVE_FUNCTION", "hang", "took longer than 1 s"),
        ("SERVE_FUNCTION", "future", "makes no sense"),
        pytest.param("SERVE_FUNCTION", "short", "makes no sense", marks=pytest.mark.slow),
        pytest.param("SERVE_FUNCTION", "words", "makes no sense", marks=pytest.mark.slow),
        ("SERVE_FUNCTION", "nothing", "makes no sense"),
        ("PROBE_FUNCTION", "crash", "killed by SIGSEGV"),
        ("PROBE_FUNCTION", "long", "makes no sense"),
        pytest.param("PROBE_FUNCTION", "nothing", "makes no sense", marks=pytest.mark.slow),
    ],
)
def test_a_video_that_breaks_its_decoder_is_named_and_breaks_nothing_else(
    which: str, function: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaking.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(frames_module, which, f"breaking:{function}")
    path, _ = CONSTANT.make()
    options = {"limits": Limits(wall_s=1, memory_bytes=1 << 30)} if function == "hang" else {}
    said = refusal(path, tmp_path / "frames", script(1.0), InputError, **options)
    assert says in said
    assert path.name in said
    monkeypatch.undo()
    assert len(play(path, FULL, tmp_path / "frames", script(1.0))[0]) == 16


def test_a_video_that_takes_too_much_memory_is_refused(tmp_path: Path) -> None:
    path, _ = CONSTANT.make()
    said = refusal(path, tmp_path, script(1.0), InputError, limits=Limits(wall_s=60, memory_bytes=1 << 16))
    assert path.name in said


def test_leaving_ends_what_still_decodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "breaking.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(frames_module, "PROBE_FUNCTION", "breaking:hang")
    path, _ = CONSTANT.make()

    async def run() -> None:
        async with FrameServer(media(path), FULL, tmp_path / "frames", processes=1) as server:
            opening = asyncio.create_task(server.open(script(1.0)))
            await asyncio.sleep(0.2)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            waiting = asyncio.create_task(server.open(script(1.0)))
            await asyncio.sleep(0.05)
        with pytest.raises(RuntimeError, match="the frame server is closed"):
            await waiting

    asyncio.run(asyncio.wait_for(run(), 30))


@pytest.mark.timeout(40)
def test_an_event_loop_that_ends_waits_for_no_decoder_that_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaking.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(frames_module, "PROBE_FUNCTION", "breaking:hang")
    path, _ = CONSTANT.make()

    async def run() -> None:
        server = FrameServer(media(path), FULL, tmp_path / "frames", processes=1)
        opening = asyncio.create_task(server.open(script(1.0)))
        await asyncio.sleep(0.5)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        server.stop()

    asyncio.run(run())


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path, _ = CONSTANT.make()
    (tmp_path / "file").write_text("")
    assert "cannot write" in refusal(path, tmp_path / "file", script(1.0), BenchmarkError)
