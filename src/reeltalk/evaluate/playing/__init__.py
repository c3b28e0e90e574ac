"""Play dialogues to whatever answers: what may be seen at a moment, in which order, with which history.

Judging and computing numbers are left to others. Begin with `play.play_script`; `script` makes what is played from a
benchmark, `frames` shows videos, and the other modules hold players.
"""
