"""Files beside films as people have them: subtitles, captions, transcripts, metadata, annotations, pictures, rubbish.

Each has the name of a film of its own (`film`), six seconds long and of 25 pictures a second. What is said is given
once for each line, in the order of time. `python -m corpus.sidefiles FOLDER`, in `tests`, writes them all.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import av

from corpus.entry import Cue, SideFile
from corpus.filming import jpeg
from corpus.light import frame
from corpus.pattern import paint

FILM_SECONDS: Final = 6.0
"""How long the film is that each of these belongs to."""

SRT: Final = "https://wiki.videolan.org/SubRip/"
WEBVTT: Final = "https://www.w3.org/TR/webvtt1/"
TTML: Final = "https://www.w3.org/TR/ttml1/"
WHISPER: Final = "https://github.com/openai/whisper/blob/main/whisper/utils.py"
WHISPER_CPP: Final = "https://github.com/ggml-org/whisper.cpp/blob/master/examples/cli/cli.cpp"
YT_DLP: Final = "https://github.com/yt-dlp/yt-dlp"

TWO: Final = (Cue(1.0, 2.5, "The kettle is on."), Cue(3.0, 4.5, "Two cups, please."))
"""What most of these say."""
TWO_SRT: Final = """\
1
00:00:01,000 --> 00:00:02,500
The kettle is on.

2
00:00:03,000 --> 00:00:04,500
Two cups, please.

"""


def said(
    name: str, text: str | bytes, cues: Sequence[Cue], tool: str, source: str, special: str, **more: Any
) -> SideFile:
    """Subtitles, captions or a transcript with times."""
    content = text.encode() if isinstance(text, str) else text
    known = {"kind": "subtitles", "cues": tuple(cues)} | more
    return SideFile(name=name, content=content, tool=tool, source=source, special=special, **known)


def about(
    name: str, content: object, facts: dict[str, object], tool: str, source: str, special: str, **more: Any
) -> SideFile:
    """Metadata, as JSON or as they stand."""
    coded = content.encode() if isinstance(content, str) else json.dumps(content).encode()
    known = {"kind": "metadata", "facts": tuple(facts.items())} | more
    return SideFile(name=name, content=coded, tool=tool, source=source, special=special, **known)


def beside(name: str, content: bytes, tool: str, source: str, special: str, **more: Any) -> SideFile:
    """What lies in the same folder and says nothing of the film's contents."""
    known = {"kind": "rubbish", "verdict": "ignore"} | more
    return SideFile(name=name, content=content, tool=tool, source=source, special=special, **known)


