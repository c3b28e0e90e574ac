"""Read what is said in a video from a file beside it: SubRip (`.srt`), WebVTT (`.vtt`), or Whisper's JSON.

Many tools write these files, and few follow the formats. What is plainly meant is read, and what was repaired is
counted.
"""

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from reeltalk.curate.side_files import REPLACEMENT_CHARACTER, parse_side_json, read_side_text
from reeltalk.errors import BenchmarkError, InputError, SettingError
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Json, VideoId
from reeltalk.schema.speech import LONGEST_UTTERANCE, Utterance
from reeltalk.schema.texts import refusal, without_controls
from reeltalk.store.manifest import hash_file

MOST_UTTERANCES: Final = 100_000
"""Most utterances of a file; ten hours of talk have about 20,000."""
SUFFIXES: Final = (".vtt", ".srt", ".json")
"""Endings of the files, the preferred first: WebVTT names speakers, and people correct subtitles, seldom JSON."""
LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
"""The tag in `NAME.en.srt` or `NAME.pt-BR.vtt`."""
_KIND: Final = re.compile(
    r"(?:\.(?:auto|captions?|cc|default|sdh|subtitles?|transcript|whisperx?)|(?<=\.[a-z]{2})\.hi)+$", re.IGNORECASE
)
"""What a name says after the video and the language, as `NAME.transcript.vtt` of Zoom, and `NAME.en.hi.srt`, for people
who are hard of hearing."""
REPAIRS: Final = {
    "encoding": "files in Windows-1252, or converted to UTF-8 twice",
    "characters": "broken or control characters",
    "time_format": "pairs of times in another form",
    "missing_times": "times taken from the lines before and after",
    "inverted_times": "ends before the start, exchanged",
    "negative_times": "starts before 0, set to 0",
    "repeated_lines": "lines that were shown before, of rolling captions or joined segments",
    "hours_off": "files whose times begin at a full hour, read from 0",
    "left_out": "lines left out, which could not be read",
}
"""What was repaired in a file, by its name in the table of screenings."""
WINDOW_S: Final = 30.0
"""The window of Whisper: no segment is longer, and no end is further before its start."""

