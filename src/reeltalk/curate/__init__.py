"""Filters videos, splits them into clips, chooses their key frames, and attaches files to imported benchmarks.

Decoding and measuring are left to `video`, neural networks to `inference`, and child processes to `parallel`. Begin
with `stage`, which lists the steps in order, then `calls`.
"""
