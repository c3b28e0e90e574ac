"""What of a video stands on a dialogue's page: clip, evidence, frames, time line."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

from reeltalk.analysis.dialogues import RunDialogues, read_context
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.pages.dialogue_media import MOST_TURNS, DialogueMedia, LineFrames, LineTurn, MediaWriter, draw_timeline
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.site import Site, make_environment, plain_environment
from reeltalk.pages.site_media import SiteMedia
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.answers import AnsweredTurn, PlayDetails
from reeltalk.schema.dialogue import Dialogue, DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, PathId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file
from reeltalk.store.runs import Run
from reeltalk.video.sampling import pick_evenly
from reeltalk_build.video.write import write_video

RunMaker = Callable[..., Run]
EVIDENCE = Interval(start_s=2.0, end_s=3.0)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six seconds that grow brighter."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    write_video(path, (np.full((48, 64, 3), 4 * number, np.uint8) for number in range(60)), fps=10)
    return path


@pytest.fixture
def benchmark(film: Path, tmp_path: Path) -> Benchmark:
    content = Content()
    video = Video(id=VideoId("v1"), file="../a b/<i>.mp4", sha256=hash_file(film)[0], duration_s=6.0)
    content.videos = [video, Video(id=VideoId("v2"))]
    content.clips = [
        Clip(id=ClipId("c2"), video_id=VideoId("v1"), interval=Interval(start_s=3.0, end_s=4.0)),
        Clip(id=ClipId("c1"), video_id=VideoId("v1"), interval=Interval(start_s=1.0, end_s=2.0)),
        Clip(id=ClipId("elsewhere"), video_id=VideoId("v1"), interval=Interval(start_s=5.0, end_s=6.0)),
    ]
    turns = (Turn(question="One?", evidence=(EVIDENCE,), asked_at_s=4.0), Turn(question="Two?", asked_at_s=5.0))
    content.dialogues = [
        Dialogue(id=DialogueId(f"d{video}"), video_id=VideoId(f"v{video}"), clip_ids=(ClipId("c1"),), turns=turns)
        for video in (1, 2)
    ]
    content.chains = [QAChain(id=ChainId("chain"), video_id=VideoId("v1"), clip_id=ClipId("c2"), turns=turns)]
    steps = (
        PathStep(ref=TurnRef(unit_id="chain", turn_index=1)),
        PathStep(ref=TurnRef(unit_id="chain", turn_index=0), turn=Turn(question="One, told anew?")),
        PathStep(ref=TurnRef(unit_id="absent", turn_index=0)),
    )
    content.paths = [DialoguePath(id=PathId("path"), video_id=VideoId("v1"), steps=steps)]
    content.media = {hash_file(film)[0]: film}
    bench = Benchmark.create(tmp_path / "bench")
    bench.write_content(content, stage="test")
    return Benchmark.open(tmp_path / "bench")


def played(model: str, unit_id: str, index: int, frames: Sequence[float]) -> AnsweredTurn:
    return AnsweredTurn(
        model=model, item_id=f"{unit_id}/v1/{index + 1:02d}", video_id=VideoId(f"v{unit_id[-1]}"), unit_id=unit_id,
        turn_index=index, question="What?", references=("A cup.",), text="A cup.", asked_at_s=4.0 + index,
        played=PlayDetails(frames_s=tuple(frames)),
    )  # fmt: skip


@pytest.fixture
def site(make_run: RunMaker, benchmark: Benchmark, tmp_path: Path) -> Callable[..., Site]:
    def make(**settings: Any) -> Site:
        seen = {"alpha": (0.5, 1.5, 2.5), "beta": (2.5,)}
        answers = [played(m, unit, i, seen[m]) for m in seen for unit in ("d1", "d2") for i in range(2)]
        run = make_run(answers=answers)
        board = build_leaderboard([run])
        folder = tmp_path / "site"
        folder.mkdir(exist_ok=True)
        return Site(folder, board, RunDialogues(board), ReportSettings(**settings), benchmark, read_context(benchmark))

    return make


def stage_of(site: Site, dialogue: int = 0) -> DialogueMedia:
    return MediaWriter(site).of(site.dialogues[dialogue])


def test_a_benchmark_knows_units_evidence_and_what_they_are_about(benchmark: Benchmark) -> None:
    context = read_context(benchmark)
    assert [name for name, _ in context.clips["v1"]] == ["c1", "c2", "elsewhere"]
    assert context.evidence("dialogue", "d1", 0) == (EVIDENCE,)
    assert context.evidence("dialogue", "d1", 1) == context.evidence("dialogue", "d1", 9) == ()
    assert context.evidence("chain", "d1", 0) == ()
    assert context.about("dialogue", "d1", "v1") == Interval(start_s=1.0, end_s=3.0)
    assert context.about("chain", "chain", "v1") == Interval(start_s=2.0, end_s=4.0)
    # A path's turn is its chain's, and rests on the same evidence where it is only worded anew.
    assert [context.evidence("path", "path", index) for index in range(3)] == [(), (EVIDENCE,), ()]
    assert context.about("dialogue", "nobody", "v1") is None


def test_without_media_there_are_evidence_and_a_time_line_and_no_file(site: Callable[..., Site]) -> None:
    made = site()
    stage = stage_of(made)
    assert stage.player is None
    assert stage.turns == {}
    assert stage.line is not None
    assert "evidence of turn 1: 2.0 to 3.0 s" in stage.line
    assert not (made.folder / "media").exists()


def test_a_linked_video_is_where_the_benchmark_has_it(site: Callable[..., Site]) -> None:
    made = site(media="link")
    (made.folder / "dialogues").mkdir()
    player = stage_of(made).player
    assert player is not None
    address, _, part = player.src.partition("#")
    assert made.benchmark is not None
    target = made.folder.resolve() / "dialogues" / unquote(address)
    assert target.is_file()
    assert target.resolve().parent == made.benchmark.media.folder.resolve()
    assert part == "t=1,3"


def test_a_copied_video_has_a_name_of_ours(site: Callable[..., Site]) -> None:
    made = site(media="copy")
    player = stage_of(made).player
    assert player is not None
    assert re.fullmatch(r"\.\./media/[0-9a-f]{20}\.mp4#t=1,3", player.src)
    assert (made.folder / player.src.removeprefix("../").split("#")[0]).is_file()


def test_a_cut_begins_where_the_dialogue_does_and_jumps_count_from_there(site: Callable[..., Site]) -> None:
    made = site(media="cut")
    stage = stage_of(made)
    assert stage.player is not None
    assert stage.player.begins == pytest.approx(1.0)
    assert (made.folder / stage.player.src.removeprefix("../")).is_file()
    (jump,) = stage.turns["turn-1"].evidence
    assert (jump.start, jump.end) == (2.0, 3.0)
    assert jump.href == f"{stage.player.src}#t=1,2"


def test_frames_are_shared_and_told_by_who_saw_them(site: Callable[..., Site]) -> None:
    made = site(media="link")
    frames = stage_of(made).turns["turn-2"].frames
    assert [(frame.at, frame.models) for frame in frames] == [("0.5 s", "A"), ("1.5 s", "A"), ("2.5 s", "")]
    files = list((made.folder / "media").glob("*.jpg"))
    assert {f"../media/{path.name}" for path in files} == {frame.file for frame in frames}
    assert all(path.read_bytes().startswith(b"\xff\xd8") for path in files)


def test_a_turn_shows_no_more_frames_than_asked_for_and_says_so(site: Callable[..., Site]) -> None:
    seen = stage_of(site(media="link", frames=2)).turns["turn-1"]
    assert [frame.at for frame in seen.frames] == ["0.5 s", "2.5 s"]
    assert seen.more == "2 of 3 frames."


def test_a_report_that_has_its_frames_says_where_there_are_none(site: Callable[..., Site]) -> None:
    made = site(media="link", most_frames=2)
    stage = stage_of(made)
    assert not stage.turns["turn-1"].frames
    assert "the report already has its 2 frames" in stage.why
    assert list((made.folder / "media").glob("*.jpg")) == []


def test_a_video_that_is_not_there_is_said(site: Callable[..., Site]) -> None:
    stage = stage_of(site(media="link"), 1)
    assert stage.player is None
    assert stage.why == "The benchmark does not have the file of this video."


def test_a_file_that_is_no_video_gives_a_reason_and_no_half_file(tmp_path: Path, benchmark: Benchmark) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(b"no video " * 100)
    sha256 = benchmark.media.add(bad)
    videos = {"bad": Video(id=VideoId("bad"), sha256=sha256)}
    media = SiteMedia(tmp_path / "out", benchmark.media, videos, LocalExecutor(1))
    (tmp_path / "out").mkdir()
    part = ("bad", Interval(start_s=0.0, end_s=1.0))
    assert media.cut([part]) == {}
    assert media.frames({"bad": [0.0, 1.0]}) == {}
    assert set(media.failed) == {part, "bad"}
    assert all(media.failed.values())
    assert list((tmp_path / "out" / "media").iterdir()) == []


def test_a_time_line_has_a_row_a_turn_and_a_row_for_those_who_saw_the_same() -> None:
    turns = [LineTurn(number, f"#turn-{number}", 1.0 * number, (EVIDENCE,)) for number in range(1, 60)]
    clips = [("</svg><script>", EVIDENCE)]
    template = plain_environment(make_environment()).get_template("_dialogue_line.html")
    drawn = draw_timeline(template, "d", 6.0, clips=clips, turns=turns, frames=[LineFrames((0, 2), (1.0, 2.0))])
    assert drawn.count('class="asked-at"') == drawn.count('class="evidence"') == MOST_TURNS
    assert drawn.count("<tspan") == 2
    assert "<script" not in drawn


@pytest.mark.parametrize(("count", "found"), [(0, []), (1, [3]), (2, [1, 5]), (3, [1, 3, 5]), (9, [1, 2, 3, 4, 5])])
def test_moments_are_spread_evenly(count: int, found: list[float]) -> None:
    assert pick_evenly([1, 2, 3, 4, 5], count) == found
