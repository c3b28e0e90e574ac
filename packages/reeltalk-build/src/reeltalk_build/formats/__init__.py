"""Layouts that need activity graphs: VDAct."""
