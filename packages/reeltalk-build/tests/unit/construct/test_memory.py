"""The memory bank: identities of objects that stand, move, are carried away, look alike, and come back."""

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from reeltalk.schema.knowledge import Box
from reeltalk.video.appearance import (
    APPEARANCE_VALUES,
    COLOUR_VALUES,
    PATCH_SIDE,
    colour_name,
    describe_appearance,
    similarity,
)
from reeltalk_build.construct.memory import MemoryBank, MemorySettings, Observation


def look(name: str) -> NDArray[np.float32]:
    """An appearance that every name has its own of; two names hardly look alike."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    generator = np.random.default_rng(seed)
    colours = generator.dirichlet(np.full(COLOUR_VALUES, 0.02))
    patch = generator.normal(size=PATCH_SIDE**2)
    return np.concatenate([np.sqrt(colours), patch / np.linalg.norm(patch)]).astype(np.float32)


def seen(x: float, y: float, class_name: str, as_: str | None = None, size: float = 0.1) -> Observation:
    box = Box(left=max(0, x), top=y, right=min(1, x + size), bottom=min(1, y + size))
    return Observation(box, class_name, "red", look(as_ or class_name))


KITCHEN = [seen(0.1, 0.2, "fridge", size=0.3), seen(0.45, 0.5, "table", size=0.25), seen(0.8, 0.3, "stove", size=0.15)]
BEDROOM = [seen(0.05, 0.4, "bed", size=0.35), seen(0.5, 0.1, "window", size=0.2), seen(0.75, 0.4, "desk", size=0.2)]


class Watcher:
    """Shows frames to a bank, one a second, and keeps what it said."""

    def __init__(self, **settings: float) -> None:
        self.bank, self.time_s = MemoryBank(MemorySettings(**settings)), 0.0

    def see(self, room: str, *objects: Observation, gap_s: float = 1.0) -> list[int]:
        """The tracks of the objects that were named, those of the room left out."""
        self.time_s += gap_s
        furniture = {"kitchen": KITCHEN, "bedroom": BEDROOM}[room]
        return self.bank.see(self.time_s, look(room), [*furniture, *objects])[len(furniture) :]

    def identities(self, tracks: Sequence[int]) -> list[int]:
        return [self.bank.identity_of(track) for track in tracks]


def test_equal_things_are_told_apart_by_where_they_stand() -> None:
    watcher = Watcher()
    chairs = (seen(0.3, 0.7, "chair"), seen(0.6, 0.8, "chair"))
    first = watcher.see("kitchen", *chairs)
    watcher.see("bedroom")
    again = watcher.see("kitchen", *reversed(chairs))
    assert watcher.identities(first) == watcher.identities(again[::-1])
    assert len(set(watcher.identities(first))) == 2


def test_a_place_is_known_again_when_the_camera_has_moved_nearer() -> None:
    bank = MemoryBank()
    chairs = [seen(0.3, 0.7, "chair"), seen(0.6, 0.8, "chair")]
    wide = bank.see(0.0, look("kitchen"), [*KITCHEN, *chairs])
    bank.see(1.0, look("bedroom"), BEDROOM)

    def nearer(found: Observation) -> Observation:
        corners = [(v - o) * 1.5 for v, o in zip((found.box.left, found.box.top, found.box.right, found.box.bottom),
                                                 (0.25, 0.3, 0.25, 0.3), strict=True)]  # fmt: skip
        left, top, right, bottom = np.clip(corners, 0, 1).tolist()
        return found._replace(box=Box(left=left, top=top, right=right, bottom=bottom))

    inside = [o for o in [*KITCHEN, *chairs] if o.box.right > 0.26 and o.box.bottom > 0.31]
    near = bank.see(2.0, look("kitchen from near"), [nearer(o) for o in reversed(inside)])
    expected = [wide[[*KITCHEN, *chairs].index(o)] for o in reversed(inside)]
    assert [bank.identity_of(t) for t in near] == [bank.identity_of(t) for t in expected]


def test_a_person_walks_across_the_room_and_into_the_next() -> None:
    watcher = Watcher()
    tracks = [watcher.see("kitchen", seen(x, 0.55, "person"))[0] for x in (0.0, 0.15, 0.3, 0.45, 0.6)]
    tracks += [watcher.see("bedroom", seen(x, 0.6, "person"))[0] for x in (0.7, 0.55, 0.4)]
    assert len(set(watcher.identities(tracks))) == 1


def test_who_often_moves_is_known_again_after_resting() -> None:
    watcher = Watcher()
    walked = [watcher.see("kitchen", seen(x, 0.55, "person"))[0] for x in (0.0, 0.2, 0.4, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6)]
    rested = watcher.see("bedroom", seen(0.3, 0.6, "person", as_="person"))
    assert watcher.identities(rested) == watcher.identities(walked[:1])


def test_a_mug_that_is_missing_is_the_one_that_turns_up_elsewhere() -> None:
    watcher = Watcher(settled_visual=1.0)
    there = watcher.see("kitchen", seen(0.5, 0.4, "mug"))
    watcher.see("kitchen")
    found = watcher.see("bedroom", seen(0.8, 0.3, "mug"))
    assert watcher.identities(found) == watcher.identities(there)


def test_a_mug_that_was_not_seen_to_leave_is_another_one_unless_it_looks_the_same() -> None:
    for settled_visual, same in ((1.0, False), (0.9, True)):
        watcher = Watcher(settled_visual=settled_visual)
        there = watcher.see("kitchen", seen(0.5, 0.4, "mug", as_="mug" if same else "a mug"))
        found = watcher.see("bedroom", seen(0.8, 0.3, "mug"))
        assert (watcher.identities(found) == watcher.identities(there)) is same


def test_the_class_must_agree() -> None:
    watcher = Watcher()
    there = watcher.see("kitchen", seen(0.5, 0.4, "mug"))
    watcher.see("kitchen")
    found = watcher.see("bedroom", seen(0.8, 0.3, "plate", as_="mug"))
    assert watcher.identities(found) != watcher.identities(there)


def test_an_identity_splits_when_it_is_where_it_was_and_elsewhere_too() -> None:
    watcher = Watcher(settled_visual=0.9)
    there = [watcher.see("kitchen", seen(0.5, 0.4, "mug"))[0] for _ in range(3)]
    taken = [watcher.see("bedroom", seen(0.8, 0.3, "mug"))[0] for _ in range(5)]
    assert watcher.identities(taken[:1]) == watcher.identities(there[:1])
    assert not watcher.bank.changes
    back = watcher.see("kitchen", seen(0.5, 0.4, "mug"))
    assert watcher.identities(back) == watcher.identities(there[:1])
    assert watcher.identities(taken[:1]) != watcher.identities(there[:1])
    (change,) = watcher.bank.changes
    assert (change.kind, change.remaining, change.other) == ("split", *watcher.identities([there[0], taken[0]]))
    assert change.similarity == pytest.approx(1.0)


def test_identities_merge_when_a_poor_first_view_is_followed_by_better_ones() -> None:
    watcher = Watcher(settled_visual=1.0)
    there = [watcher.see("kitchen", seen(0.5, 0.4, "mug"))[0] for _ in range(3)]
    watcher.see("kitchen")
    found = [watcher.see("bedroom", seen(0.8, 0.3, "mug", as_=as_))[0] for as_ in ("a blur", "mug")]
    assert watcher.identities(found) != watcher.identities(there[:2])
    found += [watcher.see("bedroom", seen(0.8, 0.3, "mug"))[0]]
    assert watcher.identities(found) == watcher.identities(there)
    (change,) = watcher.bank.changes
    assert (change.kind, change.pts_s) == ("merge", watcher.time_s)
    assert change.remaining == watcher.identities(there)[0]


def test_identities_that_were_seen_together_never_merge() -> None:
    watcher = Watcher(settled_visual=1.0)
    there = watcher.see("kitchen", seen(0.5, 0.4, "mug"), seen(0.6, 0.8, "mug", as_="a blur"))
    for _ in range(4):
        watcher.see("kitchen", seen(0.6, 0.8, "mug"))
    assert len(set(watcher.identities(there))) == 2
    assert not watcher.bank.changes


def test_the_same_frames_give_the_same_identities_and_order_in_a_frame_decides_nothing() -> None:
    generator = np.random.default_rng(5)
    frames = [
        [seen(float(generator.uniform(0, 0.9)), 0.6, "cat", as_=f"cat {n}", size=0.08) for n in range(4)]
        for _ in range(30)
    ]

    def partition(turned: bool) -> list[list[int]]:
        watcher = Watcher()
        rows = []
        for number, objects in enumerate(frames):
            room = "kitchen" if number // 10 % 2 == 0 else "bedroom"
            tracks = watcher.see(room, *(objects[::-1] if turned else objects))
            rows.append(tracks[::-1] if turned else tracks)
        names: dict[int, int] = {}
        return [[names.setdefault(i, len(names)) for i in watcher.identities(tracks)] for tracks in rows]

    assert partition(False) == partition(False)
    assert partition(False) == partition(True)


def test_two_objects_of_a_frame_are_never_one() -> None:
    generator = np.random.default_rng(6)
    bank = MemoryBank()
    frames = []
    for number in range(40):
        objects = [
            seen(float(x), float(y), str(name), size=0.09)
            for x, y, name in zip(
                generator.uniform(0, 0.9, 8), generator.uniform(0, 0.9, 8), generator.choice(["a", "b"], 8), strict=True
            )
        ]
        frames.append(bank.see(float(number), look(f"view {number // 8}"), objects))
    for tracks in frames:
        assert len({bank.identity_of(track) for track in tracks}) == len(tracks)


def test_frames_without_objects_are_taken() -> None:
    bank = MemoryBank()
    assert bank.see(0.0, look("dark"), []) == []
    assert bank.see(1.0, look("kitchen"), [seen(0.5, 0.5, "mug")]) == [0]
    assert bank.see(2.0, look("kitchen"), []) == []
    assert bank.identity_of(0) == 0
    assert (bank.class_of(0), bank.colour_of(0)) == ("mug", "red")


# Appearance


def plain(rgb: tuple[int, int, int], height: int = 40, width: int = 60) -> NDArray[np.uint8]:
    return np.full((height, width, 3), rgb, np.uint8)


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((200, 30, 30), "red"), ((240, 140, 30), "orange"), ((120, 70, 30), "brown"), ((230, 220, 40), "yellow"),
        ((60, 160, 60), "green"), ((40, 80, 200), "blue"), ((130, 60, 180), "purple"), ((230, 100, 170), "pink"),
        ((245, 245, 245), "white"), ((20, 20, 22), "black"), ((130, 130, 134), "grey"),
    ],
)  # fmt: skip
def test_colours_have_the_names_that_people_give_them(rgb: tuple[int, int, int], name: str) -> None:
    assert colour_name(plain(rgb)) == name


def test_appearance_has_a_form_and_its_similarity_a_range() -> None:
    pictures = [
        plain((200, 30, 30)),
        plain((30, 30, 200)),
        np.random.default_rng(1).integers(0, 256, (33, 50, 3), np.uint8),
    ]
    looks = [describe_appearance(picture) for picture in pictures]
    for one in looks:
        assert one.shape == (APPEARANCE_VALUES,)
        assert one.dtype == np.float32
        assert np.square(one[:COLOUR_VALUES]).sum() == pytest.approx(1, abs=1e-5)
        assert similarity(one, one) == pytest.approx(1, abs=1e-5)
        for other in looks:
            assert 0 <= similarity(one, other) <= 1
            assert similarity(one, other) == pytest.approx(similarity(other, one), abs=1e-6)
    assert similarity(looks[0], looks[1]) < 0.05
    assert similarity(looks[0], describe_appearance(plain((190, 40, 34), 80, 44))) > 0.7
    near = pictures[2].repeat(3, axis=0).repeat(3, axis=1)
    assert similarity(looks[2], describe_appearance(near)) > 0.8
