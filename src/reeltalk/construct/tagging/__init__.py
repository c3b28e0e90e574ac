"""Propose CogME's tags for turns that have none, and measure how far to trust the proposals."""
