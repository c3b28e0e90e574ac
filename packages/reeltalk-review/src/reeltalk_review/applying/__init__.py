"""Applies settled work: it becomes the next revision of a benchmark. Begin with `stage.py`."""
