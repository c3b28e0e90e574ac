"""Judges answers by the published protocols; each module also reads replies as the official script does.

`evaluate` plays dialogues and writes runs, and `llm` asks language models. Begin with `protocol`, the registry, which
finds every module here that holds a `PROTOCOL`; then read `judge` and a short judge, such as `clair`.
"""
