"""Tags questions with CogME's vocabularies: a language model proposes, people correct.

Agreement measures are in `metrics`. Begin with `stage`, then `turns`.
"""
