"""The papers' settings as presets, and the demo that shows the whole in a few verbs.

`evaluate` and `judge` define the settings, and `stages` runs the stages. Begin with `household`.
"""
