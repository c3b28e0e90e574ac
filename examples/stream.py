"""Let a streaming model follow a video frame by frame, and ask it while the video goes on.

python examples/stream.py kitchen.mp4 mini
"""

import sys
from pathlib import Path

from reeltalk_household.mini.mini_models import create_mini
from reeltalk_streaming.chat.playback import Playback, video_address
from reeltalk_streaming.inference.stream_memory import bounded_memory

ASK_EVERY_S = 20.0


def main(video: str, model: str = "mini") -> None:
    """Ask every twenty seconds of the video what happens; memory stays bounded."""
    stream = create_mini(model, policy=bounded_memory(None), max_words=12).stream()
    due_s = ASK_EVERY_S
    with Playback(video_address(video), fps=1.0, speed=0, longest_side_px=320) as watching:
        while not watching.ended:
            frame = watching.upcoming(wait_s=1.0)
            if frame is None or not watching.take(frame):
                continue
            stream.see(frame.rgb, frame.pts_s)
            if frame.pts_s >= due_s:
                said = stream.ask("What does the person do?")
                print(f"{frame.pts_s:5.1f} s  {said.text}  ({stream.memory_bytes / 1e6:.1f} MB kept)")
                due_s += ASK_EVERY_S
    print(f"at the end of {Path(video).name}: {stream.ask('Where is the person?').text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
