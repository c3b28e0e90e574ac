"""Videos that look alike, by the perceptual hashes of their pictures: copies in another size, codec or length."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

BITS: Final = 64


def groups_of_lookalikes(hashes: Mapping[str, Sequence[str]], *, max_bits: int, min_share: float) -> dict[str, str]:
    """Which videos share their pictures.

    Two videos are alike where `min_share` of the pictures of the one with fewer have a picture in the other whose hash
    differs in at most `max_bits` of 64 bits. Hashes are looked up by parts, of which two such have one in common, so
    the cost grows with what is alike and not with the square of the videos.

    Args:
        hashes: 64-bit hashes as 16 hexadecimal digits, by video.
        max_bits: 0–7.
        min_share: Above 0, up to 1.

    Returns:
        For each video that has another like it, the name of its group: the first of its videos in order.
    """
    numbers = {video: sorted({int(value, 16) for value in values}) for video, values in hashes.items()}
    parts = max_bits + 1
    edges = [round(index * BITS / parts) for index in range(parts + 1)]
    index: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    found: dict[tuple[str, str], list[set[int]]] = defaultdict(lambda: [set(), set()])
    for video in sorted(numbers):
        for number in numbers[video]:
            for part in range(parts):
                key = (part, number >> edges[part] & (1 << edges[part + 1] - edges[part]) - 1)
                for other, its in index[key]:
                    if other != video and (number ^ its).bit_count() <= max_bits:
                        mine, theirs = found[other, video]
                        mine.add(its)
                        theirs.add(number)
                index[key].append((video, number))
    parent = {video: video for video in numbers}

    def root(video: str) -> str:
        while parent[video] != video:
            video = parent[video]
        return video

    for (first, second), (of_first, of_second) in found.items():
        few, matched = min(
            (len(numbers[first]), len(of_first)), (len(numbers[second]), len(of_second)), key=lambda pair: pair[0]
        )
        if matched >= min_share * few:
            a, b = sorted((root(first), root(second)))
            parent[b] = a
    sizes: dict[str, int] = defaultdict(int)
    for video in numbers:
        sizes[root(video)] += 1
    return {video: root(video) for video in sorted(numbers) if sizes[root(video)] > 1}