def webp() -> bytes:
    """A thumbnail as YouTube serves it."""
    encoder = av.CodecContext.create("libwebp", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = 64, 48, "yuv420p"
    picture = frame(paint(1022, 64, 48), "yuv420p")
    coded = [*encoder.encode(picture), *encoder.encode(None)]
    return b"".join(bytes(packet) for packet in coded)


YOUTUBE_LINES: Final = (Cue(0.48, 2.47, "hello and welcome back"), Cue(2.48, 4.35, "today we cook rice"))
ROLLING_ENDS: Final = (
    "Each line once, from its first cue; a line ends where its cue of 10 ms begins, or where it leaves the screen, "
    "which is later."
)

YOUTUBE: Final = (
    said(
        "youtube_auto.en.vtt",
        """\
WEBVTT
Kind: captions
Language: en

00:00:00.480 --> 00:00:02.470 align:start position:0%
\x20
hello<00:00:00.840><c> and</c><00:00:01.080><c> welcome</c><00:00:01.560><c> back</c>

00:00:02.470 --> 00:00:02.480 align:start position:0%
hello and welcome back
\x20

00:00:02.480 --> 00:00:04.350 align:start position:0%
hello and welcome back
today<00:00:02.760><c> we</c><00:00:02.919><c> cook</c><00:00:03.399><c> rice</c>

00:00:04.350 --> 00:00:04.360 align:start position:0%
today we cook rice
\x20
""",
        YOUTUBE_LINES,
        "yt-dlp 2024 --write-auto-subs",
        "https://github.com/ytdl-org/youtube-dl/issues/21914; https://github.com/yt-dlp/yt-dlp/issues/1734",
        "Rolling lines: each is said twice or thrice, with tags for each word, and lines of one blank.",
        judgement=ROLLING_ENDS,
    ),
    said(
        "youtube_auto.en.srt",
        """\
1
00:00:00,480 --> 00:00:02,470
\x20
hello and welcome back

2
00:00:02,470 --> 00:00:02,480
hello and welcome back
\x20

3
00:00:02,480 --> 00:00:04,350
hello and welcome back
today we cook rice

4
00:00:04,350 --> 00:00:04,360
today we cook rice
\x20

""",
        YOUTUBE_LINES,
        "yt-dlp 2024 --write-auto-subs --convert-subs srt",
        "https://github.com/yt-dlp/yt-dlp/issues/3589; https://github.com/shepherdjerred/monorepo/pull/1275",
        "The same after conversion by ffmpeg: the tags are gone, the doubled lines are not.",
        judgement=ROLLING_ENDS,
    ),
    said(
        "youtube_auto.en.json3",
        json.dumps(
            {
                "wireMagic": "pb3",
                "pens": [{}],
                "wsWinStyles": [{}, {"mhModeHint": 2, "juJustifCode": 0, "sdScrollDir": 3}],
                "wpWinPositions": [{}, {"apPoint": 6, "ahHorPos": 20, "avVerPos": 100, "rcRows": 2, "ccCols": 40}],
                "events": [
                    {"tStartMs": 0, "dDurationMs": 6000, "id": 1, "wpWinPosId": 1, "wsWinStyleId": 1},
                    {
                        "tStartMs": 480,
                        "dDurationMs": 3870,
                        "wWinId": 1,
                        "segs": [
                            {"utf8": "hello", "acAsrConf": 252},
                            {"utf8": " and", "tOffsetMs": 360, "acAsrConf": 252},
                            {"utf8": " welcome", "tOffsetMs": 600, "acAsrConf": 252},
                            {"utf8": " back", "tOffsetMs": 1080, "acAsrConf": 166},
                        ],
                    },
                    {"tStartMs": 2470, "dDurationMs": 1880, "wWinId": 1, "aAppend": 1, "segs": [{"utf8": "\n"}]},
                    {
                        "tStartMs": 2480,
                        "dDurationMs": 3520,
                        "wWinId": 1,
                        "segs": [
                            {"utf8": "today"},
                            {"utf8": " we", "tOffsetMs": 280},
                            {"utf8": " cook", "tOffsetMs": 439},
                            {"utf8": " rice", "tOffsetMs": 919},
                        ],
                    },
                ],
            }
        ),
        (Cue(0.48, 4.35, "hello and welcome back"), Cue(2.48, 6.0, "today we cook rice")),
        "yt-dlp --write-auto-subs --sub-format json3",
        "https://github.com/pytube/pytube/pull/1438",
        "Words with offsets, an event without text, and events that append a line break.",
        judgement="Ends are those of the events, which overlap, since the window holds two lines.",
    ),
    said(
        "youtube_manual.en.json3",
        json.dumps(
            {
                "wireMagic": "pb3",
                "pens": [{}],
                "wsWinStyles": [{}],
                "wpWinPositions": [{}],
                "events": [
                    {"tStartMs": 1000, "dDurationMs": 1500, "segs": [{"utf8": "The kettle is on."}]},
                    {"tStartMs": 3000, "dDurationMs": 1500, "segs": [{"utf8": "Two cups,\nplease."}]},
                ],
            }
        ),
        TWO,
        "yt-dlp --write-subs --sub-format json3",
        "https://github.com/anxdpanic/plugin.video.youtube/pull/227",
        "Captions by hand in the same format: no words, no window.",
    ),
    said(
        "youtube_auto.en.srv3",
        '<?xml version="1.0" encoding="utf-8" ?><timedtext format="3">\n<head>\n<ws id="0"/>\n'
        '<ws id="1" mh="2" ju="0" sd="3"/>\n<wp id="0"/>\n<wp id="1" ap="6" ah="20" av="100" rc="2" '
        'cc="40"/>\n</head>\n'
        '<body>\n<w t="0" id="1" wp="1" ws="1"/>\n<p t="480" d="3870" w="1"><s ac="252">hello</s><s t="360" '
        'ac="252"> and'
        '</s><s t="600" ac="252"> welcome</s><s t="1080" ac="166"> back</s></p>\n<p t="2470" d="1880" w="1" '
        'a="1">\n</p>\n'
        '<p t="2480" d="3520" w="1"><s>today</s><s t="280"> we</s><s t="439"> cook</s><s t="919"> rice</s></p>\n'
        "</body>\n</timedtext>\n",
        (Cue(0.48, 4.35, "hello and welcome back"), Cue(2.48, 6.0, "today we cook rice")),
        "yt-dlp --write-auto-subs --sub-format srv3",
        "https://github.com/arcusmaximus/YTSubConverter/issues/7; "
        "https://github.com/anxdpanic/plugin.video.youtube/pull/227",
        "The same as XML.",
        judgement="Ends are those of the paragraphs, which overlap.",
    ),
    said(
        "youtube_manual.en.srv1",
        '<?xml version="1.0" encoding="utf-8" ?><transcript><text start="1" dur="1.5">The kettle is on.</text>'
        '<text start="3" dur="1.5">Two cups, please.</text></transcript>',
        TWO,
        "yt-dlp --sub-format srv1; youtube-transcript-api 0.6 reads it",
        "https://github.com/anxdpanic/plugin.video.youtube/pull/227",
        "XML of start and duration in seconds.",
    ),
    said(
        "youtube_manual.en.vtt",
        """\
WEBVTT
Kind: captions
Language: en-GB

00:00:01.000 --> 00:00:02.500
The kettle is on.

00:00:03.000 --> 00:00:04.500
Two cups,
please.

""",
        TWO,
        "yt-dlp --write-subs",
        "https://github.com/gsantiago/subtitle.js/pull/32",
        "Headers of kind and language below the first line, and a cue of two lines.",
    ),
    said(
        "youtube_speakers.en.vtt",
        """\
WEBVTT
Kind: captions
Language: en

00:00:01.000 --> 00:00:02.500
&gt;&gt; The kettle is on.

00:00:03.000 --> 00:00:04.500
[Music] &gt;&gt; Two cups, please.

""",
        (Cue(1.0, 2.5, ">> The kettle is on."), Cue(3.0, 4.5, "[Music] >> Two cups, please.")),
        "yt-dlp 2025.09 --write-auto-subs",
        "https://github.com/yt-dlp/yt-dlp/issues/14530",
        "Signs for a change of speaker, as entities, and notes of sounds.",
        judgement="Text as written, entities resolved; leaving out the signs and notes is a choice of the reader.",
    ),
    said(
        "youtube_copied_transcript.txt",
        "0:01\nThe kettle is on.\n0:03\nTwo cups, please.\n",
        (Cue(1.0, None, "The kettle is on."), Cue(3.0, None, "Two cups, please.")),
        "copied by hand from YouTube's panel of the transcript",
        "https://support.google.com/youtube/answer/100078",
        "Times of start on lines of their own, no ends.",
        kind="transcript",
        judgement="Ends follow from the next start, and the end of the film.",
    ),
    said(
        "youtube_copied_panel.txt",
        "Transcript\nSearch in video\n0:01\n1 second\nThe kettle is on.\n0:03\n3 seconds\nTwo cups, please.\n",
        (Cue(1.0, None, "The kettle is on."), Cue(3.0, None, "Two cups, please.")),
        "copied by hand from YouTube's panel of 2025, with what screen readers are told",
        "https://support.google.com/youtube/answer/100078; tests of @content-machine/core",
        "Headings of the panel, and each time in words too.",
        kind="transcript",
        judgement="The headings and the times in words are not said; taking all for text without times is defensible.",
    ),
    said(
        "youtube_upload.sbv",
        "0:00:01.000,0:00:02.500\nThe kettle is on.\n\n0:00:03.000,0:00:04.500\nTwo cups, please.\n\n",
        TWO,
        "YouTube Studio (download), Google Meet",
        "https://github.com/Red5goahead/VisualSubSync-Enhanced/issues/15",
        "SBV: start and end parted by a comma, no numbers.",
    ),
)

WHISPER_SEGMENTS: Final[list[dict[str, Any]]] = [
    {
        "id": 0,
        "seek": 0,
        "start": 1.0,
        "end": 2.5,
        "text": " The kettle is on.",
        "tokens": [50364, 440, 23996, 307, 322, 13, 50439],
        "temperature": 0.0,
        "avg_logprob": -0.3196,
        "compression_ratio": 0.91,
        "no_speech_prob": 0.0756,
    },
    {
        "id": 1,
        "seek": 0,
        "start": 3.0,
        "end": 4.5,
        "text": " Two cups, please.",
        "tokens": [50514, 4453, 13381, 11, 1767, 13, 50589],
        "temperature": 0.0,
        "avg_logprob": -0.3196,
        "compression_ratio": 0.91,
        "no_speech_prob": 0.0756,
    },
]
WHISPER_RESULT: Final[dict[str, Any]] = {
    "text": " The kettle is on. Two cups, please.",
    "segments": WHISPER_SEGMENTS,
    "language": "en",
}


def with_words(*words: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Segments with their words."""
    return {"segments": [segment | {"words": list(own)} for segment, own in zip(WHISPER_SEGMENTS, words, strict=True)]}


SPEECH: Final = (
    said("whisper.srt", TWO_SRT, TWO, "openai-whisper 20231117, --output_format srt", WHISPER, "SRT as it should be."),
    said(
        "whisper.vtt",
        "WEBVTT\n\n00:01.000 --> 00:02.500\nThe kettle is on.\n\n00:03.000 --> 00:04.500\nTwo cups, please.\n\n",
        TWO,
        "openai-whisper 20231117, --output_format vtt",
        WHISPER,
        "Times without hours.",
    ),
    said(
        "whisper.tsv",
        "start\tend\ttext\n1000\t2500\tThe kettle is on.\n3000\t4500\tTwo cups, please.\n",
        TWO,
        "openai-whisper 20231117, --output_format tsv",
        "https://github.com/openai/whisper/pull/228",
        "Whole milliseconds, in three columns.",
        kind="transcript",
    ),
    said(
        "whisper.json",
        json.dumps(WHISPER_RESULT),
        TWO,
        "openai-whisper 20231117, --output_format json",
        WHISPER,
        "Segments in seconds, each text after a blank.",
        kind="transcript",
    ),
    said(
        "openai_words.json",
        json.dumps(
            {
                "task": "transcribe",
                "language": "english",
                "duration": 6.0,
                "text": "Kettle on.",
                "words": [
                    {"word": "Kettle", "start": 1.0, "end": 1.5},
                    {"word": "on.", "start": 1.6, "end": 2.5},
                ],
            }
        ),
        (Cue(1.0, 1.5, "Kettle"), Cue(1.6, 2.5, "on.")),
        "OpenAI's service, verbose_json with timestamp_granularities=word",
        "https://github.com/openai/openai-python/blob/main/src/openai/types/audio/transcription_verbose.py",
        "Words alone, without segments.",
        kind="transcript",
    ),
    said(
        "transcript_api.json",
        json.dumps(
            [
                {"text": "The kettle is on.", "start": 1.0, "duration": 1.5},
                {"text": "Two cups, please.", "start": 3.0, "duration": 1.5},
            ]
        ),
        TWO,
        "youtube-transcript-api 0.6 and 1.x",
        "https://github.com/jdepoix/youtube-transcript-api/blob/master/youtube_transcript_api/_transcripts.py",
        "Lengths in place of ends.",
        kind="transcript",
    ),
    said(
        "clock_segments.json",
        json.dumps(
            {
                "segments": [
                    {"start": "00:00:01.000", "end": "00:00:02.500", "text": "The kettle is on."},
                    {"start": "00:00:03.000", "end": "00:00:04.500", "text": "Two cups, please."},
                ]
            }
        ),
        TWO,
        "scripts and language models that write transcripts as JSON",
        "https://github.com/m-bain/whisperX/issues/349 (such segments; the clock in no public thread)",
        "Moments as a clock shows them.",
        kind="transcript",
    ),
    said(
        "whisper.txt",
        "The kettle is on.\nTwo cups, please.\n",
        (Cue(None, None, "The kettle is on."), Cue(None, None, "Two cups, please.")),
        "openai-whisper 20231117, --output_format txt",
        WHISPER,
        "Lines without times.",
        kind="transcript",
        judgement="Known to be said, but not when; not to be spread over the film as if it were.",
    ),
    said(
        "whisper_numpy.json",
        json.dumps(
            {**WHISPER_RESULT, "segments": [{**each, "avg_logprob": float("nan")} for each in WHISPER_SEGMENTS]}
        ),
        TWO,
        "openai-whisper, whisperX: json.dump of what is no number",
        "https://github.com/tmoroney/auto-subs/issues/213; https://github.com/Nyralei/whisperx-api-server/issues/36",
        "NaN, which is no JSON but is what Python writes; here in a field that nobody needs.",
        kind="transcript",
    ),
    said(
        "whisper_nan_times.json",
        json.dumps({**WHISPER_RESULT, "segments": [WHISPER_SEGMENTS[0], {**WHISPER_SEGMENTS[1], "end": float("nan")}]}),
        (Cue(1.0, 2.5, "The kettle is on."), Cue(3.0, None, "Two cups, please.")),
        "whisperX alignment that failed, written by json.dump",
        "https://github.com/tmoroney/auto-subs/issues/210",
        "NaN as a time.",
        kind="transcript",
        verdict="repair",
        judgement="A segment without an end: until the next one, or the end of the film; leaving it out, with a "
        "word, is defensible.",
    ),
    said(
        "whisper_negative.json",
        json.dumps({**WHISPER_RESULT, "segments": [{**WHISPER_SEGMENTS[0], "start": -0.02}, WHISPER_SEGMENTS[1]]}),
        (Cue(0.0, 2.5, "The kettle is on."), TWO[1]),
        "whisper forks that pad words: whisper-timestamped, stable-ts, faster-whisper with padding",
        "https://github.com/kaltura/nginx-vod-module/pull/805 (the same in SRT; in JSON in no public thread)",
        "Starts 0.02 s before the film.",
        kind="transcript",
        verdict="repair",
        judgement="What starts shortly before zero starts at zero.",
    ),
    said(
        "whisper_inverted.srt",
        """\
1
00:00:01,000 --> 00:00:02,500
The kettle is on.

2
00:00:02,500 --> 00:01:49,790
 kur. [Music]

3
00:01:49,790 --> 00:00:04,500
Two cups, please.

""",
        (Cue(1.0, 2.5, "The kettle is on."), Cue(2.5, None, "kur. [Music]"), Cue(None, 4.5, "Two cups, please.")),
        "whisper.cpp 1.2, -ml 78 -osrt",
        "https://github.com/ggml-org/whisper.cpp/issues/466; https://github.com/openai/whisper/pull/831",
        "An end far too late, and a cue that ends before it starts.",
        verdict="repair",
        judgement="The wrong stamp is the one that stands alone: 1:49.79. Leaving the inverted cue out, with a word, "
        "is defensible; swapping its ends is not.",
    ),
    said(
        "whispercpp.json",
        json.dumps(
            {
                "systeminfo": "AVX = 1 | AVX2 = 1",
                "model": {"type": "base", "multilingual": False},
                "params": {"model": "ggml-base.en.bin", "language": "en", "translate": False},
                "result": {"language": "en"},
                "transcription": [
                    {
                        "timestamps": {"from": "00:00:01,000", "to": "00:00:02,500"},
                        "offsets": {"from": 1000, "to": 2500},
                        "text": " The kettle is on.",
                    },
                    {
                        "timestamps": {"from": "00:00:03,000", "to": "00:00:04,500"},
                        "offsets": {"from": 3000, "to": 4500},
                        "text": " Two cups, please.",
                    },
                ],
            }
        ),
        TWO,
        "whisper.cpp 1.7, whisper-cli -oj",
        "https://github.com/ggml-org/whisper.cpp/issues/3623",
        "A list `transcription` with offsets in milliseconds.",
        kind="transcript",
    ),
    said(
        "whispercpp.csv",
        'start,end,text\n1000,2500," The kettle is on."\n3000,4500," Two cups, please."\n',
        TWO,
        "whisper.cpp 1.7, -ocsv",
        "https://github.com/ggml-org/whisper.cpp/pull/340",
        "Whole milliseconds, and text in quotes after a blank.",
        kind="transcript",
    ),
    said(
        "whispercpp.lrc",
        "[by:whisper.cpp]\n[00:01.00] The kettle is on.\n[00:03.00] Two cups, please.\n",
        (Cue(1.0, 3.0, "The kettle is on."), Cue(3.0, None, "Two cups, please.")),
        "whisper.cpp 1.7, -olrc",
        WHISPER_CPP,
        "Lyrics: starts in hundredths, no ends.",
        judgement="A line lasts until the next one; the last until the end of the film.",
    ),
    said(
        "whisperx.json",
        json.dumps(
            with_words(
                [
                    {"word": "The", "start": 1.0, "end": 1.2, "score": 0.9},
                    {"word": "kettle", "start": 1.3, "end": 1.8, "score": 0.8},
                    {"word": "is", "start": 1.9, "end": 2.0, "score": 0.9},
                    {"word": "on.", "start": 2.1, "end": 2.5, "score": 0.7},
                ],
                [{"word": "Two", "start": 3.0, "end": 3.3, "score": 0.7}, {"word": "cups,"}, {"word": "please."}],
            )
            | {"word_segments": [], "language": "en"}
        ),
        TWO,
        "whisperX 3.1.1, --output_format json",
        "https://github.com/m-bain/whisperX/issues/717; https://github.com/m-bain/whisperX/issues/1115",
        "Words that could not be aligned have no times.",
        kind="transcript",
    ),
    said(
        "insanely_fast_whisper.json",
        json.dumps(
            {
                "speakers": [],
                "chunks": [
                    {"timestamp": [1.0, 2.5], "text": " The kettle is on."},
                    {"timestamp": [3.0, None], "text": " Two cups, please."},
                ],
                "text": " The kettle is on. Two cups, please.",
            }
        ),
        (TWO[0], Cue(3.0, None, "Two cups, please.")),
        "insanely-fast-whisper 0.0.15; transformers' pipeline with return_timestamps",
        "https://github.com/Vaibhavs10/insanely-fast-whisper/pull/232; "
        "https://github.com/huggingface/transformers/issues/31778",
        "Pairs of times, the last end null.",
        kind="transcript",
        judgement="A last end that is null is the end of the film.",
    ),
    said(
        "faster_whisper_xxl.txt",
        "[00:01.000 --> 00:02.500]  The kettle is on.\n[00:03.000 --> 00:04.500]  Two cups, please.\n",
        TWO,
        "whisper-standalone-win (Faster-Whisper-XXL) r192, --output_format txt",
        "https://github.com/Purfview/whisper-standalone-win/issues/309",
        "A text file with times in brackets before each line.",
        kind="transcript",
    ),
    said(
        "whisper_webui.vtt",
        "WebVTT\n1\n00:00:01.000 --> 00:00:02.500\nThe kettle is on.\n2\n00:00:03.000 --> 00:00:04.500\nTwo cups, "
        "please.\n",
        TWO,
        "Whisper-WebUI, October 2024",
        "https://github.com/jhj0517/Whisper-WebUI/issues/359",
        "The first line in small letters, numbers as in SRT, and no blank lines.",
        verdict="repair",
        judgement="A browser shows nothing of it; all is there.",
    ),
    said(
        "whishper_commas.vtt",
        "WEBVTT\n\n1\n00:00:01,000 --> 00:00:02,500\n- The kettle is on.\n\n2\n00:00:03,000 --> 00:00:04,500\n- Two "
        "cups, please.\n\n",
        (Cue(1.0, 2.5, "- The kettle is on."), Cue(3.0, 4.5, "- Two cups, please.")),
        "whishper 3.1",
        "https://github.com/pluja/whishper/issues/81; https://github.com/pepri/subtitles-editor/issues/7",
        "WebVTT with the commas of SRT.",
        verdict="repair",
        judgement="Text as written; a dash before a line may as well be taken off.",
    ),
)

STAMPS: Final = (
    said(
        "thousand_milliseconds.srt",
        TWO_SRT.replace("00:00:02,500", "00:00:02,1000"),
        (Cue(1.0, 3.0, "The kettle is on."), TWO[1]),
        "home-made converters, mantas-done/subtitles before 2024",
        "https://github.com/mantas-done/subtitles/issues/88",
        "Four digits of milliseconds: ,1000.",
        verdict="repair",
        judgement="1000 ms are a second, from rounding .9996; a reader that takes a tenth of them has 2.1 s.",
    ),
    said(
        "one_digit_fields.srt",
        "1\n0:0:1,0 --> 0:0:2,5\nThe kettle is on.\n\n2\n0:0:3,0 --> 0:0:4,5\nTwo cups, please.\n",
        TWO,
        "web exports",
        "https://github.com/vidstack/captions/issues/8; https://github.com/cdown/srt/issues/55; "
        "https://github.com/SubtitleEdit/subtitleedit/issues/2191",
        "One digit everywhere: ,5 is half a second.",
        verdict="repair",
        judgement=",5 as a decimal fraction, as ffmpeg and the reporter have it; a reader that counts milliseconds "
        "has 2.005 s.",
    ),
    said(
        "two_digit_fraction.srt",
        "1\n00:00:01,00 --> 00:00:02,50\nThe kettle is on.\n\n2\n00:00:03,00 --> 00:00:04,50\nTwo cups, please.\n",
        TWO,
        "video-subtitle-extractor 1.x, pysubs2's test file",
        "https://github.com/YaoFANGUK/video-subtitle-extractor/issues/151; "
        "https://github.com/tkarabela/pysubs2/issues/11",
        "Two digits after the comma.",
        verdict="repair",
        judgement="Hundredths: ,50 is half a second.",
    ),
    said(
        "blank_after_comma.srt",
        "1\n00:00:01, 000 --> 00:00:02, 500\nThe kettle is on.\n\n2\n00:00:03, 000 --> 00:00:04, 500\nTwo cups, "
        "please.\n",
        TWO,
        "machine translation of SRT files (Google Translate, DeepL by hand)",
        "https://github.com/Dadangdut33/Speech-Translate/pull/20 (numbers harmed so; the blank in no public thread)",
        "A blank after each comma, as translators put it.",
        verdict="repair",
    ),
    said(
        "fenced.srt",
        f"```srt\n{TWO_SRT.rstrip()}\n```\n",
        TWO,
        "language models that translate an SRT file",
        "https://github.com/LibreTranslate/LibreTranslate/issues/758 (harmed so; the marks in no public thread)",
        "Between two lines of three marks, as in Markdown.",
        verdict="repair",
    ),
    said(
        "marks_before_times.srt",
        TWO_SRT.replace("00:00:01", "\u200e00:00:01").replace("00:00:03", "\u202a00:00:03"),
        TWO,
        "faster-whisper; editors of Arabic and Hebrew subtitles",
        "https://github.com/TypesettingTools/Aegisub/issues/614",
        "An invisible mark of direction before the times.",
        verdict="repair",
    ),
    said(
        "microdvd_tags.srt",
        TWO_SRT.replace("The kettle", "{y:i}The kettle").replace("Two", "{c:$0000ff}Two"),
        TWO,
        "converters from MicroDVD",
        "https://github.com/tkarabela/pysubs2/blob/master/pysubs2/formats/microdvd.py",
        "Tags of MicroDVD stand before the text.",
        verdict="repair",
    ),
    said(
        "jellyfin.en.hi.srt",
        TWO_SRT,
        TWO,
        "Bazarr, Subliminal, Jellyfin",
        "https://github.com/johnpc/subsyncarr/issues/2",
        "For people who are hard of hearing: hi stands behind the language.",
    ),
    said(
        "translated_numbers.srt",
        "1个\n00:00:01,000 --> 00:00:02,500\n水壶开了。\n\n二\n00:00:03,000 --> 00:00:04,500\n请给两杯。\n",
        (Cue(1.0, 2.5, "水壶开了。"), Cue(3.0, 4.5, "请给两杯。")),
        "machine translation of SRT files as wholes (Speech-Translate before 2023-03)",
        "https://github.com/Dadangdut33/Speech-Translate/pull/20",
        "The numbers of cues are translated too.",
        verdict="repair",
    ),
    said(
        "dots_in_srt.srt",
        TWO_SRT.replace(",000", ".000").replace(",500", ".500"),
        TWO,
        "openai-whisper of 2022, subtitleeditor files",
        "https://github.com/subtitleeditor/subtitleeditor/issues/58; openai/whisper whisper/utils.py of September 2022",
        "Dots in place of commas.",
    ),
    said(
        "no_fraction.srt",
        "0\n00:00:01 --> 00:00:02,5\nThe kettle is on.\n\n1\n00:00:03 --> 00:00:04,5\nTwo cups, please.\n",
        TWO,
        "ccsubs.com, mediaelement.js' sample",
        "https://github.com/cpetersen/srt/issues/24; https://github.com/AlexPoint/SubtitlesParser/issues/5",
        "Whole seconds without a comma, and numbers from 0.",
        verdict="repair",
    ),
    said(
        "one_digit_hours.srt",
        TWO_SRT.replace("00:00:", "0:00:"),
        TWO,
        "LRC and ASS converters",
        "https://github.com/ripose-jp/Memento/issues/68",
        "Hours of one digit.",
    ),
    said(
        "negative_first.srt",
        "1\n-00:00:00,600 --> 00:00:00,800\nA breath.\n\n"
        + TWO_SRT.replace("2\n00:00:03", "3\n00:00:03").replace("1\n00:00:01", "2\n00:00:01", 1),
        (Cue(0.0, 0.8, "A breath."), *TWO),
        "subtitles shifted by mpv, Subtitle Edit or sed",
        "https://github.com/kaltura/nginx-vod-module/pull/805",
        "The first cue starts before the film.",
        verdict="repair",
    ),
    said(
        "arabic_digits.srt",
        TWO_SRT.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")),
        TWO,
        "Android and Java programs that format by the phone's own language",
        "https://github.com/tony19/logback-android/issues/87; https://github.com/lysine-dev/okhttp/issues/2522",
        "All digits are those of Arabic.",
        verdict="repair",
    ),
    said(
        "resolve_hour.srt",
        "1\n01:00:01,000 --> 01:00:02,500\n<b>The kettle is on.</b>\n\n2\n01:00:03,000 --> 01:00:04,500\n<b>Two "
        "cups, please.</b>\n\n",
        TWO,
        "DaVinci Resolve 18, Export Subtitle",
        "https://github.com/HandBrake/HandBrake/issues/5878",
        "Times count from the timeline's start at one hour: all cues lie beyond the film.",
        verdict="repair",
        judgement="An hour is taken off, since all cues then lie within the film; refusing with that reason is "
        "defensible, silence is not.",
    ),
    said(
        "srt_beyond_end.srt",
        TWO_SRT
        + "3\n00:00:05,500 --> 00:00:08,000\nGoodbye.\n\n4\n00:01:05,000 --> 00:01:09,000\nSubtitles by somebody\n",
        (*TWO, Cue(5.5, 6.0, "Goodbye.")),
        "subtitle sites: made for a longer cut of the film",
        "https://github.com/cdown/srt/issues/51",
        "A cue that ends, and one that starts, after the film.",
        verdict="repair",
        judgement="The first is cut at the end of the film, the second left out.",
    ),
    said(
        "zero_length.srt",
        TWO_SRT + "3\n00:00:05,000 --> 00:00:05,000\nGoodbye.\n",
        (*TWO, Cue(5.0, 5.0, "Goodbye.")),
        "openai-whisper; MakeMKV's OCR",
        "https://github.com/openai/whisper/pull/191",
        "A cue that ends when it starts.",
        verdict="repair",
        judgement="It is said at that time; a reader that leaves it out says so.",
    ),
    said(
        "overlapping.srt",
        "1\n00:00:01,000 --> 00:00:03,500\nThe kettle is on.\n\n2\n00:00:03,000 --> 00:00:04,500\nTwo cups, please.\n",
        (Cue(1.0, 3.5, "The kettle is on."), TWO[1]),
        "Subtitle Edit, whisper.cpp, two speakers",
        "https://github.com/ggml-org/whisper.cpp/pull/2279",
        "Two cues at once.",
    ),
    said(
        "out_of_order.srt",
        "2\n00:00:03,000 --> 00:00:04,500\nTwo cups, please.\n\n1\n00:00:01,000 --> 00:00:02,500\nThe kettle is on.\n",
        TWO,
        "merged files, WhisperTimeSync",
        "https://github.com/EtienneAb3d/WhisperTimeSync/issues/17",
        "The later cue first.",
    ),
)

LINES: Final = (
    said(
        "no_blank_lines.srt",
        TWO_SRT.replace("\n\n", "\n"),
        TWO,
        "subtitle sites",
        "https://github.com/tkarabela/pysubs2/issues/11",
        "No blank line between cues: the number of the next stands below the text.",
        verdict="repair",
    ),
    said(
        "no_numbers.srt",
        "00:00:01,000 --> 00:00:02,500\nThe kettle is on.\n\n00:00:03,000 --> 00:00:04,500\nTwo cups, please.\n",
        TWO,
        "editors' exports, scripts",
        "https://github.com/debpalash/VoiceStudio/pull/2151",
        "No numbers.",
        verdict="repair",
    ),
    said(
        "numbers_as_text.srt",
        "1\n00:00:01,000 --> 00:00:02,500\n3\n2\n1\n\n2\n00:00:03,000 --> 00:00:04,500\n1.567.202\n\n3\n00:00:05,000 "
        "--> 00:00:06,000\n1999\n",
        (Cue(1.0, 2.5, "3 2 1"), Cue(3.0, 4.5, "1.567.202"), Cue(5.0, 6.0, "1999")),
        "everybody: years, scores, countdowns",
        "https://github.com/debpalash/VoiceStudio/pull/2151; https://github.com/cdown/srt/issues/92",
        "Text of numbers alone, one with points between the thousands.",
    ),
    said(
        "blank_within_text.srt",
        "1\n00:00:01,000 --> 00:00:02,500\nThe kettle\n\nis on.\n\n2\n00:00:03,000 --> 00:00:04,500\nTwo cups, "
        "please.\n",
        TWO,
        "old fan subtitles",
        "https://github.com/ripose-jp/Memento/issues/69; https://github.com/SubtitleEdit/subtitleedit/issues/2147",
        "A blank line within a cue.",
        verdict="repair",
    ),
    said(
        "empty_cue.srt",
        "1\n00:00:01,000 --> 00:00:02,500\nThe kettle is on.\n\n2\n00:00:02,500 --> "
        "00:00:03,000\n\n\n3\n00:00:03,000 --> 00:00:04,500\nTwo cups, please.\n",
        TWO,
        "converted lyrics and broadcasts",
        "https://github.com/ripose-jp/Memento/issues/68; https://github.com/noophq/subtitle/issues/13",
        "A cue without text, and two blank lines.",
    ),
    said(
        "blank_line_with_spaces.srt",
        TWO_SRT.replace("on.\n\n", "on.\n \t\n"),
        TWO,
        "Vimeo downloads",
        "https://github.com/captioning/captioning/issues/10",
        "The line between two cues holds blanks.",
    ),
    said("no_last_line_break.srt", TWO_SRT.rstrip(), TWO, "CapCut, web players", SRT, "No line break at the end."),
    said("windows_lines.srt", TWO_SRT.replace("\n", "\r\n"), TWO, "Subtitle Edit, Premiere Pro", SRT, "CR and LF."),
    said(
        "old_mac_lines.srt",
        TWO_SRT.replace("\n", "\r"),
        TWO,
        "old Macintosh tools",
        "https://github.com/sendrec/sendrec/pull/158",
        "CR alone.",
    ),
    said(
        "mixed_lines.srt",
        TWO_SRT.replace("\n", "\r\n", 5),
        TWO,
        "files that were edited on two systems",
        "https://github.com/subtitleeditor/subtitleeditor/issues/58",
        "CR and LF in one half, LF in the other.",
    ),
    said(
        "bom.srt",
        b"\xef\xbb\xbf" + TWO_SRT.encode(),
        TWO,
        "Notepad, Subtitle Edit",
        "https://github.com/byroot/pysrt/issues/6; https://github.com/jianchang512/pyvideotrans/pull/1036",
        "A byte order mark before the first number.",
    ),
    said(
        "bom.vtt",
        b"\xef\xbb\xbfWEBVTT\r\n\r\n00:01.000 --> 00:02.500\r\nThe kettle is on.\r\n\r\n00:03.000 --> "
        b"00:04.500\r\nTwo cups, please.\r\n",
        TWO,
        "Premiere Pro, YouTube Studio on Windows",
        WEBVTT,
        "A byte order mark before WEBVTT, CR and LF.",
    ),
    said(
        "utf16_le.srt",
        b"\xff\xfe" + TWO_SRT.encode("utf-16-le"),
        TWO,
        "Notepad's Unicode",
        "https://github.com/ripose-jp/Memento/issues/170",
        "UTF-16, low byte first, with a mark.",
    ),
    said(
        "utf16_be.srt",
        b"\xfe\xff" + TWO_SRT.encode("utf-16-be"),
        TWO,
        "old Macintosh and Java tools",
        "https://github.com/Diaoul/subliminal/pull/1122",
        "UTF-16, high byte first, with a mark.",
    ),
    said(
        "windows_1252.srt",
        TWO_SRT.replace("kettle", "café – naïve “señor”").encode("cp1252"),
        (Cue(1.0, 2.5, "The café – naïve “señor” is on."), TWO[1]),
        "subtitle sites, Western Europe",
        "https://github.com/byroot/pysrt/issues/75",
        "The code page of Windows, with its dash and quotes.",
        judgement="No UTF-8, so the code page of the West; letters of other code pages can't be told apart.",
    ),
    said(
        "windows_1251.srt",
        TWO_SRT.replace("The kettle is on.", "Чайник стоит на плите.").encode("cp1251"),
        (Cue(1.0, 2.5, "Чайник стоит на плите."), TWO[1]),
        "subtitle sites, Russia",
        "https://github.com/byroot/pysrt/issues/12",
        "The code page of Cyrillic.",
        judgement="Bytes alone don't say which code page; a reader that refuses and asks for one is right too, one "
        "that shows Latin letters is not.",
    ),
    said(
        "right_to_left.srt",
        TWO_SRT.replace("The kettle is on.", "\u202bنراك غدًا.\u202c").replace("Two cups, please.", "\u200f.בשום דבר"),
        (Cue(1.0, 2.5, "نراك غدًا."), Cue(3.0, 4.5, ".בשום דבר")),
        "Subtitle Edit (fix RTL), Netflix",
        "https://github.com/rsimmons/subadub/issues/1; https://github.com/pannal/Sub-Zero.bundle/issues/409",
        "Marks of direction around the text.",
        judgement="The marks are no part of what is said; keeping them is harmless where text is shown, not where it "
        "is compared.",
    ),
    said(
        "html_tags.srt",
        TWO_SRT.replace("The kettle", '<i>The</i> <font color="#ffff00">kettle</font>').replace(
            "Two", "{\\an8}<b>Two</b>"
        ),
        TWO,
        "Subtitle Edit, Netflix rips, ffmpeg",
        "https://github.com/SubtitleEdit/subtitleedit/issues/2567",
        "Tags of HTML, and a place in the manner of ASS.",
    ),
    said(
        "angle_brackets.srt",
        TWO_SRT.replace("The kettle is on.", "If x < 3 and y > 2, <laughs>"),
        (Cue(1.0, 2.5, "If x < 3 and y > 2, <laughs>"), TWO[1]),
        "lectures; captions with notes in angle brackets",
        SRT,
        "Angle brackets that are no tags.",
        judgement="What isn't one of b, i, u, s and font is text.",
    ),
)

WEB: Final = (
    said(
        "blocks.vtt",
        """\
WEBVTT - made by hand

STYLE
::cue { color: yellow; }

REGION
id:fred
width:40%

NOTE
Not said:
00:00:00.000 --> 00:00:01.000 is only spoken of.

intro
00:00:01.000 --> 00:00:02.500 line:0 position:20% align:start region:fred
<v Roger Bingham><i.loud>The</i> kettle is on.

NOTE one line

00:00:03.000 --> 00:00:04.500
Two cups, <c.yellow>please</c>.&nbsp;
""",
        TWO,
        "by hand, JW Player, videojs",
        WEBVTT + "; https://github.com/osk/node-webvtt/issues/10",
        "Blocks of style, region and notes; names of cues, settings, voices and classes.",
    ),
    said(
        "hls_segment.vtt",
        "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000\n\n00:00:01.000 --> 00:00:02.500\nThe kettle is "
        "on.\n\n00:00:03.000 --> 00:00:04.500\nTwo cups, please.\n",
        TWO,
        "HLS packagers (Bento4, Shaka, AWS), streamlink, ffmpeg",
        "https://github.com/video-dev/hls.js/issues/5987; https://github.com/SubtitleEdit/subtitleedit/issues/3736",
        "A map of stamps: local 0 is 10 s on the clock of a transport stream that starts at 10 s.",
        judgement="Beside an MP4 the map says nothing; beside the transport stream the player's clock starts at its "
        "first stamp, so 10 s cancel out.",
    ),
    said(
        "hls_joined.vtt",
        "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n1\n00:00:01.000 --> 00:00:02.500\nThe kettle is "
        "on.\n\nWEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n1\n00:00:01.000 --> 00:00:02.500\nThe "
        "kettle is on.\n\n2\n00:00:03.000 --> 00:00:04.500\nTwo cups, please.\n",
        TWO,
        "cat of HLS segments (N_m3u8DL, curl)",
        "https://github.com/videojs/http-streaming/issues/1216",
        "Several headers in one file, and a cue that two segments repeat.",
        verdict="repair",
    ),
    said(
        "teams.vtt",
        "WEBVTT\n\n4c3f5a3e-8a0e-4d0c-9a51-3f2b7b0a1c2d/12-0\n00:00:01.000 --> 00:00:02.500\n<v Jane Doe>The kettle "
        "is on.</v>\n\n4c3f5a3e-8a0e-4d0c-9a51-3f2b7b0a1c2d/16-0\n00:00:03.000 --> 00:00:04.500\n<v John Smith>Two "
        "cups,\nplease.</v>\n",
        TWO,
        "Microsoft Teams, transcript download",
        "https://github.com/sendrec/sendrec/pull/158; https://github.com/onyx-dot-app/onyx/pull/14861",
        "Long names of cues, and speakers as voices.",
        judgement="The speaker's name is no part of what is said, but worth keeping.",
    ),
    said(
        "zoom.transcript.vtt",
        "WEBVTT\r\n\r\n1\r\n00:00:01.000 --> 00:00:02.500\r\nChristina: The kettle is on.\r\n\r\n2\r\n00:00:03.000 "
        "--> 00:00:04.500\r\nTwo cups, please.\r\n",
        (Cue(1.0, 2.5, "Christina: The kettle is on."), TWO[1]),
        "Zoom cloud recordings",
        "https://github.com/gnurio/where-did-we-land/issues/1",
        "Speakers before a colon, in the text.",
    ),
    said(
        "netflix_ticks.ttml",
        '<?xml version="1.0" encoding="UTF-8"?>\n<tt xmlns="http://www.w3.org/ns/ttml" '
        'xmlns:ttp="http://www.w3.org/ns/ttml#parameter" '
        'xmlns:tts="http://www.w3.org/ns/ttml#styling" ttp:tickRate="10000000" ttp:version="2" xml:lang="en">\n '
        "<head/>\n <body>\n  <div>\n"
        '   <p xml:id="subtitle1" begin="10000000t" end="25000000t" region="region0"><span style="style1">The '
        "kettle is on.</span></p>\n"
        '   <p xml:id="subtitle2" begin="30000000t" end="45000000t" region="region0">Two cups,<br/>please.</p>\n  '
        "</div>\n </body>\n</tt>\n",
        TWO,
        "Netflix (NFLX-TT)",
        "https://github.com/asticode/go-astisub/pull/26; https://github.com/mantas-done/subtitles/issues/42",
        "Times in ticks, ten million a second.",
    ),
    said(
        "frames.ttml",
        '<tt xmlns="http://www.w3.org/ns/ttml" xmlns:ttp="http://www.w3.org/ns/ttml#parameter" xml:lang="en" '
        'ttp:frameRate="24" '
        'ttp:frameRateMultiplier="1000 1001">\n <body><div>\n  <p begin="24f" end="60f">The kettle is on.</p>\n'
        '  <p begin="00:00:03:00" end="00:00:04:12">Two cups, please.</p>\n </div></body>\n</tt>\n',
        (Cue(1.001, 2.5025, "The kettle is on."), Cue(3.0, 4.5005, "Two cups, please.")),
        "broadcast tools (EBU-TT, SMPTE-TT)",
        "https://github.com/MediaArea/MediaInfoLib/pull/1493; " + TTML,
        "Times in frames of 23.976 a second, alone and after a colon.",
    ),
    said(
        "amara.dfxp",
        '<?xml version="1.0" encoding="utf-8"?>\n<tt xmlns="http://www.w3.org/2006/10/ttaf1" xml:lang="en">\n '
        "<head/>\n <body>\n  <div>\n"
        '   <p begin="00:00:01,000" end="00:00:02,500">The kettle is on.</p>\n   <p begin="3.0s" dur="1.5s">Two '
        "cups,<br />please.</p>\n"
        "  </div>\n </body>\n</tt>\n",
        TWO,
        "Amara, old Flash players",
        "https://github.com/mantas-done/subtitles/issues/42; https://github.com/SubtitleEdit/subtitleedit/issues/1511",
        "The older name space, commas, seconds, and a duration in place of an end.",
    ),
    said(
        "windows_media.smi",
        '<SAMI>\n<HEAD>\n<TITLE>Tea</TITLE>\n<STYLE TYPE="text/css">\n<!--\nP { font-size: 20pt; }\n.ENCC { Name: '
        "English; lang: en-US; }\n-->\n"
        "</STYLE>\n</HEAD>\n<BODY>\n<SYNC Start=1000><P Class=ENCC>The kettle is on.\n<SYNC Start=2500><P "
        "Class=ENCC>&nbsp;\n"
        "<SYNC Start=3000><P Class=ENCC>Two cups,<br>please.\n<SYNC Start=4500><P "
        "Class=ENCC>&nbsp;\n</BODY>\n</SAMI>\n",
        TWO,
        "Windows Media, Korean subtitle sites (GOM Player)",
        "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/dnacc/understanding-sami-1.0",
        "SAMI: a cue ends where an empty one starts.",
    ),
    said(
        "microdvd.sub",
        "{1}{1}25.000\n{25}{62}The kettle is on.\n{75}{112}Two cups,|please.\n",
        (Cue(1.0, 2.48, "The kettle is on."), Cue(3.0, 4.48, "Two cups, please.")),
        "BSPlayer, NAPI (Poland)",
        "https://github.com/bazh/subtitles-parser/issues/9",
        "Frames; the rate stands in the first line.",
    ),
    said(
        "subviewer.sub",
        "[INFORMATION]\n[TITLE]\n[END INFORMATION]\n[SUBTITLE]\n00:00:01.00,00:00:02.50\nThe kettle is "
        "on.\n\n00:00:03.00,00:00:04.50\nTwo cups,[br]please.\n",
        TWO,
        "SubViewer 2.0, DVD rips",
        "https://github.com/bazh/subtitles-parser/issues/9",
        "Another format of the same ending: hundredths, and [br].",
    ),
    said(
        "song.lrc",
        "[ti:Tea]\n[ar:The Kettles]\n[offset:+500]\n[00:01.50]The kettle is on.\n[00:03.50][00:05.50]Two cups, "
        "<00:04.00>please.\n",
        (Cue(1.0, 3.0, "The kettle is on."), Cue(3.0, 5.0, "Two cups, please."), Cue(5.0, None, "Two cups, please.")),
        "MiniLyrics, LRC editors",
        "https://en.wikipedia.org/wiki/LRC_(file_format)",
        "An offset of half a second, a line with two times, and a time within a line.",
        judgement="A positive offset makes lines come earlier, as in Winamp's MiniLyrics; some players have it the "
        "other way.",
    ),
)

ASS_HEAD: Final = """\
[Script Info]
; Script generated by Aegisub 3.2.2
; http://www.aegisub.org/
Title: Default Aegisub file
ScriptType: v4.00+
WrapStyle: 0
PlayResX: 1280
PlayResY: 720

[Aegisub Project Garbage]
Video File: tea.mp4

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, \
StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,48,&H00FFFFFF,&H000000FF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,2,2,2,10,10,10,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""

EDITORS: Final = (
    said(
        "aegisub.ass",
        ASS_HEAD + "Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,Not shown\n"
        "Dialogue: 0,0:00:01.00,0:00:02.50,Default,Roger,0,0,0,,{\\an8\\fad(200,200)}The {\\i1}kettle{\\i0}\\Nis on.\n"
        "Dialogue: 1,0:00:01.00,0:00:02.50,Default,,0,0,0,,{\\p1}m 0 0 l 100 0 100 100 0 100{\\p0}\n"
        "Dialogue: 0,0:00:03.00,0:00:04.50,Default,,0,0,0,karaoke,{\\k50}Two {\\k50}cups,\\h{\\k50}please.\n",
        TWO,
        "Aegisub 3.2.2",
        "http://www.tcax.org/docs/ass-specs.htm",
        "Override tags, breaks, a comment, a drawing, and karaoke; commas in the text.",
    ),
    said(
        "old_station.ssa",
        "[Script Info]\nScriptType: v4.00\nTitle: tea\n\n[V4 Styles]\nFormat: Name, Fontname, Fontsize, "
        "PrimaryColour, SecondaryColour, "
        "TertiaryColour, BackColour, Bold, Italic, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, "
        "MarginV, AlphaLevel, Encoding\n"
        "Style: Default,Tahoma,24,16777215,16777215,16777215,12632256,-1,0,1,1,0,2,30,30,10,0,0\n\n[Events]\n"
        "Format: Marked, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
        "Dialogue: Marked=0,0:00:01.00,0:00:02.50,Default,,0000,0000,0000,,The kettle is on.\n"
        "Dialogue: Marked=0,0:00:03.00,0:00:04.50,Default,,0000,0000,0000,,Two cups, please.\n",
        TWO,
        "Sub Station Alpha 4",
        "http://www.tcax.org/docs/ass-specs.htm",
        "The older format, with marks in place of layers.",
    ),
    said(
        "capcut.srt",
        "1\n00:00:01,000 --> 00:00:01,500\nThe kettle\n\n2\n00:00:01,500 --> 00:00:02,500\nis on.\n\n3\n00:00:03,000 "
        "--> 00:00:04,500\nTwo cups, please.",
        (Cue(1.0, 1.5, "The kettle"), Cue(1.5, 2.5, "is on."), TWO[1]),
        "CapCut 4, auto captions",
        "https://github.com/patui/Nosub/issues/35",
        "A sentence in pieces, and no line break at the end.",
    ),
    said(
        "premiere.srt",
        (TWO_SRT.replace("Two cups, please.", "<font color=#FFFFFFFF>Two cups,</font>\nplease."))
        .replace("\n", "\r\n")
        .encode("utf-8-sig"),
        TWO,
        "Adobe Premiere Pro 2023, Export captions",
        "https://helpx.adobe.com/premiere-pro/using/working-with-captions.html",
        "A byte order mark, CR and LF, and colours without quotes.",
    ),
    said(
        "premiere_transcript.txt",
        "00;00;01;00 - 00;00;02;15\r\nSpeaker 1\r\nThe kettle is on.\r\n\r\n00;00;03;00 - 00;00;04;15\r\nSpeaker "
        "2\r\nTwo cups, please.\r\n\r\n",
        (Cue(1.0, 2.5, "The kettle is on."), Cue(3.0, 4.5, "Two cups, please.")),
        "Adobe Premiere Pro 2023, Export transcript",
        "https://helpx.adobe.com/premiere-pro/using/speech-to-text.html",
        "Drop-frame time code with semicolons, and lines of speakers.",
        kind="transcript",
        judgement="Frames are of 29.97 a second; 15 of them are half a second to within 1 ms. Taking it for plain "
        "text is defensible.",
    ),
    said(
        "premiere_transcript.csv",
        '"Speaker Name","Start Time","End Time","Text"\n\n"Speaker 1","00:00:01:00","00:00:02:12","The kettle is '
        'on."\n\n'
        '"Speaker 2","00:00:03:00","00:00:04:12","Two cups, please."\n\n',
        (Cue(1.0, 2.48, "The kettle is on."), Cue(3.0, 4.48, "Two cups, please.")),
        "Adobe Premiere Pro 22.2, Export transcript as CSV",
        "https://github.com/Exmaralda-Org/exmaralda/issues/363",
        "Times end in frames, and nothing says how many make a second; blank lines between rows.",
        kind="transcript",
        verdict="repair",
        judgement="By the rate of the film, here 25; a reader may refuse it and ask for the rate.",
    ),
    said(
        "sample.txt",
        "This is a talk about tea.\n\nFirst the kettle is put on. Then two cups are filled.\n",
        (
            Cue(None, None, "This is a talk about tea."),
            Cue(None, None, "First the kettle is put on. Then two cups are filled."),
        ),
        "by hand",
        "https://huggingface.co/docs/datasets/video_load",
        "A transcript in paragraphs, without times.",
        kind="transcript",
        judgement="It may as well be a description or notes: only its name ties it to the film.",
    ),
)

INFO: Final[dict[str, Any]] = {
    "id": "M4gD1WSo5mA",
    "title": "Tea for two",
    "description": "How to make tea.\n00:00 Start\n00:03 Cups",
    "uploader": "The Kettles",
    "channel": "The Kettles",
    "channel_url": "https://www.youtube.com/channel/UCuLGmD72gJDBwmLw06X58SA",
    "webpage_url": "https://www.youtube.com/watch?v=M4gD1WSo5mA",
    "duration": 6,
    "upload_date": "20240229",
    "language": "en",
    "tags": ["tea", "kettle"],
    "categories": ["Howto & Style"],
    "chapters": [
        {"start_time": 0.0, "title": "Start", "end_time": 3.0},
        {"start_time": 3.0, "title": "Cups", "end_time": 6},
    ],
    "automatic_captions": {},
    "subtitles": {},
    "extractor_key": "Youtube",
    "_type": "video",
    "_version": {"version": "2024.04.09", "repository": "yt-dlp/yt-dlp"},
}
SAID_OF: Final[dict[str, object]] = {
    "title": "Tea for two",
    "uploader": "The Kettles",
    "source": "https://www.youtube.com/watch?v=M4gD1WSo5mA",
    "date": "2024-02-29",
}
CC: Final = "Creative Commons Attribution license (reuse allowed)"

KNOWLEDGE: Final = (
    about(
        "licensed.info.json",
        INFO | {"license": CC},
        SAID_OF | {"license": CC},
        "yt-dlp 2024.04.09 --write-info-json",
        "https://github.com/ytdl-org/youtube-dl/issues/8712",
        "A licence in words, as YouTube puts it.",
    ),
    about(
        "license_null.info.json",
        INFO | {"license": None, "alt_title": None, "creators": None},
        SAID_OF | {"license": None},
        "yt-dlp and youtube-dl --write-info-json",
        "https://github.com/ytdl-org/youtube-dl/issues/14084",
        "The licence is null: not known, which is not free.",
    ),
    about(
        "license_absent.info.json",
        INFO,
        SAID_OF | {"license": None},
        "yt-dlp 2024.04.09 --write-info-json",
        "https://github.com/stashapp/CommunityScrapers/issues/1685",
        "No licence at all.",
    ),
    about(
        "license_list.info.json",
        INFO | {"license": ["CC-BY-4.0", "https://creativecommons.org/licenses/by/4.0/"], "creators": ["Ann", "Bob"]},
        SAID_OF | {"license": "CC-BY-4.0"},
        "yt-dlp extractors of archives (archive.org: fields may be lists)",
        YT_DLP + "#output-template (creators are a list; a licence as one is in no public thread)",
        "The licence is a list.",
        judgement="The first of the list; both joined would be right too.",
    ),
    about(
        "numbers.info.json",
        INFO | {"duration": float("nan"), "upload_date": None, "title": 1984},
        {"title": "1984", "license": None},
        "scripts that change yt-dlp's file with Python or pandas",
        "https://github.com/tmoroney/auto-subs/issues/231",
        "NaN, null, and a number as a title.",
        verdict="repair",
    ),
    about(
        "playlist.info.json",
        {
            "_type": "playlist",
            "id": "PL1",
            "title": "All about tea",
            "entries": [],
            "webpage_url": "https://www.youtube.com/playlist?list=PL1",
        },
        {},
        "yt-dlp --write-info-json of a playlist",
        "https://github.com/yt-dlp/yt-dlp/issues/4963",
        "Speaks of a playlist, not of a film.",
        verdict="ignore",
    ),
    about(
        "thought_to_be_json.info.json",
        '{"id": "M4gD1WSo5mA", "title": "Tea for',
        {},
        "yt-dlp on a full disk",
        YT_DLP,
        "Broken off in the middle.",
        verdict="refuse",
    ),
    about(
        "plain.description",
        "How to make tea.\n",
        {"description": "How to make tea."},
        "yt-dlp --write-description",
        YT_DLP + "#filesystem-options",
        "The description alone.",
    ),
    about(
        "kodi.nfo",
        '<?xml version="1.0" encoding="UTF-8"?>\n<movie>\n  <title>Tea for two</title>\n  <studio>The '
        "Kettles</studio>\n  <premiered>2024-02-29</premiered>\n</movie>\n",
        {"title": "Tea for two", "date": "2024-02-29"},
        "Kodi, Jellyfin, ytdl-nfo",
        "https://github.com/owdevel/ytdl-nfo/pull/14; https://kodi.wiki/view/NFO_files",
        "Metadata as XML.",
        judgement="Passing it over is right too: it says what others say better.",
    ),
)

LISTS: Final = (
    SideFile(
        name="coco.json",
        kind="annotations",
        content=json.dumps(
            {
                "info": {"description": "COCO 2017"},
                "licenses": [{"id": 1, "name": "CC BY 4.0"}],
                "images": [{"id": 1, "file_name": "frame_000001.png", "width": 160, "height": 96}],
                "categories": [{"id": 1, "name": "cup", "supercategory": "kitchen"}],
                "annotations": [
                    {"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 20, 30, 40], "area": 1200, "iscrowd": 0}
                ],
            }
        ).encode(),
        tool="CVAT 2, Roboflow, Label Studio: COCO 1.0",
        source="https://cocodataset.org/#format-data; https://docs.cvat.ai/docs/manual/advanced/formats/format-coco/",
        special="Boxes of objects, under the film's name: no transcript, and no metadata of yt-dlp.",
        verdict="ignore",
        judgement="Passed over as a transcript, or refused as one with what it is; never read as an empty transcript.",
    ),
    SideFile(
        name="cvat.json",
        kind="annotations",
        content=json.dumps(
            [
                {
                    "version": 0,
                    "tags": [],
                    "shapes": [],
                    "tracks": [
                        {
                            "frame": 0,
                            "label": "cup",
                            "group": 0,
                            "source": "manual",
                            "shapes": [
                                {"type": "rectangle", "frame": 0, "outside": False, "points": [10.0, 20.0, 40.0, 60.0]}
                            ],
                            "attributes": [],
                        }
                    ],
                }
            ]
        ).encode(),
        tool="CVAT 2, backup (annotations.json)",
        source="https://github.com/cvat-ai/cvat/blob/develop/cvat/apps/engine/backup.py",
        special="A list at the top: tracks of boxes.",
        verdict="ignore",
    ),
    SideFile(
        name="cvat.xml",
        kind="annotations",
        content=b'<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n  '
        b'<meta><task><name>tea</name><size>150</size><mode>interpolation</mode></task></meta>\n  <track id="0" '
        b'label="cup"><box frame="0" outside="0" occluded="0" keyframe="1" xtl="10.0" ytl="20.0" xbr="40.0" '
        b'ybr="60.0"></box></track>\n</annotations>\n',
        tool="CVAT for video 1.1",
        source="https://docs.cvat.ai/docs/manual/advanced/xml_format/",
        special="XML that is no subtitle.",
        verdict="ignore",
    ),
    SideFile(
        name="activity.json",
        kind="annotations",
        content=json.dumps(
            {
                "v_tea": {
                    "duration": 6.0,
                    "timestamps": [[1.0, 2.5], [3.0, 4.5]],
                    "sentences": ["A kettle is put on.", " Two cups are filled."],
                }
            }
        ).encode(),
        tool="ActivityNet Captions",
        source="https://cs.stanford.edu/people/ranjaykrishna/densevid/",
        special="Sentences about intervals, by the film's key: descriptions, not speech.",
        verdict="ignore",
        judgement="It could be read as descriptions; as speech it would be wrong.",
    ),
    SideFile(
        name="live.live_chat.json",
        kind="rubbish",
        content=b'{"clickTrackingParams": "CAEQ", "replayChatItemAction": {"actions": [{"addChatItemAction": '
        b'{"item": {"liveChatTextMessageRenderer": {"message": {"runs": [{"text": "first!"}]}, "timestampUsec": '
        b'"1709200000000000"}}}}], "videoOffsetTimeMsec": "1000"}}\n{"clickTrackingParams": "CAEQ", '
        b'"replayChatItemAction": {"actions": [], "videoOffsetTimeMsec": "2000"}}\n',
        tool="yt-dlp --write-subs of a live stream: sub-language live_chat",
        source=YT_DLP + "#subtitle-options",
        special="What viewers wrote, one JSON object a line: not JSON as a whole, and not what is said.",
        verdict="ignore",
    ),
)

DOUBLE: Final = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        "
"\x00\x02\x00\x00\x00\x09\x00\x00\x00\x32\x00\x00\x0e\xb0\x00\x00\x00\x02\x00\x00\x0e\xe2\x00\x00\x01\x1e"

BESIDE: Final = (
    beside(
        "thumb.jpg",
        jpeg(64, 48, 1022),
        "yt-dlp --write-thumbnail --convert-thumbnails jpg",
        YT_DLP + "#thumbnail-options",
        "A picture of the film's name.",
        kind="picture",
    ),
    beside(
        "thumb.webp",
        webp(),
        "yt-dlp --write-thumbnail",
        YT_DLP + "#thumbnail-options",
        "The same as WebP.",
        kind="picture",
    ),
    beside(
        "poster-fanart.jpg",
        jpeg(64, 48, 1021),
        "Kodi, Jellyfin",
        "https://kodi.wiki/view/Artwork",
        "A picture with a suffix to the film's name.",
        kind="picture",
    ),
    beside(
        "half.mp4.part",
        b"\x00\x00\x00\x20ftypisom" + bytes(64),
        "yt-dlp, Firefox: a download under way",
        YT_DLP + "#download-options",
        "Half a film, by its ending no film.",
    ),
    beside(
        "half.mp4.ytdl",
        b'{"downloader": {"current_fragment": {"index": 3}, "extra_state": {}}}',
        "yt-dlp: fragments under way",
        YT_DLP + "#download-options",
        "Where a download stands.",
    ),
    beside(
        "half.f137.mp4.part-Frag12.part",
        bytes(16),
        "yt-dlp: a fragment",
        YT_DLP + "#download-options",
        "A piece of one stream.",
    ),
    beside(
        "half.mp4.crdownload",
        bytes(16),
        "Chrome: a download under way",
        "https://support.google.com/chrome/answer/95759",
        "Half a film.",
    ),
    beside(
        "._double.mp4",
        DOUBLE + bytes(4096 - len(DOUBLE)),
        "macOS on exFAT and network drives, zip by Finder",
        "https://github.com/TomWhitwell/SlowMovie/issues/111",
        "AppleDouble: a film by its ending, but the Finder's notes on one.",
    ),
    beside(
        "._double.srt",
        DOUBLE,
        "macOS on exFAT and network drives",
        "https://github.com/TomWhitwell/SlowMovie/issues/111",
        "The same for a subtitle.",
    ),
    beside(
        ".DS_Store",
        b"\x00\x00\x00\x01Bud1\x00\x00\x10\x00\x00\x00\x08\x00\x00\x00\x10\x00" + bytes(4064),
        "macOS Finder",
        "https://en.wikipedia.org/wiki/.DS_Store",
        "How a folder looks in the Finder.",
    ),
    beside(
        "Thumbs.db",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504),
        "Windows Explorer",
        "https://en.wikipedia.org/wiki/Windows_thumbnail_cache",
        "Small pictures of a folder.",
    ),
    beside(
        "desktop.ini",
        b"[.ShellClassInfo]\r\nIconResource=C:\\WINDOWS\\System32\\SHELL32.dll,4\r\n",
        "Windows Explorer, Google Drive",
        "https://learn.microsoft.com/en-us/windows/win32/shell/how-to-customize-folders-with-desktop-ini",
        "How a folder looks in Windows.",
    ),
    beside(
        "gopro.THM",
        jpeg(64, 48, 1020),
        "GoPro, Canon",
        "https://github.com/Ruben2776/PicView/issues/111; "
        "https://github.com/damonlynch/rapid-photo-downloader/pull/115",
        "A thumbnail by another ending.",
        kind="picture",
    ),
    beside(
        "gopro.LRV",
        b"\x00\x00\x00\x1cftypmp41" + bytes(32),
        "GoPro: a low resolution copy",
        "https://github.com/damonlynch/rapid-photo-downloader/issues/24",
        "A small copy of the film.",
    ),
)

SIDEFILES: Final[tuple[SideFile, ...]] = (
    *YOUTUBE,
    *SPEECH,
    *STAMPS,
    *LINES,
    *WEB,
    *EDITORS,
    *KNOWLEDGE,
    *LISTS,
    *BESIDE,
)


def entries() -> tuple[SideFile, ...]:
    """All side files, for a table or a test."""
    return SIDEFILES


def generate(folder: Path) -> dict[str, Path]:
    """Writes all side files into a folder; their paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {each.name: folder / each.name for each in entries()}
    for each in entries():
        paths[each.name].write_bytes(each.content)
    return paths


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
