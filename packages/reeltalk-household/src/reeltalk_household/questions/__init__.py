"""Writes questions about videos from their knowledge graphs, and reads typed answers to them.

Reading graphs is left to `graph`, and composing chains and dialogues for a benchmark to `construct`. Begin with
`questions`, then `wording`, which makes sentences of them, and `answer_reading`.
"""
