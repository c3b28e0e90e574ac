"""Build benchmarks from videos: curation, activity graphs, construction, objects and projects.

It needs `reeltalk` alone. Begin with `commands`, which names every command and its function.
"""
