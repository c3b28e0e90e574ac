"""Clones of the official repositories, with their scripts, pictures and licences, are imported as they are.

The trees are those of aistairc/VDAct (b55bd51), yzy-bupt/SVBench (cab1d1c) and NJU-LINK/MT-Video-Bench (547fe24), with
the data of the last two, which is given out apart, where their scripts look for it.
"""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from places import TESTS

from reeltalk.errors import InputError
from reeltalk.formats import load_format
from reeltalk.store.content import Content

SAMPLES = TESTS / "samples"
BESIDE = {
    "vdact": ["README.md", "LICENSE", ".gitignore", ".DS_Store", "data/.DS_Store", "docs/eval-visual.png",
              "code/inference_video_llava.py", "VDEval/.DS_Store", "VDEval/prompt.py", "VDEval/run_vdeval.sh"],
    "svbench": ["README.md", "assets/images/ring.png", "construct_data/construct_QA_chain.py",
                "evaluation/eval_chainQA_gpt4_gpt4o.py", "StreamingChat/eval/mme/Your_Results/OCR.txt",
                "StreamingChat/eval/mmmu/__pycache__/data_utils.cpython-39.pyc", "allVideos_tar_sep/allVideos.part_aa"],
    "mt-video-bench": ["README.md", "eval/eval.py", "static/.DS_Store", "static/main result.png",
                       "logs/infer_20260101.log"],
}  # fmt: skip


def pack(folder: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(f"{folder.name}/", "")
        for path in sorted(folder.iterdir()):
            archive.write(path, f"{folder.name}/{path.name}")


def vdact(root: Path) -> None:
    sample = SAMPLES / "vdact"
    (root / "data/dialogue").mkdir(parents=True)
    for path in sample.glob("*_ids.txt"):
        shutil.copy(path, root / "data/dialogue")
    shutil.copytree(sample / "results", root / "results")
    shutil.copytree(sample / "scenario_refine_summaries", root / "VDEval/scenario_refine_summaries")
    for name in ("kg_activity", "scenario_refine_summaries", "scenario_template_summaries"):
        pack(sample / name, root / f"data/kg/{name}.zip")


def svbench(root: Path) -> None:
    shutil.copytree(SAMPLES / "svbench", root)
    (root / "StreamingChat/eval/llava_bench").mkdir(parents=True)
    (root / "StreamingChat/eval/llava_bench/rule.json").write_text('{"coding": {"role": "Assistant"}}')


def mt_video_bench(root: Path) -> None:
    shutil.copytree(SAMPLES / "mt-video-bench-v2", root)
    (root / "output").mkdir()
    for name in ("model_answers", "eval_results"):
        (root / name).rename(root / "output" / name)


REPLICAS: dict[str, Callable[[Path], None]] = {"vdact": vdact, "svbench": svbench, "mt-video-bench": mt_video_bench}


def clone(layout: str, root: Path) -> Path:
    REPLICAS[layout](root)
    for name in [*BESIDE[layout], ".git/config", ".git/objects/pack/pack-1.json"]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"\x00 no data")
    return root


def read(layout: str, root: Path) -> Content:
    return load_format(layout).read(root)


@pytest.mark.parametrize("layout", REPLICAS)
def test_a_clone_is_imported_unmodified_and_comes_back(layout: str, tmp_path: Path) -> None:
    root = clone(layout, tmp_path / "clone")
    content = read(layout, root)
    assert content.videos
    (tmp_path / "out").mkdir()
    load_format(layout).write(content, tmp_path / "out")
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) == len(content.source_files) > 3
    for path in written:
        source = root / path.relative_to(tmp_path / "out")
        if path.suffix == ".json":
            assert json.loads(path.read_text("utf-8")) == json.loads(source.read_text("utf-8"))
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as one, zipfile.ZipFile(source) as other:
                assert {name: one.read(name) for name in one.namelist()} == {
                    name: other.read(name) for name in other.namelist() if not name.endswith("/")
                }
        else:
            assert path.read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    ("layout", "file", "copy"),
    [
        ("vdact", "results/careful-8f.json", "VDEval/careful-8f.json"),
        ("vdact", "data/kg/kg_activity.zip", "graphs.zip"),
        ("mt-video-bench", "mtqa/summary.json", "zdata/mtqa/summary.json"),
        ("mt-video-bench", "checklist/summary_CheckList.json", "zdata/checklist/summary_CheckList.json"),
        ("svbench", "Con/Con_EN/kitchen_01.json", "data/Con/Con_EN/kitchen_01.json"),
    ],
)
def test_a_file_that_lies_twice_is_read_once(layout: str, file: str, copy: str, tmp_path: Path) -> None:
    root = clone(layout, tmp_path / "clone")
    once = read(layout, root)
    (root / copy).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(root / file, root / copy)
    twice = read(layout, root)
    assert {name: rows for name, rows in twice.rows() if name != "source_files"} == {
        name: rows for name, rows in once.rows() if name != "source_files"
    }
    assert twice.graphs == once.graphs
    assert len(twice.source_files) == len(once.source_files) + 1


def test_what_contradicts_is_refused(tmp_path: Path) -> None:
    root = clone("vdact", tmp_path / "clone")
    text = next((root / "VDEval/scenario_refine_summaries").iterdir())
    text.write_text("Another summary.")
    with pytest.raises(InputError, match="scenario 09001 has two refine summaries"):
        read("vdact", root)
    text.unlink()
    graph = next((SAMPLES / "vdact/kg_activity").iterdir())
    (root / graph.name).write_text(graph.read_text("utf-8").split("\n", 1)[1], encoding="utf-8")
    with pytest.raises(InputError, match="appears twice, with other content"):
        read("vdact", root)
