"""Runs in, a static site or a table out."""
