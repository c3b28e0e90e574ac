"""Folders that somebody else made: nothing outside is read, written or removed, and edits are not played."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError, BrokenInvariantError, FrozenError, InputError
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.record import DialogueId, VideoId
from reeltalk.store import file_hashes
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.foreign import file_name_problem, names_problems
from reeltalk.store.release import freeze
from reeltalk.store.runs import read_run
from reeltalk.store.tables import DIALOGUES, VIDEOS
from reeltalk.store.validate import accept, accept_run, validate

SECRET = "what-lies-outside-belongs-to-somebody-else"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "reeltalk" / "checked"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    turn = Turn(question="Who cooks?", references=("She does.",))
    content = Content(
        videos=[Video(id=VideoId("v1"), duration_s=60.0)],
        dialogues=[Dialogue(id=DialogueId("d1"), video_id=VideoId("v1"), turns=(turn,))],
        graphs={"v1": "<http://a> <http://b> <http://c> .\n"},
    )
    Benchmark.create(tmp_path / "made" / "bench").write_content(content, stage="test")
    return tmp_path / "made" / "bench"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "payload.txt").write_text(SECRET)
    return tmp_path / "payload.txt"


def list_file(bench: Path, name: str) -> None:
    """List a file under a name in the manifest, as a stranger may."""
    manifest = json.loads((bench / "manifest.json").read_text())
    manifest["files"][name] = manifest["files"]["videos.jsonl"]
    (bench / "manifest.json").write_text(json.dumps(manifest))


KEYS = [
    "../../payload.txt",
    "/etc/passwd",
    "C:/payload.txt",
    "C:payload.txt",
    "",
    ".",
    "..",
    "graphs/..",
    "graphs/../../payload.txt",
    "./videos.jsonl",
    "graphs//v1.nq",
    "graphs/",
    "//payload.txt",
    ".commit/videos.jsonl",
    ".lock",
    ".work/x",
    "graphs/.hidden",
    "..\\..\\payload.txt",
    "graphs\\v1.nq",
    "a\0b",
    "a\nb",
    "a\x1b[2Jb",
    "a\u202etxt.exe",
    "x" * 300,
    "graphs/" + "é" * 200,
    "a/b/c.txt",
    "manifest.json",
    "Manifest.JSON",
    "media/" + "0" * 64,
    "MEDIA/x",
    "media",
    "remote.json",
    "removed.txt",
    "Videos.jsonl",
    "graphs/V1.nq",
    "Graphs/v2.nq",
    "graphs",
    "videos.jsonl/x",
]


def in_turn(commands: list[list[str]], number: int, count: int) -> list[list[str]]:
    """So many of the commands, other ones for each case: where it is a third, each command meets every third case."""
    start = number * count % len(commands)
    return commands[start : start + count]


@pytest.mark.parametrize("key", KEYS)
def test_a_name_in_a_manifest_stays_inside(
    bench: Path, outside: Path, tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str], full: bool
) -> None:
    list_file(bench, key)
    commands = [
        ["validate", str(bench)],
        ["validate", str(bench), "--accept"],
        ["freeze", str(bench), str(tmp_path / "release" / "r"), "--version", "1.0.0"],
        ["export", "hub", str(bench), str(tmp_path / "out")],
        ["report", "--format", "text", str(bench)],
        ["doctor", str(bench)],
    ]
    for words in in_turn(commands, KEYS.index(key), 6 if full else 2):
        assert run(words) == 2, words
        said = capsys.readouterr()
        assert "not a file of a benchmark" in said.err or "control character" in said.err
        assert "Traceback" not in said.err
        assert SECRET not in said.out + said.err
    assert outside.read_text() == SECRET
    assert not (tmp_path / "release").exists() or not any((tmp_path / "release").iterdir())


def test_names_that_we_write_are_fine() -> None:
    names = ["videos.jsonl", "graphs/a b (é) 你好.nq", "sheets/0f.png", "README.md", "graphs/" + "x" * 252 + ".nq"[:0]]
    assert list(names_problems(names, reserved=("media",))) == []
    assert file_name_problem("graphs/👨‍👩‍👧.nq") is None


def test_files_that_differ_by_case_are_not_written_together(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="one file on a file system that ignores case"):
        Benchmark.create(tmp_path / "b").write_content(Content(graphs={"a": "", "A": ""}), stage="test")


def commit_folder(bench: Path) -> Path:
    (bench / ".commit").mkdir()
    shutil.copy(bench / "manifest.json", bench / ".commit" / "manifest.json")
    return bench / ".commit"


def _removed(text: str) -> Callable[[Path, Path], None]:
    def write(bench: Path, outside: Path) -> None:
        (commit_folder(bench) / "removed.txt").write_text(text.replace("OUTSIDE", str(outside)))

    return write


def _brings(name: str) -> Callable[[Path, Path], None]:
    def write(bench: Path, outside: Path) -> None:
        path = commit_folder(bench) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("brought")

    return write


def _link(name: str, target: str = "OUTSIDE") -> Callable[[Path, Path], None]:
    def write(bench: Path, outside: Path) -> None:
        path = bench / name
        if name.startswith(".commit/"):
            commit_folder(bench)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        to = {"OUTSIDE": outside, "FOLDER": outside.parent / "away", "INSIDE": bench / "videos.jsonl"}[target]
        (outside.parent / "away").mkdir(exist_ok=True)
        path.symlink_to(to)

    return write


def _pipe(name: str) -> Callable[[Path, Path], None]:
    def write(bench: Path, outside: Path) -> None:
        (bench / name).unlink(missing_ok=True)
        (bench / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(bench / name)

    return write


def _partly_linked_commit(bench: Path, outside: Path) -> None:
    away = outside.parent / "away"
    away.mkdir()
    shutil.copy(bench / "manifest.json", away / "manifest.json")
    (away / "removed.txt").write_text("videos.jsonl\n")
    (bench / ".commit").symlink_to(away)


HOSTILE: dict[str, Callable[[Path, Path], None]] = {
    "removed.txt leads out": _removed("../../payload.txt\n"),
    "removed.txt is absolute": _removed("OUTSIDE\n"),
    "removed.txt takes the manifest": _removed("manifest.json\n"),
    "removed.txt takes what is listed": _removed("videos.jsonl\n"),
    "removed.txt takes a medium": _removed(f"media/{'0' * 64}\n"),
    "removed.txt is a link": _link(".commit/removed.txt"),
    "a commit brings what is not listed": _brings("payload.txt"),
    "a commit brings a lock": _brings(".lock"),
    "a commit brings a medium": _brings("media/" + "0" * 64),
    "a commit brings a deep file": _brings("graphs/a/b.nq"),
    "a commit brings a link": _link(".commit/videos.jsonl"),
    "a commit's manifest is a link": _link(".commit/manifest.json"),
    "a commit's folder is a link": _link(".commit/graphs", "FOLDER"),
    "a commit is a link": _partly_linked_commit,
    "a commit brings a pipe": lambda bench, outside: (
        commit_folder(bench),
        _pipe(".commit/videos.jsonl")(bench, outside),
    )[1],
    "the lock is a link": _link(".lock"),
    "the lock is a pipe": _pipe(".lock"),
    "the work folder is a link": _link(".work", "FOLDER"),
    "in the work folder is a link": _link(".work/curate/journal.json"),
    "the media are a link": _link("media", "FOLDER"),
    "a medium is a link": _link("media/" + "0" * 64),
    "a medium is a pipe": _pipe("media/" + "0" * 64),
    "the graphs are a link": _link("graphs", "FOLDER"),
    "a graph is a link": _link("graphs/Make_coffee1_scene2.nq"),
    "the sheets are a link": _link("sheets", "FOLDER"),
    "a sheet is a link": _link("sheets/a.png"),
    "a table is a link": _link("dialogues.jsonl"),
    "a table is a link inside": _link("dialogues.jsonl", "INSIDE"),
    "a table is a pipe": _pipe("dialogues.jsonl"),
    "a table that is not listed is a link": _link("answers.jsonl"),
    "the manifest is a link": _link("manifest.json"),
    "the manifest is a pipe": _pipe("manifest.json"),
    "the address of the media is a link": _link("remote.json"),
    "a partial write is a link": _link(".partial-1", "FOLDER"),
    "a link without a target": lambda bench, outside: (bench / "sheets").symlink_to(outside.parent / "nothing"),
}


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()
    }


def on_benchmark(bench: Path, out: Path) -> list[list[str]]:
    """Commands that take a benchmark; each does its work on a sound one."""
    return [
        ["freeze", str(bench), str(out / "release"), "--version", "1.0.0"],
        ["validate", str(bench), "--accept"],
        ["export", "hub", str(bench), str(out / "hub")],
        ["report", str(bench), "--out", str(out / "site")],
        ["report", "--format", "text", str(bench)],
        ["graph", "tell", str(bench), "--out", str(out / "told")],
        ["construct", str(bench), "--rubrics"],
        ["evaluate", str(bench), *BLIND, "--out", str(out / "run")],
        ["validate", str(bench)],
        ["doctor", str(bench)],
    ]


def on_run(run_folder: Path, out: Path, bench: Path) -> list[list[str]]:
    """Commands that take a run; each does its work on a sound one."""
    return [
        ["report", str(run_folder), "--out", str(out / "site")],
        ["compare", str(run_folder), str(bench.parent / "other"), "--metrics", "rouge_l"],
        ["judge", str(run_folder), "--protocols", "match", "--out", str(out / "judged")],
        ["retry", str(run_folder)],
        ["calibrate", str(run_folder), "--sheet", str(out / "sheet.csv")],
        ["evaluate", str(bench), *BLIND, "--out", str(run_folder)],
        ["evaluate", str(bench), *BLIND, "--out", str(run_folder), "--overwrite"],
        ["validate", str(run_folder), "--accept"],
        ["validate", str(run_folder)],
        ["doctor", str(run_folder)],
    ]


BLIND = ("--model", "baseline:blind", "--limit", "1", "--split", "all")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    """A folder with a benchmark and two runs on it."""
    folder = tmp_path_factory.mktemp("sound")
    assert run(["import", "vdact", str(samples / "vdact"), str(folder / "bench")]) == 0
    assert run(["evaluate", str(folder / "bench"), *BLIND, "--out", str(folder / "run")]) == 0
    other = [*BLIND[:1], "baseline:constant", *BLIND[2:]]
    assert run(["evaluate", str(folder / "bench"), *other, "--out", str(folder / "other")]) == 0
    return folder


@pytest.fixture
def made(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "made")


def test_the_commands_do_their_work_on_what_is_sound(made: Path, tmp_path: Path) -> None:
    for words in [*on_benchmark(made / "bench", tmp_path / "a"), *on_run(made / "run", tmp_path / "b", made / "bench")]:
        # A run that was moved is not retried: its command stands with where it was given.
        assert run(words) in (0, 1) or words[0] == "retry", words


def check_refused(
    commands: list[list[str]], outside: Path, out: Path, said_by: pytest.CaptureFixture[str], tally: Any
) -> None:
    away = outside.parent / "away"
    before = files_of(away)
    for words in commands:
        tally.tried += 1
        assert run(words) in (1, 2), words
        said = said_by.readouterr()
        assert "Traceback" not in said.err, words
        assert SECRET not in said.out + said.err, words
    assert outside.read_text() == SECRET
    assert files_of(away) == before
    assert not any(SECRET.encode() in content for content in files_of(out).values())


@pytest.mark.timeout(120)
@pytest.mark.parametrize("case", HOSTILE)
def test_no_command_goes_through_a_benchmark_of_somebody_else(
    made: Path, outside: Path, tmp_path: Path, case: str, capfd: pytest.CaptureFixture[str], reliability: Any
) -> None:
    HOSTILE[case](made / "bench", outside)
    tally = reliability(
        "archives", "a command on a benchmark with links, pipes or a foreign write", "it leaves the folder"
    )
    count = reliability.count(4, full=12, release=12)
    commands = in_turn(on_benchmark(made / "bench", tmp_path / "out"), list(HOSTILE).index(case), count)
    check_refused(commands, outside, tmp_path / "out", capfd, tally)


HOSTILE_RUNS: dict[str, Callable[[Path, Path], None]] = {
    **{f"{name} is a link": _link(name) for name in (
        "run.json", "files.json", "summary.json", "answers.jsonl", "scores/items.jsonl", "scores/curves.jsonl",
        "scores/groups.jsonl", "scores/judged-x.jsonl", "replies.sqlite", "request.json", "command.json", ".lock",
        "controls/none/run.json", "frames/x.jpg",
    )},
    **{f"{name} is a linked folder": _link(name, "FOLDER") for name in (
        "scores", "controls", "controls/none", "frames", ".remade", ".again", ".partial-1",
    )},
    **{f"{name} is a pipe": _pipe(name) for name in (
        "answers.jsonl", "summary.json", "files.json", "scores/items.jsonl", ".lock", "replies.sqlite", "request.json",
    )},
}  # fmt: skip


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("case", "begun"),
    [
        # Full counts try both with each case, `make test` takes turns.
        pytest.param(
            case,
            begun,
            id=f"{case}-{'unfinished' if begun else 'whole'}",
            marks=[pytest.mark.slow] if begun == bool(number % 2) else [],
        )
        for number, case in enumerate(HOSTILE_RUNS)
        for begun in (False, True)
    ],
)
def test_no_command_goes_through_a_run_of_somebody_else(
    made: Path,
    outside: Path,
    tmp_path: Path,
    case: str,
    begun: bool,
    capfd: pytest.CaptureFixture[str],
    reliability: Any,
) -> None:
    if begun:
        (made / "run" / "run.json").unlink()
    HOSTILE_RUNS[case](made / "run", outside)
    tally = reliability("archives", "a command on a run with links or pipes", "it leaves the folder")
    count = reliability.count(4, full=12, release=12)
    commands = in_turn(on_run(made / "run", tmp_path / "out", made / "bench"), list(HOSTILE_RUNS).index(case), count)
    check_refused(commands, outside, tmp_path / "out", capfd, tally)


@pytest.mark.parametrize(
    "name", ["run.json", "summary.json", "answers.jsonl", "scores/items.jsonl", "scores/curves.jsonl"]
)
def test_an_edited_run_is_refused_until_it_is_accepted(
    made: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made / "run" / name
    path.write_bytes(path.read_bytes().replace(b"0", b"1") + b"\n")
    for words in on_run(made / "run", tmp_path / "out", made / "bench"):
        if words[0] not in ("retry", "evaluate", "validate"):
            assert run(words) in (1, 2), words
            said = capsys.readouterr()
            assert f"{name} was edited or damaged" in said.err + said.out, words


def test_the_numbers_of_an_edited_run_say_so(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made / "run" / "answers.jsonl"
    row = json.loads(path.read_text().splitlines()[0])
    path.write_text(path.read_text().replace(json.dumps(row["text"]), json.dumps("Something else.")))
    assert run(["validate", "--accept", str(made / "run")]) == 0
    assert "accepted as edited by hand: answers.jsonl" in capsys.readouterr().out
    assert all(line.signature.endswith("|edited:by hand") for line in read_run(made / "run").summary)
    assert run(["report", str(made / "run"), "--out", str(tmp_path / "site")]) == 0
    assert any("edited:by hand" in page.read_text() for page in (tmp_path / "site").rglob("*.html"))
    assert accept_run(made / "run") == []


def test_a_run_that_is_damaged_is_not_accepted(made: Path) -> None:
    path = made / "run" / "answers.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"answers\.jsonl"):
        accept_run(made / "run")
    path.unlink()
    with pytest.raises(BenchmarkError, match="cannot read"):
        accept_run(made / "run")


def test_a_run_without_hashes_of_its_files_is_read_unchecked(made: Path) -> None:
    (made / "run" / "files.json").unlink()
    path = made / "run" / "answers.jsonl"
    path.write_text(path.read_text() + "")
    assert read_run(made / "run").files == {}
    assert accept_run(made / "run") == []


def test_validate_lists_links_beside_all_other_findings(
    bench: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (bench / "sheets").mkdir()
    (bench / "sheets" / "a.png").symlink_to(outside)
    (bench / "sheets" / "b.png").symlink_to(outside)
    os.mkfifo(bench / "pipe")
    (bench / "videos.jsonl").write_text('{"id":"v2"}\n')
    assert run(["validate", str(bench)]) == 1
    said = capsys.readouterr().out
    for part in (
        "sheets/a.png: it is a link",
        "sheets/b.png: it is a link",
        "pipe: it is a named pipe",
        "edited or damaged",
        "video 'v1'",
    ):
        assert part in said, said


def test_a_benchmark_that_is_reached_through_a_link_is_fine(bench: Path, tmp_path: Path) -> None:
    (tmp_path / "shortcut").symlink_to(bench)
    assert len(list(Benchmark.open(tmp_path / "shortcut").read(DIALOGUES))) == 1
    assert validate(Benchmark.open(tmp_path / "shortcut")) == []


def edit(path: Path) -> None:
    """Change a table by hand as slyly as one can: of the same size, with the times that it had."""
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"She does.", b"He did it")[: status.st_size])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def age(folder: Path) -> None:
    """Wait until the folder's files are no longer so new that they might still change unseen."""
    for path in folder.rglob("*"):
        while time.time_ns() - path.stat().st_ctime_ns <= file_hashes.RECENT_NS:
            time.sleep(0.02)