_ARROW: Final = re.compile(r"(?:[-‐-―−ー]\s?){1,4}(?:[>＞]|&gt;)|[→⟶]")
"""The arrow between times, as tools, people and translators write it."""
_CLOCK: Final = re.compile(r"(?=\s*[(\[-]?\s*[\d-]).*?\d\s?[:：]\s?-?\d")
"""Begins a line of times."""
_MOMENT: Final = re.compile(
    r"[(\[]?\s*(?:(-? ?\d{1,6})\s*[:：]\s*)?(-?\d{1,4})\s*[:：]\s*(-?\d{1,2})"
    r"(?:\s?([,.，．。:：;；])\s?(-?\d{1,20}(?:\.\d{1,20})?))?(?=(.?))"
)
_SUBRIP_TIMES: Final = re.compile(r"\d{2,}(?::[0-5]\d){2}[.,]\d{3} --> \d{2,}(?::[0-5]\d){2}[.,]\d{3}(?:\s.*)?")
_WEB_TIMES: Final = re.compile(
    r"(?:\d{2,}:)?[0-5]\d:[0-5]\d\.\d{3}\s+-->\s+(?:\d{2,}:)?[0-5]\d:[0-5]\d\.\d{3}(?:\s.*)?"
)
NO_NUMBER: Final = -2
"""In place of the number of a cue that has none."""
LONGEST_NUMBER: Final = 12
"""Most characters of the number of a cue in words."""
LONGEST_TIMES: Final = 400
"""Most characters of a line of times; settings of WebVTT may follow the times."""
_NOT_SPOKEN: Final = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_WORD_TIME: Final = re.compile(r"<(?:\d{1,4}:)?\d{1,2}:\d{2}[.,]\d{1,3}>")
_VOICE: Final = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]([^<>]*)>")
_TAG: Final = re.compile(
    r"</?(?:b|i|u|s|c|v|a|p|em|strong|span|font|lang|ruby|rt)(?:[\s./][^<>]*)?>|\{(?:\\|[cfopsy]:)[^{}]*\}",
    re.IGNORECASE,
)
"""Tags of HTML, of WebVTT, of Advanced SubStation Alpha, and of MicroDVD, which converters to SubRip leave."""
_MARKUP: Final = re.compile(r"[<{&\\]")
_LINE_BREAK: Final = re.compile(r"\\[Nh]|<br\s?/?>", re.IGNORECASE)
"""Of Advanced SubStation Alpha, left by a conversion, and of HTML."""
_LABEL: Final = re.compile(r"\[?(SPEAKER_\d+)\]?:\s+")
"""How WhisperX writes speakers into subtitles."""
_INVISIBLE: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Marks of the direction of writing, which tools leave open, and of byte order between joined files."""
_SEGMENTS: Final = ("segments", "transcription", "chunks", "words")
"""Lists of openai-whisper, faster-whisper and WhisperX; of whisper.cpp; of transformers; and of OpenAI's service, if it
was asked for words alone."""
_LONG_CODES: Final = {
    long: short
    for short, codes in {
        "ar": "ara", "cs": "ces cze", "da": "dan", "de": "deu ger", "el": "ell gre", "en": "eng", "es": "spa",
        "fi": "fin", "fr": "fra fre", "he": "heb", "hi": "hin", "hu": "hun", "id": "ind", "it": "ita", "ja": "jpn",
        "ko": "kor", "nl": "nld dut", "no": "nor", "pl": "pol", "pt": "por", "ro": "ron rum", "ru": "rus", "sv": "swe",
        "th": "tha", "tr": "tur", "uk": "ukr", "vi": "vie", "zh": "zho chi",
    }.items()
    for long in codes.split()
}  # fmt: skip
"""Short codes of languages, by the long ones that MakeMKV, Jellyfin and others write."""


class TranscriptFile(NamedTuple):
    """A file beside a video that may say what is spoken in it."""

    path: Path
    name: str
    """Its name, or its address, for messages."""
    language: str | None = None
    """The language in its name; None if its name has none."""


class _Cue(NamedTuple):
    """Words with their times, as a file has them; None where it has none that can be read."""

    start_s: float | None
    end_s: float | None
    texts: tuple[str, ...]
    """Lines of text."""
    place: dict[str, Any]
    """Its place, as `InputError` takes it."""
    speaker: str = ""


@dataclass
class Repairs:
    """What was not as its format says in a file that was read all the same."""

    counts: Counter[str] = field(default_factory=Counter)
    """Numbers by their kind, one of `REPAIRS`."""
    left_out: InputError | None = None
    """The first line that could not be read."""


@dataclass(frozen=True)
class Transcript:
    """The chosen file of a video, after a first reading."""

    file: TranscriptFile
    sha256: str
    repairs: Repairs
    span: Interval | None
    """From its first line to its last; None if nothing is said."""

    def offset_s(self, duration_s: float) -> float:
        """Seconds at which a video begins by the clock of its file: full hours, as editors and stations count, else 0.

        Args:
            duration_s: The length of the video.
        """
        if self.span is None or self.span.start_s < duration_s:
            return 0.0
        hours_s = self.span.start_s // 3600 * 3600
        return hours_s if self.span.end_s - hours_s <= duration_s else 0.0

    def repaired(self, duration_s: float) -> dict[str, int]:
        """Numbers of repairs by their kind, for a video of this length."""
        hours = {"hours_off": 1} if self.offset_s(duration_s) else {}
        return {**self.repairs.counts, **hours}


def repair_sentences(read: Iterable[tuple[str, Transcript, float]]) -> Iterator[str]:
    """What was repaired in transcripts, in sentences.

    Args:
        read: The identifier of each video, its transcript, and its length in seconds.
    """
    repaired: Counter[str] = Counter()
    for video, transcript, duration_s in read:
        repaired.update(transcript.repaired(duration_s))
        if (fault := transcript.repairs.left_out) is not None:
            yield f"{video}: lines of speech are left out, the first: {fault}"
    if repaired:
        yield "speech was repaired: " + ", ".join(
            f"{repaired[k]:,} {what}" for k, what in REPAIRS.items() if repaired[k]
        )


def open_transcript(
    video: str, video_id: VideoId, files: Sequence[TranscriptFile], language: str | None
) -> Transcript | None:
    """Choose the file of a video and read it once, so that a damaged one is known before any video is decoded.

    Args:
        video: The video's name, for messages.
        files: The files beside it.
        language: As for `choose_transcript`.

    Raises:
        SettingError: As `choose_transcript`.
        InputError: As `read_transcript`.
    """
    file = choose_transcript(video, files, language)
    if file is None:
        return None
    repairs = Repairs()
    said = [one.interval for one in read_transcript(file.path, video_id, name=file.name, repairs=repairs)]
    span = Interval(start_s=said[0].start_s, end_s=max(one.end_s for one in said)) if said else None
    return Transcript(file, hash_file(file.path)[0], repairs, span)


def videos_of_transcript(name: str) -> list[tuple[str, str | None]]:
    """The videos that a subtitle or transcript file may belong to by its name, each with the language in the name.

    The file of `NAME.mp4` or `NAME` is `NAME.srt`, `NAME.vtt`, `NAME.whisper.json`, `NAME.json`, `NAME.LANGUAGE.srt`,
    `NAME.transcript.vtt` and so on. Only the content of `NAME.json` tells whether it is one.

    Args:
        name: A file's name, with its folder.
    """
    suffix = Path(name).suffix
    if suffix.lower() not in SUFFIXES:
        return []
    whole = name[: -len(suffix)]
    base = _KIND.sub("", whole)
    before, dot, tag = base.rpartition(".")
    found: list[tuple[str, str | None]] = [(stem, None) for stem in dict.fromkeys((whole, base))]
    return [*found, (before, tag)] if dot and LANGUAGE.fullmatch(tag) else found


def is_whisper(path: Path) -> bool:
    """True if a JSON file holds spoken segments, so that it is a transcript and no description of the video.

    Args:
        path: A file whose name ends in `.json`.
    """
    try:
        listed = _segments(parse_side_json(read_side_text(path).text, str(path)))
    except InputError:
        return False
    return listed is not None and all(
        isinstance(segment, dict) and {"text", "word"} & segment.keys() for segment in listed[1][:1]
    )


def choose_transcript(video: str, files: Sequence[TranscriptFile], language: str | None) -> TranscriptFile | None:
    """The file from which the speech of a video is read; None if no file has the language.

    A file without a language in its name is in the wanted language, unless another file names that language. Of several
    files of one language WebVTT is taken before SubRip, and SubRip before JSON.

    Args:
        video: The video's name, for the message.
        files: The files beside it.
        language: The wanted language, such as `en` or `pt-BR`. None takes the file without a language in its name, or
            the only language.

    Raises:
        SettingError: No language is wanted, and there are several.
    """
    order = sorted(files, key=lambda file: (len(file.language or ""), SUFFIXES.index(file.path.suffix.lower()), file))
    unnamed = [file for file in order if file.language is None]
    if language is not None:
        wanted = _LONG_CODES.get(_tag(language), _tag(language))
        named = [file for file in order if file.language is not None and _tag(file.language) == wanted]
        named += [file for file in order if file.language is not None and _main(file.language) == wanted]
        return next(iter([*named, *unnamed]), None)
    languages = sorted({_main(file.language) for file in order if file.language is not None})
    if not unnamed and len(languages) > 1:
        raise SettingError(
            f"{video} has subtitles in several languages, {', '.join(languages)}: choose one with --speech-language"
        )
    return next(iter([*unnamed, *order]), None)


def _tag(language: str) -> str:
    return language.lower().replace("_", "-")


def _main(language: str) -> str:
    main = _tag(language).partition("-")[0]
    return _LONG_CODES.get(main, main)


def speech_of(transcript: Transcript, video_id: VideoId, duration_s: float) -> tuple[list[Utterance], int]:
    """What is said in a video, and the number of utterances that begin after its end and are left out.

    Args:
        transcript: From `open_transcript`.
        duration_s: Its length in seconds. An utterance that goes on after it is ended with it.

    Raises:
        BenchmarkError: The file was changed since it was opened.
    """
    found = read_transcript(transcript.file.path, video_id, name=transcript.file.name)
    if hash_file(transcript.file.path)[0] != transcript.sha256:
        raise BenchmarkError(f"{transcript.file.name} changed while it was read; run the command again")
    offset_s = transcript.offset_s(duration_s)
    inside = []
    for one in found:
        start_s, end_s = round(one.interval.start_s - offset_s, 3), round(one.interval.end_s - offset_s, 3)
        if start_s < duration_s:
            interval = Interval(start_s=start_s, end_s=min(end_s, duration_s))
            inside.append(one.model_copy(update={"interval": interval}))
    return inside, len(found) - len(inside)


def read_transcript(
    path: Path, video_id: VideoId, *, name: str | None = None, repairs: Repairs | None = None
) -> list[Utterance]:
    """What is said in a video, in the order of time. Markup, positions and empty lines are left out.

    What is plain is repaired, and never to an earlier time: words at a wrong time would show a model the future. What
    is not is left out; a file of which most would be left out is refused.

    Args:
        path: A file that ends in `.srt`, `.vtt` or `.json`.
        name: Its name in errors; the path by default.
        repairs: Receives what was repaired.

    Raises:
        InputError: Its encoding or format cannot be read, or it holds too much; names the line or the JSON path.
    """
    shown, repairs = name or str(path), repairs or Repairs()
    text, converted, fault = read_side_text(path, shown)
    repairs.counts["encoding"] += converted
    if path.suffix.lower() == ".json":
        cues = _cues_of_json(text, shown)
    else:
        # A language model that translates a file writes it between lines of three marks.
        lines = ["" if line.startswith("```") else line for line in re.split(r"\r\n|\n|\r", text)]
        web = path.suffix.lower() == ".vtt" or text.lstrip().startswith("WEBVTT")
        cues = _without_repeats(_cues_of_lines(lines, shown, repairs, web=web), repairs)
    if len(cues) > MOST_UTTERANCES:
        problem = f"{len(cues):,} utterances, and at most {MOST_UTTERANCES:,} are read"
        raise InputError(problem, file=shown, hint="is it the speech of one video?")
    found: list[Utterance] = []
    refused: list[InputError] = []
    for cue in _with_times(cues, shown, repairs, refused):
        try:
            found += _utterances(cue, video_id, shown, repairs)
        except InputError as error:
            refused.append(error)
    if len(refused) > len(found):
        raise refused[0]
    if fault is not None:
        said = "".join(text for cue in cues for text in cue.texts)
        broken = said.count(REPLACEMENT_CHARACTER)
        if broken * 20 > sum(not letter.isascii() for letter in said) and broken * 1000 > len(said):
            raise fault
        repairs.counts["characters"] += broken
    if refused:
        repairs.counts["left_out"] += len(refused)
        repairs.left_out = refused[0]
    # Segments of HLS repeat a line that goes on at their end.
    once = {(one.interval.start_s, one.interval.end_s, one.speaker, one.text): one for one in found}
    repairs.counts["repeated_lines"] += len(found) - len(once)
    repairs.counts = +repairs.counts
    return sorted(once.values(), key=lambda one: (one.interval.start_s, one.interval.end_s))


def _cues_of_lines(lines: Sequence[str], name: str, repairs: Repairs, *, web: bool) -> list[_Cue]:
    """Cues of SubRip and WebVTT. A text may hold empty lines; the number or name before the next times is none of it.

    Comments, styles, regions and the headers of segments that were joined are skipped.
    """
    found: list[tuple[int, str, tuple[str, str], list[str]]] = []
    before: list[str] = []
    texts, skipping, named = before, False, web
    label: int | None = None
    for number, text in enumerate(lines, start=1):
        if (halves := _times(text)) is not None:
            # A translator may have translated the numbers.
            named = named or (label is None and 0 < len("".join(texts[-1:]).strip()) <= LONGEST_NUMBER)
            label = _take_label(texts, label, named=named)
            texts, skipping = [], False
            found.append((number, text, halves, texts))
        elif web and (text.startswith("WEBVTT") or (_NOT_SPOKEN.match(text) and not (texts and texts[-1]))):
            skipping = True
        else:
            skipping = skipping and text != ""
            texts += [] if skipping else [text]
    strange = [text for text in before if text.strip()]
    # WebVTT may hold its header alone.
    if not found and (strange or not "".join(lines).strip()):
        problem = "no line of times, as 00:00:01,000 --> 00:00:02,500" if strange else "it is empty"
        raise InputError(problem, file=name, hint="get it again, or remove it if nothing is said")
    repairs.counts["left_out"] += len(strange)
    usual = _WEB_TIMES if web else _SUBRIP_TIMES
    repairs.counts["time_format"] += sum(usual.fullmatch(text.strip()) is None for _, text, _, _ in found)
    fractions = [part[5] or "" for _, _, halves, _ in found for part in map(_MOMENT.match, halves) if part]
    whole = [digits for digits in fractions if len(digits) == 3]
    # Tools that write 7 for 7 ms write 500 for half a second, and never 050; tools that write 5 for it never 500.
    counted = any(digits.endswith("0") for digits in whole) and not any(digits.startswith("0") for digits in whole)
    cues = []
    for number, text, halves, spoken in found:
        start_s, end_s = (_seconds(half, counted=counted, carried=bool(whole)) for half in halves)
        rest = _MOMENT.sub("", halves[1], count=1).lstrip("])")
        # In WebVTT these are settings, and the places of SubRip have a colon in each word.
        beside = [] if web or all(":" in word for word in rest.split()) else [rest]
        cues.append(_Cue(start_s, end_s, (*beside, *spoken), {"line": number, "value": text.strip()}))
    return cues


def _times(text: str) -> tuple[str, str] | None:
    """The halves of a line that is meant as a pair of times; None for one that is spoken."""
    if not (":" in text or "：" in text) or len(text) > LONGEST_TIMES:
        return None
    text = text if text.isascii() else _INVISIBLE.sub("", text)
    if not _CLOCK.match(text):
        return None
    start, *end = _ARROW.split(text, maxsplit=1)
    return (start.strip(), end[0].strip()) if end else None


def _seconds(text: str, *, counted: bool, carried: bool) -> float | None:
    """A moment in seconds, below 0 with a minus sign anywhere; None if it is none, or counts frames."""
    found = _MOMENT.match(text)
    if found is None or (found[6] and found[6][0] in "0123456789:：,.;"):
        return None
    hours, minutes, seconds = (abs(int(part.replace(" ", ""))) if part else 0 for part in found.groups()[:3])
    mark, digits = found[4] or ".", (found[5] or "0").lstrip("-")
    if mark in ":：;；" and len(digits) != 3:
        return None
    if "." in digits or len(digits) == 3 or (len(digits) < 3 and counted) or (digits == "1000" and carried):
        thousandths = float(digits)
    else:
        thousandths = int(digits) * 1000 / 10 ** len(digits)
    moment_s = (hours * 3_600_000 + minutes * 60_000 + seconds * 1000 + thousandths) / 1000
    return -moment_s if "-" in found[0] else moment_s


def _take_label(texts: list[str], before: int | None, *, named: bool) -> int:
    """Remove the number or name of the next cue from the lines before its times; gives the number."""
    filled = len(texts)
    while filled and not texts[filled - 1].strip():
        filled -= 1
    last = texts[filled - 1].strip("\ufeff \t") if filled else ""
    number = int(last) if last.isdecimal() and len(last) < 10 else None
    if filled == len(texts):
        apart = texts[filled - 2] == "" if filled > 1 else before is None
        taken = number is not None or (named and apart)
    else:
        # Files with an empty line between all lines.
        taken = number is not None and before in (None, number - 1)
    if taken and filled:
        del texts[filled - 1 :]
    return number if taken and number is not None else NO_NUMBER


def _cues_of_json(text: str, name: str) -> list[_Cue]:
    listed = _segments(parse_side_json(text, name))
    if listed is None:
        raise InputError(f"no list of {', '.join(_SEGMENTS)}", file=name, hint="is it a transcript?")
    root, segments = listed
    cues = []
    for index, segment in enumerate(segments):
        place: dict[str, Any] = {"place": f"{root}[{index}]"}
        words = segment.get("text", segment.get("word")) if isinstance(segment, dict) else None
        if not isinstance(segment, dict) or not isinstance(words, str):
            cues.append(_Cue(None, None, (), place | {"value": segment}))
            continue
        start, end = segment.get("start"), segment.get("end")
        if isinstance(pair := segment.get("timestamp"), list) and len(pair) == 2:
            start, end = pair
        scale = 1.0
        if isinstance(offsets := segment.get("offsets"), dict):
            start, end, scale = offsets.get("from"), offsets.get("to"), 1000.0
        speaker = segment.get("speaker")
        start_s, end_s = _number(start, scale), _number(end, scale)
        if end is None and start_s is not None and (lasts_s := _number(segment.get("duration"), scale)) is not None:
            end_s = start_s + lasts_s
        said = words.replace("<", "&lt;") if "<" in words else words
        cues.append(_Cue(start_s, end_s, (said,), place | {"value": [start, end]}, str(speaker or "")))
    return cues


def _segments(value: Json) -> tuple[str, list[Json]] | None:
    """The list of segments in a document with its JSON path; None if there is none."""
    if isinstance(value, list):
        return "$", value
    names = _SEGMENTS if isinstance(value, dict) else ()
    return next(((f"$.{name}", value[name]) for name in names if isinstance(value.get(name), list)), None)


def _number(value: Json, scale: float) -> float | None:
    if isinstance(value, str) and ":" in value:
        return _seconds(value, counted=False, carried=False)
    try:
        number = float(value) / scale
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _with_times(cues: Sequence[_Cue], name: str, repairs: Repairs, refused: list[InputError]) -> Iterator[_Cue]:
    """Cues with both times in order; those that cannot have them are added to `refused`."""
    after: list[float | None] = [None] * len(cues)
    for index in range(len(cues) - 1, 0, -1):
        after[index - 1] = after[index] if cues[index].start_s is None else cues[index].start_s
    before_s = 0.0
    for cue, after_s in zip(cues, after, strict=True):
        start_s, end_s, problem = cue.start_s, cue.end_s, None
        if start_s is None or end_s is None:
            repairs.counts["missing_times"] += any(text.strip() for text in cue.texts)
            if start_s is not None:
                end_s = start_s + WINDOW_S if after_s is None or after_s < start_s else min(after_s, start_s + WINDOW_S)
            else:
                end_s = after_s if end_s is None else end_s
                start_s = before_s if end_s is None else min(before_s, end_s)
                problem = "no times that can be read" if end_s is None else None
        if end_s is not None and end_s < start_s:
            problem = "ends long before it begins" if start_s - end_s > WINDOW_S else None
            repairs.counts["inverted_times"] += problem is None
            start_s, end_s = end_s, start_s
        if end_s is not None and end_s < 0:
            problem = "ends before the video begins"
        if problem is not None or end_s is None:
            refused.append(InputError(problem or "", file=name, **cue.place))
            continue
        repairs.counts["negative_times"] += start_s < 0
        before_s = end_s
        yield cue._replace(start_s=max(0.0, start_s), end_s=end_s)


def _without_repeats(cues: Sequence[_Cue], repairs: Repairs) -> list[_Cue]:
    """Cues of rolling captions with their new lines only; others as they are.

    In rolling captions, as YouTube makes them, each cue repeats the last lines of the cue before it and adds one; a
    conversion keeps that, and loses the times inside the lines. In other files a repeated line was said twice.
    """
    shown = [[words for text in cue.texts if (words := _plain(text))] for cue in cues]
    # The number of lines at the start of each cue that end the cue before it.
    same = [
        next((n for n in range(min(len(before), len(now)), 0, -1) if before[-n:] == now[:n]), 0)
        for before, now in zip([[], *shown], shown, strict=False)
    ]
    scrolled = any(0 < repeated < len(now) for repeated, now in zip(same, shown, strict=True))
    most = sum(map(bool, same)) * 2 > sum(map(bool, shown[1:]))
    if not (scrolled and most) and not any(_WORD_TIME.search(text) for cue in cues for text in cue.texts):
        return list(cues)
    repairs.counts["repeated_lines"] += sum(same)
    filled = [tuple(text for text in cue.texts if _plain(text)) for cue in cues]
    return [cue._replace(texts=texts[n:]) for cue, texts, n in zip(cues, filled, same, strict=True)]


def _plain(text: str) -> str:
    """A text without markup, on one line."""
    if not _MARKUP.search(text):
        return " ".join(text.split())
    return " ".join(html.unescape(_LINE_BREAK.sub(" ", _TAG.sub("", _WORD_TIME.sub("", text)))).split())


def _utterances(cue: _Cue, video_id: VideoId, name: str, repairs: Repairs) -> Iterator[Utterance]:
    """The utterance of a cue, or of each of its voices."""
    assert cue.start_s is not None
    assert cue.end_s is not None
    interval = Interval(start_s=round(cue.start_s, 3), end_s=round(cue.end_s, 3))
    _check_length(sum(map(len, cue.texts)), 10 * LONGEST_UTTERANCE, name, cue)
    first, *voices = _VOICE.split("\n".join(cue.texts))
    for speaker, words in [(cue.speaker, first), *zip(voices[::2], voices[1::2], strict=True)]:
        text = _plain(words)
        if label := _LABEL.match(text):
            speaker, text = label[1], text[label.end() :]
        text, speaker = _writable(text, repairs), _writable(_plain(speaker), repairs)
        if not text.strip(f"{REPLACEMENT_CHARACTER} "):
            continue
        _check_length(len(text), LONGEST_UTTERANCE, name, cue)
        try:
            yield Utterance(video_id=video_id, interval=interval, text=text, speaker=speaker or None)
        except ValidationError:
            raise InputError("no name of a speaker", file=name, **cue.place | {"value": speaker}) from None


def _writable(text: str, repairs: Repairs) -> str:
    """A text without characters that no table can hold."""
    kept = without_controls(text).encode("utf-8", "replace").decode()
    repairs.counts["characters"] += kept != text or refusal(kept) is not None
    return " ".join(_INVISIBLE.sub("", kept).split())


def _check_length(length: int, most: int, name: str, cue: _Cue) -> None:
    if length > most:
        problem = f"{length:,} characters at one time, and at most {most:,} are read"
        raise InputError(problem, file=name, **cue.place | {"value": None}, hint="is it a file of subtitles?")
