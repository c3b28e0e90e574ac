"""What counts as a change of what a step reads."""

from pathlib import Path

from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import Rejected
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import REJECTED, VIDEOS
from reeltalk_build.project.records import MISSING, Fingerprints
from reeltalk_build.project.steps import StepInput


def test_what_was_constructed_or_settled_is_no_change_to_construct(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "b")
    video = Video.model_validate({"id": "v", "sha256": "0" * 64, "duration_s": 1.0, "frame_rate": "5"})
    with benchmark.writing(stage="world film") as writer:
        writer.add(VIDEOS, [video])
    prints = Fingerprints(tmp_path, {})
    sources, whole = StepInput("b", drafts=False), StepInput("b")
    before = prints.of(sources), prints.of(whole)
    for stage in ("construct chains", "graph questions", "proactive write", "review apply"):
        with benchmark.writing(stage=stage) as writer:
            writer.add(REJECTED, [Rejected(table="chains", record_id=stage, reason="r")])
        assert prints.of(sources) == before[0]
        assert prints.of(whole) != before[1]
    with benchmark.writing(stage="world film") as writer:
        writer.add(VIDEOS, [video.model_copy(update={"duration_s": 2.0})])
    assert prints.of(sources) != before[0]


def test_a_folder_is_its_visible_files_with_their_names(tmp_path: Path) -> None:
    prints = Fingerprints(tmp_path, {})
    assert prints.of(StepInput("raw")) == MISSING
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/a.mp4").write_bytes(b"film")
    before = prints.of(StepInput("raw"))
    (tmp_path / "raw/.DS_Store").write_bytes(b"noise")
    assert prints.of(StepInput("raw")) == before
    (tmp_path / "raw/a.mp4").rename(tmp_path / "raw/b.mp4")
    assert prints.of(StepInput("raw")) != before


def test_a_file_is_read_once_while_it_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"film")
    first = Fingerprints(tmp_path, {})
    sha256 = first.of(StepInput("a.mp4"))
    known = first.files[str(tmp_path / "a.mp4")]
    # Were it read again, the hash would be another.
    remembered = {str(tmp_path / "a.mp4"): known.model_copy(update={"sha256": "kept"})}
    assert Fingerprints(tmp_path, remembered).of(StepInput("a.mp4")) == "kept"
    (tmp_path / "a.mp4").write_bytes(b"films")
    assert Fingerprints(tmp_path, remembered).of(StepInput("a.mp4")) not in ("kept", sha256)
