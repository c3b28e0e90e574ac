"""Tags questions with CogME's vocabularies: a linear model or a language model proposes, people correct.

The linear model itself is in `inference`, agreement measures are in `metrics`. Begin with `stage`, then `turns`.
"""
