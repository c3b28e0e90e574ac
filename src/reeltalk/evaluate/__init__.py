"""Play dialogues to a model and judge its answers; score answers that exist already."""
