"""A simulated household that films itself: videos of which every fact is known exactly.

Questions about the films are left to `questions` and `construct`, and drawing and encoding to `video`. Begin with
`house`, then `program` and `film`.
"""