def test_what_was_not_touched_is_hashed_once(
    bench: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    age(bench)
    Benchmark.open(bench).content()
    assert len(list(own_cache.iterdir())) == 1
    files = files_of(bench)

    def refuse(path: Path) -> tuple[str, int]:
        raise AssertionError(f"{path} was hashed again")

    monkeypatch.setattr(file_hashes, "hash_file", refuse)
    bench.chmod(0o555)
    Benchmark.open(bench).content()
    assert files_of(bench) == files, "nothing is written beside the files"
    # A record that is damaged, or came from elsewhere, is no word for a file.
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    record = next(own_cache.iterdir())
    record.write_bytes(b'not json\n["videos.jsonl", 1]\n' + record.read_bytes()[:-20])
    edit(bench / "dialogues.jsonl")
    with pytest.raises(BenchmarkError, match="edited or damaged"):
        Benchmark.open(bench).content()


def test_without_a_home_everything_is_hashed(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert len(list(Benchmark.open(bench).read(DIALOGUES))) == 1


def test_a_record_does_not_grow_without_end(bench: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_hashes, "SPARE_LINES", 3)
    age(bench)
    for number in range(12):
        (bench / "videos.jsonl").chmod(0o644 if number % 2 else 0o600)
        age(bench)
        list(Benchmark.open(bench).read(VIDEOS))
    assert len(next(own_cache.iterdir()).read_bytes().splitlines()) <= 6


def test_an_edited_benchmark_is_accepted_as_a_new_revision(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    age(bench)
    before = Benchmark.open(bench)
    before.content()
    edit(bench / "dialogues.jsonl")
    for words in (
        ["freeze", str(bench), f"{bench}-r", "--version", "1.0.0"],
        ["export", "hub", str(bench), f"{bench}-o"],
    ):
        assert run(words) == 2
        assert "dialogues.jsonl" in capsys.readouterr().err
    assert run(["validate", "--accept", str(bench)]) == 0
    assert "accepted as edited by hand: dialogues.jsonl" in capsys.readouterr().out
    after = Benchmark.open(bench)
    entry = after.manifest.files["dialogues.jsonl"]
    assert entry.stage == "edited by hand"
    assert entry.parents == {"dialogues.jsonl": before.manifest.files["dialogues.jsonl"].sha256}
    assert after.manifest.content_hash != before.manifest.content_hash
    assert next(after.read(DIALOGUES)).turns[0].references == ("He did it",)
    assert validate(after) == []
    assert accept(bench) == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "way",
    [
        "evaluate",
        "judge",
        "report",
        *(pytest.param(way, marks=pytest.mark.slow) for way in ("freeze", "export", "text")),
        "review",
        "retry",
    ],
)
def test_other_references_are_not_played_under_the_old_hash(
    made: Path, tmp_path: Path, way: str, capfd: pytest.CaptureFixture[str]
) -> None:
    bench, out = made / "bench", tmp_path / "out"
    table = bench / "dialogues.jsonl"
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    for row in rows:
        for turn in row["turns"]:
            turn["references"] = ["Replaced by hand."]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = {
        "evaluate": ["evaluate", str(bench), *BLIND, "--out", str(out)],
        "retry": ["evaluate", str(bench), *BLIND, "--out", str(made / "run")],
        "judge": ["judge", str(made / "run"), "--protocols", "match", "--bench", str(bench), "--out", str(out)],
        "report": ["report", str(bench), "--out", str(out)],
        "freeze": ["freeze", str(bench), str(out), "--version", "1.0.0"],
        "export": ["export", "hub", str(bench), str(out)],
        "review": ["review", str(bench), "--port", "0"],
        "text": ["report", "--format", "text", str(bench)],
    }[way]
    assert run(words) == 2
    said = capfd.readouterr().err
    assert "dialogues.jsonl was edited or damaged" in said or "dialogues.jsonl: its content differs" in said
    assert "reeltalk validate" in said
    assert not out.exists() or not any(path.is_file() for path in out.rglob("*") if path.name != ".lock")
    assert run(["validate", "--accept", str(bench)]) == 0


def test_rows_are_counted_anew(bench: Path) -> None:
    with (bench / "videos.jsonl").open("ab") as stream:
        stream.write(b'{"id":"v2"}\n')
    assert accept(bench) == ["videos.jsonl"]
    assert Benchmark.open(bench).rows(VIDEOS) == 2


def test_broken_content_is_not_accepted(bench: Path) -> None:
    manifest = (bench / "manifest.json").read_bytes()
    (bench / "videos.jsonl").write_text('{"id":"v2"}\n')
    with pytest.raises(BrokenInvariantError, match="belongs to video 'v1'"):
        accept(bench)
    (bench / "videos.jsonl").write_text('{"id":')
    with pytest.raises(BrokenInvariantError, match=r"videos\.jsonl:1"):
        accept(bench)
    (bench / "videos.jsonl").unlink()
    with pytest.raises(BenchmarkError, match="missing"):
        accept(bench)
    assert (bench / "manifest.json").read_bytes() == manifest


def test_an_edited_release_is_refused(bench: Path, tmp_path: Path) -> None:
    freeze(Benchmark.open(bench), tmp_path / "r", version="1.0.0")
    (tmp_path / "r" / "dialogues.jsonl").chmod(0o644)
    edit(tmp_path / "r" / "dialogues.jsonl")
    with pytest.raises(BenchmarkError, match=r"release 1\.0\.0 does not change"):
        Benchmark.open(tmp_path / "r").content()
    with pytest.raises(FrozenError, match="copy it"):
        accept(tmp_path / "r")


def test_a_reader_goes_on_with_what_another_process_wrote(bench: Path) -> None:
    reader, again = Benchmark.open(bench), Benchmark.open(bench)
    list(again.read(DIALOGUES))
    content = Benchmark.open(bench).content()
    changed = content.dialogues[0].model_copy(update={"turns": (Turn(question="What?"),)})
    with Benchmark.open(bench).writing(stage="another") as writer:
        writer.add(DIALOGUES, [changed])
    assert next(reader.read(DIALOGUES)).turns[0].question == "What?"
    assert reader.manifest.content_hash == Benchmark.open(bench).manifest.content_hash
    with pytest.raises(BenchmarkError, match="another process wrote"):
        again.read(DIALOGUES)


def test_a_medium_is_what_its_name_says(bench: Path, tmp_path: Path) -> None:
    benchmark = Benchmark.open(bench)
    (tmp_path / "film.mp4").write_bytes(b"the film")
    sha256 = benchmark.media.add(tmp_path / "film.mp4")
    assert benchmark.media.whole(sha256).read_bytes() == b"the film"
    benchmark.media.path(sha256).write_bytes(b"A foreign one")
    with pytest.raises(BenchmarkError, match="does not have the hash"):
        benchmark.media.whole(sha256)


def test_a_manifest_of_many_wrong_names_counts_them(bench: Path) -> None:
    for key in KEYS[:3]:
        list_file(bench, key)
    with pytest.raises(InputError, match="2 more names are wrong"):
        Benchmark.open(bench)
