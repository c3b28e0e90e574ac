"""What is said in a video comes from the file beside it: as it is written there, repaired where that is plain."""

import contextlib
import json
import time
from pathlib import Path

import pytest

from reeltalk.curate.side_files import LARGEST_BYTES
from reeltalk.curate.sources import find_videos, read_beside, skipped_files
from reeltalk.curate.transcripts import (
    Repairs,
    TranscriptFile,
    choose_transcript,
    open_transcript,
    read_transcript,
    speech_of,
)
from reeltalk.errors import InputError, SettingError
from reeltalk.schema.record import VideoId


def said(path: Path, content: str | bytes) -> list[tuple[float, float, str | None, str]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    rows = read_transcript(path, VideoId("v"))
    return [(row.interval.start_s, row.interval.end_s, row.speaker, row.text) for row in rows]


SUBRIP = """1
00:00:01,000 --> 00:00:02,500 X1:40 X2:600 Y1:20 Y2:50
{\\an8}<i>Come in</i>,
<font color="#ff0000">Anna</font> &amp; Bob.

2
00:01:03.250 --> 00:01:04
It was in
1984

and later.
3
00:00:02,000 --> 00:00:03,000
[SPEAKER_01]: a < b, b > c

4
00:00:05,000 --> 00:00:06,000

"""
SUBRIP_SAID = [
    (1.0, 2.5, None, "Come in, Anna & Bob."),
    (2.0, 3.0, "SPEAKER_01", "a < b, b > c"),
    (63.25, 64.0, None, "It was in 1984 and later."),
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_subrip_is_read_without_its_markup(encoding: str, end: str, tmp_path: Path) -> None:
    assert said(tmp_path / "x.srt", SUBRIP.replace("\n", end).encode(encoding)) == SUBRIP_SAID


def test_webvtt_gives_the_voices_and_no_comments(tmp_path: Path) -> None:
    text = (
        "WEBVTT - a film\nKind: captions\n\nSTYLE\n::cue { color: white }\n\nintro\n00:01.000 --> 00:02.000 line:90%\n"
        "<v Anna>I was born in\n1984</v>\n\nNOTE nobody says\nthis\n\n100:00:03.000 --> 100:00:04.000\n"
        "<v.loud Anna B.>Tea? <v Ben>&lt;b&gt; please\n"
    )
    assert said(tmp_path / "x.vtt", text) == [
        (1.0, 2.0, "Anna", "I was born in 1984"),
        (360003.0, 360004.0, "Anna B.", "Tea?"),
        (360003.0, 360004.0, "Ben", "<b> please"),
    ]


def test_rolling_captions_say_every_line_once_and_other_files_keep_repetitions(tmp_path: Path) -> None:
    text = (
        "WEBVTT\n\n00:00.000 --> 00:02.000\nso<00:00:01.000><c> today</c>\n\n00:02.000 --> 00:02.010\nso today\n\n"
        "00:02.010 --> 00:04.000\nso today\nwe<00:00:03.000><c> bake</c>\n"
    )
    assert said(tmp_path / "x.vtt", text) == [(0.0, 2.0, None, "so today"), (2.01, 4.0, None, "we bake")]
    plain = "WEBVTT\n\n00:00.000 --> 00:02.000\nNo!\n\n00:02.000 --> 00:03.000\nNo!\n"
    assert [row[3] for row in said(tmp_path / "x.vtt", plain)] == ["No!", "No!"]


@pytest.mark.parametrize(
    "value",
    [
        {"text": " Hi.", "language": "en",
         "segments": [{"id": 0, "seek": 0, "start": 0.0, "end": 2, "text": " Hi.", "tokens": [5], "temperature": 0.0}]},
        {"segments": [{"start": 0.0, "end": 2.0, "text": "Hi. ", "words": [{"word": "Hi."}], "speaker": None}],
         "word_segments": []},
        [{"start": 0.0, "end": 2.0, "text": "Hi."}, {"start": 2.0, "end": 2.5, "text": "  "}],
    ],
)  # fmt: skip
def test_whispers_json_is_read_in_its_shapes(value: object, tmp_path: Path) -> None:
    assert said(tmp_path / "x.json", json.dumps(value)) == [(0.0, 2.0, None, "Hi.")]


def test_whisperx_gives_the_speakers(tmp_path: Path) -> None:
    value = {"segments": [{"start": 1.23456, "end": 2.0, "text": "Hi.", "speaker": "SPEAKER_00"}]}
    assert said(tmp_path / "x.json", json.dumps(value)) == [(1.235, 2.0, "SPEAKER_00", "Hi.")]


TIMES = "00:00:01,000 --> 00:00:02,000"
ONE = f"1\n{TIMES}\nHi.\n"
SAID = (1.0, 2.0, None, "Hi.")


def srt(*times: str) -> str:
    return "\n".join(f"{number}\n{pair}\nHi.\n" for number, pair in enumerate(times, start=1))


def segments(*rows: tuple[object, object]) -> str:
    return json.dumps({"segments": [{"start": start, "end": end, "text": "Hi."} for start, end in rows]})


@pytest.mark.parametrize(
    ("name", "content", "times", "repaired"),
    [
        # Milliseconds of one, two and four digits, as tools write them that print a number (cdown/srt#52).
        ("x.srt", srt("0:0:4,8 --> 0:0:7,4"), [(4.8, 7.4)], {"time_format": 1}),
        ("x.srt", srt("00:00:01,5 --> 00:00:02,500", "00:00:03,40 --> 00:00:04,0"), [(1.005, 2.5), (3.04, 4.0)],
         {"time_format": 2}),
        ("x.srt", srt("00:00:01,050 --> 00:00:02,5"), [(1.05, 2.5)], {"time_format": 1}),
        ("x.srt", srt("00:00:00,1000 --> 00:00:02,500"), [(1.0, 2.5)], {"time_format": 1}),
        ("x.srt", srt("0:00:01.250000 --> 0:00:02"), [(1.25, 2.0)], {"time_format": 1}),
        ("x.srt", srt("00:00:01,249.0999999999999 --> 00:00:02,500"), [(1.249, 2.5)], {"time_format": 1}),
        # Spaces, arrows and colons as translators and editors leave them.
        ("x.srt", srt("00:00:01, 000 --> 00:00:02,000"), [(1.0, 2.0)], {"time_format": 1}),
        ("x.srt", srt("00: 00: 01,000 -> 00: 00: 02,000"), [(1.0, 2.0)], {"time_format": 1}),
        ("x.srt", srt("00：00：01，000 ー＞ 00：00：02，000"), [(1.0, 2.0)], {"time_format": 1}),
        ("x.srt", srt("00:00:01,000-->00:00:02,000", "00:00:03:000 ---> 00:00:04:000"), [(1.0, 2.0), (3.0, 4.0)],
         {"time_format": 2}),
        ("x.srt", "1\n00:00:01,000 --> 00:00:02,000 Hi.\n", [(1.0, 2.0)], {}),
        ("x.srt", srt("00:00:59,500 --> 00:00:60,000"), [(59.5, 60.0)], {"time_format": 1}),
        ("x.vtt", "WEBVTT\n\n0:00:01,000 --> 0:00:02,000\nHi.\n", [(1.0, 2.0)], {"time_format": 1}),
        ("x.vtt", "00:01.000 --> 00:02.000\nHi.\n", [(1.0, 2.0)], {}),
        ("x.vtt", "WEBVTT\n00:01.000 --> 00:02.000\nHi.\n00:03.000 --> 00:04.000\nHi.\n", [(1.0, 2.0), (3.0, 4.0)], {}),
        # Times below 0, in reverse, and none: never to an earlier end than the file says.
        ("x.srt", srt("-00:00:01,000 --> 00:00:02,000"), [(0.0, 2.0)], {"negative_times": 1, "time_format": 1}),
        ("x.srt", srt("00:00:05,000 --> 00:00:04,000"), [(4.0, 5.0)], {"inverted_times": 1}),
        ("x.srt", srt("00:00:xx --> 00:00:04,000"), [(0.0, 4.0)], {"missing_times": 1, "time_format": 1}),
        ("x.json", segments((-0.02, 1), (4.0, 3.98)), [(0.0, 1.0), (3.98, 4.0)],
         {"negative_times": 1, "inverted_times": 1}),
        ("x.json", segments((1, 2), (None, None), (4, 5)), [(1.0, 2.0), (2.0, 4.0), (4.0, 5.0)], {"missing_times": 1}),
        ("x.json", segments(("1", "2"), (3, float("nan"))), [(1.0, 2.0), (3.0, 33.0)], {"missing_times": 1}),
        ("x.json", '{"transcription": [{"offsets": {"from": 1000, "to": 2500}, "text": "Hi.", "p": NaN}]}',
         [(1.0, 2.5)], {}),
        ("x.json", '{"chunks": [{"timestamp": [1.0, 2.5], "text": "Hi."}]}', [(1.0, 2.5)], {}),
        # Lines that cannot be read.
        ("x.srt", f"Subtitles\n{ONE}", [(1.0, 2.0)], {"left_out": 1}),
        ("x.srt", srt(TIMES, "00:09:00,000 --> 00:01:00,000"), [(1.0, 2.0)], {"left_out": 1}),
        ("x.srt", srt("-00:00:05,000 --> -00:00:04,000", TIMES), [(1.0, 2.0)], {"left_out": 1, "time_format": 1}),
        ("x.json", segments((1, 2), (None, None)), [(1.0, 2.0)], {"left_out": 1, "missing_times": 1}),
        # Control characters, and marks of direction that are left open.
        ("x.srt", f"1\n{TIMES}\nH\x01i\u202b.\n", [(1.0, 2.0)], {"characters": 1}),
    ],
)  # fmt: skip
def test_what_tools_write_beside_their_formats_is_read_and_counted(
    name: str, content: str, times: list[tuple[float, float]], repaired: dict[str, int], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    repairs = Repairs()
    rows = read_transcript(tmp_path / name, VideoId("v"), repairs=repairs)
    assert [(row.interval.start_s, row.interval.end_s) for row in rows] == times
    assert {row.text for row in rows} == {"Hi."}
    assert repairs.counts == repaired


@pytest.mark.parametrize(
    ("encoding", "text", "read"),
    [
        ("cp1252", "Voilà, « déjà vu » – l’été", True),
        ("cp1252", "Schöne Grüße", True),
        ("cp1252", "mañana, ¿no?", True),
        ("cp1252", "The café – naïve “señor”", True),
        ("utf-16-le", "Привет", True),
        ("utf-16-be", "plain", True),
        ("utf-32", "Привет", True),
        ("cp1250", "Dobrý večer, pane řediteli", False),
        ("cp1250", "Zażółć gęślą jaźń", False),
        ("cp1254", "Günaydın, nasılsınız, şöyle", False),
        ("cp1251", "Да.", False),
        ("cp1251", "Where is Привет", False),
        ("koi8-r", "Привет, мир", False),
        ("gbk", "hello 你好", False),
        ("shift-jis", "こんにちは", False),
        ("euc-kr", "안녕하세요", False),
        ("cp850", "Un été déjà", False),
        ("mac-roman", "Un été déjà", False),
        ("cp1253", "Καλημέρα", False),
    ],
)
def test_an_encoding_is_read_where_it_is_plain_and_else_refused(
    encoding: str, text: str, read: bool, tmp_path: Path
) -> None:
    path = tmp_path / "x.srt"
    content = f"1\n{TIMES}\n{text}\n".encode(encoding)
    if read:
        assert said(path, content) == [(1.0, 2.0, None, text)]
    else:
        with pytest.raises(InputError, match=r"not UTF-8: byte 0x.*x\.srt:3.*convert the file to UTF-8"):
            said(path, content)


def test_text_that_was_converted_twice_and_single_broken_bytes_are_read(tmp_path: Path) -> None:
    twice = "déjà vu".encode().decode("cp1252").encode()
    assert said(tmp_path / "x.srt", f"1\n{TIMES}\n".encode() + twice) == [(1.0, 2.0, None, "déjà vu")]
    # whisper.cpp cuts characters between segments (ggml-org/whisper.cpp#438).
    many = "".join(f"{n}\n00:00:{n:02d},000 --> 00:00:{n:02d},500\nПривет, мир\n\n" for n in range(10, 50)).encode()
    broken = many + b"50\n00:01:00,000 --> 00:01:01,000\n\x98\n\n51\n00:01:02,000 --> 00:01:03,000\nmir\xd0\n"
    assert [row[3] for row in said(tmp_path / "x.srt", broken)][-2:] == ["Привет, мир", "mir�"]


@pytest.mark.parametrize("name", ["x.vtt", "x.srt"])
def test_captions_of_youtube_say_every_line_once(name: str, tmp_path: Path) -> None:
    web = name == "x.vtt"
    head = "WEBVTT\nKind: captions\nLanguage: en\n\n" if web else ""
    first, second, third = (
        ("so<00:00:01.000><c> today</c>", "we<00:00:03.000><c> bake</c>", "a<00:00:05.000><c> cake</c>")
        if web
        else ("so today", "we bake", "a cake")
    )
    text = (
        f"{head}00:00:00.000 --> 00:00:02.000 align:start\n \n{first}\n\n"
        "00:00:02.000 --> 00:00:02.010 align:start\nso today\n \n\n"
        f"00:00:02.010 --> 00:00:04.000 align:start\nso today\n{second}\n\n"
        "00:00:04.000 --> 00:00:04.010 align:start\nwe bake\n \n\n"
        f"00:00:04.010 --> 00:00:06.000 align:start\nwe bake\n{third}\n"
    )
    expected = [(0.0, 2.0, None, "so today"), (2.01, 4.0, None, "we bake"), (4.01, 6.0, None, "a cake")]
    assert said(tmp_path / name, text) == expected


def test_segments_of_webvtt_that_were_joined_and_blank_lines_are_read(tmp_path: Path) -> None:
    text = (
        "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0\n\nid 1\n00:01.000 --> 00:02.000\n\nHello\nthere.\n\n"
        "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0\n\nid 2\n00:03.000 --> 00:04.000\nBye.\n"
    )
    assert said(tmp_path / "x.vtt", text) == [(1.0, 2.0, None, "Hello there."), (3.0, 4.0, None, "Bye.")]
    translated = "一\n00:00:01,000 --> 00:00:02,000\nHello\n\n二\n00:00:03,000 --> 00:00:04,000\nBye.\n"
    assert [row[3] for row in said(tmp_path / "x.srt", translated)] == ["Hello", "Bye."]
    doubled = "1\n\n00:00:01,000 --> 00:00:02,000\n\nHello\n\n\n2\n\n00:00:03,000 --> 00:00:04,000\n\n42\n"
    assert said(tmp_path / "x.srt", doubled) == [(1.0, 2.0, None, "Hello"), (3.0, 4.0, None, "42")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.srt", "1\n00:00:01:12 --> 00:00:02:10\nHi.\n", r"no times that can be read, got '00:00:01:12.*x\.srt:2"),
        ("x.srt", "", "it is empty"),
        ("x.srt", "<html>Not found</html>", "no line of times"),
        ("x.srt", b"\xff\xfea", "not UTF-16"),
        ("x.srt", f"1\n{TIMES}\n{'word ' * 2000}\n", r"9,999 characters at one time.*x\.srt:2"),
        ("x.srt", f"1\n{TIMES}\n{'word ' * 20000}\n", r"100,000 characters at one time.*x\.srt:2"),
        ("x.srt", f"{TIMES}\na\n" * 100_001, "100,001 utterances, and at most 100,000"),
        ("x.vtt", "WEBVTT\n\nHi there.\n", "no line of times"),
        ("x.vtt", f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v {'A' * 600}>Hi.\n", r"no name of a speaker.*x\.vtt:3"),
        ("x.json", '{"segments": [{"start": 0, "end": 2}]}', r"no times that can be read.*segments\[0\]"),
        ("x.json", '{"licence": "CC0-1.0"}', r"segments"),
        ("x.json", '{"segments": [', r"not JSON.*x\.json:1"),
    ],
)
def test_a_damaged_file_is_refused_with_its_place(
    name: str, content: str | bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        said(tmp_path / name, content)


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.srt"
    with path.open("wb") as stream:
        stream.truncate(LARGEST_BYTES + 1)
    with pytest.raises(InputError, match="longer than 32 MiB"):
        read_transcript(path, VideoId("v"))


@pytest.mark.parametrize("piece", ["<v.", "<v ", "<v  \t", "<a", "{\\a", "&#", "<00:00", " ", "&amp;"])
def test_no_text_takes_long_to_read(piece: str, tmp_path: Path) -> None:
    path = tmp_path / "x.vtt"
    path.write_text("WEBVTT\n\n" + f"00:01.000 --> 00:02.000\n{piece * (45_000 // len(piece))}\n\n" * 20)
    began_s = time.process_time()
    with contextlib.suppress(InputError):
        read_transcript(path, VideoId("v"))
    assert time.process_time() - began_s < 5


def beside(folder: Path, *names: str) -> list[tuple[str, str | None]]:
    for name in ("film.mp4", *names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("[]" if name.endswith(".json") else "x")
    [source] = find_videos([folder])[0]
    assert find_videos([folder / "film.mp4"])[0][0].transcripts == source.transcripts
    return [(Path(file.name).name, file.language) for file in source.transcripts]


def test_files_beside_a_video_are_found_by_its_name(tmp_path: Path) -> None:
    names = ("film.srt", "film.pt-BR.vtt", "film.mp4.srt", "film.whisper.json", "film.json", "film.en.whisper.json")
    others = ("film2.srt", "other.srt", "film.forced.srt", "film.txt", "sub/film.srt")
    assert sorted(beside(tmp_path, *names, *others)) == [
        ("film.en.whisper.json", "en"), ("film.json", None), ("film.mp4.srt", None), ("film.pt-BR.vtt", "pt-BR"),
        ("film.srt", None), ("film.whisper.json", None),
    ]  # fmt: skip


def test_json_that_describes_the_video_is_no_transcript_and_a_transcript_no_description(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_text("x")
    (tmp_path / "film.json").write_text('{"licence": "CC0-1.0"}')
    [source] = find_videos([tmp_path])[0]
    assert (source.sidecar, source.transcripts) == (tmp_path / "film.json", ())
    (tmp_path / "film.json").write_text('{"segments": []}')
    [source] = find_videos([tmp_path])[0]
    assert source.sidecar is None
    assert [file.path.name for file in source.transcripts] == ["film.json"]


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.srt").write_text("x")
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "film.mp4").write_text("x")
    (tmp_path / "raw" / "film.srt").symlink_to(tmp_path / "secret.srt")
    [source] = find_videos([tmp_path / "raw"])[0]
    assert "a link that leads out" in read_beside(source).left_out[0]
    with pytest.raises(InputError, match="a link that leads out"):
        read_beside(source, strict=True)


def chosen(language: str | None, *names: str) -> str | None:
    files = [TranscriptFile(Path(name), name, name.split(".")[1] if name.count(".") > 1 else None) for name in names]
    found = choose_transcript("film.mp4", files, language)
    return None if found is None else found.name


def test_the_wanted_language_is_taken_and_webvtt_first() -> None:
    assert chosen(None, "film.en.srt", "film.srt") == "film.srt"
    assert chosen(None, "film.json", "film.srt", "film.vtt") == "film.vtt"
    assert chosen(None, "film.en-US.vtt", "film.en.srt") == "film.en.srt"
    assert chosen("de", "film.de.srt", "film.en.vtt", "film.srt") == "film.de.srt"
    assert chosen("pt", "film.pt-BR.srt", "film.en.srt") == "film.pt-BR.srt"
    assert chosen("PT_br", "film.pt.srt", "film.pt-BR.srt") == "film.pt-BR.srt"
    assert chosen("fr", "film.en.srt", "film.srt") == "film.srt"
    assert chosen("fr", "film.en.srt") is None
    assert chosen("en", "film.eng.srt", "film.ger.srt") == "film.eng.srt"
    assert chosen("deu", "film.en.srt", "film.de.srt") == "film.de.srt"
    assert chosen(None, "film.eng.srt", "film.en.srt") == "film.en.srt"
    assert chosen(None) is None


def test_several_languages_need_a_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingError, match="several languages, de, en: choose one with --speech-language"):
        chosen(None, "film.de.srt", "film.en.srt")
    for name in ("film.mp4", "film.de.srt", "film.en.srt"):
        (tmp_path / name).write_text(ONE)
    [source] = find_videos([tmp_path])[0]
    assert "--speech-language" in read_beside(source).left_out[0]
    assert read_beside(source, language="de").left_out == ()


def test_files_that_are_not_read_are_named_by_their_ending(tmp_path: Path) -> None:
    for name in (
        "a.mp4",
        "a.f137.mp4",
        "b.f137.mp4",
        "b.info.json",
        "b.en.srt",
        "c.mp4.part",
        "d.apng",
        "e.txt",
        "f.txt",
    ):
        (tmp_path / name).write_text("{}" if name.endswith("json") else ONE)
    videos = find_videos([tmp_path])[0]
    assert [(video.id, video.sidecar is None, len(video.transcripts)) for video in videos] == [
        ("a", True, 0), ("b.f137", False, 1),
    ]  # fmt: skip
    assert skipped_files([tmp_path], videos) == (
        "1 .apng (pictures that move: convert them to .mp4): d.apng",
        "1 .mp4: a.f137.mp4",
        "1 .part (unfinished downloads): c.mp4.part",
        "2 .txt: e.txt, f.txt",
    )


def test_links_that_lead_nowhere_or_out_are_named(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "a.mp4").symlink_to("not-brought-yet.mp4")
    (raw / "linked").symlink_to(tmp_path)
    videos, rejected = find_videos([raw])
    assert (videos, [(row.record_id, row.reason) for row in rejected]) == ([], [("a", "it is a link to nothing")])
    assert skipped_files([raw], videos) == (
        f"1 not read, as a link that leads out of the folder, to {tmp_path}: linked",
    )


def test_times_that_begin_at_a_full_hour_are_read_from_0_if_all_lie_in_the_video_then(tmp_path: Path) -> None:
    path = tmp_path / "x.srt"
    path.write_text(srt("01:00:01,000 --> 01:00:02,000", "01:00:03,000 --> 01:00:04,000"))
    opened = open_transcript("x", VideoId("v"), [TranscriptFile(path, "x.srt")], None)
    assert opened is not None
    rows, late = speech_of(opened, VideoId("v"), 6.0)
    assert ([(row.interval.start_s, row.interval.end_s) for row in rows], late) == ([(1.0, 2.0), (3.0, 4.0)], 0)
    assert speech_of(opened, VideoId("v"), 3.5) == ([], 2)
    assert speech_of(opened, VideoId("v"), 3602.5)[1] == 1
