"""The data set repository: everything comes back, the description is valid, and other tools read the tables."""

import contextlib
import hashlib
import json
import shutil
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import TESTS

from reeltalk.cli import run
from reeltalk.errors import InputError
from reeltalk.formats import hub, load_format
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import (
    Checklist,
    ChecklistItem,
    Dialogue,
    DialoguePath,
    Linkage,
    PathStep,
    QAChain,
    Turn,
    TurnRef,
)
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Entity, Event, Fact
from reeltalk.schema.media import Clip, ClipFile, Encoding, SampledFrame, Shot, Video
from reeltalk.schema.outcomes import FilterResult, Rejected, Screening
from reeltalk.schema.record import ChainId, ClipId, DialogueId, EntityId, EventId, PathId, VideoId
from reeltalk.schema.review import Decision, FieldEdit, Review
from reeltalk.schema.scoring import JudgedScore, Rubric, RubricCriterion, ScoreState
from reeltalk.schema.texts import refusal
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SAMPLES = TESTS / "samples"


@pytest.mark.parametrize(
    ("name", "folder"),
    [("vdact", "vdact"), ("svbench", "svbench"), ("mt-video-bench", "mt-video-bench-v2"), ("folder", "folder")],
)
def test_everything_comes_back(name: str, folder: str, tmp_path: Path) -> None:
    content = load_format(name).read(SAMPLES / folder)
    assert hub.write(content, tmp_path) == []
    again = hub.read(tmp_path)
    assert dict(again.rows()) == dict(content.rows())
    assert again.graphs == content.graphs
    assert set(again.media) == set(content.media)


def test_a_curated_benchmark_comes_back(tmp_path: Path) -> None:
    video = VideoId("v")
    interval = Interval(start_s=0, end_s=9.5)
    encoding = Encoding(
        container="mov", codec="h264", pixel_format="yuv420p", frames=9, variable_frame_rate=True, rotation_deg=90,
        subtitles=("en",),
    )  # fmt: skip
    passed = FilterResult(filter="flow", outcome="passed", value=2.5, low=0.5, high=100)
    skipped = FilterResult(filter="quality", outcome="not applied", reason="no bound")
    content = Content(
        videos=[Video(id=video, duration_s=9.5, encoding=encoding, lookalikes="v", category="Film")],
        screenings=[Screening(video_id=video, kept=True, filters=(passed, skipped), sheet="sheets/a.png")],
        shots=[Shot(video_id=video, interval=interval, content=31.25)],
        frames=[SampledFrame(video_id=video, pts_s=0.5, content=1, sharpness=3, key_frame=False, dropped="blurred")],
        clips=[Clip(id=ClipId("c"), video_id=video, interval=interval,
                    file=ClipFile(sha256="0" * 64, how="trim", interval=interval))],
    )  # fmt: skip
    assert hub.write(content, tmp_path) == []
    assert dict(hub.read(tmp_path).rows()) == dict(content.rows())


def test_a_table_that_others_made_is_read(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    rows = [{"id": "v1", "duration_s": 61.5, "frame_rate": "30000/1001", "extra": '{"mood": "calm"}'}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "data" / "videos.parquet")
    assert hub.read(tmp_path).videos == [
        Video(id=VideoId("v1"), duration_s=61.5, frame_rate=Fraction(30000, 1001), extra={"mood": "calm"})
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "v1", "duration_s": -2.0}, r"got -2\.0 .*videos\.parquet at row 0\.duration_s"),
        ({"id": "v1", "colour": "red"}, r"row 0\.colour"),
        ({"id": "v1", "extra": "{"}, r"not JSON, got '\{' .*row 0\.extra"),
        ({"id": 3}, r"row 0\.id"),
    ],
)
def test_a_damaged_row_is_named(row: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "data" / "videos.parquet")
    with pytest.raises(InputError, match=message):
        hub.read(tmp_path)


