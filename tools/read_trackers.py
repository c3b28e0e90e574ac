"""Prints the data of a tracker as JSON on standard output: names, numbers and curves of each run.

For tests, in the environment in which the trackers are installed.
"""

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

Read = dict[str, dict[str, Any]]
CURVES: Final = ("turn/", "train/", "validation/")
"""Beginnings of the names of numbers by turn or by step."""

HEADER_BYTES: Final = 7
BLOCK_BYTES: Final = 32_768
PIECE_HEADER: Final = struct.Struct("<IHB")
"""Checksum, length, kind."""
WHOLE_OR_LAST: Final = (1, 4)


def read_mlflow(where: str, project: str) -> Read:
    """From a tracking URI."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=where)
    experiment = client.get_experiment_by_name(project)
    found: Read = {}
    for run in client.search_runs([experiment.experiment_id]):
        history = {
            key: [[point.step, point.value] for point in client.get_metric_history(run.info.run_id, key)]
            for key in run.data.metrics
        }
        found[run.info.run_name] = {
            "numbers": {key: points[0][1] for key, points in history.items() if not key.startswith(CURVES)},
            "curves": {key: sorted(points) for key, points in history.items() if key.startswith(CURVES)},
            "settings": run.data.params,
            "files": sorted(item.path for item in client.list_artifacts(run.info.run_id)),
        }
    return found


def read_wandb(where: str, project: str) -> Read:
    """From the files of offline runs."""
    from wandb.proto import wandb_internal_pb2

    found: Read = {}
    for path in sorted(Path(where).glob("wandb/offline-run-*/*.wandb")):
        name, files = "", set()
        numbers: dict[str, Any] = {}
        curves: dict[str, list[Any]] = {}
        settings: dict[str, Any] = {}
        for data in _log_records(path.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            if record.HasField("run") and record.run.project == project:
                name = record.run.display_name
                settings |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
            for item in record.summary.update:
                numbers[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)
            if record.HasField("artifact"):
                files.add(record.artifact.type)
            values = {
                item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item
            }
            for key, value in values.items():
                if key.startswith(CURVES):
                    curves.setdefault(key, []).append([record.history.step.num, value])
        found[name] = {"numbers": numbers, "curves": curves, "settings": settings, "files": sorted(files)}
    return found


def _log_records(content: bytes) -> Iterator[bytes]:
    """Records of a log file of LevelDB: blocks, and pieces of records in them."""
    at, pieces = HEADER_BYTES, b""
    while at + PIECE_HEADER.size <= len(content):
        left = BLOCK_BYTES - at % BLOCK_BYTES
        if left < PIECE_HEADER.size:
            at += left
            continue
        _, length, kind = PIECE_HEADER.unpack_from(content, at)
        at += PIECE_HEADER.size
        pieces += content[at : at + length]
        at += length
        if kind in WHOLE_OR_LAST:
            yield pieces
            pieces = b""


def read_trackio(where: str, project: str) -> Read:
    """Reads the folder that `TRACKIO_DIR` names."""
    import trackio
    from trackio.sqlite_storage import SQLiteStorage

    found: Read = {}
    for run in trackio.Api().runs(project):
        numbers: dict[str, Any] = {}
        curves: dict[str, list[Any]] = {}
        for row in SQLiteStorage.get_logs(project, run.name):
            for key, value in row.items():
                if key.startswith(CURVES):
                    curves.setdefault(key, []).append([row["step"], value])
                elif isinstance(value, int | float) and key != "step":
                    numbers[key] = value
        found[run.name] = {
            "numbers": numbers,
            "curves": curves,
            "settings": run.config,
            "files": [],
        }
    return found


if __name__ == "__main__":
    tracker, where, project = sys.argv[1:]
    print(json.dumps({"mlflow": read_mlflow, "wandb": read_wandb, "trackio": read_trackio}[tracker](where, project)))
