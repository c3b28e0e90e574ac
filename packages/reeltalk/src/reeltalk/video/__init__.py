"""Decodes, samples, measures and cuts video.

Call it through `parallel`, so that a file that may be hostile is decoded in its own process. `curate` decides which
clips a benchmark takes. Begin with `probe`, then `scan` and `frames`.
"""
