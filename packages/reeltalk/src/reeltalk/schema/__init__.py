"""The records of a benchmark and a run: frozen types, with rules for their values.

This room reads and writes nothing; `store` does. Begin with `dialogue`, then `answers` and `scoring`.
"""
