"""Proactive evaluation: run tasks with a model that may speak without a question, tune its threshold, and score it.

`questions` writes the tasks, and `metrics` has the measures. Begin with `stage`. `watchers` has the models.
"""
