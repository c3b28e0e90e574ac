"""Judges answers by the published protocols; each module also reads replies as the official script does.

Playing dialogues and writing runs is left to `evaluate`, and asking language models to `llm`. Begin with `protocol`,
the registry, which finds every module here that holds a `PROTOCOL`; then read `judge` and a short judge, as `clair`.
"""
