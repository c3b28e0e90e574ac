"""Trains streaming video-language models, and saves and exports them.

`inference` runs a trained model, and `evaluate` runs benchmarks with it. Begin with `mini_training` for the small
model, and with `lora_training` for a large one.
"""
