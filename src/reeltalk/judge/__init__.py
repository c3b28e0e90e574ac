"""Judges of answers: each published protocol, and beside it how its official script reads.

Playing dialogues and writing runs is `evaluate`; asking language models is `llm`. Begin with `protocol`, the registry:
a module here that holds `PROTOCOL` values is found.
"""