def test_damaged_parquet_is_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    hub.write(load_format("mvbench").read(SAMPLES / "mvbench"), tmp_path)
    path = tmp_path / "data" / "dialogues.parquet"
    whole = path.read_bytes()
    for cut in range(0, len(whole), max(1, len(whole) // 40)):
        for damaged in (whole[:cut], whole[:cut] + b"\x00\xff\x7f" + whole[cut + 3 :]):
            path.write_bytes(damaged)
            with contextlib.suppress(InputError):
                hub.read(tmp_path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"not a readable Parquet file.*dialogues\.parquet"):
        hub.read(tmp_path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of mlcroissant's own dependencies
def test_the_description_is_valid_croissant_1_1(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    hub.write(load_format("svbench").read(SAMPLES / "svbench"), tmp_path)
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert issues.errors == set()
    # A publication date and a citation are the publisher's to give: we do not know them.
    assert all("is recommended, but does not exist" in warning for warning in issues.warnings)
    assert len(issues.warnings) <= 2
    assert str(dataset.metadata.ctx.conforms_to.value) == "http://mlcommons.org/croissant/1.1"
    for part in ("turns-train", "turns-test"):
        rows = list(dataset.records(part))
        assert rows[0][f"{part}/question"].decode()
        assert len(rows) == parquet.read_metadata(tmp_path / "data" / f"{part}.parquet").num_rows


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of mlcroissant's own dependencies
def test_what_the_publisher_says_is_in_the_card_and_the_description(tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    release, out = tmp_path / "release", tmp_path / "hub"
    content = load_format("mvbench").read(SAMPLES / "mvbench")
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    assert run(["freeze", str(tmp_path / "bench"), str(release), "--version", "2.1.0"]) == 0
    cited = "@misc{kitchen,\n  title = {A ```kitchen```}\n}"
    given = ["--cite-as", cited, "--date-published", "2026-11-27"]
    assert run(["export", "hub", str(release), str(out), *given]) == 0
    metadata = mlcroissant.Dataset(jsonld=str(out / "croissant.json")).metadata
    assert metadata.ctx.issues.errors == metadata.ctx.issues.warnings == set()
    assert (metadata.cite_as, str(metadata.version)) == (cited, "2.1.0")
    assert metadata.date_published.date().isoformat() == "2026-11-27"
    assert f"## Citation\n\n````\n{cited}\n````\n" in (out / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("given", [["--cite-as", "x"], ["--date-published", "2026-11-27"]])
def test_a_citation_is_for_a_repository_only(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "qa", str(tmp_path), str(tmp_path / "out"), *given]) == 2
    assert "for hub only" in capsys.readouterr().err


def test_videos_and_clips_are_a_part_with_their_paths(tmp_path: Path) -> None:
    video, clip = (tmp_path / name for name in ("a film.webm", "a clip"))
    video.write_bytes(b"a film")
    clip.write_bytes(b"a clip")
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (video, clip)]
    interval = Interval(start_s=0, end_s=1)
    content = Content(
        videos=[
            Video(id=VideoId(name), sha256=hashes[0], file="raw/a film.webm", licence="CC0-1.0") for name in ("v", "w")
        ],
        clips=[
            Clip(id=ClipId("c"), video_id=VideoId("v"), file=ClipFile(sha256=hashes[1], how="copy", interval=interval))
        ],
        media=dict(zip(hashes, (video, clip), strict=True)),
    )
    (out := tmp_path / "out").mkdir()
    assert hub.write(content, out) == []
    rows = {row["sha256"]: row for row in parquet.read_table(out / "data" / "media.parquet").to_pylist()}
    assert rows[hashes[0]] == {
        "path": f"videos/{hashes[0]}.webm", "sha256": hashes[0], "size_bytes": 6, "video_ids": ["v", "w"],
        "clip_ids": [], "licences": ["CC0-1.0"], "sources": [],
    }  # fmt: skip
    assert (rows[hashes[1]]["path"], rows[hashes[1]]["clip_ids"]) == (f"videos/{hashes[1]}.mp4", ["c"])
    assert all((out / row["path"]).is_file() for row in rows.values())
    card = yaml.safe_load((out / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    files = [file["path"] for config in card["configs"] for file in config["data_files"]]
    assert all(file.endswith(".parquet") for file in files), "the package datasets reads all as the kind of the first"
    again = hub.read(out)
    assert again.warnings == []
    assert again.media.keys() == content.media.keys()


def test_the_card_lists_every_table_and_is_yaml(tmp_path: Path) -> None:
    hub.write(load_format("svbench").read(SAMPLES / "svbench"), tmp_path)
    _, front, body = (tmp_path / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    configs = {config["config_name"]: config["data_files"] for config in yaml.safe_load(front)["configs"]}
    files = [file for files in configs.values() for file in files]
    assert {file["path"] for file in files} == {f"data/{path.name}" for path in (tmp_path / "data").glob("*.parquet")}
    assert [file["split"] for file in configs["turns"]] == ["test", "train"]
    assert "| chains |" in body


def test_a_repository_through_a_benchmark_is_the_same_bytes(tmp_path: Path) -> None:
    content = load_format("folder").read(SAMPLES / "folder")
    bench = Benchmark.create(tmp_path / "bench")
    bench.write_content(content, stage="test")
    for name, source in (("one", content), ("two", bench.content())):
        (tmp_path / name).mkdir()
        hub.write(source, tmp_path / name)
    for path in (tmp_path / "one").rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()
    victim = next(path for path in (tmp_path / "one" / "videos").iterdir() if path.name != hub.MEDIA_METADATA)
    victim.write_bytes(b"another film")
    with pytest.raises(InputError, match="does not have the hash"):
        hub.read(tmp_path / "one")
    shutil.rmtree(tmp_path / "one")


# Readers refuse texts that turn the direction of writing.
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\r"), max_size=12).filter(
    lambda text: refusal(text) is None
)
names = st.text("abcxyz0189-_./ é你", min_size=1, max_size=8).map(str.strip).filter(bool)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
extras = st.dictionaries(texts, json_values, max_size=2)
labels = st.dictionaries(texts, st.lists(texts, max_size=2).map(tuple), max_size=2)
times = st.floats(0, 1e6)
intervals = st.tuples(times, times).map(lambda pair: Interval(start_s=min(pair), end_s=max(pair)))
turns = st.builds(
    Turn,
    question=texts,
    references=st.lists(texts, max_size=3).map(tuple),
    asked_at_s=st.none() | times,
    evidence=st.lists(intervals, max_size=2).map(tuple),
    options=st.none() | st.lists(texts, max_size=3).map(tuple),
    labels=labels,
    checklist=st.none()
    | st.builds(
        Checklist,
        items=st.lists(st.builds(ChecklistItem, question=texts, expected=st.booleans()), max_size=2).map(tuple),
    ),
    extra=extras,
)


quads = st.just("<http://a> <http://b> <http://c> <http://g> .\n")


@st.composite
def contents(draw: st.DrawFn) -> Content:
    """Benchmarks with rows in every table; references between them need not resolve here."""

    def some(strategy: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(strategy, max_size=2))

    videos, clips, chains = names.map(VideoId), names.map(ClipId), names.map(ChainId)
    turn_lists = st.lists(turns, max_size=2).map(tuple)
    refs = st.builds(TurnRef, unit_id=names, turn_index=st.integers(0, 9))
    return Content(
        videos=some(
            st.builds(
                Video,
                id=videos,
                duration_s=st.none() | times,
                frame_rate=st.none() | st.builds(Fraction, st.integers(1, 90000), st.integers(1, 1001)),
                summaries=st.dictionaries(texts, texts, max_size=2),
                extra=extras,
            )
        ),
        clips=some(st.builds(Clip, id=clips, video_id=videos, interval=st.none() | intervals)),
        chains=some(st.builds(QAChain, id=chains, video_id=videos, clip_id=st.none() | clips, turns=turn_lists)),
        linkages=some(st.builds(Linkage, source=refs, target=refs, relation=names)),
        paths=some(
            st.builds(
                DialoguePath,
                id=names.map(PathId),
                video_id=videos,
                steps=st.lists(st.builds(PathStep, ref=refs, turn=st.none() | turns), max_size=2).map(tuple),
            )
        ),
        dialogues=some(st.builds(Dialogue, id=names.map(DialogueId), video_id=videos, turns=turn_lists)),
        entities=some(st.builds(Entity, id=names.map(EntityId), video_id=videos, class_name=names)),
        events=some(st.builds(Event, id=names.map(EventId), video_id=videos, index=st.integers(0, 99), action=names)),
        facts=some(st.builds(Fact, video_id=videos, subject=names, predicate=names, object=names)),
        answers=some(st.builds(Answer, model=names, unit_id=names, turn_index=st.integers(0, 9), text=texts)),
        scores=some(
            st.builds(
                JudgedScore,
                unit=st.just("turn"),
                unit_id=names,
                model=names,
                criterion=names,
                judge=names,
                value=st.just(None),
                state=st.just(ScoreState.UNSCORED),
            )
        ),
        rubrics=some(
            st.builds(
                Rubric,
                name=names,
                version=names,
                unit=st.just("chain"),
                criteria=st.lists(
                    st.builds(
                        RubricCriterion,
                        name=names,
                        lowest=st.just(0.0),
                        highest=st.just(10.0),
                        levels=st.just({"0": "bad"}),
                    ),
                    max_size=2,
                ).map(tuple),
            )
        ),
        reviews=some(
            st.builds(
                Review,
                target_table=names,
                target_id=names,
                revision=st.integers(0, 5),
                reviewer=names,
                decision=st.sampled_from(Decision),
                edits=st.lists(st.builds(FieldEdit, field=names, before=json_values), max_size=1).map(tuple),
                created_at=st.just(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
            )
        ),
        rejected=some(st.builds(Rejected, table=names, record_id=names, reason=texts, content=json_values)),
        graphs=draw(
            st.dictionaries(
                st.text("abc0", min_size=1, max_size=5), st.just("<http://a> <http://b> <c:d> .\n"), max_size=2
            )
        ),
    )


MOST_CASES = min(25, settings().max_examples // 2)
"""Ten in `make test`."""


@settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=MOST_CASES
)
@given(contents())
def test_generated_benchmarks_come_back(tmp_path_factory: pytest.TempPathFactory, content: Content) -> None:
    """Through a repository, and through tables on disk."""
    folder = tmp_path_factory.mktemp("hub")
    if not any(rows for _, rows in content.rows()) and not content.graphs:
        return
    hub.write(content, folder)
    assert hub.read(folder) == content
    bench = Benchmark.create(folder / "bench")
    bench.write_content(content, stage="test")
    assert Benchmark.open(folder / "bench").content() == content
    assert json.loads((folder / "bench" / "manifest.json").read_text())["format"] == "reeltalk.benchmark"
