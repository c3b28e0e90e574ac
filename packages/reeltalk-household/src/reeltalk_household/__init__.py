"""A simulated household that films itself, so that every fact of a video is known.

It needs `reeltalk-build` and `reeltalk-streaming`. Begin with `world`, then `questions` and `writer`.
"""
