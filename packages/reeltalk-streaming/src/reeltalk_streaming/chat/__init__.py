"""Talk to a video while it plays.

Screens and keys are left to the command line. Begin with `conversation`; `playback` plays the video, `lines` reads what
is typed, and `stream_models` makes any model follow the stream.
"""
