"""A streaming video-language model: how it is trained, saved, and measured while a video goes on."""
