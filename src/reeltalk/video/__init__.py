"""Decode, sample, measure and cut video. The only home of av, cv2 and scenedetect.

Whatever decodes a file that is not known to be harmless belongs into a process of its own: see `reeltalk.parallel`.
"""
