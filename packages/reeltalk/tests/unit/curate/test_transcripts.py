"""What is said in a video comes from the file beside it as it is written there, or the file is refused."""

import contextlib
import json
import time
from pathlib import Path

import pytest

from reeltalk.attach.sources import find_videos
from reeltalk.attach.transcripts import LARGEST_BYTES, TranscriptFile, choose_transcript, read_transcript
from reeltalk.cli import run
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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.srt", f"1\n{TIMES}\nHi.\n\n2\n00:00:05,000 --> 00:00:04,000\nBye.\n", r"ends before it begins.*x\.srt:6"),
        ("x.srt", "1\n-00:00:01,000 --> 00:00:02,000\nHi.\n", r"not a pair of times.*x\.srt:2"),
        ("x.srt", f"1\n{TIMES}\nHi.\n\n2\n00:00:xx --> 00:00:04,000\n", r"not a pair of times.*x\.srt:6"),
        ("x.srt", "1\n00:61:00,000 --> 00:62:00,000\nHi.\n", r"not a pair of times.*x\.srt:2"),
        ("x.srt", f"Subtitles\n1\n{TIMES}\nHi.\n", r"text before the first times.*x\.srt:1"),
        ("x.srt", "", "no line of times"),
        ("x.srt", b"1\n00:00:01,000 --> 00:00:02,000\ncaf\xe9\n", r"not UTF-8: byte 0xe9.*x\.srt:3"),
        ("x.srt", b"\xff\xfea", "not UTF-16"),
        ("x.srt", f"1\n{TIMES}\na\x00b\n", r"control character U\+0000.*x\.srt:3"),
        ("x.srt", f"1\n{TIMES}\n{'word ' * 2000}\n", r"9,999 characters at one time.*x\.srt:2"),
        ("x.srt", f"1\n{TIMES}\n{'word ' * 20000}\n", r"100,000 characters at one time.*x\.srt:2"),
        ("x.srt", f"{TIMES}\na\n" * 100_001, "100,001 utterances, and at most 100,000"),
        ("x.vtt", f"1\n{TIMES}\nHi.\n", r"the first line of WebVTT.*x\.vtt:1"),
        ("x.vtt", "WEBVTT\n00:01.000 --> 00:02.000\nHi.\n", r"times in the header.*x\.vtt:2"),
        ("x.vtt", "WEBVTT\n\nHi there.\n", r"text without times.*x\.vtt:3"),
        ("x.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nHi.\n00:03.000 --> 00:04.000\n", r"inside another cue.*x\.vtt:5"),
        ("x.vtt", f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v {'A' * 600}>Hi.\n", r"no name of a speaker.*x\.vtt:3"),
        ("x.json", '{"segments": [{"start": -1, "end": 2, "text": "a"}]}', r"segments\[0\]\.start"),
        ("x.json", '{"segments": [{"start": 3, "end": 2, "text": "a"}]}', r"ends before it begins.*\$\.segments\[0\]"),
        ("x.json", '{"segments": [{"start": "0", "end": 2, "text": "a"}]}', r"segments\[0\]\.start"),
        ("x.json", '{"segments": [{"start": NaN, "end": 2, "text": "a"}]}', "NaN"),
        ("x.json", '{"segments": [{"start": 0, "end": 2}]}', r"segments\[0\]\.text"),
        ("x.json", '{"licence": "CC0-1.0"}', r"segments"),
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
    with pytest.raises(InputError, match="a link that leads out"):
        find_videos([tmp_path / "raw"])


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
    assert chosen(None) is None


def test_several_languages_need_a_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingError, match="several languages, de, en: choose one with --speech-language"):
        chosen(None, "film.de.srt", "film.en.srt")
    for name in ("film.mp4", "film.de.srt", "film.en.srt"):
        (tmp_path / name).write_text(f"1\n{TIMES}\nHi.\n")
    assert run(["curate", str(tmp_path), "--into", str(tmp_path / "bench"), "--workers", "1"]) == 2
    assert "--speech-language" in "".join(capsys.readouterr())
