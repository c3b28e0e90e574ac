"""Find video files with their subtitles, look at them, and put them into a benchmark.

`stages.layouts` and `reeltalk attach` call it. Begin with `attaching`.
"""
