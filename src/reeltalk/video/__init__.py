"""Decodes, samples, measures and cuts video.

Call it through `parallel`: a file that may be hostile is decoded in a process of its own. Which clips a benchmark takes
is left to `curate`. Begin with `probe`, then `scan` and `frames`.
"""
