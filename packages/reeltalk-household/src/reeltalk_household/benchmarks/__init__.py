"""The papers' settings as presets, and the demo, which runs all stages.

`evaluate` and `judge` define the settings, and `stages` runs the stages. Begin with `household`.
"""
