"""Models that follow video streams: inference, chat, proactive evaluation and training.

It needs `reeltalk` alone. Begin with `inference.stream`, the interface of a model that follows a stream.
"""
