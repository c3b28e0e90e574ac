"""Answerers that need no weights: what can be had without looking, and what habit alone gives."""
