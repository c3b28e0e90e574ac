"""Read what is said in a video from a file beside it: SubRip (`.srt`), WebVTT (`.vtt`), or Whisper's JSON.

Anybody may have written these files. A file that does not follow its format is refused with the line, and is never
repaired: words at a wrong time would show a model the future.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from pydantic import Field, ValidationError

from reeltalk.errors import BenchmarkError, InputError, SettingError
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import VideoId
from reeltalk.schema.speech import LONGEST_UTTERANCE, Utterance
from reeltalk.schema.texts import refusal
from reeltalk.store.documents import SourceModel, decode_text, parse, parse_json
from reeltalk.store.foreign import open_file
from reeltalk.store.manifest import hash_file

LARGEST_BYTES: Final = 32 << 20
"""Largest file that is read; an hour of Whisper's JSON with the times of words has about 5 MiB."""
MOST_UTTERANCES: Final = 100_000
"""Most utterances of a file; ten hours of talk have about 20,000."""
SUFFIXES: Final = (".vtt", ".srt", ".json")
"""Endings of the files, the preferred first: WebVTT names speakers, and people correct subtitles, seldom JSON."""
LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
"""The tag in `NAME.en.srt` or `NAME.pt-BR.vtt`."""

_MOMENT: Final = r"(\d{1,4}):([0-5]?\d):([0-5]?\d)(?:[,.](\d{3}))?"
_SUBRIP_TIMES: Final = re.compile(rf"\s*{_MOMENT}\s*-->\s*{_MOMENT}(?:\s.*)?")
_WEB_MOMENT: Final = r"(?:(\d{2,4}):)?([0-5]\d):([0-5]\d)\.(\d{3})"
_WEB_TIMES: Final = re.compile(rf"\s*{_WEB_MOMENT}\s+-->\s+{_WEB_MOMENT}(?:\s.*)?")
_ARROW: Final = "-->"
_NOT_SPOKEN: Final = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_WORD_TIME: Final = re.compile(r"<(?:\d{2,4}:)?\d{2}:\d{2}\.\d{3}>")
_VOICE: Final = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]([^<>]*)>")
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>|\{\\[^{}]*\}")
_LABEL: Final = re.compile(r"\[?(SPEAKER_\d+)\]?:\s+")
"""How WhisperX writes speakers into subtitles."""


class TranscriptFile(NamedTuple):
    """A file beside a video that may say what is spoken in it."""

    path: Path
    name: str
    """Its name, or its address, for messages."""
    language: str | None = None
    """The language in its name; None if its name has none."""


@dataclass(frozen=True)
class Transcript:
    """The chosen file of a video, after a first reading."""

    file: TranscriptFile
    sha256: str


@dataclass
class _Cue:
    """Lines of text with their times, as in a file of subtitles."""

    start_s: float
    end_s: float
    line: int
    """Line number of the times."""
    texts: list[str] = field(default_factory=list)


class WhisperSegment(SourceModel):
    """A segment in the JSON of openai-whisper, faster-whisper's commands and WhisperX; other fields are not read."""

    start: Annotated[float, Field(ge=0)]
    end: Annotated[float, Field(ge=0)]
    text: str
    speaker: str | None = None


class _WhisperDocument(SourceModel):
    segments: list[WhisperSegment]


def videos_of_transcript(name: str) -> list[tuple[str, str | None]]:
    """The videos that a subtitle or transcript file may belong to by its name, each with the language in the name.

    The file of `NAME.mp4` or `NAME` is `NAME.srt`, `NAME.vtt`, `NAME.whisper.json`, `NAME.json`, or `NAME.LANGUAGE.srt`
    and so on. Only the content of `NAME.json` tells whether it is one.

    Args:
        name: A file's name, with its folder.
    """
    suffix = Path(name).suffix
    if suffix.lower() not in SUFFIXES:
        return []
    base = name[: -len(suffix)].removesuffix(".whisper" if suffix.lower() == ".json" else "")
    before, dot, tag = base.rpartition(".")
    found: list[tuple[str, str | None]] = [(base, None)]
    return [*found, (before, tag)] if dot and LANGUAGE.fullmatch(tag) else found


def is_whisper(path: Path) -> bool:
    """True if a JSON file holds segments with times, so that it is a transcript and no description of the video.

    Args:
        path: A file whose name ends in `.json`.
    """
    try:
        value = parse_json(_text_of(path), file=path)
    except InputError:
        return False
    return isinstance(value, list) or (isinstance(value, dict) and "segments" in value)


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
        wanted = _tag(language)
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
    return _tag(language).partition("-")[0]


def open_transcript(
    video: str, video_id: VideoId, files: Sequence[TranscriptFile], language: str | None
) -> Transcript | None:
    """Choose the file of a video and read it once, so that a damaged one is known before any video is decoded.

    Args:
        video: The video's name, for messages.
        video_id: The video.
        files: The files beside it.
        language: As for `choose_transcript`.

    Raises:
        SettingError: As `choose_transcript`.
        InputError: As `read_transcript`.
    """
    file = choose_transcript(video, files, language)
    if file is None:
        return None
    read_transcript(file.path, video_id, name=file.name)
    return Transcript(file, hash_file(file.path)[0])


