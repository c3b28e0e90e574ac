"""Settled work becomes the next revision of a benchmark."""
