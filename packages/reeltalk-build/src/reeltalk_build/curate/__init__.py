"""Filter videos, split them into clips, choose their key frames, and attach files to imported benchmarks.

Decoding and measuring are left to `video`, neural networks to `inference`, and child processes to `parallel`. Begin
with `stage`, which lists the steps in order, then `calls`.
"""
