"""Networks: object detectors, embeddings, shot detection, taggers and streaming models, run on this machine.

Training is left to `streaming`, decoding to `video`, and servers of models to `llm`. Begin with `streaming_model` for
models that follow a video, or with `detection`.
"""
