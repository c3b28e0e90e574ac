"""Proactive evaluation: play tasks to a model that may speak unasked, tune its threshold, and score it.

Writing the tasks is left to `questions`, and the measures to `metrics`. Begin with `stage`; `watchers` has the models.
"""
