"""Trains streaming video-language models, and saves and exports them.

`inference` runs a trained model, and `evaluate` runs benchmarks with it. Begin with
`lora_training`. The household trains reeltalk-mini.
"""
