"""Curate videos: filter them, split them into clips, divide them among splits, and see what was refused and why.

python examples/curate.py benchmarks/kitchen raw/
"""

import sys
from collections import Counter

from reeltalk import Benchmark
from reeltalk.stages import report
from reeltalk.store.tables import CLIPS, REJECTED, SCREENINGS
from reeltalk_build.stages import CurateSettings, curate


def main(into: str, *videos: str) -> None:
    """Curate files and folders into the benchmark `into`, with a site beside it."""
    settings = CurateSettings(min_shots=2, min_mean_shot_s=1, splits="train=0.5,test=0.5", media="copy")
    print(*curate(*videos, into=into, settings=settings).lines(), sep="\n")

    kitchen = Benchmark.open(into)
    for video, clips in Counter(clip.video_id for clip in kitchen.read(CLIPS)).items():
        print(f"{video}: {clips} clips")
    for screening in kitchen.read(SCREENINGS):
        print(f"{screening.video_id}: {screening.decoded_s:.0f} s looked at, kept: {screening.kept}")
    for refused in kitchen.read(REJECTED):
        print(f"{refused.record_id}: {refused.reason}")
    print(report(kitchen, out=f"{into}-site", overwrite=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
