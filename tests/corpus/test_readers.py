"""Our readers show what a player shows of every film of the corpus, and nothing before its time."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from corpus import films
from corpus.pattern import colour_at, nearest_name, read_number
from reeltalk.video.frames import frames_at
from reeltalk.video.probe import probe
from reeltalk.video.stream import VideoError, open_video

FILMS: Final = {film.name: film for film in films.entries()}
ROUNDED_S: Final = 0.001
WITHOUT_TIMES: Final = ("raw.h264",)
"""Read by its entry, which calls it right, too, to refuse it."""
READ: Final = [n for n, film in FILMS.items() if film.verdict in ("read", "repair") and n not in WITHOUT_TIMES]
REFUSED: Final = [name for name in FILMS if name not in READ]


@pytest.mark.parametrize("name", READ)
def test_facts_are_those_of_a_player(name: str, corpus_film: Callable[[str], Path]) -> None:
    film, facts = FILMS[name], probe(corpus_film(name))
    if film.times is not None and film.ends is not None:
        step_s = float(1 / facts.frame_rate) if facts.frame_rate else 0.04
        assert facts.duration_s == pytest.approx(film.ends, abs=max(0.05, 1.1 * step_s))
        assert max(facts.start_s, 0) == pytest.approx(film.times[0], abs=1.1 * step_s)


@pytest.mark.parametrize("name", READ)
def test_every_picture_is_read_at_its_time(name: str, corpus_film: Callable[[str], Path]) -> None:
    film = FILMS[name]
    with open_video(corpus_film(name)) as source:
        seen = [(frame.pts_s, source.shown(frame.picture)) for frame in source.frames()]
        assert film.size is not None
        assert {picture.shape[1::-1] for _, picture in seen} == {source.look.shown_size}
        width, height = source.look.shown_size
    assert width / height == pytest.approx(film.size[0] / film.size[1], rel=0.03)
    numbers = [read_number(picture) for _, picture in seen]
    wanted = list(film.numbers)
    if film.fields is None:
        pairs = list(zip(numbers, wanted, strict=False))
        assert [a for a, b in pairs if b is not None] == [b for _, b in pairs if b is not None]
    assert len(numbers) - len(wanted) in ((0, 1) if film.at_least else (0,))
    if film.times is not None:
        found = [pts_s for pts_s, _ in seen][: len(wanted)]
        wrong = [(a, b) for a, b in zip(found, film.times, strict=True) if abs(a - b) > 0.045]
        assert not wrong, wrong[:5]
    for patch in film.patches:
        colour = colour_at(seen[0][1], patch)
        if film.colours == "exact":
            assert np.abs(np.subtract(colour, patch.rgb)).max() <= 16, (patch, colour)
        else:
            assert nearest_name(colour) == patch.name


@pytest.mark.parametrize("name", [name for name in READ if FILMS[name].times])
def test_a_question_never_sees_what_comes_later(name: str, corpus_film: Callable[[str], Path]) -> None:
    film = FILMS[name]
    assert film.times is not None
    assert film.ends is not None
    asked = sorted({round(film.ends * part / 9, 3) for part in range(10)} | {0.0, round(film.times[0] / 2, 3)})
    for time_s, frame in zip(asked, frames_at(corpus_film(name), asked), strict=True):
        assert frame.pts_s <= time_s + 1e-5
        number = read_number(frame.pixels)
        due = [number for number, at_s in zip(film.numbers, film.times, strict=True) if at_s <= time_s + ROUNDED_S]
        if not due:
            # A first picture that is due within a frame is shown at once.
            assert frame.pixels.max() == 0 or frame.pts_s == 0
        elif film.fields is None and number is not None and None not in due[-2:]:
            assert number in due[-2:], (time_s, number, due[-2:])


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_film_is_refused_in_words(name: str, corpus_film: Callable[[str], Path]) -> None:
    with pytest.raises(VideoError) as caught:
        probe(corpus_film(name))
    assert re.fullmatch(r"[ -~×…§é“”]{8,300}", str(caught.value))