def speech_of(transcript: Transcript, video_id: VideoId, duration_s: float) -> tuple[list[Utterance], int]:
    """What is said in a video, and the number of utterances that begin after its end and are left out.

    Args:
        transcript: From `open_transcript`.
        video_id: The video.
        duration_s: Its length in seconds. An utterance that goes on after it is ended with it.

    Raises:
        BenchmarkError: The file was changed since it was opened.
    """
    found = read_transcript(transcript.file.path, video_id, name=transcript.file.name)
    if hash_file(transcript.file.path)[0] != transcript.sha256:
        raise BenchmarkError(f"{transcript.file.name} changed while it was read; run the command again")
    inside = [one for one in found if one.interval.start_s < duration_s]
    end_s = [min(one.interval.end_s, duration_s) for one in inside]
    return [
        one.model_copy(update={"interval": Interval(start_s=one.interval.start_s, end_s=end)})
        for one, end in zip(inside, end_s, strict=True)
    ], len(found) - len(inside)


def read_transcript(path: Path, video_id: VideoId, *, name: str | None = None) -> list[Utterance]:
    """What is said in a video, in the order of time. Markup, positions and empty lines are left out.

    Args:
        path: A file that ends in `.srt`, `.vtt` or `.json`.
        video_id: The video.
        name: Its name in errors; the path by default.

    Raises:
        InputError: It is not UTF-8 or UTF-16, does not follow its format, has times that are negative or end before
            they begin, or holds too much; names the line or the JSON path.
    """
    shown = name or str(path)
    text = _text_of(path, shown)
    if path.suffix.lower() == ".json":
        found = list(_from_whisper(text, video_id, shown))
    else:
        lines = re.split(r"\r\n|\n|\r", text)
        times = sum(_ARROW in line for line in lines)
        _check_number(times, shown)
        cues = _web_cues(lines, shown) if path.suffix.lower() == ".vtt" else _subrip_cues(lines, shown)
        found = [spoken for cue in _without_repeats(cues) for spoken in _utterances(cue, video_id, shown)]
    return sorted(found, key=lambda one: (one.interval.start_s, one.interval.end_s))


def _check_number(utterances: int, name: str) -> None:
    if utterances > MOST_UTTERANCES:
        problem = f"{utterances:,} utterances, and at most {MOST_UTTERANCES:,} are read"
        raise InputError(problem, file=name, hint="is it the speech of one video?")


def _text_of(path: Path, name: str | None = None) -> str:
    shown = name or str(path)
    try:
        with open_file(path) as stream:
            content = stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=shown) from None
    if len(content) > LARGEST_BYTES:
        raise InputError(f"longer than {LARGEST_BYTES >> 20} MiB, too long for the speech of a video", file=shown)
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            content = content.decode("utf-16").encode()
        except UnicodeDecodeError:
            raise InputError("not UTF-16, as its first bytes say", file=shown, hint="convert it to UTF-8") from None
    return decode_text(content, file=shown)


def _seconds(groups: Sequence[str | None]) -> float:
    hours, minutes, seconds, thousandths = (int(group or 0) for group in groups)
    return (hours * 3_600_000 + minutes * 60_000 + seconds * 1000 + thousandths) / 1000


def _timed(text: str, pattern: re.Pattern[str], number: int, name: str, example: str) -> _Cue:
    found = pattern.fullmatch(text)
    if found is None:
        raise InputError("not a pair of times", file=name, line=number, value=text.strip(), hint=f"write {example}")
    start_s, end_s = _seconds(found.groups()[:4]), _seconds(found.groups()[4:])
    if end_s < start_s:
        raise InputError("ends before it begins", file=name, line=number, value=text.strip(), hint="correct the times")
    return _Cue(start_s, end_s, number)


def _subrip_cues(lines: Sequence[str], name: str) -> Iterator[_Cue]:
    """Cues of SubRip. A text may hold empty lines; the number before the next times is no part of it."""
    cue: _Cue | None = None
    for number, text in enumerate(lines, start=1):
        if _ARROW in text:
            if cue is not None:
                yield _without_number(cue)
            cue = _timed(text, _SUBRIP_TIMES, number, name, "00:00:01,000 --> 00:00:02,500")
        elif cue is not None:
            cue.texts.append(text)
        elif text.strip() and not text.strip().isdecimal():
            hint = "a SubRip file begins with a number and a line of times"
            raise InputError("text before the first times", file=name, line=number, value=text.strip(), hint=hint)
    if cue is None:
        raise InputError("no line of times, as 00:00:01,000 --> 00:00:02,500", file=name, hint="get it again")
    yield cue


def _without_number(cue: _Cue) -> _Cue:
    if cue.texts and cue.texts[-1].strip().isdecimal():
        cue.texts.pop()
    return cue


