"""A model that reads the numbers of frames out of their pixels gets exactly the frames that each turn may see.

What a turn should see is computed here from the benchmark's own times, without the package's sampling.
"""

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import av
import pytest
from pixel_server import Look, PixelModel
from sample_videos import Numbered
from scripted_server import serve

from reeltalk.cli import run
from reeltalk.schema.dialogue import DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file

MICROSECOND_S = 1e-6
"""Times come through floats: a frame belongs to a moment that it misses by less."""
FILMS = (
    Numbered("h264-b-frames.mkv", options={"bf": "3", "g": "48"}, rate=Fraction(30000, 1001)),
    Numbered("h264-variable.mp4", variable=True),
    Numbered("h264-turned.mp4", rotation_deg=90),
    Numbered("vp9-variable.webm", codec="libvpx-vp9", frames=120, variable=True,
             options={"deadline": "realtime", "cpu-used": "8"}),
    Numbered("h264-long.mp4", rate=Fraction(12), frames=480),
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """One turn of a path as the benchmark has it."""

    question: str
    reference: str
    asked_at_s: float
    clip: tuple[float, float]


@dataclass(frozen=True)
class Film:
    """A video of which every frame's time is known."""

    video_id: str
    times_s: tuple[float, ...]
    """Presentation time of each frame, from the first."""
    ends_s: float
    """When the last frame leaves the screen."""

    def on_screen(self, moments: Sequence[float]) -> list[int]:
        """Frames that are on the screen at some moments, each once."""
        found = [
            max((n for n, time in enumerate(self.times_s) if time <= moment + MICROSECOND_S), default=0)
            for moment in moments
        ]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Played:
    """A path over a film."""

    film: Film
    turns: tuple[Asked, ...]

    def until(self, index: int) -> float:
        return min(self.turns[index].asked_at_s, self.film.ends_s)


@cache
def film(number: int) -> tuple[Film, Path]:
    """A film, its times read with PyAV alone."""
    made = FILMS[number]
    path, times = made.make()
    with av.open(str(path)) as container:
        stamps = sorted(
            float(frame.pts * frame.time_base)
            for frame in container.decode(video=0)
            if frame.pts is not None and frame.time_base is not None
        )
    assert len(stamps) == len(times)
    times_s = tuple(stamp - stamps[0] for stamp in stamps)
    return Film(made.name.split(".")[0], times_s, times_s[-1] + float(1 / made.rate)), path


def benchmark(folder: Path, paths_per_film: int) -> dict[str, Played]:
    """A benchmark of films with chains that overlap, linkages, and paths that jump; what its paths should ask."""
    content, expected = Content(), {}
    for film_number, made in enumerate(FILMS):
        shown, path = film(film_number)
        draw = random.Random(made.name)
        sha256 = hash_file(path)[0]
        content.videos.append(Video(id=shown.video_id, sha256=sha256))
        content.media[sha256] = path
        last_s = shown.times_s[-1]
        cuts = [0.0, *sorted(draw.uniform(0.1, 0.9) * last_s for _ in range(3)), last_s]
        bounds = [(max(0.0, a - 0.5), min(last_s, b + 0.5)) for a, b in itertools.pairwise(cuts)]
        if not made.variable and made.name.endswith("mp4"):
            # Published times are rounded up beyond the end of the file.
            bounds[-1] = (bounds[-1][0], shown.ends_s + 0.4)
        asked: dict[str, list[float]] = {}
        before_s = 0.0
        for number, (start_s, end_s) in enumerate(bounds):
            chain, clip = f"{shown.video_id}-q{number}", f"{shown.video_id}-c{number}"
            content.clips.append(
                Clip(id=clip, video_id=shown.video_id, interval=Interval(start_s=start_s, end_s=end_s))
            )
            moments = sorted(draw.uniform(min(max(before_s, start_s), end_s), end_s) for _ in range(4))
            # On a frame's very time, a hair before it, and without a moment of its own: then its clip's end counts.
            nearest = [time for time in shown.times_s if moments[0] <= time <= moments[2]]
            if nearest:
                moments[1:3] = [nearest[-1] - 2 * MICROSECOND_S, nearest[-1]]
                moments.sort()
            turns = [
                Turn(question=f"{chain} {n}?", references=(f"It is {chain} {n}.",), asked_at_s=moment)
                for n, moment in enumerate(moments)
            ]
            turns.append(Turn(question=f"{chain} 4?", references=(f"It is {chain} 4.",)))
            content.chains.append(QAChain(id=chain, video_id=shown.video_id, clip_id=clip, turns=tuple(turns)))
            asked[chain] = [*moments, end_s]
            before_s = end_s
        chains = list(asked)
        for number in range(paths_per_film):
            name = f"{shown.video_id}-p{number}"
            places = walk(draw, len(chains))
            for (here, n), (there, m) in itertools.pairwise(places):
                if there != here:
                    source, target = (
                        TurnRef(unit_id=chains[here], turn_index=n),
                        TurnRef(unit_id=chains[there], turn_index=m),
                    )
                    content.linkages.append(Linkage(source=source, target=target, relation="Object"))
            steps, turns_of_path = [], []
            for here, n in places:
                ref = TurnRef(unit_id=chains[here], turn_index=n)
                own = content.chains[len(content.chains) - len(chains) + here].turns[n]
                worded = own.model_copy(update={"question": f"{name}: {own.question}"})
                steps.append(PathStep(ref=ref, turn=worded))
                turns_of_path.append(Asked(worded.question, own.references[0], asked[chains[here]][n], bounds[here]))
            content.paths.append(DialoguePath(id=name, video_id=shown.video_id, steps=tuple(steps)))
            expected[name] = Played(shown, tuple(turns_of_path))
    Benchmark.create(folder).write_content(content, stage="test")
    return expected


def walk(draw: random.Random, chains: int) -> list[tuple[int, int]]:
    """Chain and turn of every step: most walks leave a chain early, enter the next one late, or skip one."""
    places: list[tuple[int, int]] = []
    here, turn = 0, 0
    while here < chains:
        places.append((here, turn))
        turn += 1
        if turn == 5 or draw.random() < 0.4:
            here, turn = here + draw.choice((1, 1, 1, 2)), draw.choice((0, 0, 1, 2, 3))
    return places


def fps(played: Played, *, rate: float, most: int) -> list[list[int]]:
    """Every so many-th time of a grid from the start of the video up to each question."""

    def grid(until_s: float) -> list[float]:
        return list(itertools.takewhile(lambda time: time <= until_s, (k / rate for k in itertools.count())))

    whole = len(grid(max(played.until(n) for n in range(len(played.turns)))))
    every = next(every for every in itertools.count(1) if len(range(0, whole, every)) <= most)
    return [played.film.on_screen(grid(played.until(n))[::every]) for n in range(len(played.turns))]


def per_clip(played: Played, *, most: int) -> list[list[int]]:
    """Whole seconds of each clip from when a turn is about it; what was shown stays where it stood."""
    seen: list[float] = []
    waiting: set[float] = set()
    clips: list[tuple[float, float]] = []
    found = []
    for index, turn in enumerate(played.turns):
        start_s, end_s = turn.clip[0], min(turn.clip[1], played.film.ends_s)
        if turn.clip not in clips:
            clips.append(turn.clip)
            seconds = [float(second) for second in range(1000) if start_s <= second < end_s] or [start_s]
            if len(seconds) > most:
                seconds = [seconds[round(n * (len(seconds) - 1) / (most - 1))] for n in range(most)]
            waiting |= set(seconds)
        now = sorted(second for second in waiting if second <= played.until(index))
        waiting -= set(now)
        seen += [second for second in now if second not in seen]
        found.append(played.film.on_screen(seen))
    return found


def spread(played: Played, *, most: int, first_only: bool) -> list[list[int]]:
    """The middles of equal parts of what may be seen at each turn, or at the first one."""
    found = []
    for index in range(len(played.turns)):
        until_s = played.until(0 if first_only else index)
        found.append(played.film.on_screen([(part + 0.5) * until_s / most for part in range(most)]))
    return found


DESIGNS: dict[str, tuple[list[str], Callable[[Played], list[list[int]]]]] = {
    "fps, thinned": (["--policy", "fps", "--fps", "2", "--frames", "12"], lambda p: fps(p, rate=2, most=12)),
    "fps, dense": (["--policy", "fps", "--fps", "3", "--frames", "1000"], lambda p: fps(p, rate=3, most=1000)),
    "per-clip": (["--policy", "per-clip", "--frames", "3"], lambda p: per_clip(p, most=3)),
    "uniform": (["--policy", "uniform", "--frames", "6"], lambda p: spread(p, most=6, first_only=False)),
    "first-turn": (["--policy", "first-turn", "--frames", "5"], lambda p: spread(p, most=5, first_only=True)),
}  # fmt: skip
HISTORIES = {"fps, thinned": "golden", "fps, dense": "none", "per-clip": "predicted", "uniform": "golden",
             "first-turn": "predicted"}  # fmt: skip


@pytest.mark.parametrize("design", DESIGNS)
def test_every_turn_of_a_path_sees_its_frames_and_no_others(design: str, tmp_path: Path, full: bool) -> None:
    options, frames_of = DESIGNS[design]
    history = HISTORIES[design]
    expected = benchmark(tmp_path / "bench", 20 if full else 1)
    assert len(expected) >= len(FILMS)
    model = PixelModel()
    with serve(model, keep=0) as server:
        code = run(
            [
                "evaluate", str(tmp_path / "bench"), "--out", str(tmp_path / "run"), "--model", "pixels",
                "--base-url", server.base_url, "--mode", "streaming", "--history", history, "--metrics", "none",
                # Turns that see the same frames get the same answer, often fifty in a row.
                "--no-preflight", *options,
            ]
        )  # fmt: skip
    assert code == 0
    turns = {
        turn.question: (path, index) for path, played in expected.items() for index, turn in enumerate(played.turns)
    }
    frames = {path: frames_of(played) for path, played in expected.items()}
    came = Counter(looks[-1].text for looks in model.seen)
    assert came == dict.fromkeys(turns, 1)
    future = missing = shown = 0
    for looks in model.seen:
        path, index = turns[looks[-1].text]
        film_times, turn = expected[path].film.times_s, expected[path].turns[index]
        sent = [number for look in looks for number in look.numbers]
        future += sum(film_times[number] > turn.asked_at_s + MICROSECOND_S for number in sent)
        missing += len(set(frames[path][index]) - set(sent))
        shown += len(sent)
        assert sent == frames[path][index], (path, index)
        # Before each picture stands when it was on the screen, to a tenth of a second.
        told = [time_s for look in looks for time_s in look.times_s]
        assert told == pytest.approx([film_times[number] for number in sent], abs=0.05 + MICROSECOND_S)
        check_history(looks, expected[path], frames[path], index, history, appended=design != "uniform")
    assert (future, missing) == (0, 0)
    assert shown > 2 * len(turns)
    rows = [json.loads(line) for line in (tmp_path / "run" / "answers.jsonl").read_text().splitlines()]
    for row in rows:
        path, index = turns[row["question"]]
        times_s = [expected[path].film.times_s[number] for number in frames[path][index]]
        assert row["played"]["frames_s"] == pytest.approx(times_s, abs=MICROSECOND_S)
        before = frames[path][index - 1] if index and design != "uniform" else []
        assert row["played"].get("new_frames", 0) == len(frames[path][index]) - len(before)
        assert row["text"] == (" ".join(map(str, frames[path][index])) or "nothing")
    print(f"{design}: {len(expected)} paths, {len(turns)} turns, {shown} frames read, {future} future, 0 missing")


def check_history(
    looks: tuple[Look, ...],
    played: Played,
    frames: list[list[int]],
    index: int,
    history: str,
    *,
    appended: bool,
) -> None:
    """A conversation holds the turns before with their answers, and each frame where it came."""
    system, *told = looks
    assert (system.role, system.numbers) == ("system", ())
    before = [] if history == "none" else list(range(index))
    assert [look.role for look in told] == ["user", "assistant"] * len(before) + ["user"]
    users, assistants = told[0::2], told[1::2]
    assert [look.text for look in users] == [played.turns[n].question for n in (*before, index)]
    answers = [
        played.turns[n].reference if history == "golden" else " ".join(map(str, frames[n])) or "nothing" for n in before
    ]
    assert [look.text for look in assistants] == answers
    assert not any(look.numbers for look in assistants)
    if appended and before:
        came = [list(frames[0])] + [frames[n][len(frames[n - 1]) :] for n in range(1, index + 1)]
        assert [list(look.numbers) for look in users] == came
    else:
        assert list(users[0].numbers) == frames[index]
