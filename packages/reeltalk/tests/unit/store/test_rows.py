"""Rows in a file that look like a list."""

import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.dialogue import Dialogue, Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.record import ChainId, ClipId, DialogueId, VideoId
from reeltalk.store import rows as rows_module
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.rows import FieldValues, KeyIndex, Rows, SpooledRows, groups_of, rows_by, sort_texts
from reeltalk.store.tables import CHAINS, DIALOGUES, LINKAGES


def dialogues(count: int, videos: int = 3) -> list[Dialogue]:
    return [
        Dialogue(
            id=DialogueId(f"d{number}"),
            video_id=VideoId(f"v{number % videos}"),
            turns=(Turn(question="Où? " * (number % 7), references=("Ici.",)),),
            extra={"writer": "w"} if number % 2 else {},
        )
        for number in range(count)
    ]


def stored(folder: Path, rows: list[Dialogue]) -> Benchmark:
    benchmark = Benchmark.create(folder)
    benchmark.write_content(Content(dialogues=rows), stage="test")
    return benchmark


def test_a_table_reads_as_the_list_of_its_rows(tmp_path: Path) -> None:
    rows = dialogues(50)
    table = stored(tmp_path / "b", rows).table(DIALOGUES)
    assert len(table) == 50
    assert list(table) == rows
    assert [table[0], table[17], table[-1]] == [rows[0], rows[17], rows[-1]]
    assert list(table[5:20:3]) == rows[5:20:3]
    assert table[5:20][3] == rows[8]
    with pytest.raises(IndexError):
        table[50]


@pytest.mark.parametrize("ended", [True, False])
def test_rows_beside_each_other_are_read_together_across_files(ended: bool, tmp_path: Path) -> None:
    rows = dialogues(200)
    paths = [tmp_path / f"{part}.jsonl" for part in range(3)]
    for path, own in zip(paths, (rows[:90], [], rows[90:]), strict=True):
        lines = "\n".join(row.to_json() for row in own)
        path.write_text(lines + "\n" * (ended and bool(own)), encoding="utf-8")
    table = Rows(paths, Dialogue)
    places = [*range(3, 150), 7, 7, 199, *range(80, 100)]
    assert list(table.at(places)) == [rows[place] for place in places]
    assert [row["id"] for row in table.at(places).raw()] == [rows[place].id for place in places]


def test_a_table_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    table = stored(tmp_path / "b", dialogues(2)).table(CHAINS)
    assert (len(table), list(table), dict(table.grouped())) == (0, [], {})


def test_rows_come_from_the_file_that_was_opened(tmp_path: Path) -> None:
    benchmark = stored(tmp_path / "b", dialogues(4))
    table = benchmark.table(DIALOGUES)
    benchmark.write_content(Content(dialogues=dialogues(1)), stage="test")
    assert list(table) == dialogues(4)


def test_rows_are_found_by_their_video(tmp_path: Path) -> None:
    rows = dialogues(20)
    by_video = stored(tmp_path / "b", rows).table(DIALOGUES).grouped()
    assert list(by_video) == ["v0", "v1", "v2"]
    assert {name: list(own) for name, own in by_video.items()} == {
        name: [row for row in rows if row.video_id == name] for name in ("v0", "v1", "v2")
    }
    assert list(by_video.get("v9", ())) == []


def test_rows_are_chosen_by_what_they_hold(tmp_path: Path) -> None:
    rows = dialogues(9)
    chosen = stored(tmp_path / "b", rows).table(DIALOGUES).where(lambda row: "writer" in row.get("extra", {}))
    assert list(chosen) == rows[1::2]
    assert chosen[-1] == rows[7]
    assert list(chosen[1:3]) == [rows[3], rows[5]]


@pytest.mark.parametrize("line", [b"{", b'{"id": 7, "video_id": "v0", "turns": []}', b"\xff\xfe", b"[]"])
def test_a_damaged_row_is_named(tmp_path: Path, line: bytes) -> None:
    benchmark = stored(tmp_path / "b", dialogues(2))
    path = benchmark.path / DIALOGUES.file_name
    with path.open("ab") as stream:
        stream.write(line + b"\n")
    table = Benchmark.open(benchmark.path, as_it_is=True).table(DIALOGUES)
    assert table[1] == dialogues(2)[1]
    with pytest.raises(InputError) as found:
        list(table)
    assert "dialogues.jsonl:3" in str(found.value)