def _web_cues(lines: Sequence[str], name: str) -> Iterator[_Cue]:
    """Cues of WebVTT. Comments, styles and regions are skipped, and so are the names of cues."""
    if not re.match(r"WEBVTT(?:\s|$)", lines[0]):
        raise InputError("the first line of WebVTT is WEBVTT", file=name, line=1, value=lines[0])
    at = 0
    while at < len(lines) and lines[at].strip():
        if _ARROW in lines[at]:
            raise InputError("times in the header", file=name, line=at + 1, hint="put an empty line before them")
        at += 1
    while at < len(lines):
        block = []
        while at < len(lines) and lines[at].strip():
            block.append((at + 1, lines[at]))
            at += 1
        at += 1
        if not block or _NOT_SPOKEN.match(block[0][1]):
            continue
        times = next((index for index, (_, text) in enumerate(block[:2]) if _ARROW in text), None)
        if times is None:
            number, text = block[0]
            raise InputError("text without times", file=name, line=number, value=text.strip(), hint="remove it")
        number, text = block[times]
        cue = _timed(text, _WEB_TIMES, number, name, "00:00:01.000 --> 00:00:02.500")
        cue.texts = [text for _, text in block[times + 1 :]]
        if stray := next((number for number, text in block[times + 1 :] if _ARROW in text), None):
            raise InputError("times inside another cue", file=name, line=stray, hint="put an empty line before")
        yield cue


def _without_repeats(cues: Iterable[_Cue]) -> list[_Cue]:
    """Cues of rolling captions with their new lines only; others as they are.

    Rolling captions, as those that YouTube makes, have times inside their lines, and each cue repeats the last lines of
    the cue before it. In other files a repeated line was said twice.
    """
    found = list(cues)
    rolling = any(_WORD_TIME.search(text) for cue in found for text in cue.texts)
    before: list[str] = []
    for cue in found if rolling else ():
        cue.texts = [text for text in cue.texts if _plain(text)]
        now = [_plain(text) for text in cue.texts]
        same = next((n for n in range(min(len(before), len(now)), 0, -1) if before[-n:] == now[:n]), 0)
        cue.texts, before = cue.texts[same:], now
    return found


def _plain(text: str) -> str:
    """A text without markup, on one line."""
    return " ".join(html.unescape(_TAG.sub("", _WORD_TIME.sub("", text))).split())


def _utterances(cue: _Cue, video_id: VideoId, name: str) -> Iterator[Utterance]:
    """The utterance of a cue, or of each of its voices."""
    _check_length(sum(map(len, cue.texts)), 10 * LONGEST_UTTERANCE, name, line=cue.line)
    first, *voices = _VOICE.split("\n".join(cue.texts))
    for speaker, words in [("", first), *zip(voices[::2], voices[1::2], strict=True)]:
        text = _plain(words)
        if label := _LABEL.match(text):
            speaker, text = label[1], text[label.end() :]
        if text:
            yield _utterance(video_id, cue.start_s, cue.end_s, text, _plain(speaker), name, line=cue.line)


def _utterance(
    video_id: VideoId,
    start_s: float,
    end_s: float,
    text: str,
    speaker: str,
    name: str,
    *,
    line: int | None = None,
    place: str | None = None,
) -> Utterance:
    _check_length(len(text), LONGEST_UTTERANCE, name, line=line, place=place)
    if found := refusal(text):
        raise InputError(found, file=name, line=line, place=place, value=text)
    try:
        return Utterance(
            video_id=video_id,
            interval=Interval(start_s=round(start_s, 3), end_s=round(end_s, 3)),
            text=text,
            speaker=speaker or None,
        )
    except ValidationError:
        raise InputError("no name of a speaker", file=name, line=line, place=place, value=speaker) from None


def _check_length(length: int, most: int, name: str, *, line: int | None = None, place: str | None = None) -> None:
    if length > most:
        problem = f"{length:,} characters at one time, and at most {most:,} are read"
        raise InputError(problem, file=name, line=line, place=place, hint="is it a file of subtitles?")


def _from_whisper(text: str, video_id: VideoId, name: str) -> Iterator[Utterance]:
    value = parse_json(text, file=name)
    listed = value.get("segments") if isinstance(value, dict) else value
    _check_number(len(listed) if isinstance(listed, list) else 0, name)
    if isinstance(value, list):
        segments, place = parse(list[WhisperSegment], value, file=name), "$"
    else:
        segments, place = parse(_WhisperDocument, value, file=name).segments, "$.segments"
    for index, segment in enumerate(segments):
        where = f"{place}[{index}]"
        if segment.end < segment.start:
            times = f"{segment.start:g} to {segment.end:g} s"
            raise InputError("ends before it begins", file=name, place=where, value=times, hint="correct the times")
        if words := " ".join(segment.text.split()):
            speaker = " ".join((segment.speaker or "").split())
            yield _utterance(video_id, segment.start, segment.end, words, speaker, name, place=where)
