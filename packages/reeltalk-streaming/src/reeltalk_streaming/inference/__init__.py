"""Streams: their memory, and checkpoints of disk that follow them. Begin with `stream`."""