def test_rows_can_be_read_while_threads_add_to_them(tmp_path: Path) -> None:
    spool: SpooledRows[QAChain] = SpooledRows(QAChain, tmp_path)

    def add(thread: int) -> None:
        for number in range(200):
            spool.append(QAChain(id=ChainId(f"c{thread}-{number}"), video_id=VideoId("v"), turns=()))
            assert spool[len(spool) - 1].video_id == "v"

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {chain.id for chain in spool} == {f"c{thread}-{number}" for thread in range(4) for number in range(200)}
    assert not list(tmp_path.iterdir())


def test_memory_does_not_grow_with_what_rows_hold(tmp_path: Path) -> None:
    long = Turn(question="What is on the table? " * 400, references=("A mug.",))
    tracemalloc.start()
    spool: SpooledRows[QAChain] = SpooledRows(QAChain, tmp_path)
    for number in range(2_000):
        spool.append(QAChain(id=ChainId(f"c{number}"), video_id=VideoId(f"v{number % 10}"), turns=(long,)))
    grouped = spool.grouped()
    assert sum(len(rows[0].turns) for rows in grouped.values()) == 10
    assert sum(1 for _ in spool) == 2_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The text of the rows is 17 MB; a block of them and an index are held.
    assert peak < 4 << 20


@pytest.mark.parametrize("in_memory", [True, False])
def test_rows_are_found_by_fields_in_memory_and_in_a_file(tmp_path: Path, in_memory: bool) -> None:
    ends = [("a", "b"), ("b", "c"), ("a", "a")]
    rows = [Linkage(source=TurnRef(unit_id=s, turn_index=0), target=TurnRef(unit_id=t, turn_index=1), relation="Events")
            for s, t in ends]  # fmt: skip
    benchmark = Benchmark.create(tmp_path / "b")
    benchmark.write_content(Content(linkages=rows), stage="test")
    table = rows if in_memory else benchmark.table(LINKAGES)
    found = rows_by(table, "source.unit_id", "target.unit_id")
    assert {name: list(some) for name, some in found.items()} == {
        "a": [rows[0], rows[2]], "b": [rows[0], rows[1]], "c": [rows[1]],
    }  # fmt: skip
    chains = [
        QAChain(id=ChainId(f"c{n}"), video_id=VideoId("v"), clip_id=ClipId("k") if n else None, turns=())
        for n in range(2)
    ]
    benchmark.write_content(Content(chains=chains), stage="test")
    by_clip = rows_by(chains if in_memory else benchmark.table(CHAINS), "clip_id")
    assert {name: list(some) for name, some in by_clip.items()} == {"k": [chains[1]]}
    assert by_clip.get(None, ()) == ()  # type: ignore[call-overload]
    assert None not in by_clip


def test_a_benchmark_in_its_files_reads_as_in_memory(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "b")
    benchmark.write_content(
        Content(dialogues=dialogues(5), graphs={"g": "", "h": "<a:b> <a:c> <a:d> .\n"}), stage="test"
    )
    whole, stored = benchmark.content(), benchmark.stored_content()
    assert [(name, list(rows)) for name, rows in stored.rows()] == list(whole.rows())
    assert dict(stored.graphs) == whole.graphs
    assert (len(stored.graphs), "g" in stored.graphs, "x" in stored.graphs) == (2, True, False)


def test_an_index_gives_values_in_their_order() -> None:
    index = KeyIndex([("b", 3), ("a", 1), ("b", 2), (7, 9)])
    assert (index.values("b"), index.last("b"), index.values(7)) == ([3, 2], 2, [9])
    assert (index.values("c"), index.last(None), index.keys()) == ([], None, ["b", "a", 7])


@pytest.mark.parametrize("in_memory", [True, False])
def test_rows_that_agree_in_fields_are_groups(tmp_path: Path, in_memory: bool) -> None:
    rows = dialogues(7)
    table = rows if in_memory else stored(tmp_path / "b", rows).table(DIALOGUES)
    # A field that equals its default is not stored.
    found = [list(own) for own in groups_of(table, "video_id", "task")]
    assert found == [rows[0::3], rows[1::3], rows[2::3]]
    assert list(FieldValues(table, "task")) == [None] * 7
    assert FieldValues(table, "video_id")[2] == "v2"


@given(texts=st.lists(st.tuples(st.binary(max_size=3), st.one_of(st.none(), st.binary(max_size=2)))))
def test_texts_are_sorted_by_their_keys(texts: list[tuple[bytes, bytes | None]]) -> None:
    ordered = sorted(texts, key=lambda pair: (pair[0], pair[1] is not None, pair[1] or b""))
    assert list(sort_texts(texts)) == [key if text is None else text for key, text in ordered]


def test_no_room_for_an_index_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "DATABASE_SETTINGS", "PRAGMA max_page_count=8;")
    with pytest.raises(BenchmarkError, match="free some space"):
        KeyIndex((f"name {number}", number) for number in range(10_000))
