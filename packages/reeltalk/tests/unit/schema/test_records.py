"""What records accept and refuse."""

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval, union
from reeltalk.schema.labels import VOCABULARIES, Relation, unknown_labels
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import ClipId, VideoId, derive_id
from reeltalk.schema.review import Review
from reeltalk.schema.scoring import JudgedScore, ScoreState, Signature


@pytest.mark.parametrize("name", ["", " padded", "two\nlines", "bell\x07", "x" * 513])
def test_identifiers_are_one_printable_line(name: str) -> None:
    with pytest.raises(ValidationError):
        Video(id=VideoId(name))
    with pytest.raises(ValidationError):
        Clip(id=ClipId("c"), video_id=VideoId(name))


@pytest.mark.parametrize("name", ["turn_index", "sample", "epoch"])
@pytest.mark.parametrize("place", [-1, 2**31])
def test_places_fit_into_the_tables_of_scores(name: str, place: int) -> None:
    with pytest.raises(ValidationError, match=name):
        JudgedScore.model_validate({name: place})


@pytest.mark.parametrize(
    "fields",
    [
        {"duration_s": -1.0},
        {"duration_s": float("nan")},
        {"duration_s": float("inf")},
        {"frame_rate": 29.97},
        {"frame_rate": "1/0"},
        {"frame_rate": 0},
        {"width_px": 0},
        {"sha256": "abc"},
        {"colour": "red"},
    ],
)
def test_a_video_refuses(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Video.model_validate({"id": "v", **fields})


def test_a_frame_rate_stays_exact_through_json() -> None:
    video = Video(id=VideoId("v"), frame_rate=Fraction(30000, 1001))
    assert video.to_json() == '{"id":"v","frame_rate":"30000/1001"}'
    assert Video.model_validate_json(video.to_json()) == video


class TestIntervals:
    def test_arithmetic(self) -> None:
        first, second = Interval(start_s=0, end_s=10), Interval(start_s=5, end_s=20)
        assert first.intersection(second) == Interval(start_s=5, end_s=10)
        assert first.intersection(Interval(start_s=10, end_s=12)) is None
        assert Interval(start_s=3, end_s=3).duration_s == 0
        assert union([second, first, Interval(start_s=21, end_s=22)]) == (
            Interval(start_s=0, end_s=20),
            Interval(start_s=21, end_s=22),
        )
        assert first.contains(Interval(start_s=0, end_s=10.04), tolerance_s=0.05)
        assert not first.contains(second)

    def test_an_end_before_the_start_is_refused(self) -> None:
        with pytest.raises(ValidationError, match="ends before it starts"):
            Interval(start_s=2, end_s=1)


def test_the_right_option_is_one_of_the_options() -> None:
    with pytest.raises(ValidationError, match="there are 2 options"):
        Turn(question="?", options=("a", "b"), correct_option=2)
    with pytest.raises(ValidationError, match="there are 0 options"):
        Turn(question="?", correct_option=0)


def test_published_spellings_of_relations() -> None:
    names = ("Person", "people", " Actions ", "EVENT", "quantity", "Environment", "Object")
    relations = [Relation.from_published(name) for name in names]
    assert relations == ["People", "People", "Actions", "Events", "Quantity", "Environment", "Objects"]
    assert Relation.from_published("Weather") is None


def test_vocabularies_have_the_published_sizes() -> None:
    assert {name: len(vocabulary) for name, vocabulary in VOCABULARIES.items()} == {
        "vdact.question_type": 13,
        "svbench.relation": 6,
        "svbench.skill": 9,
        "cogme.target": 8,
        "cogme.content": 8,
        "cogme.thinking": 3,
        "mt_video_bench.task": 6,
    }
    assert unknown_labels({"svbench.skill": ("II", "XX"), "mine": ("anything",)}) == [("svbench.skill", "XX")]


def test_a_score_has_a_value_exactly_when_it_is_scored() -> None:
    common: dict[str, Any] = {"unit": "turn", "unit_id": "d", "model": "m", "criterion": "c", "judge": "j"}
    JudgedScore(**common, value=0.0)
    JudgedScore(**common, state=ScoreState.UNSCORED, reason="no reply")
    for wrong in ({"value": None}, {"value": 1.0, "state": ScoreState.UNSCORED}):
        with pytest.raises(ValidationError, match="state is"):
            JudgedScore(**common, **wrong)


def test_a_signature_reads_back() -> None:
    signature = Signature(subject="vdact.answers", parts=(("data", "9c1e"), ("judge", "openai/gpt:4")))
    assert str(signature) == "vdact.answers|data:9c1e|judge:openai/gpt:4"
    assert Signature.parse(str(signature)) == signature
    with pytest.raises(ValidationError):
        Signature(subject="a|b", parts=())
    with pytest.raises(ValueError, match="not a signature"):
        Signature.parse("a|b")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../b", "a\\b", "C:/x", "a//b", "./a"])
def test_a_source_file_stays_inside_its_folder(path: str) -> None:
    with pytest.raises(ValidationError, match="stays inside"):
        SourceFile(format="vdact", path=path, kind="x")


def test_a_review_knows_its_time_zone() -> None:
    fields: dict[str, Any] = {
        "target_table": "dialogues",
        "target_id": "d",
        "revision": 0,
        "reviewer": "r",
        "decision": "accept",
    }
    Review(**fields, created_at=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(ValidationError, match="time zone"):
        Review(**fields, created_at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_derived_identifier_follows_from_content_alone() -> None:
    assert derive_id("clip", "v1", 1.5) == derive_id("clip", "v1", 1.5)
    assert derive_id("clip", "v1", 1.5) != derive_id("clip", "v1", 1.25)
    assert derive_id("clip", "a", "bc") != derive_id("clip", "ab", "c")
    assert len(derive_id("clip")) == len("clip-") + 16
