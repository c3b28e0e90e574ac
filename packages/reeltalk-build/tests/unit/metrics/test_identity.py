"""Identity scores: values worked out by hand, and what must hold of any."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_scores import IdentityScores, iou_matrix, score_identities

from reeltalk.schema.knowledge import Box, KnownBox, Sighting
from reeltalk.schema.record import EntityId, VideoId
from reeltalk_build.metrics.identity import assign_pairs

LEFT, MIDDLE, RIGHT = (Box(left=x, top=0.2, right=x + 0.2, bottom=0.6) for x in (0.0, 0.4, 0.8))


def known(pts_s: float, name: str, box: Box, video: str = "v") -> KnownBox:
    return KnownBox(video_id=VideoId(video), pts_s=pts_s, box=box, class_name="mug", object=name)


def sighting(pts_s: float, entity: str, box: Box, video: str = "v") -> Sighting:
    return Sighting(
        video_id=VideoId(video), pts_s=pts_s, box=box, class_name="mug", confidence=1.0, entity=EntityId(entity)
    )


def test_a_hand_worked_example() -> None:
    """Object A over five frames is called 1, 1, 1, 2, 2; B over five is found four times as 2, 2, -, 3, 3; 1 ghost.

    The best assignment is A with 1 (3 frames) and B with 2 or 3 (2 frames): IDTP = 5. There are 10 known boxes and
    5 + 4 + 1 = 10 sightings, so that IDP = IDR = IDF1 = 5 / 10. Switches: A from 1 to 2, B from 2 to 3.
    """
    truth = [known(t, "A", LEFT) for t in range(5)] + [known(t, "B", RIGHT) for t in range(5)]
    found = [sighting(t, "1" if t < 3 else "2", LEFT) for t in range(5)]
    found += [sighting(t, "2" if t < 2 else "3", RIGHT) for t in (0, 1, 3, 4)]
    found.append(sighting(2, "ghost", MIDDLE))
    scores = score_identities(truth, found)
    assert scores == IdentityScores(known=10, found=10, matched=5, detected=9, switches=2)
    assert (scores.f1, scores.precision, scores.recall) == (0.5, 0.5, 0.5)


def test_ristani_s_point_a_longer_true_track_counts_more_than_few_switches() -> None:
    """Two trackers, each with one switch: the one that is right for eight of ten frames gets 0.8, not 0.5."""
    truth = [known(t, "A", LEFT) for t in range(10)]
    late = score_identities(truth, [sighting(t, "1" if t < 8 else "2", LEFT) for t in range(10)])
    halves = score_identities(truth, [sighting(t, "1" if t < 5 else "2", LEFT) for t in range(10)])
    assert (late.switches, halves.switches) == (1, 1)
    assert (late.f1, halves.f1) == (0.8, 0.5)


def test_one_identity_for_two_objects_is_right_for_one_of_them() -> None:
    truth = [known(t, name, box) for t in range(4) for name, box in (("A", LEFT), ("B", RIGHT))]
    scores = score_identities(truth, [sighting(t, "1", box) for t in range(4) for box in (LEFT, RIGHT)])
    assert (scores.matched, scores.f1) == (4, 0.5)


def test_overlap_decides_and_frames_without_labels_do_not_count() -> None:
    half = Box(left=0.1, top=0.2, right=0.3, bottom=0.6)
    assert LEFT.iou(half) == pytest.approx(1 / 3)
    assert score_identities([known(0, "A", LEFT)], [sighting(0, "1", half)]).matched == 0
    assert score_identities([known(0, "A", LEFT)], [sighting(0, "1", half)], min_iou=0.3).matched == 1
    unlabelled = score_identities([known(0, "A", LEFT)], [sighting(0, "1", LEFT), sighting(1, "1", LEFT)])
    assert (unlabelled.found, unlabelled.f1) == (1, 1.0)


def test_videos_are_summed_and_an_entity_of_one_is_none_of_another() -> None:
    truth = [known(t, "A", LEFT, video) for t in range(2) for video in ("v", "w")]
    scores = score_identities(truth, [sighting(t, "1", LEFT, video) for t in range(2) for video in ("v", "w")])
    assert scores == IdentityScores(known=4, found=4, matched=4, detected=4, switches=0)
    assert score_identities([], []).f1 == 1.0
    assert score_identities(truth, []).f1 == 0.0


def test_a_switch_is_counted_against_the_last_time_it_was_seen() -> None:
    truth = [known(t, "A", LEFT) for t in range(4)]
    assert score_identities(truth, [sighting(0, "1", LEFT), sighting(3, "2", LEFT)]).switches == 1
    assert score_identities(truth, [sighting(0, "1", LEFT), sighting(3, "1", LEFT)]).switches == 0
    # Two overlap it: that of the frame before is kept, though the other overlaps as much.
    double = [sighting(t, entity, LEFT) for t in range(4) for entity in (("1", "2") if t else ("2",))]
    assert score_identities(truth, double).switches == 0


NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=12)


@given(NAMES, st.permutations("xyz"))
def test_scores_do_not_depend_on_names(names: list[str], other: list[str]) -> None:
    truth = [known(t, "A" if t % 2 else "B", LEFT) for t in range(len(names))]
    renamed = dict(zip("abc", other, strict=True))
    one = score_identities(truth, [sighting(t, name, LEFT) for t, name in enumerate(names)])
    two = score_identities(truth, [sighting(t, renamed[name], LEFT) for t, name in enumerate(names)])
    assert one == two
    assert 0 <= one.f1 <= 1


def test_assignments_are_one_to_one_and_the_greatest() -> None:
    # Taking the greatest value first would give 9 + 0; together 8 + 7 is more.
    assert assign_pairs([[9, 8], [7, 0]]) == [(0, 1), (1, 0)]
    assert assign_pairs([[9, 8], [7, 0]], least=7.5) == [(0, 0)]
    assert assign_pairs([]) == []
    assert assign_pairs([[0.0, 0.0]]) == []
    assert iou_matrix([], [LEFT]).shape == (0, 1)
    assert iou_matrix([LEFT, RIGHT], [LEFT]).tolist() == [[1.0], [0.0]]
