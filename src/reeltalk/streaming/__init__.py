"""A streaming video-language model: how it is trained, saved, and measured while a video goes on.

`inference` runs a trained model, and `evaluate` runs benchmarks with it. Begin with `mini_training` for the small
model,
and with `lora_training` for a large one.
"""
