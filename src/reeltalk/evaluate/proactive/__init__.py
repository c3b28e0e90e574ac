"""Models that follow a video and speak when it is time to: playing, picking a threshold, scoring."""
