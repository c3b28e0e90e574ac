"""A streaming video-language model: how it is trained, saved, and measured while a video goes on.

Running a trained model is left to `inference`, and playing benchmarks to it to `evaluate`. Begin with `mini_training`
for the small model, and with `lora_training` for a large one.
"""
