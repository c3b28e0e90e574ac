"""What the `datasets` package loads from a data set repository, as JSON; for the Python of build/datasets/venv.

Usage: `build/datasets/venv/bin/python tools/read_parts.py FOLDER`. Every configuration of the card is loaded by its
name, as a user does, and every row is read. Videos are also loaded as a column of videos, without decoding them.
"""

import json
import sys
from pathlib import Path
from typing import Any

import datasets


def read_parts(folder: str) -> dict[str, Any]:
    """Rows of each split of each configuration, and the files that the column of videos names."""
    datasets.disable_progress_bars()
    parts: dict[str, Any] = {}
    for name in datasets.get_dataset_config_names(folder):
        loaded = datasets.load_dataset(folder, name)
        parts[name] = {split: [dict(row) for row in rows] for split, rows in loaded.items()}
    videos: list[dict[str, Any]] = []
    if (Path(folder) / "videos").is_dir():
        shown = datasets.load_dataset("videofolder", data_dir=f"{folder}/videos", split="train")
        assert isinstance(shown.features["video"], datasets.Video)
        videos = list(shown.cast_column("video", datasets.Video(decode=False)))
    return {"parts": parts, "videos": videos}


if __name__ == "__main__":
    print(json.dumps(read_parts(sys.argv[1])))
