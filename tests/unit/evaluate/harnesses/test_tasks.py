"""Tasks as they are written: what lmms-eval and VLMEvalKit read, and that their modules run.

Both harnesses are stood in for here; `tests/integration/test_harnesses.py` runs lmms-eval itself.
"""

import csv
import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import yaml
from sample_videos import number_of

from reeltalk.cli import run
from reeltalk.video.frames import frames_at
from reeltalk.video.stream import open_video, rgb

FPS = 24


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Loader(yaml.SafeLoader):
    pass


Loader.add_constructor("!function", lambda loader, node: ("function", loader.construct_scalar(node)))  # type: ignore[arg-type]


@pytest.fixture
def lmms(benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    out = tmp_path / "out"
    assert run(["export", "lmms-eval", str(benchmark), str(out), "--name", "kitchen"]) == 0
    told = capsys.readouterr().out
    assert "task kitchen: 4 turns about 2 videos, history golden" in told
    assert "3 files end at a question" in told
    return out


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "turns.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_yaml_names_functions_that_the_module_has(lmms: Path) -> None:
    config = yaml.load((lmms / "kitchen.yaml").read_text(encoding="utf-8"), Loader=Loader)  # noqa: TID251
    module = load(lmms / "kitchen_lmms_eval.py")
    named = [config[name] for name in ("doc_to_visual", "doc_to_text", "doc_to_messages", "process_results")]
    named += [metric["aggregation"] for metric in config["metric_list"]]
    for kind, name in named:
        assert kind == "function"
        assert callable(getattr(module, name.removeprefix("kitchen_lmms_eval.")))
    assert config["dataset_kwargs"] == {"data_files": {"test": str(lmms / "turns.jsonl")}}
    assert config["cluster_key"] == "video_id"
    produced = {name for row in rows_of(lmms) for name in module.process_results(row, ["B"])}
    assert produced == {metric["metric"] for metric in config["metric_list"]}
    assert [m["metric"] for m in config["metric_list"] if not m["higher_is_better"]] == ["reeltalk_unscored"]


def test_the_video_goes_with_the_first_question_and_ends_where_the_last_is_asked(lmms: Path) -> None:
    module = load(lmms / "kitchen_lmms_eval.py")
    for row in rows_of(lmms):
        messages = module.doc_to_messages(row)
        assert [message["role"] for message in messages[:2]] == ["system", "user"]
        kinds = [[part["type"] for part in message["content"]] for message in messages]
        assert kinds == [["text"], ["video", "text"], *[["text"]] * (len(messages) - 2)]
        path = Path(messages[1]["content"][0]["url"])
        assert module.doc_to_visual(row) == [str(path)]
        asked_at_s = json.loads(row["scored_by"])["turn"]["asked_at_s"]
        with open_video(path) as source:
            numbers = [number_of(rgb(frame.picture)) for frame in source.frames()]
        assert numbers == list(range(round(asked_at_s * FPS)))


def test_its_numbers_are_totals_of_its_items(lmms: Path) -> None:
    module = load(lmms / "kitchen_lmms_eval.py")
    items = [module.process_results(row, [row["answer"]]) for row in rows_of(lmms)]
    assert module.total_match([item["reeltalk_match"] for item in items if "reeltalk_match" in item]) == 100.0
    assert module.total_accuracy([item["reeltalk_accuracy"] for item in items if "reeltalk_accuracy" in item]) == 100.0
    assert {item["reeltalk_unscored"]["video_id"] for item in items} == {"one", "two"}


def test_without_videos_questions_go_alone(benchmark: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["export", "lmms-eval", str(benchmark), str(out), "--no-videos", "--mode", "single"]) == 0
    module = load(out / "reeltalk_kitchen_lmms_eval.py")
    row = rows_of(out)[1]
    assert module.doc_to_visual(row) == []
    assert [message["role"] for message in module.doc_to_messages(row)] == ["system", "user"]
    assert not (out / "videos").exists()


def test_a_signature_names_a_prompt_of_ones_own_by_its_content_and_never_by_its_path(
    benchmark: Path, tmp_path: Path
) -> None:
    prompt, out = tmp_path / """a\"\"\"\\U.md""", tmp_path / "out"
    prompt.write_text("<!-- mine v3 -->\nAnswer briefly.", encoding="utf-8")
    options = ["--prompt", str(prompt), "--subtitles", "--no-videos", "--name", "kitchen"]
    assert run(["export", "lmms-eval", str(benchmark), str(out), *options]) == 0
    signature = (load(out / "kitchen_lmms_eval.py").__doc__ or "").splitlines()[2]
    assert "|prompt:mine.v3#" in signature
    assert "|subtitles:yes|videos:none|" in signature
    assert str(tmp_path) not in signature


def test_the_command_in_the_readme_holds_for_a_folder_with_a_space(benchmark: Path, tmp_path: Path) -> None:
    out = tmp_path / "my tasks"
    assert run(["export", "lmms-eval", str(benchmark), str(out), "--no-videos"]) == 0
    assert f"--include_path '{out}' " in (out / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["none", "path", "kitchen_2"])
@pytest.mark.usefixtures("vlmeval")
def test_a_task_may_have_any_name(name: str, benchmark: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["export", "vlmevalkit", str(benchmark), str(out), "--name", name]) == 0
    module = load(out / f"{name}_vlmevalkit.py")
    module.register()
    assert module.Path is Path


@pytest.fixture
def vlmeval(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """What the class needs of VLMEvalKit, as its documentation has it."""
    dumped: dict[str, Any] = {}

    class VideoBaseDataset:
        def __init__(self, dataset: str, nframe: int = 0, fps: float = -1) -> None:
            where = self.prepare_dataset(dataset)  # type: ignore[attr-defined]
            with open(where["data_file"], encoding="utf-8", newline="") as stream:
                lines = list(csv.DictReader(stream, dialect="excel-tab"))
            self.data = types.SimpleNamespace(iloc=lines)
            self.nframe, self.data_root = nframe, where["root"]

        def save_video_frames(self, video: str) -> list[str]:
            assert (Path(self.data_root) / f"{video}.mp4").is_file()
            return [f"{video}-{number}.jpg" for number in range(self.nframe)]

    class Column(list[Any]):
        def tolist(self) -> list[Any]:
            return list(self)

    def read_csv(path: Path, sep: str, keep_default_na: bool) -> dict[str, Column]:
        assert (sep, keep_default_na) == ("\t", False)
        with open(path, encoding="utf-8", newline="") as stream:
            lines = list(csv.DictReader(stream, dialect="excel-tab"))
        return {name: Column(line[name] for line in lines) for name in lines[0]} | {
            "index": Column(int(line["index"]) for line in lines)
        }

    known = types.SimpleNamespace(datasets=[], shortcuts={}, dumped=dumped)
    modules = {
        "pandas": {"read_csv": read_csv},
        "vlmeval": {},
        "vlmeval.dataset": {"DATASET_CLASSES": known.datasets},
        "vlmeval.dataset.video_base": {"VideoBaseDataset": VideoBaseDataset},
        "vlmeval.dataset.video_dataset_config": {"supported_video_datasets": known.shortcuts},
        "vlmeval.smp": {
            "dump": lambda value, path: dumped.update({path: value}),
            "load": lambda path: pytest.fail(f"loads {path}"),
            "get_intermediate_file_path": lambda path, suffix, ending: f"{path}{suffix}.{ending}",
        },
    }
    for name, members in modules.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    vars(sys.modules["vlmeval"])["dataset"] = sys.modules["vlmeval.dataset"]
    return known


def test_a_data_set_of_vlmevalkit(
    benchmark: Path, tmp_path: Path, vlmeval: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert run(["export", "vlmevalkit", str(benchmark), str(out), "--name", "kitchen"]) == 0
    module = load(out / "kitchen_vlmevalkit.py")
    module.register()
    assert "kitchen_16frame" in vlmeval.shortcuts
    data = vlmeval.shortcuts["kitchen_16frame"]()
    lines = data.data.iloc
    assert [line["index"] for line in lines] == ["0", "1", "2", "3"]
    assert (lines[3]["A"], lines[3]["B"], lines[3]["C"], lines[3]["answer"]) == ("red", "green", "None of these", "B")
    shown = data.build_prompt(1, False)
    assert [part["type"] for part in shown] == ["image"] * 16 + ["text"]
    assert "Answer: She takes a cup." in shown[-1]["value"]
    whole = data.build_prompt(1, True)
    assert whole[0]["type"] == "video"
    assert Path(whole[0]["value"]).is_file()
    answers = tmp_path / "model_kitchen.tsv"
    with answers.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, dialect="excel-tab")
        table.writerow(["index", "prediction"])
        table.writerows(enumerate(["A cup.", "The cup is on the shelf.", "No.", "B"]))
    totals = data.evaluate(str(answers))
    assert (totals["reeltalk_match"], totals["reeltalk_accuracy"]) == (pytest.approx(200 / 3), 100.0)
    assert list(vlmeval.dumped.values()) == [totals]
    primary = {name: totals[name] for name in ("reeltalk_accuracy", "reeltalk_match")}
    assert data.report_primary_metric(totals) == primary


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lmms-eval", "--name", "Kitchen!"], "lower case letters"),
        (["lmms-eval", "--split", "nowhere"], "no video is in split 'nowhere'"),
        (["lmms-eval", "--prompt", "poem"], "no prompt 'poem'"),
        (["vlmevalkit", "--no-videos"], "needs its videos"),
        (["lmms-evl"], "trl, lmms-eval, vlmevalkit"),
        (["qa", "--name", "kitchen"], "--overwrite is its only option"),
        (["hub", "--name", "kitchen"], "--cite-as, --date-published and --overwrite are its only options"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(
    benchmark: Path, tmp_path: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    format, *options = arguments
    assert run(["export", format, str(benchmark), str(tmp_path / "out"), *options]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_video_that_is_not_at_hand_is_named(
    benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (benchmark / "media").iterdir():
        path.unlink()
    assert run(["export", "lmms-eval", str(benchmark), str(tmp_path / "out")]) == 2
    assert "2 videos are not available, as 'one'" in capsys.readouterr().err


def test_the_videos_of_the_sample_are_numbered(lmms: Path) -> None:
    path = next((lmms / "videos").glob("two-*.mp4"))
    assert [number_of(rgb(frame.picture)) for frame in frames_at(path, [0.0, 1.0])] == [0, FPS]
