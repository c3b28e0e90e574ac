"""Copies of videos that browsers play with every frame. Functions for child processes."""
