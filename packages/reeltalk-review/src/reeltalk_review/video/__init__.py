"""Copies of videos that browsers play with every frame, and sheets of thumbnails. Functions for child processes."""
