"""Writes the questions of a benchmark from its clips: chains, linkages, paths and dialogues, with the checks on them.

Cutting videos into clips is left to `curate`, people's review to `review`, and what a graph can be asked to
`questions`. Begin with `stage`, which runs the steps in order, then `chain_steps` and `dialogue_steps`.
"""
