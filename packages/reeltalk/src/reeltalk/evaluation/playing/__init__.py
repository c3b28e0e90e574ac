"""Play dialogues to a model or baseline: choose frames, order and history for each turn.

Other packages judge the answers and compute numbers. Begin with `play.play_script`; `script` makes scripts from a
benchmark, `frames` shows videos, and the other modules hold players.
"""
